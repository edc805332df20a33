//! Strings with lone surrogates.
//!
//! JavaScript strings may hold lone surrogates, which the protocol passes on as `\ud800` escapes and which a
//! `String` cannot hold: one such character would make a whole reply undecodable. `LossyString` replaces them
//! with U+FFFD.

use serde::de::{Deserialize, Deserializer, Visitor};
use std::fmt;

/// A string from the page, with lone surrogates replaced by U+FFFD.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LossyString(pub String);

impl LossyString {
    /// The inner `String`.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl std::ops::Deref for LossyString {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LossyString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for LossyString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lossy;
        impl Visitor<'_> for Lossy {
            type Value = LossyString;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E>(self, text: &str) -> Result<LossyString, E> {
                Ok(LossyString(text.to_owned()))
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<LossyString, E> {
                Ok(LossyString(lossy(bytes)))
            }
        }
        // `deserialize_bytes` makes serde_json decode escapes without requiring paired surrogates.
        deserializer.deserialize_bytes(Lossy)
    }
}

impl serde::Serialize for LossyString {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Decodes WTF-8, one U+FFFD per lone surrogate (three bytes `ED A0..BF xx`).
fn lossy(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        // The standard library reports a surrogate's three bytes as three chunks; only the lead counts.
        if chunk.invalid().first().is_some_and(|byte| !(0x80..0xC0).contains(byte)) {
            out.push('\u{FFFD}');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &str) {
        assert_eq!(serde_json::from_str::<LossyString>(json).unwrap().0, expected, "{json}");
    }

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        check(r#""plain""#, "plain");
        check(r#""\ud83d\ude00 paired""#, "\u{1F600} paired");
        check(r#""a\ud800b""#, "a\u{FFFD}b");
        check(r#""\udc00\ud800""#, "\u{FFFD}\u{FFFD}");
        check(r#""é\n\u0000""#, "é\n\0");
    }
}
