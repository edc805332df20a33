//! A click on a label reaches the labelled control, in every way a page hides it. Generated cases: way of hiding
//! × position × markup of the label × tree × target.

use crate::harness::browser_test;
use crate::probes::{describe, matches_outcome};
use crate::snapshot::{ref_of, snapshot_text};
use agbrowse_browser::Command;
use agbrowse_browser::command::Snapshot;
use std::fmt::Write as _;

/// Styles by which pages hide a control behind its label; the last one does not.
const HIDDEN: &[&str] = &[
    "hidden",
    "style='display:none'",
    "style='visibility:hidden;position:absolute'",
    "style='opacity:0;position:absolute'",
    "style='position:absolute;clip:rect(0,0,0,0);width:1px;height:1px'",
    "style='position:absolute;left:-9999px'",
    "style='appearance:none;width:0;height:0;margin:0'",
    "",
];

/// Content of the label; `NAME` is its text.
const MARKUP: &[&str] =
    &["NAME", "<span>NAME</span>", "<div><i></i><b><span>NAME</span></b></div>"];

/// Markup of the label with its control; `INPUT` is the control with its attributes, `TEXT` the content.
const RELATION: &[&str] = &[
    "<label>TEXTINPUT</label>",
    "<label>INPUTTEXT</label>",
    "<label for=ID>TEXT</label><p>INPUT</p>",
];

const TREES: &[&str] = &["light", "open", "closed"];

const TYPES: &[&str] = &["checkbox", "radio", "file"];

/// Targets that resolve to the control.
const TARGETS: &[&str] = &["text=NAME", "label=NAME", "REF", "role=TYPE[name=\"NAME\"]"];

struct Case {
    name: String,
    kind: &'static str,
    tree: &'static str,
    html: String,
    target: &'static str,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (h, hidden) in HIDDEN.iter().enumerate() {
        for (r, relation) in RELATION.iter().enumerate() {
            for (t, tree) in TREES.iter().enumerate() {
                let number = cases.len();
                let markup = MARKUP[(h + r + t) % MARKUP.len()];
                let kind = TYPES[(h + 2 * r + t) % TYPES.len()];
                let mut target = TARGETS[number % TARGETS.len()];
                if kind == "file" && target.starts_with("role=") {
                    target = "text=NAME";
                }
                let name = format!("Item {number:03}");
                let input = format!("<input id=c{number} type={kind} {hidden}>");
                let html = relation
                    .replace("INPUT", &input)
                    .replace("TEXT", &markup.replace("NAME", &name))
                    .replace("ID", &format!("c{number}"));
                cases.push(Case { name, kind, tree, html, target });
            }
        }
    }
    cases
}

#[test]
fn label_click_reaches_control() {
    browser_test(async |t| {
        let cases = cases();
        let mut html = String::from(
            "<!doctype html><title>Labels</title><style>body > div { height: 90px; overflow: clip }</style><script>const controls = [];
             const place = (tree, html) => {
               const box = document.createElement('div');
               document.body.append(box);
               const root = tree === 'light' ? box : box.attachShadow({ mode: tree });
               root.innerHTML = html;
               controls.push(root.querySelector('input'));
             };
             addEventListener('DOMContentLoaded', () => {\n",
        );
        for case in &cases {
            let _ = writeln!(html, "place({:?}, {:?});", case.tree, case.html);
        }
        t.page("/", format!("{html}}})</script><body>"));
        t.open("/").await;
        let file = std::env::temp_dir().join(format!("agbrowse-label-{}.txt", std::process::id()));
        std::fs::write(&file, "words").unwrap();
        let text = snapshot_text(&t, Snapshot::default()).await;
        let mut wrong = String::new();
        for (number, case) in cases.iter().enumerate() {
            let Case { name, kind, html, .. } = case;
            let target = match case.target {
                "REF" => {
                    // Where the label is shown in parts, the line with a ref is the control's.
                    let has_ref = |line: &&str| line.contains(name) && line.contains("ref=");
                    ref_of(text.lines().find(has_ref).unwrap_or(&text), name)
                }
                other => other.replace("NAME", name).replace("TYPE", kind),
            };
            let steps: &[(&str, &str, bool)] = match *kind {
                "checkbox" => &[
                    ("click", "changed +value", true),
                    ("check", "none undone", true),
                    ("uncheck", "changed +value", false),
                ],
                "radio" => &[("check", "changed +value", true), ("check", "none undone", true)],
                _ => &[("upload", "changed +value =1 file", true)],
            };
            for (verb, expected, holds) in steps {
                let mut step = serde_json::json!({"verb": verb, "target": target, "noWait": true});
                if *verb == "upload" {
                    step["files"] = serde_json::json!([file.display().to_string()]);
                }
                let command: Command = serde_json::from_value(step).unwrap();
                let outcome = t.run(command).await;
                let state = t
                    .eval(&format!(
                        "(({{type, files, checked}}) => type === 'file' ? files.length === 1 : checked)(controls[{number}])"
                    ))
                    .await;
                if !matches_outcome(expected, &outcome) || state != holds.to_string() {
                    let tree = case.tree;
                    let outcome = describe(&outcome);
                    let _ = writeln!(wrong, "{tree} {html}: {verb} {target}: {state}, {outcome}");
                }
            }
        }
        _ = std::fs::remove_file(&file);
        assert!(wrong.is_empty(), "\n{wrong}");
    });
}

#[test]
fn hidden_file_input_accepts_files_by_selector() {
    browser_test(async |t| {
        t.page(
            "/",
            "<!doctype html><div id=h></div><input type=file id=a style='display:none'><input type=file id=b disabled hidden>
             <p id=o></p><script>a.onchange = () => o.textContent = a.files[0].name;
             const inner = h.attachShadow({ mode: 'closed' }); inner.innerHTML = '<input type=file data-testid=deep hidden>'</script>",
        );
        t.open("/").await;
        let file = std::env::temp_dir().join(format!("agbrowse-input-{}.txt", std::process::id()));
        std::fs::write(&file, "words").unwrap();
        snapshot_text(&t, Snapshot::default()).await;
        for (target, expected, then) in [
            ("css=#a", "changed +content =1 file", "o.textContent.startsWith('agbrowse-input')"),
            ("css=#b", "act.disabled", "b.files.length === 0"),
            ("testid=deep", "changed +value =1 file", "inner.firstChild.files.length === 1"),
            ("css=input[type=file]", "target.", "true"),
        ] {
            let command = serde_json::json!({"verb": "upload", "target": target, "files": [file], "noWait": true});
            let outcome = t.run(serde_json::from_value(command).unwrap()).await;
            let is_refused =
                outcome.as_ref().is_err_and(|error| error.code().as_str().starts_with(expected));
            assert!(
                is_refused || matches_outcome(expected, &outcome),
                "{target}: {}",
                describe(&outcome)
            );
            assert_eq!(t.eval(then).await, "true", "{target}");
        }
        _ = std::fs::remove_file(&file);
    });
}

#[test]
fn label_click_reports_new_control_state() {
    browser_test(async |t| {
        t.page("/", "<!doctype html><label><span>Agree</span><input type=checkbox hidden></label>
            <label><span>Photo</span><input type=file hidden></label><label><span>Off</span><input id=d type=checkbox hidden disabled></label>");
        t.open("/").await;
        for (target, expected) in [
            ("text=Agree", "changed +value =checked"),
            ("text=Agree", "changed +value =unchecked"),
            ("text=Photo", "changed +chooser !file-chooser asks for a file"),
            ("text=Off", "act.disabled"),
        ] {
            let command = serde_json::json!({"verb": "click", "target": target, "noWait": true});
            let outcome = t.run(serde_json::from_value(command).unwrap()).await;
            assert!(matches_outcome(expected, &outcome), "{target}: {}", describe(&outcome));
        }
    });
}
