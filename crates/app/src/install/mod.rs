//! `agbrowse install`: get a browser where none is found.
//!
//! Two ways lead there. The distribution's package (`distro`) is kept up to date by the system and brings
//! its shared libraries along, but wants root. Chrome for Testing (`testing`) lands in the user's cache and
//! needs nobody's leave: `download` fetches it so that a dropped connection costs only the missing bytes,
//! and `archive` unpacks it so that a half-unpacked or tampered browser is never found.
//!
//! Nothing here prints a result: what is asked and noted goes through [`Ui`], what came out is [`Installed`].

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
use progress_bar::Bar;

/// What every step of an install returns.
pub type Result<T> = std::result::Result<T, Error>;

/// How long a browser may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// Get a browser where none is found.
///
/// Installs the distribution's Chromium package when that needs no password, and Chrome for Testing in the
/// user's cache otherwise. Says what it is going to run or download and asks first.
#[derive(clap::Args, Clone, Debug)]
pub struct Install {
    /// Do not ask before running or downloading anything.
    #[arg(long)]
    pub yes: bool,
    /// Install even when a browser is already found.
    #[arg(long)]
    pub force: bool,
    /// Release channel of Chrome for Testing.
    #[arg(long, value_enum, default_value_t)]
    pub channel: Channel,
    /// Which build of Chrome for Testing.
    #[arg(long, value_enum, default_value_t)]
    pub build: Build,
    /// Where the browser comes from.
    #[arg(long, value_enum, default_value_t)]
    pub via: Via,
}

/// Release channel of Chrome for Testing.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channel {
    /// What most people run.
    #[default]
    Stable,
    /// The next stable, some weeks ahead.
    Beta,
    /// Built once or twice a week.
    Dev,
    /// Built every night.
    Canary,
}

/// Build of Chrome for Testing.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Build {
    /// The whole browser, with and without a window.
    #[default]
    Chrome,
    /// Only the windowless shell: smaller, fewer shared libraries.
    ChromeHeadlessShell,
}

/// Where the browser comes from.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// The distribution's package when it needs no password, else Chrome for Testing.
    #[default]
    Auto,
    /// The distribution's Chromium package; needs root or sudo without a password.
    Distro,
    /// Chrome for Testing, unpacked in the user's cache.
    Testing,
}

/// The browser there is now.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct Installed {
    /// The program to run.
    pub path: PathBuf,
    /// Its version, as the program says it; absent when it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How it got here.
    pub via: InstalledBy,
    /// The address or the command line it came from, or where an existing browser was found.
    pub source: String,
    /// Size of what was downloaded, when this command did the downloading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Time it took.
    pub elapsed_ms: u64,
    /// What did not go as first planned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How a browser got here.
#[derive(Serialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum InstalledBy {
    /// It was there already.
    Found,
    /// As the distribution's package.
    Distro,
    /// As Chrome for Testing.
    Testing,
}

/// The person in front of the install, if there is one.
pub trait Ui: Send {
    /// Whether a question would reach anybody.
    fn can_ask(&self) -> bool;
    /// Show what is going to happen and ask whether it may.
    fn ask(&mut self, plan: &str) -> bool;
    /// Say something worth knowing.
    fn note(&mut self, line: &str);
    /// Bytes downloaded so far, of how many when that is known.
    fn progress(&mut self, done: u64, total: Option<u64>);
}

impl Install {
    /// Find out which way to go, ask, and go it.
    pub async fn run(&self, ui: &mut dyn Ui) -> Result<Installed> {
        let begun = Instant::now();
        if let Some(found) = self.already_there() {
            return Ok(Installed::found(&found, begun));
        }
        if !self.yes && !ui.can_ask() {
            return Err(Error::new(Code::InstallDeclined).message(
                "installing a browser needs a yes and stdin is not a terminal; pass `--yes`",
            ));
        }
        let settings = Settings::from_env()?;
        let distro = Distro::read();
        match self.package(&distro).await? {
            None => self.by_testing(&settings, &distro, Vec::new(), begun, ui).await,
            Some(package) => match self.by_distro(&package, begun, ui).await {
                Err(PackageFailure::Failed(why)) if self.via == Via::Auto => {
                    let note = format!(
                        "the distribution's package did not come, trying Chrome for Testing: {}",
                        why.details().message
                    );
                    ui.note(&note);
                    self.by_testing(&settings, &distro, vec![note], begun, ui).await
                }
                Err(PackageFailure::Failed(why) | PackageFailure::Declined(why)) => Err(why),
                Ok(installed) => Ok(installed),
            },
        }
    }

    /// A browser that makes installing another one pointless.
    fn already_there(&self) -> Option<Found> {
        if self.force { None } else { browser::launch::find(&BrowserQuery::default()).ok() }
    }

    /// The distribution's package, if that is the way to go.
    async fn package(&self, distro: &Distro) -> Result<Option<Package>> {
        let plain = self.channel == Channel::default() && self.build == Build::default();
        match self.via {
            Via::Testing => Ok(None),
            // Distributions carry one Chromium, so asking for another one means Chrome for Testing.
            Via::Auto if !plain => Ok(None),
            Via::Auto => Ok(distro::package(distro).await.ok()),
            Via::Distro if !plain => Err(Error::new(Code::InstallUnsupported)
                .message("a distribution has one `chromium`; `--channel` and `--build` go with `--via testing`")),
            Via::Distro => distro::package(distro).await.map(Some),
        }
    }

    async fn by_distro(
        &self,
        package: &Package,
        begun: Instant,
        ui: &mut dyn Ui,
    ) -> std::result::Result<Installed, PackageFailure> {
        self.consent(&format!("run: {package}"), ui).map_err(PackageFailure::Declined)?;
        let path = package.install().await.map_err(PackageFailure::Failed)?;
        let version = version_of(&path).await.map_err(PackageFailure::Failed)?;
        Ok(Installed {
            path,
            version: Some(version),
            via: InstalledBy::Distro,
            source: package.to_string(),
            bytes: None,
            elapsed_ms: millis_since(begun),
            notes: Vec::new(),
        })
    }

    async fn by_testing(
        &self,
        settings: &Settings,
        distro: &Distro,
        notes: Vec<String>,
        begun: Instant,
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
        self.consent_to(&release, &client, &settings.limits, ui).await?;
        let shelf = chrome_for_testing::BrowserCache::open(ui).await?;
        if shelf.waited
            && let Some(found) = self.already_there()
        {
            return Ok(Installed::found(&found, begun));
        }
        let fresh = shelf.install(&release, &client, &settings.limits, distro, ui).await?;
        Ok(Installed {
            path: fresh.path,
            version: Some(fresh.version),
            via: InstalledBy::Testing,
            source: release.url,
            bytes: Some(fresh.bytes),
            elapsed_ms: millis_since(begun),
            notes,
        })
    }

    async fn consent_to(
        &self,
        release: &Release,
        client: &reqwest::Client,
        limits: &Limits,
        ui: &mut dyn Ui,
    ) -> Result<()> {
        // Asking for the size costs a round trip, worth it only when somebody is going to read it.
        let size = if self.yes { None } else { download::size(client, &release.url, limits).await };
        let size = size.map(|bytes| format!(" ({})", amount(bytes))).unwrap_or_default();
        let folder = browser::launch::browsers_dir().join(release.folder());
        let Release { version, url, .. } = release;
        let plan = format!(
            "download: Chrome for Testing {version} from {url}{size} to {}",
            folder.display()
        );
        self.consent(&plan, ui)
    }

    /// Go on only with a yes, given beforehand or now.
    fn consent(&self, plan: &str, ui: &mut dyn Ui) -> Result<()> {
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

/// Why the distribution's package did not come: only a failure leads on to Chrome for Testing, a no does not.
enum PackageFailure {
    Declined(Error),
    Failed(Error),
}

/// What the environment may change: the index to read (a mirror, a test) and the patience.
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
    fn found(found: &Found, begun: Instant) -> Self {
        Self {
            path: found.path.clone(),
            version: None,
            via: InstalledBy::Found,
            source: found.origin.to_string(),
            bytes: None,
            elapsed_ms: millis_since(begun),
            notes: Vec::new(),
        }
    }
}

impl fmt::Display for Installed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        let version = self.version.as_deref().unwrap_or("of unknown version");
        let time = span(self.elapsed_ms);
        match (self.via, self.bytes) {
            (InstalledBy::Found, _) => {
                write!(
                    f,
                    "a browser is already there: {path} ({}); pass `--force` to install another",
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
                    amount(bytes)
                )
            }
        }
    }
}

/// [`Ui`] on stderr and stdin.
#[derive(Default)]
pub struct Terminal {
    bar: Option<Bar>,
    /// Plain lines already said in place of a bar.
    said: u64,
}

impl Terminal {
    /// One line on stderr. A closed stderr is no reason to stop an install.
    fn say(&mut self, line: &str) {
        if let Some(bar) = &mut self.bar {
            bar.clear();
        }
        let _ = writeln!(io::stderr(), "{line}");
    }
}

impl Ui for Terminal {
    fn can_ask(&self) -> bool {
        io::stdin().is_terminal()
    }

    fn ask(&mut self, plan: &str) -> bool {
        self.say(plan);
        let _ = write!(io::stderr(), "go on? [Y/n] ");
        let _ = io::stderr().flush();
        let mut answer = String::new();
        match io::stdin().read_line(&mut answer) {
            Ok(0) | Err(_) => false,
            Ok(_) => matches!(answer.trim().to_ascii_lowercase().as_str(), "" | "y" | "yes"),
        }
    }

    fn note(&mut self, line: &str) {
        self.say(line);
    }

    fn progress(&mut self, done: u64, total: Option<u64>) {
        if !io::stderr().is_terminal() {
            let reached = milestone(done, total);
            if reached > self.said {
                self.said = reached;
                self.say(&match total {
                    Some(total) => format!("{} % of {}", reached * 10, amount(total)),
                    None => amount(done),
                });
            }
            return;
        }
        let bar = self.bar.get_or_insert_with(|| Bar::new(done));
        if total == Some(done) {
            bar.clear();
            self.bar = None;
        } else {
            bar.show(done, total);
        }
    }
}

/// How many tenths are done, or how many times 25 MB when nobody knows of how much.
fn milestone(done: u64, total: Option<u64>) -> u64 {
    match total {
        Some(0) => 10,
        Some(total) => done.saturating_mul(10) / total,
        None => done / 25_000_000,
    }
}

/// The version a browser says it has.
async fn version_of(program: &Path) -> Result<String> {
    let failed = |why: String| {
        Error::new(Code::InstallFailed)
            .message(format!("`{} --version` {why}", program.display()))
            .evidence("path", program.display().to_string())
    };
    let output = output_within(program, &["--version"], VERSION_LIMIT)
        .await
        .map_err(|error| failed(format!("did not run: {error}")))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let first = stderr.lines().next().unwrap_or("it said nothing");
        return Err(failed(format!("ended with {}: {first}", output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    version_in(&text)
        .map(str::to_owned)
        .ok_or_else(|| failed(format!("gave no version: `{}`", text.trim())))
}

/// `130.0.6723.116` in `Chromium 130.0.6723.116 built on Debian GNU/Linux 12`.
fn version_in(text: &str) -> Option<&str> {
    text.split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
}

/// Run a program without input and collect what it says, killing it when the time is up.
async fn output_within(program: &Path, arguments: &[&str], limit: Duration) -> io::Result<Output> {
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    tokio::time::timeout(limit, command.output()).await.map_err(|_| {
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no end after {}", span(limit.as_millis() as u64)),
        )
    })?
}

fn millis_since(begun: Instant) -> u64 {
    begun.elapsed().as_millis() as u64
}

/// A size as people say it: `150 MB`.
fn amount(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{:.0} MB", bytes as f64 / 1e6),
    }
}

/// A time as people say it: `12 s`.
fn span(ms: u64) -> String {
    if ms < 10_000 { format!("{:.1} s", ms as f64 / 1e3) } else { format!("{} s", ms / 1_000) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A person with a prepared answer, who remembers what they were told.
    struct Scripted {
        answer: Option<bool>,
        heard: Vec<String>,
    }

    impl Ui for Scripted {
        fn can_ask(&self) -> bool {
            self.answer.is_some()
        }
        fn ask(&mut self, plan: &str) -> bool {
            self.heard.push(format!("asked: {plan}"));
            self.answer == Some(true)
        }
        fn note(&mut self, line: &str) {
            self.heard.push(format!("noted: {line}"));
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
    fn consent_is_given_beforehand_or_asked_for() {
        let check = |yes, answer, goes_on: bool, heard: &str| {
            let mut ui = Scripted { answer, heard: Vec::new() };
            assert_eq!(install(yes).consent("run: x", &mut ui).is_ok(), goes_on);
            assert_eq!(ui.heard, [heard]);
        };
        check(true, None, true, "noted: run: x");
        check(true, Some(false), true, "noted: run: x");
        check(false, Some(true), true, "asked: run: x");
        check(false, Some(false), false, "asked: run: x");
    }

    #[tokio::test]
    async fn nobody_to_ask_means_nothing_is_tried() {
        let mut ui = Scripted { answer: None, heard: Vec::new() };
        let error = install(false).run(&mut ui).await.expect_err("no yes was given");
        assert_eq!(error.code(), Code::InstallDeclined);
        assert!(error.to_string().contains("pass `--yes`"), "{error}");
        assert!(ui.heard.is_empty());
    }

    #[tokio::test]
    async fn another_channel_is_never_the_distributions() {
        let beta = Install { channel: Channel::Beta, via: Via::Auto, ..install(true) };
        assert!(
            beta.package(&Distro::parse("ID=debian")).await.is_ok_and(|package| package.is_none())
        );
        let distro = Install { via: Via::Distro, ..beta };
        assert!(distro.package(&Distro::parse("ID=debian")).await.is_err());
    }

    #[test]
    fn versions_are_found_in_what_browsers_say() {
        let check = |text, expected| assert_eq!(version_in(text), expected, "{text}");
        check("Google Chrome for Testing 131.0.6778.204 \n", Some("131.0.6778.204"));
        check(
            "Chromium 130.0.6723.116 built on Debian GNU/Linux 12 (bookworm)",
            Some("130.0.6723.116"),
        );
        check("Chromium, 12 of them", None);
        check("", None);
    }

    #[test]
    fn results_read_as_sentences() {
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
            "a browser is already there: /b/chrome (PATH); pass `--force` to install another",
        );
    }

    #[test]
    fn sizes_and_times_are_short() {
        assert_eq!(
            [0, 999, 1_000, 2_400_000].map(amount),
            ["0 bytes", "999 bytes", "1 kB", "2 MB"].map(String::from)
        );
        assert_eq!([40, 9_900, 61_000].map(span), ["0.0 s", "9.9 s", "61 s"].map(String::from));
        assert_eq!(
            [(0, Some(0)), (55, Some(100)), (100, Some(100)), (60_000_000, None)]
                .map(|(d, t)| milestone(d, t)),
            [10, 5, 10, 2]
        );
    }
}
