//! How the table is kept true: every event of the browser, followed in order by one task.

use super::activity::CHOOSER;
use super::local_files::LocalFiles;
use super::proxy_auth::ProxyAuth;
use super::{RunningBrowser, SessionEntry};
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

/// Everything the table is made of.
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

/// How many events may wait for the table. A page would have to be very busy to fill this.
pub(super) const QUEUE: usize = 8192;

/// How long a new tab may take to get ready.
const READY: Duration = Duration::from_secs(10);

/// How long a tab may take to say again how far it is.
const ANSWER: Duration = Duration::from_secs(2);

/// What is told of a file chooser.
const ASKS_FOR_A_FILE: &str = "the page asks for a file; give it with `agbrowse upload --chooser FILE`, \
     or cancel with `agbrowse upload --chooser`";
const ASKS_FOR_FILES: &str = "the page asks for files; give them with `agbrowse upload --chooser FILE…`, \
     or cancel with `agbrowse upload --chooser`";
const UNANSWERABLE: &str = "the page asked for files by `showOpenFilePicker` or the like, \
     which takes none from here, and got none";

/// Keeps the table true until the browser is gone.
pub(super) async fn keep<P: Fn(&Channel, &TargetInfo, Option<&Arc<str>>)>(
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
                tracing::warn!(lost, "events lost, asking again");
                live.resync(&attach).await;
            }
        }
    }
    // Whoever waits for a tab must hear that it will not come.
    if let Some(live) = live.upgrade() {
        for row in live.tabs() {
            row.tab.state.send_modify(|state| state.end = Some(TabEnd::Closed));
        }
        live.changed.send_modify(|count| *count += 1);
    }
}

/// What a new target needs before its first script runs.
pub(super) fn preparation(
    options: &Options,
    is_unseen: bool,
    proxies: Arc<ProxyAuth>,
    local_files: Arc<LocalFiles>,
) -> impl Fn(&Channel, &TargetInfo, Option<&Arc<str>>) + Send + 'static {
    // The window's size counts its frame too, seen or not; the page shall have all that was asked for.
    let view = is_unseen.then(|| options.viewport.unwrap_or(VIEWPORT));
    move |channel, info, parent| {
        let kind = info.r#type.as_deref();
        let is_held = proxies.prepare(channel, info);
        local_files.prepare(channel, info, parent, is_held);
        if matches!(kind, Some("page" | "iframe")) {
            channel.post(&page::Enable {});
            channel.post(&page::SetLifecycleEventsEnabled { enabled: true });
            channel.post(&page::AddScriptToEvaluateOnNewDocument {
                source: match is_unseen {
                    true => format!("globalThis.isHeadlessBrowser = true;\n{}", observe::SOURCE),
                    false => observe::SOURCE.into(),
                },
                world_name: Some(observe::WORLD.into()),
                ..page::AddScriptToEvaluateOnNewDocument::default()
            });
            // A chooser that nobody sees would be answered by nobody. Each process has to be told.
            if is_unseen {
                channel.post(&page::SetInterceptFileChooserDialog { enabled: true });
            }
        }
        if matches!(kind, Some("page" | "iframe")) {
            channel.post(&runtime::Enable {});
            channel.post(&runtime::AddBinding {
                name: observe::HAND.into(),
                execution_context_name: Some(observe::WORLD.into()),
            });
            channel.post(&network_events());
            // From the beginning: what is written all the time is no effect of an action.
            channel.post(&dom_storage::Enable {});
        }
        // What a worker asks servers for, its page does not tell.
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

/// What was answered is not kept for anybody.
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
                if let Some(tab) = self.attached(channel, &info, parent.as_ref()) {
                    tokio::spawn(async move {
                        // Failing means that the tab is gone, which is told by its end.
                        _ = ready.wait(Deadline::after(READY)).await;
                        tab.state.send_modify(|state| state.is_ready = true);
                    });
                }
                self.apply_target_info(&info);
            }
            TargetChange::Detached { session } => {
                let entry = self.forget_session(&session);
                let tab = entry.and_then(|entry| entry.tab).and_then(|id| self.tab(id).ok());
                if let Some(tab) = tab {
                    forget_chooser(&tab, |chooser| chooser.channel.session() == Some(&session));
                    if tab.channel.session() == Some(&session) {
                        self.gone(&tab.target_id);
                    }
                }
            }
            TargetChange::Changed { info } => self.apply_target_info(&info),
            TargetChange::Destroyed { target_id } => self.gone(&target_id),
            TargetChange::Crashed { target_id, status } => self.update(&target_id, |state| {
                state.end = Some(TabEnd::Crashed(status));
                state.dialog = None;
                state.chooser = None;
            }),
        }
        self.changed.send_modify(|count| *count += 1);
    }

    /// Takes a new session into the table, and its tab if it is one.
    fn attached(
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
            let above = parent.cloned();
            let parent = info.parent_frame_id.clone();
            let entry = SessionEntry { target: target_id, parent, above, tab, kind, url };
            table.sessions.insert(session, entry);
            return None;
        }
        table.next_tab += 1;
        let id = TabId(table.next_tab);
        let named =
            table.contexts.iter().find(|(_, id)| Some(*id) == info.browser_context_id.as_ref());
        let context = named.map(|(name, _)| name.clone());
        // Who clicks with the middle button opens a tab that knows nothing of the page it came from.
        let is_opener = |tab: &&Arc<Tab>| match &info.opener_id {
            Some(opener) => tab.target_id == *opener,
            None => tab.context == context && tab.opens_tabs.load(Ordering::Acquire),
        };
        let opener = table.tabs.values().find(is_opener);
        if let Some(opener) = opener {
            opener.activity.note_tab(id);
        }
        let opener = opener.map(|tab| tab.id);
        let written = table.written.entry(context.clone()).or_default().clone();
        let tab = Arc::new(Tab::new(id, target_id.clone(), context, opener, channel, written));
        table.tabs.insert(id, tab.clone());
        let (parent, above, tab_id) = (None, None, Some(id));
        let entry = SessionEntry { target: target_id, parent, above, tab: tab_id, kind, url };
        table.sessions.insert(session, entry);
        Some(tab)
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
            // The browser tells the address that is asked for; the page's own events tell the one it has.
            if let Some(url) = info.url.as_ref().filter(|_| state.loader.is_empty()) {
                (**url).clone_into(&mut state.url);
            }
            if let Some(title) = &info.title {
                (**title).clone_into(&mut state.title);
            }
        });
    }

    /// Forgets a session, and those that came through it: they end with it, and nobody is told.
    fn forget_session(&self, session: &Arc<str>) -> Option<SessionEntry> {
        self.proxies.leave(session);
        self.local_files.leave(session);
        let mut table = self.table();
        let entry = table.sessions.remove(session);
        let mut ended = vec![session.clone()];
        while let Some(above) = ended.pop() {
            table.sessions.retain(|session, entry| {
                let ends = entry.above.as_ref() == Some(&above);
                if ends {
                    ended.push(session.clone());
                }
                !ends
            });
        }
        entry
    }

    fn gone(&self, target_id: &str) {
        let mut table = self.table();
        let is_gone = |tab: &Arc<Tab>| tab.target_id == target_id;
        let gone: Vec<Arc<Tab>> = table.tabs.values().filter(|tab| is_gone(tab)).cloned().collect();
        table.tabs.retain(|_, tab| !is_gone(tab));
        // Its frames and workers go with it, whether or not each is told of.
        table
            .sessions
            .retain(|_, entry| entry.tab.is_none_or(|id| gone.iter().all(|it| it.id != id)));
        drop(table);
        self.made.lock().unwrap_or_else(PoisonError::into_inner).retain(|made| made != target_id);
        // Only now: who waits for its end does not find it here any more.
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

    /// An event of a tab's own session.
    fn page_event(&self, event: &Event) -> Option<()> {
        let session = event.session.as_ref()?;
        let tab = self.tab_of(session)?;
        // Dialogs of out-of-process frames hold the whole tab; everything else is about the main frame.
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
                forget_chooser(&tab, |it| is_main || frame.id.as_ref() == Some(&it.frame_id));
                if !is_main {
                    tab.frame_moves.fetch_add(1, Ordering::Release);
                    return None;
                }
                tab.state.send_modify(|state| {
                    let loader = frame.loader_id.as_deref().unwrap_or_default();
                    state.commit(loader);
                    // A page from the back-forward cache does not load again.
                    if r#type.as_deref() == Some("BackForwardCacheRestore") {
                        state.phase = Phase::Loaded;
                    }
                    state.end = None;
                    if let Some(url) = frame.url {
                        state.url = url.into_string();
                    }
                });
            }
            FrameDetached::NAME => {
                tab.frame_moves.fetch_add(1, Ordering::Release);
                let frame = event.decode::<FrameDetached>().ok()?.frame_id?;
                forget_chooser(&tab, |chooser| chooser.frame_id == frame);
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

    /// After lost events: what is gone is removed, what is new is attached to, and each tab is asked how far it is.
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
            self.gone(target);
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
            tokio::spawn(ask_again(row.tab, dialog));
        }
        self.changed.send_modify(|count| *count += 1);
    }
}

/// Learns anew what the lost events may have said of a tab, which had this dialog.
///
/// Asked for events of its loading, a page tells once more those that have been. Whether a dialog is open cannot be
/// asked. A page with one answers nothing, so an answer says that there is none; but one that opened in an event that
/// was lost stays unknown, and its page looks stuck until it is closed or left.
async fn ask_again(tab: Arc<Tab>, dialog: Option<Dialog>) {
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

/// Forgets the tab's file chooser if what it was for is gone.
fn forget_chooser(tab: &Tab, is_gone: impl Fn(&FileChooser) -> bool) {
    tab.state.send_if_modified(|state| {
        let is_over = state.chooser.as_ref().is_some_and(&is_gone);
        if is_over {
            state.chooser = None;
            tab.activity.forget_untold(CHOOSER);
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
    async fn what_lost_events_said_of_a_tab_is_asked_again() {
        if let Err(error) = find(&BrowserQuery::default()) {
            assert!(std::env::var_os("AGBROWSE_REQUIRE_CHROMIUM").is_none(), "{error}");
            return;
        }
        let deadline = Deadline::after(Duration::from_secs(30));
        let (options, wanted) = (Options::default(), std::future::pending());
        let started =
            RunningBrowser::start(&options, CarryOver::default(), Arc::default(), deadline, wanted)
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
