//! The client of a session's daemon: pooled connections, retries, and the start of the daemon.

use super::SessionPaths;
use super::wire::{
    self, DaemonRequest, DaemonResponse, HEADER, MAX_ANSWER, RequestEnvelope, ResponseEnvelope,
};
use browser::launch::LaunchOverrides;
use browser::{Capabilities, Code, Driver, Error, EventStream, Outcome, Request, Result};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

/// Time that a daemon gets beyond a command's own before it counts as stuck.
const GRACE: Duration = Duration::from_secs(15);

/// Time that a stopping daemon gets to make way for its successor.
const HANDOVER: Duration = Duration::from_secs(10);

/// Pause between two attempts to reach the successor of a stopping daemon.
const RETRY_PAUSE: Duration = Duration::from_millis(2);

/// Idle connections that a client keeps.
const MOST_IDLE: usize = 4;

/// Events of a daemon that a subscriber may be behind.
const EVENT_QUEUE: usize = 1024;

/// Largest log; a larger one is truncated at the next start.
const MAX_LOG: u64 = 4 << 20;

/// A connection to a daemon. Dropped while a request is under way, it cancels the request.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
}

impl Connection {
    /// Connects to a session's daemon; `None` when none runs.
    pub async fn open(paths: &SessionPaths) -> Option<Self> {
        UnixStream::connect(paths.socket()).await.ok().map(|stream| Self { stream })
    }

    /// Connects to a session's daemon, starting it first when none runs.
    ///
    /// # Errors
    /// `daemon.start-failed`, with what the daemon said.
    pub async fn ensure(paths: &SessionPaths, idle_timeout: Duration) -> Result<Self> {
        if let Some(connection) = Self::open(paths).await {
            return Ok(connection);
        }
        let here = paths.clone();
        let failed = |message: String| Error::new(Code::DaemonStartFailed).message(message);
        let started = tokio::task::spawn_blocking(move || start(&here, idle_timeout)).await;
        started.map_err(|error| failed(error.to_string()))??;
        Self::open(paths).await.ok_or_else(|| failed("the daemon started and ended again".into()))
    }

    /// The process at the other end, where the system reports it.
    pub fn peer(&self) -> Option<rustix::process::Pid> {
        #[cfg(target_os = "linux")]
        return rustix::net::sockopt::socket_peercred(&self.stream).ok().map(|peer| peer.pid);
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// Sends a request and receives its response, within `allowed`.
    ///
    /// # Errors
    /// The error that the daemon responds with; `daemon.unresponsive`, `daemon.lost` or `daemon.bad-frame`.
    pub async fn ask(
        &mut self,
        request: &DaemonRequest,
        allowed: Duration,
    ) -> Result<DaemonResponse> {
        let call = RequestEnvelope::new(request)?;
        let frame = wire::frame(&call, &[]).map_err(|error| broken(&error))?;
        let exchange = async {
            // A daemon that refuses early stops reading; its response can be read all the same.
            let sent = self.stream.write_all(&frame).await;
            match (self.receive().await, sent) {
                (Ok(response), _) => Ok(response),
                (Err(_), Err(error)) | (Err(error), Ok(())) => Err(broken(&error)),
            }
        };
        let (response, file) = tokio::time::timeout(allowed, exchange).await.map_err(|_| {
            Error::new(Code::DaemonUnresponsive)
                .message(format!("the daemon did not answer within {} s", allowed.as_secs()))
        })??;
        response.done.with_file(file)
    }

    async fn receive(&mut self) -> std::io::Result<(ResponseEnvelope, Vec<u8>)> {
        let mut header = [0; HEADER];
        self.stream.read_exact(&mut header).await?;
        let (json, file) = wire::lengths(&header);
        if json > MAX_ANSWER || file > MAX_ANSWER {
            return Err(std::io::Error::new(ErrorKind::InvalidData, "it is too large"));
        }
        let mut body = vec![0; json];
        self.stream.read_exact(&mut body).await?;
        let mut data = vec![0; file];
        self.stream.read_exact(&mut data).await?;
        let response = serde_json::from_slice(&body)
            .map_err(|error| std::io::Error::new(ErrorKind::InvalidData, error))?;
        Ok((response, data))
    }

    /// Whether it can be used again: the daemon neither closed it nor sent word that it has to make room.
    fn is_reusable(&self) -> bool {
        // Asked of the system: what the runtime knows may be a moment old.
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let peeked = rustix::net::recv(&self.stream, &mut [0_u8; 1], flags);
        matches!(peeked, Err(Errno::AGAIN))
    }
}

fn broken(error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::InvalidData => Error::new(Code::DaemonBadFrame)
            .message(format!("the daemon's answer cannot be read: {error}")),
        _ => {
            Error::new(Code::DaemonLost).message("the daemon ended while it worked on the command")
        }
    }
}

/// The client of a session's daemon: a [`Driver`] whose browser is in another process.
#[derive(Debug)]
pub struct DaemonClient {
    paths: SessionPaths,
    overrides: LaunchOverrides,
    /// Time limit of commands that do not say.
    timeout: Duration,
    idle_timeout: Duration,
    idle: Mutex<Vec<Connection>>,
    /// The connection that the daemon stays alive for, if it does.
    keep_alive: Option<tokio::sync::Mutex<Option<Connection>>>,
}

impl DaemonClient {
    /// A client that starts its daemon when a command first needs it.
    pub fn new(
        paths: SessionPaths,
        overrides: LaunchOverrides,
        timeout: Duration,
        idle_timeout: Duration,
    ) -> Self {
        let idle = Mutex::default();
        Self { paths, overrides, timeout, idle_timeout, idle, keep_alive: None }
    }

    /// Makes the session the client's own: its daemon stays for as long as the client does, and ends with it.
    pub fn keep_alive(self) -> Self {
        Self { keep_alive: Some(tokio::sync::Mutex::default()), ..self }
    }

    /// The session's name.
    pub fn session(&self) -> &str {
        &self.paths.session
    }

    /// Connects to the daemon if it runs; the connection is kept for the next command.
    pub async fn is_running(&self) -> bool {
        let connection = Connection::open(&self.paths).await;
        let is_running = connection.is_some();
        self.give_back(connection);
        is_running
    }

    /// Stops the daemon if it runs.
    ///
    /// # Errors
    /// When it does not answer within `allowed`.
    pub async fn stop(&self, allowed: Duration) -> Result<()> {
        if let Some(mut connection) = Connection::open(&self.paths).await {
            connection.ask(&DaemonRequest::Stop, allowed).await?;
        }
        if let Some(kept) = &self.keep_alive {
            *kept.lock().await = None;
        }
        Ok(())
    }

    /// Runs a command. A daemon that is stopping has done nothing: its successor is asked. So it is when a daemon was
    /// killed and the command only reads.
    async fn run_command(&self, request: Request) -> Result<Outcome> {
        let spec = request.command.spec();
        let allowed = request.timeout_ms.map_or(self.timeout, Duration::from_millis) + GRACE;
        let request = DaemonRequest::Run { request, overrides: self.overrides.clone() };
        let begun = Instant::now();
        let mut may_repeat = spec.is_repeatable();
        loop {
            let mut connection = self.connect().await?;
            match connection.ask(&request, allowed).await {
                Err(error)
                    if error.code() == Code::DaemonStopping && begun.elapsed() < HANDOVER =>
                {
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                // A killed daemon's socket takes connections until the system has cleaned up after it.
                Err(error)
                    if error.code() == Code::DaemonLost && std::mem::take(&mut may_repeat) => {}
                Err(error) => {
                    // A refused command leaves the connection usable.
                    if !matches!(
                        error.code(),
                        Code::DaemonLost | Code::DaemonUnresponsive | Code::DaemonBadFrame
                    ) {
                        self.give_back(Some(connection));
                    }
                    return Err(error);
                }
                Ok(response) => {
                    self.give_back(Some(connection));
                    return response.outcome();
                }
            }
        }
    }

    /// An idle connection, or a new one; the daemon is started when none runs.
    async fn connect(&self) -> Result<Connection> {
        let pooled = self.pooled();
        let is_new = pooled.is_none();
        let connection = match pooled {
            Some(connection) => connection,
            None => Connection::ensure(&self.paths, self.idle_timeout).await?,
        };
        if let Some(kept) = &self.keep_alive {
            let mut kept = kept.lock().await;
            // A daemon that was started by a cancelled call has nobody to stay for yet.
            let is_gone = kept.as_ref().is_none_or(|kept| !kept.is_reusable());
            if is_new && is_gone {
                let mut connection = Connection::ensure(&self.paths, self.idle_timeout).await?;
                connection.ask(&DaemonRequest::KeepAlive, self.timeout).await?;
                *kept = Some(connection);
            }
        }
        Ok(connection)
    }

    fn pooled(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| idle.pop()).find(Connection::is_reusable)
    }

    fn give_back(&self, connection: Option<Connection>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.extend(connection);
        }
    }
}

impl Driver for DaemonClient {
    fn run(&self, request: Request) -> impl Future<Output = Result<Outcome>> + Send {
        self.run_command(request)
    }

    fn supports(&self) -> Capabilities {
        Capabilities::remote()
    }

    fn events(&self) -> EventStream {
        let (sender, receiver) = mpsc::channel(EVENT_QUEUE);
        let (paths, idle_timeout) = (self.paths.clone(), self.idle_timeout);
        tokio::spawn(async move {
            let listened = async {
                let mut connection = Connection::ensure(&paths, idle_timeout).await?;
                connection.ask(&DaemonRequest::Events, GRACE).await?;
                loop {
                    let received = connection.receive().await.map_err(|error| broken(&error))?;
                    let DaemonResponse::Event(event) = received.0.done else { return Ok(()) };
                    if sender.send(event).await.is_err() {
                        return Ok::<_, Error>(());
                    }
                }
            };
            tokio::select! {
                ended = listened => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "no more events of the daemon");
                    }
                }
                () = sender.closed() => {}
            }
        });
        EventStream::from_channel(receiver)
    }
}

/// Starts the daemon and waits until it listens.
fn start(place: &SessionPaths, idle_timeout: Duration) -> Result<()> {
    let failed = |message: String| {
        Error::new(Code::DaemonStartFailed)
            .message(message)
            .evidence("log", place.log().display().to_string())
    };
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let grown = std::fs::metadata(place.log()).is_ok_and(|meta| meta.len() > MAX_LOG);
    let log = std::fs::File::options()
        .create(true)
        .write(true)
        .append(!grown)
        .truncate(grown)
        .open(place.log())
        .map_err(|error| {
            failed(format!("the log `{}` cannot be written: {error}", place.log().display()))
        })?;
    keep_descriptors();
    let mut daemon = Command::new(program)
        .arg0(format!("agbrowse-daemon-{}", place.session))
        .args(["daemon", "run", "--session", &place.session])
        .arg(format!("--idle-timeout={}ms", idle_timeout.as_millis()))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|error| failed(format!("the daemon cannot be started: {error}")))?;
    let mut word = String::new();
    let stdout = daemon.stdout.take().ok_or_else(|| failed("the daemon has no output".into()))?;
    BufReader::new(stdout).read_line(&mut word).map_err(|error| failed(error.to_string()))?;
    if word.trim_end() == READY {
        return Ok(());
    }
    match serde_json::from_str::<Error>(&word) {
        Ok(error) => Err(error),
        Err(_) => Err(failed("the daemon ended before it listened".into())),
    }
}

/// Keeps to this process what it was handed by its own parent: a daemon that held a shell's lock or the end
/// of a test runner's pipe would hold them for half an hour.
#[allow(
    unsafe_code,
    reason = "the descriptors are open, as their folder says; only a flag of each is set"
)]
fn keep_descriptors() {
    use std::os::fd::BorrowedFd;
    for entry in std::fs::read_dir("/dev/fd").into_iter().flatten() {
        let number = entry.ok().and_then(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        if let Some(number) = number.filter(|number| *number > 2) {
            let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
            // The folder's own descriptor is among them and gone by now.
            _ = rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC);
        }
    }
}

/// What the daemon says on its standard output when it listens.
pub(super) const READY: &str = "ready";
