//! Our own library, called as any program would call it. The only place here that knows its interface.

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

/// No call takes longer.
const LIMIT: Duration = Duration::from_secs(60);

/// A browser in this process.
pub struct Library {
    // One thread of its own, as in a program that goes on while a command waits: what the page reports
    // meanwhile is read when it comes.
    runtime: Runtime,
    browser: Browser,
}

/// What a snapshot shall show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The page, as it is shown by default.
    Whole,
    /// What can be used, and nothing else.
    RefsOnly,
    /// What has changed since the snapshot before.
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

/// A click that was made.
#[derive(Clone, Copy, Debug)]
pub struct Clicked {
    /// How long all of it took, in milliseconds.
    pub ms: f64,
    /// When the page had taken in the click.
    pub out_ms: f64,
}

fn target(name: &str) -> Result<Target> {
    name.parse().map_err(Error::Failed)
}

fn click(name: &str) -> Result<Command> {
    Ok(Command::Click(Click {
        aim: TargetArgs::at(target(name)?),
        button: Button::Left,
        count: 1,
        modifiers: Vec::new(),
        hold_ms: None,
        after: SettleArgs::default(),
    }))
}

impl Library {
    /// A browser that is started when it is first used.
    ///
    /// # Errors
    /// When there is no thread to be had.
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
    /// When that does not work.
    pub fn open(&self, url: &str) -> Result<()> {
        let open = Open { url: url.to_owned(), ..Open::default() };
        self.run("open", Command::Open(open)).map(drop)
    }

    /// Runs a script in the page and tells its result as text.
    ///
    /// # Errors
    /// When that does not work, or it throws.
    pub fn eval(&self, script: &str) -> Result<Taken> {
        self.eval_in(script, false)
    }

    /// The same in a world beside the page, like that of our own scripts: there every node costs more to touch.
    ///
    /// # Errors
    /// As for [`Self::eval`].
    pub fn eval_beside(&self, script: &str) -> Result<Taken> {
        self.eval_in(script, true)
    }

    fn eval_in(&self, script: &str, isolated: bool) -> Result<Taken> {
        let eval = Eval { script: script.to_owned(), isolated, ..Eval::default() };
        self.run("eval", Command::Eval(eval))
    }

    /// Takes a snapshot.
    ///
    /// # Errors
    /// When that does not work.
    pub fn snapshot(&self, view: View) -> Result<Taken> {
        self.run("snapshot", Command::Snapshot(view.snapshot()))
    }

    /// Clicks what has a ref.
    ///
    /// # Errors
    /// When that does not work.
    pub fn click(&self, name: &str) -> Result<Clicked> {
        let began = Instant::now();
        let reply = self.ask(click(name)?)?;
        let Reply::Click(receipt) = &reply else {
            return Err(Error::Failed("a click gives another reply".into()));
        };
        let out_ms = receipt.dispatched_ms;
        _ = reply.to_string();
        Ok(Clicked { ms: began.elapsed().as_secs_f64() * 1000.0, out_ms })
    }

    /// Clicks what is gone, and tells how long the refusal took, in milliseconds.
    ///
    /// # Errors
    /// When it is not refused.
    pub fn refused_click(&self, name: &str) -> Result<f64> {
        let began = Instant::now();
        match self.ask(click(name)?) {
            Ok(_) => Err(Error::Failed("a stale ref was clicked".into())),
            Err(_) => Ok(began.elapsed().as_secs_f64() * 1000.0),
        }
    }

    /// Asks whether a click could be made, and tells how long that took, in milliseconds.
    ///
    /// # Errors
    /// When it could not.
    pub fn can_click(&self, name: &str) -> Result<f64> {
        let target = target(name)?;
        let can = Can { action: ActionKind::Click, aim: TargetArgs::at(target) };
        let began = Instant::now();
        match self.ask(Command::Can(can))? {
            Reply::Can(row) if row.state == "ok" => Ok(began.elapsed().as_secs_f64() * 1000.0),
            other => Err(Error::Failed(format!("it cannot be clicked: {other}"))),
        }
    }

    fn ask(&self, command: Command) -> Result<Reply> {
        let outcome = self.runtime.block_on(self.browser.run(Request::new(command)));
        outcome.map(|outcome| outcome.reply).map_err(|error| Error::Failed(error.to_string()))
    }

    /// Time counts until the text is there: a reply may write it only when it is printed.
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
        // A browser that does not go in time ends with this process.
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

/// The bare walk, in the same browser, by the same channel, and in a world beside the page like that of our scripts.
pub struct Walk(pub Rc<Library>);

impl Contender for Walk {
    fn open(&mut self, url: &str) -> Result<()> {
        self.0.open(url)
    }

    fn script(&mut self, script: &str) -> Result<()> {
        self.0.eval(script).map(drop)
    }

    fn snapshot(&mut self) -> Result<Taken> {
        self.0.eval_beside(WALK)
    }
}
