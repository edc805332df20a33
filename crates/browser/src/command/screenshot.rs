//! `screenshot`: takes an image of the page.

use super::{
    Caller, CommandContext, ReplyFile, RunInTab, Verb, VerbGroup, VerbReply, VerbSpec,
    decode_base64, size,
};
use crate::error::{Code, Error, Result};
use crate::note::Note;
use crate::observe::{self, ObserveOptions, TabObservation, WORLD, World, json};
use crate::tab::Turn;
use crate::target::{self, Target};
use cdp::Deadline;
use cdp::protocol::page::{CaptureScreenshot, CreateIsolatedWorld, GetLayoutMetrics, Viewport};
use cdp::protocol::runtime::Evaluate;
use clap::{Args, ValueEnum};
use page::ax::{Bounds, RefPolicy, Tree};
use page::refs::Scope;
use page::view::{ViewOptions, view};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// Extensions of image formats that we do not write.
const OTHER_IMAGES: &[&str] =
    &["gif", "bmp", "tif", "tiff", "avif", "heic", "jxl", "ico", "svg", "pdf"];

/// Maximum height of an image in Chromium.
const MAX_HEIGHT: f64 = 16_384.0;

/// Take a screenshot of the page.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Screenshot {
    /// The file to write; `-` is standard output. A name with the time of day when absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    /// The file, if an element comes first: `screenshot @e3 button.png`.
    #[arg(value_name = "FILE", hide = true)]
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// Only this element: a ref from the last snapshot (`@e3`) or `css=…`. May also precede the file.
    #[arg(long, value_name = "TARGET", conflicts_with = "full_page")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<Target>,
    /// Draw a box with its ref around every actionable element.
    #[arg(long)]
    #[serde(default)]
    pub refs: bool,
    /// The whole page instead of the viewport.
    #[arg(long)]
    #[serde(default)]
    pub full_page: bool,
    /// The image format [default: from the file name, or png].
    #[arg(long, value_enum)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub format: Option<ImageFormat>,
    /// The quality from 0 to 100, for jpeg and webp.
    #[arg(long, value_parser = clap::value_parser!(u32).range(0..=100))]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub quality: Option<u32>,
}

/// An image format.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum ImageFormat {
    /// Lossless.
    #[default]
    Png,
    /// Small files for photographs.
    Jpeg,
    /// Smaller files.
    Webp,
}

impl ImageFormat {
    /// The format of a file name's extension.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "png" => Some(Self::Png),
            "jpg" | "jpeg" => Some(Self::Jpeg),
            "webp" => Some(Self::Webp),
            _ => None,
        }
    }

    /// The name, which is also the file extension.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Webp => "webp",
        }
    }
}

/// A screenshot.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScreenshotReply {
    /// The path of the written file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    /// Its format.
    pub format: ImageFormat,
    /// The width in CSS pixels.
    pub width: u32,
    /// The height in CSS pixels.
    pub height: u32,
    /// The file size.
    pub bytes: usize,
    /// The image data.
    #[serde(skip)]
    pub data: Vec<u8>,
}

impl Verb for Screenshot {
    type Reply = ScreenshotReply;
    const SPEC: VerbSpec = VerbSpec {
        not_in_batch: Some("screenshots and PDFs cannot be part of a batch"),
        ..VerbSpec::LOOK.in_group(VerbGroup::Files)
    };

    fn localize(&mut self, _caller: &mut Caller<'_>) -> Result<()> {
        // `screenshot @e3 button.png`: the first argument is an element if a file follows.
        let first = self.path.as_ref().and_then(|path| path.to_str()).unwrap_or_default();
        if self.file.is_some() || names_target(first) {
            let wrong = |why| Error::new(Code::CommandInvalid).message(why);
            if self.target.is_some() {
                return Err(wrong("`--target` names the element: give one file".to_owned()));
            }
            if self.full_page {
                return Err(wrong("`--full-page` cannot be combined with an element".to_owned()));
            }
            self.target = Some(first.parse().map_err(wrong)?);
            self.path = self.file.take();
        }
        check_file_name(self)
    }

    fn output_path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

impl VerbReply for ScreenshotReply {
    fn file(&mut self) -> Option<ReplyFile<'_>> {
        let name = ("screenshot", self.format.as_str());
        Some(ReplyFile { path: &mut self.path, data: &mut self.data, name, is_private: false })
    }
}

impl RunInTab for Screenshot {
    async fn run(&self, cx: &mut CommandContext<'_>, turn: &Turn) -> Result<ScreenshotReply> {
        let format =
            self.format.or_else(|| ImageFormat::of(self.path.as_deref()?)).unwrap_or_default();
        let metrics = turn.call(GetLayoutMetrics {}, cx.progress.deadline).await?;
        let view = metrics.css_layout_viewport.unwrap_or_default();
        let (mut width, mut height) = (
            pixels(view.client_width.unwrap_or_default() as f64),
            pixels(view.client_height.unwrap_or_default() as f64),
        );
        let scrolled =
            (view.page_x.unwrap_or_default() as f32, view.page_y.unwrap_or_default() as f32);
        let mut clip = None;
        if let Some(target) = &self.target {
            let bounds = element_bounds(cx, turn, target).await?;
            note_truncation(&mut cx.progress.notes, "element", f64::from(bounds.height));
            let area = Viewport {
                x: Some(f64::from(bounds.x + scrolled.0)),
                y: Some(f64::from(bounds.y + scrolled.1)),
                width: Some(f64::from(bounds.width)),
                height: Some(f64::from(bounds.height).min(MAX_HEIGHT)),
                scale: Some(1.0),
            };
            (width, height) =
                (pixels(area.width.unwrap_or_default()), pixels(area.height.unwrap_or_default()));
            clip = Some(area);
        }
        if self.full_page {
            let content = metrics.css_content_size.unwrap_or_default();
            let tall = content.height.unwrap_or_default();
            note_truncation(&mut cx.progress.notes, "page", tall);
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
        let corner = clip.as_ref().map_or(scrolled, |area| {
            (area.x.unwrap_or_default() as f32, area.y.unwrap_or_default() as f32)
        });
        // Labels are drawn before the lossy compression.
        let taken_as = if self.refs { ImageFormat::Png } else { format };
        let is_view = clip.is_none();
        let capture = CaptureScreenshot {
            format: taken_as.as_str().into(),
            quality: self.quality.filter(|_| taken_as != ImageFormat::Png),
            capture_beyond_viewport: Some(clip.is_some()),
            clip,
            optimize_for_speed: Some(true),
        };
        let taken =
            turn.call(capture, cx.progress.deadline).await.map_err(|error| match error.code() {
                Code::CdpRefused => Error::new(Code::ScreenshotCaptureFailed)
                    .message(error.details().message.clone()),
                _ => error,
            })?;
        if is_view {
            record_targets(turn, cx.progress.deadline).await;
        }
        let mut taken = taken;
        if self.refs {
            let shift = (scrolled.0 - corner.0, scrolled.1 - corner.1);
            let plain = taken.data.take().unwrap_or_default();
            taken.data = Some(draw_labels(cx, turn, &plain, shift, format, self.quality).await?);
        }
        let data = taken.data.as_deref().and_then(decode_base64).filter(|data| !data.is_empty());
        let data = data.ok_or_else(|| Error::new(Code::ScreenshotCaptureFailed))?;
        Ok(ScreenshotReply { path: None, format, width, height, bytes: data.len(), data })
    }
}

/// Adds a note if the image is truncated.
fn note_truncation(notes: &mut Vec<Note>, what: &str, tall: f64) {
    if tall > MAX_HEIGHT {
        let cut = format!("the {what} is {tall} px tall; the screenshot ends at {MAX_HEIGHT} px");
        notes.push(Note::new("cut", cut));
    }
}

/// Has the page record its screenshot targets: points chosen on the image refer to those.
async fn record_targets(turn: &Turn, deadline: Deadline) {
    let world =
        CreateIsolatedWorld { frame_id: turn.target_id.clone(), world_name: Some(WORLD.into()) };
    let Ok(world) = turn.call(world, deadline).await else { return };
    turn.channel.post(&Evaluate {
        expression: "globalThis.agbrowse && agbrowse.recordScreenshotTargets()".into(),
        context_id: world.execution_context_id,
        silent: Some(true),
        ..Evaluate::default()
    });
}

/// The bounding box of an element in the viewport. An element without a size is an error.
async fn element_bounds(
    cx: &mut CommandContext<'_>,
    turn: &Turn,
    wanted: &Target,
) -> Result<Bounds> {
    let live = cx.live().await?;
    let mut observation = turn.observation.lock().await;
    let observe_options = ObserveOptions { boxes: true, ..ObserveOptions::default() };
    let tree =
        observe::observe(&live, turn, &mut observation, &observe_options, cx.progress.deadline)
            .await?;
    let node = target::find(turn, &mut observation, &tree, wanted, &mut cx.progress).await?;
    let node = &tree.nodes[node];
    let bounds = tree.extra(node).and_then(|extra| extra.bounds).unwrap_or_default();
    if bounds.width < 1.0 || bounds.height < 1.0 {
        return Err(Error::new(Code::ScreenshotCaptureFailed)
            .message(format!("the element of `{wanted}` has no size")));
    }
    Ok(bounds)
}

/// The image with a box and a ref around every actionable element.
async fn draw_labels(
    cx: &mut CommandContext<'_>,
    turn: &Turn,
    picture: &str,
    shift: (f32, f32),
    format: ImageFormat,
    quality: Option<u32>,
) -> Result<String> {
    let live = cx.live().await?;
    let mut observation = turn.observation.lock().await;
    let observation = &mut *observation;
    let observe_options = ObserveOptions::default();
    let tree =
        observe::observe(&live, turn, observation, &observe_options, cx.progress.deadline).await?;
    let options = ViewOptions {
        policy: RefPolicy::Live { all: false },
        refs_only: true,
        ..ViewOptions::default()
    };
    let registry = &mut observation.registry;
    let seen = view(&tree, &options, &mut registry.numbering(&tree));
    registry.issue_view(&tree, &seen, Scope::Part);
    let mut boxes: Vec<(String, f32, f32, f32, f32)> = Vec::new();
    for (frame, clip) in
        frame_clips(observation, &tree, cx.progress.deadline).await.into_iter().enumerate()
    {
        let Some(clip) = clip else { continue };
        let inside = seen.lines.iter().filter_map(|line| {
            let node = &tree.nodes[line.node as usize];
            (usize::from(node.frame) == frame).then_some((line.number?, node.element))
        });
        let (numbers, elements): (Vec<u32>, Vec<u32>) = inside.unzip();
        let Some(world) = observation.world_of(&tree.frames[frame].document) else { continue };
        let parts = clip.visible_rects(world, &elements, cx.progress.deadline).await;
        for (number, part) in numbers.into_iter().zip(parts) {
            if let Some(part) = part {
                let (x, y) = (part.x + shift.0, part.y + shift.1);
                boxes.push((format!("@e{number}"), x, y, part.width, part.height));
            }
        }
    }
    let failed = || Error::new(Code::ScreenshotCaptureFailed);
    let world = observation.world_of(&tree.frames[0].document).ok_or_else(failed)?;
    let quality = f64::from(quality.unwrap_or(90)) / 100.0;
    let kind = format!("image/{}", format.as_str());
    let arguments = format!("{}, {}, {}, {quality}", json(picture), json(&boxes), json(&kind));
    world
        .run(include_str!("../../js/draw_ref_labels.js"), &arguments, cx.progress.deadline)
        .await
        .map_err(|error| error.explain(turn))
}

/// The visible part of a frame's document.
#[derive(Clone, Copy)]
struct FrameClip {
    /// The origin of the document in the main viewport.
    corner: (f32, f32),
    /// The visible part in the main viewport; `None` if all is visible.
    visible: Option<Bounds>,
}

impl FrameClip {
    /// The visible rectangles of elements of the document, in the main viewport.
    async fn visible_rects(
        &self,
        world: &World,
        elements: &[u32],
        deadline: Deadline,
    ) -> Vec<Option<Bounds>> {
        let script = format!("agbrowse.visibleRects({})", json(elements));
        let parts: Vec<Option<[f32; 4]>> = world.ask(&script, deadline).await.unwrap_or_default();
        let placed = |[x, y, width, height]: [f32; 4]| {
            let part = Bounds { x: x + self.corner.0, y: y + self.corner.1, width, height };
            self.visible.map_or(Some(part), |visible| overlap(&part, &visible))
        };
        parts.into_iter().map(|part| part.and_then(placed)).collect()
    }
}

/// The clip of each frame; `None` for an invisible one.
async fn frame_clips(
    observation: &TabObservation,
    tree: &Tree,
    deadline: Deadline,
) -> Vec<Option<FrameClip>> {
    let mut all: Vec<Option<FrameClip>> = Vec::new();
    for (index, frame) in tree.frames.iter().enumerate() {
        let around = frame.parent.map(|parent| all.get(usize::from(parent)).copied().flatten());
        let clip = match around {
            None => Some(FrameClip { corner: (0.0, 0.0), visible: None }),
            Some(None) => None,
            Some(Some(around)) => {
                let visible = match observe::frame_owner(observation, tree, index as u16) {
                    Some((world, owner)) => {
                        around.visible_rects(world, &[owner], deadline).await.pop().flatten()
                    }
                    None => None,
                };
                let corner = observe::offset(observation, tree, index as u16, deadline).await;
                visible.map(|visible| FrameClip { corner, visible: Some(visible) })
            }
        };
        all.push(clip);
    }
    all
}

/// The intersection of two boxes.
fn overlap(one: &Bounds, other: &Bounds) -> Option<Bounds> {
    let (x, y) = (one.x.max(other.x), one.y.max(other.y));
    let width = (one.x + one.width).min(other.x + other.width) - x;
    let height = (one.y + one.height).min(other.y + other.height) - y;
    (width >= 1.0 && height >= 1.0).then_some(Bounds { x, y, width, height })
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a page's size is positive and far below 2^32"
)]
fn pixels(length: f64) -> u32 {
    length.max(0.0).ceil() as u32
}

impl fmt::Display for ScreenshotReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}  ", path.display())?;
        }
        write!(f, "{}×{} {}, {}", self.width, self.height, self.format.as_str(), size(self.bytes))
    }
}

/// True if the only argument is a target, not a file: a file has an image extension or a folder.
fn names_target(word: &str) -> bool {
    let is_file = word.is_empty() || word == "-" || word.contains('/') || is_image(Path::new(word));
    !is_file || has_strategy(word)
}

/// True if a word begins with a target strategy, such as `text=…`, or has an attribute selector: then it is no file.
/// Any other `=` may be part of a file name.
fn has_strategy(word: &str) -> bool {
    let Some((kind, _)) = word.split_once('=') else { return false };
    let is_word = kind.bytes().all(|byte| byte.is_ascii_lowercase());
    // An unknown strategy is parsed as the beginning of a selector.
    let is_known = || !matches!(word.parse::<Target>(), Ok(Target::Css(css)) if css == word.trim());
    kind.rfind('[') > kind.rfind(']') || (is_word && is_known())
}

/// Checks the file name before the browser is asked.
fn check_file_name(screenshot: &Screenshot) -> Result<()> {
    let Some(path) = &screenshot.path else { return Ok(()) };
    if is_other_image(path) {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        return Err(Error::new(Code::CommandInvalid).message(format!(
            "`{}` ends in .{ending}, but screenshots are png, jpeg or webp",
            path.display()
        )));
    }
    let Some(format) = screenshot.format else { return Ok(()) };
    match ImageFormat::of(path) {
        Some(named) if named != format => Err(Error::new(Code::CommandInvalid).message(format!(
            "`{}` is named {} but `--format {}` was given",
            path.display(),
            named.as_str(),
            format.as_str()
        ))),
        _ => Ok(()),
    }
}

/// True if the file has an image extension of any format.
fn is_image(path: &Path) -> bool {
    ImageFormat::of(path).is_some() || is_other_image(path)
}

fn is_other_image(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    OTHER_IMAGES.contains(&&*ending.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_have_an_equals_sign() {
        for (word, is_target) in [
            ("@e3", true),
            (".button", true),
            ("role=button", true),
            ("role=nonsense.png", true),
            ("text=a/b.png", true),
            ("css=./a", true),
            ("label=", true),
            ("[data-way=a/b]", true),
            ("a[href=\"/cart\"]", true),
            ("ul:not([hidden]) [href='/cart.png']", true),
            ("", false),
            ("-", false),
            ("page.png", false),
            ("out/page", false),
            ("run=1.png", false),
            ("./run=1.png", false),
            ("@2x=1.png", false),
            ("out/date=2026-01-01/page.png", false),
            ("out[1]/run=2.png", false),
        ] {
            assert_eq!(names_target(word), is_target, "{word}");
        }
    }
}
