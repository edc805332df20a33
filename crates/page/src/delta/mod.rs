//! Deltas: the differences between two snapshots of a tab, in a few lines.
//!
//! ```text
//! @ dialog "Settings"
//! ~ heading "New" [level=1] (was "Old")
//! + button "Save" [ref=@e9]
//! - removed button "Send" [ref=@e3]
//! ```
//!
//! Content hidden by a modal dialog is not removed, and content that reappears when it closes is not added:
//! each is one line.

mod items;
mod line_matches;
#[cfg(test)]
mod list_tests;
mod lists;
mod write;

use crate::ax::{Role, Tree, is_control};
use crate::render::{RenderOptions, printed_name, push_attributes};
use crate::text;
use crate::view::{View, ViewLine};
use items::{Matches, match_items};
use line_matches::{match_lines, moved};
use lists::list_notes;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;
use write::DeltaWriter;

/// Limit in UTF-16 units for an earlier name and for a container's name.
const BRIEF: usize = 80;

/// Base of a delta: the lines of an earlier snapshot.
#[derive(Clone, Debug)]
pub struct DeltaBase {
    tree: Arc<Tree>,
    options: RenderOptions,
    documents: Vec<String>,
    /// The lines of the snapshot, then those behind a dialog.
    lines: Vec<DeltaLine>,
    /// Number of lines of the snapshot itself.
    line_count: usize,
    /// The nodes of the covering modal dialog.
    modal: Option<Range<usize>>,
    text: String,
}

#[derive(Clone, Copy, Debug)]
struct DeltaLine {
    role: Role,
    depth: u32,
    /// The parent line; itself if there is none.
    parent: u32,
    document: u16,
    element: u32,
    number: Option<u32>,
    is_folded: bool,
    /// Its node, the end of its parent's nodes, and the nearest landmark or live region around it that
    /// headings before that do not head; 0 if there is none.
    node: u32,
    section_end: u32,
    landmark: u32,
    /// It is announced: a dialog, an alert, a status, or inside one.
    is_announced: bool,
    /// Starts of the name and of the attributes in the text, and the end of both.
    name: u32,
    attributes: u32,
    end: u32,
}

impl DeltaBase {
    /// Builds the delta base of a rendered view.
    pub fn new(tree: &Arc<Tree>, view: &View, options: &RenderOptions) -> Self {
        let mut page = Self {
            tree: tree.clone(),
            options: *options,
            documents: tree.frames.iter().map(|frame| frame.document.clone()).collect(),
            lines: Vec::with_capacity(view.lines.len()),
            line_count: 0,
            modal: modal(tree),
            text: String::new(),
        };
        let positions = positions(tree);
        let mut open: Vec<u32> = Vec::new();
        for (at, line) in view.lines.iter().enumerate() {
            while open.pop_if(|last| page.lines[*last as usize].depth >= line.depth).is_some() {}
            let parent = open.last().copied().unwrap_or(at as u32);
            page.push(tree, line, parent, positions[line.node as usize], options);
            open.push(at as u32);
        }
        page.line_count = page.lines.len();
        page
    }

    /// Adds the lines of the page as it was before a dialog covered it.
    pub fn add_covered_page(&mut self, covered: &Self) {
        if self.modal.is_none() {
            return;
        }
        let mut by_element: HashMap<(String, u32), u32> = HashMap::new();
        for (at, line) in self.lines.iter().enumerate().filter(|(_, line)| !Self::is_text(line)) {
            by_element.entry((self.document(line).to_owned(), line.element)).or_insert(at as u32);
        }
        let offset = self.documents.len() as u16;
        let base = self.text.len() as u32;
        self.documents.extend_from_slice(&covered.documents);
        self.text.push_str(&covered.text);
        let mut copied = Vec::with_capacity(covered.lines.len());
        for line in &covered.lines[..covered.line_count] {
            let existing = (!Self::is_text(line))
                .then(|| by_element.get(&(covered.document(line).to_owned(), line.element)))
                .flatten();
            let at = existing.copied().unwrap_or(self.lines.len() as u32);
            copied.push(at);
            if existing.is_none() {
                self.lines.push(DeltaLine {
                    parent: copied[line.parent as usize],
                    document: line.document + offset,
                    name: line.name + base,
                    attributes: line.attributes + base,
                    end: line.end + base,
                    ..*line
                });
            }
        }
    }

    fn push(
        &mut self,
        tree: &Tree,
        line: &ViewLine,
        parent: u32,
        position: LinePosition,
        options: &RenderOptions,
    ) {
        let node = &tree.nodes[line.node as usize];
        let name = self.text.len() as u32;
        let mut attributes = name;
        if let Some(folded) = line.folded {
            let _ = write!(self.text, "… {} more, {} refs", folded.nodes, folded.refs);
            attributes = self.text.len() as u32;
        } else {
            let named = printed_name(tree, line.text.unwrap_or(line.node), options);
            if !named.is_empty() {
                text::quote(&mut self.text, &named);
                attributes = self.text.len() as u32;
            }
            // All attributes but the ref itself, which is compared separately.
            push_attributes(&mut self.text, tree, line, &RenderOptions { flat: true, ..*options });
        }
        self.lines.push(DeltaLine {
            role: node.role,
            depth: line.depth,
            parent,
            document: node.frame,
            element: node.element,
            number: line.number,
            is_folded: line.folded.is_some(),
            node: line.node,
            section_end: position.section_end,
            landmark: position.landmark,
            is_announced: position.is_announced,
            name,
            attributes,
            end: self.text.len() as u32,
        });
    }

    fn document(&self, line: &DeltaLine) -> &str {
        self.documents.get(line.document as usize).map_or("", String::as_str)
    }

    fn name(&self, line: &DeltaLine) -> &str {
        &self.text[line.name as usize..line.attributes as usize]
    }

    fn attributes(&self, line: &DeltaLine) -> &str {
        &self.text[line.attributes as usize..line.end as usize]
    }

    /// The range of lines of a range of nodes, without those behind a dialog.
    fn lines_of(&self, nodes: &Range<usize>) -> Range<usize> {
        let lines = &self.lines[..self.line_count];
        let before = |node: usize| lines.partition_point(|line| (line.node as usize) < node);
        before(nodes.start)..before(nodes.end)
    }

    /// Role, name and attributes of a line, without its ref.
    fn content(&self, line: &DeltaLine) -> (Role, &str) {
        (line.role, &self.text[line.name as usize..line.end as usize])
    }

    /// True when an earlier line is the heading of the section that contains a line.
    fn is_headed_by(&self, at: usize, before: usize) -> bool {
        let (line, heading) = (&self.lines[at], &self.lines[before]);
        heading.role == Role::Heading
            && line.node < heading.section_end
            && line.landmark <= heading.node
    }

    fn is_text(line: &DeltaLine) -> bool {
        line.role == Role::Text || line.is_folded
    }
}

/// True when a modal dialog covers the whole page.
pub fn is_covered_by_modal(tree: &Tree) -> bool {
    modal(tree).is_some()
}

/// The nodes of the covering modal dialog: all other content is in live regions.
fn modal(tree: &Tree) -> Option<Range<usize>> {
    const MAX_MODALS: usize = 4;
    let is_modal = |index: &usize| tree.nodes[*index].states.is_modal();
    let all = (1..tree.nodes.len()).filter(is_modal).map(|index| index..tree.end(index));
    let covers_page = |modal: &Range<usize>| {
        let mut index = 0;
        while index < tree.nodes.len() {
            let node = &tree.nodes[index];
            if index == modal.start || is_live(node.role) {
                index = tree.end(index);
                continue;
            }
            let contains_modal = index < modal.start && tree.end(index) >= modal.end;
            let is_content = node.role == Role::Text && !text::is_blank(tree.name(node));
            if !contains_modal && (is_content || is_control(node)) {
                return false;
            }
            index += 1;
        }
        true
    };
    all.take(MAX_MODALS).find(covers_page)
}

/// Roles of live regions.
fn is_live(role: Role) -> bool {
    matches!(role, Role::Alert | Role::Status | Role::Log | Role::Timer | Role::Marquee)
}

/// Position of a node relative to headings.
#[derive(Clone, Copy)]
struct LinePosition {
    section_end: u32,
    landmark: u32,
    is_announced: bool,
}

fn positions(tree: &Tree) -> Vec<LinePosition> {
    let mut open: Vec<(Range<usize>, LinePosition)> = Vec::new();
    let position = |index: usize| {
        while open.pop_if(|(range, _)| range.end <= index).is_some() {}
        let mut range = index..tree.end(index);
        // A box around a heading alone counts as the heading.
        let has_more_content = |outer: &&(Range<usize>, LinePosition)| {
            let is_only = outer.0.start + 1 == range.start && outer.0.end == range.end;
            if is_only {
                range = outer.0.clone();
            }
            !is_only
        };
        let section_end =
            open.iter().rev().find(has_more_content).map_or(range.end, |(outer, _)| outer.end);
        let outer = open.last().map(|(_, position)| *position);
        let role = tree.nodes[index].role;
        let position = LinePosition {
            section_end: section_end as u32,
            landmark: if is_landmark_or_live(role) {
                index as u32
            } else {
                outer.map_or(0, |it| it.landmark)
            },
            is_announced: match is_landmark_or_live(role) {
                true => is_live(role) || matches!(role, Role::Dialog | Role::AlertDialog),
                false => outer.is_some_and(|it| it.is_announced),
            },
        };
        open.push((index..tree.end(index), position));
        position
    };
    (0..tree.nodes.len()).map(position).collect()
}

/// Roles of landmarks and live regions, which a heading before them does not head.
fn is_landmark_or_live(role: Role) -> bool {
    is_live(role)
        || matches!(
            role,
            Role::Dialog
                | Role::AlertDialog
                | Role::Tooltip
                | Role::Main
                | Role::Banner
                | Role::Navigation
                | Role::Complementary
                | Role::ContentInfo
                | Role::WebArea
        )
}

/// The differences between two snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// The lines of the delta; `no change` if there are none.
    pub text: String,
    /// Number of added lines.
    pub added: u32,
    /// Number of removed lines.
    pub removed: u32,
    /// Number of changed lines.
    pub changed: u32,
    /// Number of lines with another position among the same siblings, or with another parent.
    pub moved: u32,
    /// Most of the page changed, so the text is the whole page.
    pub is_full: bool,
    /// The reported lines of the later page, each with its line number in the text, counted from 1.
    pub reported: Vec<(u32, u32)>,
    /// Rank of each line of the text.
    ranks: Vec<Rank>,
}

impl Delta {
    /// Shortens the text to a number of lines, by rank, and returns it with the lines of the later page in
    /// it.
    pub fn brief(&self, limit: usize) -> (String, Vec<u32>) {
        let lines: Vec<&str> = self.text.lines().collect();
        if lines.len() <= limit {
            return (self.text.clone(), self.reported.iter().map(|(at, _)| *at).collect());
        }
        let rank = |at: usize| self.ranks.get(at).copied().unwrap_or_default();
        let mut is_included = vec![false; lines.len()];
        let mut lines_left = limit;
        let mut by_rank: Vec<usize> = (0..lines.len()).collect();
        by_rank.sort_by_key(|at| (rank(*at), *at));
        for at in by_rank.into_iter().filter(|at| rank(*at) != Rank::Location) {
            // The location line is included with its content.
            let location = (0..at).rev().find(|at| rank(*at) == Rank::Location);
            let location =
                location.filter(|it| !is_included[*it] && lines[at].starts_with(['+', '~']));
            let cost = 1 + usize::from(location.is_some());
            if cost > lines_left {
                break;
            }
            lines_left -= cost;
            is_included[at] = true;
            location.into_iter().for_each(|at| is_included[at] = true);
        }
        let included = lines
            .iter()
            .zip(&is_included)
            .filter(|(_, is_included)| **is_included)
            .map(|(line, _)| *line);
        let mut text = included.collect::<Vec<_>>().join("\n");
        let more = is_included.iter().filter(|is_included| !**is_included).count();
        let _ = write!(text, "\n… {more} more lines; take a snapshot to see all");
        let is_reported =
            |(_, line): &&(u32, u32)| is_included.get(*line as usize - 1) == Some(&true);
        (text, self.reported.iter().filter(is_reported).map(|(at, _)| *at).collect())
    }
}

/// Importance of a line of a delta, highest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// A dialog, an alert or a status.
    Announced,
    /// An added line.
    Added,
    /// A changed line.
    #[default]
    Changed,
    /// A removed or moved line.
    Removed,
    /// The location of the lines after it.
    Location,
}

/// Computes the delta between two snapshots. `full` is the text of the later one, which replaces a longer
/// delta.
pub fn delta(was: &DeltaBase, now: &DeltaBase, full: &str) -> Delta {
    let mut delta = changes(was, now);
    if delta.text.is_empty() {
        delta.text.push_str("no change");
    } else if delta.text.len() >= full.len() {
        delta.text = format!("most of the page changed; full snapshot:\n{full}");
        delta.is_full = true;
    }
    delta
}

/// Computes the delta whatever its length; empty when nothing changed.
pub fn changes(was: &DeltaBase, now: &DeltaBase) -> Delta {
    let mut pairs = match_lines(was, now);
    let matches = match_lists(was, now, &pairs);
    pairs.apply_item_matches(was, now, &matches);
    let lists = list_notes(was, now, &pairs, &matches);
    let mut delta = Delta::default();
    let mut out = DeltaWriter::default();
    let mut uncovered = 0;
    let mut renumbered = 0;
    for (at, line) in now.lines.iter().enumerate() {
        let Some(before) = pairs.was[at] else {
            delta.added += 1;
            if lists.is_added[at] {
                continue;
            }
            out.added(now, at, &pairs.was);
            delta.reported.push((at as u32, out.ranks.len() as u32));
            continue;
        };
        uncovered += u32::from(before as usize >= was.line_count);
        let old = &was.lines[before as usize];
        if was.content(old) == now.content(line) {
            renumbered += u32::from(line.number.is_some() && line.number != old.number);
        } else {
            delta.changed += 1;
            out.changed(was, old, now, at);
            delta.reported.push((at as u32, out.ranks.len() as u32));
        }
    }
    if uncovered > 0 {
        out.note(
            Rank::Announced,
            &format!("+ the page behind the dialog is back: {}", line_count_text(uncovered)),
        );
    }
    for (rank, note) in &lists.notes {
        out.note(*rank, note);
    }
    let moved = moved(was, now, &pairs).iter().filter(|at| !lists.is_moved[**at as usize]).count();
    if moved > 0 {
        out.note(Rank::Removed, &format!("~ {moved} lines moved"));
    }
    delta.moved = lists.moved + moved as u32;
    if renumbered > 0 {
        let elements = if renumbered == 1 { "element has" } else { "elements have" };
        out.note(Rank::Removed, &format!("~ {renumbered} {elements} other refs now"));
    }
    // Content hidden by a dialog is not removed.
    let is_hidden = |at: usize| match at >= was.line_count {
        true => now.modal.is_some(),
        false => now.modal.is_some() && was.modal.is_none(),
    };
    // Descendants of a removed line are counted in its line and not reported.
    let mut descendants = vec![0_u32; was.lines.len()];
    for (at, line) in was.lines.iter().enumerate().rev() {
        let parent = line.parent as usize;
        if pairs.now[at].is_none() && parent != at && pairs.now[parent].is_none() {
            descendants[parent] += descendants[at] + 1;
        }
    }
    let mut hidden = 0;
    for (at, line) in was.lines.iter().enumerate() {
        if pairs.now[at].is_some() {
            continue;
        }
        if is_hidden(at) {
            hidden += u32::from(at < was.line_count);
            continue;
        }
        delta.removed += 1;
        if lists.is_removed[at] {
            continue;
        }
        let parent = line.parent as usize;
        if parent == at || pairs.now[parent].is_some() {
            out.removed(was, at, descendants[at]);
        }
    }
    if hidden > 0 {
        out.note(Rank::Announced, &format!("- behind the dialog now: {}", line_count_text(hidden)));
    }
    delta.text = out.text;
    delta.text.pop();
    delta.ranks = out.ranks;
    delta
}

/// Matches the items of lists where there is more than one difference; a single difference is unambiguous.
fn match_lists(was: &DeltaBase, now: &DeltaBase, pairs: &line_matches::LineMatches) -> Matches {
    // Content covered or uncovered by a dialog is not compared item by item.
    if was.modal.is_some() != now.modal.is_some() {
        return Matches::default();
    }
    let changed = now.lines.iter().enumerate().filter(|(at, line)| {
        let before = pairs.was[*at].map(|before| &was.lines[before as usize]);
        before.is_none_or(|before| was.content(before) != now.content(line))
    });
    let removed = pairs.now[..was.line_count].iter().filter(|now| now.is_none());
    let moved = moved(was, now, pairs);
    match moved.is_empty() && changed.take(2).count() + removed.take(2).count() < 2 {
        true => Matches::default(),
        false => match_items(was, now, pairs, &moved),
    }
}

fn line_count_text(lines: u32) -> String {
    format!("{lines} {}", if lines == 1 { "line" } else { "lines" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ax::RefPolicy;
    use crate::ax::testing::tree;
    use crate::render::render_cli;
    use crate::tokens::calibrated;
    use crate::view::{SequentialRefs, ViewOptions, view};

    fn compare(was: &str, now: &str) -> Delta {
        compare_with_policy(RefPolicy::WebAi, was, now)
    }

    pub(super) fn compare_live(was: &str, now: &str) -> Delta {
        compare_with_policy(RefPolicy::Live { all: false }, was, now)
    }

    fn compare_with_policy(policy: RefPolicy, was: &str, now: &str) -> Delta {
        let mut numbers = SequentialRefs::default();
        let mut base_of = |page: &str| {
            let tree = tree(page);
            let options = ViewOptions { policy, ..ViewOptions::default() };
            let view = view(&tree, &options, &mut |frame, element| numbers.number(frame, element));
            let text = render_cli(&tree, &view, &options.print);
            (DeltaBase::new(&Arc::new(tree), &view, &options.print), text)
        };
        let (was, _) = base_of(was);
        let (now, full) = base_of(now);
        delta(&was, &now, &full)
    }

    const PAGE: &str = "webarea 1 \"Shop\"\n heading 2 \"Old\" l1\n text \"some words to make it long\"\n \
        button 3 \"Buy this now\"\n button 4 \"Keep it\"\n text \"more words at the end of it\"\n \
        text \"and even more words after that\"";

    fn check(now: &str, expected: &str) {
        assert_eq!(compare(PAGE, now).text, expected, "{now}");
    }

    #[test]
    fn equal_pages_have_no_change() {
        check(PAGE, "no change");
    }

    #[test]
    fn changed_heading_costs_few_tokens() {
        let now = PAGE.replace("\"Old\"", "\"New\"");
        check(&now, "~ heading \"New\" [level=1] (was \"Old\")");
        assert!(calibrated(&compare(PAGE, &now).text) < 60);
        let (old, new) = ("Hi, I am the old heading.", "Hi, I am the new heading.");
        let page = |name: &str| {
            format!(
                "webarea 1 \"Page\"\n text \"some words to make it long enough\"\n text \"and some more of them after that one\"\n heading 2 \"{name}\" l1\n  link 3 \"{name}\""
            )
        };
        let delta = compare(&page(old), &page(new)).text;
        assert_eq!(delta.lines().count(), 2, "{delta}");
        assert!(calibrated(&delta) < 60, "{delta}");
    }

    #[test]
    fn added_removed_and_changed_lines_are_reported() {
        check(
            &PAGE.replace("\n button 4 \"Keep it\"", "\n dialog 9 \"Sure?\"\n  button 8 \"Yes\""),
            "+ dialog \"Sure?\"\n+   button \"Yes\" [ref=@e3]\n\
             - removed button \"Keep it\" [ref=@e2]",
        );
        check(
            &PAGE.replace("\"Keep it\"", "\"Keep it\" fd"),
            "@ heading \"Old\" [level=1]\n~ button \"Keep it\" [ref=@e2 disabled=true] (was [])",
        );
        check(
            &PAGE.replace(" text \"more", " text \"a new line\"\n text \"more"),
            "@ heading \"Old\" [level=1]\n+ text \"a new line\"",
        );
        check(
            &PAGE.replace("more words at the end of it", "other words"),
            "@ heading \"Old\" [level=1]\n~ text \"other words\" (was \"more words at the end of it\")",
        );
    }

    #[test]
    fn other_page_is_reported_in_full() {
        let delta = compare(PAGE, "webarea 100\n button 200 \"Only\"");
        assert!(delta.is_full);
        assert!(
            delta.text.ends_with("- webarea:\n  - button \"Only\" [ref=@e3]"),
            "{}",
            delta.text
        );
    }

    #[test]
    fn reordered_list_is_one_line() {
        let page = |from: u32, step: u32| {
            let mut page = String::from("webarea 1");
            for item in 0..20_000 {
                let number = (from + item * step) % 20_000 + 2;
                page.push_str(&format!("\n button {number} \"b{number}\""));
            }
            page
        };
        let delta = compare(&page(0, 1), &page(19_999, 19_999));
        let expected =
            "~ order changed: \"b20001\", \"b20000\", \"b19999\", \"b19998\", \"b19997\", …";
        assert_eq!(delta.text, expected);
        assert!(delta.moved > 10_000);
    }

    #[test]
    fn removed_subtree_is_one_line() {
        let now = "webarea 1\n button 9 \"stays\"\n text \"and is long enough to compare\"";
        let was = format!("{now}\n dialog 2 \"D\"\n  button 3 \"a\"\n  button 4 \"b\"");
        let delta = compare(&was, now);
        assert_eq!((delta.text.as_str(), delta.removed), ("- removed dialog \"D\" and 2 in it", 3));
    }

    #[test]
    fn heading_locates_content_of_its_section_only() {
        let (head, tail) = (
            "webarea 1\n . 2\n  heading 3 \"FAQ one\" l2\n  button 4 \"Ask about it\"\n",
            " text \"some more words to make it long\"",
        );
        for (new, expected) in [
            ("  text \"inside\"\n", "@ heading \"FAQ one\" [level=2]\n+ text \"inside\""),
            (" text \"outside\"\n", "+ text \"outside\""),
            ("  dialog 9 \"D\"\n", "+ dialog \"D\""),
            ("  status 9\n   text \"Saved\"\n", "+ text \"Saved\""),
        ] {
            let delta = compare(&format!("{head}{tail}"), &format!("{head}{new}{tail}"));
            assert_eq!(delta.text, expected, "{new}");
        }
    }

    #[test]
    fn text_that_became_clickable_is_a_changed_line() {
        let page = |user: &str| {
            format!(
                "webarea 1\n button 3 \"Load\"\n . 4\n  . 5{user}\n   text \"User\"\n text \"long enough\""
            )
        };
        let delta = compare_live(&page(""), &page(" fl"));
        assert_eq!(delta.text, "~ generic \"User\" [ref=@e2] (was text)");
        assert_eq!((delta.added, delta.removed, delta.changed), (0, 0, 1));
    }

    /// A page, and the page with a dialog that covers it.
    fn page_and_dialog(lines: u32) -> (String, String) {
        let mut page = String::from("webarea 1");
        for line in 0..lines {
            page.push_str(&format!("\n button {} \"b{line}\"", line + 10));
        }
        (page, "webarea 1\n dialog 2 \"Sure?\" fm\n  button 3 \"Yes\"".into())
    }

    #[test]
    fn page_covered_or_uncovered_by_a_dialog_is_one_line() {
        let (page, dialog) = page_and_dialog(60);
        let opened = changes(&delta_base(&page), &delta_base(&dialog));
        assert_eq!(
            opened.text,
            "+ dialog \"Sure?\"\n+   button \"Yes\" [ref=@e1]\n- behind the dialog now: 60 lines"
        );
        let mut was = delta_base(&dialog);
        was.add_covered_page(&delta_base(&page));
        assert_eq!(changes(&was, &delta_base(&dialog)).text, "");
        let toast = page.replace("\"b3\"", "\"b3 new\"") + "\n text \"Saved\"";
        let closed = changes(&was, &delta_base(&toast));
        assert_eq!(
            closed.text,
            "~ button \"b3 new\" [ref=@e4] (was \"b3\")\n+ text \"Saved\"\n\
             + the page behind the dialog is back: 60 lines\n\
             - removed dialog \"Sure?\" and 1 in it"
        );
        // Where the rest of the page is still in the tree, missing lines are removed.
        let both = "webarea 1\n button 10 \"b0\"\n dialog 2 \"Sure?\" fm\n  button 3 \"Yes\"";
        let text = changes(&delta_base(&page), &delta_base(both)).text;
        assert!(!text.contains("behind") && text.contains("- 59 of 60 items: \"b1\""), "{text}");
    }

    #[test]
    fn brief_ranks_announced_and_added_lines_first() {
        let (page, _) = page_and_dialog(60);
        let now =
            page.replace(" \"b", " \"c") + "\n alert 5\n  text \"Failed\"\n text \"New words\"";
        let delta = changes(&delta_base(&page), &delta_base(&now));
        let (text, reported) = delta.brief(10);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 11, "{text}");
        assert_eq!(
            &lines[8..],
            [
                "+ text \"Failed\"",
                "+ text \"New words\"",
                "… 52 more lines; take a snapshot to see all"
            ]
        );
        assert_eq!(reported.len(), 10);
    }

    /// Two pages with refs of one tab.
    pub(super) fn delta_bases(was: &str, now: &str) -> (DeltaBase, DeltaBase) {
        let mut numbers = SequentialRefs::default();
        let mut base_of = |page: &str| {
            let (tree, policy) = (tree(page), RefPolicy::Live { all: false });
            let options = ViewOptions { policy, ..ViewOptions::default() };
            let view = view(&tree, &options, &mut |frame, element| numbers.number(frame, element));
            DeltaBase::new(&Arc::new(tree), &view, &options.print)
        };
        (base_of(was), base_of(now))
    }

    fn delta_base(page: &str) -> DeltaBase {
        let (tree, options) = (tree(page), ViewOptions::default());
        let mut numbers = SequentialRefs::default();
        let view = view(&tree, &options, &mut |frame, element| numbers.number(frame, element));
        DeltaBase::new(&Arc::new(tree), &view, &options.print)
    }
}
