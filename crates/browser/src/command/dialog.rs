//! `dialog`: answering what the page asks.

use super::{Cx, Verb};
use crate::browser::Needs;
use crate::error::{Code, Error, Result};
use crate::live::journal::Mark;
use crate::tab::{Dialog, Phase, State, Tab};
use cdp::Deadline;
use cdp::protocol::page::HandleJavaScriptDialog;
use cdp::protocol::runtime::Evaluate;
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

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
        /// What to type into a prompt [default: what it suggests].
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
        let before = tab.state.borrow().clone();
        let mark = tab.journal.mark();
        let dialog = before.dialog.clone();
        let dialog = dialog.ok_or_else(|| {
            Error::new(Code::PageNoDialog).message(format!("no dialog is open on tab {}", tab.id))
        })?;
        let (accepted, prompt_text) = match &self.answer {
            // The browser would take no text for an empty one.
            Answer::Accept { text } => (true, text.clone().or_else(|| dialog.default_text.clone())),
            Answer::Dismiss => (false, None),
        };
        let answer = HandleJavaScriptDialog { accept: accepted, prompt_text };
        tab.channel.call(answer, cx.deadline).await.map_err(|error| tab.explain(error))?;
        // The next command must not find it still open.
        let mut state = tab.state.subscribe();
        let closed =
            state.wait_for(|state| state.dialog.as_ref() != Some(&dialog) || state.end.is_some());
        _ = tokio::time::timeout_at(cx.deadline.at(), closed).await;
        settle(&tab, &before, mark, cx.deadline.at_most(SETTLE)).await;
        Ok(Answered { dialog: dialog.masked(), accepted })
    }
}

/// How long what comes of an answer is waited for.
const SETTLE: Duration = Duration::from_secs(1);

/// Waits until the script that asked has gone on, and until another page is there if it went to one.
async fn settle(tab: &Tab, before: &State, mark: Mark, end: Deadline) {
    let mut state = tab.state.subscribe();
    let is_broken = |state: &State| {
        state.dialog.is_some() || state.end.is_some() || state.loader != before.loader
    };
    // A script that is busy does not answer.
    let gone_on = tab.channel.call(Evaluate { expression: "1".into(), ..Evaluate::default() }, end);
    tokio::select! {
        _ = gone_on => {}
        _ = state.wait_for(is_broken) => {}
    }
    let mut changed = tab.journal.changed.subscribe();
    loop {
        let now = state.borrow_and_update().clone();
        let is_leaving = tab.journal.mark().departures > mark.departures;
        let is_there = now.loader != before.loader && now.phase >= Phase::DomReady;
        let is_over = now.dialog.is_some() || now.end.is_some() || is_there;
        let is_asking = tab.journal.open_since(mark) > 0;
        if is_over || !(is_leaving || is_asking || now.loader != before.loader) {
            return;
        }
        tokio::select! {
            _ = state.changed() => {}
            _ = changed.changed() => {}
            () = tokio::time::sleep_until(end.at()) => return,
        }
    }
}

impl fmt::Display for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.accepted { "accepted" } else { "dismissed" };
        write!(f, "{verb} the {}: {:?}", self.dialog.kind, self.dialog.message)
    }
}
