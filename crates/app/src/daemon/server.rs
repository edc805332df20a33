//! The daemon's side: many clients at once, each answered in its own task, none able to harm another.

use super::client::READY;
use super::connection_limit::{Connection, ConnectionLimit};
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

/// A client that has begun a frame must finish it, and one that is answered must read, within this.
const PATIENCE: Duration = Duration::from_secs(10);

/// What all large requests together may take, from their first byte until they are answered; in KiB, and room for two of
/// the largest. Small ones are not counted: they always pass, and 256 of them are little.
const ROOM_KIB: usize = 64 << 10;
const SMALL: usize = 64 << 10;

/// How long a large request waits for room. Its client gives up on writing after that, too.
const ROOM_WAIT: Duration = Duration::from_secs(15);

/// How long a new daemon waits for the one before it to be gone.
const HANDOVER: Duration = Duration::from_secs(8);

/// How long a daemon that ends waits for commands that were under way to say how they ended.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// Runs the daemon of a session until it is stopped or idle.
///
/// # Errors
/// When it cannot listen; the starter is told too.
pub async fn serve(place: SessionPaths, idle_timeout: Duration) -> Result<()> {
    // The terminal's signals are not for us.
    _ = rustix::process::setsid();
    let (listener, _lock) = match listen(&place).await {
        Ok(Some(listening)) => listening,
        Ok(None) => return say(READY),
        Err(error) => {
            say(&serde_json::to_string(&error).unwrap_or_default())?;
            return Err(error);
        }
    };
    let daemon = Arc::new(Daemon::new(place, idle_timeout));
    daemon.save_state();
    daemon.place.remove_old_logs();
    say(READY)?;
    tracing::info!(
        session = daemon.place.session,
        pid = std::process::id(),
        version = VERSION,
        "listening"
    );

    tokio::spawn(idle_memory::keep());
    let ended = daemon.accept_until_stopped(&listener).await;
    daemon.is_stopping.store(true, Ordering::Release);
    // From here on nobody new can connect; who did get in is told to try again.
    _ = std::fs::remove_file(daemon.place.socket());
    refuse_the_rest(&listener).await;
    daemon.shut_down(ended).await;
    tracing::info!("stopped");
    Ok(())
}

struct Daemon {
    place: SessionPaths,
    browser: Browser,
    idle_timeout: Duration,
    since: Instant,
    commands: AtomicU64,
    running: AtomicU64,
    guests: Arc<ConnectionLimit>,
    /// For large requests.
    room: Semaphore,
    /// Lines that the daemon stays for.
    holders: AtomicU64,
    /// The session is somebody's own: nothing of it is of use to anybody else.
    is_private: AtomicBool,
    last_use: Mutex<Instant>,
    /// What the state file says.
    told: Mutex<Option<DaemonState>>,
    is_stopping: AtomicBool,
    stop: watch::Sender<bool>,
    used: Notify,
}

impl Daemon {
    fn new(place: SessionPaths, idle_timeout: Duration) -> Self {
        let browser = Browser::new(browser::launch::Options::default());
        let left = DaemonState::read(&place);
        if let Some(left) = &left {
            browser.number_tabs_after(left.last_tab);
            left.left.clone().into_iter().for_each(|left| browser.adopt_orphan_tabs(left));
        }
        if let Some(reason) = left.and_then(|left| left.loss()) {
            tracing::warn!(reason, "the session was lost");
            browser.mark_lost(reason);
        }
        Self {
            place,
            browser,
            idle_timeout,
            since: Instant::now(),
            commands: AtomicU64::new(0),
            running: AtomicU64::new(0),
            guests: Arc::default(),
            room: Semaphore::new(ROOM_KIB),
            holders: AtomicU64::new(0),
            is_private: AtomicBool::new(false),
            last_use: Mutex::new(Instant::now()),
            told: Mutex::new(None),
            is_stopping: AtomicBool::new(false),
            stop: watch::Sender::new(false),
            used: Notify::new(),
        }
    }

    /// Serves clients until a client, the clock or the system ends it.
    async fn accept_until_stopped(self: &Arc<Self>, listener: &UnixListener) -> Option<ExitReason> {
        let mut stop = self.stop.subscribe();
        let mut terminate = signals();
        loop {
            let next = async {
                self.guests.room().await;
                listener.accept().await
            };
            tokio::select! {
                client = next => match client {
                    Ok((stream, _)) => {
                        let (daemon, guest) = (self.clone(), self.guests.enter());
                        tokio::spawn(async move {
                            daemon.serve_connection(stream, guest).await;
                            daemon.touch();
                        });
                    }
                    // Out of descriptors: those in use will be given back.
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

    /// Serves one client, request after request.
    async fn serve_connection(self: &Arc<Self>, stream: UnixStream, guest: Connection) {
        let mut holds = false;
        self.serve_requests(stream, &guest, &mut holds).await;
        if holds && self.holders.fetch_sub(1, Ordering::AcqRel) == 1 {
            tracing::info!("nobody is left to stay for");
            self.is_stopping.store(true, Ordering::Release);
            self.stop.send_replace(true);
        }
    }

    async fn serve_requests(
        self: &Arc<Self>,
        mut stream: UnixStream,
        guest: &Connection,
        holds: &mut bool,
    ) {
        loop {
            let (call, _room) = match read_call(&mut stream, guest, &self.room).await {
                Ok(Some(call)) => call,
                Ok(None) => return,
                Err(error) => {
                    tracing::debug!(code = %error.code(), "bad request");
                    _ = write_answer(&mut stream, DaemonResponse::Error(error)).await;
                    return;
                }
            };
            self.touch();
            self.running.fetch_add(1, Ordering::Relaxed);
            let done = unless_gone(&mut stream, self.answer(call)).await;
            self.running.fetch_sub(1, Ordering::Relaxed);
            self.commands.fetch_add(1, Ordering::Relaxed);
            self.touch();
            let Some(done) = done else {
                // It may have started a browser all the same.
                self.save_state();
                tracing::debug!("client gone, command dropped");
                return;
            };
            if matches!(done, DaemonResponse::KeepAlive) && !std::mem::replace(holds, true) {
                self.holders.fetch_add(1, Ordering::AcqRel);
                self.is_private.store(true, Ordering::Release);
            }
            let is_last = matches!(done, DaemonResponse::Stopping) || closed_browser(&done);
            if is_last {
                // Before it is told: what comes after the answer must not be done by this daemon.
                self.is_stopping.store(true, Ordering::Release);
            }
            let events =
                matches!(done, DaemonResponse::Events).then(|| Driver::events(&self.browser));
            let written = write_answer(&mut stream, done).await;
            if let Some(events) = events {
                return send_events(stream, events).await;
            }
            if is_last {
                self.stop.send_replace(true);
            }
            if written.is_err() {
                return;
            }
            // Whom the daemon stays for has nothing else to say.
            if !*holds {
                guest.set_idle();
            }
        }
    }

    async fn answer(&self, call: RequestEnvelope) -> DaemonResponse {
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
                    Error::new(Code::CommandInvalid)
                        .message(format!("the request is not understood: {error}")),
                );
            }
        };
        drop(call);
        match action {
            DaemonRequest::Run { request, overrides } => {
                let done = self.browser.run_with(request, &overrides);
                let outcome = self.remembering_tabs(done).await;
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
            session: self.place.session.clone(),
            pid: std::process::id(),
            version: VERSION.into(),
            uptime_s: self.since.elapsed().as_secs(),
            commands: self.commands.load(Ordering::Relaxed),
            running: self.running.load(Ordering::Relaxed).saturating_sub(1),
            clients: self.guests.count() as u64,
            rss_kb: rss_kb(),
            browser: self.browser.is_running(),
            tabs: self.browser.tab_count(),
            idle_timeout_s: self.idle_timeout.as_secs(),
        }
    }

    /// Leaves word for a successor, should this daemon be killed.
    fn save_state(&self) {
        let state = self.state(None);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.as_ref() == Some(&state) {
            return;
        }
        match state.write(&self.place) {
            Ok(()) => *told = Some(state),
            Err(error) => tracing::warn!(%error, "state not written"),
        }
    }

    /// Does a command. A tab that it makes in somebody else's browser is written down before the command ends: it would
    /// outlive a daemon that is killed meanwhile, and nobody would know whose it is.
    async fn remembering_tabs<T>(&self, work: impl Future<Output = T>) -> T {
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
        self.last_answers().await;
        let word = match ended.and(state.loss()) {
            Some(_) => state.write(&self.place),
            None => std::fs::remove_file(self.place.state()),
        };
        if let Err(error) = word {
            tracing::warn!(%error, "state not left");
        }
        if self.is_private.load(Ordering::Acquire) {
            for path in [self.place.state(), self.place.log()] {
                _ = std::fs::remove_file(path);
            }
        }
        // Last, and while it is held: who waits for it takes a new one.
        _ = std::fs::remove_file(self.place.lock());
    }

    /// Lets commands that the end of the browser cut off say so, for a moment.
    async fn last_answers(&self) {
        let answered = async {
            while self.running.load(Ordering::Relaxed) > 0 {
                self.used.notified().await;
            }
        };
        _ = tokio::time::timeout(LAST_ANSWERS, answered).await;
    }

    fn touch(&self) {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.used.notify_waiters();
        idle_memory::used();
    }

    /// Waits until nothing has happened for long enough.
    async fn idle(&self) {
        loop {
            let quiet = self.last_use.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
            let left = self.idle_timeout.saturating_sub(quiet);
            let is_needed = self.running.load(Ordering::Relaxed) > 0
                || self.holders.load(Ordering::Acquire) > 0;
            if is_needed {
                self.used.notified().await;
            } else if left.is_zero() {
                return;
            } else {
                tokio::time::sleep(left).await;
            }
        }
    }
}

/// Takes the session's lock and its socket; `None` when another daemon has them and answers.
async fn listen(place: &SessionPaths) -> Result<Option<(UnixListener, File)>> {
    let failed = |what: &str, error: std::io::Error| {
        Error::new(Code::DaemonStartFailed).message(format!("{what}: {error}"))
    };
    let began = Instant::now();
    // The one before may be on its way out: it has no socket any more but still closes its browser.
    let lock = loop {
        let seized = place.seize().map_err(|error| failed("the lock cannot be taken", error))?;
        if let Some(lock) = seized {
            break lock;
        }
        if super::Connection::open(place).await.is_some() {
            return Ok(None);
        }
        if began.elapsed() > HANDOVER {
            let holder = DaemonState::read(place).map_or(0, |state| state.pid);
            return Err(Error::new(Code::DaemonStartFailed)
                .message(format!(
                    "another daemon of session `{}` neither answers nor ends",
                    place.session
                ))
                .evidence("pid", holder));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    _ = std::fs::remove_file(place.socket());
    let listener = UnixListener::bind(place.socket())
        .map_err(|error| failed("the socket cannot be made", error))?;
    Ok(Some((listener, lock)))
}

/// Tells those who connected too late that nothing was done for them.
async fn refuse_the_rest(listener: &UnixListener) {
    let moment = Duration::from_millis(1);
    while let Ok(Ok((mut stream, _))) = tokio::time::timeout(moment, listener.accept()).await {
        _ = write_answer(&mut stream, DaemonResponse::Error(Error::new(Code::DaemonStopping)))
            .await;
    }
}

/// Reads one request; `None` when the client has gone, or was silent and has to make room. A large one comes with the
/// room that it takes.
async fn read_call<'r>(
    stream: &mut UnixStream,
    guest: &Connection,
    room: &'r Semaphore,
) -> Result<Option<(RequestEnvelope, Option<SemaphorePermit<'r>>)>> {
    let bad = |message: String| Error::new(Code::DaemonBadFrame).message(message);
    let broken = |error: std::io::Error| bad(format!("the request broke off: {error}"));
    let late = |_| bad("the request did not come to its end".into());
    // A usual request comes in one piece. Between requests a client may take its time; once it has begun, it
    // has to go on.
    let mut first = [0; 2048];
    let read = tokio::select! {
        biased;
        read = stream.read(&mut first) => read,
        () = guest.evicted() => {
            tracing::debug!("idle connection evicted");
            // Its next request has not been read: the client asks again on another connection.
            return Err(Error::new(Code::DaemonStopping));
        }
    };
    let mut got = match read {
        Ok(0) | Err(_) => return Ok(None),
        Ok(got) => got,
    };
    // It is heard from its first byte on, and what it has begun has an end of its own.
    guest.set_busy();
    let header = async {
        while got < HEADER {
            match stream.read(&mut first[got..HEADER]).await? {
                0 => return Err(std::io::Error::from(ErrorKind::UnexpectedEof)),
                more => got += more,
            }
        }
        Ok(())
    };
    tokio::time::timeout(PATIENCE, header).await.map_err(late)?.map_err(broken)?;
    let (header, begun) = first[..got].split_at(HEADER);
    let (json, file) = wire::lengths(header);
    if json > MAX_REQUEST || file > 0 {
        let length = json.max(file);
        return Err(Error::new(Code::DaemonFrameTooLarge)
            .message(format!("a request of {length} bytes where at most {MAX_REQUEST} of JSON and no file are read"))
            .evidence("bytes", length));
    }
    let room = take_room(json, room).await?;
    let rest = async {
        // Grows as bytes come, so that a promise of many costs no memory.
        let mut body = begun.to_vec();
        let missing = json.checked_sub(body.len()).ok_or_else(|| {
            std::io::Error::new(ErrorKind::InvalidData, "more came than was announced")
        })?;
        let read = (&mut *stream).take(missing as u64).read_to_end(&mut body).await?;
        if read < missing {
            return Err(std::io::Error::from(ErrorKind::UnexpectedEof));
        }
        Ok(body)
    };
    let body = tokio::time::timeout(PATIENCE, rest).await.map_err(late)?.map_err(broken)?;
    let call =
        serde_json::from_slice(&body).map_err(|error| bad(format!("no request: {error}")))?;
    Ok(Some((call, room)))
}

/// Room for a request of so many bytes; none is needed for a small one. Taken whole before anything is read: two that
/// each waited for the other's half would both fail.
async fn take_room(bytes: usize, room: &Semaphore) -> Result<Option<SemaphorePermit<'_>>> {
    if bytes <= SMALL {
        return Ok(None);
    }
    let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
    match tokio::time::timeout(ROOM_WAIT, room.acquire_many(kib)).await {
        Ok(taken) => Ok(taken.ok()),
        Err(_) => Err(Error::new(Code::DaemonBusy).evidence("bytes", bytes)),
    }
}

/// Sends events until the client is gone.
async fn send_events(mut stream: UnixStream, mut events: EventStream) {
    let mut byte = [0];
    loop {
        tokio::select! {
            event = events.next() => {
                let Some(event) = event else { return };
                if write_answer(&mut stream, DaemonResponse::Event(event)).await.is_err() {
                    return;
                }
            }
            // A client that listens says nothing more.
            _ = stream.read(&mut byte) => return,
        }
    }
}

async fn write_answer(stream: &mut UnixStream, mut done: DaemonResponse) -> std::io::Result<()> {
    let file = match &mut done {
        DaemonResponse::Outcome(outcome) => outcome.reply.take_file().unwrap_or_default(),
        _ => Vec::new(),
    };
    let head = wire::frame(&ResponseEnvelope::new(done), &file)?;
    let write = async {
        stream.write_all(&head).await?;
        stream.write_all(&file).await
    };
    tokio::time::timeout(PATIENCE, write)
        .await
        .map_err(|_| std::io::Error::from(ErrorKind::TimedOut))?
}

/// Does some work unless the client goes away meanwhile; then the work is dropped, which cancels it.
async fn unless_gone<T>(stream: &mut UnixStream, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut byte = [0];
    tokio::select! {
        biased;
        done = &mut work => Some(done),
        // A client waits for its answer: whatever comes now is the end, or not our protocol.
        _ = stream.read(&mut byte) => None,
    }
}

/// Whether the whole browser was closed, after which the daemon has nothing left to do.
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

fn say(word: &str) -> Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{word}").and_then(|()| out.flush()).map_err(|error| {
        Error::new(Code::DaemonStartFailed)
            .message(format!("nobody waits for this daemon: {error}"))
    })
}

fn rss_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok())
}
