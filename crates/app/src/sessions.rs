//! `agbrowse sessions` and `agbrowse daemon …`: what daemons there are, told by asking each.

use crate::config::closest;
use crate::daemon::{
    BlockingClient, DaemonRequest, DaemonResponse, DaemonState, DaemonStatus, SessionPaths, ensure,
    list,
};
use browser::{Code, Error, OrphanTabs, Result, RetryHint};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde::Serialize;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::time::{Duration, Instant};

/// A daemon that does not say what it is within this is stuck.
const PATIENCE: Duration = Duration::from_secs(2);

/// A daemon that is asked to end has this long, with its browser; one that is killed, a moment. Longer than an orderly
/// end of both takes.
const ORDERLY_END: Duration = Duration::from_secs(5);
const KILLED: Duration = Duration::from_secs(3);

/// The sessions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sessions {
    /// By name.
    pub sessions: Vec<Session>,
}

/// One session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Its name.
    pub name: String,
    /// `running`, `lost` (its daemon ended unasked) or `stuck` (it does not answer).
    pub state: String,
    /// What its daemon says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daemon: Option<DaemonStatus>,
    /// What there is to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Lists the sessions.
///
/// # Errors
/// When their folder cannot be used.
pub fn sessions() -> Result<Sessions> {
    let mut sessions = Vec::new();
    for name in list() {
        let place = SessionPaths::of(&name)?;
        let (state, daemon, detail) = match status(&place) {
            Some(Ok(status)) => ("running", Some(status), None),
            Some(Err(error)) if error.code() == Code::DaemonStopping => continue,
            Some(Err(error)) => ("stuck", None, Some(error.to_string())),
            None => match DaemonState::read(&place).and_then(|state| state.loss()) {
                Some(loss) => ("lost", None, Some(loss)),
                None => continue,
            },
        };
        sessions.push(Session { name, state: state.into(), daemon, detail });
    }
    Ok(Sessions { sessions })
}

/// Asks a session's daemon what it is; `None` when none runs.
pub fn status(place: &SessionPaths) -> Option<Result<DaemonStatus>> {
    let mut client = BlockingClient::connect(place)?;
    Some(match client.ask(&DaemonRequest::Status, PATIENCE) {
        Ok(DaemonResponse::Status(status)) => Ok(status),
        Ok(_) => {
            Err(Error::new(Code::DaemonBadFrame).message("the daemon answered something else"))
        }
        Err(error) => Err(error),
    })
}

/// Stops a session's daemon and waits until it is gone; one that is gone already has what it left removed. `false` when
/// there was neither.
///
/// One that does not end is killed. Its browser dies with it, and its state file stays and says so.
///
/// # Errors
/// When it does not end even so.
pub fn stop(place: &SessionPaths) -> Result<bool> {
    let (mut daemon, mut client) = find(place);
    let was_dead = client.is_none() && !daemon.is_there();
    // It left tabs in somebody's browser, which the next daemon closes when it is stopped.
    if was_dead
        && DaemonState::read(place).is_some_and(|state| state.left.is_some())
        && ensure(place, ORDERLY_END).is_ok()
    {
        (daemon, client) = find(place);
    }
    if was_dead && client.is_none() {
        // What a lost session left is what the caller wants to be rid of.
        return Ok(place.clear());
    }
    // One that has the lock and does not listen is about to end.
    let asked = client.map(|mut client| client.ask(&DaemonRequest::Stop, PATIENCE));
    // Versions differ, or it is stuck: it is ours all the same.
    if let Some(Err(error)) = asked
        && error.code() != Code::DaemonStopping
    {
        daemon.signal(place, Signal::TERM)?;
    }
    if daemon.ends_within(ORDERLY_END) {
        if was_dead {
            place.clear();
        }
        return Ok(true);
    }
    daemon.signal(place, Signal::KILL)?;
    if daemon.ends_within(KILLED) {
        return Ok(true);
    }
    let stays = format!("the daemon of session `{}` does not end, not even killed", place.session);
    Err(Error::new(Code::DaemonUnresponsive).hint(RetryHint::RunDoctor).message(stays))
}

/// The end of a session's log.
///
/// # Errors
/// `session.not-found` when it has none.
pub fn log_tail(place: &SessionPaths, lines: usize) -> Result<String> {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(place.log())?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(1 << 20)))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        let all: Vec<&str> = text.lines().collect();
        Ok(all[all.len().saturating_sub(lines)..].join("\n"))
    };
    read().map_err(|_| not_found(&place.session))
}

/// The error for a session without a daemon: it was lost, or there never was one.
pub fn no_daemon(place: &SessionPaths) -> Error {
    let state = DaemonState::read(place).unwrap_or_default();
    match state.loss() {
        Some(loss) => {
            Error::new(Code::BrowserLost).message(OrphanTabs::tell(state.left.as_ref(), &loss))
        }
        None => not_found(&place.session),
    }
}

/// The error for a session that is not there, naming one that may have been meant.
pub fn not_found(name: &str) -> Error {
    let known = list();
    let message = match closest(name, known.iter().map(String::as_str)) {
        Some(near) if near != name => {
            format!("there is no session `{name}`; did you mean `{near}`?")
        }
        _ => format!("there is no session `{name}`"),
    };
    Error::new(Code::SessionNotFound).message(message).evidence("sessions", known)
}

/// The daemon that has a session's lock, as it was found. One that comes after it has another lock or, where the first
/// was killed and left its own, is another process.
struct DaemonHandle {
    lock: Option<File>,
    /// The process that listens, where the system tells.
    listens: Option<Pid>,
    /// The process that the state file names.
    named: Option<Pid>,
}

/// The daemon of a session, and the line to it if it listens.
fn find(place: &SessionPaths) -> (DaemonHandle, Option<BlockingClient>) {
    loop {
        // Before the line: if it is still in its place after that, it is the lock of who listens.
        let lock = File::open(place.lock()).ok();
        let client = BlockingClient::connect(place);
        let is_its = match &lock {
            Some(lock) => place.is_lock(lock).unwrap_or(true),
            None => !place.lock().exists(),
        };
        if client.is_none() || is_its {
            let listens = client.as_ref().and_then(BlockingClient::peer);
            return (DaemonHandle { lock, listens, named: named_in(place) }, client);
        }
    }
}

/// The process that the state file names.
fn named_in(place: &SessionPaths) -> Option<Pid> {
    Pid::from_raw(i32::try_from(DaemonState::read(place)?.pid).ok()?)
}

impl DaemonHandle {
    fn is_there(&self) -> bool {
        let is_held = self.lock.as_ref().is_some_and(|lock| {
            let is_free = lock.try_lock().is_ok();
            if is_free {
                // It is for who comes next.
                _ = lock.unlock();
            }
            !is_free
        });
        is_held && self.listens.is_none_or(|pid| test_kill_process(pid) != Err(Errno::SRCH))
    }

    /// Sends its process a signal: the one that listened, else the one that the state file names. Only while it is there,
    /// so that nobody else is meant.
    fn signal(&self, place: &SessionPaths, signal: Signal) -> Result<()> {
        // What another one has written since names that one.
        let named = self.named.filter(|pid| named_in(place) == Some(*pid));
        let Some(pid) = self.listens.or(named).filter(|_| self.is_there()) else { return Ok(()) };
        match kill_process(pid, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(Error::new(Code::DaemonUnresponsive).message(error.to_string())),
        }
    }

    fn ends_within(&self, limit: Duration) -> bool {
        let began = Instant::now();
        while self.is_there() {
            if began.elapsed() > limit {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
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

    /// A process that ends well when its input ends, unless it is killed before.
    fn process() -> Child {
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    fn ends_well(mut process: Child) -> bool {
        drop(process.stdin.take());
        process.wait().unwrap().success()
    }

    fn write_state(place: &SessionPaths, process: &Child) {
        DaemonState { pid: process.id(), ..DaemonState::default() }.write(place).unwrap();
    }

    /// The session's lock. What another test starts may hold it for a moment longer than its holder.
    fn seize(place: &SessionPaths) -> File {
        let began = Instant::now();
        loop {
            if let Some(lock) = place.seize().unwrap() {
                return lock;
            }
            assert!(began.elapsed() < KILLED, "it is free");
        }
    }

    #[test]
    fn who_comes_after_a_daemon_is_not_taken_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = SessionPaths::in_folder(folder.path(), "a");
        let (first, next) = (process(), process());
        for was_killed in [false, true] {
            write_state(&place, &first);
            let lock = seize(&place);
            let (daemon, client) = find(&place);
            assert!(client.is_none() && daemon.is_there());
            if !was_killed {
                std::fs::remove_file(place.lock()).unwrap();
            }
            drop(lock);
            let _lock = seize(&place);
            write_state(&place, &next);
            // The lock of one that was killed is there for the next.
            assert!(if was_killed { daemon.is_there() } else { daemon.ends_within(KILLED) });
            daemon.signal(&place, Signal::KILL).unwrap();
        }
        assert!(ends_well(first) && ends_well(next));
    }

    #[test]
    fn who_has_the_lock_gets_the_signal() {
        let folder = tempfile::tempdir().unwrap();
        let place = SessionPaths::in_folder(folder.path(), "a");
        let daemon = process();
        write_state(&place, &daemon);
        let _lock = seize(&place);
        find(&place).0.signal(&place, Signal::KILL).unwrap();
        assert!(!ends_well(daemon));
    }
}
