//! What we use of the protocol, compared with what a browser says it offers.

use browser::{ProtocolUse, ProtocolUseField, ProtocolUseKind, wire_name};
use serde::Deserialize;
use std::collections::BTreeSet;

/// How far a browser is from what we expect of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Drift {
    /// Methods and events we use.
    pub(super) calls: usize,
    /// Their fields that we send or read, and the fields of what is in them.
    pub(super) fields: usize,
    /// Methods and events that the browser does not offer.
    pub(super) missing_calls: Vec<String>,
    /// Fields that the browser does not know, of methods, events and types that it does.
    pub(super) missing_fields: Vec<String>,
}

/// Compares what is used with what `/json/protocol` says.
///
/// # Errors
/// When that is no description of a protocol.
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
    /// Ours.
    types: Vec<&'static ProtocolUse>,
    /// Which of ours was compared with which of theirs.
    compared: BTreeSet<(&'static str, String)>,
    drift: Drift,
}

/// Something with fields: its name, and the domain in which the names of types in it are looked up.
struct FieldSite<'p> {
    name: String,
    domain: &'p str,
    fields: &'p [ProtocolField],
}

impl<'p> Comparison<'p> {
    fn call(&mut self, used: &ProtocolUse) {
        let Some((domain, offer)) = self.protocol.offer(used) else {
            self.drift.missing_calls.push(used.name.to_owned());
            self.drift.fields += used.sent.len() + used.read.len();
            return;
        };
        let read =
            if used.kind == ProtocolUseKind::Event { &offer.parameters } else { &offer.returns };
        for (used_fields, fields) in [(used.sent, &offer.parameters), (used.read, read)] {
            let place = FieldSite { name: used.name.to_owned(), domain, fields };
            self.fields(domain_of(used), used_fields, &place);
        }
    }

    fn fields(
        &mut self,
        our_domain: &str,
        used: &'static [ProtocolUseField],
        place: &FieldSite<'p>,
    ) {
        self.drift.fields += used.len();
        for field in used {
            let name = wire_name(field.name);
            let path = format!("{}.{name}", place.name);
            let Some(offered) = place.fields.iter().find(|offered| offered.name == name) else {
                self.drift.missing_fields.push(path);
                continue;
            };
            let Some(ours) = self.type_of(our_domain, field) else { continue };
            let inner = self.protocol.inside(path, place.domain, &offered.of, 0);
            if self.compared.insert((ours.name, inner.name.clone())) {
                self.fields(domain_of(ours), ours.read, &inner);
            }
        }
    }

    /// Our type of a field, when it is one with fields. A domain may borrow it from another.
    fn type_of(&self, our_domain: &str, field: &ProtocolUseField) -> Option<&'static ProtocolUse> {
        let is_it = |used: &&&'static ProtocolUse| {
            used.name.split_once('.').is_some_and(|it| it.1 == field.inner())
        };
        let mut named = self.types.iter().filter(is_it);
        let first = named.clone().next();
        named.find(|used| domain_of(used) == our_domain).or(first).copied()
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

/// A method or an event. An event has no `returns`: what it brings is called parameters too.
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
    of: FieldType,
}

#[derive(Deserialize)]
struct ProtocolField {
    name: String,
    #[serde(flatten)]
    of: FieldType,
}

/// What something is: the name of a type, a list of something, or something with fields. Otherwise it has
/// nothing inside.
#[derive(Deserialize)]
struct FieldType {
    #[serde(rename = "$ref")]
    named: Option<String>,
    items: Option<Box<FieldType>>,
    #[serde(default)]
    properties: Vec<ProtocolField>,
}

/// A type that is called by another name, which is a list of … is not followed for ever.
const DEEPEST: usize = 8;

impl Protocol {
    fn offer(&self, used: &ProtocolUse) -> Option<(&str, &ProtocolItem)> {
        let (domain, name) = used.name.split_once('.')?;
        let domain = self.domain(domain)?;
        let offers =
            if used.kind == ProtocolUseKind::Event { &domain.events } else { &domain.commands };
        Some((&domain.domain, offers.iter().find(|offer| offer.name == name)?))
    }

    fn domain(&self, name: &str) -> Option<&Domain> {
        self.domains.iter().find(|domain| domain.domain == name)
    }

    /// What the fields in something are. It has the name of its type where it has one, else that of the way.
    fn inside<'p>(
        &'p self,
        way: String,
        domain: &'p str,
        of: &'p FieldType,
        depth: usize,
    ) -> FieldSite<'p> {
        let named = of.named.as_deref().and_then(|named| self.named(domain, named));
        match (named, &of.items) {
            (Some((domain, found)), _) if depth < DEEPEST => {
                let name = format!("{domain}.{}", found.id);
                self.inside(name, domain, &found.of, depth + 1)
            }
            (None, Some(items)) if depth < DEEPEST => self.inside(way, domain, items, depth + 1),
            _ => FieldSite { name: way, domain, fields: &of.properties },
        }
    }

    /// A type by its name, which is that of the same domain unless it says otherwise.
    fn named<'p>(&'p self, domain: &'p str, name: &str) -> Option<(&'p str, &'p Type)> {
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
    fn what_is_all_there_has_not_drifted() {
        check(
            r#"{"version":{"major":"1"},"domains":[
                {"domain":"DOM","commands":[{"name":"navigate"}]},
                {"domain":"Page","experimental":true,"types":[{"id":"FrameId"}],
                 "commands":[{"name":"navigate","description":"goes",
                              "parameters":[{"name":"type"},{"name":"url","type":"string"}],
                              "returns":[{"name":"frameId"}]}],
                 "events":[{"name":"frameNavigated","parameters":[{"name":"frameId"}]}]}]}"#,
            &[],
            &[],
        );
    }

    #[test]
    fn a_missing_method_is_told_without_its_fields() {
        check(
            r#"{"domains":[{"domain":"Page","commands":[{"name":"goTo"}],
                 "events":[{"name":"frameNavigated","parameters":[{"name":"frameId"}]}]}]}"#,
            &["Page.navigate"],
            &[],
        );
    }

    #[test]
    fn missing_fields_are_told_by_their_name_on_the_wire() {
        // A parameter is no answer: `frameId` among the parameters is not the one we read.
        check(
            r#"{"domains":[{"domain":"Page",
                 "commands":[{"name":"navigate","parameters":[{"name":"url"},{"name":"frameId"}]}],
                 "events":[{"name":"frameNavigated"}]}]}"#,
            &[],
            &["Page.navigate.type", "Page.navigate.frameId", "Page.frameNavigated.frameId"],
        );
    }

    #[test]
    fn a_missing_domain_lacks_all_of_its_calls() {
        let all = ["Page.navigate", "Page.frameNavigated"];
        check(r#"{"domains":[]}"#, &all, &[]);
        check(r#"{"domains":[{"domain":"Pages"}]}"#, &all, &[]);
    }

    #[test]
    fn an_event_is_no_method() {
        check(
            r#"{"domains":[{"domain":"Page","commands":[{"name":"frameNavigated"}],
                 "events":[{"name":"navigate"}]}]}"#,
            &["Page.navigate", "Page.frameNavigated"],
            &[],
        );
    }

    /// A tab has a window and tabs that it opened; who sees the tab has another name for it than we do.
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
    fn fields_within_fields_are_compared() {
        for (was, is, missing) in [
            ("", "", &[] as &[&str]),
            (r#""isOpen""#, r#""open""#, &["Browser.Bounds.isOpen"]),
            (r#""url""#, r#""address""#, &["Target.TabInfo.url"]),
            (r#""exclude""#, r#""without""#, &["Target.Filters.exclude"]),
            (r#""opened""#, r#""children""#, &["Target.TabInfo.opened"]),
            // What has nothing inside lacks all that we know of it.
            (
                r#""$ref":"Browser.Bounds""#,
                r#""type":"integer""#,
                &["Target.TabInfo.window.isOpen"],
            ),
            (r#""$ref":"Browser.Bounds""#, r#""$ref":"Gone""#, &["Target.TabInfo.window.isOpen"]),
            // A type that is only another name of itself has no end, and nothing inside.
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
    fn a_type_is_counted_and_told_once() {
        let renamed = OFFERED.replace(r#""url""#, r#""address""#);
        let drift = drift(&renamed, NESTED.iter()).unwrap();
        // filter, tabs, tab; exclude; url, opened, window; is_open.
        assert_eq!((drift.fields, drift.missing_fields.len()), (8, 1));
    }

    #[test]
    fn what_describes_no_protocol_is_refused() {
        for text in ["", "{", "[]", "{}", r#"{"domains":{}}"#, r#"{"domains":[{"commands":[]}]}"#] {
            assert!(drift(text, USES.iter()).is_err(), "{text}");
        }
    }

    #[test]
    fn everything_we_use_is_compared() {
        let drift = drift(r#"{"domains":[]}"#, browser::used_protocol()).unwrap();
        let calls = browser::used_protocol().filter(|used| used.kind != ProtocolUseKind::Type);
        assert_eq!(drift.calls, calls.count());
        assert_eq!(drift.missing_calls.len(), drift.calls);
        assert!(drift.fields > 0);
    }
}
