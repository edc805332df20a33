//! Tests that need a process of their own: the other tests share one process and its browser.

use crate::harness::{browser_test, tab_id};
use crate::snapshot::{open_html, snapshot_text};
use crate::storage::{load, run_in_other_context, save, stored};
use agbrowse_browser::command::{NewTab, Snapshot, TabAction, TabCommand};
use agbrowse_browser::{Command, StorageState};
use std::sync::{Arc, Mutex};

#[test]
fn storage_load_leaves_no_tab() {
    browser_test(async |t| {
        t.page("/", "<title>shop</title>");
        t.open("/").await;
        t.eval("localStorage.name = 'stored'; 1").await;
        let there = NewTab { url: Some(t.other_url("/")), ..NewTab::default() };
        tab_id(t.run(Command::Tab(TabCommand { action: TabAction::New(there) })).await);
        t.eval("localStorage.name = 'stored'; 1").await;
        let before = t.browser.tab_count();
        let (saved, _) = stored(t.run(save()).await);
        let state = StorageState::parse(&saved.data).unwrap();
        let (loaded, _) = stored(run_in_other_context(&t, load(state)).await);
        assert_eq!(loaded.origins, 2);
        assert_eq!(t.browser.tab_count(), before);
    });
}

#[test]
fn snapshot_phases_are_traced() {
    let recorded = Arc::new(Mutex::new(Vec::new()));
    tracing::subscriber::set_global_default(Tracer { recorded: recorded.clone() })
        .expect("the only one");
    browser_test(async |t| {
        open_html(&t, "<p>Words", Snapshot::default()).await;
        snapshot_text(&t, Snapshot::default()).await;
    });
    let recorded = recorded.lock().unwrap();
    for expected in
        ["browser_initialize", "capture_snapshot", "format_snapshot", "cache=miss", "cache=hit"]
    {
        let is_there = |name: &String| name == expected || name.replace('"', "") == expected;
        assert!(recorded.iter().any(is_there), "{expected} in {recorded:?}");
    }
}

#[test]
fn long_report_is_reassembled_from_chunks() {
    let recorded = Arc::new(Mutex::new(Vec::new()));
    tracing::subscriber::set_global_default(Tracer { recorded: recorded.clone() })
        .expect("the only one");
    browser_test(async |t| {
        // With characters that take two UTF-16 units in JavaScript, and a lone surrogate at the end.
        let list = |name: &str, frames: &str| {
            format!(
                "<!doctype html><title>Page</title><body>{frames}<script>for (let n = 0; n < 4000; n++) {{
                   const it = document.body.appendChild(document.createElement('button'));
                   it.textContent = `{name} ${{n}} \u{1f600} and so many more words that all of them together are more than goes at once`;
                 }}
                 document.body.append('The end of {name}\\ud83d')</script>"
            )
        };
        let frames = format!(
            "<iframe src='{}'></iframe><iframe src='{}'></iframe>",
            t.url("/same"),
            t.other_url("/other")
        );
        t.page("/same", list("same", "")).page("/other", list("other", ""));
        t.page("/", list("top", &frames));
        t.open("/").await;
        let all = || Snapshot { max_depth: Some(20), fresh: true, ..Snapshot::default() };
        for round in 0..2 {
            let text = snapshot_text(&t, all()).await;
            for name in ["top", "same", "other"] {
                let numbers = (0..4000).map(|n| {
                    format!("button \"{name} {n} \u{1f600} and so many more words that all of them together are more than goes at once\"")
                });
                let mut rest = &*text;
                for expected in numbers.chain([format!("The end of {name}\u{fffd}")]) {
                    let found = rest.find(&expected);
                    let at = found.unwrap_or_else(|| panic!("no {expected} in its place, {round}"));
                    rest = &rest[at + expected.len()..];
                }
                assert_eq!(text.matches(&format!("button \"{name} ")).count(), 4000);
            }
        }
    });
    let recorded = recorded.lock().unwrap();
    let chunks = recorded.iter().filter_map(|it| it.strip_prefix("chunks=")?.parse().ok());
    // A fresh snapshot reuses nothing from the cache: three documents each time.
    let counts: Vec<u32> = chunks.filter(|count| *count > 0).collect();
    assert!(counts.len() >= 6 && counts.iter().all(|count| *count > 1), "{counts:?}");
}

/// Tracing subscriber that records span names and the `cache` and `chunks` fields.
struct Tracer {
    recorded: Arc<Mutex<Vec<String>>>,
}

impl tracing::Subscriber for Tracer {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("agbrowse")
    }
    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        let mut recorded = self.recorded.lock().unwrap();
        recorded.push(span.metadata().name().to_owned());
        tracing::span::Id::from_u64(recorded.len() as u64)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        struct Fields<'a>(&'a mut Vec<String>);
        impl tracing::field::Visit for Fields<'_> {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                if matches!(field.name(), "cache" | "chunks") {
                    self.0.push(format!("{}={value:?}", field.name()));
                }
            }
        }
        // Cache hits are logged at debug level.
        if *event.metadata().level() != tracing::Level::DEBUG {
            return;
        }
        event.record(&mut Fields(&mut self.recorded.lock().unwrap()));
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}
