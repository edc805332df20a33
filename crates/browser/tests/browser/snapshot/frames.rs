//! Frames in snapshots.

use super::{details, get, has_ref, open_html, ref_of, snapshot, snapshot_text, value, viewpoint};
use crate::harness::{Route, browser_test};
use agbrowse_browser::command::{Property, Snapshot, TreeSource};
use agbrowse_browser::{Code, Outcome};
use std::time::{Duration, Instant};

#[test]
fn frame_content_is_nested_below_boundary() {
    browser_test(async |t| {
        t.page("/leaf", "<title>Leaf</title><p>Leaf words</p><button>Leaf button</button>");
        t.page(
            "/middle",
            format!("<p>Middle words</p><iframe title=Inner src='{}'></iframe>", t.url("/leaf")),
        );
        let frames = [
            (
                "same origin",
                format!("<iframe title=Frame src='{}'></iframe>", t.url("/leaf")),
                "Leaf words",
            ),
            (
                "other site",
                format!("<iframe title=Frame src='{}'></iframe>", t.other_url("/leaf")),
                "Leaf words",
            ),
            (
                "nested in one of another site",
                format!("<iframe title=Frame src='{}'></iframe>", t.other_url("/middle")),
                "Leaf words",
            ),
            (
                "nested in one of the same origin",
                format!("<iframe title=Frame src='{}'></iframe>", t.url("/middle")),
                "Leaf words",
            ),
            (
                "written in place",
                "<iframe title=Frame srcdoc='<p>Leaf words'></iframe>".to_owned(),
                "Leaf words",
            ),
            (
                "in a shadow tree",
                format!(
                    "<div><template shadowrootmode=open><iframe title=Frame src='{}'></iframe></template></div>",
                    t.url("/leaf")
                ),
                "Leaf words",
            ),
            (
                "sandboxed",
                format!("<iframe title=Frame sandbox src='{}'></iframe>", t.url("/leaf")),
                "Leaf words",
            ),
        ];
        for (case, frame, words) in frames {
            let html = format!("<p>Before</p>{frame}<p>After</p>");
            let text = open_html(&t, &html, Snapshot::default()).await;
            let at = |part: &str| {
                text.find(part).unwrap_or_else(|| panic!("{case}: no {part} in\n{text}"))
            };
            assert!(at("Before") < at("iframe \"Frame\""), "{case}:\n{text}");
            assert!(
                at("iframe \"Frame\"") < at(words) && at(words) < at("After"),
                "{case}:\n{text}"
            );
            let indent = |part: &str| {
                let line = text.lines().find(|line| line.contains(part)).unwrap();
                line.len() - line.trim_start().len()
            };
            assert!(indent("Before") == indent("After"), "{case}:\n{text}");
            assert!(indent(words) > indent("iframe \"Frame\""), "{case}:\n{text}");
            let boundaries = snapshot_text(&t, viewpoint()).await;
            let line = boundaries.lines().find(|line| line.contains("iframe \"Frame\"")).unwrap();
            assert!(line.contains("[frame-boundary]"), "{case}: {line}");
        }
    });
}

#[test]
fn frame_boundary_has_origin() {
    browser_test(async |t| {
        t.page("/leaf", "<button>Inside</button>");
        let (here, there) = (t.url("/leaf"), t.other_url("/leaf"));
        open_html(&t, &format!("<iframe title=A name=left src='{here}'></iframe><iframe title=B src='{there}'></iframe>"),
             Snapshot::default()).await;
        let snapshot = details(&t, Snapshot { nodes: true, ..Snapshot::default() }).await;
        let origin = |url: &str| url.split('/').take(3).collect::<Vec<_>>().join("/");
        let origins: Vec<_> = snapshot.frames.iter().map(|frame| frame.origin.clone()).collect();
        assert_eq!(origins, [origin(&here), origin(&here), origin(&there)]);
        assert_eq!(snapshot.frames[1].name, "left");
        assert_eq!((snapshot.frames[1].parent, snapshot.frames[2].parent), (Some(0), Some(0)));
        for part in
            [format!("frame=\"{}\"", origin(&here)), format!("frame=\"{}\"", origin(&there))]
        {
            assert!(snapshot.text.contains(&part), "{}", snapshot.text);
        }
        let inside: Vec<_> = snapshot.nodes.iter().filter(|node| node.name == "Inside").collect();
        assert_eq!(inside.len(), 2);
        assert_eq!((&inside[0].origin, &inside[1].origin), (&origin(&here), &origin(&there)));
        // Each is a different element, readable through its own ref.
        for node in inside {
            let target = node.ref_name.as_deref().unwrap();
            assert_eq!(value(t.run(get(Property::Text, target)).await.unwrap()), "Inside");
        }
    });
}

#[test]
fn concurrently_walked_frames_of_one_process_all_report() {
    browser_test(async |t| {
        // Small frames finish their listener lookup while the others are still busy with theirs.
        let counts = [1, 600, 2, 500, 3, 400];
        for count in counts {
            let script = format!(
                "for (let n = 0; n < {count}; n++) {{
                    const it = document.body.appendChild(document.createElement('a'));
                    it.textContent = `Part ${{n}}`;
                    it.addEventListener('click', () => {{}});
                }}"
            );
            t.page(&format!("/{count}"), format!("<body><script>{script}</script>"));
        }
        let frame =
            |count: &u32| format!("<iframe src='{}'></iframe>", t.url(&format!("/{count}")));
        t.page("/", counts.iter().map(frame).collect::<String>());
        for _ in 0..3 {
            t.open("/").await;
            let deep = Snapshot { max_depth: Some(20), ..Snapshot::default() };
            let text = snapshot_text(&t, deep).await;
            assert!(!text.contains("silent"), "{text}");
            let links = counts.iter().sum::<u32>() as usize;
            assert_eq!(text.matches("link \"Part ").count(), links, "{text}");
        }
    });
}

#[test]
fn unresponsive_frame_is_marked_and_rest_is_shown() {
    browser_test(async |t| {
        t.page("/loop", "<title>Stuck</title><script>onload = () => setTimeout(() => { while (true) {} })</script>");
        t.page("/fine", "<p>Fine words");
        t.page(
            "/",
            format!(
                "<h1>Rest</h1><iframe title=Endless src='{}'></iframe><iframe title=Fine src='{}'></iframe><p>End of it",
                t.other_url("/loop"),
                t.url("/fine")
            ),
        );
        t.open("/").await;
        let look = async || {
            let began = Instant::now();
            let outcome =
                t.run(snapshot(Snapshot { fresh: true, ..Snapshot::default() })).await.unwrap();
            assert!(began.elapsed() < Duration::from_secs(25), "it took {:?}", began.elapsed());
            outcome
        };
        // The frame may still respond once before it is stuck.
        let is_silent =
            |outcome: &Outcome| outcome.notes.iter().any(|note| note.code == "silent-frame");
        while !is_silent(&look().await) {}
        let outcome = look().await;
        assert!(is_silent(&outcome), "{:?}", outcome.notes);
        let text = outcome.reply.to_string();
        for part in ["\"Rest\"", "\"Fine words\"", "\"End of it\""] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        let line = |text: &str, words: &str| {
            text.lines().find(|line| line.contains(words)).unwrap().to_owned()
        };
        assert!(line(&text, "iframe \"Endless\"").contains("silent"), "{text}");
        assert!(!line(&text, "iframe \"Fine\"").contains("silent"), "{text}");
        let text = snapshot_text(&t, viewpoint()).await;
        assert!(line(&text, "iframe \"Endless\"").contains("(no answer)"), "{text}");
    });
}

#[test]
fn frames_of_previous_page_are_dropped() {
    browser_test(async |t| {
        t.page("/leaf", "<p>Leaf words");
        t.page("/middle", format!("<iframe src='{}'></iframe>", t.url("/leaf")));
        open_html(
            &t,
            &format!("<iframe src='{}'></iframe>", t.other_url("/middle")),
            Snapshot::default(),
        )
        .await;
        assert_eq!(t.tabs().await[0].frames, 2);
        let text =
            open_html(&t, "<iframe srcdoc='<p>Other words'></iframe>", Snapshot::default()).await;
        assert!(text.contains("Other words"), "{text}");
        t.tabs_until(|tabs| tabs[0].frames == 0).await;
    });
}

#[test]
fn first_walk_finds_closed_shadow_roots_with_cross_origin_stylesheets() {
    browser_test(async |t| {
        t.serve("/away.css", Route::Style(".off { display: none }".into()));
        let html = format!(
            "<link rel=stylesheet href='{}'><p>Words</p><p class=off>Off</p><div id=h></div><script>
             h.attachShadow({{ mode: 'closed' }}).innerHTML = '<button>Inside</button>'</script>",
            t.other_url("/away.css")
        );
        let text = open_html(&t, &html, Snapshot::default()).await;
        assert!(has_ref(&text, "\"Inside\"") && !text.contains("Off"), "{text}");
    });
}

#[test]
fn refs_from_ax_source_are_usable() {
    browser_test(async |t| {
        let page =
            "<ul><li>Ann <button id=a>Call</button></li><li>Bob <button>Call</button></li></ul>
            <a href='#'>Away</a>";
        open_html(&t, page, Snapshot::default()).await;
        let text =
            snapshot_text(&t, Snapshot { source: TreeSource::Ax, ..Snapshot::default() }).await;
        assert_eq!(
            value(t.run(get(Property::Text, &ref_of(&text, "\"Away\""))).await.unwrap()),
            "Away"
        );
        let call = ref_of(&text, "button \"Call\"");
        assert_eq!(value(t.run(get(Property::Text, &call)).await.unwrap()), "Call");
        t.eval("a.parentNode.firstChild.data = 'Cid '").await;
        let error = t.run(get(Property::Text, &call)).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRefStale, "{error}");
    });
}
