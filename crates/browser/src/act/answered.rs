//! Consequences of an answer to a dialog.

use super::{Action, Baseline, Effect};
use crate::chromium::activity::PageEvent;
use crate::tab::Tab;

/// What came of an answer.
pub(crate) struct DialogEffects {
    pub(crate) effect: Effect,
    pub(crate) delta: String,
    pub(crate) events: Vec<PageEvent>,
}

impl Baseline {
    /// The effect that the browser itself tells of, if it does.
    pub(crate) fn certain_effect(&self, tab: &Tab) -> Option<Effect> {
        let (state, mark) = (tab.state.borrow().clone(), tab.activity.mark());
        let left_page = state.loader != self.state.loader || state.url != self.state.url;
        let is_leaving =
            mark.departures > self.mark.departures && tab.activity.bound_for().is_some();
        if state.dialog.is_some() {
            Some(Effect::Dialog)
        } else if state.end.is_some() {
            Some(Effect::Unknown)
        } else if mark.downloaded > self.mark.downloaded {
            Some(Effect::Download)
        } else {
            (left_page || is_leaving).then_some(Effect::Navigated)
        }
    }
}

impl Action<'_> {
    /// What came of an answer that was given when the tab was as it was `before`.
    pub(crate) async fn after_answer(&mut self, before: Baseline) -> DialogEffects {
        self.before = before;
        // Nobody could look at the page while the dialog was open.
        self.tree = self.observation.last_seen();
        let certain = self.before.certain_effect(self.tab);
        let mut effect = certain.unwrap_or(Effect::Changed);
        let can_look = !matches!(effect, Effect::Dialog | Effect::Unknown);
        let was_known = self.tree.is_some() || self.observation.shown.is_some();
        let delta = match can_look {
            true => self.delta(effect, None).await,
            false => String::new(),
        };
        let is_asking = self.tab.activity.mark().asked > self.before.mark.asked;
        if certain.is_none() && delta.is_empty() && !is_asking {
            effect = if was_known { Effect::None } else { Effect::Unknown };
        }
        self.live.activity_is_current().await;
        DialogEffects { effect, delta, events: self.tab.activity.take_untold() }
    }
}
