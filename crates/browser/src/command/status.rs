//! `status`: the state of the browser, without asking any page.

use super::{CommandContext, Run, TabNeed, Verb, VerbGroup, VerbReply, VerbSpec};
use crate::error::Result;
use crate::proxy::ProxyInfo;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Show the browser, its tabs and contexts.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
pub struct Status {}

/// The state of the browser.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusReply {
    /// `running`, `starting`, `idle` (no browser yet) or `lost` (unexpected exit).
    pub state: String,
    /// The reason of the loss.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The browser.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub browser: Option<BrowserStatus>,
}

/// A running browser.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrowserStatus {
    /// Name and version.
    pub product: String,
    /// Its process id; absent for an attached browser.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pid: Option<u32>,
    /// The path of its executable.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    /// It has a window.
    pub headed: bool,
    /// Its profile, if persistent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub profile: Option<String>,
    /// The endpoint that was attached to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cdp: Option<String>,
    /// Uptime in seconds.
    pub uptime_s: u64,
    /// Number of open tabs.
    pub tabs: usize,
    /// Number of tabs with a running command.
    pub busy: usize,
    /// The named contexts.
    pub contexts: Vec<String>,
    /// The proxies of contexts, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub proxies: BTreeMap<String, ProxyInfo>,
}

impl Verb for Status {
    type Reply = StatusReply;
    const SPEC: VerbSpec =
        VerbSpec { tab: TabNeed::None, ..VerbSpec::LOOK.in_group(VerbGroup::Session) };
}

impl Run for Status {
    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<StatusReply> {
        let reason = cx.browser.loss();
        let Some(live) = cx.browser.live() else {
            let state = match &reason {
                _ if cx.browser.is_starting() => "starting",
                Some(_) => "lost",
                None => "idle",
            };
            return Ok(StatusReply { state: state.into(), reason, browser: None });
        };
        let tabs = live.tabs();
        let browser = BrowserStatus {
            product: live.product.clone(),
            pid: live.process.as_ref().map(|process| process.pid),
            path: live.path.clone(),
            headed: live.options.headed,
            profile: live.options.profile.clone(),
            cdp: live.options.cdp.clone(),
            uptime_s: live.since.elapsed().as_secs(),
            busy: tabs.iter().filter(|row| row.tab.is_busy()).count(),
            tabs: tabs.len(),
            contexts: live.contexts(),
            proxies: live.context_proxies(),
        };
        Ok(StatusReply { state: "running".into(), reason: None, browser: Some(browser) })
    }
}

impl VerbReply for StatusReply {}

impl fmt::Display for StatusReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(browser) = &self.browser else {
            return match &self.reason {
                _ if self.state == "starting" => {
                    f.write_str("starting: the browser is starting; `agbrowse close` cancels it")
                }
                Some(reason) => write!(f, "lost: {reason}"),
                None => {
                    f.write_str("idle: no browser runs; the first command that needs one starts it")
                }
            };
        };
        write!(f, "{}", browser.product)?;
        match (browser.pid, &browser.cdp) {
            (Some(pid), _) => write!(f, ", process {pid}")?,
            (None, Some(address)) => write!(f, ", attached at {address}")?,
            (None, None) => {}
        }
        write!(f, ", up {} s", browser.uptime_s)?;
        if let Some(profile) = &browser.profile {
            write!(f, ", profile {profile}")?;
        }
        write!(f, "\n{} tab{}", browser.tabs, if browser.tabs == 1 { "" } else { "s" })?;
        if browser.busy > 0 {
            write!(f, ", {} busy", browser.busy)?;
        }
        if !browser.contexts.is_empty() {
            let named = |name: &String| match browser.proxies.get(name) {
                Some(proxy) => format!("{name} (through {})", proxy.server),
                None => name.clone(),
            };
            let names: Vec<String> = browser.contexts.iter().map(named).collect();
            write!(f, ", contexts: {}", names.join(", "))?;
        }
        Ok(())
    }
}
