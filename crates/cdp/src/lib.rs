//! DevTools protocol client for Chromium, over a pipe or a WebSocket.
//!
//! Contains framing, the connection with its flat sessions, recursive auto-attach, and lenient types for the
//! used methods. Knows nothing of tabs, refs or snapshots. Generated closed enums break on today's Chromium,
//! so every reply field is optional, every enum an open string, and a payload is decoded once, by its
//! consumer.

mod attach;
mod channel;
mod connection;
mod deadline;
mod error;
pub mod framing;
pub mod protocol;
mod text;
mod transport;

pub use attach::{AutoAttach, TargetChange};
pub use channel::{Channel, Reply};
pub use connection::{Connection, Delivery, Direction, Event, EventCursor, Events, Options, Tap};
pub use deadline::Deadline;
pub use error::Error;
pub use text::LossyString;
pub use transport::Transport;

/// Result of a protocol call.
pub type Result<T> = std::result::Result<T, Error>;
