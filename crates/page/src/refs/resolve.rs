//! Resolution of a ref: the element that was shown, in the page as it is now, if it still means the same.

use super::fingerprint::{
    Container, Fingerprint, alone, identified, items_of, name, own_nodes, part_of_page, role_of,
};
use super::identity::{IdentityChange, TargetItem, TextScope, judge};
use super::page_parts::{is_item, is_landmark};
use super::replacement::replaced;
use super::stable_text::{
    ends_in_number, has_date, has_digits, is_counting, is_quantity, without_numbers_and_times,
    without_times,
};
use super::structure::{ItemLevel, TreeStructure};
use super::tokens::{ItemToken, TextForm, stable, tokens};
use crate::ax::{Node, Role, Tree, Tristate, is_control};
use crate::text;
use std::collections::HashSet;
use std::ops::Range;

/// A text or state that changed: what it was and is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What it was.
    pub was: String,
    /// What it is; empty when it is gone.
    pub now: String,
}

/// What became of an element that was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// It is there and means the same.
    Same {
        /// Its node.
        node: usize,
        /// What changed about it besides its meaning.
        changes: Vec<Change>,
        /// A number or a time in its name changed.
        is_renumbered: bool,
    },
    /// It is gone, and exactly one element that was made since then has the same fingerprint.
    Moved {
        /// The node of that.
        node: usize,
        /// What changed about it besides its meaning.
        changes: Vec<Change>,
    },
    /// It is there and means something else.
    Changed {
        /// What it meant.
        was: Fingerprint,
        /// What it means.
        now: Fingerprint,
        /// The one node that means now what it meant.
        heir: Option<usize>,
    },
    /// It is gone.
    Gone {
        /// What it meant.
        was: Fingerprint,
        /// Nodes that are most like it.
        nearest: Vec<usize>,
    },
}

/// Looks for an element of one tree in another, later one. `edited` are the elements of its document whose values the
/// caller set since then.
pub fn resolve(was: &Tree, node: usize, now: &Tree, edited: &HashSet<u32>) -> Resolution {
    let document = document_of(was, node);
    let element = was.nodes[node].element;
    let is_it = |index: &usize| {
        let it = &now.nodes[*index];
        it.element == element && element > 0 && document_of(now, *index) == document
    };
    let (before, after) = (TreeStructure::new(was, edited), TreeStructure::new(now, edited));
    match (0..now.nodes.len()).find(is_it) {
        Some(found) => {
            let found_as = examine(&before, node, &after, found);
            match found_as.other {
                None => Resolution::Same {
                    node: found,
                    changes: found_as.changes,
                    is_renumbered: found_as.is_renumbered,
                },
                Some(different) => {
                    let (was, now) = *different;
                    let heir = match replaced(&before, node, &after) {
                        Resolution::Moved { node, .. } => Some(node),
                        Resolution::Gone { nearest, .. } if nearest.len() == 1 => {
                            nearest.first().copied()
                        }
                        _ => None,
                    };
                    Resolution::Changed { was, now, heir }
                }
            }
        }
        None => replaced(&before, node, &after),
    }
}

pub(super) fn document_of(tree: &Tree, node: usize) -> &str {
    tree.frames.get(usize::from(tree.nodes[node].frame)).map_or("", |frame| &*frame.document)
}

/// How two elements compare.
#[derive(Default)]
pub(super) struct ElementComparison {
    pub(super) changes: Vec<Change>,
    is_renumbered: bool,
    /// They mean different things: what one meant and the other means.
    pub(super) other: Option<Difference>,
}

impl ElementComparison {
    fn note(&mut self, was: impl Into<String>, now: impl Into<String>) {
        let change = Change { was: was.into(), now: now.into() };
        if change.was != change.now && !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }
}

/// Two elements that are compared.
struct ComparedElements<'s, 't> {
    was: &'s TreeStructure<'t>,
    before: usize,
    now: &'s TreeStructure<'t>,
    after: usize,
}

pub(super) fn examine(
    was: &TreeStructure<'_>,
    before: usize,
    now: &TreeStructure<'_>,
    after: usize,
) -> ElementComparison {
    let pair = ComparedElements { was, before, now, after };
    let mut out = ElementComparison::default();
    out.other = pair.compare(&mut out).err();
    out
}

/// Two fingerprints that are not the same.
type Difference = Box<(Fingerprint, Fingerprint)>;

impl ComparedElements<'_, '_> {
    fn compare(&self, out: &mut ElementComparison) -> Result<(), Difference> {
        let (old, new) = (&self.was.tree.nodes[self.before], &self.now.tree.nodes[self.after]);
        if old.role != new.role {
            return Err(self.different(None, None));
        }
        let levels = items_of(self.was, self.before);
        let own = own_nodes(self.was, self.before);
        let is_box = own.is_empty();
        if is_box {
            self.compare_given_names(old, new, out)?;
            self.compare_first_words()?;
        } else {
            self.compare_names(out)?;
        }
        self.compare_states(old, new, out);
        let is_identified = self.compare_items(&levels, out)?;
        self.compare_headers(out)?;
        self.compare_dialogs(out)?;
        self.compare_parts(is_identified, out)?;
        if !is_identified {
            self.compare_surroundings(out)?;
        }
        Ok(())
    }

    /// The names of the elements themselves.
    fn compare_names(&self, out: &mut ElementComparison) -> Result<(), Difference> {
        let (old, new) = (name(self.was.tree, self.before), name(self.now.tree, self.after));
        if old == new {
            return Ok(());
        }
        let is_identifying = |structure: &TreeStructure<'_>, at: usize, name: &str| {
            has_date(name) || ends_in_number(name) || is_numbered(structure.tree, at, name)
        };
        let has_number = is_identifying(self.was, self.before, &old);
        let lasting = match has_number || is_identifying(self.now, self.after, &new) {
            true => without_times,
            false => without_numbers_and_times,
        };
        if lasting(&old) != lasting(&new) {
            return Err(self.different(None, None));
        }
        out.is_renumbered = true;
        out.note(old, new);
        Ok(())
    }

    /// The names that the author gave two boxes.
    fn compare_given_names(
        &self,
        old: &Node,
        new: &Node,
        out: &mut ElementComparison,
    ) -> Result<(), Difference> {
        let given = |tree: &Tree, node: &Node| match node.states.is_name_given() {
            true => text::collapse(tree.name(node)).into_owned(),
            false => String::new(),
        };
        let (old, new) = (given(self.was.tree, old), given(self.now.tree, new));
        if without_numbers_and_times(&old) != without_numbers_and_times(&new) {
            return Err(self.different(None, None));
        }
        out.note(old, new);
        Ok(())
    }

    /// The first words of a control that holds several texts: `Delete account` before what it said makes it another one.
    fn compare_first_words(&self) -> Result<(), Difference> {
        if !is_control(&self.was.tree.nodes[self.before]) {
            return Ok(());
        }
        let said = |structure: &TreeStructure<'_>, of: usize| -> Vec<u64> {
            let all = tokens(structure, of..structure.tree.end(of), &(0..0));
            let lasting =
                |it: &&ItemToken| !matches!(it.form, TextForm::Number | TextForm::Volatile);
            all.iter().filter(lasting).map(|it| it.stable).collect()
        };
        let (old, new) = (said(self.was, self.before), said(self.now, self.after));
        match old.first() {
            Some(first) if new.first() != Some(first) && new.contains(first) => {
                Err(self.different(None, None))
            }
            _ => Ok(()),
        }
    }

    /// What can be set on the element itself.
    fn compare_states(&self, old: &Node, new: &Node, out: &mut ElementComparison) {
        let toggles =
            [(old.checked, new.checked, "checked"), (old.pressed, new.pressed, "pressed")];
        for (was, now, word) in toggles {
            let said = |toggle: Option<Tristate>| match toggle {
                Some(Tristate::On) => word.to_owned(),
                Some(Tristate::Mixed) => "mixed".to_owned(),
                _ => format!("not {word}"),
            };
            out.note(said(was), said(now));
        }
        let switches = [
            (
                Some(old.states.is_selected()),
                Some(new.states.is_selected()),
                "selected",
                "not selected",
            ),
            (old.expanded, new.expanded, "expanded", "collapsed"),
        ];
        for (was, now, yes, no) in switches {
            let said = |is: Option<bool>| match is {
                Some(true) => yes,
                Some(false) => no,
                None => "",
            };
            out.note(said(was), said(now));
        }
    }

    /// The items that they are in. Says whether one of them has an identity.
    fn compare_items(
        &self,
        levels: &[ItemLevel],
        out: &mut ElementComparison,
    ) -> Result<bool, Difference> {
        let Some((chosen, _)) = identified(self.was, self.before, levels) else {
            return Ok(false);
        };
        if chosen.is_run {
            self.compare_parts_of_run(levels, chosen, out)?;
        }
        let outer = levels.iter().skip_while(|it| !std::ptr::eq(*it, chosen));
        for level in outer {
            let scope = match std::ptr::eq(level, chosen) {
                true => TextScope::Innermost,
                // The other runs of the same list are no part of what is around it.
                false if chosen.is_run => {
                    TextScope::Outer(chosen.parent..self.was.tree.end(chosen.parent))
                }
                false => TextScope::Outer(chosen.range.clone()),
            };
            let mut found = self.counterpart(level).map(|now| {
                let judgement = self.judge(level, &now, &scope);
                (now, judgement)
            });
            // A table that is read otherwise now: its rows are other nodes.
            if found.as_ref().is_some_and(|it| it.1.is_other && it.0.items.len() < 2)
                && level.is_run
                && std::ptr::eq(level, chosen)
            {
                let levels = items_of(self.now, self.after);
                if let Some((now, _)) = identified(self.now, self.after, &levels) {
                    found = Some((now.clone(), self.judge(level, now, &scope)));
                }
            }
            let Some((now, judgement)) = found else { continue };
            if judgement.is_other {
                return Err(self.different_in(level, &now, &judgement));
            }
            for (was, now) in judgement.changes {
                out.note(was, now);
            }
        }
        Ok(true)
    }

    /// The items within a run that is known by one of them, as the rows below the row of a group.
    fn compare_parts_of_run(
        &self,
        levels: &[ItemLevel],
        chosen: &ItemLevel,
        out: &mut ElementComparison,
    ) -> Result<(), Difference> {
        let within = |level: &ItemLevel, run: &ItemLevel| {
            let is_in = |it: &&Range<usize>| run.range.start <= it.start && it.end <= run.range.end;
            let items: Vec<Range<usize>> = level.items.iter().filter(is_in).cloned().collect();
            ItemLevel { items, ..level.clone() }
        };
        for level in levels.iter().take_while(|it| !std::ptr::eq(*it, chosen)) {
            let old = within(level, chosen);
            if old.items.len() < 2 || old.is_run || level.child == self.before {
                continue;
            }
            let Some(new) = self.counterpart(level) else { continue };
            let new = match self.counterpart(chosen) {
                Some(run) => within(&new, &run),
                None => new,
            };
            self.compare_box(&old, &new, &TextScope::Innermost, out)?;
        }
        Ok(())
    }

    fn judge(&self, was: &ItemLevel, now: &ItemLevel, scope: &TextScope) -> IdentityChange {
        let old = TargetItem {
            structure: self.was,
            level: was,
            target: self.before,
            own: own_nodes(self.was, self.before),
        };
        let new = TargetItem {
            structure: self.now,
            level: now,
            target: self.after,
            own: own_nodes(self.now, self.after),
        };
        judge(&old, &new, scope)
    }

    /// The same item in the later tree: of the same element, or as far away from the target.
    fn counterpart(&self, level: &ItemLevel) -> Option<ItemLevel> {
        let child = self.same_or_as_far(level.child)?;
        let parent = self.now.parents[child] as usize;
        if !level.is_run {
            return Some(self.now.block(child, parent));
        }
        self.now.run(child, parent).or_else(|| {
            // The only one that is left.
            let range = parent + 1..self.now.tree.end(parent);
            let items = vec![range.clone()];
            Some(ItemLevel { range, child, parent, is_run: true, items })
        })
    }

    fn same_or_as_far(&self, of: usize) -> Option<usize> {
        let element = self.was.tree.nodes[of].element;
        let is_new =
            self.was.tree.nodes[self.before].element != self.now.tree.nodes[self.after].element;
        let mut path = std::iter::once(self.after).chain(self.now.around(self.after));
        if element > 0
            && !is_new
            && let Some(same) = path.by_ref().find(|it| self.now.tree.nodes[*it].element == element)
        {
            return Some(same);
        }
        let steps = std::iter::once(self.before).chain(self.was.around(self.before));
        let steps = steps.take_while(|it| *it != of).count();
        let found = std::iter::once(self.after).chain(self.now.around(self.after)).nth(steps)?;
        (self.now.tree.nodes[found].role == self.was.tree.nodes[of].role).then_some(found)
    }

    /// The header of the column, where the same control stands in several.
    fn compare_headers(&self, out: &mut ElementComparison) -> Result<(), Difference> {
        let Some((cell, old)) = column_header(self.was, self.before) else { return Ok(()) };
        let Some(cell) = self.same_or_as_far(cell) else { return Ok(()) };
        let new = header_of(self.now, cell, self.after).unwrap_or_default();
        if plain_header(&old) != plain_header(&new) {
            let container = |label: String| Container { role: Role::ColumnHeader, label };
            return Err(self.different(Some(container(old)), Some(container(new))));
        }
        out.note(old, new);
        Ok(())
    }

    fn compare_dialogs(&self, out: &mut ElementComparison) -> Result<(), Difference> {
        let dialog = |structure: &TreeStructure<'_>, of: usize| {
            let is_dialog = |it: &usize| {
                matches!(structure.tree.nodes[*it].role, Role::Dialog | Role::AlertDialog)
            };
            structure.around(of).find(is_dialog)
        };
        let (old, new) = (dialog(self.was, self.before), dialog(self.now, self.after));
        match (old, new) {
            (Some(old), Some(new)) => {
                let (old, new) = (alone(self.was, old), alone(self.now, new));
                self.compare_box(&old, &new, &TextScope::Dialog, out)
            }
            (None, None) => Ok(()),
            _ => Err(self.different(None, None)),
        }
    }

    /// What stands around a target that is not one of several.
    fn compare_surroundings(&self, out: &mut ElementComparison) -> Result<(), Difference> {
        const MOST_NODES: usize = 60;
        let mut inner = self.before;
        let mut scope = TextScope::Lone;
        let own = self.before..self.was.tree.end(self.before);
        for around in self.was.around(self.before) {
            let role = self.was.tree.nodes[around].role;
            let size = self.was.tree.end(around) - around;
            if size > MOST_NODES {
                return Ok(());
            }
            if TreeStructure::is_apart(role) || is_landmark(role) {
                return self.compare_text_before(inner, around, out);
            }
            let said = tokens(self.was, around..self.was.tree.end(around), &own);
            let is_plain = |it: &ItemToken| !it.is_own && !it.is_control_name();
            if said.iter().any(|it| !it.is_own) && inner != around {
                let Some(now) = self.same_or_as_far(around) else { return Ok(()) };
                let (old, new) = (alone(self.was, around), alone(self.now, now));
                self.compare_box(&old, &new, &scope, out)?;
                // What stands further on is what the control brings up: the panel of a tab, the results of a search.
                scope = TextScope::Further;
                // Where there are only names of controls, a state or a counter, the name of the thing is further away.
                let is_name = |it: &ItemToken| {
                    is_plain(it)
                        && (matches!(it.form, TextForm::Words | TextForm::Code)
                            || it.is_head
                            || it.words(self.was.tree) > 1 && it.form != TextForm::Volatile)
                };
                if said.iter().any(is_name) {
                    return Ok(());
                }
            }
            inner = around;
        }
        Ok(())
    }

    /// The text right before a control, as `Send 10 to Bob` before `Confirm`, or the field with a value there, in a page
    /// in which nothing was done since.
    fn compare_text_before(
        &self,
        inner: usize,
        around: usize,
        out: &mut ElementComparison,
    ) -> Result<(), Difference> {
        let was_used = |it: &Node| self.was.edited.contains(&it.element);
        if self.was.tree.nodes[around..self.was.tree.end(around)].iter().any(was_used) {
            return Ok(());
        }
        let Some(now) = self.same_or_as_far(inner) else { return Ok(()) };
        match (text_before(self.was, inner), text_before(self.now, now)) {
            (Some(old), Some(new)) => self.compare_box(&old, &new, &TextScope::Lone, out),
            _ => Ok(()),
        }
    }

    fn compare_box(
        &self,
        old: &ItemLevel,
        new: &ItemLevel,
        scope: &TextScope,
        out: &mut ElementComparison,
    ) -> Result<(), Difference> {
        let judgement = self.judge(old, new, scope);
        if judgement.is_other {
            return Err(self.different_in(old, new, &judgement));
        }
        for (was, now) in judgement.changes {
            out.note(was, now);
        }
        Ok(())
    }

    /// The heading above, or the part of the page.
    fn compare_parts(
        &self,
        is_identified: bool,
        out: &mut ElementComparison,
    ) -> Result<(), Difference> {
        let old = part_of_page(self.was, self.before);
        let new = part_of_page(self.now, self.after);
        let container = |part: &Option<(usize, Role, String)>| {
            part.as_ref().map(|it| Container { role: it.1, label: it.2.clone() })
        };
        let is_same = match (&old, &new) {
            (None, None) => true,
            (Some(was), Some(now)) => {
                let is_by_heading =
                    |it: &(usize, Role, String)| it.1 == Role::Heading && !text::is_blank(&it.2);
                let is_same_kind = was.1 == now.1 || is_by_heading(was) || is_by_heading(now);
                let is_same_label = stable(&was.2) == stable(&now.2);
                if is_same_kind && !is_same_label && is_counting(&was.2, &now.2) {
                    out.note(was.2.clone(), now.2.clone());
                    true
                } else {
                    // An item may be moved below another heading, as a card on a board.
                    let is_moved = is_identified
                        && self.is_same_element(self.before, self.after)
                        && !self.is_same_element(was.0, now.0);
                    is_same_kind && is_same_label || is_moved
                }
            }
            _ => is_identified,
        };
        if is_same { Ok(()) } else { Err(self.different(container(&old), container(&new))) }
    }

    fn is_same_element(&self, before: usize, after: usize) -> bool {
        self.was.tree.nodes[before].element == self.now.tree.nodes[after].element
    }

    fn different(&self, was: Option<Container>, now: Option<Container>) -> Difference {
        let old = Fingerprint::without_numbers_and_times(self.was.tree, self.before);
        let new = Fingerprint::without_numbers_and_times(self.now.tree, self.after);
        let old = Fingerprint { container: was, ..old };
        Box::new((old, Fingerprint { container: now, ..new }))
    }

    fn different_in(
        &self,
        was: &ItemLevel,
        now: &ItemLevel,
        judgement: &IdentityChange,
    ) -> Difference {
        let old = Container { role: role_of(self.was, was), label: judgement.was.clone() };
        let new = Container { role: role_of(self.now, now), label: judgement.now.clone() };
        self.different(Some(old), Some(new))
    }
}

/// A node with the paragraph or box of text that stands right before it, or with the field before it and what is said in
/// between.
fn text_before(structure: &TreeStructure<'_>, node: usize) -> Option<ItemLevel> {
    let tree = structure.tree;
    let parent = structure.parents[node] as usize;
    let siblings: Vec<usize> = tree.children(parent).take_while(|it| *it < node).collect();
    let has_control = |it: &usize| tree.nodes[*it..tree.end(*it)].iter().any(is_control);
    let is_field = |it: &usize| {
        let node = &tree.nodes[*it];
        matches!(node.role, Role::TextBox | Role::SearchBox | Role::ComboBox | Role::SpinButton)
            && !tree.value(node).is_empty()
    };
    let field =
        siblings.iter().rev().find(|it| has_control(it) || tree.nodes[**it].role == Role::Heading);
    let before = match (siblings.last()?, field.filter(|it| is_field(it))) {
        (_, Some(field)) => *field,
        (last, None) if tree.nodes[*last].role == Role::Heading || has_control(last) => {
            return None;
        }
        (last, None) => *last,
    };
    let range = before..tree.end(node);
    Some(ItemLevel { range: range.clone(), child: node, parent, is_run: true, items: vec![range] })
}

/// Whether another element of the same kind is called the same apart from a number.
fn is_numbered(tree: &Tree, index: usize, name_of_it: &str) -> bool {
    if !has_digits(name_of_it) || is_quantity(name_of_it) {
        return false;
    }
    let (node, key) = (&tree.nodes[index], without_numbers_and_times(name_of_it));
    tree.nodes.iter().enumerate().any(|(other, it)| {
        other != index
            && it.role == node.role
            && it.frame == node.frame
            && (is_control(it) || is_item(it.role))
            && {
                let name = name(tree, other);
                name != name_of_it && without_numbers_and_times(&name) == key
            }
    })
}

/// A header without the arrows that say how a table is sorted.
fn plain_header(text: &str) -> String {
    let is_arrow = |c: char| matches!(c, '\u{2190}'..='\u{21ff}' | '\u{25a0}'..='\u{25ff}');
    stable(&text.replace(is_arrow, ""))
}

/// The cell that a target is in and the header of its column, where other columns of its row have the same control.
fn column_header(structure: &TreeStructure<'_>, target: usize) -> Option<(usize, String)> {
    let tree = structure.tree;
    let mut cell = target;
    for row in structure.around(target) {
        let is_row = tree.nodes[row].role == Role::Row;
        let is_one_of = |cells: usize| is_row && cell != target && cells > 1;
        if is_one_of(tree.children(row).filter(|it| has_control(tree, *it, target)).count()) {
            return header_of(structure, cell, target).map(|header| (cell, header));
        }
        cell = row;
    }
    None
}

/// Whether a control like the target is in a node.
fn has_control(tree: &Tree, within: usize, target: usize) -> bool {
    let role = tree.nodes[target].role;
    let mut inside = (within..tree.end(within)).filter(|it| tree.nodes[*it].role == role);
    let first = inside.next();
    first.is_some() && {
        let called = name(tree, target);
        first.into_iter().chain(inside).any(|it| name(tree, it) == called)
    }
}

/// The header above a cell: in the first row before it that has as many cells and no control like the target.
fn header_of(structure: &TreeStructure<'_>, cell: usize, target: usize) -> Option<String> {
    let tree = structure.tree;
    let row = structure.parents[cell] as usize;
    let cells = tree.children(row).count();
    let at = tree.children(row).position(|it| it == cell)?;
    // Boxes that are no table have no columns: what stands before them is the item before.
    let table = structure
        .around(row)
        .find(|it| matches!(tree.nodes[*it].role, Role::Table | Role::Grid | Role::TreeGrid))?;
    let is_header = |it: &usize| {
        tree.nodes[*it].role == Role::Row
            && tree.children(*it).count() == cells
            && !tree.children(*it).any(|cell| has_control(tree, cell, target))
    };
    let header = (table + 1..row).find(is_header)?;
    let header = tree.children(header).nth(at)?;
    Some(name(tree, header)).filter(|it| !it.is_empty())
}
