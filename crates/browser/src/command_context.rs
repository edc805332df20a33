//! Execution of one command: its tab, the turn on that tab, and its recording.

use crate::access::Access;
use crate::browser::{Browser, Loss};
use crate::chromium::RunningBrowser;
use crate::chromium::activity::PageEvent;
use crate::command::{Command, Reply, TabNeed, VerbSpec};
use crate::error::{Code, Error, Result};
use crate::events::{BrowserEvent, EventBus};
use crate::launch::LaunchOverrides;
use crate::navigate::{Navigation, Until};
use crate::note::Note;
use crate::observe::DeferredRefs;
use crate::progress::Progress;
use crate::recorder::{Recorder, Step};
use crate::secret::SecretString;
use crate::tab::{Tab, TabId, Turn};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Context of a command: the browser, the caller's tab and access rights, the progress, and the turn while it is held.
pub struct CommandContext<'a> {
    pub(crate) browser: &'a Browser,
    pub(crate) progress: Progress,
    /// Launch options of the caller, for a browser that this command starts.
    pub(crate) overrides: Option<&'a LaunchOverrides>,
    pub(crate) context: Option<String>,
    pub(crate) tab: Option<TabId>,
    pub(crate) used: Option<TabId>,
    /// The loss that this command reports in a note: it works on a page of its own.
    pub(crate) acknowledged: Option<u64>,
    /// The deferred refs of the running batch, by tab.
    batch: Option<HashMap<TabId, DeferredRefs>>,
    pub(crate) access: Option<Access>,
    turn: Option<Turn>,
    known: Option<Arc<Tab>>,
}

impl<'a> CommandContext<'a> {
    pub(crate) fn new(browser: &'a Browser, progress: Progress) -> Self {
        Self {
            browser,
            progress,
            overrides: None,
            context: None,
            tab: None,
            used: None,
            acknowledged: None,
            batch: None,
            access: None,
            turn: None,
            known: None,
        }
    }
}

impl CommandContext<'_> {
    /// Executes a command: checks its arguments, takes the turn on its tab, runs it, and releases the turn.
    /// `Browser::run` and each step of a batch go through here.
    pub(crate) async fn execute(&mut self, command: &Command) -> Result<Reply> {
        command.check(self)?;
        self.turn = match command.spec().tab {
            TabNeed::None => None,
            TabNeed::Known => {
                let tab = self.resolve(TabNeed::Page).await?;
                self.used = Some(tab.id);
                self.known = Some(tab);
                None
            }
            need => Some(self.take_turn(need).await?),
        };
        let reply = self.record(command).await;
        self.turn = None;
        reply
    }

    /// Performs a command between its events and, if there is a recorder, between its hooks: all within the turn.
    async fn record(&mut self, command: &Command) -> Result<Reply> {
        let (id, begun, spec) = (self.browser.next_step(), Instant::now(), command.spec());
        self.browser.bus().send(|| BrowserEvent::CommandStarted {
            id,
            verb: spec.name.to_owned(),
            kind: spec.kind,
            tab: self.used,
            target: target_of(command),
        });
        let mut running =
            RunningCommand { bus: self.browser.bus(), id, spec, tab: self.used, is_over: false };
        let reply = match self.browser.recorder() {
            None => command.perform(self).await,
            Some(recorder) => self.perform_recorded(id, command, &*recorder).await,
        };
        running.is_over = true;
        self.browser.bus().send(|| BrowserEvent::CommandFinished {
            id,
            verb: spec.name.to_owned(),
            tab: self.used,
            error: reply.as_ref().err().map(Error::code),
            receipt: reply
                .as_ref()
                .ok()
                .and_then(|reply| reply.verb_reply().receipt())
                .map(|receipt| Box::new(receipt.facts())),
            ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        reply
    }

    async fn perform_recorded(
        &mut self,
        id: u64,
        command: &Command,
        recorder: &dyn Recorder,
    ) -> Result<Reply> {
        recorder.before(&self.step(id, command)).await?;
        let reply = command.perform(self).await;
        recorder.after(&self.step(id, command), &reply).await?;
        reply
    }

    fn step<'s>(&self, id: u64, command: &'s Command) -> Step<'s> {
        Step {
            id,
            command,
            spec: command.spec(),
            turn: self.turn.clone(),
            live: self.browser.live(),
            deadline: self.progress.deadline,
        }
    }

    /// The turn of this command.
    pub(crate) fn turn(&self) -> Result<Turn> {
        self.turn.clone().ok_or_else(|| {
            Error::new(Code::InternalUnhandled)
                .message("the verb has no turn: its spec names no tab")
        })
    }

    /// The tab of a command that runs without the turn.
    pub(crate) fn known_tab(&self) -> Result<Arc<Tab>> {
        self.known.clone().ok_or_else(|| {
            Error::new(Code::InternalUnhandled).message("the verb has no tab: its spec names none")
        })
    }

    /// The running browser, started if there is none.
    pub(crate) async fn live(&mut self) -> Result<Arc<RunningBrowser>> {
        self.browser.start(&mut self.progress, self.overrides).await
    }

    /// Resolves the tab and waits for its turn.
    pub(crate) async fn take_turn(&mut self, need: TabNeed) -> Result<Turn> {
        let tab = self.resolve(need).await?;
        self.take_turn_on(tab, need).await
    }

    async fn take_turn_on(&mut self, tab: Arc<Tab>, need: TabNeed) -> Result<Turn> {
        self.used = Some(tab.id);
        let turn = tab.turn(self.progress.deadline).await?;
        self.progress.step(&format!("turn on tab {}", turn.id));
        // The holder of the turn decides whether refs are deferred: another client's batch does not.
        let deferred = self.batch.as_mut().map(|batch| batch.entry(turn.id).or_default().clone());
        turn.observation.lock().await.deferred = deferred;
        // The page may have navigated while the turn was awaited.
        self.check_page(&turn, need)?;
        if let Some(live) = self.browser.live() {
            live.local_files.restrict(&turn.channel, self.access.as_ref());
        }
        if need == TabNeed::Page {
            let state = turn.state.borrow();
            if let Some(obstacle) = turn.obstacle(&state) {
                return Err(obstacle);
            }
        }
        Ok(turn)
    }

    /// Opens a tab in the caller's context and takes its turn. With `is_current` it becomes the context's current tab.
    pub(crate) async fn open_tab(&mut self, is_current: bool) -> Result<Turn> {
        let live = self.live().await?;
        self.acknowledge_loss();
        let (context, deadline) = (self.context.clone(), self.progress.deadline);
        let tab = match is_current {
            false => live.background_tab(context.as_deref(), deadline).await?,
            true => {
                let tab = live.empty_tab(context.as_deref(), deadline).await?;
                live.switch(&tab);
                tab
            }
        };
        let turn = self.take_turn_on(tab, TabNeed::Tab).await?;
        self.turn = Some(turn.clone());
        Ok(turn)
    }

    /// Resolves the tab, without waiting for its turn.
    pub(crate) async fn resolve(&mut self, need: TabNeed) -> Result<Arc<Tab>> {
        let needs_page = need != TabNeed::Tab;
        if needs_page || self.tab.is_some() {
            self.unless_lost()?;
        }
        let live = self.live().await?;
        if let Some(id) = self.tab {
            let tab = live.tab(id)?;
            self.check_page(&tab, need)?;
            return Ok(tab);
        }
        if !needs_page {
            self.acknowledge_loss();
        }
        match live.current(self.context.as_deref()) {
            Ok(Some(tab)) => {
                self.check_page(&tab, need)?;
                Ok(tab)
            }
            Ok(None) => live.first_tab(self.context.as_deref(), self.progress.deadline).await,
            Err(_) if !needs_page => {
                let tab = live.new_tab(self.context.as_deref(), self.progress.deadline).await?;
                live.switch(&tab);
                Ok(tab)
            }
            Err(lost) => Err(lost),
        }
    }

    /// Normalizes a URL as people type it; an error if the caller may not open it.
    pub(crate) fn address(&self, typed: &str) -> Result<String> {
        Access::address(self.access.as_ref(), typed)
    }

    /// Rejects a page that the caller may not access. Navigating elsewhere is always allowed.
    fn check_page(&self, tab: &Tab, need: TabNeed) -> Result<()> {
        match &self.access {
            Some(access) if need != TabNeed::Tab => access.check_shown(&tab.state.borrow().url),
            _ => Ok(()),
        }
    }

    /// Rejects a reply about a page that the caller may not access.
    pub(crate) async fn check_shown(&self) -> Result<()> {
        let (Some(access), Some(id)) = (&self.access, self.used) else { return Ok(()) };
        match self.browser.live().and_then(|live| live.tab(id).ok()) {
            Some(tab) => access.check_tab(&tab, self.progress.deadline).await,
            None => Ok(()),
        }
    }

    /// Adds the note about a lost browser; from here on the caller has a page of its own.
    pub(crate) fn acknowledge_loss(&mut self) {
        let loss = self.browser.current_loss();
        if let Some(Loss { number, reason }) =
            loss.filter(|it| self.acknowledged != Some(it.number))
        {
            self.acknowledged = Some(number);
            let attached = self.browser.live().filter(|live| live.process.is_none());
            let recovered: Option<Vec<String>> = attached
                .map(|live| live.recovered_tabs().iter().map(ToString::to_string).collect());
            let message = match recovered.as_deref() {
                None => format!("a new browser was started; the earlier tabs are gone: {reason}"),
                Some([]) => format!("attached to a browser; the earlier tabs are gone: {reason}"),
                Some(tabs) => {
                    let tabs = tabs.join(", ");
                    format!("attached to the browser again, with {tabs} from before: {reason}")
                }
            };
            self.progress.notes.push(Note::new("restarted", message));
        }
    }

    /// The error for a page that was lost with its browser, if it was.
    pub(crate) fn unless_lost(&self) -> Result<()> {
        match self.browser.current_loss().filter(|loss| self.acknowledged != Some(loss.number)) {
            Some(loss) => Err(self.browser.lost(&loss.reason)),
            None => Ok(()),
        }
    }

    /// Begins a batch: refs of its receipts are deferred to its end. The batch was written before any of them was read.
    pub(crate) fn begin_batch(&mut self) {
        self.batch = Some(HashMap::new());
    }

    /// Ends a batch and issues the refs of its receipts.
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

    /// Takes the page events of the tab that no reply has reported yet.
    pub(crate) async fn drain_page_events(&self) -> Vec<PageEvent> {
        let Some((live, id)) = self.browser.live().zip(self.used) else { return Vec::new() };
        let Ok(tab) = live.tab(id) else { return Vec::new() };
        live.sync_activity().await;
        tab.activity.take_events()
    }

    /// A navigation of a tab with the progress of this command.
    pub(crate) fn navigation<'t>(&'t mut self, tab: &'t Tab, until: Until) -> Navigation<'t> {
        let reserved = Duration::ZERO;
        Navigation { tab, until, reserved, progress: &mut self.progress }
    }

    /// Registers a secret to scrub from all output.
    pub(crate) fn keep_secret(&self, text: &SecretString) {
        self.browser.add_secret(text);
    }

    /// Sets the tab of the outcome.
    pub(crate) fn used(&mut self, tab: TabId) {
        self.used = Some(tab);
    }

    /// The tab that the caller named.
    pub(crate) fn named_tab(&self) -> Option<TabId> {
        self.tab
    }
}

/// A running command. Sends `CommandDropped` when it is dropped before its end.
struct RunningCommand<'a> {
    bus: &'a EventBus,
    id: u64,
    spec: VerbSpec,
    tab: Option<TabId>,
    is_over: bool,
}

impl Drop for RunningCommand<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let (id, verb, tab) = (self.id, self.spec.name.to_owned(), self.tab);
            self.bus.send(|| BrowserEvent::CommandDropped { id, verb, tab });
        }
    }
}

/// The canonical path of a file; an error if the caller may not access it.
pub(crate) fn allowed_file(access: Option<&Access>, path: &Path) -> Result<PathBuf> {
    match access {
        Some(access) => access.check_file(path),
        None => Ok(path.to_owned()),
    }
}

/// The target of a command, as the caller wrote it.
fn target_of(command: &Command) -> Option<String> {
    let fields = serde_json::to_value(command).ok()?;
    Some(fields.get("target")?.as_str()?.to_owned())
}
