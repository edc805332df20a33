//! Notes: remarks on a result that differs from what was asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A remark on a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The kind of note, in `kebab-case`.
    pub code: String,
    /// One lower-case sentence; contains no page text.
    pub message: String,
    /// Text chosen by the page: a message, an accessible name. Untrusted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page_text: Option<String>,
}

impl Note {
    /// A note. Secrets in its URLs and texts are masked.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        let message = page::mask::mask(&message.into()).into_owned();
        Self { code: code.to_owned(), message, page_text: None }
    }

    /// Adds page text, its secrets masked.
    #[must_use]
    pub fn with_page_text(mut self, text: &str) -> Self {
        self.page_text = Some(page::mask::mask(text).into_owned());
        self
    }
}

/// The message, then the quoted page text.
impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.page_text {
            Some(text) => write!(f, ": {}", page::text::quoted(text)),
            None => Ok(()),
        }
    }
}
