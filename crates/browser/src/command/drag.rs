//! `drag`: drags one element onto another.

use super::{Act, Verb, VerbSpec};
use crate::act::{
    Action, Actionability, EventGuard, Receipt, ReceiptDraft, SettleArgs, TargetArgs,
};
use crate::error::{Code, Error, Result};
use crate::target::Target;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drag an element onto another.
///
/// Uses the mouse; a native drag carries its data along.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Drag {
    /// The element to drag.
    #[command(flatten)]
    #[serde(flatten)]
    pub target_args: TargetArgs,
    /// The element to drop it on.
    pub to: Target,
    /// Settling and the receipt.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

impl Verb for Drag {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;
}

impl Act for Drag {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        // The destination first: resolving it may scroll.
        let to =
            TargetArgs { no_wait: self.target_args.no_wait, ..TargetArgs::at(self.to.clone()) };
        action.resolve_actionable(&to, Actionability::HOVER, EventGuard::DryRun).await?;
        action
            .resolve_actionable(&self.target_args, Actionability::HOVER, EventGuard::DryRun)
            .await?;
        let end = action
            .resolve_actionable(
                &to,
                Actionability { dry: true, ..Actionability::HOVER },
                EventGuard::DryRun,
            )
            .await?;
        if end.x == 0.0 && end.y == 0.0 {
            return Err(Error::new(Code::ActHidden).message(format!(
                "{} and the dragged element are not in view together",
                end.target
            )));
        }
        let point = action
            .resolve_actionable(&self.target_args, Actionability::CLICK, EventGuard::Off)
            .await?;
        action.drag(&point, (end.x, end.y)).await?;
        let value = Some(end.target.to_string());
        action
            .finish(ReceiptDraft { verb: "drag", point: Some(point), after: &self.after, value })
            .await
    }
}
