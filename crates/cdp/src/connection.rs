//! One connection: who waits for which answer, who listens to which event.
//!
//! A reader task takes messages apart without copying them (the envelope borrows from the message), a
//! writer task sends what callers queue. A call that is dropped leaves nothing behind; at disconnect every
//! waiting call fails at once. Event queues are bounded and say when they have lost something.

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

/// More than this waiting to be sent means that the browser has stopped reading.
const MAX_QUEUED: usize = 64 << 20;

/// Payloads below this are copied out of the read buffer, so that a queued event does not pin it.
const COPY_BELOW: usize = 4 << 10;

/// Which way a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From us to the browser.
    Sent,
    /// From the browser to us.
    Received,
}

/// Sees every raw message, in both directions. Called inline: keep it short.
pub type Tap = Box<dyn Fn(Direction, &[u8]) + Send + Sync>;

/// How to set up a connection.
#[derive(Default)]
pub struct Options {
    /// Sees every raw message.
    pub tap: Option<Tap>,
}

/// An event as it came.
#[derive(Clone, Debug)]
pub struct Event {
    /// The flat session it belongs to; `None` for the browser itself.
    pub session: Option<Arc<str>>,
    /// Its name, such as `Page.frameNavigated`.
    pub method: Box<str>,
    /// Its payload, not yet decoded.
    pub params: Bytes,
}

impl Event {
    /// Decodes the payload.
    ///
    /// # Errors
    /// [`Error::Decode`] when it is not of the form asked for.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Error> {
        decode(&self.method, &self.params)
    }
}

/// What a listener gets.
#[derive(Clone, Debug)]
pub enum Delivery {
    /// The next event.
    Event(Event),
    /// So many events were lost here because the listener was too slow.
    Lagged(u64),
}

/// A bounded queue of events. Dropped, nothing more is kept for it.
#[derive(Debug)]
pub struct Events {
    queue: Arc<Queue>,
}

impl Events {
    /// The next event, or how many were lost before it; `None` when the connection has ended. Whoever asks for the next
    /// one is done with those before.
    pub async fn next(&mut self) -> Option<Delivery> {
        loop {
            {
                let mut line = lock(&self.queue.line);
                if line.done < line.taken {
                    line.done = line.taken;
                    self.queue.progress.notify_waiters();
                }
                if let Some(delivery) = line.waiting.pop_front() {
                    line.taken += 1;
                    return Some(delivery);
                }
                if line.is_over {
                    return None;
                }
            }
            self.queue.news.notified().await;
        }
    }

    /// Whether nothing waits to be taken.
    pub fn is_empty(&self) -> bool {
        lock(&self.queue.line).waiting.is_empty()
    }

    /// How far the listener has come, for others who rely on what it does.
    pub fn progress(&self) -> EventCursor {
        EventCursor { queue: self.queue.clone() }
    }
}

/// How far a listener has come with its events.
#[derive(Clone, Debug)]
pub struct EventCursor {
    queue: Arc<Queue>,
}

impl EventCursor {
    /// Waits until the listener is done with all that had come when this was called.
    pub async fn catch_up(&self) {
        let goal = {
            let line = lock(&self.queue.line);
            line.taken + line.waiting.len() as u64
        };
        loop {
            let mut news = std::pin::pin!(self.queue.progress.notified());
            // From here on no word is missed.
            news.as_mut().enable();
            {
                let line = lock(&self.queue.line);
                if line.done >= goal || line.is_over {
                    return;
                }
            }
            news.await;
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut line = lock(&self.queue.line);
        line.is_over = true;
        line.waiting.clear();
        drop(line);
        self.queue.progress.notify_waiters();
    }
}

/// What a listener has not taken yet. Losses stand in line like events, so that the listener learns what came before
/// and what after them.
#[derive(Debug)]
struct Queue {
    capacity: usize,
    line: Mutex<QueueState>,
    /// There is one who waits, so word to one is kept until it comes.
    news: Notify,
    /// The listener is done with something.
    progress: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<Delivery>,
    /// How many were taken out of it, and how many of these the listener is done with.
    taken: u64,
    done: u64,
    /// Nobody adds to it any more, or nobody takes from it.
    is_over: bool,
}

impl Queue {
    /// Adds an event, or counts it as lost; `false` when nobody listens any more.
    fn add(&self, event: &Event) -> bool {
        let mut line = lock(&self.line);
        if line.is_over {
            return false;
        }
        if line.waiting.len() < self.capacity {
            line.waiting.push_back(Delivery::Event(event.clone()));
        } else if let Some(Delivery::Lagged(lost)) = line.waiting.back_mut() {
            *lost += 1;
        } else {
            line.waiting.push_back(Delivery::Lagged(1));
        }
        drop(line);
        self.news.notify_one();
        true
    }

    fn is_over(&self) -> bool {
        lock(&self.line).is_over
    }
}

/// A connection to one browser. Cheap to clone; the line closes when the last clone is gone.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(crate) shared: Arc<Shared>,
}

impl Connection {
    /// Starts to talk over `transport`. Must be called within a tokio runtime.
    pub fn open(transport: Transport, options: Options) -> Self {
        let (outgoing, queue) = mpsc::unbounded_channel();
        let (closed, _) = watch::channel(None);
        let shared = Arc::new(Shared {
            next_id: AtomicU64::new(1),
            waiting: Mutex::new(PendingCalls::default()),
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

    /// The channel to the browser itself.
    pub fn browser(&self) -> Channel {
        Channel::new(self.clone(), None)
    }

    /// The channel to an attached target.
    pub fn session(&self, id: Arc<str>) -> Channel {
        Channel::new(self.clone(), Some(id))
    }

    /// Listens to `methods` of every session, holding at most `capacity` undelivered events.
    pub fn events(&self, methods: &'static [&'static str], capacity: usize) -> Events {
        self.shared.listen(None, methods, capacity)
    }

    /// Why the connection ended; `None` while it stands.
    pub fn closed(&self) -> Option<Arc<str>> {
        self.shared.closed.borrow().clone()
    }

    /// Waits for the end of the connection and tells why it came.
    pub async fn wait_closed(&self) -> Arc<str> {
        let mut closed = self.shared.closed.subscribe();
        match closed.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_else(|| "closed".into()),
            Err(_) => "closed".into(),
        }
    }

    /// Ends the connection: everything that waits fails with `reason`.
    pub fn close(&self, reason: &str) {
        self.shared.close(reason);
    }

    /// How many calls wait for an answer.
    pub fn pending(&self) -> usize {
        lock(&self.shared.waiting).calls.len()
    }
}

pub(crate) struct Shared {
    next_id: AtomicU64,
    waiting: Mutex<PendingCalls>,
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
        lock(&self.queue.line).is_over = true;
        self.queue.news.notify_one();
        self.queue.progress.notify_waiters();
    }
}

/// A call under way. Dropped, it is forgotten on our side.
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
        lock(&self.shared.waiting).calls.remove(&self.id);
    }
}

impl Shared {
    /// Queues a call and registers who waits for the answer.
    pub(crate) fn start(
        self: &Arc<Self>,
        session: Option<&Arc<str>>,
        method: &'static str,
        params: &impl serde::Serialize,
    ) -> Result<PendingCall, Error> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        let call = Call { session: session.cloned(), method, answer: sender };
        lock(&self.waiting).calls.insert(id, call);
        let ticket = PendingCall { id, shared: self.clone(), answer };
        // Registered first: had the connection closed in between, `close` would have failed the call.
        self.send(id, session, method, params)?;
        Ok(ticket)
    }

    /// Queues a call whose answer nobody wants.
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
        let (line, news, progress) = (Mutex::default(), Notify::new(), Notify::new());
        let queue = Arc::new(Queue { capacity: capacity.max(1), line, news, progress });
        let listener = Listener { session, methods, queue: queue.clone() };
        let mut listeners = lock(&self.listeners);
        // After the end nobody would ever close this queue.
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
            let calls = std::mem::take(&mut lock(&self.waiting).calls);
            for call in calls.into_values() {
                _ = call.answer.send(Err(Error::Closed { reason: reason.into() }));
            }
        }
    }

    /// Takes one message apart and hands its parts to whoever waits for them.
    fn dispatch(&self, message: &Bytes) {
        let Some(envelope) = Envelope::read(message) else {
            tracing::warn!(bytes = message.len(), "unreadable message dropped");
            return;
        };
        if let Some(id) = envelope.id {
            let Some(call) = lock(&self.waiting).calls.remove(&id) else {
                return;
            };
            let answer = match (envelope.error, envelope.result) {
                (Some(error), _) => Err(Error::Remote {
                    method: call.method,
                    code: error.code.unwrap_or_default(),
                    message: error.message.into_owned(),
                }),
                (None, Some(result)) => Ok(part(message, result)),
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
            let wants = listener.methods.contains(&method)
                && listener.session.as_deref().is_none_or(|wanted| Some(wanted) == session);
            if !wants {
                return !listener.queue.is_over();
            }
            let event = event.get_or_insert_with(|| Event {
                session: session.map(Into::into),
                method: method.into(),
                params: params.map_or(Bytes::from_static(b"{}"), |params| part(message, params)),
            });
            listener.queue.add(event)
        });
        // Chromium leaves calls of a session that ends unanswered.
        match method {
            "Target.detachedFromTarget" => {
                #[derive(Deserialize)]
                struct DetachedParams<'a> {
                    #[serde(rename = "sessionId", borrow)]
                    session: Cow<'a, str>,
                }
                if let Some(gone) = params.and_then(|params| {
                    serde_json::from_str::<DetachedParams<'_>>(params.get()).ok()
                }) {
                    self.fail(&gone.session, |method| Error::Detached { method });
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
        let mut waiting = lock(&self.waiting);
        let gone: Vec<u64> = waiting
            .calls
            .iter()
            .filter(|(_, call)| call.session.as_deref() == Some(session))
            .map(|(id, _)| *id)
            .collect();
        for id in gone {
            if let Some(call) = waiting.calls.remove(&id) {
                _ = call.answer.send(Err(error(call.method)));
            }
        }
    }
}

/// A message's outside, borrowed from it. Everything is optional: a message of a form we do not know is
/// passed over, never an error.
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
        // serde would also read an array as a struct, field by field.
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

fn part(message: &Bytes, raw: &RawValue) -> Bytes {
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
    // Ends when the last handle on the connection is gone: the sender lives in `Shared`.
    while let Some(message) = queue.recv().await {
        let length = message.len();
        let Some(alive) = shared.upgrade() else { break };
        if let Some(tap) = &alive.tap {
            tap(Direction::Sent, &message);
        }
        drop(alive);
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

/// Our locks guard plain data that is never left half-changed, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
