//! Compared tools with a daemon: run, isolated from everything else here, and stopped.

use crate::corpus::ONLY_LOOPBACK;
use crate::process::{self, Finished, Memory, Process};
use crate::{Error, Result};
use serde::Deserialize;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Time limit of a command. Above the limits that the tools set themselves, so that theirs apply first.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Time limit for processes to exit after their daemon was stopped.
const EXIT_TIME: Duration = Duration::from_secs(15);

/// Hint for installing the compared tool.
pub const GET_RIVAL: &str = "npm install --prefix FOLDER agent-browser@0.41.0, then \
     --rival FOLDER/node_modules/.bin/agent-browser";

/// Program names of Chromium on the path, best first.
const BROWSERS: &[&str] =
    &["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"];

/// A tool with a daemon, in folders of its own. Dropping it stops the daemon and its browser.
#[derive(Debug)]
pub struct Tool {
    kind: Kind,
    program: PathBuf,
    chrome: PathBuf,
    folder: tempfile::TempDir,
}

/// Kind of tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// This project.
    Agbrowse,
    /// The tool it is compared with.
    AgentBrowser,
}

impl Kind {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agbrowse => "agbrowse",
            Self::AgentBrowser => "agent-browser",
        }
    }
}

impl Tool {
    /// Creates a tool with its own folders. Nothing is started yet.
    ///
    /// # Errors
    /// When the program does not exist or the folders cannot be created.
    pub fn new(kind: Kind, program: &Path, chrome: &Path) -> Result<Self> {
        let program = std::fs::canonicalize(program).map_err(|error| {
            Error::WrongCall(format!(
                "{} was not found at `{}`: {error}",
                kind.name(),
                program.display()
            ))
        })?;
        let program = match kind {
            Kind::Agbrowse => program,
            Kind::AgentBrowser => native(program),
        };
        // Short names: the folder contains sockets, whose path length is limited.
        let folder = tempfile::Builder::new().prefix("agbench-").tempdir()?;
        for name in ["bin", "home", "run", "tmp"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        // Copied, both in the same way. The way a file was written decides how the system caches it: a
        // linker's output starts slower than a copy of it.
        let mut program = program;
        if !is_script(&program) {
            let installed = folder.path().join("bin").join(kind.name());
            std::fs::copy(&program, &installed)?;
            program = installed;
        }
        Ok(Self { kind, program, chrome: chrome.to_owned(), folder })
    }

    /// Name of the tool.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Socket of its daemon.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("run/default.sock")
    }

    /// Folder for files that commands write.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Builds a command. Both tools are configured in the same way: by environment variables.
    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let place = |name: &str| self.folder.path().join(name);
        let mut command = minimal_command(&self.program);
        command
            .args(args)
            .current_dir(self.folder.path())
            .env("HOME", place("home"))
            .env("TMPDIR", place("tmp"));
        // Idle limit, so that no daemon outlives an interrupted benchmark for long.
        match self.kind {
            Kind::Agbrowse => command
                .env("AGBROWSE_RUNTIME_DIR", place("run"))
                .env("AGBROWSE_CHROME", &self.chrome)
                .env("AGBROWSE_CHROME_ARG", ONLY_LOOPBACK)
                .env("AGBROWSE_IDLE_TIMEOUT", "5m"),
            // It restarts its browser when these differ from one command to the next.
            Kind::AgentBrowser => command
                .env("AGENT_BROWSER_SOCKET_DIR", place("run"))
                .env("AGENT_BROWSER_EXECUTABLE_PATH", &self.chrome)
                .env("AGENT_BROWSER_ARGS", ONLY_LOOPBACK)
                .env("AGENT_BROWSER_IDLE_TIMEOUT_MS", "300000"),
        };
        command
    }

    /// Runs a command that must succeed.
    ///
    /// # Errors
    /// When it fails.
    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Result<Finished> {
        let mut command = self.command(args);
        let finished = process::run(&mut command, LIMIT)?;
        if finished.status.success() {
            return Ok(finished);
        }
        let verb = command.get_args().next().unwrap_or_default().display().to_string();
        let message =
            if finished.stderr.trim().is_empty() { &finished.stdout } else { &finished.stderr };
        let message: String = message.split_whitespace().collect::<Vec<_>>().join(" ");
        let message: String = message.chars().take(300).collect();
        Err(Error::Failed(format!(
            "`{} {verb}` ended with {}: {message}",
            self.name(),
            finished.status
        )))
    }

    /// Runs `eval 1`, which starts the daemon if necessary; returns the time in milliseconds.
    ///
    /// # Errors
    /// When it fails or prints anything but `1`.
    pub fn eval_one(&self) -> Result<f64> {
        let finished = self.run(["eval", "1"])?;
        match finished.stdout.trim() {
            "1" => Ok(finished.elapsed_ms()),
            other => Err(Error::Failed(format!("`{} eval 1` printed `{other}`", self.name()))),
        }
    }

    /// Arguments that list the tabs.
    pub fn tabs(&self) -> Vec<OsString> {
        let words: &[&str] = match self.kind {
            Kind::Agbrowse => &["tabs"],
            Kind::AgentBrowser => &["tab", "list"],
        };
        words.iter().map(OsString::from).collect()
    }

    /// Version as printed by the tool.
    ///
    /// # Errors
    /// When that fails.
    pub fn version(&self) -> Result<String> {
        Ok(self.run(["--version"])?.stdout.trim().to_owned())
    }

    /// Memory of its daemon, once it is constant.
    ///
    /// # Errors
    /// When there is no daemon, or the system does not report it.
    pub fn daemon_memory(&self) -> Result<Memory> {
        let args: &[&str] = match self.kind {
            Kind::Agbrowse => &["daemon", "status", "--json"],
            Kind::AgentBrowser => &["session", "info", "--json"],
        };
        let text = self.run(args)?.stdout;
        let status: Status = serde_json::from_str(&text).map_err(|error| {
            Error::Failed(format!("the status of {} cannot be read: {error}", self.name()))
        })?;
        process::settled_memory(status.daemon.pid)
            .ok_or_else(|| Error::Failed(format!("the memory of {} cannot be read", self.name())))
    }

    /// Stops its daemon and browser and waits until all their processes have ended. Terminates the rest and
    /// returns their number.
    pub fn stop(&self) -> usize {
        let mut processes = self.processes();
        if processes.is_empty() {
            return 0;
        }
        let args: &[&str] = match self.kind {
            Kind::Agbrowse => &["daemon", "stop"],
            Kind::AgentBrowser => &["close"],
        };
        // On failure the processes are still there, and only that matters.
        _ = process::run(&mut self.command(args), LIMIT);
        // Includes processes started since.
        let known = processes.clone();
        processes.extend(self.processes().into_iter().filter(|process| !known.contains(process)));
        let left = process::wait_ended(processes, EXIT_TIME);
        let count = left.len();
        process::terminate(left);
        count
    }

    /// Its daemon, its browser and all related processes.
    fn processes(&self) -> Vec<Process> {
        let daemon = self.daemon_by_file().filter(|pid| process::runs(*pid, &self.program));
        process::family(self.folder.path(), daemon.as_slice())
    }

    /// Process id of the daemon from its own file: valid even when the daemon no longer answers.
    fn daemon_by_file(&self) -> Option<u32> {
        let name = match self.kind {
            Kind::Agbrowse => "run/default.json",
            Kind::AgentBrowser => "run/default.pid",
        };
        let text = std::fs::read_to_string(self.folder.path().join(name)).ok()?;
        let from_json = || serde_json::from_str::<Daemon>(&text).ok().map(|daemon| daemon.pid);
        text.trim().parse().ok().or_else(from_json)
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The daemon's process id in both tools' status, each under its own key.
#[derive(Deserialize)]
struct Status {
    #[serde(rename = "result", alias = "data")]
    daemon: Daemon,
}

#[derive(Deserialize)]
struct Daemon {
    pid: u32,
}

/// A command that does nothing: the cost of starting any process.
pub fn noop() -> Command {
    let mut command = minimal_command(Path::new("true"));
    // The tools run in a given folder, and a process with one may be started in another way.
    command.current_dir("/");
    command
}

/// Version as printed by a browser.
///
/// # Errors
/// When that fails.
pub fn browser_version(chrome: &Path) -> Result<String> {
    let wrong =
        |why: String| Error::WrongCall(format!("`{}` is not a browser: {why}", chrome.display()));
    let finished = process::run(minimal_command(chrome).arg("--version"), LIMIT)
        .map_err(|error| wrong(error.to_string()))?;
    match finished.stdout.trim() {
        version if finished.status.success() && !version.is_empty() => Ok(version.to_owned()),
        _ => Err(wrong(format!("it prints no version and exits with {}", finished.status))),
    }
}

fn is_script(program: &Path) -> bool {
    program.extension().is_some_and(|ending| ending == "js")
}

/// The browser for all tools: the given one, or `AGBROWSE_CHROME`, or the one on the path.
///
/// # Errors
/// When there is none.
pub fn browser(named: Option<&Path>) -> Result<PathBuf> {
    let found = match named {
        Some(path) => path.to_owned(),
        None => std::env::var_os("AGBROWSE_CHROME")
            .map(PathBuf::from)
            .or_else(|| BROWSERS.iter().find_map(|name| on_path(name)))
            .ok_or_else(|| Error::WrongCall("no Chromium found; set one with --chrome".into()))?,
    };
    Ok(std::path::absolute(found)?)
}

/// The agbrowse program: the given one, or the one beside the benchmark.
///
/// # Errors
/// When it does not exist.
pub fn our_program(named: Option<&Path>) -> Result<PathBuf> {
    let program = match named {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?.with_file_name(Kind::Agbrowse.name()),
    };
    if program.is_file() {
        return Ok(program);
    }
    Err(Error::WrongCall(format!(
        "there is no `{}`: build it by `cargo build --release -p agbrowse` or set one with --agbrowse",
        program.display()
    )))
}

/// The compared tool on the path.
pub fn find_rival() -> Option<PathBuf> {
    on_path(Kind::AgentBrowser.name())
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// A command with a minimal environment: only the variables that programs need to be found and run.
pub(crate) fn minimal_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in ["PATH", "LANG", "LD_LIBRARY_PATH"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

/// The native program behind npm's wrapper. Starting Node first would flatter us.
fn native(program: PathBuf) -> PathBuf {
    if !is_script(&program) {
        return program;
    }
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let processor = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let native = program.with_file_name(format!("agent-browser-{system}-{processor}"));
    if native.is_file() { native } else { program }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_program_is_preferred_to_its_wrapper() {
        let folder = tempfile::tempdir().unwrap();
        let wrapper = folder.path().join("agent-browser.js");
        assert_eq!(native(wrapper.clone()), wrapper);
        let system = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
        let processor = if cfg!(target_arch = "x86_64") { "x64" } else { "arm64" };
        let program = folder.path().join(format!("agent-browser-{system}-{processor}"));
        std::fs::write(&program, "").unwrap();
        assert_eq!(native(wrapper), program);
        assert_eq!(native(program.clone()), program);
    }

    #[test]
    fn daemon_pid_is_read_from_both_tools() {
        for text in [
            r#"{"ok":true,"result":{"session":"default","pid":7}}"#,
            r#"{"data":{"active":true,"pid":7,"runtime":{}},"success":true}"#,
        ] {
            assert_eq!(serde_json::from_str::<Status>(text).unwrap().daemon.pid, 7);
        }
    }
}
