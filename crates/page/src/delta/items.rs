//! Matching of list items (rows, cards, entries) between two snapshots, by their texts rather than by their
//! elements.
//!
//! An app without keys puts other texts into the same elements when it sorts a list, and new elements in
//! place of old ones when it renders it again. Both trees are walked from the root down where they differ;
//! the children of two matched nodes are matched by their texts, then by their elements, then by position.

use super::line_matches::LineMatches;
use super::{DeltaBase, DeltaLine};
use crate::ax::{Node, Role, Tree};
use crate::refs::{ItemTexts, is_identifying};
use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// Minimum number of siblings of one kind that form a list.
const MIN_LIST: usize = 3;

/// Maximum number of items renamed at once in a list with recycled elements. Where there are more, the items
/// are others.
const MAX_RENAMED: usize = 2;

/// Limit on reads: the number of times all nodes of a page may be read. In endlessly nested lists the rest is
/// matched by elements.
const MAX_READS: usize = 16;

/// Result of the matching.
#[derive(Default)]
pub(super) struct Matches {
    /// Matched lines of the same part of the same item: the earlier and the later one.
    pub(super) lines: Vec<(u32, u32)>,
    pub(super) lists: Vec<ListMatch>,
}

/// A list: siblings of one kind, before and after.
pub(super) struct ListMatch {
    /// Id of its sibling group: lists of the same group are interleaved.
    pub(super) siblings: usize,
    /// Node ranges of its items.
    pub(super) was: Vec<Range<usize>>,
    pub(super) now: Vec<Range<usize>>,
    /// For each later item, the earlier one it matches.
    pub(super) pairs: Vec<Option<usize>>,
    /// Items were put into elements of other items of the list.
    pub(super) is_recycled: bool,
}

impl ListMatch {
    /// Indexes of the removed items.
    pub(super) fn removed(&self) -> Vec<usize> {
        let matched: HashSet<usize> = self.pairs.iter().flatten().copied().collect();
        (0..self.was.len()).filter(|at| !matched.contains(at)).collect()
    }

    /// Indexes of the added items.
    pub(super) fn added(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.now.len()).filter(|at| self.pairs[*at].is_none())
    }
}

/// Matches the items of the parts that differ between two pages. `pairs` are the lines matched by element,
/// `moved` the later lines with another position.
pub(super) fn match_items(
    was: &DeltaBase,
    now: &DeltaBase,
    pairs: &LineMatches,
    moved: &[u32],
) -> Matches {
    let mut differs = (vec![false; was.line_count], vec![false; now.line_count]);
    for (at, line) in now.lines[..now.line_count].iter().enumerate() {
        match pairs.was[at].map(|before| before as usize) {
            Some(before) if was.content(&was.lines[before]) == now.content(line) => {}
            before => {
                differs.1[at] = true;
                before
                    .filter(|at| *at < was.line_count)
                    .into_iter()
                    .for_each(|at| differs.0[at] = true);
            }
        }
    }
    for (at, _) in pairs.now[..was.line_count].iter().enumerate().filter(|(_, now)| now.is_none()) {
        differs.0[at] = true;
    }
    for at in moved.iter().map(|at| *at as usize).filter(|at| *at < now.line_count) {
        differs.1[at] = true;
        let before = pairs.was[at].map(|before| before as usize).filter(|at| *at < was.line_count);
        before.into_iter().for_each(|at| differs.0[at] = true);
    }
    let mut matcher = Matcher {
        was: ItemTree::new(was, &differs.0),
        now: ItemTree::new(now, &differs.1),
        result: Matches::default(),
        pending: Vec::new(),
        group_count: 0,
    };
    matcher.run();
    matcher.result
}

/// One of the two pages.
struct ItemTree<'p> {
    page: &'p DeltaBase,
    tree: &'p Tree,
    lines: &'p [DeltaLine],
    /// Prefix sums of the differing lines.
    differing: Vec<u32>,
    texts: OnceCell<ItemTexts<'p>>,
    /// Remaining number of nodes that may be read.
    read_budget: Cell<usize>,
}

impl<'p> ItemTree<'p> {
    fn new(page: &'p DeltaBase, differs: &[bool]) -> Self {
        let mut differing = vec![0];
        let mut count = 0;
        for differs in differs {
            count += u32::from(*differs);
            differing.push(count);
        }
        let lines = &page.lines[..page.line_count];
        let read_budget = Cell::new(MAX_READS * page.tree.nodes.len());
        Self { page, tree: &page.tree, lines, differing, texts: OnceCell::new(), read_budget }
    }

    fn texts(&self) -> &ItemTexts<'p> {
        self.texts.get_or_init(|| ItemTexts::new(self.tree))
    }

    /// Takes a number of nodes from the read limit; `false` when it is exhausted.
    fn take_read_budget(&self, nodes: usize) -> bool {
        let remaining = self.read_budget.get().checked_sub(nodes);
        self.read_budget.set(remaining.unwrap_or(0));
        remaining.is_some()
    }

    fn has_equal_lines(&self, nodes: &Range<usize>) -> bool {
        let lines = self.page.lines_of(nodes);
        self.differing[lines.start] == self.differing[lines.end]
    }

    fn node(&self, item: &Range<usize>) -> &'p Node {
        &self.tree.nodes[item.start]
    }

    fn element(&self, item: &Range<usize>) -> Option<(&'p str, u32)> {
        let node = self.tree.nodes[item.clone()].iter().find(|node| node.element > 0)?;
        let frame = self.tree.frames.get(usize::from(node.frame))?;
        Some((&frame.document, node.element))
    }

    /// The line of a node itself.
    fn own_line(&self, item: &Range<usize>) -> Option<u32> {
        let at = self.lines.partition_point(|line| (line.node as usize) < item.start);
        (self.lines.get(at)?.node as usize == item.start).then_some(at as u32)
    }

    /// The texts of an item in document order, each with `true` if it is the whole item.
    fn item_texts(&self, item: &Range<usize>) -> impl Iterator<Item = (&'p str, bool)> + use<'p> {
        let (tree, is_one) = (self.tree, item.len() == 1);
        item.clone().flat_map(move |index| {
            let node = &tree.nodes[index];
            let is_named_by_content = !node.states.has_author_name() && tree.end(index) > index + 1;
            let name = if is_named_by_content { "" } else { tree.name(node) };
            let value = if node.states.is_masked() { "" } else { tree.value(node) };
            let is_all = is_one && node.role == Role::Text;
            [name, value].into_iter().filter(|text| !text.is_empty()).map(move |it| (it, is_all))
        })
    }

    /// Hash of all texts of an item, if they are identifying.
    fn text_hash(&self, item: &Range<usize>) -> Option<u64> {
        if !self.take_read_budget(item.len()) {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        let mut is_identifying_item = false;
        for (text, is_all) in self.item_texts(item) {
            text.hash(&mut hasher);
            is_identifying_item = is_identifying_item || is_all || is_identifying(text);
        }
        is_identifying_item.then(|| hasher.finish())
    }

    /// The items among siblings: single children, or the runs they form.
    fn items(&self, siblings: &Siblings) -> Vec<Range<usize>> {
        let mut items = Vec::new();
        let mut at = siblings.nodes.start;
        while at < siblings.nodes.end {
            let end = self.tree.end(at);
            items.push(at..end);
            at = end;
        }
        let Some(parent) = siblings.parent.filter(|_| self.is_mixed(&items)) else { return items };
        let Some(runs) = self.runs(parent, &siblings.nodes) else {
            return items;
        };
        let is_alone = |item: &Range<usize>| !runs.iter().any(|run| run.contains(&item.start));
        items.retain(is_alone);
        items.extend(runs);
        items.sort_by_key(|item| item.start);
        items
    }

    fn runs(&self, parent: usize, inside: &Range<usize>) -> Option<Vec<Range<usize>>> {
        self.take_read_budget(inside.len()).then(|| self.texts().runs(parent)).flatten()
    }

    /// True when children of several roles repeat.
    fn is_mixed(&self, items: &[Range<usize>]) -> bool {
        let mut counts: Vec<(Role, u32)> = Vec::new();
        for role in items.iter().map(|item| self.node(item).role) {
            match counts.iter_mut().find(|it| it.0 == role) {
                Some(count) => count.1 += 1,
                None => counts.push((role, 1)),
            }
        }
        counts.iter().filter(|it| it.1 > 1).count() > 1
    }
}

/// The children of one parent, or the nodes of one run.
struct Siblings {
    nodes: Range<usize>,
    /// The parent, where its children may form runs.
    parent: Option<usize>,
}

struct Matcher<'p> {
    was: ItemTree<'p>,
    now: ItemTree<'p>,
    result: Matches,
    /// Siblings still to be compared.
    pending: Vec<(Siblings, Siblings)>,
    group_count: usize,
}

/// Items of one kind, with their matches so far.
struct Group<'a> {
    was: Vec<&'a Range<usize>>,
    now: Vec<&'a Range<usize>>,
    pairs: Vec<Option<usize>>,
    is_matched: Vec<bool>,
}

impl<'a> Group<'a> {
    fn pair(&mut self, before: usize, after: usize) {
        self.pairs[after] = Some(before);
        self.is_matched[before] = true;
    }

    fn unmatched_before(&self) -> Vec<usize> {
        (0..self.was.len()).filter(|at| !self.is_matched[*at]).collect()
    }

    fn unmatched_after(&self) -> Vec<usize> {
        (0..self.now.len()).filter(|at| self.pairs[*at].is_none()).collect()
    }

    fn is_list(&self) -> bool {
        self.was.len().max(self.now.len()) >= MIN_LIST
    }
}

impl<'p> Matcher<'p> {
    fn run(&mut self) {
        let all = |side: &ItemTree<'_>| Siblings { nodes: 0..side.tree.nodes.len(), parent: None };
        self.pending.push((all(&self.was), all(&self.now)));
        while let Some((was, now)) = self.pending.pop() {
            self.compare(&was, &now);
        }
    }

    fn compare(&mut self, was: &Siblings, now: &Siblings) {
        let (before, after) = (self.was.items(was), self.now.items(now));
        self.group_count += 1;
        let kind = |side: &ItemTree<'p>, item: &Range<usize>| {
            let role = side.node(item).role;
            (role, item.end > side.tree.end(item.start))
        };
        let mut kinds: Vec<(Role, bool)> = Vec::new();
        for it in before
            .iter()
            .map(|it| kind(&self.was, it))
            .chain(after.iter().map(|it| kind(&self.now, it)))
        {
            if !kinds.contains(&it) {
                kinds.push(it);
            }
        }
        for wanted in kinds {
            let group_was: Vec<_> =
                before.iter().filter(|it| kind(&self.was, it) == wanted).collect();
            let group_now: Vec<_> =
                after.iter().filter(|it| kind(&self.now, it) == wanted).collect();
            let mut group = Group {
                pairs: vec![None; group_now.len()],
                is_matched: vec![false; group_was.len()],
                was: group_was,
                now: group_now,
            };
            self.match_group(&mut group, wanted.0);
            self.descend(&group);
            if group.is_list() && !is_matched_by_position(wanted.0) {
                let is_recycled = self.is_recycled(&group);
                self.result.lists.push(ListMatch {
                    siblings: self.group_count,
                    was: group.was.into_iter().cloned().collect(),
                    now: group.now.into_iter().cloned().collect(),
                    pairs: group.pairs,
                    is_recycled,
                });
            }
        }
    }

    fn match_group(&self, group: &mut Group<'_>, role: Role) {
        let elements: HashMap<(&str, u32), usize> = group
            .was
            .iter()
            .enumerate()
            .filter_map(|(at, item)| Some((self.was.element(item)?, at)))
            .collect();
        let same_element: Vec<Option<usize>> =
            group.now.iter().map(|item| elements.get(&self.now.element(item)?).copied()).collect();
        for (after, same) in same_element.iter().enumerate() {
            let unchanged = same.filter(|before| {
                self.was.has_equal_lines(group.was[*before])
                    && self.now.has_equal_lines(group.now[after])
            });
            unchanged.into_iter().for_each(|before| group.pair(before, after));
        }
        let (unmatched_was, unmatched_now) = (group.unmatched_before(), group.unmatched_after());
        let is_one = matches!((&*unmatched_was, &*unmatched_now), ([before], [after]) if same_element[*after] == Some(*before));
        // Cells are matched by their column, and siblings that are no list by their element.
        if is_matched_by_position(role) || is_one || !group.is_list() {
            self.match_elements(group, &same_element, usize::MAX);
        }
        if is_matched_by_position(role) {
            self.match_by_position(group, role);
            return;
        }
        if group.is_list() {
            self.match_mostly_equal(group, &same_element);
        }
        self.match_equal_texts(group, &same_element);
        if group.is_list() {
            self.match_unique_texts(group, &same_element);
            let most = if self.is_recycled(group) { MAX_RENAMED } else { usize::MAX };
            self.match_elements(group, &same_element, most);
        }
        self.match_by_position(group, role);
    }

    /// True when an item was matched to an element that another item had.
    fn is_recycled(&self, group: &Group<'_>) -> bool {
        let mut pairs = group.pairs.iter().enumerate().filter_map(|(at, it)| Some((at, (*it)?)));
        let elements: HashSet<(&str, u32)> =
            group.was.iter().filter_map(|item| self.was.element(item)).collect();
        pairs.any(|(after, before)| {
            let element = self.now.element(group.now[after]);
            element != self.was.element(group.was[before])
                && element.is_some_and(|element| elements.contains(&element))
        })
    }

    /// Matches items of the same element that keep most of the texts their neighbour does not share. Reading
    /// all texts of a long list would cost more.
    fn match_mostly_equal(&self, group: &mut Group<'_>, same: &[Option<usize>]) {
        for after in group.unmatched_after() {
            let Some(before) = same[after].filter(|before| !group.is_matched[*before]) else {
                continue;
            };
            let beside = before.checked_sub(1).or(Some(1)).and_then(|at| group.was.get(at));
            let (old, new) = (group.was[before], group.now[after]);
            if !self.was.take_read_budget(old.len() * 2) || !self.now.take_read_budget(new.len()) {
                return;
            }
            let mut beside = beside.map(|item| self.was.item_texts(item)).into_iter().flatten();
            let (mut now, mut own, mut equal) = (self.now.item_texts(new), 0, 0);
            let mut is_first_equal = true;
            for text in self.was.item_texts(old) {
                let is_equal = now.next() == Some(text);
                if beside.next() == Some(text) {
                    continue;
                }
                is_first_equal &= own > 0 || is_equal;
                own += 1;
                equal += u32::from(is_equal);
            }
            if own > 0 && is_first_equal && equal * 2 >= own && now.next().is_none() {
                group.pair(before, after);
            }
        }
    }

    /// Matches items of the same element, up to a number of them.
    fn match_elements(&self, group: &mut Group<'_>, same: &[Option<usize>], most: usize) {
        let unmatched = group.unmatched_after().into_iter();
        let found: Vec<(usize, usize)> = unmatched
            .filter_map(|at| Some((same[at]?, at)))
            .filter(|it| !group.is_matched[it.0])
            .collect();
        if found.len() <= most {
            found.into_iter().for_each(|(before, after)| group.pair(before, after));
        }
    }

    /// Matches items with equal texts; of several the one of the same element, else the first.
    fn match_equal_texts(&self, group: &mut Group<'_>, same: &[Option<usize>]) {
        let (unmatched_was, unmatched_now) = (group.unmatched_before(), group.unmatched_after());
        if unmatched_was.is_empty() || unmatched_now.is_empty() {
            return;
        }
        let contents: HashMap<usize, u64> = unmatched_was
            .iter()
            .filter_map(|at| Some((*at, self.was.text_hash(group.was[*at])?)))
            .collect();
        let mut by_content: HashMap<u64, Vec<usize>> = HashMap::new();
        for at in unmatched_was.iter().rev().filter(|at| contents.contains_key(at)) {
            by_content.entry(contents[at]).or_default().push(*at);
        }
        let unmatched_now: Vec<(usize, u64)> = unmatched_now
            .into_iter()
            .filter_map(|at| Some((at, self.now.text_hash(group.now[at])?)))
            .collect();
        for (after, content) in &unmatched_now {
            let same = same[*after].filter(|before| !group.is_matched[*before]);
            if let Some(before) = same.filter(|before| contents.get(before) == Some(content)) {
                group.pair(before, *after);
            }
        }
        for (after, content) in unmatched_now {
            if group.pairs[after].is_some() {
                continue;
            }
            let Some(all) = by_content.get_mut(&content) else { continue };
            while let Some(before) = all.pop() {
                if !group.is_matched[before] {
                    group.pair(before, after);
                    break;
                }
            }
        }
    }

    /// Matches items by the texts that are unique on both sides.
    fn match_unique_texts(&self, group: &mut Group<'_>, same: &[Option<usize>]) {
        let (unmatched_was, unmatched_now) = (group.unmatched_before(), group.unmatched_after());
        if unmatched_was.is_empty() || unmatched_now.is_empty() {
            return;
        }
        let unique_was = unique_texts(&self.was, &group.was, &unmatched_was);
        let unique_now = unique_texts(&self.now, &group.now, &unmatched_now);
        let mut votes: HashMap<(usize, usize), u32> = HashMap::new();
        for (hash, (before, weight)) in &unique_was.by_text {
            if let Some((after, _)) = unique_now.by_text.get(hash) {
                *votes.entry((*before, *after)).or_default() += weight;
            }
        }
        let total = |of: &HashMap<usize, u32>, at: usize| of.get(&at).copied().unwrap_or(0);
        let mut votes: Vec<((usize, usize), u32)> = votes
            .into_iter()
            .filter(|((before, after), votes)| {
                let all = total(&unique_was.totals, *before).min(total(&unique_now.totals, *after));
                *votes > 1 && votes * 2 >= all
            })
            .collect();
        votes.sort_by_key(|((before, after), votes)| {
            (std::cmp::Reverse(*votes), same[*after] != Some(*before), *after, *before)
        });
        for ((before, after), _) in votes {
            if !group.is_matched[before] && group.pairs[after].is_none() {
                group.pair(before, after);
            }
        }
    }

    /// Matches the remaining items by position where that is unambiguous: texts, cells, items without text,
    /// and re-created boxes.
    fn match_by_position(&self, group: &mut Group<'_>, role: Role) {
        let (unmatched_was, unmatched_now) = (group.unmatched_before(), group.unmatched_after());
        if unmatched_was.len() != unmatched_now.len() || role == Role::WebArea {
            return;
        }
        let is_lone = unmatched_was.len() == 1 && !group.is_list();
        let is_same = |(before, after): (&usize, &usize)| {
            let (before, after) = (group.was[*before], group.now[*after]);
            let has_no_text =
                || self.was.text_hash(before).is_none() && self.now.text_hash(after).is_none();
            self.has_same_name(before, after) && (is_lone || has_no_text())
        };
        let can_match = match role {
            Role::Text => unmatched_was.len() <= MAX_RENAMED || !self.is_recycled(group),
            _ => {
                is_matched_by_position(role)
                    || unmatched_was.iter().zip(&unmatched_now).all(is_same)
            }
        };
        if can_match {
            unmatched_was
                .into_iter()
                .zip(unmatched_now)
                .for_each(|(before, after)| group.pair(before, after));
        }
    }

    /// True when two nodes have the same name in their lines, or no lines.
    fn has_same_name(&self, was: &Range<usize>, now: &Range<usize>) -> bool {
        match (self.was.own_line(was), self.now.own_line(now)) {
            (Some(before), Some(after)) => {
                let before = &self.was.lines[before as usize];
                let after = &self.now.lines[after as usize];
                self.was.page.name(before) == self.now.page.name(after)
            }
            (None, None) => true,
            _ => false,
        }
    }

    /// Matches the lines of matched items where they are equal, and queues the rest for comparison.
    fn descend(&mut self, group: &Group<'_>) {
        let pairs = group.pairs.iter().enumerate().filter_map(|(at, it)| Some((at, (*it)?)));
        for (after, before) in pairs {
            let (before, after) = (group.was[before], group.now[after]);
            if self.is_unchanged(before, after) {
                continue;
            }
            if self.zip_lines(before, after) {
                continue;
            }
            let is_run =
                |side: &ItemTree<'_>, item: &Range<usize>| item.end > side.tree.end(item.start);
            let inside = |side: &ItemTree<'_>, item: &Range<usize>| match is_run(side, item) {
                true => Siblings { nodes: item.clone(), parent: None },
                false => Siblings { nodes: item.start + 1..item.end, parent: Some(item.start) },
            };
            let own = (self.was.own_line(before), self.now.own_line(after));
            if let ((Some(before_line), Some(after_line)), false) = (own, is_run(&self.was, before))
            {
                self.result.lines.push((before_line, after_line));
            }
            self.pending.push((inside(&self.was, before), inside(&self.now, after)));
        }
    }

    /// True when an item has the same element and equal lines. Texts without a line around them are
    /// distinguished by order only.
    fn is_unchanged(&self, was: &Range<usize>, now: &Range<usize>) -> bool {
        self.was.own_line(was).is_some()
            && self.was.node(was).element > 0
            && self.was.element(was) == self.now.element(now)
            && self.was.has_equal_lines(was)
            && self.now.has_equal_lines(now)
    }

    /// Matches the lines of two items one by one, if all have the same role and name.
    fn zip_lines(&mut self, was: &Range<usize>, now: &Range<usize>) -> bool {
        let (before, after) = (self.was.page.lines_of(was), self.now.page.lines_of(now));
        let is_elsewhere = self.was.element(was) != self.now.element(now);
        let has_equal_lines = || self.was.has_equal_lines(was) && self.now.has_equal_lines(now);
        // Where something differs within the same element, its content has to be matched one by one.
        if before.len() != after.len()
            || !(is_elsewhere || has_equal_lines())
            || !self.now.take_read_budget(after.len())
        {
            return false;
        }
        let is_same = |(before, after): (usize, usize)| {
            let (old, new) = (&self.was.lines[before], &self.now.lines[after]);
            old.role == new.role
                && (is_elsewhere || old.element == new.element)
                && self.was.page.name(old) == self.now.page.name(new)
        };
        if !before.clone().zip(after.clone()).all(is_same) {
            return false;
        }
        self.result
            .lines
            .extend(before.zip(after).map(|(before, after)| (before as u32, after as u32)));
        true
    }
}

/// Texts unique to one item, and the total weight of each item's unique texts.
struct UniqueTexts {
    by_text: HashMap<u64, (usize, u32)>,
    totals: HashMap<usize, u32>,
}

fn unique_texts(side: &ItemTree<'_>, items: &[&Range<usize>], unmatched: &[usize]) -> UniqueTexts {
    let mut owners: HashMap<u64, Option<(usize, u32)>> = HashMap::new();
    for at in unmatched {
        if !side.take_read_budget(items[*at].len()) {
            continue;
        }
        for (position, text) in side.texts().of(items[*at].clone()).into_iter().enumerate() {
            if text.weight == 0 {
                continue;
            }
            // The first text is more likely to be a name.
            let weight = text.weight + u32::from(position == 0);
            owners
                .entry(text.hash)
                .and_modify(|owner| {
                    if owner.is_some_and(|owner| owner.0 != *at) {
                        *owner = None;
                    }
                })
                .or_insert(Some((*at, weight)));
        }
    }
    let by_text: HashMap<u64, (usize, u32)> =
        owners.into_iter().filter_map(|(hash, owner)| Some((hash, owner?))).collect();
    let mut totals: HashMap<usize, u32> = HashMap::new();
    for (at, weight) in by_text.values() {
        *totals.entry(*at).or_default() += weight;
    }
    UniqueTexts { by_text, totals }
}

/// Roles not matched by text: a cell is matched by its column, a document by its position.
fn is_matched_by_position(role: Role) -> bool {
    matches!(
        role,
        Role::Cell | Role::GridCell | Role::ColumnHeader | Role::RowHeader | Role::WebArea
    )
}
