//! Contenders that use our library like any other program. The only place here that uses its API.

use crate::contender::{Contender, Taken};
use crate::corpus::ONLY_LOOPBACK;
use crate::{Error, Result};
use browser::command::{
    ActionKind, Button, Can, Click, Eval, Open, SettleArgs, Snapshot, TargetArgs,
};
use browser::launch::Options;
use browser::{Browser, Command, Reply, Request, Target};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// The bare walk that snapshots are compared with.
const WALK: &str = include_str!("../walk.js");

/// Time limit of a call.
const LIMIT: Duration = Duration::from_secs(60);

/// A browser in this process.
pub struct Library {
    // One thread of its own, as in a program that continues while a command waits: page events are read as
    // they arrive.
    runtime: Runtime,
    browser: Browser,
}

/// Form of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The whole page with default options.
    Whole,
    /// Only nodes with refs.
    RefsOnly,
    /// The delta to the previous snapshot.
    Delta,
}

impl View {
    fn snapshot(self) -> Snapshot {
        match self {
            Self::Whole => Snapshot::default(),
            Self::RefsOnly => Snapshot { refs_only: true, ..Snapshot::default() },
            Self::Delta => Snapshot { delta: true, ..Snapshot::default() },
        }
    }
}

/// A timed click.
#[derive(Clone, Copy, Debug)]
pub struct Clicked {
    /// Total time in milliseconds.
    pub ms: f64,
    /// Time until the page had processed the click.
    pub out_ms: f64,
}

fn target(name: &str) -> Result<Target> {
    name.parse().map_err(Error::Failed)
}

fn click(name: &str) -> Result<Command> {
    Ok(Command::Click(Click {
        target_args: TargetArgs::at(target(name)?),
        button: Button::Left,
        count: 1,
        modifiers: Vec::new(),
        hold_ms: None,
        after: SettleArgs::default(),
    }))
}

impl Library {
    /// Creates a browser that is launched on first use.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(chrome: &Path) -> Result<Self> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let options = Options {
            chrome: Some(chrome.to_owned()),
            args: vec![ONLY_LOOPBACK.to_owned()],
            ..Options::default()
        };
        Ok(Self { runtime, browser: Browser::new(options) })
    }

    /// Opens a page and waits until it is loaded.
    ///
    /// # Errors
    /// When that fails.
    pub fn open(&self, url: &str) -> Result<()> {
        let open = Open { url: url.to_owned(), ..Open::default() };
        self.run("open", Command::Open(open)).map(drop)
    }

    /// Evaluates a script in the page and returns its result as text.
    ///
    /// # Errors
    /// When that fails, or the script throws.
    pub fn eval(&self, script: &str) -> Result<Taken> {
        self.eval_in(script, false)
    }

    /// Evaluates a script in an isolated world, like that of our own scripts: there every node costs more to
    /// access.
    ///
    /// # Errors
    /// As for [`Self::eval`].
    pub fn eval_isolated(&self, script: &str) -> Result<Taken> {
        self.eval_in(script, true)
    }

    fn eval_in(&self, script: &str, isolated: bool) -> Result<Taken> {
        let eval = Eval { script: script.to_owned(), isolated, ..Eval::default() };
        self.run("eval", Command::Eval(eval))
    }

    /// Takes a snapshot.
    ///
    /// # Errors
    /// When that fails.
    pub fn snapshot(&self, view: View) -> Result<Taken> {
        self.run("snapshot", Command::Snapshot(view.snapshot()))
    }

    /// Clicks the element of a ref.
    ///
    /// # Errors
    /// When that fails.
    pub fn click(&self, name: &str) -> Result<Clicked> {
        let began = Instant::now();
        let reply = self.send(click(name)?)?;
        let Reply::Click(receipt) = &reply else {
            return Err(Error::Failed("a click gives another reply".into()));
        };
        let out_ms = receipt.dispatched_ms;
        _ = reply.to_string();
        Ok(Clicked { ms: began.elapsed().as_secs_f64() * 1000.0, out_ms })
    }

    /// Clicks a removed element; returns the time of the refusal in milliseconds.
    ///
    /// # Errors
    /// When it is not refused.
    pub fn refused_click(&self, name: &str) -> Result<f64> {
        let began = Instant::now();
        match self.send(click(name)?) {
            Ok(_) => Err(Error::Failed("a stale ref was clicked".into())),
            Err(_) => Ok(began.elapsed().as_secs_f64() * 1000.0),
        }
    }

    /// Runs `can click`; returns its time in milliseconds.
    ///
    /// # Errors
    /// When the click is not possible.
    pub fn can_click(&self, name: &str) -> Result<f64> {
        let target = target(name)?;
        let can = Can { action: ActionKind::Click, target_args: TargetArgs::at(target) };
        let began = Instant::now();
        match self.send(Command::Can(can))? {
            // `warn`: it can, and its text has changed since, as that of a counter has.
            Reply::Can(row) if matches!(row.state.as_str(), "ok" | "warn") => {
                Ok(began.elapsed().as_secs_f64() * 1000.0)
            }
            other => Err(Error::Failed(format!("it cannot be clicked: {other}"))),
        }
    }

    fn send(&self, command: Command) -> Result<Reply> {
        let outcome = self.runtime.block_on(self.browser.run(Request::new(command)));
        outcome.map(|outcome| outcome.reply).map_err(|error| Error::Failed(error.to_string()))
    }

    /// The time includes serializing the text: a reply may defer that until it is printed.
    fn run(&self, verb: &str, command: Command) -> Result<Taken> {
        let timeout_ms = u64::try_from(LIMIT.as_millis()).ok();
        let request = Request { timeout_ms, ..Request::new(command) };
        let began = Instant::now();
        let outcome = self.runtime.block_on(self.browser.run(request));
        let outcome =
            outcome.map_err(|error| Error::Failed(format!("`agbrowse {verb}` failed: {error}")))?;
        let text = outcome.reply.to_string();
        Ok(Taken { ms: began.elapsed().as_secs_f64() * 1000.0, text })
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // A browser that does not close in time ends with this process.
        _ = self.runtime.block_on(async {
            tokio::time::timeout(Duration::from_secs(10), self.browser.close()).await
        });
    }
}

/// Snapshots by the library.
pub struct ByLibrary(pub Rc<Library>);

impl Contender for ByLibrary {
    fn open(&mut self, url: &str) -> Result<()> {
        self.0.open(url)
    }

    fn script(&mut self, script: &str) -> Result<()> {
        self.0.eval(script).map(drop)
    }

    fn snapshot(&mut self) -> Result<Taken> {
        self.0.snapshot(View::Whole)
    }
}

/// The bare walk, in the same browser, over the same connection, and in an isolated world like that of our
/// scripts.
pub struct Walk(pub Rc<Library>);

impl Contender for Walk {
    fn open(&mut self, url: &str) -> Result<()> {
        self.0.open(url)
    }

    fn script(&mut self, script: &str) -> Result<()> {
        self.0.eval(script).map(drop)
    }

    fn snapshot(&mut self) -> Result<Taken> {
        self.0.eval_isolated(WALK)
    }
}
