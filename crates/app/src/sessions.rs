//! `agbrowse sessions` and `agbrowse daemon …`: what daemons there are, told by asking each.

use crate::config::closest;
use crate::daemon::{Action, Client, DaemonStatus, Done, Place, State, list};
use browser::{Code, Error, Result};
use serde::Serialize;
use std::fmt;
use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

/// A daemon that does not say what it is within this is stuck.
const PATIENCE: Duration = Duration::from_secs(2);

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
        let place = Place::of(&name)?;
        let (state, daemon, detail) = match status(&place) {
            Some(Ok(status)) => ("running", Some(status), None),
            Some(Err(error)) if error.code() == Code::DaemonStopping => continue,
            Some(Err(error)) => ("stuck", None, Some(error.to_string())),
            None => match State::read(&place).and_then(|state| state.loss()) {
                Some(loss) => ("lost", None, Some(loss)),
                None => continue,
            },
        };
        sessions.push(Session { name, state: state.into(), daemon, detail });
    }
    Ok(Sessions { sessions })
}

/// Asks a session's daemon what it is; `None` when none runs.
pub fn status(place: &Place) -> Option<Result<DaemonStatus>> {
    let mut client = Client::connect(place)?;
    Some(match client.ask(&Action::Status, PATIENCE) {
        Ok(Done::Status(status)) => Ok(status),
        Ok(_) => {
            Err(Error::new(Code::DaemonBadFrame).message("the daemon answered something else"))
        }
        Err(error) => Err(error),
    })
}

/// Stops a session's daemon and waits until it is gone. `false` when none ran.
///
/// # Errors
/// When it does not end.
pub fn stop(place: &Place) -> Result<bool> {
    let Some(mut client) = Client::connect(place) else {
        // What a lost session left is what the caller wants to be rid of.
        return Ok(std::fs::remove_file(place.state()).is_ok());
    };
    match client.ask(&Action::Stop, PATIENCE) {
        Ok(_) => {}
        Err(error) if error.code() == Code::DaemonStopping => {}
        // Versions differ, or it is stuck: it is ours all the same.
        Err(_) => terminate(place)?,
    }
    wait_gone(place)?;
    Ok(true)
}

/// The end of a session's log.
///
/// # Errors
/// `session.not-found` when it has none.
pub fn log_tail(place: &Place, lines: usize) -> Result<String> {
    let read = || -> std::io::Result<String> {
        let mut file = std::fs::File::open(place.log())?;
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
pub fn no_daemon(place: &Place) -> Error {
    match State::read(place).and_then(|state| state.loss()) {
        Some(loss) => Error::new(Code::BrowserLost).message(format!("{loss}; its tabs are gone")),
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

/// Asks the daemon's process to end, by its lock: only who holds it is meant.
fn terminate(place: &Place) -> Result<()> {
    let pid = State::read(place).map(|state| state.pid).and_then(|pid| i32::try_from(pid).ok());
    let pid = pid.and_then(rustix::process::Pid::from_raw).filter(|_| is_locked(place));
    if let Some(pid) = pid {
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)
            .map_err(|error| Error::new(Code::DaemonUnresponsive).message(error.to_string()))?;
    }
    Ok(())
}

fn is_locked(place: &Place) -> bool {
    std::fs::File::open(place.lock()).is_ok_and(|lock| lock.try_lock().is_err())
}

fn wait_gone(place: &Place) -> Result<()> {
    let began = std::time::Instant::now();
    while is_locked(place) {
        if began.elapsed() > Duration::from_secs(10) {
            return Err(Error::new(Code::DaemonUnresponsive)
                .message(format!("the daemon of session `{}` does not end", place.session)));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
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
