//! A drag lets the page follow the mouse before the button is released, by any kind of callback.

use crate::harness::browser_test;
use crate::probes::{describe, matches_outcome};
use crate::snapshot::snapshot_text;
use crate::widgets::{serve, widget_directory};
use agbrowse_browser::command::Snapshot;

/// A page that drags a box onto another one and follows the mouse through `FOLLOW(callback)`.
const FOLLOWER: &str = "<!doctype html><style>div { position:absolute; width:60px; height:60px } #a { left:20px; top:20px; background:red; touch-action:none }
    #b { left:320px; top:220px; background:blue; z-index:-1 }</style><div id=b>Bin</div><div id=a>Box</div><p id=o style='position:absolute;top:400px'>out</p><script>
    const follow = (go) => FOLLOW;
    let at = null;
    a.onpointerdown = (e) => { a.setPointerCapture(e.pointerId); at = [e.clientX - a.offsetLeft, e.clientY - a.offsetTop]; };
    a.onpointermove = (e) => { const { clientX, clientY } = e; if (at) follow(() => { if (!at) return; a.style.left = clientX - at[0] + 'px'; a.style.top = clientY - at[1] + 'px'; }); };
    a.onpointerup = () => { at = null; const x = a.offsetLeft - b.offsetLeft, y = a.offsetTop - b.offsetTop; o.textContent = Math.hypot(x, y) < 20 ? 'in' : 'out ' + [x, y]; };
    </script>";

#[test]
fn drag_lets_page_follow_before_release() {
    browser_test(async |t| {
        for follow in [
            "go()",
            "requestAnimationFrame(go)",
            "requestAnimationFrame(() => requestAnimationFrame(go))",
            "setTimeout(go)",
            "setTimeout(go, 40)",
            "new MessageChannel().port1.close() ?? Promise.resolve().then(go)",
        ] {
            t.page("/", FOLLOWER.replace("FOLLOW", follow));
            t.open("/").await;
            let command = r#"{"verb":"drag","target":"css=#a","to":"css=#b"}"#;
            let outcome = t.run(serde_json::from_str(command).unwrap()).await;
            assert!(
                matches_outcome("changed +content", &outcome),
                "{follow}: {}",
                describe(&outcome)
            );
            assert_eq!(t.eval("o.textContent").await, "\"in\"", "{follow}");
        }
    });
}

#[test]
fn drag_draws_straight_line_on_canvas() {
    browser_test(async |t| {
        t.page(
            "/",
            "<!doctype html><canvas id=c width=400 height=300 style='position:fixed;left:0;top:0' aria-label=Board></canvas>
             <p id=o style='position:fixed;top:320px'>-</p><script>
             const points = []; let last = null;
             const draw = () => { if (last) { points.push(last); last = null; } requestAnimationFrame(draw); };
             draw();
             let down = false;
             c.onmousedown = () => down = true;
             c.onmousemove = (e) => { if (down) last = [e.clientX, e.clientY]; };
             c.onmouseup = () => { down = false; o.textContent = points.length; };
             </script>",
        );
        t.open("/").await;
        snapshot_text(&t, Snapshot::default()).await;
        let command = r#"{"verb":"drag","target":"xy=20,40","to":"xy=380,40"}"#;
        let outcome = t.run(serde_json::from_str(command).unwrap()).await;
        assert!(matches_outcome("changed +content", &outcome), "{}", describe(&outcome));
        // From end to end in several segments, none off the line.
        let drawn = t.eval("points.length >= 5 && points.every(([, y]) => y === 40) && points.at(-1)[0] === 380 && points.every(([x], at) => at === 0 || x >= points[at - 1][0])").await;
        assert_eq!(drawn, "true", "{}", t.eval("JSON.stringify(points)").await);
    });
}

#[test]
fn drop_waits_for_delayed_drop_target() {
    browser_test(async |t| {
        // The page adds the drop target some time after `dragstart`.
        t.page(
            "/",
            "<!doctype html><div id=a draggable=true style='width:80px;height:40px;background:red'>Card</div>
             <div id=z style='margin-top:80px;width:300px;height:200px;background:#eee'>Zone</div><p id=o>-</p><script>
             let on = false;
             a.ondragstart = (e) => { e.dataTransfer.setData('text', 'card'); setTimeout(() => on = true, 20); };
             z.ondragenter = (e) => e.preventDefault();
             z.ondragover = (e) => { e.preventDefault(); if (on) requestAnimationFrame(() => z.dataset.ready = 1); };
             z.ondrop = (e) => { e.preventDefault(); o.textContent = z.dataset.ready ? e.dataTransfer.getData('text') : 'too early'; };
             </script>",
        );
        t.open("/").await;
        let command = r#"{"verb":"drag","target":"css=#a","to":"css=#z"}"#;
        let outcome = t.run(serde_json::from_str(command).unwrap()).await;
        assert!(matches_outcome("changed +content", &outcome), "{}", describe(&outcome));
        assert_eq!(t.eval("o.textContent").await, "\"card\"");
    });
}

#[test]
fn sortable_lists_are_reordered_by_html_and_mouse_drag() {
    browser_test(async |t| {
        let Some(modules) = widget_directory() else { return };
        serve(&t, &modules, "sortablejs/Sortable.js");
        t.page(
            "/",
            "<!doctype html><style>li { height:40px; width:200px; background:#eee; margin:4px }</style>
             <script src=node_modules/sortablejs/Sortable.js></script>
             <ul id=list><li>Ann<li>Bob<li>Cid<li>Dee<li>Eve</ul><script>
             const options = new URLSearchParams(location.search);
             Sortable.create(list, { forceFallback: options.has('fallback'), animation: options.has('animated') ? 150 : 0 });
             const order = () => [...list.children].map((item) => item.textContent.trim()).join(' ');
             </script>",
        );
        for options in ["?", "?fallback", "?animated", "?fallback&animated"] {
            for (from, to, order) in [
                (0, 3, "Bob Cid Dee Ann Eve"),
                (4, 0, "Eve Bob Cid Dee Ann"),
                (1, 2, "Eve Cid Bob Dee Ann"),
            ] {
                if from == 0 {
                    t.open(&format!("/{options}")).await;
                }
                let item = |at: u32| format!("css=#list > :nth-child({})", at + 1);
                let command =
                    serde_json::json!({ "verb": "drag", "target": item(from), "to": item(to) });
                let outcome = t.run(serde_json::from_value(command).unwrap()).await;
                let now = t.eval("order()").await;
                assert_eq!(
                    now,
                    format!("{order:?}"),
                    "{options} {from} {to}: {}",
                    describe(&outcome)
                );
                assert!(
                    matches_outcome("changed +content", &outcome),
                    "{options}: {}",
                    describe(&outcome)
                );
            }
        }
    });
}
