//! What is told of a list as a whole: its new order, and how many of its items came or went.

use super::items::{ListMatch, Matches};
use super::line_matches::LineMatches;
use super::{BRIEF, DeltaBase, Rank};
use crate::refs::ItemTexts;
use crate::text;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// How many items of a list are named.
const NAMED: usize = 5;

/// How many removed lines are told one by one.
const REMOVED: usize = 2;

/// How many new lines of a list that was there before are told one by one.
const ADDED: usize = 24;

/// What is told of lists, and which lines need not be told any more.
pub(super) struct ListNotes {
    pub(super) notes: Vec<(Rank, String)>,
    pub(super) is_removed: Vec<bool>,
    pub(super) is_added: Vec<bool>,
    pub(super) is_moved: Vec<bool>,
    /// How many items changed their places.
    pub(super) moved: u32,
}

/// Says what became of lists.
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
        let places: Vec<(usize, usize)> =
            list.pairs.iter().enumerate().filter_map(|(at, it)| Some((at, (*it)?))).collect();
        let moved = places.len() - longest_increase(places.iter().map(|it| it.1));
        if moved == 0 {
            return;
        }
        let mut order: Vec<usize> = places.iter().map(|it| it.1).collect();
        order.sort_unstable();
        let first = places.iter().zip(&order).find(|(it, sorted)| it.1 != **sorted);
        let from = first.map_or(0, |(it, _)| it.0);
        let is_told = ordered.contains(&list.siblings) || {
            let Some(named) = names.of(&list.now, from..list.now.len(), NAMED) else { return };
            let place = match from {
                0 => String::new(),
                from => format!(" from item {} on", from + 1),
            };
            self.notes.push((Rank::Changed, format!("~ order changed{place}: {named}")));
            ordered.insert(list.siblings)
        };
        if is_told {
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
        let gone = list.gone().into_iter().filter(|at| {
            let mut lines = was.lines_of(&list.was[*at]);
            !lines.is_empty() && lines.all(|line| pairs.now[line].is_none())
        });
        let gone: Vec<usize> = gone.collect();
        let lines = || gone.iter().flat_map(|at| was.lines_of(&list.was[*at]));
        // What is in a line that is gone is told with that.
        let told = lines().filter(|at| {
            let parent = was.lines[*at].parent as usize;
            parent == *at || pairs.now[parent].is_some()
        });
        if told.count() <= REMOVED {
            return;
        }
        let items: Vec<Range<usize>> = gone.iter().map(|at| list.was[*at].clone()).collect();
        let Some(note) = counted('-', &items, list.was.len(), names) else { return };
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
        let new = list.new_ones().filter(|at| {
            let mut lines = now.lines_of(&list.now[*at]);
            !lines.is_empty() && lines.all(|line| pairs.was[line].is_none())
        });
        let items: Vec<Range<usize>> = new.map(|at| list.now[at].clone()).collect();
        let lines = || items.iter().flat_map(|item| now.lines_of(item));
        if lines().count() <= ADDED || items.len() <= REMOVED {
            return;
        }
        let Some(note) = counted('+', &items, list.now.len(), names) else { return };
        self.notes.push((Rank::Added, note));
        lines().for_each(|at| self.is_added[at] = true);
    }
}

fn counted(
    sign: char,
    items: &[Range<usize>],
    all: usize,
    names: &mut Names<'_>,
) -> Option<String> {
    let named = names.of(items, 0..items.len(), NAMED)?;
    Some(format!("{sign} {} of {all} items: {named}", items.len()))
}

/// How many of some numbers, at most, are in increasing order.
fn longest_increase(numbers: impl Iterator<Item = usize>) -> usize {
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

/// Names for items, by the texts that tell them from the others beside them.
struct Names<'p> {
    page: &'p DeltaBase,
    texts: OnceCell<ItemTexts<'p>>,
}

impl<'p> Names<'p> {
    fn new(page: &'p DeltaBase) -> Self {
        Self { page, texts: OnceCell::new() }
    }

    /// The names of some items, in quotes, or nothing if they have none.
    fn of(&mut self, items: &[Range<usize>], from: Range<usize>, most: usize) -> Option<String> {
        /// What all of so many items say is no name.
        const SAMPLE: usize = 12;
        let tree = &self.page.tree;
        let texts = self.texts.get_or_init(|| ItemTexts::new(tree));
        let sample = &items[from.start..from.end.min(from.start + SAMPLE.max(most))];
        let said: Vec<_> = sample.iter().map(|item| texts.of(item.start..item.end)).collect();
        let mut counts: HashMap<u64, u32> = HashMap::new();
        for said in &said {
            let once: HashSet<u64> = said.iter().map(|it| it.hash).collect();
            once.into_iter().for_each(|hash| *counts.entry(hash).or_default() += 1);
        }
        let mut names = Vec::new();
        for said in said.iter().take(most) {
            let usable = said.iter().filter(|it| !it.is_value || !self.page.print.redact);
            let is_shared = |hash: u64| counts[&hash] > 1;
            // Of several the first.
            let best = usable
                .enumerate()
                .max_by_key(|(at, it)| (!is_shared(it.hash), it.weight, std::cmp::Reverse(*at)));
            let Some((_, best)) = best else { continue };
            let node = &tree.nodes[best.node as usize];
            let name = match best.is_value {
                true => tree.value(node).into(),
                false => crate::render::shown_name(tree, best.node, &self.page.print),
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
