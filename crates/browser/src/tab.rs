//! A tab: its CDP session, its state as known from events, and its command queue.
//!
//! The state (URL, title, load phase, open dialog, crash) comes from events of the browser process, so it can be
//! reported while the page hangs.

use crate::backend_refs::{BackendRefs, IssuedBackendRefs};
use crate::chromium::activity::{PageEvent, TabActivity};
use crate::error::{Code, Error, Result};
use crate::events::EventBus;
use crate::observe::TabObservation;
use cdp::protocol::Method;
use cdp::protocol::dom::ResolveNode;
use cdp::protocol::runtime::ReleaseObjectGroup;
use cdp::{Channel, Deadline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, watch};

/// A tab id, written `t3`. Never reused in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TabId(pub u32);

impl fmt::Display for TabId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

impl FromStr for TabId {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        text.strip_prefix('t')
            .unwrap_or(text)
            .parse()
            .ok()
            .filter(|number| *number > 0)
            .map(Self)
            .ok_or_else(|| {
                format!("`{text}` is not a tab id: expected `t` and a number, such as `t1`")
            })
    }
}

impl Serialize for TabId {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TabId {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for TabId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TabId".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^t?[1-9][0-9]*$" })
    }
}

/// The load state of a document.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The document was committed.
    #[default]
    Committed,
    /// `DOMContentLoaded` fired.
    DomReady,
    /// `load` fired.
    Loaded,
}

/// An open JavaScript dialog.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dialog {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    pub kind: String,
    /// The message.
    pub message: String,
    /// The default text of a prompt.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub default_text: Option<String>,
}

impl Dialog {
    /// The dialog with its secrets masked.
    pub(crate) fn masked(&self) -> Self {
        Self {
            kind: self.kind.clone(),
            message: page::mask::mask(&self.message).into_owned(),
            default_text: self.default_text.as_deref().map(|it| page::mask::mask(it).into_owned()),
        }
    }

    /// The page event for the open dialog.
    pub(crate) fn page_event(&self) -> PageEvent {
        let message = format!(
            "{} waits for `agbrowse dialog accept` or `agbrowse dialog dismiss`",
            self.named()
        );
        PageEvent::new("dialog", message).with_page_text(&self.message)
    }

    /// The kind with its article.
    pub(crate) fn named(&self) -> String {
        let article = if self.kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        format!("{article} {} of the page", self.kind)
    }
}

/// A file chooser that the page opened. It is intercepted and not displayed, so a command has to answer it.
#[derive(Clone, Debug)]
pub(crate) struct FileChooser {
    /// Its sequence number in the tab.
    pub(crate) number: u64,
    /// Session and frame of the field.
    pub(crate) channel: Channel,
    pub(crate) frame_id: String,
    /// Backend node id of the file field.
    pub(crate) field: i64,
    pub(crate) is_multiple: bool,
}

impl FileChooser {
    /// Keeps the field alive: a page need not hold a reference to a detached field while a chooser is open.
    pub(crate) fn hold(&self) {
        self.channel.post(&ResolveNode {
            backend_node_id: Some(self.field),
            object_group: Some(self.group()),
            ..ResolveNode::default()
        });
    }

    /// Releases the field.
    pub(crate) fn release(&self) {
        self.channel.post(&ReleaseObjectGroup { object_group: self.group() });
    }

    fn group(&self) -> String {
        format!("agbrowse-chooser-{}", self.number)
    }
}

/// The end of a tab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TabEnd {
    Closed,
    Crashed(String),
}

/// The state of a tab, from events.
#[derive(Clone, Debug, Default)]
pub(crate) struct TabState {
    /// Its preparation commands are processed.
    pub(crate) is_ready: bool,
    pub(crate) url: String,
    pub(crate) title: String,
    /// Loader id of the main frame's document.
    pub(crate) loader: String,
    pub(crate) phase: Phase,
    /// The latest loader ids: a requested load may already be followed by another.
    pub(crate) recent: Vec<String>,
    /// Number of documents committed.
    pub(crate) documents: u64,
    /// Number of same-document navigations.
    pub(crate) steps: u64,
    pub(crate) dialog: Option<Dialog>,
    pub(crate) chooser: Option<FileChooser>,
    pub(crate) end: Option<TabEnd>,
}

/// Loader ids kept.
const MAX_RECENT: usize = 8;

impl TabState {
    /// Commits a document, unless it is committed already.
    pub(crate) fn commit(&mut self, loader: &str) {
        if self.loader != loader {
            loader.clone_into(&mut self.loader);
            if self.recent.len() >= MAX_RECENT {
                self.recent.remove(0);
            }
            self.recent.push(loader.to_owned());
            self.phase = Phase::Committed;
            self.documents += 1;
        }
    }
}

/// A page that is not busy responds within this time.
const PROMPT_RESPONSE: Duration = Duration::from_millis(500);

/// A live tab.
#[derive(Debug)]
pub(crate) struct Tab {
    pub(crate) id: TabId,
    pub(crate) target_id: String,
    /// The name of its context; `None` for the default one.
    pub(crate) context: Option<String>,
    pub(crate) opener: Option<TabId>,
    pub(crate) channel: Channel,
    pub(crate) state: watch::Sender<TabState>,
    /// The observation state. Locked by the command that has the turn.
    pub(crate) observation: tokio::sync::Mutex<TabObservation>,
    /// The activity log.
    pub(crate) activity: TabActivity,
    /// Number of frame navigations and removals.
    pub(crate) frame_moves: Arc<AtomicU64>,
    /// A click is under way that may open tabs without an `openerId`.
    pub(crate) opens_tabs: AtomicBool,
    /// Origins whose databases are watched.
    pub(crate) watched: std::sync::Mutex<HashSet<String>>,
    /// Number of event guards armed in its documents.
    guards: AtomicU64,
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// The exclusive right to command a tab. Others wait in FIFO order until all its clones are dropped.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) tab: Arc<Tab>,
    _guard: Arc<OwnedMutexGuard<()>>,
}

impl std::ops::Deref for Turn {
    type Target = Tab;
    fn deref(&self) -> &Tab {
        &self.tab
    }
}

impl Tab {
    pub(crate) fn new(
        id: TabId,
        target_id: String,
        (context, opener): (Option<String>, Option<TabId>),
        channel: Channel,
        issued: Arc<IssuedBackendRefs>,
        bus: EventBus,
    ) -> Self {
        let state = watch::Sender::new(TabState::default());
        Self {
            id,
            target_id,
            context,
            opener,
            channel,
            state,
            observation: tokio::sync::Mutex::new(TabObservation::new(BackendRefs::new(id, issued))),
            activity: TabActivity::new(id, bus),
            frame_moves: Arc::default(),
            opens_tabs: AtomicBool::new(false),
            watched: std::sync::Mutex::default(),
            guards: AtomicU64::new(0),
            turn: Arc::default(),
        }
    }

    /// Waits for the tab's turn.
    pub(crate) async fn turn(self: Arc<Self>, deadline: Deadline) -> Result<Turn> {
        let turn = tokio::time::timeout_at(deadline.at(), self.turn.clone().lock_owned()).await;
        match turn {
            Ok(guard) => Ok(Turn { tab: self, _guard: Arc::new(guard) }),
            Err(_) => Err(Error::new(Code::TabBusy)
                .message(format!(
                    "earlier commands on tab {} did not finish within {} ms",
                    self.id,
                    deadline.total().as_millis()
                ))
                .evidence("tab", self.id.to_string())),
        }
    }

    /// The id of an event guard: armed by one call, released by another with the same id.
    pub(crate) fn next_guard(&self) -> u64 {
        self.guards.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// True while a command runs on the tab.
    pub(crate) fn is_busy(&self) -> bool {
        self.turn.try_lock().is_err()
    }

    /// Calls a method that the page's process answers. Ends early when a response has become impossible: a dialog
    /// blocks the page, the page crashed, the tab was closed.
    pub(crate) async fn call<M: Method>(&self, method: M, deadline: Deadline) -> Result<M::Reply> {
        let reply = self.channel.start(&method).map_err(|error| self.explain(error))?;
        self.unless_blocked(reply.wait(deadline)).await
    }

    /// The same for a call in progress, to the tab or to a frame in it.
    pub(crate) async fn unless_blocked<T>(
        &self,
        call: impl Future<Output = std::result::Result<T, cdp::Error>>,
    ) -> Result<T> {
        let mut state = self.state.subscribe();
        tokio::select! {
            biased;
            reply = call => reply.map_err(|error| self.explain(error)),
            blocked = self.blocked(&mut state) => Err(blocked),
        }
    }

    /// Waits until the page cannot respond any more, and returns the reason.
    pub(crate) async fn blocked(&self, state: &mut watch::Receiver<TabState>) -> Error {
        match state.wait_for(|state| self.obstacle(state).is_some()).await {
            Ok(state) => self.obstacle(&state).unwrap_or_else(|| self.lost()),
            Err(_) => self.lost(),
        }
    }

    /// The reason why the page cannot respond now, if there is one.
    pub(crate) fn obstacle(&self, state: &TabState) -> Option<Error> {
        if let Some(dialog) = &state.dialog {
            return Some(
                Error::new(Code::PageDialogOpen)
                    .message(format!("{} on tab {} waits for an answer", dialog.named(), self.id))
                    .evidence("dialog", &*dialog.kind)
                    .evidence("message", &*dialog.message)
                    .evidence("tab", self.id.to_string()),
            );
        }
        match &state.end {
            None => None,
            Some(TabEnd::Closed) => Some(self.lost()),
            Some(TabEnd::Crashed(how)) => Some(
                Error::new(Code::TabCrashed)
                    .message(format!("the page on tab {} crashed ({how})", self.id))
                    .evidence("tab", self.id.to_string()),
            ),
        }
    }

    /// Converts a CDP error to an error of this tab.
    pub(crate) fn explain(&self, error: cdp::Error) -> Error {
        let tab = self.id.to_string();
        let why = |allowed| match self.activity.pending_navigation() {
            // Chromium lets the page respond to nothing meanwhile.
            Some(url) => format!("it is on its way to {}", page::text::mask_url(&url)),
            None if allowed < PROMPT_RESPONSE => {
                "a script of it is busy, or that is too short".to_owned()
            }
            None => "a script of it is busy".to_owned(),
        };
        match error {
            cdp::Error::Timeout { method, allowed } => Error::new(Code::PageUnresponsive)
                .message(format!(
                    "the page on tab {tab} did not answer within {} ms: {}",
                    allowed.as_millis(),
                    why(allowed)
                ))
                .evidence("method", method)
                .evidence("mayStillHappen", true)
                .evidence("tab", tab),
            cdp::Error::Detached { .. } => self.lost(),
            cdp::Error::Crashed { .. } => Error::new(Code::TabCrashed)
                .message(format!("the page on tab {tab} crashed"))
                .evidence("tab", tab),
            other => Error::from(other).evidence("tab", tab),
        }
    }

    fn lost(&self) -> Error {
        Error::new(Code::TabTargetLost)
            .message(format!("tab {} was closed", self.id))
            .evidence("tab", self.id.to_string())
    }
}

impl From<cdp::Error> for Error {
    fn from(error: cdp::Error) -> Self {
        let message = error.to_string();
        match error {
            cdp::Error::Closed { .. } => Self::new(Code::BrowserLost).message(message),
            cdp::Error::Connect { address, .. } => {
                Self::new(Code::CdpUnreachable).message(message).evidence("address", address)
            }
            cdp::Error::Detached { .. } => Self::new(Code::TabTargetLost).message(message),
            cdp::Error::Crashed { .. } => Self::new(Code::TabCrashed).message(message),
            cdp::Error::Timeout { method, .. } => {
                Self::new(Code::CommandTimeout).message(message).evidence("method", method)
            }
            cdp::Error::Backlog { .. } => Self::new(Code::CdpUnreachable).message(message),
            cdp::Error::Remote { method, code, .. } => Self::new(Code::CdpRefused)
                .message(message)
                .evidence("method", method)
                .evidence("cdpCode", code),
            other => Self::new(Code::InternalUnhandled).message(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tab_id_round_trips() {
        assert_eq!("t12".parse(), Ok(TabId(12)));
        assert_eq!("7".parse(), Ok(TabId(7)));
        for wrong in ["", "t", "t0", "x1", "t-1", "t1.5", "tt1"] {
            assert!(wrong.parse::<TabId>().is_err(), "{wrong}");
        }
        assert_eq!(serde_json::to_string(&TabId(3)).unwrap(), "\"t3\"");
    }
}
