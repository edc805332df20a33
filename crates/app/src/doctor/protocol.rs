//! Check `protocol`: compares the CDP methods, events and fields that agbrowse uses with the browser's
//! `/json/protocol`. Only a browser with a debugging port serves it over HTTP, so the check launches one itself, without
//! [`Browser`](browser::Browser), which may fail to launch when the protocol has changed much.

use super::drift::{Drift, drift};
use super::{Finding, Severity, program};
use crate::config::Config;
use browser::launch::{Sandbox, get, sandbox};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// Shorter than the check's limit, so that the browser is always shut down in order.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Number of missing names in a message.
const MAX_NAMES: usize = 5;

/// Launches a browser that also has a debugging pipe, which is unused: the browser exits when the pipe closes, so also
/// when this process dies. The shell puts the two pipes on the file descriptors that the browser expects.
const LAUNCH_SCRIPT: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

const ARGS: &[&str] = &[
    "--headless=new",
    "--remote-debugging-port=0",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-sync",
];

pub(super) async fn run(config: &Config) -> Finding {
    let Ok(found) = program(config) else {
        return Finding::new(Severity::Warn, "not checked: no browser found")
            .fix("run `agbrowse install`");
    };
    let no_sandbox =
        config.settings.no_sandbox == Some(true) || sandbox(&found.path) != Sandbox::Usable;
    match fetch_protocol(&found.path, no_sandbox).await {
        Ok(json) => match drift(&json, browser::used_protocol()) {
            Ok(drift) => finding(&drift),
            Err(error) => {
                let detail =
                    format!("the browser's protocol description cannot be parsed: {error}");
                Finding::new(Severity::Warn, detail)
                    .fix("install another browser with `agbrowse install --force`")
            }
        },
        Err(why) => Finding::new(Severity::Warn, format!("not checked: {why}"))
            .fix("apply the fix of check `launch`, then try again"),
    }
}

fn finding(drift: &Drift) -> Finding {
    let Drift { calls, fields, missing_calls, missing_fields } = drift;
    if !missing_calls.is_empty() {
        return Finding::new(
            Severity::Fail,
            format!("the browser's protocol lacks {}", names(missing_calls)),
        )
        .fix("update agbrowse, or install a matching browser with `agbrowse install --force`");
    }
    if !missing_fields.is_empty() {
        let detail = format!("the browser's protocol lacks the fields {}", names(missing_fields));
        return Finding::new(Severity::Warn, detail)
            .fix("update agbrowse; until then, features that use these fields do not work");
    }
    let detail = format!("{calls} methods and events, {fields} fields as expected");
    Finding::new(Severity::Info, detail)
}

fn names(missing: &[String]) -> String {
    let listed = missing[..missing.len().min(MAX_NAMES)].join("`, `");
    match missing.len().saturating_sub(MAX_NAMES) {
        0 => format!("`{listed}`"),
        more => format!("`{listed}` and {more} more"),
    }
}

/// Launches a browser and returns its `/json/protocol`; leaves no process and no profile.
async fn fetch_protocol(program: &Path, no_sandbox: bool) -> Result<String, String> {
    let browser = TestBrowser::start(program, no_sandbox)
        .map_err(|error| format!("the browser cannot be launched: {error}"))?;
    let result = tokio::time::timeout(TIMEOUT, browser.fetch()).await;
    browser.shut_down().await;
    result.unwrap_or_else(|_| {
        Err(format!("no response from the browser within {} s", TIMEOUT.as_secs()))
    })
}

/// A browser with a debugging port and a temporary profile. Dropping it kills its process group.
struct TestBrowser {
    child: Child,
    pid: Pid,
    profile: TempDir,
}

impl TestBrowser {
    fn start(program: &Path, no_sandbox: bool) -> std::io::Result<Self> {
        let profile = tempfile::Builder::new().prefix("agbrowse-doctor-").tempdir()?;
        let mut command = Command::new("sh");
        command.arg("-c").arg(LAUNCH_SCRIPT).arg(program).args(args(profile.path(), no_sandbox));
        Self::spawn(&mut command, profile)
    }

    fn spawn(command: &mut Command, profile: TempDir) -> std::io::Result<Self> {
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let pid = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
            .ok_or_else(|| std::io::Error::other("no process id"))?;
        Ok(Self { child, pid, profile })
    }

    async fn fetch(&self) -> Result<String, String> {
        let port = self.port().await?;
        let body = get(&format!("127.0.0.1:{port}"), "/json/protocol")
            .await
            .map_err(|error| format!("`/json/protocol` of the browser failed: {error}"))?;
        String::from_utf8(body).map_err(|error| error.to_string())
    }

    /// Waits for `DevToolsActivePort` in the profile and returns the port.
    async fn port(&self) -> Result<u16, String> {
        let file = self.profile.path().join("DevToolsActivePort");
        let mut pause = Duration::from_millis(5);
        loop {
            if let Some(port) = std::fs::read_to_string(&file).ok().as_deref().and_then(parse_port)
            {
                return Ok(port);
            }
            if self.wait_for_exit(WaitIdOptions::NOHANG) {
                return Err("the browser exited before it opened its debugging port".to_owned());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    async fn shut_down(mut self) {
        self.kill();
        _ = self.child.wait().await;
        // Exiting browser processes may still create files.
        for _ in 0..20 {
            match std::fs::remove_dir_all(self.profile.path()) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                _ => return,
            }
        }
    }

    fn kill(&self) {
        _ = kill_process_group(self.pid, Signal::KILL);
    }

    /// Waits for the exit, or with `NOHANG` checks for it. Does not reap the process, so that its pid is not reused.
    fn wait_for_exit(&self, flags: WaitIdOptions) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | flags;
        matches!(waitid(WaitId::Pid(self.pid), options), Ok(Some(_)))
    }
}

impl Drop for TestBrowser {
    fn drop(&mut self) {
        // Without an id the child is reaped, and its pid may belong to another process.
        if self.child.id().is_some() {
            self.kill();
            self.wait_for_exit(WaitIdOptions::empty());
        }
    }
}

fn args(profile: &Path, no_sandbox: bool) -> Vec<OsString> {
    let mut user_data = OsString::from("--user-data-dir=");
    user_data.push(profile);
    let mut args: Vec<OsString> = ARGS.iter().map(Into::into).collect();
    args.push(user_data);
    if no_sandbox {
        args.push("--no-sandbox".into());
    }
    args.push("about:blank".into());
    args
}

/// Parses the port in `DevToolsActivePort`: its first line, once it ends with a newline.
fn parse_port(text: &str) -> Option<u16> {
    text.split_once('\n')?.0.trim().parse().ok().filter(|port| *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[test]
    fn missing_methods_fail_and_missing_fields_warn() {
        let all = || Drift { calls: 41, fields: 96, ..Drift::default() };
        let found = finding(&all());
        assert_eq!(found.detail, "41 methods and events, 96 fields as expected");
        assert!(found.ok && found.fix.is_none());

        let field = Drift { missing_fields: vec!["Page.go.url".into()], ..all() };
        let found = finding(&field);
        assert_eq!(found.severity, Severity::Warn);
        assert_eq!(found.detail, "the browser's protocol lacks the fields `Page.go.url`");
        assert!(found.fix.is_some());

        let found = finding(&Drift { missing_calls: vec!["Page.stop".into()], ..field });
        assert_eq!(found.severity, Severity::Fail);
        assert_eq!(found.detail, "the browser's protocol lacks `Page.stop`");
        assert!(found.fix.is_some());
    }

    #[test]
    fn long_lists_are_truncated() {
        let missing: Vec<String> = ["a", "b", "c", "d", "e", "f", "g"].map(str::to_owned).into();
        assert_eq!(names(&missing), "`a`, `b`, `c`, `d`, `e` and 2 more");
        assert_eq!(names(&missing[..2]), "`a`, `b`");
    }

    #[test]
    fn port_is_parsed_only_from_a_complete_line() {
        assert_eq!(parse_port("45213\n/devtools/browser/c8a5"), Some(45213));
        for text in ["", "452", "\n", "0\n/", "99999\n/", "port\n/"] {
            assert_eq!(parse_port(text), None, "{text:?}");
        }
    }

    #[tokio::test]
    async fn program_that_exits_at_once_is_reported() {
        for program in ["/bin/false", "/nowhere/chromium"] {
            let why = fetch_protocol(Path::new(program), false).await.unwrap_err();
            assert_eq!(why, "the browser exited before it opened its debugging port", "{program}");
        }
    }

    /// Reads until the last process that holds the pipe has exited.
    async fn wait_for_eof(mut output: tokio::process::ChildStdout) {
        let mut bytes = Vec::new();
        let read = output.read_to_end(&mut bytes);
        tokio::time::timeout(Duration::from_secs(20), read).await.unwrap().unwrap();
    }

    fn shell_with_children() -> TestBrowser {
        let profile = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        TestBrowser::spawn(shell.args(["-c", "sleep 60 & sleep 60"]), profile).unwrap()
    }

    #[tokio::test]
    async fn drop_kills_the_process_group() {
        let mut running = shell_with_children();
        let profile = running.profile.path().to_owned();
        let output = running.child.stdout.take().unwrap();
        drop(running);
        wait_for_eof(output).await;
        assert!(!profile.exists());
    }

    #[tokio::test]
    async fn shut_down_leaves_no_process_and_no_profile() {
        let mut running = shell_with_children();
        let profile = running.profile.path().to_owned();
        let output = running.child.stdout.take().unwrap();
        running.shut_down().await;
        wait_for_eof(output).await;
        assert!(!profile.exists());
    }
}
