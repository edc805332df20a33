//! The connection against a peer that we play ourselves, byte by byte: late, missing, foreign and broken
//! answers. What a real browser does is tested in `browser`.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

use agbrowse_cdp::protocol::browser::GetVersion;
use agbrowse_cdp::protocol::page;
use agbrowse_cdp::{Connection, Deadline, Delivery, Direction, Error, Options, Transport};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The browser's side of the two pipes.
struct Peer {
    to_us: std::io::PipeWriter,
    from_us: std::io::PipeReader,
}

impl Peer {
    fn say(&mut self, message: &str) {
        self.to_us.write_all(message.as_bytes()).unwrap();
        self.to_us.write_all(b"\0").unwrap();
    }

    /// Waits for the next call and returns its raw text.
    async fn hear(&mut self) -> String {
        let mut from_us = self.from_us.try_clone().unwrap();
        tokio::task::spawn_blocking(move || {
            let (mut out, mut byte) = (Vec::new(), [0]);
            while from_us.read(&mut byte).unwrap() == 1 && byte[0] != 0 {
                out.push(byte[0]);
            }
            String::from_utf8(out).unwrap()
        })
        .await
        .unwrap()
    }
}

fn connect(options: Options) -> (Connection, Peer) {
    let (from_browser, to_us) = std::io::pipe().unwrap();
    let (from_us, to_browser) = std::io::pipe().unwrap();
    let transport =
        Transport::pipe(OwnedFd::from(from_browser), OwnedFd::from(to_browser)).unwrap();
    (Connection::open(transport, options), Peer { to_us, from_us })
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

#[tokio::test]
async fn answers_find_their_callers_in_any_order() {
    let (connection, mut peer) = connect(Options::default());
    let browser = connection.browser();
    let first = browser.start(&GetVersion {}).unwrap();
    let second = browser.start(&GetVersion {}).unwrap();
    assert_eq!(peer.hear().await, r#"{"id":1,"method":"Browser.getVersion","params":{}}"#);
    peer.hear().await;
    peer.say(r#"{"id":2,"result":{"product":"two","extra":{"new":[1,2]}}}"#);
    peer.say(r#"{"id":1,"result":{"product":"one"}}"#);
    assert_eq!(first.wait(soon()).await.unwrap().product.unwrap(), "one");
    assert_eq!(second.wait(soon()).await.unwrap().product.unwrap(), "two");
    assert_eq!(connection.pending(), 0);
}

#[tokio::test]
async fn a_dropped_call_leaves_nothing_behind() {
    let (connection, mut peer) = connect(Options::default());
    let reply = connection.browser().start(&GetVersion {}).unwrap();
    assert_eq!(connection.pending(), 1);
    drop(reply);
    assert_eq!(connection.pending(), 0);
    // Its late answer disturbs nobody.
    peer.say(r#"{"id":1,"result":{}}"#);
    let next = connection.browser().start(&GetVersion {}).unwrap();
    peer.say(r#"{"id":2,"result":{"product":"here"}}"#);
    assert_eq!(next.wait(soon()).await.unwrap().product.unwrap(), "here");
}

#[tokio::test]
async fn a_silent_browser_is_given_up_at_the_deadline() {
    let (connection, _peer) = connect(Options::default());
    let deadline = Deadline::after(Duration::from_millis(30));
    let error = connection.browser().call(GetVersion {}, deadline).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { method: "Browser.getVersion", .. }), "{error}");
    assert_eq!(connection.pending(), 0);
}

#[tokio::test]
async fn everything_that_waits_fails_at_disconnect() {
    let (connection, peer) = connect(Options::default());
    let browser = connection.browser();
    let calls: Vec<_> = (0..50).map(|_| browser.start(&GetVersion {}).unwrap()).collect();
    let mut events = connection.events(&["Page.frameNavigated"], 4);
    drop(peer);
    for call in calls {
        assert!(matches!(call.wait(soon()).await.unwrap_err(), Error::Closed { .. }));
    }
    assert!(events.next().await.is_none());
    connection.wait_closed().await;
    assert!(matches!(browser.start(&GetVersion {}).unwrap_err(), Error::Closed { .. }));
    assert!(connection.events(&["Page.frameNavigated"], 4).next().await.is_none());
}

#[tokio::test]
async fn a_session_that_ends_fails_its_own_calls_only() {
    let (connection, mut peer) = connect(Options::default());
    let gone = connection.session("gone".into()).start(&page::Enable {}).unwrap();
    let crashed = connection.session("crashed".into()).start(&page::Enable {}).unwrap();
    let other = connection.session("other".into()).start(&page::Enable {}).unwrap();
    peer.say(r#"{"method":"Target.detachedFromTarget","params":{"sessionId":"gone"}}"#);
    peer.say(r#"{"method":"Inspector.targetCrashed","params":{},"sessionId":"crashed"}"#);
    peer.say(r#"{"id":3,"result":{},"sessionId":"other"}"#);
    assert!(matches!(gone.wait(soon()).await.unwrap_err(), Error::Detached { .. }));
    assert!(matches!(crashed.wait(soon()).await.unwrap_err(), Error::Crashed { .. }));
    other.wait(soon()).await.unwrap();
}

#[tokio::test]
async fn a_refusal_carries_the_browsers_words() {
    let (connection, mut peer) = connect(Options::default());
    let call = connection.browser().start(&GetVersion {}).unwrap();
    peer.say(r#"{"id":1,"error":{"code":-32601,"message":"'x' wasn't found","data":7}}"#);
    match call.wait(soon()).await.unwrap_err() {
        Error::Remote { code, message, .. } => {
            assert_eq!((code, &*message), (-32601, "'x' wasn't found"));
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn broken_messages_are_passed_over() {
    let (connection, mut peer) = connect(Options::default());
    let call = connection.browser().start(&GetVersion {}).unwrap();
    for broken in
        ["", "{", "null", "[1]", "\u{1}", r#"{"id":"one"}"#, r#"{"id":-4}"#, r#"{"method":7}"#]
    {
        peer.say(broken);
    }
    peer.to_us.write_all(b"\xff\xfe\0").unwrap();
    peer.say(r#"{"id":1,"result":{"product":"still here"}}"#);
    assert_eq!(call.wait(soon()).await.unwrap().product.unwrap(), "still here");
}

#[tokio::test]
async fn an_answer_of_another_form_is_a_typed_error() {
    let (connection, mut peer) = connect(Options::default());
    let call = connection.browser().start(&GetVersion {}).unwrap();
    peer.say(r#"{"id":1,"result":{"product":[1,2]}}"#);
    assert!(matches!(call.wait(soon()).await.unwrap_err(), Error::Decode { .. }));
}

#[tokio::test]
async fn a_slow_listener_is_told_what_it_lost_and_where() {
    let (connection, mut peer) = connect(Options::default());
    let mut events = connection.events(&["Page.lifecycleEvent"], 2);
    let mut tell = async |names: std::ops::Range<u32>, id: u32| {
        for name in names {
            peer.say(&format!(
                r#"{{"method":"Page.lifecycleEvent","params":{{"name":"{name}"}}}}"#
            ));
        }
        // The answer comes after the events, so all of them have been handed out by then.
        let call = connection.browser().start(&GetVersion {}).unwrap();
        peer.say(&format!(r#"{{"id":{id},"result":{{}}}}"#));
        call.wait(soon()).await.unwrap();
    };
    let mut heard = Vec::new();
    let mut hear = async |count: usize| {
        for _ in 0..count {
            heard.push(match events.next().await.unwrap() {
                Delivery::Lagged(lost) => format!("{lost} lost"),
                Delivery::Event(event) => {
                    event.decode::<page::LifecycleEvent>().unwrap().name.unwrap()
                }
            });
        }
    };
    tell(0..5, 1).await;
    hear(2).await;
    tell(5..8, 2).await;
    hear(3).await;
    assert_eq!(heard, ["0", "1", "3 lost", "5", "2 lost"]);
}

#[tokio::test]
async fn others_can_wait_until_a_listener_is_done() {
    let (connection, mut peer) = connect(Options::default());
    let mut events = connection.events(&["Page.lifecycleEvent"], 8);
    let progress = events.progress();
    progress.catch_up().await;
    for _ in 0..2 {
        peer.say(r#"{"method":"Page.lifecycleEvent","params":{}}"#);
    }
    let call = connection.browser().start(&GetVersion {}).unwrap();
    peer.say(r#"{"id":1,"result":{}}"#);
    call.wait(soon()).await.unwrap();
    let mut waiting = std::pin::pin!(progress.catch_up());
    for _ in 0..2 {
        events.next().await.unwrap();
        // The one that was taken may still be worked on.
        tokio::select! {
            biased;
            () = &mut waiting => panic!("it was not done"),
            () = std::future::ready(()) => {}
        }
    }
    tokio::select! {
        biased;
        _ = events.next() => panic!("there was one too many"),
        () = &mut waiting => {}
    }
    peer.say(r#"{"method":"Page.lifecycleEvent","params":{}}"#);
    let call = connection.browser().start(&GetVersion {}).unwrap();
    peer.say(r#"{"id":2,"result":{}}"#);
    call.wait(soon()).await.unwrap();
    // Nobody waits for a listener that has gone.
    let mut left = std::pin::pin!(progress.catch_up());
    tokio::select! {
        biased;
        () = &mut left => panic!("it was not done"),
        () = std::future::ready(()) => {}
    }
    drop(events);
    tokio::time::timeout(soon().left(), left).await.unwrap();
}

#[tokio::test]
async fn a_listener_hears_its_own_session() {
    let (connection, mut peer) = connect(Options::default());
    let mut events = connection.session("mine".into()).events(&["Page.lifecycleEvent"], 8);
    peer.say(r#"{"method":"Page.lifecycleEvent","params":{"name":"a"},"sessionId":"theirs"}"#);
    peer.say(r#"{"method":"Page.lifecycleEvent","params":{"name":"b"},"sessionId":"mine"}"#);
    let Some(Delivery::Event(event)) = events.next().await else { panic!("no event") };
    assert_eq!(event.decode::<page::LifecycleEvent>().unwrap().name.unwrap(), "b");
}

#[tokio::test]
async fn the_tap_sees_both_directions() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let tap = {
        let seen = seen.clone();
        Box::new(move |direction, message: &[u8]| {
            seen.lock().unwrap().push((direction, String::from_utf8_lossy(message).into_owned()));
        })
    };
    let (connection, mut peer) = connect(Options { tap: Some(tap) });
    let call = connection.browser().start(&GetVersion {}).unwrap();
    peer.hear().await;
    peer.say(r#"{"id":1,"result":{}}"#);
    call.wait(soon()).await.unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].0, Direction::Sent);
    assert_eq!(seen[1], (Direction::Received, r#"{"id":1,"result":{}}"#.to_owned()));
}

#[tokio::test]
async fn a_browser_that_does_not_read_is_noticed() {
    let (connection, _peer) = connect(Options::default());
    let large = page::Navigate { url: "x".repeat(8 << 20), ..Default::default() };
    let mut calls = Vec::new();
    let error = loop {
        match connection.browser().start(&large) {
            Ok(call) => calls.push(call),
            Err(error) => break error,
        }
        assert!(calls.len() < 20, "no limit");
    };
    assert!(matches!(error, Error::Backlog { .. }), "{error}");
}
