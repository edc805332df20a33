//! Transports: a pair of pipes (launched browsers) or a WebSocket (browsers we connect to).

use crate::framing::Splitter;
use crate::{Deadline, Error};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::unix::pipe;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream};

/// An open transport to a browser, not yet in use.
#[derive(Debug)]
pub struct Transport {
    pub(crate) source: Source,
    pub(crate) sink: Sink,
}

impl Transport {
    /// Wraps the client's ends of the two pipes: the one Chromium writes to, and the one it reads from.
    ///
    /// # Errors
    /// When a descriptor is not a pipe, or cannot be registered with the runtime.
    pub fn pipe(from_browser: OwnedFd, to_browser: OwnedFd) -> io::Result<Self> {
        // A larger pipe means fewer wake-ups for a large reply. Refused where the system's limit is lower.
        #[cfg(target_os = "linux")]
        {
            _ = rustix::pipe::fcntl_setpipe_size(&from_browser, 1 << 20);
        }
        Ok(Self {
            source: Source::Pipe {
                pipe: pipe::Receiver::from_owned_fd(from_browser)?,
                splitter: Splitter::default(),
            },
            sink: Sink::Pipe(pipe::Sender::from_owned_fd(to_browser)?),
        })
    }

    /// Opens a WebSocket to `ws://…` or `wss://…`.
    ///
    /// # Errors
    /// [`Error::Connect`] when the peer cannot be reached, is no WebSocket, or does not answer in time.
    pub async fn websocket(url: &str, deadline: Deadline) -> Result<Self, Error> {
        let failed = |message: String| Error::Connect { address: url.to_owned(), message };
        // tungstenite's default limit is smaller than one large accessibility tree.
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let connect = tokio_tungstenite::connect_async_tls_with_config(
            url,
            Some(config),
            true,
            url.starts_with("wss:").then(tls),
        );
        let (socket, _) = tokio::time::timeout_at(deadline.at(), connect)
            .await
            .map_err(|_| failed(format!("no answer within {} ms", deadline.total().as_millis())))?
            .map_err(|error| failed(error.to_string()))?;
        let (sink, source) = socket.split();
        Ok(Self { source: Source::Socket(source), sink: Sink::Socket(sink) })
    }
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per connection")]
pub(crate) enum Source {
    Pipe { pipe: pipe::Receiver, splitter: Splitter },
    Socket(SplitStream<Socket>),
}

impl Source {
    /// Returns the next message; `None` when the peer has closed the connection.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        match self {
            Self::Pipe { pipe, splitter } => loop {
                if let Some(message) = splitter.next_message().map_err(io::Error::other)? {
                    return Ok(Some(message));
                }
                if pipe.read_buf(splitter.buffer()).await? == 0 {
                    return Ok(None);
                }
            },
            Self::Socket(socket) => loop {
                match socket.next().await {
                    None | Some(Ok(Message::Close(_))) => return Ok(None),
                    Some(Ok(Message::Text(text))) => return Ok(Some(text.into())),
                    Some(Ok(Message::Binary(bytes))) => return Ok(Some(bytes)),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(io::Error::other(error)),
                }
            },
        }
    }
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per connection")]
pub(crate) enum Sink {
    Pipe(pipe::Sender),
    Socket(SplitSink<Socket, Message>),
}

impl Sink {
    /// Sends one message, given without its terminator.
    pub(crate) async fn send(&mut self, mut message: Vec<u8>) -> io::Result<()> {
        match self {
            Self::Pipe(pipe) => {
                message.push(0);
                pipe.write_all(&message).await
            }
            Self::Socket(socket) => {
                let text = Utf8Bytes::try_from(message).map_err(io::Error::other)?;
                socket.send(Message::Text(text)).await.map_err(io::Error::other)
            }
        }
    }
}

fn tls() -> Connector {
    let roots = rustls::RootCertStore { roots: webpki_roots() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports the default protocol versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Connector::Rustls(Arc::new(config))
}

fn webpki_roots() -> Vec<rustls::pki_types::TrustAnchor<'static>> {
    webpki_roots::TLS_SERVER_ROOTS.to_vec()
}
