//! Can a daemon listen? Its folder has to be private to this user, and has to take sockets.

use super::{Finding, Severity};
use crate::config::Config;
use crate::daemon::{SessionPaths, runtime_dir};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

pub(super) async fn look(config: &Config) -> Finding {
    let folder = runtime_dir();
    let shown = folder.display();
    let tried = SessionPaths::of(config.session())
        .map_err(|error| error.details().message.clone())
        .and_then(|_| {
            listen_once(&folder)
                .map_err(|error| format!("the folder `{shown}` takes no socket: {error}"))
        });
    match tried {
        Ok(()) => Finding::new(Severity::Info, format!("{shown} is private and takes sockets")),
        Err(why) => Finding::new(Severity::Fail, why).fix(
            "set AGBROWSE_RUNTIME_DIR to a folder with a short path that you can write to, on a local \
             disk",
        ),
    }
}

/// Listens in the folder, is heard, and leaves nothing. The name is not one of a session.
fn listen_once(folder: &Path) -> std::io::Result<()> {
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
    fn listening_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        listen_once(folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_takes_no_socket_is_told() {
        let root = tempfile::tempdir().unwrap();
        assert!(listen_once(&root.path().join("absent")).is_err());
        let long = root.path().join("x".repeat(120));
        std::fs::create_dir(&long).unwrap();
        assert!(listen_once(&long).is_err(), "too long for a socket");
        assert_eq!(std::fs::read_dir(&long).unwrap().count(), 0);
    }
}
