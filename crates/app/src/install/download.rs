//! Resumable HTTP downloads.
//!
//! The bytes go to a `.part` file; a `.part.meta` file beside it holds the server's validator (ETag or Last-Modified).
//! A later attempt requests the remaining range with `If-Range` and starts over when the file on the server has changed.
//! Every wait has a timeout.

use std::error::Error as StdError;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use browser::{Code, Error};
use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, IF_RANGE,
    LAST_MODIFIED, RANGE,
};
use reqwest::{Client, ClientBuilder, Response, StatusCode};
use serde::{Deserialize, Serialize};

use super::{Result, size_text};

/// Size limit of a document: more than a hundred times that of the index.
const MAX_DOCUMENT_BYTES: usize = 4 << 20;
/// Retries after a dropped connection.
const RETRIES: u32 = 5;

/// Timeouts of a download.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// Connecting.
    pub(super) connect: Duration,
    /// Start of the response, and each chunk after it.
    pub(super) idle: Duration,
    /// Delay before the first retry, doubled for each further one.
    pub(super) backoff: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            backoff: Duration::from_millis(500),
        }
    }
}

/// Callback with the bytes received so far and the total, if known.
type Progress<'a> = dyn FnMut(u64, Option<u64>) + Send + 'a;

/// Builds an HTTP client that honours the proxy variables. With `https_only` it follows no redirect to http.
pub(super) fn client(limits: &Limits, https_only: bool) -> Result<Client> {
    builder(limits).https_only(https_only).build().map_err(|error| {
        Error::new(Code::InstallFailed)
            .message(format!("cannot create an HTTP client: {}", root_cause(&error)))
    })
}

fn builder(limits: &Limits) -> ClientBuilder {
    // The first call wins, and every part of the program installs the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .connect_timeout(limits.connect)
        .user_agent(concat!("agbrowse/", env!("CARGO_PKG_VERSION")))
}

/// Fetches a small document.
pub(super) async fn document(client: &Client, url: &str, limits: &Limits) -> Result<Vec<u8>> {
    let mut response = send(client.get(url), limits).await.map_err(|why| failed(url, &why))?;
    if !response.status().is_success() {
        return Err(bad_status(url, response.status()));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) =
        next_chunk(&mut response, limits).await.map_err(|why| failed(url, &why))?
    {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_DOCUMENT_BYTES {
            return Err(failed(
                url,
                &format!("it is larger than {}", size_text(MAX_DOCUMENT_BYTES as u64)),
            ));
        }
    }
    Ok(bytes)
}

/// Returns the content length from a HEAD request, if the server provides it.
pub(super) async fn size(client: &Client, url: &str, limits: &Limits) -> Option<u64> {
    let response = send(client.head(url).header(ACCEPT_ENCODING, "identity"), limits).await.ok()?;
    if response.status().is_success() {
        header_number(response.headers(), CONTENT_LENGTH)
    } else {
        None
    }
}

/// Downloads into `part` and resumes an earlier partial download; returns the total size.
///
/// A dropped connection is retried as long as each attempt gets further than all before it, so a server that always
/// stops at the same byte ends the retries.
pub(super) async fn fetch(
    client: &Client,
    url: &str,
    part: &Path,
    limits: &Limits,
    progress: &mut Progress<'_>,
) -> Result<u64> {
    let mut longest = ResumePoint::read(part, url).map_or(0, |resume| resume.bytes);
    let mut retries = 0;
    loop {
        let why = match attempt(client, url, part, limits, progress).await {
            Ok(bytes) => return Ok(bytes),
            Err(FetchError::Final(error)) => return Err(error),
            Err(FetchError::Dropped(why)) => why,
        };
        let reached = fs::metadata(part).map_or(0, |file| file.len());
        if reached <= longest || retries == RETRIES {
            return Err(failed(url, &why)
                .evidence("received", reached)
                .evidence("retries", u64::from(retries)));
        }
        longest = reached;
        tokio::time::sleep(limits.backoff * 2_u32.pow(retries)).await;
        retries += 1;
    }
}

/// Removes a partial download and its validator.
pub(super) fn discard(part: &Path) {
    // The validator first: bytes without one are never resumed.
    let _ = fs::remove_file(meta_path(part));
    let _ = fs::remove_file(part);
}

/// Error of one download attempt.
enum FetchError {
    /// The connection failed; a retry may succeed.
    Dropped(String),
    /// A retry would fail the same way.
    Final(Error),
}

/// Validators of the bytes in the `.part` file, as the server sent them.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
struct PartMeta {
    url: String,
    etag: Option<String>,
    last_modified: Option<String>,
}

impl PartMeta {
    fn of(url: &str, headers: &HeaderMap) -> Self {
        let text =
            |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Self { url: url.to_owned(), etag: text(ETAG), last_modified: text(LAST_MODIFIED) }
    }

    /// The validator that proves byte equality. A weak ETag promises only semantic equivalence.
    fn validator(&self) -> Option<&str> {
        self.etag
            .as_deref()
            .filter(|etag| !etag.starts_with("W/"))
            .or(self.last_modified.as_deref())
    }

    fn write(&self, part: &Path) -> io::Result<()> {
        fs::write(meta_path(part), serde_json::to_vec(self).expect("strings always serialize"))
    }
}

/// A partial download that can be resumed.
#[derive(Debug, PartialEq, Eq)]
struct ResumePoint {
    bytes: u64,
    validator: String,
}

impl ResumePoint {
    fn read(part: &Path, url: &str) -> Option<Self> {
        let bytes = fs::metadata(part).ok()?.len();
        let meta: PartMeta = serde_json::from_slice(&fs::read(meta_path(part)).ok()?).ok()?;
        let validator = meta.validator()?.to_owned();
        (bytes > 0 && meta.url == url).then_some(Self { bytes, validator })
    }
}

fn meta_path(part: &Path) -> PathBuf {
    let mut path = part.as_os_str().to_owned();
    path.push(".meta");
    path.into()
}

/// Effect of a response on the partial download.
#[derive(Debug, PartialEq, Eq)]
enum ResumeAction {
    /// The body is the remaining range.
    Append { total: Option<u64> },
    /// The body is the whole file.
    Replace { total: Option<u64> },
    /// Nothing remains to be downloaded.
    Complete,
    /// The file on the server has changed: discard the partial download and request the whole file.
    Restart,
    /// The server refused the request.
    Fail,
}

fn resume_action(
    resume: Option<&ResumePoint>,
    status: StatusCode,
    headers: &HeaderMap,
    url: &str,
) -> ResumeAction {
    let range =
        headers.get(CONTENT_RANGE).and_then(|value| value.to_str().ok()).and_then(parse_range);
    match (status, resume) {
        (StatusCode::OK, _) => {
            ResumeAction::Replace { total: header_number(headers, CONTENT_LENGTH) }
        }
        (StatusCode::PARTIAL_CONTENT, Some(resume)) => {
            let meta = PartMeta::of(url, headers);
            // A 206 need not repeat the validator; a different one means that the file has changed.
            let is_same = meta.validator().is_none_or(|validator| validator == resume.validator);
            match range {
                Some(ContentRange { first: Some(first), total })
                    if is_same && first == resume.bytes =>
                {
                    let rest = || header_number(headers, CONTENT_LENGTH).map(|rest| first + rest);
                    ResumeAction::Append { total: total.or_else(rest) }
                }
                _ => ResumeAction::Restart,
            }
        }
        // With `If-Range` a 416 means that the file is unchanged and complete, unless the total differs.
        (StatusCode::RANGE_NOT_SATISFIABLE, Some(resume)) => match range {
            Some(ContentRange { first: None, total: Some(total) }) if total == resume.bytes => {
                ResumeAction::Complete
            }
            _ => ResumeAction::Restart,
        },
        _ => ResumeAction::Fail,
    }
}

/// `Content-Range`: `bytes 5-9/10`, `bytes 5-9/*` or, in a 416, `bytes */10`.
#[derive(Debug, PartialEq, Eq)]
struct ContentRange {
    first: Option<u64>,
    total: Option<u64>,
}

fn parse_range(text: &str) -> Option<ContentRange> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let total = if total == "*" { None } else { Some(total.parse().ok()?) };
    let first = if range == "*" { None } else { Some(range.split_once('-')?.0.parse().ok()?) };
    Some(ContentRange { first, total })
}

async fn attempt(
    client: &Client,
    url: &str,
    part: &Path,
    limits: &Limits,
    progress: &mut Progress<'_>,
) -> std::result::Result<u64, FetchError> {
    loop {
        let resume = ResumePoint::read(part, url);
        // `identity`, because a range of a compressed body cannot be appended.
        let mut request = client.get(url).header(ACCEPT_ENCODING, "identity");
        if let Some(resume) = &resume {
            request = request
                .header(RANGE, format!("bytes={}-", resume.bytes))
                .header(IF_RANGE, &resume.validator);
        }
        let response = send(request, limits).await.map_err(FetchError::Dropped)?;
        let have = resume.as_ref().map_or(0, |resume| resume.bytes);
        match resume_action(resume.as_ref(), response.status(), response.headers(), url) {
            ResumeAction::Append { total } => {
                let file = File::options()
                    .append(true)
                    .open(part)
                    .map_err(|error| write_error(part, &error))?;
                return receive(response, PartFile { part, file, have, total }, limits, progress)
                    .await;
            }
            ResumeAction::Replace { total } => {
                discard(part);
                let file = File::create(part).map_err(|error| write_error(part, &error))?;
                let meta = PartMeta::of(url, response.headers());
                meta.write(part).map_err(|error| write_error(part, &error))?;
                return receive(
                    response,
                    PartFile { part, file, have: 0, total },
                    limits,
                    progress,
                )
                .await;
            }
            ResumeAction::Complete => {
                progress(have, Some(have));
                return Ok(have);
            }
            // Happens once at most: without a partial download, no response leads here.
            ResumeAction::Restart => discard(part),
            ResumeAction::Fail => {
                return Err(FetchError::Final(bad_status(url, response.status())));
            }
        }
    }
}

/// The `.part` file and its size.
struct PartFile<'a> {
    part: &'a Path,
    file: File,
    have: u64,
    total: Option<u64>,
}

/// Appends the body to the file; fails as dropped when it ends short of the total.
async fn receive(
    mut response: Response,
    mut part_file: PartFile<'_>,
    limits: &Limits,
    progress: &mut Progress<'_>,
) -> std::result::Result<u64, FetchError> {
    progress(part_file.have, part_file.total);
    while let Some(chunk) = next_chunk(&mut response, limits).await.map_err(FetchError::Dropped)? {
        part_file.file.write_all(&chunk).map_err(|error| write_error(part_file.part, &error))?;
        part_file.have += chunk.len() as u64;
        progress(part_file.have, part_file.total);
    }
    match part_file {
        PartFile { have, total: Some(total), .. } if total != have => {
            Err(FetchError::Dropped(format!("received {have} of {total} bytes")))
        }
        PartFile { have, .. } => Ok(have),
    }
}

async fn send(
    request: reqwest::RequestBuilder,
    limits: &Limits,
) -> std::result::Result<Response, String> {
    match tokio::time::timeout(limits.idle, request.send()).await {
        Ok(response) => response.map_err(|error| root_cause(&error)),
        Err(_) => Err(format!("no response within {} ms", limits.idle.as_millis())),
    }
}

async fn next_chunk(
    response: &mut Response,
    limits: &Limits,
) -> std::result::Result<Option<impl Deref<Target = [u8]> + use<>>, String> {
    match tokio::time::timeout(limits.idle, response.chunk()).await {
        Ok(chunk) => chunk.map_err(|error| root_cause(&error)),
        Err(_) => Err(format!("no data for {} ms", limits.idle.as_millis())),
    }
}

fn header_number(headers: &HeaderMap, name: HeaderName) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// Returns the innermost source: the outer errors only say that a request failed.
fn root_cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn StdError = error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    innermost.to_string()
}

fn failed(url: &str, why: &str) -> Error {
    Error::new(Code::InstallFailed)
        .message(format!("cannot download `{url}`: {why}"))
        .evidence("url", url)
}

fn bad_status(url: &str, status: StatusCode) -> Error {
    Error::new(Code::InstallFailed)
        .message(format!("`{url}` returned {status}"))
        .evidence("url", url)
        .evidence("status", u64::from(status.as_u16()))
}

fn write_error(path: &Path, error: &io::Error) -> FetchError {
    FetchError::Final(
        Error::new(Code::InstallFailed)
            .message(format!("cannot write `{}`: {error}", path.display()))
            .evidence("path", path.display().to_string()),
    )
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::net::{TcpListener, TcpStream};
    use std::thread::JoinHandle;

    use tempfile::TempDir;

    use super::*;

    const URL: &str = "http://x.test/chrome.zip";

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.insert(
                HeaderName::from_bytes(name.as_bytes()).expect("a name"),
                value.parse().expect("a value"),
            );
        }
        map
    }

    #[test]
    fn content_range_is_parsed_or_rejected() {
        let check = |text, first, total| {
            assert_eq!(parse_range(text), Some(ContentRange { first, total }), "{text}");
        };
        check("bytes 5-9/10", Some(5), Some(10));
        check("bytes 5-9/*", Some(5), None);
        check("bytes */10", None, Some(10));
        for text in [
            "",
            "bytes",
            "bytes 5-9",
            "items 5-9/10",
            "bytes x-9/10",
            "bytes 5-9/ten",
            "bytes 5/10",
        ] {
            assert_eq!(parse_range(text), None, "{text}");
        }
    }

    #[test]
    fn weak_etag_is_no_validator() {
        let check = |pairs: &[(&str, &str)], expected| {
            assert_eq!(PartMeta::of(URL, &headers(pairs)).validator(), expected);
        };
        check(&[("etag", "\"a\""), ("last-modified", "Mon")], Some("\"a\""));
        check(&[("etag", "W/\"a\""), ("last-modified", "Mon")], Some("Mon"));
        check(&[("etag", "W/\"a\"")], None);
        check(&[], None);
    }

    #[test]
    fn resume_action_depends_on_status_and_validator() {
        let resume = ResumePoint { bytes: 5, validator: "\"a\"".into() };
        let check =
            |has_part: bool, status: u16, pairs: &[(&str, &str)], expected: ResumeAction| {
                let status = StatusCode::from_u16(status).expect("a status");
                let step = resume_action(has_part.then_some(&resume), status, &headers(pairs), URL);
                assert_eq!(step, expected, "{status} {pairs:?}");
            };
        let (same, other) = (("etag", "\"a\""), ("etag", "\"b\""));
        check(false, 200, &[("content-length", "10")], ResumeAction::Replace { total: Some(10) });
        check(false, 200, &[], ResumeAction::Replace { total: None });
        check(
            true,
            200,
            &[("content-length", "10"), same],
            ResumeAction::Replace { total: Some(10) },
        );
        check(
            true,
            206,
            &[("content-range", "bytes 5-9/10"), same],
            ResumeAction::Append { total: Some(10) },
        );
        check(
            true,
            206,
            &[("content-range", "bytes 5-9/10")],
            ResumeAction::Append { total: Some(10) },
        );
        check(
            true,
            206,
            &[("content-range", "bytes 5-9/*"), ("content-length", "5")],
            ResumeAction::Append { total: Some(10) },
        );
        check(true, 206, &[("content-range", "bytes 5-9/10"), other], ResumeAction::Restart);
        check(true, 206, &[("content-range", "bytes 4-9/10"), same], ResumeAction::Restart);
        check(true, 206, &[], ResumeAction::Restart);
        check(false, 206, &[("content-range", "bytes 5-9/10")], ResumeAction::Fail);
        check(true, 416, &[("content-range", "bytes */5")], ResumeAction::Complete);
        check(true, 416, &[("content-range", "bytes */10")], ResumeAction::Restart);
        check(true, 416, &[], ResumeAction::Restart);
        check(false, 416, &[], ResumeAction::Fail);
        check(false, 404, &[], ResumeAction::Fail);
        check(true, 503, &[], ResumeAction::Fail);
    }

    /// A server that sends each connection a prepared response and closes it. Returns the request heads.
    fn serve(responses: &'static [&'static str]) -> (String, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/chrome.zip", listener.local_addr().expect("it is bound"));
        let heads = std::thread::spawn(move || {
            responses.iter().map(|response| respond(&listener, response)).collect()
        });
        (url, heads)
    }

    fn respond(listener: &TcpListener, response: &str) -> String {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut head = String::new();
        let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
        while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).expect("a line") > 0 {}
        match response {
            "silence" => wait_for_close(&mut stream),
            // Without this header, the client may reuse a connection that is about to be closed.
            _ => {
                let response = response.replacen("\r\n", "\r\nconnection: close\r\n", 1);
                stream.write_all(response.as_bytes()).expect("the client reads");
            }
        }
        head.to_ascii_lowercase()
    }

    fn wait_for_close(stream: &mut TcpStream) {
        let _ = stream.read(&mut [0]);
    }

    async fn fetch_all(url: &str, part: &Path) -> Result<u64> {
        let limits = Limits {
            idle: Duration::from_millis(200),
            backoff: Duration::ZERO,
            ..Limits::default()
        };
        let client = builder(&limits).no_proxy().build().expect("a client");
        fetch(&client, url, part, &limits, &mut |_, _| {}).await
    }

    #[tokio::test]
    async fn dropped_download_is_resumed_at_its_offset() {
        let (url, heads) = serve(&[
            "HTTP/1.1 200 OK\r\ncontent-length: 10\r\netag: \"a\"\r\n\r\n01234",
            "HTTP/1.1 206 Partial Content\r\ncontent-length: 5\r\ncontent-range: bytes 5-9/10\r\netag: \"a\"\r\n\r\n567",
            "HTTP/1.1 206 Partial Content\r\ncontent-length: 2\r\ncontent-range: bytes 8-9/10\r\netag: \"a\"\r\n\r\n89",
        ]);
        let home = TempDir::new().expect("a temporary folder");
        let part = home.path().join("chrome.zip.part");
        assert_eq!(fetch_all(&url, &part).await.expect("three partial responses"), 10);
        assert_eq!(fs::read_to_string(&part).expect("a file"), "0123456789");
        let heads = heads.join().expect("three requests");
        assert!(!heads[0].contains("range:"), "{}", heads[0]);
        assert!(
            heads[1].contains("range: bytes=5-") && heads[1].contains("if-range: \"a\""),
            "{}",
            heads[1]
        );
        assert!(heads[2].contains("range: bytes=8-"), "{}", heads[2]);
    }

    #[tokio::test]
    async fn changed_file_is_downloaded_from_the_start() {
        let (url, heads) = serve(&[
            "HTTP/1.1 200 OK\r\ncontent-length: 10\r\netag: \"a\"\r\n\r\n01234",
            "HTTP/1.1 206 Partial Content\r\ncontent-length: 5\r\ncontent-range: bytes 5-9/10\r\netag: \"b\"\r\n\r\nFGHIJ",
            "HTTP/1.1 200 OK\r\ncontent-length: 10\r\netag: \"b\"\r\n\r\nABCDEFGHIJ",
        ]);
        let home = TempDir::new().expect("a temporary folder");
        let part = home.path().join("chrome.zip.part");
        assert_eq!(fetch_all(&url, &part).await.expect("the new file"), 10);
        assert_eq!(fs::read_to_string(&part).expect("a file"), "ABCDEFGHIJ");
        assert!(!heads.join().expect("three requests")[2].contains("range:"));
    }

    #[tokio::test]
    async fn retries_end_when_no_attempt_gets_further() {
        let (url, heads) = serve(&[
            "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n01234",
            "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n01234",
        ]);
        let home = TempDir::new().expect("a temporary folder");
        let error = fetch_all(&url, &home.path().join("chrome.zip.part"))
            .await
            .expect_err("never complete");
        assert!(error.to_string().contains("cannot download"), "{error}");
        assert_eq!(heads.join().expect("two requests").len(), 2);
    }

    #[tokio::test]
    async fn complete_download_is_not_transferred_again() {
        let (url, heads) = serve(&[
            "HTTP/1.1 416 Range Not Satisfiable\r\ncontent-range: bytes */5\r\ncontent-length: 0\r\n\r\n",
        ]);
        let home = TempDir::new().expect("a temporary folder");
        let part = home.path().join("chrome.zip.part");
        fs::write(&part, "01234").expect("a file");
        let meta = PartMeta { url: url.clone(), etag: Some("\"a\"".into()), last_modified: None };
        meta.write(&part).expect("a file");
        assert_eq!(fetch_all(&url, &part).await.expect("it is complete"), 5);
        heads.join().expect("one request");
    }

    #[tokio::test]
    async fn partial_download_of_another_url_is_not_resumed() {
        let (url, heads) = serve(&["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"]);
        let home = TempDir::new().expect("a temporary folder");
        let part = home.path().join("chrome.zip.part");
        fs::write(&part, "01234").expect("a file");
        let meta = PartMeta { url: URL.into(), etag: Some("\"a\"".into()), last_modified: None };
        meta.write(&part).expect("a file");
        assert_eq!(fetch_all(&url, &part).await.expect("a download"), 2);
        assert!(!heads.join().expect("one request")[0].contains("range:"));
    }

    #[tokio::test]
    async fn silent_server_times_out() {
        // The server waits until the client closes the connection, which happens when this test's runtime ends.
        let (url, _heads) = serve(&["silence"]);
        let home = TempDir::new().expect("a temporary folder");
        let error =
            fetch_all(&url, &home.path().join("chrome.zip.part")).await.expect_err("no response");
        assert!(error.to_string().contains("no response within 200 ms"), "{error}");
    }

    #[tokio::test]
    async fn error_status_is_in_the_message() {
        let (url, heads) = serve(&["HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"]);
        let home = TempDir::new().expect("a temporary folder");
        let error =
            fetch_all(&url, &home.path().join("chrome.zip.part")).await.expect_err("not there");
        assert!(error.to_string().contains("returned 404 Not Found"), "{error}");
        heads.join().expect("one request");
    }
}
