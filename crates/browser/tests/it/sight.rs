//! Seeing a page: what a snapshot shows, who gets a ref, what a ref stands for later, and when a page is looked at
//! anew.

use crate::bench::{Bench, Route, bench, eval, open, tab_id};
use agbrowse_browser::command::{
    Find, Get, NewTab, Snapped, Snapshot, TabAction, TabVerb, TextFormat, TreeSource, What,
};
use agbrowse_browser::page::snapshot::WebAiSnapshot;
use agbrowse_browser::{Code, Command, Error, Outcome, Reply, TabId, Target};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// `snapshot`, with options.
pub fn snapshot(options: Snapshot) -> Command {
    Command::Snapshot(options)
}

/// As MCP clients know it.
pub fn viewpoint() -> Snapshot {
    Snapshot { format: TextFormat::Viewpoint, ..Snapshot::default() }
}

/// `get WHAT TARGET`.
pub fn get(what: What, target: &str) -> Command {
    Command::Get(Get { what, target: target.parse().expect("a target"), name: None })
}

/// The page as text.
pub async fn see(t: &Bench, options: Snapshot) -> String {
    t.run(snapshot(options))
        .await
        .unwrap_or_else(|error| panic!("snapshot: {error}"))
        .reply
        .to_string()
}

/// Opens a page made of this markup and shows it; refs are numbered from 1.
pub async fn show(t: &Bench, html: &str, options: Snapshot) -> String {
    t.page("/", format!("<!doctype html><title>Page</title>{html}"));
    t.open("/").await;
    renumbered(&see(t, options).await)
}

/// With hashes, refs and counts.
pub async fn details(t: &Bench, options: Snapshot) -> WebAiSnapshot {
    let details = Snapshot { details: true, ..options };
    match t.run(snapshot(details)).await.expect("a snapshot").reply {
        Reply::Snapshot(Snapped::Full(full)) => *full,
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
        // A test has a context of its own, which is named in refs of this kind.
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

/// The ref in the line that has these words.
pub fn ref_of(text: &str, words: &str) -> String {
    let line = text.lines().find(|line| line.contains(words));
    let line = line.unwrap_or_else(|| panic!("no {words:?} in\n{text}"));
    let (_, from) = line.rsplit_once("ref=").unwrap_or_else(|| panic!("no ref: {line}"));
    from[..from.find([']', ' ']).expect("a ref ends")].to_owned()
}

/// Whether the line that has these words has a ref.
pub fn has_ref(text: &str, words: &str) -> bool {
    let line = text.lines().find(|line| line.contains(words));
    line.unwrap_or_else(|| panic!("no {words:?} in\n{text}")).contains("ref=")
}

fn value(outcome: Outcome) -> String {
    match outcome.reply {
        Reply::Get(got) => got.value.unwrap_or_default(),
        other => panic!("nothing read: {other:?}"),
    }
}

pub fn message(error: &Error) -> &str {
    &error.details().message
}

/// Each page and exactly what is shown of it, below its first line.
async fn check(t: &Bench, cases: &[(&str, &str, &str)]) {
    for (case, html, expected) in cases {
        let text = show(t, html, Snapshot::default()).await;
        let below = text.split_once('\n').map_or("", |(_, below)| below);
        assert_eq!(below, *expected, "{case}");
    }
}

// Capture.

#[test]
fn a_page_is_shown_as_a_tree_of_roles_and_names() {
    bench(async |t| {
        let text = show(
            &t,
            "<main><h1>Shop</h1><p>Two <b>bold</b> words</p>
             <nav aria-label=Pages><a href=/a>First</a><a href=/b>Second</a></nav>
             <form><label>Email <input type=email value=me@here.org></label>
             <label><input type=checkbox checked> Remember</label>
             <select aria-label=Size><option>S<option selected>M</select>
             <button disabled>Send</button></form>
             <img alt=Logo></main>",
            Snapshot { no_interactive: true, max_depth: Some(20), ..Snapshot::default() },
        )
        .await;
        let depth = |words: &str| {
            let line = text.lines().find(|line| line.contains(words));
            let line = line.unwrap_or_else(|| panic!("no {words} in\n{text}"));
            line.len() - line.trim_start().len()
        };
        assert!(text.starts_with("- webarea \"Page\""), "{text}");
        for (outer, inner) in [
            ("webarea", "- main"),
            ("- main", "heading \"Shop\""),
            ("- main", "navigation \"Pages\""),
            ("navigation", "link \"First\""),
            ("navigation", "link \"Second\""),
            ("- main", "textbox \"Email\""),
            ("- main", "checkbox \"Remember\""),
            ("combobox \"Size\"", "option \"M\""),
            ("- main", "button \"Send\""),
            ("- main", "img \"Logo\""),
        ] {
            assert!(depth(outer) < depth(inner), "{inner} is in {outer}:\n{text}");
        }
        for part in
            ["level=1", "value=\"me@here.org\"", "checked", "disabled", "selected", "\"bold\""]
        {
            assert!(text.contains(part), "{part} is told:\n{text}");
        }
    });
}

#[test]
fn an_empty_page_is_a_document_and_a_note() {
    bench(async |t| {
        let expected = "Page snapshot (1 elements, 0 refs)\n\n- document\n\n\
                        [Note: The page has no accessible content.]";
        for html in
            ["", "<body></body>", "<p> </p>", "<div><div></div></div>", "<script>1</script>"]
        {
            t.page("/", html);
            t.open("/").await;
            assert_eq!(see(&t, viewpoint()).await, expected, "{html}");
            assert_eq!(see(&t, Snapshot::default()).await, "- webarea", "{html}");
        }
        t.run(open("about:blank")).await.unwrap();
        assert_eq!(see(&t, viewpoint()).await, expected);
    });
}

#[test]
fn a_page_without_a_tree_is_a_document() {
    bench(async |t| {
        for script in [
            "document.documentElement.remove()",
            "document.body.remove()",
            "document.body.replaceWith(document.createElement('frameset'))",
            "document.replaceChildren(document.createComment('nothing'))",
            "document.open(); document.close()",
        ] {
            t.page("/", "<p>Words");
            t.open("/").await;
            t.eval(&format!("{script}; 1")).await;
            let text = see(&t, Snapshot { fresh: true, ..viewpoint() }).await;
            assert!(text.contains("\n- document"), "{script}: {text}");
            assert!(
                text.contains("[Note: The page has no accessible content.]"),
                "{script}: {text}"
            );
            assert_eq!(t.eval("1").await, "1", "{script}");
        }
    });
}

// Frames.

#[test]
fn frames_are_shown_below_their_boundary() {
    bench(async |t| {
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
            let text = show(&t, &html, Snapshot::default()).await;
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
            let boundaries = see(&t, viewpoint()).await;
            let line = boundaries.lines().find(|line| line.contains("iframe \"Frame\"")).unwrap();
            assert!(line.contains("[frame-boundary]"), "{case}: {line}");
        }
    });
}

#[test]
fn a_frame_is_told_with_its_origin() {
    bench(async |t| {
        t.page("/leaf", "<button>Inside</button>");
        let (here, there) = (t.url("/leaf"), t.other_url("/leaf"));
        show(&t, &format!("<iframe title=A name=left src='{here}'></iframe><iframe title=B src='{there}'></iframe>"),
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
        // Each is another element, and can be read through its own ref.
        for node in inside {
            let target = node.name_of_ref.as_deref().unwrap();
            assert_eq!(value(t.run(get(What::Text, target)).await.unwrap()), "Inside");
        }
    });
}

#[test]
fn a_frame_that_does_not_answer_is_marked_and_the_rest_is_shown() {
    bench(async |t| {
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
            assert!(began.elapsed() < Duration::from_secs(5), "it took {:?}", began.elapsed());
            outcome
        };
        // It may still answer once before it gets stuck.
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
        let text = see(&t, viewpoint()).await;
        assert!(line(&text, "iframe \"Endless\"").contains("(no answer)"), "{text}");
    });
}

#[test]
fn frames_of_a_page_that_was_left_are_forgotten() {
    bench(async |t| {
        t.page("/leaf", "<p>Leaf words");
        t.page("/middle", format!("<iframe src='{}'></iframe>", t.url("/leaf")));
        show(
            &t,
            &format!("<iframe src='{}'></iframe>", t.other_url("/middle")),
            Snapshot::default(),
        )
        .await;
        assert_eq!(t.tabs().await[0].frames, 2);
        let text = show(&t, "<iframe srcdoc='<p>Other words'></iframe>", Snapshot::default()).await;
        assert!(text.contains("Other words"), "{text}");
        t.tabs_until(|tabs| tabs[0].frames == 0).await;
    });
}

#[test]
fn the_first_look_finds_closed_trees_beside_sheets_of_another_origin() {
    bench(async |t| {
        t.serve("/away.css", Route::Style(".off { display: none }".into()));
        let html = format!(
            "<link rel=stylesheet href='{}'><p>Words</p><p class=off>Off</p><div id=h></div><script>
             h.attachShadow({{ mode: 'closed' }}).innerHTML = '<button>Inside</button>'</script>",
            t.other_url("/away.css")
        );
        let text = show(&t, &html, Snapshot::default()).await;
        assert!(has_ref(&text, "\"Inside\"") && !text.contains("Off"), "{text}");
    });
}

#[test]
fn refs_from_the_browsers_own_tree_can_be_used() {
    bench(async |t| {
        let page =
            "<ul><li>Ann <button id=a>Call</button></li><li>Bob <button>Call</button></li></ul>
            <a href='#'>Away</a>";
        show(&t, page, Snapshot::default()).await;
        let text = see(&t, Snapshot { source: TreeSource::Ax, ..Snapshot::default() }).await;
        assert_eq!(
            value(t.run(get(What::Text, &ref_of(&text, "\"Away\""))).await.unwrap()),
            "Away"
        );
        let call = ref_of(&text, "button \"Call\"");
        assert_eq!(value(t.run(get(What::Text, &call)).await.unwrap()), "Call");
        t.eval("a.parentNode.firstChild.data = 'Cid '").await;
        let error = t.run(get(What::Text, &call)).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRefStale, "{error}");
    });
}

// Who gets a ref.

#[test]
fn controls_always_get_refs() {
    bench(async |t| {
        let roles = [
            "button",
            "link",
            "textbox",
            "checkbox",
            "radio",
            "combobox",
            "slider",
            "menuitem",
            "menuitemcheckbox",
            "menuitemradio",
            "tab",
            "switch",
            "searchbox",
            "spinbutton",
        ];
        let html: String = roles
            .iter()
            .map(|role| format!("<div role={role} aria-label=my-{role}></div>"))
            .collect();
        let text = show(&t, &html, Snapshot::default()).await;
        for role in roles {
            assert!(has_ref(&text, &format!("{role} \"my-{role}\"")), "{role}:\n{text}");
        }
        for (case, html) in [
            ("tabindex", "<div tabindex=0>Target</div>"),
            ("positive tabindex", "<p tabindex=3>Target</p>"),
            ("heading with tabindex", "<h2 tabindex=0>Target</h2>"),
            ("only a click listener", "<div id=x>Target</div><script>x.addEventListener('click', () => {})</script>"),
            ("a mouse listener", "<span id=x>Target</span><script>x.addEventListener('mousedown', () => {})</script>"),
            ("a handler attribute", "<div onclick='1'>Target</div>"),
            ("a handler property", "<div id=x>Target</div><script>x.onclick = () => {}</script>"),
            ("cursor: pointer", "<style>.x { cursor: pointer }</style><div class=x>Target</div>"),
            ("contenteditable", "<div contenteditable>Target</div>"),
            ("plain contenteditable", "<div contenteditable=plaintext-only>Target</div>"),
            ("what can be dragged", "<ul><li draggable=true>Target</ul>"),
            ("summary", "<details><summary>Target</summary>More</details>"),
            ("file", "<input type=file aria-label=Target>"),
            ("disabled", "<button disabled>Target</button>"),
            ("listener in a closed shadow tree",
             "<div id=h></div><script>const r = h.attachShadow({ mode: 'closed' });
              r.innerHTML = '<div id=x>Target</div>'; r.firstChild.addEventListener('click', () => {})</script>"),
        ] {
            let text = show(&t, html, Snapshot::default()).await;
            assert!(has_ref(&text, "Target"), "{case}:\n{text}");
        }
    });
}

#[test]
fn words_of_a_chart_are_told_unless_its_name_says_it() {
    bench(async |t| {
        let chart = |inside: &str| {
            format!(
                "<svg width=99 height=99>{inside}<g><text y=20>Jan</text><text y=40>12 %</text></g></svg>"
            )
        };
        let text = show(&t, &chart(""), Snapshot::default()).await;
        assert!(text.contains("\"Jan\"") && text.contains("\"12 %\""), "{text}");
        let text = show(&t, &chart("<title>Sales</title>"), Snapshot::default()).await;
        assert!(text.contains("img \"Sales\"") && !text.contains("12 %"), "{text}");
    });
}

#[test]
fn a_label_stands_in_for_a_box_that_is_not_drawn() {
    bench(async |t| {
        for (case, style) in [
            ("transparent", "opacity: 0; position: absolute"),
            ("not drawn", "display: none"),
            ("clipped", "position: absolute; clip: rect(0 0 0 0); width: 1px; height: 1px"),
            ("off screen", "position: absolute; left: -9999px"),
            ("without size", "appearance: none; width: 0; height: 0; margin: 0"),
        ] {
            let html = format!(
                "<input type=checkbox id=c style='{style}' checked><label for=c>Agree</label>"
            );
            let text = show(&t, &html, Snapshot::default()).await;
            let line = text.lines().find(|line| line.contains("Agree") && line.contains("ref="));
            assert!(line.is_some_and(|line| line.contains("checked")), "{case}:\n{text}");
        }
        // Where the box is drawn it speaks for itself.
        let text =
            show(&t, "<input type=checkbox id=c><label for=c>Agree</label>", Snapshot::default())
                .await;
        assert_eq!(text.matches("ref=").count(), 1, "{text}");
    });
}

#[test]
fn names_are_put_together_with_the_spaces_that_one_sees() {
    bench(async |t| {
        let icon = "<svg width=9 height=9 aria-label=Icon><path d='M0 0h9v9'/></svg>";
        let hidden = "<span style='position:absolute'>1/5</span>";
        for (inside, name) in [
            (format!("Tell{icon}"), "Tell Icon"),
            (format!("Tell<span>{icon}</span>now"), "Tell Icon now"),
            (format!("<i><b>{icon}</b></i>Tell"), "Icon Tell"),
            ("Tell<i><img alt=Bird></i>now".into(), "Tell Bird now"),
            ("one<i><b aria-label=two>x</b></i>three".into(), "one two three"),
            ("one<span><div>two</div></span>three".into(), "one two three"),
            ("un<b>broken</b> word".into(), "unbroken word"),
            ("mo<wbr>zilla".into(), "mozilla"),
            (format!("{hidden} floats"), "1/5 floats"),
        ] {
            let text = show(&t, &format!("<a href=/>{inside}</a>"), Snapshot::default()).await;
            assert!(text.contains(&format!("link \"{name}\"")), "{inside}: {text}");
        }
    });
}

#[test]
fn a_drawing_that_is_taken_from_elsewhere_names_its_link() {
    bench(async |t| {
        let sprite = "<svg style='display:none'><symbol id=s><title>search</title><path d='M0 0h9v9'/></symbol></svg>";
        let html = format!("{sprite}<a href=/><svg width=9 height=9><use href='#s'/></svg></a>");
        let text = show(&t, &html, Snapshot::default()).await;
        assert!(text.contains("link \"search\""), "{text}");
        // What it is taken from can get another title without any change near the link.
        t.eval("document.querySelector('title + path').previousSibling.textContent = 'find'").await;
        let text = see(&t, Snapshot::default()).await;
        assert!(text.contains("link \"find\""), "{text}");
    });
}

#[test]
fn items_get_refs_where_one_chooses_from_them() {
    bench(async |t| {
        for (html, words) in [
            ("<div role=listbox><div role=option>Target</div></div>", "option \"Target\""),
            ("<ul role=listbox><li role=option>Target</li></ul>", "option \"Target\""),
            ("<ul role=tree><li role=treeitem>Target</li></ul>", "treeitem \"Target\""),
            ("<table role=grid><tr><td>Target</table>", "gridcell \"Target\""),
            ("<table role=grid><tr aria-label=Row><td>Target</table>", "row \"Row\""),
            (
                "<div role=menu><div role=listitem aria-label=Target>x</div></div>",
                "listitem \"Target\"",
            ),
            ("<select size=3><option>Target</select>", "option \"Target\""),
        ] {
            let text = show(&t, html, Snapshot::default()).await;
            assert!(has_ref(&text, words), "{html}:\n{text}");
        }
        for (html, words) in [
            ("<ul><li>Target</li></ul>", "Target"),
            ("<table border=1><tr><td>Target<td>Other<tr><td>a<td>b</table>", "Target"),
            ("<div role=list><div role=listitem aria-label=Target>x</div></div>", "Target"),
        ] {
            let options = Snapshot { no_interactive: true, ..Snapshot::default() };
            let text = show(&t, html, options).await;
            assert!(!text.contains("ref=") && text.contains(words), "{html}:\n{text}");
        }
    });
}

#[test]
fn structure_gets_no_refs() {
    bench(async |t| {
        let text = show(
            &t,
            "<header>Top</header><nav>Ways</nav><main><h1>Heading</h1><p>Paragraph</p>Text<hr>
             <img alt=Picture><figure><figcaption>Caption</figcaption></figure></main><footer>Bottom</footer>",
            Snapshot { no_interactive: true, all_refs: true, max_depth: Some(20), ..Snapshot::default() },
        )
        .await;
        assert!(!text.contains("ref="), "{text}");
        for role in [
            "heading",
            "paragraph",
            "text",
            "separator",
            "img",
            "figure",
            "main",
            "navigation",
            "banner",
            "contentinfo",
        ] {
            assert!(text.contains(&format!("- {role}")), "{role}:\n{text}");
        }
    });
}

#[test]
fn a_page_with_many_refs_is_compact_and_says_so() {
    bench(async |t| {
        let page = |buttons: usize| {
            let buttons: String = (0..buttons).map(|n| format!("<button>B{n}</button>")).collect();
            format!(
                "{buttons}<div role=listbox><div role=option>One</div><div role=option>Two</div></div>"
            )
        };
        // Exactly a hundred is not more than a hundred.
        let text = show(&t, &page(98), viewpoint()).await;
        assert!(text.starts_with("Page snapshot (") && text.contains(", 100 refs)"), "{text}");
        assert!(has_ref(&text, "option \"One\"") && !text.contains("[Note"), "{text}");

        let text = show(&t, &page(99), viewpoint()).await;
        assert!(text.contains(", 99 refs, compact mode)"), "{text}");
        assert!(
            has_ref(&text, "button \"B98\"") && !text.contains("option \"One\" [ref"),
            "{text}"
        );
        let note = "[Note: Page has many interactive elements. Use browser_snapshot with allRefs: true for \
                    complete refs.]";
        assert!(text.contains(note), "{text}");
        let outcome = t.run(snapshot(Snapshot::default())).await.unwrap();
        assert!(
            outcome.notes.iter().any(|note| note.message.contains("2 more elements")),
            "{:?}",
            outcome.notes
        );

        let text = see(&t, Snapshot { all_refs: true, ..viewpoint() }).await;
        assert!(text.contains(", 101 refs)") && has_ref(&text, "option \"One\""), "{text}");
        assert!(!text.contains("[Note"), "{text}");
    });
}

#[test]
fn a_ref_in_the_viewpoint_is_the_browsers_number_of_the_node() {
    bench(async |t| {
        t.page("/leaf", "<button>There</button>");
        let html = format!(
            "<button>One</button><a href=/x>Two</a><iframe src='{}'></iframe>",
            t.other_url("/leaf")
        );
        show(&t, &html, Snapshot::default()).await;
        let text = see(&t, viewpoint()).await;
        let number = |name: &str, prefix: &str| {
            let prefix = format!("{}:{prefix}", t.context);
            let digits = name.strip_prefix(&prefix).unwrap_or_else(|| panic!("{name}"));
            digits.parse::<u64>().unwrap_or_else(|_| panic!("{name}"))
        };
        let one = number(&ref_of(&text, "\"One\""), "e");
        let two = number(&ref_of(&text, "\"Two\""), "e");
        // A frame of another process has numbers of its own.
        let there = ref_of(&text, "\"There\"");
        let there = there.strip_prefix(&format!("{}:f", t.context)).expect("it is marked");
        assert!(there.split_once('e').is_some_and(|(mark, id)| {
            mark.parse::<u32>().is_ok() && id.parse::<u64>().is_ok()
        }));
        assert_ne!(one, two);
        // It is the element's for life.
        t.eval("document.body.prepend(document.createElement('button')); 1").await;
        let later = see(&t, Snapshot { fresh: true, ..viewpoint() }).await;
        assert_eq!(number(&ref_of(&later, "\"One\""), "e"), one);
        // The browser's own tree goes by the same numbers.
        assert!(text.contains(&format!("button \"One\" [ref={}:e{one}]", t.context)), "{text}");
    });
}

// What a ref stands for.

#[test]
fn a_ref_of_the_current_snapshot_is_used() {
    bench(async |t| {
        let text = show(&t, "<button>Submit</button>", Snapshot::default()).await;
        let outcome = t.run(get(What::Text, &ref_of(&text, "Submit"))).await.unwrap();
        assert!(outcome.notes.is_empty(), "{:?}", outcome.notes);
        assert_eq!(value(outcome), "Submit");
    });
}

#[test]
fn a_ref_to_an_element_that_changed_is_refused() {
    bench(async |t| {
        for (script, now) in [
            ("x.textContent = 'Loading...'", "button 'Loading...'"),
            ("x.setAttribute('role', 'link')", "link 'Submit'"),
            ("x.setAttribute('aria-label', 'Delete all')", "button 'Delete all'"),
        ] {
            show(&t, "<button id=x>Submit</button>", Snapshot::default()).await;
            let name = ref_of(&see(&t, Snapshot::default()).await, "Submit");
            t.eval(&format!("{script}; 1")).await;
            let error = t.run(get(What::Text, &name)).await.unwrap_err();
            assert_eq!(error.code(), Code::SnapshotRefStale);
            assert_eq!(
                message(&error),
                format!(
                    "Element changed since snapshot. Was: button 'Submit', Now: {now}. \
                     Take a new snapshot to get current element state."
                )
            );
            // A new snapshot gives it again, for what it is now.
            let again = ref_of(&see(&t, Snapshot::default()).await, "ref=");
            assert_eq!(again, name);
            t.run(get(What::Text, &name)).await.unwrap();
        }
    });
}

#[test]
fn a_ref_to_an_element_that_is_gone_is_refused() {
    bench(async |t| {
        for script in [
            "x.remove()",
            "x.hidden = true",
            "x.replaceWith(x.cloneNode(true))",
            "document.body.innerHTML = document.body.innerHTML",
        ] {
            show(&t, "<button id=x>Submit</button>", Snapshot::default()).await;
            let name = ref_of(&see(&t, Snapshot::default()).await, "Submit");
            t.eval(&format!("{script}; 1")).await;
            let error = t.run(get(What::Text, &name)).await.unwrap_err();
            assert_eq!(error.code(), Code::SnapshotRefStale, "{script}");
            let twin = match script.contains("clone") || script.contains("innerHTML") {
                true => " One like it is there now: button \"Submit\".",
                false => "",
            };
            assert_eq!(
                message(&error),
                format!(
                    "Element 'Submit button' (ref: {name}) no longer exists. \
                     Take a new snapshot to see current page state.{twin}"
                ),
                "{script}"
            );
        }
        // So is one to an element of the page before.
        let name = ref_of(&show_raw(&t, "<button>Submit</button>").await, "Submit");
        t.open("/").await;
        let error = t.run(get(What::Text, &name)).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRefStale);
        assert!(message(&error).starts_with("Element 'Submit button' (ref: @e"), "{error}");
    });
}

/// A page with the refs as they are.
async fn show_raw(t: &Bench, html: &str) -> String {
    show(t, html, Snapshot::default()).await;
    see(t, Snapshot::default()).await
}

#[test]
fn a_ref_to_an_element_with_a_minor_change_is_used_with_a_note() {
    bench(async |t| {
        for (html, script) in [
            ("<button id=x>Cart (2)</button>", "x.textContent = 'Cart (3)'"),
            ("<a id=x href=/>Updated 12:01</a>", "x.textContent = 'Updated 12:02'"),
        ] {
            let name = ref_of(&show_raw(&t, html).await, "ref=");
            t.eval(&format!("{script}; 1")).await;
            let outcome = t.run(get(What::Text, &name)).await.unwrap();
            let notes: Vec<_> = outcome.notes.iter().map(|note| &*note.message).collect();
            assert_eq!(notes, ["Note: Element may have changed. Using current state."], "{html}");
            assert!(script.contains(&value(outcome)), "{html}");
        }
        // A value or a state is no change of meaning at all.
        let name = ref_of(&show_raw(&t, "<input id=x aria-label=Name>").await, "ref=");
        t.eval("x.value = 'Ann'; x.disabled = true; 1").await;
        let outcome = t.run(get(What::Value, &name)).await.unwrap();
        assert!(outcome.notes.is_empty(), "{:?}", outcome.notes);
        assert_eq!(value(outcome), "Ann");
    });
}

#[test]
fn refs_of_the_previous_snapshot_are_remembered_and_no_older_ones() {
    bench(async |t| {
        let name = ref_of(&show_raw(&t, "<button id=x>First</button>").await, "First");
        let other = |n: u32| format!("document.body.innerHTML = '<button>Other {n}</button>'; 1");
        t.eval(&other(1)).await;
        see(&t, Snapshot { fresh: true, ..Snapshot::default() }).await;
        let error = t.run(get(What::Text, &name)).await.unwrap_err();
        assert!(message(&error).starts_with("Element 'First button'"), "{error}");
        t.eval(&other(2)).await;
        see(&t, Snapshot { fresh: true, ..Snapshot::default() }).await;
        let error = t.run(get(What::Text, &name)).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRefStale);
        assert!(message(&error).contains("older than the previous one"), "{error}");
    });
}

#[test]
fn a_ref_that_no_snapshot_gave_is_not_found() {
    bench(async |t| {
        show(&t, "<button>Submit</button>", Snapshot::default()).await;
        let error = t.run(get(What::Text, "@e999")).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRefNotFound);
        // Nor does a ref of one tab mean anything in another.
        let new = TabVerb {
            action: TabAction::New(NewTab { url: Some(t.url("/")), ..NewTab::default() }),
        };
        let tab = tab_id(t.run(Command::Tab(new)).await);
        let error = t.run_on(tab, get(What::Text, "@e1")).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRefNotFound);
    });
}

#[test]
fn a_malformed_ref_is_answered_with_the_expected_format() {
    for given in ["@", "@e", "@e0", "@x3", "@3", "@e-1", "@e3x", "e0", "e99999999999"] {
        let error = given.parse::<Target>().unwrap_err();
        assert!(
            error.contains("expected `@e` and a number from the last snapshot, such as `@e3`"),
            "{error}"
        );
        let json = format!(r#"{{"what":"text","target":"{given}"}}"#);
        let error = serde_json::from_str::<Get>(&json).unwrap_err().to_string();
        assert!(error.contains("such as `@e3`"), "{error}");
    }
}

#[test]
fn an_element_keeps_its_ref() {
    bench(async |t| {
        let first = show_raw(&t, "<button id=x>Stays</button><button id=y>Goes</button>").await;
        t.eval(
            "y.remove(); document.body.insertAdjacentHTML('afterbegin', '<button>New</button>'); 1",
        )
        .await;
        let second = see(&t, Snapshot { fresh: true, ..Snapshot::default() }).await;
        assert_eq!(ref_of(&first, "Stays"), ref_of(&second, "Stays"));
        assert_ne!(ref_of(&first, "Goes"), ref_of(&second, "New"));
    });
}

// The text.

#[test]
fn the_text_is_that_of_the_specification() {
    bench(async |t| {
        let text = show(
            &t,
            "<h1>Welcome</h1><button>Sign In</button><input aria-label=Email>",
            viewpoint(),
        )
        .await;
        assert_eq!(
            text,
            "Page snapshot (4 elements, 2 refs)\n\n\
             - document:\n  \
               - heading \"Welcome\"\n  \
               - button \"Sign In\" [ref=e1]\n  \
               - textbox \"Email\" [ref=e2]"
        );
        let text = see(&t, Snapshot::default()).await;
        assert_eq!(
            renumbered(&text),
            "- webarea \"Page\":\n  \
               - heading \"Welcome\" [level=1]\n  \
               - button \"Sign In\" [ref=@e1]\n  \
               - textbox \"Email\" [ref=@e2]"
        );
    });
}

#[test]
fn long_text_is_cut_and_can_be_read_in_full() {
    bench(async |t| {
        let (short, long) = ("s".repeat(100), "word ".repeat(60));
        let html = format!("<p id=s>{short}</p><p id=l>{long}</p><button>{long}</button>");
        let text = show(&t, &html, viewpoint()).await;
        assert!(text.contains(&format!("\"{short}\"")), "{text}");
        for line in text.lines().filter(|line| line.contains("word")) {
            let quoted = line.split('"').nth(1).unwrap();
            assert!(quoted.ends_with("...") && quoted.len() <= 100 && quoted.len() > 90, "{line}");
        }
        assert_eq!(text.matches("...\"").count(), 2, "{text}");
        let whole = value(t.run(get(What::Text, "css=#l")).await.unwrap());
        assert_eq!(whole.trim(), long.trim());
        let name = ref_of(&see(&t, Snapshot::default()).await, "button");
        assert_eq!(value(t.run(get(What::Text, &name)).await.unwrap()).trim(), long.trim());
    });
}

// The cache.

/// Two tabs of one site, so that one can change the other without a command to it.
async fn two_tabs(t: &Bench, html: &str) -> (TabId, TabId) {
    t.page("/", format!("<title>Page</title>{html}"));
    t.page("/side", "<title>Side</title>");
    t.open("/").await;
    let first = t.tabs().await[0].id;
    t.run_on(first, eval("window.open('side', 'side'); 1")).await.unwrap();
    let tabs = t.tabs_until(|tabs| tabs.iter().any(|tab| tab.title == "Side")).await;
    (first, tabs.iter().find(|tab| tab.id != first).unwrap().id)
}

async fn see_on(t: &Bench, tab: TabId, options: Snapshot) -> String {
    t.run_on(tab, snapshot(options))
        .await
        .unwrap_or_else(|error| panic!("{error}"))
        .reply
        .to_string()
}

/// What a script sets here no event tells of.
const QUIETLY: &str = "opener.document.querySelector('input').value = 'second'; 1";

#[test]
fn a_snapshot_is_remembered_while_nothing_is_heard_of_the_page() {
    bench(async |t| {
        let (first, side) = two_tabs(&t, "<input aria-label=Name value=first>").await;
        assert!(see_on(&t, first, Snapshot::default()).await.contains("\"first\""));
        t.run_on(side, eval(QUIETLY)).await.unwrap();
        assert!(see_on(&t, first, Snapshot::default()).await.contains("\"first\""));
        // Another way of looking is not the same snapshot; `fresh` never is.
        assert!(
            see_on(&t, first, Snapshot { fresh: true, ..Snapshot::default() })
                .await
                .contains("\"second\"")
        );
        assert!(see_on(&t, first, Snapshot::default()).await.contains("\"second\""));
    });
}

#[test]
fn all_refs_looks_anew_and_leaves_what_is_remembered_alone() {
    bench(async |t| {
        let (first, side) = two_tabs(&t, "<input aria-label=Name value=first>").await;
        assert!(see_on(&t, first, Snapshot::default()).await.contains("\"first\""));
        t.run_on(side, eval(QUIETLY)).await.unwrap();
        let all = Snapshot { all_refs: true, ..Snapshot::default() };
        assert!(see_on(&t, first, all.clone()).await.contains("\"second\""));
        assert!(see_on(&t, first, Snapshot::default()).await.contains("\"first\""));
        // What happens in between is still heard of.
        t.run_on(first, eval("document.body.append('More'); 1")).await.unwrap();
        assert!(see_on(&t, first, all).await.contains("More"));
        let text = see_on(&t, first, Snapshot::default()).await;
        assert!(text.contains("More") && text.contains("\"second\""), "{text}");
    });
}

#[test]
fn what_a_script_did_is_seen_at_once() {
    bench(async |t| {
        show(&t, "<h1 id=x>0</h1><input id=y aria-label=Name>", Snapshot::default()).await;
        for n in 1..=40 {
            t.eval(&format!("x.textContent = 'Heading {n}'; 1")).await;
            let text = see(&t, Snapshot::default()).await;
            assert!(text.contains(&format!("\"Heading {n}\"")), "{n}:\n{text}");
            t.eval(&format!("y.value = 'value {n}'; 1")).await;
            let text = see(&t, Snapshot::default()).await;
            assert!(text.contains(&format!("\"value {n}\"")), "{n}:\n{text}");
        }
    });
}

#[test]
fn what_a_script_did_to_a_sheet_is_seen_at_once() {
    bench(async |t| {
        let html = "<style id=s>.a { color: green } .b { color: blue }</style><p class=a>One</p><p class=b>Two</p>
            <script>added = new CSSStyleSheet(); added.replaceSync('.c { color: red }');
              document.adoptedStyleSheets.push(added)</script>";
        for script in [
            "s.sheet.cssRules[0].style.display = 'none'; 1",
            "document.styleSheets[0].cssRules[0].selectorText = '.x, .a'; added.replaceSync('.a { opacity: 0 }'); 1",
        ] {
            assert!(show(&t, html, Snapshot::default()).await.contains("\"One\""));
            t.eval(script).await;
            let text = see(&t, Snapshot::default()).await;
            assert!(!text.contains("\"One\"") && text.contains("\"Two\""), "{script}:\n{text}");
        }
        // The page itself does it, and nobody is told: who wants to be sure looks afresh.
        t.page("/late", format!("{html}<button onclick=\"added.replaceSync('.a {{ display: none }}')\">Hide</button>"));
        t.open("/late").await;
        assert!(see(&t, Snapshot::default()).await.contains("\"One\""));
        t.eval("document.querySelector('button').click(); 1").await;
        let text = see(&t, Snapshot { fresh: true, ..Snapshot::default() }).await;
        assert!(!text.contains("\"One\"") && text.contains("\"Two\""), "{text}");
    });
}

#[test]
fn rules_hide_what_they_are_about_however_it_is_spelled() {
    bench(async |t| {
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
            let text =
                show(&t, &format!("<style>{style}</style>{html}<p>Seen</p>"), Snapshot::default())
                    .await;
            assert!(
                text.contains("\"Seen\"") && !text.contains("\"Hidden\""),
                "{style} {html}:\n{text}"
            );
        }
        // In documents of the oldest kind, classes and ids are the same in large and small letters.
        t.page(
            "/quirks",
            "<title>Q</title><style>.HIDE, #Gone { display: none }</style>
             <p class=hide>Hidden</p><p id=gONE>Hidden</p><p>Seen</p>",
        );
        t.open("/quirks").await;
        let text = see(&t, Snapshot::default()).await;
        assert!(text.contains("\"Seen\"") && !text.contains("\"Hidden\""), "{text}");
        t.page("/old", "<title>O</title><body bgcolor=#000000 text=#ffffff><p>Seen</p><p><font color=#000000>Hidden</font></p>");
        t.open("/old").await;
        let text = see(&t, Snapshot::default()).await;
        assert!(text.contains("\"Seen\"") && !text.contains("\"Hidden\""), "{text}");
    });
}

#[test]
fn what_happens_in_a_page_by_itself_is_seen() {
    bench(async |t| {
        let (first, side) =
            two_tabs(&t, "<h1 id=x>Before</h1><input aria-label=Name><div id=h></div>
             <script>h.attachShadow({ mode: 'closed' }).innerHTML = '<p>Before</p>'; inner = null</script>").await;
        for (n, script) in [
            "opener.x.textContent = 'After 0'",
            "opener.x.setAttribute('aria-label', 'After 1')",
            "opener.document.querySelector('input').value = 'After 2';
             opener.document.querySelector('input').dispatchEvent(new opener.Event('input', { bubbles: true }))",
            "opener.x.insertAdjacentHTML('afterend', '<p>After 3')",
        ]
        .iter()
        .enumerate()
        {
            see_on(&t, first, Snapshot { fresh: true, ..Snapshot::default() }).await;
            t.run_on(side, eval(&format!("{script}; 1"))).await.unwrap();
            // The news travels on its own; it is here long before what is remembered grows old.
            let began = Instant::now();
            while !see_on(&t, first, Snapshot::default()).await.contains(&format!("After {n}")) {
                assert!(began.elapsed() < Duration::from_secs(2), "{script}");
            }
        }
    });
}

#[test]
fn an_address_that_became_another_one_is_told() {
    bench(async |t| {
        t.page("/", "<!doctype html><title>Page</title><a href=x>Words</a>")
            .page("/side", "<p>Side");
        t.open("/").await;
        let first = t.tabs().await[0].id;
        t.eval(&format!("window.open({:?}); 1", t.url("/side"))).await;
        let tabs = t.tabs_until(|tabs| tabs.len() == 2 && tabs[1].url == t.url("/side")).await;
        let full = || Snapshot { details: true, urls: true, ..Snapshot::default() };
        for way in ["pushState", "replaceState"] {
            see_on(&t, first, Snapshot { fresh: true, ..full() }).await;
            // A script of another tab: this one is not asked to do anything.
            let script = format!("opener.history.{way}(0, '', './{way}/deeper'); 1");
            t.run_on(tabs[1].id, eval(&script)).await.unwrap();
            let began = Instant::now();
            loop {
                let reply = t.run_on(first, snapshot(full())).await.unwrap().reply;
                let Reply::Snapshot(Snapped::Full(told)) = reply else { panic!("no details") };
                let link = &told.refs[0].url;
                let is_there = |url: &str| url.contains(&format!("{way}/"));
                if told.url.as_deref().is_some_and(is_there) && is_there(link) {
                    break;
                }
                assert!(began.elapsed() < Duration::from_secs(2), "{:?} {link}", told.url);
            }
        }
    });
}

#[test]
fn a_page_that_was_left_is_not_remembered() {
    bench(async |t| {
        assert!(show(&t, "<p>Here</p>", Snapshot::default()).await.contains("Here"));
        assert!(show(&t, "<p>There</p>", Snapshot::default()).await.contains("There"));
        t.eval("history.pushState(0, '', '/elsewhere'); document.body.textContent = 'Else'; 1")
            .await;
        assert!(see(&t, Snapshot::default()).await.contains("Else"));
    });
}

#[test]
fn the_phases_of_a_snapshot_are_traced() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    tracing::subscriber::set_global_default(Tracer { seen: seen.clone() }).expect("the only one");
    bench(async |t| {
        show(&t, "<p>Words", Snapshot::default()).await;
        see(&t, Snapshot::default()).await;
    });
    let seen = seen.lock().unwrap();
    for wanted in
        ["browser_initialize", "capture_snapshot", "format_snapshot", "cache=miss", "cache=hit"]
    {
        let is_there = |name: &String| name == wanted || name.replace('"', "") == wanted;
        assert!(seen.iter().any(is_there), "{wanted} in {seen:?}");
    }
}

/// Remembers the names of spans and what is said about the cache.
struct Tracer {
    seen: Arc<Mutex<Vec<String>>>,
}

impl tracing::Subscriber for Tracer {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("agbrowse")
    }
    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        let mut seen = self.seen.lock().unwrap();
        seen.push(span.metadata().name().to_owned());
        tracing::span::Id::from_u64(seen.len() as u64)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        struct Fields<'a>(&'a mut Vec<String>);
        impl tracing::field::Visit for Fields<'_> {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                if field.name() == "cache" {
                    self.0.push(format!("cache={value:?}"));
                }
            }
        }
        event.record(&mut Fields(&mut self.seen.lock().unwrap()));
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

// What is drawn and what is not.

#[test]
fn shadow_trees_are_shown_as_they_are_drawn() {
    bench(async |t| {
        check(
            &t,
            &[
                (
                    "open",
                    "<div><template shadowrootmode=open><button>Inside</button></template></div>",
                    "  - button \"Inside\" [ref=@e1]",
                ),
                (
                    "closed",
                    "<div><template shadowrootmode=closed><button>Inside</button></template></div>",
                    "  - button \"Inside\" [ref=@e1]",
                ),
                (
                    "closed, attached by a script",
                    "<x-host id=h></x-host><script>h.attachShadow({ mode: 'closed' }).innerHTML = \
                     '<button>Inside</button>'</script>",
                    "  - button \"Inside\" [ref=@e1]",
                ),
                (
                    "closed in closed",
                    "<div><template shadowrootmode=closed><p><template shadowrootmode=closed><button>Inside\
                     </button></template></p></template></div>",
                    "  - button \"Inside\" [ref=@e1]",
                ),
                (
                    "slots, in the order of the slots",
                    "<div><template shadowrootmode=open><slot name=b></slot><h2>Between</h2><slot></slot>\
                     <slot name=c>Fallback</slot></template><i>Second</i><b slot=b>First</b></div>",
                    "  - text: \"First\"\n  - heading \"Between\" [level=2]\n  - text: \"Second\"\n  \
                     - text: \"Fallback\"",
                ),
                (
                    "slots of a closed tree",
                    "<x-host><template shadowrootmode=closed><slot name=b></slot><h2>Between</h2></template>\
                     <b slot=b>First</b><i>Without a slot</i></x-host>",
                    "  - text: \"First\"\n  - heading \"Between\" [level=2]",
                ),
                (
                    "a name from a slot",
                    "<div><template shadowrootmode=open><button><slot></slot></button></template>Save</div>",
                    "  - button \"Save\" [ref=@e1]",
                ),
            ],
        )
        .await;
    });
}

#[test]
fn what_comes_into_an_empty_frame_is_seen() {
    bench(async |t| {
        t.page("/framed", "<p>From elsewhere</p>");
        t.page(
            "/",
            "<h1>Frames</h1><iframe id=f title=Frame></iframe><iframe title=Other srcdoc='<!-- nothing -->'></iframe>
             <script>const late = (what, ms = 30) => setTimeout(what, ms)</script>",
        );
        for (how, words) in [
            ("f.contentDocument.body.append('Appended')", "Appended"),
            ("f.contentDocument.body.innerHTML = '<button>Put in</button>'", "button \"Put in\""),
            ("f.contentDocument.write('<p>Written'); f.contentDocument.close()", "Written"),
            ("f.src = 'framed'", "From elsewhere"),
            ("f.srcdoc = '<button>From here</button>'", "button \"From here\""),
            ("f.contentDocument.title = 'Named'", "Named"),
            (
                "f.contentDocument.body.attachShadow({ mode: 'open' }).innerHTML = '<b>Shadow</b>'; \
                 f.contentDocument.body.id = 'x'",
                "Shadow",
            ),
        ] {
            t.open("/").await;
            let before = see(&t, Snapshot::default()).await;
            assert!(before.contains("iframe \"Frame\"") && !before.contains(words), "{before}");
            // By the page itself, so that nobody but the page knows.
            t.eval(&format!("late(() => {{ {how} }})")).await;
            let wait = format!(r#"{{"verb":"wait","text":{:?}}}"#, words.trim_matches('"'));
            let wait = wait.replace("button \\\"", "").replace("\\\"", "");
            if words != "Named" {
                // Sooner than the page is looked at anew in any case.
                let waited = t.run_within(3000, serde_json::from_str(&wait).unwrap()).await;
                let shown = see(&t, Snapshot::default()).await;
                assert!(waited.is_ok(), "{how}: {shown}");
            } else {
                t.until("f.contentDocument.title === 'Named'").await;
            }
            let after = see(&t, Snapshot::default()).await;
            assert!(after.contains(words), "{how}: {after}");
            assert_eq!(
                after,
                see(&t, Snapshot { fresh: true, ..Snapshot::default() }).await,
                "{how}"
            );
        }
    });
}

#[test]
fn a_shadow_root_that_comes_later_is_seen() {
    bench(async |t| {
        t.page(
            "/",
            "<h1>Roots</h1><div id=early></div><div id=late></div><x-late id=own>Words</x-late><script>
             const attach = (host, mode, style) => host.attachShadow({ mode }).innerHTML =
               `<button style='${style}'>In ${host.id}</button>`;
             addEventListener('load', () => attach(early, 'closed', 'position: fixed'));
             </script>",
        );
        t.open("/").await;
        let first = see(&t, Snapshot::default()).await;
        assert!(first.contains("button \"In early\""), "{first}");
        for mode in ["open", "closed"] {
            t.open("/").await;
            let before = see(&t, Snapshot::default()).await;
            assert!(!before.contains("In late") && before.contains("Words"), "{before}");
            // Neither leaves a trace in the tree of the document.
            t.eval(&format!("attach(late, '{mode}', 'position: fixed')")).await;
            t.eval(&format!("attach(own, '{mode}', '')")).await;
            let after = see(&t, Snapshot::default()).await;
            assert!(after.contains("button \"In late\""), "{mode}: {after}");
            assert!(
                after.contains("button \"In own\"") && !after.contains("Words"),
                "{mode}: {after}"
            );
            assert_eq!(after, see(&t, Snapshot { fresh: true, ..Snapshot::default() }).await);
        }
    });
}

#[test]
fn only_what_can_be_used_and_read_is_shown() {
    bench(async |t| {
        check(
            &t,
            &[
                (
                    "a modal dialog hides the rest",
                    "<button>Behind</button><dialog id=d aria-label=Ask><button>Yes</button></dialog>\
                     <script>d.showModal()</script>",
                    "  - dialog \"Ask\":\n    - button \"Yes\" [ref=@e1]",
                ),
                (
                    "a dialog that is not modal does not",
                    "<button>Behind</button><dialog id=d aria-label=Ask open><button>Yes</button></dialog>",
                    "  - button \"Behind\" [ref=@e1]\n  - dialog \"Ask\":\n    - button \"Yes\" [ref=@e2]",
                ),
                ("a closed dialog", "<dialog><button>Yes</button></dialog><p>Rest</p>", "  - text: \"Rest\""),
                ("inert", "<div inert><button>Off</button></div><button>On</button>", "  - button \"On\" [ref=@e1]"),
                ("a closed popover", "<div popover><button>In it</button></div><p>Rest</p>", "  - text: \"Rest\""),
                (
                    "an open popover",
                    "<div popover id=p><button>In it</button></div><script>p.showPopover()</script>",
                    "  - button \"In it\" [ref=@e1]",
                ),
                (
                    "closed details",
                    "<details><summary>More</summary><button>In it</button></details>",
                    "  - disclosuretriangle \"More\" [ref=@e1 expanded=false]",
                ),
                (
                    "open details",
                    "<details open><summary>More</summary><button>In it</button></details>",
                    "  - disclosuretriangle \"More\" [ref=@e1 expanded=true]\n  - button \"In it\" [ref=@e2]",
                ),
                (
                    "display: contents",
                    "<div style='display: contents'><button style='display: contents'>Flat</button></div>",
                    "  - button \"Flat\" [ref=@e1]",
                ),
                (
                    "content-visibility: hidden",
                    "<div style='content-visibility: hidden'><button>Skipped</button></div><p>Rest</p>",
                    "  - text: \"Rest\"",
                ),
                ("display: none", "<div style='display: none'>Gone</div><p>Rest</p>", "  - text: \"Rest\""),
                (
                    "visibility: hidden, and visible again inside",
                    "<div style='visibility: hidden'>Gone<p style='visibility: visible'>Back</p></div>",
                    "  - text: \"Back\"",
                ),
                ("aria-hidden", "<div aria-hidden=true><button>Gone</button></div><p>Rest</p>", "  - text: \"Rest\""),
                ("hidden", "<div hidden><button>Gone</button></div><p>Rest</p>", "  - text: \"Rest\""),
            ],
        )
        .await;
    });
}

// Parts and searches.

#[test]
fn a_root_is_shown_alone_and_in_full() {
    bench(async |t| {
        let long = "word ".repeat(1200);
        let html = format!(
            "<nav><a href=/>Away</a></nav><main id=m><h2>Part</h2><p>{}</p></main>",
            long.trim()
        );
        show(&t, &html, Snapshot::default()).await;
        for root in ["css=main", "css=#m"] {
            let target = Some(root.parse().unwrap());
            let text = see(&t, Snapshot { root: target.clone(), ..Snapshot::default() }).await;
            assert!(text.starts_with("- main"), "{text}");
            assert!(text.contains(long.trim()) && !text.contains("Away"), "{text}");
            let text = see(&t, Snapshot { root: target, ..viewpoint() }).await;
            assert!(text.contains(long.trim()) && !text.contains("Away"), "{text}");
        }
        let options = Snapshot { root_selector: Some("nav".into()), ..Snapshot::default() };
        let text = see(&t, options).await;
        assert!(text.contains("Away") && !text.contains("Part"), "{text}");
        let name = ref_of(&see(&t, Snapshot::default()).await, "Away");
        let text =
            see(&t, Snapshot { root: Some(name.parse().unwrap()), ..Snapshot::default() }).await;
        assert_eq!(text, format!("- link \"Away\" [ref={name}]"));
    });
}

#[test]
fn a_root_that_is_not_there_is_its_own_error() {
    bench(async |t| {
        show(&t, "<p hidden id=h>x</p>", Snapshot::default()).await;
        for css in ["#nothing", "main"] {
            let options = Snapshot { root_selector: Some(css.into()), ..Snapshot::default() };
            let error = t.run(snapshot(options)).await.unwrap_err();
            assert_eq!(error.code(), Code::SnapshotRootNotFound);
            assert_eq!(message(&error), format!("snapshot root selector did not match: {css}"));
        }
        // An element that is there but not shown has nothing to show either.
        let options = Snapshot { root_selector: Some("#h".into()), ..Snapshot::default() };
        assert_eq!(t.run(snapshot(options)).await.unwrap_err().code(), Code::SnapshotRootNotFound);
        let root = Some("@e999".parse().unwrap());
        let error = t.run(snapshot(Snapshot { root, ..Snapshot::default() })).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRefNotFound);
    });
}

#[test]
fn a_budget_folds_the_rest_and_says_how_much() {
    bench(async |t| {
        let list: String =
            (0..300).map(|n| format!("<li><a href=/{n}>Entry number {n}</a></li>")).collect();
        show(&t, &format!("<h1>Top</h1><ul>{list}</ul><button>Buy</button>"), Snapshot::default())
            .await;
        for budget in [200, 600] {
            let options = Snapshot { budget: Some(budget), ..Snapshot::default() };
            let outcome = t.run(snapshot(options)).await.unwrap();
            let Reply::Snapshot(Snapped::Text(shown)) = &outcome.reply else { panic!("no text") };
            assert!(
                shown.tokens <= budget + budget / 10,
                "{} of {budget}:\n{}",
                shown.tokens,
                shown.text
            );
            assert!(
                shown.text.contains("\"Top\"") && shown.text.contains("- … "),
                "{}",
                shown.text
            );
            let is_told = |note: &agbrowse_browser::Note| {
                note.message.contains("folded to keep to the budget")
            };
            assert!(outcome.notes.iter().any(is_told), "{:?}", outcome.notes);
        }
        let options = Snapshot { budget: Some(1_000_000), ..Snapshot::default() };
        assert_eq!(see(&t, options).await, see(&t, Snapshot::default()).await);
    });
}

#[test]
fn a_search_keeps_what_matches_and_what_it_is_in() {
    bench(async |t| {
        let html = "<main><h1>Shop</h1><form aria-label=Login><button>Sign in</button></form>
                    <form aria-label=Other><button>Sign out</button></form></main>";
        show(&t, html, Snapshot::default()).await;
        let find = |text: &str| Snapshot { find: Some(text.into()), ..Snapshot::default() };
        let text = renumbered(&see(&t, find("SIGN  in")).await);
        assert!(
            text.contains("button \"Sign in\" [ref=@e1]") && !text.contains("Sign out"),
            "{text}"
        );
        let none = details(&t, find("nowhere")).await;
        assert_eq!((none.matches, none.refs.len()), (Some(0), 0));
        assert_eq!(details(&t, find("sign")).await.matches, Some(2));
        let found = t
            .run(Command::Find(Find { role: Some("button".into()), ..Find::default() }))
            .await
            .unwrap();
        let Reply::Find(found) = found.reply else { panic!("no finds") };
        let names: Vec<_> = found.found.iter().map(|row| &*row.name).collect();
        assert_eq!(names, ["Sign in", "Sign out"]);
        // What it lists can be used.
        let name = found.found[1].name_of_ref.clone().unwrap();
        assert_eq!(value(t.run(get(What::Text, &name)).await.unwrap()), "Sign out");
    });
}

#[test]
fn a_delta_tells_only_what_changed() {
    bench(async |t| {
        let list: String =
            (0..200).map(|n| format!("<li><a href=/{n}>Entry {n}</a></li>")).collect();
        let full =
            show(&t, &format!("<h1 id=x>Old</h1><ul>{list}</ul>"), Snapshot::default()).await;
        let delta = || Snapshot { delta: true, ..Snapshot::default() };
        assert_eq!(see(&t, delta()).await, "no change");
        t.eval("x.textContent = 'New'; 1").await;
        let text = see(&t, delta()).await;
        assert_eq!(text, "~ heading \"New\" [level=1] (was \"Old\")");
        assert!(text.len() * 100 < full.len());
        assert_eq!(see(&t, delta()).await, "no change");
        t.eval("document.querySelector('li').remove(); 1").await;
        let text = see(&t, delta()).await;
        assert!(text.contains("- removed link \"Entry 0\"") && text.lines().count() <= 2, "{text}");
        // Another document is not compared with this one.
        t.open("/").await;
        assert!(see(&t, delta()).await.starts_with("- webarea"));
    });
}

#[test]
fn refs_alone_are_a_flat_list() {
    bench(async |t| {
        let html = "<main><h1>Title</h1><p>Words <a href=/>Link</a></p><div><div><button>Deep</button></div></div></main>";
        let text = show(&t, html, Snapshot { refs_only: true, ..Snapshot::default() }).await;
        assert_eq!(text, "@e1 link \"Link\"\n@e2 button \"Deep\"");
    });
}

#[test]
fn an_unchanged_page_has_one_text_and_one_hash() {
    bench(async |t| {
        t.page("/leaf", "<p>Leaf</p><button>There</button>");
        let html = format!(
            "<h1>Title</h1><p>Words</p><ul><li><a href=/a>A</a><li><a href=/b>B</a></ul><input value=v>
             <div><template shadowrootmode=closed><button>In</button></template></div>
             <iframe src='{}'></iframe><iframe src='{}'></iframe>",
            t.url("/leaf"),
            t.other_url("/leaf")
        );
        show(&t, &html, Snapshot::default()).await;
        let options = || Snapshot { fresh: true, ..Snapshot::default() };
        let first = details(&t, options()).await;
        assert!(first.ax_hash.starts_with("sha256:") && first.dom_hash.is_some());
        for _ in 0..9 {
            let again = details(&t, options()).await;
            assert_eq!(again.text, first.text);
            assert_eq!(
                (again.ax_hash, again.dom_hash),
                (first.ax_hash.clone(), first.dom_hash.clone())
            );
            assert_ne!(again.snapshot_id, first.snapshot_id);
            assert_eq!(again.refs, first.refs);
        }
        // Nor does it matter what the tab has shown before.
        t.open("/").await;
        let again = details(&t, options()).await;
        assert_eq!((again.ax_hash, again.dom_hash), (first.ax_hash, first.dom_hash));
    });
}
