//! The daemon against clients that do everything wrong, and against its own end.

use crate::home::{Home, client, has_browser, kill, number, wait_until};
use agbrowse::daemon::{Action, MAX_REQUEST};
use serde_json::Value;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

fn frame(json: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(json.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend([0; 4]);
    bytes.extend(json);
    bytes
}

/// Sends bytes as they are and returns the answer's JSON; `None` when the daemon hangs up without one.
fn exchange(home: &Home, bytes: &[u8]) -> Option<Value> {
    let mut stream = UnixStream::connect(home.socket("default")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // The daemon may stop reading early; what it says counts.
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
fn malformed_requests_are_refused_and_harm_nobody() {
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
    // As long as allowed, but no request.
    assert_eq!(code(exchange(&home, &frame(&vec![b' '; MAX_REQUEST]))), "daemon.bad-frame");
    // Gone in the middle of a frame.
    for cut in [1, 7, 8, 12] {
        let mut stream = UnixStream::connect(home.socket("default")).unwrap();
        stream.write_all(&frame(b"{\"version\":1}")[..cut]).unwrap();
    }
    assert_eq!(home.ok(["eval", "window.mark"]), "kept");
    wait_until("its memory is small again", Duration::from_secs(10), || {
        rss_kb(&home) < before + 12 * 1024
    });
}

#[test]
fn a_client_that_never_reads_is_left_behind() {
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
    // Others are served meanwhile.
    assert_eq!(home.ok(["eval", "2"]), "2");
    wait_until("it hung up on them", Duration::from_secs(40), || {
        number(&home.json(["daemon", "status"])["result"]["clients"]) == 1
    });
    drop(deaf);
    wait_until("its memory is small again", Duration::from_secs(10), || {
        rss_kb(&home) < before + 12 * 1024
    });
}

#[test]
fn killing_a_client_cancels_its_command() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["eval", "window.count = 0"]);
    let mut child = home.start(["eval", "while (true) { window.count++ }", "--timeout", "60s"]);
    wait_until("it runs", Duration::from_secs(10), || home.ok(["tabs"]).contains("[busy]"));
    kill(child.id());
    child.wait().unwrap();
    assert_eq!(home.ok(["eval", "window.count > 0", "--timeout", "5s"]), "true");
}

#[test]
fn many_first_commands_make_one_daemon() {
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
fn an_idle_daemon_ends_and_the_next_command_says_so() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["open", "data:text/html,<title>x</title>", "--idle-timeout", "300ms"]);
    wait_until("it ends", Duration::from_secs(10), || !home.socket("default").exists());
    let error = home.error(["eval", "document.title"]);
    assert_eq!(error["errorCode"], "browser.lost");
    assert!(error["message"].as_str().unwrap().contains("idle"), "{error}");
    // Told as often as somebody asks, whoever it is, until a page is opened again.
    assert_eq!(home.error(["tabs"])["errorCode"], "browser.lost");
    let opened = home.json(["open", "data:text/html,<title>y</title>"]);
    assert!(
        opened["notes"].as_array().unwrap().iter().any(|note| note["code"] == "restarted"),
        "{opened}"
    );
    assert_eq!(home.ok(["eval", "document.title"]), "y");
}

#[test]
fn a_stopped_daemon_leaves_nothing() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["eval", "1"]);
    let (browser, profile) = (home.browser_pid(), crate::home::profile_of(home.browser_pid()));
    assert!(home.ok(["daemon", "logs"]).contains("listening"));
    assert_eq!(home.ok(["daemon", "stop"]), "stopped default");
    assert_eq!(home.ok(["daemon", "stop"]), "no daemon was running");
    assert!(Home::processes_of(browser, &profile).is_empty());
    assert_eq!(home.ok(["sessions"]), "no sessions");
    // A new one starts afresh: nothing was lost that the caller did not give up.
    assert_eq!(home.ok(["eval", "location.href"]), "about:blank");
}

#[test]
fn one_line_can_carry_many_requests() {
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
        let action = Action::Run { request, wish: Default::default() };
        let outcome = line.run(&action, Duration::from_secs(20)).unwrap();
        assert_eq!(outcome.reply.to_string(), (number * 2).to_string());
    }
}

#[test]
fn a_daemon_holds_nothing_of_its_starters() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let program = env!("CARGO_BIN_EXE_agbrowse");
    // A shell hands a pipe down as descriptor 9. Its reader sees the end only when nobody holds it.
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
    assert!(home.daemon_pid() > 0, "it runs on");
}
