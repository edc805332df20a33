//! A page in an endless loop does not block other commands.

use crate::harness::{browser_test, eval, open, tab_id};
use agbrowse_browser::command::{
    CloseTab, NewTab, Open, Screenshot, Status, TabAction, TabCommand, Tabs, Until,
};
use agbrowse_browser::{Code, Command, TabId};
use std::time::{Duration, Instant};

const LOOP: &str = "<title>stuck</title><script>setTimeout(() => { while (true) {} }, 0)</script>";

#[test]
fn control_commands_respond_while_page_is_stuck() {
    browser_test(async |t| {
        t.page("/loop", LOOP).page("/ok", "<title>fine</title>");
        open_looping_page(&t).await;
        let stuck = t.tabs().await[0].id;

        let held = t.run_within(1500, eval("1"));
        let meanwhile = async {
            for command in [Command::Tabs(Tabs {}), Command::Status(Status {})] {
                // The best of three attempts meets the limit: the machine may be loaded.
                let mut best = Duration::MAX;
                for _ in 0..3 {
                    let began = Instant::now();
                    t.run(command.clone()).await.unwrap();
                    best = best.min(began.elapsed());
                }
                assert!(best < Duration::from_millis(100), "{command:?} took {best:?}");
            }
            let new = TabCommand {
                action: TabAction::New(NewTab { url: Some(t.url("/ok")), ..NewTab::default() }),
            };
            tab_id(t.run(Command::Tab(new)).await);
            assert_eq!(t.eval("document.title").await, "\"fine\"");
        };
        let (held, ()) = tokio::join!(held, meanwhile);
        assert_eq!(held.unwrap_err().code(), Code::PageUnresponsive);

        let picture = Command::Screenshot(Screenshot::default());
        let error = t.run_on_within(stuck, 300, picture).await.unwrap_err();
        assert_eq!(error.code(), Code::PageUnresponsive);
        close(&t, stuck).await;
    });
}

#[test]
fn waiting_command_ends_at_its_deadline() {
    browser_test(async |t| {
        t.page("/", "<title>x</title>");
        t.open("/").await;
        let first = t.run_within(2000, eval("new Promise(() => {})"));
        let second = t.run_within(200, eval("1"));
        let (first, second) = tokio::join!(first, second);
        assert_eq!(first.unwrap_err().code(), Code::CommandTimeout);
        assert_eq!(second.unwrap_err().code(), Code::TabBusy);
    });
}

#[test]
fn stuck_tab_can_navigate_away() {
    browser_test(async |t| {
        t.page("/loop", LOOP).page("/ok", "<title>fine</title>");
        open_looping_page(&t).await;
        // A cross-site page gets another process, which the loop does not block.
        t.run(open(&t.other_url("/ok"))).await.unwrap();
        assert_eq!(t.eval("document.title").await, "\"fine\"");
    });
}

/// Opens the page at `/loop` and waits until it is stuck.
async fn open_looping_page(t: &crate::harness::TestContext) {
    let there = Open { url: t.url("/loop"), until: Until::Commit, new_tab: false };
    t.run(Command::Open(there)).await.unwrap();
    while t.run_within(150, eval("1")).await.is_ok() {}
}

async fn close(t: &crate::harness::TestContext, id: TabId) {
    let began = Instant::now();
    let close = TabCommand { action: TabAction::Close(CloseTab { id: Some(id) }) };
    t.run(Command::Tab(close)).await.unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(25),
        "closing a stuck tab took {:?}",
        began.elapsed()
    );
}

#[test]
fn covering_element_is_reported_when_page_hangs() {
    browser_test(async |t| {
        // The page hangs when the button is scrolled into view, which is when it is found to be covered.
        t.page(
            "/",
            "<!doctype html><div style='height:3000px'></div><button>Pay</button>
             <div id=veil style='position:fixed;inset:0'></div><script>
             onscroll = () => { for (const end = performance.now() + 4000; performance.now() < end;); };
             </script>",
        );
        t.open("/").await;
        let click = serde_json::from_str(r#"{"verb":"click","target":"css=button"}"#).unwrap();
        let error = t.run_within(1500, click).await.unwrap_err();
        assert_eq!(error.code(), Code::ActCovered, "{error}");
        assert!(error.to_string().contains("#veil"), "{error}");
    });
}
