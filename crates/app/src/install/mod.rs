//! `agbrowse install`: installs a browser if none is found.
//!
//! There are two sources. The distribution's package (`distro`) is updated by the system and brings its shared
//! libraries, but needs root. Chrome for Testing (`chrome_for_testing`) goes to the user's cache and needs no privilege:
//! `download` resumes dropped connections, and `archive` ensures that a partly unpacked or tampered browser is never
//! found.
//!
//! Prompts, notes and progress go through [`Ui`]; the result is [`Installed`], which the caller prints.

mod archive;
mod chrome_for_testing;
mod distro;
mod download;
mod progress_bar;

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use browser::launch::{BrowserQuery, Found};
use browser::{Code, Error};
use clap::ValueEnum;
use serde::Serialize;

use chrome_for_testing::Release;
use distro::{Distro, Package};
use download::Limits;
use progress_bar::DownloadProgress;

/// Result of the install steps.
pub type Result<T> = std::result::Result<T, Error>;

/// Time limit for `--version` of a browser.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Install a browser if none is found.
///
/// Installs the distribution's Chromium package if that needs no password, otherwise Chrome for Testing in the user's
/// cache. Prints what it is going to run or download and asks for confirmation.
#[derive(clap::Args, Clone, Debug)]
pub struct Install {
    /// Do not ask for confirmation.
    #[arg(long)]
    pub yes: bool,
    /// Install even if a browser is found.
    #[arg(long)]
    pub force: bool,
    /// Release channel of Chrome for Testing.
    #[arg(long, value_enum, default_value_t)]
    pub channel: Channel,
    /// Build of Chrome for Testing.
    #[arg(long, value_enum, default_value_t)]
    pub build: Build,
    /// Source of the browser.
    #[arg(long, value_enum, default_value_t)]
    pub via: Via,
}

/// Release channel of Chrome for Testing.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channel {
    /// The release for general use.
    #[default]
    Stable,
    /// The next stable release, some weeks ahead.
    Beta,
    /// Built once or twice a week.
    Dev,
    /// Built every night.
    Canary,
}

/// Build of Chrome for Testing.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Build {
    /// The full browser, headed and headless.
    #[default]
    Chrome,
    /// The headless shell only: smaller, fewer shared libraries.
    ChromeHeadlessShell,
}

/// Source of the browser.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// The distribution's package if it needs no password, otherwise Chrome for Testing.
    #[default]
    Auto,
    /// The distribution's Chromium package; needs root or `sudo` without a password.
    Distro,
    /// Chrome for Testing, in the user's cache.
    Testing,
}

/// Result of an install: the installed or already present browser.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct Installed {
    /// Path of the executable.
    pub path: PathBuf,
    /// Version printed by the executable; absent for a browser that was already present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Source of the browser.
    pub via: InstalledBy,
    /// Download URL, package command, or where an existing browser was found.
    pub source: String,
    /// Size of the download in bytes, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Elapsed time in milliseconds.
    pub elapsed_ms: u64,
    /// Deviations from the plan, such as a failed package install.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Source of an installed browser.
#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum InstalledBy {
    /// Already present.
    Found,
    /// The distribution's package.
    Distro,
    /// Chrome for Testing.
    Testing,
}

/// Prompts and progress output of an install.
pub trait Ui: Send {
    /// Returns true if a prompt can be answered.
    fn can_ask(&self) -> bool;
    /// Shows the plan and asks for confirmation.
    fn ask(&mut self, plan: &str) -> bool;
    /// Prints a note.
    fn note(&mut self, line: &str);
    /// Reports downloaded bytes and the total, if known.
    fn progress(&mut self, done: u64, total: Option<u64>);
}

impl Install {
    /// Selects the source, asks for confirmation and installs.
    pub async fn run(&self, ui: &mut dyn Ui) -> Result<Installed> {
        let started = Instant::now();
        if let Some(found) = self.find_existing() {
            return Ok(Installed::existing(&found, started));
        }
        if !self.yes && !ui.can_ask() {
            return Err(Error::new(Code::InstallDeclined).message(
                "installing a browser needs confirmation, but stdin is not a terminal; pass `--yes`",
            ));
        }
        let settings = Settings::from_env()?;
        let distro = Distro::read();
        match self.package(&distro).await? {
            None => self.install_testing(&settings, &distro, Vec::new(), started, ui).await,
            Some(package) => match self.install_distro(&package, started, ui).await {
                Err(PackageFailure::Failed(why)) if self.via == Via::Auto => {
                    let note = format!(
                        "the distribution's package could not be installed, trying Chrome for Testing: {}",
                        why.details().message
                    );
                    ui.note(&note);
                    self.install_testing(&settings, &distro, vec![note], started, ui).await
                }
                Err(PackageFailure::Failed(why) | PackageFailure::Declined(why)) => Err(why),
                Ok(installed) => Ok(installed),
            },
        }
    }

    /// Returns a browser that is already present, unless `--force` is given.
    fn find_existing(&self) -> Option<Found> {
        if self.force { None } else { browser::launch::find(&BrowserQuery::default()).ok() }
    }

    /// Returns the distribution's package, if it is the source to use.
    async fn package(&self, distro: &Distro) -> Result<Option<Package>> {
        let is_default = self.channel == Channel::default() && self.build == Build::default();
        match self.via {
            Via::Testing => Ok(None),
            // A distribution packages a single Chromium, so another channel or build means Chrome for Testing.
            Via::Auto if !is_default => Ok(None),
            Via::Auto => Ok(distro::package(distro).await.ok()),
            Via::Distro if !is_default => Err(Error::new(Code::InstallUnsupported)
                .message("a distribution packages a single Chromium; `--channel` and `--build` need `--via testing`")),
            Via::Distro => distro::package(distro).await.map(Some),
        }
    }

    async fn install_distro(
        &self,
        package: &Package,
        started: Instant,
        ui: &mut dyn Ui,
    ) -> std::result::Result<Installed, PackageFailure> {
        self.confirm(&format!("run: {package}"), ui).map_err(PackageFailure::Declined)?;
        let path = package.install().await.map_err(PackageFailure::Failed)?;
        let version = version_of(&path).await.map_err(PackageFailure::Failed)?;
        Ok(Installed {
            path,
            version: Some(version),
            via: InstalledBy::Distro,
            source: package.to_string(),
            bytes: None,
            elapsed_ms: millis_since(started),
            notes: Vec::new(),
        })
    }

    async fn install_testing(
        &self,
        settings: &Settings,
        distro: &Distro,
        notes: Vec<String>,
        started: Instant,
        ui: &mut dyn Ui,
    ) -> Result<Installed> {
        let platform = chrome_for_testing::platform(
            std::env::consts::OS,
            std::env::consts::ARCH,
            distro,
            self.via,
        )?;
        let client = download::client(&settings.limits, settings.index.starts_with("https:"))?;
        let index = download::document(&client, &settings.index, &settings.limits).await?;
        let release = chrome_for_testing::choose(
            &index,
            &settings.index,
            self.channel,
            self.build,
            platform,
        )?;
        self.confirm_download(&release, &client, &settings.limits, ui).await?;
        let cache = chrome_for_testing::BrowserCache::open(ui).await?;
        if cache.waited
            && let Some(found) = self.find_existing()
        {
            return Ok(Installed::existing(&found, started));
        }
        let build = cache.install(&release, &client, &settings.limits, distro, ui).await?;
        Ok(Installed {
            path: build.path,
            version: Some(build.version),
            via: InstalledBy::Testing,
            source: release.url,
            bytes: Some(build.bytes),
            elapsed_ms: millis_since(started),
            notes,
        })
    }

    async fn confirm_download(
        &self,
        release: &Release,
        client: &reqwest::Client,
        limits: &Limits,
        ui: &mut dyn Ui,
    ) -> Result<()> {
        // The size costs a round trip, spent only if there is a prompt.
        let size = if self.yes { None } else { download::size(client, &release.url, limits).await };
        let size = size.map(|bytes| format!(" ({})", size_text(bytes))).unwrap_or_default();
        let folder = browser::launch::browsers_dir().join(release.folder());
        let Release { version, url, .. } = release;
        let plan = format!(
            "download: Chrome for Testing {version} from {url}{size} to {}",
            folder.display()
        );
        self.confirm(&plan, ui)
    }

    /// Requires `--yes` or a confirmed prompt.
    fn confirm(&self, plan: &str, ui: &mut dyn Ui) -> Result<()> {
        if self.yes {
            ui.note(plan);
            return Ok(());
        }
        if ui.ask(plan) {
            return Ok(());
        }
        Err(Error::new(Code::InstallDeclined)
            .message("the install was declined")
            .evidence("plan", plan))
    }
}

/// Why the distribution's package was not installed: a failure falls back to Chrome for Testing, a declined prompt does not.
enum PackageFailure {
    Declined(Error),
    Failed(Error),
}

/// Settings from environment variables: the index URL (a mirror, a test) and the timeouts.
struct Settings {
    index: String,
    limits: Limits,
}

impl Settings {
    fn from_env() -> Result<Self> {
        let index = std::env::var("AGBROWSE_INSTALL_INDEX")
            .unwrap_or_else(|_| chrome_for_testing::INDEX.to_owned());
        let mut limits = Limits::default();
        if let Ok(text) = std::env::var("AGBROWSE_INSTALL_IDLE_MS") {
            let idle_ms = text.parse().map_err(|_| {
                Error::new(Code::InstallFailed)
                    .message("`AGBROWSE_INSTALL_IDLE_MS` is not a number of milliseconds")
                    .evidence("value", text.as_str())
            })?;
            limits.idle = Duration::from_millis(idle_ms);
        }
        Ok(Self { index, limits })
    }
}

impl Installed {
    fn existing(found: &Found, started: Instant) -> Self {
        Self {
            path: found.path.clone(),
            version: None,
            via: InstalledBy::Found,
            source: found.origin.to_string(),
            bytes: None,
            elapsed_ms: millis_since(started),
            notes: Vec::new(),
        }
    }
}

impl fmt::Display for Installed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        let version = self.version.as_deref().unwrap_or("(unknown version)");
        let time = duration(self.elapsed_ms);
        match (self.via, self.bytes) {
            (InstalledBy::Found, _) => {
                write!(
                    f,
                    "a browser is already installed: {path} ({}); pass `--force` to install another",
                    self.source
                )
            }
            (InstalledBy::Distro, _) => {
                write!(f, "installed Chromium {version} at {path} (in {time})")
            }
            (InstalledBy::Testing, None) => {
                write!(f, "installed Chrome for Testing {version} at {path} (in {time})")
            }
            (InstalledBy::Testing, Some(bytes)) => {
                write!(
                    f,
                    "installed Chrome for Testing {version} at {path} ({} in {time})",
                    size_text(bytes)
                )
            }
        }
    }
}

/// [`Ui`] on stderr and stdin.
#[derive(Default)]
pub struct Terminal {
    progress: Option<DownloadProgress>,
}

impl Terminal {
    /// Prints one line on stderr in place of a progress bar. A closed stderr does not stop an install.
    fn print_line(&mut self, line: &str) {
        self.progress = None;
        let _ = writeln!(io::stderr(), "{line}");
    }
}

impl Ui for Terminal {
    fn can_ask(&self) -> bool {
        io::stdin().is_terminal()
    }

    fn ask(&mut self, plan: &str) -> bool {
        self.print_line(plan);
        let _ = write!(io::stderr(), "Continue? [Y/n] ");
        let _ = io::stderr().flush();
        let mut answer = String::new();
        match io::stdin().read_line(&mut answer) {
            Ok(0) | Err(_) => false,
            Ok(_) => matches!(answer.trim().to_ascii_lowercase().as_str(), "" | "y" | "yes"),
        }
    }

    fn note(&mut self, line: &str) {
        self.print_line(line);
    }

    fn progress(&mut self, done: u64, total: Option<u64>) {
        let progress =
            self.progress.get_or_insert_with(|| DownloadProgress::on_stderr(done, total));
        if let Some(line) = progress.update(done, total) {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}

/// Runs `--version` and returns the version number.
async fn version_of(program: &Path) -> Result<String> {
    let failed = |why: String| {
        Error::new(Code::InstallFailed)
            .message(format!("`{} --version` {why}", program.display()))
            .evidence("path", program.display().to_string())
    };
    let output = output_within(program, &["--version"], VERSION_TIMEOUT)
        .await
        .map_err(|error| failed(format!("did not run: {error}")))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let first = stderr.lines().next().unwrap_or("no error output");
        return Err(failed(format!("failed with {}: {first}", output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    parse_version(&text)
        .map(str::to_owned)
        .ok_or_else(|| failed(format!("printed no version: `{}`", text.trim())))
}

/// Finds `130.0.6723.116` in `Chromium 130.0.6723.116 built on Debian GNU/Linux 12`.
fn parse_version(text: &str) -> Option<&str> {
    text.split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
}

/// Runs a program without stdin and collects its output; kills it at the time limit.
async fn output_within(program: &Path, arguments: &[&str], limit: Duration) -> io::Result<Output> {
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    tokio::time::timeout(limit, command.output()).await.map_err(|_| {
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("timed out after {}", duration(limit.as_millis() as u64)),
        )
    })?
}

fn millis_since(started: Instant) -> u64 {
    started.elapsed().as_millis() as u64
}

/// Formats a size: `150 MB`.
fn size_text(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{:.0} MB", bytes as f64 / 1e6),
    }
}

/// Formats a duration: `12 s`.
fn duration(ms: u64) -> String {
    if ms < 10_000 { format!("{:.1} s", ms as f64 / 1e3) } else { format!("{} s", ms / 1_000) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user with a prepared answer; records prompts and notes.
    struct Scripted {
        answer: Option<bool>,
        output: Vec<String>,
    }

    impl Ui for Scripted {
        fn can_ask(&self) -> bool {
            self.answer.is_some()
        }
        fn ask(&mut self, plan: &str) -> bool {
            self.output.push(format!("asked: {plan}"));
            self.answer == Some(true)
        }
        fn note(&mut self, line: &str) {
            self.output.push(format!("noted: {line}"));
        }
        fn progress(&mut self, _done: u64, _total: Option<u64>) {}
    }

    fn install(yes: bool) -> Install {
        Install {
            yes,
            force: true,
            channel: Channel::Stable,
            build: Build::Chrome,
            via: Via::Testing,
        }
    }

    #[test]
    fn confirmation_comes_from_yes_or_a_prompt() {
        let check = |yes, answer, continues: bool, output: &str| {
            let mut ui = Scripted { answer, output: Vec::new() };
            assert_eq!(install(yes).confirm("run: x", &mut ui).is_ok(), continues);
            assert_eq!(ui.output, [output]);
        };
        check(true, None, true, "noted: run: x");
        check(true, Some(false), true, "noted: run: x");
        check(false, Some(true), true, "asked: run: x");
        check(false, Some(false), false, "asked: run: x");
    }

    #[tokio::test]
    async fn without_yes_and_terminal_nothing_is_tried() {
        let mut ui = Scripted { answer: None, output: Vec::new() };
        let error = install(false).run(&mut ui).await.expect_err("not confirmed");
        assert_eq!(error.code(), Code::InstallDeclined);
        assert!(error.to_string().contains("pass `--yes`"), "{error}");
        assert!(ui.output.is_empty());
    }

    #[tokio::test]
    async fn other_channels_never_use_the_distribution() {
        let beta = Install { channel: Channel::Beta, via: Via::Auto, ..install(true) };
        assert!(
            beta.package(&Distro::parse("ID=debian")).await.is_ok_and(|package| package.is_none())
        );
        let distro = Install { via: Via::Distro, ..beta };
        assert!(distro.package(&Distro::parse("ID=debian")).await.is_err());
    }

    #[test]
    fn version_is_parsed_from_browser_output() {
        let check = |text, expected| assert_eq!(parse_version(text), expected, "{text}");
        check("Google Chrome for Testing 131.0.6778.204 \n", Some("131.0.6778.204"));
        check(
            "Chromium 130.0.6723.116 built on Debian GNU/Linux 12 (bookworm)",
            Some("130.0.6723.116"),
        );
        check("Chromium, 12 of them", None);
        check("", None);
    }

    #[test]
    fn result_display() {
        let installed = |via, bytes| Installed {
            path: "/b/chrome".into(),
            version: Some("131.0.1.2".into()),
            via,
            source: "PATH".into(),
            bytes,
            elapsed_ms: 12_345,
            notes: Vec::new(),
        };
        let check = |via, bytes, expected| assert_eq!(installed(via, bytes).to_string(), expected);
        check(
            InstalledBy::Testing,
            Some(154_321_000),
            "installed Chrome for Testing 131.0.1.2 at /b/chrome (154 MB in 12 s)",
        );
        check(InstalledBy::Distro, None, "installed Chromium 131.0.1.2 at /b/chrome (in 12 s)");
        check(
            InstalledBy::Found,
            None,
            "a browser is already installed: /b/chrome (PATH); pass `--force` to install another",
        );
    }

    #[test]
    fn sizes_and_durations_are_short() {
        assert_eq!(
            [0, 999, 1_000, 2_400_000].map(size_text),
            ["0 bytes", "999 bytes", "1 kB", "2 MB"].map(String::from)
        );
        assert_eq!([40, 9_900, 61_000].map(duration), ["0.0 s", "9.9 s", "61 s"].map(String::from));
    }
}
