//! Actions: resolve the target, check its actionability, dispatch input to it alone, wait for the effects.
//!
//! The steps stand one below another in each verb: [`Action::resolve_actionable`], the input, then [`Action::finish`],
//! which settles and builds the receipt. Between the check and the event the page may still change: an event guard in
//! the isolated world lets an event through only to the checked element.

pub(crate) mod armed;
mod arrival_outline;
mod blocked;
mod dialog_effects;
pub(crate) mod keyboard;
pub(crate) mod mouse;
pub(crate) mod pointer;
mod receipt;
mod settle;
mod watch;

use armed::ArmedState;
pub(crate) use dialog_effects::DialogEffects;
pub use receipt::{Attempt, Blocker, Effect, Receipt, ReceiptTarget, Settled};
pub(crate) use settle::ReceiptDraft;
pub use settle::{Expect, SettleArgs};

use crate::access::Access;
use crate::chromium::RunningBrowser;
use crate::chromium::activity::ActivityCursor;
use crate::command::CommandContext;
use crate::error::{Code, Error, Result};
use crate::note::Note;
use crate::observe::{self, ObserveError, ObserveOptions, TabObservation, World, json, quads};
use crate::progress::Progress;
use crate::tab::{TabState, Turn};
use crate::target::{self, Target};
use cdp::Deadline;
use clap::Args;
use page::ax::{Role, Tree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Default timeout for an element to become actionable, unless the caller sets the command's timeout.
const PATIENCE: Duration = Duration::from_secs(3);

/// Reason for a missing click event: the element was elsewhere at mouse up.
const MOVED: &str = "moved";

/// Evidence key of an error: the verb to use instead.
const USE: &str = "use";

/// The verb for elements of a role that is not editable.
fn verb_for(role: Role) -> Option<&'static str> {
    Some(match role {
        Role::CheckBox | Role::Radio | Role::Switch => "check",
        Role::ComboBox | Role::ListBox => "select",
        Role::Button | Role::Link | Role::Tab | Role::Option | Role::MenuItem => "click",
        _ => return None,
    })
}

/// The enclosing control of a node: its nearest clickable ancestor, if that receives the clicks on its content. A
/// clickable node has none.
fn enclosing_control(tree: &Tree, node: usize) -> Option<usize> {
    let takes_all = |role: Role| {
        matches!(
            role,
            Role::Button
                | Role::Link
                | Role::Tab
                | Role::Option
                | Role::MenuItem
                | Role::MenuItemCheckBox
                | Role::MenuItemRadio
                | Role::CheckBox
                | Role::Radio
                | Role::Switch
        )
    };
    let takes_clicks = |index: usize| {
        let node = &tree.nodes[index];
        takes_all(node.role) || page::ax::is_control(node)
    };
    if takes_clicks(node) {
        return None;
    }
    let holds = |outer: &usize| tree.nodes[*outer].end as usize > node;
    let nearest = (0..node).rev().filter(holds).find(|outer| takes_clicks(*outer))?;
    let node = &tree.nodes[nearest];
    (takes_all(node.role) || node.states.is_visible_proxy()).then_some(nearest)
}

/// Time reserved to find out why an element is not actionable; of a short timeout, a third.
const REPORT: Duration = Duration::from_millis(500);

/// Poll interval without a change notification.
const TICK: Duration = Duration::from_millis(100);

/// Maximum number of consecutive checks that fail because the element changed.
const MAX_DIRTY: usize = 20;

/// Attempts of an action when the page changed at the last moment.
pub(crate) const TRIES: usize = 3;

/// The target of an action, with fallbacks.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetArgs {
    /// The element: a ref from the last snapshot (`@e3`), `css=…`, `role=button[name="…"]`, `text=…`, `label=…`,
    /// `placeholder=…`, `testid=…` or `xy=120,40`.
    pub target: Target,
    /// A fallback target if the first cannot be found or used; repeatable, tried in order.
    #[arg(long = "or", value_name = "TARGET")]
    #[serde(rename = "or", skip_serializing_if = "Vec::is_empty", default)]
    pub others: Vec<Target>,
    /// The index of the match, counted from 0, if several match.
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nth: Option<u32>,
    /// Do not wait for the element to appear or to become actionable.
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub no_wait: bool,
}

impl TargetArgs {
    /// A single target without fallbacks.
    pub fn at(target: Target) -> Self {
        Self { target, others: Vec::new(), nth: None, no_wait: false }
    }

    fn targets(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(&self.target).chain(&self.others)
    }
}

/// Actionability requirements of an action.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Actionability {
    pub(crate) enabled: bool,
    pub(crate) editable: bool,
    /// Visible to a person.
    pub(crate) visible: bool,
    /// Receives pointer events: in view and not covered.
    pub(crate) point: bool,
    /// Check without scrolling.
    pub(crate) dry: bool,
    /// A fixed point of its document.
    pub(crate) at: Option<(f64, f64)>,
}

impl Actionability {
    const NOTHING: Self = Self {
        enabled: false,
        editable: false,
        visible: false,
        point: false,
        dry: false,
        at: None,
    };
    /// Attached only.
    pub(crate) const TOUCH: Self = Self::NOTHING;
    pub(crate) const CLICK: Self = Self { enabled: true, point: true, ..Self::NOTHING };
    pub(crate) const HOVER: Self = Self { point: true, ..Self::NOTHING };
    pub(crate) const WRITE: Self =
        Self { enabled: true, editable: true, visible: true, ..Self::NOTHING };
    /// Set by script, like the options of a list.
    pub(crate) const SET: Self = Self { enabled: true, ..Self::NOTHING };
}

/// Event types that the guard blocks for all but the checked element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventGuard {
    Pointer,
    Keyboard,
    /// No guard: the action is done by script.
    Off,
    /// Check only: there will be no action.
    DryRun,
}

impl EventGuard {
    fn to_js(self) -> &'static str {
        match self {
            Self::Pointer => "\"pointer\"",
            Self::Keyboard => "\"keyboard\"",
            Self::Off => "\"\"",
            Self::DryRun => "null",
        }
    }
}

/// A resolved, actionable element and its point.
#[derive(Clone, Debug)]
pub(crate) struct ActionPoint {
    pub(crate) target: ReceiptTarget,
    pub(crate) strategy: &'static str,
    /// Its document, and the ancestor documents.
    pub(crate) documents: Vec<String>,
    pub(crate) element: u32,
    /// Position in the main frame's viewport.
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) kind: String,
    pub(crate) is_checked: Option<bool>,
    /// The control that it labels or is the content of, if `kind` and `is_checked` describe that one.
    pub(crate) control: Option<u32>,
}

/// The observer script's reply to an actionability check.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ReadyReply {
    problem: Option<String>,
    by: Option<String>,
    cover: Option<u32>,
    x: f64,
    y: f64,
    control_state: Option<ControlState>,
    /// The field that receives the keys for the element, if it is another one.
    field: Option<u32>,
    /// The frame has a rotation or perspective: the browser must map the point.
    is_warped: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ControlState {
    kind: String,
    is_checked: Option<bool>,
    control: Option<u32>,
}

/// The reason why an element is not actionable.
#[derive(Debug)]
pub(crate) struct ActionBlocker {
    problem: String,
    by: Option<String>,
}

/// Tab state and activity cursor before the action.
pub(crate) struct Baseline {
    pub(crate) state: TabState,
    pub(crate) cursor: ActivityCursor,
}

/// Later effects are not attributed to the action.
impl Drop for Action<'_> {
    fn drop(&mut self) {
        self.tab.activity.end_action();
    }
}

/// An action on a tab.
pub(crate) struct Action<'a> {
    pub(crate) live: &'a RunningBrowser,
    pub(crate) tab: &'a Turn,
    pub(crate) observation: &'a mut TabObservation,
    pub(crate) progress: &'a mut Progress,
    pub(crate) access: Option<&'a Access>,
    patience: Duration,
    begun: Instant,
    baseline: Baseline,
    /// The tree in which the target was resolved.
    tree: Option<Arc<Tree>>,
    attempts: Vec<Attempt>,
    dispatched: Option<Duration>,
    /// The document of the target and its ancestors, which watch for effects.
    documents: Vec<String>,
    /// The event guards in those documents.
    armed: Vec<ArmedState>,
    /// Options of the inline report after settling.
    inline_options: Option<String>,
    /// The document of the target.
    acted_in: Option<String>,
    /// The element id of the target in the first document.
    element: Option<u32>,
    /// Time of the successful check, and the first time at which the page was quiet after it.
    ready_at: Instant,
    quiet_at: Option<Instant>,
    /// Scripts of the page have listeners for the input, as far as is known.
    has_listeners: bool,
    /// Duration of the watch for an effect.
    watch: Duration,
}

impl<'a> Action<'a> {
    pub(crate) fn new(
        cx: &'a mut CommandContext<'_>,
        live: &'a RunningBrowser,
        tab: &'a Turn,
        observation: &'a mut TabObservation,
    ) -> Self {
        let baseline =
            Baseline { state: tab.state.borrow().clone(), cursor: tab.activity.cursor() };
        tab.activity.begin_action();
        live.watch_databases(tab);
        Self {
            live,
            tab,
            observation,
            patience: cx.progress.patience.unwrap_or(PATIENCE),
            progress: &mut cx.progress,
            access: cx.access.as_ref(),
            begun: Instant::now(),
            baseline,
            tree: None,
            attempts: Vec::new(),
            dispatched: None,
            documents: Vec::new(),
            armed: Vec::new(),
            inline_options: None,
            acted_in: None,
            element: None,
            ready_at: Instant::now(),
            quiet_at: None,
            has_listeners: true,
            watch: settle::WATCH,
        }
    }

    /// Watches only briefly for an effect: the next action may follow first.
    pub(crate) fn watch_briefly(&mut self) {
        self.watch = settle::SHORT_WATCH;
    }

    /// The current tree: the revalidated cache, or a fresh observation.
    pub(crate) async fn observe(&mut self) -> Result<Arc<Tree>> {
        let options = ObserveOptions::default();
        let loader = self.tab.state.borrow().loader.clone();
        let tree = match self
            .observation
            .revalidated_page(&options, &loader, self.progress.deadline)
            .await
        {
            Some(tree) => tree,
            None => {
                observe::observe(
                    self.live,
                    self.tab,
                    self.observation,
                    &options,
                    self.progress.deadline,
                )
                .await?
            }
        };
        self.tree = Some(tree.clone());
        Ok(tree)
    }

    /// Returns the cached tree and `false`, or a fresh one and `true`. Asking the page for changes would cost as much
    /// as the click itself.
    async fn observe_cached(&mut self) -> Result<(Arc<Tree>, bool)> {
        let loader = self.tab.state.borrow().loader.clone();
        if let Some(tree) =
            self.observation.cached_page_any_source(&ObserveOptions::default(), &loader)
        {
            self.tree = Some(tree.clone());
            return Ok((tree, false));
        }
        Ok((self.observe_fresh().await?, true))
    }

    async fn observe_fresh(&mut self) -> Result<Arc<Tree>> {
        // A change notification may still be in transit.
        self.observation.invalidate();
        let options = ObserveOptions::default();
        let tree = observe::observe(
            self.live,
            self.tab,
            self.observation,
            &options,
            self.progress.deadline,
        )
        .await?;
        self.tree = Some(tree.clone());
        Ok(tree)
    }

    /// Resolves the first of several targets that is found and actionable.
    ///
    /// # Errors
    /// That of the last target, with all attempts as evidence.
    pub(crate) async fn resolve_actionable(
        &mut self,
        target_args: &TargetArgs,
        actionability: Actionability,
        guard: EventGuard,
    ) -> Result<ActionPoint> {
        let mut failure = None;
        for target in target_args.targets() {
            let begun = Instant::now();
            let reached = self.reach_one(target, target_args, actionability, guard).await;
            let outcome = match &reached {
                Ok(_) => "found".to_owned(),
                Err(error) => error.code().to_string(),
            };
            tracing::info!(strategy = target.strategy(), outcome, "an element was looked for");
            self.attempts.push(Attempt {
                strategy: target.strategy().to_owned(),
                target: target.to_string(),
                outcome,
                ms: millis(begun.elapsed()),
            });
            match reached {
                Ok(point) => {
                    // A dry run is no attempt.
                    if guard == EventGuard::DryRun {
                        self.attempts.clear();
                    }
                    return Ok(point);
                }
                Err(error) => failure = Some(error),
            }
            if self.progress.deadline.is_over() {
                break;
            }
        }
        let error = failure.unwrap_or_else(|| Error::new(Code::TargetNotFound));
        if self.attempts.len() < 2 {
            return Err(error);
        }
        let tried = self.attempts.iter().map(|it| format!("{}: {}", it.target, it.outcome));
        Err(error.evidence("attempts", tried.collect::<Vec<_>>()))
    }

    /// Resolves one target. Reports what blocks it also when the page stops responding meanwhile.
    async fn reach_one(
        &mut self,
        target: &Target,
        target_args: &TargetArgs,
        actionability: Actionability,
        guard: EventGuard,
    ) -> Result<ActionPoint> {
        let whole = self.progress.deadline;
        let mut blocker = None;
        let reached = self.poll(target, target_args, actionability, guard, &mut blocker).await;
        self.progress.deadline = whole;
        match (reached, blocker) {
            (Err(error), Some(blocker)) if error.code() == Code::PageUnresponsive => {
                let waited = millis(self.begun.elapsed());
                Err(blocker.evidence("waitedMs", waited))
            }
            (reached, _) => reached,
        }
    }

    /// Polls for a target until it is actionable or its time is over. `blocker` is the last reason.
    async fn poll(
        &mut self,
        target: &Target,
        target_args: &TargetArgs,
        actionability: Actionability,
        guard: EventGuard,
        blocker: &mut Option<Error>,
    ) -> Result<ActionPoint> {
        let limit = self.limit(target_args);
        // Only refs are checked against the cached tree: the check asks the page itself.
        let mut dirty_count = 0;
        let mut seen = match target {
            Target::Ref(_) => Some(self.observe_cached().await?),
            _ => None,
        };
        loop {
            let (tree, is_sure) = match seen.take() {
                Some(seen) => seen,
                None => (self.observe().await?, true),
            };
            let mut at = None;
            let found = match target {
                // The exact point, not the middle of the element there.
                Target::Point { x, y } => {
                    let found = target::point_at(
                        self.tab,
                        self.observation,
                        &tree,
                        (*x, *y),
                        self.progress.deadline,
                    );
                    let found = found.await?;
                    at = found.map(|(_, at)| at);
                    found.map(|(node, _)| node).ok_or_else(|| target::none(target))
                }
                _ => {
                    let found = target::find_one(
                        self.tab,
                        self.observation,
                        &tree,
                        (target, target_args.nth),
                        self.progress,
                    );
                    found.await
                }
            };
            let actionability =
                Actionability { at: at.filter(|_| actionability.point), ..actionability };
            let failure = match found {
                Ok(node) => {
                    match self
                        .check_and_arm(&tree, node, target, actionability, guard, is_sure)
                        .await?
                    {
                        Ok(point) => {
                            let it = &tree.nodes[node];
                            let document = &tree.frames[usize::from(it.frame)].document;
                            self.observation.registry.mark_edited(document, it.element);
                            return Ok(point);
                        }
                        Err(obstacle) if obstacle.problem == "dirty" && dirty_count < MAX_DIRTY => {
                            dirty_count += 1;
                            seen = Some((self.observe_fresh().await?, true));
                            continue;
                        }
                        Err(obstacle) => {
                            // A part of a control that cannot be hit itself is clicked through the control.
                            if let Some(around) = enclosing_control(&tree, node)
                                && actionability.point
                                && actionability.at.is_none()
                                && matches!(&*obstacle.problem, "hidden" | "covered")
                                && let Ok(point) = self
                                    .check_and_arm(
                                        &tree,
                                        around,
                                        target,
                                        actionability,
                                        guard,
                                        is_sure,
                                    )
                                    .await?
                            {
                                return Ok(point);
                            }
                            let error = self.blocked_error(&tree, node, target, &obstacle);
                            // An element of another kind does not become a field by waiting.
                            if error.details().evidence.iter().any(|all| all.contains_key(USE)) {
                                return Err(error);
                            }
                            error
                        }
                    }
                }
                // An outdated tree is no reason to fail.
                Err(_) if !is_sure => {
                    seen = Some((self.observe().await?, true));
                    continue;
                }
                // A stale target does not come back by waiting.
                Err(error) if error.code() != Code::TargetNotFound => return Err(error),
                Err(error) => error,
            };
            if limit.is_over() || target_args.no_wait {
                let failure = match failure.code() {
                    Code::TargetNotFound => self.modal_error(target).await.unwrap_or(failure),
                    _ => failure,
                };
                let waited = millis(self.begun.elapsed());
                return Err(failure.evidence("waitedMs", waited));
            }
            self.progress.step(&failure.details().message);
            *blocker = Some(failure);
            // While it waits only because of the blocker, it has no more time than that.
            self.progress.deadline = self.progress.deadline.at_most(limit.left() + REPORT);
            self.wait_for_change(&tree, limit).await?;
        }
    }

    /// The error for an element that an open modal dialog makes inert.
    async fn modal_error(&self, target: &Target) -> Option<Error> {
        let (css, words) = match target {
            Target::Css(css) => (css.clone(), ""),
            Target::TestId(id) => (format!("[data-testid={}]", json(id)), ""),
            Target::Text(text) | Target::Label(text) | Target::Placeholder(text) => {
                (String::new(), &**text)
            }
            Target::Role { name: Some(name), .. } => (String::new(), &**name),
            _ => return None,
        };
        let script = format!("agbrowse.modalInFrontOf({}, {})", json(&css), json(words));
        let by = self.ask_main::<Option<String>>(&script).await.ok()??;
        let message = format!("`{target}` is out of reach behind {by}");
        let error = Error::new(Code::ActInert).message(message);
        Some(error.evidence("target", target.to_string()).evidence("by", by))
    }

    /// Waits until the page changes, for at most one poll interval.
    pub(crate) async fn wait_for_change(&self, tree: &Tree, limit: Deadline) -> Result<()> {
        let main = tree.frames.first().and_then(|frame| self.observation.world_of(&frame.document));
        let tick = limit.at_most(TICK);
        let mut state = self.tab.state.subscribe();
        let changed = async {
            match main {
                Some(world) => _ = world.when_dirty(tick).await,
                None => tokio::time::sleep_until(tick.at()).await,
            }
        };
        tokio::select! {
            () = changed => {}
            _ = state.wait_for(|state| self.tab.obstacle(state).is_some()) => {}
            _ = self.live.connection.wait_closed() => {}
        }
        self.check_alive()?;
        let state = self.tab.state.borrow();
        match self.tab.obstacle(&state) {
            Some(obstacle) => Err(obstacle),
            None => Ok(()),
        }
    }

    /// Checks a node's actionability and, if it is actionable, arms the event guard.
    async fn check_and_arm(
        &mut self,
        tree: &Arc<Tree>,
        index: usize,
        target: &Target,
        actionability: Actionability,
        guard: EventGuard,
        is_sure: bool,
    ) -> Result<std::result::Result<ActionPoint, ActionBlocker>> {
        let node = &tree.nodes[index];
        let frame = &tree.frames[usize::from(node.frame)];
        let gone = || ActionBlocker { problem: "gone".into(), by: None };
        let Some(world) = self.observation.world_of(&frame.document) else {
            return Ok(Err(gone()));
        };
        let id = self.tab.next_guard();
        let (element, word) = (node.element, guard.to_js());
        let arguments = format!("{element}, {}, {word}, {is_sure}, {id}", json(&actionability));
        // Owned before the call: dropping it releases the guard even if the call arms it later.
        let mut armed = vec![world.armed(id)];
        let answer: ReadyReply = match self
            .unless_blocked(world.run("agbrowse.checkAndArm", &arguments, self.progress.deadline))
            .await
        {
            Ok(answer) => answer,
            Err(ObserveError::Wire(cdp::Error::Remote { .. }) | ObserveError::Nothing) => {
                return Ok(Err(gone()));
            }
            Err(error) => return Err(error.explain(self.tab)),
        };
        if answer.problem.is_some() || guard == EventGuard::DryRun {
            armed.drain(..).for_each(ArmedState::disarm);
        }
        if let Some(problem) = answer.problem {
            return Ok(Err(self.describe_blocker(
                tree,
                node.frame,
                problem,
                answer.by,
                answer.cover,
            )));
        }
        let mut documents = vec![frame.document.clone()];
        let (mut x, mut y) = (answer.x, answer.y);
        let mut at = node.frame;
        while let Some(parent) = tree.frames[usize::from(at)].parent {
            let Some((outer, owner)) = observe::frame_owner(self.observation, tree, at) else {
                break;
            };
            let begin = match guard {
                EventGuard::DryRun => String::new(),
                _ => {
                    let id = self.tab.next_guard();
                    armed.push(outer.armed(id));
                    format!("agbrowse.beginInAncestor({id}), ")
                }
            };
            let script = match actionability.point {
                true => format!("({begin}agbrowse.mapPointThroughFrame({owner}, {x}, {y}))"),
                false => format!("({begin}{{}})"),
            };
            let asked =
                self.unless_blocked(outer.ask::<ReadyReply>(&script, self.progress.deadline)).await;
            let mut answer = asked.map_err(|error| error.explain(self.tab))?;
            for turn in 1..=TRIES {
                if !answer.is_warped {
                    break;
                }
                let placed =
                    quads::outward(self.observation, tree, at, (x, y), self.progress.deadline);
                let placed = self.unless_blocked(placed).await;
                let (left, top) = placed.map_err(|error| error.explain(self.tab))?;
                let is_last = turn == TRIES;
                let placed = format!("[{left}, {top}], {is_last}");
                let script = format!("agbrowse.mapPointThroughFrame({owner}, {x}, {y}, {placed})");
                let asked = self
                    .unless_blocked(outer.ask::<ReadyReply>(&script, self.progress.deadline))
                    .await;
                answer = asked.map_err(|error| error.explain(self.tab))?;
            }
            let document = outer.loader.clone();
            if let Some(problem) = answer.problem {
                return Ok(Err(self.describe_blocker(
                    tree,
                    parent,
                    problem,
                    answer.by,
                    answer.cover,
                )));
            }
            documents.push(document);
            (x, y, at) = (answer.x, answer.y, parent);
        }
        let numbers = self.observation.issue_refs(tree, &[index]);
        let (kind, is_checked, control) = match answer.control_state {
            Some(fact) => (fact.kind, fact.is_checked, fact.control),
            None => (String::new(), None, None),
        };
        self.documents.clone_from(&documents);
        self.armed = armed;
        self.element = Some(node.element);
        self.ready_at = Instant::now();
        Ok(Ok(ActionPoint {
            target: ReceiptTarget {
                ref_name: numbers.first().map(|number| format!("@e{number}")),
                role: node.role.name().to_owned(),
                name: page::text::cut(&page::refs::name(tree, index), page::text::MAX_NAME)
                    .into_owned(),
            },
            strategy: target.strategy(),
            documents,
            element: answer.field.unwrap_or(node.element),
            x,
            y,
            kind,
            is_checked,
            control,
        }))
    }

    /// Describes the blocker, with the ref of the covering element if it has one.
    fn describe_blocker(
        &mut self,
        tree: &Arc<Tree>,
        frame: u16,
        problem: String,
        by: Option<String>,
        cover: Option<u32>,
    ) -> ActionBlocker {
        let node = cover.and_then(|cover| {
            tree.nodes.iter().position(|node| node.frame == frame && node.element == cover)
        });
        let by = match node {
            Some(node) => {
                let numbers = self.observation.issue_refs(tree, &[node]);
                let number = numbers.first().map(|number| format!(" [@e{number}]"));
                by.map(|by| format!("{by}{}", number.unwrap_or_default()))
            }
            None => by,
        };
        ActionBlocker { problem, by }
    }

    fn blocked_error(
        &self,
        tree: &Tree,
        index: usize,
        target: &Target,
        obstacle: &ActionBlocker,
    ) -> Error {
        let node = &tree.nodes[index];
        let what = format!("{} {:?}", node.role.name(), page::refs::name(tree, index));
        let by = obstacle.by.as_deref().unwrap_or("something");
        let (code, message) = match &*obstacle.problem {
            "gone" => return target::stale_target_error(self.observation, target),
            "hidden" => (Code::ActHidden, format!("{what} cannot be seen: {by}")),
            "off-screen" => (Code::ActHidden, format!("{what} cannot be brought into view")),
            "disabled" => (Code::ActDisabled, format!("{what} is disabled ({by})")),
            "inert" => (Code::ActInert, format!("{what} is out of reach behind {by}")),
            "covered" => (Code::ActCovered, format!("{what} is covered by {by}")),
            "pointer-events" => {
                (Code::ActCovered, format!("{what} does not receive pointer events ({by})"))
            }
            "moving" | "dirty" => {
                (Code::ActMoving, format!("{what} is not stable: it keeps moving or changing"))
            }
            "read-only" => (Code::ActNotEditable, format!("{what} is read-only")),
            _ => {
                let error = Error::new(Code::ActNotEditable).evidence("target", target.to_string());
                return match verb_for(node.role) {
                    Some(verb) => error
                        .message(format!("{what} is not editable: use `{verb}`"))
                        .evidence(USE, verb),
                    None => error.message(format!("{what} is not editable")),
                };
            }
        };
        let error = Error::new(code).message(message).evidence("target", target.to_string());
        match &obstacle.by {
            Some(by) => error.evidence("by", by.as_str()),
            None => error,
        }
    }

    /// Waits for a response of the page, unless the page is blocked: by a dialog, a crash.
    async fn unless_blocked<T>(
        &self,
        work: impl Future<Output = std::result::Result<T, ObserveError>>,
    ) -> std::result::Result<T, ObserveError> {
        observe::watched(self.tab, work).await
    }

    /// The isolated world of an element's document.
    pub(crate) fn world(&self, point: &ActionPoint) -> Result<&World> {
        let document = point.documents.first().map(String::as_str).unwrap_or_default();
        self.observation.world_of(document).ok_or_else(|| {
            Error::new(Code::SnapshotRefStale).message("the page was replaced meanwhile")
        })
    }

    /// Evaluates a script in the isolated world of an element's document.
    pub(crate) async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        point: &ActionPoint,
        script: &str,
    ) -> Result<T> {
        let world = self.world(point)?;
        self.unless_blocked(world.ask(script, self.progress.deadline))
            .await
            .map_err(|error| error.explain(self.tab))
    }

    /// Runs a function in the isolated world of an element's document and awaits its result.
    pub(crate) async fn run_in<T: serde::de::DeserializeOwned>(
        &self,
        point: &ActionPoint,
        function: &str,
        arguments: &str,
    ) -> Result<T> {
        let world = self.world(point)?;
        self.unless_blocked(world.run(function, arguments, self.progress.deadline))
            .await
            .map_err(|error| error.explain(self.tab))
    }

    /// Evaluates a script in the isolated world of the main document.
    pub(crate) async fn ask_main<T: serde::de::DeserializeOwned>(&self, script: &str) -> Result<T> {
        let main = self.tree.as_ref().and_then(|tree| tree.frames.first());
        let world =
            main.and_then(|main| self.observation.world_of(&main.document)).ok_or_else(|| {
                Error::new(Code::SnapshotUnavailable).message("the page was replaced meanwhile")
            })?;
        self.unless_blocked(world.ask(script, self.progress.deadline))
            .await
            .map_err(|error| error.explain(self.tab))
    }

    /// Fails if the page cannot respond any more: the browser exited, the tab was closed, the page crashed.
    pub(crate) fn check_alive(&self) -> Result<()> {
        if let Some(reason) = self.live.connection.closed() {
            return Err(Error::new(Code::BrowserLost).message(reason.to_string()));
        }
        let state = self.tab.state.borrow();
        match self.tab.obstacle(&state).filter(|_| state.end.is_some()) {
            Some(obstacle) => Err(obstacle),
            None => Ok(()),
        }
    }

    /// Waits until the tab has an event, for at most one poll interval.
    pub(crate) async fn wait_for_event(&self, limit: Deadline) -> Result<()> {
        let tick = limit.at_most(TICK);
        let mut state = self.tab.state.subscribe();
        let mut changed = self.tab.activity.changed.subscribe();
        tokio::select! {
            _ = state.changed() => {}
            _ = changed.changed() => {}
            _ = self.live.connection.wait_closed() => {}
            () = tokio::time::sleep_until(tick.at()) => {}
        }
        self.check_alive()?;
        let state = self.tab.state.borrow();
        match self.tab.obstacle(&state) {
            Some(obstacle) => Err(obstacle),
            None => Ok(()),
        }
    }

    /// Releases the event guards: there will be no action.
    pub(crate) fn release_guard(&mut self) {
        self.armed.clear();
    }

    /// Clicks a target and settles. A click that the guard blocked because the page changed is tried again.
    pub(crate) async fn click_on(
        &mut self,
        verb: &str,
        target_args: &TargetArgs,
        press: pointer::ClickSpec,
        after: &SettleArgs,
    ) -> Result<Receipt> {
        let mut missed = String::new();
        for _ in 0..TRIES {
            self.reset_baseline();
            let point = self
                .resolve_actionable(target_args, Actionability::CLICK, EventGuard::Pointer)
                .await?;
            let opening = pointer::PopupAttribution::by(self.tab, press);
            self.drop_held();
            let sent = match press.hold {
                None => self.click(&point, press)?,
                Some(time) => {
                    self.hold(&point, press, time).await?;
                    Vec::new()
                }
            };
            let (effects, settled) = self.settle_clicks(after, press.count, sent).await;
            drop(opening);
            // The guard blocked it; in no other case is a second attempt allowed.
            if effects.hits == 0 && !effects.missed.is_empty() && !self.left_page() {
                missed = effects.missed;
                continue;
            }
            // A click into a frame is seen by the frame's document only; one on the controls of a player by none.
            let is_frame = matches!(&*point.kind, "iframe" | "frame" | "object" | "embed");
            let is_lost = effects.hits == 0 && effects.is_quiet && effects.is_nothing();
            if is_lost && !is_frame && !self.left_page() {
                let message =
                    "the page did not see the click: take a snapshot before clicking again";
                self.progress.notes.push(Note::new("not-seen", message));
            }
            if effects.missing_click == MOVED {
                let message = "the element moved on mouse down and got no click event";
                self.progress.notes.push(Note::new("not-clicked", message));
            }
            let state = effects.is_checked.filter(|_| verb == "click");
            let value = state.map(|is| if is { "checked" } else { "unchecked" }.to_owned());
            let draft = ReceiptDraft { verb, point: Some(point), after, value };
            return self.build_receipt(draft, (effects, settled)).await;
        }
        let message = match &*missed {
            "changed" => "the element changed at the last moment: the click was held back".into(),
            by => format!("the click would have hit {by} instead and was held back"),
        };
        Err(Error::new(Code::ActMissed).message(message).evidence("by", missed))
    }

    /// Starts the baseline for changes anew.
    pub(crate) fn reset_baseline(&mut self) {
        self.baseline =
            Baseline { state: self.tab.state.borrow().clone(), cursor: self.tab.activity.cursor() };
        self.tab.activity.begin_action();
    }

    /// True if the target's page can no longer be asked: a dialog, its end, a navigation.
    pub(crate) fn left_page(&self) -> bool {
        let state = self.tab.state.borrow();
        state.dialog.is_some()
            || state.end.is_some()
            || state.loader != self.baseline.state.loader
            || self.tab.activity.cursor().departures > self.baseline.cursor.departures
    }

    /// The deadline of the actionability check.
    pub(crate) fn limit(&self, target_args: &TargetArgs) -> Deadline {
        // A part is reserved to find out the reason of a failure.
        let left = self.progress.deadline.left();
        let most = left - REPORT.min(left / 3);
        self.progress.deadline.at_most(if target_args.no_wait {
            Duration::ZERO
        } else {
            self.patience.min(most)
        })
    }

    /// Watches for effects of an action without a target element.
    pub(crate) async fn watch_effects(&mut self) -> Result<()> {
        let tab = self.tab;
        self.watch_effects_in(&tab.target_id).await
    }

    /// The same in the document of a frame and its ancestors; in the main document if the frame cannot be observed.
    pub(crate) async fn watch_effects_in(&mut self, frame_id: &str) -> Result<()> {
        let tree = self.observe().await?;
        let is_it = |frame: &page::ax::Frame| {
            self.observation
                .world_of(&frame.document)
                .is_some_and(|world| world.frame_id == frame_id)
        };
        let at = tree.frames.iter().position(is_it).unwrap_or_default();
        let mut frame = tree.frames.get(at);
        let mut documents = Vec::new();
        let mut armed = Vec::new();
        let mut begin = "beginUntargeted";
        while let Some(page::ax::Frame { document, parent, .. }) = frame {
            if let Some(world) = self.observation.world_of(document) {
                let id = self.tab.next_guard();
                armed.push(world.armed(id));
                let begin = format!("agbrowse.{begin}({id})");
                let begun =
                    self.unless_blocked(world.ask::<bool>(&begin, self.progress.deadline)).await;
                begun.map_err(|error| error.explain(self.tab))?;
            }
            documents.push(document.clone());
            begin = "beginInAncestor";
            frame = parent.and_then(|parent| tree.frames.get(usize::from(parent)));
        }
        self.documents = documents;
        self.armed = armed;
        self.element = None;
        self.ready_at = Instant::now();
        Ok(())
    }

    /// Records the time at which the input was dispatched.
    pub(crate) fn mark_dispatched(&mut self) {
        self.dispatched = Some(self.begun.elapsed());
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
