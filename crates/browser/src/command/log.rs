//! `console`, `requests`: the console messages and network requests of a page.

use super::{CommandContext, Run, TabNeed, Verb, VerbReply, VerbSpec};
use crate::error::{Code, Error, Result};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

pub use crate::chromium::activity::{ConsoleLine, PageEvent, RequestLine, is_page_speech};

/// Show the console messages and exceptions of the page.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Console {
    /// Only errors and uncaught exceptions.
    #[arg(long)]
    pub errors: bool,
    /// Only messages of this level or worse: `error`, `warning`, `info`, `debug`.
    #[arg(long)]
    pub level: Option<String>,
    /// Only messages that contain this text, case-insensitive.
    #[arg(long, value_name = "TEXT")]
    pub grep: Option<String>,
    /// Number of messages, the last ones [default: 50].
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<usize>,
    /// Clear them afterwards.
    #[arg(long)]
    pub clear: bool,
}

/// The console messages of a page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleReply {
    /// The messages, in order.
    pub lines: Vec<ConsoleLine>,
    /// Number of earlier matches.
    pub earlier: usize,
}

impl Verb for Console {
    type Reply = ConsoleReply;
    const SPEC: VerbSpec = VerbSpec { tab: TabNeed::Known, ..VerbSpec::LOOK };
}

impl Run for Console {
    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<ConsoleReply> {
        let tab = cx.known_tab()?;
        let rank = match &self.level {
            Some(level) => Some(rank_of(level).ok_or_else(|| {
                Error::new(Code::CommandInvalid).message(format!(
                    "`{level}` is not a level: expected `error`, `warning`, `info` or `debug`"
                ))
            })?),
            None => None,
        };
        let mut lines = tab.activity.console();
        lines.retain(|line| {
            (!self.errors || matches!(&*line.level, "error" | "exception"))
                && rank.is_none_or(|rank| rank_of(&line.level).unwrap_or(2) <= rank)
                && has(self.grep.as_deref(), &line.text)
        });
        if self.clear {
            tab.activity.clear_console();
        }
        let earlier = keep_last(&mut lines, self.last);
        Ok(ConsoleReply { lines, earlier })
    }
}

/// Severity of a level, the worst first.
fn rank_of(level: &str) -> Option<u8> {
    Some(match level {
        "error" | "exception" => 0,
        "warning" => 1,
        "info" | "log" => 2,
        "debug" => 3,
        _ => return None,
    })
}

impl VerbReply for ConsoleReply {}

impl fmt::Display for ConsoleReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lines.is_empty() {
            return f.write_str("nothing");
        }
        let lines = self.lines.iter().map(|line| {
            let at = line.at.as_ref().map(|at| format!("  ({at})")).unwrap_or_default();
            format!("{}: {}{at}", line.level, page::text::quoted(&line.text))
        });
        write_lines(f, self.earlier, lines)
    }
}

/// Show the network requests of the page.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Requests {
    /// Only requests that failed or got an error status.
    #[arg(long)]
    pub failed: bool,
    /// Only pending requests.
    #[arg(long)]
    pub open: bool,
    /// Only this resource type: `document`, `fetch`, `xhr`, `image`, `script`, `stylesheet` …
    #[arg(long = "type", value_name = "TYPE")]
    pub r#type: Option<String>,
    /// Only this method: `GET`, `POST` …
    #[arg(long)]
    pub method: Option<String>,
    /// Only URLs that contain this text, case-insensitive.
    #[arg(long, value_name = "TEXT")]
    pub grep: Option<String>,
    /// Number of requests, the last ones [default: 50].
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<usize>,
    /// Clear them afterwards.
    #[arg(long)]
    pub clear: bool,
}

/// The network requests of a page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestsReply {
    /// The requests, in order.
    pub requests: Vec<RequestLine>,
    /// Number of earlier matches.
    pub earlier: usize,
}

impl Verb for Requests {
    type Reply = RequestsReply;
    const SPEC: VerbSpec = VerbSpec { tab: TabNeed::Known, ..VerbSpec::LOOK };
}

impl Run for Requests {
    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<RequestsReply> {
        let tab = cx.known_tab()?;
        let mut lines = tab.activity.requests();
        lines.retain(|line| {
            let is_failed =
                line.failed.is_some() || line.status.is_some_and(|status| status >= 400);
            (!self.failed || is_failed)
                && (!self.open || !line.is_over)
                && self.r#type.as_ref().is_none_or(|kinds| {
                    kinds.split(',').any(|kind| kind.trim().eq_ignore_ascii_case(&line.r#type))
                })
                && self.method.as_ref().is_none_or(|it| it.eq_ignore_ascii_case(&line.method))
                && has(self.grep.as_deref(), &line.url)
        });
        if self.clear {
            tab.activity.clear_requests();
        }
        let earlier = keep_last(&mut lines, self.last);
        Ok(RequestsReply { requests: lines, earlier })
    }
}

impl VerbReply for RequestsReply {}

impl fmt::Display for RequestsReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.requests.is_empty() {
            return f.write_str("nothing");
        }
        let lines = self.requests.iter().map(|line| {
            let came = match (&line.failed, line.status) {
                (Some(why), _) => why.clone(),
                (None, Some(status)) => status.to_string(),
                (None, None) => "…".to_owned(),
            };
            format!("{came} {} {} ({})", line.method, line.url, line.r#type)
        });
        write_lines(f, self.earlier, lines)
    }
}

fn has(wanted: Option<&str>, text: &str) -> bool {
    wanted.is_none_or(|wanted| text.to_lowercase().contains(&wanted.to_lowercase()))
}

/// Default number of lines.
const LAST: usize = 50;

fn keep_last<T>(lines: &mut Vec<T>, last: Option<usize>) -> usize {
    let earlier = lines.len().saturating_sub(last.unwrap_or(LAST));
    lines.drain(..earlier);
    earlier
}

fn write_lines(
    f: &mut fmt::Formatter<'_>,
    earlier: usize,
    lines: impl Iterator<Item = String>,
) -> fmt::Result {
    if earlier > 0 {
        writeln!(f, "… {earlier} earlier")?;
    }
    let all: Vec<String> = lines.collect();
    f.write_str(&all.join("\n"))
}
