//! When an answer is complete: decided from looks at the conversation, without a clock of its own.

use crate::vendor::AnswerSigns;
use std::time::Duration;

/// Time that an answer has to stay the same when the app shows that it is complete.
const STABLE_WHEN_DONE: Duration = Duration::from_secs(1);

/// The same when the app should show that, but does not, and no streaming was seen either.
const STABLE_WITHOUT_SIGN: Duration = Duration::from_secs(30);

/// Longest text that may stand in for an answer, in UTF-16 units.
const PLACEHOLDER_CHARS: u32 = 100;

/// A look at a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnswerLook {
    /// Number of answers in the conversation.
    pub(crate) answers: u32,
    /// The sign of streaming is visible.
    pub(crate) is_streaming: bool,
    /// A sign of a complete answer is visible in the last turn.
    pub(crate) is_done: bool,
    /// Length of the last answer, in UTF-16 units.
    pub(crate) chars: u32,
    /// Its end.
    pub(crate) tail: String,
}

/// The state of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerState {
    /// None has begun.
    Waiting,
    /// It grows, or may grow.
    Streaming,
    /// It is complete.
    Complete,
}

/// Follows one answer.
#[derive(Debug)]
pub(crate) struct CompletionWatch<'v> {
    signs: &'v AnswerSigns,
    /// Number of answers before the prompt.
    baseline: u32,
    last: Option<AnswerLook>,
    /// The time of the last change.
    changed_at: Duration,
    /// The sign of streaming was visible.
    was_streaming: bool,
}

impl<'v> CompletionWatch<'v> {
    pub(crate) fn new(signs: &'v AnswerSigns, baseline: u32) -> Self {
        Self { signs, baseline, last: None, changed_at: Duration::ZERO, was_streaming: false }
    }

    /// Judges a look, taken at a time since the start.
    pub(crate) fn judge(&mut self, look: &AnswerLook, at: Duration) -> AnswerState {
        if self.last.as_ref() != Some(look) {
            self.changed_at = at;
            self.last = Some(look.clone());
        }
        // The tail is the whole answer as long as that is short.
        let is_placeholder = look.chars == 0
            || look.chars <= PLACEHOLDER_CHARS
                && self.signs.placeholders.iter().any(|it| it.is_match(look.tail.trim()));
        if look.answers <= self.baseline {
            return AnswerState::Waiting;
        }
        self.was_streaming |= look.is_streaming;
        if look.is_streaming || is_placeholder {
            return AnswerState::Streaming;
        }
        let stable = at.saturating_sub(self.changed_at);
        match stable >= self.stable_time(look) {
            true => AnswerState::Complete,
            false => AnswerState::Streaming,
        }
    }

    /// The time that an answer has to stay the same: short ones are the likelier to go on.
    fn stable_time(&self, look: &AnswerLook) -> Duration {
        if look.is_done {
            return STABLE_WHEN_DONE;
        }
        // The app has changed, or shows no sign: only a long silence says something then.
        if self.signs.done_means_complete && !self.was_streaming {
            return STABLE_WITHOUT_SIGN;
        }
        Duration::from_secs(match look.chars {
            0..16 => 8,
            16..40 => 3,
            40..500 => 2,
            _ => 3,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendor::Vendors;

    fn look(answers: u32, chars: u32, tail: &str) -> AnswerLook {
        AnswerLook { answers, chars, tail: tail.into(), ..AnswerLook::default() }
    }

    /// Judges looks at seconds.
    fn check(vendor: &str, looks: &[(u64, AnswerLook, AnswerState)]) {
        let vendors = Vendors::load(None).unwrap();
        let mut watch = CompletionWatch::new(&vendors.get(vendor).unwrap().answer, 1);
        for (second, look, expected) in looks {
            let state = watch.judge(look, Duration::from_secs(*second));
            assert_eq!(state, *expected, "{second} s: {look:?}");
        }
    }

    #[test]
    fn answer_is_complete_when_it_stays_the_same_for_long_enough() {
        use AnswerState::{Complete, Streaming, Waiting};
        check(
            "chatgpt",
            &[
                (0, look(1, 90, "an earlier answer"), Waiting),
                (9, look(1, 90, "an earlier answer"), Waiting),
                (10, look(2, 0, ""), Streaming),
                (20, look(2, 8, "Thinking"), Streaming),
                (60, look(2, 8, "Thinking"), Streaming),
                (61, look(2, 100, "It is"), Streaming),
                (62, look(2, 100, "It is"), Streaming),
                (63, look(2, 100, "It is"), Complete),
            ],
        );
        let short = |second, state| (second, look(2, 4, "Yes."), state);
        check("chatgpt", &[short(0, Streaming), short(7, Streaming), short(8, Complete)]);
    }

    #[test]
    fn answer_with_a_stop_button_is_not_complete_however_long_it_pauses() {
        let streaming = AnswerLook { is_streaming: true, ..look(2, 900, "…") };
        check(
            "chatgpt",
            &[
                (0, streaming.clone(), AnswerState::Streaming),
                (600, streaming, AnswerState::Streaming),
            ],
        );
    }

    #[test]
    fn sign_of_completion_shortens_the_wait_and_where_it_is_reliable_it_is_needed() {
        let done = AnswerLook { is_done: true, ..look(2, 4, "Yes.") };
        check(
            "chatgpt",
            &[(0, done.clone(), AnswerState::Streaming), (1, done.clone(), AnswerState::Complete)],
        );
        check(
            "gemini",
            &[
                (0, look(2, 900, "x"), AnswerState::Streaming),
                (29, look(2, 900, "x"), AnswerState::Streaming),
                (30, look(2, 900, "x"), AnswerState::Complete),
            ],
        );
        check(
            "gemini",
            &[(0, done.clone(), AnswerState::Streaming), (1, done, AnswerState::Complete)],
        );
    }
}
