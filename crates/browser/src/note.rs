//! Notes: what a caller should know about a result that is not quite what was asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something worth knowing about a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// What it is about, in `kebab-case`.
    pub code: String,
    /// One lower-case sentence.
    pub message: String,
}

impl Note {
    /// A note. Secrets in addresses and texts that it names are masked.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: page::mask::mask(&message.into()).into_owned() }
    }
}
