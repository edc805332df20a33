//! `fill` replaces the text of third-party editors, as they are published, through any target in them, and
//! reads back their content.

use crate::harness::{TestContext, browser_test};
use crate::probes::{describe, matches_outcome};
use crate::snapshot::{ref_of, snapshot_text};
use crate::widgets::{serve, widget_directory};
use agbrowse_browser::command::Snapshot;
use agbrowse_browser::{Command, Error, Outcome};

/// An editor, its options, its files, and targets in it.
struct Editor {
    name: &'static str,
    options: &'static str,
    files: &'static [&'static str],
    targets: &'static [&'static str],
    /// A code editor: whitespace and empty lines count.
    is_exact: bool,
}

const CODEMIRROR6: &[&str] = &[
    "@codemirror/autocomplete/dist",
    "@codemirror/commands/dist",
    "@codemirror/lang-javascript/dist",
    "@codemirror/language/dist",
    "@codemirror/state/dist",
    "@codemirror/streamparser/dist",
    "@codemirror/view/dist",
    "@lezer/common/dist",
    "@lezer/highlight/dist",
    "@lezer/javascript/dist",
    "@lezer/lr/dist",
    "@marijn/find-cluster-break/src",
    "crelt",
    "style-mod/src",
    "w3c-keyname",
];

const CODEMIRROR5: &[&str] = &[
    "codemirror/lib/codemirror.css",
    "codemirror/lib/codemirror.js",
    "codemirror/mode/javascript/javascript.js",
    "codemirror/addon/edit/closebrackets.js",
];

const MONACO: &[&str] = &[
    "monaco-editor/min/vs",
    "monaco-editor/min/vs/editor/editor.main.css",
    "monaco-editor/min/vs/editor",
    "monaco-editor/min/vs/basic-languages",
];

const PROSEMIRROR: &[&str] = &[
    "orderedmap/dist",
    "prosemirror-commands/dist",
    "prosemirror-keymap/dist",
    "prosemirror-model/dist",
    "prosemirror-schema-basic/dist",
    "prosemirror-state/dist",
    "prosemirror-transform/dist",
    "prosemirror-view/dist",
    "w3c-keyname",
];

const LEXICAL: &[&str] = &[
    "@lexical/a11y/dist",
    "@lexical/clipboard/dist",
    "@lexical/dragon/dist",
    "@lexical/extension/dist",
    "@lexical/html/dist",
    "@lexical/list/dist",
    "@lexical/rich-text/dist",
    "@lexical/selection/dist",
    "@lexical/utils/dist",
    "@preact/signals-core/dist/signals-core.mjs",
    "lexical/dist",
];

const EDITORS: &[Editor] = &[
    Editor {
        name: "codemirror5",
        options: "",
        files: CODEMIRROR5,
        targets: &["css=.CodeMirror", "css=.CodeMirror textarea", "{generic [ref}", "css=#editor"],
        is_exact: true,
    },
    Editor {
        name: "codemirror5",
        options: "&input=contenteditable",
        files: CODEMIRROR5,
        targets: &["css=.CodeMirror", "css=.CodeMirror-code"],
        is_exact: true,
    },
    Editor {
        name: "codemirror6",
        options: "",
        files: CODEMIRROR6,
        targets: &["css=.cm-content", "css=.cm-editor", "{textbox [}"],
        is_exact: true,
    },
    Editor {
        name: "monaco",
        options: "",
        files: MONACO,
        targets: &["css=.monaco-editor", "css=.native-edit-context", "{code [ref}"],
        is_exact: true,
    },
    Editor {
        name: "monaco",
        options: "&input=textarea",
        files: MONACO,
        targets: &["css=.monaco-editor", "css=textarea.inputarea"],
        is_exact: true,
    },
    Editor {
        name: "quill",
        options: "",
        files: &["quill/dist/quill.js", "quill/dist/quill.snow.css"],
        targets: &["css=.ql-editor", "css=#editor"],
        is_exact: false,
    },
    Editor {
        name: "prosemirror",
        options: "",
        files: PROSEMIRROR,
        targets: &["css=.ProseMirror", "css=#editor"],
        is_exact: false,
    },
    Editor {
        name: "lexical",
        options: "",
        files: LEXICAL,
        targets: &["css=#editor"],
        is_exact: false,
    },
    Editor {
        name: "model",
        options: "",
        files: &[],
        targets: &["css=#editor", "{textbox \"Body\"}"],
        is_exact: false,
    },
];

/// Texts: code that editors indent, close and complete on key presses; more lines than are rendered; one line; empty.
fn texts() -> Vec<String> {
    let long: Vec<String> = (0..120).map(|at| format!("  new(line[{at}],\n\t{{")).collect();
    vec![
        "if (a) {\n    b([1, \"two\n  c;\n\n}\nend".into(),
        long.join("\n"),
        "f(x, [".into(),
        String::new(),
    ]
}

async fn fill(t: &TestContext, target: &str, value: &str) -> Result<Outcome, Error> {
    let command = serde_json::json!({ "verb": "fill", "target": target, "value": value });
    t.run_within(20_000, serde_json::from_value::<Command>(command).unwrap()).await
}

#[test]
fn editors_are_filled_through_any_target() {
    browser_test(async |t| {
        let Some(modules) = widget_directory() else { return };
        t.page("/editors", include_str!("../widgets/editors.html"));
        let only = std::env::var("AGBROWSE_SCENARIO").ok();
        let mut wrong = Vec::new();
        for editor in EDITORS {
            if only.as_ref().is_some_and(|only| !editor.name.contains(&**only)) {
                continue;
            }
            for file in editor.files {
                serve(&t, &modules, file);
            }
            t.open(&format!("/editors?with={}{}", editor.name, editor.options)).await;
            t.wait_until("window.isReady !== undefined").await;
            assert_eq!(t.eval("isReady").await, "true", "{}", editor.name);
            drive(&t, editor, &mut wrong).await;
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

/// Fills every text through the first target, and the first text through all targets.
async fn drive(t: &TestContext, editor: &Editor, wrong: &mut Vec<String>) {
    let texts = texts();
    let by_first = texts.iter().map(|text| (editor.targets[0], text));
    let by_others = editor.targets[1..].iter().map(|target| (*target, &texts[0]));
    for (target, text) in by_first.chain(by_others) {
        t.eval("reset()").await;
        let target = match target.strip_prefix('{') {
            Some(words) => {
                let page_text = snapshot_text(t, Snapshot::default()).await;
                ref_of(&page_text, words.trim_end_matches('}'))
            }
            None => target.to_owned(),
        };
        let outcome = fill(t, &target, text).await;
        let held: String = serde_json::from_str(&t.eval("held()").await).unwrap();
        let is_held = match editor.is_exact {
            true => held == *text,
            false => held.split_whitespace().eq(text.split_whitespace()),
        };
        let is_without_notes = outcome.as_ref().is_ok_and(|outcome| outcome.notes.is_empty());
        if !is_held || !is_without_notes {
            let begin = |text: &str| text.chars().take(80).collect::<String>();
            wrong.push(format!(
                "{}{} {target}: holds {:?}, not {:?}: {}",
                editor.name,
                editor.options,
                begin(&held),
                begin(text),
                describe(&outcome)
            ));
        }
    }
}

/// Input masks: id, filled text, resulting value, expected outcome.
#[rustfmt::skip]
const MASKS: &[(&str, &str, &str, &str)] = &[
    ("phone", "9161234567", "+7(916)123-45-67", "changed note:formatted =+7(916)123-45-67"),
    ("phone", "+7(916)123-45-68", "+7(916)123-45-68", "changed +value"),
    ("phone", "abc", "+7(", "act.not-taken"),
    ("lazy", "9161234567", "+7(916)123-45-67", "changed note:formatted"),
    ("lazy", "", "+7(___)___-__-__", "changed note:formatted"),
    ("amount", "1234567.5", "1 234 567.5", "changed note:formatted"),
    ("amount", "1 234 567.25", "1 234 567.25", "changed +value"),
    ("date", "31122024", "31/12/2024", "changed note:formatted"),
    ("date", "01/02/2025", "01/02/2025", "changed +value"),
    ("price", "1234567", "$ 1,234,567", "changed note:formatted"),
    ("day", "31122024", "31/12/2024", "changed note:formatted"),
    // A paste would lose one digit.
    ("day", "01/02/2025", "01/02/2025", "changed +value"),
    ("day", "hello", "", "act.not-taken"),
    ("day", "", "", "changed|none"),
    ("mobile", "5551234567", "(555) 123-4567", "changed note:formatted"),
    ("mobile", "555123456789", "(555) 123-4567", "act.not-taken"),
    ("code", "ab123", "AB-123", "changed note:formatted"),
];

#[test]
fn masked_fields_hold_filled_value_or_report_mismatch() {
    browser_test(async |t| {
        let Some(modules) = widget_directory() else { return };
        for file in
            ["imask/dist/imask.js", "cleave.js/dist/cleave.js", "inputmask/dist/inputmask.js"]
        {
            serve(&t, &modules, file);
        }
        t.page("/masks", include_str!("../widgets/masks.html"));
        t.open("/masks").await;
        let mut wrong = Vec::new();
        for (id, text, expected, pattern) in MASKS {
            let outcome = fill(&t, &format!("css=#{id}"), text).await;
            let held = t.eval(&format!("{id}.value")).await;
            let is_come = pattern.split('|').any(|pattern| matches_outcome(pattern, &outcome));
            if held != format!("{expected:?}") || !is_come {
                wrong.push(format!("{id} {text:?}: holds {held}: {}", describe(&outcome)));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}
