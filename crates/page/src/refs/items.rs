//! Items: rows, entries of lists, cards. What is one of many alike, and what belongs to it.

use super::fingerprint::FAR;
use super::page_parts::PageParts;
use super::stable_text::is_identifying;
use crate::ax::{Role, Tree};

/// How many controls an item has at most. What has more is a part of the page.
const MOST_CONTROLS: usize = 8;

/// Which nodes are in an item.
pub struct Items {
    /// The nearest item that each node is in, itself if it is one; `NONE` in no item.
    nearest: Vec<u32>,
    places: PageParts,
}

const NONE: u32 = u32::MAX;

impl Items {
    /// Looks for the items of a tree.
    pub fn new(tree: &Tree) -> Self {
        let places = PageParts::new(tree);
        let mut nearest = vec![NONE; tree.nodes.len()];
        for index in 1..tree.nodes.len() {
            let parent = places.parents[index] as usize;
            nearest[index] = match tree.nodes[index].role {
                // A frame's document is a page of its own.
                Role::WebArea => NONE,
                _ if places.is_item(tree, index) => index as u32,
                _ => nearest[parent],
            };
        }
        Self { nearest, places }
    }

    /// The items that a node is in, the nearest first.
    pub fn around(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let item = |of: usize| self.nearest.get(of).filter(|item| **item != NONE);
        let first = item(index).map(|item| *item as usize);
        std::iter::successors(first, move |inner| {
            let parent = self.places.parents[*inner] as usize;
            // What is in nothing is its own parent.
            item(parent).map(|item| *item as usize).filter(|outer| outer < inner)
        })
    }

    /// What can be acted on in the same item as a node, apart from what is in the node itself, unless that is the item.
    pub fn controls(
        &self,
        tree: &Tree,
        index: usize,
        has_ref: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let is_item = self.nearest.get(index) == Some(&(index as u32)) && !has_ref(index);
        let own = index..if is_item { index + 1 } else { tree.end(index) };
        for item in self.around(index) {
            let others = (item..tree.end(item)).filter(|it| !own.contains(it) && has_ref(*it));
            let controls: Vec<usize> = others.take(MOST_CONTROLS + 1).collect();
            match controls.len() {
                0 => {}
                1..=MOST_CONTROLS => return controls,
                _ => break,
            }
        }
        Vec::new()
    }

    /// The node whose name an item is known by, outside of one of its controls: the author's name for it, its heading,
    /// its first text.
    pub fn label(&self, tree: &Tree, item: usize, control: usize) -> Option<usize> {
        let tells = |index: usize| is_identifying(tree.name(&tree.nodes[index]));
        if tree.nodes[item].states.is_name_given() && tells(item) {
            return Some(item);
        }
        let own = control..tree.end(control);
        let mut inside = (item + 1..tree.end(item).min(item + FAR))
            .filter(|index| !own.contains(index) && tells(*index));
        let is_heading =
            |index: &usize| matches!(tree.nodes[*index].role, Role::Heading | Role::RowHeader);
        let is_text = |index: &usize| {
            tree.nodes[*index].role == Role::Text && !self.places.in_control[*index]
        };
        inside.clone().find(is_heading).or_else(|| inside.find(is_text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ax::testing::tree;

    const SHOP: &str = "webarea 1\n . 2\n  . 3\n   heading 4 \"Lamp\" l3\n   link 5 \"Details\"\n   button 6 \"Add\"\n  \
        . 7\n   heading 8 \"Chair\" l3\n   link 9 \"Details\"\n   button 10 \"Add\"\n button 11 \"Pay\"";

    #[test]
    fn an_item_may_be_in_nothing() {
        let tree = tree("webarea 1\n text \"a\"\nlistitem 2\n button 3 \"Go\"");
        let items = Items::new(&tree);
        let button = tree.nodes.iter().position(|it| it.element == 3).unwrap();
        assert_eq!(items.around(button).count(), 1);
        assert!(items.controls(&tree, button, |_| false).is_empty());
    }

    #[test]
    fn a_card_has_its_controls_and_its_name() {
        let tree = tree(&SHOP.replace(" l3", " l3\n    text \"words\""));
        let items = Items::new(&tree);
        let at = |element: u32| tree.nodes.iter().position(|it| it.element == element).unwrap();
        let is_control = |index: usize| crate::ax::is_control(&tree.nodes[index]);
        let beside = |element: u32| -> Vec<u32> {
            let controls = items.controls(&tree, at(element), is_control);
            controls.into_iter().map(|index| tree.nodes[index].element).collect()
        };
        assert_eq!(beside(8), [9, 10]);
        assert_eq!(beside(5), [6]);
        assert!(beside(11).is_empty());
        // Of the card itself, what is in it.
        assert_eq!(beside(7), [9, 10]);
        let item = items.around(at(10)).next().unwrap();
        assert_eq!(items.label(&tree, item, at(10)), Some(at(8)));
    }
}
