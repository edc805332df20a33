//! Our tree beside the browser's own, element by element: how tests know that ours is right.

use super::{ObserveError, ObserveOptions, TabObservation, World, ax, json, observe};
use crate::browser::TabNeed;
use crate::command::CommandContext;
use crate::error::Result;
use cdp::protocol::accessibility::GetFullAxTree;
use cdp::protocol::dom_debugger::GetEventListeners;
use cdp::{Deadline, LossyString};
use page::ax::{RefPolicy, Tree};
use page::view::{ViewOptions, view};
use std::collections::{HashMap, HashSet};

/// Runs a script in our world of the current page, so that a test can put something in the way there.
pub(crate) async fn meddle(cx: &mut CommandContext<'_>, script: &str) -> Result<()> {
    let turn = cx.turn(TabNeed::Page).await?;
    let loader = turn.state.borrow().loader.clone();
    let explain = |trouble: ObserveError| trouble.explain(&turn);
    let world = World::enter(&turn.channel, &turn.target_id, &loader, true, cx.deadline).await;
    let world = world.map_err(|error| explain(error.into()))?;
    world.ask::<bool>(&format!("({script}, true)"), cx.deadline).await.map_err(explain)?;
    Ok(())
}

/// What a tree says about an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFacts {
    /// What it is.
    pub role: String,
    /// What it is called.
    pub name: String,
    /// Whether it can take the focus.
    pub is_focusable: bool,
    /// Whether it is part of a table that only places things side by side.
    pub is_layout: bool,
    /// What else could have named it, after what did.
    pub passed_over: Vec<String>,
}

/// An element as both trees tell it. One that a tree leaves out is absent there.
#[derive(Clone, Debug)]
pub struct NodePair {
    /// The browser's own number of the element.
    pub backend_node_id: Option<i64>,
    /// The element's tag.
    pub tag: String,
    /// The attributes asked for.
    pub facts: Vec<Option<String>>,
    /// The browser does not lay it out yet, because it is out of view.
    pub is_skipped: bool,
    /// There is no text in it.
    pub is_blank: bool,
    /// What our tree says.
    pub ours: Option<NodeFacts>,
    /// What the browser's tree says.
    pub theirs: Option<NodeFacts>,
}

/// All elements of all documents of the page, with the attributes asked for.
pub(crate) async fn compare(cx: &mut CommandContext<'_>, facts: &[&str]) -> Result<Vec<NodePair>> {
    let turn = cx.turn(TabNeed::Page).await?;
    let live = cx.live().await?;
    let mut observation = turn.observation.lock().await;
    let look = ObserveOptions { firewall: false, full: true, ..ObserveOptions::default() };
    let tree = observe(&live, &turn, &mut observation, &look, cx.deadline).await?;
    let explain = |trouble: ObserveError| trouble.explain(&turn);
    let mut pairs = Vec::new();
    for document in documents(&observation, &tree) {
        let theirs = document.their_tree(cx.deadline).await.map_err(explain)?;
        let Document { frame, world } = document;
        let root = tree.nodes.iter().find(|node| node.frame == frame);
        let mut numbers = document.elements(cx.deadline).await.map_err(explain)?;
        numbers.splice(0..0, root.map(|root| root.element));
        let script = format!(
            "agbrowse.elements({}).map((el) => [el.localName || '#document', \
             el.checkVisibility && el.checkVisibility() && !el.checkVisibility({{ contentVisibilityAuto: true }}) ? 'skipped' \
             : null, /\\S/.test(el.textContent || '') ? null : 'blank', ...{}.map((name) => el.getAttribute ? el.getAttribute(name) : null)])",
            json(&numbers),
            json(facts)
        );
        let told: Vec<Vec<Option<LossyString>>> =
            world.ask(&script, cx.deadline).await.map_err(explain)?;
        let ids = world.backend_ids(&numbers, cx.deadline).await.map_err(explain)?;
        let said = |node: &page::ax::Node| NodeFacts {
            role: node.role.name().to_owned(),
            name: tree.name(node).to_owned(),
            is_focusable: node.states.is_focusable(),
            is_layout: false,
            passed_over: Vec::new(),
        };
        let here = tree.nodes.iter().filter(|node| node.frame == frame && node.element > 0);
        let ours: HashMap<u32, NodeFacts> = here.map(|node| (node.element, said(node))).collect();
        // In another process the same number is another element's.
        let is_near = world.channel.session() == turn.channel.session();
        for ((number, id), told) in numbers.into_iter().zip(ids).zip(told) {
            let mut told = told.into_iter().map(|fact| fact.map(LossyString::into_string));
            pairs.push(NodePair {
                backend_node_id: id.filter(|_| is_near),
                tag: told.next().flatten().unwrap_or_default(),
                is_skipped: told.next().flatten().is_some(),
                is_blank: told.next().flatten().is_some(),
                facts: told.collect(),
                ours: ours.get(&number).cloned(),
                theirs: id.and_then(|id| theirs.get(&id).cloned()),
            });
        }
    }
    Ok(pairs)
}

/// A document of a page that was looked at.
#[derive(Clone, Copy)]
struct Document<'s> {
    frame: u16,
    world: &'s World,
}

/// Those that answered and in which there is something.
fn documents<'s>(observation: &'s TabObservation, tree: &Tree) -> Vec<Document<'s>> {
    let frames = tree.frames.iter().zip(0u16..).filter(|(frame, _)| !frame.silent);
    let world = |(frame, at): (&page::ax::Frame, u16)| {
        Some(Document { frame: at, world: observation.world_of(&frame.document)? })
    };
    frames.filter_map(world).collect()
}

impl Document<'_> {
    /// What the browser's own tree says, by its own numbers of elements.
    async fn their_tree(
        &self,
        deadline: Deadline,
    ) -> std::result::Result<HashMap<i64, NodeFacts>, ObserveError> {
        let ask = GetFullAxTree { frame_id: Some(self.world.frame_id.clone()) };
        let nodes = self.world.channel.call(ask, deadline).await?.nodes.unwrap_or_default();
        Ok(nodes.iter().filter_map(ax::said).collect())
    }

    /// The numbers of all its elements.
    async fn elements(&self, deadline: Deadline) -> std::result::Result<Vec<u32>, ObserveError> {
        let all: String = self.world.ask("agbrowse.findBySelector('*')", deadline).await?;
        Ok(all.split(',').filter_map(|number| number.parse().ok()).collect())
    }

    /// The browser's own numbers of those who listen to clicks, in shadow trees too.
    async fn listening(
        &self,
        deadline: Deadline,
    ) -> std::result::Result<HashSet<i64>, ObserveError> {
        let trees = self.world.backend_ids_of("agbrowse.trees()".into(), deadline).await?;
        let trees: Vec<i64> = trees.into_iter().flatten().collect();
        let mut heard = HashSet::new();
        for object_id in self.world.page_handles(&trees, deadline).await? {
            let ask = GetEventListeners { object_id, depth: Some(-1), pierce: None };
            let told = self.world.channel.call(ask, deadline).await?.listeners.unwrap_or_default();
            let clicks =
                told.into_iter().filter(|listener| listener.r#type.as_deref() == Some("click"));
            heard.extend(clicks.filter_map(|listener| listener.backend_node_id));
        }
        Ok(heard)
    }
}

/// An element that one could want to use, and whether it can be pointed at.
#[derive(Clone, Debug)]
pub struct Reachability {
    /// The beginning of its markup.
    pub markup: String,
    /// The browser lets it take the focus.
    pub is_focusable: bool,
    /// A script listens to its clicks.
    pub listens: bool,
    /// It is the page, or holds most of it.
    pub is_root: bool,
    /// It is kept from those who cannot see the page.
    pub is_aria_hidden: bool,
    /// It has a ref in a list of what can be acted on.
    pub has_ref: bool,
    /// And in a snapshot as it is made when nothing else is said.
    pub is_shown: bool,
}

/// All elements of all documents that can be seen and, as the browser tells, can take the focus or listen to clicks.
pub(crate) async fn reach(cx: &mut CommandContext<'_>) -> Result<Vec<Reachability>> {
    const SEEN: &str = "(el) => { const box = el.getBoundingClientRect(); \
        return el.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && \
        box.width > 1 && box.height > 1 && box.right + scrollX > 0 && box.bottom + scrollY > 0 }";
    let turn = cx.turn(TabNeed::Page).await?;
    let live = cx.live().await?;
    let mut observation = turn.observation.lock().await;
    let tree =
        observe(&live, &turn, &mut observation, &ObserveOptions::default(), cx.deadline).await?;
    let policy = RefPolicy::Live { all: false };
    let [listed, shown] = [true, false].map(|refs_only| -> HashSet<(u16, u32)> {
        let options = ViewOptions { policy, refs_only, ..ViewOptions::default() };
        let seen = view(&tree, &options, &mut |_, element| element);
        let with_ref = seen.lines.iter().filter(|line| line.number.is_some());
        let nodes = with_ref.map(|line| &tree.nodes[line.node as usize]);
        nodes.map(|node| (node.frame, node.element)).collect()
    });
    let explain = |trouble: ObserveError| trouble.explain(&turn);
    let mut found = Vec::new();
    for document in documents(&observation, &tree) {
        let theirs = document.their_tree(cx.deadline).await.map_err(explain)?;
        let heard = document.listening(cx.deadline).await.map_err(explain)?;
        let numbers = document.elements(cx.deadline).await.map_err(explain)?;
        let script = format!(
            "agbrowse.elements({}).map((el) => [el.cloneNode().outerHTML.slice(0, 200), ({SEEN})(el), \
             el.contains(document.body) || el.querySelectorAll('*').length * 2 > document.all.length, \
             el.closest('[aria-hidden=true], [inert]') !== null])",
            json(&numbers)
        );
        let Document { frame, world } = document;
        let told: Vec<(LossyString, bool, bool, bool)> =
            world.ask(&script, cx.deadline).await.map_err(explain)?;
        let ids = world.backend_ids(&numbers, cx.deadline).await.map_err(explain)?;
        for ((number, id), (markup, is_seen, is_root, is_aria_hidden)) in
            numbers.into_iter().zip(ids).zip(told)
        {
            let Some(id) = id.filter(|_| is_seen) else { continue };
            let is_focusable = theirs.get(&id).is_some_and(|said| said.is_focusable);
            let listens = heard.contains(&id);
            if is_focusable || listens {
                found.push(Reachability {
                    markup: markup.into_string(),
                    is_focusable,
                    listens,
                    is_root,
                    is_aria_hidden,
                    has_ref: listed.contains(&(frame, number)),
                    is_shown: shown.contains(&(frame, number)),
                });
            }
        }
    }
    Ok(found)
}
