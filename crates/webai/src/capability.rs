//! Capabilities with probes: a small registry that runs them in order, each with a time limit of its own.

use browser::page::capability::{CapabilityRow, CapabilityState};
use browser::{Code, Error, Result};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use std::fmt;
use std::time::Duration;

/// What a probe found. Fields that it leaves out read `unknown`, no evidence, and `send`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeResult {
    /// The state.
    pub state: CapabilityState,
    /// The evidence.
    pub evidence: Option<Map<String, Value>>,
    /// The suggested next step.
    pub next: Option<&'static str>,
}

impl ProbeResult {
    /// A result without evidence.
    pub fn new(state: CapabilityState, next: &'static str) -> Self {
        Self { state, evidence: None, next: Some(next) }
    }

    /// Adds evidence.
    #[must_use]
    pub fn with(mut self, key: &str, fact: impl Into<Value>) -> Self {
        self.evidence.get_or_insert_default().insert(key.to_owned(), fact.into());
        self
    }
}

/// The probe of a capability in a context `C`.
pub type Probe<C> = for<'c> fn(&'c C) -> BoxFuture<'c, Result<ProbeResult>>;

/// A capability with its probe.
pub struct Capability<C> {
    /// Its id, with hyphens.
    pub id: String,
    /// The time that its probe gets.
    pub budget: Duration,
    /// The probe.
    pub probe: Probe<C>,
}

impl<C> fmt::Debug for Capability<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capability").field("id", &self.id).field("budget", &self.budget).finish()
    }
}

/// Defines a capability.
pub fn define_capability<C>(
    id: impl Into<String>,
    budget: Duration,
    probe: Probe<C>,
) -> Capability<C> {
    Capability { id: id.into(), budget, probe }
}

/// Runs the probes in declared order, or only that of one id. A probe that fails or takes too long gives a row
/// `unknown`; the others run all the same.
///
/// # Errors
/// `capability.unsupported` for an unknown id, with the known ones.
pub async fn run_capabilities<C>(
    cx: &C,
    capabilities: &[Capability<C>],
    only: Option<&str>,
) -> Result<Vec<CapabilityRow>> {
    if let Some(id) = only
        && !capabilities.iter().any(|capability| capability.id == id)
    {
        let known: Vec<String> = capabilities.iter().map(|it| it.id.clone()).collect();
        return Err(Error::new(Code::CapabilityUnsupported)
            .message(format!("unknown capability `{id}`: expected one of `{}`", known.join("`, `")))
            .evidence("capabilityId", id)
            .evidence("known", known));
    }
    let mut rows = Vec::new();
    for capability in capabilities {
        if only.is_some_and(|id| id != capability.id) {
            continue;
        }
        let begun = tokio::time::Instant::now();
        let found = tokio::time::timeout(capability.budget, (capability.probe)(cx)).await;
        tracing::debug!(id = capability.id, ms = begun.elapsed().as_millis(), "capability probed");
        let found = match found {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => ProbeResult::new(CapabilityState::Unknown, "re-snapshot")
                .with("errorCode", error.code().as_str())
                .with("error", error.details().message.clone()),
            Err(_) => ProbeResult::new(CapabilityState::Unknown, "re-snapshot")
                .with("error", format!("no answer within {} ms", capability.budget.as_millis())),
        };
        rows.push(CapabilityRow {
            capability_id: capability.id.clone(),
            state: found.state,
            evidence: found.evidence,
            next: found.next.unwrap_or("send").to_owned(),
        });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    type Log = RefCell<Vec<&'static str>>;

    fn fine(log: &Log) -> BoxFuture<'_, Result<ProbeResult>> {
        log.borrow_mut().push("fine");
        Box::pin(async { Ok(ProbeResult::new(CapabilityState::Ok, "send").with("matched", 1)) })
    }

    fn failing(log: &Log) -> BoxFuture<'_, Result<ProbeResult>> {
        log.borrow_mut().push("failing");
        Box::pin(async { Err(Error::new(Code::TabNotFound).message("gone")) })
    }

    fn stuck(log: &Log) -> BoxFuture<'_, Result<ProbeResult>> {
        log.borrow_mut().push("stuck");
        Box::pin(std::future::pending())
    }

    fn silent(_: &Log) -> BoxFuture<'_, Result<ProbeResult>> {
        Box::pin(async { Ok(ProbeResult::default()) })
    }

    fn all() -> Vec<Capability<Log>> {
        let budget = Duration::from_secs(60);
        vec![
            define_capability("x-failing", budget, failing),
            define_capability("x-stuck", Duration::from_millis(1), stuck),
            define_capability("x-silent", budget, silent),
            define_capability("x-fine", budget, fine),
        ]
    }

    fn run(only: Option<&str>) -> (Result<Vec<CapabilityRow>>, Vec<&'static str>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let log = Log::default();
        let rows = runtime.block_on(run_capabilities(&log, &all(), only));
        (rows, log.into_inner())
    }

    #[test]
    fn run_capabilities_aggregates_rows_in_declared_order_and_one_failing_probe_does_not_abort_the_rest()
     {
        let (rows, _) = run(None);
        let json = serde_json::to_value(rows.unwrap()).unwrap();
        let expected = serde_json::json!([
            {"capabilityId": "x-failing", "state": "unknown", "evidence": {"errorCode": "tab.not-found", "error": "gone"}, "next": "re-snapshot"},
            {"capabilityId": "x-stuck", "state": "unknown", "evidence": {"error": "no answer within 1 ms"}, "next": "re-snapshot"},
            {"capabilityId": "x-silent", "state": "unknown", "evidence": null, "next": "send"},
            {"capabilityId": "x-fine", "state": "ok", "evidence": {"matched": 1}, "next": "send"},
        ]);
        assert_eq!(json, expected);
    }

    #[test]
    fn one_probe_runs_alone_and_an_unknown_one_is_refused_with_the_known_ids() {
        let (rows, log) = run(Some("x-fine"));
        assert_eq!((rows.unwrap().len(), log), (1, vec!["fine"]));
        let (rows, log) = run(Some("x-gone"));
        let error = rows.unwrap_err();
        assert_eq!((error.code(), log), (Code::CapabilityUnsupported, vec![]));
        assert!(error.details().message.contains("`x-failing`, `x-stuck`, `x-silent`, `x-fine`"));
    }
}
