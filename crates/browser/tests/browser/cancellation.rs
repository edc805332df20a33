//! A command cancelled at any of its awaits releases everything: event guard, mouse button, interception.
//!
//! When a client is killed, the daemon drops its command. So does this test: the command is polled a number of times
//! and dropped, for every number of polls up to its completion.

use crate::harness::{browser_test, eval, open, seed};
use crate::launch::start_external_browser;
use agbrowse_browser::launch::Options;
use agbrowse_browser::{Browser, Command, Error, Outcome, Request};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Future that is abandoned after a number of polls.
struct CancelAfter<F> {
    polls: usize,
    inner: Pin<Box<F>>,
}

impl<F: Future> Future for CancelAfter<F> {
    /// `None` when it was cancelled.
    type Output = Option<F::Output>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.polls == 0 {
            return Poll::Ready(None);
        }
        self.polls -= 1;
        match self.inner.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if self.polls == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

const CONTEXT: &str = "cut";

const PAGE: &str = "<!doctype html><title>Cut</title><style>div { width: 60px; height: 60px; background: #ddd }</style>
    <button id=b onclick='clicks++'>Go</button> <button id=other onclick='others++'>Other</button>
    <label>File <input type=file id=f></label> <button id=ask onclick='f.click()'>Ask</button>
    <div id=from>From</div><div id=to>To</div><iframe srcdoc='<button>Inside</button>'></iframe>
    <script>
        let clicks = 0, others = 0, buttons = 0;
        addEventListener('mousemove', (event) => buttons = event.buttons, true);
    </script>";

/// The commands to cancel: a click, a click in a frame, a drag, an upload through a chooser, a batch.
fn commands(file: &Path) -> Vec<Command> {
    let file = serde_json::to_string(file).unwrap();
    [
        r#"{"verb":"click","target":"css=#b"}"#.to_owned(),
        r#"{"verb":"click","target":"role=button[name=\"Inside\"]"}"#.to_owned(),
        r#"{"verb":"drag","target":"css=#from","to":"css=#to"}"#.to_owned(),
        format!(r#"{{"verb":"upload","target":"css=#ask","files":[{file}]}}"#),
        r#"{"verb":"batch","commands":[{"verb":"click","target":"css=#b"},{"verb":"hover","target":"css=#to"}]}"#
            .to_owned(),
    ]
    .iter()
    .map(|json| serde_json::from_str(json).unwrap())
    .collect()
}

async fn run(browser: &Browser, command: Command) -> Result<Outcome, Error> {
    browser.run(Request { context: Some(CONTEXT.into()), ..Request::new(command) }).await
}

async fn value(browser: &Browser, script: &str) -> String {
    run(browser, eval(script)).await.unwrap().reply.to_string()
}

/// The last value of a CDP switch in the trace.
fn last_enabled(trace: &Path, method: &str) -> Option<bool> {
    let sent = std::fs::read_to_string(trace).unwrap();
    let line = sent.lines().rfind(|line| line.contains(&format!("\"method\":\"{method}\"")))?;
    Some(line.contains("\"enabled\":true"))
}

/// Checks that user input reaches the page as before the command.
async fn check_released(browser: &Browser, trace: &Path, story: &str) {
    // The isolated world tells whether an event guard is installed, in the page and in its frame.
    browser
        .run_in_world(CONTEXT, "agbrowse.isGuarding() && (() => { throw new Error('guarding') })()")
        .await
        .unwrap_or_else(|error| panic!("{story}: {error}"));
    let before = value(browser, "others").await;
    let click: Command =
        serde_json::from_str(r#"{"verb":"click","target":"css=#other","noDelta":true}"#).unwrap();
    run(browser, click).await.unwrap_or_else(|error| panic!("{story}: {error}"));
    let after = value(browser, "[buttons, others].join()").await;
    assert_eq!(after, format!("0,{}", before.parse::<u32>().unwrap() + 1), "{story}");
    assert_ne!(last_enabled(trace, "Input.setInterceptDrags"), Some(true), "{story}");
    let choosers = last_enabled(trace, "Page.setInterceptFileChooserDialog");
    assert_ne!(choosers, Some(true), "{story}: a person's choosers are caught");
}

/// Cancels every command at every await, on one browser.
async fn cancel_everywhere(browser: &Browser, url: &str, trace: &Path, file: &Path) {
    for command in commands(file) {
        run(browser, open(url)).await.unwrap();
        // Every await in the long version; otherwise a part of them, a different one in each run.
        let step = if std::env::var_os("AGBROWSE_SOAK").is_some() { 1 } else { 10 };
        for polls in (1 + seed() as usize % step..).step_by(step) {
            let cut = CancelAfter { polls, inner: Box::pin(run(browser, command.clone())) };
            let over = cut.await;
            let story = format!("{command:?} after {polls} polls");
            check_released(browser, trace, &story).await;
            match over {
                Some(Ok(_)) => break,
                Some(Err(error)) => panic!("{story}: {error}"),
                None => {}
            }
        }
    }
}

fn trace() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (trace, file) = (folder.path().join("trace"), folder.path().join("a.txt"));
    std::fs::write(&file, "a").unwrap();
    (folder, trace, file)
}

#[test]
fn torture_command_cancelled_at_any_await_releases_everything_headed() {
    browser_test(async |t| {
        t.page("/", PAGE);
        let (_folder, trace, file) = trace();
        let options = Options {
            headed: true,
            // A headed browser without a display.
            args: vec!["--ozone-platform=headless".into()],
            trace: Some(trace.clone()),
            ..Options::default()
        };
        let browser = Browser::new(options);
        cancel_everywhere(&browser, &t.url("/"), &trace, &file).await;
        browser.close().await;
    });
}

#[test]
fn torture_command_cancelled_at_any_await_releases_everything_attached() {
    browser_test(async |t| {
        t.page("/", PAGE);
        let (_folder, trace, file) = trace();
        let external = start_external_browser(&t.url("/")).await;
        let options = Options {
            cdp: Some(external.port.clone()),
            trace: Some(trace.clone()),
            ..Options::default()
        };
        let browser = Browser::new(options);
        cancel_everywhere(&browser, &t.url("/"), &trace, &file).await;
        browser.close().await;
    });
}

#[test]
fn event_guard_of_killed_client_expires() {
    browser_test(async |t| {
        t.page("/", PAGE);
        t.open("/").await;
        let arm = "agbrowse.isGuarding() || agbrowse.beginInAncestor(1)";
        t.browser.run_in_world(&t.context, arm).await.unwrap();
        // Nothing releases it. The time limit of the test ends an endless wait.
        let check = "agbrowse.isGuarding() && (() => { throw new Error('guarding') })()";
        assert!(t.browser.run_in_world(&t.context, check).await.is_err(), "it is armed");
        while t.browser.run_in_world(&t.context, check).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    });
}
