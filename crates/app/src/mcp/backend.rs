//! What the clients of a server share: the way to the daemon that owns the browser.

use super::approval::PendingApprovals;
use super::reply::Continuations;
use super::tools::ToolGroup;
use crate::config::Config;
use crate::daemon::{DaemonClient, SessionPaths};
use browser::command::{CloseTab, NewTab, TabAction, TabCommand};
use browser::page::refs::Dialect;
use browser::{Access, Code, Command, Driver as _, Error, Outcome, Request, Result, TabId};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a daemon may take to say that it stops.
const STOPPING: Duration = Duration::from_secs(2);

/// Where calls go to.
pub(super) struct Backend {
    client: DaemonClient,
    pub(super) timeout: Duration,
    pub(super) idle_timeout: Duration,
    /// The session is ours alone: its daemon stays for us, and ends with us.
    is_private: bool,
    /// The context that clients begin in.
    pub(super) context: String,
    pub(super) caps: Vec<ToolGroup>,
    pub(super) most_tokens: u32,
    /// How many clients may have a session over HTTP at a time.
    pub(super) most_clients: usize,
    pub(super) rests: Continuations,
    /// Where files go.
    pub(super) folder: PathBuf,
    /// Folders and schemes that the user allows.
    allowed: Access,
    /// Whether roots of clients are folders of this machine.
    pub(super) heeds_roots: bool,
    /// Tools that a person is asked about first.
    pub(super) delicate: Vec<String>,
    /// What was asked.
    pub(super) asked: PendingApprovals,
    /// Pages of clients that are not known at their next call, and when each was last used.
    strays: std::sync::Mutex<HashMap<TabId, Instant>>,
}

/// The context that is always there.
pub(super) const DEFAULT_CONTEXT: &str = "default";

/// Where a command goes.
#[derive(Clone, Debug)]
pub(super) struct CallTarget {
    pub(super) page: Option<TabId>,
    pub(super) context: String,
    /// How long what is waited for may take, if not as long as usual.
    pub(super) patience: Option<Duration>,
    /// Addresses and files that the client may have, if that is known better than for any client.
    pub(super) access: Option<Access>,
}

impl Default for CallTarget {
    fn default() -> Self {
        Self { page: None, context: DEFAULT_CONTEXT.into(), patience: None, access: None }
    }
}

impl Backend {
    pub(super) fn new(config: &Config, options: &super::Mcp) -> Result<Self> {
        let named = config.settings.session.as_ref().map(|name| name.0.clone());
        let is_private = named.is_none();
        let session = named.unwrap_or_else(|| format!("mcp-{}", std::process::id()));
        let mut overrides = config.launch_overrides();
        // A session of others has its own place for them.
        if is_private && overrides.downloads.is_none() {
            overrides.downloads = std::path::absolute(&options.output_dir).ok();
        }
        let paths = SessionPaths::of(&session)?;
        let client = DaemonClient::new(paths, overrides, config.timeout(), config.idle_timeout());
        Ok(Self {
            client: if is_private { client.keep_alive() } else { client },
            timeout: config.timeout(),
            idle_timeout: config.idle_timeout(),
            is_private,
            context: config
                .settings
                .context
                .as_ref()
                .map_or_else(|| DEFAULT_CONTEXT.into(), |name| name.0.clone()),
            caps: options.caps.clone(),
            most_tokens: options.max_tokens,
            most_clients: options.max_clients as usize,
            rests: Continuations::default(),
            allowed: Access {
                folders: options.allow_files.clone(),
                schemes: options.allow_schemes.clone(),
            },
            heeds_roots: options.bind.is_none(),
            folder: options.output_dir.clone(),
            delicate: options.ask.clone(),
            asked: PendingApprovals::default(),
            strays: Default::default(),
        })
    }

    /// The session's name.
    pub(super) fn session(&self) -> &str {
        self.client.session()
    }

    /// Whether the session ends with this server.
    pub(super) fn is_private(&self) -> bool {
        self.is_private
    }

    /// What a client with these roots may have: files in them, or in the working folder when it offers none; those that we
    /// saved; what the user allows.
    pub(super) fn access(&self, roots: Option<&[PathBuf]>) -> Access {
        let mut access = self.allowed.clone();
        let here = std::env::current_dir().ok();
        match roots {
            Some(roots) => access.folders.extend(roots.iter().cloned()),
            // Hosts that start a server nowhere in particular start it in `/`, which is no choice of folder.
            None => access.folders.extend(here.iter().filter(|it| it.parent().is_some()).cloned()),
        }
        access.folders.push(self.folder.clone());
        // The daemon is elsewhere.
        access
            .folders
            .iter_mut()
            .for_each(|it| *it = std::path::absolute(&*it).unwrap_or_default());
        access
    }

    /// Runs a command. Dropped half-way, the command is dropped too.
    pub(super) async fn run(&self, command: Command, to: &CallTarget) -> Result<Outcome> {
        let request = Request {
            command,
            context: Some(to.context.clone()).filter(|name| name != DEFAULT_CONTEXT),
            tab: to.page,
            timeout_ms: u64::try_from(self.timeout.as_millis()).ok(),
            patience_ms: to.patience.and_then(|time| u64::try_from(time.as_millis()).ok()),
            dialect: Dialect::Mcp,
            access: Some(to.access.clone().unwrap_or_else(|| self.access(None))),
        };
        self.client.run(request).await
    }

    fn strays(&self) -> MutexGuard<'_, HashMap<TabId, Instant>> {
        self.strays.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a page of nobody that is known.
    pub(super) fn add_stray(&self, page: TabId) {
        self.strays().insert(page, Instant::now());
    }

    /// Notes that a page is in use.
    pub(super) fn touch(&self, page: TabId) {
        if let Some(used) = self.strays().get_mut(&page) {
            *used = Instant::now();
        }
    }

    /// Closes pages of nobody that were not used for as long as a daemon waits; for good.
    pub(super) async fn sweep(&self) {
        let every = (self.idle_timeout / 4).max(Duration::from_millis(100));
        loop {
            tokio::time::sleep(every).await;
            let idle = |used: &mut Instant| used.elapsed() > self.idle_timeout;
            let old: Vec<TabId> =
                self.strays().extract_if(|_, used| idle(used)).map(|(page, _)| page).collect();
            if !old.is_empty() {
                self.close_tabs(old).await;
            }
        }
    }

    /// Opens a page for a client. Where others use the session, their current tab stays theirs.
    pub(super) fn new_page(&self, url: Option<String>) -> Command {
        let new = NewTab { url, aside: !self.is_private, ..NewTab::default() };
        Command::Tab(TabCommand { action: TabAction::New(new) })
    }

    /// Closes tabs. One that is gone already is closed.
    pub(super) async fn close_tabs(&self, tabs: Vec<TabId>) {
        for id in tabs {
            let close = TabAction::Close(CloseTab { id: Some(id) });
            _ = self.run(Command::Tab(TabCommand { action: close }), &CallTarget::default()).await;
        }
    }

    /// Ends the session if it is ours alone.
    pub(super) async fn leave(&self) {
        if !self.is_private {
            return;
        }
        // It ends with the connection that it stays alive for, too.
        _ = self.client.stop(STOPPING).await;
    }
}

/// The error for a client that has no page.
pub(super) fn no_page() -> Error {
    Error::new(Code::TabNotFound)
        .message("say which page is meant with `page`: an id that a reply gave, such as `t2`")
}
