//! `zoom`: the page larger or smaller, as with a browser's zoom.

use super::{CommandContext, RunInTab, Verb, VerbGroup, VerbReply, VerbSpec};
use crate::error::{Code, Error, Result};
use crate::tab::Turn;
use cdp::protocol::emulation::SetDeviceMetricsOverride;
use cdp::protocol::runtime::Evaluate;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;

/// Factors that browsers offer.
const FACTORS: RangeInclusive<f64> = 0.25..=5.0;

/// Zoom the page of this tab.
///
/// The page is laid out anew, as with a browser's zoom: at 2, half as many CSS pixels fit into the view, each twice as
/// large. Stays until the next `zoom` or `resize`; `zoom 1` ends it.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Zoom {
    /// The factor, from 0.25 to 5.
    pub factor: f64,
}

/// The view after a zoom.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ZoomReply {
    /// The factor.
    pub factor: f64,
    /// Width of the view in CSS pixels.
    pub width: u32,
    /// Height of the view in CSS pixels.
    pub height: u32,
}

impl Verb for Zoom {
    type Reply = ZoomReply;
    const SPEC: VerbSpec = VerbSpec::ACT.in_group(VerbGroup::Tabs);

    fn check(&self, _cx: &CommandContext<'_>) -> Result<()> {
        match FACTORS.contains(&self.factor) {
            true => Ok(()),
            false => Err(Error::new(Code::CommandInvalid).message(format!(
                "a page is zoomed by {} to {}, not by {}",
                FACTORS.start(),
                FACTORS.end(),
                self.factor
            ))),
        }
    }
}

impl RunInTab for Zoom {
    async fn run(&self, cx: &mut CommandContext<'_>, turn: &Turn) -> Result<ZoomReply> {
        let deadline = cx.progress.deadline;
        // Boxes move, and media queries match or cease to.
        turn.observation.lock().await.invalidate_own_process(turn);
        let [width, height, ratio] = metrics(cx, turn).await?;
        // The screen's own pixel ratio is not known while another one is emulated.
        let size = SetDeviceMetricsOverride {
            width: pixels(width),
            height: pixels(height),
            ..Default::default()
        };
        turn.call(size, deadline).await?;
        let [.., screen_ratio] = metrics(cx, turn).await?;
        let before = if screen_ratio > 0.0 { ratio / screen_ratio } else { 1.0 };
        let (width, height) =
            (pixels(width * before / self.factor), pixels(height * before / self.factor));
        let device_scale_factor = if self.factor == 1.0 { 0.0 } else { screen_ratio * self.factor };
        let zoomed =
            SetDeviceMetricsOverride { width, height, device_scale_factor, ..Default::default() };
        turn.call(zoomed, deadline).await?;
        Ok(ZoomReply { factor: self.factor, width, height })
    }
}

/// Width and height of the view, and the pixel ratio.
async fn metrics(cx: &CommandContext<'_>, turn: &Turn) -> Result<[f64; 3]> {
    let ask = Evaluate {
        expression: "[innerWidth, innerHeight, devicePixelRatio]".into(),
        return_by_value: Some(true),
        silent: Some(true),
        ..Evaluate::default()
    };
    let value = turn.call(ask, cx.progress.deadline).await?.result.and_then(|it| it.value);
    value.and_then(|value| serde_json::from_str(value.get()).ok()).ok_or_else(|| {
        Error::new(Code::PageUnresponsive).message("the page does not tell its size")
    })
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a view's size is positive and far below 2^32"
)]
fn pixels(length: f64) -> u32 {
    length.round().clamp(1.0, 10_000.0) as u32
}

impl VerbReply for ZoomReply {
    fn has_page_text(&self) -> bool {
        false
    }
}

impl fmt::Display for ZoomReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×, {}×{} CSS pixels", self.factor, self.width, self.height)
    }
}
