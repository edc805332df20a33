//! What a look says about itself: what is missing, what is different, who did not answer, and why.

use crate::harness::{Bench, Route, bench, eval, open};
use crate::snapshot::{details, get, message, ref_of, renumbered, see, show, snapshot};
use agbrowse_browser::command::{
    Find, ImageFormat, Open, Property, Screenshot, Snapshot, SnapshotReply, TextFormat, Until,
};
use agbrowse_browser::{Code, Command, Note, Reply};

/// The notes of a look.
async fn notes(t: &Bench, options: Snapshot) -> Vec<Note> {
    t.run(snapshot(options)).await.unwrap_or_else(|error| panic!("snapshot: {error}")).notes
}

/// What the note of this kind says.
fn said<'n>(notes: &'n [Note], code: &str) -> Option<&'n str> {
    notes.iter().find(|note| note.code == code).map(|note| &*note.message)
}

fn there(url: String) -> Snapshot {
    Snapshot { url: Some(url), ..Snapshot::default() }
}

#[test]
fn a_page_that_does_not_end_to_load_is_shown() {
    bench(async |t| {
        t.serve("/never", Route::Hang);
        let pages = [
            "<h1>Here</h1><button>Go</button><img src=/never>",
            // Not even its own text is known to be complete.
            "<h1>Here</h1><button>Go</button><script src=/never></script><p>After",
        ];
        for (at, html) in pages.iter().enumerate() {
            let path = format!("/slow{at}");
            t.page(&path, (*html).replace("/never", &t.url("/never")));
            let outcome = t.run_within(3000, snapshot(there(t.url(&path)))).await;
            let outcome = outcome.unwrap_or_else(|error| panic!("{html}: {error}"));
            assert!(said(&outcome.notes, "still-loading").is_some(), "{:?}", outcome.notes);
            assert!(outcome.reply.to_string().contains("button \"Go\""), "{}", outcome.reply);
        }
    });
}

#[test]
fn a_bad_answer_of_the_server_is_told() {
    bench(async |t| {
        t.serve("/gone", Route::Status(410));
        t.page("/good", "<p>fine");
        let told = notes(&t, there(t.url("/gone"))).await;
        assert_eq!(said(&told, "http-status"), Some("the server answered 410"));
        assert_eq!(said(&notes(&t, there(t.url("/good"))).await, "http-status"), None);
    });
}

#[test]
fn a_page_that_cannot_be_left_is_to_blame_and_not_the_server() {
    bench(async |t| {
        t.page("/loop", "<script>setTimeout(() => { while (true) {} }, 0)</script>");
        t.page("/ok", "<p>fine");
        let stuck = Open { url: t.url("/loop"), until: Until::Commit, new_tab: false };
        t.run(Command::Open(stuck)).await.unwrap();
        while t.run_within(150, eval("1")).await.is_ok() {}
        for command in [open(&t.url("/ok")), snapshot(there(t.url("/ok"))), open("about:blank")] {
            match t.run_within(1000, command).await {
                Err(error) => {
                    assert_eq!(error.code(), Code::PageUnresponsive, "{error}");
                    assert!(message(&error).contains("a script of it is busy"), "{error}");
                }
                // Another process took over.
                Ok(_) => break,
            }
        }
    });
}

#[test]
fn errors_of_a_page_are_not_told_as_those_of_the_next() {
    bench(async |t| {
        t.page("/bad", "<title>bad</title>").page("/good", "<p>fine");
        t.open("/bad").await;
        // The title comes a turn later: when it is known here, the error has been on its way for longer.
        let script = "setTimeout(() => { setTimeout(() => { document.title = 'thrown' }); throw new Error('mine') }, 200); 1";
        t.eval(script).await;
        // A look at the tabs is none at the page: nobody is told yet.
        t.tabs_until(|tabs| tabs[0].title == "thrown").await;
        let told = t.open("/good").await.notes;
        let of = said(&told, "page-error").unwrap_or_else(|| panic!("{told:?}"));
        assert_eq!(of, "page error on an earlier page");
        let note = told.iter().find(|note| note.code == "page-error").unwrap();
        assert_eq!(note.page_text.as_deref(), Some("Error: mine"));
    });
}

#[test]
fn a_delta_compares_like_with_like() {
    bench(async |t| {
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
        show(&t, &html, Snapshot::default()).await;
        for way in ways() {
            assert_eq!(see(&t, way.clone()).await, "no change", "{way:?}");
        }
        for way in ways() {
            show(&t, &html, Snapshot::default()).await;
            t.eval("b.textContent = 'Went'; 1").await;
            let text = see(&t, way.clone()).await;
            assert!(
                text.contains("button \"Went\"") && text.contains("(was \"Go\""),
                "{way:?}: {text}"
            );
            assert!(!text.contains("removed") && text.lines().count() <= 3, "{way:?}: {text}");
        }
        // A part that was shown is compared with what it was then.
        show(&t, &html, Snapshot::default()).await;
        let part = || Snapshot { root: Some("css=form".parse().unwrap()), ..Snapshot::default() };
        t.eval("b.textContent = 'Two'; 1").await;
        see(&t, part()).await;
        assert_eq!(see(&t, Snapshot { delta: true, ..part() }).await, "no change");
        let whole = see(&t, Snapshot { delta: true, ..Snapshot::default() }).await;
        assert!(whole.contains("(was \"Go\")"), "{whole}");
        // What was not told before is no change.
        let hidden = Snapshot { include_hidden: true, delta: true, ..Snapshot::default() };
        let told = notes(&t, hidden).await;
        assert!(said(&told, "no-earlier").is_some(), "{told:?}");
        let both = Snapshot { delta: true, find: Some("x".into()), ..Snapshot::default() };
        assert_eq!(t.run(snapshot(both)).await.unwrap_err().code(), Code::CommandInvalid);
    });
}

#[test]
fn the_counts_of_a_delta_are_of_what_is_told() {
    bench(async |t| {
        let list: String = (0..40).map(|n| format!("<li><a href=/{n}>Entry {n}</a>")).collect();
        show(&t, &format!("<button id=b>Go</button><ul>{list}</ul>"), Snapshot::default()).await;
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
fn texts_that_were_left_out_are_counted() {
    bench(async |t| {
        let html =
            "<h1>Title</h1><p>Words</p><p style='opacity:0'>One</p><p style='opacity:0'>Two</p>";
        show(&t, html, Snapshot::default()).await;
        let told = notes(&t, Snapshot::default()).await;
        let expected = "2 hidden texts left out: `--include-hidden`";
        assert_eq!(said(&told, "unseen"), Some(expected));
        assert_eq!(details(&t, Snapshot::default()).await.unseen, 2);
        let shown = Snapshot { include_hidden: true, ..Snapshot::default() };
        assert_eq!(said(&notes(&t, shown).await, "unseen"), None);
        // A model is told when there is more of it than of the rest.
        let viewpoint = || Snapshot { format: TextFormat::Viewpoint, ..Snapshot::default() };
        assert_eq!(said(&notes(&t, viewpoint()).await, "unseen"), None);
        let many = "<p style='opacity:0'>later</p>".repeat(30);
        show(&t, &format!("<h1>Title</h1>{many}"), Snapshot::default()).await;
        assert!(
            said(&notes(&t, viewpoint()).await, "unseen").unwrap().starts_with("30 hidden texts")
        );
    });
}

#[test]
fn every_element_that_shows_a_document_says_whose() {
    bench(async |t| {
        t.page("/leaf", "<title>Leaf</title><button>There</button>");
        for tag in ["object data", "embed src"] {
            let html = format!("<{tag}='{}' width=300 height=200>", t.other_url("/leaf"));
            t.page("/", format!("<!doctype html><title>Page</title>{html}"));
            t.open("/").await;
            let origin = t.other_url("").trim_end_matches('/').to_owned();
            let mut text = see(&t, Snapshot::default()).await;
            while !text.contains("There") {
                text = see(&t, Snapshot { fresh: true, ..Snapshot::default() }).await;
            }
            let line = text.lines().find(|line| line.contains("frame=")).unwrap_or_default();
            assert!(line.contains(&format!("frame=\"{}\"", origin_of(&origin))), "{tag}: {text}");
            let viewpoint = Snapshot { format: TextFormat::Viewpoint, ..Snapshot::default() };
            let text = see(&t, viewpoint).await;
            assert!(text.contains("[frame-boundary]"), "{tag}: {text}");
        }
    });
}

fn origin_of(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap();
    format!("{scheme}://{}", rest.split('/').next().unwrap())
}

#[test]
fn a_frame_that_does_not_answer_is_named_by_its_origin() {
    bench(async |t| {
        t.page("/busy", "<script>setTimeout(() => { while (true) {} }, 200)</script>");
        let html = format!("<button>Here</button><iframe src='{}'></iframe>", t.other_url("/busy"));
        show(&t, &html, Snapshot::default()).await;
        let fresh = || Snapshot { fresh: true, ..Snapshot::default() };
        let mut outcome = t.run(snapshot(fresh())).await.unwrap();
        // It may still answer before it gets stuck.
        while said(&outcome.notes, "silent-frame").is_none() {
            outcome = t.run(snapshot(fresh())).await.unwrap();
        }
        let origin = origin_of(&t.other_url("/busy"));
        let text = outcome.reply.to_string();
        assert!(text.contains(&format!("frame=\"{origin}\" silent=true]")), "{text}");
        let told = said(&outcome.notes, "silent-frame");
        assert_eq!(told, Some("a frame did not answer"));
        let note = outcome.notes.iter().find(|note| note.code == "silent-frame").unwrap();
        assert_eq!(note.page_text.as_deref(), Some(&*origin));
        let full = details(&t, Snapshot::default()).await;
        assert!(full.frames.iter().any(|frame| frame.silent && frame.origin == origin));
        let find = Find { text: Some("nowhere".into()), ..Find::default() };
        let told = t.run(Command::Find(find)).await.unwrap().notes;
        assert!(said(&told, "silent-frame").is_some(), "{told:?}");
    });
}

#[test]
fn frames_that_do_not_answer_are_waited_for_at_once() {
    bench(async |t| {
        t.serve("/never", Route::Hang);
        // Stuck without wearing out the machine.
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
        show(&t, &format!("{stuck}<iframe src='{fine}'></iframe>"), Snapshot::default()).await;
        // Each is waited for a second and a half: one after the other they would not be done by then.
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
    bench(async |t| {
        let list: String =
            (0..150).map(|n| format!("<li><a href=/{n}>Entry {n}</a></li>")).collect();
        show(&t, &format!("<main><h1>T</h1><ul>{list}</ul></main>"), Snapshot::default()).await;
        let outcome =
            t.run(snapshot(Snapshot { budget: Some(300), ..Snapshot::default() })).await.unwrap();
        let told = said(&outcome.notes, "not-shown").unwrap();
        let (_, root) = told.split_once("`--root ").unwrap_or_else(|| panic!("{told}"));
        let root = root.split('`').next().unwrap();
        let part = Snapshot { root: Some(root.parse().unwrap()), ..Snapshot::default() };
        assert!(see(&t, part).await.contains("Entry 149"), "{told}");
        let told = notes(&t, Snapshot { max_depth: Some(0), ..Snapshot::default() }).await;
        let deeper = said(&told, "not-shown").unwrap();
        let (_, depth) = deeper.split_once("`--max-depth ").unwrap_or_else(|| panic!("{deeper}"));
        let depth = depth.trim_end_matches('`').parse().unwrap();
        let told = notes(&t, Snapshot { max_depth: Some(depth), ..Snapshot::default() }).await;
        assert_eq!(said(&told, "not-shown"), None, "{told:?}");
        let told = notes(&t, Snapshot { budget: Some(4), ..Snapshot::default() }).await;
        assert!(
            told.iter().any(|note| note.message.starts_with("4 tokens are too few")),
            "{told:?}"
        );
    });
}

#[test]
fn nothing_is_told_as_nothing() {
    bench(async |t| {
        show(&t, "<p>Words</p>", Snapshot::default()).await;
        let find = Snapshot { find: Some("zzzz".into()), ..Snapshot::default() };
        assert_eq!(see(&t, find).await, "nothing found");
        let refs = Snapshot { refs_only: true, ..Snapshot::default() };
        assert_eq!(see(&t, refs).await, "nothing to act on");
        t.run(open("about:blank")).await.unwrap();
        let told = notes(&t, Snapshot::default()).await;
        assert_eq!(said(&told, "empty"), Some("the page has no accessible content"));
        assert_eq!(
            details(&t, Snapshot::default()).await.notes,
            ["the page has no accessible content"]
        );
    });
}

#[test]
fn one_of_several_is_named() {
    bench(async |t| {
        show(&t, "<p>A</p><button>One</button><button>Two</button>", Snapshot::default()).await;
        let root = Snapshot { root: Some("role=button".parse().unwrap()), ..Snapshot::default() };
        let told = notes(&t, root).await;
        let said = said(&told, "first-of-several").unwrap_or_else(|| panic!("{told:?}"));
        assert_eq!(said, "`role=button` matches 2 elements; the first was taken, a button");
        let note = told.iter().find(|note| note.code == "first-of-several").unwrap();
        assert_eq!(note.page_text.as_deref(), Some("One"));
        t.eval("document.querySelector('p').hidden = true; 1").await;
        let gone = Snapshot { root: Some("css=p".parse().unwrap()), ..Snapshot::default() };
        let error = t.run(snapshot(gone)).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRootNotFound);
        assert_eq!(message(&error), "snapshot root selector did not match what is shown: p");
    });
}

#[test]
fn a_ref_may_be_pasted_as_it_stands() {
    bench(async |t| {
        let text = show(&t, "<button>One</button>", Snapshot::default()).await;
        assert!(text.contains("[ref=@e1]"), "{text}");
        let name = ref_of(&see(&t, Snapshot::default()).await, "One");
        for spelled in [format!("[ref={name}]"), format!("ref={name}")] {
            let got = t.run(get(Property::Text, &spelled)).await.unwrap().reply.to_string();
            assert_eq!(got, "One", "{spelled}");
        }
        // The one that the page put in its place is taken, and told.
        t.eval("const b = document.querySelector('button'); b.replaceWith(b.cloneNode(true)); 1")
            .await;
        let moved = t.run(get(Property::Text, &name)).await.unwrap();
        assert!(moved.notes.iter().any(|note| note.code == "element-replaced"), "{moved:?}");
    });
}

#[test]
fn areas_of_a_picture_are_labelled() {
    bench(async |t| {
        let picture =
            "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='200' height='100'/>";
        let html = format!(
            "<body style='margin:0'><img usemap='#m' width=200 height=100 src=\"{picture}\">\
             <map name=m><area href=/a alt=Left shape=rect coords='60,30,100,70'></map>"
        );
        let shown = show(&t, &html, Snapshot::default()).await;
        assert!(renumbered(&shown).contains("link \"Left\" [ref=@e1]"), "{shown}");
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
