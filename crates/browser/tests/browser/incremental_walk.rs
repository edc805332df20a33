//! An incremental walk reuses the unchanged parts of the walk before. It must never show stale content: after any
//! change, its snapshot equals that of a fresh walk.
//!
//! Seeded; the seed is printed, and `AGBROWSE_SEED` repeats a run. The long version runs under `./dev soak`.

use crate::harness::{browser_test, eval, open, seed};
use crate::snapshot::{snapshot, snapshot_text};
use agbrowse_browser::command::{Snapshot, TreeSource};
use agbrowse_browser::launch::Options;
use agbrowse_browser::{Browser, Request};
use std::time::{Duration, Instant};

const PAGE: &str = include_str!("changes.html");

#[test]
fn torture_incremental_walk_equals_fresh_walk() {
    browser_test(async |t| {
        let seed = seed();
        let rounds = if std::env::var_os("AGBROWSE_SOAK").is_some() { 2000 } else { 100 };
        t.page("/", PAGE);
        let mut state = seed;
        let mut steps = Vec::new();
        for round in 0..rounds {
            // Changes accumulate until little is left of the page.
            if round % 40 == 0 {
                t.open("/").await;
                steps.clear();
                snapshot_text(&t, Snapshot::default()).await;
            }
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Every fourth step moves the mouse, mostly into nested shadow trees.
            if (state >> 40).is_multiple_of(4) {
                let at = t.eval(&format!("spot({})", state >> 33)).await;
                let at = at.trim_matches('"');
                let hover = format!(r#"{{"verb":"hover","target":"xy={at}","noDelta":true}}"#);
                let outcome = t.run(serde_json::from_str(&hover).unwrap()).await;
                steps.push(format!("hover {at}: {}", outcome.is_ok()));
            } else {
                steps.push(t.eval(&format!("step({})", state >> 33)).await);
            }
            // An element that moved under the mouse is hovered from the next frame on.
            t.eval("frames(1)").await;
            let over = t.eval("hovered()").await;
            let quick = snapshot_text(&t, Snapshot::default()).await;
            let fresh = snapshot_text(&t, Snapshot { fresh: true, ..Snapshot::default() }).await;
            // The browser updates the hovered element after a layout change: rounds in which that happened are skipped.
            if quick != fresh && over == t.eval("hovered()").await {
                let lines = quick.lines().zip(fresh.lines()).find(|(quick, fresh)| quick != fresh);
                panic!(
                    "round {round}, repeat with AGBROWSE_SEED={seed}: {lines:?}, {} and {} lines, after {steps:?}",
                    quick.lines().count(),
                    fresh.lines().count()
                );
            }
        }
    });
}

#[test]
fn changed_document_title_is_shown() {
    browser_test(async |t| {
        t.page("/", "<title>One</title><ul><li>a<li>b<li>c</ul><button>Go</button>");
        t.open("/").await;
        assert!(snapshot_text(&t, Snapshot::default()).await.contains("webarea \"One\""));
        t.eval("document.title = 'Two'").await;
        let quick = snapshot_text(&t, Snapshot::default()).await;
        assert!(quick.contains("webarea \"Two\""), "{quick}");
        assert_eq!(quick, snapshot_text(&t, Snapshot { fresh: true, ..Snapshot::default() }).await);
    });
}

#[test]
fn removed_elements_are_garbage_collected() {
    browser_test(async |t| {
        t.page("/", "<h1>Here</h1><p-art id=gone>Gone soon</p-art>");
        let collecting =
            Options { args: vec!["--js-flags=--expose-gc".into()], ..Options::default() };
        let browser = Browser::new(collecting);
        let run =
            async |command| browser.run(Request::new(command)).await.expect("the command succeeds");
        run(open(&t.url("/"))).await;
        for _ in 0..3 {
            let fresh = Snapshot { fresh: true, ..Snapshot::default() };
            assert!(run(snapshot(fresh)).await.reply.to_string().contains("Gone soon"));
        }
        run(eval("window.weak = new WeakRef(window.gone); window.gone.remove()")).await;
        assert!(!run(snapshot(Snapshot::default())).await.reply.to_string().contains("Gone soon"));
        let is_alive = "new Promise((resolve) => setTimeout(() => { gc(); resolve(weak.deref() !== undefined) }))";
        let limit = Instant::now() + Duration::from_secs(60);
        while run(eval(is_alive)).await.reply.to_string() == "true" {
            assert!(Instant::now() < limit, "a removed element is not garbage-collected");
        }
        browser.close().await;
    });
}

/// Text that becomes a link when a script adds a click listener.
const LATE_LINK: &str = "<a id=late>Listens</a>";
const ADD_LISTENER: &str = "document.getElementById('late').addEventListener('click', () => {})";

#[test]
fn listener_found_at_end_of_walk_is_reported() {
    browser_test(async |t| {
        t.page("/", LATE_LINK);
        t.open("/").await;
        // After a first walk there is no prewalk.
        snapshot_text(&t, Snapshot::default()).await;
        // Simulates a listener lookup that ends at that moment.
        let patch = "MutationObserver.prototype.observe = ((was) => function (...all) {
            queueMicrotask(() => agbrowse.addListenerTargets(document.getElementById('late')));
            return was.apply(this, all);
        })(MutationObserver.prototype.observe)";
        t.browser.run_in_world(&t.context, patch).await.expect("the patch is installed");
        t.eval(ADD_LISTENER).await;
        let text = snapshot_text(&t, Snapshot::default()).await;
        assert!(text.contains("link \"Listens\""), "{text}");
    });
}

#[test]
fn listener_added_during_first_walk_is_reported() {
    browser_test(async |t| {
        let script =
            format!("<script>document.addEventListener('now', () => {ADD_LISTENER})</script>");
        t.page("/", format!("{LATE_LINK}{script}"));
        t.open("/").await;
        snapshot_text(&t, Snapshot::default()).await;
        let patch = "MutationObserver.prototype.observe = ((was) => function (...all) {
            document.dispatchEvent(new Event('now'));
            return was.apply(this, all);
        })(MutationObserver.prototype.observe)";
        t.browser.run_in_world(&t.context, patch).await.expect("the patch is installed");
        let tab = t.tabs().await[0].id;
        t.browser.set_cache_lifetime(tab, Duration::from_secs(3600)).await.unwrap();
        snapshot_text(&t, Snapshot { fresh: true, ..Snapshot::default() }).await;
        // No mutation reports it, and the cache does not expire here.
        while !snapshot_text(&t, Snapshot::default()).await.contains("link \"Listens\"") {}
    });
}

#[test]
fn listener_added_after_ax_snapshot_is_reported() {
    browser_test(async |t| {
        t.page("/", LATE_LINK);
        t.open("/").await;
        snapshot_text(&t, Snapshot { source: TreeSource::Ax, ..Snapshot::default() }).await;
        t.eval(ADD_LISTENER).await;
        let text = snapshot_text(&t, Snapshot::default()).await;
        assert!(text.contains("link \"Listens\""), "{text}");
    });
}

#[test]
fn has_selector_in_shadow_tree_is_applied() {
    browser_test(async |t| {
        let items = "<li>One<li>Two<li>Three<li>Four<li>Five<li>Six<li>Seven";
        t.page(
            "/",
            format!(
                "<div><template shadowrootmode=open><style>main:has(.chosen) .right {{ display: none }}</style>
                 <main><ul class=left>{items}</ul><ul class=right>{items}</ul></main></template></div>"
            ),
        );
        t.open("/").await;
        let count = |text: String| text.matches("Seven").count();
        assert_eq!(count(snapshot_text(&t, Snapshot::default()).await), 2);
        t.eval("document.querySelector('div').shadowRoot.querySelector('li').className = 'chosen'")
            .await;
        assert_eq!(count(snapshot_text(&t, Snapshot::default()).await), 1);
    });
}

#[test]
fn changes_survive_interrupted_prewalk() {
    browser_test(async |t| {
        // The prewalk begins with the parsed text; on load all of it changes, more than fits one slice of it.
        t.page(
            "/",
            "<!doctype html><title>Long</title><main id=m></main><script>
               const part = (n, word) => `<section id=s${n}>${Array.from({ length: 12 }, (_, i) =>
                 `<p>${word} ${n} <a href=#${i}>link ${i}</a> and <b>more</b>`).join('')}</section>`;
               m.innerHTML = Array.from({ length: 150 }, (_, n) => part(n, 'Old')).join('');
               const idle = () => new Promise((over) => requestIdleCallback(over));
               onload = async () => {
                 for (let n = 0; n < 150; n++) document.getElementById('s' + n).innerHTML = part(n, 'New');
                 for (let n = 0; n < 8; n++) await idle();
                 document.title = 'Ready';
               }</script>",
        );
        t.open("/").await;
        t.eval("new Promise((over) => { const look = () => document.title === 'Ready' ? over(1) : setTimeout(look, 5); look() })").await;
        let text = snapshot_text(
            &t,
            Snapshot { no_interactive: true, max_depth: Some(20), ..Snapshot::default() },
        )
        .await;
        for n in 0..150 {
            assert!(text.contains(&format!("\"New {n}\"")), "New {n} is missing");
            assert!(!text.contains(&format!("\"Old {n}\"")), "Old {n} is shown");
        }
    });
}
