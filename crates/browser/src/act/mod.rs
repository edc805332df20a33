//! Acting: find what is meant, see that it can be done now, do it to that and to nothing else, see what came of it.
//!
//! Steps stand one under another in each verb: [`Action::reach`], then what the hand does, then [`Action::finish`], which
//! waits for the consequences and writes the receipt. Between the check and the event the page may still change: a
//! guard in our world lets an event through only to the element that was checked.

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

/// How long an element may take to become usable, unless the caller says how long the command may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Why an element that was pressed got no click: it was elsewhere when the button of the mouse was released.
const MOVED: &str = "moved";

/// In an error, the verb that would do.
const USE: &str = "use";

/// What is done to things of a kind that cannot be written to.
fn verb_for(role: Role) -> Option<&'static str> {
    Some(match role {
        Role::CheckBox | Role::Radio | Role::Switch => "check",
        Role::ComboBox | Role::ListBox => "select",
        Role::Button | Role::Link | Role::Tab | Role::Option | Role::MenuItem => "click",
        _ => return None,
    })
}

/// The control that a node is a part of: the nearest thing around it that one can click, if that takes clicks for all
/// that is in it. What can be clicked itself is no part of anything.
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

/// How much of a command's time is left for the reason why an element did not become usable; of a short one a third.
const REPORT: Duration = Duration::from_millis(500);

/// How long to wait for a sign of change before looking again.
const TICK: Duration = Duration::from_millis(100);

/// How many times in a row an element may change while it is looked at.
const MAX_DIRTY: usize = 20;

/// How many times a hand is moved again when the page changed under it at the last moment.
pub(crate) const TRIES: usize = 3;

/// What to act on.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetArgs {
    /// The element: a ref from the last snapshot (`@e3`), `css=…`, `role=button[name="…"]`, `text=…`, `label=…`,
    /// `placeholder=…`, `testid=…` or `xy=120,40`.
    pub target: Target,
    /// What to take instead if that cannot be found or used; may be given several times, and is tried in order.
    #[arg(long = "or", value_name = "TARGET")]
    #[serde(rename = "or", skip_serializing_if = "Vec::is_empty", default)]
    pub others: Vec<Target>,
    /// Which one, counted from 0, when several match.
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nth: Option<u32>,
    /// Do not wait for it to appear or to become usable.
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub no_wait: bool,
}

impl TargetArgs {
    /// At one thing and nothing else.
    pub fn at(target: Target) -> Self {
        Self { target, others: Vec::new(), nth: None, no_wait: false }
    }

    fn targets(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(&self.target).chain(&self.others)
    }
}

/// What must be true of an element before something is done to it.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Actionability {
    pub(crate) enabled: bool,
    pub(crate) editable: bool,
    /// A person can see it.
    pub(crate) visible: bool,
    /// Events must reach it: it is in view and nothing is in front of it.
    pub(crate) point: bool,
    /// Nothing is to be moved for it.
    pub(crate) dry: bool,
    /// At this point of its document.
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
    /// To be there.
    pub(crate) const TOUCH: Self = Self::NOTHING;
    pub(crate) const CLICK: Self = Self { enabled: true, point: true, ..Self::NOTHING };
    pub(crate) const HOVER: Self = Self { point: true, ..Self::NOTHING };
    pub(crate) const WRITE: Self =
        Self { enabled: true, editable: true, visible: true, ..Self::NOTHING };
    /// To be set by script, as a list of options is.
    pub(crate) const SET: Self = Self { enabled: true, ..Self::NOTHING };
}

/// What is kept from reaching anything but the element that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventGuard {
    Pointer,
    Keyboard,
    /// Nothing: it is done by script.
    Off,
    /// Nothing is going to be done at all.
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

/// An element that was found and can be acted on.
#[derive(Clone, Debug)]
pub(crate) struct ActionPoint {
    pub(crate) target: ReceiptTarget,
    pub(crate) strategy: &'static str,
    /// The document it is in, and those around that.
    pub(crate) documents: Vec<String>,
    pub(crate) element: u32,
    /// Where in the main frame's view.
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) kind: String,
    pub(crate) is_checked: Option<bool>,
    /// The control that it labels or is the content of, when that is what `kind` and `is_checked` are about.
    pub(crate) control: Option<u32>,
}

/// What our script says about an element.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ReadyReply {
    problem: Option<String>,
    by: Option<String>,
    cover: Option<u32>,
    x: f64,
    y: f64,
    control_state: Option<ControlState>,
    /// The field that takes the keys for the element, when that is another one.
    field: Option<u32>,
    /// The frame is drawn rotated or in perspective: the browser has to be asked where the point is.
    is_warped: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ControlState {
    kind: String,
    is_checked: Option<bool>,
    control: Option<u32>,
}

/// Why an element cannot be acted on now.
#[derive(Debug)]
pub(crate) struct ActionBlocker {
    problem: String,
    by: Option<String>,
}

/// What was so before anything was done.
pub(crate) struct Baseline {
    pub(crate) state: TabState,
    pub(crate) cursor: ActivityCursor,
}

/// What comes after its end is not because of an action.
impl Drop for Action<'_> {
    fn drop(&mut self) {
        self.tab.activity.end_action();
    }
}

/// The hand that acts on a tab.
pub(crate) struct Action<'a> {
    pub(crate) live: &'a RunningBrowser,
    pub(crate) tab: &'a Turn,
    pub(crate) observation: &'a mut TabObservation,
    pub(crate) progress: &'a mut Progress,
    pub(crate) access: Option<&'a Access>,
    patience: Duration,
    begun: Instant,
    baseline: Baseline,
    /// The page as it was when the target was found.
    tree: Option<Arc<Tree>>,
    attempts: Vec<Attempt>,
    dispatched: Option<Duration>,
    /// The document that was acted on, to be told when it is over.
    documents: Vec<String>,
    /// The guards in those documents.
    armed: Vec<ArmedState>,
    /// How the page is looked at when it has come to rest.
    inline_options: Option<String>,
    /// The document that was acted in.
    acted_in: Option<String>,
    /// The element that was acted on, in the first of those documents.
    element: Option<u32>,
    /// When it was ready to be acted on, and when the page was first quiet after that.
    ready_at: Instant,
    quiet_at: Option<Instant>,
    /// Scripts of the page hear what was done, as far as is known.
    has_listeners: bool,
    /// How long an effect is watched for.
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

    /// Does not wait long for an effect: there may be none before the next action.
    pub(crate) fn watch_briefly(&mut self) {
        self.watch = settle::SHORT_WATCH;
    }

    /// The page as it is now.
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

    /// The page as it was last seen if it is not known to have changed, and whether it is known not to have. A look
    /// for nothing costs as much as the click itself.
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
        // Word of a change may still be on its way.
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

    /// The first of several targets that can be found and used, ready to be acted on.
    ///
    /// # Errors
    /// The last target's, with all attempts.
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
                    // Only to look is no attempt.
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

    /// One target, ready to be acted on. What is in its way is told also when the page stops answering meanwhile.
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

    /// Looks for a target until it can be acted on or its time is over. `blocker` is what was in the way last.
    async fn poll(
        &mut self,
        target: &Target,
        target_args: &TargetArgs,
        actionability: Actionability,
        guard: EventGuard,
        blocker: &mut Option<Error>,
    ) -> Result<ActionPoint> {
        let limit = self.limit(target_args);
        // Only of refs and points is the page itself asked before anything is done.
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
                // A point is taken as it is, not the middle of what is there.
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
                        self.progress.deadline,
                        &mut self.progress.notes,
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
                            // A part of a control that cannot be hit itself is clicked with the control.
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
                            // Another kind of thing will not become a field by waiting.
                            if error.details().evidence.iter().any(|all| all.contains_key(USE)) {
                                return Err(error);
                            }
                            error
                        }
                    }
                }
                // What was seen some time ago is no reason to refuse.
                Err(_) if !is_sure => {
                    seen = Some((self.observe().await?, true));
                    continue;
                }
                // What is gone or means something else will not come back by waiting.
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
            *blocker = Some(failure);
            // Who is only waited for because of it has no more time than that.
            self.progress.deadline = self.progress.deadline.at_most(limit.left() + REPORT);
            self.wait_for_change(&tree, limit).await?;
        }
    }

    /// The error for what is not shown because a dialog keeps everything else out of reach.
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

    /// Waits until something happens in the page, for a moment at most.
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

    /// Whether something can be done to a node now. If so, it is about to be: the guard is up.
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
        // Owned before it is asked for: whatever ends this early also releases what the call arms later.
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

    /// What is in the way, by its ref if it has one.
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

    /// Waits for an answer of the page, unless something holds the page up: a dialog, a crash.
    async fn unless_blocked<T>(
        &self,
        work: impl Future<Output = std::result::Result<T, ObserveError>>,
    ) -> std::result::Result<T, ObserveError> {
        observe::watched(self.tab, work).await
    }

    /// The world of the document that an element is in.
    pub(crate) fn world(&self, point: &ActionPoint) -> Result<&World> {
        let document = point.documents.first().map(String::as_str).unwrap_or_default();
        self.observation.world_of(document).ok_or_else(|| {
            Error::new(Code::SnapshotRefStale).message("the page was replaced meanwhile")
        })
    }

    /// Asks the document of an element something.
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

    /// Runs a function in the document of an element and waits for its result.
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

    /// Asks the document of the page itself something.
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

    /// Fails where the page can tell nothing any more: the browser ended, the tab was closed, the page crashed.
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

    /// Waits until something is heard of the tab, for a moment at most.
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

    /// Releases the guard: nothing will be done after all.
    pub(crate) fn release_guard(&mut self) {
        self.armed.clear();
    }

    /// Clicks what is meant, and sees what comes of it. What the page pulled away at the last moment is tried again.
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
            // It was held back; nothing else may be tried again.
            if effects.hits == 0 && !effects.missed.is_empty() && !self.left_page() {
                missed = effects.missed;
                continue;
            }
            // What goes into a frame is seen by the frame's document alone; what goes to the controls of a player, by none.
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

    /// Counts what comes from here on.
    pub(crate) fn reset_baseline(&mut self) {
        self.baseline =
            Baseline { state: self.tab.state.borrow().clone(), cursor: self.tab.activity.cursor() };
        self.tab.activity.begin_action();
    }

    /// Whether the page that was acted on is not there to be asked any more.
    pub(crate) fn left_page(&self) -> bool {
        let state = self.tab.state.borrow();
        state.dialog.is_some()
            || state.end.is_some()
            || state.loader != self.baseline.state.loader
            || self.tab.activity.cursor().departures > self.baseline.cursor.departures
    }

    /// Until when an element is waited for.
    pub(crate) fn limit(&self, target_args: &TargetArgs) -> Deadline {
        // Some of it is left to find out and say why it did not work.
        let left = self.progress.deadline.left();
        let most = left - REPORT.min(left / 3);
        self.progress.deadline.at_most(if target_args.no_wait {
            Duration::ZERO
        } else {
            self.patience.min(most)
        })
    }

    /// Watches for what comes of something that is done to no element in particular.
    pub(crate) async fn watch_effects(&mut self) -> Result<()> {
        let tab = self.tab;
        self.watch_effects_in(&tab.target_id).await
    }

    /// The same in the document of a frame, and in those around it. What comes of something in a frame that nobody
    /// sees is watched for in the page itself.
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

    /// Notes that the hand has done its part.
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
