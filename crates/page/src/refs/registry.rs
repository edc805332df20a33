//! Registry of the refs of one tab: the number of each element, and the tree in which it was last shown.
//!
//! Trees are stored as they were shown. Fingerprints are computed only when a ref is used: few are.

use super::RefName;
use crate::ax::Tree;
use crate::view::View;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Limit of numbers, above which those of elements that are no longer shown are removed.
const MAX_NUMBERS: usize = 200_000;

/// Number of partial snapshots that are valid besides the current snapshot.
const MAX_PARTIAL: usize = 32;

/// A ref that was issued to a caller.
#[derive(Clone, Debug)]
pub struct IssuedRef {
    /// Its number.
    pub number: u32,
    /// The tree in which it was last shown.
    pub tree: Arc<Tree>,
    /// Its node in that tree.
    pub node: usize,
}

/// Scope of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The whole page: refs that it does not show belong to the previous snapshot at best.
    Whole,
    /// A part or a search result: adds to the current snapshot.
    Part,
}

/// Error of a ref lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefError {
    /// No snapshot issued it.
    Unknown(RefName),
    /// Its snapshot is neither the current nor the previous one.
    Expired(RefName),
}

impl fmt::Display for RefError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => {
                write!(f, "ref `{name}` was not issued by any snapshot of this tab")
            }
            Self::Expired(name) => {
                write!(f, "ref `{name}` is from a snapshot older than the previous one")
            }
        }
    }
}

impl std::error::Error for RefError {}

/// The refs of a tab. A number belongs to one element and is never reused.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// Numbers by document. There are few documents: the frames of two snapshots.
    numbers: Vec<(Arc<str>, ElementRefs)>,
    count: usize,
    last: u32,
    /// The current snapshot and the partial snapshots since then, latest last.
    current: Vec<IssuedSnapshot>,
    previous: Vec<IssuedSnapshot>,
    /// Elements that the caller acted on since the current snapshot, by document.
    edited: HashMap<String, HashSet<u32>>,
}

/// Ref numbers by element number.
type ElementRefs = HashMap<u32, u32, BuildHasherDefault<U32Hasher>>;

/// Hasher for one small number that no page can choose.
#[derive(Clone, Copy, Debug, Default)]
struct U32Hasher(u64);

impl Hasher for U32Hasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }
    fn write_u32(&mut self, number: u32) {
        let mixed = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// The valid refs at some time.
#[derive(Clone, Debug)]
pub struct IssuedRefs {
    current: Vec<IssuedSnapshot>,
    previous: Vec<IssuedSnapshot>,
    edited: HashMap<String, HashSet<u32>>,
}

/// A shown page with the refs issued for it.
#[derive(Clone, Debug)]
struct IssuedSnapshot {
    tree: Arc<Tree>,
    /// Number and node of each ref, sorted by number.
    refs: Vec<(u32, u32)>,
}

impl IssuedSnapshot {
    fn node(&self, number: u32) -> Option<u32> {
        let at = self.refs.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(self.refs[at].1)
    }

    fn issued(&self, number: u32) -> Option<IssuedRef> {
        let node = self.node(number)? as usize;
        Some(IssuedRef { number, tree: self.tree.clone(), node })
    }

    fn documents(&self) -> impl Iterator<Item = &str> {
        self.tree.frames.iter().map(|frame| &*frame.document)
    }
}

impl Registry {
    /// The number of an element; stable as long as the element can come back.
    pub fn number(&mut self, document: &str, element: u32) -> u32 {
        let index = self.document_index(document);
        self.number_at(index, element)
    }

    /// Function that returns the numbers of a tree's elements, for many calls as by a view.
    pub fn numbering<'a>(&'a mut self, tree: &'a Tree) -> impl FnMut(u16, u32) -> u32 + 'a {
        let mut indexes = vec![None; tree.frames.len()];
        move |frame, element| {
            let frame = usize::from(frame);
            let index = *indexes[frame]
                .get_or_insert_with(|| self.document_index(&tree.frames[frame].document));
            self.number_at(index, element)
        }
    }

    /// Index of a document's numbers.
    fn document_index(&mut self, document: &str) -> usize {
        self.numbers.iter().position(|(known, _)| **known == *document).unwrap_or_else(|| {
            self.numbers.push((Arc::from(document), ElementRefs::default()));
            self.numbers.len() - 1
        })
    }

    fn number_at(&mut self, index: usize, element: u32) -> u32 {
        *self.numbers[index].1.entry(element).or_insert_with(|| {
            self.last += 1;
            self.count += 1;
            self.last
        })
    }

    /// Issues the refs of a shown view. Before a view of the whole page, the current snapshot becomes the
    /// previous one.
    pub fn issue_view(&mut self, tree: &Arc<Tree>, view: &View, scope: Scope) {
        if scope == Scope::Whole {
            self.edited.clear();
            self.previous = std::mem::take(&mut self.current);
        }
        let mut refs: Vec<(u32, u32)> =
            view.lines.iter().filter_map(|line| Some((line.number?, line.node))).collect();
        refs.sort_unstable();
        refs.dedup();
        self.add_snapshot(IssuedSnapshot { tree: tree.clone(), refs });
    }

    /// The currently valid refs, for [`Self::restore_and_issue`].
    pub fn issued(&self) -> IssuedRefs {
        IssuedRefs {
            current: self.current.clone(),
            previous: self.previous.clone(),
            edited: self.edited.clone(),
        }
    }

    /// Restores the refs from before a snapshot of which only these nodes were shown, then issues refs for
    /// these nodes.
    pub fn restore_and_issue(&mut self, before: IssuedRefs, tree: &Arc<Tree>, nodes: &[usize]) {
        let IssuedRefs { current, previous, edited } = before;
        (self.current, self.previous, self.edited) = (current, previous, edited);
        self.issue_nodes(tree, nodes);
    }

    /// Issues refs for single nodes and returns their numbers.
    pub fn issue_nodes(&mut self, tree: &Arc<Tree>, nodes: &[usize]) -> Vec<u32> {
        let number = |index: &usize| {
            let node = &tree.nodes[*index];
            self.number(&tree.frames[usize::from(node.frame)].document, node.element)
        };
        let numbers: Vec<u32> = nodes.iter().map(number).collect();
        let is_issued = |(number, node): &(u32, u32)| {
            self.valid_snapshots().next().is_some_and(|snapshot| {
                Arc::ptr_eq(&snapshot.tree, tree) && snapshot.node(*number) == Some(*node)
            })
        };
        let mut refs: Vec<(u32, u32)> =
            numbers.iter().copied().zip(nodes.iter().map(|node| *node as u32)).collect();
        refs.sort_unstable();
        refs.dedup();
        if !refs.iter().all(is_issued) {
            self.add_snapshot(IssuedSnapshot { tree: tree.clone(), refs });
        }
        numbers
    }

    fn add_snapshot(&mut self, snapshot: IssuedSnapshot) {
        if self.current.len() > MAX_PARTIAL {
            self.current.remove(1);
        }
        self.current.push(snapshot);
        self.remove_unused_numbers();
    }

    /// Records that the caller acted on an element: later values in it come from the caller.
    pub fn mark_edited(&mut self, document: &str, element: u32) {
        self.edited.entry(document.to_owned()).or_default().insert(element);
    }

    /// The elements of a document that the caller acted on since the current snapshot.
    pub fn edited(&self, document: &str) -> HashSet<u32> {
        self.edited.get(document).cloned().unwrap_or_default()
    }

    /// Rebinds a number to another element, one that the page put in place of its element.
    pub fn rebind(&mut self, number: u32, tree: &Arc<Tree>, node: usize) {
        for (_, numbers) in &mut self.numbers {
            numbers.retain(|_, it| *it != number);
        }
        let it = &tree.nodes[node];
        let index = self.document_index(&tree.frames[usize::from(it.frame)].document);
        self.numbers[index].1.insert(it.element, number);
        self.add_snapshot(IssuedSnapshot { tree: tree.clone(), refs: vec![(number, node as u32)] });
    }

    /// Looks up the element of a ref.
    ///
    /// # Errors
    /// When neither the current nor the previous snapshot issued it.
    pub fn lookup(&self, name: &RefName) -> Result<IssuedRef, RefError> {
        let RefName::Local(number) = name else {
            return Err(RefError::Unknown(name.clone()));
        };
        match self.valid_snapshots().find_map(|snapshot| snapshot.issued(*number)) {
            Some(issued) => Ok(issued),
            None if *number <= self.last => Err(RefError::Expired(name.clone())),
            None => Err(RefError::Unknown(name.clone())),
        }
    }

    /// The document and the element of a shown number.
    pub fn location(&self, number: u32) -> Option<(&str, u32)> {
        self.valid_snapshots().find_map(|snapshot| {
            let node = &snapshot.tree.nodes[snapshot.node(number)? as usize];
            let frame = snapshot.tree.frames.get(usize::from(node.frame))?;
            Some((&*frame.document, node.element))
        })
    }

    /// The valid snapshots, latest first.
    fn valid_snapshots(&self) -> impl Iterator<Item = &IssuedSnapshot> {
        self.current.iter().rev().chain(self.previous.iter().rev())
    }

    /// Removes the numbers of documents that are gone, and of elements when there are too many.
    fn remove_unused_numbers(&mut self) {
        let documents: HashSet<&str> =
            self.current.iter().chain(&self.previous).flat_map(IssuedSnapshot::documents).collect();
        self.numbers.retain(|(document, _)| documents.contains(&**document));
        self.count = self.numbers.iter().map(|(_, numbers)| numbers.len()).sum();
        if self.count > MAX_NUMBERS {
            let shown: HashSet<u32> = self
                .valid_snapshots()
                .flat_map(|snapshot| &snapshot.refs)
                .map(|(number, _)| *number)
                .collect();
            for (_, numbers) in &mut self.numbers {
                numbers.retain(|_, number| shown.contains(number));
            }
            self.count = self.numbers.iter().map(|(_, numbers)| numbers.len()).sum();
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
        let tree = Arc::new(tree);
        let policy = RefPolicy::Live { all: false };
        let options = ViewOptions { policy, ..ViewOptions::default() };
        let view = view(&tree, &options, &mut |_, element| registry.number(document, element));
        registry.issue_view(&tree, &view, scope);
        view.lines.iter().filter_map(|line| line.number).collect()
    }

    #[test]
    fn number_is_stable_and_never_reused() {
        let mut refs = Registry::default();
        assert_eq!(show(&mut refs, "webarea 1\n button 5\n button 6", "a", Scope::Whole), [1, 2]);
        assert_eq!(show(&mut refs, "webarea 1\n button 7\n button 6", "a", Scope::Whole), [3, 2]);
        assert_eq!(show(&mut refs, "webarea 1\n button 5", "b", Scope::Whole), [4]);
        assert_eq!(show(&mut refs, "webarea 1\n button 5", "a", Scope::Whole), [1]);
    }

    #[test]
    fn refs_of_current_and_previous_snapshot_are_valid() {
        let mut refs = Registry::default();
        let ours = RefName::Local;
        show(&mut refs, "webarea 1\n button 5 \"Old\"", "a", Scope::Whole);
        show(&mut refs, "webarea 1\n button 6", "a", Scope::Whole);
        let element = |number| {
            let issued = refs.lookup(&ours(number)).unwrap();
            issued.tree.nodes[issued.node].element
        };
        assert_eq!((element(1), element(2)), (5, 6));
        // A partial snapshot expires nothing.
        show(&mut refs, "webarea 1\n button 7", "a", Scope::Part);
        assert!(refs.lookup(&ours(1)).is_ok() && refs.lookup(&ours(2)).is_ok());
        show(&mut refs, "webarea 1\n button 8", "a", Scope::Whole);
        assert_eq!(refs.lookup(&ours(1)).unwrap_err(), RefError::Expired(ours(1)));
        assert_eq!(refs.lookup(&ours(9)).unwrap_err(), RefError::Unknown(ours(9)));
        assert_eq!(refs.number("a", 8), 4);
    }

    #[test]
    fn number_not_shown_again_keeps_its_target() {
        let mut refs = Registry::default();
        show(&mut refs, "webarea 1\n button 5 \"Ann\"\n button 6 \"Bob\"", "a", Scope::Whole);
        let before = refs.issued();
        let mut now = tree("webarea 1\n button 5 \"Bob\"\n button 6 \"Ann\"");
        now.frames[0].document = "a".into();
        let now = Arc::new(now);
        refs.issue_view(
            &now,
            &view(&now, &ViewOptions::default(), &mut refs.clone().numbering(&now)),
            Scope::Whole,
        );
        refs.restore_and_issue(before, &now, &[2]);
        let name = |number| {
            let issued = refs.lookup(&RefName::Local(number)).unwrap();
            issued.tree.name(&issued.tree.nodes[issued.node]).to_owned()
        };
        assert_eq!([name(1), name(2)], ["Ann", "Ann"]);
    }

    #[test]
    fn rebound_number_points_to_the_new_element_only() {
        let mut refs = Registry::default();
        show(&mut refs, "webarea 1\n button 5", "a", Scope::Whole);
        let mut now = tree("webarea 1\n button 9");
        now.frames[0].document = "a".into();
        refs.rebind(1, &Arc::new(now), 1);
        let issued = refs.lookup(&RefName::Local(1)).unwrap();
        assert_eq!(issued.tree.nodes[issued.node].element, 9);
        let both = "webarea 1\n button 5\n button 9";
        assert_eq!(show(&mut refs, both, "a", Scope::Whole), [2, 1]);
    }

    #[test]
    fn numbers_of_removed_documents_are_dropped() {
        let mut refs = Registry::default();
        for document in 0..50 {
            show(&mut refs, "webarea 1\n button 5", &document.to_string(), Scope::Whole);
        }
        assert_eq!(refs.numbers.len(), 2);
        assert_eq!(show(&mut refs, "webarea 1\n button 5", "0", Scope::Whole), [51]);
    }
}
