//! `agbrowse doctor`: what is needed, whether it is there, and how to mend what is not.
//!
//! One file per check. A check looks and mends nothing; it has a time limit, so that a broken system cannot
//! hang the doctor. `daemons` and `drift` are no checks: they hold what checks ask.

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

type CheckFn = for<'a> fn(&'a Config) -> Pin<Box<dyn Future<Output = Finding> + 'a>>;

struct Check {
    id: &'static str,
    limit: Duration,
    starts_browser: bool,
    look: CheckFn,
}

/// All checks, in the order in which one would look.
const CHECKS: &[Check] = &[
    check("browser", 10, |config| Box::pin(browser_found::look(config))),
    check("launch", 45, |config| Box::pin(launch::look(config))).starting_a_browser(),
    check("sandbox", 5, |config| Box::pin(sandbox::look(config))),
    check("shared-memory", 5, |config| Box::pin(shared_memory::look(config))),
    check("fonts", 15, |config| Box::pin(fonts::look(config))),
    check("socket", 5, |config| Box::pin(socket::look(config))),
    check("stale", 20, |config| Box::pin(stale::look(config))),
    check("protocol", 45, |config| Box::pin(protocol::look(config))).starting_a_browser(),
    check("version", 20, |config| Box::pin(version::look(config))),
];

const fn check(id: &'static str, limit_s: u64, look: CheckFn) -> Check {
    Check { id, limit: Duration::from_secs(limit_s), starts_browser: false, look }
}

impl Check {
    /// Such a check comes after the others: a start is measured, and removes what `stale` looks for.
    const fn starting_a_browser(self) -> Self {
        Self { starts_browser: true, ..self }
    }

    async fn run(&self, config: &Config) -> Finding {
        let late = || {
            let detail = format!("no result within {} s", self.limit.as_secs());
            Finding::new(Severity::Fail, detail)
                .fix("see whether the machine is overloaded, then try again")
        };
        let began = Instant::now();
        let found = tokio::time::timeout(self.limit, (self.look)(config)).await;
        Finding { id: self.id, ms: ms_since(began), ..found.unwrap_or_else(|_| late()) }
    }
}

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
    ///
    /// # Errors
    /// `command.invalid` for a check that there is not.
    pub async fn run(&self, config: &Config) -> Result<Report> {
        let wanted = self.wanted()?;
        let (last, first): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|check| check.starts_browser);
        let mut checks = join_all(first.into_iter().map(|check| check.run(config))).await;
        for check in last {
            checks.push(check.run(config).await);
        }
        checks.sort_by_key(|finding| CHECKS.iter().position(|check| check.id == finding.id));
        let ok = checks.iter().all(|finding| finding.severity != Severity::Fail);
        Ok(Report { ok, checks })
    }

    fn wanted(&self) -> Result<Vec<&'static Check>> {
        let ids: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
        if let Some(unknown) = self.only.iter().find(|id| !ids.contains(&id.as_str())) {
            let near = closest(unknown, ids.iter().copied())
                .map(|near| format!("did you mean `{near}`? "))
                .unwrap_or_default();
            let list = ids.join("`, `");
            return Err(Error::new(Code::CommandInvalid)
                .message(format!("there is no check `{unknown}`; {near}the checks are `{list}`"))
                .evidence("checks", ids.iter().map(|&id| id.to_owned()).collect::<Vec<_>>()));
        }
        let is_wanted =
            |check: &&Check| self.only.is_empty() || self.only.iter().any(|id| id == check.id);
        Ok(CHECKS.iter().filter(is_wanted).collect())
    }
}

/// The browser that a command would start.
fn program(config: &Config) -> Result<Found> {
    let overrides = config.launch_overrides();
    find(&BrowserQuery { chrome: overrides.chrome, headed: overrides.headed.unwrap_or_default() })
}

fn ms_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn only(ids: &[&str]) -> Doctor {
        Doctor { only: ids.iter().map(|&id| id.to_owned()).collect() }
    }

    #[test]
    fn an_unknown_check_is_refused_with_the_known_ones() {
        let refused = only(&["browser", "sandbx"]).wanted().err().unwrap();
        assert_eq!(refused.code(), Code::CommandInvalid);
        let message = &refused.details().message;
        assert!(message.contains("did you mean `sandbox`?"), "{message}");
        assert!(message.contains("`shared-memory`"), "{message}");

        let refused = only(&["xyzzy"]).wanted().err().unwrap();
        assert!(!refused.details().message.contains("did you mean"), "{refused}");
    }

    #[test]
    fn every_check_has_its_own_id() {
        let all = only(&[]).wanted().unwrap();
        let mut ids: Vec<_> = all.iter().map(|check| check.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all.len());
    }

    #[tokio::test]
    async fn findings_come_in_the_order_of_the_checks() {
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
