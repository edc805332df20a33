//! Semantic targets on a page: candidates by role and name from a snapshot, else by CSS selectors, ranked.

use crate::tab::SelectorCount;
use crate::vendor::{Feature, SemanticTarget, Vendor};
use browser::page::snapshot::ElementRef;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where a candidate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CandidateSource {
    /// Role and name of an element of the snapshot.
    SnapshotRef,
    /// A CSS selector of the vendor file.
    Css,
}

/// An element, or several, that may be a semantic target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TargetCandidate {
    /// Where it comes from.
    pub source: CandidateSource,
    /// Its ref in the snapshot.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none", default)]
    pub ref_name: Option<String>,
    /// Its role.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub role: Option<String>,
    /// Its accessible name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// The selector that found it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub selector: Option<String>,
    /// Number of elements that the selector matches.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub count: Option<u32>,
    /// The confidence before ranking.
    pub confidence: f64,
}

/// Finds the candidates of every target of a vendor, best first. `counts` are those of the CSS fallbacks, by feature key.
pub(crate) fn observe_provider_targets(
    vendor: &Vendor,
    refs: &[ElementRef],
    counts: &BTreeMap<String, Vec<SelectorCount>>,
) -> BTreeMap<&'static str, Vec<TargetCandidate>> {
    let observe = |(feature, target): (&Feature, &SemanticTarget)| {
        let counts = counts.get(feature.key()).map(Vec::as_slice).unwrap_or_default();
        (feature.key(), observe_target(target, refs, counts))
    };
    vendor.targets.iter().map(observe).collect()
}

/// Finds the candidates of one target, best first.
pub(crate) fn observe_target(
    target: &SemanticTarget,
    refs: &[ElementRef],
    counts: &[SelectorCount],
) -> Vec<TargetCandidate> {
    let by_ref = refs.iter().filter(|it| matches(target, it)).map(|it| TargetCandidate {
        source: CandidateSource::SnapshotRef,
        ref_name: Some(it.ref_name.clone()),
        role: Some(it.role.clone()),
        name: Some(it.name.clone()),
        selector: None,
        count: None,
        confidence: score(target, &it.role, &it.name),
    });
    let by_css = counts.iter().filter(|count| count.matched > 0).map(|count| TargetCandidate {
        source: CandidateSource::Css,
        ref_name: None,
        role: None,
        name: None,
        selector: Some(count.selector.clone()),
        count: Some(count.matched),
        confidence: if count.matched == 1 { 2.0 } else { 1.0 },
    });
    rank_target_candidates(by_ref.chain(by_css).collect(), target)
}

/// Sorts candidates, best first: by confidence, expected role, expected name, and elements of the snapshot before
/// selectors. Equal ones keep their order.
pub(crate) fn rank_target_candidates(
    mut candidates: Vec<TargetCandidate>,
    target: &SemanticTarget,
) -> Vec<TargetCandidate> {
    let rank = |candidate: &TargetCandidate| {
        let has_role = candidate.role.is_some() && candidate.role.as_ref() == target.roles.first();
        let has_name = target.has_name(candidate.name.as_deref().unwrap_or_default());
        candidate.confidence
            + if has_role { 2.0 } else { 0.0 }
            + if has_name { 1.0 } else { 0.0 }
            + if candidate.source == CandidateSource::SnapshotRef { 0.5 } else { 0.0 }
    };
    candidates.sort_by(|one, other| rank(other).total_cmp(&rank(one)));
    candidates
}

fn matches(target: &SemanticTarget, it: &ElementRef) -> bool {
    target.accepts_role(&it.role) && target.accepts_name(&it.name)
}

fn score(target: &SemanticTarget, role: &str, name: &str) -> f64 {
    let has_role = target.roles.iter().any(|known| known == role);
    [(has_role, 2.0), (target.has_name(name), 2.0), (target.required, 1.0)]
        .into_iter()
        .map(|(is_so, points)| if is_so { points } else { 0.0 })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendor::Vendors;

    fn element(number: u32, role: &str, name: &str) -> ElementRef {
        ElementRef {
            ref_name: format!("@e{number}"),
            role: role.into(),
            name: name.into(),
            ..ElementRef::default()
        }
    }

    fn css(selector: &str, matched: u32) -> SelectorCount {
        SelectorCount { selector: selector.into(), matched, visible: matched > 0, invalid: false }
    }

    fn observe(
        feature: Feature,
        refs: &[ElementRef],
        counts: Vec<SelectorCount>,
    ) -> Vec<TargetCandidate> {
        let vendors = Vendors::load(None).unwrap();
        let counts = [(feature.key().to_owned(), counts)].into();
        let mut all = observe_provider_targets(vendors.get("chatgpt").unwrap(), refs, &counts);
        all.remove(feature.key()).unwrap()
    }

    #[test]
    fn observe_provider_targets_returns_snapshot_ref_candidates_for_matching_role_and_name() {
        let refs = [element(1, "button", "Message"), element(2, "textbox", "Message ChatGPT")];
        let found = observe(Feature::Composer, &refs, Vec::new());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].ref_name.as_deref(), Some("@e2"));
        assert_eq!(found[0].source, CandidateSource::SnapshotRef);
    }

    #[test]
    fn observe_provider_targets_honors_exclude_names() {
        let refs = [element(1, "textbox", "Search messages"), element(2, "textbox", "Your prompt")];
        let found = observe(Feature::Composer, &refs, Vec::new());
        assert_eq!(
            found.iter().map(|it| it.ref_name.as_deref().unwrap()).collect::<Vec<_>>(),
            ["@e2"]
        );
    }

    #[test]
    fn observe_provider_targets_includes_css_fallback_candidates_with_counts() {
        let counts = vec![css("#gone", 0), css("button.copy", 3), css("#copy", 1)];
        let found = observe(Feature::CopyButton, &[], counts);
        let rows: Vec<_> = found
            .iter()
            .map(|it| (it.selector.as_deref().unwrap(), it.count, it.confidence))
            .collect();
        assert_eq!(rows, [("#copy", Some(1), 2.0), ("button.copy", Some(3), 1.0)]);
    }

    #[test]
    fn observe_provider_targets_sorts_higher_confidence_snapshot_candidates_first() {
        let refs = [element(1, "textbox", "Message ChatGPT")];
        let found = observe(Feature::Composer, &refs, vec![css("#prompt-textarea", 1)]);
        let rows: Vec<_> = found.iter().map(|it| (it.source, it.confidence)).collect();
        assert_eq!(rows, [(CandidateSource::SnapshotRef, 5.0), (CandidateSource::Css, 2.0)]);
        let json = serde_json::to_value(&found).unwrap();
        assert_eq!(
            json,
            serde_json::json!([
                {"source": "snapshot-ref", "ref": "@e1", "role": "textbox", "name": "Message ChatGPT", "confidence": 5.0},
                {"source": "css", "selector": "#prompt-textarea", "count": 1, "confidence": 2.0},
            ])
        );
    }

    #[test]
    fn rank_target_candidates_scores_expected_role_and_expected_name() {
        let vendors = Vendors::load(None).unwrap();
        let target = vendors.get("chatgpt").unwrap().target(Feature::ModelPicker).unwrap();
        let candidate = |role: &str, name: &str, confidence: f64| TargetCandidate {
            source: CandidateSource::SnapshotRef,
            ref_name: None,
            role: Some(role.into()),
            name: Some(name.into()),
            selector: None,
            count: None,
            confidence,
        };
        let all = vec![
            candidate("combobox", "nothing", 2.0),
            candidate("combobox", "Model", 2.0),
            candidate("button", "Model", 2.0),
            candidate("button", "nothing", 4.5),
        ];
        let ranked = rank_target_candidates(all, target);
        let order: Vec<_> =
            ranked.iter().map(|it| (it.role.clone().unwrap(), it.name.clone().unwrap())).collect();
        let expected = [
            ("button", "nothing"),
            ("button", "Model"),
            ("combobox", "Model"),
            ("combobox", "nothing"),
        ];
        assert_eq!(order, expected.map(|(role, name)| (role.to_owned(), name.to_owned())));
    }
}
