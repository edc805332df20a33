//! Conversations, answers and records of the running server.

use crate::answer::{Answer, hex};
use crate::records::{AnswerRecord, PageEvent, PostedEvent, Prompt, SentFile, SubmitEvent};
use crate::rng::Rng;
use crate::scenario::{App, Scenario};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

/// Everything the server remembers.
#[derive(Debug, Default)]
pub(crate) struct Store {
    tables: Mutex<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    next_id: u64,
    conversations: HashMap<String, Conversation>,
    answers: HashMap<String, Answer>,
    files: HashMap<String, SentFile>,
    prompts: Vec<Prompt>,
    /// Conversation and id of each prompt's answer.
    answered: Vec<(String, String)>,
    submit_events: EventLog<SubmitEvent>,
    page_events: EventLog<PageEvent>,
}

/// Events in the order they happened: by their number in a page, otherwise by arrival.
#[derive(Debug)]
struct EventLog<T>(Vec<(String, u32, T)>);

impl<T> Default for EventLog<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> EventLog<T> {
    fn insert(&mut self, page: String, number: u32, event: T) {
        let is_later = |(its_page, its_number, _): &(String, u32, T)| {
            *its_page == page && *its_number > number
        };
        let at = self.0.iter().position(is_later).unwrap_or(self.0.len());
        self.0.insert(at, (page, number, event));
    }

    fn all(&self) -> Vec<T> {
        self.0.iter().map(|(_, _, event)| event.clone()).collect()
    }
}

/// A conversation and the scenario it was begun in.
#[derive(Clone, Debug)]
struct Conversation {
    app: App,
    scenario: Scenario,
    exchanges: Vec<Exchange>,
}

/// A prompt and its answer, as a page restores them.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Exchange {
    client_message_id: String,
    text: String,
    files: Vec<SentFile>,
    answer: String,
}

/// A prompt as the page posts it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PostedPrompt {
    client_message_id: String,
    text: String,
    model: String,
    #[serde(default)]
    tool: Option<String>,
    /// Ids of uploaded files.
    #[serde(default)]
    files: Vec<String>,
    /// Conversation to continue; a new one begins without.
    #[serde(default)]
    conversation: Option<String>,
}

/// Reply to a prompt.
#[derive(Debug, Serialize)]
pub(crate) struct PromptReply {
    conversation: String,
    path: String,
    answer: String,
}

/// Reply to an upload.
#[derive(Debug, Serialize)]
pub(crate) struct UploadReply {
    id: String,
    #[serde(flatten)]
    file: SentFile,
}

impl Store {
    /// Accepts a prompt: records it, continues or begins its conversation, begins its answer. A message id that has
    /// arrived before is counted, and its first reply repeated.
    pub(crate) fn prompt(
        &self,
        app: App,
        scenario: &Scenario,
        posted: PostedPrompt,
    ) -> PromptReply {
        let mut tables = self.tables();
        let id = posted.client_message_id;
        if let Some(prompt) = tables.prompts.iter_mut().find(|it| it.client_message_id == id) {
            prompt.arrivals += 1;
        }
        let repeated = tables.conversations.iter().find_map(|(conversation, it)| {
            let exchange = it.exchanges.iter().find(|it| it.client_message_id == id)?;
            Some(accepted(app, conversation, &exchange.answer))
        });
        if let Some(repeated) = repeated {
            return repeated;
        }
        let known = posted.conversation.filter(|id| tables.conversations.contains_key(id));
        let conversation = known.unwrap_or_else(|| tables.conversation_id(app));
        let files: Vec<SentFile> =
            posted.files.iter().filter_map(|id| tables.files.get(id).cloned()).collect();
        let answer_id = tables.uuid("answer");
        let answer = Answer::begin(&posted.text, &posted.model, scenario);
        tables.answers.insert(answer_id.clone(), answer);
        tables.answered.push((conversation.clone(), answer_id.clone()));
        let exchange = Exchange {
            client_message_id: id.clone(),
            text: posted.text.clone(),
            files: files.clone(),
            answer: answer_id.clone(),
        };
        let begun = Conversation { app, scenario: scenario.clone(), exchanges: Vec::new() };
        tables.conversations.entry(conversation.clone()).or_insert(begun).exchanges.push(exchange);
        let accepted = accepted(app, &conversation, &answer_id);
        tables.prompts.push(Prompt {
            app,
            conversation,
            client_message_id: id,
            text: posted.text,
            model: posted.model,
            tool: posted.tool,
            files,
            arrivals: 1,
        });
        accepted
    }

    /// Stores a file.
    pub(crate) fn upload(&self, name: String, content: &Bytes) -> UploadReply {
        let sha256 = hex(&Sha256::digest(content));
        let file = SentFile { name, size: content.len(), sha256 };
        let mut tables = self.tables();
        let id = tables.uuid("file");
        tables.files.insert(id.clone(), file.clone());
        UploadReply { id, file }
    }

    /// Records an event of a page.
    pub(crate) fn event(&self, app: App, event: PostedEvent) {
        let PostedEvent { kind, control, detail, trusted, ignored, path, page, number } = event;
        let mut tables = self.tables();
        match control {
            Some(control) => {
                let event = SubmitEvent { app, kind, control, trusted, ignored, path };
                tables.submit_events.insert(page, number, event);
            }
            None => {
                let event = PageEvent { app, kind, detail, path };
                tables.page_events.insert(page, number, event);
            }
        }
    }

    /// An answer by its id.
    pub(crate) fn answer(&self, id: &str) -> Option<Answer> {
        self.tables().answers.get(id).cloned()
    }

    /// Prompts and answers of a conversation.
    pub(crate) fn exchanges(&self, app: App, conversation: &str) -> Option<Vec<Exchange>> {
        let tables = self.tables();
        let found = tables.conversations.get(conversation).filter(|it| it.app == app)?;
        Some(found.exchanges.clone())
    }

    /// Scenario that a conversation was begun in.
    pub(crate) fn scenario(&self, conversation: &str) -> Option<Scenario> {
        self.tables().conversations.get(conversation).map(|it| it.scenario.clone())
    }

    pub(crate) fn prompts(&self) -> Vec<Prompt> {
        self.tables().prompts.clone()
    }

    pub(crate) fn answers(&self) -> Vec<AnswerRecord> {
        let tables = self.tables();
        let record = |(conversation, id): &(String, String)| {
            let state = tables.answers.get(id)?.watch();
            let state = state.borrow();
            let (text, status) = (state.text.clone(), state.status);
            Some(AnswerRecord { conversation: conversation.clone(), text, status })
        };
        tables.answered.iter().filter_map(record).collect()
    }

    pub(crate) fn submit_events(&self) -> Vec<SubmitEvent> {
        self.tables().submit_events.all()
    }

    pub(crate) fn page_events(&self) -> Vec<PageEvent> {
        self.tables().page_events.all()
    }

    pub(crate) fn reset_records(&self) {
        let mut tables = self.tables();
        tables.prompts.clear();
        tables.answered.clear();
        tables.submit_events = EventLog::default();
        tables.page_events = EventLog::default();
    }

    /// The tables, also after a panic elsewhere: every change of them is complete in one call.
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Tables {
    fn uuid(&mut self, salt: &str) -> String {
        self.next_id += 1;
        let mut rng = Rng::new(self.next_id, salt);
        let (high, low) = (rng.next(), rng.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            low >> 52,
            low & 0xffff_ffff_ffff
        )
    }

    /// Id of a new conversation, in the shape that the app gives it.
    fn conversation_id(&mut self, app: App) -> String {
        let id = self.uuid("conversation");
        if app == App::Gemini { id.replace('-', "")[..16].to_owned() } else { id }
    }
}

fn accepted(app: App, conversation: &str, answer: &str) -> PromptReply {
    PromptReply {
        conversation: conversation.to_owned(),
        path: format!("{}{conversation}", app.conversation_prefix()),
        answer: answer.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_a_page_are_in_its_order() {
        let mut events = EventLog::default();
        for (page, number) in [("a", 1), ("a", 3), ("b", 1), ("a", 2), ("b", 2)] {
            events.insert(page.to_owned(), number, format!("{page}{number}"));
        }
        assert_eq!(events.all(), ["a1", "a2", "a3", "b1", "b2"]);
    }
}
