//! The hallway: every command goes through [`Browser::run`].
//!
//! A browser is started when a command first needs it. When it ends unasked, commands that need its pages
//! are told so until somebody opens a page again: an agent must never act on a blank tab that it takes for
//! the page it left.

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

/// How long a command may take unless it says otherwise.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// How long a browser may take to come up, whoever waits for it.
const LAUNCH_TIMEOUT: Duration = Duration::from_secs(30);

/// A command and where it shall go.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// What to do.
    pub command: Command,
    /// The context to do it in; the default one when absent. Made on first use.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub context: Option<String>,
    /// The tab to do it on; the context's current one when absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tab: Option<TabId>,
    /// How long it may take, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timeout_ms: Option<u64>,
    /// How long an element may take to become usable, in milliseconds: 3 seconds when absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub patience_ms: Option<u64>,
    /// How the refs in its reply are written.
    #[serde(default)]
    pub dialect: Dialect,
    /// Addresses and files that the caller may have; all when absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub access: Option<Access>,
}

impl Request {
    /// A command for the current tab of the default context.
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

/// What came of a command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The result.
    pub reply: Reply,
    /// The tab it was done on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tab: Option<TabId>,
    /// What else there is to know.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// A browser that is there when it is needed.
pub struct Browser {
    shared: Arc<Shared>,
}

struct Shared {
    options: Mutex<Options>,
    state: Mutex<BrowserState>,
    /// The loss of an earlier browser's pages, until a caller was told of it and has a page of its own.
    lost: Mutex<Option<Loss>>,
    /// How many browsers were lost.
    losses: AtomicU64,
    /// Turns true when the browser that is being closed is gone.
    closing: Mutex<Option<watch::Receiver<bool>>>,
    /// How many browsers were closed, and who closed the last.
    closes: Mutex<(u64, ClosedBy)>,
    /// What is left of earlier browsers.
    carry_over: Mutex<CarryOver>,
    /// Rung when there is a new tab of ours.
    tab_made: Arc<Notify>,
    /// Texts that went into a page and must not come out of it.
    secrets: Arc<SecretScrubber>,
    bus: EventBus,
    recorder: Mutex<Option<Arc<dyn Recorder>>>,
    /// Commands run so far.
    steps: AtomicU64,
}

/// A browser that ended unasked, and its pages with it.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    /// Tells it from the losses before it.
    pub(crate) number: u64,
    pub(crate) reason: String,
}

/// Who closes a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedBy {
    /// The command `close`.
    Command,
    /// Whoever has the [`Browser`].
    Owner,
}

enum BrowserState {
    /// Not started, or closed on purpose.
    Idle,
    /// On its way. Whoever waits for it may give up without harm: it comes up all the same, unless it is closed.
    Starting {
        done: watch::Receiver<Option<Result<Vec<Note>>>>,
        options: Options,
        give_up: watch::Sender<bool>,
    },
    Live(Arc<RunningBrowser>),
}

impl Browser {
    /// A browser to be started, or attached to, when a command first needs it.
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

    /// Says that an earlier owner's browser was lost, so that nobody takes a blank tab for its pages.
    pub fn mark_lost(&self, reason: impl Into<String>) {
        self.shared.note_loss(reason.into());
    }

    /// Runs a command.
    ///
    /// # Errors
    /// With one of the documented codes, at the latest when the command's time is over.
    pub async fn run(&self, request: Request) -> Result<Outcome> {
        self.run_with(request, &LaunchOverrides::default()).await
    }

    /// Runs a command with launch options of its own. They take effect when it starts the browser.
    ///
    /// # Errors
    /// As [`run`](Self::run); `browser.options-conflict` when it needs a browser that runs with others.
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
            // What the page said of itself is not told either.
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
        // Only here, where it is on its way to the caller: a command that is cut off has told nobody.
        if let Some(number) = cx.acknowledged {
            lock(&self.shared.lost).take_if(|loss| loss.number == number);
        }
        outcome
    }

    /// Every element of the current page as our tree and the browser's own tell it, for tests.
    ///
    /// # Errors
    /// As for a snapshot.
    #[doc(hidden)]
    pub async fn compare_trees(&self, facts: &[&str]) -> Result<Vec<crate::NodePair>> {
        crate::observe::oracle::compare(&mut self.test_context(), facts).await
    }

    /// Every element of the current page that can be seen and used, for tests.
    ///
    /// # Errors
    /// As for a snapshot.
    #[doc(hidden)]
    pub async fn reachable(&self) -> Result<Vec<crate::Reachability>> {
        crate::observe::oracle::reach(&mut self.test_context()).await
    }

    /// Runs a script where our own scripts are, for tests.
    ///
    /// # Errors
    /// When it throws.
    #[doc(hidden)]
    pub async fn run_in_world(&self, context: &str, script: &str) -> Result<()> {
        let mut cx = self.test_context();
        cx.context = Some(context.to_owned());
        crate::observe::oracle::run_in_world(&mut cx, script).await
    }

    /// Has what was seen of a tab count for so long when nothing is heard of it, for tests.
    ///
    /// # Errors
    /// When there is no such tab.
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

    /// The events of commands and pages from here on.
    pub fn events(&self) -> EventStream {
        self.shared.bus.subscribe(self.shared.secrets.clone())
    }

    /// Records every command from the next one on; `None` stops recording.
    pub fn set_recorder(&self, recorder: Option<Arc<dyn Recorder>>) {
        *lock(&self.shared.recorder) = recorder;
    }

    pub(crate) fn recorder(&self) -> Option<Arc<dyn Recorder>> {
        lock(&self.shared.recorder).clone()
    }

    pub(crate) fn bus(&self) -> &EventBus {
        &self.shared.bus
    }

    /// The number of another command.
    pub(crate) fn next_step(&self) -> u64 {
        self.shared.steps.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Scrubs a text from all replies from here on.
    pub(crate) fn add_secret(&self, text: &SecretString) {
        self.shared.secrets.add(text);
    }

    /// How the browser is got. Changes apply to the next start.
    pub fn options(&self) -> Options {
        lock(&self.shared.options).clone()
    }

    /// Ends the browser if there is one, and waits until nothing is left of it.
    pub async fn close(&self) {
        _ = self.begin_close(ClosedBy::Owner, Deadline::after(LAUNCH_TIMEOUT)).await;
        self.shared.wait_closed().await;
    }

    /// Begins to end the browser. It takes no more commands from here on; the rest is done in the background.
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
        // It may have come up at the same moment, and its process has to be gone before the next is started.
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
            // Its own tabs are closed with it.
            carry_over.merge(CarryOver { orphans: None, ..live.carry_over() });
            self.shared.close_in_background(live);
        }
        drop(carry_over);
        if let Some(orphans) = orphans {
            self.shared.spawn_closing(orphans.close());
        }
        // Who closes gives up what was lost, too.
        *lock(&self.shared.lost) = None;
        lock(&self.shared.carry_over).context_proxies_map.clear();
        Ok(())
    }

    /// Whether a browser runs now.
    pub fn is_running(&self) -> bool {
        self.live().is_some()
    }

    /// Whether one is on its way.
    pub(crate) fn is_starting(&self) -> bool {
        matches!(&*self.shared.state(), BrowserState::Starting { .. })
    }

    /// The highest number given to a tab so far.
    pub fn last_tab(&self) -> u32 {
        let now = self.live().map_or(0, |live| live.last_tab());
        lock(&self.shared.carry_over).tabs.max(now)
    }

    /// Numbers tabs from above `last` on, so that those of an earlier owner's browser are not used again.
    pub fn number_tabs_after(&self, last: u32) {
        let mut carry_over = lock(&self.shared.carry_over);
        carry_over.tabs = carry_over.tabs.max(last);
    }

    /// The tabs of ours that would stay in somebody else's browser if we were gone now.
    pub fn orphan_tabs(&self) -> Option<OrphanTabs> {
        let now = self.live().and_then(|live| live.orphan_tabs());
        now.or_else(|| lock(&self.shared.carry_over).orphans.clone())
    }

    /// Waits until there is a new tab of ours: [`left`](Self::left) may be another then, in the middle of a command.
    pub async fn tab_was_made(&self) {
        self.shared.tab_made.notified().await;
    }

    /// Takes in the tabs that an earlier owner left in somebody else's browser: they are ours again once it is attached
    /// to, and go with the next close.
    pub fn adopt_orphan_tabs(&self, orphans: OrphanTabs) {
        lock(&self.shared.carry_over).orphans = Some(orphans);
    }

    /// The error for pages that went with their browser.
    pub(crate) fn lost(&self, reason: &str) -> Error {
        let orphans = lock(&self.shared.carry_over).orphans.clone();
        Error::new(Code::BrowserLost).message(OrphanTabs::tell(orphans.as_ref(), reason))
    }

    /// How many tabs are open now.
    pub fn tab_count(&self) -> usize {
        self.live().map_or(0, |live| live.tabs().len())
    }

    /// The running browser; notices when it has ended.
    pub(crate) fn live(&self) -> Option<Arc<RunningBrowser>> {
        self.shared.live()
    }

    /// Why the browser is gone, if it went unasked and nobody has opened a page since.
    pub fn loss(&self) -> Option<String> {
        self.current_loss().map(|loss| loss.reason)
    }

    pub(crate) fn current_loss(&self) -> Option<Loss> {
        self.live();
        lock(&self.shared.lost).clone()
    }

    /// The running browser, started when there is none.
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

    /// A call that failed because the browser ended is told as that, with the reason. `closes` is how many browsers had
    /// been closed when it began.
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

    /// Where the browser has hung up, waits a moment for its process to end: that says more about why.
    async fn await_exit(&self) {
        let live = match &*self.state() {
            BrowserState::Live(live) if live.connection.closed().is_some() => live.clone(),
            _ => return,
        };
        live.wait_ended().await;
    }

    /// Has what is left of a browser go in the background: it may still be writing its profile.
    fn close_in_background(&self, live: Arc<RunningBrowser>) {
        self.spawn_closing(async move { live.close().await });
    }

    /// Does a part of closing in the background, beside those that are under way.
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

    /// Waits until a browser that is being closed is gone.
    async fn wait_closed(&self) {
        let closing = lock(&self.closing).clone();
        if let Some(mut closing) = closing {
            _ = closing.wait_for(|gone| *gone).await;
        }
    }

    /// Begins to start a browser, unless that is under way.
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
            // The one before may still hold the profile.
            self.wait_closed().await;
            let carry_over = lock(&self.carry_over).clone();
            let unwanted = async move {
                // An error is the end of what could give up.
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

/// Refuses overrides that the options of a running browser do not have.
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
