//! `doctor` with working and broken browsers.

use crate::sandbox::{CommandOutput, Home, has_browser};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// Every check with its limit in seconds.
const CHECKS: &[(&str, u64)] = &[
    ("browser", 10),
    ("launch", 45),
    ("sandbox", 5),
    ("shared-memory", 5),
    ("fonts", 15),
    ("socket", 5),
    ("stale", 20),
    ("protocol", 45),
    ("version", 20),
];

/// Runs `doctor`; returns its findings and exit code. Checks that each finding is complete.
fn run_doctor(home: &Home, args: &[&str]) -> (Vec<Value>, i32) {
    let done = CommandOutput(home.command(["doctor", "--json"]).args(args).output().unwrap());
    let report: Value =
        serde_json::from_str(&done.out()).unwrap_or_else(|_| panic!("{}", done.err()));
    let result = &report["result"];
    let checks = result["checks"].as_array().unwrap().clone();
    for check in &checks {
        let (ok, severity) = (check["ok"] == true, check["severity"].as_str().unwrap());
        assert_eq!(ok, severity == "info", "{check}");
        assert!(ok || check["fix"].is_string(), "a failed check has a fix: {check}");
        assert!(!check["detail"].as_str().unwrap().is_empty(), "{check}");
        let (_, limit_s) = CHECKS.iter().find(|(id, _)| check["id"] == *id).unwrap();
        let ms = check["ms"].as_u64().unwrap();
        assert!(ms < limit_s * 1000 + 2000, "{check}");
    }
    let works = !checks.iter().any(|check| check["severity"] == "fail");
    assert_eq!((&report["ok"], &result["ok"]), (&works.into(), &works.into()), "{report}");
    assert_eq!(done.code(), i32::from(!works), "{report}");
    (checks, done.code())
}

fn finding<'a>(checks: &'a [Value], id: &str) -> &'a Value {
    checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no check `{id}`"))
}

/// Writes a shell script in place of a browser.
fn write_fake_browser(home: &Home, name: &str, script: &str) -> String {
    let path = home.path(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn all_doctor_checks_run_with_real_browser() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let (checks, code) = run_doctor(&home, &[]);
    let ids: Vec<&str> = checks.iter().map(|check| check["id"].as_str().unwrap()).collect();
    assert_eq!(ids, CHECKS.iter().map(|(id, _)| *id).collect::<Vec<_>>());
    assert_eq!(code, 0, "{checks:#?}");
    // The other checks depend on the machine: fonts or a sandbox may be missing, with a fix.
    for id in ["browser", "launch", "socket", "stale", "protocol", "version"] {
        assert!(finding(&checks, id)["ok"] == true, "{}", finding(&checks, id));
    }
    let protocol = finding(&checks, "protocol")["detail"].as_str().unwrap();
    assert!(protocol.ends_with("fields as expected"), "{protocol}");
    // The same as text.
    let output = home.run(["doctor", "launch", "version"]);
    assert_eq!(output.code(), 0, "{}", output.err());
    assert!(
        output.out().starts_with("ok    launch          started and answered within "),
        "{}",
        output.out()
    );
    assert!(output.out().ends_with("no check failed"), "{}", output.out());
    assert_eq!(home.ok(["sessions"]), "no sessions", "it has a browser of its own");
}

#[test]
fn broken_browser_is_reported_by_first_failing_check() {
    let home = Home::new();
    // One that only exits, and one that only prints its version.
    let dead = write_fake_browser(&home, "dead", "echo 'it cannot go on' >&2; exit 3");
    let named = "[ \"$1\" = --version ] && { echo 'Chromium 1.2.3'; exit 0; }";
    let named =
        write_fake_browser(&home, "named", &format!("{named}\necho 'it cannot go on' >&2; exit 3"));
    for (chrome, is_named) in [(&dead, false), (&named, true)] {
        let (checks, code) =
            run_doctor(&home, &["--chrome", chrome, "browser", "launch", "protocol", "version"]);
        assert_eq!(code, 1, "{checks:#?}");
        let browser = finding(&checks, "browser");
        assert_eq!(browser["severity"], if is_named { "info" } else { "fail" }, "{browser}");
        let part = if is_named { "Chromium 1.2.3" } else { "failed with exit status: 3" };
        assert!(browser["detail"].as_str().unwrap().contains(part), "{browser}");

        let launch = finding(&checks, "launch");
        assert_eq!(launch["severity"], "fail", "{launch}");
        assert!(launch["detail"].as_str().unwrap().ends_with("it cannot go on"), "{launch}");
        assert!(launch["fix"].as_str().unwrap().contains("install --force"), "{launch}");

        // Consequential failures refer to their cause.
        let protocol = finding(&checks, "protocol");
        assert_eq!(protocol["severity"], "warn", "{protocol}");
        assert!(protocol["fix"].as_str().unwrap().contains("`launch`"), "{protocol}");
        assert_eq!(finding(&checks, "version")["ok"], true);
    }
}

#[test]
fn unresponsive_browser_does_not_block_doctor() {
    let home = Home::new();
    let silent = write_fake_browser(&home, "silent", "exec sleep 60");
    let began = Instant::now();
    let (checks, code) = run_doctor(&home, &["--chrome", &silent, "browser", "version"]);
    assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
    assert_eq!(code, 1);
    let browser = finding(&checks, "browser");
    assert_eq!(browser["detail"], "no result within 10 s");
}
