//! What changed between two snapshots of a tab, in a few lines.
//!
//! ```text
//! @ dialog "Settings"
//! ~ heading "New" [level=1] (was "Old")
//! + button "Save" [ref=@e9]
//! - removed button "Send" [ref=@e3]
//! ```

use crate::ax::{Role, Tree};
use crate::render::{Print, push_attributes, shown_name};
use crate::text;
use crate::view::{Line, View};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

/// The units of an earlier name and of a container's name that are told.
const BRIEF: usize = 80;

/// What was shown, as far as a later snapshot is compared with it.
#[derive(Clone, Debug, Default)]
pub struct ShownPage {
    documents: Vec<String>,
    lines: Vec<ShownLine>,
    text: String,
}

#[derive(Clone, Copy, Debug)]
struct ShownLine {
    role: Role,
    depth: u32,
    /// The line it is in; itself if there is none.
    parent: u32,
    document: u16,
    element: u32,
    number: Option<u32>,
    is_folded: bool,
    /// Where its name, then its attributes begin in the text, and where they end.
    name: u32,
    attributes: u32,
    end: u32,
}

impl ShownPage {
    /// Remembers what is shown.
    pub fn new(tree: &Tree, view: &View, print: &Print) -> Self {
        let documents = tree.frames.iter().map(|frame| frame.document.clone()).collect();
        let mut page = Self { documents, ..Self::default() };
        let mut open: Vec<u32> = Vec::new();
        for (at, line) in view.lines.iter().enumerate() {
            while open.pop_if(|last| page.lines[*last as usize].depth >= line.depth).is_some() {}
            let parent = open.last().copied().unwrap_or(at as u32);
            page.push(tree, line, parent, print);
            open.push(at as u32);
        }
        page
    }

    fn push(&mut self, tree: &Tree, line: &Line, parent: u32, print: &Print) {
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
            let mut bare = *line;
            bare.number = None;
            push_attributes(&mut self.text, tree, &bare, print);
        }
        self.lines.push(ShownLine {
            role: node.role,
            depth: line.depth,
            parent,
            document: node.frame,
            element: node.element,
            number: line.number,
            is_folded: line.folded.is_some(),
            name,
            attributes,
            end: self.text.len() as u32,
        });
    }

    fn document(&self, line: &ShownLine) -> &str {
        self.documents.get(line.document as usize).map_or("", String::as_str)
    }

    fn name(&self, line: &ShownLine) -> &str {
        &self.text[line.name as usize..line.attributes as usize]
    }

    fn attributes(&self, line: &ShownLine) -> &str {
        &self.text[line.attributes as usize..line.end as usize]
    }

    /// What a line says, apart from its ref.
    fn said(&self, line: &ShownLine) -> (Role, &str) {
        (line.role, &self.text[line.name as usize..line.end as usize])
    }

    fn is_text(line: &ShownLine) -> bool {
        line.role == Role::Text || line.is_folded
    }
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
}

/// Tells what changed between two snapshots. `full` is the text of the later one, which is given instead
/// when it is shorter.
pub fn delta(was: &ShownPage, now: &ShownPage, full: &str) -> Delta {
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
pub fn changes(was: &ShownPage, now: &ShownPage) -> Delta {
    let pairs = pair(was, now);
    let mut delta = Delta::default();
    let mut out = Out { text: String::new(), context: None, last: None };
    let (mut counted, mut lines) = (0, 0);
    let mut line_of = |text: &str| {
        lines += text[counted..].matches('\n').count() as u32;
        counted = text.len();
        lines
    };
    for (at, line) in now.lines.iter().enumerate() {
        let Some(before) = pairs.was[at] else {
            delta.added += 1;
            out.added(now, at, &pairs.was);
            delta.told.push((at as u32, line_of(&out.text)));
            continue;
        };
        let old = &was.lines[before as usize];
        if was.said(old) != now.said(line) {
            delta.changed += 1;
            out.changed(was, old, now, at);
            delta.told.push((at as u32, line_of(&out.text)));
        }
    }
    delta.moved = moved(was, now, &pairs);
    if delta.moved > 0 {
        let _ = writeln!(out.text, "~ {} lines moved", delta.moved);
    }
    // What is in something that is gone is counted there and not told.
    let mut inside = vec![0_u32; was.lines.len()];
    for (at, line) in was.lines.iter().enumerate().rev() {
        let parent = line.parent as usize;
        if pairs.now[at].is_none() && parent != at && pairs.now[parent].is_none() {
            inside[parent] += inside[at] + 1;
        }
    }
    for (at, line) in was.lines.iter().enumerate() {
        if pairs.now[at].is_some() {
            continue;
        }
        delta.removed += 1;
        let parent = line.parent as usize;
        if parent == at || pairs.now[parent].is_some() {
            out.removed(was, at, inside[at]);
        }
    }
    delta.text = out.text;
    delta.text.pop();
    delta
}

/// Which line was which.
struct Pairs {
    /// For each line of the later page, the one it was.
    was: Vec<Option<u32>>,
    /// For each line of the earlier page, the one it is.
    now: Vec<Option<u32>>,
}

/// Pairs elements by identity, and texts by what they are in and their order there.
fn pair(was: &ShownPage, now: &ShownPage) -> Pairs {
    let mut pairs = Pairs { was: vec![None; now.lines.len()], now: vec![None; was.lines.len()] };
    let mut elements: HashMap<(&str, u32), u32> = HashMap::with_capacity(was.lines.len());
    for (at, line) in was.lines.iter().enumerate().rev() {
        if !ShownPage::is_text(line) {
            elements.insert((was.document(line), line.element), at as u32);
        }
    }
    for (at, line) in now.lines.iter().enumerate() {
        if ShownPage::is_text(line) {
            continue;
        }
        // Taken out, so that of two lines with one identity only the first is paired.
        if let Some(before) = elements.remove(&(now.document(line), line.element)) {
            pairs.was[at] = Some(before);
            pairs.now[before as usize] = Some(at as u32);
        }
    }
    let texts_was = texts(was);
    for (parent, texts_now) in texts(now) {
        let before = match parent {
            Some(parent) => pairs.was[parent as usize].and_then(|it| texts_was.get(&Some(it))),
            None => texts_was.get(&None),
        };
        if let Some(before) = before {
            pair_texts(was, before, now, &texts_now, &mut pairs);
        }
    }
    pairs
}

/// The texts in each line, and those that are in none; what a text is in comes before it.
fn texts(page: &ShownPage) -> BTreeMap<Option<u32>, Vec<u32>> {
    let mut texts: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
    for (at, line) in page.lines.iter().enumerate() {
        if ShownPage::is_text(line) {
            let parent = (line.parent as usize != at).then_some(line.parent);
            texts.entry(parent).or_default().push(at as u32);
        }
    }
    texts
}

/// Pairs the texts of one line: what is equal at both ends, then what is equal in between, and by place when
/// as many are left as there were.
fn pair_texts(was: &ShownPage, before: &[u32], now: &ShownPage, after: &[u32], pairs: &mut Pairs) {
    let old = |at: &u32| was.said(&was.lines[*at as usize]);
    let new = |at: &u32| now.said(&now.lines[*at as usize]);
    let equal = |(before, after): &(&u32, &u32)| old(before) == new(after);
    let head = before.iter().zip(after).take_while(equal).count();
    let (before_rest, after_rest) = (&before[head..], &after[head..]);
    let tail = before_rest.iter().rev().zip(after_rest.iter().rev()).take_while(equal).count();
    let mut put = |before: u32, after: u32| {
        pairs.was[after as usize] = Some(before);
        pairs.now[before as usize] = Some(after);
    };
    for (before, after) in before.iter().zip(after).take(head) {
        put(*before, *after);
    }
    for (before, after) in before.iter().rev().zip(after.iter().rev()).take(tail) {
        put(*before, *after);
    }
    let before = &before_rest[..before_rest.len() - tail];
    let after = &after_rest[..after_rest.len() - tail];
    if before.len() == after.len() {
        for (before, after) in before.iter().zip(after) {
            put(*before, *after);
        }
        return;
    }
    let mut by_text: HashMap<(Role, &str), Vec<u32>> = HashMap::new();
    for at in before.iter().rev() {
        by_text.entry(old(at)).or_default().push(*at);
    }
    for at in after {
        if let Some(before) = by_text.get_mut(&new(at)).and_then(Vec::pop) {
            put(before, *at);
        }
    }
}

/// How many lines come after one that they used to come before, or are in another line than before.
fn moved(was: &ShownPage, now: &ShownPage, pairs: &Pairs) -> u32 {
    let mut last: HashMap<u32, u32> = HashMap::new();
    let mut moved = 0;
    for (at, line) in now.lines.iter().enumerate() {
        let Some(before) = pairs.was[at].filter(|_| line.parent as usize != at) else { continue };
        let Some(parent_was) = pairs.was[line.parent as usize] else { continue };
        let old = &was.lines[before as usize];
        if old.parent != parent_was && old.parent != before {
            moved += u32::from(pairs.now[old.parent as usize].is_some());
            continue;
        }
        let last = last.entry(line.parent).or_insert(before);
        moved += u32::from(before < *last);
        *last = before.max(*last);
    }
    moved
}

struct Out {
    text: String,
    /// The line that was last told as what the next ones are in.
    context: Option<u32>,
    /// The line that was last told as changed.
    last: Option<u32>,
}

impl Out {
    fn added(&mut self, page: &ShownPage, at: usize, was: &[Option<u32>]) {
        let line = &page.lines[at];
        // In something new it is told by indentation where it is.
        let mut depth = 0;
        let mut outer = line.parent as usize;
        let mut inner = at;
        while outer != inner && was[outer].is_none() && depth < 16 {
            depth += 1;
            (inner, outer) = (outer, page.lines[outer].parent as usize);
        }
        if depth == 0 {
            self.context(page, at);
        }
        self.text.push_str("+ ");
        for _ in 0..depth {
            self.text.push_str("  ");
        }
        self.line(page, line, usize::MAX);
        self.text.push('\n');
    }

    fn changed(&mut self, was: &ShownPage, old: &ShownLine, now: &ShownPage, at: usize) {
        self.context(now, at);
        self.text.push_str("~ ");
        let line = &now.lines[at];
        self.line(now, line, usize::MAX);
        let name = brief(was.name(old));
        let attributes = was.attributes(old);
        let mut earlier = Vec::new();
        if old.role != line.role {
            earlier.push(old.role.name());
        }
        if was.name(old) != now.name(line) {
            earlier.push(if name.is_empty() { "\"\"" } else { &name });
        }
        if attributes != now.attributes(line) {
            earlier.push(if attributes.is_empty() { "[]" } else { attributes.trim_start() });
        }
        let _ = writeln!(self.text, " (was {})", earlier.join(" "));
        self.last = Some(at as u32);
    }

    fn removed(&mut self, page: &ShownPage, at: usize, inside: u32) {
        self.text.push_str("- removed ");
        self.line(page, &page.lines[at], BRIEF);
        if inside > 0 {
            let _ = write!(self.text, " and {inside} in it");
        }
        self.text.push('\n');
    }

    /// Tells what a line is in, unless the line before was told to be in the same.
    fn context(&mut self, page: &ShownPage, at: usize) {
        let parent = page.lines[at].parent as usize;
        let is_root = parent == at || page.lines[parent].parent as usize == parent;
        let context = match is_root {
            false => Some(parent),
            // What the root holds is told by the heading before it, if one is near.
            true if page.lines[at].role == Role::Heading => None,
            true => {
                let from = at.saturating_sub(64);
                (from..at).rev().find(|before| page.lines[*before].role == Role::Heading)
            }
        };
        let context = context.map(|at| at as u32);
        if let Some(at) = context.filter(|_| context != self.context && context != self.last) {
            self.text.push_str("@ ");
            self.line(page, &page.lines[at as usize], BRIEF);
            self.text.push('\n');
        }
        self.context = context;
    }

    fn line(&mut self, page: &ShownPage, line: &ShownLine, limit: usize) {
        let name = page.name(line);
        if line.is_folded {
            self.text.push_str(name);
            return;
        }
        self.text.push_str(line.role.name());
        if !name.is_empty() {
            self.text.push(' ');
            self.text.push_str(&if limit == usize::MAX { name.into() } else { brief(name) });
        }
        let attributes = page.attributes(line);
        match line.number {
            Some(number) => {
                let _ = write!(self.text, " [ref=@e{number}");
                match attributes.strip_prefix(" [") {
                    Some(rest) => {
                        self.text.push(' ');
                        self.text.push_str(rest);
                    }
                    None => self.text.push(']'),
                }
            }
            None => self.text.push_str(attributes),
        }
    }
}

/// A quoted text, shortened within its quotes.
fn brief(quoted: &str) -> std::borrow::Cow<'_, str> {
    if quoted.len() <= BRIEF {
        return quoted.into();
    }
    let plain: String = serde_json::from_str(quoted).unwrap_or_default();
    let mut out = String::new();
    text::quote(&mut out, &text::cut(&plain, BRIEF));
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ax::testing::tree;
    use crate::render::phase7;
    use crate::tokens::calibrated;
    use crate::view::{Numbers, ViewOptions, view};

    fn compare(was: &str, now: &str) -> Delta {
        let mut numbers = Numbers::default();
        let mut show = |page: &str| {
            let tree = tree(page);
            let options = ViewOptions::default();
            let view = view(&tree, &options, &mut |frame, element| numbers.number(frame, element));
            let text = phase7(&tree, &view, &options.print);
            (ShownPage::new(&tree, &view, &options.print), text)
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
            "@ heading \"Old\" [level=1]\n+ dialog \"Sure?\"\n+   button \"Yes\" [ref=@e3]\n\
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
        assert_eq!(delta.text, format!("~ {} lines moved", delta.moved));
        assert!(delta.moved > 10_000);
    }

    #[test]
    fn removed_parts_are_told_once() {
        let now = "webarea 1\n button 9 \"stays\"\n text \"and is long enough to compare\"";
        let was = format!("{now}\n dialog 2 \"D\"\n  button 3 \"a\"\n  button 4 \"b\"");
        let delta = compare(&was, now);
        assert_eq!((delta.text.as_str(), delta.removed), ("- removed dialog \"D\" and 2 in it", 3));
    }
}
