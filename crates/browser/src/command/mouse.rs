//! `mouse`: the mouse moved, pressed, released and its wheel turned, each by itself.

use super::{Act, Verb, VerbSpec};
use crate::act::pointer::Button;
use crate::act::{
    Action, Actionability, EventGuard, Receipt, ReceiptDraft, SettleArgs, TargetArgs,
};
use crate::error::Result;
use crate::target::Target;
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Move the mouse, press and release its buttons, turn its wheel, one step at a time.
///
/// For what `click`, `drag` and `scroll` do not do. A button that was pressed stays down until `mouse up`, until another
/// action with the mouse, or until its tab is closed.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
pub struct Mouse {
    /// What to do with it.
    #[command(subcommand)]
    #[serde(flatten)]
    pub action: MouseAction,
}

/// Something that is done with the mouse.
#[derive(Clone, Debug, Subcommand, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum MouseAction {
    /// Move it to an element or to a point (`xy=120,40`).
    Move {
        /// Where to.
        target: Target,
        /// What to see to afterwards.
        #[command(flatten)]
        #[serde(flatten)]
        after: SettleArgs,
    },
    /// Press a button and leave it down.
    Down {
        /// Where to move first [default: where the mouse is].
        #[serde(skip_serializing_if = "Option::is_none", default)]
        target: Option<Target>,
        /// Which button.
        #[arg(long, value_enum, default_value_t)]
        #[serde(default)]
        button: Button,
        /// What to see to afterwards.
        #[command(flatten)]
        #[serde(flatten)]
        after: SettleArgs,
    },
    /// Release the button that is down. What is being dragged is dropped.
    Up {
        /// Where to move first [default: where the mouse is].
        #[serde(skip_serializing_if = "Option::is_none", default)]
        target: Option<Target>,
        /// What to see to afterwards.
        #[command(flatten)]
        #[serde(flatten)]
        after: SettleArgs,
    },
    /// Turn the wheel where the mouse is, or else in the middle of the view.
    #[serde(rename_all = "camelCase")]
    Wheel {
        /// How far down, in CSS pixels; up when negative.
        #[arg(allow_negative_numbers = true, value_name = "PX")]
        delta_y: f64,
        /// How far to the right; to the left when negative.
        #[arg(allow_negative_numbers = true, default_value_t, value_name = "PX_RIGHT")]
        #[serde(default)]
        delta_x: f64,
        /// Where to move first.
        #[arg(long = "at", value_name = "TARGET")]
        #[serde(skip_serializing_if = "Option::is_none", default)]
        target: Option<Target>,
        /// What to see to afterwards.
        #[command(flatten)]
        #[serde(flatten)]
        after: SettleArgs,
    },
}

impl Verb for Mouse {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;
}

impl Act for Mouse {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        let (verb, target, after) = match &self.action {
            MouseAction::Move { target, after } => ("mouse move", Some(target), after),
            MouseAction::Down { target, after, .. } => ("mouse down", target.as_ref(), after),
            MouseAction::Up { target, after } => ("mouse up", target.as_ref(), after),
            MouseAction::Wheel { target, after, .. } => ("mouse wheel", target.as_ref(), after),
        };
        // One of many, usually.
        action.watch_briefly();
        let point = match target {
            Some(target) => {
                let target_args = TargetArgs::at(target.clone());
                let point = action
                    .resolve_actionable(&target_args, Actionability::HOVER, EventGuard::Off)
                    .await?;
                action.move_mouse((point.x, point.y)).await?;
                Some(point)
            }
            None => {
                action.watch_effects().await?;
                None
            }
        };
        match &self.action {
            MouseAction::Move { .. } => {}
            MouseAction::Down { button, .. } => action.press_button(*button).await?,
            MouseAction::Up { .. } => action.release_button().await?,
            MouseAction::Wheel { delta_x, delta_y, .. } => {
                action.turn_wheel((*delta_x, *delta_y)).await?;
            }
        }
        action.mark_dispatched();
        action.finish(ReceiptDraft { verb, point, after, value: None }).await
    }
}
