//! The contract of a verb: its spec, reply and execution, independent of the verb.

use super::CommandContext;
use crate::act::{Action, Receipt};
use crate::error::Result;
use crate::tab::Turn;
use std::fmt;
use std::path::{Path, PathBuf};

/// The tab that a verb works on. `Browser::run` resolves it and takes its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TabNeed {
    /// No tab, or one that the verb opens.
    None,
    /// A tab whose state is read without the turn, since the turn's holder may be waiting for this command.
    Known,
    /// Any tab, whatever its page.
    Tab,
    /// The current page; an error if it was lost.
    Page,
    /// The same; it may have crashed.
    CrashedPage,
}

/// The kind of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum VerbKind {
    /// Reads only.
    Look,
    /// Changes the page.
    Act,
    /// Changes tabs or the browser.
    Control,
}

/// The group that a verb is listed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerbGroup {
    /// Opening pages and moving in the history.
    Navigate,
    /// Reading the page.
    See,
    /// Acting on elements.
    Act,
    /// Waiting for a condition.
    Wait,
    /// Tabs and dialogs.
    Tabs,
    /// Files in and out.
    Files,
    /// The session's browser and its state.
    Session,
}

/// Properties of a verb, declared beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerbSpec {
    /// Its name.
    pub name: &'static str,
    /// The tab that it needs.
    pub tab: TabNeed,
    /// Its group in lists of verbs.
    pub group: VerbGroup,
    /// Its kind.
    pub kind: VerbKind,
    /// Creates a session if there is none, because it brings its own page.
    pub makes_session: bool,
    /// Its text is written byte by byte to pipes and files, for further processing.
    pub is_raw: bool,
    /// Reads files named by the caller.
    pub reads_files: bool,
    /// The reason why it cannot be a step of a batch.
    pub not_in_batch: Option<&'static str>,
}

impl VerbSpec {
    /// A verb that reads the current page.
    pub(super) const LOOK: Self = Self {
        name: "",
        group: VerbGroup::See,
        tab: TabNeed::Page,
        kind: VerbKind::Look,
        makes_session: false,
        is_raw: false,
        reads_files: false,
        not_in_batch: None,
    };
    /// A verb that acts on the current page.
    pub(super) const ACT: Self = Self { kind: VerbKind::Act, group: VerbGroup::Act, ..Self::LOOK };
    /// A verb that manages tabs or the browser.
    pub(super) const CONTROL: Self =
        Self { kind: VerbKind::Control, group: VerbGroup::Tabs, tab: TabNeed::None, ..Self::LOOK };

    /// The same verb in another group.
    pub(super) const fn in_group(self, group: VerbGroup) -> Self {
        Self { group, ..self }
    }

    /// True if the request may be sent again to another daemon after the first was killed: it has no effects.
    pub fn is_repeatable(&self) -> bool {
        self.kind == VerbKind::Look && self.tab == TabNeed::None
    }
}

/// The caller's side, where a command is prepared: working directory, environment, standard input.
pub struct Caller<'c> {
    /// The caller asked for JSON.
    pub json: bool,
    /// Reads standard input to its end.
    pub stdin: &'c mut dyn FnMut() -> std::io::Result<String>,
}

impl fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("json", &self.json).finish_non_exhaustive()
    }
}

/// A verb: arguments, reply, spec. It runs through [`Run`], [`RunInTab`] or [`Act`].
pub(crate) trait Verb {
    /// The reply.
    type Reply: VerbReply;

    /// The spec with default arguments; `verbs!` inserts the name.
    const SPEC: VerbSpec;

    /// The spec of the verb with these arguments.
    fn spec(&self) -> VerbSpec {
        Self::SPEC
    }

    /// Resolves caller-side inputs: relative paths, secrets, standard input.
    fn localize(&mut self, _caller: &mut Caller<'_>) -> Result<()> {
        Ok(())
    }

    /// Rejects invalid arguments before the turn is awaited.
    fn check(&self, _cx: &CommandContext<'_>) -> Result<()> {
        Ok(())
    }

    /// The output file of the reply, as named by the caller.
    fn output_path(&self) -> Option<&Path> {
        None
    }
}

/// A verb that needs the browser.
pub(crate) trait Run: Verb {
    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Self::Reply>;

    async fn perform(&self, cx: &mut CommandContext<'_>) -> Result<Self::Reply> {
        self.run(cx).await
    }
}

/// A verb that works on a tab and has its turn.
pub(crate) trait RunInTab: Verb {
    async fn run(&self, cx: &mut CommandContext<'_>, turn: &Turn) -> Result<Self::Reply>;

    async fn perform(&self, cx: &mut CommandContext<'_>) -> Result<Self::Reply> {
        let turn = cx.turn()?;
        self.run(cx, &turn).await
    }
}

/// A verb that acts on elements of a page.
pub(crate) trait Act: Verb {
    async fn act(&self, action: &mut Action<'_>) -> Result<Self::Reply>;

    async fn perform(&self, cx: &mut CommandContext<'_>) -> Result<Self::Reply> {
        let turn = cx.turn()?;
        let live = cx.live().await?;
        let mut observation = turn.observation.lock().await;
        self.act(&mut Action::new(cx, &live, &turn, &mut observation)).await
    }
}

/// A file that accompanies a reply.
pub struct ReplyFile<'r> {
    /// The path, once it is written.
    pub path: &'r mut Option<PathBuf>,
    /// Its bytes.
    pub data: &'r mut Vec<u8>,
    /// Stem and extension of the default file name.
    pub name: (&'static str, &'static str),
    /// Readable by its owner only.
    pub is_private: bool,
}

/// The reply of a verb. `Display` prints it for people.
pub trait VerbReply: fmt::Display {
    /// The file of the reply.
    fn file(&mut self) -> Option<ReplyFile<'_>> {
        None
    }

    /// The receipt of an action.
    fn receipt(&self) -> Option<&Receipt> {
        None
    }

    /// The texts that may contain refs.
    fn texts_mut(&mut self) -> Vec<&mut String> {
        Vec::new()
    }

    /// True if the text may contain page text.
    fn has_page_text(&self) -> bool {
        true
    }
}
