//! Responses in the envelopes of `--json`: replies, files inside of them, errors with their status.

use super::status::http_status;
use crate::output::{self, InlineFile};
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use browser::command::{StorageAction, StorageCommand};
use browser::{Code, Command, Error, Outcome, Result, RetryHint};
use std::path::Path;

/// A failed request: its error, and the status of the response.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: StatusCode,
    pub(super) error: Error,
}

impl Failure {
    /// A request that is refused before it is a command.
    pub(super) fn of_request(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, error: Error::new(Code::CommandInvalid).message(message) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { status: http_status(error.code()), error }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        json(self.status, output::error_json(&self.error))
    }
}

/// A response with a JSON text; a line feed ends it, for people at a terminal.
pub(super) fn json(status: StatusCode, mut text: String) -> Response {
    text.push('\n');
    let mut response = (status, text).into_response();
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// The response to a request that the gate refuses.
pub(super) fn refusal(status: StatusCode, why: &'static str) -> Response {
    let error = Error::new(Code::AccessDenied).message(why).hint(RetryHint::FixUsage);
    Failure { status, error }.into_response()
}

/// The response to a path without a route.
pub(super) async fn no_route(request: Request) -> Failure {
    let path = request.uri().path();
    Failure::of_request(
        StatusCode::NOT_FOUND,
        format!("there is no `{path}`: see `/api/openapi.json`"),
    )
}

/// The response to a method that the route does not have; the header `Allow` lists those it has.
pub(super) async fn wrong_method(request: Request) -> Failure {
    let (method, path) = (request.method(), request.uri().path());
    Failure::of_request(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("`{path}` does not answer {method}: see `/api/openapi.json`"),
    )
}

/// Serializes the outcome of a command. The file of the reply is written to the `path` of the command, or else is part of
/// the reply; a private file is always written.
pub(super) fn outcome(session: &str, command: &Command, mut outcome: Outcome) -> Result<String> {
    let file = match is_inline(command) {
        true => inline_file(&mut outcome),
        false => {
            output::write_file(command, &mut outcome.reply)?;
            None
        }
    };
    Ok(output::json(session, &outcome, file.as_ref()))
}

/// Refuses a command whose file may neither be part of the reply nor has a name.
pub(super) fn check_file(command: &Command) -> Result<()> {
    match command {
        Command::Storage(StorageCommand { action: StorageAction::Save(save) })
            if save.path.is_none() =>
        {
            Err(Error::new(Code::CommandInvalid)
                .message("saved storage is not part of a reply: name a file in `path`"))
        }
        _ => Ok(()),
    }
}

/// True if the command names no file to write.
fn is_inline(command: &Command) -> bool {
    // `-` is standard output on the command line.
    command.output_path().is_none_or(|path| path == Path::new("-"))
}

/// Takes the file of an outcome, if it has one.
fn inline_file(outcome: &mut Outcome) -> Option<InlineFile> {
    let file = outcome.reply.verb_reply_mut().file()?;
    let kind = if file.name.1 == "pdf" { "application" } else { "image" };
    let media_type = format!("{kind}/{}", file.name.1);
    let base64 = base64::engine::general_purpose::STANDARD.encode(std::mem::take(file.data));
    Some(InlineFile { media_type, base64 })
}
