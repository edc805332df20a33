//! Settings: defaults < user file < project file < `AGBROWSE_*` < flags, each with where it came from.
//!
//! One struct describes them all, and its types read themselves in the same way wherever a value comes from.

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

/// The name of a project's settings, looked for in the working folder and those above it.
pub const PROJECT_FILE: &str = "agbrowse.toml";

/// What can be set, in files, by variables and by flags.
#[derive(Clone, Debug, Default, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Settings {
    /// The session to use: each has a daemon and a browser of its own.
    #[arg(long, short = 's', global = true, value_name = "NAME", help_heading = SHARED)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionName>,
    /// The context to use: a cookie jar of its own inside the browser.
    #[arg(long, global = true, value_name = "NAME", help_heading = SHARED)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<SessionName>,
    /// The tab to use instead of the current one, such as `t2`.
    #[arg(long, global = true, value_name = "TAB", help_heading = SHARED)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tab: Option<browser::TabId>,
    /// How long a command may take: `500ms`, `30s`, `2m`; a plain number is seconds.
    #[arg(long, global = true, value_name = "TIME", help_heading = SHARED)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<DurationArg>,
    /// Print JSON: the result on standard output, an error on standard error.
    #[arg(long, global = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", help_heading = SHARED)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<bool>,
    /// Whether to use colours.
    #[arg(long, global = true, value_enum, value_name = "WHEN", help_heading = SHARED)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<Color>,
    /// Show the browser's window.
    #[arg(long, global = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", help_heading = BROWSER)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headed: Option<bool>,
    /// Use a profile that is kept, by this name, instead of a fresh one.
    #[arg(long, global = true, value_name = "NAME", help_heading = BROWSER)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<SessionName>,
    /// Attach to a running browser: `9222`, `http://host:9222` or `ws://…`. It is never closed by agbrowse.
    #[arg(long, global = true, value_name = "URL", help_heading = BROWSER)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cdp: Option<String>,
    /// The browser's program: a path, or a name on `PATH`.
    #[arg(long, global = true, value_name = "PATH", help_heading = BROWSER)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chrome: Option<PathBuf>,
    /// A further argument for the browser. May be given several times.
    #[arg(long, global = true, value_name = "ARG", allow_hyphen_values = true, help_heading = BROWSER)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chrome_arg: Option<Vec<String>>,
    /// Size of the window, such as `1280x720`.
    #[arg(long, global = true, value_name = "SIZE", help_heading = BROWSER)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewport: Option<ViewportSize>,
    /// Run the browser without its sandbox. Done by itself where it cannot work, such as for root.
    #[arg(long, global = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", help_heading = BROWSER)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_sandbox: Option<bool>,
    /// Keep downloads in this folder. Without it they go to a temporary one that is removed when the browser is closed.
    #[arg(long, global = true, value_name = "FOLDER", help_heading = BROWSER)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downloads: Option<PathBuf>,
    /// Write every message to and from the browser to this file. It will hold what pages hold.
    #[arg(long, global = true, value_name = "FILE", help_heading = BROWSER)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_cdp: Option<PathBuf>,
    /// Stop the daemon and its browser after so long without a command.
    #[arg(long, global = true, value_name = "TIME", help_heading = BROWSER)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<DurationArg>,
}

const SHARED: &str = "Shared options";
const BROWSER: &str = "Browser options";

/// Session used when none is named.
pub const DEFAULT_SESSION: &str = "default";
/// Time allowed for a command when none is given.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// Idle time after which a daemon stops when none is given.
pub const DEFAULT_IDLE: Duration = Duration::from_secs(30 * 60);

/// Where a setting came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "from", content = "at")]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The user's file.
    UserFile(PathBuf),
    /// The project's file.
    ProjectFile(PathBuf),
    /// A variable of the environment.
    Variable(String),
    /// The command line.
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

/// All settings in force.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// What is set.
    pub settings: Settings,
    /// What a file says and is not heeded, with the reason.
    pub notes: Vec<Note>,
    origins: BTreeMap<String, Origin>,
}

/// One line of `config show`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingRow {
    /// The setting.
    pub key: String,
    /// Its value.
    pub value: serde_json::Value,
    /// Where it came from.
    #[serde(flatten)]
    pub origin: Origin,
}

impl Config {
    /// Reads files and variables and puts the flags on top.
    ///
    /// # Errors
    /// `config.invalid`, naming the file or variable and what is wrong with it.
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

    /// The session meant.
    pub fn session(&self) -> &str {
        self.settings.session.as_ref().map_or(DEFAULT_SESSION, |name| &name.0)
    }

    /// How long a command may take.
    pub fn timeout(&self) -> Duration {
        self.settings.timeout.map_or(DEFAULT_TIMEOUT, |span| span.0)
    }

    /// How long a daemon waits for the next command.
    pub fn idle_timeout(&self) -> Duration {
        self.settings.idle_timeout.map_or(DEFAULT_IDLE, |span| span.0)
    }

    /// Whether to print JSON.
    pub fn json(&self) -> bool {
        self.settings.json.unwrap_or_default()
    }

    /// What is asked of the browser.
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

    /// Every setting with where it came from.
    pub fn lines(&self) -> Vec<SettingRow> {
        let set = values(&self.settings);
        let line = |key: &&str| {
            let default = default_value(key);
            SettingRow {
                key: (*key).to_owned(),
                value: set.get(*key).cloned().unwrap_or(default),
                origin: self.origins.get(*key).cloned().unwrap_or(Origin::Default),
            }
        };
        keys().iter().map(line).collect()
    }

    fn add_file(&mut self, path: &Path, origin: &Origin) -> Result<()> {
        let wrong = |message: String| {
            Error::new(Code::ConfigInvalid)
                .message(format!("`{}`: {message}", path.display()))
                .evidence("file", path.display().to_string())
        };
        let failed = |error: std::io::Error| wrong(error.to_string());
        let file = File::open(path).map_err(failed)?;
        let text = std::io::read_to_string(&file).map_err(failed)?;
        let table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?;
        let mistrust = match origin {
            Origin::ProjectFile(_) => mistrust(path, &file).map_err(failed)?,
            _ => None,
        };
        let mut skipped = Vec::new();
        let mut layer = Settings::default();
        for (key, value) in &table {
            if mistrust.is_some() && is_risky(key) {
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
                    _ => return Err(wrong(format!("`{key}` is neither text, number nor boolean"))),
                };
                layer.set(key, &text).map_err(wrong)?;
            }
        }
        self.merge(&layer, |_| origin.clone());
        if let Some(why) = mistrust.filter(|_| !skipped.is_empty()) {
            let file = path.display();
            let fix = match why {
                WRITABLE => format!(" (fix: `chmod go-w {file}`)"),
                _ => String::new(),
            };
            self.notes.push(Note::new(
                "settings-skipped",
                format!("ignoring `{}` in `{file}`: {why}{fix}", skipped.join("`, `")),
            ));
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
            // Others of our variables are no settings: AGBROWSE_JSON_ERRORS, AGBROWSE_INSTALL_INDEX …
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

    /// Puts a layer over what is there.
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

/// Where the user's own settings are.
pub fn user_file() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::choose_base_strategy().ok()?.config_dir().join("agbrowse").join("config.toml"))
}

/// The daemon has another working folder than the caller.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn project_file(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(PROJECT_FILE)).find(|path| path.is_file())
}

/// Settings by which a file could run programs, hand the pages to somebody else's browser, or write to files.
fn is_risky(key: &str) -> bool {
    matches!(key, "cdp" | "chrome" | "chrome-arg" | "downloads" | "no-sandbox" | "trace-cdp")
}

/// Why a project's file may hold what its user did not write: anybody can put one into a folder that is above the
/// working folder, such as `/tmp`. The file is the one that was read: by now another may have its place.
fn mistrust(path: &Path, file: &File) -> std::io::Result<Option<&'static str>> {
    use std::os::unix::fs::MetadataExt;
    let me = rustix::process::geteuid().as_raw();
    let entry = std::fs::symlink_metadata(path)?;
    // The mode of a link says nothing; who made it counts.
    let link = entry.is_symlink().then(|| foreign(me, entry.uid(), entry.gid(), 0)).flatten();
    let read = file.metadata()?;
    Ok(link.or_else(|| foreign(me, read.uid(), read.gid(), read.mode())))
}

/// A project file that can be edited by others is ignored for settings that run programs.
const WRITABLE: &str = "other users can write to it";

/// Root can do anything already. A group with the number of its user is the user's own on many systems, where new files
/// may be written to by the group.
fn foreign(me: u32, owner: u32, group: u32, mode: u32) -> Option<&'static str> {
    let is_own_group = group == owner;
    if owner != me && owner != 0 {
        return Some("it belongs to another user");
    }
    if mode & 0o002 != 0 || (mode & 0o020 != 0 && !is_own_group) {
        return Some(WRITABLE);
    }
    None
}

impl Settings {
    /// Sets one setting from text, as a file or a variable gives it. The types read themselves as they do
    /// for flags; going through the flags' own parser would take longer than most commands.
    fn set(&mut self, key: &str, text: &str) -> std::result::Result<(), String> {
        fn read<T: FromStr<Err = String>>(
            key: &str,
            text: &str,
        ) -> std::result::Result<Option<T>, String> {
            text.parse()
                .map(Some)
                .map_err(|error: String| format!("`{key}` cannot be `{text}`: {error}"))
        }
        match key {
            "session" => self.session = read(key, text)?,
            "context" => self.context = read(key, text)?,
            "tab" => self.tab = read(key, text)?,
            "timeout" => self.timeout = read(key, text)?,
            "json" => self.json = yes_or_no(key, text)?,
            "color" => {
                self.color = Some(Color::from_str(text, true).map_err(|_| {
                    format!("`{key}` cannot be `{text}`: expected `auto`, `always` or `never`")
                })?);
            }
            "headed" => self.headed = yes_or_no(key, text)?,
            "profile" => self.profile = read(key, text)?,
            "cdp" => self.cdp = Some(text.to_owned()),
            "chrome" => self.chrome = Some(text.into()),
            "chrome-arg" => self.chrome_arg.get_or_insert_default().push(text.to_owned()),
            "viewport" => self.viewport = read(key, text)?,
            "no-sandbox" => self.no_sandbox = yes_or_no(key, text)?,
            "downloads" => self.downloads = Some(text.into()),
            "trace-cdp" => self.trace_cdp = Some(text.into()),
            "idle-timeout" => self.idle_timeout = read(key, text)?,
            _ => return Err(unknown(key)),
        }
        Ok(())
    }
}

fn yes_or_no(key: &str, text: &str) -> std::result::Result<Option<bool>, String> {
    match truth(text) {
        None => Err(format!("`{key}` cannot be `{text}`: expected `true` or `false`")),
        known => Ok(known),
    }
}

/// The words for yes and no.
fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Whether errors are to be JSON whatever results are.
pub fn json_errors() -> bool {
    std::env::var("AGBROWSE_JSON_ERRORS").is_ok_and(|text| truth(&text) == Some(true))
}

/// The names of all settings. Written out, because asking the parser costs as much as parsing; a test
/// compares the two.
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
        Some(near) => format!("there is no setting `{key}`; did you mean `{near}`?"),
        None => format!("there is no setting `{key}`; `agbrowse config show` lists them"),
    }
}

/// The nearest of some names, when one is near enough to be meant.
pub fn closest<'a>(name: &str, among: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    among
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
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
    /// On a terminal.
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
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if text.is_empty()
            || text.len() > 40
            || text.starts_with(['.', '-'])
            || !text.chars().all(is_plain)
        {
            return Err("expected up to 40 letters, digits, `-`, `_` or `.`".into());
        }
        Ok(Self(text.to_owned()))
    }
}

/// A length of time.
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

/// A window's size, written `1280x720`.
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
    fn every_setting_is_known() {
        let command = Settings::augment_args(clap::Command::new("settings"));
        let flags: Vec<_> = command.get_arguments().filter_map(|arg| arg.get_long()).collect();
        assert_eq!(flags, keys());
        for key in keys() {
            let message = Settings::default().set(key, "\0").err().unwrap_or_default();
            assert!(!message.contains("there is no setting"), "{message}");
        }
    }

    #[test]
    fn a_file_may_set_what_a_flag_may() {
        let config = file(
            "timeout = 5\nheaded = true\nviewport = \"800x600\"\nchrome-arg = [\"--a\", \"--b=1\"]",
        )
        .unwrap();
        assert_eq!(config.timeout(), Duration::from_secs(5));
        assert_eq!(config.launch_overrides().args.unwrap(), ["--a", "--b=1"]);
        assert_eq!(config.launch_overrides().viewport, Some((800, 600)));
        let headed = config.lines().into_iter().find(|line| line.key == "headed").unwrap();
        assert_eq!(
            (headed.value, headed.origin),
            (true.into(), Origin::ProjectFile(PROJECT_FILE.into()))
        );
    }

    #[test]
    fn later_layers_win_and_are_named() {
        let mut config = file("timeout = \"5s\"\nsession = \"a\"").unwrap();
        let mut flags = Settings::default();
        flags.set("timeout", "250ms").unwrap();
        config.merge(&flags, |_| Origin::Flag);
        assert_eq!(config.timeout(), Duration::from_millis(250));
        assert_eq!(config.session(), "a");
        let origin =
            |key: &str| config.lines().into_iter().find(|line| line.key == key).unwrap().origin;
        assert_eq!(origin("timeout"), Origin::Flag);
        assert_eq!(origin("color"), Origin::Default);
    }

    #[test]
    fn wrong_files_say_what_is_wrong() {
        for (text, expected) in [
            ("sesion = \"a\"", "did you mean `session`?"),
            ("timeout = \"soon\"", "expected a time"),
            ("session = [", ""),
            ("session = { a = 1 }", "neither text"),
            ("session = \"../x\"", "letters, digits"),
            ("viewport = \"0x5\"", "expected a size"),
        ] {
            let error = file(text).unwrap_err();
            assert_eq!(error.code(), Code::ConfigInvalid);
            assert!(error.details().message.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_file_that_others_wrote_or_may_write_is_foreign() {
        for (owner, group, mode, is_foreign) in [
            (1000, 1000, 0o644, false),
            (1000, 1000, 0o664, false),
            (1000, 100, 0o664, true),
            (1000, 1000, 0o646, true),
            (1001, 1001, 0o644, true),
            (0, 0, 0o644, false),
            (0, 100, 0o664, true),
        ] {
            let why = foreign(1000, owner, group, mode);
            assert_eq!(why.is_some(), is_foreign, "{owner}:{group} {mode:o} {why:?}");
        }
        assert!(foreign(0, 1000, 1000, 0o644).is_some());
    }

    #[test]
    fn the_file_that_was_read_is_judged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PROJECT_FILE);
        let put = |mode: u32| {
            let new = folder.path().join("new");
            std::fs::write(&new, "").unwrap();
            std::fs::set_permissions(&new, std::fs::Permissions::from_mode(mode)).unwrap();
            std::fs::rename(&new, &path).unwrap();
            File::open(&path).unwrap()
        };
        let (read, later) = (put(0o666), put(0o600));
        assert!(mistrust(&path, &read).unwrap().is_some(), "others could write to it");
        assert_eq!(mistrust(&path, &later).unwrap(), None);
    }

    #[test]
    fn times_have_units() {
        for (text, ms) in
            [("500ms", 500), ("3", 3000), ("1.5s", 1500), ("2m", 120_000), ("1h", 3_600_000)]
        {
            assert_eq!(text.parse::<DurationArg>().unwrap().0.as_millis(), ms, "{text}");
        }
        for wrong in ["", "x", "5 parsecs", "-1", "0", "1e9h", "..", "5ss"] {
            assert!(wrong.parse::<DurationArg>().is_err(), "{wrong}");
        }
    }
}
