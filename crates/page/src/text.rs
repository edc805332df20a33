//! Normalization, truncation and quoting of texts. Lengths are UTF-16 units where the phase-7 format counts
//! them so.

use std::borrow::Cow;

pub use crate::mask::MASK;

/// Maximum length of a printed name, in UTF-16 units.
pub const MAX_NAME: usize = 900;

/// Maximum length of a printed value, in UTF-16 units.
pub const MAX_VALUE: usize = 120;

/// True for white space of a JavaScript regular expression (`\s`), on which the hashes are defined.
pub fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}'
            | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}'
    )
}

/// True for an empty text or one of white space only.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

/// Collapses runs of white space to one space and trims both ends.
pub fn collapse(text: &str) -> Cow<'_, str> {
    if is_collapsed(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    Cow::Owned(out)
}

/// Collapses white space and truncates to `limit` UTF-16 units followed by `…`. A surrogate pair is never
/// split.
pub fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    let text = collapse(text);
    // A unit takes at least one byte.
    if text.len() <= limit {
        return text;
    }
    match utf16_end(&text, limit) {
        end if end == text.len() => text,
        end => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// Collapses white space and truncates to `limit` characters including the final `...`.
pub fn cut_chars(text: &str, limit: usize) -> Cow<'_, str> {
    let text = collapse(text);
    // A character takes at least one byte.
    if text.len() <= limit || text.char_indices().nth(limit).is_none() {
        return text;
    }
    let end = text.char_indices().nth(limit.saturating_sub(3)).map_or(0, |(at, _)| at);
    Cow::Owned(format!("{}...", &text[..end]))
}

/// The first `limit` UTF-16 units.
pub fn first_units(text: &str, limit: usize) -> &str {
    if text.len() <= limit { text } else { &text[..utf16_end(text, limit)] }
}

/// Length in UTF-16 units.
pub fn utf16_len(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// Quotes a text like `JSON.stringify`: no page text can end its line or its quotes.
pub fn quote(out: &mut String, text: &str) {
    use std::fmt::Write as _;
    out.push('"');
    let mut done = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[done..at]);
        done = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            _ => {
                let _ = write!(out, "\\u{byte:04x}");
            }
        }
    }
    out.push_str(&text[done..]);
    out.push('"');
}

/// Returns a text in quotes, as [`quote`] writes it.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(&mut out, text);
    out
}

/// Masks the secrets in a URL.
pub fn mask_url(url: &str) -> String {
    crate::mask::mask(url).into_owned()
}

/// A search text with reusable buffers, for searching in many texts.
#[derive(Clone, Debug)]
pub struct Needle {
    folded: String,
    scratch: String,
}

impl Needle {
    /// Creates a needle that ignores case and the amount of white space.
    pub fn new(text: &str) -> Self {
        let mut folded = String::new();
        fold(&mut folded, text);
        Self { folded, scratch: String::new() }
    }

    /// True when `text` contains the needle.
    pub fn is_contained_in(&mut self, text: &str) -> bool {
        self.matches(text, |text, needle| text.contains(needle))
    }

    /// True when `text` equals the needle.
    pub fn equals(&mut self, text: &str) -> bool {
        self.matches(text, |text, needle| text == needle)
    }

    fn matches(&mut self, text: &str, is: impl Fn(&str, &str) -> bool) -> bool {
        self.scratch.clear();
        fold(&mut self.scratch, text);
        is(&self.scratch, &self.folded)
    }
}

fn fold(out: &mut String, text: &str) {
    let text = collapse(text);
    if text.is_ascii() {
        out.push_str(&text);
        out.make_ascii_lowercase();
    } else {
        out.extend(text.chars().flat_map(char::to_lowercase));
    }
}

/// Byte offset after the first `limit` UTF-16 units.
fn utf16_end(text: &str, limit: usize) -> usize {
    let mut units = 0;
    for (at, c) in text.char_indices() {
        units += c.len_utf16();
        if units > limit {
            return at;
        }
    }
    text.len()
}

fn is_collapsed(text: &str) -> bool {
    let mut after_space = true;
    let mut chars = text.bytes();
    let mut ascii = true;
    for byte in chars.by_ref() {
        match byte {
            b' ' if after_space => return false,
            b' ' => after_space = true,
            b'\t'..=b'\r' => return false,
            0x80.. => {
                ascii = false;
                break;
            }
            _ => after_space = false,
        }
    }
    if !ascii {
        after_space = true;
        for c in text.chars() {
            match c {
                ' ' if after_space => return false,
                ' ' => after_space = true,
                c if is_space(c) => return false,
                _ => after_space = false,
            }
        }
    }
    text.is_empty() || !after_space
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_collapsed() {
        for (text, expected) in [
            ("", ""),
            (" ", ""),
            ("a", "a"),
            ("a b", "a b"),
            ("  a \n\t b ", "a b"),
            ("a\u{a0}b", "a b"),
            ("é  é", "é é"),
            ("é ", "é"),
            ("\u{feff}x", "x"),
            ("a\u{85}b", "a\u{85}b"),
        ] {
            assert_eq!(collapse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn truncation_counts_units_or_characters() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcdef…");
        assert_eq!(cut("aé日b", 4), "aé日b");
        assert_eq!(cut("ab😀c", 3), "ab…");
        assert_eq!(cut("ab😀c", 4), "ab😀…");
        assert_eq!(cut_chars("abcdef", 6), "abcdef");
        assert_eq!(cut_chars("abcdefg", 6), "abc...");
        assert_eq!(cut_chars("ab日cde", 6), "ab日cde");
        assert_eq!(cut_chars("ab日cdef", 6), "ab日...");
        assert_eq!(first_units("a😀b", 2), "a");
        assert_eq!(utf16_len("a😀b"), 4);
    }

    #[test]
    fn quoting_is_that_of_json() {
        let every: String = (0..0x3000).filter_map(char::from_u32).collect();
        let mut quoted = String::new();
        quote(&mut quoted, &every);
        assert_eq!(quoted, serde_json::to_string(&every).unwrap());
    }

    #[test]
    fn searching_ignores_case_and_white_space() {
        let mut needle = Needle::new("Sign  IN");
        assert!(needle.is_contained_in("please sign in now") && needle.equals(" SIGN in"));
        assert!(!needle.is_contained_in("signin") && !needle.equals("sign in now"));
        assert!(Needle::new("ÄRGER").is_contained_in("viel ärger"));
    }
}
