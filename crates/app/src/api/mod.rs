//! The HTTP API: any verb as JSON, with the replies and errors of `--json`.
//!
//! It owns no browser: every command goes to the daemon of a session, as on the command line. Token, `Host` and `Origin`
//! are checked before a request comes here, by the gate in `http`.

mod command;
mod fields;
mod openapi;
mod reply;
mod status;
mod web_ai;

pub use status::http_status;

use crate::config::Config;
use crate::http::{HttpServer, ListenOptions};
use crate::session_client::SessionClient;
use crate::{VERSION, idle_memory};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use browser::Result;
use clap::Args;
use serde_json::json;
use std::net::IpAddr;
use std::sync::Arc;

/// Port without arguments.
const DEFAULT_PORT: &str = "8932";

/// Path of the health check, which needs no token.
const HEALTH: &str = "/healthz";

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct Serve {
    /// Port of this machine, or an address of it with a port: `8932` or `127.0.0.1:8932` [default: 8932].
    #[arg(value_name = "ADDRESS", conflicts_with = "port")]
    pub address: Option<String>,
    /// Port of this machine.
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Serve other machines too, at this address. Requires a token in `AGBROWSE_SERVE_TOKEN`.
    #[arg(long, value_name = "IP")]
    pub bind: Option<IpAddr>,
    /// Allow requests from pages of this origin; repeatable. Local origins are always allowed.
    #[arg(long, value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,
}

impl Serve {
    /// Serves until the process receives a termination signal.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn run(&self, config: &Config) -> Result<()> {
        let port = self.port.map(|port| port.to_string());
        let options = ListenOptions {
            at: port.as_deref().or(self.address.as_deref()).unwrap_or(DEFAULT_PORT),
            bind: self.bind,
            origins: &self.allow_origin,
            token_variable: "AGBROWSE_SERVE_TOKEN",
            public_paths: &[HEALTH],
            refusal_body: reply::refusal,
        };
        let client = Arc::new(SessionClient::new(config)?);
        let server = HttpServer::bind(&options).await?;
        server.announce("commands", "/api/command", client.session());
        tokio::spawn(idle_memory::keep());
        server.serve(with_error_replies(router(client)), || {}).await
    }
}

/// The routes. Others can be merged with them.
pub(crate) fn router(client: Arc<SessionClient>) -> Router {
    Router::new()
        .route("/api/command", post(command::run))
        .route("/api/openapi.json", get(openapi::get))
        .route("/api/browser/web-ai/capabilities", get(web_ai::capabilities))
        .route(HEALTH, get(health))
        .with_state(client)
}

/// Replies to unknown paths and wrong methods in the error envelope. To be called after all routes are merged.
fn with_error_replies(router: Router) -> Router {
    router.method_not_allowed_fallback(reply::wrong_method).fallback(reply::no_route)
}

async fn health(State(client): State<Arc<SessionClient>>) -> Response {
    let health = json!({ "ok": true, "version": VERSION, "session": client.session() });
    reply::json(StatusCode::OK, health.to_string())
}
