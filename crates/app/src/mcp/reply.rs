//! What a client is told: our words, the page's words fenced off from them, and the facts as data beside both.

use crate::output::fact_line;
use browser::command::{
    Arrival, CapabilityRow, DialogReply, Effect, PageEvent, Receipt, SnapshotReply, is_page_speech,
};
use browser::page::sanitize::escape_unsafe;
use browser::page::{text, tokens};
use browser::{Code, Error, Evidence, Note, Outcome, Reply, RetryHint, TabId};
use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Evidence that a model can choose from or learn from.
const LISTED: &[&str] = &["attempts", "candidates", "dialog", "done", "options", "hint"];

/// Errors whose messages have no words of a page, unless in quotes.
const OURS: &[Code] = &[
    Code::AccessDenied,
    Code::AskDeclined,
    Code::AskUnavailable,
    Code::BrowserContextNotFound,
    Code::BrowserLaunchFailed,
    Code::BrowserLost,
    Code::BrowserNotFound,
    Code::BrowserOptionsConflict,
    Code::CommandInvalid,
    Code::CommandTimeout,
    Code::DaemonBusy,
    Code::DaemonLost,
    Code::DaemonStartFailed,
    Code::DaemonUnresponsive,
    Code::FileReadFailed,
    Code::FileWriteFailed,
    Code::NavigationNoEntry,
    Code::NavigationTimeout,
    Code::PageNoDialog,
    Code::PageUnresponsive,
    Code::SecretNotFound,
    Code::SnapshotRefNotFound,
    Code::StorageInvalid,
    Code::StorageNotLoaded,
    Code::TabBusy,
    Code::TabCrashed,
    Code::TabNotFound,
    Code::TabTargetLost,
];

/// How many rests of cut replies are kept, and how many bytes of them.
const MOST_RESTS: usize = 16;
const MOST_BYTES: usize = 2 << 20;

/// How many bytes of facts go with a text.
const MOST_FACTS: usize = 4000;

/// What is to be said about a call.
#[derive(Default)]
pub(super) struct ToolReply {
    /// In our words.
    pub(super) ours: String,
    /// In the page's words, or with some of them.
    pub(super) theirs: String,
    /// The facts.
    pub(super) facts: Value,
    /// A picture: its bytes and what kind they are.
    pub(super) picture: Option<(Vec<u8>, &'static str)>,
    pub(super) is_error: bool,
}

/// The rests of replies that were too long.
#[derive(Default)]
pub(super) struct Continuations(Mutex<VecDeque<(String, String)>>);

impl Continuations {
    fn keep(&self, rest: &str) -> String {
        let id = crate::random::word();
        let mut end = rest.len().min(MOST_BYTES);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let rest = rest[..end].to_owned();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = |all: &VecDeque<(String, String)>| -> usize {
            all.iter().map(|(_, rest)| rest.len()).sum()
        };
        while !all.is_empty() && (all.len() >= MOST_RESTS || bytes(&all) + rest.len() > MOST_BYTES)
        {
            all.pop_front();
        }
        all.push_back((id.clone(), rest));
        id
    }

    /// The rest of this id. It stays until others push it out: a client may ask twice.
    pub(super) fn get(&self, id: &str) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|(known, _)| known == id).map(|(_, rest)| rest.clone())
    }
}

impl ToolReply {
    /// What came of a command on a page.
    pub(super) fn of(outcome: &Outcome) -> Self {
        let mut said = match &outcome.reply {
            Reply::Snapshot(SnapshotReply::Text(shown)) => Self {
                theirs: shown.text.clone(),
                facts: json!({ "refs": shown.refs, "tokens": shown.tokens }),
                ..Self::default()
            },
            Reply::Open(there)
            | Reply::Back(there)
            | Reply::Forward(there)
            | Reply::Reload(there) => Self::of_arrival(there),
            Reply::Can(row) => Self::of_row(row),
            Reply::Dialog(answered) => Self::of_answer(answered),
            reply @ Reply::Console(log) if log.lines.is_empty() => {
                Self { ours: "no console lines".into(), facts: facts(reply), ..Self::default() }
            }
            reply @ Reply::Requests(log) if log.requests.is_empty() => {
                Self { ours: "no requests".into(), facts: facts(reply), ..Self::default() }
            }
            reply => match reply.verb_reply().receipt() {
                Some(receipt) => Self::of_receipt(receipt),
                None if !reply.verb_reply().has_page_text() => {
                    Self { ours: reply.to_string(), facts: facts(reply), ..Self::default() }
                }
                None => Self { theirs: reply.to_string(), facts: facts(reply), ..Self::default() },
            },
        };
        said.add_notes(&outcome.notes);
        said
    }

    fn of_arrival(there: &Arrival) -> Self {
        let status = there.status.map(|status| format!(" (status {status})")).unwrap_or_default();
        Self {
            ours: format!("arrived{status}"),
            theirs: there.to_string(),
            facts: serde_json::to_value(there).unwrap_or_default(),
            ..Self::default()
        }
    }

    fn of_answer(answered: &DialogReply) -> Self {
        let verb = if answered.accepted { "accepted" } else { "dismissed" };
        let ours = format!("{verb} the {}{}", answered.dialog.kind, came_of_it(answered.effect));
        let theirs = format!("dialog: {}\n", text::quoted(&answered.dialog.message));
        let mut said = Self { ours, theirs, ..Self::default() };
        said.add_events(&answered.events);
        said.theirs.push_str(answered.delta.trim_end());
        said.theirs.truncate(said.theirs.trim_end().len());
        said.facts = without_delta(answered);
        said
    }

    /// What happened besides: our words and the page's apart.
    fn add_events(&mut self, events: &[PageEvent]) {
        for event in events {
            if !is_page_speech(&event.kind) {
                self.ours.push_str(&format!("\n! {}: {}", event.kind, spoken(&event.message)));
            }
            if event.page_text.is_some() || event.path.is_some() {
                let path = event.path.as_ref().map(|path| format!(" → {}", text::quoted(path)));
                let (said, path) = (quoted_text(&event.page_text), path.unwrap_or_default());
                self.theirs.push_str(&format!("! {}:{said}{path}\n", event.kind));
            }
        }
    }

    fn of_row(row: &CapabilityRow) -> Self {
        let mut theirs = String::new();
        for (key, fact) in &row.evidence {
            theirs.push_str(&format!("{key}: {}\n", told(key, fact)));
        }
        Self {
            ours: format!("{}: {}; next: {}", row.capability_id, row.state, row.next),
            theirs: theirs.trim_end().to_owned(),
            facts: serde_json::to_value(row).unwrap_or_default(),
            ..Self::default()
        }
    }

    /// One line of ours, without a word of the page's; what is different in its words.
    fn of_receipt(receipt: &Receipt) -> Self {
        let mut ours = receipt.action.clone();
        if let Some(target) = &receipt.target {
            let name = target.ref_name.as_deref().unwrap_or_default();
            ours.push_str(&format!(
                " {}{}{name}",
                target.role,
                if name.is_empty() { "" } else { " " }
            ));
        }
        let no_effect = format!(": {}", receipt.no_effect());
        ours.push_str(match (receipt.dispatched, receipt.effect) {
            (false, _) => ": nothing to do, it was so already",
            (true, Effect::None) => &no_effect,
            (true, effect) => came_of_it(effect),
        });
        if receipt.effect == Effect::Changed && !receipt.changes.is_empty() {
            ours.push_str(&format!(" ({})", receipt.changes.join(", ")));
        }
        if receipt.settled.how == "capped" {
            ours.push_str(&format!(", still going on after {} ms", receipt.settled.ms));
        }
        let mut theirs = String::new();
        for (at, blocker) in receipt.blocked.iter().enumerate() {
            let separator = if at == 0 { ":" } else { ";" };
            match &blocker.field {
                Some(field) => {
                    let name = field.ref_name.as_deref().unwrap_or(&field.role);
                    ours.push_str(&format!("{separator} {name} {}", blocker.reason));
                    theirs.push_str(&format!("blocked: {blocker}\n"));
                }
                None => ours.push_str(&format!("{separator} {}", blocker.reason)),
            }
        }
        // What a ref means is known to who gives it.
        if let Some(target) =
            receipt.target.as_ref().filter(|_| receipt.strategy.as_deref() != Some("ref"))
        {
            theirs.push_str(&format!("target: {} {}\n", target.role, text::quoted(&target.name)));
        }
        if let Some(value) = receipt.value_text() {
            theirs.push_str(&format!("value: {value}\n"));
        }
        let mut said = Self { ours, theirs, ..Self::default() };
        said.add_events(&receipt.events);
        said.theirs.push_str(receipt.delta.trim_end());
        said.theirs.truncate(said.theirs.trim_end().len());
        said.facts = without_delta(receipt);
        said
    }

    /// Why a call failed, and what now.
    pub(super) fn failure(error: &Error, element: Option<&str>) -> Self {
        Self::told_failure(error, element, false)
    }

    /// Why a call was not understood: nobody else has spoken yet.
    pub(super) fn misunderstood(error: &Error) -> Self {
        Self::told_failure(error, None, true)
    }

    fn told_failure(error: &Error, element: Option<&str>, is_ours: bool) -> Self {
        let details = error.details();
        let mut ours = format!("error {}", details.code);
        let mut theirs = String::new();
        // What the page calls things stands in quotes, and some messages are all its own.
        let is_ours =
            is_ours || OURS.contains(&details.code) && !details.message.contains(['"', '\'']);
        match is_ours {
            true => ours.push_str(&format!(": {}", spoken(&details.message))),
            false => {
                // In general words; which element and what the page says is theirs.
                ours.push_str(&format!(": {}", details.code.usual().means));
                theirs.push_str(&format!("{}\n", details.message));
            }
        }
        if let Some(element) = element {
            let element = text::cut_chars(element, 100);
            theirs.push_str(&format!("meant: {}\n", text::quoted(&element)));
        }
        for (key, fact) in details.evidence.iter().flatten() {
            // What a dialog says is the message of its own.
            let is_said = details.code == Code::PageDialogOpen && key == "message";
            match fact {
                Evidence::Text(said) if is_said => {
                    theirs.push_str(&format!("{key}: {}\n", text::quoted(said)));
                }
                fact if LISTED.contains(&&**key) => {
                    theirs.push_str(&format!("{key}: {}\n", told(key, fact)));
                }
                _ => {}
            }
        }
        let done = match details.evidence.as_ref().and_then(|all| all.get("done")) {
            Some(Evidence::List(done)) => done.len(),
            _ => 0,
        };
        match done {
            0 => ours.push_str(&format!("\n{}", change(details.code, details.mutation_allowed))),
            done => ours.push_str(&format!("\nthe first {done} were done, the rest not")),
        }
        let verb = details.evidence.as_ref().and_then(|all| all.get("use"));
        let tool = verb.and_then(|verb| tool_for(&told("use", verb)));
        let now = next(details.code).or_else(|| advice(details.retry_hint));
        ours.push_str("\nnext: ");
        match tool {
            Some(tool) => ours.push_str(&format!("use {tool}")),
            None => ours.push_str(now.unwrap_or(details.retry_hint.advice())),
        }
        let facts = serde_json::to_value(error).unwrap_or_default();
        let theirs = theirs.trim_end().to_owned();
        let mut said = Self { ours, theirs, facts, is_error: true, picture: None };
        said.add_notes(&details.notes);
        said
    }

    /// Adds what else there is to know: our sentences to ours, the page's text to theirs.
    pub(super) fn add_notes(&mut self, notes: &[Note]) {
        for note in notes {
            if !is_page_speech(&note.code) {
                begin_line(&mut self.ours);
                self.ours.push_str(&format!("note ({}): {}", note.code, spoken(&note.message)));
            }
            if note.page_text.is_some() {
                begin_line(&mut self.theirs);
                self.theirs.push_str(&format!("{}:{}", note.code, quoted_text(&note.page_text)));
            }
        }
    }

    /// Puts one after the other.
    pub(super) fn then(mut self, other: Self) -> Self {
        for (text, more) in [(&mut self.ours, other.ours), (&mut self.theirs, other.theirs)] {
            if !text.is_empty() && !more.is_empty() {
                text.push('\n');
            }
            text.push_str(&more);
        }
        if let (Value::Object(facts), Value::Object(more)) = (&mut self.facts, other.facts) {
            facts.extend(more);
        }
        self.is_error |= other.is_error;
        self
    }

    /// The reply as a client gets it, with the page that it is about and at most so many tokens.
    pub(super) fn finish(
        mut self,
        page: Option<TabId>,
        most: u32,
        rests: &Continuations,
    ) -> CallToolResult {
        let mut text = page.map(|page| format!("[page {page}]")).unwrap_or_default();
        if !text.is_empty() && !self.ours.is_empty() {
            text.push(' ');
        }
        text.push_str(&self.ours);
        let theirs = std::mem::take(&mut self.theirs);
        if !theirs.is_empty() {
            let room = most.saturating_sub(tokens::calibrated(&text)).saturating_sub(60).max(50);
            let (shown, rest) = cut(&theirs, room);
            let nonce = nonce_for(&theirs);
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!("<page-{nonce}>\n{shown}\n</page-{nonce}>"));
            if !rest.is_empty() {
                let lines = rest.lines().count();
                let id = rests.keep(rest);
                text.push_str(&format!(
                    "\n[cut: {lines} more lines; browser_snapshot with more: \"{id}\" gives them, find or root what you look for]"
                ));
            }
        }
        let mut content = vec![ContentBlock::text(escape_unsafe(&text))];
        if let Some((bytes, kind)) = self.picture {
            use base64::Engine;
            let data = base64::engine::general_purpose::STANDARD.encode(bytes);
            content.push(ContentBlock::image(data, kind));
        }
        let mut facts = match self.facts {
            Value::Object(facts) => facts,
            Value::Null => serde_json::Map::new(),
            other => [("result".to_owned(), other)].into_iter().collect(),
        };
        if let Some(page) = page {
            facts.insert("page".into(), page.to_string().into());
        }
        let mut result = match self.is_error {
            true => CallToolResult::error(content),
            false => CallToolResult::success(content),
        };
        // What is long is in the text; twice would be too much.
        if weight(&facts) > MOST_FACTS.min(most as usize * 2) {
            facts.retain(|name, _| name == "page" || name == "errorCode");
        }
        let untrusted = untrusted(&facts);
        if !untrusted.is_empty() {
            facts.insert("untrusted".into(), untrusted.into());
        }
        if !facts.is_empty() {
            let mut facts = Value::Object(facts);
            escape_all(&mut facts);
            result.structured_content = Some(facts);
        }
        result
    }
}

/// Facts of ours: no page chooses what they say.
const TRUSTED: &[&str] = &[
    "action",
    "activeContext",
    "capabilityId",
    "changes",
    "dispatched",
    "effect",
    "errorCode",
    "name",
    "next",
    "page",
    "phase",
    "retryHint",
    "selectorsTried",
    "settled",
    "stage",
    "state",
    "strategy",
    "type",
    "watchedMs",
];

/// The facts that may have text of the page in them: all that have any text and are not ours.
fn untrusted(facts: &serde_json::Map<String, Value>) -> Vec<Value> {
    fn has_text(value: &Value) -> bool {
        match value {
            Value::String(text) => !text.is_empty(),
            Value::Array(all) => all.iter().any(has_text),
            Value::Object(all) => all.values().any(has_text),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    let theirs =
        facts.iter().filter(|(name, value)| !TRUSTED.contains(&&***name) && has_text(value));
    theirs.map(|(name, _)| Value::String(name.clone())).collect()
}

/// Escapes what is unsafe in all strings of a value, names included.
fn escape_all(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(safe) = escape_unsafe(text) {
                *text = safe;
            }
        }
        Value::Array(all) => all.iter_mut().for_each(escape_all),
        Value::Object(all) => {
            let named = std::mem::take(all).into_iter();
            *all = named
                .map(|(name, mut value)| {
                    escape_all(&mut value);
                    (escape_unsafe(&name).into_owned(), value)
                })
                .collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A word for the marks of a fence that is nowhere in the fenced text.
fn nonce_for(text: &str) -> String {
    loop {
        let nonce = crate::random::word();
        if !text.contains(&nonce) {
            return nonce;
        }
    }
}

fn begin_line(text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
}

fn quoted_text(text: &Option<String>) -> String {
    text.as_ref().map(|text| format!(" {}", text::quoted(text))).unwrap_or_default()
}

fn weight(facts: &serde_json::Map<String, Value>) -> usize {
    serde_json::to_string(facts).map_or(usize::MAX, |text| text.len())
}

/// What fits, in whole lines where possible, and the rest.
fn cut(text: &str, most: u32) -> (&str, &str) {
    if tokens::calibrated(text) <= most {
        return (text, "");
    }
    // Tokens grow with the text: the most that fits is found by halving.
    let (mut fits, mut not) = (0, text.len());
    while not - fits > 16 {
        let mut middle = fits + (not - fits) / 2;
        while !text.is_char_boundary(middle) {
            middle -= 1;
        }
        if middle <= fits {
            break;
        }
        match tokens::calibrated(&text[..middle]) <= most {
            true => fits = middle,
            false => not = middle,
        }
    }
    let fitting = &text[..fits];
    let at = fitting.rfind('\n').or_else(|| fitting.rfind(' ')).filter(|at| *at > 0);
    let at = at.unwrap_or(fits);
    (&text[..at], text[at..].trim_start_matches('\n'))
}

/// An effect, as it is said after what was done.
fn came_of_it(effect: Effect) -> &'static str {
    match effect {
        Effect::Changed => ": changed",
        Effect::None => ": no effect",
        Effect::Blocked => ": blocked",
        Effect::Navigated => ": navigated",
        Effect::Dialog => ": a dialog opened; answer it with browser_handle_dialog",
        Effect::Download => ": download",
        Effect::Unknown => ": done, but the page does not tell what came of it",
    }
}

/// The facts of a reply whose delta is in its text.
fn without_delta(reply: &impl Serialize) -> Value {
    let mut facts = serde_json::to_value(reply).unwrap_or_default();
    if let Some(facts) = facts.as_object_mut() {
        facts.remove("delta");
    }
    facts
}

/// The facts in a reply.
fn facts(reply: &Reply) -> Value {
    let mut whole = serde_json::to_value(reply).unwrap_or_default();
    whole.get_mut("result").map(Value::take).unwrap_or_default()
}

/// A message without the words of the command line.
fn spoken(message: &str) -> String {
    let deeper =
        message.split_once(": `--max-depth ").map(|(what, _)| format!("{what}: give a `root`"));
    deeper
        .as_deref()
        .unwrap_or(message)
        .replace("`--root ", "`root: ")
        .replace("`--all-refs`", "`allRefs: true`")
        .replace("`--budget`", "`budget`")
        .replace("`--delta`", "`delta`")
        .replace("`--find`", "`find`")
        .replace(": `--include-hidden`", "")
        .replace("`agbrowse tab switch ", "`browser_tabs select ")
        .replace("`agbrowse dialog accept` or `agbrowse dialog dismiss`", "browser_handle_dialog")
        .replace("`agbrowse dialog accept`", "browser_handle_dialog")
        .replace("`agbrowse upload --chooser FILE`", "browser_file_upload and one of `paths`")
        .replace("`agbrowse upload --chooser FILE…`", "browser_file_upload and `paths`")
        .replace("`agbrowse upload --chooser`", "browser_file_upload without `paths`")
}

fn told(key: &str, fact: &Evidence) -> String {
    match fact {
        Evidence::Unknown => "not known".to_owned(),
        Evidence::Flag(flag) => flag.to_string(),
        Evidence::Number(number) => number.to_string(),
        Evidence::Text(text) => fact_line(key, text).into_owned(),
        Evidence::List(all) => {
            all.iter().map(|line| format!("\n  {}", fact_line(key, line))).collect()
        }
    }
}

/// Whether anything was done to the page before it failed.
fn change(code: Code, may_have: bool) -> &'static str {
    match code {
        Code::ActNoEffect | Code::ActNotTaken => {
            "it was done, but not with the effect that was asked for"
        }
        Code::PageDialogOpen => "nothing was done",
        Code::CommandTimeout | Code::DaemonLost | Code::TabCrashed | Code::PageUnresponsive => {
            "whether anything was done is not known"
        }
        _ if may_have => "the page may have changed",
        _ => "nothing was done",
    }
}

/// What a hint means to a client of tools, where a person at a shell does something else.
fn advice(hint: RetryHint) -> Option<&'static str> {
    Some(match hint {
        RetryHint::WaitLonger => "wait with browser_wait_for and call again",
        RetryHint::AnswerDialog => "answer the dialog with browser_handle_dialog",
        RetryHint::ReSnapshot | RetryHint::LookAgain => "look at the page with browser_snapshot",
        RetryHint::CloseTabOrWait => "wait, or use another tab: browser_tabs with action new",
        RetryHint::ListTabs | RetryHint::TabSwitch => "list the tabs with browser_tabs",
        RetryHint::OpenAgain | RetryHint::ReloadTab => "open the page again with browser_navigate",
        RetryHint::PassNth => "use the ref of the one that is meant",
        RetryHint::SetSecret => "have the user set the secret in the environment of the server",
        RetryHint::ClearTheWay => "close or move what is in the way, then call again",
        RetryHint::RunDoctor | RetryHint::RestartDaemon => "have the user run `agbrowse doctor`",
        _ => return None,
    })
}

/// The tool that does what a verb does.
fn tool_for(verb: &str) -> Option<&'static str> {
    Some(match verb {
        "check" | "click" => "browser_click",
        "select" => "browser_select_option",
        _ => return None,
    })
}

/// What to do now, where a client of tools does something else than a person at a shell.
fn next(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::SnapshotRefStale | Code::SnapshotRefNotFound => {
            "take a new snapshot with browser_snapshot and use its refs"
        }
        Code::CommandInvalid => "call again with the arguments that are expected",
        Code::TargetAmbiguous => "use the ref of the one that is meant",
        Code::TargetNotFound => "look with browser_snapshot, or wait with browser_wait_for",
        Code::PageDialogOpen => "answer the dialog with browser_handle_dialog",
        Code::TabNotFound | Code::TabTargetLost => "list the tabs with browser_tabs",
        Code::BrowserContextNotFound => "list the contexts with browser_context_list",
        Code::BrowserLost | Code::DaemonLost => "open the page again with browser_navigate",
        Code::AccessDenied => {
            "use another address or file, or have the user start the server with `--allow-files DIR` or `--allow-schemes LIST`"
        }
        Code::BrowserNotFound => "have the user run `agbrowse install`",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_cut_can_be_put_together_again() {
        let lines: Vec<String> =
            (0..300).map(|n| format!("- button \"Button {n}\" [ref=e{n}]")).collect();
        for text in [lines.join("\n"), lines.join(" "), "ä".repeat(3000), "\n\n- one".into()] {
            let mut rest = &*text;
            let mut parts: Vec<&str> = Vec::new();
            while !rest.is_empty() {
                let (shown, left) = cut(rest, 60);
                assert!(tokens::calibrated(shown) <= 60 && left.len() < rest.len());
                parts.push(shown);
                rest = left;
            }
            let joined: String = parts.concat();
            assert_eq!(joined.replace('\n', ""), text.replace('\n', ""));
            // Lines stay whole where there are any.
            if text.contains("]\n") {
                assert!(parts.iter().all(|part| part.ends_with(']')), "{parts:?}");
            }
        }
    }

    /// All strings in a value, names included.
    fn strings(value: &Value) -> Vec<String> {
        match value {
            Value::String(text) => vec![text.clone()],
            Value::Array(all) => all.iter().flat_map(strings).collect(),
            Value::Object(all) => all
                .iter()
                .flat_map(|(name, value)| [vec![name.clone()], strings(value)])
                .flatten()
                .collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
        }
    }

    /// Replies of every kind about a page that chose this text wherever it can choose one.
    fn replies(said: &str) -> Vec<ToolReply> {
        let quoted = text::quoted(said);
        let event = |kind: &str| json!({ "kind": kind, "message": "it happened", "pageText": said, "path": said });
        let receipt = json!({
            "action": "select", "target": { "ref": "e1", "role": "combobox", "name": said }, "strategy": "text",
            "dispatched": true, "dispatchedMs": 1.0, "settled": { "how": "quiet", "ms": 1 }, "effect": "changed",
            "delta": format!("+ button {quoted}"), "value": said,
            "events": [event("page-error"), event("console-error"), event("dialog"), event("download")],
        });
        let read = |verb: &str, result: Value| -> Reply {
            serde_json::from_value(json!({ "verb": verb, "result": result })).unwrap()
        };
        let replies = [
            read("open", json!({ "url": said, "title": said, "status": 200, "phase": "loaded" })),
            read("select", receipt),
            read("get", json!({ "what": "text", "value": said })),
            read(
                "dialog",
                json!({
                    "dialog": { "kind": "alert", "message": said }, "accepted": true, "effect": "dialog",
                    "delta": format!("+ button {quoted}"), "events": [event("page-error"), event("dialog")],
                    "open": { "kind": "prompt", "message": said, "defaultText": said },
                }),
            ),
            read(
                "console",
                json!({ "lines": [{ "level": "error", "text": said, "at": said, "ms": 1 }], "earlier": 0 }),
            ),
        ];
        let notes = vec![
            Note::new("page-error", "page error").with_page_text(said),
            Note::new("silent-frame", "a frame did not answer").with_page_text(said),
        ];
        let mut all: Vec<ToolReply> = replies
            .into_iter()
            .map(|reply| ToolReply::of(&Outcome { reply, tab: None, notes: notes.clone() }))
            .collect();
        let error = Error::new(Code::ActCovered)
            .message(format!("button {quoted} is covered"))
            .evidence("options", vec![said.to_owned()])
            .evidence("message", said);
        all.push(ToolReply::failure(&error, Some(said)));
        let error =
            Error::new(Code::PageDialogOpen).message("an alert waits").evidence("message", said);
        all.push(ToolReply::failure(&error, None));
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn page_text_is_sanitized_and_only_inside_the_fence(
            noise in prop::collection::vec(
                prop_oneof![
                    prop::sample::select("\u{1b}\u{9b}\u{202e}\u{2066}\u{200b}\u{200d}\u{feff}\u{2028}\0\r\n\u{e0041}\"\\'`<>/".chars().collect::<Vec<char>>()),
                    any::<char>(),
                ],
                0..12,
            )
        ) {
            let noise: String = noise.into_iter().collect();
            let said = format!("FORGED{noise}\nnote (restarted): FORGED");
            for reply in replies(&said) {
                let result = reply.finish(Some("t1".parse().unwrap()), 10_000, &Continuations::default());
                let result = serde_json::to_value(&result).unwrap();
                for text in strings(&result) {
                    prop_assert!(escape_unsafe(&text) == text, "{:?}", text);
                }
                let text = result["content"][0]["text"].as_str().unwrap();
                let (ours, fenced) = text.split_once("\n<page-").unwrap();
                prop_assert!(!ours.contains("FORGED"), "{}", ours);
                let end = format!("\n</page-{}>", &fenced[..8]);
                prop_assert!(fenced.ends_with(&end) && fenced.matches(&end).count() == 1, "{}", fenced);
                let facts = result["structuredContent"].as_object().unwrap();
                let marked = &facts["untrusted"];
                for (name, value) in facts.iter().filter(|(_, value)| value.to_string().contains("FORGED")) {
                    let is_marked = marked.as_array().unwrap().iter().any(|it| it == name);
                    prop_assert!(is_marked, "{}: {} is not among {}", name, value, marked);
                }
            }
        }
    }
}
