//! The HTTP router of the MCP server.

use super::backend::Backend;
use super::client_session::ClientSession;
use super::http_sessions::HttpSessions;
use crate::http::MAX_BODY;
use axum::Router;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::sync::Arc;

/// Returns the router and a function that ends its streams.
pub(super) fn router(backend: Arc<Backend>) -> (Router, impl FnOnce() + Send + 'static) {
    let mut config = StreamableHttpServerConfig::default();
    config.max_request_body_bytes = MAX_BODY;
    // The gate checks the host.
    config.allowed_hosts = Vec::new();
    let stop = config.cancellation_token.clone();
    // Sessions have the daemon's idle timeout.
    let sessions = HttpSessions::new(backend.max_clients, backend.idle_timeout);
    let service = StreamableHttpService::new(
        move || Ok(ClientSession::new(backend.clone(), true)),
        Arc::new(sessions),
        config,
    );
    (Router::new().route_service("/mcp", service), move || stop.cancel())
}
