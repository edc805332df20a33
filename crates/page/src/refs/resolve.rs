//! Resolution of a ref: finds the shown element in the current page and compares the fingerprints.

use super::fingerprint::{
    Container, Fingerprint, identified, items_of, name, own_nodes, page_section, role_of,
    single_item,
};
use super::identity::{IdentityChange, TargetItem, TextScope, compare_identity};
use super::page_parts::{is_item, is_landmark};
use super::replacement::find_replacement;
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

/// A changed text or state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Earlier text.
    pub was: String,
    /// Later text; empty when it is gone.
    pub now: String,
}

/// Result of a resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The element exists with the same fingerprint.
    Same {
        /// Its node.
        node: usize,
        /// Changes outside the fingerprint.
        changes: Vec<Change>,
        /// A number or a time in its name changed.
        is_renumbered: bool,
    },
    /// The element is gone, and exactly one newer element has the same fingerprint.
    Moved {
        /// Its node.
        node: usize,
        /// Changes outside the fingerprint.
        changes: Vec<Change>,
    },
    /// The element exists with another fingerprint.
    Changed {
        /// Earlier fingerprint.
        was: Fingerprint,
        /// Current fingerprint.
        now: Fingerprint,
        /// The one node that has the earlier fingerprint now.
        successor: Option<usize>,
    },
    /// The element is gone.
    Gone {
        /// Earlier fingerprint.
        was: Fingerprint,
        /// The most similar nodes.
        nearest: Vec<usize>,
    },
}

/// Resolves an element of one tree in a later one. `edited` are the elements of its document whose values the
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
            let comparison = compare_elements(&before, node, &after, found);
            match comparison.other {
                None => Resolution::Same {
                    node: found,
                    changes: comparison.changes,
                    is_renumbered: comparison.is_renumbered,
                },
                Some(difference) => {
                    let (was, now) = *difference;
                    let successor = match find_replacement(&before, node, &after) {
                        Resolution::Moved { node, .. } => Some(node),
                        Resolution::Gone { nearest, .. } if nearest.len() == 1 => {
                            nearest.first().copied()
                        }
                        _ => None,
                    };
                    Resolution::Changed { was, now, successor }
                }
            }
        }
        None => find_replacement(&before, node, &after),
    }
}

pub(super) fn document_of(tree: &Tree, node: usize) -> &str {
    tree.frames.get(usize::from(tree.nodes[node].frame)).map_or("", |frame| &*frame.document)
}

/// Result of comparing two elements.
#[derive(Default)]
pub(super) struct ElementComparison {
    pub(super) changes: Vec<Change>,
    is_renumbered: bool,
    /// The fingerprints differ: the earlier and the later one.
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

/// Two elements under comparison.
struct ComparedElements<'s, 't> {
    was: &'s TreeStructure<'t>,
    before: usize,
    now: &'s TreeStructure<'t>,
    after: usize,
}

pub(super) fn compare_elements(
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

/// Two different fingerprints.
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
            self.compare_author_names(old, new, out)?;
            self.compare_first_words()?;
        } else {
            self.compare_names(out)?;
        }
        self.compare_states(old, new, out);
        let is_identified = self.compare_items(&levels, out)?;
        self.compare_headers(out)?;
        self.compare_dialogs(out)?;
        self.compare_sections(is_identified, out)?;
        if !is_identified {
            self.compare_surroundings(out)?;
        }
        Ok(())
    }

    /// Compares the names of the elements themselves.
    fn compare_names(&self, out: &mut ElementComparison) -> Result<(), Difference> {
        let (old, new) = (name(self.was.tree, self.before), name(self.now.tree, self.after));
        if old == new {
            return Ok(());
        }
        let is_identifying = |structure: &TreeStructure<'_>, at: usize, name: &str| {
            has_date(name) || ends_in_number(name) || is_numbered(structure.tree, at, name)
        };
        let has_number = is_identifying(self.was, self.before, &old);
        let stable_part = match has_number || is_identifying(self.now, self.after, &new) {
            true => without_times,
            false => without_numbers_and_times,
        };
        if stable_part(&old) != stable_part(&new) {
            return Err(self.different(None, None));
        }
        out.is_renumbered = true;
        out.note(old, new);
        Ok(())
    }

    /// Compares the author's names of two boxes.
    fn compare_author_names(
        &self,
        old: &Node,
        new: &Node,
        out: &mut ElementComparison,
    ) -> Result<(), Difference> {
        let author_name = |tree: &Tree, node: &Node| match node.states.has_author_name() {
            true => text::collapse(tree.name(node)).into_owned(),
            false => String::new(),
        };
        let (old, new) = (author_name(self.was.tree, old), author_name(self.now.tree, new));
        if without_numbers_and_times(&old) != without_numbers_and_times(&new) {
            return Err(self.different(None, None));
        }
        out.note(old, new);
        Ok(())
    }

    /// Compares the first words of a control with several texts: `Delete account` before its earlier text
    /// makes it another control.
    fn compare_first_words(&self) -> Result<(), Difference> {
        if !is_control(&self.was.tree.nodes[self.before]) {
            return Ok(());
        }
        let stable_texts = |structure: &TreeStructure<'_>, of: usize| -> Vec<u64> {
            let all = tokens(structure, of..structure.tree.end(of), &(0..0));
            let is_stable =
                |it: &&ItemToken| !matches!(it.form, TextForm::Number | TextForm::Volatile);
            all.iter().filter(is_stable).map(|it| it.stable).collect()
        };
        let (old, new) = (stable_texts(self.was, self.before), stable_texts(self.now, self.after));
        match old.first() {
            Some(first) if new.first() != Some(first) && new.contains(first) => {
                Err(self.different(None, None))
            }
            _ => Ok(()),
        }
    }

    /// Compares the states and the value of the element itself.
    fn compare_states(&self, old: &Node, new: &Node, out: &mut ElementComparison) {
        let toggles =
            [(old.checked, new.checked, "checked"), (old.pressed, new.pressed, "pressed")];
        for (was, now, word) in toggles {
            let text = |toggle: Option<Tristate>| match toggle {
                Some(Tristate::On) => word.to_owned(),
                Some(Tristate::Mixed) => "mixed".to_owned(),
                _ => format!("not {word}"),
            };
            out.note(text(was), text(now));
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
            let text = |is: Option<bool>| match is {
                Some(true) => yes,
                Some(false) => no,
                None => "",
            };
            out.note(text(was), text(now));
        }
    }

    /// Compares the items that contain them. Returns `true` if one of them has an identity.
    fn compare_items(
        &self,
        levels: &[ItemLevel],
        out: &mut ElementComparison,
    ) -> Result<bool, Difference> {
        let Some((chosen, _)) = identified(self.was, self.before, levels) else {
            return Ok(false);
        };
        if chosen.is_run {
            self.compare_items_in_run(levels, chosen, out)?;
        }
        let outer = levels.iter().skip_while(|it| !std::ptr::eq(*it, chosen));
        for level in outer {
            let scope = match std::ptr::eq(level, chosen) {
                true => TextScope::Innermost,
                // The other runs of the same list do not count as surroundings.
                false if chosen.is_run => {
                    TextScope::Outer(chosen.parent..self.was.tree.end(chosen.parent))
                }
                false => TextScope::Outer(chosen.range.clone()),
            };
            let mut found = self.counterpart(level).map(|now| {
                let identity = self.compare_identity(level, &now, &scope);
                (now, identity)
            });
            // A table whose structure is read differently now: its rows are other nodes.
            if found.as_ref().is_some_and(|it| it.1.is_other && it.0.items.len() < 2)
                && level.is_run
                && std::ptr::eq(level, chosen)
            {
                let levels = items_of(self.now, self.after);
                if let Some((now, _)) = identified(self.now, self.after, &levels) {
                    found = Some((now.clone(), self.compare_identity(level, now, &scope)));
                }
            }
            let Some((now, identity)) = found else { continue };
            if identity.is_other {
                return Err(self.different_in(level, &now, &identity));
            }
            for (was, now) in identity.changes {
                out.note(was, now);
            }
        }
        Ok(true)
    }

    /// Compares the items within a run that is identified by one of them, as the rows below a group's row.
    fn compare_items_in_run(
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

    fn compare_identity(
        &self,
        was: &ItemLevel,
        now: &ItemLevel,
        scope: &TextScope,
    ) -> IdentityChange {
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
        compare_identity(&old, &new, scope)
    }

    /// The same item in the later tree: by element, or by distance from the target.
    fn counterpart(&self, level: &ItemLevel) -> Option<ItemLevel> {
        let child = self.counterpart_node(level.child)?;
        let parent = self.now.parents[child] as usize;
        if !level.is_run {
            return Some(self.now.similar_siblings(child, parent));
        }
        self.now.run(child, parent).or_else(|| {
            // The only one left.
            let range = parent + 1..self.now.tree.end(parent);
            let items = vec![range.clone()];
            Some(ItemLevel { range, child, parent, is_run: true, items })
        })
    }

    fn counterpart_node(&self, of: usize) -> Option<usize> {
        let element = self.was.tree.nodes[of].element;
        let is_new =
            self.was.tree.nodes[self.before].element != self.now.tree.nodes[self.after].element;
        let mut path = std::iter::once(self.after).chain(self.now.ancestors(self.after));
        if element > 0
            && !is_new
            && let Some(same) = path.by_ref().find(|it| self.now.tree.nodes[*it].element == element)
        {
            return Some(same);
        }
        let steps = std::iter::once(self.before).chain(self.was.ancestors(self.before));
        let steps = steps.take_while(|it| *it != of).count();
        let found = std::iter::once(self.after).chain(self.now.ancestors(self.after)).nth(steps)?;
        (self.now.tree.nodes[found].role == self.was.tree.nodes[of].role).then_some(found)
    }

    /// Compares the column headers, where the same control is in several columns.
    fn compare_headers(&self, out: &mut ElementComparison) -> Result<(), Difference> {
        let Some((cell, old)) = column_header(self.was, self.before) else { return Ok(()) };
        let Some(cell) = self.counterpart_node(cell) else { return Ok(()) };
        let new = header_of(self.now, cell, self.after).unwrap_or_default();
        if header_without_arrows(&old) != header_without_arrows(&new) {
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
            structure.ancestors(of).find(is_dialog)
        };
        let (old, new) = (dialog(self.was, self.before), dialog(self.now, self.after));
        match (old, new) {
            (Some(old), Some(new)) => {
                let (old, new) = (single_item(self.was, old), single_item(self.now, new));
                self.compare_box(&old, &new, &TextScope::Dialog, out)
            }
            (None, None) => Ok(()),
            _ => Err(self.different(None, None)),
        }
    }

    /// Compares the surroundings of a target that is in no list.
    fn compare_surroundings(&self, out: &mut ElementComparison) -> Result<(), Difference> {
        const MAX_NODES: usize = 60;
        let mut inner = self.before;
        let mut scope = TextScope::Lone;
        let own = self.before..self.was.tree.end(self.before);
        for ancestor in self.was.ancestors(self.before) {
            let role = self.was.tree.nodes[ancestor].role;
            let size = self.was.tree.end(ancestor) - ancestor;
            if size > MAX_NODES {
                return Ok(());
            }
            if TreeStructure::is_self_contained(role) || is_landmark(role) {
                return self.compare_text_before(inner, ancestor, out);
            }
            let texts = tokens(self.was, ancestor..self.was.tree.end(ancestor), &own);
            let is_plain = |it: &ItemToken| !it.is_own && !it.is_control_name();
            if texts.iter().any(|it| !it.is_own) && inner != ancestor {
                let Some(now) = self.counterpart_node(ancestor) else { return Ok(()) };
                let (old, new) = (single_item(self.was, ancestor), single_item(self.now, now));
                self.compare_box(&old, &new, &scope, out)?;
                // Content further on is controlled by the target: the panel of a tab, the results of a
                // search.
                scope = TextScope::Further;
                // Where there are only names of controls, a state or a counter, the identifying name is
                // further away.
                let is_name = |it: &ItemToken| {
                    is_plain(it)
                        && (matches!(it.form, TextForm::Words | TextForm::Code)
                            || it.is_head
                            || it.word_count(self.was.tree) > 1 && it.form != TextForm::Volatile)
                };
                if texts.iter().any(is_name) {
                    return Ok(());
                }
            }
            inner = ancestor;
        }
        Ok(())
    }

    /// Compares the text right before a control, as `Send 10 to Bob` before `Confirm`, or the filled field
    /// there, if the caller did nothing on the page since.
    fn compare_text_before(
        &self,
        inner: usize,
        ancestor: usize,
        out: &mut ElementComparison,
    ) -> Result<(), Difference> {
        let was_edited = |it: &Node| self.was.edited.contains(&it.element);
        if self.was.tree.nodes[ancestor..self.was.tree.end(ancestor)].iter().any(was_edited) {
            return Ok(());
        }
        let Some(now) = self.counterpart_node(inner) else { return Ok(()) };
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
        let identity = self.compare_identity(old, new, scope);
        if identity.is_other {
            return Err(self.different_in(old, new, &identity));
        }
        for (was, now) in identity.changes {
            out.note(was, now);
        }
        Ok(())
    }

    /// Compares the heading above, or the page section.
    fn compare_sections(
        &self,
        is_identified: bool,
        out: &mut ElementComparison,
    ) -> Result<(), Difference> {
        let old = page_section(self.was, self.before);
        let new = page_section(self.now, self.after);
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
        let old = Fingerprint::without_container(self.was.tree, self.before);
        let new = Fingerprint::without_container(self.now.tree, self.after);
        let old = Fingerprint { container: was, ..old };
        Box::new((old, Fingerprint { container: now, ..new }))
    }

    fn different_in(
        &self,
        was: &ItemLevel,
        now: &ItemLevel,
        identity: &IdentityChange,
    ) -> Difference {
        let old = Container { role: role_of(self.was, was), label: identity.was.clone() };
        let new = Container { role: role_of(self.now, now), label: identity.now.clone() };
        self.different(Some(old), Some(new))
    }
}

/// A node with the paragraph or text box right before it, or with the field before it and the text in
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

/// True when another element of the same role has the same name apart from a number.
fn is_numbered(tree: &Tree, index: usize, own_name: &str) -> bool {
    if !has_digits(own_name) || is_quantity(own_name) {
        return false;
    }
    let (node, key) = (&tree.nodes[index], without_numbers_and_times(own_name));
    tree.nodes.iter().enumerate().any(|(other, it)| {
        other != index
            && it.role == node.role
            && it.frame == node.frame
            && (is_control(it) || is_item(it.role))
            && {
                let name = name(tree, other);
                name != own_name && without_numbers_and_times(&name) == key
            }
    })
}

/// A header without sort arrows.
fn header_without_arrows(text: &str) -> String {
    let is_arrow = |c: char| matches!(c, '\u{2190}'..='\u{21ff}' | '\u{25a0}'..='\u{25ff}');
    stable(&text.replace(is_arrow, ""))
}

/// The cell that contains a target and the header of its column, where other columns of its row have the same
/// control.
fn column_header(structure: &TreeStructure<'_>, target: usize) -> Option<(usize, String)> {
    let tree = structure.tree;
    let mut cell = target;
    for row in structure.ancestors(target) {
        let is_row = tree.nodes[row].role == Role::Row;
        let is_one_of = |cells: usize| is_row && cell != target && cells > 1;
        if is_one_of(tree.children(row).filter(|it| has_control(tree, *it, target)).count()) {
            return header_of(structure, cell, target).map(|header| (cell, header));
        }
        cell = row;
    }
    None
}

/// True when a node contains a control like the target.
fn has_control(tree: &Tree, within: usize, target: usize) -> bool {
    let role = tree.nodes[target].role;
    let mut controls = (within..tree.end(within)).filter(|it| tree.nodes[*it].role == role);
    let first = controls.next();
    first.is_some() && {
        let target_name = name(tree, target);
        first.into_iter().chain(controls).any(|it| name(tree, it) == target_name)
    }
}

/// The header above a cell: in the first row before it that has as many cells and no control like the target.
fn header_of(structure: &TreeStructure<'_>, cell: usize, target: usize) -> Option<String> {
    let tree = structure.tree;
    let row = structure.parents[cell] as usize;
    let cells = tree.children(row).count();
    let at = tree.children(row).position(|it| it == cell)?;
    // Boxes outside of a table have no columns: the box before them is the previous item.
    let table = structure
        .ancestors(row)
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
