//! Snapshots: how long one takes in three cases, what its text costs a model, and what many leave in memory.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal: tables on standard output, progress on standard error"
)]

use agbrowse_bench::contender::{Commands, Form, Party, Socket};
use agbrowse_bench::corpus::{self, Corpus, Page, Server};
use agbrowse_bench::machine::{self, Machine};
use agbrowse_bench::ours::{ByLibrary, Library, View, Walk};
use agbrowse_bench::plot::{self, Dots, Row, Series};
use agbrowse_bench::process::Memory;
use agbrowse_bench::race::{self, Case, Numbers, Racer, Times};
use agbrowse_bench::report::{self, Requirement, Table};
use agbrowse_bench::rivals::{GET_RIVALS, PACKAGES, Rivals};
use agbrowse_bench::stats;
use agbrowse_bench::tokens::{self, Refs};
use agbrowse_bench::tool::{self, Kind, Tool};
use agbrowse_bench::{Error, Result, project};
use clap::Parser;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

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
const LISTS: [usize; 2] = [1_000, 10_000];
const LONG_LIST: usize = 50_000;

/// How long the many snapshots may take.
const MEMORY_TIME: Duration = Duration::from_secs(15 * 60);
/// Snapshots on a page before the next is opened. A tenth of a thousand goes over all saved pages.
const ON_EACH: usize = 4;

/// Compare snapshots: their time, their tokens, and what they leave in memory.
///
/// Exits with 1 when a requirement is not met, and with 2 when called wrongly.
#[derive(Debug, Parser)]
#[command(name = "snapshot")]
struct Cli {
    /// Visits of each tool to each page; 0 leaves times out.
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: usize,
    /// Snapshots after which memory is read; 0 leaves memory out.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    snapshots: usize,
    /// Leave tokens out.
    #[arg(long)]
    skip_tokens: bool,
    /// Leave out the list of 50,000 items.
    #[arg(long)]
    skip_50k: bool,
    /// Take only the first N saved pages.
    #[arg(long, value_name = "N")]
    pages: Option<usize>,
    /// Take only pages with this in their name; lists are called `items-1000.html` and so on.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// The folder that npm installed the tools to compare with into; without it we are measured alone.
    #[arg(long, value_name = "DIR")]
    rivals: Option<PathBuf>,
    /// Our program; the one beside this program when absent.
    #[arg(long, value_name = "PATH")]
    agbrowse: Option<PathBuf>,
    /// The Chromium that all use; AGBROWSE_CHROME or the one on the path when absent.
    #[arg(long, value_name = "PATH")]
    chrome: Option<PathBuf>,
    /// A folder with `pages/*.html`; AGBROWSE_CORPUS or `../shared/corpus` beside this project when absent.
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// The document to put the results into; `docs/benchmarks.md` of this project when absent.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Keep the texts whose tokens are counted in this folder.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            error.exit_code()
        }
    }
}

/// Whether all requirements that were measured are met.
fn run(cli: &Cli) -> Result<bool> {
    let mut setting = Setting::of(cli)?;
    setting.warm_up()?;
    let mut results = Results::default();
    if cli.rounds > 0 {
        results.courses = setting.courses(cli.rounds)?;
    }
    if !cli.skip_tokens {
        (results.texts, results.unwritten) = setting.texts(cli.keep.as_deref())?;
    }
    // What was measured before is told even if this fails.
    let kept = if cli.snapshots > 0 { setting.memory(cli.snapshots) } else { Ok(None) };
    if let Ok(kept) = &kept {
        results.kept = *kept;
    }

    println!("{}", results.tables());
    let requirements = results.requirements();
    println!("{}", report::requirements(&requirements));
    let out = cli.out.clone().unwrap_or_else(|| project().join("docs/benchmarks.md"));
    write(&out, cli, &setting, &results, &requirements)?;
    kept?;
    Ok(!requirements.iter().any(Requirement::is_missed))
}

/// Everything that stands before the first measurement.
struct Setting {
    chrome: PathBuf,
    racers: Vec<Racer>,
    ours: Rc<Tool>,
    library: Rc<Library>,
    agent_browser: Option<Rc<Tool>>,
    /// Saved pages, then lists.
    pages: Vec<Place>,
    corpus: Corpus,
    warm_up: Place,
    numbers: Numbers,
    machine: Machine,
    /// Chromium, us, and the other tools.
    versions: Vec<String>,
    /// What was left out, and why.
    notes: Vec<String>,
}

/// A page that is served.
#[derive(Clone)]
struct Place {
    name: String,
    url: String,
    kind: PageKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PageKind {
    Saved,
    List(usize),
}

impl Setting {
    fn of(cli: &Cli) -> Result<Self> {
        if cfg!(debug_assertions) {
            eprintln!("note: this is a debug build; times of its library mean little");
        }
        let chrome = tool::browser(cli.chrome.as_deref())?;
        let ours = tool::our_program(cli.agbrowse.as_deref())?;
        let ours = Rc::new(Tool::new(Kind::Agbrowse, &ours, &chrome)?);
        let library = Rc::new(Library::new(&chrome)?);
        let rivals = cli.rivals.as_deref().map(|prefix| Rivals::at(prefix, &chrome)).transpose()?;
        let mut versions = vec![tool::browser_version(&chrome)?, ours.version()?];
        let mut notes = Vec::new();
        match &rivals {
            None => notes.push(format!("the other tools were left out; to compare: {GET_RIVALS}")),
            Some(rivals) => {
                for package in PACKAGES {
                    match rivals.version(package) {
                        Some(version) => versions.push(format!("{package} {version}")),
                        None => notes.push(format!("{package} is not installed")),
                    }
                }
            }
        }
        for note in &notes {
            eprintln!("note: {note}");
        }
        let agent_browser = rivals
            .as_ref()
            .filter(|rivals| rivals.version("agent-browser").is_some())
            .map(|rivals| Tool::new(Kind::AgentBrowser, &rivals.program("agent-browser"), &chrome))
            .transpose()?
            .map(Rc::new);

        let mut corpus = Corpus::load(&corpus::folder(cli.corpus.as_deref()))?;
        if corpus.made_up {
            eprintln!("note: no corpus is found, so pages are made up");
        }
        corpus.pages.truncate(cli.pages.unwrap_or(usize::MAX));
        let is_wanted = |page: &Page| cli.only.as_ref().is_none_or(|text| page.name.contains(text));
        corpus.pages.retain(is_wanted);
        let (pages, warm_up) = serve(&corpus, cli.skip_50k, is_wanted)?;
        if pages.is_empty() {
            return Err(Error::WrongCall("no page is left to measure".into()));
        }
        let machine = machine::look();
        if let Some(load) = machine.load.filter(|load| *load > 0.5) {
            eprintln!("note: the machine is not at rest: load {load}");
        }
        let racers = racers(&library, &ours, agent_browser.as_ref(), rivals.as_ref());
        Ok(Self {
            chrome,
            racers,
            ours,
            library,
            agent_browser,
            pages,
            corpus,
            warm_up,
            numbers: Numbers::default(),
            machine,
            versions,
            notes,
        })
    }

    /// Everybody visits a small page once. Who cannot is left out, unless it is us.
    fn warm_up(&mut self) -> Result<()> {
        let racers = std::mem::take(&mut self.racers);
        for mut racer in racers {
            eprintln!("warm-up: {}", racer.form.name());
            match racer.visit(&self.warm_up.url, &self.numbers) {
                Ok(_) => self.racers.push(racer),
                Err(error) if !racer.form.is_rival() => return Err(error),
                Err(error) => self.note(format!("{} was left out: {error}", racer.form.name())),
            }
        }
        Ok(())
    }

    /// All pages, with everybody in turns on each.
    fn courses(&mut self, rounds: usize) -> Result<Vec<Course>> {
        let mut courses = Vec::new();
        for (number, page) in self.pages.clone().into_iter().enumerate() {
            let began = Instant::now();
            let elements = self.elements(&page);
            let is_long = page.kind == PageKind::List(LONG_LIST);
            let racers = self
                .racers
                .iter_mut()
                .filter(|racer| !is_long || matches!(racer.form, Form::Walk | Form::Library));
            let mut course = Course { page, elements, times: Vec::new(), failed: Vec::new() };
            for (form, times) in race::race(racers, &course.page.url, rounds, &self.numbers)? {
                match times {
                    Ok(times) => course.times.push((form, times)),
                    Err(error) => {
                        self.note(format!(
                            "{} failed on {}: {error}",
                            form.name(),
                            course.page.name
                        ));
                        course.failed.push(form);
                    }
                }
            }
            eprintln!(
                "times: {} of {}: {} ({:.0} s)",
                number + 1,
                self.pages.len(),
                course.page.name,
                began.elapsed().as_secs_f64()
            );
            courses.push(course);
        }
        Ok(courses)
    }

    /// How large a page is. For orientation only, so it is told if it can be.
    fn elements(&self, page: &Place) -> Option<usize> {
        self.library.open(&page.url).ok()?;
        let count = self.library.eval("document.querySelectorAll('*').length").ok()?;
        count.text.trim().parse().ok()
    }

    /// The texts of all pages but the largest, counted, and the names of pages that we failed on.
    fn texts(&mut self, keep: Option<&Path>) -> Result<(Vec<Texts>, Vec<String>)> {
        if let Some(folder) = keep {
            std::fs::create_dir_all(folder)?;
        }
        let pages: Vec<Place> = self
            .pages
            .iter()
            .filter(|page| matches!(page.kind, PageKind::Saved | PageKind::List(1_000)))
            .cloned()
            .collect();
        let (mut counted, mut failed) = (Vec::new(), Vec::new());
        for (number, page) in pages.iter().enumerate() {
            eprintln!("tokens: {} of {}: {}", number + 1, pages.len(), page.name);
            let texts = match self.written(page) {
                Ok(texts) => texts,
                Err(error) => {
                    self.note(format!(
                        "the tokens of agbrowse on {} are missing: {error}",
                        page.name
                    ));
                    failed.push(page.name.clone());
                    continue;
                }
            };
            for (name, text) in texts.iter() {
                if let Some(folder) = keep {
                    std::fs::write(folder.join(format!("{}.{name}.txt", page.name)), text)?;
                }
            }
            counted.push(Texts::count(page, &texts));
        }
        Ok((counted, failed))
    }

    /// What everybody writes about a page, with a browser that has seen no other: refs that are numbered on
    /// from page to page would be more tokens.
    fn written(&mut self, page: &Place) -> Result<Written> {
        let library = Library::new(&self.chrome)?;
        library.open(&page.url)?;
        let whole = library.snapshot(View::Whole)?.text;
        let refs_only = library.snapshot(View::RefsOnly)?.text;
        library.snapshot(View::Delta)?;
        let (script, shown) = self.numbers.next_change();
        let element = library.eval(&script)?.text;
        let delta = library.snapshot(View::Delta)?.text;
        drop(library);

        let forms = [Form::PlaywrightLibrary, Form::PlaywrightMcp];
        let racer = forms
            .iter()
            .find_map(|form| self.racers.iter().position(|racer| racer.form == *form))
            .map(|place| &mut self.racers[place]);
        let playwright = racer.map(|racer| racer.text(&page.url)).transpose();
        let playwright = self.unless_failed("playwright", page, playwright);
        let agent_browser = self.agent_browser.as_ref().map(|tool| {
            stop(tool);
            tool.run(["open", &page.url])?;
            let text = tool.run(["snapshot", "-i"])?.stdout;
            stop(tool);
            Ok(text)
        });
        let agent_browser = self.unless_failed("agent-browser", page, agent_browser.transpose());
        Ok(Written {
            whole,
            refs_only,
            is_delta_seen: delta.contains(&shown),
            delta,
            is_heading: matches!(element.trim(), "h1" | "h2" | "h3" | "h4" | "h5" | "h6"),
            playwright,
            agent_browser,
        })
    }

    fn unless_failed<T>(&mut self, name: &str, page: &Place, told: Result<Option<T>>) -> Option<T> {
        told.unwrap_or_else(|error| {
            self.note(format!("the tokens of {name} on {} are missing: {error}", page.name));
            None
        })
    }

    /// The daemon's memory after a tenth of the snapshots and after all, over the saved pages.
    fn memory(&mut self, snapshots: usize) -> Result<Option<Kept>> {
        let pages: Vec<Place> =
            self.pages.iter().filter(|page| page.kind == PageKind::Saved).cloned().collect();
        let early = snapshots / 10;
        if pages.is_empty() || early < pages.len() {
            self.note("memory was left out: too few pages or snapshots to tell".into());
            return Ok(None);
        }
        stop(&self.ours);
        let began = Instant::now();
        let mut kept = Kept { early: None, late: None, snapshots: 0, failed: 0 };
        let read = |setting: &Self| -> Result<Memory> {
            // The same page each time, so that what is kept of the last one is the same.
            setting.ours.run(["open", &pages[0].url])?;
            setting.ours.run(["snapshot"])?;
            setting.ours.daemon_memory()
        };
        while kept.snapshots < snapshots && began.elapsed() < MEMORY_TIME {
            let page = &pages[kept.snapshots / ON_EACH % pages.len()];
            let before = match kept.snapshots % ON_EACH {
                0 => self.ours.run(["open", &page.url]).map(drop),
                2 => self.ours.run(["eval", &self.numbers.next_change().0]).map(drop),
                _ => Ok(()),
            };
            if let Err(error) = before.and_then(|()| self.ours.run(["snapshot"]).map(drop)) {
                if kept.failed == 0 {
                    self.note(format!("a snapshot of {} failed: {error}", page.name));
                }
                kept.failed += 1;
            }
            kept.snapshots += 1;
            if kept.snapshots == early {
                kept.early = Some(read(self)?);
            }
            if kept.snapshots.is_multiple_of(snapshots.div_ceil(10)) {
                eprintln!("memory: {} of {snapshots} snapshots", kept.snapshots);
            }
        }
        kept.late = Some(read(self)?);
        stop(&self.ours);
        if kept.snapshots < snapshots || kept.failed * 20 > snapshots {
            return Err(Error::Failed(format!(
                "of {snapshots} snapshots {} were taken within {} s and {} failed: memory after them \
                 says nothing",
                kept.snapshots,
                MEMORY_TIME.as_secs(),
                kept.failed
            )));
        }
        Ok(Some(kept))
    }

    fn note(&mut self, note: String) {
        eprintln!("note: {note}");
        self.notes.push(note);
    }
}

/// Serves the saved pages and the lists; the page that comes back beside them is for warming up.
fn serve(
    corpus: &Corpus,
    skips_long: bool,
    is_wanted: impl Fn(&Page) -> bool,
) -> Result<(Vec<Place>, Place)> {
    let warm_up = corpus::items(10);
    let long = (!skips_long).then_some(LONG_LIST);
    let lists: Vec<(usize, Page)> = LISTS
        .into_iter()
        .chain(long)
        .map(|count| (count, corpus::items(count)))
        .filter(|(_, page)| is_wanted(page))
        .collect();
    let mut served = corpus.clone();
    served.pages.extend(lists.iter().map(|(_, page)| page.clone()));
    served.pages.push(warm_up.clone());
    let server = Server::start(&served)?;
    let place = |page: &Page, kind| Place { name: page.name.clone(), url: server.url(page), kind };
    let saved = corpus.pages.iter().map(|page| place(page, PageKind::Saved));
    let lists = lists.iter().map(|(count, page)| place(page, PageKind::List(*count)));
    Ok((saved.chain(lists).collect(), place(&warm_up, PageKind::List(10))))
}

/// All that take part. Those of one tool share its browser.
fn racers(
    library: &Rc<Library>,
    ours: &Rc<Tool>,
    agent_browser: Option<&Rc<Tool>>,
    rivals: Option<&Rivals>,
) -> Vec<Racer> {
    let (walk, whole, command) = (Rc::clone(library), Rc::clone(library), Rc::clone(ours));
    let mut racers = vec![
        Racer::new(Form::Walk, move || Ok(Walk(Rc::clone(&walk)))),
        Racer::new(Form::Library, move || Ok(ByLibrary(Rc::clone(&whole)))),
        Racer::new(Form::OurCommand, move || Ok(Commands(Rc::clone(&command)))),
    ];
    if let Some(rivals) = rivals.filter(|rivals| rivals.version("@playwright/mcp").is_some()) {
        let (driver, server) = (rivals.clone(), rivals.clone());
        racers.push(Racer::new(Form::PlaywrightLibrary, move || driver.driver("playwright.mjs")));
        racers.push(Racer::new(Form::PlaywrightMcp, move || server.playwright_mcp()));
    }
    if let Some(rivals) = rivals.filter(|rivals| rivals.version("chrome-devtools-mcp").is_some()) {
        let (driver, server) = (rivals.clone(), rivals.clone());
        racers.push(Racer::new(Form::Puppeteer, move || driver.driver("devtools.mjs")));
        racers.push(Racer::new(Form::DevToolsMcp, move || server.devtools_mcp()));
    }
    if let Some(tool) = agent_browser {
        let (socket, command) = (Rc::clone(tool), Rc::clone(tool));
        racers.push(Racer::new(Form::AgentBrowserSocket, move || {
            Ok(Socket::new(Rc::clone(&socket)))
        }));
        racers
            .push(Racer::new(Form::AgentBrowserCommand, move || Ok(Commands(Rc::clone(&command)))));
    }
    racers
}

fn stop(tool: &Tool) {
    let ended = tool.stop();
    if ended > 0 {
        eprintln!("note: {} left {ended} processes, which were ended", tool.name());
    }
}

/// What came of a page.
struct Course {
    page: Place,
    elements: Option<usize>,
    times: Vec<(Form, Times)>,
    failed: Vec<Form>,
}

/// Whom we are compared with.
#[derive(Clone, Copy)]
enum Against {
    /// Our library with the fastest form of any other tool.
    Fastest,
    /// Our command with the other tool that has one.
    Command,
    /// Our library with the bare walk.
    Walk,
}

impl Course {
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
struct Written {
    whole: String,
    refs_only: String,
    delta: String,
    is_delta_seen: bool,
    is_heading: bool,
    playwright: Option<String>,
    agent_browser: Option<String>,
}

impl Written {
    fn iter(&self) -> impl Iterator<Item = (&'static str, &String)> {
        [("agbrowse", &self.whole), ("agbrowse-refs-only", &self.refs_only)]
            .into_iter()
            .chain([("agbrowse-delta", &self.delta)])
            .chain(self.playwright.as_ref().map(|text| ("playwright", text)))
            .chain(self.agent_browser.as_ref().map(|text| ("agent-browser-i", text)))
    }
}

/// The same, counted.
struct Texts {
    page: Place,
    whole: usize,
    playwright: Option<usize>,
    refs_only: Pointing,
    agent_browser: Option<Pointing>,
    /// Only where the change was one of a heading.
    delta: Option<usize>,
    is_delta_seen: bool,
}

/// Text that is there to point at things.
#[derive(Clone, Copy)]
struct Pointing {
    tokens: usize,
    refs: Refs,
}

impl Pointing {
    fn count(text: &str) -> Self {
        Self { tokens: tokens::count(text), refs: tokens::refs(text) }
    }

    fn per_ref(self) -> Option<f64> {
        (self.refs.all > 0).then(|| self.tokens as f64 / self.refs.all as f64)
    }
}

impl Texts {
    fn count(page: &Place, written: &Written) -> Self {
        let count = |text: &String| tokens::count(text);
        Self {
            page: page.clone(),
            whole: count(&written.whole),
            playwright: written.playwright.as_ref().map(count),
            refs_only: Pointing::count(&written.refs_only),
            agent_browser: written.agent_browser.as_deref().map(Pointing::count),
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
struct Kept {
    early: Option<Memory>,
    late: Option<Memory>,
    snapshots: usize,
    failed: usize,
}

/// All that was measured.
#[derive(Default)]
struct Results {
    courses: Vec<Course>,
    texts: Vec<Texts>,
    /// Names of pages that we wrote nothing about.
    unwritten: Vec<String>,
    kept: Option<Kept>,
}

impl Results {
    fn requirements(&self) -> Vec<Requirement> {
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
        let pairs: Vec<(Pointing, Pointing)> = self
            .texts
            .iter()
            .filter(|texts| texts.page.kind == PageKind::Saved)
            .filter_map(|texts| Some((texts.refs_only, texts.agent_browser?)))
            .collect();
        let sum = |pick: fn(&(Pointing, Pointing)) -> Pointing| {
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
            |course: &&Course| course.failed.iter().any(|form| form.party() == Party::Ours);
        let courses = self.courses.iter().filter(is_failed).map(|course| &course.page.name);
        let failed: BTreeSet<&String> = courses.chain(&self.unwritten).collect();
        self.has_run().then_some(failed.len() as f64)
    }

    fn has_run(&self) -> bool {
        !self.courses.is_empty() || !self.texts.is_empty() || !self.unwritten.is_empty()
    }

    fn tables(&self) -> String {
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
        let pointing = |pointing: Option<Pointing>| {
            [
                count(pointing.map(|one| one.tokens)),
                count(pointing.map(|one| one.refs.all)),
                count(pointing.map(|one| one.refs.usable)),
                number(pointing.and_then(Pointing::per_ref), 1),
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

    fn picture(&self) -> String {
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
const CASES: [(Case, &str); 3] = [
    (Case::Changed, "After one change"),
    (Case::First, "First after going to the page"),
    (Case::Unchanged, "Unchanged"),
];

impl Kept {
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

/// Puts the section into the document, and the picture beside it.
fn write(
    out: &Path,
    cli: &Cli,
    setting: &Setting,
    results: &Results,
    requirements: &[Requirement],
) -> Result<()> {
    let folder = out.with_extension("");
    let mut body = String::from(
        "## Snapshots\n\n\
         Every tool visits every page in turns, in a browser of its own and with the same network: loopback. A \
         visit takes a first snapshot, changes the text of one heading by script and takes another, twice, then \
         takes two more of what is unchanged. Only snapshots are timed. *Bare walk* is `bench/walk.js`, by the \
         same channel and in the same browser as our library. *Library* and the libraries of the others are \
         timed inside their process; servers by the round trip over their pipe or socket; *commands* from the \
         start of their process to its end, with the daemon up. *Fastest* is the fastest of all forms of all \
         others on that page in that case.\n\n\
         After a change a tenth of the fastest is the goal; the table says what is required.\n\n",
    );
    _ = writeln!(body, "{}", report::requirements(requirements));
    if !results.courses.is_empty() {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("snapshot.svg"), results.picture())?;
        let picture =
            folder.file_name().unwrap_or_default().display().to_string() + "/snapshot.svg";
        _ = writeln!(body, "![The times below as dots, a row for each page]({picture})\n");
    }
    _ = writeln!(body, "{}", results.tables());
    _ = writeln!(body, "{}", facts(setting));
    _ = write!(body, "```sh\n{}\n```\n", command_line(cli));
    report::write_section(out, "snapshot", &body)?;
    eprintln!("written: {} and {}", out.display(), folder.join("snapshot.svg").display());
    Ok(())
}

/// What the numbers were taken on, and what is missing.
fn facts(setting: &Setting) -> String {
    let mut text = format!("- Date: {}\n- Machine: {}\n", machine::today(), setting.machine);
    _ = writeln!(text, "- Versions: {}", setting.versions.join("; "));
    _ = writeln!(text, "- Pages: {}, and lists of items", setting.corpus.describe());
    text.push_str(
        "- *To act on*: refs whose role is not one to read only, such as heading or cell; \
         `agent-browser` gives those refs as well\n",
    );
    for note in &setting.notes {
        _ = writeln!(text, "- Note: {note}");
    }
    text
}

/// How to repeat the run: the options that decide the numbers, not where this machine keeps its files.
fn command_line(cli: &Cli) -> String {
    let mut line = String::from("cargo run --release -p agbrowse-bench --bin snapshot --");
    if cli.rivals.is_some() {
        line.push_str(" --rivals DIR");
    }
    _ = write!(line, " --rounds {} --snapshots {}", cli.rounds, cli.snapshots);
    for (is_set, flag) in [(cli.skip_tokens, " --skip-tokens"), (cli.skip_50k, " --skip-50k")] {
        if is_set {
            line.push_str(flag);
        }
    }
    if let Some(pages) = cli.pages {
        _ = write!(line, " --pages {pages}");
    }
    if let Some(only) = &cli.only {
        _ = write!(line, " --only {only}");
    }
    line
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.digits$}"))
}

/// A round number as people write it: `50,000`.
fn thousands(count: usize) -> String {
    format!("{},{:03}", count / 1000, count % 1000)
}
