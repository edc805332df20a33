//! Sessions of clients over HTTP: at most so many, and those that are not used are closed first.
//!
//! Who opens a session need not close it, and each costs memory for as long as it lives. When there are too many, one is
//! evicted: first those that were never used after `initialize`, then idle ones, then those that only listen, in each
//! case the one that was used the longest ago. A session with a call under way is never evicted. The client of an evicted
//! one gets 404 for its next request, which tells it to initialize again.

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
    most: usize,
    known: Arc<LimitedSession>,
}

type LimitedSession = Mutex<HashMap<SessionId, SessionUsage>>;

/// How a session is used.
struct SessionUsage {
    last: Instant,
    /// The client has sent a request since `initialize`.
    is_used: bool,
    /// Requests that are not answered.
    calls: usize,
    /// Open streams without a request.
    listeners: usize,
}

/// Why there is no session.
#[derive(Debug)]
pub(super) enum SessionsError {
    /// All are busy.
    Full(usize),
    Local(LocalSessionManagerError),
}

impl fmt::Display for SessionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(most) => write!(f, "{most} clients have calls under way: try again later"),
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
    /// At most `most` sessions, each closed when it was not used for `idle`.
    pub(super) fn new(most: usize, idle: Duration) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config.keep_alive = Some(idle);
        Self { inner, most, known: Arc::default() }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, SessionUsage>> {
        lock(&self.known)
    }

    /// Forgets the session that is needed the least, when there are too many.
    fn evict(&self) -> Result<Option<SessionId>, SessionsError> {
        let mut known = self.known();
        if known.len() < self.most {
            return Ok(None);
        }
        let idle = known.iter().filter(|(_, usage)| usage.calls == 0);
        let rank = |usage: &SessionUsage| (usage.is_used, usage.listeners > 0, usage.last);
        let least = idle.min_by_key(|(_, usage)| rank(usage)).map(|(id, _)| id.clone());
        let least = least.ok_or(SessionsError::Full(self.most))?;
        known.remove(&least);
        Ok(Some(least))
    }

    /// Notes that a session is in use for as long as what is returned lives.
    fn begin(&self, id: &SessionId, what: SessionUse) -> SessionGuard {
        if let Some(usage) = self.known().get_mut(id) {
            usage.last = Instant::now();
            match what {
                SessionUse::Call => (usage.calls, usage.is_used) = (usage.calls + 1, true),
                SessionUse::Listening => usage.listeners += 1,
            }
        }
        SessionGuard { known: self.known.clone(), id: id.clone(), what }
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

/// A use of a session. It is over when this is dropped.
struct SessionGuard {
    known: Arc<LimitedSession>,
    id: SessionId,
    what: SessionUse,
}

impl Drop for SessionGuard {
    fn drop(&mut self) {
        if let Some(usage) = lock(&self.known).get_mut(&self.id) {
            usage.last = Instant::now();
            let count = match self.what {
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
        // Until it is initialized, it has a call under way.
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
            SessionGuard { known: self.known.clone(), id: id.clone(), what: SessionUse::Call };
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
