//! Third-party widgets, as they are published, and four ARIA patterns: each is
//! observed, acted on, and observed again, by snapshots alone.
//!
//! The widgets are not part of this repository. `crates/browser/tests/widgets/package.json` names them; copy it into
//! a folder, run `npm install --prefix FOLDER`, and name that folder in `AGBROWSE_WIDGETS`. Without it the tests that
//! need it print that they are skipped and pass, unless `AGBROWSE_REQUIRE_WIDGETS` is set.

use crate::harness::{Route, TestContext, browser_test};
use crate::probes::{describe, matches_outcome};
use crate::snapshot::snapshot_text;
use agbrowse_browser::command::Snapshot;
use agbrowse_browser::{Command, Error, Outcome, Reply};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A sequence of steps with a widget.
struct Scenario {
    name: &'static str,
    steps: &'static [Step],
    /// A script that must return true in the end.
    then: &'static str,
}

/// A step and its expected outcome.
///
/// - `look` takes a snapshot; one of its lines must have these words, or none when they begin with `!`.
/// - `js SCRIPT` runs a script in the page; the expectation, if any, is its result as JSON.
/// - Anything else is a command as JSON, in which `{words}` is the ref of the first line of the latest snapshot with
///   these words, and `{words > others}` that of the first line with the others below it. The expected outcome is
///   written as in `probes.rs`, or with `reads …` as a part of the value read.
type Step = (&'static str, &'static str);

const fn scenario(name: &'static str, steps: &'static [Step], then: &'static str) -> Scenario {
    Scenario { name, steps, then }
}

// The widgets.

#[test]
fn tabulator_rows_are_sorted_and_edited_with_correct_refs() {
    browser_test(async |t| {
        run_scenarios(
            &t,
            include_str!("../widgets/grid.html"),
            &[
                "tabulator-tables/dist/css/tabulator.min.css",
                "tabulator-tables/dist/js/tabulator.min.js",
            ],
            GRID,
        )
        .await;
    });
}

#[test]
fn refs_in_recycled_rows_are_never_mistaken() {
    browser_test(async |t| {
        run_scenarios(&t, include_str!("../widgets/recycler.html"), &[], RECYCLER).await;
    });
}

#[test]
fn tinymce_accepts_text_and_formats_in_its_frame() {
    browser_test(async |t| {
        run_scenarios(
            &t,
            include_str!("../widgets/editor.html"),
            &[
                "tinymce/tinymce.min.js",
                "tinymce/themes/silver/theme.min.js",
                "tinymce/models/dom/model.min.js",
                "tinymce/icons/default/icons.min.js",
                "tinymce/skins/ui/oxide/skin.min.css",
                "tinymce/skins/ui/oxide/content.min.css",
                "tinymce/skins/content/default/content.min.css",
            ],
            EDITOR,
        )
        .await;
    });
}

#[test]
fn shoelace_works_through_shadow_trees() {
    browser_test(async |t| {
        run_scenarios(
            &t,
            include_str!("../widgets/shoelace.html"),
            &[
                "@shoelace-style/shoelace/cdn/themes/light.css",
                "@shoelace-style/shoelace/cdn/chunks",
                "@shoelace-style/shoelace/cdn/components/button/button.js",
                "@shoelace-style/shoelace/cdn/components/checkbox/checkbox.js",
                "@shoelace-style/shoelace/cdn/components/dialog/dialog.js",
                "@shoelace-style/shoelace/cdn/components/input/input.js",
                "@shoelace-style/shoelace/cdn/components/option/option.js",
                "@shoelace-style/shoelace/cdn/components/select/select.js",
            ],
            SHOELACE,
        )
        .await;
    });
}

#[test]
fn react_state_follows_fields_and_lists() {
    browser_test(async |t| {
        run_scenarios(
            &t,
            include_str!("../widgets/react.html"),
            &["react/umd/react.production.min.js", "react-dom/umd/react-dom.production.min.js"],
            REACT,
        )
        .await;
    });
}

#[test]
fn flatpickr_accepts_clicked_and_typed_days() {
    browser_test(async |t| {
        run_scenarios(
            &t,
            include_str!("../widgets/dates.html"),
            &["flatpickr/dist/flatpickr.min.css", "flatpickr/dist/flatpickr.min.js"],
            DATES,
        )
        .await;
    });
}

#[test]
fn select2_accepts_one_and_several_options() {
    browser_test(async |t| {
        run_scenarios(
            &t,
            include_str!("../widgets/select2.html"),
            &[
                "select2/dist/css/select2.min.css",
                "jquery/dist/jquery.min.js",
                "select2/dist/js/select2.min.js",
            ],
            SELECT2,
        )
        .await;
    });
}

// ARIA patterns.

#[test]
fn combobox_filters_and_selects() {
    browser_test(async |t| {
        run_scenarios(&t, include_str!("../widgets/combobox.html"), &[], COMBOBOX).await;
    });
}

#[test]
fn tree_expands_and_distinguishes_entries() {
    browser_test(async |t| {
        run_scenarios(&t, include_str!("../widgets/tree.html"), &[], TREE).await;
    });
}

#[test]
fn menu_works_by_mouse_and_keyboard() {
    browser_test(async |t| {
        run_scenarios(&t, include_str!("../widgets/menu.html"), &[], MENU).await;
    });
}

#[test]
fn modal_dialog_makes_background_inert() {
    browser_test(async |t| {
        run_scenarios(&t, include_str!("../widgets/dialog.html"), &[], DIALOG).await;
    });
}

/// Runs all scenarios on a page that uses these widget files; each begins with a newly opened page. Failures
/// are reported together at the end. `AGBROWSE_SCENARIO` selects scenarios by name.
async fn run_scenarios(t: &TestContext, page: &str, files: &[&str], scenarios: &[Scenario]) {
    if !files.is_empty() {
        let Some(modules) = widget_directory() else { return };
        for file in files {
            serve(t, &modules, file);
        }
    }
    t.page("/widget", page);
    let only = std::env::var("AGBROWSE_SCENARIO").ok();
    let mut wrong = String::new();
    for scenario in scenarios {
        if only.as_ref().is_some_and(|only| !scenario.name.contains(only)) {
            continue;
        }
        if let Err(why) = run_scenario(t, scenario).await {
            let _ = writeln!(wrong, "{}: {why}", scenario.name);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The folder with the installed widgets. Prints a message when there is none and none is required.
pub(crate) fn widget_directory() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("AGBROWSE_WIDGETS") else {
        assert!(
            std::env::var_os("AGBROWSE_REQUIRE_WIDGETS").is_none(),
            "AGBROWSE_WIDGETS names no folder"
        );
        eprintln!("skipped: AGBROWSE_WIDGETS names no folder with the widgets");
        return None;
    };
    Some(Path::new(&folder).join("node_modules"))
}

/// Serves a widget file at the path where the page expects it, or every script directly in a folder.
pub(crate) fn serve(t: &TestContext, modules: &Path, name: &str) {
    let path = modules.join(name);
    if path.is_dir() {
        for entry in std::fs::read_dir(&path).unwrap() {
            let file = entry.unwrap().file_name();
            let file = file.to_string_lossy();
            if file.ends_with(".js") {
                serve(t, modules, &format!("{name}/{file}"));
            }
        }
        return;
    }
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let route = match name.ends_with(".css") {
        true => Route::Style(text),
        false => Route::Script(text),
    };
    t.serve(&format!("/node_modules/{name}"), route);
}

async fn run_scenario(t: &TestContext, scenario: &Scenario) -> Result<(), String> {
    t.open("/widget").await;
    let mut page_text = String::new();
    for &(step, expected) in scenario.steps {
        if step == "look" {
            page_text = snapshot_text(t, Snapshot::default()).await;
            let absent = expected.strip_prefix('!');
            if page_text.contains(absent.unwrap_or(expected)) == absent.is_some() {
                return Err(format!("expected `{expected}` in\n{page_text}"));
            }
            continue;
        }
        if let Some(script) = step.strip_prefix("js ") {
            let value = t.eval(script).await;
            if !expected.is_empty() && value != expected {
                return Err(format!("`{script}` gives {value}, not {expected}"));
            }
            continue;
        }
        let step = with_refs(step, &page_text)?;
        let command: Command =
            serde_json::from_str(&step).map_err(|error| format!("{step}: {error}"))?;
        let outcome = t.run_within(8_000, command).await;
        if !expected.split('|').any(|expected| matches_outcome_or_value(expected, &outcome)) {
            return Err(format!("{step}: expected `{expected}`, got {}", describe(&outcome)));
        }
    }
    match &*t.eval(&format!("!!({})", scenario.then)).await {
        "true" => Ok(()),
        _ => Err(format!("`{}` is not true", scenario.then)),
    }
}

fn matches_outcome_or_value(expected: &str, outcome: &Result<Outcome, Error>) -> bool {
    let Some(words) = expected.strip_prefix("reads ") else {
        return matches_outcome(expected, outcome);
    };
    match outcome {
        Ok(Outcome { reply: Reply::Get(got), .. }) => {
            got.value.as_ref().is_some_and(|value| value.contains(words))
        }
        _ => false,
    }
}

/// A step with refs in place of the words in braces. JSON has braces of its own.
fn with_refs(step: &str, page_text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = step;
    while let Some(at) = rest.find("\"{") {
        let Some(end) = rest[at..].find("}\"") else { break };
        out.push_str(&rest[..=at]);
        let words = rest[at + 2..at + end].replace("\\\"", "\"");
        out.push_str(ref_below(page_text, &words)?);
        rest = &rest[at + end + 1..];
    }
    Ok(out + rest)
}

/// The ref in the line with the last of these words, each searched for below the one before it: a
/// row is named first, then an element in it.
fn ref_below<'s>(page_text: &'s str, words: &str) -> Result<&'s str, String> {
    let mut lines = page_text.lines();
    let mut line = "";
    for part in words.split(" > ") {
        let found = lines.find(|line| line.contains(part));
        line = found.ok_or_else(|| format!("no `{part}` for `{words}` in\n{page_text}"))?;
    }
    let (_, from) = line.rsplit_once("ref=").ok_or_else(|| format!("no ref: {line}"))?;
    Ok(from.split([']', ' ']).next().unwrap_or_default())
}

#[rustfmt::skip]
const GRID: &[Scenario] = &[
    scenario("a column is sorted by its header, in both directions", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", "columnheader \"Amount\""),
        (r#"{"verb":"click","target":"{columnheader \"Amount\"}"}"#, "changed +content"),
        ("js table.getSorters().map((it) => it.field + ' ' + it.dir).join()", "\"amount asc\""),
        ("look", "\"Hal No. 647\""),
        (r#"{"verb":"click","target":"{columnheader \"Amount\"}"}"#, "changed +content"),
        ("look", "\"Ada No. 1040\""),
    ], "table.getSorters()[0].dir === 'desc'"),
    scenario("a cell is edited", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", ""),
        (r#"{"verb":"click","target":"{\"Cleo No. 2\" > gridcell \"Pune\"}"}"#, "changed"),
        ("look", "textbox"),
        (r#"{"verb":"fill","target":"{textbox}","value":"Quito"}"#, "changed +value"),
        (r#"{"verb":"press","keys":["Enter"]}"#, "changed +content"),
        ("look", "gridcell \"Quito\""),
    ], "table.getRow(2).getData().city === 'Quito'"),
    scenario("an edit is undone", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", ""),
        (r#"{"verb":"click","target":"{\"Cleo No. 2\" > gridcell \"Pune\"}"}"#, "changed"),
        ("look", "textbox"),
        (r#"{"verb":"type","target":"{textbox}","text":"!"}"#, "changed +value"),
        (r#"{"verb":"press","keys":["Escape"]}"#, "changed +content"),
        ("look", "!textbox"),
    ], "table.getRow(2).getData().city === 'Pune'"),
    scenario("a button in the last row", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", "!No. 1500"),
        (r#"{"verb":"scroll","target":"css=.tabulator-tableholder","way":"end"}"#, "changed +scroll"),
        ("look", "\"Ada No. 1500\""),
        (r#"{"verb":"click","target":"{\"Ada No. 1500\" > button \"Ship\"}"}"#, "changed +content"),
    ], "shipped.textContent === 'Ada No. 1500'"),
    scenario("the list is scrolled from one of its own rows", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", ""),
        (r#"{"verb":"scroll","target":"{button \"Ship\"}","way":"down"}"#, "changed +scroll"),
    ], "document.querySelector('.tabulator-tableholder').scrollTop > 100"),
    scenario("a ref of a row scrolled out of the virtual list is refused", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", ""),
        (r#"{"verb":"scroll","target":"css=.tabulator-tableholder","way":"end"}"#, "changed +scroll"),
        (r#"{"verb":"click","target":"{\"Dag No. 3\" > button \"Ship\"}","noWait":true}"#, "snapshot.ref-stale"),
    ], "shipped.textContent === 'none'"),
    scenario("a ref of a row that sorting moved out is refused", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", ""),
        (r#"{"verb":"click","target":"{columnheader \"Amount\"}"}"#, "changed +content"),
        (r#"{"verb":"click","target":"{\"Dag No. 3\" > button \"Ship\"}","noWait":true}"#, "snapshot.ref-stale"),
    ], "shipped.textContent === 'none'"),
    scenario("a ref of a row with another customer is refused", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", ""),
        ("js table.updateData([{ id: 3, customer: 'Zoe No. 9' }]).then(() => 1)", "1"),
        (r#"{"verb":"click","target":"{\"Dag No. 3\" > button \"Ship\"}","noWait":true}"#, "snapshot.ref-stale"),
    ], "shipped.textContent === 'none'"),
    scenario("a ref of a row with another customer is refused in an editable table, too", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("js table.updateColumnDefinition('customer', { editor: 'input' }).then(() => 1)", "1"),
        ("look", "gridcell \"Dag No. 3\""),
        ("js table.updateData([{ id: 3, customer: 'Zoe No. 9' }]).then(() => 1)", "1"),
        (r#"{"verb":"click","target":"{\"Dag No. 3\" > button \"Ship\"}","noWait":true}"#, "snapshot.ref-stale"),
    ], "shipped.textContent === 'none'"),
    scenario("a ref of replaced data is refused", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", ""),
        ("js table.setData(orders.slice(700)).then(() => 1)", "1"),
        (r#"{"verb":"click","target":"{\"Dag No. 3\" > button \"Ship\"}","noWait":true}"#, "snapshot.ref-stale"),
    ], "shipped.textContent === 'none'"),
    scenario("a row that is scrolled back has its earlier ref", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        (r#"{"verb":"scroll","target":"css=.tabulator-tableholder","way":"end"}"#, "changed +scroll"),
        (r#"{"verb":"scroll","target":"css=.tabulator-tableholder","way":"start"}"#, "changed +scroll"),
        ("look", ""),
        (r#"{"verb":"click","target":"{\"Dag No. 3\" > button \"Ship\"}"}"#, "changed +content"),
    ], "shipped.textContent === 'Dag No. 3'"),
];

#[rustfmt::skip]
const RECYCLER: &[Scenario] = &[
    scenario("a recycled element of another row is refused", &[
        ("look", "Contact 3"),
        (r#"{"verb":"scroll","target":"{grid \"Contacts\"}","way":"down","by":3000,"noDelta":true}"#, "changed +scroll"),
        (r#"{"verb":"click","target":"{\"Contact 3\" > button \"Call\"}","noWait":true}"#, "snapshot.ref-stale"),
    ], "view.scrollTop === 3000 && called.textContent === 'nobody'"),
    scenario("rows with focusable cells are distinguished", &[
        ("js for (const cell of document.querySelectorAll('[role=gridcell]')) cell.tabIndex = -1", ""),
        ("look", "Contact 3"),
        (r#"{"verb":"scroll","target":"{grid \"Contacts\"}","way":"down","by":3000,"noDelta":true}"#, "changed +scroll"),
        (r#"{"verb":"click","target":"{\"Contact 3\" > button \"Call\"}","noWait":true}"#, "snapshot.ref-stale"),
    ], "view.scrollTop === 3000 && called.textContent === 'nobody'"),
    scenario("refs in a batch are bound to the snapshot before it", &[
        ("look", "Contact 3"),
        (r#"{"verb":"batch","commands":[{"verb":"scroll","target":"{grid \"Contacts\"}","way":"down","by":3000},{"verb":"click","target":"{\"Contact 3\" > button \"Call\"}","noWait":true}]}"#, "snapshot.ref-stale"),
    ], "called.textContent === 'nobody'"),
    scenario("the same element in a new snapshot is the new row", &[
        ("look", "Contact 3"),
        (r#"{"verb":"scroll","target":"{grid \"Contacts\"}","way":"down","by":3000}"#, "changed +scroll"),
        ("look", "Contact 103"),
        (r#"{"verb":"click","target":"{\"Contact 103\" > button \"Call\"}"}"#, "changed +content"),
    ], "called.textContent === 'Contact 103'"),
    scenario("the last of five thousand rows", &[
        ("look", "!Contact 5000"),
        (r#"{"verb":"scroll","target":"{grid \"Contacts\"}","way":"end"}"#, "changed +scroll"),
        ("look", "Contact 5000"),
        (r#"{"verb":"click","target":"{\"Contact 5000\" > button \"Call\"}"}"#, "changed +content"),
    ], "called.textContent === 'Contact 5000'"),
    scenario("a recycled element that is back on its row is used", &[
        ("look", "Contact 3"),
        (r#"{"verb":"scroll","target":"{grid \"Contacts\"}","way":"down","by":3000}"#, "changed +scroll"),
        (r#"{"verb":"scroll","target":"{grid \"Contacts\"}","way":"start"}"#, "changed +scroll"),
        (r#"{"verb":"click","target":"{\"Contact 3\" > button \"Call\"}"}"#, "changed +content"),
    ], "called.textContent === 'Contact 3'"),
];

#[rustfmt::skip]
const EDITOR: &[Scenario] = &[
    scenario("typed text is in the document", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", "Dear reader"),
        (r#"{"verb":"type","target":"{generic \"Letter\"}","text":", hello"}"#, "changed +content"),
        ("look", "Dear reader, hello"),
        (r#"{"verb":"get","what":"text","target":"{generic \"Letter\"}"}"#, "reads Dear reader, hello"),
    ], "tinymce.get('letter').getContent() === '<p>Dear reader, hello</p>'"),
    scenario("the text is replaced", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", ""),
        (r#"{"verb":"fill","target":"{generic \"Letter\"}","value":"Dear Ada"}"#, "changed +value"),
        ("look", "Dear Ada"),
    ], "tinymce.get('letter').getContent() === '<p>Dear Ada</p>'"),
    scenario("a selection is made bold, and the button shows the state", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", "button \"Bold\""),
        (r#"{"verb":"press","keys":["Control+A"],"on":"{generic \"Letter\"}"}"#, "changed|none"),
        (r#"{"verb":"click","target":"{button \"Bold\"}"}"#, "changed +content"),
        ("js document.querySelector('[aria-label=Bold]').ariaPressed", "\"true\""),
        (r#"{"verb":"get","what":"html","target":"{generic \"Letter\"}"}"#, "reads <strong>Dear reader</strong>"),
    ], "tinymce.get('letter').getContent() === '<p><strong>Dear reader</strong></p>'"),
    scenario("bold is turned on, and typed text is bold", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", ""),
        (r#"{"verb":"press","keys":["Control+End"],"on":"{generic \"Letter\"}"}"#, "changed|none"),
        (r#"{"verb":"click","target":"{button \"Bold\"}"}"#, "changed"),
        (r#"{"verb":"press","keys":["h","i"]}"#, "changed +content"),
    ], "tinymce.get('letter').getContent() === '<p>Dear reader<strong>hi</strong></p>'"),
    scenario("a paragraph is made a heading from a menu", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", "button \"Block Paragraph\""),
        (r#"{"verb":"click","target":"{generic \"Letter\"}"}"#, "changed|none"),
        (r#"{"verb":"click","target":"{button \"Block Paragraph\"}"}"#, "changed +content"),
        ("look", "\"Heading 2\""),
        (r#"{"verb":"click","target":"{\"Heading 2\"}"}"#, "changed +content"),
        ("look", "heading \"Dear reader\""),
    ], "tinymce.get('letter').getContent() === '<h2>Dear reader</h2>'"),
    scenario("typing is undone", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", "button \"Undo\""),
        (r#"{"verb":"click","target":"{button \"Undo\"}","noWait":true}"#, "act.disabled"),
        (r#"{"verb":"type","target":"{generic \"Letter\"}","text":"!"}"#, "changed"),
        (r#"{"verb":"click","target":"{button \"Undo\"}"}"#, "changed +content"),
    ], "tinymce.get('letter').getContent() === '<p>Dear reader</p>'"),
];

#[rustfmt::skip]
const SHOELACE: &[Scenario] = &[
    scenario("a field in a shadow tree", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", "textbox \"E-mail\""),
        (r#"{"verb":"fill","target":"{textbox \"E-mail\"}","value":"ann@example.org"}"#, "changed +value"),
        ("look", "value=\"ann@example.org\""),
    ], "mail.value === 'ann@example.org'"),
    scenario("an option, with one command", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", "combobox \"Plan\""),
        (r#"{"verb":"select","target":"{combobox \"Plan\"}","options":["Medium"]}"#, "changed =Medium"),
        ("look", "value=\"Medium\""),
        // The list fades out: it is gone by the next snapshot.
        ("look", "!option \"Medium\""),
    ], "plan.value === 'm'"),
    scenario("an option, with two clicks", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", "!option \"Large\""),
        (r#"{"verb":"click","target":"{combobox \"Plan\"}"}"#, "changed +content"),
        ("look", "option \"Large\""),
        (r#"{"verb":"click","target":"{option \"Large\"}"}"#, "changed"),
    ], "plan.value === 'l'"),
    scenario("an option, with keys", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", ""),
        (r#"{"verb":"press","keys":["ArrowDown"],"on":"{combobox \"Plan\"}"}"#, "changed +content"),
        (r#"{"verb":"wait","fn":"plan.open"}"#, "reply"),
        (r#"{"verb":"press","keys":["ArrowDown","Enter"]}"#, "changed"),
    ], "plan.value === 'm'"),
    scenario("several options", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", "combobox \"Extras\""),
        (r#"{"verb":"select","target":"{combobox \"Extras\"}","options":["Backup","Helpdesk"]}"#, "changed =Helpdesk"),
    ], "extras.value.join() === 'b,h'"),
    scenario("a missing option is reported with the available ones", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", ""),
        (r#"{"verb":"select","target":"{combobox \"Plan\"}","options":["Huge"],"noWait":true}"#, "act.no-option Huge"),
    ], "plan.value === ''"),
    scenario("a checkbox in a shadow tree", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", "checkbox \"I agree\""),
        (r#"{"verb":"check","target":"{checkbox \"I agree\"}"}"#, "changed"),
        ("look", "checked=true"),
        (r#"{"verb":"check","target":"{checkbox \"I agree\"}"}"#, "none undone"),
        ("js terms.checked", "true"),
        (r#"{"verb":"uncheck","target":"{checkbox \"I agree\"}"}"#, "changed"),
    ], "!terms.checked"),
    scenario("a dialog is opened, filled in and submitted", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", "!dialog"),
        (r#"{"verb":"click","target":"{button \"Send\"}"}"#, "changed +content"),
        ("look", "dialog \"Are you sure?\""),
        (r#"{"verb":"fill","target":"{textbox \"Code\"}","value":"42"}"#, "changed +value"),
        (r#"{"verb":"click","target":"{button \"Yes, send\"}"}"#, "changed +content"),
        (r#"{"verb":"wait","target":"role=dialog","state":"hidden"}"#, "reply"),
    ], "state.textContent === 'sent with 42' && !sure.open"),
    scenario("an element behind an open dialog is refused", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", ""),
        (r#"{"verb":"click","target":"{button \"Send\"}"}"#, "changed +content"),
        ("js sends", "1"),
        (r#"{"verb":"click","target":"{button \"Send\"}","noWait":true}"#, "act.covered|act.inert"),
        (r#"{"verb":"check","target":"{checkbox \"I agree\"}","noWait":true}"#, "act.covered|act.inert"),
    ], "sends === 1 && sure.open && !terms.checked"),
    scenario("a dialog is closed by its button", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", ""),
        (r#"{"verb":"click","target":"{button \"Send\"}"}"#, "changed +content"),
        ("look", "button \"Close\""),
        (r#"{"verb":"click","target":"{button \"Close\"}"}"#, "changed"),
        (r#"{"verb":"wait","text":"cancelled"}"#, "reply"),
        ("look", "!dialog"),
    ], "!sure.open"),
    scenario("a dialog is closed by a key, and the page behind it is usable again", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        ("look", ""),
        (r#"{"verb":"click","target":"{button \"Send\"}"}"#, "changed +content"),
        (r#"{"verb":"press","keys":["Escape"]}"#, "changed"),
        (r#"{"verb":"wait","text":"cancelled"}"#, "reply"),
        (r#"{"verb":"check","target":"{checkbox \"I agree\"}"}"#, "changed"),
    ], "!sure.open && terms.checked"),
    scenario("all fields with `fill-form`", &[
        (r#"{"verb":"wait","fn":"window.isReady"}"#, "reply"),
        (r#"{"verb":"fill-form","fields":[{"target":"label=E-mail","value":"ann@example.org"},{"target":"label=Plan","value":"Small"},{"target":"label=I agree","value":"true"}]}"#, "changed"),
    ], "mail.value === 'ann@example.org' && plan.value === 's' && terms.checked"),
];

#[rustfmt::skip]
const REACT: &[Scenario] = &[
    scenario("a text field that shows its state", &[
        ("look", "textbox \"Name\""),
        (r#"{"verb":"fill","target":"{textbox \"Name\"}","value":"Ann"}"#, "changed +value +content"),
        ("look", "\\\"name\\\":\\\"Ann\\\""),
        (r#"{"verb":"type","target":"{textbox \"Name\"}","text":"a"}"#, "changed +value +content"),
        ("js state.name", "\"Anna\""),
        (r#"{"verb":"fill","target":"{textbox \"Name\"}","value":""}"#, "changed +value +content"),
    ], "state.name === '' && document.querySelector('input').value === ''"),
    scenario("a field that accepts a part of the text reports it", &[
        ("look", "textbox \"Postcode\""),
        (r#"{"verb":"fill","target":"{textbox \"Postcode\"}","value":"0150 Oslo"}"#, "act.not-taken 0150"),
    ], "state.zip === '0150'"),
    scenario("a checkbox that shows its state", &[
        ("look", "checkbox \"Member\""),
        (r#"{"verb":"check","target":"{checkbox \"Member\"}"}"#, "changed +value +content"),
        ("js state.isMember", "true"),
        (r#"{"verb":"uncheck","target":"{checkbox \"Member\"}"}"#, "changed +value +content"),
    ], "!state.isMember"),
    scenario("a list of options that shows its state", &[
        ("look", "combobox \"Size\""),
        (r#"{"verb":"select","target":"{combobox \"Size\"}","options":["Large"]}"#, "changed +value +content =Large"),
        ("look", "value=\"Large\""),
    ], "state.size === 'l'"),
    scenario("all fields with `fill-form`", &[
        (r#"{"verb":"fill-form","fields":[{"target":"label=Name","value":"Ann"},{"target":"label=Postcode","value":"0150"},{"target":"label=Member","value":"true"},{"target":"label=Size","value":"Large"}]}"#, "changed +content"),
    ], "JSON.stringify(state) === '{\"name\":\"Ann\",\"zip\":\"0150\",\"isMember\":true,\"size\":\"l\"}'"),
    scenario("a moved entry keeps its ref", &[
        ("look", "heading \"keyed\""),
        (r#"{"verb":"click","target":"{button \"Reverse keyed\"}","noDelta":true}"#, "changed +content"),
        ("js keyed.join()", "\"Fold,Iron,Wash\""),
        (r#"{"verb":"click","target":"{\"keyed\" > \"Wash\" > button \"Remove\"}"}"#, "changed +content"),
    ], "keyed.join() === 'Fold,Iron'"),
    scenario("an element with the text of another entry is refused", &[
        ("look", "heading \"placed\""),
        (r#"{"verb":"click","target":"{button \"Reverse placed\"}","noDelta":true}"#, "changed +content"),
        ("js placed.join()", "\"Fold,Iron,Wash\""),
        (r#"{"verb":"click","target":"{heading \"placed\" > \"Wash\" > button \"Remove\"}","noWait":true}"#, "snapshot.ref-stale"),
    ], "placed.join() === 'Fold,Iron,Wash'"),
    scenario("the entry that moves into the place of a removed one is not mistaken for it", &[
        ("look", "heading \"placed\""),
        (r#"{"verb":"click","target":"{heading \"placed\" > \"Wash\" > button \"Remove\"}","noDelta":true}"#, "changed +content"),
        ("js placed.join()", "\"Iron,Fold\""),
        (r#"{"verb":"click","target":"{heading \"placed\" > \"Wash\" > button \"Remove\"}","noWait":true}"#, "snapshot.ref-stale"),
    ], "placed.join() === 'Iron,Fold'"),
    scenario("a removed entry is refused", &[
        ("look", "heading \"keyed\""),
        (r#"{"verb":"click","target":"{heading \"keyed\" > \"Iron\" > button \"Remove\"}"}"#, "changed +content"),
        (r#"{"verb":"click","target":"{heading \"keyed\" > \"Iron\" > button \"Remove\"}","noWait":true}"#, "snapshot.ref-stale"),
        (r#"{"verb":"click","target":"{heading \"keyed\" > \"Fold\" > button \"Remove\"}"}"#, "changed +content"),
    ], "keyed.join() === 'Wash'"),
];

#[rustfmt::skip]
const DATES: &[Scenario] = &[
    scenario("a day is clicked", &[
        ("look", "textbox \"Arrival\""),
        (r#"{"verb":"click","target":"{textbox \"Arrival\"}"}"#, "changed +content"),
        ("look", "\"March 12, 2026\""),
        (r#"{"verb":"click","target":"{\"March 12, 2026\"}"}"#, "changed +content"),
        ("look", "value=\"2026-03-12\""),
    ], "arrival.value === '2026-03-12' && chosen.textContent === 'arrival 2026-03-12' && !arrival._flatpickr.isOpen"),
    scenario("a calendar that fades in is waited for", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{textbox \"Arrival\"}"}"#, "changed +content"),
        ("look", "text: \"Wed\""),
        ("look", "!hidden="),
    ], "arrival._flatpickr.isOpen"),
    scenario("a day of the next month, by the arrow", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{textbox \"Arrival\"}"}"#, "changed +content"),
        (r#"{"verb":"click","target":"css=.flatpickr-calendar.open .flatpickr-next-month"}"#, "changed +content"),
        ("look", "\"April 30, 2026\""),
        (r#"{"verb":"click","target":"{\"April 30, 2026\"}"}"#, "changed +content"),
    ], "arrival.value === '2026-04-30'"),
    scenario("a day of another month and year, by their fields", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{textbox \"Arrival\"}"}"#, "changed +content"),
        ("look", "combobox \"Month\""),
        (r#"{"verb":"select","target":"{combobox \"Month\"}","options":["December"]}"#, "changed =December"),
        (r#"{"verb":"fill","target":"css=.flatpickr-calendar.open .cur-year","value":"2027"}"#, "changed +value"),
        (r#"{"verb":"press","keys":["Enter"]}"#, "changed|none"),
        ("look", "\"December 24, 2027\""),
        (r#"{"verb":"click","target":"{\"December 24, 2027\"}"}"#, "changed +content"),
    ], "arrival.value === '2027-12-24'"),
    scenario("a day is typed into the field", &[
        ("look", "textbox \"Departure\""),
        (r#"{"verb":"fill","target":"{textbox \"Departure\"}","value":"2026-03-28"}"#, "changed +value"),
        (r#"{"verb":"press","keys":["Enter"]}"#, "changed"),
    ], "leave._flatpickr.selectedDates[0].getDate() === 28 && chosen.textContent === 'departure 2026-03-28'"),
    scenario("a calendar-only field cannot be filled", &[
        ("look", ""),
        (r#"{"verb":"fill","target":"{textbox \"Arrival\"}","value":"2026-03-28","noWait":true}"#, "act.not-editable"),
    ], "arrival.value === '2026-03-10'"),
    scenario("a range is two clicks", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{textbox \"Stay\"}"}"#, "changed +content"),
        ("look", "\"March 5, 2026\""),
        (r#"{"verb":"click","target":"{\"March 5, 2026\"}"}"#, "changed"),
        ("look", "\"March 9, 2026\""),
        (r#"{"verb":"click","target":"{\"March 9, 2026\"}"}"#, "changed +content"),
    ], "stay.value === '2026-03-05 to 2026-03-09'"),
    scenario("a day of a month no longer shown is refused", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{textbox \"Arrival\"}"}"#, "changed +content"),
        ("look", "\"March 12, 2026\""),
        (r#"{"verb":"click","target":"css=.flatpickr-calendar.open .flatpickr-next-month"}"#, "changed +content"),
        (r#"{"verb":"click","target":"{\"March 12, 2026\"}","noWait":true}"#, "snapshot.ref-stale"),
    ], "arrival.value === '2026-03-10'"),
    scenario("a calendar is closed by a key", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{textbox \"Arrival\"}"}"#, "changed +content"),
        (r#"{"verb":"press","keys":["Escape"]}"#, "changed +content"),
        ("look", "!March 12"),
    ], "!arrival._flatpickr.isOpen"),
];

#[rustfmt::skip]
const SELECT2: &[Scenario] = &[
    scenario("an option, with one command", &[
        ("look", "combobox \"Austria\""),
        (r#"{"verb":"select","target":"{combobox \"Austria\"}","options":["Japan"]}"#, "changed +content =Japan"),
        ("look", "combobox \"Japan\""),
    ], "country.value === 'jp' && chosen.textContent === 'jp and no sport'"),
    scenario("an option, with two clicks", &[
        ("look", "!option \"Kenya\""),
        (r#"{"verb":"click","target":"{combobox \"Austria\"}"}"#, "changed +content"),
        ("look", "option \"Kenya\""),
        (r#"{"verb":"click","target":"{option \"Kenya\"}"}"#, "changed +content"),
    ], "country.value === 'ke'"),
    scenario("an option found by search", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{combobox \"Austria\"}"}"#, "changed +content"),
        ("look", "searchbox"),
        (r#"{"verb":"type","target":"css=.select2-dropdown .select2-search__field","text":"chi"}"#, "changed +content"),
        ("look", "!option \"Kenya\""),
        (r#"{"verb":"press","keys":["Enter"]}"#, "changed +content"),
    ], "country.value === 'cl'"),
    scenario("an option, with keys", &[
        ("look", ""),
        (r#"{"verb":"press","keys":["Enter"],"on":"{combobox \"Austria\"}"}"#, "changed +content"),
        (r#"{"verb":"press","keys":["ArrowDown","ArrowDown","Enter"]}"#, "changed +content"),
    ], "country.value === 'jp'"),
    scenario("several options, with one command", &[
        ("look", "searchbox \"Search\""),
        (r#"{"verb":"select","target":"{searchbox \"Search\"}","options":["Climbing","Sailing"]}"#, "changed +content =Sailing"),
        ("look", "\"Climbing\""),
    ], "$('#sports').val().join() === 'c,s'"),
    scenario("several options, with clicks, and one is deselected", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{searchbox \"Search\"}"}"#, "changed +content"),
        ("look", "option \"Hiking\""),
        (r#"{"verb":"click","target":"{option \"Hiking\"}"}"#, "changed +content"),
        (r#"{"verb":"type","target":"{searchbox}","text":"Sail"}"#, "changed +content"),
        (r#"{"verb":"press","keys":["Enter"]}"#, "changed +content"),
        ("js $('#sports').val().join()", "\"h,s\""),
        ("look", "Remove item"),
        (r#"{"verb":"click","target":"{Remove item}"}"#, "changed +content"),
    ], "$('#sports').val().join() === 's'"),
    scenario("a missing option is reported with the available ones", &[
        ("look", ""),
        (r#"{"verb":"select","target":"{combobox \"Austria\"}","options":["Peru"],"noWait":true}"#, "act.no-option Peru"),
    ], "country.value === 'at'"),
    scenario("the hidden native select is not used", &[
        ("look", ""),
        (r#"{"verb":"select","target":"css=#country","options":["Kenya"],"noWait":true}"#, "target.not-found not shown"),
    ], "country.value === 'at'"),
];

#[rustfmt::skip]
const COMBOBOX: &[Scenario] = &[
    scenario("a prefix is typed, and an option selected", &[
        ("look", "combobox \"Fruit\""),
        (r#"{"verb":"type","target":"{combobox \"Fruit\"}","text":"b"}"#, "changed +value +content"),
        ("look", "option \"Blueberry\""),
        ("look", "!option \"Cherry\""),
        (r#"{"verb":"click","target":"{option \"Blueberry\"}"}"#, "changed +content"),
        ("look", "!option"),
    ], "fruit.value === 'Blueberry' && chosen.textContent === 'Blueberry' && document.activeElement === fruit"),
    scenario("an option is selected with keys", &[
        ("look", ""),
        (r#"{"verb":"type","target":"{combobox \"Fruit\"}","text":"ap"}"#, "changed +value +content"),
        (r#"{"verb":"press","keys":["ArrowDown","ArrowDown"]}"#, "changed +content"),
        ("look", "option \"Apricot\""),
        (r#"{"verb":"press","keys":["Enter"]}"#, "changed +content"),
    ], "fruit.value === 'Apricot'"),
    scenario("the list is opened by its button", &[
        ("look", "button \"Fruit choices\""),
        (r#"{"verb":"click","target":"{button \"Fruit choices\"}"}"#, "changed +content"),
        ("look", "option \"Cherry\""),
        (r#"{"verb":"click","target":"{option \"Cherry\"}"}"#, "changed +content"),
    ], "fruit.value === 'Cherry'"),
    scenario("an option of a searchable list, with one command", &[
        ("look", ""),
        (r#"{"verb":"select","target":"{combobox \"Fruit\"}","options":["Banana"]}"#, "changed =Banana"),
    ], "chosen.textContent === 'Banana' && fruits.hidden"),
    scenario("a select-only combobox shows its selection", &[
        ("look", "combobox \"Colour\""),
        ("look", "value=\"Red\""),
    ], "true"),
    scenario("an option of a select-only combobox, with one command", &[
        ("look", "combobox \"Colour\""),
        (r#"{"verb":"select","target":"{combobox \"Colour\"}","options":["Blue"]}"#, "changed +content =Blue"),
    ], "shade.textContent === 'Blue' && shades.hidden"),
    scenario("an option of a select-only combobox, with keys", &[
        ("look", ""),
        (r#"{"verb":"press","keys":["ArrowDown","ArrowDown","Enter"],"on":"{combobox \"Colour\"}"}"#, "changed +content"),
    ], "shade.textContent === 'Green'"),
    scenario("both with `fill-form`", &[
        (r#"{"verb":"fill-form","fields":[{"target":"role=combobox[name=\"Fruit\"]","value":"Cherry"},{"target":"role=combobox[name=\"Colour\"]","value":"Green"}]}"#, "changed"),
    ], "fruit.value === 'Cherry' && shade.textContent === 'Green'"),
    scenario("a list is closed without a selection", &[
        ("look", ""),
        (r#"{"verb":"type","target":"{combobox \"Fruit\"}","text":"c"}"#, "changed +value +content"),
        ("look", "option \"Cherry\""),
        (r#"{"verb":"press","keys":["Escape"]}"#, "changed +content"),
        (r#"{"verb":"click","target":"{option \"Cherry\"}","noWait":true}"#, "snapshot.ref-stale|act.hidden"),
    ], "fruits.hidden && chosen.textContent === 'nothing'"),
];

#[rustfmt::skip]
const TREE: &[Scenario] = &[
    scenario("an entry is expanded, and one below it selected", &[
        ("look", "treeitem \"Letters\""),
        ("look", "!treeitem \"To Bo\""),
        (r#"{"verb":"click","target":"{treeitem \"Letters\"}"}"#, "changed +content"),
        ("look", "treeitem \"To Bo\""),
        (r#"{"verb":"click","target":"{treeitem \"To Bo\"}"}"#, "changed +content"),
        ("look", "treeitem \"Letters\""),
    ], "selected.textContent === 'To Bo'"),
    scenario("an entry is collapsed without a click inside it", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{treeitem \"Letters\"}"}"#, "changed +content"),
        ("look", "treeitem \"To Ada\""),
        (r#"{"verb":"click","target":"{treeitem \"Letters\"}"}"#, "changed +content"),
        ("look", "!treeitem \"To Ada\""),
    ], "selected.textContent === 'Letters'"),
    scenario("an entry is selected with keys", &[
        ("look", ""),
        (r#"{"verb":"focus","target":"{treeitem \"Letters\"}"}"#, "changed +focus"),
        (r#"{"verb":"press","keys":["ArrowDown"]}"#, "changed +focus"),
        (r#"{"verb":"press","keys":["ArrowRight"]}"#, "changed +content"),
        (r#"{"verb":"press","keys":["ArrowRight","ArrowRight","ArrowRight"]}"#, "changed"),
        ("look", "treeitem \"Beach.jpg\""),
        (r#"{"verb":"press","keys":["Enter"]}"#, "changed +content"),
    ], "selected.textContent === 'Beach.jpg'"),
    scenario("an entry of a tree is selected as an option", &[
        ("look", "tree \"Files\""),
        (r#"{"verb":"select","target":"{tree \"Files\"}","options":["Notes"]}"#, "changed +content =Notes"),
    ], "selected.textContent === 'Notes'"),
    scenario("an entry two levels down, in a fully expanded tree", &[
        ("js for (const item of items()) if (isParent(item)) expand(item, true)", ""),
        ("look", "treeitem \"Winter\""),
        (r#"{"verb":"click","target":"{treeitem \"Winter\"}"}"#, "changed +content"),
        ("js selected.textContent", "\"Winter\""),
        (r#"{"verb":"click","target":"{treeitem \"Summer\"}"}"#, "changed +content"),
        ("look", "!Beach.jpg"),
    ], "selected.textContent === 'Summer'"),
];

#[rustfmt::skip]
const MENU: &[Scenario] = &[
    scenario("an item is selected with the mouse", &[
        ("look", "!menuitem"),
        (r#"{"verb":"click","target":"{button \"Actions\"}"}"#, "changed +content"),
        ("look", "menuitem \"Print\""),
        (r#"{"verb":"click","target":"{menuitem \"Print\"}"}"#, "changed +content"),
        ("look", "!menuitem"),
    ], "done.textContent === 'Print' && document.activeElement === button"),
    scenario("an item is selected with keys", &[
        ("look", ""),
        (r#"{"verb":"press","keys":["ArrowDown"],"on":"{button \"Actions\"}"}"#, "changed +content"),
        ("look", "menuitem \"Copy\""),
        (r#"{"verb":"press","keys":["ArrowDown"]}"#, "changed +focus"),
        (r#"{"verb":"press","keys":["Enter"]}"#, "changed +content"),
    ], "done.textContent === 'Print'"),
    scenario("an item is selected by its first letter", &[
        ("look", ""),
        (r#"{"verb":"press","keys":["Enter"],"on":"{button \"Actions\"}"}"#, "changed +content"),
        (r#"{"verb":"press","keys":["w","Space"]}"#, "changed +content"),
    ], "done.textContent === 'Wrap lines' && document.querySelector('[role=menuitemcheckbox]').ariaChecked === 'true'"),
    scenario("an item is selected with one command", &[
        ("look", ""),
        (r#"{"verb":"select","target":"{button \"Actions\"}","options":["Print"]}"#, "changed +content =Print"),
    ], "done.textContent === 'Print' && menu.hidden"),
    scenario("a checkable item", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{button \"Actions\"}"}"#, "changed +content"),
        ("look", "menuitemcheckbox \"Wrap lines\""),
        (r#"{"verb":"check","target":"{menuitemcheckbox \"Wrap lines\"}"}"#, "changed +content"),
    ], "document.querySelector('[role=menuitemcheckbox]').ariaChecked === 'true'"),
    scenario("a disabled item is refused", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{button \"Actions\"}"}"#, "changed +content"),
        ("look", "menuitem \"Paste\""),
        (r#"{"verb":"click","target":"{menuitem \"Paste\"}","noWait":true}"#, "act.disabled"),
    ], "done.textContent === 'nothing' && !menu.hidden"),
    scenario("an item of a submenu, with the mouse", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{button \"Actions\"}"}"#, "changed +content"),
        ("look", "menuitem \"Send\""),
        (r#"{"verb":"hover","target":"{menuitem \"Send\"}"}"#, "changed +content"),
        ("look", "menuitem \"As a link\""),
        (r#"{"verb":"click","target":"{menuitem \"As a link\"}"}"#, "changed +content"),
    ], "done.textContent === 'As a link' && menu.hidden"),
    scenario("an item of a submenu, with keys", &[
        ("look", ""),
        (r#"{"verb":"press","keys":["ArrowUp","ArrowRight","ArrowDown"],"on":"{button \"Actions\"}"}"#, "changed +content"),
        ("js document.activeElement.textContent", "\"As a link\""),
        (r#"{"verb":"press","keys":["ArrowLeft"]}"#, "changed +content"),
        ("look", "!As a link"),
        (r#"{"verb":"press","keys":["Enter","Enter"]}"#, "changed +content"),
    ], "done.textContent === 'By mail'"),
    scenario("a menu is closed, and its items are refused", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{button \"Actions\"}"}"#, "changed +content"),
        ("look", "menuitem \"Copy\""),
        (r#"{"verb":"press","keys":["Escape"]}"#, "changed +content"),
        (r#"{"verb":"click","target":"{menuitem \"Copy\"}","noWait":true}"#, "snapshot.ref-stale|act.hidden"),
    ], "menu.hidden && done.textContent === 'nothing'"),
];

#[rustfmt::skip]
const DIALOG: &[Scenario] = &[
    scenario("a dialog is opened, filled in and saved", &[
        ("look", "!dialog"),
        (r#"{"verb":"click","target":"{button \"Add address\"}"}"#, "changed +content"),
        ("look", "dialog \"New address\""),
        (r#"{"verb":"fill","target":"{textbox \"Street\"}","value":"Elm Road 3"}"#, "changed +value"),
        (r#"{"verb":"click","target":"{button \"Save\"}"}"#, "changed +content"),
        ("look", "!dialog"),
    ], "book.textContent === 'Elm Road 3' && document.activeElement === add"),
    scenario("an element behind a dialog is refused, and usable after it is closed", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{button \"Add address\"}"}"#, "changed +content"),
        (r#"{"verb":"click","target":"{button \"Delete all\"}","noWait":true}"#, "act.covered|act.inert"),
        ("look", "button \"Cancel\""),
        (r#"{"verb":"click","target":"{button \"Cancel\"}"}"#, "changed +content"),
        ("look", ""),
        (r#"{"verb":"click","target":"{button \"Delete all\"}"}"#, "changed +content"),
    ], "veil.hidden && book.textContent === 'wiped'"),
    scenario("keys to an element behind a dialog are refused", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{button \"Add address\"}"}"#, "changed +content"),
        (r#"{"verb":"press","keys":["Enter"],"on":"{button \"Delete all\"}"}"#, "act.covered|act.inert"),
    ], "book.textContent === 'empty'"),
    scenario("a field behind a dialog is not filled", &[
        ("look", "textbox \"Search\""),
        (r#"{"verb":"click","target":"{button \"Add address\"}"}"#, "changed +content"),
        (r#"{"verb":"fill","target":"{textbox \"Search\"}","value":"x","noWait":true}"#, "act.covered|act.inert"),
        (r#"{"verb":"type","target":"{textbox \"Search\"}","text":"x","noWait":true}"#, "act.covered|act.inert"),
    ], "search.value === '' && document.activeElement === street"),
    scenario("`can` reports an element behind a dialog as not clickable", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{button \"Add address\"}"}"#, "changed +content"),
        (r#"{"verb":"can","action":"click","target":"{button \"Delete all\"}"}"#, "can fail"),
    ], "book.textContent === 'empty'"),
    scenario("a dialog traps the focus, and a key closes it", &[
        ("look", ""),
        (r#"{"verb":"click","target":"{button \"Add address\"}"}"#, "changed +content"),
        (r#"{"verb":"press","keys":["Tab","Tab","Tab"]}"#, "changed|none"),
        ("js document.activeElement.id", "\"street\""),
        (r#"{"verb":"press","keys":["Escape"]}"#, "changed +content"),
        ("look", "!dialog"),
    ], "veil.hidden && document.activeElement === add"),
];
