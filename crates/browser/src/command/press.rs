//! `press`: presses keys and chords.

use super::fill::not_taken;
use super::{Act, CommandContext, Verb, VerbSpec};
use crate::act::keyboard::Chord;
use crate::act::{
    Action, ActionPoint, Actionability, EventGuard, Receipt, ReceiptDraft, SettleArgs, TargetArgs,
};
use crate::error::Result;
use crate::target::Target;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Press a key or a chord.
///
/// Goes to the focused element, unless a target is named. Keys: `Enter`, `Escape`, `Tab`, `ArrowDown`, `F5`, `a`,
/// `Control+A`, `Shift+Tab`.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Press {
    /// The key or chord; several are pressed in sequence.
    #[arg(required = true, value_name = "KEY")]
    pub keys: Vec<String>,
    /// Focus this element first.
    #[arg(long, value_name = "TARGET")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on: Option<Target>,
    /// Settling and the receipt.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

impl Verb for Press {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;

    fn check(&self, _cx: &CommandContext<'_>) -> Result<()> {
        self.chords().map(drop)
    }
}

impl Press {
    fn chords(&self) -> Result<Vec<Chord>> {
        self.keys.iter().map(|key| Chord::parse(key)).collect()
    }
}

impl Act for Press {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        let chords = self.chords()?;
        let point = match &self.on {
            Some(target) => Some(focused(action, &TargetArgs::at(target.clone())).await?),
            None => {
                action.watch_effects().await?;
                None
            }
        };
        action.press(&chords).await?;
        let draft = ReceiptDraft {
            verb: "press",
            point,
            after: &self.after,
            value: Some(self.keys.join(" ")),
        };
        action.finish(draft).await
    }
}

/// Focuses an element and arms the keyboard guard.
pub(super) async fn focused(
    action: &mut Action<'_>,
    target_args: &TargetArgs,
) -> Result<ActionPoint> {
    let point =
        action.resolve_actionable(target_args, Actionability::SET, EventGuard::Keyboard).await?;
    let focus: String =
        action.ask(&point, &format!("agbrowse.focusElement({})", point.element)).await?;
    if focus != "focused" && focus != "already" {
        action.release_guard();
        return Err(not_taken(&point, "does not take the focus"));
    }
    Ok(point)
}
