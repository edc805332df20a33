//! Root, budget, find, delta and hashes of snapshots.

use super::{
    details, get, message, open_html, ref_of, renumbered, snapshot, snapshot_text, value, viewpoint,
};
use crate::harness::browser_test;
use agbrowse_browser::command::{Find, Property, Snapshot, SnapshotReply, TextFormat};
use agbrowse_browser::{Code, Command, Reply};

#[test]
fn root_is_shown_alone_and_in_full() {
    browser_test(async |t| {
        let long = "word ".repeat(1200);
        let html = format!(
            "<nav><a href=/>Away</a></nav><main id=m><h2>Part</h2><p>{}</p></main>",
            long.trim()
        );
        open_html(&t, &html, Snapshot::default()).await;
        for root in ["css=main", "css=#m"] {
            let target = Some(root.parse().unwrap());
            let text =
                snapshot_text(&t, Snapshot { root: target.clone(), ..Snapshot::default() }).await;
            assert!(text.starts_with("- main"), "{text}");
            assert!(text.contains(long.trim()) && !text.contains("Away"), "{text}");
            let text = snapshot_text(&t, Snapshot { root: target, ..viewpoint() }).await;
            assert!(text.contains(long.trim()) && !text.contains("Away"), "{text}");
        }
        let options = Snapshot { root_selector: Some("nav".into()), ..Snapshot::default() };
        let text = snapshot_text(&t, options).await;
        assert!(text.contains("Away") && !text.contains("Part"), "{text}");
        let name = ref_of(&snapshot_text(&t, Snapshot::default()).await, "Away");
        let text = snapshot_text(
            &t,
            Snapshot { root: Some(name.parse().unwrap()), ..Snapshot::default() },
        )
        .await;
        assert_eq!(text, format!("- link \"Away\" [ref={name}]"));
    });
}

#[test]
fn missing_root_is_typed_error() {
    browser_test(async |t| {
        open_html(&t, "<p hidden id=h>x</p>", Snapshot::default()).await;
        for css in ["#nothing", "main"] {
            let options = Snapshot { root_selector: Some(css.into()), ..Snapshot::default() };
            let error = t.run(snapshot(options)).await.unwrap_err();
            assert_eq!(error.code(), Code::SnapshotRootNotFound);
            assert_eq!(message(&error), format!("snapshot root selector did not match: {css}"));
        }
        // An invalid selector matches nothing.
        let options = Snapshot { root_selector: Some("a[".into()), ..Snapshot::default() };
        let error = t.run(snapshot(options)).await.unwrap_err();
        assert_eq!(message(&error), "snapshot root selector did not match: a[");
        assert!(error.details().evidence.as_ref().unwrap().contains_key("reason"));
        // A hidden element cannot be a root either.
        let options = Snapshot { root_selector: Some("#h".into()), ..Snapshot::default() };
        assert_eq!(t.run(snapshot(options)).await.unwrap_err().code(), Code::SnapshotRootNotFound);
        let root = Some("@e999".parse().unwrap());
        let error = t.run(snapshot(Snapshot { root, ..Snapshot::default() })).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRefNotFound);
    });
}

#[test]
fn budget_folds_rest_with_counts() {
    browser_test(async |t| {
        let list: String =
            (0..300).map(|n| format!("<li><a href=/{n}>Entry number {n}</a></li>")).collect();
        open_html(
            &t,
            &format!("<h1>Top</h1><ul>{list}</ul><button>Buy</button>"),
            Snapshot::default(),
        )
        .await;
        let formats = [TextFormat::Text, TextFormat::Viewpoint];
        for (budget, format) in [200, 600].into_iter().flat_map(|it| formats.map(|how| (it, how))) {
            let options = Snapshot { budget: Some(budget), format, ..Snapshot::default() };
            let outcome = t.run(snapshot(options)).await.unwrap();
            let Reply::Snapshot(SnapshotReply::Text(text)) = &outcome.reply else {
                panic!("no text")
            };
            assert!(
                text.tokens <= budget + budget / 10,
                "{} of {budget}:\n{}",
                text.tokens,
                text.text
            );
            // Most of the budget is used.
            assert!(text.tokens >= budget / 2, "{} of {budget}", text.tokens);
            assert!(text.text.contains("\"Top\"") && text.text.contains("- … "), "{}", text.text);
            let is_told = |note: &agbrowse_browser::Note| {
                note.message.contains("folded to keep to the budget")
            };
            assert!(outcome.notes.iter().any(is_told), "{:?}", outcome.notes);
        }
        let options = Snapshot { budget: Some(1_000_000), ..Snapshot::default() };
        assert_eq!(snapshot_text(&t, options).await, snapshot_text(&t, Snapshot::default()).await);
    });
}

#[test]
fn find_keeps_matches_and_ancestors() {
    browser_test(async |t| {
        let html = "<main><h1>Shop</h1><form aria-label=Login><button>Sign in</button></form>
                    <form aria-label=Other><button>Sign out</button></form></main>";
        open_html(&t, html, Snapshot::default()).await;
        let find = |text: &str| Snapshot { find: Some(text.into()), ..Snapshot::default() };
        let text = renumbered(&snapshot_text(&t, find("SIGN  in")).await);
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
        // Listed refs are usable.
        let name = found.found[1].ref_name.clone().unwrap();
        assert_eq!(value(t.run(get(Property::Text, &name)).await.unwrap()), "Sign out");
    });
}

#[test]
fn empty_search_text_is_refused() {
    browser_test(async |t| {
        open_html(&t, "<p>Words</p>", Snapshot::default()).await;
        for text in ["", "  "] {
            let options = Snapshot { find: Some(text.into()), ..Snapshot::default() };
            let error = t.run(snapshot(options)).await.unwrap_err();
            assert_eq!(error.code(), Code::CommandInvalid);
            let find = Find { text: Some(text.into()), ..Find::default() };
            let error = t.run(Command::Find(find)).await.unwrap_err();
            assert_eq!(error.code(), Code::CommandInvalid);
        }
    });
}

#[test]
fn find_by_item_text_includes_its_button() {
    browser_test(async |t| {
        let list: String = (0..1000)
            .map(|n| {
                format!(
                    "<div class=card><h3>Product {n}</h3><a href=/{n}>Details</a><button>Add to cart</button></div>"
                )
            })
            .collect();
        open_html(&t, &format!("<h1>Shop</h1><main>{list}</main>"), Snapshot::default()).await;
        let options = Snapshot { find: Some("Product 777".into()), ..Snapshot::default() };
        let text = snapshot_text(&t, options).await;
        assert!(text.contains("link \"Details\" [ref=@e"), "{text}");
        let button = ref_of(&text, "Add to cart");
        let find = Find { text: Some("Product 777".into()), ..Find::default() };
        let Reply::Find(found) = t.run(Command::Find(find)).await.unwrap().reply else {
            panic!("no finds")
        };
        let beside: Vec<_> = found.found[0].beside.iter().map(|it| &*it.ref_name).collect();
        assert_eq!((beside.len(), beside[1]), (2, &*button));
        assert_eq!(value(t.run(get(Property::Text, &button)).await.unwrap()), "Add to cart");
        // Of many matches a few are shown completely.
        let options = Snapshot { budget: Some(2000), ..Snapshot::default() };
        let text = snapshot_text(&t, options).await;
        let count = |words: &str| text.matches(words).count();
        assert!(count("heading \"Product") > 10, "{text}");
        assert!(count("heading \"Product").abs_diff(count("Add to cart")) <= 1, "{text}");
        let refs = snapshot_text(&t, Snapshot { refs_only: true, ..Snapshot::default() }).await;
        assert!(refs.contains("link \"Details\" in \"Product 777\"\n@e"), "{}", &refs[..400]);
        assert!(!refs.contains("\"Add to cart\" in"), "{}", &refs[..400]);
    });
}

#[test]
fn collapsed_options_are_counted_in_flat_list() {
    browser_test(async |t| {
        let options: String = (0..250).map(|n| format!("<option>Land {n}")).collect();
        let html = format!(
            "<select aria-label=Land>{options}</select><select size=20 aria-label=List>{options}</select>"
        );
        let text = open_html(&t, &html, Snapshot { refs_only: true, ..Snapshot::default() }).await;
        assert!(text.contains(" more options: select @e"), "{text}");
        assert_eq!(text.matches("option \"Land ").count(), 255, "{text}");
    });
}

#[test]
fn counts_match_shown_lines_with_budget() {
    browser_test(async |t| {
        let list: String =
            (0..300).map(|n| format!("<li><a href=/{n}>Entry number {n}</a></li>")).collect();
        open_html(&t, &format!("<nav><ul>{list}</ul></nav>"), Snapshot::default()).await;
        let full = details(&t, Snapshot { budget: Some(300), ..Snapshot::default() }).await;
        let text = full.text.matches("[ref=@e").count() as u32;
        assert_eq!(full.stats.interactive_count, text);
        assert_eq!(full.refs.len() as u32, text);
        assert!(full.stats.node_count >= text, "{:?}", full.stats);
    });
}

#[test]
fn delta_contains_only_changes() {
    browser_test(async |t| {
        let list: String =
            (0..200).map(|n| format!("<li><a href=/{n}>Entry {n}</a></li>")).collect();
        let full =
            open_html(&t, &format!("<h1 id=x>Old</h1><ul>{list}</ul>"), Snapshot::default()).await;
        let delta = || Snapshot { delta: true, ..Snapshot::default() };
        assert_eq!(snapshot_text(&t, delta()).await, "no change");
        t.eval("x.textContent = 'New'; 1").await;
        let text = snapshot_text(&t, delta()).await;
        assert_eq!(text, "~ heading \"New\" [level=1] (was \"Old\")");
        assert!(text.len() * 100 < full.len());
        assert_eq!(snapshot_text(&t, delta()).await, "no change");
        t.eval("document.querySelector('li').remove(); 1").await;
        let text = snapshot_text(&t, delta()).await;
        assert!(text.contains("- removed link \"Entry 0\"") && text.lines().count() <= 2, "{text}");
        // Snapshots of different documents are not compared.
        t.open("/").await;
        assert!(snapshot_text(&t, delta()).await.starts_with("- webarea"));
    });
}

#[test]
fn refs_only_output_is_flat_list() {
    browser_test(async |t| {
        let html = "<main><h1>Title</h1><p>Words <a href=/>Link</a></p><div><div><button>Deep</button></div></div></main>";
        let text = open_html(&t, html, Snapshot { refs_only: true, ..Snapshot::default() }).await;
        assert_eq!(text, "@e1 link \"Link\"\n@e2 button \"Deep\"");
    });
}

#[test]
fn unchanged_page_has_stable_text_and_hash() {
    browser_test(async |t| {
        t.page("/leaf", "<p>Leaf</p><button>There</button>");
        let html = format!(
            "<h1>Title</h1><p>Words</p><ul><li><a href=/a>A</a><li><a href=/b>B</a></ul><input value=v>
             <div><template shadowrootmode=closed><button>In</button></template></div>
             <iframe src='{}'></iframe><iframe src='{}'></iframe>",
            t.url("/leaf"),
            t.other_url("/leaf")
        );
        open_html(&t, &html, Snapshot::default()).await;
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
        // The history of the tab has no influence.
        t.open("/").await;
        let again = details(&t, options()).await;
        assert_eq!((again.ax_hash, again.dom_hash), (first.ax_hash, first.dom_hash));
    });
}

#[test]
fn found_element_is_usable_in_long_list() {
    browser_test(async |t| {
        let options: String = (0..200).map(|n| format!("<option>Land {n}")).collect();
        open_html(
            &t,
            &format!("<select aria-label=Country>{options}</select>"),
            Snapshot::default(),
        )
        .await;
        let find = Find { text: Some("Land 150".into()), ..Find::default() };
        let found = t.run(Command::Find(find)).await.unwrap().reply.to_string();
        let name = ref_of(&found, "\"Land 150\"");
        assert_eq!(t.run(get(Property::Text, &name)).await.unwrap().reply.to_string(), "Land 150");
    });
}
