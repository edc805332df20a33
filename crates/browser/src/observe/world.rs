//! Our own world in a document: a place for scripts that the page cannot see, and what we asked it so far.

use crate::error::{Code, Error, RetryHint};
use cdp::protocol::dom::ResolveNode;
use cdp::protocol::dom_debugger::{EventListener, GetEventListeners};
use cdp::protocol::page::{CreateIsolatedWorld, GetResourceContent, GetResourceTree};
use cdp::protocol::runtime::{
    CallArgument, CallFunctionOn, Evaluate, EvaluateReply, ExceptionDetails, ReleaseObject,
    RemoteObject, SerializationOptions,
};
use cdp::{Channel, Deadline, Reply, Text};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// The name of our worlds. The page cannot see it.
pub(crate) const NAME: &str = "agbrowse";

/// What runs in our worlds, in files so that it can be read.
pub(crate) const SOURCE: &str = concat!(
    "if (!globalThis.agbrowse) (() => { \"use strict\";\n",
    include_str!("../../js/observer/1-dom.js"),
    include_str!("../../js/observer/2-style.js"),
    include_str!("../../js/observer/3-roles.js"),
    include_str!("../../js/observer/4-names.js"),
    include_str!("../../js/observer/5-states.js"),
    include_str!("../../js/observer/6-sight.js"),
    include_str!("../../js/observer/7-blocks.js"),
    include_str!("../../js/observer/7-walk.js"),
    include_str!("../../js/observer/8-act.js"),
    include_str!("../../js/observer/8-files.js"),
    include_str!("../../js/observer/8-read.js"),
    include_str!("../../js/observer/8-shot.js"),
    include_str!("../../js/observer/8-watch.js"),
    include_str!("../../js/observer/9-world.js"),
    "})()"
);

/// Handles that are let go together.
const GROUP: &str = "agbrowse";

/// How deep closed shadow roots in closed shadow roots are looked into.
const ROOTS: usize = 16;

/// How many nodes are asked about one by one at most: each costs a call.
const MAX_NODES: usize = 3000;

/// Events that make an element something to click on.
const CLICKS: &[&str] =
    &["click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick", "touchstart"];

/// Our world in one document.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) channel: Channel,
    pub(crate) frame_id: String,
    /// Which load of the frame it belongs to.
    pub(crate) loader: String,
    context: i64,
    /// The page's own handle on the document.
    document: Option<String>,
    /// The numbers that our world gave to nodes which the browser knows by its own.
    numbers: HashMap<i64, u32>,
    /// The last report: the next one says what is different.
    last: Option<Arc<str>>,
    /// There was nothing in the document.
    is_blank: bool,
}

/// What one document told.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) report: Arc<str>,
    /// The elements whose clicks a script listens to.
    pub(crate) listening: HashSet<u32>,
    /// The elements that are told and hold frames.
    pub(crate) holders: HashSet<u32>,
    /// Those of them in whose frames there is nothing, with the addresses of those.
    pub(crate) blank: HashMap<u32, &'static str>,
}

impl Told {
    /// What there is to tell when an address could not be reached.
    pub(crate) fn unreachable() -> Self {
        Self::new(nothing("chrome-error://chromewebdata/", "null").into(), HashSet::new())
    }

    /// What there is to tell of the frame that an element holds, if there is nothing in it.
    pub(crate) fn blank_inside(&self, holder: u32) -> Option<Self> {
        let url = self.blank.get(&holder)?;
        Some(Self::new(nothing(url, head(&self.report, 2)).into(), HashSet::new()))
    }

    /// What a report says of itself, with the elements whose clicks a script listens to.
    pub(crate) fn new(report: Arc<str>, listening: HashSet<u32>) -> Self {
        let holders = holders_in(&report).map(|(number, _)| number).collect();
        let blank = holders_in(&report).filter_map(|(number, url)| Some((number, url?))).collect();
        Self { report, listening, holders, blank }
    }
}

fn nothing(url: &str, origin: &str) -> String {
    format!("1\t{url}\t{origin}\t\t0\t0\t0\t\t0\n0\twebarea\t1\t\tff\n")
}

/// Where and whose the document is if there is nothing in it, as in most frames that advertisers leave behind.
/// Then nothing of ours needs to be brought there.
const BLANK: &str = r"(/^about:/.test(location.href) && document.title === '' &&
    document.getElementsByTagName('*').length < 9 && [...document.getElementsByTagName('*')].every((it) =>
        !it.shadowRoot && /^(?:html|head|body|meta|base|style)$/.test(it.localName)) &&
    !/\S/.test(document.body ? document.body.textContent : '') && [location.href, origin])";

/// What answers when something has happened in a document of which we have seen that it is blank.
const BLANK_DIRTIED: &str = "new Promise((tell) => new MutationObserver((_, it) => (it.disconnect(), tell(true))) \
    .observe(document, { subtree: true, childList: true, attributes: true, characterData: true }))";

impl World {
    /// Our world in a frame's document; the browser makes it if need be. `is_top` says that the frame is the
    /// uppermost one of its process.
    pub(crate) async fn enter(
        channel: &Channel,
        frame_id: &str,
        loader: &str,
        is_top: bool,
        deadline: Deadline,
    ) -> Result<Self, cdp::Error> {
        let create =
            CreateIsolatedWorld { frame_id: frame_id.to_owned(), world_name: Some(NAME.into()) };
        let created = channel.start(&create)?;
        // Asked without a context, a script runs in the page's own world of the uppermost frame.
        let document =
            Evaluate { expression: "document".into(), silent: Some(true), ..Evaluate::default() };
        let document = if is_top { Some(channel.start(&document)?) } else { None };
        let context = created.wait(deadline).await?.execution_context_id;
        let document = match document {
            Some(document) => document.wait(deadline).await?.result,
            None => None,
        };
        Ok(Self {
            channel: channel.clone(),
            frame_id: frame_id.to_owned(),
            loader: loader.to_owned(),
            context: context.unwrap_or_default(),
            document: document.and_then(|document| document.object_id),
            numbers: HashMap::new(),
            last: None,
            is_blank: false,
        })
    }

    /// Runs a script and reads what it gives. Where our scripts are not there yet, they are brought first.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        script: &str,
        deadline: Deadline,
    ) -> Result<T, Trouble> {
        let guarded = format!("globalThis.agbrowse ? {script} : {{ isStrange: true }}");
        let value = self.evaluate(guarded, deadline).await?;
        if value.get() != r#"{"isStrange":true}"# {
            return read(&value);
        }
        self.bring(deadline).await?;
        read(&self.evaluate(script.to_owned(), deadline).await?)
    }

    /// Runs a script of which nobody waits for the result.
    pub(crate) fn tell(&self, script: &str) {
        self.channel.post(&Evaluate {
            expression: format!("globalThis.agbrowse && {script}"),
            context_id: Some(self.context),
            return_by_value: Some(true),
            silent: Some(true),
            ..Evaluate::default()
        });
    }

    /// The next look at the document takes nothing from the last one.
    pub(crate) fn forget(&mut self) {
        self.last = None;
    }

    /// Brings our scripts.
    async fn bring(&self, deadline: Deadline) -> Result<(), Trouble> {
        let bring = Evaluate {
            expression: SOURCE.into(),
            context_id: Some(self.context),
            silent: Some(true),
            ..Evaluate::default()
        };
        match self.channel.call(bring, deadline).await?.exception_details {
            Some(thrown) => Err(thrown_by(thrown)),
            None => Ok(()),
        }
    }

    async fn evaluate(
        &self,
        expression: String,
        deadline: Deadline,
    ) -> Result<Box<RawValue>, Trouble> {
        let evaluate = Evaluate {
            expression,
            context_id: Some(self.context),
            return_by_value: Some(true),
            silent: Some(true),
            ..Evaluate::default()
        };
        value_of(self.channel.call(evaluate, deadline).await?)
    }

    /// Runs an asynchronous function of ours with arguments that JSON can hold.
    pub(crate) async fn run<T: DeserializeOwned>(
        &self,
        function: &str,
        arguments: &str,
        deadline: Deadline,
    ) -> Result<T, Trouble> {
        let evaluate = Evaluate {
            expression: format!("({function})({arguments})"),
            context_id: Some(self.context),
            return_by_value: Some(true),
            await_promise: Some(true),
            silent: Some(true),
            ..Evaluate::default()
        };
        read(&value_of(self.channel.call(evaluate, deadline).await?)?)
    }

    /// What the document tells, with what can only be asked from outside.
    pub(crate) async fn look(
        &mut self,
        options: &str,
        deadline: Deadline,
    ) -> Result<Told, Trouble> {
        let begun = Instant::now();
        // Asked at once: most of the time goes by on the way.
        let is_first = self.last.is_none() && !self.is_blank;
        let is_hosting = is_first || self.last.as_deref().is_some_and(may_host);
        let report = self.channel.start(&self.observing(options, true))?;
        let heard = match &self.document {
            Some(document) => Some(self.channel.start(&listeners_of(document))?),
            None => None,
        };
        let mut hosts =
            if is_hosting { Some(self.channel.start(&self.hosts(true, is_first))?) } else { None };
        let (mut report, is_first_walk) = self.observed(report, options, deadline).await?;
        let walked = begun.elapsed();
        // A closed shadow root can have others inside.
        for round in 0..ROOTS {
            let early = hosts.take();
            let is_early = early.is_some();
            let asked = match early {
                Some(asked) if may_host(&report) || holders_in(&report).next().is_some() => asked,
                None if may_host(&report) => self.channel.start(&self.hosts(round == 0, false))?,
                _ => break,
            };
            let mut found = nodes(asked.wait(deadline).await?.result);
            if is_early && is_first && is_first_walk {
                self.know_holders(&mut found, &report);
            }
            if !self.reveal(&found, deadline).await? {
                // What was asked early was asked in vain if the walk had to be made again.
                if is_early && !is_first_walk {
                    continue;
                }
                break;
            }
            let again = self.channel.start(&self.observing(options, false))?;
            report = self.observed(again, options, deadline).await?.0;
        }
        let revealed = begun.elapsed();
        let mut listening = Vec::new();
        if !self.is_blank {
            let has_shadows = head(&report, 6) != "0";
            let (found, is_missed) = self.listeners(heard, has_shadows, deadline).await?;
            listening = found;
            if is_missed {
                let again = self.channel.start(&self.observing(options, false))?;
                report = self.observed(again, options, deadline).await?.0;
            }
        }
        tracing::debug!(
            bytes = report.len(),
            ?walked,
            revealed = ?(revealed - walked),
            listened = ?(begun.elapsed() - revealed),
            "a document was looked at"
        );
        Ok(Told::new(report, listening.into_iter().collect()))
    }

    /// The script that makes a report, or says why it cannot: there is nothing to report, or our scripts are not
    /// there. `learns` says that sheets which it cannot read are to be told instead.
    fn observing(&self, options: &str, learns: bool) -> Evaluate {
        let since = self.last.as_deref().map_or("0", |last| head(last, 8));
        Evaluate {
            expression: format!(
                "{BLANK} || (globalThis.agbrowse \
                 ? agbrowse.observe({{learn: {learns}, since: {since}, {options}}}) : {{}})"
            ),
            context_id: Some(self.context),
            return_by_value: Some(true),
            silent: Some(true),
            ..Evaluate::default()
        }
    }

    /// How to look, for a script of ours that looks by the way.
    pub(crate) fn looking(&self, options: &str) -> String {
        let since = self.last.as_deref().map_or("0", |last| head(last, 8));
        format!("{{learn: true, since: {since}, {options}}}")
    }

    /// Takes in a report that came by the way. Nothing when it does not say all: there are frames in the document, or
    /// sheets that have to be read first.
    pub(crate) fn take_in(&mut self, text: &str) -> Option<Arc<str>> {
        if text.starts_with("?\n") {
            return None;
        }
        let report = match text.strip_prefix('~') {
            Some(changes) => {
                let last = self.last.take()?;
                patched(&last, changes)?
            }
            None => text.to_owned(),
        };
        let report = self.last.insert(Arc::from(report)).clone();
        head(&report, 7).is_empty().then_some(report)
    }

    /// The report, and whether it is what was asked for first. A sheet of another origin that the script cannot read is
    /// read for it.
    async fn observed(
        &mut self,
        reply: Reply<Evaluate>,
        options: &str,
        deadline: Deadline,
    ) -> Result<(Arc<str>, bool), Trouble> {
        let mut value = value_of(reply.wait(deadline).await?)?;
        for round in 0..3 {
            let is_first = round == 0;
            let mut learns = false;
            match value.get().as_bytes().first() {
                Some(b'"') => {
                    self.is_blank = false;
                    let text: Text = read(&value)?;
                    if let Some(unread) = text.strip_prefix("?\n") {
                        let hrefs: Vec<&str> = unread.lines().collect();
                        self.teach_sheets(&hrefs, deadline).await?;
                    } else if let Some(changes) = text.strip_prefix('~') {
                        let last = self.last.take();
                        if let Some(report) = last.and_then(|last| patched(&last, changes)) {
                            let report = self.last.insert(Arc::from(report)).clone();
                            return Ok((report, is_first));
                        }
                    } else {
                        let report = self.last.insert(Arc::from(text.into_string())).clone();
                        return Ok((report, is_first));
                    }
                }
                Some(b'[') => {
                    self.is_blank = true;
                    self.last = None;
                    let (url, origin): (String, String) = read(&value)?;
                    return Ok((Arc::from(nothing(&url, &origin)), is_first));
                }
                _ => {
                    self.bring(deadline).await?;
                    learns = true;
                }
            }
            let again = self.observing(options, learns);
            value = value_of(self.channel.call(again, deadline).await?)?;
        }
        Err(Trouble::Nothing)
    }

    /// Finds out early whose clicks scripts listen to: whoever looks asks again, and needs to be told only of new ones.
    pub(crate) async fn foresee(&mut self, deadline: Deadline) -> Result<(), Trouble> {
        let Some(document) = &self.document else { return Ok(()) };
        let heard = self.channel.start(&listeners_of(document))?;
        self.listeners(Some(heard), false, deadline).await?;
        Ok(())
    }

    /// Whether a shadow root has come since the document was looked at: that leaves no trace there.
    pub(crate) async fn has_late_roots(&self, deadline: Deadline) -> Result<bool, Trouble> {
        if !self.last.as_deref().is_some_and(may_host) {
            return Ok(false);
        }
        let found = self.channel.call(self.hosts(true, false), deadline).await?;
        self.reveal(&nodes(found.result), deadline).await
    }

    /// Takes the elements that hold frames from the end of what was found: the browser's own numbers of them.
    fn know_holders(&mut self, found: &mut Vec<DeepNode>, report: &str) {
        let holders: Vec<u32> = holders_in(report).map(|(number, _)| number).collect();
        let Some(begin) = found.len().checked_sub(holders.len()) else { return };
        let ids = found.split_off(begin).into_iter().map(|node| node.backend_node_id);
        self.numbers.extend(ids.zip(holders).filter_map(|(id, number)| Some((id?, number))));
    }

    /// The script that tells elements which may have a closed shadow root that we do not know. `is_first` says that
    /// nobody was asked about yet in this look, `with_holders` that those that hold frames are wanted after them.
    fn hosts(&self, is_first: bool, with_holders: bool) -> Evaluate {
        Evaluate {
            expression: format!("agbrowse.hosts({is_first}, {with_holders})"),
            context_id: Some(self.context),
            serialization_options: Some(deep("all")),
            silent: Some(true),
            ..Evaluate::default()
        }
    }

    async fn teach_sheets(&self, hrefs: &[&str], deadline: Deadline) -> Result<(), Trouble> {
        let tree = self.channel.call(GetResourceTree {}, deadline).await?;
        let mut failed = HashSet::new();
        let mut trees: Vec<_> = tree.frame_tree.into_iter().collect();
        while let Some(tree) = trees.pop() {
            for resource in tree.resources.unwrap_or_default() {
                if resource.failed == Some(true) || resource.canceled == Some(true) {
                    failed.extend(resource.url);
                }
            }
            trees.extend(tree.child_frames.unwrap_or_default());
        }
        let mut asked = Vec::new();
        for href in hrefs.iter().collect::<HashSet<_>>() {
            let content =
                GetResourceContent { frame_id: self.frame_id.clone(), url: (*href).to_owned() };
            let is_failed = failed.contains(*href);
            let reply = if is_failed { None } else { Some(self.channel.start(&content)?) };
            asked.push((*href, reply));
        }
        let mut script = String::from("(() => {");
        for (href, reply) in asked {
            let text = match reply {
                None => Some(String::new()),
                Some(reply) => match reply.wait(deadline).await {
                    Ok(content) if content.base64_encoded != Some(true) => {
                        content.content.map(Text::into_string)
                    }
                    _ => None,
                },
            };
            script.push_str(&format!("agbrowse.learnSheet({}, {});", json(href), json(&text)));
        }
        script.push_str("return true })()");
        self.ask::<bool>(&script, deadline).await?;
        Ok(())
    }

    /// Takes in the closed shadow roots of hosts that were asked about. Says whether there were any.
    async fn reveal(&self, hosts: &[DeepNode], deadline: Deadline) -> Result<bool, Trouble> {
        let root = |host: &DeepNode| host.shadow_root.as_ref()?.value.as_ref()?.backend_node_id;
        let roots: Vec<i64> = hosts.iter().filter_map(root).collect();
        if roots.is_empty() {
            return Ok(false);
        }
        let handles = self.handles(&roots, deadline).await?;
        self.call_with(
            &handles,
            "function(...roots) { agbrowse.reveal(...roots); return '' }",
            deadline,
        )
        .await?;
        Ok(true)
    }

    /// The numbers of the elements whose clicks a script of the page listens to, in a document with or without
    /// shadow trees, and whether there is one among them that the report does not tell of.
    ///
    /// The browser tells of the listeners of one world at a time, so it is asked about the page's own handle on
    /// each tree. It would tell of all worlds, trees and frames at once (`pierce`), but crashes on some pages then.
    async fn listeners(
        &mut self,
        heard: Option<Reply<GetEventListeners>>,
        has_shadows: bool,
        deadline: Deadline,
    ) -> Result<(Vec<u32>, bool), Trouble> {
        let mut shadows = Vec::new();
        if self.document.is_none() || has_shadows {
            let trees = self.backend_ids_of("agbrowse.trees()".into(), deadline).await?;
            let trees: Vec<i64> = trees.into_iter().flatten().take(MAX_NODES).collect();
            let known = usize::from(self.document.is_some());
            shadows = self.page_handles(trees.get(known..).unwrap_or_default(), deadline).await?;
            if self.document.is_none() && !shadows.is_empty() {
                self.document = Some(shadows[0].clone());
            }
        }
        let mut asked: Vec<_> = heard.into_iter().collect();
        for tree in &shadows {
            asked.push(self.channel.start(&listeners_of(tree))?);
        }
        let mut nodes = Vec::new();
        for reply in asked {
            let listeners = reply.wait(deadline).await?.listeners.unwrap_or_default();
            let heard = listeners.into_iter().filter(is_click);
            nodes.extend(heard.filter_map(|listener| listener.backend_node_id));
        }
        shadows.retain(|handle| self.document.as_ref() != Some(handle));
        for object_id in shadows {
            self.channel.post(&ReleaseObject { object_id });
        }
        nodes.sort_unstable();
        nodes.dedup();
        self.number_by("hears", &nodes, deadline).await
    }

    /// Our numbers of nodes that the browser knows by its own. Those that are gone are left out.
    pub(crate) async fn number(
        &mut self,
        nodes: &[i64],
        deadline: Deadline,
    ) -> Result<Vec<u32>, Trouble> {
        Ok(self.number_by("numbers", nodes, deadline).await?.0)
    }

    /// The same by a function of our world, which may have more to say.
    async fn number_by(
        &mut self,
        function: &str,
        nodes: &[i64],
        deadline: Deadline,
    ) -> Result<(Vec<u32>, bool), Trouble> {
        let mut has_more = false;
        let unknown: Vec<i64> = nodes
            .iter()
            .copied()
            .filter(|node| !self.numbers.contains_key(node))
            .take(MAX_NODES)
            .collect();
        if !unknown.is_empty() {
            let mut found = Vec::new();
            let mut handles = Vec::new();
            let asked: Vec<_> = unknown
                .iter()
                .map(|node| self.channel.start(&self.resolve(*node)))
                .collect::<Result<_, _>>()?;
            for (node, reply) in unknown.iter().zip(asked) {
                let handle = match reply.wait(deadline).await {
                    Ok(reply) => reply.object.and_then(|object| object.object_id),
                    Err(cdp::Error::Remote { .. }) => None,
                    Err(error) => return Err(error.into()),
                };
                if let Some(handle) = handle {
                    found.push(*node);
                    handles.push(handle);
                }
            }
            let ask = format!("function(...nodes) {{ return agbrowse.{function}(...nodes) }}");
            let given = self.call_with(&handles, &ask, deadline).await?;
            has_more = given.starts_with('!');
            let given = given.trim_start_matches("!,").split(',');
            let given = given.map(|number| number.parse().unwrap_or(0));
            self.numbers.extend(found.into_iter().zip(given));
        }
        let numbers = nodes.iter().filter_map(|node| self.numbers.get(node).copied()).collect();
        Ok((numbers, has_more))
    }

    /// Asks a function of ours about a node that the browser knows by its own number.
    ///
    /// # Errors
    /// [`Trouble::Nothing`] when the node is gone.
    pub(crate) async fn ask_about<T: DeserializeOwned>(
        &self,
        node: i64,
        function: &str,
        deadline: Deadline,
    ) -> Result<T, Trouble> {
        let resolved = self.channel.call(self.resolve(node), deadline).await;
        let handle = match resolved {
            Ok(reply) => reply.object.and_then(|object| object.object_id),
            Err(cdp::Error::Remote { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let handle = handle.ok_or(Trouble::Nothing)?;
        let ask = format!(
            "function(node) {{ return JSON.stringify(agbrowse.{function}(node) ?? null) }}"
        );
        let said = self.call_with(&[handle], &ask, deadline).await?;
        serde_json::from_str(&said).map_err(|error| Trouble::Script(error.to_string()))
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
    ) -> Result<(), Trouble> {
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
    ) -> Result<Vec<Option<i64>>, Trouble> {
        let mut all = Vec::with_capacity(elements.len());
        for piece in elements.chunks(500) {
            let script = format!("agbrowse.elements({})", json(&piece));
            all.extend(self.backend_ids_of(script, deadline).await?);
        }
        all.resize(elements.len(), None);
        Ok(all)
    }

    /// The browser's own numbers of the nodes that a script gives.
    async fn backend_ids_of(
        &self,
        script: String,
        deadline: Deadline,
    ) -> Result<Vec<Option<i64>>, Trouble> {
        let ask = Evaluate {
            expression: script,
            context_id: Some(self.context),
            serialization_options: Some(deep("none")),
            silent: Some(true),
            ..Evaluate::default()
        };
        let reply = self.channel.call(ask, deadline).await?;
        Ok(nodes(reply.result).into_iter().map(|node| node.backend_node_id).collect())
    }

    /// Handles on nodes as the page's own scripts have them. Those that are gone are left out.
    pub(crate) async fn page_handles(
        &self,
        nodes: &[i64],
        deadline: Deadline,
    ) -> Result<Vec<String>, Trouble> {
        let asked: Vec<_> = nodes
            .iter()
            .map(|node| {
                let resolve =
                    ResolveNode { backend_node_id: Some(*node), ..ResolveNode::default() };
                self.channel.start(&resolve)
            })
            .collect::<Result<_, _>>()?;
        let mut handles = Vec::new();
        for reply in asked {
            match reply.wait(deadline).await {
                Ok(reply) => handles.extend(reply.object.and_then(|object| object.object_id)),
                Err(cdp::Error::Remote { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(handles)
    }

    fn resolve(&self, node: i64) -> ResolveNode {
        ResolveNode {
            backend_node_id: Some(node),
            object_group: Some(GROUP.into()),
            execution_context_id: Some(self.context),
        }
    }

    async fn handles(&self, nodes: &[i64], deadline: Deadline) -> Result<Vec<String>, Trouble> {
        let asked: Vec<_> = nodes
            .iter()
            .map(|node| self.channel.start(&self.resolve(*node)))
            .collect::<Result<_, _>>()?;
        let mut handles = Vec::new();
        for reply in asked {
            let object = reply.wait(deadline).await?.object;
            handles.extend(object.and_then(|object| object.object_id));
        }
        Ok(handles)
    }

    async fn call_with(
        &self,
        handles: &[String],
        function: &str,
        deadline: Deadline,
    ) -> Result<String, Trouble> {
        if handles.is_empty() {
            return Ok(String::new());
        }
        let arguments =
            handles.iter().map(|handle| CallArgument { object_id: Some(handle.clone()) }).collect();
        let call = CallFunctionOn {
            function_declaration: function.to_owned(),
            arguments: Some(arguments),
            execution_context_id: Some(self.context),
            return_by_value: Some(true),
            silent: Some(true),
            ..CallFunctionOn::default()
        };
        let reply = self.channel.call(call, deadline).await?;
        self.channel
            .post(&cdp::protocol::runtime::ReleaseObjectGroup { object_group: GROUP.into() });
        match reply.result.and_then(|result| result.value) {
            Some(value) => Ok(read::<Text>(&value)?.into_string()),
            None => Ok(String::new()),
        }
    }

    /// Whether something has happened in the document since it was last observed, or the document is gone.
    pub(crate) async fn is_spoiled(&self, deadline: Deadline) -> bool {
        let ask = match self.is_blank {
            true => format!("!{BLANK}"),
            false => "agbrowse.isSpoiled()".into(),
        };
        match self.evaluate(ask, deadline).await {
            Ok(value) => value.get() != "false",
            Err(_) => true,
        }
    }

    /// Answers when something has happened in the document since it was last observed, or the document is gone.
    pub(crate) fn dirtied(&self, deadline: Deadline) -> impl Future<Output = bool> + use<> {
        let evaluate = Evaluate {
            expression: match self.is_blank {
                true => format!("!{BLANK} || {BLANK_DIRTIED}"),
                false => "agbrowse.dirtied()".into(),
            },
            context_id: Some(self.context),
            return_by_value: Some(true),
            await_promise: Some(true),
            silent: Some(true),
            ..Evaluate::default()
        };
        let channel = self.channel.clone();
        async move { !matches!(channel.call(evaluate, deadline).await, Err(cdp::Error::Timeout { .. })) }
    }
}

/// Why a world did not answer.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The way there: the document or its process is gone, or does not answer.
    Wire(cdp::Error),
    /// Our own script failed.
    Script(String),
    /// It gave nothing.
    Nothing,
}

impl Trouble {
    /// Whether the document was replaced while we looked at it.
    pub(crate) fn is_replaced(&self) -> bool {
        matches!(self, Self::Wire(cdp::Error::Remote { .. }) | Self::Nothing)
    }

    /// As an error, knowing the tab it was about.
    pub(crate) fn explain(self, tab: &crate::tab::Tab) -> Error {
        match self {
            // Its context is gone, and with it the document.
            Self::Wire(cdp::Error::Remote { .. }) => Self::Nothing.explain(tab),
            Self::Wire(error) => tab.explain(error),
            Self::Script(message) => Error::new(Code::SnapshotUnavailable)
                .message("the page could not be read")
                .evidence("thrown", message),
            Self::Nothing => Error::new(Code::SnapshotUnavailable)
                .hint(RetryHint::Retry)
                .message("the page was replaced while it was read"),
        }
    }
}

impl From<cdp::Error> for Trouble {
    fn from(error: cdp::Error) -> Self {
        Self::Wire(error)
    }
}

fn read<T: DeserializeOwned>(value: &RawValue) -> Result<T, Trouble> {
    serde_json::from_str(value.get()).map_err(|error| Trouble::Script(error.to_string()))
}

/// As a script writes it.
pub(crate) fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".into())
}

fn thrown_by(thrown: ExceptionDetails) -> Trouble {
    let what = thrown.exception.and_then(|thrown| thrown.description).unwrap_or_default();
    Trouble::Script(what.into_string())
}

/// What a script gave, or what it threw.
fn value_of(reply: EvaluateReply) -> Result<Box<RawValue>, Trouble> {
    if let Some(thrown) = reply.exception_details {
        return Err(thrown_by(thrown));
    }
    let result = reply.result.ok_or(Trouble::Nothing)?;
    // The decoder takes a null for an absent value.
    let is_null = result.subtype.as_deref() == Some("null");
    let null = || is_null.then(|| RawValue::NULL.to_owned());
    result.value.or_else(null).ok_or(Trouble::Nothing)
}

/// A field of the line about the document.
fn head(report: &str, field: usize) -> &str {
    report.lines().next().and_then(|line| line.split('\t').nth(field)).unwrap_or("0")
}

/// The elements of a report that hold frames, and the addresses of those in which there is nothing.
fn holders_in(report: &str) -> impl Iterator<Item = (u32, Option<&'static str>)> {
    head(report, 7).split(',').filter_map(|word| {
        let number = word.trim_end_matches(['-', '=']);
        let url = match &word[number.len()..] {
            "-" => Some("about:blank"),
            "=" => Some("about:srcdoc"),
            _ => None,
        };
        Some((number.parse().ok()?, url))
    })
}

/// Whether a report tells of elements that may have a shadow root of which nobody was told.
fn may_host(report: &str) -> bool {
    head(report, 4) != "0"
}

/// A report, put together from the one before and what is different: how many lines after the first and how many
/// at the end are the same, the first line, and the lines in between.
fn patched(last: &str, changes: &str) -> Option<String> {
    let (counts, rest) = changes.split_once('\n')?;
    let (same, tail) = counts.split_once('\t')?;
    let (same, tail): (usize, usize) = (same.parse().ok()?, tail.parse().ok()?);
    let (head, between) = match rest.split_once('\n') {
        Some((head, between)) => (head, Some(between)),
        None => (rest, None),
    };
    let (_, body) = last.split_once('\n')?;
    let ends = || body.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at);
    let before = |count| &body[..ends().nth(count).unwrap_or(body.len())];
    let after = |count| ends().nth_back(count).map_or(body, |at| &body[at + 1..]);
    let begin = same.checked_sub(1).map(before);
    let end = tail.checked_sub(1).map(after);
    let parts: Vec<&str> = [Some(head), begin, between, end].into_iter().flatten().collect();
    Some(parts.join("\n"))
}

fn listeners_of(tree: &str) -> GetEventListeners {
    GetEventListeners { object_id: tree.to_owned(), depth: Some(-1), pierce: None }
}

fn is_click(listener: &EventListener) -> bool {
    listener.r#type.as_deref().is_some_and(|kind| CLICKS.contains(&kind))
}

fn deep(shadow: &str) -> SerializationOptions {
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
struct DeepNode {
    backend_node_id: Option<i64>,
    shadow_root: Option<DeepItem>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct DeepItem {
    value: Option<Box<DeepNode>>,
}

fn nodes(result: Option<RemoteObject>) -> Vec<DeepNode> {
    let value = result.and_then(|result| result.deep_serialized_value?.value);
    let items: Vec<DeepItem> =
        value.and_then(|value| serde_json::from_str(value.get()).ok()).unwrap_or_default();
    items.into_iter().map(|item| item.value.map(|node| *node).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::patched;

    #[test]
    fn a_report_is_put_together_from_the_one_before() {
        let last = "head\na\nb\nc\n";
        for (changes, expected) in [
            ("3\t1\nnew", "new\na\nb\nc\n"),
            ("1\t2\nnew\nB", "new\na\nB\nc\n"),
            ("0\t3\nnew\nA", "new\nA\nb\nc\n"),
            ("1\t1\nnew", "new\na\n"),
            ("3\t1\nnew\nd\ne", "new\na\nb\nc\nd\ne\n"),
            ("0\t0\nnew\nx\n", "new\nx\n"),
            ("0\t4\nnew\nz", "new\nz\na\nb\nc\n"),
            ("4\t0\nnew", "new\na\nb\nc\n"),
        ] {
            assert_eq!(patched(last, changes).as_deref(), Some(expected), "{changes:?}");
        }
        assert_eq!(patched(last, "1"), None);
        assert_eq!(patched(last, "x\t1\nnew"), None);
        assert_eq!(patched("", "0\t0\nnew"), None);
    }
}
