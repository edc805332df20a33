//! Saved storage state: cookies and local storage of a context, in Playwright's `storageState` format.
//!
//! Values are session secrets. They are in the file and in the browser, and in no message, log or reply.

use crate::error::{Code, Error, Result};
use crate::secret::SecretString;
use cdp::LossyString;
use cdp::protocol::storage::{Cookie, PartitionKey};
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use std::path::Path;

/// The largest file that is read, in bytes. As a request it still fits through the daemon's socket.
pub(crate) const MAX_BYTES: u64 = 32_000_000;

/// Cookies and local storage of a context. Fields of other programs' files that are not listed here are ignored.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
pub struct StorageState {
    /// The cookies.
    pub cookies: Vec<SavedCookie>,
    /// Local storage by origin.
    pub origins: Vec<SavedOrigin>,
}

/// A cookie.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
pub struct SavedCookie {
    /// The name.
    pub name: String,
    /// The value.
    pub value: SecretString,
    /// The domain; with a leading dot, subdomains too.
    pub domain: String,
    /// The path.
    pub path: String,
    /// The expiry, in seconds since 1970; -1 for a session cookie.
    #[serde(default = "session")]
    pub expires: f64,
    /// Not accessible to scripts.
    #[serde(default)]
    pub http_only: bool,
    /// Sent over https only.
    #[serde(default)]
    pub secure: bool,
    /// The `SameSite` attribute.
    #[serde(default)]
    pub same_site: SameSite,
    /// The partition's top-level site.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub partition_key: Option<String>,
    /// True if there is a cross-site frame between that site and the cookie's.
    #[serde(rename = "_crHasCrossSiteAncestor")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub has_cross_site_ancestor: Option<bool>,
}

/// The `SameSite` attribute of a cookie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SameSite {
    /// Never sent with cross-site requests.
    Strict,
    /// Sent with top-level navigations.
    #[default]
    Lax,
    /// Always sent.
    None,
}

/// Local storage of an origin.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
pub struct SavedOrigin {
    /// Such as `https://shop.example`.
    pub origin: String,
    /// The entries.
    pub local_storage: Vec<SavedEntry>,
    /// True if there are databases too. Their content is not saved.
    #[serde(rename = "indexedDB", deserialize_with = "has_any")]
    #[schemars(with = "serde_json::Value")]
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub has_databases: bool,
}

/// An entry of local storage.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
pub struct SavedEntry {
    /// The key.
    pub name: String,
    /// The value.
    pub value: SecretString,
}

/// The default expiry: a session cookie.
fn session() -> f64 {
    -1.0
}

/// True for a non-empty list, or for `true`.
fn has_any<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Databases {
        Known(bool),
        Listed(Vec<IgnoredAny>),
    }
    Ok(match Databases::deserialize(from)? {
        Databases::Known(is_so) => is_so,
        Databases::Listed(all) => !all.is_empty(),
    })
}

impl StorageState {
    /// Reads a storage state file.
    ///
    /// # Errors
    /// `file.read-failed`, or `storage.invalid` with the error and its position, never with values.
    pub fn read(path: &Path) -> Result<Self> {
        let named = path.display();
        let failed = |why: String| Error::new(Code::FileReadFailed).message(why);
        let metadata =
            std::fs::metadata(path).map_err(|error| failed(format!("`{named}`: {error}")))?;
        if !metadata.is_file() {
            return Err(failed(format!("`{named}` is not a regular file")));
        }
        if metadata.len() > MAX_BYTES {
            return Err(Error::new(Code::StorageInvalid)
                .message(format!(
                    "`{named}` is too large: up to {} MB are read",
                    MAX_BYTES / 1_000_000
                ))
                .evidence("bytes", metadata.len()));
        }
        let text = std::fs::read(path).map_err(|error| failed(format!("`{named}`: {error}")))?;
        Self::parse(&text).map_err(|why| {
            Error::new(Code::StorageInvalid)
                .message(format!("`{named}` is not a saved storage state: {why}"))
        })
    }

    /// Parses a storage state.
    ///
    /// # Errors
    /// The error and its position, without values.
    pub fn parse(text: &[u8]) -> std::result::Result<Self, String> {
        // serde would also read an array as a struct, field by field.
        if !text.trim_ascii_start().starts_with(b"{") {
            return Err("expected an object with `cookies` and `origins`".into());
        }
        let state: Self = serde_json::from_slice(text).map_err(|error| without_value(&error))?;
        state.check().map(|()| state)
    }

    /// Checks what the types do not, before anything is changed.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        for (index, cookie) in self.cookies.iter().enumerate() {
            let number = index + 1;
            let host = cookie.domain.strip_prefix('.').unwrap_or(&cookie.domain);
            if !is_host(host) || !cookie.path.starts_with('/') {
                return Err(format!(
                    "cookie {number} needs a domain, and a path that starts with `/`"
                ));
            }
            // The browser would truncate it there.
            let is_cut =
                |text: &str| text.contains(|c: char| c == ';' || c.is_ascii_control() && c != '\t');
            if is_cut(&cookie.name) || cookie.name.contains('=') || is_cut(cookie.value.reveal()) {
                return Err(format!("cookie {number} has characters that a cookie cannot have"));
            }
        }
        for (index, it) in self.origins.iter().enumerate() {
            if !is_origin(&it.origin) {
                return Err(format!(
                    "origin {} is invalid: expected one such as `https://shop.example`",
                    index + 1
                ));
            }
        }
        Ok(())
    }

    /// The number of local storage entries.
    pub(crate) fn entries(&self) -> usize {
        self.origins.iter().map(|it| it.local_storage.len()).sum()
    }
}

/// A parser error without the offending value.
fn without_value(error: &serde_json::Error) -> String {
    let whole = error.to_string();
    match whole.rsplit_once(", expected ") {
        Some((_, expected)) if error.is_data() => format!("expected {expected}"),
        // Names of our own fields, and the grammar of JSON.
        _ => whole,
    }
}

/// True for a web origin, and nothing more.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(is_host)
}

/// True for a host, with or without a port.
pub(crate) fn is_host(text: &str) -> bool {
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (is_name, rest) = match bracketed {
        Some((name, rest)) => (name.parse::<std::net::Ipv6Addr>().is_ok(), rest),
        None => {
            let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
            let is_plain = |c: char| c.is_alphanumeric() || "-._".contains(c);
            (!name.is_empty() && name.chars().all(is_plain), rest)
        }
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    is_name && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
}

impl From<Cookie> for SavedCookie {
    fn from(cookie: Cookie) -> Self {
        let text =
            |text: Option<LossyString>| text.map(LossyString::into_string).unwrap_or_default();
        let partition = cookie.partition_key.unwrap_or_default();
        Self {
            name: text(cookie.name),
            value: SecretString::from(&*text(cookie.value)),
            domain: text(cookie.domain),
            path: text(cookie.path),
            expires: cookie.expires.unwrap_or_else(session),
            http_only: cookie.http_only.unwrap_or_default(),
            secure: cookie.secure.unwrap_or_default(),
            same_site: match cookie.same_site.as_deref() {
                Some("Strict") => SameSite::Strict,
                Some("None") => SameSite::None,
                _ => SameSite::Lax,
            },
            partition_key: partition.top_level_site,
            has_cross_site_ancestor: partition.has_cross_site_ancestor,
        }
    }
}

impl From<&SavedCookie> for Cookie {
    fn from(cookie: &SavedCookie) -> Self {
        let text = |text: &str| Some(LossyString(text.to_owned()));
        let partition_key = cookie.partition_key.clone().map(|site| PartitionKey {
            top_level_site: Some(site),
            has_cross_site_ancestor: Some(cookie.has_cross_site_ancestor.unwrap_or_default()),
        });
        Self {
            name: text(&cookie.name),
            value: text(cookie.value.reveal()),
            domain: text(&cookie.domain),
            path: text(&cookie.path),
            // A session cookie has no expiry.
            expires: Some(cookie.expires).filter(|expires| *expires >= 0.0),
            http_only: Some(cookie.http_only),
            secure: Some(cookie.secure),
            same_site: Some(format!("{:?}", cookie.same_site)),
            partition_key,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::InClear;

    const COOKIE: &str = r#""name":"a","value":"hunter2","domain":"shop.example","path":"/""#;

    #[test]
    fn parse_errors_contain_no_values() {
        for (text, expected) in [
            ("", "expected an object"),
            ("[[], []]", "expected an object"),
            ("{\"cookies\": [], \"origins\": [", "EOF"),
            ("{\"cookies\": []}", "missing field `origins`"),
            (
                "{\"cookies\": \"hunter2, expected nothing\", \"origins\": []}",
                "expected a sequence",
            ),
            (
                &format!("{{\"cookies\": [{{{COOKIE},\"secure\":\"hunter2\"}}], \"origins\": []}}"),
                "expected a boolean",
            ),
            (
                &format!(
                    "{{\"cookies\": [{{{COOKIE},\"sameSite\":\"hunter2\"}}], \"origins\": []}}"
                ),
                "expected one of",
            ),
            (
                &format!(
                    "{{\"cookies\": [{{{COOKIE},\"expires\":\"hunter2\"}}], \"origins\": []}}"
                ),
                "expected f64",
            ),
            (
                &format!("{{\"cookies\": [{{{}}}], \"origins\": []}}", COOKIE.replace("/", "x")),
                "cookie 1 needs",
            ),
            (
                &format!("{{\"cookies\": [{{{}}}], \"origins\": []}}", COOKIE.replace("r2", "r2;")),
                "cookie 1 has characters",
            ),
            (
                r#"{"cookies":[],"origins":[{"origin":"https://a.example/hunter2","localStorage":[]}]}"#,
                "origin 1",
            ),
            (
                r#"{"cookies":[],"origins":[{"origin":"https://a.example","localStorage":[{"name":"n","value":2}]}]}"#,
                "expected a string",
            ),
        ] {
            let wrong = StorageState::parse(text.as_bytes()).unwrap_err();
            assert!(wrong.contains(expected) && !wrong.contains("hunter2"), "{text}: {wrong}");
        }
    }

    #[test]
    fn format_is_playwrights_storage_state() {
        let text = format!(
            "{{\"cookies\":[{{{COOKIE},\"expires\":-1.0,\"httpOnly\":true,\"secure\":false,\"sameSite\":\"Lax\"}}],\
             \"origins\":[{{\"origin\":\"https://a.example:8080\",\
             \"localStorage\":[{{\"name\":\"n\",\"value\":\"hunter2\"}}]}}]}}"
        );
        let state = StorageState::parse(text.as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&InClear(&state)).unwrap(), text);
        assert!(!serde_json::to_string(&state).unwrap().contains("hunter2"));
        assert!(!format!("{state:?}").contains("hunter2"));
        let more =
            text.replace("\"localStorage\"", "\"indexedDB\":[{\"name\":1}],\"localStorage\"");
        let sent = StorageState::parse(more.as_bytes()).unwrap();
        let sent = serde_json::to_string(&InClear(&sent)).unwrap();
        assert!(StorageState::parse(sent.as_bytes()).unwrap().origins[0].has_databases, "{sent}");
        let old = format!("{{\"cookies\":[{{{COOKIE}}}],\"origins\":[],\"more\":1}}");
        let state = StorageState::parse(old.as_bytes()).unwrap();
        assert_eq!(Cookie::from(&state.cookies[0]).expires, None);
    }

    #[test]
    fn origin_is_scheme_host_and_port() {
        for right in ["http://a", "https://a.example", "http://127.0.0.1:80", "http://[::1]:3000"] {
            assert!(is_origin(right), "{right}");
        }
        for wrong in [
            "",
            "null",
            "a.example",
            "ftp://a",
            "https://",
            "https://a/",
            "https://u@a",
            "http://a:0",
            "http://a:x",
            "http://[x]",
            "http://a b",
        ] {
            assert!(!is_origin(wrong), "{wrong}");
        }
    }
}
