//! Effects of an action outside of the target's document: in ancestor and child frames, in other tabs, in storage, at
//! servers.

use super::settle::Effects;
use super::{Action, millis};
use crate::chromium::activity::{ObservedEffect, OutsideEffect};
use crate::navigate;
use crate::observe::World;
use cdp::Deadline;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Time after an action within which outside effects are attributed to it, if no pending work is known.
const RECENT: Duration = Duration::from_millis(150);

/// Additional time for a document to respond, beyond its own timeout.
const GRACE: Duration = Duration::from_millis(200);

/// Timeout of the query of another tab, and the number of tabs queried.
const OTHER_TAB: Duration = Duration::from_millis(300);
const MAX_TABS: usize = 8;

impl Action<'_> {
    /// The outside effects caused by the action.
    pub(super) fn outside_effects(&self, effects: &Effects) -> Vec<OutsideEffect> {
        let observed = self.tab.activity.effects_since(self.ready_at);
        observed.iter().filter(|it| self.is_caused(it, effects)).map(|it| it.effect).collect()
    }

    /// True if the action caused the effect: it occurred during the dispatch of an input event; a later one needs
    /// pending work, and must not be periodic.
    fn is_caused(&self, observed: &ObservedEffect, effects: &Effects) -> bool {
        let quiet = self.quiet_at.unwrap_or_else(Instant::now);
        if observed.effect == OutsideEffect::Document {
            return observed.at <= quiet + RECENT;
        }
        if !self.has_listeners {
            return false;
        }
        let is_within =
            |ms: f64| effects.spans.chunks_exact(2).any(|it| it[0] <= ms && ms <= it[1]);
        if observed.wall_ms.is_some_and(is_within) {
            return true;
        }
        let is_soon = match observed.effect {
            // The browser reports it without a time, and may do so after the settle reply.
            OutsideEffect::Storage if observed.at <= quiet => true,
            _ => observed.at <= quiet + RECENT && !observed.is_known,
        };
        !observed.is_due && (effects.is_scheduled || is_soon)
    }

    /// True if scripts of the page listen to the input. Without them, only the browser's default action has effects.
    pub(super) async fn has_input_listeners(&self) -> bool {
        let (Some(element), Some(document)) = (self.element, self.documents.first()) else {
            return true;
        };
        let Some(world) = self.observation.world_of(document) else { return true };
        world
            .has_input_listeners(element, self.progress.deadline.at_most(GRACE))
            .await
            .unwrap_or(true)
    }

    /// Resolves when another document of the page has changed because of the action; true if it is an unrelated one.
    pub(super) fn has_changed_other_frame(
        &self,
        effects: &Effects,
        end: Deadline,
    ) -> impl Future<Output = bool> + use<> {
        let ms = millis(end.left());
        let mut replies = JoinSet::new();
        let mut ask = |world: &World, function: &'static str, arguments: String, is_other: bool| {
            let world = world.clone();
            replies.spawn(async move {
                let limit = Deadline::after(end.left() + GRACE);
                let reply = world.run::<bool>(function, &arguments, limit).await;
                reply.unwrap_or(false).then_some(is_other)
            });
        };
        for document in self.documents.iter().skip(1) {
            if let Some(world) = self.observation.world_of(document) {
                ask(world, "agbrowse.firstEffect", ms.to_string(), false);
            }
        }
        if effects.begun_at > 0.0 && self.has_listeners {
            let frames = self.tree.iter().flat_map(|tree| &tree.frames);
            for frame in frames.filter(|frame| !self.documents.contains(&frame.document)) {
                if let Some(world) = self.observation.world_of(&frame.document) {
                    let arguments = format!("{}, {ms}", since(effects));
                    ask(world, "agbrowse.whenChanged", arguments, true);
                }
            }
        }
        async move {
            while let Some(reply) = replies.join_next().await {
                if let Ok(Some(is_other)) = reply {
                    return is_other;
                }
            }
            pending().await
        }
    }

    /// True if another tab that may receive messages of this one has changed because of the action.
    pub(super) async fn has_changed_other_tab(&self, effects: &Effects) -> bool {
        if effects.begun_at <= 0.0 || !self.has_listeners {
            return false;
        }
        let origin = navigate::origin(&self.tab.state.borrow().url);
        let mut replies = JoinSet::new();
        for tab in self.live.tabs_beside(self.tab).into_iter().take(MAX_TABS) {
            let state = tab.state.borrow().clone();
            let is_related = tab.opener == Some(self.tab.id) || self.tab.opener == Some(tab.id);
            let is_same = origin.is_some() && navigate::origin(&state.url) == origin;
            if !(is_related || is_same) || tab.obstacle(&state).is_some() {
                continue;
            }
            let question = format!("agbrowse.hasChanged({})", since(effects));
            let limit = self.progress.deadline.at_most(OTHER_TAB);
            replies.spawn(has_changed(tab, state.loader, question, limit));
        }
        while let Some(reply) = replies.join_next().await {
            if reply.is_ok_and(|has_changed| has_changed) {
                return true;
            }
        }
        false
    }
}

/// The times of the action and whether work is pending, as arguments for another document.
fn since(effects: &Effects) -> String {
    format!("{}, {}, {}", effects.begun_at, effects.done_at, effects.is_scheduled)
}

/// The answer of a tab's main document.
async fn has_changed(
    tab: Arc<crate::tab::Tab>,
    loader: String,
    question: String,
    limit: Deadline,
) -> bool {
    let world = World::enter(&tab.channel, &tab.target_id, &loader, true, limit).await;
    match world {
        Ok(world) => world.ask(&question, limit).await.unwrap_or(false),
        Err(_) => false,
    }
}
