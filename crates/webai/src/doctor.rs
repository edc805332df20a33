//! `web-ai doctor`: what of a vendor's app is recognized, as counts and hashes. No text of the page, no draft, no answer
//! and no address of a conversation gets into a report.

use crate::session::{SessionRecord, SessionStatus};
use crate::tab::{Inspection, SelectorCount, Selectors, Tab, TabChoice};
use crate::targets::{CandidateSource, TargetCandidate, observe_provider_targets};
use crate::vendor::{Feature, Vendor, content_safe_url};
use browser::command::Snapshot;
use browser::page::capability::CapabilityState;
use browser::page::hash::{dom_hash, field_hash};
use browser::page::snapshot::{DOCTOR_REFS, DoctorSnapshot, summarize_for_doctor};
use browser::page::text::utf16_len;
use browser::{Code, Driver, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Largest report, in bytes of JSON.
const MAX_BYTES: usize = 4096;
/// The same with `--full`.
const MAX_BYTES_FULL: usize = 16_384;
/// Most candidates of a target in a report.
const MAX_CANDIDATES: usize = 8;
/// Length of the tags that are hashed.
const DOM_HASH_CHARS: usize = 8192;
/// Length of a clamped address.
const MAX_URL: usize = 64;

/// Options of `web-ai doctor`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DoctorOptions {
    /// Include a summary of a snapshot, and the semantic targets.
    pub with_snapshot: bool,
    /// Allow a larger report.
    pub full: bool,
}

/// The report of `web-ai doctor`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorReport {
    /// The vendor.
    pub vendor: String,
    /// Protocol, host and path of the tab's address; parts of the path that the vendor file does not know read `…`.
    pub url: Option<String>,
    /// The time of the report.
    pub captured_at: String,
    /// The features.
    pub features: Vec<FeatureReport>,
    /// The snapshot, as hashes and counts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub snapshot: Option<SnapshotReport>,
    /// The candidates of each semantic target.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub semantic_targets: Option<BTreeMap<String, Vec<CandidateReport>>>,
    /// The last session, as counts.
    pub last_session: Option<LastSession>,
    /// What limits the report.
    pub warnings: Vec<String>,
    /// Parts were left out to keep to `maxBytes`.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub truncated: bool,
    /// The limit that was exceeded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_bytes: Option<usize>,
}

/// A session in a report: no text of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastSession {
    /// Its id.
    pub session_id: String,
    /// Its state.
    pub status: SessionStatus,
    /// Until when the answer is waited for, in milliseconds since 1970.
    pub deadline_at: u64,
    /// Length of the prompt, in characters.
    pub prompt_chars: u32,
    /// Length of the answer so far, in characters.
    pub response_chars: u32,
}

impl From<&SessionRecord> for LastSession {
    fn from(session: &SessionRecord) -> Self {
        Self {
            session_id: session.session_id.clone(),
            status: session.status,
            deadline_at: session.deadline_at,
            prompt_chars: session.prompt_chars,
            response_chars: session.last_response_chars,
        }
    }
}

/// A feature in a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeatureReport {
    /// Its name.
    pub feature: String,
    /// The selectors of the vendor file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub selectors_tried: Option<Vec<String>>,
    /// Those that match.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub selector_matches: Option<Vec<SelectorMatch>>,
    /// Their numbers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub selector_counts: Option<SelectorCounts>,
    /// `ok`: visible; `warn`: there, but not visible; `fail`: missing.
    pub state: CapabilityState,
    /// Hash of the tags of the first match.
    #[serde(default, skip_serializing_if = "DomHash::is_left_out")]
    pub dom_hash: DomHash,
}

/// The hash of a feature's tags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum DomHash {
    /// A hash.
    Hash(String),
    /// There is no element.
    #[default]
    Missing,
    /// Left out to keep to the limit.
    #[serde(skip)]
    LeftOut,
}

impl DomHash {
    fn is_left_out(&self) -> bool {
        *self == Self::LeftOut
    }

    fn as_str(&self) -> Option<&str> {
        match self {
            Self::Hash(hash) => Some(hash),
            _ => None,
        }
    }
}

/// A selector that matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SelectorMatch {
    /// The selector.
    pub selector: String,
    /// Number of elements.
    pub matched: u32,
    /// One of the first ten is visible.
    pub visible: bool,
}

/// Numbers of a feature's selectors.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct SelectorCounts {
    /// Selectors tried.
    pub tried: u32,
    /// Selectors that match.
    pub matched: u32,
    /// Elements that match.
    pub total: u32,
}

/// The snapshot in a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum SnapshotReport {
    /// Hashes and counts.
    Taken(DoctorSnapshot),
    /// It failed.
    #[serde(rename_all = "camelCase")]
    Failed {
        /// Always `false`.
        enabled: bool,
        /// Always `true`.
        content_safe: bool,
        /// The code of the error.
        error_code: String,
        /// Its hint.
        retry_hint: String,
    },
}

/// A candidate in a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CandidateReport {
    /// Where it comes from.
    pub source: CandidateSource,
    /// Its ref in the snapshot.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none", default)]
    pub ref_name: Option<String>,
    /// Its role.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub role: Option<String>,
    /// The selector that found it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub selector: Option<String>,
    /// Number of elements that the selector matches.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub count: Option<u32>,
    /// The confidence before ranking.
    pub confidence: f64,
    /// Hash of its accessible name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name_hash: Option<String>,
    /// Length of its accessible name, in UTF-16 units.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name_chars: Option<u32>,
}

impl From<TargetCandidate> for CandidateReport {
    fn from(candidate: TargetCandidate) -> Self {
        let name = candidate.name.as_deref();
        Self {
            source: candidate.source,
            ref_name: candidate.ref_name,
            role: candidate.role,
            selector: candidate.selector,
            count: candidate.count,
            confidence: candidate.confidence,
            name_hash: name.filter(|name| !name.is_empty()).map(field_hash),
            name_chars: name.map(|name| utf16_len(name) as u32),
        }
    }
}

/// Examines a vendor's tab. Nothing is read from a page of another host. The report is not clamped yet.
pub(crate) async fn doctor<D: Driver>(
    driver: &D,
    choice: &TabChoice,
    vendor: &Vendor,
    options: DoctorOptions,
    captured_at: String,
) -> Result<DoctorReport> {
    let info = Tab::new(driver, choice, vendor).info().await?;
    let mut choice = choice.clone();
    choice.tab = info.as_ref().map(|info| info.id).or(choice.tab);
    let tab = Tab::new(driver, &choice, vendor);
    let url = info.map(|info| info.url);
    let mut report = DoctorReport {
        vendor: vendor.id.clone(),
        url: url.as_deref().map(|url| content_safe_url(url, vendor)),
        captured_at,
        ..DoctorReport::default()
    };
    let is_there = url.as_deref().is_some_and(|url| vendor.matching_host(url).is_some());
    if !is_there {
        report.features = features(vendor, &Inspection::default());
        report.warnings.push(format!("host-mismatch:expected={}", vendor.hosts.join(",")));
        return Ok(report);
    }
    let selectors: Selectors<'_> =
        vendor.targets.iter().map(|(it, target)| (it.key(), &*target.css_fallbacks)).collect();
    let seen = tab.inspect(&selectors, &selectors).await?;
    report.features = features(vendor, &seen);
    if options.with_snapshot {
        let snapshot = Snapshot { max_depth: Some(u32::MAX), ..Snapshot::default() };
        match tab.snapshot(snapshot).await {
            Ok(snapshot) => {
                let targets = observe_provider_targets(vendor, &snapshot.refs, &seen.features);
                let safe = |candidates: Vec<TargetCandidate>| {
                    candidates.into_iter().take(MAX_CANDIDATES).map(CandidateReport::from).collect()
                };
                let targets = targets.into_iter().map(|(it, all)| (it.to_owned(), safe(all)));
                report.semantic_targets = Some(targets.collect());
                let summary = summarize_for_doctor(&snapshot, DOCTOR_REFS);
                report.snapshot = Some(SnapshotReport::Taken(summary));
            }
            Err(error) => {
                report.warnings.push(format!("snapshot-failed:{}", error.code()));
                report.snapshot = Some(failed_snapshot(error.code(), &error.details().retry_hint));
            }
        }
    }
    Ok(report)
}

fn failed_snapshot(code: Code, hint: &dyn fmt::Display) -> SnapshotReport {
    SnapshotReport::Failed {
        enabled: false,
        content_safe: true,
        error_code: code.to_string(),
        retry_hint: hint.to_string(),
    }
}

fn features(vendor: &Vendor, seen: &Inspection) -> Vec<FeatureReport> {
    let report = |feature: &Feature| {
        let name = feature.doctor_name()?;
        let target = vendor.target(*feature)?;
        let counts = seen.features.get(feature.key()).map(Vec::as_slice).unwrap_or_default();
        let matches: Vec<_> = counts.iter().filter(|count| count.matched > 0).collect();
        let state = match () {
            () if matches.iter().any(|count| count.visible) => CapabilityState::Ok,
            () if !matches.is_empty() => CapabilityState::Warn,
            () => CapabilityState::Fail,
        };
        let skeleton = seen.skeletons.get(feature.key()).cloned().flatten();
        Some(FeatureReport {
            feature: name.to_owned(),
            selectors_tried: Some(target.css_fallbacks.clone()),
            selector_counts: Some(SelectorCounts {
                tried: target.css_fallbacks.len() as u32,
                matched: matches.len() as u32,
                total: matches.iter().map(|count| count.matched).sum(),
            }),
            selector_matches: Some(matches.into_iter().map(SelectorMatch::from).collect()),
            state,
            dom_hash: skeleton
                .map_or(DomHash::Missing, |tags| DomHash::Hash(dom_hash(&tags, DOM_HASH_CHARS))),
        })
    };
    Feature::ALL.iter().filter_map(report).collect()
}

impl From<&SelectorCount> for SelectorMatch {
    fn from(count: &SelectorCount) -> Self {
        Self { selector: count.selector.clone(), matched: count.matched, visible: count.visible }
    }
}

impl DoctorReport {
    /// The worst state of all features.
    pub fn worst(&self) -> CapabilityState {
        use CapabilityState::{Fail, Ok, Unknown, Warn};
        let has = |state| self.features.iter().any(|feature| feature.state == state);
        match () {
            () if has(Fail) => Fail,
            () if has(Warn) => Warn,
            () if self.features.is_empty() => Unknown,
            () => Ok,
        }
    }

    fn len(&self) -> usize {
        serde_json::to_string(self).map_or(usize::MAX, |json| json.len())
    }

    /// Leaves parts out, step by step, until the report keeps to the limit. The snapshot stays.
    pub(crate) fn clamped(mut self, options: DoctorOptions) -> Self {
        let max = if options.full { MAX_BYTES_FULL } else { MAX_BYTES };
        let raw = self.len();
        if raw <= max {
            return self;
        }
        self.truncated = true;
        self.max_bytes = Some(max);
        self.warnings.push(format!("report-clamped:{raw}→{max}"));
        let steps: [fn(&mut Self); 6] = [
            |report| {
                report.last_session = None;
                for feature in &mut report.features {
                    feature.selectors_tried = None;
                    feature.selector_matches = None;
                }
            },
            |report| report.keep_candidates(2),
            |report| {
                for feature in &mut report.features {
                    feature.selector_counts = None;
                    feature.dom_hash = DomHash::LeftOut;
                }
            },
            |report| {
                report.url = report.url.take().map(|url| url.chars().take(MAX_URL).collect());
            },
            |report| report.keep_candidates(1),
            |report| {
                report.features.clear();
                report.semantic_targets = None;
                if let Some(SnapshotReport::Taken(snapshot)) = &mut report.snapshot {
                    snapshot.top_refs.truncate(2);
                }
            },
        ];
        for step in steps {
            step(&mut self);
            if self.len() <= max {
                break;
            }
        }
        self
    }

    fn keep_candidates(&mut self, count: usize) {
        for candidates in self.semantic_targets.iter_mut().flat_map(BTreeMap::values_mut) {
            candidates.truncate(count);
        }
    }
}

impl fmt::Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.as_deref().unwrap_or("no tab");
        writeln!(f, "doctor {}  worst={}  {url}", self.vendor, self.worst())?;
        write!(f, "captured: {}", self.captured_at)?;
        for feature in &self.features {
            let counts = feature.selector_counts.unwrap_or_default();
            let hash = feature.dom_hash.as_str().unwrap_or("-");
            let (matched, tried) = (counts.matched, counts.tried);
            write!(
                f,
                "\n  {:<4}  {:<22}  {matched}/{tried} selectors  {hash}",
                feature.state, feature.feature
            )?;
        }
        match &self.snapshot {
            Some(SnapshotReport::Taken(snapshot)) => write!(
                f,
                "\nsnapshot: {} refs, about {} tokens, axHash {}",
                snapshot.interactive_count,
                snapshot.token_estimate,
                snapshot.ax_hash.as_deref().unwrap_or("-")
            )?,
            Some(SnapshotReport::Failed { error_code, .. }) => {
                write!(f, "\nsnapshot: failed, {error_code}")?;
            }
            None => {}
        }
        for (feature, candidates) in self.semantic_targets.iter().flatten() {
            let best = candidates.first().map(|best| match (&best.ref_name, &best.selector) {
                (Some(name), _) => name.clone(),
                (None, selector) => selector.clone().unwrap_or_default(),
            });
            write!(
                f,
                "\n  {feature:<22}  {} candidates  {}",
                candidates.len(),
                best.unwrap_or_else(|| "-".into())
            )?;
        }
        if let Some(session) = &self.last_session {
            let (id, status) = (&session.session_id, session.status.as_str());
            write!(f, "\nlast session: {id}  {status}  {} characters", session.response_chars)?;
        }
        match self.warnings.is_empty() {
            true => Ok(()),
            false => write!(f, "\nwarnings: {}", self.warnings.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendor::Vendors;

    fn report(candidates: usize) -> DoctorReport {
        let vendors = Vendors::load(None).unwrap();
        let vendor = vendors.get("chatgpt").unwrap();
        let count = |css: &String| SelectorCount {
            selector: css.clone(),
            matched: 2,
            visible: true,
            invalid: false,
        };
        let mut seen = Inspection::default();
        for (feature, target) in &vendor.targets {
            seen.features
                .insert(feature.key().into(), target.css_fallbacks.iter().map(count).collect());
        }
        let candidate = CandidateReport {
            source: CandidateSource::SnapshotRef,
            ref_name: Some("@e1".into()),
            role: Some("textbox".into()),
            selector: None,
            count: None,
            confidence: 5.0,
            name_hash: Some("sha256:db3b468279f9".into()),
            name_chars: Some(15),
        };
        let targets = vendor
            .targets
            .keys()
            .map(|it| (it.key().to_owned(), vec![candidate.clone(); candidates]));
        DoctorReport {
            vendor: "chatgpt".into(),
            url: Some("https://chatgpt.com/".into()),
            captured_at: "2026-01-04T21:15:00Z".into(),
            features: features(vendor, &seen),
            snapshot: Some(SnapshotReport::Taken(DoctorSnapshot {
                enabled: true,
                ..DoctorSnapshot::default()
            })),
            semantic_targets: Some(targets.collect()),
            ..DoctorReport::default()
        }
    }

    #[test]
    fn report_keeps_to_its_limit_and_its_snapshot() {
        for (candidates, full) in [(0, false), (1, false), (8, false), (60, false), (200, true)] {
            let options = DoctorOptions { with_snapshot: true, full };
            let whole = report(candidates);
            let raw = whole.len();
            let clamped = whole.clone().clamped(options);
            let max = if full { MAX_BYTES_FULL } else { MAX_BYTES };
            assert!(clamped.len() <= max, "{candidates}: {} bytes", clamped.len());
            assert!(clamped.snapshot.is_some());
            assert_eq!(clamped.truncated, raw > max);
            if raw > max {
                assert_eq!(clamped.warnings, [format!("report-clamped:{raw}→{max}")]);
                assert_eq!(clamped.max_bytes, Some(max));
            } else {
                assert_eq!(clamped, whole);
            }
        }
    }

    #[test]
    fn address_shows_only_what_the_vendor_file_knows() {
        let vendors = Vendors::load(None).unwrap();
        let vendor = vendors.get("chatgpt").unwrap();
        for (url, expected) in [
            ("https://chatgpt.com/", "https://chatgpt.com/"),
            ("https://chatgpt.com/c/canary-1?q=canary#canary", "https://chatgpt.com/c/…"),
            ("https://user:canary@chatgpt.com:8443/canary", "https://chatgpt.com/…"),
            ("about:blank", "about"),
        ] {
            assert_eq!(content_safe_url(url, vendor), expected, "{url}");
        }
    }

    #[test]
    fn missing_element_has_a_null_hash_and_a_clamped_one_none() {
        let feature = |dom_hash| FeatureReport { dom_hash, ..FeatureReport::default() };
        let json = |feature| serde_json::to_value(feature).unwrap();
        assert!(json(feature(DomHash::Missing))["domHash"].is_null());
        assert!(json(feature(DomHash::Missing)).get("domHash").is_some());
        assert!(json(feature(DomHash::LeftOut)).get("domHash").is_none());
    }

    fn read<T: serde::de::DeserializeOwned>(json: &str) -> T {
        serde_json::from_str(json).unwrap()
    }

    /// A browser whose pages can be inspected, but give no snapshot.
    struct WithoutSnapshot;

    impl Driver for WithoutSnapshot {
        async fn run(&self, request: browser::Request) -> Result<browser::Outcome> {
            let reply = match request.command {
                browser::Command::Tabs(_) => browser::Reply::Tabs(read(
                    r#"{"tabs": [{"id": "t1", "current": true, "url": "https://chatgpt.com/", "title": "",
                    "phase": "loaded", "busy": false, "crashed": false, "frames": 0, "workers": 0}]}"#,
                )),
                browser::Command::Eval(_) => browser::Reply::Eval(read(
                    r#"{"type": "object", "value": {"here": {"features": {}, "skeletons": {}}}}"#,
                )),
                _ => return Err(browser::Error::new(Code::SnapshotUnavailable)),
            };
            Ok(browser::Outcome { reply, tab: None, notes: Vec::new() })
        }

        fn supports(&self) -> browser::Capabilities {
            browser::Capabilities::remote()
        }

        fn events(&self) -> browser::EventStream {
            unreachable!("no event is listened to")
        }
    }

    #[test]
    fn run_doctor_records_snapshot_failed_warning_and_continues_when_snapshot_capture_fails() {
        let vendors = Vendors::load(None).unwrap();
        let options = DoctorOptions { with_snapshot: true, full: false };
        let choice = TabChoice::default();
        let vendor = vendors.get("chatgpt").unwrap();
        let run = doctor(&WithoutSnapshot, &choice, vendor, options, "now".into());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let report = runtime.block_on(run).unwrap();
        assert_eq!(report.warnings, ["snapshot-failed:snapshot.unavailable"]);
        assert_eq!(report.features.len(), 6);
        let snapshot = serde_json::to_value(&report.snapshot).unwrap();
        let expected = serde_json::json!({
            "enabled": false,
            "contentSafe": true,
            "errorCode": "snapshot.unavailable",
            "retryHint": "pin-playwright-or-add-cdp-fallback",
        });
        assert_eq!(snapshot, expected);
    }
}
