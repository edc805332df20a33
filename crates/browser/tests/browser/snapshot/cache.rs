//! Cache of snapshots and its invalidation.

use super::{open_html, snapshot, snapshot_text};
use crate::harness::{TestContext, browser_test, eval};
use agbrowse_browser::command::{Snapshot, SnapshotReply};
use agbrowse_browser::{Reply, TabId};
use std::time::Duration;

/// Longer than any test.
const FOREVER: Duration = Duration::from_secs(3600);

/// Two tabs of one site, so that one can change the other without a command on it.
async fn two_tabs(t: &TestContext, html: &str) -> (TabId, TabId) {
    t.page("/", format!("<title>Page</title>{html}"));
    t.page("/side", "<title>Side</title>");
    t.open("/").await;
    let first = t.tabs().await[0].id;
    t.run_on(first, eval("window.open('side', 'side'); 1")).await.unwrap();
    let tabs = t.tabs_until(|tabs| tabs.iter().any(|tab| tab.title == "Side")).await;
    (first, tabs.iter().find(|tab| tab.id != first).unwrap().id)
}

async fn snapshot_text_on(t: &TestContext, tab: TabId, options: Snapshot) -> String {
    t.run_on(tab, snapshot(options))
        .await
        .unwrap_or_else(|error| panic!("{error}"))
        .reply
        .to_string()
}

/// A stylesheet change from another tab, which fires no event.
const SILENT_STYLE_CHANGE: &str =
    "opener.document.styleSheets[0].insertRule('p:first-of-type { display: none }'); 1";
const STYLED_PAGE: &str = "<style></style><p>first</p><p>second</p>";

#[test]
fn unchanged_page_is_served_from_cache() {
    browser_test(async |t| {
        let (first, side) = two_tabs(&t, STYLED_PAGE).await;
        assert!(snapshot_text_on(&t, first, Snapshot::default()).await.contains("\"first\""));
        t.run_on(side, eval(SILENT_STYLE_CHANGE)).await.unwrap();
        assert!(snapshot_text_on(&t, first, Snapshot::default()).await.contains("\"first\""));
        // Other options are not served from the cache; `fresh` never is.
        let fresh = Snapshot { fresh: true, ..Snapshot::default() };
        assert!(!snapshot_text_on(&t, first, fresh).await.contains("\"first\""));
        assert!(!snapshot_text_on(&t, first, Snapshot::default()).await.contains("\"first\""));
    });
}

#[test]
fn all_refs_takes_fresh_snapshot_and_keeps_cache() {
    browser_test(async |t| {
        let (first, side) = two_tabs(&t, STYLED_PAGE).await;
        assert!(snapshot_text_on(&t, first, Snapshot::default()).await.contains("\"first\""));
        t.run_on(side, eval(SILENT_STYLE_CHANGE)).await.unwrap();
        let all = Snapshot { all_refs: true, ..Snapshot::default() };
        assert!(!snapshot_text_on(&t, first, all.clone()).await.contains("\"first\""));
        assert!(snapshot_text_on(&t, first, Snapshot::default()).await.contains("\"first\""));
        // Changes in between are still noticed.
        t.run_on(first, eval("document.body.append('More'); 1")).await.unwrap();
        assert!(snapshot_text_on(&t, first, all).await.contains("More"));
        let text = snapshot_text_on(&t, first, Snapshot::default()).await;
        assert!(text.contains("More") && !text.contains("\"first\""), "{text}");
    });
}

#[test]
fn script_change_is_visible_at_once() {
    browser_test(async |t| {
        open_html(&t, "<h1 id=x>0</h1><input id=y aria-label=Name>", Snapshot::default()).await;
        for n in 1..=40 {
            t.eval(&format!("x.textContent = 'Heading {n}'; 1")).await;
            let text = snapshot_text(&t, Snapshot::default()).await;
            assert!(text.contains(&format!("\"Heading {n}\"")), "{n}:\n{text}");
            t.eval(&format!("y.value = 'value {n}'; 1")).await;
            let text = snapshot_text(&t, Snapshot::default()).await;
            assert!(text.contains(&format!("\"value {n}\"")), "{n}:\n{text}");
        }
    });
}

#[test]
fn stylesheet_change_is_visible_at_once() {
    browser_test(async |t| {
        let html = "<style id=s>.a { color: green } .b { color: blue }</style><p class=a>One</p><p class=b>Two</p>
            <script>added = new CSSStyleSheet(); added.replaceSync('.c { color: red }');
              document.adoptedStyleSheets.push(added)</script>";
        for script in [
            "s.sheet.cssRules[0].style.display = 'none'; 1",
            "document.styleSheets[0].cssRules[0].selectorText = '.x, .a'; added.replaceSync('.a { opacity: 0 }'); 1",
        ] {
            assert!(open_html(&t, html, Snapshot::default()).await.contains("\"One\""));
            t.eval(script).await;
            let text = snapshot_text(&t, Snapshot::default()).await;
            assert!(!text.contains("\"One\"") && text.contains("\"Two\""), "{script}:\n{text}");
        }
        // Done by the page itself, without an event: only `fresh` is certain to see it.
        t.page("/late", format!("{html}<button onclick=\"added.replaceSync('.a {{ display: none }}')\">Hide</button>"));
        t.open("/late").await;
        assert!(snapshot_text(&t, Snapshot::default()).await.contains("\"One\""));
        t.eval("document.querySelector('button').click(); 1").await;
        let text = snapshot_text(&t, Snapshot { fresh: true, ..Snapshot::default() }).await;
        assert!(!text.contains("\"One\"") && text.contains("\"Two\""), "{text}");
    });
}

#[test]
fn css_rules_of_any_spelling_hide_elements() {
    browser_test(async |t| {
        for (style, html) in [
            (r".\32 xl\:hidden { display: none }", "<p class='2xl:hidden'>Hidden</p>"),
            (r".\32 xl\:hidden p { display: none }", "<div class='2xl:hidden'><p>Hidden</p></div>"),
            (r"#\31 st { display: none }", "<p id=1st>Hidden</p>"),
            (r".w-1\/2.\!hide { display: none }", "<p class='w-1/2 !hide'>Hidden</p>"),
            (r#"[title="\"] .q"] { display: none }"#, "<p title='\"] .q'>Hidden</p>"),
            (r#"[title="a, (b"] { display: none }"#, "<p title='a, (b'>Hidden</p>"),
            (
                r#"[title=")"] > .q, .z { display: none }"#,
                "<div title=')'><p class=q>Hidden</p></div>",
            ),
            (r".\1F600 x { display: none }", "<p class='\u{1F600}x'>Hidden</p>"),
        ] {
            let text = open_html(
                &t,
                &format!("<style>{style}</style>{html}<p>Seen</p>"),
                Snapshot::default(),
            )
            .await;
            assert!(
                text.contains("\"Seen\"") && !text.contains("\"Hidden\""),
                "{style} {html}:\n{text}"
            );
        }
        // In quirks mode, classes and ids are case-insensitive.
        t.page(
            "/quirks",
            "<title>Q</title><style>.HIDE, #Gone { display: none }</style>
             <p class=hide>Hidden</p><p id=gONE>Hidden</p><p>Seen</p>",
        );
        t.open("/quirks").await;
        let text = snapshot_text(&t, Snapshot::default()).await;
        assert!(text.contains("\"Seen\"") && !text.contains("\"Hidden\""), "{text}");
        t.page("/old", "<title>O</title><body bgcolor=#000000 text=#ffffff><p>Seen</p><p><font color=#000000>Hidden</font></p>");
        t.open("/old").await;
        let text = snapshot_text(&t, Snapshot::default()).await;
        assert!(text.contains("\"Seen\"") && !text.contains("\"Hidden\""), "{text}");
    });
}

#[test]
fn spontaneous_page_change_invalidates_cache() {
    browser_test(async |t| {
        let (first, side) =
            two_tabs(&t, "<h1 id=x>Before</h1><input aria-label=Name><div id=h></div>
             <button id=b>Press</button><iframe id=f srcdoc='<p>Inside'></iframe>
             <script>inner = h.attachShadow({ mode: 'closed' }); inner.innerHTML = '<p>Before</p>'</script>").await;
        t.browser.set_cache_lifetime(first, FOREVER).await.unwrap();
        for (n, script) in [
            "opener.x.textContent = 'After 0'",
            "opener.x.setAttribute('aria-label', 'After 1')",
            "opener.document.querySelector('input').value = 'After 2';
             opener.document.querySelector('input').dispatchEvent(new opener.Event('input', { bubbles: true }))",
            "opener.x.insertAdjacentHTML('afterend', '<p>After 3')",
            "opener.inner.querySelector('p').textContent = 'After 4'",
            "opener.f.contentDocument.body.textContent = 'After 5'",
        ]
        .iter()
        .enumerate()
        {
            snapshot_text_on(&t, first, Snapshot { fresh: true, ..Snapshot::default() }).await;
            t.run_on(side, eval(&format!("{script}; 1"))).await.unwrap();
            // The notification is asynchronous; the cache does not expire here.
            while !snapshot_text_on(&t, first, Snapshot::default()).await.contains(&format!("After {n}")) {}
        }
    });
}

#[test]
fn focus_and_scroll_invalidate_cache() {
    browser_test(async |t| {
        let html = "<button id=b>Press</button><p style='margin-top: 3000px'>Below";
        let (first, side) = two_tabs(&t, html).await;
        t.browser.set_cache_lifetime(first, FOREVER).await.unwrap();
        let button = async |options: Snapshot| {
            let full = Snapshot { details: true, boxes: true, ..options };
            let reply = t.run_on(first, snapshot(full)).await.unwrap().reply;
            let Reply::Snapshot(SnapshotReply::Full(reply_details)) = reply else {
                panic!("no details")
            };
            let button =
                reply_details.refs.into_iter().find(|it| it.name == "Press").expect("a button");
            (button.focused, button.bounds.expect("a box").y)
        };
        let fresh = Snapshot { fresh: true, ..Snapshot::default() };
        let (was_focused, was_at) = button(fresh).await;
        assert!(!was_focused && was_at >= 0.0);
        for (script, is_seen) in [
            ("opener.b.focus()", (|(focused, _)| focused) as fn((bool, f32)) -> bool),
            ("opener.scrollTo(0, 500)", |(_, at)| at < -400.0),
        ] {
            t.run_on(side, eval(&format!("{script}; 1"))).await.unwrap();
            while !is_seen(button(Snapshot::default()).await) {}
        }
    });
}

#[test]
fn changed_url_is_shown() {
    browser_test(async |t| {
        t.page("/", "<!doctype html><title>Page</title><a href=x>Words</a>")
            .page("/side", "<p>Side");
        t.open("/").await;
        let first = t.tabs().await[0].id;
        t.browser.set_cache_lifetime(first, FOREVER).await.unwrap();
        t.eval(&format!("window.open({:?}); 1", t.url("/side"))).await;
        let tabs = t.tabs_until(|tabs| tabs.len() == 2 && tabs[1].url == t.url("/side")).await;
        let full = || Snapshot { details: true, urls: true, ..Snapshot::default() };
        for method in ["pushState", "replaceState"] {
            snapshot_text_on(&t, first, Snapshot { fresh: true, ..full() }).await;
            // A script of another tab: no command runs on this one.
            let script = format!("opener.history.{method}(0, '', './{method}/deeper'); 1");
            t.run_on(tabs[1].id, eval(&script)).await.unwrap();
            loop {
                let reply = t.run_on(first, snapshot(full())).await.unwrap().reply;
                let Reply::Snapshot(SnapshotReply::Full(reply_details)) = reply else {
                    panic!("no details")
                };
                let link = &reply_details.refs[0].url;
                let is_there = |url: &str| url.contains(&format!("{method}/"));
                if reply_details.url.as_deref().is_some_and(is_there) && is_there(link) {
                    break;
                }
            }
        }
    });
}

#[test]
fn cache_is_dropped_on_navigation() {
    browser_test(async |t| {
        assert!(open_html(&t, "<p>Here</p>", Snapshot::default()).await.contains("Here"));
        assert!(open_html(&t, "<p>There</p>", Snapshot::default()).await.contains("There"));
        t.eval("history.pushState(0, '', '/elsewhere'); document.body.textContent = 'Else'; 1")
            .await;
        assert!(snapshot_text(&t, Snapshot::default()).await.contains("Else"));
    });
}
