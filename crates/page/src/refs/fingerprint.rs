//! Fingerprint of an element: its role, accessible name, and containing item or page section.

use super::identity::{IdentityChange, ListDistinction, TargetItem, TextScope, compare_identity};
use super::page_parts::{is_landmark, is_section};
use super::structure::{ItemLevel, TreeStructure};
use super::tokens::{ItemToken, TextForm, tokens};
use crate::ax::{Role, Tree, is_control};
use crate::text;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Maximum length of a name collected from content, in bytes.
const MAX_NAME_LEN: usize = 120;

/// Maximum number of nodes searched for a name.
pub(super) const MAX_NODES: usize = 200;

/// Identity of an element as a reader perceives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// ARIA role.
    pub role: Role,
    /// Accessible name; without one, the text in it.
    pub name: String,
    /// The item, heading or landmark that it belongs to.
    pub container: Option<Container>,
    /// Id of its document.
    pub document: Arc<str>,
}

/// The item or page section that an element belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// ARIA role.
    pub role: Role,
    /// Label that distinguishes it from others.
    pub label: String,
}

impl Fingerprint {
    /// Computes the fingerprint of a node.
    pub fn new(tree: &Tree, index: usize) -> Self {
        let structure = TreeStructure::new(tree, &HashSet::new());
        Self { container: container(&structure, index), ..Self::without_container(tree, index) }
    }

    /// Computes the fingerprint without the container.
    pub(super) fn without_container(tree: &Tree, index: usize) -> Self {
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
    for inner in index + 1..tree.end(index).min(index + MAX_NODES) {
        let node = &tree.nodes[inner];
        if node.role == Role::Text && !text::is_blank(tree.name(node)) {
            if !name.is_empty() {
                name.push(' ');
            }
            name.push_str(&text::collapse(tree.name(node)));
            if name.len() >= MAX_NAME_LEN {
                break;
            }
        }
    }
    // Texts that are harmless one by one can be a card number when joined.
    text::cut_chars(&crate::mask::mask(&name), MAX_NAME_LEN).into_owned()
}

/// True for a box with content of its own, false for a control named by its text.
pub(super) fn is_container(structure: &TreeStructure<'_>, index: usize) -> bool {
    let tree = structure.tree;
    let node = &tree.nodes[index];
    if node.states.has_author_name() || tree.end(index) <= index + 1 || node.role == Role::ComboBox
    {
        return false;
    }
    let holds_control = (index + 1..tree.end(index)).any(|it| is_control(&tree.nodes[it]));
    // `Cart` with a badge beside it is a name; a card that is a link contains several texts.
    let counts = |it: &ItemToken| !is_control(node) || it.form < TextForm::Number;
    let texts = tokens(structure, index..tree.end(index), &(0..0));
    holds_control || texts.iter().filter(|it| counts(it)).count() > 1
}

/// The nodes that belong to a target alone.
pub(super) fn own_nodes(structure: &TreeStructure<'_>, index: usize) -> Range<usize> {
    if is_container(structure, index) { 0..0 } else { index..structure.tree.end(index) }
}

/// The items that contain a target or are it, innermost first.
pub(super) fn items_of(structure: &TreeStructure<'_>, index: usize) -> Vec<ItemLevel> {
    let mut levels = structure.levels(index);
    let is_own = levels.first().is_some_and(|it| it.child == index && !it.is_run);
    if !is_own && is_container(structure, index) {
        levels.insert(0, single_item(structure, index));
    }
    levels
}

/// A node as the only item of its list.
pub(super) fn single_item(structure: &TreeStructure<'_>, index: usize) -> ItemLevel {
    let range = index..structure.tree.end(index);
    let parent = structure.parents[index] as usize;
    ItemLevel { range: range.clone(), child: index, parent, is_run: false, items: vec![range] }
}

/// The container of an element: the innermost item with an identity, or a page section.
fn container(structure: &TreeStructure<'_>, index: usize) -> Option<Container> {
    if let Some((level, identity)) = identified(structure, index, &items_of(structure, index)) {
        let label = identity.was;
        if !label.is_empty() {
            return Some(Container { role: role_of(structure, level), label });
        }
    }
    let (_, role, label) = page_section(structure, index)?;
    Some(Container { role, label })
}

/// The item that identifies a target: the innermost of those with the strongest distinction.
pub(super) fn identified<'l>(
    structure: &TreeStructure<'_>,
    index: usize,
    levels: &'l [ItemLevel],
) -> Option<(&'l ItemLevel, IdentityChange)> {
    let own = own_nodes(structure, index);
    let mut best: Option<(&ItemLevel, IdentityChange)> = None;
    for level in levels {
        let side = TargetItem { structure, level, target: index, own: own.clone() };
        let identity = compare_identity(&side, &side, &TextScope::Innermost);
        if identity.strength > best.as_ref().map_or(ListDistinction::None, |it| it.1.strength) {
            best = Some((level, identity));
        }
    }
    best
}

/// The role that stands for an item in a message.
pub(super) fn role_of(structure: &TreeStructure<'_>, level: &ItemLevel) -> Role {
    match level.is_run {
        true => Role::Group,
        false => structure.tree.nodes[level.child].role,
    }
}

/// The heading right before an element, or its page section, whichever is nearer: node, role and name.
pub(super) fn page_section(
    structure: &TreeStructure<'_>,
    index: usize,
) -> Option<(usize, Role, String)> {
    const MAX_HEADING_DISTANCE: usize = 3;
    let tree = structure.tree;
    let mut inner = index;
    let mut distance = 0;
    for container in structure.ancestors(index) {
        let before = tree.children(container).take_while(|child| *child < inner);
        let is_heading = |child: &usize| {
            tree.nodes[*child].role == Role::Heading
                && !text::is_blank(tree.name(&tree.nodes[*child]))
        };
        if distance < MAX_HEADING_DISTANCE
            && let Some(heading) = before.filter(is_heading).last()
        {
            return Some((heading, Role::Heading, tree.name(&tree.nodes[heading]).to_owned()));
        }
        inner = container;
        let role = tree.nodes[container].role;
        // A heading above a table is as near to its cells as to the table.
        distance += usize::from(!is_table_part(role));
        let node = &tree.nodes[container];
        if is_collection(role) && node.states.has_author_name() && !text::is_blank(tree.name(node))
        {
            return Some((container, role, tree.name(node).to_owned()));
        }
        if is_section(role) {
            let label = section_label(tree, container);
            if is_landmark(role)
                || !text::is_blank(&label)
                || TreeStructure::is_self_contained(role)
            {
                return Some((container, role, label));
            }
        }
        // Content of an overlay does not belong to the section before it.
        if TreeStructure::is_self_contained(role) {
            return None;
        }
    }
    None
}

/// Roles of collections, which authors name after their items.
fn is_collection(role: Role) -> bool {
    matches!(
        role,
        Role::Table | Role::Grid | Role::TreeGrid | Role::List | Role::ListBox | Role::Tree
    )
}

fn is_table_part(role: Role) -> bool {
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
    let nodes = section + 1..tree.end(section).min(section + MAX_NODES);
    let heading = nodes.map(|index| &tree.nodes[index]).find(|node| {
        matches!(node.role, Role::Heading | Role::Legend) && !text::is_blank(tree.name(node))
    });
    heading.map_or_else(String::new, |heading| tree.name(heading).to_owned())
}
