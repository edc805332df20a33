//! Does the browser still offer the protocol that we use? It is asked over HTTP, which only a browser with a
//! port answers, so one is started for the question: apart from [`Browser`](browser::Browser), which may be
//! unable to start when much has changed.

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

/// Less than the check's own limit, so that the browser is always ended in order.
const PATIENCE: Duration = Duration::from_secs(30);

/// Names shown of what is missing.
const SHOWN: usize = 5;

/// Starts a browser with the protocol also on our two pipes, which nobody uses: it ends when they close, and
/// so when we end, in any way. The shell only puts them where the browser looks for them.
const START: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#;

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

pub(super) async fn look(config: &Config) -> Finding {
    let Ok(found) = program(config) else {
        return Finding::new(Severity::Warn, "not compared: there is no browser")
            .fix("run `agbrowse install`");
    };
    let no_sandbox =
        config.settings.no_sandbox == Some(true) || sandbox(&found.path) != Sandbox::Usable;
    match ask(&found.path, no_sandbox).await {
        Ok(json) => match drift(&json, browser::used_protocol()) {
            Ok(drift) => finding(&drift),
            Err(error) => {
                let detail = format!("the browser's own description cannot be read: {error}");
                Finding::new(Severity::Warn, detail)
                    .fix("get another browser with `agbrowse install --force`")
            }
        },
        Err(why) => Finding::new(Severity::Warn, format!("not compared: {why}"))
            .fix("do what the check `launch` says, then try again"),
    }
}

fn finding(drift: &Drift) -> Finding {
    let Drift { calls, fields, missing_calls, missing_fields } = drift;
    if !missing_calls.is_empty() {
        return Finding::new(Severity::Fail, format!("the browser lacks {}", names(missing_calls)))
            .fix("update agbrowse, or get a browser of our time with `agbrowse install --force`");
    }
    if !missing_fields.is_empty() {
        let detail = format!("the browser does not know {}", names(missing_fields));
        return Finding::new(Severity::Warn, detail)
            .fix("update agbrowse; until then, what depends on these fields does not work");
    }
    let detail = format!("{calls} methods and events, {fields} fields as expected");
    Finding::new(Severity::Info, detail)
}

fn names(missing: &[String]) -> String {
    let shown = missing[..missing.len().min(SHOWN)].join("`, `");
    match missing.len().saturating_sub(SHOWN) {
        0 => format!("`{shown}`"),
        more => format!("`{shown}` and {more} more"),
    }
}

/// What a browser says of its protocol. Nothing is left of it afterwards.
async fn ask(program: &Path, no_sandbox: bool) -> Result<String, String> {
    let browser = Running::start(program, no_sandbox)
        .map_err(|error| format!("the browser cannot be started: {error}"))?;
    let answer = tokio::time::timeout(PATIENCE, browser.protocol()).await;
    browser.end().await;
    answer.unwrap_or_else(|_| {
        Err(format!("the browser does not answer within {} s", PATIENCE.as_secs()))
    })
}

/// A browser with a port and a profile of its own. Dropped, it is killed with all its processes.
struct Running {
    child: Child,
    pid: Pid,
    profile: TempDir,
}

impl Running {
    fn start(program: &Path, no_sandbox: bool) -> std::io::Result<Self> {
        let profile = tempfile::Builder::new().prefix("agbrowse-doctor-").tempdir()?;
        let mut command = Command::new("sh");
        command.arg("-c").arg(START).arg(program).args(args(profile.path(), no_sandbox));
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
            .ok_or_else(|| std::io::Error::other("it has no process"))?;
        Ok(Self { child, pid, profile })
    }

    async fn protocol(&self) -> Result<String, String> {
        let port = self.port().await?;
        let body = get(&format!("127.0.0.1:{port}"), "/json/protocol")
            .await
            .map_err(|error| format!("the browser does not describe its protocol: {error}"))?;
        String::from_utf8(body).map_err(|error| error.to_string())
    }

    /// The port, as soon as the browser has written it down.
    async fn port(&self) -> Result<u16, String> {
        let file = self.profile.path().join("DevToolsActivePort");
        let mut pause = Duration::from_millis(5);
        loop {
            if let Some(port) = std::fs::read_to_string(&file).ok().as_deref().and_then(port_in) {
                return Ok(port);
            }
            if self.wait(WaitIdOptions::NOHANG) {
                return Err("the browser ended before it listened".to_owned());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    async fn end(mut self) {
        self.kill();
        _ = self.child.wait().await;
        // Processes of the browser that are still dying may add a file meanwhile.
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

    /// Whether it has ended. It is not reaped here: until then its number is its own.
    fn wait(&self, how: WaitIdOptions) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | how;
        matches!(waitid(WaitId::Pid(self.pid), options), Ok(Some(_)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Without a number it is reaped, and the number may be somebody else's.
        if self.child.id().is_some() {
            self.kill();
            self.wait(WaitIdOptions::empty());
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

/// The port in `DevToolsActivePort`: its first line, once that is whole.
fn port_in(text: &str) -> Option<u16> {
    text.split_once('\n')?.0.trim().parse().ok().filter(|port| *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[test]
    fn what_is_missing_decides_how_bad_it_is() {
        let all = || Drift { calls: 41, fields: 96, ..Drift::default() };
        let found = finding(&all());
        assert_eq!(found.detail, "41 methods and events, 96 fields as expected");
        assert!(found.ok && found.fix.is_none());

        let field = Drift { missing_fields: vec!["Page.go.url".into()], ..all() };
        let found = finding(&field);
        assert_eq!(found.severity, Severity::Warn);
        assert_eq!(found.detail, "the browser does not know `Page.go.url`");
        assert!(found.fix.is_some());

        let found = finding(&Drift { missing_calls: vec!["Page.stop".into()], ..field });
        assert_eq!(found.severity, Severity::Fail);
        assert_eq!(found.detail, "the browser lacks `Page.stop`");
        assert!(found.fix.is_some());
    }

    #[test]
    fn a_long_list_is_cut() {
        let missing: Vec<String> = ["a", "b", "c", "d", "e", "f", "g"].map(str::to_owned).into();
        assert_eq!(names(&missing), "`a`, `b`, `c`, `d`, `e` and 2 more");
        assert_eq!(names(&missing[..2]), "`a`, `b`");
    }

    #[test]
    fn a_port_counts_when_its_line_is_whole() {
        assert_eq!(port_in("45213\n/devtools/browser/c8a5"), Some(45213));
        for text in ["", "452", "\n", "0\n/", "99999\n/", "port\n/"] {
            assert_eq!(port_in(text), None, "{text:?}");
        }
    }

    #[tokio::test]
    async fn a_program_that_ends_at_once_is_told() {
        for program in ["/bin/false", "/nowhere/chromium"] {
            let why = ask(Path::new(program), false).await.unwrap_err();
            assert_eq!(why, "the browser ended before it listened", "{program}");
        }
    }

    /// Reads until the last process that could write is dead.
    async fn all_dead(mut output: tokio::process::ChildStdout) {
        let mut bytes = Vec::new();
        let read = output.read_to_end(&mut bytes);
        tokio::time::timeout(Duration::from_secs(20), read).await.unwrap().unwrap();
    }

    fn family() -> Running {
        let profile = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        Running::spawn(shell.args(["-c", "sleep 60 & sleep 60"]), profile).unwrap()
    }

    #[tokio::test]
    async fn dropped_it_dies_with_its_children() {
        let mut running = family();
        let profile = running.profile.path().to_owned();
        let output = running.child.stdout.take().unwrap();
        drop(running);
        all_dead(output).await;
        assert!(!profile.exists());
    }

    #[tokio::test]
    async fn ended_it_leaves_nothing() {
        let mut running = family();
        let profile = running.profile.path().to_owned();
        let output = running.child.stdout.take().unwrap();
        running.end().await;
        all_dead(output).await;
        assert!(!profile.exists());
    }
}
