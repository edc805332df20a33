//! Secret masking in texts: card numbers, tokens, passwords in URLs. The only definition of it; all output of
//! page text and URLs goes through [`mask`].
//!
//! Field values are not judged here: only the page can tell whether a field holds a secret.

use std::borrow::Cow;
use std::ops::Range;

/// Replacement of a secret, whatever its length.
pub const MASK: &str = "••••••";

/// Masks everything that looks like a secret in a text, markup or a URL. The text around it is unchanged: of
/// a link only the token's value is masked.
///
/// - values of parameters named like a secret (`token=`, `clientSecret=`, `;jsessionid=`), also inside a URL
///   that is itself a parameter, and values that can only be tokens
/// - values of often harmless parameters (`code=`, `state=`, `key=`), when they look random
/// - user names and passwords before a host
/// - tokens in paths, after a word such as `reset`
/// - tokens with a known format (`eyJ….….…`, `ghp_…`)
/// - possible card numbers
pub fn mask(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    // Skips most of a text.
    while let Some(ahead) = bytes[at..].iter().position(|c| IS_TRIGGER[usize::from(*c)]) {
        at += ahead;
        let secret = match bytes[at] {
            b'=' => parameter(text, at, at + 1),
            b'%' => encoded_equals(bytes, at).and_then(|after| parameter(text, at, after)),
            b'0'..=b'9' | 0xef if !is_digit_before(bytes, at) => card(text, at),
            b'/' => {
                let is_host = at > 0 && bytes[at - 1] == b'/' && at > 1 && bytes[at - 2] == b':';
                if is_host { user_info(text, at + 1) } else { segment(text, at + 1) }
            }
            b'J' | b'K' | b'_' | b'-' => token(text, at),
            _ => None,
        };
        match secret {
            Some(secret) => {
                at = secret.end.max(at + 1);
                found.push(secret);
            }
            None => at += 1,
        }
    }
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for secret in found {
        out.push_str(&text[done..secret.start]);
        out.push_str(MASK);
        done = secret.end;
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// The characters that can indicate a secret.
const IS_TRIGGER: [bool; 256] = {
    let mut is = [false; 256];
    let telling = b"=%/JK_-0123456789\xef";
    let mut at = 0;
    while at < telling.len() {
        is[telling[at] as usize] = true;
        at += 1;
    }
    is
};

// Parameters.

/// Name endings, as one word, whose values are always secrets.
const SECRET_ENDS: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "authkey",
    "sessionid",
    "sessid",
    "signature",
    "credential",
    "credentials",
];

/// Name endings that count only as a separate word; their values are always secrets.
const SECRET_WORDS: &[&str] = &[
    "authorization",
    "bearer",
    "csrf",
    "cvc",
    "cvv",
    "hmac",
    "jwt",
    "otp",
    "pass",
    "pwd",
    "sig",
    "ssn",
    "totp",
    "xsrf",
];

/// Name endings whose values are secrets when they look random.
const RANDOM_ENDS: &[&str] = &[
    "access",
    "assertion",
    "auth",
    "challenge",
    "code",
    "key",
    "nonce",
    "session",
    "sess",
    "sid",
    "sso",
    "state",
    "ticket",
    "verifier",
];

/// Kind of a parameter by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParameterKind {
    Secret,
    Open,
    Nothing,
}

fn parameter_kind(name: &str) -> ParameterKind {
    let words = words(name);
    let Some(last) = words.last() else { return ParameterKind::Nothing };
    let one = words.concat();
    let is_pass = last == "pass" && words.len() > 1 && words[words.len() - 2] != "user";
    if SECRET_ENDS.iter().any(|end| one.ends_with(end))
        || SECRET_WORDS.contains(&&**last) && !is_pass
    {
        ParameterKind::Secret
    } else if RANDOM_ENDS.iter().any(|end| one.ends_with(end)) {
        ParameterKind::Open
    } else {
        ParameterKind::Nothing
    }
}

/// The words of a name in lower case: `accessToken`, `access_token` and `user[accessToken]` end in the same
/// two.
fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| chars[at]);
        let is_small = |c: Option<&char>| c.is_some_and(char::is_ascii_lowercase);
        let begins = c.is_ascii_uppercase()
            && (is_small(before.as_ref())
                || before.is_some_and(|c| c.is_ascii_uppercase()) && is_small(chars.get(at + 1)));
        if !c.is_ascii_alphanumeric() || begins {
            words.push(String::new());
        }
        if c.is_ascii_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.push(c.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Maximum length of a parameter name.
const MAX_NAME_LEN: usize = 80;

/// The range of the value after an equals sign, if it is a secret.
fn parameter(text: &str, equals: usize, after: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_encoded = after > equals + 1;
    let end = value_end(bytes, after, is_encoded);
    if end == after {
        return None;
    }
    let begin = name_begin(bytes, equals);
    let mark = match begin.checked_sub(1).map(|at| bytes[at]) {
        Some(b'?' | b'&' | b'#' | b';') => true,
        _ => encoded_before(bytes, begin).is_some_and(|c| b"?&#;".contains(&c)),
    };
    let value = &text[after..end];
    let name = decoded(&text[begin..equals]);
    if begin == equals {
        return None;
    }
    let is_secret = match parameter_kind(&name) {
        ParameterKind::Secret if mark => !is_plain_word(value),
        // Not in a URL: an argument or a line of a log, where a name alone says little.
        ParameterKind::Secret => {
            value.len() >= 4
                && value.bytes().any(|c| c.is_ascii_digit())
                && value.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-+/=%~".contains(&c))
        }
        ParameterKind::Open if mark => is_random(&decoded(value)),
        _ => mark && is_certainly_token(value),
    };
    is_secret.then_some(after..end)
}

/// True for values without information.
fn is_plain_word(value: &str) -> bool {
    matches!(
        value,
        "!0" | "!1" | "true" | "false" | "null" | "undefined" | "none" | "yes" | "no" | "0" | "1"
    ) || value.starts_with('•')
}

/// End of an equals sign encoded as `%3D` or `%253D`.
fn encoded_equals(bytes: &[u8], at: usize) -> Option<usize> {
    let mut after = at + 1;
    while bytes[after..].starts_with(b"25") {
        after += 2;
    }
    (bytes.get(after..after + 2)?.eq_ignore_ascii_case(b"3d")).then_some(after + 2)
}

/// The percent-encoded character (`%3F`) that ends at `at`.
fn encoded_before(bytes: &[u8], at: usize) -> Option<u8> {
    let digits = bytes.get(at.checked_sub(2)?..at)?;
    let c = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    let mut begin = at - 2;
    while begin >= 2 && &bytes[begin - 2..begin] == b"25" {
        begin -= 2;
    }
    (begin > 0 && bytes[begin - 1] == b'%').then_some(c)
}

/// Start of the name before an equals sign.
fn name_begin(bytes: &[u8], equals: usize) -> usize {
    let is_name = |c: u8| c.is_ascii_alphanumeric() || b"_-.[]".contains(&c);
    let mut begin = equals;
    while begin > 0 && equals - begin < MAX_NAME_LEN {
        match encoded_before(bytes, begin) {
            Some(c) if bytes[begin - 3] == b'%' && is_name(c) => begin -= 3,
            Some(_) => break,
            None if is_name(bytes[begin - 1]) => begin -= 1,
            None => break,
        }
    }
    begin
}

/// End of a value.
fn value_end(bytes: &[u8], begin: usize, is_encoded: bool) -> usize {
    let mut at = begin;
    while at < bytes.len() {
        match bytes[at] {
            b'&'
            | b'#'
            | b';'
            | b'?'
            | b'"'
            | b'\''
            | b'<'
            | b'>'
            | b'('
            | b')'
            | b'`'
            | b'\\'
            | b'{'
            | b'}'
            | b','
            | 0..=b' ' => {
                break;
            }
            b'%' if is_encoded => {
                let mut code = at + 1;
                while bytes[code..].starts_with(b"25") {
                    code += 2;
                }
                let code = bytes.get(code..code + 2).unwrap_or_default().to_ascii_lowercase();
                if [b"26", b"23", b"3b", b"22", b"27"].iter().any(|end| code == *end) {
                    break;
                }
            }
            _ => {}
        }
        at += 1;
    }
    at
}

/// Percent-decodes a text.
fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(c) if bytes[at] == b'%' => {
                out.push(c);
                at += 3;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

// URLs.

/// Range of user name and password before a host.
fn user_info(text: &str, begin: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[begin..];
    let end = rest.iter().position(|c| b"/?#\"'<>\\".contains(c) || *c <= b' ');
    let host = rest[..end.unwrap_or(rest.len())].iter().rposition(|c| *c == b'@')?;
    (host > 0).then_some(begin..begin + host)
}

/// Path words that precede a token.
const PATH_WORDS: &[&str] = &[
    "activate",
    "activation",
    "auth",
    "callback",
    "confirm",
    "confirmation",
    "forgot",
    "hooks",
    "invitation",
    "invitations",
    "invite",
    "invites",
    "login",
    "magic",
    "password",
    "recover",
    "recovery",
    "reset",
    "signin",
    "token",
    "tokens",
    "unsubscribe",
    "verification",
    "verify",
    "webhook",
    "webhooks",
];

/// Range of a path segment, if it is a token.
fn segment(text: &str, begin: usize) -> Option<Range<usize>> {
    const MIN_LEN: usize = 16;
    let bytes = text.as_bytes();
    let is_end = |c: &u8| b"/?#&;=\"'<>(),\\".contains(c) || *c <= b' ';
    let length = bytes[begin..].iter().position(is_end).unwrap_or(bytes.len() - begin);
    let part = &text[begin..begin + length];
    if length < MIN_LEN || part.contains('.') || !(is_random(part) || is_long_token(part)) {
        return None;
    }
    let path = bytes[..begin].iter().rposition(|c| *c != b'/' && is_end(c)).map_or(0, |at| at + 1);
    let is_path_word = |part: &str| words(part).iter().any(|word| PATH_WORDS.contains(&&**word));
    let path = text.get(path..begin)?;
    // The host does not count: `login.example.com/static/…` has files, too.
    let path =
        path.split_once("://").map_or(path, |(_, path)| path.split_once('/').map_or("", |it| it.1));
    path.split('/').any(is_path_word).then_some(begin..begin + length)
}

/// True for a segment with digits and letters that is longer than any word.
fn is_long_token(part: &str) -> bool {
    part.len() >= 32
        && part.bytes().all(|c| c.is_ascii_alphanumeric())
        && part.bytes().any(|c| c.is_ascii_digit())
        && part.bytes().any(|c| c.is_ascii_alphabetic())
}

// Token formats.

/// Prefixes of tokens.
const TOKEN_PREFIXES: &[&str] = &[
    "github_pat_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "glpat-",
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "xoxa-",
    "xoxb-",
    "xoxp-",
    "xoxs-",
];

/// Range of a token with a known format; `at` is a letter of its prefix that is rare elsewhere.
fn token(text: &str, at: usize) -> Option<Range<usize>> {
    const MIN_LEN: usize = 16;
    let bytes = text.as_bytes();
    let run = |from: usize| {
        let is_part = |c: &&u8| c.is_ascii_alphanumeric() || b"_-".contains(c);
        from + bytes.get(from..).unwrap_or_default().iter().take_while(is_part).count()
    };
    let before = &bytes[..=at];
    if before.ends_with(b"eyJ") {
        let begin = at - 2;
        let head = run(begin);
        if head < begin + 13 || bytes.get(head) != Some(&b'.') || !is_word_start(bytes, begin) {
            return None;
        }
        let body = run(head + 1);
        return (body > head + 2 && bytes.get(body) == Some(&b'.')).then(|| begin..run(body + 1));
    }
    let beginning = match bytes[at] {
        b'J' => return None,
        b'K' if before.ends_with(b"AK") && bytes[at..].starts_with(b"KIA") => "AK",
        b'K' => return None,
        _ => TOKEN_PREFIXES.iter().find(|beginning| before.ends_with(beginning.as_bytes()))?,
    };
    let begin = at + 1 - beginning.len();
    let end = run(at + 1);
    let is_token =
        end > at + MIN_LEN && is_word_start(bytes, begin) && is_random(&text[at + 1..end]);
    is_token.then_some(begin..end)
}

/// True at the start of a word. The letter after a tab is a key of a report; a percent-encoded character is
/// not part of a word.
fn is_word_start(bytes: &[u8], at: usize) -> bool {
    let is_word = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    match at {
        3.. if bytes[at - 3] == b'%' && bytes[at - 2..at].iter().all(u8::is_ascii_hexdigit) => true,
        0 => true,
        _ if !is_word(bytes[at - 1]) => true,
        1 => false,
        _ => bytes[at - 2] == b'\t',
    }
}

/// True when letters and digits alternate as in no written text.
fn is_random(value: &str) -> bool {
    if value.len() < 8
        || !value.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-+/=.~".contains(&c))
    {
        return false;
    }
    let is_mixed = |part: &str| {
        let kinds: Vec<bool> = part.bytes().map(|c| c.is_ascii_digit()).collect();
        part.len() >= 5 && kinds.windows(2).filter(|pair| pair[0] != pair[1]).count() >= 2
    };
    let is_cased = value.len() >= 16 && class_changes(value) * 3 >= value.len();
    (value.split(|c: char| !c.is_ascii_alphanumeric()).any(is_mixed) || is_cased)
        && !is_wordy(value)
}

/// True for a value that can only be a token, whatever its name. Numbers of files and versions have up to
/// sixteen digits.
fn is_certainly_token(value: &str) -> bool {
    const MIN_LEN: usize = 32;
    if value.len() < MIN_LEN {
        return false;
    }
    let value = decoded(value);
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    value.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-+/=".contains(&c))
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_digit)
        && class_changes(&value) * 4 >= value.len()
        && !is_wordy(&value)
}

/// Number of changes between lower case, upper case, digits and other characters.
fn class_changes(value: &str) -> usize {
    let kind = |c: u8| match c {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    value.as_bytes().windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count()
}

/// True when most letters are in words: four or more of one case in a row.
fn is_wordy(value: &str) -> bool {
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let mut in_words = 0;
    for run in value.as_bytes().chunk_by(|a, b| {
        a.is_ascii_lowercase() && b.is_ascii_lowercase()
            || a.is_ascii_uppercase() && b.is_ascii_uppercase()
    }) {
        if run.len() >= 4 {
            in_words += run.len();
        }
    }
    in_words * 2 > letters
}

// Cards.

/// Range of a card number, with the usual gaps or none.
fn card(text: &str, begin: usize) -> Option<Range<usize>> {
    const MAX_DIGITS: usize = 19;
    let bytes = text.as_bytes();
    let is_bound = match begin.checked_sub(1).map(|at| bytes[at]) {
        None => true,
        Some(b'/' | b'_' | b'~') => false,
        Some(b'-') if begin > 1 && bytes[begin - 2].is_ascii_alphanumeric() => false,
        Some(b'.' | b',') => begin < 2 || !bytes[begin - 2].is_ascii_digit(),
        // The key of a field in a report.
        Some(c) if c.is_ascii_alphanumeric() => begin > 1 && bytes[begin - 2] == b'\t',
        Some(_) => true,
    };
    if !is_bound {
        return None;
    }
    // Cards have their digits in groups of four or more. Few numbers on a page do, and each of those is
    // checked.
    let is_short = |at: &u8| at.is_ascii() && !at.is_ascii_digit();
    if bytes[begin..].iter().take(4).any(is_short) {
        return None;
    }
    let mut digits = [0_u8; MAX_DIGITS];
    let (mut count, mut end, mut gap) = (0, begin, None);
    let (mut groups, mut last) = ([0_u8; 5], 0);
    let mut rest = text[begin..].char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let digit = match c {
            '0'..='9' => c as u8 - b'0',
            '０'..='９' => (c as u32 - '０' as u32) as u8,
            ' ' | '-' | '.' | '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' | '–' | '‑'
                if gap.is_none_or(|gap| gap == c) && groups[last] >= 4 && last < 4 =>
            {
                // The end of a sentence, or of the number.
                if !rest
                    .peek()
                    .is_some_and(|(_, next)| next.is_ascii_digit() || ('０'..='９').contains(next))
                {
                    break;
                }
                gap = Some(c);
                last += 1;
                continue;
            }
            _ => break,
        };
        if count == MAX_DIGITS {
            return None;
        }
        digits[count] = digit;
        count += 1;
        end = begin + at + c.len_utf8();
        groups[last] += 1;
    }
    if count < 13 {
        return None;
    }
    let after = &text[end..];
    let mut next = after.chars();
    let is_whole = match next.next() {
        Some(c) if c.is_alphanumeric() || c == '_' => false,
        Some('.' | ',') => !next.next().is_some_and(|c| c.is_ascii_digit()),
        _ => true,
    };
    let is_usual =
        matches!(groups[..=last], [_] | [4, 4, 4, 4] | [4, 6, 4 | 5] | [4, 4, 4, 4, 1..=3]);
    (is_whole && is_usual && is_card(&digits[..count])).then_some(begin..end)
}

/// Validates a card number: length, issuer prefix and check digit.
pub(crate) fn is_card(digits: &[u8]) -> bool {
    let first = |count: usize| {
        digits[..count].iter().fold(0_u32, |sum, digit| sum * 10 + u32::from(*digit))
    };
    let is_given_out = match digits.len() {
        19 if digits[0] == 4 => true,
        14 => matches!(first(2), 36 | 38 | 39) || matches!(first(3), 300..=305),
        15 => matches!(first(2), 34 | 37),
        16 => {
            matches!(first(2), 40..=49 | 50..=58 | 62..=65 | 67)
                || matches!(first(4), 2221..=2720 | 3528..=3589 | 6011)
        }
        17..=19 => matches!(first(2), 62),
        _ => false,
    };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| match (at % 2, u32::from(*digit)) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    is_given_out && sum.is_multiple_of(10) && digits.iter().any(|digit| *digit != digits[0])
}

/// True when the number read here began before.
fn is_digit_before(bytes: &[u8], at: usize) -> bool {
    let is_wide = |at: usize| {
        bytes[at..].starts_with(&[0xef, 0xbc]) && matches!(bytes.get(at + 2), Some(0x90..=0x99))
    };
    if bytes[at] == 0xef && !is_wide(at) {
        return true;
    }
    at > 0 && bytes[at - 1].is_ascii_digit() || at > 2 && is_wide(at - 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test cases `before`, `after`. Browser tests read them, too.
    const CASES: &str = include_str!("../tests/secrets.json");

    #[test]
    fn only_secrets_are_masked() {
        let cases: Vec<(String, Option<String>)> = serde_json::from_str(CASES).unwrap();
        let mut wrong = Vec::new();
        for (before, after) in &cases {
            let after = after.as_ref().unwrap_or(before);
            for (before, after) in [
                (before.clone(), after.clone()),
                // As in a report, in markup, and masked twice.
                (
                    format!("1\tlink\t7\t{before}\tu{before}\n"),
                    format!("1\tlink\t7\t{after}\tu{after}\n"),
                ),
                (
                    format!("<a href=\"{before}\">{before}</a>"),
                    format!("<a href=\"{after}\">{after}</a>"),
                ),
                (after.clone(), after.clone()),
            ] {
                let masked = mask(&before);
                if masked != after {
                    wrong.push(format!("{before}\n  is      {masked}\n  must be {after}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn masking_accepts_any_text() {
        for text in [
            "=",
            "%",
            "%3D",
            "?=",
            "?a=",
            "://",
            "://@",
            "/",
            "eyJ",
            "eyJ.",
            "４",
            "４１１１é",
            "%253D%25",
            "?%E9=é",
            "sk-",
            "1",
            "=é",
            "é=é",
        ] {
            assert_eq!(mask(text), text);
        }
    }
}
