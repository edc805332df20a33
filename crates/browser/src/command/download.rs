//! `download`: saves a file from the page.

use super::{Act, Caller, Verb, VerbGroup, VerbSpec};
use crate::act::pointer::{Button, ClickSpec};
use crate::act::{Action, Receipt, ReceiptDraft, SettleArgs, TargetArgs};
use crate::chromium::activity::ActivityCursor;
use crate::error::{Code, Error, Result};
use crate::target::Target;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Click a download link or button and wait for the file.
///
/// Without a target, waits for the next download of the page, or for one in progress.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Download {
    /// The element to click.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// The destination: a file path or an existing folder.
    #[arg(long, value_name = "PATH")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<PathBuf>,
}

impl Download {
    /// Resolves the path against the caller's working directory.
    pub fn resolve(&mut self) {
        if let (Ok(here), Some(to)) = (std::env::current_dir(), &mut self.to) {
            *to = here.join(&*to);
        }
    }
}

impl Verb for Download {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT.in_group(VerbGroup::Files);

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
                // A download in progress counts.
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

/// Moves a file to the destination.
fn moved(from: &Path, to: &Path) -> Result<PathBuf> {
    let to = match to.is_dir() {
        true => to.join(from.file_name().unwrap_or_default()),
        false => to.to_owned(),
    };
    let failed = |error: std::io::Error| {
        Error::new(Code::FileWriteFailed).message(format!("`{}`: {error}", to.display()))
    };
    if std::fs::rename(from, &to).is_err() {
        // On another file system.
        std::fs::copy(from, &to).map_err(failed)?;
        _ = std::fs::remove_file(from);
    }
    Ok(to)
}
