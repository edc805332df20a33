//! Parser of the observer's report: one string per document, read into a [`Tree`].
//!
//! Lines end with `\n`, fields are separated by `\t`; the observer leaves neither in a text. The first line
//! describes the document: version, address, origin, title, hosts that may have a closed shadow root, texts
//! left out, shadow roots. Every other line is a node, parents before children:
//!
//! ```text
//! depth \t role \t element \t name [\t key value]…      an element; role `.` is generic, no number: the next
//! depth \t "text [\t key value]…                        text
//! depth \t |                                            a line break: no node, a state of the next one
//! ```
//!
//! A key is one letter directly followed by its value: `v` value, `l` level, `f` letters for boolean states
//! (see `states`), `c` `p` `x` checked, pressed, expanded (`0`, `1` or `m`), `u` address, `d` description,
//! `t` value text, `k` kind, `h` popup, `i` invalid, `r` role description, `s` shortcuts, `o` orientation,
//! `a` autocomplete, `n` and `m` minimum and maximum, `w` why it is hidden, `b` bounds `x,y,width,height`.
//! Unknown keys are ignored. A name of `\u{1}` alone stands for the text of the next line.

use super::{Bounds, Frame, Role, States, Tree, Tristate};
use crate::mask::{MASK, mask};

/// Parse error of a report.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Line of the error, counted from 1.
    pub line: usize,
}

/// Name that stands for the text of the next line.
const SAME_AS_NEXT: &str = "\u{1}";

impl Tree {
    /// Appends a document below the node at `depth - 1`, with secrets masked.
    ///
    /// # Errors
    /// When a line does not have the form described above. The lines before it have been added.
    pub fn add_report(&mut self, report: &str, depth: u32, frame: u16) -> Result<(), Malformed> {
        let report = &*mask(report);
        let base = self.text.len();
        self.text.push_str(report);
        self.nodes.reserve(report.bytes().filter(|byte| *byte == b'\n').count());
        let mut lines = report.split_terminator('\n');
        lines.next().ok_or(Malformed { line: 1 })?;
        let mut last = 0;
        let begin = self.nodes.len();
        let mut has_secrets = false;
        let mut breaks: (u32, u32) = (0, 0);
        for (number, line) in lines.enumerate() {
            if let Some(at) = line.strip_suffix("\t|") {
                let at = at.parse().map_err(|_| Malformed { line: number + 2 })?;
                breaks = (at, if breaks.0 == at { breaks.1 + 1 } else { 1 });
                continue;
            }
            self.add_line(report, base, line, depth, frame, &mut last)
                .ok_or(Malformed { line: number + 2 })?;
            let (at, count) = std::mem::take(&mut breaks);
            if let Some(node) =
                self.nodes.last_mut().filter(|it| count > 0 && it.depth == depth + at)
            {
                node.states = node.states.with_line_break(true).with_blank_line(count > 1);
            }
            has_secrets |= self.nodes.last().is_some_and(|node| node.states.is_masked());
        }
        if has_secrets {
            self.mask_secret_fields(begin);
        }
        Ok(())
    }

    /// Masks the content of secret fields: the text typed into some of them consists of elements of the page.
    fn mask_secret_fields(&mut self, begin: usize) {
        let mask = self.intern_masked(MASK);
        let mut field = None;
        for node in &mut self.nodes[begin..] {
            if field.is_some_and(|depth| node.depth > depth) {
                for text in [&mut node.name, &mut node.value] {
                    if !text.is_empty() {
                        *text = mask;
                    }
                }
                continue;
            }
            field = node.states.is_masked().then_some(node.depth);
            if field.is_some() && !node.states.has_author_name() && !node.name.is_empty() {
                node.name = mask;
            }
        }
    }

    fn add_line(
        &mut self,
        report: &str,
        base: usize,
        line: &str,
        depth: u32,
        frame: u16,
        last: &mut u32,
    ) -> Option<()> {
        // Every field is a slice of the report, which is already stored.
        let span = |field: &str| super::TextSpan {
            start: (base + (field.as_ptr() as usize - report.as_ptr() as usize)) as u32,
            len: field.len() as u32,
        };
        let mut fields = line.split('\t');
        let depth = depth + fields.next()?.parse::<u32>().ok()?;
        let role = fields.next()?;
        let index = match role.strip_prefix('"') {
            Some(text) => {
                let index = self.push(Role::Text, depth, 0, frame);
                self.nodes[index].name = span(text);
                index
            }
            None => {
                *last = match fields.next()? {
                    "" => *last + 1,
                    number => number.parse().ok()?,
                };
                let element = *last;
                let role = match role {
                    "." => Role::Generic,
                    name => Role::named(name).unwrap_or(Role::Unknown),
                };
                let index = self.push(role, depth, element, frame);
                let name = fields.next()?;
                self.nodes[index].name = match name {
                    SAME_AS_NEXT => same_as_next(report, line).map(span)?,
                    name => span(name),
                };
                index
            }
        };
        for field in fields {
            let mut chars = field.chars();
            let Some(key) = chars.next() else { continue };
            let value = chars.as_str();
            let node = &mut self.nodes[index];
            match key {
                'f' => node.states = states(value),
                'v' => node.value = span(value),
                'l' => node.level = value.parse().unwrap_or(0),
                'c' => node.checked = toggle(value),
                'p' => node.pressed = toggle(value),
                'x' => node.expanded = toggle(value).map(|toggle| toggle == Tristate::On),
                'u' => self.extra_mut(index).url = span(value),
                'd' => self.extra_mut(index).description = span(value),
                't' => self.extra_mut(index).value_text = span(value),
                'k' => self.extra_mut(index).kind = span(value),
                'h' => self.extra_mut(index).popup = span(value),
                'i' => self.extra_mut(index).invalid = span(value),
                'r' => self.extra_mut(index).role_description = span(value),
                's' => self.extra_mut(index).shortcuts = span(value),
                'o' => self.extra_mut(index).orientation = span(value),
                'a' => self.extra_mut(index).autocomplete = span(value),
                'n' => self.extra_mut(index).min = span(value),
                'm' => self.extra_mut(index).max = span(value),
                'w' => self.extra_mut(index).why_hidden = span(value),
                'b' => self.extra_mut(index).bounds = bounds(value),
                _ => {}
            }
        }
        Some(())
    }
}

/// Parses the header line of a report. `name`, `parent` and the document id are not in it.
pub fn document(report: &str) -> Option<Frame> {
    let mut fields = report.lines().next()?.split('\t');
    if fields.next()? != "1" {
        return None;
    }
    let mut next = || fields.next().map(|field| mask(field).into_owned());
    let frame = Frame { url: next()?, origin: next()?, title: next()?, ..Frame::default() };
    let unseen = fields.nth(1).and_then(|count| count.parse().ok()).unwrap_or(0);
    let kind = fields.nth(3).unwrap_or_default().to_owned();
    Some(Frame { unseen, kind, ..frame })
}

/// The text of the line after `line`.
fn same_as_next<'r>(report: &'r str, line: &str) -> Option<&'r str> {
    let after = line.as_ptr() as usize - report.as_ptr() as usize + line.len() + 1;
    let next = report.get(after..)?.split('\n').next()?;
    next.split('\t').nth(1)?.strip_prefix('"')
}

/// Parses boolean states, one letter each.
fn states(letters: &str) -> States {
    letters.chars().fold(States::default(), |states, letter| match letter {
        'd' => states.with_disabled(true),
        's' => states.with_selected(true),
        'f' => states.with_focusable(true),
        'F' => states.with_focused(true),
        'm' => states.with_modal(true),
        'r' => states.with_required(true),
        'o' => states.with_readonly(true),
        'M' => states.with_multiline(true),
        'S' => states.with_multiselectable(true),
        't' => states.with_tabindex(true),
        'e' => states.with_editable(true),
        'p' => states.with_pointer(true),
        'l' => states.with_listener(true),
        'h' => states.with_hidden(true),
        'n' => states.with_name_hidden(true),
        'y' => states.with_masked(true),
        'L' => states.with_visible_proxy(true),
        'q' => states.with_silent(true),
        'b' => states.with_busy(true),
        'g' => states.with_author_name(true),
        'c' => states.with_cut(true),
        'u' => states.with_file(true),
        _ => states,
    })
}

fn toggle(value: &str) -> Option<Tristate> {
    match value {
        "0" => Some(Tristate::Off),
        "1" => Some(Tristate::On),
        "m" => Some(Tristate::Mixed),
        _ => None,
    }
}

fn bounds(value: &str) -> Option<Bounds> {
    let mut numbers = value.split(',').map(|number| number.parse().ok());
    let mut next = || numbers.next().flatten();
    Some(Bounds { x: next()?, y: next()?, width: next()?, height: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "1\thttps://a.test/\thttps://a.test\tA\n\
        0\twebarea\t1\tA\n\
        1\tlink\t7\t\u{1}\tfft\tuhttps://a.test/x\n\
        2\t\"Go on\n\
        1\tcheckbox\t9\tMore\tfd\tcm\tx0\tb1,2.5,3,4\tZwhat\n";

    #[test]
    fn report_is_parsed_into_a_tree() {
        let mut tree = Tree::default();
        tree.add_report(REPORT, 0, 0).unwrap();
        tree.finish();
        assert_eq!(tree.nodes.len(), 4);
        assert_eq!(tree.children(0).collect::<Vec<_>>(), [1, 3]);
        let link = &tree.nodes[1];
        assert_eq!((link.role, tree.name(link), link.element), (Role::Link, "Go on", 7));
        assert!(link.states.is_focusable() && link.states.has_tabindex());
        assert_eq!(tree.str(tree.extra(link).unwrap().url), "https://a.test/x");
        let check = &tree.nodes[3];
        assert_eq!((check.checked, check.expanded), (Some(Tristate::Mixed), Some(false)));
        let bounds = tree.extra(check).unwrap().bounds.unwrap();
        assert_eq!((bounds.x, bounds.y, bounds.width, bounds.height), (1.0, 2.5, 3.0, 4.0));
        let frame = document(REPORT).unwrap();
        assert_eq!((&*frame.origin, &*frame.title), ("https://a.test", "A"));
    }

    #[test]
    fn line_break_is_a_state_of_the_node_after_it() {
        let mut tree = Tree::default();
        let report = "1\ta\tb\tc\n0\twebarea\t1\t\n1\t\"a\n1\t|\n1\t\"b\n1\t|\n1\t|\n1\t.\t2\t\n2\t\"c\n2\t|\n1\t\"d\n";
        tree.add_report(report, 0, 0).unwrap();
        tree.finish();
        let breaks_before = |node: &super::super::Node| {
            (node.states.is_after_line_break(), node.states.is_after_blank_line())
        };
        let all: Vec<_> = tree.nodes.iter().map(breaks_before).collect();
        let (no, one, two) = ((false, false), (true, false), (true, true));
        assert_eq!(all, [no, no, one, two, no, no]);
    }

    #[test]
    fn malformed_report_error_has_the_line() {
        let read = |report: &str| Tree::default().add_report(report, 0, 0);
        assert_eq!(read(""), Err(Malformed { line: 1 }));
        assert_eq!(read("1\ta\tb\tc\nx\tlink\t1\t"), Err(Malformed { line: 2 }));
        assert_eq!(read("1\ta\tb\tc\n0\tlink\t1\t\n1\tlink\n"), Err(Malformed { line: 3 }));
        assert_eq!(document("2\ta\tb\tc"), None);
    }
}
