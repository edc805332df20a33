//! Tabs and contexts: selection and isolation.

use crate::harness::{Route, browser_test, eval, open, tab_id};
use agbrowse_browser::command::{CloseTab, NewTab, SwitchTab, TabAction, TabCommand};
use agbrowse_browser::{Code, Command, Request, TabId};
use futures_util::future::join_all;

pub fn new_tab(url: Option<String>) -> Command {
    Command::Tab(TabCommand { action: TabAction::New(NewTab { url, ..NewTab::default() }) })
}

fn close_tab(id: Option<TabId>) -> Command {
    Command::Tab(TabCommand { action: TabAction::Close(CloseTab { id }) })
}

fn switch(id: TabId) -> Command {
    Command::Tab(TabCommand { action: TabAction::Switch(SwitchTab { id }) })
}

#[test]
fn tabs_are_opened_switched_and_closed() {
    browser_test(async |t| {
        t.page("/a", "<title>a</title>").page("/b", "<title>b</title>");
        t.open("/a").await;
        let second = tab_id(t.run(new_tab(Some(t.url("/b")))).await);
        assert_eq!(t.eval("document.title").await, "\"b\"");
        let tabs = t.tabs().await;
        assert_eq!(tabs.iter().map(|tab| tab.current).collect::<Vec<_>>(), [false, true]);
        assert_eq!(tabs.iter().map(|tab| &*tab.title).collect::<Vec<_>>(), ["a", "b"]);
        t.run(switch(tabs[0].id)).await.unwrap();
        assert_eq!(t.eval("document.title").await, "\"a\"");
        t.run(close_tab(Some(second))).await.unwrap();
        assert_eq!(t.tabs().await.len(), 1);
        assert_eq!(t.run_on(second, eval("1")).await.unwrap_err().code(), Code::TabTargetLost);
        let third = tab_id(t.run(new_tab(None)).await);
        assert!(third > second, "{third} was used before");
        let unknown = TabId(third.0 + 1000);
        assert_eq!(t.run_on(unknown, eval("1")).await.unwrap_err().code(), Code::TabNotFound);
    });
}

#[test]
fn background_tab_is_not_current() {
    browser_test(async |t| {
        t.page("/a", "<title>a</title>").page("/b", "<title>b</title>");
        t.open("/a").await;
        let own = NewTab { url: Some(t.url("/b")), aside: true, ..NewTab::default() };
        let own = tab_id(t.run(Command::Tab(TabCommand { action: TabAction::New(own) })).await);
        assert_eq!(t.eval("document.title").await, "\"a\"");
        t.run(close_tab(None)).await.unwrap();
        assert!(t.tabs().await.iter().all(|tab| !tab.current), "the background tab became current");
        t.open("/a").await;
        let title = t.run_on(own, eval("document.title")).await.unwrap().reply;
        assert_eq!(title.to_string(), "b");
    });
}

#[test]
fn tab_closed_by_page_is_reported_missing() {
    browser_test(async |t| {
        t.page("/", "<title>main</title>").page("/pop", "<title>pop</title>");
        t.open("/").await;
        t.eval("window.open('pop'); 1").await;
        let tabs = t.tabs_until(|tabs| tabs.len() == 2 && tabs[1].title == "pop").await;
        assert_eq!(tabs[1].opener, Some(tabs[0].id));
        assert!(tabs[0].current, "a pop-up does not take over by itself");
        t.run(switch(tabs[1].id)).await.unwrap();
        t.run(eval("setTimeout(() => window.close(), 0)")).await.unwrap();
        t.tabs_until(|tabs| tabs.len() == 1).await;
        assert_eq!(t.run(eval("document.title")).await.unwrap_err().code(), Code::TabTargetLost);
        t.run(switch(tabs[0].id)).await.unwrap();
        assert_eq!(t.eval("document.title").await, "\"main\"");
    });
}

#[test]
fn closing_current_tab_switches_to_opener() {
    browser_test(async |t| {
        t.page("/", "<title>main</title>");
        t.open("/").await;
        t.run(new_tab(None)).await.unwrap();
        t.run(switch(t.tabs().await[0].id)).await.unwrap();
        t.eval("window.open('about:blank'); 1").await;
        let tabs = t.tabs_until(|tabs| tabs.len() == 3).await;
        t.run(switch(tabs[2].id)).await.unwrap();
        t.run(close_tab(None)).await.unwrap();
        assert!(t.tabs().await[0].current);
    });
}

#[test]
fn contexts_have_separate_cookies() {
    browser_test(async |t| {
        t.serve("/", Route::Cookies);
        t.open("/").await;
        t.open("/").await;
        assert_eq!(t.eval("document.body.innerText").await, "\"seen=yes\"");
        let other = Some(format!("{}-other", t.context));
        let in_other_context =
            |command| Request { context: other.clone(), ..Request::new(command) };
        t.browser.run(in_other_context(open(&t.url("/")))).await.unwrap();
        let text = t.browser.run(in_other_context(eval("document.body.innerText"))).await.unwrap();
        assert_eq!(text.reply.to_string(), "none");
        t.browser.run(in_other_context(Command::Close(Default::default()))).await.unwrap();
        assert_eq!(t.eval("1").await, "1");
        let error =
            t.browser.run(in_other_context(Command::Close(Default::default()))).await.unwrap_err();
        assert_eq!(error.code(), Code::BrowserContextNotFound);
    });
}

#[test]
fn commands_of_one_tab_run_in_order_and_tabs_run_in_parallel() {
    browser_test(async |t| {
        t.page("/", "<script>log = []; line = new BroadcastChannel('line')</script>");
        let first = tab_id(t.run(new_tab(Some(t.url("/")))).await);
        let second = tab_id(t.run(new_tab(Some(t.url("/")))).await);
        // The first tab waits for the second one: if tabs waited for each other, it would never end.
        let hold = eval("await new Promise(go => line.onmessage = go); log.push('first')");
        let go = eval("setInterval(() => line.postMessage('go'), 5)");
        let mut all = vec![t.run_on(first, hold)];
        all.extend((0..20).map(|number| t.run_on(first, eval(&format!("log.push({number})")))));
        all.push(t.run_on(second, go));
        for outcome in join_all(all).await {
            outcome.unwrap();
        }
        let log = t.run_on(first, eval("log.join()")).await.unwrap().reply.to_string();
        let numbers: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        assert_eq!(log, format!("first,{}", numbers.join(",")));
    });
}
