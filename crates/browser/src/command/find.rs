//! `find`: searches the page by role, name or text.

use super::{CommandContext, RunInTab, Verb, VerbReply, VerbSpec};
use crate::error::{Code, Error, Result};
use crate::note::Note;
use crate::observe::{self, ObserveOptions};
use crate::tab::Turn;
use clap::Args;
use page::ax::{RefPolicy, Role, ref_tiers};
use page::find::{Query, find};
use page::refs::Items;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt;

/// Find elements on the page by text, role or name.
///
/// Lists the matches with the refs of actionable elements and, below each, the controls of the same row or card.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Find {
    /// Text that the element contains, case-insensitive.
    #[arg(required_unless_present_any = ["role", "name"])]
    pub text: Option<String>,
    /// Its role: `button`, `link`, `heading` …
    #[arg(long)]
    pub role: Option<String>,
    /// Its accessible name or a part of it, case-insensitive.
    #[arg(long)]
    pub name: Option<String>,
    /// Match the whole name or text.
    #[arg(long)]
    pub exact: bool,
}

/// The matches.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindReply {
    /// The matches, in reading order.
    pub found: Vec<FindRow>,
}

/// A match.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindRow {
    /// Its ref, if it is actionable.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none", default)]
    pub ref_name: Option<String>,
    /// Its role.
    pub role: String,
    /// Its accessible name, or the text itself.
    pub name: String,
    /// The controls of the same item: row, list entry, card. Only for few matches.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub beside: Vec<NearbyControl>,
}

/// A control in the same item as a match.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NearbyControl {
    /// Its ref.
    #[serde(rename = "ref")]
    pub ref_name: String,
    /// Its role.
    pub role: String,
    /// Its accessible name.
    pub name: String,
}

/// Maximum number of matches that are reported with nearby controls.
const FEW: usize = 20;

impl Verb for Find {
    type Reply = FindReply;
    const SPEC: VerbSpec = VerbSpec::LOOK;

    fn check(&self, _cx: &CommandContext<'_>) -> Result<()> {
        self.wanted_role()?;
        let is_blank = |text: &Option<String>| text.as_ref().is_some_and(|it| it.trim().is_empty());
        if is_blank(&self.text) || is_blank(&self.name) {
            return Err(
                Error::new(Code::CommandInvalid).message("`find` needs a text that is not empty")
            );
        }
        Ok(())
    }
}

impl Find {
    fn wanted_role(&self) -> Result<Option<Role>> {
        match &self.role {
            None => Ok(None),
            Some(name) => Role::named(name).map(Some).ok_or_else(|| {
                Error::new(Code::CommandInvalid).message(format!(
                    "`{name}` is not a known role; roles are `button`, `link`, `heading` …"
                ))
            }),
        }
    }
}

impl RunInTab for Find {
    async fn run(&self, cx: &mut CommandContext<'_>, turn: &Turn) -> Result<FindReply> {
        let live = cx.live().await?;
        let mut observation = turn.observation.lock().await;
        let observation = &mut *observation;
        let options = ObserveOptions::default();
        let loader = turn.state.borrow().loader.clone();
        let tree = match observation.cached_page(&options, &loader) {
            Some(tree) => tree,
            None => {
                observe::observe(&live, turn, observation, &options, cx.progress.deadline).await?
            }
        };
        let query = Query {
            role: self.wanted_role()?,
            name: self.name.clone(),
            text: self.text.clone(),
            exact: self.exact,
        };
        let nodes = find(&tree, &query);
        let policy = RefPolicy::Live { all: true };
        let has_ref = ref_tiers(&tree, policy);
        let registry = &mut observation.registry;
        let mut found: Vec<FindRow> = Vec::new();
        let mut listed: HashSet<usize> = nodes.iter().copied().collect();
        let items = (nodes.len() <= FEW && !nodes.is_empty()).then(|| Items::new(&tree));
        let mut named = |index: usize| {
            let node = &tree.nodes[index];
            let number =
                registry.number(&tree.frames[usize::from(node.frame)].document, node.element);
            format!("@e{number}")
        };
        let name = |index: usize| {
            page::text::cut(&page::refs::name(&tree, index), page::text::MAX_NAME).into_owned()
        };
        for index in nodes.iter().copied() {
            let mut beside = Vec::new();
            for control in items
                .iter()
                .flat_map(|items| items.controls(&tree, index, |control| has_ref.has_ref(control)))
            {
                // Each is listed once.
                if listed.insert(control) {
                    beside.push(NearbyControl {
                        ref_name: named(control),
                        role: tree.nodes[control].role.name().to_owned(),
                        name: name(control),
                    });
                }
            }
            found.push(FindRow {
                ref_name: has_ref.has_ref(index).then(|| named(index)),
                role: tree.nodes[index].role.name().to_owned(),
                name: name(index),
                beside,
            });
        }
        // Refs are issued for the listed elements only: all others stay bound to what was shown for them.
        let mut shown: Vec<usize> =
            listed.into_iter().filter(|index| has_ref.has_ref(*index)).collect();
        shown.sort_unstable();
        registry.issue_nodes(&tree, &shown);
        let silent = tree.silent_frames(false).into_iter();
        cx.progress.notes.extend(silent.map(|frame| {
            Note::new("silent-frame", "a frame did not answer").with_page_text(&frame)
        }));
        Ok(FindReply { found })
    }
}

impl VerbReply for FindReply {
    fn texts_mut(&mut self) -> Vec<&mut String> {
        let rows = self.found.iter_mut();
        rows.flat_map(|row| {
            let beside = row.beside.iter_mut().map(|it| &mut it.ref_name);
            row.ref_name.iter_mut().chain(beside)
        })
        .collect()
    }

    fn has_page_text(&self) -> bool {
        !self.found.is_empty()
    }
}

impl fmt::Display for FindReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.found.is_empty() {
            return f.write_str("nothing found");
        }
        for (index, row) in self.found.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            let mut name = String::new();
            page::text::quote(&mut name, &row.name);
            write!(f, "- {} {name}", row.role)?;
            if let Some(name) = &row.ref_name {
                write!(f, " [ref={name}]")?;
            }
            for it in &row.beside {
                let mut name = String::new();
                page::text::quote(&mut name, &it.name);
                write!(f, "\n  - {} {name} [ref={}]", it.role, it.ref_name)?;
            }
        }
        Ok(())
    }
}
