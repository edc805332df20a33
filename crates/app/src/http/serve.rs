//! Listening, serving a router behind the gate, and stopping.

use super::gate::{Gate, RefusalBody, admit};
use crate::{output, random, signals};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use browser::{Code, Error, Result};
use std::future::IntoFuture;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// The largest request body.
pub(crate) const MAX_BODY: usize = 16 << 20;

/// Time that open requests get when the server stops.
const GOODBYE: Duration = Duration::from_secs(1);

/// Words in a generated token.
const TOKEN_WORDS: usize = 8;

/// Options of a server.
pub(crate) struct ListenOptions<'o> {
    /// The port, or address and port, as the user wrote it.
    pub(crate) at: &'o str,
    /// The address to serve other machines at.
    pub(crate) bind: Option<IpAddr>,
    /// Origins of pages that may call.
    pub(crate) origins: &'o [String],
    /// The environment variable that holds the token; without it, one is generated and printed.
    pub(crate) token_variable: &'o str,
    /// Paths that are read without a token.
    pub(crate) public_paths: &'static [&'static str],
    /// Builds the response of a refused request.
    pub(crate) refusal_body: RefusalBody,
}

/// A server that listens.
pub(crate) struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    gate: Gate,
    /// The generated token, to be printed.
    generated: Option<String>,
}

impl HttpServer {
    /// Binds the address.
    ///
    /// # Errors
    /// `command.invalid` for an address that other machines reach without `--bind` and a token, or that is none;
    /// `daemon.start-failed` when it is taken.
    pub(crate) async fn bind(options: &ListenOptions<'_>) -> Result<Self> {
        let wrong = |message: String| Error::new(Code::CommandInvalid).message(message);
        let at = options.at;
        let port = at.parse::<u16>().map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let mut address = port.or_else(|_| at.parse()).map_err(|_| {
            wrong(format!("`{at}` is not a port: expected for example `8931` or `127.0.0.1:8931`"))
        })?;
        let variable = options.token_variable;
        let token = std::env::var(variable).ok().filter(|token| !token.is_empty());
        match options.bind {
            Some(_) if token.is_none() => {
                return Err(wrong(format!("`--bind` needs a token in {variable}")));
            }
            Some(bind) => address.set_ip(bind),
            None if !address.ip().is_loopback() => {
                return Err(wrong(format!(
                    "`{at}` can be reached by other machines: use `--bind {}`",
                    address.ip()
                )));
            }
            None => {}
        }
        let listener = TcpListener::bind(address).await.map_err(|error| {
            Error::new(Code::DaemonStartFailed)
                .message(format!("{address} cannot be served: {error}"))
        })?;
        let address = listener.local_addr().unwrap_or(address);
        let generate = || (0..TOKEN_WORDS).map(|_| random::word()).collect::<String>();
        let generated = token.is_none().then(generate);
        let token = token.or(generated.clone()).unwrap_or_default();
        let gate = Gate::new(token, address, options);
        Ok(Self { listener, address, gate, generated })
    }

    /// Prints the URL, and the token if it was generated.
    pub(crate) fn announce(&self, what: &str, path: &str, session: &str) {
        output::say(&format!(
            "serving {what} at http://{}{path} (session {session})",
            self.address
        ));
        if let Some(token) = &self.generated {
            output::say(&format!("token: {token}"));
        }
    }

    /// Serves a router behind the gate until a termination signal; calls `stopping` then.
    ///
    /// # Errors
    /// When the listener fails.
    pub(crate) async fn serve(
        self,
        router: Router,
        stopping: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let router = router
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .layer(from_fn_with_state(Arc::new(self.gate), admit));
        let ended = axum::serve(self.listener, router).with_graceful_shutdown(async move {
            signals::termination().await;
            stopping();
        });
        let broken = |error| {
            Error::new(Code::InternalUnhandled).message(format!("the server ended: {error}"))
        };
        tokio::select! {
            ended = ended.into_future() => ended.map_err(broken),
            // Incomplete requests are not waited for.
            () = async { signals::termination().await; tokio::time::sleep(GOODBYE).await } => Ok(()),
        }
    }
}
