//! The hallway: every command goes through [`Browser::run`].
//!
//! A browser is started when a command first needs it. When it ends unasked, commands that need its pages
//! are told so until somebody opens a page again: an agent must never act on a blank tab that it takes for
//! the page it left.

use crate::access::Access;
use crate::backend_refs;
use crate::chromium::activity::PageEvent;
use crate::chromium::{CarryOver, OrphanTabs, RunningBrowser};
use crate::command::{Command, Reply};
use crate::error::{Code, Error, Result, Stage};
use crate::launch::{LaunchOverrides, Options};
use crate::navigate::{Navigation, Until};
use crate::note::Note;
use crate::observe::DeferredRefs;
use crate::secret::{SecretScrubber, SecretString};
use crate::tab::{Tab, TabId, Turn};
use cdp::Deadline;
use page::refs::Dialect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tracing::Instrument as _;

/// How long a command may take unless it says otherwise.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// How long a browser may take to come up, whoever waits for it.
const LAUNCH: Duration = Duration::from_secs(30);

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
    slot: Mutex<BrowserState>,
    /// The loss of an earlier browser's pages, until a caller was told of it and has a page of its own.
    lost: Mutex<Option<Loss>>,
    /// How many browsers were lost.
    losses: AtomicU64,
    /// Turns true when the browser that is being closed is gone.
    closing: Mutex<Option<watch::Receiver<bool>>>,
    /// How many browsers were closed, and who closed the last.
    closes: Mutex<(u64, ClosedBy)>,
    /// What is left of earlier browsers.
    before: Mutex<CarryOver>,
    /// Rung when there is a new tab of ours.
    tab_made: Arc<Notify>,
    /// Texts that went into a page and must not come out of it.
    secrets: SecretScrubber,
}

/// A browser that ended unasked, and its pages with it.
#[derive(Clone, Debug)]
struct Loss {
    /// Tells it from the losses before it.
    number: u64,
    reason: String,
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
                slot: Mutex::new(BrowserState::Idle),
                lost: Mutex::new(None),
                losses: AtomicU64::new(0),
                closing: Mutex::new(None),
                closes: Mutex::new((0, ClosedBy::Owner)),
                before: Mutex::default(),
                tab_made: Arc::default(),
                secrets: SecretScrubber::default(),
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
        let allowed = request.timeout_ms.map_or(TIMEOUT, Duration::from_millis);
        let mut cx = CommandContext {
            browser: self,
            deadline: Deadline::after(allowed),
            patience: request.patience_ms.map(Duration::from_millis),
            context: request.context,
            tab: request.tab,
            used: None,
            notes: Vec::new(),
            acknowledged: None,
            batch: None,
            access: request.access,
        };
        let (closes, _) = *lock(&self.shared.closes);
        self.shared.await_exit().await;
        let mut reply = request.command.run(&mut cx).await;
        if let Err(denied) = cx.check_shown().await {
            let is_mutated =
                reply.as_ref().err().is_none_or(|error| error.details().mutation_allowed);
            reply = Err(denied.mutation_allowed(is_mutated));
            // What the page said of itself is not told either.
            cx.notes.retain(|note| note.page_text.is_none());
        }
        if request.dialect == Dialect::Mcp
            && let Some(tab) = self.live().zip(cx.used).and_then(|(live, id)| live.tab(id).ok())
        {
            let texts = match &mut reply {
                Ok(reply) => backend_refs::texts_of_reply(reply),
                Err(error) => backend_refs::texts_of_error(error),
            };
            let texts =
                texts.into_iter().chain(backend_refs::texts_of_notes(&mut cx.notes)).collect();
            backend_refs::rewrite_all(&tab, texts, cx.deadline).await;
        }
        let outcome = match reply {
            Ok(reply) => {
                let drain_page_events = cx.drain_page_events().await.into_iter();
                cx.notes.extend(drain_page_events.map(Note::from));
                let secrets = &self.shared.secrets;
                secrets.scrub_reply(reply).and_then(|reply| {
                    let notes = secrets.scrub(std::mem::take(&mut cx.notes))?;
                    Ok(Outcome { reply, tab: cx.used, notes })
                })
            }
            Err(error) => {
                let error = self.explain_failure(error, closes).await;
                let error = error.with_notes(std::mem::take(&mut cx.notes));
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
        crate::observe::oracle::compare(&mut self.test_cx(), facts).await
    }

    /// Every element of the current page that can be seen and used, for tests.
    ///
    /// # Errors
    /// As for a snapshot.
    #[doc(hidden)]
    pub async fn reachable(&self) -> Result<Vec<crate::Reachability>> {
        crate::observe::oracle::reach(&mut self.test_cx()).await
    }

    /// Runs a script where our own scripts are, for tests.
    ///
    /// # Errors
    /// When it throws.
    #[doc(hidden)]
    pub async fn meddle(&self, context: &str, script: &str) -> Result<()> {
        let mut cx = CommandContext { context: Some(context.to_owned()), ..self.test_cx() };
        crate::observe::oracle::meddle(&mut cx, script).await
    }

    /// Has what was seen of a tab count for so long when nothing is heard of it, for tests.
    ///
    /// # Errors
    /// When there is no such tab.
    #[doc(hidden)]
    pub async fn set_cache_lifetime(&self, tab: TabId, lifetime: Duration) -> Result<()> {
        let mut cx = CommandContext { tab: Some(tab), ..self.test_cx() };
        let turn = cx.turn(TabNeed::Page).await?;
        turn.observation.lock().await.cache_lifetime = lifetime;
        Ok(())
    }

    fn test_cx(&self) -> CommandContext<'_> {
        CommandContext {
            browser: self,
            deadline: Deadline::after(TIMEOUT * 2),
            patience: None,
            context: None,
            tab: None,
            used: None,
            notes: Vec::new(),
            acknowledged: None,
            batch: None,
            access: None,
        }
    }

    /// How the browser is got. Changes apply to the next start.
    pub fn options(&self) -> Options {
        lock(&self.shared.options).clone()
    }

    /// Asks for other options. Refused while a browser runs with different ones.
    ///
    /// # Errors
    /// `browser.options-conflict`, naming what differs.
    pub fn set_launch_overrides(&self, overrides: &LaunchOverrides) -> Result<()> {
        let is_starting = self.is_starting();
        let running = self.live().map(|live| live.options.clone());
        let mut options = lock(&self.shared.options);
        let running = running.or_else(|| is_starting.then(|| options.clone()));
        let (wanted, changed) = overrides.apply(running.as_ref().unwrap_or(&options));
        if running.is_none() {
            *options = wanted;
            return Ok(());
        }
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

    /// Ends the browser if there is one, and waits until nothing is left of it.
    pub async fn close(&self) {
        _ = self.begin_close(ClosedBy::Owner, Deadline::after(LAUNCH)).await;
        self.shared.closed().await;
    }

    /// Begins to end the browser. It takes no more commands from here on; the rest is done in the background.
    pub(crate) async fn begin_close(&self, closer: ClosedBy, deadline: Deadline) -> Result<()> {
        if !matches!(&*self.shared.slot(), BrowserState::Idle) {
            let mut closes = lock(&self.shared.closes);
            *closes = (closes.0 + 1, closer);
        }
        let starting = match &*self.shared.slot() {
            BrowserState::Starting { done, give_up } => {
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
        let slot = std::mem::replace(&mut *self.shared.slot(), BrowserState::Idle);
        let mut before = lock(&self.shared.before);
        let elsewhere = before.left.take();
        if let BrowserState::Live(live) = slot {
            // Its own tabs are closed with it.
            before.go_on(CarryOver { left: None, ..live.left() });
            self.shared.finish(live);
        }
        drop(before);
        if let Some(left) = elsewhere {
            self.shared.background(left.close());
        }
        // Who closes gives up what was lost, too.
        *lock(&self.shared.lost) = None;
        lock(&self.shared.before).context_proxies_map.clear();
        Ok(())
    }

    /// Whether a browser runs now.
    pub fn is_running(&self) -> bool {
        self.live().is_some()
    }

    /// Whether one is on its way.
    pub(crate) fn is_starting(&self) -> bool {
        matches!(&*self.shared.slot(), BrowserState::Starting { .. })
    }

    /// The highest number given to a tab so far.
    pub fn last_tab(&self) -> u32 {
        let now = self.live().map_or(0, |live| live.last_tab());
        lock(&self.shared.before).tabs.max(now)
    }

    /// Numbers tabs from above `last` on, so that those of an earlier owner's browser are not used again.
    pub fn number_tabs_after(&self, last: u32) {
        let mut before = lock(&self.shared.before);
        before.tabs = before.tabs.max(last);
    }

    /// The tabs of ours that would stay in somebody else's browser if we were gone now.
    pub fn left(&self) -> Option<OrphanTabs> {
        let now = self.live().and_then(|live| live.left_tabs());
        now.or_else(|| lock(&self.shared.before).left.clone())
    }

    /// Waits until there is a new tab of ours: [`left`](Self::left) may be another then, in the middle of a command.
    pub async fn tab_was_made(&self) {
        self.shared.tab_made.notified().await;
    }

    /// Takes in the tabs that an earlier owner left in somebody else's browser: they are ours again once it is attached
    /// to, and go with the next close.
    pub fn adopt_orphan_tabs(&self, left: OrphanTabs) {
        lock(&self.shared.before).left = Some(left);
    }

    /// The error for pages that went with their browser.
    fn lost(&self, reason: &str) -> Error {
        let left = lock(&self.shared.before).left.clone();
        Error::new(Code::BrowserLost).message(OrphanTabs::tell(left.as_ref(), reason))
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

    fn current_loss(&self) -> Option<Loss> {
        self.live();
        lock(&self.shared.lost).clone()
    }

    /// The running browser, started when there is none.
    async fn start(
        &self,
        deadline: Deadline,
        notes: &mut Vec<Note>,
    ) -> Result<Arc<RunningBrowser>> {
        if let Some(live) = self.live() {
            return Ok(live);
        }
        let mut done = self.shared.clone().begin();
        let started = tokio::time::timeout_at(deadline.at(), done.wait_for(Option::is_some)).await;
        match started {
            Ok(Ok(result)) => match result.as_ref() {
                Some(Ok(launch_notes)) => notes.extend(launch_notes.iter().cloned()),
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
            Error::new(Code::BrowserLost).message(format!("the browser came up and went: {reason}"))
        })
    }

    /// A call that failed because the browser ended is told as that, with the reason. `closes` is how many browsers had
    /// been closed when it began.
    async fn explain_failure(&self, error: Error, closes: u64) -> Error {
        let is_suspect =
            matches!(error.code(), Code::BrowserLost | Code::TabTargetLost | Code::TabCrashed);
        let (closes_now, closer) = *lock(&self.shared.closes);
        if is_suspect && closes_now != closes {
            let by = match closer {
                ClosedBy::Command => "by another command, `close`,",
                ClosedBy::Owner => "by its owner",
            };
            return Error::new(Code::BrowserLost)
                .message(format!("the browser was closed {by} while this command was under way"));
        }
        let live = match &*self.shared.slot() {
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
    fn slot(&self) -> MutexGuard<'_, BrowserState> {
        lock(&self.slot)
    }

    fn live(&self) -> Option<Arc<RunningBrowser>> {
        let mut slot = self.slot();
        let BrowserState::Live(live) = &*slot else { return None };
        match live.ended() {
            None => Some(live.clone()),
            Some(reason) => {
                lock(&self.before).go_on(live.left());
                self.note_loss(reason);
                let ended = live.clone();
                *slot = BrowserState::Idle;
                drop(slot);
                self.finish(ended);
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
        let live = match &*self.slot() {
            BrowserState::Live(live) if live.connection.closed().is_some() => live.clone(),
            _ => return,
        };
        live.wait_ended().await;
    }

    /// Has what is left of a browser go in the background: it may still be writing its profile.
    fn finish(&self, live: Arc<RunningBrowser>) {
        self.background(async move { live.close().await });
    }

    /// Does a part of closing in the background, beside those that are under way.
    fn background(&self, work: impl Future<Output = ()> + Send + 'static) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (tell, done) = watch::channel(false);
        let other = lock(&self.closing).replace(done);
        runtime.spawn(async move {
            work.await;
            if let Some(mut other) = other {
                _ = other.wait_for(|gone| *gone).await;
            }
            tell.send_replace(true);
        });
    }

    /// Waits until a browser that is being closed is gone.
    async fn closed(&self) {
        let closing = lock(&self.closing).clone();
        if let Some(mut closing) = closing {
            _ = closing.wait_for(|gone| *gone).await;
        }
    }

    /// Begins to start a browser, unless that is under way.
    fn begin(self: Arc<Self>) -> watch::Receiver<Option<Result<Vec<Note>>>> {
        let mut slot = self.slot();
        if let BrowserState::Starting { done, .. } = &*slot {
            return done.clone();
        }
        let (tell, done) = watch::channel(None);
        let (give_up, mut given_up) = watch::channel(false);
        *slot = BrowserState::Starting { done: done.clone(), give_up };
        drop(slot);
        let options = lock(&self.options).clone();
        tokio::spawn(async move {
            // The one before may still hold the profile.
            self.closed().await;
            let before = lock(&self.before).clone();
            let unwanted = async move {
                // An error is the end of what could give up.
                if given_up.wait_for(|given_up| *given_up).await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let tab_made = self.tab_made.clone();
            let started = RunningBrowser::start(
                &options,
                before,
                tab_made,
                Deadline::after(LAUNCH),
                unwanted,
            )
            .instrument(tracing::debug_span!("browser_initialize"))
            .await;
            let result = match started {
                Ok((live, notes)) => {
                    lock(&self.before).left.clone_from(&live.left_elsewhere);
                    *self.slot() = BrowserState::Live(live);
                    Ok(notes)
                }
                Err(error) => {
                    *self.slot() = BrowserState::Idle;
                    Err(error)
                }
            };
            tell.send_replace(Some(result));
        });
        done
    }
}

/// What a verb works with: the browser, the deadline, and what the caller pointed at.
pub struct CommandContext<'a> {
    pub(crate) browser: &'a Browser,
    pub(crate) deadline: Deadline,
    patience: Option<Duration>,
    pub(crate) context: Option<String>,
    tab: Option<TabId>,
    used: Option<TabId>,
    pub(crate) notes: Vec<Note>,
    /// The loss that this command has a note about: it works on a page of its own.
    acknowledged: Option<u64>,
    /// The refs that the receipts of a batch give, by tab, while the batch runs.
    batch: Option<HashMap<TabId, DeferredRefs>>,
    access: Option<Access>,
}

/// Whether a command brings its own page, or works on the one that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TabNeed {
    /// The page that the caller left: if that is gone, it must be told.
    Page,
    /// A tab, whatever is in it.
    Tab,
}

impl CommandContext<'_> {
    /// The running browser, started when there is none.
    pub(crate) async fn live(&mut self) -> Result<Arc<RunningBrowser>> {
        self.browser.start(self.deadline, &mut self.notes).await
    }

    /// The tab meant, when it is its turn.
    pub(crate) async fn turn(&mut self, needs: TabNeed) -> Result<Turn> {
        let tab = self.resolve(needs).await?;
        self.used = Some(tab.id);
        let turn = tab.turn(self.deadline).await?;
        // Whoever has the turn says how refs are given: another client's batch has no part in it.
        let deferred = self.batch.as_mut().map(|batch| batch.entry(turn.id).or_default().clone());
        turn.observation.lock().await.deferred = deferred;
        // It may have been led elsewhere before its turn came.
        self.check_page(&turn, needs)?;
        if let Some(live) = self.browser.live() {
            live.local_files.restrict(&turn.channel, self.access.as_ref());
        }
        if needs == TabNeed::Page {
            let state = turn.state.borrow();
            if let Some(obstacle) = turn.obstacle(&state) {
                return Err(obstacle);
            }
        }
        Ok(turn)
    }

    /// The tab meant, without waiting for its turn.
    pub(crate) async fn resolve(&mut self, needs: TabNeed) -> Result<Arc<Tab>> {
        if needs == TabNeed::Page || self.tab.is_some() {
            self.unless_lost()?;
        }
        let live = self.live().await?;
        if let Some(id) = self.tab {
            let tab = live.tab(id)?;
            self.check_page(&tab, needs)?;
            return Ok(tab);
        }
        if needs == TabNeed::Tab {
            self.begin_anew();
        }
        match live.current(self.context.as_deref()) {
            Ok(Some(tab)) => {
                self.check_page(&tab, needs)?;
                Ok(tab)
            }
            Ok(None) => live.first_tab(self.context.as_deref(), self.deadline).await,
            Err(_) if needs == TabNeed::Tab => {
                let tab = live.new_tab(self.context.as_deref(), self.deadline).await?;
                live.switch(&tab);
                Ok(tab)
            }
            Err(lost) => Err(lost),
        }
    }

    /// An address as people type it, if the caller may open it.
    pub(crate) fn address(&self, typed: &str) -> Result<String> {
        Access::address(self.access.as_ref(), typed)
    }

    /// The path of a file without links, if the caller may have it.
    pub(crate) fn file(&self, path: &Path) -> Result<PathBuf> {
        match &self.access {
            Some(access) => access.check_file(path),
            None => Ok(path.to_owned()),
        }
    }

    /// Whether the caller may work on the page that a tab shows. It may always go elsewhere.
    fn check_page(&self, tab: &Tab, needs: TabNeed) -> Result<()> {
        match &self.access {
            Some(access) if needs == TabNeed::Page => access.check_shown(&tab.state.borrow().url),
            _ => Ok(()),
        }
    }

    /// Whether the caller may be told of what the tab shows now.
    async fn check_shown(&self) -> Result<()> {
        let (Some(access), Some(id)) = (&self.access, self.used) else { return Ok(()) };
        match self.browser.live().and_then(|live| live.tab(id).ok()) {
            Some(tab) => access.check_tab(&tab, self.deadline).await,
            None => Ok(()),
        }
    }

    /// The caller asks for a page of its own, so what was lost before is told for the last time.
    pub(crate) fn begin_anew(&mut self) {
        let loss = self.browser.current_loss();
        if let Some(Loss { number, reason }) =
            loss.filter(|it| self.acknowledged != Some(it.number))
        {
            self.acknowledged = Some(number);
            let attached = self.browser.live().filter(|live| live.process.is_none());
            let regained: Option<Vec<String>> =
                attached.map(|live| live.regained().iter().map(ToString::to_string).collect());
            let message = match regained.as_deref() {
                None => format!("a new browser was started; the tabs before are gone: {reason}"),
                Some([]) => format!("attached to a browser; the tabs before are gone: {reason}"),
                Some(tabs) => {
                    let tabs = tabs.join(", ");
                    format!("attached to the browser again, with {tabs} from before: {reason}")
                }
            };
            self.notes.push(Note::new("restarted", message));
        }
    }

    /// The error for a page that is gone with its browser, if it is.
    pub(crate) fn unless_lost(&self) -> Result<()> {
        match self.browser.current_loss().filter(|loss| self.acknowledged != Some(loss.number)) {
            Some(loss) => Err(self.browser.lost(&loss.reason)),
            None => Ok(()),
        }
    }

    /// Begins a batch: its receipts give no refs until it is over. Whoever wrote the batch had read none of them.
    pub(crate) fn begin_batch(&mut self) {
        self.batch = Some(HashMap::new());
    }

    /// Ends a batch: what its receipts showed has refs from here on.
    pub(crate) async fn end_batch(&mut self) {
        let live = self.browser.live();
        for (id, deferred) in self.batch.take().into_iter().flatten() {
            let Some(tab) = live.as_ref().and_then(|live| live.tab(id).ok()) else { continue };
            let mut observation = tab.observation.lock().await;
            for (tree, nodes) in deferred.take() {
                observation.registry.issue_nodes(&tree, &nodes);
            }
        }
    }

    /// What happened on the tab since the last reply, if its reply does not tell it itself.
    async fn drain_page_events(&self) -> Vec<PageEvent> {
        let Some((live, id)) = self.browser.live().zip(self.used) else { return Vec::new() };
        let Ok(tab) = live.tab(id) else { return Vec::new() };
        live.activity_is_current().await;
        tab.activity.take_untold()
    }

    /// A way to go somewhere with a tab.
    pub(crate) fn navigation<'t>(&'t mut self, tab: &'t Tab, until: Until) -> Navigation<'t> {
        let (deadline, reserved) = (self.deadline, Duration::ZERO);
        Navigation { tab, until, deadline, reserved, notes: &mut self.notes }
    }

    /// Has a text never come back out of a page.
    pub(crate) fn keep_secret(&self, text: &SecretString) {
        self.browser.shared.secrets.add(text);
    }

    /// How long the caller lets elements take to become usable, if it said so.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// Says which tab the result is about.
    pub(crate) fn used(&mut self, tab: TabId) {
        self.used = Some(tab);
    }

    /// The tab that the caller named.
    pub(crate) fn named_tab(&self) -> Option<TabId> {
        self.tab
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
