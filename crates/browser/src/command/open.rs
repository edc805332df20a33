//! Navigation: `open`, `back`, `forward`, `reload`.

use super::{
    Arrival, Caller, CommandContext, Run, RunInTab, TabNeed, Until, Verb, VerbGroup, VerbKind,
    VerbReply, VerbSpec,
};
use crate::error::{Code, Error, Result};
use crate::navigate;
use crate::tab::Turn;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Open a page and wait until it has loaded.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Open {
    /// The URL: `https://example.com`, `example.com`, `localhost:3000`, `/path/to/file.html`.
    pub url: String,
    /// The load state to wait for.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub until: Until,
    /// Open it in a new tab, which becomes the current one.
    #[arg(long)]
    #[serde(default)]
    pub new_tab: bool,
}

impl Verb for Open {
    type Reply = Arrival;
    const SPEC: VerbSpec = VerbSpec {
        tab: TabNeed::Tab,
        group: VerbGroup::Navigate,
        makes_session: true,
        reads_files: true,
        ..VerbSpec::CONTROL
    };

    fn spec(&self) -> VerbSpec {
        let tab = if self.new_tab { TabNeed::None } else { TabNeed::Tab };
        VerbSpec { tab, ..Self::SPEC }
    }

    fn localize(&mut self, _caller: &mut Caller<'_>) -> Result<()> {
        local_file(&mut self.url)
    }

    fn check(&self, cx: &CommandContext<'_>) -> Result<()> {
        cx.address(&self.url).map(drop)
    }
}

impl Run for Open {
    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Arrival> {
        let url = cx.address(&self.url)?;
        let turn = if self.new_tab { cx.open_tab(true).await? } else { cx.turn()? };
        navigate::go(cx.navigation(&turn, self.until), &url).await
    }
}

/// Makes a path relative to the caller's working directory absolute: the daemon has another one.
pub(super) fn local_file(url: &mut String) -> Result<()> {
    if url.starts_with("./") || url.starts_with("../") {
        let path = std::fs::canonicalize(&*url);
        let path = path.map_err(|error| {
            Error::new(Code::FileReadFailed).message(format!("`{url}`: {error}"))
        })?;
        *url = path.display().to_string();
    }
    Ok(())
}

/// Go back in the tab's history.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Back {
    /// The load state to wait for.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub until: Until,
}

impl Verb for Back {
    type Reply = Arrival;
    const SPEC: VerbSpec =
        VerbSpec { kind: VerbKind::Control, ..VerbSpec::LOOK.in_group(VerbGroup::Navigate) };
}

impl RunInTab for Back {
    async fn run(&self, cx: &mut CommandContext<'_>, turn: &Turn) -> Result<Arrival> {
        navigate::history(cx.navigation(turn, self.until), -1).await
    }
}

/// Go forward in the tab's history.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Forward {
    /// The load state to wait for.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub until: Until,
}

impl Verb for Forward {
    type Reply = Arrival;
    const SPEC: VerbSpec =
        VerbSpec { kind: VerbKind::Control, ..VerbSpec::LOOK.in_group(VerbGroup::Navigate) };
}

impl RunInTab for Forward {
    async fn run(&self, cx: &mut CommandContext<'_>, turn: &Turn) -> Result<Arrival> {
        navigate::history(cx.navigation(turn, self.until), 1).await
    }
}

/// Reload the page. Also recovers a crashed tab.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reload {
    /// Bypass the cache.
    #[arg(long)]
    #[serde(default)]
    pub ignore_cache: bool,
    /// The load state to wait for.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub until: Until,
}

impl Verb for Reload {
    type Reply = Arrival;
    const SPEC: VerbSpec =
        VerbSpec { tab: TabNeed::CrashedPage, ..VerbSpec::CONTROL.in_group(VerbGroup::Navigate) };
}

impl RunInTab for Reload {
    async fn run(&self, cx: &mut CommandContext<'_>, turn: &Turn) -> Result<Arrival> {
        navigate::reload(cx.navigation(turn, self.until), self.ignore_cache).await
    }
}

impl VerbReply for Arrival {}

impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.title.is_empty() {
            writeln!(f, "{}", page::text::quoted(&self.title))?;
        }
        match self.status {
            Some(status) => write!(f, "{} ({status})", self.url),
            None => write!(f, "{}", self.url),
        }
    }
}
