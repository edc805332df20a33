//! Nodes from one side to the other: the browser has numbers of its own for them, and our world has ours.

use super::{ObserveError, World, json, read};
use cdp::protocol::dom::ResolveNode;
use cdp::protocol::dom_debugger::GetEventListeners;
use cdp::protocol::runtime::{
    CallArgument, CallFunctionOn, Evaluate, ReleaseObjectGroup, RemoteObject, SerializationOptions,
};
use cdp::{Deadline, LossyString};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

/// Handles that are let go together. Those of this very name nobody uses.
pub(super) const GROUP: &str = "agbrowse";

/// How many calls there were that needed handles.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// How many nodes are asked about one by one at most: each costs a call.
const MAX_NODES: usize = 3000;

impl World {
    /// Learns our numbers of nodes that the browser knows by its own. Those that are gone are left out.
    pub(crate) async fn number(
        &mut self,
        nodes: &[i64],
        deadline: Deadline,
    ) -> Result<(), ObserveError> {
        let is_known = |node: &i64| self.numbers.contains_key(node);
        let unknown: Vec<i64> = nodes.iter().copied().filter(|node| !is_known(node)).collect();
        self.learn("ids", &unknown, deadline).await?;
        Ok(())
    }

    /// Our numbers of nodes whose clicks a script listens to, and whether the last walk would have told otherwise of one
    /// if it had known.
    pub(super) async fn register_click_listeners(
        &mut self,
        nodes: &[i64],
        deadline: Deadline,
    ) -> Result<(Vec<u32>, bool), ObserveError> {
        let is_new = |node: &i64| !self.heard.contains(node);
        let new: Vec<i64> = nodes.iter().copied().filter(is_new).take(MAX_NODES).collect();
        let is_missed = self.learn("addListenerTargets", &new, deadline).await?;
        self.heard.extend(new.into_iter().filter(|node| self.numbers.contains_key(node)));
        let numbers = nodes.iter().filter_map(|node| self.numbers.get(node).copied()).collect();
        Ok((numbers, is_missed))
    }

    /// Has a function of our world give nodes their numbers. Says whether it had more to say.
    async fn learn(
        &mut self,
        function: &str,
        nodes: &[i64],
        deadline: Deadline,
    ) -> Result<bool, ObserveError> {
        let ask = format!("function(...nodes) {{ return agbrowse.{function}(...nodes) }}");
        let (found, given) = self.call_with(nodes, &ask, deadline).await?;
        let numbers = given.trim_start_matches("!,").split(',');
        let numbers = numbers.map(|number| number.parse().unwrap_or(0));
        self.numbers.extend(found.into_iter().zip(numbers));
        Ok(given.starts_with('!'))
    }

    /// Asks a function of ours about a node that the browser knows by its own number.
    ///
    /// # Errors
    /// [`ObserveError::Nothing`] when the node is gone.
    pub(crate) async fn ask_about<T: DeserializeOwned>(
        &self,
        node: i64,
        function: &str,
        deadline: Deadline,
    ) -> Result<T, ObserveError> {
        let ask = format!(
            "function(node) {{ return JSON.stringify(agbrowse.{function}(node) ?? null) }}"
        );
        let (found, said) = self.call_with(&[node], &ask, deadline).await?;
        if found.is_empty() {
            return Err(ObserveError::Nothing);
        }
        serde_json::from_str(&said).map_err(|error| ObserveError::Script(error.to_string()))
    }

    /// Our number of a node that was asked about before.
    pub(crate) fn known(&self, node: i64) -> Option<u32> {
        self.numbers.get(&node).copied()
    }

    /// Finds out the browser's own numbers of elements that hold frames.
    pub(crate) async fn know(
        &mut self,
        elements: &HashSet<u32>,
        deadline: Deadline,
    ) -> Result<(), ObserveError> {
        let known: HashSet<u32> = self.numbers.values().copied().collect();
        let unknown: Vec<u32> = elements.difference(&known).copied().collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let ids = self.backend_ids(&unknown, deadline).await?;
        let found = ids.into_iter().zip(unknown).filter_map(|(id, number)| Some((id?, number)));
        self.numbers.extend(found);
        Ok(())
    }

    /// The browser's own numbers of elements.
    pub(crate) async fn backend_ids(
        &self,
        elements: &[u32],
        deadline: Deadline,
    ) -> Result<Vec<Option<i64>>, ObserveError> {
        let mut all = Vec::with_capacity(elements.len());
        for piece in elements.chunks(500) {
            let script = format!("agbrowse.elements({})", json(&piece));
            all.extend(self.backend_ids_of(script, deadline).await?);
        }
        all.resize(elements.len(), None);
        Ok(all)
    }

    /// The browser's own numbers of the nodes that a script gives.
    pub(crate) async fn backend_ids_of(
        &self,
        script: String,
        deadline: Deadline,
    ) -> Result<Vec<Option<i64>>, ObserveError> {
        let ask = Evaluate {
            expression: script,
            context_id: Some(self.context),
            serialization_options: Some(deep("none")),
            object_group: Some(GROUP.into()),
            silent: Some(true),
            ..Evaluate::default()
        };
        let reply = self.channel.call(ask, deadline).await?;
        Ok(self.nodes(reply.result).into_iter().map(|node| node.backend_node_id).collect())
    }

    /// Handles on nodes as the page's own scripts have them. Those that are gone are left out.
    pub(crate) async fn page_handles(
        &self,
        nodes: &[i64],
        deadline: Deadline,
    ) -> Result<Vec<String>, ObserveError> {
        let asked = nodes
            .iter()
            .map(|node| ResolveNode { backend_node_id: Some(*node), ..ResolveNode::default() });
        Ok(self.resolved(asked, deadline).await?.into_iter().flatten().collect())
    }

    /// Whether scripts of the page hear what is done to an element: they listen at it or around it.
    pub(crate) async fn hears_input(
        &self,
        element: u32,
        deadline: Deadline,
    ) -> Result<bool, ObserveError> {
        // Of a frame that shares its process, the window cannot be asked for without its scripts.
        if self.document.is_none() {
            return Ok(true);
        }
        let group = format!("{GROUP}-{}", CALLS.fetch_add(1, Ordering::Relaxed));
        let window = Evaluate {
            expression: "window".into(),
            object_group: Some(group.clone()),
            silent: Some(true),
            ..Evaluate::default()
        };
        let window = self.channel.start(&window)?;
        let around =
            self.backend_ids_of(format!("agbrowse.eventPath({element})"), deadline).await?;
        let asked = around.into_iter().flatten().map(|node| ResolveNode {
            backend_node_id: Some(node),
            object_group: Some(group.clone()),
            ..ResolveNode::default()
        });
        let mut handles = self.resolved(asked, deadline).await?;
        handles.push(window.wait(deadline).await?.result.and_then(|window| window.object_id));
        let asked = handles.into_iter().flatten().map(|object_id| GetEventListeners {
            object_id,
            depth: Some(0),
            pierce: None,
        });
        let asked: Vec<_> = asked.map(|ask| self.channel.start(&ask)).collect::<Result<_, _>>()?;
        let mut is_heard = false;
        for reply in asked {
            let listeners = reply.wait(deadline).await?.listeners.unwrap_or_default();
            is_heard |= listeners.iter().filter_map(|it| it.r#type.as_deref()).any(is_input);
        }
        self.channel.post(&ReleaseObjectGroup { object_group: group });
        Ok(is_heard)
    }

    /// A handle on each node that is asked for, or none where it is gone.
    async fn resolved(
        &self,
        asked: impl Iterator<Item = ResolveNode>,
        deadline: Deadline,
    ) -> Result<Vec<Option<String>>, ObserveError> {
        let asked: Vec<_> =
            asked.map(|resolve| self.channel.start(&resolve)).collect::<Result<_, _>>()?;
        let mut handles = Vec::with_capacity(asked.len());
        for reply in asked {
            handles.push(match reply.wait(deadline).await {
                Ok(reply) => reply.object.and_then(|object| object.object_id),
                Err(cdp::Error::Remote { .. }) => None,
                Err(error) => return Err(error.into()),
            });
        }
        Ok(handles)
    }

    /// The nodes that a script gave. Handles on such are let go, also on those that nobody waited for: they would keep the
    /// nodes for as long as the page is there.
    pub(super) fn nodes(&self, given: Option<RemoteObject>) -> Vec<DeepNode> {
        let Some(given) = given else { return Vec::new() };
        self.channel.post(&ReleaseObjectGroup { object_group: GROUP.into() });
        let value = given.deep_serialized_value.and_then(|deep| deep.value);
        let items: Vec<DeepItem> =
            value.and_then(|value| serde_json::from_str(value.get()).ok()).unwrap_or_default();
        items.into_iter().map(|item| item.value.map(|node| *node).unwrap_or_default()).collect()
    }

    /// Calls a function of ours with nodes that the browser knows by its own numbers. Tells with which, as those that are
    /// gone are left out, and what it gave.
    pub(super) async fn call_with(
        &self,
        nodes: &[i64],
        function: &str,
        deadline: Deadline,
    ) -> Result<(Vec<i64>, String), ObserveError> {
        // A group of its own: the documents of a process are asked at once, and handles are let go by their group.
        let group = format!("{GROUP}-{}", CALLS.fetch_add(1, Ordering::Relaxed));
        let asked = nodes.iter().map(|node| ResolveNode {
            backend_node_id: Some(*node),
            object_group: Some(group.clone()),
            execution_context_id: Some(self.context),
        });
        let all = self.resolved(asked, deadline).await?;
        let here = nodes.iter().zip(all).filter_map(|(node, handle)| Some((*node, handle?)));
        let (found, handles): (Vec<i64>, Vec<String>) = here.unzip();
        if handles.is_empty() {
            return Ok((found, String::new()));
        }
        let arguments =
            handles.into_iter().map(|handle| CallArgument { object_id: Some(handle) }).collect();
        let call = CallFunctionOn {
            function_declaration: function.to_owned(),
            arguments: Some(arguments),
            execution_context_id: Some(self.context),
            return_by_value: Some(true),
            silent: Some(true),
            ..CallFunctionOn::default()
        };
        let reply = self.channel.call(call, deadline).await;
        self.channel.post(&ReleaseObjectGroup { object_group: group });
        let said = match reply?.result.and_then(|result| result.value) {
            Some(value) => read::<LossyString>(&value)?.into_string(),
            None => String::new(),
        };
        Ok((found, said))
    }
}

/// Whether events of this type come of what a person does.
fn is_input(kind: &str) -> bool {
    const FAMILIES: &[&str] = &[
        "auxclick",
        "before",
        "blur",
        "change",
        "click",
        "context",
        "copy",
        "cut",
        "dblclick",
        "drag",
        "drop",
        "focus",
        "gotpointer",
        "input",
        "invalid",
        "key",
        "lostpointer",
        "mouse",
        "paste",
        "pointer",
        "reset",
        "select",
        "submit",
        "toggle",
        "touch",
        "wheel",
    ];
    FAMILIES.iter().any(|family| kind.starts_with(family)) && kind != "beforeunload"
}

pub(super) fn deep(shadow: &str) -> SerializationOptions {
    let parameters = format!(r#"{{"maxNodeDepth":0,"includeShadowTree":"{shadow}"}}"#);
    SerializationOptions {
        serialization: Some("deep".into()),
        max_depth: Some(2),
        additional_parameters: RawValue::from_string(parameters).ok(),
    }
}

/// A node as deep serialization tells it.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DeepNode {
    pub(super) backend_node_id: Option<i64>,
    pub(super) shadow_root: Option<DeepItem>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct DeepItem {
    pub(super) value: Option<Box<DeepNode>>,
}
