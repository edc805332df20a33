//! `close`: the end of the browser, or of one context.

use super::{Cx, Verb};
use crate::error::Result;
use crate::tab::Tab;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Close the browser of this session. With `--context`, only that context with its tabs and cookies.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
pub struct Close {}

/// What was closed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Closed {
    /// The context that was closed; absent when it was the whole browser.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub context: Option<String>,
    /// How many tabs went with it.
    pub tabs: usize,
    /// Whether a browser was running.
    pub was_running: bool,
    /// Whether it is somebody else's, so that only our own tabs in it were closed.
    pub attached: bool,
}

impl Verb for Close {
    type Reply = Closed;

    async fn run(&self, cx: &mut Cx<'_>) -> Result<Closed> {
        let live = cx.browser.live();
        let context = cx.context.clone();
        let tabs = live.as_ref().map_or(0, |live| {
            let goes =
                |tab: &Tab| live.is_ours(tab) && (context.is_none() || tab.context == context);
            live.tabs().iter().filter(|row| goes(&row.tab)).count()
        });
        match (&context, &live) {
            (Some(name), Some(live)) => live.close_context(name, cx.deadline).await?,
            (Some(_), None) => {}
            (None, _) => cx.browser.begin_close(cx.deadline).await?,
        }
        let attached = live.as_ref().is_some_and(|live| live.process.is_none());
        Ok(Closed { context, tabs, was_running: live.is_some(), attached })
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tabs = if self.tabs == 1 { "1 tab".to_owned() } else { format!("{} tabs", self.tabs) };
        match &self.context {
            _ if !self.was_running => f.write_str("no browser was running"),
            Some(name) => write!(f, "closed context {name} with {tabs}"),
            None if self.attached => {
                f.write_str("let go of the browser; it runs on, without our tabs")
            }
            None => write!(f, "closed the browser with {tabs}"),
        }
    }
}
