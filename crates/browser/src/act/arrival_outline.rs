//! The arrival outline: the main refs of a page that an action navigated to. The next step often needs no more.

use super::Action;
use crate::observe::{self, ObserveOptions};
use crate::tab::Phase;
use page::outline::outline;
use std::time::Duration;

/// Timeout of the observation of the new page.
const OBSERVATION: Duration = Duration::from_millis(400);

/// Token budget of the outline, approximately.
const BUDGET: u32 = 200;

impl Action<'_> {
    /// The main refs of the current page; empty if it cannot be observed in time.
    pub(super) async fn arrival_outline(&mut self) -> String {
        let is_there = |phase: Phase| phase >= Phase::DomReady;
        if !is_there(self.tab.state.borrow().phase) {
            return String::new();
        }
        let limit = self.progress.deadline.at_most(OBSERVATION);
        let options = ObserveOptions::default();
        let tree =
            match observe::observe(self.live, self.tab, self.observation, &options, limit).await {
                Ok(tree) => tree,
                Err(error) => {
                    tracing::debug!(code = %error.code(), "no outline of a new page");
                    return String::new();
                }
            };
        let registry = &mut self.observation.registry;
        let outline = outline(&tree, BUDGET, &mut registry.numbering(&tree));
        self.observation.issue_refs(&tree, &outline.nodes);
        outline.text
    }
}
