//! Tests of the program: command line, daemon, MCP server, documents.
#![allow(unreachable_pub, reason = "a test binary exports nothing")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests may fail loudly and say what they do"
)]

mod action_torture;
mod architecture;
mod cli;
mod daemon;
mod daemon_client;
mod determinism;
mod doctor;
mod fidelity;
mod generated_docs;
mod install;
mod mcp;
mod miniwob;
mod ref_coverage;
mod refs;
mod sandbox;
mod serve;
mod snapshot_output;
mod torture;
mod trust;
mod web_ai;
