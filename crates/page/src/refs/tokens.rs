//! Tokens of an item: all its texts, each with its slot and its form.

use super::stable_text::{is_quantity, without_numbers_and_times, without_times};
use super::structure::TreeStructure;
use crate::ax::{Node, Role, Tree, is_control};
use crate::text;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// Form of a text: how likely it is to be a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TextForm {
    /// Many words.
    Words,
    /// Letters with digits, or a number of three digits and more.
    Code,
    /// A few words, like a name or a state.
    Word,
    /// A number, a price, a date.
    Number,
    /// A time or a counter.
    Volatile,
}

/// Maximum length of a text in a message.
pub(super) const MAX_SHOWN: usize = 80;

/// Source of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextSource {
    Name,
    Value,
}

/// A text of an item.
#[derive(Clone, Debug)]
pub(super) struct ItemToken {
    pub(super) node: u32,
    pub(super) source: TextSource,
    /// Its slot: position within the item.
    pub(super) slot: u64,
    /// Hash of the whole text.
    pub(super) raw: u64,
    /// Hash of the text without times and counters.
    pub(super) stable: u64,
    pub(super) form: TextForm,
    /// It is at the head: a heading, or the author's name of the item.
    pub(super) is_head: bool,
    /// It is emphasized: in a link, a term or bold.
    pub(super) is_emphasized: bool,
    /// It is part of the target.
    pub(super) is_own: bool,
    /// It is in an inner item.
    pub(super) is_inner: bool,
    /// Role of the control that contains it.
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
    pub(super) fn shortened(&self, tree: &Tree) -> String {
        text::cut_chars(&text::collapse(self.text(tree)), MAX_SHOWN).into_owned()
    }

    /// True for the name of a control, false for its value.
    pub(super) fn is_control_name(&self) -> bool {
        self.control.is_some() && self.source == TextSource::Name
    }

    pub(super) fn word_count(&self, tree: &Tree) -> usize {
        self.text(tree).split(text::is_space).filter(|word| !word.is_empty()).count()
    }
}

pub(super) fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Removes times and counters.
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
        _ if rest.split(text::is_space).any(is_compound) => TextForm::Code,
        _ => TextForm::Word,
    }
}

/// True for a word with letters on both sides of a separator of addresses and file names.
fn is_compound(word: &str) -> bool {
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

/// True when the texts inside a node repeat its name.
fn is_named_by_content(tree: &Tree, index: usize) -> bool {
    !tree.nodes[index].states.has_author_name() && tree.end(index) > index + 1
}

/// A focusable cell is still a cell.
fn is_cell(role: Role) -> bool {
    matches!(role, Role::Cell | Role::GridCell | Role::RowHeader | Role::ColumnHeader | Role::Row)
}

/// Roles of live regions: they report events, not identity.
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

/// An ancestor of the next node.
struct Ancestor {
    end: usize,
    slot: u64,
    /// Number of children so far, by role.
    counts: Vec<(Role, u32)>,
}

/// Collects the texts of a range of siblings. `target` are the target's own nodes.
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
        // Another document or a dialog is about something else.
        if Some(node.frame) != frame || depth > 1 && TreeStructure::is_self_contained(node.role) {
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
                is_emphasized: index < stress_end,
                is_own: target.contains(&index),
                is_inner: index < inner_end,
                control: control.filter(|it| index < it.1).map(|it| it.0),
            });
        };
        if !is_named_by_content(tree, index) {
            let is_given = node.role != Role::Text && node.states.has_author_name();
            add(TextSource::Name, tree.name(node), is_given);
        }
        if has_value(node) && !structure.edited.contains(&node.element) {
            add(TextSource::Value, tree.value(node), false);
        }
        // Available options are not the selected value.
        if node.role == Role::ComboBox {
            index = end;
            continue;
        }
        open.push(Ancestor { end, slot, counts: Vec::new() });
        index += 1;
    }
    found
}
