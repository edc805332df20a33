//! Seeing a page: one report per document, stitched into one tree.
//!
//! Every frame has a world of ours that walks its document. Frames of the same process are reached through the
//! tab's own session, others through theirs; all are asked at once, and one that does not answer in time is
//! marked while the rest is delivered. A tab keeps what was seen until something happens in the page.

mod ax;
mod frames;
pub(crate) mod oracle;
mod world;

pub(crate) use world::{NAME as WORLD, SOURCE, Trouble, World, json};

use crate::error::{Code, Error, Result};
use crate::live::Live;
use crate::tab::Tab;
use cdp::Deadline;
use frames::Place;
use page::ax::{Role, Tree, report};
use page::refs::Registry;
use page::render::Print;
use page::view::View;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long what was seen is good for when nothing is heard of the page.
const FRESH: Duration = Duration::from_secs(5);

/// How long a frame may take before the rest is told without it.
const FRAME: Duration = Duration::from_millis(1500);

/// How many times a page is looked at anew when it is replaced while we look.
const LOOKS: usize = 4;

/// How deep closed shadow roots in closed shadow roots are looked into.
const ROOTS: usize = 16;

/// What a tab has been seen as.
#[derive(Default)]
pub(crate) struct Sight {
    /// Our world in each frame.
    worlds: HashMap<String, World>,
    /// The element that holds each frame.
    owners: HashMap<String, u32>,
    /// What refs mean.
    pub(crate) registry: Registry,
    /// What was last shown, to tell what is different now.
    pub(crate) shown: Option<Shown>,
    seen: Option<Seen>,
}

impl std::fmt::Debug for Sight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sight").field("worlds", &self.worlds.len()).finish_non_exhaustive()
    }
}

/// What a caller was shown.
pub(crate) struct Shown {
    pub(crate) tree: Arc<Tree>,
    pub(crate) view: View,
    pub(crate) print: Print,
}

/// What was seen, while it is good.
pub(crate) struct Seen {
    tree: Arc<Tree>,
    look: Look,
    at: Instant,
    is_dirty: Arc<AtomicBool>,
    watch: tokio::task::JoinHandle<()>,
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

/// How to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
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

impl Default for Look {
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

impl Look {
    fn options(&self) -> String {
        let Self { firewall, hidden, urls, boxes, full, .. } = self;
        format!(
            "firewall: {firewall}, hidden: {hidden}, urls: {urls}, boxes: {boxes}, full: {full}, \
             watch: true"
        )
    }
}

impl Sight {
    /// What was seen of the page, if nothing has happened since and it was looked at in the same way.
    pub(crate) fn remembered(&self, look: &Look, loader: &str) -> Option<Arc<Tree>> {
        let seen = self.seen.as_ref()?;
        let is_good = seen.look == *look
            && seen.at.elapsed() < FRESH
            && !seen.is_dirty.load(Ordering::Acquire)
            && seen.tree.frames.first().is_some_and(|frame| frame.document == loader);
        is_good.then(|| seen.tree.clone())
    }

    /// Puts aside what was seen, for a look that is not to be remembered.
    pub(crate) fn put_aside(&mut self) -> Option<Seen> {
        self.seen.take()
    }

    /// Takes back what was put aside, in place of what was seen since.
    pub(crate) fn take_back(&mut self, seen: Option<Seen>) {
        self.seen = seen;
    }

    /// What was seen of the page, if its documents say themselves that nothing has happened since. Word of a
    /// change comes a moment after it: good enough to show a page, too late to point at something in it.
    pub(crate) async fn confirmed(
        &self,
        look: &Look,
        loader: &str,
        deadline: Deadline,
    ) -> Option<Arc<Tree>> {
        let tree = self.remembered(look, loader)?;
        let mut asked = tokio::task::JoinSet::new();
        for frame in &tree.frames {
            let world = self.world_of(&frame.document)?.clone();
            asked.spawn(async move { world.is_spoiled(deadline).await });
        }
        while let Some(is_spoiled) = asked.join_next().await {
            if is_spoiled.unwrap_or(true) {
                return None;
            }
        }
        Some(tree)
    }

    /// What was seen is good no more: something was done to the page.
    pub(crate) fn forget(&mut self) {
        self.seen = None;
    }

    /// Keeps what was seen until something happens in the page.
    fn keep(&mut self, tree: Arc<Tree>, look: Look) {
        let is_dirty = Arc::new(AtomicBool::new(false));
        let used: Vec<World> = tree
            .frames
            .iter()
            .filter_map(|frame| self.worlds.values().find(|world| world.loader == frame.document))
            .cloned()
            .collect();
        let flag = is_dirty.clone();
        let watch = tokio::spawn(async move {
            let deadline = Deadline::after(FRESH);
            let mut waiting = tokio::task::JoinSet::new();
            for world in used {
                waiting.spawn(async move { world.dirtied(deadline).await });
            }
            while let Some(is_over) = waiting.join_next().await {
                if is_over.unwrap_or(true) {
                    flag.store(true, Ordering::Release);
                    return;
                }
            }
        });
        self.seen = Some(Seen { tree, look, at: Instant::now(), is_dirty, watch });
    }

    /// Whether something happens in the page within this time.
    pub(crate) async fn is_stirring(&self, quiet: Duration) -> bool {
        let Some(main) = self.seen.as_ref().and_then(|seen| seen.tree.frames.first()) else {
            return false;
        };
        match self.world_of(&main.document) {
            Some(world) => world.dirtied(Deadline::after(quiet)).await,
            None => false,
        }
    }

    /// Our world in the document with this id, if it was part of what was seen last.
    pub(crate) fn world_of(&self, document: &str) -> Option<&World> {
        self.worlds.values().find(|world| world.loader == document)
    }
}

/// The page as it is now.
pub(crate) async fn observe(
    live: &Live,
    tab: &Tab,
    sight: &mut Sight,
    look: &Look,
    deadline: Deadline,
) -> Result<Arc<Tree>> {
    let mut trouble = None;
    for _ in 0..LOOKS {
        let looked = match look.source {
            Source::Page => look_once(live, tab, sight, look, deadline).await,
            Source::Ax => ax::look(tab, deadline).await,
        };
        match looked {
            Ok(tree) => {
                let tree = Arc::new(tree);
                if look.source == Source::Page {
                    sight.keep(tree.clone(), look.clone());
                }
                return Ok(tree);
            }
            // Another document came in between: its worlds are other ones.
            Err(error) if error.is_replaced() && !deadline.is_over() => {
                sight.worlds.remove(&tab.target_id);
                trouble = Some(error);
            }
            Err(error) => return Err(error.explain(tab)),
        }
    }
    Err(trouble
        .map_or_else(|| Error::new(Code::SnapshotUnavailable), |trouble| trouble.explain(tab)))
}

async fn look_once(
    live: &Live,
    tab: &Tab,
    sight: &mut Sight,
    look: &Look,
    deadline: Deadline,
) -> std::result::Result<Tree, Trouble> {
    let loader = tab.state.borrow().loader.clone();
    let options = look.options();
    let mut main = match sight.worlds.remove(&tab.target_id) {
        Some(world) if world.loader == loader => world,
        _ => {
            sight.worlds.clear();
            sight.owners.clear();
            World::enter(&tab.channel, &tab.target_id, &loader, deadline).await?
        }
    };
    let (report, places) = tokio::join!(
        watched(tab, look_at(&mut main, &options, deadline)),
        frames::places(live, tab, deadline.at_most(FRAME)),
    );
    let report = report?;
    sight.worlds.insert(tab.target_id.clone(), main);
    let mut told = look_at_frames(tab, sight, &places, &options, deadline).await;
    told.insert(tab.target_id.clone(), report);
    let main = Place {
        channel: tab.channel.clone(),
        frame_id: tab.target_id.clone(),
        parent: None,
        loader,
        name: String::new(),
    };
    let begun = Instant::now();
    let tree = stitch(sight, &main, told, &places)?;
    tracing::debug!(nodes = tree.nodes.len(), took = ?begun.elapsed(), "documents were stitched");
    Ok(tree)
}

/// What one document told.
struct Told {
    report: String,
    /// The elements whose clicks a script listens to.
    listening: HashSet<u32>,
}

/// A dialog, a crash or a closed tab ends the wait.
async fn watched<T>(
    tab: &Tab,
    work: impl Future<Output = std::result::Result<T, Trouble>>,
) -> std::result::Result<T, Trouble> {
    let mut state = tab.state.subscribe();
    tokio::select! {
        biased;
        done = work => done,
        _ = state.wait_for(|state| state.dialog.is_some() || state.end.is_some()) => {
            Err(Trouble::Wire(cdp::Error::Timeout { method: "Runtime.evaluate", allowed: Duration::ZERO }))
        }
    }
}

/// The report on one document, with what could only be asked from outside.
async fn look_at(
    world: &mut World,
    options: &str,
    deadline: Deadline,
) -> std::result::Result<Told, Trouble> {
    let begun = Instant::now();
    let mut report = world.observe(options, deadline).await?;
    let walked = begun.elapsed();
    // A closed shadow root can have others inside.
    for _ in 0..ROOTS {
        if head(&report, 4) == "0" || !world.reveal(deadline).await? {
            break;
        }
        report = world.observe(options, deadline).await?;
    }
    let revealed = begun.elapsed();
    let has_shadows = head(&report, 6) != "0";
    let listening = world.listeners(has_shadows, deadline).await?.into_iter().collect();
    tracing::debug!(
        bytes = report.len(),
        ?walked,
        revealed = ?(revealed - walked),
        listened = ?(begun.elapsed() - revealed),
        "a document was looked at"
    );
    Ok(Told { report, listening })
}

/// A field of the line about the document.
fn head(report: &str, field: usize) -> &str {
    report.lines().next().and_then(|line| line.split('\t').nth(field)).unwrap_or("0")
}

/// The reports on all documents in frames, by frame.
async fn look_at_frames(
    tab: &Tab,
    sight: &mut Sight,
    places: &[Place],
    options: &str,
    deadline: Deadline,
) -> HashMap<String, Told> {
    let mut asked = tokio::task::JoinSet::new();
    let limit = deadline.at_most(FRAME);
    for place in places.iter().filter(|place| place.frame_id != tab.target_id) {
        let known =
            sight.worlds.remove(&place.frame_id).filter(|world| world.loader == place.loader);
        let (place, options) = (place.clone(), options.to_owned());
        asked.spawn(async move {
            let mut world = match known {
                Some(world) => world,
                None => World::enter(&place.channel, &place.frame_id, &place.loader, limit).await?,
            };
            let told = look_at(&mut world, &options, limit).await?;
            Ok::<_, Trouble>((world, told))
        });
    }
    let mut told = HashMap::new();
    while let Some(answer) = asked.join_next().await {
        if let Ok(Ok((world, report))) = answer {
            told.insert(world.frame_id.clone(), report);
            sight.worlds.insert(world.frame_id.clone(), world);
        }
    }
    frames::own(sight, places, deadline.at_most(FRAME)).await;
    told
}

/// One tree of all documents, each below the element that holds it.
struct Stitching<'a> {
    tree: Tree,
    told: HashMap<String, Told>,
    /// Frames by the frame they are in and the element that holds them.
    held: HashMap<(&'a str, u32), &'a Place>,
    /// Frames that hold others of which nobody knows where.
    lost: HashSet<&'a str>,
}

fn stitch(
    sight: &Sight,
    main: &Place,
    told: HashMap<String, Told>,
    places: &[Place],
) -> std::result::Result<Tree, Trouble> {
    let held = places
        .iter()
        .filter_map(|place| {
            Some(((place.parent.as_deref()?, *sight.owners.get(&place.frame_id)?), place))
        })
        .collect();
    let lost = places
        .iter()
        .filter(|place| !sight.owners.contains_key(&place.frame_id))
        .filter_map(|place| place.parent.as_deref())
        .collect();
    let mut work = Stitching { tree: Tree::default(), told, held, lost };
    work.add(main, None, 0)
        .map_err(|bad| Trouble::Script(format!("line {} of a report is malformed", bad.line)))?;
    work.tree.close();
    unlisten_roots(&mut work.tree);
    Ok(work.tree)
}

impl Stitching<'_> {
    /// Adds a document, and the documents in its frames where their elements stand.
    fn add(
        &mut self,
        place: &Place,
        parent: Option<u16>,
        depth: u32,
    ) -> std::result::Result<(), report::Malformed> {
        let Some(told) = self.told.remove(&place.frame_id) else {
            if let Some(holder) = self.tree.nodes.last_mut() {
                holder.states = holder.states.with_silent(true);
            }
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

/// The tags of a part of the page, or of all of it, for a hash of its shape.
pub(crate) async fn shape(
    tab: &Tab,
    sight: &Sight,
    selector: Option<&str>,
    deadline: Deadline,
) -> Result<Option<String>> {
    let Some(world) = sight.worlds.get(&tab.target_id) else { return Ok(None) };
    let script = format!("agbrowse.shape({}, {})", json(&selector), page::hash::DOM_HASH_MAX_CHARS);
    world.ask(&script, deadline).await.map_err(|trouble| trouble.explain(tab))
}

/// Where a frame's document begins, in CSS pixels of the main frame's view.
pub(crate) async fn offset(
    sight: &Sight,
    tree: &Tree,
    frame: u16,
    deadline: Deadline,
) -> (f32, f32) {
    let (mut x, mut y) = (0.0, 0.0);
    let mut at = tree.frames.get(usize::from(frame));
    while let Some((inner, parent)) = at.and_then(|inner| Some((inner, inner.parent?))) {
        let outer = tree.frames.get(usize::from(parent));
        let world = outer.and_then(|outer| sight.world_of(&outer.document));
        let frame_id = sight.world_of(&inner.document).map(|world| &*world.frame_id);
        let owner = frame_id.and_then(|id| sight.owners.get(id));
        if let (Some(world), Some(owner)) = (world, owner)
            && let Ok(Some([left, top])) =
                world.ask::<Option<[f32; 2]>>(&format!("agbrowse.corner({owner})"), deadline).await
        {
            x += left;
            y += top;
        }
        at = outer;
    }
    (x, y)
}

/// An element that holds most of the page listens for what is in it, not for itself.
fn unlisten_roots(tree: &mut Tree) {
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
