//! Ref resolution after changes of the page.

use super::{get, message, open_html, ref_of, snapshot_text, value};
use crate::harness::{TestContext, browser_test, tab_id};
use agbrowse_browser::command::{Get, NewTab, Property, Snapshot, TabAction, TabCommand};
use agbrowse_browser::{Code, Command, Target};

#[test]
fn ref_of_current_snapshot_resolves() {
    browser_test(async |t| {
        let text = open_html(&t, "<button>Submit</button>", Snapshot::default()).await;
        let outcome = t.run(get(Property::Text, &ref_of(&text, "Submit"))).await.unwrap();
        assert!(outcome.notes.is_empty(), "{:?}", outcome.notes);
        assert_eq!(value(outcome), "Submit");
    });
}

#[test]
fn ref_to_changed_element_is_refused() {
    browser_test(async |t| {
        for (script, now) in [
            ("x.textContent = 'Loading...'", "button 'Loading...'"),
            ("x.setAttribute('role', 'link')", "link 'Submit'"),
            ("x.setAttribute('aria-label', 'Delete all')", "button 'Delete all'"),
        ] {
            open_html(&t, "<button id=x>Submit</button>", Snapshot::default()).await;
            let name = ref_of(&snapshot_text(&t, Snapshot::default()).await, "Submit");
            t.eval(&format!("{script}; 1")).await;
            let error = t.run(get(Property::Text, &name)).await.unwrap_err();
            assert_eq!(error.code(), Code::SnapshotRefStale);
            assert_eq!(
                message(&error),
                format!(
                    "Element changed since snapshot. Was: button 'Submit', Now: {now}. \
                     Take a new snapshot to get current element state."
                )
            );
            // A new snapshot issues it again, with the current meaning.
            let again = ref_of(&snapshot_text(&t, Snapshot::default()).await, "ref=");
            assert_eq!(again, name);
            t.run(get(Property::Text, &name)).await.unwrap();
        }
    });
}

#[test]
fn ref_to_removed_element_is_refused() {
    browser_test(async |t| {
        for script in [
            "x.remove()",
            "x.hidden = true",
            "x.remove(); document.body.innerHTML = '<button>Submit all</button>'",
        ] {
            open_html(&t, "<button id=x>Submit</button>", Snapshot::default()).await;
            let name = ref_of(&snapshot_text(&t, Snapshot::default()).await, "Submit");
            t.eval(&format!("{script}; 1")).await;
            let error = t.run(get(Property::Text, &name)).await.unwrap_err();
            assert_eq!(error.code(), Code::SnapshotRefStale, "{script}");
            assert_eq!(
                message(&error),
                format!(
                    "Element 'Submit button' (ref: {name}) no longer exists. \
                     Take a new snapshot to see current page state."
                ),
                "{script}"
            );
        }
        // So is a ref to an element of the previous page.
        let name = ref_of(&open_html_raw(&t, "<button>Submit</button>").await, "Submit");
        t.open("/").await;
        let error = t.run(get(Property::Text, &name)).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRefStale);
        assert!(message(&error).starts_with("Element 'Submit button' (ref: @e"), "{error}");
    });
}

#[test]
fn ref_moves_to_unique_replacement_element() {
    browser_test(async |t| {
        for script in [
            "x.replaceWith(x.cloneNode(true))",
            "document.body.innerHTML = document.body.innerHTML",
        ] {
            open_html(&t, "<button id=x>Submit</button>", Snapshot::default()).await;
            let name = ref_of(&snapshot_text(&t, Snapshot::default()).await, "Submit");
            t.eval(&format!("{script}; 1")).await;
            let outcome = t.run(get(Property::Text, &name)).await.unwrap();
            let codes: Vec<_> = outcome.notes.iter().map(|note| &*note.code).collect();
            assert_eq!(codes, ["element-replaced"], "{script}");
            assert_eq!(value(outcome), "Submit");
            // From here on the ref is bound to the new element.
            let again = t.run(get(Property::Text, &name)).await.unwrap();
            assert!(again.notes.is_empty(), "{:?}", again.notes);
            assert_eq!(ref_of(&snapshot_text(&t, Snapshot::default()).await, "Submit"), name);
        }
        // With several candidates none is used; they are listed.
        open_html(&t, "<button id=x>Submit</button>", Snapshot::default()).await;
        let name = ref_of(&snapshot_text(&t, Snapshot::default()).await, "Submit");
        t.eval("x.replaceWith(x.cloneNode(true), x.cloneNode(true)); 1").await;
        let error = t.run(get(Property::Text, &name)).await.unwrap_err();
        assert!(message(&error).contains("Like it are now: @e"), "{error}");
    });
}

#[test]
fn changed_state_in_row_is_noted() {
    browser_test(async |t| {
        let rows = "<table><tr><td>Ann<td id=s>Late<td><button>Delete</button>\
                    <tr><td>Bob<td>Paid<td><button>Delete</button>\
                    <tr><td>Cid<td>Paid<td><button>Delete</button></table>";
        let name = ref_of(&open_html_raw(&t, rows).await, "Delete");
        t.eval("s.textContent = 'Paid'; 1").await;
        let outcome = t.run(get(Property::Text, &name)).await.unwrap();
        let notes: Vec<_> = outcome.notes.iter().map(ToString::to_string).collect();
        assert_eq!(notes, ["this changed since the snapshot: \"Late → Paid\""]);
    });
}

#[test]
fn own_fill_does_not_change_row_fingerprint() {
    browser_test(async |t| {
        let rows = "<ul><li><input aria-label=Name value=Ann><button onclick='document.title = 1'>Save</button>\
                    <li><input aria-label=Name value=Bob><button>Save</button></ul>";
        let text = open_html_raw(&t, rows).await;
        let (field, save) = (ref_of(&text, "Ann"), ref_of(&text, "Save"));
        let fill = format!(r#"{{"verb":"fill","target":"{field}","value":"Anna"}}"#);
        t.run(serde_json::from_str(&fill).unwrap()).await.unwrap();
        let outcome = t.run(get(Property::Text, &save)).await.unwrap();
        assert_eq!(value(outcome), "Save");
        // A value set by the page does.
        t.eval("document.querySelectorAll('input')[1].value = 'Cid'; 1").await;
        let other = text.lines().filter(|line| line.contains("Save")).nth(1).unwrap();
        let error = t.run(get(Property::Text, &ref_of(other, "Save"))).await.unwrap_err();
        assert!(message(&error).contains("'Bob'"), "{error}");
    });
}

/// Opens a page and returns its snapshot text with original refs.
async fn open_html_raw(t: &TestContext, html: &str) -> String {
    open_html(t, html, Snapshot::default()).await;
    snapshot_text(t, Snapshot::default()).await
}

#[test]
fn ref_with_minor_change_is_used_with_note() {
    browser_test(async |t| {
        for (html, script) in [
            ("<button id=x>Cart (2)</button>", "x.textContent = 'Cart (3)'"),
            ("<a id=x href=/>Updated 12:01</a>", "x.textContent = 'Updated 12:02'"),
        ] {
            let name = ref_of(&open_html_raw(&t, html).await, "ref=");
            t.eval(&format!("{script}; 1")).await;
            let outcome = t.run(get(Property::Text, &name)).await.unwrap();
            let notes: Vec<_> = outcome.notes.iter().map(|note| &*note.message).collect();
            assert_eq!(notes, ["Note: Element may have changed. Using current state."], "{html}");
            assert!(script.contains(&value(outcome)), "{html}");
        }
        // A changed field value is not a change of meaning.
        let name = ref_of(&open_html_raw(&t, "<input id=x aria-label=Name>").await, "ref=");
        t.eval("x.value = 'Ann'; x.disabled = true; 1").await;
        let outcome = t.run(get(Property::Value, &name)).await.unwrap();
        assert!(outcome.notes.is_empty(), "{:?}", outcome.notes);
        assert_eq!(value(outcome), "Ann");
    });
}

#[test]
fn refs_of_current_and_previous_snapshot_are_known() {
    browser_test(async |t| {
        let name = ref_of(&open_html_raw(&t, "<button id=x>First</button>").await, "First");
        let other = |n: u32| format!("document.body.innerHTML = '<button>Other {n}</button>'; 1");
        t.eval(&other(1)).await;
        snapshot_text(&t, Snapshot { fresh: true, ..Snapshot::default() }).await;
        let error = t.run(get(Property::Text, &name)).await.unwrap_err();
        assert!(message(&error).starts_with("Element 'First button'"), "{error}");
        t.eval(&other(2)).await;
        snapshot_text(&t, Snapshot { fresh: true, ..Snapshot::default() }).await;
        let error = t.run(get(Property::Text, &name)).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRefStale);
        assert!(message(&error).contains("older than the previous one"), "{error}");
    });
}

#[test]
fn unknown_ref_is_not_found() {
    browser_test(async |t| {
        open_html(&t, "<button>Submit</button>", Snapshot::default()).await;
        let error = t.run(get(Property::Text, "@e999")).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRefNotFound);
        // A ref of one tab is not valid in another.
        let new = TabCommand {
            action: TabAction::New(NewTab { url: Some(t.url("/")), ..NewTab::default() }),
        };
        let tab = tab_id(t.run(Command::Tab(new)).await);
        let error = t.run_on(tab, get(Property::Text, "@e1")).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRefNotFound);
    });
}

#[test]
fn malformed_ref_error_gives_expected_format() {
    for malformed in ["@", "@e", "@e0", "@x3", "@3", "@e-1", "@e3x", "e0", "e99999999999"] {
        let error = malformed.parse::<Target>().unwrap_err();
        assert!(
            error.contains("expected `@e` and a number from the last snapshot, such as `@e3`"),
            "{error}"
        );
        let json = format!(r#"{{"what":"text","target":"{malformed}"}}"#);
        let error = serde_json::from_str::<Get>(&json).unwrap_err().to_string();
        assert!(error.contains("such as `@e3`"), "{error}");
    }
}

#[test]
fn element_keeps_its_ref() {
    browser_test(async |t| {
        let first =
            open_html_raw(&t, "<button id=x>Stays</button><button id=y>Goes</button>").await;
        t.eval(
            "y.remove(); document.body.insertAdjacentHTML('afterbegin', '<button>New</button>'); 1",
        )
        .await;
        let second = snapshot_text(&t, Snapshot { fresh: true, ..Snapshot::default() }).await;
        assert_eq!(ref_of(&first, "Stays"), ref_of(&second, "Stays"));
        assert_ne!(ref_of(&first, "Goes"), ref_of(&second, "New"));
    });
}
