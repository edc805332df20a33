//! The daemon: one process per session that owns its browser and serves requests on a Unix socket.
//!
//! The first command of a session starts it; it exits after an idle timeout.

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
