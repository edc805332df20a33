//! Maps between the browser's backend node ids and the observer's element numbers.

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

/// Object group of remote objects that are released together. The plain name is used for deep-serialized results
/// only.
pub(super) const GROUP: &str = "agbrowse";

/// Number of calls with object groups of their own.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Nodes resolved one by one at most: each costs a call.
const MAX_NODES: usize = 3000;

impl World {
    /// Assigns element numbers to backend nodes. Nodes that are gone are left out.
    pub(crate) async fn assign_ids(
        &mut self,
        nodes: &[i64],
        deadline: Deadline,
    ) -> Result<(), ObserveError> {
        let is_known = |node: &i64| self.ids.contains_key(node);
        let unknown: Vec<i64> = nodes.iter().copied().filter(|node| !is_known(node)).collect();
        self.run_with_nodes("ids", &unknown, deadline).await?;
        Ok(())
    }

    /// Registers nodes with click listeners: returns their element numbers, and true if the last walk would have
    /// reported one differently.
    pub(super) async fn register_click_listeners(
        &mut self,
        nodes: &[i64],
        deadline: Deadline,
    ) -> Result<(Vec<u32>, bool), ObserveError> {
        let is_new = |node: &i64| !self.listener_ids.contains(node);
        let new: Vec<i64> = nodes.iter().copied().filter(is_new).take(MAX_NODES).collect();
        let is_missed = self.run_with_nodes("addListenerTargets", &new, deadline).await?;
        self.listener_ids.extend(new.into_iter().filter(|node| self.ids.contains_key(node)));
        let numbers = nodes.iter().filter_map(|node| self.ids.get(node).copied()).collect();
        Ok((numbers, is_missed))
    }

    /// Calls an observer function that numbers nodes. Returns true if its reply is flagged.
    async fn run_with_nodes(
        &mut self,
        function: &str,
        nodes: &[i64],
        deadline: Deadline,
    ) -> Result<bool, ObserveError> {
        let ask = format!("function(...nodes) {{ return agbrowse.{function}(...nodes) }}");
        let (found, given) = self.call_with(nodes, &ask, deadline).await?;
        let numbers = given.trim_start_matches("!,").split(',');
        let numbers = numbers.map(|number| number.parse().unwrap_or(0));
        self.ids.extend(found.into_iter().zip(numbers));
        Ok(given.starts_with('!'))
    }

    /// Calls an observer function with a backend node.
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
        let (found, result) = self.call_with(&[node], &ask, deadline).await?;
        if found.is_empty() {
            return Err(ObserveError::Nothing);
        }
        serde_json::from_str(&result).map_err(|error| ObserveError::Script(error.to_string()))
    }

    /// The element number of a backend node, if it was assigned.
    pub(crate) fn id_of(&self, node: i64) -> Option<u32> {
        self.ids.get(&node).copied()
    }

    /// Resolves the backend node ids of frame owner elements.
    pub(crate) async fn resolve_ids(
        &mut self,
        elements: &HashSet<u32>,
        deadline: Deadline,
    ) -> Result<(), ObserveError> {
        let known: HashSet<u32> = self.ids.values().copied().collect();
        let unknown: Vec<u32> = elements.difference(&known).copied().collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let ids = self.backend_ids(&unknown, deadline).await?;
        let found = ids.into_iter().zip(unknown).filter_map(|(id, number)| Some((id?, number)));
        self.ids.extend(found);
        Ok(())
    }

    /// The backend node ids of elements.
    pub(crate) async fn backend_ids(
        &self,
        elements: &[u32],
        deadline: Deadline,
    ) -> Result<Vec<Option<i64>>, ObserveError> {
        let mut all = Vec::with_capacity(elements.len());
        for chunk in elements.chunks(500) {
            let script = format!("agbrowse.elements({})", json(&chunk));
            all.extend(self.backend_ids_of(script, deadline).await?);
        }
        all.resize(elements.len(), None);
        Ok(all)
    }

    /// The backend node ids of the nodes that a script returns.
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

    /// Remote objects of nodes in the main world. Nodes that are gone are left out.
    pub(crate) async fn page_handles(
        &self,
        nodes: &[i64],
        deadline: Deadline,
    ) -> Result<Vec<String>, ObserveError> {
        let requests = nodes
            .iter()
            .map(|node| ResolveNode { backend_node_id: Some(*node), ..ResolveNode::default() });
        Ok(self.resolve_nodes(requests, deadline).await?.into_iter().flatten().collect())
    }

    /// True if the page has input listeners on an element or its ancestors.
    pub(crate) async fn has_input_listeners(
        &self,
        element: u32,
        deadline: Deadline,
    ) -> Result<bool, ObserveError> {
        // The window of an in-process frame is not accessible without its main world context.
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
        let path = self.backend_ids_of(format!("agbrowse.eventPath({element})"), deadline).await?;
        let requests = path.into_iter().flatten().map(|node| ResolveNode {
            backend_node_id: Some(node),
            object_group: Some(group.clone()),
            ..ResolveNode::default()
        });
        let mut handles = self.resolve_nodes(requests, deadline).await?;
        handles.push(window.wait(deadline).await?.result.and_then(|window| window.object_id));
        let queries = handles.into_iter().flatten().map(|object_id| GetEventListeners {
            object_id,
            depth: Some(0),
            pierce: None,
        });
        let pending: Vec<_> =
            queries.map(|ask| self.channel.start(&ask)).collect::<Result<_, _>>()?;
        let mut is_listened_to = false;
        for reply in pending {
            let listeners = reply.wait(deadline).await?.listeners.unwrap_or_default();
            is_listened_to |= listeners.iter().filter_map(|it| it.r#type.as_deref()).any(is_input);
        }
        self.channel.post(&ReleaseObjectGroup { object_group: group });
        Ok(is_listened_to)
    }

    /// The remote object of each node, or `None` where it is gone.
    async fn resolve_nodes(
        &self,
        requests: impl Iterator<Item = ResolveNode>,
        deadline: Deadline,
    ) -> Result<Vec<Option<String>>, ObserveError> {
        let pending: Vec<_> =
            requests.map(|resolve| self.channel.start(&resolve)).collect::<Result<_, _>>()?;
        let mut handles = Vec::with_capacity(pending.len());
        for reply in pending {
            handles.push(match reply.wait(deadline).await {
                Ok(reply) => reply.object.and_then(|object| object.object_id),
                Err(cdp::Error::Remote { .. }) => None,
                Err(error) => return Err(error.into()),
            });
        }
        Ok(handles)
    }

    /// The nodes that a script returned. Their remote objects are released, also unread ones: they would keep the
    /// nodes alive as long as the page.
    pub(super) fn nodes(&self, given: Option<RemoteObject>) -> Vec<DeepNode> {
        let Some(given) = given else { return Vec::new() };
        self.channel.post(&ReleaseObjectGroup { object_group: GROUP.into() });
        let value = given.deep_serialized_value.and_then(|deep| deep.value);
        let items: Vec<DeepItem> =
            value.and_then(|value| serde_json::from_str(value.get()).ok()).unwrap_or_default();
        items.into_iter().map(|item| item.value.map(|node| *node).unwrap_or_default()).collect()
    }

    /// Calls a function with backend nodes. Returns the nodes that still exist, and the result.
    pub(super) async fn call_with(
        &self,
        nodes: &[i64],
        function: &str,
        deadline: Deadline,
    ) -> Result<(Vec<i64>, String), ObserveError> {
        // An object group of its own: the documents of a process are observed concurrently, and objects are released
        // by group.
        let group = format!("{GROUP}-{}", CALLS.fetch_add(1, Ordering::Relaxed));
        let requests = nodes.iter().map(|node| ResolveNode {
            backend_node_id: Some(*node),
            object_group: Some(group.clone()),
            execution_context_id: Some(self.context),
        });
        let all = self.resolve_nodes(requests, deadline).await?;
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
        let result = match reply?.result.and_then(|result| result.value) {
            Some(value) => read::<LossyString>(&value)?.into_string(),
            None => String::new(),
        };
        Ok((found, result))
    }
}

/// True for event types of user input.
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

/// A deep-serialized node.
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
