//! Hashes of a snapshot: of its text, of the document structure, and of ref targets.

use crate::text;
use sha2::{Digest, Sha256};

/// Length of the document structure that is hashed, in UTF-16 units.
pub const DOM_HASH_MAX_CHARS: usize = 32_768;

/// Hash of a snapshot's text, independent of white space.
pub fn ax_hash(text: &str) -> String {
    let mut hasher = AxHasher::default();
    hasher.write(text);
    hasher.finish()
}

/// [`ax_hash`] of a text in chunks.
#[derive(Debug, Default)]
pub struct AxHasher {
    sha: Sha256,
    /// Unhashed words: hashing each short word alone takes twice as long.
    pending: Vec<u8>,
    started: bool,
    space: bool,
}

impl AxHasher {
    /// Adds a chunk.
    pub fn write(&mut self, chunk: &str) {
        const MANY: usize = 8192;
        let mut rest = chunk;
        loop {
            let word_at = rest.find(|c| !text::is_space(c)).unwrap_or(rest.len());
            self.space |= word_at > 0;
            rest = &rest[word_at..];
            if rest.is_empty() {
                return;
            }
            if self.space && self.started {
                self.pending.push(b' ');
            }
            (self.space, self.started) = (false, true);
            let end = rest.find(text::is_space).unwrap_or(rest.len());
            self.pending.extend_from_slice(&rest.as_bytes()[..end]);
            rest = &rest[end..];
            if self.pending.len() >= MANY {
                self.sha.update(&self.pending);
                self.pending.clear();
            }
        }
    }

    /// Returns the hash of all chunks.
    pub fn finish(mut self) -> String {
        self.sha.update(&self.pending);
        short(&self.sha.finalize(), 16)
    }
}

/// Hash that replaces a text in reports that must not contain it.
pub fn field_hash(text: &str) -> String {
    short(&Sha256::digest(text), 12)
}

/// Signature of a ref target: hash of its role, its name and its position in the shown tree.
pub fn signature_hash(role: &str, name: &str, depth: u32, path: &[u32]) -> String {
    use std::fmt::Write as _;
    let mut json = String::from("{\"role\":");
    text::quote(&mut json, role);
    json.push_str(",\"name\":");
    text::quote(&mut json, name);
    let _ = write!(json, ",\"depth\":{depth},\"path\":[");
    for (at, index) in path.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let _ = write!(json, "{comma}{index}");
    }
    json.push_str("]}");
    short(&Sha256::digest(json), 16)
}

/// Hash of the document structure: tags without attributes and text, see [`dom_shape`].
pub fn dom_hash(html: &str, max_chars: usize) -> String {
    short(&Sha256::digest(text::first_units(&dom_shape(html), max_chars)), 16)
}

/// Extracts a document's tags without any content by its author or user: comments, attributes and text are
/// removed, white space is collapsed.
///
/// Every tag loses its attributes, also one with a hyphen in its name. The content of `script` and `style` is
/// removed as a whole: a `<` in it is no tag, and would otherwise put code into the result.
pub fn dom_shape(html: &str) -> String {
    let html = without_comments(html);
    let mut shape = String::with_capacity(html.len() / 4);
    let mut rest = &*html;
    while let Some(at) = rest.find('<') {
        // Only text after a tag counts as text; content before the first tag stays.
        if !shape.ends_with('>') {
            shape.push_str(&rest[..at]);
        }
        rest = &rest[at..];
        let name = tag_name(&rest[1..]);
        let Some(end) = rest.find('>') else { break };
        let after_name = rest[1 + name.len()..].chars().next();
        if !name.is_empty() && after_name.is_some_and(text::is_space) {
            shape.push('<');
            shape.push_str(name);
            shape.push('>');
        } else {
            shape.push_str(&rest[..=end]);
        }
        rest = &rest[end + 1..];
        if ["script", "style"].iter().any(|raw| name.eq_ignore_ascii_case(raw)) {
            rest = &rest[raw_text_end(rest, name)..];
        }
    }
    shape.push_str(rest);
    text::collapse(&shape).into_owned()
}

fn without_comments(html: &str) -> std::borrow::Cow<'_, str> {
    if !html.contains("<!--") {
        return html.into();
    }
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(start) = rest.find("<!--") {
        let Some(end) = rest[start + 4..].find("-->") else { break };
        out.push_str(&rest[..start]);
        rest = &rest[start + 4 + end + 3..];
    }
    out.push_str(rest);
    out.into()
}

fn tag_name(text: &str) -> &str {
    let end =
        text.find(|c: char| text::is_space(c) || matches!(c, '<' | '>' | '/' | '!' | '"' | '='));
    &text[..end.unwrap_or(text.len())]
}

/// End of a raw text element: its end tag, or the end of the document.
fn raw_text_end(text: &str, name: &str) -> usize {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(at) = text[from..].find("</") {
        let start = from + at;
        let tag = bytes.get(start + 2..start + 2 + name.len());
        if tag.is_some_and(|tag| tag.eq_ignore_ascii_case(name.as_bytes())) {
            return start;
        }
        from = start + 2;
    }
    text.len()
}

fn short(digest: &[u8], digits: usize) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity("sha256:".len() + digits);
    out.push_str("sha256:");
    for byte in &digest[..digits / 2] {
        out.push(HEX[usize::from(byte >> 4)] as char);
        out.push(HEX[usize::from(byte & 15)] as char);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_vectors_hold() {
        assert_eq!(ax_hash("- document"), "sha256:56866acd9b713f35");
        assert_eq!(ax_hash(" -\n\n document\t"), "sha256:56866acd9b713f35");
        assert_eq!(field_hash("Message ChatGPT"), "sha256:db3b468279f9");
        let signature = signature_hash("textbox", "Message ChatGPT", 1, &[1]);
        assert_eq!(signature, "sha256:c1f30ef461fdb506");
        let html = "<body class=\"dark\"><main id=\"m\"><h1>Welcome</h1>\
            <button aria-label=\"Sign In\">Sign In</button></main></body>";
        assert_eq!(dom_hash(html, DOM_HASH_MAX_CHARS), "sha256:5aa20bf9c05ef677");
    }

    #[test]
    fn dom_shape_has_tags_only() {
        for (html, expected) in [
            ("<div class=\"a\">x <b id=\"q\">hi</b><!-- c --></div>", "<div><b></b></div>"),
            (
                "<rich-textarea _ngcontent-ng-c1=\"\" class=\"x\"><p class=\"y\">t</p></rich-textarea>",
                "<rich-textarea><p></p></rich-textarea>",
            ),
            (
                "<body><main id=\"m\"><h1>W</h1></main></body>",
                "<body><main><h1></h1></main></body>",
            ),
            ("<script async>if (a<b) { '<i>' }</script><p>", "<script></script><p>"),
            ("<style>a>b{}</STYLE><p\n\tid=x>", "<style></STYLE><p>"),
            ("<script>x", "<script>"),
            ("", ""),
            ("text", "text"),
            ("a <b>c</b> d", "a <b></b> d"),
            ("<p>a > b < c", "<p>< c"),
            ("<!-- open <p>x</p>", "<!-- open <p></p>"),
            ("<svg:a x=1>\u{e9}</svg:a>", "<svg:a></svg:a>"),
        ] {
            assert_eq!(dom_shape(html), expected, "{html:?}");
        }
    }

    #[test]
    fn dom_shape_has_no_attributes_text_or_code() {
        let hash = |html: &str| dom_hash(html, 8192);
        let base = hash("<a href=\"/x\" id=\"i\" style=\"color:red\">One</a>");
        assert_eq!(base, hash("<a href=\"/y\" class=\"c\">Two</a>"));
        assert_ne!(base, hash("<b href=\"/x\">One</b>"));
        assert_eq!(dom_hash("<a></a><b></b>", 7), dom_hash("<a></a><i></i>", 7));
    }

    #[test]
    fn chunks_hash_as_the_whole_text() {
        let whole = "- a  \"b c\"\n  - d ";
        for at in 0..=whole.len() {
            let mut hasher = AxHasher::default();
            hasher.write(&whole[..at]);
            hasher.write(&whole[at..]);
            assert_eq!(hasher.finish(), ax_hash(whole), "{at}");
        }
        assert_ne!(ax_hash("- a\n- b"), ax_hash("- a\n- c"));
    }

    #[test]
    fn other_structure_has_another_hash() {
        let list = "- list:\n  - listitem \"One\"\n  - listitem \"Two\"";
        for other in [
            "- list:\n  - listitem \"Two\"\n  - listitem \"One\"",
            "- listitem \"One\"\n- listitem \"Two\"",
            "- list\n- listitem \"One\"\n- listitem \"Two\"",
            "- list:\n  - listitem \"One\":\n    - listitem \"Two\"",
            "- list:\n  - listitem \"One\"\n  - list:\n    - listitem \"Two\"",
        ] {
            assert_ne!(ax_hash(list), ax_hash(other), "{other}");
        }
        // Indentation is white space: only the `:` of lines with children is hashed.
        assert_eq!(ax_hash(list), ax_hash(&list.replace("  ", " ")));
    }
}
