//! The driver contract: what runs commands, here or behind a daemon.

use crate::browser::{Browser, Outcome, Request};
use crate::command::Command;
use crate::error::Result;
use crate::events::EventStream;

/// Capabilities of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The verbs that it runs.
    pub verbs: Vec<&'static str>,
    /// Commands go to another process.
    pub is_remote: bool,
    /// It takes a [`Recorder`](crate::Recorder).
    pub takes_recorder: bool,
}

impl Capabilities {
    /// Those of a driver in another process of the same version.
    pub fn remote() -> Self {
        Self { verbs: Command::NAMES.to_vec(), is_remote: true, takes_recorder: false }
    }
}

/// A driver of a browser. A live [`Browser`] is one; a client of a daemon is another.
pub trait Driver {
    /// Runs a command. Dropped half-way, the command is dropped too.
    fn run(&self, request: Request) -> impl Future<Output = Result<Outcome>> + Send;

    /// The capabilities.
    fn supports(&self) -> Capabilities;

    /// The events from here on.
    fn events(&self) -> EventStream;
}

impl Driver for Browser {
    fn run(&self, request: Request) -> impl Future<Output = Result<Outcome>> + Send {
        self.run(request)
    }

    fn supports(&self) -> Capabilities {
        Capabilities { is_remote: false, takes_recorder: true, ..Capabilities::remote() }
    }

    fn events(&self) -> EventStream {
        self.events()
    }
}
