//! Pages from the wild: each opens, reports its title, runs scripts and is captured.
//!
//! They are read from `AGBROWSE_CORPUS` (default `../shared/corpus` beside the checkout); without it the
//! test prints that it is skipped and passes.

use crate::harness::{Route, browser_test, eval, open};
use agbrowse_browser::command::Screenshot;
use agbrowse_browser::launch::Options;
use agbrowse_browser::{Browser, Command, Reply, Request};
use std::path::PathBuf;

fn pages() -> Vec<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let folder = std::env::var_os("AGBROWSE_CORPUS").map_or_else(|| beside.into(), PathBuf::from);
    let Ok(entries) = std::fs::read_dir(folder.join("pages")) else {
        eprintln!("no corpus at {}: set AGBROWSE_CORPUS", folder.display());
        return Vec::new();
    };
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    pages
}

#[test]
fn real_pages_open() {
    browser_test(async |t| {
        // They refer to third parties that are gone: everything but loopback fails at once.
        let blocked = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1".to_owned();
        let browser = Browser::new(Options { args: vec![blocked], ..Options::default() });
        let run = |command| browser.run(Request::new(command));
        for page in pages() {
            let name = format!("/{}", page.file_name().unwrap().to_string_lossy());
            t.serve(
                &name,
                Route::Html(String::from_utf8_lossy(&std::fs::read(&page).unwrap()).into_owned()),
            );
            let opened =
                run(open(&t.url(&name))).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            let Reply::Open(there) = opened.reply else { panic!("{name}: no arrival") };
            assert_eq!((there.url, there.status), (t.url(&name), Some(200)), "{name}");
            let html =
                run(eval("document.documentElement.outerHTML")).await.unwrap().reply.to_string();
            assert!(html.len() > 1000, "{name}: {} bytes", html.len());
            let title = run(eval("document.title")).await.unwrap().reply.to_string();
            assert_eq!(title, there.title, "{name}");
            let Reply::Screenshot(shot) =
                run(Command::Screenshot(Screenshot::default())).await.unwrap().reply
            else {
                panic!("{name}: no picture")
            };
            assert!(shot.bytes > 1000, "{name}");
        }
        browser.close().await;
    });
}
