//! A question to a person. It is put in the way that the client's revision of the protocol knows: as a request of ours
//! while the call waits, or as an answer that asks, after which the client calls again. What was asked stays here, so
//! that an answer counts for the call that it was asked about and for no other.

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

/// How many questions may wait for an answer.
const MOST: usize = 64;

/// The name of a question within a call.
const KEY: &str = "allow";

/// A question about a call.
pub(super) struct ApprovalRequest {
    message: String,
    /// What the answer counts for.
    about: String,
}

/// What a person says.
pub(super) enum Approval {
    Yes,
    No(Error),
    /// Nothing yet: the client has to ask, and to call again.
    Wait(Box<InputRequiredResult>),
}

/// Questions that clients were told to ask.
#[derive(Default)]
pub(super) struct PendingApprovals(Mutex<VecDeque<(String, String)>>);

impl PendingApprovals {
    fn park(&self, about: &str) -> String {
        let id = format!("{}{}", crate::random::word(), crate::random::word());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == MOST {
            all.pop_front();
        }
        all.push_back((id.clone(), about.to_owned()));
        id
    }

    /// What was asked under this id. An answer counts once.
    fn take(&self, id: &str) -> Option<String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|(known, _)| known == id)?;
        all.remove(at).map(|(_, about)| about)
    }
}

impl ApprovalRequest {
    /// Whether a call may be made.
    pub(super) fn about(tool: &Tool, request: &CallToolRequestParams) -> Self {
        let args = serde_json::to_string(&request.arguments).unwrap_or_default();
        // Each by itself, and what the client calls the element last: nothing is hidden behind something long.
        let mut shown: Vec<(&str, String)> = Vec::new();
        for (name, value) in request.arguments.iter().flatten() {
            let value = presentable(name, value);
            shown.push((name, browser::page::text::cut_chars(&value, 120).into_owned()));
        }
        shown.sort_by_key(|(name, _)| name.to_lowercase().ends_with("element"));
        let shown: Vec<String> =
            shown.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let message = format!("May the agent call {} ({})?", tool.name, shown.join(", "));
        Self {
            message: escape_unsafe(&message).into_owned(),
            about: format!("{} {args}", tool.name),
        }
    }

    /// Asks, or looks at the answer that came with the call.
    pub(super) async fn put(
        self,
        asked: &PendingApprovals,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Approval {
        let schema = ElicitationSchema::builder().required_bool(KEY).build();
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
                Ok(answer) => said(&answer.action, answer.content.as_ref()),
                Err(_) => Approval::No(unavailable()),
            };
        }
        let answer = request.input_responses.as_ref().and_then(|all| all.get(KEY));
        let state = request.request_state.as_deref().unwrap_or_default();
        match (answer, asked.take(state)) {
            (Some(answer), Some(about)) if about == self.about => {
                let action = answer.get("action").cloned().unwrap_or_default();
                match serde_json::from_value(action) {
                    Ok(action) => said(&action, answer.get("content")),
                    Err(_) => Approval::No(declined()),
                }
            }
            // Not asked yet, or about something else.
            _ => {
                let ask = InputRequest::Elicitation(ElicitRequest::new(form));
                let requests = [(KEY.to_owned(), ask)].into_iter().collect();
                let state = asked.park(&self.about);
                Approval::Wait(Box::new(InputRequiredResult::new(Some(requests), Some(state))))
            }
        }
    }
}

/// An argument as a person is shown it: without passwords, and without what is as good as one.
fn presentable(name: &str, value: &Value) -> String {
    match (name, value) {
        ("proxy", Value::Object(proxy)) => proxy.get("server").unwrap_or(&Value::Null).to_string(),
        // A path may be seen, storage may not.
        ("storageState", Value::String(path)) if !path.trim_start().starts_with('{') => {
            value.to_string()
        }
        ("proxy" | "storageState", _) => "…".to_owned(),
        _ => value.to_string(),
    }
}

fn said(action: &ElicitationAction, content: Option<&Value>) -> Approval {
    let is_yes = content.and_then(|it| it.get(KEY)).and_then(Value::as_bool).unwrap_or_default();
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
    fn a_person_is_shown_no_passwords() {
        for (name, value, expected) in [
            ("url", json!("https://a.example"), "\"https://a.example\""),
            ("proxy", json!({ "server": "http://a", "password": "hunter2" }), "\"http://a\""),
            ("proxy", json!("http://me:hunter2@a"), "…"),
            ("storageState", json!("auth.json"), "\"auth.json\""),
            ("storageState", json!({ "cookies": ["hunter2"] }), "…"),
            ("storageState", json!("{\"cookies\":[\"hunter2\"]}"), "…"),
        ] {
            assert_eq!(presentable(name, &value), expected);
        }
    }
}
