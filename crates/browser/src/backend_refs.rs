//! Refs as MCP clients know them: `e12345`, the browser's own number of a node.
//!
//! Those numbers are asked of the browser only for elements that are shown to such a client, and once for each. They
//! are numbers of one renderer process: what another process has is told apart by a mark before it (`f2e12345`), and so
//! is a number that was given before, when a new page or another tab begins to count anew. What a ref was once written
//! for, no other element of the tab is ever written as, and none of the tabs beside it.

use crate::error::{Error, Evidence};
use crate::note::Note;
use crate::observe::TabObservation;
use crate::tab::{Tab, TabId};
use cdp::Deadline;
use page::refs::{RefName, numbers_in, rewrite_refs};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many spellings are remembered before those that no snapshot shows any more are forgotten.
const MOST: usize = 50_000;

/// A number of the browser's, and the mark before it.
type BackendRef = (Option<u32>, u64);

/// What the tabs of a context have written, and which one it was.
#[derive(Debug, Default)]
pub(crate) struct IssuedBackendRefs(Mutex<HashMap<BackendRef, TabId>>);

impl IssuedBackendRefs {
    fn table(&self) -> MutexGuard<'_, HashMap<BackendRef, TabId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the refs of a tab are spelled.
#[derive(Debug)]
pub(crate) struct BackendRefs {
    tab: TabId,
    written: Arc<IssuedBackendRefs>,
    of_number: HashMap<u32, BackendRef>,
    numbers: HashMap<BackendRef, u32>,
    /// What the marks stand for.
    marks: HashMap<RefNamespace, u32>,
}

/// Whose numbers need a mark: those of a process, or those of a document that begins to count anew; and how many marks
/// before this one did not do.
type RefNamespace = (Option<Arc<str>>, Option<String>, u32);

impl BackendRefs {
    pub(crate) fn new(tab: TabId, written: Arc<IssuedBackendRefs>) -> Self {
        let (of_number, numbers, marks) = Default::default();
        Self { tab, written, of_number, numbers, marks }
    }

    /// The number of a ref that was spelled so.
    pub(crate) fn number(&self, frame: Option<u32>, id: u64) -> Option<u32> {
        self.numbers.get(&(frame, id)).copied()
    }

    /// The tab that wrote a ref so, if it is another one.
    pub(crate) fn tab_beside(&self, frame: Option<u32>, id: u64) -> Option<TabId> {
        self.written.table().get(&(frame, id)).copied().filter(|tab| *tab != self.tab)
    }

    fn mark(&mut self, origin: RefNamespace) -> u32 {
        // The first process has none.
        let next = self.marks.len() as u32 + 1;
        *self.marks.entry(origin).or_insert(next)
    }

    fn give(
        &mut self,
        number: u32,
        mut spelled: BackendRef,
        (session, document): (Option<Arc<str>>, &str),
    ) {
        let written = self.written.clone();
        let mut written = written.table();
        let mut tries = 0;
        while self.numbers.get(&spelled).is_some_and(|taken| *taken != number)
            || written.get(&spelled).is_some_and(|tab| *tab != self.tab)
        {
            spelled.0 = Some(self.mark((session.clone(), Some(document.to_owned()), tries)));
            tries += 1;
        }
        written.insert(spelled, self.tab);
        self.numbers.insert(spelled, number);
        self.of_number.insert(number, spelled);
    }

    /// Forgets what is not shown any more.
    fn keep(&mut self, is_shown: impl Fn(u32) -> bool) {
        let mut written = self.written.table();
        self.of_number.retain(|number, _| is_shown(*number));
        self.numbers.retain(|spelled, number| {
            let stays = self.of_number.contains_key(number);
            if !stays {
                written.remove(spelled);
            }
            stays
        });
        written.shrink_to_fit();
    }
}

impl Drop for BackendRefs {
    fn drop(&mut self) {
        self.keep(|_| false);
    }
}

/// Finds out how refs are spelled.
pub(crate) async fn learn(
    tab: &Tab,
    observation: &mut TabObservation,
    numbers: &[u32],
    deadline: Deadline,
) {
    let mut unknown: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
    for number in numbers {
        if observation.spellings.of_number.contains_key(number) {
            continue;
        }
        if let Some((document, element)) = observation.registry.location(*number) {
            unknown.entry(document.to_owned()).or_default().push((*number, element));
        }
    }
    if observation.spellings.of_number.len() + unknown.len() > MOST {
        let registry = &observation.registry;
        observation.spellings.keep(|number| registry.location(number).is_some());
    }
    let main = tab.channel.session().cloned();
    for (document, asked) in unknown {
        let Some(world) = observation.world_of(&document) else { continue };
        let session = world.channel.session().cloned();
        let elements: Vec<u32> = asked.iter().map(|(_, element)| *element).collect();
        let ids = world.backend_ids(&elements, deadline).await.unwrap_or_default();
        let spellings = &mut observation.spellings;
        let mark = (session != main).then(|| spellings.mark((session.clone(), None, 0)));
        for ((number, _), id) in asked.into_iter().zip(ids) {
            if let Some(id) = id.and_then(|id| u64::try_from(id).ok()) {
                spellings.give(number, (mark, id), (session.clone(), &document));
            }
        }
    }
}

/// How a ref is spelled, once that was found out; ours where the browser has no number for it.
pub(crate) fn spelled(
    observation: &TabObservation,
    context: Option<&str>,
    number: u32,
) -> Option<String> {
    let (frame, id) = *observation.spellings.of_number.get(&number)?;
    let context = context.map(str::to_owned);
    Some(RefName::Backend { context, frame, id }.to_string())
}

/// What a client is told, with its refs in its own spelling.
pub(crate) async fn rewrite_all(tab: &Tab, mut texts: Vec<&mut String>, deadline: Deadline) {
    let numbers: Vec<u32> = texts.iter().flat_map(|text| numbers_in(text)).collect();
    if numbers.is_empty() {
        return;
    }
    let Ok(mut observation) = tokio::time::timeout_at(deadline.at(), tab.observation.lock()).await
    else {
        return;
    };
    learn(tab, &mut observation, &numbers, deadline).await;
    for text in &mut texts {
        // What cannot be written so is better not written: it would be read as another one's.
        **text = rewrite_refs(text, |number| {
            let known = spelled(&observation, tab.context.as_deref(), number);
            Some(known.unwrap_or_else(|| "-".to_owned()))
        });
    }
}

/// The texts of an error that may name refs.
pub(crate) fn texts_of_error(error: &mut Error) -> Vec<&mut String> {
    let details = error.details_mut();
    let evidence =
        details.evidence.iter_mut().flat_map(|all| all.values_mut()).flat_map(Evidence::texts_mut);
    std::iter::once(&mut details.message).chain(evidence).collect()
}

/// The texts of notes that may name refs.
pub(crate) fn texts_of_notes(notes: &mut [Note]) -> Vec<&mut String> {
    notes.iter_mut().map(|note| &mut note.message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(spellings: &mut BackendRefs, number: u32, id: u64) -> BackendRef {
        spellings.give(number, (None, id), (None, "document"));
        spellings.of_number[&number]
    }

    #[test]
    fn a_number_of_another_tab_is_marked_while_that_tab_is_there() {
        let written = Arc::<IssuedBackendRefs>::default();
        let mut first = BackendRefs::new(TabId(1), written.clone());
        let mut second = BackendRefs::new(TabId(2), written.clone());
        let mut third = BackendRefs::new(TabId(3), written.clone());
        assert_eq!(given(&mut first, 1, 5), (None, 5));
        assert_eq!(given(&mut second, 1, 5), (Some(1), 5));
        assert_eq!(given(&mut second, 2, 6), (None, 6));
        // The mark is taken too.
        assert_eq!(given(&mut third, 1, 5), (Some(2), 5));
        assert_eq!(second.tab_beside(None, 5), Some(TabId(1)));
        assert_eq!(second.tab_beside(Some(1), 5), None);
        assert_eq!(second.number(None, 5), None);
        drop((first, second));
        assert_eq!(given(&mut third, 2, 6), (None, 6));
        drop(third);
        assert!(written.table().is_empty());
    }
}
