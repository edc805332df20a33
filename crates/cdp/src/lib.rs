//! The wire to Chromium: the DevTools protocol over a pipe or a WebSocket.
//!
//! What lives here: framing, the connection and its flat sessions, recursive auto-attach, and lenient
//! types for the methods we use. What deliberately does not: anything that knows what a tab, a ref or a
//! snapshot is. Generated closed enums break on today's Chromium, so every reply field is optional, every
//! enum an open string, and a payload is decoded once, by the caller that wants it.

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

/// What a call returns.
pub type Result<T> = std::result::Result<T, Error>;
