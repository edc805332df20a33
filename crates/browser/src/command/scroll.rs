//! `scroll`: scrolls an element into view, or a scroll container.

use super::{Act, CommandContext, Verb, VerbSpec};
use crate::act::{
    Action, Actionability, EventGuard, Receipt, ReceiptDraft, SettleArgs, TargetArgs,
};
use crate::error::{Code, Error, Result};
use crate::target::Target;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scroll direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum ScrollDirection {
    Down,
    Up,
    Left,
    Right,
    /// To the end.
    End,
    /// To the beginning.
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

/// Scroll the page or an element.
///
/// A target alone is scrolled into view. With a direction, the page, the target or its nearest scrollable ancestor is
/// scrolled by most of a viewport or by a number of pixels; with `--to`, to the edge.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scroll {
    /// The element to scroll into view or to scroll in, or a direction: `down`, `up`, `left`, `right`, `end`, `start`.
    #[arg(value_name = "TARGET|DIRECTION")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<String>,
    /// The direction.
    #[arg(value_enum, value_name = "DIRECTION")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub way: Option<ScrollDirection>,
    /// The distance in CSS pixels [default: most of a viewport].
    #[arg(long, value_name = "PX")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<u32>,
    /// Scroll to this edge.
    #[arg(long, value_enum, value_name = "EDGE", conflicts_with_all = ["way", "by"])]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to: Option<ScrollEdge>,
    /// The index of the match, counted from 0, if several match.
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nth: Option<u32>,
    /// Settling and the receipt.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

/// The distance scrolled, from the observer script.
#[derive(Deserialize)]
struct ScrolledBy {
    x: f64,
    y: f64,
    left: f64,
}

/// Default distance: most of a viewport, so that nothing is skipped.
const VIEW: u32 = 600;

impl Verb for Scroll {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;

    fn check(&self, _cx: &CommandContext<'_>) -> Result<()> {
        self.resolve().map(drop)
    }
}

impl Scroll {
    /// The target and the direction: one argument may be either.
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
