//! The daemon: misbehaving clients, memory, shutdown, crashes and attached browsers.

use crate::sandbox::{Home, client, has_browser, kill, number, profile_of, wait_until};
use agbrowse::daemon::{DaemonRequest, MAX_REQUEST};
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

fn frame(json: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(json.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend([0; 4]);
    bytes.extend(json);
    bytes
}

/// Sends raw bytes and returns the response's JSON; `None` when the daemon disconnects without one.
fn exchange(home: &Home, bytes: &[u8]) -> Option<Value> {
    let mut stream = UnixStream::connect(home.socket("default")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // The daemon may stop reading early; only its response counts.
    _ = stream.write_all(bytes);
    read_answer(&mut stream)
}

fn read_answer(stream: &mut UnixStream) -> Option<Value> {
    let mut header = [0; 8];
    stream.read_exact(&mut header).ok()?;
    let mut body = vec![0; u32::from_le_bytes(header[..4].try_into().unwrap()) as usize];
    stream.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn code(answer: Option<Value>) -> String {
    answer.expect("an answer")["done"]["error"]["errorCode"].as_str().expect("an error").to_owned()
}

fn rss_kb(home: &Home) -> u32 {
    number(&home.json(["daemon", "status"])["result"]["rssKb"])
}

#[test]
fn malformed_requests_are_refused_without_side_effects() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["eval", "window.mark = 'kept'"]);
    let before = rss_kb(&home);
    let version = agbrowse::VERSION;
    for (bytes, expected) in [
        (frame(b""), "daemon.bad-frame"),
        (frame(b"{"), "daemon.bad-frame"),
        (frame(b"\xff\xfe"), "daemon.bad-frame"),
        (frame(b"[1,2,3]"), "daemon.bad-frame"),
        (frame(b"{\"version\":\"0.0.0\",\"action\":{\"new\":1}}"), "daemon.version-mismatch"),
        (frame(format!("{{\"version\":\"{version}\",\"action\":{{\"do\":\"dance\"}}}}").as_bytes()), "command.invalid"),
        (frame(format!("{{\"version\":\"{version}\",\"action\":null}}").as_bytes()), "command.invalid"),
        (
            frame(format!("{{\"version\":\"{version}\",\"action\":{{\"do\":\"run\",\"request\":{{\"command\":{{\"verb\":\"fly\"}}}}}}}}").as_bytes()),
            "command.invalid",
        ),
        (u32::MAX.to_le_bytes().repeat(2), "daemon.frame-too-large"),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "daemon.frame-too-large"),
    ] {
        assert_eq!(code(exchange(&home, &bytes)), expected, "{:?}", String::from_utf8_lossy(&bytes));
    }
    // 200 MB, announced and really sent.
    let mut huge = u32::to_le_bytes(200 << 20).to_vec();
    huge.extend(vec![0; 4 + (200 << 20)]);
    assert_eq!(code(exchange(&home, &huge)), "daemon.frame-too-large");
    // Of maximal length, but not a request.
    assert_eq!(code(exchange(&home, &frame(&vec![b' '; MAX_REQUEST]))), "daemon.bad-frame");
    // Disconnected in the middle of a frame.
    for cut in [1, 7, 8, 12] {
        let mut stream = UnixStream::connect(home.socket("default")).unwrap();
        stream.write_all(&frame(b"{\"version\":1}")[..cut]).unwrap();
    }
    assert_eq!(home.ok(["eval", "window.mark"]), "kept");
    wait_until("the daemon's memory is small again", Duration::from_secs(60), || {
        rss_kb(&home) < before + 12 * 1024
    });
}

#[test]
fn client_that_never_reads_does_not_block_others() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["eval", "1"]);
    let before = rss_kb(&home);
    let request = format!(
        "{{\"version\":\"{}\",\"action\":{{\"do\":\"run\",\"request\":{{\"command\":{{\"verb\":\"eval\",\"script\":\"'x'.repeat(4e6)\"}}}}}}}}",
        agbrowse::VERSION
    );
    let deaf: Vec<UnixStream> = (0..4)
        .map(|_| {
            let mut stream = UnixStream::connect(home.socket("default")).unwrap();
            stream.write_all(&frame(request.as_bytes())).unwrap();
            stream
        })
        .collect();
    // Other clients are served meanwhile.
    assert_eq!(home.ok(["eval", "2"]), "2");
    wait_until("the daemon disconnected them", Duration::from_secs(40), || {
        number(&home.json(["daemon", "status"])["result"]["clients"]) == 1
    });
    drop(deaf);
    wait_until("the daemon's memory is small again", Duration::from_secs(60), || {
        rss_kb(&home) < before + 12 * 1024
    });
}

#[test]
fn killed_client_cancels_its_command() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["eval", "window.count = 0"]);
    let mut child = home.start(["eval", "while (true) { window.count++ }", "--timeout", "60s"]);
    wait_until("the command is running", Duration::from_secs(60), || {
        home.ok(["tabs"]).contains("[busy]")
    });
    kill(child.id());
    child.wait().unwrap();
    assert_eq!(home.ok(["eval", "window.count > 0", "--timeout", "5s"]), "true");
}

#[test]
fn concurrent_first_commands_start_one_daemon() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let children: Vec<_> = (0..8).map(|_| home.start(["eval", "1"])).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(number(&home.json(["status"])["result"]["browser"]["tabs"]), 1);
    assert_eq!(home.json(["sessions"])["result"]["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn idle_daemon_exits_and_next_command_reports_it() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["open", "data:text/html,<title>x</title>", "--idle-timeout", "300ms"]);
    wait_until("the daemon exits", Duration::from_secs(60), || !home.socket("default").exists());
    let error = home.error(["eval", "document.title"]);
    assert_eq!(error["errorCode"], "browser.lost");
    assert!(error["message"].as_str().unwrap().contains("idle"), "{error}");
    // Reported to every client until a page is opened again.
    assert_eq!(home.error(["tabs"])["errorCode"], "browser.lost");
    let opened = home.json(["open", "data:text/html,<title>y</title>"]);
    assert!(
        opened["notes"].as_array().unwrap().iter().any(|note| note["code"] == "restarted"),
        "{opened}"
    );
    assert_eq!(home.ok(["eval", "document.title"]), "y");
}

#[test]
fn stopped_daemon_leaves_no_files_or_processes() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["eval", "1"]);
    let (browser, profile) = (home.browser_pid(), profile_of(home.browser_pid()));
    assert!(home.ok(["daemon", "logs"]).contains("listening"));
    assert_eq!(home.ok(["daemon", "stop"]), "stopped default");
    assert_eq!(home.remaining_files(), ["default.log"], "only the log is kept");
    assert_eq!(home.ok(["daemon", "stop"]), "no daemon was running");
    assert_eq!(home.remaining_files(), [""; 0]);
    assert!(Home::processes_of(browser, &profile).is_empty());
    assert_eq!(home.ok(["sessions"]), "no sessions");
    // A new daemon has no loss to report: the caller stopped the old one.
    assert_eq!(home.ok(["eval", "location.href"]), "about:blank");
}

#[test]
fn temporary_files_are_removed_with_browser() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let folder = home.path("tmp");
    std::fs::create_dir(&folder).unwrap();
    // The directory of temporary profiles stays, and is empty.
    let left = || -> Vec<_> {
        let entries = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
        let (ours, others): (Vec<_>, Vec<_>) = entries(&folder)
            .partition(|path| path.to_string_lossy().contains("/agbrowse-profiles-"));
        // Chromium cannot remove its own files when it is killed.
        let is_chromiums =
            |path: &std::path::PathBuf| path.to_string_lossy().contains("/.org.chromium.");
        let all = ours.iter().flat_map(|folder| entries(folder)).chain(others);
        all.filter(|path| !is_chromiums(path)).collect()
    };
    let mut last = Vec::new();
    let mut is_empty = || {
        let now = left();
        if now != last {
            println!("left: {now:?}");
            last.clone_from(&now);
        }
        now.is_empty()
    };
    let open = |options: &[&str]| {
        let mut command = home.command([&["open", "about:blank"], options].concat());
        assert!(command.env("TMPDIR", &folder).status().unwrap().success());
    };
    for options in [&[][..], &["--profile", "kept"]] {
        open(options);
        assert!(!left().is_empty());
        home.ok(["close"]);
        wait_until("no files are left", Duration::from_secs(60), &mut is_empty);

        open(options);
        let (browser, profile) = (home.browser_pid(), profile_of(home.browser_pid()));
        kill(home.daemon_pid());
        wait_until("the browser gone", Duration::from_secs(60), || {
            Home::processes_of(browser, &profile).is_empty()
        });
        open(options);
        home.ok(["daemon", "stop"]);
        wait_until("no files are left", Duration::from_secs(60), &mut is_empty);
    }
}

#[test]
fn browser_starts_with_long_temporary_path() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let folder = home.path(&"long".repeat(30));
    std::fs::create_dir(&folder).unwrap();
    let done = home.command(["eval", "6*7"]).env("TMPDIR", &folder).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "42", "{done:?}");
}

#[test]
fn daemon_with_hanging_browser_launch_can_be_stopped() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let script = home.path("project/hangs.sh");
    std::fs::write(&script, "#!/bin/sh\nexec sleep 300\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = home.error(["eval", "1", "--chrome", "hangs.sh", "--timeout", "1s"]);
    assert_eq!(error["errorCode"], "command.timeout");
    assert_eq!(home.json(["status"])["result"]["state"], "starting");
    let began = Instant::now();
    assert_eq!(home.ok(["daemon", "stop"]), "stopped default");
    // Long before the launch timeout of 30 s.
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
}

#[test]
fn command_interrupted_by_close_reports_it() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["eval", "1"]);
    let mut held = home.command(["eval", "new Promise(() => {})", "--timeout", "60s"]);
    let held = held.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the command is running", Duration::from_secs(60), || {
        home.ok(["tabs"]).contains("[busy]")
    });
    home.ok(["close"]);
    let output = held.wait_with_output().unwrap();
    let output = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.contains("browser.lost") && output.contains("`close`"), "{output}");
}

#[test]
fn hung_daemon_is_stopped_with_its_browser() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["eval", "1"]);
    let (browser, profile) = (home.browser_pid(), profile_of(home.browser_pid()));
    crate::sandbox::signal(home.daemon_pid(), rustix::process::Signal::STOP);
    assert_eq!(home.ok(["daemon", "stop"]), "stopped default");
    wait_until("the browser has exited", Duration::from_secs(60), || {
        Home::processes_of(browser, &profile).is_empty()
    });
    let error = home.error(["eval", "1"]);
    assert_eq!(error["errorCode"], "browser.lost");
    assert!(error["message"].as_str().unwrap().contains("was killed"), "{error}");
}

#[test]
fn stop_cleans_up_after_killed_daemon() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    for session in ["one", "two"] {
        home.ok(["--session", session, "eval", "1"]);
        kill(number(&home.json(["--session", session, "daemon", "status"])["result"]["pid"]));
    }
    wait_until("the first loss is noticed", Duration::from_secs(60), || {
        home.ok(["sessions"]).matches("was killed").count() == 2
    });
    assert_eq!(home.ok(["daemon", "stop", "--session", "one"]), "stopped one");
    assert!(
        home.remaining_files().iter().all(|name| name.starts_with("two.")),
        "{:?}",
        home.remaining_files()
    );
    assert_eq!(home.ok(["daemon", "stop", "--all"]), "stopped two");
    assert_eq!(home.remaining_files(), [""; 0]);
}

#[test]
fn foreign_files_in_socket_directory_are_kept() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let folder = home.path("run");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    let foreign = ["package.json", "Cargo.lock", "build.log"].map(|name| folder.join(name));
    let long_ago = SystemTime::now() - Duration::from_secs(100 * 24 * 3600);
    for path in &foreign {
        std::fs::File::create(path).unwrap().set_modified(long_ago).unwrap();
    }
    home.ok(["status"]);
    // Not a valid session name; other sessions are stopped all the same.
    let name = "x".repeat(120);
    std::fs::write(home.socket(&name).with_extension("log"), "").unwrap();
    assert_eq!(home.ok(["daemon", "stop", "--all"]), "stopped default");
    assert!(foreign.iter().all(|path| path.exists()), "{foreign:?}");
    let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755, "the directory mode is unchanged");
}

#[test]
fn concurrent_large_requests_use_bounded_memory() {
    let home = Home::new();
    home.ok(["status"]);
    let before = rss_kb(&home);
    let mut begun = u32::to_le_bytes(31 << 20).to_vec();
    begun.extend(vec![0; 4 + (30 << 20)]);
    let begin = |begun: &[u8]| {
        let mut stream = UnixStream::connect(home.socket("default")).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
        // The daemon reads as many requests as fit its limit; the others wait.
        _ = stream.write_all(begun);
        stream
    };
    let streams: Vec<UnixStream> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..20).map(|_| scope.spawn(|| begin(&begun))).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // Small requests pass meanwhile.
    let now = rss_kb(&home);
    assert!(now < before + 100 * 1024, "{before} kB, then {now} kB");
    drop(streams);
    assert_eq!(code(exchange(&home, &frame(&vec![b' '; MAX_REQUEST]))), "daemon.bad-frame");
}

/// A browser started outside of the program, with a page of its own.
struct ExternalBrowser {
    process: std::process::Child,
    port: String,
    _profile: tempfile::TempDir,
}

impl ExternalBrowser {
    fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let found = browser::launch::find(&Default::default()).unwrap();
        let process = std::process::Command::new(found.path)
            .args(["--headless=new", "--remote-debugging-port=0", "--no-first-run", "--no-sandbox"])
            .args(["--disable-gpu", "--disable-background-networking", "data:text/html,theirs"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut port = String::new();
        wait_until("the browser has a debugging port", Duration::from_secs(60), || {
            let text = std::fs::read_to_string(profile.path().join("DevToolsActivePort"));
            port = text.unwrap_or_default().lines().next().unwrap_or_default().to_owned();
            !port.is_empty()
        });
        Self { process, port, _profile: profile }
    }

    fn has(&self, address: &str) -> bool {
        let mut stream = std::net::TcpStream::connect(format!("127.0.0.1:{}", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream
            .write_all(b"GET /json/list HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        let (mut list, mut piece) = (Vec::new(), [0; 4096]);
        while !list.trim_ascii_end().ends_with(b"]") {
            match stream.read(&mut piece).unwrap() {
                0 => break,
                read => list.extend(&piece[..read]),
            }
        }
        String::from_utf8_lossy(&list).contains(address)
    }
}

impl Drop for ExternalBrowser {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

#[test]
fn orphan_tabs_in_attached_browser_are_closed() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let foreign = ExternalBrowser::start();
    let open = |page: &str| home.json(["open", page, "--cdp", &foreign.port]);
    let lose = || {
        open("about:blank#first");
        kill(home.daemon_pid());
        wait_until("the loss is noticed", Duration::from_secs(60), || {
            home.ok(["sessions"]).contains("was killed")
        });
    };
    lose();
    // The error warns that the tab may still be open.
    let error = home.error(["eval", "1", "--cdp", &foreign.port]);
    assert_eq!(error["errorCode"], "browser.lost");
    assert!(error["message"].as_str().unwrap().contains("may still be open"), "{error}");
    let notes = open("about:blank#second")["notes"].to_string();
    assert!(notes.contains("attached to the browser again"), "{notes}");
    let tabs = home.ok(["tabs"]);
    let first = tabs.lines().find(|line| line.contains("#first")).expect("it is there");
    let first = first.trim_start_matches('*').split_whitespace().next().unwrap();
    assert!(notes.contains(&format!("with {first} from before")), "{first}: {notes}");
    // The adopted tab is closed with the others.
    assert_eq!(
        home.ok(["close"]),
        "detached from the browser, which keeps running; our tabs in it are closed"
    );
    let only_theirs =
        || !foreign.has("#first") && !foreign.has("#second") && foreign.has("html,theirs");
    wait_until("the program's tabs are closed", Duration::from_secs(60), only_theirs);
    // No command has to attach for it.
    for stop in [&["close"][..], &["daemon", "stop"][..]] {
        lose();
        home.ok(stop);
        wait_until("the program's tabs are closed", Duration::from_secs(60), only_theirs);
    }
}

#[test]
fn tab_in_attached_browser_is_recorded_before_its_page_loads() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let foreign = ExternalBrowser::start();
    // A server that accepts connections and never responds.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let page = format!("http://{}/", server.local_addr().unwrap());
    let mut opening = home.start(["open", &page, "--cdp", &foreign.port]);
    let state = home.socket("default").with_extension("json");
    let mut tab = String::new();
    wait_until("the tab is recorded", Duration::from_secs(60), || {
        let text = std::fs::read_to_string(&state).unwrap_or_default();
        let state: Value = serde_json::from_str(&text).unwrap_or_default();
        tab = state["left"]["tabs"][0].as_str().unwrap_or_default().to_owned();
        !tab.is_empty()
    });
    assert!(opening.try_wait().unwrap().is_none(), "it is still under way");
    assert!(foreign.has(&tab));
    kill(home.daemon_pid());
    assert!(!opening.wait().unwrap().success());
    wait_until("the loss is noticed", Duration::from_secs(60), || {
        home.ok(["sessions"]).contains("was killed")
    });
    home.ok(["daemon", "stop"]);
    wait_until("the tab is closed", Duration::from_secs(60), || !foreign.has(&tab));
}

#[test]
fn client_with_partial_request_is_not_evicted() {
    let home = Home::new();
    home.ok(["status"]);
    let call = format!(r#"{{"version":"{}","action":{{"do":"status"}}}}"#, agbrowse::VERSION);
    let request = frame(call.as_bytes());
    let (begin, rest) = request.split_at(3);
    // The oldest connection, with an incomplete request.
    let mut slow = UnixStream::connect(home.socket("default")).unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    slow.write_all(begin).unwrap();
    let silent: Vec<UnixStream> =
        (0..300).map(|_| UnixStream::connect(home.socket("default")).unwrap()).collect();
    home.ok(["status"]);
    slow.write_all(rest).unwrap();
    let answer = read_answer(&mut slow).expect("an answer");
    assert_eq!(answer["done"]["status"]["session"], "default", "{answer}");
    drop(silent);
}

#[test]
fn idle_connections_do_not_block_new_clients() {
    let home = Home::new();
    home.ok(["status"]);
    let mut held = client(&home.socket("default"));
    held.ask(&DaemonRequest::KeepAlive, Duration::from_secs(5)).unwrap();
    let silent: Vec<UnixStream> =
        (0..300).map(|_| UnixStream::connect(home.socket("default")).unwrap()).collect();
    for _ in 0..3 {
        home.ok(["status"]);
    }
    assert!(
        held.ask(&DaemonRequest::Status, Duration::from_secs(5)).is_ok(),
        "its silence is its job"
    );
    drop(silent);
}

#[test]
fn one_connection_carries_many_requests() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["eval", "1"]);
    let mut line = client(&home.socket("default"));
    for number in 0..20 {
        let request = browser::Request::new(browser::Command::Eval(browser::command::Eval {
            script: format!("{number} * 2"),
            ..Default::default()
        }));
        let action = DaemonRequest::Run { request, overrides: Default::default() };
        let outcome = line.run(&action, Duration::from_secs(20)).unwrap();
        assert_eq!(outcome.reply.to_string(), (number * 2).to_string());
    }
}

#[test]
fn daemon_inherits_no_descriptors() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let program = env!("CARGO_BIN_EXE_agbrowse");
    // The shell passes a pipe as descriptor 9. Its reader gets EOF only when no process holds it.
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "exec 9>&1 >/dev/null; \"$0\" eval 1", program]).stdout(writer);
    for (name, value) in home.command([""; 0]).get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    assert!(shell.status().unwrap().success());
    drop(shell);
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).unwrap();
    assert!(home.daemon_pid() > 0, "the daemon is running");
}

#[test]
fn snapshot_cache_hits_are_logged_at_debug_level() {
    if !has_browser() {
        return;
    }
    for (level, is_told) in [("debug", true), ("info", false)] {
        let home = Home::new();
        let page = "data:text/html,<button>Go</button>";
        let opened = home.command(["open", page]).env("AGBROWSE_LOG", level).output().unwrap();
        assert!(opened.status.success());
        home.ok(["snapshot"]);
        home.ok(["snapshot"]);
        let log = home.ok(["daemon", "logs"]);
        let output: Vec<&str> = ["miss", "hit"]
            .into_iter()
            .filter(|word| log.contains(&format!("cache=\"{word}\"")))
            .collect();
        assert_eq!(output.len(), if is_told { 2 } else { 0 }, "{log}");
        if let (Some(miss), Some(hit)) = (log.find("\"miss\""), log.find("\"hit\"")) {
            assert!(miss < hit, "{log}");
        }
    }
}

/// Kills the browser and waits until the daemon notices.
fn kill_browser(home: &Home) {
    kill(home.browser_pid());
    wait_until("the loss is noticed", Duration::from_secs(60), || {
        home.json(["status"])["result"]["browser"].is_null()
    });
}

fn has_restart_note(output: &Value) -> bool {
    output["notes"].as_array().is_some_and(|notes| notes.iter().any(|it| it["code"] == "restarted"))
}

#[test]
fn batch_does_not_run_on_page_of_restarted_browser() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["open", "data:text/html,<title>Bank</title><button>Pay</button>"]);
    kill_browser(&home);
    let read_title = r#"{"verb":"eval","script":"document.title"}"#;
    let open = r#"{"verb":"open","url":"data:text/html,<title>New</title>"}"#;
    for steps in [vec![read_title], vec![read_title, open]] {
        let error = home.error([&["batch"], &*steps].concat());
        assert_eq!(error["errorCode"], "browser.lost", "{error}");
    }
    // A page opened by the batch itself is allowed, and the loss is reported with it.
    let done = home.json(["batch", open, read_title]);
    assert_eq!(done["result"]["replies"][1]["result"]["value"], "New", "{done}");
    assert!(has_restart_note(&done), "{done}");
    // The loss is reported once.
    assert_eq!(home.json(["batch", read_title])["notes"], Value::Null);
}

#[test]
fn browser_loss_is_reported_with_errors_too() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["open", "about:blank"]);
    kill_browser(&home);
    let output: Value =
        serde_json::from_str(&home.run(["open", "http://127.0.0.1:1/", "--json"]).err()).unwrap();
    assert_eq!(output["error"]["errorCode"], "navigation.failed", "{output}");
    assert!(has_restart_note(&output), "{output}");
    home.ok(["open", "about:blank"]);
    kill_browser(&home);
    let output = home.run(["open", "http://127.0.0.1:1/"]).err();
    assert!(output.contains("a new browser was started; the earlier tabs are gone"), "{output}");
}

#[test]
fn chromium_environment_has_no_secrets() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let mut open = home.command(["open", "about:blank"]);
    open.env("AGBROWSE_SECRET_PIN", "hunter2").env("ANTHROPIC_API_KEY", "hunter2");
    assert!(open.env("LC_TIME", "de_DE.UTF-8").output().unwrap().status.success());
    let browser = home.browser_pid();
    let processes = Home::processes_of(browser, &profile_of(browser));
    assert!(processes.len() > 1, "{processes:?}");
    for pid in processes {
        let held = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let held = String::from_utf8_lossy(&held).into_owned();
        assert!(!held.contains("hunter2"), "{pid}: {held}");
        assert!(pid != browser || held.contains("LC_TIME=de_DE.UTF-8"), "{held}");
    }
}

#[test]
fn downloads_are_temporary_unless_directory_is_given() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let page = "<a id=a download=note.txt href='data:text/plain,hello'>Save</a>";
    std::fs::write(home.path("project").join("page.html"), page).unwrap();
    let saved = |options: &[&str]| {
        home.ok([&["open", "./page.html"], options].concat());
        let done = home.json(["download", "css=#a"]);
        std::path::PathBuf::from(done["result"]["value"].as_str().unwrap())
    };
    let temporary = saved(&[]);
    assert_eq!(std::fs::read_to_string(&temporary).unwrap(), "hello");
    let closed = home.run(["close"]);
    assert!(
        closed.err().contains("1 downloaded file deleted with the browser"),
        "{}",
        closed.err()
    );
    wait_until("the directory is removed", Duration::from_secs(60), || {
        !temporary.parent().unwrap().exists()
    });
    let kept = saved(&["--downloads", "files"]);
    assert_eq!(kept, home.path("project").canonicalize().unwrap().join("files").join("note.txt"));
    assert_eq!(home.run(["close"]).err(), "");
    home.ok(["daemon", "stop", "--all"]);
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "hello");
}
