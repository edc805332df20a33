//! Looking at one document: its report, the sheets and shadow roots that our scripts cannot read, and who listens to
//! clicks.

use super::chunks::ReportChunks;
use super::nodes::{DeepNode, GROUP, deep};
use super::report::{apply_patch, head, holders_in, may_host, nothing};
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

/// How deep closed shadow roots in closed shadow roots are looked into.
const ROOTS: usize = 16;

/// How many trees are asked about one by one at most: each costs a call.
const MAX_TREES: usize = 3000;

/// Events that make an element something to click on.
const CLICKS: &[&str] =
    &["click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick", "touchstart"];

impl World {
    /// What the document tells, with what can only be asked from outside.
    pub(crate) async fn look(
        &mut self,
        options: &str,
        deadline: Deadline,
    ) -> Result<FrameReport, ObserveError> {
        let begun = Instant::now();
        // Asked at once: most of the time goes by on the way.
        let is_first = self.last.is_none() && !self.is_blank;
        let is_hosting = is_first || self.last.as_deref().is_some_and(may_host);
        // A first walk can take so long that the browser draws next, whatever else it is asked, and to lay out a large page
        // takes it seconds. So who listens is asked before it, and once more later. Only where there may be closed shadow
        // roots or frames has something to be asked after it.
        let heard_before = if is_first { self.ask_listeners()? } else { None };
        let is_heard_before = heard_before.is_some();
        let mut pieces = ReportChunks::over(&self.channel);
        let report = self.channel.start(&self.observing(options, Some(&pieces), true))?;
        let heard = if is_heard_before { heard_before } else { self.ask_listeners()? };
        let mut hosts =
            if is_hosting { Some(self.channel.start(&self.hosts(true, is_first))?) } else { None };
        let (mut report, is_first_walk) =
            self.observed(report, options, &mut pieces, deadline).await?;
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
            let mut found = self.nodes(asked.wait(deadline).await?.result);
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
            let again = self.channel.start(&self.observing(options, Some(&pieces), false))?;
            report = self.observed(again, options, &mut pieces, deadline).await?.0;
        }
        let revealed = begun.elapsed();
        let mut listening = Vec::new();
        if !self.is_blank {
            let has_shadows = head(&report, 6) != "0";
            let nodes = self.listeners(heard, has_shadows, deadline).await?;
            let (found, is_missed) = self.register_click_listeners(&nodes, deadline).await?;
            self.heard_before = is_heard_before.then_some(nodes);
            listening = found;
            if is_missed {
                let again = self.channel.start(&self.observing(options, Some(&pieces), false))?;
                report = self.observed(again, options, &mut pieces, deadline).await?.0;
            }
        }
        tracing::debug!(
            bytes = report.len(),
            pieces = pieces.total,
            ?walked,
            revealed = ?(revealed - walked),
            listened = ?(begun.elapsed() - revealed),
            "a document was looked at"
        );
        Ok(FrameReport::new(report, listening.into_iter().collect()))
    }

    /// The script that makes a report, or says why it cannot: there is nothing to report, or our scripts are not
    /// there. `learns` says that sheets which it cannot read are to be told instead. A long report comes in pieces, if
    /// somebody takes them.
    fn observing(&self, options: &str, pieces: Option<&ReportChunks>, learns: bool) -> Evaluate {
        let since = self.last.as_deref().map_or("0", |last| head(last, 8));
        let chunks = pieces.map(ReportChunks::option).unwrap_or_default();
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

    /// How to look, for a script of ours that looks by the way.
    pub(crate) fn looking(&self, options: &str) -> String {
        let since = self.last.as_deref().map_or("0", |last| head(last, 8));
        format!("{{reportUnreadable: true, since: {since}, {options}}}")
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
                apply_patch(&last, changes)?
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
        pieces: &mut ReportChunks,
        deadline: Deadline,
    ) -> Result<(Arc<str>, bool), ObserveError> {
        let mut value = await_with_chunks(reply, pieces, deadline).await?;
        for round in 0..3 {
            let is_first = round == 0;
            let (mut learns, mut comes_in_pieces) = (false, true);
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
                        let report = pieces.whole(end).await;
                        comes_in_pieces = report.is_some();
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
                    return Ok((Arc::from(nothing(&url, &origin)), is_first));
                }
                _ => {
                    self.bring(deadline).await?;
                    learns = true;
                }
            }
            let again = self.observing(options, comes_in_pieces.then_some(&*pieces), learns);
            value = await_with_chunks(self.channel.start(&again)?, pieces, deadline).await?;
        }
        Err(ObserveError::Nothing)
    }

    /// Finds out early whose clicks scripts listen to: whoever looks asks again, and needs to be told only of new ones.
    pub(crate) async fn prefetch_listeners(
        &mut self,
        deadline: Deadline,
    ) -> Result<(), ObserveError> {
        let Some(heard) = self.ask_listeners()? else { return Ok(()) };
        let nodes = self.listeners(Some(heard), false, deadline).await?;
        self.register_click_listeners(&nodes, deadline).await?;
        Ok(())
    }

    /// Answers whether somebody listens now of whom it was not known before the document was walked. Who came in between is
    /// in the report already, so that no change tells of it.
    pub(crate) fn listeners_added_since(
        &mut self,
        deadline: Deadline,
    ) -> impl Future<Output = bool> + use<> {
        let before = self.heard_before.take();
        let asked = before.and_then(|before| Some((before, self.ask_listeners().ok()??)));
        async move {
            let Some((before, asked)) = asked else { return false };
            let Ok(reply) = asked.wait(deadline).await else { return false };
            clicked(reply).any(|node| before.binary_search(&node).is_err())
        }
    }

    /// Asks who listens in the document itself, if there is a way to ask.
    fn ask_listeners(&self) -> Result<Option<Reply<GetEventListeners>>, cdp::Error> {
        self.document.as_deref().map(|it| self.channel.start(&listeners_of(it))).transpose()
    }

    /// Whether a shadow root has come since the document was looked at: that leaves no trace there.
    pub(crate) async fn has_late_roots(&self, deadline: Deadline) -> Result<bool, ObserveError> {
        if !self.last.as_deref().is_some_and(may_host) {
            return Ok(false);
        }
        let found = self.channel.call(self.hosts(true, false), deadline).await?;
        self.reveal(&self.nodes(found.result), deadline).await
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

    /// Takes in the closed shadow roots of hosts that were asked about. Says whether there were any.
    async fn reveal(&self, hosts: &[DeepNode], deadline: Deadline) -> Result<bool, ObserveError> {
        let root = |host: &DeepNode| host.shadow_root.as_ref()?.value.as_ref()?.backend_node_id;
        let roots: Vec<i64> = hosts.iter().filter_map(root).collect();
        if roots.is_empty() {
            return Ok(false);
        }
        let reveal = "function(...roots) { agbrowse.attachClosedRoots(...roots); return '' }";
        let (found, _) = self.call_with(&roots, reveal, deadline).await?;
        Ok(!found.is_empty())
    }

    /// The nodes to whose clicks a script of the page listens, in order, in a document with or without shadow trees.
    ///
    /// The browser tells of the listeners of one world at a time, so it is asked about the page's own handle on
    /// each tree. It would tell of all worlds, trees and frames at once (`pierce`), but crashes on some pages then.
    async fn listeners(
        &mut self,
        heard: Option<Reply<GetEventListeners>>,
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
        let mut asked: Vec<_> = heard.into_iter().collect();
        for tree in &shadows {
            asked.push(self.channel.start(&listeners_of(tree))?);
        }
        let mut nodes = Vec::new();
        for reply in asked {
            nodes.extend(clicked(reply.wait(deadline).await?));
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

/// What a script gives, and what it hands over before.
async fn await_with_chunks(
    reply: Reply<Evaluate>,
    pieces: &mut ReportChunks,
    deadline: Deadline,
) -> Result<Box<RawValue>, ObserveError> {
    let mut answer = pin!(reply.wait(deadline));
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return value_of(answer?),
            true = pieces.take_one() => {}
            else => return Err(ObserveError::Nothing),
        }
    }
}

fn listeners_of(tree: &str) -> GetEventListeners {
    GetEventListeners { object_id: tree.to_owned(), depth: Some(-1), pierce: None }
}

/// The nodes to whose clicks somebody listens.
fn clicked(reply: GetEventListenersReply) -> impl Iterator<Item = i64> {
    let is_click = |listener: &EventListener| {
        listener.r#type.as_deref().is_some_and(|kind| CLICKS.contains(&kind))
    };
    let listeners = reply.listeners.unwrap_or_default().into_iter();
    listeners.filter(is_click).filter_map(|listener| listener.backend_node_id)
}
