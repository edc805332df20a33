//! Scenarios: which app, how its page deviates, how it behaves; and their form in the query of a URL.

use std::fmt::Write;
use std::str::FromStr;

/// One of the three apps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum App {
    /// Behaves like ChatGPT: chatgpt.com and chat.openai.com.
    ChatGpt,
    /// Behaves like Gemini: gemini.google.com.
    Gemini,
    /// Behaves like Grok: grok.com.
    Grok,
}

impl App {
    /// All apps.
    pub const ALL: [Self; 3] = [Self::ChatGpt, Self::Gemini, Self::Grok];

    /// Main host name.
    #[must_use]
    pub fn host(self) -> &'static str {
        self.hosts()[0]
    }

    /// All host names.
    #[must_use]
    pub fn hosts(self) -> &'static [&'static str] {
        match self {
            Self::ChatGpt => &["chatgpt.com", "chat.openai.com"],
            Self::Gemini => &["gemini.google.com"],
            Self::Grok => &["grok.com"],
        }
    }

    /// Path of the page that begins a conversation.
    #[must_use]
    pub fn start_path(self) -> &'static str {
        if self == Self::Gemini { "/app" } else { "/" }
    }

    /// Path of a conversation without its id.
    #[must_use]
    pub fn conversation_prefix(self) -> &'static str {
        match self {
            Self::ChatGpt => "/c/",
            Self::Gemini => "/app/",
            Self::Grok => "/chat/",
        }
    }

    /// App of a host name, without a port.
    #[must_use]
    pub fn of_host(host: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|app| app.hosts().contains(&host))
    }
}

/// Host names of all apps.
pub(crate) fn hosts() -> Vec<&'static str> {
    App::ALL.iter().flat_map(|app| app.hosts()).copied().collect()
}

/// How far a page deviates from the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Selectors, roles and accessible names as specified.
    #[default]
    Baseline,
    /// Other classes, wrappers, attribute order and decoration; roles, accessible names and test ids stay.
    Cosmetic,
    /// Test ids and ids gone, tags, nesting, places and names changed; everything still can be recognised.
    Structural,
    /// Nothing may be clicked. By the seed modulo 4: a canvas in place of the composer, a text box for feedback in place
    /// of it, two equal composers, everything hidden behind a wall.
    Breaking,
}

/// Selectable models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Models {
    /// All models of the app.
    #[default]
    All,
    /// All but the paid one.
    NoPro,
}

/// Kind of the composer's element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Composer {
    /// Rich text editor (`contenteditable`).
    #[default]
    Rich,
    /// `textarea`.
    Textarea,
}

/// Page that stands in for the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interstitial {
    /// Challenge of a content delivery network.
    Cloudflare,
    /// Shell without content.
    Empty,
    /// Loading screen that never ends.
    Loading,
}

/// Behaviour of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AnswerKind {
    /// Deterministic markdown that names the prompt's hash, with a list, a code block and a table.
    #[default]
    Echo,
    /// About this many bytes of markdown, in at most 400 steps.
    Long(usize),
    /// A placeholder for two seconds, then `Echo` at a tenth of the pace.
    Slow,
    /// `Echo` that rests this many milliseconds in the middle without any sign of it.
    Pause(u64),
    /// Fails after a few words.
    Error,
    /// A placeholder for ever.
    Never,
}

/// Behaviour and appearance of a page. The default is the baseline without obstacles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scenario {
    /// How far the page deviates from the baseline.
    pub variant: Variant,
    /// Seed of the deviation.
    pub seed: u64,
    /// Login wall instead of the app.
    pub logged_out: bool,
    /// A modal dialog covers the composer.
    pub modal: bool,
    /// The composer appears this many milliseconds after the page was loaded.
    pub late_ms: u64,
    /// Selectable models.
    pub models: Models,
    /// Behaviour of answers.
    pub answer: AnswerKind,
    /// Milliseconds between two tokens of an answer.
    pub token_ms: u64,
    /// Milliseconds of placeholder text ("Thinking", then "Searching…") before the first token.
    pub thinking_ms: u64,
    /// Milliseconds that an upload takes at least.
    pub upload_ms: u64,
    /// Uploaded files vanish instead of being attached.
    pub drop_uploads: bool,
    /// The first click on the send button does nothing.
    pub lose_first_click: bool,
    /// Kind of the composer's element.
    pub composer: Composer,
    /// Page that stands in for the app.
    pub interstitial: Option<Interstitial>,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            variant: Variant::default(),
            seed: 0,
            logged_out: false,
            modal: false,
            late_ms: 0,
            models: Models::default(),
            answer: AnswerKind::default(),
            token_ms: 5,
            thinking_ms: 0,
            upload_ms: 200,
            drop_uploads: false,
            lose_first_click: false,
            composer: Composer::default(),
            interstitial: None,
        }
    }
}

impl Scenario {
    /// Query of a URL that describes this scenario; only what differs from the default.
    #[must_use]
    pub fn query(&self) -> String {
        let default = Self::default();
        let mut out = String::new();
        let mut add = |key: &str, value: String, is_default: bool| {
            if !is_default {
                let mark = if out.is_empty() { "" } else { "&" };
                _ = write!(out, "{mark}{key}={value}");
            }
        };
        let flag = |on: bool| u8::from(on).to_string();
        add("variant", VARIANTS.word(self.variant), self.variant == default.variant);
        add("seed", self.seed.to_string(), self.seed == default.seed);
        add("logged_out", flag(self.logged_out), !self.logged_out);
        add("modal", flag(self.modal), !self.modal);
        add("late_ms", self.late_ms.to_string(), self.late_ms == default.late_ms);
        add("models", MODELS.word(self.models), self.models == default.models);
        add("answer", answer_word(self.answer), self.answer == default.answer);
        add("token_ms", self.token_ms.to_string(), self.token_ms == default.token_ms);
        add("thinking_ms", self.thinking_ms.to_string(), self.thinking_ms == default.thinking_ms);
        add("upload_ms", self.upload_ms.to_string(), self.upload_ms == default.upload_ms);
        add("drop_uploads", flag(self.drop_uploads), !self.drop_uploads);
        add("lose_first_click", flag(self.lose_first_click), !self.lose_first_click);
        add("composer", COMPOSERS.word(self.composer), self.composer == default.composer);
        let interstitial = self.interstitial.map(|kind| INTERSTITIALS.word(kind));
        add("interstitial", interstitial.unwrap_or_default(), self.interstitial.is_none());
        out
    }

    /// Reads a scenario from the query of a URL. Keys that are no part of scenarios are ignored.
    ///
    /// # Errors
    /// When a value cannot be read: one sentence about it.
    pub fn from_query(query: &str) -> Result<Self, String> {
        let mut scenario = Self::default();
        for (key, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match key {
                "variant" => scenario.variant = VARIANTS.value(key, value)?,
                "seed" => scenario.seed = number(key, value)?,
                "logged_out" => scenario.logged_out = flag(key, value)?,
                "modal" => scenario.modal = flag(key, value)?,
                "late_ms" => scenario.late_ms = number(key, value)?,
                "models" => scenario.models = MODELS.value(key, value)?,
                "answer" => scenario.answer = answer(value)?,
                "token_ms" => scenario.token_ms = number(key, value)?,
                "thinking_ms" => scenario.thinking_ms = number(key, value)?,
                "upload_ms" => scenario.upload_ms = number(key, value)?,
                "drop_uploads" => scenario.drop_uploads = flag(key, value)?,
                "lose_first_click" => scenario.lose_first_click = flag(key, value)?,
                "composer" => scenario.composer = COMPOSERS.value(key, value)?,
                "interstitial" => scenario.interstitial = Some(INTERSTITIALS.value(key, value)?),
                _ => {}
            }
        }
        Ok(scenario)
    }
}

/// Values of an enum and their words in a query.
struct Words<T: 'static>(&'static [(T, &'static str)]);

const VARIANTS: Words<Variant> = Words(&[
    (Variant::Baseline, "baseline"),
    (Variant::Cosmetic, "cosmetic"),
    (Variant::Structural, "structural"),
    (Variant::Breaking, "breaking"),
]);
const MODELS: Words<Models> = Words(&[(Models::All, "all"), (Models::NoPro, "no-pro")]);
const COMPOSERS: Words<Composer> =
    Words(&[(Composer::Rich, "rich"), (Composer::Textarea, "textarea")]);
const INTERSTITIALS: Words<Interstitial> = Words(&[
    (Interstitial::Cloudflare, "cloudflare"),
    (Interstitial::Empty, "empty"),
    (Interstitial::Loading, "loading"),
]);

impl<T: Copy + PartialEq> Words<T> {
    fn word(&self, value: T) -> String {
        let row = self.0.iter().find(|(row, _)| *row == value);
        row.map(|(_, word)| *word).unwrap_or_default().to_owned()
    }

    fn value(&self, key: &str, word: &str) -> Result<T, String> {
        let row = self.0.iter().find(|(_, row)| *row == word);
        row.map(|(value, _)| *value).ok_or_else(|| format!("`{key}` cannot be `{word}`"))
    }
}

fn number<T: FromStr>(key: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("`{key}` is a number, not `{value}`"))
}

fn flag(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "1" => Ok(true),
        "0" => Ok(false),
        _ => Err(format!("`{key}` is 0 or 1, not `{value}`")),
    }
}

fn answer_word(kind: AnswerKind) -> String {
    match kind {
        AnswerKind::Echo => "echo".to_owned(),
        AnswerKind::Long(bytes) => format!("long:{bytes}"),
        AnswerKind::Slow => "slow".to_owned(),
        AnswerKind::Pause(ms) => format!("pause:{ms}"),
        AnswerKind::Error => "error".to_owned(),
        AnswerKind::Never => "never".to_owned(),
    }
}

fn answer(word: &str) -> Result<AnswerKind, String> {
    Ok(match word.split_once(':') {
        Some(("long", bytes)) => AnswerKind::Long(number("answer", bytes)?),
        Some(("pause", ms)) => AnswerKind::Pause(number("answer", ms)?),
        None if word == "echo" => AnswerKind::Echo,
        None if word == "slow" => AnswerKind::Slow,
        None if word == "error" => AnswerKind::Error,
        None if word == "never" => AnswerKind::Never,
        _ => return Err(format!("`answer` cannot be `{word}`")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_scenario_has_an_empty_query() {
        assert_eq!(Scenario::default().query(), "");
    }

    #[test]
    fn query_round_trips() {
        let scenario = Scenario {
            variant: Variant::Structural,
            seed: u64::MAX,
            logged_out: true,
            modal: true,
            late_ms: 7,
            models: Models::NoPro,
            answer: AnswerKind::Pause(900),
            token_ms: 0,
            thinking_ms: 3,
            upload_ms: 1,
            drop_uploads: true,
            lose_first_click: true,
            composer: Composer::Textarea,
            interstitial: Some(Interstitial::Loading),
        };
        assert_eq!(Scenario::from_query(&scenario.query()).unwrap(), scenario);
        let long = Scenario { answer: AnswerKind::Long(5), ..Scenario::default() };
        assert_eq!(long.query(), "answer=long:5");
        assert_eq!(Scenario::from_query("answer=long:5&utm=x").unwrap(), long);
    }

    #[test]
    fn unreadable_values_are_refused() {
        for query in ["seed=x", "modal=yes", "variant=new", "answer=long", "answer=long:x"] {
            Scenario::from_query(query).unwrap_err();
        }
    }
}
