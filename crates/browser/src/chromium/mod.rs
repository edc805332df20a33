//! One running browser: its target table of tabs, contexts and sessions, updated by CDP events.
//!
//! A single task reads the events and writes the table; commands read the table and wait for changes of a tab's
//! state. The table never needs a response of a page, so it can be reported while pages hang.

pub(crate) mod activity;
mod downloads;
mod local_files;
mod orphans;
mod proxy_auth;
mod target_events;

pub use orphans::OrphanTabs;

use crate::backend_refs::IssuedBackendRefs;
use crate::error::{Code, Error, Result};
use crate::events::EventBus;
use crate::launch::{self, Launched, Options, Process};
use crate::navigate;
use crate::note::Note;
use crate::proxy::{Proxy, ProxyInfo};
use crate::tab::{Tab, TabEnd, TabId};
use cdp::protocol::browser::{Close, GetVersion, SetDownloadBehavior};
use cdp::protocol::storage::{TrackCacheStorageForOrigin, TrackIndexedDbForOrigin};
use cdp::protocol::target::{
    CloseTarget, CreateBrowserContext, CreateTarget, DisposeBrowserContext, GetTargets,
};
use cdp::{AutoAttach, Channel, Connection, Deadline, EventCursor};
use downloads::Downloads;
use local_files::LocalFiles;
use proxy_auth::ProxyAuth;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// Wait for the tab that a browser starts with; after it, a tab is created.
const INITIAL_TAB: Duration = Duration::from_secs(5);

/// A tab whose creation timed out is closed if it appears within this time.
const LATE_TAB: Duration = Duration::from_secs(120);

/// Wait for a process to be reaped after its connection closed; a busy machine is slow.
const EXIT: Duration = Duration::from_secs(4);

/// Wait for orphaned tabs to appear in the target table.
const RECOVERY: Duration = Duration::from_secs(2);

/// Wait for an orderly exit before the browser is killed.
const ORDERLY_END: Duration = Duration::from_millis(1500);

/// A running browser: its connection, process and target table.
pub(crate) struct RunningBrowser {
    pub(crate) connection: Connection,
    pub(crate) process: Option<Process>,
    pub(crate) path: Option<PathBuf>,
    pub(crate) product: String,
    pub(crate) since: Instant,
    pub(crate) options: Options,
    table: Mutex<TargetTable>,
    /// Number of tabs of the browsers before this one: tab ids are never reused.
    tabs_before: u32,
    /// Target ids of the tabs that we opened, in the default context too.
    own_targets: Mutex<Vec<String>>,
    tab_made: Arc<Notify>,
    pub(crate) bus: EventBus,
    /// Those of them that a previous owner opened and left behind.
    recovered: Vec<String>,
    /// Tabs that this owner left behind in another browser.
    pub(crate) orphans_elsewhere: Option<OrphanTabs>,
    /// Counts changes of the target table.
    changed: watch::Sender<u64>,
    tab_creation_lock: tokio::sync::Mutex<()>,
    context_creation_lock: tokio::sync::Mutex<()>,
    pub(crate) downloads: Downloads,
    pub(crate) proxies: Arc<ProxyAuth>,
    pub(crate) local_files: Arc<LocalFiles>,
    /// Proxies of contexts by name, including those of the browser before.
    context_proxies_map: Mutex<BTreeMap<String, Proxy>>,
    /// How far the activity logs have processed the browser's events.
    activity_cursor: EventCursor,
    /// The connection closed, and the process was not reaped in time.
    has_exited: AtomicBool,
}

#[derive(Default)]
struct TargetTable {
    tabs: BTreeMap<TabId, Arc<Tab>>,
    /// Flat sessions of every depth: the tab of each, and its target.
    sessions: HashMap<Arc<str>, SessionEntry>,
    contexts: BTreeMap<String, String>,
    /// Backend refs issued in each context.
    issued_refs: HashMap<Option<String>, Arc<IssuedBackendRefs>>,
    /// The current tab of each context.
    current: HashMap<Option<String>, TabId>,
    /// Tabs addressed by id only: they never become the current tab by themselves.
    unselected: HashSet<TabId>,
    next_tab: u32,
}

struct SessionEntry {
    /// The session's target id; for a frame, the frame id.
    target: String,
    /// The parent frame, if it is a frame.
    parent: Option<String>,
    /// The parent session.
    parent_session: Option<Arc<str>>,
    tab: Option<TabId>,
    kind: String,
    /// The target's URL.
    url: String,
}

/// An out-of-process frame.
pub(crate) struct FrameTarget {
    /// The frame id.
    pub(crate) target: String,
    /// The parent frame.
    pub(crate) parent: Option<String>,
    /// The frame's URL.
    pub(crate) url: String,
    pub(crate) channel: Channel,
}

/// A row of the tab list.
#[derive(Clone, Debug)]
pub(crate) struct TabRow {
    pub(crate) tab: Arc<Tab>,
    pub(crate) is_current: bool,
    /// Out-of-process frames, at any depth.
    pub(crate) frames: usize,
    pub(crate) workers: usize,
}

/// State that is carried over from the browsers before this one.
#[derive(Clone, Debug, Default)]
pub(crate) struct CarryOver {
    /// The highest tab number.
    pub(crate) tabs: u32,
    /// The proxies of contexts.
    pub(crate) context_proxies_map: BTreeMap<String, Proxy>,
    /// Our tabs in an attached browser.
    pub(crate) orphans: Option<OrphanTabs>,
}

impl CarryOver {
    /// Merges the carry-over of a later browser.
    pub(crate) fn merge(&mut self, after: Self) {
        let orphans = after.orphans.or(self.orphans.take());
        *self = Self {
            tabs: self.tabs.max(after.tabs),
            context_proxies_map: after.context_proxies_map,
            orphans,
        };
    }
}

impl RunningBrowser {
    /// Launches or attaches to a browser and attaches to its targets. If `cancelled` resolves first, the browser is
    /// killed.
    pub(crate) async fn start(
        options: &Options,
        before: CarryOver,
        (tab_made, bus): (Arc<Notify>, EventBus),
        deadline: Deadline,
        cancelled: impl Future<Output = ()>,
    ) -> Result<(Arc<Self>, Vec<Note>)> {
        let mut cancelled = pin!(cancelled);
        let Launched { connection, process, path, notes } = tokio::select! {
            launched = launch::launch(options, deadline) => launched?,
            () = &mut cancelled => return Err(Error::new(Code::BrowserLost)),
        };
        let events = connection.events(target_events::EVENTS, target_events::QUEUE);
        let activity_events = connection.events(activity::EVENTS, activity::QUEUE);
        let paused_requests = connection.events(proxy_auth::EVENTS, proxy_auth::QUEUE);
        let is_headless = process.is_some() && !options.headed;
        let proxies = Arc::<ProxyAuth>::default();
        let local_files = Arc::<LocalFiles>::default();
        let preparation =
            target_events::preparation(options, is_headless, proxies.clone(), local_files.clone());
        let attach = AutoAttach::new(connection.clone(), preparation);
        let browser = connection.browser();
        let handshake = async {
            let version = browser.start(&GetVersion {})?;
            attach.start(deadline).await?;
            version.wait(deadline).await
        };
        let version_reply = tokio::select! {
            reply = handshake => Some(reply),
            () = &mut cancelled => None,
        };
        let version = match (version_reply, &process) {
            (Some(Ok(version)), _) => version,
            (Some(Err(error)), Some(process)) => {
                return Err(launch::launch_error(process, &error).await);
            }
            (Some(Err(error)), None) => {
                return Err(Error::new(Code::CdpUnreachable).message(error.to_string()));
            }
            (None, process) => {
                if let Some(process) = process {
                    process.kill();
                    process.wait_cleaned(ORDERLY_END).await;
                }
                return Err(Error::new(Code::BrowserLost));
            }
        };
        let (recovered, orphans_elsewhere) = match before.orphans {
            Some(left) if process.is_none() => {
                let here = browser.call(GetTargets {}, deadline).await.ok();
                let here = here.and_then(|reply| reply.target_infos).unwrap_or_default();
                let is_here =
                    |id: &&String| here.iter().any(|it| it.target_id.as_ref() == Some(*id));
                let found: Vec<String> = left.tabs.iter().filter(is_here).cloned().collect();
                let is_it = !found.is_empty() || options.cdp.as_ref() == Some(&left.cdp);
                (found, (!is_it).then_some(left))
            }
            left => (Vec::new(), left),
        };
        let live = Arc::new(Self {
            connection,
            process,
            path,
            product: version.product.unwrap_or_default(),
            since: Instant::now(),
            options: options.clone(),
            table: Mutex::new(TargetTable { next_tab: before.tabs, ..TargetTable::default() }),
            tabs_before: before.tabs,
            own_targets: Mutex::new(recovered.clone()),
            tab_made,
            bus,
            recovered,
            orphans_elsewhere,
            changed: watch::Sender::new(0),
            tab_creation_lock: tokio::sync::Mutex::default(),
            context_creation_lock: tokio::sync::Mutex::default(),
            downloads: Downloads::new(options.downloads.as_deref()),
            proxies,
            local_files,
            context_proxies_map: Mutex::new(before.context_proxies_map),
            activity_cursor: activity_events.progress(),
            has_exited: AtomicBool::new(false),
        });
        live.set_download_behavior(None);
        tokio::spawn(target_events::run_event_loop(events, attach, Arc::downgrade(&live)));
        tokio::spawn(activity::run_event_loop(activity_events, Arc::downgrade(&live)));
        tokio::spawn(proxy_auth::run_event_loop(paused_requests, Arc::downgrade(&live)));
        // Wait for the orphaned tabs, so that they have ids.
        let has_them = |table: &TargetTable| {
            (live.recovered_in(table).len() == live.recovered.len()).then_some(())
        };
        _ = live.wait_for(deadline.at_most(RECOVERY), has_them).await;
        Ok((live, notes))
    }

    /// Sets the download folder of a context. The default context of an attached browser is left unchanged.
    fn set_download_behavior(&self, browser_context_id: Option<String>) {
        if self.process.is_none() && browser_context_id.is_none() {
            return;
        }
        self.connection.browser().post(&SetDownloadBehavior {
            behavior: "allowAndName".into(),
            browser_context_id,
            download_path: Some(self.downloads.folder().display().to_string()),
            events_enabled: Some(true),
        });
    }

    /// True for a headless browser of ours: no person sees or uses it.
    pub(crate) fn is_headless(&self) -> bool {
        self.process.is_some() && !self.options.headed
    }

    /// The tab of a session.
    fn tab_of(&self, session: &Arc<str>) -> Option<Arc<Tab>> {
        let table = self.table();
        let id = table.sessions.get(session)?.tab?;
        table.tabs.get(&id).cloned()
    }

    /// The tab of a frame. In-process frames are not in the table; those are assumed to be the current tab's.
    fn tab_of_frame(&self, frame: &str) -> Option<Arc<Tab>> {
        let table = self.table();
        let by_target = table.tabs.values().find(|tab| tab.target_id == frame);
        let by_session = || {
            let entry = table.sessions.values().find(|entry| entry.target == frame)?;
            table.tabs.get(&entry.tab?)
        };
        let current = || table.current.get(&None).and_then(|id| table.tabs.get(id));
        by_target.or_else(by_session).or_else(current).cloned()
    }

    /// The exit reason; `None` while it runs.
    pub(crate) fn ended(&self) -> Option<String> {
        match self.process.as_ref().and_then(Process::exit) {
            Some(exit) => Some(format!("the browser ended: {exit}")),
            // The process reports a better reason a moment later.
            None if self.process.is_some() && !self.has_exited.load(Ordering::Acquire) => None,
            None => self.connection.closed().map(|reason| reason.to_string()),
        }
    }

    /// Waits for the exit; returns its reason.
    pub(crate) async fn wait_ended(&self) -> String {
        let reason = self.connection.wait_closed().await;
        if let Some(process) = &self.process {
            // The pipe closes a moment before the process can be reaped.
            if let Some(exit) = process.exit_within(EXIT).await {
                return format!("the browser ended: {exit}");
            }
        }
        self.has_exited.store(true, Ordering::Release);
        reason.to_string()
    }

    /// Ends a browser of ours; detaches from any other, after closing our tabs and contexts.
    pub(crate) async fn close(&self) {
        // After an exit of its own, downloads are kept.
        let keep_downloads = self.ended().is_some();
        let Some(process) = &self.process else {
            // Our contexts and tabs in an attached browser are closed.
            for context in self.table().contexts.values() {
                self.connection
                    .browser()
                    .post(&DisposeBrowserContext { browser_context_id: context.clone() });
            }
            let made = std::mem::take(
                &mut *self.own_targets.lock().unwrap_or_else(PoisonError::into_inner),
            );
            for target_id in made {
                self.connection.browser().post(&CloseTarget { target_id });
            }
            _ = self.connection.browser().call(GetVersion {}, Deadline::after(ORDERLY_END)).await;
            self.connection.close("detached");
            if !keep_downloads {
                self.downloads.remove();
            }
            return;
        };
        // A temporary profile needs no orderly exit.
        if process.has_persistent_profile() {
            self.connection.browser().post(&Close {});
            process.exit_within(ORDERLY_END).await;
        }
        process.kill();
        process.wait_cleaned(ORDERLY_END).await;
        self.connection.close("the browser was closed");
        if !keep_downloads {
            self.downloads.remove();
        }
    }

    /// The tabs of all contexts, in the order in which they were opened.
    pub(crate) fn tabs(&self) -> Vec<TabRow> {
        let table = self.table();
        let count = |id: TabId, is: fn(&str) -> bool| {
            table.sessions.values().filter(|entry| entry.tab == Some(id) && is(&entry.kind)).count()
        };
        table
            .tabs
            .values()
            .map(|tab| TabRow {
                tab: tab.clone(),
                is_current: table.current.get(&tab.context) == Some(&tab.id),
                frames: count(tab.id, |kind| kind == "iframe"),
                workers: count(tab.id, |kind| kind.contains("worker")),
            })
            .collect()
    }

    /// Fetches titles and URLs from the browser process: not every title change has an event.
    pub(crate) async fn refresh(&self, deadline: Deadline) {
        let reply = self.connection.browser().call(GetTargets {}, deadline).await;
        for info in reply.ok().and_then(|reply| reply.target_infos).unwrap_or_default() {
            self.apply_target_info(&info);
        }
    }

    /// An empty tab: the initial one as long as it is unused, or a new one.
    pub(crate) async fn empty_tab(
        &self,
        context: Option<&str>,
        deadline: Deadline,
    ) -> Result<Arc<Tab>> {
        let _lock = with_deadline(self.tab_creation_lock.lock(), deadline).await?;
        if let Ok(None) = self.current(context)
            && let Some(tab) = self.initial_tab(context, deadline).await
        {
            self.switch(&tab);
            return Ok(tab);
        }
        self.new_tab(context, deadline).await
    }

    /// An empty tab that is addressed by id only.
    pub(crate) async fn background_tab(
        &self,
        context: Option<&str>,
        deadline: Deadline,
    ) -> Result<Arc<Tab>> {
        let tab = self.new_tab(context, deadline).await?;
        self.table().unselected.insert(tab.id);
        Ok(tab)
    }

    /// The out-of-process frames of a tab.
    pub(crate) fn frame_targets(&self, id: TabId) -> Vec<FrameTarget> {
        let table = self.table();
        let frames = table
            .sessions
            .iter()
            .filter(|(_, entry)| entry.tab == Some(id) && entry.kind == "iframe");
        frames
            .map(|(session, entry)| FrameTarget {
                target: entry.target.clone(),
                parent: entry.parent.clone(),
                url: entry.url.clone(),
                channel: self.connection.session(session.clone()),
            })
            .collect()
    }

    /// True if a tab has dedicated workers.
    pub(crate) fn has_workers(&self, id: TabId) -> bool {
        let table = self.table();
        table.sessions.values().any(|entry| entry.tab == Some(id) && entry.kind == "worker")
    }

    /// The other tabs of a tab's context.
    pub(crate) fn tabs_beside(&self, tab: &Tab) -> Vec<Arc<Tab>> {
        let table = self.table();
        let is_beside = |it: &&Arc<Tab>| it.id != tab.id && it.context == tab.context;
        table.tabs.values().filter(is_beside).cloned().collect()
    }

    /// Subscribes to IndexedDB and cache storage changes of a tab's origins, from its first action on.
    pub(crate) fn watch_databases(&self, tab: &Tab) {
        let frames = self.frame_targets(tab.id);
        let mut watched = tab.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let url = tab.state.borrow().url.clone();
        let urls = std::iter::once(&url).chain(frames.iter().map(|it| &it.url));
        for origin in urls.filter_map(|url| navigate::origin(url)) {
            if watched.insert(origin.clone()) {
                tab.channel.post(&TrackIndexedDbForOrigin { origin: origin.clone() });
                tab.channel.post(&TrackCacheStorageForOrigin { origin });
            }
        }
    }

    /// True if we opened this tab, or started its browser.
    pub(crate) fn is_ours(&self, tab: &Tab) -> bool {
        let made = self.own_targets.lock().unwrap_or_else(PoisonError::into_inner);
        self.process.is_some() || tab.context.is_some() || made.contains(&tab.target_id)
    }

    /// The highest tab number issued.
    pub(crate) fn last_tab(&self) -> u32 {
        self.table().next_tab
    }

    /// The browser context id of a context, if it was created.
    pub(crate) fn context_id(&self, name: Option<&str>) -> Option<String> {
        self.table().contexts.get(name?).cloned()
    }

    /// The names of the contexts.
    pub(crate) fn contexts(&self) -> Vec<String> {
        self.table().contexts.keys().cloned().collect()
    }

    /// The contexts with a proxy, and their proxies.
    pub(crate) fn context_proxies(&self) -> BTreeMap<String, ProxyInfo> {
        let context_proxies_map = self.context_proxies_map();
        let line = |name: String| Some((name.clone(), context_proxies_map.get(&name)?.line()));
        self.contexts().into_iter().filter_map(line).collect()
    }

    /// State for the browser after this one.
    pub(crate) fn carry_over(&self) -> CarryOver {
        CarryOver {
            tabs: self.last_tab(),
            context_proxies_map: self.context_proxies_map().clone(),
            orphans: self.orphan_tabs(),
        }
    }

    /// Our tabs that would be orphaned if we exited now.
    pub(crate) fn orphan_tabs(&self) -> Option<OrphanTabs> {
        let cdp = self.options.cdp.clone().filter(|_| self.process.is_none())?;
        let tabs = self.own_targets.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (!tabs.is_empty()).then_some(OrphanTabs { cdp, tabs })
    }

    /// The recovered tabs of a previous owner.
    pub(crate) fn recovered_tabs(&self) -> Vec<TabId> {
        self.recovered_in(&self.table())
    }

    fn recovered_in(&self, table: &TargetTable) -> Vec<TabId> {
        let is_recovered = |tab: &&Arc<Tab>| self.recovered.contains(&tab.target_id);
        table.tabs.values().filter(is_recovered).map(|tab| tab.id).collect()
    }

    fn context_proxies_map(&self) -> MutexGuard<'_, BTreeMap<String, Proxy>> {
        self.context_proxies_map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The error for an unknown context.
    pub(crate) fn no_context(&self, name: &str) -> Error {
        Error::new(Code::BrowserContextNotFound)
            .message(format!("there is no context `{name}`"))
            .evidence("contexts", self.contexts())
    }

    /// The tab with this id.
    pub(crate) fn tab(&self, id: TabId) -> Result<Arc<Tab>> {
        let table = self.table();
        table.tabs.get(&id).cloned().ok_or_else(|| {
            if id.0 <= table.next_tab {
                Error::new(Code::TabTargetLost).message(format!("tab {id} was closed"))
            } else {
                Error::new(Code::TabNotFound).message(format!("there is no tab {id}"))
            }
            .evidence("tabs", table.tabs.keys().map(ToString::to_string).collect::<Vec<_>>())
        })
    }

    /// The current tab of a context; `None` when it has none yet.
    ///
    /// # Errors
    /// `tab.target-lost` when that tab is gone: no other tab is chosen silently.
    pub(crate) fn current(&self, context: Option<&str>) -> Result<Option<Arc<Tab>>> {
        let id = self.table().current.get(&context.map(str::to_owned)).copied();
        id.map(|id| self.tab(id)).transpose()
    }

    /// Makes this the current tab of its context.
    pub(crate) fn switch(&self, tab: &Tab) {
        self.table().current.insert(tab.context.clone(), tab.id);
    }

    /// Chooses the current tab after a deliberate close: the opener, else the youngest tab of the context.
    pub(crate) fn switch_from(&self, closed: &Tab) -> Option<TabId> {
        let mut table = self.table();
        if table.current.get(&closed.context) != Some(&closed.id) {
            return table.current.get(&closed.context).copied();
        }
        let others = || {
            table.tabs.values().filter(|tab| {
                tab.context == closed.context
                    && tab.id != closed.id
                    && self.is_ours(tab)
                    && !table.unselected.contains(&tab.id)
            })
        };
        let next = others()
            .find(|tab| Some(tab.id) == closed.opener)
            .or_else(|| others().next_back())
            .map(|tab| tab.id);
        match next {
            Some(next) => table.current.insert(closed.context.clone(), next),
            None => table.current.remove(&closed.context),
        };
        next
    }

    /// The current tab of a context; creates one if there is none.
    pub(crate) async fn first_tab(
        &self,
        context: Option<&str>,
        deadline: Deadline,
    ) -> Result<Arc<Tab>> {
        // Two concurrent first commands share one tab.
        let _lock = with_deadline(self.tab_creation_lock.lock(), deadline).await?;
        if let Some(tab) = self.current(context)? {
            return Ok(tab);
        }
        let tab = match self.initial_tab(context, deadline).await {
            Some(tab) => tab,
            None => self.new_tab(context, deadline).await?,
        };
        self.switch(&tab);
        Ok(tab)
    }

    /// The initial empty tab of a browser of ours; it may not be in the target table yet. In an attached
    /// browser, only our own tabs are used implicitly.
    async fn initial_tab(&self, context: Option<&str>, deadline: Deadline) -> Option<Arc<Tab>> {
        if context.is_some() || self.process.is_none() {
            return None;
        }
        let first = self.tabs_before + 1;
        let made = |table: &TargetTable| {
            (table.next_tab >= first).then(|| table.tabs.get(&TabId(first)).cloned())
        };
        let tab = self.wait_for(deadline.at_most(INITIAL_TAB), made).await.ok()??;
        self.wait_ready(&tab, deadline).await.ok()?;
        let is_unused = matches!(&*tab.state.borrow().url, "" | "about:blank");
        is_unused.then_some(tab)
    }

    /// Opens an empty tab. It does not become the current tab.
    pub(crate) async fn new_tab(
        &self,
        context: Option<&str>,
        deadline: Deadline,
    ) -> Result<Arc<Tab>> {
        let browser_context_id = match context {
            Some(name) => Some(self.context(name, deadline).await?),
            None => None,
        };
        let create = CreateTarget {
            url: "about:blank".into(),
            browser_context_id,
            // A background tab is not painted; in a window of its own it is, and a headless browser shows no windows.
            new_window: self.is_headless().then_some(true),
            ..CreateTarget::default()
        };
        // A tab created after the timeout would stay in the browser forever.
        let browser = self.connection.browser();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            let created = browser.call(create, Deadline::after(LATE_TAB)).await;
            if let Err(Ok(unclaimed)) = sender.send(created)
                && let Some(target_id) = unclaimed.target_id
            {
                browser.post(&CloseTarget { target_id });
            }
        });
        let created = tokio::time::timeout_at(deadline.at(), receiver).await.map_err(|_| {
            Error::new(Code::CommandTimeout).message("the browser did not open a new tab")
        })?;
        let created = created.map_err(|_| Error::new(Code::BrowserLost))??;
        let target = created.target_id.unwrap_or_default();
        self.own_targets.lock().unwrap_or_else(PoisonError::into_inner).push(target.clone());
        self.tab_made.notify_one();
        let made =
            |table: &TargetTable| table.tabs.values().find(|tab| tab.target_id == target).cloned();
        let tab = self.wait_for(deadline, made).await?;
        self.wait_ready(&tab, deadline).await?;
        Ok(tab)
    }

    /// Waits until a tab's preparation commands are processed.
    async fn wait_ready(&self, tab: &Tab, deadline: Deadline) -> Result<()> {
        let mut state = tab.state.subscribe();
        let ready = state.wait_for(|state| state.is_ready || state.end.is_some());
        match tokio::time::timeout_at(deadline.at(), ready).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::new(Code::CommandTimeout)
                .message(format!("tab {} did not become ready", tab.id))),
        }
    }

    /// Closes a tab and waits until it is gone: Chromium responds earlier.
    pub(crate) async fn close_tab(&self, tab: &Tab, deadline: Deadline) -> Result<()> {
        let close = CloseTarget { target_id: tab.target_id.clone() };
        self.connection.browser().call(close, deadline).await?;
        let mut state = tab.state.subscribe();
        let closed =
            state.wait_for(|state| state.end == Some(TabEnd::Closed) || state.dialog.is_some());
        match tokio::time::timeout_at(deadline.at(), closed).await {
            Ok(Ok(state)) if state.dialog.is_some() => {
                Err(tab.obstacle(&state).unwrap_or_else(|| Error::new(Code::PageDialogOpen)))
            }
            Ok(_) => Ok(()),
            Err(_) => {
                Err(Error::new(Code::CommandTimeout)
                    .message(format!("tab {} did not close", tab.id)))
            }
        }
    }

    /// Removes a context with its tabs and cookies.
    pub(crate) async fn close_context(&self, name: &str, deadline: Deadline) -> Result<()> {
        let id = self.context_id(Some(name)).ok_or_else(|| self.no_context(name))?;
        let dispose = DisposeBrowserContext { browser_context_id: id.clone() };
        self.connection.browser().call(dispose, deadline).await?;
        // After the call: a context that could not be disposed must stay listed.
        let mut table = self.table();
        table.contexts.remove(name);
        table.issued_refs.remove(&Some(name.to_owned()));
        table.current.remove(&Some(name.to_owned()));
        drop(table);
        self.proxies.remove(&id);
        self.context_proxies_map().remove(name);
        Ok(())
    }

    /// The browser context id of a named context, created on first use.
    pub(crate) async fn context(&self, name: &str, deadline: Deadline) -> Result<String> {
        let _lock = with_deadline(self.context_creation_lock.lock(), deadline).await?;
        if let Some(id) = self.context_id(Some(name)) {
            return Ok(id);
        }
        // A context lost with its browser keeps its proxy.
        let proxy = self.context_proxies_map().get(name).cloned();
        self.make_context(name, proxy.as_ref(), deadline).await
    }

    /// Creates a context with a proxy. An existing context keeps its proxy.
    pub(crate) async fn proxied_context(
        &self,
        name: Option<&str>,
        proxy: &Proxy,
        deadline: Deadline,
    ) -> Result<()> {
        let refused = |why: String| {
            Err(Error::new(Code::CommandInvalid)
                .message(format!("a proxy can only be set when its context is created: {why}")))
        };
        let _lock = with_deadline(self.context_creation_lock.lock(), deadline).await?;
        let Some(name) = name else {
            return refused("the default context has its own".into());
        };
        if self.context_id(Some(name)).is_some() {
            return refused(format!("`{name}` exists already"));
        }
        self.make_context(name, Some(proxy), deadline).await?;
        self.context_proxies_map().insert(name.to_owned(), proxy.clone());
        Ok(())
    }

    async fn make_context(
        &self,
        name: &str,
        proxy: Option<&Proxy>,
        deadline: Deadline,
    ) -> Result<String> {
        let proxy_server = proxy.map(Proxy::address).transpose()?;
        let create = CreateBrowserContext {
            dispose_on_detach: Some(true),
            // By default Chromium bypasses the proxy for loopback addresses.
            proxy_bypass_list: proxy_server.as_ref().map(|_| "<-loopback>".into()),
            proxy_server,
        };
        let made = self.connection.browser().call(create, deadline).await?;
        let id = made.browser_context_id.unwrap_or_default();
        self.set_download_behavior(Some(id.clone()));
        if let Some(login) = proxy.and_then(Proxy::login) {
            self.proxies.add(&id, login);
        }
        self.table().contexts.insert(name.to_owned(), id.clone());
        Ok(id)
    }

    /// Waits until `find` returns something in the target table.
    async fn wait_for<T>(
        &self,
        deadline: Deadline,
        find: impl Fn(&TargetTable) -> Option<T>,
    ) -> Result<T> {
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(found) = find(&self.table()) {
                return Ok(found);
            }
            tokio::select! {
                _ = changed.changed() => {}
                reason = self.wait_ended() => return Err(Error::new(Code::BrowserLost).message(reason)),
                () = tokio::time::sleep_until(deadline.at()) => {
                    return Err(Error::new(Code::CommandTimeout).message("the new tab was not attached"));
                }
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, TargetTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a lock until the deadline.
async fn with_deadline<T>(wait: impl Future<Output = T>, deadline: Deadline) -> Result<T> {
    tokio::time::timeout_at(deadline.at(), wait).await.map_err(|_| {
        Error::new(Code::CommandTimeout)
            .message("another command is still creating a tab or context")
    })
}
