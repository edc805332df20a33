//! State of the daemons of all sessions, queried in parallel, because a stuck one takes long.

use crate::daemon::{DaemonState, SessionPaths, list};
use crate::sessions::status;
use browser::{Code, Error, Evidence, Result};
use tokio::task::JoinSet;

/// A session with files in the runtime directory.
#[derive(Debug)]
pub(super) struct Daemon {
    pub(super) session: String,
    pub(super) condition: Condition,
}

#[derive(Debug)]
pub(super) enum Condition {
    /// Responds, with this version.
    Running(String),
    /// Accepts connections but does not respond: the error.
    Stuck(String),
    /// Ended unexpectedly: the reason.
    Lost(String),
    /// The socket exists without a listener.
    NoListener,
}

/// Queries all daemons.
///
/// # Errors
/// When the runtime directory cannot be used.
pub(super) async fn query_all() -> Result<Vec<Daemon>> {
    let all_paths =
        list().iter().map(|name| SessionPaths::of(name)).collect::<Result<Vec<SessionPaths>>>()?;
    let mut queries = JoinSet::new();
    for paths in all_paths {
        queries.spawn(async move {
            let condition = condition(&paths).await?;
            Some(Daemon { session: paths.session, condition })
        });
    }
    let mut daemons: Vec<Daemon> = queries.join_all().await.into_iter().flatten().collect();
    daemons.sort_by(|a, b| a.session.cmp(&b.session));
    Ok(daemons)
}

/// Returns `None` for a session without a daemon or with a stopping one.
async fn condition(paths: &SessionPaths) -> Option<Condition> {
    match status(paths).await {
        Some(Ok(status)) => Some(Condition::Running(status.version)),
        Some(Err(error)) => match error.code() {
            Code::DaemonVersionMismatch => Some(Condition::Running(version_in(&error))),
            Code::DaemonStopping => None,
            _ => Some(Condition::Stuck(error.details().message.clone())),
        },
        None => match DaemonState::read(paths).and_then(|state| state.loss()) {
            Some(reason) => Some(Condition::Lost(reason)),
            None => paths.socket().exists().then_some(Condition::NoListener),
        },
    }
}

/// Returns the daemon's version from its version mismatch error.
fn version_in(error: &Error) -> String {
    match error.details().evidence.as_ref().and_then(|evidence| evidence.get("daemon")) {
        Some(Evidence::Text(version)) => version.clone(),
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_mismatch_error_holds_the_daemons_version() {
        let error = Error::new(Code::DaemonVersionMismatch);
        assert_eq!(version_in(&error), "unknown");
        assert_eq!(version_in(&error.evidence("daemon", "0.0.9")), "0.0.9");
    }
}
