//! Whether Chromium's sandbox can work here. Decided by facts of the system, never by what a failed start
//! printed.

use std::path::Path;

/// Whether Chromium's sandbox can work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sandbox {
    /// It can.
    Usable,
    /// It cannot, and why.
    Unusable(&'static str),
}

/// Whether Chromium's sandbox can work for `program`.
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
    Sandbox::Unusable("this system allows no user namespaces, and the browser has no setuid helper")
}

/// Size of the memory that Chromium shares between its processes; `None` where it cannot be told.
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

fn user_namespaces_work() -> bool {
    let reads = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).ok();
    reads("/proc/sys/kernel/unprivileged_userns_clone").as_deref() != Some("0")
        && reads("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").as_deref() != Some("1")
        && reads("/proc/sys/user/max_user_namespaces").as_deref() != Some("0")
        && Path::new("/proc/self/ns/user").exists()
        && !in_container()
}

/// Containers usually forbid new namespaces by a filter that cannot be read off; a sandbox that is refused
/// at the start is worse than one that is left off with a note.
fn in_container() -> bool {
    ["/.dockerenv", "/run/.containerenv"].iter().any(|path| Path::new(path).exists())
}
