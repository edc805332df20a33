//! Check `socket`: whether the runtime directory is private to this user and a Unix socket can listen in it.

use super::{Finding, Severity};
use crate::config::Config;
use crate::daemon::{SessionPaths, runtime_dir};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

pub(super) async fn run(config: &Config) -> Finding {
    let folder = runtime_dir();
    let path = folder.display();
    let result = SessionPaths::of(config.session())
        .map_err(|error| error.details().message.clone())
        .and_then(|_| {
            test_socket(&folder)
                .map_err(|error| format!("cannot listen on a socket in `{path}`: {error}"))
        });
    match result {
        Ok(()) => Finding::new(Severity::Info, format!("{path} is private and accepts sockets")),
        Err(why) => Finding::new(Severity::Fail, why)
            .fix("set AGBROWSE_RUNTIME_DIR to a writable folder with a short path on a local disk"),
    }
}

/// Binds a temporary socket in the folder, connects to it and removes it. Its name is no session name.
fn test_socket(folder: &Path) -> std::io::Result<()> {
    let socket = tempfile::Builder::new()
        .prefix(".doctor-")
        .make_in(folder, |path| UnixListener::bind(path))?;
    let _client = UnixStream::connect(socket.path())?;
    socket.as_file().accept()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_socket_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        test_socket(folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn folder_without_sockets_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        assert!(test_socket(&root.path().join("absent")).is_err());
        let long = root.path().join("x".repeat(120));
        std::fs::create_dir(&long).unwrap();
        assert!(test_socket(&long).is_err(), "too long for a socket");
        assert_eq!(std::fs::read_dir(&long).unwrap().count(), 0);
    }
}
