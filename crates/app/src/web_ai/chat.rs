//! `web-ai render`, `send`, `poll`, `query`, `watch`, `stop` and `sessions`.

use super::VendorArgs;
use crate::config::Config;
use crate::daemon::DaemonClient;
use crate::output::{self, Output};
use browser::{Code, Error, Result};
use clap::Args;
use serde::Serialize;
use std::fmt;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use webai::{
    ChatProgress, ChatReply, PromptParts, SendOptions, SessionRecord, SessionStatus, WebAi, render,
};

/// Pause between two lines of progress where there is no terminal.
const PROGRESS_PAUSE: Duration = Duration::from_secs(10);

/// The parts of a prompt.
#[derive(Clone, Debug, Default, Args)]
pub struct PromptArgs {
    /// The prompt; `-` reads it from standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Option<String>,
    /// How to answer in general.
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// What the work belongs to.
    #[arg(long, value_name = "TEXT")]
    pub project: Option<String>,
    /// What is to be reached.
    #[arg(long, value_name = "TEXT")]
    pub goal: Option<String>,
    /// What is given. It is marked as data, which gives no instructions. (`--context` chooses the cookies.)
    #[arg(long, value_name = "TEXT")]
    pub context_text: Option<String>,
    /// The question.
    #[arg(long, value_name = "TEXT")]
    pub question: Option<String>,
    /// The form of the answer.
    #[arg(long, value_name = "TEXT")]
    pub output: Option<String>,
    /// What the answer has to keep to.
    #[arg(long, value_name = "TEXT")]
    pub constraints: Option<String>,
}

/// Print the prompt as it would be written into the composer. No browser is needed.
#[derive(Debug, Args)]
pub struct RenderArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened")]
    pub prompt: PromptArgs,
}

/// Send a prompt.
#[derive(Debug, Args)]
pub struct SendArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened")]
    pub vendor: VendorArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened")]
    pub prompt: PromptArgs,
    /// Choose this model first, and verify it.
    #[arg(long)]
    pub model: Option<String>,
    /// Attach a file; repeatable.
    #[arg(long, value_name = "FILE")]
    pub file: Vec<PathBuf>,
    /// Send the prompt without files.
    #[arg(long)]
    pub inline_only: bool,
    /// Time for the answer, such as `90s` or `10m` [default: by vendor and model].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub answer_timeout: Option<Duration>,
}

/// Wait for the answer of a session.
#[derive(Debug, Args)]
pub struct PollArgs {
    /// The session, or the beginning of its id [default: the only one whose answer may still come].
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// Wait at most this long; what is there by then is printed.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub poll_timeout: Duration,
}

/// Poll a session again and again until its answer is complete.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// The session, or the beginning of its id [default: the only one whose answer may still come].
    #[arg(value_name = "ID")]
    pub id: Option<String>,
    /// Pause between two polls.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "15s")]
    pub interval: Duration,
    /// Time of each poll.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub poll_timeout: Duration,
    /// Give up after this number of polls.
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<u32>,
    /// Poll once.
    #[arg(long)]
    pub once: bool,
}

/// Stop an answer, and print what there is of it.
#[derive(Debug, Args)]
pub struct StopArgs {
    /// The session, or the beginning of its id [default: the only one whose answer may still come].
    #[arg(value_name = "ID")]
    pub id: Option<String>,
}

/// Manage sessions.
#[derive(Debug, clap::Subcommand)]
pub enum SessionsCommand {
    /// List sessions, the oldest first.
    List {
        /// Those of this vendor.
        #[arg(long, value_name = "NAME")]
        vendor: Option<String>,
        /// Those in this state: sent, streaming, complete, timeout …
        #[arg(long)]
        status: Option<String>,
        /// The last N.
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Show a session with its answer.
    Show {
        /// The session, or the beginning of its id.
        id: String,
    },
    /// Make the tab of a session the current one, opening its conversation if needed.
    Reattach {
        /// The session, or the beginning of its id.
        id: String,
    },
    /// Wait for the answer of a session, as `poll` does.
    Resume {
        /// The session, or the beginning of its id.
        id: String,
    },
    /// Forget a session, also one of which nobody knows whether it was sent.
    Forget {
        /// The session, or the beginning of its id.
        id: String,
    },
    /// Forget old sessions whose answer cannot come any more.
    Prune {
        /// Those that have not changed for this time: `12h`, `30d`, `4w`.
        #[arg(long, value_name = "TIME", value_parser = age, default_value = "30d")]
        older_than: Duration,
        /// Those in this state only.
        #[arg(long)]
        status: Option<String>,
    },
}

impl PromptArgs {
    fn parts(&self) -> Result<PromptParts> {
        let prompt = match self.prompt.as_deref() {
            Some("-") => Some(std::io::read_to_string(std::io::stdin()).map_err(|error| {
                Error::new(Code::FileReadFailed)
                    .message(format!("standard input cannot be read: {error}"))
            })?),
            prompt => prompt.map(str::to_owned),
        };
        Ok(PromptParts {
            prompt,
            system: self.system.clone(),
            project: self.project.clone(),
            goal: self.goal.clone(),
            context: self.context_text.clone(),
            question: self.question.clone(),
            output: self.output.clone(),
            constraints: self.constraints.clone(),
        })
    }
}

impl RenderArgs {
    pub(super) fn run(&self, output: Output) -> Result<()> {
        let envelope = render(&self.prompt.parts()?)?;
        if !output.json {
            envelope
                .warnings
                .iter()
                .for_each(|warning| output::say(&format!("warning: {warning}")));
        }
        output.bare(&envelope)
    }
}

impl SendArgs {
    fn options(&self, config: &Config) -> Result<SendOptions> {
        let absolute = |path: &PathBuf| {
            std::path::absolute(path).map_err(|error| {
                Error::new(Code::FileReadFailed).message(format!("`{}`: {error}", path.display()))
            })
        };
        Ok(SendOptions {
            parts: self.prompt.parts()?,
            model: self.model.clone(),
            files: self.file.iter().map(absolute).collect::<Result<_>>()?,
            inline_only: self.inline_only,
            timeout: self.answer_timeout,
            profile: config.settings.profile.as_ref().map(|name| name.0.clone()),
        })
    }

    pub(super) async fn send(
        &self,
        web_ai: &WebAi<DaemonClient>,
        config: &Config,
        output: Output,
    ) -> Result<ExitCode> {
        let meter = ProgressMeter::new(output);
        let sent = web_ai
            .send(&self.vendor.vendor, &self.options(config)?, &|step| meter.show(&step))
            .await;
        meter.end();
        finish(&sent?, output)
    }

    pub(super) async fn query(
        &self,
        web_ai: &WebAi<DaemonClient>,
        config: &Config,
        output: Output,
    ) -> Result<ExitCode> {
        let meter = ProgressMeter::new(output);
        let asked = async {
            let progress = |step| meter.show(&step);
            let sent = web_ai.send(&self.vendor.vendor, &self.options(config)?, &progress).await?;
            let left = Duration::from_millis(sent.deadline_at.saturating_sub(now_ms()));
            web_ai.poll(&sent.session_id, left, &progress).await
        };
        let answered = asked.await;
        meter.end();
        finish(&answered?, output)
    }
}

impl PollArgs {
    pub(super) async fn run(
        &self,
        web_ai: &WebAi<DaemonClient>,
        config: &Config,
        output: Output,
    ) -> Result<ExitCode> {
        let id = session_id(web_ai, self.id.as_deref(), config)?;
        let meter = ProgressMeter::new(output);
        let polled = web_ai.poll(&id, self.poll_timeout, &|step| meter.show(&step)).await;
        meter.end();
        finish(&polled?, output)
    }
}

impl WatchArgs {
    pub(super) async fn run(
        &self,
        web_ai: &WebAi<DaemonClient>,
        config: &Config,
        output: Output,
    ) -> Result<ExitCode> {
        let id = session_id(web_ai, self.id.as_deref(), config)?;
        let most = if self.once { Some(1) } else { self.max_iterations };
        let meter = ProgressMeter::new(output);
        let mut count = 0;
        let session = loop {
            let polled = web_ai.poll(&id, self.poll_timeout, &|step| meter.show(&step)).await;
            count += 1;
            let session = polled.inspect_err(|_| meter.end())?;
            if !session.status.is_active()
                || session.status == SessionStatus::Blocked
                || session.status == SessionStatus::Timeout
                || most.is_some_and(|most| count >= most)
            {
                break session;
            }
            tokio::time::sleep(self.interval).await;
        };
        meter.end();
        finish(&session, output)
    }
}

impl StopArgs {
    pub(super) async fn run(
        &self,
        web_ai: &WebAi<DaemonClient>,
        config: &Config,
        output: Output,
    ) -> Result<ExitCode> {
        let id = session_id(web_ai, self.id.as_deref(), config)?;
        finish(&web_ai.stop(&id).await?, output)
    }
}

impl SessionsCommand {
    pub(super) async fn run(
        &self,
        web_ai: &WebAi<DaemonClient>,
        config: &Config,
        output: Output,
    ) -> Result<ExitCode> {
        let store = web_ai.sessions()?;
        match self {
            Self::List { vendor, status, limit } => {
                let mut sessions = store.all()?;
                sessions.retain(|session| {
                    vendor.as_ref().is_none_or(|vendor| *vendor == session.vendor)
                        && status.as_ref().is_none_or(|status| status == session.status.as_str())
                });
                sessions.drain(..sessions.len().saturating_sub(*limit));
                output.bare(&SessionList { sessions })?;
            }
            Self::Show { id } => {
                let session = store.get(id)?;
                output.bare_text(&session, &SessionText(&session))?;
            }
            Self::Reattach { id } => {
                let session = web_ai.reattach(id).await?;
                output.bare_text(&session, &SessionText(&session))?;
            }
            Self::Resume { id } => {
                let poll = PollArgs { id: Some(id.clone()), poll_timeout: Duration::from_secs(30) };
                return poll.run(web_ai, config, output).await;
            }
            Self::Forget { id } => {
                let id = store.get(id)?.session_id;
                store.remove(|session| session.session_id == id)?;
                output.bare(&Forgotten { forgotten: 1 })?;
            }
            Self::Prune { older_than, status } => {
                let oldest = now_ms()
                    .saturating_sub(u64::try_from(older_than.as_millis()).unwrap_or(u64::MAX));
                let forgotten = store.remove(|session| {
                    session.updated_at < oldest
                        && !matches!(session.status, SessionStatus::Sending)
                        && match status {
                            Some(status) => status == session.status.as_str(),
                            None => !session.status.is_active() || session.deadline_at < oldest,
                        }
                })?;
                output.bare(&Forgotten { forgotten })?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The session that a caller means: the named one, or the only one whose answer may still come.
fn session_id(web_ai: &WebAi<DaemonClient>, id: Option<&str>, config: &Config) -> Result<String> {
    let store = web_ai.sessions()?;
    match id {
        Some(id) => Ok(store.get(id)?.session_id),
        None => Ok(store.only_active(config.session())?.session_id),
    }
}

/// Prints the reply of a session.
fn finish(session: &SessionRecord, output: Output) -> Result<ExitCode> {
    let reply = ChatReply::from(session);
    if !output.json {
        reply.warnings.iter().for_each(|warning| output::say(&format!("warning: {warning}")));
        if reply.answer.is_some() {
            output::say(&format!("session {}: {}", reply.session_id, reply.status.as_str()));
        }
    }
    output.bare(&reply)?;
    Ok(if reply.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Progress on standard error: one line that changes on a terminal, a line now and then elsewhere.
struct ProgressMeter {
    is_shown: bool,
    is_terminal: bool,
    last: Mutex<Option<Instant>>,
}

impl ProgressMeter {
    fn new(output: Output) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { is_shown: !output.json, is_terminal, last: Mutex::default() }
    }

    fn show(&self, step: &ChatProgress) {
        if !self.is_shown {
            return;
        }
        match step {
            ChatProgress::Sent(id) => output::say(&format!("sent: session {id}")),
            ChatProgress::Streaming(chars) => {
                let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if self.is_terminal {
                    output::say_in_place(&format!("answering: {chars} characters"));
                } else if last.is_none_or(|last| last.elapsed() > PROGRESS_PAUSE) {
                    output::say(&format!("answering: {chars} characters"));
                }
                *last = Some(Instant::now());
            }
        }
    }

    /// Ends the line that changes.
    fn end(&self) {
        let last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if self.is_shown && self.is_terminal && last.is_some() {
            output::say("");
        }
    }
}

#[derive(Serialize)]
struct SessionList {
    sessions: Vec<SessionRecord>,
}

impl fmt::Display for SessionList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sessions.is_empty() {
            return f.write_str("no sessions");
        }
        for (number, session) in self.sessions.iter().enumerate() {
            let line = if number == 0 { "" } else { "\n" };
            let url = session.conversation_url.as_deref().unwrap_or("-");
            let (id, vendor, status) =
                (&session.session_id, &session.vendor, session.status.as_str());
            write!(
                f,
                "{line}{id}  {vendor:<8} {status:<10} {:>7}  {url}",
                session.last_response_chars
            )?;
        }
        Ok(())
    }
}

struct SessionText<'s>(&'s SessionRecord);

impl fmt::Display for SessionText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(session) = self;
        write!(f, "{}  {}  {}", session.session_id, session.vendor, session.status.as_str())?;
        if let Some(url) = &session.conversation_url {
            write!(f, "\n{url}")?;
        }
        if let Some(error) = &session.last_error {
            write!(f, "\n{error}")?;
        }
        match &session.answer {
            Some(answer) => write!(f, "\n\n{answer}"),
            None => Ok(()),
        }
    }
}

#[derive(Serialize)]
struct Forgotten {
    forgotten: usize,
}

impl fmt::Display for Forgotten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "forgot {} sessions", self.forgotten)
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// Parses a time; a number without unit has the given one.
fn time(text: &str, usual: f64) -> std::result::Result<Duration, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => usual,
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        _ => f64::NAN,
    };
    let seconds = digits.parse::<f64>().ok().map(|number| number * unit);
    seconds
        .filter(|seconds| (0.0..=3.2e9).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "expected a time such as `90s`, `10m`, `12h` or `30d`".to_owned())
}

fn duration(text: &str) -> std::result::Result<Duration, String> {
    time(text, 1.0)
}

/// Days, if there is no unit.
fn age(text: &str) -> std::result::Result<Duration, String> {
    time(text, 86_400.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(age("30"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(age("12h"), Ok(Duration::from_secs(12 * 3600)));
        for wrong in ["", "s", "-1s", "1y", "NaN", "1e99d"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
