//! Page structure: repeated items, page sections, and the content of controls.

use super::fingerprint::MAX_NODES;
use super::stable_text::is_identifying;
use crate::ax::{Role, Tree, is_control};

fn is_cell(role: Role) -> bool {
    matches!(role, Role::Cell | Role::GridCell | Role::ColumnHeader | Role::RowHeader)
}

pub(super) fn is_item(role: Role) -> bool {
    matches!(
        role,
        Role::Row | Role::ListItem | Role::Article | Role::Option | Role::TreeItem | Role::Comment
    )
}

/// Landmarks: the large sections of a page. They are named by their author: a heading inside is not their
/// name, and changes while they stay the same.
pub(super) fn is_landmark(role: Role) -> bool {
    matches!(
        role,
        Role::Main
            | Role::Banner
            | Role::Navigation
            | Role::Complementary
            | Role::ContentInfo
            | Role::Search
            | Role::Form
    )
}

pub(super) fn is_section(role: Role) -> bool {
    is_landmark(role)
        || matches!(
            role,
            Role::Group
                | Role::Region
                | Role::Dialog
                | Role::AlertDialog
                | Role::RadioGroup
                | Role::TabPanel
                | Role::ToolBar
                | Role::Menu
                | Role::Details
        )
}

/// Precomputed structure of all nodes.
pub(super) struct PageParts {
    /// The parent of each node.
    pub(super) parents: Vec<u32>,
    /// Rows without a role.
    rows: Vec<bool>,
    /// Controls and their content, whose text is the control's name.
    pub(super) in_control: Vec<bool>,
}

impl PageParts {
    pub(super) fn new(tree: &Tree) -> Self {
        let count = tree.nodes.len();
        let parents = tree.parents();
        // A box with a listener for its content, or one scrollable by keys, is not named by all its text.
        let mut holds_controls = vec![false; count];
        for index in (1..count).rev() {
            if holds_controls[index] || is_control(&tree.nodes[index]) {
                holds_controls[parents[index] as usize] = true;
            }
        }
        let mut texts = vec![0; count + 1];
        let mut in_control = vec![false; count];
        let mut control_end = 0;
        for (index, node) in tree.nodes.iter().enumerate() {
            let is_page = matches!(node.role, Role::WebArea | Role::Iframe);
            // A focusable cell is still a cell: its text belongs to the row.
            let is_control = is_control(node) && !is_cell(node.role);
            if index >= control_end && !is_page && is_control && !holds_controls[index] {
                control_end = tree.end(index);
            }
            in_control[index] = index < control_end;
            let is_text = node.role == Role::Text && !in_control[index];
            texts[index + 1] = texts[index] + u32::from(is_text && is_identifying(tree.name(node)));
        }
        let rows = rows(tree, &parents, &texts);
        Self { parents, rows, in_control }
    }

    /// True for one of several similar nodes.
    pub(super) fn is_item(&self, tree: &Tree, index: usize) -> bool {
        is_item(tree.nodes[index].role) || self.rows[index]
    }
}

/// Rows without a role: boxes with a text of their own and a kind of control in common with a sibling, as in
/// a list whose author did not mark it up.
fn rows(tree: &Tree, parents: &[u32], texts: &[u32]) -> Vec<bool> {
    let mut rows = vec![false; tree.nodes.len()];
    // Kinds of controls in each node, one bit for each; kinds that share a bit do no harm.
    let mut kinds = vec![0_u64; tree.nodes.len()];
    // The kinds in at least one row-like child of a node, and those in at least two.
    let mut once = vec![0_u64; tree.nodes.len()];
    let mut twice = vec![0_u64; tree.nodes.len()];
    let is_like_row = |index: usize, kinds: u64| {
        let end = tree.end(index);
        tree.nodes[index].role == Role::Generic
            && kinds != 0
            && end - index <= MAX_NODES
            && texts[end] > texts[index]
    };
    for index in (1..tree.nodes.len()).rev() {
        let node = &tree.nodes[index];
        let parent = parents[index] as usize;
        let inside = kinds[index];
        if is_like_row(index, inside) {
            twice[parent] |= once[parent] & inside;
            once[parent] |= inside;
        }
        let own = if is_control(node) { 1 << (node.role as u8 % 64) } else { 0 };
        kinds[parent] |= inside | own;
    }
    for index in 1..tree.nodes.len() {
        let shared = kinds[index] & twice[parents[index] as usize] != 0;
        rows[index] = shared && is_like_row(index, kinds[index]);
    }
    rows
}
