//! Deltas in receipts and snapshots: changes of the page, and none caused by snapshot options alone.

use crate::harness::{TestContext, browser_test};
use crate::snapshot::{details, open_html, snapshot_text};
use agbrowse_browser::command::{Snapshot, TextFormat};
use agbrowse_browser::{Command, Reply};
use std::time::{Duration, Instant};

/// The receipt delta of a click on this text.
async fn click(t: &TestContext, text: &str) -> String {
    let command = format!(r#"{{"verb":"click","target":"text={text}"}}"#);
    let command: Command = serde_json::from_str(&command).unwrap();
    match t.run(command).await.unwrap_or_else(|error| panic!("{text}: {error}")).reply {
        Reply::Click(receipt) => receipt.delta,
        other => panic!("no receipt: {other:?}"),
    }
}

#[test]
fn added_element_with_listener_has_ref_in_delta() {
    browser_test(async |t| {
        let html = "<button id=b>Load</button><button id=n>Other</button><p id=o></p><ul id=l></ul><script>
            b.onclick = () => { for (const name of ['User', 'Admin']) {
              const li = document.createElement('li'), s = document.createElement('span');
              s.textContent = name; s.onclick = () => {}; li.append(s); l.append(li) } };
            n.onclick = () => { o.textContent = 'hi ' + Math.random() }</script>";
        for is_shown in [true, false] {
            // The delta baseline of another page does not count.
            let many = "<p>words</p>".repeat(50);
            open_html(&t, &many, Snapshot::default()).await;
            t.page("/list", html);
            t.open("/list").await;
            if is_shown {
                snapshot_text(&t, Snapshot::default()).await;
            }
            let loaded = click(&t, "Load").await;
            for name in ["User", "Admin"] {
                assert!(loaded.contains(&format!("+ generic \"{name}\" [ref=@e")), "{loaded}");
            }
            let other = click(&t, "Other").await;
            assert!(other.contains("hi ") && !other.contains("User"), "{other}");
        }
    });
}

#[test]
fn modal_dialog_takes_one_line_when_opened_and_closed() {
    browser_test(async |t| {
        let list: String = (0..50).map(|n| format!("<li><a href=#{n}>Entry {n}</a>")).collect();
        let html = format!(
            "<h1>List</h1><button onclick='d.showModal()'>Open</button><ul>{list}</ul>
             <dialog id=d>Sure? <button onclick=\"d.close(); t.textContent = 'Saved'\">Close</button></dialog>
             <div id=t role=status></div>"
        );
        for is_shown in [true, false] {
            open_html(&t, &html, Snapshot::default()).await;
            if !is_shown {
                t.open("/").await;
            }
            let opened = click(&t, "Open").await;
            assert!(opened.contains("+ dialog"), "{opened}");
            assert!(opened.contains("- behind the dialog now: 5"), "{opened}");
            assert!(!opened.contains("removed"), "{opened}");
            let closed = click(&t, "Close").await;
            assert!(closed.contains("Saved"), "{closed}");
            assert!(closed.contains("+ the page behind the dialog is back: 5"), "{closed}");
            assert!(closed.lines().count() <= 5, "{closed}");
        }
        // The same in a snapshot delta.
        open_html(&t, &html, Snapshot::default()).await;
        t.eval("d.showModal(); 1").await;
        let delta = || Snapshot { delta: true, ..Snapshot::default() };
        snapshot_text(&t, Snapshot::default()).await;
        t.eval("d.close(); t.textContent = 'Saved'; 1").await;
        let closed = snapshot_text(&t, delta()).await;
        assert!(closed.contains("the page behind the dialog is back"), "{closed}");
        assert!(closed.contains("Saved") && closed.lines().count() <= 5, "{closed}");
    });
}

#[test]
fn snapshot_options_do_not_appear_as_changes() {
    browser_test(async |t| {
        let html =
            "<button onclick=\"o.textContent = 'hi'\">Go</button><a href=#x>Link</a><p id=o></p>";
        for options in [
            Snapshot { boxes: true, ..Snapshot::default() },
            Snapshot { urls: true, ..Snapshot::default() },
            Snapshot { urls: true, boxes: true, details: true, ..Snapshot::default() },
        ] {
            open_html(&t, html, options).await;
            let delta = click(&t, "Go").await;
            assert!(delta.contains("+ text \"hi\""), "{delta}");
            assert!(!delta.contains("was") && !delta.contains("Link"), "{delta}");
        }
    });
}

#[test]
fn root_delta_compares_with_same_root() {
    browser_test(async |t| {
        let html = "<nav><a href=/a>One</a><a href=/b id=b>Two</a></nav><main><p>Words</main>";
        open_html(&t, html, Snapshot::default()).await;
        let root = Some("css=nav".parse().unwrap());
        let part = || Snapshot { root: root.clone(), delta: true, ..Snapshot::default() };
        for _ in 0..3 {
            assert_eq!(snapshot_text(&t, part()).await, "no change");
        }
        t.eval("b.textContent = 'Three'; 1").await;
        assert!(snapshot_text(&t, part()).await.contains("(was \"Two\")"));
        assert_eq!(snapshot_text(&t, part()).await, "no change");
    });
}

#[test]
fn delta_refs_have_output_format() {
    browser_test(async |t| {
        open_html(&t, "<button id=b>Go</button><p>Words and more words</p>", Snapshot::default())
            .await;
        t.eval("b.textContent = 'Went'; 1").await;
        let format = TextFormat::Viewpoint;
        let text = snapshot_text(&t, Snapshot { delta: true, format, ..Snapshot::default() }).await;
        assert!(text.contains("button \"Went\" [ref=") && !text.contains("@e"), "{text}");
    });
}

#[test]
fn changed_title_attribute_is_in_delta() {
    browser_test(async |t| {
        let html = "<div id=d onclick=\"d.title = 'Unmute'\" title=Mute style='width: 20px; height: 20px'></div>
            <button onclick=\"n.innerHTML = '<div onclick=1 title=Pause style=width:9px;height:9px></div>'\">More</button><p id=n></p>";
        let text = open_html(&t, html, Snapshot::default()).await;
        assert!(text.contains("title=\"Mute\""), "{text}");
        t.eval("d.click(); 1").await;
        let delta = snapshot_text(&t, Snapshot { delta: true, ..Snapshot::default() }).await;
        assert!(delta.contains("title=\"Unmute\""), "{delta}");
        let more = click(&t, "More").await;
        assert!(more.contains("title=\"Pause\""), "{more}");
    });
}

#[test]
fn delta_texts_have_origins() {
    browser_test(async |t| {
        t.page(
            "/inner",
            "<p>Inside</p><script>onmessage = (it) => document.body.append(it.data)</script>",
        );
        let html = format!(
            "<h1>Words</h1><p id=o></p><iframe src={:?} id=f></iframe>",
            t.other_url("/inner")
        );
        let full = || Snapshot { nodes: true, delta: true, ..Snapshot::default() };
        open_html(&t, &html, Snapshot::default()).await;
        t.eval("o.textContent = 'Out here'; f.contentWindow.postMessage('In there', '*'); 1").await;
        let mut found = details(&t, full()).await.nodes;
        let began = Instant::now();
        while !found.iter().any(|node| node.text == "In there" || node.name == "In there") {
            assert!(began.elapsed() < Duration::from_secs(60), "{found:?}");
            found.extend(details(&t, full()).await.nodes);
        }
        let origin = |url: String| url.split('/').take(3).collect::<Vec<_>>().join("/");
        for (text, url) in [("Out here", t.url("/")), ("In there", t.other_url("/"))] {
            let node = found.iter().find(|node| node.text == text || node.name == text);
            assert_eq!(node.expect(text).origin, origin(url), "{found:?}");
        }
        assert!(!found.iter().any(|node| node.name == "Words"), "{found:?}");
    });
}
