//! User approval of tool calls, by elicitation. Depending on the protocol revision, an elicitation request during the
//! call, or an input-required result after which the client repeats the call. Pending approvals are stored here, so
//! that an answer counts only for the call it was asked for.

use super::tools::Tool;
use browser::page::sanitize::escape_unsafe;
use browser::{Code, Error};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequiredResult, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Maximum of pending approvals.
const MAX_PENDING: usize = 64;

/// Name of the answer field.
const ANSWER_KEY: &str = "allow";

/// A request for approval of a call.
pub(super) struct ApprovalRequest {
    message: String,
    /// The call that the answer counts for: tool and arguments.
    call: String,
}

/// The user's decision.
pub(super) enum Approval {
    Yes,
    No(Error),
    /// Undecided: the client asks the user and repeats the call.
    Wait(Box<InputRequiredResult>),
}

/// Calls that wait for approval, by id.
#[derive(Default)]
pub(super) struct PendingApprovals(Mutex<VecDeque<(String, String)>>);

impl PendingApprovals {
    fn add(&self, call: &str) -> String {
        let id = format!("{}{}", crate::random::word(), crate::random::word());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == MAX_PENDING {
            all.pop_front();
        }
        all.push_back((id.clone(), call.to_owned()));
        id
    }

    /// Removes and returns the call of this id. An answer counts once.
    fn take(&self, id: &str) -> Option<String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|(known, _)| known == id)?;
        all.remove(at).map(|(_, call)| call)
    }
}

impl ApprovalRequest {
    /// Creates the request for a call.
    pub(super) fn new(tool: &Tool, request: &CallToolRequestParams) -> Self {
        let args = serde_json::to_string(&request.arguments).unwrap_or_default();
        // Each argument is cut separately and the element's description comes last: a long text hides nothing.
        let mut lines: Vec<(&str, String)> = Vec::new();
        for (name, value) in request.arguments.iter().flatten() {
            let value = redacted(name, value);
            lines.push((name, browser::page::text::cut_chars(&value, 120).into_owned()));
        }
        lines.sort_by_key(|(name, _)| name.to_lowercase().ends_with("element"));
        let lines: Vec<String> =
            lines.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let message = format!("May the agent call {} ({})?", tool.name, lines.join(", "));
        Self {
            message: escape_unsafe(&message).into_owned(),
            call: format!("{} {args}", tool.name),
        }
    }

    /// Asks the user, or reads the answer that came with the call.
    pub(super) async fn resolve(
        self,
        pending: &PendingApprovals,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Approval {
        let schema = ElicitationSchema::builder().required_bool(ANSWER_KEY).build();
        let Ok(requested_schema) = schema else { return Approval::No(unavailable()) };
        let form = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: self.message.clone(),
            requested_schema,
        };
        let can_ask = context.client_capabilities().is_some_and(|it| it.elicitation.is_some());
        if !can_ask {
            return Approval::No(unavailable());
        }
        let is_new =
            context.protocol_version().is_some_and(|it| it >= ProtocolVersion::V_2026_07_28);
        if !is_new {
            return match context.peer.create_elicitation(form).await {
                Ok(answer) => approval(&answer.action, answer.content.as_ref()),
                Err(_) => Approval::No(unavailable()),
            };
        }
        let answer = request.input_responses.as_ref().and_then(|all| all.get(ANSWER_KEY));
        let state = request.request_state.as_deref().unwrap_or_default();
        match (answer, pending.take(state)) {
            (Some(answer), Some(call)) if call == self.call => {
                let action = answer.get("action").cloned().unwrap_or_default();
                match serde_json::from_value(action) {
                    Ok(action) => approval(&action, answer.get("content")),
                    Err(_) => Approval::No(declined()),
                }
            }
            // Not asked yet, or for another call.
            _ => {
                let ask = InputRequest::Elicitation(ElicitRequest::new(form));
                let requests = [(ANSWER_KEY.to_owned(), ask)].into_iter().collect();
                let state = pending.add(&self.call);
                Approval::Wait(Box::new(InputRequiredResult::new(Some(requests), Some(state))))
            }
        }
    }
}

/// Formats an argument for the user, without passwords and storage state.
fn redacted(name: &str, value: &Value) -> String {
    match (name, value) {
        ("proxy", Value::Object(proxy)) => proxy.get("server").unwrap_or(&Value::Null).to_string(),
        // A path is printed, a storage state is not.
        ("storageState", Value::String(path)) if !path.trim_start().starts_with('{') => {
            value.to_string()
        }
        ("proxy" | "storageState", _) => "…".to_owned(),
        _ => value.to_string(),
    }
}

fn approval(action: &ElicitationAction, content: Option<&Value>) -> Approval {
    let is_yes =
        content.and_then(|it| it.get(ANSWER_KEY)).and_then(Value::as_bool).unwrap_or_default();
    match action {
        ElicitationAction::Accept if is_yes => Approval::Yes,
        _ => Approval::No(declined()),
    }
}

fn declined() -> Error {
    Error::new(Code::AskDeclined)
}

fn unavailable() -> Error {
    Error::new(Code::AskUnavailable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn passwords_are_redacted() {
        for (name, value, expected) in [
            ("url", json!("https://a.example"), "\"https://a.example\""),
            ("proxy", json!({ "server": "http://a", "password": "hunter2" }), "\"http://a\""),
            ("proxy", json!("http://me:hunter2@a"), "…"),
            ("storageState", json!("auth.json"), "\"auth.json\""),
            ("storageState", json!({ "cookies": ["hunter2"] }), "…"),
            ("storageState", json!("{\"cookies\":[\"hunter2\"]}"), "…"),
        ] {
            assert_eq!(redacted(name, &value), expected);
        }
    }
}
