//! `agbrowse doctor`: checks of the browser and its environment, with a fix for each problem.
//!
//! One file per check. A check is read-only and has a time limit, so that a broken system cannot hang the command.
//! `daemons` and `drift` are no checks: they hold data that checks share.

mod browser_found;
mod daemons;
mod drift;
mod fonts;
mod launch;
mod protocol;
mod sandbox;
mod shared_memory;
mod socket;
mod stale;
mod version;

use crate::config::{Config, closest};
use browser::launch::{BrowserQuery, Found, find};
use browser::{Code, Error, Result};
use clap::Args;
use futures_util::future::join_all;
use serde::Serialize;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// Check the browser and its environment, and print a fix for each problem.
#[derive(Clone, Debug, Default, Args)]
pub struct Doctor {
    /// Run only these checks, by id.
    #[arg(value_name = "CHECK")]
    pub only: Vec<String>,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// No problem.
    Info,
    /// Works with limitations.
    Warn,
    /// Does not work.
    Fail,
}

/// Result of a check.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Id of the check.
    pub id: &'static str,
    /// True if the severity is `info`.
    pub ok: bool,
    /// Severity of a finding.
    pub severity: Severity,
    /// Description of the finding.
    pub detail: String,
    /// Suggested fix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Duration in milliseconds.
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

type CheckFn = for<'a> fn(&'a Config) -> Pin<Box<dyn Future<Output = Finding> + 'a>>;

struct Check {
    id: &'static str,
    limit: Duration,
    starts_browser: bool,
    run: CheckFn,
}

/// All checks, in report order.
const CHECKS: &[Check] = &[
    check("browser", 10, |config| Box::pin(browser_found::run(config))),
    check("launch", 45, |config| Box::pin(launch::run(config))).after_others(),
    check("sandbox", 5, |config| Box::pin(sandbox::run(config))),
    check("shared-memory", 5, |config| Box::pin(shared_memory::run(config))),
    check("fonts", 15, |config| Box::pin(fonts::run(config))),
    check("socket", 5, |config| Box::pin(socket::run(config))),
    check("stale", 20, |config| Box::pin(stale::run(config))),
    check("protocol", 45, |config| Box::pin(protocol::run(config))).after_others(),
    check("version", 20, |config| Box::pin(version::run(config))),
];

const fn check(id: &'static str, limit_s: u64, run: CheckFn) -> Check {
    Check { id, limit: Duration::from_secs(limit_s), starts_browser: false, run }
}

impl Check {
    /// Runs after the other checks: a browser start is timed, and removes the stale profiles that `stale` reports.
    const fn after_others(self) -> Self {
        Self { starts_browser: true, ..self }
    }

    async fn run(&self, config: &Config) -> Finding {
        let timed_out = || {
            let detail = format!("no result within {} s", self.limit.as_secs());
            Finding::new(Severity::Fail, detail)
                .fix("check the load of the machine, then try again")
        };
        let started = Instant::now();
        let finding = tokio::time::timeout(self.limit, (self.run)(config)).await;
        Finding { id: self.id, ms: ms_since(started), ..finding.unwrap_or_else(|_| timed_out()) }
    }
}

/// Report of all checks.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// True if no check failed.
    pub ok: bool,
    /// One finding per check.
    pub checks: Vec<Finding>,
}

impl Doctor {
    /// Runs all checks, or the requested ones.
    ///
    /// # Errors
    /// `command.invalid` for an unknown check.
    pub async fn run(&self, config: &Config) -> Result<Report> {
        let selected = self.selected()?;
        let (launching, others): (Vec<_>, Vec<_>) =
            selected.into_iter().partition(|check| check.starts_browser);
        let mut checks = join_all(others.into_iter().map(|check| check.run(config))).await;
        for check in launching {
            checks.push(check.run(config).await);
        }
        checks.sort_by_key(|finding| CHECKS.iter().position(|check| check.id == finding.id));
        let ok = checks.iter().all(|finding| finding.severity != Severity::Fail);
        Ok(Report { ok, checks })
    }

    fn selected(&self) -> Result<Vec<&'static Check>> {
        let ids: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
        if let Some(unknown) = self.only.iter().find(|id| !ids.contains(&id.as_str())) {
            let suggestion = closest(unknown, ids.iter().copied())
                .map(|suggestion| format!("did you mean `{suggestion}`? "))
                .unwrap_or_default();
            let list = ids.join("`, `");
            return Err(Error::new(Code::CommandInvalid)
                .message(format!("unknown check `{unknown}`; {suggestion}the checks are `{list}`"))
                .evidence("checks", ids.iter().map(|&id| id.to_owned()).collect::<Vec<_>>()));
        }
        let is_selected =
            |check: &&Check| self.only.is_empty() || self.only.iter().any(|id| id == check.id);
        Ok(CHECKS.iter().filter(is_selected).collect())
    }
}

/// Finds the browser that a command would launch.
fn program(config: &Config) -> Result<Found> {
    let overrides = config.launch_overrides();
    find(&BrowserQuery { chrome: overrides.chrome, headed: overrides.headed.unwrap_or_default() })
}

fn ms_since(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)
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
        f.write_str(if self.ok { "no check failed" } else { "some checks failed" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(ids: &[&str]) -> Doctor {
        Doctor { only: ids.iter().map(|&id| id.to_owned()).collect() }
    }

    #[test]
    fn unknown_check_is_rejected_with_a_list() {
        let error = only(&["browser", "sandbx"]).selected().err().unwrap();
        assert_eq!(error.code(), Code::CommandInvalid);
        let message = &error.details().message;
        assert!(message.contains("did you mean `sandbox`?"), "{message}");
        assert!(message.contains("`shared-memory`"), "{message}");

        let error = only(&["xyzzy"]).selected().err().unwrap();
        assert!(!error.details().message.contains("did you mean"), "{error}");
    }

    #[test]
    fn check_ids_are_unique() {
        let all = only(&[]).selected().unwrap();
        let mut ids: Vec<_> = all.iter().map(|check| check.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all.len());
    }

    #[tokio::test]
    async fn findings_are_in_check_order() {
        let mut config = Config::default();
        config.settings.chrome = Some("/nowhere/chromium".into());
        let report = only(&["sandbox", "shared-memory", "launch", "browser"]).run(&config).await;
        let report = report.unwrap();
        let ids: Vec<_> = report.checks.iter().map(|finding| finding.id).collect();
        assert_eq!(ids, ["browser", "launch", "sandbox", "shared-memory"]);
        assert!(!report.ok);
        for finding in report.checks.iter().filter(|finding| !finding.ok) {
            assert!(finding.fix.is_some(), "{finding:?}");
        }
    }
}
