//! Texts and sibling runs of items, for comparing lists.

use super::structure::TreeStructure;
use super::tokens::{TextForm, TextSource, form_of, tokens};
use crate::ax::Tree;
use std::collections::HashSet;
use std::ops::Range;

/// Repeated structures of a tree and the texts in them.
pub(crate) struct ItemTexts<'t>(TreeStructure<'t>);

/// A text of an item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemText {
    /// Hash of the text.
    pub(crate) hash: u64,
    /// Its node.
    pub(crate) node: u32,
    /// It is the value of the node, not its name.
    pub(crate) is_value: bool,
    /// How well it identifies the item: 0 for times and counters.
    pub(crate) weight: u32,
}

impl<'t> ItemTexts<'t> {
    pub(crate) fn new(tree: &'t Tree) -> Self {
        Self(TreeStructure::new(tree, &HashSet::new()))
    }

    /// The texts of an item.
    pub(crate) fn of(&self, item: Range<usize>) -> Vec<ItemText> {
        let text = |token: super::tokens::ItemToken| ItemText {
            hash: token.raw,
            node: token.node,
            is_value: token.source == TextSource::Value,
            weight: match (token.form, token.is_head, token.is_emphasized) {
                (TextForm::Volatile, ..) => 0,
                (TextForm::Number, ..) => 1,
                (_, true, _) => 8,
                (_, _, true) => 6,
                (TextForm::Words | TextForm::Code, ..) => 4,
                (TextForm::Word, ..) => 3,
            },
        };
        tokens(&self.0, item, &(0..0)).into_iter().map(text).collect()
    }

    /// The runs formed by the children of a node, where runs repeat: a term and its definition, a heading and
    /// the content after it.
    pub(crate) fn runs(&self, parent: usize) -> Option<Vec<Range<usize>>> {
        let children: Vec<usize> = self.0.tree.children(parent).collect();
        let middle = *children.get(children.len() / 2)?;
        self.0.run(middle, parent).map(|level| level.items)
    }
}

/// True for a text that can identify a list item: a name, a code, a long number, but no counter and no time.
pub(crate) fn is_identifying(text: &str) -> bool {
    const DIGITS: usize = 3;
    match form_of(text) {
        TextForm::Volatile => false,
        TextForm::Number => text.bytes().filter(u8::is_ascii_digit).count() >= DIGITS,
        TextForm::Words | TextForm::Code | TextForm::Word => true,
    }
}
