//! `agbrowse sessions` and `agbrowse daemon …`: lists, stops and diagnoses the daemons of all sessions.

use crate::config::closest;
use crate::daemon::{
    Connection, DaemonRequest, DaemonResponse, DaemonState, DaemonStatus, SessionPaths, list,
};
use browser::{Code, Error, OrphanTabs, Result, RetryHint};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde::Serialize;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::time::{Duration, Instant};

/// Response timeout: a daemon that takes longer is stuck.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// Time limit for an orderly shutdown of a daemon and its browser: longer than that takes.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for the exit of a killed daemon.
const KILL_TIMEOUT: Duration = Duration::from_secs(3);

/// List of sessions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sessions {
    /// Sessions, sorted by name.
    pub sessions: Vec<Session>,
}

/// A session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Name.
    pub name: String,
    /// `running`, `lost` (its daemon ended unexpectedly) or `stuck` (it does not respond).
    pub state: String,
    /// Status of a running daemon.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daemon: Option<DaemonStatus>,
    /// Error of a stuck daemon or reason of a loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Lists the sessions.
///
/// # Errors
/// When the runtime directory cannot be used.
pub async fn sessions() -> Result<Sessions> {
    let mut sessions = Vec::new();
    for name in list() {
        let paths = SessionPaths::of(&name)?;
        let (state, daemon, detail) = match status(&paths).await {
            Some(Ok(status)) => ("running", Some(status), None),
            Some(Err(error)) if error.code() == Code::DaemonStopping => continue,
            Some(Err(error)) => ("stuck", None, Some(error.to_string())),
            None => match DaemonState::read(&paths).and_then(|state| state.loss()) {
                Some(reason) => ("lost", None, Some(reason)),
                None => continue,
            },
        };
        sessions.push(Session { name, state: state.into(), daemon, detail });
    }
    Ok(Sessions { sessions })
}

/// Requests the status of a session's daemon; `None` if none is running.
pub async fn status(paths: &SessionPaths) -> Option<Result<DaemonStatus>> {
    let mut client = Connection::open(paths).await?;
    Some(match client.ask(&DaemonRequest::Status, STATUS_TIMEOUT).await {
        Ok(DaemonResponse::Status(status)) => Ok(status),
        Ok(_) => {
            Err(Error::new(Code::DaemonBadFrame).message("unexpected response from the daemon"))
        }
        Err(error) => Err(error),
    })
}

/// Stops a session's daemon and waits for its exit; removes the files of a lost session. Returns `false` if there was
/// neither.
///
/// A daemon that does not exit is killed. Its browser dies with it, and its state file stays as a record of that.
///
/// # Errors
/// When a killed daemon does not exit.
pub async fn stop(paths: &SessionPaths) -> Result<bool> {
    let (mut daemon, mut client) = find(paths).await;
    let is_stopped = client.is_none() && !daemon.is_alive();
    // It left tabs in an attached browser. A new daemon adopts them and closes them when it is stopped.
    if is_stopped
        && DaemonState::read(paths).is_some_and(|state| state.left.is_some())
        && Connection::ensure(paths, SHUTDOWN_TIMEOUT).await.is_ok()
    {
        (daemon, client) = find(paths).await;
    }
    if is_stopped && client.is_none() {
        // The caller wants the files of a lost session removed.
        return Ok(paths.clear());
    }
    // A daemon that holds the lock without listening is shutting down.
    let response = match &mut client {
        Some(client) => Some(client.ask(&DaemonRequest::Stop, STATUS_TIMEOUT).await),
        None => None,
    };
    // Its end of the connection would keep a stopping daemon waiting.
    drop(client);
    // Another version or stuck: it is our process all the same.
    if let Some(Err(error)) = response
        && error.code() != Code::DaemonStopping
    {
        daemon.signal(paths, Signal::TERM)?;
    }
    if daemon.exits_within(SHUTDOWN_TIMEOUT).await {
        if is_stopped {
            paths.clear();
        }
        return Ok(true);
    }
    daemon.signal(paths, Signal::KILL)?;
    if daemon.exits_within(KILL_TIMEOUT).await {
        return Ok(true);
    }
    let message =
        format!("the daemon of session `{}` does not exit, even after SIGKILL", paths.session);
    Err(Error::new(Code::DaemonUnresponsive).hint(RetryHint::RunDoctor).message(message))
}

/// Returns the last lines of a session's log.
///
/// # Errors
/// `session.not-found` if it has no log.
pub fn log_tail(paths: &SessionPaths, lines: usize) -> Result<String> {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(paths.log())?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(1 << 20)))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        let all: Vec<&str> = text.lines().collect();
        Ok(all[all.len().saturating_sub(lines)..].join("\n"))
    };
    read().map_err(|_| not_found(&paths.session))
}

/// Error for a session without a daemon: `browser.lost` if it was lost, else `session.not-found`.
pub fn no_daemon(paths: &SessionPaths) -> Error {
    let state = DaemonState::read(paths).unwrap_or_default();
    match state.loss() {
        Some(reason) => {
            Error::new(Code::BrowserLost).message(OrphanTabs::tell(state.left.as_ref(), &reason))
        }
        None => not_found(&paths.session),
    }
}

/// Error for an unknown session, with the most similar name.
pub fn not_found(name: &str) -> Error {
    let known = list();
    let message = match closest(name, known.iter().map(String::as_str)) {
        Some(similar) if similar != name => {
            format!("there is no session `{name}`; did you mean `{similar}`?")
        }
        _ => format!("there is no session `{name}`"),
    };
    Error::new(Code::SessionNotFound).message(message).evidence("sessions", known)
}

/// Identifies the daemon that holds a session's lock. Its successor has another lock file or, if the daemon was killed and
/// left the file, another process.
struct DaemonHandle {
    lock: Option<File>,
    /// The listening process, where the system reports it.
    listener: Option<Pid>,
    /// The process in the state file.
    recorded: Option<Pid>,
}

/// Finds the daemon of a session and connects to it if it is listening.
async fn find(paths: &SessionPaths) -> (DaemonHandle, Option<Connection>) {
    loop {
        // Opened before the connection: if the file is still current after it, it is the lock of the listening daemon.
        let lock = File::open(paths.lock()).ok();
        let client = Connection::open(paths).await;
        let is_current = match &lock {
            Some(lock) => paths.is_lock(lock).unwrap_or(true),
            None => !paths.lock().exists(),
        };
        if client.is_none() || is_current {
            let listener = client.as_ref().and_then(Connection::peer);
            return (DaemonHandle { lock, listener, recorded: recorded_pid(paths) }, client);
        }
    }
}

/// Returns the process in the state file.
fn recorded_pid(paths: &SessionPaths) -> Option<Pid> {
    Pid::from_raw(i32::try_from(DaemonState::read(paths)?.pid).ok()?)
}

impl DaemonHandle {
    fn is_alive(&self) -> bool {
        let is_held = self.lock.as_ref().is_some_and(|lock| {
            let is_free = lock.try_lock().is_ok();
            if is_free {
                // Free for the next daemon.
                _ = lock.unlock();
            }
            !is_free
        });
        is_held && self.listener.is_none_or(|pid| test_kill_process(pid) != Err(Errno::SRCH))
    }

    /// Signals the listening process, else the one in the state file, and only while the lock is held, so that no other
    /// process is hit.
    fn signal(&self, paths: &SessionPaths, signal: Signal) -> Result<()> {
        // A successor may have written the state file since.
        let recorded = self.recorded.filter(|pid| recorded_pid(paths) == Some(*pid));
        let Some(pid) = self.listener.or(recorded).filter(|_| self.is_alive()) else {
            return Ok(());
        };
        match kill_process(pid, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(Error::new(Code::DaemonUnresponsive).message(error.to_string())),
        }
    }

    async fn exits_within(&self, limit: Duration) -> bool {
        let started = Instant::now();
        while self.is_alive() {
            if started.elapsed() > limit {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        true
    }
}

impl fmt::Display for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sessions.is_empty() {
            return f.write_str("no sessions");
        }
        let width =
            self.sessions.iter().map(|session| session.name.len()).max().unwrap_or_default();
        for (number, session) in self.sessions.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            write!(f, "{:width$}  {:8}", session.name, session.state)?;
            if let Some(status) = &session.daemon {
                write!(f, "{status}")?;
            }
            if let Some(detail) = &session.detail {
                write!(f, "{detail}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for DaemonStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let browser = match (self.browser, self.tabs) {
            (false, _) => "no browser".to_owned(),
            (true, 1) => "1 tab".to_owned(),
            (true, tabs) => format!("{tabs} tabs"),
        };
        write!(
            f,
            "process {}, up {} s, {} commands, {browser}",
            self.pid, self.uptime_s, self.commands
        )?;
        match self.rss_kb {
            Some(kb) => write!(f, ", {}.{} MB", kb / 1024, kb % 1024 * 10 / 1024),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// A process that exits successfully at the end of its stdin, unless it is killed.
    fn process() -> Child {
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    fn exits_successfully(mut process: Child) -> bool {
        drop(process.stdin.take());
        process.wait().unwrap().success()
    }

    fn write_state(paths: &SessionPaths, process: &Child) {
        DaemonState { pid: process.id(), ..DaemonState::default() }.write(paths).unwrap();
    }

    /// Acquires the session's lock. A process that another test has just forked may hold it a moment longer.
    fn acquire_lock(paths: &SessionPaths) -> File {
        let started = Instant::now();
        loop {
            if let Some(lock) = paths.seize().unwrap() {
                return lock;
            }
            assert!(started.elapsed() < KILL_TIMEOUT, "it is free");
        }
    }

    #[tokio::test]
    async fn successor_of_a_daemon_is_not_signalled() {
        let folder = tempfile::tempdir().unwrap();
        let paths = SessionPaths::in_folder(folder.path(), "a");
        let (first, next) = (process(), process());
        for was_killed in [false, true] {
            write_state(&paths, &first);
            let lock = acquire_lock(&paths);
            let (daemon, client) = find(&paths).await;
            assert!(client.is_none() && daemon.is_alive());
            if !was_killed {
                std::fs::remove_file(paths.lock()).unwrap();
            }
            drop(lock);
            let _lock = acquire_lock(&paths);
            write_state(&paths, &next);
            // A killed daemon's lock file is reused by its successor.
            assert!(if was_killed {
                daemon.is_alive()
            } else {
                daemon.exits_within(KILL_TIMEOUT).await
            });
            daemon.signal(&paths, Signal::KILL).unwrap();
        }
        assert!(exits_successfully(first) && exits_successfully(next));
    }

    #[tokio::test]
    async fn lock_holder_is_signalled() {
        let folder = tempfile::tempdir().unwrap();
        let paths = SessionPaths::in_folder(folder.path(), "a");
        let daemon = process();
        write_state(&paths, &daemon);
        let _lock = acquire_lock(&paths);
        find(&paths).await.0.signal(&paths, Signal::KILL).unwrap();
        assert!(!exits_successfully(daemon));
    }
}
