//! Vendor files: reading, checking and merging. An error names file, line, column and what was expected.

use super::{
    AnswerSigns, Feature, LoginSigns, ModelChoice, ModelTool, Models, ReadModel, SemanticTarget,
    Vendor, host_of,
};
use browser::{Code, Error, Result};
use regex_lite::{Regex, RegexBuilder};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// The version of the format.
pub const FORMAT: i64 = 1;

/// The largest file.
const MAX_FILE: u64 = 1 << 20;

/// The largest program that a pattern may compile to. Matching takes linear time in any case.
const MAX_PATTERN: usize = 256 << 10;

/// Time until an answer counts as late, where the file does not say.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);

/// A checked vendor file. What it does not name is `None`.
#[derive(Debug)]
pub(super) struct VendorFile {
    path: PathBuf,
    id: String,
    raw: RawVendor,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawVendor {
    format: Option<Spanned<i64>>,
    id: Option<Spanned<String>>,
    name: Option<String>,
    hosts: Option<Vec<Spanned<String>>>,
    url: Option<Spanned<String>>,
    conversation_path: Option<Spanned<String>>,
    headed: Option<bool>,
    #[serde(default)]
    targets: RawTargets,
    #[serde(default)]
    answer: RawAnswer,
    #[serde(default)]
    login: RawLogin,
    #[serde(default)]
    models: RawModels,
    #[serde(default)]
    timeouts: RawTimeouts,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawTargets {
    composer: Option<RawTarget>,
    model_picker: Option<RawTarget>,
    upload_surface: Option<RawTarget>,
    response_feed: Option<RawTarget>,
    copy_button: Option<RawTarget>,
    streaming_indicator: Option<RawTarget>,
    send_button: Option<RawTarget>,
    user_turn: Option<RawTarget>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawTarget {
    required: Option<bool>,
    roles: Option<Vec<String>>,
    names: Option<Vec<Spanned<String>>>,
    exclude_names: Option<Vec<Spanned<String>>>,
    css_fallbacks: Option<Vec<Spanned<String>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawAnswer {
    done: Option<Vec<Spanned<String>>>,
    done_means_complete: Option<bool>,
    placeholders: Option<Vec<Spanned<String>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawLogin {
    logged_out: Option<Vec<Spanned<String>>>,
    logged_in: Option<Vec<Spanned<String>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawModels {
    read: Option<ReadModel>,
    items: Option<Vec<Spanned<String>>>,
    active_when_selectable: Option<SelectableState>,
    choices: Option<Vec<RawChoice>>,
    tools: Option<Vec<RawTool>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SelectableState {
    Ok,
    Warn,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawChoice {
    id: String,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    test_ids: Vec<String>,
    #[serde(default)]
    labels: Vec<Spanned<String>>,
    tier: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawTool {
    id: String,
    #[serde(default)]
    aliases: Vec<String>,
    menu: Vec<Spanned<String>>,
    item: Spanned<String>,
    #[serde(default)]
    active: Vec<Spanned<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawTimeouts {
    answer: Option<Spanned<u64>>,
    #[serde(default)]
    tiers: BTreeMap<String, Spanned<u64>>,
}

/// Reads the vendor files of a folder, by name. A missing folder has none.
pub(super) fn read_folder(folder: &Path) -> Result<Vec<(PathBuf, String)>> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| {
        Error::new(Code::ConfigInvalid)
            .message(format!("`{}`: {error}", path.display()))
            .evidence("file", path.display().to_string())
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(folder, &error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| failed(folder, &error))?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path: PathBuf| {
        let size = std::fs::metadata(&path).map_err(|error| failed(&path, &error))?.len();
        if size > MAX_FILE {
            return Err(failed(
                &path,
                &format!("it has {size} bytes: expected at most {MAX_FILE}"),
            ));
        }
        let text = std::fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
        Ok((path, text))
    };
    paths.into_iter().map(read).collect()
}

/// Parses and checks a file.
pub(super) fn parse(path: &Path, text: &str) -> Result<VendorFile> {
    let source = Source { path, text };
    let raw: RawVendor = toml::from_str(text).map_err(|error| {
        source.error(error.span().map_or(0, |span| span.start), error.message())
    })?;
    match &raw.format {
        Some(format) if *format.get_ref() == FORMAT => {}
        Some(format) => {
            let message = format!("unknown format {}: expected {FORMAT}", format.get_ref());
            return Err(source.error(format.span().start, &message));
        }
        None => {
            return Err(source.error(0, &format!("missing `format`: expected `format = {FORMAT}`")));
        }
    }
    let Some(id) = &raw.id else {
        return Err(source.error(0, "missing `id`: expected for example `id = \"chatgpt\"`"));
    };
    let is_id = |id: &str| {
        !id.is_empty()
            && id
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    if !is_id(id.get_ref()) {
        let message =
            format!("`{}` is no id: expected lower-case letters, digits and hyphens", id.get_ref());
        return Err(source.error(id.span().start, &message));
    }
    source.check(&raw)?;
    Ok(VendorFile { path: path.to_owned(), id: id.get_ref().clone(), raw })
}

/// The text of a file, for errors.
#[derive(Clone, Copy)]
struct Source<'s> {
    path: &'s Path,
    text: &'s str,
}

impl Source<'_> {
    /// The error at a byte of the file.
    fn error(&self, at: usize, message: &str) -> Error {
        let before = &self.text[..at.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let message = message.trim().replace('\n', ": ");
        Error::new(Code::ConfigInvalid)
            .message(format!("`{}`, line {line}, column {column}: {message}", self.path.display()))
            .evidence("file", self.path.display().to_string())
            .evidence("line", line)
            .evidence("column", column)
    }

    fn check(&self, raw: &RawVendor) -> Result<()> {
        for host in raw.hosts.iter().flatten() {
            let name = host.get_ref();
            if host_of(&format!("https://{name}/")) != Some(name) {
                let message = format!(
                    "`{name}` is no host: expected a name like `chat.example.com`, without `www.`"
                );
                return Err(self.error(host.span().start, &message));
            }
        }
        if let Some(url) = &raw.url
            && host_of(url.get_ref()).is_none()
        {
            let message = format!("`{}` is no address: expected `https://…`", url.get_ref());
            return Err(self.error(url.span().start, &message));
        }
        self.patterns(raw.conversation_path.as_ref())?;
        for (_, target) in raw.targets.all() {
            self.patterns(target.names.iter().chain(&target.exclude_names).flatten())?;
            self.selectors(target.css_fallbacks.iter().flatten())?;
        }
        self.selectors(raw.answer.done.iter().flatten())?;
        self.patterns(raw.answer.placeholders.iter().flatten())?;
        self.selectors(raw.login.logged_out.iter().chain(&raw.login.logged_in).flatten())?;
        self.selectors(raw.models.items.iter().flatten())?;
        for choice in raw.models.choices.iter().flatten() {
            self.patterns(&choice.labels)?;
        }
        for tool in raw.models.tools.iter().flatten() {
            self.selectors(tool.menu.iter().chain(&tool.active))?;
            self.patterns([&tool.item])?;
        }
        for seconds in raw.timeouts.answer.iter().chain(raw.timeouts.tiers.values()) {
            if *seconds.get_ref() == 0 {
                return Err(self.error(seconds.span().start, "0 is no timeout: expected seconds"));
            }
        }
        Ok(())
    }

    fn patterns<'p>(&self, all: impl IntoIterator<Item = &'p Spanned<String>>) -> Result<()> {
        for text in all {
            if let Err(error) = compile(text.get_ref()) {
                let message = format!("`{}` is no regular expression: {error}", text.get_ref());
                return Err(self.error(text.span().start, &message));
            }
        }
        Ok(())
    }

    fn selectors<'p>(&self, all: impl IntoIterator<Item = &'p Spanned<String>>) -> Result<()> {
        for text in all {
            let (css, _) = split_has_text(text.get_ref());
            if css.trim().is_empty() || css.contains(":has-text(") {
                let message = format!(
                    "`{}` is no selector: expected CSS, with `:has-text(\"…\")` at the end only",
                    text.get_ref()
                );
                return Err(self.error(text.span().start, &message));
            }
        }
        Ok(())
    }
}

/// Splits `css:has-text("text")` into both.
pub(crate) fn split_has_text(selector: &str) -> (&str, Option<&str>) {
    let parts = selector.strip_suffix("\")").and_then(|rest| rest.rsplit_once(":has-text(\""));
    parts.map_or((selector, None), |(css, text)| (css, Some(text)))
}

/// Compiles a pattern, without regard to case.
fn compile(text: &str) -> std::result::Result<Regex, regex_lite::Error> {
    RegexBuilder::new(text).case_insensitive(true).size_limit(MAX_PATTERN).build()
}

/// Compiles checked patterns.
fn compiled(all: Option<Vec<Spanned<String>>>) -> Vec<Regex> {
    all.into_iter().flatten().filter_map(|text| compile(text.get_ref()).ok()).collect()
}

fn texts(all: Option<Vec<Spanned<String>>>) -> Vec<String> {
    all.into_iter().flatten().map(Spanned::into_inner).collect()
}

impl RawTargets {
    fn all(&self) -> impl Iterator<Item = (Feature, &RawTarget)> {
        let rows = [
            (Feature::Composer, &self.composer),
            (Feature::ModelPicker, &self.model_picker),
            (Feature::UploadSurface, &self.upload_surface),
            (Feature::ResponseFeed, &self.response_feed),
            (Feature::CopyButton, &self.copy_button),
            (Feature::StreamingIndicator, &self.streaming_indicator),
            (Feature::SendButton, &self.send_button),
            (Feature::UserTurn, &self.user_turn),
        ];
        rows.into_iter().filter_map(|(feature, target)| Some((feature, target.as_ref()?)))
    }

    fn into_all(self) -> impl Iterator<Item = (Feature, RawTarget)> {
        let rows = [
            (Feature::Composer, self.composer),
            (Feature::ModelPicker, self.model_picker),
            (Feature::UploadSurface, self.upload_surface),
            (Feature::ResponseFeed, self.response_feed),
            (Feature::CopyButton, self.copy_button),
            (Feature::StreamingIndicator, self.streaming_indicator),
            (Feature::SendButton, self.send_button),
            (Feature::UserTurn, self.user_turn),
        ];
        rows.into_iter().filter_map(|(feature, target)| Some((feature, target?)))
    }

    fn slot(&mut self, feature: Feature) -> &mut Option<RawTarget> {
        match feature {
            Feature::Composer => &mut self.composer,
            Feature::ModelPicker => &mut self.model_picker,
            Feature::UploadSurface => &mut self.upload_surface,
            Feature::ResponseFeed => &mut self.response_feed,
            Feature::CopyButton => &mut self.copy_button,
            Feature::StreamingIndicator => &mut self.streaming_indicator,
            Feature::SendButton => &mut self.send_button,
            Feature::UserTurn => &mut self.user_turn,
        }
    }
}

/// Replaces each field by that of the other, where the other has one.
macro_rules! override_fields {
    ($known:expr, $added:expr, $($field:ident),+) => {
        $( if $added.$field.is_some() { $known.$field = $added.$field; } )+
    };
}

impl VendorFile {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Takes over what another file names; lists are replaced as a whole.
    pub(super) fn override_with(&mut self, added: Self) {
        let (known, added_path, added) = (&mut self.raw, added.path, added.raw);
        self.path = added_path;
        override_fields!(known, added, name, hosts, url, conversation_path, headed);
        for (feature, target) in added.targets.into_all() {
            let slot = known.targets.slot(feature).get_or_insert_default();
            override_fields!(slot, target, required, roles, names, exclude_names, css_fallbacks);
        }
        override_fields!(known.answer, added.answer, done, done_means_complete, placeholders);
        override_fields!(known.login, added.login, logged_out, logged_in);
        override_fields!(
            known.models,
            added.models,
            read,
            items,
            active_when_selectable,
            choices,
            tools
        );
        override_fields!(known.timeouts, added.timeouts, answer);
        known.timeouts.tiers.extend(added.timeouts.tiers);
    }

    /// Builds the vendor.
    pub(super) fn build(self) -> Result<Vendor> {
        let Self { path, id, raw } = self;
        let missing = |field: &str, example: &str| {
            Error::new(Code::ConfigInvalid)
                .message(format!("`{}`: missing `{field}`: expected {example}", path.display()))
                .evidence("file", path.display().to_string())
        };
        let hosts = texts(raw.hosts);
        if hosts.is_empty() {
            return Err(missing("hosts", "for example `hosts = [\"chat.example.com\"]`"));
        }
        let url = raw.url.map_or_else(|| format!("https://{}", hosts[0]), Spanned::into_inner);
        let targets: BTreeMap<Feature, SemanticTarget> = raw
            .targets
            .into_all()
            .map(|(feature, target)| {
                let target = SemanticTarget {
                    roles: target.roles.unwrap_or_default(),
                    names: compiled(target.names),
                    exclude_names: compiled(target.exclude_names),
                    css_fallbacks: texts(target.css_fallbacks),
                    required: target.required.unwrap_or_default(),
                };
                (feature, target)
            })
            .collect();
        for feature in [Feature::Composer, Feature::ResponseFeed] {
            let is_there = targets
                .get(&feature)
                .is_some_and(|target| !target.roles.is_empty() || !target.css_fallbacks.is_empty());
            if !is_there {
                let field = format!("targets.{}", feature.key());
                return Err(missing(&field, "its `roles` and `names`, or `cssFallbacks`"));
            }
        }
        let choices = raw.models.choices.into_iter().flatten().map(|choice| ModelChoice {
            id: choice.id,
            aliases: choice.aliases,
            test_ids: choice.test_ids,
            labels: compiled(Some(choice.labels)),
            tier: choice.tier.map(Spanned::into_inner),
        });
        let tools = raw.models.tools.into_iter().flatten().filter_map(|tool| {
            Some(ModelTool {
                id: tool.id,
                aliases: tool.aliases,
                menu: texts(Some(tool.menu)),
                item: compile(tool.item.get_ref()).ok()?,
                active: texts(Some(tool.active)),
            })
        });
        let seconds = |time: Spanned<u64>| Duration::from_secs(time.into_inner());
        Ok(Vendor {
            name: raw.name.unwrap_or_else(|| id.clone()),
            id,
            hosts,
            url,
            conversation_path: raw.conversation_path.and_then(|text| compile(text.get_ref()).ok()),
            headed: raw.headed.unwrap_or_default(),
            targets,
            answer: AnswerSigns {
                done: texts(raw.answer.done),
                done_means_complete: raw.answer.done_means_complete.unwrap_or_default(),
                placeholders: compiled(raw.answer.placeholders),
            },
            login: LoginSigns {
                logged_out: texts(raw.login.logged_out),
                logged_in: texts(raw.login.logged_in),
            },
            models: Models {
                read: raw.models.read.unwrap_or_default(),
                items: texts(raw.models.items),
                selectable_is_ok: raw.models.active_when_selectable == Some(SelectableState::Ok),
                choices: choices.collect(),
                tools: tools.collect(),
            },
            answer_timeout: raw.timeouts.answer.map_or(ANSWER_TIMEOUT, seconds),
            tiers: raw
                .timeouts
                .tiers
                .into_iter()
                .map(|(tier, time)| (tier, seconds(time)))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendor::Vendors;

    const LOCAL: &str = r#"
format = 1
id = "local"
hosts = ["chat.localhost"]
[targets.composer]
roles = ["textbox"]
[targets.responseFeed]
cssFallbacks = [".answer"]
"#;

    /// The message of the error in a file of a vendor.
    fn refusal(text: &str) -> String {
        let path = Path::new("local.toml");
        let error = parse(path, text).and_then(VendorFile::build).unwrap_err();
        assert_eq!(error.code(), Code::ConfigInvalid);
        error.details().message.clone()
    }

    fn check_refused(added: &str, at: &str, expected: &str) {
        let message = refusal(&format!("{LOCAL}{added}"));
        assert!(message.starts_with(&format!("`local.toml`, {at}")), "{message}");
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn broken_file_is_refused_with_file_line_column_and_expectation() {
        check_refused(
            "nmes = []",
            "line 9, column 1",
            "unknown field `nmes`, expected one of `required`, `roles`",
        );
        check_refused("names = ['(']", "line 9, column 10", "is no regular expression");
        check_refused("names = [1]", "line 9, column 10", "expected a string");
        check_refused("roles = [", "line 9", "");
        check_refused(
            "[answer]\ndone = [':has-text(\"x\")']",
            "line 10, column 9",
            "is no selector",
        );
        check_refused("[timeouts]\nanswer = 0", "line 10, column 10", "expected seconds");
        check_refused("[models]\nread = 'sky'", "line 10, column 8", "expected `pill` or `menu`");
        let message = refusal(&LOCAL.replace("format = 1", "format = 7"));
        assert_eq!(message, "`local.toml`, line 2, column 10: unknown format 7: expected 1");
        let message = refusal(&LOCAL.replace("\"local\"", "\"My chat\""));
        assert!(message.contains("line 3, column 6: `My chat` is no id"), "{message}");
        let message = refusal(&LOCAL.replace("chat.localhost", "https://x/"));
        assert!(message.contains("line 4, column 10: `https://x/` is no host"), "{message}");
        let message = refusal(&LOCAL.replace("hosts", "# hosts"));
        assert!(message.contains("missing `hosts`"), "{message}");
        let message = refusal(&LOCAL.replace("[targets.composer]", "[targets.sendButton]"));
        assert!(message.contains("missing `targets.composer`"), "{message}");
    }

    #[test]
    fn pattern_that_would_take_long_is_refused_or_matches_in_linear_time() {
        check_refused("names = ['(((a{99}){99}){99}){99}']", "line 9", "is no regular expression");
        check_refused("names = ['(a)\\1']", "line 9", "is no regular expression");
        let file = parse(Path::new("x"), &format!("{LOCAL}names = ['^(a+)+$']")).unwrap();
        let vendor = file.build().unwrap();
        // Exponential in engines that backtrack: this test would not end.
        assert!(
            !vendor
                .target(Feature::ResponseFeed)
                .unwrap()
                .has_name(&format!("{}b", "a".repeat(50_000)))
        );
    }

    #[test]
    fn user_file_overrides_one_selector_and_adds_a_vendor() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("local.toml", LOCAL);
        write(
            "mine.toml",
            "format = 1\nid = \"chatgpt\"\n[targets.composer]\ncssFallbacks = [\"#mine\"]\n[timeouts.tiers]\nslow = 9\n",
        );
        write("notes.txt", "not a vendor");
        let vendors = Vendors::load(Some(folder.path())).unwrap();
        let chatgpt = vendors.get("chatgpt").unwrap();
        let composer = chatgpt.target(Feature::Composer).unwrap();
        assert_eq!(composer.css_fallbacks, ["#mine"]);
        assert_eq!(composer.roles, ["textbox"]);
        assert!(composer.required && chatgpt.headed);
        assert_eq!(chatgpt.tiers["slow"], Duration::from_secs(9));
        assert_eq!(chatgpt.tiers["instant"], Duration::from_secs(120));
        assert_eq!(vendors.get("local").unwrap().url, "https://chat.localhost");
        assert_eq!(vendors.iter().count(), 4);
        assert_eq!(Vendors::load(Some(Path::new("/no/such/folder"))).unwrap().iter().count(), 3);
    }

    #[test]
    fn text_condition_is_split_from_its_selector() {
        assert_eq!(split_has_text("button:has-text(\"Stop\")"), ("button", Some("Stop")));
        assert_eq!(split_has_text("a:has(b)"), ("a:has(b)", None));
    }
}
