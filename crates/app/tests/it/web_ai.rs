//! Chat apps: rows, snapshots, reports, prompts and answers, on fixture apps under the vendors' own host names.

use crate::mcp::RawClient;
use crate::sandbox::{Home, has_browser, wait_until};
use chatapps::{AnswerKind, App, ChatApps, Models, Scenario, Variant};
use serde_json::{Value, json};
use std::time::Duration;

const APPS: [(App, &str); 3] =
    [(App::ChatGpt, "chatgpt"), (App::Gemini, "gemini"), (App::Grok, "grok")];

/// A home with a browser whose vendor hosts lead to fixture apps.
struct Fixture {
    home: Home,
    apps: ChatApps,
}

impl Fixture {
    /// `None` without a browser.
    fn start() -> Option<Self> {
        if !has_browser() {
            return None;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let apps = runtime.block_on(ChatApps::start()).unwrap();
        Some(Self { home: Home::new(), apps })
    }

    /// Opens an app in a browser with a window that nobody sees.
    fn open(&self, app: App, scenario: &Scenario) {
        let mut args = vec!["open".to_owned(), self.apps.url(app, scenario), "--headed".into()];
        args.push("--chrome-arg=--ozone-platform=headless".into());
        args.extend(self.apps.browser_args().into_iter().map(|arg| format!("--chrome-arg={arg}")));
        self.home.ok(&args);
    }

    /// The status of a vendor, whether it is ready or not.
    fn status(&self, vendor: &str, more: &[&str]) -> Value {
        let mut args = vec!["web-ai", "status", "--json", "--vendor", vendor];
        args.extend(more);
        let done = self.home.run(&args);
        let status: Value =
            serde_json::from_str(&done.out()).unwrap_or_else(|_| panic!("{}", done.err()));
        assert_eq!(done.code(), i32::from(status["ok"] != true), "{status}");
        status
    }

    fn query(&self, vendor: &str, prompt: &str, more: &[&str]) -> Value {
        let mut args = vec!["web-ai", "query", "--vendor", vendor, "--prompt", prompt];
        args.extend(more);
        self.bare(&args)
    }

    /// Runs a command whose JSON has no envelope.
    fn bare(&self, args: &[&str]) -> Value {
        let mut args = args.to_vec();
        args.push("--json");
        let done = self.home.run(&args);
        serde_json::from_str(&done.out())
            .unwrap_or_else(|_| panic!("{}\n{}", done.err(), done.out()))
    }
}

fn is_soak() -> bool {
    std::env::var_os("AGBROWSE_SOAK").is_some()
}

/// Seeds of changed pages: one, or in the soak 50, new ones each time unless `AGBROWSE_SEED` repeats a run.
fn seeds() -> Vec<u64> {
    let given = std::env::var("AGBROWSE_SEED").ok().and_then(|text| text.parse().ok());
    let first: u64 = given.unwrap_or_else(|| u64::from(std::process::id()));
    eprintln!("seed: {first} (repeat with AGBROWSE_SEED={first})");
    (first..first + if is_soak() { 50 } else { 1 }).collect()
}

fn row<'s>(status: &'s Value, id: &str) -> &'s Value {
    let rows = status["capabilities"].as_array().unwrap();
    rows.iter().find(|row| row["capabilityId"] == id).unwrap_or_else(|| panic!("{id}: {status}"))
}

#[test]
fn each_vendors_capability_list_has_the_expected_ids_in_order() {
    let Some(fixture) = Fixture::start() else { return };
    for (app, vendor) in APPS {
        fixture.open(app, &Scenario::default());
        let status = fixture.status(vendor, &[]);
        let keys: Vec<_> = status.as_object().unwrap().keys().map(String::as_str).collect();
        let expected =
            ["ok", "vendor", "status", "url", "capabilities", "capabilityState", "warnings"];
        assert_eq!(keys.len(), expected.len());
        assert!(expected.iter().all(|key| keys.contains(key)), "{keys:?}");
        let rows = status["capabilities"].as_array().unwrap();
        let ids: Vec<_> = rows.iter().map(|row| row["capabilityId"].as_str().unwrap()).collect();
        let own = [
            "active-tab-verification",
            "composer-visible",
            "session-logged-in",
            "model-alias-selectable",
            "upload-surface-visible",
            "copy-button-present",
            "response-streaming",
        ];
        let mut expected: Vec<_> = own.iter().map(|name| format!("{vendor}-{name}")).collect();
        expected
            .extend(["agbrowse-cdp-connected".to_owned(), "agbrowse-profile-matches".to_owned()]);
        assert_eq!(ids, expected);
        assert_eq!((&status["status"], &status["ok"]), (&json!("ready"), &json!(true)), "{status}");
        let one = fixture.status(vendor, &["--probe", &expected[1]]);
        assert_eq!(one["capabilities"].as_array().unwrap().len(), 1);
        assert_eq!(one["capabilityState"], "ok", "{one}");
    }
    let error = fixture.home.error(["web-ai", "status", "--probe", "chatgpt.composer.visible"]);
    assert_eq!(error["errorCode"], "capability.unsupported");
    assert!(error["message"].as_str().unwrap().contains("`chatgpt-composer-visible`"), "{error}");
}

#[test]
fn status_leaves_the_page_as_it_was_and_submits_nothing() {
    let Some(fixture) = Fixture::start() else { return };
    for (app, vendor) in APPS {
        fixture.open(app, &Scenario::default());
        let snapshot = || fixture.home.ok(["snapshot", "--fresh", "--no-interactive"]);
        let before = snapshot();
        for model in ["pro", "fast", "thinking", "heavy", "deepthink", "nonsense"] {
            fixture.status(vendor, &["--model", model, "--file", "x.txt"]);
        }
        assert_eq!(snapshot(), before, "{vendor}");
        let opened =
            fixture.apps.all_events().iter().filter(|event| event.kind == "menu-opened").count();
        assert!(opened > 0, "{vendor}: a menu was opened");
        assert_eq!(fixture.apps.submit_events(), [], "{vendor}");
        fixture.apps.reset_records();
    }
}

#[test]
fn model_rows_tell_what_can_be_chosen() {
    let Some(fixture) = Fixture::start() else { return };
    let check = |vendor: &str, model: &str, state: &str, next: &str| -> Value {
        let id = format!("{vendor}-model-alias-selectable");
        let status = fixture.status(vendor, &["--model", model, "--probe", &id]);
        let row = row(&status, &id).clone();
        assert_eq!(
            (&row["state"], &row["next"]),
            (&json!(state), &json!(next)),
            "{vendor} {model}: {row}"
        );
        row
    };
    let no_pro = Scenario { models: Models::NoPro, ..Scenario::default() };
    fixture.open(App::ChatGpt, &no_pro);
    // The smoke plan of the specification: without a Pro entitlement.
    let pro = check("chatgpt", "pro", "fail", "model-fallback");
    assert_eq!(pro["evidence"]["selectable"], false);
    assert_eq!(pro["evidence"]["menuClosed"], true);
    let thinking = check("chatgpt", "think", "ok", "send");
    assert_eq!(thinking["evidence"]["menuClosed"], true);
    check("chatgpt", "opus", "fail", "model-fallback");
    fixture.open(App::Gemini, &Scenario::default());
    let tool = check("gemini", "deepthink", "unknown", "send");
    assert_eq!(tool["evidence"]["tool"], "deepthink");
    let pro = check("gemini", "pro", "warn", "model-fallback");
    assert_eq!(pro["evidence"]["selectable"], true);
    fixture.open(App::Grok, &Scenario::default());
    let auto = check("grok", "automatic", "ok", "send");
    assert_eq!(auto["evidence"]["active"], "auto");
}

#[test]
fn composer_hidden_behind_a_modal_warns_and_a_login_wall_fails() {
    let Some(fixture) = Fixture::start() else { return };
    for (app, vendor) in APPS {
        fixture.open(app, &Scenario { modal: true, ..Scenario::default() });
        let status = fixture.status(vendor, &[]);
        let composer = row(&status, &format!("{vendor}-composer-visible"));
        assert_eq!(composer["state"], "warn", "{composer}");
        fixture.open(app, &Scenario { logged_out: true, ..Scenario::default() });
        let status = fixture.status(vendor, &[]);
        let login = row(&status, &format!("{vendor}-session-logged-in"));
        assert_eq!((&login["state"], &login["next"]), (&json!("fail"), &json!("login")), "{login}");
        assert_eq!((&status["status"], &status["ok"]), (&json!("blocked"), &json!(false)));
        // A composer that appears late is waited for.
        fixture.open(app, &Scenario { late_ms: 500, ..Scenario::default() });
        let composer = format!("{vendor}-composer-visible");
        assert_eq!(row(&fixture.status(vendor, &[]), &composer)["state"], "ok");
    }
}

#[test]
fn page_of_another_host_is_not_read() {
    let Some(fixture) = Fixture::start() else { return };
    fixture.open(App::Grok, &Scenario::default());
    // Any script of ours would trip over this.
    fixture.home.ok([
        "eval",
        "window.touched = 0; Object.defineProperty(document, 'title', {get: () => 'x'}); 1",
    ]);
    let status = fixture.status("chatgpt", &[]);
    let tab = row(&status, "chatgpt-active-tab-verification");
    assert_eq!((&tab["state"], &tab["next"]), (&json!("fail"), &json!("tab-switch")));
    assert_eq!(tab["evidence"]["host"], "grok.com");
    let composer = row(&status, "chatgpt-composer-visible");
    assert_eq!(
        (&composer["state"], &composer["evidence"]["hostMismatch"]),
        (&json!("unknown"), &json!(true))
    );
    let report =
        fixture.bare(&["web-ai", "doctor", "--vendor", "chatgpt", "--snapshot", "interactive"]);
    assert_eq!(report["warnings"], json!(["host-mismatch:expected=chatgpt.com,chat.openai.com"]));
    assert!(report.get("snapshot").is_none());
    for feature in report["features"].as_array().unwrap() {
        assert_eq!((&feature["state"], &feature["domHash"]), (&json!("fail"), &Value::Null));
    }
    let error = fixture.home.error(["web-ai", "snapshot", "--vendor", "gemini"]);
    assert_eq!(
        (&error["errorCode"], &error["vendor"]),
        (&json!("cdp.target-mismatch"), &json!("gemini"))
    );
}

#[test]
fn web_ai_snapshot_help_prints_exact_snapshot_help() {
    let home = Home::new();
    let help = home.ok(["web-ai", "snapshot", "--help"]);
    let specified = "Usage:
  agbrowse web-ai snapshot --vendor <chatgpt|gemini|grok> [options]

Capture the active provider tab as a compact accessibility-tree snapshot.
The text format follows Playwright MCP's YAML-like shape and assigns @eN refs
to interactive elements. Refs are valid only for the captured snapshot.

Options:
  --vendor <name>       chatgpt | gemini | grok (default: chatgpt)
  --interactive         Capture interactive AX nodes. Default: true
  --compact             Compact serializer with single-text-child folding. Default: true
  --max-depth <n>       Maximum AX tree depth. Default: 6
  --root-selector <css> Restrict snapshot to a page subtree.
  --json                Print full WebAiSnapshot JSON.

Human output:
  - textbox \"Message ChatGPT\" [ref=@e1]
  - button \"Attach files\" [ref=@e2]
";
    assert!(help.starts_with(specified), "{help}");
    assert!(help[specified.len()..].trim_start().starts_with("More options:"), "{help}");
}

#[test]
fn web_ai_snapshot_prints_snapshot_text_in_human_mode() {
    let Some(fixture) = Fixture::start() else { return };
    for (app, vendor) in APPS {
        fixture.open(app, &Scenario::default());
        let text = fixture.home.ok(["web-ai", "snapshot", "--vendor", vendor]);
        let composer = text.lines().find(|line| line.contains("- textbox ")).unwrap();
        assert!(composer.contains("[ref=@e"), "{text}");
    }
}

#[test]
fn web_ai_snapshot_json_prints_web_ai_snapshot_json() {
    let Some(fixture) = Fixture::start() else { return };
    fixture.open(App::ChatGpt, &Scenario::default());
    // Refs of other snapshots do not shift those of this one.
    fixture.home.ok(["snapshot", "--no-interactive"]);
    let text = fixture.home.ok(["web-ai", "snapshot"]);
    assert!(text.contains("- textbox \"Message ChatGPT\" [ref=@e"), "{text}");
    let json = fixture.bare(&["web-ai", "snapshot"]);
    assert_eq!(json["text"], text);
    assert_eq!(json["provider"], "chatgpt");
    let refs = json["refs"].as_object().unwrap();
    assert_eq!(json["stats"]["interactiveCount"], refs.len());
    for number in 1..=refs.len() {
        assert!(refs.contains_key(&format!("@e{number}")), "refs are numbered without gaps");
    }
    for key in ["snapshotId", "url", "domHash", "axHash"] {
        assert!(json[key].as_str().is_some_and(|text| !text.is_empty()), "{key}");
    }
    // The durable ref of the same element is a target of other commands.
    let composer = refs.values().find(|it| it["role"] == "textbox").unwrap();
    fixture.home.ok(["fill", composer["liveRef"].as_str().unwrap(), "hello"]);
    let after = fixture.bare(&["web-ai", "snapshot"]);
    assert!(after["text"].as_str().unwrap().contains("hello"));
    assert_ne!(after["axHash"], json["axHash"], "the hash makes the earlier refs stale");
}

#[test]
fn web_ai_snapshot_passes_vendor_compact_interactive_max_depth_and_root_selector() {
    let Some(fixture) = Fixture::start() else { return };
    fixture.open(App::ChatGpt, &Scenario::default());
    let take = |more: &[&str]| {
        let args: Vec<_> = ["web-ai", "snapshot"].iter().chain(more).collect();
        fixture.home.ok(args)
    };
    let lines = |text: &str| text.lines().count();
    let usual = take(&["--vendor", "chatgpt", "--interactive", "--compact"]);
    assert_eq!(usual, take(&[]), "these are the defaults");
    assert!(lines(&take(&["--no-interactive"])) > lines(&usual));
    assert!(
        lines(&take(&["--no-interactive", "--no-compact"])) > lines(&take(&["--no-interactive"]))
    );
    assert_eq!(lines(&take(&["--max-depth", "0"])), 1);
    let root = take(&["--root-selector", "#prompt-textarea"]);
    assert_eq!(root.lines().filter(|line| line.contains("[ref=")).count(), 1, "{root}");
    let error = fixture.home.error(["web-ai", "snapshot", "--root-selector", "#gone"]);
    assert_eq!(error["errorCode"], "snapshot.root-not-found");
}

#[test]
fn run_doctor_with_snapshot_interactive_never_includes_raw_ref_names() {
    let Some(fixture) = Fixture::start() else { return };
    let canary = "CANARY-7f3a";
    for (app, vendor) in APPS {
        fixture.open(app, &Scenario::default());
        let answer = fixture.query(vendor, &format!("{canary}-prompt"), &["--inline-only"]);
        assert_eq!(answer["status"], "complete", "{answer}");
        // In names, drafts, titles and the address.
        fixture.home.ok([
            "eval",
            &format!(
                "document.title = '{canary}-title'; \
                 document.querySelectorAll('button').forEach((it, n) => n % 2 && it.setAttribute('aria-label', it.getAttribute('aria-label') + ' {canary}-name')); \
                 history.replaceState(null, '', location.pathname + '/{canary}-path?q={canary}-query#{canary}-hash'); 1"
            ),
        ]);
        for args in [
            vec!["web-ai", "doctor", "--vendor", vendor, "--snapshot", "interactive", "--full"],
            vec!["web-ai", "doctor", "--vendor", vendor, "--snapshot", "interactive"],
            vec!["web-ai", "doctor", "--vendor", vendor],
        ] {
            for json in [true, false] {
                let mut command = fixture.home.command(&args);
                command.env("AGBROWSE_CHURN_LOG", "1").env("AGBROWSE_LOG", "trace");
                if json {
                    command.arg("--json");
                }
                let done = command.output().unwrap();
                let said =
                    String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
                assert!(done.status.success(), "{said}");
                assert!(!said.contains("CANARY"), "{args:?}: {said}");
            }
        }
    }
    let churn = fixture.home.path(".local/state/agbrowse/churn-log.jsonl");
    let churn = std::fs::read_to_string(churn).unwrap();
    assert!(churn.lines().count() > 3 && !churn.contains("CANARY"), "{churn}");
}

#[test]
fn run_doctor_without_snapshot_preserves_existing_report_shape() {
    let Some(fixture) = Fixture::start() else { return };
    fixture.open(App::ChatGpt, &Scenario::default());
    let plain = fixture.bare(&["web-ai", "doctor"]);
    assert!(plain.get("snapshot").is_none() && plain.get("semanticTargets").is_none(), "{plain}");
    let features: Vec<_> =
        plain["features"].as_array().unwrap().iter().map(|it| it["feature"].clone()).collect();
    let expected = [
        "composer",
        "model-picker",
        "upload",
        "response-feed",
        "copy-fallback",
        "streaming-indicator",
    ];
    assert_eq!(features, expected.map(Value::from));
    assert_eq!(plain["url"], "https://chatgpt.com/");
    let human = fixture.home.ok(["web-ai", "doctor"]);
    assert!(human.starts_with("doctor chatgpt  worst="), "{human}");
    assert!(human.contains("/8 selectors  sha256:"), "{human}");
}

#[test]
fn run_doctor_with_snapshot_interactive_includes_content_safe_snapshot_summary() {
    let Some(fixture) = Fixture::start() else { return };
    fixture.open(App::ChatGpt, &Scenario::default());
    let report = fixture.bare(&["web-ai", "doctor", "--snapshot", "interactive", "--full"]);
    assert_eq!(
        (&report["snapshot"]["enabled"], &report["snapshot"]["contentSafe"]),
        (&json!(true), &json!(true))
    );
    assert!(report["snapshot"].get("text").is_none());
    let top = &report["snapshot"]["topRefs"][0];
    assert!(top["nameHash"].as_str().is_some_and(|hash| hash.starts_with("sha256:")), "{top}");
    let composer = &report["semanticTargets"]["composer"][0];
    assert_eq!(
        (&composer["source"], &composer["role"]),
        (&json!("snapshot-ref"), &json!("textbox"))
    );
    assert!(composer.get("name").is_none() && composer["nameChars"].is_number(), "{composer}");
    let clamped =
        fixture.home.run(["web-ai", "doctor", "--snapshot", "interactive", "--json"]).out();
    assert!(clamped.len() <= 4096, "{}", clamped.len());
    let clamped: Value = serde_json::from_str(&clamped).unwrap();
    assert_eq!(clamped["snapshot"]["enabled"], true, "the snapshot stays");
}

#[test]
fn run_doctor_with_snapshot_interactive_never_includes_snapshot_text() {
    let Some(fixture) = Fixture::start() else { return };
    for (app, vendor) in APPS {
        fixture.open(app, &Scenario::default());
        let text = fixture.home.ok(["web-ai", "snapshot", "--vendor", vendor]);
        let report = fixture.home.ok([
            "web-ai",
            "doctor",
            "--vendor",
            vendor,
            "--snapshot",
            "interactive",
            "--full",
            "--json",
        ]);
        assert!(!report.contains("\"text\":"), "{report}");
        // The vendor's own selectors have names too.
        let mut report: Value = serde_json::from_str(&report).unwrap();
        for feature in report["features"].as_array_mut().unwrap() {
            feature.as_object_mut().unwrap().retain(|key, _| !key.starts_with("selector"));
        }
        for candidates in report["semanticTargets"].as_object_mut().unwrap().values_mut() {
            candidates.as_array_mut().unwrap().retain(|it| it["source"] == "snapshot-ref");
        }
        let report = report.to_string();
        for line in text.lines().filter(|line| line.contains('"')) {
            let name = line.split('"').nth(1).unwrap();
            assert!(name.len() < 4 || !report.contains(name), "{name:?} is in {report}");
        }
    }
}

#[test]
fn run_doctor_semantic_targets_shows_snapshot_candidate_when_css_selector_count_is_zero() {
    let Some(fixture) = Fixture::start() else { return };
    fixture.open(
        App::ChatGpt,
        &Scenario { variant: Variant::Structural, seed: 3, ..Scenario::default() },
    );
    let report = fixture.bare(&["web-ai", "doctor", "--snapshot", "interactive", "--full"]);
    let mut found = 0;
    for (feature, target) in
        [("composer", "composer"), ("model-picker", "modelPicker"), ("upload", "uploadSurface")]
    {
        let features = report["features"].as_array().unwrap();
        let row = features.iter().find(|it| it["feature"] == feature).unwrap();
        if row["selectorCounts"]["total"] == 0 {
            assert_eq!(report["semanticTargets"][target][0]["source"], "snapshot-ref", "{report}");
            found += 1;
        }
    }
    assert!(found > 0, "{report}");
}

#[test]
fn capabilities_are_listed_without_a_browser() {
    let home = Home::new();
    let list = |args: &[&str]| -> Value {
        let args: Vec<_> = ["web-ai", "capabilities", "--json"].iter().chain(args).collect();
        serde_json::from_str(&home.ok(args)).unwrap()
    };
    assert_eq!(list(&[])["capabilities"].as_array().unwrap().len(), 35);
    let rows = list(&["--family", "deepThink", "--frontend-status", "actionable"]);
    assert_eq!(rows["capabilities"][0]["capabilityId"], "gemini-deep-think");
    assert!(
        home.error(["web-ai", "capabilities", "--vendor", "claude"])["message"]
            .as_str()
            .unwrap()
            .contains("`grok`")
    );
    assert_eq!(home.run(["web-ai", "capabilities", "--family", "x"]).code(), 2);
    assert_eq!(home.remaining_files_or_none(), None, "no daemon was started");
}

#[test]
fn query_is_sent_once_and_its_answer_is_read() {
    let Some(fixture) = Fixture::start() else { return };
    for (app, vendor) in APPS {
        fixture.apps.reset_records();
        fixture.open(app, &Scenario { thinking_ms: 300, ..Scenario::default() });
        let prompt = format!("What is {vendor}?\n\nAnswer \"briefly\" <b>& well</b>.");
        let reply = fixture.query(vendor, &prompt, &["--inline-only"]);
        assert_eq!((&reply["status"], &reply["ok"]), (&json!("complete"), &json!(true)), "{reply}");
        let prompts = fixture.apps.prompts();
        assert_eq!(prompts.len(), 1, "{vendor}: {prompts:?}");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words(&prompts[0].text), words(&prompt));
        let answer = reply["answer"].as_str().unwrap();
        let first = chatapps::answer_to(&prompts[0].text, &prompts[0].model, AnswerKind::Echo);
        let first = first
            .lines()
            .next()
            .unwrap()
            .split_whitespace()
            .last()
            .unwrap()
            .trim_matches(['`', '.', '*'])
            .to_owned();
        assert!(answer.contains(&first), "{vendor}: {first:?} is not in {answer}");
        assert!(
            reply["url"].as_str().unwrap().starts_with(&format!("https://{}", app.host())),
            "{reply}"
        );
        // A second prompt in the same conversation has the second answer.
        let second = fixture.query(vendor, "And now?", &["--inline-only"]);
        assert_eq!(second["status"], "complete", "{second}");
        assert_eq!(second["url"], reply["url"]);
        assert_ne!(second["answer"], reply["answer"]);
    }
}

#[test]
fn query_with_a_file_and_a_model_is_verified() {
    let Some(fixture) = Fixture::start() else { return };
    std::fs::write(fixture.home.path("project/notes.txt"), "some notes").unwrap();
    for ((app, vendor), model) in APPS.into_iter().zip(["thinking", "pro", "heavy"]) {
        fixture.apps.reset_records();
        fixture.open(app, &Scenario::default());
        let reply = fixture.query(vendor, "Read it", &["--file", "notes.txt", "--model", model]);
        assert_eq!(reply["status"], "complete", "{reply}");
        let prompts = fixture.apps.prompts();
        assert_eq!(prompts.len(), 1);
        assert_eq!(prompts[0].files[0].name, "notes.txt");
        assert_eq!(prompts[0].files[0].size, 10);
        assert!(prompts[0].model.contains(model), "{prompts:?}");
    }
}

#[test]
fn nothing_is_sent_when_a_check_fails_and_the_rows_are_told() {
    let Some(fixture) = Fixture::start() else { return };
    let home = &fixture.home;
    let refused = |args: &[&str], code: &str| -> Value {
        let args: Vec<_> = ["web-ai", "query", "--prompt", "x"].iter().chain(args).collect();
        let error = home.error(args);
        assert_eq!(error["errorCode"], code, "{error}");
        assert_eq!(error["mutationAllowed"], false);
        error
    };
    fixture.open(App::ChatGpt, &Scenario { modal: true, ..Scenario::default() });
    refused(&[], "provider.attachment-preflight");
    refused(&["--inline-only", "--file", "x"], "provider.attachment-preflight");
    refused(&["--file", "/no/such/file"], "file.read-failed");
    std::os::unix::fs::symlink("/etc/hostname", home.path("project/link")).unwrap();
    refused(&["--file", "link"], "context.symlink-rejected");
    refused(&["--inline-only", "--model", "opus"], "provider.model-mismatch");
    let error = refused(&["--inline-only"], "provider.composer-not-visible");
    let rows = error["evidence"]["capabilities"].as_array().unwrap();
    assert_eq!(rows[1]["capabilityId"], "chatgpt-composer-visible");
    assert_eq!(rows[1]["state"], "warn");
    refused(&["--inline-only", "--vendor", "grok"], "cdp.target-mismatch");
    fixture.open(App::ChatGpt, &Scenario { logged_out: true, ..Scenario::default() });
    refused(&["--inline-only"], "provider.login-required");
    fixture.open(App::ChatGpt, &Scenario { models: Models::NoPro, ..Scenario::default() });
    refused(&["--inline-only", "--model", "pro"], "provider.model-mismatch");
    assert_eq!(fixture.apps.prompts(), []);
    assert_eq!(fixture.apps.submit_events(), []);
    assert_eq!(fixture.bare(&["web-ai", "sessions", "list"])["sessions"], json!([]));
}

#[test]
fn answer_is_stopped_and_what_there_is_of_it_is_kept() {
    let Some(fixture) = Fixture::start() else { return };
    for (app, vendor) in APPS {
        fixture.apps.reset_records();
        fixture.open(
            app,
            &Scenario { answer: AnswerKind::Long(200_000), token_ms: 50, ..Scenario::default() },
        );
        let sent = fixture.bare(&[
            "web-ai",
            "send",
            "--vendor",
            vendor,
            "--prompt",
            "Go on",
            "--inline-only",
        ]);
        assert_eq!(sent["status"], "sent", "{sent}");
        let id = sent["sessionId"].as_str().unwrap();
        let polled = fixture.bare(&["web-ai", "poll", id, "--poll-timeout", "1s"]);
        assert_eq!(polled["status"], "streaming", "{polled}");
        let busy = fixture.home.error([
            "web-ai",
            "query",
            "--vendor",
            vendor,
            "--prompt",
            "y",
            "--inline-only",
        ]);
        assert_eq!(busy["errorCode"], "provider.answer-streaming", "{busy}");
        let stopped = fixture.bare(&["web-ai", "stop", id]);
        assert_eq!(stopped["status"], "aborted", "{stopped}");
        assert!(stopped["answer"].as_str().is_some_and(|text| !text.is_empty()));
        assert_eq!(fixture.apps.prompts().len(), 1);
        assert_eq!(fixture.apps.answers()[0].status, chatapps::AnswerStatus::Stopped);
    }
}

#[test]
fn answer_that_pauses_is_not_cut_off() {
    let Some(fixture) = Fixture::start() else { return };
    for (app, vendor) in APPS {
        fixture.apps.reset_records();
        fixture.open(app, &Scenario { answer: AnswerKind::Pause(4000), ..Scenario::default() });
        let reply = fixture.query(vendor, "Take your time", &["--inline-only"]);
        assert_eq!(reply["status"], "complete", "{reply}");
        assert_eq!(fixture.apps.answers()[0].status, chatapps::AnswerStatus::Finished, "{vendor}");
    }
}

#[test]
fn session_survives_the_daemon_and_the_browser() {
    let Some(fixture) = Fixture::start() else { return };
    for (app, vendor) in APPS.into_iter().take(if is_soak() { 3 } else { 1 }) {
        for kill_browser in [false, true] {
            fixture.apps.reset_records();
            fixture.open(
                app,
                &Scenario { answer: AnswerKind::Long(20_000), token_ms: 8, ..Scenario::default() },
            );
            let sent = fixture.bare(&[
                "web-ai",
                "send",
                "--vendor",
                vendor,
                "--prompt",
                "Long",
                "--inline-only",
            ]);
            let id = sent["sessionId"].as_str().unwrap().to_owned();
            let polled = fixture.bare(&["web-ai", "poll", &id, "--poll-timeout", "300ms"]);
            assert!(polled["url"].is_string(), "{polled}");
            let (daemon, browser) = (fixture.home.daemon_pid(), fixture.home.browser_pid());
            let pid = if kill_browser { browser } else { daemon };
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            wait_until("the browser is gone", Duration::from_secs(30), || {
                !std::path::Path::new(&format!("/proc/{browser}")).exists()
            });
            // A new browser, which knows where the app is.
            fixture.open(app, &Scenario::default());
            let done = fixture.bare(&["web-ai", "poll", &id, "--poll-timeout", "60s"]);
            assert_eq!(done["status"], "complete", "{vendor} {kill_browser}: {done}");
            assert!(done["answer"].as_str().unwrap().len() > 10_000);
            assert_eq!(fixture.apps.prompts().len(), 1, "{vendor}: sent once");
            fixture.home.ok(["close"]);
        }
    }
}

/// What came of queries to changed pages.
#[derive(Default)]
struct Churn {
    done: u32,
    refused: u32,
    failed: Vec<String>,
}

#[test]
fn torture_churned_apps_are_driven_or_refused_but_never_misused() {
    let Some(fixture) = Fixture::start() else { return };
    let seeds = seeds();
    for (app, vendor) in APPS {
        let all = [Variant::Structural, Variant::Breaking, Variant::Baseline, Variant::Cosmetic];
        // The last two are part of other tests.
        for variant in all.into_iter().take(if is_soak() { 4 } else { 2 }) {
            let mut churn = Churn::default();
            for seed in &seeds {
                fixture.apps.reset_records();
                fixture.open(
                    app,
                    &Scenario { variant, seed: *seed, token_ms: 0, ..Scenario::default() },
                );
                let args = [
                    "web-ai",
                    "query",
                    "--vendor",
                    vendor,
                    "--prompt",
                    "Hi",
                    "--inline-only",
                    "--json",
                ];
                let done = fixture.home.run(args);
                let what = format!("{vendor} {variant:?} {seed}: {}{}", done.out(), done.err());
                let events = fixture.apps.all_events();
                assert!(!events.iter().any(|event| event.kind == "decoy-clicked"), "{what}");
                let decoys = fixture.apps.submit_events();
                assert!(!decoys.iter().any(|event| event.control == "decoy"), "{what}");
                let sent = fixture.apps.prompts();
                assert!(
                    sent.len() <= 1 && sent.iter().all(|prompt| prompt.text.trim() == "Hi"),
                    "{what}"
                );
                let reply: Value = serde_json::from_str(&done.out()).unwrap_or_default();
                if sent.len() == 1 && reply["status"] == "complete" {
                    churn.done += 1;
                } else if sent.is_empty() && done.err().contains("provider.composer-not-visible") {
                    churn.refused += 1;
                } else {
                    churn.failed.push(what);
                }
            }
            let count = seeds.len() as u32;
            println!(
                "| {vendor} | {variant:?} | {count} | {} | {} | {} |",
                churn.done,
                churn.refused,
                churn.failed.len()
            );
            match variant {
                Variant::Baseline | Variant::Cosmetic => {
                    assert_eq!(churn.done, count, "{:#?}", churn.failed);
                }
                // One in twenty may be refused, with a reason.
                Variant::Structural => {
                    assert!(churn.done * 20 >= count * 19, "{:#?}", churn.failed);
                }
                Variant::Breaking => assert_eq!(churn.refused, count, "{:#?}", churn.failed),
            }
        }
    }
}

#[test]
fn torture_no_prompt_is_sent_twice_or_lost_when_anything_is_killed() {
    let Some(fixture) = Fixture::start() else { return };
    let rounds = if is_soak() { 200 } else { 6 };
    let mut random = seeds()[0];
    let mut next = |below: u64| {
        // xorshift
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let (mut answered, mut told) = (0, 0);
    for round in 0..rounds {
        let (app, vendor) = APPS[round % 3];
        let prompt = format!("Round {round}: what is {}?", next(1_000_000));
        fixture.open(
            app,
            &Scenario { answer: AnswerKind::Long(3000), token_ms: 3, ..Scenario::default() },
        );
        let query =
            ["web-ai", "query", "--vendor", vendor, "--inline-only", "--json", "--prompt", &prompt];
        let mut client = fixture.home.start(query);
        std::thread::sleep(Duration::from_millis(next(2500)));
        let victim = next(3);
        let (daemon, browser) = (fixture.home.daemon_pid(), fixture.home.browser_pid());
        let pid = [client.id(), daemon, browser][victim as usize];
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        // The client may have ended by itself.
        _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        _ = client.wait();
        if victim > 0 {
            wait_until("the browser is gone", Duration::from_secs(30), || {
                !std::path::Path::new(&format!("/proc/{browser}")).exists()
            });
        }
        let sent_before =
            |text: &str| fixture.apps.prompts().iter().filter(|it| it.text.trim() == text).count();
        let sessions = fixture.bare(&["web-ai", "sessions", "list", "--limit", "1"]);
        let last = &sessions["sessions"][0];
        let is_known = last["promptChars"] == prompt.chars().count()
            && last["status"] != "failed"
            && last["promptHash"] == browser::page::hash::field_hash(&prompt);
        if victim > 0 {
            fixture.open(app, &Scenario::default());
        }
        let again: Vec<&str> = match (is_known, last["status"].as_str()) {
            (true, Some("sending")) | (false, _) => query.to_vec(),
            (true, _) => vec![
                "web-ai",
                "poll",
                last["sessionId"].as_str().unwrap(),
                "--poll-timeout",
                "60s",
                "--json",
            ],
        };
        let done = fixture.home.run(&again);
        let what = format!("round {round}, victim {victim}, {last}: {}{}", done.out(), done.err());
        match serde_json::from_str::<Value>(&done.out()) {
            Ok(reply) => {
                assert_eq!(reply["status"], "complete", "{what}");
                assert_eq!(sent_before(&prompt), 1, "{what}");
                answered += 1;
            }
            Err(_) => {
                let is_told =
                    ["provider.commit-unknown", "tab.target-lost", "provider.answer-streaming"];
                assert!(is_told.iter().any(|code| done.err().contains(code)), "{what}");
                assert!(sent_before(&prompt) <= 1, "{what}");
                told += 1;
                // So that the next round begins anew.
                if is_known {
                    fixture.home.ok([
                        "web-ai",
                        "sessions",
                        "forget",
                        last["sessionId"].as_str().unwrap(),
                    ]);
                }
            }
        }
    }
    println!("{rounds} rounds: {answered} answered, {told} told that it is not known");
    assert!(answered > 0);
}

#[test]
fn senders_at_once_do_not_mix_or_repeat_their_prompts() {
    let Some(fixture) = Fixture::start() else { return };
    let slow = Scenario { answer: AnswerKind::Long(2000), token_ms: 5, ..Scenario::default() };
    for prompts in [["Same question", "Same question"], ["One question", "Another question"]] {
        fixture.apps.reset_records();
        fixture.open(App::ChatGpt, &slow);
        let query = |prompt| ["web-ai", "query", "--inline-only", "--prompt", prompt];
        let mut clients = prompts.map(|prompt| fixture.home.start(query(prompt)));
        let done = clients.each_mut().map(|client| client.wait().unwrap().success());
        // The second is refused while the answer to the first streams, or it is the same prompt, whose answer it gets too.
        let sent: Vec<_> =
            fixture.apps.prompts().into_iter().map(|it| it.text.trim().to_owned()).collect();
        assert!(done[0] || done[1]);
        for prompt in prompts {
            let times = sent.iter().filter(|text| *text == prompt).count();
            let asked =
                prompts.iter().zip(done).filter(|(it, done)| **it == prompt && *done).count();
            assert!(times <= 1 || prompts[0] != prompts[1] && times <= asked, "{sent:?}");
            assert!(times >= usize::from(asked > 0), "{sent:?}");
        }
        assert!(sent.iter().all(|text| prompts.contains(&&**text)), "{sent:?}");
    }
}

#[test]
fn tab_that_leaves_the_app_is_not_read_any_more() {
    let Some(fixture) = Fixture::start() else { return };
    let slow = Scenario { answer: AnswerKind::Long(100_000), token_ms: 50, ..Scenario::default() };
    fixture.open(App::ChatGpt, &slow);
    let sent = fixture.bare(&["web-ai", "send", "--prompt", "Go on", "--inline-only"]);
    let id = sent["sessionId"].as_str().unwrap();
    let polled = fixture.bare(&["web-ai", "poll", id, "--poll-timeout", "300ms"]);
    let url = polled["url"].as_str().unwrap().to_owned();
    // To another site: the session's conversation opens again, in a tab of its own.
    fixture
        .home
        .ok(["open", "data:text/html,<title>Elsewhere</title><textarea>private</textarea>"]);
    let again = fixture.bare(&["web-ai", "poll", id, "--poll-timeout", "1s"]);
    assert_eq!((&again["status"], &again["url"]), (&json!("streaming"), &json!(url)), "{again}");
    let tabs = fixture.home.json(["tabs"]);
    assert_eq!(tabs["result"]["tabs"].as_array().unwrap().len(), 2, "{tabs}");
    let stopped = fixture.bare(&["web-ai", "stop", id]);
    assert_eq!(stopped["status"], "aborted", "{stopped}");
    assert_eq!(fixture.apps.prompts().len(), 1);
}

#[test]
fn broken_vendor_file_is_refused_and_a_good_one_adds_a_vendor() {
    let home = Home::new();
    let folder = home.path("config/agbrowse/vendors");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mine.toml"), "format = 1\nid = \"mine\"\nhosts = 3\n").unwrap();
    let error = home.error(["web-ai", "capabilities"]);
    assert_eq!(
        (&error["errorCode"], &error["evidence"]["line"]),
        (&json!("config.invalid"), &json!(3)),
        "{error}"
    );
    assert!(error["message"].as_str().unwrap().contains("mine.toml`, line 3, column 9"), "{error}");
}

#[test]
fn prompt_is_rendered_without_a_browser() {
    let home = Home::new();
    let text = home.ok([
        "web-ai",
        "render",
        "--question",
        "Why?",
        "--goal",
        "Know",
        "--context-text",
        "data",
    ]);
    assert!(
        text.starts_with("[USER]\n## Goal\nKnow\n\n## Question\nWhy?\n\n[UNTRUSTED_CONTEXT]"),
        "{text}"
    );
    assert_eq!(home.run(["web-ai", "render"]).code(), 2);
}

#[test]
fn mcp_client_checks_asks_and_polls() {
    let Some(fixture) = Fixture::start() else { return };
    let mut args = vec!["--caps".to_owned(), "web-ai".into(), "--headed".into()];
    args.push("--chrome-arg=--ozone-platform=headless".into());
    args.extend(fixture.apps.browser_args().into_iter().map(|arg| format!("--chrome-arg={arg}")));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut client = RawClient::initialized(&fixture.home, &args);
    let (text, is_error) = client.call_tool("web_ai_status", &json!({}));
    assert!(is_error, "there is no page yet: {text}");
    let slow = Scenario { answer: AnswerKind::Long(3000), token_ms: 10, ..Scenario::default() };
    client.call_tool("browser_navigate", &json!({ "url": fixture.apps.url(App::Gemini, &slow) }));
    let (text, is_error) = client.call_tool("web_ai_status", &json!({ "vendor": "gemini" }));
    assert!(!is_error && text.contains("gemini: ready\n"), "{text}");
    let query = json!({ "vendor": "gemini", "prompt": "Hello?", "seconds": 0 });
    let (text, is_error) = client.call_tool("web_ai_query", &query);
    assert!(!is_error && text.contains("next: poll"), "{text}");
    let (text, is_error) = client.call_tool("web_ai_poll", &json!({ "seconds": 60 }));
    assert!(!is_error && text.contains("complete: session "), "{text}");
    // What the app says is fenced as page text.
    let fence = text.find("<page-").unwrap_or(usize::MAX);
    assert!(fence < text.len() && text.len() > 2500, "{text}");
    assert_eq!(fixture.apps.prompts().len(), 1);
    let (text, is_error) = client.call_tool("web_ai_query", &json!({ "prompt": "Hello?" }));
    assert!(is_error && text.contains("cdp.target-mismatch"), "{text}");
    client.close();
}

/// The chat page that the document's example is about.
const LOCAL_CHAT: &str = r##"<!doctype html><title>Local chat</title><img class=avatar alt=Me width=20 height=20>
<main></main><textarea aria-label="Your question"></textarea><button id=ask>Ask</button><script>
const [main, field, ask] = ["main", "textarea", "#ask"].map((it) => document.querySelector(it))
ask.onclick = async () => {
  const add = (name, text) => Object.assign(main.appendChild(document.createElement("div")), { className: name, textContent: text })
  const question = field.value
  field.value = ""
  add("question", question)
  const stop = document.body.appendChild(Object.assign(document.createElement("button"), { textContent: "Stop" }))
  const answer = add("answer", "")
  for (const word of `You asked: ${question} Let me see.`.split(" ")) {
    answer.textContent += word + " "
    await new Promise((done) => setTimeout(done, 30))
  }
  stop.remove()
}
</script>"##;

/// Serves one page at any path; returns the port.
fn serve_page(html: &'static str) -> u16 {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            _ = stream.read(&mut [0; 4096]);
            let length = html.len();
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length";
            _ = write!(stream, "{head}: {length}\r\n\r\n{html}");
        }
    });
    port
}

#[test]
fn fourth_vendor_of_the_document_works_as_it_says() {
    if !has_browser() {
        return;
    }
    let document = include_str!("../../../../docs/web-ai.md");
    let (_, example) = document.split_once("### A fourth vendor").unwrap();
    let (example, _) = example.split_once("### Reference").unwrap();
    let blocks: Vec<_> =
        example.split("```toml\n").skip(1).map(|it| it.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 2);
    let port = serve_page(LOCAL_CHAT);
    let home = Home::new();
    let folder = home.path("config/agbrowse/vendors");
    std::fs::create_dir_all(&folder).unwrap();
    let write = |text: &str| {
        std::fs::write(folder.join("local.toml"), text.replace(":8080", &format!(":{port}")))
            .unwrap();
    };
    home.ok(["open", &format!("http://chat.localhost:{port}/")]);
    // The two targets that are needed.
    write(blocks[0]);
    let status = home.run(["web-ai", "status", "--vendor", "local"]);
    assert_eq!(status.code(), 0, "{}{}", status.out(), status.err());
    assert!(status.out().starts_with("local: ready"), "{}", status.out());
    // And those that can follow.
    write(&blocks.concat());
    let args =
        ["web-ai", "query", "--vendor", "local", "--inline-only", "--prompt", "How are you?"];
    assert_eq!(home.ok(args), "You asked: How are you? Let me see.");
}
