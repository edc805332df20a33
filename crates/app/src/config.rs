//! Settings with their origin. Precedence: defaults < user file < project file < `AGBROWSE_*` variables < flags.
//!
//! One struct defines all settings; its types parse values from all sources in the same way.

use browser::launch::{LaunchOverrides, program_named};
use browser::{Code, Error, Note, Result};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// File name of project settings, searched in the working folder and its ancestors.
pub const PROJECT_FILE: &str = "agbrowse.toml";

/// All settings, as set by files, environment variables or flags.
#[derive(Clone, Debug, Default, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Settings {
    /// Session to use. Each session has its own daemon and browser.
    #[arg(long, short = 's', global = true, value_name = "NAME", help_heading = SHARED_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionName>,
    /// Browser context to use. Each context has its own cookies and storage.
    #[arg(long, global = true, value_name = "NAME", help_heading = SHARED_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<SessionName>,
    /// Tab to use instead of the current one, such as `t2`.
    #[arg(long, global = true, value_name = "TAB", help_heading = SHARED_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tab: Option<browser::TabId>,
    /// Time limit of a command: `500ms`, `30s`, `2m`; a plain number is seconds.
    #[arg(long, global = true, value_name = "TIME", help_heading = SHARED_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<DurationArg>,
    /// Print JSON: the result on stdout, an error on stderr.
    #[arg(long, global = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", help_heading = SHARED_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<bool>,
    /// When to use colours.
    #[arg(long, global = true, value_enum, value_name = "WHEN", help_heading = SHARED_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<Color>,
    /// Show the browser's window.
    #[arg(long, global = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", help_heading = BROWSER_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headed: Option<bool>,
    /// Use the persistent profile of this name instead of a temporary one.
    #[arg(long, global = true, value_name = "NAME", help_heading = BROWSER_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<SessionName>,
    /// Attach to a running browser: `9222`, `http://host:9222` or `ws://…`. agbrowse never closes it.
    #[arg(long, global = true, value_name = "URL", help_heading = BROWSER_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cdp: Option<String>,
    /// Browser executable: a path, or a name on `PATH`.
    #[arg(long, global = true, value_name = "PATH", help_heading = BROWSER_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chrome: Option<PathBuf>,
    /// Additional browser argument. May be given several times.
    #[arg(long, global = true, value_name = "ARG", allow_hyphen_values = true, help_heading = BROWSER_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chrome_arg: Option<Vec<String>>,
    /// Size of the browser window, such as `1280x720`.
    #[arg(long, global = true, value_name = "SIZE", help_heading = BROWSER_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewport: Option<ViewportSize>,
    /// Run the browser without its sandbox. The default where the sandbox is unavailable, such as for root.
    #[arg(long, global = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", help_heading = BROWSER_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_sandbox: Option<bool>,
    /// Save downloads to this folder. The default is a temporary one, deleted when the browser is closed.
    #[arg(long, global = true, value_name = "FOLDER", help_heading = BROWSER_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downloads: Option<PathBuf>,
    /// Write all CDP messages to this file, including page content.
    #[arg(long, global = true, value_name = "FILE", help_heading = BROWSER_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_cdp: Option<PathBuf>,
    /// Stop the daemon and its browser after this time without a command.
    #[arg(long, global = true, value_name = "TIME", help_heading = BROWSER_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<DurationArg>,
}

const SHARED_HEADING: &str = "Shared options";
const BROWSER_HEADING: &str = "Browser options";

/// Default session name.
pub const DEFAULT_SESSION: &str = "default";
/// Default time limit of a command.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// Default idle time after which a daemon stops.
pub const DEFAULT_IDLE: Duration = Duration::from_secs(30 * 60);

/// Origin of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "from", content = "at")]
pub enum Origin {
    /// Default value.
    Default,
    /// User settings file.
    UserFile(PathBuf),
    /// Project settings file.
    ProjectFile(PathBuf),
    /// Environment variable.
    Variable(String),
    /// Command line flag.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::UserFile(path) => write!(f, "user file {}", path.display()),
            Self::ProjectFile(path) => write!(f, "project file {}", path.display()),
            Self::Variable(name) => write!(f, "{name}"),
            Self::Flag => f.write_str("flag"),
        }
    }
}

/// Merged settings with their origins.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Merged settings.
    pub settings: Settings,
    /// Notes about ignored settings.
    pub notes: Vec<Note>,
    origins: BTreeMap<String, Origin>,
}

/// One line of `config show`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingRow {
    /// Name of the setting.
    pub key: String,
    /// Value.
    pub value: serde_json::Value,
    /// Origin.
    #[serde(flatten)]
    pub origin: Origin,
}

impl Config {
    /// Loads files and environment variables and merges the flags over them.
    ///
    /// # Errors
    /// `config.invalid`, naming the file or variable and the reason.
    pub fn load(flags: &Settings) -> Result<Self> {
        let mut config = Self::default();
        if let Some(path) = user_file().filter(|path| path.is_file()) {
            config.add_file(&path, &Origin::UserFile(path.clone()))?;
        }
        if let Some(path) = std::env::current_dir().ok().and_then(|folder| project_file(&folder)) {
            config.add_file(&path, &Origin::ProjectFile(path.clone()))?;
        }
        config.add_variables()?;
        config.merge(flags, |_| Origin::Flag);
        Ok(config)
    }

    /// Name of the selected session.
    pub fn session(&self) -> &str {
        self.settings.session.as_ref().map_or(DEFAULT_SESSION, |name| &name.0)
    }

    /// Time limit of a command.
    pub fn timeout(&self) -> Duration {
        self.settings.timeout.map_or(DEFAULT_TIMEOUT, |span| span.0)
    }

    /// Idle time after which the daemon stops.
    pub fn idle_timeout(&self) -> Duration {
        self.settings.idle_timeout.map_or(DEFAULT_IDLE, |span| span.0)
    }

    /// Returns true if output is JSON.
    pub fn json(&self) -> bool {
        self.settings.json.unwrap_or_default()
    }

    /// Launch options set by the user.
    pub fn launch_overrides(&self) -> LaunchOverrides {
        let settings = &self.settings;
        LaunchOverrides {
            chrome: settings.chrome.as_deref().map(|name| absolute(&program_named(name))),
            headed: settings.headed,
            profile: settings.profile.as_ref().map(|name| name.0.clone()),
            cdp: settings.cdp.clone(),
            no_sandbox: settings.no_sandbox,
            viewport: settings.viewport.map(|size| (size.0, size.1)),
            args: settings.chrome_arg.clone(),
            trace: settings.trace_cdp.as_deref().map(absolute),
            downloads: settings.downloads.as_deref().map(absolute),
        }
    }

    /// All settings with their origins.
    pub fn lines(&self) -> Vec<SettingRow> {
        let set = values(&self.settings);
        let row = |key: &&str| {
            let default = default_value(key);
            SettingRow {
                key: (*key).to_owned(),
                value: set.get(*key).cloned().unwrap_or(default),
                origin: self.origins.get(*key).cloned().unwrap_or(Origin::Default),
            }
        };
        keys().iter().map(row).collect()
    }

    fn add_file(&mut self, path: &Path, origin: &Origin) -> Result<()> {
        let invalid = |message: String| {
            Error::new(Code::ConfigInvalid)
                .message(format!("`{}`: {message}", path.display()))
                .evidence("file", path.display().to_string())
        };
        let failed = |error: std::io::Error| invalid(error.to_string());
        let file = File::open(path).map_err(failed)?;
        let text = std::io::read_to_string(&file).map_err(failed)?;
        let table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| invalid(error.message().to_owned()))?;
        let distrust = match origin {
            Origin::ProjectFile(_) => find_distrust(path, &file).map_err(failed)?,
            _ => None,
        };
        let mut skipped = Vec::new();
        let mut layer = Settings::default();
        for (key, value) in &table {
            if distrust.is_some() && is_risky(key) {
                skipped.push(&**key);
                continue;
            }
            let values = match value {
                toml::Value::Array(values) => values.iter().collect(),
                value => vec![value],
            };
            for value in values {
                let text = match value {
                    toml::Value::String(text) => text.clone(),
                    toml::Value::Integer(_) | toml::Value::Boolean(_) | toml::Value::Float(_) => {
                        value.to_string()
                    }
                    _ => {
                        return Err(invalid(format!("`{key}` is not a string, number or boolean")));
                    }
                };
                layer.set(key, &text).map_err(invalid)?;
            }
        }
        self.merge(&layer, |_| origin.clone());
        if let Some(distrust) = distrust.filter(|_| !skipped.is_empty()) {
            let file = path.display();
            let reason = match distrust {
                Distrust::OtherOwner => "it belongs to another user".to_owned(),
                Distrust::WritableByOthers => {
                    format!("other users can write to it (fix: `chmod go-w {file}`)")
                }
            };
            let keys = skipped.join("`, `");
            let message = format!("ignoring `{keys}` in `{file}`: {reason}");
            self.notes.push(Note::new("settings-skipped", message));
        }
        Ok(())
    }

    fn add_variables(&mut self) -> Result<()> {
        let found: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(name, value)| name.starts_with("AGBROWSE_") && !value.is_empty())
            .collect();
        for (name, value) in found {
            let key = name["AGBROWSE_".len()..].to_ascii_lowercase().replace('_', "-");
            // Some of our variables are no settings: AGBROWSE_JSON_ERRORS, AGBROWSE_INSTALL_INDEX …
            if !keys().contains(&&*key) {
                continue;
            }
            let mut layer = Settings::default();
            layer.set(&key, &value).map_err(|message| {
                Error::new(Code::ConfigInvalid)
                    .message(format!("`{name}`: {message}"))
                    .evidence("variable", &*name)
            })?;
            self.merge(&layer, |_| Origin::Variable(name.clone()));
        }
        Ok(())
    }

    /// Merges a layer of higher precedence.
    fn merge(&mut self, layer: &Settings, origin: impl Fn(&str) -> Origin) {
        for key in values(layer).keys() {
            self.origins.insert(key.clone(), origin(key));
        }
        let base = std::mem::take(&mut self.settings);
        let over = layer.clone();
        self.settings = Settings {
            session: over.session.or(base.session),
            context: over.context.or(base.context),
            tab: over.tab.or(base.tab),
            timeout: over.timeout.or(base.timeout),
            json: over.json.or(base.json),
            color: over.color.or(base.color),
            headed: over.headed.or(base.headed),
            profile: over.profile.or(base.profile),
            cdp: over.cdp.or(base.cdp),
            chrome: over.chrome.or(base.chrome),
            chrome_arg: over.chrome_arg.or(base.chrome_arg),
            viewport: over.viewport.or(base.viewport),
            no_sandbox: over.no_sandbox.or(base.no_sandbox),
            downloads: over.downloads.or(base.downloads),
            trace_cdp: over.trace_cdp.or(base.trace_cdp),
            idle_timeout: over.idle_timeout.or(base.idle_timeout),
        };
    }
}

/// Path of the user settings file.
pub fn user_file() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::choose_base_strategy().ok()?.config_dir().join("agbrowse").join("config.toml"))
}

/// The folder of the user's vendor files.
pub fn vendors_folder() -> Option<PathBuf> {
    Some(user_file()?.parent()?.join("vendors"))
}

/// The folder for what the program itself keeps of the user's work.
fn state_folder() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.state_dir().unwrap_or_else(|| strategy.data_dir()).join("agbrowse"))
}

/// The churn log of chat apps.
pub fn churn_log() -> Option<PathBuf> {
    Some(state_folder()?.join("churn-log.jsonl"))
}

/// The sessions of chat apps.
pub fn web_ai_sessions() -> Option<PathBuf> {
    Some(state_folder()?.join("web-ai-sessions.json"))
}

/// Makes a path absolute, because the daemon's working folder differs from the caller's.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn project_file(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(PROJECT_FILE)).find(|path| path.is_file())
}

/// Settings that can run programs, connect to another browser or write files.
fn is_risky(key: &str) -> bool {
    matches!(key, "cdp" | "chrome" | "chrome-arg" | "downloads" | "no-sandbox" | "trace-cdp")
}

/// Reason not to trust a project file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distrust {
    OtherOwner,
    WritableByOthers,
}

/// Returns the reason not to trust a project file: anybody can create one in an ancestor of the working folder, such as
/// `/tmp`. Checks the open file, because the path may by now lead to another one.
fn find_distrust(path: &Path, file: &File) -> std::io::Result<Option<Distrust>> {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid().as_raw();
    let entry = std::fs::symlink_metadata(path)?;
    // The mode of a symbolic link is meaningless; its owner counts.
    let link =
        entry.is_symlink().then(|| untrusted_by(user, entry.uid(), entry.gid(), 0)).flatten();
    let target = file.metadata()?;
    Ok(link.or_else(|| untrusted_by(user, target.uid(), target.gid(), target.mode())))
}

/// Returns why a file may have been written by another user. Root is trusted. A group whose id equals the owner's is the
/// owner's private group, which on many systems may write to new files by default.
fn untrusted_by(user: u32, owner: u32, group: u32, mode: u32) -> Option<Distrust> {
    let is_own_group = group == owner;
    if owner != user && owner != 0 {
        return Some(Distrust::OtherOwner);
    }
    if mode & 0o002 != 0 || (mode & 0o020 != 0 && !is_own_group) {
        return Some(Distrust::WritableByOthers);
    }
    None
}

impl Settings {
    /// Parses one setting from the text of a file or variable, with the types' own parsers. Running clap's parser would
    /// take longer than most commands.
    fn set(&mut self, key: &str, text: &str) -> std::result::Result<(), String> {
        fn parse<T: FromStr<Err = String>>(
            key: &str,
            text: &str,
        ) -> std::result::Result<Option<T>, String> {
            text.parse()
                .map(Some)
                .map_err(|error: String| format!("invalid value `{text}` for `{key}`: {error}"))
        }
        match key {
            "session" => self.session = parse(key, text)?,
            "context" => self.context = parse(key, text)?,
            "tab" => self.tab = parse(key, text)?,
            "timeout" => self.timeout = parse(key, text)?,
            "json" => self.json = read_bool(key, text)?,
            "color" => {
                self.color = Some(Color::from_str(text, true).map_err(|_| {
                    format!(
                        "invalid value `{text}` for `{key}`: expected `auto`, `always` or `never`"
                    )
                })?);
            }
            "headed" => self.headed = read_bool(key, text)?,
            "profile" => self.profile = parse(key, text)?,
            "cdp" => self.cdp = Some(text.to_owned()),
            "chrome" => self.chrome = Some(text.into()),
            "chrome-arg" => self.chrome_arg.get_or_insert_default().push(text.to_owned()),
            "viewport" => self.viewport = parse(key, text)?,
            "no-sandbox" => self.no_sandbox = read_bool(key, text)?,
            "downloads" => self.downloads = Some(text.into()),
            "trace-cdp" => self.trace_cdp = Some(text.into()),
            "idle-timeout" => self.idle_timeout = parse(key, text)?,
            _ => return Err(unknown(key)),
        }
        Ok(())
    }
}

fn read_bool(key: &str, text: &str) -> std::result::Result<Option<bool>, String> {
    match parse_bool(text) {
        None => Err(format!("invalid value `{text}` for `{key}`: expected `true` or `false`")),
        value => Ok(value),
    }
}

/// Parses a boolean.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Returns true if `AGBROWSE_JSON_ERRORS` requests JSON errors without `--json`.
pub fn json_errors() -> bool {
    std::env::var("AGBROWSE_JSON_ERRORS").is_ok_and(|text| parse_bool(&text) == Some(true))
}

/// Names of all settings. A literal list, because building clap's parser costs as much as parsing; a test compares the
/// two.
fn keys() -> &'static [&'static str] {
    &[
        "session",
        "context",
        "tab",
        "timeout",
        "json",
        "color",
        "headed",
        "profile",
        "cdp",
        "chrome",
        "chrome-arg",
        "viewport",
        "no-sandbox",
        "downloads",
        "trace-cdp",
        "idle-timeout",
    ]
}

fn is_flag(key: &str) -> bool {
    matches!(key, "json" | "headed" | "no-sandbox")
}

fn unknown(key: &str) -> String {
    match closest(key, keys().iter().copied()) {
        Some(similar) => format!("unknown setting `{key}`; did you mean `{similar}`?"),
        None => format!("unknown setting `{key}`; `agbrowse config show` lists all settings"),
    }
}

/// Returns the most similar name, if one is similar enough for a suggestion.
pub fn closest<'a>(name: &str, among: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    among
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(similarity, _)| *similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

fn values(settings: &Settings) -> serde_json::Map<String, serde_json::Value> {
    match serde_json::to_value(settings) {
        Ok(serde_json::Value::Object(map)) => map,
        _ => serde_json::Map::new(),
    }
}

fn default_value(key: &str) -> serde_json::Value {
    match key {
        "session" => DEFAULT_SESSION.into(),
        "timeout" => DurationArg(DEFAULT_TIMEOUT).to_string().into(),
        "idle-timeout" => DurationArg(DEFAULT_IDLE).to_string().into(),
        "viewport" => "1280x720".into(),
        "color" => "auto".into(),
        key if is_flag(key) => false.into(),
        _ => serde_json::Value::Null,
    }
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Color {
    /// On terminals.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The name of a session, context or profile: letters, digits, `-`, `_` and `.`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SessionName(pub String);

impl FromStr for SessionName {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if text.is_empty()
            || text.len() > 40
            || text.starts_with(['.', '-'])
            || !text.chars().all(is_allowed)
        {
            return Err("expected up to 40 letters, digits, `-`, `_` or `.`".into());
        }
        Ok(Self(text.to_owned()))
    }
}

/// A duration argument: `500ms`, `30s`, `2m`, `1h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurationArg(pub Duration);

impl FromStr for DurationArg {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let end = text
            .find(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let factor = match unit.trim() {
            "ms" => 0.001,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err("expected a time such as `500ms`, `30s` or `2m`".into()),
        };
        let seconds = number.parse::<f64>().ok().map(|number| number * factor);
        match seconds {
            Some(seconds) if (0.001..=86_400.0 * 7.0).contains(&seconds) => {
                Ok(Self(Duration::from_secs_f64(seconds)))
            }
            Some(_) => Err("expected a time from `1ms` to `168h`".into()),
            None => Err("expected a time such as `500ms`, `30s` or `2m`".into()),
        }
    }
}

impl fmt::Display for DurationArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_millis() {
            ms if ms % 60_000 == 0 => write!(f, "{}m", ms / 60_000),
            ms if ms % 1_000 == 0 => write!(f, "{}s", ms / 1_000),
            ms => write!(f, "{ms}ms"),
        }
    }
}

impl Serialize for DurationArg {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A viewport size argument: `1280x720`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewportSize(pub u32, pub u32);

impl FromStr for ViewportSize {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let side = |text: &str| text.parse().ok().filter(|side| (1..=16_384).contains(side));
        text.split_once(['x', '×', ','])
            .and_then(|(width, height)| Some(Self(side(width)?, side(height)?)))
            .ok_or_else(|| "expected a size such as `1280x720`".into())
    }
}

impl Serialize for ViewportSize {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}x{}", self.0, self.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn file(text: &str) -> Result<Config> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PROJECT_FILE);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut config = Config::default();
        config.add_file(&path, &Origin::ProjectFile(PROJECT_FILE.into()))?;
        Ok(config)
    }

    #[test]
    fn setting_names_match_the_flags() {
        let command = Settings::augment_args(clap::Command::new("settings"));
        let flags: Vec<_> = command.get_arguments().filter_map(|arg| arg.get_long()).collect();
        assert_eq!(flags, keys());
        for key in keys() {
            let message = Settings::default().set(key, "\0").err().unwrap_or_default();
            assert!(!message.contains("unknown setting"), "{message}");
        }
    }

    #[test]
    fn file_sets_the_same_settings_as_flags() {
        let config = file(
            "timeout = 5\nheaded = true\nviewport = \"800x600\"\nchrome-arg = [\"--a\", \"--b=1\"]",
        )
        .unwrap();
        assert_eq!(config.timeout(), Duration::from_secs(5));
        assert_eq!(config.launch_overrides().args.unwrap(), ["--a", "--b=1"]);
        assert_eq!(config.launch_overrides().viewport, Some((800, 600)));
        let headed = config.lines().into_iter().find(|row| row.key == "headed").unwrap();
        assert_eq!(
            (headed.value, headed.origin),
            (true.into(), Origin::ProjectFile(PROJECT_FILE.into()))
        );
    }

    #[test]
    fn higher_layers_override_and_are_the_origin() {
        let mut config = file("timeout = \"5s\"\nsession = \"a\"").unwrap();
        let mut flags = Settings::default();
        flags.set("timeout", "250ms").unwrap();
        config.merge(&flags, |_| Origin::Flag);
        assert_eq!(config.timeout(), Duration::from_millis(250));
        assert_eq!(config.session(), "a");
        let origin =
            |key: &str| config.lines().into_iter().find(|row| row.key == key).unwrap().origin;
        assert_eq!(origin("timeout"), Origin::Flag);
        assert_eq!(origin("color"), Origin::Default);
    }

    #[test]
    fn invalid_files_are_reported_with_the_reason() {
        for (text, expected) in [
            ("sesion = \"a\"", "did you mean `session`?"),
            ("timeout = \"soon\"", "expected a time"),
            ("session = [", ""),
            ("session = { a = 1 }", "not a string"),
            ("session = \"../x\"", "letters, digits"),
            ("viewport = \"0x5\"", "expected a size"),
        ] {
            let error = file(text).unwrap_err();
            assert_eq!(error.code(), Code::ConfigInvalid);
            assert!(error.details().message.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn files_of_or_writable_by_other_users_are_untrusted() {
        for (owner, group, mode, is_untrusted) in [
            (1000, 1000, 0o644, false),
            (1000, 1000, 0o664, false),
            (1000, 100, 0o664, true),
            (1000, 1000, 0o646, true),
            (1001, 1001, 0o644, true),
            (0, 0, 0o644, false),
            (0, 100, 0o664, true),
        ] {
            let reason = untrusted_by(1000, owner, group, mode);
            assert_eq!(reason.is_some(), is_untrusted, "{owner}:{group} {mode:o} {reason:?}");
        }
        assert!(untrusted_by(0, 1000, 1000, 0o644).is_some());
    }

    #[test]
    fn trust_is_checked_on_the_open_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PROJECT_FILE);
        let put = |mode: u32| {
            let new = folder.path().join("new");
            std::fs::write(&new, "").unwrap();
            std::fs::set_permissions(&new, std::fs::Permissions::from_mode(mode)).unwrap();
            std::fs::rename(&new, &path).unwrap();
            File::open(&path).unwrap()
        };
        let (open, later) = (put(0o666), put(0o600));
        assert!(find_distrust(&path, &open).unwrap().is_some(), "others could write to it");
        assert_eq!(find_distrust(&path, &later).unwrap(), None);
    }

    #[test]
    fn durations_have_units() {
        for (text, ms) in
            [("500ms", 500), ("3", 3000), ("1.5s", 1500), ("2m", 120_000), ("1h", 3_600_000)]
        {
            assert_eq!(text.parse::<DurationArg>().unwrap().0.as_millis(), ms, "{text}");
        }
        for invalid in ["", "x", "5 parsecs", "-1", "0", "1e9h", "..", "5ss"] {
            assert!(invalid.parse::<DurationArg>().is_err(), "{invalid}");
        }
    }
}
