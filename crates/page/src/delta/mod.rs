//! What changed between two snapshots of a tab, in a few lines.
//!
//! ```text
//! @ dialog "Settings"
//! ~ heading "New" [level=1] (was "Old")
//! + button "Save" [ref=@e9]
//! - removed button "Send" [ref=@e3]
//! ```
//!
//! What a modal dialog hides is not gone, and what comes back when it closes is not new: both are one line.

mod items;
mod line_matches;
#[cfg(test)]
mod list_tests;
mod lists;
mod write;

use crate::ax::{Role, Tree, is_control};
use crate::render::{RenderOptions, push_attributes, shown_name};
use crate::text;
use crate::view::{View, ViewLine};
use items::{Matches, match_items};
use line_matches::{moved, pair};
use lists::list_notes;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;
use write::DeltaWriter;

/// The units of an earlier name and of a container's name that are told.
const BRIEF: usize = 80;

/// What was shown, as far as a later snapshot is compared with it.
#[derive(Clone, Debug)]
pub struct DeltaBase {
    tree: Arc<Tree>,
    print: RenderOptions,
    documents: Vec<String>,
    /// Those that are shown, then those that are behind a dialog.
    lines: Vec<DeltaLine>,
    /// How many are shown.
    shown: usize,
    /// The nodes of the dialog that everything else waits for.
    modal: Option<Range<usize>>,
    text: String,
}

#[derive(Clone, Copy, Debug)]
struct DeltaLine {
    role: Role,
    depth: u32,
    /// The line it is in; itself if there is none.
    parent: u32,
    document: u16,
    element: u32,
    number: Option<u32>,
    is_folded: bool,
    /// Its node, where what its parent holds ends, and the nearest part of the page around it that no heading before
    /// that part speaks of; 0 if there is none.
    node: u32,
    until: u32,
    apart: u32,
    /// It speaks up: a dialog, an alert, a status, or what is in one.
    is_loud: bool,
    /// Where its name, then its attributes begin in the text, and where they end.
    name: u32,
    attributes: u32,
    end: u32,
}

impl DeltaBase {
    /// Remembers what is shown.
    pub fn new(tree: &Arc<Tree>, view: &View, print: &RenderOptions) -> Self {
        let mut page = Self {
            tree: tree.clone(),
            print: *print,
            documents: tree.frames.iter().map(|frame| frame.document.clone()).collect(),
            lines: Vec::with_capacity(view.lines.len()),
            shown: 0,
            modal: modal(tree),
            text: String::new(),
        };
        let places = places(tree);
        let mut open: Vec<u32> = Vec::new();
        for (at, line) in view.lines.iter().enumerate() {
            while open.pop_if(|last| page.lines[*last as usize].depth >= line.depth).is_some() {}
            let parent = open.last().copied().unwrap_or(at as u32);
            page.push(tree, line, parent, places[line.node as usize], print);
            open.push(at as u32);
        }
        page.shown = page.lines.len();
        page
    }

    /// Adds what was shown before a dialog came, and is behind it while that is there.
    pub fn put_behind(&mut self, behind: &Self) {
        if self.modal.is_none() {
            return;
        }
        let mut known: HashMap<(String, u32), u32> = HashMap::new();
        for (at, line) in self.lines.iter().enumerate().filter(|(_, line)| !Self::is_text(line)) {
            known.entry((self.document(line).to_owned(), line.element)).or_insert(at as u32);
        }
        let offset = self.documents.len() as u16;
        let base = self.text.len() as u32;
        self.documents.extend_from_slice(&behind.documents);
        self.text.push_str(&behind.text);
        let mut places = Vec::with_capacity(behind.lines.len());
        for line in &behind.lines[..behind.shown] {
            let here = (!Self::is_text(line))
                .then(|| known.get(&(behind.document(line).to_owned(), line.element)))
                .flatten();
            let at = here.copied().unwrap_or(self.lines.len() as u32);
            places.push(at);
            if here.is_none() {
                self.lines.push(DeltaLine {
                    parent: places[line.parent as usize],
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
        place: LinePosition,
        print: &RenderOptions,
    ) {
        let node = &tree.nodes[line.node as usize];
        let name = self.text.len() as u32;
        let mut attributes = name;
        if let Some(folded) = line.folded {
            let _ = write!(self.text, "… {} more, {} refs", folded.nodes, folded.refs);
            attributes = self.text.len() as u32;
        } else {
            let named = shown_name(tree, line.text.unwrap_or(line.node), print);
            if !named.is_empty() {
                text::quote(&mut self.text, &named);
                attributes = self.text.len() as u32;
            }
            // All but the ref itself, which is told apart.
            push_attributes(&mut self.text, tree, line, &RenderOptions { flat: true, ..*print });
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
            until: place.until,
            apart: place.apart,
            is_loud: place.is_loud,
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

    /// The lines of a range of nodes, apart from those behind a dialog.
    fn lines_of(&self, nodes: &Range<usize>) -> Range<usize> {
        let lines = &self.lines[..self.shown];
        let before = |node: usize| lines.partition_point(|line| (line.node as usize) < node);
        before(nodes.start)..before(nodes.end)
    }

    /// What a line says, apart from its ref.
    fn said(&self, line: &DeltaLine) -> (Role, &str) {
        (line.role, &self.text[line.name as usize..line.end as usize])
    }

    /// Whether a line before another is the heading of what that is in.
    fn is_headed_by(&self, at: usize, before: usize) -> bool {
        let (line, heading) = (&self.lines[at], &self.lines[before]);
        heading.role == Role::Heading && line.node < heading.until && line.apart <= heading.node
    }

    fn is_text(line: &DeltaLine) -> bool {
        line.role == Role::Text || line.is_folded
    }
}

/// Whether a modal dialog is all that is told of a page.
pub fn is_covered(tree: &Tree) -> bool {
    modal(tree).is_some()
}

/// The nodes of the dialog that is all that is told of a page, but for what speaks up by itself.
fn modal(tree: &Tree) -> Option<Range<usize>> {
    const MOST: usize = 4;
    let is_modal = |index: &usize| tree.nodes[*index].states.is_modal();
    let all = (1..tree.nodes.len()).filter(is_modal).map(|index| index..tree.end(index));
    let covers = |modal: &Range<usize>| {
        let mut index = 0;
        while index < tree.nodes.len() {
            let node = &tree.nodes[index];
            if index == modal.start || is_live(node.role) {
                index = tree.end(index);
                continue;
            }
            let holds = index < modal.start && tree.end(index) >= modal.end;
            let is_content = node.role == Role::Text && !text::is_blank(tree.name(node));
            if !holds && (is_content || is_control(node)) {
                return false;
            }
            index += 1;
        }
        true
    };
    all.take(MOST).find(covers)
}

/// What a reader is told of without being there.
fn is_live(role: Role) -> bool {
    matches!(role, Role::Alert | Role::Status | Role::Log | Role::Timer | Role::Marquee)
}

/// Where a node is among headings.
#[derive(Clone, Copy)]
struct LinePosition {
    until: u32,
    apart: u32,
    is_loud: bool,
}

fn places(tree: &Tree) -> Vec<LinePosition> {
    let mut open: Vec<(Range<usize>, LinePosition)> = Vec::new();
    let place = |index: usize| {
        while open.pop_if(|(range, _)| range.end <= index).is_some() {}
        let mut range = index..tree.end(index);
        // A box around a heading alone is no more than the heading.
        let holds_more = |outer: &&(Range<usize>, LinePosition)| {
            let is_only = outer.0.start + 1 == range.start && outer.0.end == range.end;
            if is_only {
                range = outer.0.clone();
            }
            !is_only
        };
        let until = open.iter().rev().find(holds_more).map_or(range.end, |(outer, _)| outer.end);
        let outer = open.last().map(|(_, place)| *place);
        let role = tree.nodes[index].role;
        let place = LinePosition {
            until: until as u32,
            apart: if is_apart(role) { index as u32 } else { outer.map_or(0, |it| it.apart) },
            is_loud: match is_apart(role) {
                true => is_live(role) || matches!(role, Role::Dialog | Role::AlertDialog),
                false => outer.is_some_and(|it| it.is_loud),
            },
        };
        open.push((index..tree.end(index), place));
        place
    };
    (0..tree.nodes.len()).map(place).collect()
}

/// What no heading before it speaks of.
fn is_apart(role: Role) -> bool {
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

/// What changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// In words; `no change` if there is none.
    pub text: String,
    /// How many lines are new.
    pub added: u32,
    /// How many lines are gone.
    pub removed: u32,
    /// How many lines say something else.
    pub changed: u32,
    /// How many lines are elsewhere among the same neighbours, or in something else.
    pub moved: u32,
    /// So much changed that the text is that of the whole page.
    pub is_full: bool,
    /// Which lines of the later page are told, and in which line of the text, counted from 1.
    pub told: Vec<(u32, u32)>,
    /// How much each line of the text matters.
    ranks: Vec<Rank>,
}

impl Delta {
    /// The text in so many lines at most, what is new first, and which lines of the later page are in it.
    pub fn brief(&self, most: usize) -> (String, Vec<u32>) {
        let lines: Vec<&str> = self.text.lines().collect();
        if lines.len() <= most {
            return (self.text.clone(), self.told.iter().map(|(at, _)| *at).collect());
        }
        let rank = |at: usize| self.ranks.get(at).copied().unwrap_or_default();
        let mut keep = vec![false; lines.len()];
        let mut left = most;
        let mut by_rank: Vec<usize> = (0..lines.len()).collect();
        by_rank.sort_by_key(|at| (rank(*at), *at));
        for at in by_rank.into_iter().filter(|at| rank(*at) != Rank::Location) {
            // What it is in is told with it.
            let place = (0..at).rev().find(|at| rank(*at) == Rank::Location);
            let place = place.filter(|place| !keep[*place] && lines[at].starts_with(['+', '~']));
            let cost = 1 + usize::from(place.is_some());
            if cost > left {
                break;
            }
            left -= cost;
            keep[at] = true;
            place.into_iter().for_each(|at| keep[at] = true);
        }
        let kept = lines.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(line, _)| *line);
        let mut text = kept.collect::<Vec<_>>().join("\n");
        let more = keep.iter().filter(|keep| !**keep).count();
        let _ = write!(text, "\n… {more} more lines; take a snapshot to see all");
        let is_kept = |(_, line): &&(u32, u32)| keep.get(*line as usize - 1) == Some(&true);
        (text, self.told.iter().filter(is_kept).map(|(at, _)| *at).collect())
    }
}

/// How much a line of a delta matters, the most first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// It speaks up: a dialog, an alert, a status.
    Announced,
    /// It is new.
    Added,
    /// It says something else.
    #[default]
    Changed,
    /// It is gone, or elsewhere.
    Removed,
    /// It says what the next ones are in.
    Location,
}

/// Tells what changed between two snapshots. `full` is the text of the later one, which is given instead
/// when it is shorter.
pub fn delta(was: &DeltaBase, now: &DeltaBase, full: &str) -> Delta {
    let mut delta = changes(was, now);
    if delta.text.is_empty() {
        delta.text.push_str("no change");
    } else if delta.text.len() >= full.len() {
        delta.text = format!("most of the page changed; this is all of it:\n{full}");
        delta.is_full = true;
    }
    delta
}

/// The same, however much it is; empty when there is nothing to tell.
pub fn changes(was: &DeltaBase, now: &DeltaBase) -> Delta {
    let mut pairs = pair(was, now);
    let matches = match_lists(was, now, &pairs);
    pairs.take_in(was, now, &matches);
    let lists = list_notes(was, now, &pairs, &matches);
    let mut delta = Delta::default();
    let mut out = DeltaWriter::default();
    let mut back = 0;
    let mut renumbered = 0;
    for (at, line) in now.lines.iter().enumerate() {
        let Some(before) = pairs.was[at] else {
            delta.added += 1;
            if lists.is_added[at] {
                continue;
            }
            out.added(now, at, &pairs.was);
            delta.told.push((at as u32, out.ranks.len() as u32));
            continue;
        };
        back += u32::from(before as usize >= was.shown);
        let old = &was.lines[before as usize];
        if was.said(old) == now.said(line) {
            renumbered += u32::from(line.number.is_some() && line.number != old.number);
        } else {
            delta.changed += 1;
            out.changed(was, old, now, at);
            delta.told.push((at as u32, out.ranks.len() as u32));
        }
    }
    if back > 0 {
        out.note(
            Rank::Announced,
            &format!("+ the page behind the dialog is back: {}", counted(back)),
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
    // What a dialog hides is not gone.
    let is_hidden = |at: usize| match at >= was.shown {
        true => now.modal.is_some(),
        false => now.modal.is_some() && was.modal.is_none(),
    };
    // What is in something that is gone is counted there and not told.
    let mut inside = vec![0_u32; was.lines.len()];
    for (at, line) in was.lines.iter().enumerate().rev() {
        let parent = line.parent as usize;
        if pairs.now[at].is_none() && parent != at && pairs.now[parent].is_none() {
            inside[parent] += inside[at] + 1;
        }
    }
    let mut hidden = 0;
    for (at, line) in was.lines.iter().enumerate() {
        if pairs.now[at].is_some() {
            continue;
        }
        if is_hidden(at) {
            hidden += u32::from(at < was.shown);
            continue;
        }
        delta.removed += 1;
        if lists.is_removed[at] {
            continue;
        }
        let parent = line.parent as usize;
        if parent == at || pairs.now[parent].is_some() {
            out.removed(was, at, inside[at]);
        }
    }
    if hidden > 0 {
        out.note(Rank::Announced, &format!("- behind the dialog now: {}", counted(hidden)));
    }
    delta.text = out.text;
    delta.text.pop();
    delta.ranks = out.ranks;
    delta
}

/// Matches the items of lists where there is more than one difference: a single one is what it is.
fn match_lists(was: &DeltaBase, now: &DeltaBase, pairs: &line_matches::LineMatches) -> Matches {
    // What a dialog hides or gives back is not what is in it.
    if was.modal.is_some() != now.modal.is_some() {
        return Matches::default();
    }
    let changed = now.lines.iter().enumerate().filter(|(at, line)| {
        let before = pairs.was[*at].map(|before| &was.lines[before as usize]);
        before.is_none_or(|before| was.said(before) != now.said(line))
    });
    let removed = pairs.now[..was.shown].iter().filter(|now| now.is_none());
    let moved = moved(was, now, pairs);
    match moved.is_empty() && changed.take(2).count() + removed.take(2).count() < 2 {
        true => Matches::default(),
        false => match_items(was, now, pairs, &moved),
    }
}

fn counted(lines: u32) -> String {
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
        compare_by(RefPolicy::WebAi, was, now)
    }

    pub(super) fn compare_live(was: &str, now: &str) -> Delta {
        compare_by(RefPolicy::Live { all: false }, was, now)
    }

    fn compare_by(policy: RefPolicy, was: &str, now: &str) -> Delta {
        let mut numbers = SequentialRefs::default();
        let mut show = |page: &str| {
            let tree = tree(page);
            let options = ViewOptions { policy, ..ViewOptions::default() };
            let view = view(&tree, &options, &mut |frame, element| numbers.number(frame, element));
            let text = render_cli(&tree, &view, &options.print);
            (DeltaBase::new(&Arc::new(tree), &view, &options.print), text)
        };
        let (was, _) = show(was);
        let (now, full) = show(now);
        delta(&was, &now, &full)
    }

    const PAGE: &str = "webarea 1 \"Shop\"\n heading 2 \"Old\" l1\n text \"some words to make it long\"\n \
        button 3 \"Buy this now\"\n button 4 \"Keep it\"\n text \"more words at the end of it\"\n \
        text \"and even more words after that\"";

    fn check(now: &str, expected: &str) {
        assert_eq!(compare(PAGE, now).text, expected, "{now}");
    }

    #[test]
    fn nothing_changed() {
        check(PAGE, "no change");
    }

    #[test]
    fn a_changed_heading_is_told_in_a_few_tokens() {
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
    fn what_came_and_went_is_told() {
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
    fn another_page_is_given_in_full() {
        let delta = compare(PAGE, "webarea 100\n button 200 \"Only\"");
        assert!(delta.is_full);
        assert!(
            delta.text.ends_with("- webarea:\n  - button \"Only\" [ref=@e3]"),
            "{}",
            delta.text
        );
    }

    #[test]
    fn a_reordered_list_is_one_line() {
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
    fn removed_parts_are_told_once() {
        let now = "webarea 1\n button 9 \"stays\"\n text \"and is long enough to compare\"";
        let was = format!("{now}\n dialog 2 \"D\"\n  button 3 \"a\"\n  button 4 \"b\"");
        let delta = compare(&was, now);
        assert_eq!((delta.text.as_str(), delta.removed), ("- removed dialog \"D\" and 2 in it", 3));
    }

    #[test]
    fn a_heading_speaks_for_what_is_in_its_container() {
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
    fn what_became_clickable_is_told_as_that() {
        let page = |user: &str| {
            format!(
                "webarea 1\n button 3 \"Load\"\n . 4\n  . 5{user}\n   text \"User\"\n text \"long enough\""
            )
        };
        let delta = compare_live(&page(""), &page(" fl"));
        assert_eq!(delta.text, "~ generic \"User\" [ref=@e2] (was text)");
        assert_eq!((delta.added, delta.removed, delta.changed), (0, 0, 1));
    }

    /// A page, the same with a dialog in front of it, and again without.
    fn page_and_dialog(lines: u32) -> (String, String) {
        let mut page = String::from("webarea 1");
        for line in 0..lines {
            page.push_str(&format!("\n button {} \"b{line}\"", line + 10));
        }
        (page, "webarea 1\n dialog 2 \"Sure?\" fm\n  button 3 \"Yes\"".into())
    }

    #[test]
    fn a_dialog_hides_the_page_in_one_line_and_gives_it_back_in_one() {
        let (page, dialog) = page_and_dialog(60);
        let opened = changes(&shown(&page), &shown(&dialog));
        assert_eq!(
            opened.text,
            "+ dialog \"Sure?\"\n+   button \"Yes\" [ref=@e1]\n- behind the dialog now: 60 lines"
        );
        let mut was = shown(&dialog);
        was.put_behind(&shown(&page));
        assert_eq!(changes(&was, &shown(&dialog)).text, "");
        let toast = page.replace("\"b3\"", "\"b3 new\"") + "\n text \"Saved\"";
        let closed = changes(&was, &shown(&toast));
        assert_eq!(
            closed.text,
            "~ button \"b3 new\" [ref=@e4] (was \"b3\")\n+ text \"Saved\"\n\
             + the page behind the dialog is back: 60 lines\n\
             - removed dialog \"Sure?\" and 1 in it"
        );
        // Where the rest of the page is still there, what is gone is gone.
        let both = "webarea 1\n button 10 \"b0\"\n dialog 2 \"Sure?\" fm\n  button 3 \"Yes\"";
        let text = changes(&shown(&page), &shown(both)).text;
        assert!(!text.contains("behind") && text.contains("- 59 of 60 items: \"b1\""), "{text}");
    }

    #[test]
    fn within_a_limit_the_news_come_first() {
        let (page, _) = page_and_dialog(60);
        let now =
            page.replace(" \"b", " \"c") + "\n alert 5\n  text \"Failed\"\n text \"New words\"";
        let delta = changes(&shown(&page), &shown(&now));
        let (text, told) = delta.brief(10);
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
        assert_eq!(told.len(), 10);
    }

    /// Two pages with the numbers of one tab.
    pub(super) fn shown_pair(was: &str, now: &str) -> (DeltaBase, DeltaBase) {
        let mut numbers = SequentialRefs::default();
        let mut show = |page: &str| {
            let (tree, policy) = (tree(page), RefPolicy::Live { all: false });
            let options = ViewOptions { policy, ..ViewOptions::default() };
            let view = view(&tree, &options, &mut |frame, element| numbers.number(frame, element));
            DeltaBase::new(&Arc::new(tree), &view, &options.print)
        };
        (show(was), show(now))
    }

    fn shown(page: &str) -> DeltaBase {
        let (tree, options) = (tree(page), ViewOptions::default());
        let mut numbers = SequentialRefs::default();
        let view = view(&tree, &options, &mut |frame, element| numbers.number(frame, element));
        DeltaBase::new(&Arc::new(tree), &view, &options.print)
    }
}
