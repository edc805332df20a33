//! The browser's own accessibility tree (`Accessibility.getFullAXTree`) as the second snapshot source: one tree per
//! document, joined like the reports of the observer script.
//!
//! The browser identifies elements by backend node ids. The observer's element number of each is fetched, so that a
//! ref means the same element with either source.

mod read;

pub(super) use read::said;

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
const PIECE: usize = 500;

/// The browser's accessibility nodes of one document.
struct AxFrame {
    nodes: Vec<AxNode>,
    /// Element numbers by backend node id.
    numbers: HashMap<i64, u32>,
    url: String,
    origin: String,
}

/// Builds the page's tree from the browser's accessibility tree.
pub(super) async fn look(
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
    let (asked, (places, mut owners)) = tokio::join!(
        ask(main.clone(), world, deadline),
        frames::places(live, tab, &known, deadline.at_most(FRAME)),
    );
    let (world, account) = asked?;
    observation.worlds.insert(tab.target_id.clone(), world);
    let further = further_owners(&places, &owners, deadline.at_most(FRAME)).await;
    owners.extend(further);
    let mut accounts = HashMap::from([(tab.target_id.clone(), account)]);
    look_into(observation, &places, &owners, &mut accounts, deadline).await;
    if tab.state.borrow().loader != main.loader {
        return Err(ObserveError::Nothing);
    }
    let held = places
        .iter()
        .filter_map(|place| {
            Some(((place.parent.as_deref()?, *owners.get(&place.frame_id)?), place))
        })
        .collect();
    let mut work = AxTreeBuilder { tree: Tree::default(), accounts: &accounts, held };
    work.add(&main, None, 0);
    work.tree.close();
    Ok(work.tree)
}

/// The owner elements of frames other than the known ones.
async fn further_owners(
    places: &[FrameInfo],
    known: &FrameOwners,
    deadline: Deadline,
) -> FrameOwners {
    let around = |place: &FrameInfo| {
        let parent = place.parent.as_ref()?;
        places.iter().find(|it| it.frame_id == *parent).map(|it| &it.channel)
    };
    let unknown = places.iter().filter(|place| !known.contains_key(&place.frame_id));
    let asked = unknown.filter_map(|place| Some((place, around(place)?)));
    frames::owners(asked, deadline).await
}

/// Fetches the accessibility nodes of frames, level by level, where the parent document includes the owner element.
async fn look_into(
    observation: &mut TabObservation,
    places: &[FrameInfo],
    owners: &FrameOwners,
    accounts: &mut HashMap<String, AxFrame>,
    deadline: Deadline,
) {
    let mut tried = HashSet::new();
    loop {
        let mut asked = tokio::task::JoinSet::new();
        for place in places.iter().filter(|place| !accounts.contains_key(&place.frame_id)) {
            let around = place.parent.as_ref().and_then(|parent| accounts.get(parent));
            let owner = owners.get(&place.frame_id);
            let is_told =
                around.zip(owner).is_some_and(|(around, owner)| around.numbers.contains_key(owner));
            if is_told && !place.is_unreachable && tried.insert(place.frame_id.clone()) {
                let world = observation.worlds.remove(&place.frame_id);
                let (place, limit) = (place.clone(), deadline.at_most(FRAME));
                asked.spawn(async move { (place.clone(), ask(place, world, limit).await) });
            }
        }
        if asked.is_empty() {
            return;
        }
        for (place, answer) in asked.join_all().await {
            if let Ok((world, account)) = answer {
                observation.worlds.insert(place.frame_id.clone(), world);
                accounts.insert(place.frame_id, account);
            }
        }
    }
}

/// Fetches the accessibility nodes of a document, its secrets masked.
async fn ask(
    place: FrameInfo,
    world: Option<World>,
    deadline: Deadline,
) -> Result<(World, AxFrame), ObserveError> {
    let frame_id = (!place.is_top).then(|| place.frame_id.clone());
    let told = place.channel.start(&GetFullAxTree { frame_id })?;
    let mut world = match world.filter(|world| world.loader == place.loader) {
        Some(world) => world,
        None => {
            let FrameInfo { channel, frame_id, loader, .. } = &place;
            World::enter(channel, frame_id, loader, place.is_top, deadline).await?
        }
    };
    let (secrets, url, origin): (Vec<LossyString>, LossyString, LossyString) =
        world.ask("[agbrowse.secrets(), location.href, origin]", deadline).await?;
    let mut nodes = told.wait(deadline).await?.nodes.unwrap_or_default();
    read::hide(&mut nodes, &secrets);
    let ids: Vec<i64> = nodes.iter().filter_map(read::element).collect();
    let mut numbers = HashMap::with_capacity(ids.len());
    for piece in ids.chunks(PIECE) {
        world.number(piece, deadline).await?;
        numbers.extend(piece.iter().filter_map(|id| Some((*id, world.known(*id)?))));
    }
    let account = AxFrame {
        nodes,
        numbers,
        url: without_secrets(&url).into_owned(),
        origin: origin.into_string(),
    };
    Ok((world, account))
}

/// Builds one tree of all documents, each below its owner element.
struct AxTreeBuilder<'a> {
    tree: Tree,
    accounts: &'a HashMap<String, AxFrame>,
    /// Frames by parent frame and owner element.
    held: HashMap<(&'a str, i64), &'a FrameInfo>,
}

impl AxTreeBuilder<'_> {
    fn add(&mut self, place: &FrameInfo, parent: Option<u16>, depth: u32) {
        let frame = Frame {
            document: place.loader.clone(),
            name: place.name.clone(),
            parent,
            ..Frame::default()
        };
        let Some(account) = self.accounts.get(&place.frame_id) else {
            let (url, origin) = (page::text::mask_url(&place.url), place.origin());
            if !place.is_unreachable {
                return self.tree.add_silent(Frame { url, origin, ..frame });
            }
            let index = self.tree.frames.len() as u16;
            self.tree.frames.push(Frame { url, origin: "null".into(), ..frame });
            self.tree.push(Role::WebArea, depth, 0, index);
            return;
        };
        let index = self.tree.frames.len() as u16;
        let (url, origin) = (account.url.clone(), account.origin.clone());
        self.tree.frames.push(Frame { url, origin, ..frame });
        let begin = self.tree.nodes.len();
        let inside: Vec<(i64, &FrameInfo)> = self
            .held
            .iter()
            .filter(|((around, _), _)| *around == place.frame_id)
            .map(|((_, owner), inner)| (*owner, *inner))
            .collect();
        let mut reading = read::begin(&account.nodes, TreePosition { depth, frame: index });
        while let Some((id, below)) = reading.next(&mut self.tree) {
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
                node.element = account.numbers.get(&id).copied().unwrap_or(0);
            }
        }
    }
}
