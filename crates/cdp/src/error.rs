//! Errors of the connection and the protocol. Small on purpose: `browser` maps them to user-facing errors.

use std::sync::Arc;
use std::time::Duration;

/// A failure of the connection or of the browser behind it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection is closed.
    #[error("the connection to the browser is closed: {reason}")]
    Closed {
        /// The reason, as far as it is known.
        reason: Arc<str>,
    },
    /// The session was detached: its tab was closed or its frame removed.
    #[error("the target went away during `{method}`")]
    Detached {
        /// The pending method.
        method: &'static str,
    },
    /// The target's process crashed.
    #[error("the page crashed during `{method}`")]
    Crashed {
        /// The pending method.
        method: &'static str,
    },
    /// No reply before the deadline.
    #[error("no answer to `{method}` within {} ms", .allowed.as_millis())]
    Timeout {
        /// The pending method.
        method: &'static str,
        /// The time allowed.
        allowed: Duration,
    },
    /// The browser replied with an error.
    #[error("`{method}` was refused: {message} ({code})")]
    Remote {
        /// The method that failed.
        method: &'static str,
        /// The JSON-RPC error code.
        code: i64,
        /// The browser's error message.
        message: String,
    },
    /// The payload does not match the expected type.
    #[error("the answer to `{method}` could not be read: {message}")]
    Decode {
        /// The method or event whose payload was not decoded.
        method: String,
        /// The decoder's error message.
        message: String,
    },
    /// The send queue is full: the browser does not read.
    #[error("the browser does not read: {queued} bytes are waiting to be sent")]
    Backlog {
        /// Unsent bytes.
        queued: usize,
    },
    /// The connection could not be opened.
    #[error("no connection to `{address}`: {message}")]
    Connect {
        /// Address of the browser.
        address: String,
        /// Reason given by the system or the peer.
        message: String,
    },
}
