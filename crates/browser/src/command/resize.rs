//! `resize`: sets the viewport size.

use super::{CommandContext, RunInTab, Verb, VerbGroup, VerbReply, VerbSpec};
use crate::error::{Code, Error, Result};
use crate::tab::Turn;
use cdp::protocol::emulation::SetDeviceMetricsOverride;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Maximum width and height.
const MAX_SIZE: u32 = 10_000;

/// Set the size of the tab's viewport, in CSS pixels.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resize {
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
}

/// The viewport size.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResizeReply {
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
}

impl Verb for Resize {
    type Reply = ResizeReply;
    const SPEC: VerbSpec = VerbSpec::ACT.in_group(VerbGroup::Tabs);

    fn check(&self, _cx: &CommandContext<'_>) -> Result<()> {
        let Self { width, height } = *self;
        if !(1..=MAX_SIZE).contains(&width) || !(1..=MAX_SIZE).contains(&height) {
            return Err(Error::new(Code::CommandInvalid)
                .message(format!("width and height must be 1 to {MAX_SIZE} pixels")));
        }
        Ok(())
    }
}

impl RunInTab for Resize {
    async fn run(&self, cx: &mut CommandContext<'_>, turn: &Turn) -> Result<ResizeReply> {
        let Self { width, height } = *self;
        // Boxes move, and media queries change.
        turn.observation.lock().await.invalidate_own_process(turn);
        let size = SetDeviceMetricsOverride { width, height, ..Default::default() };
        turn.call(size, cx.progress.deadline).await?;
        Ok(ResizeReply { width, height })
    }
}

impl VerbReply for ResizeReply {
    fn has_page_text(&self) -> bool {
        false
    }
}

impl fmt::Display for ResizeReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}", self.width, self.height)
    }
}
