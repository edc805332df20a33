//! The daemon: one process per session, which owns its browser and answers on a local socket.
//!
//! It is started by the first command of a session and stops by itself when it has been idle. The client
//! side uses no async runtime: one frame out, one frame in.

mod client;
mod guests;
mod line;
mod place;
mod server;
mod state;
mod wire;

pub use client::{Client, ensure};
pub use line::Line;
pub use place::{Place, list, list_all, runtime_dir};
pub use server::serve;
pub use state::{Ended, State};
pub use wire::{Action, Answer, Call, DaemonStatus, Done, MAX_REQUEST};
