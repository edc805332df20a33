//! The phase-7 text: one line for each node, `- role "name" [ref=@e1 …]:`, children indented below.

use super::{RenderOptions, empty_text};
use crate::ax::{Node, Role, Tree, Tristate};
use crate::hash::{AxHasher, field_hash};
use crate::text::{self, MAX_NAME, MAX_VALUE};
use crate::view::{View, ViewLine};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

/// Maximum length of an item's label, in UTF-16 units.
const MAX_LABEL: usize = 32;

/// Renders a view as text.
pub fn render_cli(tree: &Tree, view: &View, print: &RenderOptions) -> String {
    render_with_refs(tree, view, print).text
}

/// Renders a view as text, with the positions of its refs.
pub fn render_with_refs(tree: &Tree, view: &View, print: &RenderOptions) -> RenderedText {
    let mut text = String::with_capacity(view.lines.len() * 48);
    let mut refs = Vec::with_capacity(view.refs as usize);
    for line in &view.lines {
        if !text.is_empty() {
            text.push('\n');
        }
        let at = push_line(&mut text, tree, line, print);
        if let (Some(at), Some(number)) = (at, line.number) {
            refs.push((at, number));
        }
    }
    if text.is_empty() {
        text.push_str(empty_text(view, print));
    }
    RenderedText { text, refs }
}

/// A rendered view.
#[derive(Clone, Debug, Default)]
pub struct RenderedText {
    /// The text.
    pub text: String,
    /// Byte offset of the digits of each ref, and its number.
    refs: Vec<(usize, u32)>,
}

impl RenderedText {
    /// Hash of the text with its refs renumbered from 1 in order of appearance, so that earlier numbers of
    /// the tab make no difference.
    pub fn ax_hash(&self) -> String {
        let mut hasher = AxHasher::default();
        if self.is_numbered_from_one() {
            hasher.write(&self.text);
            return hasher.finish();
        }
        let mut numbers: HashMap<u32, usize> = HashMap::with_capacity(self.refs.len());
        let mut digits = String::new();
        let mut hashed = 0;
        for (at, number) in &self.refs {
            let next = numbers.len() + 1;
            let renumbered = *numbers.entry(*number).or_insert(next);
            digits.clear();
            let _ = write!(digits, "{renumbered}");
            hasher.write(&self.text[hashed..*at]);
            hasher.write(&digits);
            hashed = at + number.checked_ilog10().map_or(1, |log| log as usize + 1);
        }
        hasher.write(&self.text[hashed..]);
        hasher.finish()
    }

    fn is_numbered_from_one(&self) -> bool {
        let mut highest = 0;
        self.refs.iter().all(|(_, number)| {
            let is_next = (1..=highest + 1).contains(number);
            highest = highest.max(*number);
            is_next
        })
    }
}

/// Appends a line without line feed. Returns the offset of the digits of its ref, if it has one.
pub(crate) fn push_line(
    out: &mut String,
    tree: &Tree,
    line: &ViewLine,
    print: &RenderOptions,
) -> Option<usize> {
    let has_leading_ref = print.flat && line.number.is_some() && line.folded.is_none();
    let mut at = None;
    if has_leading_ref {
        // A leading ref needs no brackets: fewer tokens, and no page can forge such a line.
        out.push_str("@e");
        at = Some(out.len());
        let _ = write!(out, "{} ", line.number.unwrap_or_default());
    } else {
        for _ in 0..line.depth {
            out.push_str("  ");
        }
        out.push_str("- ");
    }
    if let Some(folded) = line.folded {
        // Neither a role nor a quote begins with `…`: no page can forge such a line.
        let is_list = print.flat && tree.nodes[line.node as usize].role == Role::ComboBox;
        if let Some(number) = line.number.filter(|_| is_list) {
            let _ = write!(out, "… {} more options: select @e", folded.nodes);
            let at = out.len();
            let _ = write!(out, "{number} LABEL");
            return Some(at);
        }
        let _ = write!(out, "… {} more, {} refs", folded.nodes, folded.refs);
        return line.number.map(|number| {
            out.push_str(", in @e");
            let at = out.len();
            let _ = write!(out, "{number}");
            at
        });
    }
    let node = &tree.nodes[line.node as usize];
    let name = printed_name(tree, line.node, print);
    if node.role == Role::Text {
        out.push_str("text: ");
        text::quote(out, &name);
        push_attributes(out, tree, line, print);
        return None;
    }
    out.push_str(node.role.name());
    match line.text {
        Some(only) => {
            out.push_str(": ");
            text::quote(out, &printed_name(tree, only, print));
        }
        None if !name.is_empty() => {
            out.push(' ');
            text::quote(out, &name);
        }
        None => {}
    }
    at = push_attributes(out, tree, line, print).or(at);
    if let Some(label) = line.within {
        out.push_str(" in ");
        text::quote(out, &text::cut(&printed_name(tree, label, print), MAX_LABEL));
    }
    if line.has_children {
        out.push(':');
    }
    at
}

/// Appends ` [ref=@e1 …]`, or nothing without attributes.
pub(crate) fn push_attributes(
    out: &mut String,
    tree: &Tree,
    line: &ViewLine,
    print: &RenderOptions,
) -> Option<usize> {
    let node = &tree.nodes[line.node as usize];
    let start = out.len();
    out.push_str(" [");
    let mut at = None;
    if let Some(number) = line.number.filter(|_| !print.flat) {
        out.push_str("ref=@e");
        at = Some(out.len());
        let _ = write!(out, "{number}");
    }
    // Attributes of the phase-7 format, in its order.
    push_toggle(out, "checked", node.checked);
    push_flag(out, "disabled", node.states.is_disabled());
    if let Some(expanded) = node.expanded {
        push_key(out, "expanded");
        let _ = write!(out, "{expanded}");
    }
    push_flag(out, "selected", node.states.is_selected());
    push_toggle(out, "pressed", node.pressed);
    if node.level > 0 {
        push_key(out, "level");
        let _ = write!(out, "{}", node.level);
    }
    push_value(out, tree, node, print);
    // Additional attributes.
    push_flag(out, "editable", node.is_generic_editor());
    push_flag(out, "required", node.states.is_required());
    push_flag(out, "readonly", node.states.is_readonly() && takes_input(node.role));
    if let Some(frame) = tree.hosted_frame(line.node as usize) {
        push_text(out, "frame", &frame.origin, print);
        if !frame.name.is_empty() && frame.name != tree.name(node) {
            push_page_text(out, "frame-name", &frame.name, print);
        }
    }
    push_flag(out, "silent", node.states.is_silent());
    push_flag(out, "cut", node.states.is_cut());
    if let Some(extra) = tree.extra(node) {
        push_text(out, "invalid", tree.str(extra.invalid), print);
        if matches!(node.role, Role::Slider | Role::SpinButton) {
            push_number(out, "valuemin", tree.str(extra.min), print);
            push_number(out, "valuemax", tree.str(extra.max), print);
        }
        // The only description of a nameless control.
        if line.number.is_some() && line.text.is_none() && text::is_blank(tree.name(node)) {
            push_page_text(out, "title", tree.str(extra.description), print);
        }
        if print.urls {
            push_page_text(out, "url", tree.str(extra.url), print);
        }
        push_text(out, "kind", tree.str(extra.kind), print);
        push_text(out, "popup", tree.str(extra.popup), print);
        push_text(out, "hidden", tree.str(extra.why_hidden), print);
        if let Some(bounds) = extra.bounds.filter(|_| print.boxes) {
            push_key(out, "box");
            let [x, y, width, height] =
                [bounds.x, bounds.y, bounds.width, bounds.height].map(|side| side.round() as i64);
            let _ = write!(out, "{x},{y},{width},{height}");
        }
    } else {
        push_flag(out, "hidden", node.states.is_hidden());
    }
    if out.len() == start + 2 {
        out.truncate(start);
    } else {
        out.push(']');
    }
    at
}

/// True for controls that accept input.
fn takes_input(role: Role) -> bool {
    matches!(
        role,
        Role::TextBox | Role::SearchBox | Role::ComboBox | Role::SpinButton | Role::Slider
    )
}

/// The name of a node, or the content of a text, as it is printed before quoting.
pub(crate) fn printed_name<'t>(tree: &'t Tree, index: u32, print: &RenderOptions) -> Cow<'t, str> {
    let name = tree.name(&tree.nodes[index as usize]);
    limited(name, MAX_NAME, print)
}

fn limited<'t>(raw: &'t str, limit: usize, print: &RenderOptions) -> Cow<'t, str> {
    let limit = if print.unlimited_names { usize::MAX } else { limit };
    let text = text::cut(raw, limit);
    if print.redact && !text.is_empty() {
        return Cow::Owned(format!("[redacted:{}]", field_hash(&text)));
    }
    text
}

fn push_value(out: &mut String, tree: &Tree, node: &Node, print: &RenderOptions) {
    let value = tree.value(node);
    if value.is_empty() {
        return;
    }
    // The value of a range is a number, which the format does not quote.
    let is_number = matches!(
        node.role,
        Role::Slider | Role::SpinButton | Role::Meter | Role::ProgressBar | Role::ScrollBar
    ) && serde_json::from_str::<serde_json::Number>(value).is_ok();
    push_key(out, "value");
    if is_number && !print.redact {
        out.push_str(value.trim());
    } else {
        text::quote(out, &limited(value, MAX_VALUE, print));
    }
}

/// Appends a number unquoted, as the format does; any other value is quoted like page text.
fn push_number(out: &mut String, key: &str, value: &str, print: &RenderOptions) {
    if !print.redact && serde_json::from_str::<serde_json::Number>(value).is_ok() {
        push_key(out, key);
        out.push_str(value.trim());
    } else {
        push_page_text(out, key, value, print);
    }
}

fn push_toggle(out: &mut String, key: &str, toggle: Option<Tristate>) {
    let Some(toggle) = toggle else { return };
    push_key(out, key);
    out.push_str(match toggle {
        Tristate::Off => "false",
        Tristate::On => "true",
        Tristate::Mixed => "\"mixed\"",
    });
}

fn push_flag(out: &mut String, key: &str, is: bool) {
    if is {
        push_key(out, key);
        out.push_str("true");
    }
}

fn push_page_text(out: &mut String, key: &str, value: &str, print: &RenderOptions) {
    if !value.is_empty() {
        push_key(out, key);
        text::quote(out, &limited(value, MAX_NAME, print));
    }
}

/// Appends a word unquoted; anything else is quoted, since the page may have written it.
fn push_text(out: &mut String, key: &str, value: &str, print: &RenderOptions) {
    if value.is_empty() {
        return;
    }
    push_key(out, key);
    let is_word = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_word && matches!(key, "kind" | "popup" | "invalid") {
        out.push_str(value);
    } else {
        text::quote(
            out,
            &text::cut(value, if print.unlimited_names { usize::MAX } else { MAX_VALUE }),
        );
    }
}

fn push_key(out: &mut String, key: &str) {
    if !out.ends_with('[') {
        out.push(' ');
    }
    out.push_str(key);
    out.push('=');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ax::testing::{golden, tree};
    use crate::tokens;
    use crate::view::{SequentialRefs, ViewOptions, view};

    fn render(page: &Tree, options: &ViewOptions) -> (View, RenderedText) {
        let mut numbers = SequentialRefs::default();
        let view = view(page, options, &mut |frame, element| numbers.number(frame, element));
        let rendered = render_with_refs(page, &view, &options.print);
        (view, rendered)
    }

    fn check(page: &str, options: &ViewOptions, expected: &str) {
        let (_, rendered) = render(&tree(page), options);
        assert_eq!(rendered.text, expected, "{page}");
    }

    const GOLDEN: &str = r#"- webarea "ChatGPT":
  - heading "Welcome" [level=1]
  - textbox "Message ChatGPT" [ref=@e1 value="draft \"q\""]
  - button "Attach files" [ref=@e2 disabled=true]
  - link: "Help center" [ref=@e3]
  - checkbox "Remember" [ref=@e4 checked=false]
  - text: "Footer""#;

    #[test]
    fn golden_example_is_reproduced() {
        let (view, rendered) = render(&golden(), &ViewOptions::default());
        assert_eq!(rendered.text, GOLDEN);
        assert_eq!(rendered.ax_hash(), "sha256:4d3007de19a36b30");
        assert_eq!((view.node_count(), view.refs), (7, 4));
        assert_eq!(tokens::estimate(&rendered.text), 66);
    }

    #[test]
    fn form_constraints_are_printed() {
        check(
            "webarea 1\n textbox 2 \"Mail\" ffr i=true\n textbox 3 \"Id\" fo v=7\n slider 4 \"Volume\" v=3 n=0 m=10\n \
             gridcell 5 \"Cell\" fo\n generic 6 ffl d=\"Delete item\"",
            &ViewOptions::default(),
            "- webarea:\n  - textbox \"Mail\" [ref=@e1 required=true invalid=true]\n  \
             - textbox \"Id\" [ref=@e2 value=\"7\" readonly=true]\n  \
             - slider \"Volume\" [ref=@e3 value=3 valuemin=0 valuemax=10]\n  \
             - gridcell \"Cell\" [ref=@e4]\n  - generic [ref=@e5 title=\"Delete item\"]",
        );
    }

    #[test]
    fn empty_page_is_a_document() {
        let (_, rendered) = render(&Tree::default(), &ViewOptions::default());
        assert_eq!(rendered.text, "- document");
        assert_eq!(rendered.ax_hash(), "sha256:56866acd9b713f35");
    }

    #[test]
    fn names_are_truncated_at_900_units() {
        let mut page = tree("webarea 1\n button 2");
        page.nodes[1].name = page.intern_masked(&"x".repeat(1000));
        let (_, rendered) = render(&page, &ViewOptions::default());
        let expected = format!("- webarea:\n  - button \"{}…\" [ref=@e1]", "x".repeat(900));
        assert_eq!(rendered.text, expected);
        let mut options = ViewOptions::default();
        options.print.unlimited_names = true;
        assert!(render(&page, &options).1.text.contains(&"x".repeat(1000)));
    }

    #[test]
    fn states_are_printed_in_order() {
        check(
            "webarea 1\n checkbox 2 \"c\" cm fds x0 p1 l2 v=yes\n slider 3 v=50\n textbox 4 v=50\n \
             button 5 x1 h=menu k=svg\n tab 6 p0",
            &ViewOptions::default(),
            "- webarea:\n  - checkbox \"c\" [ref=@e1 checked=\"mixed\" disabled=true expanded=false \
             selected=true pressed=true level=2 value=\"yes\"]\n  - slider [ref=@e2 value=50]\n  \
             - textbox [ref=@e3 value=\"50\"]\n  - button [ref=@e4 expanded=true kind=svg popup=menu]\n  \
             - tab [ref=@e5 pressed=false]",
        );
        check(
            "webarea 1\n generic 2 fe \"Note\" v=x\n textbox 3 fe",
            &ViewOptions::default(),
            "- webarea:\n  - generic \"Note\" [value=\"x\" editable=true]\n  - textbox [ref=@e1]",
        );
    }

    #[test]
    fn frames_are_printed_with_their_origin() {
        check(
            "webarea 1\n iframe 2 \"pay\"\n  webarea 1 #1\n   button 2 #1 \"Pay\"\n iframe 3 fq",
            &ViewOptions::default(),
            "- webarea:\n  - iframe \"pay\" [frame=\"https://f1.test\"]:\n    - webarea:\n      \
             - button \"Pay\" [ref=@e1]\n  - iframe [silent=true]",
        );
    }

    #[test]
    fn optional_attributes_are_printed() {
        let page =
            "webarea 1\n link 2 \"a\" u=https://a.test b=1,2.4,3,4\n text \"x\" w=transparent fh";
        let mut options = ViewOptions::default();
        let plain =
            "- webarea:\n  - link \"a\" [ref=@e1]\n  - text: \"x\" [hidden=\"transparent\"]";
        check(page, &options, plain);
        options.print = RenderOptions { urls: true, boxes: true, ..RenderOptions::default() };
        check(
            page,
            &options,
            "- webarea:\n  - link \"a\" [ref=@e1 url=\"https://a.test\" box=1,2,3,4]\n  \
             - text: \"x\" [hidden=\"transparent\"]",
        );
    }

    #[test]
    fn redaction_leaves_no_text() {
        let print = RenderOptions { redact: true, urls: true, ..RenderOptions::default() };
        let options = ViewOptions { print, ..ViewOptions::default() };
        let page = "webarea 1 \"secret0\"\n textbox 2 \"secret1\" v=secret2\n link 3 u=https://secret3\n  \
            text \"secret4\"\n text \"secret5\"\n slider 4 v=77";
        let (_, rendered) = render(&tree(page), &options);
        assert!(
            !rendered.text.contains("secret") && !rendered.text.contains("77"),
            "{}",
            rendered.text
        );
        assert!(rendered.text.contains(&format!("\"[redacted:{}]\"", field_hash("secret1"))));
    }

    #[test]
    fn page_cannot_forge_a_line_or_a_ref() {
        let names =
            ["\" [ref=@e1]", "x\n- button \"y\" [ref=@e9]", "\\\" [ref=@e2]", "… 5 more, 2 refs"];
        for name in names {
            let mut page = tree("webarea 1\n button 2\n text \"t\"");
            for index in 0..3 {
                page.nodes[index].name = page.intern_masked(name);
                page.nodes[index].value = page.intern_masked(name);
            }
            let (view, rendered) = render(&page, &ViewOptions::default());
            assert_eq!(rendered.text.lines().count(), view.lines.len());
            for line in rendered.text.lines() {
                let line = line.trim_start();
                assert!(
                    ["- webarea \"", "- button \"", "- text: \""]
                        .iter()
                        .any(|it| line.starts_with(it))
                );
                // Outside of quoted strings there is one ref only, the issued one.
                let mut outside = String::new();
                let mut rest = line;
                while let Some(at) = rest.find('"') {
                    outside.push_str(&rest[..at]);
                    let mut values =
                        serde_json::Deserializer::from_str(&rest[at..]).into_iter::<String>();
                    values.next().unwrap().unwrap();
                    rest = &rest[at + values.byte_offset()..];
                }
                outside.push_str(rest);
                let refs = usize::from(line.starts_with("- button"));
                assert_eq!(outside.matches("ref=").count(), refs, "{line}");
                assert!(!outside.contains('…'), "{line}");
            }
        }
    }

    #[test]
    fn hash_does_not_depend_on_earlier_numbers() {
        let page = golden();
        let hash = |first: u32, step: u32| {
            let options = ViewOptions::default();
            let mut next = first;
            let view = view(&page, &options, &mut |_, _| {
                next += step;
                next
            });
            render_with_refs(&page, &view, &options.print).ax_hash()
        };
        assert_eq!(hash(0, 1), "sha256:4d3007de19a36b30");
        assert_eq!(hash(99, 7), "sha256:4d3007de19a36b30");
        assert_eq!(hash(8, 1), "sha256:4d3007de19a36b30");
    }
}
