//! Going places: `open`, `back`, `forward`, `reload`.

use super::{Arrival, CommandContext, Until, Verb};
use crate::browser::TabNeed;
use crate::error::Result;
use crate::navigate;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Open a page and wait until it is there.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Open {
    /// Where to: `https://example.com`, `example.com`, `localhost:3000`, `/path/to/file.html`.
    pub url: String,
    /// When the page counts as there.
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

    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Arrival> {
        let url = cx.address(&self.url)?;
        if self.new_tab {
            let live = cx.live().await?;
            cx.begin_anew();
            let tab = live.empty_tab(cx.context.as_deref(), cx.deadline).await?;
            live.switch(&tab);
            cx.used(tab.id);
            let turn = tab.turn(cx.deadline).await?;
            return navigate::go(cx.navigation(&turn, self.until), &url).await;
        }
        let turn = cx.turn(TabNeed::Tab).await?;
        navigate::go(cx.navigation(&turn, self.until), &url).await
    }
}

/// Go back in the tab's history.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Back {
    /// When the page counts as there.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub until: Until,
}

impl Verb for Back {
    type Reply = Arrival;

    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Arrival> {
        let turn = cx.turn(TabNeed::Page).await?;
        navigate::history(cx.navigation(&turn, self.until), -1).await
    }
}

/// Go forward in the tab's history.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Forward {
    /// When the page counts as there.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub until: Until,
}

impl Verb for Forward {
    type Reply = Arrival;

    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Arrival> {
        let turn = cx.turn(TabNeed::Page).await?;
        navigate::history(cx.navigation(&turn, self.until), 1).await
    }
}

/// Load the page again. Also brings back a tab whose page crashed.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reload {
    /// Fetch everything anew instead of taking it from the cache.
    #[arg(long)]
    #[serde(default)]
    pub ignore_cache: bool,
    /// When the page counts as there.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub until: Until,
}

impl Verb for Reload {
    type Reply = Arrival;

    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Arrival> {
        // The page that the caller left must still be there; that it crashed is what this verb mends.
        let tab = cx.resolve(TabNeed::Page).await?;
        cx.used(tab.id);
        let turn = tab.turn(cx.deadline).await?;
        navigate::reload(cx.navigation(&turn, self.until), self.ignore_cache).await
    }
}

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
