//! Token budget: folds the least useful lines until the text fits.
//!
//! Every line has a rank: refs before headings before text; the further down a run of similar siblings, or
//! the deeper a text, the lower. Lines are chosen by rank until the budget is spent. The rest is replaced by
//! fold markers, one for each container, with the ref to unfold it at.

use super::{Omitted, View, ViewLine};
use crate::ax::{Node, RefTiers, Role, Tree};
use crate::refs::Items;
use crate::render::{RenderOptions, cost, fixed_cost};

/// Number of ranks: few, so that choosing takes one pass over the lines.
const RANKS: usize = 64;

/// Minimum size of a folded subtree with a marker of its own.
const LARGE_PART: u32 = 8;

/// Maximum number of subtrees of one container with a marker of their own.
const MAX_SEPARATE_PARTS: usize = 4;

/// Folds the lines that do not fit the budget.
pub(super) fn fold(
    tree: &Tree,
    tiers: &RefTiers,
    view: &mut View,
    root: usize,
    budget: u32,
    options: &RenderOptions,
) {
    let costs = costs(tree, tiers, &view.lines, options);
    let total = budget;
    let budget = budget.saturating_sub(fixed_cost(view, options));
    if costs.iter().sum::<u32>() <= budget {
        return;
    }
    if view.lines.len() < 2 {
        view.exceeds = Some(total);
        return;
    }
    let ranks = ranks(tree, tiers, &view.lines, root);
    // Fold markers cost tokens, too, and their cost is known only after the choice. So a binary search finds
    // the largest target for lines; if nothing fits, only the first line remains.
    let mut only_first = vec![false; view.lines.len()];
    only_first[0] = true;
    let mut best = None;
    let (mut low, mut high) = (0, budget);
    for step in 0..9 {
        let target = if step == 0 { budget } else { low + (high - low) / 2 };
        let shown = choose(&costs, &ranks, target);
        let markers = fold_markers(tree, tiers, &view.lines, &shown, root);
        let spent: u32 =
            costs.iter().zip(&shown).filter(|(_, is)| **is).map(|(cost, _)| cost).sum();
        let marker_cost: u32 =
            markers.iter().map(|marker| cost_of_marker(tree, marker, options)).sum();
        if spent + marker_cost <= budget {
            best = Some((shown, markers));
            low = target;
        } else {
            high = target;
        }
        if high - low <= budget / 128 {
            break;
        }
    }
    view.exceeds = best.is_none().then_some(total);
    let (shown, markers) = best.unwrap_or_else(|| {
        let markers = fold_markers(tree, tiers, &view.lines, &only_first, root);
        (only_first, markers)
    });
    replace_folded(view, &shown, markers);
}

/// The token cost of each line.
fn costs(tree: &Tree, tiers: &RefTiers, lines: &[ViewLine], options: &RenderOptions) -> Vec<u32> {
    let mut text = String::new();
    let number = |line: &ViewLine| tiers.has_ref(line.node as usize).then_some(1);
    let with_ref = |line: &ViewLine| ViewLine { number: number(line), ..*line };
    lines.iter().map(|line| cost(tree, &with_ref(line), options, &mut text)).collect()
}

/// The rank of each line; at least the highest rank among its descendants.
fn ranks(tree: &Tree, tiers: &RefTiers, lines: &[ViewLine], root: usize) -> Vec<u8> {
    let repetition = repetition(tree, root);
    let own_rank = |line: &ViewLine| {
        let index = line.node as usize;
        let node = &tree.nodes[index];
        let base = base(node, tiers.has_ref(index), line.depth);
        base.saturating_sub(3 * repetition[index - root]).min(RANKS as u8 - 1)
    };
    let mut own_ranks: Vec<u8> = lines.iter().map(own_rank).collect();
    raise_whole_items(tree, tiers, lines, &mut own_ranks);
    let mut ranks = vec![0; lines.len()];
    // Highest rank of the lines so far whose parent has not come yet, by depth.
    let mut best: Vec<u8> = Vec::new();
    for (at, line) in lines.iter().enumerate().rev() {
        let depth = line.depth as usize;
        if best.len() < depth + 2 {
            best.resize(depth + 2, 0);
        }
        ranks[at] = own_ranks[at].max(std::mem::take(&mut best[depth + 1]));
        best[depth] = best[depth].max(ranks[at]);
    }
    if let Some(first) = ranks.first_mut() {
        *first = RANKS as u8 - 1;
    }
    ranks
}

/// Raises the lines of an item to its highest rank: of many similar items a few are shown whole and the
/// others counted. A control without the name of its item is of no use.
fn raise_whole_items(tree: &Tree, tiers: &RefTiers, lines: &[ViewLine], ranks: &mut [u8]) {
    const MAX_ITEM_LINES: usize = 12;
    const LONG_NAME: usize = 200;
    let items = Items::new(tree);
    let mut at = 0;
    while at < lines.len() {
        let range_of = |item: usize| {
            let first = lines.partition_point(|line| (line.node as usize) < item);
            first..lines.partition_point(|line| (line.node as usize) < tree.end(item))
        };
        let ranges = items.items_around(lines[at].node as usize).map(range_of);
        let small = ranges.take_while(|range| range.len() <= MAX_ITEM_LINES).last();
        let has_ref = |at: usize| tiers.has_ref(lines[at].node as usize);
        let Some(range) = small.filter(|range| range.clone().any(has_ref)) else {
            at += 1;
            continue;
        };
        let best = ranks[range.clone()].iter().copied().max().unwrap_or_default();
        for inner in range.clone() {
            if tree.name(&tree.nodes[lines[inner].node as usize]).len() <= LONG_NAME {
                ranks[inner] = best;
            }
        }
        at = range.end.max(at + 1);
    }
}

fn base(node: &Node, has_ref: bool, depth: u32) -> u8 {
    let shallow = 8 - depth.min(8) as u8;
    match node.role {
        Role::Dialog | Role::AlertDialog | Role::Alert => 56,
        _ if node.states.is_modal() || node.states.is_focused() => 56,
        _ if has_ref && node.states.is_disabled() => 42,
        _ if has_ref => 46,
        // The subject of the page.
        Role::Heading if node.level == 1 => 47,
        Role::Heading => 44 - 2 * (node.level.min(6) as u8),
        Role::Iframe => 30,
        _ if node.states.is_silent() || node.states.is_cut() => 30,
        Role::Text => 16 + shallow,
        _ => 8 + shallow,
    }
}

/// Position of each node in runs of similar siblings, from `root` on: the sum of the logarithms of its own
/// position and those of its ancestors.
fn repetition(tree: &Tree, root: usize) -> Vec<u8> {
    struct Open {
        end: usize,
        sum: u8,
        // Runs often alternate between two roles, such as a term and its definition.
        runs: [(Option<Role>, u32); 2],
    }
    let end = if tree.nodes.is_empty() { root } else { tree.end(root) };
    let mut open: Vec<Open> = Vec::new();
    let mut sums = Vec::with_capacity(end - root);
    for index in root..end {
        while open.pop_if(|last| last.end <= index).is_some() {}
        let role = tree.nodes[index].role;
        let mut sum = 0;
        if let Some(parent) = open.last_mut() {
            let position = parent.runs.iter().position(|(run, _)| *run == Some(role));
            let run = position.unwrap_or_else(|| {
                parent.runs.swap(0, 1);
                parent.runs[0] = (Some(role), 0);
                0
            });
            let before = parent.runs[run].1;
            parent.runs[run].1 += 1;
            let weight = (1 + before / 2).ilog2() as u8;
            sum = parent.sum.saturating_add(weight).min(20);
        }
        sums.push(sum);
        open.push(Open { end: tree.end(index), sum, runs: [(None, 0); 2] });
    }
    sums
}

/// Chooses lines by rank, and in document order within the lowest rank, until the target is reached.
fn choose(costs: &[u32], ranks: &[u8], target: u32) -> Vec<bool> {
    let mut by_rank = [0_u32; RANKS];
    for (cost, rank) in costs.iter().zip(ranks) {
        by_rank[*rank as usize] += cost;
    }
    let mut remaining = target;
    let mut lowest = RANKS;
    while lowest > 0 && by_rank[lowest - 1] <= remaining {
        lowest -= 1;
        remaining -= by_rank[lowest];
    }
    // A parent line has at least the rank of its children and comes before them, so no line is chosen without
    // it.
    let mut is_full = false;
    let mut take = |(cost, rank): (&u32, &u8)| {
        let rank = *rank as usize;
        if rank + 1 == lowest && !is_full {
            is_full = *cost > remaining;
            remaining = remaining.saturating_sub(*cost);
            return !is_full;
        }
        rank >= lowest
    };
    let mut shown: Vec<bool> = costs.iter().zip(ranks).map(&mut take).collect();
    if let Some(first) = shown.first_mut() {
        *first = true;
    }
    shown
}

/// A line that stands for folded lines.
struct FoldMarker {
    /// The node it comes before.
    before: u32,
    line: ViewLine,
}

/// A subtree of a container that is folded as a whole.
struct FoldedSubtree {
    node: u32,
    folded: Omitted,
}

/// A partly shown node whose children are being processed.
struct Container {
    index: u32,
    end: usize,
    /// The node to unfold its folded parts at: itself, or its nearest ancestor element.
    node: u32,
    /// Depth of its child lines.
    depth: u32,
    parts: Vec<FoldedSubtree>,
}

/// Builds the fold markers for everything that is not shown.
fn fold_markers(
    tree: &Tree,
    tiers: &RefTiers,
    lines: &[ViewLine],
    shown: &[bool],
    root: usize,
) -> Vec<FoldMarker> {
    let end = tree.end(root);
    let is_flat = lines.get(1).is_some_and(|line| line.depth == 0);
    // Prefix sums for each node from the root: lines shown, lines hidden and refs hidden before it.
    let mut sums = vec![(0_u32, 0_u32, 0_u32); end - root + 1];
    let mut depths = vec![None; end - root];
    for (line, is_shown) in lines.iter().zip(shown) {
        let at = line.node as usize - root;
        let is_ref = u32::from(tiers.has_ref(line.node as usize));
        sums[at + 1] = if *is_shown { (1, 0, 0) } else { (0, 1, is_ref) };
        depths[at] = is_shown.then_some(line.depth);
    }
    for at in 1..sums.len() {
        let (before, here) = (sums[at - 1], sums[at]);
        sums[at] = (before.0 + here.0, before.1 + here.1, before.2 + here.2);
    }
    let mut markers = Vec::new();
    let mut open: Vec<Container> = Vec::new();
    let mut index = root;
    while index < end {
        while let Some(container) = open.pop_if(|last| last.end <= index) {
            add_markers(tree, &container, open.last_mut(), &mut markers);
        }
        let subtree_end = tree.end(index).min(open.last().map_or(end, |outer| outer.end));
        let (first, last) = (sums[index - root], sums[subtree_end - root]);
        if first.0 == last.0 {
            let folded = Omitted { nodes: last.1 - first.1, refs: last.2 - first.2 };
            if let Some(container) = open.last_mut().filter(|_| folded.nodes > 0) {
                container.parts.push(FoldedSubtree { node: index as u32, folded });
            }
            index = subtree_end;
            continue;
        }
        // In a flat list a line can be folded while a line of its descendants is shown.
        let own = sums[index + 1 - root];
        if let Some(container) = open.last_mut().filter(|_| own.1 > first.1) {
            let folded = Omitted { nodes: own.1 - first.1, refs: own.2 - first.2 };
            container.parts.push(FoldedSubtree { node: index as u32, folded });
        }
        let (outer, outer_depth) = open.last().map_or((root as u32, 0), |it| (it.node, it.depth));
        open.push(Container {
            index: index as u32,
            end: subtree_end,
            node: if can_unfold(tree, index) { index as u32 } else { outer },
            depth: match depths[index - root] {
                Some(_) if is_flat => 0,
                Some(depth) => depth + 1,
                None => outer_depth,
            },
            parts: Vec::new(),
        });
        index += 1;
    }
    while let Some(container) = open.pop() {
        add_markers(tree, &container, open.last_mut(), &mut markers);
    }
    // Stable: markers of inner containers come first.
    markers.sort_by_key(|marker| marker.before);
    markers
}

/// Adds the fold markers of a container: a few large subtrees on their own, the others together at its end,
/// or with those of the outer container when they are few.
fn add_markers(
    tree: &Tree,
    container: &Container,
    outer: Option<&mut Container>,
    markers: &mut Vec<FoldMarker>,
) {
    let mut marker = |before: u32, node: u32, folded: Omitted| {
        markers.push(FoldMarker {
            before,
            line: ViewLine {
                node,
                depth: container.depth,
                number: None,
                text: None,
                has_children: false,
                folded: Some(folded),
                within: None,
                position: u32::MAX,
            },
        });
    };
    let is_large = |part: &&FoldedSubtree| {
        part.folded.nodes >= LARGE_PART && can_unfold(tree, part.node as usize)
    };
    let has_separate =
        (1..=MAX_SEPARATE_PARTS).contains(&container.parts.iter().filter(is_large).count());
    let mut rest = Omitted::default();
    let mut only = None;
    let mut count = 0;
    for part in &container.parts {
        if has_separate && is_large(&part) {
            marker(part.node, part.node, part.folded);
            continue;
        }
        rest.nodes += part.folded.nodes;
        rest.refs += part.folded.refs;
        only = can_unfold(tree, part.node as usize).then_some(part.node);
        count += 1;
    }
    if let Some(outer) = outer.filter(|_| count > 0 && rest.nodes < LARGE_PART) {
        let node = only.filter(|_| count == 1).unwrap_or(container.index);
        outer.parts.push(FoldedSubtree { node, folded: rest });
    } else if count > 0 {
        let node = only.filter(|_| count == 1).unwrap_or(container.node);
        marker(container.end as u32, node, rest);
    }
}

/// True for an element with children that can have a ref.
fn can_unfold(tree: &Tree, index: usize) -> bool {
    let node = &tree.nodes[index];
    node.element > 0
        && !matches!(node.role, Role::WebArea | Role::Text)
        && tree.end(index) > index + 1
}

fn cost_of_marker(tree: &Tree, marker: &FoldMarker, options: &RenderOptions) -> u32 {
    cost(tree, &ViewLine { number: Some(1), ..marker.line }, options, &mut String::new())
}

/// Removes the folded lines and inserts the fold markers.
fn replace_folded(view: &mut View, shown: &[bool], markers: Vec<FoldMarker>) {
    let mut lines = Vec::with_capacity(view.lines.len());
    let all = &mut view.folded;
    let mut add = |lines: &mut Vec<ViewLine>, marker: FoldMarker| {
        let folded = marker.line.folded.unwrap_or_default();
        all.nodes += folded.nodes;
        all.refs += folded.refs;
        lines.push(marker.line);
    };
    let mut markers = markers.into_iter().peekable();
    for (line, is_shown) in view.lines.iter().zip(shown) {
        if !*is_shown {
            continue;
        }
        while let Some(marker) = markers.next_if(|marker| marker.before <= line.node) {
            add(&mut lines, marker);
        }
        lines.push(*line);
    }
    markers.for_each(|marker| add(&mut lines, marker));
    view.lines = lines;
}
