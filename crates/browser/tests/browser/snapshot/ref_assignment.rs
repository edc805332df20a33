//! Ref assignment and accessible names.

use super::{details, has_ref, open_html, ref_of, renumbered, snapshot, snapshot_text, viewpoint};
use crate::harness::browser_test;
use agbrowse_browser::Command;
use agbrowse_browser::command::{Snapshot, TreeSource};

#[test]
fn controls_always_get_refs() {
    browser_test(async |t| {
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
        let text = open_html(&t, &html, Snapshot::default()).await;
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
            let text = open_html(&t, html, Snapshot::default()).await;
            assert!(has_ref(&text, "Target"), "{case}:\n{text}");
        }
    });
}

#[test]
fn svg_text_is_shown_unless_image_is_named() {
    browser_test(async |t| {
        let chart = |inside: &str| {
            format!(
                "<svg width=99 height=99>{inside}<g><text y=20>Jan</text><text y=40>12 %</text></g></svg>"
            )
        };
        let text = open_html(&t, &chart(""), Snapshot::default()).await;
        assert!(text.contains("\"Jan\"") && text.contains("\"12 %\""), "{text}");
        let text = open_html(&t, &chart("<title>Sales</title>"), Snapshot::default()).await;
        assert!(text.contains("img \"Sales\"") && !text.contains("12 %"), "{text}");
    });
}

#[test]
fn label_represents_invisible_checkbox() {
    browser_test(async |t| {
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
            let text = open_html(&t, &html, Snapshot::default()).await;
            let line = text.lines().find(|line| line.contains("Agree") && line.contains("ref="));
            assert!(line.is_some_and(|line| line.contains("checked")), "{case}:\n{text}");
        }
        // A visible checkbox gets the ref itself.
        let text = open_html(
            &t,
            "<input type=checkbox id=c><label for=c>Agree</label>",
            Snapshot::default(),
        )
        .await;
        assert_eq!(text.matches("ref=").count(), 1, "{text}");
    });
}

#[test]
fn accessible_names_have_visible_spacing() {
    browser_test(async |t| {
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
            let text = open_html(&t, &format!("<a href=/>{inside}</a>"), Snapshot::default()).await;
            assert!(text.contains(&format!("link \"{name}\"")), "{inside}: {text}");
        }
    });
}

#[test]
fn svg_use_title_names_link() {
    browser_test(async |t| {
        let sprite = "<svg style='display:none'><symbol id=s><title>search</title><path d='M0 0h9v9'/></symbol></svg>";
        let html = format!("{sprite}<a href=/><svg width=9 height=9><use href='#s'/></svg></a>");
        let text = open_html(&t, &html, Snapshot::default()).await;
        assert!(text.contains("link \"search\""), "{text}");
        // The title of the referenced symbol can change without a mutation near the link.
        t.eval("document.querySelector('title + path').previousSibling.textContent = 'find'").await;
        let text = snapshot_text(&t, Snapshot::default()).await;
        assert!(text.contains("link \"find\""), "{text}");
    });
}

#[test]
fn icon_with_click_listener_has_accessible_name() {
    browser_test(async |t| {
        let icons = "<svg hidden><symbol id=s><title>Delete</title><path d='M0 0h9v9'/></symbol></svg>
            <svg class=on width=9 height=9><use href='#s'/></svg>
            <svg class=on width=9 height=9><title>Edit</title><path d='M0 0h9v9'/></svg>
            <div class=on><svg width=9 height=9><use href='#s'/></svg></div>
            <span class=on><img alt=Share width=9 height=9></span>
            <audio controls></audio><video controls width=90 height=50></video>
            <script>for (const it of document.querySelectorAll('.on')) it.addEventListener('click', () => it.dataset.hit = 1)</script>";
        let text = open_html(&t, icons, Snapshot::default()).await;
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let has = |begin: &str, part: &str| {
            lines.iter().any(|line| line.starts_with(begin) && line.contains(part))
        };
        assert!(has("- img \"Delete\"", "[ref="), "{text}");
        assert!(has("- img \"Edit\"", "[ref="), "{text}");
        for name in ["Delete", "Share"] {
            let inside = format!("- img \"{name}\"");
            let at = lines.iter().rposition(|line| line.starts_with(&inside)).expect(&text);
            assert!(lines[at - 1].starts_with("- generic [ref="), "{text}");
        }
        assert!(has("- audio", "[ref=") && has("- video", "[ref="), "{text}");
    });
}

#[test]
fn items_of_composite_widgets_get_refs() {
    browser_test(async |t| {
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
            let text = open_html(&t, html, Snapshot::default()).await;
            assert!(has_ref(&text, words), "{html}:\n{text}");
        }
        for (html, words) in [
            ("<ul><li>Target</li></ul>", "Target"),
            ("<table border=1><tr><td>Target<td>Other<tr><td>a<td>b</table>", "Target"),
            ("<div role=list><div role=listitem aria-label=Target>x</div></div>", "Target"),
        ] {
            let options = Snapshot { no_interactive: true, ..Snapshot::default() };
            let text = open_html(&t, html, options).await;
            assert!(!text.contains("ref=") && text.contains(words), "{html}:\n{text}");
        }
    });
}

#[test]
fn structural_elements_get_no_refs() {
    browser_test(async |t| {
        let text = open_html(
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
fn page_with_many_refs_is_compact_with_note() {
    browser_test(async |t| {
        let page = |buttons: usize| {
            let buttons: String = (0..buttons).map(|n| format!("<button>B{n}</button>")).collect();
            format!(
                "{buttons}<div role=listbox><div role=option>One</div><div role=option>Two</div></div>"
            )
        };
        // Exactly 100 refs are not compacted.
        let text = open_html(&t, &page(98), viewpoint()).await;
        assert!(text.starts_with("Page snapshot (") && text.contains(", 100 refs)"), "{text}");
        assert!(has_ref(&text, "option \"One\"") && !text.contains("[Note"), "{text}");

        let text = open_html(&t, &page(99), viewpoint()).await;
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

        let text = snapshot_text(&t, Snapshot { all_refs: true, ..viewpoint() }).await;
        assert!(text.contains(", 101 refs)") && has_ref(&text, "option \"One\""), "{text}");
        assert!(!text.contains("[Note"), "{text}");
    });
}

#[test]
fn viewpoint_ref_is_backend_node_id() {
    browser_test(async |t| {
        t.page("/leaf", "<button>There</button>");
        let html = format!(
            "<button>One</button><a href=/x>Two</a><iframe src='{}'></iframe>",
            t.other_url("/leaf")
        );
        open_html(&t, &html, Snapshot::default()).await;
        let text = snapshot_text(&t, viewpoint()).await;
        let number = |name: &str, prefix: &str| {
            let prefix = format!("{}:{prefix}", t.context);
            let digits = name.strip_prefix(&prefix).unwrap_or_else(|| panic!("{name}"));
            digits.parse::<u64>().unwrap_or_else(|_| panic!("{name}"))
        };
        let one = number(&ref_of(&text, "\"One\""), "e");
        let two = number(&ref_of(&text, "\"Two\""), "e");
        // An out-of-process frame has its own node ids.
        let there = ref_of(&text, "\"There\"");
        let there = there.strip_prefix(&format!("{}:f", t.context)).expect("it is marked");
        assert!(there.split_once('e').is_some_and(|(mark, id)| {
            mark.parse::<u32>().is_ok() && id.parse::<u64>().is_ok()
        }));
        assert_ne!(one, two);
        // The id stays with the element.
        t.eval("document.body.prepend(document.createElement('button')); 1").await;
        let later = snapshot_text(&t, Snapshot { fresh: true, ..viewpoint() }).await;
        assert_eq!(number(&ref_of(&later, "\"One\""), "e"), one);
    });
}

#[test]
fn css_images_have_no_text_and_css_quotes_do() {
    browser_test(async |t| {
        let names = [
            (".x::before { content: url(x.png) }", "A", "A"),
            (".x::before { content: url(\"data:image/svg+xml,<svg/>\") }", "A", "A"),
            (".x::before { content: url(x.png) 'new ' }", "A", "new A"),
            (".x::before { content: url(x.png) / 'star' }", "A", "star A"),
            (".x::before { content: image-set('x.png' 1x, url(y.png) 2x) }", "A", "A"),
            (".x::before { content: open-quote } .x::after { content: close-quote }", "A", "“A”"),
            ("", "Say <q>hi <q>you</q></q>", "Say “hi ‘you’”"),
            ("", "<span lang=de>Sag <q>hallo</q></span>", "Sag „hallo“"),
            ("q { quotes: '<' '>' }", "Say <q>hi</q>", "Say <hi>"),
            ("q { quotes: none }", "Say <q>hi</q>", "Say hi"),
            ("q::before, q::after { content: none }", "Say <q>hi</q>", "Say hi"),
        ];
        for (rules, inside, name) in names {
            let html = format!("<style>{rules}</style><button class=x>{inside}</button>");
            let text = open_html(&t, &html, Snapshot::default()).await;
            let expected = format!("- webarea \"Page\":\n  - button {name:?} [ref=@e1]");
            assert_eq!(text.trim_end(), expected, "{rules}");
            let by_browser = Snapshot { source: TreeSource::Ax, ..Snapshot::default() };
            assert_eq!(
                renumbered(&snapshot_text(&t, by_browser).await).trim_end(),
                expected,
                "{rules}"
            );
        }
    });
}

#[test]
fn disabled_state_matches_browser() {
    browser_test(async |t| {
        let html = "<fieldset disabled><legend><input aria-label=Legend></legend><input aria-label=Field>\
            <a href=#>Link</a></fieldset>\
            <select multiple aria-label=List><optgroup disabled label=Off><option>One</option></optgroup></select>\
            <div aria-disabled=true><button>Inside</button><h2>Heading</h2>\
            <div aria-disabled=false><button>Free</button></div></div>";
        let text = open_html(&t, html, Snapshot::default()).await;
        for (words, is_disabled) in [
            ("Legend", false),
            ("Field", true),
            ("Link", false),
            ("One", true),
            ("Inside", true),
            ("Heading", false),
            ("Free", false),
        ] {
            let line = text.lines().find(|line| line.contains(words)).unwrap_or(&text);
            assert_eq!(line.contains("disabled=true"), is_disabled, "{line}");
        }
        // The state changes when a fieldset is enabled.
        t.eval("document.querySelector('fieldset').disabled = false").await;
        let text = snapshot_text(&t, Snapshot::default()).await;
        assert!(text.lines().any(|it| it.contains("Field") && !it.contains("disabled")), "{text}");
    });
}

#[test]
fn details_without_a_summary_can_be_opened() {
    browser_test(async |t| {
        let text = open_html(&t, "<details>Inside</details>", Snapshot::default()).await;
        assert_eq!(
            text.trim_end(),
            "- webarea \"Page\":\n  - disclosuretriangle \"Details\" [ref=@e1 expanded=false]"
        );
        let click = || {
            serde_json::from_str::<Command>(r#"{"verb":"click","target":"@e1"}"#)
                .expect("a command")
        };
        t.run(click()).await.unwrap();
        let text = renumbered(&snapshot_text(&t, Snapshot::default()).await);
        assert_eq!(
            text.trim_end(),
            "- webarea \"Page\":\n  - disclosuretriangle \"Details\" [ref=@e1 expanded=true]\n  - text: \"Inside\""
        );
        t.run(click()).await.unwrap();
        assert_eq!(t.eval("document.querySelector('details').open").await, "false");
    });
}

#[test]
fn focusable_elements_get_refs() {
    browser_test(async |t| {
        t.page("/inner", "<title>Inner</title>words");
        let inner = t.url("/inner");
        let html = format!(
            "<dialog open aria-label=Ask>words</dialog><object data='{inner}'></object><embed src='{inner}'>"
        );
        let text = open_html(&t, &html, Snapshot::default()).await;
        for words in ["- dialog", "- pluginobject", "- embeddedobject"] {
            assert!(has_ref(&text, words), "{text}");
        }
    });
}

#[test]
fn popover_button_has_expanded_state() {
    browser_test(async |t| {
        let html = "<button popovertarget=p>More</button><div popover id=p>News</div>";
        let text = open_html(&t, html, Snapshot::default()).await;
        assert!(text.contains("button \"More\" [ref=@e1 expanded=false]"), "{text}");
        t.eval("document.querySelector('#p').showPopover()").await;
        let text = snapshot_text(&t, Snapshot::default()).await;
        assert!(text.contains("expanded=true"), "{text}");
    });
}

#[test]
fn custom_drawn_field_keeps_name_and_value() {
    browser_test(async |t| {
        let html = "<span style='position: relative; display: block; width: 200px; height: 20px; background: teal'>\
            <input type=range aria-label=Volume value=30 style='opacity: 0; position: absolute; inset: 0'></span>\
            <meter value=.5 aria-label=Load></meter>";
        let text = open_html(&t, html, Snapshot::default()).await;
        assert!(text.contains("- slider \"Volume\" [ref=@e1 value=30"), "{text}");
        assert!(text.contains("- meter \"Load\" [value=0.5"), "{text}");
        let full = details(&t, Snapshot { nodes: true, ..Snapshot::default() }).await;
        let json = serde_json::to_string(&full).unwrap();
        assert!(json.contains("nameHidden"), "{json}");
    });
}

#[test]
fn unnamed_element_is_described_by_title() {
    browser_test(async |t| {
        let html = "<div title='Delete item' onclick='1' style='width: 20px; height: 20px'></div>";
        let text = open_html(&t, html, Snapshot::default()).await;
        assert!(text.contains("- generic [ref=@e1 title=\"Delete item\"]"), "{text}");
    });
}
