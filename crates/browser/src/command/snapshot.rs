//! `snapshot`: the page as text, with a ref for everything that can be acted on.

use super::{Cx, Until, Verb};
use crate::browser::Needs;
use crate::error::{Code, Error, Result};
use crate::live::Live;
use crate::navigate;
use crate::note::Note;
use crate::observe::{self, Look, Source};
use crate::spelling;
use crate::tab::Turn;
use crate::target::{self, Target};
use cdp::Deadline;
use clap::{Args, ValueEnum};
use page::ax::{RefPolicy, Tree};
use page::delta::{ShownPage, delta};
use page::refs::Scope;
use page::render::{Print, Viewpoint, printed, viewpoint};
use page::snapshot::{BuildOptions, WebAiSnapshot, build};
use page::view::{DEFAULT_MAX_DEPTH, View, ViewOptions, view};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;

/// A page counts as settled when nothing happens in it for so long …
const QUIET: Duration = Duration::from_millis(100);
/// … and is shown as it is after so long at the latest.
const SETTLE: Duration = Duration::from_secs(1);

/// Show the page as text, with a ref for everything that can be acted on.
///
/// Each line is one thing: its role, its name, and in brackets its ref and states. A ref (`@e3`) can be given to
/// the verbs that act or look closer; it stays bound to what it meant here. Text that a person cannot see is left
/// out, secrets are masked.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Snapshot {
    /// Open this page first, and wait until nothing happens in it any more.
    pub url: Option<String>,
    /// Only what is worth telling: controls, headings, text. This is the default.
    #[arg(long, overrides_with = "no_interactive")]
    pub interactive: bool,
    /// Everything, with all the containers around it.
    #[arg(long)]
    pub no_interactive: bool,
    /// A flat list of what can be acted on, nothing else.
    #[arg(long)]
    pub refs_only: bool,
    /// Write a single text on the line of what it is in. This is the default.
    #[arg(long, overrides_with = "no_compact")]
    pub compact: bool,
    /// Write every text on a line of its own.
    #[arg(long)]
    pub no_compact: bool,
    /// How deep to go; what lies deeper is counted.
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u32>,
    /// Only this element and what is in it, texts in full: a ref (`@e3`) or `css=…`.
    #[arg(long, value_name = "TARGET")]
    pub root: Option<Target>,
    /// Only the first element that this CSS selector matches.
    #[arg(long, value_name = "CSS", conflicts_with = "root")]
    pub root_selector: Option<String>,
    /// Give a ref to everything that can have one, however many there are.
    #[arg(long)]
    pub all_refs: bool,
    /// Where the tree comes from.
    #[arg(long, value_enum, default_value_t)]
    pub source: TreeSource,
    /// With where things are, in CSS pixels: x, y, width, height.
    #[arg(long)]
    pub boxes: bool,
    /// With where links lead.
    #[arg(long)]
    pub urls: bool,
    /// Hashes in place of names, values and texts.
    #[arg(long)]
    pub redact: bool,
    /// Show text that a person cannot see, marked with the reason.
    #[arg(long)]
    pub include_hidden: bool,
    /// Look again, even if nothing seems to have happened.
    #[arg(long)]
    pub fresh: bool,
    /// Only what is different from the last snapshot.
    #[arg(long)]
    pub delta: bool,
    /// Fold the least useful parts until it has about so many tokens.
    #[arg(long, value_name = "TOKENS")]
    pub budget: Option<u32>,
    /// Only lines with this text, and what they are in.
    #[arg(long, value_name = "TEXT")]
    pub find: Option<String>,
    /// How it is written.
    #[arg(long, value_enum, default_value_t)]
    pub format: TextFormat,
    /// With a list of everything shown, each with the origin of its frame (in JSON).
    #[arg(long)]
    pub nodes: bool,
    /// With hashes, refs and counts, as `--json` prints it.
    #[arg(skip)]
    pub details: bool,
}

/// Where a tree comes from.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum TreeSource {
    /// Read from inside the page: fast, and knows more.
    #[default]
    Page,
    /// The browser's own accessibility tree.
    Ax,
}

/// How a snapshot is written.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum TextFormat {
    /// Short lines with `[ref=@e3]`.
    #[default]
    Text,
    /// As MCP clients know it: a count, then lines with `[ref=e12345]`.
    Viewpoint,
}

/// What a page looks like.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Snapped {
    /// With hashes, refs and counts.
    Full(Box<WebAiSnapshot>),
    /// The text.
    Text(SnapshotText),
}

/// A snapshot's text, and how much is in it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotText {
    /// The text.
    pub text: String,
    /// How many refs it has.
    pub refs: u32,
    /// How many tokens a model reads, about.
    pub tokens: u32,
}

impl Verb for Snapshot {
    type Reply = Snapped;

    async fn run(&self, cx: &mut Cx<'_>) -> Result<Snapped> {
        let turn = match &self.url {
            Some(url) => {
                let url = navigate::address(url)?;
                let turn = cx.turn(Needs::Tab).await?;
                navigate::go(cx.trip(&turn, Until::Load), &url).await?;
                turn
            }
            None => cx.turn(Needs::Page).await?,
        };
        let live = cx.live().await?;
        let look = self.look();
        let mut sight = turn.sight.lock().await;
        let sight = &mut *sight;
        let loader = turn.state.borrow().loader.clone();
        let is_plain = !self.fresh && !self.all_refs && self.url.is_none();
        let remembered = if is_plain { sight.remembered(&look, &loader) } else { None };
        let is_hit = remembered.is_some();
        tracing::debug!(cache = if is_hit { "hit" } else { "miss" }, "snapshot");
        let tree = match remembered {
            Some(tree) => tree,
            None => {
                let span = tracing::debug_span!("capture_snapshot");
                self.capture(&live, &turn, sight, &look, cx.deadline).instrument(span).await?
            }
        };
        let root = match self.wanted_root() {
            None => None,
            Some(wanted) => {
                let found =
                    target::find(&turn, sight, &tree, &wanted, cx.deadline, &mut cx.notes).await;
                Some(found.map_err(|error| as_root(error, &wanted))?)
            }
        };
        let _span = tracing::debug_span!("format_snapshot").entered();
        let begun = std::time::Instant::now();
        let options = self.view_options(root);
        let registry = &mut sight.registry;
        let seen = view(&tree, &options, &mut |frame, element| {
            registry.number(&tree.frames[usize::from(frame)].document, element)
        });
        let scope = if seen.is_whole { Scope::Whole } else { Scope::Part };
        registry.show(&tree, &seen, scope);
        cx.notes.extend(seen.notes().into_iter().map(|note| Note::new("not-shown", note)));
        if let (Some(text), Some(0)) = (&self.find, seen.matches) {
            cx.notes.push(Note::new("no-match", format!("nothing shown has the text {text:?}")));
        }
        for frame in tree.nodes.iter().filter(|node| node.states.is_silent()) {
            let name = tree.name(frame);
            cx.notes.push(Note::new("silent-frame", format!("a frame did not answer: {name:?}")));
        }
        drop(_span);
        let viewed = begun.elapsed();
        let reply = self.finish(cx.deadline, &turn, sight, tree, seen, options).await;
        tracing::debug!(?viewed, written = ?(begun.elapsed() - viewed), "a snapshot was made");
        reply
    }
}

impl Snapshot {
    /// Looks at the page; at one that was just opened until it comes to rest.
    async fn capture(
        &self,
        live: &Live,
        turn: &Turn,
        sight: &mut observe::Sight,
        look: &Look,
        deadline: Deadline,
    ) -> Result<Arc<Tree>> {
        if self.fresh {
            sight.forget_all();
        }
        let aside = if self.all_refs { sight.put_aside() } else { None };
        let mut tree = observe::observe(live, turn, sight, look, deadline).await?;
        if self.url.is_some() {
            let limit = deadline.at_most(SETTLE);
            while !limit.is_over() && sight.is_stirring(QUIET).await {
                tree = observe::observe(live, turn, sight, look, deadline).await?;
            }
        }
        if self.all_refs {
            sight.take_back(aside);
        }
        Ok(tree)
    }

    fn look(&self) -> Look {
        Look {
            firewall: true,
            hidden: self.include_hidden,
            urls: self.urls || self.details,
            boxes: self.boxes,
            full: self.wanted_root().is_some(),
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

    fn view_options(&self, root: Option<usize>) -> ViewOptions {
        ViewOptions {
            policy: RefPolicy::Live { all: self.all_refs },
            interactive: !self.no_interactive,
            compact: !self.no_compact,
            skip_repeated: self.no_interactive,
            max_depth: self.max_depth.unwrap_or(DEFAULT_MAX_DEPTH),
            root,
            refs_only: self.refs_only,
            find: self.find.clone(),
            budget: self.budget,
            print: Print {
                urls: self.urls,
                boxes: self.boxes,
                redact: self.redact,
                unlimited_names: root.is_some(),
                flat: self.refs_only,
            },
        }
    }

    async fn finish(
        &self,
        deadline: Deadline,
        turn: &Turn,
        sight: &mut observe::Sight,
        tree: Arc<Tree>,
        seen: View,
        options: ViewOptions,
    ) -> Result<Snapped> {
        let print = &options.print;
        let before = sight.shown.take();
        let reply = if self.details {
            let selector = self.root_selector.as_deref();
            let html = observe::shape(turn, sight, selector, deadline).await.unwrap_or_default();
            let id = snapshot_id();
            let build_options = BuildOptions {
                snapshot_id: &id,
                provider: None,
                html: html.as_deref(),
                print: *print,
                nodes: self.nodes,
            };
            let mut snapshot = build(&tree, &seen, &build_options);
            if self.delta {
                snapshot.text = self.changes(before.as_ref(), &tree, &seen, print, &snapshot.text);
            }
            Snapped::Full(Box::new(snapshot))
        } else {
            let text = match self.format {
                TextFormat::Text => printed(&tree, &seen, print).text,
                TextFormat::Viewpoint => {
                    let numbers: Vec<u32> =
                        seen.lines.iter().filter_map(|line| line.number).collect();
                    spelling::learn(turn, sight, &numbers, deadline).await;
                    let context = turn.context.as_deref();
                    let spell =
                        |number: u32| spelling::spelled(sight, context, number).unwrap_or_default();
                    viewpoint(&tree, &seen, &Viewpoint { spell: &spell, print: *print })
                }
            };
            let text = match self.delta {
                true => self.changes(before.as_ref(), &tree, &seen, print, &text),
                false => text,
            };
            let tokens = page::tokens::calibrated(&text);
            Snapped::Text(SnapshotText { text, refs: seen.refs, tokens })
        };
        sight.shown =
            if seen.is_whole { Some(observe::Shown { tree, view: seen, options }) } else { before };
        Ok(reply)
    }

    /// What is different from what was shown before; everything when nothing was.
    fn changes(
        &self,
        before: Option<&observe::Shown>,
        tree: &Tree,
        seen: &View,
        print: &Print,
        full: &str,
    ) -> String {
        let is_same_page = |before: &&observe::Shown| {
            let document = |tree: &Tree| tree.frames.first().map(|frame| frame.document.clone());
            document(&before.tree) == document(tree)
        };
        match before.filter(is_same_page) {
            Some(before) => {
                let was = ShownPage::new(&before.tree, &before.view, &before.options.print);
                let now = ShownPage::new(tree, seen, print);
                delta(&was, &now, full).text
            }
            None => full.to_owned(),
        }
    }
}

impl fmt::Display for Snapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(snapshot) => &snapshot.text,
            Self::Text(text) => &text.text,
        })
    }
}

/// A root that is not there is its own kind of failure.
fn as_root(error: Error, wanted: &Target) -> Error {
    match error.code() {
        Code::TargetNotFound => Error::new(Code::SnapshotRootNotFound)
            .message(format!("snapshot root selector did not match: {wanted}"))
            .evidence("rootSelector", wanted.to_string()),
        _ => error,
    }
}

/// An id that no other snapshot has.
fn snapshot_id() -> String {
    let mut bytes = [0u8; 16];
    // Without randomness the time is the best there is.
    if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        bytes = now.unwrap_or_default().as_nanos().to_le_bytes();
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
