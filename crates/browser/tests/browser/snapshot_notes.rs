//! Snapshot notes: omitted content, degraded results, unresponsive frames, and their reasons.

use crate::harness::{Route, TestContext, browser_test, eval, open};
use crate::snapshot::{
    details, get, message, open_html, ref_of, renumbered, snapshot, snapshot_text,
};
use agbrowse_browser::command::{
    Find, ImageFormat, Open, Property, Screenshot, Snapshot, SnapshotReply, TextFormat, Until,
};
use agbrowse_browser::{Code, Command, Note, Reply};

/// The notes of a snapshot.
async fn notes(t: &TestContext, options: Snapshot) -> Vec<Note> {
    t.run(snapshot(options)).await.unwrap_or_else(|error| panic!("snapshot: {error}")).notes
}

/// The message of the note with this code.
fn note_message<'n>(notes: &'n [Note], code: &str) -> Option<&'n str> {
    notes.iter().find(|note| note.code == code).map(|note| &*note.message)
}

fn snapshot_of_url(url: String) -> Snapshot {
    Snapshot { url: Some(url), ..Snapshot::default() }
}

#[test]
fn page_still_loading_is_shown_with_note() {
    browser_test(async |t| {
        t.serve("/never", Route::Hang);
        let pages = [
            "<h1>Here</h1><button>Go</button><img src=/never>",
            // Not even the document text is known to be complete.
            "<h1>Here</h1><button>Go</button><script src=/never></script><p>After",
        ];
        for (at, html) in pages.iter().enumerate() {
            let path = format!("/slow{at}");
            t.page(&path, (*html).replace("/never", &t.url("/never")));
            let outcome = t.run_within(3000, snapshot(snapshot_of_url(t.url(&path)))).await;
            let outcome = outcome.unwrap_or_else(|error| panic!("{html}: {error}"));
            assert!(note_message(&outcome.notes, "still-loading").is_some(), "{:?}", outcome.notes);
            assert!(outcome.reply.to_string().contains("button \"Go\""), "{}", outcome.reply);
        }
    });
}

#[test]
fn http_error_status_is_noted() {
    browser_test(async |t| {
        t.serve("/gone", Route::Status(410));
        t.page("/good", "<p>fine");
        let all_notes = notes(&t, snapshot_of_url(t.url("/gone"))).await;
        assert_eq!(note_message(&all_notes, "http-status"), Some("the server answered 410"));
        assert_eq!(
            note_message(&notes(&t, snapshot_of_url(t.url("/good"))).await, "http-status"),
            None
        );
    });
}

#[test]
fn navigation_blocked_by_stuck_page_is_page_error() {
    browser_test(async |t| {
        t.page("/loop", "<script>setTimeout(() => { while (true) {} }, 0)</script>");
        t.page("/ok", "<p>fine");
        let stuck = Open { url: t.url("/loop"), until: Until::Commit, new_tab: false };
        t.run(Command::Open(stuck)).await.unwrap();
        while t.run_within(150, eval("1")).await.is_ok() {}
        for command in
            [open(&t.url("/ok")), snapshot(snapshot_of_url(t.url("/ok"))), open("about:blank")]
        {
            match t.run_within(1000, command).await {
                Err(error) => {
                    assert_eq!(error.code(), Code::PageUnresponsive, "{error}");
                    assert!(message(&error).contains("a script of it is busy"), "{error}");
                }
                // Another process took over the navigation.
                Ok(_) => break,
            }
        }
    });
}

#[test]
fn page_errors_are_not_attributed_to_next_page() {
    browser_test(async |t| {
        t.page("/bad", "<title>bad</title>").page("/good", "<p>fine");
        t.open("/bad").await;
        // The title changes one task later: when it is known here, the error has been sent before.
        let script = "setTimeout(() => { setTimeout(() => { document.title = 'thrown' }); throw new Error('mine') }, 200); 1";
        t.eval(script).await;
        // Listing the tabs does not report the error.
        t.tabs_until(|tabs| tabs[0].title == "thrown").await;
        let all_notes = t.open("/good").await.notes;
        let of = note_message(&all_notes, "page-error").unwrap_or_else(|| panic!("{all_notes:?}"));
        assert_eq!(of, "page error on an earlier page");
        let note = all_notes.iter().find(|note| note.code == "page-error").unwrap();
        assert_eq!(note.page_text.as_deref(), Some("Error: mine"));
    });
}

#[test]
fn delta_compares_snapshots_of_same_options() {
    browser_test(async |t| {
        let list: String =
            (0..60).map(|n| format!("<li><a href=/{n}>Entry {n}</a></li>")).collect();
        let html = format!(
            "<h1 id=x>Old</h1><form id=f aria-label=Login><button id=b>Go</button></form><ul>{list}</ul>"
        );
        let ways = || {
            let delta = || Snapshot { delta: true, ..Snapshot::default() };
            [
                delta(),
                Snapshot { budget: Some(150), ..delta() },
                Snapshot { max_depth: Some(2), ..delta() },
                Snapshot { max_depth: Some(20), ..delta() },
                Snapshot { refs_only: true, ..delta() },
                Snapshot { no_interactive: true, ..delta() },
                Snapshot { root: Some("css=form".parse().unwrap()), ..delta() },
                Snapshot { format: TextFormat::Viewpoint, ..delta() },
            ]
        };
        open_html(&t, &html, Snapshot::default()).await;
        for options in ways() {
            assert_eq!(snapshot_text(&t, options.clone()).await, "no change", "{options:?}");
        }
        for options in ways() {
            open_html(&t, &html, Snapshot::default()).await;
            t.eval("b.textContent = 'Went'; 1").await;
            let text = snapshot_text(&t, options.clone()).await;
            assert!(
                text.contains("button \"Went\"") && text.contains("(was \"Go\""),
                "{options:?}: {text}"
            );
            assert!(!text.contains("removed") && text.lines().count() <= 3, "{options:?}: {text}");
        }
        // A subtree is compared with its own last snapshot.
        open_html(&t, &html, Snapshot::default()).await;
        let part = || Snapshot { root: Some("css=form".parse().unwrap()), ..Snapshot::default() };
        t.eval("b.textContent = 'Two'; 1").await;
        snapshot_text(&t, part()).await;
        assert_eq!(snapshot_text(&t, Snapshot { delta: true, ..part() }).await, "no change");
        let whole = snapshot_text(&t, Snapshot { delta: true, ..Snapshot::default() }).await;
        assert!(whole.contains("(was \"Go\")"), "{whole}");
        // Hidden text that was not shown before is not a change.
        let hidden = Snapshot { include_hidden: true, delta: true, ..Snapshot::default() };
        let all_notes = notes(&t, hidden).await;
        assert!(note_message(&all_notes, "no-earlier").is_some(), "{all_notes:?}");
        let both = Snapshot { delta: true, find: Some("x".into()), ..Snapshot::default() };
        assert_eq!(t.run(snapshot(both)).await.unwrap_err().code(), Code::CommandInvalid);
    });
}

#[test]
fn delta_counts_match_shown_lines() {
    browser_test(async |t| {
        let list: String = (0..40).map(|n| format!("<li><a href=/{n}>Entry {n}</a>")).collect();
        open_html(&t, &format!("<button id=b>Go</button><ul>{list}</ul>"), Snapshot::default())
            .await;
        let delta = || Snapshot { delta: true, ..Snapshot::default() };
        let none = details(&t, delta()).await;
        let stats = none.stats;
        assert_eq!((&*none.text, none.refs.len(), stats.node_count), ("no change", 0, 0));
        assert_eq!((stats.interactive_count, stats.token_estimate), (0, 3));
        t.eval("b.textContent = 'Went'; 1").await;
        let one = details(&t, delta()).await;
        let names: Vec<_> = one.refs.iter().map(|it| &*it.name).collect();
        assert_eq!((names, one.stats.node_count), (vec!["Went"], 1));
        assert!(one.stats.tokens_calibrated < 40, "{:?}", one.stats);
        let Reply::Snapshot(SnapshotReply::Text(text)) =
            t.run(snapshot(delta())).await.unwrap().reply
        else {
            panic!("no text")
        };
        assert_eq!((&*text.text, text.refs), ("no change", 0));
    });
}

#[test]
fn omitted_texts_are_counted() {
    browser_test(async |t| {
        let html =
            "<h1>Title</h1><p>Words</p><p style='opacity:0'>One</p><p style='opacity:0'>Two</p>";
        open_html(&t, html, Snapshot::default()).await;
        let all_notes = notes(&t, Snapshot::default()).await;
        let expected = "2 hidden texts left out: `--include-hidden`";
        assert_eq!(note_message(&all_notes, "unseen"), Some(expected));
        assert_eq!(details(&t, Snapshot::default()).await.unseen, 2);
        let text = Snapshot { include_hidden: true, ..Snapshot::default() };
        assert_eq!(note_message(&notes(&t, text).await, "unseen"), None);
        // The MCP format has the note when more is hidden than shown.
        let viewpoint = || Snapshot { format: TextFormat::Viewpoint, ..Snapshot::default() };
        assert_eq!(note_message(&notes(&t, viewpoint()).await, "unseen"), None);
        let many = "<p style='opacity:0'>later</p>".repeat(30);
        open_html(&t, &format!("<h1>Title</h1>{many}"), Snapshot::default()).await;
        assert!(
            note_message(&notes(&t, viewpoint()).await, "unseen")
                .unwrap()
                .starts_with("30 hidden texts")
        );
    });
}

#[test]
fn embedded_documents_have_origins() {
    browser_test(async |t| {
        t.page("/leaf", "<title>Leaf</title><button>There</button>");
        for tag in ["object data", "embed src"] {
            let html = format!("<{tag}='{}' width=300 height=200>", t.other_url("/leaf"));
            t.page("/", format!("<!doctype html><title>Page</title>{html}"));
            t.open("/").await;
            let origin = t.other_url("").trim_end_matches('/').to_owned();
            let mut text = snapshot_text(&t, Snapshot::default()).await;
            while !text.contains("There") {
                text = snapshot_text(&t, Snapshot { fresh: true, ..Snapshot::default() }).await;
            }
            let line = text.lines().find(|line| line.contains("frame=")).unwrap_or_default();
            assert!(line.contains(&format!("frame=\"{}\"", origin_of(&origin))), "{tag}: {text}");
            let viewpoint = Snapshot { format: TextFormat::Viewpoint, ..Snapshot::default() };
            let text = snapshot_text(&t, viewpoint).await;
            assert!(text.contains("[frame-boundary]"), "{tag}: {text}");
        }
    });
}

fn origin_of(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap();
    format!("{scheme}://{}", rest.split('/').next().unwrap())
}

#[test]
fn unresponsive_frame_is_named_by_origin() {
    browser_test(async |t| {
        t.page("/busy", "<script>setTimeout(() => { while (true) {} }, 200)</script>");
        let html = format!("<button>Here</button><iframe src='{}'></iframe>", t.other_url("/busy"));
        open_html(&t, &html, Snapshot::default()).await;
        let fresh = || Snapshot { fresh: true, ..Snapshot::default() };
        let mut outcome = t.run(snapshot(fresh())).await.unwrap();
        // The frame may still respond before it is stuck.
        while note_message(&outcome.notes, "silent-frame").is_none() {
            outcome = t.run(snapshot(fresh())).await.unwrap();
        }
        let origin = origin_of(&t.other_url("/busy"));
        let text = outcome.reply.to_string();
        assert!(text.contains(&format!("frame=\"{origin}\" silent=true]")), "{text}");
        let all_notes = note_message(&outcome.notes, "silent-frame");
        assert_eq!(all_notes, Some("a frame did not answer"));
        let note = outcome.notes.iter().find(|note| note.code == "silent-frame").unwrap();
        assert_eq!(note.page_text.as_deref(), Some(&*origin));
        let full = details(&t, Snapshot::default()).await;
        assert!(full.frames.iter().any(|frame| frame.silent && frame.origin == origin));
        let find = Find { text: Some("nowhere".into()), ..Find::default() };
        let all_notes = t.run(Command::Find(find)).await.unwrap().notes;
        assert!(note_message(&all_notes, "silent-frame").is_some(), "{all_notes:?}");
    });
}

#[test]
fn unresponsive_frames_are_awaited_concurrently() {
    browser_test(async |t| {
        t.serve("/never", Route::Hang);
        // Blocked without using the CPU.
        let stuck = "setTimeout(() => {
            const ask = new XMLHttpRequest();
            ask.open('GET', 'never', false);
            ask.send();
        }, 200)";
        t.page("/stuck", format!("<script>{stuck}</script>"))
            .page("/fine", "<button>Fine</button>");
        let on = |site: &str, path: &str| t.other_url(path).replace("localhost", site);
        let sites = ["a.localhost", "b.localhost", "c.localhost"];
        let stuck: String =
            sites.map(|site| format!("<iframe src='{}'></iframe>", on(site, "/stuck"))).concat();
        let fine = on("d.localhost", "/fine");
        open_html(&t, &format!("{stuck}<iframe src='{fine}'></iframe>"), Snapshot::default()).await;
        // Each is awaited for 1.5 s: sequential waits would take longer than this limit.
        let fresh = || snapshot(Snapshot { fresh: true, ..Snapshot::default() });
        let mut outcome = t.run_within(4000, fresh()).await.unwrap();
        let silent = |text: &str| text.matches("silent=true]").count();
        while silent(&outcome.reply.to_string()) < sites.len() {
            outcome = t.run_within(4000, fresh()).await.unwrap();
        }
        let text = outcome.reply.to_string();
        for site in sites {
            let origin = origin_of(&on(site, ""));
            assert!(text.contains(&format!("frame=\"{origin}\" silent=true]")), "{text}");
        }
        assert!(silent(&text) == sites.len() && text.contains("\"Fine\""), "{text}");
    });
}

#[test]
fn notes_say_how_to_see_the_rest() {
    browser_test(async |t| {
        let list: String =
            (0..150).map(|n| format!("<li><a href=/{n}>Entry {n}</a></li>")).collect();
        open_html(&t, &format!("<main><h1>T</h1><ul>{list}</ul></main>"), Snapshot::default())
            .await;
        let outcome =
            t.run(snapshot(Snapshot { budget: Some(300), ..Snapshot::default() })).await.unwrap();
        let all_notes = note_message(&outcome.notes, "not-shown").unwrap();
        let (_, root) = all_notes.split_once("`--root ").unwrap_or_else(|| panic!("{all_notes}"));
        let root = root.split('`').next().unwrap();
        let part = Snapshot { root: Some(root.parse().unwrap()), ..Snapshot::default() };
        assert!(snapshot_text(&t, part).await.contains("Entry 149"), "{all_notes}");
        let all_notes = notes(&t, Snapshot { max_depth: Some(0), ..Snapshot::default() }).await;
        let deeper = note_message(&all_notes, "not-shown").unwrap();
        let (_, depth) = deeper.split_once("`--max-depth ").unwrap_or_else(|| panic!("{deeper}"));
        let depth = depth.trim_end_matches('`').parse().unwrap();
        let all_notes = notes(&t, Snapshot { max_depth: Some(depth), ..Snapshot::default() }).await;
        assert_eq!(note_message(&all_notes, "not-shown"), None, "{all_notes:?}");
        let all_notes = notes(&t, Snapshot { budget: Some(4), ..Snapshot::default() }).await;
        assert!(
            all_notes.iter().any(|note| note.message.starts_with("4 tokens are too few")),
            "{all_notes:?}"
        );
    });
}

#[test]
fn empty_results_have_explicit_text() {
    browser_test(async |t| {
        open_html(&t, "<p>Words</p>", Snapshot::default()).await;
        let find = Snapshot { find: Some("zzzz".into()), ..Snapshot::default() };
        assert_eq!(snapshot_text(&t, find).await, "nothing found");
        let refs = Snapshot { refs_only: true, ..Snapshot::default() };
        assert_eq!(snapshot_text(&t, refs).await, "nothing to act on");
        t.run(open("about:blank")).await.unwrap();
        let all_notes = notes(&t, Snapshot::default()).await;
        assert_eq!(note_message(&all_notes, "empty"), Some("the page has no accessible content"));
        assert_eq!(
            details(&t, Snapshot::default()).await.notes,
            ["the page has no accessible content"]
        );
    });
}

#[test]
fn first_of_several_root_matches_is_noted() {
    browser_test(async |t| {
        open_html(&t, "<p>A</p><button>One</button><button>Two</button>", Snapshot::default())
            .await;
        let root = Snapshot { root: Some("role=button".parse().unwrap()), ..Snapshot::default() };
        let all_notes = notes(&t, root).await;
        let note_text =
            note_message(&all_notes, "first-of-several").unwrap_or_else(|| panic!("{all_notes:?}"));
        assert_eq!(note_text, "`role=button` matches 2 elements; the first was taken, a button");
        let note = all_notes.iter().find(|note| note.code == "first-of-several").unwrap();
        assert_eq!(note.page_text.as_deref(), Some("One"));
        t.eval("document.querySelector('p').hidden = true; 1").await;
        let hidden = Snapshot { root: Some("css=p".parse().unwrap()), ..Snapshot::default() };
        let error = t.run(snapshot(hidden)).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRootNotFound);
        assert_eq!(message(&error), "snapshot root selector did not match what is shown: p");
    });
}

#[test]
fn ref_with_snapshot_brackets_is_accepted() {
    browser_test(async |t| {
        let text = open_html(&t, "<button>One</button>", Snapshot::default()).await;
        assert!(text.contains("[ref=@e1]"), "{text}");
        let name = ref_of(&snapshot_text(&t, Snapshot::default()).await, "One");
        for spelled in [format!("[ref={name}]"), format!("ref={name}")] {
            let got = t.run(get(Property::Text, &spelled)).await.unwrap().reply.to_string();
            assert_eq!(got, "One", "{spelled}");
        }
        // The replacement is used, with a note.
        t.eval("const b = document.querySelector('button'); b.replaceWith(b.cloneNode(true)); 1")
            .await;
        let moved = t.run(get(Property::Text, &name)).await.unwrap();
        assert!(moved.notes.iter().any(|note| note.code == "element-replaced"), "{moved:?}");
    });
}

#[test]
fn image_map_areas_are_labelled() {
    browser_test(async |t| {
        let picture =
            "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='200' height='100'/>";
        let html = format!(
            "<body style='margin:0'><img usemap='#m' width=200 height=100 src=\"{picture}\">\
             <map name=m><area href=/a alt=Left shape=rect coords='60,30,100,70'></map>"
        );
        let text = open_html(&t, &html, Snapshot::default()).await;
        assert!(renumbered(&text).contains("link \"Left\" [ref=@e1]"), "{text}");
        let shot =
            |refs| Screenshot { refs, format: Some(ImageFormat::Png), ..Screenshot::default() };
        let mut taken = Vec::new();
        for refs in [false, true] {
            let outcome = t.run(Command::Screenshot(shot(refs))).await.unwrap();
            let Reply::Screenshot(shot) = outcome.reply else { panic!("no picture") };
            taken.push(shot.data);
        }
        assert!(taken[0] != taken[1], "a box is drawn");
    });
}
