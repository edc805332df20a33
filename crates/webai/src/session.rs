//! Sessions: the record of each prompt, from the intent to send it to its answer. One file for all, replaced as a whole and
//! changed under a lock, so that a crash at any point loses none and two processes do not overwrite each other.

use browser::{Code, Error, Result, TabId};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Version of the file.
const VERSION: u32 = 1;
/// Time that another process gets to finish its change.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
/// Pause between two attempts to take the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(25);

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionStatus {
    /// About to be sent. After a crash nobody knows whether it was: the page has to tell.
    Sending,
    /// Sent; no answer seen yet.
    Sent,
    /// Waited for.
    Polling,
    /// The answer streams.
    Streaming,
    /// The answer is complete.
    Complete,
    /// The answer was not complete in time; it can still be polled.
    Timeout,
    /// Stopped by the user.
    Aborted,
    /// The app reported an error.
    Error,
    /// Something has to be done by a person: a login, a challenge.
    Blocked,
    /// It was never sent.
    Failed,
}

impl SessionStatus {
    /// The wire spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Polling => "polling",
            Self::Streaming => "streaming",
            Self::Complete => "complete",
            Self::Timeout => "timeout",
            Self::Aborted => "aborted",
            Self::Error => "error",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
        }
    }

    /// True if its answer may still come.
    pub fn is_active(self) -> bool {
        matches!(
            self,
            Self::Sending
                | Self::Sent
                | Self::Polling
                | Self::Streaming
                | Self::Timeout
                | Self::Blocked
        )
    }
}

/// What was sent, without its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvelopeSummary {
    /// The model asked for.
    pub model: Option<String>,
    /// `inline-only` or `upload`.
    pub attachment_policy: String,
    /// Number of files.
    pub file_count: u32,
    /// Number of answers in the conversation before.
    pub assistant_count: u32,
    /// Number of prompts in the conversation before.
    pub user_count: u32,
    /// How often the beginning of the prompt was on the page before.
    #[serde(default)]
    pub shown_count: u32,
}

/// A session: one prompt and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRecord {
    /// Its ULID.
    pub session_id: String,
    /// The vendor.
    pub vendor: String,
    /// When it was made, in milliseconds since 1970.
    pub created_at: u64,
    /// When it was last changed.
    pub updated_at: u64,
    /// Until when the answer is waited for.
    pub deadline_at: u64,
    /// The daemon's session that it runs in.
    pub browser_session: String,
    /// Its tab.
    pub tab: Option<TabId>,
    /// The address that it was sent from, without query.
    pub original_url: Option<String>,
    /// The address of its conversation.
    pub conversation_url: Option<String>,
    /// Hash of the text as it was written into the composer.
    pub prompt_hash: String,
    /// Length of that text, in characters.
    pub prompt_chars: u32,
    /// What was sent.
    pub envelope_summary: EnvelopeSummary,
    /// Its state.
    pub status: SessionStatus,
    /// The answer.
    pub answer: Option<String>,
    /// Code and message of the last error.
    pub last_error: Option<String>,
    /// Remarks.
    pub warnings: Vec<String>,
    /// Length of the answer so far, in characters.
    pub last_response_chars: u32,
}

/// The file of all sessions.
#[derive(Clone, Debug)]
pub struct SessionStore {
    path: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoreFile {
    version: u32,
    sessions: Vec<SessionRecord>,
}

impl SessionStore {
    /// A store in a file, which is created when it is first needed.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// All sessions, the oldest first.
    ///
    /// # Errors
    /// `storage.invalid` if the file is damaged: it is not overwritten.
    pub fn all(&self) -> Result<Vec<SessionRecord>> {
        self.read().map(|file| file.sessions)
    }

    /// The session of an id, or of the beginning of one.
    ///
    /// # Errors
    /// `session.not-found`; `session.target-ambiguous` if several begin so.
    pub fn get(&self, id: &str) -> Result<SessionRecord> {
        let wanted = id.to_ascii_uppercase();
        let mut found = self.all()?;
        found.retain(|session| session.session_id.starts_with(&wanted));
        match found.len() {
            0 => Err(Error::new(Code::SessionNotFound).message(format!("no session `{id}`"))),
            1 => Ok(found.remove(0)),
            _ => Err(ambiguous(&found)),
        }
    }

    /// The only session of a browser whose answer may still come.
    ///
    /// # Errors
    /// `session.not-found` without one; `session.target-ambiguous` for several.
    pub fn only_active(&self, browser_session: &str) -> Result<SessionRecord> {
        let mut found = self.all()?;
        found.retain(|session| {
            session.status.is_active() && session.browser_session == browser_session
        });
        match found.len() {
            0 => Err(Error::new(Code::SessionNotFound).message("no session waits for an answer")),
            1 => Ok(found.remove(0)),
            _ => Err(ambiguous(&found)),
        }
    }

    /// Takes the right to send in a tab, which ends with the returned file. `None` if another process has it.
    ///
    /// # Errors
    /// When the lock file cannot be made.
    pub(crate) fn try_send_lock(
        &self,
        browser_session: &str,
        tab: Option<TabId>,
    ) -> Result<Option<File>> {
        let tab = tab.map_or_else(|| "none".to_owned(), |tab| tab.to_string());
        let path = self.path.with_file_name(format!("web-ai-send-{browser_session}-{tab}.lock"));
        let failed = |error: std::io::Error| {
            Error::new(Code::FileWriteFailed)
                .message(format!("`{}` cannot be written: {error}", path.display()))
        };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(failed)?;
        let file = private(File::options().create(true).truncate(false).write(true), &path);
        let file = file.map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Adds a session.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&self, session: SessionRecord) -> Result<()> {
        self.change(|sessions| sessions.push(session))
    }

    /// Changes a session.
    ///
    /// # Errors
    /// `session.not-found`; when the file cannot be written.
    pub fn update(
        &self,
        id: &str,
        change: impl FnOnce(&mut SessionRecord),
    ) -> Result<SessionRecord> {
        let mut changed = None;
        self.change(|sessions| {
            if let Some(session) = sessions.iter_mut().find(|session| session.session_id == id) {
                change(session);
                session.updated_at = now_ms();
                changed = Some(session.clone());
            }
        })?;
        changed
            .ok_or_else(|| Error::new(Code::SessionNotFound).message(format!("no session `{id}`")))
    }

    /// Removes sessions; returns how many.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remove(&self, is_wanted: impl Fn(&SessionRecord) -> bool) -> Result<usize> {
        let mut removed = 0;
        self.change(|sessions| {
            let before = sessions.len();
            sessions.retain(|session| !is_wanted(session));
            removed = before - sessions.len();
        })?;
        Ok(removed)
    }

    fn read(&self) -> Result<StoreFile> {
        let damaged = |why: &dyn std::fmt::Display| {
            Error::new(Code::StorageInvalid)
                .message(format!("the sessions in `{}` cannot be read: {why}", self.path.display()))
        };
        let text = match std::fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(StoreFile { version: VERSION, sessions: Vec::new() });
            }
            Err(error) => return Err(damaged(&error)),
        };
        let file: StoreFile = serde_json::from_slice(&text).map_err(|error| damaged(&error))?;
        match file.version {
            VERSION => Ok(file),
            version => Err(damaged(&format!("version {version}, expected {VERSION}"))),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<SessionRecord>)) -> Result<()> {
        let failed = |error: std::io::Error| {
            Error::new(Code::FileWriteFailed)
                .message(format!("`{}` cannot be written: {error}", self.path.display()))
        };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(failed)?;
        let _lock = self.lock().map_err(failed)?;
        let mut file = self.read()?;
        change(&mut file.sessions);
        self.write(&file).map_err(failed)
    }

    /// Takes the lock, which ends with the returned file: also when the process is killed.
    fn lock(&self) -> std::io::Result<File> {
        let file = private(
            File::options().create(true).truncate(false).write(true),
            &self.path.with_extension("lock"),
        )?;
        let begun = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(file),
                Err(error) if begun.elapsed() > LOCK_PATIENCE => return Err(error.into()),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Replaces the file. Its content is on the disk before the name is, so that a power cut leaves the old or the new one.
    fn write(&self, content: &StoreFile) -> std::io::Result<()> {
        let temporary = self.path.with_extension("tmp");
        let mut file =
            private(File::options().create(true).write(true).truncate(true), &temporary)?;
        serde_json::to_writer_pretty(&mut file, content)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        std::fs::rename(&temporary, &self.path)?;
        // The name too; a file system that cannot do it is none that promises more.
        _ = File::open(self.path.parent().unwrap_or(Path::new(".")))
            .and_then(|folder| folder.sync_all());
        Ok(())
    }
}

/// Opens a file that only its owner can read: sessions hold answers.
fn private(options: &mut std::fs::OpenOptions, path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600).open(path)
}

/// The error of an id or vendor that several sessions match.
pub(crate) fn ambiguous(sessions: &[SessionRecord]) -> Error {
    let candidates =
        sessions.iter().map(|it| format!("{} {} {}", it.session_id, it.vendor, it.status.as_str()));
    Error::new(Code::SessionTargetAmbiguous)
        .message(format!("{} sessions match: name one", sessions.len()))
        .evidence("candidates", candidates.collect::<Vec<_>>())
}

/// The time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// A new ULID: 48 bits of time, 80 of randomness, in Crockford's base 32.
pub(crate) fn ulid() -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let mut bytes = [0_u8; 16];
    bytes[..8].copy_from_slice(&(now_ms() << 16).to_be_bytes());
    if rustix::rand::getrandom(&mut bytes[6..], rustix::rand::GetRandomFlags::empty()).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let clock = now.unwrap_or_default().as_nanos().to_be_bytes();
        bytes[6..].copy_from_slice(&clock[6..]);
    }
    let value = u128::from_be_bytes(bytes);
    (0..26).rev().map(|place| char::from(DIGITS[(value >> (place * 5)) as usize & 31])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: &str) -> SessionRecord {
        SessionRecord {
            session_id: id.into(),
            vendor: "chatgpt".into(),
            created_at: 1,
            updated_at: 1,
            deadline_at: 2,
            browser_session: "default".into(),
            tab: None,
            original_url: None,
            conversation_url: None,
            prompt_hash: "sha256:0".into(),
            prompt_chars: 3,
            envelope_summary: EnvelopeSummary::default(),
            status: SessionStatus::Sending,
            answer: None,
            last_error: None,
            warnings: Vec::new(),
            last_response_chars: 0,
        }
    }

    fn store() -> (tempfile::TempDir, SessionStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = SessionStore::new(folder.path().join("deep/web-ai-sessions.json"));
        (folder, store)
    }

    #[test]
    fn session_is_added_found_by_its_beginning_changed_and_removed() {
        let (_folder, store) = store();
        assert_eq!(store.all().unwrap(), []);
        for id in ["01AAAA", "01AABB"] {
            store.add(session(id)).unwrap();
        }
        assert_eq!(store.get("01aab").unwrap().session_id, "01AABB");
        assert_eq!(store.get("01A").unwrap_err().code(), Code::SessionTargetAmbiguous);
        assert_eq!(store.get("02").unwrap_err().code(), Code::SessionNotFound);
        let changed = store.update("01AAAA", |it| it.status = SessionStatus::Complete).unwrap();
        assert!(changed.updated_at > 1);
        assert_eq!(store.remove(|it| it.status == SessionStatus::Complete).unwrap(), 1);
        assert_eq!(store.all().unwrap().len(), 1);
    }

    #[test]
    fn sessions_are_private_and_a_damaged_file_is_kept() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, store) = store();
        store.add(session("01A")).unwrap();
        let mode = std::fs::metadata(&store.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::write(&store.path, "{").unwrap();
        assert_eq!(store.add(session("01B")).unwrap_err().code(), Code::StorageInvalid);
        assert_eq!(std::fs::read_to_string(&store.path).unwrap(), "{");
    }

    #[test]
    fn changes_from_several_threads_are_all_kept() {
        let (_folder, store) = store();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let store = &store;
                scope.spawn(move || {
                    for number in 0..10 {
                        store.add(session(&format!("{thread}-{number}"))).unwrap();
                    }
                });
            }
        });
        assert_eq!(store.all().unwrap().len(), 40);
    }

    #[test]
    fn ulids_are_ordered_by_time_and_unique() {
        let ids: Vec<String> = (0..100).map(|_| ulid()).collect();
        assert!(ids.iter().all(|id| id.len() == 26 && id.starts_with('0')));
        assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), 100);
        assert!(ids.windows(2).all(|pair| pair[0][..9] <= pair[1][..9]));
    }
}
