//! Architecture rules: crate dependencies, printing, I/O and page scripts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// Allowed dependencies between crates. Unlisted crates are not allowed.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("agbrowse-cdp", &[]),
    ("agbrowse-page", &[]),
    ("agbrowse-browser", &["agbrowse-cdp", "agbrowse-page"]),
    ("agbrowse", &["agbrowse-browser"]),
];

#[test]
fn crate_dependencies_point_one_way() {
    let may_use: BTreeMap<_, _> = ALLOWED_DEPENDENCIES.iter().copied().collect();
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
        for used in dependencies(&manifest).map(&package) {
            let is_ours = used.starts_with("agbrowse");
            assert!(!is_ours || allowed.contains(&&*used), "`{name}` must not use `{used}`");
        }
        seen += 1;
    }
    assert_eq!(seen, ALLOWED_DEPENDENCIES.len());
}

/// All dependencies of a manifest: normal, build and dev, for any target.
fn dependencies(manifest: &toml::Table) -> impl Iterator<Item = &str> {
    let systems = manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten();
    let tables = std::iter::once(manifest).chain(systems.filter_map(|(_, it)| it.as_table()));
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let all = tables.flat_map(move |table| kinds.into_iter().filter_map(|kind| table.get(kind)));
    all.filter_map(toml::Value::as_table).flat_map(|table| table.keys().map(String::as_str))
}

#[test]
fn every_dependency_section_is_checked() {
    let manifest: toml::Table = "[dependencies]\na = '1'\n[dev-dependencies]\nb = '1'\n\
         [build-dependencies]\nc = '1'\n[target.'cfg(unix)'.dependencies]\nd = '1'"
        .parse()
        .unwrap();
    let mut all: Vec<_> = dependencies(&manifest).collect();
    all.sort_unstable();
    assert_eq!(all, ["a", "b", "c", "d"]);
}

#[test]
fn only_app_crate_prints_or_exits() {
    for krate in ["cdp", "page", "browser"] {
        assert_absent(krate, &["println!", "eprintln!", "process::exit", "env::args"]);
    }
}

#[test]
fn page_crate_does_no_io() {
    assert_absent(
        "page",
        &[
            "std::fs",
            "std::net",
            "std::io",
            "std::os",
            "std::process",
            "std::thread",
            "std::env",
            "std::time",
            "tokio",
            "async ",
            ".await",
            "print!",
            "dbg!",
            "unsafe ",
        ],
    );
    let manifest = std::fs::read_to_string(root().join("crates/page/Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    for used in manifest["dependencies"].as_table().unwrap().keys() {
        let is_data = ["schemars", "serde", "serde_json", "sha2"].contains(&used.as_str());
        assert!(is_data, "does `{used}` do IO? `page` must not");
    }
}

/// Fails when the code of a crate, without its tests and comments, contains one of these words.
fn assert_absent(krate: &str, words: &[&str]) {
    for (path, text) in sources(&root().join("crates").join(krate).join("src")) {
        let code = text.split("#[cfg(test)]").next().unwrap();
        for word in words {
            let found = code
                .lines()
                .find(|line| line.contains(word) && !line.trim_start().starts_with("//"));
            assert!(found.is_none(), "{}: {}", path.display(), found.unwrap_or_default());
        }
    }
}

#[test]
fn only_browser_crate_uses_cdp() {
    for (path, text) in sources(&root().join("crates/app/src")) {
        assert!(!text.contains("cdp::"), "{} reaches past `browser`", path.display());
    }
}

#[test]
fn page_scripts_are_files() {
    let all: String =
        sources(&root().join("crates/browser/src")).into_iter().map(|(_, text)| text).collect();
    for folder in ["js", "js/injected"] {
        for script in std::fs::read_dir(root().join("crates/browser").join(folder)).unwrap() {
            let name = script.unwrap().file_name().into_string().unwrap();
            assert!(all.contains(&format!("{folder}/{name}")), "{folder}/{name} is not included");
        }
    }
}

pub fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
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
