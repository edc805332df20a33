//! Keeping to a budget: what is least useful is folded until the text fits.
//!
//! Every line has a rank: refs before headings before text, and the further down a run of similar siblings or
//! the deeper a text, the lower. Lines are taken by rank until the budget is spent. What is not taken is
//! told where it is missing, once for each container, with the ref to unfold it at.

use super::{Omitted, View, ViewLine};
use crate::ax::{Node, RefTiers, Role, Tree};
use crate::refs::Items;
use crate::render::{RenderOptions, cost, fixed_cost};

/// Ranks are few, so that choosing among them takes one look at each line.
const RANKS: usize = 64;

/// The size from which a folded part is told on its own and not with the others in its container.
const LARGE: u32 = 8;

/// How many parts of one container are told on their own.
const MOST_PARTS: usize = 4;

/// Folds what does not fit.
pub(super) fn fold(
    tree: &Tree,
    marks: &RefTiers,
    view: &mut View,
    root: usize,
    budget: u32,
    print: &RenderOptions,
) {
    let costs = costs(tree, marks, &view.lines, print);
    let whole = budget;
    let budget = budget.saturating_sub(fixed_cost(view, print));
    if costs.iter().sum::<u32>() <= budget {
        return;
    }
    if view.lines.len() < 2 {
        view.exceeds = Some(whole);
        return;
    }
    let ranks = ranks(tree, marks, &view.lines, root);
    // What tells of folded parts costs too, and how much is known only when they are chosen. So the most that
    // lines may take is searched for; with the first line alone when nothing else fits.
    let mut first_alone = vec![false; view.lines.len()];
    first_alone[0] = true;
    let mut best = None;
    let (mut low, mut high) = (0, budget);
    for step in 0..9 {
        let target = if step == 0 { budget } else { low + (high - low) / 2 };
        let shown = choose(&costs, &ranks, target);
        let notes = notes(tree, marks, &view.lines, &shown, root);
        let spent: u32 =
            costs.iter().zip(&shown).filter(|(_, is)| **is).map(|(cost, _)| cost).sum();
        let told: u32 = notes.iter().map(|note| cost_of_note(tree, note, print)).sum();
        if spent + told <= budget {
            best = Some((shown, notes));
            low = target;
        } else {
            high = target;
        }
        if high - low <= budget / 128 {
            break;
        }
    }
    view.exceeds = best.is_none().then_some(whole);
    let (shown, notes) = best.unwrap_or_else(|| {
        let notes = notes(tree, marks, &view.lines, &first_alone, root);
        (first_alone, notes)
    });
    put(view, &shown, notes);
}

/// The tokens of each line.
fn costs(tree: &Tree, marks: &RefTiers, lines: &[ViewLine], print: &RenderOptions) -> Vec<u32> {
    let mut text = String::new();
    let number = |line: &ViewLine| marks.has_ref(line.node as usize).then_some(1);
    let with_ref = |line: &ViewLine| ViewLine { number: number(line), ..*line };
    lines.iter().map(|line| cost(tree, &with_ref(line), print, &mut text)).collect()
}

/// How useful each line is; at least as useful as the best line in it.
fn ranks(tree: &Tree, marks: &RefTiers, lines: &[ViewLine], root: usize) -> Vec<u8> {
    let repetition = repetition(tree, root);
    let own = |line: &ViewLine| {
        let index = line.node as usize;
        let node = &tree.nodes[index];
        let base = base(node, marks.has_ref(index), line.depth);
        base.saturating_sub(3 * repetition[index - root]).min(RANKS as u8 - 1)
    };
    let mut owns: Vec<u8> = lines.iter().map(own).collect();
    keep_items_whole(tree, marks, lines, &mut owns);
    let mut ranks = vec![0; lines.len()];
    // The best rank of the lines so far whose parent has not come yet, by depth.
    let mut best: Vec<u8> = Vec::new();
    for (at, line) in lines.iter().enumerate().rev() {
        let depth = line.depth as usize;
        if best.len() < depth + 2 {
            best.resize(depth + 2, 0);
        }
        ranks[at] = owns[at].max(std::mem::take(&mut best[depth + 1]));
        best[depth] = best[depth].max(ranks[at]);
    }
    if let Some(first) = ranks.first_mut() {
        *first = RANKS as u8 - 1;
    }
    ranks
}

/// Gives what is in an item the rank of the best in it: of many alike a few are told whole, and the others counted. A
/// control without the name of its item is of no use.
fn keep_items_whole(tree: &Tree, marks: &RefTiers, lines: &[ViewLine], ranks: &mut [u8]) {
    const MOST_LINES: usize = 12;
    const LONG: usize = 200;
    let items = Items::new(tree);
    let mut at = 0;
    while at < lines.len() {
        let range_of = |item: usize| {
            let first = lines.partition_point(|line| (line.node as usize) < item);
            first..lines.partition_point(|line| (line.node as usize) < tree.end(item))
        };
        let ranges = items.around(lines[at].node as usize).map(range_of);
        let small = ranges.take_while(|range| range.len() <= MOST_LINES).last();
        let has_ref = |at: usize| marks.has_ref(lines[at].node as usize);
        let Some(range) = small.filter(|range| range.clone().any(has_ref)) else {
            at += 1;
            continue;
        };
        let best = ranks[range.clone()].iter().copied().max().unwrap_or_default();
        for inner in range.clone() {
            if tree.name(&tree.nodes[lines[inner].node as usize]).len() <= LONG {
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
        // What the page is about.
        Role::Heading if node.level == 1 => 47,
        Role::Heading => 44 - 2 * (node.level.min(6) as u8),
        Role::Iframe => 30,
        _ if node.states.is_silent() || node.states.is_cut() => 30,
        Role::Text => 16 + shallow,
        _ => 8 + shallow,
    }
}

/// How far down runs of similar siblings each node is, from `root` on: the sum of the logarithms of its own
/// place and that of everything it is in.
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
            let known = parent.runs.iter().position(|(run, _)| *run == Some(role));
            let run = known.unwrap_or_else(|| {
                parent.runs.swap(0, 1);
                parent.runs[0] = (Some(role), 0);
                0
            });
            let before = parent.runs[run].1;
            parent.runs[run].1 += 1;
            let place = (1 + before / 2).ilog2() as u8;
            sum = parent.sum.saturating_add(place).min(20);
        }
        sums.push(sum);
        open.push(Open { end: tree.end(index), sum, runs: [(None, 0); 2] });
    }
    sums
}

/// Takes lines by rank, and in reading order within the last rank, until the target is reached.
fn choose(costs: &[u32], ranks: &[u8], target: u32) -> Vec<bool> {
    let mut by_rank = [0_u32; RANKS];
    for (cost, rank) in costs.iter().zip(ranks) {
        by_rank[*rank as usize] += cost;
    }
    let mut left = target;
    let mut lowest = RANKS;
    while lowest > 0 && by_rank[lowest - 1] <= left {
        lowest -= 1;
        left -= by_rank[lowest];
    }
    // What a line is in has at least its rank and comes before it, so no line is taken without that.
    let mut is_full = false;
    let mut take = |(cost, rank): (&u32, &u8)| {
        let rank = *rank as usize;
        if rank + 1 == lowest && !is_full {
            is_full = *cost > left;
            left = left.saturating_sub(*cost);
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

/// What tells of a folded part.
struct FoldMarker {
    /// The node before which it stands.
    before: u32,
    line: ViewLine,
}

/// A part of a container that is folded as a whole.
struct FoldedSubtree {
    node: u32,
    folded: Omitted,
}

/// A node in which something is shown, while its children are looked at.
struct Container {
    index: u32,
    end: usize,
    /// What the parts in it can be unfolded at: itself, or the nearest element it is in.
    node: u32,
    /// How deep the lines in it are.
    depth: u32,
    parts: Vec<FoldedSubtree>,
}

/// What tells of everything that is not shown.
fn notes(
    tree: &Tree,
    marks: &RefTiers,
    lines: &[ViewLine],
    shown: &[bool],
    root: usize,
) -> Vec<FoldMarker> {
    let end = tree.end(root);
    let is_flat = lines.get(1).is_some_and(|line| line.depth == 0);
    // For each node from the root: lines shown, lines hidden and refs hidden before it.
    let mut sums = vec![(0_u32, 0_u32, 0_u32); end - root + 1];
    let mut depths = vec![None; end - root];
    for (line, is_shown) in lines.iter().zip(shown) {
        let at = line.node as usize - root;
        let is_ref = u32::from(marks.has_ref(line.node as usize));
        sums[at + 1] = if *is_shown { (1, 0, 0) } else { (0, 1, is_ref) };
        depths[at] = is_shown.then_some(line.depth);
    }
    for at in 1..sums.len() {
        let (before, here) = (sums[at - 1], sums[at]);
        sums[at] = (before.0 + here.0, before.1 + here.1, before.2 + here.2);
    }
    let mut notes = Vec::new();
    let mut open: Vec<Container> = Vec::new();
    let mut index = root;
    while index < end {
        while let Some(done) = open.pop_if(|last| last.end <= index) {
            tell(tree, &done, open.last_mut(), &mut notes);
        }
        let until = tree.end(index).min(open.last().map_or(end, |outer| outer.end));
        let (first, last) = (sums[index - root], sums[until - root]);
        if first.0 == last.0 {
            let folded = Omitted { nodes: last.1 - first.1, refs: last.2 - first.2 };
            if let Some(container) = open.last_mut().filter(|_| folded.nodes > 0) {
                container.parts.push(FoldedSubtree { node: index as u32, folded });
            }
            index = until;
            continue;
        }
        // In a flat list a line can go while one that was in it stays.
        let own = sums[index + 1 - root];
        if let Some(container) = open.last_mut().filter(|_| own.1 > first.1) {
            let folded = Omitted { nodes: own.1 - first.1, refs: own.2 - first.2 };
            container.parts.push(FoldedSubtree { node: index as u32, folded });
        }
        let (outer, outer_depth) = open.last().map_or((root as u32, 0), |it| (it.node, it.depth));
        open.push(Container {
            index: index as u32,
            end: until,
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
    while let Some(done) = open.pop() {
        tell(tree, &done, open.last_mut(), &mut notes);
    }
    // Inner containers were told first and stay first.
    notes.sort_by_key(|note| note.before);
    notes
}

/// Adds what tells of a container's parts: a few large ones on their own, the others together at its end, or
/// together with what is missing around it when they are few.
fn tell(
    tree: &Tree,
    container: &Container,
    outer: Option<&mut Container>,
    notes: &mut Vec<FoldMarker>,
) {
    let mut note = |before: u32, node: u32, folded: Omitted| {
        notes.push(FoldMarker {
            before,
            line: ViewLine {
                node,
                depth: container.depth,
                number: None,
                text: None,
                has_children: false,
                folded: Some(folded),
                within: None,
                place: u32::MAX,
            },
        });
    };
    let is_large =
        |part: &&FoldedSubtree| part.folded.nodes >= LARGE && can_unfold(tree, part.node as usize);
    let on_their_own = (1..=MOST_PARTS).contains(&container.parts.iter().filter(is_large).count());
    let mut together = Omitted::default();
    let mut only = None;
    let mut count = 0;
    for part in &container.parts {
        if on_their_own && is_large(&part) {
            note(part.node, part.node, part.folded);
            continue;
        }
        together.nodes += part.folded.nodes;
        together.refs += part.folded.refs;
        only = can_unfold(tree, part.node as usize).then_some(part.node);
        count += 1;
    }
    if let Some(outer) = outer.filter(|_| count > 0 && together.nodes < LARGE) {
        let node = only.filter(|_| count == 1).unwrap_or(container.index);
        outer.parts.push(FoldedSubtree { node, folded: together });
    } else if count > 0 {
        let node = only.filter(|_| count == 1).unwrap_or(container.node);
        note(container.end as u32, node, together);
    }
}

/// Whether a node is an element that has something in it and can be pointed at.
fn can_unfold(tree: &Tree, index: usize) -> bool {
    let node = &tree.nodes[index];
    node.element > 0
        && !matches!(node.role, Role::WebArea | Role::Text)
        && tree.end(index) > index + 1
}

fn cost_of_note(tree: &Tree, note: &FoldMarker, print: &RenderOptions) -> u32 {
    cost(tree, &ViewLine { number: Some(1), ..note.line }, print, &mut String::new())
}

/// Leaves out the lines that are not shown and puts in what tells of them.
fn put(view: &mut View, shown: &[bool], notes: Vec<FoldMarker>) {
    let mut lines = Vec::with_capacity(view.lines.len());
    let all = &mut view.folded;
    let mut add = |lines: &mut Vec<ViewLine>, note: FoldMarker| {
        let folded = note.line.folded.unwrap_or_default();
        all.nodes += folded.nodes;
        all.refs += folded.refs;
        lines.push(note.line);
    };
    let mut notes = notes.into_iter().peekable();
    for (line, is_shown) in view.lines.iter().zip(shown) {
        if !*is_shown {
            continue;
        }
        while let Some(note) = notes.next_if(|note| note.before <= line.node) {
            add(&mut lines, note);
        }
        lines.push(*line);
    }
    notes.for_each(|note| add(&mut lines, note));
    view.lines = lines;
}
