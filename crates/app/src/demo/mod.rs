//! `agbrowse demo`.

mod site;

use crate::config::Config;
use browser::Result;
use clap::Args;

pub use site::Site;

/// See what agbrowse can do, on a shop that ships with it.
#[derive(Clone, Debug, Default, Args)]
pub struct Demo {}

impl Demo {
    /// Serves the shop and walks through it.
    ///
    /// # Errors
    /// When a step of the walk fails.
    pub async fn run(&self, _config: &Config) -> Result<()> {
        Ok(())
    }
}
