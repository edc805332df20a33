//! What a caller points at, and how it is found in the page as it is now.

use crate::error::{Code, Error, Result};
use crate::note::Note;
use crate::observe::{AX, Sight, json};
use crate::tab::Tab;
use cdp::Deadline;
use page::ax::Tree;
use page::refs::{self, Dialect, RefName, Verdict, compare, meanings};
use page::view::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

/// Something one can point at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A ref that a snapshot gave.
    Ref(RefName),
    /// The first element that a CSS selector matches, also in shadow trees.
    Css(String),
}

impl FromStr for Target {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let text = text.trim();
        if let Some(css) = text.strip_prefix("css=") {
            return match css.trim() {
                "" => Err("`css=` needs a selector".into()),
                css => Ok(Self::Css(css.to_owned())),
            };
        }
        let is_ref = text.starts_with('@')
            || text.strip_prefix('e').is_some_and(|rest| {
                !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
            });
        if is_ref {
            return RefName::parse(text, Dialect::Cli)
                .map(Self::Ref)
                .map_err(|bad| bad.to_string());
        }
        if text.is_empty() {
            return Err("expected a ref such as `@e3`, or `css=…`".into());
        }
        Ok(Self::Css(text.to_owned()))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ref(name) => name.fmt(f),
            Self::Css(css) => f.write_str(css),
        }
    }
}

impl Serialize for Target {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Ref(name) => to.collect_str(name),
            Self::Css(css) => to.collect_str(&format_args!("css={css}")),
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

/// The node of a target in the page as it is now. A ref whose meaning has changed is refused.
pub(crate) async fn find(
    tab: &Tab,
    sight: &mut Sight,
    tree: &Tree,
    target: &Target,
    deadline: Deadline,
    notes: &mut Vec<Note>,
) -> Result<usize> {
    match target {
        Target::Ref(name) => {
            let (node, note) = find_ref(sight, tree, name, deadline).await?;
            notes.extend(note);
            Ok(node)
        }
        Target::Css(css) => {
            let (frame, element) = find_css(tab, sight, tree, css, deadline).await?;
            let position =
                tree.nodes.iter().position(|node| node.frame == frame && node.element == element);
            position.ok_or_else(|| {
                Error::new(Code::TargetNotFound)
                    .message(format!("the element that `{css}` matches is not shown"))
                    .evidence("selector", css.as_str())
            })
        }
    }
}

async fn find_ref(
    sight: &mut Sight,
    tree: &Tree,
    name: &RefName,
    deadline: Deadline,
) -> Result<(usize, Option<Note>)> {
    let spelled = name.to_string();
    let mut shown = sight.registry.lookup(name).map_err(|problem| {
        let code = match problem {
            refs::RefProblem::TooOld(_) => Code::SnapshotRefStale,
            _ => Code::SnapshotRefNotFound,
        };
        Error::new(code).message(problem.to_string()).evidence("ref", spelled.as_str())
    })?;
    // The browser's own tree has numbers of its own.
    if let Some(document) = shown.meaning.document.strip_prefix(AX) {
        let document = document.to_owned();
        let number = match sight.world_of_mut(&document) {
            Some(world) => world.number(&[i64::from(shown.element)], deadline).await.ok(),
            None => None,
        };
        shown.element = number.and_then(|found| found.first().copied()).unwrap_or(0);
        shown.meaning.document = document.into();
    }
    let was = &shown.meaning;
    let node = tree.nodes.iter().position(|node| {
        node.element > 0
            && node.element == shown.element
            && tree
                .frames
                .get(usize::from(node.frame))
                .is_some_and(|frame| *frame.document == *was.document)
    });
    let Some(node) = node else {
        return Err(gone(tree, &shown, &spelled));
    };
    let now = meanings(tree, &[node as u32]).pop();
    let Some(now) = now else { return Err(gone(tree, &shown, &spelled)) };
    match compare(was, &now) {
        Verdict::Same => Ok((node, None)),
        Verdict::Minor => Ok((node, Some(Note::new("element-changed", refs::MINOR_NOTE)))),
        Verdict::Changed => Err(Error::new(Code::SnapshotRefStale)
            .message(format!("{} {}", refs::changed_message(was, &now), refs::CHANGED_HINT))
            .evidence("ref", spelled)
            .evidence("was", described(was))
            .evidence("now", described(&now))),
    }
}

/// The error for an element that is not there any more. One that looks the same is named, never taken.
fn gone(tree: &Tree, shown: &refs::Shown, spelled: &str) -> Error {
    let was = &shown.meaning;
    let alike: Vec<u32> = (0..tree.nodes.len() as u32)
        .filter(|index| {
            let node = &tree.nodes[*index as usize];
            node.element > 0 && node.role == was.role && tree.name(node) == was.name
        })
        .collect();
    let twins = meanings(tree, &alike)
        .into_iter()
        .filter(|meaning| meaning.owner == was.owner && meaning.role == was.role)
        .count();
    let error = Error::new(Code::SnapshotRefStale)
        .message(format!("{} {}", refs::gone_message(was, spelled), refs::GONE_HINT))
        .evidence("ref", spelled)
        .evidence("was", described(was));
    match twins {
        1 => error.evidence(
            "hint",
            "one element like it is on the page now; a new snapshot gives its ref",
        ),
        _ => error,
    }
}

/// The error for an element that went away after it was found.
pub(crate) fn gone_since(sight: &Sight, target: &Target) -> Error {
    if let Target::Ref(name) = target
        && let Ok(shown) = sight.registry.lookup(name)
    {
        return gone(&Tree::default(), &shown, &name.to_string());
    }
    Error::new(Code::SnapshotRefStale).message(format!("the element of `{target}` is gone"))
}

fn described(meaning: &refs::Meaning) -> String {
    let owner = meaning
        .owner
        .as_ref()
        .map(|owner| format!(" in {} {:?}", owner.role.name(), owner.described()));
    format!("{} {:?}{}", meaning.role.name(), meaning.name, owner.unwrap_or_default())
}

/// The first element that a selector matches, in the page itself or else in one of its frames.
async fn find_css(
    tab: &Tab,
    sight: &Sight,
    tree: &Tree,
    css: &str,
    deadline: Deadline,
) -> Result<(u16, u32)> {
    for (index, frame) in tree.frames.iter().enumerate() {
        let Some(world) = sight.world_of(&frame.document) else { continue };
        let found: Option<String> = world
            .ask(&format!("agbrowse.find({})", json(css)), deadline)
            .await
            .map_err(|trouble| trouble.explain(tab))?;
        let Some(found) = found else {
            return Err(Error::new(Code::CommandInvalid)
                .message(format!("`{css}` is no CSS selector"))
                .evidence("selector", css));
        };
        if let Some(number) = found.split(',').find_map(|number| number.parse().ok()) {
            return Ok((index as u16, number));
        }
    }
    Err(Error::new(Code::TargetNotFound)
        .message(format!("nothing on the page matches `{css}`"))
        .evidence("selector", css))
}

/// The browser's own numbers of everything with a ref, spelled as MCP clients know them.
pub(crate) async fn backend_ids(
    sight: &Sight,
    tree: &Tree,
    seen: &View,
    deadline: Deadline,
) -> HashMap<(u16, u32), String> {
    let mut wanted: HashMap<u16, Vec<u32>> = HashMap::new();
    for line in seen.lines.iter().filter(|line| line.number.is_some()) {
        let node = &tree.nodes[line.node as usize];
        wanted.entry(node.frame).or_default().push(node.element);
    }
    let mut spelled = HashMap::new();
    for (frame, elements) in wanted {
        let document = tree.frames.get(usize::from(frame)).map(|frame| &*frame.document);
        let Some(world) = document.and_then(|document| sight.world_of(document)) else { continue };
        // Numbers are those of one process; a frame with another process has its own.
        let is_own = sight
            .world_of(&tree.frames[0].document)
            .is_some_and(|main| main.channel.session() == world.channel.session());
        let prefix = if is_own { String::new() } else { format!("f{frame}") };
        let ids = world.backend_ids(&elements, deadline).await.unwrap_or_default();
        for (element, id) in elements.into_iter().zip(ids) {
            if let Some(id) = id {
                spelled.insert((frame, element), format!("{prefix}e{id}"));
            }
        }
    }
    spelled
}
