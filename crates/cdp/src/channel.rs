//! A channel: the sending side of one flat session, or of the browser session.

use crate::connection::{PendingCall, decode};
use crate::protocol::Method;
use crate::{Connection, Deadline, Error, Events};
use std::marker::PhantomData;
use std::sync::Arc;

/// Sends method calls to one flat session, or to the browser session.
#[derive(Clone, Debug)]
pub struct Channel {
    connection: Connection,
    session: Option<Arc<str>>,
}

impl Channel {
    pub(crate) fn new(connection: Connection, session: Option<Arc<str>>) -> Self {
        Self { connection, session }
    }

    /// The flat session of this channel; `None` for the browser session.
    pub fn session(&self) -> Option<&Arc<str>> {
        self.session.as_ref()
    }

    /// The connection of this channel.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Calls a method and waits for its reply, until the deadline.
    ///
    /// # Errors
    /// As listed in [`Error`]; the pending call is dropped in every case.
    pub async fn call<M: Method>(&self, method: M, deadline: Deadline) -> Result<M::Reply, Error> {
        self.start(&method)?.wait(deadline).await
    }

    /// Queues a call and returns at once: several calls can be sent before the first reply.
    ///
    /// # Errors
    /// When the connection is closed or the send queue is full.
    pub fn start<M: Method>(&self, method: &M) -> Result<Reply<M>, Error> {
        let pending = self.connection.shared.start(self.session.as_ref(), M::NAME, method)?;
        Ok(Reply { pending, method: PhantomData })
    }

    /// Queues a call and ignores its reply and any error: a closed connection is reported elsewhere.
    pub fn post<M: Method>(&self, method: &M) {
        if let Err(error) = self.connection.shared.post(self.session.as_ref(), M::NAME, method) {
            tracing::debug!(method = M::NAME, %error, "not sent");
        }
    }

    /// Subscribes to `methods` of this session only.
    pub fn events(&self, methods: &'static [&'static str], capacity: usize) -> Events {
        self.connection.shared.listen(self.session.clone(), methods, capacity)
    }
}

/// The future reply of a pending call.
#[derive(Debug)]
#[must_use = "a reply that is dropped is forgotten"]
pub struct Reply<M> {
    pending: PendingCall,
    method: PhantomData<fn() -> M>,
}

impl<M: Method> Reply<M> {
    /// Waits for the reply, until the deadline.
    ///
    /// # Errors
    /// As listed in [`Error`].
    pub async fn wait(mut self, deadline: Deadline) -> Result<M::Reply, Error> {
        let answer = tokio::time::timeout_at(deadline.at(), self.pending.answer())
            .await
            .map_err(|_| Error::Timeout { method: M::NAME, allowed: deadline.total() })??;
        decode(M::NAME, &answer)
    }
}
