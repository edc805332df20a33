//! `agbrowse install` from the command line to the browser cache, against a test server.
//!
//! The browser is a shell script; the server can misbehave: disconnect
//! in the middle, never respond, send other bytes. The package manager of the distribution is always a fake.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::io::{BufRead, BufReader, Cursor, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const VERSION: &str = "131.0.6778.204";
const PROGRAM: &str = "chrome-linux64/chrome";

#[test]
fn browser_is_installed_completely() {
    let server = Server::start(|request| match request.path.as_str() {
        "/chrome.zip" => Answer::complete(&browser_zip()),
        _ => request.index(),
    });
    let home = Home::new();
    let done = home.install(&server, &["--yes"]);
    assert!(done.status.success(), "{}", all_output(&done));
    let program = home.program();
    let stdout = String::from_utf8_lossy(&done.stdout);
    assert!(stdout.contains(VERSION) && stdout.contains(path_text(&program)), "{stdout}");
    assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read_link(program.with_file_name("current")).unwrap(), Path::new("chrome"));
    assert_eq!(
        home.installed_names(),
        [format!("chrome-{VERSION}"), "install.lock".into()],
        "nothing is left over"
    );
    assert_eq!(server.ranges(), [None]);
}

#[test]
fn plan_and_progress_go_to_stderr() {
    let server = Server::start(|request| match request.path.as_str() {
        "/chrome.zip" => Answer::complete(&browser_zip()),
        _ => request.index(),
    });
    let done = Home::new().install(&server, &["--yes"]);
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert!(stderr.contains(&format!("from {}/chrome.zip", server.base)), "{stderr}");
    assert!(stderr.contains("100 % of"), "{stderr}");
}

#[test]
fn second_install_reuses_the_first() {
    let server = Server::start(|request| match request.path.as_str() {
        "/chrome.zip" => Answer::complete(&browser_zip()),
        _ => request.index(),
    });
    let home = Home::new();
    assert!(home.install(&server, &["--yes"]).status.success());
    let requests = server.requests().len();
    let again = home.run(&server, &["--yes", "--via", "testing"]);
    assert!(again.status.success(), "{}", all_output(&again));
    assert_eq!(server.requests().len(), requests, "nothing more is asked for");
    let forced = home.install(&server, &["--yes"]);
    assert!(forced.status.success(), "{}", all_output(&forced));
    assert!(server.requests().len() > requests, "`--force` downloads again");
    assert_eq!(home.installed_names(), [format!("chrome-{VERSION}"), "install.lock".into()]);
}

#[test]
fn dropped_connection_resumes_download() {
    let server = Server::start(|request| match (request.path.as_str(), &request.range) {
        ("/chrome.zip", None) => Answer::complete(&browser_zip()).cut_after(700),
        ("/chrome.zip", Some(range)) => Answer::partial(&browser_zip(), range),
        _ => request.index(),
    });
    let home = Home::new();
    let done = home.install(&server, &["--yes"]);
    assert!(done.status.success(), "{}", all_output(&done));
    assert!(home.program().exists());
    assert_eq!(server.ranges(), [None, Some("bytes=700-".to_owned())]);
    let last = server.requests().pop().unwrap();
    assert_eq!(last.if_range.as_deref(), Some("\"one\""));
}

#[test]
fn interrupted_download_resumes_in_next_run() {
    // The first run never gets past byte 700: its second attempt receives nothing.
    let server = Server::start({
        let downloads = Mutex::new(0);
        move |request| match (request.path.as_str(), &request.range) {
            ("/chrome.zip", range) => {
                let mut count = downloads.lock().unwrap();
                *count += 1;
                match (*count, range) {
                    (1, _) => Answer::complete(&browser_zip()).cut_after(700),
                    (2, _) => Answer::HangUp,
                    (_, Some(range)) => Answer::partial(&browser_zip(), range),
                    (_, None) => Answer::status("400 Bad Request"),
                }
            }
            _ => request.index(),
        }
    });
    let home = Home::new();
    let first = home.install(&server, &["--yes"]);
    assert_eq!(first.status.code(), Some(1), "{}", all_output(&first));
    assert!(all_output(&first).contains("install.failed"), "{}", all_output(&first));
    let second = home.install(&server, &["--yes"]);
    assert!(second.status.success(), "{}", all_output(&second));
    assert_eq!(server.ranges().pop().unwrap().as_deref(), Some("bytes=700-"));
}

#[test]
fn changed_server_file_restarts_download() {
    let server = Server::start(|request| match (request.path.as_str(), &request.range) {
        ("/chrome.zip", None) if request.nth == 2 => Answer::complete(&[b'x'; 900]).cut_after(700),
        // `If-Range` on a changed file: the server sends all of it.
        ("/chrome.zip", _) => Answer::complete(&browser_zip()),
        _ => request.index(),
    });
    let home = Home::new();
    let done = home.install(&server, &["--yes"]);
    assert!(done.status.success(), "{}", all_output(&done));
    assert!(home.program().exists());
}

#[test]
fn incomplete_download_is_an_error() {
    let server = Server::start(|request| match request.path.as_str() {
        "/chrome.zip" => Answer::complete(&browser_zip()).cut_after(700),
        _ => request.index(),
    });
    Home::new().check_failure(&server, "install.failed", "cannot download");
}

#[test]
fn truncated_archive_is_corrupt() {
    let server = Server::start(|request| match request.path.as_str() {
        "/chrome.zip" => Answer::complete(&browser_zip()[..700]),
        _ => request.index(),
    });
    let home = Home::new();
    home.check_failure(&server, "install.corrupt", "is corrupt and was deleted");
    assert_eq!(home.installed_names(), ["install.lock"], "the corrupt archive is removed");
}

#[test]
fn corrupt_archive_is_refused_and_can_be_downloaded_again() {
    let server = Server::start(|request| match request.path.as_str() {
        "/chrome.zip" if request.nth == 2 => {
            let mut bytes = browser_zip();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x55;
            Answer::complete(&bytes)
        }
        "/chrome.zip" => Answer::complete(&browser_zip()),
        _ => request.index(),
    });
    let home = Home::new();
    home.check_failure(&server, "install.corrupt", "is corrupt and was deleted");
    assert_eq!(home.installed_names(), ["install.lock"]);
    let again = home.install(&server, &["--yes"]);
    assert!(again.status.success(), "{}", all_output(&again));
}

#[test]
fn archive_with_path_traversal_is_refused() {
    let server = Server::start(|request| match request.path.as_str() {
        "/chrome.zip" => Answer::complete(&zipped(|zip, options| {
            zip.start_file(PROGRAM, options.unix_permissions(0o755)).unwrap();
            zip.start_file("../../evil", options).unwrap();
        })),
        _ => request.index(),
    });
    let home = Home::new();
    home.check_failure(&server, "install.corrupt", "`../../evil` points outside the archive");
    assert_eq!(home.installed_names(), ["install.lock"]);
    assert!(!home.cache().join("agbrowse/evil").exists() && !home.cache().join("evil").exists());
}

#[test]
fn archive_without_browser_is_refused() {
    let server = Server::start(|request| match request.path.as_str() {
        "/chrome.zip" => Answer::complete(&zipped(|zip, options| {
            zip.start_file("readme.txt", options).unwrap();
        })),
        _ => request.index(),
    });
    Home::new().check_failure(&server, "install.corrupt", "it has no `chrome-linux64/chrome`");
}

#[test]
fn browser_that_does_not_start_is_removed() {
    let server = Server::start(|request| match request.path.as_str() {
        "/chrome.zip" => {
            Answer::complete(&zip_of_script("#!/bin/sh\necho no display >&2\nexit 3\n"))
        }
        _ => request.index(),
    });
    let home = Home::new();
    home.check_failure(&server, "install.failed", "no display");
    assert!(!home.program().exists());
}

#[test]
fn missing_libraries_are_listed_and_download_is_kept() {
    let server = Server::start(|request| match (request.path.as_str(), &request.range) {
        ("/chrome.zip", Some(range)) => Answer::partial(&browser_zip(), range),
        ("/chrome.zip", None) => Answer::complete(&browser_zip()),
        _ => request.index(),
    });
    let home = Home::new();
    home.fake("ldd", "echo '	libnss3.so => not found'");
    home.check_failure(&server, "install.failed", "shared libraries: libnss3.so");
    assert!(!home.program().exists());
    home.fake("ldd", "exit 0");
    let again = home.install(&server, &["--yes"]);
    assert!(again.status.success(), "{}", all_output(&again));
    assert_eq!(server.ranges(), [None, Some(format!("bytes={}-", browser_zip().len()))]);
}

#[test]
fn unresponsive_server_times_out() {
    let index = Server::start(|_| Answer::Silence);
    Home::with_short_timeout().check_failure(&index, "install.failed", "no response within 300 ms");
    let download = Server::start(|request| match request.path.as_str() {
        "/chrome.zip" => Answer::Silence,
        _ => request.index(),
    });
    Home::with_short_timeout().check_failure(
        &download,
        "install.failed",
        "no response within 300 ms",
    );
}

#[test]
fn missing_download_error_names_url() {
    let index = Server::start(|_| Answer::status("404 Not Found"));
    Home::new().check_failure(&index, "install.failed", "/index.json` returned 404");
    let download = Server::start(|request| match request.path.as_str() {
        "/chrome.zip" => Answer::status("404 Not Found"),
        _ => request.index(),
    });
    Home::new().check_failure(&download, "install.failed", "/chrome.zip` returned 404");
}

#[test]
fn invalid_index_is_an_error() {
    let server = Server::start(|_| Answer::complete(b"<html>welcome to this network</html>"));
    Home::new().check_failure(&server, "install.failed", "is not a valid Chrome for Testing index");
}

#[test]
fn install_without_confirmation_does_nothing() {
    let server = Server::start(Request::index);
    let home = Home::new();
    let done = home.install(&server, &[]);
    assert_eq!(done.status.code(), Some(1), "{}", all_output(&done));
    assert!(
        all_output(&done).contains("install.declined") && all_output(&done).contains("--yes"),
        "{}",
        all_output(&done)
    );
    assert!(server.requests().is_empty());
    assert!(!home.cache().join("agbrowse/browsers").exists());
}

#[test]
fn concurrent_installs_are_serialized() {
    let server = Server::start(|request| match request.path.as_str() {
        "/chrome.zip" => Answer::complete(&browser_zip()),
        _ => request.index(),
    });
    let home = Home::new();
    let arguments = ["--yes", "--force", "--via", "testing"];
    let both = [(); 2].map(|()| home.command(&server, &arguments).spawn().unwrap());
    for child in both {
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", all_output(&done));
    }
    assert_eq!(home.installed_names(), [format!("chrome-{VERSION}"), "install.lock".into()]);
    assert!(home.program().exists());
}

#[test]
fn failed_package_manager_falls_back_to_chrome_for_testing() {
    let server = Server::start(|request| match request.path.as_str() {
        "/chrome.zip" => Answer::complete(&browser_zip()),
        _ => request.index(),
    });
    let home = Home::new();
    home.fake("id", "echo 0");
    let log = home.folder.path().join("called");
    for manager in ["apt-get", "dnf", "pacman", "apk", "zypper"] {
        home.fake(manager, &format!("echo $0 $* >> {}; exit 7", log.display()));
    }
    let done = home.run(&server, &["--yes", "--force"]);
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    if release.lines().any(|line| line == "ID=alpine") {
        assert!(all_output(&done).contains("install.unsupported"), "{}", all_output(&done));
        return;
    }
    assert!(done.status.success(), "{}", all_output(&done));
    assert!(home.program().exists());
    // Not every distribution has a browser package.
    if log.exists() {
        assert!(all_output(&done).contains("trying Chrome for Testing"), "{}", all_output(&done));
        assert_eq!(
            fs::read_to_string(&log).unwrap().lines().count(),
            1,
            "stopped at the first failure"
        );
    }
}

/// A home directory with an empty cache, and only fake programs on the path.
struct Home {
    folder: TempDir,
    idle_ms: u32,
}

impl Home {
    fn new() -> Self {
        let home = Self { folder: TempDir::new().unwrap(), idle_ms: 20_000 };
        fs::create_dir(home.folder.path().join("bin")).unwrap();
        fs::create_dir(home.cache()).unwrap();
        home
    }

    /// With a short idle timeout of downloads.
    fn with_short_timeout() -> Self {
        Self { idle_ms: 300, ..Self::new() }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn program(&self) -> PathBuf {
        self.cache().join(format!("agbrowse/browsers/chrome-{VERSION}")).join(PROGRAM)
    }

    /// File names in the directory of installed browsers.
    fn installed_names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.cache().join("agbrowse/browsers")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Adds a fake program to the path.
    fn fake(&self, name: &str, script: &str) {
        let path = self.folder.path().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Installs Chrome for Testing, regardless of the browsers on this machine.
    fn install(&self, server: &Server, arguments: &[&str]) -> Output {
        self.run(server, &[&["--force", "--via", "testing"], arguments].concat())
    }

    fn run(&self, server: &Server, arguments: &[&str]) -> Output {
        self.command(server, arguments).output().unwrap()
    }

    fn command(&self, server: &Server, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agbrowse"));
        command
            .arg("install")
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder.path())
            .env("XDG_CACHE_HOME", self.cache())
            .env("PATH", self.folder.path().join("bin"))
            .env("AGBROWSE_INSTALL_INDEX", format!("{}/index.json", server.base))
            .env("AGBROWSE_INSTALL_IDLE_MS", self.idle_ms.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn check_failure(&self, server: &Server, code: &str, words: &str) {
        let done = self.install(server, &["--yes"]);
        assert_eq!(done.status.code(), Some(1), "{}", all_output(&done));
        assert!(
            all_output(&done).contains(code) && all_output(&done).contains(words),
            "{}",
            all_output(&done)
        );
    }
}

fn all_output(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn path_text(path: &Path) -> &str {
    path.to_str().expect("temporary folders have plain names")
}

/// An archive with a fake browser that prints its version.
fn browser_zip() -> Vec<u8> {
    zip_of_script(&format!("#!/bin/sh\necho 'Google Chrome for Testing {VERSION} '\n"))
}

fn zip_of_script(script: &str) -> Vec<u8> {
    zipped(|zip, options| {
        zip.start_file(PROGRAM, options.unix_permissions(0o755)).unwrap();
        zip.write_all(script.as_bytes()).unwrap();
        zip.add_symlink("chrome-linux64/current", "chrome", options).unwrap();
        zip.start_file("chrome-linux64/resources.pak", options).unwrap();
        // Incompressible bytes, so that the archive is long enough to truncate.
        let noise = std::iter::successors(Some(1_u64), |n| {
            Some(n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
        });
        let noise: Vec<u8> = noise.map(|n| (n >> 56) as u8).take(2_000).collect();
        zip.write_all(&noise).unwrap();
    })
}

fn zipped(fill: impl FnOnce(&mut ZipWriter<Cursor<Vec<u8>>>, SimpleFileOptions)) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    fill(&mut writer, SimpleFileOptions::default());
    writer.finish().unwrap().into_inner()
}

/// HTTP server with one request per connection, answered by a function and recorded.
struct Server {
    base: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

#[derive(Clone, Debug)]
struct Request {
    base: String,
    path: String,
    range: Option<String>,
    if_range: Option<String>,
    /// Number of the request, from one, including the index.
    nth: usize,
}

enum Answer {
    Bytes {
        head: String,
        body: Vec<u8>,
    },
    /// Keep the connection open without a response.
    Silence,
    /// Close the connection without a response.
    HangUp,
}

impl Server {
    fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (answer, place, log) = (Arc::new(answer), base.clone(), Arc::clone(&seen));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, place, log) = (Arc::clone(&answer), place.clone(), Arc::clone(&log));
                std::thread::spawn(move || serve(stream, &place, &log, &*answer));
            }
        });
        Self { base, seen }
    }

    fn requests(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    /// The requested range of each download.
    fn ranges(&self) -> Vec<Option<String>> {
        let requests = self.requests().into_iter();
        requests
            .filter(|request| request.path == "/chrome.zip")
            .map(|request| request.range)
            .collect()
    }
}

fn serve(
    mut stream: TcpStream,
    base: &str,
    seen: &Mutex<Vec<Request>>,
    answer: &impl Fn(&Request) -> Answer,
) {
    let Some(mut request) = read_request(&stream, base) else {
        return;
    };
    {
        let mut seen = seen.lock().unwrap();
        request.nth = seen.len() + 1;
        seen.push(request.clone());
    }
    match answer(&request) {
        // Write errors of a disconnected client are ignored.
        Answer::Bytes { head, body } => {
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
        Answer::Silence => {
            let _ = stream.read(&mut [0]);
        }
        Answer::HangUp => {}
    }
}

fn read_request(stream: &TcpStream, base: &str) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let mut request = Request { base: base.to_owned(), path, range: None, if_range: None, nth: 0 };
    for line in lines.take_while(|line| !line.is_empty()) {
        match line.split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("range") => {
                request.range = Some(value.into());
            }
            Some((name, value)) if name.eq_ignore_ascii_case("if-range") => {
                request.if_range = Some(value.into());
            }
            _ => {}
        }
    }
    Some(request)
}

impl Request {
    /// The index with the only download.
    fn index(&self) -> Answer {
        let download = serde_json::json!([
            {"platform": "linux64", "url": format!("{}/chrome.zip", self.base)},
            {"platform": "riscv-someday", "url": "https://x.test/"},
        ]);
        let index = serde_json::json!({
            "timestamp": "2025-01-05T22:09:08.729Z",
            "channels": {"Stable": {"channel": "Stable", "version": VERSION, "downloads": {"chrome": download}}},
        });
        Answer::complete(index.to_string().as_bytes())
    }
}

impl Answer {
    fn status(status: &str) -> Self {
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        Self::Bytes { head, body: Vec::new() }
    }

    fn complete(body: &[u8]) -> Self {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\netag: \"one\"\r\nconnection: close\r\n\r\n",
            body.len()
        );
        Self::Bytes { head, body: body.to_vec() }
    }

    /// Response to a range of the form `bytes=N-`.
    fn partial(body: &[u8], range: &str) -> Self {
        let first: usize =
            range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap();
        let total = body.len();
        let (status, range) = if first < total {
            ("206 Partial Content", format!("bytes {first}-{}/{total}", total - 1))
        } else {
            ("416 Range Not Satisfiable", format!("bytes */{total}"))
        };
        let body = body[first..].to_vec();
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\ncontent-range: {range}\r\netag: \"one\"\r\n\
             connection: close\r\n\r\n",
            body.len()
        );
        Self::Bytes { head, body }
    }

    /// Announce the full length and disconnect after this many bytes.
    fn cut_after(self, bytes: usize) -> Self {
        match self {
            Self::Bytes { head, body } => Self::Bytes { head, body: body[..bytes].to_vec() },
            other => other,
        }
    }
}
