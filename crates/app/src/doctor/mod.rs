//! `agbrowse doctor`: what is needed, whether it is there, and how to mend what is not.
//!
//! One file per check. A check looks and never changes anything; it has a time limit, so that a broken
//! system cannot hang the doctor.

mod browser_found;

use crate::config::Config;
use clap::Args;
use serde::Serialize;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// Check that everything needed is there, and say how to mend what is not.
#[derive(Clone, Debug, Default, Args)]
pub struct Doctor {
    /// Only these checks, by id.
    #[arg(value_name = "CHECK")]
    pub only: Vec<String>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// As it should be.
    Info,
    /// Works, but not well.
    Warn,
    /// Does not work.
    Fail,
}

/// What a check found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The check.
    pub id: &'static str,
    /// Whether all is well.
    pub ok: bool,
    /// How bad it is.
    pub severity: Severity,
    /// What was found.
    pub detail: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// How long it took.
    pub ms: u64,
}

impl Finding {
    pub(crate) fn new(severity: Severity, detail: impl Into<String>) -> Self {
        let ok = severity == Severity::Info;
        Self { id: "", ok, severity, detail: detail.into(), fix: None, ms: 0 }
    }

    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

type Look = for<'a> fn(&'a Config) -> Pin<Box<dyn Future<Output = Finding> + 'a>>;

struct Check {
    id: &'static str,
    limit: Duration,
    look: Look,
}

/// All checks, in the order in which one would look.
const CHECKS: &[Check] = &[Check {
    id: "browser",
    limit: Duration::from_secs(10),
    look: |config| Box::pin(browser_found::look(config)),
}];

/// What the doctor found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Whether everything works.
    pub ok: bool,
    /// One finding per check.
    pub checks: Vec<Finding>,
}

impl Doctor {
    /// Looks at everything, or at what is asked for.
    pub async fn run(&self, config: &Config) -> Report {
        let mut checks = Vec::new();
        for check in CHECKS
            .iter()
            .filter(|check| self.only.is_empty() || self.only.iter().any(|id| id == check.id))
        {
            let began = Instant::now();
            let late = || {
                let detail = format!("no result within {} s", check.limit.as_secs());
                Finding::new(Severity::Fail, detail)
                    .fix("see whether the machine is overloaded, then try again")
            };
            let found = tokio::time::timeout(check.limit, (check.look)(config)).await;
            let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            checks.push(Finding { id: check.id, ms, ..found.unwrap_or_else(|_| late()) });
        }
        Report { ok: checks.iter().all(|finding| finding.severity != Severity::Fail), checks }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.checks {
            let (word, style) = match finding.severity {
                Severity::Info => ("ok  ", anstyle::AnsiColor::Green.on_default()),
                Severity::Warn => ("warn", anstyle::AnsiColor::Yellow.on_default()),
                Severity::Fail => ("FAIL", anstyle::AnsiColor::Red.on_default().bold()),
            };
            writeln!(f, "{style}{word}{style:#}  {:16}{}", finding.id, finding.detail)?;
            if let Some(fix) = &finding.fix {
                writeln!(f, "      {:16}fix: {fix}", "")?;
            }
        }
        f.write_str(if self.ok { "everything needed is there" } else { "something needs mending" })
    }
}
