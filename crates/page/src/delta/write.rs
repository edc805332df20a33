//! Writer of delta lines.

use super::{BRIEF, DeltaBase, DeltaLine, Rank};
use crate::ax::Role;
use crate::text;
use std::fmt::Write as _;

/// The text of a delta under construction.
#[derive(Default)]
pub(super) struct DeltaWriter {
    pub(super) text: String,
    /// Rank of each line.
    pub(super) ranks: Vec<Rank>,
    /// The line last written as location.
    location: Option<u32>,
    /// The line last written as changed.
    last_changed: Option<u32>,
    /// A location is in effect that the next line may have to end.
    has_location: bool,
}

impl DeltaWriter {
    pub(super) fn added(&mut self, page: &DeltaBase, at: usize, was: &[Option<u32>]) {
        let line = &page.lines[at];
        // Within an added parent the indentation shows its location.
        let mut depth = 0;
        let mut outer = line.parent as usize;
        let mut inner = at;
        while outer != inner && was[outer].is_none() && depth < 16 {
            depth += 1;
            (inner, outer) = (outer, page.lines[outer].parent as usize);
        }
        if depth == 0 {
            self.location(page, at);
        }
        self.ranks.push(if line.is_announced { Rank::Announced } else { Rank::Added });
        self.text.push_str("+ ");
        for _ in 0..depth {
            self.text.push_str("  ");
        }
        self.line(page, line, usize::MAX);
        self.text.push('\n');
    }

    pub(super) fn changed(&mut self, was: &DeltaBase, old: &DeltaLine, now: &DeltaBase, at: usize) {
        self.location(now, at);
        self.ranks.push(if now.lines[at].is_announced { Rank::Announced } else { Rank::Changed });
        self.text.push_str("~ ");
        let line = &now.lines[at];
        self.line(now, line, usize::MAX);
        let name = shortened(was.name(old));
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
        self.last_changed = Some(at as u32);
    }

    pub(super) fn removed(&mut self, page: &DeltaBase, at: usize, descendants: u32) {
        self.ranks.push(Rank::Removed);
        self.text.push_str("- removed ");
        self.line(page, &page.lines[at], BRIEF);
        if descendants > 0 {
            let _ = write!(self.text, " and {descendants} in it");
        }
        self.text.push('\n');
    }

    /// Adds a note on several lines.
    pub(super) fn note(&mut self, rank: Rank, text: &str) {
        self.ranks.push(rank);
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Writes the location of a line, unless it is already in effect.
    fn location(&mut self, page: &DeltaBase, at: usize) {
        let parent = page.lines[at].parent as usize;
        let is_root = parent == at || page.lines[parent].parent as usize == parent;
        let location = match is_root {
            false => Some(parent),
            // Children of the root are located by the heading before them, if one is near and heads them.
            true if page.lines[at].role == Role::Heading => None,
            true => {
                let from = at.saturating_sub(64);
                (from..at).rev().find(|before| page.is_headed_by(at, *before))
            }
        };
        let location = location.map(|at| at as u32);
        if let Some(at) =
            location.filter(|_| location != self.location && location != self.last_changed)
        {
            self.ranks.push(Rank::Location);
            self.text.push_str("@ ");
            self.line(page, &page.lines[at as usize], BRIEF);
            self.text.push('\n');
            self.has_location = true;
        } else if location.is_none() && self.has_location {
            self.note(Rank::Location, "@ page");
            self.has_location = false;
        }
        self.location = location;
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
            self.text.push_str(&if limit == usize::MAX { name.into() } else { shortened(name) });
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

/// Shortens a quoted text within its quotes.
fn shortened(quoted: &str) -> std::borrow::Cow<'_, str> {
    if quoted.len() <= BRIEF {
        return quoted.into();
    }
    let plain: String = serde_json::from_str(quoted).unwrap_or_default();
    let mut out = String::new();
    text::quote(&mut out, &text::cut(&plain, BRIEF));
    out.into()
}
