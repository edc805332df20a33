//! Check `browser`: finds the browser and its version.

use super::{Finding, Severity, program};
use crate::config::Config;

pub(super) async fn run(config: &Config) -> Finding {
    let found = match program(config) {
        Ok(found) => found,
        Err(error) => {
            return Finding::new(Severity::Fail, error.details().message.clone())
                .fix("run `agbrowse install`");
        }
    };
    let path = found.path.display();
    let version = tokio::process::Command::new(&found.path)
        .arg("--version")
        .kill_on_drop(true)
        .output()
        .await;
    match version {
        Ok(output) if output.status.success() => {
            let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            Finding::new(Severity::Info, format!("{version} at {path} ({})", found.origin))
        }
        Ok(output) => Finding::new(
            Severity::Fail,
            format!("`{path} --version` failed with {}", output.status),
        )
        .fix("run it by hand to see the error, or run `agbrowse install --force`"),
        Err(error) => Finding::new(Severity::Fail, format!("{path} cannot be run: {error}"))
            .fix("run `agbrowse install --force`"),
    }
}
