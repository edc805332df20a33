//! Child programs with a JSON-lines protocol: one request line out, one reply line with the same id back.
//!
//! The content of the lines is defined by the caller.

use crate::process;
use crate::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Time limit of a reply.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Time limit for a program and its children to exit after its input was closed.
const EXIT_TIME: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

/// A program at the other end of a pipe or a socket. One that was started here ends when this value is
/// dropped, with all its children.
pub struct Peer {
    name: String,
    input: Option<Box<dyn Write>>,
    lines: Receiver<(Instant, String)>,
    last: u64,
    end: End,
}

/// The connection to the program.
enum End {
    Started { child: Child, folder: TempDir },
    Connected(UnixStream),
}

/// A reply with its time, from before the request was written until its line was read.
#[derive(Debug)]
pub struct TimedReply<A> {
    /// The reply.
    pub body: A,
    /// Time in milliseconds.
    pub ms: f64,
}

impl Peer {
    /// Starts a program that reads from its standard input. Its children must name its folder in their
    /// command line, or be its descendants, to be found at the end.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(name: &str, command: &mut Command, folder: TempDir) -> Result<Self> {
        let stderr = std::fs::File::create(folder.path().join("stderr"))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::from(stderr));
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().display();
            Error::Failed(format!("`{program}` cannot be started for {name}: {error}"))
        })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::Failed(format!("{name} has no pipes")));
        };
        Ok(Self {
            name: name.to_owned(),
            input: Some(Box::new(input)),
            lines: read_lines(output),
            last: 0,
            end: End::Started { child, folder },
        })
    }

    /// Connects to a running program.
    ///
    /// # Errors
    /// When it does not listen.
    pub fn connect(name: &str, socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket)
            .map_err(|error| Error::Failed(format!("{name} does not listen: {error}")))?;
        let lines = read_lines(stream.try_clone()?);
        Ok(Self {
            name: name.to_owned(),
            input: Some(Box::new(stream.try_clone()?)),
            lines,
            last: 0,
            end: End::Connected(stream),
        })
    }

    /// Process id, if it was started here.
    pub fn pid(&self) -> Option<u32> {
        match &self.end {
            End::Started { child, .. } => Some(child.id()),
            End::Connected(_) => None,
        }
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// When the program no longer reads.
    pub fn notify(&mut self, message: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_string(message).map_err(|error| {
            Error::Failed(format!("a notification cannot be serialized: {error}"))
        })?;
        line.push('\n');
        self.write(&line)
    }

    /// Sends a request and waits for the reply.
    ///
    /// # Errors
    /// When there is no reply in time, or an unreadable one.
    pub fn request<A: DeserializeOwned>(
        &mut self,
        request: &impl Serialize,
    ) -> Result<TimedReply<A>> {
        self.last += 1;
        // A string: not every program returns a number unchanged.
        let id = self.last.to_string();
        let mut line = serde_json::to_string(&Numbered { id: &id, request })
            .map_err(|error| Error::Failed(format!("a request cannot be serialized: {error}")))?;
        line.push('\n');
        let began = Instant::now();
        self.write(&line)?;
        loop {
            let left = LIMIT.saturating_sub(began.elapsed());
            let (received_at, line) =
                self.lines.recv_timeout(left).map_err(|error| self.failure(&error))?;
            // Lines without an id are notifications.
            let is_reply =
                serde_json::from_str(&line).is_ok_and(|line: Line| line.id.as_ref() == Some(&id));
            if is_reply {
                let body = serde_json::from_str(&line).map_err(|error| {
                    Error::Failed(format!("a reply of {} cannot be parsed: {error}", self.name))
                })?;
                return Ok(TimedReply { body, ms: (received_at - began).as_secs_f64() * 1000.0 });
            }
        }
    }

    fn write(&mut self, line: &str) -> Result<()> {
        let input = self.input.as_mut().expect("it is taken only when this value ends");
        let written = input.write_all(line.as_bytes()).and_then(|()| input.flush());
        written.map_err(|_| self.failure(&mpsc::RecvTimeoutError::Disconnected))
    }

    fn failure(&self, error: &mpsc::RecvTimeoutError) -> Error {
        if *error == mpsc::RecvTimeoutError::Timeout {
            return Error::Failed(format!("{} took longer than {LIMIT:?}", self.name));
        }
        let stderr = match &self.end {
            End::Started { folder, .. } => std::fs::read(folder.path().join("stderr")).ok(),
            End::Connected(_) => None,
        };
        let stderr = String::from_utf8_lossy(stderr.as_deref().unwrap_or_default());
        let last: Vec<String> = stderr
            .lines()
            .rev()
            .filter(|line| !line.trim().is_empty())
            .take(3)
            .map(|line| line.chars().take(200).collect())
            .collect();
        let last: Vec<&str> = last.iter().rev().map(String::as_str).collect();
        Error::Failed(format!("{} has ended: {}", self.name, last.join(" / ")))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let (child, folder) = match &mut self.end {
            // The reader thread holds the socket, too, and ends only with it.
            End::Connected(stream) => {
                _ = stream.shutdown(Shutdown::Both);
                return;
            }
            End::Started { child, folder } => (child, folder),
        };
        let family = process::family(folder.path(), &[child.id()]);
        // Closing its input asks it to exit.
        self.input = None;
        process::terminate(process::wait_ended(family, EXIT_TIME));
        // Children started meanwhile that lost their parent still name the folder.
        process::terminate(process::family(folder.path(), &[]));
        // It has exited; this only reaps it.
        _ = child.wait();
    }
}

/// Reads lines and records the time of each.
fn read_lines(from: impl Read + Send + 'static) -> Receiver<(Instant, String)> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(from).lines() {
            let Ok(line) = line else { return };
            if sender.send((Instant::now(), line)).is_err() {
                return;
            }
        }
    });
    receiver
}

#[derive(Serialize)]
struct Numbered<'a, Q> {
    id: &'a str,
    #[serde(flatten)]
    request: &'a Q,
}

/// The part of a line that is always read: its id.
#[derive(Deserialize)]
struct Line {
    id: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct ChildRequest {
        say: &'static str,
    }

    #[derive(Debug, Deserialize)]
    struct ChildReply {
        said: Option<String>,
    }

    fn shell(script: &str) -> Peer {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script, folder.path().to_str().unwrap()]);
        Peer::start("shell", &mut command, folder).unwrap()
    }

    #[test]
    fn replies_are_matched_by_id() {
        let mut peer = shell(
            r#"while read -r line; do
                echo '{"news":1}'; echo '{"id":"99"}'; n=$((n+1)); echo "{\"id\":\"$n\",\"said\":\"$n\"}"
            done"#,
        );
        for expected in ["1", "2"] {
            let answer: TimedReply<ChildReply> =
                peer.request(&ChildRequest { say: "hello" }).unwrap();
            assert_eq!(answer.body.said.as_deref(), Some(expected));
            assert!(answer.ms > 0.0);
        }
    }

    #[test]
    fn error_has_the_last_stderr_lines_of_an_ended_program() {
        let mut peer = shell("echo no such thing >&2; exit 1");
        let error = peer.request::<ChildReply>(&ChildRequest { say: "hello" }).unwrap_err();
        assert!(error.to_string().contains("no such thing"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn all_child_processes_end_with_the_peer() {
        let peer = shell("sleep 60 & read -r line");
        let End::Started { child, folder } = &peer.end else { panic!("it was started") };
        let (pid, folder) = (child.id(), folder.path().to_owned());
        let began = Instant::now();
        let family = loop {
            let family = process::family(&folder, &[pid]);
            if family.len() == 2 || began.elapsed() > Duration::from_secs(10) {
                break family;
            }
            thread::yield_now();
        };
        assert_eq!(family.len(), 2);
        drop(peer);
        assert!(process::wait_ended(family, Duration::ZERO).is_empty());
    }
}
