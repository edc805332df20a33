//! Whole commands, from the start of their process to its end: warm, cold, and what the daemon keeps in memory.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a terminal: tables on standard output, progress on standard error"
)]

use agbrowse_bench::corpus::{self, Corpus, Server};
use agbrowse_bench::machine::{self, Machine};
use agbrowse_bench::plot::{self, Bar, Panel, Tone};
use agbrowse_bench::process::{self, Memory, megabytes};
use agbrowse_bench::report::{self, Requirement, Table};
use agbrowse_bench::stats::{self, Summary};
use agbrowse_bench::tool::{self, Kind, Tool};
use agbrowse_bench::turns::{self, Go, Rounds};
use agbrowse_bench::workload::{self, Run};
use agbrowse_bench::{Error, Result, project};
use clap::Parser;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// A warm command may take this much of what it takes the other tool, above what any process takes.
const WARM_RATIO: f64 = 0.5;
/// The first command may take this much of what it takes the other tool.
const COLD_RATIO: f64 = 0.75;
/// What the daemon may keep in memory with a browser and nothing to do, in MB.
const IDLE_MB: f64 = 10.0;
/// What the daemon may keep in memory after many commands, in MB.
const LOADED_MB: f64 = 25.0;

/// Rounds before those that count.
const WARM_UP: usize = 20;
const COLD_WARM_UP: usize = 1;
/// How long the many commands may take us, and how long we wait for the other tool to do the same.
const OUR_TIME: Duration = Duration::from_secs(15 * 60);
const RIVAL_TIME: Duration = Duration::from_secs(3 * 60);

/// Compare whole commands: warm, cold, and the daemon's memory.
///
/// Exits with 1 when a requirement is not met, and with 2 when called wrongly.
#[derive(Debug, Parser)]
#[command(name = "cli")]
struct Cli {
    /// Warm rounds that count; 0 leaves them out.
    #[arg(long, value_name = "N", default_value_t = 200)]
    runs: usize,
    /// Cold rounds that count; 0 leaves them out.
    #[arg(long, value_name = "N", default_value_t = 10)]
    cold_runs: usize,
    /// Commands after which memory is read; 0 leaves memory out.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    commands: usize,
    /// Our program; the one beside this program when absent.
    #[arg(long, value_name = "PATH")]
    agbrowse: Option<PathBuf>,
    /// The `agent-browser` to compare with; the one on the path when absent.
    #[arg(long, value_name = "PATH")]
    rival: Option<PathBuf>,
    /// The Chromium that both use; AGBROWSE_CHROME or the one on the path when absent.
    #[arg(long, value_name = "PATH")]
    chrome: Option<PathBuf>,
    /// A folder with `pages/*.html`; AGBROWSE_CORPUS or `../shared/corpus` beside this project when absent.
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// The document to put the results into; `docs/benchmarks.md` of this project when absent.
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

/// Whether all requirements that were measured are met.
fn run(cli: &Cli) -> Result<bool> {
    let setting = BenchSetup::of(cli)?;
    let warm = warm(&setting, cli.runs)?;
    let cold = cold(&setting, cli.cold_runs)?;
    let (ours, rival) = memory(&setting, cli.commands)?;
    let results = Results { warm, cold, ours, rival };

    println!("{}", results.tables());
    let requirements = results.requirements();
    println!("{}", report::requirements(&requirements));
    let out = cli.out.clone().unwrap_or_else(|| project().join("docs/benchmarks.md"));
    write(&out, &setting, &results, &requirements)?;
    Ok(!requirements.iter().any(Requirement::is_missed))
}

/// Everything that stands before the first measurement.
struct BenchSetup {
    ours: Tool,
    rival: Option<Tool>,
    corpus: Corpus,
    machine: Machine,
    /// Chromium, us, and the other tool.
    versions: Vec<String>,
}

impl BenchSetup {
    fn of(cli: &Cli) -> Result<Self> {
        if cfg!(debug_assertions) {
            eprintln!("note: this is a debug build; times of a debug build beside it mean little");
        }
        let chrome = tool::browser(cli.chrome.as_deref())?;
        let ours = tool::our_program(cli.agbrowse.as_deref())?;
        let ours = Tool::new(Kind::Agbrowse, &ours, &chrome)?;
        let rival = match cli.rival.clone().or_else(tool::find_rival) {
            Some(path) => Some(Tool::new(Kind::AgentBrowser, &path, &chrome)?),
            None => {
                eprintln!("note: agent-browser is not found, so agbrowse is measured alone");
                eprintln!("note: to compare: {}", tool::GET_RIVAL);
                None
            }
        };
        let mut versions = vec![tool::browser_version(&chrome)?, ours.version()?];
        if let Some(rival) = &rival {
            versions.push(rival.version()?);
        }
        let corpus = corpus::folder(cli.corpus.as_deref());
        let corpus = Corpus::load(&corpus)?;
        if corpus.made_up && cli.commands > 0 {
            eprintln!("note: no corpus is found, so pages are made up");
        }
        let machine = machine::look();
        if let Some(load) = machine.load.filter(|load| *load > 0.5) {
            eprintln!("note: the machine is not at rest: load {load}");
        }
        Ok(Self { ours, rival, corpus, machine, versions })
    }

    fn tools(&self) -> impl Iterator<Item = &Tool> {
        std::iter::once(&self.ours).chain(&self.rival)
    }
}

/// Times of the same thing done by each.
#[derive(Default)]
struct Times {
    nothing: Option<Summary>,
    ours: Option<Summary>,
    rival: Option<Summary>,
}

/// `eval 1` with daemon and browser up, beside a process that does nothing.
fn warm(setting: &BenchSetup, rounds: usize) -> Result<Times> {
    if rounds == 0 {
        return Ok(Times::default());
    }
    for tool in setting.tools() {
        tool.eval_one()?;
    }
    let nothing: Go<'_> = Box::new(|| {
        Ok(process::run(&mut tool::nothing(), tool::LIMIT).map(|finished| finished.elapsed_ms())?)
    });
    let tools = setting.tools().map(|tool| -> Go<'_> { Box::new(|| tool.eval_one()) });
    let mut contenders: Vec<Go<'_>> = std::iter::once(nothing).chain(tools).collect();
    let rounds = Rounds { warm_up: WARM_UP, counted: rounds };
    let samples = turns::take_turns(rounds, &mut contenders, progress("warm", rounds))?;
    let mut summaries = samples.iter().map(|samples| stats::summarize(samples));
    let mut next = || summaries.next().flatten();
    let times = Times { nothing: next(), ours: next(), rival: next() };
    setting.tools().for_each(stop);
    Ok(times)
}

/// `eval 1` with neither daemon nor browser.
fn cold(setting: &BenchSetup, rounds: usize) -> Result<Times> {
    if rounds == 0 {
        return Ok(Times::default());
    }
    setting.tools().for_each(stop);
    let go = |tool| -> Go<'_> {
        Box::new(move || {
            let sample = Tool::eval_one(tool)?;
            stop(tool);
            Ok(sample)
        })
    };
    let mut contenders: Vec<Go<'_>> = setting.tools().map(go).collect();
    let rounds = Rounds { warm_up: COLD_WARM_UP, counted: rounds };
    let samples = turns::take_turns(rounds, &mut contenders, progress("cold", rounds))?;
    let mut summaries = samples.iter().map(|samples| stats::summarize(samples));
    let mut next = || summaries.next().flatten();
    Ok(Times { nothing: None, ours: next(), rival: next() })
}

/// What a daemon kept in memory.
struct MemoryUse {
    idle: Memory,
    loaded: Memory,
    run: Run,
}

/// A daemon's memory with a browser and nothing to do, and after many commands.
fn memory(setting: &BenchSetup, commands: usize) -> Result<(Option<MemoryUse>, Option<MemoryUse>)> {
    if commands == 0 {
        return Ok((None, None));
    }
    let server = Server::start(&setting.corpus)?;
    let kept = |tool: &Tool, allowed| -> Result<MemoryUse> {
        stop(tool);
        tool.eval_one()?;
        let idle = tool.daemon_memory()?;
        let rounds = Rounds { warm_up: 0, counted: commands };
        let progress = progress(&format!("memory of {}", tool.name()), rounds);
        let run = workload::run(tool, &setting.corpus, &server, (commands, allowed), progress);
        if let Some(said) = &run.first_failure {
            eprintln!(
                "note: {} of {} commands failed; the first: {said}",
                run.failed, run.commands
            );
        }
        let loaded = tool.daemon_memory()?;
        stop(tool);
        Ok(MemoryUse { idle, loaded, run })
    };
    let ours = kept(&setting.ours, OUR_TIME)?;
    if ours.run.commands < commands || ours.run.failed * 20 > commands {
        return Err(Error::Failed(format!(
            "of {commands} commands {} were done within {} s and {} of these failed: memory after \
             them says nothing",
            ours.run.commands,
            OUR_TIME.as_secs(),
            ours.run.failed
        )));
    }
    let rival = setting.rival.as_ref().map(|rival| kept(rival, RIVAL_TIME)).transpose()?;
    Ok((Some(ours), rival))
}

fn stop(tool: &Tool) {
    let ended = tool.stop();
    if ended > 0 {
        eprintln!("note: {} left {ended} processes, which were ended", tool.name());
    }
}

/// Tells on standard error, ten times, how far a phase has come.
fn progress(phase: &str, rounds: Rounds) -> impl FnMut(usize) + use<> {
    let phase = phase.to_owned();
    let total = rounds.warm_up + rounds.counted;
    let every = total.div_ceil(10).max(1);
    eprintln!("{phase}: {total} to do");
    move |done| {
        if done % every == 0 || done == total {
            eprintln!("{phase}: {done} of {total}");
        }
    }
}

/// All that was measured.
struct Results {
    warm: Times,
    cold: Times,
    ours: Option<MemoryUse>,
    rival: Option<MemoryUse>,
}

impl Results {
    fn requirements(&self) -> Vec<Requirement> {
        let medians = |times: &Times| Some((times.ours?.median, times.rival?.median));
        let warm = medians(&self.warm)
            .and_then(|(ours, rival)| stats::ratio_above(self.warm.nothing?.median, ours, rival));
        let cold =
            medians(&self.cold).and_then(|(ours, rival)| stats::ratio_above(0.0, ours, rival));
        let kept =
            |memory: fn(&MemoryUse) -> Memory| self.ours.as_ref().map(|kept| memory(kept).now_mb());
        let requirement = |name: &str, limit, unit, measured| Requirement {
            name: name.into(),
            limit,
            unit,
            measured,
        };
        vec![
            requirement("warm: agbrowse / agent-browser, above `true`", WARM_RATIO, "", warm),
            requirement("cold: agbrowse / agent-browser", COLD_RATIO, "", cold),
            requirement("memory of the daemon, idle", IDLE_MB, " MB", kept(|kept| kept.idle)),
            requirement(
                "memory of the daemon, after the commands",
                LOADED_MB,
                " MB",
                kept(|kept| kept.loaded),
            ),
        ]
    }

    fn tables(&self) -> String {
        let mut text = String::new();
        if self.warm.ours.is_some() || self.cold.ours.is_some() {
            _ = writeln!(text, "{}", self.times());
        }
        if self.ours.is_some() {
            _ = writeln!(text, "{}", self.kept());
        }
        text.trim_end().to_owned() + "\n"
    }

    fn times(&self) -> Table {
        let mut table = Table::new(["ms", "median", "p10", "p90", "median above `true`", "rounds"]);
        let floor = self.warm.nothing.map(|nothing| nothing.median);
        for (name, summary, floor) in [
            ("`true`", self.warm.nothing, None),
            ("`agbrowse eval 1`, warm", self.warm.ours, floor),
            ("`agent-browser eval 1`, warm", self.warm.rival, floor),
            ("`agbrowse eval 1`, cold", self.cold.ours, None),
            ("`agent-browser eval 1`, cold", self.cold.rival, None),
        ] {
            let Some(Summary { count, median, p10, p90 }) = summary else { continue };
            let ms = |value: f64| format!("{value:.2}");
            let above = floor.map_or_else(String::new, |floor| ms(median - floor));
            table.row([name.into(), ms(median), ms(p10), ms(p90), above, count.to_string()]);
        }
        table
    }

    fn kept(&self) -> Table {
        let mut table =
            Table::new(["MB kept by the daemon", "idle", "after", "highest", "commands", "took"]);
        for (kind, kept) in [(Kind::Agbrowse, &self.ours), (Kind::AgentBrowser, &self.rival)] {
            let Some(MemoryUse { idle, loaded, run }) = kept else { continue };
            let mb = |kb| format!("{:.1}", megabytes(kb));
            let commands = match run.failed {
                0 => run.commands.to_string(),
                failed => format!("{} ({failed} failed)", run.commands),
            };
            table.row([
                format!("`{}`", kind.name()),
                mb(idle.now_kb),
                mb(loaded.now_kb),
                mb(loaded.highest_kb),
                commands,
                format!("{:.0} s", run.took.as_secs_f64()),
            ]);
        }
        table
    }

    fn panels(&self) -> Vec<Panel> {
        let time = |label: &str, summary: Option<Summary>, limit, tone| {
            summary.map(|summary| Bar {
                label: label.into(),
                value: summary.median,
                spread: Some((summary.p10, summary.p90)),
                limit,
                tone,
            })
        };
        let memory = |label: &str, memory: Option<Memory>, limit, tone| {
            memory.map(|memory| Bar {
                label: label.into(),
                value: memory.now_mb(),
                spread: None,
                limit,
                tone,
            })
        };
        let floor = self.warm.nothing.map_or(0.0, |nothing| nothing.median);
        let warm_limit = self.warm.rival.map(|rival| floor + (rival.median - floor) * WARM_RATIO);
        let cold_limit = self.cold.rival.map(|rival| rival.median * COLD_RATIO);
        let (ours, rival) = (self.ours.as_ref(), self.rival.as_ref());
        let panels = [
            (
                "eval 1 with daemon and browser up, ms (median, p10 to p90)",
                vec![
                    time("true", self.warm.nothing, None, Tone::Floor),
                    time("agbrowse", self.warm.ours, warm_limit, Tone::Ours),
                    time("agent-browser", self.warm.rival, None, Tone::Theirs),
                ],
            ),
            (
                "eval 1 with neither daemon nor browser, ms (median, p10 to p90)",
                vec![
                    time("agbrowse", self.cold.ours, cold_limit, Tone::Ours),
                    time("agent-browser", self.cold.rival, None, Tone::Theirs),
                ],
            ),
            (
                "memory of the daemon, MB",
                vec![
                    memory("agbrowse, idle", ours.map(|k| k.idle), Some(IDLE_MB), Tone::Ours),
                    memory("agent-browser, idle", rival.map(|k| k.idle), None, Tone::Theirs),
                    memory("agbrowse, after", ours.map(|k| k.loaded), Some(LOADED_MB), Tone::Ours),
                    memory("agent-browser, after", rival.map(|k| k.loaded), None, Tone::Theirs),
                ],
            ),
        ];
        let panels = panels.into_iter().map(|(title, bars)| Panel {
            title: title.into(),
            bars: bars.into_iter().flatten().collect(),
        });
        panels.filter(|panel| !panel.bars.is_empty()).collect()
    }
}

/// Puts the section into the document, and the picture beside it.
fn write(
    out: &Path,
    setting: &BenchSetup,
    results: &Results,
    requirements: &[Requirement],
) -> Result<()> {
    let folder = out.with_extension("");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("cli.svg"), plot::draw(&results.panels()))?;
    let picture = folder.file_name().unwrap_or_default().display().to_string() + "/cli.svg";

    let mut body = String::from(
        "## Whole commands\n\n\
         Processes from start to exit, in turns on one machine. Warm: daemon and browser are up. Cold: neither \
         is, and all their processes have ended before. Memory is the resident set of the daemon alone, \
         in MB of 1,000,000 bytes: with a browser up and nothing to do, and after commands over the pages \
         (open, eval, tabs, screenshot). After a second without work the daemon of agbrowse gives back what its \
         allocator keeps; so `idle` and `after` are what it keeps while it rests, and `highest` is the most that it \
         had. The program is position-independent. Linked at a fixed address (`-no-pie`), and giving back the pages of \
         its own code too, the daemon kept 5.1 MB when idle and 4.5 MB after the commands on the same machine.\n\n",
    );
    _ = writeln!(body, "{}", report::requirements(requirements));
    _ = writeln!(body, "![The numbers below as bars; dashed: what is allowed]({picture})\n");
    _ = writeln!(body, "{}", results.tables());
    _ = writeln!(body, "{}", facts(setting));
    _ = write!(body, "```sh\n{}\n```\n", command_line());
    report::write_section(out, "cli", &body)?;
    eprintln!("written: {} and {}", out.display(), folder.join("cli.svg").display());
    Ok(())
}

/// What the numbers were taken on.
fn facts(setting: &BenchSetup) -> String {
    let mut text = format!("- Date: {}\n- Machine: {}", machine::today(), setting.machine);
    _ = writeln!(text, "\n- Versions: {}", setting.versions.join("; "));
    _ = writeln!(text, "- Pages: {}", setting.corpus.describe());
    if setting.rival.is_some() {
        text.push_str("- `agent-browser` is its native program, without the Node wrapper of npm\n");
    } else {
        _ = writeln!(text, "- `agent-browser` was not found; to compare: {}", tool::GET_RIVAL);
    }
    text
}

/// How to repeat the run: the options that decide the numbers, not where this machine keeps its files.
fn command_line() -> String {
    let mut line = String::from("./dev bench");
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let decides =
            ["--runs", "--cold-runs", "--commands"].iter().any(|name| arg.starts_with(name));
        let value = if arg.contains('=') { None } else { args.next() };
        if decides {
            _ = write!(line, " {arg}");
            _ = write!(line, " {}", value.unwrap_or_default());
        }
    }
    line.trim_end().to_owned()
}
