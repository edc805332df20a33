//! The client's side: find the daemon, start it when there is none, ask one thing.

use super::SessionPaths;
use super::wire::{self, DaemonRequest, DaemonResponse, RequestEnvelope};
use browser::{Code, Error, Outcome, Result};
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What the daemon may take beyond a command's own time before it counts as dead.
pub(super) const GRACE: Duration = Duration::from_secs(15);

/// Logs beyond this are cut at the next start.
const MAX_LOG: u64 = 4 << 20;

/// An open line to a daemon.
#[derive(Debug)]
pub struct BlockingClient {
    stream: UnixStream,
}

impl BlockingClient {
    /// Connects to a session's daemon; `None` when none runs.
    pub fn connect(place: &SessionPaths) -> Option<Self> {
        UnixStream::connect(place.socket()).ok().map(|stream| Self { stream })
    }

    /// The process that listens at the other end, where the system tells.
    pub fn peer(&self) -> Option<rustix::process::Pid> {
        #[cfg(target_os = "linux")]
        return rustix::net::sockopt::socket_peercred(&self.stream).ok().map(|peer| peer.pid);
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// Asks for one thing, and gives up on the daemon after `allowed`.
    ///
    /// # Errors
    /// What the daemon answers, or that it did not.
    pub fn ask(&mut self, action: &DaemonRequest, allowed: Duration) -> Result<DaemonResponse> {
        let call = RequestEnvelope::new(action)?;
        let broken = |error: std::io::Error| match error.kind() {
            ErrorKind::InvalidData => Error::new(Code::DaemonBadFrame)
                .message(format!("the daemon's answer cannot be read: {error}")),
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Error::new(Code::DaemonUnresponsive)
                .message(format!("the daemon did not answer within {} s", allowed.as_secs())),
            _ => Error::new(Code::DaemonLost)
                .message("the daemon ended while it worked on the command"),
        };
        self.stream.set_read_timeout(Some(allowed)).map_err(broken)?;
        self.stream.set_write_timeout(Some(GRACE)).map_err(broken)?;
        // A daemon that refuses early stops reading; what it says is still there to be read.
        let sent = wire::send(&mut self.stream, &call);
        let (answer, file) = match (wire::receive(&mut self.stream), sent) {
            (Ok(answer), _) => answer,
            (Err(_), Err(error)) | (Err(error), Ok(())) => return Err(broken(error)),
        };
        answer.done.with_file(file)
    }

    /// Runs a command that may take as long as `allowed`.
    ///
    /// # Errors
    /// As [`BlockingClient::ask`].
    pub fn run(&mut self, action: &DaemonRequest, allowed: Duration) -> Result<Outcome> {
        self.ask(action, allowed + GRACE)?.outcome()
    }
}

/// Connects to a session's daemon, starting it first when none runs.
///
/// # Errors
/// `daemon.start-failed`, with what the daemon said.
pub fn ensure(place: &SessionPaths, idle_timeout: Duration) -> Result<BlockingClient> {
    if let Some(client) = BlockingClient::connect(place) {
        return Ok(client);
    }
    start(place, idle_timeout)?;
    BlockingClient::connect(place).ok_or_else(|| {
        Error::new(Code::DaemonStartFailed).message("the daemon started and ended again")
    })
}

/// Starts the daemon and waits until it listens.
fn start(place: &SessionPaths, idle_timeout: Duration) -> Result<()> {
    let failed = |message: String| {
        Error::new(Code::DaemonStartFailed)
            .message(message)
            .evidence("log", place.log().display().to_string())
    };
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let grown = std::fs::metadata(place.log()).is_ok_and(|meta| meta.len() > MAX_LOG);
    let log = std::fs::File::options()
        .create(true)
        .write(true)
        .append(!grown)
        .truncate(grown)
        .open(place.log())
        .map_err(|error| {
            failed(format!("the log `{}` cannot be written: {error}", place.log().display()))
        })?;
    keep_descriptors();
    let mut daemon = Command::new(program)
        .arg0(format!("agbrowse-daemon-{}", place.session))
        .args(["daemon", "run", "--session", &place.session])
        .arg(format!("--idle-timeout={}ms", idle_timeout.as_millis()))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|error| failed(format!("the daemon cannot be started: {error}")))?;
    let mut word = String::new();
    let stdout = daemon.stdout.take().ok_or_else(|| failed("the daemon has no output".into()))?;
    BufReader::new(stdout).read_line(&mut word).map_err(|error| failed(error.to_string()))?;
    if word.trim_end() == READY {
        return Ok(());
    }
    match serde_json::from_str::<Error>(&word) {
        Ok(error) => Err(error),
        Err(_) => Err(failed("the daemon ended before it listened".into())),
    }
}

/// Keeps to this process what it was handed by its own parent: a daemon that held a shell's lock or the end
/// of a test runner's pipe would hold them for half an hour.
#[allow(
    unsafe_code,
    reason = "the descriptors are open, as their folder says; only a flag of each is set"
)]
fn keep_descriptors() {
    use std::os::fd::BorrowedFd;
    for entry in std::fs::read_dir("/dev/fd").into_iter().flatten() {
        let number = entry.ok().and_then(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        if let Some(number) = number.filter(|number| *number > 2) {
            let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
            // The folder's own descriptor is among them and gone by now.
            _ = rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC);
        }
    }
}

/// What the daemon says on its standard output when it listens.
pub(super) const READY: &str = "ready";
