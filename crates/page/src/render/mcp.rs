//! The viewpoint text of the MCP server: a header, then the tree, with states as words in brackets.

use super::{RenderOptions, empty_text};
use crate::ax::{Role, Tree, Tristate};
use crate::hash::field_hash;
use crate::text;
use crate::view::{View, ViewLine};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Maximum length of a printed name, in characters.
const MAX_CHARS: usize = 100;

/// Render options of the viewpoint text.
pub struct McpRender<'a> {
    /// Spells a ref by its number; empty where it has none.
    pub spell: &'a dyn Fn(u32) -> String,
    /// Attributes to print.
    pub print: RenderOptions,
}

/// Renders a view as viewpoint text.
pub fn render_mcp(tree: &Tree, view: &View, options: &McpRender<'_>) -> String {
    let mut out = String::with_capacity(view.lines.len() * 48 + 64);
    let elements = view.element_count(tree);
    let compact = if view.compacted { ", compact mode" } else { "" };
    let _ = write!(out, "Page snapshot ({elements} elements, {} refs{compact})\n\n", view.refs);
    for line in &view.lines {
        push_line(&mut out, tree, line, options);
        out.push('\n');
    }
    if view.lines.is_empty() {
        out.push_str(empty_text(view, &options.print));
        out.push('\n');
    }
    if view.is_empty_page() {
        out.push_str("\n[Note: The page has no accessible content.]\n");
        if let Some(page) = tree.frames.first().filter(|page| page.kind.contains('/')) {
            let _ = writeln!(out, "[Note: It is {}.]", page.kind);
        }
    }
    if view.compacted {
        out.push_str(match view.left_out {
            0 => {
                "\n[Note: Page has many interactive elements. None was left out: allRefs: true gives the \
                 same refs.]\n"
            }
            _ => {
                "\n[Note: Page has many interactive elements. Use browser_snapshot with allRefs: true \
                 for complete refs.]\n"
            }
        });
        if view.left_out > 0 {
            let _ = writeln!(
                out,
                "[Hint: Use allRefs: true to see refs for all interactive elements; {} have none here]",
                view.left_out
            );
        }
    }
    if out.ends_with('\n') {
        out.pop();
    }
    out
}

pub(super) fn push_line(out: &mut String, tree: &Tree, line: &ViewLine, options: &McpRender<'_>) {
    let node = &tree.nodes[line.node as usize];
    let spelled =
        line.number.map(|number| (options.spell)(number)).filter(|spelled| !spelled.is_empty());
    for _ in 0..line.depth {
        out.push_str("  ");
    }
    out.push_str("- ");
    if let Some(folded) = line.folded {
        let _ = write!(out, "… {} more, {} refs", folded.nodes, folded.refs);
        if let Some(spelled) = spelled {
            let _ = write!(out, ", in {spelled}");
        }
        return;
    }
    let is_root = line.node == 0;
    out.push_str(if is_root { "document" } else { node.role.name() });
    let name = limited(tree.name(node), options);
    match line.text {
        Some(only) => {
            out.push_str(": ");
            text::quote(out, &limited(tree.name(&tree.nodes[only as usize]), options));
        }
        None if !name.is_empty() && !is_root => {
            out.push(' ');
            text::quote(out, &name);
        }
        None => {}
    }
    push_states(out, tree, line, options);
    if let Some(spelled) = spelled {
        let _ = write!(out, " [ref={spelled}]");
    }
    if line.has_children {
        out.push(':');
    }
}

fn push_states(out: &mut String, tree: &Tree, line: &ViewLine, options: &McpRender<'_>) {
    let node = &tree.nodes[line.node as usize];
    let mut words: Vec<&str> = Vec::new();
    let mut quoted: Vec<(&str, &str)> = Vec::new();
    let inside = tree.hosted_frame(line.node as usize);
    if inside.is_some() || node.role == Role::Iframe {
        out.push_str(" [frame-boundary]");
        if let Some(frame) = inside {
            if frame.name != tree.name(node) {
                quoted.push(("frame", &frame.name));
            }
            quoted.push(("origin", &frame.origin));
        }
    }
    let states = node.states;
    words.extend(states.is_silent().then_some("no answer"));
    words.extend(states.is_cut().then_some("cut"));
    words.extend(states.is_disabled().then_some("disabled"));
    words.extend(node.is_generic_editor().then_some("editable"));
    words.extend(node.expanded.map(|is| if is { "expanded" } else { "collapsed" }));
    words.extend(states.is_selected().then_some("selected"));
    words.extend(node.checked.map(|toggle| match toggle {
        Tristate::On => "checked",
        Tristate::Off => "unchecked",
        Tristate::Mixed => "mixed",
    }));
    words.extend(match node.pressed {
        Some(Tristate::On) => Some("pressed"),
        Some(Tristate::Mixed) => Some("mixed"),
        _ => None,
    });
    for word in words {
        let _ = write!(out, " ({word})");
    }
    // The specification's example prints a heading of level 1 without its level.
    if node.level > u16::from(node.role == Role::Heading) {
        let _ = write!(out, " (level {})", node.level);
    }
    quoted.push(("value", tree.value(node)));
    if let Some(extra) = tree.extra(node) {
        quoted.push(("popup", tree.str(extra.popup)));
        quoted.push(("kind", tree.str(extra.kind)));
        quoted.push(("hidden", tree.str(extra.why_hidden)));
        if options.print.urls {
            quoted.push(("url", tree.str(extra.url)));
        }
    }
    for (key, value) in quoted {
        if value.is_empty() {
            continue;
        }
        let _ = write!(out, " ({key}: ");
        match key {
            "origin" | "hidden" | "popup" | "kind" => {
                text::quote(out, &text::cut_chars(value, MAX_CHARS));
            }
            _ => text::quote(out, &limited(value, options)),
        }
        out.push(')');
    }
    if let Some(bounds) =
        tree.extra(node).and_then(|extra| extra.bounds).filter(|_| options.print.boxes)
    {
        let [x, y, width, height] =
            [bounds.x, bounds.y, bounds.width, bounds.height].map(|side| side.round() as i64);
        let _ = write!(out, " (box: {x},{y},{width},{height})");
    }
}

fn limited<'t>(raw: &'t str, options: &McpRender<'_>) -> Cow<'t, str> {
    let limit = if options.print.unlimited_names { usize::MAX } else { MAX_CHARS };
    let text = text::cut_chars(raw, limit);
    if options.print.redact && !text.is_empty() {
        return Cow::Owned(format!("[redacted:{}]", field_hash(&text)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ax::RefPolicy;
    use crate::ax::testing::tree;
    use crate::view::{ViewOptions, view};

    fn render(page: &Tree) -> String {
        let options = ViewOptions {
            policy: RefPolicy::Live { all: false },
            max_depth: u32::MAX,
            ..ViewOptions::default()
        };
        let view =
            view(page, &options, &mut |frame, element| u32::from(frame) * 1_000_000 + element);
        let spell = |number: u32| match number / 1_000_000 {
            0 => format!("e{number}"),
            frame => format!("f{frame}e{}", number % 1_000_000),
        };
        render_mcp(page, &view, &McpRender { spell: &spell, print: options.print })
    }

    fn check(page: &str, expected: &str) {
        assert_eq!(render(&tree(page)), expected, "{page}");
    }

    #[test]
    fn example_of_the_specification_is_reproduced() {
        check(
            "webarea 1 \"Title\"\n heading 2 \"Welcome\" l1\n  text \"Welcome\"\n \
             button 12345 \"Sign In\"\n textbox 12346 \"Email\"",
            "Page snapshot (4 elements, 2 refs)\n\n- document:\n  - heading \"Welcome\"\n  \
             - button \"Sign In\" [ref=e12345]\n  - textbox \"Email\" [ref=e12346]",
        );
    }

    #[test]
    fn page_without_content_has_a_note() {
        let expected = "Page snapshot (1 elements, 0 refs)\n\n- document\n\n\
            [Note: The page has no accessible content.]";
        check("webarea 1 \"Title\"", expected);
        assert_eq!(render(&Tree::default()), expected.replacen('1', "0", 1));
    }

    #[test]
    fn states_are_words_in_brackets() {
        check(
            "webarea 1\n checkbox 2 c1 fd\n checkbox 3 c0\n checkbox 4 cm\n button 5 p1 x0\n \
             button 6 x1\n heading 7 \"h\" l2\n tab 8 fs\n textbox 9 v=\"a b\"",
            "Page snapshot (9 elements, 7 refs)\n\n- document:\n  - checkbox (disabled) (checked) [ref=e2]\n  \
             - checkbox (unchecked) [ref=e3]\n  - checkbox (mixed) [ref=e4]\n  \
             - button (collapsed) (pressed) [ref=e5]\n  - button (expanded) [ref=e6]\n  \
             - heading \"h\" (level 2)\n  - tab (selected) [ref=e8]\n  - textbox (value: \"a b\") [ref=e9]",
        );
    }

    #[test]
    fn frames_are_marked_with_name_and_origin() {
        check(
            "webarea 1\n iframe 2 \"pay\"\n  webarea 1 #1\n   button 2 #1 \"Pay\"\n iframe 3 fq",
            "Page snapshot (5 elements, 1 refs)\n\n- document:\n  - iframe \"pay\" [frame-boundary] \
             (origin: \"https://f1.test\"):\n    - webarea:\n      - button \"Pay\" [ref=f1e2]\n  \
             - iframe [frame-boundary] (no answer)",
        );
    }

    #[test]
    fn names_are_truncated_at_100_characters() {
        let mut page = tree("webarea 1\n button 2");
        page.nodes[1].name = page.intern_masked(&"é".repeat(100));
        assert!(render(&page).contains(&format!("button \"{}\"", "é".repeat(100))));
        page.nodes[1].name = page.intern_masked(&"é".repeat(101));
        assert!(render(&page).contains(&format!("button \"{}...\"", "é".repeat(97))));
    }

    #[test]
    fn many_refs_are_noted() {
        let mut page = String::from("webarea 1\n button 2\n listbox 3");
        for option in 0..100 {
            page.push_str(&format!("\n  option {}", option + 4));
        }
        let text = render(&tree(&page));
        assert!(text.starts_with("Page snapshot (103 elements, 1 refs, compact mode)"), "{text}");
        // Only the refs are left out.
        assert_eq!(text.matches("    - option\n").count(), 100, "{text}");
        assert!(text.contains("with allRefs: true for complete refs.]"), "{text}");
        assert!(text.contains("; 100 have none here]"), "{text}");
    }
}
