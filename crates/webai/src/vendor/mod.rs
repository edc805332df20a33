//! Vendors: what is known about a chat app, as data. `file` reads and checks the TOML files; here is what is made of them.
//!
//! A vendor file of the user with the id of a known vendor changes only what it names; any other adds a vendor.

mod file;

use browser::{Code, Error, Result};
use regex_lite::Regex;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

pub use file::FORMAT;
pub(crate) use file::split_has_text;

/// The files that ship with the program.
const BUILT_IN: &[(&str, &str)] = &[
    ("chatgpt.toml", include_str!("../../vendors/chatgpt.toml")),
    ("gemini.toml", include_str!("../../vendors/gemini.toml")),
    ("grok.toml", include_str!("../../vendors/grok.toml")),
];

/// The vendor of commands that name none.
pub const DEFAULT_VENDOR: &str = "chatgpt";

/// A chat app.
#[derive(Clone, Debug)]
pub struct Vendor {
    /// Its id: `chatgpt`.
    pub id: String,
    /// Its name: `ChatGPT`.
    pub name: String,
    /// Its hosts; nothing is read from pages of other hosts.
    pub hosts: Vec<String>,
    /// The address of a new conversation.
    pub url: String,
    /// The path of a conversation's address.
    pub conversation_path: Option<Regex>,
    /// It is driven in a browser with a window only.
    pub headed: bool,
    /// Its semantic targets, in the order of the file format.
    pub targets: BTreeMap<Feature, SemanticTarget>,
    /// Signs of a complete answer.
    pub answer: AnswerSigns,
    /// Signs of a login.
    pub login: LoginSigns,
    /// Its models.
    pub models: Models,
    /// Time until an answer counts as late.
    pub answer_timeout: Duration,
    /// The same for slower kinds of answers.
    pub tiers: BTreeMap<String, Duration>,
}

/// A part of a chat app that is driven or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// The field for the prompt.
    Composer,
    /// The button that shows or opens the choice of models.
    ModelPicker,
    /// The button that takes files.
    UploadSurface,
    /// The turns of the assistant.
    ResponseFeed,
    /// The button that copies an answer.
    CopyButton,
    /// The button that is there while an answer streams.
    StreamingIndicator,
    /// The button that sends the prompt.
    SendButton,
    /// The turns of the user.
    UserTurn,
}

impl Feature {
    /// All features, in the order of reports.
    pub const ALL: &[Self] = &[
        Self::Composer,
        Self::ModelPicker,
        Self::UploadSurface,
        Self::ResponseFeed,
        Self::CopyButton,
        Self::StreamingIndicator,
        Self::SendButton,
        Self::UserTurn,
    ];

    /// Its key in vendor files and reports.
    pub fn key(self) -> &'static str {
        match self {
            Self::Composer => "composer",
            Self::ModelPicker => "modelPicker",
            Self::UploadSurface => "uploadSurface",
            Self::ResponseFeed => "responseFeed",
            Self::CopyButton => "copyButton",
            Self::StreamingIndicator => "streamingIndicator",
            Self::SendButton => "sendButton",
            Self::UserTurn => "userTurn",
        }
    }

    /// Its name in doctor reports, for those that have one.
    pub fn doctor_name(self) -> Option<&'static str> {
        match self {
            Self::Composer => Some("composer"),
            Self::ModelPicker => Some("model-picker"),
            Self::UploadSurface => Some("upload"),
            Self::ResponseFeed => Some("response-feed"),
            Self::CopyButton => Some("copy-fallback"),
            Self::StreamingIndicator => Some("streaming-indicator"),
            Self::SendButton | Self::UserTurn => None,
        }
    }
}

/// How a feature is recognized: by roles and names, else by CSS selectors.
#[derive(Clone, Debug, Default)]
pub struct SemanticTarget {
    /// ARIA roles; any, if empty.
    pub roles: Vec<String>,
    /// Accessible names; any, if empty.
    pub names: Vec<Regex>,
    /// Accessible names that it never has.
    pub exclude_names: Vec<Regex>,
    /// CSS selectors, the best first. `:has-text("…")` at the end of one asks for a text.
    pub css_fallbacks: Vec<String>,
    /// The app cannot be used without it.
    pub required: bool,
}

impl SemanticTarget {
    /// True for a name that it can have.
    pub fn accepts_name(&self, name: &str) -> bool {
        !self.excludes_name(name) && (self.names.is_empty() || self.has_name(name))
    }

    /// True for one of the listed names.
    pub fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|pattern| pattern.is_match(name))
    }

    /// True for a name that it never has.
    pub fn excludes_name(&self, name: &str) -> bool {
        self.exclude_names.iter().any(|pattern| pattern.is_match(name))
    }

    /// True for a role that it can have.
    pub fn accepts_role(&self, role: &str) -> bool {
        self.roles.is_empty() || self.roles.iter().any(|known| known == role)
    }
}

/// Signs of a complete answer.
#[derive(Clone, Debug, Default)]
pub struct AnswerSigns {
    /// Selectors of what a complete turn has.
    pub done: Vec<String>,
    /// A turn without any of them is not complete.
    pub done_means_complete: bool,
    /// Texts that stand in for an answer that has not begun.
    pub placeholders: Vec<Regex>,
}

/// Signs of a login.
#[derive(Clone, Debug, Default)]
pub struct LoginSigns {
    /// Selectors of what is visible without a login.
    pub logged_out: Vec<String>,
    /// Selectors of what is visible after a login.
    pub logged_in: Vec<String>,
}

/// Where the active model can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadModel {
    /// On the model picker itself.
    Pill,
    /// In the open menu.
    #[default]
    Menu,
}

/// The models of a vendor.
#[derive(Clone, Debug, Default)]
pub struct Models {
    /// Where the active one can be read.
    pub read: ReadModel,
    /// Selectors of the items of the open menu.
    pub items: Vec<String>,
    /// A model that can be chosen but is not active is `ok` instead of `warn`.
    pub selectable_is_ok: bool,
    /// The models.
    pub choices: Vec<ModelChoice>,
    /// Modes that are tools, not models.
    pub tools: Vec<ModelTool>,
}

/// A model that can be chosen.
#[derive(Clone, Debug, Default)]
pub struct ModelChoice {
    /// Its id, also an alias.
    pub id: String,
    /// Further names that `--model` takes.
    pub aliases: Vec<String>,
    /// Test ids of its menu item.
    pub test_ids: Vec<String>,
    /// Labels of its menu item.
    pub labels: Vec<Regex>,
    /// The tier of its timeout.
    pub tier: Option<String>,
}

/// A mode that is switched on in a menu of tools.
#[derive(Clone, Debug)]
pub struct ModelTool {
    /// Its id, also an alias.
    pub id: String,
    /// Further names that `--model` takes.
    pub aliases: Vec<String>,
    /// Selectors of the button that opens the menu.
    pub menu: Vec<String>,
    /// The label of its item.
    pub item: Regex,
    /// Selectors of what is visible while it is on.
    pub active: Vec<String>,
}

/// What a name given by `--model` means.
#[derive(Clone, Copy, Debug)]
pub enum ModelAlias<'v> {
    /// A model.
    Choice(&'v ModelChoice),
    /// A tool.
    Tool(&'v ModelTool),
}

impl Models {
    /// Finds the model or tool of a name.
    pub fn find(&self, alias: &str) -> Option<ModelAlias<'_>> {
        let alias = alias.trim();
        let is = |id: &str, aliases: &[String]| {
            id.eq_ignore_ascii_case(alias)
                || aliases.iter().any(|known| known.eq_ignore_ascii_case(alias))
        };
        let choice = self.choices.iter().find(|choice| is(&choice.id, &choice.aliases));
        choice.map(ModelAlias::Choice).or_else(|| {
            self.tools.iter().find(|tool| is(&tool.id, &tool.aliases)).map(ModelAlias::Tool)
        })
    }
}

impl Vendor {
    /// The target of a feature.
    pub fn target(&self, feature: Feature) -> Option<&SemanticTarget> {
        self.targets.get(&feature)
    }

    /// The host of an address if it is one of the vendor's; `www.` does not count.
    pub fn matching_host(&self, url: &str) -> Option<&str> {
        let host = host_of(url)?;
        self.hosts.iter().map(String::as_str).find(|known| known.eq_ignore_ascii_case(host))
    }
}

/// The host of an address without `www.`, if it has one.
pub fn host_of(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    if !matches!(scheme, "http" | "https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next()?,
        None => host.split(':').next()?,
    };
    let host = host.strip_prefix("www.").unwrap_or(host);
    (!host.is_empty()).then_some(host)
}

/// Protocol, host and path of an address. A part of the path shows only if the vendor file names it.
pub(crate) fn content_safe_url(url: &str, vendor: &Vendor) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.split([':', '?', '#']).next().unwrap_or_default().to_owned();
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (_, path) = rest.split_once('/').unwrap_or((rest, ""));
    let known = vendor.conversation_path.as_ref().map(Regex::as_str).unwrap_or_default();
    let is_known = |part: &str| {
        part.is_empty()
            || known.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == part)
    };
    let parts = path.split('/').map(|part| if is_known(part) { part } else { "…" });
    let host = host_of(url).unwrap_or("…");
    format!("{scheme}://{host}/{}", parts.collect::<Vec<_>>().join("/"))
}

/// All known vendors, those that ship with the program first.
#[derive(Clone, Debug)]
pub struct Vendors {
    all: Vec<Vendor>,
}

impl Vendors {
    /// The vendors that ship with the program, changed and extended by the files of a folder, if there is one.
    ///
    /// # Errors
    /// `config.invalid` with file, line and column.
    pub fn load(folder: Option<&Path>) -> Result<Self> {
        let mut files = Vec::new();
        for (name, text) in BUILT_IN {
            files.push(file::parse(Path::new(name), text)?);
        }
        for (path, text) in folder.map_or_else(|| Ok(Vec::new()), file::read_folder)? {
            let added = file::parse(&path, &text)?;
            match files.iter_mut().find(|known| known.id() == added.id()) {
                Some(known) => known.override_with(added),
                None => files.push(added),
            }
        }
        let all = files.into_iter().map(file::VendorFile::build).collect::<Result<_>>()?;
        Ok(Self { all })
    }

    /// The vendor of an id.
    ///
    /// # Errors
    /// `command.invalid`, with the known ids.
    pub fn get(&self, id: &str) -> Result<&Vendor> {
        self.all.iter().find(|vendor| vendor.id == id).ok_or_else(|| {
            let known: Vec<_> = self.all.iter().map(|vendor| format!("`{}`", vendor.id)).collect();
            Error::new(Code::CommandInvalid)
                .message(format!("unknown vendor `{id}`: expected {}", known.join(", ")))
        })
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Vendor> {
        self.all.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_read_without_port_and_www() {
        for (url, host) in [
            ("https://chatgpt.com/c/1", Some("chatgpt.com")),
            ("https://www.chatgpt.com:8443?x", Some("chatgpt.com")),
            ("https://chatgpt.com.evil.example/", Some("chatgpt.com.evil.example")),
            ("https://chatgpt.com@evil.example/", Some("evil.example")),
            ("http://[::1]:80/", Some("::1")),
            ("about:blank", None),
            ("file:///chatgpt.com", None),
            ("https://", None),
        ] {
            assert_eq!(host_of(url), host, "{url}");
        }
    }

    #[test]
    fn built_in_vendors_load_with_their_aliases() {
        let vendors = Vendors::load(None).unwrap();
        let ids: Vec<_> = vendors.iter().map(|vendor| &*vendor.id).collect();
        assert_eq!(ids, ["chatgpt", "gemini", "grok"]);
        let choice =
            |vendor: &str, alias: &str| match vendors.get(vendor).unwrap().models.find(alias) {
                Some(ModelAlias::Choice(choice)) => choice.id.clone(),
                Some(ModelAlias::Tool(tool)) => format!("tool {}", tool.id),
                None => "none".into(),
            };
        for (vendor, alias, expected) in [
            ("chatgpt", "gpt-5.5-pro", "pro"),
            ("chatgpt", "Fast", "instant"),
            ("chatgpt", "opus", "none"),
            ("gemini", "3.1-pro", "pro"),
            ("gemini", "deep think", "tool deepthink"),
            ("grok", "grok43", "grok-4.3"),
            ("grok", "think", "expert"),
        ] {
            assert_eq!(choice(vendor, alias), expected, "{vendor} {alias}");
        }
        for vendor in vendors.iter() {
            assert!(vendor.target(Feature::Composer).is_some_and(|target| target.required));
            assert!(vendor.matching_host(&vendor.url).is_some(), "{}", vendor.id);
        }
        assert!(
            vendors.get("claude").unwrap_err().to_string().contains("`chatgpt`, `gemini`, `grok`")
        );
    }
}
