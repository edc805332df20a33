//! Auto-attach at every depth: cross-site frames, frames nested in those, pop-ups, workers.

use crate::harness::{Route, browser_test};

#[test]
fn nested_frames_and_workers_are_attached() {
    browser_test(async |t| {
        t.page("/leaf", "<p>leaf");
        // Main origin → other origin → main origin: each in its own process, nested in this order.
        t.page("/middle", format!("<iframe src='{}'></iframe>", t.url("/leaf")));
        t.serve("/worker.js", Route::Script("onmessage = () => {}".into()));
        t.page(
            "/top/page",
            format!(
                "<iframe src='{}'></iframe><script>worker = new Worker('../worker.js')</script>",
                t.other_url("/middle")
            ),
        );
        t.open("/top/page").await;
        let tabs = t.tabs_until(|tabs| tabs[0].frames >= 2 && tabs[0].workers >= 1).await;
        assert_eq!((tabs[0].frames, tabs[0].workers), (2, 1));
        t.eval("worker.terminate(); document.querySelector('iframe').remove()").await;
        t.tabs_until(|tabs| tabs[0].frames == 0 && tabs[0].workers == 0).await;
    });
}

#[test]
fn paused_targets_are_always_resumed() {
    browser_test(async |t| {
        t.page("/pop", "<title>ran</title><script>document.title += ' on'</script>");
        t.page("/", "<title>opener</title>");
        t.open("/").await;
        t.eval("for (let i = 0; i < 5; i++) window.open('pop', 'w' + i); 1").await;
        t.tabs_until(|tabs| tabs.iter().filter(|tab| tab.title == "ran on").count() == 5).await;
    });
}
