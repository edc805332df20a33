//! A connection to one browser: pending calls, event listeners, reader and writer tasks.
//!
//! The reader task parses messages without copying them (the envelope borrows from the message); the writer
//! task sends queued messages. A dropped call leaves nothing behind; on disconnect every pending call fails
//! at once. Event queues are bounded and report lost events.

use crate::transport::{Sink, Source};
use crate::{Channel, Error, Transport};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, mpsc, oneshot, watch};

/// Limit for unsent bytes: above it the browser is considered not to read.
const MAX_QUEUED: usize = 64 << 20;

/// Payloads below this are copied out of the read buffer, so that a queued event does not pin it.
const COPY_BELOW: usize = 4 << 10;

/// Direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the browser.
    Sent,
    /// From the browser to the client.
    Received,
}

/// Observer of every raw message in both directions. Called inline: keep it short.
pub type Tap = Box<dyn Fn(Direction, &[u8]) + Send + Sync>;

/// Options of a connection.
#[derive(Default)]
pub struct Options {
    /// Observer of every raw message.
    pub tap: Option<Tap>,
}

/// A received event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its flat session; `None` for the browser session.
    pub session: Option<Arc<str>>,
    /// Its name, such as `Page.frameNavigated`.
    pub method: Box<str>,
    /// Its payload, still encoded.
    pub params: Bytes,
}

impl Event {
    /// Decodes the payload.
    ///
    /// # Errors
    /// [`Error::Decode`] when the payload does not match `T`.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Error> {
        decode(&self.method, &self.params)
    }
}

/// An item of an event queue.
#[derive(Clone, Debug)]
pub enum Delivery {
    /// The next event.
    Event(Event),
    /// Number of events lost here because the listener was too slow.
    Lagged(u64),
}

/// A subscription: a bounded queue of events. Dropping it ends the subscription.
#[derive(Debug)]
pub struct Events {
    queue: Arc<Queue>,
}

impl Events {
    /// Returns the next event, or the number of events lost before it; `None` when the connection has ended.
    /// Calling it again marks the previous event as processed.
    pub async fn next(&mut self) -> Option<Delivery> {
        loop {
            {
                let mut state = lock(&self.queue.state);
                if state.processed < state.taken {
                    state.processed = state.taken;
                    self.queue.progress.notify_waiters();
                }
                if let Some(delivery) = state.items.pop_front() {
                    state.taken += 1;
                    return Some(delivery);
                }
                if state.is_closed {
                    return None;
                }
            }
            self.queue.available.notified().await;
        }
    }

    /// True when no event is queued.
    pub fn is_empty(&self) -> bool {
        lock(&self.queue.state).items.is_empty()
    }

    /// Progress of this listener, for tasks that depend on its processing.
    pub fn progress(&self) -> EventCursor {
        EventCursor { queue: self.queue.clone() }
    }
}

/// Progress of a listener through its events.
#[derive(Clone, Debug)]
pub struct EventCursor {
    queue: Arc<Queue>,
}

impl EventCursor {
    /// Waits until the listener has processed every event received before this call.
    pub async fn catch_up(&self) {
        let target = {
            let state = lock(&self.queue.state);
            state.taken + state.items.len() as u64
        };
        loop {
            let mut notified = std::pin::pin!(self.queue.progress.notified());
            // From here on no notification is missed.
            notified.as_mut().enable();
            {
                let state = lock(&self.queue.state);
                if state.processed >= target || state.is_closed {
                    return;
                }
            }
            notified.await;
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.state);
        state.is_closed = true;
        state.items.clear();
        drop(state);
        self.queue.progress.notify_waiters();
    }
}

/// Undelivered events of a listener. Losses are queued like events, so that their position is known.
#[derive(Debug)]
struct Queue {
    capacity: usize,
    state: Mutex<QueueState>,
    /// Notifies the listener; `notify_one` stores a permit when it is not waiting yet.
    available: Notify,
    /// Notifies waiters of [`EventCursor::catch_up`].
    progress: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    items: VecDeque<Delivery>,
    /// Number of items taken out of the queue, and number of these that the listener has processed.
    taken: u64,
    processed: u64,
    /// The listener or the connection is gone.
    is_closed: bool,
}

impl Queue {
    /// Queues an event, or counts it as lost; `false` when the listener is gone.
    fn add(&self, event: &Event) -> bool {
        let mut state = lock(&self.state);
        if state.is_closed {
            return false;
        }
        if state.items.len() < self.capacity {
            state.items.push_back(Delivery::Event(event.clone()));
        } else if let Some(Delivery::Lagged(lost)) = state.items.back_mut() {
            *lost += 1;
        } else {
            state.items.push_back(Delivery::Lagged(1));
        }
        drop(state);
        self.available.notify_one();
        true
    }

    fn is_closed(&self) -> bool {
        lock(&self.state).is_closed
    }
}

/// A connection to one browser. Cheap to clone; it closes when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(crate) shared: Arc<Shared>,
}

impl Connection {
    /// Opens a connection over `transport`. Must be called within a tokio runtime.
    pub fn open(transport: Transport, options: Options) -> Self {
        let (outgoing, queue) = mpsc::unbounded_channel();
        let (closed, _) = watch::channel(None);
        let shared = Arc::new(Shared {
            next_id: AtomicU64::new(1),
            pending: Mutex::new(PendingCalls::default()),
            listeners: Mutex::new(Vec::new()),
            queued: AtomicUsize::new(0),
            outgoing,
            closed,
            tap: options.tap,
        });
        let Transport { source, sink } = transport;
        let reader = tokio::spawn(read(source, Arc::downgrade(&shared)));
        tokio::spawn(write(sink, queue, Arc::downgrade(&shared), reader.abort_handle()));
        Self { shared }
    }

    /// The channel to the browser session.
    pub fn browser(&self) -> Channel {
        Channel::new(self.clone(), None)
    }

    /// The channel to the flat session of an attached target.
    pub fn session(&self, id: Arc<str>) -> Channel {
        Channel::new(self.clone(), Some(id))
    }

    /// Subscribes to `methods` of every session, with a queue of `capacity` events.
    pub fn events(&self, methods: &'static [&'static str], capacity: usize) -> Events {
        self.shared.listen(None, methods, capacity)
    }

    /// The reason the connection ended; `None` while it is open.
    pub fn closed(&self) -> Option<Arc<str>> {
        self.shared.closed.borrow().clone()
    }

    /// Waits for the end of the connection and returns its reason.
    pub async fn wait_closed(&self) -> Arc<str> {
        let mut closed = self.shared.closed.subscribe();
        match closed.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_else(|| "closed".into()),
            Err(_) => "closed".into(),
        }
    }

    /// Closes the connection: every pending call fails with `reason`.
    pub fn close(&self, reason: &str) {
        self.shared.close(reason);
    }

    /// Number of pending calls.
    pub fn pending(&self) -> usize {
        lock(&self.shared.pending).calls.len()
    }
}

pub(crate) struct Shared {
    next_id: AtomicU64,
    pending: Mutex<PendingCalls>,
    listeners: Mutex<Vec<Listener>>,
    queued: AtomicUsize,
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    closed: watch::Sender<Option<Arc<str>>>,
    tap: Option<Tap>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("closed", &*self.closed.borrow()).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct PendingCalls {
    calls: HashMap<u64, Call>,
}

struct Call {
    session: Option<Arc<str>>,
    method: &'static str,
    answer: oneshot::Sender<Result<Bytes, Error>>,
}

struct Listener {
    session: Option<Arc<str>>,
    methods: &'static [&'static str],
    queue: Arc<Queue>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        lock(&self.queue.state).is_closed = true;
        self.queue.available.notify_one();
        self.queue.progress.notify_waiters();
    }
}

/// A pending call, registered until it is dropped.
#[derive(Debug)]
pub(crate) struct PendingCall {
    id: u64,
    shared: Arc<Shared>,
    answer: oneshot::Receiver<Result<Bytes, Error>>,
}

impl PendingCall {
    pub(crate) async fn answer(&mut self) -> Result<Bytes, Error> {
        match (&mut self.answer).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::Closed { reason: self.shared.reason() }),
        }
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        lock(&self.shared.pending).calls.remove(&self.id);
    }
}

impl Shared {
    /// Registers a pending call and queues its message.
    pub(crate) fn start(
        self: &Arc<Self>,
        session: Option<&Arc<str>>,
        method: &'static str,
        params: &impl serde::Serialize,
    ) -> Result<PendingCall, Error> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        let call = Call { session: session.cloned(), method, answer: sender };
        lock(&self.pending).calls.insert(id, call);
        let pending = PendingCall { id, shared: self.clone(), answer };
        // Registered before sending: if the connection closes in between, `close` fails the call.
        self.send(id, session, method, params)?;
        Ok(pending)
    }

    /// Queues a call whose reply is ignored.
    pub(crate) fn post(
        &self,
        session: Option<&Arc<str>>,
        method: &'static str,
        params: &impl serde::Serialize,
    ) -> Result<(), Error> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.send(id, session, method, params)
    }

    fn send(
        &self,
        id: u64,
        session: Option<&Arc<str>>,
        method: &'static str,
        params: &impl serde::Serialize,
    ) -> Result<(), Error> {
        #[derive(serde::Serialize)]
        struct Request<'a, P> {
            id: u64,
            method: &'a str,
            params: &'a P,
            #[serde(rename = "sessionId", skip_serializing_if = "Option::is_none")]
            session: Option<&'a str>,
        }
        if self.closed.borrow().is_some() {
            return Err(Error::Closed { reason: self.reason() });
        }
        let request = Request { id, method, params, session: session.map(|id| &**id) };
        let message = serde_json::to_vec(&request).map_err(|error| Error::Decode {
            method: method.to_owned(),
            message: error.to_string(),
        })?;
        let queued = self.queued.fetch_add(message.len(), Ordering::AcqRel);
        if queued > MAX_QUEUED {
            self.queued.fetch_sub(message.len(), Ordering::AcqRel);
            return Err(Error::Backlog { queued });
        }
        self.outgoing.send(message).map_err(|_| Error::Closed { reason: self.reason() })
    }

    pub(crate) fn listen(
        &self,
        session: Option<Arc<str>>,
        methods: &'static [&'static str],
        capacity: usize,
    ) -> Events {
        let (state, available, progress) = (Mutex::default(), Notify::new(), Notify::new());
        let queue = Arc::new(Queue { capacity: capacity.max(1), state, available, progress });
        let listener = Listener { session, methods, queue: queue.clone() };
        let mut listeners = lock(&self.listeners);
        // After the connection has ended nothing would close this queue.
        if self.closed.borrow().is_none() {
            listeners.push(listener);
        }
        Events { queue }
    }

    fn reason(&self) -> Arc<str> {
        self.closed.borrow().clone().unwrap_or_else(|| "closed".into())
    }

    fn close(&self, reason: &str) {
        let first = self.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            closed.get_or_insert_with(|| reason.into());
            first
        });
        if first {
            lock(&self.listeners).clear();
            let calls = std::mem::take(&mut lock(&self.pending).calls);
            for call in calls.into_values() {
                _ = call.answer.send(Err(Error::Closed { reason: reason.into() }));
            }
        }
    }

    /// Parses one message and delivers the reply to its pending call, or the event to its listeners.
    fn dispatch(&self, message: &Bytes) {
        let Some(envelope) = Envelope::read(message) else {
            tracing::warn!(bytes = message.len(), "unreadable message dropped");
            return;
        };
        if let Some(id) = envelope.id {
            let Some(call) = lock(&self.pending).calls.remove(&id) else {
                return;
            };
            let answer = match (envelope.error, envelope.result) {
                (Some(error), _) => Err(Error::Remote {
                    method: call.method,
                    code: error.code.unwrap_or_default(),
                    message: error.message.into_owned(),
                }),
                (None, Some(result)) => Ok(payload(message, result)),
                (None, None) => Ok(Bytes::from_static(b"{}")),
            };
            _ = call.answer.send(answer);
        } else if let Some(method) = envelope.method {
            self.publish(message, &method, envelope.session.as_deref(), envelope.params);
        }
    }

    fn publish(
        &self,
        message: &Bytes,
        method: &str,
        session: Option<&str>,
        params: Option<&RawValue>,
    ) {
        let mut event: Option<Event> = None;
        lock(&self.listeners).retain(|listener| {
            let matches = listener.methods.contains(&method)
                && listener.session.as_deref().is_none_or(|wanted| Some(wanted) == session);
            if !matches {
                return !listener.queue.is_closed();
            }
            let event = event.get_or_insert_with(|| Event {
                session: session.map(Into::into),
                method: method.into(),
                params: params.map_or(Bytes::from_static(b"{}"), |params| payload(message, params)),
            });
            listener.queue.add(event)
        });
        // Chromium leaves the calls of an ended session unanswered.
        match method {
            "Target.detachedFromTarget" => {
                #[derive(Deserialize)]
                struct DetachedParams<'a> {
                    #[serde(rename = "sessionId", borrow)]
                    session: Cow<'a, str>,
                }
                if let Some(detached) = params.and_then(|params| {
                    serde_json::from_str::<DetachedParams<'_>>(params.get()).ok()
                }) {
                    self.fail(&detached.session, |method| Error::Detached { method });
                }
            }
            "Inspector.targetCrashed" => {
                if let Some(session) = session {
                    self.fail(session, |method| Error::Crashed { method });
                }
            }
            _ => {}
        }
    }

    fn fail(&self, session: &str, error: impl Fn(&'static str) -> Error) {
        let mut pending = lock(&self.pending);
        let ids: Vec<u64> = pending
            .calls
            .iter()
            .filter(|(_, call)| call.session.as_deref() == Some(session))
            .map(|(id, _)| *id)
            .collect();
        for id in ids {
            if let Some(call) = pending.calls.remove(&id) {
                _ = call.answer.send(Err(error(call.method)));
            }
        }
    }
}

/// Envelope of a message, borrowed from it. All fields are optional: a message of unknown form is ignored,
/// never an error.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default)]
    id: Option<u64>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "sessionId")]
    session: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<RpcError<'a>>,
}

impl<'a> Envelope<'a> {
    fn read(message: &'a [u8]) -> Option<Self> {
        // serde would also deserialize an array into the struct, field by field.
        let is_object = message.trim_ascii_start().starts_with(b"{");
        is_object.then(|| serde_json::from_slice(message).ok()).flatten()
    }
}

#[derive(Deserialize)]
struct RpcError<'a> {
    #[serde(default)]
    code: Option<i64>,
    #[serde(borrow, default)]
    message: Cow<'a, str>,
}

pub(crate) fn decode<'a, T: Deserialize<'a>>(method: &str, payload: &'a [u8]) -> Result<T, Error> {
    serde_json::from_slice(payload)
        .map_err(|error| Error::Decode { method: method.to_owned(), message: error.to_string() })
}

fn payload(message: &Bytes, raw: &RawValue) -> Bytes {
    let bytes = raw.get().as_bytes();
    if bytes.len() < COPY_BELOW { Bytes::copy_from_slice(bytes) } else { message.slice_ref(bytes) }
}

async fn read(mut source: Source, shared: std::sync::Weak<Shared>) {
    loop {
        let message = source.next().await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        match message {
            Ok(Some(message)) => {
                if let Some(tap) = &shared.tap {
                    tap(Direction::Received, &message);
                }
                shared.dispatch(&message);
            }
            Ok(None) => return shared.close("the browser closed the connection"),
            Err(error) => return shared.close(&error.to_string()),
        }
    }
}

async fn write(
    mut sink: Sink,
    mut queue: mpsc::UnboundedReceiver<Vec<u8>>,
    shared: std::sync::Weak<Shared>,
    reader: tokio::task::AbortHandle,
) {
    // Ends when the last handle of the connection is gone: the sender lives in `Shared`.
    while let Some(message) = queue.recv().await {
        let length = message.len();
        let Some(strong) = shared.upgrade() else { break };
        if let Some(tap) = &strong.tap {
            tap(Direction::Sent, &message);
        }
        drop(strong);
        let sent = sink.send(message).await;
        let Some(shared) = shared.upgrade() else {
            break;
        };
        shared.queued.fetch_sub(length, Ordering::AcqRel);
        if let Err(error) = sent {
            shared.close(&format!("the browser stopped reading: {error}"));
            break;
        }
        if shared.closed.borrow().is_some() {
            break;
        }
    }
    reader.abort();
}

/// Locks a mutex and ignores poisoning: the guarded plain data is never left half-changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
