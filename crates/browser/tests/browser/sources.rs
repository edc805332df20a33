//! The two sources of a snapshot: the observer script in the page, and the AX tree of the browser. Refs are the same
//! in both, and the second is the fallback of the first.

use crate::harness::{TestContext, browser_test, eval, open};
use crate::snapshot::{
    details, get, has_ref, message, open_html, ref_of, renumbered, snapshot, snapshot_text,
    viewpoint,
};
use agbrowse_browser::command::{Property, Snapshot, TreeSource};
use agbrowse_browser::launch::Options;
use agbrowse_browser::page::hash::{DOM_HASH_MAX_CHARS, dom_hash};
use agbrowse_browser::{Browser, Code, Request, Target};
use std::time::{Duration, Instant};

/// A snapshot from the AX tree.
fn ax() -> Snapshot {
    Snapshot { source: TreeSource::Ax, ..Snapshot::default() }
}

fn target(text: &str) -> Option<Target> {
    Some(text.parse().expect("a target"))
}

#[test]
fn element_has_same_ref_in_both_sources() {
    browser_test(async |t| {
        let html = "<h1>Rows</h1><ul><li>Ann <button>Call</button></li></ul><a href='#'>Away</a>
            <form aria-label=Ask><input aria-label=Name></form>";
        open_html(&t, html, Snapshot::default()).await;
        let (observer_text, ax_text) =
            (snapshot_text(&t, Snapshot::default()).await, snapshot_text(&t, ax()).await);
        for words in ["\"Call\"", "\"Away\"", "\"Name\""] {
            assert_eq!(
                ref_of(&observer_text, words),
                ref_of(&ax_text, words),
                "{observer_text}\n{ax_text}"
            );
        }
        let viewpoints = [
            snapshot_text(&t, viewpoint()).await,
            snapshot_text(&t, Snapshot { format: viewpoint().format, ..ax() }).await,
        ];
        for words in ["\"Call\"", "\"Away\"", "\"Name\""] {
            let [one, other] = viewpoints.each_ref().map(|text| ref_of(text, words));
            assert_eq!(one, other, "{viewpoints:?}");
        }
    });
}

#[test]
fn ax_source_supports_root() {
    browser_test(async |t| {
        // No snapshot from the other source was taken before.
        t.page("/", "<title>Page</title><nav id=n><a href=/x>In</a></nav><a href=/y>Out</a>");
        t.open("/").await;
        let whole = snapshot_text(&t, ax()).await;
        assert!(whole.contains("\"In\"") && whole.contains("\"Out\""), "{whole}");
        for root in ["css=#n".to_owned(), ref_of(&whole, "\"In\"")] {
            let part = snapshot_text(&t, Snapshot { root: target(&root), ..ax() }).await;
            assert!(part.contains("\"In\"") && !part.contains("\"Out\""), "{root}: {part}");
        }
        let root_selector = Some("#n".into());
        let part = snapshot_text(&t, Snapshot { root_selector, ..ax() }).await;
        assert!(part.contains("\"In\"") && !part.contains("\"Out\""), "{part}");
        let root_selector = Some("#none".into());
        let error = t.run(snapshot(Snapshot { root_selector, ..ax() })).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRootNotFound, "{error}");
    });
}

/// Breaks the observer script in the page.
const BREAK_OBSERVER: &str = "Function.prototype.call = () => { throw new Error('patched') }";

/// A page with nested frames, same-origin and cross-origin.
async fn nested(t: &TestContext) {
    t.page("/leaf", "<title>Leaf</title><button>Leaf button</button>");
    t.page("/middle", format!("<p>Middle</p><iframe name=leaf src='{}'></iframe>", t.url("/leaf")));
    t.page("/near", "<title>Near</title><button>Near button</button>");
    let html = format!(
        "<!doctype html><title>Top</title><button>Top button</button><iframe name=near src='{near}'></iframe>
         <iframe name=middle src='{}'></iframe><iframe hidden src='{near}'></iframe>",
        t.other_url("/middle"),
        near = t.url("/near")
    );
    t.page("/", html);
    t.open("/").await;
}

#[test]
fn ax_source_includes_frames() {
    browser_test(async |t| {
        nested(&t).await;
        let deep = |options: Snapshot| Snapshot { max_depth: Some(20), ..options };
        let observer_text = snapshot_text(&t, deep(Snapshot::default())).await;
        let ax_text = snapshot_text(&t, deep(ax())).await;
        assert_eq!(renumbered(&observer_text), renumbered(&ax_text));
        for words in ["Top button", "Near button", "Leaf button"] {
            assert_eq!(ref_of(&observer_text, words), ref_of(&ax_text, words), "{words}");
        }
        let full = details(&t, deep(ax())).await;
        let origins: Vec<&str> = full.frames.iter().map(|frame| &*frame.origin).collect();
        let origin = |url: String| url.split('/').take(3).collect::<Vec<_>>().join("/");
        let (here, there) = (origin(t.url("/")), origin(t.other_url("/")));
        assert_eq!(origins, [&*here, &*here, &*there, &*here], "{:?}", full.frames);
        // A ref in such a frame is usable.
        let got = t.run(get(Property::Text, &ref_of(&ax_text, "Leaf button"))).await.unwrap();
        assert_eq!(got.reply.to_string(), "Leaf button");
    });
}

#[test]
fn empty_page_is_document_in_both_sources() {
    browser_test(async |t| {
        t.page("/", "");
        t.open("/").await;
        let observer_text = snapshot_text(&t, viewpoint()).await;
        assert_eq!(
            observer_text,
            snapshot_text(&t, Snapshot { format: viewpoint().format, ..ax() }).await
        );
        assert!(
            observer_text.contains("- document\n\n[Note: The page has no accessible content.]"),
            "{observer_text}"
        );
    });
}

#[test]
fn failed_observer_falls_back_to_ax_source() {
    browser_test(async |t| {
        open_html(&t, "<h1>Words</h1><button>Press</button>", Snapshot::default()).await;
        let patch = "Document.prototype.hasFocus = () => { throw new Error('patched') }";
        t.browser.run_in_world(&t.context, patch).await.expect("the patch is installed");
        let fresh = Snapshot { fresh: true, ..Snapshot::default() };
        let outcome = t.run(snapshot(fresh.clone())).await.expect("the AX source works");
        let text = outcome.reply.to_string();
        assert!(has_ref(&text, "\"Press\"") && text.contains("Words"), "{text}");
        let note = outcome.notes.iter().find(|note| note.code == "second-hand");
        assert!(
            note.is_some_and(|note| note.message.contains("--source ax")),
            "{:?}",
            outcome.notes
        );
        // Without the observer, secret fields are not known either.
        t.browser.run_in_world(&t.context, BREAK_OBSERVER).await.expect("the patch is installed");
        let error = t.run(snapshot(fresh)).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotUnavailable, "{error}");
        assert_eq!(error.details().retry_hint.as_str(), "pin-playwright-or-add-cdp-fallback");
        // The next page is not affected.
        assert!(open_html(&t, "<p>Next", Snapshot::default()).await.contains("Next"));
    });
}

#[test]
fn options_unsupported_by_ax_source_are_refused() {
    browser_test(async |t| {
        open_html(&t, "<p>Words", Snapshot::default()).await;
        for (options, word) in [
            (Snapshot { boxes: true, ..ax() }, "--boxes"),
            (Snapshot { include_hidden: true, ..ax() }, "--include-hidden"),
        ] {
            let error = t.run(snapshot(options)).await.unwrap_err();
            assert_eq!(error.code(), Code::CommandInvalid, "{error}");
            assert!(error.to_string().contains(word), "{error}");
        }
    });
}

#[test]
fn invalid_root_selector_matches_nothing() {
    browser_test(async |t| {
        open_html(&t, "<p>Words", Snapshot::default()).await;
        for selector in ["p[", "::", "p:nonsense"] {
            let root_selector = Some(selector.to_owned());
            let error = t
                .run(snapshot(Snapshot { root_selector, ..Snapshot::default() }))
                .await
                .unwrap_err();
            assert_eq!(error.code(), Code::SnapshotRootNotFound, "{error}");
            assert!(message(&error).contains("did not match"), "{error}");
        }
    });
}

#[test]
fn dom_hash_covers_tag_structure() {
    browser_test(async |t| {
        for html in [
            "<main id=m class='a b'><h1>One</h1><p>Two <b>three</b></p><img src=x><br></main>",
            "<!-- <p> --><template><li>In</li><template><b>deeper</b></template></template>",
            "<noscript><img src='a.png' alt=b> text <p class=x>said</p><!-- <i> --></noscript>",
            "<svg viewBox='0 0 1 1'><clipPath id=c><path d=M0></path></clipPath><foreignObject><div>in</div></foreignObject></svg>",
            "<my-card data-x=1>\n<slot name=a></slot></my-card><script>if (1 < 2) document.title = '<p>'</script>",
            "<style>a > b { content: '<i>' }</style><textarea><p></textarea><table><tr><td>1</table>",
            "<iframe src='about:blank'><p>old</p></iframe><xmp><b>raw</b></xmp><select><option>1<option>2</select>",
        ] {
            open_html(&t, html, Snapshot::default()).await;
            let outer = t.eval("document.body.outerHTML").await;
            let outer: String = serde_json::from_str(&outer).unwrap_or(outer);
            let expected = dom_hash(&outer, DOM_HASH_MAX_CHARS);
            let hash = details(&t, Snapshot::default()).await.dom_hash;
            assert_eq!(hash.as_deref(), Some(&*expected), "{outer}");
        }
    });
}

#[test]
fn root_dom_hash_is_independent_of_target_kind() {
    browser_test(async |t| {
        let html = "<h1>One</h1><button id=b class=x>Two <b>three</b></button><p>Four";
        open_html(&t, html, Snapshot::default()).await;
        let name = ref_of(&snapshot_text(&t, Snapshot::default()).await, "- button");
        let whole = details(&t, Snapshot::default()).await.dom_hash;
        let expected = dom_hash("<button><b></b></button>", DOM_HASH_MAX_CHARS);
        for root in ["css=#b", "role=button", &name] {
            let root = target(root);
            let hash = details(&t, Snapshot { root, ..Snapshot::default() }).await.dom_hash;
            assert_eq!(hash.as_deref(), Some(&*expected));
        }
        let root_selector = Some("button".into());
        let hash = details(&t, Snapshot { root_selector, ..Snapshot::default() }).await.dom_hash;
        assert_eq!(hash.as_deref(), Some(&*expected));
        assert_ne!(whole.as_deref(), Some(&*expected));
    });
}

#[test]
fn graphic_kind_is_shown() {
    browser_test(async |t| {
        let html = "<canvas aria-label=Drawing width=9 height=9></canvas><video aria-label=Film controls></video>
            <svg role=img aria-label=Chart><path d='M0 0h9v9z'/></svg>
            <canvas role=button tabindex=0 aria-label=Board width=9 height=9></canvas>";
        let text = open_html(&t, html, Snapshot::default()).await;
        for expected in [
            "- canvas \"Drawing\"",
            "- video \"Film\" [ref=@e1]",
            "- img \"Chart\" [kind=svg]",
            "- button \"Board\" [ref=@e2 kind=canvas]",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    });
}

#[test]
fn free_text_in_token_attributes_is_dropped() {
    browser_test(async |t| {
        let html = "<button aria-haspopup='Say this' aria-invalid='and this'>One</button>
            <button aria-haspopup=dialog>Two</button><button aria-haspopup=true>Three</button>
            <div role=slider aria-orientation='and that' aria-label=S aria-valuenow=1></div>";
        let text = open_html(&t, html, Snapshot::default()).await;
        let full = details(&t, Snapshot { nodes: true, ..Snapshot::default() }).await;
        let json = serde_json::to_string(&full).unwrap();
        for words in ["Say this", "and this", "and that"] {
            assert!(!text.contains(words) && !json.contains(words), "{text}");
        }
        assert!(text.contains("\"Two\" [ref=@e2 popup=dialog]"), "{text}");
        assert!(text.contains("\"Three\" [ref=@e3 popup=menu]"), "{text}");
    });
}

#[test]
fn cached_page_with_details_needs_no_browser_call() {
    browser_test(async |t| {
        open_html(&t, "<p>Words</p><button>Press</button>", Snapshot::default()).await;
        let first = details(&t, Snapshot::default()).await;
        assert!(first.dom_hash.is_some());
        t.browser.run_in_world(&t.context, BREAK_OBSERVER).await.expect("the patch is installed");
        let second = details(&t, Snapshot::default()).await;
        assert_eq!((second.dom_hash, second.ax_hash), (first.dom_hash, first.ax_hash));
    });
}

#[test]
fn viewpoint_ref_matches_ax_tree_node_id() {
    browser_test(async |t| {
        t.page("/", "<main><button>One</button><a href=/x>Two</a><input aria-label=Three></main>");
        // Trees are compared in the default context, so a browser of its own is needed.
        let browser = Browser::new(Options::default());
        browser.run(Request::new(open(&t.url("/")))).await.unwrap();
        let outcome = browser.run(Request::new(snapshot(viewpoint()))).await.unwrap();
        let text = outcome.reply.to_string();
        let pairs = browser.compare_trees(&[]).await.unwrap();
        for name in ["One", "Two", "Three"] {
            let is_it = |facts: &agbrowse_browser::NodeFacts| {
                facts.name == name && facts.role != "StaticText"
            };
            let pair = pairs.iter().find(|pair| pair.theirs.as_ref().is_some_and(is_it));
            let number =
                pair.and_then(|pair| pair.backend_node_id).unwrap_or_else(|| panic!("{pairs:?}"));
            let hash = ref_of(&text, &format!("{name:?}"));
            let hash = hash.rsplit_once('e').expect("a ref").1;
            assert_eq!(hash.parse(), Ok(number), "{name}: {text}");
        }
        browser.close().await;
    });
}

#[test]
fn silent_change_is_shown_after_cache_lifetime() {
    browser_test(async |t| {
        t.page("/other", "<title>Other</title>");
        t.page("/", "<input aria-label=Name value=before>");
        t.open("/").await;
        let here = t.tabs().await[0].id;
        t.eval("window.open('other'); 1").await;
        let tabs = t.tabs_until(|tabs| tabs.len() == 2).await;
        let other = tabs.iter().find(|tab| tab.id != here).unwrap().id;
        let observe = async || {
            let outcome = t.run_on(here, snapshot(Snapshot::default())).await.unwrap();
            outcome.reply.to_string()
        };
        assert!(observe().await.contains("value=\"before\""));
        let first = Instant::now();
        // A property set from another page fires no event in this one.
        let set = "opener.document.querySelector('input').value = 'after'";
        t.run_on(other, eval(set)).await.unwrap();
        let (mut olds, mut text) = (0, observe().await);
        while !text.contains("value=\"after\"") {
            assert!(text.contains("value=\"before\""), "{text}");
            // Measured from the end of the first snapshot, the latest time at which it was cached.
            assert!(first.elapsed() < Duration::from_secs(60), "{olds} times: {text}");
            olds += 1;
            tokio::time::sleep(Duration::from_millis(10)).await;
            text = observe().await;
        }
    });
}
