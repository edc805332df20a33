//! The command line: parsing, dispatch of each command, help, exit codes.

use crate::api;
use crate::config::{Config, PROJECT_FILE, Settings, json_errors};
use crate::daemon::{self, SessionPaths};
use crate::doctor::Doctor;
use crate::install::{self, Install};
use crate::output::{self, Output};
use crate::session_client::SessionClient;
use crate::web_ai::WebAiArgs;
use crate::{demo, mcp, sessions};
use browser::command::{Caller, VerbGroup};
use browser::{Code, Command, Error, Outcome, Result};
use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, FromArgMatches, Parser};
use serde::Serialize;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The browser substrate for AI agents.
///
/// The first command of a session starts a daemon that owns a Chromium; further commands find both there.
#[derive(Debug, Parser)]
#[command(name = "agbrowse", version, max_term_width = 100, propagate_version = true)]
#[command(
    after_help = "Start with `agbrowse demo`. Settings come from flags, AGBROWSE_* variables, \
    agbrowse.toml in the project, and the user's config.toml: see `agbrowse config show`."
)]
#[command(subcommand_required = true, arg_required_else_help = true, infer_long_args = false)]
pub struct Cli {
    /// Settings.
    #[command(flatten)]
    pub settings: Settings,
    /// The command.
    #[command(subcommand)]
    pub command: Subcommand,
}

/// All commands: the browser's verbs and the program's own.
#[derive(Debug, clap::Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one value")]
pub enum Subcommand {
    /// A verb of the browser.
    #[command(flatten)]
    Browser(Command),
    /// List sessions and their daemons.
    Sessions,
    /// Manage the daemon of this session.
    #[command(subcommand)]
    Daemon(DaemonCommand),
    /// Check the browser and its environment, and print a fix for each problem.
    Doctor(Doctor),
    /// Install a browser if none is found.
    Install(Install),
    /// Show the effective settings.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Serve the verbs to AI clients, over the Model Context Protocol.
    Mcp(mcp::Mcp),
    /// Drive AI chat web apps: ChatGPT, Gemini, Grok, and those that a vendor file describes.
    #[command(name = "web-ai")]
    WebAi(WebAiArgs),
    /// Serve the verbs over HTTP, as JSON.
    ///
    /// `POST /api/command` runs a command, such as `{"verb":"open","url":"https://example.com"}`, in the browser of the
    /// session, and replies as `--json` does. `GET /api/openapi.json` describes all of it. Requests need the token from
    /// `AGBROWSE_SERVE_TOKEN`, or the one that is printed.
    Serve(api::Serve),
    /// Print a short guide for agents that use the command line.
    Skill,
    /// Demonstrate agbrowse on a web shop that ships with it.
    Demo(demo::Demo),
    /// Print a shell completion script.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one per command into a folder.
    Man {
        /// The folder.
        #[arg(value_name = "FOLDER")]
        folder: Option<std::path::PathBuf>,
    },
}

/// Subcommands of `daemon`.
#[derive(Debug, clap::Subcommand)]
pub enum DaemonCommand {
    /// Show the daemon's status.
    Status,
    /// Stop the daemon and its browser.
    Stop(Stop),
    /// Print the end of the daemon's log.
    Logs {
        /// Number of lines.
        #[arg(long, short = 'n', default_value_t = 100)]
        lines: usize,
    },
    /// Run the daemon in this process. Commands start it by themselves.
    #[command(hide = true)]
    Run,
}

/// Stop the daemon and its browser.
#[derive(Debug, Args)]
pub struct Stop {
    /// Stop the daemons of all sessions.
    #[arg(long)]
    pub all: bool,
}

/// Subcommands of `config`.
#[derive(Debug, clap::Subcommand)]
pub enum ConfigCommand {
    /// Show every setting, its value and its source.
    Show,
}

/// Runs the program.
pub fn main() -> ExitCode {
    if let Some((session, idle_timeout)) =
        parse_daemon_args(&std::env::args_os().collect::<Vec<_>>())
    {
        let output = Output { json: false };
        return match SessionPaths::of(session).and_then(|paths| run_daemon(paths, idle_timeout)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                output.error(&error);
                ExitCode::FAILURE
            }
        };
    }
    let cli = match parse_verb().map_or_else(parse, Ok) {
        Ok(cli) => cli,
        Err(error) => return usage(&with_suggestion(error)),
    };
    let mut output = Output { json: cli.settings.json.unwrap_or_default() };
    output::set_colors(cli.settings.color);
    let done = Config::load(&cli.settings).and_then(|config| {
        output.json = config.json();
        output::set_colors(config.settings.color);
        output.notes(&config.notes);
        run(cli.command, &config, output).map_err(|error| match &*config.notes {
            // Not printed before: with JSON, standard error is read by programs too.
            notes if output.json && !notes.is_empty() => {
                let lines: Vec<String> = notes.iter().map(ToString::to_string).collect();
                error.evidence("notes", lines)
            }
            _ => error,
        })
    });
    match done {
        Ok(code) => code,
        Err(error) => {
            output.error(&error);
            match error.code() {
                Code::CommandInvalid | Code::ConfigInvalid => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// Parses session and idle timeout from the arguments that the client starts a daemon with. Without clap: its parser
/// would keep the memory of every flag of every verb for the lifetime of the daemon.
fn parse_daemon_args(args: &[OsString]) -> Option<(&str, Duration)> {
    let args: Vec<&str> = args.iter().skip(1).map(|arg| arg.to_str()).collect::<Option<_>>()?;
    let ["daemon", "run", "--session", session, idle] = *args else { return None };
    let milliseconds = idle.strip_prefix("--idle-timeout=")?.strip_suffix("ms")?.parse().ok()?;
    Some((session, Duration::from_millis(milliseconds)))
}

fn run_daemon(paths: SessionPaths, idle_timeout: Duration) -> Result<()> {
    log_to_stderr("info");
    runtime()?.block_on(daemon::serve(paths, idle_timeout))
}

/// Parses the arguments with the full parser.
fn parse() -> std::result::Result<Cli, clap::Error> {
    let mut root = grouped_command();
    let matches = root.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut root))
}

/// Groups of commands in the help, in order: heading, verb group, further commands.
const GROUPS: &[(&str, Option<VerbGroup>, &[&str])] = &[
    ("Navigate", Some(VerbGroup::Navigate), &[]),
    ("See", Some(VerbGroup::See), &[]),
    ("Act", Some(VerbGroup::Act), &[]),
    ("Wait", Some(VerbGroup::Wait), &[]),
    ("Tabs", Some(VerbGroup::Tabs), &[]),
    ("Files", Some(VerbGroup::Files), &[]),
    ("Session", Some(VerbGroup::Session), &["sessions", "daemon", "config"]),
    ("Chat apps", None, &["web-ai"]),
    ("Serve", None, &["mcp", "serve", "skill"]),
    ("Maintain", None, &["demo", "doctor", "install", "completions", "man", "help"]),
];

/// Builds the full parser, whose help lists the commands by group.
fn grouped_command() -> clap::Command {
    let mut root = Cli::command();
    root.build();
    let (header, literal) = (root.get_styles().get_header(), root.get_styles().get_literal());
    let all: Vec<_> = root.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    let width = all.iter().map(|command| command.get_name().len()).max().unwrap_or_default();
    let mut text = String::new();
    for (heading, group, own) in GROUPS {
        text.push_str(&format!("\n{header}{heading}:{header:#}\n"));
        let is_in = |command: &&&clap::Command| {
            let spec = Command::spec_of(command.get_name());
            own.contains(&command.get_name()) || spec.is_some_and(|spec| Some(spec.group) == *group)
        };
        for command in all.iter().filter(is_in) {
            let (name, about) =
                (command.get_name(), command.get_about().cloned().unwrap_or_default());
            text.push_str(&format!(
                "  {literal}{name}{literal:#}{:1$}  {about}\n",
                "",
                width - name.len()
            ));
        }
    }
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{text}\n\
         {header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    Cli::command().help_template(template)
}

/// Parses a valid verb call with that verb's parser alone, which is faster. Returns `None` for anything else (invalid
/// arguments, help, other commands), which is left to the full parser and its messages.
fn parse_verb() -> Option<Cli> {
    let args: Vec<_> = std::env::args_os().collect();
    let verb = args.get(1)?.to_str()?;
    // Servers are long-lived processes: the parsers of all verbs would stay in their memory.
    let parser = match verb {
        "mcp" => mcp::Mcp::augment_args(clap::Command::new("mcp")),
        "serve" => api::Serve::augment_args(clap::Command::new("serve")),
        _ => Command::parser_of(verb)?,
    };
    let mut root = clap::Command::new("agbrowse").subcommand(parser);
    // Settings are options: without options, their parser is skipped.
    let has_options = args.iter().any(|arg| arg.as_encoded_bytes().starts_with(b"-"));
    if has_options {
        root = Settings::augment_args(root);
    }
    let matches = root.try_get_matches_from(&args).ok()?;
    let settings = match has_options {
        true => Settings::from_arg_matches(&matches).ok()?,
        false => Settings::default(),
    };
    let command = match verb {
        "mcp" => {
            Subcommand::Mcp(mcp::Mcp::from_arg_matches(matches.subcommand_matches("mcp")?).ok()?)
        }
        "serve" => {
            let arguments = matches.subcommand_matches("serve")?;
            Subcommand::Serve(api::Serve::from_arg_matches(arguments).ok()?)
        }
        _ => Subcommand::Browser(Command::from_arg_matches(&matches).ok()?),
    };
    Some(Cli { settings, command })
}

fn run(command: Subcommand, config: &Config, output: Output) -> Result<ExitCode> {
    match command {
        Subcommand::Browser(command) => {
            let mut command = command;
            localize(&mut command, output)?;
            let mut outcome = runtime()?.block_on(run_in_daemon(&command, config))?;
            if output.json {
                outcome.notes.extend(config.notes.iter().cloned());
            }
            output.outcome(config.session(), &command, outcome)?;
        }
        Subcommand::Sessions => output.result(&runtime()?.block_on(sessions::sessions())?)?,
        Subcommand::Daemon(verb) => daemon_command(&verb, config, output)?,
        Subcommand::Doctor(doctor) => {
            let report = runtime()?.block_on(doctor.run(config))?;
            output.report(report.ok, &report)?;
            return Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Subcommand::Install(install) => {
            let installed = runtime()?.block_on(install.run(&mut install::Terminal::default()))?;
            output.result(&installed)?;
        }
        Subcommand::Config(ConfigCommand::Show) => {
            output.result(&ConfigTable { settings: config.lines() })?;
        }
        Subcommand::Demo(demo) => {
            let is_ok = runtime()?.block_on(demo.run(config, output))?;
            return Ok(if is_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Subcommand::Mcp(mcp) => {
            log_to_stderr("warn");
            let runtime = runtime()?;
            let served = runtime.block_on(mcp.run(config));
            // A thread may be blocked on reading standard input.
            runtime.shutdown_background();
            served?;
        }
        Subcommand::WebAi(web_ai) => return runtime()?.block_on(web_ai.run(config, output)),
        Subcommand::Serve(serve) => {
            log_to_stderr("warn");
            let runtime = runtime()?;
            let served = runtime.block_on(serve.run(config));
            // A thread may be waiting for a daemon to start.
            runtime.shutdown_background();
            served?;
        }
        Subcommand::Skill => output::raw(crate::skill::guide().as_bytes())?,
        Subcommand::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "agbrowse", &mut script);
            output::raw(&script)?;
        }
        Subcommand::Man { folder } => man(folder.as_deref())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs a command in the session's daemon.
async fn run_in_daemon(command: &Command, config: &Config) -> Result<Outcome> {
    let client = SessionClient::new(config)?;
    let warning = match client.check(command).await? {
        Some(warning) if !config.json() => {
            output::say(&format!("note: {}", warning.message));
            None
        }
        warning => warning,
    };
    client.run(client.request(command.clone()), warning).await
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Resolves local inputs on the client side of the socket: relative paths, secrets, standard input.
pub(crate) fn localize(command: &mut Command, output: Output) -> Result<()> {
    let mut stdin = || std::io::read_to_string(std::io::stdin());
    command.localize(&mut Caller { json: output.json, stdin: &mut stdin })
}

fn daemon_command(verb: &DaemonCommand, config: &Config, output: Output) -> Result<()> {
    let paths = SessionPaths::of(config.session())?;
    match verb {
        DaemonCommand::Status => {
            let status = runtime()?
                .block_on(sessions::status(&paths))
                .ok_or_else(|| sessions::no_daemon(&paths))??;
            output.result(&status)
        }
        DaemonCommand::Stop(Stop { all }) => {
            let names = if *all { daemon::list_all() } else { vec![paths.session] };
            let mut stopped = Vec::new();
            let mut failed = Ok(());
            for name in names {
                match SessionPaths::of(&name)
                    .and_then(|paths| runtime()?.block_on(sessions::stop(&paths)))
                {
                    Ok(true) => stopped.push(name),
                    Ok(false) => {}
                    // Stop the remaining ones all the same.
                    Err(error) => failed = Err(error),
                }
            }
            failed.and_then(|()| output.result(&StopReply { stopped }))
        }
        DaemonCommand::Logs { lines } => {
            output::raw((sessions::log_tail(&paths, *lines)? + "\n").as_bytes())
        }
        DaemonCommand::Run => run_daemon(paths, config.idle_timeout()),
    }
}

#[derive(Serialize)]
struct StopReply {
    stopped: Vec<String>,
}

impl fmt::Display for StopReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.stopped {
            [] => f.write_str("no daemon was running"),
            names => write!(f, "stopped {}", names.join(", ")),
        }
    }
}

#[derive(Serialize)]
struct ConfigTable {
    settings: Vec<crate::config::SettingRow>,
}

impl fmt::Display for ConfigTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |value: &serde_json::Value| match value {
            serde_json::Value::Null => "-".to_owned(),
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let width =
            self.settings.iter().map(|line| value(&line.value).len()).max().unwrap_or_default();
        for line in &self.settings {
            writeln!(f, "{:14}{:width$}  {}", line.key, value(&line.value), line.origin)?;
        }
        let user =
            crate::config::user_file().map(|path| path.display().to_string()).unwrap_or_default();
        write!(f, "\nfiles: {PROJECT_FILE} here or above; {user}")
    }
}

fn man(folder: Option<&Path>) -> Result<()> {
    let failed =
        |error: std::io::Error| Error::new(Code::FileWriteFailed).message(error.to_string());
    match folder {
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(failed)?;
            clap_mangen::generate_to(Cli::command(), folder).map_err(failed)
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page).map_err(failed)?;
            output::raw(&page)
        }
    }
}

/// Adds a suggested subcommand where clap has none: clap does not match transposed letters in short words.
fn with_suggestion(mut error: clap::Error) -> clap::Error {
    let given = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(given)) => given.clone(),
        _ => return error,
    };
    if error.get(ContextKind::SuggestedSubcommand).is_none() {
        let all = Cli::command();
        let names = all.get_subcommands().map(clap::Command::get_name);
        let far = |name: &&str| strsim::damerau_levenshtein(name, &given);
        if let Some(near) = names.min_by_key(far).filter(|name| far(name) == 1) {
            let tip = ContextValue::Strings(vec![near.to_owned()]);
            error.insert(ContextKind::SuggestedSubcommand, tip);
        }
    }
    error
}

/// Prints a usage error: clap's message, or the JSON error envelope if JSON was requested.
fn usage(error: &clap::Error) -> ExitCode {
    // Invalid arguments give no settings: use the raw flag, else files and variables.
    let flag = std::env::args_os().find_map(|arg| match arg.to_str()? {
        "--json" | "--json=true" => Some(true),
        "--json=false" => Some(false),
        _ => None,
    });
    let is_set = || Config::load(&Settings::default()).is_ok_and(|config| config.json());
    let wants_json = flag.unwrap_or_else(is_set) || json_errors();
    if !error.use_stderr() || !wants_json {
        // Help and version are results, not errors.
        _ = error.print();
        return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
    }
    let text = error.render().to_string();
    let lines: Vec<&str> = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:"))
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("tip:"))
        .collect();
    let line = lines.join(" ").trim_start_matches("error: ").to_owned();
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: ").map(str::to_owned));
    let wrong = Error::new(Code::CommandInvalid).message(line.replace('\'', "`"));
    Output { json: true }.error(&match tip {
        Some(tip) => wrong.evidence("tip", tip.replace('\'', "`")),
        None => wrong,
    });
    ExitCode::from(2)
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::new(Code::InternalUnhandled).message(error.to_string()))
}

/// Logs to standard error from this level up, or as set by `AGBROWSE_LOG`: a level, or levels of modules
/// (`info,agbrowse_cdp=trace`).
fn log_to_stderr(level: &str) {
    let wanted = std::env::var("AGBROWSE_LOG").ok().and_then(|text| text.parse::<Targets>().ok());
    let levels = wanted.or_else(|| level.parse().ok()).unwrap_or_default();
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    tracing_subscriber::registry().with(lines.with_filter(levels)).init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_each_command_in_one_group() {
        let help = grouped_command().render_help().to_string();
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let line = format!("\n  {} ", command.get_name());
            assert_eq!(help.matches(&line).count(), 1, "{line:?} in {help}");
        }
        let headings: Vec<&str> = help.lines().filter(|line| line.ends_with(':')).collect();
        let expected: Vec<String> = GROUPS.iter().map(|(name, ..)| format!("{name}:")).collect();
        assert!(
            headings.starts_with(&expected.iter().map(String::as_str).collect::<Vec<_>>()),
            "{headings:?}"
        );
    }
}
