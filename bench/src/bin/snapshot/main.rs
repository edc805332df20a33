//! Snapshots: how long one takes in three cases, what its text costs a model, and what many leave in memory.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal: tables on standard output, progress on standard error"
)]

mod results;

use agbrowse_bench::contender::{Commands, Form, Socket};
use agbrowse_bench::corpus::{self, Corpus, Page, Server};
use agbrowse_bench::machine::{self, Machine};
use agbrowse_bench::ours::{ByLibrary, Library, View, Walk};
use agbrowse_bench::process::Memory;
use agbrowse_bench::race::{self, Numbers, Racer};
use agbrowse_bench::report::{self, Requirement};
use agbrowse_bench::rivals::{GET_RIVALS, PACKAGES, Rivals};
use agbrowse_bench::tool::{self, Kind, Tool};
use agbrowse_bench::{Error, Result, project};
use clap::Parser;
use results::{
    BenchPage, LISTS, LONG_LIST, MemoryUse, PageKind, PageResult, Results, TextSize, Texts,
};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

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
    /// Visits of each tool to each page, up to five times as many where they are quick; 0 leaves times out.
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
    let mut setting = BenchSetup::of(cli)?;
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
struct BenchSetup {
    chrome: PathBuf,
    racers: Vec<Racer>,
    ours: Rc<Tool>,
    library: Rc<Library>,
    agent_browser: Option<Rc<Tool>>,
    /// Saved pages, then lists.
    pages: Vec<BenchPage>,
    corpus: Corpus,
    warm_up: BenchPage,
    numbers: Numbers,
    machine: Machine,
    /// Chromium, us, and the other tools.
    versions: Vec<String>,
    /// What was left out, and why.
    notes: Vec<String>,
}

impl BenchSetup {
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
            let place = race::BenchPage { url: &self.warm_up.url, is_vast: false };
            match racer.visit(place, &self.numbers) {
                Ok(_) => self.racers.push(racer),
                Err(error) if !racer.form.is_rival() => return Err(error),
                Err(error) => self.note(format!("{} was left out: {error}", racer.form.name())),
            }
        }
        Ok(())
    }

    /// All pages, with everybody in turns on each.
    fn courses(&mut self, rounds: usize) -> Result<Vec<PageResult>> {
        let mut courses = Vec::new();
        for (number, page) in self.pages.clone().into_iter().enumerate() {
            let began = Instant::now();
            let elements = self.elements(&page);
            let is_long = page.kind == PageKind::List(LONG_LIST);
            let racers = self
                .racers
                .iter_mut()
                .filter(|racer| !is_long || matches!(racer.form, Form::Walk | Form::Library));
            let mut course = PageResult { page, elements, times: Vec::new(), failed: Vec::new() };
            let place = race::BenchPage { url: &course.page.url, is_vast: is_long };
            for (form, times) in race::race(racers, place, rounds, &self.numbers)? {
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
    fn elements(&self, page: &BenchPage) -> Option<usize> {
        self.library.open(&page.url).ok()?;
        let count = self.library.eval("document.querySelectorAll('*').length").ok()?;
        count.text.trim().parse().ok()
    }

    /// The texts of all pages but the largest, counted, and the names of pages that we failed on.
    fn texts(&mut self, keep: Option<&Path>) -> Result<(Vec<Texts>, Vec<String>)> {
        if let Some(folder) = keep {
            std::fs::create_dir_all(folder)?;
        }
        let pages: Vec<BenchPage> = self
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
    fn written(&mut self, page: &BenchPage) -> Result<TextSize> {
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
        Ok(TextSize {
            whole,
            refs_only,
            is_delta_seen: delta.contains(&shown),
            delta,
            is_heading: matches!(element.trim(), "h1" | "h2" | "h3" | "h4" | "h5" | "h6"),
            playwright,
            agent_browser,
        })
    }

    fn unless_failed<T>(
        &mut self,
        name: &str,
        page: &BenchPage,
        told: Result<Option<T>>,
    ) -> Option<T> {
        told.unwrap_or_else(|error| {
            self.note(format!("the tokens of {name} on {} are missing: {error}", page.name));
            None
        })
    }

    /// The daemon's memory after a tenth of the snapshots and after all, over the saved pages.
    fn memory(&mut self, snapshots: usize) -> Result<Option<MemoryUse>> {
        let pages: Vec<BenchPage> =
            self.pages.iter().filter(|page| page.kind == PageKind::Saved).cloned().collect();
        let early = snapshots / 10;
        if pages.is_empty() || early < pages.len() {
            self.note("memory was left out: too few pages or snapshots to tell".into());
            return Ok(None);
        }
        stop(&self.ours);
        let began = Instant::now();
        let mut kept = MemoryUse { early: None, late: None, snapshots: 0, failed: 0 };
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
) -> Result<(Vec<BenchPage>, BenchPage)> {
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
    let place =
        |page: &Page, kind| BenchPage { name: page.name.clone(), url: server.url(page), kind };
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

/// Puts the section into the document, and the picture beside it.
fn write(
    out: &Path,
    cli: &Cli,
    setting: &BenchSetup,
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
fn facts(setting: &BenchSetup) -> String {
    let mut text = format!("- Date: {}\n- Machine: {}\n", machine::today(), setting.machine);
    _ = writeln!(text, "- Versions: {}", setting.versions.join("; "));
    _ = writeln!(text, "- Pages: {}, and lists of items", setting.corpus.describe());
    text.push_str(
        "- *To act on*: refs whose role is not one to read only, such as heading or cell, which \
         `agent-browser` gives as well, and that are not buttons which the browser draws into a video\n\
         - The bare walk runs in a world beside the page, as every look of ours does; our scripts \
         run through the beginning of a page while it loads\n\
         - The list of 50,000 items is drawn before the first snapshot of it: laying it out takes the browser seconds, \
         which fell into going there or into that snapshot by chance\n",
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
