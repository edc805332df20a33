//! Reasons for a blocked action: invalid form values, a click that did not arrive.

use super::receipt::{Blocker, ReceiptTarget};
use super::settle::Effects;
use super::{Action, MOVED};
use serde::Deserialize;

/// A field whose value fails constraint validation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BlockingField {
    element: u32,
    name: String,
    /// The flag of its `ValidityState` that is set.
    reason: String,
    message: String,
}

impl Action<'_> {
    /// The reasons: the invalid fields that prevent a form submission, or an element that moved away on mouse down.
    pub(super) fn blockers(&mut self, effects: &Effects, is_only_moved: bool) -> Vec<Blocker> {
        if effects.blocking.is_empty() && is_only_moved && effects.missing_click == MOVED {
            let reason = "the element moved away when it was pressed, so the click did not arrive";
            return vec![Blocker { field: None, reason: reason.into(), message: None }];
        }
        effects.blocking.iter().map(|field| self.blocker(field)).collect()
    }

    fn blocker(&mut self, field: &BlockingField) -> Blocker {
        let document = self.acted_in.clone();
        let found = self.tree.clone().and_then(|tree| {
            let is_it = |node: &page::ax::Node| {
                node.element == field.element
                    && Some(&tree.frames[usize::from(node.frame)].document) == document.as_ref()
            };
            let index = tree.nodes.iter().position(is_it)?;
            Some((tree, index))
        });
        let mut target =
            ReceiptTarget { ref_name: None, role: "field".into(), name: field.name.clone() };
        if let Some((tree, index)) = found {
            let number = self.observation.issue_refs(&tree, &[index]).first().copied();
            target.ref_name = number.map(|number| format!("@e{number}"));
            tree.nodes[index].role.name().clone_into(&mut target.role);
            let name = page::refs::name(&tree, index);
            if !name.is_empty() {
                target.name = name;
            }
        }
        target.name =
            page::mask::mask(&page::text::cut(&target.name, page::text::MAX_NAME)).into_owned();
        let message = page::mask::mask(&field.message).into_owned();
        Blocker {
            field: Some(target),
            reason: validity_reason(&field.reason).to_owned(),
            message: (!message.is_empty()).then_some(message),
        }
    }
}

/// The reason for a `ValidityState` flag.
fn validity_reason(flag: &str) -> &'static str {
    match flag {
        "valueMissing" => "is required",
        "typeMismatch" => "is not of its type",
        "patternMismatch" => "does not match its pattern",
        "tooLong" => "is too long",
        "tooShort" => "is too short",
        "rangeUnderflow" => "is too low",
        "rangeOverflow" => "is too high",
        "stepMismatch" => "is between two steps",
        "badInput" => "cannot be read",
        _ => "is not accepted",
    }
}
