//! `agbrowse demo`: a shop that ships with the program, and a walk through it that shows what can be done.
//!
//! The walk runs the same commands that a shell would send, through the same hallway, and checks each
//! answer: it is a demonstration that can fail.

mod site;
mod tour;

pub use site::Site;

use crate::config::Config;
use crate::output::{self, Output};
use browser::launch::Options;
use browser::{Browser, Code, Error, Result};
use clap::Args;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;

/// See what agbrowse can do, on a shop that ships with it.
///
/// Serves the shop on loopback and walks through it, telling each step. Ends the browser and the shop
/// afterwards.
#[derive(Clone, Debug, Default, Args)]
pub struct Demo {
    /// Only serve the shop, until Ctrl-C, to try commands on it by hand.
    #[arg(long)]
    pub serve: bool,
    /// The folder for the pictures and other files of the walk; one of your own in the temporary folder when absent.
    #[arg(long, value_name = "FOLDER")]
    pub pictures: Option<PathBuf>,
}

impl Demo {
    /// Serves the shop and walks through it. `true` when every step did what it promised.
    ///
    /// # Errors
    /// When the shop cannot be served or no browser comes up.
    pub async fn run(&self, config: &Config, output: Output) -> Result<bool> {
        let site = Site::serve().await.map_err(|error| {
            Error::new(Code::InternalUnhandled)
                .message(format!("the shop cannot be served: {error}"))
        })?;
        if self.serve {
            output::say(&format!(
                "the shop is open at {}, until Ctrl-C\ntry: agbrowse open {}",
                site.origin, site.origin
            ));
            _ = tokio::signal::ctrl_c().await;
            return Ok(true);
        }
        let folder = self.folder()?;
        let (options, _) = config.launch_overrides().apply(&Options::default());
        let browser = Browser::new(options);
        let told = tour::walk(&browser, &site, &folder, output).await;
        browser.close().await;
        let told = told?;
        output.report(told.ok, &told)?;
        Ok(told.ok)
    }
    /// Where the files go, made when it is not there. The temporary folder is shared: what is there under our name
    /// but somebody else's is not used.
    fn folder(&self) -> Result<PathBuf> {
        let user = rustix::process::getuid();
        let own = || std::env::temp_dir().join(format!("agbrowse-demo-{}", user.as_raw()));
        let folder = self.pictures.clone().unwrap_or_else(own);
        let failed = |why: &str| {
            Error::new(Code::FileWriteFailed).message(format!("`{}`: {why}", folder.display()))
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        let about = made.and_then(|()| std::fs::symlink_metadata(&folder));
        let about = about.map_err(|error| failed(&error.to_string()))?;
        if self.pictures.is_none() && (!about.is_dir() || about.uid() != user.as_raw()) {
            return Err(failed("it is somebody else's; name another folder with `--pictures`"));
        }
        Ok(folder)
    }
}
