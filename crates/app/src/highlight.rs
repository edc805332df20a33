//! A snapshot in colours, for people: roles, refs and states stand out from what the page says.
//!
//! Names are always quoted, so where a line's words end and the page's begin can be told from the line alone.

use anstyle::{AnsiColor, Style};
use std::fmt::Write;

const ROLE: Style = AnsiColor::Cyan.on_default();
const REF: Style = AnsiColor::Yellow.on_default().bold();
const STATE: Style = Style::new().dimmed();

/// The text with colours in it.
pub(crate) fn snapshot(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 3 / 2);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        paint(&mut out, line);
    }
    out
}

fn paint(out: &mut String, line: &str) {
    let body = line.trim_start_matches(' ');
    let flat = line.split_once(' ').filter(|(given, _)| given.starts_with("@e"));
    let body = match (body.strip_prefix("- "), flat) {
        (Some(body), _) => {
            out.push_str(&line[..line.len() - body.len()]);
            body
        }
        (None, Some((given, body))) => {
            // Writing to a string cannot fail.
            _ = write!(out, "{REF}{given}{REF:#} ");
            body
        }
        (None, None) => {
            out.push_str(line);
            return;
        }
    };
    let role = body.find([' ', ':']).unwrap_or(body.len());
    _ = write!(out, "{ROLE}{}{ROLE:#}", &body[..role]);
    let rest = &body[role..];
    let states = quoted_end(rest);
    out.push_str(&rest[..states]);
    let Some((before, inside)) = rest[states..].split_once('[') else {
        out.push_str(&rest[states..]);
        return;
    };
    out.push_str(before);
    let inside = format!("[{inside}");
    match inside.strip_prefix("[ref=") {
        Some(given) => {
            let end = given.find([' ', ']']).unwrap_or(given.len());
            let (name, more) = given.split_at(end);
            _ = write!(out, "{STATE}[ref={STATE:#}{REF}{name}{REF:#}{STATE}{more}{STATE:#}");
        }
        None => _ = write!(out, "{STATE}{inside}{STATE:#}"),
    }
}

/// Where the quoted part of a line ends; 0 when there is none before the states.
fn quoted_end(rest: &str) -> usize {
    let Some(open) = rest.find('"').filter(|open| !rest[..*open].contains('[')) else { return 0 };
    let mut is_escaped = false;
    for (at, letter) in rest[open + 1..].char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return open + 1 + at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left when the colours are taken away again.
    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn colours_change_nothing_but_colours() {
        let text = "- webarea \"A [ref=@e9] \\\"b\\\"\":\n  - button \"Go\" [ref=@e1 disabled=true]\n  \
                    - link: \"x\" [ref=@e2]\n  - text: \"[a]\"\n  - heading [level=2]\n\n~ odd\n@e7 link \"y\" [checked=true]";
        let painted = snapshot(text);
        assert_eq!(plain(&painted), text);
        assert!(painted.contains(&format!("{REF}@e1{REF:#}")));
        assert!(painted.contains(&format!("{REF}@e7{REF:#} {ROLE}link{ROLE:#}")));
        assert!(!painted.contains(&format!("{REF}@e9{REF:#}")), "a page's words are not a ref");
    }
}
