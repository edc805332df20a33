//! A conversation on a page: numbers of turns, signs of streaming, the draft and the answer.

use crate::completion::AnswerLook;
use crate::tab::Tab;
use crate::vendor::{Feature, Vendor};
use browser::page::hash::field_hash;
use browser::{Driver, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const CONVERSATION: &str = include_str!("../js/conversation.js");

/// Longest text that is read: an answer of several megabytes, but not an endless one.
const TEXT_LIMIT: usize = 8 << 20;

/// What a page shows of a conversation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConversationLook {
    pub(crate) host: String,
    pub(crate) path: String,
    /// Number of prompts.
    pub(crate) users: u32,
    /// Number of answers.
    pub(crate) answers: u32,
    pub(crate) streaming: bool,
    pub(crate) done: bool,
    pub(crate) answer_chars: u32,
    pub(crate) answer_tail: String,
    pub(crate) answer: Option<String>,
    pub(crate) last_prompt: Option<String>,
    /// Text of the composer; `None` without one.
    pub(crate) draft: Option<String>,
    /// How often the text that was asked for is on the page, besides the composer.
    pub(crate) needle_count: u32,
    /// Parts that no selector matches.
    pub(crate) unmatched: Vec<String>,
    /// Roles and names on a page with such parts.
    pub(crate) named: Vec<RoleAndName>,
    /// Something on the page is busy.
    pub(crate) busy: bool,
    /// How often the page shows each of the files' names.
    pub(crate) file_counts: BTreeMap<String, u32>,
    pub(crate) title: String,
    pub(crate) body_chars: u32,
    pub(crate) body_head: String,
}

/// A role with an accessible name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct RoleAndName {
    role: String,
    name: String,
}

/// What to look for in a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LookOptions<'o> {
    /// Names of files that should be shown as attached.
    pub(crate) files: Option<&'o [String]>,
    /// A text to count.
    pub(crate) needle: Option<&'o str>,
    /// The index of the answer; the last one, if there are fewer or none is named.
    pub(crate) answer_at: Option<u32>,
    /// Read the answer.
    pub(crate) with_answer: bool,
}

impl ConversationLook {
    /// True if the app's turns of the user are recognized.
    pub(crate) fn knows_user_turns(&self) -> bool {
        !self.unmatched.iter().any(|key| key == Feature::UserTurn.key())
    }

    pub(crate) fn answer_look(&self) -> AnswerLook {
        AnswerLook {
            answers: self.answers,
            is_streaming: self.streaming,
            is_done: self.done,
            chars: self.answer_chars,
            tail: self.answer_tail.clone(),
        }
    }

    /// True if the composer is empty.
    pub(crate) fn has_empty_composer(&self) -> bool {
        self.draft.as_ref().is_some_and(|draft| draft.trim().is_empty())
    }

    /// True if the last prompt has this hash.
    pub(crate) fn has_prompt(&self, hash: &str) -> bool {
        self.last_prompt.as_ref().is_some_and(|prompt| prompt_hash(prompt) == hash)
    }

    /// True if the last prompt holds the beginning of this one.
    pub(crate) fn has_prompt_head(&self, head: &str) -> bool {
        let shown = self.last_prompt.as_deref().unwrap_or_default();
        shown.split_whitespace().collect::<Vec<_>>().join(" ").contains(head)
    }

    /// What stands between a person and the conversation, if something does.
    pub(crate) fn interstitial(&self) -> Option<Interstitial> {
        let text = format!("{}\n{}", self.title, self.body_head).to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let is_challenge = [
            "just a moment",
            "checking if the site connection is secure",
            "enable javascript and cookies",
            "ray id",
        ];
        match () {
            // An app with a composer or turns is no interstitial, whatever its conversations say.
            () if self.draft.is_some() || self.users > 0 => None,
            () if says(&is_challenge) => Some(Interstitial::Challenge),
            () if self.body_chars < 2000 && says(&["log in", "sign in", "sign up"]) => {
                Some(Interstitial::Login)
            }
            () if self.body_chars < 20 => Some(Interstitial::EmptyShell),
            () => None,
        }
    }
}

/// A page in place of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interstitial {
    Challenge,
    Login,
    EmptyShell,
}

impl Interstitial {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Challenge => "cloudflare-challenge",
            Self::Login => "login-required",
            Self::EmptyShell => "empty-shell",
        }
    }
}

/// The hash of a prompt, whatever an editor does to its white space.
pub(crate) fn prompt_hash(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    field_hash(&words.join(" "))
}

/// Length of the beginning of a prompt that is looked for, in characters.
const HEAD: usize = 80;

/// The beginning of a prompt, as its turn shows it.
pub(crate) fn prompt_head(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(HEAD).collect::<String>().trim_end().to_owned()
}

/// The parts that are looked for.
const PARTS: [Feature; 4] =
    [Feature::Composer, Feature::UserTurn, Feature::ResponseFeed, Feature::StreamingIndicator];

/// Looks at a conversation. Parts that no selector matches are looked for by role and name.
pub(crate) async fn look<D: Driver>(
    tab: &Tab<'_, D>,
    vendor: &Vendor,
    options: LookOptions<'_>,
) -> Result<ConversationLook> {
    let css = |feature| vendor.target(feature).map(|it| &*it.css_fallbacks).unwrap_or_default();
    let mut parts: BTreeMap<_, _> = PARTS.map(|feature| (feature.key(), css(feature))).into();
    // By role and name only: a selector would find the buttons of code blocks too.
    parts.insert(Feature::CopyButton.key(), &[]);
    let mut argument = serde_json::json!({
        "parts": parts,
        "exact": {},
        "done": vendor.answer.done,
        "chips": options.files,
        "needle": options.needle,
        "answerAt": options.answer_at,
        "textLimit": TEXT_LIMIT,
        "withAnswer": options.with_answer,
    });
    let seen: ConversationLook = tab.call(CONVERSATION, &argument).await?;
    let exact = exact_names(vendor, &seen);
    if exact.is_empty() {
        return Ok(seen);
    }
    argument["exact"] = serde_json::json!(exact);
    tab.call(CONVERSATION, &argument).await
}

/// The roles and names on a page that parts without a matching selector can have.
fn exact_names(
    vendor: &Vendor,
    seen: &ConversationLook,
) -> BTreeMap<&'static str, Vec<RoleAndName>> {
    let is_wanted = |feature: &Feature| match feature {
        // A button that copies the answer is a sign that it is complete, where none of the vendor's is there.
        Feature::CopyButton => seen.answers > 0 && !seen.done && !seen.streaming,
        _ => seen.unmatched.iter().any(|key| key == feature.key()),
    };
    let names = |feature: Feature| {
        let target = vendor.target(feature)?;
        let is_it = |it: &&RoleAndName| {
            target.roles.contains(&it.role)
                && target.has_name(&it.name)
                && !target.excludes_name(&it.name)
        };
        let found: Vec<_> = seen.named.iter().filter(is_it).cloned().collect();
        (!found.is_empty()).then_some((feature.key(), found))
    };
    let all = PARTS.into_iter().chain([Feature::CopyButton]);
    all.filter(is_wanted).filter_map(names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_is_recognized_whatever_its_white_space() {
        assert_eq!(prompt_hash("a  b\n\nc "), prompt_hash("a b c"));
        assert_ne!(prompt_hash("a b c"), prompt_hash("a b d"));
    }

    #[test]
    fn interstitials_are_told_apart_from_conversations_that_mention_them() {
        let look = |title: &str, body: &str, draft: Option<&str>| ConversationLook {
            title: title.into(),
            body_head: body.into(),
            body_chars: body.len() as u32,
            draft: draft.map(str::to_owned),
            ..ConversationLook::default()
        };
        let check = |look: ConversationLook, expected| {
            assert_eq!(look.interstitial(), expected, "{look:?}");
        };
        check(look("Just a moment...", "Checking …", None), Some(Interstitial::Challenge));
        check(look("App", "Log in to get answers", None), Some(Interstitial::Login));
        check(look("App", "", None), Some(Interstitial::EmptyShell));
        check(look("App", "What does Ray ID mean? Log in", Some("")), None);
        check(look("App", &"long text ".repeat(300), None), None);
    }
}
