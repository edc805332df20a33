//! Items: rows, list entries, cards. Finds repeated nodes and what belongs to each.

use super::fingerprint::MAX_NODES;
use super::page_parts::PageParts;
use super::stable_text::is_identifying;
use crate::ax::{Role, Tree};

/// Maximum number of controls of an item. A node with more is a page section.
const MAX_CONTROLS: usize = 8;

/// The items of a tree.
pub struct Items {
    /// The nearest item of each node, itself if it is one; `NONE` outside of items.
    nearest: Vec<u32>,
    parts: PageParts,
}

const NONE: u32 = u32::MAX;

impl Items {
    /// Finds the items of a tree.
    pub fn new(tree: &Tree) -> Self {
        let parts = PageParts::new(tree);
        let mut nearest = vec![NONE; tree.nodes.len()];
        for index in 1..tree.nodes.len() {
            let parent = parts.parents[index] as usize;
            nearest[index] = match tree.nodes[index].role {
                // The document of a frame is separate.
                Role::WebArea => NONE,
                _ if parts.is_item(tree, index) => index as u32,
                _ => nearest[parent],
            };
        }
        Self { nearest, parts }
    }

    /// The items that contain a node, nearest first.
    pub fn items_around(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let item = |of: usize| self.nearest.get(of).filter(|item| **item != NONE);
        let first = item(index).map(|item| *item as usize);
        std::iter::successors(first, move |inner| {
            let parent = self.parts.parents[*inner] as usize;
            // A node without a parent is its own parent.
            item(parent).map(|item| *item as usize).filter(|outer| outer < inner)
        })
    }

    /// The controls in the same item as a node, without those in the node itself, unless it is the item.
    pub fn controls(
        &self,
        tree: &Tree,
        index: usize,
        has_ref: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let is_item = self.nearest.get(index) == Some(&(index as u32)) && !has_ref(index);
        let own = index..if is_item { index + 1 } else { tree.end(index) };
        for item in self.items_around(index) {
            let others = (item..tree.end(item)).filter(|it| !own.contains(it) && has_ref(*it));
            let controls: Vec<usize> = others.take(MAX_CONTROLS + 1).collect();
            match controls.len() {
                0 => {}
                1..=MAX_CONTROLS => return controls,
                _ => break,
            }
        }
        Vec::new()
    }

    /// The node that labels an item, outside of one of its controls: the item itself if named by the author,
    /// its heading, or its first text.
    pub fn label(&self, tree: &Tree, item: usize, control: usize) -> Option<usize> {
        let is_label = |index: usize| is_identifying(tree.name(&tree.nodes[index]));
        if tree.nodes[item].states.has_author_name() && is_label(item) {
            return Some(item);
        }
        let own = control..tree.end(control);
        let mut labels = (item + 1..tree.end(item).min(item + MAX_NODES))
            .filter(|index| !own.contains(index) && is_label(*index));
        let is_heading =
            |index: &usize| matches!(tree.nodes[*index].role, Role::Heading | Role::RowHeader);
        let is_text =
            |index: &usize| tree.nodes[*index].role == Role::Text && !self.parts.in_control[*index];
        labels.clone().find(is_heading).or_else(|| labels.find(is_text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ax::testing::tree;

    const SHOP: &str = "webarea 1\n . 2\n  . 3\n   heading 4 \"Lamp\" l3\n   link 5 \"Details\"\n   button 6 \"Add\"\n  \
        . 7\n   heading 8 \"Chair\" l3\n   link 9 \"Details\"\n   button 10 \"Add\"\n button 11 \"Pay\"";

    #[test]
    fn item_without_parent_is_found() {
        let tree = tree("webarea 1\n text \"a\"\nlistitem 2\n button 3 \"Go\"");
        let items = Items::new(&tree);
        let button = tree.nodes.iter().position(|it| it.element == 3).unwrap();
        assert_eq!(items.items_around(button).count(), 1);
        assert!(items.controls(&tree, button, |_| false).is_empty());
    }

    #[test]
    fn card_has_its_controls_and_its_label() {
        let tree = tree(&SHOP.replace(" l3", " l3\n    text \"words\""));
        let items = Items::new(&tree);
        let at = |element: u32| tree.nodes.iter().position(|it| it.element == element).unwrap();
        let is_control = |index: usize| crate::ax::is_control(&tree.nodes[index]);
        let controls_of = |element: u32| -> Vec<u32> {
            let controls = items.controls(&tree, at(element), is_control);
            controls.into_iter().map(|index| tree.nodes[index].element).collect()
        };
        assert_eq!(controls_of(8), [9, 10]);
        assert_eq!(controls_of(5), [6]);
        assert!(controls_of(11).is_empty());
        // For the card itself, its content.
        assert_eq!(controls_of(7), [9, 10]);
        let item = items.items_around(at(10)).next().unwrap();
        assert_eq!(items.label(&tree, item, at(10)), Some(at(8)));
    }
}
