//! `agbrowse`: see `cli` for what it understands.

use std::process::ExitCode;

fn main() -> ExitCode {
    agbrowse::cli::main()
}
