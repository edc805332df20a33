//! Identity of an item: the texts that distinguish it from the others of its list, and the decision if
//! changed texts make it another item or the same one in another state.

use super::stable_text::{has_date, without_numbers_and_times};
use super::structure::{ItemLevel, TreeStructure, is_item_role};
use super::tokens::{ItemToken, MAX_SHOWN, TextForm, TextSource, form_of, tokens};
use crate::text;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Difference between an item and its earlier version.
#[derive(Clone, Debug, Default)]
pub(super) struct IdentityChange {
    /// It is another item now.
    pub(super) is_other: bool,
    /// Distinction from the other items.
    pub(super) strength: ListDistinction,
    /// Changed texts: the earlier and the later one.
    pub(super) changes: Vec<(String, String)>,
    /// Earlier and later label.
    pub(super) was: String,
    pub(super) now: String,
}

/// Kind of distinction between the items of a list, weakest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ListDistinction {
    /// None.
    #[default]
    None,
    /// By a combination of texts that others have, too.
    Combination,
    /// By a time or a counter.
    Volatile,
    /// By the name of the target itself.
    Name,
    /// By a text that no other item has.
    Text,
}

/// The texts of an item that count.
#[derive(Clone, Debug)]
pub(super) enum TextScope {
    /// All texts: no inner item has an identity.
    Innermost,
    /// Texts outside of inner items; the nodes in the range were judged already.
    Outer(Range<usize>),
    /// The texts of a box around a target that is in no list.
    Lone,
    /// The texts of an outer box: those before the target, and codes and dates.
    Further,
    /// The texts of a dialog: it is reused for one question after another.
    Dialog,
}

/// Maximum number of list items compared to find their distinction.
const WINDOW: usize = 200;

/// Values of the other items in a text's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// All different.
    Distinct,
    /// All equal.
    Constant,
    /// Some equal.
    Repeats,
    /// No values.
    Single,
}

/// The values of one slot in the items of a list.
#[derive(Default)]
struct ColumnValues {
    items: usize,
    stable: HashSet<u64>,
    raw: HashSet<u64>,
    /// The values as numbers, while all are numbers.
    numbers: Vec<u32>,
}

impl ColumnValues {
    fn column(&self, items: usize, values: usize) -> Column {
        match (items, self.items, values) {
            (0..=1, ..) => Column::Distinct,
            (_, 1, _) => Column::Single,
            (_, _, 1) => Column::Constant,
            (_, count, values) if count == values => Column::Distinct,
            _ => Column::Repeats,
        }
    }
}

/// The values of each slot, over the items near the target's.
struct Columns {
    items: usize,
    slots: HashMap<u64, ColumnValues>,
}

impl Columns {
    /// True when an item of the list has this text in this slot.
    fn has(&self, slot: u64, stable: u64) -> bool {
        self.slots.get(&slot).is_some_and(|it| it.stable.contains(&stable))
    }

    fn new(
        structure: &TreeStructure<'_>,
        level: &ItemLevel,
        slots: impl Iterator<Item = u64>,
    ) -> Self {
        let tree = structure.tree;
        let mut slots: HashMap<u64, ColumnValues> =
            slots.map(|slot| (slot, ColumnValues::default())).collect();
        let items = window(level);
        for item in items {
            let mut last = HashSet::new();
            for token in tokens(structure, item.clone(), &(0..0)) {
                let Some(values) = slots.get_mut(&token.slot) else { continue };
                if last.insert(token.slot) {
                    values.items += 1;
                    values.stable.insert(token.stable);
                    values.raw.insert(token.raw);
                    values.numbers.extend(position(token.text(tree)));
                }
            }
        }
        Self { items: items.len(), slots }
    }

    fn stable(&self, slot: u64) -> Column {
        let values = self.slots.get(&slot);
        values.map_or(Column::Distinct, |it| it.column(self.items, it.stable.len()))
    }

    /// The number of the first item, where the items are numbered in order.
    fn first_position(&self, slot: u64) -> Option<u32> {
        let numbers = &self.slots.get(&slot)?.numbers;
        let is_next = |pair: &[u32]| pair[0].checked_add(1) == Some(pair[1]);
        let is_in_order = numbers.len() == self.items && numbers.windows(2).all(is_next);
        numbers.first().copied().filter(|_| is_in_order)
    }

    fn raw(&self, slot: u64) -> Column {
        let values = self.slots.get(&slot);
        values.map_or(Column::Distinct, |it| it.column(self.items, it.raw.len()))
    }
}

/// Parses a position: `3`, `#3`, `3.`, `(3)`.
fn position(text: &str) -> Option<u32> {
    text.trim_matches(|c: char| c.is_whitespace() || "#.()".contains(c)).parse().ok()
}

fn window(level: &ItemLevel) -> &[Range<usize>] {
    let at = level.items.iter().position(|it| *it == level.range).unwrap_or(0);
    let from = at.saturating_sub(WINDOW / 2);
    &level.items[from..level.items.len().min(from + WINDOW)]
}

/// A target in a tree, with its item and its own nodes.
pub(super) struct TargetItem<'s, 't> {
    pub(super) structure: &'s TreeStructure<'t>,
    pub(super) level: &'s ItemLevel,
    pub(super) target: usize,
    /// The nodes that belong to the target alone: none for a box with content of its own.
    pub(super) own: Range<usize>,
}

/// Compares an item with its earlier version.
pub(super) fn compare_identity(
    was: &TargetItem<'_, '_>,
    now: &TargetItem<'_, '_>,
    scope: &TextScope,
) -> IdentityChange {
    let all = tokens(was.structure, was.level.range.clone(), &was.own);
    let after = tokens(now.structure, now.level.range.clone(), &now.own);
    let part_boxes = match scope {
        TextScope::Lone => boxes_beside(was),
        _ => Vec::new(),
    };
    let counts = |token: &&ItemToken| match scope {
        TextScope::Innermost => true,
        TextScope::Outer(judged) => {
            !token.is_inner && !token.is_own && !judged.contains(&(token.node as usize))
        }
        TextScope::Dialog => !token.is_inner && !token.is_own && token.control.is_none(),
        TextScope::Lone => {
            !token.is_inner || part_boxes.iter().any(|it| it.contains(&(token.node as usize)))
        }
        TextScope::Further => {
            let is_before = (token.node as usize) < was.target;
            let is_code =
                || token.form == TextForm::Code || has_date(token.text(was.structure.tree));
            !token.is_inner && (is_before || is_code())
        }
    };
    let mut before: Vec<&ItemToken> = all.iter().filter(counts).collect();
    let columns = Columns::new(was.structure, was.level, before.iter().map(|it| it.slot));
    let now_columns = Columns::new(now.structure, now.level, before.iter().map(|it| it.slot));
    let comparison = ItemComparison {
        was,
        now,
        after: &after,
        columns: &columns,
        now_columns: &now_columns,
        scope,
    };

    // Where rows are renumbered, the number of a row is its position and not its identity.
    if columns.items > 1 {
        let is_position = |token: &&ItemToken| {
            let first = columns.first_position(token.slot);
            first.is_some() && first == now_columns.first_position(token.slot) && !token.is_own
        };
        before.retain(|token| !is_position(token));
    }
    // Times and counters distinguish items only where nothing else does.
    let mut text_changes: Vec<TextChange<'_>> = before
        .iter()
        .filter(|it| it.form != TextForm::Volatile)
        .map(|token| comparison.text_change(token, columns.stable(token.slot), true))
        .collect();
    let has_identifying = |text_changes: &[TextChange<'_>]| {
        text_changes.iter().any(|it| it.column == Column::Distinct && !it.token.is_own)
    };
    // In a list with different names, the name of the target identifies the item.
    let is_own_name = |it: &TextChange<'_>| it.column == Column::Distinct && it.token.is_own;
    let is_named = columns.items > 1
        && text_changes.iter().any(is_own_name)
        && before.iter().any(|token| !token.is_own);
    let mut strength = match (has_identifying(&text_changes), is_named) {
        (true, _) => ListDistinction::Text,
        (false, true) => ListDistinction::Name,
        (false, false) => ListDistinction::None,
    };
    if strength == ListDistinction::None {
        let raw: Vec<TextChange<'_>> = before
            .iter()
            .map(|token| comparison.text_change(token, columns.raw(token.slot), false))
            .collect();
        if has_identifying(&raw) && columns.items > 1 {
            (text_changes, strength) = (raw, ListDistinction::Volatile);
        }
    }
    let is_mixed = |it: &TextChange<'_>| it.column == Column::Repeats && !it.token.is_own;
    if strength == ListDistinction::None && text_changes.iter().any(is_mixed) {
        strength = ListDistinction::Combination;
    }
    // An item without identifying texts is identified by its inner items: most of them are equal.
    if let (TextScope::Outer(judged), ListDistinction::None) = (scope, strength) {
        before = all
            .iter()
            .filter(|it| !it.is_own && !judged.contains(&(it.node as usize)))
            .filter(|it| it.form != TextForm::Volatile)
            .collect();
        let columns = Columns::new(was.structure, was.level, before.iter().map(|it| it.slot));
        let inner: Vec<TextChange<'_>> = before
            .iter()
            .map(|token| comparison.text_change(token, columns.stable(token.slot), true))
            .filter(|it| it.column == Column::Distinct)
            .collect();
        let unchanged = inner.iter().filter(|it| it.is_unchanged).count();
        let (was, now) = labels(&comparison, &inner, None);
        return IdentityChange {
            is_other: unchanged * 2 < inner.len(),
            was,
            now,
            ..IdentityChange::default()
        };
    }
    comparison.drop_states(&mut text_changes);
    IdentityChange { strength, ..decide_identity(&comparison, &text_changes, columns.items) }
}

/// The boxes beside those of a lone target: a button and a field with a box each look like the items of a
/// list but are parts of one thing. Many boxes and nothing else are a list.
fn boxes_beside(side: &TargetItem<'_, '_>) -> Vec<Range<usize>> {
    const MAX_PARTS: usize = 3;
    let structure = side.structure;
    let tree = structure.tree;
    let path = structure.ancestors(side.target).take_while(|it| side.level.range.start < *it);
    let rows = path
        .filter(|it| structure.is_row(*it) && !is_item_role(tree.nodes[*it].role))
        .map(|row| structure.similar_siblings(row, structure.parents[row] as usize));
    let are_parts = |siblings: &ItemLevel| {
        siblings.items.len() <= MAX_PARTS
            || tree.children(siblings.parent).count() > siblings.items.len()
    };
    rows.filter(are_parts).flat_map(|siblings| siblings.items).collect()
}

/// A text of an item, and its change.
struct TextChange<'a> {
    token: &'a ItemToken,
    column: Column,
    is_unchanged: bool,
    /// The later text in its slot.
    later: Option<&'a ItemToken>,
}

impl TextChange<'_> {
    /// True when a word became another word, as names and states do.
    fn could_be_state(&self) -> bool {
        !self.token.is_head
            && !self.token.is_emphasized
            && self.token.form == TextForm::Word
            && self.later.is_some_and(|now| now.form == TextForm::Word)
    }
}

/// Both sides of a comparison.
struct ItemComparison<'a, 's, 't> {
    was: &'a TargetItem<'s, 't>,
    now: &'a TargetItem<'s, 't>,
    after: &'a [ItemToken],
    columns: &'a Columns,
    now_columns: &'a Columns,
    scope: &'a TextScope,
}

impl<'a> ItemComparison<'a, '_, '_> {
    fn text_change(&self, token: &'a ItemToken, column: Column, is_stable: bool) -> TextChange<'a> {
        let same = |it: &&ItemToken| match is_stable {
            true => it.stable == token.stable,
            false => it.raw == token.raw,
        };
        let later = self.after.iter().find(|it| it.slot == token.slot);
        // In another slot it must be the same kind of text: a link "Open" is not the state "Open".
        let is_alike = |it: &ItemToken| same(&it) && it.control == token.control && !it.is_own;
        let is_unchanged = later.is_some_and(|it| same(&it)) || self.after.iter().any(is_alike);
        TextChange { token, column, is_unchanged, later: later.filter(|_| !is_unchanged) }
    }

    /// Demotes states: in a short list a state can look identifying, until two items have the same one.
    fn drop_states(&self, text_changes: &mut [TextChange<'_>]) {
        let is_state = |it: &TextChange<'_>| {
            it.column == Column::Distinct
                && !it.is_unchanged
                && !it.token.is_head
                && it.token.form == TextForm::Word
                && it.later.is_some_and(|now| now.form == TextForm::Word)
                && self.now_columns.items > 1
                && self.now_columns.stable(it.token.slot) == Column::Repeats
        };
        let is_identifying = |it: &TextChange<'_>| it.column == Column::Distinct && it.is_unchanged;
        if text_changes.iter().any(is_identifying) {
            for change in text_changes.iter_mut().filter(|it| is_state(it)) {
                change.column = Column::Repeats;
            }
        }
    }

    /// True when another item of the list has more of the identifying texts.
    fn is_in_other_item(&self, text_changes: &[TextChange<'_>]) -> bool {
        let identifying: Vec<&TextChange<'_>> = text_changes
            .iter()
            .filter(|it| it.column == Column::Distinct && !it.token.is_own)
            .collect();
        let own = identifying.iter().filter(|it| it.is_unchanged).count();
        if own == identifying.len() {
            return false;
        }
        let others = self.now.level.items.iter().filter(|it| **it != self.now.level.range);
        others.into_iter().any(|item| {
            let texts = tokens(self.now.structure, item.clone(), &(0..0));
            let has_text = |change: &&&TextChange<'_>| {
                texts.iter().any(|it| it.slot == change.token.slot && it.raw == change.token.raw)
            };
            identifying.iter().filter(has_text).count() > own
        })
    }

    /// True when the other items keep some of their identifying texts; in a refilled list they do not.
    fn is_rest_same(&self, text_changes: &[TextChange<'_>]) -> bool {
        let slots: HashSet<u64> = text_changes
            .iter()
            .filter(|it| it.column == Column::Distinct)
            .map(|it| it.token.slot)
            .collect();
        let (old, new) = (self.was.structure, self.now.structure);
        let mut count = 0;
        for item in window(self.was.level).iter().filter(|it| **it != self.was.level.range) {
            let element = old.tree.nodes[item.start].element;
            let is_it =
                |it: &&Range<usize>| element > 0 && new.tree.nodes[it.start].element == element;
            let Some(later) = self.now.level.items.iter().find(is_it) else { continue };
            count += 1;
            let texts = tokens(new, later.clone(), &(0..0));
            let is_unchanged = tokens(old, item.clone(), &(0..0)).iter().any(|token| {
                slots.contains(&token.slot)
                    && texts.iter().any(|it| it.slot == token.slot && it.raw == token.raw)
            });
            if !is_unchanged {
                return false;
            }
        }
        count > 0
    }

    /// True when the later text was in the list before, or is there twice now, as states are.
    fn was_in_list(&self, change: &TextChange<'_>) -> bool {
        let slot = change.token.slot;
        change.later.is_some_and(|now| self.columns.has(slot, now.stable))
            || self.is_repeated_now(change)
    }

    /// True when the caller acted on something in the item since the snapshot.
    fn was_edited(&self) -> bool {
        let structure = self.was.structure;
        let nodes = &structure.tree.nodes[self.was.level.range.clone()];
        nodes.iter().any(|node| structure.edited.contains(&node.element))
    }

    /// True when two items have the same text now where they had different ones, as states do.
    fn is_repeated_now(&self, change: &TextChange<'_>) -> bool {
        self.now_columns.items > 1 && self.now_columns.stable(change.token.slot) == Column::Repeats
    }

    fn shortened(&self, change: &TextChange<'_>) -> (String, String) {
        let was = change.token.shortened(self.was.structure.tree);
        let Some(later) = change.later else { return (was, String::new()) };
        let now = later.shortened(self.now.structure.tree);
        if was != now {
            return (was, now);
        }
        // They differ after the shown part.
        let old = text::collapse(change.token.text(self.was.structure.tree));
        let new = text::collapse(later.text(self.now.structure.tree));
        let same = old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count();
        let rest = |text: &str| {
            let rest: String = text.chars().skip(same).collect();
            format!("…{}", text::cut_chars(&rest, MAX_SHOWN))
        };
        (rest(&old), rest(&new))
    }
}

fn decide_identity(
    comparison: &ItemComparison<'_, '_, '_>,
    text_changes: &[TextChange<'_>],
    items: usize,
) -> IdentityChange {
    let tree = comparison.was.structure.tree;
    let is_distinct = |it: &&TextChange<'_>| it.column == Column::Distinct;
    let rank = |it: &TextChange<'_>| {
        let position = match (it.token.is_head, it.token.is_emphasized) {
            (true, _) => 0,
            (_, true) if it.token.form != TextForm::Number => 1,
            _ => 2,
        };
        (it.token.source == TextSource::Value, position, it.token.form)
    };
    // The names of other controls do not identify a lone item.
    let is_trusted = |it: &TextChange<'_>| items > 1 || !it.token.is_control_name();
    let key = text_changes.iter().enumerate().filter(|it| is_distinct(&it.1) && is_trusted(it.1));
    let key = key.min_by_key(|(at, it)| (rank(it), *at)).map(|it| it.0);
    let is_strong = |it: &TextChange<'_>| {
        it.token.is_head
            || it.token.is_emphasized
            || matches!(it.token.form, TextForm::Words | TextForm::Code)
            || it.token.word_count(tree) > 1
            || items > 3
    };
    let unchanged =
        || text_changes.iter().filter(is_distinct).filter(|it| it.is_unchanged && is_trusted(it));
    let has_unchanged_key = unchanged().next().is_some();
    let has_strong_unchanged = unchanged().any(is_strong);
    // A date is more often identifying than temporary.
    let is_certain = unchanged().count() > 1
        || unchanged().any(|it| {
            matches!(it.token.form, TextForm::Words | TextForm::Code)
                || it.token.word_count(tree) > 1
        });
    let is_lone =
        matches!(comparison.scope, TextScope::Lone | TextScope::Further | TextScope::Dialog);
    // A word at the head may be a state or a renamed item, if no other identifying text changed.
    let is_rest_same = key.is_some_and(|key| !text_changes[key].is_unchanged)
        && text_changes.iter().filter(is_distinct).filter(|it| !it.is_unchanged).count() == 1
        && comparison.is_rest_same(text_changes);
    let is_state_change = |at: usize, it: &TextChange<'_>| {
        let token = it.token;
        if token.is_own || it.column == Column::Constant {
            return true;
        }
        // A lone item has no list: all its texts are its identity, until the caller changes them.
        if is_lone {
            let is_question = matches!(comparison.scope, TextScope::Dialog);
            return !is_question && comparison.was_edited() || is_unrelated_change(comparison, it);
        }
        if !has_unchanged_key {
            return false;
        }
        // An item that replaces this one may have the same state by chance: a text that was never in the list
        // is a state only where a strong identifying text is still there.
        let is_sure = has_strong_unchanged || comparison.was_in_list(it);
        if Some(at) == key {
            return it.could_be_state() && is_rest_same && comparison.is_repeated_now(it);
        }
        let later = it.later.map_or(token.form, |now| now.form);
        if token.source == TextSource::Value {
            return is_sure;
        }
        match (token.form, later, it.column) {
            (_, _, Column::Repeats | Column::Single) if !it.token.is_head => {
                later != TextForm::Words && token.form != TextForm::Words || has_strong_unchanged
            }
            (TextForm::Words | TextForm::Code, ..) => false,
            (TextForm::Word, TextForm::Word, _) => is_sure,
            (TextForm::Number | TextForm::Volatile, TextForm::Number | TextForm::Volatile, _) => {
                has_strong_unchanged && (is_certain || !has_date(token.text(tree)))
            }
            _ => false,
        }
    };
    let changed: Vec<(usize, &TextChange<'_>)> =
        text_changes.iter().enumerate().filter(|(_, it)| !it.is_unchanged).collect();
    let is_other = changed.iter().any(|(at, it)| !is_state_change(*at, it))
        || !changed.is_empty() && comparison.is_in_other_item(text_changes);
    let changes =
        changed.iter().filter(|it| !it.1.token.is_own).map(|it| comparison.shortened(it.1));
    let (was, now) = labels(comparison, text_changes, key);
    IdentityChange { is_other, changes: changes.collect(), was, now, ..IdentityChange::default() }
}

/// True when a text beside a lone control may change without affecting the control: it is a counter, a
/// toggled name of another control, or a message after the control that went away.
fn is_unrelated_change(comparison: &ItemComparison<'_, '_, '_>, change: &TextChange<'_>) -> bool {
    let token = change.token;
    let tree = comparison.was.structure.tree;
    let target = &tree.nodes[comparison.was.target];
    let is_message = token.node as usize >= tree.end(comparison.was.target)
        && token.source == TextSource::Name
        && token.control.is_none()
        && !token.is_head
        && !token.is_emphasized;
    let is_neighbour = token.is_control_name() && token.control == Some(target.role);
    // Buttons named after things identify what each is about: `Delete` does not.
    let own = tree.name(target);
    let is_named_after_a_thing = has_date(own)
        || !own.is_empty()
            && matches!(form_of(own), TextForm::Words | TextForm::Code | TextForm::Number);
    if is_neighbour && is_named_after_a_thing {
        return true;
    }
    // If the later text was beside it before, the earlier one was removed.
    let was_in_item = |now: &ItemToken| {
        let all = tokens(comparison.was.structure, comparison.was.level.range.clone(), &(0..0));
        all.iter().any(|it| it.raw == now.raw && it.control == now.control)
    };
    let Some(now) = change.later.filter(|now| !was_in_item(now)) else {
        return is_message || is_neighbour;
    };
    let (was, is) = (token.text(tree), now.text(comparison.now.structure.tree));
    if is_same_count(was, is) {
        return true;
    }
    let is_name = |text: &str, form: TextForm| {
        matches!(form, TextForm::Words | TextForm::Code) || has_date(text)
    };
    if is_name(was, token.form) || is_name(is, now.form) {
        return false;
    }
    // `Follow` and `Following`, `Add to cart` and `Remove from cart`; `Ann` and `Tom` are two things.
    let is_one_word = token.form == TextForm::Word && token.word_count(tree) < 2;
    is_neighbour
        && (has_common_word(was, is)
            || is_toggled_name(was, is)
            || is_one_word && is_in_toolbar(comparison.was.structure, comparison.was.target))
}

/// True when all siblings of a control have its role, as in a toolbar.
fn is_in_toolbar(structure: &TreeStructure<'_>, target: usize) -> bool {
    const MIN_BUTTONS: usize = 3;
    let tree = structure.tree;
    let role = tree.nodes[target].role;
    let siblings = || tree.children(structure.parents[target] as usize);
    siblings().count() >= MIN_BUTTONS && siblings().all(|it| tree.nodes[it].role == role)
}

/// True when the texts are the two names of a toggle button.
fn is_toggled_name(was: &str, is: &str) -> bool {
    const PAIRS: [(&str, &str); 12] = [
        ("play", "pause"),
        ("play", "stop"),
        ("start", "stop"),
        ("show", "hide"),
        ("open", "close"),
        ("expand", "collapse"),
        ("more", "less"),
        ("edit", "done"),
        ("edit", "save"),
        ("copy", "copied"),
        ("connect", "disconnect"),
        ("enable", "disable"),
    ];
    const STEM: usize = 4;
    let (was, is) = (was.to_lowercase(), is.to_lowercase());
    let is_pair = PAIRS.iter().any(|it| *it == (&*was, &*is) || *it == (&*is, &*was));
    let (short, long) = if was.len() < is.len() { (&was, &is) } else { (&is, &was) };
    is_pair || short.chars().count() >= STEM && long.contains(&**short)
}

fn has_common_word(one: &str, other: &str) -> bool {
    let words = |text: &str| -> HashSet<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    !words(one).is_disjoint(&words(other))
}

/// True when two texts differ in small numbers only: counters, not identifying numbers.
pub(super) fn is_same_count(was: &str, now: &str) -> bool {
    const MAX_COUNT_DIGITS: usize = 2;
    let numbers = |text: &str| -> Vec<String> {
        let digits = text.split(|c: char| !c.is_ascii_digit()).filter(|it| !it.is_empty());
        digits.map(str::to_owned).collect()
    };
    let (old, new) = (numbers(was), numbers(now));
    let is_small = |(old, new): (&String, &String)| {
        old == new || old.len() <= MAX_COUNT_DIGITS && new.len() <= MAX_COUNT_DIGITS
    };
    !has_date(was)
        && without_numbers_and_times(was) == without_numbers_and_times(now)
        && !old.is_empty()
        && old.len() == new.len()
        && old.iter().zip(&new).all(is_small)
}

/// Earlier and later label of an item: its identifying and its changed texts.
fn labels(
    comparison: &ItemComparison<'_, '_, '_>,
    text_changes: &[TextChange<'_>],
    key: Option<usize>,
) -> (String, String) {
    const MAX_TEXTS: usize = 4;
    let (before, after) = (comparison.was.structure.tree, comparison.now.structure.tree);
    let is_label = |at: usize, it: &TextChange<'_>| {
        !it.token.is_own
            && (Some(at) == key
                || !it.is_unchanged
                || key.is_none() && it.column != Column::Constant)
    };
    let chosen =
        text_changes.iter().enumerate().filter(|(at, it)| is_label(*at, it)).take(MAX_TEXTS);
    let (was, now): (Vec<String>, Vec<String>) = chosen
        .map(|(_, it)| {
            let was = it.token.shortened(before);
            let now = match (it.is_unchanged, it.later) {
                (true, _) => was.clone(),
                (false, Some(now)) => now.shortened(after),
                (false, None) => String::new(),
            };
            (was, now)
        })
        .unzip();
    let joined = |parts: Vec<String>| {
        parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
    };
    (joined(was), joined(now))
}
