//! Capability rows: the answer to "can this be done now?", with its evidence and the suggested next step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// The state of a capability, from a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CapabilityState {
    /// It can be done.
    Ok,
    /// It can be done, with a reservation, or soon.
    Warn,
    /// It cannot be done.
    Fail,
    /// The probe was not possible, or not asked for.
    #[default]
    Unknown,
}

impl CapabilityState {
    /// The wire spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for CapabilityState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The result of one probe.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapabilityRow {
    /// The id of the capability, with hyphens: `chatgpt-composer-visible`, `can-click`.
    pub capability_id: String,
    /// `ok`: it can be done. `warn`: it can, with a note. `fail`: it cannot. `unknown`: the check was not possible.
    pub state: CapabilityState,
    /// Evidence for the state.
    pub evidence: Option<Map<String, Value>>,
    /// The suggested next step.
    pub next: String,
}

impl CapabilityRow {
    /// The texts of the evidence and the next step.
    pub fn texts_mut(&mut self) -> Vec<&mut String> {
        let mut texts = vec![&mut self.next];
        for value in self.evidence.iter_mut().flat_map(Map::values_mut) {
            add_texts(value, &mut texts);
        }
        texts
    }
}

fn add_texts<'v>(value: &'v mut Value, texts: &mut Vec<&'v mut String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(all) => all.iter_mut().for_each(|value| add_texts(value, texts)),
        Value::Object(all) => all.values_mut().for_each(|value| add_texts(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl fmt::Display for CapabilityRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.capability_id, self.state)?;
        let message = self.evidence.as_ref().and_then(|evidence| evidence.get("message"));
        if let Some(message) = message.and_then(Value::as_str) {
            write!(f, ": {message}")?;
        }
        write!(f, "; next: {}", self.next)
    }
}

/// The worst state of several rows: `fail`, then `warn`. `ok` only if all are; otherwise, and without rows, `unknown`.
pub fn worst_capability_state(rows: &[CapabilityRow]) -> CapabilityState {
    use CapabilityState::{Fail, Ok, Unknown, Warn};
    let has = |state| rows.iter().any(|row| row.state == state);
    match () {
        () if has(Fail) => Fail,
        () if has(Warn) => Warn,
        () if !rows.is_empty() && rows.iter().all(|row| row.state == Ok) => Ok,
        () => Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(states: &[CapabilityState], expected: CapabilityState) {
        let row = |state: &CapabilityState| CapabilityRow { state: *state, ..Default::default() };
        let rows: Vec<_> = states.iter().map(row).collect();
        assert_eq!(worst_capability_state(&rows), expected, "{states:?}");
    }

    #[test]
    fn worst_capability_state_is_fail_then_warn_and_ok_only_if_all_are() {
        use CapabilityState::{Fail, Ok, Unknown, Warn};
        check(&[], Unknown);
        check(&[Ok, Ok], Ok);
        check(&[Ok, Unknown], Unknown);
        check(&[Ok, Warn, Unknown], Warn);
        check(&[Warn, Fail, Ok], Fail);
    }

    #[test]
    fn texts_of_nested_evidence_are_reached() {
        let evidence = serde_json::json!({"a": "1", "b": ["2", {"c": "3"}], "d": 4, "e": null});
        let mut row = CapabilityRow {
            capability_id: "x".into(),
            state: CapabilityState::Ok,
            evidence: evidence.as_object().cloned(),
            next: "send".into(),
        };
        let mut texts: Vec<_> = row.texts_mut().into_iter().map(|text| text.clone()).collect();
        texts.sort_unstable();
        assert_eq!(texts, ["1", "2", "3", "send"]);
    }
}
