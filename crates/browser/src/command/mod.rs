//! The verbs: one struct each, from which help, wire format, schema and reference page are derived.
//!
//! To add a verb: write its file, add its line to `verbs!` below, add its test.

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
mod wait;

pub use batch::{Batch, BatchReply, Step};
pub use can::{ActionKind, Can, CapabilityRow};
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

pub use crate::act::{
    Attempt, Blocker, Effect, Expect, Receipt, ReceiptTarget, SettleArgs, Settled, TargetArgs,
};
pub use crate::browser::CommandContext;
pub use crate::navigate::{Arrival, Until};

use crate::error::Result;
use clap::Subcommand;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a verb does.
pub(crate) trait Verb {
    /// What comes back.
    type Reply: fmt::Display;

    /// Does it.
    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Self::Reply>;
}

/// Takes the tab that is meant in hand.
macro_rules! action {
    ($cx:ident, $action:ident) => {
        let turn = $cx.turn(crate::browser::TabNeed::Page).await?;
        let live = $cx.live().await?;
        let mut observation = turn.observation.lock().await;
        let mut $action = crate::act::Action::new($cx, &live, &turn, &mut observation);
    };
}
pub(crate) use action;

macro_rules! verbs {
    ($( $name:literal $variant:ident($verb:ty) -> $reply:ty, )*) => {
        /// Everything that can be done to a browser.
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Subcommand)]
        #[serde(tag = "verb", rename_all = "kebab-case")]
        #[allow(missing_docs, reason = "each verb's struct says what it does")]
        pub enum Command { $( $variant($verb), )* }

        /// What came of a [`Command`]. Prints as people read it.
        // Tag beside content: a page's raw JSON cannot be read from inside a tagged map.
        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "verb", content = "result", rename_all = "kebab-case")]
        #[allow(missing_docs, reason = "each reply's struct says what it holds")]
        pub enum Reply { $( $variant($reply), )* }

        impl Command {
            /// The parser of one verb alone. Building those of all of them takes longer than most commands.
            pub fn parser_of(verb: &str) -> Option<clap::Command> {
                Some(match verb {
                    $( $name => <$verb as clap::Args>::augment_args(clap::Command::new($name)), )*
                    _ => return None,
                })
            }

            /// What one verb takes, as a schema without references.
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

            pub(crate) async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Reply> {
                // Each apart: whoever runs a command would else have room on the stack for the largest of them.
                Ok(match self { $( Self::$variant(verb) => Reply::$variant(Box::pin(verb.run(cx)).await?), )* })
            }
        }

        impl fmt::Display for Reply {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $( Self::$variant(reply) => reply.fmt(f), )* }
            }
        }
    };
}

verbs! {
    "open" Open(Open) -> Arrival,
    "back" Back(Back) -> Arrival,
    "forward" Forward(Forward) -> Arrival,
    "reload" Reload(Reload) -> Arrival,
    "snapshot" Snapshot(Snapshot) -> SnapshotReply,
    "find" Find(Find) -> FindReply,
    "get" Get(Get) -> GetReply,
    "click" Click(Click) -> Receipt,
    "dblclick" Dblclick(DblClick) -> Receipt,
    "hover" Hover(Hover) -> Receipt,
    "fill" Fill(Fill) -> Receipt,
    "type" Type(Type) -> Receipt,
    "press" Press(Press) -> Receipt,
    "select" Select(Select) -> Receipt,
    "check" Check(Check) -> Receipt,
    "uncheck" Uncheck(Uncheck) -> Receipt,
    "fill-form" FillForm(FillForm) -> Receipt,
    "drag" Drag(Drag) -> Receipt,
    "mouse" Mouse(Mouse) -> Receipt,
    "upload" Upload(Upload) -> Receipt,
    "scroll" Scroll(Scroll) -> Receipt,
    "focus" Focus(Focus) -> Receipt,
    "wait" Wait(Wait) -> WaitReply,
    "can" Can(Can) -> CapabilityRow,
    "batch" Batch(Batch) -> BatchReply,
    "download" Download(Download) -> Receipt,
    "clipboard" Clipboard(Clipboard) -> ClipboardReply,
    "console" Console(Console) -> ConsoleReply,
    "requests" Requests(Requests) -> RequestsReply,
    "tabs" Tabs(Tabs) -> TabsReply,
    "tab" Tab(TabCommand) -> TabReply,
    "eval" Eval(Eval) -> EvalReply,
    "screenshot" Screenshot(Screenshot) -> ScreenshotReply,
    "pdf" Pdf(Pdf) -> PdfReply,
    "resize" Resize(Resize) -> ResizeReply,
    "storage" Storage(StorageCommand) -> StorageReply,
    "dialog" Dialog(DialogCommand) -> DialogReply,
    "status" Status(Status) -> StatusReply,
    "close" Close(Close) -> CloseReply,
}

impl Reply {
    /// The file that came with the reply. It travels beside the JSON, not in it.
    pub fn file_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Screenshot(shot) => Some(&mut shot.data),
            Self::Pdf(printed) => Some(&mut printed.data),
            Self::Storage(stored) => Some(&mut stored.data),
            _ => None,
        }
    }
}

/// Decodes what the browser sends as base64.
fn decode_base64(data: &str) -> Option<Vec<u8>> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(data).ok()
}

/// Encodes what the browser wants as base64.
fn encode_base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// A size as people read it.
fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}
