//! Browser profiles: a temporary folder for each browser, or a persistent named one with one owner at a time.
//!
//! A temporary profile is held by a file lock that dies with its owner, so that abandoned ones are recognized and
//! removed by the next owner. A named profile has a lock file that names its owner.

use crate::error::{Code, Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Interval of a named profile's heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(20);

/// A lock without a pid is stale after this long without a heartbeat.
const STALE_AFTER_MS: u64 = 5 * 60 * 1000;

/// Lock file of a temporary profile, held by its owner.
const OWNER: &str = "agbrowse.owner";

/// The owner of a named profile: the content of its `profile.lock`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub struct ProfileLock {
    /// The owner's pid.
    pub pid: Option<u32>,
    /// Start time of that process in kernel ticks: pids are reused.
    pub started: Option<u64>,
    /// Secret of the owner: only it may release the lock.
    pub token: String,
    /// Milliseconds since 1970.
    pub acquired_at: u64,
    /// Milliseconds since 1970.
    pub heartbeat_at: u64,
}

impl ProfileLock {
    /// True if its owner is gone.
    pub fn is_stale(&self) -> bool {
        match self.pid {
            Some(pid) => !is_alive(pid, self.started),
            None => now_ms().saturating_sub(self.heartbeat_at) > STALE_AFTER_MS,
        }
    }
}

/// The folder of named profiles.
pub fn profiles_dir() -> PathBuf {
    use etcetera::BaseStrategy;
    etcetera::choose_base_strategy()
        .map_or_else(|_| std::env::temp_dir(), |base| base.data_dir())
        .join("agbrowse")
        .join("profiles")
}

/// Leftovers of dead owners.
#[derive(Clone, Debug, Default)]
pub struct StaleProfiles {
    /// Temporary profiles whose owner is gone.
    pub fresh: Vec<PathBuf>,
    /// Lock files of named profiles whose owner is gone.
    pub locks: Vec<PathBuf>,
}

/// Finds leftovers of dead owners.
pub fn stale_profiles() -> StaleProfiles {
    let subfolders = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect()
    };
    StaleProfiles {
        fresh: subfolders(&fresh_dir())
            .into_iter()
            .filter(|path| claim_abandoned(path).is_some())
            .collect(),
        locks: subfolders(&profiles_dir())
            .iter()
            .map(|path| path.join("profile.lock"))
            .filter(|lock| read_lock(lock).is_some_and(|lock| lock.is_stale()))
            .collect(),
    }
}

/// A profile that is ours until it is dropped.
pub(crate) struct Profile {
    path: PathBuf,
    hold: ProfileHold,
}

enum ProfileHold {
    /// Removed when dropped. The lock inside shows others that its owner lives.
    Fresh { _owner: File },
    /// Persistent; released when dropped.
    Named { token: String },
}

impl Profile {
    /// Acquires the named profile, or creates a temporary one. Removes leftovers of dead owners.
    pub(crate) fn take(name: Option<&str>) -> Result<Self> {
        match name {
            Some(name) => Self::named(&profiles_dir(), name),
            None => Self::fresh().map_err(|error| {
                Error::new(Code::ProfileUnusable).message(format!(
                    "no temporary profile in `{}`: {error}",
                    fresh_dir().display()
                ))
            }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The heartbeat of a named profile.
    pub(crate) fn heartbeat(&self) -> Option<LockHeartbeat> {
        match &self.hold {
            ProfileHold::Named { token } => {
                Some(LockHeartbeat { lock: self.path.join("profile.lock"), token: token.clone() })
            }
            ProfileHold::Fresh { .. } => None,
        }
    }

    fn fresh() -> std::io::Result<Self> {
        let folder = fresh_dir();
        private_dir(&folder)?;
        check_private(&folder)?;
        for entry in std::fs::read_dir(&folder)?.filter_map(std::result::Result::ok) {
            if let Some(_claim) = claim_abandoned(&entry.path()) {
                remove_singleton(&entry.path());
                _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let path = tempfile::Builder::new().prefix("profile-").tempdir_in(&folder)?.keep();
        // Locked before it has its name: an unlocked owner file means an abandoned profile.
        let owner = File::create(path.join("agbrowse.new"))?;
        owner.lock()?;
        std::fs::rename(path.join("agbrowse.new"), path.join(OWNER))?;
        Ok(Self { path, hold: ProfileHold::Fresh { _owner: owner } })
    }

    fn named(folder: &Path, name: &str) -> Result<Self> {
        let is_plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            return Err(Error::new(Code::CommandInvalid).message(format!(
                "`{name}` is not a profile name: letters, digits, `-`, `_` and `.` only"
            )));
        }
        let path = folder.join(name);
        let unusable = |error: std::io::Error| {
            Error::new(Code::ProfileUnusable)
                .message(format!("the profile folder `{}` cannot be used: {error}", path.display()))
        };
        private_dir(&path).map_err(unusable)?;
        // Two owners that find the same stale lock must not both take it.
        let guard = File::create(path.join("profile.lock.guard")).map_err(unusable)?;
        guard.lock().map_err(unusable)?;
        let lock = path.join("profile.lock");
        if let Some(held) = read_lock(&lock).filter(|held| !held.is_stale()) {
            let error = Error::new(Code::ProfileLocked).message(match held.pid {
                Some(pid) => format!("profile `{name}` is in use by process {pid}"),
                None => format!("profile `{name}` is in use"),
            });
            return Err(match held.pid {
                Some(pid) => error.evidence("pid", pid),
                None => error,
            });
        }
        remove_singleton(&path);
        let pid = std::process::id();
        let token = token();
        let now = now_ms();
        let content = ProfileLock {
            pid: Some(pid),
            started: stat(pid).map(|stat| stat.started),
            token: token.clone(),
            acquired_at: now,
            heartbeat_at: now,
        };
        write_lock(&lock, &content).map_err(unusable)?;
        Ok(Self { path, hold: ProfileHold::Named { token } })
    }
}

/// The heartbeat of a named profile's lock.
pub(crate) struct LockHeartbeat {
    lock: PathBuf,
    token: String,
}

impl LockHeartbeat {
    /// Renews the lock until it is dropped.
    pub(crate) async fn run(self) {
        loop {
            tokio::time::sleep(HEARTBEAT).await;
            if let Err(error) = self.renew() {
                tracing::warn!(%error, "heartbeat not written");
            }
        }
    }

    fn renew(&self) -> std::io::Result<()> {
        match read_lock(&self.lock).filter(|content| content.token == self.token) {
            Some(content) => {
                write_lock(&self.lock, &ProfileLock { heartbeat_at: now_ms(), ..content })
            }
            None => Ok(()),
        }
    }
}

impl Drop for Profile {
    fn drop(&mut self) {
        match &self.hold {
            ProfileHold::Fresh { .. } => {
                remove_singleton(&self.path);
                // Dying processes of the browser may still add files.
                for _ in 0..20 {
                    match std::fs::remove_dir_all(&self.path) {
                        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                            std::thread::sleep(Duration::from_millis(10));
                        }
                        _ => return,
                    }
                }
            }
            ProfileHold::Named { token } => {
                let lock = self.path.join("profile.lock");
                if read_lock(&lock).is_some_and(|content| content.token == *token) {
                    remove_singleton(&self.path);
                    _ = std::fs::remove_file(lock);
                }
            }
        }
    }
}

/// The folder of temporary profiles: private, and one per user.
fn fresh_dir() -> PathBuf {
    std::env::temp_dir().join(format!("agbrowse-profiles-{}", rustix::process::getuid().as_raw()))
}

/// Removes Chromium's singleton files after it was killed. With the links it would refuse to start; the socket link
/// points to a folder in the temporary directory that nothing else would remove.
fn remove_singleton(profile: &Path) {
    let socket = std::fs::read_link(profile.join("SingletonSocket")).ok();
    if let Some(socket) = socket.filter(|socket| socket.is_absolute())
        && let Some(folder) = socket.parent().filter(|folder| *folder != profile)
    {
        // Only these files, in case the link points elsewhere.
        for file in ["SingletonSocket", "SingletonCookie"] {
            _ = std::fs::remove_file(folder.join(file));
        }
        _ = std::fs::remove_dir(folder);
    }
    for link in ["SingletonLock", "SingletonSocket", "SingletonCookie"] {
        _ = std::fs::remove_file(profile.join(link));
    }
}

/// Acquires the owner lock of an abandoned temporary profile.
fn claim_abandoned(profile: &Path) -> Option<File> {
    let owner = File::open(profile.join(OWNER)).ok()?;
    match owner.try_lock() {
        Ok(()) => Some(owner),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
    }
}

fn private_dir(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Refuses a folder that another user created first in a shared directory, to read along.
fn check_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let meta = std::fs::symlink_metadata(path)?;
    if meta.is_dir() && meta.uid() == rustix::process::getuid().as_raw() && meta.mode() & 0o077 == 0
    {
        return Ok(());
    }
    Err(std::io::Error::other("it is not a private folder of this user; set TMPDIR"))
}

fn read_lock(path: &Path) -> Option<ProfileLock> {
    let text = std::fs::read_to_string(path).ok()?;
    // An unreadable lock was truncated by a crash: it has no owner and no heartbeat, so it is stale.
    Some(serde_json::from_str(&text).unwrap_or_default())
}

fn write_lock(path: &Path, content: &ProfileLock) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&mut file, content)?;
    file.persist(path)?;
    Ok(())
}

fn token() -> String {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom")
        .and_then(|mut random| std::io::Read::read_exact(&mut random, &mut bytes));
    if read.is_err() {
        return format!("{}-{}", std::process::id(), now_ms());
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// True if a process is alive and has this start time, if one is known. An unreaped zombie counts as dead: in a
/// container it may stay in the process table for good.
fn is_alive(pid: u32, started: Option<u64>) -> bool {
    if let Some(stat) = stat(pid) {
        return !stat.has_ended && started.is_none_or(|started| started == stat.started);
    }
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return false;
    };
    !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

/// Process status from `/proc`, where there is one.
struct ProcStat {
    has_ended: bool,
    /// In kernel ticks.
    started: u64,
}

/// Fields 3, 20 and 22 of `/proc/PID/stat`, counted after the name, which may contain anything. While other threads
/// still run, only the main thread has ended.
fn stat(pid: u32) -> Option<ProcStat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let is_alone = fields.get(17)?.parse::<u32>().is_ok_and(|threads| threads <= 1);
    Some(ProcStat {
        has_ended: matches!(*fields.first()?, "Z" | "X" | "x") && is_alone,
        started: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_profile_has_one_owner_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = Profile::named(folder.path(), "work").unwrap();
        let refused = Profile::named(folder.path(), "work").err().unwrap();
        assert_eq!(refused.code(), Code::ProfileLocked);
        assert!(refused.to_string().contains(&std::process::id().to_string()), "{refused}");
        drop(first);
        Profile::named(folder.path(), "work").unwrap();
    }

    #[test]
    fn lock_of_dead_owner_is_reclaimed() {
        let folder = tempfile::tempdir().unwrap();
        drop(Profile::named(folder.path(), "work").unwrap());
        let lock = folder.path().join("work/profile.lock");
        let mut dead = std::process::Command::new("true").spawn().unwrap();
        dead.wait().unwrap();
        let recycled =
            ProfileLock { pid: Some(std::process::id()), started: Some(1), ..Default::default() };
        let gone = ProfileLock { pid: Some(dead.id()), ..Default::default() };
        for stale in [recycled, gone, ProfileLock::default()] {
            write_lock(&lock, &stale).unwrap();
            assert!(Profile::named(folder.path(), "work").is_ok(), "{stale:?}");
        }
        std::fs::write(&lock, "{\"pid\":").unwrap();
        assert!(Profile::named(folder.path(), "work").is_ok());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn unreaped_owner_is_dead() {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let folder = tempfile::tempdir().unwrap();
        drop(Profile::named(folder.path(), "work").unwrap());
        let lock = folder.path().join("work/profile.lock");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        waitid(WaitId::Pid(Pid::from_child(&child)), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
            .unwrap();
        for started in [stat(pid).map(|stat| stat.started), None] {
            let unreaped = ProfileLock { pid: Some(pid), started, ..Default::default() };
            assert!(unreaped.is_stale(), "{unreaped:?}");
            write_lock(&lock, &unreaped).unwrap();
            assert!(Profile::named(folder.path(), "work").is_ok());
        }
        child.wait().unwrap();
    }

    #[test]
    fn recent_heartbeat_keeps_lock_without_pid() {
        let lock = ProfileLock { heartbeat_at: now_ms(), ..Default::default() };
        assert!(!lock.is_stale());
        assert!(ProfileLock { heartbeat_at: now_ms() - STALE_AFTER_MS - 1, ..lock }.is_stale());
    }

    #[test]
    fn heartbeat_renews_only_the_owners_lock() {
        let folder = tempfile::tempdir().unwrap();
        let profile = Profile::named(folder.path(), "work").unwrap();
        let lock = folder.path().join("work/profile.lock");
        let heartbeat = profile.heartbeat().unwrap();
        let old = ProfileLock { heartbeat_at: 7, ..read_lock(&lock).unwrap() };
        write_lock(&lock, &old).unwrap();
        heartbeat.renew().unwrap();
        assert!(read_lock(&lock).unwrap().heartbeat_at > 7);
        write_lock(&lock, &ProfileLock { token: "other".into(), ..old }).unwrap();
        heartbeat.renew().unwrap();
        assert_eq!(read_lock(&lock).unwrap().heartbeat_at, 7);
    }

    #[test]
    fn only_the_owner_releases_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let first = Profile::named(folder.path(), "work").unwrap();
        let lock = folder.path().join("work/profile.lock");
        write_lock(&lock, &ProfileLock { token: "other".into(), ..Default::default() }).unwrap();
        drop(first);
        assert_eq!(read_lock(&lock).unwrap().token, "other");
    }

    #[test]
    fn profile_name_cannot_escape_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["", "..", ".hidden", "a/b", "../x", "a\0b"] {
            let refused = Profile::named(folder.path(), name).err().unwrap();
            assert_eq!(refused.code(), Code::CommandInvalid, "{name:?}");
        }
    }

    #[test]
    fn singleton_socket_folder_is_removed_with_its_links() {
        let root = tempfile::tempdir().unwrap();
        let (profile, folder) = (root.path().join("work"), root.path().join("org.chromium.x"));
        let leave = || {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("SingletonSocket"), "").unwrap();
            std::os::unix::fs::symlink("7", folder.join("SingletonCookie")).unwrap();
            std::os::unix::fs::symlink("7", profile.join("SingletonCookie")).unwrap();
            let socket = profile.join("SingletonSocket");
            std::os::unix::fs::symlink(folder.join("SingletonSocket"), socket).unwrap();
        };
        let held = Profile::named(root.path(), "work").unwrap();
        leave();
        drop(held);
        assert!(!folder.exists());
        // As after a killed owner; other files of the folder must stay.
        leave();
        std::fs::write(folder.join("theirs"), "").unwrap();
        let _held = Profile::named(root.path(), "work").unwrap();
        let left = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["theirs"]);
        assert!(std::fs::symlink_metadata(profile.join("SingletonSocket")).is_err());
    }

    #[test]
    fn temporary_profile_is_removed_on_drop() {
        let profile = Profile::fresh().unwrap();
        let path = profile.path().to_owned();
        assert!(claim_abandoned(&path).is_none(), "held by its owner");
        drop(profile);
        assert!(!path.exists());
    }
}
