//! Launch options, browser discovery, start and attach.
//!
//! A browser that we start ends with us, however we end. One that we attach to is never ended by us.

mod attach;
mod env;
mod find;
mod flags;
mod process;
mod profile;
mod sandbox;

pub use attach::{discover, get};
pub use find::{BrowserQuery, Found, Origin, browsers_dir, find, program_named};
pub use process::Exit;
pub use profile::{ProfileLock, StaleProfiles, profiles_dir, stale_profiles};
pub use sandbox::{Sandbox, sandbox, shared_memory_mb};

pub(crate) use flags::VIEWPORT;
pub(crate) use process::Process;

use crate::error::{Code, Error, Evidence, Result, RetryHint};
use crate::note::Note;
use cdp::{Connection, Deadline, Transport};
use profile::Profile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Launch options. Two equal sets of options mean the same browser.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Options {
    /// The browser program; discovered when absent.
    pub chrome: Option<PathBuf>,
    /// Show a window.
    pub headed: bool,
    /// The name of a persistent profile; a temporary one when absent.
    pub profile: Option<String>,
    /// Attach to this browser instead of starting one.
    pub cdp: Option<String>,
    /// Run without Chromium's sandbox. Implied where it cannot work, such as for root.
    pub no_sandbox: bool,
    /// Size of the window, in CSS pixels.
    pub viewport: Option<(u32, u32)>,
    /// Further arguments for the browser.
    pub args: Vec<String>,
    /// Write every CDP message to this file.
    pub trace: Option<PathBuf>,
    /// The download folder; a temporary one that is removed with the browser when absent.
    pub downloads: Option<PathBuf>,
}

/// Launch options of a request. Absent ones keep their value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs, reason = "as in `Options`")]
pub struct LaunchOverrides {
    pub chrome: Option<PathBuf>,
    pub headed: Option<bool>,
    pub profile: Option<String>,
    pub cdp: Option<String>,
    pub no_sandbox: Option<bool>,
    pub viewport: Option<(u32, u32)>,
    pub args: Option<Vec<String>>,
    pub trace: Option<PathBuf>,
    pub downloads: Option<PathBuf>,
}

impl LaunchOverrides {
    /// The options with these overrides, and the names of those that changed.
    pub fn apply(&self, to: &Options) -> (Options, Vec<&'static str>) {
        let mut changed = Vec::new();
        let mut options = to.clone();
        set(&mut options.chrome, self.chrome.clone().map(Some), "chrome", &mut changed);
        set(&mut options.headed, self.headed, "headed", &mut changed);
        set(&mut options.profile, self.profile.clone().map(Some), "profile", &mut changed);
        let is_there = |cdp: &&String| to.cdp.as_ref().is_some_and(|now| attach::is_same(now, cdp));
        let cdp = self.cdp.as_ref().filter(|cdp| !is_there(cdp));
        set(&mut options.cdp, cdp.cloned().map(Some), "cdp", &mut changed);
        set(&mut options.no_sandbox, self.no_sandbox, "no-sandbox", &mut changed);
        set(&mut options.viewport, self.viewport.map(Some), "viewport", &mut changed);
        set(&mut options.args, self.args.clone(), "chrome-arg", &mut changed);
        set(&mut options.trace, self.trace.clone().map(Some), "trace-cdp", &mut changed);
        set(&mut options.downloads, self.downloads.clone().map(Some), "downloads", &mut changed);
        (options, changed)
    }
}

fn set<T: PartialEq>(
    field: &mut T,
    wanted: Option<T>,
    name: &'static str,
    changed: &mut Vec<&'static str>,
) {
    if let Some(wanted) = wanted.filter(|wanted| wanted != field) {
        *field = wanted;
        changed.push(name);
    }
}

/// A connected browser.
pub(crate) struct Launched {
    pub(crate) connection: Connection,
    /// `None` when attached.
    pub(crate) process: Option<Process>,
    pub(crate) path: Option<PathBuf>,
    pub(crate) notes: Vec<Note>,
}

/// Starts a browser, or attaches to one.
pub(crate) async fn launch(options: &Options, deadline: Deadline) -> Result<Launched> {
    let tap = options.trace.as_deref().map(trace_to).transpose()?;
    if let Some(address) = &options.cdp {
        let url = discover(address, deadline).await?;
        let transport = Transport::websocket(&url, deadline).await.map_err(|error| {
            Error::new(Code::CdpUnreachable)
                .message(error.to_string())
                .evidence("address", &**address)
        })?;
        let connection = Connection::open(transport, cdp::Options { tap });
        return Ok(Launched { connection, process: None, path: None, notes: Vec::new() });
    }

    let found = find(&BrowserQuery { chrome: options.chrome.clone(), headed: options.headed })?;
    if options.headed && !has_display(&options.args) {
        return Err(Error::new(Code::BrowserLaunchFailed)
            .hint(RetryHint::SetDisplay)
            .message("there is no display to show a window on"));
    }
    let profile = Profile::take(options.profile.as_deref())?;
    let (args, notes) = flags::flags(options, &found, profile.path());
    let (process, transport) = Process::spawn(&found.program(), &args, profile).await?;
    let connection = Connection::open(transport, cdp::Options { tap });
    Ok(Launched { connection, process: Some(process), path: Some(found.path), notes })
}

/// True if there is a display for a window. Only Linux may have none, unless the caller names the platform.
fn has_display(args: &[String]) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux")
        || is_set("DISPLAY")
        || is_set("WAYLAND_DISPLAY")
        || args.iter().any(|arg| arg.starts_with("--ozone-platform="))
}

/// The error for a started browser that did not respond.
pub(crate) async fn launch_error(process: &Process, why: &cdp::Error) -> Error {
    let exit = process.exit_within(std::time::Duration::from_millis(300)).await;
    let message = match &exit {
        Some(exit) => format!("the browser ended before it was ready: {exit}"),
        None => format!("the browser did not become ready: {why}"),
    };
    let error = Error::new(Code::BrowserLaunchFailed).message(message);
    match process.stderr_tail() {
        Some(text) => error.evidence("stderr", Evidence::Text(text)),
        None => error,
    }
}

fn trace_to(path: &std::path::Path) -> Result<cdp::Tap> {
    use std::io::Write;
    let file = private_file(path).map_err(|error| {
        Error::new(Code::FileWriteFailed)
            .message(format!("the trace `{}` cannot be written: {error}", path.display()))
    })?;
    let file = std::sync::Mutex::new(std::io::BufWriter::new(file));
    Ok(Box::new(move |direction, message| {
        let Ok(mut file) = file.lock() else { return };
        let arrow = match direction {
            cdp::Direction::Sent => b"> ",
            cdp::Direction::Received => b"< ",
        };
        let written = file
            .write_all(arrow)
            .and_then(|()| file.write_all(message))
            .and_then(|()| file.write_all(b"\n"))
            .and_then(|()| file.flush());
        if let Err(error) = written {
            tracing::warn!(%error, "trace not written");
        }
    }))
}

/// Opens a file for appending that only its owner can read. The mode of a pipe is left unchanged.
fn private_file(path: &std::path::Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let file = std::fs::File::options().create(true).append(true).mode(0o600).open(path)?;
    if file.metadata()?.is_file() {
        // An existing file may have been readable by others.
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_endpoint_spelling_is_no_change() {
        let cdp = |address: &str| LaunchOverrides {
            cdp: Some(address.into()),
            ..LaunchOverrides::default()
        };
        let (running, _) = cdp("9333").apply(&Options::default());
        assert_eq!(cdp("http://127.0.0.1:9333").apply(&running), (running.clone(), vec![]));
        assert_eq!(cdp("http://127.0.0.1:9334").apply(&running).1, ["cdp"]);
    }

    #[test]
    fn trace_file_is_readable_by_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        std::fs::write(&old, "> {}\n").unwrap();
        std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o644)).unwrap();
        for path in [&new, &old] {
            trace_to(path).unwrap()(cdp::Direction::Sent, b"{}");
            let mode = std::fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        }
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "> {}\n> {}\n");
        let device = std::path::Path::new("/dev/null");
        let mode = || std::fs::metadata(device).unwrap().permissions().mode();
        let before = mode();
        drop(trace_to(device).unwrap());
        assert_eq!(mode(), before);
    }
}
