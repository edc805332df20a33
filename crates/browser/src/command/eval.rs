//! `eval`: runs a script in the page.

use super::{Caller, CommandContext, RunInTab, Verb, VerbReply, VerbSpec};
use crate::error::{Code, Error, Result, Stage};
use crate::observe::{self, ObserveError, ObserveOptions};
use crate::script_guard::{self, ScriptGuard};
use crate::tab::Turn;
use crate::target::{self, Target};
use cdp::protocol::page::CreateIsolatedWorld;
use cdp::protocol::runtime::{
    AwaitPromise, CallFunctionOn, Evaluate, ExceptionDetails, ReleaseObject, RemoteObject,
};
use cdp::{Channel, Deadline, LossyString};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt;
use std::time::{Duration, Instant};

/// Run a script in the page and print its result.
///
/// The result is printed as JSON, a string as plain text. Promises are awaited, and top-level `await` is allowed.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Eval {
    /// The script; `-` reads it from standard input.
    #[arg(allow_hyphen_values = true)]
    pub script: String,
    /// Run the script with a user gesture, for APIs that need a click or a key press.
    #[arg(long)]
    #[serde(default)]
    pub gesture: bool,
    /// Run it in an isolated world: same document, separate variables.
    #[arg(long)]
    #[serde(default)]
    pub isolated: bool,
    /// Call the script, a function, with this element: `agbrowse eval --on @e3 'it => it.href'`.
    #[arg(long, value_name = "TARGET", conflicts_with = "isolated")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on: Option<Target>,
}

/// The isolated world of user scripts. Not the observer's: a script must not break that one.
const ISOLATED_WORLD: &str = "agbrowse-eval";

/// Time reserved for the response after the browser has terminated a script.
const MARGIN: Duration = Duration::from_millis(150);

/// A JSON value as serialized by the page.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(pub Box<RawValue>);

impl JsonSchema for Json {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Json".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!(true)
    }
}

/// True if a script may change style sheets. That leaves no trace, and parsed style sheets are cached for seconds,
/// because parsing is expensive.
fn may_change_stylesheets(script: &str) -> bool {
    ["heet", "Rule", "replaceSync", "HTMLStyle"].iter().any(|word| script.contains(word))
}

/// The result of a script.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvalReply {
    /// Its JavaScript type: `string`, `number`, `object`, `undefined` …
    pub r#type: String,
    /// Its value; absent if JSON cannot represent it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<Json>,
    /// `NaN`, `Infinity`, `-0`, `12n`: values that JSON cannot represent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unserializable: Option<String>,
}

impl Verb for Eval {
    type Reply = EvalReply;
    const SPEC: VerbSpec = VerbSpec { makes_session: true, is_raw: true, ..VerbSpec::ACT };

    fn localize(&mut self, caller: &mut Caller<'_>) -> Result<()> {
        if self.script == "-" {
            self.script = (caller.stdin)().map_err(|error| {
                Error::new(Code::FileReadFailed)
                    .message(format!("standard input cannot be read: {error}"))
            })?;
        }
        Ok(())
    }
}

impl RunInTab for Eval {
    async fn run(&self, cx: &mut CommandContext<'_>, turn: &Turn) -> Result<EvalReply> {
        // The browser terminates only this script, shortly before the deadline.
        let left = cx.progress.deadline.left();
        let allowed = left.saturating_sub(left.mul_f64(0.05).max(MARGIN)).max(left / 2);
        let context_id = match self.isolated {
            false => None,
            true => {
                let frame_id = turn.target_id.clone();
                let world =
                    CreateIsolatedWorld { frame_id, world_name: Some(ISOLATED_WORLD.into()) };
                turn.call(world, cx.progress.deadline).await?.execution_context_id
            }
        };
        let on = match &self.on {
            Some(target) => Some(element(cx, turn, target).await?),
            None => None,
        };
        // A script may change anything that is cached.
        match may_change_stylesheets(&self.script) {
            true => turn.observation.lock().await.reset(),
            false => turn.observation.lock().await.invalidate_own_process(turn),
        }
        let evaluate = Evaluate {
            expression: self.script.clone(),
            context_id,
            user_gesture: self.gesture.then_some(true),
            repl_mode: Some(true),
            timeout: Some(allowed.as_secs_f64() * 1000.0),
            ..Evaluate::default()
        };
        let began = Instant::now();
        let channel = on.as_ref().map_or(&turn.channel, |(channel, _)| channel).clone();
        let running = ScriptGuard::new(turn.clone(), channel);
        let reply = match on {
            None => {
                // The browser does not terminate a script that resumes after an `await`. The probe tells whether the
                // page became responsive.
                let probe = self
                    .script
                    .contains("await")
                    .then(|| running.channel.start(&script_guard::question()));
                let reply = running.call(evaluate, cx.progress.deadline).await;
                if let (Err(error), Some(Ok(probe))) = (&reply, probe)
                    && error.code() == Code::PageUnresponsive
                    && probe.wait(cx.progress.deadline).await.is_ok()
                {
                    return Err(unsettled(cx.progress.deadline));
                }
                reply.map(|reply| (reply.result, reply.exception_details))
            }
            Some((channel, handle)) => {
                let call = CallFunctionOn {
                    function_declaration: format!(
                        "function () {{ return ({}\n)(this) }}",
                        self.script.trim().trim_end_matches(';')
                    ),
                    object_id: Some(handle),
                    await_promise: Some(true),
                    return_by_value: Some(true),
                    user_gesture: self.gesture.then_some(true),
                    ..CallFunctionOn::default()
                };
                let reply = running.unless_blocked(channel.call(call, cx.progress.deadline)).await;
                // The browser does not terminate functions. The page responded a moment ago: the function is busy.
                if reply.as_ref().is_err_and(|error| error.code() == Code::PageUnresponsive) {
                    return Err(stopped(cx.progress.deadline.total()));
                }
                reply.map(|reply| (reply.result, reply.exception_details))
            }
        };
        let reply = reply.map_err(|error| match error.code() {
            Code::CdpRefused if began.elapsed() >= allowed => stopped(allowed),
            _ => error,
        });
        let result = match reply.and_then(|(result, thrown)| unless_thrown(result, thrown)) {
            Ok(result) => by_value(&running, result, cx.progress.deadline).await?,
            Err(error) => Err(error),
        };
        // The script is done: terminating now would hit the next one.
        drop(running.over());
        let mut result = result?;
        if result.subtype.as_deref() == Some("null") {
            // The decoder reads a null as an absent value.
            result.value = RawValue::from_string("null".into()).ok();
        }
        Ok(EvalReply {
            r#type: result
                .subtype
                .filter(|kind| kind == "null")
                .or(result.r#type)
                .unwrap_or_default(),
            value: result.value.map(Json),
            unserializable: result.unserializable_value,
        })
    }
}

/// The object id of an element in the page's main world, and its session.
async fn element(
    cx: &mut CommandContext<'_>,
    turn: &Turn,
    target: &Target,
) -> Result<(Channel, String)> {
    let live = cx.live().await?;
    let mut observation = turn.observation.lock().await;
    let tree = observe::observe(
        &live,
        turn,
        &mut observation,
        &ObserveOptions::default(),
        cx.progress.deadline,
    )
    .await?;
    let wanted = (target, None);
    let node = target::find_one(turn, &mut observation, &tree, wanted, &mut cx.progress).await?;
    let node = &tree.nodes[node];
    let gone = || target::stale_target_error(&observation, target);
    let frame = &tree.frames[usize::from(node.frame)];
    let world = observation.world_of(&frame.document).ok_or_else(gone)?;
    let explain = |error: ObserveError| error.explain(turn);
    let ids = world.backend_ids(&[node.element], cx.progress.deadline).await.map_err(explain)?;
    let ids: Vec<i64> = ids.into_iter().flatten().collect();
    let handles = world.page_handles(&ids, cx.progress.deadline).await.map_err(explain)?;
    let handle = handles.into_iter().next().ok_or_else(gone)?;
    Ok((world.channel.clone(), handle))
}

/// The result by value: promises are awaited, objects serialized. Primitive values need no further call, so the usual
/// script costs one round trip. The outer error is for a script that is still running.
async fn by_value(
    turn: &Turn,
    result: RemoteObject,
    deadline: Deadline,
) -> Result<Result<RemoteObject>> {
    let Some(handle) = result.object_id else { return Ok(Ok(result)) };
    let reply = if result.subtype.as_deref() == Some("promise") {
        let wait = AwaitPromise { promise_object_id: handle.clone(), return_by_value: Some(true) };
        let reply = turn.call(wait, deadline).await;
        if reply.as_ref().is_err_and(|error| error.code() == Code::PageUnresponsive) {
            return Err(unsettled(deadline));
        }
        reply.map(|reply| (reply.result, reply.exception_details)).map_err(not_json)
    } else {
        let write = CallFunctionOn {
            function_declaration: "function () { return this; }".into(),
            object_id: Some(handle.clone()),
            return_by_value: Some(true),
            silent: Some(true),
            ..CallFunctionOn::default()
        };
        let reply = turn.call(write, deadline).await;
        reply.map(|reply| (reply.result, reply.exception_details)).map_err(not_json)
    };
    turn.channel.post(&ReleaseObject { object_id: handle });
    let value = reply.and_then(|(value, thrown)| unless_thrown(value, thrown));
    // JSON has no functions; `{}` would be wrong.
    let is_function = result.r#type.as_deref() == Some("function");
    Ok(value.map(|value| match is_function {
        true => RemoteObject { value: None, r#type: result.r#type, ..RemoteObject::default() },
        false => value,
    }))
}

fn unless_thrown(
    result: Option<RemoteObject>,
    thrown: Option<ExceptionDetails>,
) -> Result<RemoteObject> {
    match thrown {
        Some(thrown) => Err(threw(&thrown)),
        None => Ok(result.unwrap_or_default()),
    }
}

fn stopped(after: Duration) -> Error {
    Error::new(Code::CommandTimeout)
        .stage(Stage::Evaluate)
        .message(format!("the script was stopped after {} ms", after.as_millis()))
}

/// The error for a script whose promise did not settle in time.
fn unsettled(deadline: Deadline) -> Error {
    stopped(deadline.total()).evidence("waitingFor", "promise")
}

/// The error for a result that cannot be serialized: a cycle, a window.
fn not_json(error: Error) -> Error {
    if error.code() != Code::CdpRefused {
        return error;
    }
    Error::new(Code::EvalNotSerializable)
        .message(format!("the result cannot be written as JSON: {}", error.details().message))
}

fn threw(thrown: &ExceptionDetails) -> Error {
    let text = thrown.exception.as_ref().and_then(|exception| {
        exception
            .description
            .as_ref()
            .map(|text| text.0.clone())
            .or_else(|| exception.value.as_ref().map(|value| plain(value)))
    });
    let text = text.or_else(|| thrown.text.as_ref().map(|text| text.0.clone())).unwrap_or_default();
    let first = text.lines().next().unwrap_or("something").to_owned();
    let mut error = Error::new(Code::EvalThrew)
        .message(format!("the script threw {}", page::text::quoted(&first)));
    if let Some(line) = thrown.line_number {
        error = error.evidence("line", line + 1);
    }
    if let Some(column) = thrown.column_number {
        error = error.evidence("column", column + 1);
    }
    error.evidence("thrown", text)
}

/// A JSON value as text: a string without quotes, everything else as JSON.
fn plain(value: &RawValue) -> String {
    let json = value.get();
    // Strings only: a failed parse costs more than the rest.
    let text =
        json.starts_with('"').then(|| serde_json::from_str::<LossyString>(json).ok()).flatten();
    text.map_or_else(|| json.to_owned(), LossyString::into_string)
}

impl VerbReply for EvalReply {}

impl fmt::Display for EvalReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.value, &self.unserializable) {
            (Some(value), _) => f.write_str(&plain(&value.0)),
            (None, Some(word)) => f.write_str(word),
            (None, None) => f.write_str(&self.r#type),
        }
    }
}
