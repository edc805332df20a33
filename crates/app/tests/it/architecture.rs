//! Architecture rules: crate dependencies, printing, I/O and page scripts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// Allowed dependencies between crates. Unlisted crates are not allowed.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("agbrowse-cdp", &[]),
    ("agbrowse-page", &[]),
    ("agbrowse-chatapps", &[]),
    ("agbrowse-browser", &["agbrowse-cdp", "agbrowse-page"]),
    ("agbrowse-webai", &["agbrowse-browser", "agbrowse-chatapps"]),
    ("agbrowse", &["agbrowse-browser", "agbrowse-chatapps", "agbrowse-webai"]),
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
    for krate in ["cdp", "page", "browser", "webai"] {
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

/// Names of types that were retired: the field has better ones, which ARCHITECTURE.md lists.
const RETIRED_TYPES: &str = "
    Account After Aim Answered Armed Asked Batched Before Beside Bucket Came Cap Chooser Chosen
    Clip Closed Closer Compared ConfigVerb Consequences ConsoleLog ContextsPlan Course Cut Cx
    DaemonVerb Deed Desk Detour DialogVerb Different Do Doing Done Door Edge Ended Evaluated
    Examined Extra Fact Finds Focused Fresh Given Gone Got Guard Guest Guests Hand Happening Heart
    Hidden Hint Hit Hold Holder House How Journal Judgement Kept Kinds Known Left Level Life List
    Live Login Look Mark Marks McpVerb Me Meaning Meta Name Naming Needs Noted Now Obstacle Of
    Offer Offered Opening Out Owner Owners Pages Pair Pairs Part Parts Passing Piece Pieces Pipes
    Place Places Plan PointAt Pointing Prepared PressKey Print Printed Problem Proxies ProxyLine
    Put Question Reach Read Reading RefProblem Refusal RequestLog Resized Rests Rights Running Said
    Say Scrolled Seat Seeing Seen Setting Shape Sheet Shelf Shot Shown ShownLine ShownNode
    ShownPage Side Sight Sign Signal Size Snapped Span Spelled Spellings Spot Spread Stale Stat
    State StatusReport Stitching Stopped StorageVerb Stored Strength TabChanged TabLine TabList
    TabVerb TabsPlan Takes Task Text Ticket Toggle Told TooLong Trip Trouble Understood Usage Use
    UseKind UsedField Using UsingStream Usual Values Viewpoint Waited Waiting Wanted Wants Way What
    Whereto Which Who Window Wish Word Writing Written
";

/// Names of modules and files that were retired.
const RETIRED_MODULES: &str = "
    bar capture changes choose desk drawn evaluating follow given guests hallway home
    journal lasting launching left live look meaning out paint pair parts peer phase7 pictures
    pieces pipe place places plans question recall respell rest sameness script showing sight
    spelling surface telling told unseen viewpoint walk world acting ends seeing sharing speaking
";

#[test]
fn retired_names_do_not_return() {
    let types: BTreeSet<&str> = RETIRED_TYPES.split_whitespace().collect();
    let modules: BTreeSet<&str> = RETIRED_MODULES.split_whitespace().collect();
    let mut returned = Vec::new();
    for folder in ["crates", "bench", "fuzz"] {
        for (path, text) in sources(&root().join(folder)) {
            for (kind, name) in text.lines().filter_map(declaration) {
                let retired = if kind == "mod" { &modules } else { &types };
                if retired.contains(name) {
                    returned.push(format!("{}: {kind} {name}", path.display()));
                }
            }
        }
    }
    for file in files(&root().join("crates")) {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_script = file.extension().is_some_and(|ending| ending == "rs" || ending == "py");
        if is_script && modules.contains(stem) {
            returned.push(file.display().to_string());
        }
    }
    assert!(returned.is_empty(), "{returned:#?}");
}

/// Keyword and name of a declaration.
fn declaration(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    let kind = words.by_ref().find(|word| {
        let is_prefix = word.starts_with("pub") || *word == "unsafe" || word.ends_with(')');
        !is_prefix
    })?;
    if !matches!(kind, "struct" | "enum" | "trait" | "type" | "union" | "mod") {
        return None;
    }
    let name = words.next()?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    Some((kind, &name[..end]))
}

#[test]
fn declarations_are_found() {
    for (line, expected) in [
        ("pub(crate) struct Reply {", Some(("struct", "Reply"))),
        ("    enum Effect<'a> {", Some(("enum", "Effect"))),
        ("pub type Number = u32;", Some(("type", "Number"))),
        ("pub(in crate::act) mod settle;", Some(("mod", "settle"))),
        ("let reply = Reply::new();", None),
        ("// struct Reply", None),
    ] {
        assert_eq!(declaration(line), expected, "{line}");
    }
}

#[test]
fn only_the_command_context_takes_the_turn_on_a_tab() {
    // `Tab::turn(deadline)` waits for the turn; `CommandContext::take_turn` resolves the tab before.
    let waits =
        |line: &str| line.match_indices(".turn(").any(|(at, _)| !line[at + 6..].starts_with(')'));
    let takes = |line: &str| line.contains("take_turn(");
    let may_take = ["command_context.rs", "browser.rs", "observe/oracle.rs", "command/dialog.rs"];
    let mut found = 0;
    for (path, text) in sources(&root().join("crates/browser/src")) {
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            assert!(
                !waits(line) || path.ends_with("command_context.rs"),
                "{} takes a turn: {line}",
                path.display()
            );
            let is_allowed = may_take.iter().any(|file| path.ends_with(file));
            assert!(!takes(line) || is_allowed, "{} takes a turn: {line}", path.display());
            found += usize::from(waits(line)) + usize::from(takes(line));
        }
    }
    assert!(found > 3, "the names have changed: this test looks for others");
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

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(files(&path));
        } else {
            out.push(path);
        }
    }
    out
}
