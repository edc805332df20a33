//! Compares the CDP methods, events and fields that agbrowse uses with a browser's `/json/protocol`.

use browser::{ProtocolUse, ProtocolUseField, ProtocolUseKind, wire_name};
use serde::Deserialize;
use std::collections::BTreeSet;

/// Differences between the used and the offered protocol.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Drift {
    /// Number of used methods and events.
    pub(super) calls: usize,
    /// Number of fields that are sent or read, with the fields of nested types.
    pub(super) fields: usize,
    /// Methods and events that the browser does not offer.
    pub(super) missing_calls: Vec<String>,
    /// Fields that the browser does not offer, of methods, events and types that it does.
    pub(super) missing_fields: Vec<String>,
}

/// Compares the used protocol with the JSON of `/json/protocol`.
///
/// # Errors
/// When the JSON is no protocol description.
pub(super) fn drift(
    protocol_json: &str,
    used_protocol: impl Iterator<Item = &'static ProtocolUse>,
) -> serde_json::Result<Drift> {
    let protocol: Protocol = serde_json::from_str(protocol_json)?;
    let (types, calls): (Vec<_>, Vec<_>) =
        used_protocol.partition(|used| used.kind == ProtocolUseKind::Type);
    let mut comparison = Comparison {
        protocol: &protocol,
        types,
        compared: BTreeSet::new(),
        drift: Drift { calls: calls.len(), ..Drift::default() },
    };
    for used in calls {
        comparison.call(used);
    }
    Ok(comparison.drift)
}

struct Comparison<'p> {
    protocol: &'p Protocol,
    /// Used types.
    types: Vec<&'static ProtocolUse>,
    /// Compared pairs of a used and an offered type.
    compared: BTreeSet<(&'static str, String)>,
    drift: Drift,
}

/// An offered item with fields: its name, and the domain in which its type names are resolved.
struct FieldSite<'p> {
    name: String,
    domain: &'p str,
    fields: &'p [ProtocolField],
}

impl<'p> Comparison<'p> {
    fn call(&mut self, used: &ProtocolUse) {
        let Some((domain, item)) = self.protocol.find_item(used) else {
            self.drift.missing_calls.push(used.name.to_owned());
            self.drift.fields += used.sent.len() + used.read.len();
            return;
        };
        let read =
            if used.kind == ProtocolUseKind::Event { &item.parameters } else { &item.returns };
        for (used_fields, fields) in [(used.sent, &item.parameters), (used.read, read)] {
            let site = FieldSite { name: used.name.to_owned(), domain, fields };
            self.fields(domain_of(used), used_fields, &site);
        }
    }

    fn fields(
        &mut self,
        our_domain: &str,
        used: &'static [ProtocolUseField],
        site: &FieldSite<'p>,
    ) {
        self.drift.fields += used.len();
        for field in used {
            let name = wire_name(field.name);
            let path = format!("{}.{name}", site.name);
            let Some(offered) = site.fields.iter().find(|offered| offered.name == name) else {
                self.drift.missing_fields.push(path);
                continue;
            };
            let Some(used_type) = self.type_of(our_domain, field) else { continue };
            let nested = self.protocol.resolve(path, site.domain, &offered.field_type, 0);
            if self.compared.insert((used_type.name, nested.name.clone())) {
                self.fields(domain_of(used_type), used_type.read, &nested);
            }
        }
    }

    /// Returns the used type of a field, if it has fields. The type may be of another domain.
    fn type_of(&self, our_domain: &str, field: &ProtocolUseField) -> Option<&'static ProtocolUse> {
        let matches = |used: &&&'static ProtocolUse| {
            used.name.split_once('.').is_some_and(|parts| parts.1 == field.inner())
        };
        let mut candidates = self.types.iter().filter(matches);
        let first = candidates.clone().next();
        candidates.find(|used| domain_of(used) == our_domain).or(first).copied()
    }
}

fn domain_of(used: &ProtocolUse) -> &'static str {
    used.name.split_once('.').map_or(used.name, |(domain, _)| domain)
}

#[derive(Deserialize)]
struct Protocol {
    domains: Vec<Domain>,
}

#[derive(Deserialize)]
struct Domain {
    domain: String,
    #[serde(default)]
    types: Vec<Type>,
    #[serde(default)]
    commands: Vec<ProtocolItem>,
    #[serde(default)]
    events: Vec<ProtocolItem>,
}

/// A method or an event. An event has no `returns`: its fields are in `parameters`.
#[derive(Deserialize)]
struct ProtocolItem {
    name: String,
    #[serde(default)]
    parameters: Vec<ProtocolField>,
    #[serde(default)]
    returns: Vec<ProtocolField>,
}

#[derive(Deserialize)]
struct Type {
    id: String,
    #[serde(flatten)]
    field_type: FieldType,
}

#[derive(Deserialize)]
struct ProtocolField {
    name: String,
    #[serde(flatten)]
    field_type: FieldType,
}

/// Type of a field: a reference to a named type, an array, or an object with fields. All other types have no fields.
#[derive(Deserialize)]
struct FieldType {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    items: Option<Box<FieldType>>,
    #[serde(default)]
    properties: Vec<ProtocolField>,
}

/// Depth limit for resolving references and arrays, which may be circular.
const MAX_DEPTH: usize = 8;

impl Protocol {
    fn find_item(&self, used: &ProtocolUse) -> Option<(&str, &ProtocolItem)> {
        let (domain, name) = used.name.split_once('.')?;
        let domain = self.domain(domain)?;
        let items =
            if used.kind == ProtocolUseKind::Event { &domain.events } else { &domain.commands };
        Some((&domain.domain, items.iter().find(|item| item.name == name)?))
    }

    fn domain(&self, name: &str) -> Option<&Domain> {
        self.domains.iter().find(|domain| domain.domain == name)
    }

    /// Resolves references and arrays to the type with the fields. Its name is that of the type, else the field path.
    fn resolve<'p>(
        &'p self,
        path: String,
        domain: &'p str,
        field_type: &'p FieldType,
        depth: usize,
    ) -> FieldSite<'p> {
        let referenced =
            field_type.reference.as_deref().and_then(|name| self.find_type(domain, name));
        match (referenced, &field_type.items) {
            (Some((domain, found)), _) if depth < MAX_DEPTH => {
                let name = format!("{domain}.{}", found.id);
                self.resolve(name, domain, &found.field_type, depth + 1)
            }
            (None, Some(items)) if depth < MAX_DEPTH => {
                self.resolve(path, domain, items, depth + 1)
            }
            _ => FieldSite { name: path, domain, fields: &field_type.properties },
        }
    }

    /// Finds a type by its name, which may be prefixed with a domain.
    fn find_type<'p>(&'p self, domain: &'p str, name: &str) -> Option<(&'p str, &'p Type)> {
        let (domain, name) = name.split_once('.').unwrap_or((domain, name));
        let domain = self.domain(domain)?;
        Some((&domain.domain, domain.types.iter().find(|found| found.id == name)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USES: &[ProtocolUse] = &[
        ProtocolUse {
            name: "Page.navigate",
            kind: ProtocolUseKind::Method,
            sent: &[text("url"), text("r#type")],
            read: &[text("frame_id")],
        },
        ProtocolUse {
            name: "Page.frameNavigated",
            kind: ProtocolUseKind::Event,
            sent: &[],
            read: &[text("frame_id")],
        },
    ];

    const fn text(name: &'static str) -> ProtocolUseField {
        ProtocolUseField::new(name, "String")
    }

    fn check(protocol: &str, missing_calls: &[&str], missing_fields: &[&str]) {
        let drift = drift(protocol, USES.iter()).unwrap();
        assert_eq!((drift.calls, drift.fields), (2, 4));
        assert_eq!(drift.missing_calls, missing_calls, "{protocol}");
        assert_eq!(drift.missing_fields, missing_fields, "{protocol}");
    }

    #[test]
    fn complete_protocol_has_no_drift() {
        check(
            r#"{"version":{"major":"1"},"domains":[
                {"domain":"DOM","commands":[{"name":"navigate"}]},
                {"domain":"Page","experimental":true,"types":[{"id":"FrameId"}],
                 "commands":[{"name":"navigate","description":"navigates",
                              "parameters":[{"name":"type"},{"name":"url","type":"string"}],
                              "returns":[{"name":"frameId"}]}],
                 "events":[{"name":"frameNavigated","parameters":[{"name":"frameId"}]}]}]}"#,
            &[],
            &[],
        );
    }

    #[test]
    fn missing_method_is_reported_without_its_fields() {
        check(
            r#"{"domains":[{"domain":"Page","commands":[{"name":"goTo"}],
                 "events":[{"name":"frameNavigated","parameters":[{"name":"frameId"}]}]}]}"#,
            &["Page.navigate"],
            &[],
        );
    }

    #[test]
    fn missing_fields_are_reported_by_their_wire_name() {
        // Parameters and returns are distinct: `frameId` among the parameters is not the returned one.
        check(
            r#"{"domains":[{"domain":"Page",
                 "commands":[{"name":"navigate","parameters":[{"name":"url"},{"name":"frameId"}]}],
                 "events":[{"name":"frameNavigated"}]}]}"#,
            &[],
            &["Page.navigate.type", "Page.navigate.frameId", "Page.frameNavigated.frameId"],
        );
    }

    #[test]
    fn missing_domain_lacks_all_of_its_calls() {
        let all = ["Page.navigate", "Page.frameNavigated"];
        check(r#"{"domains":[]}"#, &all, &[]);
        check(r#"{"domains":[{"domain":"Pages"}]}"#, &all, &[]);
    }

    #[test]
    fn event_is_not_matched_by_a_method() {
        check(
            r#"{"domains":[{"domain":"Page","commands":[{"name":"frameNavigated"}],
                 "events":[{"name":"navigate"}]}]}"#,
            &["Page.navigate", "Page.frameNavigated"],
            &[],
        );
    }

    /// A tab has a window and the tabs it opened; the browser's name of the type differs from ours.
    const NESTED: &[ProtocolUse] = &[
        ProtocolUse {
            name: "Target.getTabs",
            kind: ProtocolUseKind::Method,
            sent: &[ProtocolUseField::new("filter", "Option<Vec<Filter>>")],
            read: &[ProtocolUseField::new("tabs", "Vec<Tab>")],
        },
        ProtocolUse {
            name: "Target.tabChanged",
            kind: ProtocolUseKind::Event,
            sent: &[],
            read: &[ProtocolUseField::new("tab", "Tab")],
        },
        ProtocolUse {
            name: "Target.Tab",
            kind: ProtocolUseKind::Type,
            sent: &[],
            read: &[
                text("url"),
                ProtocolUseField::new("opened", "Vec<Tab>"),
                ProtocolUseField::new("window", "Window"),
            ],
        },
        ProtocolUse {
            name: "Target.Filter",
            kind: ProtocolUseKind::Type,
            sent: &[],
            read: &[text("exclude")],
        },
        ProtocolUse {
            name: "Browser.Window",
            kind: ProtocolUseKind::Type,
            sent: &[],
            read: &[text("is_open")],
        },
        ProtocolUse {
            name: "Page.Window",
            kind: ProtocolUseKind::Type,
            sent: &[],
            read: &[text("elsewhere")],
        },
    ];

    const OFFERED: &str = r#"{"domains":[
        {"domain":"Browser","types":[{"id":"Bounds","properties":[{"name":"isOpen"}]}]},
        {"domain":"Target",
         "types":[{"id":"Filters","type":"array","items":{"properties":[{"name":"exclude"}]}},
                  {"id":"TabInfo","type":"object","properties":[
                    {"name":"url","type":"string"},
                    {"name":"opened","type":"array","items":{"$ref":"TabInfo"}},
                    {"name":"window","$ref":"Browser.Bounds"}]}],
         "commands":[{"name":"getTabs","parameters":[{"name":"filter","$ref":"Filters"}],
                      "returns":[{"name":"tabs","type":"array","items":{"$ref":"TabInfo"}}]}],
         "events":[{"name":"tabChanged","parameters":[{"name":"tab","$ref":"TabInfo"}]}]}]}"#;

    #[test]
    fn nested_fields_are_compared() {
        for (was, is, missing) in [
            ("", "", &[] as &[&str]),
            (r#""isOpen""#, r#""open""#, &["Browser.Bounds.isOpen"]),
            (r#""url""#, r#""address""#, &["Target.TabInfo.url"]),
            (r#""exclude""#, r#""without""#, &["Target.Filters.exclude"]),
            (r#""opened""#, r#""children""#, &["Target.TabInfo.opened"]),
            // A type without fields lacks all used fields.
            (
                r#""$ref":"Browser.Bounds""#,
                r#""type":"integer""#,
                &["Target.TabInfo.window.isOpen"],
            ),
            (r#""$ref":"Browser.Bounds""#, r#""$ref":"Gone""#, &["Target.TabInfo.window.isOpen"]),
            // A type that refers to itself has no fields.
            (
                r#""id":"Bounds","properties":[{"name":"isOpen"}]"#,
                r#""id":"Bounds","$ref":"Bounds""#,
                &["Browser.Bounds.isOpen"],
            ),
        ] {
            let drift = drift(&OFFERED.replacen(was, is, 1), NESTED.iter()).unwrap();
            assert_eq!(drift.missing_fields, missing, "{was} is {is}");
            assert_eq!((drift.calls, drift.missing_calls.len()), (2, 0));
        }
    }

    #[test]
    fn type_is_counted_and_reported_once() {
        let renamed = OFFERED.replace(r#""url""#, r#""address""#);
        let drift = drift(&renamed, NESTED.iter()).unwrap();
        // filter, tabs, tab; exclude; url, opened, window; is_open.
        assert_eq!((drift.fields, drift.missing_fields.len()), (8, 1));
    }

    #[test]
    fn invalid_protocol_description_is_an_error() {
        for text in ["", "{", "[]", "{}", r#"{"domains":{}}"#, r#"{"domains":[{"commands":[]}]}"#] {
            assert!(drift(text, USES.iter()).is_err(), "{text}");
        }
    }

    #[test]
    fn all_used_calls_are_compared() {
        let drift = drift(r#"{"domains":[]}"#, browser::used_protocol()).unwrap();
        let calls = browser::used_protocol().filter(|used| used.kind != ProtocolUseKind::Type);
        assert_eq!(drift.calls, calls.count());
        assert_eq!(drift.missing_calls.len(), drift.calls);
        assert!(drift.fields > 0);
    }
}
