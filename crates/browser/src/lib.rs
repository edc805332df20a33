//! A live Chromium for agents: launch or attach, tabs, and one entry point for every command.
//!
//! Every operation on a page is a [`Command`]; it returns a [`Reply`] or an [`Error`]. [`Browser::run`] is the only
//! entry point: the command line, the daemon and library users share it.
//!
//! ```no_run
//! # async fn example() -> agbrowse_browser::Result<()> {
//! use agbrowse_browser::{Browser, Command, Request, command::Open, launch::Options};
//!
//! let browser = Browser::new(Options::default());
//! let open = Command::Open(Open { url: "https://example.com".into(), ..Open::default() });
//! let outcome = browser.run(Request::new(open)).await?;
//! println!("{}", outcome.reply);
//! # Ok(())
//! # }
//! ```

mod access;
mod act;
mod backend_refs;
mod browser;
mod chromium;
pub mod command;
mod command_context;
mod driver;
mod error;
mod events;
pub mod launch;
mod navigate;
mod note;
mod observe;
mod progress;
mod proxy;
mod receipt_facts;
mod recorder;
mod script_guard;
mod secret;
mod storage;
mod strict;
mod tab;
mod target;

pub use access::Access;
pub use browser::{Browser, Outcome, Request};
pub use cdp::Deadline;
pub use chromium::OrphanTabs;
pub use command::{Command, Reply};
pub use driver::{Capabilities, Driver};
pub use error::{Code, CodeInfo, Details, Error, Evidence, Result, RetryHint, Stage};
pub use events::{BrowserEvent, EventStream};
pub use note::Note;
#[doc(hidden)]
pub use observe::oracle::{NodeFacts, NodePair, Reachability};
pub use page;
pub use proxy::{Proxy, ProxyInfo};
pub use receipt_facts::{ReceiptFacts, TargetFacts};
pub use recorder::{HookFuture, PageHashes, Recorder, Step};
pub use secret::{InClear, SecretString};
pub use storage::{SameSite, SavedCookie, SavedEntry, SavedOrigin, StorageState};
pub use tab::{Dialog, Phase, TabId};
pub use target::Target;

/// CDP methods and events that this build uses: `agbrowse doctor` compares them with a browser's protocol.
pub use cdp::protocol::{ProtocolUse, ProtocolUseField, ProtocolUseKind, used_protocol, wire_name};
