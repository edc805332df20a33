//! `agbrowse demo`: a web shop that ships with the program, and a guided tour of it.
//!
//! The tour runs ordinary command lines through the same `Browser::run` as the command line does, and checks each result,
//! so the demonstration can fail.

mod chat;
mod site;
mod tour;

pub use site::Site;

use crate::config::Config;
use crate::output::{self, Output};
use browser::launch::Options;
use browser::{Browser, Code, Error, Result};
use chatapps::ChatApps;
use clap::Args;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;

/// Demonstrate agbrowse on a web shop that ships with it.
///
/// Serves the shop on loopback, runs a series of commands on it and prints each with its result. Closes the browser and
/// the shop afterwards.
#[derive(Clone, Debug, Default, Args)]
pub struct Demo {
    /// Only serve the shop until Ctrl-C, to try commands on it.
    #[arg(long)]
    pub serve: bool,
    /// Folder for screenshots and other files. The default is a folder of your own in the temporary folder.
    #[arg(long, value_name = "FOLDER")]
    pub pictures: Option<PathBuf>,
}

impl Demo {
    /// Serves the shop and runs the tour. Returns true if all steps passed.
    ///
    /// # Errors
    /// When the shop cannot be served or the browser cannot be launched.
    pub async fn run(&self, config: &Config, output: Output) -> Result<bool> {
        let site = Site::serve().await.map_err(|error| {
            Error::new(Code::InternalUnhandled).message(format!("cannot serve the shop: {error}"))
        })?;
        if self.serve {
            output::say(&format!(
                "serving the shop at {} until Ctrl-C\ntry: agbrowse open {}",
                site.origin, site.origin
            ));
            _ = tokio::signal::ctrl_c().await;
            return Ok(true);
        }
        let folder = self.folder()?;
        let apps = ChatApps::start().await.map_err(|error| {
            Error::new(Code::InternalUnhandled)
                .message(format!("cannot serve the chat app: {error}"))
        })?;
        let (mut options, _) = config.launch_overrides().apply(&Options::default());
        options.args.extend(apps.browser_args());
        let browser = Arc::new(Browser::new(options));
        let report = tour::run(&browser, &site, &apps, &folder, output).await;
        browser.close().await;
        let report = report?;
        output.report(report.ok, &report)?;
        Ok(report.ok)
    }

    /// Returns the output folder, created if needed. The default is in the shared temporary folder, so one that belongs to
    /// another user is refused.
    fn folder(&self) -> Result<PathBuf> {
        let user = rustix::process::getuid();
        let default_folder =
            || std::env::temp_dir().join(format!("agbrowse-demo-{}", user.as_raw()));
        let folder = self.pictures.clone().unwrap_or_else(default_folder);
        let failed = |why: &str| {
            Error::new(Code::FileWriteFailed).message(format!("`{}`: {why}", folder.display()))
        };
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        let meta = created.and_then(|()| std::fs::symlink_metadata(&folder));
        let meta = meta.map_err(|error| failed(&error.to_string()))?;
        if self.pictures.is_none() && (!meta.is_dir() || meta.uid() != user.as_raw()) {
            return Err(failed("it belongs to another user; set another folder with `--pictures`"));
        }
        Ok(folder)
    }
}
