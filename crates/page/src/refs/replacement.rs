//! Replacement of an element that is gone: the one that the page made in its place, if there is exactly one.

use super::fingerprint::{Fingerprint, identified, items_of, name, own_nodes};
use super::resolve::{Change, Resolution, document_of, examine};
use super::structure::{TreeStructure, is_item_role};
use super::tokens::{ItemToken, TextForm, tokens};
use crate::ax::Role;
use std::collections::HashSet;

/// What has come in place of an element that is gone.
pub(super) fn replaced(
    was: &TreeStructure<'_>,
    node: usize,
    now: &TreeStructure<'_>,
) -> Resolution {
    const MOST: usize = 40;
    let (old, new) = (was.tree, now.tree);
    let role = old.nodes[node].role;
    let called = name(old, node);
    let document = document_of(old, node);
    let fingerprint = || Fingerprint::new(old, node);
    let is_box = own_nodes(was, node).is_empty();
    let is_like = |index: &usize| {
        let it = &new.nodes[*index];
        it.element > 0
            && it.role == role
            && document_of(new, *index) == document
            && (is_box || name(new, *index) == called)
    };
    let path = |structure: &TreeStructure<'_>, of: usize| -> Vec<Role> {
        structure.around(of).map(|it| structure.tree.nodes[it].role).collect()
    };
    let place = path(was, node);
    let is_placed = |index: &usize| is_like(index) && path(now, *index) == place;
    let alike: Vec<usize> = near_words(was, node, now, (0..new.nodes.len()).filter(is_placed));
    if alike.len() > MOST {
        return Resolution::Gone { was: fingerprint(), nearest: Vec::new() };
    }
    let levels = items_of(was, node);
    let is_named_twice = || {
        let is_twin = |it: &usize| old.nodes[*it].role == role && name(old, *it) == called;
        (0..old.nodes.len()).filter(is_twin).nth(1).is_some()
    };
    let is_in_list =
        levels.iter().any(|it| it.items.len() > 1 && is_item_role(old.nodes[it.child].role));
    // An item of a list is told from the others by its identity, or by the name of the target itself.
    let is_identified = identified(was, node, &levels).is_some()
        || is_in_list && !called.is_empty() && !is_named_twice();
    let mut same: Vec<(usize, Vec<Change>)> = Vec::new();
    for index in &alike {
        let examined = examine(was, node, now, *index);
        // Of what is alone, all that stands around it is its fingerprint.
        let is_alike =
            is_identified || examined.changes.is_empty() && is_said_around(was, node, now, *index);
        if examined.other.is_none() && is_alike {
            same.push((*index, examined.changes));
        }
    }
    // A twin that was there before is another one.
    let was_twin = |element: u32| {
        let before = (0..old.nodes.len())
            .find(|it| old.nodes[*it].element == element && document_of(old, *it) == document);
        before.is_some_and(|before| examine(was, node, was, before).other.is_none())
    };
    if let [(found, changes)] = same.as_slice()
        && !was_twin(new.nodes[*found].element)
    {
        return Resolution::Moved { node: *found, changes: changes.clone() };
    }
    let nearest = same.into_iter().map(|it| it.0).take(3).collect();
    Resolution::Gone { was: fingerprint(), nearest }
}

/// Whether all that is said around one element, apart from times and counters, is said around another one too.
fn is_said_around(
    was: &TreeStructure<'_>,
    before: usize,
    now: &TreeStructure<'_>,
    after: usize,
) -> bool {
    const MOST_NODES: usize = 60;
    let said = |structure: &TreeStructure<'_>, of: usize| -> Vec<ItemToken> {
        let own = own_nodes(structure, of);
        let boxes = structure.around(of).map(|it| it..structure.tree.end(it));
        let mut texts = boxes.take_while(|it| it.len() <= MOST_NODES).map(|it| {
            let mut texts = tokens(structure, it, &own);
            texts.retain(|it| !it.is_own && !it.is_inner && it.form != TextForm::Volatile);
            texts
        });
        texts.find(|it| it.iter().any(|it| !it.is_control_name())).unwrap_or_default()
    };
    let later = said(now, after);
    said(was, before).iter().all(|it| later.iter().any(|other| other.stable == it.stable))
}

/// Of many candidates, those that stand as near to the words that told the item as the target did.
fn near_words(
    was: &TreeStructure<'_>,
    node: usize,
    now: &TreeStructure<'_>,
    candidates: impl Iterator<Item = usize>,
) -> Vec<usize> {
    let candidates: Vec<usize> = candidates.collect();
    let own = own_nodes(was, node);
    let levels = items_of(was, node);
    if let Some((level, _)) = identified(was, node, &levels) {
        let words: HashSet<&str> = tokens(was, level.range.clone(), &own)
            .iter()
            .filter(|it| !it.is_own)
            .map(|it| it.text(was.tree))
            .collect();
        let steps = std::iter::once(node).chain(was.around(node));
        let steps = steps.take_while(|it| *it != level.child).count();
        // How many of the words are said before each node.
        let mut said = vec![0_u32; now.tree.nodes.len() + 1];
        for (index, it) in now.tree.nodes.iter().enumerate() {
            let is_said = words.contains(now.tree.name(it)) || words.contains(now.tree.value(it));
            said[index + 1] = said[index] + u32::from(is_said);
        }
        let score = |of: usize| {
            let item = std::iter::once(of).chain(now.around(of)).nth(steps)?;
            let item = if level.is_run { now.parents[item] as usize } else { item };
            Some(said[now.tree.end(item)] - said[item])
        };
        let scores: Vec<Option<u32>> = candidates.iter().map(|it| score(*it)).collect();
        let best = scores.iter().flatten().max().copied().unwrap_or(0);
        let is_best = |it: &Option<u32>| it.is_some_and(|it| it == best && best > 0);
        let best = candidates.iter().zip(&scores).filter(|it| is_best(it.1));
        return best.map(|it| *it.0).collect();
    }
    candidates
}
