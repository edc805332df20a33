//! `select`, `check`, `uncheck`: choosing among what is offered.

use super::{CommandContext, Verb, hand};
use crate::act::keyboard::Chord;
use crate::act::pointer::{Button, ClickSpec};
use crate::act::{
    Action, ActionPoint, Actionability, EventGuard, Receipt, ReceiptDraft, SettleArgs, TargetArgs,
};
use crate::error::{Code, Error, Result};
use crate::observe::json;
use crate::secret::SecretString;
use crate::target::{self, Target};
use clap::Args;
use page::ax::{Role, Tree};
use page::refs::RefName;
use page::text::quoted;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Choose options of a list.
///
/// Works for lists of the browser and for those that pages make themselves (listboxes, comboboxes, menus): those are
/// opened first if need be.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Select {
    /// The list.
    #[command(flatten)]
    #[serde(flatten)]
    pub aim: TargetArgs,
    /// The option by its value, its label, or as `index=2` (counted from 0); several where the list takes several.
    #[arg(required = true, value_name = "OPTION")]
    pub options: Vec<String>,
    /// What to see to afterwards.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

impl Verb for Select {
    type Reply = Receipt;

    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Receipt> {
        hand!(cx, hand);
        select(&mut hand, &self.aim, &self.options, &self.after).await
    }
}

/// Check a checkbox, choose a radio button, turn on a switch.
///
/// Does nothing if it is so already.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// What to check.
    #[command(flatten)]
    #[serde(flatten)]
    pub aim: TargetArgs,
    /// What to see to afterwards.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

impl Verb for Check {
    type Reply = Receipt;

    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Receipt> {
        hand!(cx, hand);
        set(&mut hand, &self.aim, true, &self.after).await
    }
}

/// Uncheck a checkbox, turn off a switch.
///
/// Does nothing if it is so already.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Uncheck {
    /// What to uncheck.
    #[command(flatten)]
    #[serde(flatten)]
    pub aim: TargetArgs,
    /// What to see to afterwards.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

impl Verb for Uncheck {
    type Reply = Receipt;

    async fn run(&self, cx: &mut CommandContext<'_>) -> Result<Receipt> {
        hand!(cx, hand);
        set(&mut hand, &self.aim, false, &self.after).await
    }
}

const PRESS: ClickSpec = ClickSpec { button: Button::Left, count: 1, modifiers: 0, hold: None };

/// Sets something that is on or off.
pub(super) async fn set(
    hand: &mut Action<'_>,
    aim: &TargetArgs,
    wanted: bool,
    after: &SettleArgs,
) -> Result<Receipt> {
    let action = if wanted { "check" } else { "uncheck" };
    let spot = hand.reach(aim, Actionability::SET, EventGuard::Look).await?;
    let Some(is_checked) = spot.is_checked else {
        return Err(Error::new(Code::ActNotEditable)
            .message(format!("{} is nothing that can be checked", spot.hit)));
    };
    if is_checked == wanted {
        return Ok(hand
            .nothing_to_do(ReceiptDraft { action, spot: Some(spot), after, value: None })
            .await);
    }
    if !wanted && spot.kind == "radio" {
        return Err(Error::new(Code::ActNotEditable)
            .message(format!("{} cannot be unchecked: check another one of its group", spot.hit)));
    }
    let receipt = hand.click_on(action, aim, PRESS, after).await?;
    if hand.is_elsewhere() {
        return Ok(receipt);
    }
    let fact: Option<OptionFact> =
        hand.ask(&spot, &format!("agbrowse.fact({})", spot.element)).await?;
    // One that the click took away cannot be asked.
    match fact.and_then(|fact| fact.is_checked) {
        Some(now) if now != wanted => Err(Error::new(Code::ActNotTaken)
            .message(format!("{} was clicked and is as it was", spot.hit))),
        _ => Ok(receipt),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OptionFact {
    is_checked: Option<bool>,
}

/// What our script made of a choice.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChooseReply {
    is: String,
    #[serde(default)]
    wanted: String,
    #[serde(default)]
    options: Vec<String>,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    is_changed: bool,
}

/// Chooses options of a list.
pub(super) async fn select(
    hand: &mut Action<'_>,
    aim: &TargetArgs,
    options: &[String],
    after: &SettleArgs,
) -> Result<Receipt> {
    let limit = hand.limit(aim);
    loop {
        let spot = hand.reach(aim, Actionability::SET, EventGuard::Nothing).await?;
        let script = format!("agbrowse.choose({}, {})", spot.element, json(options));
        let chosen: ChooseReply = hand.ask(&spot, &script).await?;
        hand.done();
        let error = match &*chosen.is {
            "chosen" => {
                let value = Some(chosen.labels.join(", "));
                let deed = ReceiptDraft { action: "select", spot: Some(spot), after, value };
                return match chosen.is_changed {
                    true => hand.finish(deed).await,
                    false => Ok(hand.nothing_to_do(deed).await),
                };
            }
            "suggested" => {
                hand.release_guard();
                let value = SecretString::from(&*chosen.labels.concat());
                return super::fill::put_in(hand, "select", aim, &value, after).await;
            }
            "widget" => {
                hand.release_guard();
                return select_in_widget(hand, aim, spot, options, after).await;
            }
            "missing" => Error::new(Code::ActNoOption)
                .message(format!("{} has no option {:?}", spot.hit, chosen.wanted))
                .evidence("options", chosen.options),
            "disabled" => Error::new(Code::ActDisabled)
                .message(format!("the option {:?} of {} is disabled", chosen.wanted, spot.hit)),
            "single" => {
                hand.release_guard();
                return Err(Error::new(Code::CommandInvalid)
                    .message(format!("{} takes one option only", spot.hit)));
            }
            _ => Error::new(Code::SnapshotRefStale).message(format!("{} is gone", spot.hit)),
        };
        hand.release_guard();
        // Options may come late.
        if limit.is_over() || aim.no_wait {
            return Err(error);
        }
        let tree = hand.look().await?;
        hand.wait_for_change(&tree, limit).await?;
    }
}

/// Roles of what is chosen among.
const OPTIONS: &[Role] = &[
    Role::Option,
    Role::MenuItem,
    Role::MenuItemRadio,
    Role::MenuItemCheckBox,
    Role::TreeItem,
    Role::Radio,
    Role::Tab,
    Role::GridCell,
];

/// Chooses in a list that the page made itself: opens it if need be, then clicks the option.
async fn select_in_widget(
    hand: &mut Action<'_>,
    aim: &TargetArgs,
    spot: ActionPoint,
    options: &[String],
    after: &SettleArgs,
) -> Result<Receipt> {
    let limit = hand.limit(aim);
    let quiet = SettleArgs { no_delta: true, ..SettleArgs::default() };
    let mut labels = Vec::new();
    let mut receipt = None;
    let (mut is_opened, mut has_typed);
    let tree = hand.look().await?;
    let list = place_of(&tree, &spot).ok_or_else(|| {
        Error::new(Code::SnapshotRefStale).message(format!("{} is gone", spot.hit))
    })?;
    if !may_be_list(&tree, list) {
        return Err(Error::new(Code::ActNoOption).message(format!("{} is no list", spot.hit)));
    }
    // Options that others show are not this one's, unless it is open already.
    let is_open = tree.nodes[list].expanded == Some(true);
    let others: ElementSet = match is_open {
        true => ElementSet::new(),
        false => all_options(&tree).map(|node| place(&tree, node)).collect(),
    };
    let before: ElementSet = (0..tree.nodes.len()).map(|node| place(&tree, node)).collect();
    for (index, option) in options.iter().enumerate() {
        let is_last = index + 1 == options.len();
        // Many lists close after each choice.
        (is_opened, has_typed) = (false, false);
        loop {
            let tree = hand.look().await?;
            let found = option_in(&tree, &spot, option, &others)
                .or_else(|| plain_option(&tree, option, &before).filter(|_| is_opened));
            if let Some(node) = found {
                // Of the list that it is in, as it is now.
                let number = hand.sight.registry.show_some(&tree, &[node]);
                let at = TargetArgs::at(Target::Ref(RefName::Local(number[0])));
                let after = if is_last { after } else { &quiet };
                let clicked = hand.click_on("select", &at, PRESS, after).await?;
                labels.extend(clicked.target.as_ref().map(|hit| hit.name.clone()));
                receipt = Some(clicked);
                break;
            }
            if !is_opened {
                is_opened = true;
                if spot.hit.role != "listbox" {
                    hand.click_on("open", aim, PRESS, &quiet).await?;
                    continue;
                }
            }
            // A list that is searched by typing shows what matches.
            if !has_typed && matches!(&*spot.kind, "text" | "search") {
                has_typed = true;
                let found = hand.reach(aim, Actionability::WRITE, EventGuard::Keys).await;
                if let Ok(field) = found {
                    let script = format!("agbrowse.prepare({}, 'x', false)", field.element);
                    _ = hand.ask::<serde::de::IgnoredAny>(&field, &script).await?;
                    hand.type_keys(option).await?;
                    hand.settle(&quiet).await;
                    continue;
                }
            }
            if limit.is_over() || aim.no_wait {
                let own = own_options(&tree, &spot, &others);
                let shown: Vec<String> = own
                    .into_iter()
                    .map(|node| page::refs::name(&tree, node))
                    .filter(|name| !name.is_empty())
                    .take(40)
                    .collect();
                if is_opened {
                    close(hand, &spot).await?;
                }
                return Err(Error::new(Code::ActNoOption)
                    .message(format!("{} shows no option {option:?}", spot.hit))
                    .evidence("options", shown)
                    .evidence("done", labels.iter().map(|it| quoted(it)).collect::<Vec<_>>()));
            }
            hand.wait_for_change(&tree, limit).await?;
        }
    }
    let receipt = receipt
        .ok_or_else(|| Error::new(Code::CommandInvalid).message("there is no option to choose"))?;
    Ok(Receipt {
        target: Some(spot.hit),
        strategy: Some(spot.strategy.to_owned()),
        value: Some(labels.join(", ")),
        ..receipt
    })
}

/// Closes a list again that was opened for nothing.
async fn close(hand: &mut Action<'_>, spot: &ActionPoint) -> Result<()> {
    let tree = hand.look().await?;
    // While it is open, some pages hide everything else.
    let is_open = place_of(&tree, spot).is_none_or(|list| tree.nodes[list].expanded == Some(true));
    if is_open {
        hand.begin_here().await?;
        hand.press(&[Chord::parse("Escape")?]).await?;
        hand.settle(&SettleArgs { no_delta: true, ..SettleArgs::default() }).await;
    }
    Ok(())
}

/// Elements by frame and number.
type ElementSet = HashSet<(u16, u32)>;

fn place(tree: &Tree, node: usize) -> (u16, u32) {
    (tree.nodes[node].frame, tree.nodes[node].element)
}

fn all_options(tree: &Tree) -> impl Iterator<Item = usize> {
    tree.nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.element > 0 && OPTIONS.contains(&node.role))
        .map(|(index, _)| index)
}

/// Where an element is in the page as it is now.
fn place_of(tree: &Tree, spot: &ActionPoint) -> Option<usize> {
    let document = spot.documents.first()?;
    tree.nodes.iter().position(|node| {
        node.element == spot.element && tree.frames[usize::from(node.frame)].document == *document
    })
}

/// Whether something can have options to choose from. What only does something when it is clicked is not clicked to
/// find out.
fn may_be_list(tree: &Tree, node: usize) -> bool {
    let it = &tree.nodes[node];
    let has_popup = tree.extra(it).is_some_and(|extra| !tree.str(extra.popup).is_empty());
    match it.role {
        Role::Button => has_popup || it.expanded.is_some(),
        Role::Link | Role::CheckBox | Role::Switch | Role::Heading | Role::Image | Role::Slider => {
            false
        }
        _ => true,
    }
}

/// The options that are a list's: those inside of it if there are any, else those that have come up since.
fn own_options(tree: &Tree, spot: &ActionPoint, others: &ElementSet) -> Vec<usize> {
    // A page may hide the list itself while its options are shown elsewhere.
    let (list, end) =
        place_of(tree, spot).map_or((usize::MAX, 0), |list| (list, tree.nodes[list].end as usize));
    let inside: Vec<usize> = all_options(tree).filter(|node| *node > list && *node < end).collect();
    if !inside.is_empty() {
        return inside;
    }
    all_options(tree).filter(|node| !others.contains(&place(tree, *node))).collect()
}

/// What says just this and has come up since: an option that the page does not call one.
fn plain_option(tree: &Tree, wanted: &str, before: &ElementSet) -> Option<usize> {
    let query = page::find::Query { text: Some(wanted.to_owned()), ..Default::default() };
    let mut found = page::find::find(tree, &query);
    found.retain(|node| tree.nodes[*node].element > 0 && !before.contains(&place(tree, *node)));
    let mut needle = page::text::Needle::new(wanted);
    target::innermost(tree, &found)
        .into_iter()
        .find(|node| needle.is_all_of(&page::refs::name(tree, *node)))
}

/// The option that is meant.
fn option_in(tree: &Tree, spot: &ActionPoint, wanted: &str, others: &ElementSet) -> Option<usize> {
    let mut needle = page::text::Needle::new(wanted);
    let by_index = wanted.strip_prefix("index=").and_then(|index| index.parse::<usize>().ok());
    let among = own_options(tree, spot, others);
    if let Some(index) = by_index {
        return among.get(index).copied();
    }
    let mut named = |exact: bool| -> Vec<usize> {
        among
            .iter()
            .copied()
            .filter(|node| {
                let name = tree.name(&tree.nodes[*node]);
                if exact { needle.is_all_of(name) } else { needle.is_in(name) }
            })
            .collect()
    };
    match named(true).as_slice() {
        [one, ..] => Some(*one),
        [] => match named(false).as_slice() {
            [one] => Some(*one),
            _ => None,
        },
    }
}
