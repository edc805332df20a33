//! Check `fonts`: installed fonts. Without any, screenshots and PDFs show boxes or no text.

use super::{Finding, Severity};
use crate::config::Config;
use std::path::{Path, PathBuf};

/// Package managers and their install commands for fonts.
const PACKAGES: &[(&str, &str)] = &[
    ("apt-get", "apt-get install fonts-liberation fonts-noto-color-emoji fonts-noto-cjk"),
    (
        "dnf",
        "dnf install liberation-fonts google-noto-color-emoji-fonts google-noto-sans-cjk-fonts",
    ),
    ("pacman", "pacman -S ttf-liberation noto-fonts-emoji noto-fonts-cjk"),
    ("apk", "apk add font-liberation font-noto-emoji font-noto-cjk"),
    ("zypper", "zypper install liberation-fonts noto-coloremoji-fonts noto-sans-cjk-fonts"),
];

/// Extensions of font files.
const EXTENSIONS: &[&str] = &[".ttf", ".otf", ".ttc", ".otc", ".pfb", ".dfont"];

/// Substrings of the names of fonts with Chinese, Japanese and Korean glyphs.
const CJK_NAMES: &[&str] = &[
    "cjk",
    "wqy",
    "droidsansfallback",
    "ipag",
    "ipam",
    "takao",
    "nanum",
    "sourcehan",
    "unifont",
    "hiragino",
    "pingfang",
];

/// Depth limit of the search in font directories.
const MAX_DEPTH: usize = 8;

pub(super) async fn run(_config: &Config) -> Finding {
    let fonts = match list_with_fontconfig().await {
        Some(fonts) => fonts,
        None => {
            tokio::task::spawn_blocking(|| search_folders(font_folders())).await.unwrap_or_default()
        }
    };
    finding(&fonts, fix())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fonts {
    count: usize,
    has_emoji: bool,
    has_cjk: bool,
}

fn finding(fonts: &Fonts, fix: &str) -> Finding {
    let count = match fonts.count {
        0 => {
            let detail = "no fonts found: text is rendered as boxes or not at all";
            return Finding::new(Severity::Warn, detail).fix(fix);
        }
        1 => "1 font".to_owned(),
        count => format!("{count} fonts"),
    };
    let missing = match (fonts.has_emoji, fonts.has_cjk) {
        (true, true) => return Finding::new(Severity::Info, count),
        (false, true) => "emoji",
        (true, false) => "Chinese, Japanese and Korean",
        (false, false) => "emoji, Chinese, Japanese and Korean",
    };
    let detail = format!("{count}, none with {missing} glyphs: these are rendered as boxes");
    Finding::new(Severity::Info, detail).fix(fix)
}

/// Lists fonts with fontconfig, where it is installed. Chromium uses it too.
async fn list_with_fontconfig() -> Option<Fonts> {
    // A hugging face emoji and the ideograph for "one": glyphs that only emoji and CJK fonts have.
    let (all, emoji, cjk) =
        tokio::join!(fc_list(":"), fc_list(":charset=1f917"), fc_list(":charset=4e00"));
    Some(Fonts { count: all?, has_emoji: emoji? > 0, has_cjk: cjk? > 0 })
}

async fn fc_list(pattern: &str) -> Option<usize> {
    let output = tokio::process::Command::new("fc-list")
        .args([pattern, "file"])
        .kill_on_drop(true)
        .output()
        .await
        .ok()?;
    let lines = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| lines.lines().filter(|line| !line.trim().is_empty()).count())
}

fn font_folders() -> Vec<PathBuf> {
    let home = etcetera::home_dir().ok();
    let user_folders = [".fonts", ".local/share/fonts", "Library/Fonts"];
    let system_folders = [
        "/usr/share/fonts",
        "/usr/local/share/fonts",
        "/run/current-system/sw/share/X11/fonts",
        "/System/Library/Fonts",
        "/Library/Fonts",
    ];
    let user_folders = user_folders.iter().filter_map(|folder| Some(home.as_ref()?.join(folder)));
    system_folders.iter().map(PathBuf::from).chain(user_folders).collect()
}

fn search_folders(font_folders: Vec<PathBuf>) -> Fonts {
    let mut fonts = Fonts::default();
    let mut pending: Vec<(PathBuf, usize)> =
        font_folders.into_iter().map(|path| (path, 0)).collect();
    while let Some((folder, depth)) = pending.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => {
                    pending.push((entry.path(), depth + 1));
                }
                Ok(kind) if !kind.is_dir() => fonts.add_file(&entry.file_name().to_string_lossy()),
                _ => {}
            }
        }
    }
    fonts
}

impl Fonts {
    fn add_file(&mut self, file: &str) {
        let file = file.to_ascii_lowercase();
        if EXTENSIONS.iter().any(|extension| file.ends_with(extension)) {
            self.count += 1;
            self.has_emoji |= file.contains("emoji");
            self.has_cjk |= CJK_NAMES.iter().any(|part| file.contains(part));
        }
    }
}

fn fix() -> &'static str {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let font_folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let has =
        |program: &str| font_folders.iter().any(|folder| Path::is_file(&folder.join(program)));
    PACKAGES
        .iter()
        .find(|(manager, _)| has(manager))
        .map_or("install the fonts Liberation, Noto Color Emoji and Noto CJK", |(_, line)| *line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_scripts_are_named() {
        for (count, has_emoji, has_cjk, severity, part) in [
            (0, false, false, Severity::Warn, "no fonts found"),
            (1, true, true, Severity::Info, "1 font"),
            (7, true, true, Severity::Info, "7 fonts"),
            (7, false, true, Severity::Info, "none with emoji glyphs:"),
            (7, true, false, Severity::Info, "none with Chinese"),
            (7, false, false, Severity::Info, "none with emoji, Chinese"),
        ] {
            let found = finding(&Fonts { count, has_emoji, has_cjk }, "install some");
            assert_eq!(found.severity, severity, "{found:?}");
            assert!(found.detail.contains(part), "{found:?}");
            assert_eq!(found.fix.is_some(), !(has_emoji && has_cjk), "{found:?}");
        }
    }

    #[test]
    fn fonts_are_found_in_directories() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let run = || search_folders(vec![root.path().to_owned(), at("absent")]);
        std::fs::create_dir_all(at("truetype/noto")).unwrap();
        std::fs::write(at("fonts.dir"), "").unwrap();
        assert_eq!(run(), Fonts::default());
        std::fs::write(at("truetype/noto/NotoColorEmoji.ttf"), "").unwrap();
        assert_eq!(run(), Fonts { count: 1, has_emoji: true, has_cjk: false });
        std::fs::write(at("truetype/NotoSansCJK-Regular.TTC"), "").unwrap();
        assert_eq!(run(), Fonts { count: 2, has_emoji: true, has_cjk: true });
    }
}
