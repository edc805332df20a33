//! Mouse steps, long presses, typing into the focused element, and scrolling to the edges.

use crate::harness::{TestContext, browser_test};
use crate::probes::{describe, matches_outcome};

/// Runs commands one after the other; each must have the outcome beside it.
async fn run_steps(t: &TestContext, steps: &[(&str, &str)]) {
    for (step, expected) in steps {
        if let Some(script) = step.strip_prefix("js ") {
            assert_eq!(t.eval(script).await, *expected, "{script}");
            continue;
        }
        let outcome = t.run(serde_json::from_str(step).unwrap()).await;
        let is_met = expected.split('|').any(|expected| matches_outcome(expected, &outcome));
        assert!(is_met, "{step}: expected {expected}, got {}", describe(&outcome));
    }
}

#[test]
fn held_click_is_long_press() {
    browser_test(async |t| {
        t.page(
            "/",
            "<!doctype html><button id=b>Press</button><p id=o></p><script>let from;
             b.onpointerdown = () => from = performance.now();
             b.onpointerup = () => o.textContent = performance.now() - from >= 3500 ? 'long' : 'short';
             b.onclick = () => o.textContent += ' click'</script>",
        );
        t.open("/").await;
        // Longer than the expiry of the event guard.
        run_steps(
            &t,
            &[
                (r#"{"verb":"click","target":"text=Press","holdMs":3500}"#, "changed +content"),
                ("js o.textContent", r#""long click""#),
                (r#"{"verb":"click","target":"text=Press"}"#, "changed +content"),
                ("js o.textContent", r#""short click""#),
                (
                    r#"{"verb":"click","target":"text=Press","holdMs":90000}"#,
                    "command.invalid held",
                ),
                (
                    r#"{"verb":"click","target":"text=Press","holdMs":10,"count":2}"#,
                    "command.invalid",
                ),
            ],
        )
        .await;
    });
}

#[test]
fn mouse_moves_presses_and_releases_stepwise() {
    browser_test(async |t| {
        t.page(
            "/",
            "<!doctype html><body style='margin:0;height:3000px'><div id=c style='width:400px;height:300px;background:#eee'>Canvas</div>
             <div id=d draggable=true style='width:60px;height:30px;background:red'>Card</div><div id=z style='width:200px;height:80px;background:#ccc'>Zone</div><script>
             let log = []; const note = (e) => log.push([e.type, e.clientX, e.clientY, e.buttons].join(' '));
             for (const name of ['mousedown', 'mousemove', 'mouseup', 'wheel']) c.addEventListener(name, note);
             d.ondragstart = (e) => e.dataTransfer.setData('text', 'card');
             z.ondragover = (e) => e.preventDefault();
             z.ondrop = (e) => { e.preventDefault(); z.textContent = e.dataTransfer.getData('text'); }</script>",
        );
        t.open("/").await;
        run_steps(
            &t,
            &[
                (r#"{"verb":"mouse","action":"down"}"#, "command.invalid no position"),
                (r#"{"verb":"mouse","action":"up"}"#, "command.invalid no mouse button"),
                (r#"{"verb":"mouse","action":"move","target":"xy=20,30"}"#, "none|changed"),
                (r#"{"verb":"mouse","action":"down"}"#, "none|changed"),
                (r#"{"verb":"mouse","action":"down"}"#, "command.invalid down already"),
                (r#"{"verb":"mouse","action":"move","target":"xy=120,130"}"#, "none|changed"),
                (r#"{"verb":"mouse","action":"up"}"#, "none|changed"),
                ("js log.join(', ')", r#""mousemove 20 30 0, mousedown 20 30 1, mousemove 120 130 1, mouseup 120 130 0""#),
                (r#"{"verb":"mouse","action":"down","target":"css=#d"}"#, "none|changed"),
                (r#"{"verb":"mouse","action":"move","target":"xy=60,345"}"#, "none|changed"),
                (r#"{"verb":"mouse","action":"move","target":"css=#z"}"#, "none|changed"),
                (r#"{"verb":"mouse","action":"up"}"#, "changed +content"),
                ("js z.textContent", r#""card""#),
                // A pressed button is released before any other mouse action.
                ("js log = []; 1", "1"),
                (r#"{"verb":"mouse","action":"down","target":"xy=20,30"}"#, "none|changed"),
                (r#"{"verb":"click","target":"xy=50,50"}"#, "none note:button-released|changed note:button-released"),
                ("js log.filter((it) => /down|up/.test(it)).join(', ')", r#""mousedown 20 30 1, mouseup 20 30 0, mousedown 50 50 1, mouseup 50 50 0""#),
                (r#"{"verb":"mouse","action":"wheel","deltaY":200}"#, "changed +scroll"),
                ("js new Promise((go) => { const look = () => scrollY === 200 ? go(1) : requestAnimationFrame(look); look() })", "1"),
            ],
        )
        .await;
    });
}

#[test]
fn type_without_target_goes_to_focused_element() {
    browser_test(async |t| {
        t.page("/inner", "<!doctype html><input id=i aria-label=Inner>");
        t.page(
            "/",
            format!(
                "<!doctype html><input id=a aria-label=Name value=ab><button id=b>Go</button><div id=h></div>
                 <iframe id=f src='{}'></iframe><input id=r readonly><script>
                 const root = h.attachShadow({{ mode: 'closed' }}); root.innerHTML = '<textarea></textarea>'</script>",
                t.url("/inner")
            ),
        );
        t.open("/").await;
        let typed = r#"{"verb":"type","text":"xy"}"#;
        run_steps(
            &t,
            &[
                (typed, "act.not-editable the focused element is not editable"),
                ("js b.focus(), 1", "1"),
                (typed, "act.not-editable button"),
                ("js r.focus(), 1", "1"),
                (typed, "act.not-editable"),
                // Where the caret is.
                ("js a.focus(), a.setSelectionRange(1, 1), 1", "1"),
                (typed, "changed +value"),
                ("js a.value", r#""axyb""#),
                ("js root.firstChild.focus(), 1", "1"),
                (typed, "changed +value"),
                ("js root.firstChild.value", r#""xy""#),
                ("js f.focus(), f.contentWindow.i.focus(), 1", "1"),
                (typed, "changed +value"),
                ("js f.contentWindow.i.value", r#""xy""#),
            ],
        )
        .await;
    });
}

#[test]
fn scroll_reaches_every_edge() {
    browser_test(async |t| {
        t.page(
            "/",
            "<!doctype html><body style='margin:0;width:4000px;height:3000px'><div id=s dir=rtl style='width:200px;height:100px;overflow:auto'>
             <div style='width:900px;height:700px'>Inside</div></div></body>",
        );
        t.open("/").await;
        let is_at = "js [scrollX === document.documentElement.scrollWidth - innerWidth || scrollX, scrollY === document.documentElement.scrollHeight - innerHeight || scrollY].join()";
        let inside = "js [s.scrollLeft, s.scrollTop].join()";
        run_steps(
            &t,
            &[
                (r#"{"verb":"scroll","to":"right"}"#, "changed +scroll"),
                (r#"{"verb":"scroll","to":"bottom"}"#, "changed +scroll"),
                (is_at, r#""true,true""#),
                (r#"{"verb":"scroll","to":"left"}"#, "changed +scroll"),
                (r#"{"verb":"scroll","to":"top"}"#, "changed +scroll"),
                (is_at, r#""0,0""#),
                (r#"{"verb":"scroll","target":"css=#s","to":"bottom"}"#, "changed +scroll"),
                (r#"{"verb":"scroll","target":"text=Inside","to":"left"}"#, "changed +scroll"),
                ("js s.scrollTop === s.scrollHeight - s.clientHeight && s.scrollLeft === s.clientWidth - s.scrollWidth", "true"),
                (r#"{"verb":"scroll","target":"css=#s","to":"right"}"#, "changed +scroll"),
                (r#"{"verb":"scroll","target":"css=#s","to":"top"}"#, "changed +scroll"),
                (inside, r#""0,0""#),
                (r#"{"verb":"scroll","to":"top","way":"down"}"#, "command.invalid"),
            ],
        )
        .await;
    });
}
