//! After an action: waiting for its consequences, and telling them.
//!
//! Nothing here waits for a while. The page is asked until it has no more to do; requests and departures that the
//! action caused are waited for; only an action without any consequence so far is given a moment to have one.

use super::blocked::BlockingField;
use super::receipt::{Effect, Receipt, Settled};
use super::{Action, ActionPoint, millis};
use crate::chromium::activity::{self, ActivityCursor, OutsideEffect, PageEvent};
use crate::error::{Code, Error, Result};
use crate::navigate;
use crate::observe::{self, DeltaBaseline, ObserveError, ObserveOptions};
use crate::tab::{Phase, TabState};
use cdp::protocol::input::DispatchMouseEvent;
use cdp::{Deadline, Reply};
use clap::Args;
use page::delta::{DeltaBase, changes};
use page::view::{View, ViewOptions, view};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// How long consequences are waited for.
const CAP: Duration = Duration::from_secs(1);

/// How long an action without any sign of a consequence is watched for one.
pub(super) const WATCH: Duration = Duration::from_millis(600);

/// How long an action that had consequences elsewhere may take to have one in the page.
pub(super) const SIGN: Duration = Duration::from_millis(100);

/// How long a page may take to make something of an answer.
const STIR: Duration = Duration::from_millis(50);

/// How much longer than asked for a page may take to answer.
const GRACE: Duration = Duration::from_millis(200);

/// How long a look at another page may take.
const LOOK: Duration = Duration::from_millis(300);

/// How long a look at what is different may take.
const DELTA: Duration = Duration::from_secs(5);

/// How many lines of a delta are told.
const MOST_LINES: usize = 40;

/// What to see to after an action.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettleArgs {
    /// Fail unless this comes of it: `changed`, `navigated`, `dialog`, `download`, or a text that is then on the page.
    #[arg(long, value_name = "WHAT")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expect: Option<Expect>,
    /// How long to wait for the consequences at most, in milliseconds [default: 1000].
    #[arg(long = "settle", value_name = "MS")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settle_ms: Option<u64>,
    /// Do not tell what is different on the page.
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub no_delta: bool,
}

/// What is expected of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// An effect of this kind.
    Effect(Effect),
    /// A text on the page.
    Text(String),
}

impl FromStr for Expect {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        Ok(match text {
            "changed" => Self::Effect(Effect::Changed),
            "navigated" => Self::Effect(Effect::Navigated),
            "dialog" => Self::Effect(Effect::Dialog),
            "download" => Self::Effect(Effect::Download),
            "" => {
                return Err(
                    "expected `changed`, `navigated`, `dialog`, `download` or a text".into()
                );
            }
            text => Self::Text(text.to_owned()),
        })
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Effect(effect) => f.write_str(effect.as_str()),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for Expect {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Expect {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Expect {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Expect".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

/// What the document says has come of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Effects {
    pub(crate) hits: u32,
    releases: u8,
    pub(crate) missed: String,
    mutations: u32,
    focus: bool,
    value: bool,
    scrolled: bool,
    toggled: bool,
    moved: bool,
    selected: bool,
    /// Changes besides the place of the element.
    other_mutations: u32,
    /// Scripts have something under way because of it.
    pub(super) is_scheduled: bool,
    /// Files that were asked for.
    downloads: u32,
    /// A player was started, stopped or set.
    media: bool,
    copied: bool,
    /// Cookies were set.
    stored: bool,
    /// Something else is drawn on a canvas.
    drawn: bool,
    /// The fields that keep their form from being sent.
    pub(super) blocking: Vec<BlockingField>,
    /// Why an element that was pressed got no click.
    pub(super) missing_click: String,
    /// When its events were listened to, from and to, in ms since 1970.
    pub(super) spans: Vec<f64>,
    /// When it was begun and when it was done, in ms since 1970.
    pub(super) begun_at: f64,
    pub(super) done_at: f64,
    /// Another frame of the page has changed.
    #[serde(skip)]
    in_frame: bool,
    /// Another tab has changed.
    #[serde(skip)]
    in_tab: bool,
    /// For how long a consequence was watched for.
    #[serde(skip)]
    watched: Option<u64>,
    /// The mouse is over something that rules show other things for.
    is_hovering: bool,
    /// And they show something.
    #[serde(skip)]
    is_uncovered: bool,
    pub(crate) is_quiet: bool,
    /// State of the control that was clicked through its label or its content, if it has one.
    pub(crate) is_checked: Option<bool>,
    /// Addresses for other programs, which were not opened.
    blocked_links: Vec<String>,
    /// What the page looks like then.
    report: Option<cdp::LossyString>,
}

impl Effects {
    pub(super) fn is_nothing(&self) -> bool {
        let is_changed = self.focus || self.value || self.scrolled || self.toggled || self.moved;
        let left_page = self.media || self.copied || self.stored || self.drawn || self.in_frame;
        self.mutations == 0
            && self.downloads == 0
            && self.blocked_links.is_empty()
            && self.blocking.is_empty()
            && !(is_changed || left_page)
    }

    /// Adds what another document says.
    fn add(&mut self, other: &Self) {
        self.mutations += other.mutations;
        self.other_mutations += other.other_mutations;
        self.downloads += other.downloads;
        self.media |= other.media;
        self.copied |= other.copied;
        self.stored |= other.stored;
        self.drawn |= other.drawn;
        self.focus |= other.focus;
        self.value |= other.value;
        self.scrolled |= other.scrolled;
        self.toggled |= other.toggled;
        self.moved |= other.moved;
        self.selected |= other.selected;
        self.is_hovering |= other.is_hovering;
        self.blocked_links.extend_from_slice(&other.blocked_links);
        if self.missed.is_empty() {
            self.missed.clone_from(&other.missed);
        }
    }
}

/// What was done, for the receipt.
pub(crate) struct ReceiptDraft<'d> {
    pub(crate) verb: &'d str,
    pub(crate) point: Option<ActionPoint>,
    pub(crate) after: &'d SettleArgs,
    pub(crate) value: Option<String>,
}

/// What ends the wait for the page's own answer.
enum SettleReply {
    Said(Box<Effects>),
    /// Its document is on the way out, or gone.
    Left,
    /// It does not answer.
    Silent,
    /// A dialog, a crash, a closed tab, another document.
    Broken,
}

impl Action<'_> {
    /// Waits for the consequences and writes the receipt.
    pub(crate) async fn finish(&mut self, draft: ReceiptDraft<'_>) -> Result<Receipt> {
        let came = self.settle(draft.after).await;
        self.write(draft, came).await
    }

    /// The receipt of something that was so already.
    pub(crate) async fn nothing_to_do(&mut self, draft: ReceiptDraft<'_>) -> Receipt {
        self.release_guard();
        Receipt {
            action: draft.verb.to_owned(),
            strategy: draft.point.as_ref().map(|point| point.strategy.to_owned()),
            target: draft.point.map(|point| point.hit),
            attempts: std::mem::take(&mut self.attempts),
            dispatched: false,
            dispatched_ms: 0.0,
            settled: Settled { how: "quiet".into(), ms: 0 },
            effect: Effect::None,
            changes: Vec::new(),
            watched_ms: None,
            blocked: Vec::new(),
            delta: String::new(),
            events: self.tab.activity.take_untold(),
            value: draft.value,
        }
    }

    /// Waits until nothing more comes of what was done. What has come is told by the guard's documents, which are then
    /// let go.
    pub(crate) async fn settle(&mut self, after: &SettleArgs) -> (Effects, Settled) {
        self.settle_clicks(after, 0, Vec::new()).await
    }

    /// The same for clicks that are on their way: so many, and the answers that say when they were taken in.
    pub(crate) async fn settle_clicks(
        &mut self,
        after: &SettleArgs,
        mut count: u8,
        mut sent: Vec<Reply<DispatchMouseEvent>>,
    ) -> (Effects, Settled) {
        let begun = Instant::now();
        self.acted_in = self.documents.first().cloned();
        let main = self
            .observation
            .looking(self.tab)
            .filter(|_| !after.no_delta && after.expect.is_none());
        self.looking = main.filter(|_| self.documents.len() == 1);
        let cap = after.settle_ms.map_or(CAP, Duration::from_millis);
        let end = self.progress.deadline.at_most(cap);
        let mut how = "quiet";
        let mut came = Effects::default();
        let mut blocked_links = Vec::new();
        let mut watched = None;
        let mut in_frame = false;
        self.quiet_at = None;
        self.is_heard = true;
        let is_click = count > 0;
        loop {
            // Each is told once.
            blocked_links.append(&mut came.blocked_links);
            match self.poll_settle(end, count).await {
                // It is not known yet what became of them.
                SettleReply::Said(said)
                    if (said.hits == 0 || said.releases < count) && !sent.is_empty() =>
                {
                    self.await_input_acks(std::mem::take(&mut sent)).await;
                    // A release that the document has not seen by now goes elsewhere.
                    count = 0;
                    came = *said;
                    continue;
                }
                SettleReply::Said(said) => {
                    came = Effects { in_frame, ..*said };
                    self.quiet_at.get_or_insert_with(Instant::now);
                }
                SettleReply::Left => {}
                SettleReply::Silent => {
                    how = "capped";
                    break;
                }
                SettleReply::Broken => {
                    how = self.interrupted_by(end).await;
                    break;
                }
            }
            if end.is_over() {
                how = "capped";
                break;
            }
            self.live.activity_is_current().await;
            let mark = self.tab.activity.mark();
            if mark.departures > self.before.mark.departures {
                how = self.await_navigation(end).await;
                if how != "stayed" {
                    break;
                }
                how = "quiet";
                if mark.downloaded > self.before.mark.downloaded || !came.is_quiet {
                    break;
                }
                // It thought better of it: a download, or an address that answers with nothing.
                self.before.mark.departures = self.tab.activity.mark().departures;
                continue;
            }
            if self.tab.activity.open_since(self.before.mark) > 0 {
                self.answered(end).await;
                how = "requests";
                // What a page makes of an answer comes a moment after it.
                let stir = end.at_most(STIR);
                let is_caused = self.signs(&came).iter().any(|it| it.is_asked());
                let arguments = format!("{}, {is_caused}", millis(stir.left()));
                self.wait_inside("agbrowse.nextChange", &arguments, stir).await;
                continue;
            }
            let is_same = ActivityCursor { asked: mark.asked, ..self.before.mark } == mark;
            let is_nothing =
                came.is_nothing() && blocked_links.is_empty() && came.missed.is_empty() && is_same;
            if came.downloads > 0 && mark.downloaded == self.before.mark.downloaded {
                self.download_begun(end).await;
            }
            if is_nothing && watched.is_none() {
                // What rules show for the mouse changes nothing in the document.
                if came.is_hovering && self.looks_different().await {
                    came.is_uncovered = true;
                    break;
                }
                self.is_heard = self.hears().await;
                let has_signs = came.selected || !self.signs(&came).is_empty();
                // Who expects something waits for it.
                let span = match after.expect {
                    Some(_) if !came.selected => self.patience(),
                    _ if has_signs => SIGN.min(end.left()),
                    _ => self.watch.min(end.left()),
                };
                watched = Some(millis(span));
                in_frame =
                    self.await_first_effect(&came, self.progress.deadline.at_most(span)).await;
                continue;
            }
            break;
        }
        if came.moved {
            self.address_known().await;
        }
        let others = self.stop_watching().await;
        for other in &others {
            came.add(other);
        }
        came.blocked_links.splice(..0, blocked_links);
        if !is_click {
            came.missing_click.clear();
        }
        if came.is_nothing() && how == "quiet" && self.signs(&came).is_empty() {
            came.in_tab = self.changed_beside(&came).await;
        }
        came.watched = watched.or_else(|| Some(millis(begun.elapsed())));
        (came, Settled { how: how.into(), ms: millis(begun.elapsed()) })
    }

    /// Waits until the browser says which address the document moved on to.
    async fn address_known(&self) {
        let mut state = self.tab.state.subscribe();
        let before = &self.before.state;
        let is_known = |state: &TabState| state.url != before.url || state.loader != before.loader;
        let limit = self.progress.deadline.at_most(GRACE);
        _ = tokio::time::timeout_at(limit.at(), state.wait_for(is_known)).await;
    }

    /// What the document says when it has nothing more to do.
    async fn poll_settle(&self, end: Deadline, clicks: u8) -> SettleReply {
        let Some(world) =
            self.documents.first().and_then(|document| self.observation.world_of(document))
        else {
            return SettleReply::Left;
        };
        let look = self.looking.clone().unwrap_or_else(|| "null".into());
        let ms = format!("{}, {clicks}, {look}", millis(end.left()));
        let ask = world.run::<Effects>("agbrowse.settle", &ms, Deadline::after(end.left() + GRACE));
        let mut state = self.tab.state.subscribe();
        tokio::select! {
            biased;
            _ = state.wait_for(|state| self.is_broken(state)) => SettleReply::Broken,
            said = ask => match said {
                Ok(came) => SettleReply::Said(Box::new(came)),
                Err(ObserveError::Wire(cdp::Error::Timeout { .. })) => SettleReply::Silent,
                Err(_) => SettleReply::Left,
            },
        }
    }

    fn is_broken(&self, state: &TabState) -> bool {
        state.dialog.is_some() || state.end.is_some() || state.loader != self.before.state.loader
    }

    /// Something ended the page as it was: waits for the one that comes.
    async fn interrupted_by(&self, end: Deadline) -> &'static str {
        let state = self.tab.state.borrow().clone();
        if state.dialog.is_some() {
            return "dialog";
        }
        if state.end.is_some() {
            return "gone";
        }
        self.arrival(end).await
    }

    async fn arrival(&self, end: Deadline) -> &'static str {
        let mut state = self.tab.state.subscribe();
        let there = |state: &TabState| {
            state.dialog.is_some() || state.end.is_some() || state.phase >= Phase::DomReady
        };
        match tokio::time::timeout_at(end.at(), state.wait_for(there)).await {
            Ok(Ok(state)) if state.end.is_some() => "gone",
            Ok(Ok(state)) if state.dialog.is_some() => "dialog",
            Ok(_) => "navigation",
            Err(_) => "capped",
        }
    }

    /// The page set out for another one: waits until that is there, or it turns out that it stays.
    async fn await_navigation(&self, end: Deadline) -> &'static str {
        let mut state = self.tab.state.subscribe();
        let mut changed = self.tab.activity.changed.subscribe();
        loop {
            let now = state.borrow_and_update().clone();
            if self.is_broken(&now) {
                return self.interrupted_by(end).await;
            }
            let mark = self.tab.activity.mark();
            if mark.downloaded > self.before.mark.downloaded || now.steps > self.before.state.steps
            {
                return "stayed";
            }
            tokio::select! {
                _ = state.changed() => {}
                _ = changed.changed() => {}
                () = tokio::time::sleep_until(end.at()) => return "capped",
            }
        }
    }

    /// Waits until what was asked of servers is answered.
    async fn answered(&self, end: Deadline) {
        let mut changed = self.tab.activity.changed.subscribe();
        let mut state = self.tab.state.subscribe();
        while self.tab.activity.open_since(self.before.mark) > 0 {
            if self.is_broken(&state.borrow_and_update()) {
                return;
            }
            tokio::select! {
                _ = state.changed() => {}
                _ = changed.changed() => {}
                () = tokio::time::sleep_until(end.at()) => return,
            }
        }
    }

    /// Has the document wait for something, for so long at most.
    async fn wait_inside(&self, what: &str, arguments: &str, end: Deadline) {
        let world = self.documents.first().and_then(|document| self.observation.world_of(document));
        let inside = async {
            match world {
                Some(world) => {
                    let limit = Deadline::after(end.left() + GRACE);
                    _ = world.run::<bool>(what, arguments, limit).await;
                }
                None => tokio::time::sleep_until(end.at()).await,
            }
        };
        let mut state = self.tab.state.subscribe();
        tokio::select! {
            () = inside => {}
            _ = state.wait_for(|state| self.is_broken(state)) => {}
        }
    }

    /// Waits until a file that was asked for begins to come.
    async fn download_begun(&self, end: Deadline) {
        let mut changed = self.tab.activity.changed.subscribe();
        while self.tab.activity.mark().downloaded == self.before.mark.downloaded {
            tokio::select! {
                _ = changed.changed() => {}
                () = tokio::time::sleep_until(end.at()) => return,
            }
        }
    }

    /// Waits for a first consequence. Says whether it came in a frame that nothing was done in or around.
    async fn await_first_effect(&self, came: &Effects, end: Deadline) -> bool {
        let is_heard = self.is_heard;
        let is_open =
            self.live.has_workers(self.tab.id) || self.signs(came).iter().any(|it| it.is_asked());
        let arguments = format!("{}, {is_heard}, {is_open}", millis(end.left()));
        let inside = self.wait_inside("agbrowse.firstEffect", &arguments, end);
        let elsewhere = self.changed_elsewhere(came, end);
        // Answers to earlier requests, titles and what the page asks servers by itself are no signs.
        let mark = || ActivityCursor { asked: 0, ..self.tab.activity.mark() };
        let base = mark();
        let mut changed = self.tab.activity.changed.subscribe();
        let mut state = self.tab.state.subscribe();
        let outside = async {
            while mark() == base
                && self.signs(came).is_empty()
                && !self.is_broken(&state.borrow_and_update())
            {
                tokio::select! {
                    _ = changed.changed() => {}
                    _ = state.changed() => {}
                }
            }
        };
        tokio::select! {
            () = inside => false,
            () = outside => false,
            is_other = elsewhere => is_other,
        }
    }

    /// Lets go of all documents and hears what they have to say. The first is the one that was acted on.
    async fn stop_watching(&mut self) -> Vec<Effects> {
        let mut all = Vec::new();
        let is_open = self.tab.state.borrow().dialog.is_some();
        // Nobody needs to hear again what the only one has said.
        if self.documents.len() < 2 {
            self.documents.clear();
            self.armed.clear();
            return all;
        }
        for (index, document) in std::mem::take(&mut self.documents).into_iter().enumerate() {
            let Some(world) = self.observation.world_of(&document).filter(|_| !is_open) else {
                continue;
            };
            let limit = self.progress.deadline.at_most(Duration::from_millis(500));
            if let Ok(Some(came)) =
                world.ask::<Option<Effects>>("agbrowse.endAction()", limit).await
                && index > 0
            {
                all.push(came);
            }
        }
        // Those that have answered do nothing more; the others do it when they can.
        self.armed.clear();
        all
    }

    pub(crate) async fn write(
        &mut self,
        draft: ReceiptDraft<'_>,
        (came, settled): (Effects, Settled),
    ) -> Result<Receipt> {
        let state = self.tab.state.borrow().clone();
        let mark = self.tab.activity.mark();
        let before = &self.before;
        let left_page = state.loader != before.state.loader
            || state.url != before.state.url
            || mark.departures > before.mark.departures && settled.how == "capped";
        // The one thing that no document can say of itself.
        let has_late_roots = settled.how == "quiet"
            && came.is_nothing()
            && !left_page
            && self.observation.has_late_roots(self.progress.deadline.at_most(LOOK)).await;
        let signs = self.signs(&came);
        let mut changes: Vec<&str> = Vec::new();
        let facts = [
            (came.mutations > 0 || has_late_roots || came.is_uncovered, "content"),
            (came.value, "value"),
            (came.focus, "focus"),
            (came.selected, "selection"),
            (came.toggled, "toggle"),
            (came.scrolled, "scroll"),
            (left_page, "address"),
            (came.media, "media"),
            (came.copied, "clipboard"),
            (came.drawn, "canvas"),
            (came.in_frame, "frame"),
            (came.stored || signs.iter().any(|it| it.is_kept()), "storage"),
            (signs.iter().any(|it| it.is_asked()), "requests"),
            (signs.contains(&OutsideEffect::Socket), "socket"),
            (signs.contains(&OutsideEffect::Worker), "worker"),
            (came.in_tab, "other-tab"),
            (mark.tabs > before.mark.tabs, "tab"),
            (mark.choosers > before.mark.choosers, "chooser"),
        ];
        changes.extend(facts.into_iter().filter(|(is, _)| *is).map(|(_, name)| name));
        let is_only_moved =
            came.other_mutations == 0 && changes.iter().all(|change| *change == "content");
        let mut blocked = self.blockers(&came, is_only_moved);
        let before = &self.before;
        let mut effect = if state.dialog.is_some() {
            Effect::Dialog
        } else if state.end.is_some() || settled.how == "gone" {
            Effect::Unknown
        } else if mark.downloaded > before.mark.downloaded || came.downloads > 0 {
            Effect::Download
        } else if left_page {
            Effect::Navigated
        } else if !blocked.is_empty() {
            Effect::Blocked
        } else if !changes.is_empty() {
            Effect::Changed
        } else if settled.how == "capped" && !came.is_quiet && came.is_nothing() && came.hits == 0 {
            Effect::Unknown
        } else {
            Effect::None
        };
        if let Some(expect) = &draft.after.expect {
            effect = self.await_expectation(expect, effect).await?;
        }
        let can_look = !matches!(effect, Effect::Dialog | Effect::Unknown);
        let delta = match can_look && !draft.after.no_delta {
            true => self.delta(effect, came.report.as_deref()).await,
            false => String::new(),
        };
        self.live.activity_is_current().await;
        if effect != Effect::Blocked {
            blocked.clear();
        }
        let is_awaited = came.downloads > 0
            && self.tab.activity.mark().downloaded == self.before.mark.downloaded;
        let mut events = self.tab.activity.take_untold();
        if is_awaited {
            events
                .push(PageEvent::new("download", "a file was asked for and has not begun to come"));
        }
        events.extend(came.blocked_links.iter().map(|url| activity::external(url)));
        if let Some(dialog) = &self.tab.state.borrow().dialog {
            events.insert(0, dialog.happening());
        }
        Ok(Receipt {
            action: draft.verb.to_owned(),
            strategy: draft.point.as_ref().map(|point| point.strategy.to_owned()),
            target: draft.point.map(|point| point.hit),
            attempts: std::mem::take(&mut self.attempts),
            dispatched: true,
            dispatched_ms: (self.dispatched.unwrap_or_default().as_secs_f64() * 100_000.0).round()
                / 100.0,
            settled,
            effect,
            changes: changes.into_iter().map(str::to_owned).collect(),
            watched_ms: came.watched.filter(|_| effect == Effect::None),
            blocked,
            delta,
            events,
            value: draft.value,
        })
    }

    /// Whether the page looks different from when it was acted on.
    async fn looks_different(&mut self) -> bool {
        let Some(before) = self.tree.clone() else { return false };
        self.observation.invalidate();
        let limit = self.progress.deadline.at_most(LOOK);
        let look = ObserveOptions::default();
        let now = observe::observe(self.live, self.tab, self.observation, &look, limit).await;
        let Ok(now) = now else { return false };
        let options = plain_view();
        let registry = &mut self.observation.registry;
        let mut seen =
            |tree: &page::ax::Tree| -> View { view(tree, &options, &mut registry.numbering(tree)) };
        let (was, is) = (seen(&before), seen(&now));
        let was = DeltaBase::new(&before, &was, &options.print);
        !changes(&was, &DeltaBase::new(&now, &is, &options.print)).text.is_empty()
    }

    /// Waits for what is expected, if it has not come yet.
    async fn await_expectation(&mut self, expect: &Expect, effect: Effect) -> Result<Effect> {
        let limit = self.progress.deadline.at_most(self.patience());
        let mut now = effect;
        loop {
            let is_met = match expect {
                Expect::Effect(Effect::Changed) => {
                    !matches!(now, Effect::None | Effect::Blocked | Effect::Unknown)
                }
                Expect::Effect(wanted) => now == *wanted,
                Expect::Text(text) => self.shows(text).await?,
            };
            if is_met {
                // What was expected has come, whatever else has not.
                return Ok(if now == Effect::None { Effect::Changed } else { now });
            }
            if limit.is_over() {
                return Err(Error::new(Code::ActNoEffect)
                    .message(format!("it was done, but `{expect}` was expected and did not come"))
                    .evidence("effect", now.as_str())
                    .evidence("expected", expect.to_string()));
            }
            let tree = self.look().await?;
            self.wait_for_change(&tree, limit).await.or_else(|error| match error.code() {
                Code::PageDialogOpen => Ok(()),
                _ => Err(error),
            })?;
            let state = self.tab.state.borrow().clone();
            if state.dialog.is_some() {
                now = Effect::Dialog;
            } else if state.loader != self.before.state.loader || state.url != self.before.state.url
            {
                now = Effect::Navigated;
            } else if self.tab.activity.mark().downloaded > self.before.mark.downloaded {
                now = Effect::Download;
            }
        }
    }

    async fn shows(&mut self, text: &str) -> Result<bool> {
        let tree = self.look().await?;
        let query = page::find::Query { text: Some(text.to_owned()), ..Default::default() };
        Ok(!page::find::find(&tree, &query).is_empty())
    }

    /// What is different on the page since it was last shown, or since it was acted on.
    pub(super) async fn delta(&mut self, effect: Effect, report: Option<&str>) -> String {
        let before = self.tree.take();
        if effect == Effect::Navigated && self.tab.state.borrow().loader != self.before.state.loader
        {
            let state = self.tab.state.borrow().clone();
            let looked = navigate::look(self.tab, self.progress.deadline.at_most(LOOK)).await;
            let title = looked.map_or(state.title, |(_, title, _)| title.into_string());
            let title = page::mask::mask(&title);
            let arrived = format!("→ {title:?} {}", page::text::mask_url(&state.url));
            let outline = self.arrival_outline().await;
            return format!("{arrived}\n{outline}").trim_end().to_owned();
        }
        let is_here = self.tab.state.borrow().url == self.before.state.url;
        let address = match effect {
            Effect::Navigated if is_here => match self.tab.activity.bound_for() {
                // The page that is there is being left, and answers nothing.
                Some(url) => return format!("on its way to {}", page::text::mask_url(&url)),
                None => String::new(),
            },
            Effect::Navigated => {
                format!("→ {}\n", page::text::mask_url(&self.tab.state.borrow().url))
            }
            _ => String::new(),
        };
        let look = ObserveOptions::default();
        let loader = self.tab.state.borrow().loader.clone();
        // What is known to have changed need not be asked whether it has.
        let kept = match (effect, report) {
            (_, Some(report)) => {
                let adopt_inline_report = self
                    .observation
                    .adopt_inline_report(self.tab, report, self.progress.deadline)
                    .await;
                let shown = self.observation.shown.as_ref().map(|shown| &shown.tree);
                // Who listens to clicks on what is new is not known yet: it is asked for at once, or the next
                // look would find what this one did not, and tell it as a change.
                adopt_inline_report.filter(|tree| {
                    let mut known = shown.into_iter().chain(before.as_ref());
                    known.any(|was| !has_new_elements(was, tree))
                })
            }
            (Effect::None, None) => {
                self.observation.revalidated_page(&look, &loader, self.progress.deadline).await
            }
            _ => None,
        };
        let tree = match kept {
            Some(tree) => tree,
            None => {
                self.observation.invalidate();
                let limit = self.progress.deadline.at_most(DELTA);
                match observe::observe(self.live, self.tab, self.observation, &look, limit).await {
                    Ok(tree) => tree,
                    Err(error) => {
                        tracing::debug!(code = %error.code(), "no look after an action");
                        return address.trim_end().to_owned();
                    }
                }
            }
        };
        // Whoever has seen the page is told what differs from that; others what differs from before.
        let is_same = |was: &page::ax::Tree| {
            was.frames.first().map(|frame| &frame.document)
                == tree.frames.first().map(|frame| &frame.document)
        };
        let shown = self.observation.shown.take().filter(|shown| {
            is_same(&shown.tree) && shown.look.is_comparable_with(&look, &shown.options.print)
        });
        let mut options = shown.as_ref().map_or_else(plain_view, |shown| shown.options.clone());
        // What is not looked for after an action is no difference.
        options.print.boxes &= look.boxes;
        options.print.urls &= look.urls;
        let way = shown.as_ref().map(|shown| shown.way.clone()).unwrap_or_default();
        let registry = &mut self.observation.registry;
        let mut seen =
            |tree: &page::ax::Tree| -> View { view(tree, &options, &mut registry.numbering(tree)) };
        let now = seen(&tree);
        let before = before.filter(|before| is_same(before));
        let was = match (&shown, &before) {
            (Some(shown), _) => Some(DeltaBase::new(&shown.tree, &shown.view, &options.print)),
            (None, Some(before)) => Some(DeltaBase::new(before, &seen(before), &options.print)),
            _ => None,
        };
        let mut text = String::new();
        if let Some(mut was) = was {
            if let Some(behind) = self.observation.behind.as_ref().filter(|behind| is_same(behind))
            {
                was.add_covered_page(&DeltaBase::new(behind, &seen(behind), &options.print));
            }
            let told = changes(&was, &DeltaBase::new(&tree, &now, &options.print));
            let (brief, lines) = told.brief(MOST_LINES);
            // Only what the caller is told means what it means now: everything else is still what it was shown as.
            let lines = lines.into_iter().map(|at| &now.lines[at as usize]);
            let nodes: Vec<usize> =
                lines.filter(|line| line.number.is_some()).map(|line| line.node as usize).collect();
            self.observation.issue_refs(&tree, &nodes);
            text = brief;
        }
        self.observation.set_modal_background(
            shown.as_ref().map(|shown| &shown.tree).or(before.as_ref()),
            &tree,
        );
        if shown.is_some() {
            self.observation.shown = Some(DeltaBaseline { tree, view: now, options, look, way });
        }
        (address + &text).trim_end().to_owned()
    }
}

/// A page as it is shown by default.
fn plain_view() -> ViewOptions {
    ViewOptions { policy: page::ax::RefPolicy::Live { all: false }, ..ViewOptions::default() }
}

/// Whether there are elements in a page that were not there before.
fn has_new_elements(was: &page::ax::Tree, now: &page::ax::Tree) -> bool {
    let document = |tree: &page::ax::Tree| tree.frames.first().map(|frame| frame.document.clone());
    // They are numbered as they come.
    let newest = |tree: &page::ax::Tree| tree.nodes.iter().map(|node| node.element).max();
    document(was) != document(now) || newest(now) > newest(was)
}
