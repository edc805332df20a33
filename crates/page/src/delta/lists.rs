//! Notes on lists: their new order, and counts of added and removed items.

use super::items::{ListMatch, Matches};
use super::line_matches::LineMatches;
use super::{BRIEF, DeltaBase, Rank};
use crate::refs::ItemTexts;
use crate::text;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Number of items of a list that a note names.
const MAX_NAMES: usize = 5;

/// Number of removed lines that are reported one by one.
const MAX_REMOVED_LINES: usize = 2;

/// Number of added lines of an existing list that are reported one by one.
const MAX_ADDED_LINES: usize = 24;

/// Notes on lists, and the lines they replace.
pub(super) struct ListNotes {
    pub(super) notes: Vec<(Rank, String)>,
    pub(super) is_removed: Vec<bool>,
    pub(super) is_added: Vec<bool>,
    pub(super) is_moved: Vec<bool>,
    /// Number of items that changed position.
    pub(super) moved: u32,
}

/// Builds the notes on all matched lists.
pub(super) fn list_notes(
    was: &DeltaBase,
    now: &DeltaBase,
    pairs: &LineMatches,
    matches: &Matches,
) -> ListNotes {
    let mut notes = ListNotes {
        notes: Vec::new(),
        is_removed: vec![false; was.lines.len()],
        is_added: vec![false; now.lines.len()],
        is_moved: vec![false; now.lines.len()],
        moved: 0,
    };
    let (mut before, mut after) = (Names::new(was), Names::new(now));
    let mut ordered: HashSet<usize> = HashSet::new();
    for list in &matches.lists {
        notes.order(list, now, &mut after, &mut ordered);
        notes.removed(list, was, pairs, &mut before);
        notes.added(list, now, pairs, &mut after);
    }
    notes
}

impl ListNotes {
    fn order(
        &mut self,
        list: &ListMatch,
        now: &DeltaBase,
        names: &mut Names<'_>,
        ordered: &mut HashSet<usize>,
    ) {
        let positions: Vec<(usize, usize)> =
            list.pairs.iter().enumerate().filter_map(|(at, it)| Some((at, (*it)?))).collect();
        let moved = positions.len() - longest_increasing(positions.iter().map(|it| it.1));
        if moved == 0 {
            return;
        }
        let mut order: Vec<usize> = positions.iter().map(|it| it.1).collect();
        order.sort_unstable();
        let first = positions.iter().zip(&order).find(|(it, sorted)| it.1 != **sorted);
        let from = first.map_or(0, |(it, _)| it.0);
        let is_noted = ordered.contains(&list.siblings) || {
            let Some(named) = names.quoted_names(&list.now, from..list.now.len(), MAX_NAMES) else {
                return;
            };
            let start = match from {
                0 => String::new(),
                from => format!(" from item {} on", from + 1),
            };
            self.notes.push((Rank::Changed, format!("~ order changed{start}: {named}")));
            ordered.insert(list.siblings)
        };
        if is_noted {
            self.moved += moved as u32;
            for item in &list.now {
                now.lines_of(item).for_each(|at| self.is_moved[at] = true);
            }
        }
    }

    fn removed(
        &mut self,
        list: &ListMatch,
        was: &DeltaBase,
        pairs: &LineMatches,
        names: &mut Names<'_>,
    ) {
        let removed = list.removed().into_iter().filter(|at| {
            let mut lines = was.lines_of(&list.was[*at]);
            !lines.is_empty() && lines.all(|line| pairs.now[line].is_none())
        });
        let removed: Vec<usize> = removed.collect();
        let lines = || removed.iter().flat_map(|at| was.lines_of(&list.was[*at]));
        // Descendants of a removed line are reported with it.
        let reported = lines().filter(|at| {
            let parent = was.lines[*at].parent as usize;
            parent == *at || pairs.now[parent].is_some()
        });
        if reported.count() <= MAX_REMOVED_LINES {
            return;
        }
        let items: Vec<Range<usize>> = removed.iter().map(|at| list.was[*at].clone()).collect();
        let Some(note) = count_note('-', &items, list.was.len(), names) else { return };
        self.notes.push((Rank::Removed, note));
        lines().for_each(|at| self.is_removed[at] = true);
    }

    fn added(
        &mut self,
        list: &ListMatch,
        now: &DeltaBase,
        pairs: &LineMatches,
        names: &mut Names<'_>,
    ) {
        if list.was.is_empty() {
            return;
        }
        let new = list.added().filter(|at| {
            let mut lines = now.lines_of(&list.now[*at]);
            !lines.is_empty() && lines.all(|line| pairs.was[line].is_none())
        });
        let items: Vec<Range<usize>> = new.map(|at| list.now[at].clone()).collect();
        let lines = || items.iter().flat_map(|item| now.lines_of(item));
        if lines().count() <= MAX_ADDED_LINES || items.len() <= MAX_REMOVED_LINES {
            return;
        }
        let Some(note) = count_note('+', &items, list.now.len(), names) else { return };
        self.notes.push((Rank::Added, note));
        lines().for_each(|at| self.is_added[at] = true);
    }
}

fn count_note(
    sign: char,
    items: &[Range<usize>],
    all: usize,
    names: &mut Names<'_>,
) -> Option<String> {
    let named = names.quoted_names(items, 0..items.len(), MAX_NAMES)?;
    Some(format!("{sign} {} of {all} items: {named}", items.len()))
}

/// Length of the longest increasing subsequence.
fn longest_increasing(numbers: impl Iterator<Item = usize>) -> usize {
    let mut ends: Vec<usize> = Vec::new();
    for number in numbers {
        let at = ends.partition_point(|end| *end < number);
        match ends.get_mut(at) {
            Some(end) => *end = number,
            None => ends.push(number),
        }
    }
    ends.len()
}

/// Names of items: the texts that distinguish them from their neighbours.
struct Names<'p> {
    page: &'p DeltaBase,
    texts: OnceCell<ItemTexts<'p>>,
}

impl<'p> Names<'p> {
    fn new(page: &'p DeltaBase) -> Self {
        Self { page, texts: OnceCell::new() }
    }

    /// The quoted names of some items; `None` if they have none.
    fn quoted_names(
        &mut self,
        items: &[Range<usize>],
        from: Range<usize>,
        limit: usize,
    ) -> Option<String> {
        /// A text that all of this many items share is no name.
        const SAMPLE: usize = 12;
        let tree = &self.page.tree;
        let texts = self.texts.get_or_init(|| ItemTexts::new(tree));
        let sample = &items[from.start..from.end.min(from.start + SAMPLE.max(limit))];
        let item_texts: Vec<_> = sample.iter().map(|item| texts.of(item.start..item.end)).collect();
        let mut counts: HashMap<u64, u32> = HashMap::new();
        for item_texts in &item_texts {
            let distinct: HashSet<u64> = item_texts.iter().map(|it| it.hash).collect();
            distinct.into_iter().for_each(|hash| *counts.entry(hash).or_default() += 1);
        }
        let mut names = Vec::new();
        for item_texts in item_texts.iter().take(limit) {
            let usable = item_texts.iter().filter(|it| !it.is_value || !self.page.options.redact);
            let is_shared = |hash: u64| counts[&hash] > 1;
            // Of several, the first.
            let best = usable
                .enumerate()
                .max_by_key(|(at, it)| (!is_shared(it.hash), it.weight, std::cmp::Reverse(*at)));
            let Some((_, best)) = best else { continue };
            let node = &tree.nodes[best.node as usize];
            let name = match best.is_value {
                true => tree.value(node).into(),
                false => crate::render::printed_name(tree, best.node, &self.page.options),
            };
            names.push(text::quoted(&text::cut(&name, BRIEF / 2)));
        }
        if names.is_empty() {
            return None;
        }
        if names.len() < from.len() {
            names.push("…".to_owned());
        }
        Some(names.join(", "))
    }
}
