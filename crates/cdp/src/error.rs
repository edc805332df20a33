//! What can go wrong on the wire. Small on purpose: `browser` turns these into errors for people.

use std::sync::Arc;
use std::time::Duration;

/// A failure of the wire or of the peer behind it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection is gone; nothing more can be said on it.
    #[error("the connection to the browser is closed: {reason}")]
    Closed {
        /// Why, as far as it is known.
        reason: Arc<str>,
    },
    /// The session's target went away: its tab was closed or its frame removed.
    #[error("the target went away during `{method}`")]
    Detached {
        /// The method that was under way.
        method: &'static str,
    },
    /// The process behind the session died.
    #[error("the page crashed during `{method}`")]
    Crashed {
        /// The method that was under way.
        method: &'static str,
    },
    /// No answer before the deadline.
    #[error("no answer to `{method}` within {} ms", .allowed.as_millis())]
    Timeout {
        /// The method that was under way.
        method: &'static str,
        /// The allowance that ran out.
        allowed: Duration,
    },
    /// The browser refused the call.
    #[error("`{method}` was refused: {message} ({code})")]
    Remote {
        /// The method that was refused.
        method: &'static str,
        /// The JSON-RPC error code.
        code: i64,
        /// The browser's words.
        message: String,
    },
    /// The answer was not of the form we read.
    #[error("the answer to `{method}` could not be read: {message}")]
    Decode {
        /// The method, or the event, whose payload was not understood.
        method: String,
        /// The decoder's words.
        message: String,
    },
    /// The browser does not read what we send.
    #[error("the browser does not read: {queued} bytes are waiting to be sent")]
    Backlog {
        /// How much is waiting.
        queued: usize,
    },
    /// No connection could be made.
    #[error("no connection to `{address}`: {message}")]
    Connect {
        /// Where to.
        address: String,
        /// The reason given by the system or the peer.
        message: String,
    },
}
