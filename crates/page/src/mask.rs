//! What nobody should read, out of texts: card numbers, tokens, passwords in addresses. This is the one definition of
//! it; whatever is shown of a page or of an address goes through [`mask`].
//!
//! What a field holds is not decided here: whether it is a secret one can only be asked in the page.

use std::borrow::Cow;
use std::ops::Range;

/// What stands for a secret, however long that is.
pub const MASK: &str = "••••••";

/// A text, markup or an address without what looks like a secret in it. Everything around it stays as it is: of a link
/// only the token's value is masked.
///
/// - values of parameters that are called like a secret (`token=`, `clientSecret=`, `;jsessionid=`), also inside an
///   address that is itself a parameter, and values that cannot be anything else
/// - values of parameters that are often harmless (`code=`, `state=`, `key=`), when they look random
/// - names and passwords before a host
/// - tokens in paths, after a word such as `reset`
/// - tokens that can be told by their form (`eyJ….….…`, `ghp_…`)
/// - numbers that a card could have
pub fn mask(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    // Most of a text is passed over at this.
    while let Some(ahead) = bytes[at..].iter().position(|c| IS_TELLING[usize::from(*c)]) {
        at += ahead;
        let secret = match bytes[at] {
            b'=' => parameter(text, at, at + 1),
            b'%' => encoded_equals(bytes, at).and_then(|after| parameter(text, at, after)),
            b'0'..=b'9' | 0xef if !is_digit_before(bytes, at) => card(text, at),
            b'/' => {
                let is_host = at > 0 && bytes[at - 1] == b'/' && at > 1 && bytes[at - 2] == b':';
                if is_host { user(text, at + 1) } else { segment(text, at + 1) }
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

/// The characters that secrets are told by.
const IS_TELLING: [bool; 256] = {
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

/// Ends of names, written as one word, whose values are secrets whatever they look like.
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

/// The same, but only as a word of its own.
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

/// Ends of names whose values are secrets when they look random.
const OPEN_ENDS: &[&str] = &[
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

/// What a parameter's name says about its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParameterKind {
    Secret,
    Open,
    Nothing,
}

fn hint(name: &str) -> ParameterKind {
    let words = words(name);
    let Some(last) = words.last() else { return ParameterKind::Nothing };
    let one = words.concat();
    let is_pass = last == "pass" && words.len() > 1 && words[words.len() - 2] != "user";
    if SECRET_ENDS.iter().any(|end| one.ends_with(end))
        || SECRET_WORDS.contains(&&**last) && !is_pass
    {
        ParameterKind::Secret
    } else if OPEN_ENDS.iter().any(|end| one.ends_with(end)) {
        ParameterKind::Open
    } else {
        ParameterKind::Nothing
    }
}

/// The words of a name, in small letters: `accessToken`, `access_token` and `user[accessToken]` end in the same two.
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

/// No name is longer.
const LONGEST_NAME: usize = 80;

/// The value after an equals sign, if it is a secret.
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
    let is_secret = match hint(&name) {
        ParameterKind::Secret if mark => !is_plain_word(value),
        // Not in an address: an argument, a line of a log. There a name alone says little.
        ParameterKind::Secret => {
            value.len() >= 4
                && value.bytes().any(|c| c.is_ascii_digit())
                && value.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-+/=%~".contains(&c))
        }
        ParameterKind::Open if mark => is_random(&decoded(value)),
        _ => mark && is_surely_random(value),
    };
    is_secret.then_some(after..end)
}

/// Values that tell nothing.
fn is_plain_word(value: &str) -> bool {
    matches!(
        value,
        "!0" | "!1" | "true" | "false" | "null" | "undefined" | "none" | "yes" | "no" | "0" | "1"
    ) || value.starts_with('•')
}

/// Where the equals sign that is written `%3D` here, or `%253D`, ends.
fn encoded_equals(bytes: &[u8], at: usize) -> Option<usize> {
    let mut after = at + 1;
    while bytes[after..].starts_with(b"25") {
        after += 2;
    }
    (bytes.get(after..after + 2)?.eq_ignore_ascii_case(b"3d")).then_some(after + 2)
}

/// The character that is written as `%3F` and the like right before `at`.
fn encoded_before(bytes: &[u8], at: usize) -> Option<u8> {
    let digits = bytes.get(at.checked_sub(2)?..at)?;
    let c = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    let mut begin = at - 2;
    while begin >= 2 && &bytes[begin - 2..begin] == b"25" {
        begin -= 2;
    }
    (begin > 0 && bytes[begin - 1] == b'%').then_some(c)
}

/// Where the name before an equals sign begins.
fn name_begin(bytes: &[u8], equals: usize) -> usize {
    let is_name = |c: u8| c.is_ascii_alphanumeric() || b"_-.[]".contains(&c);
    let mut begin = equals;
    while begin > 0 && equals - begin < LONGEST_NAME {
        match encoded_before(bytes, begin) {
            Some(c) if bytes[begin - 3] == b'%' && is_name(c) => begin -= 3,
            Some(_) => break,
            None if is_name(bytes[begin - 1]) => begin -= 1,
            None => break,
        }
    }
    begin
}

/// Where a value ends.
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

/// Without `%41` and the like.
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

// Addresses.

/// Name and password before a host.
fn user(text: &str, begin: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[begin..];
    let end = rest.iter().position(|c| b"/?#\"'<>\\".contains(c) || *c <= b' ');
    let host = rest[..end.unwrap_or(rest.len())].iter().rposition(|c| *c == b'@')?;
    (host > 0).then_some(begin..begin + host)
}

/// Words in paths that a token follows.
const PLACES: &[&str] = &[
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

/// A part of a path, if it is a token.
fn segment(text: &str, begin: usize) -> Option<Range<usize>> {
    const SHORTEST: usize = 16;
    let bytes = text.as_bytes();
    let is_end = |c: &u8| b"/?#&;=\"'<>(),\\".contains(c) || *c <= b' ';
    let length = bytes[begin..].iter().position(is_end).unwrap_or(bytes.len() - begin);
    let part = &text[begin..begin + length];
    if length < SHORTEST || part.contains('.') || !(is_random(part) || is_one_long(part)) {
        return None;
    }
    let path = bytes[..begin].iter().rposition(|c| *c != b'/' && is_end(c)).map_or(0, |at| at + 1);
    let is_place = |part: &str| words(part).iter().any(|word| PLACES.contains(&&**word));
    let path = text.get(path..begin)?;
    // The host is none of them: `login.example.com/static/…` has files too.
    let path =
        path.split_once("://").map_or(path, |(_, path)| path.split_once('/').map_or("", |it| it.1));
    path.split('/').any(is_place).then_some(begin..begin + length)
}

/// Whether a part has digits and letters, and is longer than any word.
fn is_one_long(part: &str) -> bool {
    part.len() >= 32
        && part.bytes().all(|c| c.is_ascii_alphanumeric())
        && part.bytes().any(|c| c.is_ascii_digit())
        && part.bytes().any(|c| c.is_ascii_alphabetic())
}

// Forms.

/// What tokens begin with.
const BEGINNINGS: &[&str] = &[
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

/// A token that can be told by its form, from a letter in its beginning that is rare elsewhere.
fn token(text: &str, at: usize) -> Option<Range<usize>> {
    const SHORTEST: usize = 16;
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
        _ => BEGINNINGS.iter().find(|beginning| before.ends_with(beginning.as_bytes()))?,
    };
    let begin = at + 1 - beginning.len();
    let end = run(at + 1);
    let is_token =
        end > at + SHORTEST && is_word_start(bytes, begin) && is_random(&text[at + 1..end]);
    is_token.then_some(begin..end)
}

/// Whether a word begins here. The letter after a tab is a key of a report; what an address escapes is no part of a word.
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

/// Whether letters and digits follow each other as nobody would write them.
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
    let is_cased = value.len() >= 16 && changes(value) * 3 >= value.len();
    (value.split(|c: char| !c.is_ascii_alphanumeric()).any(is_mixed) || is_cased)
        && !is_wordy(value)
}

/// Whether a value can be nothing but a token, whatever it is called. Numbers of files and versions are in sixteen digits.
fn is_surely_random(value: &str) -> bool {
    const SHORTEST: usize = 32;
    if value.len() < SHORTEST {
        return false;
    }
    let value = decoded(value);
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    value.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-+/=".contains(&c))
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_digit)
        && changes(&value) * 4 >= value.len()
        && !is_wordy(&value)
}

/// How often small letters, capitals, digits and the rest take turns.
fn changes(value: &str) -> usize {
    let kind = |c: u8| match c {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    value.as_bytes().windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count()
}

/// Whether most letters are parts of words: four or more of one case in a row.
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

/// The number of a card, with the usual gaps or none.
fn card(text: &str, begin: usize) -> Option<Range<usize>> {
    const LONGEST: usize = 19;
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
    // Cards have their digits in groups of four or more. Few numbers on a page do, and each is asked about.
    let is_short = |at: &u8| at.is_ascii() && !at.is_ascii_digit();
    if bytes[begin..].iter().take(4).any(is_short) {
        return None;
    }
    let mut digits = [0_u8; LONGEST];
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
        if count == LONGEST {
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

/// Whether there are cards with such a number: of that length, by one that gives out cards, with the right last digit.
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

/// Whether the number that is read here began before.
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

    /// What is masked and what stays: `before`, `after`. Tests in a browser read it too.
    const CASES: &str = include_str!("../tests/secrets.json");

    #[test]
    fn secrets_are_masked_and_nothing_else() {
        let cases: Vec<(String, Option<String>)> = serde_json::from_str(CASES).unwrap();
        let mut wrong = Vec::new();
        for (before, after) in &cases {
            let after = after.as_ref().unwrap_or(before);
            for (before, after) in [
                (before.clone(), after.clone()),
                // As in a report, in markup, and once more.
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
    fn any_text_can_be_masked() {
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
