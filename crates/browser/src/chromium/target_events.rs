//! The event loop that updates the target table and tab states: every event of the browser, in order, by one task.

use super::activity::CHOOSER;
use super::local_files::LocalFiles;
use super::proxy_auth::ProxyAuth;
use super::{RunningBrowser, SessionEntry};
use crate::events::BrowserEvent;
use crate::launch::{Options, VIEWPORT};
use crate::observe;
use crate::tab::{Dialog, FileChooser, Phase, Tab, TabEnd, TabId, TabState};
use cdp::protocol::page::{
    self, FileChooserOpened, FrameDetached, FrameNavigated, JavascriptDialogClosed,
    JavascriptDialogOpening, LifecycleEvent, NavigatedWithinDocument,
};
use cdp::protocol::target::{AttachToTarget, TargetInfo};
use cdp::protocol::{CdpEvent, dom_storage, emulation, inspector, network, runtime};
use cdp::{AutoAttach, Channel, Deadline, Delivery, Event, Events, LossyString, TargetChange};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

/// CDP events that update the target table and tab states.
pub(super) const EVENTS: &[&str] = &[
    "Target.attachedToTarget",
    "Target.detachedFromTarget",
    "Target.targetCreated",
    "Target.targetInfoChanged",
    "Target.targetDestroyed",
    "Target.targetCrashed",
    FrameNavigated::NAME,
    FrameDetached::NAME,
    NavigatedWithinDocument::NAME,
    LifecycleEvent::NAME,
    JavascriptDialogOpening::NAME,
    JavascriptDialogClosed::NAME,
    FileChooserOpened::NAME,
    inspector::TargetCrashed::NAME,
    inspector::TargetReloadedAfterCrash::NAME,
];

/// Capacity of the event queue; only a very busy page could fill it.
pub(super) const QUEUE: usize = 8192;

/// Timeout of a new tab's preparation.
const READY: Duration = Duration::from_secs(10);

/// Timeout of a tab's state query.
const ANSWER: Duration = Duration::from_secs(2);

/// Messages of file choosers.
const ASKS_FOR_A_FILE: &str = "the page asks for a file; give it with `agbrowse upload --chooser FILE`, \
     or cancel with `agbrowse upload --chooser`";
const ASKS_FOR_FILES: &str = "the page asks for files; give them with `agbrowse upload --chooser FILE…`, \
     or cancel with `agbrowse upload --chooser`";
const UNANSWERABLE: &str = "the page asked for files by `showOpenFilePicker` or the like, \
     which takes none from here, and got none";

/// Updates the target table until the browser is gone.
pub(super) async fn run_event_loop<P: Fn(&Channel, &TargetInfo, Option<&Arc<str>>)>(
    mut events: Events,
    attach: AutoAttach<P>,
    live: Weak<RunningBrowser>,
) {
    while let Some(delivery) = events.next().await {
        let Some(live) = live.upgrade() else { return };
        match delivery {
            Delivery::Event(event) => match attach.absorb(&event) {
                Some(change) => live.apply(change),
                None => _ = live.page_event(&event),
            },
            Delivery::Lagged(lost) => {
                tracing::warn!(lost, "events lost, querying again");
                live.resync(&attach).await;
            }
        }
    }
    // Wake everybody who waits for a tab: it will not come.
    if let Some(live) = live.upgrade() {
        for row in live.tabs() {
            row.tab.state.send_modify(|state| state.end = Some(TabEnd::Closed));
        }
        live.changed.send_modify(|count| *count += 1);
    }
}

/// Prepares a new target before its first script runs.
pub(super) fn preparation(
    options: &Options,
    is_headless: bool,
    proxies: Arc<ProxyAuth>,
    local_files: Arc<LocalFiles>,
) -> impl Fn(&Channel, &TargetInfo, Option<&Arc<str>>) + Send + 'static {
    // The window size includes the window frame, even headless; the override gives the page the requested viewport.
    let view = is_headless.then(|| options.viewport.unwrap_or(VIEWPORT));
    move |channel, info, parent| {
        let kind = info.r#type.as_deref();
        let is_paused = proxies.prepare(channel, info);
        local_files.prepare(channel, info, parent, is_paused);
        if matches!(kind, Some("page" | "iframe")) {
            channel.post(&page::Enable {});
            channel.post(&page::SetLifecycleEventsEnabled { enabled: true });
            channel.post(&page::AddScriptToEvaluateOnNewDocument {
                source: match is_headless {
                    true => format!("globalThis.isHeadlessBrowser = true;\n{}", observe::SOURCE),
                    false => observe::SOURCE.into(),
                },
                world_name: Some(observe::WORLD.into()),
                ..page::AddScriptToEvaluateOnNewDocument::default()
            });
            // Nobody sees a headless file chooser, so it is intercepted. The setting is per process.
            if is_headless {
                channel.post(&page::SetInterceptFileChooserDialog { enabled: true });
            }
        }
        if matches!(kind, Some("page" | "iframe")) {
            channel.post(&runtime::Enable {});
            channel.post(&runtime::AddBinding {
                name: observe::CHUNK_BINDING.into(),
                execution_context_name: Some(observe::WORLD.into()),
            });
            channel.post(&network_events());
            // From the start: storage that is written continuously is no effect of an action.
            channel.post(&dom_storage::Enable {});
        }
        // A worker's requests are not reported by its page.
        if kind == Some("worker") {
            channel.post(&network_events());
        }
        if kind == Some("page") {
            channel.post(&inspector::Enable {});
            channel.post(&emulation::SetFocusEmulationEnabled { enabled: true });
            if let Some((width, height)) = view {
                channel.post(&emulation::SetDeviceMetricsOverride {
                    width,
                    height,
                    ..emulation::SetDeviceMetricsOverride::default()
                });
            }
        }
    }
}

/// Network events without response bodies.
fn network_events() -> network::Enable {
    network::Enable {
        max_total_buffer_size: Some(0),
        max_resource_buffer_size: Some(0),
        max_post_data_size: Some(0),
    }
}

impl RunningBrowser {
    fn apply(&self, change: TargetChange) {
        match change {
            TargetChange::Attached { channel, info, parent, ready } => {
                if let Some(tab) = self.add_session(channel, &info, parent.as_ref()) {
                    tokio::spawn(async move {
                        // An error means that the tab is gone, which its end reports.
                        _ = ready.wait(Deadline::after(READY)).await;
                        tab.state.send_modify(|state| state.is_ready = true);
                    });
                }
                self.apply_target_info(&info);
            }
            TargetChange::Detached { session } => {
                let entry = self.remove_session(&session);
                let tab = entry.and_then(|entry| entry.tab).and_then(|id| self.tab(id).ok());
                if let Some(tab) = tab {
                    clear_chooser(&tab, |chooser| chooser.channel.session() == Some(&session));
                    if tab.channel.session() == Some(&session) {
                        self.remove_tab(&tab.target_id);
                    }
                }
            }
            TargetChange::Changed { info } => self.apply_target_info(&info),
            TargetChange::Destroyed { target_id } => self.remove_tab(&target_id),
            TargetChange::Crashed { target_id, status } => self.update(&target_id, |state| {
                state.end = Some(TabEnd::Crashed(status));
                state.dialog = None;
                state.chooser = None;
            }),
        }
        self.changed.send_modify(|count| *count += 1);
    }

    /// Adds a session to the target table, and its tab if it is one.
    fn add_session(
        &self,
        channel: Channel,
        info: &TargetInfo,
        parent: Option<&Arc<str>>,
    ) -> Option<Arc<Tab>> {
        let session = channel.session().cloned()?;
        let kind = info.r#type.clone().unwrap_or_default();
        let target_id = info.target_id.clone().unwrap_or_default();
        let url = info.url.clone().map(LossyString::into_string).unwrap_or_default();
        let mut table = self.table();
        let is_known = table.tabs.values().any(|tab| tab.target_id == target_id);
        let is_tab = kind == "page" && parent.is_none() && info.subtype.is_none();
        if !is_tab || is_known || is_internal(info) {
            let tab = parent.and_then(|parent| table.sessions.get(parent)?.tab);
            if kind == "worker"
                && let Some(tab) = tab.and_then(|id| table.tabs.get(&id))
            {
                tab.activity.note_worker(&url);
            }
            let parent_session = parent.cloned();
            let parent = info.parent_frame_id.clone();
            let entry = SessionEntry { target: target_id, parent, parent_session, tab, kind, url };
            table.sessions.insert(session, entry);
            return None;
        }
        table.next_tab += 1;
        let id = TabId(table.next_tab);
        let named =
            table.contexts.iter().find(|(_, id)| Some(*id) == info.browser_context_id.as_ref());
        let context = named.map(|(name, _)| name.clone());
        // A tab opened by a middle click has no `openerId`.
        let is_opener = |tab: &&Arc<Tab>| match &info.opener_id {
            Some(opener) => tab.target_id == *opener,
            None => tab.context == context && tab.opens_tabs.load(Ordering::Acquire),
        };
        let opener = table.tabs.values().find(is_opener);
        if let Some(opener) = opener {
            opener.activity.note_tab(id);
        }
        let opener = opener.map(|tab| tab.id);
        let issued_refs = table.issued_refs.entry(context.clone()).or_default().clone();
        let tab = Arc::new(Tab::new(
            id,
            target_id.clone(),
            (context, opener),
            channel,
            issued_refs,
            self.bus.clone(),
        ));
        table.tabs.insert(id, tab.clone());
        let (parent, parent_session, tab_id) = (None, None, Some(id));
        let entry =
            SessionEntry { target: target_id, parent, parent_session, tab: tab_id, kind, url };
        table.sessions.insert(session, entry);
        Some(tab)
    }

    fn send_navigated(&self, tab: &Tab, same_document: bool) {
        self.bus.send(|| {
            let url = ::page::text::mask_url(&tab.state.borrow().url);
            BrowserEvent::Navigated { tab: tab.id, url, same_document }
        });
    }

    pub(super) fn apply_target_info(&self, info: &TargetInfo) {
        let Some(target) = &info.target_id else {
            return;
        };
        if let Some(url) = &info.url {
            let mut table = self.table();
            let frame = table.sessions.values_mut().find(|entry| entry.target == *target);
            if let Some(entry) = frame {
                (**url).clone_into(&mut entry.url);
            }
        }
        self.update(target, |state| {
            // `targetInfo` has the requested URL; the page's own events have the committed one.
            if let Some(url) = info.url.as_ref().filter(|_| state.loader.is_empty()) {
                (**url).clone_into(&mut state.url);
            }
            if let Some(title) = &info.title {
                (**title).clone_into(&mut state.title);
            }
        });
    }

    /// Removes a session and its child sessions: they end with it, without events.
    fn remove_session(&self, session: &Arc<str>) -> Option<SessionEntry> {
        self.proxies.leave(session);
        self.local_files.remove_session(session);
        let mut table = self.table();
        let entry = table.sessions.remove(session);
        let mut ended = vec![session.clone()];
        while let Some(parent_session) = ended.pop() {
            table.sessions.retain(|session, entry| {
                let ends = entry.parent_session.as_ref() == Some(&parent_session);
                if ends {
                    ended.push(session.clone());
                }
                !ends
            });
        }
        entry
    }

    fn remove_tab(&self, target_id: &str) {
        let mut table = self.table();
        let is_gone = |tab: &Arc<Tab>| tab.target_id == target_id;
        let gone: Vec<Arc<Tab>> = table.tabs.values().filter(|tab| is_gone(tab)).cloned().collect();
        table.tabs.retain(|_, tab| !is_gone(tab));
        // Its frames and workers go with it, whether or not they have events.
        table
            .sessions
            .retain(|_, entry| entry.tab.is_none_or(|id| gone.iter().all(|it| it.id != id)));
        drop(table);
        self.own_targets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|own| own != target_id);
        // After the removal: who waits for its end must not find it here.
        for tab in gone {
            tab.state.send_modify(|state| {
                state.end = Some(TabEnd::Closed);
                state.dialog = None;
            });
        }
    }

    fn update(&self, target_id: &str, change: impl FnOnce(&mut TabState)) {
        let tab = self.table().tabs.values().find(|tab| tab.target_id == target_id).cloned();
        if let Some(tab) = tab {
            tab.state.send_modify(change);
        }
    }

    /// Applies an event of a tab's session.
    fn page_event(&self, event: &Event) -> Option<()> {
        let session = event.session.as_ref()?;
        let tab = self.tab_of(session)?;
        // Dialogs of out-of-process frames block the whole tab; everything else is about the main frame.
        let is_main = |frame: Option<&String>| frame == Some(&tab.target_id);
        match &*event.method {
            JavascriptDialogOpening::NAME => {
                let opening: JavascriptDialogOpening = event.decode().ok()?;
                let default_text = opening.default_prompt.map(LossyString::into_string);
                let dialog = Dialog {
                    kind: opening.r#type.unwrap_or_default(),
                    message: opening.message.unwrap_or_default().into_string(),
                    default_text: default_text.filter(|text| !text.is_empty()),
                };
                tab.state.send_modify(|state| state.dialog = Some(dialog));
            }
            JavascriptDialogClosed::NAME => tab.state.send_modify(|state| state.dialog = None),
            FrameNavigated::NAME => {
                let FrameNavigated { frame, r#type } = event.decode().ok()?;
                let frame = frame?;
                let is_main = is_main(frame.id.as_ref());
                clear_chooser(&tab, |it| is_main || frame.id.as_ref() == Some(&it.frame_id));
                if !is_main {
                    tab.frame_moves.fetch_add(1, Ordering::Release);
                    return None;
                }
                tab.state.send_modify(|state| {
                    let loader = frame.loader_id.as_deref().unwrap_or_default();
                    state.commit(loader);
                    // A page from the back-forward cache has no new lifecycle events.
                    if r#type.as_deref() == Some("BackForwardCacheRestore") {
                        state.phase = Phase::Loaded;
                    }
                    state.end = None;
                    if let Some(url) = frame.url {
                        state.url = url.into_string();
                    }
                });
                self.send_navigated(&tab, false);
            }
            FrameDetached::NAME => {
                tab.frame_moves.fetch_add(1, Ordering::Release);
                let frame = event.decode::<FrameDetached>().ok()?.frame_id?;
                clear_chooser(&tab, |chooser| chooser.frame_id == frame);
            }
            FileChooserOpened::NAME => {
                let opened: FileChooserOpened = event.decode().ok()?;
                let is_multiple = opened.mode.as_deref() == Some("selectMultiple");
                let message = match (opened.backend_node_id, is_multiple) {
                    (None, _) => UNANSWERABLE,
                    (_, true) => ASKS_FOR_FILES,
                    (_, false) => ASKS_FOR_A_FILE,
                };
                let number = tab.activity.note_chooser(message);
                let chooser = FileChooser {
                    number,
                    channel: self.connection.session(session.clone()),
                    frame_id: opened.frame_id?,
                    field: opened.backend_node_id?,
                    is_multiple,
                };
                chooser.hold();
                tab.state.send_modify(|state| {
                    if let Some(before) = state.chooser.replace(chooser) {
                        before.release();
                    }
                });
            }
            NavigatedWithinDocument::NAME => {
                let NavigatedWithinDocument { frame_id, url } = event.decode().ok()?;
                if is_main(frame_id.as_ref()) {
                    tab.state.send_modify(|state| {
                        state.steps += 1;
                        if let Some(url) = url {
                            state.url = url.into_string();
                        }
                    });
                    self.send_navigated(&tab, true);
                }
            }
            LifecycleEvent::NAME => {
                let LifecycleEvent { frame_id, loader_id, name } = event.decode().ok()?;
                let loader = loader_id.filter(|_| is_main(frame_id.as_ref()))?;
                let phase = match name.as_deref()? {
                    "DOMContentLoaded" => Phase::DomReady,
                    "load" => Phase::Loaded,
                    _ => return None,
                };
                tab.state.send_modify(|state| {
                    state.commit(&loader);
                    state.phase = state.phase.max(phase);
                });
                if phase == Phase::DomReady {
                    tokio::spawn(observe::prefetch_listeners(tab.clone()));
                }
            }
            inspector::TargetCrashed::NAME if tab.channel.session() == Some(session) => {
                tab.state.send_modify(|state| {
                    state.end.get_or_insert(TabEnd::Crashed("crashed".into()));
                    state.dialog = None;
                    state.chooser = None;
                });
            }
            inspector::TargetReloadedAfterCrash::NAME => {
                tab.state.send_modify(|state| state.end = None);
            }
            _ => {}
        }
        Some(())
    }

    /// After lost events: removes gone targets, attaches to new ones, and queries each tab's state.
    async fn resync<P: Fn(&Channel, &TargetInfo, Option<&Arc<str>>)>(
        &self,
        attach: &AutoAttach<P>,
    ) {
        let deadline = Deadline::after(Duration::from_secs(10));
        let Ok(targets) = attach.targets(deadline).await else {
            return;
        };
        let known: Vec<String> =
            self.table().tabs.values().map(|tab| tab.target_id.clone()).collect();
        for target in known
            .iter()
            .filter(|id| targets.iter().all(|info| info.target_id.as_ref() != Some(*id)))
        {
            self.remove_tab(target);
        }
        for info in &targets {
            self.apply_target_info(info);
            let is_page = info.r#type.as_deref() == Some("page");
            if let Some(id) = info.target_id.clone().filter(|id| is_page && !known.contains(id)) {
                self.connection.browser().post(&AttachToTarget { target_id: id, flatten: true });
            }
        }
        for row in self.tabs() {
            let is_it = |info: &&TargetInfo| info.target_id.as_ref() == Some(&row.tab.target_id);
            if let Some(url) = targets.iter().find(is_it).and_then(|info| info.url.as_ref()) {
                row.tab.state.send_modify(|state| (**url).clone_into(&mut state.url));
            }
            let dialog = row.tab.state.borrow().dialog.clone();
            tokio::spawn(restore_state(row.tab, dialog));
        }
        self.changed.send_modify(|count| *count += 1);
    }
}

/// Restores what lost events may have said about a tab that had this dialog.
///
/// Enabling lifecycle events again replays the past ones of the page. An open dialog cannot be queried. A page with a
/// dialog responds to nothing, so a response means that there is none; but a dialog whose opening event was lost
/// stays unknown, and its page looks unresponsive until it is closed or left.
async fn restore_state(tab: Arc<Tab>, dialog: Option<Dialog>) {
    let phases = page::SetLifecycleEventsEnabled { enabled: true };
    let answered = tab.channel.call(phases, Deadline::after(ANSWER)).await;
    if answered.is_ok() && dialog.is_some() {
        tab.state.send_if_modified(|state| {
            let is_stale = state.dialog == dialog;
            if is_stale {
                state.dialog = None;
            }
            is_stale
        });
    }
}

/// Drops the tab's file chooser if its field or frame is gone.
fn clear_chooser(tab: &Tab, is_gone: impl Fn(&FileChooser) -> bool) {
    tab.state.send_if_modified(|state| {
        let is_over = state.chooser.as_ref().is_some_and(&is_gone);
        if is_over {
            state.chooser = None;
            tab.activity.discard_events(CHOOSER);
        }
        is_over
    });
}

/// Pages of the browser itself, not of a site.
fn is_internal(info: &TargetInfo) -> bool {
    info.url.as_ref().is_some_and(|url| url.starts_with("devtools://"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chromium::CarryOver;
    use crate::launch::{BrowserQuery, find};

    #[tokio::test]
    async fn tab_state_is_restored_after_lost_events() {
        if let Err(error) = find(&BrowserQuery::default()) {
            assert!(std::env::var_os("AGBROWSE_REQUIRE_CHROMIUM").is_none(), "{error}");
            return;
        }
        let deadline = Deadline::after(Duration::from_secs(30));
        let (options, never_cancelled) = (Options::default(), std::future::pending());
        let started = RunningBrowser::start(
            &options,
            CarryOver::default(),
            Default::default(),
            deadline,
            never_cancelled,
        )
        .await;
        let (live, _) = started.unwrap();
        let tab = live.first_tab(None, deadline).await.unwrap();
        let mut state = tab.state.subscribe();
        state.wait_for(|state| state.phase == Phase::Loaded).await.unwrap();
        // As if a navigation and the end of a dialog had been lost.
        tab.state.send_modify(|state| {
            state.loader = "before".into();
            state.phase = Phase::Committed;
            state.url = "https://before.test/".into();
            state.dialog =
                Some(Dialog { kind: "alert".into(), message: "Hello".into(), default_text: None });
        });
        let attach = AutoAttach::new(
            live.connection.clone(),
            |_: &Channel, _: &TargetInfo, _: Option<&Arc<str>>| {},
        );
        live.resync(&attach).await;
        let restored = state.wait_for(|state| {
            state.phase == Phase::Loaded && state.url == "about:blank" && state.dialog.is_none()
        });
        tokio::time::timeout_at(deadline.at(), restored).await.expect("restored").unwrap();
        live.close().await;
    }
}
