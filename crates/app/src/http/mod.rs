//! The HTTP server: runs a router behind the gate, with limits and graceful shutdown.

mod gate;
mod serve;

pub(crate) use serve::{HttpServer, ListenOptions, MAX_BODY};
