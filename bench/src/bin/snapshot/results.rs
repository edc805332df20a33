//! What the numbers come to: ratios, requirements, tables, the picture.

use agbrowse_bench::contender::{Form, Party};
use agbrowse_bench::plot::{self, Dots, Row, Series};
use agbrowse_bench::process::Memory;
use agbrowse_bench::race::{Case, Times};
use agbrowse_bench::report::{Requirement, Table};
use agbrowse_bench::stats;
use agbrowse_bench::tokens::{self, Refs};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// After a change: how much of the fastest other tool's time we may take, on the median page and on lists.
const CHANGED_RATIO: f64 = 0.2;
/// The same on any page.
const CHANGED_RATIO_ANY: f64 = 0.33;
/// The first snapshot after going to a page: how much of the fastest other tool's time we may take.
const FIRST_RATIO: f64 = 0.33;
/// How much longer than the bare walk we may take.
const WALK_RATIO: f64 = 2.5;
/// What the daemon may gain in memory between a tenth of the snapshots and all of them, in MB. The resident set
/// is counted in pages that come and go: this is what stands for none.
const GROWTH_MB: f64 = 1.0;
/// How much of Playwright's tokens our text may be, on the median page.
const TOKEN_RATIO: f64 = 0.5;
/// The most tokens that a changed heading may be.
const DELTA_TOKENS: f64 = 59.0;

/// Lists for everybody, and the one for us and the bare walk alone.
pub(super) const LISTS: [usize; 2] = [1_000, 10_000];
pub(super) const LONG_LIST: usize = 50_000;

/// A page that is served.
#[derive(Clone)]
pub(super) struct BenchPage {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) kind: PageKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PageKind {
    Saved,
    List(usize),
}

/// What came of a page.
pub(super) struct PageResult {
    pub(super) page: BenchPage,
    pub(super) elements: Option<usize>,
    pub(super) times: Vec<(Form, Times)>,
    pub(super) failed: Vec<Form>,
}

/// Whom we are compared with.
#[derive(Clone, Copy)]
pub(super) enum Against {
    /// Our library with the fastest form of any other tool.
    Fastest,
    /// Our command with the other tool that has one.
    Command,
    /// Our library with the bare walk.
    Walk,
}

impl PageResult {
    fn median(&self, form: Form, case: Case) -> Option<f64> {
        let times = self.times.iter().find(|(other, _)| *other == form)?;
        Some(times.1.median(case))
    }

    /// How much of the other's time we took.
    fn ratio(&self, against: Against, case: Case) -> Option<f64> {
        let (ours, other) = match against {
            Against::Fastest => {
                let rivals = self.times.iter().filter(|(form, _)| form.is_rival());
                let fastest = rivals.map(|(_, times)| times.median(case)).min_by(f64::total_cmp);
                (Form::Library, fastest)
            }
            Against::Command => (Form::OurCommand, self.median(Form::AgentBrowserCommand, case)),
            Against::Walk => (Form::Library, self.median(Form::Walk, case)),
        };
        stats::ratio_above(0.0, self.median(ours, case)?, other?)
    }
}

/// What everybody wrote about a page.
pub(super) struct TextSize {
    pub(super) whole: String,
    pub(super) refs_only: String,
    pub(super) delta: String,
    pub(super) is_delta_seen: bool,
    pub(super) is_heading: bool,
    pub(super) playwright: Option<String>,
    pub(super) agent_browser: Option<String>,
}

impl TextSize {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &String)> {
        [("agbrowse", &self.whole), ("agbrowse-refs-only", &self.refs_only)]
            .into_iter()
            .chain([("agbrowse-delta", &self.delta)])
            .chain(self.playwright.as_ref().map(|text| ("playwright", text)))
            .chain(self.agent_browser.as_ref().map(|text| ("agent-browser-i", text)))
    }
}

/// The same, counted.
pub(super) struct Texts {
    pub(super) page: BenchPage,
    whole: usize,
    playwright: Option<usize>,
    refs_only: RefCounts,
    agent_browser: Option<RefCounts>,
    /// Only where the change was one of a heading.
    delta: Option<usize>,
    pub(super) is_delta_seen: bool,
}

/// Text that is there to point at things.
#[derive(Clone, Copy)]
pub(super) struct RefCounts {
    tokens: usize,
    refs: Refs,
}

impl RefCounts {
    fn count(text: &str) -> Self {
        Self { tokens: tokens::count(text), refs: tokens::refs(text) }
    }

    fn per_ref(self) -> Option<f64> {
        (self.refs.all > 0).then(|| self.tokens as f64 / self.refs.all as f64)
    }
}

impl Texts {
    pub(super) fn count(page: &BenchPage, written: &TextSize) -> Self {
        let count = |text: &String| tokens::count(text);
        Self {
            page: page.clone(),
            whole: count(&written.whole),
            playwright: written.playwright.as_ref().map(count),
            refs_only: RefCounts::count(&written.refs_only),
            agent_browser: written.agent_browser.as_deref().map(RefCounts::count),
            delta: written.is_heading.then(|| count(&written.delta)),
            is_delta_seen: written.is_delta_seen,
        }
    }

    fn ratio(&self) -> Option<f64> {
        stats::ratio_above(0.0, self.whole as f64, self.playwright? as f64)
    }

    /// How many things to act on the other points at, for each that we do.
    fn recall(&self) -> Option<f64> {
        let theirs = self.agent_browser?.refs.usable;
        (theirs > 0).then(|| theirs as f64 / self.refs_only.refs.usable as f64)
    }
}

/// What the daemon kept in memory.
#[derive(Clone, Copy)]
pub(super) struct MemoryUse {
    pub(super) early: Option<Memory>,
    pub(super) late: Option<Memory>,
    pub(super) snapshots: usize,
    pub(super) failed: usize,
}

/// All that was measured.
#[derive(Default)]
pub(super) struct Results {
    pub(super) courses: Vec<PageResult>,
    pub(super) texts: Vec<Texts>,
    /// Names of pages that we wrote nothing about.
    pub(super) unwritten: Vec<String>,
    pub(super) kept: Option<MemoryUse>,
}

impl Results {
    pub(super) fn requirements(&self) -> Vec<Requirement> {
        let mut all = Vec::new();
        let mut require = |name: String, limit, unit, measured| {
            all.push(Requirement { name, limit, unit, measured });
        };
        for (against, who) in [
            (Against::Fastest, "library / fastest other"),
            (Against::Command, "command / `agent-browser`"),
        ] {
            for (case, words, limit, any) in [
                (Case::Changed, "after a change", CHANGED_RATIO, CHANGED_RATIO_ANY),
                (Case::First, "first", FIRST_RATIO, FIRST_RATIO),
            ] {
                let name = |page: &str| format!("{words}: {who}, {page}");
                let median = self.median_ratio(against, case);
                require(name("median saved page"), limit, "", median);
                for items in LISTS {
                    let ratio = self.list_ratio(items, against, case);
                    require(name(&format!("{} items", thousands(items))), limit, "", ratio);
                }
                require(name("any page"), any, "", self.worst_ratio(against, case));
            }
        }
        // What is done while a page loads is not done for nothing.
        let together = self.median_ratio(Against::Fastest, Case::Arrival);
        let name = "going there and first: library / fastest other, median saved page";
        require(name.into(), 1.0, "", together);
        for (case, words) in [(Case::Changed, "after a change"), (Case::First, "first")] {
            let name = |page: &str| format!("{words}: library / bare walk, {page}");
            let long = self.list_ratio(LONG_LIST, Against::Walk, case);
            require(name("any page"), WALK_RATIO, "", self.worst_ratio(Against::Walk, case));
            require(name(&format!("{} items", thousands(LONG_LIST))), WALK_RATIO, "", long);
        }
        let growth =
            self.kept.as_ref().and_then(|kept| Some(kept.late?.now_mb() - kept.early?.now_mb()));
        require("growth of the daemon over the snapshots".into(), GROWTH_MB, " MB", growth);

        let saved = || self.texts.iter().filter(|texts| texts.page.kind == PageKind::Saved);
        let median = stats::summarize(&saved().filter_map(Texts::ratio).collect::<Vec<_>>());
        require(
            "tokens: agbrowse / Playwright, median saved page".into(),
            TOKEN_RATIO,
            "",
            median.map(|ratios| ratios.median),
        );
        require(
            "tokens per ref: `--refs-only` / `agent-browser snapshot -i`, saved pages".into(),
            1.0,
            "",
            self.per_ref_ratio(),
        );
        require(
            "refs to act on: `agent-browser snapshot -i` / `--refs-only`, any saved page".into(),
            1.0,
            "",
            saved().filter_map(Texts::recall).max_by(f64::total_cmp),
        );
        let delta = self.texts.iter().filter_map(|texts| texts.delta).max();
        require(
            "tokens of a changed heading as delta, any page".into(),
            DELTA_TOKENS,
            "",
            delta.map(|tokens| tokens as f64),
        );
        require("changes that agbrowse did not show".into(), 0.0, "", self.unseen());
        require("pages that agbrowse failed on".into(), 0.0, "", self.failed());
        all
    }

    fn ratios(&self, against: Against, case: Case) -> impl Iterator<Item = (PageKind, f64)> {
        self.courses
            .iter()
            .filter_map(move |course| Some((course.page.kind, course.ratio(against, case)?)))
    }

    fn median_ratio(&self, against: Against, case: Case) -> Option<f64> {
        let saved = self.ratios(against, case).filter(|(kind, _)| *kind == PageKind::Saved);
        let saved: Vec<f64> = saved.map(|(_, ratio)| ratio).collect();
        stats::summarize(&saved).map(|ratios| ratios.median)
    }

    fn worst_ratio(&self, against: Against, case: Case) -> Option<f64> {
        self.ratios(against, case).map(|(_, ratio)| ratio).max_by(f64::total_cmp)
    }

    fn list_ratio(&self, items: usize, against: Against, case: Case) -> Option<f64> {
        let mut ratios = self.ratios(against, case);
        ratios.find(|(kind, _)| *kind == PageKind::List(items)).map(|(_, ratio)| ratio)
    }

    /// Over all saved pages together, so that pages with few refs do not decide.
    fn per_ref_ratio(&self) -> Option<f64> {
        let pairs: Vec<(RefCounts, RefCounts)> = self
            .texts
            .iter()
            .filter(|texts| texts.page.kind == PageKind::Saved)
            .filter_map(|texts| Some((texts.refs_only, texts.agent_browser?)))
            .collect();
        let sum = |pick: fn(&(RefCounts, RefCounts)) -> RefCounts| {
            let all = pairs
                .iter()
                .map(pick)
                .fold((0, 0), |(tokens, refs), one| (tokens + one.tokens, refs + one.refs.all));
            (all.1 > 0).then(|| all.0 as f64 / all.1 as f64)
        };
        stats::ratio_above(0.0, sum(|pair| pair.0)?, sum(|pair| pair.1)?)
    }

    fn unseen(&self) -> Option<f64> {
        let times = self.courses.iter().flat_map(|course| &course.times);
        let ours = times.filter(|(form, _)| form.party() == Party::Ours);
        let unseen = ours.map(|(_, times)| times.unseen).sum::<usize>()
            + self.texts.iter().filter(|texts| !texts.is_delta_seen).count();
        self.has_run().then_some(unseen as f64)
    }

    fn failed(&self) -> Option<f64> {
        let is_failed =
            |course: &&PageResult| course.failed.iter().any(|form| form.party() == Party::Ours);
        let courses = self.courses.iter().filter(is_failed).map(|course| &course.page.name);
        let failed: BTreeSet<&String> = courses.chain(&self.unwritten).collect();
        self.has_run().then_some(failed.len() as f64)
    }

    fn has_run(&self) -> bool {
        !self.courses.is_empty() || !self.texts.is_empty() || !self.unwritten.is_empty()
    }

    pub(super) fn tables(&self) -> String {
        let mut text = String::new();
        if !self.courses.is_empty() {
            for (case, title) in CASES {
                _ = writeln!(text, "**{title}**, median in ms:\n\n{}", self.times(case));
            }
        }
        if !self.texts.is_empty() {
            _ = writeln!(text, "**Tokens** (o200k) and refs:\n\n{}", self.tokens());
        }
        if let Some(kept) = &self.kept {
            _ = writeln!(text, "**Memory** of the daemon:\n\n{}", kept.table());
        }
        text.trim_end().to_owned() + "\n"
    }

    /// The forms that did anything.
    fn forms(&self) -> Vec<Form> {
        let times = self.courses.iter().flat_map(|course| &course.times);
        let mut forms: Vec<Form> = times.map(|(form, _)| *form).collect();
        forms.sort_unstable();
        forms.dedup();
        forms
    }

    fn times(&self, case: Case) -> Table {
        let forms = self.forms();
        let head = ["page", "elements"];
        let names = forms.iter().map(|form| form.name());
        let ratios = ["library / walk", "library / fastest", "command / command"];
        let mut table = Table::new(head.into_iter().chain(names).chain(ratios));
        for course in &self.courses {
            let elements = course.elements.map_or_else(|| "–".into(), |count| count.to_string());
            let ms = |form: &Form| number(course.median(*form, case), 1);
            let ratio = |against| number(course.ratio(against, case), 2);
            let ratios = [Against::Walk, Against::Fastest, Against::Command];
            table.row(
                [course.page.name.clone(), elements]
                    .into_iter()
                    .chain(forms.iter().map(ms))
                    .chain(ratios.map(ratio)),
            );
        }
        table
    }

    fn tokens(&self) -> Table {
        let mut table = Table::new([
            "page",
            "agbrowse",
            "Playwright",
            "ratio",
            "`--refs-only`",
            "refs",
            "to act on",
            "per ref",
            "`agent-browser -i`",
            "refs",
            "to act on",
            "per ref",
            "heading as delta",
        ]);
        let count = |count: Option<usize>| number(count.map(|count| count as f64), 0);
        let pointing = |pointing: Option<RefCounts>| {
            [
                count(pointing.map(|one| one.tokens)),
                count(pointing.map(|one| one.refs.all)),
                count(pointing.map(|one| one.refs.usable)),
                number(pointing.and_then(RefCounts::per_ref), 1),
            ]
        };
        for texts in &self.texts {
            table.row(
                [
                    texts.page.name.clone(),
                    texts.whole.to_string(),
                    count(texts.playwright),
                    number(texts.ratio(), 2),
                ]
                .into_iter()
                .chain(pointing(Some(texts.refs_only)))
                .chain(pointing(texts.agent_browser))
                .chain([count(texts.delta)]),
            );
        }
        table
    }

    pub(super) fn picture(&self) -> String {
        let forms = self.forms();
        let series: Vec<Series> = forms
            .iter()
            .map(|form| Series {
                name: form.name().into(),
                colour: match form.party() {
                    Party::Ours => "#1a7f5a",
                    Party::Floor => "#9aa4ae",
                    Party::Playwright => "#2f6fb5",
                    Party::DevTools => "#b9822b",
                    Party::AgentBrowser => "#8250a8",
                },
                is_hollow: matches!(
                    form,
                    Form::OurCommand
                        | Form::PlaywrightMcp
                        | Form::DevToolsMcp
                        | Form::AgentBrowserCommand
                ),
            })
            .collect();
        let panels = CASES.map(|(case, title)| Dots {
            title: format!("{title}, ms (median, logarithmic)"),
            rows: self
                .courses
                .iter()
                .map(|course| Row {
                    label: course.page.name.clone(),
                    values: forms.iter().map(|form| course.median(*form, case)).collect(),
                })
                .collect(),
        });
        plot::draw_dots(&series, &panels)
    }
}

/// The cases as they are told.
const CASES: [(Case, &str); 4] = [
    (Case::Changed, "After one change"),
    (Case::First, "First after going to the page"),
    (Case::Arrival, "Going to the page and the first of it, together"),
    (Case::Unchanged, "Unchanged"),
];

impl MemoryUse {
    fn table(&self) -> Table {
        let mut table = Table::new(["MB kept by the daemon", "now", "highest", "failed"]);
        for (snapshots, memory) in [(self.snapshots / 10, self.early), (self.snapshots, self.late)]
        {
            let Some(memory) = memory else { continue };
            table.row([
                format!("after {snapshots} snapshots"),
                format!("{:.1}", memory.now_mb()),
                format!("{:.1}", memory.highest_mb()),
                if snapshots == self.snapshots { self.failed.to_string() } else { String::new() },
            ]);
        }
        table
    }
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.digits$}"))
}

/// A round number as people write it: `50,000`.
fn thousands(count: usize) -> String {
    format!("{},{:03}", count / 1000, count % 1000)
}
