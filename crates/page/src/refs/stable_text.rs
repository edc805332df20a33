//! Stable part of a text: without times, which pass, and without numbers, which count.

use crate::text;

/// True for a text that can identify something: more than digits, punctuation and times.
pub(super) fn is_identifying(name: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    // A word that appears in no time decides at once; most texts begin with one.
    let is_plain = |word: &str| {
        word.len() > 2
            && word.chars().all(char::is_alphabetic)
            && !is_of_date(word)
            && !is_unit(word)
            && !["ago", "now", "just", "one"].iter().any(|it| word.eq_ignore_ascii_case(it))
    };
    if words.any(is_plain) {
        return true;
    }
    let rest = without_times(name);
    let mut words = rest.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word.chars().any(char::is_alphabetic) && !is_of_date(word))
}

/// Months, weekdays, and other words of dates.
pub(super) fn is_of_date(word: &str) -> bool {
    const WORDS: [&str; 25] = [
        "jan",
        "feb",
        "mar",
        "apr",
        "may",
        "jun",
        "jul",
        "aug",
        "sep",
        "sept",
        "oct",
        "nov",
        "dec",
        "mon",
        "tue",
        "wed",
        "thu",
        "fri",
        "sat",
        "sun",
        "today",
        "yesterday",
        "tomorrow",
        "st",
        "th",
    ];
    const LONG: [&str; 19] = [
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "at",
    ];
    (2..=9).contains(&word.len())
        && WORDS.iter().chain(&LONG).any(|it| word.eq_ignore_ascii_case(it))
}

/// Removes times of day, dates with a time, and relative times.
pub(super) fn without_times(name: &str) -> String {
    let name = text::collapse(name);
    if !name.bytes().any(|byte| byte.is_ascii_digit())
        && !name.contains("ago")
        && !name.contains("now")
    {
        return name.into_owned();
    }
    let words: Vec<&str> = name.split(' ').collect();
    let mut stable_words: Vec<&str> = Vec::with_capacity(words.len());
    let mut rest = &*words;
    while let [word, after @ ..] = rest {
        let taken = time_length(rest);
        if taken == 0 {
            stable_words.push(word);
            rest = after;
        } else {
            rest = &rest[taken..];
        }
    }
    stable_words.join(" ")
}

/// Number of leading words that form a time.
fn time_length(words: &[&str]) -> usize {
    let without_numbers_and_times = |at: usize| {
        words.get(at).map_or("", |word| word.trim_matches(|c: char| "()[],.;·|".contains(c)))
    };
    let is_half =
        |word: &str| ["am", "pm", "a.m", "p.m"].iter().any(|it| word.eq_ignore_ascii_case(it));
    let first = without_numbers_and_times(0);
    if is_clock(first) {
        return 1 + usize::from(is_half(without_numbers_and_times(1)));
    }
    if is_date(first) {
        return match without_numbers_and_times(1) {
            clock if is_clock(clock) => 2,
            _ => 0,
        };
    }
    if first.len() > 10
        && first.is_char_boundary(10)
        && is_date(&first[..10])
        && first.contains(':')
    {
        return 1;
    }
    if first.eq_ignore_ascii_case("just")
        && without_numbers_and_times(1).eq_ignore_ascii_case("now")
    {
        return 2;
    }
    let digits = first.bytes().take_while(u8::is_ascii_digit).count();
    let is_count = digits == first.len() && digits > 0
        || ["a", "an", "one"].iter().any(|it| first.eq_ignore_ascii_case(it));
    if is_count
        && is_unit(without_numbers_and_times(1))
        && without_numbers_and_times(2).eq_ignore_ascii_case("ago")
    {
        return 3;
    }
    if digits > 0
        && is_unit(&first[digits..])
        && without_numbers_and_times(1).eq_ignore_ascii_case("ago")
    {
        return 2;
    }
    0
}

/// `12:03`, `1:02:03.5`, `3:15pm`.
fn is_clock(word: &str) -> bool {
    let word = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let mut parts = word.split(':');
    let is_number = |part: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (Some(hours), Some(minutes)) = (parts.next(), parts.next()) else { return false };
    let seconds = parts.next().map(|part| part.split('.').next().unwrap_or_default());
    is_number(hours, 1..=2)
        && is_number(minutes, 2..=2)
        && seconds.is_none_or(|seconds| is_number(seconds, 2..=2))
        && parts.next().is_none()
}

/// `2026-01-04`.
fn is_date(word: &str) -> bool {
    word.len() == 10
        && word.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-' || byte == b'/' || byte == b'.',
            _ => byte.is_ascii_digit(),
        })
}

fn is_unit(word: &str) -> bool {
    const UNITS: [&str; 13] = [
        "s", "sec", "second", "m", "min", "minute", "h", "hr", "hour", "d", "day", "week", "month",
    ];
    if word.len() > 7 {
        return false;
    }
    let singular = word.strip_suffix('s').filter(|it| !it.is_empty()).unwrap_or(word);
    UNITS.iter().chain(&["year", "w", "mo", "y"]).any(|unit| singular.eq_ignore_ascii_case(unit))
}

/// Removes numbers and times.
pub(super) fn without_numbers_and_times(name: &str) -> String {
    without_digits(&without_times(name))
}

pub(super) fn has_digits(name: &str) -> bool {
    name.chars().any(char::is_numeric)
}

/// Removes digits, and words of which only punctuation is left, so that a counter can appear and disappear.
fn without_digits(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for word in name.split(text::is_space).filter(|word| !word.is_empty()) {
        let has_digits = word.chars().any(char::is_numeric);
        if has_digits && !word.chars().any(char::is_alphabetic) {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().filter(|c| !c.is_numeric()));
    }
    out
}

/// True for a text with a date, as `2026-01-04` or `Jan 4`. A date with a time of day is temporary; one
/// without is identifying.
pub(super) fn has_date(name: &str) -> bool {
    let rest = without_times(name);
    let word_of_date = |word: &str| {
        word.starts_with(char::is_uppercase)
            && is_of_date(word.trim_matches(|c: char| !c.is_alphabetic()))
    };
    let mut words = rest.split(text::is_space);
    words.any(|word| is_date(word.trim_matches(|c: char| c.is_ascii_punctuation())))
        || has_digits(&rest) && rest.split(text::is_space).any(word_of_date)
}

/// True when a sentence ends in a number, as `… for the order: 1204`: a number that nothing follows counts
/// nothing.
pub(super) fn ends_in_number(name: &str) -> bool {
    const SENTENCE: usize = 4;
    const LEAST_DIGITS: usize = 3;
    let words = || name.split(text::is_space).filter(|word| !word.is_empty());
    let is_number =
        |word: &str| word.len() >= LEAST_DIGITS && word.bytes().all(|byte| byte.is_ascii_digit());
    words().next_back().is_some_and(is_number) && words().count() >= SENTENCE
}

/// True for a text with a count: `3 new`, `12 in the basket`, `Comments (3)`. A number after a word, as in
/// `Invoice 3`, or before a name, as in `3 Elm Road`, is identifying.
pub(super) fn is_quantity(name: &str) -> bool {
    let mut words = name.split(text::is_space).filter(|word| !word.is_empty());
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || ".,kKM+".contains(c))
    };
    let first = words.next().unwrap_or_default();
    if is_number(first) {
        return words.next().is_some_and(|word| word.starts_with(char::is_lowercase))
            && !words.any(has_digits);
    }
    let is_bracketed = |word: &str| {
        word.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).is_some_and(is_number)
    };
    let mut numbers = name.split(text::is_space).filter(|word| has_digits(word));
    numbers.next().is_some_and(is_bracketed) && numbers.next().is_none()
}

/// True when two texts differ only in a count: `Live 17 viewers`, `Cart (3)`. A number that counts nothing,
/// as in `Week 12` and `Step 1 of 3`, is identifying.
pub(super) fn is_counting(was: &str, now: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(text::is_space).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    let (old, new) = (words(was), words(now));
    let has_letters = |text: &str| text.chars().any(char::is_alphabetic);
    if !has_letters(was) && !has_letters(now) && has_digits(was) && has_digits(now) {
        return was != now;
    }
    let is_bracketed = |word: &str| word.starts_with('(') && word.ends_with(')');
    let is_count = |at: usize| {
        let is_noun = |word: &String| word.starts_with(char::is_lowercase) && word != "of";
        is_bracketed(&new[at]) || new.get(at + 1).is_some_and(is_noun)
    };
    old.len() == new.len()
        && old != new
        && (0..old.len()).filter(|at| old[*at] != new[*at]).all(|at| {
            without_numbers_and_times(&old[at]) == without_numbers_and_times(&new[at])
                && has_digits(&old[at])
                && has_digits(&new[at])
                && is_count(at)
        })
}

#[cfg(test)]
mod tests {
    use super::{ends_in_number, has_date, is_counting, is_quantity};

    #[test]
    fn number_that_counts_nothing_is_identifying() {
        for (was, now) in [
            ("Live 17 viewers", "Live 18 viewers"),
            ("Cart (3)", "Cart (12)"),
            ("0", "12"),
            ("2 : 1", "2 : 2"),
        ] {
            assert!(is_counting(was, now), "{was}");
        }
        for (was, now) in [
            ("Week 12", "Week 13"),
            ("Step 1 of 3", "Step 2 of 3"),
            ("Cart", "Cart (1)"),
            ("Ann 3 new", "Bob 3 new"),
        ] {
            assert!(!is_counting(was, now), "{was}");
        }
    }

    #[test]
    fn date_without_time_is_identifying() {
        for text in ["2026-01-04", "Report 2026-01-04", "Jan 4, 2026", "4 March"] {
            assert!(has_date(text), "{text}");
        }
        for text in ["Updated 2026-01-04 12:03", "3 new", "March", "1204", "Inbox 3"] {
            assert!(!has_date(text), "{text}");
        }
        assert!(ends_in_number("The request of last week: 654"));
        assert!(!ends_in_number("Inbox 654") && !ends_in_number("Read all 120 reviews of it"));
    }

    #[test]
    fn quantity_precedes_its_unit() {
        for text in ["3 new", "1,200 comments", "1.2k likes", "5 in the basket", "Comments (3)"] {
            assert!(is_quantity(text), "{text}");
        }
        for text in ["Invoice 3", "221 Baker Street", "3", "", "new", "3 of 5", "INV-3 (4)"] {
            assert!(!is_quantity(text), "{text}");
        }
    }
}
