//! What a daemon leaves behind for the next one: without it, a killed daemon's successor would show a blank
//! tab where the caller's page was.

use super::SessionPaths;
use browser::OrphanTabs;
use serde::{Deserialize, Serialize};

/// What a daemon says of itself, in a file beside its socket. Removed at an orderly end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonState {
    /// The daemon's process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Whether it had a browser.
    pub had_browser: bool,
    /// The highest number that a tab had: numbers are never given out twice in a session.
    pub last_tab: u32,
    /// What had been lost before, and nobody has opened a page since.
    pub lost: Option<String>,
    /// The tabs that it made in a browser that somebody else runs: they outlive a killed daemon.
    pub left: Option<OrphanTabs>,
    /// Why it ended, when that was not what the caller asked for.
    pub ended: Option<ExitReason>,
}

/// Why a daemon ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitReason {
    /// Nobody used it.
    Idle,
    /// The system asked it to end.
    Signal,
}

impl DaemonState {
    /// What the last daemon of a session left.
    pub fn read(place: &SessionPaths) -> Option<Self> {
        serde_json::from_str(&std::fs::read_to_string(place.state()).ok()?).ok()
    }

    /// Leaves it for the next.
    pub fn write(&self, place: &SessionPaths) -> std::io::Result<()> {
        let path = place.state();
        let folder = path.parent().unwrap_or(std::path::Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut file, self)?;
        file.persist(&path)?;
        Ok(())
    }

    /// Why the tabs of the session are gone, in words.
    pub fn loss(&self) -> Option<String> {
        if self.lost.is_some() {
            return self.lost.clone();
        }
        let how = match self.ended {
            Some(ExitReason::Idle) => "ended after being idle",
            Some(ExitReason::Signal) => "was told to end by the system",
            None => "was killed",
        };
        self.had_browser.then(|| format!("the daemon of this session (process {}) {how}", self.pid))
    }
}
