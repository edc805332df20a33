//! A program that is spoken to in lines of JSON: one goes out, one with the same number comes back.
//!
//! What the lines say is the caller's business.

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

/// No answer takes longer.
pub const LIMIT: Duration = Duration::from_secs(60);

/// How long a program and what it started may take to end once its input has.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

/// A program at the other end of a pipe or a socket. One that was started here ends with this value, and so does
/// all that it started.
pub struct Peer {
    name: String,
    input: Option<Box<dyn Write>>,
    lines: Receiver<(Instant, String)>,
    last: u64,
    end: End,
}

/// What is at the other end.
enum End {
    Started { child: Child, folder: TempDir },
    Connected(UnixStream),
}

/// An answer and how long it took, from before the question was written until its line was read.
#[derive(Debug)]
pub struct Answer<A> {
    /// What was said.
    pub body: A,
    /// How long it took, in milliseconds.
    pub ms: f64,
}

impl Peer {
    /// Starts a program that listens on its standard input. Whatever it starts must name its folder, or be its
    /// descendant, to be found at the end.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(name: &str, command: &mut Command, folder: TempDir) -> Result<Self> {
        let complaints = std::fs::File::create(folder.path().join("stderr"))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::from(complaints));
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

    /// Connects to a program that runs already.
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

    /// Its process, if it was started here.
    pub fn pid(&self) -> Option<u32> {
        match &self.end {
            End::Started { child, .. } => Some(child.id()),
            End::Connected(_) => None,
        }
    }

    /// Says something that is not answered.
    ///
    /// # Errors
    /// When nobody listens any more.
    pub fn tell(&mut self, message: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_string(message)
            .map_err(|error| Error::Failed(format!("a message cannot be written: {error}")))?;
        line.push('\n');
        self.write(&line)
    }

    /// Asks something and waits for the answer.
    ///
    /// # Errors
    /// When there is none in time, or one that cannot be read.
    pub fn ask<A: DeserializeOwned>(&mut self, question: &impl Serialize) -> Result<Answer<A>> {
        self.last += 1;
        // As text: not everybody gives a plain number back.
        let id = self.last.to_string();
        let mut line = serde_json::to_string(&Numbered { id: &id, question })
            .map_err(|error| Error::Failed(format!("a question cannot be written: {error}")))?;
        line.push('\n');
        let began = Instant::now();
        self.write(&line)?;
        loop {
            let left = LIMIT.saturating_sub(began.elapsed());
            let (came, line) = self.lines.recv_timeout(left).map_err(|error| self.why(&error))?;
            // Lines without a number are news, not answers.
            let is_it =
                serde_json::from_str(&line).is_ok_and(|line: Line| line.id.as_ref() == Some(&id));
            if is_it {
                let body = serde_json::from_str(&line).map_err(|error| {
                    Error::Failed(format!("an answer of {} cannot be read: {error}", self.name))
                })?;
                return Ok(Answer { body, ms: (came - began).as_secs_f64() * 1000.0 });
            }
        }
    }

    fn write(&mut self, line: &str) -> Result<()> {
        let input = self.input.as_mut().expect("it is taken only when this value ends");
        let written = input.write_all(line.as_bytes()).and_then(|()| input.flush());
        written.map_err(|_| self.why(&mpsc::RecvTimeoutError::Disconnected))
    }

    fn why(&self, error: &mpsc::RecvTimeoutError) -> Error {
        if *error == mpsc::RecvTimeoutError::Timeout {
            return Error::Failed(format!("{} took longer than {LIMIT:?}", self.name));
        }
        let complaints = match &self.end {
            End::Started { folder, .. } => std::fs::read(folder.path().join("stderr")).ok(),
            End::Connected(_) => None,
        };
        let complaints = String::from_utf8_lossy(complaints.as_deref().unwrap_or_default());
        let last: Vec<String> = complaints
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
            // The thread that reads has the socket as well, and ends only with it.
            End::Connected(stream) => {
                _ = stream.shutdown(Shutdown::Both);
                return;
            }
            End::Started { child, folder } => (child, folder),
        };
        let family = process::family(folder.path(), &[child.id()]);
        // That is how it is asked to end.
        self.input = None;
        process::end(process::wait_gone(family, PATIENCE));
        // Those that were started meanwhile and lost their parent still name the folder.
        process::end(process::family(folder.path(), &[]));
        // It has ended; this only takes note of it.
        _ = child.wait();
    }
}

/// Reads lines as they come and notes when each did.
fn read_lines(from: impl Read + Send + 'static) -> Receiver<(Instant, String)> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(from).lines() {
            let Ok(line) = line else { return };
            if tell.send((Instant::now(), line)).is_err() {
                return;
            }
        }
    });
    told
}

#[derive(Serialize)]
struct Numbered<'a, Q> {
    id: &'a str,
    #[serde(flatten)]
    question: &'a Q,
}

/// What is read of every line: the number that it answers.
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
    fn answers_are_told_from_news_by_their_number() {
        let mut peer = shell(
            r#"while read -r line; do
                echo '{"news":1}'; echo '{"id":"99"}'; n=$((n+1)); echo "{\"id\":\"$n\",\"said\":\"$n\"}"
            done"#,
        );
        for expected in ["1", "2"] {
            let answer: Answer<ChildReply> = peer.ask(&ChildRequest { say: "hello" }).unwrap();
            assert_eq!(answer.body.said.as_deref(), Some(expected));
            assert!(answer.ms > 0.0);
        }
    }

    #[test]
    fn the_last_words_of_a_program_that_ended_are_told() {
        let mut peer = shell("echo no such thing >&2; exit 1");
        let error = peer.ask::<ChildReply>(&ChildRequest { say: "hello" }).unwrap_err();
        assert!(error.to_string().contains("no such thing"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_outlives_its_peer() {
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
        assert!(process::wait_gone(family, Duration::ZERO).is_empty());
    }
}
