//! `get`: reads a property of an element.

use super::{CommandContext, RunInTab, Verb, VerbReply, VerbSpec};
use crate::error::{Code, Error, Result};
use crate::observe::{self, ObserveError, ObserveOptions, json};
use crate::tab::Turn;
use crate::target::{self, Target};
use cdp::LossyString;
use clap::{Args, ValueEnum};
use page::ax::Bounds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Read a property of an element: text, markup, value, an attribute or its bounding box.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Get {
    /// The property to read.
    #[arg(value_enum, value_name = "PROPERTY")]
    pub what: Property,
    /// The element: a ref from the last snapshot (`@e3`) or `css=…`.
    pub target: Target,
    /// The name of the attribute, for `attr`.
    #[arg(required_if_eq("what", "attr"))]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// The index of the match, counted from 0, if several match [default: the first].
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nth: Option<u32>,
}

/// A property of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Property {
    /// Its rendered text; secrets are masked.
    Text,
    /// Its markup; secrets are masked.
    Html,
    /// Its value; secrets are masked.
    Value,
    /// One of its attributes; in a URL only tokens are masked.
    Attr,
    /// Its bounding box in the viewport, in CSS pixels: x, y, width, height.
    Box,
}

/// The property.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetReply {
    /// The text, markup, value or attribute; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<String>,
    /// The bounding box.
    #[serde(rename = "box", skip_serializing_if = "Option::is_none", default)]
    pub bounds: Option<Bounds>,
}

impl Verb for Get {
    type Reply = GetReply;
    const SPEC: VerbSpec = VerbSpec { is_raw: true, ..VerbSpec::LOOK };

    fn check(&self, _cx: &CommandContext<'_>) -> Result<()> {
        if let Some(name) = self.name.as_ref().filter(|_| self.what != Property::Attr) {
            return Err(Error::new(Code::CommandInvalid)
                .message(format!("unexpected argument `{name}`: only `get attr` takes a name")));
        }
        Ok(())
    }
}

impl RunInTab for Get {
    async fn run(&self, cx: &mut CommandContext<'_>, turn: &Turn) -> Result<GetReply> {
        let live = cx.live().await?;
        let mut observation = turn.observation.lock().await;
        let observation = &mut *observation;
        let options = ObserveOptions::default();
        let loader = turn.state.borrow().loader.clone();
        let tree = match observation.revalidated_page(&options, &loader, cx.progress.deadline).await
        {
            Some(tree) => tree,
            None => {
                observe::observe(&live, turn, observation, &options, cx.progress.deadline).await?
            }
        };
        let progress = &mut cx.progress;
        let node = match self.nth {
            None => target::find(turn, observation, &tree, &self.target, progress).await?,
            nth => {
                let target = (&self.target, nth);
                target::find_one(turn, observation, &tree, target, progress).await?
            }
        };
        let node = &tree.nodes[node];
        let what = match self.what {
            Property::Text => "text",
            Property::Html => "html",
            Property::Value => "value",
            Property::Attr => "attr",
            Property::Box => "box",
        };
        let gone = || target::stale_target_error(observation, &self.target);
        // An element that was removed meanwhile returns nothing.
        let explain = |error| match error {
            ObserveError::Nothing => gone(),
            error => error.explain(turn),
        };
        let frame = &tree.frames[usize::from(node.frame)];
        let world = observation.world_of(&frame.document).ok_or_else(gone)?;
        let script =
            format!("agbrowse.readElement({}, {}, {})", node.element, json(what), json(&self.name));
        if self.what == Property::Box {
            let read: Option<PropertyReply<[f32; 4]>> =
                world.ask(&script, cx.progress.deadline).await.map_err(explain)?;
            let [x, y, width, height] = read.ok_or_else(gone)?.value.ok_or_else(gone)?;
            let offset =
                observe::offset(observation, &tree, node.frame, cx.progress.deadline).await;
            let bounds = Bounds { x: x + offset.0, y: y + offset.1, width, height };
            return Ok(GetReply { value: None, bounds: Some(bounds) });
        }
        let read: Option<PropertyReply<LossyString>> =
            world.ask(&script, cx.progress.deadline).await.map_err(explain)?;
        // Field values are masked by the observer script; this masks everything else.
        let value = read.ok_or_else(gone)?.value.map(LossyString::into_string);
        Ok(GetReply {
            value: value.map(|value| page::mask::mask(&value).into_owned()),
            bounds: None,
        })
    }
}

/// The observer script's reply.
#[derive(Deserialize)]
struct PropertyReply<T> {
    value: Option<T>,
}

impl VerbReply for GetReply {}

impl fmt::Display for GetReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.value, &self.bounds) {
            (Some(value), _) => f.write_str(value),
            (None, Some(Bounds { x, y, width, height })) => write!(f, "{x} {y} {width} {height}"),
            (None, None) => Ok(()),
        }
    }
}
