//! [`Browser`]: the entry point of every command, [`Browser::run`], and the life cycle of the browser process.
//!
//! The browser is started when a command first needs it. After an unexpected exit, commands that need its pages fail
//! with `browser.lost` until a page is opened again: an agent must never act on a blank tab that it mistakes for its
//! page.

use crate::access::Access;
use crate::backend_refs;
use crate::chromium::{CarryOver, OrphanTabs, RunningBrowser};
use crate::command::{Command, CommandContext, Reply, TabNeed};
use crate::error::{Code, Error, Result, Stage};
use crate::events::{EventBus, EventStream};
use crate::launch::{LaunchOverrides, Options};
use crate::note::Note;
use crate::progress::Progress;
use crate::recorder::Recorder;
use crate::secret::{SecretScrubber, SecretString};
use crate::tab::TabId;
use cdp::Deadline;
use page::refs::Dialect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tracing::Instrument as _;

/// Default timeout of a command.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout of a browser start, independent of the command that waits for it.
const LAUNCH_TIMEOUT: Duration = Duration::from_secs(30);

/// A command with its context, tab, timeouts and access rights.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The command.
    pub command: Command,
    /// The browser context; the default one when absent. Created on first use.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub context: Option<String>,
    /// The tab; the context's current one when absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tab: Option<TabId>,
    /// Timeout of the command in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timeout_ms: Option<u64>,
    /// Timeout for an element to become actionable, in milliseconds: 3 seconds when absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub patience_ms: Option<u64>,
    /// The notation of refs in the reply.
    #[serde(default)]
    pub dialect: Dialect,
    /// URLs and files that the caller may access; all when absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub access: Option<Access>,
}

impl Request {
    /// A request for the current tab of the default context.
    pub fn new(command: Command) -> Self {
        Self {
            command,
            context: None,
            tab: None,
            timeout_ms: None,
            patience_ms: None,
            dialect: Dialect::Cli,
            access: None,
        }
    }
}

/// The result of a command: its reply, tab and notes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The reply.
    pub reply: Reply,
    /// The tab that the command used.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tab: Option<TabId>,
    /// Remarks on the result.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// A browser that is started on demand.
pub struct Browser {
    shared: Arc<Shared>,
}

struct Shared {
    options: Mutex<Options>,
    state: Mutex<BrowserState>,
    /// The loss of an earlier browser's pages, until it is reported and the caller has a page of its own.
    lost: Mutex<Option<Loss>>,
    /// Number of lost browsers.
    losses: AtomicU64,
    /// True once the closing browser is gone.
    closing: Mutex<Option<watch::Receiver<bool>>>,
    /// Number of closed browsers, and the initiator of the last close.
    closes: Mutex<(u64, ClosedBy)>,
    /// State carried over from earlier browsers.
    carry_over: Mutex<CarryOver>,
    /// Notified when we open a tab.
    tab_made: Arc<Notify>,
    /// Secrets to scrub from all output.
    secrets: Arc<SecretScrubber>,
    bus: EventBus,
    recorder: Mutex<Option<Arc<dyn Recorder>>>,
    /// Number of commands so far.
    steps: AtomicU64,
}

/// An unexpected exit of the browser, with the loss of its pages.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    /// Distinguishes it from earlier losses.
    pub(crate) number: u64,
    pub(crate) reason: String,
}

/// The initiator of a close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedBy {
    /// The command `close`.
    Command,
    /// The owner of the [`Browser`].
    Owner,
}

enum BrowserState {
    /// Not started, or closed on purpose.
    Idle,
    /// Starting. A waiting command may give up without harm: the start continues unless the browser is closed.
    Starting {
        done: watch::Receiver<Option<Result<Vec<Note>>>>,
        options: Options,
        give_up: watch::Sender<bool>,
    },
    Live(Arc<RunningBrowser>),
}

impl Browser {
    /// A browser that is launched, or attached to, when a command first needs it.
    pub fn new(options: Options) -> Self {
        Self {
            shared: Arc::new(Shared {
                options: Mutex::new(options),
                state: Mutex::new(BrowserState::Idle),
                lost: Mutex::new(None),
                losses: AtomicU64::new(0),
                closing: Mutex::new(None),
                closes: Mutex::new((0, ClosedBy::Owner)),
                carry_over: Mutex::default(),
                tab_made: Arc::default(),
                secrets: Arc::default(),
                bus: EventBus::default(),
                recorder: Mutex::default(),
                steps: AtomicU64::new(0),
            }),
        }
    }

    /// Records the loss of an earlier owner's browser, so that a blank tab is not mistaken for its pages.
    pub fn mark_lost(&self, reason: impl Into<String>) {
        self.shared.note_loss(reason.into());
    }

    /// Runs a command.
    ///
    /// # Errors
    /// One of the documented codes, at the latest at the command's deadline.
    pub async fn run(&self, request: Request) -> Result<Outcome> {
        self.run_with(request, &LaunchOverrides::default()).await
    }

    /// Runs a command with launch options of its own. They take effect when it starts the browser.
    ///
    /// # Errors
    /// As [`run`](Self::run); `browser.options-conflict` if the running browser has other options.
    pub async fn run_with(&self, request: Request, overrides: &LaunchOverrides) -> Result<Outcome> {
        let allowed = request.timeout_ms.map_or(TIMEOUT, Duration::from_millis);
        let patience = request.patience_ms.map(Duration::from_millis);
        let progress = Progress::new(Deadline::after(allowed), patience);
        let mut cx = CommandContext::new(self, progress);
        cx.overrides = Some(overrides);
        cx.context = request.context;
        cx.tab = request.tab;
        cx.access = request.access;
        let (closes, _) = *lock(&self.shared.closes);
        self.shared.await_exit().await;
        let mut reply = cx.execute(&request.command).await;
        if let Err(denied) = cx.check_shown().await {
            let is_mutated =
                reply.as_ref().err().is_none_or(|error| error.details().mutation_allowed);
            reply = Err(denied.mutation_allowed(is_mutated));
            // Page text in notes is withheld too.
            cx.progress.notes.retain(|note| note.page_text.is_none());
        }
        if request.dialect == Dialect::Mcp
            && let Some(tab) = self.live().zip(cx.used).and_then(|(live, id)| live.tab(id).ok())
        {
            let texts = match &mut reply {
                Ok(reply) => reply.verb_reply_mut().texts_mut(),
                Err(error) => backend_refs::texts_of_error(error),
            };
            let texts = texts
                .into_iter()
                .chain(backend_refs::texts_of_notes(&mut cx.progress.notes))
                .collect();
            backend_refs::rewrite_all(&tab, texts, cx.progress.deadline).await;
        }
        let outcome = match reply {
            Ok(reply) => {
                let events = cx.drain_page_events().await.into_iter();
                cx.progress.notes.extend(events.map(Note::from));
                let secrets = &self.shared.secrets;
                secrets.scrub_reply(reply).and_then(|reply| {
                    let notes = secrets.scrub(std::mem::take(&mut cx.progress.notes))?;
                    Ok(Outcome { reply, tab: cx.used, notes })
                })
            }
            Err(error) => {
                let error = cx.progress.explain(self.explain_failure(error, closes).await);
                let error = error.with_notes(std::mem::take(&mut cx.progress.notes));
                Err(self.shared.secrets.scrub(error).unwrap_or_else(|withheld| withheld))
            }
        };
        // Only here: a dropped command has reported nothing.
        if let Some(number) = cx.acknowledged {
            lock(&self.shared.lost).take_if(|loss| loss.number == number);
        }
        outcome
    }

    /// Compares our tree of the current page with the browser's accessibility tree, element by element, for tests.
    ///
    /// # Errors
    /// As for a snapshot.
    #[doc(hidden)]
    pub async fn compare_trees(&self, facts: &[&str]) -> Result<Vec<crate::NodePair>> {
        crate::observe::oracle::compare(&mut self.test_context(), facts).await
    }

    /// The visible and usable elements of the current page, for tests.
    ///
    /// # Errors
    /// As for a snapshot.
    #[doc(hidden)]
    pub async fn reachable(&self) -> Result<Vec<crate::Reachability>> {
        crate::observe::oracle::reach(&mut self.test_context()).await
    }

    /// Runs a script in the observer's isolated world, for tests.
    ///
    /// # Errors
    /// If it throws.
    #[doc(hidden)]
    pub async fn run_in_world(&self, context: &str, script: &str) -> Result<()> {
        let mut cx = self.test_context();
        cx.context = Some(context.to_owned());
        crate::observe::oracle::run_in_world(&mut cx, script).await
    }

    /// Sets the lifetime of a tab's cached page when no change is reported, for tests.
    ///
    /// # Errors
    /// If there is no such tab.
    #[doc(hidden)]
    pub async fn set_cache_lifetime(&self, tab: TabId, lifetime: Duration) -> Result<()> {
        let mut cx = self.test_context();
        cx.tab = Some(tab);
        let turn = cx.take_turn(TabNeed::Page).await?;
        turn.observation.lock().await.cache_lifetime = lifetime;
        Ok(())
    }

    fn test_context(&self) -> CommandContext<'_> {
        CommandContext::new(self, Progress::new(Deadline::after(TIMEOUT * 2), None))
    }

    /// Subscribes to the events of commands and pages.
    pub fn events(&self) -> EventStream {
        self.shared.bus.subscribe(self.shared.secrets.clone())
    }

    /// Sets the recorder of all further commands; `None` stops recording.
    pub fn set_recorder(&self, recorder: Option<Arc<dyn Recorder>>) {
        *lock(&self.shared.recorder) = recorder;
    }

    pub(crate) fn recorder(&self) -> Option<Arc<dyn Recorder>> {
        lock(&self.shared.recorder).clone()
    }

    pub(crate) fn bus(&self) -> &EventBus {
        &self.shared.bus
    }

    /// Allocates the number of a command.
    pub(crate) fn next_step(&self) -> u64 {
        self.shared.steps.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Scrubs a text from all further replies.
    pub(crate) fn add_secret(&self, text: &SecretString) {
        self.shared.secrets.add(text);
    }

    /// The launch options. Changes apply to the next start.
    pub fn options(&self) -> Options {
        lock(&self.shared.options).clone()
    }

    /// Closes the browser, if there is one, and waits until its process and profile are cleaned up.
    pub async fn close(&self) {
        _ = self.begin_close(ClosedBy::Owner, Deadline::after(LAUNCH_TIMEOUT)).await;
        self.shared.wait_closed().await;
    }

    /// Begins to close the browser. It accepts no more commands; the rest happens in the background.
    pub(crate) async fn begin_close(&self, closed_by: ClosedBy, deadline: Deadline) -> Result<()> {
        if !matches!(&*self.shared.state(), BrowserState::Idle) {
            let mut closes = lock(&self.shared.closes);
            *closes = (closes.0 + 1, closed_by);
        }
        let starting = match &*self.shared.state() {
            BrowserState::Starting { done, give_up, .. } => {
                give_up.send_replace(true);
                Some(done.clone())
            }
            _ => None,
        };
        // It may have started at the same moment, and its process must be gone before the next start.
        if let Some(mut done) = starting {
            let given_up =
                tokio::time::timeout_at(deadline.at(), done.wait_for(Option::is_some)).await;
            if given_up.is_err() {
                return Err(Error::new(Code::CommandTimeout)
                    .stage(Stage::Launch)
                    .message("the browser is still being started"));
            }
        }
        let state = std::mem::replace(&mut *self.shared.state(), BrowserState::Idle);
        let mut carry_over = lock(&self.shared.carry_over);
        let orphans = carry_over.orphans.take();
        if let BrowserState::Live(live) = state {
            // Our tabs are closed with it.
            carry_over.merge(CarryOver { orphans: None, ..live.carry_over() });
            self.shared.close_in_background(live);
        }
        drop(carry_over);
        if let Some(orphans) = orphans {
            self.shared.spawn_closing(orphans.close());
        }
        // A close also acknowledges a loss.
        *lock(&self.shared.lost) = None;
        lock(&self.shared.carry_over).context_proxies_map.clear();
        Ok(())
    }

    /// True while a browser runs.
    pub fn is_running(&self) -> bool {
        self.live().is_some()
    }

    /// True while a browser starts.
    pub(crate) fn is_starting(&self) -> bool {
        matches!(&*self.shared.state(), BrowserState::Starting { .. })
    }

    /// The highest tab number so far.
    pub fn last_tab(&self) -> u32 {
        let now = self.live().map_or(0, |live| live.last_tab());
        lock(&self.shared.carry_over).tabs.max(now)
    }

    /// Numbers new tabs from above `last`, so that the ids of an earlier owner's tabs are not reused.
    pub fn number_tabs_after(&self, last: u32) {
        let mut carry_over = lock(&self.shared.carry_over);
        carry_over.tabs = carry_over.tabs.max(last);
    }

    /// Our tabs that would be orphaned in an attached browser if we exited now.
    pub fn orphan_tabs(&self) -> Option<OrphanTabs> {
        let now = self.live().and_then(|live| live.orphan_tabs());
        now.or_else(|| lock(&self.shared.carry_over).orphans.clone())
    }

    /// Waits until we open a tab: [`orphan_tabs`](Self::orphan_tabs) may change in the middle of a command.
    pub async fn tab_was_made(&self) {
        self.shared.tab_made.notified().await;
    }

    /// Adopts the tabs that an earlier owner left in an attached browser: they are ours again once we attach to it, and
    /// are closed with the next close.
    pub fn adopt_orphan_tabs(&self, orphans: OrphanTabs) {
        lock(&self.shared.carry_over).orphans = Some(orphans);
    }

    /// The error for pages that were lost with their browser.
    pub(crate) fn lost(&self, reason: &str) -> Error {
        let orphans = lock(&self.shared.carry_over).orphans.clone();
        Error::new(Code::BrowserLost).message(OrphanTabs::tell(orphans.as_ref(), reason))
    }

    /// Number of open tabs.
    pub fn tab_count(&self) -> usize {
        self.live().map_or(0, |live| live.tabs().len())
    }

    /// The running browser. Detects its exit.
    pub(crate) fn live(&self) -> Option<Arc<RunningBrowser>> {
        self.shared.live()
    }

    /// The reason of an unexpected exit, until a page is opened again.
    pub fn loss(&self) -> Option<String> {
        self.current_loss().map(|loss| loss.reason)
    }

    pub(crate) fn current_loss(&self) -> Option<Loss> {
        self.live();
        lock(&self.shared.lost).clone()
    }

    /// The running browser, started if there is none.
    pub(crate) async fn start(
        &self,
        progress: &mut Progress,
        overrides: Option<&LaunchOverrides>,
    ) -> Result<Arc<RunningBrowser>> {
        let deadline = progress.deadline;
        if let Some(live) = self.live() {
            overrides.map_or(Ok(()), |overrides| check_options(overrides, &live.options))?;
            return Ok(live);
        }
        progress.step("starting the browser");
        let mut done = self.shared.clone().begin_start(overrides)?;
        let started = tokio::time::timeout_at(deadline.at(), done.wait_for(Option::is_some)).await;
        match started {
            Ok(Ok(result)) => match result.as_ref() {
                Some(Ok(launch_notes)) => progress.notes.extend(launch_notes.iter().cloned()),
                Some(Err(error)) => return Err(error.clone()),
                None => {}
            },
            Ok(Err(_)) => return Err(Error::new(Code::BrowserLaunchFailed)),
            Err(_) => {
                let ms = deadline.total().as_millis();
                return Err(Error::new(Code::CommandTimeout)
                    .stage(Stage::Launch)
                    .message(format!("the browser is still being started after {ms} ms")));
            }
        }
        self.live().ok_or_else(|| {
            let reason = self.loss().unwrap_or_else(|| "it was closed".into());
            Error::new(Code::BrowserLost)
                .message(format!("the browser exited right after its start: {reason}"))
        })
    }

    /// Replaces the error of a call that failed because the browser exited by one with the reason. `closes` is the
    /// number of closed browsers when the command began.
    async fn explain_failure(&self, error: Error, closes: u64) -> Error {
        let is_suspect =
            matches!(error.code(), Code::BrowserLost | Code::TabTargetLost | Code::TabCrashed);
        let (closes_now, closed_by) = *lock(&self.shared.closes);
        if is_suspect && closes_now != closes {
            let by = match closed_by {
                ClosedBy::Command => "by another command, `close`,",
                ClosedBy::Owner => "by its owner",
            };
            return Error::new(Code::BrowserLost)
                .message(format!("the browser was closed {by} while this command was under way"));
        }
        let live = match &*self.shared.state() {
            BrowserState::Live(live) if is_suspect => live.clone(),
            _ => return error,
        };
        if live.connection.closed().is_none() {
            return error;
        }
        let reason = live.wait_ended().await;
        self.live();
        self.lost(&reason)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, BrowserState> {
        lock(&self.state)
    }

    fn live(&self) -> Option<Arc<RunningBrowser>> {
        let mut state = self.state();
        let BrowserState::Live(live) = &*state else { return None };
        match live.ended() {
            None => Some(live.clone()),
            Some(reason) => {
                lock(&self.carry_over).merge(live.carry_over());
                self.note_loss(reason);
                let ended = live.clone();
                *state = BrowserState::Idle;
                drop(state);
                self.close_in_background(ended);
                None
            }
        }
    }

    fn note_loss(&self, reason: String) {
        let number = self.losses.fetch_add(1, Ordering::Relaxed);
        *lock(&self.lost) = Some(Loss { number, reason });
    }

    /// If the connection is closed, waits a moment for the process to exit: its exit status says more about the reason.
    async fn await_exit(&self) {
        let live = match &*self.state() {
            BrowserState::Live(live) if live.connection.closed().is_some() => live.clone(),
            _ => return,
        };
        live.wait_ended().await;
    }

    /// Closes a browser in the background: it may still be writing its profile.
    fn close_in_background(&self, live: Arc<RunningBrowser>) {
        self.spawn_closing(async move { live.close().await });
    }

    /// Runs a part of closing in the background, in parallel with those in progress.
    fn spawn_closing(&self, work: impl Future<Output = ()> + Send + 'static) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (sender, done) = watch::channel(false);
        let other = lock(&self.closing).replace(done);
        runtime.spawn(async move {
            work.await;
            if let Some(mut other) = other {
                _ = other.wait_for(|gone| *gone).await;
            }
            sender.send_replace(true);
        });
    }

    /// Waits until a closing browser is gone.
    async fn wait_closed(&self) {
        let closing = lock(&self.closing).clone();
        if let Some(mut closing) = closing {
            _ = closing.wait_for(|gone| *gone).await;
        }
    }

    /// Begins to start a browser, unless a start is in progress.
    fn begin_start(
        self: Arc<Self>,
        overrides: Option<&LaunchOverrides>,
    ) -> Result<watch::Receiver<Option<Result<Vec<Note>>>>> {
        let mut state = self.state();
        if let BrowserState::Starting { done, options, .. } = &*state {
            overrides.map_or(Ok(()), |overrides| check_options(overrides, options))?;
            return Ok(done.clone());
        }
        let options = lock(&self.options).clone();
        let options = overrides.map_or(options.clone(), |overrides| overrides.apply(&options).0);
        let (sender, done) = watch::channel(None);
        let (give_up, mut given_up) = watch::channel(false);
        *state = BrowserState::Starting { done: done.clone(), options: options.clone(), give_up };
        drop(state);
        tokio::spawn(async move {
            // The previous browser may still hold the profile.
            self.wait_closed().await;
            let carry_over = lock(&self.carry_over).clone();
            let unwanted = async move {
                // The sender is gone: the start can no longer be canceled.
                if given_up.wait_for(|given_up| *given_up).await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let (tab_made, bus) = (self.tab_made.clone(), self.bus.clone());
            let started = RunningBrowser::start(
                &options,
                carry_over,
                (tab_made, bus),
                Deadline::after(LAUNCH_TIMEOUT),
                unwanted,
            )
            .instrument(tracing::debug_span!("browser_initialize"))
            .await;
            let result = match started {
                Ok((live, notes)) => {
                    lock(&self.carry_over).orphans.clone_from(&live.orphans_elsewhere);
                    *lock(&self.options) = options;
                    *self.state() = BrowserState::Live(live);
                    Ok(notes)
                }
                Err(error) => {
                    *self.state() = BrowserState::Idle;
                    Err(error)
                }
            };
            sender.send_replace(Some(result));
        });
        Ok(done)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Rejects overrides that differ from the options of a running browser.
fn check_options(overrides: &LaunchOverrides, running: &Options) -> Result<()> {
    let (_, changed) = overrides.apply(running);
    if changed.is_empty() {
        return Ok(());
    }
    let flags: Vec<String> = changed.iter().map(|name| format!("--{name}")).collect();
    Err(Error::new(Code::BrowserOptionsConflict)
        .message(format!(
            "the browser of this session already runs with another `{}`",
            flags.join("`, `")
        ))
        .evidence("differs", flags))
}
