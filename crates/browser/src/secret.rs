//! Secrets: texts that are typed into a page and masked everywhere else.

mod needles;
mod scrub;

use crate::command::Reply;
use crate::error::{Code, Error, Result};
use needles::Needles;
use schemars::JsonSchema;
use scrub::Scrubbed;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// A secret text. It prints as dots and serializes as `secret:NAME`, or as dots when it has no name; in clear only inside
/// of an [`InClear`].
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretString {
    text: String,
    /// The name that it was looked up by.
    name: Option<String>,
}

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
        match (&self.name, IS_CLEAR.get()) {
            (Some(name), true) => {
                NamedSecret { name: name.as_str().into(), text: self.text.as_str().into() }
                    .serialize(to)
            }
            (None, true) => to.serialize_str(&self.text),
            (Some(name), false) => to.collect_str(&format_args!("secret:{name}")),
            (None, false) => to.serialize_str(page::text::MASK),
        }
    }
}

/// A secret with its name, as it goes over the wire.
#[derive(Serialize, Deserialize)]
struct NamedSecret<'a> {
    name: Cow<'a, str>,
    text: Cow<'a, str>,
}

impl<'de> Deserialize<'de> for SecretString {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct TextOrNamed;
        impl<'de> Visitor<'de> for TextOrNamed {
            type Value = SecretString;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E: serde::de::Error>(
                self,
                text: &str,
            ) -> std::result::Result<SecretString, E> {
                Ok(text.into())
            }
            fn visit_map<A: MapAccess<'de>>(
                self,
                map: A,
            ) -> std::result::Result<SecretString, A::Error> {
                let NamedSecret { name, text } =
                    NamedSecret::deserialize(MapAccessDeserializer::new(map))?;
                Ok(SecretString { text: text.into_owned(), name: Some(name.into_owned()) })
            }
        }
        from.deserialize_any(TextOrNamed)
    }
}

impl JsonSchema for SecretString {
    fn schema_name() -> Cow<'static, str> {
        "SecretString".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

impl SecretString {
    fn named(text: &str, name: &str) -> Self {
        Self { text: text.to_owned(), name: Some(name.to_owned()) }
    }

    /// The secret in clear.
    pub fn reveal(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(page::text::MASK)
    }
}

impl From<&str> for SecretString {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), name: None }
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
        if text.text.len() >= SHORTEST && !all.contains(text) {
            all.push(text.clone());
        }
    }

    /// Masks the secrets in a reply. Its file, if it has one, is left as it is.
    ///
    /// # Errors
    /// `secret.withheld` when the masked reply is not valid.
    pub(crate) fn scrub_reply(&self, mut reply: Reply) -> Result<Reply> {
        let file = reply.verb_reply_mut().file().map(|file| std::mem::take(file.data));
        let mut reply = self.scrub(reply)?;
        if let (Some(data), Some(file)) = (file, reply.verb_reply_mut().file()) {
            *file.data = data;
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
        return Ok(SecretString::named(&value, name));
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
    Ok(SecretString::named(text.trim_end_matches(['\r', '\n']), name))
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
