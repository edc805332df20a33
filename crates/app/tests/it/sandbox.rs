//! An isolated home directory for one test: its own sockets, settings and caches, and the real program.

use agbrowse::daemon::{Connection, DaemonRequest, DaemonResponse, SessionPaths};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub struct Home {
    folder: TempDir,
}

/// Whether there is a browser to test with. `AGBROWSE_REQUIRE_CHROMIUM` requires one.
pub fn has_browser() -> bool {
    match browser::launch::find(&browser::launch::BrowserQuery::default()) {
        Ok(_) => true,
        Err(error) => {
            assert!(std::env::var_os("AGBROWSE_REQUIRE_CHROMIUM").is_none(), "{error}");
            eprintln!("skipped: {error}");
            false
        }
    }
}

impl Home {
    pub fn new() -> Self {
        // Short, because of the length limit of socket paths.
        let folder = tempfile::Builder::new().prefix("agb").tempdir().unwrap();
        std::fs::create_dir(folder.path().join("project")).unwrap();
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program, ready to be run in this home.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agbrowse"));
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("AGBROWSE_") && name != "AGBROWSE_CHROME" {
                command.env_remove(name);
            }
        }
        command
            .args(args)
            .current_dir(self.path("project"))
            .env("AGBROWSE_RUNTIME_DIR", self.path("run"))
            .env("HOME", self.folder.path())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("XDG_DATA_HOME", self.path("data"))
            .stdin(Stdio::null());
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> CommandOutput {
        CommandOutput(self.command(args).output().unwrap())
    }

    /// Runs a command that has to succeed; returns what it printed.
    pub fn ok<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        let done = self.run(args);
        assert!(done.0.status.success(), "{}", done.err());
        done.out()
    }

    /// Runs a command with `--json` that has to succeed; returns its envelope.
    pub fn json<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Value {
        let mut command = self.command(args);
        let done = CommandOutput(command.arg("--json").output().unwrap());
        assert!(done.0.status.success(), "{}\n{}", done.err(), done.out());
        serde_json::from_str(&done.out()).unwrap()
    }

    /// Runs a command with `--json` that has to fail; returns its error.
    pub fn error<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Value {
        let mut command = self.command(args);
        let done = CommandOutput(command.arg("--json").output().unwrap());
        assert!(!done.0.status.success(), "the command succeeded: {}", done.out());
        let envelope: Value =
            serde_json::from_str(&done.err()).unwrap_or_else(|_| panic!("{}", done.err()));
        envelope["error"].clone()
    }

    pub fn start<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Child {
        self.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The directory that the program creates for its sockets in `AGBROWSE_RUNTIME_DIR`.
    fn sockets(&self) -> PathBuf {
        self.path("run").join(format!("agbrowse-{}", rustix::process::getuid().as_raw()))
    }

    /// The socket path of a session.
    pub fn socket(&self, session: &str) -> PathBuf {
        self.sockets().join(format!("{session}.sock"))
    }

    /// The files in the socket directory.
    pub fn remaining_files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.sockets()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        names
    }

    /// The same, or `None` if the directory was never created.
    pub fn remaining_files_or_none(&self) -> Option<Vec<String>> {
        self.sockets().exists().then(|| self.remaining_files())
    }

    pub fn daemon_pid(&self) -> u32 {
        number(&self.json(["daemon", "status"])["result"]["pid"])
    }

    pub fn browser_pid(&self) -> u32 {
        number(&self.json(["status"])["result"]["browser"]["pid"])
    }

    /// Every process of a browser: its process group, and helpers outside of it that use its profile.
    pub fn processes_of(browser: u32, profile: &str) -> Vec<u32> {
        processes()
            .into_iter()
            .filter(|pid| group(*pid) == Some(browser) || cmdline_contains(*pid, profile))
            .collect()
    }

    /// The renderer processes of a browser.
    pub fn renderers_of(browser: u32, profile: &str) -> Vec<u32> {
        let all = Self::processes_of(browser, profile).into_iter();
        all.filter(|pid| cmdline_contains(*pid, "--type=renderer")).collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        _ = self.command(["daemon", "stop", "--all"]).output();
    }
}

pub struct CommandOutput(pub Output);

impl CommandOutput {
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).trim_end().to_owned()
    }

    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).trim_end().to_owned()
    }

    pub fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }
}

pub fn number(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))).unwrap()
}

/// Waits for a condition; a timeout fails the test with a description of the condition.
pub fn wait_until(description: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < limit, "timed out after {limit:?}: {description}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn kill(pid: u32) {
    signal(pid, rustix::process::Signal::KILL);
}

pub fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    _ = rustix::process::kill_process(pid, signal);
}

/// The profile folder that a browser was started with.
pub fn profile_of(browser: u32) -> String {
    let line = std::fs::read(format!("/proc/{browser}/cmdline")).unwrap();
    let line = String::from_utf8_lossy(&line).into_owned();
    line.split('\0').find_map(|arg| arg.strip_prefix("--user-data-dir=")).unwrap().to_owned()
}

fn processes() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The process group; `None` for zombie processes.
fn group(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    (state != "Z").then_some(group)
}

fn cmdline_contains(pid: u32, part: &str) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline"))
        .is_ok_and(|line| String::from_utf8_lossy(&line).contains(part))
}

/// A connection to the daemon of a socket, for tests that are not asynchronous.
pub struct RawClient {
    runtime: tokio::runtime::Runtime,
    connection: Connection,
}

/// Talks to the daemon of a socket without the program in between.
pub fn client(socket: &Path) -> RawClient {
    let folder = socket.parent().unwrap();
    let session = socket.file_stem().unwrap().to_str().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let connection = runtime.block_on(Connection::open(&SessionPaths::in_folder(folder, session)));
    RawClient { connection: connection.expect("a daemon"), runtime }
}

impl RawClient {
    pub fn ask(
        &mut self,
        request: &DaemonRequest,
        allowed: Duration,
    ) -> Result<DaemonResponse, browser::Error> {
        self.runtime.block_on(self.connection.ask(request, allowed))
    }

    pub fn run(
        &mut self,
        request: &DaemonRequest,
        allowed: Duration,
    ) -> Result<browser::Outcome, browser::Error> {
        self.ask(request, allowed)?.outcome()
    }
}
