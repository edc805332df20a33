//! The frames of a tab: where each is, who it belongs to, and which element holds it.

use super::Sight;
use crate::live::Live;
use crate::tab::Tab;
use cdp::protocol::dom::GetFrameOwner;
use cdp::protocol::page::{FrameTree, GetFrameTree};
use cdp::{Channel, Deadline};
use std::collections::HashMap;

/// A frame.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) channel: Channel,
    pub(super) frame_id: String,
    pub(super) parent: Option<String>,
    pub(super) loader: String,
    pub(super) name: String,
    /// It is the uppermost frame of its process here.
    pub(super) is_top: bool,
    /// Its address could not be reached, and the browser says so instead.
    pub(super) is_unreachable: bool,
}

/// All frames of a tab, of every process, those that hold others first.
pub(super) async fn places(live: &Live, tab: &Tab, deadline: Deadline) -> Vec<Place> {
    let targets = live.frame_targets(tab.id);
    let mut channels = vec![tab.channel.clone()];
    channels.extend(targets.iter().map(|(.., channel)| channel.clone()));
    let asked: Vec<_> =
        channels.into_iter().map(|channel| (channel.start(&GetFrameTree {}), channel)).collect();
    let mut places = Vec::new();
    for (reply, channel) in asked {
        let Ok(reply) = reply else { continue };
        // One whose process does not answer is known by the element that holds it.
        let Ok(reply) = reply.wait(deadline).await else { continue };
        let mut trees: Vec<FrameTree> = reply.frame_tree.into_iter().collect();
        let mut is_first = true;
        while let Some(tree) = trees.pop() {
            trees.extend(tree.child_frames.unwrap_or_default());
            let Some(frame) = tree.frame else { continue };
            let is_top = std::mem::take(&mut is_first);
            places.push(Place {
                channel: channel.clone(),
                frame_id: frame.id.unwrap_or_default(),
                parent: frame.parent_id,
                loader: frame.loader_id.unwrap_or_default(),
                name: frame.name.map(cdp::Text::into_string).unwrap_or_default(),
                is_top,
                is_unreachable: frame.unreachable_url.is_some(),
            });
        }
    }
    for (target, parent, channel) in targets {
        if places.iter().all(|place| place.frame_id != target) {
            let place = Place {
                channel,
                frame_id: target,
                parent,
                loader: String::new(),
                name: String::new(),
                is_top: true,
                is_unreachable: false,
            };
            places.push(place);
        }
    }
    places
}

/// Finds out which element holds each frame, where that is not known yet.
pub(super) async fn own(sight: &mut Sight, places: &[&Place], deadline: Deadline) {
    let unknown: Vec<&Place> = places
        .iter()
        .copied()
        .filter(|place| place.parent.is_some() && !sight.owners.contains_key(&place.frame_id))
        .collect();
    // All at once: one after the other, a page with many frames would run out of time.
    let mut asked = Vec::new();
    for place in unknown {
        let Some(parent) = place.parent.as_deref() else { continue };
        let Some(world) = sight.worlds.get(parent) else { continue };
        let owner = GetFrameOwner { frame_id: place.frame_id.clone() };
        let Ok(reply) = world.channel.start(&owner) else { continue };
        asked.push((place, parent, reply));
    }
    let mut found: HashMap<&str, Vec<(&Place, i64)>> = HashMap::new();
    for (place, parent, reply) in asked {
        if let Ok(reply) = reply.wait(deadline).await
            && let Some(node) = reply.backend_node_id
        {
            found.entry(parent).or_default().push((place, node));
        }
    }
    for (parent, held) in found {
        let Some(world) = sight.worlds.get_mut(parent) else { continue };
        let nodes: Vec<i64> = held.iter().map(|(_, node)| *node).collect();
        if world.number(&nodes, deadline).await.is_err() {
            continue;
        }
        for (place, node) in held {
            if let Some(number) = world.known(node) {
                sight.owners.insert(place.frame_id.clone(), number);
            }
        }
    }
}
