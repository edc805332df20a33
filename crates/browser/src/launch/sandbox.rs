//! Checks that Chromium's sandbox works here. Decided by facts of the system, never by the output of a failed start.

use std::path::Path;
use std::process::Stdio;

/// Result of the sandbox check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sandbox {
    /// It works.
    Usable,
    /// It does not work, and why.
    Unusable(&'static str),
}

/// Checks that Chromium's sandbox works for `program`.
pub fn sandbox(program: &Path) -> Sandbox {
    if !cfg!(target_os = "linux") {
        return Sandbox::Usable;
    }
    if rustix::process::geteuid().is_root() {
        return Sandbox::Unusable("Chromium refuses it for root");
    }
    if has_setuid_helper(program) || user_namespaces_work() {
        return Sandbox::Usable;
    }
    Sandbox::Unusable("no user namespaces can be made here, and the browser has no setuid helper")
}

/// Size of `/dev/shm`, which Chromium's processes share; `None` if unknown.
pub fn shared_memory_mb() -> Option<u64> {
    let stat = rustix::fs::statvfs("/dev/shm").ok()?;
    Some(stat.f_blocks * stat.f_frsize / (1 << 20))
}

fn has_setuid_helper(program: &Path) -> bool {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let beside =
        program.canonicalize().ok().and_then(|path| Some(path.parent()?.join("chrome-sandbox")));
    let places = ["/usr/lib/chromium/chrome-sandbox", "/opt/google/chrome/chrome-sandbox"];
    beside.into_iter().chain(places.iter().map(Into::into)).any(|helper| {
        std::fs::metadata(helper)
            .is_ok_and(|meta| meta.uid() == 0 && meta.permissions().mode() & 0o4000 != 0)
    })
}

/// Tried, not inferred: a container's seccomp filter may forbid what its settings allow.
#[cfg(target_os = "linux")]
#[allow(
    unsafe_code,
    reason = "`pre_exec` runs between fork and exec; `unshare` is an async-signal-safe system call there"
)]
fn user_namespaces_work() -> bool {
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    use std::os::unix::process::CommandExt;
    let wanted = UnshareFlags::NEWUSER | UnshareFlags::NEWPID | UnshareFlags::NEWNET;
    let mut probe = std::process::Command::new("/bin/true");
    unsafe {
        probe.pre_exec(move || Ok(unshare_unsafe(wanted)?));
    }
    probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

#[cfg(not(target_os = "linux"))]
fn user_namespaces_work() -> bool {
    true
}
