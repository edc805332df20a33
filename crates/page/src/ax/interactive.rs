//! Ref policy: which nodes of a tree get a ref.

use super::{Node, Role, Tree};
use crate::text;

/// Number of refs above which a [`RefPolicy::Live`] snapshot issues none to the second tier.
pub const MANY_REFS: u32 = 100;

/// Rule by which nodes get refs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefPolicy {
    /// The roles of the phase-7 snapshot, and focusable nodes.
    WebAi,
    /// Controls and everything that reacts to a click, plus the items of selectable lists and grids.
    Live {
        /// Issue refs to items on pages with many of them, too.
        all: bool,
    },
}

/// Confidence that a node is interactive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tier {
    /// Not interactive: no ref.
    #[default]
    None,
    /// A control, or a node that reacts like one.
    First,
    /// An item of a selectable container.
    Second,
}

/// The ref tier of every node.
#[derive(Clone, Debug, Default)]
pub struct RefTiers {
    tiers: Vec<Tier>,
    /// Number of nodes that get a ref.
    pub refs: u32,
    /// More than [`MANY_REFS`] candidates: only the first tier gets refs.
    pub compacted: bool,
    /// Number of second-tier nodes without a ref because of that.
    pub left_out: u32,
}

impl RefTiers {
    /// The tier of a node.
    pub fn tier(&self, index: usize) -> Tier {
        self.tiers.get(index).copied().unwrap_or_default()
    }

    /// Moves the options of lists and menus to the first tier, so that they get refs on large pages, too.
    pub(crate) fn promote_options(&mut self, tree: &Tree) {
        if !self.compacted {
            return;
        }
        for (tier, node) in self.tiers.iter_mut().zip(&tree.nodes) {
            if *tier == Tier::Second && node.role == Role::Option {
                *tier = Tier::First;
                self.refs += 1;
                self.left_out -= 1;
            }
        }
    }

    /// True for a node that gets a ref, or would get one on a page with fewer candidates.
    pub fn could_have_ref(&self, index: usize) -> bool {
        self.tier(index) != Tier::None
    }

    /// True for a node that gets a ref.
    pub fn has_ref(&self, index: usize) -> bool {
        match self.tier(index) {
            Tier::None => false,
            Tier::First => true,
            Tier::Second => !self.compacted,
        }
    }
}

/// Computes the ref tier of every node. Disabled controls get refs, so that a caller can ask about them.
pub fn ref_tiers(tree: &Tree, policy: RefPolicy) -> RefTiers {
    let mut tiers = vec![Tier::None; tree.nodes.len()];
    let mut containers: Vec<(usize, u16)> = Vec::new();
    let mut has_wrappers = false;
    for (index, node) in tree.nodes.iter().enumerate() {
        while containers.pop_if(|(end, _)| *end <= index).is_some() {}
        if index > 0 && can_have_ref(node) {
            tiers[index] = match policy {
                RefPolicy::WebAi if is_web_ai(node) => Tier::First,
                RefPolicy::WebAi => Tier::None,
                RefPolicy::Live { .. } if is_control(node) => Tier::First,
                RefPolicy::Live { .. } if node.states.has_pointer() => {
                    has_wrappers = true;
                    Tier::First
                }
                RefPolicy::Live { .. } => {
                    let is_inside =
                        containers.last().is_some_and(|(_, frame)| *frame == node.frame);
                    if is_inside && is_item(node.role) { Tier::Second } else { Tier::None }
                }
            };
        }
        if is_container(node.role) {
            containers.push((tree.end(index), node.frame));
        }
    }
    if has_wrappers {
        drop_wrappers(tree, &mut tiers);
    }
    let count = |tier| tiers.iter().filter(|it| **it == tier).count() as u32;
    let (first, second) = (count(Tier::First), count(Tier::Second));
    let compacted = policy == (RefPolicy::Live { all: false }) && first + second > MANY_REFS;
    let left_out = if compacted { second } else { 0 };
    RefTiers { tiers, refs: first + second - left_out, compacted, left_out }
}

/// True for a control or a node that behaves like one; the cursor shape does not count.
pub fn is_control(node: &Node) -> bool {
    let states = node.states;
    is_first_tier(node.role)
        || states.has_tabindex()
        || states.is_focusable()
        || states.is_editable()
        || states.has_listener()
        || states.is_visible_proxy()
}

/// Text and documents never get a ref.
fn can_have_ref(node: &Node) -> bool {
    node.element > 0 && !matches!(node.role, Role::WebArea | Role::Text)
}

/// The nineteen roles of the phase-7 snapshot, and focusable nodes.
fn is_web_ai(node: &Node) -> bool {
    let by_role = matches!(
        node.role,
        Role::Button
            | Role::Link
            | Role::TextBox
            | Role::SearchBox
            | Role::ComboBox
            | Role::CheckBox
            | Role::Radio
            | Role::Switch
            | Role::MenuItem
            | Role::MenuItemCheckBox
            | Role::MenuItemRadio
            | Role::Option
            | Role::Tab
            | Role::Slider
            | Role::SpinButton
            | Role::TreeItem
            | Role::ListBox
            | Role::GridCell
            | Role::Cell
    );
    by_role || node.states.is_focusable() || node.states.is_focused()
}

fn is_first_tier(role: Role) -> bool {
    matches!(
        role,
        Role::Button
            | Role::Link
            | Role::TextBox
            | Role::CheckBox
            | Role::Radio
            | Role::ComboBox
            | Role::Slider
            | Role::MenuItem
            | Role::MenuItemCheckBox
            | Role::MenuItemRadio
            | Role::Tab
            | Role::Switch
            | Role::SearchBox
            | Role::SpinButton
    )
}

fn is_item(role: Role) -> bool {
    matches!(
        role,
        Role::ListItem
            | Role::Option
            | Role::TreeItem
            | Role::Row
            | Role::Cell
            | Role::GridCell
            | Role::ColumnHeader
            | Role::RowHeader
    )
}

fn is_container(role: Role) -> bool {
    matches!(
        role,
        Role::ListBox
            | Role::ComboBox
            | Role::Tree
            | Role::Grid
            | Role::TreeGrid
            | Role::Menu
            | Role::MenuBar
            | Role::TabList
            | Role::RadioGroup
    )
}

/// Removes the ref of a wrapper that only has a pointer cursor and contains one control and nothing else.
fn drop_wrappers(tree: &Tree, tiers: &mut [Tier]) {
    let parents = tree.parents();
    let mut contents = vec![0_u32; tree.nodes.len() + 1];
    for (index, node) in tree.nodes.iter().enumerate() {
        let is_content = matches!(node.role, Role::Text | Role::Image)
            && !node.name.is_empty()
            && !text::is_blank(tree.name(node));
        contents[index + 1] = contents[index] + u32::from(is_content);
    }
    let content = |index: usize| contents[tree.end(index)] - contents[index];
    let mut below = vec![0_u32; tree.nodes.len()];
    let mut only = vec![0_u32; tree.nodes.len()];
    for index in (0..tree.nodes.len()).rev() {
        let node = &tree.nodes[index];
        if below[index] == 1 && tiers[index] == Tier::First {
            let one = only[index] as usize;
            let is_wrapper = node.states.has_pointer() && !is_control(node);
            if is_wrapper && tiers[one] == Tier::First && content(index) == content(one) {
                tiers[index] = Tier::None;
            }
        }
        let own = tiers[index] != Tier::None;
        let parent = parents[index] as usize;
        if parent < index {
            below[parent] += below[index] + u32::from(own);
            only[parent] = if own { index as u32 } else { only[index].max(only[parent]) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ax::testing::tree;

    /// Compares the elements that get a ref.
    fn check(page: &str, policy: RefPolicy, expected: &[u32]) {
        let tree = tree(page);
        let tiers = ref_tiers(&tree, policy);
        let elements: Vec<_> = (0..tree.nodes.len())
            .filter(|index| tiers.has_ref(*index))
            .map(|index| tree.nodes[index].element)
            .collect();
        assert_eq!(elements, expected, "{page}");
        assert_eq!(tiers.refs as usize, expected.len(), "{page}");
    }

    const LIVE: RefPolicy = RefPolicy::Live { all: false };

    #[test]
    fn web_ai_refs_are_listed_roles_and_focusable_nodes() {
        check(
            "webarea 1 ff\n button 2\n link 3\n  text\n heading 4\n generic 5 ff\n option 6\n \
             iframe 7\n  webarea 8 ff\n row 9\n generic 10 fl\n cell 11 fd",
            RefPolicy::WebAi,
            &[2, 3, 5, 6, 11],
        );
    }

    #[test]
    fn live_refs_follow_the_tiers() {
        check(
            "webarea 1 ft\n button 2\n generic 3 ft\n generic 4 fe\n generic 5 fp\n generic 6 fl\n \
             generic 7 fL\n list 8\n  listitem 9\n heading 10\n img 11\n option 12\n link 0",
            LIVE,
            &[2, 3, 4, 5, 6, 7],
        );
    }

    #[test]
    fn items_of_selectable_containers_get_refs() {
        check(
            "webarea 1\n grid 2\n  row 3\n   columnheader 4\n   gridcell 5\n table 6\n  row 7\n   cell 8\n \
             listbox 9\n  group 10\n   list 11\n    listitem 12\n listitem 13",
            LIVE,
            &[3, 4, 5, 12],
        );
        // The content of a frame is no item of the list around the frame.
        check("webarea 1\n grid 2\n  iframe 3\n   webarea 4 #1\n    row 5 #1\n  row 6", LIVE, &[6]);
    }

    #[test]
    fn wrapper_of_one_control_gets_no_ref() {
        check("webarea 1\n generic 2 fp\n  generic 3\n   button 4", LIVE, &[4]);
        check(
            "webarea 1\n generic 2 fp\n  generic 3 fp\n   button 4 \"x\"\n    text \"x\"",
            LIVE,
            &[4],
        );
        check("webarea 1\n generic 2 fpl\n  button 4", LIVE, &[2, 4]);
        check("webarea 1\n generic 2 fp\n  button 4\n  text \"and more\"", LIVE, &[2, 4]);
        check("webarea 1\n generic 2 fp\n  button 4\n  button 5", LIVE, &[2, 4, 5]);
        check("webarea 1\n generic 2 fp\n  text \"alone\"", LIVE, &[2]);
    }

    #[test]
    fn many_refs_leave_out_the_second_tier() {
        let page = |options: u32| {
            let mut page = String::from("webarea 1\n button 2\n listbox 3");
            for option in 0..options {
                page.push_str(&format!("\n  option {}", option + 4));
            }
            tree(&page)
        };
        let few = ref_tiers(&page(99), LIVE);
        assert_eq!((few.refs, few.compacted, few.left_out), (100, false, 0));
        let many = ref_tiers(&page(100), LIVE);
        assert_eq!((many.refs, many.compacted, many.left_out), (1, true, 100));
        let all = ref_tiers(&page(100), RefPolicy::Live { all: true });
        assert_eq!((all.refs, all.compacted, all.left_out), (101, false, 0));
    }

    #[test]
    fn empty_and_rootless_trees_have_no_refs() {
        assert_eq!(ref_tiers(&Tree::default(), LIVE).refs, 0);
        check("button 1", LIVE, &[]);
    }
}
