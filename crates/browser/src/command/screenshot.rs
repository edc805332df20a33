//! `screenshot`: a picture of the page.

use super::{Cx, Verb, decode_base64, size};
use crate::browser::Needs;
use crate::error::{Code, Error, Result};
use crate::note::Note;
use cdp::protocol::page::{CaptureScreenshot, GetLayoutMetrics, Viewport};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// Chromium cannot draw a taller picture.
const MAX_HEIGHT: f64 = 16_384.0;

/// Take a picture of the page.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Screenshot {
    /// The file to write; `-` is standard output. A name with the time of day when absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    /// The whole page, not only what is in view.
    #[arg(long)]
    #[serde(default)]
    pub full_page: bool,
    /// The picture's format; taken from the file's name when absent.
    #[arg(long, value_enum)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub format: Option<ImageFormat>,
    /// From 0 to 100, for jpeg and webp.
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=100))]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub quality: Option<u32>,
}

/// A picture's format.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum ImageFormat {
    /// Exact.
    #[default]
    Png,
    /// Small, for photographs.
    Jpeg,
    /// Smaller.
    Webp,
}

impl ImageFormat {
    /// The format that a file's name asks for.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "png" => Some(Self::Png),
            "jpg" | "jpeg" => Some(Self::Jpeg),
            "webp" => Some(Self::Webp),
            _ => None,
        }
    }

    /// Its name, which is also the file name's ending.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Webp => "webp",
        }
    }
}

/// A picture.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shot {
    /// Where it was written to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    /// Its format.
    pub format: ImageFormat,
    /// In CSS pixels.
    pub width: u32,
    /// In CSS pixels.
    pub height: u32,
    /// Its size.
    pub bytes: usize,
    /// The picture itself.
    #[serde(skip)]
    pub data: Vec<u8>,
}

impl Verb for Screenshot {
    type Reply = Shot;

    async fn run(&self, cx: &mut Cx<'_>) -> Result<Shot> {
        let turn = cx.turn(Needs::Page).await?;
        let format =
            self.format.or_else(|| ImageFormat::of(self.path.as_deref()?)).unwrap_or_default();
        let metrics = turn.call(GetLayoutMetrics {}, cx.deadline).await?;
        let view = metrics.css_layout_viewport.unwrap_or_default();
        let (mut width, mut height) = (
            pixels(view.client_width.unwrap_or_default() as f64),
            pixels(view.client_height.unwrap_or_default() as f64),
        );
        let mut clip = None;
        if self.full_page {
            let content = metrics.css_content_size.unwrap_or_default();
            let tall = content.height.unwrap_or_default();
            if tall > MAX_HEIGHT {
                let cut =
                    format!("the page is {tall} px tall; the picture ends at {MAX_HEIGHT} px");
                cx.notes.push(Note::new("cut", cut));
            }
            let area = Viewport {
                x: Some(0.0),
                y: Some(0.0),
                width: Some(content.width.unwrap_or_default().max(1.0)),
                height: Some(tall.clamp(1.0, MAX_HEIGHT)),
                scale: Some(1.0),
            };
            (width, height) =
                (pixels(area.width.unwrap_or_default()), pixels(area.height.unwrap_or_default()));
            clip = Some(area);
        }
        let capture = CaptureScreenshot {
            format: format.as_str().into(),
            quality: self.quality.filter(|_| format != ImageFormat::Png),
            clip,
            capture_beyond_viewport: Some(self.full_page),
            optimize_for_speed: Some(true),
        };
        let taken = turn.call(capture, cx.deadline).await.map_err(|error| match error.code() {
            Code::CdpRefused => {
                Error::new(Code::ScreenshotCaptureFailed).message(error.details().message.clone())
            }
            _ => error,
        })?;
        let data = taken.data.as_deref().and_then(decode_base64).filter(|data| !data.is_empty());
        let data = data.ok_or_else(|| Error::new(Code::ScreenshotCaptureFailed))?;
        Ok(Shot { path: None, format, width, height, bytes: data.len(), data })
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a page's size is positive and far below 2^32"
)]
fn pixels(length: f64) -> u32 {
    length.max(0.0).ceil() as u32
}

impl fmt::Display for Shot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}  ", path.display())?;
        }
        write!(f, "{}×{} {}, {}", self.width, self.height, self.format.as_str(), size(self.bytes))
    }
}
