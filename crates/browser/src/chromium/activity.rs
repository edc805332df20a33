//! Per-tab activity log: console messages, exceptions, network requests, navigations, downloads, opened tabs.
//!
//! Every list is bounded: an endlessly logging page costs no more than a silent one.

use super::RunningBrowser;
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
const MOST_LINES: usize = 500;

/// Page events queued for the next reply.
const MOST_UNTOLD: usize = 20;

/// Characters kept of a text.
const MOST_CHARS: usize = 500;

/// Suffix of an error from an earlier page that no reply has reported yet.
const EARLIER: &str = " on an earlier page";

/// Event kind of file choosers.
pub(crate) const CHOOSER: &str = "file-chooser";

/// Event kind of URLs with an external protocol handler.
const EXTERNAL: &str = "external-link";

/// A page event for a URL with an external protocol handler.
pub(crate) fn external(url: &str) -> PageEvent {
    let url = page::text::cut(url, MOST_CHARS);
    PageEvent::new(EXTERNAL, "an address for another program was not opened").with_page_text(&url)
}

/// The same in a frame, where the browser shows a confirmation prompt that may get no answer.
fn external_in_frame(url: &str) -> PageEvent {
    let mut told = external(url);
    told.message += "; if clicks do not reach the page any more, open another site in this tab: \
         the browser asks about it";
    told
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
            true if self.message.ends_with(EARLIER) => f.write_str(EARLIER)?,
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
    pub(crate) fn is_asked(self) -> bool {
        matches!(self, Self::Request | Self::Document)
    }

    /// True for storage changes.
    pub(crate) fn is_kept(self) -> bool {
        matches!(self, Self::Storage | Self::Database)
    }
}

/// An effect outside the documents of a tab.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObservedEffect {
    pub(crate) sign: OutsideEffect,
    pub(crate) at: Instant,
    /// The page's wall-clock time of it, in ms since 1970, if the event has one.
    pub(crate) wall_ms: Option<f64>,
    /// Its source was also active while no action ran.
    pub(crate) is_known: bool,
    /// Its source's usual interval has elapsed: a periodic effect.
    pub(crate) is_due: bool,
}

/// Effects kept, and sources whose intervals are tracked.
const MOST_SIGNS: usize = 200;

/// Longest duration of an action whose end is not reported, and the time after its end during which effects are still
/// attributed to it.
const ACTION: Duration = Duration::from_secs(30);
const AFTERMATH: Duration = Duration::from_millis(1500);

/// The interval of a source that is active while no action runs.
#[derive(Debug)]
struct Rhythm {
    last: Instant,
    pause: Option<Duration>,
}

impl Rhythm {
    /// True if the next periodic effect is expected about now.
    fn is_due(&self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.last);
        self.pause.is_some_and(|pause| since <= pause * 3 + Duration::from_millis(50))
    }

    fn beat(&mut self, now: Instant) {
        self.pause = Some(now.saturating_duration_since(self.last));
        self.last = now;
    }
}

/// The activity log of one tab.
#[derive(Debug)]
pub(crate) struct TabActivity {
    begun: Instant,
    pages: Mutex<ActivityLog>,
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
    asked: u64,
    /// Time of the latest start or end of a request.
    stirred: Option<Instant>,
    /// Number of navigations that the main frame started.
    departures: u64,
    /// The latest of them: loader id and URL.
    bound_for: Option<(String, String)>,
    /// Number of tabs opened from here.
    tabs: u64,
    downloads: Vec<DownloadEntry>,
    /// Number of downloads so far.
    downloaded: u64,
    /// Number of file choosers opened.
    choosers: u64,
    /// Recent effects.
    signs: VecDeque<ObservedEffect>,
    rhythms: HashMap<String, Rhythm>,
    /// Until then, effects are attributed to an action.
    acted_until: Option<Instant>,
    untold: VecDeque<PageEvent>,
    /// Number of page events dropped.
    unsaid: u64,
}

/// A position in an activity log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ActivityCursor {
    pub(crate) asked: u64,
    pub(crate) departures: u64,
    pub(crate) tabs: u64,
    pub(crate) downloaded: u64,
    pub(crate) choosers: u64,
}

impl Default for TabActivity {
    fn default() -> Self {
        Self { begun: Instant::now(), pages: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl TabActivity {
    fn pages(&self) -> MutexGuard<'_, ActivityLog> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current position.
    pub(crate) fn mark(&self) -> ActivityCursor {
        let pages = self.pages();
        ActivityCursor {
            asked: pages.asked,
            departures: pages.departures,
            tabs: pages.tabs,
            downloaded: pages.downloaded,
            choosers: pages.choosers,
        }
    }

    /// Number of pending requests that began after a cursor.
    pub(crate) fn open_since(&self, mark: ActivityCursor) -> usize {
        self.pages().open.values().filter(|number| **number > mark.asked).count()
    }

    /// Effects since then.
    pub(crate) fn signs(&self, since: Instant) -> Vec<ObservedEffect> {
        self.pages().signs.iter().filter(|noted| noted.at >= since).copied().collect()
    }

    /// From here on, effects are attributed to an action.
    pub(crate) fn action_begins(&self) {
        self.pages().acted_until = Some(Instant::now() + ACTION);
    }

    /// Marks the end of an action.
    pub(crate) fn action_ends(&self) {
        self.pages().acted_until = Some(Instant::now() + AFTERMATH);
    }

    /// Takes the queued page events.
    pub(crate) fn take_untold(&self) -> Vec<PageEvent> {
        let mut pages = self.pages();
        let mut told: Vec<PageEvent> = pages.untold.drain(..).collect();
        let unsaid = std::mem::take(&mut pages.unsaid);
        if unsaid > 0 {
            told.push(PageEvent::new("more", format!("{unsaid} more; see `agbrowse console`")));
        }
        told
    }

    pub(crate) fn console(&self) -> Vec<ConsoleLine> {
        self.pages().console.iter().cloned().collect()
    }

    pub(crate) fn requests(&self) -> Vec<RequestLine> {
        self.pages().requests.iter().cloned().collect()
    }

    pub(crate) fn clear_console(&self) {
        self.pages().console.clear();
    }

    pub(crate) fn clear_requests(&self) {
        self.pages().requests.clear();
    }

    /// Downloads that began after a cursor.
    pub(crate) fn downloads_since(&self, mark: ActivityCursor) -> Vec<DownloadEntry> {
        let pages = self.pages();
        let new = pages.downloaded.saturating_sub(mark.downloaded) as usize;
        pages.downloads.iter().rev().take(new).rev().cloned().collect()
    }

    /// Time since the latest request activity; zero while requests are pending.
    pub(crate) fn quiet_for(&self) -> Duration {
        let pages = self.pages();
        match pages.open.is_empty() {
            true => pages.stirred.unwrap_or(self.begun).elapsed(),
            false => Duration::ZERO,
        }
    }

    /// Drops queued events of a kind that the reply reports itself.
    pub(crate) fn forget_untold(&self, kind: &str) {
        self.pages().untold.retain(|it| it.kind != kind);
    }

    /// The URL of the main frame's pending navigation, until its response arrives.
    pub(crate) fn bound_for(&self) -> Option<String> {
        let mut pages = self.pages();
        let (loader, url) = pages.bound_for.clone()?;
        // The request id of a document is its loader id.
        let is_open = pages.open.contains_key(&loader);
        let is_silent = pages.request(&loader).is_some_and(|line| line.status.is_none());
        (is_open && is_silent).then_some(url)
    }

    /// Records a tab opened from this one.
    pub(super) fn note_tab(&self, id: TabId) {
        self.write(|pages| {
            pages.tabs += 1;
            let message =
                format!("a new tab was opened: {id}; go there with `agbrowse tab switch {id}`");
            pages.tell(PageEvent { tab: Some(id), ..PageEvent::new("new-tab", message) });
        });
    }

    /// Records a started worker.
    pub(super) fn note_worker(&self, url: &str) {
        self.write(|pages| pages.note_sign(OutsideEffect::Worker, format!("worker {url}"), None));
    }

    /// Records a file chooser; returns its sequence number.
    pub(super) fn note_chooser(&self, message: &str) -> u64 {
        self.write(|pages| {
            pages.choosers += 1;
            pages.untold.retain(|it| it.kind != CHOOSER);
            pages.tell(PageEvent::new(CHOOSER, message));
        });
        self.pages().choosers
    }

    fn write(&self, change: impl FnOnce(&mut ActivityLog)) {
        change(&mut self.pages());
        self.changed.send_modify(|count| *count += 1);
    }

    fn ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn note_console(&self, mut line: ConsoleLine) {
        line.text = page::mask::mask(&line.text).into_owned();
        self.write(|pages| {
            if matches!(&*line.level, "error" | "exception") {
                let (kind, message) = match &*line.level {
                    "error" => ("console-error", "page console error"),
                    _ => ("page-error", "page error"),
                };
                pages.tell(PageEvent::new(kind, message).with_page_text(&line.text));
            }
            push(&mut pages.console, line);
        });
    }
}

impl ActivityLog {
    /// Records an effect, and whether its source is periodic.
    fn note_sign(&mut self, sign: OutsideEffect, source: String, wall_ms: Option<f64>) {
        let now = Instant::now();
        let known = self.rhythms.get_mut(&source);
        if self.signs.len() >= MOST_SIGNS {
            self.signs.pop_front();
        }
        let is_known = known.is_some();
        let is_due = known.as_ref().is_some_and(|rhythm| rhythm.is_due(now));
        self.signs.push_back(ObservedEffect { sign, at: now, wall_ms, is_known, is_due });
        let is_idle = self.acted_until.is_none_or(|until| now > until);
        match known {
            Some(rhythm) if is_idle || is_due => rhythm.beat(now),
            None if is_idle => {
                if self.rhythms.len() >= MOST_SIGNS {
                    self.rhythms.clear();
                }
                self.rhythms.insert(source, Rhythm { last: now, pause: None });
            }
            _ => {}
        }
    }

    fn tell(&mut self, what: PageEvent) {
        if self.untold.contains(&what) {
            return;
        }
        if self.untold.len() >= MOST_UNTOLD {
            self.unsaid += 1;
            return;
        }
        self.untold.push_back(what);
    }

    /// Marks queued page errors as those of an earlier page.
    fn age(&mut self) {
        for it in &mut self.untold {
            if it.is_page_speech() && !it.message.ends_with(EARLIER) {
                it.message.push_str(EARLIER);
            }
        }
    }

    fn request(&mut self, id: &str) -> Option<&mut RequestLine> {
        self.requests.iter_mut().rev().find(|line| line.id == id)
    }
}

fn push<T>(lines: &mut VecDeque<T>, line: T) {
    if lines.len() >= MOST_LINES {
        lines.pop_front();
    }
    lines.push_back(line);
}

/// Feeds the activity logs until the browser is gone.
pub(super) async fn keep(mut events: Events, live: Weak<RunningBrowser>) {
    while let Some(delivery) = events.next().await {
        let Some(live) = live.upgrade() else { return };
        match delivery {
            Delivery::Event(event) => _ = live.journal_event(&event),
            Delivery::Lagged(lost) => {
                tracing::warn!(lost, "happenings lost");
                // Pending requests may have ended: nothing must wait for them.
                for row in live.tabs() {
                    row.tab.activity.write(|pages| pages.open.clear());
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
    pub(crate) async fn activity_is_current(&self) {
        if tokio::time::timeout(CATCH_UP, self.journals.catch_up()).await.is_err() {
            tracing::debug!("the journals are behind");
        }
    }

    fn journal_event(&self, event: &Event) -> Option<()> {
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
                activity.write(|pages| {
                    // Requests of the parser belong to a page that is still loading.
                    if !matches!(&*initiator, "parser" | "preload") {
                        let place = url.split(['?', '#']).next().unwrap_or_default();
                        let sign = match sent.r#type.as_deref() {
                            Some("Document") => OutsideEffect::Document,
                            _ => OutsideEffect::Request,
                        };
                        let wall_ms = sent.wall_time.map(|seconds| seconds * 1000.0);
                        pages.note_sign(sign, format!("request {place}"), wall_ms);
                    }
                    if let Some(answer) = &sent.redirect_response
                        && let Some(before) = pages.request(&id)
                    {
                        before.status = answer.status.map(|status| status as u16);
                        before.is_over = true;
                    }
                    pages.asked += 1;
                    pages.stirred = Some(Instant::now());
                    let number = pages.asked;
                    pages.open.insert(id.clone(), number);
                    let line = RequestLine {
                        method: request.method.unwrap_or_default(),
                        url: page::text::cut(&page::text::mask_url(&url), MOST_CHARS).into_owned(),
                        r#type: sent.r#type.unwrap_or_default().to_lowercase(),
                        status: None,
                        failed: None,
                        ms,
                        id,
                        is_over: false,
                    };
                    push(&mut pages.requests, line);
                });
            }
            ResponseReceived::NAME => {
                let received: ResponseReceived = event.decode().ok()?;
                let status = received.response?.status? as u16;
                activity.write(|pages| {
                    if let Some(line) = received.request_id.and_then(|id| pages.request(&id)) {
                        line.status = Some(status);
                    }
                });
            }
            LoadingFinished::NAME => {
                let id = event.decode::<LoadingFinished>().ok()?.request_id?;
                activity.write(|pages| {
                    pages.open.remove(&id);
                    pages.stirred = Some(Instant::now());
                    if let Some(line) = pages.request(&id) {
                        line.is_over = true;
                    }
                });
            }
            LoadingFailed::NAME => {
                let failed: LoadingFailed = event.decode().ok()?;
                let id = failed.request_id?;
                activity.write(|pages| {
                    pages.open.remove(&id);
                    pages.stirred = Some(Instant::now());
                    if let Some(line) = pages.request(&id) {
                        line.is_over = true;
                        line.failed = failed.error_text.map(LossyString::into_string);
                    }
                });
            }
            WebSocketCreated::NAME | WebSocketClosed::NAME => {
                activity.write(|pages| {
                    pages.note_sign(OutsideEffect::Socket, event.method.to_string(), None)
                });
            }
            WebSocketFrameSent::NAME => {
                let id = event.decode::<WebSocketFrameSent>().ok()?.request_id?;
                activity.write(|pages| {
                    pages.note_sign(OutsideEffect::Socket, format!("socket {id}"), None)
                });
            }
            DomStorageItemAdded::NAME
            | DomStorageItemUpdated::NAME
            | DomStorageItemRemoved::NAME
            | DomStorageItemsCleared::NAME => {
                let DomStorageItemAdded { storage_id, key } = event.decode().ok()?;
                let is_local = storage_id.and_then(|id| id.is_local_storage).unwrap_or_default();
                let key = key.map(LossyString::into_string).unwrap_or_default();
                let source = format!("storage {is_local} {}", page::text::cut(&key, MOST_CHARS));
                activity.write(|pages| pages.note_sign(OutsideEffect::Storage, source, None));
            }
            IndexedDbContentUpdated::NAME => {
                let changed: IndexedDbContentUpdated = event.decode().ok()?;
                let names = [changed.database_name?, changed.object_store_name?];
                let [database, store] = names.map(LossyString::into_string);
                let source = format!("database {database} {store}");
                activity.write(|pages| pages.note_sign(OutsideEffect::Database, source, None));
            }
            CacheStorageContentUpdated::NAME => {
                let changed: CacheStorageContentUpdated = event.decode().ok()?;
                let source = format!("cache {}", changed.cache_name?.into_string());
                activity.write(|pages| pages.note_sign(OutsideEffect::Database, source, None));
            }
            ConsoleApiCalled::NAME => {
                let called: ConsoleApiCalled = event.decode().ok()?;
                let level = called.r#type.unwrap_or_default();
                let words: Vec<String> =
                    called.args.unwrap_or_default().iter().take(10).map(in_words).collect();
                let top =
                    called.stack_trace.and_then(|stack| stack.call_frames?.into_iter().next());
                let at = top.and_then(|top| place(top.url, top.line_number));
                let text = page::text::cut(&words.join(" "), MOST_CHARS).into_owned();
                let level = if level == "assert" { "error".into() } else { level };
                activity.note_console(ConsoleLine { level, text, at, ms: activity.ms() });
            }
            ExceptionThrown::NAME => {
                let details = event.decode::<ExceptionThrown>().ok()?.exception_details?;
                let thrown =
                    details.exception.as_ref().map(in_words).filter(|words| !words.is_empty());
                let text = thrown
                    .or_else(|| details.text.map(LossyString::into_string))
                    .unwrap_or_default();
                let text = text.lines().next().unwrap_or_default();
                let text = page::text::cut(text, MOST_CHARS).into_owned();
                let at = details.line_number.map(|line| format!("line {}", line + 1));
                activity.note_console(ConsoleLine {
                    level: "exception".into(),
                    text,
                    at,
                    ms: activity.ms(),
                });
            }
            FrameRequestedNavigation::NAME => {
                let wants: FrameRequestedNavigation = event.decode().ok()?;
                if let Some(url) = wants.url.filter(|url| navigate::is_foreign(url)) {
                    let is_main = wants.frame_id.as_ref() == Some(&tab.target_id);
                    let told = if is_main { external(&url) } else { external_in_frame(&url) };
                    activity.write(|pages| pages.tell(told));
                    return None;
                }
                if wants.frame_id.as_ref() == Some(&tab.target_id)
                    && wants.disposition.as_deref() == Some("currentTab")
                {
                    activity.write(|pages| pages.departures += 1);
                }
            }
            FrameStartedNavigating::NAME => {
                let goes: FrameStartedNavigating = event.decode().ok()?;
                if goes.frame_id.as_ref() == Some(&tab.target_id)
                    && goes.navigation_type.as_deref().is_none_or(|kind| kind != "sameDocument")
                    && !goes.url.as_deref().is_some_and(navigate::is_foreign)
                {
                    activity.write(|pages| {
                        pages.departures += 1;
                        pages.bound_for = goes.loader_id.zip(goes.url);
                        pages.age();
                    });
                }
            }
            // Until another document commits, errors belong to the previous one.
            FrameNavigated::NAME => {
                let frame = event.decode::<FrameNavigated>().ok()?.frame?;
                if frame.id.as_ref() == Some(&tab.target_id) {
                    activity.write(|pages| {
                        pages.age();
                        // No action has run in the new document yet.
                        pages.acted_until = None;
                        pages.rhythms.clear();
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
                tab.activity.write(|pages| {
                    if pages.downloads.len() >= MOST_LINES {
                        pages.downloads.remove(0);
                    }
                    pages.downloaded += 1;
                    pages.downloads.push(DownloadEntry { guid, name, url, done: None });
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
                    let known =
                        activity.pages().downloads.iter().find(|it| it.guid == guid).cloned();
                    let Some(download) = known else { continue };
                    let done = match &*state {
                        "completed" => self.downloads.take_in(&guid, &download.name),
                        _ => Err("it was canceled".to_owned()),
                    };
                    activity.write(|pages| {
                        let mut told = match &done {
                            Ok(_) => PageEvent::new("download", "a file was downloaded"),
                            Err(why) => PageEvent::new(
                                "download",
                                format!("a file was not downloaded ({why})"),
                            ),
                        }
                        .with_page_text(&download.name);
                        told.path = done.as_ref().ok().map(|path| path.display().to_string());
                        pages.tell(told);
                        if let Some(it) = pages.downloads.iter_mut().find(|it| it.guid == guid) {
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
fn in_words(value: &RemoteObject) -> String {
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

fn place(url: Option<LossyString>, line: Option<i64>) -> Option<String> {
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
    fn what_comes_in_a_rhythm_is_due_until_it_stops() {
        let begun = Instant::now();
        let at = |ms: u64| begun + Duration::from_millis(ms);
        let mut rhythm = Rhythm { last: at(0), pause: None };
        assert!(!rhythm.is_due(at(200)), "nobody knows yet");
        rhythm.beat(at(200));
        assert!(rhythm.is_due(at(390)) && rhythm.is_due(at(600)));
        assert!(!rhythm.is_due(at(2000)), "it has stopped");
    }
}
