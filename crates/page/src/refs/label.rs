//! What tells one of many from the others, and what a part of the page is called. A row's name does, its
//! status does not: the column in which every row says something else tells which row it is, the one in which
//! they say the same few things does not.

use super::lasting::{bare, has_digits, is_telling, without_times};
use super::meaning::{FAR, LONGEST, Others, Part};
use super::places::{Places, is_section};
use crate::ax::{Role, Tree};
use crate::text;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;

/// How many texts tell which one an item is, at most.
const MOST_TELLING: usize = 6;

/// The labels of owners, each found once.
pub(super) struct Labels<'t> {
    tree: &'t Tree,
    places: &'t Places,
    items: HashMap<usize, Rc<[Candidate]>>,
    lists: HashMap<u32, Rc<List>>,
    sections: HashMap<usize, String>,
}

/// What an item says of itself.
#[derive(Default)]
pub(super) struct Told {
    pub(super) label: String,
    pub(super) said: Vec<Part>,
    /// The target itself tells which item it is, by a number.
    pub(super) is_numbered: bool,
    /// No other item says all of that.
    pub(super) is_unique: bool,
}

impl Told {
    /// Adds what is said by the part of the item that the target is in.
    pub(super) fn add(&mut self, said: Vec<Part>) {
        for part in said.iter().filter(|part| part.tells) {
            if !self.label.is_empty() {
                self.label.push(' ');
            }
            self.label.push_str(&part.text);
        }
        self.said.extend(said);
    }
}

/// A text that could tell what it is in from others.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Candidate {
    node: u32,
    what: What,
    /// Where in its item it is.
    column: u64,
    /// What it says, apart from times, and from the number of a quantity.
    value: u64,
    is_quantity: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Heading,
    Link,
    Text,
}

/// What the items of a list have in common.
#[derive(Default)]
struct List {
    items: usize,
    /// Columns in which two items say the same.
    repeating: HashSet<u64>,
    /// What more than one item says.
    shared: HashSet<u64>,
    /// What more than one item says, apart from its number.
    numbered: HashSet<String>,
}

impl<'t> Labels<'t> {
    pub(super) fn new(tree: &'t Tree, places: &'t Places) -> Self {
        let (items, lists, sections) = Default::default();
        Self { tree, places, items, lists, sections }
    }

    /// What tells an item from others like it, apart from the target in it: the author's name for it, or
    /// those of its texts that no other item of its list has.
    pub(super) fn of_item(&mut self, item: usize, target: Option<usize>) -> Told {
        let node = &self.tree.nodes[item];
        if node.states.is_name_given() && !text::is_blank(self.tree.name(node)) {
            let label = text::cut_chars(self.tree.name(node), LONGEST).into_owned();
            let said = vec![Part::telling(without_times(&label))];
            return Told { label, said, is_numbered: false, is_unique: true };
        }
        let list = self.list(self.places.parents[item]);
        let all = self.candidates(item);
        let inside = self.inside(target);
        let (own, others): (Vec<&Candidate>, Vec<&Candidate>) =
            all.iter().partition(|it| inside.contains(&(it.node as usize)));
        let own = own.first().copied();
        let is_numbered = own
            .is_some_and(|own| !own.is_quantity && list.numbered.contains(&bare(self.name(own))));
        let is_alone = list.items < 2;
        let is_unique = |it: &Candidate| {
            !it.is_quantity
                && !list.repeating.contains(&it.column)
                && !list.shared.contains(&it.value)
        };
        let first = |what: What| others.iter().position(|it| it.what == what && !it.is_quantity);
        let (heading, link, text) = (first(What::Heading), first(What::Link), first(What::Text));
        let is_named = own.is_some_and(is_unique);
        let tells = |at: usize, it: &Candidate| {
            let at = Some(at);
            match is_alone {
                true if heading.is_some() => at == heading || at == text,
                true => !it.is_quantity,
                false if is_named => at == heading || is_unique(it),
                false if heading.is_some() => at == heading || is_unique(it),
                false => at == link || at == text || is_unique(it),
            }
        };
        let mut telling: Vec<usize> =
            (0..others.len()).filter(|at| tells(*at, others[*at])).collect();
        // Where nothing is its own, all of it together may be.
        let is_told = is_named || is_alone || telling.iter().any(|at| is_unique(others[*at]));
        if telling.is_empty() && !is_named || !is_told {
            telling = (0..others.len()).collect();
        }
        telling.truncate(MOST_TELLING);
        let raw = |at: &usize| text::cut_chars(self.name(others[*at]), LONGEST);
        let label = telling.iter().map(raw).collect::<Vec<_>>().join(" ");
        let head = heading.or(link).or(text);
        let part = |(at, it): (usize, &&Candidate)| Part {
            tells: telling.contains(&at),
            leads: Some(at) == head,
            column: it.column,
            others: match is_unique(it) {
                true if !is_alone => Others::Differ,
                _ if list.repeating.contains(&it.column) => Others::Repeat,
                _ => Others::Unknown,
            },
            ..Part::passing(self.text(it))
        };
        let said = others.iter().enumerate().map(part).collect();
        Told { label, said, is_numbered, is_unique: is_told }
    }

    /// The texts of a dialog; the first ones say what it is about.
    pub(super) fn of_dialog(&mut self, dialog: usize, target: usize) -> Vec<Part> {
        const FIRST: usize = 4;
        let others = self.outside(dialog, Some(target));
        let mut telling = 0;
        let part = |it: &Candidate| {
            let tells = it.what == What::Text && !it.is_quantity && telling < FIRST;
            telling += usize::from(tells);
            if tells { Part::telling(self.text(it)) } else { Part::passing(self.text(it)) }
        };
        others.iter().map(part).collect()
    }

    /// The texts in a box, apart from those in the target.
    pub(super) fn said(&mut self, within: usize, target: Option<usize>) -> Vec<Part> {
        let others = self.outside(within, target);
        others.iter().map(|it| Part::passing(self.text(it))).collect()
    }

    pub(super) fn of_section(&mut self, section: usize) -> String {
        let tree = self.tree;
        let found = self.sections.entry(section).or_insert_with(|| {
            let node = &tree.nodes[section];
            let name = tree.name(node);
            if !text::is_blank(name) || is_landmark(node.role) {
                return name.to_owned();
            }
            let inside = section + 1..tree.end(section).min(section + FAR);
            let heading = inside.clone().map(|index| &tree.nodes[index]).find(|node| {
                matches!(node.role, Role::Heading | Role::Legend)
                    && !text::is_blank(tree.name(node))
            });
            heading.map_or_else(String::new, |heading| tree.name(heading).to_owned())
        });
        found.clone()
    }

    fn list(&mut self, parent: u32) -> Rc<List> {
        if let Some(list) = self.lists.get(&parent) {
            return list.clone();
        }
        let mut list = List::default();
        let mut columns: HashSet<(u64, u64)> = HashSet::new();
        let mut values: HashSet<u64> = HashSet::new();
        let mut names: HashMap<String, &str> = HashMap::new();
        let (tree, places) = (self.tree, self.places);
        for item in tree.children(parent as usize).filter(|index| places.is_item(tree, *index)) {
            list.items += 1;
            let candidates = self.candidates(item);
            for candidate in &*candidates {
                if !columns.insert((candidate.column, candidate.value)) {
                    list.repeating.insert(candidate.column);
                }
                let name = tree.name(&tree.nodes[candidate.node as usize]);
                if !candidate.is_quantity && has_digits(name) {
                    let key = bare(name);
                    if names.get(&key).is_some_and(|other| *other != name) {
                        list.numbered.insert(key);
                    } else {
                        names.insert(key, name);
                    }
                }
            }
            let own: HashSet<u64> = candidates.iter().map(|it| it.value).collect();
            for value in own {
                if !values.insert(value) {
                    list.shared.insert(value);
                }
            }
        }
        let list = Rc::new(list);
        self.lists.insert(parent, list.clone());
        list
    }

    /// What is in a box, apart from what is in the target.
    fn outside(&mut self, within: usize, target: Option<usize>) -> Vec<Candidate> {
        let inside = self.inside(target);
        let all = self.candidates(within);
        all.iter().filter(|it| !inside.contains(&(it.node as usize))).copied().collect()
    }

    fn inside(&self, target: Option<usize>) -> Range<usize> {
        target.map_or(0..0, |target| target..self.tree.end(target))
    }

    fn candidates(&mut self, within: usize) -> Rc<[Candidate]> {
        let (tree, places) = (self.tree, self.places);
        let found = self.items.entry(within).or_insert_with(|| candidates(tree, places, within));
        found.clone()
    }

    fn name(&self, candidate: &Candidate) -> &'t str {
        self.tree.name(&self.tree.nodes[candidate.node as usize])
    }

    fn text(&self, candidate: &Candidate) -> String {
        without_times(&text::cut_chars(self.name(candidate), LONGEST))
    }
}

/// The large parts of a page. They are called what their author calls them: a heading somewhere in them
/// is not their name, and changes while they stay the same.
pub(super) fn is_landmark(role: Role) -> bool {
    matches!(
        role,
        Role::Main
            | Role::Banner
            | Role::Navigation
            | Role::Complementary
            | Role::ContentInfo
            | Role::Search
            | Role::Form
    )
}

/// Whether a text says how many there are of something: `3 new`, `12 in the basket`, `Comments (3)`. A number
/// after a word, as in `Invoice 3`, or before a name, as in `3 Elm Road`, tells which one.
pub(super) fn is_quantity(name: &str) -> bool {
    let mut words = name.split(text::is_space).filter(|word| !word.is_empty());
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || ".,kKM+".contains(c))
    };
    let first = words.next().unwrap_or_default();
    if is_number(first) {
        return words.next().is_some_and(|word| word.starts_with(char::is_lowercase))
            && !words.any(has_digits);
    }
    let is_bracketed = |word: &str| {
        word.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).is_some_and(is_number)
    };
    let mut numbers = name.split(text::is_space).filter(|word| has_digits(word));
    numbers.next().is_some_and(is_bracketed) && numbers.next().is_none()
}

/// What could label an item: headings, links, pictures, and texts outside of controls.
fn candidates(tree: &Tree, places: &Places, within: usize) -> Rc<[Candidate]> {
    // A target covers a few of them at most, unless it is all of the item.
    const ENOUGH: usize = 12;
    let mut found = Vec::new();
    let mut said_end = 0;
    let nodes = within + 1..tree.end(within).min(within + FAR);
    let sections = nodes.clone().filter(|index| is_section(tree.nodes[*index].role)).count();
    // What is in an item or a dialog of its own belongs to that, and so it is in groups beside each other.
    let mut other_end = 0;
    // The nodes that the next one is in, each with the hash of its place and how many children came so far.
    let mut open: Vec<(usize, u64, u32)> = vec![(tree.end(within), 0, 0)];
    for index in nodes {
        let node = &tree.nodes[index];
        while open.pop_if(|(end, ..)| *end <= index).is_some() {}
        let Some((_, place, children)) = open.last_mut() else { break };
        let column = hash(&(*place, *children, node.role as u8));
        *children += 1;
        open.push((tree.end(index), column, 0));
        let is_other = node.frame != tree.nodes[within].frame
            || places.is_item(tree, index)
            || matches!(node.role, Role::Dialog | Role::AlertDialog)
            || sections > 1 && is_section(node.role);
        if is_other {
            other_end = other_end.max(tree.end(index));
        }
        if index < other_end {
            continue;
        }
        let name = tree.name(node);
        let what = match node.role {
            Role::RowHeader | Role::Heading => Some(What::Heading),
            Role::Link => Some(What::Link),
            Role::Text | Role::Time | Role::Image
                if !places.in_control[index] && index >= said_end =>
            {
                Some(What::Text)
            }
            _ => None,
        };
        if let Some(what) = what.filter(|_| is_telling(name)) {
            let is_quantity = is_quantity(name);
            let value = if is_quantity { bare(name) } else { without_times(name) };
            let value = hash(&value);
            found.push(Candidate { node: index as u32, what, column, value, is_quantity });
            said_end = said_end.max(tree.end(index));
            if found.len() >= ENOUGH {
                break;
            }
        }
    }
    found.into()
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::is_quantity;
    use crate::ax::testing::tree;
    use crate::refs::{Verdict, compare, meanings};

    /// How the meaning of the element with the number 99 differs between two pages.
    fn check(was: &str, now: &str, expected: Verdict) {
        let meaning = |page: &str| {
            let tree = tree(page);
            let target = tree.nodes.iter().position(|node| node.element == 99).unwrap();
            meanings(&tree, &[target as u32]).remove(0)
        };
        let (before, after) = (meaning(was), meaning(now));
        assert_eq!(compare(&before, &after), expected, "{before:?}\n{after:?}");
    }

    /// A table of texts; the button of the first row is the target.
    fn table(rows: &[&[&str]]) -> String {
        let mut page = "webarea 1\n table 2".to_owned();
        for (at, row) in rows.iter().enumerate() {
            page.push_str(&format!("\n  row {}", 10 + at));
            for text in *row {
                page.push_str(&format!("\n   cell {}\n    text \"{text}\"", 20 + at));
            }
            page.push_str(&format!(
                "\n   button {} \"Delete\"",
                if at == 0 { 99 } else { 40 + at }
            ));
        }
        page
    }

    #[test]
    fn the_column_in_which_rows_differ_tells_them_apart() {
        let others: [&[&str]; 2] = [&["Ann", "Second", "Paid"], &["Bank", "Third", "Paid"]];
        let rows = |first: &[&str]| table(&[first, others[0], others[1]]);
        let was = rows(&["Ann", "First", "Late"]);
        check(&was, &rows(&["Ann", "First", "Paid"]), Verdict::Same);
        check(&was, &rows(&["Ann", "Fourth", "Late"]), Verdict::Changed);
        check(&was, &rows(&["Bob", "First", "Late"]), Verdict::Changed);
        check(&was, &table(&[&["Ann", "First", "Paid"]]), Verdict::Same);
        // Where no column does, all of them together do.
        let was = table(&[&["Ann", "Oslo"], &["Ann", "Rome"], &["Bob", "Oslo"]]);
        check(
            &was,
            &table(&[&["Ann", "Rome"], &["Ann", "Oslo"], &["Bob", "Oslo"]]),
            Verdict::Changed,
        );
    }

    #[test]
    fn a_state_that_was_different_in_each_row_may_change() {
        let others: [&[&str]; 2] = [&["Bob", "Second", "Paid"], &["Cid", "Third", "Sent back"]];
        let rows = |first: &[&str]| table(&[first, others[0], others[1]]);
        let was = rows(&["Ann", "First", "Late"]);
        // Another row has the same state now, and the rest still tells.
        check(&was, &rows(&["Ann", "First", "Paid"]), Verdict::Same);
        check(&was, &rows(&["Ann", "First", "Sent back"]), Verdict::Same);
        // No other row has it.
        check(&was, &rows(&["Ann", "First", "Lost"]), Verdict::Changed);
        check(&was, &rows(&["Ann", "Fourth", "Late"]), Verdict::Changed);
        // What it begins with is no state, and neither is what has a number or many words.
        check(&was, &rows(&["Bob", "First", "Late"]), Verdict::Changed);
        let numbered = |first: &str| table(&[&["Ann", first], &["Bob", "Room 2"]]);
        check(&numbered("Room 1"), &numbered("Room 2"), Verdict::Changed);
        let long = |first: &str| table(&[&["Ann", first], &["Bob", "What we said last time"]]);
        check(&long("Hello there"), &long("What we said last time"), Verdict::Changed);
        // Where another one begins the same way, the rest does not tell by itself.
        let twins = table(&[&["Ann", "Paid"], &["Ann", "Late"], &["Bob", "Paid"]]);
        check(&table(&[&["Ann", "Late"], &["Bob", "Paid"]]), &twins, Verdict::Changed);
    }

    #[test]
    fn what_every_row_begins_with_does_not_tell_which_it_is() {
        let rows = |name: &str, time: &str, count: u32| {
            table(&[
                &[&*format!("Updated {time}"), name, &format!("{count} new")],
                &["Updated 12:01", "Bob", "4 new"],
            ])
        };
        let was = rows("Ann", "12:03", 1);
        check(&was, &rows("Ann", "12:09", 7), Verdict::Same);
        check(&was, &rows("Cid", "12:03", 1), Verdict::Changed);
    }

    #[test]
    fn rows_are_known_in_frames_and_in_boxes_that_listen() {
        for above in ["generic 2", "generic 2 fl", "iframe 2\n  webarea 3 ff #1"] {
            let depth = " ".repeat(2 + above.matches('\n').count());
            let frame = if above.contains('#') { " #1" } else { "" };
            let rows = |name: &str| {
                let row = |name: &str, box_: u32, button: u32| {
                    format!(
                        "\n{depth}generic {box_}{frame}\n{depth} text \"{name}\"{frame}\n{depth} \
                         button {button} \"Call\"{frame}"
                    )
                };
                format!("webarea 1\n {above}{}{}", row(name, 10, 99), row("Bob", 11, 12))
            };
            check(&rows("Ann"), &rows("Ann"), Verdict::Same);
            check(&rows("Ann"), &rows("Cid"), Verdict::Changed);
        }
    }

    #[test]
    fn a_group_is_nearer_than_the_heading_above_it() {
        let page = |group: &str| {
            format!(
                "webarea 1\n heading 2 \"Addresses\"\n group 3 \"{group}\"\n  button 99 \"Save\""
            )
        };
        check(&page("Billing"), &page("Shipping"), Verdict::Changed);
        let row = |group: &str| {
            format!(
                "webarea 1\n listitem 2\n  text \"Ann\"\n  group 3 \"{group}\"\n   button 99 \"Save\""
            )
        };
        check(&row("Billing"), &row("Shipping"), Verdict::Changed);
    }

    #[test]
    fn a_dialog_that_asks_something_else_is_another_one() {
        let page = |question: &str| {
            format!("webarea 1\n dialog 2 \"Confirm\"\n  text \"{question}\"\n  button 99 \"Yes\"")
        };
        check(&page("Delete Ann? 12:03"), &page("Delete Ann? 12:04"), Verdict::Same);
        check(&page("Delete Ann?"), &page("Delete Bob?"), Verdict::Changed);
    }

    #[test]
    fn a_number_that_tells_things_apart_is_no_counter() {
        let list = |first: &str, second: &str| {
            format!(
                "webarea 1\n listitem 2\n  link 99 \"{first}\"\n listitem 3\n  link 4 \"{second}\""
            )
        };
        let bills = list("Invoice 1", "Invoice 2");
        check(&bills, &list("Invoice 2", "Invoice 1"), Verdict::Changed);
        check(&list("Inbox (1)", "Drafts (2)"), &list("Inbox (3)", "Drafts (2)"), Verdict::Minor);
        check(&list("Inbox 1", "Drafts 2"), &list("Inbox 3", "Drafts 2"), Verdict::Minor);
        let pages =
            |first: u32| format!("webarea 1\n link 99 \"Page {first}\"\n link 3 \"Page 7\"");
        check(&pages(1), &pages(2), Verdict::Changed);
    }

    #[test]
    fn a_card_is_known_by_what_tells_it_from_others() {
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
        check(&was, &cards(&["Invoice 1010", "Ann Lee"], "12:09", 3), Verdict::Minor);
        check(&was, &cards(&["Invoice 1010", "Bob", "Invoice 1012"], "12:03", 4), Verdict::Minor);
        check(&was, &cards(&["Invoice 1034", "Ann Lee"], "12:03", 3), Verdict::Changed);
        check(&was, &cards(&["Cid", "Ann Lee"], "12:03", 3), Verdict::Changed);
        // Where only a number tells them apart, that does.
        let rooms = |numbers: &[u32]| {
            let mut page = "webarea 1\n . 2".to_owned();
            for (at, number) in numbers.iter().enumerate() {
                let card = if at == 0 { 99 } else { 10 + at };
                page.push_str(&format!(
                    "\n  generic {card} fl\n   text \"Room\"\n   text \"{number}\"\n   button {} \"Info\"",
                    20 + at
                ));
            }
            page
        };
        check(&rooms(&[101, 102]), &rooms(&[101, 103]), Verdict::Same);
        check(&rooms(&[101, 102]), &rooms(&[103, 102]), Verdict::Changed);
        // Alone it is no card any more, and still says what it said.
        check(&was, &cards(&["Invoice 1010"], "12:03", 3), Verdict::Same);
        check(&was, &cards(&["Invoice 1034"], "12:03", 3), Verdict::Changed);
        check(&cards(&["Invoice 1034"], "12:03", 3), &was, Verdict::Changed);
    }

    #[test]
    fn quantities_come_before_what_they_count() {
        for text in ["3 new", "1,200 comments", "1.2k likes", "5 in the basket", "Comments (3)"] {
            assert!(is_quantity(text), "{text}");
        }
        for text in ["Invoice 3", "221 Baker Street", "3", "", "new", "3 of 5", "INV-3 (4)"] {
            assert!(!is_quantity(text), "{text}");
        }
    }
}
