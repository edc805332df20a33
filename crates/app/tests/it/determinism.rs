//! Snapshots of an unchanged page are identical, in every browser.

use crate::fidelity::{browser, corpus, name_of, open, runtime, serve};
use browser::command::{Snapshot, SnapshotReply};
use browser::{Browser, Command, Reply, Request};
use std::collections::BTreeSet;

const SNAPSHOTS: usize = 25;

#[test]
fn fifty_snapshots_in_two_browsers_are_identical() {
    let (Some(one), Some(other)) = (browser(), browser()) else { return };
    runtime().block_on(async {
        let mut pages = corpus("pages");
        pages.retain(|page| ["lwn-1.html", "cnn.html"].contains(&&*name_of(page)));
        pages.push(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/widgets.html").into());
        let origin = serve(&pages).await;
        for page in &pages {
            let url = format!("{origin}/{}", name_of(page));
            let mut snapshots = BTreeSet::new();
            for browser in [&one, &other] {
                open(browser, &url).await;
                for index in 0..SNAPSHOTS {
                    // Some from the cache, some from an incremental walk, some fresh.
                    snapshots.insert(snapshot(browser, index % 3 == 0).await);
                }
            }
            assert_eq!(snapshots.len(), 1, "{url}: {snapshots:#?}");
            println!("{url}: {} snapshots, one text, one axHash, one domHash", 2 * SNAPSHOTS);
        }
        one.close().await;
        other.close().await;
    });
}

/// Text, axHash and domHash.
async fn snapshot(browser: &Browser, fresh: bool) -> (String, String, Option<String>) {
    let snapshot = Snapshot { details: true, fresh, ..Snapshot::default() };
    let outcome = browser.run(Request::new(Command::Snapshot(snapshot))).await.unwrap();
    match outcome.reply {
        Reply::Snapshot(SnapshotReply::Full(full)) => (full.text, full.ax_hash, full.dom_hash),
        other => panic!("no details: {other:?}"),
    }
}
