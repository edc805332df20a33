//! Evaluation of the samples: ratios, requirements, tables, the picture.

use agbrowse_bench::contender::{Form, Party};
use agbrowse_bench::plot::{self, Dots, Row, Series};
use agbrowse_bench::process::Memory;
use agbrowse_bench::race::{Case, Times};
use agbrowse_bench::report::{Requirement, Table};
use agbrowse_bench::stats;
use agbrowse_bench::tokens::{self, Refs};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Maximum time after a change relative to the fastest other tool, on the median page and on lists.
const CHANGED_RATIO: f64 = 0.2;
/// Maximum time after a change relative to the fastest other tool, on any page.
const CHANGED_RATIO_ANY: f64 = 0.33;
/// Maximum time of the first snapshot after navigation relative to the fastest other tool.
const FIRST_RATIO: f64 = 0.33;
/// Maximum time relative to the bare walk.
const WALK_RATIO: f64 = 2.5;
/// Maximum growth of the daemon's memory between a tenth of the snapshots and all of them, in MB. The
/// resident set varies by memory pages: this stands for none.
const GROWTH_MB: f64 = 1.0;
/// Maximum tokens of our text relative to Playwright's, on the median page.
const TOKEN_RATIO: f64 = 0.5;
/// Maximum tokens of a changed heading.
const DELTA_TOKENS: f64 = 59.0;

/// Lengths of the lists for all tools; the longest list is for us and the bare walk alone.
pub(super) const LISTS: [usize; 2] = [1_000, 10_000];
pub(super) const LONG_LIST: usize = 50_000;

/// A served page.
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

/// Results of a page.
pub(super) struct PageResult {
    pub(super) page: BenchPage,
    pub(super) elements: Option<usize>,
    pub(super) times: Vec<(Form, Times)>,
    pub(super) failed: Vec<Form>,
}

/// The opponent in a comparison.
#[derive(Clone, Copy)]
pub(super) enum Against {
    /// Our library against the fastest form of any other tool.
    Fastest,
    /// Our command against the other tool that has one.
    Command,
    /// Our library against the bare walk.
    Walk,
}

impl PageResult {
    fn median(&self, form: Form, case: Case) -> Option<f64> {
        let times = self.times.iter().find(|(other, _)| *other == form)?;
        Some(times.1.median(case))
    }

    /// Our time relative to the opponent's.
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

/// The texts of all tools for a page.
pub(super) struct SnapshotTexts {
    pub(super) whole: String,
    pub(super) refs_only: String,
    pub(super) delta: String,
    pub(super) is_delta_seen: bool,
    pub(super) is_heading: bool,
    pub(super) playwright: Option<String>,
    pub(super) agent_browser: Option<String>,
}

impl SnapshotTexts {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &String)> {
        [("agbrowse", &self.whole), ("agbrowse-refs-only", &self.refs_only)]
            .into_iter()
            .chain([("agbrowse-delta", &self.delta)])
            .chain(self.playwright.as_ref().map(|text| ("playwright", text)))
            .chain(self.agent_browser.as_ref().map(|text| ("agent-browser-i", text)))
    }
}

/// Their token counts.
pub(super) struct TokenCounts {
    pub(super) page: BenchPage,
    whole: usize,
    playwright: Option<usize>,
    refs_only: RefCounts,
    agent_browser: Option<RefCounts>,
    /// Present only where the change was one of a heading.
    delta: Option<usize>,
    pub(super) is_delta_seen: bool,
}

/// Tokens and refs of a text that lists refs only.
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

impl TokenCounts {
    pub(super) fn count(page: &BenchPage, texts: &SnapshotTexts) -> Self {
        let count = |text: &String| tokens::count(text);
        Self {
            page: page.clone(),
            whole: count(&texts.whole),
            playwright: texts.playwright.as_ref().map(count),
            refs_only: RefCounts::count(&texts.refs_only),
            agent_browser: texts.agent_browser.as_deref().map(RefCounts::count),
            delta: texts.is_heading.then(|| count(&texts.delta)),
            is_delta_seen: texts.is_delta_seen,
        }
    }

    fn ratio(&self) -> Option<f64> {
        stats::ratio_above(0.0, self.whole as f64, self.playwright? as f64)
    }

    /// The other's number of refs to act on relative to ours.
    fn recall(&self) -> Option<f64> {
        let theirs = self.agent_browser?.refs.usable;
        (theirs > 0).then(|| theirs as f64 / self.refs_only.refs.usable as f64)
    }
}

/// Memory of the daemon.
#[derive(Clone, Copy)]
pub(super) struct MemoryUse {
    pub(super) early: Option<Memory>,
    pub(super) late: Option<Memory>,
    pub(super) snapshots: usize,
    pub(super) failed: usize,
}

/// All results.
#[derive(Default)]
pub(super) struct Results {
    pub(super) page_results: Vec<PageResult>,
    pub(super) texts: Vec<TokenCounts>,
    /// Names of pages without a text of ours.
    pub(super) failed_texts: Vec<String>,
    pub(super) memory: Option<MemoryUse>,
}

impl Results {
    pub(super) fn requirements(&self) -> Vec<Requirement> {
        let mut all = Vec::new();
        let mut require = |name: String, limit, unit, measured| {
            all.push(Requirement { name, limit, unit, measured });
        };
        for (against, opponent) in [
            (Against::Fastest, "library / fastest other"),
            (Against::Command, "command / `agent-browser`"),
        ] {
            for (case, words, limit, any) in [
                (Case::Changed, "after a change", CHANGED_RATIO, CHANGED_RATIO_ANY),
                (Case::First, "first", FIRST_RATIO, FIRST_RATIO),
            ] {
                let name = |page: &str| format!("{words}: {opponent}, {page}");
                let median = self.median_ratio(against, case);
                require(name("median saved page"), limit, "", median);
                for items in LISTS {
                    let ratio = self.list_ratio(items, against, case);
                    require(name(&format!("{} items", thousands(items))), limit, "", ratio);
                }
                require(name("any page"), any, "", self.worst_ratio(against, case));
            }
        }
        // Work done while a page loads has a cost, too.
        let together = self.median_ratio(Against::Fastest, Case::Arrival);
        let name = "navigation and first snapshot: library / fastest other, median saved page";
        require(name.into(), 1.0, "", together);
        for (case, words) in [(Case::Changed, "after a change"), (Case::First, "first")] {
            let name = |page: &str| format!("{words}: library / bare walk, {page}");
            let long = self.list_ratio(LONG_LIST, Against::Walk, case);
            require(name("any page"), WALK_RATIO, "", self.worst_ratio(Against::Walk, case));
            require(name(&format!("{} items", thousands(LONG_LIST))), WALK_RATIO, "", long);
        }
        let growth = self
            .memory
            .as_ref()
            .and_then(|memory| Some(memory.late?.now_mb() - memory.early?.now_mb()));
        require("growth of the daemon over the snapshots".into(), GROWTH_MB, " MB", growth);

        let saved = || self.texts.iter().filter(|texts| texts.page.kind == PageKind::Saved);
        let median = stats::summarize(&saved().filter_map(TokenCounts::ratio).collect::<Vec<_>>());
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
            saved().filter_map(TokenCounts::recall).max_by(f64::total_cmp),
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
        self.page_results
            .iter()
            .filter_map(move |result| Some((result.page.kind, result.ratio(against, case)?)))
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
        let times = self.page_results.iter().flat_map(|result| &result.times);
        let ours = times.filter(|(form, _)| form.party() == Party::Ours);
        let unseen = ours.map(|(_, times)| times.unseen).sum::<usize>()
            + self.texts.iter().filter(|texts| !texts.is_delta_seen).count();
        self.has_run().then_some(unseen as f64)
    }

    fn failed(&self) -> Option<f64> {
        let is_failed =
            |result: &&PageResult| result.failed.iter().any(|form| form.party() == Party::Ours);
        let page_results =
            self.page_results.iter().filter(is_failed).map(|result| &result.page.name);
        let failed: BTreeSet<&String> = page_results.chain(&self.failed_texts).collect();
        self.has_run().then_some(failed.len() as f64)
    }

    fn has_run(&self) -> bool {
        !self.page_results.is_empty() || !self.texts.is_empty() || !self.failed_texts.is_empty()
    }

    pub(super) fn tables(&self) -> String {
        let mut text = String::new();
        if !self.page_results.is_empty() {
            for (case, title) in CASES {
                _ = writeln!(text, "**{title}**, median in ms:\n\n{}", self.times(case));
            }
        }
        if !self.texts.is_empty() {
            _ = writeln!(text, "**Tokens** (o200k) and refs:\n\n{}", self.tokens());
        }
        if let Some(memory) = &self.memory {
            _ = writeln!(text, "**Memory** of the daemon:\n\n{}", memory.table());
        }
        text.trim_end().to_owned() + "\n"
    }

    /// The forms with results.
    fn forms(&self) -> Vec<Form> {
        let times = self.page_results.iter().flat_map(|result| &result.times);
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
        for result in &self.page_results {
            let elements = result.elements.map_or_else(|| "–".into(), |count| count.to_string());
            let ms = |form: &Form| number(result.median(*form, case), 1);
            let ratio = |against| number(result.ratio(against, case), 2);
            let ratios = [Against::Walk, Against::Fastest, Against::Command];
            table.row(
                [result.page.name.clone(), elements]
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
                .page_results
                .iter()
                .map(|result| Row {
                    label: result.page.name.clone(),
                    values: forms.iter().map(|form| result.median(*form, case)).collect(),
                })
                .collect(),
        });
        plot::draw_dots(&series, &panels)
    }
}

/// The cases with their headings.
const CASES: [(Case, &str); 4] = [
    (Case::Changed, "After one change"),
    (Case::First, "First snapshot after navigation"),
    (Case::Arrival, "Navigation and first snapshot"),
    (Case::Unchanged, "Unchanged"),
];

impl MemoryUse {
    fn table(&self) -> Table {
        let mut table = Table::new(["MB used by the daemon", "now", "highest", "failed"]);
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

/// Formats a number with thousands separators: `50,000`.
fn thousands(count: usize) -> String {
    format!("{},{:03}", count / 1000, count % 1000)
}
