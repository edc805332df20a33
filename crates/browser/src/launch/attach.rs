//! Discovers the WebSocket endpoint of a running browser.

use crate::error::{Code, Error, Result};
use cdp::Deadline;
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longer responses are not from a browser.
const MAX_RESPONSE: usize = 16 << 20;

/// The WebSocket URL behind `9222`, `host:9222`, `http://host:9222` or `ws://…` itself.
///
/// # Errors
/// `cdp.unreachable` when there is no response, or not a browser's.
pub async fn discover(address: &str, deadline: Deadline) -> Result<String> {
    if address.starts_with("ws://") || address.starts_with("wss://") {
        return Ok(address.to_owned());
    }
    let refused = |message: String| {
        Error::new(Code::CdpUnreachable).message(message).evidence("address", address)
    };
    if address.starts_with("https://") {
        return Err(refused(
            "give the browser's `wss://…` address; `https://` endpoints are not discovered".into(),
        ));
    }
    let host = host(address);
    let body = tokio::time::timeout_at(deadline.at(), get(&host, "/json/version"))
        .await
        .map_err(|_| refused(format!("`{host}` does not respond")))?
        .map_err(|error| refused(format!("no browser responds at `{host}`: {error}")))?;

    #[derive(Deserialize)]
    struct Version {
        #[serde(rename = "webSocketDebuggerUrl", default)]
        socket: Option<String>,
    }
    serde_json::from_slice::<Version>(&body)
        .ok()
        .and_then(|version| version.socket)
        .ok_or_else(|| refused(format!("the server at `{host}` is not a browser")))
}

/// True if two endpoint spellings mean the same browser, as far as their text tells.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let is_discovered =
        |address: &str| !["ws://", "wss://", "https://"].iter().any(|s| address.starts_with(s));
    one == other || is_discovered(one) && is_discovered(other) && host(one) == host(other)
}

/// The host and port behind `9222`, `host:9222` or `http://host:9222`.
fn host(address: &str) -> String {
    let host =
        address.strip_prefix("http://").unwrap_or(address).split('/').next().unwrap_or_default();
    match host {
        port if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("127.0.0.1:{port}")
        }
        host if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) => {
            host.to_ascii_lowercase()
        }
        host => format!("{}:9222", host.to_ascii_lowercase()),
    }
}

/// One HTTP GET. The browser keeps the connection open, so `Content-Length` has to be honoured.
///
/// # Errors
/// Without a response, or with a status other than 200.
pub async fn get(host: &str, path: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(host).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: application/json\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut response = Vec::new();
    loop {
        if let Some((head, body)) = split_head(&response) {
            let head = String::from_utf8_lossy(head).to_ascii_lowercase();
            if !head.lines().next().is_some_and(|status| status.contains(" 200")) {
                return Err(std::io::Error::other("the status is not 200"));
            }
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            if length.is_some_and(|length: usize| body.len() >= length) {
                return Ok(body[..length.unwrap_or(body.len())].to_vec());
            }
        }
        let mut piece = [0; 8192];
        let read = stream.read(&mut piece).await?;
        if read == 0 {
            let (_, body) =
                split_head(&response).ok_or_else(|| std::io::Error::other("no HTTP response"))?;
            return Ok(body.to_vec());
        }
        response.extend_from_slice(&piece[..read]);
        if response.len() > MAX_RESPONSE {
            return Err(std::io::Error::other("the response is too long"));
        }
    }
}

fn split_head(response: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = response.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some((&response[..end], &response[end + 4..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_spellings_are_equivalent() {
        for (one, other, expected) in [
            ("9333", "http://127.0.0.1:9333", true),
            ("9333", "127.0.0.1:9333/", true),
            ("localhost", "http://LocalHost:9222/json", true),
            ("9222", "127.0.0.1", true),
            ("9333", "9334", false),
            ("9333", "example.org:9333", false),
            ("9333", "https://127.0.0.1:9333", false),
            ("9333", "ws://127.0.0.1:9333", false),
            ("ws://127.0.0.1:9333/a", "ws://127.0.0.1:9333/b", false),
            ("ws://127.0.0.1:9333/a", "ws://127.0.0.1:9333/a", true),
        ] {
            assert_eq!(is_same(one, other), expected, "{one} {other}");
            assert_eq!(is_same(other, one), expected, "{other} {one}");
        }
    }
}
