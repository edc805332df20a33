//! Tabs of ours that are left in a browser that somebody else runs, when the owner of a [`super::RunningBrowser`] is killed: nobody
//! but the next owner knows whose they are.

use super::ORDERLY_END;
use crate::launch::{self, Options};
use cdp::Deadline;
use cdp::protocol::browser::GetVersion;
use cdp::protocol::target::CloseTarget;
use serde::{Deserialize, Serialize};

/// Tabs that we made in a browser that we attached to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrphanTabs {
    /// Where the browser was attached to.
    pub cdp: String,
    /// The browser's ids of the tabs. They are random, so no other browser has the same.
    pub tabs: Vec<String>,
}

impl OrphanTabs {
    /// What has become of the tabs of a browser that was lost for this reason.
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
        // Answered after those.
        _ = browser.call(GetVersion {}, deadline).await;
    }
}
