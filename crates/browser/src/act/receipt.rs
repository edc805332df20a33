//! The receipt of an action: target, strategy, effect, changes, delta.

use crate::chromium::activity::PageEvent;
use crate::command::VerbReply;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The receipt of an action: its target, effect, changes and delta.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The verb.
    pub action: String,
    /// The target element; absent if the action is on the page.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<ReceiptTarget>,
    /// The strategy that found it: `ref`, `css`, `role`, `text` …
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub strategy: Option<String>,
    /// The strategies tried.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub attempts: Vec<Attempt>,
    /// Input was sent to the browser. False if there was nothing to do.
    pub dispatched: bool,
    /// Time of the dispatch, in milliseconds since the start of the command.
    pub dispatched_ms: f64,
    /// The outcome of settling.
    pub settled: Settled,
    /// The effect.
    pub effect: Effect,
    /// The kinds of changes: `content`, `value`, `focus`, `scroll`, `address`, `requests`, `tab`, `chooser`, `toggle`,
    /// `selection`, `media`, `clipboard`, `storage`, `socket`, `worker`, `canvas`, `frame`, `other-tab`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changes: Vec<String>,
    /// Duration of the watch for an effect in milliseconds, if there was none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub watched_ms: Option<u64>,
    /// The reasons for a blocked action: invalid fields of the form, or a click that did not arrive.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub blocked: Vec<Blocker>,
    /// The changed lines of the snapshot.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub delta: String,
    /// Page events meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub events: Vec<PageEvent>,
    /// The resulting value: the chosen options, the saved file, the distance scrolled.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<String>,
}

/// The target element of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptTarget {
    /// Its ref.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none", default)]
    pub ref_name: Option<String>,
    /// Its role.
    pub role: String,
    /// Its accessible name.
    pub name: String,
}

/// A reason why an action was blocked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blocker {
    /// The invalid field; absent if the reason concerns the clicked element.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub field: Option<ReceiptTarget>,
    /// The reason, such as `is required`.
    pub reason: String,
    /// The validation message of the browser or the page.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
}

/// An attempt to find an element by one strategy.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// `ref`, `css`, `role`, `text` …
    pub strategy: String,
    /// The target.
    pub target: String,
    /// `found`, or the error code.
    pub outcome: String,
    /// Its duration.
    pub ms: u64,
}

/// The outcome of settling.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Settled {
    /// `quiet`: nothing more happens. `requests`: the requests have their responses. `navigation`: another page is
    /// there. `dialog`: the page waits for an answer. `capped`: still active at the timeout. `gone`: the page does not
    /// exist any more.
    pub how: String,
    /// The time it took.
    pub ms: u64,
}

/// The effect of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The page changed.
    Changed,
    /// No effect.
    None,
    /// Another page, or another URL.
    Navigated,
    /// A dialog opened and waits for an answer.
    Dialog,
    /// A download.
    Download,
    /// No effect: constraint validation prevented the submission of a form, or a click did not arrive.
    Blocked,
    /// Unknown: the page crashed or does not respond.
    Unknown,
}

impl Receipt {
    /// `no effect`, with the duration of the watch for one.
    pub fn no_effect(&self) -> String {
        match self.watched_ms {
            Some(ms) => format!("no effect seen in {ms} ms"),
            None => "no effect".to_owned(),
        }
    }

    /// The value as printed: quoted if it may be page text.
    pub fn value_text(&self) -> Option<String> {
        self.value.as_ref().map(|value| match &*self.action {
            // Free of page text, or with quotes already.
            "fill-form" | "press" | "scroll" | "upload" => value.clone(),
            _ => page::text::quoted(value),
        })
    }
}

impl Effect {
    /// The effect as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::None => "none",
            Self::Navigated => "navigated",
            Self::Dialog => "dialog",
            Self::Download => "download",
            Self::Blocked => "blocked",
            Self::Unknown => "unknown",
        }
    }

    /// The effect as printed.
    pub(crate) fn words(self) -> &'static str {
        if self == Self::None { "no effect" } else { self.as_str() }
    }
}

impl VerbReply for Receipt {
    fn receipt(&self) -> Option<&Receipt> {
        Some(self)
    }

    fn texts_mut(&mut self) -> Vec<&mut String> {
        let target = self.target.as_mut().and_then(|target| target.ref_name.as_mut());
        let attempts = self.attempts.iter_mut().map(|attempt| &mut attempt.target);
        let value = self.value.as_mut();
        let fields = self.blocked.iter_mut().filter_map(|it| it.field.as_mut());
        let fields = fields.filter_map(|field| field.ref_name.as_mut());
        let target = target.into_iter().chain(fields);
        target.chain(attempts).chain(value).chain([&mut self.delta]).collect()
    }
}

impl fmt::Display for ReceiptTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut name = String::new();
        page::text::quote(&mut name, &self.name);
        write!(f, "{} {name}", self.role)?;
        match &self.ref_name {
            Some(name) => write!(f, " [{name}]"),
            None => Ok(()),
        }
    }
}

/// The field, the reason, the validation message, the ref.
impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = &self.field {
            write!(f, "{} ", page::text::quoted(&field.name))?;
        }
        f.write_str(&self.reason)?;
        if let Some(message) = &self.message {
            write!(f, ": {}", page::text::quoted(message))?;
        }
        match self.field.as_ref().and_then(|field| field.ref_name.as_ref()) {
            Some(name) => write!(f, " [{name}]"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.action)?;
        if let Some(target) = &self.target {
            write!(f, " {target}")?;
        }
        if let Some(value) = self.value_text() {
            write!(f, " → {value}")?;
        }
        write!(f, ": ")?;
        match self.dispatched {
            false => write!(f, "nothing to do")?,
            true if self.effect == Effect::None => f.write_str(&self.no_effect())?,
            true => write!(f, "{}", self.effect.as_str())?,
        }
        if !self.changes.is_empty() && self.effect == Effect::Changed {
            write!(f, " ({})", self.changes.join(", "))?;
        }
        for (at, blocker) in self.blocked.iter().enumerate() {
            write!(f, "{} {blocker}", if at == 0 { ":" } else { ";" })?;
        }
        if self.settled.how == "capped" {
            write!(f, ", still going on after {} ms", self.settled.ms)?;
        }
        for event in &self.events {
            write!(f, "\n! {event}")?;
        }
        if !self.delta.is_empty() {
            write!(f, "\n{}", self.delta.trim_end())?;
        }
        Ok(())
    }
}
