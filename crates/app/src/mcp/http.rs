//! The server over HTTP: who may come in, before anything is read.

use super::backend::Backend;
use super::client_session::ClientSession;
use super::http_sessions::HttpSessions;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    AUTHORIZATION, HOST, ORIGIN, VARY, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use browser::{Code, Error, Result};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::future::IntoFuture;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// The largest request that is read.
const MAX_BODY: usize = 16 << 20;

/// How long clients may take to end when the server does.
const GOODBYE: Duration = Duration::from_secs(1);

/// Who may come in.
pub(super) struct Gate {
    token: String,
    /// Names under which the server may be called.
    hosts: Vec<String>,
    /// It is served at all addresses of this machine, so that any of them may be its name.
    is_everywhere: bool,
    /// Pages that may call it.
    origins: Vec<String>,
}

impl Gate {
    pub(super) fn new(token: String, address: SocketAddr, origins: &[String]) -> Self {
        let mut hosts = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()];
        if !address.ip().is_loopback() && !address.ip().is_unspecified() {
            hosts.push(match address {
                SocketAddr::V4(address) => address.ip().to_string(),
                SocketAddr::V6(address) => format!("[{}]", address.ip()),
            });
        }
        let origins = origins.iter().map(|origin| origin.trim_end_matches('/').to_lowercase());
        let origins = origins.collect();
        Self { token, hosts, is_everywhere: address.ip().is_unspecified(), origins }
    }

    /// What speaks against a request, if anything does.
    fn objection(&self, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        self.foreign(headers).or_else(|| self.unknown(headers))
    }

    /// What speaks against where a request comes from and what it calls us.
    fn foreign(&self, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        // A page that gets a name of its own to mean this machine could otherwise talk to us.
        let host = text(HOST).map(without_port).unwrap_or_default();
        let is_address = || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let is_ours = self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
            || self.is_everywhere && is_address();
        if !is_ours {
            return Some((StatusCode::FORBIDDEN, "this is not a name of this server"));
        }
        if let Some(origin) = headers.get(ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            if !self.origins.iter().any(|known| known == origin) && !is_local(origin) {
                return Some((StatusCode::FORBIDDEN, "pages of this origin may not call"));
            }
        }
        None
    }

    /// What speaks against who sends a request.
    fn unknown(&self, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let args = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        match args.and_then(|value| value.split_once(' ')) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                let is_right = same(token.trim().as_bytes(), self.token.as_bytes());
                (!is_right).then_some((StatusCode::FORBIDDEN, "this is not the token"))
            }
            _ => {
                Some((StatusCode::UNAUTHORIZED, "the token is missing: `Authorization: Bearer …`"))
            }
        }
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Whether an origin is a page of this machine's own.
fn is_local(origin: &str) -> bool {
    let Some((scheme, host)) = origin.split_once("://") else { return false };
    matches!(scheme, "http" | "https")
        && matches!(without_port(host), "localhost" | "127.0.0.1" | "[::1]")
}

/// Compares in a time that does not tell how much is right.
fn same(args: &[u8], right: &[u8]) -> bool {
    args.len() == right.len()
        && args.iter().zip(right).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

async fn admit(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(ORIGIN).cloned();
    let is_asking = request.method() == Method::OPTIONS
        && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let objection = match is_asking {
        // A browser asks on its own, without the token, whether a page may call.
        true => gate.foreign(request.headers()),
        false => gate.objection(request.headers()),
    };
    let mut response = match objection {
        Some((status, why)) => (status, why).into_response(),
        None if is_asking => StatusCode::NO_CONTENT.into_response(),
        None => next.run(request).await,
    };
    if objection.is_some_and(|(status, _)| status == StatusCode::UNAUTHORIZED) {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    // A page that may call may read what is said to it.
    let is_foreign = objection.is_some_and(|(status, _)| status == StatusCode::FORBIDDEN);
    if let Some(origin) = origin.filter(|_| !is_foreign) {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(VARY, HeaderValue::from_static("Origin"));
        for (name, value) in [
            (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
            (
                ACCESS_CONTROL_ALLOW_HEADERS,
                "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, \
                 mcp-method, mcp-name",
            ),
            (ACCESS_CONTROL_EXPOSE_HEADERS, "mcp-session-id, www-authenticate"),
            (ACCESS_CONTROL_MAX_AGE, "600"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    response
}

/// Serves until the process is told to stop.
pub(super) async fn serve(desk: Arc<Backend>, listener: TcpListener, gate: Gate) -> Result<()> {
    let mut config = StreamableHttpServerConfig::default();
    config.max_request_body_bytes = MAX_BODY;
    // Seen to at the gate, which knows more.
    config.allowed_hosts = Vec::new();
    let stop = config.cancellation_token.clone();
    let sweeper = desk.clone();
    // A client may think for as long as a daemon waits for somebody.
    let sessions = HttpSessions::new(desk.most_clients, desk.idle_timeout);
    let service = StreamableHttpService::new(
        move || Ok(ClientSession::new(desk.clone(), true)),
        Arc::new(sessions),
        config,
    );
    let app = Router::new()
        .route_service("/mcp", service)
        .layer(from_fn_with_state(Arc::new(gate), admit));
    let ended = axum::serve(listener, app).with_graceful_shutdown(async move {
        super::told_to_stop().await;
        stop.cancel();
    });
    let broken =
        |error| Error::new(Code::InternalUnhandled).message(format!("the server ended: {error}"));
    tokio::select! {
        ended = ended.into_future() => ended.map_err(broken),
        () = sweeper.sweep() => Ok(()),
        // Who has sent half a request is not waited for.
        () = async { super::told_to_stop().await; tokio::time::sleep(GOODBYE).await } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&str, &str)], expected: Option<u16>) {
        let address = "127.0.0.1:8000".parse().unwrap();
        let gate = Gate::new("secret".into(), address, &["https://good.example".into()]);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                value.parse().unwrap(),
            );
        }
        let status = gate.objection(&map).map(|(status, _)| status.as_u16());
        assert_eq!(status, expected, "{headers:?}");
    }

    #[test]
    fn only_who_knows_the_token_comes_in_and_no_foreign_page() {
        let (host, token) = (("host", "localhost:8000"), ("authorization", "Bearer secret"));
        check(&[host, token], None);
        check(&[("host", "127.0.0.1:1"), ("authorization", "bearer  secret")], None);
        check(&[("host", "[::1]:8000"), token], None);
        check(&[host], Some(401));
        check(&[host, ("authorization", "Basic secret")], Some(401));
        check(&[host, ("authorization", "Bearer secre")], Some(403));
        check(&[host, ("authorization", "Bearer Secret")], Some(403));
        check(&[token], Some(403));
        check(&[("host", "evil.example"), token], Some(403));
        check(&[("host", "localhost.evil.example:8000"), token], Some(403));
        check(&[host, token, ("origin", "https://evil.example")], Some(403));
        check(&[host, token, ("origin", "null")], Some(403));
        check(&[host, token, ("origin", "http://localhost.evil.example")], Some(403));
        check(&[host, token, ("origin", "http://localhost:3000")], None);
        check(&[host, token, ("origin", "https://good.example")], None);
        check(&[host, token, ("origin", "https://good.example.evil")], Some(403));
    }
}
