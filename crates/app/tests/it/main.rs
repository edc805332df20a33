//! The program as its users meet it: its command line, its daemon, its documents.
#![allow(unreachable_pub, reason = "a test binary exports nothing")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests may fail loudly and say what they do"
)]

mod actions;
mod architecture;
mod cli;
mod daemon;
mod doctor;
mod fidelity;
mod home;
mod install;
mod mcp;
mod miniwob;
mod recall;
mod refs;
mod sameness;
mod showing;
mod surface;
mod torture;
mod trust;
