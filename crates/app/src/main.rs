//! The `agbrowse` program; `cli` parses and runs the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    agbrowse::cli::main()
}
