//! Navigation: arrival, history, errors, timeouts and viewport.

use crate::harness::{Route, arrival, browser_test, eval, open};
use agbrowse_browser::command::{
    Back, Forward, Open, Reload, Requests, Resize, Snapshot, Until, Zoom,
};
use agbrowse_browser::{Code, Command, Phase};

#[test]
fn open_reports_final_url_title_and_status() {
    browser_test(async |t| {
        t.page("/end", "<title>The \u{1F343} end</title>");
        t.serve("/start", Route::Redirect(t.url("/end")));
        let outcome = t.open("/start").await;
        assert!(outcome.notes.is_empty(), "{:?}", outcome.notes);
        let there = arrival(outcome);
        assert_eq!(there.url, t.url("/end"));
        assert_eq!(
            (&*there.title, there.status, there.phase),
            ("The \u{1F343} end", Some(200), Phase::Loaded)
        );
    });
}

#[test]
fn http_error_status_is_not_an_error() {
    browser_test(async |t| {
        t.serve("/gone", Route::Status(410));
        assert_eq!(arrival(t.open("/gone").await).status, Some(410));
    });
}

#[test]
fn refused_connection_is_typed_error() {
    browser_test(async |t| {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = t.run(open(&format!("http://{free}/?token=secret"))).await.unwrap_err();
        assert_eq!(error.code(), Code::NavigationFailed);
        let json = serde_json::to_string(&error).unwrap();
        assert!(json.contains("ERR_CONNECTION_REFUSED") && !json.contains("secret"), "{json}");
    });
}

#[test]
fn unresponsive_server_ends_at_deadline() {
    browser_test(async |t| {
        t.serve("/never", Route::Hang).page("/ok", "<title>fine</title>");
        let error = t.run_within(300, open(&t.url("/never"))).await.unwrap_err();
        assert_eq!(error.code(), Code::NavigationTimeout);
        assert_eq!(arrival(t.open("/ok").await).title, "fine");
    });
}

#[test]
fn endlessly_loading_page_opens_with_note() {
    browser_test(async |t| {
        t.serve("/slow.png", Route::Hang);
        t.page("/x/slow", "<title>mostly</title><img src='../slow.png'>");
        let outcome = t.run_within(1500, open(&t.url("/x/slow"))).await.unwrap();
        assert_eq!(outcome.notes.last().unwrap().code, "still-loading");
        let there = arrival(outcome);
        assert_eq!((&*there.title, there.phase), ("mostly", Phase::DomReady));
        let early = Open { url: t.url("/x/slow"), until: Until::Dom, ..Open::default() };
        let outcome = t.run_within(20_000, Command::Open(early)).await.unwrap();
        assert!(outcome.notes.is_empty(), "{:?}", outcome.notes);
    });
}

#[test]
fn fragment_navigation_keeps_document() {
    browser_test(async |t| {
        t.page("/", "<title>one</title><script>window.mark = 1</script>");
        t.open("/").await;
        assert_eq!(arrival(t.run(open(&t.url("/#part"))).await.unwrap()).url, t.url("/#part"));
        assert_eq!(t.eval("window.mark").await, "1");
        let back = arrival(t.run(Command::Back(Back::default())).await.unwrap());
        assert_eq!(back.url, t.url("/"));
    });
}

#[test]
fn history_goes_back_and_forward() {
    browser_test(async |t| {
        t.page("/a", "<title>a</title>").page("/b", "<title>b</title>");
        t.open("/a").await;
        t.open("/b").await;
        for _ in 0..3 {
            let back = arrival(t.run(Command::Back(Back::default())).await.unwrap());
            assert_eq!((&*back.title, back.phase), ("a", Phase::Loaded));
            let forward = arrival(t.run(Command::Forward(Forward::default())).await.unwrap());
            assert_eq!((&*forward.title, forward.url), ("b", t.url("/b")));
        }
        let error = t.run(Command::Forward(Forward::default())).await.unwrap_err();
        assert_eq!(error.code(), Code::NavigationNoEntry);
    });
}

#[test]
fn reload_reloads_page() {
    browser_test(async |t| {
        t.page("/", "<title>one</title>");
        t.open("/").await;
        t.page("/", "<title>two</title>");
        let again = arrival(t.run(Command::Reload(Reload::default())).await.unwrap());
        assert_eq!(again.title, "two");
    });
}

#[test]
fn crashed_page_is_reported_and_reload_recovers_it() {
    browser_test(async |t| {
        t.page("/", "<title>alive</title>");
        t.open("/").await;
        assert_eq!(t.run(open("chrome://crash")).await.unwrap_err().code(), Code::TabCrashed);
        assert_eq!(t.run(eval("1")).await.unwrap_err().code(), Code::TabCrashed);
        assert!(t.tabs().await[0].crashed);
        assert_eq!(
            arrival(t.run(Command::Reload(Reload::default())).await.unwrap()).title,
            "alive"
        );
        assert_eq!(t.eval("1").await, "1");
    });
}

#[test]
fn script_redirect_is_followed() {
    browser_test(async |t| {
        t.page("/end", "<title>end</title>");
        t.page("/start", "<title>start</title><script>location.replace('end')</script>");
        let there = arrival(t.open("/start").await);
        t.wait_until("document.title === 'end' && document.readyState === 'complete'").await;
        assert!(there.url == t.url("/start") || there.url == t.url("/end"), "{}", there.url);
    });
}

#[test]
fn invalid_url_is_refused() {
    browser_test(async |t| {
        assert_eq!(t.run(open("")).await.unwrap_err().code(), Code::CommandInvalid);
        assert_eq!(t.run(open("http://")).await.unwrap_err().code(), Code::NavigationFailed);
        let foreign = t.run(open("no-such-scheme:x")).await.unwrap_err();
        assert_eq!(foreign.code(), Code::CommandInvalid);
    });
}

#[test]
fn url_flood_does_not_block_other_commands() {
    browser_test(async |t| {
        t.page("/a", "<title>a</title>");
        t.page(
            "/flood",
            "<script>n = 0; setInterval(() => { for (let i = 0; i < 100; i++) history.pushState(0, '', '?' + n++) }, 1)</script>",
        );
        t.open("/flood").await;
        let aside = Open { url: t.url("/a"), until: Until::default(), new_tab: true };
        let there = arrival(t.run(Command::Open(aside)).await.unwrap());
        assert_eq!((&*there.title, there.url), ("a", t.url("/a")));
    });
}

#[test]
fn history_update_by_page_is_not_arrival() {
    browser_test(async |t| {
        t.page("/a", "<title>a</title>");
        t.page("/b", "<title>b</title><script>n = 0; setInterval(() => history.replaceState(0, '', '?' + n++), 1)</script>");
        t.open("/a").await;
        t.open("/b").await;
        let back = arrival(t.run(Command::Back(Back::default())).await.unwrap());
        assert_eq!((&*back.title, back.url), ("a", t.url("/a")));
    });
}

#[test]
fn viewport_can_be_resized() {
    browser_test(async |t| {
        t.page("/", "<style>@media (max-width: 500px) { #wide { display: none } }</style><button id=wide>Wide</button>");
        t.open("/").await;
        let text_of = |outcome: agbrowse_browser::Outcome| outcome.reply.to_string();
        let snapshot = || Command::Snapshot(Snapshot::default());
        assert!(text_of(t.run(snapshot()).await.unwrap()).contains("Wide"));
        let resize = |width, height| Command::Resize(Resize { width, height });
        assert_eq!(text_of(t.run(resize(400, 300)).await.unwrap()), "400×300");
        assert_eq!(t.eval("innerWidth * 1000 + innerHeight").await, "400300");
        assert!(!text_of(t.run(snapshot()).await.unwrap()).contains("Wide"));
        let error = t.run(resize(0, 300)).await.unwrap_err();
        assert_eq!(error.code(), Code::CommandInvalid);
    });
}

#[test]
fn page_can_be_zoomed() {
    browser_test(async |t| {
        t.page(
            "/",
            "<meta name=viewport content='width=device-width'><button>Go</button><p id=out>",
        );
        t.open("/").await;
        let resize = |width, height| Command::Resize(Resize { width, height });
        let zoom = |factor| Command::Zoom(Zoom { factor });
        let size = "[innerWidth, innerHeight, devicePixelRatio].join()";
        t.run(resize(900, 600)).await.unwrap();
        assert_eq!(t.eval(size).await, "\"900,600,1\"");
        for (factor, width, height) in [(1.5, 600, 400), (3.0, 300, 200), (0.5, 1800, 1200)] {
            let reply = t.run(zoom(factor)).await.unwrap().reply.to_string();
            assert_eq!(reply, format!("{factor}×, {width}×{height} CSS pixels"));
            assert_eq!(t.eval(size).await, format!("\"{width},{height},{factor}\""));
            // Clicks land where the page draws.
            t.eval("document.querySelector('button').onclick = () => out.textContent += 'x'").await;
            let click = serde_json::json!({ "verb": "click", "target": "text=Go" });
            t.run(serde_json::from_value(click).unwrap()).await.unwrap();
            assert_eq!(t.eval("out.textContent").await, "\"x\"", "{factor}");
            t.open("/").await;
            assert_eq!(t.eval(size).await, format!("\"{width},{height},{factor}\""), "it stays");
        }
        t.run(zoom(1.0)).await.unwrap();
        assert_eq!(t.eval(size).await, "\"900,600,1\"");
        for wrong in [0.0, -1.0, 5.1, f64::NAN] {
            let error = t.run(zoom(wrong)).await.unwrap_err();
            assert_eq!(error.code(), Code::CommandInvalid, "{wrong}");
        }
        assert_eq!(t.eval(size).await, "\"900,600,1\"");
    });
}

#[test]
fn cancelled_navigation_stops_loading() {
    browser_test(async |t| {
        t.page("/a", "<title>a</title>");
        t.serve("/never", Route::Hang);
        t.open("/a").await;
        let going = t.run(open(&t.url("/never")));
        // Started, then dropped.
        assert!(tokio::time::timeout(std::time::Duration::from_millis(300), going).await.is_err());
        let failed = Requests { failed: true, ..Requests::default() };
        let began = std::time::Instant::now();
        loop {
            let requests = t.run(Command::Requests(failed.clone())).await.unwrap();
            if requests.reply.to_string().contains("/never") {
                break;
            }
            assert!(began.elapsed() < std::time::Duration::from_secs(20), "it goes on loading");
        }
        assert_eq!(t.eval("document.title").await, "\"a\"");
    });
}

#[test]
fn pending_navigation_is_not_reported_as_busy() {
    browser_test(async |t| {
        t.page("/here", "<a href=never>Slow</a>").serve("/never", Route::Hang);
        t.open("/here").await;
        let click = r#"{"verb":"click","target":"text=Slow","settleMs":200}"#;
        t.run(serde_json::from_str(click).unwrap()).await.unwrap();
        let error = t.run_within(500, eval("1")).await.unwrap_err();
        assert!(error.to_string().contains("on its way to"), "{error}");
        // Another navigation is still possible.
        t.open("/here").await;
        assert_eq!(t.eval("1").await, "1");
    });
}
