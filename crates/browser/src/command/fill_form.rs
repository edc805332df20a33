//! `fill-form`: fills several fields in one command.

use super::fill::{FillInput, write};
use super::{Act, Verb, VerbSpec};
use crate::act::{
    Action, Actionability, Effect, EventGuard, Receipt, SettleArgs, Settled, TargetArgs,
};
use crate::error::{Code, Error, Result};
use crate::secret::SecretString;
use crate::target::Target;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Fill several fields at once.
///
/// Text fields get the text, lists the option of that name, checkboxes `true` or `false`. Stops at the first field that
/// does not accept its value.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FillForm {
    /// The fields: `TARGET => VALUE`, such as `'label=E-mail => ann@example.org'`.
    #[arg(required = true, value_name = "FIELD")]
    pub fields: Vec<Field>,
    /// Settling and the receipt.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

/// A field and its new value.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// The field.
    pub target: Target,
    /// The new value.
    pub value: SecretString,
}

impl FromStr for Field {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (target, value) = text
            .split_once("=>")
            .ok_or_else(|| format!("`{text}` is not a field: expected `TARGET => VALUE`"))?;
        Ok(Self { target: target.parse()?, value: SecretString::from(value.trim()) })
    }
}

impl Verb for FillForm {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;
}

impl Act for FillForm {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        let mut filled: Vec<String> = Vec::new();
        let mut whole: Option<Receipt> = None;
        let quiet = SettleArgs { no_delta: true, ..SettleArgs::default() };
        for (index, field) in self.fields.iter().enumerate() {
            let is_last = index + 1 == self.fields.len();
            let after = if is_last { &self.after } else { &quiet };
            let done = fill_field(action, field, after).await;
            let receipt = done.map_err(|error| {
                error.evidence("field", field.target.to_string()).evidence("done", filled.clone())
            })?;
            filled.extend(receipt.target.as_ref().map(ToString::to_string));
            whole = Some(match whole {
                Some(before) => merge(before, receipt),
                None => receipt,
            });
        }
        let receipt = whole.ok_or_else(|| {
            Error::new(Code::CommandInvalid).message("there is no field to fill in")
        })?;
        Ok(Receipt {
            action: "fill-form".into(),
            target: None,
            strategy: None,
            value: Some(filled.join(", ")),
            ..receipt
        })
    }
}

/// Merges the receipts of two actions in sequence. The delta is that of the second.
fn merge(mut first: Receipt, second: Receipt) -> Receipt {
    first.attempts.extend(second.attempts);
    first.events.extend(second.events);
    let is_new = |change: &String| !first.changes.contains(change);
    let more: Vec<String> = second.changes.into_iter().filter(is_new).collect();
    first.changes.extend(more);
    Receipt {
        attempts: first.attempts,
        events: first.events,
        changes: first.changes,
        dispatched: first.dispatched || second.dispatched,
        watched_ms: second.watched_ms.filter(|_| first.effect == Effect::None),
        settled: Settled { ms: first.settled.ms + second.settled.ms, ..second.settled },
        effect: if second.effect == Effect::None { first.effect } else { second.effect },
        ..second
    }
}

async fn fill_field(action: &mut Action<'_>, field: &Field, after: &SettleArgs) -> Result<Receipt> {
    let target_args = TargetArgs::at(field.target.clone());
    let point =
        action.resolve_actionable(&target_args, Actionability::SET, EventGuard::DryRun).await?;
    let role = point.target.role.as_str();
    let value = field.value.reveal();
    match (&*point.kind, role) {
        ("checkbox" | "radio", _) | (_, "checkbox" | "switch" | "radio" | "menuitemcheckbox") => {
            let wanted = match &*value.to_lowercase() {
                "true" | "yes" | "on" | "1" | "checked" => true,
                "false" | "no" | "off" | "0" | "unchecked" | "" => false,
                _ => {
                    return Err(Error::new(Code::CommandInvalid)
                        .message(format!("{} takes `true` or `false`", point.target)));
                }
            };
            super::select::set(action, &target_args, wanted, after).await
        }
        ("select", _) | (_, "listbox") => {
            super::select::select(action, &target_args, &[value.to_owned()], after).await
        }
        _ => {
            let input = FillInput { value: &field.value, is_secret: false, keeps: false };
            let now = TargetArgs { no_wait: true, ..target_args.clone() };
            // A combobox without text input.
            let is_list = role == "combobox"
                && action
                    .resolve_actionable(&now, Actionability::WRITE, EventGuard::DryRun)
                    .await
                    .is_err_and(|error| error.code() == Code::ActNotEditable);
            if is_list {
                return super::select::select(action, &target_args, &[value.to_owned()], after)
                    .await;
            }
            write(action, "fill", &target_args, input, after).await
        }
    }
}
