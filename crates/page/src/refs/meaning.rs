//! What an element means: its role, its name and what it belongs to. Two buttons called "Delete" differ by
//! the row they are in, and a row that was filled with another record is another row.

use super::label::{Labels, Told, is_landmark, is_quantity};
use super::lasting::{bare, has_digits, without_times};
use super::places::{Places, is_item, is_section};
use crate::ax::{Role, Tree, is_control};
use crate::text;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The longest text that is kept of a name that is collected from content, and of a label, in bytes.
pub(super) const LONGEST: usize = 120;

/// How many nodes are looked at for a name or a label.
pub(super) const FAR: usize = 200;

/// What an element meant when it was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// What it is.
    pub role: Role,
    /// What it is called; where it has no name, the text in it.
    pub name: String,
    /// What it belongs to.
    pub owner: Option<Owner>,
    /// What it says, where it is a box around things of its own.
    pub content: Option<Content>,
    /// A number in its name tells it from others that are called the same: it is no counter.
    pub is_numbered: bool,
    /// The texts around it in the nearest box that has any. A list whose rows have no role is known by there
    /// being several; this tells the last one of them apart when the others are gone.
    pub near: Vec<Part>,
    /// The document it is in.
    pub document: Arc<str>,
}

/// What an element belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// One of many alike, or a part of the page.
    pub kind: OwnerKind,
    /// What it is.
    pub role: Role,
    /// What it is called, or the text that tells it from others like it.
    pub label: String,
    /// Its texts, those that tell which one it is and those that may change.
    pub said: Vec<Part>,
}

impl Owner {
    /// An owner that is known by its name alone.
    pub fn named(kind: OwnerKind, role: Role, label: impl Into<String>) -> Self {
        let label = label.into();
        let said = match kind {
            OwnerKind::Item => vec![Part::telling(without_times(&label))],
            OwnerKind::Section => Vec::new(),
        };
        Self { kind, role, label, said }
    }

    /// What a reader is told of it.
    pub fn described(&self) -> String {
        match self.kind {
            OwnerKind::Item => self.label.clone(),
            OwnerKind::Section => {
                let parts = telling(&self.said).map(|part| &part.text);
                let parts = std::iter::once(&self.label).chain(parts);
                parts.filter(|it| !it.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// What a box says that holds things of its own, such as a card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Its texts, those that tell which one it is, when it is one of many alike, and those that may change.
    pub said: Vec<Part>,
    /// No other one says all that tells.
    pub is_unique: bool,
}

/// A text of something that an element belongs to or is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it says, apart from times.
    pub text: String,
    /// It is one of those that tell which one it is in: they stay while that is the same.
    pub tells: bool,
    /// It stands at the head, as a title does.
    pub leads: bool,
    /// Where in the item it stands.
    pub column: u64,
    /// What the others of the list say there.
    pub others: Others,
}

/// What the other items of a list say where one says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Each something else, and none of them says this anywhere.
    Differ,
    /// Two of them say the same there, so that it does not tell which one it is.
    Repeat,
    /// Neither is known.
    Unknown,
}

impl Part {
    /// A text that may change.
    pub(super) fn passing(text: String) -> Self {
        Self { text, tells: false, leads: false, column: 0, others: Others::Unknown }
    }

    /// A text that tells by itself.
    pub(super) fn telling(text: String) -> Self {
        Self { tells: true, leads: true, ..Self::passing(text) }
    }
}

fn telling(said: &[Part]) -> impl Iterator<Item = &Part> {
    said.iter().filter(|part| part.tells)
}

/// What sort of thing an element belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerKind {
    /// One of many alike: a row, an item, an article. A number in its label tells which.
    Item,
    /// A part of the page: a group, a dialog, a landmark. A number in its label is a counter.
    Section,
}

/// How two meanings of one element differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not at all.
    Same,
    /// By a number or a time in its name.
    Minor,
    /// It is something else now.
    Changed,
}

/// Compares what an element meant and means.
pub fn compare(was: &Meaning, now: &Meaning) -> Verdict {
    if was.role != now.role
        || was.document != now.document
        || !is_same_owner(was, now)
        || !is_same_item(was, now)
    {
        return Verdict::Changed;
    }
    if text::collapse(&was.name) == text::collapse(&now.name) {
        return Verdict::Same;
    }
    // The numbers that tell which one a card is were compared with its texts; others count something.
    let is_told = was.is_told_by_content() && was.content.as_ref().is_some_and(|it| it.is_unique);
    let is_numbered = (was.is_numbered || now.is_numbered) && !is_told;
    let lasting = if is_numbered { without_times } else { bare };
    if lasting(&was.name) == lasting(&now.name) { Verdict::Minor } else { Verdict::Changed }
}

impl Meaning {
    fn is_told_by_content(&self) -> bool {
        self.content.as_ref().is_some_and(|it| telling(&it.said).next().is_some())
    }
}

fn says(said: &[Part], text: &str) -> bool {
    said.iter().any(|part| part.text == text)
}

/// Whether all that told before is still said.
fn is_still_told(was: &[Part], now: &[Part]) -> bool {
    telling(was).all(|part| says(now, &part.text))
}

/// Whether one of many is still the same. In a short list a state can look as if it told which row it is, until two rows
/// have the same one: where that is so now, and what stays tells by itself before and after, only the state changed.
fn is_same_one(was: &[Part], now: &[Part]) -> bool {
    let became =
        |part: &Part| now.iter().find(|it| it.column == part.column && it.others == Others::Repeat);
    let is_state = |part: &Part| {
        !part.leads
            && part.others == Others::Differ
            && could_be_state(&part.text)
            && became(part).is_some_and(|now| could_be_state(&now.text))
    };
    let stays = |part: &Part| {
        let is_same = |it: &Part| it.text == part.text && it.others == Others::Differ;
        part.others == Others::Differ && now.iter().any(is_same)
    };
    let mut gone = telling(was).filter(|part| !says(now, &part.text)).peekable();
    gone.peek().is_none() || gone.all(is_state) && was.iter().any(stays)
}

/// Whether a text could be a state: a few words without a number.
fn could_be_state(text: &str) -> bool {
    const MOST_WORDS: usize = 3;
    !has_digits(text) && text.split(text::is_space).count() <= MOST_WORDS
}

/// Whether a box that is one of many alike is still the same one. It is one of many only while there are others: what it
/// said is known all the same.
fn is_same_item(was: &Meaning, now: &Meaning) -> bool {
    let (Some(before), Some(after)) = (&was.content, &now.content) else {
        return !was.is_told_by_content() && !now.is_told_by_content();
    };
    match was.is_told_by_content() {
        true => is_same_one(&before.said, &after.said),
        false => is_still_told(&after.said, &before.said),
    }
}

fn is_same_owner(was: &Meaning, now: &Meaning) -> bool {
    let is_row = |meaning: &Meaning| {
        let owner = meaning.owner.as_ref();
        owner.is_some_and(|it| it.role == Role::Generic && it.kind == OwnerKind::Item)
    };
    match (&was.owner, &now.owner) {
        // A row without a role is one only while there are others like it.
        (Some(owner), _) if is_row(was) && !is_row(now) => is_still_told(&owner.said, &now.near),
        (_, Some(owner)) if is_row(now) && !is_row(was) => is_still_told(&owner.said, &was.near),
        (Some(was), Some(now)) => {
            is_same_kind(was, now)
                && is_same_one(&was.said, &now.said)
                && (was.kind == OwnerKind::Item || bare(&was.label) == bare(&now.label))
        }
        (None, None) => true,
        _ => false,
    }
}

/// A part of the page may be known by its heading at one time and by itself at another, when the heading moves.
fn is_same_kind(was: &Owner, now: &Owner) -> bool {
    let is_by_heading = |it: &Owner| it.role == Role::Heading && !text::is_blank(&it.label);
    was.kind == now.kind
        && (was.role == now.role
            || was.kind == OwnerKind::Section && (is_by_heading(was) || is_by_heading(now)))
}

/// What elements mean, in the order in which they are asked for: `wanted` are indexes of nodes, ascending.
pub fn meanings(tree: &Tree, wanted: &[u32]) -> Vec<Meaning> {
    if wanted.is_empty() || tree.nodes.is_empty() {
        return Vec::new();
    }
    let documents: Vec<Arc<str>> =
        tree.frames.iter().map(|frame| Arc::from(&*frame.document)).collect();
    let places = Places::new(tree);
    let mut labels = Labels::new(tree, &places);
    let mut numbered = None;
    let mut out = Vec::with_capacity(wanted.len());
    let mut wanted = wanted.iter().copied().peekable();
    let mut open: Vec<Open> = Vec::new();
    for index in 0..tree.nodes.len() {
        while open.pop_if(|last| last.end <= index).is_some() {}
        let Some(next) = wanted.peek() else { break };
        if *next as usize == index {
            let node = &tree.nodes[index];
            let (owner, is_one_of_many) = owner(tree, &open, index, &mut labels);
            let near = open.last().and_then(|parent| parent.near);
            let near = near.map_or_else(Vec::new, |near| labels.said(near as usize, Some(index)));
            let document = documents.get(node.frame as usize).cloned();
            let document = document.unwrap_or_else(|| Arc::from(""));
            let name = name(tree, index);
            let content = content(tree, &places, &mut labels, index);
            let is_in_item = owner.as_ref().is_some_and(|owner| owner.kind == OwnerKind::Item);
            let is_numbered = is_one_of_many
                || (!is_in_item || places.is_item(tree, index))
                    && has_digits(&name)
                    && !is_quantity(&name)
                    && numbered.get_or_insert_with(|| numbered_names(tree)).contains(&(
                        node.frame,
                        node.role,
                        bare(&name),
                    ));
            let role = node.role;
            let meaning = Meaning { role, name, owner, content, is_numbered, near, document };
            while wanted.next_if_eq(&(index as u32)).is_some() {
                out.push(meaning.clone());
            }
        }
        enter(tree, &places, &mut open, index);
    }
    out
}

/// What a box says that holds things of its own. A control without any is known by its name.
fn content(tree: &Tree, places: &Places, labels: &mut Labels<'_>, index: usize) -> Option<Content> {
    if places.in_control[index] || places.texts[tree.end(index)] == places.texts[index] {
        return None;
    }
    if places.is_item(tree, index) {
        let Told { said, is_unique, .. } = labels.of_item(index, None);
        return Some(Content { said, is_unique });
    }
    let said = labels.said(index, None);
    (tree.nodes[index].role == Role::Generic).then(|| Content { said, ..Content::default() })
}

/// An element that the one looked at is in.
struct Open {
    index: usize,
    end: usize,
    /// The nearest item, with itself.
    item: Option<u32>,
    /// The nearest named part of the page, with itself.
    section: Option<u32>,
    /// The nearest dialog, with itself.
    dialog: Option<u32>,
    /// The nearest box with text in it.
    near: Option<u32>,
    /// The last heading among its children so far.
    heading: Option<u32>,
}

fn enter(tree: &Tree, places: &Places, open: &mut Vec<Open>, index: usize) {
    let node = &tree.nodes[index];
    if node.role == Role::Heading
        && let Some(parent) = open.last_mut()
    {
        parent.heading = Some(index as u32);
    }
    let end = tree.end(index);
    if end == index + 1 {
        return;
    }
    // A frame's document is a page of its own.
    let outer = open.last().filter(|_| node.role != Role::WebArea);
    let (mut item, mut section, mut dialog, mut near) =
        outer.map_or((None, None, None, None), |it| (it.item, it.section, it.dialog, it.near));
    if matches!(node.role, Role::Dialog | Role::AlertDialog) {
        dialog = Some(index as u32);
    }
    if places.is_item(tree, index) {
        (item, near) = (Some(index as u32), None);
    } else if is_section(node.role) {
        (section, near) = (Some(index as u32), None);
    } else if node.role == Role::Generic
        && places.texts[end] > places.texts[index]
        && item.is_none()
    {
        near = Some(index as u32);
    }
    open.push(Open { index, end, item, section, dialog, near, heading: None });
}

/// What an element belongs to, and whether a number in its own name tells which of many it is.
fn owner(
    tree: &Tree,
    open: &[Open],
    target: usize,
    labels: &mut Labels<'_>,
) -> (Option<Owner>, bool) {
    let Some(parent) = open.last() else { return (None, false) };
    if let Some(item) = parent.item {
        let mut told = labels.of_item(item as usize, Some(target));
        let inner = open.iter().rev().take_while(|it| it.index > item as usize);
        let inner = inner.filter(|it| is_section(tree.nodes[it.index].role));
        let mut names = inner.map(|it| labels.of_section(it.index));
        if let Some(group) = names.find(|name| !text::is_blank(name)) {
            told.add(vec![Part::telling(bare(&group))]);
        }
        if let Some(dialog) = parent.dialog.filter(|dialog| *dialog > item) {
            told.add(labels.of_dialog(dialog as usize, target));
        }
        let Told { label, said, is_numbered, .. } = told;
        let role = tree.nodes[item as usize].role;
        return (Some(Owner { kind: OwnerKind::Item, role, label, said }), is_numbered);
    }
    let Some((role, label)) = part_of_page(tree, open, labels) else { return (None, false) };
    let mut owner = Owner::named(OwnerKind::Section, role, text::cut_chars(&label, LONGEST));
    // A dialog is used for one question after another.
    if let Some(dialog) = parent.dialog {
        owner.said = labels.of_dialog(dialog as usize, target);
    }
    (Some(owner), false)
}

/// The heading right before an element, or the part of the page it is in, whichever is nearer.
fn part_of_page(tree: &Tree, open: &[Open], labels: &mut Labels<'_>) -> Option<(Role, String)> {
    const NEAR: usize = 3;
    for (far, container) in open.iter().rev().enumerate() {
        let heading = container.heading.map(|heading| &tree.nodes[heading as usize]);
        if let Some(heading) = heading.filter(|it| far < NEAR && !text::is_blank(tree.name(it))) {
            return Some((Role::Heading, tree.name(heading).to_owned()));
        }
        let role = tree.nodes[container.index].role;
        if is_section(role) {
            let label = labels.of_section(container.index);
            if is_landmark(role) || !text::is_blank(&label) {
                return Some((role, label));
            }
        }
        // What comes up over a page is not in what stands before it there.
        let is_apart = matches!(
            role,
            Role::WebArea | Role::Dialog | Role::AlertDialog | Role::Menu | Role::Tooltip
        );
        if is_apart {
            break;
        }
    }
    let section = open.last()?.section? as usize;
    Some((tree.nodes[section].role, labels.of_section(section)))
}

/// The names that differ from another one of their kind by a number only, without their numbers.
fn numbered_names(tree: &Tree) -> HashSet<(u16, Role, String)> {
    let mut first: HashMap<(u16, Role, String), String> = HashMap::new();
    let mut found = HashSet::new();
    for (index, node) in tree.nodes.iter().enumerate().skip(1) {
        if !is_control(node) && !is_item(node.role) {
            continue;
        }
        let name = name(tree, index);
        if has_digits(&name) {
            let key = (node.frame, node.role, bare(&name));
            match first.get(&key) {
                Some(other) if *other != name => _ = found.insert(key),
                Some(_) => {}
                None => _ = first.insert(key, name),
            }
        }
    }
    found
}

/// What a node is called; where it has no name, the text in it.
pub fn name(tree: &Tree, index: usize) -> String {
    let own = text::collapse(tree.name(&tree.nodes[index]));
    if !own.is_empty() {
        return own.into_owned();
    }
    let mut name = String::new();
    for inner in index + 1..tree.end(index).min(index + FAR) {
        let node = &tree.nodes[inner];
        if node.role == Role::Text && !text::is_blank(tree.name(node)) {
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(&text::collapse(tree.name(node)));
            if name.len() >= LONGEST {
                break;
            }
        }
    }
    // Parts that tell nothing one by one can be a number when they are put together.
    text::cut_chars(&crate::mask::mask(&name), LONGEST).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ax::testing::tree;

    /// The owner of the element with the number 99.
    fn check(page: &str, expected: Option<(OwnerKind, Role, &str)>) {
        let tree = tree(page);
        let target = tree.nodes.iter().position(|node| node.element == 99).unwrap();
        let meaning = meanings(&tree, &[target as u32]).remove(0);
        let owner = meaning.owner.as_ref();
        assert_eq!(owner.map(|it| (it.kind, it.role, &*it.label)), expected, "{page}");
    }

    #[test]
    fn an_element_belongs_to_its_row() {
        use OwnerKind::{Item, Section};
        let row =
            "webarea 1\n table 2\n  row 3\n   cell 4\n    text \"Invoice 1001\"\n   cell 5\n    ";
        check(&format!("{row}button 99 \"Delete\""), Some((Item, Role::Row, "Invoice 1001")));
        check(
            &format!("{row}link 6 \"Download\"\n    button 99 \"Delete\""),
            Some((Item, Role::Row, "Invoice 1001 Download")),
        );
        check(
            "webarea 1\n listitem 2\n  text \"12:03\"\n  text \"7\"\n  link 3 \"Ann\"\n  link 99 \"Open\"",
            Some((Item, Role::ListItem, "Ann")),
        );
        check(
            "webarea 1\n article 2 fg \"Post\"\n  heading 3 \"H\"\n  button 99",
            Some((Item, Role::Article, "Post")),
        );
        check(
            "webarea 1\n article 2 \"H and all\"\n  heading 3 \"H\"\n  button 99",
            Some((Item, Role::Article, "H")),
        );
        check(
            "webarea 1\n region 2 \"Cart 3\"\n  button 99",
            Some((Section, Role::Region, "Cart 3")),
        );
        check(
            "webarea 1\n dialog 2\n  heading 3 \"Sure?\"\n  generic 4\n   button 99",
            Some((Section, Role::Heading, "Sure?")),
        );
        check(
            "webarea 1\n main 2\n  button 99\n  heading 3 \"H\"",
            Some((Section, Role::Main, "")),
        );
        check("webarea 1\n button 99", None);
        // What comes up over a page is not in the heading before it.
        check(
            "webarea 1\n heading 2 \"Calendar\"\n dialog 3\n  generic 4\n   button 99",
            Some((Section, Role::Dialog, "")),
        );
    }

    #[test]
    fn rows_without_a_role_are_known_by_being_alike() {
        let rows = "webarea 1\n generic 2\n  generic 3\n   text \"Ann\"\n   button 4 \"Call\"\n  \
            generic 5\n   text \"Bob\"\n   button 99 \"Call\"";
        check(rows, Some((OwnerKind::Item, Role::Generic, "Bob")));
        check("webarea 1\n generic 2\n  generic 5\n   text \"Bob\"\n   button 99 \"Call\"", None);
    }

    #[test]
    fn the_last_row_keeps_its_meaning_when_the_others_go() {
        let meaning = |page: &str| meanings(&tree(page), &[7]).remove(0);
        let was = meaning(
            "webarea 1\n generic 2\n  generic 3\n   text \"Ann\"\n   button 4 \"Call\"\n  \
             generic 5\n   text \"Bob\"\n   button 99 \"Call\"",
        );
        let alone = |name: &str| {
            let page = format!(
                "webarea 1\n text \"a\"\n text \"b\"\n text \"c\"\n generic 2\n  generic 5\n   \
                 text \"{name}\"\n   button 99 \"Call\""
            );
            meaning(&page)
        };
        assert_eq!(compare(&was, &alone("Bob")), Verdict::Same);
        assert_eq!(compare(&alone("Bob"), &was), Verdict::Same);
        assert_eq!(compare(&was, &alone("Cid")), Verdict::Changed);
    }

    #[test]
    fn only_numbers_and_times_in_a_name_are_minor() {
        use Verdict::{Changed, Minor, Same};
        let meaning = |name: &str| Meaning {
            role: Role::Button,
            name: name.into(),
            owner: None,
            content: None,
            is_numbered: false,
            near: Vec::new(),
            document: "d".into(),
        };
        for (was, now, expected) in [
            ("Delete", "Delete", Same),
            ("Delete  it", "Delete it", Same),
            ("Delete 3", "Delete 4", Minor),
            ("Inbox", "Inbox (3)", Minor),
            ("1,234", "1,300", Minor),
            ("Updated 12:03", "Updated 12:04 pm", Minor),
            ("Sent 3 min ago", "Sent 2 hours ago", Minor),
            ("Sent just now", "Sent 1m ago", Minor),
            ("At 2026-01-04T21:15:00Z", "At 2026-01-05T01:00:00Z", Minor),
            ("At 2026-01-04 21:15", "At 2027-01-04 21:15", Minor),
            ("Submit", "Loading...", Changed),
            ("Delete", "Delete all", Changed),
            ("", "Delete", Changed),
            ("Delete 3", "3", Changed),
        ] {
            assert_eq!(compare(&meaning(was), &meaning(now)), expected, "{was:?} {now:?}");
        }
        let other = Meaning { document: "e".into(), ..meaning("Delete") };
        assert_eq!(compare(&meaning("Delete"), &other), Changed);
        let other = Meaning { role: Role::Link, ..meaning("Delete") };
        assert_eq!(compare(&meaning("Delete"), &other), Changed);
    }

    #[test]
    fn numbers_count_in_items_and_not_in_sections() {
        let meaning = |kind, label: &str| Meaning {
            role: Role::Button,
            name: "Delete".into(),
            owner: Some(Owner::named(kind, Role::Row, label)),
            content: None,
            is_numbered: false,
            near: Vec::new(),
            document: "d".into(),
        };
        for (kind, was, now, expected) in [
            (OwnerKind::Item, "Invoice 1001", "Invoice 1002", Verdict::Changed),
            (OwnerKind::Item, "Ann 12:03", "Ann 12:09", Verdict::Same),
            (OwnerKind::Section, "Cart (1)", "Cart (2)", Verdict::Same),
            (OwnerKind::Section, "Cart", "Bill", Verdict::Changed),
        ] {
            assert_eq!(compare(&meaning(kind, was), &meaning(kind, now)), expected, "{was} {now}");
        }
        let of = |role, label| Meaning {
            owner: Some(Owner::named(OwnerKind::Section, role, label)),
            ..meaning(OwnerKind::Section, "")
        };
        for (was, now, expected) in [
            (of(Role::Heading, "Cart"), of(Role::Region, "Cart"), Verdict::Same),
            (of(Role::Region, "Cart"), of(Role::Heading, "Cart"), Verdict::Same),
            (of(Role::Region, "Cart"), of(Role::Heading, "Bill"), Verdict::Changed),
            (of(Role::Region, "Cart"), of(Role::Dialog, "Cart"), Verdict::Changed),
            (of(Role::Region, ""), of(Role::Heading, ""), Verdict::Changed),
        ] {
            assert_eq!(compare(&was, &now), expected, "{was:?} {now:?}");
        }
    }

    #[test]
    fn a_nameless_element_is_known_by_its_text() {
        let tree = tree("webarea 1\n generic 99 fl\n  text \"Open\"\n  text \" chat \"");
        assert_eq!(meanings(&tree, &[1])[0].name, "Open chat");
    }
}
