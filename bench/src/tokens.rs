//! Token and ref counts of snapshot texts, for all tools alike.

use std::collections::BTreeSet;

/// Number of tokens of a text in the o200k encoding.
pub fn count(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

/// Roles without actions. Some tools issue refs to them, too.
const ROLES_WITHOUT_ACTION: &[&str] = &[
    "article",
    "banner",
    "blockquote",
    "caption",
    "cell",
    "columnheader",
    "complementary",
    "contentinfo",
    "definition",
    "figure",
    "gridcell",
    "heading",
    "image",
    "img",
    "list",
    "listitem",
    "main",
    "navigation",
    "paragraph",
    "region",
    "row",
    "rowheader",
    "table",
    "term",
];

/// Names of the browser's own buttons in `video` and `audio`. They do not belong to the page, and a ref to
/// the media element covers them.
const MEDIA_BUTTONS: &[&str] = &[
    "play",
    "pause",
    "mute",
    "unmute",
    "enter full screen",
    "exit full screen",
    "show more media controls",
];

/// Refs in a text: `@e3`, or `ref=e3` and the like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    /// All refs.
    pub all: usize,
    /// Refs to elements with actions.
    pub usable: usize,
}

/// Counts refs. A line shows one element: its role, its quoted name, its ref.
pub fn refs(text: &str) -> Refs {
    let mut distinct = BTreeSet::new();
    let mut usable = 0;
    for whole in text.lines() {
        let line = without_strings(whole);
        let mut words = line.split(|c: char| c.is_whitespace() || "[](),:".contains(c));
        let Some(word) = words.clone().find(|word| is_ref(word)) else { continue };
        let is_new = distinct.insert(word.to_owned());
        let role = words.find(|word| !matches!(*word, "" | "-") && !is_ref(word));
        let is_to_read = role.is_some_and(|role| ROLES_WITHOUT_ACTION.contains(&role));
        let name = whole.split('"').nth(1).unwrap_or_default();
        let is_of_media = role == Some("button") && MEDIA_BUTTONS.contains(&name);
        usable += usize::from(is_new && !is_to_read && !is_of_media);
    }
    Refs { all: distinct.len(), usable }
}

/// True for `@e3`, `ref=e3`, `ref=@e3`, `ref=f1e3`.
fn is_ref(word: &str) -> bool {
    let bare = word.strip_prefix("ref=").or_else(|| word.strip_prefix('@'));
    let Some(bare) = bare.map(|bare| bare.strip_prefix('@').unwrap_or(bare)) else { return false };
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match bare.split_once('e') {
        Some(("", element)) => number(element),
        Some((frame, element)) => frame.strip_prefix('f').is_some_and(number) && number(element),
        None => false,
    }
}

/// Removes quoted strings from a line: a page may name its elements as it likes.
fn without_strings(line: &str) -> String {
    let mut unquoted = String::new();
    let mut chars = line.chars();
    let mut is_inside = false;
    while let Some(c) = chars.next() {
        match c {
            '"' => is_inside = !is_inside,
            '\\' if is_inside => _ = chars.next(),
            _ if !is_inside => unquoted.push(c),
            _ => {}
        }
    }
    unquoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_offline() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
    }

    #[test]
    fn refs_of_all_tools_are_counted() {
        for (text, all, usable) in [
            ("- button \"Send\" [ref=@e1]\n- link \"Home\" [ref=@e2]:\n  - text \"@e3\"", 2, 2),
            ("@e1 button \"Send\"\n@e2 heading \"Top\"\n", 2, 1),
            ("- heading \"Top\" [level=1, ref=e4]\n- link \"Say \\\"@e9\\\"\" [ref=e5]", 2, 1),
            ("- link [ref=f1e7] [cursor=pointer]:\n  - /url: /x", 1, 1),
            ("- textbox \"Name\" [ref=e3]: a \"b @e8", 1, 1),
            ("- text: mail me@e1 or ref=easy", 0, 0),
            ("- button \"play\" [ref=e1]\n- button \"Play\" [ref=e2]", 2, 1),
            ("- link \"a\" [ref=@e1]\n- link \"a\" [ref=@e1]", 1, 1),
        ] {
            assert_eq!(refs(text), Refs { all, usable }, "{text}");
        }
    }
}
