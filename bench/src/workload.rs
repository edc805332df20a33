//! Workload: a long run of ordinary commands over many pages, the same for every tool.

use crate::corpus::{Corpus, Server};
use crate::tool::Tool;
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// Result of a run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Commands run, successful or not.
    pub commands: usize,
    /// Failed commands.
    pub failed: usize,
    /// Message of the first failure.
    pub first_failure: Option<String>,
    /// Duration.
    pub took: Duration,
}

/// Runs a number of commands, or as many as fit into the time allowed.
pub fn run(
    tool: &Tool,
    corpus: &Corpus,
    server: &Server,
    (commands, allowed): (usize, Duration),
    mut progress: impl FnMut(usize),
) -> Run {
    let began = Instant::now();
    let mut run = Run::default();
    let picture = tool.folder().join("picture.png");
    while run.commands < commands && began.elapsed() < allowed {
        let args = match step(run.commands, corpus.pages.len()) {
            Step::Open(page) => vec!["open".into(), server.url(&corpus.pages[page]).into()],
            Step::Eval(script) => vec!["eval".into(), script.into()],
            Step::Tabs => tool.tabs(),
            Step::Screenshot => vec![OsString::from("screenshot"), picture.clone().into()],
        };
        if let Err(error) = tool.run(args) {
            run.failed += 1;
            run.first_failure.get_or_insert(error.to_string());
        }
        run.commands += 1;
        progress(run.commands);
    }
    run.took = began.elapsed();
    run
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Open(usize),
    Eval(&'static str),
    Tabs,
    Screenshot,
}

const TITLE: &str = "document.title";
const LENGTH: &str = "document.documentElement.outerHTML.length";
const WHOLE: &str = "document.documentElement.outerHTML";

/// The command with a number: five on each page in turn. Every 20th is a screenshot, every 20th a full
/// snapshot.
fn step(number: usize, pages: usize) -> Step {
    match (number % 5, number % 20) {
        (_, 19) => Step::Screenshot,
        (_, 9) => Step::Eval(WHOLE),
        (0, _) => Step::Open(number / 5 % pages),
        (2, _) => Step::Eval(LENGTH),
        (3, _) => Step::Tabs,
        _ => Step::Eval(TITLE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_contains_every_kind_of_command() {
        let steps: Vec<Step> = (0..1000).map(|number| step(number, 21)).collect();
        let count = |wanted: Step| steps.iter().filter(|step| **step == wanted).count();
        assert_eq!(steps[0], Step::Open(0));
        assert_eq!(steps[5], Step::Open(1));
        assert_eq!(count(Step::Screenshot), 50);
        assert_eq!(count(Step::Eval(WHOLE)), 50);
        assert_eq!(count(Step::Tabs), 200);
        assert!((0..21).all(|page| count(Step::Open(page)) >= 9));
    }

    #[test]
    fn every_page_gets_a_full_snapshot() {
        let mut open = 0;
        let mut read = [false; 21];
        for number in 0..1000 {
            match step(number, read.len()) {
                Step::Open(page) => open = page,
                Step::Eval(WHOLE) => read[open] = true,
                _ => {}
            }
        }
        assert!(read.iter().all(|read| *read));
    }
}
