//! `wait`: waits for conditions.

use super::{Act, CommandContext, Verb, VerbGroup, VerbReply, VerbSpec};
use crate::act::{Action, Actionability, EventGuard, TargetArgs, millis};
use crate::error::{Code, Error, Result};
use crate::observe::json;
use crate::tab::Phase;
use crate::target::Target;
use cdp::protocol::runtime::Evaluate;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::{Duration, Instant};

/// Wait for a condition.
///
/// Waits for all given conditions: the state of a target, a text, a URL, the load event, an idle network, a function
/// with a truthy result. `--timeout` limits the wait.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Wait {
    /// The element to wait for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// The state of the element [default: visible].
    #[arg(long, value_enum, requires = "target")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<WaitState>,
    /// Wait for this text on the page, case-insensitive.
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Wait until this text is gone from the page.
    #[arg(long, value_name = "TEXT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_gone: Option<String>,
    /// Wait for a URL with this part; `*` matches anything.
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Wait until the page has loaded.
    #[arg(long)]
    pub load: bool,
    /// Wait until there was no network request for half a second.
    #[arg(long)]
    pub idle: bool,
    /// Wait until this script returns a truthy value.
    #[arg(long = "fn", value_name = "SCRIPT")]
    #[serde(rename = "fn", skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

/// A state of an element.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum WaitState {
    /// Visible.
    #[default]
    Visible,
    /// Hidden or not there.
    Hidden,
    /// Enabled.
    Enabled,
    /// Disabled.
    Disabled,
    /// Checked.
    Checked,
    /// Unchecked.
    Unchecked,
    /// Actionable: visible, enabled, not covered, stable.
    Ready,
}

/// The result of a wait.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitReply {
    /// The conditions that are met.
    pub met: Vec<String>,
    /// The time it took.
    pub ms: u64,
}

/// Duration without requests that counts as idle.
const IDLE: Duration = Duration::from_millis(500);

/// Default timeout of a wait.
const MAX_WAIT: Duration = Duration::from_secs(10);

impl Verb for Wait {
    type Reply = WaitReply;
    const SPEC: VerbSpec = VerbSpec::LOOK.in_group(VerbGroup::Wait);

    fn check(&self, _cx: &CommandContext<'_>) -> Result<()> {
        if self.conditions().is_empty() {
            return Err(Error::new(Code::CommandInvalid).message(
                "say what to wait for: a target, `--text`, `--url`, `--load`, `--idle` or `--fn`",
            ));
        }
        Ok(())
    }
}

impl Act for Wait {
    async fn act(&self, action: &mut Action<'_>) -> Result<WaitReply> {
        let conditions = self.conditions();
        let begun = Instant::now();
        let patience = action.progress.patience;
        let limit = action
            .progress
            .deadline
            .at_most(patience.map_or(MAX_WAIT, |patience| patience.mul_f64(0.95)));
        loop {
            // The state of a page that is gone is outdated.
            action.check_alive()?;
            let mut unmet = None;
            for condition in &conditions {
                if !self.is_met(condition, action).await? {
                    unmet = Some(condition);
                    break;
                }
            }
            let Some(unmet) = unmet else {
                let met = conditions.iter().map(ToString::to_string).collect();
                return Ok(WaitReply { met, ms: millis(begun.elapsed()) });
            };
            if limit.is_over() {
                return Err(Error::new(Code::WaitTimeout)
                    .message(format!(
                        "timed out after {} ms waiting for {}",
                        millis(begun.elapsed()),
                        unmet.awaited()
                    ))
                    .evidence("waitedMs", millis(begun.elapsed())));
            }
            action.progress.step(&format!("waiting for {}", unmet.awaited()));
            match unmet {
                // The page has no notification for these.
                Condition::Load | Condition::Idle | Condition::Url(_) | Condition::Function(_) => {
                    action.wait_for_event(limit).await?;
                }
                _ => {
                    let tree = action.observe().await?;
                    action.wait_for_change(&tree, limit).await?;
                }
            }
        }
    }
}

enum Condition<'w> {
    Target(&'w Target, WaitState),
    Text(&'w str),
    TextGone(&'w str),
    Url(&'w str),
    Load,
    Idle,
    Function(&'w str),
}

impl fmt::Display for Condition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Target(target, state) => {
                let state = state.to_possible_value();
                write!(f, "`{target}` {}", state.as_ref().map_or("visible", |it| it.get_name()))
            }
            Self::Text(text) => write!(f, "text {text:?}"),
            Self::TextGone(text) => write!(f, "no text {text:?}"),
            Self::Url(url) => write!(f, "address `{url}`"),
            Self::Load => f.write_str("loaded"),
            Self::Idle => f.write_str("idle"),
            Self::Function(_) => f.write_str("the function"),
        }
    }
}

impl Condition<'_> {
    /// The condition in a timeout message.
    fn awaited(&self) -> String {
        match self {
            Self::Load => "the page to load".into(),
            Self::Idle => "the network to be idle".into(),
            other => other.to_string(),
        }
    }
}

impl Wait {
    fn conditions(&self) -> Vec<Condition<'_>> {
        let state = self.state.unwrap_or_default();
        let all = [
            self.load.then_some(Condition::Load),
            self.url.as_deref().map(Condition::Url),
            self.target.as_ref().map(|target| Condition::Target(target, state)),
            self.text.as_deref().map(Condition::Text),
            self.text_gone.as_deref().map(Condition::TextGone),
            self.function.as_deref().map(Condition::Function),
            self.idle.then_some(Condition::Idle),
        ];
        all.into_iter().flatten().collect()
    }

    async fn is_met(&self, condition: &Condition<'_>, action: &mut Action<'_>) -> Result<bool> {
        match condition {
            Condition::Load => Ok(action.tab.state.borrow().phase >= Phase::Loaded),
            Condition::Url(pattern) => Ok(matches(pattern, &action.tab.state.borrow().url)),
            Condition::Text(text) => has_text(action, text).await,
            Condition::TextGone(text) => Ok(!has_text(action, text).await?),
            Condition::Idle => Ok(action.tab.activity.idle_for() >= IDLE),
            Condition::Function(script) => {
                let evaluate = Evaluate {
                    expression: format!(
                        "(async () => {{ const it = (0, eval)({}); \
                         return !!(await (typeof it === 'function' ? it() : it)); }})()",
                        json(script)
                    ),
                    return_by_value: Some(true),
                    await_promise: Some(true),
                    ..Evaluate::default()
                };
                let reply = action.tab.call(evaluate, action.progress.deadline).await?;
                if let Some(thrown) = reply.exception_details {
                    let what = thrown.exception.and_then(|it| it.description);
                    let what = what.map(cdp::LossyString::into_string).unwrap_or_default();
                    return Err(Error::new(Code::EvalThrew).message(format!(
                        "the script threw {}",
                        page::text::quoted(what.lines().next().unwrap_or("something"))
                    )));
                }
                let value = reply.result.and_then(|result| result.value);
                Ok(value.is_some_and(|value| value.get() == "true"))
            }
            Condition::Target(target, state) => target_is(action, target, *state).await,
        }
    }
}

async fn target_is(action: &mut Action<'_>, target: &Target, state: WaitState) -> Result<bool> {
    let target_args = TargetArgs { nth: Some(0), no_wait: true, ..TargetArgs::at(target.clone()) };
    let actionability = match state {
        WaitState::Visible | WaitState::Hidden => {
            Actionability { visible: true, ..Actionability::TOUCH }
        }
        WaitState::Enabled | WaitState::Disabled => Actionability::SET,
        WaitState::Checked | WaitState::Unchecked => Actionability::TOUCH,
        WaitState::Ready => Actionability { dry: true, ..Actionability::CLICK },
    };
    let found = action.resolve_actionable(&target_args, actionability, EventGuard::DryRun).await;
    let gone = |error: &Error| {
        matches!(
            error.code(),
            Code::TargetNotFound | Code::SnapshotRefStale | Code::ActHidden | Code::ActInert
        )
    };
    match (found, state) {
        (Ok(_), WaitState::Visible | WaitState::Enabled | WaitState::Ready) => Ok(true),
        (Ok(_), WaitState::Hidden | WaitState::Disabled) => Ok(false),
        (Ok(point), WaitState::Checked) => Ok(point.is_checked == Some(true)),
        (Ok(point), WaitState::Unchecked) => Ok(point.is_checked == Some(false)),
        (Err(error), WaitState::Hidden) if gone(&error) => Ok(true),
        (Err(error), WaitState::Disabled) => Ok(error.code() == Code::ActDisabled),
        // A stale ref never becomes valid again.
        (Err(error), _)
            if matches!(error.code(), Code::SnapshotRefStale | Code::SnapshotRefNotFound) =>
        {
            Err(error)
        }
        (Err(error), _) => match error.code() {
            Code::TargetNotFound
            | Code::ActHidden
            | Code::ActDisabled
            | Code::ActInert
            | Code::ActCovered
            | Code::ActMoving => Ok(false),
            _ => Err(error),
        },
    }
}

async fn has_text(action: &mut Action<'_>, text: &str) -> Result<bool> {
    let tree = action.observe().await?;
    let query = page::find::Query { text: Some(text.to_owned()), ..Default::default() };
    Ok(!page::find::find(&tree, &query).is_empty())
}

/// True if a URL contains a pattern; with `*`, if it matches as a whole.
fn matches(pattern: &str, url: &str) -> bool {
    if !pattern.contains('*') {
        return url.contains(pattern);
    }
    let mut rest = url;
    let parts: Vec<&str> = pattern.split('*').collect();
    for (index, part) in parts.iter().enumerate() {
        let at = match index {
            0 => rest.starts_with(part).then_some(0),
            last if last + 1 == parts.len() => {
                return rest.ends_with(part);
            }
            _ => rest.find(part),
        };
        match at {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

impl VerbReply for WaitReply {
    fn has_page_text(&self) -> bool {
        false
    }
}

impl fmt::Display for WaitReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after {} ms", self.met.join(", "), self.ms)
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn addresses_are_matched_by_parts() {
        for (pattern, url, expected) in [
            ("/done", "http://a/done?x", true),
            ("/done", "http://a/do", false),
            ("http://a/*", "http://a/done", true),
            ("*/done", "http://a/done", true),
            ("*/done", "http://a/done?x", false),
            ("http://*/x/*.html", "http://a/x/y.html", true),
            ("http://*/x/*.html", "http://a/z/y.html", false),
            ("*", "anything", true),
        ] {
            assert_eq!(matches(pattern, url), expected, "{pattern} {url}");
        }
    }
}
