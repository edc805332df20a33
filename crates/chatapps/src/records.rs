//! Records of what reached the server: prompts, files, answers and page events.

use crate::scenario::App;
use serde::{Deserialize, Serialize};

/// A prompt that reached the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// App that sent it.
    pub app: App,
    /// Conversation it belongs to.
    pub conversation: String,
    /// Id that the page gave the message, to be recognised when sent again.
    pub client_message_id: String,
    /// Text of the message.
    pub text: String,
    /// Id of the selected model, for example `instant`.
    pub model: String,
    /// Id of the selected tool, for example `deep-think`.
    pub tool: Option<String>,
    /// Attached files.
    pub files: Vec<SentFile>,
    /// Number of times the same client message id arrived; 1 if the page works.
    pub arrivals: u32,
}

/// An uploaded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentFile {
    /// File name.
    pub name: String,
    /// Size in bytes.
    pub size: usize,
    /// SHA-256 of the content, in hexadecimal digits.
    pub sha256: String,
}

/// An answer and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerRecord {
    /// Conversation it belongs to.
    pub conversation: String,
    /// Markdown so far.
    pub text: String,
    /// How it stands.
    pub status: AnswerStatus,
}

/// How an answer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerStatus {
    /// Being written.
    Streaming,
    /// Complete.
    Finished,
    /// Stopped by the user.
    Stopped,
    /// Failed.
    Error,
}

/// An event that could submit a prompt, as the page's own script saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmitEvent {
    /// App of the page.
    pub app: App,
    /// Type of the event: `click`, `keydown` (Enter) or `submit`.
    pub kind: String,
    /// Receiving control: `send`, `stop`, `composer`, `form`, or `decoy` for a text box that is no composer.
    pub control: String,
    /// Made by the browser for user input, not by a script.
    pub trusted: bool,
    /// The control was disabled, or the click was the one that the scenario loses.
    pub ignored: bool,
    /// Path of the page.
    pub path: String,
}

/// An event other than a submission, as the page's own script saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageEvent {
    /// App of the page.
    pub app: App,
    /// Type of the event: `ready`, `menu-opened`, `menu-closed`, `model-selected`, `tool-selected`, `tool-removed`,
    /// `file-chosen`, `file-ready`, `file-dropped`, `file-removed`, `copied`, `copy-failed`, `stopped`, `modal-closed`,
    /// `decoy-clicked`.
    pub kind: String,
    /// Its subject: name of a menu, id of a model, name of a file, length of a copied text.
    pub detail: String,
    /// Path of the page.
    pub path: String,
}

/// An event as the page posts it.
#[derive(Debug, Deserialize)]
pub(crate) struct PostedEvent {
    pub(crate) kind: String,
    /// Set for events that could submit.
    pub(crate) control: Option<String>,
    #[serde(default)]
    pub(crate) detail: String,
    #[serde(default)]
    pub(crate) trusted: bool,
    #[serde(default)]
    pub(crate) ignored: bool,
    #[serde(default)]
    pub(crate) path: String,
    /// Id of the loaded page, and number of the event in it: requests may overtake each other.
    #[serde(default)]
    pub(crate) page: String,
    #[serde(default)]
    pub(crate) number: u32,
}
