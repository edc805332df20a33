//! What an element means: its role, its name and what it belongs to. Two buttons called "Delete" differ by
//! the row they are in, and a row that was filled with another record is another row.

use super::label::{Labels, Told, is_landmark, is_quantity};
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
    /// A number in its name tells it from others that are called the same: it is no counter.
    pub is_numbered: bool,
    /// The texts around it in the nearest box that has any. A list whose rows have no role is known by there
    /// being several; this tells the last one of them apart when the others are gone.
    pub near: Vec<String>,
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
    /// The texts that tell which one it is; all of them stay while it is the same.
    pub telling: Vec<String>,
    /// Its texts, those that tell and those that may change.
    pub said: Vec<String>,
}

impl Owner {
    /// An owner that is known by its name alone.
    pub fn named(kind: OwnerKind, role: Role, label: impl Into<String>) -> Self {
        let label = label.into();
        let (telling, said) = match kind {
            OwnerKind::Item => (vec![without_times(&label)], vec![without_times(&label)]),
            OwnerKind::Section => (Vec::new(), Vec::new()),
        };
        Self { kind, role, label, telling, said }
    }

    /// What a reader is told of it.
    pub fn described(&self) -> String {
        match self.kind {
            OwnerKind::Item => self.label.clone(),
            OwnerKind::Section => {
                let parts = std::iter::once(&self.label).chain(&self.telling);
                parts.filter(|it| !it.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ")
            }
        }
    }
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
    if was.role != now.role || was.document != now.document || !is_same_owner(was, now) {
        return Verdict::Changed;
    }
    if text::collapse(&was.name) == text::collapse(&now.name) {
        return Verdict::Same;
    }
    let lasting = if was.is_numbered || now.is_numbered { without_times } else { bare };
    if lasting(&was.name) == lasting(&now.name) { Verdict::Minor } else { Verdict::Changed }
}

fn is_same_owner(was: &Meaning, now: &Meaning) -> bool {
    let is_row = |meaning: &Meaning| {
        let owner = meaning.owner.as_ref();
        owner.is_some_and(|it| it.role == Role::Generic && it.kind == OwnerKind::Item)
    };
    let are_in = |parts: &[String], said: &[String]| parts.iter().all(|part| said.contains(part));
    match (&was.owner, &now.owner) {
        // A row without a role is one only while there are others like it.
        (Some(owner), _) if is_row(was) && !is_row(now) => are_in(&owner.telling, &now.near),
        (_, Some(owner)) if is_row(now) && !is_row(was) => are_in(&owner.telling, &was.near),
        (Some(was), Some(now)) => {
            (was.kind, was.role) == (now.kind, now.role)
                && are_in(&was.telling, &now.said)
                && (was.kind == OwnerKind::Item || bare(&was.label) == bare(&now.label))
        }
        (None, None) => true,
        _ => false,
    }
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
            let near = near.map_or_else(Vec::new, |near| labels.said(near as usize, index));
            let document = documents.get(node.frame as usize).cloned();
            let document = document.unwrap_or_else(|| Arc::from(""));
            let name = name(tree, index);
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
            let meaning = Meaning { role: node.role, name, owner, is_numbered, near, document };
            while wanted.next_if_eq(&(index as u32)).is_some() {
                out.push(meaning.clone());
            }
        }
        enter(tree, &places, &mut open, index);
    }
    out
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
        let mut told = labels.of_item(item as usize, target);
        let inner = open.iter().rev().take_while(|it| it.index > item as usize);
        let inner = inner.filter(|it| is_section(tree.nodes[it.index].role));
        let mut names = inner.map(|it| labels.of_section(it.index));
        if let Some(group) = names.find(|name| !text::is_blank(name)) {
            told.add(&[bare(&group)], &[bare(&group)]);
        }
        if let Some(dialog) = parent.dialog.filter(|dialog| *dialog > item) {
            let (telling, said) = labels.of_dialog(dialog as usize, target);
            told.add(&telling, &said);
        }
        let Told { label, telling, said, is_numbered } = told;
        let role = tree.nodes[item as usize].role;
        return (Some(Owner { kind: OwnerKind::Item, role, label, telling, said }), is_numbered);
    }
    let Some((role, label)) = part_of_page(tree, open, labels) else { return (None, false) };
    let mut owner = Owner::named(OwnerKind::Section, role, text::cut_chars(&label, LONGEST));
    // A dialog is used for one question after another.
    if let Some(dialog) = parent.dialog {
        (owner.telling, owner.said) = labels.of_dialog(dialog as usize, target);
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
        if role == Role::WebArea {
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

fn is_cell(role: Role) -> bool {
    matches!(role, Role::Cell | Role::GridCell | Role::ColumnHeader | Role::RowHeader)
}

fn is_item(role: Role) -> bool {
    matches!(
        role,
        Role::Row | Role::ListItem | Role::Article | Role::Option | Role::TreeItem | Role::Comment
    )
}

pub(super) fn is_section(role: Role) -> bool {
    is_landmark(role)
        || matches!(
            role,
            Role::Group
                | Role::Region
                | Role::Dialog
                | Role::AlertDialog
                | Role::RadioGroup
                | Role::TabPanel
                | Role::ToolBar
                | Role::Menu
                | Role::Details
        )
}

/// What is known of all nodes before any is asked for.
pub(super) struct Places {
    /// The node that each is in.
    pub(super) parents: Vec<u32>,
    /// Which nodes are rows that have no role.
    rows: Vec<bool>,
    /// How many texts outside of controls there are before each node.
    texts: Vec<u32>,
    /// Which nodes are in a control, or are one, and say what that is called.
    pub(super) in_control: Vec<bool>,
}

impl Places {
    fn new(tree: &Tree) -> Self {
        let count = tree.nodes.len();
        let parents = tree.parents();
        // A box that listens for what is in it, or can be scrolled with keys, is not called by all its text.
        let mut holds_controls = vec![false; count];
        for index in (1..count).rev() {
            if holds_controls[index] || is_control(&tree.nodes[index]) {
                holds_controls[parents[index] as usize] = true;
            }
        }
        let mut texts = vec![0; count + 1];
        let mut in_control = vec![false; count];
        let mut control_end = 0;
        for (index, node) in tree.nodes.iter().enumerate() {
            let is_page = matches!(node.role, Role::WebArea | Role::Iframe);
            // A cell that can take the focus is still a cell: its text tells the row.
            let is_control = is_control(node) && !is_cell(node.role);
            if index >= control_end && !is_page && is_control && !holds_controls[index] {
                control_end = tree.end(index);
            }
            in_control[index] = index < control_end;
            let is_text = node.role == Role::Text && !in_control[index];
            texts[index + 1] = texts[index] + u32::from(is_text && is_telling(tree.name(node)));
        }
        let rows = rows(tree, &parents, &texts);
        Self { parents, rows, texts, in_control }
    }

    /// Whether a node is one of many alike.
    pub(super) fn is_item(&self, tree: &Tree, index: usize) -> bool {
        is_item(tree.nodes[index].role) || self.rows[index]
    }
}

/// Boxes without a role that have a text of their own, and have a kind of control in common with a sibling:
/// what a list looks like when its author did not say so.
fn rows(tree: &Tree, parents: &[u32], texts: &[u32]) -> Vec<bool> {
    let mut rows = vec![false; tree.nodes.len()];
    // The kinds of controls in each node, one bit for each; kinds that share a bit do no harm.
    let mut kinds = vec![0_u64; tree.nodes.len()];
    // The kinds that are in some row-like child of a node, and those that are in two.
    let mut once = vec![0_u64; tree.nodes.len()];
    let mut twice = vec![0_u64; tree.nodes.len()];
    let is_like_row = |index: usize, kinds: u64| {
        let end = tree.end(index);
        tree.nodes[index].role == Role::Generic
            && kinds != 0
            && end - index <= FAR
            && texts[end] > texts[index]
    };
    for index in (1..tree.nodes.len()).rev() {
        let node = &tree.nodes[index];
        let parent = parents[index] as usize;
        let inside = kinds[index];
        if is_like_row(index, inside) {
            twice[parent] |= once[parent] & inside;
            once[parent] |= inside;
        }
        let own = if is_control(node) { 1 << (node.role as u8 % 64) } else { 0 };
        kinds[parent] |= inside | own;
    }
    for index in 1..tree.nodes.len() {
        let shared = kinds[index] & twice[parents[index] as usize] != 0;
        rows[index] = shared && is_like_row(index, kinds[index]);
    }
    rows
}

/// The name of a node; where it has none, the text in it.
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

/// Whether a text can tell one thing from another: more than digits, punctuation and times.
pub(super) fn is_telling(name: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    // A word that no time is written with decides at once; most texts begin with one.
    let is_plain = |word: &str| {
        word.len() > 2
            && word.chars().all(char::is_alphabetic)
            && !is_of_date(word)
            && !is_unit(word)
            && !["ago", "now", "just", "one"].iter().any(|it| word.eq_ignore_ascii_case(it))
    };
    if words.any(is_plain) {
        return true;
    }
    let rest = without_times(name);
    let mut words = rest.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word.chars().any(char::is_alphabetic) && !is_of_date(word))
}

/// The months, the days, and what stands with them in a date.
fn is_of_date(word: &str) -> bool {
    const WORDS: [&str; 25] = [
        "jan",
        "feb",
        "mar",
        "apr",
        "may",
        "jun",
        "jul",
        "aug",
        "sep",
        "sept",
        "oct",
        "nov",
        "dec",
        "mon",
        "tue",
        "wed",
        "thu",
        "fri",
        "sat",
        "sun",
        "today",
        "yesterday",
        "tomorrow",
        "st",
        "th",
    ];
    const LONG: [&str; 19] = [
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "at",
    ];
    (2..=9).contains(&word.len())
        && WORDS.iter().chain(&LONG).any(|it| word.eq_ignore_ascii_case(it))
}

/// A text without times of day, dates with a time, and how long ago something was.
pub(super) fn without_times(name: &str) -> String {
    let name = text::collapse(name);
    if !name.bytes().any(|byte| byte.is_ascii_digit())
        && !name.contains("ago")
        && !name.contains("now")
    {
        return name.into_owned();
    }
    let words: Vec<&str> = name.split(' ').collect();
    let mut kept: Vec<&str> = Vec::with_capacity(words.len());
    let mut rest = &*words;
    while let [word, after @ ..] = rest {
        let taken = time_length(rest);
        if taken == 0 {
            kept.push(word);
            rest = after;
        } else {
            rest = &rest[taken..];
        }
    }
    kept.join(" ")
}

/// How many of the first words are a time.
fn time_length(words: &[&str]) -> usize {
    let bare = |at: usize| {
        words.get(at).map_or("", |word| word.trim_matches(|c: char| "()[],.;·|".contains(c)))
    };
    let is_half =
        |word: &str| ["am", "pm", "a.m", "p.m"].iter().any(|it| word.eq_ignore_ascii_case(it));
    let first = bare(0);
    if is_clock(first) {
        return 1 + usize::from(is_half(bare(1)));
    }
    if is_date(first) {
        return match bare(1) {
            clock if is_clock(clock) => 2,
            _ => 0,
        };
    }
    if first.len() > 10
        && first.is_char_boundary(10)
        && is_date(&first[..10])
        && first.contains(':')
    {
        return 1;
    }
    if first.eq_ignore_ascii_case("just") && bare(1).eq_ignore_ascii_case("now") {
        return 2;
    }
    let digits = first.bytes().take_while(u8::is_ascii_digit).count();
    let is_count = digits == first.len() && digits > 0
        || ["a", "an", "one"].iter().any(|it| first.eq_ignore_ascii_case(it));
    if is_count && is_unit(bare(1)) && bare(2).eq_ignore_ascii_case("ago") {
        return 3;
    }
    if digits > 0 && is_unit(&first[digits..]) && bare(1).eq_ignore_ascii_case("ago") {
        return 2;
    }
    0
}

/// `12:03`, `1:02:03.5`, `3:15pm`.
fn is_clock(word: &str) -> bool {
    let word = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let mut parts = word.split(':');
    let is_number = |part: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (Some(hours), Some(minutes)) = (parts.next(), parts.next()) else { return false };
    let seconds = parts.next().map(|part| part.split('.').next().unwrap_or_default());
    is_number(hours, 1..=2)
        && is_number(minutes, 2..=2)
        && seconds.is_none_or(|seconds| is_number(seconds, 2..=2))
        && parts.next().is_none()
}

/// `2026-01-04`.
fn is_date(word: &str) -> bool {
    word.len() == 10
        && word.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-' || byte == b'/' || byte == b'.',
            _ => byte.is_ascii_digit(),
        })
}

fn is_unit(word: &str) -> bool {
    const UNITS: [&str; 13] = [
        "s", "sec", "second", "m", "min", "minute", "h", "hr", "hour", "d", "day", "week", "month",
    ];
    if word.len() > 7 {
        return false;
    }
    let singular = word.strip_suffix('s').filter(|it| !it.is_empty()).unwrap_or(word);
    UNITS.iter().chain(&["year", "w", "mo", "y"]).any(|unit| singular.eq_ignore_ascii_case(unit))
}

/// A text without numbers and times.
pub(super) fn bare(name: &str) -> String {
    without_digits(&without_times(name))
}

pub(super) fn has_digits(name: &str) -> bool {
    name.chars().any(char::is_numeric)
}

/// A text without digits; a word of which only punctuation is left then goes too, so that a counter can come
/// and go.
fn without_digits(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for word in name.split(text::is_space).filter(|word| !word.is_empty()) {
        let has_digits = word.chars().any(char::is_numeric);
        if has_digits && !word.chars().any(char::is_alphabetic) {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().filter(|c| !c.is_numeric()));
    }
    out
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
    }

    #[test]
    fn a_nameless_element_is_known_by_its_text() {
        let tree = tree("webarea 1\n generic 99 fl\n  text \"Open\"\n  text \" chat \"");
        assert_eq!(meanings(&tree, &[1])[0].name, "Open chat");
    }
}
