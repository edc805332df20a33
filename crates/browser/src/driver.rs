//! The driver contract: runs commands in this process or through a daemon.

use crate::browser::{Browser, Outcome, Request};
use crate::command::Command;
use crate::error::Result;
use crate::events::EventStream;
use std::sync::Arc;

/// Capabilities of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The supported verbs.
    pub verbs: Vec<&'static str>,
    /// Commands run in another process.
    pub is_remote: bool,
    /// Supports a [`Recorder`](crate::Recorder).
    pub takes_recorder: bool,
}

impl Capabilities {
    /// The capabilities of a driver in another process of the same version.
    pub fn remote() -> Self {
        Self { verbs: Command::NAMES.to_vec(), is_remote: true, takes_recorder: false }
    }
}

/// A driver of a browser: a live [`Browser`], or a client of a daemon.
pub trait Driver {
    /// Runs a command. Dropping the future drops the command.
    fn run(&self, request: Request) -> impl Future<Output = Result<Outcome>> + Send;

    /// The capabilities.
    fn supports(&self) -> Capabilities;

    /// Subscribes to events.
    fn events(&self) -> EventStream;
}

impl<D: Driver> Driver for Arc<D> {
    fn run(&self, request: Request) -> impl Future<Output = Result<Outcome>> + Send {
        (**self).run(request)
    }

    fn supports(&self) -> Capabilities {
        (**self).supports()
    }

    fn events(&self) -> EventStream {
        (**self).events()
    }
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
