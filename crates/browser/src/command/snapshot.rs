//! `snapshot`: the page as text, with a ref for every actionable element.

use super::open::local_file;
use super::{
    Caller, CommandContext, RunInTab, TabNeed, Until, Verb, VerbKind, VerbReply, VerbSpec,
};
use crate::backend_refs;
use crate::chromium::RunningBrowser;
use crate::error::{Code, Error, Result};
use crate::navigate;
use crate::note::Note;
use crate::observe::{self, ObserveOptions, Source};
use crate::tab::Turn;
use crate::target::{self, Target};
use cdp::Deadline;
use clap::{Args, ValueEnum};
use page::ax::{RefPolicy, Tree};
use page::delta::{Delta, DeltaBase, delta};
use page::refs::{IssuedRefs, Scope, numbers_in, rewrite_refs};
use page::render::{McpRender, RenderOptions, render_mcp, render_with_refs};
use page::snapshot::{BuildOptions, Stats, WebAiSnapshot, build, empty_page_note, nodes, refs};
use page::view::{DEFAULT_MAX_DEPTH, SequentialRefs, View, ViewOptions, view};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;

/// A page counts as settled when it does not change for this time …
const QUIET: Duration = Duration::from_millis(100);
/// … and is shown unsettled after this time.
const SETTLE: Duration = Duration::from_secs(1);
/// Time reserved to observe a page that does not finish loading: this much, or a quarter of the timeout if that is
/// less.
const OBSERVATION: Duration = Duration::from_secs(3);
/// Maximum number of snapshot modes with a delta baseline of their own for parts of a page.
const MAX_MODES: usize = 2;

/// Note for a page that was read from the browser's accessibility tree.
const AX_FALLBACK: &str = "the observer script failed: this is the browser's accessibility tree (`--source ax`), \
    which may include hidden text and lacks elements that are clickable only by a listener";

/// Show the page as text, with a ref for every actionable element.
///
/// Each line is one element: its role, its name, and in brackets its ref and states. A ref (`@e3`) is a target for
/// other verbs; it stays bound to what it meant here. Visually hidden text is left out, secrets are masked.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Snapshot {
    /// Open this page first and wait until it has settled.
    pub url: Option<String>,
    /// Only controls, headings and text. This is the default.
    #[arg(long, overrides_with = "no_interactive")]
    pub interactive: bool,
    /// All elements, with their containers.
    #[arg(long)]
    pub no_interactive: bool,
    /// A flat list of the elements with refs.
    #[arg(long)]
    pub refs_only: bool,
    /// Write a single text on the line of its parent. This is the default.
    #[arg(long, overrides_with = "no_compact")]
    pub compact: bool,
    /// Write every text on a line of its own.
    #[arg(long)]
    pub no_compact: bool,
    /// Maximum depth, 6 by default (`--format viewpoint`: unlimited); deeper elements are counted.
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u32>,
    /// Only this element and its descendants, with full texts: a ref (`@e3`) or `css=…`.
    #[arg(long, value_name = "TARGET")]
    pub root: Option<Target>,
    /// Only the first element that matches this CSS selector.
    #[arg(long, value_name = "CSS", conflicts_with = "root")]
    pub root_selector: Option<String>,
    /// Give a ref to every element that can have one, without a limit.
    #[arg(long)]
    pub all_refs: bool,
    /// The source of the tree.
    #[arg(long, value_enum, default_value_t)]
    pub source: TreeSource,
    /// Include bounding boxes in CSS pixels: x, y, width, height.
    #[arg(long)]
    pub boxes: bool,
    /// Include link URLs.
    #[arg(long)]
    pub urls: bool,
    /// Replace names, values and texts by hashes.
    #[arg(long)]
    pub redact: bool,
    /// Include visually hidden text, marked with the reason.
    #[arg(long)]
    pub include_hidden: bool,
    /// Ignore the cache.
    #[arg(long)]
    pub fresh: bool,
    /// Only the changes since the last snapshot; not with `--find`.
    #[arg(long)]
    pub delta: bool,
    /// Fold the least useful parts to fit this number of tokens, approximately.
    #[arg(long, value_name = "TOKENS")]
    pub budget: Option<u32>,
    /// Only lines with this text, and their ancestors.
    #[arg(long, value_name = "TEXT")]
    pub find: Option<String>,
    /// The text format.
    #[arg(long, value_enum, default_value_t)]
    pub format: TextFormat,
    /// Include a list of all shown elements with the origin of their frame (in JSON).
    #[arg(long)]
    pub nodes: bool,
    /// Include hashes, refs and counts, as `--json` prints them.
    #[arg(skip)]
    pub details: bool,
    /// Number the refs from `@e1` and bind them to the hashes of this snapshot. Each comes with the durable ref of its
    /// element.
    #[arg(skip)]
    pub strict: bool,
}

/// The source of a tree.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum TreeSource {
    /// The observer script in the page: fast, and more detailed.
    #[default]
    Page,
    /// The browser's accessibility tree.
    Ax,
}

/// The text format of a snapshot.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum TextFormat {
    /// Short lines with `[ref=@e3]`.
    #[default]
    Text,
    /// As for MCP clients: a count, then lines with `[ref=e12345]`.
    Viewpoint,
}

/// A snapshot.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SnapshotReply {
    /// With hashes, refs and counts.
    Full(Box<WebAiSnapshot>),
    /// The text.
    Text(SnapshotText),
}

/// The text of a snapshot and its size.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotText {
    /// The text.
    pub text: String,
    /// Number of refs.
    pub refs: u32,
    /// Approximate number of tokens.
    pub tokens: u32,
}

impl Verb for Snapshot {
    type Reply = SnapshotReply;
    const SPEC: VerbSpec = VerbSpec { reads_files: true, ..VerbSpec::LOOK };

    fn spec(&self) -> VerbSpec {
        match self.url {
            Some(_) => VerbSpec {
                tab: TabNeed::Tab,
                kind: VerbKind::Control,
                makes_session: true,
                ..Self::SPEC
            },
            None => Self::SPEC,
        }
    }

    fn localize(&mut self, caller: &mut Caller<'_>) -> Result<()> {
        if caller.json && self.format == TextFormat::Viewpoint {
            return Err(Error::new(Code::CommandInvalid)
                .message("`--json` cannot be combined with `--format viewpoint`"));
        }
        if self.nodes && !caller.json {
            return Err(Error::new(Code::CommandInvalid).message("`--nodes` needs `--json`"));
        }
        self.details = caller.json;
        self.url.as_mut().map_or(Ok(()), local_file)
    }

    fn check(&self, cx: &CommandContext<'_>) -> Result<()> {
        match (self.contradiction(), &self.url) {
            (Some(why), _) => Err(Error::new(Code::CommandInvalid).message(why)),
            (None, Some(url)) => cx.address(url).map(drop),
            (None, None) => Ok(()),
        }
    }
}

impl VerbReply for SnapshotReply {
    fn texts_mut(&mut self) -> Vec<&mut String> {
        match self {
            Self::Text(text) => vec![&mut text.text],
            _ => Vec::new(),
        }
    }
}

impl RunInTab for Snapshot {
    async fn run(&self, cx: &mut CommandContext<'_>, turn: &Turn) -> Result<SnapshotReply> {
        if let Some(url) = &self.url {
            self.open(cx, turn, url).await?;
        }
        let live = cx.live().await?;
        let mode = self.mode();
        let mut observation = turn.observation.lock().await;
        let observation = &mut *observation;
        let observe_options =
            self.observe_options(observation.parts.iter().find(|part| part.mode == mode));
        let loader = turn.state.borrow().loader.clone();
        let is_plain = !self.fresh && !self.all_refs && self.url.is_none();
        let cached_page =
            if is_plain { observation.cached_page(&observe_options, &loader) } else { None };
        let is_hit = cached_page.is_some();
        tracing::debug!(cache = if is_hit { "hit" } else { "miss" }, "snapshot");
        let tree = match cached_page {
            Some(tree) => tree,
            None => {
                let span = tracing::debug_span!("capture_snapshot");
                self.capture(&live, turn, observation, &observe_options, cx.progress.deadline)
                    .instrument(span)
                    .await?
            }
        };
        let root = match self.wanted_root() {
            None => None,
            Some(wanted) => {
                let notes = cx.progress.notes.len();
                let found = target::find(turn, observation, &tree, &wanted, &mut cx.progress).await;
                // They contain names of elements.
                if self.redact {
                    cx.progress.notes.truncate(notes);
                }
                Some(found.map_err(|error| root_error(error, &wanted))?)
            }
        };
        let skeleton = match self.details || self.strict {
            true => {
                let part = root
                    .map(|root| &tree.nodes[root])
                    .map(|node| (&*tree.frames[usize::from(node.frame)].document, node.element));
                observe::tag_skeleton(turn, observation, part, cx.progress.deadline)
                    .await
                    .unwrap_or_default()
            }
            false => None,
        };
        if self.strict {
            let snapshot = self.strict_snapshot(observation, &tree, root, skeleton.as_deref());
            return Ok(SnapshotReply::Full(Box::new(snapshot)));
        }
        let formatted = async {
            let source = self.select_view(
                observation,
                tree,
                root,
                RenderPlan { observe_options, mode, skeleton },
            );
            self.finish(cx, turn, observation, source).await
        };
        formatted.instrument(tracing::debug_span!("format_snapshot")).await
    }
}

impl Snapshot {
    /// The contradiction between options, if there is one.
    fn contradiction(&self) -> Option<&'static str> {
        let is_ax = self.source == TreeSource::Ax;
        let is_empty = self.find.as_ref().is_some_and(|text| text.trim().is_empty());
        [
            (
                self.delta && self.find.is_some(),
                "`--delta` cannot be combined with `--find`: lines that no longer match would read as removed",
            ),
            (is_empty, "`--find` needs a text that is not empty"),
            (
                is_ax && self.boxes,
                "`--boxes` cannot be combined with `--source ax`: that tree has no bounding boxes",
            ),
            (
                is_ax && self.include_hidden,
                "`--include-hidden` cannot be combined with `--source ax`: that tree has no visibility",
            ),
        ]
        .into_iter()
        .find_map(|(is_so, why)| is_so.then_some(why))
    }

    /// Builds a snapshot by the phase-7 ref policy. Its durable refs are issued, those in its text are only data.
    fn strict_snapshot(
        &self,
        observation: &mut observe::TabObservation,
        tree: &Arc<Tree>,
        root: Option<usize>,
        skeleton: Option<&str>,
    ) -> WebAiSnapshot {
        let options = ViewOptions { policy: RefPolicy::WebAi, ..self.view_options(root) };
        let registry = &mut observation.registry;
        let live = view(tree, &options, &mut registry.numbering(tree));
        registry.issue_view(tree, &live, Scope::Part);
        let mut numbers = SequentialRefs::default();
        let seen = view(tree, &options, &mut |frame, element| numbers.number(frame, element));
        let build_options = BuildOptions {
            snapshot_id: &snapshot_id(),
            provider: None,
            html: skeleton,
            print: options.print,
            nodes: self.nodes,
        };
        let mut snapshot = build(tree, &seen, &build_options);
        let pairs = seen.lines.iter().zip(&live.lines);
        let live_refs: HashMap<String, u32> = pairs
            .filter_map(|(seen, live)| Some((format!("@e{}", seen.number?), live.number?)))
            .collect();
        for it in &mut snapshot.refs {
            it.live_ref = live_refs.get(&it.ref_name).map(|number| format!("@e{number}"));
        }
        snapshot
    }

    /// Builds the view of the tree and issues its refs.
    fn select_view(
        &self,
        observation: &mut observe::TabObservation,
        tree: Arc<Tree>,
        root: Option<usize>,
        plan: RenderPlan,
    ) -> SnapshotSource {
        let options = self.view_options(root);
        let registry = &mut observation.registry;
        let seen = view(&tree, &options, &mut registry.numbering(&tree));
        // Folded lines are part of the baseline: a budget is no difference between two pages.
        let unfolded = options.budget.map(|_| {
            let options = ViewOptions { budget: None, ..options.clone() };
            view(&tree, &options, &mut registry.numbering(&tree))
        });
        let scope = if seen.is_whole { Scope::Whole } else { Scope::Part };
        let issued = self.delta.then(|| registry.issued());
        registry.issue_view(
            &tree,
            unfolded.as_ref().filter(|_| self.delta).unwrap_or(&seen),
            scope,
        );
        SnapshotSource { tree, seen, unfolded, options, plan, issued }
    }

    /// Opens the page, reserving time to observe it.
    async fn open(&self, cx: &mut CommandContext<'_>, turn: &Turn, url: &str) -> Result<()> {
        let url = cx.address(url)?;
        let reserved = OBSERVATION.min(cx.progress.deadline.total() / 4);
        let navigation = navigate::Navigation { reserved, ..cx.navigation(turn, Until::Load) };
        let there = navigate::go(navigation, &url).await?;
        if let Some(status) = there.status.filter(|status| *status >= 400) {
            cx.progress
                .notes
                .push(Note::new("http-status", format!("the server answered {status}")));
        }
        Ok(())
    }

    /// Observes the page; a page that was just opened until it has settled.
    async fn capture(
        &self,
        live: &RunningBrowser,
        turn: &Turn,
        observation: &mut observe::TabObservation,
        observe_options: &ObserveOptions,
        deadline: Deadline,
    ) -> Result<Arc<Tree>> {
        if self.fresh {
            observation.reset();
        }
        let stashed = if self.all_refs { observation.stash() } else { None };
        let mut tree = observe::observe(live, turn, observation, observe_options, deadline).await?;
        if self.url.is_some() {
            let limit = deadline.at_most(SETTLE);
            while !limit.is_over() && observation.changes_within(QUIET).await {
                tree = observe::observe(live, turn, observation, observe_options, deadline).await?;
            }
        }
        if self.all_refs {
            observation.restore(stashed);
        }
        Ok(tree)
    }

    /// The options that make two snapshots comparable, as a string.
    fn mode(&self) -> String {
        let mode = Self {
            max_depth: Some(self.depth()),
            url: None,
            fresh: false,
            delta: false,
            budget: None,
            format: TextFormat::default(),
            nodes: false,
            details: false,
            ..self.clone()
        };
        serde_json::to_string(&mode).unwrap_or_default()
    }

    /// The observation options. Texts of a part are observed in full, unless they are compared with a baseline of cut
    /// ones: of the whole page, or of an earlier snapshot of the part.
    fn observe_options(&self, before: Option<&observe::DeltaBaseline>) -> ObserveOptions {
        ObserveOptions {
            firewall: true,
            hidden: self.include_hidden,
            urls: self.urls || self.details || self.strict,
            boxes: self.boxes,
            full: self.wanted_root().is_some()
                && (!self.delta || before.is_some_and(|before| before.observe_options.full)),
            source: match self.source {
                TreeSource::Page => Source::Page,
                TreeSource::Ax => Source::Ax,
            },
        }
    }

    fn wanted_root(&self) -> Option<Target> {
        let by_selector = self.root_selector.as_ref().map(|css| Target::Css(css.clone()));
        self.root.clone().or(by_selector)
    }

    /// The maximum depth. Unlimited for MCP, whose clients cannot ask for more.
    fn depth(&self) -> u32 {
        self.max_depth.unwrap_or(match self.format {
            TextFormat::Text => DEFAULT_MAX_DEPTH,
            TextFormat::Viewpoint => u32::MAX,
        })
    }

    fn view_options(&self, root: Option<usize>) -> ViewOptions {
        ViewOptions {
            policy: RefPolicy::Live { all: self.all_refs },
            interactive: !self.no_interactive,
            compact: !self.no_compact,
            skip_repeated: self.no_interactive,
            max_depth: self.depth(),
            root,
            refs_only: self.refs_only,
            find: self.find.clone(),
            budget: self.budget,
            print: RenderOptions {
                urls: self.urls,
                boxes: self.boxes,
                redact: self.redact,
                unlimited_names: root.is_some(),
                flat: self.refs_only,
                viewpoint: self.format == TextFormat::Viewpoint,
            },
        }
    }

    /// Renders the snapshot, or its delta.
    async fn finish(
        &self,
        cx: &mut CommandContext<'_>,
        turn: &Turn,
        observation: &mut observe::TabObservation,
        mut source: SnapshotSource,
    ) -> Result<SnapshotReply> {
        let issued = source.issued.take();
        let (tree, seen, print) = (&source.tree, &source.seen, &source.options.print);
        let before = if self.delta { self.delta_base(observation, &source) } else { None };
        let mut notes = Vec::new();
        let mut delta_shown = None;
        let mut compared = |full: &str| -> Option<String> {
            let was = before.as_ref()?;
            let now = DeltaBase::new(tree, source.unfolded.as_ref().unwrap_or(seen), print);
            let mut delta = delta(was, &now, full);
            let is_much =
                |budget: u32| !delta.is_full && page::tokens::calibrated(&delta.text) > budget;
            if self.budget.is_some_and(is_much) {
                delta.is_full = true;
                delta.text = format!("the delta exceeds the budget; this is the page:\n{full}");
            }
            let text = delta.text.clone();
            delta_shown = Some(delta);
            Some(text)
        };
        let reply = if self.details {
            let id = snapshot_id();
            let build_options = BuildOptions {
                snapshot_id: &id,
                provider: None,
                html: source.plan.skeleton.as_deref(),
                print: *print,
                nodes: self.nodes,
            };
            let mut snapshot = build(tree, seen, &build_options);
            if let Some(text) = compared(&snapshot.text) {
                snapshot.text = text;
            }
            if let Some(delta_shown) = &delta_shown {
                if !delta_shown.is_full {
                    // The delta includes lines that a budget folds.
                    let all = source.unfolded.as_ref().unwrap_or(seen);
                    let line = |(at, _): &(u32, u32)| all.lines.get(*at as usize);
                    snapshot.refs = refs(tree, all, print);
                    if self.nodes {
                        snapshot.nodes =
                            nodes(tree, delta_shown.reported.iter().filter_map(line), print);
                    }
                }
                restrict_to_delta(&mut snapshot, delta_shown);
            }
            SnapshotReply::Full(Box::new(snapshot))
        } else {
            let text = match self.format {
                TextFormat::Text => render_with_refs(tree, seen, print).text,
                TextFormat::Viewpoint => {
                    let numbers: Vec<u32> =
                        seen.lines.iter().filter_map(|line| line.number).collect();
                    backend_refs::fetch_backend_ids(
                        turn,
                        observation,
                        &numbers,
                        cx.progress.deadline,
                    )
                    .await;
                    let context = turn.context.as_deref();
                    let spell = |number: u32| {
                        backend_refs::format_ref(observation, context, number).unwrap_or_default()
                    };
                    render_mcp(tree, seen, &McpRender { spell: &spell, print: *print })
                }
            };
            let mut text = compared(&text).unwrap_or(text);
            let refs = match &delta_shown {
                Some(delta_shown) if !delta_shown.is_full => {
                    let numbers = numbers_in(&text);
                    if self.format == TextFormat::Viewpoint {
                        backend_refs::fetch_backend_ids(
                            turn,
                            observation,
                            &numbers,
                            cx.progress.deadline,
                        )
                        .await;
                        let context = turn.context.as_deref();
                        text = rewrite_refs(&text, |number| {
                            backend_refs::format_ref(observation, context, number)
                        });
                    }
                    numbers.into_iter().collect::<HashSet<_>>().len() as u32
                }
                _ => seen.refs,
            };
            let tokens = page::tokens::calibrated(&text);
            SnapshotReply::Text(SnapshotText { text, refs, tokens })
        };
        if let (Some(issued), Some(delta_shown)) =
            (issued, delta_shown.as_ref().filter(|delta_shown| !delta_shown.is_full))
        {
            // Issues refs for reported lines only: all others stay bound to what was shown for them.
            let all = source.unfolded.as_ref().unwrap_or(seen);
            let lines =
                delta_shown.reported.iter().filter_map(|(at, _)| all.lines.get(*at as usize));
            let nodes: Vec<usize> =
                lines.filter(|line| line.number.is_some()).map(|line| line.node as usize).collect();
            observation.registry.restore_and_issue(issued, tree, &nodes);
        }
        if self.delta && delta_shown.is_none() {
            let note = "no earlier snapshot of this page with these options: this is all of it";
            notes.push(Note::new("no-earlier", note));
        }
        // A delta omits nothing that its baseline did not.
        if delta_shown.as_ref().is_none_or(|delta_shown| delta_shown.is_full) {
            self.note_missing(&source, &mut notes);
        }
        if observation.is_ax_fallback {
            notes.push(Note::new("second-hand", AX_FALLBACK));
        }
        let silent = tree.silent_frames(self.redact).into_iter();
        notes.extend(silent.map(|frame| {
            Note::new("silent-frame", "a frame did not answer").with_page_text(&frame)
        }));
        cx.progress.notes.extend(notes);
        self.store_baseline(observation, source);
        Ok(reply)
    }

    /// Adds notes about what the text omits.
    fn note_missing(&self, source: &SnapshotSource, notes: &mut Vec<Note>) {
        let SnapshotSource { tree, seen, .. } = source;
        notes.extend(seen.notes().into_iter().map(|note| Note::new("not-shown", note)));
        if let (Some(text), Some(0)) = (&self.find, seen.matches) {
            notes.push(Note::new("no-match", format!("no line contains the text {text:?}")));
        }
        let is_viewpoint = self.format == TextFormat::Viewpoint && !self.details;
        // That format says so itself.
        if seen.is_empty_page() && !is_viewpoint {
            notes.push(Note::new("empty", empty_page_note(tree)));
        }
        let hidden = tree.unseen();
        // Most pages have some, and every word costs tokens: reported only if it is more than the rest.
        let is_worth_it = if is_viewpoint { hidden > seen.node_count() } else { hidden > 0 };
        let is_part = source.options.root.is_some() || self.refs_only;
        if is_worth_it && !is_part && !self.include_hidden {
            let texts = if hidden == 1 { "text" } else { "texts" };
            let note = format!("{hidden} hidden {texts} left out: `--include-hidden`");
            notes.push(Note::new("unseen", note));
        }
    }

    /// The base of the delta: the last snapshot with the same options, otherwise the last one of the whole page in the
    /// view of this one.
    fn delta_base(
        &self,
        observation: &mut observe::TabObservation,
        source: &SnapshotSource,
    ) -> Option<DeltaBase> {
        let SnapshotSource {
            tree, options, plan: RenderPlan { observe_options, mode, .. }, ..
        } = source;
        let (registry, parts, whole) =
            (&mut observation.registry, &observation.parts, &observation.delta_baseline);
        let document = |tree: &Tree| tree.frames.first().map(|frame| frame.document.clone());
        let can_compare = |shown: &&observe::DeltaBaseline| {
            document(&shown.tree) == document(tree)
                && shown.observe_options.is_comparable_with(observe_options, &options.print)
        };
        let same = parts.iter().find(|part| part.mode == *mode);
        let before = same.filter(can_compare).or(whole.as_ref().filter(can_compare))?;
        let background = observation
            .modal_background
            .as_ref()
            .filter(|background| document(background) == document(tree));
        let background = background.filter(|_| options.root.is_none()).map(|background| {
            let options = ViewOptions { budget: None, ..options.clone() };
            let view = view(background, &options, &mut registry.numbering(background));
            DeltaBase::new(background, &view, &options.print)
        });
        let complete = |mut was: DeltaBase| {
            background.iter().for_each(|background| was.add_covered_page(background));
            was
        };
        if before.mode == *mode {
            let was = DeltaBase::new(&before.tree, &before.view, &options.print);
            return Some(complete(was));
        }
        let root = match options.root {
            None => None,
            Some(root) => {
                let now = &tree.nodes[root];
                let frame = |of: &Tree, node: &page::ax::Node| {
                    of.frames.get(usize::from(node.frame)).map(|frame| frame.document.clone())
                };
                let is_root = |was: &page::ax::Node| {
                    was.element == now.element && frame(&before.tree, was) == frame(tree, now)
                };
                Some(before.tree.nodes.iter().position(is_root)?)
            }
        };
        let options = ViewOptions { root, budget: None, ..options.clone() };
        let was = view(&before.tree, &options, &mut registry.numbering(&before.tree));
        Some(complete(DeltaBase::new(&before.tree, &was, &options.print)))
    }

    /// Stores the delta baseline.
    fn store_baseline(&self, observation: &mut observe::TabObservation, source: SnapshotSource) {
        let SnapshotSource {
            tree,
            seen,
            unfolded,
            options,
            plan: RenderPlan { observe_options, mode, .. },
            ..
        } = source;
        let is_whole = seen.is_whole;
        let view = unfolded.unwrap_or(seen);
        let options = ViewOptions { budget: None, ..options };
        let shown =
            observe::DeltaBaseline { tree, view, view_options: options, observe_options, mode };
        if is_whole {
            let was = observation.delta_baseline.take();
            observation.set_modal_background(was.as_ref().map(|was| &was.tree), &shown.tree);
            observation.parts.clear();
            observation.delta_baseline = Some(shown);
            return;
        }
        // Search results are no baseline.
        if self.find.is_some() {
            return;
        }
        observation.parts.retain(|part| part.mode != shown.mode);
        if observation.parts.len() >= MAX_MODES {
            observation.parts.remove(0);
        }
        observation.parts.push(shown);
    }
}

/// The tree and view of a snapshot.
struct SnapshotSource {
    tree: Arc<Tree>,
    seen: View,
    /// The view without folding, if there is a budget.
    unfolded: Option<View>,
    options: ViewOptions,
    plan: RenderPlan,
    /// The refs issued before, for a delta.
    issued: Option<IssuedRefs>,
}

/// The options of a snapshot and the hashed skeleton.
struct RenderPlan {
    observe_options: ObserveOptions,
    /// The snapshot options that make two snapshots comparable.
    mode: String,
    /// The tag skeleton, for the DOM hash.
    skeleton: Option<String>,
}

/// Restricts counts and refs to those of the delta.
fn restrict_to_delta(snapshot: &mut WebAiSnapshot, delta_shown: &Delta) {
    if !delta_shown.is_full {
        let numbers = numbers_in(&snapshot.text);
        let is_shown = |name: &str| {
            name.strip_prefix("@e")
                .and_then(|digits| digits.parse().ok())
                .is_some_and(|number| numbers.contains(&number))
        };
        snapshot.refs.retain(|it| is_shown(&it.ref_name));
        snapshot.stats.node_count = delta_shown.reported.len() as u32;
        snapshot.stats.interactive_count = snapshot.refs.len() as u32;
    }
    snapshot.stats = Stats {
        token_estimate: page::tokens::estimate(&snapshot.text),
        tokens_calibrated: page::tokens::calibrated(&snapshot.text),
        ..snapshot.stats
    };
}

impl fmt::Display for SnapshotReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(snapshot) => &snapshot.text,
            Self::Text(text) => &text.text,
        })
    }
}

/// A missing root has an error code of its own.
fn root_error(error: Error, wanted: &Target) -> Error {
    match error.code() {
        Code::TargetNotFound => {
            // It matched an element that is not shown.
            let evidence = error.details().evidence.as_ref();
            let is_there = evidence.is_some_and(|all| all.contains_key("selector"));
            let why = if is_there { " what is shown" } else { "" };
            Error::new(Code::SnapshotRootNotFound)
                .message(format!("snapshot root selector did not match{why}: {wanted}"))
                .evidence("rootSelector", wanted.to_string())
        }
        // An invalid selector matches nothing.
        Code::CommandInvalid if matches!(wanted, Target::Css(_)) => {
            Error::new(Code::SnapshotRootNotFound)
                .message(format!("snapshot root selector did not match: {wanted}"))
                .evidence("rootSelector", wanted.to_string())
                .evidence("reason", "not a valid selector")
        }
        _ => error,
    }
}

/// A unique snapshot id.
fn snapshot_id() -> String {
    let mut bytes = [0u8; 16];
    // The time, if there is no randomness.
    if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        bytes = now.unwrap_or_default().as_nanos().to_le_bytes();
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
