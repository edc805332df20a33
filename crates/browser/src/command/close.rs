//! `close`: closes the browser or one context.

use super::{CommandContext, Run, Verb, VerbGroup, VerbReply, VerbSpec};
use crate::browser::ClosedBy;
use crate::error::Result;
use crate::note::Note;
use crate::tab::Tab;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Close the browser of this session. With `--context`, only that context with its tabs and cookies.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
pub struct Close {}

/// The result of a close.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloseReply {
    /// The closed context; absent for the whole browser.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub context: Option<String>,
    /// Number of closed tabs.
    pub tabs: usize,
    /// A browser was running.
    pub was_running: bool,
    /// A browser was starting, and the start was canceled.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub was_starting: bool,
    /// The browser was only attached to: it keeps running, and only our tabs in it were closed.
    pub attached: bool,
}

impl Verb for Close {
    type Reply = CloseReply;
    const SPEC: VerbSpec = VerbSpec::CONTROL.in_group(VerbGroup::Session);
}

impl Run for Close {
    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<CloseReply> {
        let live = cx.browser.live();
        let was_starting = cx.context.is_none() && cx.browser.is_starting();
        let context = cx.context.clone();
        let tabs = live.as_ref().map_or(0, |live| {
            let goes =
                |tab: &Tab| live.is_ours(tab) && (context.is_none() || tab.context == context);
            live.tabs().iter().filter(|row| goes(&row.tab)).count()
        });
        // Tabs that an earlier owner left in an attached browser.
        let orphans = cx.browser.orphan_tabs().filter(|_| live.is_none() && context.is_none());
        let tabs = orphans.as_ref().map_or(tabs, |orphans| orphans.tabs.len());
        let files = live.as_ref().filter(|_| context.is_none());
        let files = files.map_or(0, |live| live.downloads.temporary_files());
        if files > 0 {
            let message = format!(
                "{files} downloaded file{} deleted with the browser; `download --to` or `--downloads` keeps them",
                if files == 1 { "" } else { "s" }
            );
            cx.progress.notes.push(Note::new("downloads-removed", message));
        }
        match (&context, &live) {
            (Some(name), Some(live)) => live.close_context(name, cx.progress.deadline).await?,
            (Some(_), None) => {}
            (None, _) => cx.browser.begin_close(ClosedBy::Command, cx.progress.deadline).await?,
        }
        let attached =
            orphans.is_some() || live.as_ref().is_some_and(|live| live.process.is_none());
        Ok(CloseReply { context, tabs, was_running: live.is_some(), was_starting, attached })
    }
}

impl VerbReply for CloseReply {}

impl fmt::Display for CloseReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tabs = if self.tabs == 1 { "1 tab".to_owned() } else { format!("{} tabs", self.tabs) };
        match &self.context {
            _ if self.was_starting => f.write_str("canceled the start of the browser"),
            _ if !self.was_running && self.attached => {
                write!(
                    f,
                    "no browser was running; closing {tabs} left in the one attached to before"
                )
            }
            _ if !self.was_running => f.write_str("no browser was running"),
            Some(name) => write!(f, "closed context {name} with {tabs}"),
            None if self.attached => f.write_str(
                "detached from the browser, which keeps running; our tabs in it are closed",
            ),
            None => write!(f, "closed the browser with {tabs}"),
        }
    }
}
