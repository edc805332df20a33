//! The used part of the DevTools protocol, one file per domain.
//!
//! One definition serves three uses: the structs that are sent, those that are read, and [`used_protocol`],
//! which lists every method, event, type and field so that `agbrowse doctor` can compare them with the
//! protocol that a browser offers.

mod define;

pub mod accessibility;
pub mod browser;
pub mod dom;
pub mod dom_debugger;
pub mod dom_storage;
pub mod emulation;
pub mod fetch;
pub mod input;
pub mod inspector;
pub mod io;
pub mod network;
pub mod page;
pub mod runtime;
pub mod storage;
pub mod target;

use define::domain;
use serde::{Serialize, de::DeserializeOwned};

/// A protocol method with its parameters.
pub trait Method: Serialize + Send + Sync {
    /// Full name, `Domain.method`.
    const NAME: &'static str;
    /// The reply. All its fields are optional.
    type Reply: DeserializeOwned + Send;
}

/// A protocol event, reduced to the fields that are read.
pub trait CdpEvent: DeserializeOwned + Send {
    /// Full name, `Domain.event`.
    const NAME: &'static str;
}

/// A used method, event or type, with the fields of it that are sent or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolUse {
    /// `Domain.name`. A type's name is local: the fields that have the type tell which protocol type it
    /// stands for.
    pub name: &'static str,
    /// Method, event or type.
    pub kind: ProtocolUseKind,
    /// Parameters that are sent.
    pub sent: &'static [ProtocolUseField],
    /// Fields that are read; for a type, all known fields.
    pub read: &'static [ProtocolUseField],
}

/// Kind of a protocol item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProtocolUseKind {
    /// A method.
    Method,
    /// An event.
    Event,
    /// A type of parameters or fields.
    Type,
}

/// A field that is sent or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolUseField {
    /// Rust spelling of the name.
    pub name: &'static str,
    /// Rust spelling of the type.
    pub of: &'static str,
}

impl ProtocolUseField {
    /// Creates a field of a type.
    pub const fn new(name: &'static str, of: &'static str) -> Self {
        Self { name, of }
    }

    /// Name of the type inside lists and options: `TargetInfo` for `Option<Vec<TargetInfo>>`.
    pub fn inner(&self) -> &'static str {
        let is_around = |letter: char| !letter.is_alphanumeric() && letter != '_';
        self.of.trim_end_matches(is_around).rsplit(is_around).next().unwrap_or_default()
    }
}

/// Lists every used method, event and type of all domains.
pub fn used_protocol() -> impl Iterator<Item = &'static ProtocolUse> {
    [
        accessibility::USES,
        browser::USES,
        dom::USES,
        dom_debugger::USES,
        dom_storage::USES,
        emulation::USES,
        fetch::USES,
        input::USES,
        inspector::USES,
        io::USES,
        network::USES,
        page::USES,
        runtime::USES,
        storage::USES,
        target::USES,
    ]
    .into_iter()
    .flatten()
}

/// Spelling of a field on the wire.
pub fn wire_name(field: &str) -> String {
    // Exceptions from camelCase in the protocol.
    match field {
        "base_url" => return "baseURL".into(),
        "prefer_css_page_size" => return "preferCSSPageSize".into(),
        "backend_dom_node_id" => return "backendDOMNodeId".into(),
        _ => {}
    }
    let mut out = String::with_capacity(field.len());
    let mut upper = false;
    for letter in field.trim_start_matches("r#").chars() {
        match letter {
            '_' => upper = true,
            letter if upper => {
                out.extend(letter.to_uppercase());
                upper = false;
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_on_the_wire_are_camel_case() {
        assert_eq!(wire_name("browser_context_id"), "browserContextId");
        assert_eq!(wire_name("r#type"), "type");
        assert_eq!(wire_name("x"), "x");
        let print = page::PrintToPdf { prefer_css_page_size: Some(true), ..Default::default() };
        let json = format!(r#"{{"{}":true}}"#, wire_name("prefer_css_page_size"));
        assert_eq!(serde_json::to_string(&print).unwrap(), json);
        let json = format!(r#"{{"{}":"x"}}"#, wire_name("base_url"));
        let item: input::DragDataItem = serde_json::from_str(&json).unwrap();
        assert_eq!(item.base_url.as_deref(), Some("x"));
        assert_eq!(serde_json::to_string(&item).unwrap(), json);
        let sent = page::Navigate { url: "about:blank".into(), ..Default::default() };
        assert_eq!(serde_json::to_string(&sent).unwrap(), r#"{"url":"about:blank"}"#);
    }

    #[test]
    fn an_empty_answer_is_readable() {
        assert!(serde_json::from_str::<page::NavigateReply>("{}").unwrap().frame_id.is_none());
        let odd = r#"{"targetInfo":{"type":"hologram","new":[1]},"sessionId":"s"}"#;
        let read: target::AttachedToTarget = serde_json::from_str(odd).unwrap();
        assert_eq!(read.target_info.unwrap().r#type.as_deref(), Some("hologram"));
    }

    #[test]
    fn every_use_is_listed_once() {
        let mut names: Vec<_> = used_protocol().map(|used| (used.name, used.kind)).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn the_type_inside_is_told() {
        for (of, inner) in [
            ("TargetInfo", "TargetInfo"),
            ("Option<Vec<FilterEntry>>", "FilterEntry"),
            ("Option < Vec < FilterEntry > >", "FilterEntry"),
            ("crate::Text", "Text"),
            ("Box<RawValue>", "RawValue"),
        ] {
            assert_eq!(ProtocolUseField::new("x", of).inner(), inner, "{of}");
        }
    }

    #[test]
    fn every_type_is_that_of_a_field() {
        let inner: Vec<_> = used_protocol()
            .flat_map(|used| used.sent.iter().chain(used.read))
            .map(ProtocolUseField::inner)
            .collect();
        let mut types =
            used_protocol().filter(|used| used.kind == ProtocolUseKind::Type).peekable();
        assert!(types.peek().is_some());
        for used in types {
            let (_, name) = used.name.split_once('.').unwrap();
            assert!(inner.contains(&name), "nothing has the type `{}`", used.name);
        }
    }
}
