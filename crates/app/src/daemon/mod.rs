//! The daemon: one process per session, which owns its browser and answers on a local socket.
//!
//! It is started by the first command of a session and stops by itself when it has been idle.

mod client;
mod connection_limit;
mod server;
mod session_paths;
mod state;
mod wire;

pub use client::{Connection, DaemonClient};
pub use server::serve;
pub use session_paths::{SessionPaths, list, list_all, runtime_dir};
pub use state::{DaemonState, ExitReason};
pub use wire::{
    DaemonRequest, DaemonResponse, DaemonStatus, MAX_REQUEST, RequestEnvelope, ResponseEnvelope,
};
