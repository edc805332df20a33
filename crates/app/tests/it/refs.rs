//! Refs, snapshot options and `find` on the command line, as specified.

use crate::snapshot_output::{home_with, ref_of};

#[test]
fn stale_refs_are_refused_and_minor_changes_noted() {
    let page = "<title>Refs</title><button id=a onclick='this.dataset.hit = 1'>Save</button>\
                <button id=b onclick='this.dataset.hit = 1'>Send (1)</button><button id=c>Leave</button>";
    let Some(home) = home_with(page) else { return };
    let text = home.ok(["snapshot", "./page.html"]);
    let [save, send, leave] = ["Save", "Send", "Leave"].map(|name| ref_of(&text, name));
    home.ok(["eval", "a.textContent = 'Delete account'; b.textContent = 'Send (2)'; c.remove()"]);

    let stale = home.run(["click", &*save]);
    assert_eq!((stale.code(), &*stale.out()), (1, ""), "{}", stale.err());
    let message =
        "Element changed since snapshot. Was: button 'Save', Now: button 'Delete account'";
    assert!(stale.err().contains(message), "{}", stale.err());
    let output = home.error(["click", &*save]);
    assert_eq!(output["errorCode"], "snapshot.ref-stale", "{output}");
    let evidence = &output["evidence"];
    assert!(evidence["was"].as_str().unwrap().contains("Save"), "{output}");
    assert!(evidence["now"].as_str().unwrap().contains("Delete account"), "{output}");
    assert_eq!(home.ok(["eval", "a.dataset.hit ?? 'untouched'"]), "untouched");

    let minor = home.run(["click", &*send]);
    assert_eq!(minor.code(), 0, "{}", minor.err());
    let note = "Note: Element may have changed. Using current state.";
    assert!(minor.err().contains(note) || minor.out().contains(note), "{}", minor.err());
    assert_eq!(home.ok(["eval", "b.dataset.hit"]), "1");

    let gone = home.run(["get", "text", &*leave]);
    assert_eq!(gone.code(), 1);
    let message = format!("Element 'Leave button' (ref: {leave}) no longer exists.");
    assert!(gone.err().contains(&message), "{}", gone.err());

    assert_eq!(home.error(["click", "@e999"])["errorCode"], "snapshot.ref-not-found");
    let malformed = home.run(["click", "@e"]);
    assert_eq!(malformed.code(), 2, "{}", malformed.err());
    assert!(malformed.err().contains("such as `@e3`"), "{}", malformed.err());
}

#[test]
fn snapshot_options_select_content() {
    let buttons: String = (0..99).map(|n| format!("<button>B{n}</button>")).collect();
    let page = format!(
        "<title>Options</title><style>body {{ margin: 0 }} .away {{ position: absolute; left: -9999px }}</style>\
         <div><p>Some words</p></div><p class=away>Not for people</p>{buttons}\
         <div role=listbox><div role=option>One</div><div role=option>Two</div></div>"
    );
    let Some(home) = home_with(&page) else { return };
    let usual = home.ok(["snapshot", "./page.html"]);
    let with = |options: &[&str]| home.ok([&["snapshot"], options].concat());
    for options in [
        &["--interactive"][..],
        &["--compact"],
        &["--fresh"],
        &["--no-interactive", "--interactive"],
        &["--no-compact", "--compact"],
        &["--source", "page"],
    ] {
        assert_eq!(with(options), usual, "{options:?}");
    }
    let whole = with(&["--no-interactive"]);
    assert!(whole.lines().count() > usual.lines().count(), "{whole}");
    assert!(whole.contains("paragraph") && !usual.contains("paragraph"), "{whole}");
    let loose = with(&["--no-compact", "--no-interactive"]);
    assert!(loose.lines().count() > whole.lines().count(), "{loose}");
    assert!(usual.lines().all(|line| !line.contains("box=")), "{usual}");
    assert!(with(&["--boxes"]).contains("box="));
    assert!(!usual.contains("Not for people"), "{usual}");
    let hidden = with(&["--include-hidden"]);
    assert!(
        hidden.contains("Not for people") && hidden.contains("hidden=\"off-screen\""),
        "{hidden}"
    );
    let theirs = with(&["--source", "ax"]);
    assert_eq!(ref_of(&theirs, "\"B7\""), ref_of(&usual, "\"B7\""));
    assert!(!usual.contains("option \"One\" [ref="), "{usual}");
    assert!(with(&["--all-refs"]).contains("option \"One\" [ref="));
    assert_eq!(
        home.error(["snapshot", "--source", "ax", "--boxes"])["errorCode"],
        "command.invalid"
    );
}

#[test]
fn find_returns_matches_with_refs() {
    let page = "<title>Find</title><ul><li>Ann <button>Call</button><li>Bob <button>Call</button></ul>\
                <h2>Calls today</h2>";
    let Some(home) = home_with(page) else { return };
    home.ok(["open", "./page.html"]);
    let found = home.json(["find", "call"]);
    let rows = found["result"]["found"].as_array().unwrap();
    let roles: Vec<&str> = rows.iter().map(|row| row["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["button", "button", "heading"], "{found}");
    let buttons = home.json(["find", "--role", "button", "--name", "call", "--exact"]);
    assert_eq!(buttons["result"]["found"].as_array().unwrap().len(), 2, "{buttons}");
    let second = rows[1]["ref"].as_str().unwrap();
    assert_eq!(home.ok(["get", "text", second]), "Call");
    assert!(home.ok(["find", "bob"]).contains(second), "the nearby control is listed");
    assert_eq!(home.run(["find"]).code(), 2);
}
