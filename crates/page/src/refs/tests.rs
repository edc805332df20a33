//! Resolution of refs when a page changes: trees before and after, and the expected result.

use super::{Fingerprint, Resolution, resolve};
use crate::ax::Role;
use crate::ax::testing::tree;
use std::collections::HashSet;

use Answer::{Changed, Gone, Moved, Noted, Same};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Same,
    /// Same element, with a note.
    Noted,
    Moved,
    Changed,
    Gone,
}

/// Checks the resolution of element 99 when one page becomes another.
#[track_caller]
fn check(was: &str, now: &str, expected: Answer) {
    check_after(&HashSet::new(), was, now, expected);
}

/// Like `check`, for an element that the caller acted on in between.
#[track_caller]
fn check_edited(was: &str, now: &str, expected: Answer) {
    check_after(&HashSet::from([99]), was, now, expected);
}

#[track_caller]
fn check_after(edited: &HashSet<u32>, was: &str, now: &str, expected: Answer) {
    let (before, after) = (tree(was), tree(now));
    let target = before.nodes.iter().position(|node| node.element == 99).unwrap();
    let found = resolve(&before, target, &after, edited);
    let answer = match &found {
        Resolution::Same { changes, .. } if changes.is_empty() => Same,
        Resolution::Same { .. } => Noted,
        Resolution::Moved { .. } => Moved,
        Resolution::Changed { .. } => Changed,
        Resolution::Gone { .. } => Gone,
    };
    assert_eq!(answer, expected, "{found:?}\n{was}\n=>\n{now}");
}

/// Checks the container of element 99.
#[track_caller]
fn check_container(page: &str, expected: Option<(Role, &str)>) {
    let tree = tree(page);
    let target = tree.nodes.iter().position(|node| node.element == 99).unwrap();
    let fingerprint = Fingerprint::new(&tree, target);
    let found = fingerprint.container.as_ref().map(|it| (it.role, &*it.label));
    assert_eq!(found, expected, "{page}");
}

/// A table of texts; the button of the first row is the target.
fn table(rows: &[&[&str]]) -> String {
    let mut page = "webarea 1\n table 2".to_owned();
    for (at, row) in rows.iter().enumerate() {
        page.push_str(&format!("\n  row {}", 10 + at));
        for text in *row {
            page.push_str(&format!("\n   cell {}\n    text \"{text}\"", 20 + at));
        }
        page.push_str(&format!("\n   button {} \"Delete\"", if at == 0 { 99 } else { 40 + at }));
    }
    page
}

#[test]
fn element_container_is_its_item() {
    let row = "webarea 1\n table 2\n  row 3\n   cell 4\n    text \"Invoice 1001\"\n   cell 5\n    ";
    check_container(&format!("{row}button 99 \"Delete\""), Some((Role::Row, "Invoice 1001")));
    check_container(
        "webarea 1\n article 2 fg \"Post\"\n  heading 3 \"H\"\n  button 99",
        Some((Role::Article, "Post")),
    );
    check_container("webarea 1\n region 2 \"Cart 3\"\n  button 99", Some((Role::Region, "Cart 3")));
    check_container(
        "webarea 1\n dialog 2\n  heading 3 \"Sure?\"\n  generic 4\n   button 99",
        Some((Role::Heading, "Sure?")),
    );
    check_container("webarea 1\n main 2\n  button 99\n  heading 3 \"H\"", Some((Role::Main, "")));
    check_container("webarea 1\n button 99", None);
    check_container(
        "webarea 1\n heading 2 \"Calendar\"\n dialog 3\n  generic 4\n   button 99",
        Some((Role::Dialog, "")),
    );
    let rows = "webarea 1\n generic 2\n  generic 3\n   text \"Ann\"\n   button 4 \"Call\"\n  \
        generic 5\n   text \"Bob\"\n   button 99 \"Call\"";
    check_container(rows, Some((Role::Generic, "Bob")));
}

#[test]
fn distinct_column_identifies_rows() {
    let others: [&[&str]; 2] = [&["Ann", "Second", "Paid"], &["Bank", "Third", "Paid"]];
    let rows = |first: &[&str]| table(&[first, others[0], others[1]]);
    let was = rows(&["Ann", "First", "Late"]);
    check(&was, &was, Same);
    check(&was, &rows(&["Ann", "First", "Paid"]), Noted);
    check(&was, &rows(&["Ann", "Fourth", "Late"]), Changed);
    check(&was, &table(&[&["Ann", "First", "Paid"]]), Noted);
    // Without an identifying column, all columns together identify a row.
    let was = table(&[&["Ann", "Oslo"], &["Ann", "Rome"], &["Bob", "Oslo"]]);
    check(&was, &table(&[&["Ann", "Rome"], &["Ann", "Oslo"], &["Bob", "Oslo"]]), Changed);
}

#[test]
fn distinct_state_may_change() {
    let others: [&[&str]; 2] = [&["Bob", "Second", "Paid"], &["Cid", "Third", "Sent back"]];
    let rows = |first: &[&str]| table(&[first, others[0], others[1]]);
    let was = rows(&["Ann", "First", "Late"]);
    check(&was, &rows(&["Ann", "First", "Paid"]), Noted);
    check(&was, &rows(&["Ann", "First", "Sent back"]), Noted);
    // A name that another row has now: the other texts still identify the row, so it was renamed.
    check(&was, &rows(&["Bob", "First", "Late"]), Noted);
    // The row of another item, in the same state.
    check(&was, &rows(&["Dora", "Fourth", "Late"]), Changed);
    // A number or many words are no state.
    let numbered = |first: &str| table(&[&["Ann", first], &["Bob", "Room 2"]]);
    check(&numbered("Room 1"), &numbered("Room 3"), Changed);
    let long = |first: &str| table(&[&["Ann", first], &["Bob", "What we said last time"]]);
    check(&long("Hello to all of you"), &long("What we said another time"), Changed);
}

#[test]
fn times_and_counters_are_not_identifying() {
    let rows = |name: &str, time: &str, count: u32| {
        table(&[
            &[&*format!("Updated {time}"), name, &format!("{count} new")],
            &["Updated 12:01", "Bob", "4 new"],
        ])
    };
    let was = rows("Ann", "12:03", 1);
    check(&was, &rows("Ann", "12:09", 1), Same);
    check(&was, &rows("Cid", "12:03", 1), Changed);
    // Unless nothing else is identifying.
    let times = |first: &str| table(&[&["Train", first], &["Train", "12:09"]]);
    check(&times("12:03"), &times("12:03"), Same);
    check(&times("12:03"), &times("12:15"), Changed);
    for [first, second, third] in [
        ["1001", "1002", "1003"],
        ["2026-01-04", "2026-01-05", "2026-02-04"],
        ["$12.50", "$13.50", "$14.00"],
        ["🍎", "🍐", "🍊"],
    ] {
        let rows = |one: &str| table(&[&["Item", one], &["Item", second]]);
        check(&rows(first), &rows(first), Same);
        check(&rows(first), &rows(third), Changed);
        check(&rows(first), &table(&[&["Item", second], &["Item", first]]), Changed);
    }
}

#[test]
fn identifying_text_counts_in_any_position() {
    let tail = "word ".repeat(60);
    for inside in [
        "link 7 \"NAME\"\n    text \"NAME\"",
        "button 7 \"NAME\"\n    text \"NAME\"",
        "button 7 fg \"NAME\"",
        "textbox 7 fg \"Name\" v=\"NAME\"",
        "combobox 7 fg \"Name\" v=\"NAME\"",
        "generic 7 fl\n    text \"NAME\"",
        "img 7 fg \"NAME\"",
        "generic 7\n    generic 8\n     generic 9\n      text \"NAME\"",
        &format!("text \"{tail}NAME\""),
    ] {
        for item in ["row", "listitem", "generic", "article"] {
            let row = |name: &str, element: u32, button: u32| {
                format!(
                    "\n  {item} {element}\n   {}\n   button {button} \"Delete\"",
                    inside.replace("NAME", name)
                )
            };
            let page = |one: &str, two: &str| {
                format!("webarea 1\n generic 2{}{}", row(one, 10, 99), row(two, 11, 98))
            };
            check(&page("Ann", "Bob"), &page("Ann", "Bob"), Same);
            check(&page("Ann", "Bob"), &page("Bob", "Ann"), Changed);
            check(&page("Ann", "Bob"), &page("Cid", "Bob"), Changed);
        }
    }
}

#[test]
fn runs_of_siblings_are_items() {
    let runs: [(&str, &str); 4] = [
        ("term 1K\n   text \"NAME\"\n  definition 2K\n   button BB \"Delete\"", ""),
        ("text \"NAME\"\n  button BB \"Delete\"\n  separator 3K", ""),
        ("heading 1K \"NAME\"\n   text \"NAME\"\n  paragraph 2K\n   button BB \"Delete\"", ""),
        ("generic 1K\n   text \"NAME\"\n  generic 2K\n   button BB \"Delete\"", ""),
    ];
    for (run, _) in runs {
        let page = |names: &[&str]| {
            let mut page = "webarea 1\n generic 2".to_owned();
            for (at, name) in names.iter().enumerate() {
                let button = if at == 0 { 99 } else { 60 + at };
                let run = run
                    .replace("NAME", name)
                    .replace('K', &at.to_string())
                    .replace("BB", &button.to_string());
                page.push_str(&format!("\n  {run}"));
            }
            page
        };
        check(&page(&["Ann", "Bob", "Cid"]), &page(&["Ann", "Bob", "Cid"]), Same);
        check(&page(&["Ann", "Bob", "Cid"]), &page(&["Bob", "Ann", "Cid"]), Changed);
        check(&page(&["Ann", "Bob", "Cid"]), &page(&["Bob", "Cid"]), Changed);
        check(&page(&["Ann", "Bob"]), &page(&["Ann"]), Same);
        check(&page(&["Ann", "Bob"]), &page(&["Cid"]), Changed);
    }
}

#[test]
fn heading_identifies_lists_with_equal_rows() {
    let list = |name: &str, first: u32, button: u32| {
        format!(
            "\n  heading {first} \"{name}\"\n   text \"{name}\"\n  list {}\n   listitem {}\n    text \"Ann\"\n    \
             button {button} \"Delete\"\n   listitem {}\n    text \"Bob\"\n    button {} \"Delete\"",
            first + 1,
            first + 2,
            first + 3,
            first + 4
        )
    };
    let page = |one: &str, two: &str| {
        format!("webarea 1\n generic 2{}{}", list(one, 10, 99), list(two, 20, 98))
    };
    check(&page("Guests", "Staff"), &page("Guests", "Staff"), Same);
    check(&page("Guests", "Staff"), &page("Staff", "Guests"), Changed);
}

#[test]
fn column_header_identifies_cells() {
    let page = |one: &str, two: &str| {
        let row = |name: &str, at: u32, first: u32| {
            format!(
                "\n  row {at}\n   rowheader {} \"{name}\"\n    text \"{name}\"\n   cell {}\n    button {first} \
                 \"Book\"\n   cell {}\n    button {} \"Book\"",
                at + 1,
                at + 2,
                at + 3,
                at + 4
            )
        };
        format!(
            "webarea 1\n table 2\n  row 3\n   cell 4\n   columnheader 5 \"{one}\"\n   columnheader 6 \"{two}\"{}{}",
            row("Room", 10, 99),
            row("Hall", 20, 98)
        )
    };
    check(&page("Monday", "Tuesday"), &page("Monday", "Tuesday"), Same);
    check(&page("Monday", "Tuesday"), &page("Tuesday", "Monday"), Changed);
}

#[test]
fn last_item_keeps_its_fingerprint() {
    let two = "webarea 1\n generic 2\n  generic 3\n   text \"Ann\"\n   button 4 \"Call\"\n  \
         generic 5\n   text \"Bob\"\n   button 99 \"Call\"";
    let alone = |name: &str| {
        format!(
            "webarea 1\n text \"a\"\n text \"b\"\n generic 2\n  generic 5\n   text \"{name}\"\n   button 99 \"Call\""
        )
    };
    check(two, &alone("Bob"), Same);
    check(&alone("Bob"), two, Same);
    check(two, &alone("Cid"), Changed);
    check(&alone("Bob"), &alone("Cid"), Changed);
}

#[test]
fn group_takes_precedence_over_heading_above() {
    let page = |group: &str| {
        format!("webarea 1\n heading 2 \"Addresses\"\n group 3 \"{group}\"\n  button 99 \"Save\"")
    };
    check(&page("Billing"), &page("Shipping"), Changed);
}

#[test]
fn dialog_with_another_question_is_changed() {
    let page = |question: &str| {
        format!("webarea 1\n dialog 2 fg \"Confirm\"\n  text \"{question}\"\n  button 99 \"Yes\"")
    };
    check(&page("Delete Ann? 12:03"), &page("Delete Ann? 12:04"), Same);
    check(&page("Delete Ann?"), &page("Delete Bob?"), Changed);
    check(&page("Delete 1001?"), &page("Delete 1002?"), Changed);
}

#[test]
fn identifying_number_is_no_counter() {
    let list = |first: &str, second: &str| {
        format!("webarea 1\n listitem 2\n  link 99 \"{first}\"\n listitem 3\n  link 4 \"{second}\"")
    };
    check(&list("Invoice 1", "Invoice 2"), &list("Invoice 2", "Invoice 1"), Changed);
    check(&list("Inbox (1)", "Drafts (2)"), &list("Inbox (3)", "Drafts (2)"), Noted);
    check(&list("Inbox 1", "Drafts 2"), &list("Inbox 3", "Drafts 2"), Noted);
    let pages = |first: u32| format!("webarea 1\n link 99 \"Page {first}\"\n link 3 \"Page 7\"");
    check(&pages(1), &pages(2), Changed);
}

#[test]
fn only_numbers_and_times_in_a_name_may_change() {
    for (was, now, expected) in [
        ("Delete", "Delete", Same),
        ("Delete  it", "Delete it", Same),
        ("Delete 3", "Delete 4", Noted),
        ("Inbox", "Inbox (3)", Noted),
        ("1,234", "1,300", Noted),
        ("Updated 12:03", "Updated 12:04 pm", Noted),
        ("Sent 3 min ago", "Sent 2 hours ago", Noted),
        ("Submit", "Loading...", Changed),
        ("Delete", "Delete all", Changed),
        ("", "Delete", Changed),
        ("Delete 3", "3", Changed),
    ] {
        let page = |name: &str| format!("webarea 1\n button 99 \"{name}\"");
        check(&page(was), &page(now), expected);
    }
    check("webarea 1\n button 99 \"Go\"", "webarea 1\n link 99 \"Go\"", Changed);
}

#[test]
fn card_is_identified_by_its_distinct_texts() {
    let cards = |names: &[&str], time: &str, count: u32| {
        let mut page = "webarea 1\n . 2".to_owned();
        for (at, name) in names.iter().enumerate() {
            let number = if at == 0 { 99 } else { 10 + at };
            page.push_str(&format!(
                "\n  generic {number} fl\n   text \"Updated {time}\"\n   text \"{name}\"\n   \
                 text \"{count} likes\"\n   button {} \"Like\"",
                20 + at
            ));
        }
        page
    };
    let was = cards(&["Invoice 1010", "Ann Lee"], "12:03", 3);
    check(&was, &cards(&["Invoice 1010", "Ann Lee"], "12:09", 3), Same);
    check(&was, &cards(&["Invoice 1010", "Bob", "Invoice 1012"], "12:03", 3), Same);
    check(&was, &cards(&["Invoice 1034", "Ann Lee"], "12:03", 3), Changed);
    check(&was, &cards(&["Cid", "Ann Lee"], "12:03", 3), Changed);
    // As a single item it still has the same texts.
    check(&was, &cards(&["Invoice 1010"], "12:03", 3), Same);
    check(&was, &cards(&["Invoice 1034"], "12:03", 3), Changed);
    check(&cards(&["Invoice 1034"], "12:03", 3), &was, Changed);
}

#[test]
fn surroundings_of_a_lone_control_are_its_identity_until_edited() {
    let page = |before: &str, after: &str| {
        format!("webarea 1\n generic 2\n  text \"{before}\"\n  button 99 \"Go\"\n  {after}")
    };
    let text = |text: &str| format!("text \"{text}\"");
    let idle = page("Ann", &text("Idle"));
    check(&idle, &page("Ann", &text("Saved")), Changed);
    check(&idle, &page("Bob", &text("Idle")), Changed);
    // Effects of using it are reported in the receipt.
    check_edited(&idle, &page("Ann", &text("Saved")), Noted);
    check_edited(&idle, &page("Bob", &text("Idle")), Noted);
    check(&page("Ann", &text("Count: 3")), &page("Ann", &text("Count: 4")), Noted);
    check(&page("Count: 3", &text("Idle")), &page("Count: 4", &text("Idle")), Noted);
    let pages = |text: &str| page(text, "text \"of many\"");
    check(&pages("Page 1 of 250"), &pages("Page 2 of 250"), Noted);
    let status = |text: &str| page("Ann", &format!("status 5\n   text \"{text}\""));
    check(&status("Idle"), &status("Your order was sent"), Same);
    for (was, now) in [("2026-01-12", "2026-02-03"), ("INV-3004", "INV-1077")] {
        check(&page("Ann", &text(was)), &page("Ann", &text(now)), Changed);
    }
    // Another text in a dialog is another question, whatever caused it.
    let dialog = |name: &str| {
        format!(
            "webarea 1\n dialog 2 fg \"Confirm\"\n  text \"Delete {name}?\"\n  button 99 \"Yes\""
        )
    };
    check_edited(&dialog("Ann"), &dialog("Bob"), Changed);
}

#[test]
fn neighbour_name_is_identifying_unless_it_names_an_action() {
    let page = |beside: &str| {
        format!("webarea 1\n generic 2\n  button 5 \"{beside}\"\n  button 99 \"Delete\"")
    };
    let tasks = |first: &str| {
        format!("webarea 1\n generic 2\n  button 5 \"{first}\"\n  button 99 \"Task 340\"")
    };
    check(&tasks("Task 469"), &tasks("Task 209"), Noted);
    for (was, now, expected) in [
        ("Play", "Pause", Noted),
        ("Add to cart", "Remove from cart", Noted),
        ("Comments (3)", "Comments (4)", Same),
        ("Page 3", "Page 4", Noted),
        ("Ann Lee", "Bob Ray", Changed),
        ("2019-06-23", "2028-08-16", Changed),
        ("INV-3004", "INV-1077", Changed),
    ] {
        check(&page(was), &page(now), expected);
    }
}

#[test]
fn date_or_number_after_long_text_is_no_counter() {
    let page = |name: &str| format!("webarea 1\n list 2\n  listitem 3\n   button 99 \"{name}\"");
    for (was, now) in [
        ("Jun 4, 2020", "Jun 19, 2021"),
        ("Report of 2026-01-04", "Report of 2026-02-04"),
        ("The request that came in last week: 654", "The request that came in last week: 121"),
    ] {
        check(&page(was), &page(now), Changed);
    }
    check(&page("Saved 2026-01-04 12:03"), &page("Saved 2026-01-05 12:07"), Noted);
}

#[test]
fn recreated_element_is_found_by_its_fingerprint() {
    let page = |names: &[&str], first: u32| {
        let mut page = "webarea 1\n list 2".to_owned();
        for (at, name) in names.iter().enumerate() {
            let base = first + 10 * at as u32;
            page.push_str(&format!(
                "\n  listitem {base}\n   text \"{name}\"\n   button {} \"Edit\"\n   button {} \"Delete\"",
                base + 1,
                base + 2
            ));
        }
        page
    };
    // Element 99 is the second button of the second item.
    let was = page(&["Ann", "Bob", "Cid"], 87);
    check(&was, &page(&["Ann", "Bob", "Cid"], 200), Moved);
    check(&was, &page(&["Bob", "Cid"], 200), Moved);
    check(&was, &page(&["Ann", "Cid"], 200), Gone);
    check(&was, &page(&["Bob", "Bob", "Cid"], 200), Gone);
    let lone = |element: u32| format!("webarea 1\n button {element} \"Save\"");
    check(&lone(99), &lone(7), Moved);
    check(&lone(99), "webarea 1\n button 7 \"Save\"\n button 8 \"Save\"", Gone);
    // A twin that existed before is another element.
    check("webarea 1\n button 99 \"Save\"\n button 8 \"Save\"", &lone(8), Gone);
}

#[test]
fn element_named_by_its_identity_is_found_again() {
    let list = |names: &[(&str, u32)]| {
        let mut page = "webarea 1\n generic 2\n  list 3".to_owned();
        for (name, button) in names {
            page.push_str(&format!(
                "\n   listitem {}\n    button {button} \"{name}\"\n     text \"{name}\"",
                button + 1000
            ));
        }
        page
    };
    check(&list(&[("🥦", 5), ("🍐", 99)]), &list(&[("🍐", 5)]), Moved);
    let cells = |items: &[(&str, &str, u32)]| {
        let mut page = "webarea 1\n generic 2".to_owned();
        for (age, name, button) in items {
            page.push_str(&format!(
                "\n  generic {}\n   generic 7\n    text \"{age}\"\n  generic {}\n   generic 8\n    text \"Open\"\n  \
                 generic {}\n   button {button} \"{name}\"\n    text \"{name}\"",
                button + 1000,
                button + 2000,
                button + 3000
            ));
        }
        page
    };
    let was = cells(&[("18 min ago", "Jun 8, 2014", 5), ("5 min ago", "Mar 9, 2028", 99)]);
    check(&was, &cells(&[("5 min ago", "Mar 9, 2028", 77)]), Moved);
}

#[test]
fn state_inside_a_run_is_not_identifying() {
    let page = |states: &[&str]| {
        let mut page = "webarea 1\n generic 2".to_owned();
        for (at, state) in states.iter().enumerate() {
            let button = if at == 0 { 99 } else { 60 + at };
            page.push_str(&format!(
                "\n  heading 1{at} \"2026-01-0{at}\"\n   text \"2026-01-0{at}\"\n  generic 2{at}\n   text \"{state}\"\n   \
                 text \"{at} min ago\"\n   button {button} \"Remove\""
            ));
        }
        page
    };
    check(&page(&["Late", "Late", "Open"]), &page(&["Open", "Late", "Open"]), Noted);
}

#[test]
fn similar_cells_belong_to_their_row() {
    let page = |names: &[&str]| {
        let mut page = "webarea 1\n generic 2".to_owned();
        for (at, name) in names.iter().enumerate() {
            let link = if at == 0 { 99 } else { 60 + at };
            page.push_str(&format!(
                "\n  generic 1{at}\n   generic 2{at}\n    text \"Late\"\n    link 3{at} \"{name}\"\n     text \"{name}\"\n   \
                 generic 4{at}\n    text \"Actions\"\n    link {link} \"Edit\"\n     text \"Edit\""
            ));
        }
        page
    };
    check(&page(&["Ann", "Bob"]), &page(&["Ann", "Bob"]), Same);
    check(&page(&["Ann", "Bob"]), &page(&["Bob", "Ann"]), Changed);
}

#[test]
fn values_set_by_the_caller_are_not_identifying() {
    let row = |value: &str, field: u32, button: u32| {
        format!(
            "\n  listitem {}\n   textbox {field} fg \"Name\" v=\"{value}\"\n   button {button} \"Save\"",
            field + 100
        )
    };
    let page =
        |one: &str, two: &str| format!("webarea 1\n list 2{}{}", row(one, 5, 99), row(two, 6, 98));
    let (was, now) = (tree(&page("Ann", "Bob")), tree(&page("Anna", "Bob")));
    let target = was.nodes.iter().position(|node| node.element == 99).unwrap();
    let found = |edited: &[u32]| resolve(&was, target, &now, &edited.iter().copied().collect());
    assert!(matches!(found(&[]), Resolution::Changed { .. }));
    assert!(matches!(found(&[5]), Resolution::Same { .. }));
}

#[test]
fn wrapper_of_a_target_is_no_replacement() {
    let page = |first: u32| {
        let mut page = "webarea 1\n paragraph 2".to_owned();
        for (at, code) in ["INV-8124", "INV-4041", "INV-6996"].iter().enumerate() {
            let base = first + 10 * at as u32;
            page.push_str(&format!(
                "\n  generic {}\n   generic {base}\n    text \"Archive\"\n   textbox {} fg \"Name\" v=\"{code}\"",
                base + 1,
                base + 2
            ));
        }
        page
    };
    check(&page(99), &page(200), Moved);
}

#[test]
fn row_number_is_not_identifying_when_rows_are_renumbered() {
    let page = |item: &str, rows: &[(&str, &str, u32)]| {
        let mut page = "webarea 1\n generic 2".to_owned();
        for (number, name, button) in rows {
            page.push_str(&format!(
                "\n  {item} {}\n   generic {}\n    text \"{number}\"\n   generic {}\n    text \"{name}\"\n   \
                 button {button} \"Follow\"",
                button + 100,
                button + 200,
                button + 300
            ));
        }
        page
    };
    for item in ["generic", "row", "listitem"] {
        let was = page(item, &[("#1", "Ann", 5), ("#2", "Bob", 99), ("#3", "Cy", 6)]);
        check(&was, &page(item, &[("#1", "Bob", 99), ("#2", "Cy", 6)]), Same);
        check(&was, &page(item, &[("#1", "Ann", 5), ("#2", "Cy", 99)]), Changed);
        check(&was, &page(item, &[("#1", "Cy", 6), ("#2", "Ann", 5), ("#3", "Bob", 99)]), Same);
        let was = page(item, &[("1", "Ann", 99), ("2", "Bob", 5), ("3", "Cy", 6)]);
        check(&was, &page(item, &[("1", "Bob", 5), ("2", "Cy", 6)]), Gone);
        // Numbers that move with the rows belong to them.
        let was = page(item, &[("1001", "Item", 99), ("1002", "Item", 5), ("1003", "Item", 6)]);
        check(&was, &page(item, &[("1002", "Item", 99), ("1003", "Item", 5)]), Changed);
    }
}

#[test]
fn sentence_before_a_control_is_its_identity_until_edited() {
    let page = |name: &str| {
        format!(
            "webarea 1\n heading 2 \"Transfer\"\n  text \"Transfer\"\n paragraph 3\n  text \"Send to\"\n  strong 4\n   \
             text \"{name}\"\n button 99 \"Confirm\""
        )
    };
    check(&page("Bob"), &page("Bob"), Same);
    check(&page("Bob"), &page("Mallory"), Changed);
    check_edited(&page("Bob"), &page("Mallory"), Same);
}

#[test]
fn changed_selection_and_expansion_are_noted() {
    let page = |states: &str| format!("webarea 1\n treeitem 99{states} \"Files\"");
    check(&page(" x0"), &page(" x1"), Noted);
    check(&page(" x1"), &page(" x1"), Same);
    check(&page(""), &page(" fs"), Noted);
}

#[test]
fn controlled_content_is_not_identifying() {
    let page = |panel: &str| {
        format!(
            "webarea 1\n generic 2\n  tablist 3\n   tab 4 \"Home\"\n   tab 99 \"Other\"\n  tabpanel 5\n   text \"{panel}\"\n   \
             textbox 6 fg \"Name\" v=\"{panel}\""
        )
    };
    check(&page("Home list of all that is new"), &page("Work list of what is left to do"), Same);
    let card = |name: &str| {
        format!(
            "webarea 1\n main 2\n  generic 3\n   paragraph 4\n    text \"{name}\"\n  generic 5\n   button 6 \"Skip\"\n   \
             button 99 \"Like\""
        )
    };
    check(&card("Kim, 29"), &card("Lee, 31"), Changed);
    // A date or a code after the box of the controls is what they are about.
    let row = |date: &str| {
        format!(
            "webarea 1\n generic 2\n  generic 3\n   button 4 \"Edit\"\n   button 99 \"Delete\"\n  generic 5\n   text \"{date}\""
        )
    };
    check(&row("2013-07-26"), &row("2026-08-25"), Changed);
    check(&row("nothing yet"), &row("all of it"), Same);
}

#[test]
fn text_of_a_lone_question_is_its_identity() {
    let page = |name: &str| {
        format!(
            "webarea 1\n region 2 fg \"Users\"\n  paragraph 3\n   text \"Delete user\"\n   text \"{name}\"\n   text \"?\"\n  \
             button 99 \"Yes\""
        )
    };
    check(&page("Ann"), &page("Ann"), Same);
    check(&page("Ann"), &page("Bob"), Changed);
}

#[test]
fn items_below_a_group_row_are_distinguished() {
    let page = |meals: [&str; 4], first: u32| {
        let mut page = "webarea 1\n list 2".to_owned();
        for (at, day) in ["Monday", "Tuesday"].iter().enumerate() {
            let base = first + 20 * at as u32;
            page.push_str(&format!("\n  listitem {}\n   text \"{day}\"", base + 10));
            for (meal, name) in meals[2 * at..2 * at + 2].iter().enumerate() {
                let button = base + meal as u32;
                page.push_str(&format!(
                    "\n  listitem {}\n   text \"{name}\"\n   button {button} \"Edit\"",
                    button + 12
                ));
            }
        }
        page
    };
    let was = page(["Breakfast", "Dinner", "Breakfast", "Dinner"], 99);
    check(&was, &was, Same);
    check(&was, &page(["Dinner", "Breakfast", "Breakfast", "Dinner"], 99), Changed);
    check(&was, &page(["Breakfast", "Dinner", "Breakfast", "Dinner"], 300), Moved);
}

#[test]
fn heading_above_a_table_belongs_to_its_cells() {
    let page = |heading: &str| {
        format!(
            "webarea 1\n heading 2 \"{heading}\"\n  text \"{heading}\"\n table 3\n  rowgroup 4\n   row 5\n    cell 6\n     \
             button 7 \"11\"\n    cell 8\n     button 99 \"12\""
        )
    };
    check(&page("June 2026"), &page("June 2026"), Same);
    check(&page("June 2026"), &page("July 2026"), Changed);
    check(&page("Week 12"), &page("Week 13"), Changed);
    check(&page("All 3 free days"), &page("All 2 free days"), Noted);
}

#[test]
fn grid_name_and_heading_identify_recreated_cells() {
    let page = |grid: &str, heading: &str, first: u32| {
        let mut page = format!(
            "webarea 1\n heading {first} \"{heading}\"\n  text \"{heading}\"\n grid 3 {grid}\n  row 5"
        );
        for day in 1..4 {
            page.push_str(&format!(
                "\n   gridcell {}\n    button {} \"{day}\"",
                20 + day,
                first + day
            ));
        }
        page
    };
    let was = page("fg \"June\"", "Days", 97);
    check(&was, &was, Same);
    check(&was, &page("fg \"July\"", "Days", 97), Changed);
    check(&was, &page("fg \"June\"", "Days", 200), Moved);
    check(&page("", "June", 97), &page("", "July", 200), Gone);
}

#[test]
fn cells_of_a_grid_without_rows_belong_to_preceding_cells() {
    let page = |codes: [&str; 3]| {
        let mut page = "webarea 1\n generic 2".to_owned();
        for (at, code) in codes.iter().enumerate() {
            let button = if at == 0 { 99 } else { 60 + at };
            page.push_str(&format!(
                "\n  generic 1{at}\n   button 2{at} \"{code}\"\n  generic 3{at}\n   text \"{at} new\"\n  generic 4{at}\n   \
                 text \"Open\"\n  generic 5{at}\n   button {button} \"Delete\""
            ));
        }
        page
    };
    let was = page(["INV-1873", "INV-8175", "INV-2029"]);
    check(&was, &was, Same);
    check(&was, &page(["INV-4088", "INV-1873", "INV-8175"]), Changed);
    check(&was, &page(["INV-8175", "INV-2029", "INV-4088"]), Changed);
}

#[test]
fn lone_control_is_replaced_only_with_equal_surroundings() {
    let page = |said: &str, button: u32| {
        format!(
            "webarea 1\n button {} \"Edit\"\n button {button} \"Delete\"\n img 7 \"{said}\"\n button 8 \"Add\"",
            button + 1
        )
    };
    let was = page("The request of Cid", 99);
    check(&was, &page("The request of Cid", 200), Moved);
    check(&was, &page("The request of Ann", 200), Gone);
    let price = |price: &str| {
        format!("webarea 1\n generic 3\n  button 4 \"{price}\"\n  button 99 \"Delete\"")
    };
    check(&price("$435.44"), &price("$18.76"), Changed);
}

#[test]
fn new_first_words_change_a_control() {
    let page = |words: &str, count: u32| {
        format!("webarea 1\n link 99 \"{words}Cart {count}\"\n  {words}text \"Cart\"\n  text \"{count}\"")
            .replace("Delete account text", "text \"Delete account\"\n  text")
    };
    check(&page("", 0), &page("", 1), Noted);
    check(&page("", 0), &page("Delete account ", 0), Changed);
}

#[test]
fn field_before_a_control_is_identifying() {
    let page = |value: &str| {
        format!(
            "webarea 1\n heading 2 \"Comments\"\n textbox 3 fg \"Name\" v=\"{value}\"\n text \"4 min ago\"\n textbox 99 fg \"Comment\""
        )
    };
    check(&page("Ann"), &page("Tom"), Changed);
    check(&page("🥥"), &page("🥑"), Changed);
    check(&page("Ann"), &page("Ann"), Same);
    // The caller's action may have set it.
    check_edited(&page("Ann"), &page("Tom"), Same);
}

#[test]
fn toggled_neighbour_keeps_the_item() {
    let page = |name: &str| {
        format!(
            "webarea 1\n group 2\n  button 3 fc \"{name}\"\n  text \"Open\"\n  button 99 fc \"Delete\""
        )
    };
    check(&page("Ann"), &page("Tom"), Changed);
    check(&page("Play"), &page("Pause"), Noted);
    check(&page("Follow"), &page("Following"), Noted);
    check(&page("Disconnect"), &page("Connect"), Noted);
}

#[test]
fn box_beside_a_lone_control_is_identifying() {
    let page = |it: &str| {
        format!(
            "webarea 1\n generic 2\n  heading 3 \"Layouts\"\n  generic 4\n   generic 5\n    generic 6\n     generic 7\n      {it}\n     generic 8\n      text \"Open\"\n     generic 9\n      button 99 fc \"Delete\""
        )
    };
    let button = |it: &str| page(&format!("button 10 fc \"{it}\""));
    check(&button("Ann"), &button("Tom"), Changed);
    check(&button("kettle window engine"), &button("mirror printer saddle"), Changed);
    check(&button("INV-3000"), &button("INV-3001"), Changed);
    let link = |it: &str| page(&format!("link 10 fc \"{it}\""));
    check(&link("Ann"), &link("Tom"), Changed);
}

#[test]
fn toolbar_button_keeps_its_fingerprint() {
    let bar = |names: &[&str]| {
        let button = |(at, name): (usize, &&str)| {
            let number = if *name == "Save" { 99 } else { 10 + at };
            format!("\n  button {number} fc \"{name}\"")
        };
        let buttons: String = names.iter().enumerate().map(button).collect();
        format!("webarea 1\n group 2{buttons}")
    };
    check(&bar(&["Undo", "Redo", "Save"]), &bar(&["Redo", "Save"]), Noted);
    check(&bar(&["Undo", "Redo", "Save"]), &bar(&["Undo", "Save"]), Noted);
    check(&bar(&["Undo", "Save"]), &bar(&["Undo", "Redo", "Save"]), Same);
    check(&bar(&["Undo", "Save", "Print"]), &bar(&["Save"]), Noted);
    check(&bar(&["Undo", "Save", "Print"]), &bar(&["Leave", "Save", "Print"]), Noted);
}

#[test]
fn box_with_a_new_name_is_changed() {
    let page = |name: &str| {
        format!(
            "webarea 1\n group 2\n  generic 99 fc{name}\n   radio 3 fc \"100 g\"\n   text \"100 g\"\n   text \"in a bag\""
        )
    };
    check(&page(""), &page("g \"Delete account\""), Changed);
    check(&page("g \"Size\""), &page("g \"Size\""), Same);
}
