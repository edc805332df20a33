//! The tools for chat apps: `web_ai_status`, `web_ai_query`, `web_ai_poll`.

use super::args::ToolArgs;
use super::backend::{Backend, CallTarget};
use super::reply::ToolReply;
use super::tools::ToolAction;
use crate::config;
use browser::{Capabilities, Driver, EventStream, Outcome, Request, Result};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use webai::vendor::{DEFAULT_VENDOR, Vendors};
use webai::{
    ChatReply, PromptParts, SendOptions, SessionRecord, SessionStore, StatusOptions, TabChoice,
    WebAi,
};

/// Time that a call waits for an answer, if the caller does not say: hosts give calls a minute or two.
const WAIT: Duration = Duration::from_secs(45);
/// Longest wait.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// A call of one of the tools.
pub(super) enum WebAiCall {
    /// Probe what can be done.
    Status { vendor: String, model: Option<String>, probe: Option<String> },
    /// Send a prompt, and wait for its answer.
    Query { vendor: String, prompt: String, model: Option<String>, wait: Duration },
    /// Wait for the answer of a session.
    Poll { session: Option<String>, wait: Duration },
}

impl WebAiCall {
    pub(super) fn status(args: &ToolArgs) -> Result<ToolAction> {
        Ok(ToolAction::WebAi(Self::Status {
            vendor: vendor(args)?,
            model: args.text("model")?,
            probe: args.text("probe")?,
        }))
    }

    pub(super) fn query(args: &ToolArgs) -> Result<ToolAction> {
        Ok(ToolAction::WebAi(Self::Query {
            vendor: vendor(args)?,
            prompt: args.required_str("prompt")?,
            model: args.text("model")?,
            wait: wait(args)?,
        }))
    }

    pub(super) fn poll(args: &ToolArgs) -> Result<ToolAction> {
        Ok(ToolAction::WebAi(Self::Poll { session: args.text("session")?, wait: wait(args)? }))
    }

    /// Runs the call on a page of the client.
    pub(super) async fn run(self, backend: &Arc<Backend>, to: &CallTarget) -> Result<ToolReply> {
        let driver = ClientDriver { backend: backend.clone(), to: to.clone() };
        let vendors = Vendors::load(config::vendors_folder().as_deref())?;
        let choice = TabChoice { tab: to.page, ..TabChoice::default() };
        let mut web_ai = WebAi::new(driver, vendors).with_tab(choice);
        if let Some(path) = config::web_ai_sessions() {
            web_ai = web_ai.with_sessions(SessionStore::new(path), backend.session());
        }
        match self {
            Self::Status { vendor, model, probe } => {
                let profile = backend.profile.clone();
                let options = StatusOptions { model, probe, profile, ..StatusOptions::default() };
                let status = web_ai.status(&vendor, &options).await?;
                let rows = status
                    .capabilities
                    .iter()
                    .map(|row| format!("{}: {}; next: {}", row.capability_id, row.state, row.next));
                let text = format!(
                    "{}: {}\n{}",
                    vendor,
                    status.status,
                    rows.collect::<Vec<_>>().join("\n")
                );
                Ok(ToolReply { text, facts: json!(status), ..ToolReply::default() })
            }
            Self::Query { vendor, prompt, model, wait } => {
                let parts = PromptParts { prompt: Some(prompt), ..PromptParts::default() };
                let options =
                    SendOptions { parts, model, inline_only: true, ..SendOptions::default() };
                let sent = web_ai.send(&vendor, &options, &|_| {}).await?;
                Ok(reply(&web_ai.poll(&sent.session_id, wait, &|_| {}).await?))
            }
            Self::Poll { session, wait } => {
                let id = match session {
                    Some(id) => id,
                    None => web_ai.sessions()?.only_active(backend.session())?.session_id,
                };
                Ok(reply(&web_ai.poll(&id, wait, &|_| {}).await?))
            }
        }
    }
}

fn vendor(args: &ToolArgs) -> Result<String> {
    Ok(args.text("vendor")?.unwrap_or_else(|| DEFAULT_VENDOR.to_owned()))
}

fn wait(args: &ToolArgs) -> Result<Duration> {
    let seconds = args.number("seconds")?.filter(|seconds| *seconds >= 0.0);
    Ok(seconds.map_or(WAIT, |seconds| Duration::from_secs_f64(seconds.min(MAX_WAIT.as_secs_f64()))))
}

/// The reply for a session: its state as trusted text, its answer as page text.
fn reply(session: &SessionRecord) -> ToolReply {
    let reply = ChatReply::from(session);
    let text =
        format!("{}: session {}; next: {}", reply.status.as_str(), reply.session_id, reply.next);
    let untrusted = reply.answer.clone().unwrap_or_default();
    let facts = json!({ "status": reply.status, "sessionId": reply.session_id, "next": reply.next, "url": reply.url });
    ToolReply { text, untrusted, facts, is_error: !reply.ok, ..ToolReply::default() }
}

/// The backend as the driver of one client, with that client's access rules.
struct ClientDriver {
    backend: Arc<Backend>,
    to: CallTarget,
}

impl Driver for ClientDriver {
    fn run(&self, request: Request) -> impl Future<Output = Result<Outcome>> + Send {
        self.backend.run_as(request, &self.to)
    }

    fn supports(&self) -> Capabilities {
        Capabilities::remote()
    }

    fn events(&self) -> EventStream {
        self.backend.events()
    }
}
