//! Wire format of the daemon socket: a frame is two lengths, a JSON text, and the bytes of a file.

use crate::VERSION;
use browser::launch::LaunchOverrides;
use browser::{BrowserEvent, Code, Error, InClear, Outcome, Request, Result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Maximum size of a request.
pub const MAX_REQUEST: usize = 32 << 20;

/// Maximum size of a response.
pub(super) const MAX_RESPONSE: usize = 1 << 30;

/// Size of the frame header: length of the JSON, length of the file, both little-endian.
pub(super) const HEADER: usize = 8;

/// A request to the daemon. The version comes first, so that a daemon of another version can report the mismatch.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestEnvelope {
    /// The client's version.
    pub version: String,
    /// The [`DaemonRequest`], parsed only if the versions match.
    pub action: Box<RawValue>,
}

/// Request types.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant, reason = "lives for the length of one request")]
pub enum DaemonRequest {
    /// Run a command.
    Run {
        /// The command, its tab and its context.
        request: Request,
        /// Launch options that the client sets.
        #[serde(default)]
        overrides: LaunchOverrides,
    },
    /// Keep the daemon alive while this connection is open; it stops when the last such connection closes.
    KeepAlive,
    /// Subscribe to browser events, one response each.
    Events,
    /// Get the daemon's status.
    Status,
    /// Stop the daemon and its browser.
    Stop,
}

/// A response of the daemon.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResponseEnvelope {
    /// The daemon's version.
    pub version: String,
    /// The response.
    pub done: DaemonResponse,
}

/// Response types.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant, reason = "lives for the length of one request")]
pub enum DaemonResponse {
    /// Outcome of a command.
    Outcome(Outcome),
    /// The daemon's status.
    Status(DaemonStatus),
    /// The daemon stays alive while the connection is open.
    KeepAlive,
    /// Events follow.
    Events,
    /// An event of the browser.
    Event(BrowserEvent),
    /// The daemon stops.
    Stopping,
    /// The request failed.
    Error(Error),
}

impl DaemonResponse {
    /// Attaches the file of the frame; returns an error response as `Err`.
    pub(super) fn with_file(self, file: Vec<u8>) -> Result<Self> {
        match self {
            Self::Error(error) => Err(error),
            Self::Outcome(mut outcome) => {
                if let Some(sent) = outcome.reply.verb_reply_mut().file() {
                    *sent.data = file;
                }
                Ok(Self::Outcome(outcome))
            }
            other => Ok(other),
        }
    }

    /// Returns the outcome of a command.
    ///
    /// # Errors
    /// `daemon.bad-frame` for another response type.
    pub fn outcome(self) -> Result<Outcome> {
        match self {
            Self::Outcome(outcome) => Ok(outcome),
            _ => {
                Err(Error::new(Code::DaemonBadFrame).message("unexpected response from the daemon"))
            }
        }
    }
}

/// Status of a daemon.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DaemonStatus {
    /// Session name.
    pub session: String,
    /// Process id.
    pub pid: u32,
    /// Version.
    pub version: String,
    /// Uptime in seconds.
    pub uptime_s: u64,
    /// Commands answered.
    pub commands: u64,
    /// Commands under way.
    pub running: u64,
    /// Clients connected.
    pub clients: u64,
    /// Resident memory in kilobytes, where the system reports it.
    pub rss_kb: Option<u64>,
    /// True if its browser is running.
    pub browser: bool,
    /// Open tabs.
    pub tabs: usize,
    /// Idle timeout in seconds.
    pub idle_timeout_s: u64,
}

impl RequestEnvelope {
    /// Creates a request of this version. The only place that sends secrets over the socket in clear.
    ///
    /// # Errors
    /// When the request cannot be serialized.
    pub fn new(action: &DaemonRequest) -> Result<Self> {
        let action = serde_json::value::to_raw_value(&InClear(action)).map_err(|error| {
            Error::new(Code::CommandInvalid).message(format!("the request cannot be sent: {error}"))
        })?;
        Ok(Self { version: VERSION.into(), action })
    }
}

impl ResponseEnvelope {
    pub(super) fn new(done: DaemonResponse) -> Self {
        Self { version: VERSION.into(), done }
    }
}

/// Serializes a frame without the bytes of its file.
pub(super) fn frame(body: &impl Serialize, file: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; HEADER];
    serde_json::to_writer(&mut bytes, body)?;
    let length = |length: usize| u32::try_from(length).map_err(std::io::Error::other);
    let json = length(bytes.len() - HEADER)?.to_le_bytes();
    let file = length(file.len())?.to_le_bytes();
    bytes[..4].copy_from_slice(&json);
    bytes[4..HEADER].copy_from_slice(&file);
    Ok(bytes)
}

/// Parses the two lengths of a header.
pub(super) fn lengths(header: &[u8]) -> (usize, usize) {
    let number = |at: usize| {
        let bytes =
            header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
        u32::from_le_bytes(bytes) as usize
    };
    (number(0), number(4))
}
