//! Session lookup of a request, and redirects to the sign-in form and back.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::FromRequestParts;
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderName, Method};
use axum::response::Redirect;

use super::state::{Session, Shop};

pub(super) const SUBSCRIPTION: &str = "/account/subscription";
const SESSION_COOKIE: &str = "fernway";

/// Shared state of all handlers.
#[derive(Clone)]
pub(super) struct Shared {
    shop: Arc<Mutex<Shop>>,
    pub(super) frame_origin: Arc<str>,
}

impl Shared {
    pub(super) fn new(frame_origin: &str) -> Shared {
        Shared { shop: Arc::default(), frame_origin: frame_origin.into() }
    }

    /// Ignores poisoning: a handler that panicked breaks no invariant.
    pub(super) fn shop(&self) -> MutexGuard<'_, Shop> {
        self.shop.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The visitor of a request, with or without a session.
pub(super) struct Visitor {
    id: Option<String>,
    pub(super) session: Session,
}

impl Visitor {
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

impl FromRequestParts<Shared> for Visitor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Infallible> {
        let header = parts.headers.get(COOKIE).and_then(|value| value.to_str().ok());
        let id = header.and_then(|header| cookie(header, SESSION_COOKIE)).map(str::to_string);
        let session = shared.shop().session(id.as_deref());
        Ok(Visitor { id, session })
    }
}

/// A signed-in visitor; others are redirected to the sign-in form.
pub(super) struct Member {
    pub(super) session: Session,
    pub(super) email: String,
}

impl FromRequestParts<Shared> for Member {
    type Rejection = Redirect;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Redirect> {
        let Ok(Visitor { session, .. }) = Visitor::from_request_parts(parts, shared).await;
        // Sign-in ends with a GET, so it can lead back only to a page.
        let next = if parts.method == Method::GET { parts.uri.path() } else { SUBSCRIPTION };
        match session.email.clone() {
            Some(email) => Ok(Member { session, email }),
            None => Err(Redirect::to(&format!("/login?next={}", query_value(next)))),
        }
    }
}

/// The `Set-Cookie` header of a session.
pub(super) fn keep_session(id: &str) -> [(HeaderName, String); 1] {
    [(SET_COOKIE, format!("{SESSION_COOKIE}={id}; Path=/; HttpOnly; SameSite=Lax"))]
}

pub(super) fn forget_session() -> [(HeaderName, String); 1] {
    [(SET_COOKIE, format!("{SESSION_COOKIE}=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"))]
}

/// Redirect target after sign-in: a path of this shop, never another site.
pub(super) fn local_path(next: &str) -> &str {
    let is_local = next.starts_with('/') && !next.starts_with("//");
    let is_safe = next.chars().all(|c| c.is_ascii_graphic() && c != '\\');
    if is_local && is_safe { next } else { "/" }
}

/// Percent-encodes a value for a query string.
pub(super) fn query_value(value: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    value.bytes().map(encode).collect()
}

fn cookie<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = header.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_found_by_name() {
        let check = |header: &str, expected: Option<&str>| {
            assert_eq!(cookie(header, SESSION_COOKIE), expected, "{header}");
        };
        check("fernway=s1", Some("s1"));
        check("theme=dark; fernway=s2; x=y", Some("s2"));
        check("notfernway=s3", None);
        check("fernway", None);
        check("", None);
    }

    #[test]
    fn sign_in_redirects_only_to_local_paths() {
        let check = |next: &str, expected: &str| assert_eq!(local_path(next), expected);
        check("/account/subscription", "/account/subscription");
        check("", "/");
        check("//elsewhere.example", "/");
        check("/\\elsewhere.example", "/");
        check("https://elsewhere.example", "/");
        check("/a\r\nSet-Cookie: x", "/");
    }

    #[test]
    fn query_values_are_encoded() {
        let check = |value: &str, expected: &str| assert_eq!(query_value(value), expected);
        check("/account/subscription", "/account/subscription");
        check("a&b=c d", "a%26b%3Dc%20d");
        check("é+\"", "%C3%A9%2B%22");
    }
}
