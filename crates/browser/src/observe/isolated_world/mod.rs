//! Our own world in a document: a place for scripts that the page cannot see, and what we asked it so far.

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

/// The name of our worlds. The page cannot see it.
pub(crate) const NAME: &str = "agbrowse";

/// The function by which our scripts hand over a long report in pieces.
pub(crate) const HAND: &str = "agbrowseSendChunk";

/// What runs in our worlds, in files so that it can be read.
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

/// Our world in one document.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) channel: Channel,
    pub(crate) frame_id: String,
    /// Which load of the frame it belongs to.
    pub(crate) loader: String,
    context: i64,
    /// The page's own handle on the document.
    document: Option<String>,
    /// The numbers that our world gave to nodes which the browser knows by its own.
    numbers: HashMap<i64, u32>,
    /// Those of them of which it was told that a script listens to their clicks.
    heard: HashSet<i64>,
    /// The last report: the next one says what is different.
    last: Option<Arc<str>>,
    /// There was nothing in the document.
    is_blank: bool,
    /// The nodes to whose clicks somebody was found to listen before the document was walked.
    heard_before: Option<Vec<i64>>,
}

/// Where and whose the document is if there is nothing in it, as in most frames that advertisers leave behind.
/// Then nothing of ours needs to be brought there.
const BLANK: &str = r"(/^about:/.test(location.href) && document.title === '' &&
    document.getElementsByTagName('*').length < 9 && [...document.getElementsByTagName('*')].every((it) =>
        !it.shadowRoot && /^(?:html|head|body|meta|base|style)$/.test(it.localName)) &&
    !/\S/.test(document.body ? document.body.textContent : '') && [location.href, origin])";

/// What answers when something has happened in a document of which we have seen that it is blank.
const BLANK_DIRTIED: &str = "new Promise((tell) => new MutationObserver((_, it) => (it.disconnect(), tell(true))) \
    .observe(document, { subtree: true, childList: true, attributes: true, characterData: true }))";

impl World {
    /// Our world in a frame's document; the browser makes it if need be. `is_top` says that the frame is the
    /// uppermost one of its process.
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
        // Asked without a context, a script runs in the page's own world of the uppermost frame.
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
            numbers: HashMap::new(),
            heard: HashSet::new(),
            last: None,
            is_blank: false,
            heard_before: None,
        })
    }

    /// Runs a script and reads what it gives. Where our scripts are not there yet, they are brought first.
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
        self.bring(deadline).await?;
        read(&self.evaluate(script.to_owned(), deadline).await?)
    }

    /// Owns the event guard that a call with this id arms.
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

    /// The next look at the document takes nothing from the last one.
    pub(crate) fn forget(&mut self) {
        self.last = None;
    }

    /// Brings our scripts.
    async fn bring(&self, deadline: Deadline) -> Result<(), ObserveError> {
        let bring = Evaluate {
            expression: SOURCE.into(),
            context_id: Some(self.context),
            silent: Some(true),
            ..Evaluate::default()
        };
        match self.channel.call(bring, deadline).await?.exception_details {
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

    /// Runs an asynchronous function of ours with arguments that JSON can hold.
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

    /// Whether something has happened in the document since it was last observed, or the document is gone.
    pub(crate) async fn is_spoiled(&self, deadline: Deadline) -> bool {
        let ask = match self.is_blank {
            true => format!("!{BLANK}"),
            false => "agbrowse.isDirty()".into(),
        };
        match self.evaluate(ask, deadline).await {
            Ok(value) => value.get() != "false",
            Err(_) => true,
        }
    }

    /// Answers when something has happened in the document since it was last observed, or the document is gone.
    pub(crate) fn dirtied(&self, deadline: Deadline) -> impl Future<Output = bool> + use<> {
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

/// Why a world did not answer.
#[derive(Debug)]
pub(crate) enum ObserveError {
    /// The way there: the document or its process is gone, or does not answer.
    Wire(cdp::Error),
    /// A dialog holds the page up, it crashed, or its tab is gone.
    Blocked(Box<Error>),
    /// Our own script failed.
    Script(String),
    /// It gave nothing.
    Nothing,
}

impl ObserveError {
    /// Whether the document was replaced while we looked at it.
    pub(crate) fn is_replaced(&self) -> bool {
        matches!(self, Self::Wire(cdp::Error::Remote { .. }) | Self::Nothing)
    }

    /// As an error, knowing the tab it was about.
    pub(crate) fn explain(self, tab: &crate::tab::Tab) -> Error {
        match self {
            // Its context is gone, and with it the document.
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

/// As a script writes it.
pub(crate) fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".into())
}

fn thrown_by(thrown: ExceptionDetails) -> ObserveError {
    let what = thrown.exception.and_then(|thrown| thrown.description).unwrap_or_default();
    ObserveError::Script(what.into_string())
}

/// What a script gave, or what it threw.
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
    fn no_function_of_our_scripts_takes_the_place_of_another() {
        // They share one scope, and a second declaration of a function is no error in JavaScript.
        let mut seen = HashSet::new();
        for line in SOURCE.lines() {
            let line = line.strip_prefix("async ").unwrap_or(line);
            let Some(rest) = line.strip_prefix("function ") else { continue };
            let name = rest.split('(').next().unwrap_or_default();
            assert!(seen.insert(name.trim_matches(['*', ' '])), "`{name}` is declared twice");
        }
        assert!(seen.len() > 100, "{}", seen.len());
    }
}
