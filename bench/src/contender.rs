//! Contenders: the measured ways of taking snapshots, each with its tool.

use crate::json_child::Peer;
use crate::tool::Tool;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::rc::Rc;

/// A way of taking snapshots of its open page.
pub trait Contender {
    /// Opens a page and waits until it is loaded.
    ///
    /// # Errors
    /// When that fails or times out.
    fn open(&mut self, url: &str) -> Result<()>;

    /// Runs a script in the page.
    ///
    /// # Errors
    /// When that fails, or the script throws.
    fn script(&mut self, script: &str) -> Result<()>;

    /// Takes a snapshot.
    ///
    /// # Errors
    /// When that fails or times out.
    fn snapshot(&mut self) -> Result<Taken>;
}

/// A timed snapshot.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Time in milliseconds.
    pub ms: f64,
    /// Its text.
    pub text: String,
}

/// Owner of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// This project.
    Ours,
    /// The bare walk: the minimum of any snapshot.
    Floor,
    /// `@playwright/mcp`.
    Playwright,
    /// `chrome-devtools-mcp`.
    DevTools,
    /// `agent-browser`.
    AgentBrowser,
}

/// The measured forms, in report order.
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
    /// Name in reports.
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

    /// Its owner.
    pub fn party(self) -> Party {
        match self {
            Self::Walk => Party::Floor,
            Self::Library | Self::OurCommand => Party::Ours,
            Self::PlaywrightLibrary | Self::PlaywrightMcp => Party::Playwright,
            Self::Puppeteer | Self::DevToolsMcp => Party::DevTools,
            Self::AgentBrowserSocket | Self::AgentBrowserCommand => Party::AgentBrowser,
        }
    }

    /// True for a form of another tool.
    pub fn is_rival(self) -> bool {
        !matches!(self.party(), Party::Ours | Party::Floor)
    }
}

/// Whole commands of a tool with a daemon. Ours and the other share this command syntax.
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

/// The daemon of `agent-browser` over its socket: the cost of a command without its process.
pub struct Socket {
    commands: Commands,
    peer: Option<Peer>,
}

impl Socket {
    /// Creates the contender; it connects when a page is opened.
    pub fn new(tool: Rc<Tool>) -> Self {
        Self { commands: Commands(tool), peer: None }
    }
}

impl Contender for Socket {
    fn open(&mut self, url: &str) -> Result<()> {
        // A command starts the daemon if necessary.
        self.commands.open(url)?;
        self.peer = Some(Peer::connect("agent-browser", &self.commands.0.socket())?);
        Ok(())
    }

    fn script(&mut self, script: &str) -> Result<()> {
        self.commands.script(script)
    }

    fn snapshot(&mut self) -> Result<Taken> {
        #[derive(Serialize)]
        struct SocketRequest {
            action: &'static str,
        }
        #[derive(Deserialize)]
        struct SocketReply {
            data: Option<Data>,
            error: Option<String>,
        }
        #[derive(Deserialize)]
        struct Data {
            snapshot: String,
        }
        let peer =
            self.peer.as_mut().ok_or_else(|| Error::Failed("no page has been opened".into()))?;
        let answer = peer.request::<SocketReply>(&SocketRequest { action: "snapshot" })?;
        match answer.body.data {
            Some(data) => Ok(Taken { ms: answer.ms, text: data.snapshot }),
            None => Err(Error::Failed(format!(
                "agent-browser takes no snapshot: {}",
                answer.body.error.unwrap_or_default()
            ))),
        }
    }
}
