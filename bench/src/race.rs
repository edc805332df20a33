//! Races: contenders visit one page in turns and take snapshots in three cases: first after navigation, after
//! a change, and unchanged.

use crate::contender::{Contender, Form};
use crate::stats::{self, Summary};
use crate::turns::{self, Rounds, TakeTurn};
use crate::{Error, Result};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Changes during a visit, with a snapshot after each.
const CHANGES: usize = 2;
/// Snapshots of the unchanged page at the end of a visit.
const REPEATS: usize = 2;

/// Time after which a contender visits the page no more; its samples so far count.
const MAX_PAGE_TIME: Duration = Duration::from_secs(60);

/// Minimum time of a race on a page, up to a maximum multiple of the requested rounds. A snapshot of a few
/// milliseconds takes twice as long when it coincides with the browser's drawing, as one of three does by
/// command: the median of a few is one or the other by chance.
const MIN_RACE_TIME: Duration = Duration::from_secs(60);
const MAX_EXTRA: usize = 5;

/// Duration of a visit after which each operation is done only once.
const SLOW_VISIT: Duration = Duration::from_secs(10);

/// A page that is idle while others have their turn.
const IDLE_PAGE: &str = "about:blank";

/// Script that resolves after the next frame is drawn.
const AWAIT_FRAME: &str =
    "new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))";

/// Script that changes a page: a function of a number.
const CHANGE: &str = include_str!("../mutate.js");

/// Measured cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// The first snapshot after navigation.
    First,
    /// Navigation plus first snapshot.
    Arrival,
    /// The first snapshot after the text of one element changed.
    Changed,
    /// A further snapshot.
    Unchanged,
}

/// A page to visit.
#[derive(Clone, Copy, Debug)]
pub struct BenchPage<'a> {
    /// Its URL.
    pub url: &'a str,
    /// Drawing it takes the browser seconds, which would fall into navigation or into the first snapshot by
    /// chance: the race waits for it in between.
    pub is_vast: bool,
}

/// A contender in a race: started on first use, and restarted after a failure.
pub struct Racer {
    /// Its form.
    pub form: Form,
    start: Box<dyn Fn() -> Result<Box<dyn Contender>>>,
    running: Option<Box<dyn Contender>>,
}

impl Racer {
    /// Creates a racer; nothing is started yet.
    pub fn new<C: Contender + 'static>(
        form: Form,
        start: impl Fn() -> Result<C> + 'static,
    ) -> Self {
        let start = move || -> Result<Box<dyn Contender>> { Ok(Box::new(start()?)) };
        Self { form, start: Box::new(start), running: None }
    }

    /// Visits a page once.
    ///
    /// # Errors
    /// When any step fails. The contender is stopped.
    pub fn visit(&mut self, page: BenchPage<'_>, numbers: &Numbers) -> Result<Visit> {
        self.with(|contender| visit(contender, page, numbers))
    }

    /// Returns the text of its first snapshot in a new instance, because some tools number refs on from page
    /// to page, and long numbers cost more tokens.
    ///
    /// # Errors
    /// As for [`Self::visit`].
    pub fn text(&mut self, url: &str) -> Result<String> {
        self.running = None;
        self.with(|contender| {
            contender.open(url)?;
            let taken = contender.snapshot()?;
            leave(contender)?;
            Ok(taken.text)
        })
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut dyn Contender) -> Result<T>) -> Result<T> {
        let mut contender = match self.running.take() {
            Some(contender) => contender,
            None => (self.start)()?,
        };
        let result = act(&mut *contender)?;
        // A failed contender may be in any state, and is dropped.
        self.running = Some(contender);
        Ok(result)
    }
}

/// Numbers of changes, each used once in a run.
#[derive(Debug, Default)]
pub struct Numbers(Cell<u32>);

impl Numbers {
    /// The script of the next change, and the text that is on the page after it.
    pub fn next_change(&self) -> (String, String) {
        let number = self.0.get() + 1;
        self.0.set(number);
        (format!("({CHANGE})({number})"), format!("Heading no. {number} changed"))
    }
}

/// Samples of a visit, in milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Visit {
    first: f64,
    arrival: f64,
    changed: Vec<f64>,
    unchanged: Vec<f64>,
    /// Changes missing from the snapshot after them.
    unseen: usize,
}

fn visit(contender: &mut dyn Contender, page: BenchPage<'_>, numbers: &Numbers) -> Result<Visit> {
    let navigated_at = Instant::now();
    contender.open(page.url)?;
    if page.is_vast {
        contender.script(AWAIT_FRAME)?;
    }
    let began = Instant::now();
    let is_over =
        |done: usize, wanted| done >= if began.elapsed() > SLOW_VISIT { 1 } else { wanted };
    let first = contender.snapshot()?.ms;
    let arrival = navigated_at.elapsed().as_secs_f64() * 1000.0;
    let mut visit = Visit { first, arrival, ..Visit::default() };
    while !is_over(visit.changed.len(), CHANGES) {
        let (script, text) = numbers.next_change();
        contender.script(&script)?;
        let taken = contender.snapshot()?;
        visit.changed.push(taken.ms);
        visit.unseen += usize::from(!taken.text.contains(&text));
    }
    while !is_over(visit.unchanged.len(), REPEATS) {
        visit.unchanged.push(contender.snapshot()?.ms);
    }
    leave(contender)?;
    Ok(visit)
}

/// Leaves a page and waits until it is gone: tearing down a large one takes a while, and would slow the next
/// contender.
fn leave(contender: &mut dyn Contender) -> Result<()> {
    contender.open(IDLE_PAGE)?;
    contender.script("1")
}

/// Samples of a contender on a page.
#[derive(Clone, Debug)]
pub struct Times {
    first: Summary,
    arrival: Summary,
    changed: Summary,
    unchanged: Summary,
    /// Changes missing from the snapshot after them.
    pub unseen: usize,
}

impl Times {
    /// Median of a case, in milliseconds.
    pub fn median(&self, case: Case) -> f64 {
        match case {
            Case::First => self.first.median,
            Case::Arrival => self.arrival.median,
            Case::Changed => self.changed.median,
            Case::Unchanged => self.unchanged.median,
        }
    }

    fn of(visits: &[Visit]) -> Option<Self> {
        let all = |pick: fn(&Visit) -> &[f64]| {
            let samples: Vec<f64> = visits.iter().flat_map(pick).copied().collect();
            stats::summarize(&samples)
        };
        Some(Self {
            first: all(|visit| std::slice::from_ref(&visit.first))?,
            arrival: all(|visit| std::slice::from_ref(&visit.arrival))?,
            changed: all(|visit| &visit.changed)?,
            unchanged: all(|visit| &visit.unchanged)?,
            unseen: visits.iter().map(|visit| visit.unseen).sum(),
        })
    }
}

/// Runs a race: all visit a page in turns, more often where they are quick. A contender that fails sits out
/// and has no times.
///
/// # Errors
/// None at present: failures are reported with their contender.
pub fn race<'a>(
    racers: impl Iterator<Item = &'a mut Racer>,
    page: BenchPage<'_>,
    rounds: usize,
    numbers: &Numbers,
) -> Result<Vec<(Form, Result<Times>)>> {
    let mut forms = Vec::new();
    let mut goes: Vec<TakeTurn<'_, Option<Result<Visit>>>> = Vec::new();
    for racer in racers {
        forms.push(racer.form);
        let mut is_out = false;
        let mut spent = Duration::ZERO;
        goes.push(Box::new(move || {
            if is_out || spent > MAX_PAGE_TIME {
                return Ok(None);
            }
            let began = Instant::now();
            let visit = racer.visit(page, numbers);
            spent += began.elapsed();
            is_out = visit.is_err();
            Ok(Some(visit))
        }));
    }
    let mut take = |counted| turns::take_turns(Rounds { warm_up: 0, counted }, &mut goes, |_| {});
    let began = Instant::now();
    let mut visits = take(rounds)?;
    let mut remaining = rounds * (MAX_EXTRA - 1);
    while remaining > 0 && began.elapsed() < MIN_RACE_TIME {
        remaining -= 1;
        visits.iter_mut().zip(take(1)?).for_each(|(visits, more)| visits.extend(more));
    }
    let times = visits.into_iter().map(|visits| {
        let visits = visits.into_iter().flatten().collect::<Result<Vec<Visit>>>()?;
        Times::of(&visits).ok_or_else(|| Error::Failed("it was never visited".into()))
    });
    Ok(forms.into_iter().zip(times).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::Taken;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Contender that sees every change, or none, and fails at a certain snapshot.
    struct Fake {
        log: Rc<RefCell<Vec<String>>>,
        text: String,
        sees: bool,
        left: usize,
    }

    impl Contender for Fake {
        fn open(&mut self, url: &str) -> Result<()> {
            self.log.borrow_mut().push(format!("open {url}"));
            Ok(())
        }

        fn script(&mut self, script: &str) -> Result<()> {
            let number = script.rsplit_once('(').map(|(_, number)| number.trim_end_matches(')'));
            self.log.borrow_mut().push(number.map_or("script", |_| "change").into());
            if let Some(number) = number.filter(|_| self.sees) {
                self.text = format!("Heading no. {number} changed");
            }
            Ok(())
        }

        fn snapshot(&mut self) -> Result<Taken> {
            self.log.borrow_mut().push("snapshot".into());
            self.left = self.left.checked_sub(1).ok_or_else(|| Error::Failed("tired".into()))?;
            Ok(Taken { ms: 1.0, text: self.text.clone() })
        }
    }

    fn racer(form: Form, log: &Rc<RefCell<Vec<String>>>, sees: bool, left: usize) -> Racer {
        let log = Rc::clone(log);
        Racer::new(form, move || Ok(Fake { log: Rc::clone(&log), text: String::new(), sees, left }))
    }

    #[test]
    fn visit_measures_all_three_cases() {
        let log = Rc::default();
        let page = BenchPage { url: "u", is_vast: false };
        let visit = racer(Form::Library, &log, true, 9).visit(page, &Numbers::default()).unwrap();
        let (snapshot, change) = ("snapshot", "change");
        assert_eq!(
            *log.borrow(),
            [
                "open u",
                snapshot,
                change,
                snapshot,
                change,
                snapshot,
                snapshot,
                snapshot,
                "open about:blank",
                "script"
            ]
        );
        assert_eq!((visit.changed.len(), visit.unchanged.len(), visit.unseen), (2, 2, 0));
    }

    #[test]
    fn failed_contender_is_reported_and_others_continue() {
        let log = Rc::default();
        let mut racers = [
            racer(Form::Library, &log, true, 99),
            racer(Form::Puppeteer, &log, true, 7),
            racer(Form::DevToolsMcp, &log, false, 99),
        ];
        let page = BenchPage { url: "u", is_vast: false };
        let results = race(racers.iter_mut(), page, 3, &Numbers::default()).unwrap();
        assert_eq!(results[0].1.as_ref().unwrap().unseen, 0);
        assert_eq!(results[1].1.as_ref().unwrap_err().to_string(), "tired");
        // Two changes in each of three rounds, and in the maximum of additional rounds.
        assert_eq!(results[2].1.as_ref().unwrap().unseen, 2 * 3 * MAX_EXTRA);
        assert_eq!(results[2].1.as_ref().unwrap().median(Case::Changed), 1.0);
    }
}
