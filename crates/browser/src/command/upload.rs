//! `upload`: sets the files of a file input, directly or through a file chooser.

use super::{Act, Caller, CommandContext, Verb, VerbGroup, VerbSpec};
use crate::access::Access;
use crate::act::armed::ArmedState;
use crate::act::pointer::{Button, ClickSpec};
use crate::act::{
    Action, ActionPoint, Actionability, EventGuard, Receipt, ReceiptDraft, ReceiptTarget,
    SettleArgs, TargetArgs,
};
use crate::chromium::activity::CHOOSER;
use crate::command_context::allowed_file;
use crate::error::{Code, Error, Result, RetryHint};
use crate::note::Note;
use crate::observe::{ObserveError, World, json};
use crate::tab::{FileChooser, Tab, TabState};
use crate::target::Target;
use cdp::Channel;
use cdp::protocol::dom::SetFileInputFiles;
use cdp::protocol::page::SetInterceptFileChooserDialog;
use clap::Args;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Upload files to a file input, or through a file chooser.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Upload {
    /// The file input, or the button that opens a file chooser.
    #[command(flatten)]
    #[serde(flatten, deserialize_with = "optional_target_args")]
    pub target_args: Option<TargetArgs>,
    /// The files. Without any, the input is cleared.
    #[arg(value_name = "FILE")]
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// Answer the open file chooser instead of a target. Without files it is canceled.
    // Arguments that it conflicts with are not required beside it.
    #[arg(long, value_name = "FILE", num_args = 0.., conflicts_with_all = ["target", "files"])]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub chooser: Option<Vec<PathBuf>>,
    /// Settling and the receipt.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

/// Deserializes an optional target. An invalid one is an error, not an absent one.
pub(super) fn optional_target_args<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Option<TargetArgs>, D::Error> {
    let fields = serde_json::Map::deserialize(from)?;
    match fields.contains_key("target") {
        true => serde_json::from_value(fields.into()).map(Some).map_err(D::Error::custom),
        false => Ok(None),
    }
}

/// Wait for a file chooser after the click.
const CHOOSER_TIMEOUT: Duration = Duration::from_secs(3);

impl Upload {
    /// Resolves the paths against the caller's working directory.
    pub fn resolve(&mut self) {
        if let Ok(here) = std::env::current_dir() {
            for file in self.files.iter_mut().chain(self.chooser.iter_mut().flatten()) {
                *file = here.join(&*file);
            }
        }
    }
}

impl Verb for Upload {
    type Reply = Receipt;
    const SPEC: VerbSpec =
        VerbSpec { reads_files: true, ..VerbSpec::ACT.in_group(VerbGroup::Files) };

    fn localize(&mut self, _caller: &mut Caller<'_>) -> Result<()> {
        self.resolve();
        Ok(())
    }

    fn check(&self, cx: &CommandContext<'_>) -> Result<()> {
        self.files_for(cx.access.as_ref())?;
        if self.target_args.is_some() == self.chooser.is_some() {
            return Err(Error::new(Code::CommandInvalid)
                .message("name a target for the files, or `chooser` for the open file chooser"));
        }
        Ok(())
    }
}

impl Upload {
    /// The canonical paths of the files; an error if the caller may not access one or it is not readable.
    fn files_for(&self, access: Option<&Access>) -> Result<Vec<String>> {
        let named = self.chooser.as_ref().unwrap_or(&self.files).iter();
        let files = named.map(|file| allowed_file(access, file)).collect::<Result<Vec<_>>>()?;
        readable_paths(&files)
    }
}

impl Act for Upload {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        let files = self.files_for(action.access)?;
        match &self.target_args {
            Some(target_args) => set_files_of(action, target_args, &files, &self.after).await,
            None => {
                let chooser = action.tab.state.borrow().chooser.clone();
                let chooser = chooser.ok_or_else(|| no_chooser_error(action.tab))?;
                answer(action, chooser, &files, &self.after).await
            }
        }
    }
}

/// The paths of the files, if they exist.
fn readable_paths(files: &[PathBuf]) -> Result<Vec<String>> {
    let path = |file: &PathBuf| match std::fs::metadata(file).is_ok_and(|about| about.is_file()) {
        true => Ok(file.display().to_string()),
        false => Err(Error::new(Code::FileReadFailed)
            .message(format!("`{}` is not a readable file", file.display()))),
    };
    files.iter().map(path).collect()
}

fn no_chooser_error(tab: &Tab) -> Error {
    Error::new(Code::PageNoDialog)
        .message(format!(
            "no file chooser is open on tab {}: click the element that opens one first, or name the field",
            tab.id
        ))
        .hint(RetryHint::ReSnapshot)
        .evidence("tab", tab.id.to_string())
}

/// Sets the files of a file input, or clicks the element and answers its file chooser.
async fn set_files_of(
    action: &mut Action<'_>,
    target_args: &TargetArgs,
    files: &[String],
    after: &SettleArgs,
) -> Result<Receipt> {
    if let Some(input) = hidden_input(action, target_args).await? {
        return set_files_of_hidden(action, input, files, after).await;
    }
    let point = action.resolve_actionable(target_args, Actionability::SET, EventGuard::Off).await?;
    if point.kind != "file" {
        let channel = action.world(&point)?.channel.clone();
        action.release_guard();
        return click_and_answer(action, target_args, &channel, files, after).await;
    }
    let value = set_files_of_field(action, &point, files)
        .await
        .map(|given| count_with_note(action, &given));
    finish(action, Some(point), value, after).await
}

/// A file input that a selector matches and that is not shown, as in most custom upload widgets.
struct HiddenInput {
    target: ReceiptTarget,
    strategy: &'static str,
    document: String,
    node: i64,
}

/// The observer script's description of a matching file input.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileInput {
    id: u32,
    name: String,
    is_shown: bool,
    is_disabled: bool,
}

/// The hidden file input of a target. Only selectors can match one; visible elements are resolved as usual.
async fn hidden_input(
    action: &mut Action<'_>,
    target_args: &TargetArgs,
) -> Result<Option<HiddenInput>> {
    let css = match &target_args.target {
        Target::Css(css) => css.clone(),
        Target::TestId(id) => format!("[data-testid={}]", json(id)),
        _ => return Ok(None),
    };
    let tree = action.observe().await?;
    for frame in &tree.frames {
        let Some(world) = action.observation.world_of(&frame.document) else { continue };
        let script = format!("agbrowse.fileInputs({})", json(&css));
        let asked = world.ask::<Vec<FileInput>>(&script, action.progress.deadline).await;
        let all = asked.map_err(|error| error.explain(action.tab))?;
        let input = match (all.as_slice(), target_args.nth) {
            ([], _) => continue,
            ([one], None) => one,
            (all, Some(nth)) if (nth as usize) < all.len() => &all[nth as usize],
            _ => return Ok(None),
        };
        if input.is_shown {
            return Ok(None);
        }
        let target =
            ReceiptTarget { ref_name: None, role: "file".into(), name: input.name.clone() };
        if input.is_disabled {
            let message = format!("{target} is disabled (disabled)");
            return Err(Error::new(Code::ActDisabled).message(message));
        }
        let nodes = world.backend_ids(&[input.id], action.progress.deadline).await;
        let nodes = nodes.map_err(|error| error.explain(action.tab))?;
        let node = nodes.first().copied().flatten();
        let node = node.ok_or_else(|| ObserveError::Nothing.explain(action.tab))?;
        let strategy = target_args.target.strategy();
        return Ok(Some(HiddenInput { target, strategy, document: frame.document.clone(), node }));
    }
    Ok(None)
}

async fn set_files_of_hidden(
    action: &mut Action<'_>,
    input: HiddenInput,
    files: &[String],
    after: &SettleArgs,
) -> Result<Receipt> {
    let gone = || Error::new(Code::SnapshotRefStale).message("the page was replaced meanwhile");
    let frame_id = action.observation.world_of(&input.document).ok_or_else(gone)?.frame_id.clone();
    action.watch_effects_in(&frame_id).await?;
    let given = match action.observation.world_of(&input.document) {
        Some(world) => FileField { world, node: input.node }.set(action, files).await,
        None => Err(gone()),
    };
    let value = given.map(|given| count_with_note(action, &given));
    let receipt = finish(action, None, value, after).await?;
    let strategy = Some(input.strategy.to_owned());
    Ok(Receipt { target: Some(input.target), strategy, ..receipt })
}

/// Settles and builds the receipt.
async fn finish(
    action: &mut Action<'_>,
    point: Option<ActionPoint>,
    value: Result<String>,
    after: &SettleArgs,
) -> Result<Receipt> {
    if value.is_err() {
        action.release_guard();
    }
    let value = Some(value?);
    action.mark_dispatched();
    action.finish(ReceiptDraft { verb: "upload", point, after, value }).await
}

async fn set_files_of_field(
    action: &Action<'_>,
    point: &ActionPoint,
    files: &[String],
) -> Result<FileCount> {
    let world = action.world(point)?;
    let element = point.control.unwrap_or(point.element);
    let nodes = world.backend_ids(&[element], action.progress.deadline).await;
    let nodes = nodes.map_err(|error| error.explain(action.tab))?;
    let Some(node) = nodes.first().copied().flatten() else {
        return Err(ObserveError::Nothing.explain(action.tab));
    };
    FileField { world, node }.set(action, files).await
}

/// Clicks an element and answers the file chooser that it opens.
async fn click_and_answer(
    action: &mut Action<'_>,
    target_args: &TargetArgs,
    channel: &Channel,
    files: &[String],
    after: &SettleArgs,
) -> Result<Receipt> {
    let tab = action.tab;
    // Choosers of a headed browser are intercepted only during the command.
    let is_headed = !action.live.is_headless();
    let catch = |enabled| SetInterceptFileChooserDialog { enabled };
    let posted = channel.clone();
    let armed = is_headed.then(|| ArmedState::new(move || posted.post(&catch(false))));
    if is_headed {
        channel
            .call(catch(true), action.progress.deadline)
            .await
            .map_err(|error| tab.explain(error))?;
    }
    let before = tab.activity.cursor().choosers;
    let press = ClickSpec { button: Button::Left, count: 1, modifiers: 0, hold: None };
    // The expected effect is that of the files, not of the click.
    let click = SettleArgs { expect: None, ..after.clone() };
    let clicked = action.click_on("upload", target_args, press, &click).await;
    let chooser = match &clicked {
        Ok(_) => await_chooser(action, before).await,
        Err(_) => None,
    };
    drop(armed);
    let mut first = clicked?;
    let Some(chooser) = chooser else {
        return Err(Error::new(Code::ActNotTaken)
            .message("the element was clicked, but no file chooser opened"));
    };
    let second = answer(action, chooser, files, after).await;
    let second = second.map_err(|error| error.mutation_allowed(true))?;
    first.events.retain(|event| event.kind != CHOOSER);
    first.events.extend(second.events);
    first.attempts.extend(second.attempts);
    let deltas = [first.delta, second.delta].into_iter().filter(|delta| !delta.is_empty());
    Ok(Receipt {
        target: first.target,
        strategy: first.strategy,
        attempts: first.attempts,
        events: first.events,
        delta: deltas.collect::<Vec<_>>().join("\n"),
        ..second
    })
}

/// The file chooser opened by a click.
async fn await_chooser(action: &Action<'_>, before: u64) -> Option<FileChooser> {
    let is_over = |state: &TabState| {
        state.dialog.is_some()
            || state.end.is_some()
            || state.chooser.as_ref().is_some_and(|chooser| chooser.number > before)
    };
    let mut state = action.tab.state.subscribe();
    let limit = action.progress.deadline.at_most(CHOOSER_TIMEOUT);
    let state = tokio::time::timeout_at(limit.at(), state.wait_for(is_over)).await.ok()?.ok()?;
    let chooser = state.chooser.clone().filter(|chooser| chooser.number > before);
    action.tab.activity.discard_events(CHOOSER);
    chooser
}

/// Answers a file chooser with files, or cancels it.
async fn answer(
    action: &mut Action<'_>,
    chooser: FileChooser,
    files: &[String],
    after: &SettleArgs,
) -> Result<Receipt> {
    let tab = action.tab;
    if files.len() > 1 && !chooser.is_multiple {
        return Err(Error::new(Code::CommandInvalid)
            .message("the file chooser takes one file only; it is still open"));
    }
    let FileChooser { channel, frame_id, field, .. } = &chooser;
    let gone = |error: ObserveError| match error.is_replaced() {
        true => no_chooser_error(tab),
        false => error.explain(tab),
    };
    let entered = World::enter(channel, frame_id, "", false, action.progress.deadline).await;
    let world = entered.map_err(|error| gone(error.into()))?;
    // A frame that was never observed may lack the observer script.
    world.ask::<bool>("true", action.progress.deadline).await.map_err(gone)?;
    let watched = world
        .ask_about::<Option<FileFieldInfo>>(*field, "watchFileInput", action.progress.deadline)
        .await;
    watched.map_err(gone)?;
    let field = FileField { world: &world, node: *field };
    action.reset_baseline();
    action.watch_effects_in(frame_id).await?;
    // Before the page gets its event: it may open another chooser at once.
    tab.state.send_modify(|state| {
        state.chooser.take_if(|open| open.number == chooser.number);
    });
    let value = match files.is_empty() {
        true => field.cancel(action).await.map(|()| "canceled".to_owned()),
        false => field.set(action, files).await.map(|given| count_with_note(action, &given)),
    };
    chooser.release();
    finish(action, None, value, after).await
}

/// A file input.
struct FileField<'w> {
    world: &'w World,
    /// Its backend node id.
    node: i64,
}

/// Attributes of a file input.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileFieldInfo {
    is_multiple: bool,
}

/// Number of files given to an input, and of those it holds now.
#[derive(Deserialize)]
struct FileCount {
    given: usize,
    held: usize,
}

impl FileField<'_> {
    async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        action: &Action<'_>,
        function: &str,
    ) -> Result<T> {
        let asked = self.world.ask_about(self.node, function, action.progress.deadline).await;
        asked.map_err(|error| error.explain(action.tab))
    }

    /// Replaces the files of the input and verifies that it took them.
    async fn set(&self, action: &Action<'_>, files: &[String]) -> Result<FileCount> {
        let info: Option<FileFieldInfo> = self.ask(action, "watchFileInput").await?;
        if files.len() > 1 && !info.is_some_and(|info| info.is_multiple) {
            return Err(Error::new(Code::CommandInvalid).message("the field takes one file only"));
        }
        let given = async {
            match files {
                [] => self.ask::<()>(action, "clearFiles").await,
                files => {
                    let node = Some(self.node);
                    let set = SetFileInputFiles { files: files.to_vec(), backend_node_id: node };
                    let set = self.world.channel.call(set, action.progress.deadline).await;
                    set.map(|_| ()).map_err(|error| action.tab.explain(error))
                }
            }
        };
        let all = FileCount { given: files.len(), held: files.len() };
        if !unless_interrupted(action, given).await? {
            return Ok(all);
        }
        // A page that navigates with the files does not respond.
        let Ok(count) = self.ask::<FileCount>(action, "fileCounts").await else { return Ok(all) };
        if count.given != files.len() {
            return Err(Error::new(Code::ActNotTaken).message(format!(
                "the field took {} of {}",
                count.given,
                counted(files.len())
            )));
        }
        Ok(count)
    }

    /// Cancels the file chooser.
    async fn cancel(&self, action: &Action<'_>) -> Result<()> {
        unless_interrupted(action, self.ask::<()>(action, "cancelFileChooser")).await.map(|_| ())
    }
}

/// Waits for the page's part; false if a dialog that it opened blocks it.
async fn unless_interrupted(
    action: &Action<'_>,
    work: impl Future<Output = Result<()>>,
) -> Result<bool> {
    let mut state = action.tab.state.subscribe();
    tokio::select! {
        biased;
        done = work => done.map(|()| true),
        _ = state.wait_for(|state| state.dialog.is_some() || state.end.is_some()) => Ok(false),
    }
}

/// The number of given files as text. Adds a note if the page removed some.
fn count_with_note(action: &mut Action<'_>, count: &FileCount) -> String {
    if count.held != count.given {
        let message = format!("the page removed files: {} left in the field", counted(count.held));
        action.progress.notes.push(Note::new("taken-out", message));
    }
    counted(count.given)
}

fn counted(files: usize) -> String {
    match files {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Command;
    use clap::FromArgMatches;

    #[test]
    fn files_are_for_a_target_or_for_the_chooser() {
        for (words, wire) in [
            ("@e1 a b", r#"{"target":"@e1","files":["a","b"]}"#),
            ("@e1 --nth 1", r#"{"target":"@e1","nth":1,"files":[]}"#),
            ("--chooser a b", r#"{"files":[],"chooser":["a","b"]}"#),
            ("--expect changed --chooser", r#"{"files":[],"chooser":[],"expect":"changed"}"#),
        ] {
            let parser = Command::parser_of("upload").unwrap().no_binary_name(true);
            let given = parser.try_get_matches_from(words.split(' ')).unwrap();
            let upload = Upload::from_arg_matches(&given).unwrap();
            assert_eq!(serde_json::to_string(&upload).unwrap(), wire, "{words}");
            let read: Upload = serde_json::from_str(wire).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), wire);
        }
        for words in ["", "--chooser a --nth 1 @e1", "@e1 --chooser a", "@@ a"] {
            let parser = Command::parser_of("upload").unwrap().no_binary_name(true);
            assert!(parser.try_get_matches_from(words.split_whitespace()).is_err(), "{words}");
        }
        assert!(serde_json::from_str::<Upload>(r#"{"target":"@@","files":[]}"#).is_err());
    }
}
