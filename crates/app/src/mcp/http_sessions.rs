//! HTTP sessions with a limit and eviction of the least recently used.
//!
//! Clients need not close their sessions, and each takes memory. At the limit one is evicted: first those never used
//! after `initialize`, then idle ones, then those with only an open stream, the least recently used first. A session
//! with a running call is never evicted. The client of an evicted session gets 404 for its next request and
//! initializes again.

use futures_util::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A session manager with a limit.
pub(super) struct HttpSessions {
    inner: LocalSessionManager,
    max: usize,
    known: Arc<LimitedSession>,
}

type LimitedSession = Mutex<HashMap<SessionId, SessionUsage>>;

/// Usage of a session.
struct SessionUsage {
    last: Instant,
    /// The client has sent a request since `initialize`.
    is_used: bool,
    /// Unanswered requests.
    calls: usize,
    /// Open streams without a request.
    listeners: usize,
}

/// Errors of the session manager.
#[derive(Debug)]
pub(super) enum SessionsError {
    /// All are busy.
    Full(usize),
    Local(LocalSessionManagerError),
}

impl fmt::Display for SessionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(max) => write!(f, "{max} clients have calls under way: try again later"),
            Self::Local(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SessionsError {}

impl From<LocalSessionManagerError> for SessionsError {
    fn from(error: LocalSessionManagerError) -> Self {
        Self::Local(error)
    }
}

impl HttpSessions {
    /// Creates a manager with a limit and an idle timeout.
    pub(super) fn new(max: usize, idle: Duration) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(idle);
        Self { inner, max, known: Arc::default() }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, SessionUsage>> {
        lock(&self.known)
    }

    /// Removes and returns the session to evict, if the limit is reached.
    fn evict(&self) -> Result<Option<SessionId>, SessionsError> {
        let mut known = self.known();
        if known.len() < self.max {
            return Ok(None);
        }
        let idle = known.iter().filter(|(_, usage)| usage.calls == 0);
        let rank = |usage: &SessionUsage| (usage.is_used, usage.listeners > 0, usage.last);
        let least = idle.min_by_key(|(_, usage)| rank(usage)).map(|(id, _)| id.clone());
        let least = least.ok_or(SessionsError::Full(self.max))?;
        known.remove(&least);
        Ok(Some(least))
    }

    /// Marks a session as in use while the guard lives.
    fn begin(&self, id: &SessionId, kind: SessionUse) -> SessionGuard {
        if let Some(usage) = self.known().get_mut(id) {
            usage.last = Instant::now();
            match kind {
                SessionUse::Call => (usage.calls, usage.is_used) = (usage.calls + 1, true),
                SessionUse::Listening => usage.listeners += 1,
            }
        }
        SessionGuard { known: self.known.clone(), id: id.clone(), kind }
    }
}

fn lock(known: &LimitedSession) -> MutexGuard<'_, HashMap<SessionId, SessionUsage>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Clone, Copy)]
enum SessionUse {
    Call,
    Listening,
}

/// A use of a session, which ends on drop.
struct SessionGuard {
    known: Arc<LimitedSession>,
    id: SessionId,
    kind: SessionUse,
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        if let Some(usage) = lock(&self.known).get_mut(&self.id) {
            usage.last = Instant::now();
            let count = match self.kind {
                SessionUse::Call => &mut usage.calls,
                SessionUse::Listening => &mut usage.listeners,
            };
            *count = count.saturating_sub(1);
        }
    }
}

/// A stream of messages that keeps its session in use.
struct GuardedStream<S> {
    messages: Pin<Box<S>>,
    _using: SessionGuard,
}

impl<S: Stream> Stream for GuardedStream<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.messages.as_mut().poll_next(cx)
    }
}

impl SessionManager for HttpSessions {
    type Error = SessionsError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        if let Some(evicted) = self.evict()? {
            tracing::debug!("a session of a client is evicted");
            self.inner.close_session(&evicted).await?;
        }
        let created = self.inner.create_session().await?;
        // Initialization counts as a running call.
        let usage = SessionUsage { last: Instant::now(), is_used: false, calls: 1, listeners: 0 };
        self.known().insert(created.0.clone(), usage);
        Ok(created)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionsError> {
        let _initializing =
            SessionGuard { known: self.known.clone(), id: id.clone(), kind: SessionUse::Call };
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        Ok(self.known().contains_key(id) && self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        self.known().remove(id);
        Ok(self.inner.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let using = self.begin(id, SessionUse::Call);
        let messages = Box::pin(self.inner.create_stream(id, message).await?);
        Ok(GuardedStream { messages, _using: using })
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionsError> {
        if let Some(usage) = self.known().get_mut(id) {
            usage.last = Instant::now();
        }
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let using = self.begin(id, SessionUse::Listening);
        let messages = Box::pin(self.inner.create_standalone_stream(id).await?);
        Ok(GuardedStream { messages, _using: using })
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let using = self.begin(id, SessionUse::Listening);
        let messages = Box::pin(self.inner.resume(id, last_event_id).await?);
        Ok(GuardedStream { messages, _using: using })
    }
}
