//! Frame reports: the observer's text for one document, and patches to the previous one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The observer's report of one document.
#[derive(Clone, Debug)]
pub(crate) struct FrameReport {
    pub(crate) text: Arc<str>,
    /// Elements with click listeners.
    pub(crate) listening: HashSet<u32>,
    /// Frame owner elements in the report.
    pub(crate) holders: HashSet<u32>,
    /// Those of them with an empty frame, and its URL.
    pub(crate) blank: HashMap<u32, &'static str>,
}

impl FrameReport {
    /// The report of an error page.
    pub(crate) fn unreachable() -> Self {
        Self::new(empty_report("chrome-error://chromewebdata/", "null").into(), HashSet::new())
    }

    /// The report of the empty frame of an owner element.
    pub(crate) fn blank_inside(&self, holder: u32) -> Option<Self> {
        let url = self.blank.get(&holder)?;
        Some(Self::new(empty_report(url, head(&self.text, 2)).into(), HashSet::new()))
    }

    /// A report with its click listeners; frame owners are parsed from its first line.
    pub(crate) fn new(report: Arc<str>, listening: HashSet<u32>) -> Self {
        let holders = holders_in(&report).map(|(number, _)| number).collect();
        let blank = holders_in(&report).filter_map(|(number, url)| Some((number, url?))).collect();
        Self { text: report, listening, holders, blank }
    }
}

pub(super) fn empty_report(url: &str, origin: &str) -> String {
    format!("1\t{url}\t{origin}\t\t0\t0\t0\t\t0\n0\twebarea\t1\t\tff\n")
}

/// A field of the report's first line.
pub(super) fn head(report: &str, field: usize) -> &str {
    report.lines().next().and_then(|line| line.split('\t').nth(field)).unwrap_or("0")
}

/// The frame owner elements of a report, with the URLs of empty frames.
pub(super) fn holders_in(report: &str) -> impl Iterator<Item = (u32, Option<&'static str>)> {
    head(report, 7).split(',').filter_map(|word| {
        let number = word.trim_end_matches(['-', '=']);
        let url = match &word[number.len()..] {
            "-" => Some("about:blank"),
            "=" => Some("about:srcdoc"),
            _ => None,
        };
        Some((number.parse().ok()?, url))
    })
}

/// True if a report has elements that may host an unknown shadow root.
pub(super) fn may_host(report: &str) -> bool {
    head(report, 4) != "0"
}

/// Applies a patch to the previous report: how many lines after the first and how many at the end are the same, the
/// first line, and the lines in between.
pub(super) fn apply_patch(last: &str, changes: &str) -> Option<String> {
    let (counts, rest) = changes.split_once('\n')?;
    let (same, tail) = counts.split_once('\t')?;
    let (same, tail): (usize, usize) = (same.parse().ok()?, tail.parse().ok()?);
    let (head, between) = match rest.split_once('\n') {
        Some((head, between)) => (head, Some(between)),
        None => (rest, None),
    };
    let (_, body) = last.split_once('\n')?;
    let ends = || body.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at);
    let before = |count| &body[..ends().nth(count).unwrap_or(body.len())];
    let after = |count| ends().nth_back(count).map_or(body, |at| &body[at + 1..]);
    let begin = same.checked_sub(1).map(before);
    let end = tail.checked_sub(1).map(after);
    let parts: Vec<&str> = [Some(head), begin, between, end].into_iter().flatten().collect();
    Some(parts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::apply_patch;

    #[test]
    fn patch_is_applied_to_the_previous_report() {
        let last = "head\na\nb\nc\n";
        for (changes, expected) in [
            ("3\t1\nnew", "new\na\nb\nc\n"),
            ("1\t2\nnew\nB", "new\na\nB\nc\n"),
            ("0\t3\nnew\nA", "new\nA\nb\nc\n"),
            ("1\t1\nnew", "new\na\n"),
            ("3\t1\nnew\nd\ne", "new\na\nb\nc\nd\ne\n"),
            ("0\t0\nnew\nx\n", "new\nx\n"),
            ("0\t4\nnew\nz", "new\nz\na\nb\nc\n"),
            ("4\t0\nnew", "new\na\nb\nc\n"),
        ] {
            assert_eq!(apply_patch(last, changes).as_deref(), Some(expected), "{changes:?}");
        }
        assert_eq!(apply_patch(last, "1"), None);
        assert_eq!(apply_patch(last, "x\t1\nnew"), None);
        assert_eq!(apply_patch("", "0\t0\nnew"), None);
    }
}
