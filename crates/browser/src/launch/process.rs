//! A browser process, from its start to the removal of its profile.
//!
//! It must end when we end, in any way. Three mechanisms ensure it: the browser exits when its pipe closes; on Linux
//! the kernel kills it when the thread that started it dies (so that thread stays, waits for it, and sees its exit at
//! once); and the rest of its process group is killed before it is reaped.

use super::env;
use super::profile::{LockHeartbeat, Profile};
use crate::error::{Code, Error, Result};
use cdp::Transport;
use command_fds::{CommandFdExt, FdMapping};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// The browser's stderr, inside its profile.
const STDERR: &str = "agbrowse.stderr";

/// Bytes of stderr shown in an error.
const STDERR_TAIL: u64 = 1500;

/// The path of a socket has at most 103 bytes on the strictest system. Chromium creates one in the temporary folder,
/// `/org.chromium.Chromium.XXXXXX/SingletonSocket`, and aborts when its path is longer.
const MAX_TEMP_DIR: usize = 103 - 45;

/// The exit status of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// An exit code.
    Code(i32),
    /// A signal.
    Signal(i32),
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "it exited with code {code}"),
            Self::Signal(signal) => write!(f, "it was killed by signal {signal}"),
        }
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match status.signal() {
            Some(signal) => Self::Signal(signal),
            None => Self::Code(status.code().unwrap_or_default()),
        }
    }
}

/// The state of a process with regard to killing it.
#[derive(Clone, Copy, Debug)]
enum ProcessState {
    /// Being started.
    Starting,
    /// Being started, and already killed.
    Cancelled,
    Alive(Pid),
    /// Reaped: its pid may be reused.
    Reaped,
}

/// A browser that we started. Dropped, it is killed.
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// Written by the thread that starts and reaps the process.
    state: Arc<Mutex<ProcessState>>,
    exit: watch::Receiver<Option<Exit>>,
    /// Set when the profile has been removed too.
    cleaned: watch::Receiver<bool>,
    /// Its stderr. Open, because the file may be removed with the profile before it is read.
    stderr: File,
    /// Renews the lock of a named profile.
    heartbeat: Option<tokio::task::AbortHandle>,
}

impl Process {
    /// Starts `program` with CDP on two pipes.
    pub(crate) async fn spawn(
        program: &Path,
        args: &[OsString],
        profile: Profile,
    ) -> Result<(Self, Transport)> {
        let failed = |error: std::io::Error| {
            Error::new(Code::BrowserLaunchFailed)
                .message(format!("`{}` cannot be started: {error}", program.display()))
        };
        let (browser_reads, we_write) = std::io::pipe().map_err(failed)?;
        let (we_read, browser_writes) = std::io::pipe().map_err(failed)?;
        let mut stderr = File::options();
        let stderr = stderr.read(true).write(true).create(true).truncate(true);
        let stderr = stderr.open(profile.path().join(STDERR)).map_err(failed)?;
        let heartbeat = profile.heartbeat();

        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .envs(env::for_browser())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr.try_clone().map_err(failed)?)
            .process_group(0)
            .fd_mappings(vec![
                FdMapping { parent_fd: browser_reads.into(), child_fd: 3 },
                FdMapping { parent_fd: browser_writes.into(), child_fd: 4 },
            ])
            .map_err(|error| failed(std::io::Error::other(error)))?;
        if is_too_long(&std::env::temp_dir()) {
            command.env("TMPDIR", "/tmp");
        }
        die_with_parent(&mut command);

        let state = Arc::new(Mutex::new(ProcessState::Starting));
        let (exited, exit) = watch::channel(None);
        let (clean, cleaned) = watch::channel(false);
        let (started, start) = oneshot::channel();
        let thread = {
            let state = state.clone();
            move || supervise(command, profile, &state, started, &exited, &clean)
        };
        std::thread::Builder::new().name("chromium".into()).spawn(thread).map_err(failed)?;
        // Created before the process: dropped while it is being started, it is killed as soon as it exists.
        let mut process = Self { pid: 0, state, exit, cleaned, stderr, heartbeat: None };
        process.pid = start
            .await
            .map_err(|_| failed(std::io::Error::other("its thread ended")))?
            .map_err(failed)?;
        process.heartbeat =
            heartbeat.map(LockHeartbeat::run).map(|run| tokio::spawn(run).abort_handle());
        let transport =
            Transport::pipe(OwnedFd::from(we_read), OwnedFd::from(we_write)).map_err(failed)?;
        Ok((process, transport))
    }

    /// The exit status; `None` while it runs.
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit.borrow().clone()
    }

    /// Waits up to `limit` for the exit.
    pub(crate) async fn exit_within(&self, limit: Duration) -> Option<Exit> {
        let mut exit = self.exit.clone();
        tokio::time::timeout(limit, exit.wait_for(Option::is_some)).await.ok()?.ok()?.clone()
    }

    /// Kills it with all its children.
    pub(crate) fn kill(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match *state {
            ProcessState::Starting => *state = ProcessState::Cancelled,
            ProcessState::Alive(pid) => {
                _ = kill_process_group(pid, Signal::KILL);
                _ = kill_process(pid, Signal::KILL);
            }
            ProcessState::Cancelled | ProcessState::Reaped => {}
        }
    }

    /// Waits until process and profile are gone.
    pub(crate) async fn wait_cleaned(&self, limit: Duration) -> bool {
        let mut cleaned = self.cleaned.clone();
        tokio::time::timeout(limit, cleaned.wait_for(|done| *done)).await.is_ok()
    }

    /// True if its profile persists, so that an orderly exit is worth waiting for.
    pub(crate) fn has_persistent_profile(&self) -> bool {
        self.heartbeat.is_some()
    }

    /// The end of its stderr.
    pub(crate) fn stderr_tail(&self) -> Option<String> {
        let length = self.stderr.metadata().ok()?.len();
        let from = length.saturating_sub(STDERR_TAIL);
        let mut bytes = vec![0; usize::try_from(length - from).ok()?];
        // A positioned read: the browser goes on writing at its own offset.
        self.stderr.read_exact_at(&mut bytes, from).ok()?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.abort();
        }
        self.kill();
    }
}

fn is_too_long(temp_dir: &Path) -> bool {
    temp_dir.as_os_str().len() > MAX_TEMP_DIR
}

/// The main function of the thread that owns the child process.
fn supervise(
    mut command: Command,
    profile: Profile,
    state: &Mutex<ProcessState>,
    started: oneshot::Sender<std::io::Result<u32>>,
    exited: &watch::Sender<Option<Exit>>,
    clean: &watch::Sender<bool>,
) {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            _ = started.send(Err(error));
            return;
        }
    };
    drop(command); // Its copies of the browser's ends of the pipes would keep them open.
    let pid = Pid::from_child(&child);
    let before = std::mem::replace(
        &mut *state.lock().unwrap_or_else(PoisonError::into_inner),
        ProcessState::Alive(pid),
    );
    if matches!(before, ProcessState::Cancelled) {
        _ = kill_process_group(pid, Signal::KILL);
        _ = kill_process(pid, Signal::KILL);
    }
    _ = started.send(Ok(child.id()));
    // Exited but not reaped: the pid is still its own, so the rest of its group can be killed safely.
    _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    *state.lock().unwrap_or_else(PoisonError::into_inner) = ProcessState::Reaped;
    _ = kill_process_group(pid, Signal::KILL);
    let exit = child.wait().map_or(Exit::Code(-1), Exit::from);
    tracing::info!(pid = child.id(), %exit, "browser ended");
    exited.send_replace(Some(exit));
    drop(profile);
    clean.send_replace(true);
}

/// Makes the kernel kill the child when its starting thread dies, SIGKILL included.
#[cfg(target_os = "linux")]
#[allow(
    unsafe_code,
    reason = "`pre_exec` runs between fork and exec; both calls are async-signal-safe system calls"
)]
fn die_with_parent(command: &mut Command) {
    let parent = rustix::process::getpid();
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before that call.
            if rustix::process::getppid() == Some(parent) {
                Ok(())
            } else {
                Err(std::io::Error::other("the parent is gone"))
            }
        });
    }
}

/// Elsewhere the closing pipe ends the browser.
#[cfg(not(target_os = "linux"))]
fn die_with_parent(_command: &mut Command) {}
