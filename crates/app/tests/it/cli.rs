//! The command line: results, errors, exit codes, settings, sessions.

use crate::sandbox::{CommandOutput, Home, has_browser, wait_until};
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn page_is_opened_inspected_and_closed() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let opened = home.json(["open", "data:text/html,<title>Fern</title><h1>Fern</h1>"]);
    assert_eq!(
        (&opened["ok"], &opened["verb"], &opened["tab"]),
        (&true.into(), &"open".into(), &"t1".into())
    );
    assert_eq!(opened["result"]["title"], "Fern");
    assert_eq!(home.ok(["eval", "document.querySelector('h1').textContent"]), "Fern");
    assert_eq!(
        home.ok(["tabs"]),
        "* t1   data:text/html,<title>Fern</title><h1>Fern</h1>  \"Fern\""
    );
    home.ok(["screenshot", "shot.webp"]);
    assert!(std::fs::read(home.path("project/shot.webp")).unwrap().starts_with(b"RIFF"));
    let picture = home.run(["screenshot", "-"]);
    assert!(picture.0.stdout.starts_with(b"\x89PNG"), "a picture and nothing else");
    home.ok(["pdf", "page.pdf"]);
    assert!(std::fs::read(home.path("project/page.pdf")).unwrap().starts_with(b"%PDF"));
    for _ in 0..2 {
        home.ok(["screenshot"]);
    }
    let named = std::fs::read_dir(home.path("project")).unwrap();
    let named = named.filter(|entry| {
        entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("screenshot-")
    });
    assert_eq!(named.count(), 2, "no picture overwrites another");

    assert_eq!(home.ok(["close"]), "closed the browser with 1 tab");
    wait_until("the daemon is gone", Duration::from_secs(60), || {
        home.ok(["sessions"]) == "no sessions"
    });
    assert_eq!(home.ok(["tabs"]), "no tabs");
}

#[test]
fn page_text_cannot_control_terminal() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["open", "data:text/html,<h1>x</h1><button class=b>Go</button>"]);
    let script = "const wild = '\\u009b2J\\u0085\\u007f'; document.title = 'T' + wild; \
                  document.querySelector('h1').setAttribute('aria-label', 'H' + wild); 1";
    home.ok(["eval", script]);
    for args in [vec!["snapshot"], vec!["find", "H"], vec!["tabs"], vec!["snapshot", "--json"]] {
        let done = home.run(&args);
        let text = done.out() + &done.err();
        let is_wild = |c: char| c.is_control() && c != '\n';
        assert!(!text.contains(is_wild), "{args:?}: {text:?}");
    }
    // The argument before the file is a target, in any notation.
    for target in ["role=button", ".b", "text=Go"] {
        home.ok(["screenshot", target, "button.png"]);
        let picture = std::fs::read(home.path("project/button.png")).unwrap();
        let width = u32::from_be_bytes(picture[16..20].try_into().unwrap());
        assert!(width < 400, "{target}: {width}");
    }
    let done = home.run(["snapshot", "--delta", "--find", "x"]);
    assert_eq!(done.code(), 2, "{}", done.err());
    let done = home.run(["snapshot", "--find", "zzzz"]);
    assert_eq!((done.code(), &*done.out()), (0, "nothing found"), "{}", done.err());
}

#[test]
fn eval_reads_script_from_stdin() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let mut child =
        home.command(["eval", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"const parts = ['a', 'b'];\nparts.join('-')").unwrap();
    assert_eq!(String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout), "a-b\n");
}

#[test]
fn error_is_printed_once_on_stderr() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let done = home.run(["eval", "nothing.here", "--json"]);
    assert_eq!((done.code(), done.out()), (1, String::new()));
    let envelope: serde_json::Value = serde_json::from_str(&done.err()).unwrap();
    assert_eq!((&envelope["ok"], &envelope["status"]), (&false.into(), &"error".into()));
    let keys: Vec<&String> = envelope["error"].as_object().unwrap().keys().collect();
    // serde_json's map sorts; the order of the keys is tested where the error is defined.
    let expected = [
        "errorCode",
        "evidence",
        "message",
        "mutationAllowed",
        "name",
        "retryHint",
        "selectorsTried",
        "stage",
    ];
    assert_eq!(keys, expected);
    let by_variable =
        home.command(["eval", "nothing.here"]).env("AGBROWSE_JSON_ERRORS", "1").output().unwrap();
    assert!(String::from_utf8_lossy(&by_variable.stderr).starts_with("{\n  \"ok\": false"));
    let plain = home.run(["eval", "nothing.here"]).err();
    assert!(plain.starts_with("error: the script threw \"ReferenceError"), "{plain}");
    assert!(plain.contains("[eval.threw] fix-expression:") && !plain.contains('\u{1b}'), "{plain}");
    let coloured = home.run(["eval", "nothing.here", "--color=always"]).err();
    assert!(coloured.contains('\u{1b}'), "{coloured}");
}

#[test]
fn usage_error_exits_with_2_and_suggests_correction() {
    let home = Home::new();
    for (args, part) in [
        (vec!["tabz"], "similar subcommand"),
        (vec!["mpc"], "similar subcommand exists: 'mcp'"),
        (vec!["tabs", "--sesion", "x"], "--session"),
        (vec!["open"], "<URL>"),
        (vec!["open", "x", "--timeout", "soon"], "expected a time"),
        (vec!["tab", "switch", "zero"], "expected `t` and a number"),
        (vec!["screenshot", "x.png", "--format", "webp"], "is named png"),
        (vec!["screenshot", "x.gif"], "screenshots are png, jpeg or webp"),
        (vec!["screenshot", "role=nonsense", "x.png"], "is no role"),
        (vec!["snapshot", "--nodes"], "needs `--json`"),
        (
            vec!["snapshot", "--format", "viewpoint", "--json"],
            "cannot be combined with `--format viewpoint`",
        ),
        (vec!["doctor", "brwser"], "did you mean `browser`"),
        (vec!["--session", "../evil", "tabs"], "letters, digits"),
    ] {
        let done = home.run(&args);
        assert_eq!(done.code(), 2, "{args:?}: {}", done.err());
        assert!(done.err().contains(part), "{args:?}: {}", done.err());
    }
    let envelope = home.error(["tabz"]);
    assert_eq!(envelope["errorCode"], "command.invalid");
    assert!(envelope["evidence"]["tip"].as_str().unwrap().contains("tabs"), "{envelope}");
}

#[test]
fn usage_error_is_json_with_json_flag() {
    let home = Home::new();
    let is_json = |home: &Home, args: &[&str], variables: &[(&str, &str)]| {
        let mut command = home.command(args);
        let done = CommandOutput(command.envs(variables.iter().copied()).output().unwrap());
        assert_eq!(done.code(), 2, "{}", done.err());
        serde_json::from_str::<serde_json::Value>(&done.err()).is_ok()
    };
    for word in ["1", "true", "yes", "on"] {
        assert!(is_json(&home, &["fly"], &[("AGBROWSE_JSON", word)]), "{word}");
        assert!(is_json(&home, &["fly"], &[("AGBROWSE_JSON_ERRORS", word)]), "{word}");
    }
    assert!(is_json(&home, &["fly", "--json"], &[]));
    for word in ["0", "no", "off"] {
        assert!(!is_json(&home, &["fly"], &[("AGBROWSE_JSON", word)]), "{word}");
    }
    assert!(!is_json(&home, &["fly", "--json=false"], &[("AGBROWSE_JSON", "yes")]));
    std::fs::write(home.path("project/agbrowse.toml"), "json = true\n").unwrap();
    assert!(is_json(&home, &["fly"], &[]), "by the project's file");
}

#[test]
fn mistyped_session_is_not_created() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["--session", "research", "eval", "1"]);
    let error = home.error(["--session", "reserch", "tabs"]);
    assert_eq!(error["errorCode"], "session.not-found");
    assert!(error["message"].as_str().unwrap().contains("did you mean `research`?"), "{error}");
    let slip = home.run(["--session", "reserch", "eval", "1"]);
    assert_eq!((slip.code(), slip.out()), (0, "1".into()));
    assert!(slip.err().contains("`research` is there already"), "{}", slip.err());
    let slip = home.json(["--session", "resaerch", "eval", "1"]);
    let notes = slip["notes"].to_string();
    assert!(notes.contains("session-started") && notes.contains("`research`"), "{slip}");
    let slip = home.error(["--session", "resarch", "eval", "nothing.here"]);
    assert!(slip["evidence"].to_string().contains("is there already"), "{slip}");
    home.ok(["--session", "reserch", "close"]);
    home.ok(["--session", "agent1", "eval", "1"]);
    let numbered = home.run(["--session", "agent2", "eval", "1"]);
    assert!(
        numbered.code() == 0 && !numbered.err().contains("there already"),
        "{}",
        numbered.err()
    );
    home.ok(["--session", "agent1", "close"]);
    home.ok(["--session", "agent2", "close"]);
    // A snapshot of the current page needs a session; a snapshot of a URL does not.
    assert_eq!(home.error(["-s", "fresh", "snapshot"])["errorCode"], "session.not-found");
    let shown = home.ok(["-s", "fresh", "snapshot", "data:text/html,<button>Go</button>"]);
    assert!(shown.contains("button \"Go\""), "{shown}");
    home.ok(["-s", "fresh", "close"]);
    // A lost session is reported as lost by every command.
    crate::sandbox::kill(crate::sandbox::number(
        &home.json(["-s", "research", "daemon", "status"])["result"]["pid"],
    ));
    assert_eq!(home.error(["-s", "research", "tabs"])["errorCode"], "browser.lost");
    assert_eq!(
        home.error(["--session", "unheard", "daemon", "status"])["errorCode"],
        "session.not-found"
    );
    assert!(home.ok(["sessions"]).contains("research  running"));
}

#[test]
fn settings_come_from_five_sources() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("config/agbrowse")).unwrap();
    std::fs::write(
        home.path("config/agbrowse/config.toml"),
        "timeout = \"9s\"\nviewport = \"800x600\"\nheaded = true",
    )
    .unwrap();
    std::fs::write(home.path("agbrowse.toml"), "timeout = \"8s\"\nsession = \"project\"").unwrap();
    let mut command = home.command(["config", "show", "--json", "--session", "flag"]);
    command.env("AGBROWSE_TIMEOUT", "7s").env("AGBROWSE_HEADED", "0");
    let shown: serde_json::Value =
        serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let lines = shown["result"]["settings"].as_array().unwrap();
    let line = |key: &str| lines.iter().find(|line| line["key"] == key).unwrap();
    for (key, value, from) in [
        ("session", serde_json::json!("flag"), "flag"),
        ("timeout", serde_json::json!("7s"), "variable"),
        ("headed", serde_json::json!(false), "variable"),
        ("viewport", serde_json::json!("800x600"), "user-file"),
        ("idle-timeout", serde_json::json!("30m"), "default"),
    ] {
        assert_eq!((&line(key)["value"], &line(key)["from"]), (&value, &from.into()), "{key}");
    }
    assert!(line("viewport")["at"].as_str().unwrap().ends_with("config/agbrowse/config.toml"));
    std::fs::write(home.path("agbrowse.toml"), "sesion = \"x\"").unwrap();
    let done = home.run(["config", "show"]);
    assert_eq!(done.code(), 2);
    assert!(done.err().contains("did you mean `session`?"), "{}", done.err());
}

#[test]
fn world_writable_project_file_sets_no_executable() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let file = home.path("agbrowse.toml");
    let text = "timeout = \"8s\"\nchrome = \"/bin/false\"\nchrome-arg = [\"--a\", \"--b\"]";
    std::fs::write(&file, text).unwrap();
    for (mode, is_heeded) in [(0o644, true), (0o646, false)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let done = home.run(["config", "show"]);
        assert!(done.out().contains("8s"), "{}", done.out());
        assert_eq!(done.out().contains("/bin/false"), is_heeded, "{}", done.out());
        let output = done.err().contains("ignoring `chrome`, `chrome-arg` in `");
        assert_eq!(output, !is_heeded, "{}", done.err());
    }
    let reply = home.json(["status"]);
    assert_eq!(reply["notes"][0]["code"], "settings-skipped", "{reply}");
    // The note accompanies errors, too.
    let error = home.error(["--session", "unheard", "tabs"]);
    assert_eq!(error["errorCode"], "session.not-found");
    let note = error["evidence"]["notes"][0].as_str().unwrap_or_default();
    assert!(note.contains("other users can write to it (fix: `chmod go-w "), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn profile_lock_of_zombie_process_is_stale() {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let home = Home::new();
    let mut owner = std::process::Command::new("true").spawn().unwrap();
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(Pid::from_child(&owner)), ended).unwrap();
    let profile = home.path("data/agbrowse/profiles/work");
    std::fs::create_dir_all(&profile).unwrap();
    let lock = format!(r#"{{"pid":{},"token":"x"}}"#, owner.id());
    std::fs::write(profile.join("profile.lock"), lock).unwrap();
    let output = home.run(["doctor", "stale"]).out();
    assert!(output.contains("profile `work` is locked by an exited process"), "{output}");
    owner.wait().unwrap();
}

#[test]
fn missing_browser_error_suggests_install() {
    let home = Home::new();
    let mut command = home.command(["eval", "1", "--json", "--chrome", "/nonexistent/chrome"]);
    let done = command.output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(error.contains("browser.not-found") && error.contains("install-browser"), "{error}");
}

#[test]
fn bare_browser_name_is_searched_on_path() {
    let home = Home::new();
    let make = |path: &str| {
        let path = home.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/bin/false", &path).unwrap();
        path
    };
    let on_path = make("bin/my-browser");
    let here = make("project/my-browser");
    let only_here = make("project/other-browser");
    for (name, expected) in
        [("my-browser", &on_path), ("./my-browser", &here), ("other-browser", &only_here)]
    {
        let mut command = home.command(["doctor", "browser", "--json", "--chrome", name]);
        let path = std::env::join_paths([home.path("bin"), "/usr/bin".into(), "/bin".into()]);
        let output = command.env("PATH", path.unwrap()).output().unwrap();
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let expected = format!("`{} --version`", expected.display());
        assert!(output.contains(&expected), "{name}: {output}");
    }
}

#[test]
fn headed_mode_requires_display() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let mut command = home.command(["--headed", "eval", "1", "--json"]);
    let done = command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(error.contains("no display") && error.contains("set-display"), "{error}");
}

#[test]
fn headed_mode_refuses_headless_shell() {
    let home = Home::new();
    let shell = home.path("headless_shell");
    std::os::unix::fs::symlink("/bin/true", &shell).unwrap();
    let error = home.error(["--headed", "eval", "1", "--chrome", shell.to_str().unwrap()]);
    assert_eq!(
        (&error["errorCode"], &error["retryHint"]),
        (&"browser.not-found".into(), &"install-browser".into())
    );
    assert!(error["message"].as_str().unwrap().contains("has no windows"), "{error}");
}

#[test]
fn completions_and_man_page_are_generated() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(home.ok(["completions", shell]).contains("screenshot"), "{shell}");
    }
    assert!(home.ok(["man"]).contains(".TH agbrowse 1"));
    home.ok(["man", "pages"]);
    assert!(home.path("project/pages/agbrowse-tab-new.1").exists());
    assert!(home.ok(["--version"]).starts_with("agbrowse 0."));
}

#[test]
fn session_refuses_different_launch_options() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    assert_eq!(home.ok(["--viewport", "640x480", "eval", "innerWidth"]), "640");
    assert_eq!(home.ok(["eval", "innerWidth"]), "640");
    let error = home.error(["--viewport", "800x600", "eval", "1"]);
    assert_eq!(error["errorCode"], "browser.options-conflict");
    home.ok(["--viewport", "800x600", "close"]);
    assert_eq!(home.ok(["--viewport", "800x600", "eval", "innerWidth"]), "800");
}

#[test]
fn looping_page_does_not_block_other_commands() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let page = "data:text/html,<script>setTimeout(() => { while (true) {} }, 0)</script>";
    home.ok(["open", page, "--until", "commit"]);
    // The script of the page may not have started yet.
    let mut text = String::new();
    wait_until("the page is stuck", Duration::from_secs(60), || {
        let done = home.run(["eval", "1", "--timeout", "1s", "--json"]);
        text = done.err();
        done.code() != 0
    });
    assert!(text.contains("page.unresponsive"), "{text}");
    let mut held = home.start(["eval", "1", "--timeout", "20s"]);
    wait_until("the command is running", Duration::from_secs(60), || {
        home.ok(["tabs"]).contains("[busy]")
    });
    for verb in ["tabs", "status"] {
        // The best of three attempts meets the limit: the machine may be loaded.
        let took = (0..3).map(|_| timed(&home, verb)).min().unwrap();
        assert!(took < Duration::from_millis(100), "{verb} took {took:?}");
    }
    assert_eq!(
        home.ok(["tab", "new", "data:text/html,<title>fine</title>"]).split(' ').next(),
        Some("t2")
    );
    assert_eq!(home.ok(["eval", "document.title"]), "fine");
    // A single attempt, so the limit leaves room for a loaded machine.
    let took = timed(&home, "close");
    assert!(took < Duration::from_millis(400), "close took {took:?}");
    assert_eq!(held.wait().unwrap().code(), Some(1), "its browser is gone");
}

/// The duration of a command, from start to exit.
fn timed(home: &Home, verb: &str) -> Duration {
    let began = Instant::now();
    home.ok([verb]);
    let took = began.elapsed();
    println!("{verb}: {took:?}");
    took
}

#[test]
fn demo_tour_passes() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let output = home.json(["demo", "--pictures", "pictures"]);
    let broken: Vec<_> = output["result"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["ok"] != true)
        .collect();
    assert!(broken.is_empty(), "{broken:#?}");
    for name in ["shop.png", "lab.png", "checkout.pdf", "catalogue.csv", "ada.json"] {
        assert!(home.path("project/pictures").join(name).exists(), "{name}");
    }
    assert_eq!(home.ok(["sessions"]), "no sessions", "it has a browser of its own");
}

#[test]
fn demo_fails_when_files_cannot_be_written() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    // A directory of that name blocks the file, also for root.
    let temporary = home.path("temporary");
    let own = format!("agbrowse-demo-{}", rustix::process::getuid().as_raw());
    std::fs::create_dir_all(temporary.join(own).join("shop.png")).unwrap();
    let mut command = home.command(["demo", "--json"]);
    let done = CommandOutput(command.env("TMPDIR", &temporary).output().unwrap());
    assert_eq!(done.code(), 1, "{}", done.out());
    let output: serde_json::Value = serde_json::from_str(&done.out()).unwrap();
    assert_eq!((&output["ok"], &output["result"]["ok"]), (&false.into(), &false.into()));
    let steps = output["result"]["steps"].as_array().unwrap();
    let broken: Vec<_> = steps.iter().filter(|step| step["ok"] != true).collect();
    let [step] = *broken else { panic!("{broken:#?}") };
    assert!(step["command"].as_str().unwrap().ends_with("shop.png"), "{step}");
}

#[test]
fn storage_file_is_owner_only_and_values_are_not_printed() {
    use std::os::unix::fs::PermissionsExt;
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let file = |name: &str| home.path("project").join(name);
    let state = r#"{
        "cookies": [{"name":"who","value":"hunter2","domain":"shop.invalid","path":"/","expires":-1}],
        "origins": [{"origin":"http://shop.invalid","localStorage":[{"name":"a","value":"hunter2"}]}]
    }"#;
    std::fs::write(file("in.json"), state).unwrap();
    let loaded = home.ok(["--context", "ada", "storage", "load", "in.json"]);
    assert_eq!(loaded, "in.json  loaded 1 cookie, 1 entry of 1 origin");
    // An existing file was readable by others before.
    std::fs::write(file("out.json"), "").unwrap();
    let saved = home.json(["--context", "ada", "storage", "save", "out.json"]);
    assert_eq!((&saved["result"]["cookies"], &saved["result"]["is"]), (&1.into(), &"saved".into()));
    assert!(!saved.to_string().contains("hunter2"), "{saved}");
    for _ in 0..2 {
        let mode = std::fs::metadata(file("out.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(std::fs::read_to_string(file("out.json")).unwrap().contains("hunter2"));
        home.ok(["--context", "ada", "storage", "save", "out.json"]);
    }
    std::fs::write(file("bad.json"), state.replace("-1", "\"hunter2\"")).unwrap();
    for (args, code) in [
        (["load", "bad.json"], "storage.invalid"),
        (["load", "none.json"], "file.read-failed"),
        (["save", "-"], "command.invalid"),
        (["save", "/dev/null"], "file.write-failed"),
        (["save", "no/such/folder"], "file.write-failed"),
    ] {
        let error = home.error(["--context", "ada", "storage"].iter().chain(&args));
        assert_eq!(error["errorCode"], code, "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
    assert!(!home.ok(["daemon", "logs"]).contains("hunter2"));
}
