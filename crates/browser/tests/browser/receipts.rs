//! Receipts are accurate: every effect of an action is reported, wherever it happens; self-mutation is not.
//!
//! Each effect is tried on a quiet page and on one that changes all the time, with the first click after the
//! page was opened. The expected effect is known by construction.

use crate::harness::{Route, TestContext, browser_test, open};
use crate::probes::{describe, matches_outcome};
use agbrowse_browser::command::{Open, Receipt, Until};
use agbrowse_browser::{Command, Error, Outcome, Reply};
use futures_util::StreamExt;
use std::fmt::Write as _;
use tokio::net::TcpListener;

/// An effect that a click causes.
struct EffectCase {
    name: &'static str,
    /// Other markup of the page.
    body: &'static str,
    /// The click listener.
    listener: &'static str,
    /// The effect and its details.
    expected: &'static str,
}

const fn effect_case(
    name: &'static str,
    body: &'static str,
    listener: &'static str,
    expected: &'static str,
) -> EffectCase {
    EffectCase { name, body, listener, expected }
}

/// `OTHER` is the address of a cross-site page in a process of its own; `SOCKET` is the address of a
/// WebSocket that accepts everything.
#[rustfmt::skip]
const EFFECTS: &[EffectCase] = &[
    effect_case("nothing", "", "", "none"),
    effect_case("nothing, with a listener", "", "window.x = 1", "none"),
    effect_case("a text", "", "out.textContent = 'x'", "changed +content"),
    effect_case("a text after a promise", "", "Promise.resolve().then(() => out.textContent = 'x')", "changed +content"),
    effect_case("a text after a timer of 150 ms", "", "setTimeout(() => out.textContent = 'x', 150)", "changed +content"),
    effect_case("a text after a timer of 300 ms", "", "setTimeout(() => out.textContent = 'x', 300)", "changed +content"),
    effect_case("a text after timers in a row", "", "setTimeout(() => setTimeout(() => out.textContent = 'x', 200), 200)", "changed +content"),
    effect_case("a text after some animation frames", "", "let n = 0; const f = () => ++n < 12 ? requestAnimationFrame(f) : out.textContent = 'x'; f()", "changed +content"),
    effect_case("a same-site frame", "<iframe id=f srcdoc='<p>inside'></iframe>", "f.contentDocument.body.append('x')", "changed +frame"),
    effect_case("a cross-site frame", "<iframe id=f src='OTHER/listener'></iframe>", "f.contentWindow.postMessage('x', '*')", "changed +frame"),
    effect_case("a cross-site frame, later", "<iframe id=f src='OTHER/listener'></iframe>", "setTimeout(() => f.contentWindow.postMessage('x', '*'), 250)", "changed +frame"),
    effect_case("local storage", "", "localStorage.x = Math.random()", "changed +storage"),
    effect_case("session storage, later", "", "setTimeout(() => sessionStorage.x = Math.random(), 200)", "changed +storage"),
    effect_case("a cookie", "", "document.cookie = 'x=' + Math.random()", "changed +storage"),
    effect_case("a cookie, later", "", "setTimeout(() => document.cookie = 'x=' + Math.random(), 200)", "changed +storage"),
    effect_case("a database", "<script>indexedDB.open('d').onupgradeneeded = (e) => e.target.result.createObjectStore('s')</script>",
        "indexedDB.open('d').onsuccess = (e) => e.target.result.transaction('s', 'readwrite').objectStore('s').put(Math.random(), 1)", "changed +storage"),
    effect_case("a WebSocket", "", "window.s = new WebSocket('SOCKET')", "changed +socket"),
    effect_case("a WebSocket message", "<script>window.s = new WebSocket('SOCKET')</script>", "s.send('x')", "changed +socket"),
    effect_case("a beacon", "", "navigator.sendBeacon('/beacon', 'x')", "changed +requests"),
    effect_case("a request", "", "fetch('/data')", "changed +requests"),
    effect_case("a request, later", "", "setTimeout(() => fetch('/data'), 250)", "changed +requests"),
    effect_case("a message of a worker", "<script>const w = new Worker(URL.createObjectURL(new Blob(['onmessage = () => setTimeout(() => postMessage(1), 200)']))); w.onmessage = () => out.textContent = 'x'</script>",
        "w.postMessage(1)", "changed +content"),
    effect_case("a request of a worker", "<script>const w = new Worker(URL.createObjectURL(new Blob(['onmessage = (e) => fetch(e.data)'])))</script>",
        "w.postMessage(location.origin + '/data')", "changed +requests"),
    effect_case("a worker", "", "new Worker(URL.createObjectURL(new Blob(['1'])))", "changed +worker"),
    effect_case("a canvas", "<canvas id=c width=200 height=100></canvas>", "c.getContext('2d').fillRect(3, 4, 5, 6)", "changed +canvas"),
    effect_case("a canvas, later", "<canvas id=c width=200 height=100></canvas>", "setTimeout(() => c.getContext('2d').fillRect(3, 4, 5, 6), 200)", "changed +canvas"),
    effect_case("a media element", "<audio id=a controls></audio>", "a.muted = true", "changed +media"),
    effect_case("scrolling inside a shadow tree", "<div id=host></div><script>const root = host.attachShadow({ mode: 'open' }); root.innerHTML = '<div style=\"height:50px;overflow:auto\"><p style=\"height:500px\">long</p></div>'</script>",
        "root.firstChild.scrollTop = 40", "changed +scroll"),
    effect_case("an event inside a shadow tree", "<div id=host></div><script>const root = host.attachShadow({ mode: 'open' }); root.innerHTML = '<input type=checkbox aria-label=x>'</script>",
        "root.firstChild.checked = true; root.firstChild.dispatchEvent(new Event('change'))", "changed +value"),
];

/// Self-mutations of a page.
const SELF_MUTATIONS: &[(&str, &str)] = &[
    (
        "counting",
        "<p id=self1>0</p><p id=self2>0</p><script>setInterval(() => self1.textContent = +self1.textContent + 1, 1000); \
         setInterval(() => self2.textContent = +self2.textContent + 1, 90)</script>",
    ),
    (
        "busy",
        "<div id=self1 style='width:9px;height:9px;background:red'></div><ul id=self2></ul><script>var beats = 0; \
         const move = (at) => { self1.style.marginLeft = at / 20 % 100 + 'px'; requestAnimationFrame(move) }; move(0); \
         setInterval(() => { self2.append(document.createElement('li')); if (self2.children.length > 5) self2.firstChild.remove() }, 300); \
         setInterval(() => { localStorage.beat = Date.now(); document.cookie = 'beat=' + Date.now(); fetch('/beat'); beats++ }, 200)</script>",
    ),
];

fn receipt(outcome: Result<Outcome, Error>) -> Receipt {
    match outcome {
        Ok(Outcome {
            reply: Reply::Click(it) | Reply::Press(it) | Reply::Download(it), ..
        }) => it,
        other => panic!("no receipt: {other:?}"),
    }
}

fn command(json: &str) -> Command {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

async fn click(t: &TestContext, target: &str) -> Result<Outcome, Error> {
    t.run(command(&format!(r#"{{"verb":"click","target":"{target}"}}"#))).await
}

/// The address of a WebSocket that sends nothing.
async fn socket() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
                while let Some(Ok(_)) = socket.next().await {}
            });
        }
    });
    format!("ws://127.0.0.1:{port}/")
}

/// Checks every effect on one of these self-mutating pages.
fn check_all_on(pages: &'static [(&str, &str)]) {
    browser_test(async |t| {
        let socket = socket().await;
        t.page(
            "/listener",
            "<p id=p>waits<script>onmessage = (e) => p.textContent = e.data</script>",
        );
        let only = std::env::var("AGBROWSE_PROBE").ok();
        let mut wrong = String::new();
        for (it, (name, itself)) in EFFECTS.iter().zip(pages.iter().cycle()) {
            if only.as_ref().is_some_and(|only| !it.name.contains(only)) {
                continue;
            }
            let button = match it.listener {
                "" => "<button>Go</button>".to_owned(),
                script => format!(
                    "<button id=go>Go</button><script>go.onclick = () => {{ {script} }}</script>"
                ),
            };
            let body = it.body.replace("OTHER", t.other_url("").trim_end_matches('/'));
            let html = format!("<!doctype html><p id=out>out</p>{body}{itself}{button}");
            t.page("/page", html.replace("SOCKET", &socket));
            t.open("/page").await;
            // Preparing scripts are done.
            if it.body.contains("WebSocket") {
                t.wait_until("s.readyState === 1").await;
            }
            if it.body.contains("indexedDB") {
                t.wait_until("new Promise((go) => indexedDB.open('d').onsuccess = (e) => go(e.target.result.objectStoreNames.length === 1))").await;
            }
            if itself.contains("beat") {
                t.wait_until("window.beats > 3").await;
            }
            let outcome = click(&t, "text=Go").await;
            // On a self-mutating page its own change may come first and be all that is reported.
            let expected = if itself.is_empty() {
                it.expected
            } else {
                it.expected.split(' ').next().unwrap()
            };
            if !matches_outcome(expected, &outcome) {
                let _ = writeln!(
                    wrong,
                    "{} on a {name} page: expected `{expected}`, got {}",
                    it.name,
                    describe(&outcome)
                );
            }
        }
        assert!(wrong.is_empty(), "\n{wrong}");
    });
}

#[test]
fn every_effect_is_reported_on_quiet_page() {
    check_all_on(&[("quiet", "")]);
}

#[test]
fn every_effect_is_reported_on_self_mutating_page() {
    check_all_on(SELF_MUTATIONS);
}

#[test]
fn self_mutation_is_not_an_effect() {
    // Each page is clicked right after it was opened and, with a click listener, again after a second.
    let pages = [
        "<p id=p></p><script>setInterval(() => p.textContent = Date.now(), 1000)</script>",
        "<p id=p></p><script>setInterval(() => p.textContent = Date.now(), 250)</script>",
        "<p id=p></p><script>const f = () => { p.textContent = Date.now(); requestAnimationFrame(f) }; f()</script>",
        "<p id=p></p><script>setTimeout(() => p.textContent = 'late', 500)</script>",
        "<ul id=p></ul><script>setInterval(() => p.innerHTML = '<li>' + Date.now(), 400)</script>",
        "<p id=p></p><script>setInterval(() => document.body.append(new Date()), 300)</script>",
        "<p id=p></p><script>setInterval(() => { p.className = p.className ? '' : 'x' }, 350)</script>",
        "<div id=p style='overflow:auto;height:40px'><p style='height:4000px'>long</div><script>setInterval(() => p.scrollTop++, 150)</script>",
        "<p>x</p><script>var beats = 0; setInterval(() => { localStorage.x = Date.now(); beats++ }, 150)</script>",
        "<p>x</p><script>var beats = 0; setInterval(() => { fetch('/poll?' + Date.now()); beats++ }, 170)</script>",
        "<canvas id=c></canvas><script>const g = c.getContext('2d'); const f = (at) => { g.clearRect(0, 0, 300, 150); g.fillRect(at / 9 % 200, 9, 9, 9); requestAnimationFrame(f) }; f(0)</script>",
        "<iframe srcdoc='<p id=p></p><script>setInterval(() => p.textContent = Date.now(), 120)</script>'></iframe>",
    ];
    browser_test(async |t| {
        let mut wrong = String::new();
        let dead = r#"{"verb":"click","target":"text=Dead","settleMs":300}"#;
        let beat = "<script>var ticks = setInterval(() => window.beats = (window.beats || 0) + 1, 250)</script>";
        for html in pages {
            // Without a click listener, and with a delegated listener, as frameworks install.
            for listener in ["", "<script>addEventListener('click', () => 0)</script>"] {
                t.page(
                    "/itself",
                    format!(
                        "<!doctype html><button>Dead</button>{listener}{html}{}",
                        if html.contains("beats") { "" } else { beat }
                    ),
                );
                t.open("/itself").await;
                // The first tick of a clock may fall into the observation: a delegated listener may have caused it.
                if html.contains("beats") || !listener.is_empty() {
                    t.wait_until("window.beats > 3").await;
                }
                let outcome = receipt(t.run(command(dead)).await);
                if outcome.effect.as_str() != "none" {
                    let _ = writeln!(wrong, "{listener}{html}: {outcome}");
                }
            }
        }
        assert!(wrong.is_empty(), "\n{wrong}");
    });
}

#[test]
fn no_effect_states_observation_time() {
    browser_test(async |t| {
        t.page("/dead", "<button>Dead</button>");
        t.open("/dead").await;
        let outcome = receipt(click(&t, "text=Dead").await);
        assert_eq!((outcome.effect.as_str(), outcome.watched_ms), ("none", Some(600)), "{outcome}");
        assert!(outcome.to_string().contains(": no effect seen in 600 ms"), "{outcome}");
        let brief = r#"{"verb":"click","target":"text=Dead","settleMs":200}"#;
        let outcome = receipt(t.run(command(brief)).await);
        assert!(outcome.watched_ms.is_some_and(|ms| ms <= 200), "{outcome}");
    });
}

#[test]
fn change_in_another_tab_is_an_effect() {
    browser_test(async |t| {
        t.page("/other", "<p id=p>waits<script>new BroadcastChannel('c').onmessage = (e) => p.textContent = e.data</script>");
        t.page("/one", "<button onclick=\"new BroadcastChannel('c').postMessage('x')\">Tell</button><button>Dead</button>");
        t.open("/one").await;
        let other = Open { url: t.url("/other"), until: Until::Load, new_tab: true };
        t.run(Command::Open(other)).await.unwrap();
        let first = t.tabs().await[0].id;
        let on_first = async |target: &str| {
            let click = format!(r#"{{"verb":"click","target":"{target}"}}"#);
            t.run_on(first, command(&click)).await
        };
        let outcome = on_first("text=Tell").await;
        assert!(matches_outcome("changed +other-tab", &outcome), "{}", describe(&outcome));
        let outcome = on_first("text=Dead").await;
        assert!(matches_outcome("none", &outcome), "{}", describe(&outcome));
    });
}

#[test]
fn form_validation_failure_is_blocked_and_names_field() {
    let cases = [
        (
            "<form><label>E-mail <input required></label><button>Send</button></form>",
            "text=Send",
            "blocked: \"E-mail\" is required: \"",
        ),
        (
            "<form><label>E-mail <input type=email value=x></label><button>Send</button></form>",
            "text=Send",
            "blocked: \"E-mail\" is not of its type: \"",
        ),
        (
            "<form><input aria-label=Age type=number min=18 value=3><button>Send</button></form>",
            "text=Send",
            "blocked: \"Age\" is too low: \"",
        ),
        (
            "<form><input aria-label=Code pattern='[0-9]+' value=x><input aria-label=City required><button>Send</button></form>",
            "text=Send",
            "\"City\" is required",
        ),
        (
            "<form><input aria-label=Name id=i><button>Send</button></form><script>i.setCustomValidity('Taken')</script>",
            "text=Send",
            "blocked: \"Name\" is not accepted: \"Taken\"",
        ),
        // The page calls `reportValidity` itself.
        (
            "<form id=f><input aria-label=Name required><button type=button onclick='f.requestSubmit()'>Next</button></form>",
            "text=Next",
            "blocked: \"Name\" is required",
        ),
        // The invalid field is not focusable.
        (
            "<form><input aria-label=Secret required style='display:none'><button>Send</button></form>",
            "text=Send",
            "\"Secret\" is required",
        ),
    ];
    browser_test(async |t| {
        for (html, target, expected) in cases {
            t.page("/form", format!("<!doctype html>{html}"));
            t.open("/form").await;
            let outcome = receipt(click(&t, target).await);
            assert_eq!(outcome.effect.as_str(), "blocked", "{html}: {outcome}");
            assert!(outcome.to_string().contains(expected), "{html}: {outcome}");
        }
        // By the Enter key.
        t.page("/form", "<form><input aria-label=First id=i><input aria-label=Second required><button>Send</button></form>");
        t.open("/form").await;
        let press = r#"{"verb":"press","keys":["Enter"],"on":"label=First"}"#;
        let outcome = receipt(t.run(command(press)).await);
        assert!(outcome.to_string().contains("blocked: \"Second\" is required"), "{outcome}");
        // `checkValidity` alone is not blocked, and neither is a form that is submitted.
        for html in [
            "<form id=f novalidate><input required aria-label=x><button type=button onclick='o.textContent = f.checkValidity()'>Send</button></form><p id=o>",
            "<form id=f novalidate onsubmit='o.textContent = 1; return false'><input required aria-label=x><button>Send</button></form><p id=o>",
        ] {
            t.page("/form", format!("<!doctype html>{html}"));
            t.open("/form").await;
            let outcome = click(&t, "text=Send").await;
            assert!(
                matches_outcome("changed +content", &outcome),
                "{html}: {}",
                describe(&outcome)
            );
        }
    });
}

#[test]
fn click_missed_by_moving_element_is_reported() {
    browser_test(async |t| {
        let moves = "this.style.left = '300px'";
        t.page("/away", format!("<h1 id=n>0</h1><button style='position:absolute' onmousedown=\"{moves}\" onclick='n.textContent = 1'>Go</button>"));
        t.open("/away").await;
        let outcome = click(&t, "text=Go").await;
        assert!(describe(&outcome).contains("not-clicked"), "{}", describe(&outcome));
        let actual = receipt(outcome);
        assert_eq!(actual.effect.as_str(), "blocked", "{actual}");
        assert!(actual.to_string().contains("moved away"), "{actual}");
        assert_eq!(t.eval("n.textContent").await, "\"0\"");
        // Effects of the mouse press are reported all the same.
        t.page("/away", format!("<h1 id=n>0</h1><button style='position:absolute' onmousedown=\"{moves}; n.textContent = 'down'\">Go</button>"));
        t.open("/away").await;
        let outcome = click(&t, "text=Go").await;
        assert!(
            matches_outcome("changed +content note:not-clicked", &outcome),
            "{}",
            describe(&outcome)
        );
        // A button that only moves while pressed is clicked.
        t.page("/away", "<h1 id=n>0</h1><button style='position:absolute' onmousedown=\"this.style.transform = 'translateY(2px)'\" onclick='n.textContent = 1'>Go</button>");
        t.open("/away").await;
        let outcome = click(&t, "text=Go").await;
        assert!(matches_outcome("changed +content", &outcome), "{}", describe(&outcome));
        assert!(!describe(&outcome).contains("not-clicked"), "{}", describe(&outcome));
    });
}

#[test]
fn download_link_click_is_download() {
    browser_test(async |t| {
        t.serve("/file", Route::File("a.txt".into(), b"x".to_vec())).serve("/never", Route::Hang);
        let html = [
            format!("<a download href='{}'>Fast</a>", t.url("/file")),
            format!("<a download href='{}'>Slow</a>", t.url("/never")),
            format!(
                "<button onclick=\"Object.assign(document.createElement('a'), {{ href: '{}', download: '' }}).click()\">Script</button>",
                t.url("/never")
            ),
            format!("<a href='{}'>Plain</a>", t.url("/file")),
        ];
        t.page("/links", html.join(" "));
        for name in ["Fast", "Slow", "Script", "Plain"] {
            t.run(open(&t.url("/links"))).await.unwrap();
            let outcome = receipt(click(&t, &format!("text={name}")).await);
            assert_eq!(outcome.effect.as_str(), "download", "{name}: {outcome}");
        }
    });
}
