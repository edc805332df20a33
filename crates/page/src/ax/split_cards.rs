//! Card numbers that a page shows in pieces: a box for each four digits, or for each digit. No piece is a secret by
//! itself, so this can only be told when the pieces stand side by side.

use super::{Node, Role, Tree};
use crate::mask::{MASK, is_card};
use std::ops::Range;

/// A number, or the end or beginning of one, in a text.
struct DigitRun {
    node: usize,
    /// Where it is in the text.
    place: Range<usize>,
    digits: Vec<u8>,
    /// How many of its digits stand together.
    groups: Vec<usize>,
}

impl Tree {
    /// Masks the pieces of card numbers.
    pub(super) fn mask_split_cards(&mut self) {
        let mut run: Vec<DigitRun> = Vec::new();
        let mut found: Vec<(usize, Range<usize>)> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if node.role != Role::Text {
                if !is_within_a_line(node.role) {
                    find_cards(&self.nodes, &mut run, &mut found);
                }
                continue;
            }
            let text = self.name(node);
            let is_digit = |c: Option<u8>| c.is_some_and(|c| c.is_ascii_digit());
            let start = text.len() - text.trim_start().len();
            let last = text.trim_end().len();
            let begins = is_digit(text.as_bytes().get(start).copied());
            let first = begins.then(|| piece(index, text, start..start + leading(&text[start..])));
            let first = first.flatten();
            let is_all = first.as_ref().is_some_and(|piece| piece.place.end == last);
            run.extend(first);
            if is_all {
                continue;
            }
            // It goes on with something else, and a number can begin at its end.
            find_cards(&self.nodes, &mut run, &mut found);
            if is_digit(text[..last].bytes().next_back()) {
                run.extend(piece(index, text, trailing(&text[..last])..last));
            }
        }
        find_cards(&self.nodes, &mut run, &mut found);
        // From the end, so that the places of others in the same text stay what they are.
        for (index, place) in found.into_iter().rev() {
            let text = self.name(&self.nodes[index]);
            let masked = format!("{}{MASK}{}", &text[..place.start], &text[place.end..]);
            self.nodes[index].name = self.keep(&masked);
        }
    }
}

/// Whether what is in an element with this role can be part of one line with what is beside it.
fn is_within_a_line(role: Role) -> bool {
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

/// Where the number that a text begins with ends.
fn leading(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_ascii_digit() && !is_gap(c)).unwrap_or(text.len());
    text[..end].trim_end_matches(is_gap).len()
}

/// Where the number that a text ends with begins.
fn trailing(text: &str) -> usize {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_digit() || is_gap(c));
    let number = text[digits.len()..].trim_start_matches(is_gap);
    text.len() - number.len()
}

fn piece(node: usize, text: &str, place: Range<usize>) -> Option<DigitRun> {
    const MOST: usize = 19;
    let is_part_of_word = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_');
    let mut after = text[place.end..].chars();
    let goes_on = match after.next() {
        Some('.' | ',') => after.next().is_some_and(is_part_of_word),
        next => next.is_some_and(is_part_of_word),
    };
    if goes_on || text[..place.start].ends_with(|c| is_part_of_word(c) || matches!(c, '.' | ',')) {
        return None;
    }
    let number = &text[place.clone()];
    let groups: Vec<usize> =
        number.split(is_gap).map(str::len).filter(|length| *length > 0).collect();
    let digits: Vec<u8> =
        number.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
    (!digits.is_empty() && digits.len() <= MOST).then_some(DigitRun { node, place, digits, groups })
}

/// Notes the pieces of a run that are a card's number together.
fn find_cards(nodes: &[Node], run: &mut Vec<DigitRun>, found: &mut Vec<(usize, Range<usize>)>) {
    let mut from = 0;
    while from + 1 < run.len() {
        let Some(to) = card_from(nodes, run, from) else {
            from += 1;
            continue;
        };
        found.extend(run[from..to].iter().map(|piece| (piece.node, piece.place.clone())));
        from = to;
    }
    run.clear();
}

/// Where the card's number that begins with this piece ends.
fn card_from(nodes: &[Node], run: &[DigitRun], from: usize) -> Option<usize> {
    let (mut groups, mut digits) = (Vec::new(), Vec::new());
    for (at, piece) in run.iter().enumerate().skip(from) {
        groups.extend_from_slice(&piece.groups);
        digits.extend_from_slice(&piece.digits);
        if digits.len() > 19 {
            return None;
        }
        if at > from && is_usual(&groups) && is_card(&digits) && is_alone(nodes, run, from..at + 1)
        {
            return Some(at + 1);
        }
    }
    None
}

/// Whether there is no other group of the same length beside these, in what holds them together: rows of figures look
/// like that.
fn is_alone(nodes: &[Node], run: &[DigitRun], these: Range<usize>) -> bool {
    let least = |first: usize, last: usize| {
        nodes[first..=last].iter().map(|node| node.depth).min().unwrap_or_default()
    };
    let (first, last) = (&run[these.start], &run[these.end - 1]);
    let depth = least(first.node, last.node);
    let before = these.start.checked_sub(1).map(|at| &run[at]).filter(|before| {
        before.groups.last() == first.groups.first() && least(before.node, first.node) >= depth
    });
    let after = run.get(these.end).filter(|after| {
        after.groups.first() == last.groups.last() && least(last.node, after.node) >= depth
    });
    before.is_none() && after.is_none()
}

/// Whether numbers of cards are written in such groups.
fn is_usual(groups: &[usize]) -> bool {
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

    /// A page of boxes, one for each text.
    fn boxes(of: &[&str]) -> String {
        let boxes = of.iter().enumerate();
        let boxes = boxes.map(|(at, text)| format!("\n . {}\n  text \"{text}\"", at + 2));
        format!("webarea 1{}", boxes.collect::<String>())
    }

    #[test]
    fn a_card_number_in_pieces_is_masked() {
        const MASK: &str = super::MASK;
        for pieces in [
            &["4111", "1111", "1111", "1111"][..],
            &["Card 4111", "1111", "1111", "1111 until 12/30"],
            &["3782", "822463", "10005"],
            &["4111 1111", "1111-1111"],
            &["Card 4111 ", " 1111 ", " 1111", " 1111."],
            &["4", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1"],
        ] {
            let told = texts(&boxes(pieces));
            assert!(told.iter().all(|text| text.contains(MASK)), "{told:?}");
            assert!(!told.concat().contains("11"), "{told:?}");
        }
        let told = texts(&boxes(&["Card 4111", "1111", "1111", "1111 until 12/30"]));
        assert_eq!(told, [&format!("Card {MASK}"), MASK, MASK, &format!("{MASK} until 12/30")]);
        let told = texts(&boxes(&["4111", "1111", "1111", "1111 or 5500", "0000", "0000", "0004"]));
        assert_eq!(told[3], format!("{MASK} or {MASK}"));
        let two = boxes(&["4111", "1111", "1111", "1111"]).replace("\n ", "\n  ");
        let two = format!("{}{}", two.replace("1\n", "1\n . 9\n"), two.replace("webarea", "\n . "));
        assert_eq!(texts(&two), [MASK; 8], "{two}");
        let told = texts(&boxes(&["4111", "1111", "1111", "1111", "12", "30"]));
        assert_eq!(told, [MASK, MASK, MASK, MASK, "12", "30"]);
    }

    #[test]
    fn other_numbers_beside_each_other_are_told() {
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
