//! `mouse`: single mouse steps: move, press, release, wheel.

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

/// Move the mouse, press or release a button, or turn the wheel.
///
/// For what `click`, `drag` and `scroll` do not cover. A pressed button stays down until `mouse up`, until another
/// mouse action, or until its tab is closed.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
pub struct Mouse {
    /// The mouse action.
    #[command(subcommand)]
    #[serde(flatten)]
    pub action: MouseAction,
}

/// A mouse action.
#[derive(Clone, Debug, Subcommand, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum MouseAction {
    /// Move the mouse to an element or a point (`xy=120,40`).
    Move {
        /// The element or point.
        target: Target,
        /// Settling and the receipt.
        #[command(flatten)]
        #[serde(flatten)]
        after: SettleArgs,
    },
    /// Press a button and leave it down.
    Down {
        /// The element or point to move to first [default: the mouse position].
        #[serde(skip_serializing_if = "Option::is_none", default)]
        target: Option<Target>,
        /// The mouse button.
        #[arg(long, value_enum, default_value_t)]
        #[serde(default)]
        button: Button,
        /// Settling and the receipt.
        #[command(flatten)]
        #[serde(flatten)]
        after: SettleArgs,
    },
    /// Release the held button, dropping what is being dragged.
    Up {
        /// The element or point to move to first [default: the mouse position].
        #[serde(skip_serializing_if = "Option::is_none", default)]
        target: Option<Target>,
        /// Settling and the receipt.
        #[command(flatten)]
        #[serde(flatten)]
        after: SettleArgs,
    },
    /// Turn the wheel at the mouse position, or in the middle of the viewport.
    #[serde(rename_all = "camelCase")]
    Wheel {
        /// Distance down in CSS pixels; up if negative.
        #[arg(allow_negative_numbers = true, value_name = "PX")]
        delta_y: f64,
        /// Distance to the right; to the left if negative.
        #[arg(allow_negative_numbers = true, default_value_t, value_name = "PX_RIGHT")]
        #[serde(default)]
        delta_x: f64,
        /// The element or point to move to first.
        #[arg(long = "at", value_name = "TARGET")]
        #[serde(skip_serializing_if = "Option::is_none", default)]
        target: Option<Target>,
        /// Settling and the receipt.
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
        // Usually one of many steps.
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
