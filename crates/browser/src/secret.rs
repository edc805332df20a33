//! Secrets: texts that go into a page and nowhere else.

use crate::command::Reply;
use crate::error::{Code, Error, Result};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// A text that is not written to logs: it travels to where it is typed, and prints as dots.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Hidden(String);

impl Hidden {
    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(page::text::MASK)
    }
}

impl From<&str> for Hidden {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl FromStr for Hidden {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        Ok(Self::from(text))
    }
}

/// Texts that were typed as secrets. They are masked in whatever comes back from a page.
#[derive(Debug, Default)]
pub(crate) struct Secrets(Mutex<Vec<Hidden>>);

/// Shorter ones would be found everywhere.
const SHORTEST: usize = 4;

impl Secrets {
    /// Takes in another one.
    pub(crate) fn add(&self, text: &Hidden) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if text.0.len() >= SHORTEST && !all.contains(text) {
            all.push(text.clone());
        }
    }

    /// A reply without them. Its file, if it has one, is left as it is.
    pub(crate) fn out_of_reply(&self, mut reply: Reply) -> Reply {
        let file = reply.file_mut().map(std::mem::take);
        let mut reply = self.out_of(reply);
        if let (Some(file), Some(place)) = (file, reply.file_mut()) {
            *place = file;
        }
        reply
    }

    /// Anything without them.
    pub(crate) fn out_of<T: Serialize + DeserializeOwned>(&self, it: T) -> T {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if all.is_empty() {
            return it;
        }
        let Ok(mut text) = serde_json::to_string(&it) else { return it };
        let mut is_found = false;
        for secret in &all {
            let written = serde_json::to_string(&secret.0).unwrap_or_default();
            let written = written.trim_matches('"');
            if text.contains(written) {
                is_found = true;
                text = text.replace(written, page::text::MASK);
            }
        }
        match is_found {
            true => serde_json::from_str(&text).unwrap_or(it),
            false => it,
        }
    }
}

/// The secret of a name: a variable of the environment, or a file that only its owner can read.
///
/// # Errors
/// `secret.not-found`, also for a file that others can read.
pub(crate) fn look_up(name: &str) -> Result<Hidden> {
    let is_plain = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        && !name.starts_with('.');
    if !is_plain {
        return Err(Error::new(Code::SecretNotFound)
            .message("a secret's name has letters, digits, `_`, `-` and `.` only"));
    }
    if let Ok(value) = std::env::var(name) {
        return Ok(Hidden(value));
    }
    let Some(path) = folder().map(|folder| folder.join(name)) else {
        return Err(missing(name, None));
    };
    let Ok(about) = std::fs::metadata(&path) else { return Err(missing(name, Some(path))) };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if about.permissions().mode() & 0o077 != 0 {
            return Err(Error::new(Code::SecretNotFound).message(format!(
                "`{}` can be read by others: run `chmod 600` on it",
                path.display()
            )));
        }
    }
    _ = about;
    let text = std::fs::read_to_string(&path).map_err(|_| missing(name, Some(path)))?;
    Ok(Hidden(text.trim_end_matches(['\r', '\n']).to_owned()))
}

fn missing(name: &str, path: Option<PathBuf>) -> Error {
    let also = path.map(|path| format!(", and no file `{}`", path.display())).unwrap_or_default();
    Error::new(Code::SecretNotFound)
        .message(format!("there is no variable `{name}` in the environment{also}"))
}

fn folder() -> Option<PathBuf> {
    let set =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(config.join("agbrowse").join("secrets"))
}
