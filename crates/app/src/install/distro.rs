//! The distribution: which one this is, its Chromium package, and its packages for missing libraries.
//!
//! Package managers are run, not imitated: what they print goes to stderr as it comes, and nothing they
//! print is read back.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use browser::launch::BrowserQuery;
use browser::{Code, Error};

use super::{Result, output_within};

/// How long `sudo -n true`, `id -u` and `ldd` may take.
const QUESTION_LIMIT: Duration = Duration::from_secs(5);
/// How long one package manager command may take: a slow mirror, yes; a prompt nobody sees, no.
const STEP_LIMIT: Duration = Duration::from_secs(20 * 60);

/// What `os-release` says about the system, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Distro {
    id: String,
    like: Vec<String>,
    version: String,
}

/// Distributions that share a package manager and package names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Debian,
    /// Apart from Debian: its `chromium` package only calls snap, which does not work in containers.
    Ubuntu,
    Fedora,
    Arch,
    /// Apart from the rest: no glibc, so Chrome for Testing does not run there.
    Alpine,
    Suse,
    Unknown,
}

impl Distro {
    /// Of this system; unknown when it is not a Linux or does not say.
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
        // Ubuntu's children call themselves like Debian too, in either order.
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

    /// The command a person would type here to get Chromium.
    pub(super) fn by_hand(&self) -> Option<String> {
        match self.family() {
            Family::Unknown => None,
            Family::Ubuntu => Some("sudo snap install chromium".to_owned()),
            family => steps(family).last().map(|step| format!("sudo {}", step.join(" "))),
        }
    }

    /// The command a person would type here to get these shared libraries.
    pub(super) fn libraries_by_hand(&self, libraries: &[String]) -> Option<String> {
        let capabilities = || {
            libraries.iter().map(|name| format!("'{name}()(64bit)'")).collect::<Vec<_>>().join(" ")
        };
        match self.family() {
            Family::Debian | Family::Ubuntu => self.debian_packages(libraries),
            // RPM packages say which libraries they carry, so no table can get out of date.
            Family::Fedora => Some(format!("sudo dnf install -y {}", capabilities())),
            Family::Suse => {
                Some(format!("sudo zypper --non-interactive install {}", capabilities()))
            }
            // Nor here: this one looks the package up.
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

    /// Whether packages got `t64` names, with the change to 64-bit time. The old names still lead to the new
    /// packages, except for `libasound2`: two packages claim that one, and apt does not choose.
    fn has_time64_names(&self) -> bool {
        let version = self.version.parse::<f32>().ok();
        match self.id.as_str() {
            "debian" => version.is_none_or(|version| version >= 13.0),
            "ubuntu" => version.is_none_or(|version| version >= 24.0),
            _ => true,
        }
    }
}

/// What Chrome is linked with, and the Debian package that has it.
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

/// The commands that install Chromium, without the rights to run them.
fn steps(family: Family) -> &'static [&'static [&'static str]] {
    match family {
        Family::Debian => &[
            &["apt-get", "update"],
            &["apt-get", "install", "-y", "--no-install-recommends", "chromium"],
        ],
        Family::Fedora => {
            &[&["dnf", "install", "-y", "--setopt=install_weak_deps=False", "chromium"]]
        }
        // Not `-Sy`: a fresh list beside old packages is how an Arch system breaks.
        Family::Arch => &[&["pacman", "-S", "--noconfirm", "--needed", "chromium"]],
        Family::Alpine => &[&["apk", "add", "--no-cache", "chromium"]],
        Family::Suse => {
            &[&["zypper", "--non-interactive", "install", "--no-recommends", "chromium"]]
        }
        Family::Ubuntu | Family::Unknown => &[],
    }
}

/// The right to install packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Privilege {
    Root,
    /// `sudo` that asks for no password.
    Sudo,
}

impl Privilege {
    async fn find() -> Option<Self> {
        if let Ok(output) = output_within(Path::new("id"), &["-u"], QUESTION_LIMIT).await
            && output.stdout.trim_ascii() == b"0"
        {
            return Some(Self::Root);
        }
        let output =
            output_within(Path::new("sudo"), &["-n", "true"], QUESTION_LIMIT).await.ok()?;
        output.status.success().then_some(Self::Sudo)
    }

    /// The words of a command with these rights.
    fn apply(self, step: &[&str]) -> Vec<String> {
        // sudo clears the environment, so what keeps debconf from asking goes behind it.
        let before: &[&str] = match self {
            Self::Root => &[],
            Self::Sudo if step[0] == "apt-get" => {
                &["sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive"]
            }
            Self::Sudo => &["sudo", "-n"],
        };
        before.iter().chain(step).map(|&word| word.to_owned()).collect()
    }
}

/// The distribution's Chromium, and the commands that install it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Package {
    commands: Vec<Vec<String>>,
}

/// The package for this system, if it has one and we have the rights.
pub(super) async fn package(distro: &Distro) -> Result<Package> {
    let unsupported = |message: String| Err(Error::new(Code::InstallUnsupported).message(message));
    let family = distro.family();
    match family {
        Family::Ubuntu => {
            return unsupported(
                "the `chromium` package here only calls snap; use `--via testing`, or `snap install chromium` yourself"
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
        Some(rights) => Ok(Package::new(family, rights)),
        None => unsupported(format!(
            "installing a package needs root or sudo without a password; run `{}`, or use `--via testing`",
            distro.by_hand().unwrap_or_default()
        )),
    }
}

impl Package {
    fn new(family: Family, rights: Privilege) -> Self {
        Self { commands: steps(family).iter().map(|step| rights.apply(step)).collect() }
    }

    /// Run the commands one after another; where the browser is then.
    pub(super) async fn install(&self) -> Result<PathBuf> {
        for command in &self.commands {
            run(command).await?;
        }
        // First where packages put it: with `--force` the usual search may still prefer another browser.
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
                    "`{self}` went well, yet no browser is found: {}",
                    error.details().message
                ))
                .evidence("command", self.to_string())
        })
    }
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.commands.iter().map(|words| words.join(" ")).collect();
        f.write_str(&lines.join(" && "))
    }
}

async fn run(words: &[String]) -> Result<()> {
    let line = words.join(" ");
    let failed = |why: String| {
        Error::new(Code::InstallFailed)
            .message(format!("`{line}` {why}"))
            .evidence("command", line.as_str())
    };
    let (program, arguments) = words.split_first().expect("a command has a first word");
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::from(io::stderr()))
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(format!("did not start: {error}")))?;
    match tokio::time::timeout(STEP_LIMIT, child.wait()).await {
        Err(_) => Err(failed(format!("was stopped after {} minutes", STEP_LIMIT.as_secs() / 60))),
        Ok(Err(error)) => Err(failed(format!("was lost: {error}"))),
        Ok(Ok(status)) if !status.success() => Err(failed(format!("ended with {status}"))),
        Ok(Ok(_)) => Ok(()),
    }
}

/// Shared libraries a program needs and this system lacks; none when there is no `ldd` to tell.
pub(super) async fn missing_libraries(program: &Path) -> Vec<String> {
    let Some(path) = program.to_str() else {
        return Vec::new();
    };
    match output_within(Path::new("ldd"), &[path], QUESTION_LIMIT).await {
        Ok(output) => {
            let both = [output.stdout, output.stderr].concat();
            missing_in(&String::from_utf8_lossy(&both))
        }
        Err(_) => Vec::new(),
    }
}

/// Reads both dialects: `libnss3.so => not found` of glibc, `Error loading shared library libnss3.so: …` of musl.
fn missing_in(text: &str) -> Vec<String> {
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
    fn distributions_are_told_by_their_os_release() {
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
    fn commands_show_exactly_what_runs() {
        let check = |family, rights, expected| {
            assert_eq!(Package::new(family, rights).to_string(), expected);
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
    fn each_family_with_a_package_says_how_to_get_it() {
        let check = |id: &str, expected: Option<&str>| {
            assert_eq!(Distro::parse(&format!("ID={id}")).by_hand().as_deref(), expected, "{id}");
        };
        check("debian", Some("sudo apt-get install -y --no-install-recommends chromium"));
        check("ubuntu", Some("sudo snap install chromium"));
        check("alpine", Some("sudo apk add --no-cache chromium"));
        check("nixos", None);
    }

    #[tokio::test]
    async fn snap_and_unknown_systems_are_refused_with_the_other_way() {
        for id in ["ubuntu", "nixos"] {
            let error =
                package(&Distro::parse(&format!("ID={id}"))).await.expect_err("no package there");
            assert_eq!(error.code(), Code::InstallUnsupported);
            assert!(error.to_string().contains("`--via testing`"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_failing_command_is_named() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let error = run(&words("no-such-package-manager install chromium"))
            .await
            .expect_err("no such program");
        assert!(
            error.to_string().contains("`no-such-package-manager install chromium` did not start"),
            "{error}"
        );
        #[cfg(unix)]
        {
            let error = run(&words("false")).await.expect_err("false fails");
            assert!(error.to_string().contains("`false` ended with exit status: 1"), "{error}");
            run(&words("true")).await.expect("true succeeds");
        }
    }

    #[test]
    fn missing_libraries_are_read_from_both_kinds_of_ldd() {
        let check = |text, expected: &[&str]| assert_eq!(missing_in(text), expected, "{text}");
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
    fn missing_libraries_come_with_a_command() {
        let check = |release: &str, libraries: &[&str], expected: Option<&str>| {
            let libraries: Vec<String> = libraries.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(Distro::parse(release).libraries_by_hand(&libraries).as_deref(), expected);
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
        check("ID=debian", &["libunheard.so.9"], None);
        check("ID=fedora", &["libnss3.so"], Some("sudo dnf install -y 'libnss3.so()(64bit)'"));
        check("ID=arch", &["libnss3.so"], Some("pacman -F libnss3.so"));
        check("ID=nixos", &["libnss3.so"], None);
    }
}
