//! The frame tree of a tab: frame ids, origins, owner elements.

use super::TabObservation;
use super::isolated_world::FrameReport;
use crate::chromium::{FrameTarget, RunningBrowser};
use crate::tab::Tab;
use cdp::protocol::dom::GetFrameOwner;
use cdp::protocol::page::{FrameTree, GetFrameTree};
use cdp::{Channel, Deadline};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A frame.
#[derive(Clone, Debug)]
pub(super) struct FrameInfo {
    pub(super) channel: Channel,
    pub(super) frame_id: String,
    pub(super) parent: Option<String>,
    pub(super) loader: String,
    pub(super) name: String,
    /// Its URL as the browser process knows it, for a frame that does not respond.
    pub(super) url: String,
    /// It is the root frame of its session.
    pub(super) is_top: bool,
    /// Its URL could not be loaded, and an error page is shown.
    pub(super) is_unreachable: bool,
}

impl FrameInfo {
    /// The main frame of a tab.
    pub(super) fn main(tab: &Tab, loader: String) -> Self {
        Self {
            channel: tab.channel.clone(),
            frame_id: tab.target_id.clone(),
            parent: None,
            loader,
            name: String::new(),
            url: String::new(),
            is_top: true,
            is_unreachable: false,
        }
    }

    /// The origin of its URL; empty if the URL has none.
    pub(super) fn origin(&self) -> String {
        let Some((scheme, rest)) = self.url.split_once("://") else { return String::new() };
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        // Credentials in the URL are dropped.
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        format!("{scheme}://{host}")
    }
}

/// All frames of a tab, of every process, parents first; and the owner elements of the main document's frames that
/// are not among the known ones.
pub(super) async fn list_frames(
    live: &RunningBrowser,
    tab: &Tab,
    known: &HashSet<String>,
    deadline: Deadline,
) -> (Vec<FrameInfo>, FrameOwners) {
    let targets = live.frame_targets(tab.id);
    let mut channels = vec![tab.channel.clone()];
    channels.extend(targets.iter().map(|frame| frame.channel.clone()));
    let pending: Vec<_> =
        channels.into_iter().map(|channel| (channel.start(&GetFrameTree {}), channel)).collect();
    let mut infos = Vec::new();
    for (reply, channel) in pending {
        let Ok(reply) = reply else { continue };
        // A frame whose process does not respond is known from the target table.
        let Ok(reply) = reply.wait(deadline).await else { continue };
        let mut trees: Vec<FrameTree> = reply.frame_tree.into_iter().collect();
        let mut is_first = true;
        while let Some(tree) = trees.pop() {
            trees.extend(tree.child_frames.unwrap_or_default());
            let Some(frame) = tree.frame else { continue };
            let is_top = std::mem::take(&mut is_first);
            infos.push(FrameInfo {
                channel: channel.clone(),
                frame_id: frame.id.unwrap_or_default(),
                parent: frame.parent_id,
                loader: frame.loader_id.unwrap_or_default(),
                name: frame.name.map(cdp::LossyString::into_string).unwrap_or_default(),
                url: frame.url.map(cdp::LossyString::into_string).unwrap_or_default(),
                is_top,
                is_unreachable: frame.unreachable_url.is_some(),
            });
        }
    }
    for FrameTarget { target, parent, url, channel } in targets {
        if infos.iter().all(|info| info.frame_id != target) {
            let info = FrameInfo {
                channel,
                frame_id: target,
                parent,
                loader: String::new(),
                name: String::new(),
                url,
                is_top: true,
                is_unreachable: false,
            };
            infos.push(info);
        }
    }
    let is_new = |info: &&FrameInfo| {
        info.parent.as_ref() == Some(&tab.target_id) && !known.contains(&info.frame_id)
    };
    let new = infos.iter().filter(is_new).map(|info| (info, &tab.channel));
    let owners = fetch_owners(new, deadline).await;
    (infos, owners)
}

/// Backend node ids of owner elements, by frame id.
pub(super) type FrameOwners = HashMap<String, i64>;

/// Fetches the owner elements of frames, in parallel: sequentially, a page with many frames would run out of time.
pub(super) async fn fetch_owners<'p>(
    pending: impl Iterator<Item = (&'p FrameInfo, &Channel)>,
    deadline: Deadline,
) -> FrameOwners {
    let ask = |(info, channel): (&'p FrameInfo, &Channel)| {
        let owner = GetFrameOwner { frame_id: info.frame_id.clone() };
        Some((info, channel.start(&owner).ok()?))
    };
    let pending: Vec<_> = pending.filter_map(ask).collect();
    let mut found = FrameOwners::new();
    for (info, reply) in pending {
        if let Ok(reply) = reply.wait(deadline).await
            && let Some(node) = reply.backend_node_id
        {
            found.insert(info.frame_id.clone(), node);
        }
    }
    found
}

/// Resolves the owner elements of frames whose parents are reported.
pub(super) async fn resolve_frame_owners(
    observation: &mut TabObservation,
    infos: &[&FrameInfo],
    reports: &HashMap<String, Arc<FrameReport>>,
    deadline: Deadline,
) {
    let unknown = infos.iter().filter_map(|info| {
        let world = observation.worlds.get(info.parent.as_deref()?)?;
        (!observation.owners.contains_key(&info.frame_id)).then_some((*info, &world.channel))
    });
    let found = fetch_owners(unknown, deadline).await;
    observation.owners.extend(found);
    let parents: HashSet<&str> = infos.iter().filter_map(|info| info.parent.as_deref()).collect();
    for parent in parents {
        if let (Some(world), Some(report)) =
            (observation.worlds.get_mut(parent), reports.get(parent))
        {
            // A frame that does not respond has no frames to show.
            _ = world.resolve_ids(&report.holders, deadline).await;
        }
    }
}
