//! `drag`, `scroll`, `upload`: moving things, the view, and files.

use super::{Cx, Verb, hand};
use crate::act::{After, Aim, Deed, Guard, Hand, Receipt, Wants};
use crate::error::{Code, Error, Result};
use crate::target::Target;
use cdp::protocol::dom::SetFileInputFiles;
use cdp::protocol::page::SetInterceptFileChooserDialog;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Drag an element onto another.
///
/// With the mouse; where the page lets data be dragged, the data goes along.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Drag {
    /// What to drag.
    #[command(flatten)]
    #[serde(flatten)]
    pub aim: Aim,
    /// Where to.
    pub to: Target,
    /// What to see to afterwards.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: After,
}

impl Verb for Drag {
    type Reply = Receipt;

    async fn run(&self, cx: &mut Cx<'_>) -> Result<Receipt> {
        hand!(cx, hand);
        // The end first: looking for it may scroll.
        let to = Aim { no_wait: self.aim.no_wait, ..Aim::at(self.to.clone()) };
        hand.reach(&to, Wants::HOVER, Guard::Look).await?;
        hand.reach(&self.aim, Wants::HOVER, Guard::Look).await?;
        let end = hand.reach(&to, Wants { dry: true, ..Wants::HOVER }, Guard::Look).await?;
        if end.x == 0.0 && end.y == 0.0 {
            return Err(Error::new(Code::ActHidden).message(format!(
                "{} and what is to be dragged are not in view together",
                end.hit
            )));
        }
        let spot = hand.reach(&self.aim, Wants::CLICK, Guard::Nothing).await?;
        hand.drag(&spot, (end.x, end.y)).await?;
        let value = Some(end.hit.to_string());
        hand.finish(Deed { action: "drag", spot: Some(spot), after: &self.after, value }).await
    }
}

/// Where to scroll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum Way {
    Down,
    Up,
    Left,
    Right,
    /// To the very end.
    End,
    /// To the very beginning.
    Start,
}

/// Scroll the page, or something in it.
///
/// A target alone is brought into view. With a way, the page or what is named (or the nearest thing around it that
/// scrolls) is scrolled by about a view, or by so many pixels.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scroll {
    /// What to bring into view, or to scroll in: a target, or one of `down`, `up`, `left`, `right`, `end`, `start`.
    #[arg(value_name = "TARGET|WAY")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<String>,
    /// Which way.
    #[arg(value_enum)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub way: Option<Way>,
    /// How far, in CSS pixels [default: most of a view].
    #[arg(long, value_name = "PX")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<u32>,
    /// What to see to afterwards.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: After,
}

/// How far something was scrolled.
#[derive(Deserialize)]
struct Scrolled {
    x: f64,
    y: f64,
    left: f64,
}

/// How far one scrolls: most of a view, so that nothing is passed by.
const VIEW: u32 = 600;

impl Verb for Scroll {
    type Reply = Receipt;

    async fn run(&self, cx: &mut Cx<'_>) -> Result<Receipt> {
        let (target, way) = match (&self.target, self.way) {
            (Some(word), None) => match Way::from_str(word, true) {
                Ok(way) => (None, Some(way)),
                Err(_) => (Some(word), None),
            },
            (target, way) => (target.as_ref(), way),
        };
        let wrong = |message: String| Error::new(Code::CommandInvalid).message(message);
        let target = target.map(|text| text.parse::<Target>().map_err(wrong)).transpose()?;
        if target.is_none() && way.is_none() {
            return Err(Error::new(Code::CommandInvalid)
                .message("say what to bring into view, or which way to scroll"));
        }
        hand!(cx, hand);
        let spot = match target {
            Some(target) => Some(hand.reach(&Aim::at(target), Wants::TOUCH, Guard::Nothing).await?),
            None => {
                hand.begin_here().await?;
                None
            }
        };
        let by = f64::from(self.by.unwrap_or(VIEW));
        let (to, x, y) = match way {
            None => ("view", 0.0, 0.0),
            Some(Way::End) => ("end", 0.0, 0.0),
            Some(Way::Start) => ("start", 0.0, 0.0),
            Some(Way::Down) => ("by", 0.0, by),
            Some(Way::Up) => ("by", 0.0, -by),
            Some(Way::Left) => ("by", -by, 0.0),
            Some(Way::Right) => ("by", by, 0.0),
        };
        let number = spot.as_ref().map_or(0, |spot| spot.element);
        let script = format!("agbrowse.scroll({number}, {{to: \"{to}\", x: {x}, y: {y}}})");
        let scrolled: Option<Scrolled> = match &spot {
            Some(spot) => hand.ask(spot, &script).await?,
            None => hand.ask_main(&script).await?,
        };
        hand.done();
        let value = scrolled.map(|it| {
            let far = |x: f64| x.round() as i64;
            format!("{} right, {} down, {} left below", far(it.x), far(it.y), far(it.left))
        });
        hand.finish(Deed { action: "scroll", spot, after: &self.after, value }).await
    }
}

/// Choose files for a field, or for what opens a file chooser.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Upload {
    /// The field, or the button that asks for files.
    #[command(flatten)]
    #[serde(flatten)]
    pub aim: Aim,
    /// The files.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What to see to afterwards.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: After,
}

/// How long a page may take to ask for files after it was clicked.
const CHOOSER: Duration = Duration::from_secs(3);

impl Upload {
    /// Makes paths those of the caller, wherever the work is done.
    pub fn resolve(&mut self) {
        if let Ok(here) = std::env::current_dir() {
            for file in &mut self.files {
                *file = here.join(&*file);
            }
        }
    }
}

impl Verb for Upload {
    type Reply = Receipt;

    async fn run(&self, cx: &mut Cx<'_>) -> Result<Receipt> {
        let mut files = Vec::new();
        for file in &self.files {
            let about = std::fs::metadata(file);
            if !about.is_ok_and(|about| about.is_file()) {
                return Err(Error::new(Code::FileReadFailed)
                    .message(format!("`{}` is no file that can be read", file.display())));
            }
            files.push(file.display().to_string());
        }
        hand!(cx, hand);
        let spot = hand.reach(&self.aim, Wants::SET, Guard::Nothing).await?;
        let value = Some(match files.len() {
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        });
        if spot.kind == "file" {
            let world = hand.world(&spot)?;
            let nodes = world.backend_ids(&[spot.element], hand.deadline).await;
            let node =
                nodes.map_err(|trouble| trouble.explain(hand.tab))?.first().copied().flatten();
            let channel = world.channel.clone();
            choose_files(&hand, &channel, node, files).await?;
            hand.done();
            let deed = Deed { action: "upload", spot: Some(spot), after: &self.after, value };
            return hand.finish(deed).await;
        }
        hand.let_go(&spot.documents).await;
        upload_by_chooser(&mut hand, &self.aim, files, &self.after, value).await
    }
}

/// Clicks what asks for files, and answers it.
async fn upload_by_chooser(
    hand: &mut Hand<'_>,
    aim: &Aim,
    files: Vec<String>,
    after: &After,
    value: Option<String>,
) -> Result<Receipt> {
    let tab = hand.tab;
    let channel = tab.channel.clone();
    let catch = |enabled| SetInterceptFileChooserDialog { enabled };
    channel.call(catch(true), hand.deadline).await.map_err(|error| tab.explain(error))?;
    tab.journal.take_chooser();
    let press = crate::act::pointer::Press {
        button: crate::act::pointer::Button::Left,
        count: 1,
        modifiers: 0,
    };
    let clicked = hand.click_on("upload", aim, press, after).await;
    let mut changed = tab.journal.changed.subscribe();
    let limit = hand.deadline.at_most(CHOOSER);
    let chooser = loop {
        if let Some(chooser) = tab.journal.take_chooser() {
            break Some(chooser);
        }
        tokio::select! {
            _ = changed.changed() => {}
            () = tokio::time::sleep_until(limit.at()) => break None,
        }
    };
    channel.post(&catch(false));
    let mut receipt = clicked?;
    let Some(chooser) = chooser else {
        return Err(Error::new(Code::ActNotTaken)
            .message("it was clicked, and the page did not ask for files"));
    };
    if files.len() > 1 && !chooser.is_multiple {
        return Err(Error::new(Code::CommandInvalid).message("the page takes one file only"));
    }
    hand.begin_here().await?;
    choose_files(hand, &channel, Some(chooser.field), files).await?;
    hand.done();
    let spot = None;
    let second = hand.finish(Deed { action: "upload", spot, after, value }).await?;
    receipt.attempts.extend(second.attempts.clone());
    Ok(Receipt {
        target: receipt.target,
        strategy: receipt.strategy,
        attempts: receipt.attempts,
        ..second
    })
}

async fn choose_files(
    hand: &Hand<'_>,
    channel: &cdp::Channel,
    node: Option<i64>,
    files: Vec<String>,
) -> Result<()> {
    let set = SetFileInputFiles { files, backend_node_id: node };
    channel.call(set, hand.deadline).await.map_err(|error| hand.tab.explain(error))?;
    Ok(())
}
