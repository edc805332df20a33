//! What a client is told: our words, the page's words fenced off from them, and the facts as data beside both.

use browser::command::{Arrival, CapabilityRow, Effect, Receipt, Snapped};
use browser::page::{text, tokens};
use browser::{Code, Error, Fact, Note, Outcome, Reply, RetryHint, TabId};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Evidence that a model can choose from or learn from.
const LISTED: &[&str] = &["attempts", "candidates", "dialog", "done", "options", "hint"];

/// Errors whose messages have no words of a page, unless in quotes.
const OURS: &[Code] = &[
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
pub(super) struct Said {
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
pub(super) struct Rests(Mutex<VecDeque<(String, String)>>);

impl Rests {
    fn keep(&self, rest: &str) -> String {
        let id = random_word();
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

/// Eight letters and digits that nobody can guess.
pub(super) fn random_word() -> String {
    let mut bytes = [0_u8; 4];
    if rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        bytes = now.unwrap_or_default().subsec_nanos().to_le_bytes();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Said {
    /// What came of a command on a page.
    pub(super) fn of(outcome: &Outcome) -> Self {
        let mut said = match &outcome.reply {
            Reply::Snapshot(Snapped::Text(shown)) => Self {
                theirs: shown.text.clone(),
                facts: json!({ "refs": shown.refs, "tokens": shown.tokens }),
                ..Self::default()
            },
            Reply::Open(there)
            | Reply::Back(there)
            | Reply::Forward(there)
            | Reply::Reload(there) => Self::of_arrival(there),
            Reply::Can(row) => Self::of_row(row),
            reply => match receipt(reply) {
                Some(receipt) => Self::of_receipt(receipt),
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

    fn of_row(row: &CapabilityRow) -> Self {
        let mut theirs = String::new();
        for (key, fact) in &row.evidence {
            theirs.push_str(&format!("{key}: {}\n", told(fact)));
        }
        Self {
            ours: format!("{}: {}", row.capability_id, row.state),
            theirs: format!("{theirs}{}", row.next),
            facts: serde_json::to_value(row).unwrap_or_default(),
            ..Self::default()
        }
    }

    /// One line of ours, without a word of the page's; what is different in its words.
    fn of_receipt(receipt: &Receipt) -> Self {
        let mut ours = receipt.action.clone();
        if let Some(target) = &receipt.target {
            let name = target.name_of_ref.as_deref().unwrap_or_default();
            ours.push_str(&format!(
                " {}{}{name}",
                target.role,
                if name.is_empty() { "" } else { " " }
            ));
        }
        ours.push_str(match (receipt.dispatched, receipt.effect) {
            (false, _) => ": nothing to do, it was so already",
            (true, Effect::Changed) => ": changed",
            (true, Effect::None) => ": no effect",
            (true, Effect::Navigated) => ": navigated",
            (true, Effect::Dialog) => ": a dialog opened; answer it with browser_handle_dialog",
            (true, Effect::Download) => ": download",
            (true, Effect::Unknown) => ": done, but the page does not tell what came of it",
        });
        if receipt.effect == Effect::Changed && !receipt.changes.is_empty() {
            ours.push_str(&format!(" ({})", receipt.changes.join(", ")));
        }
        if receipt.settled.how == "capped" {
            ours.push_str(&format!(", still going on after {} ms", receipt.settled.ms));
        }
        let mut theirs = String::new();
        // What a ref means is known to who gives it.
        if let Some(target) =
            receipt.target.as_ref().filter(|_| receipt.strategy.as_deref() != Some("ref"))
        {
            theirs.push_str(&format!("target: {} ", target.role));
            text::quote(&mut theirs, &target.name);
            theirs.push('\n');
        }
        if let Some(value) = &receipt.value {
            theirs.push_str(&format!("value: {value}\n"));
        }
        for event in &receipt.events {
            let path = event.path.as_ref().map(|path| format!(" → {path}")).unwrap_or_default();
            let message = spoken(&event.message);
            theirs.push_str(&format!("! {}: {message}{path}\n", event.kind));
        }
        theirs.push_str(receipt.delta.trim_end());
        let mut facts = serde_json::to_value(receipt).unwrap_or_default();
        if let Some(facts) = facts.as_object_mut() {
            // It is in the text.
            facts.remove("delta");
        }
        Self { ours, theirs: theirs.trim_end().to_owned(), facts, ..Self::default() }
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
            false => theirs.push_str(&format!("{}\n", details.message)),
        }
        if let Some(element) = element {
            theirs.push_str("meant: ");
            text::quote(&mut theirs, &text::cut_chars(element, 100));
            theirs.push('\n');
        }
        for (key, fact) in details.evidence.iter().flatten() {
            // What a dialog says is the message of its own.
            let is_said = details.code == Code::PageDialogOpen && key == "message";
            if LISTED.contains(&&**key) || is_said {
                theirs.push_str(&format!("{key}: {}\n", told(fact)));
            }
        }
        let done = match details.evidence.as_ref().and_then(|all| all.get("done")) {
            Some(Fact::List(done)) => done.len(),
            _ => 0,
        };
        match done {
            0 => ours.push_str(&format!("\n{}", change(details.code, details.mutation_allowed))),
            done => ours.push_str(&format!("\nthe first {done} were done, the rest not")),
        }
        let verb = details.evidence.as_ref().and_then(|all| all.get("use"));
        let tool = verb.and_then(|verb| tool_for(&told(verb)));
        let now = next(details.code).or_else(|| advice(details.retry_hint));
        ours.push_str("\nnext: ");
        match tool {
            Some(tool) => ours.push_str(&format!("use {tool}")),
            None => ours.push_str(now.unwrap_or(details.retry_hint.advice())),
        }
        let facts = serde_json::to_value(error).unwrap_or_default();
        Self { ours, theirs: theirs.trim_end().to_owned(), facts, is_error: true, picture: None }
    }

    /// Adds what else there is to know.
    pub(super) fn add_notes(&mut self, notes: &[Note]) {
        for note in notes {
            if !self.theirs.is_empty() {
                self.theirs.push('\n');
            }
            self.theirs.push_str(&format!("note ({}): {}", note.code, spoken(&note.message)));
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
        rests: &Rests,
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
            let nonce = random_word();
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
        let mut content = vec![ContentBlock::text(text)];
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
        if !facts.is_empty() {
            result.structured_content = Some(facts.into());
        }
        result
    }
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

/// The receipt in a reply that has one.
fn receipt(reply: &Reply) -> Option<&Receipt> {
    match reply {
        Reply::Click(receipt)
        | Reply::Dblclick(receipt)
        | Reply::Hover(receipt)
        | Reply::Fill(receipt)
        | Reply::Type(receipt)
        | Reply::Press(receipt)
        | Reply::Select(receipt)
        | Reply::Check(receipt)
        | Reply::Uncheck(receipt)
        | Reply::FillForm(receipt)
        | Reply::Drag(receipt)
        | Reply::Upload(receipt)
        | Reply::Scroll(receipt)
        | Reply::Focus(receipt)
        | Reply::Download(receipt) => Some(receipt),
        _ => None,
    }
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

fn told(fact: &Fact) -> String {
    match fact {
        Fact::Unknown => "not known".to_owned(),
        Fact::Flag(flag) => flag.to_string(),
        Fact::Number(number) => number.to_string(),
        Fact::Text(text) => text.clone(),
        Fact::List(all) => all.iter().map(|line| format!("\n  {line}")).collect(),
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
        Code::BrowserNotFound => "have the user run `agbrowse install`",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
