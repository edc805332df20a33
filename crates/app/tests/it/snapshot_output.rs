//! Output of the command line about a page: colored, plain, JSON, subtrees, deltas, screenshots.

use crate::sandbox::{CommandOutput, Home, has_browser, number};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

#[test]
fn terminal_output_has_colors_and_counts_and_pipe_is_plain() {
    let Some(home) = home_with(&shop()) else { return };
    // Also for the first command: the daemon it starts must not exit with the terminal.
    let coloured = run_on_terminal(&home, &["snapshot", "./page.html"]);
    let piped = home.run(["snapshot"]);
    assert!(!piped.out().contains('\u{1b}'), "{}", piped.out());
    assert!(!piped.err().contains("tokens"), "{}", piped.err());
    let stripped = anstream::adapter::strip_str(&coloured).to_string();
    assert!(coloured.contains('\u{1b}') && stripped.contains(&piped.out()), "{coloured}");
    let output = home.json(["snapshot"]);
    let stats = &output["result"]["stats"];
    let counts =
        format!("{} refs, about {} tokens", stats["interactiveCount"], stats["tokensCalibrated"]);
    assert!(coloured.contains(&counts), "no {counts:?} in\n{coloured}");
    let plain = run_on_terminal(&home, &["snapshot", "--color=never"]);
    assert!(!plain.contains('\u{1b}') && plain.contains(&counts), "{plain}");
}

#[test]
fn get_reads_properties_by_ref() {
    let Some(home) = home_with(&shop()) else { return };
    let whole = home.ok(["snapshot", "./page.html"]);
    let (button, field) = (ref_of(&whole, "button \"Buy now\""), ref_of(&whole, "textbox"));
    for (args, expected) in [
        (vec!["get", "text", &*button], "Buy now"),
        (vec!["get", "html", &*button], BUTTON),
        (vec!["get", "value", &*field], "ada@example.org"),
        (vec!["get", "attr", &*button, "title"], "Into the cart"),
    ] {
        assert_eq!(home.ok(&args), expected, "{args:?}");
        let output = home.json(&args);
        let result = json!({ "value": expected });
        assert_eq!((&output["verb"], &output["result"]), (&"get".into(), &result), "{args:?}");
    }
    let place = ["get", "box", &*button];
    assert_eq!(home.ok(place), "640 200 120 30");
    let bounds = json!({ "x": 640.0, "y": 200.0, "width": 120.0, "height": 30.0 });
    assert_eq!(home.json(place)["result"], json!({ "box": bounds }));
    // A missing attribute is empty; an omitted attribute name is a usage error.
    let absent = ["get", "attr", &*button, "lang"];
    assert_eq!((home.ok(absent), &home.json(absent)["result"]), (String::new(), &json!({})));
    assert_eq!(home.run(["get", "attr", &*button]).code(), 2);
}

#[test]
fn root_limits_snapshot_to_subtree() {
    let Some(home) = home_with(&shop()) else { return };
    let whole = home.ok(["snapshot", "./page.html"]);
    let main = home.ok(["snapshot", "--root-selector", "main"]);
    assert!(main.starts_with("- main") && main.contains("textbox \"Email\""), "{main}");
    assert!(!main.contains("Part 1") && !main.contains("heading"), "{main}");

    let button = ref_of(&whole, "button \"Buy now\"");
    let alone = home.ok(["snapshot", "--root", &*button]);
    assert_eq!(alone, format!("- button \"Buy now\" [ref={button}]"));

    let list = home.ok(["snapshot", "--refs-only"]);
    assert!(list.lines().all(|line| line.starts_with("@e")), "{list}");
    assert!(list.contains(&format!("{button} button \"Buy now\"")), "{list}");
    assert_eq!(list.lines().count(), whole.matches("[ref=").count(), "{list}");

    let found = home.ok(["snapshot", "--find", "part 17"]);
    assert!(found.contains("link \"Part 17\" [ref="), "{found}");
    assert!(!found.contains("Part 16") && !found.contains("button"), "{found}");
    assert_eq!(home.json(["snapshot", "--find", "part 17"])["result"]["matches"], 1);
}

#[test]
fn truncation_note_says_how_to_see_the_rest() {
    let Some(home) = home_with(&shop()) else { return };
    let whole = home.ok(["snapshot", "./page.html"]);
    let short = home.run(["snapshot", "--budget", "300"]);
    let (text, note) = (short.out(), short.err());
    assert!(text.contains("heading \"Shop\"") && !text.contains("\"Part 59\""), "{text}");
    let root = suggested_value(&note, "--root");
    assert!(text.contains("- … ") && text.contains(&format!(" refs, in {root}")), "{text}");
    let unfolded = home.ok(["snapshot", "--root", &*root]);
    assert!(unfolded.contains("\"Part 59\"") && !unfolded.contains("button"), "{unfolded}");
    let output = home.json(["snapshot", "--budget", "300"]);
    let (folded, stats) = (&output["result"]["folded"], &output["result"]["stats"]);
    let counts =
        format!("{} nodes with {} refs are folded to keep", folded["nodes"], folded["refs"]);
    assert!(note.contains(&counts), "no {counts:?} in\n{note}");
    assert_eq!(count(&stats["nodeCount"]) + count(&folded["nodes"]), whole.lines().count());
    // Token counts are estimates, so a tenth more is allowed.
    assert!(count(&stats["tokensCalibrated"]) <= 330, "{stats}");

    let flat = home.run(["snapshot", "--max-depth", "0"]);
    assert_eq!(flat.out(), "- webarea \"Shop\":");
    assert!(flat.err().contains("lie deeper and are not shown"), "{}", flat.err());
    let deep = home.run(["snapshot", "--max-depth", &*suggested_value(&flat.err(), "--max-depth")]);
    assert_eq!(deep.out(), whole);
    assert!(!deep.err().contains("not shown"), "{}", deep.err());
}

#[test]
fn redaction_covers_all_text_and_frame_names() {
    let page = "<!doctype html><title>quince</title><h1>quince</h1><a href=quince.html>quince</a>\
                <input aria-label=quince value=quince>\
                <iframe name=quince-frame title=quince srcdoc='<p>quince</p><button>quince</button>'>\
                </iframe>";
    let Some(home) = home_with(page) else { return };
    let in_frame = |output: &Value, name: &Value| {
        let refs = output["result"]["refs"].as_object().unwrap();
        refs.values().filter(|it| it["framePath"] == json!([name])).count()
    };
    // The words occur in the unredacted snapshot.
    let plain = home.ok(["snapshot", "./page.html"]);
    assert!(plain.contains("frame-name=\"quince-frame\""), "{plain}");
    let output = home.json(["snapshot"]);
    assert_eq!(in_frame(&output, &"quince-frame".into()), 1, "{output}");

    let done = home.run(["snapshot", "--redact", "--urls"]);
    let text = done.out() + &done.err();
    assert!(!text.contains("quince"), "{text}");
    assert!(text.contains("frame-name=\"[redacted:sha256:"), "{text}");
    let output = home.json(["snapshot", "--redact", "--nodes"]);
    assert!(!output.to_string().contains("quince"), "{output}");
    let name = &output["result"]["frames"][1]["name"];
    assert!(name.as_str().unwrap().starts_with("[redacted:sha256:"), "{output}");
    assert_eq!(in_frame(&output, name), 1, "{output}");
}

#[test]
fn delta_shows_only_changes() {
    let Some(home) = home_with(&shop()) else { return };
    home.ok(["snapshot", "./page.html"]);
    home.ok(["eval", "document.querySelector('h1').textContent = 'Autumn sale'; 1"]);
    let changed = home.ok(["snapshot", "--delta"]);
    assert_eq!(changed, "~ heading \"Autumn sale\" [level=1] (was \"Shop\")");
    assert_eq!(home.ok(["snapshot", "--delta"]), "no change");
}

#[test]
fn json_envelope_has_specified_snapshot() {
    let Some(home) = home_with(&shop()) else { return };
    let output = home.json(["snapshot", "./page.html"]);
    assert_eq!(
        (&output["ok"], &output["verb"], &output["session"], &output["tab"]),
        (&true.into(), &"snapshot".into(), &"default".into(), &"t1".into())
    );
    let result = &output["result"];
    for key in ["snapshotId", "provider", "url", "domHash", "axHash", "text", "refs", "stats"] {
        assert!(result.get(key).is_some(), "no {key}: {result}");
    }
    assert_eq!(result["snapshotId"].as_str().unwrap().len(), 36, "{result}");
    assert_eq!(result["provider"], Value::Null);
    let url = result["url"].as_str().unwrap();
    assert!(url.starts_with("file:///") && url.ends_with("/project/page.html"), "{url}");
    assert!(is_hash(&result["axHash"]) && is_hash(&result["domHash"]), "{result}");

    let text = result["text"].as_str().unwrap();
    assert_eq!(text, home.ok(["snapshot"]));
    let refs = result["refs"].as_object().unwrap();
    for (name, it) in refs {
        // Names are quoted as in JSON in both.
        let line = format!("- {} {} [ref={name}", it["role"].as_str().unwrap(), it["name"]);
        assert!(text.contains(&line), "no {line:?} in\n{text}");
        assert_eq!(it["ref"].as_str(), Some(&**name), "{it}");
        assert!(it["selector"].is_null() && is_hash(&it["signatureHash"]), "{it}");
        assert_eq!((&it["framePath"], &it["shadowPath"]), (&json!([]), &json!([])), "{it}");
    }
    let stats = &result["stats"];
    assert_eq!(refs.len(), text.matches("[ref=").count());
    assert_eq!(count(&stats["interactiveCount"]), refs.len());
    assert_eq!(count(&stats["nodeCount"]), text.lines().count());
    assert_eq!(count(&stats["tokenEstimate"]), text.encode_utf16().count().div_ceil(4));
    assert!(count(&stats["elementCount"]) > refs.len(), "{stats}");

    // One hash covers the accessibility tree, the other the DOM; the id identifies the snapshot.
    let differs = |was: &Value| {
        let now = home.json(["snapshot"])["result"].take();
        ["snapshotId", "axHash", "domHash"].map(|key| now[key] != was[key])
    };
    assert_eq!(differs(result), [true, false, false]);
    home.ok(["eval", "document.querySelector('h1').textContent = 'Autumn sale'; 1"]);
    assert_eq!(differs(result), [true, true, false]);
    home.ok(["eval", "document.querySelector('main').append(document.createElement('i')); 1"]);
    assert_eq!(differs(result), [true, true, true]);
}

#[test]
fn screenshot_size_matches_content() {
    let Some(home) = home_with(&shop()) else { return };
    let button = ref_of(&home.ok(["snapshot", "./page.html"]), "button \"Buy now\"");
    let picture = |name: &str| std::fs::read(home.path("project").join(name)).unwrap();
    let view = home.ok(["eval", "`${innerWidth}x${innerHeight}`"]);
    home.ok(["screenshot", "view.png"]);
    home.ok(["screenshot", "--refs", "refs.png"]);
    for name in ["view.png", "refs.png"] {
        assert_eq!(png_size(&picture(name)), view, "{name}");
    }
    assert!(picture("view.png") != picture("refs.png"), "nothing was drawn on it");
    let output = home.ok(["screenshot", &*button, "button.png"]);
    assert!(output.starts_with("button.png  120×30 png"), "{output}");
    assert_eq!(png_size(&picture("button.png")), "120x30");
}

#[test]
fn missing_root_is_an_error() {
    let Some(home) = home_with(&shop()) else { return };
    home.ok(["open", "./page.html"]);
    for (option, root) in [("--root-selector", "#none"), ("--root", "css=#none")] {
        let done = home.run(["snapshot", option, root, "--json"]);
        assert_eq!((done.code(), &*done.out()), (1, ""), "{option}: {}", done.err());
        let output: Value = serde_json::from_str(&done.err()).unwrap();
        assert_eq!(
            (&output["ok"], &output["status"]),
            (&false.into(), &"error".into()),
            "{output}"
        );
        let error = &output["error"];
        assert_eq!(error["errorCode"], "snapshot.root-not-found", "{option}: {error}");
        assert_eq!(error["evidence"]["rootSelector"], "#none", "{option}: {error}");
        let plain = home.run(["snapshot", option, root]);
        assert_eq!((plain.code(), &*plain.out()), (1, ""), "{option}: {}", plain.err());
        let text = plain.err();
        assert!(text.contains("[snapshot.root-not-found] fix-root-selector:"), "{option}: {text}");
    }
}

/// A button as serialized by the browser, at a fixed position and size without text around it.
const BUTTON: &str = "<button id=\"buy\" title=\"Into the cart\">Buy <b>now</b></button>";

/// A shop with a long list.
fn shop() -> String {
    let parts: String =
        (0..60).map(|part| format!("<li><a href='#{part}'>Part {part}</a></li>")).collect();
    format!(
        "<!doctype html><meta charset=utf-8><title>Shop</title>\
         <style>body {{ margin: 0 }}\
         #buy {{ position: absolute; left: 640px; top: 200px; width: 120px; height: 30px }}</style>\
         <h1>Shop</h1><main>{BUTTON}<label>Email <input value='ada@example.org'></label></main>\
         <ul>{parts}</ul>"
    )
}

/// A home with this page as `./page.html`; `None` without a browser.
pub fn home_with(page: &str) -> Option<Home> {
    if !has_browser() {
        return None;
    }
    let home = Home::new();
    std::fs::write(home.path("project/page.html"), page).unwrap();
    Some(home)
}

/// Runs a command on a pseudo-terminal; returns its stdout and stderr, interleaved.
fn run_on_terminal(home: &Home, args: &[&str]) -> String {
    let inner = home.command(args);
    let words = std::iter::once(inner.get_program()).chain(inner.get_args());
    let words: Vec<String> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let mut outer = Command::new("script");
    outer.args(["-qec", &*words.join(" "), "/dev/null"]).stdin(Stdio::null());
    outer.current_dir(inner.get_current_dir().unwrap());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    // The environment may disable colors or set another shell.
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        outer.env_remove(name);
    }
    outer.env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
    let done = outer.output().unwrap_or_else(|error| {
        panic!("`script` makes the terminal (Debian has it in bsdutils): {error}")
    });
    let done = CommandOutput(done);
    let text = done.out().replace("\r\n", "\n");
    assert_eq!(done.code(), 0, "{text}{}", done.err());
    text
}

/// The ref in the line with these words.
pub fn ref_of(text: &str, words: &str) -> String {
    let line = text.lines().find(|line| line.contains(words));
    let line = line.unwrap_or_else(|| panic!("no {words:?} in\n{text}"));
    let (_, from) = line.rsplit_once("[ref=").unwrap_or_else(|| panic!("no ref: {line}"));
    from.split([' ', ']']).next().unwrap().to_owned()
}

/// The value that a note suggests for an option.
fn suggested_value(note: &str, option: &str) -> String {
    let from = note.split_once(&format!("`{option} "));
    let (_, from) = from.unwrap_or_else(|| panic!("no `{option}` in\n{note}"));
    from.split('`').next().unwrap().to_owned()
}

fn count(value: &Value) -> usize {
    usize::try_from(number(value)).unwrap()
}

fn is_hash(value: &Value) -> bool {
    let hex = value.as_str().and_then(|hash| hash.strip_prefix("sha256:"));
    hex.is_some_and(|hex| hex.len() == 16 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Width and height from the PNG header.
fn png_size(data: &[u8]) -> String {
    assert!(data.starts_with(b"\x89PNG\r\n\x1a\n"), "no PNG");
    let side = |at: usize| u32::from_be_bytes(data[at..at + 4].try_into().unwrap());
    format!("{}x{}", side(16), side(20))
}
