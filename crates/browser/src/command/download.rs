//! `download`: a file that the page gives away.

use super::{Act, Caller, Verb, VerbSpec};
use crate::act::pointer::{Button, ClickSpec};
use crate::act::{Action, Receipt, ReceiptDraft, SettleArgs, TargetArgs};
use crate::chromium::activity::ActivityCursor;
use crate::error::{Code, Error, Result};
use crate::target::Target;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Click what gives away a file, and wait until the file is there.
///
/// Without a target, waits for the next file that the page gives away, or for one that is on its way.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Download {
    /// What to click.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// Where to put the file: a path, or a folder that is there.
    #[arg(long, value_name = "PATH")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<PathBuf>,
}

impl Download {
    /// Makes the path that of the caller, wherever the work is done.
    pub fn resolve(&mut self) {
        if let (Ok(here), Some(to)) = (std::env::current_dir(), &mut self.to) {
            *to = here.join(&*to);
        }
    }
}

impl Verb for Download {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;

    fn localize(&mut self, _caller: &mut Caller<'_>) -> Result<()> {
        self.resolve();
        Ok(())
    }
}

impl Act for Download {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        let activity = &action.tab.activity;
        let mut cursor = activity.cursor();
        let after = SettleArgs { no_delta: true, ..SettleArgs::default() };
        let receipt = match &self.target {
            Some(target) => {
                let press = ClickSpec { button: Button::Left, count: 1, modifiers: 0, hold: None };
                action.click_on("download", &TargetArgs::at(target.clone()), press, &after).await?
            }
            None => {
                // One that is on its way counts.
                let on_its_way = activity.downloads_since(ActivityCursor::default());
                if on_its_way.last().is_some_and(|last| last.done.is_none()) {
                    cursor.downloaded -= 1;
                }
                action.watch_effects().await?;
                action.mark_dispatched();
                let draft =
                    ReceiptDraft { verb: "download", point: None, after: &after, value: None };
                action.nothing_to_do(draft).await
            }
        };
        let mut changed = action.tab.activity.changed.subscribe();
        loop {
            let all = action.tab.activity.downloads_since(cursor);
            if let Some(done) = all.iter().find_map(|it| it.done.clone()) {
                let path = done.map_err(|why| {
                    Error::new(Code::DownloadFailed).message(format!("the download failed: {why}"))
                })?;
                let path = match &self.to {
                    Some(to) => moved(&path, to)?,
                    None => path,
                };
                let mut receipt = Receipt {
                    effect: crate::act::Effect::Download,
                    dispatched: true,
                    value: Some(path.display().to_string()),
                    ..receipt
                };
                receipt.events.retain(|event| event.kind != "download");
                action.tab.activity.discard_events("download");
                return Ok(receipt);
            }
            tokio::select! {
                _ = changed.changed() => {}
                () = tokio::time::sleep_until(action.progress.deadline.at()) => {
                    let begun = all.first().map(|it| format!("{:?} from `{}` is not complete", it.name, page::text::mask_url(&it.url)));
                    let what = begun.unwrap_or_else(|| "no download began".into());
                    return Err(Error::new(Code::DownloadFailed)
                        .message(format!("{what} after {} ms", action.progress.deadline.total().as_millis())));
                }
            }
        }
    }
}

/// Moves a file to where the caller wants it.
fn moved(from: &Path, to: &Path) -> Result<PathBuf> {
    let to = match to.is_dir() {
        true => to.join(from.file_name().unwrap_or_default()),
        false => to.to_owned(),
    };
    let failed = |error: std::io::Error| {
        Error::new(Code::FileWriteFailed).message(format!("`{}`: {error}", to.display()))
    };
    if std::fs::rename(from, &to).is_err() {
        // Another disk.
        std::fs::copy(from, &to).map_err(failed)?;
        _ = std::fs::remove_file(from);
    }
    Ok(to)
}
