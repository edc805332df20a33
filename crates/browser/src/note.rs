//! Notes: what a caller should know about a result that is not quite what was asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Something worth knowing about a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// What it is about, in `kebab-case`.
    pub code: String,
    /// One lower-case sentence of ours, without a word of the page's.
    pub message: String,
    /// Text that the page chose: what it said, what it calls something. Never ours, never to be trusted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page_text: Option<String>,
}

impl Note {
    /// A note. Secrets in addresses and texts that it names are masked.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        let message = page::mask::mask(&message.into()).into_owned();
        Self { code: code.to_owned(), message, page_text: None }
    }

    /// Adds text that the page chose, its secrets masked.
    #[must_use]
    pub fn with_page_text(mut self, text: &str) -> Self {
        self.page_text = Some(page::mask::mask(text).into_owned());
        self
    }
}

/// Our sentence, then the page's text in quotes.
impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.page_text {
            Some(text) => write!(f, ": {}", page::text::quoted(text)),
            None => Ok(()),
        }
    }
}
