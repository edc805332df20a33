//! The gate: token, `Host` and `Origin` are checked before a request is read.

use super::serve::ListenOptions;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    AUTHORIZATION, HOST, ORIGIN, VARY, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Admission rules: a token, the names of this server, the origins of pages that may call.
pub(crate) struct Gate {
    token: String,
    /// Host names of the server.
    hosts: Vec<String>,
    /// The server listens on all addresses, so any IP address is accepted as host name.
    is_everywhere: bool,
    /// Origins that may call it.
    origins: Vec<String>,
    /// Paths that are read without a token.
    public_paths: &'static [&'static str],
    refusal_body: RefusalBody,
}

/// Builds the response of a refused request, in the form of the server's other errors.
pub(crate) type RefusalBody = fn(StatusCode, &'static str) -> Response;

impl Gate {
    pub(crate) fn new(token: String, address: SocketAddr, options: &ListenOptions<'_>) -> Self {
        let mut hosts = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()];
        if !address.ip().is_loopback() && !address.ip().is_unspecified() {
            hosts.push(match address {
                SocketAddr::V4(address) => address.ip().to_string(),
                SocketAddr::V6(address) => format!("[{}]", address.ip()),
            });
        }
        let origins = options.origins.iter();
        let origins = origins.map(|origin| origin.trim_end_matches('/').to_lowercase()).collect();
        Self {
            token,
            hosts,
            is_everywhere: address.ip().is_unspecified(),
            origins,
            public_paths: options.public_paths,
            refusal_body: options.refusal_body,
        }
    }

    /// The refusal of a request, if it is refused.
    fn refusal(&self, request: &Request) -> Option<(StatusCode, &'static str)> {
        let headers = request.headers();
        let is_public = matches!(*request.method(), Method::GET | Method::HEAD)
            && self.public_paths.contains(&request.uri().path());
        let refusal = self.refuse_foreign(headers);
        // A preflight request has no token.
        match is_preflight(request) || is_public {
            true => refusal,
            false => refusal.or_else(|| self.refuse_unauthorized(headers)),
        }
    }

    /// The refusal of a foreign host name or origin.
    fn refuse_foreign(&self, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        // Against DNS rebinding.
        let host = text(HOST).map(without_port).unwrap_or_default();
        let is_address = || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        let is_ours = self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
            || self.is_everywhere && is_address();
        if !is_ours {
            return Some((StatusCode::FORBIDDEN, "unknown host name"));
        }
        if let Some(origin) = headers.get(ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            if !self.origins.iter().any(|known| known == origin) && !is_local(origin) {
                return Some((StatusCode::FORBIDDEN, "origin not allowed"));
            }
        }
        None
    }

    /// The refusal of a missing or wrong token.
    fn refuse_unauthorized(&self, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let credentials = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        match credentials.and_then(|value| value.split_once(' ')) {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                let is_right = is_equal(token.trim().as_bytes(), self.token.as_bytes());
                (!is_right).then_some((StatusCode::FORBIDDEN, "wrong token"))
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

/// True for origins on this machine.
fn is_local(origin: &str) -> bool {
    let Some((scheme, host)) = origin.split_once("://") else { return false };
    matches!(scheme, "http" | "https")
        && matches!(without_port(host), "localhost" | "127.0.0.1" | "[::1]")
}

/// Compares in constant time.
fn is_equal(given: &[u8], expected: &[u8]) -> bool {
    given.len() == expected.len()
        && given.iter().zip(expected).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

pub(super) async fn admit(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(ORIGIN).cloned();
    let is_preflight = is_preflight(&request);
    let refusal = gate.refusal(&request);
    let mut response = match refusal {
        Some((status, why)) => (gate.refusal_body)(status, why),
        None if is_preflight => StatusCode::NO_CONTENT.into_response(),
        None => next.run(request).await,
    };
    if refusal.is_some_and(|(status, _)| status == StatusCode::UNAUTHORIZED) {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    // An allowed page may read the response.
    let is_foreign = refusal.is_some_and(|(status, _)| status == StatusCode::FORBIDDEN);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&str, &str)], expected: Option<u16>) {
        check_request("POST", "/call", headers, expected);
    }

    fn check_request(method: &str, path: &str, headers: &[(&str, &str)], expected: Option<u16>) {
        let address = "127.0.0.1:8000".parse().unwrap();
        let options = ListenOptions {
            at: "8000",
            bind: None,
            origins: &["https://good.example".into()],
            token_variable: "",
            public_paths: &["/healthz"],
            refusal_body: |status, why| (status, why).into_response(),
        };
        let gate = Gate::new("secret".into(), address, &options);
        let request = Request::builder().method(method).uri(path);
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.body(axum::body::Body::empty()).unwrap();
        let status = gate.refusal(&request).map(|(status, _)| status.as_u16());
        assert_eq!(status, expected, "{method} {path} {headers:?}");
    }

    #[test]
    fn token_host_and_origin_are_checked() {
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

    #[test]
    fn public_path_is_read_without_token() {
        let (host, foreign) = (("host", "localhost:8000"), ("host", "evil.example"));
        check_request("GET", "/healthz", &[host], None);
        check_request("HEAD", "/healthz", &[host], None);
        check_request("GET", "/healthz", &[foreign], Some(403));
        check_request("GET", "/healthz", &[host, ("origin", "https://evil.example")], Some(403));
        for (method, path) in [
            ("POST", "/healthz"),
            ("GET", "/healthz/"),
            ("GET", "//healthz"),
            ("GET", "/healthz/../call"),
            ("GET", "/call?/healthz"),
        ] {
            check_request(method, path, &[host], Some(401));
        }
    }
}
