//! Refs for MCP clients, `e12345`: the browser's backend node id.
//!
//! Backend node ids are fetched only for elements that such a client gets to see, once each. An id is unique within
//! one renderer process only: ids of other processes get a frame prefix (`f2e12345`), and so do ids that were issued
//! before, when a new document or another tab restarts the count. A ref string is never reused for another element of
//! the tab, nor by the other tabs of its context.

use crate::error::{Error, Evidence};
use crate::note::Note;
use crate::observe::TabObservation;
use crate::tab::{Tab, TabId};
use cdp::Deadline;
use page::refs::{RefName, numbers_in, rewrite_refs};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Cached backend refs before those that no snapshot contains any more are dropped.
const MAX_BACKEND_REFS: usize = 50_000;

/// A backend node id and its frame prefix.
type BackendRef = (Option<u32>, u64);

/// Backend refs issued in a context, and the tab of each.
#[derive(Debug, Default)]
pub(crate) struct IssuedBackendRefs(Mutex<HashMap<BackendRef, TabId>>);

impl IssuedBackendRefs {
    fn table(&self) -> MutexGuard<'_, HashMap<BackendRef, TabId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Backend refs of one tab.
#[derive(Debug)]
pub(crate) struct BackendRefs {
    tab: TabId,
    issued: Arc<IssuedBackendRefs>,
    by_number: HashMap<u32, BackendRef>,
    ref_numbers: HashMap<BackendRef, u32>,
    /// Frame prefixes by namespace.
    prefixes: HashMap<RefNamespace, u32>,
}

/// The namespace of a prefix: a session, or a document that restarts the count; and the number of prefixes before
/// this one that were already taken.
type RefNamespace = (Option<Arc<str>>, Option<String>, u32);

impl BackendRefs {
    pub(crate) fn new(tab: TabId, issued: Arc<IssuedBackendRefs>) -> Self {
        let (by_number, ref_numbers, prefixes) = Default::default();
        Self { tab, issued, by_number, ref_numbers, prefixes }
    }

    /// The ref number of a backend ref.
    pub(crate) fn ref_number(&self, frame: Option<u32>, id: u64) -> Option<u32> {
        self.ref_numbers.get(&(frame, id)).copied()
    }

    /// The other tab that issued a backend ref.
    pub(crate) fn issuing_tab(&self, frame: Option<u32>, id: u64) -> Option<TabId> {
        self.issued.table().get(&(frame, id)).copied().filter(|tab| *tab != self.tab)
    }

    fn prefix_of(&mut self, origin: RefNamespace) -> u32 {
        // The main process has no prefix.
        let next = self.prefixes.len() as u32 + 1;
        *self.prefixes.entry(origin).or_insert(next)
    }

    fn assign(
        &mut self,
        number: u32,
        mut backend_ref: BackendRef,
        (session, document): (Option<Arc<str>>, &str),
    ) {
        let issued = self.issued.clone();
        let mut issued = issued.table();
        let mut tries = 0;
        while self.ref_numbers.get(&backend_ref).is_some_and(|taken| *taken != number)
            || issued.get(&backend_ref).is_some_and(|tab| *tab != self.tab)
        {
            backend_ref.0 =
                Some(self.prefix_of((session.clone(), Some(document.to_owned()), tries)));
            tries += 1;
        }
        issued.insert(backend_ref, self.tab);
        self.ref_numbers.insert(backend_ref, number);
        self.by_number.insert(number, backend_ref);
    }

    /// Drops backend refs of elements that are no longer in a snapshot.
    fn retain(&mut self, is_shown: impl Fn(u32) -> bool) {
        let mut issued = self.issued.table();
        self.by_number.retain(|number, _| is_shown(*number));
        self.ref_numbers.retain(|backend_ref, number| {
            let stays = self.by_number.contains_key(number);
            if !stays {
                issued.remove(backend_ref);
            }
            stays
        });
        issued.shrink_to_fit();
    }
}

impl Drop for BackendRefs {
    fn drop(&mut self) {
        self.retain(|_| false);
    }
}

/// Fetches the backend node ids of refs.
pub(crate) async fn fetch_backend_ids(
    tab: &Tab,
    observation: &mut TabObservation,
    numbers: &[u32],
    deadline: Deadline,
) {
    let mut unknown: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
    for number in numbers {
        if observation.backend_refs.by_number.contains_key(number) {
            continue;
        }
        if let Some((document, element)) = observation.registry.location(*number) {
            unknown.entry(document.to_owned()).or_default().push((*number, element));
        }
    }
    if observation.backend_refs.by_number.len() + unknown.len() > MAX_BACKEND_REFS {
        let registry = &observation.registry;
        observation.backend_refs.retain(|number| registry.location(number).is_some());
    }
    let main = tab.channel.session().cloned();
    for (document, missing) in unknown {
        let Some(world) = observation.world_of(&document) else { continue };
        let session = world.channel.session().cloned();
        let elements: Vec<u32> = missing.iter().map(|(_, element)| *element).collect();
        let ids = world.backend_ids(&elements, deadline).await.unwrap_or_default();
        let backend_refs = &mut observation.backend_refs;
        let prefix = (session != main).then(|| backend_refs.prefix_of((session.clone(), None, 0)));
        for ((number, _), id) in missing.into_iter().zip(ids) {
            if let Some(id) = id.and_then(|id| u64::try_from(id).ok()) {
                backend_refs.assign(number, (prefix, id), (session.clone(), &document));
            }
        }
    }
}

/// The backend form of a ref, once fetched; `None` if the browser has no backend node id for it.
pub(crate) fn format_ref(
    observation: &TabObservation,
    context: Option<&str>,
    number: u32,
) -> Option<String> {
    let (frame, id) = *observation.backend_refs.by_number.get(&number)?;
    let context = context.map(str::to_owned);
    Some(RefName::Backend { context, frame, id }.to_string())
}

/// Rewrites refs in texts for the client as backend refs.
pub(crate) async fn rewrite_all(tab: &Tab, mut texts: Vec<&mut String>, deadline: Deadline) {
    let numbers: Vec<u32> = texts.iter().flat_map(|text| numbers_in(text)).collect();
    if numbers.is_empty() {
        return;
    }
    let Ok(mut observation) = tokio::time::timeout_at(deadline.at(), tab.observation.lock()).await
    else {
        return;
    };
    fetch_backend_ids(tab, &mut observation, &numbers, deadline).await;
    for text in &mut texts {
        // A local number left in the text would be read as another element's backend ref.
        **text = rewrite_refs(text, |number| {
            let known = format_ref(&observation, tab.context.as_deref(), number);
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

/// The texts of notes that may contain refs.
pub(crate) fn texts_of_notes(notes: &mut [Note]) -> Vec<&mut String> {
    notes.iter_mut().map(|note| &mut note.message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assign(backend_refs: &mut BackendRefs, number: u32, id: u64) -> BackendRef {
        backend_refs.assign(number, (None, id), (None, "document"));
        backend_refs.by_number[&number]
    }

    #[test]
    fn backend_id_of_another_open_tab_gets_a_prefix() {
        let issued = Arc::<IssuedBackendRefs>::default();
        let mut first = BackendRefs::new(TabId(1), issued.clone());
        let mut second = BackendRefs::new(TabId(2), issued.clone());
        let mut third = BackendRefs::new(TabId(3), issued.clone());
        assert_eq!(assign(&mut first, 1, 5), (None, 5));
        assert_eq!(assign(&mut second, 1, 5), (Some(1), 5));
        assert_eq!(assign(&mut second, 2, 6), (None, 6));
        // The prefixed form is taken too.
        assert_eq!(assign(&mut third, 1, 5), (Some(2), 5));
        assert_eq!(second.issuing_tab(None, 5), Some(TabId(1)));
        assert_eq!(second.issuing_tab(Some(1), 5), None);
        assert_eq!(second.ref_number(None, 5), None);
        drop((first, second));
        assert_eq!(assign(&mut third, 2, 6), (None, 6));
        drop(third);
        assert!(issued.table().is_empty());
    }
}
