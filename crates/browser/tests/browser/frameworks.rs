//! Refs in lists rendered by ten frameworks and two virtual lists, as they are published, each with a small list
//! of todos (`todo.html`). All get the same changes; `data-id` identifies the todo of a button.

use crate::harness::{TestContext, browser_test};
use crate::snapshot::{get, snapshot_text};
use crate::widgets::{serve, widget_directory};
use agbrowse_browser::command::{Property, Snapshot};
use agbrowse_browser::{Code, Reply};

/// Frameworks, their files, and whether their rows are keyed.
const FRAMEWORKS: &[(&str, &[&str], bool)] = &[
    (
        "react",
        &["react/umd/react.production.min.js", "react-dom/umd/react-dom.production.min.js"],
        true,
    ),
    ("preact", &["preact/dist/preact.mjs"], true),
    ("vue", &["vue/dist/vue.global.prod.js"], true),
    (
        "svelte",
        &[
            "svelte/compiler.cjs",
            "svelte/src/runtime/internal",
            "svelte/src/runtime/internal/disclose-version",
            "svelte/src/shared",
            "svelte/src/shared/utils",
        ],
        true,
    ),
    ("lit", &["lit-html", "lit-html/directives"], true),
    ("angularjs", &["angular/angular.min.js"], true),
    ("riot", &["riot/riot+compiler.min.js"], true),
    ("knockout", &["knockout/build/output/knockout-latest.js"], false),
    (
        "backbone",
        &[
            "jquery/dist/jquery.min.js",
            "underscore/underscore-umd-min.js",
            "backbone/backbone-min.js",
        ],
        false,
    ),
    ("jquery", &["jquery/dist/jquery.min.js"], false),
    ("react-window", &["react-window/dist/index-prod.umd.js"], true),
    ("clusterize", &["clusterize.js/clusterize.min.js"], false),
];

const CHANGES: &[&str] = &[
    "none",
    "toggle",
    "deleteFirst",
    "insert",
    "reverse",
    "filter",
    "fill",
    "rename",
    "renderAnew",
    "scroll",
];

#[test]
fn refs_stay_valid_in_framework_and_virtual_lists() {
    browser_test(async |t| {
        let Some(modules) = widget_directory() else { return };
        t.page("/todo", include_str!("../widgets/todo.html"));
        for (_, files, _) in FRAMEWORKS {
            for file in *files {
                serve(&t, &modules, file);
            }
        }
        let mut score = Results::default();
        for (framework, _, can_have_keys) in FRAMEWORKS {
            for is_keyed in [false, true] {
                if !is_keyed || *can_have_keys {
                    drive(&t, framework, is_keyed, &mut score).await;
                }
            }
        }
        eprintln!(
            "same {}, other {}, refused needlessly {}",
            score.same,
            score.other,
            score.missed.len()
        );
        assert!(score.wrong.is_empty(), "another todo:\n{}", score.wrong.join("\n"));
        assert!(score.silent.is_empty(), "renamed, no note:\n{}", score.silent.join("\n"));
        let missed = score.missed.len() as u32;
        assert!(missed * 100 <= score.same, "refused needlessly:\n{}", score.missed.join("\n"));
        assert!(score.same > 100 && score.other > 50, "{} {}", score.same, score.other);
    });
}

/// Results of all frameworks.
#[derive(Default)]
struct Results {
    same: u32,
    other: u32,
    wrong: Vec<String>,
    silent: Vec<String>,
    missed: Vec<String>,
}

async fn drive(t: &TestContext, framework: &str, is_keyed: bool, score: &mut Results) {
    t.open(&format!("/todo?with={framework}{}", if is_keyed { "&keyed" } else { "" })).await;
    while t.eval("String(isReady)").await == "\"false\"" {
        tokio::task::yield_now().await;
    }
    assert_eq!(t.eval("String(isReady)").await, "\"true\"", "{framework}");
    for change in CHANGES {
        t.eval("begin()").await;
        let text = snapshot_text(t, Snapshot { fresh: true, ..Snapshot::default() }).await;
        let buttons: Vec<&str> = text.lines().filter(|line| line.contains("\"Delete\"")).collect();
        assert!(buttons.len() > 3, "{framework}: {text}");
        let mut targets = Vec::new();
        for line in [buttons[0], buttons[2]] {
            let name = crate::snapshot::ref_of(line, "Delete");
            let (id, _) = id_of(t, &name).await;
            let id = id.unwrap().unwrap();
            let title = t.eval(&format!("titleOf({id:?})")).await;
            t.eval(&format!("hold({id:?})")).await;
            targets.push((name, id, title));
        }
        t.eval(&format!("change({change:?})")).await;
        for (name, id, title) in targets {
            let now = t.eval(&format!("titleOf({id:?})")).await;
            let is_meant = t.eval(&format!("isStillMeant({id:?})")).await == "true";
            let is_same = is_meant && now == title;
            let (used, has_note) = id_of(t, &name).await;
            score.same += u32::from(is_same);
            score.other += u32::from(!is_same);
            let story = format!("{framework} keyed {is_keyed} {change}: {title} {now} {used:?}");
            match used {
                Ok(found) if found.as_ref() != Some(&id) => score.wrong.push(story),
                Ok(_) if !is_same && !has_note => score.silent.push(story),
                Ok(_) => {}
                Err(Code::SnapshotRefStale) if is_same => score.missed.push(story),
                Err(Code::SnapshotRefStale) => {}
                Err(code) => panic!("{code:?}: {story}"),
            }
        }
    }
}

/// The todo id of a ref, and whether its use has a note.
async fn id_of(t: &TestContext, name: &str) -> (Result<Option<String>, Code>, bool) {
    let agbrowse_browser::Command::Get(mut command) = get(Property::Attr, name) else {
        panic!("no get")
    };
    command.name = Some("data-id".into());
    match t.run(agbrowse_browser::Command::Get(command)).await {
        Ok(outcome) => {
            let Reply::Get(got) = outcome.reply else { panic!("{:?}", outcome.reply) };
            (Ok(got.value), !outcome.notes.is_empty())
        }
        Err(error) => (Err(error.code()), false),
    }
}
