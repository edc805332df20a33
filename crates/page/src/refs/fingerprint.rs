//! Fingerprint of an element: its role, its name and the item or part of the page that it is in.

use super::identity::{IdentityChange, ListDistinction, TargetItem, TextScope, judge};
use super::page_parts::{is_landmark, is_section};
use super::structure::{ItemLevel, TreeStructure};
use super::tokens::{ItemToken, TextForm, tokens};
use crate::ax::{Role, Tree, is_control};
use crate::text;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// The longest name that is collected from content, in bytes.
const LONGEST: usize = 120;

/// How many nodes are looked at for a name.
pub(super) const FAR: usize = 200;

/// An element as a reader knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Its role.
    pub role: Role,
    /// Its accessible name; without one, the text in it.
    pub name: String,
    /// The item, heading or landmark that it belongs to.
    pub container: Option<Container>,
    /// The document it is in.
    pub document: Arc<str>,
}

/// The item or part of the page that an element belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its role.
    pub role: Role,
    /// What tells it from others.
    pub label: String,
}

impl Fingerprint {
    /// The fingerprint of a node.
    pub fn new(tree: &Tree, index: usize) -> Self {
        let structure = TreeStructure::new(tree, &HashSet::new());
        Self {
            container: container(&structure, index),
            ..Self::without_numbers_and_times(tree, index)
        }
    }

    /// The fingerprint without what is around the node.
    pub(super) fn without_numbers_and_times(tree: &Tree, index: usize) -> Self {
        let node = &tree.nodes[index];
        let document = tree.frames.get(usize::from(node.frame)).map_or("", |it| &*it.document);
        let document = Arc::from(document);
        Self { role: node.role, name: name(tree, index), container: None, document }
    }
}

/// The accessible name of a node; without one, the text in it.
pub fn name(tree: &Tree, index: usize) -> String {
    let own = text::collapse(tree.name(&tree.nodes[index]));
    if !own.is_empty() {
        return own.into_owned();
    }
    let mut name = String::new();
    for inner in index + 1..tree.end(index).min(index + FAR) {
        let node = &tree.nodes[inner];
        if node.role == Role::Text && !text::is_blank(tree.name(node)) {
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(&text::collapse(tree.name(node)));
            if name.len() >= LONGEST {
                break;
            }
        }
    }
    // Parts that tell nothing one by one can be a number when they are put together.
    text::cut_chars(&crate::mask::mask(&name), LONGEST).into_owned()
}

/// Whether a node is a box with things of its own rather than a control that is called by its text.
pub(super) fn is_container(structure: &TreeStructure<'_>, index: usize) -> bool {
    let tree = structure.tree;
    let node = &tree.nodes[index];
    if node.states.is_name_given() || tree.end(index) <= index + 1 || node.role == Role::ComboBox {
        return false;
    }
    let holds_control = (index + 1..tree.end(index)).any(|it| is_control(&tree.nodes[it]));
    // `Cart` with a badge beside it is called that; a card that is a link holds several texts.
    let counts = |it: &ItemToken| !is_control(node) || it.form < TextForm::Number;
    let said = tokens(structure, index..tree.end(index), &(0..0));
    holds_control || said.iter().filter(|it| counts(it)).count() > 1
}

/// The nodes that belong to a target alone.
pub(super) fn own_nodes(structure: &TreeStructure<'_>, index: usize) -> Range<usize> {
    if is_container(structure, index) { 0..0 } else { index..structure.tree.end(index) }
}

/// The items that a target is in or is, the innermost first.
pub(super) fn items_of(structure: &TreeStructure<'_>, index: usize) -> Vec<ItemLevel> {
    let mut levels = structure.levels(index);
    let is_own = levels.first().is_some_and(|it| it.child == index && !it.is_run);
    if !is_own && is_container(structure, index) {
        levels.insert(0, alone(structure, index));
    }
    levels
}

/// A node as the only item of its list.
pub(super) fn alone(structure: &TreeStructure<'_>, index: usize) -> ItemLevel {
    let range = index..structure.tree.end(index);
    let parent = structure.parents[index] as usize;
    ItemLevel { range: range.clone(), child: index, parent, is_run: false, items: vec![range] }
}

/// What an element belongs to: the innermost item that has an identity, or a part of the page.
fn container(structure: &TreeStructure<'_>, index: usize) -> Option<Container> {
    if let Some((level, judgement)) = identified(structure, index, &items_of(structure, index)) {
        let label = judgement.was;
        if !label.is_empty() {
            return Some(Container { role: role_of(structure, level), label });
        }
    }
    let (_, role, label) = part_of_page(structure, index)?;
    Some(Container { role, label })
}

/// The item that tells what a target is about: the innermost of those that are told apart best.
pub(super) fn identified<'l>(
    structure: &TreeStructure<'_>,
    index: usize,
    levels: &'l [ItemLevel],
) -> Option<(&'l ItemLevel, IdentityChange)> {
    let own = own_nodes(structure, index);
    let mut best: Option<(&ItemLevel, IdentityChange)> = None;
    for level in levels {
        let side = TargetItem { structure, level, target: index, own: own.clone() };
        let judgement = judge(&side, &side, &TextScope::Innermost);
        if judgement.strength > best.as_ref().map_or(ListDistinction::None, |it| it.1.strength) {
            best = Some((level, judgement));
        }
    }
    best
}

/// The role by which an item is named in a message.
pub(super) fn role_of(structure: &TreeStructure<'_>, level: &ItemLevel) -> Role {
    match level.is_run {
        true => Role::Group,
        false => structure.tree.nodes[level.child].role,
    }
}

/// The heading right before an element, or the part of the page it is in, whichever is nearer: its node, role and name.
pub(super) fn part_of_page(
    structure: &TreeStructure<'_>,
    index: usize,
) -> Option<(usize, Role, String)> {
    const NEAR: usize = 3;
    let tree = structure.tree;
    let mut inner = index;
    let mut far = 0;
    for container in structure.around(index) {
        let before = tree.children(container).take_while(|child| *child < inner);
        let is_heading = |child: &usize| {
            tree.nodes[*child].role == Role::Heading
                && !text::is_blank(tree.name(&tree.nodes[*child]))
        };
        if far < NEAR
            && let Some(heading) = before.filter(is_heading).last()
        {
            return Some((heading, Role::Heading, tree.name(&tree.nodes[heading]).to_owned()));
        }
        inner = container;
        let role = tree.nodes[container].role;
        // A heading above a table is as near to its cells as to the table.
        far += usize::from(!is_part_of_table(role));
        let node = &tree.nodes[container];
        if is_collection(role) && node.states.is_name_given() && !text::is_blank(tree.name(node)) {
            return Some((container, role, tree.name(node).to_owned()));
        }
        if is_section(role) {
            let label = section_label(tree, container);
            if is_landmark(role) || !text::is_blank(&label) || TreeStructure::is_apart(role) {
                return Some((container, role, label));
            }
        }
        // What comes up over a page is not in what stands before it there.
        if TreeStructure::is_apart(role) {
            return None;
        }
    }
    None
}

/// Roles that hold items, and are named by authors for what these are.
fn is_collection(role: Role) -> bool {
    matches!(
        role,
        Role::Table | Role::Grid | Role::TreeGrid | Role::List | Role::ListBox | Role::Tree
    )
}

fn is_part_of_table(role: Role) -> bool {
    matches!(
        role,
        Role::Cell
            | Role::GridCell
            | Role::RowHeader
            | Role::Row
            | Role::RowGroup
            | Role::Table
            | Role::Grid
            | Role::TreeGrid
    )
}

fn section_label(tree: &Tree, section: usize) -> String {
    let node = &tree.nodes[section];
    let name = tree.name(node);
    if !text::is_blank(name) || is_landmark(node.role) {
        return name.to_owned();
    }
    let inside = section + 1..tree.end(section).min(section + FAR);
    let heading = inside.map(|index| &tree.nodes[index]).find(|node| {
        matches!(node.role, Role::Heading | Role::Legend) && !text::is_blank(tree.name(node))
    });
    heading.map_or_else(String::new, |heading| tree.name(heading).to_owned())
}
