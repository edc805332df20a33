//! `fill`, `type`, `press`, `fill-form`: what a keyboard does.

use super::{CommandContext, Verb, action};
use crate::act::keyboard::Chord;
use crate::act::{
    Action, ActionPoint, Actionability, Effect, EventGuard, Receipt, ReceiptDraft, ReceiptTarget,
    SettleArgs, Settled, TRIES, TargetArgs,
};
use crate::error::{Code, Error, Result};
use crate::note::Note;
use crate::observe::{self, json};
use crate::secret::{self, SecretString};
use crate::target::Target;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Put a text into a field, in place of what is there.
///
/// Works for text fields, dates, colours, sliders and everything that can be edited; what is in the field afterwards
/// is compared with what was meant to be.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fill {
    /// The field.
    #[command(flatten)]
    #[serde(flatten)]
    pub aim: TargetArgs,
    /// The text; nothing empties the field.
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
    /// Press Enter when it is in.
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub submit: bool,
    /// What to see to afterwards.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

impl Fill {
    /// Looks up the secret where the caller is, so that it is the caller's.
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

    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Receipt> {
        let value = written(self.value.as_ref(), self.secret.as_deref())?;
        if self.secret.is_some() {
            cx.keep_secret(&value);
        }
        action!(cx, action);
        let writing = FillInput { value: &value, is_secret: self.secret.is_some(), keeps: false };
        if !self.submit {
            return write(&mut action, "fill", &self.aim, writing, &self.after).await;
        }
        let quiet = SettleArgs { no_delta: true, ..SettleArgs::default() };
        write(&mut action, "fill", &self.aim, writing, &quiet).await?;
        let point = focused(&mut action, &self.aim).await?;
        action.press(&[Chord::parse("Enter")?]).await?;
        let value = Some("Enter".to_owned());
        action
            .finish(ReceiptDraft { verb: "fill", point: Some(point), after: &self.after, value })
            .await
    }
}

fn written(value: Option<&SecretString>, secret: Option<&str>) -> Result<SecretString> {
    match (value, secret) {
        (Some(value), _) => Ok(value.clone()),
        (None, Some(name)) => secret::look_up(name),
        (None, None) => Err(Error::new(Code::CommandInvalid).message("`value` is missing")),
    }
}

#[derive(Clone, Copy)]
struct FillInput<'w> {
    value: &'w SecretString,
    is_secret: bool,
    keeps: bool,
}

/// What is left to do after a field was got ready.
#[derive(Deserialize)]
struct PrepareReply {
    left: String,
    /// The ways to put a text into it, the best first.
    #[serde(default)]
    ways: Vec<InputMethod>,
    /// From where to where a slider goes, and in which steps.
    #[serde(default)]
    range: Option<[String; 3]>,
}

/// A way to put a text into what has the focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum InputMethod {
    /// At once, as an input method does.
    Insert,
    /// As the page's own handler of pasted text takes it.
    Paste,
    /// Key by key.
    Keys,
    /// At once, in place of what the document has of it.
    Replace,
}

/// How what a field holds compares with what was wanted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadBack {
    is: String,
    held: Option<String>,
    /// An editor can be asked for a copy of its text.
    #[serde(default)]
    can_copy: bool,
}

impl ReadBack {
    /// The field has the text, and no other way to put it there can do better.
    fn is_as_wanted(&self) -> bool {
        matches!(&*self.is, "equal" | "formatted" | "gone" | "unread")
    }
}

/// What became of an attempt to put a text into a field.
enum InsertOutcome {
    Gone,
    Done,
    /// And so many other ways are left to try.
    Written(usize),
}

async fn write(
    action: &mut Action<'_>,
    verb: &str,
    aim: &TargetArgs,
    writing: FillInput<'_>,
    after: &SettleArgs,
) -> Result<Receipt> {
    let mut way = 0;
    for _ in 0..TRIES + MOST_OTHER_WAYS {
        let point = action.resolve_actionable(aim, Actionability::WRITE, EventGuard::Keys).await?;
        let left = match put(action, &point, writing, way).await? {
            InsertOutcome::Gone => continue,
            InsertOutcome::Done => 0,
            InsertOutcome::Written(left) => left,
        };
        let (came, settled) = action.settle(after).await;
        // Held back: the focus went elsewhere at the last moment.
        if came.hits == 0 && !came.missed.is_empty() {
            continue;
        }
        let mut value = None;
        if let Some(compared) = compare(action, &point, writing).await {
            if left > 0 && !compared.is_as_wanted() {
                way += 1;
                continue;
            }
            value = verify(action, &point, writing, compared)?;
        }
        let draft = ReceiptDraft { verb, point: Some(point), after, value };
        return action.write(draft, (came, settled)).await;
    }
    Err(Error::new(Code::ActMissed).message("the field does not keep the focus"))
}

/// How many ways there are to put a text into a field, apart from the first.
const MOST_OTHER_WAYS: usize = 2;

/// Puts a text into a field in place of what is there, as another verb.
pub(super) async fn put_in(
    action: &mut Action<'_>,
    verb: &str,
    aim: &TargetArgs,
    value: &SecretString,
    after: &SettleArgs,
) -> Result<Receipt> {
    let receipt =
        write(action, verb, aim, FillInput { value, is_secret: false, keeps: false }, after)
            .await?;
    Ok(Receipt { value: Some(value.reveal().to_owned()), ..receipt })
}

/// Puts a text into a field, by one of the ways that it takes.
async fn put(
    action: &mut Action<'_>,
    point: &ActionPoint,
    writing: FillInput<'_>,
    way: usize,
) -> Result<InsertOutcome> {
    let FillInput { value, is_secret, keeps } = writing;
    let hide =
        if is_secret { format!("agbrowse.markSecret({}), ", point.element) } else { String::new() };
    let script = format!(
        "({hide}agbrowse.prepareFill({}, {}, {keeps}))",
        point.element,
        json(value.reveal())
    );
    let prepared: PrepareReply = action.ask(point, &script).await?;
    let Some(chosen) = prepared.ways.get(way).or(prepared.ways.last()).copied() else {
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
            match prepared.ways.get(way + 1) {
                _ if is_taken => action.mark_dispatched(),
                Some(InputMethod::Keys) => action.type_keys(text).await?,
                _ => action.insert(text).await?,
            }
        }
    }
    Ok(InsertOutcome::Written(prepared.ways.len().saturating_sub(way + 1)))
}

/// The end of an attempt for a field that nothing is typed into.
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

/// Selects all that an editor holds, by its own keys: it may hold more than what is in the document.
async fn select_all(action: &mut Action<'_>, point: &ActionPoint, is_forced: bool) -> Result<()> {
    action.press(&[Chord::parse("ControlOrMeta+a")?]).await?;
    action
        .run_in::<bool>(point, "agbrowse.selectAll", &format!("{}, {is_forced}", point.element))
        .await?;
    Ok(())
}

/// Compares what a field holds with what it was meant to; `None` when it cannot be asked any more, as where a dialog
/// or another page came of it.
async fn compare(
    action: &mut Action<'_>,
    point: &ActionPoint,
    writing: FillInput<'_>,
) -> Option<ReadBack> {
    let FillInput { value, keeps, .. } = writing;
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
    // What is typed next must not replace it.
    action.press(&[Chord::parse("ArrowRight").ok()?]).await.ok()?;
    Some(copied)
}

/// Sees that a field holds what it was meant to. Gives the form that its page wrote it in, if that is another one.
fn verify(
    action: &mut Action<'_>,
    point: &ActionPoint,
    writing: FillInput<'_>,
    compared: ReadBack,
) -> Result<Option<String>> {
    let held = compared.held.unwrap_or_default();
    let held = page::mask::mask(&held).into_owned();
    match &*compared.is {
        "equal" | "gone" => Ok(None),
        "formatted" | "reflowed" => {
            let message = "the page wrote it in its own form";
            action.notes.push(Note::new("formatted", message));
            Ok(Some(held).filter(|held| !held.is_empty() && !writing.is_secret))
        }
        "unread" => {
            let message = "what it holds now cannot be read back: look before you go on";
            action.notes.push(Note::new("unverified", message));
            Ok(None)
        }
        "empty" => Err(not_taken(point, "is empty afterwards")),
        _ if writing.is_secret => Err(not_taken(point, "holds something else afterwards")),
        _ => Err(not_taken(point, &format!("holds {held:?} afterwards")).evidence("holds", held)),
    }
}

fn not_taken(point: &ActionPoint, why: &str) -> Error {
    Error::new(Code::ActNotTaken).message(format!("{} {why}", point.hit))
}

/// Type a text key by key, after what is there.
///
/// Every key is pressed and released, as a person would; for fields that react to keys. Without a target, the text goes
/// to the field that has the focus, where its caret is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Type {
    /// The field; without it, what has the focus.
    #[serde(flatten, deserialize_with = "super::upload::aim_if_any")]
    pub aim: Option<TargetArgs>,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<SecretString>,
    /// Take the text from the environment or a private file, as `fill` does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub secret: Option<String>,
    /// Press Enter afterwards.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub submit: bool,
    /// What to see to afterwards.
    #[serde(flatten)]
    pub after: SettleArgs,
}

/// The same as a command line has it: one word is the text, of two the first is the target.
///
/// Type a text key by key, after what is there.
///
/// Every key is pressed and released, as a person would; for fields that react to keys. Without a target, the text goes
/// to the field that has the focus, where its caret is.
#[derive(Args)]
#[command(about = "Type a text key by key, after what is there", long_about = TYPE_ABOUT)]
struct TypeLine {
    /// The element, or the text if nothing follows. The element: a ref from the last snapshot (`@e3`), `css=…`,
    /// `role=button[name="…"]`, `text=…`, `label=…`, `placeholder=…`, `testid=…` or `xy=120,40`.
    #[arg(value_name = "TARGET", required_unless_present = "secret", allow_hyphen_values = true)]
    first: Option<String>,
    /// The text.
    #[arg(value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "secret")]
    second: Option<String>,
    /// What to take instead if that cannot be found or used; may be given several times, and is tried in order.
    #[arg(long = "or", value_name = "TARGET")]
    others: Vec<Target>,
    /// Which one, counted from 0, when several match.
    #[arg(long)]
    nth: Option<u32>,
    /// Do not wait for it to appear or to become usable.
    #[arg(long)]
    no_wait: bool,
    /// Take the text from the environment or a private file, as `fill` does.
    #[arg(long, value_name = "NAME")]
    secret: Option<String>,
    /// Press Enter afterwards.
    #[arg(long)]
    submit: bool,
    #[command(flatten)]
    after: SettleArgs,
}

const TYPE_ABOUT: &str = "Type a text key by key, after what is there\n\nEvery key is pressed and released, as a \
    person would; for fields that react to keys. Without a target, the text goes to the field that has the focus, where \
    its caret is.";

impl clap::FromArgMatches for Type {
    fn from_arg_matches(given: &clap::ArgMatches) -> std::result::Result<Self, clap::Error> {
        let TypeLine { first, second, others, nth, no_wait, secret, submit, after } =
            TypeLine::from_arg_matches(given)?;
        let wrong = |why: &str| clap::Error::raw(clap::error::ErrorKind::ValueValidation, why);
        let (target, text) = match second {
            Some(text) => (first, Some(text)),
            None if secret.is_some() => (first, None),
            None => (None, first),
        };
        let text = text.map(|text| SecretString::from(&*text));
        let aim = match target {
            Some(target) => {
                let target = target.parse().map_err(|why: String| wrong(&format!("{why}\n")))?;
                Some(TargetArgs { target, others, nth, no_wait })
            }
            None if !others.is_empty() || nth.is_some() => {
                return Err(wrong("`--or` and `--nth` need a target\n"));
            }
            None => None,
        };
        Ok(Self { aim, text, secret, submit, after })
    }

    fn update_from_arg_matches(
        &mut self,
        given: &clap::ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(given)?;
        Ok(())
    }
}

impl Args for Type {
    fn augment_args(command: clap::Command) -> clap::Command {
        TypeLine::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        TypeLine::augment_args_for_update(command)
    }
}

/// What has the focus in a document.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FocusedElement {
    id: u32,
    is_frame: bool,
    is_editable: bool,
    description: String,
}

/// Types into the field that has the focus, in whatever frame it is.
async fn type_focused(
    action: &mut Action<'_>,
    text: &SecretString,
    typed: &Type,
) -> Result<Receipt> {
    let tree = action.look().await?;
    let refused = |what: &str| {
        let message = format!("nothing that can be typed into has the focus: {what} has it");
        Error::new(Code::ActNotEditable).message(message)
    };
    let mut at = 0_u16;
    let (frame_id, number) = loop {
        let document = tree.frames.get(usize::from(at)).map(|frame| &*frame.document);
        let Some(world) = document.and_then(|document| action.observation.world_of(document))
        else {
            return Err(refused("a frame that does not answer"));
        };
        let asked = world.ask::<FocusedElement>("agbrowse.focusedElement()", action.deadline).await;
        let focused = asked.map_err(|trouble| trouble.explain(action.tab))?;
        if focused.is_frame {
            let is_inside = |frame: &u16| {
                tree.frames[usize::from(*frame)].parent == Some(at)
                    && observe::holder(action.observation, &tree, *frame)
                        .is_some_and(|(_, owner)| owner == focused.id)
            };
            let frames = u16::try_from(tree.frames.len()).unwrap_or(u16::MAX);
            at = (0..frames).find(is_inside).ok_or_else(|| refused(&focused.description))?;
            continue;
        }
        if !focused.is_editable {
            return Err(refused(&focused.description));
        }
        if typed.secret.is_some() {
            let hide = format!("agbrowse.markSecret({})", focused.id);
            let hidden = world.ask::<bool>(&hide, action.deadline).await;
            hidden.map_err(|trouble| trouble.explain(action.tab))?;
        }
        break (world.frame_id.clone(), focused.id);
    };
    action.watch_effects_in(&frame_id).await?;
    action.type_keys(text.reveal()).await?;
    if typed.submit {
        action.press(&[Chord::parse("Enter")?]).await?;
    }
    let node = tree.nodes.iter().position(|node| node.frame == at && node.element == number);
    let target = node.map(|node| {
        let numbers = action.observation.issue_refs(&tree, &[node]);
        ReceiptTarget {
            ref_name: numbers.first().map(|number| format!("@e{number}")),
            role: tree.nodes[node].role.name().to_owned(),
            name: page::text::cut(&page::refs::name(&tree, node), page::text::MAX_NAME)
                .into_owned(),
        }
    });
    let draft = ReceiptDraft { verb: "type", point: None, after: &typed.after, value: None };
    let receipt = action.finish(draft).await?;
    let strategy = target.as_ref().map(|_| "focus".to_owned());
    Ok(Receipt { target, strategy, ..receipt })
}

impl Type {
    /// Looks up the secret where the caller is.
    ///
    /// # Errors
    /// `secret.not-found`.
    pub fn look_up(&mut self) -> Result<()> {
        if let Some(name) = &self.secret
            && self.text.is_none()
        {
            self.text = Some(secret::look_up(name)?);
        }
        Ok(())
    }
}

impl Verb for Type {
    type Reply = Receipt;

    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Receipt> {
        let text = written(self.text.as_ref(), self.secret.as_deref())?;
        if self.secret.is_some() {
            cx.keep_secret(&text);
        }
        action!(cx, action);
        let Some(aim) = &self.aim else { return type_focused(&mut action, &text, self).await };
        for _ in 0..TRIES {
            let point =
                action.resolve_actionable(aim, Actionability::WRITE, EventGuard::Keys).await?;
            let hide = match self.secret.is_some() {
                true => format!("agbrowse.markSecret({}), ", point.element),
                false => String::new(),
            };
            let script = format!("({hide}agbrowse.prepareFill({}, 'x', true))", point.element);
            let prepared: PrepareReply = action.ask(&point, &script).await?;
            match &*prepared.left {
                "write" => {}
                "gone" => continue,
                _ => {
                    action.release_guard();
                    return Err(not_taken(&point, "does not take keys"));
                }
            }
            action.type_keys(text.reveal()).await?;
            if self.submit {
                action.press(&[Chord::parse("Enter")?]).await?;
            }
            let (came, settled) = action.settle(&self.after).await;
            if came.hits == 0 && !came.missed.is_empty() {
                continue;
            }
            let draft =
                ReceiptDraft { verb: "type", point: Some(point), after: &self.after, value: None };
            return action.write(draft, (came, settled)).await;
        }
        Err(Error::new(Code::ActMissed).message("the field does not keep the focus"))
    }
}

/// Press a key, or several at once.
///
/// Goes to whatever has the focus, unless a target is named. Keys: `Enter`, `Escape`, `Tab`, `ArrowDown`, `F5`, `a`,
/// `Control+A`, `Shift+Tab`.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Press {
    /// The key or chord; several are pressed one after the other.
    #[arg(required = true, value_name = "KEY")]
    pub keys: Vec<String>,
    /// Give this the focus first.
    #[arg(long, value_name = "TARGET")]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on: Option<Target>,
    /// What to see to afterwards.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

impl Verb for Press {
    type Reply = Receipt;

    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Receipt> {
        let chords: Vec<Chord> =
            self.keys.iter().map(|key| Chord::parse(key)).collect::<Result<_>>()?;
        action!(cx, action);
        let point = match &self.on {
            Some(target) => Some(focused(&mut action, &TargetArgs::at(target.clone())).await?),
            None => {
                action.watch_effects().await?;
                None
            }
        };
        action.press(&chords).await?;
        let draft = ReceiptDraft {
            verb: "press",
            point,
            after: &self.after,
            value: Some(self.keys.join(" ")),
        };
        action.finish(draft).await
    }
}

/// An element that has the focus, ready for keys.
async fn focused(action: &mut Action<'_>, aim: &TargetArgs) -> Result<ActionPoint> {
    let point = action.resolve_actionable(aim, Actionability::SET, EventGuard::Keys).await?;
    let said: String =
        action.ask(&point, &format!("agbrowse.focusElement({})", point.element)).await?;
    if said != "focused" && said != "already" {
        action.release_guard();
        return Err(not_taken(&point, "does not take the focus"));
    }
    Ok(point)
}

/// Fill in several fields at once.
///
/// Text fields get the text, lists the option of that name, checkboxes `true` or `false`. Stops at the first field
/// that does not take its value.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FillForm {
    /// The fields: `TARGET => VALUE`, such as `'label=E-mail => ann@example.org'`.
    #[arg(required = true, value_name = "FIELD")]
    pub fields: Vec<Field>,
    /// What to see to afterwards.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

/// A field and what to put into it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// The field.
    pub target: Target,
    /// What to put into it.
    pub value: SecretString,
}

impl FromStr for Field {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (target, value) = text
            .split_once("=>")
            .ok_or_else(|| format!("`{text}` is no field: expected `TARGET => VALUE`"))?;
        Ok(Self { target: target.parse()?, value: SecretString::from(value.trim()) })
    }
}

impl Verb for FillForm {
    type Reply = Receipt;

    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Receipt> {
        action!(cx, action);
        let mut filled: Vec<String> = Vec::new();
        let mut whole: Option<Receipt> = None;
        let quiet = SettleArgs { no_delta: true, ..SettleArgs::default() };
        for (index, field) in self.fields.iter().enumerate() {
            let is_last = index + 1 == self.fields.len();
            let after = if is_last { &self.after } else { &quiet };
            let done = fill_field(&mut action, field, after).await;
            let receipt = done.map_err(|error| {
                error.evidence("field", field.target.to_string()).evidence("done", filled.clone())
            })?;
            filled.extend(receipt.target.as_ref().map(ToString::to_string));
            whole = Some(match whole {
                Some(before) => together(before, receipt),
                None => receipt,
            });
        }
        let receipt = whole.ok_or_else(|| {
            Error::new(Code::CommandInvalid).message("there is no field to fill in")
        })?;
        Ok(Receipt {
            action: "fill-form".into(),
            target: None,
            strategy: None,
            value: Some(filled.join(", ")),
            ..receipt
        })
    }
}

/// One receipt for two things that were done one after the other. What is different then is told by the second.
fn together(mut first: Receipt, second: Receipt) -> Receipt {
    first.attempts.extend(second.attempts);
    first.events.extend(second.events);
    let is_new = |change: &String| !first.changes.contains(change);
    let more: Vec<String> = second.changes.into_iter().filter(is_new).collect();
    first.changes.extend(more);
    Receipt {
        attempts: first.attempts,
        events: first.events,
        changes: first.changes,
        dispatched: first.dispatched || second.dispatched,
        watched_ms: second.watched_ms.filter(|_| first.effect == Effect::None),
        settled: Settled { ms: first.settled.ms + second.settled.ms, ..second.settled },
        effect: if second.effect == Effect::None { first.effect } else { second.effect },
        ..second
    }
}

async fn fill_field(action: &mut Action<'_>, field: &Field, after: &SettleArgs) -> Result<Receipt> {
    let aim = TargetArgs::at(field.target.clone());
    let point = action.resolve_actionable(&aim, Actionability::SET, EventGuard::Look).await?;
    let role = point.hit.role.as_str();
    let value = field.value.reveal();
    match (&*point.kind, role) {
        ("checkbox" | "radio", _) | (_, "checkbox" | "switch" | "radio" | "menuitemcheckbox") => {
            let wanted = match &*value.to_lowercase() {
                "true" | "yes" | "on" | "1" | "checked" => true,
                "false" | "no" | "off" | "0" | "unchecked" | "" => false,
                _ => {
                    return Err(Error::new(Code::CommandInvalid)
                        .message(format!("{} takes `true` or `false`", point.hit)));
                }
            };
            super::select::set(action, &aim, wanted, after).await
        }
        ("select", _) | (_, "listbox") => {
            super::select::select(action, &aim, &[value.to_owned()], after).await
        }
        _ => {
            let writing = FillInput { value: &field.value, is_secret: false, keeps: false };
            let now = TargetArgs { no_wait: true, ..aim.clone() };
            // A list that one can only choose from.
            let is_list = role == "combobox"
                && action
                    .resolve_actionable(&now, Actionability::WRITE, EventGuard::Look)
                    .await
                    .is_err_and(|error| error.code() == Code::ActNotEditable);
            if is_list {
                return super::select::select(action, &aim, &[value.to_owned()], after).await;
            }
            write(action, "fill", &aim, writing, after).await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Command;
    use clap::FromArgMatches;

    #[test]
    fn one_word_is_typed_where_the_focus_is() {
        for (words, target, text, secret) in [
            ("hello", None, Some("hello"), None),
            ("--submit -x", None, Some("-x"), None),
            ("@e1 hello", Some("@e1"), Some("hello"), None),
            ("@e1 --submit hello", Some("@e1"), Some("hello"), None),
            ("css=a hi --nth 1", Some("css=a"), Some("hi"), None),
            ("@e1 --secret PIN", Some("@e1"), None, Some("PIN")),
            ("--secret PIN", None, None, Some("PIN")),
        ] {
            let parser = Command::parser_of("type").unwrap().no_binary_name(true);
            let given = parser.try_get_matches_from(words.split(' ')).unwrap();
            let typed = Type::from_arg_matches(&given).unwrap();
            let aim: Option<Target> = target.map(|target| target.parse().unwrap());
            assert_eq!(typed.aim.map(|aim| aim.target), aim, "{words}");
            assert_eq!(typed.text.as_ref().map(SecretString::reveal), text, "{words}");
            assert_eq!(typed.secret.as_deref(), secret, "{words}");
            assert_eq!(typed.submit, words.contains("--submit"));
        }
        let read: Type = serde_json::from_str(r#"{"text":"a"}"#).unwrap();
        assert!(read.aim.is_none());
        assert!(serde_json::from_str::<Type>(r#"{"target":"@@","text":"a"}"#).is_err());
        for words in ["", "@@ a", "a b c", "a b --secret PIN", "a --nth 1"] {
            let parser = Command::parser_of("type").unwrap().no_binary_name(true);
            let given = parser.try_get_matches_from(words.split_whitespace());
            assert!(given.and_then(|given| Type::from_arg_matches(&given)).is_err(), "{words}");
        }
    }
}
