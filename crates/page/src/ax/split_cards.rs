//! Card numbers split over several nodes: a box for each four digits, or for each digit. No part is a secret
//! by itself, so they are detected only when the parts are adjacent.

use super::{Node, Role, Tree};
use crate::mask::{MASK, is_card};
use std::ops::Range;

/// A run of digits at the beginning or the end of a text, or all of it.
struct DigitRun {
    node: usize,
    /// Byte range in the text.
    range: Range<usize>,
    digits: Vec<u8>,
    /// Lengths of its digit groups.
    groups: Vec<usize>,
}

impl Tree {
    /// Masks card numbers that are split over several text nodes.
    pub(super) fn mask_split_cards(&mut self) {
        let mut run: Vec<DigitRun> = Vec::new();
        let mut found: Vec<(usize, Range<usize>)> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if node.role != Role::Text {
                if !is_inline(node.role) {
                    find_cards(&self.nodes, &mut run, &mut found);
                }
                continue;
            }
            let text = self.name(node);
            let is_digit = |c: Option<u8>| c.is_some_and(|c| c.is_ascii_digit());
            let start = text.len() - text.trim_start().len();
            let last = text.trim_end().len();
            let begins = is_digit(text.as_bytes().get(start).copied());
            let first =
                begins.then(|| digit_run(index, text, start..start + leading(&text[start..])));
            let first = first.flatten();
            let is_whole_text = first.as_ref().is_some_and(|run| run.range.end == last);
            run.extend(first);
            if is_whole_text {
                continue;
            }
            // Other text follows, and a number can begin at its end.
            find_cards(&self.nodes, &mut run, &mut found);
            if is_digit(text[..last].bytes().next_back()) {
                run.extend(digit_run(index, text, trailing(&text[..last])..last));
            }
        }
        find_cards(&self.nodes, &mut run, &mut found);
        // In reverse order, so that earlier ranges in the same text stay valid.
        for (index, range) in found.into_iter().rev() {
            let text = self.name(&self.nodes[index]);
            let masked = format!("{}{MASK}{}", &text[..range.start], &text[range.end..]);
            self.nodes[index].name = self.intern_masked(&masked);
        }
    }
}

/// True for roles whose content can share a line with its neighbours.
fn is_inline(role: Role) -> bool {
    matches!(
        role,
        Role::Generic
            | Role::Strong
            | Role::Emphasis
            | Role::Mark
            | Role::Code
            | Role::Insertion
            | Role::Paragraph
            | Role::LineBreak
    )
}

fn is_gap(c: char) -> bool {
    matches!(c, ' ' | '-' | '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' | '–' | '‑')
}

/// End of the number at the beginning of a text.
fn leading(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_ascii_digit() && !is_gap(c)).unwrap_or(text.len());
    text[..end].trim_end_matches(is_gap).len()
}

/// Start of the number at the end of a text.
fn trailing(text: &str) -> usize {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_digit() || is_gap(c));
    let number = text[digits.len()..].trim_start_matches(is_gap);
    text.len() - number.len()
}

fn digit_run(node: usize, text: &str, range: Range<usize>) -> Option<DigitRun> {
    const MAX_DIGITS: usize = 19;
    let is_part_of_word = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_');
    let mut after = text[range.end..].chars();
    let goes_on = match after.next() {
        Some('.' | ',') => after.next().is_some_and(is_part_of_word),
        next => next.is_some_and(is_part_of_word),
    };
    if goes_on || text[..range.start].ends_with(|c| is_part_of_word(c) || matches!(c, '.' | ',')) {
        return None;
    }
    let number = &text[range.clone()];
    let groups: Vec<usize> =
        number.split(is_gap).map(str::len).filter(|length| *length > 0).collect();
    let digits: Vec<u8> =
        number.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
    (!digits.is_empty() && digits.len() <= MAX_DIGITS).then_some(DigitRun {
        node,
        range,
        digits,
        groups,
    })
}

/// Collects the digit runs that form a card number together.
fn find_cards(nodes: &[Node], run: &mut Vec<DigitRun>, found: &mut Vec<(usize, Range<usize>)>) {
    let mut from = 0;
    while from + 1 < run.len() {
        let Some(to) = card_from(nodes, run, from) else {
            from += 1;
            continue;
        };
        found.extend(run[from..to].iter().map(|run| (run.node, run.range.clone())));
        from = to;
    }
    run.clear();
}

/// Index after the last run of the card number that begins at `from`.
fn card_from(nodes: &[Node], run: &[DigitRun], from: usize) -> Option<usize> {
    let (mut groups, mut digits) = (Vec::new(), Vec::new());
    for (at, digits_run) in run.iter().enumerate().skip(from) {
        groups.extend_from_slice(&digits_run.groups);
        digits.extend_from_slice(&digits_run.digits);
        if digits.len() > 19 {
            return None;
        }
        if at > from
            && is_usual_grouping(&groups)
            && is_card(&digits)
            && is_alone(nodes, run, from..at + 1)
        {
            return Some(at + 1);
        }
    }
    None
}

/// True when no adjacent group of the same length exists in the same container: rows of figures look like
/// that.
fn is_alone(nodes: &[Node], run: &[DigitRun], runs: Range<usize>) -> bool {
    let least = |first: usize, last: usize| {
        nodes[first..=last].iter().map(|node| node.depth).min().unwrap_or_default()
    };
    let (first, last) = (&run[runs.start], &run[runs.end - 1]);
    let depth = least(first.node, last.node);
    let before = runs.start.checked_sub(1).map(|at| &run[at]).filter(|before| {
        before.groups.last() == first.groups.first() && least(before.node, first.node) >= depth
    });
    let after = run.get(runs.end).filter(|after| {
        after.groups.first() == last.groups.last() && least(last.node, after.node) >= depth
    });
    before.is_none() && after.is_none()
}

/// True for the usual digit groups of card numbers.
fn is_usual_grouping(groups: &[usize]) -> bool {
    matches!(groups, [4, 4, 4, 4] | [4, 6, 4 | 5] | [4, 4, 4, 4, 1..=3])
        || groups.len() >= 13 && groups.iter().all(|group| *group == 1)
}

#[cfg(test)]
mod tests {
    use crate::ax::Role;
    use crate::ax::testing::tree;

    fn texts(page: &str) -> Vec<String> {
        let tree = tree(page);
        let texts = tree.nodes.iter().filter(|node| node.role == Role::Text);
        texts.map(|node| tree.name(node).to_owned()).collect()
    }

    /// A page with one box for each text.
    fn boxes(of: &[&str]) -> String {
        let boxes = of.iter().enumerate();
        let boxes = boxes.map(|(at, text)| format!("\n . {}\n  text \"{text}\"", at + 2));
        format!("webarea 1{}", boxes.collect::<String>())
    }

    #[test]
    fn split_card_number_is_masked() {
        const MASK: &str = super::MASK;
        for parts in [
            &["4111", "1111", "1111", "1111"][..],
            &["Card 4111", "1111", "1111", "1111 until 12/30"],
            &["3782", "822463", "10005"],
            &["4111 1111", "1111-1111"],
            &["Card 4111 ", " 1111 ", " 1111", " 1111."],
            &["4", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1"],
        ] {
            let shown = texts(&boxes(parts));
            assert!(shown.iter().all(|text| text.contains(MASK)), "{shown:?}");
            assert!(!shown.concat().contains("11"), "{shown:?}");
        }
        let shown = texts(&boxes(&["Card 4111", "1111", "1111", "1111 until 12/30"]));
        assert_eq!(shown, [&format!("Card {MASK}"), MASK, MASK, &format!("{MASK} until 12/30")]);
        let shown =
            texts(&boxes(&["4111", "1111", "1111", "1111 or 5500", "0000", "0000", "0004"]));
        assert_eq!(shown[3], format!("{MASK} or {MASK}"));
        let two = boxes(&["4111", "1111", "1111", "1111"]).replace("\n ", "\n  ");
        let two = format!("{}{}", two.replace("1\n", "1\n . 9\n"), two.replace("webarea", "\n . "));
        assert_eq!(texts(&two), [MASK; 8], "{two}");
        let shown = texts(&boxes(&["4111", "1111", "1111", "1111", "12", "30"]));
        assert_eq!(shown, [MASK, MASK, MASK, MASK, "12", "30"]);
    }

    #[test]
    fn other_adjacent_numbers_are_not_masked() {
        for numbers in [
            &["4111", "1111", "1111", "1112"][..],
            &["4111", "1111", "1111", "1111", "1111"],
            &["2024", "2025", "2026", "2027"],
            &["4111", "visits", "1111", "1111", "1111"],
            &["4111.5", "1111", "1111", "1111"],
            &["41", "11", "1111", "1111", "1111"],
            &["4111", "1111", "1.5", "1111", "1111"],
            &["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"],
        ] {
            assert_eq!(texts(&boxes(numbers)), numbers);
        }
        let cells = boxes(&["4111", "1111", "1111", "1111"]).replace(" . ", " cell ");
        assert_eq!(texts(&cells), ["4111", "1111", "1111", "1111"]);
    }
}
