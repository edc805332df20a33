//! Output sanitizer: escapes control characters, bidirectional overrides and invisible characters.
//!
//! Every output channel applies it to whole outputs (a line, a reply, a JSON document), never to single
//! fields, so that no string of a page gets around it. It uses JSON escapes: in a JSON document the data is
//! unchanged.

use std::borrow::Cow;
use std::fmt::Write as _;

/// True for characters that are always escaped: controls other than line feed and tab, bidirectional
/// overrides and isolates, line separators of Unicode, and invisible characters.
pub fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        _ => is_invisible(c),
    }
}

/// Invisible characters: format characters (category Cf), default-ignorable ones, line and paragraph
/// separators, noncharacters.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fdd0}'..='\u{fdef}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1345f}'
            | '\u{16fe4}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    ) || u32::from(c) & 0xfffe == 0xfffe
}

/// Escapes unsafe characters as in JSON (`\u202e`). A carriage return before a line feed is dropped.
///
/// A single joiner or variation selector stays where it shapes an emoji or a letter of a joining script,
/// since its effect is visible there.
pub fn escape_unsafe(text: &str) -> Cow<'_, str> {
    let Some(first) = first_unsafe(text) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 32);
    out.push_str(&text[..first]);
    let mut before = text[..first].chars().next_back();
    let mut rest = text[first..].chars();
    while let Some(c) = rest.next() {
        let next = rest.clone().next();
        match c {
            '\r' if next == Some('\n') => {}
            c if !is_unsafe(c) || is_shaping(before, c, next) => out.push(c),
            c => {
                let mut units = [0_u16; 2];
                for unit in c.encode_utf16(&mut units) {
                    _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
        // An escaped character shapes nothing.
        before = out.chars().next_back();
    }
    Cow::Owned(out)
}

/// Byte offset of the first character that may need escaping.
fn first_unsafe(text: &str) -> Option<usize> {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let start = text.bytes().position(|byte| !plain(&byte))?;
    text[start..].char_indices().find(|(_, c)| is_unsafe(*c)).map(|(at, _)| start + at)
}

/// True when an unsafe character shapes its neighbours: part of an emoji, or a joiner between joining
/// letters.
fn is_shaping(before: Option<char>, c: char, next: Option<char>) -> bool {
    let is_emoji =
        |c: char| matches!(c, '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}') && !is_unsafe(c);
    // Arabic, Syriac, and the scripts of India up to Sinhala.
    let joins = |c: char| matches!(c, '\u{620}'..='\u{ddf}') && !is_unsafe(c);
    match (before, c, next) {
        (Some('0'..='9' | '#' | '*'), '\u{fe0f}', next) => next == Some('\u{20e3}'),
        (Some(before), '\u{fe0e}' | '\u{fe0f}', _) => {
            is_emoji(before) || matches!(before, '\u{a9}' | '\u{ae}')
        }
        (Some(before), '\u{200d}', Some(next)) => {
            (is_emoji(before) || before == '\u{fe0f}') && is_emoji(next)
                || joins(before) && joins(next)
        }
        (Some(before), '\u{200c}', Some(next)) => joins(before) && joins(next),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(escape_unsafe(text), expected, "{text:?}");
    }

    #[test]
    fn controls_overrides_and_invisible_characters_are_escaped() {
        check("a\u{1b}[2Jb\u{9b}31m\u{7f}\0", "a\\u001b[2Jb\\u009b31m\\u007f\\u0000");
        check("one\ttwo\nthree\r\nfour\rfive", "one\ttwo\nthree\nfour\\u000dfive");
        check("user\u{202e}txt.exe\u{2066}", "user\\u202etxt.exe\\u2066");
        check(
            "a\u{200b}b\u{feff}c\u{ad}d\u{2028}e\u{61c}",
            "a\\u200bb\\ufeffc\\u00add\\u2028e\\u061c",
        );
        check("tag \u{e0041}", "tag \\udb40\\udc41");
        check("a\u{200d}b x\u{fe0f}\u{fe0f}", "a\\u200db x\\ufe0f\\ufe0f");
        check("bytes \u{1f600}\u{fe00}\u{e0100}", "bytes \u{1f600}\\ufe00\\udb40\\udd00");
    }

    #[test]
    fn visible_characters_stay() {
        for text in [
            "plain \u{e9} \u{65e5}\u{672c} \u{1f343}",
            "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} \u{2764}\u{fe0f} 1\u{fe0f}\u{20e3}",
            "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
            "\u{fffd} \u{a0} \u{3000}",
        ] {
            assert!(matches!(escape_unsafe(text), Cow::Borrowed(_)) || escape_unsafe(text) == text);
            check(text, text);
        }
    }

    #[test]
    fn runs_of_joiners_are_escaped() {
        check("\u{1f600}\u{200d}\u{200d}\u{1f600}", "\u{1f600}\\u200d\\u200d\u{1f600}");
        check("\u{2764}\u{fe0f}\u{fe0f}", "\u{2764}\u{fe0f}\\ufe0f");
        check("\u{fe0f}\u{200d}\u{1f600}", "\\ufe0f\\u200d\u{1f600}");
    }

    /// Texts in which every other character is unsafe.
    fn hostile() -> impl Strategy<Value = String> {
        let unsafe_one = any::<char>().prop_filter("safe", |c| is_unsafe(*c));
        let known = prop::sample::select(
            "\u{1b}\u{9b}\u{202e}\u{2066}\u{200b}\u{200c}\u{200d}\u{feff}\u{fe0f}\u{2028}\0\r\u{e0041}\u{1f600}\u{641}\"\\1"
                .chars()
                .collect::<Vec<char>>(),
        );
        let one = prop_oneof![4 => known, 1 => unsafe_one, 3 => any::<char>()];
        prop::collection::vec(one, 0..40).prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        #[test]
        fn only_shaping_characters_are_left(text in hostile()) {
            let chars: Vec<char> = escape_unsafe(&text).chars().collect();
            for (at, c) in chars.iter().enumerate().filter(|(_, c)| is_unsafe(**c)) {
                let before = at.checked_sub(1).map(|at| chars[at]);
                prop_assert!(is_shaping(before, *c, chars.get(at + 1).copied()), "{:?}", text);
            }
        }

        #[test]
        fn escaping_keeps_json_data(text in hostile()) {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(serde_json::from_str::<String>(&escape_unsafe(&json)).unwrap(), text);
        }
    }
}
