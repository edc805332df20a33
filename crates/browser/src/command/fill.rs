//! `fill`: replaces the value of a field.

use super::press::focused;
use super::{Act, Caller, CommandContext, Verb, VerbSpec};
use crate::act::keyboard::Chord;
use crate::act::{
    Action, ActionPoint, Actionability, EventGuard, Receipt, ReceiptDraft, SettleArgs, TRIES,
    TargetArgs,
};
use crate::error::{Code, Error, Result};
use crate::note::Note;
use crate::observe::json;
use crate::secret::{self, SecretString};
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fill a field, replacing its value.
///
/// Works for text fields, dates, colours, sliders and editable elements. The resulting value is read back and compared.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fill {
    /// The field to fill.
    #[command(flatten)]
    #[serde(flatten)]
    pub target_args: TargetArgs,
    /// The text; an empty one clears the field.
    #[arg(
        allow_hyphen_values = true,
        required_unless_present = "secret",
        conflicts_with = "secret"
    )]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<SecretString>,
    /// Take the text from the environment variable NAME, or from the file NAME in the folder `secrets` beside the
    /// user's configuration. It is never shown, logged or recorded.
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub secret: Option<String>,
    /// Press Enter after the text.
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub submit: bool,
    /// Settling and the receipt.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

impl Fill {
    /// Looks up the secret on the caller's side.
    ///
    /// # Errors
    /// `secret.not-found`.
    pub fn look_up(&mut self) -> Result<()> {
        if let Some(name) = &self.secret
            && self.value.is_none()
        {
            self.value = Some(secret::look_up(name)?);
        }
        Ok(())
    }
}

impl Verb for Fill {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;

    fn check(&self, cx: &CommandContext<'_>) -> Result<()> {
        let value = value_or_secret(self.value.as_ref(), self.secret.as_deref())?;
        if self.secret.is_some() {
            cx.keep_secret(&value);
        }
        Ok(())
    }
    fn localize(&mut self, _caller: &mut Caller<'_>) -> Result<()> {
        self.look_up()
    }
}

impl Act for Fill {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        let value = value_or_secret(self.value.as_ref(), self.secret.as_deref())?;
        let input = FillInput { value: &value, is_secret: self.secret.is_some(), keeps: false };
        if !self.submit {
            return write(action, "fill", &self.target_args, input, &self.after).await;
        }
        let quiet = SettleArgs { no_delta: true, ..SettleArgs::default() };
        write(action, "fill", &self.target_args, input, &quiet).await?;
        let point = focused(action, &self.target_args).await?;
        action.press(&[Chord::parse("Enter")?]).await?;
        let value = Some("Enter".to_owned());
        action
            .finish(ReceiptDraft { verb: "fill", point: Some(point), after: &self.after, value })
            .await
    }
}

pub(super) fn value_or_secret(
    value: Option<&SecretString>,
    secret: Option<&str>,
) -> Result<SecretString> {
    match (value, secret) {
        (Some(value), _) => Ok(value.clone()),
        (None, Some(name)) => secret::look_up(name),
        (None, None) => Err(Error::new(Code::CommandInvalid).message("`value` is missing")),
    }
}

#[derive(Clone, Copy)]
pub(super) struct FillInput<'w> {
    pub(super) value: &'w SecretString,
    pub(super) is_secret: bool,
    pub(super) keeps: bool,
}

/// The remaining step after a field was prepared.
#[derive(Deserialize)]
pub(super) struct PrepareReply {
    pub(super) left: String,
    /// Input methods for the field, the best first.
    #[serde(default)]
    ways: Vec<InputMethod>,
    /// Minimum, maximum and step of a slider.
    #[serde(default)]
    range: Option<[String; 3]>,
}

/// An input method for the focused field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum InputMethod {
    /// Inserted at once, as by an input method editor.
    Insert,
    /// Handled by the page's own paste handler.
    Paste,
    /// Key by key.
    Keys,
    /// Inserted at once, replacing the selection in the document.
    Replace,
}

/// Comparison of the field's value with the intended one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadBack {
    is: String,
    held: Option<String>,
    /// An editor whose text can be read through a copy event.
    #[serde(default)]
    can_copy: bool,
}

impl ReadBack {
    /// The value is correct, or no other input method can improve it.
    fn is_as_wanted(&self) -> bool {
        matches!(&*self.is, "equal" | "formatted" | "gone" | "unread")
    }
}

/// The outcome of an attempt to enter a text.
enum InsertOutcome {
    Gone,
    Done,
    /// Entered, with this number of other input methods left.
    Written(usize),
}

pub(super) async fn write(
    action: &mut Action<'_>,
    verb: &str,
    target_args: &TargetArgs,
    input: FillInput<'_>,
    after: &SettleArgs,
) -> Result<Receipt> {
    let mut method = 0;
    for _ in 0..TRIES + MAX_OTHER_METHODS {
        let point = action
            .resolve_actionable(target_args, Actionability::WRITE, EventGuard::Keyboard)
            .await?;
        let left = match put(action, &point, input, method).await? {
            InsertOutcome::Gone => continue,
            InsertOutcome::Done => 0,
            InsertOutcome::Written(left) => left,
        };
        let (effects, settled) = action.settle(after).await;
        // Blocked by the guard: the focus moved at the last moment.
        if effects.hits == 0 && !effects.missed.is_empty() {
            continue;
        }
        let mut value = None;
        if let Some(compared) = compare(action, &point, input).await {
            if left > 0 && !compared.is_as_wanted() {
                method += 1;
                continue;
            }
            value = verify(action, &point, input, compared)?;
        }
        let draft = ReceiptDraft { verb, point: Some(point), after, value };
        return action.build_receipt(draft, (effects, settled)).await;
    }
    Err(Error::new(Code::ActMissed).message("the field does not keep the focus"))
}

/// Maximum number of input methods after the first.
const MAX_OTHER_METHODS: usize = 2;

/// Fills a field on behalf of another verb.
pub(super) async fn fill_as(
    action: &mut Action<'_>,
    verb: &str,
    target_args: &TargetArgs,
    value: &SecretString,
    after: &SettleArgs,
) -> Result<Receipt> {
    let receipt = write(
        action,
        verb,
        target_args,
        FillInput { value, is_secret: false, keeps: false },
        after,
    )
    .await?;
    Ok(Receipt { value: Some(value.reveal().to_owned()), ..receipt })
}

/// Enters a text with one of the field's input methods.
async fn put(
    action: &mut Action<'_>,
    point: &ActionPoint,
    input: FillInput<'_>,
    method: usize,
) -> Result<InsertOutcome> {
    let FillInput { value, is_secret, keeps } = input;
    let hide =
        if is_secret { format!("agbrowse.markSecret({}), ", point.element) } else { String::new() };
    let script = format!(
        "({hide}agbrowse.prepareFill({}, {}, {keeps}))",
        point.element,
        json(value.reveal())
    );
    let prepared: PrepareReply = action.ask(point, &script).await?;
    let Some(chosen) = prepared.ways.get(method).or(prepared.ways.last()).copied() else {
        return put_at_once(action, point, &prepared);
    };
    if prepared.left == "nothing" {
        action.mark_dispatched();
        return Ok(InsertOutcome::Done);
    }
    if prepared.left == "select" {
        select_all(action, point, chosen == InputMethod::Replace).await?;
    }
    match (value.reveal(), chosen) {
        ("", _) => action.press(&[Chord::parse("Delete")?]).await?,
        (text, InputMethod::Insert | InputMethod::Replace) => action.insert(text).await?,
        (text, InputMethod::Keys) => action.type_keys(text).await?,
        (text, InputMethod::Paste) => {
            let script = format!("agbrowse.paste({}, {})", point.element, json(text));
            let is_taken: bool = action.ask(point, &script).await?;
            match prepared.ways.get(method + 1) {
                _ if is_taken => action.mark_dispatched(),
                Some(InputMethod::Keys) => action.type_keys(text).await?,
                _ => action.insert(text).await?,
            }
        }
    }
    Ok(InsertOutcome::Written(prepared.ways.len().saturating_sub(method + 1)))
}

/// The outcome for a field that takes no keyboard input.
fn put_at_once(
    action: &mut Action<'_>,
    point: &ActionPoint,
    prepared: &PrepareReply,
) -> Result<InsertOutcome> {
    match &*prepared.left {
        "nothing" => {
            action.mark_dispatched();
            return Ok(InsertOutcome::Done);
        }
        "gone" => return Ok(InsertOutcome::Gone),
        _ => action.release_guard(),
    }
    if prepared.left != "refused" {
        return Err(not_taken(point, "does not take the focus"));
    }
    if let Some([min, max, step]) = &prepared.range {
        let why = format!("takes numbers from {min} to {max} in steps of {step}");
        return Err(not_taken(point, &why));
    }
    Err(not_taken(
        point,
        "takes values in another form: dates as 2026-01-31, months as 2026-01, \
         weeks as 2026-W05, times as 13:45, date and time as 2026-01-31T13:45, colours as #a0b1c2",
    ))
}

/// Selects the whole text of an editor with its own shortcut: it may hold more than the document shows.
async fn select_all(action: &mut Action<'_>, point: &ActionPoint, is_forced: bool) -> Result<()> {
    action.press(&[Chord::parse("ControlOrMeta+a")?]).await?;
    action
        .run_in::<bool>(point, "agbrowse.selectAll", &format!("{}, {is_forced}", point.element))
        .await?;
    Ok(())
}

/// Compares a field's value with the intended one; `None` if it cannot be asked, such as after a navigation or under a
/// dialog.
async fn compare(
    action: &mut Action<'_>,
    point: &ActionPoint,
    input: FillInput<'_>,
) -> Option<ReadBack> {
    let FillInput { value, keeps, .. } = input;
    if action.left_page() {
        return None;
    }
    let compare =
        format!("agbrowse.compareValue({}, {}, {keeps}", point.element, json(value.reveal()));
    let compared = action.ask::<ReadBack>(point, &format!("{compare})")).await.ok()?;
    if !compared.can_copy {
        return Some(compared);
    }
    select_all(action, point, false).await.ok()?;
    let copied = action.ask::<ReadBack>(point, &format!("{compare}, true)")).await.ok()?;
    // Further keys must not replace the selection.
    action.press(&[Chord::parse("ArrowRight").ok()?]).await.ok()?;
    Some(copied)
}

/// Verifies the value of a field. Returns the reformatted value, if the page changed its format.
fn verify(
    action: &mut Action<'_>,
    point: &ActionPoint,
    input: FillInput<'_>,
    compared: ReadBack,
) -> Result<Option<String>> {
    let held = compared.held.unwrap_or_default();
    let held = page::mask::mask(&held).into_owned();
    match &*compared.is {
        "equal" | "gone" => Ok(None),
        "formatted" | "reflowed" => {
            let message = "the page reformatted the value";
            action.progress.notes.push(Note::new("formatted", message));
            Ok(Some(held).filter(|held| !held.is_empty() && !input.is_secret))
        }
        "unread" => {
            let message = "the value cannot be read back: take a snapshot before going on";
            action.progress.notes.push(Note::new("unverified", message));
            Ok(None)
        }
        "empty" => Err(not_taken(point, "is empty afterwards")),
        _ if input.is_secret => Err(not_taken(point, "holds another value afterwards")),
        _ => Err(not_taken(point, &format!("holds {held:?} afterwards")).evidence("holds", held)),
    }
}

pub(super) fn not_taken(point: &ActionPoint, why: &str) -> Error {
    Error::new(Code::ActNotTaken).message(format!("{} {why}", point.target))
}
