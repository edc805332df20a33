//! The program: command line, daemon, MCP server, HTTP API, demo. Only this crate prints, reads arguments or exits.
//!
//! Every page command goes through [`browser::Browser::run`]; this crate parses it, sends it to the daemon that owns the
//! browser, and prints the reply.

pub mod api;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod demo;
pub mod doctor;
mod highlight;
mod http;
mod idle_memory;
pub mod install;
pub mod mcp;
pub mod output;
mod random;
mod session_client;
pub mod sessions;
mod signals;
pub mod skill;
pub mod web_ai;

/// Version of this build. Client and daemon must have the same.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
