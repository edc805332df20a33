//! Refs never reach the wrong element: a page changes between snapshot and action in every known way,
//! and knows the meaning of each of its controls.
//!
//! The long version runs under `./dev soak`, a tenth of it in every test run. Seeded; the seed is printed,
//! and `AGBROWSE_SEED` repeats a run. The page is changed from another tab, so that no command on its own tab
//! invalidates the cache.

use crate::harness::{TestContext, browser_test, eval, seed};
use agbrowse_browser::command::{Find, Get, Property, Snapshot};
use agbrowse_browser::{Code, Command, Error, Evidence, Outcome, Reply, TabId};
use std::collections::BTreeMap;
use std::time::Duration;

const PAGE: &str = include_str!("meaning.html");

#[test]
fn torture_ref_keeps_its_meaning_or_is_refused() {
    browser_test(async |t| {
        let seed = seed();
        let rounds = if std::env::var_os("AGBROWSE_SOAK").is_some() { 2000 } else { 100 };
        let mut random = Random::new(seed);
        let mut score = Results::default();
        let page = Page::open(&t, &mut random).await;
        let mut round = 0;
        while score.sum().unchanged + score.sum().changed < rounds {
            let kind = &page.kinds[random.below(page.kinds.len())];
            page.round(round, kind, &mut random, &mut score).await;
            round += 1;
        }
        eprintln!("{score}");
        for story in score.missed.iter().take(20) {
            eprintln!("refused needlessly: {story}");
        }
        let hint = format!("repeat with AGBROWSE_SEED={seed}");
        assert!(score.wrong.is_empty(), "wrong, {hint}:\n{}", score.wrong.join("\n"));
        assert!(score.mute.is_empty(), "no reason, {hint}:\n{}", score.mute.join("\n"));
        let all = score.sum();
        assert!(all.missed * 100 <= all.unchanged, "refused, {hint}:\n{}", score.missed.join("\n"));
        assert!(all.unchanged > rounds / 4 && all.changed > rounds / 10, "too few cases: {score}");
    });
}

/// A tab under test, and another one that changes its page without a command on the tab under test.
pub(crate) struct Opener<'a> {
    bench: &'a TestContext,
    tab: TabId,
    other: TabId,
}

impl<'a> Opener<'a> {
    /// Opens a page, and `/other` from it.
    pub(crate) async fn open(bench: &'a TestContext, path: &str) -> Self {
        bench.open(path).await;
        bench.eval("window.open('other'); 1").await;
        let tabs = bench.tabs_until(|tabs| tabs.len() == 2 && tabs[1].url.contains("other")).await;
        Self { bench, tab: tabs[0].id, other: tabs[1].id }
    }

    /// Runs a command on the tab under test.
    pub(crate) async fn run(&self, command: Command) -> Result<Outcome, Error> {
        self.bench.run_on(self.tab, command).await
    }

    /// Evaluates a script in the other tab, where the page is `opener`.
    pub(crate) async fn eval_other_tab<T: serde::de::DeserializeOwned>(&self, script: &str) -> T {
        let outcome = self.bench.run_on(self.other, eval(script)).await;
        let outcome = outcome.unwrap_or_else(|error| panic!("{script}: {error}"));
        let Reply::Eval(result) = outcome.reply else { panic!("{script}") };
        let text = result.value.as_ref().map_or("null", |value| value.0.get());
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{script}: {text}: {error}"))
    }
}

/// The page, and the tab that it is changed from.
struct Page<'a> {
    opener: Opener<'a>,
    kinds: Vec<String>,
}

impl<'a> Page<'a> {
    async fn open(bench: &'a TestContext, random: &mut Random) -> Self {
        bench.page("/page", PAGE).page("/frame", "<!doctype html><body>").page("/other", "other");
        let path = format!("/page?seed={}", random.below(1_000_000));
        let mut page = Self { opener: Opener::open(bench, &path).await, kinds: Vec::new() };
        page.settled().await;
        page.kinds = page.eval_other_tab("Object.keys(opener.eval('kinds'))").await;
        page
    }

    /// Snapshot, change, action. Counts nothing where the meaning is unknown or the target was issued again.
    async fn round(&self, round: u32, kind: &str, random: &mut Random, score: &mut Results) {
        let tend = format!("opener.tend({})", random.below(1 << 30));
        let () = self.eval_other_tab(&tend).await;
        let (text, refs) = self.take_snapshot(random).await;
        let name = &refs[random.below(refs.len())];
        let Ok(Some(key)) = self.key(name).await else { return };
        let was: Option<String> = self.current_meaning(&key).await;
        let was = was.unwrap_or_else(|| panic!("{name} in round {round} was not there:\n{text}"));
        let seed = random.below(1 << 30);
        let change = format!("opener.change('{kind}', {seed}, '{key}')");
        let (done, is_leaving): (String, bool) = self.eval_other_tab(&change).await;
        if is_leaving {
            self.settled().await;
        }
        let glance = match random.below(3) {
            0 => self.take_interim_snapshot(name, random).await,
            _ => InterimSnapshot::None,
        };
        if glance == InterimSnapshot::Shown {
            return;
        }
        let used = self.key(name).await;
        let now: Option<String> = self.current_meaning(&key).await;
        // A replacement has the meaning of the removed element.
        let expected_meaning: Option<String> = match &used {
            Ok(Some(found)) => self.current_meaning(found).await,
            _ => None,
        };
        let line = text.lines().find(|line| line.contains(&format!("[ref={name}")));
        let story = format!(
            "round {round}, {done}, glance {glance:?}: {name} {:?}\n  was {was}\n  now {}\n  got {used:?}",
            line.unwrap_or_default().trim(),
            now.as_deref().unwrap_or("gone"),
        );
        let tally = score.kinds.entry(kind.to_owned()).or_default();
        let is_unchanged = now.as_deref() == Some(&was);
        tally.unchanged += u32::from(is_unchanged);
        tally.changed += u32::from(!is_unchanged);
        match used {
            Ok(found) if is_unchanged && found.as_deref() == Some(&key) => {}
            Ok(_) if now.is_none() && expected_meaning.as_deref() == Some(&was) => {}
            Ok(_) => score.wrong.push(story),
            Err(error) => {
                if !explains_change(&error) {
                    score.mute.push(story.clone());
                }
                if is_unchanged {
                    tally.missed += 1;
                    score.missed.push(story);
                }
            }
        }
    }

    /// Takes a snapshot; returns its text and refs.
    async fn take_snapshot(&self, random: &mut Random) -> (String, Vec<String>) {
        let snapshot = Snapshot { details: random.below(4) == 0, ..Snapshot::default() };
        let text = self.run(Command::Snapshot(snapshot)).await.unwrap().to_string();
        let refs = text.split("[ref=").skip(1);
        let refs =
            refs.map(|rest| rest[..rest.find([']', ' ', ',']).unwrap()].to_owned()).collect();
        (text, refs)
    }

    /// Takes a snapshot of a part of the page.
    async fn take_interim_snapshot(&self, name: &str, random: &mut Random) -> InterimSnapshot {
        let (interim, command) = match random.below(2) {
            0 => (
                InterimSnapshot::Find,
                Command::Find(Find { role: Some("heading".into()), ..Find::default() }),
            ),
            _ => {
                let root_selector = Some("[role=toolbar]".into());
                (
                    InterimSnapshot::Part,
                    Command::Snapshot(Snapshot { root_selector, ..Snapshot::default() }),
                )
            }
        };
        match self.run(command).await {
            // States follow the ref.
            Ok(current)
                if [']', ' ']
                    .iter()
                    .any(|end| current.to_string().contains(&format!("[ref={name}{end}"))) =>
            {
                InterimSnapshot::Shown
            }
            _ => interim,
        }
    }

    /// The key of the element of a ref.
    async fn key(&self, name: &str) -> Result<Option<String>, Error> {
        let target = name.parse().unwrap();
        let get = Get { what: Property::Attr, target, name: Some("data-k".into()), nth: None };
        match self.run(Command::Get(get)).await? {
            Reply::Get(got) => Ok(got.value),
            other => panic!("{other:?}"),
        }
    }

    /// The current meaning of a control, from the page.
    async fn current_meaning(&self, key: &str) -> Option<String> {
        self.eval_other_tab(&format!("opener.truth('{key}')")).await
    }

    async fn settled(&self) {
        while !self.eval_other_tab::<bool>("Boolean(opener.isSettled?.())").await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn run(&self, command: Command) -> Result<Reply, Error> {
        self.opener.run(command).await.map(|outcome| outcome.reply)
    }

    async fn eval_other_tab<T: serde::de::DeserializeOwned>(&self, script: &str) -> T {
        self.opener.eval_other_tab(script).await
    }
}

/// Snapshot between the change and the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InterimSnapshot {
    None,
    /// A search for headings.
    Find,
    /// Of another subtree, the toolbar.
    Part,
    /// Of the target itself: the ref has the latest meaning.
    Shown,
}

/// Whether a refusal names the change.
fn explains_change(error: &Error) -> bool {
    let evidence = error.details().evidence.clone().unwrap_or_default();
    let text = |key: &str| match evidence.get(key) {
        Some(Evidence::Text(text)) => Some(text.clone()),
        _ => None,
    };
    error.code() == Code::SnapshotRefStale
        && match (text("was"), text("now")) {
            (Some(was), Some(now)) => was != now,
            (Some(_), None) => error.details().message.contains("no longer exists"),
            _ => false,
        }
}

/// Counts of all rounds.
#[derive(Default)]
struct Results {
    kinds: BTreeMap<String, Tally>,
    wrong: Vec<String>,
    missed: Vec<String>,
    /// Refusals without evidence.
    mute: Vec<String>,
}

/// Counts of one kind of change.
#[derive(Clone, Copy, Default)]
struct Tally {
    /// Targets that kept their meaning.
    unchanged: u32,
    /// Targets that changed their meaning or were removed.
    changed: u32,
    /// Targets that kept their meaning and were refused.
    missed: u32,
}

impl Results {
    fn sum(&self) -> Tally {
        self.kinds.values().fold(Tally::default(), |sum, it| Tally {
            unchanged: sum.unchanged + it.unchanged,
            changed: sum.changed + it.changed,
            missed: sum.missed + it.missed,
        })
    }
}

impl std::fmt::Display for Results {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut row = |name: &str, tally: &Tally| {
            let Tally { unchanged, changed, missed } = tally;
            writeln!(
                f,
                "{name:>10}: unchanged {unchanged:4}, changed {changed:4}, refused needlessly {missed:2}"
            )
        };
        self.kinds.iter().try_for_each(|(name, tally)| row(name, tally))?;
        row("all", &self.sum())?;
        write!(f, "     wrong: {}, without a reason: {}", self.wrong.len(), self.mute.len())
    }
}

/// Small, seeded, good enough to choose what to do next.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }
}
