//! Repeated structures of a tree: siblings that are built alike, and runs of siblings that repeat.
//!
//! An item is one of several alike, whatever its tags and roles: a row, a card, a `dt` with its `dd`, what stands between
//! two line breaks. Nothing here reads a text.

use crate::ax::{Role, Tree, is_control};
use std::collections::HashSet;
use std::ops::Range;

/// Parents and shapes of all nodes.
pub(super) struct TreeStructure<'t> {
    pub(super) tree: &'t Tree,
    pub(super) parents: Vec<u32>,
    /// Features of the three levels below each node, one bit each.
    shapes: Vec<u64>,
    /// Nodes that are one of several alike and hold a control: items of their own inside of others.
    rows: Vec<bool>,
    /// Elements whose values the caller set: they tell nothing about the page.
    pub(super) edited: HashSet<u32>,
}

/// One item around a target, and the list of items that it is one of.
#[derive(Clone, Debug)]
pub(super) struct ItemLevel {
    /// The nodes of the item.
    pub(super) range: Range<usize>,
    /// The child of the list that the target is in, or is.
    pub(super) child: usize,
    /// The node that the items are in.
    pub(super) parent: usize,
    /// It is a run of siblings, not one of them.
    pub(super) is_run: bool,
    /// All items of the list in reading order, this one too.
    pub(super) items: Vec<Range<usize>>,
}

/// Roles that say "one of many" even where there is only one.
pub(super) fn is_item_role(role: Role) -> bool {
    matches!(
        role,
        Role::Row | Role::ListItem | Role::Article | Role::Option | Role::TreeItem | Role::Comment
    )
}

/// Boxes whose role does not tell what they are for.
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

/// Whether two shapes have at least half of their features in common.
fn is_similar(one: u64, other: u64) -> bool {
    (one & other).count_ones() * 2 >= (one | other).count_ones()
}

/// The most kinds of children that are told apart below one parent.
const MOST_KINDS: usize = 12;

/// Kinds of children: the role and shape of the first one of each, and how many there are.
#[derive(Default)]
struct ChildKinds(Vec<(Role, u64, u32)>);

impl ChildKinds {
    fn add(&mut self, role: Role, shape: u64) -> usize {
        let is_alike = |(other, like, _): &(Role, u64, u32)| {
            *other == role && (!is_box(role) || is_similar(*like, shape))
        };
        match self.0.iter().position(is_alike) {
            Some(at) => {
                self.0[at].2 += 1;
                at
            }
            None if self.0.len() < MOST_KINDS => {
                self.0.push((role, shape, 1));
                self.0.len() - 1
            }
            // Too many kinds to be a list: each of the rest is on its own.
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

    /// The nodes around one, the nearest first, within its document.
    pub(super) fn around(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let above = move |of: usize| {
            let parent = self.parents[of] as usize;
            (parent < of && self.tree.nodes[of].role != Role::WebArea).then_some(parent)
        };
        std::iter::successors(above(index), move |of| above(*of))
    }

    /// Whether what is inside has nothing to do with what stands around it.
    pub(super) fn is_apart(role: Role) -> bool {
        matches!(
            role,
            Role::WebArea | Role::Dialog | Role::AlertDialog | Role::Menu | Role::Tooltip
        )
    }

    /// The items that a node is in, the innermost first; the node itself can be one.
    pub(super) fn levels(&self, target: usize) -> Vec<ItemLevel> {
        let mut found = Vec::new();
        let mut child = target;
        for parent in self.around(target) {
            if Self::is_apart(self.tree.nodes[child].role) {
                break;
            }
            let block = self.block(child, parent);
            if block.items.len() > 1 || is_item_role(self.tree.nodes[child].role) {
                found.push(block);
            }
            found.extend(self.run(child, parent));
            child = parent;
        }
        found
    }

    /// A child and the siblings that are alike.
    pub(super) fn block(&self, child: usize, parent: usize) -> ItemLevel {
        let mut children = Vec::new();
        self.kinds_into(parent, &mut children);
        let own = children.iter().find(|(it, _)| *it == child).map_or(usize::MAX, |it| it.1);
        let alike = |it: &&(usize, usize)| it.0 == child || own != usize::MAX && it.1 == own;
        let items = children.iter().filter(alike).map(|it| self.node_range(it.0)).collect();
        ItemLevel { range: self.node_range(child), child, parent, is_run: false, items }
    }

    /// The run of siblings that a child is in, where such runs repeat.
    pub(super) fn run(&self, child: usize, parent: usize) -> Option<ItemLevel> {
        let mut children = Vec::new();
        self.kinds_into(parent, &mut children);
        let at = children.iter().position(|it| it.0 == child)?;
        let mut splits = self.splits(&children);
        if splits.is_empty() {
            splits.extend(self.periods(&children, at));
            splits.extend(heads(&children).filter(|runs| runs.len() > 1));
        }
        for runs in splits {
            let Some(own) = runs.iter().find(|run| run.contains(&at)) else { continue };
            let mask = |run: &Range<usize>| {
                children[run.clone()].iter().fold(0_u64, |mask, it| mask | 1 << (it.1 % 63))
            };
            let shape = mask(own);
            let alike: Vec<Range<usize>> =
                runs.iter().filter(|run| is_similar(mask(run), shape)).cloned().collect();
            if alike.len() < 2 {
                continue;
            }
            let nodes =
                |run: &Range<usize>| children[run.start].0..self.tree.end(children[run.end - 1].0);
            let items = alike.iter().map(nodes).collect();
            return Some(ItemLevel { range: nodes(own), child, parent, is_run: true, items });
        }
        None
    }

    /// Runs of one length, where children that say the same as this one come back at equal distances: the cells of a
    /// grid without rows.
    fn periods(&self, children: &[(usize, usize)], at: usize) -> Option<Vec<Range<usize>>> {
        let said = |at: usize| -> Vec<(Role, &str)> {
            let nodes = &self.tree.nodes[self.node_range(children[at].0)];
            nodes.iter().map(|node| (node.role, self.tree.name(node))).collect()
        };
        let own = said(at);
        let alike: Vec<usize> = (0..children.len()).filter(|it| said(*it) == own).collect();
        let length = alike.get(1)? - alike.first()?;
        let is_even = alike.windows(2).all(|pair| pair[1] - pair[0] == length);
        // Where the kinds come back sooner, what says the same at longer distances is chance.
        let comes_back = |after: usize| {
            children.len().is_multiple_of(after)
                && children.iter().zip(&children[after..]).all(|(it, next)| it.1 == next.1)
        };
        let is_longer = (2..length).any(comes_back) && !comes_back(1);
        if !is_even || length < 2 || alike[0] >= length || !comes_back(length) || is_longer {
            return None;
        }
        Some((0..children.len() / length).map(|run| run * length..(run + 1) * length).collect())
    }

    /// The ways to split children into runs by what stands between them, the surest first.
    fn splits(&self, children: &[(usize, usize)]) -> Vec<Vec<Range<usize>>> {
        const LEAST: usize = 3;
        let mut found = Vec::new();
        if children.len() < LEAST {
            return found;
        }
        let node = |at: usize| &self.tree.nodes[children[at].0];
        let is_rule = |at: usize| node(at).role == Role::Separator;
        let starts: [&dyn Fn(usize) -> bool; 2] =
            [&|at| node(at).states.is_after_blank_line(), &|at| {
                node(at).states.is_after_line_break()
            }];
        let parted = |is_start: &dyn Fn(usize) -> bool| {
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
            found.push(parted(&|_| false));
        }
        for is_start in starts {
            if (0..children.len()).any(is_start) {
                found.push(parted(is_start));
            }
        }
        found.retain(|runs| runs.len() > 1);
        found
    }
}

/// Runs that begin with the first kind of child that comes back after others.
fn heads(children: &[(usize, usize)]) -> Option<Vec<Range<usize>>> {
    let is_head =
        |at: usize, kind: usize| children[at].1 == kind && (at == 0 || children[at - 1].1 != kind);
    let mut seen = Vec::new();
    for at in 0..children.len() {
        let kind = children[at].1;
        if kind == usize::MAX || seen.contains(&kind) {
            continue;
        }
        seen.push(kind);
        let mut starts: Vec<usize> = (at..children.len()).filter(|at| is_head(*at, kind)).collect();
        if starts.len() < 2 {
            continue;
        }
        // What begins and ends with the same kind can be read in two ways: a run then has both.
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
