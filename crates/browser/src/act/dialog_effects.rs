//! Effects of an answer to a dialog.

use super::{Action, Baseline, Effect};
use crate::chromium::activity::PageEvent;
use crate::tab::Tab;

/// The effects of an answer.
pub(crate) struct DialogEffects {
    pub(crate) effect: Effect,
    pub(crate) delta: String,
    pub(crate) events: Vec<PageEvent>,
}

impl Baseline {
    /// The effect that browser events prove, if there is one.
    pub(crate) fn known_effect(&self, tab: &Tab) -> Option<Effect> {
        let (state, cursor) = (tab.state.borrow().clone(), tab.activity.cursor());
        let left_page = state.loader != self.state.loader || state.url != self.state.url;
        let is_leaving = cursor.departures > self.cursor.departures
            && tab.activity.pending_navigation().is_some();
        if state.dialog.is_some() {
            Some(Effect::Dialog)
        } else if state.end.is_some() {
            Some(Effect::Unknown)
        } else if cursor.downloaded > self.cursor.downloaded {
            Some(Effect::Download)
        } else {
            (left_page || is_leaving).then_some(Effect::Navigated)
        }
    }
}

impl Action<'_> {
    /// The effects of an answer; `baseline` is the state before it.
    pub(crate) async fn dialog_effects(&mut self, baseline: Baseline) -> DialogEffects {
        self.baseline = baseline;
        // The page could not be observed while the dialog was open.
        self.tree = self.observation.last_tree();
        let certain = self.baseline.known_effect(self.tab);
        let mut effect = certain.unwrap_or(Effect::Changed);
        let can_look = !matches!(effect, Effect::Dialog | Effect::Unknown);
        let was_known = self.tree.is_some() || self.observation.delta_baseline.is_some();
        let delta = match can_look {
            true => self.delta(effect, None).await,
            false => String::new(),
        };
        let is_asking =
            self.tab.activity.cursor().request_count > self.baseline.cursor.request_count;
        if certain.is_none() && delta.is_empty() && !is_asking {
            effect = if was_known { Effect::None } else { Effect::Unknown };
        }
        self.live.sync_activity().await;
        DialogEffects { effect, delta, events: self.tab.activity.take_events() }
    }
}
