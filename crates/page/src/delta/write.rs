//! How a change is written.

use super::{BRIEF, DeltaBase, DeltaLine, Rank};
use crate::ax::Role;
use crate::text;
use std::fmt::Write as _;

/// What is told so far.
#[derive(Default)]
pub(super) struct DeltaWriter {
    pub(super) text: String,
    /// How much each of its lines matters.
    pub(super) ranks: Vec<Rank>,
    /// The line that was last told as what the next ones are in.
    context: Option<u32>,
    /// The line that was last told as changed.
    last: Option<u32>,
    /// What comes next would be taken for being in what was told last.
    is_inside: bool,
}

impl DeltaWriter {
    pub(super) fn added(&mut self, page: &DeltaBase, at: usize, was: &[Option<u32>]) {
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
        self.ranks.push(if line.is_loud { Rank::Announced } else { Rank::Added });
        self.text.push_str("+ ");
        for _ in 0..depth {
            self.text.push_str("  ");
        }
        self.line(page, line, usize::MAX);
        self.text.push('\n');
    }

    pub(super) fn changed(&mut self, was: &DeltaBase, old: &DeltaLine, now: &DeltaBase, at: usize) {
        self.context(now, at);
        self.ranks.push(if now.lines[at].is_loud { Rank::Announced } else { Rank::Changed });
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

    pub(super) fn removed(&mut self, page: &DeltaBase, at: usize, inside: u32) {
        self.ranks.push(Rank::Removed);
        self.text.push_str("- removed ");
        self.line(page, &page.lines[at], BRIEF);
        if inside > 0 {
            let _ = write!(self.text, " and {inside} in it");
        }
        self.text.push('\n');
    }

    /// Adds a line that is about several.
    pub(super) fn note(&mut self, rank: Rank, text: &str) {
        self.ranks.push(rank);
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Tells what a line is in, unless the line before was told to be in the same.
    fn context(&mut self, page: &DeltaBase, at: usize) {
        let parent = page.lines[at].parent as usize;
        let is_root = parent == at || page.lines[parent].parent as usize == parent;
        let context = match is_root {
            false => Some(parent),
            // What the root holds is told by the heading before it, if one is near and speaks of it.
            true if page.lines[at].role == Role::Heading => None,
            true => {
                let from = at.saturating_sub(64);
                (from..at).rev().find(|before| page.is_headed_by(at, *before))
            }
        };
        let context = context.map(|at| at as u32);
        if let Some(at) = context.filter(|_| context != self.context && context != self.last) {
            self.ranks.push(Rank::Location);
            self.text.push_str("@ ");
            self.line(page, &page.lines[at as usize], BRIEF);
            self.text.push('\n');
            self.is_inside = true;
        } else if context.is_none() && self.is_inside {
            self.note(Rank::Location, "@ page");
            self.is_inside = false;
        }
        self.context = context;
    }

    fn line(&mut self, page: &DeltaBase, line: &DeltaLine, limit: usize) {
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
