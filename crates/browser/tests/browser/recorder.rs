//! Recording and events: what a recorder and a subscriber see of commands, while others use the same tab.

use crate::harness::{browser_test, eval, open};
use agbrowse_browser::command::{Click, Console, Fill};
use agbrowse_browser::launch::Options;
use agbrowse_browser::{
    Browser, BrowserEvent, Code, Command, Error, HookFuture, PageHashes, Recorder, Reply, Request,
    Result, Step, TabId,
};
use std::sync::{Arc, Mutex};

/// Hashes of the page before and after each command.
#[derive(Default)]
struct Hashes {
    rows: Mutex<Vec<(String, PageHashes, Option<PageHashes>)>>,
    refuses: Mutex<Option<&'static str>>,
}

impl Recorder for Hashes {
    fn before<'a>(&'a self, step: &'a Step<'_>) -> HookFuture<'a> {
        Box::pin(async move {
            if *self.refuses.lock().unwrap() == Some("before") {
                return Err(Error::new(Code::FileWriteFailed).message("the disk is full"));
            }
            if let Some(hashes) = step.hash_page().await? {
                let command = serde_json::to_string(step.command).unwrap();
                self.rows.lock().unwrap().push((command, hashes, None));
            }
            Ok(())
        })
    }

    fn after<'a>(&'a self, step: &'a Step<'_>, _: &'a Result<Reply>) -> HookFuture<'a> {
        Box::pin(async move {
            if *self.refuses.lock().unwrap() == Some("after") {
                return Err(Error::new(Code::FileWriteFailed).message("the disk is full"));
            }
            let hashes = step.hash_page().await?;
            if let Some(row) = self.rows.lock().unwrap().last_mut() {
                row.2 = hashes;
            }
            Ok(())
        })
    }
}

const COUNTER: &str = "data:text/html,<title>counter</title><p id=n>0</p>\
    <button onclick='n.textContent = Number(n.textContent) + 1'>Add</button><input aria-label=Name>";

fn on(tab: TabId, command: Command) -> Request {
    Request { tab: Some(tab), ..Request::new(command) }
}

fn click(target: &str) -> Command {
    let click = serde_json::json!({ "target": target });
    Command::Click(serde_json::from_value::<Click>(click).unwrap())
}

#[test]
fn nothing_gets_between_the_hooks_and_their_command() {
    browser_test(async |_| {
        let browser = Browser::new(Options::default());
        let recorder = Arc::new(Hashes::default());
        let tab = browser.run(Request::new(open(COUNTER))).await.unwrap().tab.unwrap();
        browser.set_recorder(Some(recorder.clone()));
        let rounds = 12;
        // A client that changes the page as often as it gets its turn, and one whose commands are recorded beside it.
        let hammer = async {
            for _ in 0..rounds * 2 {
                browser.run(on(tab, eval("n.textContent = 'x' + Math.random()"))).await.unwrap();
            }
        };
        let recorded = async {
            for _ in 0..rounds {
                browser.run(on(tab, eval("n.textContent = '0'"))).await.unwrap();
                browser.run(on(tab, click("text=Add"))).await.unwrap();
            }
        };
        tokio::join!(hammer, recorded);
        browser.set_recorder(None);
        let rows = std::mem::take(&mut *recorder.rows.lock().unwrap());
        assert_eq!(rows.len(), rounds * 4);
        // All commands of both clients form one chain: each begins with the page that the one before left.
        for pair in rows.windows(2) {
            let after = pair[0].2.as_ref().expect("hashed afterwards");
            assert_eq!(
                *after, pair[1].1,
                "something got in between {} and {}",
                pair[0].0, pair[1].0
            );
        }
        let changed = rows.iter().filter(|(_, before, after)| after.as_ref() != Some(before));
        assert!(changed.count() >= rounds * 2, "the page was changed by most of them");
        browser.close().await;
    });
}

#[test]
fn failing_recorder_refuses_the_command_before_and_fails_it_after() {
    browser_test(async |_| {
        let browser = Browser::new(Options::default());
        let recorder = Arc::new(Hashes::default());
        let tab = browser.run(Request::new(open(COUNTER))).await.unwrap().tab.unwrap();
        let count = async || {
            let outcome = browser.run(on(tab, eval("n.textContent"))).await.unwrap();
            outcome.reply.to_string()
        };
        for (hook, expected) in [("before", "0"), ("after", "1")] {
            *recorder.refuses.lock().unwrap() = Some(hook);
            browser.set_recorder(Some(recorder.clone()));
            let error = browser.run(on(tab, click("text=Add"))).await.unwrap_err();
            assert_eq!(error.code(), Code::FileWriteFailed, "{hook}: {error}");
            browser.set_recorder(None);
            assert_eq!(count().await, expected, "{hook}");
        }
        browser.close().await;
    });
}

#[test]
fn recorder_sees_no_secret() {
    browser_test(async |_| {
        let browser = Browser::new(Options::default());
        let recorder = Arc::new(Hashes::default());
        let tab = browser.run(Request::new(open(COUNTER))).await.unwrap().tab.unwrap();
        browser.set_recorder(Some(recorder.clone()));
        let fill = serde_json::json!({
            "target": "label=Name", "secret": "PIN", "value": { "name": "PIN", "text": "hunter2-hunter2" },
        });
        let fill = Command::Fill(serde_json::from_value::<Fill>(fill).unwrap());
        browser.run(on(tab, fill)).await.unwrap();
        browser.set_recorder(None);
        let rows = std::mem::take(&mut *recorder.rows.lock().unwrap());
        let (command, ..) = rows.last().unwrap();
        assert!(command.contains("secret:PIN") && !command.contains("hunter2"), "{command}");
        browser.close().await;
    });
}

#[test]
fn events_tell_of_commands_navigations_and_page_events_in_order() {
    browser_test(async |_| {
        let browser = Browser::new(Options::default());
        let tab = browser.run(Request::new(open(COUNTER))).await.unwrap().tab.unwrap();
        let mut events = browser.events();
        browser.run(on(tab, click("text=Add"))).await.unwrap();
        browser.run(on(tab, eval("console.error('oops')"))).await.unwrap();
        browser.run(on(tab, click("text=Nowhere"))).await.unwrap_err();
        browser.run(on(tab, open("data:text/html,<title>next</title>"))).await.unwrap();
        // Not in turn, and after all of them.
        browser.run(on(tab, Command::Console(Console::default()))).await.unwrap();
        let mut seen = Vec::new();
        let mut receipts = 0;
        loop {
            let event = events.next().await.unwrap();
            match &event {
                BrowserEvent::CommandStarted { verb, tab: on, .. } => {
                    assert_eq!(*on, Some(tab), "{event:?}");
                    seen.push(format!("{verb} started"));
                }
                BrowserEvent::CommandFinished { verb, error, receipt, .. } => {
                    receipts += usize::from(receipt.is_some());
                    let how = error.map_or("finished".into(), |code| code.to_string());
                    seen.push(format!("{verb} {how}"));
                    if verb == "console" {
                        break;
                    }
                }
                BrowserEvent::Navigated { url, .. } => seen.push(format!("at {url}")),
                BrowserEvent::Page { page_event, .. } => seen.push(page_event.kind.clone()),
                other => panic!("{other:?}"),
            }
        }
        let place = |what: &str| {
            let found = seen.iter().position(|it| it.contains(what));
            found.unwrap_or_else(|| panic!("{what} is not among {seen:?}"))
        };
        let order = [
            "click started",
            "click finished",
            "eval started",
            "click target.not-found",
            "open started",
            "at data:text/html,<title>next",
            "open finished",
            "console started",
            "console finished",
        ];
        assert!(order.map(place).is_sorted(), "{seen:?}");
        assert!(place("console-error") > place("eval started"), "{seen:?}");
        assert_eq!(receipts, 1, "{seen:?}");
        browser.close().await;
    });
}

#[test]
fn dropped_command_is_told_as_dropped() {
    browser_test(async |_| {
        let browser = Browser::new(Options::default());
        let tab = browser.run(Request::new(open(COUNTER))).await.unwrap().tab.unwrap();
        let mut events = browser.events();
        let endless = browser.run(on(tab, eval("new Promise(() => {})")));
        tokio::select! {
            done = endless => panic!("{done:?}"),
            started = events.next() => {
                assert!(matches!(started, Some(BrowserEvent::CommandStarted { .. })), "{started:?}");
            }
        }
        loop {
            match events.next().await.unwrap() {
                BrowserEvent::CommandDropped { verb, .. } => break assert_eq!(verb, "eval"),
                BrowserEvent::CommandFinished { .. } => panic!("it did not finish"),
                _ => {}
            }
        }
        browser.close().await;
    });
}
