//! Benchmark of whole commands, from process start to process end: warm, cold, and the daemon's memory.

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
use agbrowse_bench::turns::{self, Rounds, TakeTurn};
use agbrowse_bench::workload::{self, Run};
use agbrowse_bench::{Error, Result, project};
use clap::Parser;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Maximum time of a warm command, relative to the other tool, above the cost of any process.
const WARM_RATIO: f64 = 0.5;
/// Maximum time of a cold command, relative to the other tool.
const COLD_RATIO: f64 = 0.75;
/// Maximum memory of an idle daemon with a browser, in MB.
const IDLE_MB: f64 = 10.0;
/// Maximum memory of the daemon after many commands, in MB.
const LOADED_MB: f64 = 25.0;

/// Warm-up rounds.
const WARM_UP: usize = 20;
const COLD_WARM_UP: usize = 1;
/// Time limits for the many commands: for us, and for the other tool.
const OUR_TIME: Duration = Duration::from_secs(15 * 60);
const RIVAL_TIME: Duration = Duration::from_secs(3 * 60);

/// Compare whole commands: warm, cold, and the daemon's memory.
///
/// Exits with 1 when a requirement is not met, and with 2 on wrong usage.
#[derive(Debug, Parser)]
#[command(name = "cli")]
struct Cli {
    /// Measured warm rounds; 0 leaves them out.
    #[arg(long, value_name = "N", default_value_t = 200)]
    runs: usize,
    /// Measured cold rounds; 0 leaves them out.
    #[arg(long, value_name = "N", default_value_t = 10)]
    cold_runs: usize,
    /// Commands after which memory is read; 0 leaves memory out.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    commands: usize,
    /// The agbrowse program; the one beside this program when absent.
    #[arg(long, value_name = "PATH")]
    agbrowse: Option<PathBuf>,
    /// The `agent-browser` to compare with; the one on the path when absent.
    #[arg(long, value_name = "PATH")]
    rival: Option<PathBuf>,
    /// The Chromium for all tools; AGBROWSE_CHROME or the one on the path when absent.
    #[arg(long, value_name = "PATH")]
    chrome: Option<PathBuf>,
    /// A folder with `pages/*.html`; AGBROWSE_CORPUS or `../shared/corpus` beside this project when absent.
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

/// Runs the benchmark; `true` when all measured requirements are met.
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

/// Setup of a benchmark run.
struct BenchSetup {
    ours: Tool,
    rival: Option<Tool>,
    corpus: Corpus,
    machine: Machine,
    /// Versions of Chromium, agbrowse and the other tool.
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
                eprintln!("note: agent-browser was not found, so agbrowse is measured alone");
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
        if corpus.is_generated && cli.commands > 0 {
            eprintln!("note: no corpus found, so pages are generated");
        }
        let machine = machine::read();
        if let Some(load) = machine.load.filter(|load| *load > 0.5) {
            eprintln!("note: the machine is busy: load {load}");
        }
        Ok(Self { ours, rival, corpus, machine, versions })
    }

    fn tools(&self) -> impl Iterator<Item = &Tool> {
        std::iter::once(&self.ours).chain(&self.rival)
    }
}

/// Samples of the same operation by each contender.
#[derive(Default)]
struct Times {
    nothing: Option<Summary>,
    ours: Option<Summary>,
    rival: Option<Summary>,
}

/// Measures `eval 1` with daemon and browser up, beside a process that does nothing.
fn warm(setting: &BenchSetup, rounds: usize) -> Result<Times> {
    if rounds == 0 {
        return Ok(Times::default());
    }
    for tool in setting.tools() {
        tool.eval_one()?;
    }
    let noop: TakeTurn<'_> = Box::new(|| {
        Ok(process::run(&mut tool::noop(), tool::LIMIT).map(|finished| finished.elapsed_ms())?)
    });
    let tools = setting.tools().map(|tool| -> TakeTurn<'_> { Box::new(|| tool.eval_one()) });
    let mut contenders: Vec<TakeTurn<'_>> = std::iter::once(noop).chain(tools).collect();
    let rounds = Rounds { warm_up: WARM_UP, counted: rounds };
    let samples = turns::take_turns(rounds, &mut contenders, progress("warm", rounds))?;
    let mut summaries = samples.iter().map(|samples| stats::summarize(samples));
    let mut next = || summaries.next().flatten();
    let times = Times { nothing: next(), ours: next(), rival: next() };
    setting.tools().for_each(stop);
    Ok(times)
}

/// Measures `eval 1` with neither daemon nor browser.
fn cold(setting: &BenchSetup, rounds: usize) -> Result<Times> {
    if rounds == 0 {
        return Ok(Times::default());
    }
    setting.tools().for_each(stop);
    let turn = |tool| -> TakeTurn<'_> {
        Box::new(move || {
            let sample = Tool::eval_one(tool)?;
            stop(tool);
            Ok(sample)
        })
    };
    let mut contenders: Vec<TakeTurn<'_>> = setting.tools().map(turn).collect();
    let rounds = Rounds { warm_up: COLD_WARM_UP, counted: rounds };
    let samples = turns::take_turns(rounds, &mut contenders, progress("cold", rounds))?;
    let mut summaries = samples.iter().map(|samples| stats::summarize(samples));
    let mut next = || summaries.next().flatten();
    Ok(Times { nothing: None, ours: next(), rival: next() })
}

/// Memory of a daemon.
struct MemoryUse {
    idle: Memory,
    loaded: Memory,
    run: Run,
}

/// Measures a daemon's memory when idle with a browser, and after many commands.
fn memory(setting: &BenchSetup, commands: usize) -> Result<(Option<MemoryUse>, Option<MemoryUse>)> {
    if commands == 0 {
        return Ok((None, None));
    }
    let server = Server::start(&setting.corpus)?;
    let measure = |tool: &Tool, allowed| -> Result<MemoryUse> {
        stop(tool);
        tool.eval_one()?;
        let idle = tool.daemon_memory()?;
        let rounds = Rounds { warm_up: 0, counted: commands };
        let progress = progress(&format!("memory of {}", tool.name()), rounds);
        let run = workload::run(tool, &setting.corpus, &server, (commands, allowed), progress);
        if let Some(message) = &run.first_failure {
            eprintln!(
                "note: {} of {} commands failed; the first: {message}",
                run.failed, run.commands
            );
        }
        let loaded = tool.daemon_memory()?;
        stop(tool);
        Ok(MemoryUse { idle, loaded, run })
    };
    let ours = measure(&setting.ours, OUR_TIME)?;
    if ours.run.commands < commands || ours.run.failed * 20 > commands {
        return Err(Error::Failed(format!(
            "of {commands} commands {} were done within {} s and {} of these failed: memory after \
             them is meaningless",
            ours.run.commands,
            OUR_TIME.as_secs(),
            ours.run.failed
        )));
    }
    let rival = setting.rival.as_ref().map(|rival| measure(rival, RIVAL_TIME)).transpose()?;
    Ok((Some(ours), rival))
}

fn stop(tool: &Tool) {
    let ended = tool.stop();
    if ended > 0 {
        eprintln!("note: {} left {ended} processes, which were ended", tool.name());
    }
}

/// Reports the progress of a phase on standard error, ten times.
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

/// All results.
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
        let current_mb =
            |memory: fn(&MemoryUse) -> Memory| self.ours.as_ref().map(|used| memory(used).now_mb());
        let requirement = |name: &str, limit, unit, measured| Requirement {
            name: name.into(),
            limit,
            unit,
            measured,
        };
        vec![
            requirement("warm: agbrowse / agent-browser, above `true`", WARM_RATIO, "", warm),
            requirement("cold: agbrowse / agent-browser", COLD_RATIO, "", cold),
            requirement("memory of the daemon, idle", IDLE_MB, " MB", current_mb(|used| used.idle)),
            requirement(
                "memory of the daemon, after the commands",
                LOADED_MB,
                " MB",
                current_mb(|used| used.loaded),
            ),
        ]
    }

    fn tables(&self) -> String {
        let mut text = String::new();
        if self.warm.ours.is_some() || self.cold.ours.is_some() {
            _ = writeln!(text, "{}", self.times());
        }
        if self.ours.is_some() {
            _ = writeln!(text, "{}", self.memory_table());
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

    fn memory_table(&self) -> Table {
        let mut table =
            Table::new(["MB used by the daemon", "idle", "after", "highest", "commands", "took"]);
        for (kind, used) in [(Kind::Agbrowse, &self.ours), (Kind::AgentBrowser, &self.rival)] {
            let Some(MemoryUse { idle, loaded, run }) = used else { continue };
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

/// Writes the section of the document, and its picture.
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
         in MB of 1,000,000 bytes: idle with a browser up, and after commands over the pages \
         (open, eval, tabs, screenshot). After a second without work the daemon of agbrowse returns the free memory of \
         its allocator to the system; so `idle` and `after` are its memory at rest, and `highest` is its \
         peak. The program is position-independent. Linked at a fixed address (`-no-pie`), and with the pages of \
         its own code released too, the daemon used 5.1 MB when idle and 4.5 MB after the commands on the same machine.\n\n",
    );
    _ = writeln!(body, "{}", report::requirements(requirements));
    _ = writeln!(body, "![The numbers below as bars; dashed: the limit]({picture})\n");
    _ = writeln!(body, "{}", results.tables());
    _ = writeln!(body, "{}", facts(setting));
    _ = write!(body, "```sh\n{}\n```\n", command_line());
    report::write_section(out, "cli", &body)?;
    eprintln!("written: {} and {}", out.display(), folder.join("cli.svg").display());
    Ok(())
}

/// Machine, date and versions of the run.
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

/// The command that repeats the run: options that affect the numbers, without paths of this machine.
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
