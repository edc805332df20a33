//! Downloading a large file so that nothing fetched is fetched again.
//!
//! The bytes collect in a `.part` file; a `.part.meta` file beside it keeps the server's word for which
//! bytes these are (its validator). A later attempt asks for the rest under that validator, and starts over
//! when the server has something else by now. Every wait has an end.

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

use super::{Result, amount};

/// More than a hundred times the size of the index.
const MAX_DOCUMENT_BYTES: usize = 4 << 20;
/// How often a dropped connection is taken up again.
const RETRIES: u32 = 5;

/// How long to wait for what.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// For a connection.
    pub(super) connect: Duration,
    /// For an answer to begin, and then for each next byte.
    pub(super) idle: Duration,
    /// Before the first retry; doubled for each one after it.
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

/// Told the bytes that are there, and of how many when that is known.
type Progress<'a> = dyn FnMut(u64, Option<u64>) + Send + 'a;

/// A client that honours the proxy variables; one that began on https stays there, redirects included.
pub(super) fn client(limits: &Limits, https_only: bool) -> Result<Client> {
    builder(limits).https_only(https_only).build().map_err(|error| {
        Error::new(Code::InstallFailed).message(format!("no HTTP client here: {}", cause(&error)))
    })
}

fn builder(limits: &Limits) -> ClientBuilder {
    // The first one to set it wins, and every part of the program sets the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .connect_timeout(limits.connect)
        .user_agent(concat!("agbrowse/", env!("CARGO_PKG_VERSION")))
}

/// A small document, whole.
pub(super) async fn document(client: &Client, url: &str, limits: &Limits) -> Result<Vec<u8>> {
    let mut response = send(client.get(url), limits).await.map_err(|why| failed(url, &why))?;
    if !response.status().is_success() {
        return Err(refused(url, response.status()));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) =
        next_chunk(&mut response, limits).await.map_err(|why| failed(url, &why))?
    {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_DOCUMENT_BYTES {
            return Err(failed(
                url,
                &format!("more than {} came", amount(MAX_DOCUMENT_BYTES as u64)),
            ));
        }
    }
    Ok(bytes)
}

/// The size of what is there, if the server tells without sending it.
pub(super) async fn size(client: &Client, url: &str, limits: &Limits) -> Option<u64> {
    let response = send(client.head(url).header(ACCEPT_ENCODING, "identity"), limits).await.ok()?;
    if response.status().is_success() { number(response.headers(), CONTENT_LENGTH) } else { None }
}

/// Download into `part`, going on from where an earlier attempt was cut; the size of the whole.
///
/// A connection that drops is taken up again as long as each attempt got further than all before it: a
/// server that always stops at the same byte is not asked forever.
pub(super) async fn fetch(
    client: &Client,
    url: &str,
    part: &Path,
    limits: &Limits,
    progress: &mut Progress<'_>,
) -> Result<u64> {
    let mut furthest = ResumePoint::read(part, url).map_or(0, |kept| kept.bytes);
    let mut retries = 0;
    loop {
        let why = match attempt(client, url, part, limits, progress).await {
            Ok(bytes) => return Ok(bytes),
            Err(FetchError::Final(error)) => return Err(error),
            Err(FetchError::Dropped(why)) => why,
        };
        let reached = fs::metadata(part).map_or(0, |file| file.len());
        if reached <= furthest || retries == RETRIES {
            return Err(failed(url, &why)
                .evidence("received", reached)
                .evidence("retries", u64::from(retries)));
        }
        furthest = reached;
        tokio::time::sleep(limits.backoff * 2_u32.pow(retries)).await;
        retries += 1;
    }
}

/// Remove a partial download and what is known about it.
pub(super) fn discard(part: &Path) {
    // The knowledge first: bytes nobody vouches for are never resumed, the other way round they might be.
    let _ = fs::remove_file(meta_path(part));
    let _ = fs::remove_file(part);
}

/// Why an attempt ended early.
enum FetchError {
    /// Something between us and the server; worth another try.
    Dropped(String),
    /// Another try would end the same way.
    Final(Error),
}

/// What the server said the bytes in the `.part` file are.
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

    /// What proves that two responses are the same bytes. A weak ETag promises only the same meaning.
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

/// A partial download worth going on with.
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

/// What an answer means for the bytes we have.
#[derive(Debug, PartialEq, Eq)]
enum ResumeAction {
    /// The rest follows.
    Append { total: Option<u64> },
    /// The whole follows, from the first byte.
    Replace { total: Option<u64> },
    /// There is no rest.
    Complete,
    /// The bytes we have are of something else: forget them and ask for the whole.
    Forget,
    /// The server does not give it.
    Refuse,
}

fn judge(
    kept: Option<&ResumePoint>,
    status: StatusCode,
    headers: &HeaderMap,
    url: &str,
) -> ResumeAction {
    let range =
        headers.get(CONTENT_RANGE).and_then(|value| value.to_str().ok()).and_then(parse_range);
    match (status, kept) {
        (StatusCode::OK, _) => ResumeAction::Replace { total: number(headers, CONTENT_LENGTH) },
        (StatusCode::PARTIAL_CONTENT, Some(kept)) => {
            let meta = PartMeta::of(url, headers);
            // A 206 need not repeat the validator; one that does and differs belongs to other bytes.
            let is_same = meta.validator().is_none_or(|validator| validator == kept.validator);
            match range {
                Some(ContentRange { first: Some(first), total })
                    if is_same && first == kept.bytes =>
                {
                    let rest = || number(headers, CONTENT_LENGTH).map(|rest| first + rest);
                    ResumeAction::Append { total: total.or_else(rest) }
                }
                _ => ResumeAction::Forget,
            }
        }
        // Under `If-Range` this says: the same bytes as yours, and none after them. Unless the total differs.
        (StatusCode::RANGE_NOT_SATISFIABLE, Some(kept)) => match range {
            Some(ContentRange { first: None, total: Some(total) }) if total == kept.bytes => {
                ResumeAction::Complete
            }
            _ => ResumeAction::Forget,
        },
        _ => ResumeAction::Refuse,
    }
}

/// `bytes 5-9/10`, `bytes 5-9/*` or, with nothing to send, `bytes */10`.
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
        let kept = ResumePoint::read(part, url);
        // Identity, because a range of compressed bytes is of no use.
        let mut request = client.get(url).header(ACCEPT_ENCODING, "identity");
        if let Some(kept) = &kept {
            request = request
                .header(RANGE, format!("bytes={}-", kept.bytes))
                .header(IF_RANGE, &kept.validator);
        }
        let response = send(request, limits).await.map_err(FetchError::Dropped)?;
        let have = kept.as_ref().map_or(0, |kept| kept.bytes);
        match judge(kept.as_ref(), response.status(), response.headers(), url) {
            ResumeAction::Append { total } => {
                let file =
                    File::options().append(true).open(part).map_err(|error| disk(part, &error))?;
                return receive(response, PartFile { part, file, have, total }, limits, progress)
                    .await;
            }
            ResumeAction::Replace { total } => {
                discard(part);
                let file = File::create(part).map_err(|error| disk(part, &error))?;
                let meta = PartMeta::of(url, response.headers());
                meta.write(part).map_err(|error| disk(part, &error))?;
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
            // Comes round once at most: without bytes of ours, no answer is judged like this.
            ResumeAction::Forget => discard(part),
            ResumeAction::Refuse => return Err(FetchError::Final(refused(url, response.status()))),
        }
    }
}

/// The file being filled.
struct PartFile<'a> {
    part: &'a Path,
    file: File,
    have: u64,
    total: Option<u64>,
}

/// Write what comes to the end of the file, until the whole is there.
async fn receive(
    mut response: Response,
    mut bucket: PartFile<'_>,
    limits: &Limits,
    progress: &mut Progress<'_>,
) -> std::result::Result<u64, FetchError> {
    progress(bucket.have, bucket.total);
    while let Some(chunk) = next_chunk(&mut response, limits).await.map_err(FetchError::Dropped)? {
        bucket.file.write_all(&chunk).map_err(|error| disk(bucket.part, &error))?;
        bucket.have += chunk.len() as u64;
        progress(bucket.have, bucket.total);
    }
    match bucket {
        PartFile { have, total: Some(total), .. } if total != have => {
            Err(FetchError::Dropped(format!("{have} of {total} bytes came")))
        }
        PartFile { have, .. } => Ok(have),
    }
}

async fn send(
    request: reqwest::RequestBuilder,
    limits: &Limits,
) -> std::result::Result<Response, String> {
    match tokio::time::timeout(limits.idle, request.send()).await {
        Ok(answer) => answer.map_err(|error| cause(&error)),
        Err(_) => Err(format!("no answer in {} ms", limits.idle.as_millis())),
    }
}

async fn next_chunk(
    response: &mut Response,
    limits: &Limits,
) -> std::result::Result<Option<impl Deref<Target = [u8]> + use<>>, String> {
    match tokio::time::timeout(limits.idle, response.chunk()).await {
        Ok(chunk) => chunk.map_err(|error| cause(&error)),
        Err(_) => Err(format!("nothing came for {} ms", limits.idle.as_millis())),
    }
}

fn number(headers: &HeaderMap, name: HeaderName) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// The innermost reason: the outer ones only say that a request failed.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn StdError = error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    innermost.to_string()
}

fn failed(url: &str, why: &str) -> Error {
    Error::new(Code::InstallFailed)
        .message(format!("`{url}` did not come: {why}"))
        .evidence("url", url)
}

fn refused(url: &str, status: StatusCode) -> Error {
    Error::new(Code::InstallFailed)
        .message(format!("`{url}` answered {status}"))
        .evidence("url", url)
        .evidence("status", u64::from(status.as_u16()))
}

fn disk(path: &Path, error: &io::Error) -> FetchError {
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
    fn ranges_are_read_or_refused() {
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
    fn only_what_proves_equality_is_a_validator() {
        let check = |pairs: &[(&str, &str)], expected| {
            assert_eq!(PartMeta::of(URL, &headers(pairs)).validator(), expected);
        };
        check(&[("etag", "\"a\""), ("last-modified", "Mon")], Some("\"a\""));
        check(&[("etag", "W/\"a\""), ("last-modified", "Mon")], Some("Mon"));
        check(&[("etag", "W/\"a\"")], None);
        check(&[], None);
    }

    #[test]
    fn answers_are_judged_by_what_we_have() {
        let kept = ResumePoint { bytes: 5, validator: "\"a\"".into() };
        let check =
            |has_part: bool, status: u16, pairs: &[(&str, &str)], expected: ResumeAction| {
                let status = StatusCode::from_u16(status).expect("a status");
                let step = judge(has_part.then_some(&kept), status, &headers(pairs), URL);
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
        check(true, 206, &[("content-range", "bytes 5-9/10"), other], ResumeAction::Forget);
        check(true, 206, &[("content-range", "bytes 4-9/10"), same], ResumeAction::Forget);
        check(true, 206, &[], ResumeAction::Forget);
        check(false, 206, &[("content-range", "bytes 5-9/10")], ResumeAction::Refuse);
        check(true, 416, &[("content-range", "bytes */5")], ResumeAction::Complete);
        check(true, 416, &[("content-range", "bytes */10")], ResumeAction::Forget);
        check(true, 416, &[], ResumeAction::Forget);
        check(false, 416, &[], ResumeAction::Refuse);
        check(false, 404, &[], ResumeAction::Refuse);
        check(true, 503, &[], ResumeAction::Refuse);
    }

    /// A server that gives each connection its prepared bytes and then hangs up. Returns the requests' heads.
    fn serve(answers: &'static [&'static str]) -> (String, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/chrome.zip", listener.local_addr().expect("it is bound"));
        let heads = std::thread::spawn(move || {
            answers.iter().map(|answer| answer_one(&listener, answer)).collect()
        });
        (url, heads)
    }

    fn answer_one(listener: &TcpListener, answer: &str) -> String {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut head = String::new();
        let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
        while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).expect("a line") > 0 {}
        match answer {
            "silence" => wait_for_hangup(&mut stream),
            // Said, lest the client sends its next request on a connection that is about to end.
            _ => {
                let answer = answer.replacen("\r\n", "\r\nconnection: close\r\n", 1);
                stream.write_all(answer.as_bytes()).expect("the client listens");
            }
        }
        head.to_ascii_lowercase()
    }

    fn wait_for_hangup(stream: &mut TcpStream) {
        let _ = stream.read(&mut [0]);
    }

    async fn fetched(url: &str, part: &Path) -> Result<u64> {
        let limits = Limits {
            idle: Duration::from_millis(200),
            backoff: Duration::ZERO,
            ..Limits::default()
        };
        let client = builder(&limits).no_proxy().build().expect("a client");
        fetch(&client, url, part, &limits, &mut |_, _| {}).await
    }

    #[tokio::test]
    async fn a_cut_download_goes_on_where_it_was_cut() {
        let (url, heads) = serve(&[
            "HTTP/1.1 200 OK\r\ncontent-length: 10\r\netag: \"a\"\r\n\r\n01234",
            "HTTP/1.1 206 Partial Content\r\ncontent-length: 5\r\ncontent-range: bytes 5-9/10\r\netag: \"a\"\r\n\r\n567",
            "HTTP/1.1 206 Partial Content\r\ncontent-length: 2\r\ncontent-range: bytes 8-9/10\r\netag: \"a\"\r\n\r\n89",
        ]);
        let home = TempDir::new().expect("a temporary folder");
        let part = home.path().join("chrome.zip.part");
        assert_eq!(fetched(&url, &part).await.expect("it comes in three pieces"), 10);
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
    async fn other_bytes_on_the_server_start_it_over() {
        let (url, heads) = serve(&[
            "HTTP/1.1 200 OK\r\ncontent-length: 10\r\netag: \"a\"\r\n\r\n01234",
            "HTTP/1.1 206 Partial Content\r\ncontent-length: 5\r\ncontent-range: bytes 5-9/10\r\netag: \"b\"\r\n\r\nFGHIJ",
            "HTTP/1.1 200 OK\r\ncontent-length: 10\r\netag: \"b\"\r\n\r\nABCDEFGHIJ",
        ]);
        let home = TempDir::new().expect("a temporary folder");
        let part = home.path().join("chrome.zip.part");
        assert_eq!(fetched(&url, &part).await.expect("the new bytes come"), 10);
        assert_eq!(fs::read_to_string(&part).expect("a file"), "ABCDEFGHIJ");
        assert!(!heads.join().expect("three requests")[2].contains("range:"));
    }

    #[tokio::test]
    async fn a_server_that_always_stops_at_the_same_byte_is_given_up() {
        let (url, heads) = serve(&[
            "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n01234",
            "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n01234",
        ]);
        let home = TempDir::new().expect("a temporary folder");
        let error =
            fetched(&url, &home.path().join("chrome.zip.part")).await.expect_err("never whole");
        assert!(error.to_string().contains("did not come"), "{error}");
        assert_eq!(heads.join().expect("two requests").len(), 2);
    }

    #[tokio::test]
    async fn a_download_that_is_whole_already_is_not_sent_again() {
        let (url, heads) = serve(&[
            "HTTP/1.1 416 Range Not Satisfiable\r\ncontent-range: bytes */5\r\ncontent-length: 0\r\n\r\n",
        ]);
        let home = TempDir::new().expect("a temporary folder");
        let part = home.path().join("chrome.zip.part");
        fs::write(&part, "01234").expect("a file");
        let meta = PartMeta { url: url.clone(), etag: Some("\"a\"".into()), last_modified: None };
        meta.write(&part).expect("a file");
        assert_eq!(fetched(&url, &part).await.expect("nothing lacks"), 5);
        heads.join().expect("one request");
    }

    #[tokio::test]
    async fn bytes_of_another_address_are_not_gone_on_with() {
        let (url, heads) = serve(&["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"]);
        let home = TempDir::new().expect("a temporary folder");
        let part = home.path().join("chrome.zip.part");
        fs::write(&part, "01234").expect("a file");
        let meta = PartMeta { url: URL.into(), etag: Some("\"a\"".into()), last_modified: None };
        meta.write(&part).expect("a file");
        assert_eq!(fetched(&url, &part).await.expect("it comes"), 2);
        assert!(!heads.join().expect("one request")[0].contains("range:"));
    }

    #[tokio::test]
    async fn silence_has_an_end() {
        // The server waits for our end of the connection, which closes with this test's runtime.
        let (url, _heads) = serve(&["silence"]);
        let home = TempDir::new().expect("a temporary folder");
        let error =
            fetched(&url, &home.path().join("chrome.zip.part")).await.expect_err("no answer");
        assert!(error.to_string().contains("no answer in 200 ms"), "{error}");
    }

    #[tokio::test]
    async fn a_refusal_is_told_with_its_status() {
        let (url, heads) = serve(&["HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"]);
        let home = TempDir::new().expect("a temporary folder");
        let error =
            fetched(&url, &home.path().join("chrome.zip.part")).await.expect_err("not there");
        assert!(error.to_string().contains("answered 404 Not Found"), "{error}");
        heads.join().expect("one request");
    }
}
