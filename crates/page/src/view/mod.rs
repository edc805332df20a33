//! A view of a tree: its shown nodes with order, depth and refs.
//!
//! All filtering happens here; [`render`](crate::render) prints every line of a view.

mod budget;

use crate::ax::{RefPolicy, RefTiers, Role, Tree, interesting, ref_tiers};
use crate::refs::Items;
use crate::render::RenderOptions;
use crate::text::{self, Needle};
use std::collections::HashMap;

/// Default depth limit of a snapshot.
pub const DEFAULT_MAX_DEPTH: u32 = 6;

/// Options of a view.
#[derive(Clone, Debug)]
pub struct ViewOptions {
    /// Rule by which nodes get refs.
    pub policy: RefPolicy,
    /// Only the interesting part, see [`interesting`].
    pub interactive: bool,
    /// Merge a nameless node with its only child into one line, if that is a text.
    pub compact: bool,
    /// Omit a text that repeats the name of its parent.
    pub skip_repeated: bool,
    /// Depth limit; deeper nodes are counted. Searches and flat lists have none.
    pub max_depth: u32,
    /// Root of the view: only this node and its descendants.
    pub root: Option<usize>,
    /// Only nodes with a ref, as a flat list.
    pub refs_only: bool,
    /// Only nodes with this text in their name, value or text, and their ancestors.
    pub find: Option<String>,
    /// Token budget of the phase-7 text; the least useful lines are folded until it fits.
    pub budget: Option<u32>,
    /// Render options, which determine the cost of each line.
    pub print: RenderOptions,
}

impl Default for ViewOptions {
    fn default() -> Self {
        Self {
            policy: RefPolicy::WebAi,
            interactive: true,
            compact: true,
            skip_repeated: false,
            max_depth: DEFAULT_MAX_DEPTH,
            root: None,
            refs_only: false,
            find: None,
            budget: None,
            print: RenderOptions::default(),
        }
    }
}

/// Counts of omitted nodes.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
pub struct Omitted {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of those that would have a ref.
    pub refs: u32,
}

/// A line of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewLine {
    /// Its node; for a fold marker, the node to unfold at.
    pub node: u32,
    /// Indentation depth.
    pub depth: u32,
    /// Number of its ref.
    pub number: Option<u32>,
    /// Its only child, a text shown on the same line.
    pub text: Option<u32>,
    /// True when it has children, shown or omitted.
    pub has_children: bool,
    /// Set for a fold marker: counts of the lines folded here to keep to the budget.
    pub folded: Option<Omitted>,
    /// In flat lists: the node whose name labels the item that contains the line, where its own name is
    /// ambiguous.
    pub within: Option<u32>,
    position: u32,
}

/// Position of a node in the unfiltered view.
#[derive(Clone, Copy, Debug)]
struct TreePosition {
    parent: u32,
    index: u32,
    depth: u32,
}

/// The shown part of a tree.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The lines in document order.
    pub lines: Vec<ViewLine>,
    /// Number of lines with a ref, without fold markers.
    pub refs: u32,
    /// Nodes below the depth limit.
    pub cut: Omitted,
    /// Nodes folded to keep to the budget.
    pub folded: Omitted,
    /// Number of options of closed lists that a flat list omits.
    pub options: u32,
    /// Only the first tier has refs, see [`RefTiers`].
    pub compacted: bool,
    /// Number of nodes without a ref because of that, in the whole tree.
    pub left_out: u32,
    /// Number of lines that match the search text, if there is one.
    pub matches: Option<u32>,
    /// Number of elements, shown or not.
    pub elements: u32,
    /// A view of the whole page, not a search.
    pub is_whole: bool,
    /// Depth of the deepest node, shown or not.
    pub deepest: u32,
    /// The budget that could not be kept: the view is already minimal.
    pub exceeds: Option<u32>,
    positions: Vec<TreePosition>,
}

impl View {
    /// Creates a view from some lines of another.
    pub fn of_lines(lines: Vec<ViewLine>) -> Self {
        Self { lines, ..Self::default() }
    }

    /// Number of shown nodes. A text on its parent's line does not count.
    pub fn node_count(&self) -> u32 {
        self.lines.iter().filter(|line| line.folded.is_none()).count() as u32
    }

    /// Number of shown elements: nodes other than text.
    pub fn element_count(&self, tree: &Tree) -> u32 {
        let is_element = |line: &&ViewLine| {
            line.folded.is_none() && tree.nodes[line.node as usize].role != Role::Text
        };
        self.lines.iter().filter(is_element).count() as u32
    }

    /// Depth of a line's node, and the child indexes on the path to it, in the unfiltered view. For a very
    /// deep node the path has only its last part: it distinguishes nodes, and must not cost the square of the
    /// depth.
    pub fn path(&self, line: &ViewLine) -> (u32, Vec<u32>) {
        const MAX_PATH: usize = 256;
        let Some(position) = self.positions.get(line.position as usize) else {
            return (0, Vec::new());
        };
        let mut path = Vec::new();
        let mut at = position;
        while at.depth > 0 && path.len() < MAX_PATH {
            path.push(at.index);
            at = &self.positions[at.parent as usize];
        }
        path.reverse();
        (position.depth, path)
    }

    /// True for a view of the whole page that has no content.
    pub fn is_empty_page(&self) -> bool {
        let has_text = self.lines.iter().any(|line| line.text.is_some());
        let is_complete = self.is_whole && self.cut.nodes == 0 && self.folded.nodes == 0;
        is_complete && self.lines.len() <= 1 && !has_text
    }

    /// Notes on omitted nodes, and the option that shows each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.cut.nodes > 0 {
            let (Omitted { nodes, refs }, deepest) = (self.cut, self.deepest);
            notes.push(format!(
                "{nodes} nodes with {refs} refs lie deeper and are not shown: `--max-depth {deepest}`"
            ));
        }
        if self.folded.nodes > 0 {
            let Omitted { nodes, refs } = self.folded;
            let at =
                self.lines.iter().find_map(|line| line.number.filter(|_| line.folded.is_some()));
            let hint = at.map_or_else(
                || "a larger `--budget` shows them".to_owned(),
                |number| format!("`--root @e{number}` unfolds the first"),
            );
            notes.push(format!(
                "{nodes} nodes with {refs} refs are folded to keep to the budget: {hint}"
            ));
        }
        if self.options > 0 {
            let options = self.options;
            notes.push(format!(
                "{options} options of closed lists are not listed: `select` takes their labels"
            ));
        }
        if let Some(budget) = self.exceeds {
            notes.push(format!("{budget} tokens are too few: this is the shortest possible text"));
        }
        if self.left_out > 0 {
            notes.push(format!("{} more elements can have refs: `--all-refs`", self.left_out));
        }
        notes
    }
}

/// Ref numbers from 1, in the order in which elements are first requested.
#[derive(Clone, Debug, Default)]
pub struct SequentialRefs {
    numbers: HashMap<(u16, u32), u32>,
}

impl SequentialRefs {
    /// The number of an element, stable over calls.
    pub fn number(&mut self, frame: u16, element: u32) -> u32 {
        let next = self.numbers.len() as u32 + 1;
        *self.numbers.entry((frame, element)).or_insert(next)
    }
}

/// Creates a view of a tree. `number` returns the ref number of an element and must be stable over calls.
pub fn view(tree: &Tree, options: &ViewOptions, number: &mut dyn FnMut(u16, u32) -> u32) -> View {
    let mut tiers = ref_tiers(tree, options.policy);
    if options.refs_only {
        tiers.promote_options(tree);
    }
    let root = options.root.filter(|root| *root < tree.nodes.len()).unwrap_or(0);
    let mut view = list(tree, options, &tiers, root);
    if let Some(text) = &options.find {
        find(tree, &mut view, text, &tiers);
    }
    if options.refs_only {
        flatten(tree, &mut view, &tiers);
    }
    if let Some(budget) = options.budget {
        budget::fold(tree, &tiers, &mut view, root, budget, &options.print);
    }
    for line in &mut view.lines {
        let node = &tree.nodes[line.node as usize];
        if line.folded.is_some() {
            // Lines folded at the root of the view cannot be unfolded any further.
            let is_unfoldable = line.node as usize != root && node.element > 0;
            line.number = is_unfoldable.then(|| number(node.frame, node.element));
        } else if tiers.has_ref(line.node as usize) {
            line.number = Some(number(node.frame, node.element));
            view.refs += 1;
        }
    }
    view
}

/// A line whose children are being listed.
struct OpenLine {
    end: usize,
    /// Index of its line; `None` when it is omitted.
    line: Option<u32>,
    children: u32,
    first: u32,
}

/// Lists the shown nodes down to the depth limit, without refs.
fn list(tree: &Tree, options: &ViewOptions, tiers: &RefTiers, root: usize) -> View {
    let keep = options.interactive.then(|| interesting(tree, tiers));
    let max_depth = match options.refs_only || options.find.is_some() {
        true => u32::MAX,
        false => options.max_depth,
    };
    let mut view = View {
        compacted: tiers.compacted,
        left_out: tiers.left_out,
        is_whole: root == 0 && !options.refs_only && options.find.is_none(),
        ..View::default()
    };
    let mut open: Vec<OpenLine> = Vec::new();
    let range = if tree.nodes.is_empty() { 0..0 } else { root..tree.end(root) };
    for index in range.clone() {
        let node = &tree.nodes[index];
        view.elements += u32::from(node.element > 0);
        while let Some(complete) = open.pop_if(|last| last.end <= index) {
            complete_line(tree, options, &mut view, &complete);
        }
        let is_shown = match &keep {
            _ if index == root => true,
            _ if is_layout_only(tree, index) => tiers.has_ref(index),
            Some(keep) => keep[index],
            None => true,
        };
        if !is_shown {
            continue;
        }
        let depth = open.len() as u32;
        view.deepest = view.deepest.max(depth);
        let position = TreePosition {
            parent: open.last().and_then(|parent| parent.line).unwrap_or(0),
            index: open.last().map_or(0, |parent| parent.children),
            depth,
        };
        let mut end = tree.end(index);
        if let Some(parent) = open.last_mut() {
            if parent.children == 0 {
                parent.first = index as u32;
            }
            parent.children += 1;
            end = end.min(parent.end);
        }
        let mut line = None;
        if depth <= max_depth {
            line = Some(view.lines.len() as u32);
            view.lines.push(ViewLine {
                node: index as u32,
                depth,
                number: None,
                text: None,
                has_children: false,
                folded: None,
                within: None,
                position: view.positions.len() as u32,
            });
            view.positions.push(position);
        } else {
            view.cut.nodes += 1;
            view.cut.refs += u32::from(tiers.has_ref(index));
        }
        open.push(OpenLine { end, line, children: 0, first: 0 });
    }
    while let Some(complete) = open.pop() {
        complete_line(tree, options, &mut view, &complete);
    }
    view
}

/// True for line breaks, list markers and blank text.
fn is_layout_only(tree: &Tree, index: usize) -> bool {
    let node = &tree.nodes[index];
    match node.role {
        Role::LineBreak | Role::ListMarker => true,
        Role::Text => text::is_blank(tree.name(node)),
        _ => false,
    }
}

/// Completes a line whose children are all listed.
fn complete_line(tree: &Tree, options: &ViewOptions, view: &mut View, complete: &OpenLine) {
    let (Some(at), true) = (complete.line, complete.children > 0) else { return };
    view.lines[at as usize].has_children = true;
    let only = &tree.nodes[complete.first as usize];
    if complete.children > 1 || only.role != Role::Text || only.states.is_hidden() {
        return;
    }
    let name = tree.name(&tree.nodes[view.lines[at as usize].node as usize]);
    let is_nameless = text::is_blank(name);
    let merges = options.compact && is_nameless;
    let repeats = options.skip_repeated
        && !is_nameless
        && text::collapse(name) == text::collapse(tree.name(only));
    if !merges && !repeats {
        return;
    }
    // The text is the last listed node, or the last omitted one.
    match view.lines.last() {
        Some(last) if last.node == complete.first => {
            view.lines.pop();
            view.positions.pop();
        }
        _ => view.cut.nodes = view.cut.nodes.saturating_sub(1),
    }
    let line = &mut view.lines[at as usize];
    line.has_children = false;
    line.text = merges.then_some(complete.first);
}

/// Filters the lines to those that match a text, their ancestors, and for few matches the controls of the
/// same item.
fn find(tree: &Tree, view: &mut View, query: &str, tiers: &RefTiers) {
    const FEW_MATCHES: u32 = 20;
    let mut needle = Needle::new(query);
    let mut matches = 0;
    let mut matched = vec![false; view.lines.len()];
    for (at, line) in view.lines.iter().enumerate() {
        let node = &tree.nodes[line.node as usize];
        let text = line.text.map_or("", |only| tree.name(&tree.nodes[only as usize]));
        let texts = [tree.name(node), tree.value(node), text];
        matched[at] = texts.iter().any(|text| !text.is_empty() && needle.is_contained_in(text));
        matches += u32::from(matched[at]);
    }
    let mut keep = matched.clone();
    if (1..=FEW_MATCHES).contains(&matches) {
        let items = Items::new(tree);
        for (line, _) in view.lines.iter().zip(&matched).filter(|(_, matched)| **matched) {
            for control in items.controls(tree, line.node as usize, |it| tiers.has_ref(it)) {
                if let Ok(at) = view.lines.binary_search_by_key(&(control as u32), |it| it.node) {
                    keep[at] = true;
                }
            }
        }
    }
    // Depth below which the last kept line still lacks its ancestors.
    let mut missing = 0;
    for (at, line) in view.lines.iter().enumerate().rev() {
        if keep[at] || line.depth < missing {
            keep[at] = true;
            missing = line.depth;
        }
    }
    retain(view, &keep);
    view.matches = Some(matches);
}

/// Filters the lines to those with a ref, as a flat list. A nameless node shows the first text in it.
fn flatten(tree: &Tree, view: &mut View, tiers: &RefTiers) {
    const MAX_DISTANCE: usize = 64;
    view.lines.retain_mut(|line| {
        let index = line.node as usize;
        if !tiers.has_ref(index) {
            return false;
        }
        (line.depth, line.has_children) = (0, false);
        if line.text.is_none() && text::is_blank(tree.name(&tree.nodes[index])) {
            let descendants = index + 1..tree.end(index).min(index + MAX_DISTANCE);
            let is_text = |inner: &usize| {
                tree.nodes[*inner].role == Role::Text && !is_layout_only(tree, *inner)
            };
            line.text = descendants.clone().find(is_text).map(|inner| inner as u32);
        }
        true
    });
    fold_options(tree, view);
    label_items(tree, view);
}

/// Folds the options of a long closed list: they are invisible, and selected by their labels.
fn fold_options(tree: &Tree, view: &mut View) {
    const MANY_OPTIONS: usize = 100;
    const LISTED_OPTIONS: usize = 5;
    let mut lines = Vec::with_capacity(view.lines.len());
    let mut unlisted = 0;
    let mut remaining = &view.lines[..];
    while let Some((line, after)) = remaining.split_first() {
        lines.push(*line);
        remaining = after;
        let index = line.node as usize;
        let node = &tree.nodes[index];
        if node.role != Role::ComboBox || node.expanded == Some(true) {
            continue;
        }
        let end = tree.end(index);
        // Options inside a listbox are visible when they are in the tree.
        let is_closed = !(index..end).any(|inner| tree.nodes[inner].role == Role::ListBox);
        let is_option = |line: &&ViewLine| {
            (line.node as usize) < end && tree.nodes[line.node as usize].role == Role::Option
        };
        let options = remaining.iter().take_while(is_option).count();
        if is_closed && options > MANY_OPTIONS {
            lines.extend_from_slice(&remaining[..LISTED_OPTIONS]);
            let more = (options - LISTED_OPTIONS) as u32;
            unlisted += more;
            lines.push(ViewLine {
                text: None,
                folded: Some(Omitted { nodes: more, refs: more }),
                position: u32::MAX,
                ..*line
            });
            remaining = &remaining[options..];
        }
    }
    view.lines = lines;
    view.options = unlisted;
}

/// Labels the item of lines with ambiguous names, once for each item.
fn label_items(tree: &Tree, view: &mut View) {
    let role_and_name = |line: &ViewLine| {
        let node = &tree.nodes[line.node as usize];
        let named = line.text.map_or(node, |only| &tree.nodes[only as usize]);
        (node.role, tree.name(named))
    };
    let mut counts: HashMap<(Role, &str), u32> = HashMap::new();
    let listed = || view.lines.iter().filter(|line| line.folded.is_none());
    for line in listed() {
        *counts.entry(role_and_name(line)).or_default() += 1;
    }
    let is_repeated = |line: &ViewLine| counts[&role_and_name(line)] > 1;
    if !listed().any(|line| line.folded.is_none() && is_repeated(line)) {
        return;
    }
    let items = Items::new(tree);
    let mut labeled = None;
    let mut labels = Vec::with_capacity(view.lines.len());
    for line in &view.lines {
        let index = line.node as usize;
        let item = items.items_around(index).find(|item| *item != index);
        let is_labeled = item.is_none() || item == labeled;
        let label = match line.folded.is_none() && !is_labeled && is_repeated(line) {
            true => item.and_then(|item| items.label(tree, item, index)),
            false => None,
        };
        let distinguishes = |label: &usize| tree.name(&tree.nodes[*label]) != role_and_name(line).1;
        let label = label.filter(distinguishes);
        labels.push(label.map(|label| label as u32));
        labeled = item;
    }
    for (line, label) in view.lines.iter_mut().zip(labels) {
        line.within = label;
    }
}

fn retain(view: &mut View, keep: &[bool]) {
    let mut keep = keep.iter();
    view.lines.retain(|_| keep.next().copied().unwrap_or(false));
}

#[cfg(test)]
mod tests;
