//! `scroll`: an element brought into view, or a part of the page scrolled.

use super::{Act, CommandContext, Verb, VerbSpec};
use crate::act::{
    Action, Actionability, EventGuard, Receipt, ReceiptDraft, SettleArgs, TargetArgs,
};
use crate::error::{Code, Error, Result};
use crate::target::Target;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where to scroll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum ScrollDirection {
    Down,
    Up,
    Left,
    Right,
    /// To the very end.
    End,
    /// To the very beginning.
    Start,
}

/// An edge to scroll to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum ScrollEdge {
    Top,
    Bottom,
    Left,
    Right,
}

/// Scroll the page, or something in it.
///
/// A target alone is brought into view. With a way, the page or what is named (or the nearest thing around it that
/// scrolls) is scrolled by about a view, or by so many pixels; with `--to`, as far as it goes.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scroll {
    /// What to bring into view, or to scroll in: a target, or one of `down`, `up`, `left`, `right`, `end`, `start`.
    #[arg(value_name = "TARGET|WAY")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<String>,
    /// Which way.
    #[arg(value_enum)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub way: Option<ScrollDirection>,
    /// How far, in CSS pixels [default: most of a view].
    #[arg(long, value_name = "PX")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<u32>,
    /// As far as it goes in this direction.
    #[arg(long, value_enum, value_name = "EDGE", conflicts_with_all = ["way", "by"])]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to: Option<ScrollEdge>,
    /// Which one, counted from 0, when several match.
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nth: Option<u32>,
    /// What to see to afterwards.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

/// How far something was scrolled.
#[derive(Deserialize)]
struct ScrolledBy {
    x: f64,
    y: f64,
    left: f64,
}

/// How far one scrolls: most of a view, so that nothing is passed by.
const VIEW: u32 = 600;

impl Verb for Scroll {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;

    fn check(&self, _cx: &CommandContext<'_>) -> Result<()> {
        self.resolve().map(drop)
    }
}

impl Scroll {
    /// The target and the direction: one word may be either.
    fn resolve(&self) -> Result<(Option<Target>, Option<ScrollDirection>)> {
        let (target, way) = match (&self.target, self.way) {
            (Some(word), None) => match ScrollDirection::from_str(word, true) {
                Ok(way) => (None, Some(way)),
                Err(_) => (Some(word), None),
            },
            (target, way) => (target.as_ref(), way),
        };
        let wrong = |message: String| Error::new(Code::CommandInvalid).message(message);
        let target = target.map(|text| text.parse::<Target>().map_err(wrong)).transpose()?;
        if self.to.is_some() && (way.is_some() || self.by.is_some()) {
            return Err(wrong("`to` scrolls to the edge: leave out the direction and `by`".into()));
        }
        if target.is_none() && way.is_none() && self.to.is_none() {
            return Err(Error::new(Code::CommandInvalid)
                .message("nothing to scroll: name a target, a direction or an edge"));
        }
        Ok((target, way))
    }
}

impl Act for Scroll {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        let (target, way) = self.resolve()?;
        let point = match target {
            Some(target) => {
                let target_args = TargetArgs { nth: self.nth, ..TargetArgs::at(target) };
                Some(
                    action
                        .resolve_actionable(&target_args, Actionability::TOUCH, EventGuard::Off)
                        .await?,
                )
            }
            None => {
                action.watch_effects().await?;
                None
            }
        };
        let by = f64::from(self.by.unwrap_or(VIEW));
        let edge = self.to.map(|edge| match edge {
            ScrollEdge::Top => "start",
            ScrollEdge::Bottom => "end",
            ScrollEdge::Left => "left",
            ScrollEdge::Right => "right",
        });
        let (to, x, y) = match way {
            None => (edge.unwrap_or("view"), 0.0, 0.0),
            Some(ScrollDirection::End) => ("end", 0.0, 0.0),
            Some(ScrollDirection::Start) => ("start", 0.0, 0.0),
            Some(ScrollDirection::Down) => ("by", 0.0, by),
            Some(ScrollDirection::Up) => ("by", 0.0, -by),
            Some(ScrollDirection::Left) => ("by", -by, 0.0),
            Some(ScrollDirection::Right) => ("by", by, 0.0),
        };
        let number = point.as_ref().map_or(0, |point| point.element);
        let script = format!("agbrowse.scrollElement({number}, {{to: \"{to}\", x: {x}, y: {y}}})");
        let scrolled: Option<ScrolledBy> = match &point {
            Some(point) => action.ask(point, &script).await?,
            None => action.ask_main(&script).await?,
        };
        action.mark_dispatched();
        let value = scrolled.map(|it| {
            let far = |x: f64| x.round() as i64;
            format!("{} right, {} down, {} left below", far(it.x), far(it.y), far(it.left))
        });
        action.finish(ReceiptDraft { verb: "scroll", point, after: &self.after, value }).await
    }
}
