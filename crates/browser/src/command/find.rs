//! `find`: what on the page has a role, a name, a text.

use super::{Cx, Verb};
use crate::browser::Needs;
use crate::error::{Code, Error, Result};
use crate::note::Note;
use crate::observe::{self, Look};
use clap::Args;
use page::ax::{RefPolicy, Role, marks};
use page::find::{Query, find};
use page::refs::Scope;
use page::view::{ViewOptions, view};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt;

/// Find things on the page by what they say, what they are, or what they are called.
///
/// Lists what was found, with refs for what can be acted on.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Find {
    /// Text that the thing has in it, in any case.
    #[arg(required_unless_present_any = ["role", "name"])]
    pub text: Option<String>,
    /// What it is: `button`, `link`, `heading` …
    #[arg(long)]
    pub role: Option<String>,
    /// What it is called, in any case; a part is enough.
    #[arg(long)]
    pub name: Option<String>,
    /// The whole name or text, not a part of it.
    #[arg(long)]
    pub exact: bool,
}

/// What was found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finds {
    /// In reading order.
    pub found: Vec<FindRow>,
}

/// One thing.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindRow {
    /// Its ref, if it can be acted on.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none", default)]
    pub name_of_ref: Option<String>,
    /// What it is.
    pub role: String,
    /// What it is called, or the text itself.
    pub name: String,
}

impl Verb for Find {
    type Reply = Finds;

    async fn run(&self, cx: &mut Cx<'_>) -> Result<Finds> {
        let role = match &self.role {
            None => None,
            Some(name) => Some(Role::named(name).ok_or_else(|| {
                Error::new(Code::CommandInvalid).message(format!(
                    "`{name}` is no role; roles are `button`, `link`, `heading` …"
                ))
            })?),
        };
        let turn = cx.turn(Needs::Page).await?;
        let live = cx.live().await?;
        let mut sight = turn.sight.lock().await;
        let sight = &mut *sight;
        let look = Look::default();
        let loader = turn.state.borrow().loader.clone();
        let tree = match sight.remembered(&look, &loader) {
            Some(tree) => tree,
            None => observe::observe(&live, &turn, sight, &look, cx.deadline).await?,
        };
        let query =
            Query { role, name: self.name.clone(), text: self.text.clone(), exact: self.exact };
        let nodes = find(&tree, &query);
        let policy = RefPolicy::Live { all: true };
        let has_ref = marks(&tree, policy);
        let registry = &mut sight.registry;
        let mut found: Vec<FindRow> = Vec::new();
        for index in nodes.iter().copied() {
            let node = &tree.nodes[index];
            let number = has_ref.has_ref(index).then(|| {
                registry.number(&tree.frames[usize::from(node.frame)].document, node.element)
            });
            found.push(FindRow {
                name_of_ref: number.map(|number| format!("@e{number}")),
                role: node.role.name().to_owned(),
                name: page::text::cut(&page::refs::name(&tree, index), page::text::MAX_NAME)
                    .into_owned(),
            });
        }
        // What is listed counts as shown, so that its refs can be used; nothing else does, for the caller
        // still takes it for what it was.
        let options = ViewOptions { policy, refs_only: true, ..ViewOptions::default() };
        let mut shown = view(&tree, &options, &mut |frame, element| {
            registry.number(&tree.frames[usize::from(frame)].document, element)
        });
        let listed: HashSet<usize> = nodes.into_iter().collect();
        shown.lines.retain(|line| listed.contains(&(line.node as usize)));
        registry.show(&tree, &shown, Scope::Part);
        let silent = tree.silent_frames(false).into_iter();
        cx.notes.extend(silent.map(|frame| Note::new("silent-frame", frame)));
        Ok(Finds { found })
    }
}

impl fmt::Display for Finds {
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
            if let Some(name) = &row.name_of_ref {
                write!(f, " [ref={name}]")?;
            }
        }
        Ok(())
    }
}
