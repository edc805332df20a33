//! The daemon's server: concurrent clients, one task per connection, with limits that isolate them from each other.

use super::client::READY;
use super::connection_limit::{ClientSlot, ConnectionLimit};
use super::wire::{
    self, DaemonRequest, DaemonResponse, DaemonStatus, HEADER, MAX_REQUEST, RequestEnvelope,
    ResponseEnvelope,
};
use super::{DaemonState, ExitReason, SessionPaths};
use crate::{VERSION, idle_memory};
use browser::{Browser, Code, Driver, Error, EventStream, Reply, Result};
use std::fs::File;
use std::future::Future;
use std::io::{ErrorKind, Write};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, Semaphore, SemaphorePermit, watch};

/// Time limit for receiving the rest of a frame and for writing a response.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(10);

/// Memory of all large requests together, from their first byte until their response, in KiB: two of the maximum size.
/// Small requests are not counted: they always pass, and 256 of them take little.
const REQUEST_MEMORY_KIB: usize = 64 << 10;
const SMALL_REQUEST: usize = 64 << 10;

/// Time that a large request waits for memory. Its client gives up writing after that, too.
const MEMORY_TIMEOUT: Duration = Duration::from_secs(15);

/// Time that a new daemon waits for its predecessor to exit.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(8);

/// Time that a stopping daemon gives running commands to respond.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs the daemon of a session until it is stopped or idle.
///
/// # Errors
/// When it cannot listen; the error is also printed for the starting client.
pub async fn serve(paths: SessionPaths, idle_timeout: Duration) -> Result<()> {
    // Detach from the terminal's signals.
    _ = rustix::process::setsid();
    let (listener, _lock) = match listen(&paths).await {
        Ok(Some(listening)) => listening,
        Ok(None) => return print_line(READY),
        Err(error) => {
            print_line(&serde_json::to_string(&error).unwrap_or_default())?;
            return Err(error);
        }
    };
    let daemon = Arc::new(Daemon::new(paths, idle_timeout));
    daemon.save_state();
    daemon.paths.remove_old_logs();
    print_line(READY)?;
    tracing::info!(
        session = daemon.paths.session,
        pid = std::process::id(),
        version = VERSION,
        "listening"
    );

    tokio::spawn(idle_memory::keep());
    let ended = daemon.accept_until_stopped(&listener).await;
    daemon.is_stopping.store(true, Ordering::Release);
    // No new connections from here on; those already in the backlog are told to retry.
    _ = std::fs::remove_file(daemon.paths.socket());
    refuse_late_connections(&listener).await;
    daemon.shut_down(ended).await;
    tracing::info!("stopped");
    Ok(())
}

struct Daemon {
    paths: SessionPaths,
    browser: Browser,
    idle_timeout: Duration,
    since: Instant,
    commands: AtomicU64,
    running: AtomicU64,
    connections: Arc<ConnectionLimit>,
    /// Memory for large requests.
    request_memory: Semaphore,
    /// Number of open keep-alive connections.
    keep_alive_count: AtomicU64,
    /// The session is private to a client: its files are removed at the end.
    is_private: AtomicBool,
    last_use: Mutex<Instant>,
    /// Content of the state file.
    saved_state: Mutex<Option<DaemonState>>,
    is_stopping: AtomicBool,
    stop: watch::Sender<bool>,
    activity: Notify,
}

impl Daemon {
    fn new(paths: SessionPaths, idle_timeout: Duration) -> Self {
        let browser = Browser::new(browser::launch::Options::default());
        let left = DaemonState::read(&paths);
        if let Some(left) = &left {
            browser.number_tabs_after(left.last_tab);
            left.left.clone().into_iter().for_each(|left| browser.adopt_orphan_tabs(left));
        }
        if let Some(reason) = left.and_then(|left| left.loss()) {
            tracing::warn!(reason, "the session was lost");
            browser.mark_lost(reason);
        }
        Self {
            paths,
            browser,
            idle_timeout,
            since: Instant::now(),
            commands: AtomicU64::new(0),
            running: AtomicU64::new(0),
            connections: Arc::default(),
            request_memory: Semaphore::new(REQUEST_MEMORY_KIB),
            keep_alive_count: AtomicU64::new(0),
            is_private: AtomicBool::new(false),
            last_use: Mutex::new(Instant::now()),
            saved_state: Mutex::new(None),
            is_stopping: AtomicBool::new(false),
            stop: watch::Sender::new(false),
            activity: Notify::new(),
        }
    }

    /// Accepts connections until a stop request, the idle timeout or a signal.
    async fn accept_until_stopped(self: &Arc<Self>, listener: &UnixListener) -> Option<ExitReason> {
        let mut stop = self.stop.subscribe();
        let mut terminate = signals();
        loop {
            let next = async {
                self.connections.wait_for_slot().await;
                listener.accept().await
            };
            tokio::select! {
                client = next => match client {
                    Ok((stream, _)) => {
                        let (daemon, slot) = (self.clone(), self.connections.register());
                        tokio::spawn(async move {
                            daemon.serve_connection(stream, slot).await;
                            daemon.touch();
                        });
                    }
                    // Out of descriptors: retry after a pause.
                    Err(error) => {
                        tracing::warn!(%error, "a client could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
                _ = stop.wait_for(|stop| *stop) => return None,
                () = self.idle() => return Some(ExitReason::Idle),
                () = &mut terminate => return Some(ExitReason::Signal),
            }
        }
    }

    /// Serves one connection; the close of the last keep-alive connection stops the daemon.
    async fn serve_connection(self: &Arc<Self>, stream: UnixStream, slot: ClientSlot) {
        let mut keeps_alive = false;
        self.serve_requests(stream, &slot, &mut keeps_alive).await;
        if keeps_alive && self.keep_alive_count.fetch_sub(1, Ordering::AcqRel) == 1 {
            tracing::info!("last keep-alive connection closed");
            self.is_stopping.store(true, Ordering::Release);
            self.stop.send_replace(true);
        }
    }

    async fn serve_requests(
        self: &Arc<Self>,
        mut stream: UnixStream,
        slot: &ClientSlot,
        keeps_alive: &mut bool,
    ) {
        loop {
            let (call, _memory) = match read_request(&mut stream, slot, &self.request_memory).await
            {
                Ok(Some(call)) => call,
                Ok(None) => return,
                Err(error) => {
                    tracing::debug!(code = %error.code(), "bad request");
                    _ = write_response(&mut stream, DaemonResponse::Error(error)).await;
                    return;
                }
            };
            self.touch();
            self.running.fetch_add(1, Ordering::Relaxed);
            let done = unless_disconnected(&mut stream, self.handle_request(call)).await;
            self.running.fetch_sub(1, Ordering::Relaxed);
            self.commands.fetch_add(1, Ordering::Relaxed);
            self.touch();
            let Some(done) = done else {
                // The cancelled command may have started a browser.
                self.save_state();
                tracing::debug!("client gone, command dropped");
                return;
            };
            if matches!(done, DaemonResponse::KeepAlive) && !std::mem::replace(keeps_alive, true) {
                self.keep_alive_count.fetch_add(1, Ordering::AcqRel);
                self.is_private.store(true, Ordering::Release);
            }
            let is_last = matches!(done, DaemonResponse::Stopping) || closed_browser(&done);
            if is_last {
                // Set before the response: a request that follows it must not run in this daemon.
                self.is_stopping.store(true, Ordering::Release);
            }
            let events =
                matches!(done, DaemonResponse::Events).then(|| Driver::events(&self.browser));
            let written = write_response(&mut stream, done).await;
            if let Some(events) = events {
                return send_events(stream, events).await;
            }
            if is_last {
                self.stop.send_replace(true);
            }
            if written.is_err() {
                return;
            }
            // A keep-alive connection is never evicted.
            if !*keeps_alive {
                slot.set_idle();
            }
        }
    }

    async fn handle_request(&self, call: RequestEnvelope) -> DaemonResponse {
        if self.is_stopping.load(Ordering::Acquire) {
            return DaemonResponse::Error(Error::new(Code::DaemonStopping));
        }
        if call.version != VERSION {
            return DaemonResponse::Error(
                Error::new(Code::DaemonVersionMismatch)
                    .message(format!(
                        "the daemon is version {VERSION}, this client is {}",
                        call.version
                    ))
                    .evidence("daemon", VERSION)
                    .evidence("client", &*call.version),
            );
        }
        let action = match serde_json::from_str::<DaemonRequest>(call.action.get()) {
            Ok(action) => action,
            Err(error) => {
                return DaemonResponse::Error(
                    Error::new(Code::CommandInvalid).message(format!("invalid request: {error}")),
                );
            }
        };
        drop(call);
        match action {
            DaemonRequest::Run { request, overrides } => {
                let done = self.browser.run_with(request, &overrides);
                let outcome = self.run_saving_tabs(done).await;
                self.save_state();
                outcome.map_or_else(DaemonResponse::Error, DaemonResponse::Outcome)
            }
            DaemonRequest::KeepAlive => DaemonResponse::KeepAlive,
            DaemonRequest::Events => DaemonResponse::Events,
            DaemonRequest::Status => DaemonResponse::Status(self.status()),
            DaemonRequest::Stop => DaemonResponse::Stopping,
        }
    }

    fn status(&self) -> DaemonStatus {
        DaemonStatus {
            session: self.paths.session.clone(),
            pid: std::process::id(),
            version: VERSION.into(),
            uptime_s: self.since.elapsed().as_secs(),
            commands: self.commands.load(Ordering::Relaxed),
            running: self.running.load(Ordering::Relaxed).saturating_sub(1),
            clients: self.connections.count() as u64,
            rss_kb: rss_kb(),
            browser: self.browser.is_running(),
            tabs: self.browser.tab_count(),
            idle_timeout_s: self.idle_timeout.as_secs(),
        }
    }

    /// Writes the state file if the state changed: a successor reads it if this daemon is killed.
    fn save_state(&self) {
        let state = self.state(None);
        let mut saved_state = self.saved_state.lock().unwrap_or_else(PoisonError::into_inner);
        if saved_state.as_ref() == Some(&state) {
            return;
        }
        match state.write(&self.paths) {
            Ok(()) => *saved_state = Some(state),
            Err(error) => tracing::warn!(%error, "state not written"),
        }
    }

    /// Runs a command, saving the state whenever a tab is created: in a browser that the daemon does not own, the tab
    /// would outlive a killed daemon without an owner.
    async fn run_saving_tabs<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                done = work.as_mut() => return done,
                () = self.browser.tab_was_made() => self.save_state(),
            }
        }
    }

    fn state(&self, ended: Option<ExitReason>) -> DaemonState {
        DaemonState {
            pid: std::process::id(),
            version: VERSION.into(),
            had_browser: self.browser.is_running(),
            last_tab: self.browser.last_tab(),
            lost: self.browser.loss(),
            left: self.browser.orphan_tabs(),
            ended,
        }
    }

    async fn shut_down(&self, ended: Option<ExitReason>) {
        let state = DaemonState { left: None, ..self.state(ended) };
        self.browser.close().await;
        self.drain_commands().await;
        let written = match ended.and(state.loss()) {
            Some(_) => state.write(&self.paths),
            None => std::fs::remove_file(self.paths.state()),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "state file not updated");
        }
        if self.is_private.load(Ordering::Acquire) {
            for path in [self.paths.state(), self.paths.log()] {
                _ = std::fs::remove_file(path);
            }
        }
        // Removed last, while the lock is held: a waiting successor creates a new one.
        _ = std::fs::remove_file(self.paths.lock());
    }

    /// Waits for the responses of commands that the browser's end interrupted.
    async fn drain_commands(&self) {
        let answered = async {
            while self.running.load(Ordering::Relaxed) > 0 {
                self.activity.notified().await;
            }
        };
        _ = tokio::time::timeout(DRAIN_TIMEOUT, answered).await;
    }

    fn touch(&self) {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.activity.notify_waiters();
        idle_memory::used();
    }

    /// Waits for the idle timeout.
    async fn idle(&self) {
        loop {
            let quiet = self.last_use.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
            let left = self.idle_timeout.saturating_sub(quiet);
            let is_needed = self.running.load(Ordering::Relaxed) > 0
                || self.keep_alive_count.load(Ordering::Acquire) > 0;
            if is_needed {
                self.activity.notified().await;
            } else if left.is_zero() {
                return;
            } else {
                tokio::time::sleep(left).await;
            }
        }
    }
}

/// Takes the session's lock and binds its socket; `None` when another daemon has them and accepts connections.
async fn listen(paths: &SessionPaths) -> Result<Option<(UnixListener, File)>> {
    let failed = |what: &str, error: std::io::Error| {
        Error::new(Code::DaemonStartFailed).message(format!("{what}: {error}"))
    };
    let began = Instant::now();
    // The predecessor may be shutting down: its socket is removed while its browser still closes.
    let lock = loop {
        let seized = paths.seize().map_err(|error| failed("the lock cannot be taken", error))?;
        if let Some(lock) = seized {
            break lock;
        }
        if super::Connection::open(paths).await.is_some() {
            return Ok(None);
        }
        if began.elapsed() > HANDOVER_TIMEOUT {
            let holder = DaemonState::read(paths).map_or(0, |state| state.pid);
            return Err(Error::new(Code::DaemonStartFailed)
                .message(format!(
                    "another daemon of session `{}` neither responds nor exits",
                    paths.session
                ))
                .evidence("pid", holder));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    _ = std::fs::remove_file(paths.socket());
    let listener = UnixListener::bind(paths.socket())
        .map_err(|error| failed("the socket cannot be created", error))?;
    Ok(Some((listener, lock)))
}

/// Responds `daemon.stopping` to connections left in the backlog.
async fn refuse_late_connections(listener: &UnixListener) {
    let moment = Duration::from_millis(1);
    while let Ok(Ok((mut stream, _))) = tokio::time::timeout(moment, listener.accept()).await {
        _ = write_response(&mut stream, DaemonResponse::Error(Error::new(Code::DaemonStopping)))
            .await;
    }
}

/// Reads one request; `None` when the client disconnected. A large one comes with its memory permit.
async fn read_request<'r>(
    stream: &mut UnixStream,
    slot: &ClientSlot,
    request_memory: &'r Semaphore,
) -> Result<Option<(RequestEnvelope, Option<SemaphorePermit<'r>>)>> {
    let bad = |message: String| Error::new(Code::DaemonBadFrame).message(message);
    let broken = |error: std::io::Error| bad(format!("the request broke off: {error}"));
    let late = |_| bad("the request was not completed in time".into());
    // Most requests arrive in one read. No time limit between requests, only within one.
    let mut first = [0; 2048];
    let read = tokio::select! {
        biased;
        read = stream.read(&mut first) => read,
        () = slot.evicted() => {
            tracing::debug!("idle connection evicted");
            // No request was read: the client retries on another connection.
            return Err(Error::new(Code::DaemonStopping));
        }
    };
    let mut got = match read {
        Ok(0) | Err(_) => return Ok(None),
        Ok(got) => got,
    };
    // No eviction after the first byte: the request has its own time limit.
    slot.set_busy();
    let header = async {
        while got < HEADER {
            match stream.read(&mut first[got..HEADER]).await? {
                0 => return Err(std::io::Error::from(ErrorKind::UnexpectedEof)),
                more => got += more,
            }
        }
        Ok(())
    };
    tokio::time::timeout(TRANSFER_TIMEOUT, header).await.map_err(late)?.map_err(broken)?;
    let (header, begun) = first[..got].split_at(HEADER);
    let (json, file) = wire::lengths(header);
    if json > MAX_REQUEST || file > 0 {
        let length = json.max(file);
        return Err(Error::new(Code::DaemonFrameTooLarge)
            .message(format!("a request of {length} bytes where at most {MAX_REQUEST} of JSON and no file are read"))
            .evidence("bytes", length));
    }
    let memory = reserve_memory(json, request_memory).await?;
    let rest = async {
        // Grows as bytes arrive: an announced length alone takes no memory.
        let mut body = begun.to_vec();
        let missing = json.checked_sub(body.len()).ok_or_else(|| {
            std::io::Error::new(ErrorKind::InvalidData, "more bytes than announced")
        })?;
        let read = (&mut *stream).take(missing as u64).read_to_end(&mut body).await?;
        if read < missing {
            return Err(std::io::Error::from(ErrorKind::UnexpectedEof));
        }
        Ok(body)
    };
    let body = tokio::time::timeout(TRANSFER_TIMEOUT, rest).await.map_err(late)?.map_err(broken)?;
    let call =
        serde_json::from_slice(&body).map_err(|error| bad(format!("not a request: {error}")))?;
    Ok(Some((call, memory)))
}

/// Reserves memory for a request of this size; none for a small one. Reserved as a whole before reading: two requests
/// that each waited for the other's half would both fail.
async fn reserve_memory(
    bytes: usize,
    request_memory: &Semaphore,
) -> Result<Option<SemaphorePermit<'_>>> {
    if bytes <= SMALL_REQUEST {
        return Ok(None);
    }
    let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
    match tokio::time::timeout(MEMORY_TIMEOUT, request_memory.acquire_many(kib)).await {
        Ok(taken) => Ok(taken.ok()),
        Err(_) => Err(Error::new(Code::DaemonBusy).evidence("bytes", bytes)),
    }
}

/// Sends events until the client disconnects.
async fn send_events(mut stream: UnixStream, mut events: EventStream) {
    let mut byte = [0];
    loop {
        tokio::select! {
            event = events.next() => {
                let Some(event) = event else { return };
                if write_response(&mut stream, DaemonResponse::Event(event)).await.is_err() {
                    return;
                }
            }
            // A subscriber sends nothing: any read result is the end.
            _ = stream.read(&mut byte) => return,
        }
    }
}

async fn write_response(stream: &mut UnixStream, mut done: DaemonResponse) -> std::io::Result<()> {
    let file = match &mut done {
        DaemonResponse::Outcome(outcome) => outcome.reply.take_file().unwrap_or_default(),
        _ => Vec::new(),
    };
    let head = wire::frame(&ResponseEnvelope::new(done), &file)?;
    let write = async {
        stream.write_all(&head).await?;
        stream.write_all(&file).await
    };
    tokio::time::timeout(TRANSFER_TIMEOUT, write)
        .await
        .map_err(|_| std::io::Error::from(ErrorKind::TimedOut))?
}

/// Runs a future until the client disconnects, which drops and thereby cancels it.
async fn unless_disconnected<T>(
    stream: &mut UnixStream,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    let mut byte = [0];
    tokio::select! {
        biased;
        done = &mut work => Some(done),
        // A client sends nothing before its response: any read result is the end or a protocol violation.
        _ = stream.read(&mut byte) => None,
    }
}

/// True if the command closed the whole browser, after which the daemon stops.
fn closed_browser(done: &DaemonResponse) -> bool {
    matches!(done, DaemonResponse::Outcome(outcome) if matches!(&outcome.reply, Reply::Close(closed) if closed.context.is_none()))
}

fn signals() -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
    let mut terminate = signal(SignalKind::terminate()).ok();
    let mut interrupt = signal(SignalKind::interrupt()).ok();
    Box::pin(async move {
        match (&mut terminate, &mut interrupt) {
            (Some(terminate), Some(interrupt)) => tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            },
            _ => std::future::pending().await,
        }
    })
}

fn print_line(line: &str) -> Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| {
        Error::new(Code::DaemonStartFailed).message(format!("the starting client is gone: {error}"))
    })
}

fn rss_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok())
}
