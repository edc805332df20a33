//! `upload`: files for a field, or for what asks for them.

use super::{Cx, Verb, hand};
use crate::act::{After, Aim, Deed, Guard, Hand, Receipt, Wants};
use crate::error::{Code, Error, Result};
use cdp::protocol::dom::SetFileInputFiles;
use cdp::protocol::page::SetInterceptFileChooserDialog;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

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
