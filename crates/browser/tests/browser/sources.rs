//! The two sources of a snapshot: a script of ours in the page, and the browser's own tree. A ref means the same
//! whichever gave it, and when the first fails the second one is asked.

use crate::harness::{Bench, bench, eval, open};
use crate::snapshot::{
    details, get, has_ref, message, ref_of, renumbered, see, show, snapshot, viewpoint,
};
use agbrowse_browser::command::{Property, Snapshot, TreeSource};
use agbrowse_browser::launch::Options;
use agbrowse_browser::page::hash::{DOM_HASH_MAX_CHARS, dom_hash};
use agbrowse_browser::{Browser, Code, Request, Target};
use std::time::{Duration, Instant};

/// The browser's own tree.
fn ax() -> Snapshot {
    Snapshot { source: TreeSource::Ax, ..Snapshot::default() }
}

fn target(text: &str) -> Option<Target> {
    Some(text.parse().expect("a target"))
}

#[test]
fn an_element_has_one_ref_whoever_tells_of_it() {
    bench(async |t| {
        let html = "<h1>Rows</h1><ul><li>Ann <button>Call</button></li></ul><a href='#'>Away</a>
            <form aria-label=Ask><input aria-label=Name></form>";
        show(&t, html, Snapshot::default()).await;
        let (ours, theirs) = (see(&t, Snapshot::default()).await, see(&t, ax()).await);
        for words in ["\"Call\"", "\"Away\"", "\"Name\""] {
            assert_eq!(ref_of(&ours, words), ref_of(&theirs, words), "{ours}\n{theirs}");
        }
        let viewpoints = [
            see(&t, viewpoint()).await,
            see(&t, Snapshot { format: viewpoint().format, ..ax() }).await,
        ];
        for words in ["\"Call\"", "\"Away\"", "\"Name\""] {
            let [one, other] = viewpoints.each_ref().map(|text| ref_of(text, words));
            assert_eq!(one, other, "{viewpoints:?}");
        }
    });
}

#[test]
fn a_part_of_the_browsers_own_tree_can_be_shown() {
    bench(async |t| {
        // Nothing was looked at in any other way before.
        t.page("/", "<title>Page</title><nav id=n><a href=/x>In</a></nav><a href=/y>Out</a>");
        t.open("/").await;
        let whole = see(&t, ax()).await;
        assert!(whole.contains("\"In\"") && whole.contains("\"Out\""), "{whole}");
        for root in ["css=#n".to_owned(), ref_of(&whole, "\"In\"")] {
            let part = see(&t, Snapshot { root: target(&root), ..ax() }).await;
            assert!(part.contains("\"In\"") && !part.contains("\"Out\""), "{root}: {part}");
        }
        let root_selector = Some("#n".into());
        let part = see(&t, Snapshot { root_selector, ..ax() }).await;
        assert!(part.contains("\"In\"") && !part.contains("\"Out\""), "{part}");
        let root_selector = Some("#none".into());
        let error = t.run(snapshot(Snapshot { root_selector, ..ax() })).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRootNotFound, "{error}");
    });
}

/// From here on nothing of ours can run in the page.
const FALL: &str = "Function.prototype.call = () => { throw new Error('fell') }";

/// A page with frames in frames, of its own and of another origin.
async fn nested(t: &Bench) {
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
fn frames_are_told_by_the_browsers_own_tree_too() {
    bench(async |t| {
        nested(&t).await;
        let deep = |look: Snapshot| Snapshot { max_depth: Some(20), ..look };
        let ours = see(&t, deep(Snapshot::default())).await;
        let theirs = see(&t, deep(ax())).await;
        assert_eq!(renumbered(&ours), renumbered(&theirs));
        for words in ["Top button", "Near button", "Leaf button"] {
            assert_eq!(ref_of(&ours, words), ref_of(&theirs, words), "{words}");
        }
        let full = details(&t, deep(ax())).await;
        let origins: Vec<&str> = full.frames.iter().map(|frame| &*frame.origin).collect();
        let origin = |url: String| url.split('/').take(3).collect::<Vec<_>>().join("/");
        let (here, there) = (origin(t.url("/")), origin(t.other_url("/")));
        assert_eq!(origins, [&*here, &*here, &*there, &*here], "{:?}", full.frames);
        // And a ref of such a frame can be used.
        let got = t.run(get(Property::Text, &ref_of(&theirs, "Leaf button"))).await.unwrap();
        assert_eq!(got.reply.to_string(), "Leaf button");
    });
}

#[test]
fn a_page_without_anything_is_a_document_for_both() {
    bench(async |t| {
        t.page("/", "");
        t.open("/").await;
        let ours = see(&t, viewpoint()).await;
        assert_eq!(ours, see(&t, Snapshot { format: viewpoint().format, ..ax() }).await);
        assert!(
            ours.contains("- document\n\n[Note: The page has no accessible content.]"),
            "{ours}"
        );
    });
}

#[test]
fn a_page_that_our_scripts_stumble_over_is_told_by_the_browser() {
    bench(async |t| {
        show(&t, "<h1>Words</h1><button>Press</button>", Snapshot::default()).await;
        let stumble = "Document.prototype.hasFocus = () => { throw new Error('stumbled') }";
        t.browser.run_in_world(&t.context, stumble).await.expect("it is in the way");
        let fresh = Snapshot { fresh: true, ..Snapshot::default() };
        let outcome = t.run(snapshot(fresh.clone())).await.expect("the browser tells");
        let text = outcome.reply.to_string();
        assert!(has_ref(&text, "\"Press\"") && text.contains("Words"), "{text}");
        let note = outcome.notes.iter().find(|note| note.code == "second-hand");
        assert!(
            note.is_some_and(|note| note.message.contains("--source ax")),
            "{:?}",
            outcome.notes
        );
        // When nothing of ours answers, what is secret there is not known either.
        t.browser.run_in_world(&t.context, FALL).await.expect("it is in the way");
        let error = t.run(snapshot(fresh)).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotUnavailable, "{error}");
        assert_eq!(error.details().retry_hint.as_str(), "pin-playwright-or-add-cdp-fallback");
        // The next page is none the worse for it.
        assert!(show(&t, "<p>Next", Snapshot::default()).await.contains("Next"));
    });
}

#[test]
fn what_the_other_tree_does_not_say_is_not_promised() {
    bench(async |t| {
        show(&t, "<p>Words", Snapshot::default()).await;
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
fn what_is_no_selector_is_no_root() {
    bench(async |t| {
        show(&t, "<p>Words", Snapshot::default()).await;
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
fn the_hash_of_a_page_is_that_of_its_tags() {
    bench(async |t| {
        for html in [
            "<main id=m class='a b'><h1>One</h1><p>Two <b>three</b></p><img src=x><br></main>",
            "<!-- <p> --><template><li>In</li><template><b>deeper</b></template></template>",
            "<noscript><img src='a.png' alt=b> text <p class=x>said</p><!-- <i> --></noscript>",
            "<svg viewBox='0 0 1 1'><clipPath id=c><path d=M0></path></clipPath><foreignObject><div>in</div></foreignObject></svg>",
            "<my-card data-x=1>\n<slot name=a></slot></my-card><script>if (1 < 2) document.title = '<p>'</script>",
            "<style>a > b { content: '<i>' }</style><textarea><p></textarea><table><tr><td>1</table>",
            "<iframe src='about:blank'><p>old</p></iframe><xmp><b>raw</b></xmp><select><option>1<option>2</select>",
        ] {
            show(&t, html, Snapshot::default()).await;
            let outer = t.eval("document.body.outerHTML").await;
            let outer: String = serde_json::from_str(&outer).unwrap_or(outer);
            let expected = dom_hash(&outer, DOM_HASH_MAX_CHARS);
            let told = details(&t, Snapshot::default()).await.dom_hash;
            assert_eq!(told.as_deref(), Some(&*expected), "{outer}");
        }
    });
}

#[test]
fn a_part_has_one_hash_however_it_is_pointed_at() {
    bench(async |t| {
        let html = "<h1>One</h1><button id=b class=x>Two <b>three</b></button><p>Four";
        show(&t, html, Snapshot::default()).await;
        let name = ref_of(&see(&t, Snapshot::default()).await, "- button");
        let whole = details(&t, Snapshot::default()).await.dom_hash;
        let expected = dom_hash("<button><b></b></button>", DOM_HASH_MAX_CHARS);
        for root in ["css=#b", "role=button", &name] {
            let root = target(root);
            let told = details(&t, Snapshot { root, ..Snapshot::default() }).await.dom_hash;
            assert_eq!(told.as_deref(), Some(&*expected));
        }
        let root_selector = Some("button".into());
        let told = details(&t, Snapshot { root_selector, ..Snapshot::default() }).await.dom_hash;
        assert_eq!(told.as_deref(), Some(&*expected));
        assert_ne!(whole.as_deref(), Some(&*expected));
    });
}

#[test]
fn what_a_picture_is_made_of_is_told() {
    bench(async |t| {
        let html = "<canvas aria-label=Drawing width=9 height=9></canvas><video aria-label=Film controls></video>
            <svg role=img aria-label=Chart><path d='M0 0h9v9z'/></svg>
            <canvas role=button tabindex=0 aria-label=Board width=9 height=9></canvas>";
        let text = show(&t, html, Snapshot::default()).await;
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
fn words_in_attributes_that_take_none_are_not_told() {
    bench(async |t| {
        let html = "<button aria-haspopup='Say this' aria-invalid='and this'>One</button>
            <button aria-haspopup=dialog>Two</button><button aria-haspopup=true>Three</button>
            <div role=slider aria-orientation='and that' aria-label=S aria-valuenow=1></div>";
        let text = show(&t, html, Snapshot::default()).await;
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
fn a_remembered_page_asks_nothing_of_the_browser_also_with_details() {
    bench(async |t| {
        show(&t, "<p>Words</p><button>Press</button>", Snapshot::default()).await;
        let first = details(&t, Snapshot::default()).await;
        assert!(first.dom_hash.is_some());
        t.browser.run_in_world(&t.context, FALL).await.expect("it is in the way");
        let again = details(&t, Snapshot::default()).await;
        assert_eq!((again.dom_hash, again.ax_hash), (first.dom_hash, first.ax_hash));
    });
}

#[test]
fn a_ref_in_the_viewpoint_is_the_number_that_the_browsers_own_tree_has() {
    bench(async |t| {
        t.page("/", "<main><button>One</button><a href=/x>Two</a><input aria-label=Three></main>");
        // Both trees are compared in the default context, which here is nobody else's.
        let browser = Browser::new(Options::default());
        browser.run(Request::new(open(&t.url("/")))).await.unwrap();
        let seen = browser.run(Request::new(snapshot(viewpoint()))).await.unwrap();
        let text = seen.reply.to_string();
        let pairs = browser.compare_trees(&[]).await.unwrap();
        for name in ["One", "Two", "Three"] {
            let is_it =
                |said: &agbrowse_browser::NodeFacts| said.name == name && said.role != "StaticText";
            let pair = pairs.iter().find(|pair| pair.theirs.as_ref().is_some_and(is_it));
            let number =
                pair.and_then(|pair| pair.backend_node_id).unwrap_or_else(|| panic!("{pairs:?}"));
            let told = ref_of(&text, &format!("{name:?}"));
            let told = told.rsplit_once('e').expect("a ref").1;
            assert_eq!(told.parse(), Ok(number), "{name}: {text}");
        }
        browser.close().await;
    });
}

#[test]
fn what_no_event_tells_is_seen_after_five_seconds() {
    bench(async |t| {
        t.page("/other", "<title>Other</title>");
        t.page("/", "<input aria-label=Name value=before>");
        t.open("/").await;
        let here = t.tabs().await[0].id;
        t.eval("window.open('other'); 1").await;
        let tabs = t.tabs_until(|tabs| tabs.len() == 2).await;
        let other = tabs.iter().find(|tab| tab.id != here).unwrap().id;
        let look = async || {
            let outcome = t.run_on(here, snapshot(Snapshot::default())).await.unwrap();
            outcome.reply.to_string()
        };
        assert!(look().await.contains("value=\"before\""));
        let first = Instant::now();
        // A property that another page sets: nothing in this one is told of it.
        let set = "opener.document.querySelector('input').value = 'after'";
        t.run_on(other, eval(set)).await.unwrap();
        let (mut olds, mut text) = (0, look().await);
        while !text.contains("value=\"after\"") {
            assert!(text.contains("value=\"before\""), "{text}");
            // From the end of the first look, which is the latest that it can be of.
            assert!(first.elapsed() < Duration::from_secs(60), "{olds} times: {text}");
            olds += 1;
            tokio::time::sleep(Duration::from_millis(10)).await;
            text = look().await;
        }
    });
}
