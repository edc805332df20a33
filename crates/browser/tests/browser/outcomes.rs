//! Receipts of larger outcomes: reordered lists, a new page and its refs, an answered dialog, ended waits.

use crate::harness::{Route, TestContext, browser_test};
use crate::launch::kill;
use crate::snapshot::{open_html, snapshot_text};
use agbrowse_browser::command::{
    Answer, CloseTab, DialogCommand, DialogReply, Effect, Receipt, Snapshot, TabAction, TabCommand,
    Wait,
};
use agbrowse_browser::launch::Options;
use agbrowse_browser::page::tokens::calibrated;
use agbrowse_browser::{Browser, Code, Command, Error, Reply, Request};
use std::time::Duration;

async fn act(t: &TestContext, command: serde_json::Value) -> Result<Receipt, Error> {
    let command: Command = serde_json::from_value(command).unwrap();
    let reply = t.run(command).await?.reply;
    match reply {
        Reply::Click(receipt) | Reply::Fill(receipt) => Ok(receipt),
        other => panic!("no receipt: {other:?}"),
    }
}

async fn click(t: &TestContext, target: &str) -> Result<Receipt, Error> {
    act(t, serde_json::json!({ "verb": "click", "target": target })).await
}

async fn delta_snapshot(t: &TestContext) -> String {
    snapshot_text(t, Snapshot { delta: true, ..Snapshot::default() }).await
}

/// The ref of the nth line that has a text and comes after one with another.
fn ref_after(text: &str, before: &str, words: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.contains(before));
    let line = lines.find(|line| line.contains(words)).unwrap_or_else(|| panic!("{text}"));
    let digits = line.split("@e").nth(1).unwrap();
    format!("@e{}", digits.split(|c: char| !c.is_ascii_digit()).next().unwrap())
}

/// A list that is re-rendered into the same rows, into new rows, or with rows that move with their items.
const LIST_PAGE: &str = "<h1>Shop</h1><p>Words that stay where they are, whatever the list below does.</p>
    <button onclick='sort()'>Sort</button><button onclick='filter()'>Filter</button><button onclick='change()'>Change</button>
    <p id=log></p><div id=list></div><script>
    const names = ['Kettle','Stove','Tent','Lamp','Rope','Knife','Boots','Map','Cup','Mat','Pan','Axe'];
    let items = names.map((name, at) => ({ name, price: 20 + (at * 37 + 50) % 90 }));
    const rows = new Map();
    function row() {
      const row = document.createElement('div');
      row.innerHTML = '<b></b> <span></span> <button>Add</button>';
      row.querySelector('button').onclick = () => log.textContent += row.querySelector('b').textContent + ' ';
      return row;
    }
    function render() {
      const old = [...list.children];
      list.replaceChildren(...items.map((item, at) => {
        const it = HOW === 'keyed' ? rows.get(item) ?? row() : HOW === 'unkeyed' ? old[at] ?? row() : row();
        rows.set(item, it);
        it.querySelector('b').textContent = item.name;
        it.querySelector('span').textContent = '$' + item.price;
        return it;
      }));
    }
    function sort() { items.sort((a, b) => a.price - b.price); render() }
    function filter() { items = items.filter((it) => it.name.includes('t')); render() }
    function change() { items[1].price = 777; render() }
    render()</script>";

fn list_page(how: &str) -> String {
    LIST_PAGE.replace("HOW", &format!("'{how}'"))
}

#[test]
fn list_delta_is_matched_by_item_and_old_refs_stay_bound() {
    browser_test(async |t| {
        for how in ["keyed", "unkeyed", "anew"] {
            let text = open_html(&t, &list_page(how), Snapshot::default()).await;
            let lamp = ref_after(&text, "Lamp", "Add");
            let sorted = click(&t, "text=Sort").await.unwrap().delta;
            let order = "~ order changed: \"Boots\", \"Axe\", \"Rope\", \"Mat\", \"Tent\", …";
            assert!(sorted.lines().any(|line| line == order), "{how}: {sorted}");
            assert!(!sorted.contains("(was"), "{how}: {sorted}");
            let added = click(&t, &lamp).await;
            let log = t.eval("log.textContent").await;
            match added {
                Ok(_) => assert!(log == "\"Lamp \"" && how != "unkeyed", "{how}: {log}"),
                Err(error) => {
                    assert_eq!(error.code(), Code::SnapshotRefStale, "{how}: {error}");
                    assert!(log == "\"\"" && how != "keyed", "{how}: {log}");
                }
            }
            let changed = click(&t, "text=Change").await.unwrap().delta;
            assert!(changed.contains("\"$777\" (was \"$"), "{how}: {changed}");
            let filtered = click(&t, "text=Filter").await.unwrap().delta;
            let gone = "- 7 of 12 items: \"Axe\", \"Rope\", \"Map\", \"Knife\", \"Pan\", …";
            assert!(filtered.lines().any(|line| line.starts_with(gone)), "{how}: {filtered}");
            assert!(!filtered.contains("(was"), "{how}: {filtered}");
        }
    });
}

#[test]
fn refs_omitted_from_delta_stay_bound() {
    browser_test(async |t| {
        // A reordering, and more changes than a receipt shows: neither rebinds refs, also not in a snapshot
        // with an empty delta.
        let many = "<h1>Many</h1><button onclick='other()'>Other</button><div id=list></div><p id=log></p><script>
            let round = 0;
            for (let at = 0; at < 70; at++) {
              const row = document.createElement('div');
              row.innerHTML = '<b></b> <button>Delete</button>';
              row.lastChild.onclick = () => log.textContent += row.firstChild.textContent;
              list.append(row);
            }
            function other() { [...list.children].forEach((row, at) => row.firstChild.textContent = `Round ${round} entry number ${at}`); round++ }
            other()</script>";
        let text = open_html(&t, many, Snapshot::default()).await;
        let last = ref_after(&text, "entry number 65", "Delete");
        let delta_text = click(&t, "text=Other").await.unwrap().delta;
        assert!(delta_text.contains("more lines; take a snapshot"), "{delta_text}");
        assert_eq!(delta_snapshot(&t).await, "no change");
        let error = click(&t, &last).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRefStale, "{error}");
        assert_eq!(t.eval("log.textContent").await, "\"\"");

        let text = open_html(&t, &list_page("unkeyed"), Snapshot::default()).await;
        let lamp = ref_after(&text, "Lamp", "Add");
        t.eval("sort(); 1").await;
        let delta = delta_snapshot(&t).await;
        assert!(delta.contains("~ order changed: ") && delta.contains("other refs now"), "{delta}");
        let error = click(&t, &lamp).await.unwrap_err();
        assert_eq!(error.code(), Code::SnapshotRefStale, "{error}");
        assert_eq!(t.eval("log.textContent").await, "\"\"");
        // A snapshot issues the new refs.
        let text = snapshot_text(&t, Snapshot::default()).await;
        click(&t, &ref_after(&text, "Lamp", "Add")).await.unwrap();
        assert_eq!(t.eval("log.textContent").await, "\"Lamp \"");
    });
}

#[test]
fn receipt_of_navigation_lists_main_refs() {
    browser_test(async |t| {
        let links: String =
            (0..80).map(|n| format!("<li><a href=#{n}>Menu entry {n}</a>")).collect();
        t.page("/", "<title>Start</title><a href=form>Sign in</a>");
        t.serve("/slow.png", Route::Hang);
        t.page(
            "/form",
            format!(
                "<title>Sign in</title><nav><ul>{links}</ul></nav><main><h1>Sign in</h1><p role=alert>Wrong password</p>
                 <form><label>User <input id=user></label><button type=button>Go on</button></form>
                 <a href=#help>Help</a><img src=slow.png></main>"
            ),
        );
        t.open("/").await;
        let receipt = click(&t, "text=Sign in").await.unwrap();
        assert_eq!(receipt.effect, Effect::Navigated);
        let delta = receipt.delta;
        assert!(delta.starts_with("→ \"Sign in\" "), "{delta}");
        assert!(delta.contains("\nalert \"Wrong password\"\n"), "{delta}");
        for expected in
            [" textbox \"User\"", " button \"Go on\"", " link \"Help\"", " link \"Menu entry 0\""]
        {
            assert!(delta.contains(expected), "{expected}: {delta}");
        }
        assert!(
            delta.lines().last().unwrap().ends_with("more refs; take a snapshot to see all"),
            "{delta}"
        );
        assert!(calibrated(&delta) <= 260, "{} tokens: {delta}", calibrated(&delta));
        // The listed refs are usable; refs that were not listed are not issued.
        let user = ref_after(&delta, "", "textbox \"User\"");
        act(&t, serde_json::json!({ "verb": "fill", "target": user, "value": "Ann" }))
            .await
            .unwrap();
        assert_eq!(t.eval("user.value").await, "\"Ann\"");
        let highest: u32 = delta
            .split("@e")
            .skip(1)
            .map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap())
            .max()
            .unwrap();
        let told_numbers = |number: &u32| delta.contains(&format!("@e{number} "));
        let untold = (1..=highest).find(|it| !told_numbers(it)).unwrap_or(highest + 1);
        let error = click(&t, &format!("@e{untold}")).await.unwrap_err();
        let is_unknown = matches!(error.code(), Code::SnapshotRefNotFound | Code::SnapshotRefStale);
        assert!(is_unknown, "{error}");
        // `noDelta` omits the delta.
        t.open("/").await;
        let quiet =
            serde_json::json!({ "verb": "click", "target": "text=Sign in", "noDelta": true });
        assert_eq!(act(&t, quiet).await.unwrap().delta, "");
    });
}

#[test]
fn receipt_of_navigation_to_busy_page_has_no_refs() {
    browser_test(async |t| {
        t.page("/", "<title>Start</title><a href=busy>Go</a>");
        t.page(
            "/busy",
            "<title>Busy</title><button>Buy</button><script>addEventListener('DOMContentLoaded', () => setTimeout(() => { for (const end = Date.now() + 4000; Date.now() < end;); }))</script>",
        );
        t.open("/").await;
        let receipt = click(&t, "text=Go").await.unwrap();
        assert_eq!(receipt.effect, Effect::Navigated);
        assert!(receipt.delta.starts_with("→ "), "{}", receipt.delta);
        // The page may have been read before it was busy.
        assert!(receipt.delta.lines().count() <= 2, "{}", receipt.delta);
    });
}

async fn answer(t: &TestContext, answer: Answer) -> DialogReply {
    match t.run(Command::Dialog(DialogCommand { answer })).await.unwrap().reply {
        Reply::Dialog(answered) => answered,
        other => panic!("{other:?}"),
    }
}

#[test]
fn dialog_answer_reports_effects() {
    browser_test(async |t| {
        t.page("/next", "<title>Next</title><main><button>Here</button></main>");
        let html = "<h1 id=n>Zero</h1><p id=o></p>
            <button onclick=\"o.textContent = 'asked'; n.textContent = confirm('Sure?') ? 'One' : 'None'\">Change</button>
            <button onclick=\"confirm('Well?')\">Idle</button>
            <button onclick=\"confirm('First?'); n.textContent = prompt('Second?', 'Bob')\">Twice</button>
            <button onclick=\"if (confirm('Leave?')) location = 'next'\">Leave</button>";
        let accept = || Answer::Accept { text: None };
        for is_shown in [true, false] {
            open_html(&t, html, Snapshot::default()).await;
            if !is_shown {
                t.open("/").await;
            }
            assert_eq!(click(&t, "text=Change").await.unwrap().effect, Effect::Dialog);
            let answered = answer(&t, accept()).await;
            assert_eq!((answered.effect, answered.open.is_none()), (Effect::Changed, true));
            assert!(
                answered.delta.contains("\"One\" [level=1] (was \"Zero\")"),
                "{}",
                answered.delta
            );
            assert!(answered.delta.contains("\"asked\""), "{}", answered.delta);
            let reply_text = answered.to_string();
            assert!(
                reply_text.starts_with("accepted the confirm (changed): \"Sure?\"\n"),
                "{reply_text}"
            );

            click(&t, "text=Idle").await.unwrap();
            let answered = answer(&t, Answer::Dismiss).await;
            assert_eq!((answered.effect, &*answered.delta), (Effect::None, ""));
            assert_eq!(answered.to_string(), "dismissed the confirm (no effect): \"Well?\"");

            click(&t, "text=Twice").await.unwrap();
            let answered = answer(&t, accept()).await;
            assert_eq!(answered.effect, Effect::Dialog);
            let open = answered.open.as_ref().unwrap();
            assert_eq!((&*open.kind, &*open.message), ("prompt", "Second?"));
            assert!(
                answered.to_string().contains("! dialog: a prompt of the page waits for "),
                "{answered}"
            );
            let answered = answer(&t, Answer::Accept { text: Some("Ada".into()) }).await;
            assert_eq!(answered.effect, Effect::Changed);
            assert!(answered.delta.contains("heading \"Ada\""), "{}", answered.delta);

            click(&t, "text=Leave").await.unwrap();
            let answered = answer(&t, accept()).await;
            assert_eq!(answered.effect, Effect::Navigated);
            assert!(answered.delta.starts_with("→ \"Next\" "), "{}", answered.delta);
            assert!(answered.delta.contains(" button \"Here\""), "{}", answered.delta);
        }
    });
}

/// Waits that never succeed, one for each kind of condition.
fn waits() -> Vec<Wait> {
    vec![
        Wait { text: Some("never".into()), ..Wait::default() },
        Wait { text_gone: Some("Words".into()), ..Wait::default() },
        Wait { target: Some("css=#never".parse().unwrap()), ..Wait::default() },
        Wait { url: Some("never".into()), ..Wait::default() },
        Wait { function: Some("new Promise(() => {})".into()), ..Wait::default() },
        Wait { function: Some("false".into()), ..Wait::default() },
        Wait { load: true, ..Wait::default() },
        Wait { idle: true, ..Wait::default() },
    ]
}

/// A page that is never loaded and never quiet.
const NEVER_LOADED: &str = "<title>Words</title><p>Words</p><img src=hang>
    <script>setInterval(() => fetch('hang?' + Math.random()), 100)</script>";

/// The way in which a page ends during a wait.
#[derive(Clone, Copy, Debug)]
enum End {
    TabClosed,
    PageCrashed,
    BrowserKilled,
}

#[test]
fn wait_ends_when_tab_page_or_browser_is_gone() {
    browser_test(async |t| {
        t.page("/restless", NEVER_LOADED);
        t.serve("/hang", Route::Hang);
        let url = t.url("/restless");
        let browser = Browser::new(Options::default());
        let pid = async || crate::launch::pid(&browser).await;
        for (end, expected) in [
            (End::TabClosed, Code::TabTargetLost),
            (End::PageCrashed, Code::TabCrashed),
            (End::BrowserKilled, Code::BrowserLost),
        ] {
            let ask = |at: usize, command: Command| {
                let context = Some(format!("{end:?}{at}"));
                browser.run(Request { context, timeout_ms: Some(60_000), ..Request::new(command) })
            };
            let mut tabs = Vec::new();
            for at in 0..waits().len() {
                let open = serde_json::json!({ "verb": "open", "url": url, "until": "dom" });
                let opened = ask(at, serde_json::from_value(open).unwrap()).await.unwrap();
                tabs.push(opened.tab.unwrap());
            }
            let waiting =
                waits().into_iter().enumerate().map(|(at, wait)| ask(at, Command::Wait(wait)));
            let waiting = futures_util::future::join_all(waiting);
            let ending = async {
                loop {
                    let all = browser.run(Request::new(Command::Tabs(Default::default()))).await;
                    let Reply::Tabs(list) = all.unwrap().reply else { panic!("no tabs") };
                    if list.tabs.iter().filter(|tab| tab.busy).count() == tabs.len() {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                match end {
                    End::TabClosed => {
                        for (at, tab) in tabs.iter().enumerate() {
                            let action = TabAction::Close(CloseTab { id: Some(*tab) });
                            ask(at, Command::Tab(TabCommand { action })).await.unwrap();
                        }
                    }
                    End::PageCrashed => renderers(pid().await).into_iter().for_each(kill),
                    End::BrowserKilled => kill(pid().await),
                }
            };
            let (ended, ()) = tokio::join!(waiting, ending);
            for (wait, ended) in waits().iter().zip(ended) {
                let error = ended.expect_err(&format!("{end:?} {wait:?}"));
                assert_eq!(error.code(), expected, "{end:?} {wait:?}: {error}");
            }
        }
        browser.close().await;
    });
}

/// The renderer processes of a browser.
fn renderers(browser: u32) -> Vec<u32> {
    let read = |pid: u32, file: &str| {
        let text = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    };
    let all = std::fs::read_dir("/proc").unwrap();
    let all: Vec<u32> =
        all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    // The state and the parent follow the name in parentheses.
    let parent = |pid: u32| -> Option<u32> {
        read(pid, "stat").rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let is_below = |pid: &u32| {
        std::iter::successors(Some(*pid), |it| parent(*it)).take(8).any(|it| it == browser)
    };
    let is_renderer = |pid: &u32| read(*pid, "cmdline").contains("--type=renderer");
    all.into_iter().filter(is_renderer).filter(is_below).collect()
}

#[test]
fn timeout_explains_what_it_waited_for() {
    browser_test(async |t| {
        t.page("/", "<button disabled>Save</button>");
        t.open("/").await;
        let log = |error: &Error| {
            let evidence = error.details().evidence.clone().unwrap_or_default();
            serde_json::to_string(&evidence.get("log")).unwrap()
        };
        let wait = serde_json::json!({ "verb": "wait", "text": "Saved" });
        let error = t.run_within(1_000, serde_json::from_value(wait).unwrap()).await.unwrap_err();
        let steps = log(&error);
        assert!(steps.contains("turn on tab") && steps.contains("waiting for"), "{error}: {steps}");
        // Other errors have their own evidence.
        let click =
            serde_json::json!({ "verb": "click", "target": "text=Nowhere", "noWait": true });
        let error = t.run(serde_json::from_value(click).unwrap()).await.unwrap_err();
        assert_eq!(log(&error), "null", "{error}");
    });
}
