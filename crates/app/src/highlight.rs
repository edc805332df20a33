//! Syntax highlighting of snapshot text on terminals: roles, refs and states.
//!
//! Accessible names are always quoted, so each line can be split into our tokens and page text on its own.

use anstyle::{AnsiColor, Style};
use std::fmt::Write;

const ROLE: Style = AnsiColor::Cyan.on_default();
const REF: Style = AnsiColor::Yellow.on_default().bold();
const STATE: Style = Style::new().dimmed();

/// Returns the snapshot text with ANSI styles.
pub(crate) fn snapshot(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 3 / 2);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        highlight_line(&mut out, line);
    }
    out
}

fn highlight_line(out: &mut String, line: &str) {
    let body = line.trim_start_matches(' ');
    let flat_ref = line.split_once(' ').filter(|(ref_name, _)| ref_name.starts_with("@e"));
    let body = match (body.strip_prefix("- "), flat_ref) {
        (Some(body), _) => {
            out.push_str(&line[..line.len() - body.len()]);
            body
        }
        (None, Some((ref_name, body))) => {
            // Writing to a `String` cannot fail.
            _ = write!(out, "{REF}{ref_name}{REF:#} ");
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
    let name_end = quoted_end(rest);
    out.push_str(&rest[..name_end]);
    let Some((before, attributes)) = rest[name_end..].split_once('[') else {
        out.push_str(&rest[name_end..]);
        return;
    };
    out.push_str(before);
    let attributes = format!("[{attributes}");
    match attributes.strip_prefix("[ref=") {
        Some(ref_name) => {
            let end = ref_name.find([' ', ']']).unwrap_or(ref_name.len());
            let (name, more) = ref_name.split_at(end);
            _ = write!(out, "{STATE}[ref={STATE:#}{REF}{name}{REF:#}{STATE}{more}{STATE:#}");
        }
        None => _ = write!(out, "{STATE}{attributes}{STATE:#}"),
    }
}

/// Returns the end of the quoted name; 0 if there is none before the states.
fn quoted_end(rest: &str) -> usize {
    let Some(open) = rest.find('"').filter(|open| !rest[..*open].contains('[')) else { return 0 };
    let mut is_escaped = false;
    for (offset, letter) in rest[open + 1..].char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return open + 1 + offset + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strips the ANSI styles.
    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn highlighting_keeps_the_text() {
        let text = "- webarea \"A [ref=@e9] \\\"b\\\"\":\n  - button \"Go\" [ref=@e1 disabled=true]\n  \
                    - link: \"x\" [ref=@e2]\n  - text: \"[a]\"\n  - heading [level=2]\n\n~ odd\n@e7 link \"y\" [checked=true]";
        let highlighted = snapshot(text);
        assert_eq!(plain(&highlighted), text);
        assert!(highlighted.contains(&format!("{REF}@e1{REF:#}")));
        assert!(highlighted.contains(&format!("{REF}@e7{REF:#} {ROLE}link{ROLE:#}")));
        assert!(!highlighted.contains(&format!("{REF}@e9{REF:#}")), "page text is not a ref");
    }
}
