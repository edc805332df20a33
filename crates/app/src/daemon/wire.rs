//! What goes over the socket: a frame is two lengths, a JSON text, and a file's bytes beside it.

use crate::VERSION;
use browser::launch::LaunchOverrides;
use browser::{BrowserEvent, Code, Error, InClear, Outcome, Request, Result};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The largest request that the daemon reads.
pub const MAX_REQUEST: usize = 32 << 20;

/// The largest answer that a client reads.
pub(super) const MAX_ANSWER: usize = 1 << 30;

/// The bytes before a frame: length of the JSON, length of the file, both little-endian.
pub(super) const HEADER: usize = 8;

/// A request to the daemon. The version goes first, so that a daemon of another version can say so.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestEnvelope {
    /// The client's version.
    pub version: String,
    /// What it wants, read only when the versions agree.
    pub action: Box<RawValue>,
}

/// What a client may want.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant, reason = "lives for the length of one request")]
pub enum DaemonRequest {
    /// Run a command.
    Run {
        /// The command and where it goes.
        request: Request,
        /// What is asked of the browser.
        #[serde(default)]
        overrides: LaunchOverrides,
    },
    /// Stay for as long as this connection is open, and stop when the last such one is closed.
    KeepAlive,
    /// Send the events of the browser from here on, one response each.
    Events,
    /// Tell about the daemon.
    Status,
    /// Stop the daemon and its browser.
    Stop,
}

/// The daemon's answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResponseEnvelope {
    /// The daemon's version.
    pub version: String,
    /// What came of it.
    pub done: DaemonResponse,
}

/// What came of a request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant, reason = "lives for the length of one request")]
pub enum DaemonResponse {
    /// A command was run.
    Outcome(Outcome),
    /// About the daemon.
    Status(DaemonStatus),
    /// The daemon stays for as long as the connection is open.
    KeepAlive,
    /// Events follow.
    Events,
    /// An event of the browser.
    Event(BrowserEvent),
    /// The daemon stops.
    Stopping,
    /// It failed.
    Error(Error),
}

impl DaemonResponse {
    /// The same with the file that came beside it, unless it failed.
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

    /// The outcome of a command.
    ///
    /// # Errors
    /// `daemon.bad-frame` when the daemon responded with something else.
    pub fn outcome(self) -> Result<Outcome> {
        match self {
            Self::Outcome(outcome) => Ok(outcome),
            _ => {
                Err(Error::new(Code::DaemonBadFrame).message("the daemon answered something else"))
            }
        }
    }
}

/// About a daemon.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DaemonStatus {
    /// Its session.
    pub session: String,
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// For how long it has been running, in seconds.
    pub uptime_s: u64,
    /// Commands answered.
    pub commands: u64,
    /// Commands under way.
    pub running: u64,
    /// Clients connected.
    pub clients: u64,
    /// Its memory, in kilobytes, where the system tells.
    pub rss_kb: Option<u64>,
    /// Whether it has a browser.
    pub browser: bool,
    /// Open tabs.
    pub tabs: usize,
    /// It stops after so long without a command, in seconds.
    pub idle_timeout_s: u64,
}

impl RequestEnvelope {
    /// A request of this version. The one place where secrets go over the socket in clear.
    ///
    /// # Errors
    /// When the request cannot be written down.
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

/// A frame's bytes up to its file.
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

/// The two lengths of a header.
pub(super) fn lengths(header: &[u8]) -> (usize, usize) {
    let number = |at: usize| {
        let bytes =
            header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
        u32::from_le_bytes(bytes) as usize
    };
    (number(0), number(4))
}
