//! The doors: command line, daemon, demo. Only this crate prints, reads arguments or exits.
//!
//! Everything done to a page goes through [`browser::Browser::run`]; here it is parsed, carried to the
//! daemon that owns the browser, and printed.

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
pub mod sessions;
mod signals;
pub mod skill;

/// The version of this build. Client and daemon must agree on it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
