//! Orphaned tabs: our tabs in an attached browser, left open when the owner of a
//! [`super::RunningBrowser`] was killed. Only the next owner knows that they are ours.

use super::ORDERLY_END;
use crate::launch::{self, Options};
use cdp::Deadline;
use cdp::protocol::browser::GetVersion;
use cdp::protocol::target::CloseTarget;
use serde::{Deserialize, Serialize};

/// Tabs that we opened in an attached browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrphanTabs {
    /// The endpoint of the browser.
    pub cdp: String,
    /// Target ids of the tabs. They are random, so unique across browsers.
    pub tabs: Vec<String>,
}

impl OrphanTabs {
    /// Describes the fate of a lost browser's tabs.
    pub fn tell(left: Option<&Self>, reason: &str) -> String {
        match left {
            Some(left) => {
                format!("{reason}; its tabs may still be open in the browser at `{}`", left.cdp)
            }
            None => format!("{reason}; its tabs are gone"),
        }
    }

    /// Closes the tabs, if their browser can still be reached.
    pub(crate) async fn close(self) {
        let options = Options { cdp: Some(self.cdp), ..Options::default() };
        let deadline = Deadline::after(ORDERLY_END);
        let browser = match launch::launch(&options, deadline).await {
            Ok(launched) => launched.connection.browser(),
            Err(error) => return tracing::warn!(%error, "tabs of ours could not be closed"),
        };
        for target_id in self.tabs {
            browser.post(&CloseTarget { target_id });
        }
        // Its response follows those.
        _ = browser.call(GetVersion {}, deadline).await;
    }
}
