//! Small trees for tests, in a line format.

use super::{Frame, Role, Tree};

/// Parses a tree from lines of `role element? "name"? flags…`, indented by one space for each level. `f…` are
/// states by the letters of a report, `l2` a level, `#1` a frame, `v="…"`, `c1`, `p1`, `x1` value and
/// toggles; any other field of a report is `key=value`, such as `u=https://a.test`.
pub(crate) fn tree(page: &str) -> Tree {
    let mut tree = Tree::default();
    let mut report = String::new();
    for line in page.lines() {
        let depth = line.len() - line.trim_start_matches(' ').len();
        let mut words = Words(line.trim_start());
        let role = words.next().unwrap();
        let (mut element, mut name, mut frame, mut rest) = (0, String::new(), 0_u16, String::new());
        for word in words {
            if let Some(quoted) = word.strip_prefix('"') {
                name = quoted.strip_suffix('"').unwrap().to_owned();
            } else if let Some(number) = word.strip_prefix('#') {
                frame = number.parse().unwrap();
            } else if let Ok(number) = word.parse() {
                element = number;
            } else {
                let field = word.replacen('=', "", usize::from(word[1..].starts_with('=')));
                rest.push('\t');
                rest.push_str(&field.replace('"', ""));
            }
        }
        report.clear();
        match role {
            "text" => report.push_str(&format!("1\n{depth}\t\"{name}{rest}\n")),
            role => report.push_str(&format!("1\n{depth}\t{role}\t{element}\t{name}{rest}\n")),
        }
        tree.add_report(&report, 0, frame).unwrap();
        while tree.frames.len() <= frame as usize {
            let number = tree.frames.len();
            tree.frames.push(Frame {
                document: format!("d{number}"),
                url: format!("https://f{number}.test/"),
                origin: format!("https://f{number}.test"),
                parent: (number > 0).then_some(0),
                ..Frame::default()
            });
        }
    }
    tree.finish();
    tree
}

/// The page of the golden example of the phase-7 format.
pub(crate) fn golden() -> Tree {
    let mut tree = tree(
        "webarea 1 \"ChatGPT\" fF\n heading 2 \"Welcome\" l1\n textbox 3 \"Message ChatGPT\"\n \
         button 4 \"Attach files\" fd\n link 5\n  text \"Help  center\"\n checkbox 6 \"Remember\" c0\n \
         text \"Footer\"",
    );
    tree.nodes[2].value = tree.intern_masked("draft \"q\"");
    debug_assert_eq!(tree.nodes[2].role, Role::TextBox);
    tree
}

/// Words separated by spaces, where quotes hold a word together.
struct Words<'t>(&'t str);

impl<'t> Iterator for Words<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let text = self.0.trim_start_matches(' ');
        let mut quoted = false;
        let end = text.find(|c| {
            quoted ^= c == '"';
            c == ' ' && !quoted
        });
        let (word, rest) = text.split_at(end.unwrap_or(text.len()));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
}
