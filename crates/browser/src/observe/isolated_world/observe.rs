//! Observes one document: its report, the stylesheets and closed shadow roots that the observer cannot read, and the
//! click listeners.

use super::chunks::ReportChunks;
use super::nodes::{DeepNode, GROUP, deep};
use super::report::{apply_patch, empty_report, head, holders_in, may_host};
use super::{BLANK, FrameReport, ObserveError, World, json, read, value_of};
use cdp::protocol::dom_debugger::{EventListener, GetEventListeners, GetEventListenersReply};
use cdp::protocol::page::{GetResourceContent, GetResourceTree};
use cdp::protocol::runtime::{Evaluate, ReleaseObject};
use cdp::{Deadline, LossyString, Reply};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

/// Nesting depth of closed shadow roots.
const MAX_ROOT_DEPTH: usize = 16;

/// Shadow trees queried one by one at most: each costs a call.
const MAX_TREES: usize = 3000;

/// Events that make an element clickable.
const CLICKS: &[&str] =
    &["click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick", "touchstart"];

impl World {
    /// Observes the document: the observer's report, completed with what only CDP can tell.
    pub(crate) async fn observe(
        &mut self,
        options: &str,
        deadline: Deadline,
    ) -> Result<FrameReport, ObserveError> {
        let begun = Instant::now();
        // Sent at once: most of the time is latency.
        let is_first = self.last.is_none() && !self.is_blank;
        let is_hosting = is_first || self.last.as_deref().is_some_and(may_host);
        // A first walk can take so long that the browser renders next, whatever the order of calls, and the layout of
        // a large page takes seconds. So the listeners are queried before it, and once more later. Only with possible
        // closed shadow roots or frames a query has to follow it.
        let listeners_before = if is_first { self.ask_listeners()? } else { None };
        let is_asked_before = listeners_before.is_some();
        let mut chunks = ReportChunks::new(&self.channel);
        let report = self.channel.start(&self.report_script(options, Some(&chunks), true))?;
        let listeners_reply =
            if is_asked_before { listeners_before } else { self.ask_listeners()? };
        let mut hosts =
            if is_hosting { Some(self.channel.start(&self.hosts(true, is_first))?) } else { None };
        let (mut report, is_first_walk) =
            self.await_report(report, options, &mut chunks, deadline).await?;
        let walked = begun.elapsed();
        // A closed shadow root can contain others.
        for round in 0..MAX_ROOT_DEPTH {
            let early = hosts.take();
            let is_early = early.is_some();
            let asked = match early {
                Some(asked) if may_host(&report) || holders_in(&report).next().is_some() => asked,
                None if may_host(&report) => self.channel.start(&self.hosts(round == 0, false))?,
                _ => break,
            };
            let mut found = self.nodes(asked.wait(deadline).await?.result);
            if is_early && is_first && is_first_walk {
                self.split_owners(&mut found, &report);
            }
            if !self.attach_closed_roots(&found, deadline).await? {
                // The early query is void if the walk had to be repeated.
                if is_early && !is_first_walk {
                    continue;
                }
                break;
            }
            let again = self.channel.start(&self.report_script(options, Some(&chunks), false))?;
            report = self.await_report(again, options, &mut chunks, deadline).await?.0;
        }
        let attached = begun.elapsed();
        let mut listening = Vec::new();
        if !self.is_blank {
            let has_shadows = head(&report, 6) != "0";
            let nodes = self.listeners(listeners_reply, has_shadows, deadline).await?;
            let (found, is_outdated) = self.register_click_listeners(&nodes, deadline).await?;
            self.listeners_before = is_asked_before.then_some(nodes);
            listening = found;
            if is_outdated {
                let again =
                    self.channel.start(&self.report_script(options, Some(&chunks), false))?;
                report = self.await_report(again, options, &mut chunks, deadline).await?.0;
            }
        }
        tracing::debug!(
            bytes = report.len(),
            chunks = chunks.total,
            ?walked,
            attached = ?(attached - walked),
            listened = ?(begun.elapsed() - attached),
            "document observed"
        );
        Ok(FrameReport::new(report, listening.into_iter().collect()))
    }

    /// The script that makes a report, or tells why it cannot: the document is empty, or the observer is missing.
    /// `learns`: unreadable stylesheets are reported instead. With `chunks`, a long report comes in chunks.
    fn report_script(
        &self,
        options: &str,
        chunks: Option<&ReportChunks>,
        learns: bool,
    ) -> Evaluate {
        let since = self.last.as_deref().map_or("0", |last| head(last, 8));
        let chunks = chunks.map(ReportChunks::option).unwrap_or_default();
        Evaluate {
            expression: format!(
                "{BLANK} || (globalThis.agbrowse \
                 ? agbrowse.observe({{reportUnreadable: {learns}, since: {since}, {options}, {chunks}}}) : {{}})"
            ),
            context_id: Some(self.context),
            return_by_value: Some(true),
            silent: Some(true),
            ..Evaluate::default()
        }
    }

    /// Options for an observer function that reports inline.
    pub(crate) fn inline_options(&self, options: &str) -> String {
        let since = self.last.as_deref().map_or("0", |last| head(last, 8));
        format!("{{reportUnreadable: true, since: {since}, {options}}}")
    }

    /// Stores an inline report. `None` when it is incomplete: the document has frames, or unread stylesheets.
    pub(crate) fn adopt_inline_report(&mut self, text: &str) -> Option<Arc<str>> {
        if text.starts_with("?\n") {
            return None;
        }
        let report = match text.strip_prefix('~') {
            Some(changes) => {
                let last = self.last.take()?;
                apply_patch(&last, changes)?
            }
            None => text.to_owned(),
        };
        let report = self.last.insert(Arc::from(report)).clone();
        head(&report, 7).is_empty().then_some(report)
    }

    /// Awaits the report; the flag is true if it answers the first request. Cross-origin stylesheets that the
    /// observer cannot read are supplied.
    async fn await_report(
        &mut self,
        reply: Reply<Evaluate>,
        options: &str,
        chunks: &mut ReportChunks,
        deadline: Deadline,
    ) -> Result<(Arc<str>, bool), ObserveError> {
        let mut value = await_with_chunks(reply, chunks, deadline).await?;
        for round in 0..3 {
            let is_first = round == 0;
            let (mut learns, mut comes_in_chunks) = (false, true);
            match value.get().as_bytes().first() {
                Some(b'"') => {
                    self.is_blank = false;
                    let text: LossyString = read(&value)?;
                    let report = if let Some(unread) = text.strip_prefix("?\n") {
                        let hrefs: Vec<&str> = unread.lines().collect();
                        self.supply_stylesheets(&hrefs, deadline).await?;
                        None
                    } else if let Some(end) = text.strip_prefix('^') {
                        self.last = None;
                        let report = chunks.finish(end).await;
                        comes_in_chunks = report.is_some();
                        report
                    } else if let Some(changes) = text.strip_prefix('~') {
                        self.last.take().and_then(|last| apply_patch(&last, changes))
                    } else {
                        Some(text.into_string())
                    };
                    if let Some(report) = report {
                        let report = self.last.insert(Arc::from(report)).clone();
                        return Ok((report, is_first));
                    }
                }
                Some(b'[') => {
                    self.is_blank = true;
                    self.last = None;
                    let (url, origin): (String, String) = read(&value)?;
                    return Ok((Arc::from(empty_report(&url, &origin)), is_first));
                }
                _ => {
                    self.install_observer(deadline).await?;
                    learns = true;
                }
            }
            let again = self.report_script(options, comes_in_chunks.then_some(&*chunks), learns);
            value = await_with_chunks(self.channel.start(&again)?, chunks, deadline).await?;
        }
        Err(ObserveError::Nothing)
    }

    /// Registers click listeners early: an observation queries them again and then registers only new ones.
    pub(crate) async fn prefetch_listeners(
        &mut self,
        deadline: Deadline,
    ) -> Result<(), ObserveError> {
        let Some(listeners_reply) = self.ask_listeners()? else { return Ok(()) };
        let nodes = self.listeners(Some(listeners_reply), false, deadline).await?;
        self.register_click_listeners(&nodes, deadline).await?;
        Ok(())
    }

    /// Resolves to true if a click listener exists now that was unknown before the walk. One added in between is in
    /// the report already, so no later change would reveal it.
    pub(crate) fn listeners_added_since(
        &mut self,
        deadline: Deadline,
    ) -> impl Future<Output = bool> + use<> {
        let before = self.listeners_before.take();
        let asked = before.and_then(|before| Some((before, self.ask_listeners().ok()??)));
        async move {
            let Some((before, asked)) = asked else { return false };
            let Ok(reply) = asked.wait(deadline).await else { return false };
            click_targets(reply).any(|node| before.binary_search(&node).is_err())
        }
    }

    /// Requests the listeners of the document, if its remote object is known.
    fn ask_listeners(&self) -> Result<Option<Reply<GetEventListeners>>, cdp::Error> {
        self.document.as_deref().map(|it| self.channel.start(&listeners_of(it))).transpose()
    }

    /// True if a shadow root was attached since the observation: that leaves no trace in the document.
    pub(crate) async fn has_late_roots(&self, deadline: Deadline) -> Result<bool, ObserveError> {
        if !self.last.as_deref().is_some_and(may_host) {
            return Ok(false);
        }
        let found = self.channel.call(self.hosts(true, false), deadline).await?;
        self.attach_closed_roots(&self.nodes(found.result), deadline).await
    }

    /// Splits the frame owner elements off the result and stores their backend node ids.
    fn split_owners(&mut self, found: &mut Vec<DeepNode>, report: &str) {
        let holders: Vec<u32> = holders_in(report).map(|(number, _)| number).collect();
        let Some(begin) = found.len().checked_sub(holders.len()) else { return };
        let ids = found.split_off(begin).into_iter().map(|node| node.backend_node_id);
        self.ids.extend(ids.zip(holders).filter_map(|(id, number)| Some((id?, number))));
    }

    /// The script that returns possible hosts of unknown closed shadow roots. `is_first`: no host was queried in this
    /// observation yet. `with_holders`: frame owner elements follow.
    fn hosts(&self, is_first: bool, with_holders: bool) -> Evaluate {
        Evaluate {
            expression: format!("agbrowse.nextShadowHosts({is_first}, {with_holders})"),
            context_id: Some(self.context),
            serialization_options: Some(deep("all")),
            object_group: Some(GROUP.into()),
            silent: Some(true),
            ..Evaluate::default()
        }
    }

    async fn supply_stylesheets(
        &self,
        hrefs: &[&str],
        deadline: Deadline,
    ) -> Result<(), ObserveError> {
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
                        content.content.map(LossyString::into_string)
                    }
                    _ => None,
                },
            };
            script.push_str(&format!(
                "agbrowse.supplyStylesheet({}, {});",
                json(href),
                json(&text)
            ));
        }
        script.push_str("return true })()");
        self.ask::<bool>(&script, deadline).await?;
        Ok(())
    }

    /// Attaches the closed shadow roots of hosts to the observer. Returns true if there were any.
    async fn attach_closed_roots(
        &self,
        hosts: &[DeepNode],
        deadline: Deadline,
    ) -> Result<bool, ObserveError> {
        let root = |host: &DeepNode| host.shadow_root.as_ref()?.value.as_ref()?.backend_node_id;
        let roots: Vec<i64> = hosts.iter().filter_map(root).collect();
        if roots.is_empty() {
            return Ok(false);
        }
        let attach = "function(...roots) { agbrowse.attachClosedRoots(...roots); return '' }";
        let (found, _) = self.call_with(&roots, attach, deadline).await?;
        Ok(!found.is_empty())
    }

    /// The nodes with click listeners of the page, sorted, in a document with or without shadow trees.
    ///
    /// The browser lists the listeners of one world at a time, so the main world's object of each tree is queried.
    /// `pierce` would list all worlds, trees and frames at once, but crashes on some pages.
    async fn listeners(
        &mut self,
        listeners_reply: Option<Reply<GetEventListeners>>,
        has_shadows: bool,
        deadline: Deadline,
    ) -> Result<Vec<i64>, ObserveError> {
        let mut shadows = Vec::new();
        if self.document.is_none() || has_shadows {
            let trees = self.backend_ids_of("agbrowse.trees()".into(), deadline).await?;
            let trees: Vec<i64> = trees.into_iter().flatten().take(MAX_TREES).collect();
            let known = usize::from(self.document.is_some());
            shadows = self.page_handles(trees.get(known..).unwrap_or_default(), deadline).await?;
            if self.document.is_none() && !shadows.is_empty() {
                self.document = Some(shadows[0].clone());
            }
        }
        let mut asked: Vec<_> = listeners_reply.into_iter().collect();
        for tree in &shadows {
            asked.push(self.channel.start(&listeners_of(tree))?);
        }
        let mut nodes = Vec::new();
        for reply in asked {
            nodes.extend(click_targets(reply.wait(deadline).await?));
        }
        shadows.retain(|handle| self.document.as_ref() != Some(handle));
        for object_id in shadows {
            self.channel.post(&ReleaseObject { object_id });
        }
        nodes.sort_unstable();
        nodes.dedup();
        Ok(nodes)
    }
}

/// Awaits a script's result while receiving chunks.
async fn await_with_chunks(
    reply: Reply<Evaluate>,
    chunks: &mut ReportChunks,
    deadline: Deadline,
) -> Result<Box<RawValue>, ObserveError> {
    let mut answer = pin!(reply.wait(deadline));
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return value_of(answer?),
            true = chunks.receive() => {}
            else => return Err(ObserveError::Nothing),
        }
    }
}

fn listeners_of(tree: &str) -> GetEventListeners {
    GetEventListeners { object_id: tree.to_owned(), depth: Some(-1), pierce: None }
}

/// The nodes with click listeners.
fn click_targets(reply: GetEventListenersReply) -> impl Iterator<Item = i64> {
    let is_click = |listener: &EventListener| {
        listener.r#type.as_deref().is_some_and(|kind| CLICKS.contains(&kind))
    };
    let listeners = reply.listeners.unwrap_or_default().into_iter();
    listeners.filter(is_click).filter_map(|listener| listener.backend_node_id)
}
