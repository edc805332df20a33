//! Browsers of their own: how they start, how they end, who may end them.

use crate::harness::{bench, eval, open};
use agbrowse_browser::command::{
    Close, CloseTab, NewTab, Reload, Status, TabAction, TabCommand, Tabs,
};
use agbrowse_browser::launch::{LaunchOverrides, Options, find};
use agbrowse_browser::{Browser, Code, Command, Outcome, Reply, Request, TabId};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

async fn run(browser: &Browser, command: Command) -> Result<Outcome, agbrowse_browser::Error> {
    browser.run(Request::new(command)).await
}

pub async fn pid(browser: &Browser) -> u32 {
    match run(browser, Command::Status(Status {})).await.unwrap().reply {
        Reply::Status(status) => status.browser.expect("a browser").pid.expect("a process"),
        other => panic!("{other:?}"),
    }
}

pub fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// The processes whose command line names something.
fn processes_naming(part: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            std::fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(part))
        })
        .collect()
}

async fn wait_until(what: &str, limit: Duration, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < limit, "{what}: not within {limit:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn a_killed_browser_is_noticed_and_never_replaced_in_silence() {
    bench(async |t| {
        t.page("/", "<title>here</title>");
        let browser = Browser::new(Options::default());
        run(&browser, open(&t.url("/"))).await.unwrap();
        let held = run(&browser, eval("new Promise(() => {})"));
        let killed = async {
            let pid = pid(&browser).await;
            kill(pid);
        };
        let (held, ()) = tokio::join!(held, killed);
        let error = held.unwrap_err();
        assert_eq!(error.code(), Code::BrowserLost);
        assert!(error.to_string().contains("signal 9"), "{error}");
        // Whoever needs the page that was there is told so, as often as it asks.
        for _ in 0..2 {
            assert_eq!(run(&browser, eval("1")).await.unwrap_err().code(), Code::BrowserLost);
            let reload = Command::Reload(Reload::default());
            assert_eq!(run(&browser, reload).await.unwrap_err().code(), Code::BrowserLost);
        }
        let close = TabCommand { action: TabAction::Close(CloseTab { id: Some(TabId(1)) }) };
        assert_eq!(run(&browser, Command::Tab(close)).await.unwrap_err().code(), Code::BrowserLost);
        // A browser that comes up for nobody does not make it forgotten either.
        let hasty = Request { timeout_ms: Some(1), ..Request::new(eval("1")) };
        assert_eq!(browser.run(hasty).await.unwrap_err().code(), Code::BrowserLost);
        let (opened, other) =
            tokio::join!(run(&browser, open(&t.url("/"))), run(&browser, eval("1")));
        assert_eq!(other.unwrap_err().code(), Code::BrowserLost);
        let outcome = opened.unwrap();
        assert!(outcome.notes.iter().any(|note| note.code == "restarted"), "{:?}", outcome.notes);
        assert_ne!(outcome.tab, Some(TabId(1)), "numbers are not used again");
        assert!(run(&browser, eval("1")).await.is_ok());
        browser.close().await;
    });
}

#[test]
fn nothing_is_left_of_a_closed_or_dropped_browser() {
    bench(async |_| {
        for drop_it in [false, true] {
            let mark = format!("--agbrowse-test-mark={}-{drop_it}", std::process::id());
            let browser = Browser::new(Options { args: vec![mark.clone()], ..Options::default() });
            run(&browser, eval("1")).await.unwrap();
            let all = processes_naming(&mark);
            assert!(!all.is_empty());
            let line = std::fs::read(format!("/proc/{}/cmdline", pid(&browser).await)).unwrap();
            let line = String::from_utf8_lossy(&line).into_owned();
            let profile =
                line.split('\0').find_map(|arg| arg.strip_prefix("--user-data-dir=")).unwrap();
            if drop_it {
                drop(browser);
            } else {
                browser.close().await;
            }
            wait_until("processes gone", Duration::from_secs(20), || {
                processes_naming(&mark).is_empty()
            })
            .await;
            wait_until("profile gone", Duration::from_secs(20), || !Path::new(profile).exists())
                .await;
        }
    });
}

#[test]
fn a_named_profile_is_kept_and_has_one_user() {
    bench(async |t| {
        t.page("/", "<title>x</title>");
        let name = format!("test-{}", std::process::id());
        let options = Options { profile: Some(name.clone()), ..Options::default() };
        let first = Browser::new(options.clone());
        run(&first, open(&t.url("/"))).await.unwrap();
        run(&first, eval("localStorage.kept = 'yes'")).await.unwrap();
        let second = Browser::new(options.clone());
        assert_eq!(run(&second, eval("1")).await.unwrap_err().code(), Code::ProfileLocked);
        first.close().await;
        run(&second, open(&t.url("/"))).await.unwrap();
        let kept = run(&second, eval("localStorage.kept")).await.unwrap();
        assert_eq!(kept.reply.to_string(), "yes");
        second.close().await;
        std::fs::remove_dir_all(agbrowse_browser::launch::profiles_dir().join(name)).unwrap();
    });
}

/// A browser that somebody else started. It ends when this is dropped.
pub struct TheirBrowser {
    process: std::process::Child,
    _profile: tempfile::TempDir,
    pub port: String,
}

impl Drop for TheirBrowser {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Starts a browser with a debugging port, as somebody else would.
pub async fn their_browser(url: &str) -> TheirBrowser {
    let profile = tempfile::tempdir().unwrap();
    let found = find(&Default::default()).unwrap();
    let process = std::process::Command::new(found.path)
        .args(["--headless=new", "--remote-debugging-port=0", "--no-first-run", "--no-sandbox"])
        .args(["--disable-gpu", "--disable-background-networking", "--disable-component-update"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(url)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let active = profile.path().join("DevToolsActivePort");
    let mut port = String::new();
    wait_until("its port", Duration::from_secs(60), || {
        let written = std::fs::read_to_string(&active).unwrap_or_default();
        port = written.lines().next().unwrap_or_default().to_owned();
        !port.is_empty()
    })
    .await;
    TheirBrowser { process, _profile: profile, port }
}

#[test]
fn an_attached_browser_is_never_ended() {
    bench(async |t| {
        t.page("/", "<title>theirs</title>");
        let mut browser_of_theirs = their_browser(&t.url("/")).await;
        let (theirs, port) = (&mut browser_of_theirs.process, browser_of_theirs.port.clone());

        for address in
            [port.clone(), format!("http://127.0.0.1:{port}"), format!("127.0.0.1:{port}/")]
        {
            let browser = Browser::new(Options { cdp: Some(address), ..Options::default() });
            // Its own tab: theirs is listed, but never taken without being named.
            run(&browser, open(&t.url("/?mine"))).await.unwrap();
            let Reply::Tabs(list) =
                run(&browser, Command::Tabs(Default::default())).await.unwrap().reply
            else {
                panic!("no tabs")
            };
            assert!(list.tabs.iter().any(|tab| !tab.current && tab.url == t.url("/")), "{list:?}");
            browser.close().await;
            assert_eq!(theirs.try_wait().unwrap(), None, "still running");
        }
        let url = agbrowse_browser::launch::discover(
            &port,
            agbrowse_browser::Deadline::after(Duration::from_secs(5)),
        )
        .await
        .unwrap();
        let dropped = Browser::new(Options { cdp: Some(url), ..Options::default() });
        run(&dropped, eval("1")).await.unwrap();
        kill(theirs.id());
        theirs.wait().unwrap();
        let error = loop {
            match run(&dropped, eval("1")).await {
                Ok(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                Err(error) => break error,
            }
        };
        assert_eq!(error.code(), Code::BrowserLost);
        assert_eq!(
            run(&dropped, open("about:blank")).await.unwrap_err().code(),
            Code::CdpUnreachable
        );
    });
}

#[test]
fn what_is_no_browser_is_said_to_be_none() {
    bench(async |t| {
        let attach =
            |address: String| Browser::new(Options { cdp: Some(address), ..Options::default() });
        let here = t.url("/").split("/test").next().unwrap().to_owned();
        for address in
            [here, "http://127.0.0.1:9".into(), "ws://127.0.0.1:9/x".into(), "https://x".into()]
        {
            let error = run(&attach(address.clone()), eval("1")).await.unwrap_err();
            assert_eq!(error.code(), Code::CdpUnreachable, "{address}: {error}");
        }
        let no_browser = Options { chrome: Some("/bin/false".into()), ..Options::default() };
        let error = run(&Browser::new(no_browser), eval("1")).await.unwrap_err();
        assert_eq!(error.code(), Code::BrowserLaunchFailed, "{error}");
        let no_file = Options { chrome: Some("/nonexistent".into()), ..Options::default() };
        assert_eq!(
            run(&Browser::new(no_file), eval("1")).await.unwrap_err().code(),
            Code::BrowserNotFound
        );
    });
}

/// A browser that is started and never answers. It leaves its number in a file beside it.
fn hanging_browser(folder: &Path) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let script = folder.join("hangs.sh");
    std::fs::write(&script, "#!/bin/sh\necho $$ >\"$0.pid\"\nexec sleep 300\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script
}

#[test]
fn a_browser_that_hangs_at_its_start_can_be_closed() {
    bench(async |_| {
        let folder = tempfile::tempdir().unwrap();
        let chrome = hanging_browser(folder.path());
        let number = chrome.with_extension("sh.pid");
        let browser = Browser::new(Options { chrome: Some(chrome), ..Options::default() });
        let waiting = run(&browser, eval("1"));
        let closing = async {
            wait_until("it is started", Duration::from_secs(60), || {
                std::fs::read_to_string(&number).is_ok_and(|text| text.ends_with('\n'))
            })
            .await;
            let status = run(&browser, Command::Status(Status {})).await.unwrap();
            assert!(status.reply.to_string().starts_with("starting:"), "{}", status.reply);
            let began = Instant::now();
            let closed = run(&browser, Command::Close(Close {})).await.unwrap();
            assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
            assert_eq!(closed.reply.to_string(), "canceled the start of the browser");
            let pid = std::fs::read_to_string(&number).unwrap();
            assert!(!Path::new("/proc").join(pid.trim()).exists(), "it is gone");
        };
        let (waited, ()) = tokio::join!(waiting, closing);
        let error = waited.unwrap_err();
        assert_eq!(error.code(), Code::BrowserLost, "{error}");
        assert!(error.to_string().contains("closed by another command"), "{error}");
        let status = run(&browser, Command::Status(Status {})).await.unwrap();
        assert!(status.reply.to_string().starts_with("idle:"), "{}", status.reply);
    });
}

#[test]
fn a_command_that_a_close_cuts_off_says_so() {
    bench(async |_| {
        let browser = Browser::new(Options::default());
        run(&browser, eval("1")).await.unwrap();
        for by_command in [true, false] {
            let held = run(&browser, eval("new Promise(() => {})"));
            let closing = async {
                if by_command {
                    run(&browser, Command::Close(Close {})).await.unwrap();
                } else {
                    browser.close().await;
                }
            };
            let (held, ()) = tokio::join!(held, closing);
            let error = held.unwrap_err();
            assert_eq!(error.code(), Code::BrowserLost, "{error}");
            let closer = if by_command { "`close`" } else { "its owner" };
            assert!(error.to_string().contains(closer), "{error}");
        }
    });
}

#[test]
fn other_options_are_refused_while_it_runs() {
    bench(async |_| {
        let browser = Browser::new(Options::default());
        let wide = LaunchOverrides { viewport: Some((800, 600)), ..LaunchOverrides::default() };
        let headed = LaunchOverrides { headed: Some(true), ..LaunchOverrides::default() };
        let size = || Request::new(eval("innerWidth + 'x' + innerHeight"));
        let first = browser.run_with(size(), &wide).await.unwrap();
        assert_eq!(first.reply.to_string(), "800x600");
        for overrides in [&wide, &LaunchOverrides::default()] {
            browser.run_with(size(), overrides).await.unwrap();
        }
        let error = browser.run_with(size(), &headed).await.unwrap_err();
        assert_eq!(error.code(), Code::BrowserOptionsConflict);
        assert!(error.to_string().contains("--headed"), "{error}");
        // What needs no browser with these options is done.
        let tabs = || Request::new(Command::Tabs(Tabs {}));
        browser.run_with(tabs(), &headed).await.unwrap();
        browser.close().await;
    });
}

#[test]
fn options_change_only_when_a_browser_is_started_with_them() {
    bench(async |_| {
        let browser = Browser::new(Options::default());
        let wide = LaunchOverrides { viewport: Some((800, 600)), ..LaunchOverrides::default() };
        let tabs = || Request::new(Command::Tabs(Tabs {}));
        browser.run_with(tabs(), &wide).await.unwrap();
        assert_eq!(browser.options().viewport, Options::default().viewport);
        let missing = LaunchOverrides { chrome: Some("/no/such/chromium".into()), ..wide.clone() };
        browser.run_with(Request::new(eval("1")), &missing).await.unwrap_err();
        assert_eq!(browser.options().viewport, Options::default().viewport);
        browser.run_with(Request::new(eval("1")), &wide).await.unwrap();
        assert_eq!(browser.options().viewport, Some((800, 600)));
        browser.close().await;
    });
}

#[test]
fn many_first_commands_start_one_browser() {
    bench(async |_| {
        let mark = format!("--agbrowse-test-mark={}-many", std::process::id());
        let browser = Browser::new(Options { args: vec![mark], ..Options::default() });
        let all = (0..20).map(|number| run(&browser, eval(&format!("{number}"))));
        let all: Vec<_> = futures_util::future::join_all(all.collect::<Vec<_>>()).await;
        for (number, outcome) in all.into_iter().enumerate() {
            assert_eq!(outcome.unwrap().reply.to_string(), number.to_string());
        }
        assert_eq!(browser.tab_count(), 1);
        browser.close().await;
    });
}

#[test]
fn many_new_tabs_at_once_are_many_tabs() {
    bench(async |_| {
        let browser = Browser::new(Options::default());
        let new = || Command::Tab(TabCommand { action: TabAction::New(NewTab::default()) });
        let all = futures_util::future::join_all((0..5).map(|_| run(&browser, new()))).await;
        let mut ids: Vec<TabId> = all.into_iter().map(crate::harness::tab_id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 5, "{ids:?}");
        assert_eq!(browser.tab_count(), 5);
        browser.close().await;
    });
}
