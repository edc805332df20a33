//! Snapshots: content, ref assignment, ref resolution, and caching.

mod cache;
mod find_root_delta;
mod frames;
mod output;
mod ref_assignment;
mod refs;
mod visibility;

use crate::harness::TestContext;
use agbrowse_browser::command::{Get, Property, Snapshot, SnapshotReply, TextFormat};
use agbrowse_browser::page::snapshot::WebAiSnapshot;
use agbrowse_browser::{Command, Error, Outcome, Reply};
use std::fmt::Write as _;

/// `snapshot`, with options.
pub fn snapshot(options: Snapshot) -> Command {
    Command::Snapshot(options)
}

/// The format of MCP clients.
pub fn viewpoint() -> Snapshot {
    Snapshot { format: TextFormat::Viewpoint, ..Snapshot::default() }
}

/// `get WHAT TARGET`.
pub fn get(what: Property, target: &str) -> Command {
    Command::Get(Get { what, target: target.parse().expect("a target"), name: None, nth: None })
}

/// Takes a snapshot and returns its text.
pub async fn snapshot_text(t: &TestContext, options: Snapshot) -> String {
    t.run(snapshot(options))
        .await
        .unwrap_or_else(|error| panic!("snapshot: {error}"))
        .reply
        .to_string()
}

/// Opens a page with this markup and returns its snapshot text; refs are numbered from 1.
pub async fn open_html(t: &TestContext, html: &str, options: Snapshot) -> String {
    t.page("/", format!("<!doctype html><title>Page</title>{html}"));
    t.open("/").await;
    renumbered(&snapshot_text(t, options).await)
}

/// Takes a snapshot with hashes, refs and counts.
pub async fn details(t: &TestContext, options: Snapshot) -> WebAiSnapshot {
    let details = Snapshot { details: true, ..options };
    match t.run(snapshot(details)).await.expect("a snapshot").reply {
        Reply::Snapshot(SnapshotReply::Full(full)) => *full,
        other => panic!("no details: {other:?}"),
    }
}

/// The text with its refs numbered from 1: `@e1` for `@e17`, `e1` for `e12345`.
pub fn renumbered(text: &str) -> String {
    let mut out = String::new();
    let mut known: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("ref=") {
        let (before, from) = rest.split_at(at + 4);
        out.push_str(before);
        let end = from.find([']', ' ']).expect("a ref ends");
        // Refs of this format have the name of the test's context as prefix.
        let name = from[..end].rsplit(':').next().expect("there is one part");
        let number = known.iter().position(|it| *it == name).unwrap_or_else(|| {
            known.push(name);
            known.len() - 1
        });
        let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        let _ = write!(out, "{}{}", &name[..name.len() - digits.len()], number + 1);
        rest = &from[end..];
    }
    out + rest
}

/// The ref in the line with these words.
pub fn ref_of(text: &str, words: &str) -> String {
    let line = text.lines().find(|line| line.contains(words));
    let line = line.unwrap_or_else(|| panic!("no {words:?} in\n{text}"));
    let (_, from) = line.rsplit_once("ref=").unwrap_or_else(|| panic!("no ref: {line}"));
    from[..from.find([']', ' ']).expect("a ref ends")].to_owned()
}

/// Whether the line with these words has a ref.
pub fn has_ref(text: &str, words: &str) -> bool {
    let line = text.lines().find(|line| line.contains(words));
    line.unwrap_or_else(|| panic!("no {words:?} in\n{text}")).contains("ref=")
}

pub fn value(outcome: Outcome) -> String {
    match outcome.reply {
        Reply::Get(got) => got.value.unwrap_or_default(),
        other => panic!("nothing read: {other:?}"),
    }
}

pub fn message(error: &Error) -> &str {
    &error.details().message
}

/// Checks the exact snapshot text of each page, below its first line.
pub async fn check(t: &TestContext, cases: &[(&str, &str, &str)]) {
    for (case, html, expected) in cases {
        let text = open_html(t, html, Snapshot::default()).await;
        let below = text.split_once('\n').map_or("", |(_, below)| below);
        assert_eq!(below, *expected, "{case}");
    }
}
