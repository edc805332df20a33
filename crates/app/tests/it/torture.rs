//! Torture: the long versions run under `./dev soak`, a tenth of them in every test run. Seeded; the seed
//! is printed, and `AGBROWSE_SEED` repeats a run.

use crate::sandbox::{
    CommandOutput, Home, client, has_browser, kill, number, profile_of, wait_until,
};
use agbrowse::daemon::DaemonRequest;
use browser::{Command, Request, command::Eval};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

/// The number of rounds: all under `soak`, a tenth otherwise.
pub fn rounds(all: u32) -> u32 {
    if std::env::var_os("AGBROWSE_SOAK").is_some() { all } else { (all / 10).max(1) }
}

/// Small, seeded, good enough to choose what to break next.
pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        let fresh = || {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
            u64::try_from(now.as_nanos() % u128::from(u32::MAX)).unwrap()
        };
        let seed = std::env::var("AGBROWSE_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok())
            .unwrap_or_else(fresh);
        println!("seed: {seed} (repeat with AGBROWSE_SEED={seed})");
        Self(seed | 1)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn torture_random_kills_are_recovered() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let mut random = Random::new();
    let mut counts = [0; 4];
    let all = rounds(200);
    for round in 0..all {
        let page = format!("data:text/html,<title>round {round}</title>");
        home.ok(["open", &*page]);
        let browser = home.browser_pid();
        let profile = profile_of(browser);
        let victim = random.below(4);
        counts[usize::try_from(victim).unwrap()] += 1;
        // In half of the rounds, in the middle of a command.
        let mut busy = (random.below(2) == 0 || victim == 1).then(|| {
            let endless = ["eval", "new Promise(() => {})", "--timeout", "60s", "--json"];
            let mut command = home.command(endless);
            let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            wait_until("the command is running", Duration::from_secs(60), || {
                home.ok(["tabs"]).contains("[busy]")
            });
            child
        });
        match victim {
            0 => {
                let daemon = home.daemon_pid();
                kill(daemon);
                assert_processes_gone(browser, &profile, "daemon killed");
                let error = home.error(["eval", "1"]);
                assert_eq!(error["errorCode"], "browser.lost", "{error}");
                assert!(error["message"].as_str().unwrap().contains("was killed"), "{error}");
            }
            1 => {
                kill(busy.as_ref().unwrap().id());
                assert_eq!(
                    home.ok(["eval", "document.title", "--timeout", "10s"]),
                    format!("round {round}")
                );
            }
            2 => {
                kill(browser);
                assert_processes_gone(browser, &profile, "browser killed");
                let error = home.error(["eval", "1"]);
                assert_eq!(error["errorCode"], "browser.lost", "{error}");
                assert!(error["message"].as_str().unwrap().contains("signal 9"), "{error}");
            }
            _ => {
                let renderers = Home::renderers_of(browser, &profile);
                if let Some(child) = busy.take() {
                    assert!(!renderers.is_empty());
                    renderers.iter().copied().for_each(kill);
                    let output = CommandOutput(child.wait_with_output().unwrap());
                    assert!(output.err().contains("\"tab.crashed\""), "{}", output.err());
                } else {
                    assert_eq!(home.error(["open", "chrome://crash"])["errorCode"], "tab.crashed");
                }
                wait_until("renderer died", Duration::from_secs(60), || {
                    let left = Home::renderers_of(browser, &profile);
                    !renderers.iter().any(|pid| left.contains(pid))
                });
                assert!(!home.ok(["tabs"]).contains("[busy]"), "its turn is given back");
                assert_eq!(home.error(["eval", "1"])["errorCode"], "tab.crashed");
                home.ok(["reload"]);
                assert_eq!(home.ok(["eval", "document.title"]), format!("round {round}"));
            }
        }
        if let Some(mut child) = busy {
            assert_ne!(child.wait().unwrap().code(), Some(0), "it cannot have succeeded");
        }
        let again = home.run(["open", &*page]);
        assert_eq!(again.code(), 0, "round {round}, victim {victim}: {}", again.err());
    }
    let browser = home.browser_pid();
    let profile = profile_of(browser);
    home.ok(["daemon", "stop"]);
    assert_processes_gone(browser, &profile, "daemon stopped");
    let [daemon, client, browser, renderer] = counts;
    println!(
        "{all} rounds: daemon {daemon}, client {client}, browser {browser}, renderer {renderer}"
    );
}

/// Waits until all processes of a browser have exited.
fn assert_processes_gone(browser: u32, profile: &str, what: &str) {
    wait_until(what, Duration::from_secs(20), || Home::processes_of(browser, profile).is_empty());
}

#[test]
fn torture_concurrent_clients() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    let mut random = Random::new();
    let clients = rounds(50).max(10);
    let commands = rounds(20).max(5);
    home.ok(["eval", "1"]);
    for _ in 1..4 {
        home.ok(["tab", "new"]);
    }
    let socket = home.socket("default");
    let threads: Vec<_> = (0..clients)
        .map(|number| {
            let (socket, tab) =
                (socket.clone(), browser::TabId(1 + u32::try_from(random.below(4)).unwrap()));
            std::thread::spawn(move || {
                let mut line = client(&socket);
                for command in 0..commands {
                    let script = format!("await 0; '{number}/{command}/{tab}'");
                    let request = Request {
                        tab: Some(tab),
                        timeout_ms: Some(60_000),
                        ..Request::new(Command::Eval(Eval { script, ..Eval::default() }))
                    };
                    let action = DaemonRequest::Run { request, overrides: Default::default() };
                    let outcome = line.run(&action, Duration::from_secs(60)).unwrap();
                    assert_eq!(
                        outcome.reply.to_string(),
                        format!("{number}/{command}/{tab}"),
                        "crossed"
                    );
                    assert_eq!(outcome.tab, Some(tab));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    // The program itself, too, concurrently.
    let children: Vec<_> = (0..clients.min(20))
        .map(|number| {
            let mut command = home.command(["eval", &format!("'child {number}'")]);
            (number, command.stdout(Stdio::piped()).spawn().unwrap())
        })
        .collect();
    for (number, child) in children {
        let out = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&out.stdout), format!("child {number}\n"));
    }
    let status = home.json(["daemon", "status"]);
    let commands_seen = number(&status["result"]["commands"]);
    assert!(commands_seen >= clients * commands, "{status}");
    println!("{clients} clients, {commands} commands each: all answered, none crossed");
}
