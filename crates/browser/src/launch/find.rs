//! Browser discovery: a named program, `PATH`, system locations, our cache or that of other tools.

use crate::error::{Code, Error, Result};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// The browser to look for.
#[derive(Clone, Debug, Default)]
pub struct BrowserQuery {
    /// Exactly this program.
    pub chrome: Option<PathBuf>,
    /// A browser that can show windows.
    pub headed: bool,
}

/// A browser program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// The place of discovery.
    pub origin: Origin,
}

impl Found {
    /// True for `chrome-headless-shell`, the small build without windows.
    pub fn is_headless_shell(&self) -> bool {
        is_headless_shell(&self.path)
    }
}

impl Found {
    /// The binary behind a distribution's wrapper script, which takes 100 ms to inspect the system and then runs it.
    /// A program that the caller named is run as named.
    pub(crate) fn program(&self) -> PathBuf {
        if matches!(self.origin, Origin::Named | Origin::Variable) || !is_script(&self.path) {
            return self.path.clone();
        }
        let real = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        let name = self.path.file_name().unwrap_or_default();
        let beside = real.parent().map(|folder| folder.join("chrome"));
        let libraries =
            ["/usr/lib", "/usr/lib64"].map(|folder| Path::new(folder).join(name).join(name));
        beside
            .into_iter()
            .chain(libraries)
            .find(|program| is_program(program) && !is_script(program))
            .unwrap_or_else(|| self.path.clone())
    }
}

/// The place where a browser was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Named by the caller.
    Named,
    /// Named by `AGBROWSE_CHROME`.
    Variable,
    /// On `PATH`.
    Path,
    /// In a system location.
    System,
    /// Installed by us.
    Cache,
    /// Installed by Playwright.
    Playwright,
    /// Installed by Puppeteer.
    Puppeteer,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Named => "named by --chrome",
            Self::Variable => "named by AGBROWSE_CHROME",
            Self::Path => "on PATH",
            Self::System => "in the usual place",
            Self::Cache => "installed by agbrowse",
            Self::Playwright => "installed by Playwright",
            Self::Puppeteer => "installed by Puppeteer",
        })
    }
}

/// Browser program names on `PATH`, best first.
const NAMES: &[&str] = &[
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
    "google-chrome-beta",
    "google-chrome-unstable",
    "microsoft-edge-stable",
    "brave-browser",
    "chrome-headless-shell",
    "chromium-headless-shell",
];

#[cfg(target_os = "linux")]
const SYSTEM_PATHS: &[&str] = &[
    "/usr/bin/chromium",
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/opt/google/chrome-beta/chrome",
    "/opt/chromium.org/chromium/chrome",
    "/opt/microsoft/msedge/msedge",
    "/opt/brave.com/brave/brave",
    "/snap/bin/chromium",
    "/var/lib/flatpak/exports/bin/org.chromium.Chromium",
    "/usr/local/bin/chrome",
];
#[cfg(target_os = "macos")]
const SYSTEM_PATHS: &[&str] = &[
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
    "/Applications/Google Chrome Beta.app/Contents/MacOS/Google Chrome Beta",
    "/Applications/Google Chrome Canary.app/Contents/MacOS/Google Chrome Canary",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "/Applications/Brave Browser.app/Contents/MacOS/Brave Browser",
];
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
const SYSTEM_PATHS: &[&str] = &[
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files\Chromium\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
];

/// Programs inside an unpacked build, as Chrome for Testing, Playwright and Puppeteer lay them out.
const PROGRAMS: &[&str] = &[
    "chrome-linux64/chrome",
    "chrome-linux/chrome",
    "chrome-mac-arm64/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
    "chrome-mac-x64/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
    "chrome-mac/Chromium.app/Contents/MacOS/Chromium",
    "chrome-win64/chrome.exe",
    "chrome-headless-shell-linux64/chrome-headless-shell",
    "chrome-headless-shell-mac-arm64/chrome-headless-shell",
    "chrome-headless-shell-mac-x64/chrome-headless-shell",
    "chrome-linux/headless_shell",
    "chrome-mac/headless_shell",
];

/// Finds a browser.
///
/// # Errors
/// `browser.not-found`, with the searched places. A named browser that does not exist, or has no windows where one is
/// needed, is an error too: no other browser is substituted.
pub fn find(query: &BrowserQuery) -> Result<Found> {
    let named = match (&query.chrome, variable("AGBROWSE_CHROME")) {
        (Some(path), _) => Some((path.clone(), Origin::Named)),
        (None, Some(path)) => Some((path.into(), Origin::Variable)),
        (None, None) => None,
    };
    if let Some((path, origin)) = named {
        let path = program_named(&path);
        if !is_program(&path) {
            return Err(Error::new(Code::BrowserNotFound)
                .message(format!("`{}` is not a program ({origin})", path.display())));
        }
        let found = Found { path, origin };
        return if query.headed && found.is_headless_shell() {
            Err(no_windows_error(&found))
        } else {
            Ok(found)
        };
    }
    let home = etcetera::home_dir().ok();
    let path = variable("PATH");
    let ours = browsers_dir();
    let places = SearchPath {
        path: path.as_deref(),
        system: SYSTEM_PATHS,
        cache: &ours,
        playwright: playwright(home.as_deref(), variable),
        puppeteer: puppeteer(home.as_deref(), variable),
    };
    if let Some(found) = search(&places, query.headed) {
        return Ok(found);
    }
    if let Some(shell) = search(&places, false) {
        return Err(no_windows_error(&shell));
    }
    Err(Error::new(Code::BrowserNotFound)
        .message("no Chromium or Chrome was found on this machine")
        .evidence(
            "looked",
            vec![
                format!("PATH for {}", NAMES.join(", ")),
                format!("{} usual places", SYSTEM_PATHS.len()),
                ours.display().to_string(),
                "the caches of Playwright and Puppeteer".to_owned(),
            ],
        ))
}

/// Resolves a program name like a shell: a bare name is searched on `PATH`. A name with a slash, or one not found, is
/// a path.
pub fn program_named(name: &Path) -> PathBuf {
    let is_bare = !name.as_os_str().as_encoded_bytes().contains(&b'/');
    let found = is_bare.then(|| on_path(variable("PATH").as_deref(), name, is_program)).flatten();
    found.unwrap_or_else(|| name.to_owned())
}

fn on_path(path: Option<&OsStr>, name: &Path, is_fit: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    std::env::split_paths(path?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|program| is_fit(program))
}

fn no_windows_error(found: &Found) -> Error {
    Error::new(Code::BrowserNotFound).message(format!(
        "`{}` ({}) is a headless shell and has no windows: name a whole browser with `--chrome`, or leave out `--headed`",
        found.path.display(),
        found.origin
    ))
}

/// The folder where `agbrowse install` puts browsers.
pub fn browsers_dir() -> PathBuf {
    use etcetera::BaseStrategy;
    etcetera::choose_base_strategy()
        .map_or_else(|_| std::env::temp_dir(), |base| base.cache_dir())
        .join("agbrowse")
        .join("browsers")
}

/// The places to search.
struct SearchPath<'a> {
    path: Option<&'a OsStr>,
    system: &'a [&'a str],
    cache: &'a Path,
    playwright: Vec<PathBuf>,
    puppeteer: Vec<PathBuf>,
}

fn search(places: &SearchPath<'_>, headed: bool) -> Option<Found> {
    let is_fit = |path: &Path| is_program(path) && !(headed && is_headless_shell(path));
    let on_path = NAMES.iter().find_map(|name| on_path(places.path, Path::new(name), is_fit));
    let found = |path, origin| Found { path, origin };
    on_path
        .map(|path| found(path, Origin::Path))
        .or_else(|| {
            let place = places.system.iter().map(PathBuf::from).find(|place| is_fit(place))?;
            Some(found(place, Origin::System))
        })
        .or_else(|| Some(found(newest(places.cache, &[""], is_fit)?, Origin::Cache)))
        .or_else(|| {
            let builds = ["chromium-", "chromium_headless_shell-"];
            let program =
                places.playwright.iter().find_map(|folder| newest(folder, &builds, is_fit))?;
            Some(found(program, Origin::Playwright))
        })
        .or_else(|| {
            let program = places.puppeteer.iter().find_map(|folder| {
                ["chrome", "chrome-headless-shell"]
                    .iter()
                    .find_map(|build| newest(&folder.join(build), &[""], is_fit))
            })?;
            Some(found(program, Origin::Puppeteer))
        })
}

/// Playwright's browser folders: the configured one, then the defaults.
fn playwright(home: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let moved = variable("PLAYWRIGHT_BROWSERS_PATH").map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").map(|cache| Path::new(&cache).join("ms-playwright"));
    let usual = [".cache/ms-playwright", "Library/Caches/ms-playwright"];
    let usual = usual.iter().filter_map(|folder| Some(home?.join(folder)));
    // A relative path depends on an unknown working directory; `0` means beside each package.
    moved.into_iter().chain(cache).filter(|folder| folder.is_absolute()).chain(usual).collect()
}

/// Puppeteer's browser folders.
fn puppeteer(home: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let moved = variable("PUPPETEER_CACHE_DIR").map(PathBuf::from);
    let usual = home.map(|home| home.join(".cache/puppeteer"));
    moved.filter(|folder| folder.is_absolute()).into_iter().chain(usual).collect()
}

/// The program of the newest build in a folder of builds. Prefixes are tried in order.
fn newest(folder: &Path, prefixes: &[&str], is_fit: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut builds: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    builds.sort_by_key(|name| std::cmp::Reverse(version(name)));
    prefixes.iter().find_map(|prefix| {
        builds.iter().filter(|name| name.starts_with(prefix)).find_map(|name| {
            PROGRAMS.iter().map(|program| folder.join(name).join(program)).find(|path| is_fit(path))
        })
    })
}

/// The numbers in a folder's name, so that 9 is older than 10.
fn version(name: &str) -> Vec<u64> {
    name.split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|part| part.parse().ok())
        .collect()
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// True if a program, or the target of its link, is named headless shell: Playwright writes it `headless_shell`.
fn is_headless_shell(path: &Path) -> bool {
    let is_called_so = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.contains("headless-shell") || name.contains("headless_shell")
    };
    is_called_so(path) || path.canonicalize().is_ok_and(|real| is_called_so(&real))
}

fn is_script(path: &Path) -> bool {
    use std::io::Read;
    let mut start = [0; 2];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == *b"#!"
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn path_is_searched_first_then_caches_newest_first() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let path = std::env::join_paths([at("bin"), at("sbin")]).unwrap();
        let home = at("home");
        let cache = at("cache");
        let places = SearchPath {
            path: Some(&path),
            system: &[],
            cache: &cache,
            playwright: playwright(Some(&home), |_| None),
            puppeteer: puppeteer(Some(&home), |_| None),
        };
        let look = || search(&places, false);
        assert_eq!(look(), None);

        program(&at("home/.cache/puppeteer/chrome/linux-1.2/chrome-linux64/chrome"));
        assert_eq!(look().unwrap().origin, Origin::Puppeteer);
        program(&at("home/.cache/ms-playwright/chromium-9/chrome-linux/chrome"));
        program(&at("home/.cache/ms-playwright/chromium-10/chrome-linux/chrome"));
        let found = look().unwrap();
        assert_eq!(found.origin, Origin::Playwright);
        assert!(found.path.to_string_lossy().contains("chromium-10"), "{found:?}");
        program(&at("cache/chrome-156.0.1.2/chrome-linux64/chrome"));
        assert_eq!(look().unwrap().origin, Origin::Cache);
        program(&at("sbin/chrome-headless-shell"));
        assert!(look().unwrap().is_headless_shell());
        assert_eq!(search(&places, true).unwrap().origin, Origin::Cache, "a window is wanted");
        program(&at("sbin/google-chrome"));
        assert_eq!(look().unwrap().path, at("sbin/google-chrome"));
        program(&at("sbin/chromium"));
        assert_eq!(look().unwrap().path, at("sbin/chromium"));
    }

    #[test]
    fn wrapper_script_is_bypassed_unless_named() {
        let root = tempfile::tempdir().unwrap();
        let (script, real) = (root.path().join("google-chrome"), root.path().join("chrome"));
        program(&script);
        program(&real);
        std::fs::write(&script, "#!/bin/sh\nexec chrome").unwrap();
        std::fs::write(&real, "\x7fELF").unwrap();
        let found = |origin| Found { path: script.clone(), origin };
        assert_eq!(found(Origin::Path).program(), real.canonicalize().unwrap());
        assert_eq!(found(Origin::Named).program(), script);
        std::fs::remove_file(&real).unwrap();
        assert_eq!(found(Origin::Path).program(), script);
    }

    #[test]
    fn non_executable_file_is_not_a_browser() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("chromium"), "").unwrap();
        let places = SearchPath {
            path: Some(root.path().as_os_str()),
            system: &[],
            cache: root.path(),
            playwright: vec![root.path().to_owned()],
            puppeteer: vec![],
        };
        assert_eq!(search(&places, false), None);
        let named =
            BrowserQuery { chrome: Some(root.path().join("chromium")), ..BrowserQuery::default() };
        assert_eq!(find(&named).unwrap_err().code(), Code::BrowserNotFound);
    }

    #[test]
    fn configured_cache_folders_are_searched() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let (nowhere, home) = (at("nowhere"), at("home"));
        program(&home.join(".cache/ms-playwright/chromium-1/chrome-linux/chrome"));
        program(&at("moved/chromium_headless_shell-2/chrome-linux/headless_shell"));
        program(&at("xdg/ms-playwright/chromium-3/chrome-linux/chrome"));
        program(&at("puppets/chrome/linux-4/chrome-linux64/chrome"));
        let look = |name: &'static str, value: PathBuf| {
            let set = |asked: &str| (asked == name).then(|| value.clone().into_os_string());
            // Puppeteer is searched last, so the other caches must be empty.
            let others = if name.starts_with("PUPPETEER") { &nowhere } else { &home };
            let places = SearchPath {
                path: None,
                system: &[],
                cache: &nowhere,
                playwright: playwright(Some(others), set),
                puppeteer: puppeteer(Some(others), set),
            };
            search(&places, false).unwrap()
        };
        let found = look("PLAYWRIGHT_BROWSERS_PATH", at("moved"));
        assert!(found.path.starts_with(at("moved")) && found.is_headless_shell(), "{found:?}");
        let found = look("XDG_CACHE_HOME", at("xdg"));
        assert!(found.path.starts_with(at("xdg")), "{found:?}");
        let found = look("PUPPETEER_CACHE_DIR", at("puppets"));
        assert_eq!(found.origin, Origin::Puppeteer);
        let found = look("PLAYWRIGHT_BROWSERS_PATH", "0".into());
        assert!(found.path.starts_with(&home), "{found:?}");
    }

    #[test]
    fn headless_shell_is_refused_for_headed_mode() {
        let root = tempfile::tempdir().unwrap();
        let shell = root.path().join("headless_shell");
        program(&shell);
        let link = root.path().join("chrome");
        std::os::unix::fs::symlink(&shell, &link).unwrap();
        for path in [shell, link] {
            let mut query = BrowserQuery { chrome: Some(path), headed: false };
            assert!(find(&query).unwrap().is_headless_shell());
            query.headed = true;
            let error = find(&query).unwrap_err();
            assert_eq!(error.code(), Code::BrowserNotFound);
            assert!(error.to_string().contains("leave out `--headed`"), "{error}");
        }
    }
}
