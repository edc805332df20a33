//! Per-tab observation state: isolated worlds, cached frame reports, refs, delta baselines. Observation: one report
//! per document, joined into one tree.
//!
//! Every frame has an isolated world whose observer script walks the document. In-process frames are reached through
//! the tab's session, others through their own; all are observed in parallel, and one that does not respond in time
//! is marked silent while the rest is delivered. The tab's cache is valid until the page changes.

mod ax;
mod frames;
mod isolated_world;
pub(crate) mod oracle;
pub(crate) mod quads;

pub(crate) use isolated_world::{
    CHUNK_BINDING, FrameReport, NAME as WORLD, ObserveError, SOURCE, World, json,
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

/// Lifetime of the cache when no change is reported.
const FRESH: Duration = Duration::from_secs(5);

/// Timeout of a frame before the page is reported without it.
const FRAME: Duration = Duration::from_millis(1500);

/// Attempts when the page is replaced during the observation.
const ATTEMPTS: usize = 4;

/// Refs that are issued at the end of a batch, for the nodes that its receipts showed.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeferredRefs(Arc<Mutex<Vec<TreeNodes>>>);

/// Nodes of a tree.
type TreeNodes = (Arc<Tree>, Vec<usize>);

impl DeferredRefs {
    fn push(&self, tree: &Arc<Tree>, nodes: &[usize]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((tree.clone(), nodes.to_vec()));
    }

    /// Takes all of them, in display order.
    pub(crate) fn take(&self) -> Vec<TreeNodes> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Per-tab observation state: isolated worlds, cached frame reports, refs, delta baselines.
pub(crate) struct TabObservation {
    /// The isolated world of each frame.
    worlds: HashMap<String, World>,
    /// The owner element of each frame.
    owners: frames::FrameOwners,
    /// Cached report of each frame.
    cached_frames: HashMap<String, CachedFrame>,
    /// Issued refs.
    pub(crate) registry: Registry,
    /// Backend refs for MCP clients.
    pub(crate) backend_refs: BackendRefs,
    /// The deferred refs of the running batch, if there is one.
    pub(crate) deferred: Option<DeferredRefs>,
    /// Lifetime of the cache when no change is reported.
    pub(crate) cache_lifetime: Duration,
    /// The mouse position and its document.
    pub(crate) mouse: Option<(String, f64, f64)>,
    /// The last mouse position, in the main frame's viewport.
    pub(crate) pointer: Option<(f64, f64)>,
    /// A button held by `mouse down`.
    pub(crate) held: Option<crate::act::mouse::HeldButton>,
    /// Delta baseline of the whole page.
    pub(crate) delta_baseline: Option<DeltaBaseline>,
    /// Delta baselines of parts of the page shown since then.
    pub(crate) parts: Vec<DeltaBaseline>,
    /// The page behind the open modal dialog.
    pub(crate) modal_background: Option<Arc<Tree>>,
    /// The observer script failed in the last observation, and the browser's accessibility tree was used instead.
    pub(crate) is_ax_fallback: bool,
    cached: Option<CachedPage>,
}

impl std::fmt::Debug for TabObservation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TabObservation").field("worlds", &self.worlds.len()).finish_non_exhaustive()
    }
}

/// A shown snapshot, the base of the next delta.
pub(crate) struct DeltaBaseline {
    pub(crate) tree: Arc<Tree>,
    pub(crate) view: View,
    pub(crate) view_options: ViewOptions,
    pub(crate) observe_options: ObserveOptions,
    /// The kind of snapshot that was asked for.
    pub(crate) mode: String,
}

/// The cached tree of the whole page.
pub(crate) struct CachedPage {
    tree: Arc<Tree>,
    options: ObserveOptions,
    frames: Vec<Watch>,
    /// Frame navigations of the tab at the time, if there are empty frames: only that counter covers those.
    frame_moves: Option<(Arc<AtomicU64>, u64)>,
    /// Built from an inline report: click listeners were not queried.
    is_inline: bool,
    /// The cached tag skeleton.
    skeleton: Option<TagSkeleton>,
}

/// The tag skeleton of a page or a part of it.
struct TagSkeleton {
    /// Document and element; `None` for the whole page.
    part: Option<(String, u32)>,
    tags: Option<String>,
}

impl CachedPage {
    /// True if no change is known since.
    fn is_valid(&self) -> bool {
        self.frames.iter().all(Watch::is_valid)
            && self
                .frame_moves
                .as_ref()
                .is_none_or(|(moves, was)| moves.load(Ordering::Acquire) == *was)
    }
}

/// A cached frame report.
struct CachedFrame {
    report: Arc<FrameReport>,
    loader: String,
    options: ObserveOptions,
    /// `None` for empty documents: an error page does not change, and a change of an empty frame is reported by its
    /// parent document.
    watch: Option<Watch>,
}

/// Watches a document for changes since its observation.
#[derive(Clone)]
struct Watch {
    begun: Instant,
    /// Lifetime when no change is reported.
    lifetime: Duration,
    is_dirty: Arc<AtomicBool>,
    /// Aborted with the last clone.
    _task: Arc<AbortOnDrop>,
}

/// A task that is aborted when dropped.
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
        let when_dirty = world.when_dirty(Deadline::after(lifetime));
        let listeners_added_since = world.listeners_added_since(Deadline::after(lifetime));
        let task = tokio::spawn(async move {
            let is_over = tokio::select! {
                true = listeners_added_since => true,
                is_over = when_dirty => is_over,
            };
            if is_over {
                flag.store(true, Ordering::Release);
            }
        });
        Self { begun: Instant::now(), lifetime, is_dirty, _task: Arc::new(AbortOnDrop(task)) }
    }

    /// Marks the document as changed.
    fn invalidate(&self) {
        self.is_dirty.store(true, Ordering::Release);
    }

    fn is_valid(&self) -> bool {
        self.begun.elapsed() < self.lifetime && !self.is_dirty.load(Ordering::Acquire)
    }
}

/// Observation options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObserveOptions {
    /// Omit what is visually hidden.
    pub(crate) firewall: bool,
    /// Include what is visually hidden, marked.
    pub(crate) hidden: bool,
    /// Include link URLs.
    pub(crate) urls: bool,
    /// Include bounding boxes.
    pub(crate) boxes: bool,
    /// Include texts in full length.
    pub(crate) full: bool,
    /// The snapshot source.
    pub(crate) source: Source,
}

/// The snapshot source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The observer script in the page.
    Page,
    /// The browser's accessibility tree.
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
    /// True if an observation with these options contains everything that `print` renders of one with the others, and
    /// no more.
    pub(crate) fn is_comparable_with(&self, other: &Self, print: &RenderOptions) -> bool {
        self.hidden == other.hidden
            && self.firewall == other.firewall
            && self.full == other.full
            && self.source == other.source
            && (self.urls || !print.urls)
            && (self.boxes || !print.boxes)
    }

    fn to_js(&self) -> String {
        let Self { firewall, hidden, urls, boxes, full, .. } = self;
        format!(
            "firewall: {firewall}, hidden: {hidden}, urls: {urls}, boxes: {boxes}, full: {full}, \
             watch: true"
        )
    }
}

impl TabObservation {
    pub(crate) fn new(backend_refs: BackendRefs) -> Self {
        Self {
            worlds: HashMap::new(),
            owners: frames::FrameOwners::new(),
            cached_frames: HashMap::new(),
            registry: Registry::default(),
            backend_refs,
            deferred: None,
            cache_lifetime: FRESH,
            mouse: None,
            pointer: None,
            held: None,
            delta_baseline: None,
            parts: Vec::new(),
            modal_background: None,
            is_ax_fallback: false,
            cached: None,
        }
    }

    /// The cached tree, if the page has not changed since and the options are the same.
    pub(crate) fn cached_page(&self, options: &ObserveOptions, loader: &str) -> Option<Arc<Tree>> {
        let is_whole = self.cached.as_ref().is_some_and(|page| !page.is_inline);
        self.cached_page_any_source(options, loader).filter(|_| is_whole)
    }

    /// Takes the cache away before an observation that must not be cached.
    pub(crate) fn stash(&mut self) -> Option<CachedPage> {
        self.cached_frames.clear();
        self.cached.take()
    }

    /// Restores the stashed cache, dropping what was cached since.
    pub(crate) fn restore(&mut self, cached: Option<CachedPage>) {
        self.cached_frames.clear();
        self.cached = cached;
    }

    /// The cached tree, if its documents confirm that nothing has changed. Change notifications arrive a moment late:
    /// the cache is good enough to show a page, but not to target an element in it.
    pub(crate) async fn revalidated_page(
        &self,
        options: &ObserveOptions,
        loader: &str,
        deadline: Deadline,
    ) -> Option<Arc<Tree>> {
        let tree = self.cached_page(options, loader)?;
        let mut pending = tokio::task::JoinSet::new();
        for frame in tree.frames.iter().filter(|frame| !frame.silent) {
            // An empty document has no watch of its own.
            let is_empty =
                |cached: &CachedFrame| cached.loader == frame.document && cached.watch.is_none();
            if self.cached_frames.values().any(is_empty) {
                continue;
            }
            let world = self.world_of(&frame.document)?.clone();
            let cached = self.cached_frames.values().find(|cached| cached.loader == frame.document);
            let watch = cached.and_then(|cached| cached.watch.clone());
            pending.spawn(async move {
                let (is_dirty, is_late) =
                    tokio::join!(world.is_dirty(deadline), world.has_late_roots(deadline));
                // A field value set by a script is found only by asking: its notification may still be on its way.
                if let Some(watch) = watch.filter(|_| is_dirty) {
                    watch.invalidate();
                }
                is_dirty || is_late.unwrap_or(true)
            });
        }
        // All of them, so that each changed document is marked.
        let mut is_any = false;
        while let Some(is_dirty) = pending.join_next().await {
            is_any |= is_dirty.unwrap_or(true);
        }
        (!is_any).then_some(tree)
    }

    /// True if a shadow root was attached in an observed document. No notification covers that.
    pub(crate) async fn has_late_roots(&self, deadline: Deadline) -> bool {
        let mut pending = tokio::task::JoinSet::new();
        for world in self.worlds.values() {
            let world = world.clone();
            pending.spawn(async move { world.has_late_roots(deadline).await.unwrap_or(false) });
        }
        pending.join_all().await.contains(&true)
    }

    /// Invalidates the cache of the tab's own process: a script ran in the page, and its effects may have left no
    /// trace. Frames of other processes are out of its reach.
    pub(crate) fn invalidate_own_process(&mut self, tab: &Tab) {
        self.cached = None;
        let worlds = &self.worlds;
        self.cached_frames.retain(|frame, _| {
            worlds.get(frame).is_some_and(|world| world.channel.session() != tab.channel.session())
        });
    }

    /// Issues refs for nodes and returns their numbers. In a batch this is deferred to its end: the batch was written
    /// before any of its receipts was read.
    pub(crate) fn issue_refs(&mut self, tree: &Arc<Tree>, nodes: &[usize]) -> Vec<u32> {
        let Some(deferred) = &self.deferred else { return self.registry.issue_nodes(tree, nodes) };
        deferred.push(tree, nodes);
        let number = |index: &usize| {
            let node = &tree.nodes[*index];
            self.registry.number(&tree.frames[usize::from(node.frame)].document, node.element)
        };
        nodes.iter().map(number).collect()
    }

    /// Invalidates the cache: every document is asked for changes.
    pub(crate) fn invalidate(&mut self) {
        self.cached = None;
        self.cached_frames.retain(|_, cached| cached.watch.is_none());
    }

    /// Another document was committed: its frames and isolated worlds are new.
    fn begin_document(&mut self) {
        self.worlds.clear();
        self.owners.clear();
        self.cached_frames.clear();
    }

    /// Drops everything that was observed.
    pub(crate) fn reset(&mut self) {
        self.cached = None;
        self.cached_frames.clear();
        for world in self.worlds.values_mut() {
            world.drop_report();
        }
    }

    /// Caches the tree until the page changes.
    fn cache_page(
        &mut self,
        tree: Arc<Tree>,
        options: ObserveOptions,
        moves: (Arc<AtomicU64>, u64),
    ) {
        let watch = |frame: &page::ax::Frame| {
            self.cached_frames
                .values()
                .find(|cached| cached.loader == frame.document)
                .map(|it| it.watch.clone())
        };
        // A page with an uncached frame cannot be cached.
        let answering = tree.frames.iter().filter(|frame| !frame.silent);
        let frames: Option<Vec<Option<Watch>>> = answering.map(watch).collect();
        self.cached = frames.map(|frames| CachedPage {
            tree,
            options,
            frame_moves: frames.iter().any(Option::is_none).then_some(moves),
            frames: frames.into_iter().flatten().collect(),
            is_inline: false,
            skeleton: None,
        });
    }

    /// The inline report options, if the page is a single document.
    pub(crate) fn inline_options(&self, tab: &Tab) -> Option<String> {
        let world = self.worlds.get(&tab.target_id)?;
        let page = self.cached.as_ref()?;
        (page.tree.frames.len() == 1)
            .then(|| world.inline_options(&ObserveOptions::default().to_js()))
    }

    /// Caches and returns the tree of an inline report.
    pub(crate) async fn adopt_inline_report(
        &mut self,
        tab: &Tab,
        report: &str,
        deadline: Deadline,
    ) -> Option<Arc<Tree>> {
        let cached = self.cached_frames.get(&tab.target_id);
        // The cached report is outdated; its change notification may still be on its way.
        if let Some(watch) = cached.and_then(|cached| cached.watch.as_ref()) {
            watch.is_dirty.store(true, Ordering::Release);
        }
        let listening = cached.map(|cached| cached.report.listening.clone());
        let world = self.worlds.get_mut(&tab.target_id)?;
        let report = world.adopt_inline_report(report)?;
        if world.has_late_roots(deadline).await.unwrap_or(true) {
            return None;
        }
        let watch = Watch::over(world, self.cache_lifetime);
        let loader = world.loader.clone();
        let report = FrameReport::new(report, listening?);
        let main = FrameInfo::main(tab, loader);
        let reports = HashMap::from([(tab.target_id.clone(), Arc::new(report))]);
        let tree = Arc::new(build_tree(self, &main, &reports, &[]).ok()?);
        let options = ObserveOptions::default();
        let (frames, frame_moves) = (vec![watch], None);
        let (is_inline, skeleton) = (true, None);
        self.cached = Some(CachedPage {
            tree: tree.clone(),
            options,
            frames,
            frame_moves,
            is_inline,
            skeleton,
        });
        Some(tree)
    }

    /// The cached tree, also one of an inline report, if no change is known since.
    pub(crate) fn cached_page_any_source(
        &self,
        options: &ObserveOptions,
        loader: &str,
    ) -> Option<Arc<Tree>> {
        let page = self.cached.as_ref()?;
        let is_valid = page.options == *options
            && page.is_valid()
            && page.tree.frames.first().is_some_and(|frame| frame.document == loader);
        is_valid.then(|| page.tree.clone())
    }

    /// Stores the page behind a modal dialog: to report later that it is back.
    pub(crate) fn set_modal_background(&mut self, was: Option<&Arc<Tree>>, now: &Tree) {
        let document = |tree: &Tree| tree.frames.first().map(|frame| frame.document.clone());
        self.modal_background = match page::delta::is_covered_by_modal(now) {
            false => None,
            true => match was.filter(|was| !page::delta::is_covered_by_modal(was)) {
                Some(was) => Some(was.clone()),
                None => self.modal_background.take(),
            },
        };
        self.modal_background =
            self.modal_background.take().filter(|behind| document(behind) == document(now));
    }

    /// The last observed tree, valid or not.
    pub(crate) fn last_tree(&self) -> Option<Arc<Tree>> {
        self.cached.as_ref().map(|page| page.tree.clone())
    }

    /// True if the page changes within this time.
    pub(crate) async fn changes_within(&self, quiet: Duration) -> bool {
        let main = self.cached.as_ref().and_then(|page| page.tree.frames.first());
        match main.and_then(|main| self.world_of(&main.document)) {
            Some(world) => world.when_dirty(Deadline::after(quiet)).await,
            None => false,
        }
    }

    /// The element number of a frame's owner, if it was reported.
    fn owner_of(&self, info: &FrameInfo) -> Option<u32> {
        let world = self.worlds.get(info.parent.as_deref()?)?;
        world.id_of(*self.owners.get(&info.frame_id)?)
    }

    /// The isolated world of the document with this loader id, if it was part of the last observation.
    pub(crate) fn world_of(&self, document: &str) -> Option<&World> {
        self.worlds.values().find(|world| world.loader == document)
    }
}

/// Registers click listeners of a document at `DOMContentLoaded`, while its resources still load.
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

/// Observes the page as it is now.
pub(crate) async fn observe(
    live: &RunningBrowser,
    tab: &Tab,
    observation: &mut TabObservation,
    options: &ObserveOptions,
    deadline: Deadline,
) -> Result<Arc<Tree>> {
    let mut last_error = None;
    observation.is_ax_fallback = false;
    for _ in 0..ATTEMPTS {
        let moves = tab.frame_moves.load(Ordering::Acquire);
        let attempt = async {
            match options.source {
                Source::Page => observe_once(live, tab, observation, options, deadline).await,
                Source::Ax => ax::observe(live, tab, observation, deadline).await,
            }
        };
        match watched(tab, attempt).await {
            Ok(mut tree) => {
                if options.boxes {
                    place_boxes(observation, &mut tree, deadline).await;
                }
                let tree = Arc::new(tree);
                if options.source == Source::Page {
                    let moves = (tab.frame_moves.clone(), moves);
                    observation.cache_page(tree.clone(), options.clone(), moves);
                }
                return Ok(tree);
            }
            // Another document was committed meanwhile: its isolated worlds are new.
            Err(error) if error.is_replaced() && !deadline.is_over() => {
                observation.worlds.remove(&tab.target_id);
                last_error = Some(error);
            }
            // If the observer script fails, the browser's accessibility tree still works.
            Err(error @ ObserveError::Script(_)) if options.source == Source::Page => {
                tracing::warn!(
                    "the observer script failed: falling back to the browser's accessibility tree"
                );
                return match watched(tab, ax::observe(live, tab, observation, deadline)).await {
                    Ok(tree) => {
                        observation.cached = None;
                        observation.is_ax_fallback = true;
                        Ok(Arc::new(tree))
                    }
                    Err(blocked @ ObserveError::Blocked(_)) => Err(blocked.explain(tab)),
                    Err(_) => Err(error.explain(tab)),
                };
            }
            Err(error) => return Err(error.explain(tab)),
        }
    }
    Err(last_error
        .map_or_else(|| Error::new(Code::SnapshotUnavailable), |error| error.explain(tab)))
}

async fn observe_once(
    live: &RunningBrowser,
    tab: &Tab,
    observation: &mut TabObservation,
    options: &ObserveOptions,
    deadline: Deadline,
) -> std::result::Result<Tree, ObserveError> {
    let loader = tab.state.borrow().loader.clone();
    if observation.worlds.get(&tab.target_id).is_none_or(|world| world.loader != loader) {
        observation.begin_document();
    }
    let main = FrameInfo::main(tab, loader);
    let known: HashSet<String> = observation.owners.keys().cloned().collect();
    let mut listing = pin!(frames::list_frames(live, tab, &known, deadline.at_most(FRAME)));
    let mut listed = None;
    let report = {
        let mut looking = pin!(observe_frame(observation, &main, options, deadline));
        loop {
            tokio::select! {
                biased;
                report = &mut looking => break report?,
                found = &mut listing, if listed.is_none() => listed = Some(found),
            }
        }
    };
    let (infos, owners) = match listed {
        Some(found) => found,
        // Without reported frames, their positions are not needed.
        None if report.holders.is_empty() => Default::default(),
        None => listing.await,
    };
    observation.owners.extend(owners);
    let mut all = HashMap::from([(tab.target_id.clone(), report)]);
    observe_frames(observation, &infos, options, &mut all, deadline).await;
    observation.cached_frames.retain(|frame, _| all.contains_key(frame));
    let here: HashSet<&str> = infos.iter().map(|info| &*info.frame_id).collect();
    observation.worlds.retain(|frame, _| *frame == tab.target_id || here.contains(&**frame));
    observation.owners.retain(|frame, _| here.contains(&**frame));
    let begun = Instant::now();
    let tree = build_tree(observation, &main, &all, &infos)?;
    tracing::debug!(nodes = tree.nodes.len(), took = ?begun.elapsed(), "frame reports were joined");
    Ok(tree)
}

/// Ends the wait on a dialog, a crash or a closed tab.
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

/// The report of a frame, from the cache if it is valid.
async fn observe_frame(
    observation: &mut TabObservation,
    info: &FrameInfo,
    options: &ObserveOptions,
    deadline: Deadline,
) -> std::result::Result<Arc<FrameReport>, ObserveError> {
    if let Some(report) = cached_report(observation, info, options) {
        return Ok(report);
    }
    let world = observation.worlds.remove(&info.frame_id);
    let (world, report) = fetch_report(info.clone(), world, options.to_js(), deadline).await?;
    Ok(store_report(observation, info, options, world, report))
}

/// The cached report of a frame, if it is valid.
fn cached_report(
    observation: &TabObservation,
    info: &FrameInfo,
    options: &ObserveOptions,
) -> Option<Arc<FrameReport>> {
    let cached = observation.cached_frames.get(&info.frame_id)?;
    let is_valid = cached.loader == info.loader
        && cached.options == *options
        && cached.watch.as_ref().map_or(info.is_unreachable, Watch::is_valid);
    is_valid.then(|| cached.report.clone())
}

async fn fetch_report(
    info: FrameInfo,
    world: Option<World>,
    js_options: String,
    deadline: Deadline,
) -> std::result::Result<(World, FrameReport), ObserveError> {
    let mut world = match world.filter(|world| world.loader == info.loader) {
        Some(world) => world,
        None => {
            let FrameInfo { channel, frame_id, loader, .. } = &info;
            World::enter(channel, frame_id, loader, info.is_top, deadline).await?
        }
    };
    // Boxed: its stack use would add to the caller's.
    let report = Box::pin(world.observe(&js_options, deadline)).await?;
    Ok((world, report))
}

fn store_report(
    observation: &mut TabObservation,
    info: &FrameInfo,
    options: &ObserveOptions,
    mut world: World,
    report: FrameReport,
) -> Arc<FrameReport> {
    let (report, options, loader) = (Arc::new(report), options.clone(), info.loader.clone());
    let watch = Some(Watch::over(&mut world, observation.cache_lifetime));
    let cached = CachedFrame { report: report.clone(), loader, options, watch };
    observation.cached_frames.insert(info.frame_id.clone(), cached);
    observation.worlds.insert(info.frame_id.clone(), world);
    report
}

/// Observes the documents in frames, level by level. Invisible frames are skipped.
async fn observe_frames(
    observation: &mut TabObservation,
    infos: &[FrameInfo],
    options: &ObserveOptions,
    all: &mut HashMap<String, Arc<FrameReport>>,
    deadline: Deadline,
) {
    loop {
        let limit = deadline.at_most(FRAME);
        let is_in = |info: &&FrameInfo| {
            let parent = info.parent.as_ref();
            parent.is_some_and(|parent| all.contains_key(parent))
                && !all.contains_key(&info.frame_id)
        };
        let inside: Vec<&FrameInfo> = infos.iter().filter(is_in).collect();
        frames::resolve_frame_owners(observation, &inside, all, limit).await;
        let holds = |info: &&FrameInfo| {
            let outer = info.parent.as_ref().and_then(|parent| all.get(parent));
            let owner = observation.owner_of(info);
            outer.zip(owner).is_some_and(|(outer, owner)| outer.holders.contains(&owner))
        };
        let mut pending = tokio::task::JoinSet::new();
        let mut reports = Vec::new();
        let visible: Vec<&FrameInfo> = inside.into_iter().filter(holds).collect();
        for info in visible {
            let outer = info.parent.as_ref().and_then(|parent| all.get(parent));
            let blank = outer
                .zip(observation.owner_of(info))
                .and_then(|(outer, owner)| outer.blank_inside(owner));
            let nothing = blank.or_else(|| info.is_unreachable.then(FrameReport::unreachable));
            match (nothing, cached_report(observation, info, options)) {
                (Some(nothing), _) => {
                    let nothing = Arc::new(nothing);
                    let (options, loader) = (options.clone(), info.loader.clone());
                    let cached =
                        CachedFrame { report: nothing.clone(), loader, options, watch: None };
                    observation.cached_frames.insert(info.frame_id.clone(), cached);
                    reports.push((info.frame_id.clone(), nothing));
                }
                (None, Some(known)) => reports.push((info.frame_id.clone(), known)),
                (None, None) => {
                    let world = observation.worlds.remove(&info.frame_id);
                    let (info, js_options) = (info.clone(), options.to_js());
                    pending.spawn(async move {
                        (info.clone(), fetch_report(info, world, js_options, limit).await)
                    });
                }
            }
        }
        let is_over = pending.is_empty() && reports.is_empty();
        while let Some(answer) = pending.join_next().await {
            if let Ok((info, Ok((world, new)))) = answer {
                reports.push((
                    info.frame_id.clone(),
                    store_report(observation, &info, options, world, new),
                ));
            }
        }
        // A frame that did not respond has no frames to observe.
        if is_over || reports.is_empty() {
            return;
        }
        all.extend(reports);
    }
}

/// Builds one tree of all documents, each below its owner element.
struct TreeBuilder<'a> {
    tree: Tree,
    reports: &'a HashMap<String, Arc<FrameReport>>,
    /// Frames by parent frame and owner element.
    by_owner: HashMap<(&'a str, u32), &'a FrameInfo>,
    /// Frames with child frames whose owner element is unknown.
    lost: HashSet<&'a str>,
}

fn build_tree(
    observation: &TabObservation,
    main: &FrameInfo,
    reports: &HashMap<String, Arc<FrameReport>>,
    infos: &[FrameInfo],
) -> std::result::Result<Tree, ObserveError> {
    let by_owner = infos
        .iter()
        .filter_map(|info| Some(((info.parent.as_deref()?, observation.owner_of(info)?), info)))
        .collect();
    let lost = infos
        .iter()
        .filter(|info| !observation.owners.contains_key(&info.frame_id))
        .filter_map(|info| info.parent.as_deref())
        .collect();
    let mut work = TreeBuilder { tree: Tree::default(), reports, by_owner, lost };
    work.add(main, None, 0).map_err(|bad| {
        ObserveError::Script(format!("line {} of a report is malformed", bad.line))
    })?;
    work.tree.finish();
    drop_delegated_listeners(&mut work.tree);
    Ok(work.tree)
}

impl TreeBuilder<'_> {
    /// Adds a document, and its frames' documents below their owner elements.
    fn add(
        &mut self,
        info: &FrameInfo,
        parent: Option<u16>,
        depth: u32,
    ) -> std::result::Result<(), report::Malformed> {
        let Some(report) = self.reports.get(&info.frame_id) else {
            self.tree.add_silent_frame(page::ax::Frame {
                document: info.loader.clone(),
                url: page::text::mask_url(&info.url),
                origin: info.origin(),
                name: info.name.clone(),
                parent,
                ..page::ax::Frame::default()
            });
            return Ok(());
        };
        let index = self.tree.frames.len() as u16;
        let frame = report::document(&report.text).unwrap_or_default();
        self.tree.frames.push(page::ax::Frame {
            document: info.loader.clone(),
            name: info.name.clone(),
            parent,
            ..frame
        });
        let begin = self.tree.nodes.len();
        self.tree.add_report(&report.text, depth, index)?;
        let mut holds = false;
        let has_lost = self.lost.contains(&*info.frame_id);
        for node in &mut self.tree.nodes[begin..] {
            if report.listening.contains(&node.element) {
                node.states = node.states.with_listener(true);
            }
            let is_owner = self.by_owner.contains_key(&(&*info.frame_id, node.element));
            holds = holds || is_owner;
            if has_lost && !is_owner && node.role == Role::Iframe {
                node.states = node.states.with_silent(true);
            }
        }
        if holds {
            for node in self.tree.nodes.split_off(begin) {
                self.tree.nodes.push(node);
                if let Some(inner) = self.by_owner.get(&(&*info.frame_id, node.element)).copied() {
                    self.add(inner, Some(index), node.depth + 1)?;
                }
            }
        }
        Ok(())
    }
}

/// The tags of an element and its descendants, or of the whole page, for a structure hash. Cached as long as the
/// tree.
pub(crate) async fn tag_skeleton(
    tab: &Tab,
    observation: &mut TabObservation,
    root: Option<(&str, u32)>,
    deadline: Deadline,
) -> Result<Option<String>> {
    let part = root.map(|(document, element)| (document.to_owned(), element));
    let page = observation.cached.as_ref().filter(|page| page.is_valid());
    let known =
        page.and_then(|page| page.skeleton.as_ref()).filter(|skeleton| skeleton.part == part);
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
        world.ask(&script, deadline).await.map_err(|error| error.explain(tab))?;
    if let Some(page) = observation.cached.as_mut().filter(|page| page.is_valid()) {
        page.skeleton = Some(TagSkeleton { part, tags: tags.clone() });
    }
    Ok(tags)
}

/// Shifts the boxes of frames into the coordinates of the main viewport.
async fn place_boxes(observation: &TabObservation, tree: &mut Tree, deadline: Deadline) {
    for frame in 1..tree.frames.len() {
        let frame = frame as u16;
        let (x, y) = offset(observation, tree, frame, deadline).await;
        tree.translate_bounds(frame, x, y);
    }
}

/// The offset of a frame's document, in CSS pixels of the main viewport.
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
        let owner = frame_id.and_then(|id| world?.id_of(*observation.owners.get(id)?));
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

/// The parent world of a frame, and the owner element in it.
pub(crate) fn frame_owner<'s>(
    observation: &'s TabObservation,
    tree: &Tree,
    frame: u16,
) -> Option<(&'s World, u32)> {
    let inner = tree.frames.get(usize::from(frame))?;
    let outer = tree.frames.get(usize::from(inner.parent?))?;
    let frame_id = &observation.world_of(&inner.document)?.frame_id;
    let world = observation.world_of(&outer.document)?;
    Some((world, world.id_of(*observation.owners.get(frame_id)?)?))
}

/// A listener on an element that contains most of the page is delegated: it is not the element's own.
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
