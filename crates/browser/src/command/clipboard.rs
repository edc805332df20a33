//! `clipboard`: reads and writes the browser's clipboard.

use super::{CommandContext, RunInTab, Verb, VerbGroup, VerbReply, VerbSpec};
use crate::error::{Code, Error, Result};
use crate::observe::json;
use crate::tab::Turn;
use cdp::protocol::browser::GrantPermissions;
use cdp::protocol::runtime::Evaluate;
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Read or write the browser's clipboard.
///
/// The page must be served over https or from localhost.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
pub struct Clipboard {
    /// The clipboard action.
    #[command(subcommand)]
    #[serde(flatten)]
    pub action: ClipboardAction,
}

/// A clipboard action.
#[derive(Clone, Debug, Subcommand, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum ClipboardAction {
    /// Print the clipboard text.
    Read,
    /// Write a text to the clipboard.
    Write {
        /// The text.
        text: String,
    },
}

/// The clipboard text.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClipboardReply {
    /// The text.
    pub text: String,
}

impl Verb for Clipboard {
    type Reply = ClipboardReply;
    const SPEC: VerbSpec = VerbSpec { is_raw: true, ..VerbSpec::ACT.in_group(VerbGroup::Files) };
}

impl RunInTab for Clipboard {
    async fn run(&self, cx: &mut CommandContext<'_>, turn: &Turn) -> Result<ClipboardReply> {
        let live = cx.live().await?;
        let permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"];
        let grant = GrantPermissions {
            permissions: permissions.map(str::to_owned).to_vec(),
            origin: None,
            browser_context_id: live.context_id(turn.context.as_deref()),
        };
        live.connection.browser().call(grant, cx.progress.deadline).await?;
        let expression = match &self.action {
            ClipboardAction::Read => "navigator.clipboard.readText()".to_owned(),
            ClipboardAction::Write { text } => {
                format!("navigator.clipboard.writeText({})", json(text))
            }
        };
        let evaluate = Evaluate {
            expression,
            return_by_value: Some(true),
            await_promise: Some(true),
            user_gesture: Some(true),
            ..Evaluate::default()
        };
        let reply = turn.call(evaluate, cx.progress.deadline).await?;
        if let Some(thrown) = reply.exception_details {
            let what =
                thrown.exception.and_then(|it| it.description).map(cdp::LossyString::into_string);
            let what = what.unwrap_or_default();
            return Err(Error::new(Code::EvalThrew).message(format!(
                "the clipboard is not available to the page: {}",
                page::text::quoted(what.lines().next().unwrap_or_default())
            )));
        }
        let text = match &self.action {
            ClipboardAction::Write { text } => text.clone(),
            ClipboardAction::Read => {
                let value = reply.result.and_then(|result| result.value);
                let text =
                    value.and_then(|it| serde_json::from_str::<cdp::LossyString>(it.get()).ok());
                text.map(cdp::LossyString::into_string).unwrap_or_default()
            }
        };
        Ok(ClipboardReply { text })
    }
}

impl VerbReply for ClipboardReply {}

impl fmt::Display for ClipboardReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
