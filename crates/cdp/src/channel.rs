//! A channel: the browser itself or one attached target, to which calls are made.

use crate::connection::{PendingCall, decode};
use crate::protocol::Method;
use crate::{Connection, Deadline, Error, Events};
use std::marker::PhantomData;
use std::sync::Arc;

/// Where calls go: the browser, or one flat session.
#[derive(Clone, Debug)]
pub struct Channel {
    connection: Connection,
    session: Option<Arc<str>>,
}

impl Channel {
    pub(crate) fn new(connection: Connection, session: Option<Arc<str>>) -> Self {
        Self { connection, session }
    }

    /// The flat session behind this channel; `None` for the browser itself.
    pub fn session(&self) -> Option<&Arc<str>> {
        self.session.as_ref()
    }

    /// The connection it belongs to.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Calls a method and waits for its answer, until the deadline.
    ///
    /// # Errors
    /// As listed in [`Error`]; the call is forgotten in every case.
    pub async fn call<M: Method>(&self, method: M, deadline: Deadline) -> Result<M::Reply, Error> {
        self.start(&method)?.wait(deadline).await
    }

    /// Queues a call and returns at once: several can be sent before the first is answered.
    ///
    /// # Errors
    /// When the connection is closed or the browser does not read.
    pub fn start<M: Method>(&self, method: &M) -> Result<Reply<M>, Error> {
        let ticket = self.connection.shared.start(self.session.as_ref(), M::NAME, method)?;
        Ok(Reply { ticket, method: PhantomData })
    }

    /// Queues a call whose answer nobody wants. That the connection is closed is known soon enough.
    pub fn post<M: Method>(&self, method: &M) {
        if let Err(error) = self.connection.shared.post(self.session.as_ref(), M::NAME, method) {
            tracing::debug!(method = M::NAME, %error, "not sent");
        }
    }

    /// Listens to `methods` of this channel only.
    pub fn events(&self, methods: &'static [&'static str], capacity: usize) -> Events {
        self.connection.shared.listen(self.session.clone(), methods, capacity)
    }
}

/// The answer to come of a call under way.
#[derive(Debug)]
#[must_use = "a reply that is dropped is forgotten"]
pub struct Reply<M> {
    ticket: PendingCall,
    method: PhantomData<fn() -> M>,
}

impl<M: Method> Reply<M> {
    /// Waits for the answer, until the deadline.
    ///
    /// # Errors
    /// As listed in [`Error`].
    pub async fn wait(mut self, deadline: Deadline) -> Result<M::Reply, Error> {
        let answer = tokio::time::timeout_at(deadline.at(), self.ticket.answer())
            .await
            .map_err(|_| Error::Timeout { method: M::NAME, allowed: deadline.total() })??;
        decode(M::NAME, &answer)
    }
}
