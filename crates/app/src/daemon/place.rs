//! Where a session's socket, lock, state and log are.

use browser::{Code, Error, Result};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The longest path that a socket may have, on every system we run on.
const MAX_SOCKET_PATH: usize = 100;

/// The files of one session.
#[derive(Clone, Debug)]
pub struct Place {
    /// The session's name.
    pub session: String,
    folder: PathBuf,
}

impl Place {
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
        if place.socket().as_os_str().len() > MAX_SOCKET_PATH {
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

    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.session))
    }
}

/// The sessions that have left anything here, by name.
pub fn list() -> Vec<String> {
    let entries = std::fs::read_dir(runtime_dir()).into_iter().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let path: PathBuf = entry.ok()?.path();
            let is_session =
                path.extension().is_some_and(|ending| ending == "sock" || ending == "json");
            is_session.then(|| path.file_stem()?.to_str().map(str::to_owned)).flatten()
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The folder of all sockets: private to this user.
pub fn runtime_dir() -> PathBuf {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| Path::new(value).is_absolute());
    if let Some(folder) = variable("AGBROWSE_RUNTIME_DIR") {
        return folder.into();
    }
    if let Some(folder) = variable("XDG_RUNTIME_DIR").filter(|folder| Path::new(folder).is_dir()) {
        return Path::new(&folder).join("agbrowse");
    }
    std::env::temp_dir().join(format!("agbrowse-{}", rustix::process::getuid().as_raw()))
}
