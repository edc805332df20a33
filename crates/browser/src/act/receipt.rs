//! The receipt of an action: what was done to what, and what came of it.

use crate::chromium::activity::PageEvent;
use crate::command::VerbReply;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What was done, to what, and what came of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// What was done.
    pub action: String,
    /// What it was done to; absent where it was done to the page.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<ReceiptTarget>,
    /// How that was found: `ref`, `css`, `role`, `text` …
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub strategy: Option<String>,
    /// Everything that was tried to find it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub attempts: Vec<Attempt>,
    /// Whether it was done. False when it was so already.
    pub dispatched: bool,
    /// When it was handed to the browser, in milliseconds from the start of the command.
    pub dispatched_ms: f64,
    /// How the page came to rest.
    pub settled: Settled,
    /// What came of it.
    pub effect: Effect,
    /// What that was: `content`, `value`, `focus`, `scroll`, `address`, `requests`, `tab`, `chooser`, `toggle`,
    /// `selection`, `media`, `clipboard`, `storage`, `socket`, `worker`, `canvas`, `frame`, `other-tab`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changes: Vec<String>,
    /// For how many milliseconds an effect was watched for, when there was none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub watched_ms: Option<u64>,
    /// Why it was blocked: the fields that keep their form from being sent, or that the click did not arrive.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub blocked: Vec<Blocker>,
    /// What is different on the page, in the lines of a snapshot.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub delta: String,
    /// What else happened meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub events: Vec<PageEvent>,
    /// What came out of it: the options that were chosen, the file that was saved, how far it went.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<String>,
}

/// An element that something was done to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptTarget {
    /// Its ref.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none", default)]
    pub ref_name: Option<String>,
    /// What it is.
    pub role: String,
    /// What it is called.
    pub name: String,
}

/// A reason why an action was blocked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blocker {
    /// The field whose value the browser does not accept; absent when it is about the element that was clicked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub field: Option<ReceiptTarget>,
    /// What is wrong, in our words: `is required`.
    pub reason: String,
    /// What the browser tells a person, or the page.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
}

/// One way of finding an element, and whether it worked.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// `ref`, `css`, `role`, `text` …
    pub strategy: String,
    /// What was looked for.
    pub target: String,
    /// `found`, or the error's code.
    pub outcome: String,
    /// How long it took.
    pub ms: u64,
}

/// How the page came to rest.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Settled {
    /// `quiet`: nothing more happens. `requests`: what was asked of servers was answered. `navigation`: another page
    /// is there. `dialog`: the page waits for an answer. `capped`: it still went on when the time was up. `gone`: the
    /// page is not there any more.
    pub how: String,
    /// How long that took.
    pub ms: u64,
}

/// What came of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The page is different.
    Changed,
    /// Nothing.
    None,
    /// Another page, or another address.
    Navigated,
    /// A dialog that waits for an answer.
    Dialog,
    /// A file.
    Download,
    /// Nothing: the browser did not accept the values of a form, or a click did not arrive.
    Blocked,
    /// Nobody knows: the page died or does not answer.
    Unknown,
}

impl Receipt {
    /// That there was no effect, and how long one was watched for.
    pub fn no_effect(&self) -> String {
        match self.watched_ms {
            Some(ms) => format!("no effect seen in {ms} ms"),
            None => "no effect".to_owned(),
        }
    }

    /// What came out of it, as it is printed: in quotes where it may be the page's text.
    pub fn value_text(&self) -> Option<String> {
        self.value.as_ref().map(|value| match &*self.action {
            // These have no word of the page's in it, or only quoted ones.
            "fill-form" | "press" | "scroll" | "upload" => value.clone(),
            _ => page::text::quoted(value),
        })
    }
}

impl Effect {
    /// Its spelling.
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

    /// The same as people read it.
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

/// The field, what is wrong with it, what a person is told, its ref.
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
