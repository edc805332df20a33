//! A view of a tree: which of its nodes are shown, in which order and how deep, and which get a ref.
//!
//! Filtering ends here; [`render`](crate::render) prints what a view lists and leaves nothing out.

mod budget;

use crate::ax::{RefPolicy, RefTiers, Role, Tree, interesting, marks};
use crate::refs::Items;
use crate::render::RenderOptions;
use crate::text::{self, Needle};
use std::collections::HashMap;

/// How deep a snapshot goes unless asked otherwise.
pub const DEFAULT_MAX_DEPTH: u32 = 6;

/// What is to be shown.
#[derive(Clone, Debug)]
pub struct ViewOptions {
    /// Who gets a ref.
    pub policy: RefPolicy,
    /// Only the interesting part, see [`interesting`].
    pub interactive: bool,
    /// A nameless node with nothing in it but one text is shown as one line.
    pub compact: bool,
    /// A text that only repeats the name of what it is in is left out.
    pub skip_repeated: bool,
    /// Nodes below this depth are cut off and counted. Searches and flat lists look at all depths.
    pub max_depth: u32,
    /// Only this node and what is in it.
    pub root: Option<usize>,
    /// Only what has a ref, as a flat list.
    pub refs_only: bool,
    /// Only what has this text in its name, value or text, and what that is in.
    pub find: Option<String>,
    /// How many tokens the phase-7 text may take; what is least useful is folded until it fits.
    pub budget: Option<u32>,
    /// What will be printed of each node: the budget counts it.
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

/// What was left out.
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
    /// How many nodes.
    pub nodes: u32,
    /// How many of them would have had a ref.
    pub refs: u32,
}

/// A line to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewLine {
    /// The node it shows; for a folded part, what it can be unfolded at.
    pub node: u32,
    /// How far it is indented.
    pub depth: u32,
    /// The number of its ref.
    pub number: Option<u32>,
    /// The text that is all there is in it and is shown on the same line.
    pub text: Option<u32>,
    /// Whether something is in it, shown or cut off.
    pub has_children: bool,
    /// It stands for what was folded here to keep to the budget.
    pub folded: Option<Omitted>,
    /// The node by whose name the item is known that it is in, where its own name does not tell; in flat lists.
    pub within: Option<u32>,
    place: u32,
}

/// Where a node is among those that a view could show.
#[derive(Clone, Copy, Debug)]
struct TreePosition {
    parent: u32,
    index: u32,
    depth: u32,
}

/// What is shown of a tree.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The lines, in reading order.
    pub lines: Vec<ViewLine>,
    /// How many of them have a ref, apart from those that stand for a folded part.
    pub refs: u32,
    /// What lies too deep.
    pub cut: Omitted,
    /// What was folded to keep to the budget.
    pub folded: Omitted,
    /// How many options of closed lists a flat list leaves to these.
    pub options: u32,
    /// Only the first tier has refs, see [`RefTiers`].
    pub compacted: bool,
    /// How many nodes have no ref because of that, in the whole tree.
    pub left_out: u32,
    /// How many lines have the text that was searched for, if one was.
    pub matches: Option<u32>,
    /// How many elements there are, shown or not.
    pub elements: u32,
    /// It is of the whole page, nothing was searched for.
    pub is_whole: bool,
    /// How deep the deepest node is that could be shown.
    pub deepest: u32,
    /// The budget that could not be kept: this is the least there is.
    pub exceeds: Option<u32>,
    places: Vec<TreePosition>,
}

impl View {
    /// A view of some of the lines of another.
    pub fn of_lines(lines: Vec<ViewLine>) -> Self {
        Self { lines, ..Self::default() }
    }

    /// How many nodes are shown. A text that shares its line with its parent does not count.
    pub fn node_count(&self) -> u32 {
        self.lines.iter().filter(|line| line.folded.is_none()).count() as u32
    }

    /// How many elements are shown: nodes that are not text.
    pub fn shown_elements(&self, tree: &Tree) -> u32 {
        let is_element = |line: &&ViewLine| {
            line.folded.is_none() && tree.nodes[line.node as usize].role != Role::Text
        };
        self.lines.iter().filter(is_element).count() as u32
    }

    /// How deep a line's node is, and which child each node on the way to it is, in the tree that the view
    /// was made of before a search, a flat list or a budget left anything out. Of a very deep node only the
    /// last part of the way: it is for telling nodes apart, and must not cost the square of the depth.
    pub fn path(&self, line: &ViewLine) -> (u32, Vec<u32>) {
        const LONGEST: usize = 256;
        let Some(place) = self.places.get(line.place as usize) else { return (0, Vec::new()) };
        let mut path = Vec::new();
        let mut at = place;
        while at.depth > 0 && path.len() < LONGEST {
            path.push(at.index);
            at = &self.places[at.parent as usize];
        }
        path.reverse();
        (place.depth, path)
    }

    /// It is of the whole page, and there is nothing on it.
    pub fn is_bare(&self) -> bool {
        let has_text = self.lines.iter().any(|line| line.text.is_some());
        let is_all = self.is_whole && self.cut.nodes == 0 && self.folded.nodes == 0;
        is_all && self.lines.len() <= 1 && !has_text
    }

    /// What a reader should know about what is not shown, and how to see it.
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
            let how = at.map_or_else(
                || "a larger `--budget` shows them".to_owned(),
                |number| format!("`--root @e{number}` unfolds the first"),
            );
            notes.push(format!(
                "{nodes} nodes with {refs} refs are folded to keep to the budget: {how}"
            ));
        }
        if self.options > 0 {
            let options = self.options;
            notes.push(format!(
                "{options} options of closed lists are not listed: `select` takes their labels"
            ));
        }
        if let Some(budget) = self.exceeds {
            notes.push(format!("{budget} tokens are too few: this is the least there is to tell"));
        }
        if self.left_out > 0 {
            notes.push(format!("{} more elements can have refs: `--all-refs`", self.left_out));
        }
        notes
    }
}

/// Numbers for refs: from 1, in the order in which elements are first asked for.
#[derive(Clone, Debug, Default)]
pub struct SequentialRefs {
    numbers: HashMap<(u16, u32), u32>,
}

impl SequentialRefs {
    /// The number of an element; the same each time.
    pub fn number(&mut self, frame: u16, element: u32) -> u32 {
        let next = self.numbers.len() as u32 + 1;
        *self.numbers.entry((frame, element)).or_insert(next)
    }
}

/// Makes a view of a tree. `number` gives the ref of an element; asked again it must give the same one.
pub fn view(tree: &Tree, options: &ViewOptions, number: &mut dyn FnMut(u16, u32) -> u32) -> View {
    let mut marks = marks(tree, options.policy);
    if options.refs_only {
        marks.keep_options(tree);
    }
    let root = options.root.filter(|root| *root < tree.nodes.len()).unwrap_or(0);
    let mut view = list(tree, options, &marks, root);
    if let Some(text) = &options.find {
        find(tree, &mut view, text, &marks);
    }
    if options.refs_only {
        flatten(tree, &mut view, &marks);
    }
    if let Some(budget) = options.budget {
        budget::fold(tree, &marks, &mut view, root, budget, &options.print);
    }
    for line in &mut view.lines {
        let node = &tree.nodes[line.node as usize];
        if line.folded.is_some() {
            // What is folded at the root of the view cannot be unfolded any further.
            let is_unfoldable = line.node as usize != root && node.element > 0;
            line.number = is_unfoldable.then(|| number(node.frame, node.element));
        } else if marks.has_ref(line.node as usize) {
            line.number = Some(number(node.frame, node.element));
            view.refs += 1;
        }
    }
    view
}

/// A line whose children are being listed.
struct OpenLine {
    end: usize,
    /// Its line; none when it is cut off.
    line: Option<u32>,
    children: u32,
    first: u32,
}

/// Lists the nodes that are shown as far as depth allows, without refs.
fn list(tree: &Tree, options: &ViewOptions, marks: &RefTiers, root: usize) -> View {
    let keep = options.interactive.then(|| interesting(tree, marks));
    let max_depth = match options.refs_only || options.find.is_some() {
        true => u32::MAX,
        false => options.max_depth,
    };
    let mut view = View {
        compacted: marks.compacted,
        left_out: marks.left_out,
        is_whole: root == 0 && !options.refs_only && options.find.is_none(),
        ..View::default()
    };
    let mut open: Vec<OpenLine> = Vec::new();
    let range = if tree.nodes.is_empty() { 0..0 } else { root..tree.end(root) };
    for index in range.clone() {
        let node = &tree.nodes[index];
        view.elements += u32::from(node.element > 0);
        while let Some(done) = open.pop_if(|last| last.end <= index) {
            close(tree, options, &mut view, &done);
        }
        let is_shown = match &keep {
            _ if index == root => true,
            _ if is_nothing(tree, index) => marks.has_ref(index),
            Some(keep) => keep[index],
            None => true,
        };
        if !is_shown {
            continue;
        }
        let depth = open.len() as u32;
        view.deepest = view.deepest.max(depth);
        let place = TreePosition {
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
                place: view.places.len() as u32,
            });
            view.places.push(place);
        } else {
            view.cut.nodes += 1;
            view.cut.refs += u32::from(marks.has_ref(index));
        }
        open.push(OpenLine { end, line, children: 0, first: 0 });
    }
    while let Some(done) = open.pop() {
        close(tree, options, &mut view, &done);
    }
    view
}

/// Layout that says nothing.
fn is_nothing(tree: &Tree, index: usize) -> bool {
    let node = &tree.nodes[index];
    match node.role {
        Role::LineBreak | Role::ListMarker => true,
        Role::Text => text::is_blank(tree.name(node)),
        _ => false,
    }
}

/// Ends a line whose children are all listed.
fn close(tree: &Tree, options: &ViewOptions, view: &mut View, done: &OpenLine) {
    let (Some(at), true) = (done.line, done.children > 0) else { return };
    view.lines[at as usize].has_children = true;
    let only = &tree.nodes[done.first as usize];
    if done.children > 1 || only.role != Role::Text || only.states.is_hidden() {
        return;
    }
    let name = tree.name(&tree.nodes[view.lines[at as usize].node as usize]);
    let is_nameless = text::is_blank(name);
    let folds = options.compact && is_nameless;
    let repeats = options.skip_repeated
        && !is_nameless
        && text::collapse(name) == text::collapse(tree.name(only));
    if !folds && !repeats {
        return;
    }
    // The text is the last thing listed, or the last thing cut off.
    match view.lines.last() {
        Some(last) if last.node == done.first => {
            view.lines.pop();
            view.places.pop();
        }
        _ => view.cut.nodes = view.cut.nodes.saturating_sub(1),
    }
    let line = &mut view.lines[at as usize];
    line.has_children = false;
    line.text = folds.then_some(done.first);
}

/// Keeps the lines that have a text, what they are in, and where there are few what can be done about them: the
/// controls of the same item.
fn find(tree: &Tree, view: &mut View, wanted: &str, marks: &RefTiers) {
    const FEW: u32 = 20;
    let mut needle = Needle::new(wanted);
    let mut matches = 0;
    let mut matched = vec![false; view.lines.len()];
    for (at, line) in view.lines.iter().enumerate() {
        let node = &tree.nodes[line.node as usize];
        let text = line.text.map_or("", |only| tree.name(&tree.nodes[only as usize]));
        let texts = [tree.name(node), tree.value(node), text];
        matched[at] = texts.iter().any(|text| !text.is_empty() && needle.is_in(text));
        matches += u32::from(matched[at]);
    }
    let mut keep = matched.clone();
    if (1..=FEW).contains(&matches) {
        let items = Items::new(tree);
        for (line, _) in view.lines.iter().zip(&matched).filter(|(_, matched)| **matched) {
            for control in items.controls(tree, line.node as usize, |it| marks.has_ref(it)) {
                if let Ok(at) = view.lines.binary_search_by_key(&(control as u32), |it| it.node) {
                    keep[at] = true;
                }
            }
        }
    }
    // The depth below which the last kept line still misses the lines it is in.
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

/// Keeps the lines that have a ref, as a flat list. What has no name is told by the first text in it.
fn flatten(tree: &Tree, view: &mut View, marks: &RefTiers) {
    const FAR: usize = 64;
    view.lines.retain_mut(|line| {
        let index = line.node as usize;
        if !marks.has_ref(index) {
            return false;
        }
        (line.depth, line.has_children) = (0, false);
        if line.text.is_none() && text::is_blank(tree.name(&tree.nodes[index])) {
            let inside = index + 1..tree.end(index).min(index + FAR);
            let is_text =
                |inner: &usize| tree.nodes[*inner].role == Role::Text && !is_nothing(tree, *inner);
            line.text = inside.clone().find(is_text).map(|inner| inner as u32);
        }
        true
    });
    fold_options(tree, view);
    tell_apart(tree, view);
}

/// Leaves the options of a long closed list to its own line: nobody can see them, and they are chosen by their labels.
fn fold_options(tree: &Tree, view: &mut View) {
    const MANY: usize = 100;
    const SOME: usize = 5;
    let mut lines = Vec::with_capacity(view.lines.len());
    let mut unlisted = 0;
    let mut rest = &view.lines[..];
    while let Some((line, after)) = rest.split_first() {
        lines.push(*line);
        rest = after;
        let index = line.node as usize;
        let node = &tree.nodes[index];
        if node.role != Role::ComboBox || node.expanded == Some(true) {
            continue;
        }
        let end = tree.end(index);
        // What is in a list of its own is drawn when it is told.
        let is_closed = !(index..end).any(|inner| tree.nodes[inner].role == Role::ListBox);
        let is_option = |line: &&ViewLine| {
            (line.node as usize) < end && tree.nodes[line.node as usize].role == Role::Option
        };
        let options = rest.iter().take_while(is_option).count();
        if is_closed && options > MANY {
            lines.extend_from_slice(&rest[..SOME]);
            let more = (options - SOME) as u32;
            unlisted += more;
            lines.push(ViewLine {
                text: None,
                folded: Some(Omitted { nodes: more, refs: more }),
                place: u32::MAX,
                ..*line
            });
            rest = &rest[options..];
        }
    }
    view.lines = lines;
    view.options = unlisted;
}

/// Says which item it is of what is called the same in several, once for each item, unless a name before it in the
/// same item has told.
fn tell_apart(tree: &Tree, view: &mut View) {
    let called = |line: &ViewLine| {
        let node = &tree.nodes[line.node as usize];
        let named = line.text.map_or(node, |only| &tree.nodes[only as usize]);
        (node.role, tree.name(named))
    };
    let mut counts: HashMap<(Role, &str), u32> = HashMap::new();
    let listed = || view.lines.iter().filter(|line| line.folded.is_none());
    for line in listed() {
        *counts.entry(called(line)).or_default() += 1;
    }
    let is_repeated = |line: &ViewLine| counts[&called(line)] > 1;
    if !listed().any(|line| line.folded.is_none() && is_repeated(line)) {
        return;
    }
    let items = Items::new(tree);
    let mut told = None;
    let mut labels = Vec::with_capacity(view.lines.len());
    for line in &view.lines {
        let index = line.node as usize;
        let item = items.around(index).find(|item| *item != index);
        let is_told = item.is_none() || item == told;
        let label = match line.folded.is_none() && !is_told && is_repeated(line) {
            true => item.and_then(|item| items.label(tree, item, index)),
            false => None,
        };
        let tells = |label: &usize| tree.name(&tree.nodes[*label]) != called(line).1;
        let label = label.filter(tells);
        labels.push(label.map(|label| label as u32));
        told = item;
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
