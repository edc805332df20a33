//! The verbs: one struct each, from which help, wire format, schema and reference page are derived.
//!
//! To add a verb: write its file, add its line to `verbs!` below, add its test; for MCP, its entry in the tool table.
//! The line names how the verb runs: with the browser (`Run`), on a tab with its turn (`RunInTab`), or on elements
//! of the page (`Act`).

mod batch;
mod can;
mod click;
mod clipboard;
mod close;
mod dialog;
mod download;
mod drag;
mod eval;
mod fill;
mod fill_form;
mod find;
mod get;
mod log;
mod mouse;
mod open;
mod pdf;
mod press;
mod resize;
mod screenshot;
mod scroll;
mod select;
mod snapshot;
mod status;
mod storage;
mod tabs;
mod type_text;
mod upload;
mod verb;
mod wait;
mod zoom;

pub use batch::{Batch, BatchReply, Step};
pub use can::{ActionKind, Can};
pub use click::{Button, Click, DblClick, Focus, Hover, Modifier};
pub use clipboard::{Clipboard, ClipboardAction, ClipboardReply};
pub use close::{Close, CloseReply};
pub use dialog::{Answer, DialogCommand, DialogReply};
pub use download::Download;
pub use drag::Drag;
pub use eval::{Eval, EvalReply, Json};
pub use fill::Fill;
pub use fill_form::{Field, FillForm};
pub use find::{Find, FindReply, FindRow, NearbyControl};
pub use get::{Get, GetReply, Property};
pub use log::{
    Console, ConsoleLine, ConsoleReply, PageEvent, RequestLine, Requests, RequestsReply,
    is_page_speech,
};
pub use mouse::{Mouse, MouseAction};
pub use open::{Back, Forward, Open, Reload};
pub use pdf::{Margins, Paper, Pdf, PdfReply};
pub use press::Press;
pub use resize::{Resize, ResizeReply};
pub use screenshot::{ImageFormat, Screenshot, ScreenshotReply};
pub use scroll::{Scroll, ScrollDirection, ScrollEdge};
pub use select::{Check, Select, Uncheck};
pub use snapshot::{Snapshot, SnapshotReply, SnapshotText, TextFormat, TreeSource};
pub use status::{BrowserStatus, Status, StatusReply};
pub use storage::{LoadStorage, SaveStorage, StorageAction, StorageCommand, StorageReply};
pub use tabs::{
    CloseTab, NewTab, SwitchTab, TabAction, TabCommand, TabInfo, TabReply, Tabs, TabsReply,
};
pub use type_text::Type;

pub use upload::Upload;
pub use wait::{Wait, WaitReply, WaitState};
pub use zoom::{Zoom, ZoomReply};

pub use crate::act::{
    Attempt, Blocker, Effect, Expect, Receipt, ReceiptTarget, SettleArgs, Settled, TargetArgs,
};
pub use crate::command_context::CommandContext;
pub use crate::navigate::{Arrival, Until};
pub(crate) use verb::{Act, Run, RunInTab, Verb};
pub use verb::{Caller, ReplyFile, TabNeed, VerbGroup, VerbKind, VerbReply, VerbSpec};

use crate::error::Result;
use clap::Subcommand;
use page::capability::CapabilityRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

macro_rules! verbs {
    ($( $name:literal $variant:ident($verb:ty) -> $reply:ty, $style:ident; )*) => {
        /// A command: a verb with its arguments.
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Subcommand)]
        #[serde(tag = "verb", rename_all = "kebab-case")]
        #[allow(missing_docs, reason = "each verb's struct says what it does")]
        pub enum Command { $( $variant($verb), )* }

        /// The reply to a [`Command`]. `Display` prints it for people.
        // Adjacently tagged: the page's raw JSON cannot be deserialized inside an internally tagged map.
        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "verb", content = "result", rename_all = "kebab-case")]
        #[allow(missing_docs, reason = "each reply's struct says what it holds")]
        pub enum Reply { $( $variant($reply), )* }

        impl Command {
            /// The names of all verbs.
            pub const NAMES: &[&str] = &[$( $name, )*];

            /// The parser of one verb. Building those of all verbs takes longer than most commands.
            pub fn parser_of(verb: &str) -> Option<clap::Command> {
                Some(match verb {
                    $( $name => <$verb as clap::Args>::augment_args(clap::Command::new($name)), )*
                    _ => return None,
                })
            }

            /// The JSON schema of a verb's arguments, without references.
            pub fn schema_of(verb: &str) -> Option<serde_json::Value> {
                let mut generator = schemars::generate::SchemaSettings::draft2020_12()
                    .with(|settings| settings.inline_subschemas = true)
                    .into_generator();
                let schema = match verb {
                    $( $name => generator.root_schema_for::<$verb>(), )*
                    _ => return None,
                };
                Some(schema.to_value())
            }

            /// The spec of a verb with its usual arguments.
            pub fn spec_of(verb: &str) -> Option<VerbSpec> {
                Some(match verb {
                    $( $name => VerbSpec { name: $name, ..<$verb as Verb>::SPEC }, )*
                    _ => return None,
                })
            }

            /// The spec of the verb with these arguments.
            pub fn spec(&self) -> VerbSpec {
                match self { $( Self::$variant(verb) => VerbSpec { name: $name, ..verb.spec() }, )* }
            }

            /// Resolves caller-side inputs: relative paths, secrets, standard input.
            ///
            /// # Errors
            /// If one of them is missing or not allowed.
            pub fn localize(&mut self, caller: &mut Caller<'_>) -> Result<()> {
                match self { $( Self::$variant(verb) => verb.localize(caller), )* }
            }

            /// The output file of the reply, as named by the caller.
            pub fn output_path(&self) -> Option<&Path> {
                match self { $( Self::$variant(verb) => verb.output_path(), )* }
            }

            pub(crate) fn check(&self, cx: &CommandContext<'_>) -> Result<()> {
                match self { $( Self::$variant(verb) => verb.check(cx), )* }
            }

            pub(crate) async fn perform(&self, cx: &mut CommandContext<'_>) -> Result<Reply> {
                // Boxed: otherwise every future would have the size of the largest.
                Ok(match self { $( Self::$variant(verb) => Reply::$variant(Box::pin($style::perform(verb, cx)).await?), )* })
            }
        }

        impl Reply {
            /// The reply as a [`VerbReply`].
            pub fn verb_reply(&self) -> &dyn VerbReply {
                match self { $( Self::$variant(reply) => reply, )* }
            }

            /// Takes the file of the reply.
            pub fn take_file(&mut self) -> Option<Vec<u8>> {
                self.verb_reply_mut().file().map(|file| std::mem::take(file.data))
            }

            /// The reply as a [`VerbReply`].
            pub fn verb_reply_mut(&mut self) -> &mut dyn VerbReply {
                match self { $( Self::$variant(reply) => reply, )* }
            }
        }
    };
}

verbs! {
    "open" Open(Open) -> Arrival, Run;
    "back" Back(Back) -> Arrival, RunInTab;
    "forward" Forward(Forward) -> Arrival, RunInTab;
    "reload" Reload(Reload) -> Arrival, RunInTab;
    "snapshot" Snapshot(Snapshot) -> SnapshotReply, RunInTab;
    "find" Find(Find) -> FindReply, RunInTab;
    "get" Get(Get) -> GetReply, RunInTab;
    "click" Click(Click) -> Receipt, Act;
    "dblclick" Dblclick(DblClick) -> Receipt, Act;
    "hover" Hover(Hover) -> Receipt, Act;
    "fill" Fill(Fill) -> Receipt, Act;
    "type" Type(Type) -> Receipt, Act;
    "press" Press(Press) -> Receipt, Act;
    "select" Select(Select) -> Receipt, Act;
    "check" Check(Check) -> Receipt, Act;
    "uncheck" Uncheck(Uncheck) -> Receipt, Act;
    "fill-form" FillForm(FillForm) -> Receipt, Act;
    "drag" Drag(Drag) -> Receipt, Act;
    "mouse" Mouse(Mouse) -> Receipt, Act;
    "upload" Upload(Upload) -> Receipt, Act;
    "scroll" Scroll(Scroll) -> Receipt, Act;
    "focus" Focus(Focus) -> Receipt, Act;
    "wait" Wait(Wait) -> WaitReply, Act;
    "can" Can(Can) -> CapabilityRow, Act;
    "batch" Batch(Batch) -> BatchReply, Run;
    "download" Download(Download) -> Receipt, Act;
    "clipboard" Clipboard(Clipboard) -> ClipboardReply, RunInTab;
    "console" Console(Console) -> ConsoleReply, Run;
    "requests" Requests(Requests) -> RequestsReply, Run;
    "tabs" Tabs(Tabs) -> TabsReply, Run;
    "tab" Tab(TabCommand) -> TabReply, Run;
    "eval" Eval(Eval) -> EvalReply, RunInTab;
    "screenshot" Screenshot(Screenshot) -> ScreenshotReply, RunInTab;
    "pdf" Pdf(Pdf) -> PdfReply, RunInTab;
    "resize" Resize(Resize) -> ResizeReply, RunInTab;
    "zoom" Zoom(Zoom) -> ZoomReply, RunInTab;
    "storage" Storage(StorageCommand) -> StorageReply, Run;
    "dialog" Dialog(DialogCommand) -> DialogReply, Run;
    "status" Status(Status) -> StatusReply, Run;
    "close" Close(Close) -> CloseReply, Run;
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.verb_reply().fmt(f)
    }
}

/// Decodes base64 data.
fn decode_base64(data: &str) -> Option<Vec<u8>> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(data).ok()
}

/// Encodes a text as base64.
fn encode_base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// A size for people.
fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}
