//! Watching for an effect of an action where the document that was acted on does not show it: in the frames around and
//! below it, in other tabs, in what scripts keep, at servers.

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

/// How long after an action what it caused elsewhere may come, if nothing of it is known to be under way.
const NEAR: Duration = Duration::from_millis(150);

/// How much longer than asked for a document may take to answer.
const GRACE: Duration = Duration::from_millis(200);

/// How long another tab may take to say whether it has changed, and how many of them are asked.
const BESIDE: Duration = Duration::from_millis(300);
const MOST_TABS: usize = 8;

impl Action<'_> {
    /// What has happened outside of the documents because of the action.
    pub(super) fn signs(&self, came: &Effects) -> Vec<OutsideEffect> {
        let noted = self.tab.activity.signs(self.ready_at);
        noted.iter().filter(|it| self.is_caused(it, came)).map(|it| it.sign).collect()
    }

    /// Whether the action caused what was noted. Whoever answers an event does so while its listeners run; what comes later
    /// needs a reason, and must not be what the page does by itself.
    fn is_caused(&self, noted: &ObservedEffect, came: &Effects) -> bool {
        let quiet = self.quiet_at.unwrap_or_else(Instant::now);
        if noted.sign == OutsideEffect::Document {
            return noted.at <= quiet + NEAR;
        }
        if !self.is_heard {
            return false;
        }
        let is_within = |ms: f64| came.spans.chunks_exact(2).any(|it| it[0] <= ms && ms <= it[1]);
        if noted.wall_ms.is_some_and(is_within) {
            return true;
        }
        let is_soon = match noted.sign {
            // The browser reports it without a time, and may do so after the settle reply.
            OutsideEffect::Storage if noted.at <= quiet => true,
            _ => noted.at <= quiet + NEAR && !noted.is_known,
        };
        !noted.is_due && (came.is_scheduled || is_soon)
    }

    /// Whether scripts of the page hear what was done. Without them, nothing but the browser's own answer comes of it.
    pub(super) async fn hears(&self) -> bool {
        let (Some(element), Some(document)) = (self.element, self.documents.first()) else {
            return true;
        };
        let Some(world) = self.observation.world_of(document) else { return true };
        world.hears_input(element, self.progress.deadline.at_most(GRACE)).await.unwrap_or(true)
    }

    /// Answers when another document of the page has changed because of the action; says whether it is one that nothing
    /// was done around.
    pub(super) fn changed_elsewhere(
        &self,
        came: &Effects,
        end: Deadline,
    ) -> impl Future<Output = bool> + use<> {
        let ms = millis(end.left());
        let mut asked = JoinSet::new();
        let mut ask = |world: &World, function: &'static str, arguments: String, is_other: bool| {
            let world = world.clone();
            asked.spawn(async move {
                let limit = Deadline::after(end.left() + GRACE);
                let said = world.run::<bool>(function, &arguments, limit).await;
                said.unwrap_or(false).then_some(is_other)
            });
        };
        for document in self.documents.iter().skip(1) {
            if let Some(world) = self.observation.world_of(document) {
                ask(world, "agbrowse.firstEffect", ms.to_string(), false);
            }
        }
        if came.begun_at > 0.0 && self.is_heard {
            let frames = self.tree.iter().flat_map(|tree| &tree.frames);
            for frame in frames.filter(|frame| !self.documents.contains(&frame.document)) {
                if let Some(world) = self.observation.world_of(&frame.document) {
                    let arguments = format!("{}, {ms}", since(came));
                    ask(world, "agbrowse.whenChanged", arguments, true);
                }
            }
        }
        async move {
            while let Some(said) = asked.join_next().await {
                if let Ok(Some(is_other)) = said {
                    return is_other;
                }
            }
            pending().await
        }
    }

    /// Whether another tab that may hear of this one has changed because of the action.
    pub(super) async fn changed_beside(&self, came: &Effects) -> bool {
        if came.begun_at <= 0.0 || !self.is_heard {
            return false;
        }
        let origin = navigate::origin(&self.tab.state.borrow().url);
        let mut asked = JoinSet::new();
        for tab in self.live.tabs_beside(self.tab).into_iter().take(MOST_TABS) {
            let state = tab.state.borrow().clone();
            let is_related = tab.opener == Some(self.tab.id) || self.tab.opener == Some(tab.id);
            let is_same = origin.is_some() && navigate::origin(&state.url) == origin;
            if !(is_related || is_same) || tab.obstacle(&state).is_some() {
                continue;
            }
            let question = format!("agbrowse.hasChanged({})", since(came));
            let limit = self.progress.deadline.at_most(BESIDE);
            asked.spawn(has_changed(tab, state.loader, question, limit));
        }
        while let Some(said) = asked.join_next().await {
            if said.is_ok_and(|has_changed| has_changed) {
                return true;
            }
        }
        false
    }
}

/// When it was done, and whether something is under way because of it, as another document is told.
fn since(came: &Effects) -> String {
    format!("{}, {}, {}", came.begun_at, came.done_at, came.is_scheduled)
}

/// What the main document of a tab answers.
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
