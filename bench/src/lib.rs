//! Parts of benchmarks: tools to run, pages to run them on, turns, statistics and reports.
//!
//! Each benchmark is a program in `bin/`. Nothing here prints, and nothing here knows the requirements of a
//! benchmark.

pub mod contender;
pub mod corpus;
pub mod json_child;
pub mod machine;
pub mod ours;
pub mod plot;
pub mod process;
pub mod race;
pub mod report;
pub mod rivals;
pub mod stats;
pub mod tokens;
pub mod tool;
pub mod turns;
pub mod workload;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Error of a benchmark.
#[derive(Debug)]
pub enum Error {
    /// Wrong usage.
    WrongCall(String),
    /// Any other failure.
    Failed(String),
}

/// Result of a benchmark step.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Exit code of the program.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::WrongCall(_) => ExitCode::from(2),
            Self::Failed(_) => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::WrongCall(message) | Self::Failed(message)) = self;
        f.write_str(message)
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Folder of this project.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
