//! `can`: checks the actionability of an element without acting.

use super::{Act, Verb, VerbReply, VerbSpec};
use crate::act::{Action, Actionability, EventGuard, TargetArgs};
use crate::error::{Code, Evidence, Result};
use clap::{Args, ValueEnum};
use page::capability::{CapabilityRow, CapabilityState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Check whether an element is actionable now.
///
/// Runs the same check as the action itself, without scrolling, waiting or acting.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Can {
    /// The action to check.
    #[arg(value_enum, value_name = "VERB")]
    pub action: ActionKind,
    /// The element to check.
    #[command(flatten)]
    #[serde(flatten)]
    pub target_args: TargetArgs,
}

/// An action on an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum ActionKind {
    Click,
    Dblclick,
    Hover,
    Focus,
    Fill,
    Type,
    Press,
    Select,
    Check,
    Uncheck,
    Drag,
    Upload,
    Scroll,
}

impl ActionKind {
    fn actionability(self) -> Actionability {
        match self {
            Self::Click | Self::Dblclick | Self::Check | Self::Uncheck | Self::Drag => {
                Actionability::CLICK
            }
            Self::Hover => Actionability::HOVER,
            Self::Fill | Self::Type => Actionability::WRITE,
            Self::Focus | Self::Press | Self::Select | Self::Upload => Actionability::SET,
            Self::Scroll => Actionability::TOUCH,
        }
    }
}

impl Verb for Can {
    type Reply = CapabilityRow;
    const SPEC: VerbSpec = VerbSpec::LOOK;
}

impl Act for Can {
    async fn act(&self, action: &mut Action<'_>) -> Result<CapabilityRow> {
        let id = format!("can-{}", name_of(self.action));
        let target_args = TargetArgs { no_wait: true, ..self.target_args.clone() };
        let actionability = Actionability { dry: true, ..self.action.actionability() };
        let found =
            action.resolve_actionable(&target_args, actionability, EventGuard::DryRun).await;
        let is_changed = action.progress.notes.iter().any(|note| note.code == "element-changed");
        let mut evidence = Map::new();
        let mut add = |key: &str, fact: Evidence| {
            let value = serde_json::to_value(fact).unwrap_or(Value::Null);
            evidence.entry(key).or_insert(value);
        };
        match found {
            Ok(point) => {
                add("role", Evidence::from(point.target.role));
                add("name", Evidence::from(point.target.name));
                if let Some(name) = point.target.ref_name {
                    add("ref", Evidence::from(name));
                }
                let is_mismatch = match self.action {
                    ActionKind::Check | ActionKind::Uncheck => point.is_checked.is_none(),
                    _ => false,
                };
                let state = match (is_mismatch, is_changed) {
                    (true, _) => CapabilityState::Fail,
                    (false, true) => CapabilityState::Warn,
                    (false, false) => CapabilityState::Ok,
                };
                let next = if is_mismatch { "re-snapshot" } else { name_of(self.action) };
                Ok(CapabilityRow {
                    capability_id: id,
                    state,
                    evidence: Some(evidence),
                    next: next.into(),
                })
            }
            Err(error) => {
                let details = error.details();
                add("errorCode", Evidence::from(error.code().as_str()));
                add("message", Evidence::from(details.message.clone()));
                for (key, fact) in details.evidence.clone().unwrap_or_default() {
                    add(&key, fact);
                }
                let is_known = matches!(
                    error.code(),
                    Code::TargetNotFound
                        | Code::TargetAmbiguous
                        | Code::SnapshotRefStale
                        | Code::SnapshotRefNotFound
                        | Code::ActHidden
                        | Code::ActDisabled
                        | Code::ActInert
                        | Code::ActCovered
                        | Code::ActMoving
                        | Code::ActNotEditable
                );
                let state = if is_known { CapabilityState::Fail } else { CapabilityState::Unknown };
                let next = details.retry_hint.as_str().to_owned();
                Ok(CapabilityRow { capability_id: id, state, evidence: Some(evidence), next })
            }
        }
    }
}

fn name_of(action: ActionKind) -> &'static str {
    match action {
        ActionKind::Click => "click",
        ActionKind::Dblclick => "dblclick",
        ActionKind::Hover => "hover",
        ActionKind::Focus => "focus",
        ActionKind::Fill => "fill",
        ActionKind::Type => "type",
        ActionKind::Press => "press",
        ActionKind::Select => "select",
        ActionKind::Check => "check",
        ActionKind::Uncheck => "uncheck",
        ActionKind::Drag => "drag",
        ActionKind::Upload => "upload",
        ActionKind::Scroll => "scroll",
    }
}

impl VerbReply for CapabilityRow {
    fn texts_mut(&mut self) -> Vec<&mut String> {
        Self::texts_mut(self)
    }
}
