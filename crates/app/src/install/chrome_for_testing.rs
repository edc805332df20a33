//! Chrome for Testing: which build there is for this system, and putting it on the shelf.
//!
//! The shelf is one folder in the user's cache with a folder per browser, `<build>-<version>`. A browser
//! gets its name there by a rename, after it was unpacked whole and has said its version, so whoever looks
//! for one finds it working or not at all. One install works on the shelf at a time.

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

/// What the project publishes: the newest good version of each channel, with its downloads.
pub(super) const INDEX: &str = "https://googlechromelabs.github.io/chrome-for-testing/last-known-good-versions-with-downloads.json";

/// Name of a folder being unpacked. The dot and the missing version keep it from being taken for a browser.
const UNPACKING: &str = ".unpacking";
/// Name of a folder on its way out.
const REPLACED: &str = ".replaced";

/// A system there is a build for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Platform {
    Linux64,
    MacX64,
    MacArm64,
    Win64,
}

impl Platform {
    /// As the index and the archive spell it.
    fn name(self) -> &'static str {
        match self {
            Self::Linux64 => "linux64",
            Self::MacX64 => "mac-x64",
            Self::MacArm64 => "mac-arm64",
            Self::Win64 => "win64",
        }
    }
}

/// The build that fits this system.
pub(super) fn platform(os: &str, arch: &str, distro: &Distro, via: Via) -> Result<Platform> {
    let refused = |why: &str| {
        let instead = match distro.by_hand() {
            Some(command) => format!("use the distribution's package: `{command}`"),
            None => "use the distribution's `chromium` package".to_owned(),
        };
        Err(Error::new(Code::InstallUnsupported)
            .message(format!("{why}; {instead}"))
            .evidence("os", os)
            .evidence("arch", arch))
    };
    match (os, arch) {
        // Asked for by name it is tried: there are compatibility layers.
        ("linux", "x86_64") if distro.family() == Family::Alpine && via != Via::Testing => {
            refused("Chrome for Testing needs glibc, which this system does not have")
        }
        ("linux", "x86_64") => Ok(Platform::Linux64),
        ("macos", "x86_64") => Ok(Platform::MacX64),
        ("macos", "aarch64") => Ok(Platform::MacArm64),
        ("windows", "x86_64") => Ok(Platform::Win64),
        ("linux", _) => refused(&format!("Chrome for Testing has no build for linux on {arch}")),
        _ => Err(Error::new(Code::InstallUnsupported)
            .message(format!("Chrome for Testing has no build for {os} on {arch}"))
            .evidence("os", os)
            .evidence("arch", arch)),
    }
}

/// One browser that can be downloaded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Release {
    pub(super) version: String,
    pub(super) url: String,
    build: Build,
    platform: Platform,
}

impl Release {
    /// Its folder on the shelf.
    pub(super) fn folder(&self) -> String {
        format!("{}-{}", self.build.name(), self.version)
    }

    /// The program to run, inside that folder.
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

// The index belongs to others and may grow: everything is optional, every name an open string.

#[derive(Deserialize)]
struct Index {
    channels: Option<BTreeMap<String, Option<Newest>>>,
}

#[derive(Deserialize)]
struct Newest {
    version: Option<String>,
    downloads: Option<BTreeMap<String, Option<Vec<Download>>>>,
}

#[derive(Deserialize)]
struct Download {
    platform: Option<String>,
    url: Option<String>,
}

/// The release an index offers for this channel, build and platform.
pub(super) fn choose(
    text: &[u8],
    address: &str,
    channel: Channel,
    build: Build,
    platform: Platform,
) -> Result<Release> {
    let useless = |why: String| {
        Error::new(Code::InstallFailed)
            .message(format!("`{address}` is no use as a Chrome for Testing index: {why}"))
            .evidence("index", address)
    };
    let index: Index = serde_json::from_slice(text).map_err(|error| useless(error.to_string()))?;
    let newest = index
        .channels
        .into_iter()
        .flatten()
        .find(|(name, _)| name.eq_ignore_ascii_case(channel.name()))
        .and_then(|(_, newest)| newest)
        .ok_or_else(|| useless(format!("it has no channel `{}`", channel.name())))?;
    let version = newest
        .version
        .ok_or_else(|| useless(format!("channel `{}` has no version", channel.name())))?;
    // It becomes the name of a folder.
    if !version.starts_with(|c: char| c.is_ascii_digit())
        || !version.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
    {
        return Err(useless(format!("`{version}` is not a version")));
    }
    let url = newest
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
            useless(format!(
                "version {version} has no `{}` for `{}`",
                build.name(),
                platform.name()
            ))
        })?;
    // The connection is all that vouches for the archive, so it may not get weaker on the way.
    let is_safe = url.starts_with("https://")
        || (url.starts_with("http://") && !address.starts_with("https:"));
    if !is_safe {
        return Err(useless(format!("`{url}` is not an https address")));
    }
    Ok(Release { version, url, build, platform })
}

/// The folder all installed browsers are in, ours alone until dropped.
pub(super) struct BrowserCache {
    folder: PathBuf,
    /// Another install was at work, so a browser may be there by now.
    pub(super) waited: bool,
    _lock: File,
}

/// A browser just put on the shelf.
pub(super) struct InstalledBuild {
    pub(super) path: PathBuf,
    pub(super) version: String,
    /// Size of the archive.
    pub(super) bytes: u64,
}

impl BrowserCache {
    pub(super) async fn open(ui: &mut dyn Ui) -> Result<Self> {
        let folder = browser::launch::browsers_dir();
        fs::create_dir_all(&folder).map_err(|error| disk(&folder, &error))?;
        let path = folder.join("install.lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| disk(&path, &error))?;
        match file.try_lock() {
            Ok(()) => {
                return Ok(Self { folder, waited: false, _lock: file });
            }
            // Some file systems have no locks; an install there is as safe as its rename.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                ui.note("the cache folder has no locks: do not run two installs at once");
                return Ok(Self { folder, waited: false, _lock: file });
            }
            Err(TryLockError::Error(error)) => return Err(disk(&path, &error)),
            Err(TryLockError::WouldBlock) => {
                ui.note("another install is at work, waiting for it to end");
            }
        }
        let locked = tokio::task::spawn_blocking(move || file.lock().map(|()| file)).await;
        let file =
            locked.expect("taking a lock does not panic").map_err(|error| disk(&path, &error))?;
        Ok(Self { folder, waited: true, _lock: file })
    }

    /// Download, unpack, try, put in place.
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
        self.sweep(&part);
        let mut progress = |done, total| ui.progress(done, total);
        let bytes = download::fetch(client, &release.url, &part, limits, &mut progress).await?;
        ui.note("unpacking");
        let unpacked = self.unpack(release, &part).await?;
        let version = trial(&unpacked.0.join(release.program()), release, distro).await?;
        let place = self.folder.join(release.folder());
        self.swap_in(&unpacked.0, &place).map_err(|error| disk(&place, &error))?;
        download::discard(&part);
        Ok(InstalledBuild { path: place.join(release.program()), version, bytes })
    }

    async fn unpack(&self, release: &Release, part: &Path) -> Result<Scratch> {
        let scratch = Scratch(self.folder.join(UNPACKING));
        let (from, into) = (part.to_owned(), scratch.0.clone());
        let done = tokio::task::spawn_blocking(move || archive::unpack(&from, &into)).await;
        let broken = |_| Err(ArchiveError::Corrupt("no reader can make sense of it".to_owned()));
        let done = done.unwrap_or_else(broken).and_then(|()| {
            let program = release.program();
            if scratch.0.join(&program).is_file() {
                Ok(())
            } else {
                Err(ArchiveError::Corrupt(format!("it has no `{}`", program.display())))
            }
        });
        done.map(|()| scratch).map_err(|refusal| match refusal {
            ArchiveError::Disk(path, error) => disk(&path, &error),
            ArchiveError::Corrupt(why) => {
                // Resuming it would only give the same bytes again.
                download::discard(part);
                Error::new(Code::InstallCorrupt)
                    .message(format!(
                        "the archive from `{}` is refused and was deleted: {why}",
                        release.url
                    ))
                    .evidence("url", release.url.as_str())
            }
        })
    }

    /// Put a folder in its place, whatever was there before.
    fn swap_in(&self, fresh: &Path, place: &Path) -> io::Result<()> {
        let replaced = Scratch(self.folder.join(REPLACED));
        let had_one = place.exists();
        if had_one {
            fs::rename(place, &replaced.0)?;
        }
        fs::rename(fresh, place).inspect_err(|_| {
            if had_one {
                let _ = fs::rename(&replaced.0, place);
            }
        })
    }

    /// Remove what installs that were killed have left, except the download that is about to go on.
    fn sweep(&self, part: &Path) {
        let keep = part.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == UNPACKING || name == REPLACED {
                let _ = fs::remove_dir_all(entry.path());
            } else if name.contains(".zip.part") && !name.starts_with(&keep) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// A folder that is gone when this is, unless it was renamed meanwhile.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether a browser starts here; its version if so.
async fn trial(program: &Path, release: &Release, distro: &Distro) -> Result<String> {
    // There `--version` opens a window instead of answering.
    if cfg!(windows) {
        return Ok(release.version.clone());
    }
    let missing = missing_libraries(program).await;
    if missing.is_empty() {
        return version_of(program).await;
    }
    let names = missing.join(", ");
    let remedy = match distro.libraries_by_hand(&missing) {
        Some(command) => format!("run `{command}`"),
        None => "get them from the distribution".to_owned(),
    };
    Err(Error::new(Code::InstallFailed)
        .message(format!(
            "Chrome for Testing {} needs shared libraries this system lacks: {names}; {remedy}, then install \
             again (the download is kept)",
            release.version
        ))
        .evidence("missing", names))
}

fn disk(path: &Path, error: &io::Error) -> Error {
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

    fn chosen(channel: Channel, build: Build, platform: Platform) -> Result<Release> {
        choose(SAMPLE.as_bytes(), "https://x.test/index.json", channel, build, platform)
    }

    #[test]
    fn systems_get_their_build() {
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
    fn a_system_without_a_build_is_sent_to_its_package() {
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
        let asked_for = platform("linux", "x86_64", &Distro::parse("ID=alpine"), Via::Testing);
        assert_eq!(asked_for.ok(), Some(Platform::Linux64));
    }

    #[test]
    fn the_index_is_read_leniently() {
        let release =
            chosen(Channel::Stable, Build::Chrome, Platform::Linux64).expect("it is listed");
        assert_eq!(release.url, "https://x.test/131/chrome-linux64.zip");
        assert_eq!(release.folder(), "chrome-131.0.6778.204");
        let shell = chosen(Channel::Stable, Build::ChromeHeadlessShell, Platform::Linux64)
            .expect("it is listed");
        assert_eq!(shell.folder(), "chrome-headless-shell-131.0.6778.204");
    }

    #[test]
    fn an_index_without_the_build_says_what_lacks() {
        let check = |channel, build, platform, expected: &str| {
            let error = chosen(channel, build, platform).expect_err("not in the sample");
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
    fn what_is_not_an_index_is_refused() {
        for text in ["<html>", "[]", "{\"channels\": 3}", "{}", ""] {
            let chosen = choose(
                text.as_bytes(),
                "https://x.test",
                Channel::Stable,
                Build::Chrome,
                Platform::Linux64,
            );
            let error = chosen.expect_err("not an index");
            assert!(
                error.to_string().contains("is no use as a Chrome for Testing index"),
                "{error}"
            );
        }
    }

    #[test]
    fn programs_are_where_the_archives_have_them() {
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
