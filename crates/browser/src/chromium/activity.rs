//! Per-tab activity log: console messages, exceptions, network requests, navigations, downloads, opened tabs.
//!
//! Every list is bounded: an endlessly logging page costs no more than a silent one.

use super::RunningBrowser;
use crate::events::{BrowserEvent, EventBus};
use crate::navigate;
use crate::note::Note;
use crate::tab::TabId;
use cdp::protocol::CdpEvent;
use cdp::protocol::browser::{DownloadProgress, DownloadWillBegin};
use cdp::protocol::dom_storage::{
    DomStorageItemAdded, DomStorageItemRemoved, DomStorageItemUpdated, DomStorageItemsCleared,
};
use cdp::protocol::network::{
    LoadingFailed, LoadingFinished, RequestWillBeSent, ResponseReceived, WebSocketClosed,
    WebSocketCreated, WebSocketFrameSent,
};
use cdp::protocol::page::{FrameNavigated, FrameRequestedNavigation, FrameStartedNavigating};
use cdp::protocol::runtime::{ConsoleApiCalled, ExceptionThrown, RemoteObject};
use cdp::protocol::storage::{CacheStorageContentUpdated, IndexedDbContentUpdated};
use cdp::{Delivery, Event, Events, LossyString};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// CDP events that feed the activity logs.
pub(super) const EVENTS: &[&str] = &[
    RequestWillBeSent::NAME,
    ResponseReceived::NAME,
    LoadingFinished::NAME,
    LoadingFailed::NAME,
    WebSocketCreated::NAME,
    WebSocketFrameSent::NAME,
    WebSocketClosed::NAME,
    DomStorageItemAdded::NAME,
    DomStorageItemUpdated::NAME,
    DomStorageItemRemoved::NAME,
    DomStorageItemsCleared::NAME,
    IndexedDbContentUpdated::NAME,
    CacheStorageContentUpdated::NAME,
    ConsoleApiCalled::NAME,
    ExceptionThrown::NAME,
    FrameRequestedNavigation::NAME,
    FrameStartedNavigating::NAME,
    FrameNavigated::NAME,
    DownloadWillBegin::NAME,
    DownloadProgress::NAME,
];

/// Capacity of the event queue.
pub(super) const QUEUE: usize = 4096;

/// Lines kept per list.
const MAX_LINES: usize = 500;

/// Page events queued for the next reply.
const MAX_PENDING_EVENTS: usize = 20;

/// Characters kept of a text.
const MAX_CHARS: usize = 500;

/// Suffix of an error from an earlier page that no reply has reported yet.
const ON_EARLIER_PAGE: &str = " on an earlier page";

/// Event kind of file choosers.
pub(crate) const CHOOSER: &str = "file-chooser";

/// Event kind of URLs with an external protocol handler.
const EXTERNAL_LINK: &str = "external-link";

/// A page event for a URL with an external protocol handler.
pub(crate) fn external(url: &str) -> PageEvent {
    let url = page::text::cut(url, MAX_CHARS);
    PageEvent::new(EXTERNAL_LINK, "an address for another program was not opened")
        .with_page_text(&url)
}

/// The same in a frame, where the browser shows a confirmation prompt that may get no answer.
fn external_link_in_frame(url: &str) -> PageEvent {
    let mut page_event = external(url);
    page_event.message += "; if clicks do not reach the page any more, open another site in this tab: \
         the browser asks about it";
    page_event
}

/// A console message or an uncaught exception.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleLine {
    /// `log`, `info`, `warning`, `error`, `debug`; `exception` if uncaught.
    pub level: String,
    /// The message text.
    pub text: String,
    /// Script URL and line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at: Option<String>,
    /// Milliseconds since the tab was opened.
    pub ms: u64,
}

/// A network request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestLine {
    /// `GET`, `POST` …
    pub method: String,
    /// The URL, with secret-looking parts masked.
    pub url: String,
    /// The resource type: `document`, `fetch`, `xhr`, `image` …
    pub r#type: String,
    /// The HTTP status, such as 200; absent until the response.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// The network error, if it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed: Option<String>,
    /// Milliseconds since the tab was opened.
    pub ms: u64,
    #[serde(skip)]
    id: String,
    #[serde(skip)]
    pub(crate) is_over: bool,
}

/// An event that is reported with the next reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageEvent {
    /// `console-error`, `page-error`, `download`, `new-tab`, `dialog`, `file-chooser`, `external-link`.
    pub kind: String,
    /// The event and the suggested next step, if any; contains no page text.
    pub message: String,
    /// Text chosen by the page: a console message, an exception, a file name. Untrusted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub page_text: Option<String>,
    /// The opened tab.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tab: Option<TabId>,
    /// The downloaded file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
}

impl PageEvent {
    pub(crate) fn new(kind: &str, message: impl Into<String>) -> Self {
        let message = page::mask::mask(&message.into()).into_owned();
        Self { kind: kind.to_owned(), message, page_text: None, tab: None, path: None }
    }

    /// Adds page text, its secrets masked.
    pub(crate) fn with_page_text(mut self, text: &str) -> Self {
        self.page_text = Some(page::mask::mask(text).into_owned());
        self
    }

    /// True if the event consists of page text only.
    fn is_page_speech(&self) -> bool {
        is_page_speech(&self.kind)
    }
}

/// True for events and notes that consist of page text only: console errors and exceptions.
pub fn is_page_speech(kind: &str) -> bool {
    matches!(kind, "console-error" | "page-error")
}

/// Kind, message, quoted page text, file path.
impl fmt::Display for PageEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        match self.is_page_speech() {
            true if self.message.ends_with(ON_EARLIER_PAGE) => f.write_str(ON_EARLIER_PAGE)?,
            true => {}
            false => write!(f, ": {}", self.message)?,
        }
        if let Some(text) = &self.page_text {
            write!(f, ": {}", page::text::quoted(text))?;
        }
        match &self.path {
            Some(path) => write!(f, " → {path}"),
            None => Ok(()),
        }
    }
}

impl From<PageEvent> for Note {
    fn from(it: PageEvent) -> Self {
        let note = Self::new(&it.kind, it.message);
        let text = match (it.page_text, it.path) {
            (Some(text), None) => Some(text),
            (None, path) => path,
            // The saved file's name may differ from the suggested one.
            (Some(_), Some(path)) => Some(path),
        };
        Self { page_text: text, ..note }
    }
}

/// A download and its state.
#[derive(Clone, Debug)]
pub(crate) struct DownloadEntry {
    guid: String,
    pub(crate) name: String,
    pub(crate) url: String,
    /// The path when completed, an error when canceled.
    pub(crate) done: Option<Result<PathBuf, String>>,
}

/// Kinds of effects outside the documents of a tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutsideEffect {
    /// A script sent a network request.
    Request,
    /// A document request, in a frame of the page.
    Document,
    /// A change of local or session storage.
    Storage,
    /// A change of IndexedDB or cache storage; its event arrives a little later.
    Database,
    /// A WebSocket was opened, closed, or sent a frame.
    Socket,
    /// A worker started.
    Worker,
}

impl OutsideEffect {
    /// True for network requests.
    pub(crate) fn is_request(self) -> bool {
        matches!(self, Self::Request | Self::Document)
    }

    /// True for storage changes.
    pub(crate) fn is_storage(self) -> bool {
        matches!(self, Self::Storage | Self::Database)
    }
}

/// An effect outside the documents of a tab.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObservedEffect {
    pub(crate) effect: OutsideEffect,
    pub(crate) at: Instant,
    /// The page's wall-clock time of it, in ms since 1970, if the event has one.
    pub(crate) wall_ms: Option<f64>,
    /// Its source was also active while no action ran.
    pub(crate) is_known: bool,
    /// Its source's usual interval has elapsed: a periodic effect.
    pub(crate) is_due: bool,
}

/// Effects kept, and sources whose intervals are tracked.
const MAX_EFFECTS: usize = 200;

/// Longest duration of an action whose end is not reported, and the time after its end during which effects are still
/// attributed to it.
const ACTION: Duration = Duration::from_secs(30);
const AFTERMATH: Duration = Duration::from_millis(1500);

/// The interval of a source that is active while no action runs.
#[derive(Debug)]
struct Period {
    last: Instant,
    interval: Option<Duration>,
}

impl Period {
    /// True if the next periodic effect is expected about now.
    fn is_due(&self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.last);
        self.interval.is_some_and(|interval| since <= interval * 3 + Duration::from_millis(50))
    }

    fn record(&mut self, now: Instant) {
        self.interval = Some(now.saturating_duration_since(self.last));
        self.last = now;
    }
}

/// The activity log of one tab.
#[derive(Debug)]
pub(crate) struct TabActivity {
    opened_at: Instant,
    log: Mutex<ActivityLog>,
    /// Counts changes.
    pub(crate) changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct ActivityLog {
    console: VecDeque<ConsoleLine>,
    requests: VecDeque<RequestLine>,
    /// Pending requests and their sequence numbers.
    open: HashMap<String, u64>,
    /// Number of requests so far.
    request_count: u64,
    /// Time of the latest start or end of a request.
    last_request_at: Option<Instant>,
    /// Number of navigations that the main frame started.
    departures: u64,
    /// The latest of them: loader id and URL.
    pending_navigation: Option<(String, String)>,
    /// Number of tabs opened from here.
    tabs: u64,
    downloads: Vec<DownloadEntry>,
    /// Number of downloads so far.
    downloaded: u64,
    /// Number of file choosers opened.
    choosers: u64,
    /// Recent effects.
    effects: VecDeque<ObservedEffect>,
    periods: HashMap<String, Period>,
    /// Until then, effects are attributed to an action.
    acted_until: Option<Instant>,
    pending_events: VecDeque<PageEvent>,
    /// Number of page events dropped.
    dropped_events: u64,
    bus: Option<(TabId, EventBus)>,
}

/// A position in an activity log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ActivityCursor {
    pub(crate) request_count: u64,
    pub(crate) departures: u64,
    pub(crate) tabs: u64,
    pub(crate) downloaded: u64,
    pub(crate) choosers: u64,
}

impl Default for TabActivity {
    fn default() -> Self {
        Self { opened_at: Instant::now(), log: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl TabActivity {
    /// The activity of a tab, whose page events also go to the bus.
    pub(crate) fn new(tab: TabId, bus: EventBus) -> Self {
        let log = ActivityLog { bus: Some((tab, bus)), ..ActivityLog::default() };
        Self { log: Mutex::new(log), ..Self::default() }
    }

    fn log(&self) -> MutexGuard<'_, ActivityLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current position.
    pub(crate) fn cursor(&self) -> ActivityCursor {
        let log = self.log();
        ActivityCursor {
            request_count: log.request_count,
            departures: log.departures,
            tabs: log.tabs,
            downloaded: log.downloaded,
            choosers: log.choosers,
        }
    }

    /// Number of pending requests that began after a cursor.
    pub(crate) fn open_since(&self, cursor: ActivityCursor) -> usize {
        self.log().open.values().filter(|number| **number > cursor.request_count).count()
    }

    /// Effects since then.
    pub(crate) fn effects_since(&self, since: Instant) -> Vec<ObservedEffect> {
        self.log().effects.iter().filter(|effect| effect.at >= since).copied().collect()
    }

    /// From here on, effects are attributed to an action.
    pub(crate) fn begin_action(&self) {
        self.log().acted_until = Some(Instant::now() + ACTION);
    }

    /// Marks the end of an action.
    pub(crate) fn end_action(&self) {
        self.log().acted_until = Some(Instant::now() + AFTERMATH);
    }

    /// Takes the queued page events.
    pub(crate) fn take_events(&self) -> Vec<PageEvent> {
        let mut log = self.log();
        let mut events: Vec<PageEvent> = log.pending_events.drain(..).collect();
        let dropped_events = std::mem::take(&mut log.dropped_events);
        if dropped_events > 0 {
            events.push(PageEvent::new(
                "more",
                format!("{dropped_events} more; see `agbrowse console`"),
            ));
        }
        events
    }

    pub(crate) fn console(&self) -> Vec<ConsoleLine> {
        self.log().console.iter().cloned().collect()
    }

    pub(crate) fn requests(&self) -> Vec<RequestLine> {
        self.log().requests.iter().cloned().collect()
    }

    pub(crate) fn clear_console(&self) {
        self.log().console.clear();
    }

    pub(crate) fn clear_requests(&self) {
        self.log().requests.clear();
    }

    /// Downloads that began after a cursor.
    pub(crate) fn downloads_since(&self, cursor: ActivityCursor) -> Vec<DownloadEntry> {
        let log = self.log();
        let new = log.downloaded.saturating_sub(cursor.downloaded) as usize;
        log.downloads.iter().rev().take(new).rev().cloned().collect()
    }

    /// Time since the latest request activity; zero while requests are pending.
    pub(crate) fn idle_for(&self) -> Duration {
        let log = self.log();
        match log.open.is_empty() {
            true => log.last_request_at.unwrap_or(self.opened_at).elapsed(),
            false => Duration::ZERO,
        }
    }

    /// Drops queued events of a kind that the reply reports itself.
    pub(crate) fn discard_events(&self, kind: &str) {
        self.log().pending_events.retain(|it| it.kind != kind);
    }

    /// The URL of the main frame's pending navigation, until its response arrives.
    pub(crate) fn pending_navigation(&self) -> Option<String> {
        let mut log = self.log();
        let (loader, url) = log.pending_navigation.clone()?;
        // The request id of a document is its loader id.
        let is_open = log.open.contains_key(&loader);
        let is_silent = log.request(&loader).is_some_and(|line| line.status.is_none());
        (is_open && is_silent).then_some(url)
    }

    /// Records a tab opened from this one.
    pub(super) fn note_tab(&self, id: TabId) {
        self.write(|log| {
            log.tabs += 1;
            let message =
                format!("a new tab was opened: {id}; go there with `agbrowse tab switch {id}`");
            log.queue_event(PageEvent { tab: Some(id), ..PageEvent::new("new-tab", message) });
        });
    }

    /// Records a started worker.
    pub(super) fn note_worker(&self, url: &str) {
        self.write(|log| log.record_effect(OutsideEffect::Worker, format!("worker {url}"), None));
    }

    /// Records a file chooser; returns its sequence number.
    pub(super) fn note_chooser(&self, message: &str) -> u64 {
        self.write(|log| {
            log.choosers += 1;
            log.pending_events.retain(|it| it.kind != CHOOSER);
            log.queue_event(PageEvent::new(CHOOSER, message));
        });
        self.log().choosers
    }

    fn write(&self, change: impl FnOnce(&mut ActivityLog)) {
        change(&mut self.log());
        self.changed.send_modify(|count| *count += 1);
    }

    fn ms(&self) -> u64 {
        u64::try_from(self.opened_at.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn note_console(&self, mut line: ConsoleLine) {
        line.text = page::mask::mask(&line.text).into_owned();
        self.write(|log| {
            if matches!(&*line.level, "error" | "exception") {
                let (kind, message) = match &*line.level {
                    "error" => ("console-error", "page console error"),
                    _ => ("page-error", "page error"),
                };
                log.queue_event(PageEvent::new(kind, message).with_page_text(&line.text));
            }
            push(&mut log.console, line);
        });
    }
}

impl ActivityLog {
    /// Records an effect, and whether its source is periodic.
    fn record_effect(&mut self, effect: OutsideEffect, source: String, wall_ms: Option<f64>) {
        let now = Instant::now();
        let known = self.periods.get_mut(&source);
        if self.effects.len() >= MAX_EFFECTS {
            self.effects.pop_front();
        }
        let is_known = known.is_some();
        let is_due = known.as_ref().is_some_and(|period| period.is_due(now));
        self.effects.push_back(ObservedEffect { effect, at: now, wall_ms, is_known, is_due });
        let is_idle = self.acted_until.is_none_or(|until| now > until);
        match known {
            Some(period) if is_idle || is_due => period.record(now),
            None if is_idle => {
                if self.periods.len() >= MAX_EFFECTS {
                    self.periods.clear();
                }
                self.periods.insert(source, Period { last: now, interval: None });
            }
            _ => {}
        }
    }

    fn queue_event(&mut self, event: PageEvent) {
        if let Some((tab, bus)) = &self.bus {
            bus.send(|| BrowserEvent::Page { tab: *tab, page_event: event.clone() });
        }
        if self.pending_events.contains(&event) {
            return;
        }
        if self.pending_events.len() >= MAX_PENDING_EVENTS {
            self.dropped_events += 1;
            return;
        }
        self.pending_events.push_back(event);
    }

    /// Marks queued page errors as those of an earlier page.
    fn mark_as_earlier(&mut self) {
        for it in &mut self.pending_events {
            if it.is_page_speech() && !it.message.ends_with(ON_EARLIER_PAGE) {
                it.message.push_str(ON_EARLIER_PAGE);
            }
        }
    }

    fn request(&mut self, id: &str) -> Option<&mut RequestLine> {
        self.requests.iter_mut().rev().find(|line| line.id == id)
    }
}

fn push<T>(lines: &mut VecDeque<T>, line: T) {
    if lines.len() >= MAX_LINES {
        lines.pop_front();
    }
    lines.push_back(line);
}

/// Feeds the activity logs until the browser is gone.
pub(super) async fn run_event_loop(mut events: Events, live: Weak<RunningBrowser>) {
    while let Some(delivery) = events.next().await {
        let Some(live) = live.upgrade() else { return };
        match delivery {
            Delivery::Event(event) => _ = live.record_event(&event),
            Delivery::Lagged(lost) => {
                tracing::warn!(lost, "activity events lost");
                // Pending requests may have ended: nothing must wait for them.
                for row in live.tabs() {
                    row.tab.activity.write(|log| log.open.clear());
                }
            }
        }
    }
}

/// Logs that are further behind than this are read as they are.
const CATCH_UP: Duration = Duration::from_millis(100);

impl RunningBrowser {
    /// Waits until the activity logs have processed the events that the browser has sent so far. A page's response is
    /// sent after the events that it caused, and overtakes them here.
    pub(crate) async fn sync_activity(&self) {
        if tokio::time::timeout(CATCH_UP, self.activity_cursor.catch_up()).await.is_err() {
            tracing::debug!("the activity logs are behind");
        }
    }

    fn record_event(&self, event: &Event) -> Option<()> {
        if event.method.starts_with("Browser.") {
            return self.download_event(event);
        }
        let session = event.session.as_ref()?;
        let tab = self.tab_of(session)?;
        let activity = &tab.activity;
        match &*event.method {
            RequestWillBeSent::NAME => {
                let sent: RequestWillBeSent = event.decode().ok()?;
                let (id, request) = (sent.request_id?, sent.request?);
                let url = request.url.map(LossyString::into_string).unwrap_or_default();
                if url.starts_with("data:")
                    || url.starts_with("blob:")
                    || navigate::is_foreign(&url)
                {
                    return None;
                }
                let ms = activity.ms();
                let initiator = sent.initiator.and_then(|it| it.r#type).unwrap_or_default();
                activity.write(|log| {
                    // Requests of the parser belong to a page that is still loading.
                    if !matches!(&*initiator, "parser" | "preload") {
                        let url_path = url.split(['?', '#']).next().unwrap_or_default();
                        let effect = match sent.r#type.as_deref() {
                            Some("Document") => OutsideEffect::Document,
                            _ => OutsideEffect::Request,
                        };
                        let wall_ms = sent.wall_time.map(|seconds| seconds * 1000.0);
                        log.record_effect(effect, format!("request {url_path}"), wall_ms);
                    }
                    if let Some(answer) = &sent.redirect_response
                        && let Some(before) = log.request(&id)
                    {
                        before.status = answer.status.map(|status| status as u16);
                        before.is_over = true;
                    }
                    log.request_count += 1;
                    log.last_request_at = Some(Instant::now());
                    let number = log.request_count;
                    log.open.insert(id.clone(), number);
                    let line = RequestLine {
                        method: request.method.unwrap_or_default(),
                        url: page::text::cut(&page::text::mask_url(&url), MAX_CHARS).into_owned(),
                        r#type: sent.r#type.unwrap_or_default().to_lowercase(),
                        status: None,
                        failed: None,
                        ms,
                        id,
                        is_over: false,
                    };
                    push(&mut log.requests, line);
                });
            }
            ResponseReceived::NAME => {
                let received: ResponseReceived = event.decode().ok()?;
                let status = received.response?.status? as u16;
                activity.write(|log| {
                    if let Some(line) = received.request_id.and_then(|id| log.request(&id)) {
                        line.status = Some(status);
                    }
                });
            }
            LoadingFinished::NAME => {
                let id = event.decode::<LoadingFinished>().ok()?.request_id?;
                activity.write(|log| {
                    log.open.remove(&id);
                    log.last_request_at = Some(Instant::now());
                    if let Some(line) = log.request(&id) {
                        line.is_over = true;
                    }
                });
            }
            LoadingFailed::NAME => {
                let failed: LoadingFailed = event.decode().ok()?;
                let id = failed.request_id?;
                activity.write(|log| {
                    log.open.remove(&id);
                    log.last_request_at = Some(Instant::now());
                    if let Some(line) = log.request(&id) {
                        line.is_over = true;
                        line.failed = failed.error_text.map(LossyString::into_string);
                    }
                });
            }
            WebSocketCreated::NAME | WebSocketClosed::NAME => {
                activity.write(|log| {
                    log.record_effect(OutsideEffect::Socket, event.method.to_string(), None);
                });
            }
            WebSocketFrameSent::NAME => {
                let id = event.decode::<WebSocketFrameSent>().ok()?.request_id?;
                activity.write(|log| {
                    log.record_effect(OutsideEffect::Socket, format!("socket {id}"), None);
                });
            }
            DomStorageItemAdded::NAME
            | DomStorageItemUpdated::NAME
            | DomStorageItemRemoved::NAME
            | DomStorageItemsCleared::NAME => {
                let DomStorageItemAdded { storage_id, key } = event.decode().ok()?;
                let is_local = storage_id.and_then(|id| id.is_local_storage).unwrap_or_default();
                let key = key.map(LossyString::into_string).unwrap_or_default();
                let source = format!("storage {is_local} {}", page::text::cut(&key, MAX_CHARS));
                activity.write(|log| log.record_effect(OutsideEffect::Storage, source, None));
            }
            IndexedDbContentUpdated::NAME => {
                let changed: IndexedDbContentUpdated = event.decode().ok()?;
                let names = [changed.database_name?, changed.object_store_name?];
                let [database, store] = names.map(LossyString::into_string);
                let source = format!("database {database} {store}");
                activity.write(|log| log.record_effect(OutsideEffect::Database, source, None));
            }
            CacheStorageContentUpdated::NAME => {
                let changed: CacheStorageContentUpdated = event.decode().ok()?;
                let source = format!("cache {}", changed.cache_name?.into_string());
                activity.write(|log| log.record_effect(OutsideEffect::Database, source, None));
            }
            ConsoleApiCalled::NAME => {
                let called: ConsoleApiCalled = event.decode().ok()?;
                let level = called.r#type.unwrap_or_default();
                let words: Vec<String> = called
                    .args
                    .unwrap_or_default()
                    .iter()
                    .take(10)
                    .map(format_console_value)
                    .collect();
                let top =
                    called.stack_trace.and_then(|stack| stack.call_frames?.into_iter().next());
                let at = top.and_then(|top| source_location(top.url, top.line_number));
                let text = page::text::cut(&words.join(" "), MAX_CHARS).into_owned();
                let level = if level == "assert" { "error".into() } else { level };
                activity.note_console(ConsoleLine { level, text, at, ms: activity.ms() });
            }
            ExceptionThrown::NAME => {
                let details = event.decode::<ExceptionThrown>().ok()?.exception_details?;
                let thrown = details
                    .exception
                    .as_ref()
                    .map(format_console_value)
                    .filter(|words| !words.is_empty());
                let text = thrown
                    .or_else(|| details.text.map(LossyString::into_string))
                    .unwrap_or_default();
                let text = text.lines().next().unwrap_or_default();
                let text = page::text::cut(text, MAX_CHARS).into_owned();
                let at = details.line_number.map(|line| format!("line {}", line + 1));
                activity.note_console(ConsoleLine {
                    level: "exception".into(),
                    text,
                    at,
                    ms: activity.ms(),
                });
            }
            FrameRequestedNavigation::NAME => {
                let navigation: FrameRequestedNavigation = event.decode().ok()?;
                if let Some(url) = navigation.url.filter(|url| navigate::is_foreign(url)) {
                    let is_main = navigation.frame_id.as_ref() == Some(&tab.target_id);
                    let link = if is_main { external(&url) } else { external_link_in_frame(&url) };
                    activity.write(|log| log.queue_event(link));
                    return None;
                }
                if navigation.frame_id.as_ref() == Some(&tab.target_id)
                    && navigation.disposition.as_deref() == Some("currentTab")
                {
                    activity.write(|log| log.departures += 1);
                }
            }
            FrameStartedNavigating::NAME => {
                let navigation: FrameStartedNavigating = event.decode().ok()?;
                if navigation.frame_id.as_ref() == Some(&tab.target_id)
                    && navigation
                        .navigation_type
                        .as_deref()
                        .is_none_or(|kind| kind != "sameDocument")
                    && !navigation.url.as_deref().is_some_and(navigate::is_foreign)
                {
                    activity.write(|log| {
                        log.departures += 1;
                        log.pending_navigation = navigation.loader_id.zip(navigation.url);
                        log.mark_as_earlier();
                    });
                }
            }
            // Until another document commits, errors belong to the previous one.
            FrameNavigated::NAME => {
                let frame = event.decode::<FrameNavigated>().ok()?.frame?;
                if frame.id.as_ref() == Some(&tab.target_id) {
                    activity.write(|log| {
                        log.mark_as_earlier();
                        // No action has run in the new document yet.
                        log.acted_until = None;
                        log.periods.clear();
                    });
                }
            }
            _ => {}
        }
        Some(())
    }

    fn download_event(&self, event: &Event) -> Option<()> {
        match &*event.method {
            DownloadWillBegin::NAME => {
                let begun: DownloadWillBegin = event.decode().ok()?;
                let frame = begun.frame_id.unwrap_or_default();
                let tab = self.tab_of_frame(&frame)?;
                let name =
                    begun.suggested_filename.map(LossyString::into_string).unwrap_or_default();
                let url = begun.url.map(LossyString::into_string).unwrap_or_default();
                let guid = begun.guid?;
                tab.activity.write(|log| {
                    if log.downloads.len() >= MAX_LINES {
                        log.downloads.remove(0);
                    }
                    log.downloaded += 1;
                    log.downloads.push(DownloadEntry { guid, name, url, done: None });
                });
            }
            DownloadProgress::NAME => {
                let progress: DownloadProgress = event.decode().ok()?;
                let (guid, state) = (progress.guid?, progress.state?);
                if state == "inProgress" {
                    return None;
                }
                for row in self.tabs() {
                    let activity = &row.tab.activity;
                    let known = activity.log().downloads.iter().find(|it| it.guid == guid).cloned();
                    let Some(download) = known else { continue };
                    let done = match &*state {
                        "completed" => self.downloads.take_in(&guid, &download.name),
                        _ => Err("it was canceled".to_owned()),
                    };
                    activity.write(|log| {
                        let mut page_event = match &done {
                            Ok(_) => PageEvent::new("download", "a file was downloaded"),
                            Err(why) => PageEvent::new(
                                "download",
                                format!("a file was not downloaded ({why})"),
                            ),
                        }
                        .with_page_text(&download.name);
                        page_event.path = done.as_ref().ok().map(|path| path.display().to_string());
                        log.queue_event(page_event);
                        if let Some(it) = log.downloads.iter_mut().find(|it| it.guid == guid) {
                            it.done = Some(done);
                        }
                    });
                    return Some(());
                }
            }
            _ => {}
        }
        Some(())
    }
}

/// Formats a console argument.
fn format_console_value(value: &RemoteObject) -> String {
    if let Some(held) = &value.value {
        return serde_json::from_str::<LossyString>(held.get())
            .map_or_else(|_| held.get().to_owned(), LossyString::into_string);
    }
    let words = value.unserializable_value.clone();
    words
        .or_else(|| value.description.as_ref().map(|text| text.0.clone()))
        .or_else(|| value.r#type.clone())
        .unwrap_or_default()
}

fn source_location(url: Option<LossyString>, line: Option<i64>) -> Option<String> {
    let url = url.map(LossyString::into_string).filter(|url| !url.is_empty())?;
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    Some(format!(
        "{}:{}",
        page::text::cut(&page::mask::mask(plain), 200),
        line.unwrap_or_default() + 1
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periodic_effect_is_due_until_it_stops() {
        let opened_at = Instant::now();
        let at = |ms: u64| opened_at + Duration::from_millis(ms);
        let mut period = Period { last: at(0), interval: None };
        assert!(!period.is_due(at(200)), "no interval yet");
        period.record(at(200));
        assert!(period.is_due(at(390)) && period.is_due(at(600)));
        assert!(!period.is_due(at(2000)), "it has stopped");
    }
}
