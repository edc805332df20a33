//! Chrome for Testing: selects the build for this system and installs it into the browser cache.
//!
//! The browser cache is a folder in the user's cache directory with a folder per browser, `<build>-<version>`. A browser
//! is renamed to its final name after it was unpacked completely and has printed its version, so a lookup finds a working
//! browser or none. A file lock lets one install change the cache at a time.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use browser::{Code, Error};
use serde::Deserialize;

use super::archive::{self, ArchiveError};
use super::distro::{Distro, Family, missing_libraries};
use super::download::{self, Limits};
use super::{Build, Channel, Result, Ui, Via, version_of};

/// Index of the last known good version of each channel, with downloads.
pub(super) const INDEX: &str = "https://googlechromelabs.github.io/chrome-for-testing/last-known-good-versions-with-downloads.json";

/// Name of the folder to unpack into. The leading dot and the missing version exclude it from the browser search.
const UNPACKING: &str = ".unpacking";
/// Name of a replaced browser's folder until it is deleted.
const REPLACED: &str = ".replaced";

/// A platform of the Chrome for Testing index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Platform {
    Linux64,
    MacX64,
    MacArm64,
    Win64,
}

impl Platform {
    /// Name in the index and the archive.
    fn name(self) -> &'static str {
        match self {
            Self::Linux64 => "linux64",
            Self::MacX64 => "mac-x64",
            Self::MacArm64 => "mac-arm64",
            Self::Win64 => "win64",
        }
    }
}

/// Returns the platform of this system.
pub(super) fn platform(os: &str, arch: &str, distro: &Distro, via: Via) -> Result<Platform> {
    let unsupported = |why: &str| {
        let alternative = match distro.chromium_command() {
            Some(command) => format!("use the distribution's package: `{command}`"),
            None => "use the distribution's `chromium` package".to_owned(),
        };
        Err(Error::new(Code::InstallUnsupported)
            .message(format!("{why}; {alternative}"))
            .evidence("os", os)
            .evidence("arch", arch))
    };
    match (os, arch) {
        // An explicit `--via testing` is tried: there are glibc compatibility layers.
        ("linux", "x86_64") if distro.family() == Family::Alpine && via != Via::Testing => {
            unsupported("Chrome for Testing needs glibc, which this system does not have")
        }
        ("linux", "x86_64") => Ok(Platform::Linux64),
        ("macos", "x86_64") => Ok(Platform::MacX64),
        ("macos", "aarch64") => Ok(Platform::MacArm64),
        ("windows", "x86_64") => Ok(Platform::Win64),
        ("linux", _) => {
            unsupported(&format!("Chrome for Testing has no build for linux on {arch}"))
        }
        _ => Err(Error::new(Code::InstallUnsupported)
            .message(format!("Chrome for Testing has no build for {os} on {arch}"))
            .evidence("os", os)
            .evidence("arch", arch)),
    }
}

/// A downloadable browser version.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Release {
    pub(super) version: String,
    pub(super) url: String,
    build: Build,
    platform: Platform,
}

impl Release {
    /// Name of its folder in the browser cache.
    pub(super) fn folder(&self) -> String {
        format!("{}-{}", self.build.name(), self.version)
    }

    /// Path of the executable inside that folder.
    fn program(&self) -> PathBuf {
        let name = self.build.name();
        let top = PathBuf::from(format!("{name}-{}", self.platform.name()));
        match (self.build, self.platform) {
            (Build::Chrome, Platform::MacX64 | Platform::MacArm64) => {
                top.join("Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing")
            }
            (_, Platform::Win64) => top.join(format!("{name}.exe")),
            _ => top.join(name),
        }
    }
}

impl Build {
    fn name(self) -> &'static str {
        match self {
            Self::Chrome => "chrome",
            Self::ChromeHeadlessShell => "chrome-headless-shell",
        }
    }
}

impl Channel {
    fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Beta => "beta",
            Self::Dev => "dev",
            Self::Canary => "canary",
        }
    }
}

// The index is a third party's format and may grow: all fields are optional, all names open strings.

#[derive(Deserialize)]
struct Index {
    channels: Option<BTreeMap<String, Option<ChannelEntry>>>,
}

#[derive(Deserialize)]
struct ChannelEntry {
    version: Option<String>,
    downloads: Option<BTreeMap<String, Option<Vec<Download>>>>,
}

#[derive(Deserialize)]
struct Download {
    platform: Option<String>,
    url: Option<String>,
}

/// Selects the release for a channel, build and platform from an index.
pub(super) fn choose(
    text: &[u8],
    address: &str,
    channel: Channel,
    build: Build,
    platform: Platform,
) -> Result<Release> {
    let invalid = |why: String| {
        Error::new(Code::InstallFailed)
            .message(format!("`{address}` is not a valid Chrome for Testing index: {why}"))
            .evidence("index", address)
    };
    let index: Index = serde_json::from_slice(text).map_err(|error| invalid(error.to_string()))?;
    let entry = index
        .channels
        .into_iter()
        .flatten()
        .find(|(name, _)| name.eq_ignore_ascii_case(channel.name()))
        .and_then(|(_, entry)| entry)
        .ok_or_else(|| invalid(format!("it has no channel `{}`", channel.name())))?;
    let version = entry
        .version
        .ok_or_else(|| invalid(format!("channel `{}` has no version", channel.name())))?;
    // The version becomes a folder name.
    if !version.starts_with(|c: char| c.is_ascii_digit())
        || !version.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
    {
        return Err(invalid(format!("`{version}` is not a version")));
    }
    let url = entry
        .downloads
        .into_iter()
        .flatten()
        .find(|(name, _)| name == build.name())
        .and_then(|(_, downloads)| downloads)
        .into_iter()
        .flatten()
        .find(|download| download.platform.as_deref() == Some(platform.name()))
        .and_then(|download| download.url)
        .ok_or_else(|| {
            invalid(format!(
                "version {version} has no `{}` for `{}`",
                build.name(),
                platform.name()
            ))
        })?;
    // Only the connection authenticates the archive, so an https index must not lead to an http download.
    let is_safe = url.starts_with("https://")
        || (url.starts_with("http://") && !address.starts_with("https:"));
    if !is_safe {
        return Err(invalid(format!("`{url}` is not an https address")));
    }
    Ok(Release { version, url, build, platform })
}

/// The folder of installed browsers, locked until dropped.
pub(super) struct BrowserCache {
    folder: PathBuf,
    /// Another install held the lock, so a browser may be installed by now.
    pub(super) waited: bool,
    _lock: File,
}

/// A browser that was just installed into the cache.
pub(super) struct InstalledBuild {
    pub(super) path: PathBuf,
    pub(super) version: String,
    /// Size of the archive in bytes.
    pub(super) bytes: u64,
}

impl BrowserCache {
    pub(super) async fn open(ui: &mut dyn Ui) -> Result<Self> {
        let folder = browser::launch::browsers_dir();
        fs::create_dir_all(&folder).map_err(|error| write_error(&folder, &error))?;
        let path = folder.join("install.lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| write_error(&path, &error))?;
        match file.try_lock() {
            Ok(()) => {
                return Ok(Self { folder, waited: false, _lock: file });
            }
            // Some file systems have no locks; there only the rename protects an install.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                ui.note("the file system of the cache folder does not support locks: do not run two installs at once");
                return Ok(Self { folder, waited: false, _lock: file });
            }
            Err(TryLockError::Error(error)) => return Err(write_error(&path, &error)),
            Err(TryLockError::WouldBlock) => {
                ui.note("waiting for another install to finish");
            }
        }
        let locked = tokio::task::spawn_blocking(move || file.lock().map(|()| file)).await;
        let file = locked
            .expect("locking a file does not panic")
            .map_err(|error| write_error(&path, &error))?;
        Ok(Self { folder, waited: true, _lock: file })
    }

    /// Downloads, unpacks, test-runs and moves the browser to its final folder.
    pub(super) async fn install(
        &self,
        release: &Release,
        client: &reqwest::Client,
        limits: &Limits,
        distro: &Distro,
        ui: &mut dyn Ui,
    ) -> Result<InstalledBuild> {
        let part =
            self.folder.join(format!("{}-{}.zip.part", release.folder(), release.platform.name()));
        self.remove_leftovers(&part);
        let mut progress = |done, total| ui.progress(done, total);
        let bytes = download::fetch(client, &release.url, &part, limits, &mut progress).await?;
        ui.note("unpacking");
        let unpacked = self.unpack(release, &part).await?;
        let version = test_run(&unpacked.0.join(release.program()), release, distro).await?;
        let destination = self.folder.join(release.folder());
        self.replace_folder(&unpacked.0, &destination)
            .map_err(|error| write_error(&destination, &error))?;
        download::discard(&part);
        Ok(InstalledBuild { path: destination.join(release.program()), version, bytes })
    }

    async fn unpack(&self, release: &Release, part: &Path) -> Result<TempFolder> {
        let unpacked_folder = TempFolder(self.folder.join(UNPACKING));
        let (from, into) = (part.to_owned(), unpacked_folder.0.clone());
        let result = tokio::task::spawn_blocking(move || archive::unpack(&from, &into)).await;
        let panicked = |_| Err(ArchiveError::Corrupt("it cannot be parsed".to_owned()));
        let result = result.unwrap_or_else(panicked).and_then(|()| {
            let program = release.program();
            if unpacked_folder.0.join(&program).is_file() {
                Ok(())
            } else {
                Err(ArchiveError::Corrupt(format!("it has no `{}`", program.display())))
            }
        });
        result.map(|()| unpacked_folder).map_err(|error| match error {
            ArchiveError::Disk(path, error) => write_error(&path, &error),
            ArchiveError::Corrupt(why) => {
                // Resuming would keep the same bytes.
                download::discard(part);
                Error::new(Code::InstallCorrupt)
                    .message(format!(
                        "the archive from `{}` is corrupt and was deleted: {why}",
                        release.url
                    ))
                    .evidence("url", release.url.as_str())
            }
        })
    }

    /// Renames a folder to its final name and replaces an existing one.
    fn replace_folder(&self, unpacked: &Path, destination: &Path) -> io::Result<()> {
        let old = TempFolder(self.folder.join(REPLACED));
        let had_old = destination.exists();
        if had_old {
            fs::rename(destination, &old.0)?;
        }
        fs::rename(unpacked, destination).inspect_err(|_| {
            if had_old {
                let _ = fs::rename(&old.0, destination);
            }
        })
    }

    /// Removes leftovers of killed installs, except the partial download that is about to be resumed.
    fn remove_leftovers(&self, part: &Path) {
        let kept_name = part.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == UNPACKING || name == REPLACED {
                let _ = fs::remove_dir_all(entry.path());
            } else if name.contains(".zip.part") && !name.starts_with(&kept_name) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// A temporary folder: deleted on drop, unless it was renamed.
struct TempFolder(PathBuf);

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Checks for missing shared libraries and runs `--version`; returns the version.
async fn test_run(program: &Path, release: &Release, distro: &Distro) -> Result<String> {
    // On Windows `--version` opens a window instead of printing.
    if cfg!(windows) {
        return Ok(release.version.clone());
    }
    let missing = missing_libraries(program).await;
    if missing.is_empty() {
        return version_of(program).await;
    }
    let names = missing.join(", ");
    let fix = match distro.libraries_command(&missing) {
        Some(command) => format!("run `{command}`"),
        None => "install them with the package manager".to_owned(),
    };
    Err(Error::new(Code::InstallFailed)
        .message(format!(
            "Chrome for Testing {} cannot start without these shared libraries: {names}; {fix}, then install \
             again (the download is kept)",
            release.version
        ))
        .evidence("missing", names))
}

fn write_error(path: &Path, error: &io::Error) -> Error {
    Error::new(Code::InstallFailed)
        .message(format!("cannot write `{}`: {error}", path.display()))
        .evidence("path", path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"{
        "timestamp": "2025-01-05T22:09:08.729Z",
        "channels": {
            "Stable": {
                "channel": "Stable", "version": "131.0.6778.204", "revision": "1368529",
                "downloads": {
                    "chrome": [
                        {"platform": "linux64", "url": "https://x.test/131/chrome-linux64.zip"},
                        {"platform": "win64", "url": "http://x.test/131/chrome-win64.zip"},
                        {"platform": "mac-x64"}
                    ],
                    "chrome-headless-shell": [
                        {"platform": "linux64", "url": "https://x.test/131/chrome-headless-shell-linux64.zip"}
                    ],
                    "chromedriver": null
                }
            },
            "Beta": {"version": "../../etc", "downloads": {}},
            "Dev": null
        },
        "added later": [1, 2, 3]
    }"#;

    fn choose_sample(channel: Channel, build: Build, platform: Platform) -> Result<Release> {
        choose(SAMPLE.as_bytes(), "https://x.test/index.json", channel, build, platform)
    }

    #[test]
    fn platform_is_selected_by_os_and_architecture() {
        let check = |os, arch, expected| {
            let got = platform(os, arch, &Distro::parse("ID=debian"), Via::Testing);
            assert_eq!(got.ok(), expected, "{os} {arch}");
        };
        check("linux", "x86_64", Some(Platform::Linux64));
        check("macos", "x86_64", Some(Platform::MacX64));
        check("macos", "aarch64", Some(Platform::MacArm64));
        check("windows", "x86_64", Some(Platform::Win64));
        check("linux", "aarch64", None);
        check("windows", "aarch64", None);
        check("freebsd", "x86_64", None);
    }

    #[test]
    fn system_without_a_build_is_referred_to_its_package() {
        let check = |arch, release: &str, via, expected: &str| {
            let error =
                platform("linux", arch, &Distro::parse(release), via).expect_err("no build there");
            assert_eq!(error.code(), Code::InstallUnsupported);
            assert!(error.to_string().contains(expected), "{error}");
        };
        check("aarch64", "ID=debian", Via::Testing, "no build for linux on aarch64");
        check(
            "aarch64",
            "ID=debian",
            Via::Auto,
            "`sudo apt-get install -y --no-install-recommends chromium`",
        );
        check("aarch64", "", Via::Auto, "use the distribution's `chromium` package");
        check("x86_64", "ID=alpine", Via::Auto, "needs glibc");
        let explicit = platform("linux", "x86_64", &Distro::parse("ID=alpine"), Via::Testing);
        assert_eq!(explicit.ok(), Some(Platform::Linux64));
    }

    #[test]
    fn index_with_unknown_and_missing_fields_is_parsed() {
        let release =
            choose_sample(Channel::Stable, Build::Chrome, Platform::Linux64).expect("it is listed");
        assert_eq!(release.url, "https://x.test/131/chrome-linux64.zip");
        assert_eq!(release.folder(), "chrome-131.0.6778.204");
        let shell = choose_sample(Channel::Stable, Build::ChromeHeadlessShell, Platform::Linux64)
            .expect("it is listed");
        assert_eq!(shell.folder(), "chrome-headless-shell-131.0.6778.204");
    }

    #[test]
    fn index_without_the_build_names_what_is_missing() {
        let check = |channel, build, platform, expected: &str| {
            let error = choose_sample(channel, build, platform).expect_err("not in the sample");
            assert!(error.to_string().contains(expected), "{error}");
        };
        check(Channel::Canary, Build::Chrome, Platform::Linux64, "it has no channel `canary`");
        check(Channel::Dev, Build::Chrome, Platform::Linux64, "it has no channel `dev`");
        check(Channel::Beta, Build::Chrome, Platform::Linux64, "`../../etc` is not a version");
        check(
            Channel::Stable,
            Build::Chrome,
            Platform::MacArm64,
            "has no `chrome` for `mac-arm64`",
        );
        check(Channel::Stable, Build::Chrome, Platform::MacX64, "has no `chrome` for `mac-x64`");
        check(
            Channel::Stable,
            Build::ChromeHeadlessShell,
            Platform::Win64,
            "has no `chrome-headless-shell`",
        );
        check(Channel::Stable, Build::Chrome, Platform::Win64, "is not an https address");
    }

    #[test]
    fn invalid_index_is_rejected() {
        for text in ["<html>", "[]", "{\"channels\": 3}", "{}", ""] {
            let result = choose(
                text.as_bytes(),
                "https://x.test",
                Channel::Stable,
                Build::Chrome,
                Platform::Linux64,
            );
            let error = result.expect_err("not an index");
            assert!(
                error.to_string().contains("is not a valid Chrome for Testing index"),
                "{error}"
            );
        }
    }

    #[test]
    fn executable_paths_match_the_archives() {
        let check = |build, platform, expected: &str| {
            let release = Release { version: "1.2".into(), url: String::new(), build, platform };
            assert_eq!(release.program(), Path::new(expected));
        };
        check(Build::Chrome, Platform::Linux64, "chrome-linux64/chrome");
        check(Build::Chrome, Platform::Win64, "chrome-win64/chrome.exe");
        check(
            Build::Chrome,
            Platform::MacArm64,
            "chrome-mac-arm64/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
        );
        check(
            Build::ChromeHeadlessShell,
            Platform::Linux64,
            "chrome-headless-shell-linux64/chrome-headless-shell",
        );
        check(
            Build::ChromeHeadlessShell,
            Platform::MacX64,
            "chrome-headless-shell-mac-x64/chrome-headless-shell",
        );
    }
}
