//! A ref never acts on another item: generated layouts of repeated items, changed in every way a list changes.
//!
//! A layout is a container, a position of the identity in the item, a kind of identity and a control; the page
//! (`layouts.html`) knows the item of each control. Seeded: `AGBROWSE_SEED` repeats a run. The long version runs
//! under `./dev soak`.

use crate::harness::{TestContext, browser_test, seed};
use crate::ref_torture::{Opener, Random};
use agbrowse_browser::command::{Get, Property, Snapshot};
use agbrowse_browser::{Code, Command, Error, Reply};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

#[test]
fn torture_a_ref_never_acts_on_another_item() {
    browser_test(async |t| {
        if let Ok(named) = std::env::var("AGBROWSE_LAYOUTS") {
            let score = run(&t, Round::named(&named).into_iter()).await;
            assert!(score.is_right(), "{score}");
            return;
        }
        let is_long = std::env::var_os("AGBROWSE_SOAK").is_some();
        let is_chosen = std::env::var_os("AGBROWSE_SEED").is_some();
        // The short version runs fixed layouts; the long one runs random ones.
        let seed = if is_long || is_chosen { seed() } else { 7 };
        let rounds: u32 = if is_long { 10_000 } else { 500 };
        let mut random = Random::new(seed);
        let score = run(&t, (0..rounds).map(|_| Round::random(&mut random))).await;
        eprintln!("{score}");
        let hint = format!("repeat with AGBROWSE_SEED={seed}");
        assert!(score.is_right(), "{hint}");
        let sum = score.sum();
        assert!(score.layouts.len() >= 300, "{} layouts", score.layouts.len());
        assert!(sum.unchanged * 5 > rounds && sum.changed * 5 > rounds, "too few cases: {score}");
    });
}

const CHANGES: [&str; 18] = [
    "none",
    "swap",
    "deleteFirst",
    "deleteFirstKeyed",
    "insert",
    "insertKeyed",
    "sort",
    "sortKeyed",
    "filter",
    "filterKeyed",
    "recycle",
    "scroll",
    "rename",
    "rerender",
    "rerenderAll",
    "rerenderLess",
    "rerenderSwapped",
    "state",
];

/// The meaning of a control: the item, its identity in words, and which control of the item it is.
type Truth = (u32, String, String);

/// One round: the layout, the ref to use, the change of the list, and the seed of the change.
struct Round {
    plan: usize,
    chosen: usize,
    change: &'static str,
    turn: usize,
}

impl Round {
    fn random(random: &mut Random) -> Self {
        let plan = random.below(1 << 30);
        let chosen = random.below(MOST_REFS);
        let change = CHANGES[random.below(CHANGES.len())];
        Self { plan, chosen, change, turn: random.below(1 << 30) }
    }

    /// Parses the rounds of `AGBROWSE_LAYOUTS`, to repeat single ones: `plan/chosen/change/turn …`.
    fn named(text: &str) -> Vec<Self> {
        let named = |text: &str| {
            let parts: Vec<&str> = text.split('/').collect();
            let number = |at: usize| parts[at].parse().unwrap();
            let change = CHANGES.iter().find(|it| **it == parts[2]).unwrap();
            Self { plan: number(0), chosen: number(1), change, turn: number(3) }
        };
        text.split_whitespace().map(named).collect()
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.plan, self.chosen, self.change, self.turn)
    }
}

const MOST_REFS: usize = 60;

async fn run(t: &TestContext, rounds: impl Iterator<Item = Round>) -> Results {
    t.page("/page", include_str!("layouts.html")).page("/other", "other");
    let opener = Opener::open(t, "/page").await;
    let mut score = Results::default();
    for round in rounds {
        let Round { plan, chosen, change, turn } = round;
        let layout: String = opener.eval_other_tab(&format!("opener.build({plan})")).await;
        let snapshot = Snapshot { all_refs: true, ..Snapshot::default() };
        let text = opener.run(Command::Snapshot(snapshot)).await.unwrap().reply.to_string();
        let Some((name, key)) = chosen_target(&opener, &text, chosen).await else { continue };
        let was: Option<Truth> = opener.eval_other_tab(&format!("opener.truth('{key}')")).await;
        let was = was.unwrap_or_else(|| panic!("{key} was not there"));
        let _: bool = opener.eval_other_tab(&format!("opener.change('{change}', {turn})")).await;
        let now: Option<Truth> = opener.eval_other_tab(&format!("opener.truth('{key}')")).await;
        let heir = format!(
            "opener.heir({}, {}, {})",
            was.0,
            serde_json::to_string(&was.1).unwrap(),
            serde_json::to_string(&was.2).unwrap()
        );
        let heir: Option<String> = opener.eval_other_tab(&heir).await;
        let (used, has_note) = key_of(&opener, &name).await;
        // Its own element if that still has the same meaning; otherwise its replacement.
        let is_unchanged = now.as_ref() == Some(&was);
        let right = if is_unchanged { Some(&key) } else { heir.as_ref().filter(|_| now.is_none()) };
        let is_renamed = now.as_ref().is_some_and(|now| now.0 == was.0 && now.1 != was.1);
        let line = text.lines().find(|line| line.contains(&format!("[ref={name}")));
        let story = format!(
            "AGBROWSE_LAYOUTS={round}, {layout}: {name} {:?}\n  was {was:?}\n  now {now:?}\n  heir {heir:?}\n  got {:?}, {has_note}\n{text}",
            line.unwrap_or_default().trim(),
            used.as_ref().map_err(Error::code),
        );
        score.layouts.insert(layout);
        let tally = score.changes.entry(change).or_default();
        tally.unchanged += u32::from(right.is_some());
        tally.changed += u32::from(right.is_none());
        match used {
            Ok(found) if found.as_ref() == right && right.is_some() => {}
            Ok(found) if is_renamed && found.as_ref() == Some(&key) => {
                if !has_note {
                    score.silent.push(story);
                }
            }
            Ok(_) => score.wrong.push(story),
            Err(error) if error.code() == Code::SnapshotRefStale => {
                if right.is_some() {
                    tally.missed += 1;
                    let later = opener.run(Command::Snapshot(Snapshot::default())).await.unwrap();
                    score.missed.push(format!("{story}\n{error}\n{}", later.reply));
                }
            }
            Err(error) => panic!("{error}: {story}"),
        }
    }
    score
}

/// A ref whose element has a key in the page, with that key: the first one from `chosen` on.
async fn chosen_target(opener: &Opener<'_>, text: &str, chosen: usize) -> Option<(String, String)> {
    let refs = refs_in(text);
    for at in 0..refs.len() {
        let name = &refs[(chosen + at) % refs.len()];
        if let (Ok(Some(key)), _) = key_of(opener, name).await {
            return Some((name.clone(), key));
        }
    }
    None
}

fn refs_in(text: &str) -> Vec<String> {
    let refs = text.split("[ref=").skip(1);
    refs.map(|rest| rest[..rest.find([']', ' ', ',']).unwrap()].to_owned()).collect()
}

/// The key of the element of a ref, and whether its use has a note.
async fn key_of(opener: &Opener<'_>, name: &str) -> (Result<Option<String>, Error>, bool) {
    let target = name.parse().unwrap();
    let get = Get { what: Property::Attr, target, name: Some("data-k".into()), nth: None };
    match opener.run(Command::Get(get)).await {
        Ok(outcome) => {
            let Reply::Get(got) = outcome.reply else { panic!("{:?}", outcome.reply) };
            (Ok(got.value), !outcome.notes.is_empty())
        }
        Err(error) => (Err(error), false),
    }
}

/// Results of a run.
#[derive(Default)]
struct Results {
    layouts: BTreeSet<String>,
    changes: BTreeMap<&'static str, Tally>,
    /// Actions that reached another item.
    wrong: Vec<String>,
    /// Actions on a renamed item without a note.
    silent: Vec<String>,
    /// Refusals of unchanged items.
    missed: Vec<String>,
}

/// Counts of one kind of change.
#[derive(Clone, Copy, Default)]
struct Tally {
    unchanged: u32,
    changed: u32,
    missed: u32,
}

impl Results {
    fn is_right(&self) -> bool {
        let is_safe = self.wrong.is_empty() && self.silent.is_empty();
        is_safe && self.missed.len() as u32 * 100 <= self.sum().unchanged
    }

    fn sum(&self) -> Tally {
        self.changes.values().fold(Tally::default(), |sum, it| Tally {
            unchanged: sum.unchanged + it.unchanged,
            changed: sum.changed + it.changed,
            missed: sum.missed + it.missed,
        })
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, tally: &Tally| {
            let Tally { unchanged, changed, missed } = tally;
            writeln!(
                f,
                "{name:>16}: unchanged {unchanged:4}, other {changed:4}, refused needlessly {missed:3}"
            )
        };
        self.changes.iter().try_for_each(|(name, tally)| row(name, tally))?;
        row("all", &self.sum())?;
        let stories = [
            ("on another item", &self.wrong),
            ("renamed without a note", &self.silent),
            ("refused needlessly", &self.missed),
        ];
        for (what, stories) in stories {
            stories.iter().take(40).try_for_each(|story| writeln!(f, "{what}: {story}"))?;
        }
        write!(
            f,
            "layouts: {}, on another item: {}, renamed without a note: {}",
            self.layouts.len(),
            self.wrong.len(),
            self.silent.len()
        )
    }
}
