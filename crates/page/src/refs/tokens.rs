//! Texts of an item: everything it says, each with where it stands and what form it has.

use super::stable_text::{is_quantity, without_numbers_and_times, without_times};
use super::structure::TreeStructure;
use crate::ax::{Node, Role, Tree, is_control};
use crate::text;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// The form of a text: how likely it is to name something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TextForm {
    /// Many words.
    Words,
    /// Letters with digits, or a number of three digits and more.
    Code,
    /// A few words, as a name has and a state too.
    Word,
    /// A number, a price, a date.
    Number,
    /// A time or a counter.
    Volatile,
}

/// How much of a text is told in a message.
pub(super) const LONGEST_SHOWN: usize = 80;

/// Where a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextSource {
    Name,
    Value,
}

/// One text of an item.
#[derive(Clone, Debug)]
pub(super) struct ItemToken {
    pub(super) node: u32,
    pub(super) source: TextSource,
    /// Its place in the item.
    pub(super) slot: u64,
    /// Hash of all of the text.
    pub(super) raw: u64,
    /// Hash of the text without times and counters.
    pub(super) stable: u64,
    pub(super) form: TextForm,
    /// It stands at the head: a heading, the name that the author gave the item.
    pub(super) is_head: bool,
    /// It is in a link, a term or in bold: stressed.
    pub(super) is_stressed: bool,
    /// It is part of the target.
    pub(super) is_own: bool,
    /// It is in an item of its own inside of this one.
    pub(super) is_inner: bool,
    /// The role of the control that it is in.
    pub(super) control: Option<Role>,
}

impl ItemToken {
    pub(super) fn text<'t>(&self, tree: &'t Tree) -> &'t str {
        let node = &tree.nodes[self.node as usize];
        match self.source {
            TextSource::Name => tree.name(node),
            TextSource::Value => tree.value(node),
        }
    }

    /// The first words, for a message.
    pub(super) fn shown(&self, tree: &Tree) -> String {
        text::cut_chars(&text::collapse(self.text(tree)), LONGEST_SHOWN).into_owned()
    }

    /// Whether it is what a control is called, not what it holds.
    pub(super) fn is_control_name(&self) -> bool {
        self.control.is_some() && self.source == TextSource::Name
    }

    pub(super) fn words(&self, tree: &Tree) -> usize {
        self.text(tree).split(text::is_space).filter(|word| !word.is_empty()).count()
    }
}

pub(super) fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A text without times and counters.
pub(super) fn stable(text: &str) -> String {
    let text = without_times(text);
    if is_quantity(&text) { without_numbers_and_times(&text) } else { text }
}

pub(super) fn form_of(text: &str) -> TextForm {
    const MANY_WORDS: usize = 4;
    const LONG: usize = 32;
    let rest = stable(text);
    let digits = rest.chars().filter(char::is_ascii_digit).count();
    let letters = rest.chars().filter(|c| c.is_alphabetic()).count();
    if text::is_blank(&rest) || is_quantity(text) {
        return TextForm::Volatile;
    }
    let words = rest.split(text::is_space).filter(|word| !word.is_empty()).count();
    if letters > 0 && (words >= MANY_WORDS || letters + digits > LONG) {
        return TextForm::Words;
    }
    let is_integer = rest.chars().all(|c| c.is_ascii_digit() || c == '#');
    match (letters > 0, digits > 0) {
        (true, true) if is_date_in_words(&rest) => TextForm::Number,
        (true, true) => TextForm::Code,
        (false, true) if is_integer && digits > 2 => TextForm::Code,
        (false, true) => TextForm::Number,
        // `notes.txt`, `ann@example.org`, `/etc/hosts`: no state is spelled like that.
        _ if rest.split(text::is_space).any(is_joined) => TextForm::Code,
        _ => TextForm::Word,
    }
}

/// Whether a word has letters on both sides of a sign that joins parts of an address or a file name.
fn is_joined(word: &str) -> bool {
    let letters = |part: &str| part.chars().filter(|c| c.is_alphanumeric()).count();
    word.char_indices().any(|(at, c)| {
        matches!(c, '.' | '@' | '_' | '/' | ':' | '\\')
            && letters(&word[..at]) > 0
            && letters(&word[at..]) > 1
    })
}

/// `Jan 4, 2026`, `4 March`.
fn is_date_in_words(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.all(|word| {
        word.bytes().all(|byte| byte.is_ascii_digit())
            || super::stable_text::is_of_date(word.trim_start_matches(|c: char| c.is_ascii_digit()))
    })
}

/// Whether a name is told again by the texts inside.
fn is_told_inside(tree: &Tree, index: usize) -> bool {
    !tree.nodes[index].states.is_name_given() && tree.end(index) > index + 1
}

/// A cell that can take the focus is still a cell.
fn is_cell(role: Role) -> bool {
    matches!(role, Role::Cell | Role::GridCell | Role::RowHeader | Role::ColumnHeader | Role::Row)
}

/// Regions that say what happens, not what something is.
fn is_live(role: Role) -> bool {
    matches!(
        role,
        Role::Alert
            | Role::Status
            | Role::Log
            | Role::Timer
            | Role::Marquee
            | Role::ProgressBar
            | Role::Meter
    )
}

fn has_value(node: &Node) -> bool {
    !node.value.is_empty() && !node.states.is_masked()
}

/// A node that the next one is in.
struct Ancestor {
    end: usize,
    slot: u64,
    /// How many children of each role came so far.
    counts: Vec<(Role, u32)>,
}

/// The texts of a range of siblings. `target` are the nodes of the target, if they belong to it alone.
pub(super) fn tokens(
    structure: &TreeStructure<'_>,
    range: Range<usize>,
    target: &Range<usize>,
) -> Vec<ItemToken> {
    let tree = structure.tree;
    let mut found = Vec::new();
    let mut open = vec![Ancestor { end: range.end, slot: 0, counts: Vec::new() }];
    let (mut inner_end, mut head_end, mut stress_end, mut live_end) = (0, 0, 0, 0);
    let mut control: Option<(Role, usize)> = None;
    let frame = tree.nodes.get(range.start).map(|node| node.frame);
    let mut index = range.start;
    while index < range.end {
        let node = &tree.nodes[index];
        while open.len() > 1 && open.last().is_some_and(|it| it.end <= index) {
            open.pop();
        }
        let end = tree.end(index);
        let depth = open.len();
        let parent = &mut open[depth - 1];
        let at = match parent.counts.iter_mut().find(|it| it.0 == node.role) {
            Some(count) => {
                count.1 += 1;
                count.1
            }
            None => {
                parent.counts.push((node.role, 0));
                0
            }
        };
        let slot = hash(&(parent.slot, node.role as u8, at));
        // Another document, or a dialog in it, is about something else.
        if Some(node.frame) != frame || depth > 1 && TreeStructure::is_apart(node.role) {
            index = end;
            continue;
        }
        if depth > 1 && structure.is_row(index) {
            inner_end = inner_end.max(end);
        }
        if is_control(node) && !is_cell(node.role) {
            control = Some((node.role, end));
        }
        if matches!(node.role, Role::Heading | Role::RowHeader | Role::Legend | Role::Caption) {
            head_end = head_end.max(end);
        }
        if matches!(node.role, Role::Link | Role::Strong | Role::Term) {
            stress_end = stress_end.max(end);
        }
        if is_live(node.role) {
            live_end = live_end.max(end);
        }
        let mut add = |source: TextSource, words: &str, is_given: bool| {
            let words = text::collapse(words);
            if words.is_empty() {
                return;
            }
            found.push(ItemToken {
                node: index as u32,
                source,
                slot: if source == TextSource::Value { slot.wrapping_add(1) } else { slot },
                raw: hash(&*words),
                stable: hash(&stable(&words)),
                form: if index < live_end { TextForm::Volatile } else { form_of(&words) },
                is_head: index < head_end || is_given && depth == 1,
                is_stressed: index < stress_end,
                is_own: target.contains(&index),
                is_inner: index < inner_end,
                control: control.filter(|it| index < it.1).map(|it| it.0),
            });
        };
        if !is_told_inside(tree, index) {
            let is_given = node.role != Role::Text && node.states.is_name_given();
            add(TextSource::Name, tree.name(node), is_given);
        }
        if has_value(node) && !structure.edited.contains(&node.element) {
            add(TextSource::Value, tree.value(node), false);
        }
        // What could be chosen is not what is chosen.
        if node.role == Role::ComboBox {
            index = end;
            continue;
        }
        open.push(Ancestor { end, slot, counts: Vec::new() });
        index += 1;
    }
    found
}
