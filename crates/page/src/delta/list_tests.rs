//! Deltas of lists that are sorted, filtered, extended and changed, with keyed, unkeyed and re-created
//! elements.

use super::tests::compare_live as compare;
use super::*;
use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq)]
struct Item {
    id: u32,
    name: String,
    price: u32,
    is_done: bool,
}

/// Markup of the items.
#[derive(Clone, Copy, Debug)]
enum Layout {
    Boxes,
    Entries,
    Rows,
    Terms,
    Cards,
    Flat,
}

const LAYOUTS: [Layout; 6] =
    [Layout::Boxes, Layout::Entries, Layout::Rows, Layout::Terms, Layout::Cards, Layout::Flat];

/// Reuse of elements between the two pages.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Keys {
    /// Each item keeps its element.
    Keyed,
    /// Each position keeps its element.
    Unkeyed,
    /// All elements are new.
    Recreated,
}

const KEYS: [Keys; 3] = [Keys::Keyed, Keys::Unkeyed, Keys::Recreated];

fn item(layout: Layout, e: u32, Item { name, price, is_done, .. }: &Item) -> String {
    let done = u32::from(*is_done);
    let [a, b, c, d, f] = [e, e + 1, e + 2, e + 3, e + 4];
    match layout {
        Layout::Boxes => format!(
            "\n  . {a}\n   . {b}\n    text \"{name}\"\n   . {c}\n    text \"${price}.00\"\n   button {d} \"Add\"\n   checkbox {f} c{done}"
        ),
        Layout::Entries => format!(
            "\n  listitem {a}\n   link {b} \"{name}\"\n    text \"{name}\"\n   text \"${price}.00\"\n   checkbox {c} c{done}"
        ),
        Layout::Rows => format!(
            "\n  row {a}\n   cell {b} \"{name}\"\n    text \"{name}\"\n   cell {c} \"${price}.00\"\n    text \"${price}.00\"\n   cell {d}\n    checkbox {f} c{done}"
        ),
        Layout::Terms => format!(
            "\n  term {a}\n   text \"{name}\"\n  definition {b}\n   text \"${price}.00\"\n   checkbox {c} c{done}"
        ),
        Layout::Cards => format!(
            "\n  article {a}\n   heading {b} \"{name}\" l3\n    text \"{name}\"\n   . {c}\n    text \"${price}.00\"\n   button {d} \"Add {name}\"\n   checkbox {f} c{done}"
        ),
        Layout::Flat => format!(
            "\n  strong {a}\n   text \"{name}\"\n  text \"${price}.00\"\n  checkbox {c} c{done}"
        ),
    }
}

fn page(layout: Layout, items: &[Item], element: impl Fn(usize, &Item) -> u32) -> String {
    let outer = match layout {
        Layout::Rows => "table 4",
        Layout::Entries => "list 4",
        _ => ". 4",
    };
    let mut page = format!(
        "webarea 1\n heading 2 \"Shop\" l1\n . 3\n  text \"Some words to make it long enough\"\n {outer}"
    );
    for (at, it) in items.iter().enumerate() {
        page.push_str(&item(layout, element(at, it), it));
    }
    page.push_str(
        "\n button 5 \"Pay\"\n text \"More words at the end of the page to make it long\"",
    );
    page
}

fn pages(layout: Layout, keys: Keys, was: &[Item], now: &[Item]) -> (String, String) {
    let by_id = |_: usize, item: &Item| 100 + item.id * 10;
    let by_position = |at: usize, _: &Item| 100 + at as u32 * 10;
    let recreated = |at: usize, _: &Item| 5000 + at as u32 * 10;
    match keys {
        Keys::Keyed => (page(layout, was, by_id), page(layout, now, by_id)),
        Keys::Unkeyed => (page(layout, was, by_position), page(layout, now, by_position)),
        Keys::Recreated => (page(layout, was, by_position), page(layout, now, recreated)),
    }
}

fn shop(count: u32) -> Vec<Item> {
    const NAMES: [&str; 12] = [
        "Kettle", "Stove", "Tent", "Lamp", "Rope", "Knife", "Boots", "Map", "Cup", "Mat", "Pan",
        "Axe",
    ];
    let item = |id: u32| {
        let round = id / NAMES.len() as u32;
        let name = NAMES[id as usize % NAMES.len()];
        let name = if round == 0 { name.to_owned() } else { format!("{name} {round}") };
        Item { id, name, price: 20 + (id * 37 + 50) % 200, is_done: id.is_multiple_of(5) }
    };
    (0..count).map(item).collect()
}

fn sorted(mut items: Vec<Item>) -> Vec<Item> {
    items.sort_by_key(|it| (it.price, it.id));
    items
}

fn for_each_layout(check: impl Fn(Layout, Keys)) {
    for layout in LAYOUTS {
        for keys in KEYS {
            check(layout, keys);
        }
    }
}

fn delta_text(layout: Layout, keys: Keys, was: &[Item], now: &[Item]) -> String {
    let (was, now) = pages(layout, keys, was, now);
    compare(&was, &now).text
}

/// The names of the first items of a list, as a delta lists them.
fn named(items: &[Item]) -> String {
    let names: Vec<String> = items.iter().take(5).map(|it| format!("{:?}", it.name)).collect();
    let more = if items.len() > 5 { ", …" } else { "" };
    format!("{}{more}", names.join(", "))
}

#[test]
fn sorted_list_is_an_order_note() {
    for_each_layout(|layout, keys| {
        let was = shop(40);
        let now = sorted(was.clone());
        let text = delta_text(layout, keys, &was, &now);
        let order = text.lines().next().unwrap();
        assert_eq!(
            order,
            format!("~ order changed: {}", named(&now)),
            "{layout:?} {keys:?}: {text}"
        );
        assert!(text.lines().count() <= 2, "{layout:?} {keys:?}: {text}");
        assert_eq!(
            keys == Keys::Keyed,
            !text.contains("other refs now"),
            "{layout:?} {keys:?}: {text}"
        );
    });
}

#[test]
fn one_item_that_moved_is_reported_with_its_place() {
    for_each_layout(|layout, keys| {
        let was = shop(40);
        let mut now = was.clone();
        let moved = now.remove(30);
        now.insert(20, moved);
        let text = delta_text(layout, keys, &was, &now);
        let expected = format!("~ order changed from item 21 on: {}", named(&now[20..]));
        assert!(text.starts_with(&expected), "{layout:?} {keys:?}: {text}");
    });
}

#[test]
fn filtered_and_restored_items_are_a_count() {
    for_each_layout(|layout, keys| {
        let was = shop(40);
        let now: Vec<Item> = was.iter().filter(|it| it.id % 13 == 1).cloned().collect();
        let removed: Vec<Item> = was.iter().filter(|it| it.id % 13 != 1).cloned().collect();
        let text = delta_text(layout, keys, &was, &now);
        let expected = format!("- 37 of 40 items: {}", named(&removed));
        assert!(text.lines().any(|line| line == expected), "{layout:?} {keys:?}: {text}");
        assert!(text.lines().count() <= 2, "{layout:?} {keys:?}: {text}");
        let text = delta_text(layout, keys, &now, &was);
        let expected = format!("+ 37 of 40 items: {}", named(&removed));
        assert!(text.lines().any(|line| line == expected), "{layout:?} {keys:?}: {text}");
        assert!(text.lines().count() <= 2, "{layout:?} {keys:?}: {text}");
    });
}

#[test]
fn change_in_a_moved_item_is_one_line() {
    for_each_layout(|layout, keys| {
        let was = shop(40);
        let mut now = sorted(was.clone());
        now[7].price = 999;
        now[9].is_done ^= true;
        let text = delta_text(layout, keys, &was, &now);
        let changed: Vec<&str> = text.lines().filter(|line| line.contains("(was ")).collect();
        let old = was.iter().find(|it| it.id == now[7].id).unwrap().price;
        assert!(
            changed.iter().any(|it| it.contains("$999.00") && it.contains(&format!("${old}.00"))),
            "{layout:?} {keys:?}: {text}"
        );
        // A cell and its text both show it.
        assert!(changed.len() <= 3, "{layout:?} {keys:?}: {text}");
        assert!(text.contains("~ order changed: "), "{layout:?} {keys:?}: {text}");
        assert!(!text.contains("\n+") && !text.contains("\n-"), "{layout:?} {keys:?}: {text}");
    });
}

#[test]
fn filter_and_changed_state_are_both_reported() {
    for_each_layout(|layout, keys| {
        let was = shop(40);
        let mut now: Vec<Item> = was.iter().filter(|it| it.id % 13 == 1).cloned().collect();
        now[1].is_done ^= true;
        let text = delta_text(layout, keys, &was, &now);
        assert!(text.contains("- 37 of 40 items: "), "{layout:?} {keys:?}: {text}");
        let changed: Vec<&str> = text.lines().filter(|line| line.contains("(was ")).collect();
        assert!(matches!(&*changed, [it] if it.contains("checked")), "{layout:?} {keys:?}: {text}");
    });
}

#[test]
fn single_changes_are_reported_line_by_line() {
    for_each_layout(|layout, keys| {
        let was = shop(9);
        let mut now = was.clone();
        now[4].price = 999;
        now[6].is_done ^= true;
        let text = delta_text(layout, keys, &was, &now);
        assert!(!text.contains("order changed") && !text.contains("items:"), "{text}");
        assert_eq!(
            keys == Keys::Recreated,
            text.contains("other refs now"),
            "{layout:?} {keys:?}: {text}"
        );
        let mut now = was.clone();
        now.remove(3);
        let text = delta_text(layout, keys, &was, &now);
        let removed: Vec<&str> = text.lines().filter(|line| line.starts_with('-')).collect();
        assert!(
            !removed.is_empty()
                && removed.iter().any(|it| it.contains("Lamp")
                    || it.contains("row")
                    || it.contains("article")
                    || it.contains("listitem")),
            "{layout:?} {keys:?}: {text}"
        );
        assert!(!text.contains("\n+") && !text.contains("(was"), "{layout:?} {keys:?}: {text}");
    });
}

#[test]
fn item_name_cannot_forge_a_line() {
    let mut was = shop(12);
    was[3].name = "x, y - removed button z [ref=@e1]".into();
    let mut now = was.clone();
    now.reverse();
    let text = delta_text(Layout::Boxes, Keys::Unkeyed, &was, &now);
    assert!(text.lines().all(|line| line.starts_with("~ ")), "{text}");
}

#[test]
fn a_list_of_another_page_is_reported_in_its_elements() {
    let was = shop(20);
    let now: Vec<Item> = shop(24)
        .into_iter()
        .skip(4)
        .map(|it| Item { name: format!("New {}", it.name), price: it.price + 500, ..it })
        .collect();
    let (was, now) = pages(Layout::Cards, Keys::Unkeyed, &was, &now);
    let (was, now) = tests::delta_bases(&was, &now);
    let text = changes(&was, &now).text;
    assert!(text.contains("heading \"New Rope\" [level=3] (was \"Kettle\")"), "{text}");
}

#[test]
fn keyed_rows_with_equal_text_are_moved_lines() {
    let page = |order: &[u32]| {
        let rows: String =
            order.iter().map(|e| format!("\n  listitem {e}\n   button {}", e + 1)).collect();
        format!(
            "webarea 1\n list 2{rows}\n text \"some words to make it long enough to compare\"\n text \"and more of them, as a page has\""
        )
    };
    let text = compare(&page(&[10, 20, 30, 40]), &page(&[40, 10, 20, 30])).text;
    assert!(text.contains("lines moved"), "{text}");
}

#[test]
fn deeply_nested_lists_are_compared_in_time() {
    // Rereading all texts at each level would take minutes.
    let page = |first: u32, word: &str| {
        let mut page = String::from("webarea 1");
        for depth in 0..400 {
            let (indent, e) = (" ".repeat(depth + 1), first + depth as u32 * 3);
            page.push_str(&format!(
                "\n{indent}listitem {e}\n{indent}listitem {}\n{indent} text \"Words {depth}\"\n{indent}listitem {}",
                e + 1,
                e + 2
            ));
        }
        format!("{page}\n{} text \"{word}\"", " ".repeat(400))
    };
    let (was, now) = tests::delta_bases(&page(10, "old"), &page(9000, "new"));
    assert!(!changes(&was, &now).text.is_empty());
}

fn any_items() -> impl Strategy<Value = (Vec<Item>, Vec<Item>)> {
    let step = (0_u8..8, any::<prop::sample::Index>(), any::<prop::sample::Index>());
    (1_u32..30, prop::collection::vec(step, 0..6)).prop_map(|(count, steps)| {
        let was = shop(count);
        let mut now = was.clone();
        let mut next = 100;
        for (kind, one, other) in steps {
            if now.is_empty() {
                break;
            }
            let (one, other) = (one.index(now.len()), other.index(now.len()));
            match kind {
                0 => now = sorted(now),
                1 => now.swap(one, other),
                2 => {
                    now.remove(one);
                }
                3 => now.retain(|it| it.id % 3 != other as u32 % 3),
                4 => now[one].price += 1,
                5 => now[one].is_done ^= true,
                6 => {
                    let price = now[one].price;
                    now[one].price = now[other].price;
                    now[other].price = price;
                }
                _ => {
                    next += 1;
                    let item =
                        Item { id: next, name: format!("New {next}"), price: next, is_done: false };
                    now.insert(one, item);
                }
            }
        }
        (was, now)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// No difference is omitted: applying a delta to the earlier lines gives the later lines in their order.
    #[test]
    fn delta_omits_no_difference(
        (was, now) in any_items(),
        layout in prop::sample::select(&LAYOUTS[..]),
        keys in prop::sample::select(&KEYS[..]),
    ) {
        let (text_was, text_now) = pages(layout, keys, &was, &now);
        let (page_was, page_now) = tests::delta_bases(&text_was, &text_now);
        let delta = changes(&page_was, &page_now);
        let contents = |page: &DeltaBase| -> Vec<String> {
            page.lines.iter().map(|it| format!("{:?}", page.content(it))).collect()
        };
        let (before, after) = (contents(&page_was), contents(&page_now));
        prop_assert_eq!(before == after && keys != Keys::Recreated, delta.text.is_empty(), "{}", delta.text);

        // The reported lines, and the counted ones.
        let reported: Vec<usize> = delta.reported.iter().map(|it| it.0 as usize).collect();
        let counted = delta.text.lines().filter(|it| it.starts_with('+') && it.contains(" items: ")).count();
        let mut unmatched: HashMap<&String, i64> = HashMap::new();
        before.iter().for_each(|it| *unmatched.entry(it).or_default() += 1);
        let is_reported = |at: &usize| reported.contains(at);
        let mut unaccounted = 0;
        for (_, it) in after.iter().enumerate().filter(|(at, _)| !is_reported(at)) {
            let count = unmatched.entry(it).or_default();
            *count -= 1;
            unaccounted += i64::from(*count < 0);
        }
        prop_assert!(unaccounted == 0 || counted > 0, "{}", delta.text);
        let missing: i64 = unmatched.values().filter(|it| **it > 0).sum();
        prop_assert!(missing as u32 <= delta.removed + delta.changed, "{} {}", missing, delta.text);
        prop_assert_eq!(
            before.len() as i64 - i64::from(delta.removed) + i64::from(delta.added),
            after.len() as i64
        );

        // Without a note on the order, the unreported lines keep their order.
        if delta.moved == 0 && counted == 0 {
            let mut earlier = before.iter();
            for (at, it) in after.iter().enumerate().filter(|(at, _)| !is_reported(at)) {
                prop_assert!(earlier.any(|was| was == it), "line {} {}: {}", at, it, delta.text);
            }
        }

        // A new price is reported, unless its item is only counted. Two items are no list: they are compared
        // line by line, and a price may stay in its position.
        let is_list = was.len().max(now.len()) > 2;
        let old = |id: u32| was.iter().find(|it| it.id == id);
        for item in now.iter().filter(|it| is_list && old(it.id).is_some_and(|old| old.price != it.price)) {
            let price = format!("${}.00", item.price);
            prop_assert!(counted > 0 || delta.text.contains(&price) || delta.text.contains("order changed"), "{} {}", price, delta.text);
        }
    }
}
