//! Replacement of a removed element: the one that the page created in its place, if there is exactly one.

use super::fingerprint::{Fingerprint, identified, items_of, name, own_nodes};
use super::resolve::{Change, Resolution, compare_elements, document_of};
use super::structure::{TreeStructure, is_item_role};
use super::tokens::{ItemToken, TextForm, tokens};
use crate::ax::Role;
use std::collections::HashSet;

/// Finds the replacement of a removed element.
pub(super) fn find_replacement(
    was: &TreeStructure<'_>,
    node: usize,
    now: &TreeStructure<'_>,
) -> Resolution {
    const MAX_CANDIDATES: usize = 40;
    let (old, new) = (was.tree, now.tree);
    let role = old.nodes[node].role;
    let target_name = name(old, node);
    let document = document_of(old, node);
    let fingerprint = || Fingerprint::new(old, node);
    let is_box = own_nodes(was, node).is_empty();
    let is_similar = |index: &usize| {
        let it = &new.nodes[*index];
        it.element > 0
            && it.role == role
            && document_of(new, *index) == document
            && (is_box || name(new, *index) == target_name)
    };
    let path = |structure: &TreeStructure<'_>, of: usize| -> Vec<Role> {
        structure.ancestors(of).map(|it| structure.tree.nodes[it].role).collect()
    };
    let target_path = path(was, node);
    let is_candidate = |index: &usize| is_similar(index) && path(now, *index) == target_path;
    let candidates: Vec<usize> =
        nearest_to_texts(was, node, now, (0..new.nodes.len()).filter(is_candidate));
    if candidates.len() > MAX_CANDIDATES {
        return Resolution::Gone { was: fingerprint(), nearest: Vec::new() };
    }
    let levels = items_of(was, node);
    let is_named_twice = || {
        let is_twin = |it: &usize| old.nodes[*it].role == role && name(old, *it) == target_name;
        (0..old.nodes.len()).filter(is_twin).nth(1).is_some()
    };
    let is_in_list =
        levels.iter().any(|it| it.items.len() > 1 && is_item_role(old.nodes[it.child].role));
    // An item of a list is identified by its identity, or by the name of the target itself.
    let is_identified = identified(was, node, &levels).is_some()
        || is_in_list && !target_name.is_empty() && !is_named_twice();
    let mut same: Vec<(usize, Vec<Change>)> = Vec::new();
    for index in &candidates {
        let comparison = compare_elements(was, node, now, *index);
        // For a lone element all surrounding text is its fingerprint.
        let has_same_surroundings = is_identified
            || comparison.changes.is_empty() && has_same_texts_around(was, node, now, *index);
        if comparison.other.is_none() && has_same_surroundings {
            same.push((*index, comparison.changes));
        }
    }
    // A twin that existed before is another element.
    let was_twin = |element: u32| {
        let before = (0..old.nodes.len())
            .find(|it| old.nodes[*it].element == element && document_of(old, *it) == document);
        before.is_some_and(|before| compare_elements(was, node, was, before).other.is_none())
    };
    if let [(found, changes)] = same.as_slice()
        && !was_twin(new.nodes[*found].element)
    {
        return Resolution::Moved { node: *found, changes: changes.clone() };
    }
    let nearest = same.into_iter().map(|it| it.0).take(3).collect();
    Resolution::Gone { was: fingerprint(), nearest }
}

/// True when all text around one element, apart from times and counters, is around another one, too.
fn has_same_texts_around(
    was: &TreeStructure<'_>,
    before: usize,
    now: &TreeStructure<'_>,
    after: usize,
) -> bool {
    const MAX_NODES: usize = 60;
    let texts_around = |structure: &TreeStructure<'_>, of: usize| -> Vec<ItemToken> {
        let own = own_nodes(structure, of);
        let boxes = structure.ancestors(of).map(|it| it..structure.tree.end(it));
        let mut texts = boxes.take_while(|it| it.len() <= MAX_NODES).map(|it| {
            let mut texts = tokens(structure, it, &own);
            texts.retain(|it| !it.is_own && !it.is_inner && it.form != TextForm::Volatile);
            texts
        });
        texts.find(|it| it.iter().any(|it| !it.is_control_name())).unwrap_or_default()
    };
    let later = texts_around(now, after);
    texts_around(was, before).iter().all(|it| later.iter().any(|other| other.stable == it.stable))
}

/// Filters candidates to those as near to the item's identifying texts as the target was.
fn nearest_to_texts(
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
        let steps = std::iter::once(node).chain(was.ancestors(node));
        let steps = steps.take_while(|it| *it != level.child).count();
        // Prefix sums of the matching texts.
        let mut counts = vec![0_u32; now.tree.nodes.len() + 1];
        for (index, it) in now.tree.nodes.iter().enumerate() {
            let is_identifying =
                words.contains(now.tree.name(it)) || words.contains(now.tree.value(it));
            counts[index + 1] = counts[index] + u32::from(is_identifying);
        }
        let score = |of: usize| {
            let item = std::iter::once(of).chain(now.ancestors(of)).nth(steps)?;
            let item = if level.is_run { now.parents[item] as usize } else { item };
            Some(counts[now.tree.end(item)] - counts[item])
        };
        let scores: Vec<Option<u32>> = candidates.iter().map(|it| score(*it)).collect();
        let best = scores.iter().flatten().max().copied().unwrap_or(0);
        let is_best = |it: &Option<u32>| it.is_some_and(|it| it == best && best > 0);
        let best = candidates.iter().zip(&scores).filter(|it| is_best(it.1));
        return best.map(|it| *it.0).collect();
    }
    candidates
}
