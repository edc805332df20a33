//! Text output of snapshots.

use super::{get, open_html, ref_of, renumbered, snapshot, snapshot_text, value, viewpoint};
use crate::harness::{browser_test, open};
use agbrowse_browser::command::{Property, Snapshot};

#[test]
fn page_is_rendered_as_accessibility_tree() {
    browser_test(async |t| {
        let text = open_html(
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
            assert!(text.contains(part), "{part} is shown:\n{text}");
        }
    });
}

#[test]
fn empty_page_is_document_with_note() {
    browser_test(async |t| {
        let expected = "Page snapshot (1 elements, 0 refs)\n\n- document\n\n\
                        [Note: The page has no accessible content.]";
        for html in
            ["", "<body></body>", "<p> </p>", "<div><div></div></div>", "<script>1</script>"]
        {
            t.page("/", html);
            t.open("/").await;
            assert_eq!(snapshot_text(&t, viewpoint()).await, expected, "{html}");
            assert_eq!(snapshot_text(&t, Snapshot::default()).await, "- webarea", "{html}");
        }
        t.run(open("about:blank")).await.unwrap();
        assert_eq!(snapshot_text(&t, viewpoint()).await, expected);
    });
}

#[test]
fn page_without_accessibility_tree_is_document() {
    browser_test(async |t| {
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
            let text = snapshot_text(&t, Snapshot { fresh: true, ..viewpoint() }).await;
            assert!(text.contains("\n- document"), "{script}: {text}");
            assert!(
                text.contains("[Note: The page has no accessible content.]"),
                "{script}: {text}"
            );
            assert_eq!(t.eval("1").await, "1", "{script}");
        }
    });
}

#[test]
fn snapshot_text_matches_specification() {
    browser_test(async |t| {
        let text = open_html(
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
        let text = snapshot_text(&t, Snapshot::default()).await;
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
fn long_text_is_truncated_and_readable_in_full() {
    browser_test(async |t| {
        let (short, long) = ("s".repeat(100), "word ".repeat(60));
        let html = format!("<p id=s>{short}</p><p id=l>{long}</p><button>{long}</button>");
        let text = open_html(&t, &html, viewpoint()).await;
        assert!(text.contains(&format!("\"{short}\"")), "{text}");
        for line in text.lines().filter(|line| line.contains("word")) {
            let quoted = line.split('"').nth(1).unwrap();
            assert!(quoted.ends_with("...") && quoted.len() <= 100 && quoted.len() > 90, "{line}");
        }
        assert_eq!(text.matches("...\"").count(), 2, "{text}");
        let whole = value(t.run(get(Property::Text, "css=#l")).await.unwrap());
        assert_eq!(whole.trim(), long.trim());
        let name = ref_of(&snapshot_text(&t, Snapshot::default()).await, "button");
        assert_eq!(value(t.run(get(Property::Text, &name)).await.unwrap()).trim(), long.trim());
    });
}

#[test]
fn non_html_document_names_its_type() {
    browser_test(async |t| {
        t.run(open("data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=")).await.unwrap();
        let outcome = t.run(snapshot(Snapshot::default())).await.unwrap();
        let note = outcome.notes.iter().find(|note| note.code == "empty").expect("a note");
        assert!(note.message.contains("it is image/gif"), "{}", note.message);
    });
}
