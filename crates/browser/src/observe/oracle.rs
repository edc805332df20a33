//! Our tree beside the browser's own, element by element: how tests know that ours is right.

use super::{Look, ax, json, observe};
use crate::browser::Needs;
use crate::command::Cx;
use crate::error::{Code, Error, Result};
use cdp::Text;
use cdp::protocol::accessibility::GetFullAxTree;
use std::collections::HashMap;

/// What a tree says about an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// What it is.
    pub role: String,
    /// What it is called.
    pub name: String,
    /// Whether it can take the focus.
    pub is_focusable: bool,
    /// Whether it is part of a table that only places things side by side.
    pub is_layout: bool,
}

/// An element as both trees tell it. One that a tree leaves out is absent there.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The element's tag.
    pub tag: String,
    /// The attributes asked for.
    pub facts: Vec<Option<String>>,
    /// What our tree says.
    pub ours: Option<Said>,
    /// What the browser's tree says.
    pub theirs: Option<Said>,
}

/// All elements of the main document, with the attributes asked for.
pub(crate) async fn compare(cx: &mut Cx<'_>, facts: &[&str]) -> Result<Vec<Pair>> {
    let turn = cx.turn(Needs::Page).await?;
    let live = cx.live().await?;
    let mut sight = turn.sight.lock().await;
    let look = Look { firewall: false, full: true, ..Look::default() };
    let tree = observe(&live, &turn, &mut sight, &look, cx.deadline).await?;
    let theirs = turn.call(GetFullAxTree::default(), cx.deadline).await?.nodes.unwrap_or_default();
    let document = &tree.frames[0].document;
    let missing = || Error::new(Code::SnapshotUnavailable);
    let world = sight.world_of(document).ok_or_else(missing)?;
    let explain = |trouble: super::Trouble| trouble.explain(&turn);
    let all: String = world.ask("agbrowse.find('*')", cx.deadline).await.map_err(explain)?;
    let mut numbers: Vec<u32> = all.split(',').filter_map(|number| number.parse().ok()).collect();
    numbers.insert(0, tree.nodes[0].element);
    let script = format!(
        "agbrowse.elements({}).map((el) => [el.localName || '#document', ...{}.map((name) => \
         el.getAttribute ? el.getAttribute(name) : null)])",
        json(&numbers),
        json(facts)
    );
    let told: Vec<Vec<Option<Text>>> = world.ask(&script, cx.deadline).await.map_err(explain)?;
    let ids = world.backend_ids(&numbers, cx.deadline).await.map_err(explain)?;
    let ours: HashMap<u32, Said> = tree
        .nodes
        .iter()
        .filter(|node| node.frame == 0 && node.element > 0)
        .map(|node| {
            let said = Said {
                role: node.role.name().to_owned(),
                name: tree.name(node).to_owned(),
                is_focusable: node.states.is_focusable(),
                is_layout: false,
            };
            (node.element, said)
        })
        .collect();
    let theirs: HashMap<i64, Said> = theirs.iter().filter_map(ax::said).collect();
    let mut pairs = Vec::with_capacity(numbers.len());
    for ((number, id), told) in numbers.into_iter().zip(ids).zip(told) {
        let mut told = told.into_iter().map(|fact| fact.map(Text::into_string));
        pairs.push(Pair {
            tag: told.next().flatten().unwrap_or_default(),
            facts: told.collect(),
            ours: ours.get(&number).cloned(),
            theirs: id.and_then(|id| theirs.get(&id).cloned()),
        });
    }
    Ok(pairs)
}
