//! Refs: parsing, the registry of issued refs, and resolution to elements of the current page.
//!
//! A ref stands for an element with its fingerprint: role, accessible name and containing item. Nothing here
//! accesses a page; the results are facts that callers map to errors.

mod fingerprint;
pub mod hash_bound;
mod identity;
mod item_texts;
mod items;
mod page_parts;
mod registry;
mod replacement;
mod resolve;
mod rewrite;
mod stable_text;
mod structure;
#[cfg(test)]
mod tests;
mod tokens;

pub use fingerprint::{Container, Fingerprint, name};
pub(crate) use item_texts::{ItemTexts, is_identifying};
pub use items::Items;
pub use registry::{IssuedRef, IssuedRefs, RefError, Registry, Scope};
pub use resolve::{Change, Resolution, resolve};
pub use rewrite::{numbers_in, rewrite_refs};

use crate::text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Hint for an element that has changed.
pub const CHANGED_HINT: &str = "Take a new snapshot to get current element state.";

/// Hint for an element that is gone.
pub const GONE_HINT: &str = "Take a new snapshot to see current page state.";

/// Note for an element that was used although a detail changed.
pub const MINOR_NOTE: &str = "Note: Element may have changed. Using current state.";

/// Note for an element that was used although something other than its fingerprint changed.
pub const STATE_NOTE: &str = "this changed since the snapshot";

/// A ref as written by a caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RefName {
    /// `@e3`: the number that a tab issued to an element.
    Local(u32),
    /// `e12345`: a backend node id of the browser.
    Backend {
        /// The browser context, as in `clean:e12345`.
        context: Option<String>,
        /// The out-of-process frame, as in `f2e12345`.
        frame: Option<u32>,
        /// The backend node id.
        id: u64,
    },
}

/// Dialect of refs: the meaning of a bare `e3`, and the spelling of refs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// Command line: `@e3`.
    #[default]
    Cli,
    /// MCP: backend node ids.
    Mcp,
}

/// Error for a malformed ref.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedRef {
    /// The given text.
    pub given: String,
    /// The expected form.
    pub expected: &'static str,
}

impl fmt::Display for MalformedRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a ref: expected {}", text::cut(&self.given, 80), self.expected)
    }
}

impl std::error::Error for MalformedRef {}

impl RefName {
    /// Parses a ref.
    ///
    /// # Errors
    /// When the text has no valid form; the error has the expected one.
    pub fn parse(given: &str, dialect: Dialect) -> Result<Self, MalformedRef> {
        Self::read(given.trim(), dialect).ok_or_else(|| MalformedRef {
            given: given.to_owned(),
            expected: match dialect {
                Dialect::Cli => "`@e` and a number from the last snapshot, such as `@e3`",
                Dialect::Mcp => {
                    "`e{backendNodeId}` from the last snapshot, such as `e12345`, `f2e12345` in a frame \
                     or `clean:e12345` in a context"
                }
            },
        })
    }

    fn read(text: &str, dialect: Dialect) -> Option<Self> {
        if let Some(ours) = text.strip_prefix("@e") {
            return number(ours).map(Self::Local);
        }
        let (context, bare) = match text.rsplit_once(':') {
            Some(("", _)) => return None,
            Some((context, bare)) => (Some(context.to_owned()), bare),
            None => (None, text),
        };
        let (frame, bare) = match bare.strip_prefix('f') {
            Some(rest) => {
                let (frame, _) = rest.split_once('e')?;
                (Some(number(frame)?), &rest[frame.len()..])
            }
            None => (None, bare),
        };
        let digits = bare.strip_prefix('e')?;
        if dialect == Dialect::Cli && context.is_none() && frame.is_none() {
            return number(digits).map(Self::Local);
        }
        Some(Self::Backend { context, frame, id: number(digits)? })
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(number) => write!(f, "@e{number}"),
            Self::Backend { context, frame, id } => {
                if let Some(context) = context {
                    write!(f, "{context}:")?;
                }
                if let Some(frame) = frame {
                    write!(f, "f{frame}")?;
                }
                write!(f, "e{id}")
            }
        }
    }
}

/// Parses a number from 1, digits only.
fn number<N: std::str::FromStr + PartialEq + From<u8>>(digits: &str) -> Option<N> {
    let is_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| is_digits && *number != N::from(0))
}

/// Message for an element with another fingerprint. The containers are included where only they differ.
pub fn changed_message(was: &Fingerprint, now: &Fingerprint) -> String {
    let with_container = was.role == now.role && was.name == now.name;
    let (was, now) = (described(was, with_container), described(now, with_container));
    format!("Element changed since snapshot. Was: {was}, Now: {now}")
}

/// Message for an element that is gone.
pub fn gone_message(was: &Fingerprint, spelled: &str) -> String {
    let name = escaped(&was.name);
    let space = if name.is_empty() { "" } else { " " };
    format!("Element '{name}{space}{}' (ref: {spelled}) no longer exists.", was.role.name())
}

/// Escapes a name for single quotes.
fn escaped(name: &str) -> String {
    text::cut_chars(name, 100).replace('\\', "\\\\").replace('\'', "\\'")
}

fn described(fingerprint: &Fingerprint, with_container: bool) -> String {
    let mut out = format!("{} '{}'", fingerprint.role.name(), escaped(&fingerprint.name));
    match &fingerprint.container {
        Some(container) if with_container => {
            let label = escaped(&container.label);
            out.push_str(&format!(" in {} '{label}'", container.role.name()));
        }
        _ => {}
    }
    out
}

/// The changes of an element with an unchanged fingerprint, in the page's words: `Late → Paid; 3 new → 4
/// new`.
pub fn changes_text(changes: &[Change]) -> String {
    const MAX_CHANGES: usize = 3;
    const MAX_LEN: usize = 60;
    let cut = |text: &str| text::cut_chars(text, MAX_LEN).into_owned();
    let change = |it: &Change| match it.now.is_empty() {
        true => format!("{} → gone", cut(&it.was)),
        false => format!("{} → {}", cut(&it.was), cut(&it.now)),
    };
    let mut texts: Vec<String> = changes.iter().take(MAX_CHANGES).map(change).collect();
    if changes.len() > MAX_CHANGES {
        texts.push(format!("{} more", changes.len() - MAX_CHANGES));
    }
    texts.join("; ")
}

#[cfg(test)]
mod spelling_tests {
    use super::*;
    use crate::ax::Role;

    #[test]
    fn refs_are_parsed_in_each_dialect() {
        let backend = |context: Option<&str>, frame, id| RefName::Backend {
            context: context.map(str::to_owned),
            frame,
            id,
        };
        for (given, cli, mcp) in [
            ("@e3", Some(RefName::Local(3)), Some(RefName::Local(3))),
            (" e3 ", Some(RefName::Local(3)), Some(backend(None, None, 3))),
            ("f2e9", Some(backend(None, Some(2), 9)), Some(backend(None, Some(2), 9))),
            (
                "clean:e5",
                Some(backend(Some("clean"), None, 5)),
                Some(backend(Some("clean"), None, 5)),
            ),
            (
                "a:b:f1e5",
                Some(backend(Some("a:b"), Some(1), 5)),
                Some(backend(Some("a:b"), Some(1), 5)),
            ),
        ] {
            assert_eq!(RefName::parse(given, Dialect::Cli).ok(), cli, "{given}");
            assert_eq!(RefName::parse(given, Dialect::Mcp).ok(), mcp, "{given}");
            if let Some(name) = mcp {
                assert_eq!(RefName::parse(&name.to_string(), Dialect::Mcp).ok(), Some(name));
            }
        }
        for given in [
            "",
            "@",
            "@e",
            "@e0",
            "@e-1",
            "@e+1",
            "e",
            "3",
            "button",
            "fe1",
            "f1",
            ":e1",
            "@e99999999999",
        ] {
            let error = RefName::parse(given, Dialect::Cli).unwrap_err().to_string();
            assert!(error.contains("expected") && error.contains("`@e3`"), "{error}");
            let error = RefName::parse(given, Dialect::Mcp).unwrap_err().to_string();
            assert!(error.contains("`e{backendNodeId}`"), "{error}");
        }
    }

    #[test]
    fn messages_are_those_of_the_specification() {
        let meaning = |name: &str, label: &str| Fingerprint {
            role: Role::Button,
            name: name.into(),
            container: Some(Container { role: Role::Row, label: label.into() }),
            document: "d".into(),
        };
        assert_eq!(
            changed_message(&meaning("Submit", "a"), &meaning("Loading...", "a")),
            "Element changed since snapshot. Was: button 'Submit', Now: button 'Loading...'"
        );
        assert_eq!(
            changed_message(&meaning("Delete", "Ann"), &meaning("Delete", "Bob")),
            "Element changed since snapshot. Was: button 'Delete' in row 'Ann', \
             Now: button 'Delete' in row 'Bob'"
        );
        assert_eq!(
            gone_message(&meaning("Submit", "a"), "e12345"),
            "Element 'Submit button' (ref: e12345) no longer exists."
        );
    }
}
