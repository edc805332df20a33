//! The client of a session's daemon: pooled connections, retries, and the start of the daemon.

use super::SessionPaths;
use super::wire::{
    self, DaemonRequest, DaemonResponse, HEADER, MAX_RESPONSE, RequestEnvelope, ResponseEnvelope,
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
const RESPONSE_GRACE: Duration = Duration::from_secs(15);

/// Time that a stopping daemon gets to make way for its successor.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause between two attempts to reach the successor of a stopping daemon.
const RETRY_PAUSE: Duration = Duration::from_millis(2);

/// Idle connections that a client keeps.
const MAX_IDLE: usize = 4;

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
    /// `daemon.start-failed`, with the daemon's error.
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
        if json > MAX_RESPONSE || file > MAX_RESPONSE {
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

    /// True if it can be reused: the daemon neither closed it nor evicted it.
    fn is_reusable(&self) -> bool {
        // Asks the kernel: the readiness state of the runtime may be outdated.
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

    /// Makes the session private to this client: its daemon lives as long as the client.
    pub fn keep_alive(self) -> Self {
        Self { keep_alive: Some(tokio::sync::Mutex::default()), ..self }
    }

    /// The session's name.
    pub fn session(&self) -> &str {
        &self.paths.session
    }

    /// Connects to the daemon if it runs; the connection is pooled for the next command.
    pub async fn is_running(&self) -> bool {
        let connection = match self.idle_connection() {
            Some(connection) => Some(connection),
            None => Connection::open(&self.paths).await,
        };
        let is_running = connection.is_some();
        self.release(connection);
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
        if let Some(held) = &self.keep_alive {
            *held.lock().await = None;
        }
        Ok(())
    }

    /// Runs a command. Retries on the successor if the daemon is stopping (the command was not run), or if it was
    /// killed and the command only reads.
    async fn run_command(&self, request: Request) -> Result<Outcome> {
        let spec = request.command.spec();
        let allowed =
            request.timeout_ms.map_or(self.timeout, Duration::from_millis) + RESPONSE_GRACE;
        let request = DaemonRequest::Run { request, overrides: self.overrides.clone() };
        let begun = Instant::now();
        let mut may_repeat = spec.is_repeatable();
        loop {
            let mut connection = self.connect().await?;
            match connection.ask(&request, allowed).await {
                Err(error)
                    if error.code() == Code::DaemonStopping
                        && begun.elapsed() < HANDOVER_TIMEOUT =>
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
                        self.release(Some(connection));
                    }
                    return Err(error);
                }
                Ok(response) => {
                    self.release(Some(connection));
                    return response.outcome();
                }
            }
        }
    }

    /// Returns an idle connection or a new one; starts the daemon if none runs.
    async fn connect(&self) -> Result<Connection> {
        let idle_connection = self.idle_connection();
        let is_new = idle_connection.is_none();
        let connection = match idle_connection {
            Some(connection) => connection,
            None => Connection::ensure(&self.paths, self.idle_timeout).await?,
        };
        if let Some(held) = &self.keep_alive {
            let mut held = held.lock().await;
            // A daemon started by a cancelled call has no keep-alive connection yet.
            let is_gone = held.as_ref().is_none_or(|held| !held.is_reusable());
            if is_new && is_gone {
                let mut connection = Connection::ensure(&self.paths, self.idle_timeout).await?;
                connection.ask(&DaemonRequest::KeepAlive, self.timeout).await?;
                *held = Some(connection);
            }
        }
        Ok(connection)
    }

    fn idle_connection(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| idle.pop()).find(Connection::is_reusable)
    }

    fn release(&self, connection: Option<Connection>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
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
                connection.ask(&DaemonRequest::Events, RESPONSE_GRACE).await?;
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
fn start(paths: &SessionPaths, idle_timeout: Duration) -> Result<()> {
    let failed = |message: String| {
        Error::new(Code::DaemonStartFailed)
            .message(message)
            .evidence("log", paths.log().display().to_string())
    };
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let is_too_large = std::fs::metadata(paths.log()).is_ok_and(|meta| meta.len() > MAX_LOG);
    let log = std::fs::File::options()
        .create(true)
        .write(true)
        .append(!is_too_large)
        .truncate(is_too_large)
        .open(paths.log())
        .map_err(|error| {
            failed(format!("the log `{}` cannot be written: {error}", paths.log().display()))
        })?;
    close_descriptors_on_exec();
    let mut daemon = Command::new(program)
        .arg0(format!("agbrowse-daemon-{}", paths.session))
        .args(["daemon", "run", "--session", &paths.session])
        .arg(format!("--idle-timeout={}ms", idle_timeout.as_millis()))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|error| failed(format!("the daemon cannot be started: {error}")))?;
    let mut line = String::new();
    let stdout = daemon.stdout.take().ok_or_else(|| failed("the daemon has no output".into()))?;
    BufReader::new(stdout).read_line(&mut line).map_err(|error| failed(error.to_string()))?;
    if line.trim_end() == READY {
        return Ok(());
    }
    match serde_json::from_str::<Error>(&line) {
        Ok(error) => Err(error),
        Err(_) => Err(failed("the daemon ended before it listened".into())),
    }
}

/// Sets close-on-exec on inherited descriptors: a daemon that inherits a shell's lock or a test runner's pipe would hold
/// it until the idle timeout, half an hour by default.
#[allow(unsafe_code, reason = "`/dev/fd` lists open descriptors; only a flag of each is set")]
fn close_descriptors_on_exec() {
    use std::os::fd::BorrowedFd;
    for entry in std::fs::read_dir("/dev/fd").into_iter().flatten() {
        let number = entry.ok().and_then(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        if let Some(number) = number.filter(|number| *number > 2) {
            let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
            // The directory's own descriptor is listed too and closed by now.
            _ = rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC);
        }
    }
}

/// Line that the daemon prints to standard output when it listens.
pub(super) const READY: &str = "ready";
