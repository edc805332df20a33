//! The HTTP server: each door brings a router, this brings the gate, the limits and the end.

mod gate;
mod serve;

pub(crate) use serve::{HttpServer, ListenOptions, MAX_BODY};
