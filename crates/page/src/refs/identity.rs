//! Identity of an item: which of its texts tell it from the others of its list, and whether a change of them makes it
//! another item or the same one in another state.

use super::stable_text::{has_date, without_numbers_and_times};
use super::structure::{ItemLevel, TreeStructure, is_item_role};
use super::tokens::{ItemToken, LONGEST_SHOWN, TextForm, TextSource, form_of, tokens};
use crate::text;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// How an item differs from what it was.
#[derive(Clone, Debug, Default)]
pub(super) struct IdentityChange {
    /// It is another item now.
    pub(super) is_other: bool,
    /// How it is told from the others.
    pub(super) strength: ListDistinction,
    /// The texts that changed: what they were and are.
    pub(super) changes: Vec<(String, String)>,
    /// What it was called and is called.
    pub(super) was: String,
    pub(super) now: String,
}

/// How the items of a list are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ListDistinction {
    /// Not at all.
    #[default]
    None,
    /// By several texts together, each of which others have too.
    Combination,
    /// By a time or a counter.
    Volatile,
    /// By what the target itself is called.
    Name,
    /// By a text that no other item has.
    Text,
}

/// Which texts of an item count.
#[derive(Clone, Debug)]
pub(super) enum TextScope {
    /// All of them: nothing further inside has an identity.
    Innermost,
    /// Those that are in no item further inside; these nodes were judged already.
    Outer(Range<usize>),
    /// A box around a target that is not one of several.
    Lone,
    /// A box further out: what stands in it before the target, and codes and dates.
    Further,
    /// A dialog: it is used for one question after another.
    Dialog,
}

/// How many items of a list are compared to learn what tells them apart.
const WINDOW: usize = 200;

/// What the other items of a list have where an item has a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// Each something else.
    Distinct,
    /// All the same.
    Constant,
    /// Some the same.
    Repeats,
    /// Nothing.
    Single,
}

/// The values of one place in the items of a list.
#[derive(Default)]
struct ColumnValues {
    items: usize,
    stable: HashSet<u64>,
    raw: HashSet<u64>,
    /// The numbers that the texts are, while all of them are.
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

/// The values in the slots of an item, over the items near it.
struct Columns {
    items: usize,
    slots: HashMap<u64, ColumnValues>,
}

impl Columns {
    /// Whether an item of the list has this text at this place.
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

    /// The number of the first item, where the items are numbered in their order.
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

/// The number that a text is: `3`, `#3`, `3.`, `(3)`.
fn position(text: &str) -> Option<u32> {
    text.trim_matches(|c: char| c.is_whitespace() || "#.()".contains(c)).parse().ok()
}

fn window(level: &ItemLevel) -> &[Range<usize>] {
    let at = level.items.iter().position(|it| *it == level.range).unwrap_or(0);
    let from = at.saturating_sub(WINDOW / 2);
    &level.items[from..level.items.len().min(from + WINDOW)]
}

/// A target in a tree, and the nodes that are its own.
pub(super) struct TargetItem<'s, 't> {
    pub(super) structure: &'s TreeStructure<'t>,
    pub(super) level: &'s ItemLevel,
    pub(super) target: usize,
    /// The nodes that belong to the target alone: none where it is a box with things of its own.
    pub(super) own: Range<usize>,
}

/// Compares an item with what it was.
pub(super) fn judge(
    was: &TargetItem<'_, '_>,
    now: &TargetItem<'_, '_>,
    scope: &TextScope,
) -> IdentityChange {
    let all = tokens(was.structure, was.level.range.clone(), &was.own);
    let after = tokens(now.structure, now.level.range.clone(), &now.own);
    let beside = match scope {
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
            !token.is_inner || beside.iter().any(|it| it.contains(&(token.node as usize)))
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
    let sight = ItemComparison {
        was,
        now,
        after: &after,
        columns: &columns,
        now_columns: &now_columns,
        scope,
    };

    // The number of a row says where it is in the list, not which one it is, if the rows are numbered anew.
    if columns.items > 1 {
        let is_position = |token: &&ItemToken| {
            let first = columns.first_position(token.slot);
            first.is_some() && first == now_columns.first_position(token.slot) && !token.is_own
        };
        before.retain(|token| !is_position(token));
    }
    // Times and counters tell items apart only where nothing else does.
    let mut facts: Vec<TextChange<'_>> = before
        .iter()
        .filter(|it| it.form != TextForm::Volatile)
        .map(|token| sight.fact(token, columns.stable(token.slot), true))
        .collect();
    let tells = |facts: &[TextChange<'_>]| {
        facts.iter().any(|it| it.column == Column::Distinct && !it.token.is_own)
    };
    // In a list of things that are called otherwise, the name of the target says which one it is.
    let is_own_name = |it: &TextChange<'_>| it.column == Column::Distinct && it.token.is_own;
    let is_named = columns.items > 1
        && facts.iter().any(is_own_name)
        && before.iter().any(|token| !token.is_own);
    let mut strength = match (tells(&facts), is_named) {
        (true, _) => ListDistinction::Text,
        (false, true) => ListDistinction::Name,
        (false, false) => ListDistinction::None,
    };
    if strength == ListDistinction::None {
        let raw: Vec<TextChange<'_>> =
            before.iter().map(|token| sight.fact(token, columns.raw(token.slot), false)).collect();
        if tells(&raw) && columns.items > 1 {
            (facts, strength) = (raw, ListDistinction::Volatile);
        }
    }
    let is_mixed = |it: &TextChange<'_>| it.column == Column::Repeats && !it.token.is_own;
    if strength == ListDistinction::None && facts.iter().any(is_mixed) {
        strength = ListDistinction::Combination;
    }
    // An item that has nothing of its own is known by the items in it: most of them are the same.
    if let (TextScope::Outer(judged), ListDistinction::None) = (scope, strength) {
        before = all
            .iter()
            .filter(|it| !it.is_own && !judged.contains(&(it.node as usize)))
            .filter(|it| it.form != TextForm::Volatile)
            .collect();
        let columns = Columns::new(was.structure, was.level, before.iter().map(|it| it.slot));
        let inner: Vec<TextChange<'_>> = before
            .iter()
            .map(|token| sight.fact(token, columns.stable(token.slot), true))
            .filter(|it| it.column == Column::Distinct)
            .collect();
        let kept = inner.iter().filter(|it| it.is_kept).count();
        let (was, now) = labels(&sight, &inner, None);
        return IdentityChange {
            is_other: kept * 2 < inner.len(),
            was,
            now,
            ..IdentityChange::default()
        };
    }
    sight.drop_states(&mut facts);
    IdentityChange { strength, ..verdict(&sight, &facts, columns.items) }
}

/// The boxes beside those that hold a lone target, as a button and a field that have one each have beside each other: they
/// look like the items of a list but are parts of one thing. Many boxes and nothing else are a list.
fn boxes_beside(side: &TargetItem<'_, '_>) -> Vec<Range<usize>> {
    const FEW: usize = 3;
    let structure = side.structure;
    let tree = structure.tree;
    let path = structure.around(side.target).take_while(|it| side.level.range.start < *it);
    let rows = path
        .filter(|it| structure.is_row(*it) && !is_item_role(tree.nodes[*it].role))
        .map(|row| structure.block(row, structure.parents[row] as usize));
    let are_parts = |block: &ItemLevel| {
        block.items.len() <= FEW || tree.children(block.parent).count() > block.items.len()
    };
    rows.filter(are_parts).flat_map(|block| block.items).collect()
}

/// One text of an item and what became of it.
struct TextChange<'a> {
    token: &'a ItemToken,
    column: Column,
    is_kept: bool,
    /// What stands in its place.
    became: Option<&'a ItemToken>,
}

impl TextChange<'_> {
    /// Whether a word became another one, as names and states do.
    fn could_be_state(&self) -> bool {
        !self.token.is_head
            && !self.token.is_stressed
            && self.token.form == TextForm::Word
            && self.became.is_some_and(|now| now.form == TextForm::Word)
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
    fn fact(&self, token: &'a ItemToken, column: Column, is_stable: bool) -> TextChange<'a> {
        let same = |it: &&ItemToken| match is_stable {
            true => it.stable == token.stable,
            false => it.raw == token.raw,
        };
        let became = self.after.iter().find(|it| it.slot == token.slot);
        // Elsewhere in the item it must be the same kind of text: a link "Open" is not the state "Open".
        let is_alike = |it: &ItemToken| same(&it) && it.control == token.control && !it.is_own;
        let is_kept = became.is_some_and(|it| same(&it)) || self.after.iter().any(is_alike);
        TextChange { token, column, is_kept, became: became.filter(|_| !is_kept) }
    }

    /// In a short list a state can look as if it told which item it is, until two of them have the same one.
    fn drop_states(&self, facts: &mut [TextChange<'_>]) {
        let is_state = |it: &TextChange<'_>| {
            it.column == Column::Distinct
                && !it.is_kept
                && !it.token.is_head
                && it.token.form == TextForm::Word
                && it.became.is_some_and(|now| now.form == TextForm::Word)
                && self.now_columns.items > 1
                && self.now_columns.stable(it.token.slot) == Column::Repeats
        };
        let is_identifying = |it: &TextChange<'_>| it.column == Column::Distinct && it.is_kept;
        if facts.iter().any(is_identifying) {
            for fact in facts.iter_mut().filter(|it| is_state(it)) {
                fact.column = Column::Repeats;
            }
        }
    }

    /// Whether another item of the list has more of what told this one.
    fn is_elsewhere(&self, facts: &[TextChange<'_>]) -> bool {
        let telling: Vec<&TextChange<'_>> =
            facts.iter().filter(|it| it.column == Column::Distinct && !it.token.is_own).collect();
        let own = telling.iter().filter(|it| it.is_kept).count();
        if own == telling.len() {
            return false;
        }
        let others = self.now.level.items.iter().filter(|it| **it != self.now.level.range);
        others.into_iter().any(|item| {
            let said = tokens(self.now.structure, item.clone(), &(0..0));
            let is_in = |fact: &&&TextChange<'_>| {
                said.iter().any(|it| it.slot == fact.token.slot && it.raw == fact.token.raw)
            };
            telling.iter().filter(is_in).count() > own
        })
    }

    /// Whether the other items still have some of what told them apart: a list that was filled anew has not.
    fn is_rest_same(&self, facts: &[TextChange<'_>]) -> bool {
        let slots: HashSet<u64> = facts
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
            let said = tokens(new, later.clone(), &(0..0));
            let is_kept = tokens(old, item.clone(), &(0..0)).iter().any(|token| {
                slots.contains(&token.slot)
                    && said.iter().any(|it| it.slot == token.slot && it.raw == token.raw)
            });
            if !is_kept {
                return false;
            }
        }
        count > 0
    }

    /// Whether the text that stands in place of another was in the list before, or is there twice now, as states are.
    fn was_in_list(&self, fact: &TextChange<'_>) -> bool {
        let slot = fact.token.slot;
        fact.became.is_some_and(|now| self.columns.has(slot, now.stable))
            || self.is_repeated_now(fact)
    }

    /// Whether the caller acted on something in the item since it was shown.
    fn was_used(&self) -> bool {
        let structure = self.was.structure;
        let nodes = &structure.tree.nodes[self.was.level.range.clone()];
        nodes.iter().any(|node| structure.edited.contains(&node.element))
    }

    /// Whether two items have the same text now where they had different ones, as states do.
    fn is_repeated_now(&self, fact: &TextChange<'_>) -> bool {
        self.now_columns.items > 1 && self.now_columns.stable(fact.token.slot) == Column::Repeats
    }

    fn shown(&self, fact: &TextChange<'_>) -> (String, String) {
        let was = fact.token.shown(self.was.structure.tree);
        let Some(became) = fact.became else { return (was, String::new()) };
        let now = became.shown(self.now.structure.tree);
        if was != now {
            return (was, now);
        }
        // They differ further on.
        let old = text::collapse(fact.token.text(self.was.structure.tree));
        let new = text::collapse(became.text(self.now.structure.tree));
        let same = old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count();
        let rest = |text: &str| {
            let rest: String = text.chars().skip(same).collect();
            format!("…{}", text::cut_chars(&rest, LONGEST_SHOWN))
        };
        (rest(&old), rest(&new))
    }
}

fn verdict(
    sight: &ItemComparison<'_, '_, '_>,
    facts: &[TextChange<'_>],
    items: usize,
) -> IdentityChange {
    let tree = sight.was.structure.tree;
    let is_distinct = |it: &&TextChange<'_>| it.column == Column::Distinct;
    let rank = |it: &TextChange<'_>| {
        let place = match (it.token.is_head, it.token.is_stressed) {
            (true, _) => 0,
            (_, true) if it.token.form != TextForm::Number => 1,
            _ => 2,
        };
        (it.token.source == TextSource::Value, place, it.token.form)
    };
    // What other controls of a lone item are called says nothing about which item it is.
    let is_trusted = |it: &TextChange<'_>| items > 1 || !it.token.is_control_name();
    let lead = facts.iter().enumerate().filter(|it| is_distinct(&it.1) && is_trusted(it.1));
    let lead = lead.min_by_key(|(at, it)| (rank(it), *at)).map(|it| it.0);
    let is_strong = |it: &TextChange<'_>| {
        it.token.is_head
            || it.token.is_stressed
            || matches!(it.token.form, TextForm::Words | TextForm::Code)
            || it.token.words(tree) > 1
            || items > 3
    };
    let kept = || facts.iter().filter(is_distinct).filter(|it| it.is_kept && is_trusted(it));
    let is_known = kept().next().is_some();
    let is_well_known = kept().any(is_strong);
    // A date tells things apart more often than it passes.
    let is_certain = kept().count() > 1
        || kept().any(|it| {
            matches!(it.token.form, TextForm::Words | TextForm::Code) || it.token.words(tree) > 1
        });
    let is_lone = matches!(sight.scope, TextScope::Lone | TextScope::Further | TextScope::Dialog);
    // A word at the head may be a state or a name that changed, if nothing else that told did.
    let is_rest_same = lead.is_some_and(|lead| !facts[lead].is_kept)
        && facts.iter().filter(is_distinct).filter(|it| !it.is_kept).count() == 1
        && sight.is_rest_same(facts);
    let is_excused = |at: usize, it: &TextChange<'_>| {
        let token = it.token;
        if token.is_own || it.column == Column::Constant {
            return true;
        }
        // What is alone has nothing to be told from: all that it says is its identity, until the caller changes it.
        if is_lone {
            let is_question = matches!(sight.scope, TextScope::Dialog);
            return !is_question && sight.was_used() || is_passing(sight, it);
        }
        if !is_known {
            return false;
        }
        // An item that comes in place of this one may have the same state by chance: what has never been in the list
        // before is a state only where something sure is still there.
        let is_sure = is_well_known || sight.was_in_list(it);
        if Some(at) == lead {
            return it.could_be_state() && is_rest_same && sight.is_repeated_now(it);
        }
        let became = it.became.map_or(token.form, |now| now.form);
        if token.source == TextSource::Value {
            return is_sure;
        }
        match (token.form, became, it.column) {
            (_, _, Column::Repeats | Column::Single) if !it.token.is_head => {
                became != TextForm::Words && token.form != TextForm::Words || is_well_known
            }
            (TextForm::Words | TextForm::Code, ..) => false,
            (TextForm::Word, TextForm::Word, _) => is_sure,
            (TextForm::Number | TextForm::Volatile, TextForm::Number | TextForm::Volatile, _) => {
                is_well_known && (is_certain || !has_date(token.text(tree)))
            }
            _ => false,
        }
    };
    let changed: Vec<(usize, &TextChange<'_>)> =
        facts.iter().enumerate().filter(|(_, it)| !it.is_kept).collect();
    let is_other = changed.iter().any(|(at, it)| !is_excused(*at, it))
        || !changed.is_empty() && sight.is_elsewhere(facts);
    let changes = changed.iter().filter(|it| !it.1.token.is_own).map(|it| sight.shown(it.1));
    let (was, now) = labels(sight, facts, lead);
    IdentityChange { is_other, changes: changes.collect(), was, now, ..IdentityChange::default() }
}

/// Whether a text beside a lone control may have changed without the control being about something else: it counts, is
/// what another control is called at times, or is a message after the control that went away.
fn is_passing(sight: &ItemComparison<'_, '_, '_>, fact: &TextChange<'_>) -> bool {
    let token = fact.token;
    let tree = sight.was.structure.tree;
    let target = &tree.nodes[sight.was.target];
    let is_message = token.node as usize >= tree.end(sight.was.target)
        && token.source == TextSource::Name
        && token.control.is_none()
        && !token.is_head
        && !token.is_stressed;
    let is_neighbour = token.is_control_name() && token.control == Some(target.role);
    // Buttons that are called after things say each what it is about: `Delete` does not.
    let own = tree.name(target);
    let is_called_after_a_thing = has_date(own)
        || !own.is_empty()
            && matches!(form_of(own), TextForm::Words | TextForm::Code | TextForm::Number);
    if is_neighbour && is_called_after_a_thing {
        return true;
    }
    // What stands there now may have stood beside it before: then it is gone.
    let was_beside = |now: &ItemToken| {
        let all = tokens(sight.was.structure, sight.was.level.range.clone(), &(0..0));
        all.iter().any(|it| it.raw == now.raw && it.control == now.control)
    };
    let Some(now) = fact.became.filter(|now| !was_beside(now)) else {
        return is_message || is_neighbour;
    };
    let (was, is) = (token.text(tree), now.text(sight.now.structure.tree));
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
    let is_one_word = token.form == TextForm::Word && token.words(tree) < 2;
    is_neighbour
        && (has_common_word(was, is)
            || is_switched(was, is)
            || is_one_word && is_in_bar(sight.was.structure, sight.was.target))
}

/// Whether a control stands among nothing but others of its kind, as in a bar of buttons.
fn is_in_bar(structure: &TreeStructure<'_>, target: usize) -> bool {
    const FEWEST: usize = 3;
    let tree = structure.tree;
    let role = tree.nodes[target].role;
    let siblings = || tree.children(structure.parents[target] as usize);
    siblings().count() >= FEWEST && siblings().all(|it| tree.nodes[it].role == role)
}

/// Whether a button says the other of the two things that it does by turns.
fn is_switched(was: &str, is: &str) -> bool {
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

/// Whether two texts differ in small numbers only: counters, not the number of something.
pub(super) fn is_same_count(was: &str, now: &str) -> bool {
    const LONGEST: usize = 2;
    let numbers = |text: &str| -> Vec<String> {
        let digits = text.split(|c: char| !c.is_ascii_digit()).filter(|it| !it.is_empty());
        digits.map(str::to_owned).collect()
    };
    let (old, new) = (numbers(was), numbers(now));
    let is_small =
        |(old, new): (&String, &String)| old == new || old.len() <= LONGEST && new.len() <= LONGEST;
    !has_date(was)
        && without_numbers_and_times(was) == without_numbers_and_times(now)
        && !old.is_empty()
        && old.len() == new.len()
        && old.iter().zip(&new).all(is_small)
}

/// What an item was called and is called: by what told it apart, and by what changed.
fn labels(
    sight: &ItemComparison<'_, '_, '_>,
    facts: &[TextChange<'_>],
    lead: Option<usize>,
) -> (String, String) {
    const MOST: usize = 4;
    let (before, after) = (sight.was.structure.tree, sight.now.structure.tree);
    let is_in = |at: usize, it: &TextChange<'_>| {
        !it.token.is_own
            && (Some(at) == lead || !it.is_kept || lead.is_none() && it.column != Column::Constant)
    };
    let chosen = facts.iter().enumerate().filter(|(at, it)| is_in(*at, it)).take(MOST);
    let (was, now): (Vec<String>, Vec<String>) = chosen
        .map(|(_, it)| {
            let was = it.token.shown(before);
            let now = match (it.is_kept, it.became) {
                (true, _) => was.clone(),
                (false, Some(now)) => now.shown(after),
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
