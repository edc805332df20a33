//! Documents generated from the code: `BLESS=1` writes them, every other run compares them.

use agbrowse::api::http_status;
use browser::{Code, RetryHint};
use clap::CommandFactory;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn check(name: &str, text: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = there.lines().zip(text.lines()).position(|(a, b)| a != b);
    assert!(
        there == text,
        "docs/{name} is not current (line {differs:?}); run with BLESS=1 and look at the diff"
    );
}

#[test]
fn error_table_is_current() {
    let mut text = String::from(
        "# Errors\n\nEvery failure has a code that never changes its meaning. With `--json` (or `AGBROWSE_JSON_ERRORS=1`)\n\
         the error is printed once, on standard error, as\n\n```json\n{ \"ok\": false, \"status\": \"error\", \"error\": { … } }\n```\n\n\
         with the keys `name`, `errorCode`, `stage`, `message`, `retryHint`, `vendor`, `mutationAllowed`,\n\
         `selectorsTried`, `evidence`, `traceId`, `ruleId`; `vendor`, `traceId` and `ruleId` only where they apply.\n\
         `mutationAllowed` tells whether the page may have been changed before it failed. Exit codes: 0 done, 1 failed, 2 wrong call.\n\n\
         | errorCode | means | stage | retryHint | mutationAllowed |\n| --- | --- | --- | --- | --- |\n",
    );
    for code in Code::ALL {
        let usual = code.usual();
        let (stage, hint) = (usual.stage, usual.hint);
        writeln!(
            text,
            "| `{code}` | {} | {stage} | {hint} | {} |",
            usual.means, usual.mutation_allowed
        )
        .unwrap();
    }
    text.push_str("\n## What the hints mean\n\n| retryHint | what to do |\n| --- | --- |\n");
    for hint in RetryHint::ALL {
        writeln!(text, "| {hint} | {} |", hint.advice()).unwrap();
    }
    text.push_str(
        "\n## HTTP status\n\nOf an error's response over HTTP ([serve.md](serve.md)). Requests that are refused before they are a command have\n\
         `command.invalid` with 404 (no such route), 405 (another method) or 415 (another media type), or `access.denied` with\n\
         401 (no token) or 403. There is no 408: clients repeat a request after it, and the command may have been done.\n\n\
         | status | errorCode |\n| --- | --- |\n",
    );
    let mut statuses: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for code in Code::ALL {
        statuses.entry(http_status(*code)).or_default().push(format!("`{code}`"));
    }
    for (status, codes) in statuses {
        writeln!(text, "| {status} | {} |", codes.join(", ")).unwrap();
    }
    check("errors.md", &text);
}

#[test]
fn command_reference_is_current() {
    let mut root = agbrowse::cli::Cli::command();
    root.build();
    let mut text = String::from(
        "# Commands\n\nWritten from the program itself. Every command takes the shared and browser options.\n",
    );
    options(&mut text, &root, true);
    commands(&mut text, &root, "agbrowse");
    check("commands.md", &text);
}

fn commands(text: &mut String, parent: &clap::Command, path: &str) {
    for command in parent
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help")
    {
        let path = format!("{path} {}", command.get_name());
        write!(text, "\n## `{path}`\n\n").unwrap();
        let about = command
            .get_long_about()
            .or(command.get_about())
            .map(ToString::to_string)
            .unwrap_or_default();
        writeln!(text, "{about}").unwrap();
        options(text, command, false);
        commands(text, command, &path);
    }
}

/// The arguments of a command: its own, or the global ones.
fn options(text: &mut String, command: &clap::Command, is_root: bool) {
    let mut rows = String::new();
    for arg in command.get_arguments() {
        let is_shared = arg.is_global_set() || matches!(arg.get_id().as_str(), "help" | "version");
        if is_shared != is_root || arg.is_hide_set() {
            continue;
        }
        let value = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
        let takes = arg.get_action().takes_values();
        let name = match (arg.get_long(), value) {
            (Some(long), Some(value)) if takes => format!("--{long} {value}"),
            (Some(long), _) => format!("--{long}"),
            (None, Some(value)) => format!("<{value}>"),
            (None, None) => format!("<{}>", arg.get_id()),
        };
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let choices: Vec<String> = arg
            .get_possible_values()
            .iter()
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        let choices = match &*choices {
            choices if choices.is_empty() || !takes || choices == ["`true`", "`false`"] => {
                String::new()
            }
            choices => format!(" One of {}.", choices.join(", ")),
        };
        writeln!(rows, "| `{name}` | {help}.{choices} |").unwrap();
    }
    if !rows.is_empty() {
        write!(text, "\n| argument | |\n| --- | --- |\n{}", rows.replace("..", ".")).unwrap();
    }
}

#[test]
fn every_verb_has_a_schema() {
    let schema = schemars::schema_for!(browser::Command);
    let schema = serde_json::to_value(schema).unwrap();
    let verbs: Vec<&str> = schema["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|verb| verb["properties"]["verb"]["const"].as_str().unwrap())
        .collect();
    let cli = agbrowse::cli::Cli::command();
    for verb in &verbs {
        assert!(cli.find_subcommand(verb).is_some(), "`{verb}` is not on the command line");
        assert!(browser::Command::parser_of(verb).is_some(), "`{verb}` has no parser of its own");
    }
    assert!(verbs.contains(&"screenshot") && verbs.len() >= 12, "{verbs:?}");
}

#[test]
fn guide_lists_every_note_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut codes = BTreeSet::new();
    for krate in ["app", "browser"] {
        for (path, text) in
            crate::architecture::sources(&root.join("crates").join(krate).join("src"))
        {
            if path.ends_with("tests.rs") {
                continue;
            }
            let code = text.split("#[cfg(test)]").next().unwrap();
            let notes = code.split("Note::new(").skip(1);
            // Other notes have an event kind as their code.
            let named = notes.filter_map(|rest| rest.trim_start().strip_prefix('"'));
            codes.extend(named.map(|rest| rest.split('"').next().unwrap().to_owned()));
        }
    }
    assert!(codes.len() > 10, "{codes:?}");
    let guide = std::fs::read_to_string(root.join("docs/guide.md")).unwrap();
    let table = guide
        .split("| note | meaning |")
        .nth(1)
        .unwrap()
        .split(
            "

",
        )
        .next()
        .unwrap();
    // The first cell of each row.
    let cells = table.lines().filter_map(|row| row.strip_prefix("| `")?.split(" | ").next());
    let listed: BTreeSet<String> =
        cells.flat_map(|cell| cell.split(", ")).map(|code| code.replace('`', "")).collect();
    assert_eq!(listed, codes, "left what docs/guide.md lists, right what there is");
}
