//! Where a session's socket, lock, state and log are.

use crate::config::SessionName;
use browser::{Code, Error, Result};
use std::fs::{DirEntry, File, TryLockError};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest path that a socket may have, on every system we run on.
const MAX_SOCKET_PATH: usize = 100;

/// For so long the log of a session that has ended is kept.
const OLD_LOG: Duration = Duration::from_secs(7 * 24 * 3600);

/// The files of one session.
#[derive(Clone, Debug)]
pub struct SessionPaths {
    /// The session's name.
    pub session: String,
    folder: PathBuf,
}

impl SessionPaths {
    /// The place of a session. Its folder is made if needed, and must be private to this user.
    ///
    /// # Errors
    /// `daemon.start-failed` when the folder cannot be used.
    pub fn of(session: &str) -> Result<Self> {
        let folder = runtime_dir();
        let failed = |message: String| {
            Error::new(Code::DaemonStartFailed)
                .message(format!("the folder `{}` {message}", folder.display()))
                .evidence("folder", folder.display().to_string())
        };
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(|error| failed(format!("cannot be made: {error}")))?;
        // In a shared folder somebody else may have made it first, to read along.
        let meta = std::fs::symlink_metadata(&folder).map_err(|error| failed(error.to_string()))?;
        if !meta.is_dir() || meta.uid() != rustix::process::getuid().as_raw() {
            return Err(failed("belongs to somebody else; set AGBROWSE_RUNTIME_DIR".into()));
        }
        if meta.mode() & 0o077 != 0 {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700))
                .map_err(|error| failed(format!("is open to others: {error}")))?;
        }
        let place = Self::in_folder(&folder, session);
        if !place.takes_socket() {
            return Err(failed(
                "has too long a path for a socket; set AGBROWSE_RUNTIME_DIR".into(),
            ));
        }
        Ok(place)
    }

    /// The place of a session in a folder that is known to be good.
    pub fn in_folder(folder: &Path, session: &str) -> Self {
        Self { session: session.to_owned(), folder: folder.to_owned() }
    }

    /// The socket.
    pub fn socket(&self) -> PathBuf {
        self.file("sock")
    }

    /// Locked by the daemon for as long as it lives.
    pub fn lock(&self) -> PathBuf {
        self.file("lock")
    }

    /// What the daemon says of itself.
    pub fn state(&self) -> PathBuf {
        self.file("json")
    }

    /// The daemon's log.
    pub fn log(&self) -> PathBuf {
        self.file("log")
    }

    /// Takes the session's lock, which is held for as long as the file is open; `None` while somebody has it.
    ///
    /// # Errors
    /// When it cannot be opened or locked.
    pub fn seize(&self) -> std::io::Result<Option<File>> {
        loop {
            let lock =
                File::options().create(true).truncate(false).write(true).open(self.lock())?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Who had it may have removed it just before.
            if self.is_lock(&lock)? {
                return Ok(Some(lock));
            }
        }
    }

    /// Whether an open lock is the one that is here now: one that was removed locks nothing any more.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub fn is_lock(&self, lock: &File) -> std::io::Result<bool> {
        let (mine, there) = (lock.metadata()?, std::fs::metadata(self.lock()));
        Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (mine.dev(), mine.ino())))
    }

    /// Removes everything that a session without a daemon has left. Whether that was more than a log.
    pub fn clear(&self) -> bool {
        let Ok(Some(_lock)) = self.seize() else { return false };
        let was_there =
            [self.socket(), self.state()].map(|path| std::fs::remove_file(path).is_ok());
        _ = std::fs::remove_file(self.log());
        // Last, and while it is held: who waits for it takes a new one.
        _ = std::fs::remove_file(self.lock());
        was_there.contains(&true)
    }

    /// Removes old logs of sessions that have nothing else here any more.
    pub fn remove_old_logs(&self) {
        for name in names_in(&self.folder, &["log"]) {
            let other = Self::in_folder(&self.folder, &name);
            if !other.has_only_an_old_log() {
                continue;
            }
            let Ok(Some(_lock)) = other.seize() else { continue };
            // A daemon may have come and gone meanwhile.
            if other.has_only_an_old_log() {
                _ = std::fs::remove_file(other.log());
            }
            // Last, and while it is held: who waits for it takes a new one.
            _ = std::fs::remove_file(other.lock());
        }
    }

    fn has_only_an_old_log(&self) -> bool {
        let changed = std::fs::metadata(self.log()).and_then(|about| about.modified());
        let age = changed.ok().and_then(|changed| changed.elapsed().ok());
        let is_used = self.socket().exists() || self.state().exists();
        !is_used && age.is_some_and(|age| age > OLD_LOG)
    }

    /// Whether the path of its socket is as short as one has to be.
    fn takes_socket(&self) -> bool {
        self.socket().as_os_str().len() <= MAX_SOCKET_PATH
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.session))
    }
}

/// The sessions that have a daemon here, or had one that ended unasked, by name.
pub fn list() -> Vec<String> {
    names_in(&runtime_dir(), &["sock", "json"])
}

/// The sessions that have left anything here, be it a log.
pub fn list_all() -> Vec<String> {
    names_in(&runtime_dir(), &["sock", "json", "lock", "log"])
}

/// The sessions that have a file with one of these endings. What no session can be called, and what is of another kind,
/// is nobody's.
fn names_in(folder: &Path, endings: &[&str]) -> Vec<String> {
    let session = |entry: DirEntry| {
        let path = entry.path();
        let ending = path.extension()?.to_str().filter(|ending| endings.contains(ending))?;
        let kind = entry.file_type().ok()?;
        let is_kind = if ending == "sock" { kind.is_socket() } else { kind.is_file() };
        let SessionName(name) = path.file_stem()?.to_str()?.parse::<SessionName>().ok()?;
        (is_kind && SessionPaths::in_folder(folder, &name).takes_socket()).then_some(name)
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| session(entry.ok()?)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The folder of all sockets: private to this user, and ours alone. Old files in it are removed by their names, so it is
/// never one that somebody else may have put something into, be it named by a variable.
pub fn runtime_dir() -> PathBuf {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| Path::new(value).is_absolute());
    let ours = format!("agbrowse-{}", rustix::process::getuid().as_raw());
    if let Some(folder) = variable("AGBROWSE_RUNTIME_DIR") {
        return Path::new(&folder).join(ours);
    }
    if let Some(folder) = variable("XDG_RUNTIME_DIR").filter(|folder| Path::new(folder).is_dir()) {
        return Path::new(&folder).join("agbrowse");
    }
    std::env::temp_dir().join(ours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn place(folder: &Path, session: &str) -> SessionPaths {
        SessionPaths::in_folder(folder, session)
    }

    #[test]
    fn a_lock_that_was_removed_is_nobodys() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), "a");
        let first = place.seize().unwrap().expect("it is free");
        assert!(place.seize().unwrap().is_none(), "it is taken");
        // Opened before it was removed, locked after: what a starting daemon may do.
        let late = File::open(place.lock()).unwrap();
        std::fs::remove_file(place.lock()).unwrap();
        drop(first);
        late.lock().unwrap();
        let second = place.seize().unwrap().expect("a new one");
        assert!(place.seize().unwrap().is_none(), "there is one holder");
        drop(second);
    }

    #[test]
    fn what_a_daemon_has_is_not_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), "a");
        for path in [place.socket(), place.state(), place.log()] {
            std::fs::write(path, "").unwrap();
        }
        let lock = place.seize().unwrap();
        assert!(!place.clear() && place.state().exists());
        drop(lock);
        assert!(place.clear());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(!place.clear(), "nothing was there");
    }

    #[test]
    fn only_old_logs_of_ended_sessions_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let all =
            ["ended", "killed", "lost", "begun", "fresh"].map(|name| place(folder.path(), name));
        for place in &all {
            let age = if place.session == "fresh" { OLD_LOG / 2 } else { OLD_LOG * 2 };
            let log = File::create(place.log()).unwrap();
            log.set_modified(SystemTime::now() - age).unwrap();
        }
        let [_, killed, lost, begun, fresh] = &all;
        // A lock that nobody holds is no sign of life; one that somebody holds is.
        File::create(killed.lock()).unwrap();
        std::fs::write(lost.state(), "{}").unwrap();
        let _held = begun.seize().unwrap().expect("it is free");
        fresh.remove_old_logs();
        let left = all.each_ref().map(|place| place.log().exists());
        assert_eq!(left, [false, false, true, true, true]);
        let locks = all.each_ref().map(|place| place.lock().exists());
        assert_eq!(locks, [false, false, false, true, false]);
    }

    #[test]
    fn what_no_session_leaves_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (too_long, no_name) = (format!("{}.log", "x".repeat(120)), ".d.log");
        for name in ["a.log", "b.json", "no-socket.sock", "two words.lock", &too_long, no_name] {
            std::fs::write(at(name), "").unwrap();
        }
        std::fs::create_dir(at("folder.json")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("c.sock")).unwrap();
        assert_eq!(names_in(folder.path(), &["sock", "json", "lock", "log"]), ["a", "b", "c"]);
    }
}
