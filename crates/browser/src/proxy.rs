//! Proxies of contexts and their credentials.

use crate::error::{Code, Error, Result};
use crate::secret::SecretString;
use crate::storage::is_host;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Proxy schemes of Chromium. It supports authentication with the first two.
const SCHEMES: [&str; 4] = ["http", "https", "socks4", "socks5"];

/// A proxy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Proxy {
    /// The server: `http://host:8080`, `https://…`, `socks4://…` or `socks5://…`.
    pub server: String,
    /// The user name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub username: Option<String>,
    /// The password.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub password: Option<SecretString>,
}

/// The proxy of a context, without credentials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxyInfo {
    /// The server.
    pub server: String,
    /// True if it has credentials.
    pub has_auth: bool,
}

/// Credentials for a proxy.
#[derive(Clone, Debug)]
pub(crate) struct ProxyCredentials {
    pub(crate) username: String,
    pub(crate) password: SecretString,
}

impl Proxy {
    /// The server for Chromium. Chromium would silently ignore a malformed one and connect directly.
    pub(crate) fn address(&self) -> Result<String> {
        let wrong = |message: String| Err(Error::new(Code::CommandInvalid).message(message));
        let (scheme, host) = self.server.split_once("://").unwrap_or(("http", &self.server));
        let (scheme, host) = (scheme.to_ascii_lowercase(), host.trim_end_matches('/'));
        if !SCHEMES.contains(&&*scheme) || !is_host(host) {
            return wrong(
                "a proxy is written as `http://host:8080`, or with `https`, `socks4` or `socks5`"
                    .into(),
            );
        }
        if self.username.is_none() && self.password.is_some() {
            return wrong("a password for a proxy needs a user name".into());
        }
        if self.username.is_some() && scheme.starts_with("socks") {
            return wrong(format!("Chromium cannot sign in to a `{scheme}` proxy"));
        }
        Ok(format!("{scheme}://{host}"))
    }

    /// The proxy without credentials.
    pub(crate) fn line(&self) -> ProxyInfo {
        let server = self.address().unwrap_or_default();
        ProxyInfo { server, has_auth: self.username.is_some() }
    }

    /// The credentials, if there are any.
    pub(crate) fn login(&self) -> Option<ProxyCredentials> {
        let password = self.password.clone().unwrap_or_default();
        self.username.clone().map(|username| ProxyCredentials { username, password })
    }
}

/// Parses `http://user:password@host:8080`. Errors are reported later, without the password.
impl FromStr for Proxy {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let Some((login, host)) = rest.rsplit_once('@') else {
            return Ok(Self { server: text.to_owned(), username: None, password: None });
        };
        let (username, password) = match login.split_once(':') {
            Some((username, password)) => (username, Some(SecretString::from(&*plain(password)))),
            None => (login, None),
        };
        Ok(Self { server: format!("{scheme}://{host}"), username: Some(plain(username)), password })
    }
}

/// Percent-decodes a part of a URL.
fn plain(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxy_url_is_parsed() {
        for (text, address, login) in [
            ("proxy.example:3128", "http://proxy.example:3128", None),
            ("HTTPS://proxy.example/", "https://proxy.example", None),
            ("socks5://127.0.0.1:1080", "socks5://127.0.0.1:1080", None),
            ("http://me:p%40ss%:w@proxy.example", "http://proxy.example", Some(("me", "p@ss%:w"))),
            ("me@[::1]:8080", "http://[::1]:8080", Some(("me", ""))),
        ] {
            let proxy: Proxy = text.parse().unwrap();
            assert_eq!(proxy.address().unwrap(), address, "{text}");
            let found = proxy.login();
            let found = found.as_ref().map(|login| (&*login.username, login.password.reveal()));
            assert_eq!(found, login, "{text}");
        }
    }

    #[test]
    fn malformed_proxy_is_refused_without_its_password() {
        for text in [
            "",
            "ftp://a",
            "http://",
            "a;direct://",
            "http://me:hunter2@a/b",
            "socks5://me:hunter2@a",
            "http://a:99999",
        ] {
            let refused = text.parse::<Proxy>().unwrap().address().unwrap_err();
            assert_eq!(refused.code(), Code::CommandInvalid, "{text}");
            assert!(!format!("{refused:?}").contains("hunter2"), "{refused:?}");
        }
    }
}
