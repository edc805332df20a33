//! What has become of the daemons of all sessions: asked all at once, as one that is stuck takes long.

use crate::daemon::{DaemonState, SessionPaths, list};
use crate::sessions::status;
use browser::{Code, Error, Evidence, Result};
use tokio::task::JoinSet;

/// A session that has left anything in the folder of sockets.
#[derive(Debug)]
pub(super) struct Daemon {
    pub(super) session: String,
    pub(super) condition: Condition,
}

#[derive(Debug)]
pub(super) enum Condition {
    /// It answers, and has this version.
    Running(String),
    /// It takes connections and does not answer: why.
    Stuck(String),
    /// It ended unasked: why.
    Lost(String),
    /// Its socket is there, and nobody listens.
    Deaf,
}

/// Asks all daemons.
///
/// # Errors
/// When their folder cannot be used.
pub(super) async fn ask_all() -> Result<Vec<Daemon>> {
    let places =
        list().iter().map(|name| SessionPaths::of(name)).collect::<Result<Vec<SessionPaths>>>()?;
    let mut asked = JoinSet::new();
    for place in places {
        asked.spawn_blocking(move || {
            let condition = condition(&place)?;
            Some(Daemon { session: place.session, condition })
        });
    }
    let mut daemons: Vec<Daemon> = asked.join_all().await.into_iter().flatten().collect();
    daemons.sort_by(|a, b| a.session.cmp(&b.session));
    Ok(daemons)
}

/// `None` when there is nothing to tell.
fn condition(place: &SessionPaths) -> Option<Condition> {
    match status(place) {
        Some(Ok(status)) => Some(Condition::Running(status.version)),
        Some(Err(error)) => match error.code() {
            Code::DaemonVersionMismatch => Some(Condition::Running(version_in(&error))),
            Code::DaemonStopping => None,
            _ => Some(Condition::Stuck(error.details().message.clone())),
        },
        None => match DaemonState::read(place).and_then(|state| state.loss()) {
            Some(loss) => Some(Condition::Lost(loss)),
            None => place.socket().exists().then_some(Condition::Deaf),
        },
    }
}

/// The daemon's version in its refusal.
fn version_in(error: &Error) -> String {
    match error.details().evidence.as_ref().and_then(|facts| facts.get("daemon")) {
        Some(Evidence::Text(version)) => version.clone(),
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_tells_the_daemons_version() {
        let refusal = Error::new(Code::DaemonVersionMismatch);
        assert_eq!(version_in(&refusal), "unknown");
        assert_eq!(version_in(&refusal.evidence("daemon", "0.0.9")), "0.0.9");
    }
}
