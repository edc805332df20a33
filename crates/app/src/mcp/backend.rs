//! Shared state of a server's clients: the daemon client, limits, access rules.

use super::approval::PendingApprovals;
use super::reply::Continuations;
use super::tools::ToolGroup;
use crate::config::Config;
use crate::daemon::{DaemonClient, SessionPaths};
use browser::command::{CloseTab, NewTab, TabAction, TabCommand};
use browser::page::refs::Dialect;
use browser::{
    Access, Code, Command, Driver as _, Error, EventStream, Outcome, Request, Result, TabId,
};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time limit for the daemon's response to a stop request.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The daemon session behind a server, and its options.
pub(super) struct Backend {
    client: DaemonClient,
    pub(super) timeout: Duration,
    pub(super) idle_timeout: Duration,
    /// The profile that the browser should run with.
    pub(super) profile: Option<String>,
    /// The session is private to this server: its daemon ends with it.
    is_private: bool,
    /// Initial context of clients.
    pub(super) context: String,
    pub(super) caps: Vec<ToolGroup>,
    pub(super) max_tokens: u32,
    /// Maximum of concurrent HTTP sessions.
    pub(super) max_clients: usize,
    pub(super) continuations: Continuations,
    /// Folder for saved files.
    pub(super) output_dir: PathBuf,
    /// Folders and URL schemes that the user allows.
    allowed: Access,
    /// True if clients' roots are folders of this machine.
    pub(super) uses_roots: bool,
    /// Tools that need the user's approval.
    pub(super) approval_tools: Vec<String>,
    pub(super) pending_approvals: PendingApprovals,
    /// Pages of clients without a session, with their last use.
    orphan_pages: std::sync::Mutex<HashMap<TabId, Instant>>,
}

/// Name of the default context.
pub(super) const DEFAULT_CONTEXT: &str = "default";

/// Page, context, time limit and access rules of a call.
#[derive(Clone, Debug)]
pub(super) struct CallTarget {
    pub(super) page: Option<TabId>,
    pub(super) context: String,
    /// Time limit of a wait, if not the default.
    pub(super) patience: Option<Duration>,
    /// Access rules of the client, if they differ from the server's.
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
        // A shared session has its own download folder.
        if is_private && overrides.downloads.is_none() {
            overrides.downloads = std::path::absolute(&options.output_dir).ok();
        }
        let paths = SessionPaths::of(&session)?;
        let client = DaemonClient::new(paths, overrides, config.timeout(), config.idle_timeout());
        Ok(Self {
            client: if is_private { client.keep_alive() } else { client },
            profile: config.settings.profile.as_ref().map(|name| name.0.clone()),
            timeout: config.timeout(),
            idle_timeout: config.idle_timeout(),
            is_private,
            context: config
                .settings
                .context
                .as_ref()
                .map_or_else(|| DEFAULT_CONTEXT.into(), |name| name.0.clone()),
            caps: options.caps.clone(),
            max_tokens: options.max_tokens,
            max_clients: options.max_clients as usize,
            continuations: Continuations::default(),
            allowed: Access {
                folders: options.allow_files.clone(),
                schemes: options.allow_schemes.clone(),
            },
            uses_roots: options.bind.is_none(),
            output_dir: options.output_dir.clone(),
            approval_tools: options.ask.clone(),
            pending_approvals: PendingApprovals::default(),
            orphan_pages: Default::default(),
        })
    }

    /// The session's name.
    pub(super) fn session(&self) -> &str {
        self.client.session()
    }

    /// True if the session ends with this server.
    pub(super) fn is_private(&self) -> bool {
        self.is_private
    }

    /// Returns the access rules of a client with these roots: files in its roots, or in the working folder without roots;
    /// saved files; folders and schemes that the user allows.
    pub(super) fn access(&self, roots: Option<&[PathBuf]>) -> Access {
        let mut access = self.allowed.clone();
        let here = std::env::current_dir().ok();
        match roots {
            Some(roots) => access.folders.extend(roots.iter().cloned()),
            // Some hosts start servers in `/`, which is not a chosen folder.
            None => access.folders.extend(here.iter().filter(|it| it.parent().is_some()).cloned()),
        }
        access.folders.push(self.output_dir.clone());
        // The daemon has another working folder.
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

    /// Runs a request in the context and with the access rules of a client.
    pub(super) async fn run_as(&self, request: Request, to: &CallTarget) -> Result<Outcome> {
        let request = Request {
            context: Some(to.context.clone()).filter(|name| name != DEFAULT_CONTEXT),
            timeout_ms: u64::try_from(self.timeout.as_millis()).ok(),
            access: Some(to.access.clone().unwrap_or_else(|| self.access(None))),
            ..request
        };
        self.client.run(request).await
    }

    /// Subscribes to events of the daemon.
    pub(super) fn events(&self) -> EventStream {
        self.client.events()
    }

    fn orphan_pages(&self) -> MutexGuard<'_, HashMap<TabId, Instant>> {
        self.orphan_pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a page of a client without a session.
    pub(super) fn add_orphan_page(&self, page: TabId) {
        self.orphan_pages().insert(page, Instant::now());
    }

    /// Updates the last use of a page.
    pub(super) fn touch(&self, page: TabId) {
        if let Some(used) = self.orphan_pages().get_mut(&page) {
            *used = Instant::now();
        }
    }

    /// Closes orphan pages after the daemon's idle timeout. Never returns.
    pub(super) async fn close_idle_orphans(&self) {
        let every = (self.idle_timeout / 4).max(Duration::from_millis(100));
        loop {
            tokio::time::sleep(every).await;
            let idle = |used: &mut Instant| used.elapsed() > self.idle_timeout;
            let old: Vec<TabId> = self
                .orphan_pages()
                .extract_if(|_, used| idle(used))
                .map(|(page, _)| page)
                .collect();
            if !old.is_empty() {
                self.close_tabs(old).await;
            }
        }
    }

    /// Builds the command that opens a page. In a shared session it does not become the current tab.
    pub(super) fn new_page(&self, url: Option<String>) -> Command {
        let new = NewTab { url, aside: !self.is_private, ..NewTab::default() };
        Command::Tab(TabCommand { action: TabAction::New(new) })
    }

    /// Closes tabs; missing ones are ignored.
    pub(super) async fn close_tabs(&self, tabs: Vec<TabId>) {
        for id in tabs {
            let close = TabAction::Close(CloseTab { id: Some(id) });
            _ = self.run(Command::Tab(TabCommand { action: close }), &CallTarget::default()).await;
        }
    }

    /// Ends the session if it is private.
    pub(super) async fn end_session(&self) {
        if !self.is_private {
            return;
        }
        // On failure it still ends with the keep-alive connection.
        _ = self.client.stop(STOP_TIMEOUT).await;
    }
}

/// The error for a client that has no page.
pub(super) fn no_page() -> Error {
    Error::new(Code::TabNotFound).message("pass `page`: an id from a reply, such as `t2`")
}
