//! The tools that are compared: how each is called, kept apart from everything else here, and stopped.

use crate::corpus::ONLY_LOOPBACK;
use crate::process::{self, Finished, Memory, Process};
use crate::{Error, Result};
use serde::Deserialize;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// No command takes longer. Above the limits that the tools set themselves, so that they speak first.
pub const LIMIT: Duration = Duration::from_secs(60);

/// How long processes may take to end after their daemon was told to.
const PATIENCE: Duration = Duration::from_secs(15);

/// How to get the tool that we compare with.
pub const GET_RIVAL: &str = "npm install --prefix FOLDER agent-browser@0.41.0, then \
     --rival FOLDER/node_modules/.bin/agent-browser";

/// Names that Chromium has on the path, best first.
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

/// Which tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// This project's.
    Agbrowse,
    /// The one it is compared with.
    AgentBrowser,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agbrowse => "agbrowse",
            Self::AgentBrowser => "agent-browser",
        }
    }
}

impl Tool {
    /// A tool that will run in folders of its own. Nothing is started yet.
    ///
    /// # Errors
    /// When the program is not there or the folders cannot be made.
    pub fn new(kind: Kind, program: &Path, chrome: &Path) -> Result<Self> {
        let program = std::fs::canonicalize(program).map_err(|error| {
            Error::WrongCall(format!("{} is not at `{}`: {error}", kind.name(), program.display()))
        })?;
        let program = match kind {
            Kind::Agbrowse => program,
            Kind::AgentBrowser => native(program),
        };
        // Short names: sockets go in here, and their paths may not be long.
        let folder = tempfile::Builder::new().prefix("agbench-").tempdir()?;
        for name in ["bin", "home", "run", "tmp"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        // Installed anew, both in the same way. How a file was written decides how the system keeps it in memory: one that
        // a linker has put together here and there is slower to start than a copy of it.
        let mut program = program;
        if !is_script(&program) {
            let installed = folder.path().join("bin").join(kind.name());
            std::fs::copy(&program, &installed)?;
            program = installed;
        }
        Ok(Self { kind, program, chrome: chrome.to_owned(), folder })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Where its daemon listens.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("run/default.sock")
    }

    /// A folder for files that commands write.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A command. Both tools are told the same by the same means: variables.
    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let place = |name: &str| self.folder.path().join(name);
        let mut command = bare(&self.program);
        command
            .args(args)
            .current_dir(self.folder.path())
            .env("HOME", place("home"))
            .env("TMPDIR", place("tmp"));
        // Whatever happens to the benchmark, no daemon outlives it for long.
        match self.kind {
            Kind::Agbrowse => command
                .env("AGBROWSE_RUNTIME_DIR", place("run"))
                .env("AGBROWSE_CHROME", &self.chrome)
                .env("AGBROWSE_CHROME_ARG", ONLY_LOOPBACK)
                .env("AGBROWSE_IDLE_TIMEOUT", "5m"),
            // It starts its browser anew when these differ from one command to the next.
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
    /// When it does not.
    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Result<Finished> {
        let mut command = self.command(args);
        let finished = process::run(&mut command, LIMIT)?;
        if finished.status.success() {
            return Ok(finished);
        }
        let verb = command.get_args().next().unwrap_or_default().display().to_string();
        let said =
            if finished.stderr.trim().is_empty() { &finished.stdout } else { &finished.stderr };
        let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let said: String = said.chars().take(300).collect();
        Err(Error::Failed(format!(
            "`{} {verb}` ended with {}: {said}",
            self.name(),
            finished.status
        )))
    }

    /// Runs `eval 1`, which starts what is not there yet. The time it took, in milliseconds.
    ///
    /// # Errors
    /// When it fails or gives anything but `1`.
    pub fn eval_one(&self) -> Result<f64> {
        let finished = self.run(["eval", "1"])?;
        match finished.stdout.trim() {
            "1" => Ok(finished.elapsed_ms()),
            other => Err(Error::Failed(format!("`{} eval 1` printed `{other}`", self.name()))),
        }
    }

    /// The arguments that list the tabs.
    pub fn tabs(&self) -> Vec<OsString> {
        let words: &[&str] = match self.kind {
            Kind::Agbrowse => &["tabs"],
            Kind::AgentBrowser => &["tab", "list"],
        };
        words.iter().map(OsString::from).collect()
    }

    /// Its version, as it tells it.
    ///
    /// # Errors
    /// When it does not.
    pub fn version(&self) -> Result<String> {
        Ok(self.run(["--version"])?.stdout.trim().to_owned())
    }

    /// What its daemon keeps in memory, once that stands still.
    ///
    /// # Errors
    /// When there is no daemon, or the system does not tell.
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

    /// Stops its daemon and browser and waits until all their processes are gone. What does not go by itself
    /// is ended; the number of such processes comes back.
    pub fn stop(&self) -> usize {
        let mut processes = self.processes();
        if processes.is_empty() {
            return 0;
        }
        let args: &[&str] = match self.kind {
            Kind::Agbrowse => &["daemon", "stop"],
            Kind::AgentBrowser => &["close"],
        };
        // If it fails, the processes are still there, and that is what counts.
        _ = process::run(&mut self.command(args), LIMIT);
        // Those started since belong to it as well.
        let known = processes.clone();
        processes.extend(self.processes().into_iter().filter(|process| !known.contains(process)));
        let left = process::wait_gone(processes, PATIENCE);
        let count = left.len();
        process::end(left);
        count
    }

    /// Its daemon, its browser and all that belongs to them.
    fn processes(&self) -> Vec<Process> {
        let daemon = self.daemon_by_file().filter(|pid| process::runs(*pid, &self.program));
        process::family(self.folder.path(), daemon.as_slice())
    }

    /// The daemon as its own file tells: it is there even when the daemon no longer answers.
    fn daemon_by_file(&self) -> Option<u32> {
        let name = match self.kind {
            Kind::Agbrowse => "run/default.json",
            Kind::AgentBrowser => "run/default.pid",
        };
        let text = std::fs::read_to_string(self.folder.path().join(name)).ok()?;
        let told = || serde_json::from_str::<Daemon>(&text).ok().map(|daemon| daemon.pid);
        text.trim().parse().ok().or_else(told)
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What both tools say of their daemon, each under its own word.
#[derive(Deserialize)]
struct Status {
    #[serde(rename = "result", alias = "data")]
    daemon: Daemon,
}

#[derive(Deserialize)]
struct Daemon {
    pid: u32,
}

/// A command that does nothing: what starting any process costs.
pub fn nothing() -> Command {
    let mut command = bare(Path::new("true"));
    // The tools get a folder to run in, and a process with one may be started in another way.
    command.current_dir("/");
    command
}

/// The version of a browser, as it tells it.
///
/// # Errors
/// When it does not.
pub fn browser_version(chrome: &Path) -> Result<String> {
    let wrong =
        |why: String| Error::WrongCall(format!("`{}` is no browser: {why}", chrome.display()));
    let finished = process::run(bare(chrome).arg("--version"), LIMIT)
        .map_err(|error| wrong(error.to_string()))?;
    match finished.stdout.trim() {
        version if finished.status.success() && !version.is_empty() => Ok(version.to_owned()),
        _ => Err(wrong(format!("it tells no version and ends with {}", finished.status))),
    }
}

fn is_script(program: &Path) -> bool {
    program.extension().is_some_and(|ending| ending == "js")
}

/// The browser that all tools shall use: the one that was named, or `AGBROWSE_CHROME`, or the one on the path.
///
/// # Errors
/// When there is none.
pub fn browser(named: Option<&Path>) -> Result<PathBuf> {
    let found = match named {
        Some(path) => path.to_owned(),
        None => std::env::var_os("AGBROWSE_CHROME")
            .map(PathBuf::from)
            .or_else(|| BROWSERS.iter().find_map(|name| on_path(name)))
            .ok_or_else(|| Error::WrongCall("no Chromium is found; name one by --chrome".into()))?,
    };
    Ok(std::path::absolute(found)?)
}

/// Our program: the one that was named, or the one beside the benchmark.
///
/// # Errors
/// When it is not there.
pub fn our_program(named: Option<&Path>) -> Result<PathBuf> {
    let program = match named {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?.with_file_name(Kind::Agbrowse.name()),
    };
    if program.is_file() {
        return Ok(program);
    }
    Err(Error::WrongCall(format!(
        "there is no `{}`: build it by `cargo build --release -p agbrowse` or name one by --agbrowse",
        program.display()
    )))
}

/// The tool to compare with, on the path.
pub fn find_rival() -> Option<PathBuf> {
    on_path(Kind::AgentBrowser.name())
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// A command that inherits nothing of our environment but what programs need to be found and run.
pub(crate) fn bare(program: &Path) -> Command {
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
    fn the_native_program_is_preferred_to_its_wrapper() {
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
    fn both_tools_tell_their_daemon() {
        for text in [
            r#"{"ok":true,"result":{"session":"default","pid":7}}"#,
            r#"{"data":{"active":true,"pid":7,"runtime":{}},"success":true}"#,
        ] {
            assert_eq!(serde_json::from_str::<Status>(text).unwrap().daemon.pid, 7);
        }
    }
}
