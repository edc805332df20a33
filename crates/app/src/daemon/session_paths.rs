//! Paths of a session's socket, lock, state file and log.

use crate::config::SessionName;
use browser::{Code, Error, Result};
use std::fs::{DirEntry, File, TryLockError};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Length limit of a socket path on all supported systems.
const MAX_SOCKET_PATH: usize = 100;

/// Retention time of the log of an ended session.
const OLD_LOG: Duration = Duration::from_secs(7 * 24 * 3600);

/// The files of one session.
#[derive(Clone, Debug)]
pub struct SessionPaths {
    /// The session's name.
    pub session: String,
    folder: PathBuf,
}

impl SessionPaths {
    /// Returns the paths of a session in the runtime directory, which is created if needed and must be private to this user.
    ///
    /// # Errors
    /// `daemon.start-failed` if the folder cannot be used.
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
            .map_err(|error| failed(format!("cannot be created: {error}")))?;
        // In a shared folder, another user may have created it first, to read along.
        let meta = std::fs::symlink_metadata(&folder).map_err(|error| failed(error.to_string()))?;
        if !meta.is_dir() || meta.uid() != rustix::process::getuid().as_raw() {
            return Err(failed("belongs to another user; set AGBROWSE_RUNTIME_DIR".into()));
        }
        if meta.mode() & 0o077 != 0 {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700))
                .map_err(|error| failed(format!("is accessible to other users: {error}")))?;
        }
        let paths = Self::in_folder(&folder, session);
        if !paths.fits_socket_path() {
            return Err(failed(
                "has a path too long for a socket; set AGBROWSE_RUNTIME_DIR".into(),
            ));
        }
        Ok(paths)
    }

    /// Returns the paths of a session in a verified folder.
    pub fn in_folder(folder: &Path, session: &str) -> Self {
        Self { session: session.to_owned(), folder: folder.to_owned() }
    }

    /// Path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.file("sock")
    }

    /// Path of the lock file, which the daemon locks for its lifetime.
    pub fn lock(&self) -> PathBuf {
        self.file("lock")
    }

    /// Path of the state file.
    pub fn state(&self) -> PathBuf {
        self.file("json")
    }

    /// Path of the daemon's log.
    pub fn log(&self) -> PathBuf {
        self.file("log")
    }

    /// Acquires the session's lock, which is held while the file is open; `None` if it is taken.
    ///
    /// # Errors
    /// When the file cannot be opened or locked.
    pub fn seize(&self) -> std::io::Result<Option<File>> {
        loop {
            let lock =
                File::options().create(true).truncate(false).write(true).open(self.lock())?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // The previous holder may have removed the file in the meantime.
            if self.is_lock(&lock)? {
                return Ok(Some(lock));
            }
        }
    }

    /// Returns true if an open file is the current lock file: a removed one locks nothing.
    ///
    /// # Errors
    /// When its metadata cannot be read.
    pub fn is_lock(&self, lock: &File) -> std::io::Result<bool> {
        let (opened, current) = (lock.metadata()?, std::fs::metadata(self.lock()));
        Ok(current
            .is_ok_and(|current| (current.dev(), current.ino()) == (opened.dev(), opened.ino())))
    }

    /// Removes all files of a session without a daemon. Returns true if there was a socket or a state file.
    pub fn clear(&self) -> bool {
        let Ok(Some(_lock)) = self.seize() else { return false };
        let removed = [self.socket(), self.state()].map(|path| std::fs::remove_file(path).is_ok());
        _ = std::fs::remove_file(self.log());
        // Last, and while it is held: a waiting process then creates a new one.
        _ = std::fs::remove_file(self.lock());
        removed.contains(&true)
    }

    /// Removes old logs of sessions that have no other files.
    pub fn remove_old_logs(&self) {
        for name in names_in(&self.folder, &["log"]) {
            let other = Self::in_folder(&self.folder, &name);
            if !other.has_only_an_old_log() {
                continue;
            }
            let Ok(Some(_lock)) = other.seize() else { continue };
            // A daemon may have started and ended in the meantime.
            if other.has_only_an_old_log() {
                _ = std::fs::remove_file(other.log());
            }
            // Last, and while it is held: a waiting process then creates a new one.
            _ = std::fs::remove_file(other.lock());
        }
    }

    fn has_only_an_old_log(&self) -> bool {
        let changed = std::fs::metadata(self.log()).and_then(|meta| meta.modified());
        let age = changed.ok().and_then(|changed| changed.elapsed().ok());
        let is_used = self.socket().exists() || self.state().exists();
        !is_used && age.is_some_and(|age| age > OLD_LOG)
    }

    /// Returns true if the socket path is within the length limit.
    fn fits_socket_path(&self) -> bool {
        self.socket().as_os_str().len() <= MAX_SOCKET_PATH
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.session))
    }
}

/// Lists the names of sessions with a running daemon or one that ended unexpectedly.
pub fn list() -> Vec<String> {
    names_in(&runtime_dir(), &["sock", "json"])
}

/// Lists the names of sessions with any file, including logs.
pub fn list_all() -> Vec<String> {
    names_in(&runtime_dir(), &["sock", "json", "lock", "log"])
}

/// Lists the names of sessions that have a file with one of these extensions. Ignores invalid session names and files of
/// another type.
fn names_in(folder: &Path, extensions: &[&str]) -> Vec<String> {
    let session = |entry: DirEntry| {
        let path = entry.path();
        let extension =
            path.extension()?.to_str().filter(|extension| extensions.contains(extension))?;
        let file_type = entry.file_type().ok()?;
        let is_expected_type =
            if extension == "sock" { file_type.is_socket() } else { file_type.is_file() };
        let SessionName(name) = path.file_stem()?.to_str()?.parse::<SessionName>().ok()?;
        (is_expected_type && SessionPaths::in_folder(folder, &name).fits_socket_path())
            .then_some(name)
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| session(entry.ok()?)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the runtime directory: the folder of all sockets, private to this user and to agbrowse. Old files in it are
/// removed by name, so a folder that is set by a variable gets a subfolder.
pub fn runtime_dir() -> PathBuf {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| Path::new(value).is_absolute());
    let own_folder = format!("agbrowse-{}", rustix::process::getuid().as_raw());
    if let Some(folder) = variable("AGBROWSE_RUNTIME_DIR") {
        return Path::new(&folder).join(own_folder);
    }
    if let Some(folder) = variable("XDG_RUNTIME_DIR").filter(|folder| Path::new(folder).is_dir()) {
        return Path::new(&folder).join("agbrowse");
    }
    std::env::temp_dir().join(own_folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn test_paths(folder: &Path, session: &str) -> SessionPaths {
        SessionPaths::in_folder(folder, session)
    }

    #[test]
    fn removed_lock_is_not_held() {
        let folder = tempfile::tempdir().unwrap();
        let paths = test_paths(folder.path(), "a");
        let first = paths.seize().unwrap().expect("it is free");
        assert!(paths.seize().unwrap().is_none(), "it is taken");
        // Opened before the removal, locked after it, as a starting daemon may do.
        let late = File::open(paths.lock()).unwrap();
        std::fs::remove_file(paths.lock()).unwrap();
        drop(first);
        late.lock().unwrap();
        let second = paths.seize().unwrap().expect("a new one");
        assert!(paths.seize().unwrap().is_none(), "there is one holder");
        drop(second);
    }

    #[test]
    fn files_of_a_running_daemon_are_not_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let paths = test_paths(folder.path(), "a");
        for path in [paths.socket(), paths.state(), paths.log()] {
            std::fs::write(path, "").unwrap();
        }
        let lock = paths.seize().unwrap();
        assert!(!paths.clear() && paths.state().exists());
        drop(lock);
        assert!(paths.clear());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(!paths.clear(), "nothing was there");
    }

    #[test]
    fn only_old_logs_of_ended_sessions_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let all = ["ended", "killed", "lost", "begun", "fresh"]
            .map(|name| test_paths(folder.path(), name));
        for paths in &all {
            let age = if paths.session == "fresh" { OLD_LOG / 2 } else { OLD_LOG * 2 };
            let log = File::create(paths.log()).unwrap();
            log.set_modified(SystemTime::now() - age).unwrap();
        }
        let [_, killed, lost, begun, fresh] = &all;
        // Only a held lock means that a daemon is running.
        File::create(killed.lock()).unwrap();
        std::fs::write(lost.state(), "{}").unwrap();
        let _held = begun.seize().unwrap().expect("it is free");
        fresh.remove_old_logs();
        let left = all.each_ref().map(|paths| paths.log().exists());
        assert_eq!(left, [false, false, true, true, true]);
        let locks = all.each_ref().map(|paths| paths.lock().exists());
        assert_eq!(locks, [false, false, false, true, false]);
    }

    #[test]
    fn files_of_no_session_are_ignored() {
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
