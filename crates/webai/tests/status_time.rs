//! The time of `status` on a ready page, in a live browser of this process.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests may fail loudly and say what they do"
)]

use agbrowse_webai::vendor::Vendors;
use agbrowse_webai::{StatusOptions, WebAi};
use browser::command::{Eval, Open};
use browser::launch::{BrowserQuery, Options, find};
use browser::{Browser, Command, Request};
use chatapps::{App, ChatApps, Scenario};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The specified limit of a whole status.
const LIMIT: Duration = Duration::from_millis(300);
/// The specified limit of a row without a menu, in round trips of `eval`.
const ROUND_TRIPS: u32 = 5;
const RUNS: usize = 15;

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn status_takes_few_round_trips_and_less_than_its_limit() {
    if let Err(error) = find(&BrowserQuery::default()) {
        assert!(std::env::var_os("AGBROWSE_REQUIRE_CHROMIUM").is_none(), "{error}");
        eprintln!("skipped: {error}");
        return;
    }
    let apps = ChatApps::start().await.unwrap();
    let mut options = Options::default();
    options.args.extend(apps.browser_args());
    let browser = Arc::new(Browser::new(options));
    let web_ai = WebAi::new(browser.clone(), Vendors::load(None).unwrap());
    for (app, vendor) in [(App::ChatGpt, "chatgpt"), (App::Gemini, "gemini"), (App::Grok, "grok")] {
        let open = Open { url: apps.url(app, &Scenario::default()), ..Open::default() };
        browser.run(Request::new(Command::Open(open))).await.unwrap();
        let (mut evals, mut all) = (Vec::new(), Vec::new());
        let mut rows = 0;
        for _ in 0..RUNS {
            let begun = Instant::now();
            let eval = Eval { script: "1".into(), isolated: true, ..Eval::default() };
            browser.run(Request::new(Command::Eval(eval))).await.unwrap();
            evals.push(begun.elapsed());
            let begun = Instant::now();
            let status = web_ai.status(vendor, &StatusOptions::default()).await.unwrap();
            all.push(begun.elapsed());
            assert!(status.ok, "{status}");
            rows = status.capabilities.len() as u32;
        }
        let (eval, whole) = (median(evals), median(all));
        eprintln!(
            "{vendor}: eval {eval:?}, status {whole:?}: {:.1} round trips per row",
            whole.as_secs_f64() / eval.as_secs_f64() / f64::from(rows)
        );
        assert!(whole < LIMIT, "{vendor}: {whole:?}");
        assert!(
            whole < eval * ROUND_TRIPS * rows,
            "{vendor}: {whole:?} for {rows} rows, eval {eval:?}"
        );
    }
    browser.close().await;
}
