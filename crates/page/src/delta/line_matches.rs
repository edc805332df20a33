//! Matching of lines between two snapshots, and detection of moved lines.

use super::DeltaBase;
use super::items::{ListMatch, Matches};
use crate::ax::Role;
use std::collections::{BTreeMap, HashMap};

/// Matches between the lines of two pages.
pub(super) struct LineMatches {
    /// For each later line, the earlier line.
    pub(super) was: Vec<Option<u32>>,
    /// For each earlier line, the later line.
    pub(super) now: Vec<Option<u32>>,
}

impl LineMatches {
    /// Applies the matches of list items, replacing matches by element.
    pub(super) fn apply_item_matches(
        &mut self,
        was: &DeltaBase,
        now: &DeltaBase,
        matches: &Matches,
    ) {
        for (before, after) in &matches.lines {
            self.unmatch(Some(*before), self.now[*before as usize]);
            self.unmatch(self.was[*after as usize], Some(*after));
            self.was[*after as usize] = Some(*before);
            self.now[*before as usize] = Some(*after);
        }
        for list in &matches.lists {
            self.unmatch_unrelated(was, now, list);
        }
    }

    fn unmatch(&mut self, before: Option<u32>, after: Option<u32>) {
        if let (Some(before), Some(after)) = (before, after) {
            self.was[after as usize] = None;
            self.now[before as usize] = None;
        }
    }

    /// Unmatches the lines of added and removed items that were matched by position or by recycled element.
    fn unmatch_unrelated(&mut self, was: &DeltaBase, now: &DeltaBase, list: &ListMatch) {
        for item in list.added() {
            let lines = now.lines_of(&list.now[item]);
            for at in lines.clone() {
                let line = &now.lines[at];
                let is_flat = DeltaBase::is_text(line) && !lines.contains(&(line.parent as usize));
                if is_flat || list.is_recycled && self.was_in_list(was, list, at) {
                    self.unmatch(self.was[at], Some(at as u32));
                }
            }
        }
        for item in list.removed() {
            let lines = was.lines_of(&list.was[item]);
            for at in lines.clone() {
                let line = &was.lines[at];
                if DeltaBase::is_text(line) && !lines.contains(&(line.parent as usize)) {
                    self.unmatch(Some(at as u32), self.now[at]);
                }
            }
        }
    }

    /// True when a later line was in an item of the list.
    fn was_in_list(&self, was: &DeltaBase, list: &ListMatch, at: usize) -> bool {
        let Some(before) = self.was[at] else { return false };
        let node = was.lines[before as usize].node as usize;
        let at = list.was.partition_point(|item| item.end <= node);
        list.was.get(at).is_some_and(|item| item.contains(&node))
    }
}

/// Matches elements by identity, and texts by their parent and order.
pub(super) fn match_lines(was: &DeltaBase, now: &DeltaBase) -> LineMatches {
    let mut pairs =
        LineMatches { was: vec![None; now.lines.len()], now: vec![None; was.lines.len()] };
    let mut elements: HashMap<(&str, u32), u32> = HashMap::with_capacity(was.lines.len());
    for (at, line) in was.lines.iter().enumerate().rev() {
        if !DeltaBase::is_text(line) {
            elements.insert((was.document(line), line.element), at as u32);
        }
    }
    for (at, line) in now.lines.iter().enumerate() {
        if DeltaBase::is_text(line) {
            continue;
        }
        // Removed, so that of two lines with one identity only the first is matched.
        if let Some(before) = elements.remove(&(now.document(line), line.element)) {
            pairs.was[at] = Some(before);
            pairs.now[before as usize] = Some(at as u32);
        }
    }
    let texts_was = texts_by_parent(was);
    match_clickable(was, &texts_was, now, &mut pairs);
    for (parent, texts_now) in texts_by_parent(now) {
        let before = match parent {
            Some(parent) => pairs.was[parent as usize].and_then(|it| texts_was.get(&Some(it))),
            None => texts_was.get(&None),
        };
        if let Some(before) = before {
            let is_free = |at: &u32| pairs.now[*at as usize].is_none();
            let before: Vec<u32> = before.iter().copied().filter(is_free).collect();
            match_texts(was, &before, now, &texts_now, &mut pairs);
        }
    }
    pairs
}

/// Matches a new generic element with the text that was in its place: it has a click listener now.
fn match_clickable(
    was: &DeltaBase,
    texts_was: &BTreeMap<Option<u32>, Vec<u32>>,
    now: &DeltaBase,
    pairs: &mut LineMatches,
) {
    for (at, line) in now.lines.iter().enumerate() {
        let is_new = pairs.was[at].is_none() && line.role == Role::Generic && !line.is_folded;
        let parent = line.parent as usize;
        let Some(parent) = pairs.was[parent].filter(|_| is_new && parent != at) else { continue };
        let is_same = |before: &&u32| {
            let text = &was.lines[**before as usize];
            pairs.now[**before as usize].is_none()
                && !text.is_folded
                && was.name(text) == now.name(line)
        };
        let found = texts_was.get(&Some(parent)).and_then(|all| all.iter().find(is_same));
        if let Some(before) = found.copied() {
            pairs.was[at] = Some(before);
            pairs.now[before as usize] = Some(at as u32);
        }
    }
}

/// The texts of each parent line, and those without one; parents come before their texts.
fn texts_by_parent(page: &DeltaBase) -> BTreeMap<Option<u32>, Vec<u32>> {
    let mut texts: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
    for (at, line) in page.lines.iter().enumerate() {
        if DeltaBase::is_text(line) {
            let parent = (line.parent as usize != at).then_some(line.parent);
            texts.entry(parent).or_default().push(at as u32);
        }
    }
    texts
}

/// Matches the texts of one line: equal ones from both ends, then equal ones in between, and by position when
/// the counts are equal.
fn match_texts(
    was: &DeltaBase,
    before: &[u32],
    now: &DeltaBase,
    after: &[u32],
    pairs: &mut LineMatches,
) {
    let old = |at: &u32| was.content(&was.lines[*at as usize]);
    let new = |at: &u32| now.content(&now.lines[*at as usize]);
    let equal = |(before, after): &(&u32, &u32)| old(before) == new(after);
    let head = before.iter().zip(after).take_while(equal).count();
    let (before_rest, after_rest) = (&before[head..], &after[head..]);
    let tail = before_rest.iter().rev().zip(after_rest.iter().rev()).take_while(equal).count();
    let mut record = |before: u32, after: u32| {
        pairs.was[after as usize] = Some(before);
        pairs.now[before as usize] = Some(after);
    };
    for (before, after) in before.iter().zip(after).take(head) {
        record(*before, *after);
    }
    for (before, after) in before.iter().rev().zip(after.iter().rev()).take(tail) {
        record(*before, *after);
    }
    let before = &before_rest[..before_rest.len() - tail];
    let after = &after_rest[..after_rest.len() - tail];
    if before.len() == after.len() {
        for (before, after) in before.iter().zip(after) {
            record(*before, *after);
        }
        return;
    }
    let mut by_text: HashMap<(Role, &str), Vec<u32>> = HashMap::new();
    for at in before.iter().rev() {
        by_text.entry(old(at)).or_default().push(*at);
    }
    for at in after {
        if let Some(before) = by_text.get_mut(&new(at)).and_then(Vec::pop) {
            record(before, *at);
        }
    }
}

/// Later lines that come after one they used to precede, or have another parent line.
pub(super) fn moved(was: &DeltaBase, now: &DeltaBase, pairs: &LineMatches) -> Vec<u32> {
    let mut last: HashMap<u32, u32> = HashMap::new();
    let mut moved = Vec::new();
    for (at, line) in now.lines.iter().enumerate() {
        let Some(before) = pairs.was[at].filter(|_| line.parent as usize != at) else { continue };
        let Some(parent_was) = pairs.was[line.parent as usize] else { continue };
        let old = &was.lines[before as usize];
        if old.parent != parent_was && old.parent != before {
            if pairs.now[old.parent as usize].is_some() {
                moved.push(at as u32);
            }
            continue;
        }
        let last = last.entry(line.parent).or_insert(before);
        if before < *last {
            moved.push(at as u32);
        }
        *last = before.max(*last);
    }
    moved
}
