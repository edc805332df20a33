//! `POST /api/command`: reads a command from the body, runs it in the session's daemon, and replies as `--json` does.

use super::fields::{ill_typed_field, is_tag, unknown_field};
use super::reply::{self, Failure};
use crate::config::{SessionName, closest};
use crate::http::MAX_BODY;
use crate::idle_memory::ActivityGuard;
use crate::session_client::SessionClient;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use browser::command::Caller;
use browser::{Code, Command, Error, Request, Result, TabId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Longest time limit of a command, as on the command line: a week.
const MAX_TIMEOUT_MS: u64 = 7 * 24 * 3_600_000;

/// Options of a request, beside the arguments of its verb.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RequestOptions {
    /// Browser context to use. Each context has its own cookies and storage; it is created on first use.
    context: Option<String>,
    /// Tab to use instead of the context's current one, such as `t2`.
    tab: Option<TabId>,
    /// Time limit of the command in milliseconds.
    #[schemars(range(min = 1, max = MAX_TIMEOUT_MS))]
    timeout_ms: Option<u64>,
}

impl RequestOptions {
    /// Names of the options. No verb has an argument of these names; a test compares.
    const NAMES: &[&str] = &["context", "tab", "timeoutMs"];
}

/// Runs the command of a request. When the client disconnects, this is dropped, and the command with it.
pub(super) async fn run(
    State(client): State<Arc<SessionClient>>,
    headers: HeaderMap,
    body: std::result::Result<Bytes, BytesRejection>,
) -> Response {
    let _active = ActivityGuard::begin();
    match answer(&client, &headers, body).await {
        Ok(text) => reply::json(StatusCode::OK, text),
        Err(mut failure) => {
            let notes: Vec<String> = client.notes().iter().map(ToString::to_string).collect();
            if !notes.is_empty() {
                failure.error = failure.error.evidence("notes", notes);
            }
            failure.into_response()
        }
    }
}

async fn answer(
    client: &SessionClient,
    headers: &HeaderMap,
    body: std::result::Result<Bytes, BytesRejection>,
) -> std::result::Result<String, Failure> {
    check_media_type(headers)?;
    let body = body.map_err(|rejection| unreadable(&rejection))?;
    let (mut command, options) = parse(&body)?;
    localize(&mut command)?;
    reply::check_file(&command)?;
    let warning = client.check(&command).await?;
    let defaults = client.request(command.clone());
    let request = Request {
        context: options.context.or(defaults.context),
        tab: options.tab.or(defaults.tab),
        timeout_ms: options.timeout_ms.or(defaults.timeout_ms),
        // As with `--timeout`, the caller's time limit is also that of the wait for the element.
        patience_ms: options.timeout_ms.or(defaults.patience_ms),
        ..defaults
    };
    let mut outcome = client.run(request, warning).await?;
    outcome.notes.extend(client.notes().iter().cloned());
    Ok(reply::outcome(client.session(), &command, outcome)?)
}

/// Refuses other bodies than JSON. Pages of other sites cannot send JSON without asking first.
fn check_media_type(headers: &HeaderMap) -> std::result::Result<(), Failure> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = given.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = match media_type {
        "" => "the body has no media type: send `Content-Type: application/json`".to_owned(),
        other => format!("the body is `{other}`: send `Content-Type: application/json`"),
    };
    Err(Failure::of_request(StatusCode::UNSUPPORTED_MEDIA_TYPE, message))
}

fn unreadable(rejection: &BytesRejection) -> Failure {
    match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let message = format!("the body has more than {} MiB", MAX_BODY >> 20);
            Error::new(Code::DaemonFrameTooLarge).message(message).into()
        }
        status => Failure::of_request(status, "the body cannot be read"),
    }
}

/// Parses a body: a command and the options of its request.
fn parse(body: &[u8]) -> Result<(Command, RequestOptions)> {
    let value: Value = serde_json::from_slice(body).map_err(|error| {
        wrong(format!("the body is not JSON: {error}"))
            .evidence("line", error.line())
            .evidence("column", error.column())
    })?;
    let Value::Object(body) = value else {
        return Err(wrong("the body is not a JSON object, such as `{\"verb\":\"tabs\"}`"));
    };
    let (options, arguments): (Map<_, _>, Map<_, _>) =
        body.into_iter().partition(|(name, _)| RequestOptions::NAMES.contains(&&**name));
    let command = parse_command(arguments, "")?;
    Ok((command, parse_options(options)?))
}

/// Parses a command. `path` is its path in the body.
fn parse_command(mut arguments: Map<String, Value>, path: &str) -> Result<Command> {
    let at = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let verb = match arguments.remove("verb") {
        Some(Value::String(verb)) => verb,
        Some(_) => return Err(wrong_field(&at("verb"), "expected the name of a verb")),
        None => return Err(wrong_field(&at("verb"), "missing: it names the verb")),
    };
    let Some(schema) = Command::schema_of(&verb) else {
        return Err(unknown_verb(&at("verb"), &verb));
    };
    // Steps are commands of their own; the schema does not know their fields.
    if let (true, Some(Value::Array(steps))) = (verb == "batch", arguments.get("commands")) {
        for (index, step) in steps.iter().enumerate() {
            let path = format!("{}[{index}]", at("commands"));
            match step {
                Value::Object(step) => parse_command(step.clone(), &path).map(drop)?,
                _ => return Err(wrong_field(&path, "expected a command")),
            }
        }
    }
    let arguments = Value::Object(arguments);
    if let Some(mut unknown) = unknown_field(&schema, &arguments, path) {
        if unknown.path == unknown.name {
            unknown.known.extend(RequestOptions::NAMES);
        }
        let message = match closest(&unknown.name, unknown.known.iter().copied()) {
            Some(near) => {
                format!("unknown field `{}` of `{verb}`; did you mean `{near}`?", unknown.path)
            }
            None => format!("unknown field `{}` of `{verb}`", unknown.path),
        };
        let known: Vec<String> = unknown.known.into_iter().map(str::to_owned).collect();
        return Err(wrong(message).evidence("field", unknown.path).evidence("known", known));
    }
    let ill_typed = ill_typed_field(&schema, &arguments, path).filter(|found| found != path);
    let mut tagged = arguments;
    tagged["verb"] = verb.into();
    let problem = match Command::deserialize(&tagged) {
        Ok(command) => return Ok(command),
        Err(problem) => problem.to_string(),
    };
    let field =
        ill_typed.or_else(|| misspelled_field(&schema, &tagged, &problem).map(|name| at(&name)));
    Err(match field {
        Some(field) => wrong_field(&field, &problem),
        None if path.is_empty() => wrong(problem),
        None => wrong_field(path, &problem),
    })
}

/// Finds the argument that a command is not understood for, although it has the right type, such as a selector: without
/// it, the problem is gone or is another one.
fn misspelled_field(schema: &Value, command: &Value, problem: &str) -> Option<String> {
    let fields = command.as_object()?.iter();
    let fields = fields.filter(|(name, it)| *name != "verb" && !is_tag(schema, name, it));
    let problems = fields.map(|(name, _)| {
        let mut rest = command.clone();
        rest.as_object_mut()?.remove(name);
        Some((name, Command::deserialize(&rest).err().map(|it| it.to_string())))
    });
    let problems: Vec<_> = problems.flatten().collect();
    let gone = problems.iter().find(|(_, without)| without.is_none());
    let other = || problems.iter().find(|(_, without)| without.as_deref() != Some(problem));
    gone.or_else(other).map(|(name, _)| (*name).clone())
}

fn parse_options(options: Map<String, Value>) -> Result<RequestOptions> {
    let schema = schemars::schema_for!(RequestOptions).to_value();
    let options = Value::Object(options);
    let ill_typed = ill_typed_field(&schema, &options, "");
    let options: RequestOptions = serde_json::from_value(options).map_err(|error| {
        // The tab's own text has its name; other errors are of one type.
        wrong_field(ill_typed.as_deref().unwrap_or("tab"), &error.to_string())
    })?;
    if let Some(context) = &options.context {
        context.parse::<SessionName>().map_err(|error| wrong_field("context", &error))?;
    }
    if options.timeout_ms.is_some_and(|time| !(1..=MAX_TIMEOUT_MS).contains(&time)) {
        let message = format!("expected milliseconds from 1 to {MAX_TIMEOUT_MS}");
        return Err(wrong_field("timeoutMs", &message));
    }
    Ok(options)
}

/// Resolves local inputs in this process, like the command line: relative paths, secrets. There is no standard input.
fn localize(command: &mut Command) -> Result<()> {
    let mut asks = false;
    let mut stdin = || {
        asks = true;
        Err(std::io::ErrorKind::Unsupported.into())
    };
    let localized = command.localize(&mut Caller { json: true, stdin: &mut stdin });
    match asks {
        true => Err(wrong("`-` is standard input, which a request does not have")),
        false => localized,
    }
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(Code::CommandInvalid).message(message)
}

fn wrong_field(path: &str, why: &str) -> Error {
    wrong(format!("`{path}`: {why}")).evidence("field", path)
}

fn unknown_verb(path: &str, verb: &str) -> Error {
    let message = match closest(verb, Command::NAMES.iter().copied()) {
        Some(near) => format!("unknown verb `{verb}`; did you mean `{near}`?"),
        None => format!("unknown verb `{verb}`"),
    };
    let known: Vec<String> = Command::NAMES.iter().map(ToString::to_string).collect();
    wrong(message).evidence("field", path).evidence("known", known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(body: &str) -> String {
        match parse(body.as_bytes()) {
            Ok((command, options)) => panic!("{command:?} {options:?}"),
            Err(error) => {
                assert_eq!(error.code(), Code::CommandInvalid);
                error.details().message.clone()
            }
        }
    }

    #[test]
    fn command_and_options_are_told_apart() {
        let body = br#"{"verb":"click","target":"@e1","context":"ada","tab":"t2","timeoutMs":50}"#;
        let (command, options) = parse(body).unwrap();
        assert!(matches!(command, Command::Click(_)), "{command:?}");
        assert_eq!(options.context.as_deref(), Some("ada"));
        assert_eq!((options.tab, options.timeout_ms), (Some(TabId(2)), Some(50)));
        let (command, options) = parse(br#"{"verb":"tab","action":"close","tab":null}"#).unwrap();
        assert!(matches!(command, Command::Tab(_)) && options.tab.is_none(), "{command:?}");
        parse(br#"{"verb":"batch","commands":[{"verb":"tabs"},{"verb":"click","target":"@e1"}]}"#)
            .unwrap();
    }

    #[test]
    fn no_verb_has_an_argument_named_like_an_option() {
        let schema = schemars::schema_for!(RequestOptions).to_value();
        let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, RequestOptions::NAMES);
        for verb in Command::NAMES {
            let schema = Command::schema_of(verb).unwrap();
            for name in RequestOptions::NAMES.iter().chain(&["verb"]) {
                let value = serde_json::json!({ *name: 1 });
                assert!(unknown_field(&schema, &value, "").is_some(), "`{verb}` has `{name}`");
            }
        }
    }

    #[test]
    fn errors_name_the_field_or_position() {
        for (body, expected) in [
            ("", "the body is not JSON: EOF"),
            (r#"{"verb":"tabs""#, "at line 1 column 14"),
            (r#"{"verb":"tabs"} x"#, "trailing characters at line 1 column 17"),
            ("[1]", "the body is not a JSON object"),
            ("{}", "`verb`: missing"),
            (r#"{"verb":5}"#, "`verb`: expected the name of a verb"),
            (r#"{"verb":"clik"}"#, "unknown verb `clik`; did you mean `click`?"),
            (r#"{"verb":"zzz"}"#, "unknown verb `zzz`"),
            (r#"{"verb":"click"}"#, "missing field `target`"),
            (r#"{"verb":"click","target":5}"#, "`target`: invalid type: integer `5`"),
            (r#"{"verb":"click","target":"@e1","nowait":true}"#, "did you mean `noWait`?"),
            (r#"{"verb":"click","target":"@e1","noWait":"yes"}"#, "`noWait`: invalid type"),
            (r#"{"verb":"open","url":"x","until":"soon"}"#, "`until`: unknown variant `soon`"),
            (r#"{"verb":"tabs","tab":"x"}"#, "`tab`: `x` is not a tab id"),
            (r#"{"verb":"tabs","tab":5}"#, "`tab`: invalid type"),
            (r#"{"verb":"tabs","context":"../x"}"#, "`context`: expected up to 40 letters"),
            (r#"{"verb":"tabs","timeoutMs":0}"#, "`timeoutMs`: expected milliseconds from 1"),
            (r#"{"verb":"tabs","timeoutMs":"5s"}"#, "`timeoutMs`: invalid type"),
            (r#"{"verb":"click","nth":1,"target":"role=nonsense"}"#, "`target`: "),
            (r#"{"verb":"pdf","margin":"wide"}"#, "`margin`: `wide`: expected inches"),
            (r#"{"verb":"tab","action":"switch","id":"x"}"#, "`id`: `x` is not a tab id"),
            (r#"{"verb":"tabs","timeout":5}"#, "did you mean `timeoutMs`?"),
            (r#"{"verb":"batch","commands":["-"]}"#, "`commands[0]`: expected a command"),
            (
                r#"{"verb":"batch","commands":[{"verb":"tabs"},{"verb":"clik"}]}"#,
                "unknown verb `clik`",
            ),
            (
                r#"{"verb":"batch","commands":[{"verb":"tabs","tab":"t1"}]}"#,
                "unknown field `commands[0].tab` of `tabs`",
            ),
            (
                r#"{"verb":"batch","commands":[{"verb":"click"}]}"#,
                "`commands[0]`: missing field `target`",
            ),
        ] {
            let message = message(body);
            assert!(message.contains(expected), "{body}: {message}");
        }
    }

    #[test]
    fn wrong_argument_of_any_verb_is_named() {
        let wrong = [
            serde_json::json!([{ "x": [null] }]),
            serde_json::json!({ "x": 1 }),
            serde_json::json!(-1.5),
            serde_json::json!(true),
            serde_json::json!("\u{0}"),
            Value::Null,
        ];
        let mut seen = 0;
        for verb in Command::NAMES {
            let schema = Command::schema_of(verb).unwrap();
            let names = schema["properties"].as_object().into_iter().flatten();
            for (name, wrong) in names.flat_map(|(name, _)| wrong.iter().map(move |it| (name, it)))
            {
                let body = serde_json::json!({ "verb": verb, (&**name): wrong }).to_string();
                let Err(error) = parse(body.as_bytes()) else { continue };
                let details = error.details();
                let field = format!("{:?}", details.evidence);
                let is_named = field.contains(&**name) || details.message.contains("missing field");
                assert!(is_named, "{body}: {}", details.message);
                seen += 1;
            }
        }
        assert!(seen > 300, "{seen}");
    }

    #[test]
    fn standard_input_is_refused() {
        for body in [
            r#"{"verb":"eval","script":"-"}"#,
            r#"{"verb":"batch","commands":[{"verb":"eval","script":"-"}]}"#,
        ] {
            let (mut command, _) = parse(body.as_bytes()).unwrap();
            let error = localize(&mut command).unwrap_err();
            assert_eq!(error.code(), Code::CommandInvalid);
            assert!(error.details().message.contains("standard input"), "{error}");
        }
    }
}
