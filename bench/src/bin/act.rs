//! Benchmark of clicks: time until the event is dispatched and until the reply is there, beside
//! `agent-browser`; and the time of a refusal.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal: tables on standard output, progress on standard error"
)]

use agbrowse_bench::corpus::{Corpus, Page, Server};
use agbrowse_bench::json_child::Peer;
use agbrowse_bench::machine::{self, Machine};
use agbrowse_bench::ours::{Clicked, Library, View};
use agbrowse_bench::plot::{self, Bar, Panel, Tone};
use agbrowse_bench::report::{self, Requirement, Table};
use agbrowse_bench::stats::{self, Summary};
use agbrowse_bench::tool::{self, Kind, Tool};
use agbrowse_bench::turns::{self, Rounds, TakeTurn};
use agbrowse_bench::{Error, Result, project};
use clap::Parser;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Maximum time until dispatch, relative to the other tool's click.
const DISPATCH_RATIO: f64 = 0.2;
/// Maximum time until the reply, relative to the other tool's click.
const SETTLED_RATIO: f64 = 0.5;
/// Maximum time of a refusal, in milliseconds.
const REFUSAL_MS: f64 = 20.0;

/// Warm-up rounds.
const WARM_UP: usize = 10;

const COUNTER: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Counter</title>\
    <h1 id=n>0</h1><button onclick='n.textContent = +n.textContent + 1'>Count</button>\
    <button id=gone>Gone</button><ul><li>One<li>Two<li>Three</ul>";

/// Compare clicks: time until dispatched, time until settled, and time of a refusal.
///
/// Exits with 1 when a requirement is not met, and with 2 on wrong usage.
#[derive(Debug, Parser)]
#[command(name = "act")]
struct Cli {
    /// Measured rounds.
    #[arg(long, value_name = "N", default_value_t = 300)]
    runs: usize,
    /// The agbrowse program; the one beside this program when absent.
    #[arg(long, value_name = "PATH")]
    agbrowse: Option<PathBuf>,
    /// The `agent-browser` to compare with; the one on the path when absent.
    #[arg(long, value_name = "PATH")]
    rival: Option<PathBuf>,
    /// The Chromium for all tools; AGBROWSE_CHROME or the one on the path when absent.
    #[arg(long, value_name = "PATH")]
    chrome: Option<PathBuf>,
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

fn run(cli: &Cli) -> Result<bool> {
    if cfg!(debug_assertions) {
        eprintln!("note: this is a debug build; its times mean little");
    }
    let chrome = tool::browser(cli.chrome.as_deref())?;
    let ours = tool::our_program(cli.agbrowse.as_deref())?;
    let ours = Tool::new(Kind::Agbrowse, &ours, &chrome)?;
    let rival = match cli.rival.clone().or_else(tool::find_rival) {
        Some(path) => Some(Tool::new(Kind::AgentBrowser, &path, &chrome)?),
        None => {
            eprintln!("note: agent-browser is not found; to compare: {}", tool::GET_RIVAL);
            None
        }
    };
    let mut versions = vec![tool::browser_version(&chrome)?, ours.version()?];
    if let Some(rival) = &rival {
        versions.push(rival.version()?);
    }
    let facts = Facts { machine: machine::read(), versions };
    let results = measure(&ours, rival.as_ref(), &chrome, cli.runs)?;
    println!("{}", results.table());
    let requirements = results.requirements();
    println!("{}", report::requirements(&requirements));
    let out = cli.out.clone().unwrap_or_else(|| project().join("docs/benchmarks.md"));
    write(&out, &facts, &results, &requirements)?;
    Ok(!requirements.iter().any(Requirement::is_missed))
}

struct Facts {
    machine: Machine,
    versions: Vec<String>,
}

/// Samples by name.
#[derive(Default)]
struct Results {
    rows: Vec<(&'static str, Summary)>,
}

const LIBRARY_OUT: &str = "agbrowse, library: out";
const LIBRARY: &str = "agbrowse, library: settled";
const COMMAND_OUT: &str = "agbrowse, command: out";
const COMMAND: &str = "agbrowse, command: settled";
const SOCKET: &str = "agent-browser, socket";
const RIVAL: &str = "agent-browser, command";
const REFUSED: &str = "agbrowse, library: a stale ref refused";
const CAN: &str = "agbrowse, library: `can click`";

/// Measures the clicks of all contenders, in turns.
fn measure(ours: &Tool, rival: Option<&Tool>, chrome: &Path, runs: usize) -> Result<Results> {
    let page = Page { name: "counter.html".into(), html: COUNTER.into() };
    let corpus = Corpus { pages: vec![page.clone()], is_generated: true };
    let server = Server::start(&corpus)?;
    let url = server.url(&page);
    let library = Library::new(chrome)?;
    library.open(&url)?;
    let page = library.snapshot(View::Whole)?.text;
    let (count, removed) = (ref_of(&page, "Count")?, ref_of(&page, "Gone")?);
    library.eval("document.getElementById('gone').remove()")?;
    ours.run(["open", &url])?;
    let page = ours.run(["snapshot"])?.stdout;
    let command_ref = ref_of(&page, "Count")?;
    let (library_outs, command_outs) = (RefCell::default(), RefCell::default());
    let mut calls: Vec<(&'static str, TakeTurn<'_>)> = vec![(
        LIBRARY,
        Box::new(|| {
            let Clicked { ms, out_ms } = library.click(&count)?;
            RefCell::<Vec<f64>>::borrow_mut(&library_outs).push(out_ms);
            Ok(ms)
        }),
    )];
    let mut commands: Vec<(&'static str, TakeTurn<'_>)> = vec![(
        COMMAND,
        Box::new(|| {
            let finished = ours.run(["click", &command_ref, "--json"])?;
            RefCell::<Vec<f64>>::borrow_mut(&command_outs).push(dispatched_ms(&finished.stdout)?);
            Ok(finished.elapsed_ms())
        }),
    )];
    if let Some(rival) = rival {
        rival.run(["open", &url])?;
        let page = rival.run(["snapshot", "-i"])?.stdout;
        let name = ref_of(&page, "Count")?;
        let name = if name.starts_with('@') { name } else { format!("@{name}") };
        let mut peer = Peer::connect("agent-browser", &rival.socket())?;
        let selector = name.clone();
        let call = move || {
            let request = SocketRequest { action: "click", selector: selector.clone() };
            let answer = peer.request::<DriverReply>(&request)?;
            match answer.body.success {
                true => Ok(answer.ms),
                false => Err(Error::Failed("agent-browser does not click".into())),
            }
        };
        calls.push((SOCKET, Box::new(call)));
        commands.push((RIVAL, Box::new(move || Ok(rival.run(["click", &name])?.elapsed_ms()))));
    }
    let refusals: Vec<(&'static str, TakeTurn<'_>)> = vec![
        (REFUSED, Box::new(|| library.refused_click(&removed))),
        (CAN, Box::new(|| library.can_click(&count))),
    ];
    // Only like contenders take turns, so that no browser is kept warm by another kind of call.
    let rounds = Rounds { warm_up: WARM_UP, counted: runs };
    let total = rounds.warm_up + rounds.counted;
    let every = total.div_ceil(10).max(1);
    let mut rows = Vec::new();
    for (phase, turns) in [("calls", calls), ("commands", commands), ("refusals", refusals)] {
        let (names, mut goes): (Vec<_>, Vec<_>) = turns.into_iter().unzip();
        let samples = turns::take_turns(rounds, &mut goes, |done| {
            if done % every == 0 {
                eprintln!("{phase}: {done} of {total}");
            }
        })?;
        rows.extend(names.into_iter().zip(samples));
    }
    let counted = |outs: RefCell<Vec<f64>>| outs.into_inner().split_off(WARM_UP);
    rows.push((LIBRARY_OUT, counted(library_outs)));
    rows.push((COMMAND_OUT, counted(command_outs)));
    let mut results = Results::default();
    for name in [LIBRARY_OUT, COMMAND_OUT, LIBRARY, COMMAND, REFUSED, CAN, SOCKET, RIVAL] {
        let samples = rows.iter().find(|(row, _)| *row == name).map(|(_, samples)| samples);
        let summary = samples.and_then(|samples| stats::summarize(samples));
        results.rows.extend(summary.map(|summary| (name, summary)));
    }
    // Verifies that all clicks arrived.
    let counted = library.eval("document.getElementById('n').textContent")?.text;
    if counted.trim() != total.to_string() {
        return Err(Error::Failed(format!("{counted} clicks were counted, expected {total}")));
    }
    Ok(results)
}

#[derive(Serialize)]
struct SocketRequest {
    action: &'static str,
    selector: String,
}

#[derive(Deserialize)]
struct DriverReply {
    success: bool,
}

/// The ref in the line with a name.
fn ref_of(text: &str, name: &str) -> Result<String> {
    let line = text.lines().find(|line| line.contains(&format!("\"{name}\"")));
    let from = line.and_then(|line| line.split_once("ref=")).map(|(_, from)| from);
    let found = from.and_then(|from| from.split([']', ' ', ',']).next());
    found.map(str::to_owned).ok_or_else(|| Error::Failed(format!("no ref of {name} in\n{text}")))
}

/// Time of dispatch, from the receipt of a command.
fn dispatched_ms(json: &str) -> Result<f64> {
    #[derive(Deserialize)]
    struct Envelope {
        result: Receipt,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Receipt {
        dispatched_ms: f64,
    }
    serde_json::from_str::<Envelope>(json)
        .map(|envelope| envelope.result.dispatched_ms)
        .map_err(|error| Error::Failed(format!("the receipt cannot be read: {error}")))
}

impl Results {
    fn of(&self, name: &str) -> Option<Summary> {
        self.rows.iter().find(|(row, _)| *row == name).map(|(_, summary)| *summary)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["ms", "median", "p10", "p90", "rounds"]);
        for (name, Summary { count, median, p10, p90 }) in &self.rows {
            let ms = |value: &f64| format!("{value:.2}");
            table.row([(*name).to_owned(), ms(median), ms(p10), ms(p90), count.to_string()]);
        }
        table
    }

    fn requirements(&self) -> Vec<Requirement> {
        let ratio =
            |ours: &str, theirs: &str| Some(self.of(ours)?.median / self.of(theirs)?.median);
        let row = |name: &str, limit, unit, measured| Requirement {
            name: name.into(),
            limit,
            unit,
            measured,
        };
        let median = |name| self.of(name).map(|summary| summary.median);
        vec![
            row("out: library / socket", DISPATCH_RATIO, "", ratio(LIBRARY_OUT, SOCKET)),
            row("settled: library / socket", SETTLED_RATIO, "", ratio(LIBRARY, SOCKET)),
            row("out: command / command", DISPATCH_RATIO, "", ratio(COMMAND_OUT, RIVAL)),
            row("settled: command / command", SETTLED_RATIO, "", ratio(COMMAND, RIVAL)),
            row("a stale ref refused", REFUSAL_MS, " ms", median(REFUSED)),
            row("`can click` answered", REFUSAL_MS, " ms", median(CAN)),
        ]
    }
}

/// Writes the section of the document, and its picture.
fn write(out: &Path, facts: &Facts, results: &Results, requirements: &[Requirement]) -> Result<()> {
    let folder = out.with_extension("");
    std::fs::create_dir_all(&folder)?;
    let bar = |(name, summary): &(&'static str, Summary)| Bar {
        label: (*name).into(),
        value: summary.median,
        spread: Some((summary.p10, summary.p90)),
        limit: None,
        tone: if name.starts_with("agent-browser") { Tone::Theirs } else { Tone::Ours },
    };
    let panel = Panel {
        title: "a click on a counter, ms (median, p10 to p90)".into(),
        bars: results.rows.iter().map(bar).collect(),
    };
    std::fs::write(folder.join("act.svg"), plot::draw(&[panel]))?;
    let picture = folder.file_name().unwrap_or_default().display().to_string() + "/act.svg";
    let mut body = String::from(
        "## Clicks\n\n\
         Clicks on a counter button by its ref, on one machine; compared contenders take turns. *Out* is the time until the \
         events are dispatched to the browser; *settled* is the whole call, with its effects and the delta of the page. \
         The other tool's click has neither: it is compared as a whole.\n\n",
    );
    _ = writeln!(body, "{}", report::requirements(requirements));
    _ = writeln!(body, "![The numbers below as bars]({picture})\n");
    _ = writeln!(body, "{}", results.table());
    _ = writeln!(body, "- Date: {}\n- Machine: {}", machine::today(), facts.machine);
    _ = writeln!(body, "- Versions: {}\n", facts.versions.join("; "));
    _ = write!(body, "```sh\n./dev bench act\n```\n");
    report::write_section(out, "act", &body)?;
    eprintln!("written: {} and {}", out.display(), folder.join("act.svg").display());
    Ok(())
}
