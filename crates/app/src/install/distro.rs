//! Linux distributions: detection, the Chromium package, and packages for missing shared libraries.
//!
//! Package managers run as child processes; their output goes to stderr unmodified and is never parsed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use browser::launch::BrowserQuery;
use browser::{Code, Error};

use super::{Result, output_within};

/// Time limit for `sudo -n true`, `id -u` and `ldd`.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for one package manager command: long enough for a slow mirror, and ends a hidden prompt.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(20 * 60);

/// The fields of `os-release` that select packages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Distro {
    id: String,
    like: Vec<String>,
    version: String,
}

/// Distributions with a common package manager and package names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Debian,
    /// Not Debian: its `chromium` package is a snap wrapper, and snap does not work in containers.
    Ubuntu,
    Fedora,
    Arch,
    /// musl instead of glibc, so Chrome for Testing does not run.
    Alpine,
    Suse,
    Unknown,
}

impl Distro {
    /// Reads the `os-release` of this system; the default when it is not Linux or has no such file.
    pub(super) fn read() -> Self {
        if !cfg!(target_os = "linux") {
            return Self::default();
        }
        ["/etc/os-release", "/usr/lib/os-release"]
            .iter()
            .find_map(|path| std::fs::read_to_string(path).ok())
            .map(|text| Self::parse(&text))
            .unwrap_or_default()
    }

    pub(super) fn parse(text: &str) -> Self {
        let mut distro = Self::default();
        for line in text.lines() {
            let Some((key, value)) = line.trim().split_once('=') else {
                continue;
            };
            let value = value.trim_matches(['"', '\'']);
            match key {
                "ID" => distro.id = value.to_ascii_lowercase(),
                "ID_LIKE" => {
                    distro.like = value.split_whitespace().map(str::to_ascii_lowercase).collect();
                }
                "VERSION_ID" => distro.version = value.to_owned(),
                _ => {}
            }
        }
        distro
    }

    pub(super) fn family(&self) -> Family {
        let names = || std::iter::once(&self.id).chain(&self.like).map(String::as_str);
        // Derivatives of Ubuntu list Debian in `ID_LIKE` too, in either order.
        if names().any(|name| name == "ubuntu") {
            return Family::Ubuntu;
        }
        names()
            .find_map(|name| match name {
                "debian" => Some(Family::Debian),
                "fedora" | "rhel" | "centos" => Some(Family::Fedora),
                "arch" | "archlinux" => Some(Family::Arch),
                "alpine" => Some(Family::Alpine),
                "suse" | "opensuse" | "sles" => Some(Family::Suse),
                _ if name.starts_with("opensuse-") => Some(Family::Suse),
                _ => None,
            })
            .unwrap_or(Family::Unknown)
    }

    /// The shell command that installs Chromium.
    pub(super) fn chromium_command(&self) -> Option<String> {
        match self.family() {
            Family::Unknown => None,
            Family::Ubuntu => Some("sudo snap install chromium".to_owned()),
            family => {
                install_commands(family).last().map(|command| format!("sudo {}", command.join(" ")))
            }
        }
    }

    /// The shell command that installs these shared libraries.
    pub(super) fn libraries_command(&self, libraries: &[String]) -> Option<String> {
        let capabilities = || {
            libraries.iter().map(|name| format!("'{name}()(64bit)'")).collect::<Vec<_>>().join(" ")
        };
        match self.family() {
            Family::Debian | Family::Ubuntu => self.debian_packages(libraries),
            // RPM packages declare the libraries they provide, so no table is needed.
            Family::Fedora => Some(format!("sudo dnf install -y {}", capabilities())),
            Family::Suse => {
                Some(format!("sudo zypper --non-interactive install {}", capabilities()))
            }
            // No table either: this looks up the package.
            Family::Arch => Some(format!("pacman -F {}", libraries.join(" "))),
            Family::Alpine | Family::Unknown => None,
        }
    }

    fn debian_packages(&self, libraries: &[String]) -> Option<String> {
        let mut packages: Vec<&str> = Vec::new();
        for library in libraries {
            let package = match library.as_str() {
                "libasound.so.2" if self.has_time64_names() => "libasound2t64",
                _ => DEBIAN_LIBRARIES.iter().find(|(name, _)| name == library)?.1,
            };
            if !packages.contains(&package) {
                packages.push(package);
            }
        }
        Some(format!("sudo apt-get install -y --no-install-recommends {}", packages.join(" ")))
    }

    /// Returns true if packages have the `t64` suffix of the 64-bit `time_t` transition. The old names still resolve,
    /// except `libasound2`: two packages provide it, and apt does not choose.
    fn has_time64_names(&self) -> bool {
        let version = self.version.parse::<f32>().ok();
        match self.id.as_str() {
            "debian" => version.is_none_or(|version| version >= 13.0),
            "ubuntu" => version.is_none_or(|version| version >= 24.0),
            _ => true,
        }
    }
}

/// The shared libraries of Chrome and their Debian packages.
const DEBIAN_LIBRARIES: &[(&str, &str)] = &[
    ("libX11.so.6", "libx11-6"),
    ("libXcomposite.so.1", "libxcomposite1"),
    ("libXdamage.so.1", "libxdamage1"),
    ("libXext.so.6", "libxext6"),
    ("libXfixes.so.3", "libxfixes3"),
    ("libXrandr.so.2", "libxrandr2"),
    ("libasound.so.2", "libasound2"),
    ("libatk-1.0.so.0", "libatk1.0-0"),
    ("libatk-bridge-2.0.so.0", "libatk-bridge2.0-0"),
    ("libatspi.so.0", "libatspi2.0-0"),
    ("libcairo.so.2", "libcairo2"),
    ("libcups.so.2", "libcups2"),
    ("libdbus-1.so.3", "libdbus-1-3"),
    ("libdrm.so.2", "libdrm2"),
    ("libexpat.so.1", "libexpat1"),
    ("libgbm.so.1", "libgbm1"),
    ("libgio-2.0.so.0", "libglib2.0-0"),
    ("libglib-2.0.so.0", "libglib2.0-0"),
    ("libgobject-2.0.so.0", "libglib2.0-0"),
    ("libgtk-3.so.0", "libgtk-3-0"),
    ("libnspr4.so", "libnspr4"),
    ("libnss3.so", "libnss3"),
    ("libnssutil3.so", "libnss3"),
    ("libpango-1.0.so.0", "libpango-1.0-0"),
    ("libplc4.so", "libnspr4"),
    ("libplds4.so", "libnspr4"),
    ("libsmime3.so", "libnss3"),
    ("libudev.so.1", "libudev1"),
    ("libxcb.so.1", "libxcb1"),
    ("libxkbcommon.so.0", "libxkbcommon0"),
];

/// The commands that install Chromium, without `sudo`.
fn install_commands(family: Family) -> &'static [&'static [&'static str]] {
    match family {
        Family::Debian => &[
            &["apt-get", "update"],
            &["apt-get", "install", "-y", "--no-install-recommends", "chromium"],
        ],
        Family::Fedora => {
            &[&["dnf", "install", "-y", "--setopt=install_weak_deps=False", "chromium"]]
        }
        // Not `-Sy`: partial upgrades break an Arch system.
        Family::Arch => &[&["pacman", "-S", "--noconfirm", "--needed", "chromium"]],
        Family::Alpine => &[&["apk", "add", "--no-cache", "chromium"]],
        Family::Suse => {
            &[&["zypper", "--non-interactive", "install", "--no-recommends", "chromium"]]
        }
        Family::Ubuntu | Family::Unknown => &[],
    }
}

/// The privilege to install packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Privilege {
    Root,
    /// `sudo` without a password.
    Sudo,
}

impl Privilege {
    async fn find() -> Option<Self> {
        if let Ok(output) = output_within(Path::new("id"), &["-u"], QUERY_TIMEOUT).await
            && output.stdout.trim_ascii() == b"0"
        {
            return Some(Self::Root);
        }
        let output = output_within(Path::new("sudo"), &["-n", "true"], QUERY_TIMEOUT).await.ok()?;
        output.status.success().then_some(Self::Sudo)
    }

    /// Returns the arguments of a command with this privilege.
    fn apply(self, command: &[&str]) -> Vec<String> {
        // sudo clears the environment, so the variable that makes debconf non-interactive comes after it.
        let prefix: &[&str] = match self {
            Self::Root => &[],
            Self::Sudo if command[0] == "apt-get" => {
                &["sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive"]
            }
            Self::Sudo => &["sudo", "-n"],
        };
        prefix.iter().chain(command).map(|&argument| argument.to_owned()).collect()
    }
}

/// The distribution's Chromium, and the commands that install it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Package {
    commands: Vec<Vec<String>>,
}

/// Returns the package for this system, if there is one and the privilege to install it.
pub(super) async fn package(distro: &Distro) -> Result<Package> {
    let unsupported = |message: String| Err(Error::new(Code::InstallUnsupported).message(message));
    let family = distro.family();
    match family {
        Family::Ubuntu => {
            return unsupported(
                "the `chromium` package of this distribution is a snap wrapper; use `--via testing`, or run `snap install chromium`"
                    .to_owned(),
            );
        }
        Family::Unknown => {
            return unsupported(format!(
                "no known `chromium` package for `{}`; use `--via testing`",
                if distro.id.is_empty() { std::env::consts::OS } else { &distro.id }
            ));
        }
        _ => {}
    }
    match Privilege::find().await {
        Some(privilege) => Ok(Package::new(family, privilege)),
        None => unsupported(format!(
            "installing a package needs root or sudo without a password; run `{}`, or use `--via testing`",
            distro.chromium_command().unwrap_or_default()
        )),
    }
}

impl Package {
    fn new(family: Family, privilege: Privilege) -> Self {
        Self {
            commands: install_commands(family)
                .iter()
                .map(|command| privilege.apply(command))
                .collect(),
        }
    }

    /// Runs the commands in order; returns the path of the installed browser.
    pub(super) async fn install(&self) -> Result<PathBuf> {
        for command in &self.commands {
            run(command).await?;
        }
        // The package's paths first: with `--force` the usual search may prefer another browser.
        if let Some(path) = ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
            .map(PathBuf::from)
            .into_iter()
            .find(|path| path.exists())
        {
            return Ok(path);
        }
        browser::launch::find(&BrowserQuery::default()).map(|found| found.path).map_err(|error| {
            Error::new(Code::InstallFailed)
                .message(format!(
                    "`{self}` succeeded, but no browser was found: {}",
                    error.details().message
                ))
                .evidence("command", self.to_string())
        })
    }
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> =
            self.commands.iter().map(|arguments| arguments.join(" ")).collect();
        f.write_str(&lines.join(" && "))
    }
}

async fn run(arguments: &[String]) -> Result<()> {
    let line = arguments.join(" ");
    let failed = |why: String| {
        Error::new(Code::InstallFailed)
            .message(format!("`{line}` {why}"))
            .evidence("command", line.as_str())
    };
    let (program, rest) = arguments.split_first().expect("a command has a first word");
    let mut child = tokio::process::Command::new(program)
        .args(rest)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::from(io::stderr()))
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(format!("did not start: {error}")))?;
    match tokio::time::timeout(COMMAND_TIMEOUT, child.wait()).await {
        Err(_) => {
            Err(failed(format!("timed out after {} minutes", COMMAND_TIMEOUT.as_secs() / 60)))
        }
        Ok(Err(error)) => Err(failed(format!("cannot be waited for: {error}"))),
        Ok(Ok(status)) if !status.success() => Err(failed(format!("failed with {status}"))),
        Ok(Ok(_)) => Ok(()),
    }
}

/// Lists the missing shared libraries of a program with `ldd`; empty when there is no `ldd`.
pub(super) async fn missing_libraries(program: &Path) -> Vec<String> {
    let Some(path) = program.to_str() else {
        return Vec::new();
    };
    match output_within(Path::new("ldd"), &[path], QUERY_TIMEOUT).await {
        Ok(output) => {
            let both = [output.stdout, output.stderr].concat();
            parse_missing_libraries(&String::from_utf8_lossy(&both))
        }
        Err(_) => Vec::new(),
    }
}

/// Parses `ldd` output: `libnss3.so => not found` (glibc) and `Error loading shared library libnss3.so: …` (musl).
fn parse_missing_libraries(text: &str) -> Vec<String> {
    let mut names: Vec<String> = text
        .lines()
        .filter_map(|line| match line.trim().strip_prefix("Error loading shared library ") {
            Some(rest) => rest.split_once(':').map(|(name, _)| name),
            None => line.trim().strip_suffix("=> not found").map(str::trim),
        })
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn family_is_detected_from_os_release() {
        let check =
            |text: &str, expected| assert_eq!(Distro::parse(text).family(), expected, "{text}");
        check(
            "PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\nVERSION_ID=\"12\"\n",
            Family::Debian,
        );
        check("ID=raspbian\nID_LIKE=debian", Family::Debian);
        check("ID=ubuntu\nID_LIKE=debian", Family::Ubuntu);
        check("ID=linuxmint\nID_LIKE=\"ubuntu debian\"", Family::Ubuntu);
        check("ID=odd\nID_LIKE='debian ubuntu'", Family::Ubuntu);
        check("ID=fedora", Family::Fedora);
        check("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"", Family::Fedora);
        check("ID=arch", Family::Arch);
        check("ID=manjaro\nID_LIKE=arch", Family::Arch);
        check("ID=alpine", Family::Alpine);
        check("ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"", Family::Suse);
        check("ID=\"opensuse-leap\"", Family::Suse);
        check("ID=nixos", Family::Unknown);
        check("# ID=debian\nnonsense", Family::Unknown);
        check("", Family::Unknown);
    }

    #[test]
    fn package_display_is_the_exact_command() {
        let check = |family, privilege, expected| {
            assert_eq!(Package::new(family, privilege).to_string(), expected);
        };
        check(
            Family::Debian,
            Privilege::Root,
            "apt-get update && apt-get install -y --no-install-recommends chromium",
        );
        check(
            Family::Debian,
            Privilege::Sudo,
            "sudo -n env DEBIAN_FRONTEND=noninteractive apt-get update && \
             sudo -n env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium",
        );
        check(Family::Alpine, Privilege::Sudo, "sudo -n apk add --no-cache chromium");
        check(Family::Arch, Privilege::Root, "pacman -S --noconfirm --needed chromium");
    }

    #[test]
    fn each_family_with_a_package_has_an_install_command() {
        let check = |id: &str, expected: Option<&str>| {
            assert_eq!(
                Distro::parse(&format!("ID={id}")).chromium_command().as_deref(),
                expected,
                "{id}"
            );
        };
        check("debian", Some("sudo apt-get install -y --no-install-recommends chromium"));
        check("ubuntu", Some("sudo snap install chromium"));
        check("alpine", Some("sudo apk add --no-cache chromium"));
        check("nixos", None);
    }

    #[tokio::test]
    async fn snap_and_unknown_systems_are_referred_to_chrome_for_testing() {
        for id in ["ubuntu", "nixos"] {
            let error =
                package(&Distro::parse(&format!("ID={id}"))).await.expect_err("no package there");
            assert_eq!(error.code(), Code::InstallUnsupported);
            assert!(error.to_string().contains("`--via testing`"), "{error}");
        }
    }

    #[tokio::test]
    async fn failing_command_is_named() {
        let arguments = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let error = run(&arguments("no-such-package-manager install chromium"))
            .await
            .expect_err("no such program");
        assert!(
            error.to_string().contains("`no-such-package-manager install chromium` did not start"),
            "{error}"
        );
        #[cfg(unix)]
        {
            let error = run(&arguments("false")).await.expect_err("false fails");
            assert!(error.to_string().contains("`false` failed with exit status: 1"), "{error}");
            run(&arguments("true")).await.expect("true succeeds");
        }
    }

    #[test]
    fn missing_libraries_are_parsed_from_glibc_and_musl_ldd() {
        let check =
            |text, expected: &[&str]| assert_eq!(parse_missing_libraries(text), expected, "{text}");
        check(
            "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibnss3.so => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x7f)\n\
             \tlibgbm.so.1 => not found\n\tlibnss3.so => not found\n",
            &["libgbm.so.1", "libnss3.so"],
        );
        check(
            "Error loading shared library libnss3.so: No such file or directory (needed by /b/chrome)",
            &["libnss3.so"],
        );
        check("\tnot a dynamic executable\n", &[]);
    }

    #[test]
    fn missing_libraries_have_an_install_command() {
        let check = |release: &str, libraries: &[&str], expected: Option<&str>| {
            let libraries: Vec<String> = libraries.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(Distro::parse(release).libraries_command(&libraries).as_deref(), expected);
        };
        check(
            "ID=debian\nVERSION_ID=12",
            &["libasound.so.2", "libnss3.so", "libnssutil3.so"],
            Some("sudo apt-get install -y --no-install-recommends libasound2 libnss3"),
        );
        check(
            "ID=ubuntu\nVERSION_ID=\"24.04\"",
            &["libasound.so.2"],
            Some("sudo apt-get install -y --no-install-recommends libasound2t64"),
        );
        check(
            "ID=ubuntu\nVERSION_ID=\"22.04\"",
            &["libasound.so.2"],
            Some("sudo apt-get install -y --no-install-recommends libasound2"),
        );
        check("ID=debian", &["libunknown.so.9"], None);
        check("ID=fedora", &["libnss3.so"], Some("sudo dnf install -y 'libnss3.so()(64bit)'"));
        check("ID=arch", &["libnss3.so"], Some("pacman -F libnss3.so"));
        check("ID=nixos", &["libnss3.so"], None);
    }
}
