//! Seeing a page: one report per document, stitched into one tree.
//!
//! Every frame has a world of ours that walks its document. Frames of the same process are reached through the
//! tab's own session, others through theirs; all are asked at once, and one that does not answer in time is
//! marked while the rest is delivered. A tab keeps what was seen until something happens in the page.

mod ax;
mod frames;
mod isolated_world;
pub(crate) mod oracle;
pub(crate) mod quads;

pub(crate) use isolated_world::{
    FrameReport, HAND, NAME as WORLD, ObserveError, SOURCE, World, json,
};

use crate::backend_refs::BackendRefs;
use crate::chromium::RunningBrowser;
use crate::error::{Code, Error, Result};
use crate::tab::Tab;
use cdp::Deadline;
use frames::FrameInfo;
use page::ax::{Role, Tree, report};
use page::refs::Registry;
use page::render::RenderOptions;
use page::view::{View, ViewOptions};
use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long what was seen is good for when nothing is heard of the page.
const FRESH: Duration = Duration::from_secs(5);

/// How long a frame may take before the rest is told without it.
const FRAME: Duration = Duration::from_millis(1500);

/// How many times a page is looked at anew when it is replaced while we look.
const LOOKS: usize = 4;

/// Refs that are given when a batch is over, as its receipts showed them.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeferredRefs(Arc<Mutex<Vec<ShownNodes>>>);

/// Nodes of a tree.
type ShownNodes = (Arc<Tree>, Vec<usize>);

impl DeferredRefs {
    fn push(&self, tree: &Arc<Tree>, nodes: &[usize]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((tree.clone(), nodes.to_vec()));
    }

    /// All of them, in the order in which they were shown.
    pub(crate) fn take(&self) -> Vec<ShownNodes> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a tab has been seen as.
pub(crate) struct TabObservation {
    /// Our world in each frame.
    worlds: HashMap<String, World>,
    /// The element that holds each frame.
    owners: frames::FrameOwners,
    /// What each frame told, while it is good.
    kept: HashMap<String, CachedFrame>,
    /// What refs mean.
    pub(crate) registry: Registry,
    /// How they are written for those who know them by the browser's numbers.
    pub(crate) spellings: BackendRefs,
    /// The batch whose command has the turn, if it is one of a batch.
    pub(crate) deferred: Option<DeferredRefs>,
    /// How long what was seen is good for when nothing is heard of the page.
    pub(crate) cache_lifetime: Duration,
    /// Where the mouse is, and in which document.
    pub(crate) mouse: Option<(String, f64, f64)>,
    /// Where the mouse was last moved to, in the main frame's view.
    pub(crate) pointer: Option<(f64, f64)>,
    /// A button that `mouse down` has left down.
    pub(crate) held: Option<crate::act::mouse::HeldButton>,
    /// What was last shown of the whole page, to tell what is different now.
    pub(crate) shown: Option<DeltaBaseline>,
    /// What was last shown of parts of it since then, by the way of looking.
    pub(crate) parts: Vec<DeltaBaseline>,
    /// What was there before a dialog came in front of it, while that is there.
    pub(crate) behind: Option<Arc<Tree>>,
    /// Our own scripts failed in the last look, and the browser's own tree was taken instead.
    pub(crate) is_second_hand: bool,
    seen: Option<CachedPage>,
}

impl std::fmt::Debug for TabObservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sight").field("worlds", &self.worlds.len()).finish_non_exhaustive()
    }
}

/// What a caller was shown.
pub(crate) struct DeltaBaseline {
    pub(crate) tree: Arc<Tree>,
    pub(crate) view: View,
    pub(crate) options: ViewOptions,
    pub(crate) look: ObserveOptions,
    /// How it was asked for, in a word.
    pub(crate) way: String,
}

/// What was seen of the whole page, while it is good.
pub(crate) struct CachedPage {
    tree: Arc<Tree>,
    look: ObserveOptions,
    frames: Vec<Watch>,
    /// How often frames of the tab had got other documents, if that matters: who says so of an empty one?
    moves: Option<(Arc<AtomicU64>, u64)>,
    /// Made by the way: what listens to clicks was not asked for.
    is_glimpse: bool,
    /// The tags that were last asked for.
    shape: Option<TagSkeleton>,
}

/// What a page or a part of it is built of.
struct TagSkeleton {
    /// The document and the element; none is the whole page.
    part: Option<(String, u32)>,
    tags: Option<String>,
}

impl CachedPage {
    /// Whether nothing is known to have happened since.
    fn is_good(&self) -> bool {
        self.frames.iter().all(Watch::is_good)
            && self.moves.as_ref().is_none_or(|(moves, was)| moves.load(Ordering::Acquire) == *was)
    }
}

/// What one document told, while it is good.
struct CachedFrame {
    told: Arc<FrameReport>,
    loader: String,
    look: ObserveOptions,
    /// None where there is nothing: nothing happens in a page that could not be reached, and what comes into an empty
    /// frame is told by the document around it.
    watch: Option<Watch>,
}

/// Whether something has happened in a document since it was looked at.
#[derive(Clone)]
struct Watch {
    begun: Instant,
    /// How long it is good for when nothing is heard of the document.
    lifetime: Duration,
    is_dirty: Arc<AtomicBool>,
    /// Ends with the last one who wants to know.
    _task: Arc<AbortOnDrop>,
}

/// Work that ends when nobody waits for it any more.
struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Watch {
    fn over(world: &mut World, lifetime: Duration) -> Self {
        let is_dirty = Arc::new(AtomicBool::new(false));
        let flag = is_dirty.clone();
        let dirtied = world.dirtied(Deadline::after(lifetime));
        let listeners_added_since = world.listeners_added_since(Deadline::after(lifetime));
        let task = tokio::spawn(async move {
            let is_over = tokio::select! {
                true = listeners_added_since => true,
                is_over = dirtied => is_over,
            };
            if is_over {
                flag.store(true, Ordering::Release);
            }
        });
        Self { begun: Instant::now(), lifetime, is_dirty, _task: Arc::new(AbortOnDrop(task)) }
    }

    /// Takes in that something has happened.
    fn invalidate(&self) {
        self.is_dirty.store(true, Ordering::Release);
    }

    fn is_good(&self) -> bool {
        self.begun.elapsed() < self.lifetime && !self.is_dirty.load(Ordering::Acquire)
    }
}

/// How to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObserveOptions {
    /// Leave out what a person cannot see.
    pub(crate) firewall: bool,
    /// Tell what a person cannot see, marked.
    pub(crate) hidden: bool,
    /// Tell where links lead.
    pub(crate) urls: bool,
    /// Tell where everything is.
    pub(crate) boxes: bool,
    /// Tell texts in full, however long.
    pub(crate) full: bool,
    /// Whose eyes.
    pub(crate) source: Source,
}

/// Whose eyes a page is seen with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A script of ours in the page.
    Page,
    /// The browser's own accessibility tree.
    Ax,
}

impl Default for ObserveOptions {
    fn default() -> Self {
        Self {
            firewall: true,
            hidden: false,
            urls: false,
            boxes: false,
            full: false,
            source: Source::Page,
        }
    }
}

impl ObserveOptions {
    /// Whether what was seen in this way has all that is printed of what is seen in the other, and no more.
    pub(crate) fn is_comparable_with(&self, other: &Self, print: &RenderOptions) -> bool {
        self.hidden == other.hidden
            && self.firewall == other.firewall
            && self.full == other.full
            && self.source == other.source
            && (self.urls || !print.urls)
            && (self.boxes || !print.boxes)
    }

    fn options(&self) -> String {
        let Self { firewall, hidden, urls, boxes, full, .. } = self;
        format!(
            "firewall: {firewall}, hidden: {hidden}, urls: {urls}, boxes: {boxes}, full: {full}, \
             watch: true"
        )
    }
}

impl TabObservation {
    pub(crate) fn new(spellings: BackendRefs) -> Self {
        Self {
            worlds: HashMap::new(),
            owners: frames::FrameOwners::new(),
            kept: HashMap::new(),
            registry: Registry::default(),
            spellings,
            deferred: None,
            cache_lifetime: FRESH,
            mouse: None,
            pointer: None,
            held: None,
            shown: None,
            parts: Vec::new(),
            behind: None,
            is_second_hand: false,
            seen: None,
        }
    }

    /// What was seen of the page, if nothing has happened since and it was looked at in the same way.
    pub(crate) fn cached_page(&self, look: &ObserveOptions, loader: &str) -> Option<Arc<Tree>> {
        let is_whole = self.seen.as_ref().is_some_and(|seen| !seen.is_glimpse);
        self.cached_page_any_source(look, loader).filter(|_| is_whole)
    }

    /// Puts aside what was seen, for a look that is not to be remembered.
    pub(crate) fn stash(&mut self) -> Option<CachedPage> {
        self.kept.clear();
        self.seen.take()
    }

    /// Takes back what was put aside, in place of what was seen since.
    pub(crate) fn restore(&mut self, seen: Option<CachedPage>) {
        self.kept.clear();
        self.seen = seen;
    }

    /// What was seen of the page, if its documents say themselves that nothing has happened since. Word of a
    /// change comes a moment after it: good enough to show a page, too late to point at something in it.
    pub(crate) async fn revalidated_page(
        &self,
        look: &ObserveOptions,
        loader: &str,
        deadline: Deadline,
    ) -> Option<Arc<Tree>> {
        let tree = self.cached_page(look, loader)?;
        let mut asked = tokio::task::JoinSet::new();
        for frame in tree.frames.iter().filter(|frame| !frame.silent) {
            // One in which there is nothing has no say of its own.
            let is_empty =
                |kept: &CachedFrame| kept.loader == frame.document && kept.watch.is_none();
            if self.kept.values().any(is_empty) {
                continue;
            }
            let world = self.world_of(&frame.document)?.clone();
            let kept = self.kept.values().find(|kept| kept.loader == frame.document);
            let watch = kept.and_then(|kept| kept.watch.clone());
            asked.spawn(async move {
                let (is_spoiled, is_late) =
                    tokio::join!(world.is_spoiled(deadline), world.has_late_roots(deadline));
                // What a script set in a field is found out by being asked: word of it may still be on its way.
                if let Some(watch) = watch.filter(|_| is_spoiled) {
                    watch.invalidate();
                }
                is_spoiled || is_late.unwrap_or(true)
            });
        }
        // All of them, so that each that has changed is known to have.
        let mut is_any = false;
        while let Some(is_spoiled) = asked.join_next().await {
            is_any |= is_spoiled.unwrap_or(true);
        }
        (!is_any).then_some(tree)
    }

    /// Whether a shadow root has come in a document that was looked at. Nothing else tells.
    pub(crate) async fn has_late_roots(&self, deadline: Deadline) -> bool {
        let mut asked = tokio::task::JoinSet::new();
        for world in self.worlds.values() {
            let world = world.clone();
            asked.spawn(async move { world.has_late_roots(deadline).await.unwrap_or(false) });
        }
        asked.join_all().await.contains(&true)
    }

    /// What was seen is good no more: a script ran in the page, and what it did may have left no trace. Frames of
    /// other processes are out of its reach.
    pub(crate) fn forget(&mut self, tab: &Tab) {
        self.seen = None;
        let worlds = &self.worlds;
        self.kept.retain(|frame, _| {
            worlds.get(frame).is_some_and(|world| world.channel.session() != tab.channel.session())
        });
    }

    /// Gives nodes refs that mean what they mean now, and their numbers. In a batch that waits for its end: whoever
    /// wrote the batch had not read any of its receipts.
    pub(crate) fn issue_refs(&mut self, tree: &Arc<Tree>, nodes: &[usize]) -> Vec<u32> {
        let Some(deferred) = &self.deferred else { return self.registry.issue_nodes(tree, nodes) };
        deferred.push(tree, nodes);
        let number = |index: &usize| {
            let node = &tree.nodes[*index];
            self.registry.number(&tree.frames[usize::from(node.frame)].document, node.element)
        };
        nodes.iter().map(number).collect()
    }

    /// What was seen may not be so any more: every document is asked what is different.
    pub(crate) fn invalidate(&mut self) {
        self.seen = None;
        self.kept.retain(|_, kept| kept.watch.is_none());
    }

    /// Another document came: its frames and their worlds are other ones.
    fn begin_document(&mut self) {
        self.worlds.clear();
        self.owners.clear();
        self.kept.clear();
    }

    /// Nothing that was seen is good any more.
    pub(crate) fn reset(&mut self) {
        self.seen = None;
        self.kept.clear();
        for world in self.worlds.values_mut() {
            world.forget();
        }
    }

    /// Keeps what was seen until something happens in the page.
    fn keep(&mut self, tree: Arc<Tree>, look: ObserveOptions, moves: (Arc<AtomicU64>, u64)) {
        let watch = |frame: &page::ax::Frame| {
            self.kept.values().find(|kept| kept.loader == frame.document).map(|it| it.watch.clone())
        };
        // A page of which a part is not known any more cannot be remembered.
        let answering = tree.frames.iter().filter(|frame| !frame.silent);
        let frames: Option<Vec<Option<Watch>>> = answering.map(watch).collect();
        self.seen = frames.map(|frames| CachedPage {
            tree,
            look,
            moves: frames.iter().any(Option::is_none).then_some(moves),
            frames: frames.into_iter().flatten().collect(),
            is_glimpse: false,
            shape: None,
        });
    }

    /// How to look at the page by the way, if it is one document of its own.
    pub(crate) fn looking(&self, tab: &Tab) -> Option<String> {
        let world = self.worlds.get(&tab.target_id)?;
        let seen = self.seen.as_ref()?;
        (seen.tree.frames.len() == 1).then(|| world.looking(&ObserveOptions::default().options()))
    }

    /// The page by a report that came by the way.
    pub(crate) async fn adopt_inline_report(
        &mut self,
        tab: &Tab,
        report: &str,
        deadline: Deadline,
    ) -> Option<Arc<Tree>> {
        let kept = self.kept.get(&tab.target_id);
        // What it told before is not so any more; word of that may still be on its way.
        if let Some(watch) = kept.and_then(|kept| kept.watch.as_ref()) {
            watch.is_dirty.store(true, Ordering::Release);
        }
        let listening = kept.map(|kept| kept.told.listening.clone());
        let world = self.worlds.get_mut(&tab.target_id)?;
        let report = world.take_in(report)?;
        if world.has_late_roots(deadline).await.unwrap_or(true) {
            return None;
        }
        let watch = Watch::over(world, self.cache_lifetime);
        let loader = world.loader.clone();
        let told = FrameReport::new(report, listening?);
        let main = FrameInfo::main(tab, loader);
        let told = HashMap::from([(tab.target_id.clone(), Arc::new(told))]);
        let tree = Arc::new(stitch(self, &main, &told, &[]).ok()?);
        let look = ObserveOptions::default();
        let (frames, moves) = (vec![watch], None);
        let (is_glimpse, shape) = (true, None);
        self.seen = Some(CachedPage { tree: tree.clone(), look, frames, moves, is_glimpse, shape });
        Some(tree)
    }

    /// What was seen of the page, also by the way, if nothing is known to have happened since.
    pub(crate) fn cached_page_any_source(
        &self,
        look: &ObserveOptions,
        loader: &str,
    ) -> Option<Arc<Tree>> {
        let seen = self.seen.as_ref()?;
        let is_good = seen.look == *look
            && seen.is_good()
            && seen.tree.frames.first().is_some_and(|frame| frame.document == loader);
        is_good.then(|| seen.tree.clone())
    }

    /// Remembers what a dialog came in front of: to tell later that it is back.
    pub(crate) fn set_modal_background(&mut self, was: Option<&Arc<Tree>>, now: &Tree) {
        let document = |tree: &Tree| tree.frames.first().map(|frame| frame.document.clone());
        self.behind = match page::delta::is_covered(now) {
            false => None,
            true => match was.filter(|was| !page::delta::is_covered(was)) {
                Some(was) => Some(was.clone()),
                None => self.behind.take(),
            },
        };
        self.behind = self.behind.take().filter(|behind| document(behind) == document(now));
    }

    /// What was last seen of the page, whatever happened since.
    pub(crate) fn last_seen(&self) -> Option<Arc<Tree>> {
        self.seen.as_ref().map(|seen| seen.tree.clone())
    }

    /// Whether something happens in the page within this time.
    pub(crate) async fn changes_within(&self, quiet: Duration) -> bool {
        let main = self.seen.as_ref().and_then(|seen| seen.tree.frames.first());
        match main.and_then(|main| self.world_of(&main.document)) {
            Some(world) => world.dirtied(Deadline::after(quiet)).await,
            None => false,
        }
    }

    /// The number of the element that holds a frame, if it was told.
    fn owner_of(&self, place: &FrameInfo) -> Option<u32> {
        let world = self.worlds.get(place.parent.as_deref()?)?;
        world.known(*self.owners.get(&place.frame_id)?)
    }

    /// Our world in the document with this id, if it was part of what was seen last.
    pub(crate) fn world_of(&self, document: &str) -> Option<&World> {
        self.worlds.values().find(|world| world.loader == document)
    }
}

/// Gets ready to look at a document whose text has come, while what it named is still coming.
pub(crate) async fn prefetch_listeners(tab: Arc<Tab>) {
    let deadline = Deadline::after(FRAME);
    let loader = tab.state.borrow().loader.clone();
    let Ok(mut world) = World::enter(&tab.channel, &tab.target_id, &loader, true, deadline).await
    else {
        return;
    };
    _ = world.prefetch_listeners(deadline).await;
    if tab.state.borrow().loader != loader {
        return;
    }
    let Ok(mut observation) = tab.observation.try_lock() else { return };
    if observation.worlds.get(&tab.target_id).is_none_or(|known| known.loader != loader) {
        observation.begin_document();
        observation.worlds.insert(tab.target_id.clone(), world);
    }
}

/// The page as it is now.
pub(crate) async fn observe(
    live: &RunningBrowser,
    tab: &Tab,
    observation: &mut TabObservation,
    look: &ObserveOptions,
    deadline: Deadline,
) -> Result<Arc<Tree>> {
    let mut trouble = None;
    observation.is_second_hand = false;
    for _ in 0..LOOKS {
        let moves = tab.frame_moves.load(Ordering::Acquire);
        let looked = async {
            match look.source {
                Source::Page => observe_once(live, tab, observation, look, deadline).await,
                Source::Ax => ax::look(live, tab, observation, deadline).await,
            }
        };
        match watched(tab, looked).await {
            Ok(mut tree) => {
                if look.boxes {
                    place_boxes(observation, &mut tree, deadline).await;
                }
                let tree = Arc::new(tree);
                if look.source == Source::Page {
                    let moves = (tab.frame_moves.clone(), moves);
                    observation.keep(tree.clone(), look.clone(), moves);
                }
                return Ok(tree);
            }
            // Another document came in between: its worlds are other ones.
            Err(error) if error.is_replaced() && !deadline.is_over() => {
                observation.worlds.remove(&tab.target_id);
                trouble = Some(error);
            }
            // A page that our scripts stumble over can still be told by the browser.
            Err(error @ ObserveError::Script(_)) if look.source == Source::Page => {
                tracing::warn!("our scripts failed in a page: the browser's own tree is asked");
                return match watched(tab, ax::look(live, tab, observation, deadline)).await {
                    Ok(tree) => {
                        observation.seen = None;
                        observation.is_second_hand = true;
                        Ok(Arc::new(tree))
                    }
                    Err(blocked @ ObserveError::Blocked(_)) => Err(blocked.explain(tab)),
                    Err(_) => Err(error.explain(tab)),
                };
            }
            Err(error) => return Err(error.explain(tab)),
        }
    }
    Err(trouble
        .map_or_else(|| Error::new(Code::SnapshotUnavailable), |trouble| trouble.explain(tab)))
}

async fn observe_once(
    live: &RunningBrowser,
    tab: &Tab,
    observation: &mut TabObservation,
    look: &ObserveOptions,
    deadline: Deadline,
) -> std::result::Result<Tree, ObserveError> {
    let loader = tab.state.borrow().loader.clone();
    if observation.worlds.get(&tab.target_id).is_none_or(|world| world.loader != loader) {
        observation.begin_document();
    }
    let main = FrameInfo::main(tab, loader);
    let known: HashSet<String> = observation.owners.keys().cloned().collect();
    let mut placing = pin!(frames::places(live, tab, &known, deadline.at_most(FRAME)));
    let mut placed = None;
    let told = {
        let mut looking = pin!(look_at(observation, &main, look, deadline));
        loop {
            tokio::select! {
                biased;
                told = &mut looking => break told?,
                found = &mut placing, if placed.is_none() => placed = Some(found),
            }
        }
    };
    let (places, owners) = match placed {
        Some(found) => found,
        // Where no frame is shown nobody needs to know where they are.
        None if told.holders.is_empty() => Default::default(),
        None => placing.await,
    };
    observation.owners.extend(owners);
    let mut all = HashMap::from([(tab.target_id.clone(), told)]);
    look_at_frames(observation, &places, look, &mut all, deadline).await;
    observation.kept.retain(|frame, _| all.contains_key(frame));
    let here: HashSet<&str> = places.iter().map(|place| &*place.frame_id).collect();
    observation.worlds.retain(|frame, _| *frame == tab.target_id || here.contains(&**frame));
    observation.owners.retain(|frame, _| here.contains(&**frame));
    let begun = Instant::now();
    let tree = stitch(observation, &main, &all, &places)?;
    tracing::debug!(nodes = tree.nodes.len(), took = ?begun.elapsed(), "documents were stitched");
    Ok(tree)
}

/// A dialog, a crash or a closed tab ends the wait.
pub(crate) async fn watched<T>(
    tab: &Tab,
    work: impl Future<Output = std::result::Result<T, ObserveError>>,
) -> std::result::Result<T, ObserveError> {
    let mut state = tab.state.subscribe();
    tokio::select! {
        biased;
        done = work => done,
        blocked = tab.blocked(&mut state) => Err(ObserveError::Blocked(Box::new(blocked))),
    }
}

/// What a frame's document tells. What it told before is taken if it is known to be good.
async fn look_at(
    observation: &mut TabObservation,
    place: &FrameInfo,
    look: &ObserveOptions,
    deadline: Deadline,
) -> std::result::Result<Arc<FrameReport>, ObserveError> {
    if let Some(told) = known(observation, place, look) {
        return Ok(told);
    }
    let world = observation.worlds.remove(&place.frame_id);
    let (world, told) = ask(place.clone(), world, look.options(), deadline).await?;
    Ok(store_report(observation, place, look, world, told))
}

/// What a frame told before, if it is good.
fn known(
    observation: &TabObservation,
    place: &FrameInfo,
    look: &ObserveOptions,
) -> Option<Arc<FrameReport>> {
    let kept = observation.kept.get(&place.frame_id)?;
    let is_good = kept.loader == place.loader
        && kept.look == *look
        && kept.watch.as_ref().map_or(place.is_unreachable, Watch::is_good);
    is_good.then(|| kept.told.clone())
}

async fn ask(
    place: FrameInfo,
    world: Option<World>,
    options: String,
    deadline: Deadline,
) -> std::result::Result<(World, FrameReport), ObserveError> {
    let mut world = match world.filter(|world| world.loader == place.loader) {
        Some(world) => world,
        None => {
            let FrameInfo { channel, frame_id, loader, .. } = &place;
            World::enter(channel, frame_id, loader, place.is_top, deadline).await?
        }
    };
    // Not on the stack of whoever looks: what this needs there adds up.
    let told = Box::pin(world.look(&options, deadline)).await?;
    Ok((world, told))
}

fn store_report(
    observation: &mut TabObservation,
    place: &FrameInfo,
    look: &ObserveOptions,
    mut world: World,
    told: FrameReport,
) -> Arc<FrameReport> {
    let (told, look, loader) = (Arc::new(told), look.clone(), place.loader.clone());
    let watch = Some(Watch::over(&mut world, observation.cache_lifetime));
    let kept = CachedFrame { told: told.clone(), loader, look, watch };
    observation.kept.insert(place.frame_id.clone(), kept);
    observation.worlds.insert(place.frame_id.clone(), world);
    told
}

/// What the documents in frames tell, by frame. Those that cannot be seen are not asked.
async fn look_at_frames(
    observation: &mut TabObservation,
    places: &[FrameInfo],
    look: &ObserveOptions,
    all: &mut HashMap<String, Arc<FrameReport>>,
    deadline: Deadline,
) {
    loop {
        let limit = deadline.at_most(FRAME);
        let is_in = |place: &&FrameInfo| {
            let parent = place.parent.as_ref();
            parent.is_some_and(|parent| all.contains_key(parent))
                && !all.contains_key(&place.frame_id)
        };
        let inside: Vec<&FrameInfo> = places.iter().filter(is_in).collect();
        frames::own(observation, &inside, all, limit).await;
        let holds = |place: &&FrameInfo| {
            let told = place.parent.as_ref().and_then(|parent| all.get(parent));
            let owner = observation.owner_of(place);
            told.zip(owner).is_some_and(|(told, owner)| told.holders.contains(&owner))
        };
        let mut asked = tokio::task::JoinSet::new();
        let mut told = Vec::new();
        let shown: Vec<&FrameInfo> = inside.into_iter().filter(holds).collect();
        for place in shown {
            let around = place.parent.as_ref().and_then(|parent| all.get(parent));
            let blank = around
                .zip(observation.owner_of(place))
                .and_then(|(told, owner)| told.blank_inside(owner));
            let nothing = blank.or_else(|| place.is_unreachable.then(FrameReport::unreachable));
            match (nothing, known(observation, place, look)) {
                (Some(nothing), _) => {
                    let nothing = Arc::new(nothing);
                    let (look, loader) = (look.clone(), place.loader.clone());
                    let kept = CachedFrame { told: nothing.clone(), loader, look, watch: None };
                    observation.kept.insert(place.frame_id.clone(), kept);
                    told.push((place.frame_id.clone(), nothing));
                }
                (None, Some(known)) => told.push((place.frame_id.clone(), known)),
                (None, None) => {
                    let world = observation.worlds.remove(&place.frame_id);
                    let (place, options) = (place.clone(), look.options());
                    asked.spawn(
                        async move { (place.clone(), ask(place, world, options, limit).await) },
                    );
                }
            }
        }
        let is_over = asked.is_empty() && told.is_empty();
        while let Some(answer) = asked.join_next().await {
            if let Ok((place, Ok((world, new)))) = answer {
                told.push((
                    place.frame_id.clone(),
                    store_report(observation, &place, look, world, new),
                ));
            }
        }
        // One that did not answer has nothing inside that could be asked.
        if is_over || told.is_empty() {
            return;
        }
        all.extend(told);
    }
}

/// One tree of all documents, each below the element that holds it.
struct TreeBuilder<'a> {
    tree: Tree,
    told: &'a HashMap<String, Arc<FrameReport>>,
    /// Frames by the frame they are in and the element that holds them.
    held: HashMap<(&'a str, u32), &'a FrameInfo>,
    /// Frames that hold others of which nobody knows where.
    lost: HashSet<&'a str>,
}

fn stitch(
    observation: &TabObservation,
    main: &FrameInfo,
    told: &HashMap<String, Arc<FrameReport>>,
    places: &[FrameInfo],
) -> std::result::Result<Tree, ObserveError> {
    let held = places
        .iter()
        .filter_map(|place| Some(((place.parent.as_deref()?, observation.owner_of(place)?), place)))
        .collect();
    let lost = places
        .iter()
        .filter(|place| !observation.owners.contains_key(&place.frame_id))
        .filter_map(|place| place.parent.as_deref())
        .collect();
    let mut work = TreeBuilder { tree: Tree::default(), told, held, lost };
    work.add(main, None, 0).map_err(|bad| {
        ObserveError::Script(format!("line {} of a report is malformed", bad.line))
    })?;
    work.tree.close();
    drop_delegated_listeners(&mut work.tree);
    Ok(work.tree)
}

impl TreeBuilder<'_> {
    /// Adds a document, and the documents in its frames where their elements stand.
    fn add(
        &mut self,
        place: &FrameInfo,
        parent: Option<u16>,
        depth: u32,
    ) -> std::result::Result<(), report::Malformed> {
        let Some(told) = self.told.get(&place.frame_id) else {
            self.tree.add_silent(page::ax::Frame {
                document: place.loader.clone(),
                url: page::text::mask_url(&place.url),
                origin: place.origin(),
                name: place.name.clone(),
                parent,
                ..page::ax::Frame::default()
            });
            return Ok(());
        };
        let index = self.tree.frames.len() as u16;
        let frame = report::document(&told.report).unwrap_or_default();
        self.tree.frames.push(page::ax::Frame {
            document: place.loader.clone(),
            name: place.name.clone(),
            parent,
            ..frame
        });
        let begin = self.tree.nodes.len();
        self.tree.add_report(&told.report, depth, index)?;
        let mut holds = false;
        let has_lost = self.lost.contains(&*place.frame_id);
        for node in &mut self.tree.nodes[begin..] {
            if told.listening.contains(&node.element) {
                node.states = node.states.with_listener(true);
            }
            let is_held = self.held.contains_key(&(&*place.frame_id, node.element));
            holds = holds || is_held;
            if has_lost && !is_held && node.role == Role::Iframe {
                node.states = node.states.with_silent(true);
            }
        }
        if holds {
            for node in self.tree.nodes.split_off(begin) {
                self.tree.nodes.push(node);
                if let Some(inner) = self.held.get(&(&*place.frame_id, node.element)).copied() {
                    self.add(inner, Some(index), node.depth + 1)?;
                }
            }
        }
        Ok(())
    }
}

/// The tags of an element and what is in it, or of the whole page, for a hash of its shape. While what was seen is good,
/// so is that.
pub(crate) async fn shape(
    tab: &Tab,
    observation: &mut TabObservation,
    root: Option<(&str, u32)>,
    deadline: Deadline,
) -> Result<Option<String>> {
    let part = root.map(|(document, element)| (document.to_owned(), element));
    let seen = observation.seen.as_ref().filter(|seen| seen.is_good());
    let known = seen.and_then(|seen| seen.shape.as_ref()).filter(|shape| shape.part == part);
    if let Some(known) = known {
        return Ok(known.tags.clone());
    }
    let world = match root {
        Some((document, _)) => observation.world_of(document),
        None => observation.worlds.get(&tab.target_id),
    };
    let Some(world) = world else { return Ok(None) };
    let element = root.map_or(0, |(_, element)| element);
    let script = format!("agbrowse.tagSkeleton({element}, {})", page::hash::DOM_HASH_MAX_CHARS);
    let tags: Option<String> =
        world.ask(&script, deadline).await.map_err(|trouble| trouble.explain(tab))?;
    if let Some(seen) = observation.seen.as_mut().filter(|seen| seen.is_good()) {
        seen.shape = Some(TagSkeleton { part, tags: tags.clone() });
    }
    Ok(tags)
}

/// Puts the boxes of what is in frames where they are in the view of the page.
async fn place_boxes(observation: &TabObservation, tree: &mut Tree, deadline: Deadline) {
    for frame in 1..tree.frames.len() {
        let frame = frame as u16;
        let (x, y) = offset(observation, tree, frame, deadline).await;
        tree.shift_boxes(frame, x, y);
    }
}

/// Where a frame's document begins, in CSS pixels of the main frame's view.
pub(crate) async fn offset(
    observation: &TabObservation,
    tree: &Tree,
    frame: u16,
    deadline: Deadline,
) -> (f32, f32) {
    let (mut x, mut y) = (0.0, 0.0);
    let mut at = tree.frames.get(usize::from(frame));
    while let Some((inner, parent)) = at.and_then(|inner| Some((inner, inner.parent?))) {
        let outer = tree.frames.get(usize::from(parent));
        let world = outer.and_then(|outer| observation.world_of(&outer.document));
        let frame_id = observation.world_of(&inner.document).map(|world| &*world.frame_id);
        let owner = frame_id.and_then(|id| world?.known(*observation.owners.get(id)?));
        if let (Some(world), Some(owner)) = (world, owner)
            && let Ok(Some([left, top])) = world
                .ask::<Option<[f32; 2]>>(&format!("agbrowse.frameContentOrigin({owner})"), deadline)
                .await
        {
            x += left;
            y += top;
        }
        at = outer;
    }
    (x, y)
}

/// The world around a frame, and the element there that holds the frame.
pub(crate) fn holder<'s>(
    observation: &'s TabObservation,
    tree: &Tree,
    frame: u16,
) -> Option<(&'s World, u32)> {
    let inner = tree.frames.get(usize::from(frame))?;
    let outer = tree.frames.get(usize::from(inner.parent?))?;
    let frame_id = &observation.world_of(&inner.document)?.frame_id;
    let world = observation.world_of(&outer.document)?;
    Some((world, world.known(*observation.owners.get(frame_id)?)?))
}

/// An element that holds most of the page listens for what is in it, not for itself.
fn drop_delegated_listeners(tree: &mut Tree) {
    let all = tree.nodes.len();
    for index in 0..all {
        let node = &tree.nodes[index];
        let size = (node.end as usize).saturating_sub(index);
        let is_root = node.depth <= 2 || (size > 20 && size * 2 > all);
        if is_root && node.states.has_listener() && node.role == Role::Generic && size > 3 {
            tree.nodes[index].states = tree.nodes[index].states.with_listener(false);
        }
    }
}
