//! Secrets: texts that are typed into a page and masked everywhere else.

mod needles;
mod scrub;

use crate::command::Reply;
use crate::error::{Code, Error, Result};
use needles::Needles;
use schemars::JsonSchema;
use scrub::Scrubbed;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use std::cell::Cell;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// A secret text. It prints and serializes as dots, and in clear only inside of an [`InClear`].
#[derive(Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SecretString(String);

thread_local! {
    /// True inside of an [`InClear`], where secrets serialize in clear. Serde passes no context down.
    static IS_CLEAR: Cell<bool> = const { Cell::new(false) };
}

/// The one type that serializes the secrets in a value in clear: for the wire to the daemon and for files that hold
/// secrets on purpose.
#[derive(Debug)]
pub struct InClear<'a, T>(pub &'a T);

impl<T: Serialize> Serialize for InClear<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        struct Reset(bool);
        impl Drop for Reset {
            fn drop(&mut self) {
                IS_CLEAR.set(self.0);
            }
        }
        let _reset = Reset(IS_CLEAR.replace(true));
        self.0.serialize(to)
    }
}

impl Serialize for SecretString {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.serialize_str(if IS_CLEAR.get() { &self.0 } else { page::text::MASK })
    }
}

impl SecretString {
    /// The secret in clear.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(page::text::MASK)
    }
}

impl From<&str> for SecretString {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl FromStr for SecretString {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        Ok(Self::from(text))
    }
}

/// Masks typed secrets in everything that a page returns.
#[derive(Debug, Default)]
pub(crate) struct SecretScrubber(Mutex<Vec<SecretString>>);

/// Shorter secrets would match everywhere.
const SHORTEST: usize = 4;

impl SecretScrubber {
    /// Adds a secret.
    pub(crate) fn add(&self, text: &SecretString) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if text.0.len() >= SHORTEST && !all.contains(text) {
            all.push(text.clone());
        }
    }

    /// Masks the secrets in a reply. Its file, if it has one, is left as it is.
    ///
    /// # Errors
    /// `secret.withheld` when the masked reply is not valid.
    pub(crate) fn scrub_reply(&self, mut reply: Reply) -> Result<Reply> {
        let file = reply.file_mut().map(std::mem::take);
        let mut reply = self.scrub(reply)?;
        if let (Some(file), Some(place)) = (file, reply.file_mut()) {
            *place = file;
        }
        Ok(reply)
    }

    /// Masks the secrets in the strings of any value.
    ///
    /// # Errors
    /// `secret.withheld` when the masked value is not valid: the original is never returned.
    pub(crate) fn scrub<T: Serialize + DeserializeOwned>(&self, value: T) -> Result<T> {
        let secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if secrets.is_empty() {
            return Ok(value);
        }
        let needles = Needles::new(&secrets);
        let masked = serde_json::to_string(&Scrubbed(&value, &needles));
        let withheld = |_| Error::new(Code::SecretWithheld);
        let masked = masked.map_err(withheld)?;
        match needles.is_found.get() {
            true => serde_json::from_str(&masked).map_err(withheld),
            false => Ok(value),
        }
    }
}

/// The secret with a name: an environment variable, or a file that only its owner can read.
///
/// # Errors
/// `secret.not-found`, also for a file that others can read.
pub(crate) fn look_up(name: &str) -> Result<SecretString> {
    let is_plain = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        && !name.starts_with('.');
    if !is_plain {
        return Err(Error::new(Code::SecretNotFound)
            .message("a secret's name has letters, digits, `_`, `-` and `.` only"));
    }
    if let Ok(value) = std::env::var(name) {
        return Ok(SecretString(value));
    }
    let Some(path) = secrets_dir().map(|folder| folder.join(name)) else {
        return Err(missing(name, None));
    };
    let Ok(metadata) = std::fs::metadata(&path) else { return Err(missing(name, Some(path))) };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(Error::new(Code::SecretNotFound).message(format!(
                "`{}` can be read by others: run `chmod 600` on it",
                path.display()
            )));
        }
    }
    _ = metadata;
    let text = std::fs::read_to_string(&path).map_err(|_| missing(name, Some(path)))?;
    Ok(SecretString(text.trim_end_matches(['\r', '\n']).to_owned()))
}

fn missing(name: &str, path: Option<PathBuf>) -> Error {
    let also = path.map(|path| format!(", and no file `{}`", path.display())).unwrap_or_default();
    Error::new(Code::SecretNotFound)
        .message(format!("there is no variable `{name}` in the environment{also}"))
}

fn secrets_dir() -> Option<PathBuf> {
    let set =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(config.join("agbrowse").join("secrets"))
}

#[cfg(test)]
mod tests;
