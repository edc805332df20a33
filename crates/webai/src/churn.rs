//! The churn log: one line per feature whose tags have changed since the last report. Hashes only.

use crate::doctor::{DoctorReport, DomHash};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

/// Most lines that are kept.
const MAX_LINES: usize = 500;

/// A change of a feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChurnRecord {
    /// `vendor:feature`.
    pub key: String,
    /// The vendor.
    pub vendor: String,
    /// The feature.
    pub feature: String,
    /// The hash of its tags.
    pub dom_hash: Option<String>,
    /// The hash before.
    pub previous_hash: Option<String>,
    /// Its state.
    pub state: String,
    /// The time of the report.
    pub captured_at: String,
}

/// Appends the changes of a report to the log at a path. The file is replaced as a whole, so that it is never half
/// written.
pub(crate) fn record(path: &Path, report: &DoctorReport) -> std::io::Result<()> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    // A damaged line is dropped.
    let mut lines: Vec<ChurnRecord> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let last: HashMap<String, Option<String>> =
        lines.iter().map(|line| (line.key.clone(), line.dom_hash.clone())).collect();
    let before = lines.len();
    for feature in &report.features {
        let hash = match &feature.dom_hash {
            DomHash::Hash(hash) => Some(hash.clone()),
            DomHash::Missing => None,
            DomHash::LeftOut => continue,
        };
        let key = format!("{}:{}", report.vendor, feature.feature);
        let previous = last.get(&key);
        if previous == Some(&hash) {
            continue;
        }
        lines.push(ChurnRecord {
            key,
            vendor: report.vendor.clone(),
            feature: feature.feature.clone(),
            dom_hash: hash,
            previous_hash: previous.cloned().flatten(),
            state: feature.state.to_string(),
            captured_at: report.captured_at.clone(),
        });
    }
    if lines.len() == before {
        return Ok(());
    }
    let kept = lines.len().saturating_sub(MAX_LINES);
    let mut text = Vec::new();
    for line in &lines[kept..] {
        serde_json::to_writer(&mut text, line)?;
        text.push(b'\n');
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut file = std::fs::File::create(&temporary)?;
    let written = file.write_all(&text).and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        _ = std::fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::FeatureReport;

    #[test]
    fn only_changes_are_logged_and_the_log_stays_short() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/churn-log.jsonl");
        let report = |hash: &str| DoctorReport {
            vendor: "chatgpt".into(),
            features: vec![FeatureReport {
                feature: "composer".into(),
                dom_hash: DomHash::Hash(hash.into()),
                ..FeatureReport::default()
            }],
            ..DoctorReport::default()
        };
        let lines = || -> Vec<ChurnRecord> {
            let text = std::fs::read_to_string(&path).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        for hash in ["a", "a", "b", "b", "a"] {
            record(&path, &report(hash)).unwrap();
        }
        let hashes: Vec<_> =
            lines().into_iter().map(|line| (line.previous_hash, line.dom_hash.unwrap())).collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(hashes, [(None, "a".into()), (some("a"), "b".into()), (some("b"), "a".into())]);
        for number in 0..MAX_LINES + 20 {
            record(&path, &report(&number.to_string())).unwrap();
        }
        assert_eq!(lines().len(), MAX_LINES);
        std::fs::write(&path, "damaged\n").unwrap();
        record(&path, &report("c")).unwrap();
        assert_eq!(lines().len(), 1);
    }
}
