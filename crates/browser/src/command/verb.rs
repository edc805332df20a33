//! The contract of a verb: what the rest of the program knows about it without knowing which one it is.

use super::CommandContext;
use crate::act::{Action, Receipt};
use crate::error::Result;
use crate::tab::Turn;
use std::fmt;
use std::path::{Path, PathBuf};

/// The tab that a verb works on. `Browser::run` resolves it and takes its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TabNeed {
    /// None, or one that the verb opens.
    None,
    /// A tab whose state is read without its turn: a command whose turn it is may wait for this one.
    Known,
    /// A tab, whatever is in it.
    Tab,
    /// The page that the caller left: if that is gone, the caller is told.
    Page,
    /// The same, but it may have crashed.
    CrashedPage,
}

/// The kind of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum VerbKind {
    /// Reads.
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

/// Facts about a verb, declared once beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerbSpec {
    /// Its name.
    pub name: &'static str,
    /// The tab that it works on.
    pub tab: TabNeed,
    /// Its group in lists of verbs.
    pub group: VerbGroup,
    /// Its kind.
    pub kind: VerbKind,
    /// It makes a session that is not there yet, because it brings its own page.
    pub makes_session: bool,
    /// Its text goes to pipes and files byte by byte: others process it.
    pub is_raw: bool,
    /// It reads files that the caller names.
    pub reads_files: bool,
    /// Why it cannot be a step of a batch.
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

    /// Whether another daemon of the session may be asked when one was killed meanwhile: nothing can have been done.
    pub fn is_repeatable(&self) -> bool {
        self.kind == VerbKind::Look && self.tab == TabNeed::None
    }
}

/// The side of a caller that a command is prepared on: its folder, its environment, its standard input.
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

/// A verb: its arguments, its reply, its spec. How it runs is said by [`Run`], [`RunInTab`] or [`Act`].
pub(crate) trait Verb {
    /// The reply.
    type Reply: VerbReply;

    /// The spec of the verb with its usual arguments; `verbs!` puts the name in.
    const SPEC: VerbSpec;

    /// The spec of the verb with these arguments.
    fn spec(&self) -> VerbSpec {
        Self::SPEC
    }

    /// Reads what only the caller has: relative paths, secrets, standard input.
    fn localize(&mut self, _caller: &mut Caller<'_>) -> Result<()> {
        Ok(())
    }

    /// Refuses arguments that cannot be, before the turn on the tab is waited for.
    fn check(&self, _cx: &CommandContext<'_>) -> Result<()> {
        Ok(())
    }

    /// The file that its reply is to be written to, as the caller named it.
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

/// A verb that works on a tab whose turn is taken.
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

/// A file that travels beside a reply.
pub struct ReplyFile<'r> {
    /// Where it was written to, once it is.
    pub path: &'r mut Option<PathBuf>,
    /// Its bytes.
    pub data: &'r mut Vec<u8>,
    /// Stem and extension of its name when the caller gave none.
    pub name: (&'static str, &'static str),
    /// Only its owner may read it.
    pub is_private: bool,
}

/// The reply of a verb. Prints as people read it.
pub trait VerbReply: fmt::Display {
    /// The file that comes with it.
    fn file(&mut self) -> Option<ReplyFile<'_>> {
        None
    }

    /// The receipt of an action.
    fn receipt(&self) -> Option<&Receipt> {
        None
    }

    /// Its texts that may name refs.
    fn texts_mut(&mut self) -> Vec<&mut String> {
        Vec::new()
    }

    /// Whether its text may hold text of the page.
    fn has_page_text(&self) -> bool {
        true
    }
}
