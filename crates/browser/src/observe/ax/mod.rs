//! The browser's own accessibility tree (`Accessibility.getFullAXTree`) as the second snapshot source: one tree per
//! document, joined like the reports of the observer script.
//!
//! The browser identifies elements by backend node ids. The observer's element number of each is fetched, so that a
//! ref means the same element with either source.

mod read;

pub(super) use read::node_facts;

use super::frames::{self, FrameInfo, FrameOwners};
use super::{FRAME, ObserveError, TabObservation, World};
use crate::chromium::RunningBrowser;
use crate::tab::Tab;
use cdp::protocol::accessibility::{AxNode, GetFullAxTree};
use cdp::{Deadline, LossyString};
use page::ax::{Frame, Role, Tree};
use page::mask::mask as without_secrets;
use read::TreePosition;
use std::collections::{HashMap, HashSet};

/// Elements per call.
const CHUNK: usize = 500;

/// The browser's accessibility nodes of one document.
struct AxFrame {
    nodes: Vec<AxNode>,
    /// Element numbers by backend node id.
    numbers: HashMap<i64, u32>,
    url: String,
    origin: String,
}

/// Builds the page's tree from the browser's accessibility tree.
pub(super) async fn observe(
    live: &RunningBrowser,
    tab: &Tab,
    observation: &mut TabObservation,
    deadline: Deadline,
) -> Result<Tree, ObserveError> {
    let loader = tab.state.borrow().loader.clone();
    if observation.worlds.get(&tab.target_id).is_none_or(|world| world.loader != loader) {
        observation.begin_document();
    }
    let main = FrameInfo::main(tab, loader);
    let world = observation.worlds.remove(&tab.target_id);
    let known = HashSet::new();
    let (pending, (infos, mut owners)) = tokio::join!(
        read_document(main.clone(), world, deadline),
        frames::list_frames(live, tab, &known, deadline.at_most(FRAME)),
    );
    let (world, document_nodes) = pending?;
    observation.worlds.insert(tab.target_id.clone(), world);
    let missing = missing_owners(&infos, &owners, deadline.at_most(FRAME)).await;
    owners.extend(missing);
    let mut documents = HashMap::from([(tab.target_id.clone(), document_nodes)]);
    read_frames(observation, &infos, &owners, &mut documents, deadline).await;
    if tab.state.borrow().loader != main.loader {
        return Err(ObserveError::Nothing);
    }
    let by_owner = infos
        .iter()
        .filter_map(|info| Some(((info.parent.as_deref()?, *owners.get(&info.frame_id)?), info)))
        .collect();
    let mut work = AxTreeBuilder { tree: Tree::default(), documents: &documents, by_owner };
    work.add(&main, None, 0);
    work.tree.finish();
    Ok(work.tree)
}

/// The owner elements of frames other than the known ones.
async fn missing_owners(
    infos: &[FrameInfo],
    known: &FrameOwners,
    deadline: Deadline,
) -> FrameOwners {
    let around = |info: &FrameInfo| {
        let parent = info.parent.as_ref()?;
        infos.iter().find(|it| it.frame_id == *parent).map(|it| &it.channel)
    };
    let unknown = infos.iter().filter(|info| !known.contains_key(&info.frame_id));
    let pending = unknown.filter_map(|info| Some((info, around(info)?)));
    frames::fetch_owners(pending, deadline).await
}

/// Fetches the accessibility nodes of frames, level by level, where the parent document includes the owner element.
async fn read_frames(
    observation: &mut TabObservation,
    infos: &[FrameInfo],
    owners: &FrameOwners,
    documents: &mut HashMap<String, AxFrame>,
    deadline: Deadline,
) {
    let mut tried = HashSet::new();
    loop {
        let mut pending = tokio::task::JoinSet::new();
        for info in infos.iter().filter(|info| !documents.contains_key(&info.frame_id)) {
            let around = info.parent.as_ref().and_then(|parent| documents.get(parent));
            let owner = owners.get(&info.frame_id);
            let is_in_tree =
                around.zip(owner).is_some_and(|(around, owner)| around.numbers.contains_key(owner));
            if is_in_tree && !info.is_unreachable && tried.insert(info.frame_id.clone()) {
                let world = observation.worlds.remove(&info.frame_id);
                let (info, limit) = (info.clone(), deadline.at_most(FRAME));
                pending
                    .spawn(async move { (info.clone(), read_document(info, world, limit).await) });
            }
        }
        if pending.is_empty() {
            return;
        }
        for (info, answer) in pending.join_all().await {
            if let Ok((world, document_nodes)) = answer {
                observation.worlds.insert(info.frame_id.clone(), world);
                documents.insert(info.frame_id, document_nodes);
            }
        }
    }
}

/// Fetches the accessibility nodes of a document, its secrets masked.
async fn read_document(
    info: FrameInfo,
    world: Option<World>,
    deadline: Deadline,
) -> Result<(World, AxFrame), ObserveError> {
    let frame_id = (!info.is_top).then(|| info.frame_id.clone());
    let pending_tree = info.channel.start(&GetFullAxTree { frame_id })?;
    let mut world = match world.filter(|world| world.loader == info.loader) {
        Some(world) => world,
        None => {
            let FrameInfo { channel, frame_id, loader, .. } = &info;
            World::enter(channel, frame_id, loader, info.is_top, deadline).await?
        }
    };
    let (secrets, url, origin): (Vec<LossyString>, LossyString, LossyString) =
        world.ask("[agbrowse.secretValues(), location.href, origin]", deadline).await?;
    let mut nodes = pending_tree.wait(deadline).await?.nodes.unwrap_or_default();
    read::mask_secrets(&mut nodes, &secrets);
    let ids: Vec<i64> = nodes.iter().filter_map(read::element).collect();
    let mut numbers = HashMap::with_capacity(ids.len());
    for chunk in ids.chunks(CHUNK) {
        world.assign_ids(chunk, deadline).await?;
        numbers.extend(chunk.iter().filter_map(|id| Some((*id, world.id_of(*id)?))));
    }
    let document_nodes = AxFrame {
        nodes,
        numbers,
        url: without_secrets(&url).into_owned(),
        origin: origin.into_string(),
    };
    Ok((world, document_nodes))
}

/// Builds one tree of all documents, each below its owner element.
struct AxTreeBuilder<'a> {
    tree: Tree,
    documents: &'a HashMap<String, AxFrame>,
    /// Frames by parent frame and owner element.
    by_owner: HashMap<(&'a str, i64), &'a FrameInfo>,
}

impl AxTreeBuilder<'_> {
    fn add(&mut self, info: &FrameInfo, parent: Option<u16>, depth: u32) {
        let frame = Frame {
            document: info.loader.clone(),
            name: info.name.clone(),
            parent,
            ..Frame::default()
        };
        let Some(document_nodes) = self.documents.get(&info.frame_id) else {
            let (url, origin) = (page::text::mask_url(&info.url), info.origin());
            if !info.is_unreachable {
                return self.tree.add_silent_frame(Frame { url, origin, ..frame });
            }
            let index = self.tree.frames.len() as u16;
            self.tree.frames.push(Frame { url, origin: "null".into(), ..frame });
            self.tree.push(Role::WebArea, depth, 0, index);
            return;
        };
        let index = self.tree.frames.len() as u16;
        let (url, origin) = (document_nodes.url.clone(), document_nodes.origin.clone());
        self.tree.frames.push(Frame { url, origin, ..frame });
        let begin = self.tree.nodes.len();
        let inside: Vec<(i64, &FrameInfo)> = self
            .by_owner
            .iter()
            .filter(|((around, _), _)| *around == info.frame_id)
            .map(|((_, owner), inner)| (*owner, *inner))
            .collect();
        let mut reader = read::begin(&document_nodes.nodes, TreePosition { depth, frame: index });
        while let Some((id, below)) = reader.next(&mut self.tree) {
            if let Some((_, inner)) = inside.iter().find(|(owner, _)| *owner == id) {
                // The browser does not mark frames as focusable.
                if let Some(holder) = self.tree.nodes.last_mut() {
                    holder.states = holder.states.with_focusable(true);
                }
                self.add(inner, Some(index), below);
            }
        }
        // A document without nodes still gets its root.
        if self.tree.nodes.len() == begin {
            self.tree.push(Role::WebArea, depth, 0, index);
        }
        // The tab learns of a new title later than its document has it.
        let title = self.tree.name(&self.tree.nodes[begin]).to_owned();
        self.tree.frames[usize::from(index)].title = title;
        for node in &mut self.tree.nodes[begin..] {
            if node.frame == index {
                let id = i64::from(node.element);
                node.element = document_nodes.numbers.get(&id).copied().unwrap_or(0);
            }
        }
    }
}
