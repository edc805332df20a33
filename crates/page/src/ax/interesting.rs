//! The interesting part of a tree: without wrappers, and without text that the accessible name of its control
//! repeats. Like "interesting only" in Puppeteer and Playwright, except that refs, frames, dialogs and gaps
//! always stay.

use super::{Node, RefTiers, Role, Tree};
use crate::text;

/// Computes which nodes stay. The children of a removed node move up to its nearest remaining ancestor.
pub fn interesting(tree: &Tree, tiers: &RefTiers) -> Vec<bool> {
    let mut keep = vec![false; tree.nodes.len()];
    // Ends of the outermost open leaf and the outermost open control; a frame's document resets both.
    let (mut leaf_end, mut control_end) = (0, 0);
    let mut outer: Vec<(usize, usize, usize)> = Vec::new();
    for (index, node) in tree.nodes.iter().enumerate() {
        while let Some((_, leaf, control)) = outer.pop_if(|(end, ..)| *end <= index) {
            (leaf_end, control_end) = (leaf, control);
        }
        let end = tree.end(index);
        if node.role == Role::WebArea && index > 0 {
            outer.push((end, leaf_end, control_end));
            (leaf_end, control_end) = (0, 0);
        }
        let is_leaf = is_leaf(tree, node, end == index + 1)
            || is_cell_with_full_name(tree, node) && tiers.could_have_ref(index);
        let in_leaf = index < leaf_end;
        let in_control = index < control_end;
        keep[index] = index == 0
            || tiers.could_have_ref(index)
            || is_always_interesting(node)
            || tree.hosted_frame(index).is_some()
            || !in_leaf && is_interesting(tree, node, is_leaf, in_control);
        if is_leaf && !in_leaf {
            leaf_end = end;
        }
        if is_control(node) && !in_control {
            control_end = end;
        }
    }
    keep
}

/// Frames, gaps and dialogs: without them the page would be mistaken for another one.
fn is_always_interesting(node: &Node) -> bool {
    matches!(node.role, Role::Iframe | Role::WebArea | Role::Dialog | Role::AlertDialog)
        || node.states.is_silent()
        || node.states.is_cut()
        || node.states.is_modal()
}

fn is_interesting(tree: &Tree, node: &Node, is_leaf: bool, in_control: bool) -> bool {
    if matches!(node.role, Role::LineBreak | Role::ListMarker) {
        return false;
    }
    node.states.is_focusable()
        || node.states.is_editable()
        || is_control_role(node.role)
        || !in_control && is_leaf && !text::is_blank(tree.name(node))
}

/// True when the node's own line contains all its content. Refs inside are still listed, so unlike in the
/// original a focusable descendant does not matter for a name from content.
fn is_leaf(tree: &Tree, node: &Node, is_childless: bool) -> bool {
    if is_childless {
        return true;
    }
    match node.role {
        Role::TextBox | Role::SearchBox | Role::ComboBox => !node.states.is_editable(),
        Role::Text
        | Role::LineBreak
        | Role::DocCover
        | Role::GraphicsSymbol
        | Role::Meter
        | Role::ScrollBar
        | Role::Slider
        | Role::Separator
        | Role::ProgressBar => true,
        // The text of an unnamed chart is its only content.
        Role::Image => !text::is_blank(tree.name(node)),
        role => {
            let is_content_in_name = match name_from(role) {
                NameFrom::Control => true,
                // An author-supplied name of a row or an item does not repeat its content.
                NameFrom::Content => !node.states.has_author_name(),
                NameFrom::Author => false,
            };
            // A link without an address counts as focusable when it has a click listener.
            let is_clickable_control =
                node.states.has_listener() && matches!(name_from(role), NameFrom::Control);
            (node.states.is_focusable() || is_clickable_control || role == Role::Heading)
                && is_content_in_name
                && !text::is_blank(tree.name(node))
        }
    }
}

/// True for a cell whose name contains its whole text; longer names are truncated by the output formats.
fn is_cell_with_full_name(tree: &Tree, node: &Node) -> bool {
    const SHORT: usize = 100;
    matches!(node.role, Role::Cell | Role::GridCell | Role::ColumnHeader | Role::RowHeader)
        && !node.states.has_author_name()
        && !text::is_blank(tree.name(node))
        && tree.name(node).chars().nth(SHORT).is_none()
}

enum NameFrom {
    /// The content is only the appearance of the control, whatever its name.
    Control,
    /// Name from content, unless supplied by the author.
    Content,
    /// Name from author only: the content is not in the name.
    Author,
}

fn name_from(role: Role) -> NameFrom {
    match role {
        Role::Button
        | Role::Link
        | Role::CheckBox
        | Role::Radio
        | Role::Switch
        | Role::Tab
        | Role::MenuItem
        | Role::MenuItemCheckBox
        | Role::MenuItemRadio
        | Role::Option
        | Role::Heading
        | Role::SpinButton
        | Role::ColorWell
        | Role::DisclosureTriangle => NameFrom::Control,
        Role::Cell
        | Role::GridCell
        | Role::ColumnHeader
        | Role::RowHeader
        | Role::Row
        | Role::Tooltip
        | Role::TreeItem => NameFrom::Content,
        _ => NameFrom::Author,
    }
}

/// True when plain text inside is only the appearance of the control. Not for an editor whose text is not its
/// value, nor for text between the items of a list or a menu.
fn is_control(node: &Node) -> bool {
    is_control_role(node.role)
        && !matches!(node.role, Role::ListBox | Role::Menu | Role::MenuBar)
        && !(node.states.is_editable() && node.value.is_empty())
}

fn is_control_role(role: Role) -> bool {
    matches!(
        role,
        Role::Button
            | Role::CheckBox
            | Role::ColorWell
            | Role::ComboBox
            | Role::DisclosureTriangle
            | Role::ListBox
            | Role::Menu
            | Role::MenuBar
            | Role::MenuItem
            | Role::MenuItemCheckBox
            | Role::MenuItemRadio
            | Role::Option
            | Role::Radio
            | Role::ScrollBar
            | Role::SearchBox
            | Role::Slider
            | Role::SpinButton
            | Role::Switch
            | Role::Tab
            | Role::TextBox
            | Role::Tree
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ax::testing::tree;
    use crate::ax::{RefPolicy, ref_tiers};

    /// Compares the remaining elements; text nodes appear as their text.
    fn check(page: &str, expected: &str) {
        let tree = tree(page);
        let tiers = ref_tiers(&tree, RefPolicy::Live { all: false });
        let shown: Vec<_> = interesting(&tree, &tiers)
            .iter()
            .enumerate()
            .filter(|(_, keep)| **keep)
            .map(|(index, _)| match &tree.nodes[index] {
                node if node.role == Role::Text => tree.name(node).to_owned(),
                node => node.element.to_string(),
            })
            .collect();
        assert_eq!(shown.join(" "), expected, "{page}");
    }

    #[test]
    fn wrappers_and_text_repeated_by_names_are_removed() {
        check("webarea 1\n generic 2\n  paragraph 3\n   text \"a\"", "1 a");
        check("webarea 1\n link 2 ff \"go\"\n  text \"go\"\n button 3\n  text \"b\"", "1 2 3");
        check("webarea 1\n heading 2 \"h\"\n  text \"h\"\n heading 3\n  text \"x\"", "1 2 x");
        check("webarea 1\n img 2 \"i\"\n  text \"t\"\n img 3\n separator 4", "1 2");
        check("webarea 1\n img 2\n  text \"2019\"\n  generic 3\n   text \"12 %\"", "1 2019 12 %");
        check("webarea 1\n textbox 2\n  text \"typed\"\n textbox 3 fe\n  text \"t\"", "1 2 3 t");
        check(
            "webarea 1\n listitem 2\n  listmarker 3 \"1.\"\n  text \"one\"\n  linebreak 4",
            "1 one",
        );
        check("webarea 1\n navigation 2 \"n\"\n  link 3 ff\n   text \"l\"", "1 3 l");
    }

    #[test]
    fn refs_inside_a_leaf_stay() {
        check("webarea 1\n heading 2 \"h b\"\n  text \"h\"\n  button 3 ff \"b\"", "1 2 3");
        check(
            "webarea 1\n link 2 ff \"l\"\n  generic 3\n   text \"l\"\n   button 4 \"b\"",
            "1 2 4",
        );
        check("webarea 1\n img 2 \"i\"\n  link 3 \"l\"", "1 2 3");
        check("webarea 1\n combobox 2\n  listbox 3\n   option 4 \"o\"\n    text \"o\"", "1 2 4");
    }

    #[test]
    fn text_of_a_link_with_only_a_listener_is_not_repeated() {
        check("webarea 1\n link 2 fl \"l\"\n  text \"l\"", "1 2");
        check("webarea 1\n generic 2 fl \"g\"\n  text \"g\"", "1 2 g");
    }

    #[test]
    fn text_of_a_cell_is_not_repeated() {
        check("webarea 1\n grid 2\n  row 3\n   gridcell 4 ft \"c\"\n    text \"c\"", "1 3 4");
        check("webarea 1\n grid 2\n  row 3\n   gridcell 4 ftg \"c\"\n    text \"d\"", "1 3 4 d");
        let long = "c".repeat(101);
        let page = format!("webarea 1\n grid 2\n  gridcell 4 ft \"{long}\"\n   text \"{long}\"");
        check(&page, &format!("1 4 {long}"));
        check("webarea 1\n table 2\n  row 3\n   cell 4 \"c\"\n    text \"c\"", "1 c");
    }

    #[test]
    fn text_between_items_stays() {
        check(
            "webarea 1\n menu 2\n  text \"head\"\n  menuitem 3 \"m\"\n   text \"m\"",
            "1 2 head 3",
        );
        check(
            "webarea 1\n listbox 2\n  listitem 3\n   text \"i\"\n  option 4 \"o\"\n   text \"o\"",
            "1 2 3 i 4",
        );
    }

    #[test]
    fn items_stay_when_there_are_too_many_for_refs() {
        let many: String = (3..120).map(|n| format!("  option {n} \"o{n}\"\n")).collect();
        let elements: String = (2..120).map(|n| format!(" {n}")).collect();
        check(&format!("webarea 1\n listbox 2\n{many}"), &format!("1{elements}"));
    }

    #[test]
    fn the_text_of_a_focusable_region_stays() {
        check("webarea 1\n log 2 ftfg \"chat\"\n  text \"hello\"", "1 2 hello");
        check(
            "webarea 1\n grid 9\n  row 2 ffg \"r\"\n   text \"c\"\n  row 3 ff \"d\"\n   text \"d\"",
            "1 2 c 3",
        );
    }

    #[test]
    fn frames_gaps_and_dialogs_stay() {
        check("webarea 1\n button 2\n  iframe 3\n   webarea 4 #1\n    text \"in\"", "1 2 3 4 in");
        check("webarea 1\n generic 2 fq\n generic 3 fc\n dialog 4\n  text \"d\"", "1 2 3 4 d");
        check("webarea 1\n button 2\n  iframe 3\n   webarea 4 #1\n  text \"not\"", "1 2 3 4");
    }
}
