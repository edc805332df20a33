//! The refs of one tab: which element has which number, and what it meant when it was last shown.

use super::{Meaning, RefName, meanings};
use crate::ax::Tree;
use crate::view::View;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// How many numbers are remembered before those of elements that are no longer shown are forgotten.
const MOST_NUMBERS: usize = 200_000;

/// A ref that was given to a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its number.
    pub number: u32,
    /// The number of its element in its document.
    pub element: u32,
    /// What it meant. Its document is in here.
    pub meaning: Meaning,
}

/// How much of the page a snapshot was of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of it: what it does not show is in the previous snapshot at best.
    Whole,
    /// A part, or the result of a search: it adds to the current snapshot.
    Part,
}

/// Why a ref points at nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefProblem {
    /// No snapshot gave it.
    NeverGiven(RefName),
    /// The snapshot that gave it is neither the current nor the previous one.
    TooOld(RefName),
    /// It is the browser's number of a node, which is not known here.
    NotOurs(RefName),
}

impl fmt::Display for RefProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverGiven(name) => {
                write!(f, "ref `{name}` was given by no snapshot of this tab")
            }
            Self::TooOld(name) => {
                write!(f, "ref `{name}` is from a snapshot older than the previous one")
            }
            Self::NotOurs(name) => write!(f, "ref `{name}` is not a number of this tab"),
        }
    }
}

impl std::error::Error for RefProblem {}

/// The refs of a tab. A number is given to one element and never again.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    numbers: HashMap<Arc<str>, HashMap<u32, u32>>,
    count: usize,
    last: u32,
    current: HashMap<u32, Shown>,
    previous: HashMap<u32, Shown>,
}

impl Registry {
    /// The number of an element; the same as long as the element can come back.
    pub fn number(&mut self, document: &str, element: u32) -> u32 {
        if !self.numbers.contains_key(document) {
            self.numbers.insert(Arc::from(document), HashMap::new());
        }
        let known = self.numbers.get_mut(document).expect("it was just put there");
        *known.entry(element).or_insert_with(|| {
            self.last += 1;
            self.count += 1;
            self.last
        })
    }

    /// Notes that a snapshot was shown to the caller. The one before a whole one becomes the previous.
    pub fn show(&mut self, tree: &Tree, view: &View, scope: Scope) {
        if scope == Scope::Whole {
            self.previous = std::mem::take(&mut self.current);
        }
        let mut numbered: Vec<_> =
            view.lines.iter().filter_map(|line| Some((line.node, line.number?))).collect();
        numbered.sort_unstable();
        numbered.dedup();
        let nodes: Vec<_> = numbered.iter().map(|(node, _)| *node).collect();
        for ((node, number), meaning) in numbered.into_iter().zip(meanings(tree, &nodes)) {
            let element = tree.nodes[node as usize].element;
            self.current.insert(number, Shown { number, element, meaning });
        }
        let here: HashSet<&str> = tree.frames.iter().map(|frame| &*frame.document).collect();
        self.forget(&here);
    }

    /// What a ref was given for.
    ///
    /// # Errors
    /// When neither the current nor the previous snapshot gave it.
    pub fn lookup(&self, name: &RefName) -> Result<&Shown, RefProblem> {
        let RefName::Ours(number) = name else {
            return Err(RefProblem::NotOurs(name.clone()));
        };
        match self.current.get(number).or_else(|| self.previous.get(number)) {
            Some(shown) => Ok(shown),
            None if *number <= self.last => Err(RefProblem::TooOld(name.clone())),
            None => Err(RefProblem::NeverGiven(name.clone())),
        }
    }

    /// What the ref of an element was given for, by whatever name the caller knows it.
    pub fn of_element(&self, document: &str, element: u32) -> Option<&Shown> {
        let number = self.numbers.get(document)?.get(&element)?;
        self.current.get(number).or_else(|| self.previous.get(number))
    }

    /// Whether the current snapshot gave a ref, rather than the previous one.
    pub fn is_current(&self, shown: &Shown) -> bool {
        self.current.contains_key(&shown.number)
    }

    /// What the current snapshot gave out, in no order.
    pub fn current(&self) -> impl Iterator<Item = &Shown> {
        self.current.values()
    }

    /// Forgets the numbers of documents that are gone, and of elements when there are too many.
    fn forget(&mut self, here: &HashSet<&str>) {
        let shown = || self.current.values().chain(self.previous.values());
        let documents: HashSet<&str> = shown().map(|it| &*it.meaning.document).collect();
        self.numbers
            .retain(|document, _| here.contains(&**document) || documents.contains(&**document));
        self.count = self.numbers.values().map(HashMap::len).sum();
        if self.count > MOST_NUMBERS {
            let shown: HashSet<u32> =
                self.current.keys().chain(self.previous.keys()).copied().collect();
            for numbers in self.numbers.values_mut() {
                numbers.retain(|_, number| shown.contains(number));
            }
            self.count = self.numbers.values().map(HashMap::len).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ax::RefPolicy;
    use crate::ax::testing::tree;
    use crate::view::{ViewOptions, view};

    fn show(registry: &mut Registry, page: &str, document: &str, scope: Scope) -> Vec<u32> {
        let mut tree = tree(page);
        tree.frames[0].document = document.to_owned();
        let policy = RefPolicy::Live { all: false };
        let options = ViewOptions { policy, ..ViewOptions::default() };
        let view = view(&tree, &options, &mut |_, element| registry.number(document, element));
        registry.show(&tree, &view, scope);
        view.lines.iter().filter_map(|line| line.number).collect()
    }

    #[test]
    fn an_element_keeps_its_number_and_no_other_gets_it() {
        let mut refs = Registry::default();
        assert_eq!(show(&mut refs, "webarea 1\n button 5\n button 6", "a", Scope::Whole), [1, 2]);
        assert_eq!(show(&mut refs, "webarea 1\n button 7\n button 6", "a", Scope::Whole), [3, 2]);
        assert_eq!(show(&mut refs, "webarea 1\n button 5", "b", Scope::Whole), [4]);
        assert_eq!(show(&mut refs, "webarea 1\n button 5", "a", Scope::Whole), [1]);
    }

    #[test]
    fn the_current_and_the_previous_snapshot_count() {
        let mut refs = Registry::default();
        let ours = RefName::Ours;
        show(&mut refs, "webarea 1\n button 5 \"Old\"", "a", Scope::Whole);
        show(&mut refs, "webarea 1\n button 6", "a", Scope::Whole);
        let old = refs.lookup(&ours(1)).unwrap();
        assert_eq!((old.element, &*old.meaning.name), (5, "Old"));
        assert!(!refs.is_current(old) && refs.is_current(refs.lookup(&ours(2)).unwrap()));
        // A part of the page does not push anything out.
        show(&mut refs, "webarea 1\n button 7", "a", Scope::Part);
        assert!(refs.lookup(&ours(1)).is_ok() && refs.lookup(&ours(2)).is_ok());
        show(&mut refs, "webarea 1\n button 8", "a", Scope::Whole);
        assert_eq!(refs.lookup(&ours(1)), Err(RefProblem::TooOld(ours(1))));
        assert_eq!(refs.lookup(&ours(9)), Err(RefProblem::NeverGiven(ours(9))));
        assert_eq!(refs.of_element("a", 8).map(|it| it.number), Some(4));
    }

    #[test]
    fn documents_that_are_gone_are_forgotten() {
        let mut refs = Registry::default();
        for document in 0..50 {
            show(&mut refs, "webarea 1\n button 5", &document.to_string(), Scope::Whole);
        }
        assert_eq!(refs.numbers.len(), 2);
        assert_eq!(show(&mut refs, "webarea 1\n button 5", "0", Scope::Whole), [51]);
    }
}
