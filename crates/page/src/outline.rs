//! Outline of a page: its most useful refs in a few lines, for a first visit.

use crate::ax::{RefPolicy, Role, Tree};
use crate::render::{RenderOptions, render_with_refs};
use crate::text;
use crate::tokens::calibrated;
use crate::view::{SequentialRefs, View, ViewLine, ViewOptions, view};
use std::collections::HashMap;

/// Maximum number of listed controls with the same role and name.
const MAX_SAME_NAME: u32 = 2;

/// Maximum number of listed alerts.
const MAX_ALERTS: usize = 2;

/// Maximum length of a listed alert, in bytes.
const MAX_ALERT_LEN: usize = 160;

/// The most useful refs of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// One line for each ref, as in a flat snapshot; empty when there are none.
    pub text: String,
    /// Their nodes.
    pub nodes: Vec<usize>,
}

/// Section of a page that contains a control, the most useful first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OutlineSection {
    Main,
    Plain,
    Search,
    Navigation,
    Aside,
}

/// Lists refs of a page within a token budget: fields and buttons of its main section first, then links
/// there, then search and navigation. `number` returns the ref number of an element.
pub fn outline(tree: &Tree, budget: u32, number: &mut dyn FnMut(u16, u32) -> u32) -> Outline {
    let print = RenderOptions { flat: true, ..RenderOptions::default() };
    let options = ViewOptions {
        policy: RefPolicy::Live { all: false },
        refs_only: true,
        print,
        ..ViewOptions::default()
    };
    // Only listed controls get a real ref.
    let mut temporary = SequentialRefs::default();
    let all = view(tree, &options, &mut |frame, element| temporary.number(frame, element));
    let sections = sections(tree);
    let is_listed = |line: &&ViewLine| {
        line.folded.is_none() && tree.nodes[line.node as usize].role != Role::Option
    };
    let lines: Vec<&ViewLine> = all.lines.iter().filter(is_listed).collect();
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|at| {
        let index = lines[*at].node as usize;
        (sections[index], !is_operable(tree.nodes[index].role), *at)
    });
    let mut text = alerts(tree);
    // Cost of the line that counts the rest.
    const REST_COST: u32 = 12;
    let mut remaining = budget.saturating_sub(REST_COST + calibrated(&text));
    let mut counts: HashMap<(Role, &str), u32> = HashMap::new();
    let mut chosen = Vec::new();
    for at in order {
        let one = View::of_lines(vec![*lines[at]]);
        let cost = calibrated(&render_with_refs(tree, &one, &print).text) + 1;
        let count = counts.entry(role_and_name(tree, lines[at])).or_default();
        // A long name does not keep shorter lines after it out.
        if cost > budget / 4 || *count >= MAX_SAME_NAME {
            continue;
        }
        if cost > remaining {
            break;
        }
        remaining -= cost;
        *count += 1;
        chosen.push(at);
    }
    chosen.sort_unstable();
    let numbered = |at: &usize| {
        let mut line = *lines[*at];
        let node = &tree.nodes[line.node as usize];
        line.number = Some(number(node.frame, node.element));
        line
    };
    let shown = View::of_lines(chosen.iter().map(numbered).collect());
    if !shown.lines.is_empty() {
        text.push_str(&render_with_refs(tree, &shown, &print).text);
        text.push('\n');
    }
    match lines.len() - chosen.len() {
        0 => {}
        1 => text.push_str("… 1 more ref; take a snapshot to see all"),
        more => text.push_str(&format!("… {more} more refs; take a snapshot to see all")),
    }
    let text = text.trim_end().to_owned();
    Outline { text, nodes: shown.lines.iter().map(|line| line.node as usize).collect() }
}

fn role_and_name<'t>(tree: &'t Tree, line: &ViewLine) -> (Role, &'t str) {
    let node = &tree.nodes[line.node as usize];
    let named = line.text.map_or(node, |only| &tree.nodes[only as usize]);
    (node.role, tree.name(named))
}

/// The alert and status messages of a page, such as why a form was refused.
fn alerts(tree: &Tree) -> String {
    let mut text = String::new();
    let messages = (0..tree.nodes.len())
        .filter(|index| matches!(tree.nodes[*index].role, Role::Alert | Role::Status))
        .map(|index| (tree.nodes[index].role, crate::refs::name(tree, index)))
        .filter(|(_, words)| !words.is_empty());
    for (role, words) in messages.take(MAX_ALERTS) {
        text.push_str(role.name());
        text.push(' ');
        text::quote(&mut text, &text::cut(&words, MAX_ALERT_LEN));
        text.push('\n');
    }
    text
}

/// True for controls that are filled in or pressed, rather than followed.
fn is_operable(role: Role) -> bool {
    !matches!(role, Role::Link | Role::Generic | Role::Image | Role::Iframe)
}

fn sections(tree: &Tree) -> Vec<OutlineSection> {
    let has_main = tree.nodes.iter().any(|node| node.role == Role::Main);
    let outside = if has_main { OutlineSection::Plain } else { OutlineSection::Main };
    let mut open: Vec<(usize, OutlineSection)> = Vec::new();
    let section = |index: usize| {
        while open.pop_if(|(end, _)| *end <= index).is_some() {}
        let around = open.last().map(|(_, section)| *section);
        let own = match tree.nodes[index].role {
            Role::Main | Role::Dialog | Role::AlertDialog => Some(OutlineSection::Main),
            // Landmarks within the main section belong to it.
            _ if around == Some(OutlineSection::Main) && has_main => None,
            Role::Search => Some(OutlineSection::Search),
            Role::Navigation | Role::Banner => Some(OutlineSection::Navigation),
            Role::Complementary | Role::ContentInfo => Some(OutlineSection::Aside),
            _ => None,
        };
        let part = own.or(around).unwrap_or(outside);
        open.push((tree.end(index), part));
        part
    };
    (0..tree.nodes.len()).map(section).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ax::testing::tree;

    fn build(page: &str, budget: u32) -> (Outline, Vec<u32>) {
        let tree = tree(page);
        let mut numbers = SequentialRefs::default();
        let outline = outline(&tree, budget, &mut |frame, element| numbers.number(frame, element));
        let elements = outline.nodes.iter().map(|node| tree.nodes[*node].element).collect();
        (outline, elements)
    }

    fn shop(links: u32) -> String {
        let mut page = String::from(
            "webarea 1 \"Shop\"\n banner 2\n  link 3 \"Home\"\n  search 4\n   searchbox 5 \"Search\"\n navigation 6\n  link 7 \"Tents\"\n main 8\n  heading 9 \"All\" l1\n",
        );
        for at in 0..links {
            let element = 100 + at * 2;
            page.push_str(&format!(
                "  . {element}0\n   link {element} \"Thing {at}\"\n   button {} \"Add\"\n",
                element + 1
            ));
        }
        page.push_str("  textbox 10 \"E-mail\"\n  button 11 \"Subscribe\"\n contentinfo 12\n  link 13 \"Imprint\"");
        page
    }

    #[test]
    fn small_page_is_listed_whole_in_document_order() {
        let (outline, elements) = build(&shop(1), 200);
        assert_eq!(elements, [3, 5, 7, 100, 101, 10, 11, 13], "{}", outline.text);
        assert!(!outline.text.contains('…'), "{}", outline.text);
        assert!(outline.text.contains("textbox \"E-mail\"\n"), "{}", outline.text);
    }

    #[test]
    fn main_section_comes_first_on_a_large_page() {
        for budget in [60, 150, 250] {
            let (outline, elements) = build(&shop(60), budget);
            assert!(calibrated(&outline.text) <= budget, "{budget}: {}", outline.text);
            for wanted in [10, 11, 101, 103] {
                assert!(elements.contains(&wanted), "{budget}: {}", outline.text);
            }
            assert!(!elements.contains(&13) && !elements.contains(&105), "{}", outline.text);
            assert!(outline.text.ends_with("take a snapshot to see all"), "{}", outline.text);
        }
    }

    #[test]
    fn alert_comes_first_and_in_quotes() {
        let page = "webarea 1\n alert 2\n  text \"Wrong password\"\n textbox 3 \"User\"";
        let (outline, _) = build(page, 150);
        assert_eq!(outline.text, "alert \"Wrong password\"\n@e1 textbox \"User\"");
    }

    #[test]
    fn page_without_controls_has_no_outline() {
        assert_eq!(build("webarea 1\n text \"Nothing\"", 150).0, Outline::default());
    }
}
