//! `select`, `check`, `uncheck`: options, checkboxes, radio buttons and switches.

use super::{Act, Verb, VerbSpec};
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

/// Select options of a list.
///
/// Works for native lists and for custom widgets (listboxes, comboboxes, menus), which are opened first if necessary.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Select {
    /// The list.
    #[command(flatten)]
    #[serde(flatten)]
    pub target_args: TargetArgs,
    /// The option by value, label or `index=2` (counted from 0); several for a multiple-choice list.
    #[arg(required = true, value_name = "OPTION")]
    pub options: Vec<String>,
    /// Settling and the receipt.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

impl Verb for Select {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;
}

impl Act for Select {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        select(action, &self.target_args, &self.options, &self.after).await
    }
}

/// Check a checkbox, radio button or switch.
///
/// Does nothing if it is checked already.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// The element to check.
    #[command(flatten)]
    #[serde(flatten)]
    pub target_args: TargetArgs,
    /// Settling and the receipt.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

impl Verb for Check {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;
}

impl Act for Check {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        set(action, &self.target_args, true, &self.after).await
    }
}

/// Uncheck a checkbox or switch.
///
/// Does nothing if it is unchecked already.
#[derive(Clone, Debug, Args, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Uncheck {
    /// The element to uncheck.
    #[command(flatten)]
    #[serde(flatten)]
    pub target_args: TargetArgs,
    /// Settling and the receipt.
    #[command(flatten)]
    #[serde(flatten)]
    pub after: SettleArgs,
}

impl Verb for Uncheck {
    type Reply = Receipt;
    const SPEC: VerbSpec = VerbSpec::ACT;
}

impl Act for Uncheck {
    async fn act(&self, action: &mut Action<'_>) -> Result<Receipt> {
        set(action, &self.target_args, false, &self.after).await
    }
}

const CLICK: ClickSpec = ClickSpec { button: Button::Left, count: 1, modifiers: 0, hold: None };

/// Sets the checked state.
pub(super) async fn set(
    action: &mut Action<'_>,
    target_args: &TargetArgs,
    wanted: bool,
    after: &SettleArgs,
) -> Result<Receipt> {
    let verb = if wanted { "check" } else { "uncheck" };
    let point =
        action.resolve_actionable(target_args, Actionability::SET, EventGuard::DryRun).await?;
    let Some(is_checked) = point.is_checked else {
        return Err(
            Error::new(Code::ActNotEditable).message(format!("{} cannot be checked", point.target))
        );
    };
    if is_checked == wanted {
        return Ok(action
            .nothing_to_do(ReceiptDraft { verb, point: Some(point), after, value: None })
            .await);
    }
    if !wanted && point.kind == "radio" {
        return Err(Error::new(Code::ActNotEditable).message(format!(
            "{} cannot be unchecked: check another one of its group",
            point.target
        )));
    }
    let receipt = action.click_on(verb, target_args, CLICK, after).await?;
    if action.left_page() {
        return Ok(receipt);
    }
    let reply: Option<CheckedReply> =
        action.ask(&point, &format!("agbrowse.controlState({})", point.element)).await?;
    // An element that the click removed cannot be asked.
    match reply.and_then(|reply| reply.is_checked) {
        Some(now) if now != wanted => Err(Error::new(Code::ActNotTaken)
            .message(format!("{} was clicked, but its state did not change", point.target))),
        _ => Ok(receipt),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CheckedReply {
    is_checked: Option<bool>,
}

/// The observer script's reply to a selection.
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

/// Selects options of a list.
pub(super) async fn select(
    action: &mut Action<'_>,
    target_args: &TargetArgs,
    options: &[String],
    after: &SettleArgs,
) -> Result<Receipt> {
    let limit = action.limit(target_args);
    loop {
        let point =
            action.resolve_actionable(target_args, Actionability::SET, EventGuard::Off).await?;
        let script = format!("agbrowse.selectOptions({}, {})", point.element, json(options));
        let chosen: ChooseReply = action.ask(&point, &script).await?;
        action.mark_dispatched();
        let error = match &*chosen.is {
            "chosen" => {
                let value = Some(chosen.labels.join(", "));
                let draft = ReceiptDraft { verb: "select", point: Some(point), after, value };
                return match chosen.is_changed {
                    true => action.finish(draft).await,
                    false => Ok(action.nothing_to_do(draft).await),
                };
            }
            "suggested" => {
                action.release_guard();
                let value = SecretString::from(&*chosen.labels.concat());
                return super::fill::fill_as(action, "select", target_args, &value, after).await;
            }
            "widget" => {
                action.release_guard();
                return select_in_widget(action, target_args, point, options, after).await;
            }
            "missing" => Error::new(Code::ActNoOption)
                .message(format!("{} has no option {:?}", point.target, chosen.wanted))
                .evidence("options", chosen.options),
            "disabled" => Error::new(Code::ActDisabled)
                .message(format!("the option {:?} of {} is disabled", chosen.wanted, point.target)),
            "single" => {
                action.release_guard();
                return Err(Error::new(Code::CommandInvalid)
                    .message(format!("{} takes one option only", point.target)));
            }
            _ => Error::new(Code::SnapshotRefStale).message(format!("{} is gone", point.target)),
        };
        action.release_guard();
        // Options may be added late.
        if limit.is_over() || target_args.no_wait {
            return Err(error);
        }
        let tree = action.observe().await?;
        action.wait_for_change(&tree, limit).await?;
    }
}

/// Roles of options.
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

/// Selects in a custom widget: opens it if necessary, then clicks the option.
async fn select_in_widget(
    action: &mut Action<'_>,
    target_args: &TargetArgs,
    point: ActionPoint,
    options: &[String],
    after: &SettleArgs,
) -> Result<Receipt> {
    let limit = action.limit(target_args);
    let quiet = SettleArgs { no_delta: true, ..SettleArgs::default() };
    let mut labels = Vec::new();
    let mut receipt = None;
    let (mut is_opened, mut has_typed);
    let tree = action.observe().await?;
    let list = place_of(&tree, &point).ok_or_else(|| {
        Error::new(Code::SnapshotRefStale).message(format!("{} is gone", point.target))
    })?;
    if !may_be_list(&tree, list) {
        return Err(
            Error::new(Code::ActNoOption).message(format!("{} is not a list", point.target))
        );
    }
    // Options of other lists do not count, unless this one is open already.
    let is_open = tree.nodes[list].expanded == Some(true);
    let others: ElementSet = match is_open {
        true => ElementSet::new(),
        false => all_options(&tree).map(|node| place(&tree, node)).collect(),
    };
    let before: ElementSet = (0..tree.nodes.len()).map(|node| place(&tree, node)).collect();
    for (index, option) in options.iter().enumerate() {
        let is_last = index + 1 == options.len();
        // Many lists close after each selection.
        (is_opened, has_typed) = (false, false);
        loop {
            let tree = action.observe().await?;
            let found = option_in(&tree, &point, option, &others)
                .or_else(|| plain_option(&tree, option, &before).filter(|_| is_opened));
            if let Some(node) = found {
                // A fresh ref in the current tree.
                let number = action.observation.registry.issue_nodes(&tree, &[node]);
                let at = TargetArgs::at(Target::Ref(RefName::Local(number[0])));
                let after = if is_last { after } else { &quiet };
                let clicked = action.click_on("select", &at, CLICK, after).await?;
                labels.extend(clicked.target.as_ref().map(|target| target.name.clone()));
                receipt = Some(clicked);
                break;
            }
            if !is_opened {
                is_opened = true;
                if point.target.role != "listbox" {
                    action.click_on("open", target_args, CLICK, &quiet).await?;
                    continue;
                }
            }
            // A searchable list shows the matches of the typed text.
            if !has_typed && matches!(&*point.kind, "text" | "search") {
                has_typed = true;
                let found = action
                    .resolve_actionable(target_args, Actionability::WRITE, EventGuard::Keyboard)
                    .await;
                if let Ok(field) = found {
                    let script = format!("agbrowse.prepareFill({}, 'x', false)", field.element);
                    _ = action.ask::<serde::de::IgnoredAny>(&field, &script).await?;
                    action.type_keys(option).await?;
                    action.settle(&quiet).await;
                    continue;
                }
            }
            if limit.is_over() || target_args.no_wait {
                let own = own_options(&tree, &point, &others);
                let shown: Vec<String> = own
                    .into_iter()
                    .map(|node| page::refs::name(&tree, node))
                    .filter(|name| !name.is_empty())
                    .take(40)
                    .collect();
                if is_opened {
                    close(action, &point).await?;
                }
                return Err(Error::new(Code::ActNoOption)
                    .message(format!("{} shows no option {option:?}", point.target))
                    .evidence("options", shown)
                    .evidence("done", labels.iter().map(|it| quoted(it)).collect::<Vec<_>>()));
            }
            action.wait_for_change(&tree, limit).await?;
        }
    }
    let receipt = receipt
        .ok_or_else(|| Error::new(Code::CommandInvalid).message("there is no option to choose"))?;
    Ok(Receipt {
        target: Some(point.target),
        strategy: Some(point.strategy.to_owned()),
        value: Some(labels.join(", ")),
        ..receipt
    })
}

/// Closes a list that was opened without a result.
async fn close(action: &mut Action<'_>, point: &ActionPoint) -> Result<()> {
    let tree = action.observe().await?;
    // While a list is open, some pages hide everything else.
    let is_open = place_of(&tree, point).is_none_or(|list| tree.nodes[list].expanded == Some(true));
    if is_open {
        action.watch_effects().await?;
        action.press(&[Chord::parse("Escape")?]).await?;
        action.settle(&SettleArgs { no_delta: true, ..SettleArgs::default() }).await;
    }
    Ok(())
}

/// Elements by frame and element id.
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

/// The index of an element in the current tree.
fn place_of(tree: &Tree, point: &ActionPoint) -> Option<usize> {
    let document = point.documents.first()?;
    tree.nodes.iter().position(|node| {
        node.element == point.element && tree.frames[usize::from(node.frame)].document == *document
    })
}

/// True if an element can have options. A control with an effect of its own is not clicked to find out.
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

/// The options of a list: its descendants if there are any, otherwise those that have appeared since.
fn own_options(tree: &Tree, point: &ActionPoint, others: &ElementSet) -> Vec<usize> {
    // A page may hide the list itself while its options are shown elsewhere.
    let (list, end) =
        place_of(tree, point).map_or((usize::MAX, 0), |list| (list, tree.nodes[list].end as usize));
    let inside: Vec<usize> = all_options(tree).filter(|node| *node > list && *node < end).collect();
    if !inside.is_empty() {
        return inside;
    }
    all_options(tree).filter(|node| !others.contains(&place(tree, *node))).collect()
}

/// A new element with exactly this text: an option without an option role.
fn plain_option(tree: &Tree, wanted: &str, before: &ElementSet) -> Option<usize> {
    let query = page::find::Query { text: Some(wanted.to_owned()), ..Default::default() };
    let mut found = page::find::find(tree, &query);
    found.retain(|node| tree.nodes[*node].element > 0 && !before.contains(&place(tree, *node)));
    let mut needle = page::text::Needle::new(wanted);
    target::innermost(tree, &found)
        .into_iter()
        .find(|node| needle.equals(&page::refs::name(tree, *node)))
}

/// The matching option.
fn option_in(tree: &Tree, point: &ActionPoint, wanted: &str, others: &ElementSet) -> Option<usize> {
    let mut needle = page::text::Needle::new(wanted);
    let by_index = wanted.strip_prefix("index=").and_then(|index| index.parse::<usize>().ok());
    let among = own_options(tree, point, others);
    if let Some(index) = by_index {
        return among.get(index).copied();
    }
    let mut named = |exact: bool| -> Vec<usize> {
        among
            .iter()
            .copied()
            .filter(|node| {
                let name = tree.name(&tree.nodes[*node]);
                if exact { needle.equals(name) } else { needle.is_contained_in(name) }
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
