//! Repeated structures of a tree: similar siblings, and repeating runs of siblings.
//!
//! An item is one of several similar structures, whatever its tags and roles: a row, a card, a `dt` with its
//! `dd`, the nodes between two line breaks. Nothing here reads a text.

use crate::ax::{Role, Tree, is_control};
use std::collections::HashSet;
use std::ops::Range;

/// Parents and shapes of all nodes.
pub(super) struct TreeStructure<'t> {
    pub(super) tree: &'t Tree,
    pub(super) parents: Vec<u32>,
    /// Features of the three levels below each node, one bit each.
    shapes: Vec<u64>,
    /// Repeated nodes that contain a control: inner items within others.
    rows: Vec<bool>,
    /// Elements whose values the caller set: they say nothing about the page.
    pub(super) edited: HashSet<u32>,
}

/// An item that contains a target, and the list it belongs to.
#[derive(Clone, Debug)]
pub(super) struct ItemLevel {
    /// The nodes of the item.
    pub(super) range: Range<usize>,
    /// The child of the list that contains the target, or is it.
    pub(super) child: usize,
    /// The list node.
    pub(super) parent: usize,
    /// It is a run of siblings, not a single one.
    pub(super) is_run: bool,
    /// All items of the list in document order, including this one.
    pub(super) items: Vec<Range<usize>>,
}

/// Roles of items, even of a single one.
pub(super) fn is_item_role(role: Role) -> bool {
    matches!(
        role,
        Role::Row | Role::ListItem | Role::Article | Role::Option | Role::TreeItem | Role::Comment
    )
}

/// Roles of boxes without a specific purpose.
fn is_box(role: Role) -> bool {
    matches!(
        role,
        Role::Generic
            | Role::Group
            | Role::Region
            | Role::Unknown
            | Role::Paragraph
            | Role::List
            | Role::Form
            | Role::Table
            | Role::RowGroup
            | Role::Label
    )
}

/// True when two shapes have at least half of their features in common.
fn is_similar(one: u64, other: u64) -> bool {
    (one & other).count_ones() * 2 >= (one | other).count_ones()
}

/// Maximum number of distinct kinds of children of one parent.
const MAX_KINDS: usize = 12;

/// Kinds of children: the role and shape of the first of each, and their count.
#[derive(Default)]
struct ChildKinds(Vec<(Role, u64, u32)>);

impl ChildKinds {
    fn add(&mut self, role: Role, shape: u64) -> usize {
        let is_same_kind = |(other, like, _): &(Role, u64, u32)| {
            *other == role && (!is_box(role) || is_similar(*like, shape))
        };
        match self.0.iter().position(is_same_kind) {
            Some(at) => {
                self.0[at].2 += 1;
                at
            }
            None if self.0.len() < MAX_KINDS => {
                self.0.push((role, shape, 1));
                self.0.len() - 1
            }
            // Too many kinds for a list: each of the rest is on its own.
            None => usize::MAX,
        }
    }

    fn count(&self, kind: usize) -> u32 {
        self.0.get(kind).map_or(1, |it| it.2)
    }
}

impl<'t> TreeStructure<'t> {
    pub(super) fn new(tree: &'t Tree, edited: &HashSet<u32>) -> Self {
        let parents = tree.parents();
        let count = tree.nodes.len();
        let mut near = vec![0_u64; count];
        let mut middle = vec![0_u64; count];
        let mut far = vec![0_u64; count];
        let mut holds_control = vec![false; count];
        for index in (1..count).rev() {
            let parent = parents[index] as usize;
            let role = tree.nodes[index].role as u32;
            near[parent] |= 1 << (role.wrapping_mul(37) % 64);
            middle[parent] |= near[index].rotate_left(role.wrapping_mul(11) % 63 + 1);
            far[parent] |= middle[index].rotate_left(role.wrapping_mul(29) % 63 + 1);
            if holds_control[index] || is_control(&tree.nodes[index]) {
                holds_control[parent] = true;
            }
        }
        let shapes: Vec<u64> =
            (0..count).map(|index| near[index] | middle[index] | far[index]).collect();
        let mut structure =
            Self { tree, parents, shapes, rows: vec![false; count], edited: edited.clone() };
        let mut children: Vec<(usize, usize)> = Vec::new();
        for parent in 0..count {
            if tree.end(parent) <= parent + 1 {
                continue;
            }
            let kinds = structure.kinds_into(parent, &mut children);
            for (child, kind) in &children {
                let is_one = kinds.count(*kind) > 1 || is_item_role(tree.nodes[*child].role);
                structure.rows[*child] = is_one && holds_control[*child];
            }
        }
        structure
    }

    fn kinds_into(&self, parent: usize, children: &mut Vec<(usize, usize)>) -> ChildKinds {
        let mut kinds = ChildKinds::default();
        children.clear();
        children.extend(
            self.tree
                .children(parent)
                .map(|child| (child, kinds.add(self.tree.nodes[child].role, self.shapes[child]))),
        );
        kinds
    }

    pub(super) fn is_row(&self, index: usize) -> bool {
        self.rows[index]
    }

    fn node_range(&self, index: usize) -> Range<usize> {
        index..self.tree.end(index)
    }

    /// The ancestors of a node, nearest first, within its document.
    pub(super) fn ancestors(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let parent_of = move |of: usize| {
            let parent = self.parents[of] as usize;
            (parent < of && self.tree.nodes[of].role != Role::WebArea).then_some(parent)
        };
        std::iter::successors(parent_of(index), move |of| parent_of(*of))
    }

    /// Roles whose content is unrelated to their surroundings.
    pub(super) fn is_self_contained(role: Role) -> bool {
        matches!(
            role,
            Role::WebArea | Role::Dialog | Role::AlertDialog | Role::Menu | Role::Tooltip
        )
    }

    /// The items that contain a node, innermost first; the node itself can be one.
    pub(super) fn levels(&self, target: usize) -> Vec<ItemLevel> {
        let mut found = Vec::new();
        let mut child = target;
        for parent in self.ancestors(target) {
            if Self::is_self_contained(self.tree.nodes[child].role) {
                break;
            }
            let siblings = self.similar_siblings(child, parent);
            if siblings.items.len() > 1 || is_item_role(self.tree.nodes[child].role) {
                found.push(siblings);
            }
            found.extend(self.run(child, parent));
            child = parent;
        }
        found
    }

    /// A child with its similar siblings.
    pub(super) fn similar_siblings(&self, child: usize, parent: usize) -> ItemLevel {
        let mut children = Vec::new();
        self.kinds_into(parent, &mut children);
        let own = children.iter().find(|(it, _)| *it == child).map_or(usize::MAX, |it| it.1);
        let similar = |it: &&(usize, usize)| it.0 == child || own != usize::MAX && it.1 == own;
        let items = children.iter().filter(similar).map(|it| self.node_range(it.0)).collect();
        ItemLevel { range: self.node_range(child), child, parent, is_run: false, items }
    }

    /// The run of siblings that contains a child, where such runs repeat.
    pub(super) fn run(&self, child: usize, parent: usize) -> Option<ItemLevel> {
        let mut children = Vec::new();
        self.kinds_into(parent, &mut children);
        let at = children.iter().position(|it| it.0 == child)?;
        let mut splits = self.splits(&children);
        if splits.is_empty() {
            splits.extend(self.periods(&children, at));
            splits.extend(runs_by_first_kind(&children).filter(|runs| runs.len() > 1));
        }
        for runs in splits {
            let Some(own) = runs.iter().find(|run| run.contains(&at)) else { continue };
            let mask = |run: &Range<usize>| {
                children[run.clone()].iter().fold(0_u64, |mask, it| mask | 1 << (it.1 % 63))
            };
            let shape = mask(own);
            let similar: Vec<Range<usize>> =
                runs.iter().filter(|run| is_similar(mask(run), shape)).cloned().collect();
            if similar.len() < 2 {
                continue;
            }
            let nodes =
                |run: &Range<usize>| children[run.start].0..self.tree.end(children[run.end - 1].0);
            let items = similar.iter().map(nodes).collect();
            return Some(ItemLevel { range: nodes(own), child, parent, is_run: true, items });
        }
        None
    }

    /// Runs of one length, where children with the same text come back at equal distances: the cells of a
    /// grid without rows.
    fn periods(&self, children: &[(usize, usize)], at: usize) -> Option<Vec<Range<usize>>> {
        let texts = |at: usize| -> Vec<(Role, &str)> {
            let nodes = &self.tree.nodes[self.node_range(children[at].0)];
            nodes.iter().map(|node| (node.role, self.tree.name(node))).collect()
        };
        let own = texts(at);
        let similar: Vec<usize> = (0..children.len()).filter(|it| texts(*it) == own).collect();
        let length = similar.get(1)? - similar.first()?;
        let is_even = similar.windows(2).all(|pair| pair[1] - pair[0] == length);
        // Where the kinds come back sooner, equal texts at longer distances are chance.
        let repeats_after = |after: usize| {
            children.len().is_multiple_of(after)
                && children.iter().zip(&children[after..]).all(|(it, next)| it.1 == next.1)
        };
        let is_longer = (2..length).any(repeats_after) && !repeats_after(1);
        if !is_even || length < 2 || similar[0] >= length || !repeats_after(length) || is_longer {
            return None;
        }
        Some((0..children.len() / length).map(|run| run * length..(run + 1) * length).collect())
    }

    /// The ways to split children into runs by separators, the surest first.
    fn splits(&self, children: &[(usize, usize)]) -> Vec<Vec<Range<usize>>> {
        const MIN_CHILDREN: usize = 3;
        let mut found = Vec::new();
        if children.len() < MIN_CHILDREN {
            return found;
        }
        let node = |at: usize| &self.tree.nodes[children[at].0];
        let is_rule = |at: usize| node(at).role == Role::Separator;
        let starts: [&dyn Fn(usize) -> bool; 2] =
            [&|at| node(at).states.is_after_blank_line(), &|at| {
                node(at).states.is_after_line_break()
            }];
        let split = |is_start: &dyn Fn(usize) -> bool| {
            let mut runs = Vec::new();
            let mut from = 0;
            for at in 0..=children.len() {
                if at == children.len() || is_rule(at) || is_start(at) {
                    if at > from {
                        runs.push(from..at);
                    }
                    from = if at < children.len() && is_rule(at) { at + 1 } else { at };
                }
            }
            runs
        };
        if (0..children.len()).any(is_rule) {
            found.push(split(&|_| false));
        }
        for is_start in starts {
            if (0..children.len()).any(is_start) {
                found.push(split(is_start));
            }
        }
        found.retain(|runs| runs.len() > 1);
        found
    }
}

/// Runs that begin with the first kind of child that comes back after others.
fn runs_by_first_kind(children: &[(usize, usize)]) -> Option<Vec<Range<usize>>> {
    let is_head =
        |at: usize, kind: usize| children[at].1 == kind && (at == 0 || children[at - 1].1 != kind);
    let mut tried = Vec::new();
    for at in 0..children.len() {
        let kind = children[at].1;
        if kind == usize::MAX || tried.contains(&kind) {
            continue;
        }
        tried.push(kind);
        let mut starts: Vec<usize> = (at..children.len()).filter(|at| is_head(*at, kind)).collect();
        if starts.len() < 2 {
            continue;
        }
        // Children that begin and end with the same kind are ambiguous: a run then has both.
        let is_open =
            starts.last().is_some_and(|last| children[*last..].iter().all(|it| it.1 == kind));
        starts.push(children.len());
        let mut runs: Vec<Range<usize>> = starts.windows(2).map(|pair| pair[0]..pair[1]).collect();
        if is_open {
            let last = runs.pop()?;
            let mut before = runs.last_mut()?;
            before.end = last.end;
            for index in (0..runs.len().saturating_sub(1)).rev() {
                let next = runs[index + 1].start;
                let length = children[next..].iter().take_while(|it| it.1 == kind).count();
                before = &mut runs[index];
                before.end = next + length;
            }
        }
        return Some(runs);
    }
    None
}
