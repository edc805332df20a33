//! Recording of commands: a hook before and after each, inside the turn on its tab.

use crate::chromium::RunningBrowser;
use crate::command::{Command, Reply, VerbSpec};
use crate::error::Result;
use crate::observe::{self, ObserveOptions};
use crate::tab::{TabId, Turn};
use cdp::Deadline;
use page::ax::RefPolicy;
use page::render::render_with_refs;
use page::view::{ViewOptions, view};
use std::pin::Pin;
use std::sync::Arc;

/// A future that a hook returns.
pub type HookFuture<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// A recorder of commands. Both hooks run within the command's turn: no other command changes the page between the
/// first hook, the command and the second one.
pub trait Recorder: Send + Sync {
    /// Called before a command. An error rejects the command.
    fn before<'a>(&'a self, step: &'a Step<'_>) -> HookFuture<'a>;

    /// Called after a command, whatever its result. An error fails the command; its effect remains.
    fn after<'a>(&'a self, step: &'a Step<'_>, result: &'a Result<Reply>) -> HookFuture<'a>;
}

/// A recorded command.
pub struct Step<'a> {
    /// Its number within the browser.
    pub id: u64,
    /// The command. Secrets in it serialize as `secret:NAME` or dots.
    pub command: &'a Command,
    /// The spec of its verb.
    pub spec: VerbSpec,
    pub(crate) turn: Option<Turn>,
    pub(crate) live: Option<Arc<RunningBrowser>>,
    pub(crate) deadline: Deadline,
}

/// Hashes of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageHashes {
    /// The hash of the accessibility tree, as in `snapshot --json`.
    pub ax_hash: String,
    /// The hash of the tag skeleton.
    pub dom_hash: Option<String>,
}

impl Step<'_> {
    /// The tab of the command; after the command, also one that it opened.
    pub fn tab(&self) -> Option<TabId> {
        self.turn.as_ref().map(|turn| turn.id)
    }

    /// Hashes the page as it is now; `None` without a tab or where the page cannot be observed.
    ///
    /// # Errors
    /// As for a snapshot.
    pub async fn hash_page(&self) -> Result<Option<PageHashes>> {
        let (Some(turn), Some(live)) = (&self.turn, &self.live) else { return Ok(None) };
        let mut observation = turn.observation.lock().await;
        observation.invalidate();
        let observe_options = ObserveOptions::default();
        let tree =
            observe::observe(live, turn, &mut observation, &observe_options, self.deadline).await?;
        let options = ViewOptions {
            policy: RefPolicy::Live { all: false },
            max_depth: u32::MAX,
            ..ViewOptions::default()
        };
        let seen = view(&tree, &options, &mut |_, element| element);
        let ax_hash = render_with_refs(&tree, &seen, &options.print).ax_hash();
        let html = observe::tag_skeleton(turn, &mut observation, None, self.deadline).await?;
        let most = page::hash::DOM_HASH_MAX_CHARS;
        let dom_hash = html.map(|html| page::hash::dom_hash(&html, most));
        Ok(Some(PageHashes { ax_hash, dom_hash }))
    }
}

impl std::fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Step")
            .field("id", &self.id)
            .field("verb", &self.spec.name)
            .finish_non_exhaustive()
    }
}
