//! Compares our tree with the browser's accessibility tree, element by element; used by tests.

use super::{ObserveError, ObserveOptions, TabObservation, World, ax, json, observe};
use crate::command::{CommandContext, TabNeed};
use crate::error::Result;
use cdp::protocol::accessibility::GetFullAxTree;
use cdp::protocol::dom_debugger::GetEventListeners;
use cdp::{Deadline, LossyString};
use page::ax::{RefPolicy, Tree};
use page::view::{ViewOptions, view};
use std::collections::{HashMap, HashSet};

/// Evaluates a script in the isolated world of the current page, so that a test can tamper with it.
pub(crate) async fn run_in_world(cx: &mut CommandContext<'_>, script: &str) -> Result<()> {
    let turn = cx.take_turn(TabNeed::Page).await?;
    let loader = turn.state.borrow().loader.clone();
    let explain = |error: ObserveError| error.explain(&turn);
    let world =
        World::enter(&turn.channel, &turn.target_id, &loader, true, cx.progress.deadline).await;
    let world = world.map_err(|error| explain(error.into()))?;
    world.ask::<bool>(&format!("({script}, true)"), cx.progress.deadline).await.map_err(explain)?;
    Ok(())
}

/// Facts of a tree about an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFacts {
    /// The role.
    pub role: String,
    /// The accessible name.
    pub name: String,
    /// True if it is focusable.
    pub is_focusable: bool,
    /// True for parts of a layout table.
    pub is_layout: bool,
    /// Superseded name sources.
    pub passed_over: Vec<String>,
}

/// An element in both trees. Absent in one that leaves it out.
#[derive(Clone, Debug)]
pub struct NodePair {
    /// The backend node id.
    pub backend_node_id: Option<i64>,
    /// The tag name.
    pub tag: String,
    /// The requested attributes.
    pub facts: Vec<Option<String>>,
    /// Not laid out yet, because it is out of view (`content-visibility`).
    pub is_skipped: bool,
    /// It contains no text.
    pub is_blank: bool,
    /// Our facts.
    pub ours: Option<NodeFacts>,
    /// The browser's facts.
    pub theirs: Option<NodeFacts>,
}

/// All elements of all documents of the page, with the requested attributes.
pub(crate) async fn compare(cx: &mut CommandContext<'_>, facts: &[&str]) -> Result<Vec<NodePair>> {
    let turn = cx.take_turn(TabNeed::Page).await?;
    let live = cx.live().await?;
    let mut observation = turn.observation.lock().await;
    let options = ObserveOptions { firewall: false, full: true, ..ObserveOptions::default() };
    let tree = observe(&live, &turn, &mut observation, &options, cx.progress.deadline).await?;
    let explain = |error: ObserveError| error.explain(&turn);
    let mut pairs = Vec::new();
    for document in documents(&observation, &tree) {
        let theirs = document.their_tree(cx.progress.deadline).await.map_err(explain)?;
        let Document { frame, world } = document;
        let root = tree.nodes.iter().find(|node| node.frame == frame);
        let mut numbers = document.elements(cx.progress.deadline).await.map_err(explain)?;
        numbers.splice(0..0, root.map(|root| root.element));
        let script = format!(
            "agbrowse.elements({}).map((el) => [el.localName || '#document', \
             el.checkVisibility && el.checkVisibility() && !el.checkVisibility({{ contentVisibilityAuto: true }}) ? 'skipped' \
             : null, /\\S/.test(el.textContent || '') ? null : 'blank', ...{}.map((name) => el.getAttribute ? el.getAttribute(name) : null)])",
            json(&numbers),
            json(facts)
        );
        let rows: Vec<Vec<Option<LossyString>>> =
            world.ask(&script, cx.progress.deadline).await.map_err(explain)?;
        let ids = world.backend_ids(&numbers, cx.progress.deadline).await.map_err(explain)?;
        let facts_of = |node: &page::ax::Node| NodeFacts {
            role: node.role.name().to_owned(),
            name: tree.name(node).to_owned(),
            is_focusable: node.states.is_focusable(),
            is_layout: false,
            passed_over: Vec::new(),
        };
        let here = tree.nodes.iter().filter(|node| node.frame == frame && node.element > 0);
        let ours: HashMap<u32, NodeFacts> =
            here.map(|node| (node.element, facts_of(node))).collect();
        // In another process the same id is another element's.
        let is_near = world.channel.session() == turn.channel.session();
        for ((number, id), rows) in numbers.into_iter().zip(ids).zip(rows) {
            let mut rows = rows.into_iter().map(|fact| fact.map(LossyString::into_string));
            pairs.push(NodePair {
                backend_node_id: id.filter(|_| is_near),
                tag: rows.next().flatten().unwrap_or_default(),
                is_skipped: rows.next().flatten().is_some(),
                is_blank: rows.next().flatten().is_some(),
                facts: rows.collect(),
                ours: ours.get(&number).cloned(),
                theirs: id.and_then(|id| theirs.get(&id).cloned()),
            });
        }
    }
    Ok(pairs)
}

/// A document of an observed page.
#[derive(Clone, Copy)]
struct Document<'s> {
    frame: u16,
    world: &'s World,
}

/// The documents that responded.
fn documents<'s>(observation: &'s TabObservation, tree: &Tree) -> Vec<Document<'s>> {
    let frames = tree.frames.iter().zip(0u16..).filter(|(frame, _)| !frame.silent);
    let world = |(frame, at): (&page::ax::Frame, u16)| {
        Some(Document { frame: at, world: observation.world_of(&frame.document)? })
    };
    frames.filter_map(world).collect()
}

impl Document<'_> {
    /// The browser's facts by backend node id.
    async fn their_tree(
        &self,
        deadline: Deadline,
    ) -> std::result::Result<HashMap<i64, NodeFacts>, ObserveError> {
        let ask = GetFullAxTree { frame_id: Some(self.world.frame_id.clone()) };
        let nodes = self.world.channel.call(ask, deadline).await?.nodes.unwrap_or_default();
        Ok(nodes.iter().filter_map(ax::node_facts).collect())
    }

    /// The numbers of all its elements.
    async fn elements(&self, deadline: Deadline) -> std::result::Result<Vec<u32>, ObserveError> {
        let all: String = self.world.ask("agbrowse.findBySelector('*')", deadline).await?;
        Ok(all.split(',').filter_map(|number| number.parse().ok()).collect())
    }

    /// Backend node ids of elements with click listeners, in shadow trees too.
    async fn listening(
        &self,
        deadline: Deadline,
    ) -> std::result::Result<HashSet<i64>, ObserveError> {
        let trees = self.world.backend_ids_of("agbrowse.trees()".into(), deadline).await?;
        let trees: Vec<i64> = trees.into_iter().flatten().collect();
        let mut listening = HashSet::new();
        for object_id in self.world.page_handles(&trees, deadline).await? {
            let ask = GetEventListeners { object_id, depth: Some(-1), pierce: None };
            let rows = self.world.channel.call(ask, deadline).await?.listeners.unwrap_or_default();
            let clicks =
                rows.into_iter().filter(|listener| listener.r#type.as_deref() == Some("click"));
            listening.extend(clicks.filter_map(|listener| listener.backend_node_id));
        }
        Ok(listening)
    }
}

/// An interactive element and its refs.
#[derive(Clone, Debug)]
pub struct Reachability {
    /// The beginning of its markup.
    pub markup: String,
    /// The browser reports it as focusable.
    pub is_focusable: bool,
    /// It has a click listener.
    pub listens: bool,
    /// It contains the body or most of the page.
    pub is_root: bool,
    /// It is hidden from assistive technology.
    pub is_aria_hidden: bool,
    /// It has a ref in an interactive-only snapshot.
    pub has_ref: bool,
    /// It has a ref in a default snapshot.
    pub is_shown: bool,
}

/// All visible elements of all documents that the browser reports as focusable or that have click listeners.
pub(crate) async fn reach(cx: &mut CommandContext<'_>) -> Result<Vec<Reachability>> {
    const IS_VISIBLE: &str = "(el) => { const box = el.getBoundingClientRect(); \
        return el.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && \
        box.width > 1 && box.height > 1 && box.right + scrollX > 0 && box.bottom + scrollY > 0 }";
    let turn = cx.take_turn(TabNeed::Page).await?;
    let live = cx.live().await?;
    let mut observation = turn.observation.lock().await;
    let tree =
        observe(&live, &turn, &mut observation, &ObserveOptions::default(), cx.progress.deadline)
            .await?;
    let policy = RefPolicy::Live { all: false };
    let [listed, shown] = [true, false].map(|refs_only| -> HashSet<(u16, u32)> {
        let options = ViewOptions { policy, refs_only, ..ViewOptions::default() };
        let page_view = view(&tree, &options, &mut |_, element| element);
        let with_ref = page_view.lines.iter().filter(|line| line.number.is_some());
        let nodes = with_ref.map(|line| &tree.nodes[line.node as usize]);
        nodes.map(|node| (node.frame, node.element)).collect()
    });
    let explain = |error: ObserveError| error.explain(&turn);
    let mut found = Vec::new();
    for document in documents(&observation, &tree) {
        let theirs = document.their_tree(cx.progress.deadline).await.map_err(explain)?;
        let listening = document.listening(cx.progress.deadline).await.map_err(explain)?;
        let numbers = document.elements(cx.progress.deadline).await.map_err(explain)?;
        let script = format!(
            "agbrowse.elements({}).map((el) => [el.cloneNode().outerHTML.slice(0, 200), ({IS_VISIBLE})(el), \
             el.contains(document.body) || el.querySelectorAll('*').length * 2 > document.all.length, \
             el.closest('[aria-hidden=true], [inert]') !== null])",
            json(&numbers)
        );
        let Document { frame, world } = document;
        let rows: Vec<(LossyString, bool, bool, bool)> =
            world.ask(&script, cx.progress.deadline).await.map_err(explain)?;
        let ids = world.backend_ids(&numbers, cx.progress.deadline).await.map_err(explain)?;
        for ((number, id), (markup, is_visible, is_root, is_aria_hidden)) in
            numbers.into_iter().zip(ids).zip(rows)
        {
            let Some(id) = id.filter(|_| is_visible) else { continue };
            let is_focusable = theirs.get(&id).is_some_and(|facts| facts.is_focusable);
            let listens = listening.contains(&id);
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
