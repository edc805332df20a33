//! What is measured: ways of taking snapshots, each with a tool behind it.

use crate::json_child::Peer;
use crate::tool::Tool;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// A way of taking snapshots of the page that it has open.
pub trait Contender {
    /// Opens a page and waits until it is loaded.
    ///
    /// # Errors
    /// When that does not work, or takes too long.
    fn open(&mut self, url: &str) -> Result<()>;

    /// Runs a script in the page.
    ///
    /// # Errors
    /// When that does not work, or it throws.
    fn script(&mut self, script: &str) -> Result<()>;

    /// Takes a snapshot.
    ///
    /// # Errors
    /// When that does not work, or takes too long.
    fn snapshot(&mut self) -> Result<Taken>;
}

/// A snapshot that was taken.
#[derive(Clone, Debug)]
pub struct Taken {
    /// How long it took, in milliseconds.
    pub ms: f64,
    /// What it says.
    pub text: String,
}

/// Whose a way is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// Ours.
    Ours,
    /// Nobody's: the least that must be done.
    Floor,
    /// Of `@playwright/mcp`.
    Playwright,
    /// Of `chrome-devtools-mcp`.
    DevTools,
    /// Of `agent-browser`.
    AgentBrowser,
}

/// The ways, in the order in which they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "`name` says what each is")]
pub enum Form {
    Walk,
    Library,
    OurCommand,
    PlaywrightLibrary,
    PlaywrightMcp,
    Puppeteer,
    DevToolsMcp,
    AgentBrowserSocket,
    AgentBrowserCommand,
}

impl Form {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Walk => "bare walk",
            Self::Library => "agbrowse, library",
            Self::OurCommand => "agbrowse, command",
            Self::PlaywrightLibrary => "playwright-core",
            Self::PlaywrightMcp => "@playwright/mcp",
            Self::Puppeteer => "puppeteer",
            Self::DevToolsMcp => "chrome-devtools-mcp",
            Self::AgentBrowserSocket => "agent-browser, socket",
            Self::AgentBrowserCommand => "agent-browser, command",
        }
    }

    /// Whose it is.
    pub fn party(self) -> Party {
        match self {
            Self::Walk => Party::Floor,
            Self::Library | Self::OurCommand => Party::Ours,
            Self::PlaywrightLibrary | Self::PlaywrightMcp => Party::Playwright,
            Self::Puppeteer | Self::DevToolsMcp => Party::DevTools,
            Self::AgentBrowserSocket | Self::AgentBrowserCommand => Party::AgentBrowser,
        }
    }

    /// Whether it belongs to a tool that we are compared with.
    pub fn is_rival(self) -> bool {
        !matches!(self.party(), Party::Ours | Party::Floor)
    }
}

/// Whole commands of a tool with a daemon. Ours and the other have the same words for this.
pub struct Commands(pub Rc<Tool>);

impl Contender for Commands {
    fn open(&mut self, url: &str) -> Result<()> {
        self.0.run(["open", url]).map(drop)
    }

    fn script(&mut self, script: &str) -> Result<()> {
        self.0.run(["eval", script]).map(drop)
    }

    fn snapshot(&mut self) -> Result<Taken> {
        let finished = self.0.run(["snapshot"])?;
        Ok(Taken { ms: finished.elapsed_ms(), text: finished.stdout })
    }
}

/// The daemon of `agent-browser`, asked directly: what a command of it costs without its process.
pub struct Socket {
    commands: Commands,
    peer: Option<Peer>,
}

impl Socket {
    /// Nothing is connected until a page is opened.
    pub fn new(tool: Rc<Tool>) -> Self {
        Self { commands: Commands(tool), peer: None }
    }
}

impl Contender for Socket {
    fn open(&mut self, url: &str) -> Result<()> {
        // A command starts the daemon if need be.
        self.commands.open(url)?;
        self.peer = Some(Peer::connect("agent-browser", &self.commands.0.socket())?);
        Ok(())
    }

    fn script(&mut self, script: &str) -> Result<()> {
        self.commands.script(script)
    }

    fn snapshot(&mut self) -> Result<Taken> {
        #[derive(Serialize)]
        struct Ask {
            action: &'static str,
        }
        #[derive(Deserialize)]
        struct Told {
            data: Option<Data>,
            error: Option<String>,
        }
        #[derive(Deserialize)]
        struct Data {
            snapshot: String,
        }
        let peer =
            self.peer.as_mut().ok_or_else(|| Error::Failed("no page has been opened".into()))?;
        let answer = peer.ask::<Told>(&Ask { action: "snapshot" })?;
        match answer.body.data {
            Some(data) => Ok(Taken { ms: answer.ms, text: data.snapshot }),
            None => Err(Error::Failed(format!(
                "agent-browser takes no snapshot: {}",
                answer.body.error.unwrap_or_default()
            ))),
        }
    }
}
