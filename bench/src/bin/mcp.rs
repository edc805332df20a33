//! Benchmark of MCP servers: start-up time, time of a snapshot and a click, memory, and tokens of the tool
//! list.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal: tables on standard output, progress on standard error"
)]

use agbrowse_bench::contender::Contender;
use agbrowse_bench::corpus::{self, Corpus, ONLY_LOOPBACK, Page, Server as Pages};
use agbrowse_bench::machine::{self, Machine};
use agbrowse_bench::plot::{self, Bar, Panel, Tone};
use agbrowse_bench::report::{self, Requirement, Table};
use agbrowse_bench::rivals::{self, Mcp, Rivals, Server};
use agbrowse_bench::stats::{self, Summary};
use agbrowse_bench::tool::{self, Kind, Tool};
use agbrowse_bench::{Error, Result, process, project, tokens};
use clap::Parser;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

/// Maximum time from start to the first reply, relative to the fastest server in Node.
const START_RATIO: f64 = 0.2;
/// Maximum time of a snapshot after a change, relative to the fastest.
const SNAPSHOT_RATIO: f64 = 0.2;
/// Maximum time of a click, relative to the fastest.
const CLICK_RATIO: f64 = 0.5;
/// Maximum memory before the first page, in MB.
const IDLE_MB: f64 = 15.0;
/// Maximum memory after the corpus, in MB.
const AFTER_MB: f64 = 30.0;
/// Maximum tokens of the tool list.
const SCHEMA_TOKENS: f64 = 1500.0;

/// Warm-up rounds.
const WARM_UP: usize = 2;

const COUNTER: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Counter</title>\
    <h1 id=n>0</h1><button onclick='n.textContent = +n.textContent + 1'>Count</button>\
    <ul><li>One<li>Two<li>Three</ul>";

/// Compare MCP servers.
///
/// Exits with 1 when a requirement is not met, and with 2 on wrong usage.
#[derive(Debug, Parser)]
#[command(name = "mcp")]
struct Cli {
    /// Measured rounds.
    #[arg(long, value_name = "N", default_value_t = 10)]
    runs: usize,
    /// The agbrowse program; the one beside this program when absent.
    #[arg(long, value_name = "PATH")]
    agbrowse: Option<PathBuf>,
    /// The folder that npm installed the others into.
    #[arg(long, value_name = "DIR")]
    rivals: Option<PathBuf>,
    /// The Chromium for all servers; AGBROWSE_CHROME or the one on the path when absent.
    #[arg(long, value_name = "PATH")]
    chrome: Option<PathBuf>,
    /// The folder of the corpus; `../shared/corpus` beside this project when absent.
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// The document for the results; `docs/benchmarks.md` of this project when absent.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
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

/// A measured quantity of each server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MeasuredStep {
    Start,
    Snapshot,
    Items,
    Click,
    Idle,
    After,
    Tokens,
}

impl MeasuredStep {
    const ALL: [Self; 7] = [
        Self::Start,
        Self::Snapshot,
        Self::Items,
        Self::Click,
        Self::Idle,
        Self::After,
        Self::Tokens,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Start => "start to first reply, browser up, ms",
            Self::Snapshot => "snapshot after a change, median real page, ms",
            Self::Items => "snapshot after a change, 1,000 items, ms",
            Self::Click => "click, settled, ms",
            Self::Idle => "memory before the first page, MB",
            Self::After => "memory after the corpus, MB",
            Self::Tokens => "tokens of the list of tools",
        }
    }
}

type Results = BTreeMap<(MeasuredStep, &'static str), Summary>;

const ORDER: [Server; 4] =
    [Server::Ours, Server::Playwright, Server::DevTools, Server::AgentBrowser];

struct Bench {
    ours: Tool,
    agent_browser: Option<Tool>,
    rivals: Option<Rivals>,
    pages: Pages,
    corpus: Corpus,
    counter: Page,
    items: Page,
    chrome: PathBuf,
}

fn run(cli: &Cli) -> Result<bool> {
    if cfg!(debug_assertions) {
        eprintln!("note: this is a debug build; its times mean little");
    }
    let chrome = tool::browser(cli.chrome.as_deref())?;
    let ours = Tool::new(Kind::Agbrowse, &tool::our_program(cli.agbrowse.as_deref())?, &chrome)?;
    let rivals = cli.rivals.as_deref().map(|dir| Rivals::at(dir, &chrome)).transpose()?;
    if rivals.is_none() {
        eprintln!("note: nothing to compare with: {}", rivals::GET_RIVALS);
    }
    let mut versions = vec![tool::browser_version(&chrome)?, ours.version()?];
    let mut agent_browser = None;
    if let Some(rivals) = &rivals {
        for package in rivals::PACKAGES {
            versions.extend(rivals.version(package).map(|version| format!("{package} {version}")));
        }
        let program = rivals.program("agent-browser");
        agent_browser = Some(Tool::new(Kind::AgentBrowser, &program, &chrome)?);
    }
    let mut corpus = Corpus::load(&corpus::folder(cli.corpus.as_deref()))?;
    let counter = Page { name: "counter.html".into(), html: COUNTER.into() };
    let items = corpus::items(1000);
    let described = corpus.describe();
    let real = corpus.pages.clone();
    corpus.pages.extend([counter.clone(), items.clone()]);
    let pages = Pages::start(&corpus)?;
    corpus.pages = real;
    let bench = Bench { ours, agent_browser, rivals, pages, corpus, counter, items, chrome };
    let mut results = Results::new();
    bench.measure_starts(cli.runs, &mut results)?;
    bench.measure_work(cli.runs, &mut results)?;
    println!("{}", table(&results));
    let requirements = requirements(&results);
    println!("{}", report::requirements(&requirements));
    let out = cli.out.clone().unwrap_or_else(|| project().join("docs/benchmarks.md"));
    let facts = Facts { machine: machine::read(), versions, corpus: described };
    write(&out, &facts, &results, &requirements)?;
    Ok(!requirements.iter().any(Requirement::is_missed))
}

/// A running Chromium for others to attach to.
struct Up {
    child: Child,
    endpoint: String,
    _folder: tempfile::TempDir,
}

impl Up {
    fn start(chrome: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("agbench-").tempdir()?;
        let mut command = Command::new(chrome);
        command
            .args(["--headless=new", "--remote-debugging-port=0", "--no-first-run", ONLY_LOOPBACK])
            .arg(format!("--user-data-dir={}", folder.path().display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if rivals::is_root() {
            command.arg("--no-sandbox");
        }
        let mut child = command.arg("about:blank").spawn()?;
        let stderr = child.stderr.take();
        let mut lines =
            BufReader::new(stderr.ok_or_else(|| Error::Failed("no pipe".into()))?).lines();
        let endpoint = lines.find_map(|line| {
            let line = line.ok()?;
            let rest = line.split_once("listening on ws://")?.1.to_owned();
            rest.split('/').next().map(|host| format!("http://{host}"))
        });
        // Drains its output, so that it never blocks on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let endpoint = endpoint.ok_or_else(|| Error::Failed("Chromium does not listen".into()))?;
        Ok(Self { child, endpoint, _folder: folder })
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // It may have exited by itself.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Bench {
    fn servers(&self) -> Vec<Server> {
        match self.rivals {
            Some(_) => ORDER.to_vec(),
            None => vec![Server::Ours],
        }
    }

    /// Starts our server, or that of `agent-browser`: both use a daemon with a browser.
    fn with_daemon(&self, server: Server, session: &[&str]) -> Result<Mcp> {
        let folder = tempfile::Builder::new().prefix("agbench-").tempdir()?;
        let mut command = match (server, &self.agent_browser) {
            (Server::AgentBrowser, Some(tool)) => tool.command(["mcp"]),
            _ => {
                let args = ["mcp", "--caps", "script", "--max-tokens", "10000000"];
                self.ours.command(args.iter().chain(session))
            }
        };
        Mcp::start(server, &mut command, folder)
    }

    /// Measures the time from process start until the tab list of a running browser is received.
    fn measure_starts(&self, runs: usize, results: &mut Results) -> Result<()> {
        self.ours.run(["open", "about:blank"])?;
        if let Some(tool) = &self.agent_browser {
            tool.run(["open", "about:blank"])?;
        }
        let up = Up::start(&self.chrome)?;
        let mut samples: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for round in 0..WARM_UP + runs {
            for server in self.servers() {
                let began = Instant::now();
                let mut mcp = match (server, &self.rivals) {
                    (Server::Playwright, Some(rivals)) => rivals.playwright_mcp_at(&up.endpoint)?,
                    (Server::DevTools, Some(rivals)) => rivals.devtools_mcp_at(&up.endpoint)?,
                    _ => self.with_daemon(server, &["--session", "default"])?,
                };
                mcp.tabs()?;
                let ms = began.elapsed().as_secs_f64() * 1000.0;
                if round >= WARM_UP {
                    samples.entry(server.name()).or_default().push(ms);
                }
            }
            eprintln!("starts: {} of {}", round + 1, WARM_UP + runs);
        }
        self.ours.stop();
        if let Some(tool) = &self.agent_browser {
            tool.stop();
        }
        add(results, MeasuredStep::Start, &samples);
        Ok(())
    }

    /// Measures snapshots and clicks in turns, and the memory of all servers before and after.
    fn measure_work(&self, runs: usize, results: &mut Results) -> Result<()> {
        let mut all: Vec<(Server, Mcp)> = Vec::new();
        for server in self.servers() {
            let mcp = match (server, &self.rivals) {
                (Server::Playwright, Some(rivals)) => rivals.playwright_mcp()?,
                (Server::DevTools, Some(rivals)) => rivals.devtools_mcp()?,
                _ => self.with_daemon(server, &[])?,
            };
            all.push((server, mcp));
        }
        let mut weights: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        let mut costs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (server, mcp) in &mut all {
            mcp.list()?;
            costs.insert(server.name(), vec![tokens::count(&mcp.schemas) as f64]);
            weights.insert(server.name(), vec![self.memory_mb(*server, mcp)?]);
        }
        add(results, MeasuredStep::Tokens, &costs);
        add(results, MeasuredStep::Idle, &weights);

        let mut clicks: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        let counter = self.pages.url(&self.counter);
        let mut names = Vec::new();
        for (_, mcp) in &mut all {
            mcp.open(&counter)?;
            names.push(ref_of(&mcp.snapshot()?.text, "Count")?);
        }
        let total = WARM_UP + runs * 3;
        for round in 0..total {
            for ((server, mcp), name) in all.iter_mut().zip(&names) {
                let ms = mcp.click(name)?.ms;
                if round >= WARM_UP {
                    clicks.entry(server.name()).or_default().push(ms);
                }
            }
        }
        for (server, mcp) in &mut all {
            // Verifies that all clicks arrived.
            let counted = mcp.value("document.getElementById('n').textContent")?;
            if !counted.contains(&total.to_string()) {
                let name = server.name();
                return Err(Error::Failed(format!(
                    "{name} clicked otherwise than {total} times: {counted}"
                )));
            }
        }
        add(results, MeasuredStep::Click, &clicks);
        eprintln!("clicks: done");

        let mut medians: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        let pages = self.corpus.pages.iter().chain([&self.items]);
        for page in pages {
            let mut samples: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
            for (_, mcp) in &mut all {
                mcp.open(&self.pages.url(page))?;
                mcp.snapshot()?;
            }
            for round in 0..1 + runs.div_ceil(2) {
                for (server, mcp) in &mut all {
                    mcp.script(&format!("void (document.title = 'round {round}', document.body.append(document.createElement('p')), document.body.lastChild.textContent = 'round {round}')"))?;
                    let ms = mcp.snapshot()?.ms;
                    if round > 0 {
                        samples.entry(server.name()).or_default().push(ms);
                    }
                }
            }
            if page.name == self.items.name {
                add(results, MeasuredStep::Items, &samples);
                continue;
            }
            for (name, samples) in samples {
                if let Some(summary) = stats::summarize(&samples) {
                    medians.entry(name).or_default().push(summary.median);
                }
            }
            eprintln!("snapshots: {}", page.name);
        }
        add(results, MeasuredStep::Snapshot, &medians);
        let mut weights: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (server, mcp) in &all {
            weights.insert(server.name(), vec![self.memory_mb(*server, mcp)?]);
        }
        add(results, MeasuredStep::After, &weights);
        Ok(())
    }

    /// Memory of a server without its browser, including its daemon.
    fn memory_mb(&self, server: Server, mcp: &Mcp) -> Result<f64> {
        let lost = || Error::Failed(format!("the memory of {} is not known", server.name()));
        let pid = mcp.pid().ok_or_else(lost)?;
        let own = process::settled_memory(pid).ok_or_else(lost)?.now_mb();
        let daemon = match server {
            Server::Ours => process::memory_of_named(&format!("agbrowse-daemon-mcp-{pid}")),
            Server::AgentBrowser => {
                self.agent_browser.as_ref().and_then(|tool| tool.daemon_memory().ok())
            }
            Server::Playwright | Server::DevTools => None,
        };
        Ok(own + daemon.map_or(0.0, process::Memory::now_mb))
    }
}

fn add(results: &mut Results, step: MeasuredStep, samples: &BTreeMap<&str, Vec<f64>>) {
    for server in ORDER {
        let summary = samples.get(server.name()).and_then(|samples| stats::summarize(samples));
        results.extend(summary.map(|summary| ((step, server.name()), summary)));
    }
}

/// The ref in the line with a name: `[ref=e3]`, or `uid=1_3` before it.
fn ref_of(text: &str, name: &str) -> Result<String> {
    let line = text.lines().find(|line| line.contains(&format!("\"{name}\"")));
    let line = line.or_else(|| text.lines().find(|line| line.contains(&format!("\\\"{name}\\\""))));
    let from = line.and_then(|line| line.split_once("ref=").or_else(|| line.split_once("uid=")));
    let found = from.and_then(|(_, from)| from.split([']', ' ', ',']).next());
    found.map(str::to_owned).ok_or_else(|| Error::Failed(format!("no ref of {name} in\n{text}")))
}

fn table(results: &Results) -> Table {
    let mut table = Table::new([""].into_iter().chain(ORDER.map(Server::name)));
    for step in MeasuredStep::ALL {
        let cell = |server: Server| {
            results.get(&(step, server.name())).map_or_else(
                || "–".to_owned(),
                |summary| match step {
                    MeasuredStep::Tokens => format!("{:.0}", summary.median),
                    _ => format!("{:.1}", summary.median),
                },
            )
        };
        table.row([step.name().to_owned()].into_iter().chain(ORDER.map(cell)));
    }
    table
}

fn requirements(results: &Results) -> Vec<Requirement> {
    let of = |step, server: Server| results.get(&(step, server.name())).map(|it| it.median);
    let fastest = |step, among: &[Server]| {
        among.iter().filter_map(|server| of(step, *server)).min_by(f64::total_cmp)
    };
    let node = [Server::Playwright, Server::DevTools];
    let others = [Server::Playwright, Server::DevTools, Server::AgentBrowser];
    let ratio = |step, among: &[Server]| Some(of(step, Server::Ours)? / fastest(step, among)?);
    let row = |name: &str, limit, unit, measured| Requirement {
        name: name.into(),
        limit,
        unit,
        measured,
    };
    vec![
        row(
            "start to first reply / fastest in Node",
            START_RATIO,
            "",
            ratio(MeasuredStep::Start, &node),
        ),
        row(
            "snapshot after a change, real pages / fastest",
            SNAPSHOT_RATIO,
            "",
            ratio(MeasuredStep::Snapshot, &others),
        ),
        row(
            "snapshot after a change, 1,000 items / fastest",
            SNAPSHOT_RATIO,
            "",
            ratio(MeasuredStep::Items, &others),
        ),
        row("click, settled / fastest", CLICK_RATIO, "", ratio(MeasuredStep::Click, &others)),
        row(
            "memory before the first page, with the daemon",
            IDLE_MB,
            " MB",
            of(MeasuredStep::Idle, Server::Ours),
        ),
        row(
            "memory after the corpus, with the daemon",
            AFTER_MB,
            " MB",
            of(MeasuredStep::After, Server::Ours),
        ),
        row(
            "tokens of the list of tools",
            SCHEMA_TOKENS,
            "",
            of(MeasuredStep::Tokens, Server::Ours),
        ),
    ]
}

struct Facts {
    machine: Machine,
    versions: Vec<String>,
    corpus: String,
}

/// Writes the section of the document, and its picture.
fn write(out: &Path, facts: &Facts, results: &Results, requirements: &[Requirement]) -> Result<()> {
    let folder = out.with_extension("");
    std::fs::create_dir_all(&folder)?;
    let panels: Vec<Panel> = MeasuredStep::ALL
        .into_iter()
        .map(|step| Panel {
            title: step.name().into(),
            bars: ORDER
                .into_iter()
                .filter_map(|server| {
                    let summary = results.get(&(step, server.name()))?;
                    Some(Bar {
                        label: server.name().into(),
                        value: summary.median,
                        spread: Some((summary.p10, summary.p90)),
                        limit: None,
                        tone: if server == Server::Ours { Tone::Ours } else { Tone::Theirs },
                    })
                })
                .collect(),
        })
        .collect();
    std::fs::write(folder.join("mcp.svg"), plot::draw(&panels))?;
    let picture = folder.file_name().unwrap_or_default().display().to_string() + "/mcp.svg";
    let mut body = String::from(
        "## MCP servers\n\n\
         The same pages, the same Chromium, all servers in turns, over their standard input and output. *Start* is from \
         before the process is started until the tab list of a running browser is received. A snapshot is taken \
         after a paragraph was added to the page. Memory is without the browser; ours and that of `agent-browser` \
         includes the daemon.\n\n",
    );
    _ = writeln!(body, "{}", report::requirements(requirements));
    _ = writeln!(body, "![The numbers below as bars]({picture})\n");
    _ = writeln!(body, "{}", table(results));
    _ = writeln!(body, "- Date: {}\n- Machine: {}", machine::today(), facts.machine);
    _ = writeln!(body, "- Pages: {}\n- Versions: {}\n", facts.corpus, facts.versions.join("; "));
    _ = write!(body, "```sh\n./dev bench mcp\n```\n");
    report::write_section(out, "mcp", &body)?;
    eprintln!("written: {} and {}", out.display(), folder.join("mcp.svg").display());
    Ok(())
}
