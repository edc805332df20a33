//! Tabs: `tabs`, `tab new`, `tab switch`, `tab close`. None of them needs a response of a page, so they work while
//! pages hang.

use super::open::local_file;
use super::{Caller, CommandContext, Run, TabNeed, Verb, VerbGroup, VerbReply, VerbSpec};
use crate::error::Result;
use crate::navigate;
use crate::proxy::Proxy;
use crate::tab::{Dialog, Phase, TabEnd, TabId};
use cdp::protocol::target::ActivateTarget;
use clap::{Args, Subcommand};
use page::mask::mask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Wait for the browser's tab list; after it, the last known state is listed.
const REFRESH: Duration = Duration::from_millis(50);

/// List the open tabs of all contexts.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
pub struct Tabs {}

/// The open tabs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabsReply {
    /// The tabs, in the order in which they were opened.
    pub tabs: Vec<TabInfo>,
}

/// A tab.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabInfo {
    /// Its id.
    pub id: TabId,
    /// Commands without `--tab` go to it.
    pub current: bool,
    /// Its context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub context: Option<String>,
    /// The tab that opened it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub opener: Option<TabId>,
    /// Its URL, secrets masked.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Its load state.
    pub phase: Phase,
    /// A command runs on it.
    pub busy: bool,
    /// Its page crashed.
    pub crashed: bool,
    /// Number of out-of-process frames.
    pub frames: usize,
    /// Number of workers.
    pub workers: usize,
    /// The open dialog.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dialog: Option<Dialog>,
}

impl Verb for Tabs {
    type Reply = TabsReply;
    const SPEC: VerbSpec =
        VerbSpec { tab: TabNeed::None, ..VerbSpec::LOOK.in_group(VerbGroup::Tabs) };
}

impl Run for Tabs {
    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<TabsReply> {
        cx.unless_lost()?;
        let Some(live) = cx.browser.live() else {
            return Ok(TabsReply::default());
        };
        live.refresh(cx.progress.deadline.at_most(REFRESH)).await;
        let tabs = live.tabs().into_iter().map(|row| {
            let state = row.tab.state.borrow().clone();
            TabInfo {
                id: row.tab.id,
                current: row.is_current,
                context: row.tab.context.clone(),
                opener: row.tab.opener,
                url: mask(&state.url).into_owned(),
                title: mask(&state.title).into_owned(),
                phase: state.phase,
                busy: row.tab.is_busy(),
                crashed: matches!(state.end, Some(TabEnd::Crashed(_))),
                frames: row.frames,
                workers: row.workers,
                dialog: state.dialog.as_ref().map(Dialog::masked),
            }
        });
        Ok(TabsReply { tabs: tabs.collect() })
    }
}

impl VerbReply for TabsReply {}

impl VerbReply for TabReply {}

impl fmt::Display for TabsReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.tabs.is_empty() {
            return f.write_str("no tabs");
        }
        for (number, tab) in self.tabs.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            let mark = if tab.current { '*' } else { ' ' };
            write!(f, "{mark} {:<4} {}", tab.id.to_string(), tab.url)?;
            if !tab.title.is_empty() && tab.title != tab.url {
                write!(f, "  {:?}", tab.title)?;
            }
            let context = tab.context.as_ref().map(|name| format!("context {name}"));
            let dialog = tab.dialog.as_ref().map(|dialog| format!("{} open", dialog.kind));
            let crashed = tab.crashed.then(|| "crashed".to_owned());
            let busy = tab.busy.then(|| "busy".to_owned());
            for word in [context, dialog, crashed, busy].into_iter().flatten() {
                write!(f, "  [{word}]")?;
            }
        }
        Ok(())
    }
}

/// Open, switch to or close a tab.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
pub struct TabCommand {
    /// The tab action.
    #[command(subcommand)]
    #[serde(flatten)]
    pub action: TabAction,
}

/// A tab action.
#[derive(Clone, Debug, Subcommand, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum TabAction {
    /// Open a new tab, which becomes the current one.
    New(NewTab),
    /// Make a tab the current one.
    Switch(SwitchTab),
    /// Close a tab: the named one, or the current one.
    Close(CloseTab),
}

/// Open a new tab, which becomes the current one.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
pub struct NewTab {
    /// The page to open [default: an empty one].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub url: Option<String>,
    /// The proxy for the context that this creates: `http://host:8080`, `https://…`, `socks5://…`; with
    /// `user:password@` before the host to sign in. All requests of the context use it.
    #[arg(long, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub proxy: Option<Proxy>,
    /// Open it in the background: the current tab stays the current one. For callers that name the tab of each command.
    #[arg(skip)]
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub aside: bool,
}

/// Make a tab the current one.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
pub struct SwitchTab {
    /// The tab id, as listed by `agbrowse tabs`.
    pub id: TabId,
}

/// Close a tab.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
pub struct CloseTab {
    /// The tab [default: the current one].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub id: Option<TabId>,
}

/// The result of a tab action.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TabReply {
    /// The opened, selected or closed tab.
    pub id: TabId,
    /// `opened`, `current` or `closed`.
    pub is: String,
    /// The current tab now.
    pub current: Option<TabId>,
    /// Its URL.
    pub url: String,
}

impl Verb for TabCommand {
    type Reply = TabReply;
    const SPEC: VerbSpec = VerbSpec { makes_session: true, reads_files: true, ..VerbSpec::CONTROL };

    fn localize(&mut self, _caller: &mut Caller<'_>) -> Result<()> {
        match &mut self.action {
            TabAction::New(new) => new.url.as_mut().map_or(Ok(()), local_file),
            TabAction::Switch(_) | TabAction::Close(_) => Ok(()),
        }
    }
}

impl Run for TabCommand {
    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<TabReply> {
        match &self.action {
            TabAction::New(new) => {
                let live = cx.live().await?;
                cx.acknowledge_loss();
                if let Some(proxy) = &new.proxy {
                    proxy.password.iter().for_each(|password| cx.keep_secret(password));
                    live.proxied_context(cx.context.as_deref(), proxy, cx.progress.deadline)
                        .await?;
                }
                let turn = cx.open_tab(!new.aside).await?;
                let id = turn.id;
                let url = match &new.url {
                    Some(url) => {
                        let url = cx.address(url)?;
                        navigate::go(cx.navigation(&turn, navigate::Until::Load), &url).await?.url
                    }
                    None => mask(&turn.state.borrow().url).into_owned(),
                };
                let current = match new.aside {
                    true => live.current(cx.context.as_deref()).ok().flatten().map(|tab| tab.id),
                    false => Some(id),
                };
                Ok(TabReply { id, is: "opened".into(), current, url })
            }
            TabAction::Switch(SwitchTab { id }) => {
                cx.unless_lost()?;
                let live = cx.live().await?;
                let tab = live.tab(*id)?;
                live.switch(&tab);
                cx.used(tab.id);
                live.connection
                    .browser()
                    .post(&ActivateTarget { target_id: tab.target_id.clone() });
                let url = mask(&tab.state.borrow().url).into_owned();
                Ok(TabReply { id: *id, is: "current".into(), current: Some(*id), url })
            }
            TabAction::Close(CloseTab { id }) => {
                cx.unless_lost()?;
                let tab = match id.or(cx.named_tab()) {
                    Some(id) => cx.live().await?.tab(id)?,
                    None => cx.resolve(TabNeed::Page).await?,
                };
                let live = cx.live().await?;
                let url = mask(&tab.state.borrow().url).into_owned();
                live.close_tab(&tab, cx.progress.deadline).await?;
                let current = live.switch_from(&tab);
                Ok(TabReply { id: tab.id, is: "closed".into(), current, url })
            }
        }
    }
}

impl fmt::Display for TabReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.is, self.current) {
            ("closed", Some(current)) => write!(f, "{} closed, {current} is current", self.id),
            ("closed", None) => write!(f, "{} closed, no tab left", self.id),
            _ => write!(f, "{} {}", self.id, self.url),
        }
    }
}
