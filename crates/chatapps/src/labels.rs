//! Labels: which element of a page really is each semantic target. They are computed from the page description and known
//! on this side of the connection only.

use serde::Serialize;

/// Which element really is each semantic target of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Labels {
    /// Where prompts are written.
    pub composer: Truth,
    /// Opens the menu of models.
    pub model_picker: Truth,
    /// Opens the file chooser or a menu with an item for it.
    pub upload_surface: Truth,
    /// Turns of the assistant.
    pub response_feed: Truth,
    /// Copies the last answer.
    pub copy_button: Truth,
    /// Present while an answer is under way: stops it.
    pub streaming_indicator: Truth,
    /// Sends the prompt.
    pub send_button: Truth,
    /// Actions of the last finished turn.
    pub finished_actions: Truth,
}

impl Labels {
    /// All targets by the names they have in the vendor contract.
    #[must_use]
    pub fn all(&self) -> [(&'static str, &Truth); 8] {
        [
            ("composer", &self.composer),
            ("modelPicker", &self.model_picker),
            ("uploadSurface", &self.upload_surface),
            ("responseFeed", &self.response_feed),
            ("copyButton", &self.copy_button),
            ("streamingIndicator", &self.streaming_indicator),
            ("sendButton", &self.send_button),
            ("finishedActions", &self.finished_actions),
        ]
    }

    /// The truth about a target by its name in the vendor contract.
    #[must_use]
    pub fn get(&self, target: &str) -> Option<&Truth> {
        self.all().into_iter().find(|(name, _)| *name == target).map(|(_, truth)| truth)
    }
}

/// The truth about a semantic target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Truth {
    /// The target exists.
    Exists {
        /// CSS path that matches it and nothing else on this very page.
        marker: String,
        /// CSS paths of other elements that are right answers too: earlier turns, elements inside a turn, a second
        /// button for the same menu.
        alternatives: Vec<String>,
    },
    /// No element is the target.
    Missing,
    /// Several elements could be the target, and nothing tells which.
    Ambiguous,
}

impl Truth {
    /// True if the CSS path is a right answer.
    #[must_use]
    pub fn accepts(&self, path: &str) -> bool {
        match self {
            Self::Exists { marker, alternatives } => {
                marker == path || alternatives.iter().any(|it| it == path)
            }
            Self::Missing | Self::Ambiguous => false,
        }
    }
}

/// Moment in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Nothing was sent yet.
    Start,
    /// An answer is under way, after this many finished exchanges.
    Streaming(usize),
    /// This many exchanges are finished, at least one.
    Finished(usize),
}
