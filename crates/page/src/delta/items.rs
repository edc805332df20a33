//! Which item of a list (row, card, entry) was which item of an earlier one, by their texts rather than by their elements.
//!
//! An app without keys puts other texts into the same elements when it sorts a list, and new elements in place of old
//! ones when it renders it anew. Both trees are walked from the root down where they differ; the children of two nodes
//! that belong together are matched by what they say, then by their elements, then by what is left.

use super::line_matches::LineMatches;
use super::{DeltaBase, DeltaLine};
use crate::ax::{Node, Role, Tree};
use crate::refs::{ItemTexts, is_identifying};
use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// How many siblings of one kind are a list.
const LIST: usize = 3;

/// How many items of a list are renamed at once where others were put into other elements. What is more is other items.
const RENAMED: usize = 2;

/// How many times all nodes of a page are read at most. Where lists are nested without end, the rest is told by elements.
const READINGS: usize = 16;

/// What was matched.
#[derive(Default)]
pub(super) struct Matches {
    /// Lines of the same part of the same item: the earlier and the later one.
    pub(super) lines: Vec<(u32, u32)>,
    pub(super) lists: Vec<ListMatch>,
}

/// Siblings of one kind, before and after.
pub(super) struct ListMatch {
    /// The siblings that it is one kind of: lists with the same number are read together.
    pub(super) siblings: usize,
    /// The nodes of its items.
    pub(super) was: Vec<Range<usize>>,
    pub(super) now: Vec<Range<usize>>,
    /// Which of the earlier items each later one was.
    pub(super) pairs: Vec<Option<usize>>,
    /// Items were put into elements that others of the list had.
    pub(super) is_recycled: bool,
}

impl ListMatch {
    /// The earlier items that are gone.
    pub(super) fn gone(&self) -> Vec<usize> {
        let kept: HashSet<usize> = self.pairs.iter().flatten().copied().collect();
        (0..self.was.len()).filter(|at| !kept.contains(at)).collect()
    }

    /// The items that are new.
    pub(super) fn new_ones(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.now.len()).filter(|at| self.pairs[*at].is_none())
    }
}

/// Matches what differs between two pages. `pairs` are the lines of the same elements, `moved` the later lines that are
/// elsewhere.
pub(super) fn match_items(
    was: &DeltaBase,
    now: &DeltaBase,
    pairs: &LineMatches,
    moved: &[u32],
) -> Matches {
    let mut differs = (vec![false; was.shown], vec![false; now.shown]);
    for (at, line) in now.lines[..now.shown].iter().enumerate() {
        match pairs.was[at].map(|before| before as usize) {
            Some(before) if was.said(&was.lines[before]) == now.said(line) => {}
            before => {
                differs.1[at] = true;
                before.filter(|at| *at < was.shown).into_iter().for_each(|at| differs.0[at] = true);
            }
        }
    }
    for (at, _) in pairs.now[..was.shown].iter().enumerate().filter(|(_, now)| now.is_none()) {
        differs.0[at] = true;
    }
    for at in moved.iter().map(|at| *at as usize).filter(|at| *at < now.shown) {
        differs.1[at] = true;
        let before = pairs.was[at].map(|before| before as usize).filter(|at| *at < was.shown);
        before.into_iter().for_each(|at| differs.0[at] = true);
    }
    let mut matcher = Matcher {
        was: ItemTree::new(was, &differs.0),
        now: ItemTree::new(now, &differs.1),
        found: Matches::default(),
        open: Vec::new(),
        contexts: 0,
    };
    matcher.run();
    matcher.found
}

/// One of the two pages.
struct ItemTree<'p> {
    page: &'p DeltaBase,
    tree: &'p Tree,
    lines: &'p [DeltaLine],
    /// How many lines before each differ.
    differing: Vec<u32>,
    texts: OnceCell<ItemTexts<'p>>,
    /// How many nodes may still be read.
    left: Cell<usize>,
}

impl<'p> ItemTree<'p> {
    fn new(page: &'p DeltaBase, differs: &[bool]) -> Self {
        let mut differing = vec![0];
        let mut count = 0;
        for differs in differs {
            count += u32::from(*differs);
            differing.push(count);
        }
        let lines = &page.lines[..page.shown];
        let left = Cell::new(READINGS * page.tree.nodes.len());
        Self { page, tree: &page.tree, lines, differing, texts: OnceCell::new(), left }
    }

    fn texts(&self) -> &ItemTexts<'p> {
        self.texts.get_or_init(|| ItemTexts::new(self.tree))
    }

    /// Whether so many nodes may be read.
    fn may_read(&self, nodes: usize) -> bool {
        let left = self.left.get().checked_sub(nodes);
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }

    fn is_clean(&self, nodes: &Range<usize>) -> bool {
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

    /// The texts of an item in reading order, and whether each is all of it.
    fn said(&self, item: &Range<usize>) -> impl Iterator<Item = (&'p str, bool)> + use<'p> {
        let (tree, is_one) = (self.tree, item.len() == 1);
        item.clone().flat_map(move |index| {
            let node = &tree.nodes[index];
            let is_told_inside = !node.states.is_name_given() && tree.end(index) > index + 1;
            let name = if is_told_inside { "" } else { tree.name(node) };
            let value = if node.states.is_masked() { "" } else { tree.value(node) };
            let is_all = is_one && node.role == Role::Text;
            [name, value].into_iter().filter(|text| !text.is_empty()).map(move |it| (it, is_all))
        })
    }

    /// A hash of all texts of an item, if they can tell it from others.
    fn content(&self, item: &Range<usize>) -> Option<u64> {
        if !self.may_read(item.len()) {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        let mut tells = false;
        for (text, is_all) in self.said(item) {
            text.hash(&mut hasher);
            tells = tells || is_all || is_identifying(text);
        }
        tells.then(|| hasher.finish())
    }

    /// The children of a node one by one, or the runs that they fall into.
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
        self.may_read(inside.len()).then(|| self.texts().runs(parent)).flatten()
    }

    /// Whether children of several kinds take turns.
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

/// The nodes of one parent, or of one run of them.
struct Siblings {
    nodes: Range<usize>,
    /// Their parent, where they may fall into runs.
    parent: Option<usize>,
}

struct Matcher<'p> {
    was: ItemTree<'p>,
    now: ItemTree<'p>,
    found: Matches,
    /// Siblings that are still to be compared.
    open: Vec<(Siblings, Siblings)>,
    contexts: usize,
}

/// How the items of one kind were matched.
struct Group<'a> {
    was: Vec<&'a Range<usize>>,
    now: Vec<&'a Range<usize>>,
    pairs: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl<'a> Group<'a> {
    fn put(&mut self, before: usize, after: usize) {
        self.pairs[after] = Some(before);
        self.taken[before] = true;
    }

    fn left_before(&self) -> Vec<usize> {
        (0..self.was.len()).filter(|at| !self.taken[*at]).collect()
    }

    fn left_after(&self) -> Vec<usize> {
        (0..self.now.len()).filter(|at| self.pairs[*at].is_none()).collect()
    }

    fn is_list(&self) -> bool {
        self.was.len().max(self.now.len()) >= LIST
    }
}

impl<'p> Matcher<'p> {
    fn run(&mut self) {
        let all = |side: &ItemTree<'_>| Siblings { nodes: 0..side.tree.nodes.len(), parent: None };
        self.open.push((all(&self.was), all(&self.now)));
        while let Some((was, now)) = self.open.pop() {
            self.compare(&was, &now);
        }
    }

    fn compare(&mut self, was: &Siblings, now: &Siblings) {
        let (before, after) = (self.was.items(was), self.now.items(now));
        self.contexts += 1;
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
        for of in kinds {
            let group_was: Vec<_> = before.iter().filter(|it| kind(&self.was, it) == of).collect();
            let group_now: Vec<_> = after.iter().filter(|it| kind(&self.now, it) == of).collect();
            let mut group = Group {
                pairs: vec![None; group_now.len()],
                taken: vec![false; group_was.len()],
                was: group_was,
                now: group_now,
            };
            self.match_group(&mut group, of.0);
            self.go_on(&group);
            if group.is_list() && !is_fixed(of.0) {
                let is_recycled = self.is_recycled(&group);
                self.found.lists.push(ListMatch {
                    siblings: self.contexts,
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
            let clean = same.filter(|before| {
                self.was.is_clean(group.was[*before]) && self.now.is_clean(group.now[after])
            });
            clean.into_iter().for_each(|before| group.put(before, after));
        }
        let (left, right) = (group.left_before(), group.left_after());
        let is_one = matches!((&*left, &*right), ([before], [after]) if same_element[*after] == Some(*before));
        // Cells are told by their column, and what is no list by its element.
        if is_fixed(role) || is_one || !group.is_list() {
            self.match_elements(group, &same_element, usize::MAX);
        }
        if is_fixed(role) {
            self.match_rest(group, role);
            return;
        }
        if group.is_list() {
            self.match_kept(group, &same_element);
        }
        self.match_contents(group, &same_element);
        if group.is_list() {
            self.match_texts(group, &same_element);
            let most = if self.is_recycled(group) { RENAMED } else { usize::MAX };
            self.match_elements(group, &same_element, most);
        }
        self.match_rest(group, role);
    }

    /// Whether an item was matched that is in an element that another item had.
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

    /// Matches items of the same element that still say most of what the item beside them does not: to read all texts of
    /// a long list costs more.
    fn match_kept(&self, group: &mut Group<'_>, same: &[Option<usize>]) {
        for after in group.left_after() {
            let Some(before) = same[after].filter(|before| !group.taken[*before]) else { continue };
            let beside = before.checked_sub(1).or(Some(1)).and_then(|at| group.was.get(at));
            let (old, new) = (group.was[before], group.now[after]);
            if !self.was.may_read(old.len() * 2) || !self.now.may_read(new.len()) {
                return;
            }
            let mut beside = beside.map(|item| self.was.said(item)).into_iter().flatten();
            let (mut now, mut own, mut kept) = (self.now.said(new), 0, 0);
            let mut is_first_kept = true;
            for text in self.was.said(old) {
                let is_kept = now.next() == Some(text);
                if beside.next() == Some(text) {
                    continue;
                }
                is_first_kept &= own > 0 || is_kept;
                own += 1;
                kept += u32::from(is_kept);
            }
            if own > 0 && is_first_kept && kept * 2 >= own && now.next().is_none() {
                group.put(before, after);
            }
        }
    }

    /// Matches items of the same element, if there are so many at most.
    fn match_elements(&self, group: &mut Group<'_>, same: &[Option<usize>], most: usize) {
        let left = group.left_after().into_iter();
        let found: Vec<(usize, usize)> =
            left.filter_map(|at| Some((same[at]?, at))).filter(|it| !group.taken[it.0]).collect();
        if found.len() <= most {
            found.into_iter().for_each(|(before, after)| group.put(before, after));
        }
    }

    /// Matches items that say the same; of several the one of the same element, else the first.
    fn match_contents(&self, group: &mut Group<'_>, same: &[Option<usize>]) {
        let (left, right) = (group.left_before(), group.left_after());
        if left.is_empty() || right.is_empty() {
            return;
        }
        let contents: HashMap<usize, u64> =
            left.iter().filter_map(|at| Some((*at, self.was.content(group.was[*at])?))).collect();
        let mut by_content: HashMap<u64, Vec<usize>> = HashMap::new();
        for at in left.iter().rev().filter(|at| contents.contains_key(at)) {
            by_content.entry(contents[at]).or_default().push(*at);
        }
        let right: Vec<(usize, u64)> = right
            .into_iter()
            .filter_map(|at| Some((at, self.now.content(group.now[at])?)))
            .collect();
        for (after, content) in &right {
            let same = same[*after].filter(|before| !group.taken[*before]);
            if let Some(before) = same.filter(|before| contents.get(before) == Some(content)) {
                group.put(before, *after);
            }
        }
        for (after, content) in right {
            if group.pairs[after].is_some() {
                continue;
            }
            let Some(all) = by_content.get_mut(&content) else { continue };
            while let Some(before) = all.pop() {
                if !group.taken[before] {
                    group.put(before, after);
                    break;
                }
            }
        }
    }

    /// Matches items by the texts that only one of them had and only one of them has.
    fn match_texts(&self, group: &mut Group<'_>, same: &[Option<usize>]) {
        let (left, right) = (group.left_before(), group.left_after());
        if left.is_empty() || right.is_empty() {
            return;
        }
        let unique_was = unique_texts(&self.was, &group.was, &left);
        let unique_now = unique_texts(&self.now, &group.now, &right);
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
            if !group.taken[before] && group.pairs[after].is_none() {
                group.put(before, after);
            }
        }
    }

    /// Matches what is left by its place where that can be nothing else: texts, cells, what has no text, and boxes that
    /// were made anew.
    fn match_rest(&self, group: &mut Group<'_>, role: Role) {
        let (left, right) = (group.left_before(), group.left_after());
        if left.len() != right.len() || role == Role::WebArea {
            return;
        }
        let is_lone = left.len() == 1 && !group.is_list();
        let is_same = |(before, after): (&usize, &usize)| {
            let (before, after) = (group.was[*before], group.now[*after]);
            let says_nothing =
                || self.was.content(before).is_none() && self.now.content(after).is_none();
            self.is_called_same(before, after) && (is_lone || says_nothing())
        };
        let is_by_place = match role {
            Role::Text => left.len() <= RENAMED || !self.is_recycled(group),
            _ => is_fixed(role) || left.iter().zip(&right).all(is_same),
        };
        if is_by_place {
            left.into_iter().zip(right).for_each(|(before, after)| group.put(before, after));
        }
    }

    /// Whether two nodes have the same name in their lines, or no lines.
    fn is_called_same(&self, was: &Range<usize>, now: &Range<usize>) -> bool {
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

    /// Takes the lines of matched items for the same, as far as they say the same, and goes on in the others.
    fn go_on(&mut self, group: &Group<'_>) {
        let pairs = group.pairs.iter().enumerate().filter_map(|(at, it)| Some((at, (*it)?)));
        for (after, before) in pairs {
            let (before, after) = (group.was[before], group.now[after]);
            if self.is_settled(before, after) {
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
                self.found.lines.push((before_line, after_line));
            }
            self.open.push((inside(&self.was, before), inside(&self.now, after)));
        }
    }

    /// Whether the lines of an item are those of the same elements, and say the same. Texts without a line around them are
    /// told apart by their order alone.
    fn is_settled(&self, was: &Range<usize>, now: &Range<usize>) -> bool {
        self.was.own_line(was).is_some()
            && self.was.node(was).element > 0
            && self.was.element(was) == self.now.element(now)
            && self.was.is_clean(was)
            && self.now.is_clean(now)
    }

    /// Pairs the lines of two items one by one, if each has the same role and name.
    fn zip_lines(&mut self, was: &Range<usize>, now: &Range<usize>) -> bool {
        let (before, after) = (self.was.page.lines_of(was), self.now.page.lines_of(now));
        let is_elsewhere = self.was.element(was) != self.now.element(now);
        let is_clean = || self.was.is_clean(was) && self.now.is_clean(now);
        // Where something differs in the same element, what is in it has to be matched one by one.
        if before.len() != after.len()
            || !(is_elsewhere || is_clean())
            || !self.now.may_read(after.len())
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
        self.found
            .lines
            .extend(before.zip(after).map(|(before, after)| (before as u32, after as u32)));
        true
    }
}

/// Texts that only one item has, and how much those of each item weigh together.
struct UniqueTexts {
    by_text: HashMap<u64, (usize, u32)>,
    totals: HashMap<usize, u32>,
}

fn unique_texts(side: &ItemTree<'_>, items: &[&Range<usize>], left: &[usize]) -> UniqueTexts {
    let mut owners: HashMap<u64, Option<(usize, u32)>> = HashMap::new();
    for at in left {
        if !side.may_read(items[*at].len()) {
            continue;
        }
        for (place, text) in side.texts().of(items[*at].clone()).into_iter().enumerate() {
            if text.weight == 0 {
                continue;
            }
            // What stands first is more likely to be a name.
            let weight = text.weight + u32::from(place == 0);
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

/// What is not told by what it says: a cell is told by its column, a document by nothing else.
fn is_fixed(role: Role) -> bool {
    matches!(
        role,
        Role::Cell | Role::GridCell | Role::ColumnHeader | Role::RowHeader | Role::WebArea
    )
}
