//! Benchmark of snapshots: time in three cases, tokens of the text, and memory growth over many snapshots.

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
    BenchPage, LISTS, LONG_LIST, MemoryUse, PageKind, PageResult, Results, SnapshotTexts,
    TokenCounts,
};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Time limit for the many snapshots.
const MEMORY_TIME: Duration = Duration::from_secs(15 * 60);
/// Snapshots on a page before the next is opened. A tenth of a thousand covers all saved pages.
const ON_EACH: usize = 4;

/// Compare snapshots: time, tokens, and memory growth.
///
/// Exits with 1 when a requirement is not met, and with 2 on wrong usage.
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
    /// Only the first N saved pages.
    #[arg(long, value_name = "N")]
    pages: Option<usize>,
    /// Only pages with this text in their name; lists are called `items-1000.html` and so on.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// The folder that npm installed the other tools into; without it agbrowse is measured alone.
    #[arg(long, value_name = "DIR")]
    rivals: Option<PathBuf>,
    /// The agbrowse program; the one beside this program when absent.
    #[arg(long, value_name = "PATH")]
    agbrowse: Option<PathBuf>,
    /// The Chromium for all tools; AGBROWSE_CHROME or the one on the path when absent.
    #[arg(long, value_name = "PATH")]
    chrome: Option<PathBuf>,
    /// A folder with `pages/*.html`; AGBROWSE_CORPUS or `../shared/corpus` beside this project when absent.
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// The document for the results; `docs/benchmarks.md` of this project when absent.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the texts whose tokens are counted to this folder.
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

/// Runs the benchmark; `true` when all measured requirements are met.
fn run(cli: &Cli) -> Result<bool> {
    let mut setting = BenchSetup::of(cli)?;
    setting.warm_up()?;
    let mut results = Results::default();
    if cli.rounds > 0 {
        results.page_results = setting.page_results(cli.rounds)?;
    }
    if !cli.skip_tokens {
        (results.texts, results.failed_texts) = setting.texts(cli.keep.as_deref())?;
    }
    // Earlier results are written even if this fails.
    let memory = if cli.snapshots > 0 { setting.memory(cli.snapshots) } else { Ok(None) };
    if let Ok(memory) = &memory {
        results.memory = *memory;
    }

    println!("{}", results.tables());
    let requirements = results.requirements();
    println!("{}", report::requirements(&requirements));
    let out = cli.out.clone().unwrap_or_else(|| project().join("docs/benchmarks.md"));
    write(&out, cli, &setting, &results, &requirements)?;
    memory?;
    Ok(!requirements.iter().any(Requirement::is_missed))
}

/// Setup of a benchmark run.
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
    /// Versions of Chromium, agbrowse and the other tools.
    versions: Vec<String>,
    /// Notes on omissions, with reasons.
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
        if corpus.is_generated {
            eprintln!("note: no corpus found, so pages are generated");
        }
        corpus.pages.truncate(cli.pages.unwrap_or(usize::MAX));
        let is_wanted = |page: &Page| cli.only.as_ref().is_none_or(|text| page.name.contains(text));
        corpus.pages.retain(is_wanted);
        let (pages, warm_up) = serve(&corpus, cli.skip_50k, is_wanted)?;
        if pages.is_empty() {
            return Err(Error::WrongCall("no page is left to measure".into()));
        }
        let machine = machine::read();
        if let Some(load) = machine.load.filter(|load| *load > 0.5) {
            eprintln!("note: the machine is busy: load {load}");
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

    /// Visits a small page once with every contender. Other tools that fail are left out.
    fn warm_up(&mut self) -> Result<()> {
        let racers = std::mem::take(&mut self.racers);
        for mut racer in racers {
            eprintln!("warm-up: {}", racer.form.name());
            let page = race::BenchPage { url: &self.warm_up.url, is_vast: false };
            match racer.visit(page, &self.numbers) {
                Ok(_) => self.racers.push(racer),
                Err(error) if !racer.form.is_rival() => return Err(error),
                Err(error) => self.note(format!("{} was left out: {error}", racer.form.name())),
            }
        }
        Ok(())
    }

    /// Measures all pages, with all contenders in turns on each.
    fn page_results(&mut self, rounds: usize) -> Result<Vec<PageResult>> {
        let mut page_results = Vec::new();
        for (number, page) in self.pages.clone().into_iter().enumerate() {
            let began = Instant::now();
            let elements = self.elements(&page);
            let is_long = page.kind == PageKind::List(LONG_LIST);
            let racers = self
                .racers
                .iter_mut()
                .filter(|racer| !is_long || matches!(racer.form, Form::Walk | Form::Library));
            let mut result = PageResult { page, elements, times: Vec::new(), failed: Vec::new() };
            let page = race::BenchPage { url: &result.page.url, is_vast: is_long };
            for (form, times) in race::race(racers, page, rounds, &self.numbers)? {
                match times {
                    Ok(times) => result.times.push((form, times)),
                    Err(error) => {
                        self.note(format!(
                            "{} failed on {}: {error}",
                            form.name(),
                            result.page.name
                        ));
                        result.failed.push(form);
                    }
                }
            }
            eprintln!(
                "times: {} of {}: {} ({:.0} s)",
                number + 1,
                self.pages.len(),
                result.page.name,
                began.elapsed().as_secs_f64()
            );
            page_results.push(result);
        }
        Ok(page_results)
    }

    /// Number of elements of a page, for orientation only; `None` when it cannot be read.
    fn elements(&self, page: &BenchPage) -> Option<usize> {
        self.library.open(&page.url).ok()?;
        let count = self.library.eval("document.querySelectorAll('*').length").ok()?;
        count.text.trim().parse().ok()
    }

    /// Counts the tokens of all pages but the largest; returns the names of failed pages, too.
    fn texts(&mut self, keep: Option<&Path>) -> Result<(Vec<TokenCounts>, Vec<String>)> {
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
            let texts = match self.snapshot_texts(page) {
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
            counted.push(TokenCounts::count(page, &texts));
        }
        Ok((counted, failed))
    }

    /// The texts of every tool for a page, in a new browser: refs numbered on from page to page would cost
    /// more tokens.
    fn snapshot_texts(&mut self, page: &BenchPage) -> Result<SnapshotTexts> {
        let library = Library::new(&self.chrome)?;
        library.open(&page.url)?;
        let whole = library.snapshot(View::Whole)?.text;
        let refs_only = library.snapshot(View::RefsOnly)?.text;
        library.snapshot(View::Delta)?;
        let (script, new_text) = self.numbers.next_change();
        let element = library.eval(&script)?.text;
        let delta = library.snapshot(View::Delta)?.text;
        drop(library);

        let forms = [Form::PlaywrightLibrary, Form::PlaywrightMcp];
        let racer = forms
            .iter()
            .find_map(|form| self.racers.iter().position(|racer| racer.form == *form))
            .map(|at| &mut self.racers[at]);
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
        Ok(SnapshotTexts {
            whole,
            refs_only,
            is_delta_seen: delta.contains(&new_text),
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
        result: Result<Option<T>>,
    ) -> Option<T> {
        result.unwrap_or_else(|error| {
            self.note(format!("the tokens of {name} on {} are missing: {error}", page.name));
            None
        })
    }

    /// Measures the daemon's memory after a tenth of the snapshots and after all, over the saved pages.
    fn memory(&mut self, snapshots: usize) -> Result<Option<MemoryUse>> {
        let pages: Vec<BenchPage> =
            self.pages.iter().filter(|page| page.kind == PageKind::Saved).cloned().collect();
        let early = snapshots / 10;
        if pages.is_empty() || early < pages.len() {
            self.note("memory was left out: too few pages or snapshots".into());
            return Ok(None);
        }
        stop(&self.ours);
        let began = Instant::now();
        let mut memory = MemoryUse { early: None, late: None, snapshots: 0, failed: 0 };
        let read = |setting: &Self| -> Result<Memory> {
            // The same page each time, so that the cached page is the same.
            setting.ours.run(["open", &pages[0].url])?;
            setting.ours.run(["snapshot"])?;
            setting.ours.daemon_memory()
        };
        while memory.snapshots < snapshots && began.elapsed() < MEMORY_TIME {
            let page = &pages[memory.snapshots / ON_EACH % pages.len()];
            let before = match memory.snapshots % ON_EACH {
                0 => self.ours.run(["open", &page.url]).map(drop),
                2 => self.ours.run(["eval", &self.numbers.next_change().0]).map(drop),
                _ => Ok(()),
            };
            if let Err(error) = before.and_then(|()| self.ours.run(["snapshot"]).map(drop)) {
                if memory.failed == 0 {
                    self.note(format!("a snapshot of {} failed: {error}", page.name));
                }
                memory.failed += 1;
            }
            memory.snapshots += 1;
            if memory.snapshots == early {
                memory.early = Some(read(self)?);
            }
            if memory.snapshots.is_multiple_of(snapshots.div_ceil(10)) {
                eprintln!("memory: {} of {snapshots} snapshots", memory.snapshots);
            }
        }
        memory.late = Some(read(self)?);
        stop(&self.ours);
        if memory.snapshots < snapshots || memory.failed * 20 > snapshots {
            return Err(Error::Failed(format!(
                "of {snapshots} snapshots {} were taken within {} s and {} failed: memory after them \
                 is meaningless",
                memory.snapshots,
                MEMORY_TIME.as_secs(),
                memory.failed
            )));
        }
        Ok(Some(memory))
    }

    fn note(&mut self, note: String) {
        eprintln!("note: {note}");
        self.notes.push(note);
    }
}

/// Serves the saved pages and the lists; also returns a page for warming up.
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

/// Creates all contenders. Those of one tool share its browser.
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

/// Writes the section of the document, and its picture.
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
         takes two more of the unchanged page. Only snapshots are timed. *Bare walk* is `bench/walk.js`, by the \
         same connection and in the same browser as our library. *Library* and the libraries of the others are \
         timed inside their process; servers by the round trip over their pipe or socket; *commands* from the \
         start of their process to its end, with the daemon up. *Fastest* is the fastest of all forms of all \
         others on that page in that case.\n\n\
         After a change a tenth of the fastest is the goal; the table has the requirements.\n\n",
    );
    _ = writeln!(body, "{}", report::requirements(requirements));
    if !results.page_results.is_empty() {
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

/// Machine, date, versions and omissions of the run.
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

/// The command that repeats the run: options that affect the numbers, without paths of this machine.
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
