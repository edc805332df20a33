//! Our isolated world in a document: an execution context that the page cannot see, and the cached state of its
//! observer script.

mod chunks;
mod nodes;
mod observe;
mod report;

use crate::act::armed::ArmedState;
use crate::error::{Code, Error, RetryHint};
use cdp::protocol::page::CreateIsolatedWorld;
use cdp::protocol::runtime::{Evaluate, EvaluateReply, ExceptionDetails};
use cdp::{Channel, Deadline};
pub(crate) use report::FrameReport;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The world name. The page cannot see it.
pub(crate) const NAME: &str = "agbrowse";

/// The binding by which the observer sends a long report in chunks.
pub(crate) const CHUNK_BINDING: &str = "agbrowseSendChunk";

/// The observer script, from source files.
pub(crate) const SOURCE: &str = concat!(
    "if (!globalThis.agbrowse) (() => { \"use strict\";\n",
    include_str!("../../../js/injected/dom.js"),
    include_str!("../../../js/injected/element_ids.js"),
    include_str!("../../../js/injected/closed_shadow_roots.js"),
    include_str!("../../../js/injected/stylesheets.js"),
    include_str!("../../../js/injected/generated_content.js"),
    include_str!("../../../js/injected/roles.js"),
    include_str!("../../../js/injected/click_listeners.js"),
    include_str!("../../../js/injected/accessible_name.js"),
    include_str!("../../../js/injected/secrets.js"),
    include_str!("../../../js/injected/states.js"),
    include_str!("../../../js/injected/visibility.js"),
    include_str!("../../../js/injected/colors.js"),
    include_str!("../../../js/injected/visual_alternates.js"),
    include_str!("../../../js/injected/subtree_cache.js"),
    include_str!("../../../js/injected/report_writer.js"),
    include_str!("../../../js/injected/walk.js"),
    include_str!("../../../js/injected/actionable.js"),
    include_str!("../../../js/injected/hit_test.js"),
    include_str!("../../../js/injected/identity.js"),
    include_str!("../../../js/injected/causality.js"),
    include_str!("../../../js/injected/event_guard.js"),
    include_str!("../../../js/injected/effects.js"),
    include_str!("../../../js/injected/external_links.js"),
    include_str!("../../../js/injected/fields.js"),
    include_str!("../../../js/injected/files.js"),
    include_str!("../../../js/injected/read_element.js"),
    include_str!("../../../js/injected/screenshot_points.js"),
    include_str!("../../../js/injected/change_watch.js"),
    include_str!("../../../js/injected/api.js"),
    "})()"
);

/// The isolated world in one document.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) channel: Channel,
    pub(crate) frame_id: String,
    /// The loader id of its document.
    pub(crate) loader: String,
    context: i64,
    /// Remote object id of `document` in the main world.
    document: Option<String>,
    /// Element numbers by backend node id.
    ids: HashMap<i64, u32>,
    /// Those of them that are registered with the observer as having click listeners.
    listener_ids: HashSet<i64>,
    /// The last report: the next one may be a patch to it.
    last: Option<Arc<str>>,
    /// The document was empty.
    is_blank: bool,
    /// Nodes with click listeners that were known before the document was walked.
    listeners_before: Option<Vec<i64>>,
}

/// URL and origin of an empty document, as in most frames that advertisers leave behind. It needs no observer script.
const BLANK: &str = r"(/^about:/.test(location.href) && document.title === '' &&
    document.getElementsByTagName('*').length < 9 && [...document.getElementsByTagName('*')].every((it) =>
        !it.shadowRoot && /^(?:html|head|body|meta|base|style)$/.test(it.localName)) &&
    !/\S/.test(document.body ? document.body.textContent : '') && [location.href, origin])";

/// A promise that resolves when an empty document changes.
const BLANK_DIRTIED: &str = "new Promise((tell) => new MutationObserver((_, it) => (it.disconnect(), tell(true))) \
    .observe(document, { subtree: true, childList: true, attributes: true, characterData: true }))";

impl World {
    /// Enters the isolated world of a frame's document; the browser creates it if needed. `is_top`: the frame is the
    /// root of its session.
    pub(crate) async fn enter(
        channel: &Channel,
        frame_id: &str,
        loader: &str,
        is_top: bool,
        deadline: Deadline,
    ) -> Result<Self, cdp::Error> {
        let create =
            CreateIsolatedWorld { frame_id: frame_id.to_owned(), world_name: Some(NAME.into()) };
        let created = channel.start(&create)?;
        // Without a context id, a script runs in the main world of the root frame.
        let document =
            Evaluate { expression: "document".into(), silent: Some(true), ..Evaluate::default() };
        let document = if is_top { Some(channel.start(&document)?) } else { None };
        let context = created.wait(deadline).await?.execution_context_id;
        let document = match document {
            Some(document) => document.wait(deadline).await?.result,
            None => None,
        };
        Ok(Self {
            channel: channel.clone(),
            frame_id: frame_id.to_owned(),
            loader: loader.to_owned(),
            context: context.unwrap_or_default(),
            document: document.and_then(|document| document.object_id),
            ids: HashMap::new(),
            listener_ids: HashSet::new(),
            last: None,
            is_blank: false,
            listeners_before: None,
        })
    }

    /// Evaluates a script in the isolated world. Installs the observer first where it is missing.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        script: &str,
        deadline: Deadline,
    ) -> Result<T, ObserveError> {
        let guarded = format!("globalThis.agbrowse ? {script} : {{ isNotInjected: true }}");
        let value = self.evaluate(guarded, deadline).await?;
        if value.get() != r#"{"isNotInjected":true}"# {
            return read(&value);
        }
        self.install_observer(deadline).await?;
        read(&self.evaluate(script.to_owned(), deadline).await?)
    }

    /// Creates the guard of an event guard that a call with this id arms.
    pub(crate) fn armed(&self, id: u64) -> ArmedState {
        let (channel, context_id) = (self.channel.clone(), Some(self.context));
        ArmedState::new(move || {
            channel.post(&Evaluate {
                expression: format!("globalThis.agbrowse && agbrowse.releaseGuard({id})"),
                context_id,
                return_by_value: Some(true),
                silent: Some(true),
                ..Evaluate::default()
            });
        })
    }

    /// Drops the cached report: the next one is complete.
    pub(crate) fn drop_report(&mut self) {
        self.last = None;
    }

    /// Installs the observer script.
    async fn install_observer(&self, deadline: Deadline) -> Result<(), ObserveError> {
        let install = Evaluate {
            expression: SOURCE.into(),
            context_id: Some(self.context),
            silent: Some(true),
            ..Evaluate::default()
        };
        match self.channel.call(install, deadline).await?.exception_details {
            Some(thrown) => Err(thrown_by(thrown)),
            None => Ok(()),
        }
    }

    async fn evaluate(
        &self,
        expression: String,
        deadline: Deadline,
    ) -> Result<Box<RawValue>, ObserveError> {
        let evaluate = Evaluate {
            expression,
            context_id: Some(self.context),
            return_by_value: Some(true),
            silent: Some(true),
            ..Evaluate::default()
        };
        value_of(self.channel.call(evaluate, deadline).await?)
    }

    /// Calls an async function with JSON arguments.
    pub(crate) async fn run<T: DeserializeOwned>(
        &self,
        function: &str,
        arguments: &str,
        deadline: Deadline,
    ) -> Result<T, ObserveError> {
        let evaluate = Evaluate {
            expression: format!("({function})({arguments})"),
            context_id: Some(self.context),
            return_by_value: Some(true),
            await_promise: Some(true),
            silent: Some(true),
            ..Evaluate::default()
        };
        read(&value_of(self.channel.call(evaluate, deadline).await?)?)
    }

    /// True if the document has changed since it was last observed, or is gone.
    pub(crate) async fn is_dirty(&self, deadline: Deadline) -> bool {
        let ask = match self.is_blank {
            true => format!("!{BLANK}"),
            false => "agbrowse.isDirty()".into(),
        };
        match self.evaluate(ask, deadline).await {
            Ok(value) => value.get() != "false",
            Err(_) => true,
        }
    }

    /// Resolves when the document changes after it was last observed, or is gone.
    pub(crate) fn when_dirty(&self, deadline: Deadline) -> impl Future<Output = bool> + use<> {
        let evaluate = Evaluate {
            expression: match self.is_blank {
                true => format!("!{BLANK} || {BLANK_DIRTIED}"),
                false => "agbrowse.whenDirty()".into(),
            },
            context_id: Some(self.context),
            return_by_value: Some(true),
            await_promise: Some(true),
            silent: Some(true),
            ..Evaluate::default()
        };
        let channel = self.channel.clone();
        async move { !matches!(channel.call(evaluate, deadline).await, Err(cdp::Error::Timeout { .. })) }
    }
}

/// An error of the isolated world.
#[derive(Debug)]
pub(crate) enum ObserveError {
    /// The document or its process is gone, or does not respond.
    Wire(cdp::Error),
    /// A dialog blocks the page, it crashed, or its tab is gone.
    Blocked(Box<Error>),
    /// The observer script threw.
    Script(String),
    /// No result.
    Nothing,
}

impl ObserveError {
    /// True if the document was replaced during the observation.
    pub(crate) fn is_replaced(&self) -> bool {
        matches!(self, Self::Wire(cdp::Error::Remote { .. }) | Self::Nothing)
    }

    /// Converts it to an error of this tab.
    pub(crate) fn explain(self, tab: &crate::tab::Tab) -> Error {
        match self {
            // The context is gone, and with it the document.
            Self::Wire(cdp::Error::Remote { .. }) => Self::Nothing.explain(tab),
            Self::Wire(error) => tab.explain(error),
            Self::Blocked(error) => *error,
            Self::Script(message) => Error::new(Code::SnapshotUnavailable)
                .message("the page could not be read")
                .evidence("thrown", message),
            Self::Nothing => Error::new(Code::SnapshotUnavailable)
                .hint(RetryHint::Retry)
                .message("the page was replaced while it was read"),
        }
    }
}

impl From<cdp::Error> for ObserveError {
    fn from(error: cdp::Error) -> Self {
        Self::Wire(error)
    }
}

fn read<T: DeserializeOwned>(value: &RawValue) -> Result<T, ObserveError> {
    serde_json::from_str(value.get()).map_err(|error| ObserveError::Script(error.to_string()))
}

/// A value as a script literal.
pub(crate) fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".into())
}

fn thrown_by(thrown: ExceptionDetails) -> ObserveError {
    let what = thrown.exception.and_then(|thrown| thrown.description).unwrap_or_default();
    ObserveError::Script(what.into_string())
}

/// The value of an evaluation, or the thrown error.
fn value_of(reply: EvaluateReply) -> Result<Box<RawValue>, ObserveError> {
    if let Some(thrown) = reply.exception_details {
        return Err(thrown_by(thrown));
    }
    let result = reply.result.ok_or(ObserveError::Nothing)?;
    // The decoder takes a null for an absent value.
    let is_null = result.subtype.as_deref() == Some("null");
    let null = || is_null.then(|| RawValue::NULL.to_owned());
    result.value.or_else(null).ok_or(ObserveError::Nothing)
}

#[cfg(test)]
mod tests {
    use super::SOURCE;
    use std::collections::HashSet;

    #[test]
    fn observer_functions_are_declared_once() {
        // They share one scope, and redeclaring a function is no error in JavaScript.
        let mut declared = HashSet::new();
        for line in SOURCE.lines() {
            let line = line.strip_prefix("async ").unwrap_or(line);
            let Some(rest) = line.strip_prefix("function ") else { continue };
            let name = rest.split('(').next().unwrap_or_default();
            assert!(declared.insert(name.trim_matches(['*', ' '])), "`{name}` is declared twice");
        }
        assert!(declared.len() > 100, "{}", declared.len());
    }
}
