//! State file of a daemon, read by its successor: without it, the successor of a killed daemon would show a blank tab in
//! place of the caller's page.

use super::SessionPaths;
use browser::OrphanTabs;
use serde::{Deserialize, Serialize};

/// State of a daemon, in a file beside its socket. Removed at an orderly shutdown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonState {
    /// Process id of the daemon.
    pub pid: u32,
    /// Version of the daemon.
    pub version: String,
    /// True if it had a browser.
    pub had_browser: bool,
    /// Highest tab number so far: a session never reuses tab numbers.
    pub last_tab: u32,
    /// An earlier loss, kept until a page is opened.
    pub lost: Option<String>,
    /// Tabs it opened in an attached browser: they outlive a killed daemon.
    pub left: Option<OrphanTabs>,
    /// Exit reason, unless a caller stopped it.
    pub ended: Option<ExitReason>,
}

/// Reason for an exit that no caller requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitReason {
    /// Idle timeout.
    Idle,
    /// Termination signal.
    Signal,
}

impl DaemonState {
    /// Reads the state file of a session.
    pub fn read(paths: &SessionPaths) -> Option<Self> {
        serde_json::from_str(&std::fs::read_to_string(paths.state()).ok()?).ok()
    }

    /// Writes the state file atomically.
    pub fn write(&self, paths: &SessionPaths) -> std::io::Result<()> {
        let path = paths.state();
        let folder = path.parent().unwrap_or(std::path::Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut file, self)?;
        file.persist(&path)?;
        Ok(())
    }

    /// Describes why the tabs of the session are lost; `None` if there was no browser.
    pub fn loss(&self) -> Option<String> {
        if self.lost.is_some() {
            return self.lost.clone();
        }
        let reason = match self.ended {
            Some(ExitReason::Idle) => "stopped after its idle timeout",
            Some(ExitReason::Signal) => "was stopped by a signal",
            None => "was killed",
        };
        self.had_browser
            .then(|| format!("the daemon of this session (process {}) {reason}", self.pid))
    }
}
