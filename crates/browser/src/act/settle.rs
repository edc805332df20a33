//! Settling after an action: the wait for its effects, and the receipt.
//!
//! There is no fixed wait. The page is asked until it has no more to do; requests and navigations that the action
//! caused are awaited; only an action without any effect so far is watched for a while.

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

/// Default timeout of settling.
const CAP: Duration = Duration::from_secs(1);

/// Duration of the watch for an effect when there is no sign of one.
pub(super) const WATCH: Duration = Duration::from_millis(600);

/// Duration of the watch for an effect in the page when there were effects outside of it.
pub(super) const SHORT_WATCH: Duration = Duration::from_millis(100);

/// Wait for a page to react to a response.
const RESPONSE_EFFECT: Duration = Duration::from_millis(50);

/// Additional time for a page to respond, beyond its own timeout.
const GRACE: Duration = Duration::from_millis(200);

/// Timeout of an observation of another page.
const OBSERVATION: Duration = Duration::from_millis(300);

/// Timeout of the observation for the delta.
const DELTA: Duration = Duration::from_secs(5);

/// Maximum lines of a delta.
const MAX_LINES: usize = 40;

/// Settling and receipt options of an action.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettleArgs {
    /// Fail unless the action has this effect: `changed`, `navigated`, `dialog`, `download`, or a text that appears on
    /// the page.
    #[arg(long, value_name = "EFFECT")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expect: Option<Expect>,
    /// Settle timeout in milliseconds [default: 1000].
    #[arg(long = "settle", value_name = "MS")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub settle_ms: Option<u64>,
    /// Omit the delta from the receipt.
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub no_delta: bool,
}

/// The expected effect of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// An effect kind.
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

/// The effects that the target's document reports.
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
    /// Mutations other than moves of the element.
    other_mutations: u32,
    /// Scripts have timers or other work pending because of the action.
    pub(super) is_scheduled: bool,
    /// Number of requested downloads.
    downloads: u32,
    /// A media element was started, stopped or set.
    media: bool,
    copied: bool,
    /// Cookies were set.
    stored: bool,
    /// A canvas was redrawn.
    drawn: bool,
    /// The invalid fields that prevent the submission of their form.
    pub(super) blocking: Vec<BlockingField>,
    /// The reason why a pressed element got no click event.
    pub(super) missing_click: String,
    /// Start and end times of its event dispatches, in ms since 1970.
    pub(super) spans: Vec<f64>,
    /// Start and end of the action, in ms since 1970.
    pub(super) begun_at: f64,
    pub(super) done_at: f64,
    /// Another frame of the page changed.
    #[serde(skip)]
    in_frame: bool,
    /// Another tab changed.
    #[serde(skip)]
    in_tab: bool,
    /// Duration of the watch for an effect.
    #[serde(skip)]
    watched: Option<u64>,
    /// The mouse is over an element with `:hover` rules.
    is_hovering: bool,
    /// And those rules changed the visible page.
    #[serde(skip)]
    is_uncovered: bool,
    pub(crate) is_quiet: bool,
    /// State of the control that was clicked through its label or content, if it has one.
    pub(crate) is_checked: Option<bool>,
    /// URLs with an external protocol handler that were not opened.
    blocked_links: Vec<String>,
    /// The inline report of the settled page.
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

    /// Merges the effects of another document.
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

/// The facts of a receipt that the verb knows.
pub(crate) struct ReceiptDraft<'d> {
    pub(crate) verb: &'d str,
    pub(crate) point: Option<ActionPoint>,
    pub(crate) after: &'d SettleArgs,
    pub(crate) value: Option<String>,
}

/// The end of the wait for the document's reply.
enum SettleReply {
    Effects(Box<Effects>),
    /// The document is being unloaded, or gone.
    DocumentGone,
    /// No response.
    TimedOut,
    /// A dialog, a crash, a closed tab, another document.
    Interrupted,
}

impl Action<'_> {
    /// Settles and builds the receipt.
    pub(crate) async fn finish(&mut self, draft: ReceiptDraft<'_>) -> Result<Receipt> {
        let effects = self.settle(draft.after).await;
        self.build_receipt(draft, effects).await
    }

    /// The receipt of an action that had nothing to do.
    pub(crate) async fn nothing_to_do(&mut self, draft: ReceiptDraft<'_>) -> Receipt {
        self.release_guard();
        Receipt {
            action: draft.verb.to_owned(),
            strategy: draft.point.as_ref().map(|point| point.strategy.to_owned()),
            target: draft.point.map(|point| point.target),
            attempts: std::mem::take(&mut self.attempts),
            dispatched: false,
            dispatched_ms: 0.0,
            settled: Settled { how: "quiet".into(), ms: 0 },
            effect: Effect::None,
            changes: Vec::new(),
            watched_ms: None,
            blocked: Vec::new(),
            delta: String::new(),
            events: self.tab.activity.take_events(),
            value: draft.value,
        }
    }

    /// Waits until the action has no further effects, collects them from the guarded documents, and releases the
    /// guards.
    pub(crate) async fn settle(&mut self, after: &SettleArgs) -> (Effects, Settled) {
        self.settle_clicks(after, 0, Vec::new()).await
    }

    /// The same for clicks in transit: their number, and the pending input acknowledgements.
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
            .inline_options(self.tab)
            .filter(|_| !after.no_delta && after.expect.is_none());
        self.inline_options = main.filter(|_| self.documents.len() == 1);
        let cap = after.settle_ms.map_or(CAP, Duration::from_millis);
        let end = self.progress.deadline.at_most(cap);
        let mut how = "quiet";
        let mut effects = Effects::default();
        let mut blocked_links = Vec::new();
        let mut watched = None;
        let mut in_frame = false;
        self.quiet_at = None;
        self.has_listeners = true;
        let is_click = count > 0;
        loop {
            // Each is reported once.
            blocked_links.append(&mut effects.blocked_links);
            match self.poll_settle(end, count).await {
                // Their outcome is not known yet.
                SettleReply::Effects(reply)
                    if (reply.hits == 0 || reply.releases < count) && !sent.is_empty() =>
                {
                    self.await_input_acks(std::mem::take(&mut sent)).await;
                    // A mouse up that the document has not seen by now goes elsewhere.
                    count = 0;
                    effects = *reply;
                    continue;
                }
                SettleReply::Effects(reply) => {
                    effects = Effects { in_frame, ..*reply };
                    self.quiet_at.get_or_insert_with(Instant::now);
                }
                SettleReply::DocumentGone => {}
                SettleReply::TimedOut => {
                    how = "capped";
                    break;
                }
                SettleReply::Interrupted => {
                    how = self.interrupted_by(end).await;
                    break;
                }
            }
            if end.is_over() {
                how = "capped";
                break;
            }
            self.live.sync_activity().await;
            let cursor = self.tab.activity.cursor();
            if cursor.departures > self.baseline.cursor.departures {
                how = self.await_navigation(end).await;
                if how != "stayed" {
                    break;
                }
                how = "quiet";
                if cursor.downloaded > self.baseline.cursor.downloaded || !effects.is_quiet {
                    break;
                }
                // The navigation was abandoned: a download, or a response without content.
                self.baseline.cursor.departures = self.tab.activity.cursor().departures;
                continue;
            }
            if self.tab.activity.open_since(self.baseline.cursor) > 0 {
                self.await_responses(end).await;
                how = "requests";
                // A page reacts to a response a moment later.
                let limit = end.at_most(RESPONSE_EFFECT);
                let is_caused = self.outside_effects(&effects).iter().any(|it| it.is_request());
                let arguments = format!("{}, {is_caused}", millis(limit.left()));
                self.wait_in_document("agbrowse.nextChange", &arguments, limit).await;
                continue;
            }
            let is_same =
                ActivityCursor { request_count: cursor.request_count, ..self.baseline.cursor }
                    == cursor;
            let is_nothing = effects.is_nothing()
                && blocked_links.is_empty()
                && effects.missed.is_empty()
                && is_same;
            if effects.downloads > 0 && cursor.downloaded == self.baseline.cursor.downloaded {
                self.await_download_start(end).await;
            }
            if is_nothing && watched.is_none() {
                // `:hover` rules change nothing in the document.
                if effects.is_hovering && self.is_visibly_changed().await {
                    effects.is_uncovered = true;
                    break;
                }
                self.has_listeners = self.has_input_listeners().await;
                let has_outside_effects =
                    effects.selected || !self.outside_effects(&effects).is_empty();
                // An expected effect is waited for.
                let span = match after.expect {
                    Some(_) if !effects.selected => self.patience(),
                    _ if has_outside_effects => SHORT_WATCH.min(end.left()),
                    _ => self.watch.min(end.left()),
                };
                watched = Some(millis(span));
                in_frame =
                    self.await_first_effect(&effects, self.progress.deadline.at_most(span)).await;
                continue;
            }
            break;
        }
        if effects.moved {
            self.await_url().await;
        }
        let others = self.stop_watching().await;
        for other in &others {
            effects.add(other);
        }
        effects.blocked_links.splice(..0, blocked_links);
        if !is_click {
            effects.missing_click.clear();
        }
        if effects.is_nothing() && how == "quiet" && self.outside_effects(&effects).is_empty() {
            effects.in_tab = self.has_changed_other_tab(&effects).await;
        }
        effects.watched = watched.or_else(|| Some(millis(begun.elapsed())));
        (effects, Settled { how: how.into(), ms: millis(begun.elapsed()) })
    }

    /// Waits until the browser reports the URL of a same-document navigation.
    async fn await_url(&self) {
        let mut state = self.tab.state.subscribe();
        let baseline = &self.baseline.state;
        let is_known =
            |state: &TabState| state.url != baseline.url || state.loader != baseline.loader;
        let limit = self.progress.deadline.at_most(GRACE);
        _ = tokio::time::timeout_at(limit.at(), state.wait_for(is_known)).await;
    }

    /// The document's effects once it is quiet.
    async fn poll_settle(&self, end: Deadline, clicks: u8) -> SettleReply {
        let Some(world) =
            self.documents.first().and_then(|document| self.observation.world_of(document))
        else {
            return SettleReply::DocumentGone;
        };
        let observe_options = self.inline_options.clone().unwrap_or_else(|| "null".into());
        let ms = format!("{}, {clicks}, {observe_options}", millis(end.left()));
        let ask = world.run::<Effects>("agbrowse.settle", &ms, Deadline::after(end.left() + GRACE));
        let mut state = self.tab.state.subscribe();
        tokio::select! {
            biased;
            _ = state.wait_for(|state| self.is_interrupted(state)) => SettleReply::Interrupted,
            reply = ask => match reply {
                Ok(effects) => SettleReply::Effects(Box::new(effects)),
                Err(ObserveError::Wire(cdp::Error::Timeout { .. })) => SettleReply::TimedOut,
                Err(_) => SettleReply::DocumentGone,
            },
        }
    }

    fn is_interrupted(&self, state: &TabState) -> bool {
        state.dialog.is_some() || state.end.is_some() || state.loader != self.baseline.state.loader
    }

    /// Handles the end of the page: waits for the next one, if there is one.
    async fn interrupted_by(&self, end: Deadline) -> &'static str {
        let state = self.tab.state.borrow().clone();
        if state.dialog.is_some() {
            return "dialog";
        }
        if state.end.is_some() {
            return "gone";
        }
        self.await_dom_ready(end).await
    }

    async fn await_dom_ready(&self, end: Deadline) -> &'static str {
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

    /// Waits for a pending navigation to commit, or to be abandoned.
    async fn await_navigation(&self, end: Deadline) -> &'static str {
        let mut state = self.tab.state.subscribe();
        let mut changed = self.tab.activity.changed.subscribe();
        loop {
            let now = state.borrow_and_update().clone();
            if self.is_interrupted(&now) {
                return self.interrupted_by(end).await;
            }
            let cursor = self.tab.activity.cursor();
            if cursor.downloaded > self.baseline.cursor.downloaded
                || now.steps > self.baseline.state.steps
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

    /// Waits until the pending requests have their responses.
    async fn await_responses(&self, end: Deadline) {
        let mut changed = self.tab.activity.changed.subscribe();
        let mut state = self.tab.state.subscribe();
        while self.tab.activity.open_since(self.baseline.cursor) > 0 {
            if self.is_interrupted(&state.borrow_and_update()) {
                return;
            }
            tokio::select! {
                _ = state.changed() => {}
                _ = changed.changed() => {}
                () = tokio::time::sleep_until(end.at()) => return,
            }
        }
    }

    /// Waits for a function in the document, with a deadline.
    async fn wait_in_document(&self, what: &str, arguments: &str, end: Deadline) {
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
            _ = state.wait_for(|state| self.is_interrupted(state)) => {}
        }
    }

    /// Waits until a requested download begins.
    async fn await_download_start(&self, end: Deadline) {
        let mut changed = self.tab.activity.changed.subscribe();
        while self.tab.activity.cursor().downloaded == self.baseline.cursor.downloaded {
            tokio::select! {
                _ = changed.changed() => {}
                () = tokio::time::sleep_until(end.at()) => return,
            }
        }
    }

    /// Waits for the first effect. Returns true if it is in an unrelated frame.
    async fn await_first_effect(&self, effects: &Effects, end: Deadline) -> bool {
        let has_listeners = self.has_listeners;
        let is_open = self.live.has_workers(self.tab.id)
            || self.outside_effects(effects).iter().any(|it| it.is_request());
        let arguments = format!("{}, {has_listeners}, {is_open}", millis(end.left()));
        let inside = self.wait_in_document("agbrowse.firstEffect", &arguments, end);
        let elsewhere = self.has_changed_other_frame(effects, end);
        // Responses to earlier requests, titles and background requests are no effects.
        let cursor = || ActivityCursor { request_count: 0, ..self.tab.activity.cursor() };
        let base = cursor();
        let mut changed = self.tab.activity.changed.subscribe();
        let mut state = self.tab.state.subscribe();
        let outside = async {
            while cursor() == base
                && self.outside_effects(effects).is_empty()
                && !self.is_interrupted(&state.borrow_and_update())
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

    /// Releases the guards of all documents and collects their effects. The first document is the target's.
    async fn stop_watching(&mut self) -> Vec<Effects> {
        let mut all = Vec::new();
        let is_open = self.tab.state.borrow().dialog.is_some();
        // The effects of a single document are known already.
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
            if let Ok(Some(effects)) =
                world.ask::<Option<Effects>>("agbrowse.endAction()", limit).await
                && index > 0
            {
                all.push(effects);
            }
        }
        // Documents that responded are released; the others release when they can.
        self.armed.clear();
        all
    }

    pub(crate) async fn build_receipt(
        &mut self,
        draft: ReceiptDraft<'_>,
        (effects, settled): (Effects, Settled),
    ) -> Result<Receipt> {
        let state = self.tab.state.borrow().clone();
        let cursor = self.tab.activity.cursor();
        let baseline = &self.baseline;
        let left_page = state.loader != baseline.state.loader
            || state.url != baseline.state.url
            || cursor.departures > baseline.cursor.departures && settled.how == "capped";
        // Late shadow roots are the one change that documents do not report.
        let has_late_roots = settled.how == "quiet"
            && effects.is_nothing()
            && !left_page
            && self.observation.has_late_roots(self.progress.deadline.at_most(OBSERVATION)).await;
        let outside = self.outside_effects(&effects);
        let mut changes: Vec<&str> = Vec::new();
        let facts = [
            (effects.mutations > 0 || has_late_roots || effects.is_uncovered, "content"),
            (effects.value, "value"),
            (effects.focus, "focus"),
            (effects.selected, "selection"),
            (effects.toggled, "toggle"),
            (effects.scrolled, "scroll"),
            (left_page, "address"),
            (effects.media, "media"),
            (effects.copied, "clipboard"),
            (effects.drawn, "canvas"),
            (effects.in_frame, "frame"),
            (effects.stored || outside.iter().any(|it| it.is_storage()), "storage"),
            (outside.iter().any(|it| it.is_request()), "requests"),
            (outside.contains(&OutsideEffect::Socket), "socket"),
            (outside.contains(&OutsideEffect::Worker), "worker"),
            (effects.in_tab, "other-tab"),
            (cursor.tabs > baseline.cursor.tabs, "tab"),
            (cursor.choosers > baseline.cursor.choosers, "chooser"),
        ];
        changes.extend(facts.into_iter().filter(|(is, _)| *is).map(|(_, name)| name));
        let is_only_moved =
            effects.other_mutations == 0 && changes.iter().all(|change| *change == "content");
        let mut blocked = self.blockers(&effects, is_only_moved);
        let baseline = &self.baseline;
        let mut effect = if state.dialog.is_some() {
            Effect::Dialog
        } else if state.end.is_some() || settled.how == "gone" {
            Effect::Unknown
        } else if cursor.downloaded > baseline.cursor.downloaded || effects.downloads > 0 {
            Effect::Download
        } else if left_page {
            Effect::Navigated
        } else if !blocked.is_empty() {
            Effect::Blocked
        } else if !changes.is_empty() {
            Effect::Changed
        } else if settled.how == "capped"
            && !effects.is_quiet
            && effects.is_nothing()
            && effects.hits == 0
        {
            Effect::Unknown
        } else {
            Effect::None
        };
        if let Some(expect) = &draft.after.expect {
            effect = self.await_expectation(expect, effect).await?;
        }
        let can_look = !matches!(effect, Effect::Dialog | Effect::Unknown);
        let delta = match can_look && !draft.after.no_delta {
            true => self.delta(effect, effects.report.as_deref()).await,
            false => String::new(),
        };
        // A response may be used after the document had nothing more to do. What the delta shows then is its effect, unless
        // the page changes by itself.
        let is_late = changes.contains(&"requests") && !changes.contains(&"content");
        if is_late && effect == Effect::Changed && !delta.is_empty() && effects.other_mutations == 0
        {
            changes.insert(0, "content");
        }
        self.live.sync_activity().await;
        if effect != Effect::Blocked {
            blocked.clear();
        }
        let is_awaited = effects.downloads > 0
            && self.tab.activity.cursor().downloaded == self.baseline.cursor.downloaded;
        let mut events = self.tab.activity.take_events();
        if is_awaited {
            events.push(PageEvent::new(
                "download",
                "a download was requested and has not started yet",
            ));
        }
        events.extend(effects.blocked_links.iter().map(|url| activity::external(url)));
        if let Some(dialog) = &self.tab.state.borrow().dialog {
            events.insert(0, dialog.page_event());
        }
        Ok(Receipt {
            action: draft.verb.to_owned(),
            strategy: draft.point.as_ref().map(|point| point.strategy.to_owned()),
            target: draft.point.map(|point| point.target),
            attempts: std::mem::take(&mut self.attempts),
            dispatched: true,
            dispatched_ms: (self.dispatched.unwrap_or_default().as_secs_f64() * 100_000.0).round()
                / 100.0,
            settled,
            effect,
            changes: changes.into_iter().map(str::to_owned).collect(),
            watched_ms: effects.watched.filter(|_| effect == Effect::None),
            blocked,
            delta,
            events,
            value: draft.value,
        })
    }

    /// True if the visible page differs from the one at the action.
    async fn is_visibly_changed(&mut self) -> bool {
        let Some(before) = self.tree.clone() else { return false };
        self.observation.invalidate();
        let limit = self.progress.deadline.at_most(OBSERVATION);
        let observe_options = ObserveOptions::default();
        let now =
            observe::observe(self.live, self.tab, self.observation, &observe_options, limit).await;
        let Ok(now) = now else { return false };
        let options = plain_view();
        let registry = &mut self.observation.registry;
        let mut seen =
            |tree: &page::ax::Tree| -> View { view(tree, &options, &mut registry.numbering(tree)) };
        let (was, is) = (seen(&before), seen(&now));
        let was = DeltaBase::new(&before, &was, &options.print);
        !changes(&was, &DeltaBase::new(&now, &is, &options.print)).text.is_empty()
    }

    /// Waits for the expected effect, unless it is there already.
    async fn await_expectation(&mut self, expect: &Expect, effect: Effect) -> Result<Effect> {
        let limit = self.progress.deadline.at_most(self.patience());
        let mut now = effect;
        loop {
            let is_met = match expect {
                Expect::Effect(Effect::Changed) => {
                    !matches!(now, Effect::None | Effect::Blocked | Effect::Unknown)
                }
                Expect::Effect(wanted) => now == *wanted,
                Expect::Text(text) => self.has_text(text).await?,
            };
            if is_met {
                // The expectation is met, whatever else is missing.
                return Ok(if now == Effect::None { Effect::Changed } else { now });
            }
            if limit.is_over() {
                return Err(Error::new(Code::ActNoEffect)
                    .message(format!(
                        "the action was done, but the expected `{expect}` was not seen"
                    ))
                    .evidence("effect", now.as_str())
                    .evidence("expected", expect.to_string()));
            }
            let tree = self.observe().await?;
            self.wait_for_change(&tree, limit).await.or_else(|error| match error.code() {
                Code::PageDialogOpen => Ok(()),
                _ => Err(error),
            })?;
            let state = self.tab.state.borrow().clone();
            if state.dialog.is_some() {
                now = Effect::Dialog;
            } else if state.loader != self.baseline.state.loader
                || state.url != self.baseline.state.url
            {
                now = Effect::Navigated;
            } else if self.tab.activity.cursor().downloaded > self.baseline.cursor.downloaded {
                now = Effect::Download;
            }
        }
    }

    async fn has_text(&mut self, text: &str) -> Result<bool> {
        let tree = self.observe().await?;
        let query = page::find::Query { text: Some(text.to_owned()), ..Default::default() };
        Ok(!page::find::find(&tree, &query).is_empty())
    }

    /// The delta since the last snapshot, or since the action.
    pub(super) async fn delta(&mut self, effect: Effect, report: Option<&str>) -> String {
        let before = self.tree.take();
        if effect == Effect::Navigated
            && self.tab.state.borrow().loader != self.baseline.state.loader
        {
            let state = self.tab.state.borrow().clone();
            let looked =
                navigate::page_info(self.tab, self.progress.deadline.at_most(OBSERVATION)).await;
            let title = looked.map_or(state.title, |(_, title, _)| title.into_string());
            let title = page::mask::mask(&title);
            let arrived = format!("→ {title:?} {}", page::text::mask_url(&state.url));
            let outline = self.arrival_outline().await;
            return format!("{arrived}\n{outline}").trim_end().to_owned();
        }
        let is_here = self.tab.state.borrow().url == self.baseline.state.url;
        let address = match effect {
            Effect::Navigated if is_here => match self.tab.activity.pending_navigation() {
                // A page that is being left does not respond.
                Some(url) => return format!("on its way to {}", page::text::mask_url(&url)),
                None => String::new(),
            },
            Effect::Navigated => {
                format!("→ {}\n", page::text::mask_url(&self.tab.state.borrow().url))
            }
            _ => String::new(),
        };
        let observe_options = ObserveOptions::default();
        let loader = self.tab.state.borrow().loader.clone();
        // A page that is known to have changed is not asked for changes.
        let kept = match (effect, report) {
            (_, Some(report)) => {
                let adopt_inline_report = self
                    .observation
                    .adopt_inline_report(self.tab, report, self.progress.deadline)
                    .await;
                let shown = self.observation.delta_baseline.as_ref().map(|shown| &shown.tree);
                // Click listeners of new elements are not known yet: query them now, or the next observation would
                // report them as a change.
                adopt_inline_report.filter(|tree| {
                    let mut known = shown.into_iter().chain(before.as_ref());
                    known.any(|was| !has_new_elements(was, tree))
                })
            }
            (Effect::None, None) => {
                self.observation
                    .revalidated_page(&observe_options, &loader, self.progress.deadline)
                    .await
            }
            _ => None,
        };
        let tree = match kept {
            Some(tree) => tree,
            None => {
                self.observation.invalidate();
                let limit = self.progress.deadline.at_most(DELTA);
                match observe::observe(
                    self.live,
                    self.tab,
                    self.observation,
                    &observe_options,
                    limit,
                )
                .await
                {
                    Ok(tree) => tree,
                    Err(error) => {
                        tracing::debug!(code = %error.code(), "no look after an action");
                        return address.trim_end().to_owned();
                    }
                }
            }
        };
        // With an earlier snapshot the delta is relative to that; otherwise to the page before the action.
        let is_same = |was: &page::ax::Tree| {
            was.frames.first().map(|frame| &frame.document)
                == tree.frames.first().map(|frame| &frame.document)
        };
        let shown = self.observation.delta_baseline.take().filter(|shown| {
            is_same(&shown.tree)
                && shown
                    .observe_options
                    .is_comparable_with(&observe_options, &shown.view_options.print)
        });
        let mut options =
            shown.as_ref().map_or_else(plain_view, |shown| shown.view_options.clone());
        // Attributes that are not observed after an action are no change.
        options.print.boxes &= observe_options.boxes;
        options.print.urls &= observe_options.urls;
        let mode = shown.as_ref().map(|shown| shown.mode.clone()).unwrap_or_default();
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
            if let Some(behind) =
                self.observation.modal_background.as_ref().filter(|behind| is_same(behind))
            {
                was.add_covered_page(&DeltaBase::new(behind, &seen(behind), &options.print));
            }
            let told = changes(&was, &DeltaBase::new(&tree, &now, &options.print));
            let (brief, lines) = told.brief(MAX_LINES);
            // Issues refs for reported lines only: all other refs stay bound to what was shown for them.
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
            self.observation.delta_baseline = Some(DeltaBaseline {
                tree,
                view: now,
                view_options: options,
                observe_options,
                mode,
            });
        }
        (address + &text).trim_end().to_owned()
    }
}

/// The default view options of a snapshot.
fn plain_view() -> ViewOptions {
    ViewOptions { policy: page::ax::RefPolicy::Live { all: false }, ..ViewOptions::default() }
}

/// True if the page has elements that it did not have before.
fn has_new_elements(was: &page::ax::Tree, now: &page::ax::Tree) -> bool {
    let document = |tree: &page::ax::Tree| tree.frames.first().map(|frame| frame.document.clone());
    // Element ids ascend.
    let newest = |tree: &page::ax::Tree| tree.nodes.iter().map(|node| node.element).max();
    document(was) != document(now) || newest(now) > newest(was)
}
