//! Targets: refs, selectors and points, and their resolution to elements of the current page.

use crate::error::{Code, Error, Result};
use crate::note::Note;
use crate::observe::{TabObservation, json, quads};
use crate::progress::Progress;
use crate::tab::{Tab, TabId};
use cdp::Deadline;
use page::ax::{Role, Tree};
use page::find::Query;
use page::refs::{self, Dialect, Fingerprint, RefName, Resolution};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A reference to an element.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A ref of a snapshot.
    Ref(RefName),
    /// A CSS selector, which also matches in shadow trees.
    Css(String),
    /// A role, and a part of the accessible name.
    Role {
        /// The role.
        role: Role,
        /// A part of the name, case-insensitive.
        name: Option<String>,
    },
    /// The innermost element with this text, case-insensitive.
    Text(String),
    /// The form field with this in its label.
    Label(String),
    /// The form field with this in its placeholder.
    Placeholder(String),
    /// The element with this `data-testid`.
    TestId(String),
    /// The element at this point of the viewport, in CSS pixels.
    Point {
        /// From the left.
        x: f64,
        /// From the top.
        y: f64,
    },
}

/// The target syntax, for messages.
const SYNTAX: &str = "a ref such as `@e3`, `css=…`, `role=button[name=\"…\"]`, `text=…`, `label=…`, \
     `placeholder=…`, `testid=…` or `xy=120,40`";

impl FromStr for Target {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let text = text.trim();
        if let Some(name) = pasted(text) {
            return Ok(Self::Ref(name));
        }
        if let Some((kind, rest)) = text.split_once('=') {
            let rest = rest.trim();
            let some = |make: fn(String) -> Self| match unquoted(rest) {
                "" => Err(format!("`{kind}=` needs something after it")),
                words => Ok(make(words.to_owned())),
            };
            match kind {
                "css" if rest.is_empty() => return Err("`css=` needs a selector".into()),
                "css" => return Ok(Self::Css(rest.to_owned())),
                "text" => return some(Self::Text),
                "label" => return some(Self::Label),
                "placeholder" => return some(Self::Placeholder),
                "testid" => return some(Self::TestId),
                "role" => return role(rest),
                "xy" => return point(rest),
                "ref" => {
                    let name = RefName::parse(rest, Dialect::Mcp);
                    return name.map(Self::Ref).map_err(|bad| bad.to_string());
                }
                _ => {}
            }
        }
        let is_bare = text.strip_prefix('e').is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        });
        let is_ref = text.starts_with('@') || is_bare || RefName::parse(text, Dialect::Cli).is_ok();
        if is_ref {
            return RefName::parse(text, Dialect::Cli)
                .map(Self::Ref)
                .map_err(|bad| bad.to_string());
        }
        if text.is_empty() {
            return Err(format!("expected {SYNTAX}"));
        }
        Ok(Self::Css(text.to_owned()))
    }
}

/// A ref copied from a snapshot: `[ref=@e3]`, `[ref=@e3 disabled=true]`.
fn pasted(text: &str) -> Option<RefName> {
    let inside = text.strip_prefix("[ref=")?.strip_suffix(']')?;
    let name = inside.split(' ').next().unwrap_or_default();
    RefName::parse(name, Dialect::Mcp).ok()
}

fn unquoted(text: &str) -> &str {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(text)
}

/// Parses `button`, `button[name="Save"]`.
fn role(text: &str) -> std::result::Result<Target, String> {
    let (word, rest) = text.split_once('[').unwrap_or((text, ""));
    let known = Role::named(word.trim()).ok_or_else(|| {
        format!("`{}` is no role: expected such as `role=button[name=\"Save\"]`", word.trim())
    })?;
    let rest = rest.trim();
    if rest.is_empty() {
        return Ok(Target::Role { role: known, name: None });
    }
    let name = rest.strip_suffix(']').and_then(|rest| rest.trim().strip_prefix("name="));
    let name = name.map(|name| unquoted(name.trim()).replace("\\\"", "\""));
    match name.filter(|name| !name.is_empty()) {
        Some(name) => Ok(Target::Role { role: known, name: Some(name) }),
        None => Err(format!("`[{rest}` is not understood: expected `[name=\"…\"]`")),
    }
}

fn point(text: &str) -> std::result::Result<Target, String> {
    let number =
        |text: &str| text.trim().parse::<f64>().ok().filter(|at| at.is_finite() && *at >= 0.0);
    let found = text.split_once(',').and_then(|(x, y)| Some((number(x)?, number(y)?)));
    match found {
        Some((x, y)) => Ok(Target::Point { x, y }),
        None => Err(format!("`xy={text}` is not a point: expected such as `xy=120,40`")),
    }
}

impl Target {
    /// The name of the strategy.
    pub fn strategy(&self) -> &'static str {
        match self {
            Self::Ref(_) => "ref",
            Self::Css(_) => "css",
            Self::Role { .. } => "role",
            Self::Text(_) => "text",
            Self::Label(_) => "label",
            Self::Placeholder(_) => "placeholder",
            Self::TestId(_) => "testid",
            Self::Point { .. } => "coordinates",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ref(name) => name.fmt(f),
            Self::Css(css) => f.write_str(css),
            Self::Role { role, name: None } => write!(f, "role={}", role.name()),
            Self::Role { role, name: Some(name) } => {
                write!(f, "role={}[name={}]", role.name(), json(name))
            }
            Self::Text(text) => write!(f, "text={text}"),
            Self::Label(text) => write!(f, "label={text}"),
            Self::Placeholder(text) => write!(f, "placeholder={text}"),
            Self::TestId(id) => write!(f, "testid={id}"),
            Self::Point { x, y } => write!(f, "xy={x},{y}"),
        }
    }
}

impl Serialize for Target {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Css(css) => to.collect_str(&format_args!("css={css}")),
            // A bare `e3` would be parsed as `@e3`.
            Self::Ref(name @ RefName::Backend { .. }) => {
                to.collect_str(&format_args!("ref={name}"))
            }
            other => to.collect_str(other),
        }
    }
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Target {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Target".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

/// The first node of a target in the current page. A ref whose fingerprint has changed is refused.
pub(crate) async fn find(
    tab: &Tab,
    observation: &mut TabObservation,
    tree: &Arc<Tree>,
    target: &Target,
    progress: &mut Progress,
) -> Result<usize> {
    let all = candidates(tab, observation, tree, target, progress).await?;
    let first = all.first().copied().ok_or_else(|| none(target))?;
    if all.len() > 1 {
        let role = tree.nodes[first].role.name();
        let note =
            format!("`{target}` matches {} elements; the first was taken, a {role}", all.len());
        let note = Note::new("first-of-several", note);
        progress.notes.push(note.with_page_text(&refs::name(tree, first)));
    }
    Ok(first)
}

/// The only node of a target in the current page.
///
/// # Errors
/// `target.ambiguous` with the candidates, unless `nth` selects one, counted from 0.
pub(crate) async fn find_one(
    tab: &Tab,
    observation: &mut TabObservation,
    tree: &Arc<Tree>,
    (target, nth): (&Target, Option<u32>),
    progress: &mut Progress,
) -> Result<usize> {
    let all = candidates(tab, observation, tree, target, progress).await?;
    let mut all = prefer_visible(tree, all);
    if all.len() > 1
        && nth.is_none()
        && matches!(target, Target::Text(_))
        && let Some(one) = same_control(observation, tree, &all, progress.deadline).await
    {
        all = vec![one];
    }
    match (all.as_slice(), nth) {
        ([], _) => Err(none(target)),
        (all, Some(nth)) => all.get(nth as usize).copied().ok_or_else(|| {
            Error::new(Code::TargetNotFound)
                .message(format!(
                    "`{target}` matches {} elements, there is no number {nth}",
                    all.len()
                ))
                .evidence("count", all.len())
        }),
        ([one], None) => Ok(*one),
        (all, None) => Err(Error::new(Code::TargetAmbiguous)
            .message(format!("`{target}` matches {} elements", all.len()))
            .evidence("candidates", describe_candidates(observation, tree, all))),
    }
}

/// The control to act on, if the candidates are one control, its label and the label's content.
async fn same_control(
    observation: &TabObservation,
    tree: &Tree,
    all: &[usize],
    deadline: Deadline,
) -> Option<usize> {
    let frame = tree.nodes[all[0]].frame;
    if all.len() > MAX_CANDIDATES || all.iter().any(|node| tree.nodes[*node].frame != frame) {
        return None;
    }
    let world = observation.world_of(&tree.frames.get(usize::from(frame))?.document)?;
    let numbers: Vec<u32> = all.iter().map(|node| tree.nodes[*node].element).collect();
    let script = format!("agbrowse.commonControl({})", json(&numbers));
    let number: u32 = world.ask::<Option<u32>>(&script, deadline).await.ok()??;
    all.iter().copied().find(|node| tree.nodes[*node].element == number)
}

/// Drops visually hidden candidates, unless there are no others.
fn prefer_visible(tree: &Tree, all: Vec<usize>) -> Vec<usize> {
    let visible: Vec<usize> =
        all.iter().copied().filter(|node| !tree.nodes[*node].states.is_hidden()).collect();
    if visible.is_empty() { all } else { visible }
}

/// Candidates listed at most.
const MAX_CANDIDATES: usize = 12;

/// Describes nodes as lines with refs that can be used from here on.
fn describe_candidates(
    observation: &mut TabObservation,
    tree: &Arc<Tree>,
    nodes: &[usize],
) -> Vec<String> {
    let nodes = &nodes[..nodes.len().min(MAX_CANDIDATES)];
    let numbers = observation.issue_refs(tree, nodes);
    let line = |(node, number): (&usize, u32)| {
        format!("@e{number} {}", describe(&Fingerprint::new(tree, *node)))
    };
    nodes.iter().zip(numbers).map(line).collect()
}

/// The error for a target that matches nothing.
pub(crate) fn none(target: &Target) -> Error {
    let message = match target {
        Target::Css(css) => format!("nothing on the page matches `{css}`"),
        Target::Text(text) => format!("the text {text:?} is not on the page"),
        Target::Role { role, name: Some(name) } => {
            format!("no {} on the page has {name:?} in its name", role.name())
        }
        Target::Role { role, name: None } => format!("there is no {} on the page", role.name()),
        Target::Label(label) => format!("no field on the page has {label:?} in its label"),
        other => format!("nothing on the page is `{other}`"),
    };
    Error::new(Code::TargetNotFound).message(message).evidence("target", target.to_string())
}

/// Roles of form fields.
const FIELDS: &[Role] = &[
    Role::TextBox,
    Role::SearchBox,
    Role::ComboBox,
    Role::CheckBox,
    Role::Radio,
    Role::Switch,
    Role::Slider,
    Role::SpinButton,
    Role::ListBox,
    Role::Date,
    Role::DateTime,
    Role::InputTime,
    Role::ColorWell,
    Role::File,
];

fn is_field(node: &page::ax::Node) -> bool {
    FIELDS.contains(&node.role)
        || node.states.is_editable()
        || node.states.is_file() && !node.states.is_visible_proxy()
}

/// Labels with these words that are drawn in place of a hidden control.
fn stand_in_labels(tree: &Tree, words: Option<&str>) -> Vec<usize> {
    let mut needle = words.map(page::text::Needle::new);
    let all = (0..tree.nodes.len()).filter(|index| tree.nodes[*index].states.is_visible_proxy());
    all.filter(|index| {
        needle.as_mut().is_none_or(|needle| needle.is_contained_in(&refs::name(tree, *index)))
    })
    .collect()
}

/// All candidates for a target in the current page, in reading order.
async fn candidates(
    tab: &Tab,
    observation: &mut TabObservation,
    tree: &Arc<Tree>,
    target: &Target,
    progress: &mut Progress,
) -> Result<Vec<usize>> {
    let (deadline, notes) = (progress.deadline, &mut progress.notes);
    let has_element = |node: &usize| tree.nodes[*node].element > 0;
    Ok(match target {
        Target::Ref(name) => {
            let (node, found) = find_ref(observation, tree, name)?;
            // A repeated resolution adds the same note once.
            notes
                .extend(found.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
            vec![node]
        }
        Target::Css(css) => find_in_tree(tab, observation, tree, css, css, deadline).await?,
        Target::TestId(id) => {
            let css = format!("[data-testid={}]", json(id));
            find_in_tree(tab, observation, tree, &css, &target.to_string(), deadline).await?
        }
        Target::Placeholder(text) => {
            let css = format!("[placeholder*={} i]", json(text));
            find_in_tree(tab, observation, tree, &css, &target.to_string(), deadline).await?
        }
        Target::Role { role, name } => {
            let query = Query { role: Some(*role), name: name.clone(), ..Query::default() };
            let mut found = page::find::find(tree, &query);
            found.retain(has_element);
            // A hidden checkbox is represented by the label drawn in its place.
            if found.is_empty() && matches!(role, Role::CheckBox | Role::Radio | Role::Switch) {
                found = stand_in_labels(tree, name.as_deref());
                found.retain(|index| tree.nodes[*index].checked.is_some());
            }
            prefer_exact(tree, found, name.as_deref())
        }
        Target::Label(label) => {
            let query = Query { name: Some(label.clone()), ..Query::default() };
            let mut found = page::find::find(tree, &query);
            found.retain(|node| has_element(node) && is_field(&tree.nodes[*node]));
            if found.is_empty() {
                found = stand_in_labels(tree, Some(label));
            }
            prefer_exact(tree, found, Some(label))
        }
        Target::Text(text) => {
            let query = Query { text: Some(text.clone()), ..Query::default() };
            let mut found = page::find::find(tree, &query);
            found.retain(has_element);
            prefer_exact(tree, innermost(tree, &found), Some(text))
        }
        Target::Point { x, y } => {
            let found = point_at(tab, observation, tree, (*x, *y), deadline).await?;
            found.map(|(node, _)| node).into_iter().collect()
        }
    })
}

/// The only exact match, if there is just one; else all.
fn prefer_exact(tree: &Tree, found: Vec<usize>, words: Option<&str>) -> Vec<usize> {
    let Some(words) = words.filter(|_| found.len() > 1) else { return found };
    let mut needle = page::text::Needle::new(words);
    let exact: Vec<usize> =
        found.iter().copied().filter(|node| needle.equals(&refs::name(tree, *node))).collect();
    if exact.len() == 1 { exact } else { found }
}

/// Drops candidates that contain others.
pub(crate) fn innermost(tree: &Tree, found: &[usize]) -> Vec<usize> {
    let holds = |node: usize| {
        let end = tree.nodes[node].end as usize;
        found.iter().any(|other| *other > node && *other < end)
    };
    found.iter().copied().filter(|node| !holds(*node)).collect()
}

/// The nodes of the tree that a selector matches.
async fn find_in_tree(
    tab: &Tab,
    observation: &TabObservation,
    tree: &Tree,
    css: &str,
    spelling: &str,
    deadline: Deadline,
) -> Result<Vec<usize>> {
    let all = find_css(tab, observation, tree, css, deadline).await?;
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let nodes: HashMap<(u16, u32), usize> = tree
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.element > 0)
        .map(|(index, node)| ((node.frame, node.element), index))
        .collect();
    let visible: Vec<usize> = all.iter().filter_map(|place| nodes.get(place).copied()).collect();
    if visible.is_empty() {
        if let Some(error) = aria_hidden_error(observation, tree, all[0], spelling, deadline).await
        {
            return Err(error);
        }
        return Err(Error::new(Code::TargetNotFound)
            .message(format!("the element that `{spelling}` matches is not shown"))
            .evidence("selector", css));
    }
    Ok(visible)
}

/// The error for an element that is drawn but `aria-hidden`, and so not in snapshots.
async fn aria_hidden_error(
    observation: &TabObservation,
    tree: &Tree,
    (frame, element): (u16, u32),
    spelling: &str,
    deadline: Deadline,
) -> Option<Error> {
    let world = observation.world_of(&tree.frames.get(usize::from(frame))?.document)?;
    let at: Option<[i64; 2]> =
        world.ask(&format!("agbrowse.ariaHiddenPoint({element})"), deadline).await.ok()?;
    let [x, y] = at?;
    let how = match frame {
        0 => format!("; `xy={x},{y}` reaches it"),
        _ => String::new(),
    };
    let error = Error::new(Code::TargetNotFound).message(format!(
        "the element that `{spelling}` matches is drawn, but hidden from readers (aria-hidden){how}"
    ));
    Some(error.evidence("target", spelling))
}

/// The hit target at a point, in any frame, and the same point in its document.
pub(crate) async fn point_at(
    tab: &Tab,
    observation: &TabObservation,
    tree: &Tree,
    (mut x, mut y): (f64, f64),
    deadline: Deadline,
) -> Result<Option<(usize, (f64, f64))>> {
    let mut frame = 0_u16;
    loop {
        let document = tree.frames.get(usize::from(frame)).map(|frame| &*frame.document);
        let Some(world) = document.and_then(|document| observation.world_of(document)) else {
            return Ok(None);
        };
        let at: Option<HitTestReply> = world
            .ask(&format!("agbrowse.elementAt({x}, {y})"), deadline)
            .await
            .map_err(|error| error.explain(tab))?;
        let Some(at) = at else { return Ok(None) };
        // The point was chosen in a screenshot that showed another element there.
        if let Some(was) = at.was {
            return Err(Error::new(Code::SnapshotRefStale)
                .message(format!(
                    "in the last screenshot there was {was} at {x},{y}: take a new one"
                ))
                .evidence("was", was));
        }
        let node = at.path.iter().find_map(|number| {
            tree.nodes.iter().position(|node| node.frame == frame && node.element == *number)
        });
        let inner = node.filter(|_| at.is_frame).and_then(|node| {
            let child = tree.nodes.get(node + 1)?;
            (child.frame != frame && tree.frames[usize::from(child.frame)].parent == Some(frame))
                .then_some(child.frame)
        });
        let inside = match inner {
            Some(inner) if at.is_warped => {
                let inside = quads::inward(observation, tree, inner, (x, y), deadline).await;
                inside.map(|(left, top)| [left, top]).ok()
            }
            _ => at.inside,
        };
        match (inner, inside) {
            (Some(inner), Some([left, top])) => (frame, x, y) = (inner, left, top),
            _ => return Ok(node.map(|node| (node, (x, y)))),
        }
    }
}

/// The observer's hit test.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HitTestReply {
    /// Element numbers at the point, innermost first.
    path: Vec<u32>,
    is_frame: bool,
    /// The frame is rotated or in perspective: the browser has to map the point.
    is_warped: bool,
    /// The same point in the document of the frame.
    inside: Option<[f64; 2]>,
    /// The element there in the last screenshot, if it was another one.
    was: Option<String>,
}

/// Resolves a ref in the current page, with notes on changes of its element.
fn find_ref(
    observation: &mut TabObservation,
    tree: &Arc<Tree>,
    name: &RefName,
) -> Result<(usize, Vec<Note>)> {
    let spelling = name.to_string();
    let issued = lookup_ref(observation, name).map_err(|problem| {
        let code = match problem {
            refs::RefError::Expired(_) => Code::SnapshotRefStale,
            _ => Code::SnapshotRefNotFound,
        };
        let error = Error::new(code).message(problem.to_string()).evidence("ref", &*spelling);
        match issuing_tab(observation, name) {
            Some(tab) => error
                .message(format!(
                    "ref `{name}` was issued by a snapshot of tab {tab}, not of this one"
                ))
                .evidence("tab", tab.to_string()),
            None => error,
        }
    })?;
    if Arc::ptr_eq(&issued.tree, tree) {
        return Ok((issued.node, Vec::new()));
    }
    let frame = issued.tree.nodes[issued.node].frame;
    let document = issued.tree.frames.get(usize::from(frame)).map_or("", |it| &*it.document);
    let edited = observation.registry.edited(document);
    match refs::resolve(&issued.tree, issued.node, tree, &edited) {
        Resolution::Same { node, changes, is_renumbered } => {
            let message = if is_renumbered { refs::MINOR_NOTE } else { refs::STATE_NOTE };
            let note = Note::new("element-changed", message);
            let note = note.with_page_text(&refs::changes_text(&changes));
            Ok((node, if changes.is_empty() { Vec::new() } else { vec![note] }))
        }
        Resolution::Moved { node, changes } => {
            observation.registry.rebind(issued.number, tree, node);
            let message = format!(
                "the page replaced the element of {spelling}: the one with the same fingerprint is used"
            );
            let note = Note::new("element-replaced", message);
            let mut notes = vec![note.with_page_text(&describe(&Fingerprint::new(tree, node)))];
            if !changes.is_empty() {
                let note = Note::new("element-changed", refs::STATE_NOTE);
                notes.push(note.with_page_text(&refs::changes_text(&changes)));
            }
            Ok((node, notes))
        }
        Resolution::Changed { was, now, successor } => {
            let hint = nearest(observation, tree, successor.as_slice());
            let message = refs::changed_message(&was, &now);
            let error = Error::new(Code::SnapshotRefStale)
                .message(format!("{message}. {}{hint}", refs::CHANGED_HINT))
                .evidence("ref", spelling)
                .evidence("was", describe(&was))
                .evidence("now", describe(&now));
            Err(with_hint(error, &hint))
        }
        Resolution::Gone { was, nearest: nodes } => {
            let hint = nearest(observation, tree, &nodes);
            Err(gone_error(&was, &spelling, &hint))
        }
    }
}

fn with_hint(error: Error, hint: &str) -> Error {
    if hint.is_empty() { error } else { error.evidence("hint", hint.trim()) }
}

/// Names the elements most similar to one that cannot be used.
fn nearest(observation: &mut TabObservation, tree: &Arc<Tree>, nodes: &[usize]) -> String {
    let lines: Vec<String> = nodes
        .iter()
        .filter_map(|node| match has_other_meaning(observation, tree, *node) {
            // Its ref stays bound to the old meaning until a snapshot is taken.
            true => Some(describe(&Fingerprint::new(tree, *node))),
            false => describe_candidates(observation, tree, &[*node]).pop(),
        })
        .collect();
    match lines.as_slice() {
        [] => String::new(),
        [one] => format!(" One like it is there now: {one}."),
        many => format!(" Like it are now: {}.", many.join("; ")),
    }
}

/// True if the ref of an element was issued for a fingerprint that it no longer has.
fn has_other_meaning(observation: &mut TabObservation, tree: &Arc<Tree>, node: usize) -> bool {
    let it = &tree.nodes[node];
    let document = &*tree.frames[usize::from(it.frame)].document;
    let number = observation.registry.number(document, it.element);
    let Ok(issued) = observation.registry.lookup(&RefName::Local(number)) else { return false };
    let edited = observation.registry.edited(document);
    !Arc::ptr_eq(&issued.tree, tree)
        && !matches!(
            refs::resolve(&issued.tree, issued.node, tree, &edited),
            Resolution::Same { .. }
        )
}

/// The element that a ref, in either form, was issued for.
fn lookup_ref(
    observation: &TabObservation,
    name: &RefName,
) -> std::result::Result<refs::IssuedRef, refs::RefError> {
    let number = match name {
        RefName::Local(number) => Some(*number),
        RefName::Backend { frame, id, .. } => observation.backend_refs.ref_number(*frame, *id),
    };
    let number = number.ok_or_else(|| refs::RefError::Unknown(name.clone()))?;
    observation.registry.lookup(&RefName::Local(number)).map_err(|problem| match problem {
        refs::RefError::Expired(_) => refs::RefError::Expired(name.clone()),
        _ => refs::RefError::Unknown(name.clone()),
    })
}

/// The tab that issued a ref, if it was not this one.
fn issuing_tab(observation: &TabObservation, name: &RefName) -> Option<TabId> {
    match name {
        RefName::Local(_) => None,
        RefName::Backend { frame, id, .. } => observation.backend_refs.issuing_tab(*frame, *id),
    }
}

/// The error for an element that no longer exists.
fn gone_error(was: &Fingerprint, spelling: &str, hint: &str) -> Error {
    let message = format!("{} {}{hint}", refs::gone_message(was, spelling), refs::GONE_HINT);
    let error = Error::new(Code::SnapshotRefStale)
        .message(message)
        .evidence("ref", spelling)
        .evidence("was", describe(was));
    with_hint(error, hint)
}

/// The error for an element that disappeared after it was resolved.
pub(crate) fn stale_target_error(observation: &TabObservation, target: &Target) -> Error {
    if let Target::Ref(name) = target
        && let Ok(issued) = lookup_ref(observation, name)
    {
        return gone_error(&Fingerprint::new(&issued.tree, issued.node), &name.to_string(), "");
    }
    Error::new(Code::SnapshotRefStale).message(format!("the element of `{target}` is gone"))
}

fn describe(fingerprint: &Fingerprint) -> String {
    let container = fingerprint
        .container
        .as_ref()
        .map(|it| format!(" in {} {:?}", it.role.name(), it.label))
        .unwrap_or_default();
    format!("{} {:?}{container}", fingerprint.role.name(), fingerprint.name)
}

/// The elements that a selector matches, in the first frame with any match, main frame first.
async fn find_css(
    tab: &Tab,
    observation: &TabObservation,
    tree: &Tree,
    css: &str,
    deadline: Deadline,
) -> Result<Vec<(u16, u32)>> {
    for (index, frame) in tree.frames.iter().enumerate() {
        let Some(world) = observation.world_of(&frame.document) else { continue };
        let found: Option<String> = world
            .ask(&format!("agbrowse.findBySelector({})", json(css)), deadline)
            .await
            .map_err(|error| error.explain(tab))?;
        let Some(found) = found else {
            return Err(Error::new(Code::CommandInvalid)
                .message(format!("`{css}` is not a valid CSS selector"))
                .evidence("selector", css));
        };
        let numbers = found.split(',').filter_map(|number| number.parse().ok());
        let all: Vec<(u16, u32)> = numbers.map(|number| (index as u16, number)).collect();
        if !all.is_empty() {
            return Ok(all);
        }
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_syntax_is_parsed() {
        for (text, expected) in [
            ("@e3", Target::Ref(RefName::Local(3))),
            ("e3", Target::Ref(RefName::Local(3))),
            ("#save", Target::Css("#save".into())),
            ("css=a[href='x=y']", Target::Css("a[href='x=y']".into())),
            ("[ref=@e134]", Target::Ref(RefName::Local(134))),
            ("[ref=@e3 disabled=true]", Target::Ref(RefName::Local(3))),
            ("ref=@e3", Target::Ref(RefName::Local(3))),
            ("[ref=no-ref]", Target::Css("[ref=no-ref]".into())),
            ("ref=e3", Target::Ref(RefName::Backend { context: None, frame: None, id: 3 })),
            (
                "ref=clean:f2e3",
                Target::Ref(RefName::Backend {
                    context: Some("clean".into()),
                    frame: Some(2),
                    id: 3,
                }),
            ),
            ("a[href='x=y']", Target::Css("a[href='x=y']".into())),
            ("text= Save all ", Target::Text("Save all".into())),
            ("text=\"Save\"", Target::Text("Save".into())),
            ("label=E-mail", Target::Label("E-mail".into())),
            ("placeholder=Search", Target::Placeholder("Search".into())),
            ("testid=row-1", Target::TestId("row-1".into())),
            ("xy=120, 40.5", Target::Point { x: 120.0, y: 40.5 }),
            ("role=button", Target::Role { role: Role::Button, name: None }),
            (
                "role=button[name=\"Say \\\"hi\\\"\"]",
                Target::Role { role: Role::Button, name: Some("Say \"hi\"".into()) },
            ),
            ("role=link[name=Home]", Target::Role { role: Role::Link, name: Some("Home".into()) }),
        ] {
            assert_eq!(text.parse(), Ok(expected.clone()), "{text}");
            let written = serde_json::to_string(&expected).unwrap();
            assert_eq!(serde_json::from_str::<Target>(&written).unwrap(), expected, "{written}");
        }
        for wrong in [
            "",
            "@e",
            "@x1",
            "css=",
            "ref=x",
            "text=",
            "role=nonsense",
            "role=button[foo]",
            "xy=1",
            "xy=-1,2",
            "xy=a,b",
        ] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }
}
