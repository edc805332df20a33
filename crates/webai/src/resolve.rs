//! Resolution of a semantic target to one element: known ref, CSS selectors, then candidates of a snapshot. Every
//! candidate is checked by the browser and scored; what is doubtful or ambiguous is refused, never guessed.

use crate::tab::{SelectorCount, Tab};
use crate::targets::{CandidateSource, observe_target};
use crate::vendor::{Feature, SemanticTarget, Vendor, split_has_text};
use browser::command::{ActionKind, Snapshot};
use browser::page::capability::{CapabilityRow, CapabilityState};
use browser::page::snapshot::{ElementRef, WebAiSnapshot};
use browser::{Code, Driver, Error, Result, Target};
use serde_json::Value;
use std::fmt;

/// Least score of a candidate, of 1.
const THRESHOLD: f64 = 0.6;

/// Most candidates of a snapshot that are checked.
const MAX_OBSERVED: usize = 4;

/// What found an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A CSS selector.
    Css(String),
    /// Role and name in a snapshot.
    Observed,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Css(_) => "css",
            Self::Observed => "observed",
        })
    }
}

/// The element of a semantic target.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    /// Its durable ref.
    pub(crate) target: Target,
    pub(crate) found: Found,
    /// Its score, of 1.
    pub(crate) score: f64,
}

/// The reason why a candidate was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    NotFound,
    AmbiguousSelector,
    NotVisible,
    NotEnabled,
    NotEditable,
    LowConfidence,
    StaleRoleName,
}

impl Rejection {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::AmbiguousSelector => "ambiguous-selector",
            Self::NotVisible => "not-visible",
            Self::NotEnabled => "not-enabled",
            Self::NotEditable => "not-editable",
            Self::LowConfidence => "low-confidence",
            Self::StaleRoleName => "stale-role-name",
        }
    }
}

/// A target that is not resolved, with each candidate's rejection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unresolved {
    pub(crate) rejections: Vec<(String, Rejection)>,
}

impl Unresolved {
    fn add(&mut self, candidate: impl Into<String>, why: Rejection) {
        self.rejections.push((candidate.into(), why));
    }

    /// The most telling reason: that of a candidate that exists.
    pub(crate) fn reason(&self) -> Rejection {
        let is_there = |(_, why): &&(String, Rejection)| *why != Rejection::NotFound;
        self.rejections.iter().find(is_there).map_or(Rejection::NotFound, |(_, why)| *why)
    }

    /// The error of a command that needs the target.
    pub(crate) fn error(&self, vendor: &Vendor, feature: Feature) -> Error {
        let lines = self.rejections.iter().map(|(what, why)| format!("{what}: {}", why.as_str()));
        Error::new(Code::TargetUnresolved)
            .message(format!(
                "no element of the page is surely the {} of {}",
                feature.key(),
                vendor.name
            ))
            .evidence("feature", feature.key())
            .evidence("reason", self.reason().as_str())
            .evidence("attempts", lines.collect::<Vec<_>>())
    }
}

/// Resolves a target for an action. The outer error is one of the browser.
pub(crate) async fn resolve<D: Driver>(
    tab: &Tab<'_, D>,
    target: &SemanticTarget,
    action: ActionKind,
    counts: &[SelectorCount],
) -> Result<std::result::Result<Resolved, Unresolved>> {
    let mut unresolved = Unresolved::default();
    for count in counts {
        let (css, text) = split_has_text(&count.selector);
        // A text condition is not CSS; role and name find the same element.
        if count.matched == 0 || text.is_some() {
            unresolved.add(&count.selector, Rejection::NotFound);
            continue;
        }
        if count.matched > 1 {
            unresolved.add(&count.selector, Rejection::AmbiguousSelector);
            continue;
        }
        let row = tab.can(action, Target::Css(css.to_owned())).await?;
        match judge(target, &row, names_itself(css)) {
            Ok(score) => {
                let found = Found::Css(count.selector.clone());
                let resolved = Resolved { target: target_of(&row, css), found, score };
                // An id or a test id is a contract; any other selector may match by chance.
                if names_itself(css) {
                    return Ok(Ok(resolved));
                }
                return unrivalled(tab, target, action, resolved).await;
            }
            Err(why) => unresolved.add(&count.selector, why),
        }
    }
    let snapshot = tab.snapshot(options()).await?;
    let mut best: Vec<Resolved> = Vec::new();
    for (name, row) in check_observed(tab, target, action, &snapshot).await? {
        match judge(target, &row, false) {
            Ok(score) => best.push(Resolved { target: name.1, found: Found::Observed, score }),
            Err(why) => unresolved.add(name.0, why),
        }
    }
    let top = best.iter().map(|it| it.score).fold(0.0, f64::max);
    best.retain(|it| it.score >= top);
    match best.len() {
        0 => Ok(Err(unresolved)),
        1 => Ok(Ok(best.remove(0))),
        _ => {
            unresolved.add(format!("{} elements", best.len()), Rejection::AmbiguousSelector);
            Ok(Err(unresolved))
        }
    }
}

/// The element, unless another one of the page has the role and the name that it should have and it has not.
async fn unrivalled<D: Driver>(
    tab: &Tab<'_, D>,
    target: &SemanticTarget,
    action: ActionKind,
    resolved: Resolved,
) -> Result<std::result::Result<Resolved, Unresolved>> {
    let snapshot = tab.snapshot(options()).await?;
    let mut unresolved = Unresolved::default();
    for (name, row) in check_observed(tab, target, action, &snapshot).await? {
        let is_rival = name.1 != resolved.target
            && judge(target, &row, false).is_ok_and(|score| score >= resolved.score);
        if is_rival {
            unresolved.add(name.0, Rejection::AmbiguousSelector);
        }
    }
    match unresolved.rejections.is_empty() {
        true => Ok(Ok(resolved)),
        false => Ok(Err(unresolved)),
    }
}

/// Checks the best candidates of a snapshot: each with its label for errors, its target and the browser's answer.
async fn check_observed<D: Driver>(
    tab: &Tab<'_, D>,
    target: &SemanticTarget,
    action: ActionKind,
    snapshot: &WebAiSnapshot,
) -> Result<Vec<((String, Target), CapabilityRow)>> {
    let mut checked = Vec::new();
    let candidates = observe_target(target, &snapshot.refs, &[]);
    let of_snapshot = candidates.iter().filter(|it| it.source == CandidateSource::SnapshotRef);
    for candidate in of_snapshot.take(MAX_OBSERVED) {
        let is_it = |it: &&ElementRef| Some(&it.ref_name) == candidate.ref_name.as_ref();
        let Some(element) = snapshot.refs.iter().find(is_it) else { continue };
        let Some(live) = element.live_ref.as_ref().and_then(|live| live.parse::<Target>().ok())
        else {
            continue;
        };
        let row = tab.can(action, live.clone()).await?;
        checked.push(((format!("{} {}", element.ref_name, element.role), live), row));
    }
    Ok(checked)
}

/// The options of snapshots that targets are sought in: the whole page.
fn options() -> Snapshot {
    Snapshot { max_depth: Some(u32::MAX), fresh: true, ..Snapshot::default() }
}

/// True for a selector by id or test id, which names an element whatever it looks like.
pub(crate) fn names_itself(css: &str) -> bool {
    let last = css.rsplit([' ', '>', '+', '~']).next().unwrap_or(css);
    last.starts_with('#')
        || ["[data-testid=", "[data-test-id=", "[data-id="].iter().any(|part| last.contains(part))
}

/// The durable ref in a row, else the selector.
fn target_of(row: &CapabilityRow, css: &str) -> Target {
    let name = text_of(row, "ref").and_then(|name| name.parse().ok());
    name.unwrap_or_else(|| Target::Css(css.to_owned()))
}

fn text_of<'r>(row: &'r CapabilityRow, key: &str) -> Option<&'r str> {
    row.evidence.as_ref()?.get(key).and_then(Value::as_str)
}

/// The score of a checked candidate, of 1, if it is accepted.
fn judge(
    target: &SemanticTarget,
    row: &CapabilityRow,
    is_contract: bool,
) -> std::result::Result<f64, Rejection> {
    if matches!(row.state, CapabilityState::Fail | CapabilityState::Unknown) {
        return Err(match text_of(row, "errorCode").unwrap_or_default() {
            "act.disabled" | "act.inert" => Rejection::NotEnabled,
            "act.not-editable" => Rejection::NotEditable,
            "target.ambiguous" => Rejection::AmbiguousSelector,
            "target.not-found" | "snapshot.ref-not-found" | "snapshot.ref-stale" => {
                Rejection::NotFound
            }
            _ => Rejection::NotVisible,
        });
    }
    let (role, name) =
        (text_of(row, "role").unwrap_or_default(), text_of(row, "name").unwrap_or_default());
    let (has_role, has_name) = (target.accepts_role(role), target.has_name(name));
    if target.excludes_name(name) {
        return Err(Rejection::LowConfidence);
    }
    // A name that says something else.
    if !is_contract && !name.trim().is_empty() && !target.names.is_empty() && !has_name {
        return Err(Rejection::StaleRoleName);
    }
    let points = if has_role { 3.0 } else { 0.0 }
        + if has_name { 3.0 } else { 0.0 }
        // Its name is none that the target never has.
        + 2.0
        // It can be acted on in this way.
        + 2.0;
    let score = points / 10.0;
    if score >= THRESHOLD { Ok(score) } else { Err(Rejection::LowConfidence) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendor::Vendors;

    fn check(
        role: &str,
        name: &str,
        is_contract: bool,
        expected: std::result::Result<f64, Rejection>,
    ) {
        let vendors = Vendors::load(None).unwrap();
        let target = vendors.get("chatgpt").unwrap().target(Feature::Composer).unwrap();
        let evidence = serde_json::json!({"role": role, "name": name});
        let row = CapabilityRow {
            state: CapabilityState::Ok,
            evidence: evidence.as_object().cloned(),
            ..CapabilityRow::default()
        };
        assert_eq!(judge(target, &row, is_contract), expected, "{role} {name:?}");
    }

    #[test]
    fn candidate_is_scored_by_role_name_exclusion_and_kind() {
        check("textbox", "Message ChatGPT", false, Ok(1.0));
        check("textbox", "", false, Ok(0.7));
        check("textbox", "Search messages", false, Err(Rejection::LowConfidence));
        check("generic", "Message", false, Ok(0.7));
        check("generic", "", false, Err(Rejection::LowConfidence));
    }

    #[test]
    fn name_that_says_something_else_is_refused_unless_an_id_names_the_element() {
        check("textbox", "Feedback", false, Err(Rejection::StaleRoleName));
        check("textbox", "Frag ChatBot", true, Ok(0.7));
    }

    #[test]
    fn selectors_by_id_and_test_id_name_their_element() {
        for (css, expected) in [
            ("#prompt-textarea", true),
            ("form #prompt", true),
            ("button[data-testid=\"send-button\"]", true),
            ("button[data-testid*=\"plus\" i]", false),
            ("#main .editor", false),
            ("div[contenteditable=\"true\"]", false),
        ] {
            assert_eq!(names_itself(css), expected, "{css}");
        }
    }
}
