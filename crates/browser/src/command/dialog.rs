//! `dialog`: answers JavaScript dialogs.

use super::{CommandContext, Run, TabNeed, Verb, VerbReply, VerbSpec};
use crate::act::{Action, Baseline, DialogEffects, Effect};
use crate::chromium::activity::{ActivityCursor, PageEvent};
use crate::error::{Code, Error, Result};
use crate::tab::{Dialog, Phase, Tab, TabState};
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
pub struct DialogCommand {
    /// The answer.
    #[command(subcommand)]
    #[serde(flatten)]
    pub answer: Answer,
}

/// An answer to a dialog.
#[derive(Clone, Debug, Subcommand, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// Accept the dialog (OK).
    Accept {
        /// The text for a prompt [default: the prompt's default text].
        #[serde(skip_serializing_if = "Option::is_none", default)]
        text: Option<String>,
    },
    /// Dismiss the dialog (Cancel).
    Dismiss,
}

/// The result of an answer to a dialog.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DialogReply {
    /// The answered dialog.
    pub dialog: Dialog,
    /// The answer was OK.
    pub accepted: bool,
    /// The effect of the answer.
    pub effect: Effect,
    /// The changed lines of the snapshot, including changes by the action that opened the dialog.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub delta: String,
    /// Page events meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub events: Vec<PageEvent>,
    /// Another dialog that is open now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub open: Option<Dialog>,
}

impl Verb for DialogCommand {
    type Reply = DialogReply;
    const SPEC: VerbSpec = VerbSpec { tab: TabNeed::Known, ..VerbSpec::CONTROL };
}

impl Run for DialogCommand {
    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<DialogReply> {
        let tab = cx.known_tab()?;
        let before = tab.state.borrow().clone();
        let cursor = tab.activity.cursor();
        let dialog = before.dialog.clone();
        let dialog = dialog.ok_or_else(|| {
            Error::new(Code::PageNoDialog).message(format!("no dialog is open on tab {}", tab.id))
        })?;
        let (accepted, prompt_text) = match &self.answer {
            // Without a text, the browser would submit an empty one.
            Answer::Accept { text } => (true, text.clone().or_else(|| dialog.default_text.clone())),
            Answer::Dismiss => (false, None),
        };
        let answer = HandleJavaScriptDialog { accept: accepted, prompt_text };
        tab.channel.call(answer, cx.progress.deadline).await.map_err(|error| tab.explain(error))?;
        // The next command must not find it open.
        let mut state = tab.state.subscribe();
        let closed =
            state.wait_for(|state| state.dialog.as_ref() != Some(&dialog) || state.end.is_some());
        _ = tokio::time::timeout_at(cx.progress.deadline.at(), closed).await;
        settle(&tab, &before, cursor, cx.progress.deadline.at_most(SETTLE)).await;
        let baseline = Baseline { state: before, cursor };
        let DialogEffects { effect, delta, mut events } =
            effects_of_answer(cx, &tab, baseline).await;
        let open = tab.state.borrow().dialog.clone();
        events.extend(open.as_ref().map(Dialog::page_event));
        let (dialog, open) = (dialog.masked(), open.as_ref().map(Dialog::masked));
        Ok(DialogReply { dialog, accepted, effect, delta, events, open })
    }
}

/// The effects of the answer, with a delta if the turn is free: its holder may keep it for long.
async fn effects_of_answer(
    cx: &mut CommandContext<'_>,
    tab: &Tab,
    baseline: Baseline,
) -> DialogEffects {
    let limit = cx.progress.deadline.at_most(TURN);
    if let Ok(Ok(turn)) = tokio::time::timeout_at(limit.at(), cx.take_turn(TabNeed::Page)).await
        && let Ok(live) = cx.live().await
    {
        let mut observation = turn.observation.lock().await;
        return Action::new(cx, &live, &turn, &mut observation).dialog_effects(baseline).await;
    }
    let effect = baseline.known_effect(tab).unwrap_or(Effect::Unknown);
    DialogEffects { effect, delta: String::new(), events: tab.activity.take_events() }
}

/// Wait for the turn on the tab, to observe the page.
const TURN: Duration = Duration::from_millis(500);

/// Timeout of settling after the answer.
const SETTLE: Duration = Duration::from_secs(1);

/// Waits until the script that opened the dialog has resumed, and for the next page if it navigated.
async fn settle(tab: &Tab, before: &TabState, cursor: ActivityCursor, end: Deadline) {
    let mut state = tab.state.subscribe();
    let is_broken = |state: &TabState| {
        state.dialog.is_some() || state.end.is_some() || state.loader != before.loader
    };
    // A busy script does not respond.
    let resumed = tab.channel.call(Evaluate { expression: "1".into(), ..Evaluate::default() }, end);
    tokio::select! {
        _ = resumed => {}
        _ = state.wait_for(is_broken) => {}
    }
    let mut changed = tab.activity.changed.subscribe();
    loop {
        let now = state.borrow_and_update().clone();
        let is_leaving = tab.activity.cursor().departures > cursor.departures;
        let is_there = now.loader != before.loader && now.phase >= Phase::DomReady;
        let is_over = now.dialog.is_some() || now.end.is_some() || is_there;
        let is_asking = tab.activity.open_since(cursor) > 0;
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

impl VerbReply for DialogReply {
    fn texts_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.delta]
    }
}

impl fmt::Display for DialogReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.accepted { "accepted" } else { "dismissed" };
        let effect = self.effect.words();
        write!(f, "{verb} the {} ({effect}): {:?}", self.dialog.kind, self.dialog.message)?;
        for event in &self.events {
            write!(f, "\n! {event}")?;
        }
        match self.delta.trim_end() {
            "" => Ok(()),
            delta => write!(f, "\n{delta}"),
        }
    }
}
