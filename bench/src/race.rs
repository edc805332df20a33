//! Contenders on one page, in turns. Each visits it several times and takes snapshots in three cases: the first
//! after going there, one after something has changed, one when nothing has.

use crate::contender::{Contender, Form};
use crate::stats::{self, Summary};
use crate::turns::{self, Go, Rounds};
use crate::{Error, Result};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Changes made during a visit, with a snapshot after each.
const CHANGES: usize = 2;
/// Snapshots at the end of a visit, when nothing has changed any more.
const REPEATS: usize = 2;

/// Who has spent so much time on a page visits it no more: what it did until then counts.
const ENOUGH: Duration = Duration::from_secs(60);

/// All have turns on a page for at least so long, if that is no more than so many times the rounds that were asked for. A
/// snapshot of a few milliseconds takes twice as long when it falls together with the browser's drawing, as one of three does
/// by command: the median of a few is the one or the other by chance.
const LEAST: Duration = Duration::from_secs(60);
const MOST_TIMES: usize = 5;

/// Who has spent so much time on a visit does each thing only once.
const SLOW: Duration = Duration::from_secs(10);

/// A page that is not there to do anything while others have their turn.
const NOTHING: &str = "about:blank";

/// Answers when what was there to draw is drawn.
const DRAWN: &str = "new Promise((tell) => requestAnimationFrame(() => setTimeout(tell)))";

/// Changes a page: a function that takes a number.
const CHANGE: &str = include_str!("../mutate.js");

/// The cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// The first snapshot after going to the page.
    First,
    /// Going to the page and the first snapshot of it, together.
    Arrival,
    /// The first after the text of one element was changed.
    Changed,
    /// Another one.
    Unchanged,
}

/// Where to go.
#[derive(Clone, Copy, Debug)]
pub struct BenchPage<'a> {
    /// Its address.
    pub url: &'a str,
    /// It takes the browser seconds to draw, which would fall into going there or into the first snapshot by chance: they
    /// are waited for in between.
    pub is_vast: bool,
}

/// A contender that takes part: started when it is first needed, and anew when it has failed.
pub struct Racer {
    /// Which way of taking snapshots it stands for.
    pub form: Form,
    start: Box<dyn Fn() -> Result<Box<dyn Contender>>>,
    running: Option<Box<dyn Contender>>,
}

impl Racer {
    /// A racer. Nothing is started yet.
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
    /// When anything on the way does not work. What it was doing is ended.
    pub fn visit(&mut self, place: BenchPage<'_>, numbers: &Numbers) -> Result<Visit> {
        self.with(|contender| visit(contender, place, numbers))
    }

    /// The text of the very first snapshot that it takes: it is started anew for this, because some number
    /// their refs on from one page to the next, and long numbers are more tokens.
    ///
    /// # Errors
    /// As for a visit.
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
        let done = act(&mut *contender)?;
        // One that failed may be in any state, and is not kept.
        self.running = Some(contender);
        Ok(done)
    }
}

/// Numbers of changes, each used once in a run.
#[derive(Debug, Default)]
pub struct Numbers(Cell<u32>);

impl Numbers {
    /// The script that makes the next change, and the text that is on the page thereafter.
    pub fn next_change(&self) -> (String, String) {
        let number = self.0.get() + 1;
        self.0.set(number);
        (format!("({CHANGE})({number})"), format!("Heading no. {number} changed"))
    }
}

/// What a visit took, in milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Visit {
    first: f64,
    arrival: f64,
    changed: Vec<f64>,
    unchanged: Vec<f64>,
    /// Changes that the snapshot after them did not show.
    unseen: usize,
}

fn visit(contender: &mut dyn Contender, place: BenchPage<'_>, numbers: &Numbers) -> Result<Visit> {
    let set_out = Instant::now();
    contender.open(place.url)?;
    if place.is_vast {
        contender.script(DRAWN)?;
    }
    let began = Instant::now();
    let is_over = |done: usize, wanted| done >= if began.elapsed() > SLOW { 1 } else { wanted };
    let first = contender.snapshot()?.ms;
    let arrival = set_out.elapsed().as_secs_f64() * 1000.0;
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

/// Leaves a page and waits until it is gone: taking down a large one takes a while, and would be at the expense
/// of who comes next.
fn leave(contender: &mut dyn Contender) -> Result<()> {
    contender.open(NOTHING)?;
    contender.script("1")
}

/// What a contender's visits to a page came to.
#[derive(Clone, Debug)]
pub struct Times {
    first: Summary,
    arrival: Summary,
    changed: Summary,
    unchanged: Summary,
    /// Changes that the snapshot after them did not show.
    pub unseen: usize,
}

impl Times {
    /// The median of a case, in milliseconds.
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

/// Lets all visit a page in turns, more often where they are quick. Who fails sits out from then on, and is told without a
/// time.
///
/// # Errors
/// None at present: failures are told with whom they belong to.
pub fn race<'a>(
    racers: impl Iterator<Item = &'a mut Racer>,
    place: BenchPage<'_>,
    rounds: usize,
    numbers: &Numbers,
) -> Result<Vec<(Form, Result<Times>)>> {
    let mut forms = Vec::new();
    let mut goes: Vec<Go<'_, Option<Result<Visit>>>> = Vec::new();
    for racer in racers {
        forms.push(racer.form);
        let mut is_out = false;
        let mut spent = Duration::ZERO;
        goes.push(Box::new(move || {
            if is_out || spent > ENOUGH {
                return Ok(None);
            }
            let began = Instant::now();
            let visit = racer.visit(place, numbers);
            spent += began.elapsed();
            is_out = visit.is_err();
            Ok(Some(visit))
        }));
    }
    let mut take = |counted| turns::take_turns(Rounds { warm_up: 0, counted }, &mut goes, |_| {});
    let began = Instant::now();
    let mut visits = take(rounds)?;
    let mut left = rounds * (MOST_TIMES - 1);
    while left > 0 && began.elapsed() < LEAST {
        left -= 1;
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

    /// Sees every change, or none, and fails at a certain snapshot.
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
    fn a_visit_goes_through_all_three_cases() {
        let log = Rc::default();
        let place = BenchPage { url: "u", is_vast: false };
        let visit = racer(Form::Library, &log, true, 9).visit(place, &Numbers::default()).unwrap();
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
    fn who_fails_is_told_and_the_others_go_on() {
        let log = Rc::default();
        let mut racers = [
            racer(Form::Library, &log, true, 99),
            racer(Form::Puppeteer, &log, true, 7),
            racer(Form::DevToolsMcp, &log, false, 99),
        ];
        let place = BenchPage { url: "u", is_vast: false };
        let told = race(racers.iter_mut(), place, 3, &Numbers::default()).unwrap();
        assert_eq!(told[0].1.as_ref().unwrap().unseen, 0);
        assert_eq!(told[1].1.as_ref().unwrap_err().to_string(), "tired");
        // Two changes in each of three rounds, and of as many more as there are at most.
        assert_eq!(told[2].1.as_ref().unwrap().unseen, 2 * 3 * MOST_TIMES);
        assert_eq!(told[2].1.as_ref().unwrap().median(Case::Changed), 1.0);
    }
}
