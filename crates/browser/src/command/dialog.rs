//! `dialog`: answering what the page asks.

use super::{Cx, Verb};
use crate::browser::Needs;
use crate::error::{Code, Error, Result};
use crate::tab::Dialog;
use cdp::protocol::page::HandleJavaScriptDialog;
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Answer a dialog of the page (alert, confirm, prompt, beforeunload).
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
pub struct DialogVerb {
    /// The answer.
    #[command(subcommand)]
    #[serde(flatten)]
    pub answer: Answer,
}

/// An answer to a dialog.
#[derive(Clone, Debug, Subcommand, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// Say OK.
    Accept {
        /// What to type into a prompt.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        text: Option<String>,
    },
    /// Say Cancel.
    Dismiss,
}

/// A dialog that was answered.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// The dialog.
    pub dialog: Dialog,
    /// Whether the answer was OK.
    pub accepted: bool,
}

impl Verb for DialogVerb {
    type Reply = Answered;

    async fn run(&self, cx: &mut Cx<'_>) -> Result<Answered> {
        // Not in turn: the command whose turn it is may be waiting for just this.
        let tab = cx.resolve(Needs::Page).await?;
        cx.used(tab.id);
        let dialog = tab.state.borrow().dialog.clone();
        let dialog = dialog.ok_or_else(|| {
            Error::new(Code::PageNoDialog).message(format!("no dialog is open on tab {}", tab.id))
        })?;
        let (accepted, prompt_text) = match &self.answer {
            Answer::Accept { text } => (true, text.clone()),
            Answer::Dismiss => (false, None),
        };
        let answer = HandleJavaScriptDialog { accept: accepted, prompt_text };
        tab.channel.call(answer, cx.deadline).await.map_err(|error| tab.explain(error))?;
        // The next command must not find it still open.
        let mut state = tab.state.subscribe();
        let closed =
            state.wait_for(|state| state.dialog.as_ref() != Some(&dialog) || state.end.is_some());
        _ = tokio::time::timeout_at(cx.deadline.at(), closed).await;
        Ok(Answered { dialog, accepted })
    }
}

impl fmt::Display for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.accepted { "accepted" } else { "dismissed" };
        write!(f, "{verb} the {}: {:?}", self.dialog.kind, self.dialog.message)
    }
}
