//! Answers: their text, and the task that writes one token by token whether or not anybody reads it.

use crate::records::AnswerStatus;
use crate::rng::Rng;
use crate::scenario::{AnswerKind, Scenario};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Most bytes of a long answer.
const LONGEST: usize = 5 << 20;

/// Most steps in which a long answer is written.
const LONG_STEPS: usize = 400;

/// Markdown of the complete answer to a prompt; empty for [`AnswerKind::Never`].
#[must_use]
pub fn answer_to(text: &str, model: &str, kind: AnswerKind) -> String {
    let hash = hex(&Sha256::digest(text));
    match kind {
        AnswerKind::Echo | AnswerKind::Slow | AnswerKind::Pause(_) => echo(text, model, &hash),
        AnswerKind::Long(bytes) => long(bytes.min(LONGEST), &hash),
        AnswerKind::Error => "I started to answer, but".to_owned(),
        AnswerKind::Never => String::new(),
    }
}

fn echo(text: &str, model: &str, hash: &str) -> String {
    let short = &hash[..16];
    let words = text.split_whitespace().count();
    let characters = text.chars().count();
    format!(
        "Your prompt has the hash **{short}**. Here is what arrived:\n\n\
         - {words} words\n\
         - {characters} characters\n\
         - answered by `{model}`\n\n\
         ## Checking it\n\n\
         ```rust\n\
         fn main() {{\n    \
             let hash = \"{short}\";\n    \
             println!(\"{{hash}} has {{}} digits\", hash.len());\n\
         }}\n\
         ```\n\n\
         | Property | Value |\n\
         | --- | --- |\n\
         | Hash | {short} |\n\
         | Words | {words} |\n\n\
         1. Compare the hash.\n\
         2. Compare the counts.\n\n\
         That is all about {short}."
    )
}

/// Paragraphs of made-up words, with headings and lists, of exactly this many bytes.
fn long(bytes: usize, hash: &str) -> String {
    const WORDS: &[&str] = &[
        "harbour", "lantern", "meadow", "copper", "signal", "winter", "ladder", "garden", "window",
        "travel", "number", "marble", "season", "letter", "bridge", "forest", "candle", "river",
    ];
    let mut rng = Rng::new(0, hash);
    let mut out = format!("Long answer to {hash}.");
    let mut section = 0;
    while out.len() < bytes {
        section += 1;
        if section % 8 == 0 {
            _ = write!(
                out,
                "\n\n## Part {section}\n\n- {}\n- {}",
                rng.pick(WORDS),
                rng.pick(WORDS)
            );
        } else {
            _ = write!(out, "\n\nParagraph {section}:");
            for _ in 0..60 {
                _ = write!(out, " {}", rng.pick(WORDS));
            }
            out.push('.');
        }
    }
    out.truncate(bytes.max(hash.len() + 16));
    // No space or line break at the end: markdown does not keep it.
    let length = out.trim_end().len();
    out.truncate(length);
    while out.len() < bytes {
        out.push('.');
    }
    out
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        _ = write!(out, "{byte:02x}");
        out
    })
}

/// An answer so far.
#[derive(Debug)]
pub(crate) struct AnswerState {
    pub(crate) text: String,
    /// Text that stands in for the answer until its first token.
    pub(crate) placeholder: &'static str,
    pub(crate) status: AnswerStatus,
}

/// An answer under way or finished, which any number of pages may read.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    state: Arc<watch::Sender<AnswerState>>,
}

impl Answer {
    /// Begins an answer. It is written on the current runtime until it is finished or stopped.
    pub(crate) fn begin(text: &str, model: &str, scenario: &Scenario) -> Self {
        let placeholder = if thinking_ms(scenario) > 0 { "Thinking" } else { "" };
        let state =
            AnswerState { text: String::new(), placeholder, status: AnswerStatus::Streaming };
        let answer = Self { state: Arc::new(watch::Sender::new(state)) };
        let complete = answer_to(text, model, scenario.answer);
        tokio::spawn(answer.clone().write(complete, scenario.clone()));
        answer
    }

    /// The state, now and whenever it changes.
    pub(crate) fn watch(&self) -> watch::Receiver<AnswerState> {
        self.state.subscribe()
    }

    /// Stops the answer. Returns false if it had ended.
    pub(crate) fn stop(&self) -> bool {
        self.update(|state| state.status = AnswerStatus::Stopped)
    }

    /// Changes an answer under way. Returns false if it has ended.
    fn update(&self, change: impl FnOnce(&mut AnswerState)) -> bool {
        self.state.send_if_modified(|state| {
            let is_streaming = state.status == AnswerStatus::Streaming;
            if is_streaming {
                change(state);
            }
            is_streaming
        })
    }

    async fn write(self, complete: String, scenario: Scenario) {
        let thinking = Duration::from_millis(thinking_ms(&scenario));
        tokio::time::sleep(thinking / 2).await;
        if !thinking.is_zero() && !self.update(|state| state.placeholder = "Searching…") {
            return;
        }
        tokio::time::sleep(thinking / 2).await;
        if scenario.answer == AnswerKind::Never {
            _ = self.update(|state| state.placeholder = "Thinking");
            return;
        }
        let pace = match scenario.answer {
            AnswerKind::Slow => scenario.token_ms.max(1) * 10,
            _ => scenario.token_ms,
        };
        let tokens = tokens(&complete, scenario.answer);
        for (at, token) in tokens.iter().enumerate() {
            if let AnswerKind::Pause(ms) = scenario.answer
                && at == tokens.len() / 2
            {
                tokio::time::sleep(Duration::from_millis(ms)).await;
            }
            if pace > 0 {
                tokio::time::sleep(Duration::from_millis(pace)).await;
            } else {
                tokio::task::yield_now().await;
            }
            if !self.update(|state| state.text.push_str(token)) {
                return;
            }
        }
        let end = match scenario.answer {
            AnswerKind::Error => AnswerStatus::Error,
            _ => AnswerStatus::Finished,
        };
        _ = self.update(|state| state.status = end);
    }
}

fn thinking_ms(scenario: &Scenario) -> u64 {
    match scenario.answer {
        AnswerKind::Slow => scenario.thinking_ms.max(2000),
        AnswerKind::Never => scenario.thinking_ms.max(200),
        _ => scenario.thinking_ms,
    }
}

/// Cuts a text after each space or line break, or into at most [`LONG_STEPS`] pieces if it is long.
fn tokens(text: &str, kind: AnswerKind) -> Vec<&str> {
    if !matches!(kind, AnswerKind::Long(_)) {
        return text.split_inclusive([' ', '\n']).collect();
    }
    let step = text.len().div_ceil(LONG_STEPS).max(8);
    let mut rest = text;
    let mut out = Vec::new();
    while !rest.is_empty() {
        let mut end = step.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (token, after) = rest.split_at(end);
        out.push(token);
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echo_names_the_hash_and_has_every_block() {
        let answer = answer_to("two words", "instant", AnswerKind::Echo);
        let hash = hex(&Sha256::digest("two words"));
        for part in
            [&hash[..16], "- 2 words", "```rust\nfn main() {\n    let", "| --- | --- |", "1. "]
        {
            assert!(answer.contains(part), "{part}: {answer}");
        }
        assert_eq!(answer, answer_to("two words", "instant", AnswerKind::Slow));
    }

    #[test]
    fn long_answer_has_the_asked_size() {
        for bytes in [200, 10_000, 1 << 20] {
            assert_eq!(answer_to("x", "instant", AnswerKind::Long(bytes)).len(), bytes);
        }
        let most = answer_to("x", "instant", AnswerKind::Long(usize::MAX));
        assert_eq!(most.len(), LONGEST);
        assert!(tokens(&most, AnswerKind::Long(0)).len() <= LONG_STEPS);
    }

    #[test]
    fn tokens_make_up_the_text() {
        let text = answer_to("ü", "instant", AnswerKind::Echo);
        assert_eq!(tokens(&text, AnswerKind::Echo).concat(), text);
        assert_eq!(tokens(&text, AnswerKind::Long(1)).concat(), text);
    }

    #[tokio::test]
    async fn stopped_answer_stays_as_it_is() {
        let scenario = Scenario { answer: AnswerKind::Never, ..Scenario::default() };
        let answer = Answer::begin("x", "instant", &scenario);
        assert!(answer.stop());
        assert!(!answer.stop());
        assert_eq!(answer.watch().borrow().status, AnswerStatus::Stopped);
    }
}
