//! The crates point one way, and only the doors print.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// Who may use whom. A crate that is not listed has no business here.
const MAY_USE: &[(&str, &[&str])] = &[
    ("agbrowse-cdp", &[]),
    ("agbrowse-page", &[]),
    ("agbrowse-browser", &["agbrowse-cdp", "agbrowse-page"]),
    ("agbrowse", &["agbrowse-browser"]),
];

#[test]
fn nothing_points_back() {
    let may_use: BTreeMap<_, _> = MAY_USE.iter().copied().collect();
    let workspace: toml::Table =
        std::fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let renamed = workspace["workspace"]["dependencies"].as_table().unwrap();
    let package = |name: &str| {
        let row =
            renamed.get(name).and_then(|row| row.get("package")).and_then(|name| name.as_str());
        row.unwrap_or(name).to_owned()
    };
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let manifest = entry.unwrap().path().join("Cargo.toml");
        let manifest: toml::Table = std::fs::read_to_string(manifest).unwrap().parse().unwrap();
        let name = manifest["package"]["name"].as_str().unwrap();
        let allowed = may_use.get(name).unwrap_or_else(|| panic!("`{name}` is not in the picture"));
        for used in manifest["dependencies"].as_table().unwrap().keys().map(|used| package(used)) {
            let is_ours = used.starts_with("agbrowse");
            assert!(!is_ours || allowed.contains(&&*used), "`{name}` must not use `{used}`");
        }
        seen += 1;
    }
    assert_eq!(seen, MAY_USE.len());
}

#[test]
fn only_the_doors_print_or_exit() {
    for krate in ["cdp", "page", "browser"] {
        for (path, text) in sources(&root().join("crates").join(krate).join("src")) {
            let code = text.split("#[cfg(test)]").next().unwrap();
            for forbidden in ["println!", "eprintln!", "process::exit", "env::args"] {
                let found = code
                    .lines()
                    .find(|line| line.contains(forbidden) && !line.trim_start().starts_with("//"));
                assert!(found.is_none(), "{}: {}", path.display(), found.unwrap_or_default());
            }
        }
    }
}

#[test]
fn only_browser_speaks_the_protocol() {
    for (path, text) in sources(&root().join("crates/app/src")) {
        assert!(!text.contains("cdp::"), "{} reaches past `browser`", path.display());
    }
}

#[test]
fn scripts_for_the_page_are_files() {
    let scripts = std::fs::read_dir(root().join("crates/browser/js")).unwrap();
    let all: String =
        sources(&root().join("crates/browser/src")).into_iter().map(|(_, text)| text).collect();
    for script in scripts {
        let name = script.unwrap().file_name().into_string().unwrap();
        assert!(all.contains(&format!("js/{name}")), "{name} is used by nobody");
    }
}

fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            out.push((path, text));
        }
    }
    out
}
