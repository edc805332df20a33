//! What we use of the protocol, compared with what a browser says it offers.

use browser::{Use, wire_name};
use serde::Deserialize;

/// How far a browser is from what we expect of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Drift {
    /// Methods and events we use.
    pub(super) calls: usize,
    /// Their fields that we send or read.
    pub(super) fields: usize,
    /// Methods and events that the browser does not offer.
    pub(super) missing_calls: Vec<String>,
    /// Fields that the browser does not know, of methods and events that it does.
    pub(super) missing_fields: Vec<String>,
}

/// Compares what is used with what `/json/protocol` says.
///
/// # Errors
/// When that is no description of a protocol.
pub(super) fn drift<'a>(
    protocol_json: &str,
    uses: impl Iterator<Item = &'a Use>,
) -> serde_json::Result<Drift> {
    let protocol: Protocol = serde_json::from_str(protocol_json)?;
    let mut drift = Drift::default();
    for used in uses {
        drift.calls += 1;
        drift.fields += used.sent.len() + used.read.len();
        let Some(offer) = protocol.offer(used) else {
            drift.missing_calls.push(used.name.to_owned());
            continue;
        };
        let read = if used.is_event { &offer.parameters } else { &offer.returns };
        for (fields, offered) in [(used.sent, &offer.parameters), (used.read, read)] {
            let names = fields.iter().map(|field| wire_name(field));
            let missing = names.filter(|name| !offered.iter().any(|field| field.name == *name));
            drift.missing_fields.extend(missing.map(|name| format!("{}.{name}", used.name)));
        }
    }
    Ok(drift)
}

#[derive(Deserialize)]
struct Protocol {
    domains: Vec<Domain>,
}

#[derive(Deserialize)]
struct Domain {
    domain: String,
    #[serde(default)]
    commands: Vec<Offer>,
    #[serde(default)]
    events: Vec<Offer>,
}

/// A method or an event. An event has no `returns`: what it brings is called parameters too.
#[derive(Deserialize)]
struct Offer {
    name: String,
    #[serde(default)]
    parameters: Vec<Field>,
    #[serde(default)]
    returns: Vec<Field>,
}

#[derive(Deserialize)]
struct Field {
    name: String,
}

impl Protocol {
    fn offer(&self, used: &Use) -> Option<&Offer> {
        let (domain, name) = used.name.split_once('.')?;
        let domain = self.domains.iter().find(|offered| offered.domain == domain)?;
        let offers = if used.is_event { &domain.events } else { &domain.commands };
        offers.iter().find(|offer| offer.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USES: &[Use] = &[
        Use {
            name: "Page.navigate",
            is_event: false,
            sent: &["url", "r#type"],
            read: &["frame_id"],
        },
        Use { name: "Page.frameNavigated", is_event: true, sent: &[], read: &["frame_id"] },
    ];

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

    #[test]
    fn what_describes_no_protocol_is_refused() {
        for text in ["", "{", "[]", "{}", r#"{"domains":{}}"#, r#"{"domains":[{"commands":[]}]}"#] {
            assert!(drift(text, USES.iter()).is_err(), "{text}");
        }
    }

    #[test]
    fn everything_we_use_is_compared() {
        let drift = drift(r#"{"domains":[]}"#, browser::uses()).unwrap();
        assert_eq!(drift.calls, browser::uses().count());
        assert_eq!(drift.missing_calls.len(), drift.calls);
        assert!(drift.fields > 0);
    }
}
