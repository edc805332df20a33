//! The client's side for those who wait for several things at once. Dropped half-way, the command is dropped too.

use super::wire::{
    self, DaemonRequest, DaemonResponse, HEADER, MAX_ANSWER, RequestEnvelope, ResponseEnvelope,
};
use super::{SessionPaths, client};
use browser::{Code, Error, Outcome, Result};
use std::io::ErrorKind;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// An open line to a daemon.
#[derive(Debug)]
pub struct AsyncClient {
    stream: UnixStream,
}

impl AsyncClient {
    /// Connects to a session's daemon; `None` when none runs.
    pub async fn connect(place: &SessionPaths) -> Option<Self> {
        UnixStream::connect(place.socket()).await.ok().map(|stream| Self { stream })
    }

    /// Connects to a session's daemon, starting it first when none runs.
    ///
    /// # Errors
    /// `daemon.start-failed`, with what the daemon said.
    pub async fn ensure(place: &SessionPaths, idle_timeout: Duration) -> Result<Self> {
        if let Some(line) = Self::connect(place).await {
            return Ok(line);
        }
        let here = place.clone();
        let started = tokio::task::spawn_blocking(move || client::ensure(&here, idle_timeout));
        let lost = |why: String| Error::new(Code::DaemonStartFailed).message(why);
        started.await.map_err(|error| lost(error.to_string()))??;
        Self::connect(place).await.ok_or_else(|| lost("the daemon started and ended again".into()))
    }

    /// Asks for one thing, and gives up on the daemon after `allowed`.
    ///
    /// # Errors
    /// What the daemon answers, or that it did not.
    pub async fn ask(
        &mut self,
        action: &DaemonRequest,
        allowed: Duration,
    ) -> Result<DaemonResponse> {
        let call =
            wire::frame(&RequestEnvelope::new(action)?, &[]).map_err(|error| broken(&error))?;
        let asked = async {
            // A daemon that refuses early stops reading; what it says is still there to be read.
            let sent = self.stream.write_all(&call).await;
            match (self.receive().await, sent) {
                (Ok(answer), _) => Ok(answer),
                (Err(_), Err(error)) | (Err(error), Ok(())) => Err(broken(&error)),
            }
        };
        let (answer, file) = tokio::time::timeout(allowed, asked).await.map_err(|_| {
            Error::new(Code::DaemonUnresponsive)
                .message(format!("the daemon did not answer within {} s", allowed.as_secs()))
        })??;
        answer.done.with_file(file)
    }

    /// Runs a command that may take as long as `allowed`.
    ///
    /// # Errors
    /// As [`AsyncClient::ask`].
    pub async fn run(&mut self, action: &DaemonRequest, allowed: Duration) -> Result<Outcome> {
        self.ask(action, allowed + client::GRACE).await?.outcome()
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
        let answer = serde_json::from_slice(&body)
            .map_err(|error| std::io::Error::new(ErrorKind::InvalidData, error))?;
        Ok((answer, data))
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
