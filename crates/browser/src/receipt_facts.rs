//! Facts of a receipt: its stable part, which hashes the same for the same action on the same page: no clocks, no
//! history-dependent numbers, no random paths.

use crate::act::{Attempt, Effect, Receipt, ReceiptTarget};
use page::refs::rewrite_refs;
use serde::{Deserialize, Serialize};

/// The stable part of a [`Receipt`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceiptFacts {
    /// The verb.
    pub action: String,
    /// Role and name of the target.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<TargetFacts>,
    /// The strategy that found it: `ref`, `css`, `role`, `text` …
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub strategy: Option<String>,
    /// The strategies tried, each with its outcome.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub attempts: Vec<(String, String)>,
    /// Input was sent to the browser.
    pub dispatched: bool,
    /// The effect.
    pub effect: Effect,
    /// The kinds of changes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changes: Vec<String>,
    /// Reasons for a blocked action.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub blocked: Vec<String>,
    /// The delta, refs without numbers.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub delta: String,
    /// The kinds of page events.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub events: Vec<String>,
    /// The value. The path of a download varies and is omitted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<String>,
}

/// Role and accessible name of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// The role.
    pub role: String,
    /// The accessible name.
    pub name: String,
}

fn without_numbers(text: &str) -> String {
    rewrite_refs(text, |_| Some("@e".to_owned()))
}

impl Receipt {
    /// The stable part of the receipt.
    pub fn facts(&self) -> ReceiptFacts {
        let target =
            |it: &ReceiptTarget| TargetFacts { role: it.role.clone(), name: it.name.clone() };
        let attempt = |it: &Attempt| (it.strategy.clone(), it.outcome.clone());
        ReceiptFacts {
            action: self.action.clone(),
            target: self.target.as_ref().map(target),
            strategy: self.strategy.clone(),
            attempts: self.attempts.iter().map(attempt).collect(),
            dispatched: self.dispatched,
            effect: self.effect,
            changes: self.changes.clone(),
            blocked: self.blocked.iter().map(|it| it.reason.clone()).collect(),
            delta: without_numbers(&self.delta),
            events: self.events.iter().map(|event| event.kind.clone()).collect(),
            value: self
                .value
                .as_ref()
                .filter(|_| self.effect != Effect::Download)
                .map(|value| without_numbers(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_do_not_depend_on_clocks_or_numbering() {
        let receipt = |number: u32, ms: u64| -> Receipt {
            serde_json::from_value(serde_json::json!({
                "action": "click",
                "target": { "ref": format!("@e{number}"), "role": "button", "name": "Save" },
                "strategy": "ref",
                "attempts": [{ "strategy": "ref", "target": format!("@e{number}"), "outcome": "found", "ms": ms }],
                "dispatched": true,
                "dispatchedMs": ms as f64 / 3.0,
                "settled": { "how": "quiet", "ms": ms },
                "effect": "changed",
                "watchedMs": ms,
                "delta": format!("+ button \"Undo\" [ref=@e{}]\n", number + 1),
                "value": format!("@e{number} button \"Save\""),
            }))
            .unwrap()
        };
        let text = |receipt: Receipt| serde_json::to_string(&receipt.facts()).unwrap();
        assert_eq!(text(receipt(3, 17)), text(receipt(40, 170)));
        let mut other = receipt(3, 17);
        other.effect = Effect::None;
        assert_ne!(text(other), text(receipt(3, 17)));
    }
}
