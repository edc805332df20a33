//! `type`: types a text key by key.

use super::fill::{PrepareReply, not_taken, value_or_secret};
use super::{Act, Caller, CommandContext, Verb, VerbSpec};
use crate::act::keyboard::Chord;
use crate::act::{
    Action, Actionability, EventGuard, Receipt, ReceiptDraft, ReceiptTarget, SettleArgs, TRIES,
    TargetArgs,
};
use crate::error::{Code, Error, Result};
use crate::observe;
use crate::secret::{self, SecretString};
use crate::target::Target;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Type a text key by key, after the existing one.
///
/// Every key is pressed and released; for fields that react to keys. Without a target, the text goes to the focused
/// field, at its caret.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Type {
    /// The field [default: the focused one].
    #[serde(flatten, deserialize_with = "super::upload::optional_target_args")]
    pub target_args: Option<TargetArgs>,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<SecretString>,
    /// Take the text from the environment or a private file, as in `fill`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub secret: Option<String>,
    /// Press Enter afterwards.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub submit: bool,
    /// Settling and the receipt.
    #[serde(flatten)]
    pub after: SettleArgs,
}

/// The arguments on the command line: one is the text; of two, the first is the target.
#[derive(Args)]
#[command(about = "Type a text key by key, after the existing one", long_about = TYPE_ABOUT)]
struct TypeLine {
    /// The element, or the text if nothing follows. The element: a ref from the last snapshot (`@e3`), `css=…`,
    /// `role=button[name="…"]`, `text=…`, `label=…`, `placeholder=…`, `testid=…` or `xy=120,40`.
    #[arg(value_name = "TARGET", required_unless_present = "secret", allow_hyphen_values = true)]
    first: Option<String>,
    /// The text.
    #[arg(value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "secret")]
    second: Option<String>,
    /// A fallback target if the first cannot be found or used; repeatable, tried in order.
    #[arg(long = "or", value_name = "TARGET")]
    others: Vec<Target>,
    /// The index of the match, counted from 0, if several match.
    #[arg(long)]
    nth: Option<u32>,
    /// Do not wait for the element to appear or to become actionable.
    #[arg(long)]
    no_wait: bool,
    /// Take the text from the environment or a private file, as in `fill`.
    #[arg(long, value_name = "NAME")]
    secret: Option<String>,
    /// Press Enter afterwards.
    #[arg(long)]
    submit: bool,
    #[command(flatten)]
    after: SettleArgs,
}

const TYPE_ABOUT: &str = "Type a text key by key, after the existing one\n\nEvery key is pressed and released; for \
    fields that react to keys. Without a target, the text goes to the focused field, at its caret.";

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
        let target_args = match target {
            Some(target) => {
                let target = target.parse().map_err(|why: String| wrong(&format!("{why}\n")))?;
                Some(TargetArgs { target, others, nth, no_wait })
            }
            None if !others.is_empty() || nth.is_some() => {
                return Err(wrong("`--or` and `--nth` need a target\n"));
            }
            None => None,
        };
        Ok(Self { target_args, text, secret, submit, after })
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

/// The focused element of a document.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FocusedElement {
    id: u32,
    is_frame: bool,
    is_editable: bool,
    description: String,
}

/// Types into the focused field, in any frame.
async fn type_focused(
    action: &mut Action<'_>,
    text: &SecretString,
    typed: &Type,
) -> Result<Receipt> {
    let tree = action.observe().await?;
    let refused = |what: &str| {
        let message = format!("the focused element is not editable: {what}");
        Error::new(Code::ActNotEditable).message(message)
    };
    let mut at = 0_u16;
    let (frame_id, number) = loop {
        let document = tree.frames.get(usize::from(at)).map(|frame| &*frame.document);
        let Some(world) = document.and_then(|document| action.observation.world_of(document))
        else {
            return Err(refused("a frame that does not answer"));
        };
        let asked = world
            .ask::<FocusedElement>("agbrowse.focusedElement()", action.progress.deadline)
            .await;
        let focused = asked.map_err(|error| error.explain(action.tab))?;
        if focused.is_frame {
            let is_inside = |frame: &u16| {
                tree.frames[usize::from(*frame)].parent == Some(at)
                    && observe::frame_owner(action.observation, &tree, *frame)
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
            let hidden = world.ask::<bool>(&hide, action.progress.deadline).await;
            hidden.map_err(|error| error.explain(action.tab))?;
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
    /// Looks up the secret on the caller's side.
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
    const SPEC: VerbSpec = VerbSpec::ACT;

    fn check(&self, cx: &CommandContext<'_>) -> Result<()> {
        let text = value_or_secret(self.text.as_ref(), self.secret.as_deref())?;
        if self.secret.is_some() {
            cx.keep_secret(&text);
        }
        Ok(())
    }
    fn localize(&mut self, _caller: &mut Caller<'_>) -> Result<()> {
        self.look_up()
    }
}

impl Act for Type {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        let text = value_or_secret(self.text.as_ref(), self.secret.as_deref())?;
        let Some(target_args) = &self.target_args else {
            return type_focused(action, &text, self).await;
        };
        for _ in 0..TRIES {
            let point = action
                .resolve_actionable(target_args, Actionability::WRITE, EventGuard::Keyboard)
                .await?;
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
            let (effects, settled) = action.settle(&self.after).await;
            if effects.hits == 0 && !effects.missed.is_empty() {
                continue;
            }
            let draft =
                ReceiptDraft { verb: "type", point: Some(point), after: &self.after, value: None };
            return action.build_receipt(draft, (effects, settled)).await;
        }
        Err(Error::new(Code::ActMissed).message("the field does not keep the focus"))
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
            let target_args: Option<Target> = target.map(|target| target.parse().unwrap());
            assert_eq!(
                typed.target_args.map(|target_args| target_args.target),
                target_args,
                "{words}"
            );
            assert_eq!(typed.text.as_ref().map(SecretString::reveal), text, "{words}");
            assert_eq!(typed.secret.as_deref(), secret, "{words}");
            assert_eq!(typed.submit, words.contains("--submit"));
        }
        let read: Type = serde_json::from_str(r#"{"text":"a"}"#).unwrap();
        assert!(read.target_args.is_none());
        assert!(serde_json::from_str::<Type>(r#"{"target":"@@","text":"a"}"#).is_err());
        for words in ["", "@@ a", "a b c", "a b --secret PIN", "a --nth 1"] {
            let parser = Command::parser_of("type").unwrap().no_binary_name(true);
            let given = parser.try_get_matches_from(words.split_whitespace());
            assert!(given.and_then(|given| Type::from_arg_matches(&given)).is_err(), "{words}");
        }
    }
}
