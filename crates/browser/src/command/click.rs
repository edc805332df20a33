//! `click`, `dblclick`, `hover`, `focus`: pointer actions and focus.

use super::{Act, CommandContext, Verb, VerbSpec};
use crate::act::pointer::{ClickSpec, bits};
use crate::act::{
    Action, Actionability, EventGuard, Receipt, ReceiptDraft, SettleArgs, TargetArgs,
};
use crate::error::{Code, Error, Result};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub use crate::act::pointer::{Button, Modifier};

/// Click an element.
///
/// Waits until the element is actionable, clicks it and nothing else, settles, and reports the effect.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Click {
    /// The element to click.
    #[command(flatten)]
    #[serde(flatten)]
    pub target_args: TargetArgs,
    /// The mouse button.
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    pub button: Button,
    /// Number of clicks.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
    #[serde(default = "once")]
    pub count: u8,
    /// Hold down a modifier key; repeatable.
    #[arg(long = "modifier", value_enum, value_name = "KEY")]
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub modifiers: Vec<Modifier>,
    /// Hold the button down for this time, such as `2s` or `500ms`.
    #[arg(long = "hold", value_name = "TIME", value_parser = milliseconds)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hold_ms: Option<u64>,
    /// Settling and the receipt.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

fn once() -> u8 {
    1
}

/// Parses `2s`, `1.5s`, `500ms` or a number of milliseconds.
fn milliseconds(text: &str) -> std::result::Result<u64, String> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1.0),
        None => text.strip_suffix('s').map_or((text, 1.0), |number| (number, 1000.0)),
    };
    let time = number.trim().parse::<f64>().ok().map(|number| number * unit);
    time.filter(|time| (0.0..=600_000.0).contains(time))
        .map(|time| time as u64)
        .ok_or_else(|| "expected a time such as `2s` or `500ms`".to_owned())
}

impl Click {
    fn hold(&self) -> Option<Duration> {
        self.hold_ms.map(Duration::from_millis)
    }
}

impl Verb for Click {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;

    fn check(&self, cx: &CommandContext<'_>) -> Result<()> {
        if !(1..=3).contains(&self.count) {
            return Err(Error::new(Code::CommandInvalid).message("`count` must be 1 to 3"));
        }
        let hold = self.hold();
        if hold.is_some_and(|hold| hold >= cx.progress.deadline.left()) {
            return Err(Error::new(Code::CommandInvalid).message(
                "the button cannot be held for longer than the command may take: add `--timeout`",
            ));
        }
        if hold.is_some() && self.count > 1 {
            return Err(Error::new(Code::CommandInvalid)
                .message("`--hold` cannot be combined with `--count`"));
        }
        Ok(())
    }
}

impl Act for Click {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        let press = ClickSpec {
            button: self.button,
            count: self.count,
            modifiers: bits(&self.modifiers),
            hold: self.hold(),
        };
        action.click_on("click", &self.target_args, press, &self.after).await
    }
}

/// Double-click an element.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DblClick {
    /// The element to click.
    #[command(flatten)]
    #[serde(flatten)]
    pub target_args: TargetArgs,
    /// Hold down a modifier key; repeatable.
    #[arg(long = "modifier", value_enum, value_name = "KEY")]
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub modifiers: Vec<Modifier>,
    /// Settling and the receipt.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

impl Verb for DblClick {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;
}

impl Act for DblClick {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        let press = ClickSpec {
            button: Button::Left,
            count: 2,
            modifiers: bits(&self.modifiers),
            hold: None,
        };
        action.click_on("dblclick", &self.target_args, press, &self.after).await
    }
}

/// Move the mouse over an element.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hover {
    /// The element to hover over.
    #[command(flatten)]
    #[serde(flatten)]
    pub target_args: TargetArgs,
    /// Settling and the receipt.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

impl Verb for Hover {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;
}

impl Act for Hover {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        let point = action
            .resolve_actionable(&self.target_args, Actionability::HOVER, EventGuard::Off)
            .await?;
        action.hover(&point).await?;
        action
            .finish(ReceiptDraft {
                verb: "hover",
                point: Some(point),
                after: &self.after,
                value: None,
            })
            .await
    }
}

/// Focus an element.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Focus {
    /// The element to focus.
    #[command(flatten)]
    #[serde(flatten)]
    pub target_args: TargetArgs,
    /// Settling and the receipt.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

impl Verb for Focus {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;
}

impl Act for Focus {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        let point = action
            .resolve_actionable(&self.target_args, Actionability::SET, EventGuard::Off)
            .await?;
        let focus: String =
            action.ask(&point, &format!("agbrowse.focusElement({})", point.element)).await?;
        action.mark_dispatched();
        if focus == "already" {
            let draft =
                ReceiptDraft { verb: "focus", point: Some(point), after: &self.after, value: None };
            return Ok(action.nothing_to_do(draft).await);
        }
        if focus != "focused" {
            action.release_guard();
            return Err(Error::new(Code::ActNotTaken)
                .message(format!("{} does not take the focus", point.target)));
        }
        action
            .finish(ReceiptDraft {
                verb: "focus",
                point: Some(point),
                after: &self.after,
                value: None,
            })
            .await
    }
}
