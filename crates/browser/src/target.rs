//! What a caller points at, and how it is found in the page as it is now.

use crate::error::{Code, Error, Result};
use crate::note::Note;
use crate::observe::{TabObservation, json, quads};
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

/// Something one can point at.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A ref that a snapshot gave.
    Ref(RefName),
    /// What a CSS selector matches, also in shadow trees.
    Css(String),
    /// What has a role, and a name that has this in it.
    Role {
        /// The role.
        role: Role,
        /// What is in its name, in any case.
        name: Option<String>,
    },
    /// The innermost element with this text in it, in any case.
    Text(String),
    /// The field with this in its label.
    Label(String),
    /// The field with this in its placeholder.
    Placeholder(String),
    /// The element with this `data-testid`.
    TestId(String),
    /// What is at this point of the view, in CSS pixels.
    Point {
        /// From the left.
        x: f64,
        /// From the top.
        y: f64,
    },
}

/// What a target may look like, for messages.
const SPELLINGS: &str = "a ref such as `@e3`, `css=…`, `role=button[name=\"…\"]`, `text=…`, `label=…`, \
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
            return Err(format!("expected {SPELLINGS}"));
        }
        Ok(Self::Css(text.to_owned()))
    }
}

/// A ref as it stands in a snapshot: `[ref=@e3]`, `[ref=@e3 disabled=true]`.
fn pasted(text: &str) -> Option<RefName> {
    let inside = text.strip_prefix("[ref=")?.strip_suffix(']')?;
    let name = inside.split(' ').next().unwrap_or_default();
    RefName::parse(name, Dialect::Mcp).ok()
}

fn unquoted(text: &str) -> &str {
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(text)
}

/// `button`, `button[name="Save"]`.
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
        None => Err(format!("`xy={text}` is no point: expected such as `xy=120,40`")),
    }
}

impl Target {
    /// How it points, in a word.
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
            // A bare `e3` would be read as `@e3`.
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

/// The node of a target in the page as it is now: the first one, if it could be several. A ref whose meaning has
/// changed is refused.
pub(crate) async fn find(
    tab: &Tab,
    observation: &mut TabObservation,
    tree: &Arc<Tree>,
    target: &Target,
    deadline: Deadline,
    notes: &mut Vec<Note>,
) -> Result<usize> {
    let all = candidates(tab, observation, tree, target, deadline, notes).await?;
    let first = all.first().copied().ok_or_else(|| none(target))?;
    if all.len() > 1 {
        let role = tree.nodes[first].role.name();
        let note =
            format!("`{target}` matches {} elements; the first was taken, a {role}", all.len());
        let note = Note::new("first-of-several", note);
        notes.push(note.with_page_text(&refs::name(tree, first)));
    }
    Ok(first)
}

/// The one node that a target means in the page as it is now.
///
/// # Errors
/// `target.ambiguous` with everything that it could be, unless `nth` says which, counted from 0.
pub(crate) async fn find_one(
    tab: &Tab,
    observation: &mut TabObservation,
    tree: &Arc<Tree>,
    (target, nth): (&Target, Option<u32>),
    deadline: Deadline,
    notes: &mut Vec<Note>,
) -> Result<usize> {
    let all = candidates(tab, observation, tree, target, deadline, notes).await?;
    let mut all = shown_first(tree, all);
    if all.len() > 1
        && nth.is_none()
        && matches!(target, Target::Text(_))
        && let Some(one) = same_control(observation, tree, &all, deadline).await
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
            .evidence("candidates", listed(observation, tree, all))),
    }
}

/// Of a control, its label and what is in that, the one to act on, if these are all that was found.
async fn same_control(
    observation: &TabObservation,
    tree: &Tree,
    all: &[usize],
    deadline: Deadline,
) -> Option<usize> {
    let frame = tree.nodes[all[0]].frame;
    if all.len() > MOST_LISTED || all.iter().any(|node| tree.nodes[*node].frame != frame) {
        return None;
    }
    let world = observation.world_of(&tree.frames.get(usize::from(frame))?.document)?;
    let numbers: Vec<u32> = all.iter().map(|node| tree.nodes[*node].element).collect();
    let script = format!("agbrowse.commonControl({})", json(&numbers));
    let number: u32 = world.ask::<Option<u32>>(&script, deadline).await.ok()??;
    all.iter().copied().find(|node| tree.nodes[*node].element == number)
}

/// Without what a person cannot see, unless there is nothing else.
fn shown_first(tree: &Tree, all: Vec<usize>) -> Vec<usize> {
    let shown: Vec<usize> =
        all.iter().copied().filter(|node| !tree.nodes[*node].states.is_hidden()).collect();
    if shown.is_empty() { all } else { shown }
}

/// How many candidates are named at most.
const MOST_LISTED: usize = 12;

/// Nodes as lines with refs, which can be used from here on.
fn listed(observation: &mut TabObservation, tree: &Arc<Tree>, nodes: &[usize]) -> Vec<String> {
    let nodes = &nodes[..nodes.len().min(MOST_LISTED)];
    let numbers = observation.issue_refs(tree, nodes);
    let line = |(node, number): (&usize, u32)| {
        format!("@e{number} {}", described(&Fingerprint::new(tree, *node)))
    };
    nodes.iter().zip(numbers).map(line).collect()
}

/// The error for what is not there.
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

/// Roles of what can be filled in or set.
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
        || node.states.is_file() && !node.states.is_stand_in()
}

/// The labels with these words that are drawn in place of a control that is not drawn itself.
fn stand_in_labels(tree: &Tree, words: Option<&str>) -> Vec<usize> {
    let mut needle = words.map(page::text::Needle::new);
    let all = (0..tree.nodes.len()).filter(|index| tree.nodes[*index].states.is_stand_in());
    all.filter(|index| needle.as_mut().is_none_or(|needle| needle.is_in(&refs::name(tree, *index))))
        .collect()
}

/// Everything that a target could mean in the page as it is now, in reading order.
async fn candidates(
    tab: &Tab,
    observation: &mut TabObservation,
    tree: &Arc<Tree>,
    target: &Target,
    deadline: Deadline,
    notes: &mut Vec<Note>,
) -> Result<Vec<usize>> {
    let has_element = |node: &usize| tree.nodes[*node].element > 0;
    Ok(match target {
        Target::Ref(name) => {
            let (node, found) = find_ref(observation, tree, name)?;
            // Who looks again is told the same.
            notes
                .extend(found.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
            vec![node]
        }
        Target::Css(css) => matched(tab, observation, tree, css, css, deadline).await?,
        Target::TestId(id) => {
            let css = format!("[data-testid={}]", json(id));
            matched(tab, observation, tree, &css, &target.to_string(), deadline).await?
        }
        Target::Placeholder(text) => {
            let css = format!("[placeholder*={} i]", json(text));
            matched(tab, observation, tree, &css, &target.to_string(), deadline).await?
        }
        Target::Role { role, name } => {
            let query = Query { role: Some(*role), name: name.clone(), ..Query::default() };
            let mut found = page::find::find(tree, &query);
            found.retain(has_element);
            // A checkbox that its page hides is told by the label that is drawn in its place.
            if found.is_empty() && matches!(role, Role::CheckBox | Role::Radio | Role::Switch) {
                found = stand_in_labels(tree, name.as_deref());
                found.retain(|index| tree.nodes[*index].checked.is_some());
            }
            best(tree, found, name.as_deref())
        }
        Target::Label(label) => {
            let query = Query { name: Some(label.clone()), ..Query::default() };
            let mut found = page::find::find(tree, &query);
            found.retain(|node| has_element(node) && is_field(&tree.nodes[*node]));
            if found.is_empty() {
                found = stand_in_labels(tree, Some(label));
            }
            best(tree, found, Some(label))
        }
        Target::Text(text) => {
            let query = Query { text: Some(text.clone()), ..Query::default() };
            let mut found = page::find::find(tree, &query);
            found.retain(has_element);
            best(tree, innermost(tree, &found), Some(text))
        }
        Target::Point { x, y } => {
            let found = point_at(tab, observation, tree, (*x, *y), deadline).await?;
            found.map(|(node, _)| node).into_iter().collect()
        }
    })
}

/// Of several, the one that says just this and nothing else, if there is one.
fn best(tree: &Tree, found: Vec<usize>, words: Option<&str>) -> Vec<usize> {
    let Some(words) = words.filter(|_| found.len() > 1) else { return found };
    let mut needle = page::text::Needle::new(words);
    let exact: Vec<usize> =
        found.iter().copied().filter(|node| needle.is_all_of(&refs::name(tree, *node))).collect();
    if exact.len() == 1 { exact } else { found }
}

/// Without those that others are in.
pub(crate) fn innermost(tree: &Tree, found: &[usize]) -> Vec<usize> {
    let holds = |node: usize| {
        let end = tree.nodes[node].end as usize;
        found.iter().any(|other| *other > node && *other < end)
    };
    found.iter().copied().filter(|node| !holds(*node)).collect()
}

/// What a selector matches and is shown.
async fn matched(
    tab: &Tab,
    observation: &TabObservation,
    tree: &Tree,
    css: &str,
    spelled: &str,
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
    let shown: Vec<usize> = all.iter().filter_map(|place| nodes.get(place).copied()).collect();
    if shown.is_empty() {
        if let Some(error) = kept(observation, tree, all[0], spelled, deadline).await {
            return Err(error);
        }
        return Err(Error::new(Code::TargetNotFound)
            .message(format!("the element that `{spelled}` matches is not shown"))
            .evidence("selector", css));
    }
    Ok(shown)
}

/// The error for what is drawn but kept from readers, and so from snapshots.
async fn kept(
    observation: &TabObservation,
    tree: &Tree,
    (frame, element): (u16, u32),
    spelled: &str,
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
        "the element that `{spelled}` matches is drawn, but hidden from readers (aria-hidden){how}"
    ));
    Some(error.evidence("target", spelled))
}

/// What is drawn at a point, in whatever frame, and the same point in its document.
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
            .map_err(|trouble| trouble.explain(tab))?;
        let Some(at) = at else { return Ok(None) };
        // Who chose the point saw something else there.
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

/// What our script says of a point.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HitTestReply {
    /// The numbers of what is there, the innermost first.
    path: Vec<u32>,
    is_frame: bool,
    /// The frame is drawn rotated or in perspective: the browser has to be asked for the same point in it.
    is_warped: bool,
    /// The same point in the document of the frame.
    inside: Option<[f64; 2]>,
    /// What was there in the last picture, if something else is there now.
    was: Option<String>,
}

/// The element of a ref in the page as it is now, and notes on what changed about it.
fn find_ref(
    observation: &mut TabObservation,
    tree: &Arc<Tree>,
    name: &RefName,
) -> Result<(usize, Vec<Note>)> {
    let spelled = name.to_string();
    let issued = look_up(observation, name).map_err(|problem| {
        let code = match problem {
            refs::RefError::Expired(_) => Code::SnapshotRefStale,
            _ => Code::SnapshotRefNotFound,
        };
        let error = Error::new(code).message(problem.to_string()).evidence("ref", &*spelled);
        match tab_beside(observation, name) {
            Some(tab) => error
                .message(format!(
                    "ref `{name}` was given by a snapshot of tab {tab} and not of this one"
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
                "the page replaced the element of {spelled}: the one with the same fingerprint is used"
            );
            let note = Note::new("element-replaced", message);
            let mut notes = vec![note.with_page_text(&described(&Fingerprint::new(tree, node)))];
            if !changes.is_empty() {
                let note = Note::new("element-changed", refs::STATE_NOTE);
                notes.push(note.with_page_text(&refs::changes_text(&changes)));
            }
            Ok((node, notes))
        }
        Resolution::Changed { was, now, heir } => {
            let hint = nearest(observation, tree, heir.as_slice());
            let message = refs::changed_message(&was, &now);
            let error = Error::new(Code::SnapshotRefStale)
                .message(format!("{message}. {}{hint}", refs::CHANGED_HINT))
                .evidence("ref", spelled)
                .evidence("was", described(&was))
                .evidence("now", described(&now));
            Err(with_hint(error, &hint))
        }
        Resolution::Gone { was, nearest: nodes } => {
            let hint = nearest(observation, tree, &nodes);
            Err(gone(&was, &spelled, &hint))
        }
    }
}

fn with_hint(error: Error, hint: &str) -> Error {
    if hint.is_empty() { error } else { error.evidence("hint", hint.trim()) }
}

/// Names what is most like an element that cannot be used.
fn nearest(observation: &mut TabObservation, tree: &Arc<Tree>, nodes: &[usize]) -> String {
    let lines: Vec<String> = nodes
        .iter()
        .filter_map(|node| match means_otherwise(observation, tree, *node) {
            // Its ref goes on meaning what it was issued for, until a snapshot is taken.
            true => Some(described(&Fingerprint::new(tree, *node))),
            false => listed(observation, tree, &[*node]).pop(),
        })
        .collect();
    match lines.as_slice() {
        [] => String::new(),
        [one] => format!(" One like it is there now: {one}."),
        many => format!(" Like it are now: {}.", many.join("; ")),
    }
}

/// Whether the ref of an element was issued for something that the element does not mean any more.
fn means_otherwise(observation: &mut TabObservation, tree: &Arc<Tree>, node: usize) -> bool {
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

/// The element that a ref was issued for, however it is spelled.
fn look_up(
    observation: &TabObservation,
    name: &RefName,
) -> std::result::Result<refs::IssuedRef, refs::RefError> {
    let number = match name {
        RefName::Local(number) => Some(*number),
        RefName::Backend { frame, id, .. } => observation.spellings.number(*frame, *id),
    };
    let number = number.ok_or_else(|| refs::RefError::Unknown(name.clone()))?;
    observation.registry.lookup(&RefName::Local(number)).map_err(|problem| match problem {
        refs::RefError::Expired(_) => refs::RefError::Expired(name.clone()),
        _ => refs::RefError::Unknown(name.clone()),
    })
}

/// The tab that gave a ref, if this one did not.
fn tab_beside(observation: &TabObservation, name: &RefName) -> Option<TabId> {
    match name {
        RefName::Local(_) => None,
        RefName::Backend { frame, id, .. } => observation.spellings.tab_beside(*frame, *id),
    }
}

/// The error for an element that is not there any more.
fn gone(was: &Fingerprint, spelled: &str, hint: &str) -> Error {
    let message = format!("{} {}{hint}", refs::gone_message(was, spelled), refs::GONE_HINT);
    let error = Error::new(Code::SnapshotRefStale)
        .message(message)
        .evidence("ref", spelled)
        .evidence("was", described(was));
    with_hint(error, hint)
}

/// The error for an element that went away after it was found.
pub(crate) fn stale_target_error(observation: &TabObservation, target: &Target) -> Error {
    if let Target::Ref(name) = target
        && let Ok(issued) = look_up(observation, name)
    {
        return gone(&Fingerprint::new(&issued.tree, issued.node), &name.to_string(), "");
    }
    Error::new(Code::SnapshotRefStale).message(format!("the element of `{target}` is gone"))
}

fn described(fingerprint: &Fingerprint) -> String {
    let container = fingerprint
        .container
        .as_ref()
        .map(|it| format!(" in {} {:?}", it.role.name(), it.label))
        .unwrap_or_default();
    format!("{} {:?}{container}", fingerprint.role.name(), fingerprint.name)
}

/// The elements that a selector matches, in the page itself or else in the first of its frames that has any.
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
            .map_err(|trouble| trouble.explain(tab))?;
        let Some(found) = found else {
            return Err(Error::new(Code::CommandInvalid)
                .message(format!("`{css}` is no CSS selector"))
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
    fn targets_are_spelled_in_many_ways() {
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
