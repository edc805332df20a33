//! The browser's own accessibility tree as the second source of a snapshot: one account per document, put together
//! like the reports of our own scripts.
//!
//! The browser knows its elements by numbers of its own. Each is asked for ours, so that a ref means the same
//! whichever way the page was looked at.

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

/// How many elements are asked for at a time.
const PIECE: usize = 500;

/// What the browser tells of one document.
struct AxFrame {
    nodes: Vec<AxNode>,
    /// Our numbers of its elements.
    numbers: HashMap<i64, u32>,
    url: String,
    origin: String,
}

/// The page as the browser tells it.
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

/// The elements that hold frames, besides those that are known.
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

/// Asks for the documents in frames, each level at once, where the document around them tells of the frame.
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

/// What the browser tells of a document, without what is secret in it.
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
        world.ask("[agbrowse.secretValues(), location.href, origin]", deadline).await?;
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

/// One tree of all accounts, each below the element that holds its frame.
struct AxTreeBuilder<'a> {
    tree: Tree,
    accounts: &'a HashMap<String, AxFrame>,
    /// Frames by the frame they are in and the element that holds them.
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
                // The browser does not say that of a frame.
                if let Some(holder) = self.tree.nodes.last_mut() {
                    holder.states = holder.states.with_focusable(true);
                }
                self.add(inner, Some(index), below);
            }
        }
        // An account without anything is that of a document without anything.
        if self.tree.nodes.len() == begin {
            self.tree.push(Role::WebArea, depth, 0, index);
        }
        // The tab hears of a new title later than its document has it.
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
