//! The client of the daemon: pooled connections, retries, and events over the socket.

use crate::sandbox::{Home, client, has_browser};
use agbrowse::daemon::{Connection, DaemonClient, DaemonRequest, DaemonResponse, SessionPaths};
use browser::command::{Eval, Status, Tabs};
use browser::launch::LaunchOverrides;
use browser::{BrowserEvent, Code, Command, Driver, Request, TabId};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const ALLOWED: Duration = Duration::from_secs(30);

fn paths(home: &Home) -> SessionPaths {
    let socket = home.socket("default");
    SessionPaths::in_folder(socket.parent().unwrap(), "default")
}

fn client_of(home: &Home) -> DaemonClient {
    DaemonClient::new(paths(home), LaunchOverrides::default(), ALLOWED, ALLOWED)
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

async fn connections(home: &Home) -> u64 {
    let mut connection = Connection::open(&paths(home)).await.unwrap();
    match connection.ask(&DaemonRequest::Status, ALLOWED).await.unwrap() {
        DaemonResponse::Status(status) => status.clients,
        other => panic!("{other:?}"),
    }
}

fn status() -> Request {
    Request::new(Command::Status(Status {}))
}

fn eval(script: &str) -> Request {
    Request::new(Command::Eval(Eval { script: script.into(), ..Eval::default() }))
}

#[test]
fn commands_reuse_connections_and_failed_ones_do_too() {
    let home = Home::new();
    home.ok(["status"]);
    block_on(async {
        let before = connections(&home).await;
        let client = client_of(&home);
        for _ in 0..20 {
            client.run(status()).await.unwrap();
            let unknown = Request { tab: Some(TabId(99)), ..Request::new(Command::Tabs(Tabs {})) };
            client.run(unknown).await.unwrap();
            let wrong: Command =
                serde_json::from_value(serde_json::json!({ "verb": "press", "keys": ["NoKey"] }))
                    .unwrap();
            let error = client.run(Request::new(wrong)).await.unwrap_err();
            assert_eq!(error.code(), Code::CommandInvalid, "{error}");
        }
        assert_eq!(connections(&home).await, before + 1);
        // At once, they need several; only a few stay.
        let all = futures_util::future::join_all((0..30).map(|_| client.run(status())));
        assert!(all.await.iter().all(Result::is_ok));
        let kept = connections(&home).await - before;
        assert!((1..=4).contains(&kept), "{kept} connections are kept");
    });
}

#[test]
fn evicted_connection_says_that_nothing_was_done_and_is_replaced() {
    let home = Home::new();
    home.ok(["status"]);
    block_on(async {
        let pooled = client_of(&home);
        pooled.run(status()).await.unwrap();
        let silent: Vec<UnixStream> =
            (0..300).map(|_| UnixStream::connect(home.socket("default")).unwrap()).collect();
        for _ in 0..3 {
            home.ok(["status"]);
        }
        pooled.run(status()).await.unwrap();
        drop(silent);
    });
    let mut idle = client(&home.socket("default"));
    idle.ask(&DaemonRequest::Status, ALLOWED).unwrap();
    let silent: Vec<UnixStream> =
        (0..300).map(|_| UnixStream::connect(home.socket("default")).unwrap()).collect();
    for _ in 0..3 {
        home.ok(["status"]);
    }
    let error = idle.ask(&DaemonRequest::Status, ALLOWED).unwrap_err();
    assert_eq!(error.code(), Code::DaemonStopping, "{error}");
    drop(silent);
}

#[test]
fn stopped_daemon_is_noticed_before_a_pooled_connection_is_used() {
    let home = Home::new();
    home.ok(["status"]);
    block_on(async {
        let client = client_of(&home);
        client.run(status()).await.unwrap();
        home.ok(["daemon", "stop"]);
        home.ok(["status"]);
        client.run(status()).await.unwrap();
    });
}

#[test]
fn events_come_over_the_socket() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.ok(["eval", "1"]);
    block_on(async {
        let client = client_of(&home);
        let mut events = client.events();
        // Until the subscription is there, commands pass unheard.
        let first = loop {
            tokio::select! {
                biased;
                event = events.next() => break event.unwrap(),
                outcome = client.run(eval("document.title = 'unheard'")) => drop(outcome.unwrap()),
            }
        };
        assert!(matches!(
            first,
            BrowserEvent::CommandStarted { .. }
                | BrowserEvent::CommandFinished { .. }
                | BrowserEvent::CommandDropped { .. }
        ));
        client.run(eval("console.error('heard'); 'last'")).await.unwrap();
        let mut kinds = Vec::new();
        while !kinds.iter().any(|kind| kind == "console-error") {
            match events.next().await.unwrap() {
                BrowserEvent::Page { page_event, .. } => kinds.push(page_event.kind),
                BrowserEvent::CommandFinished { error, .. } => assert_eq!(error, None),
                _ => {}
            }
        }
        // The end of the daemon is the end of its events.
        home.ok(["daemon", "stop"]);
        while events.next().await.is_some() {}
    });
}
