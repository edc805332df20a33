//! Browsers: launch, exit, profiles and attach.

use crate::harness::{browser_test, eval, open};
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

/// The processes whose command line contains a text.
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

async fn wait_until(description: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < limit, "{description}: not within {limit:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn killed_browser_is_detected_and_reported() {
    browser_test(async |t| {
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
        // Every command that needs the lost page fails, repeatedly.
        for _ in 0..2 {
            assert_eq!(run(&browser, eval("1")).await.unwrap_err().code(), Code::BrowserLost);
            let reload = Command::Reload(Reload::default());
            assert_eq!(run(&browser, reload).await.unwrap_err().code(), Code::BrowserLost);
        }
        let close = TabCommand { action: TabAction::Close(CloseTab { id: Some(TabId(1)) }) };
        assert_eq!(run(&browser, Command::Tab(close)).await.unwrap_err().code(), Code::BrowserLost);
        // A restart without a page does not clear the error either.
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
fn closed_or_dropped_browser_leaves_nothing() {
    browser_test(async |_| {
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
fn named_profile_persists_and_is_exclusive() {
    browser_test(async |t| {
        t.page("/", "<title>x</title>");
        let name = format!("test-{}", std::process::id());
        let options = Options { profile: Some(name.clone()), ..Options::default() };
        let first = Browser::new(options.clone());
        run(&first, open(&t.url("/"))).await.unwrap();
        run(&first, eval("localStorage.stored = 'yes'")).await.unwrap();
        let second = Browser::new(options.clone());
        assert_eq!(run(&second, eval("1")).await.unwrap_err().code(), Code::ProfileLocked);
        first.close().await;
        run(&second, open(&t.url("/"))).await.unwrap();
        let stored = run(&second, eval("localStorage.stored")).await.unwrap();
        assert_eq!(stored.reply.to_string(), "yes");
        second.close().await;
        std::fs::remove_dir_all(agbrowse_browser::launch::profiles_dir().join(name)).unwrap();
    });
}

/// A browser started outside of the program. It is killed on drop.
pub struct ExternalBrowser {
    process: std::process::Child,
    _profile: tempfile::TempDir,
    pub port: String,
}

impl Drop for ExternalBrowser {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Starts a browser with a debugging port.
pub async fn start_external_browser(url: &str) -> ExternalBrowser {
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
    ExternalBrowser { process, _profile: profile, port }
}

#[test]
fn attached_browser_is_never_terminated() {
    browser_test(async |t| {
        t.page("/", "<title>theirs</title>");
        let mut browser_of_theirs = start_external_browser(&t.url("/")).await;
        let (process, port) = (&mut browser_of_theirs.process, browser_of_theirs.port.clone());

        for address in
            [port.clone(), format!("http://127.0.0.1:{port}"), format!("127.0.0.1:{port}/")]
        {
            let browser = Browser::new(Options { cdp: Some(address), ..Options::default() });
            // A new tab: existing tabs are listed, but never used unless named.
            run(&browser, open(&t.url("/?mine"))).await.unwrap();
            let Reply::Tabs(list) =
                run(&browser, Command::Tabs(Default::default())).await.unwrap().reply
            else {
                panic!("no tabs")
            };
            assert!(list.tabs.iter().any(|tab| !tab.current && tab.url == t.url("/")), "{list:?}");
            browser.close().await;
            assert_eq!(process.try_wait().unwrap(), None, "still running");
        }
        let url = agbrowse_browser::launch::discover(
            &port,
            agbrowse_browser::Deadline::after(Duration::from_secs(5)),
        )
        .await
        .unwrap();
        let dropped = Browser::new(Options { cdp: Some(url), ..Options::default() });
        run(&dropped, eval("1")).await.unwrap();
        kill(process.id());
        process.wait().unwrap();
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
fn attach_to_non_browser_is_refused() {
    browser_test(async |t| {
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

/// A browser that never responds. It writes its process id to a file beside it.
fn hanging_browser(folder: &Path) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let script = folder.join("hangs.sh");
    std::fs::write(&script, "#!/bin/sh\necho $$ >\"$0.pid\"\nexec sleep 300\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script
}

#[test]
fn browser_hanging_at_launch_can_be_closed() {
    browser_test(async |_| {
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
fn command_interrupted_by_close_reports_it() {
    browser_test(async |_| {
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
fn different_launch_options_are_refused_while_running() {
    browser_test(async |_| {
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
    browser_test(async |_| {
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
fn concurrent_first_commands_start_one_browser() {
    browser_test(async |_| {
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
fn concurrent_new_tabs_are_separate_tabs() {
    browser_test(async |_| {
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
