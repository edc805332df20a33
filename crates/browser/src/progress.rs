//! Progress of a command: its deadline, the notes for its reply, and a log that explains a timeout.

use crate::error::{Code, Error};
use crate::note::Note;
use cdp::Deadline;
use std::time::{Duration, Instant};

/// Maximum lines of a log: of a command that polls for minutes, the first and last ones.
const MAX_LINES: usize = 24;

/// Deadline, patience, notes and log of a command, passed down as one argument.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The deadline of the command.
    pub(crate) deadline: Deadline,
    /// Timeout for an element to become actionable; `None` if the caller gave none.
    pub(crate) patience: Option<Duration>,
    /// Notes for the reply or the error.
    pub(crate) notes: Vec<Note>,
    begun: Instant,
    log: Vec<String>,
    skipped: usize,
}

impl Progress {
    pub(crate) fn new(deadline: Deadline, patience: Option<Duration>) -> Self {
        Self {
            deadline,
            patience,
            notes: Vec::new(),
            begun: Instant::now(),
            log: Vec::new(),
            skipped: 0,
        }
    }

    /// Logs a step. A repeated step is logged once.
    pub(crate) fn step(&mut self, what: &str) {
        if self
            .log
            .last()
            .is_some_and(|last| last.split_once(": ").is_some_and(|(_, it)| it == what))
        {
            return;
        }
        if self.log.len() == MAX_LINES {
            self.log.remove(MAX_LINES / 2);
            self.skipped += 1;
        }
        self.log.push(format!("{} ms: {what}", self.begun.elapsed().as_millis()));
    }

    /// Adds the log as evidence to a timeout.
    pub(crate) fn explain(&self, error: Error) -> Error {
        let is_timeout = matches!(
            error.code(),
            Code::CommandTimeout
                | Code::NavigationTimeout
                | Code::PageUnresponsive
                | Code::TabBusy
                | Code::WaitTimeout
        );
        if !is_timeout || self.log.is_empty() {
            return error;
        }
        let mut log = self.log.clone();
        if self.skipped > 0 {
            log.insert(MAX_LINES / 2, format!("… {} more", self.skipped));
        }
        error.evidence("log", log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_becomes_evidence_of_a_timeout_and_of_nothing_else() {
        let mut progress = Progress::new(Deadline::after(Duration::from_secs(1)), None);
        progress.step("turn on t1");
        progress.step("turn on t1");
        progress.step("observed");
        let evidence =
            |error: Error| error.details().evidence.clone().and_then(|it| it.get("log").cloned());
        let log = evidence(progress.explain(Error::new(Code::CommandTimeout))).unwrap();
        let log = serde_json::to_value(&log).unwrap();
        assert_eq!(log.as_array().unwrap().len(), 2, "{log}");
        assert!(evidence(progress.explain(Error::new(Code::TargetNotFound))).is_none());
    }

    #[test]
    fn log_keeps_its_first_and_last_lines() {
        let mut progress = Progress::new(Deadline::after(Duration::from_secs(1)), None);
        for number in 0..100 {
            progress.step(&format!("step {number}"));
        }
        let error = progress.explain(Error::new(Code::WaitTimeout));
        let text = format!("{:?}", error.details().evidence);
        assert!(
            text.contains("step 0") && text.contains("step 99") && text.contains("… 76 more"),
            "{text}"
        );
    }
}
