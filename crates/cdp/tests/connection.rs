//! Tests of the connection against a scripted peer: late, missing, foreign and malformed replies. Real
//! browsers are tested in the `browser` crate.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

use agbrowse_cdp::protocol::browser::GetVersion;
use agbrowse_cdp::protocol::page;
use agbrowse_cdp::{Connection, Deadline, Delivery, Direction, Error, Options, Transport};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The browser's ends of the two pipes.
struct Peer {
    to_us: std::io::PipeWriter,
    from_us: std::io::PipeReader,
}

impl Peer {
    fn send(&mut self, message: &str) {
        self.to_us.write_all(message.as_bytes()).unwrap();
        self.to_us.write_all(b"\0").unwrap();
    }

    /// Waits for the next call and returns its raw message.
    async fn next_call(&mut self) -> String {
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

fn generous_deadline() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

#[tokio::test]
async fn replies_out_of_order_reach_their_calls() {
    let (connection, mut peer) = connect(Options::default());
    let browser = connection.browser();
    let first = browser.start(&GetVersion {}).unwrap();
    let second = browser.start(&GetVersion {}).unwrap();
    assert_eq!(peer.next_call().await, r#"{"id":1,"method":"Browser.getVersion","params":{}}"#);
    peer.next_call().await;
    peer.send(r#"{"id":2,"result":{"product":"two","extra":{"new":[1,2]}}}"#);
    peer.send(r#"{"id":1,"result":{"product":"one"}}"#);
    assert_eq!(first.wait(generous_deadline()).await.unwrap().product.unwrap(), "one");
    assert_eq!(second.wait(generous_deadline()).await.unwrap().product.unwrap(), "two");
    assert_eq!(connection.pending(), 0);
}

#[tokio::test]
async fn dropped_call_is_unregistered() {
    let (connection, mut peer) = connect(Options::default());
    let reply = connection.browser().start(&GetVersion {}).unwrap();
    assert_eq!(connection.pending(), 1);
    drop(reply);
    assert_eq!(connection.pending(), 0);
    // The late reply is ignored.
    peer.send(r#"{"id":1,"result":{}}"#);
    let next = connection.browser().start(&GetVersion {}).unwrap();
    peer.send(r#"{"id":2,"result":{"product":"here"}}"#);
    assert_eq!(next.wait(generous_deadline()).await.unwrap().product.unwrap(), "here");
}

#[tokio::test]
async fn call_without_reply_times_out_at_the_deadline() {
    let (connection, _peer) = connect(Options::default());
    let deadline = Deadline::after(Duration::from_millis(30));
    let error = connection.browser().call(GetVersion {}, deadline).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { method: "Browser.getVersion", .. }), "{error}");
    assert_eq!(connection.pending(), 0);
}

#[tokio::test]
async fn pending_calls_and_listeners_end_at_disconnect() {
    let (connection, peer) = connect(Options::default());
    let browser = connection.browser();
    let calls: Vec<_> = (0..50).map(|_| browser.start(&GetVersion {}).unwrap()).collect();
    let mut events = connection.events(&["Page.frameNavigated"], 4);
    drop(peer);
    for call in calls {
        assert!(matches!(call.wait(generous_deadline()).await.unwrap_err(), Error::Closed { .. }));
    }
    assert!(events.next().await.is_none());
    connection.wait_closed().await;
    assert!(matches!(browser.start(&GetVersion {}).unwrap_err(), Error::Closed { .. }));
    assert!(connection.events(&["Page.frameNavigated"], 4).next().await.is_none());
}

#[tokio::test]
async fn detached_or_crashed_session_fails_its_own_calls_only() {
    let (connection, mut peer) = connect(Options::default());
    let gone = connection.session("gone".into()).start(&page::Enable {}).unwrap();
    let crashed = connection.session("crashed".into()).start(&page::Enable {}).unwrap();
    let other = connection.session("other".into()).start(&page::Enable {}).unwrap();
    peer.send(r#"{"method":"Target.detachedFromTarget","params":{"sessionId":"gone"}}"#);
    peer.send(r#"{"method":"Inspector.targetCrashed","params":{},"sessionId":"crashed"}"#);
    peer.send(r#"{"id":3,"result":{},"sessionId":"other"}"#);
    assert!(matches!(gone.wait(generous_deadline()).await.unwrap_err(), Error::Detached { .. }));
    assert!(matches!(crashed.wait(generous_deadline()).await.unwrap_err(), Error::Crashed { .. }));
    other.wait(generous_deadline()).await.unwrap();
}

#[tokio::test]
async fn remote_error_has_code_and_message() {
    let (connection, mut peer) = connect(Options::default());
    let call = connection.browser().start(&GetVersion {}).unwrap();
    peer.send(r#"{"id":1,"error":{"code":-32601,"message":"'x' wasn't found","data":7}}"#);
    match call.wait(generous_deadline()).await.unwrap_err() {
        Error::Remote { code, message, .. } => {
            assert_eq!((code, &*message), (-32601, "'x' wasn't found"));
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn malformed_messages_are_ignored() {
    let (connection, mut peer) = connect(Options::default());
    let call = connection.browser().start(&GetVersion {}).unwrap();
    for broken in
        ["", "{", "null", "[1]", "\u{1}", r#"{"id":"one"}"#, r#"{"id":-4}"#, r#"{"method":7}"#]
    {
        peer.send(broken);
    }
    peer.to_us.write_all(b"\xff\xfe\0").unwrap();
    peer.send(r#"{"id":1,"result":{"product":"still here"}}"#);
    assert_eq!(call.wait(generous_deadline()).await.unwrap().product.unwrap(), "still here");
}

#[tokio::test]
async fn reply_of_wrong_type_is_a_decode_error() {
    let (connection, mut peer) = connect(Options::default());
    let call = connection.browser().start(&GetVersion {}).unwrap();
    peer.send(r#"{"id":1,"result":{"product":[1,2]}}"#);
    assert!(matches!(call.wait(generous_deadline()).await.unwrap_err(), Error::Decode { .. }));
}

#[tokio::test]
async fn slow_listener_gets_count_and_position_of_lost_events() {
    let (connection, mut peer) = connect(Options::default());
    let mut events = connection.events(&["Page.lifecycleEvent"], 2);
    let mut publish = async |names: std::ops::Range<u32>, id: u32| {
        for name in names {
            peer.send(&format!(
                r#"{{"method":"Page.lifecycleEvent","params":{{"name":"{name}"}}}}"#
            ));
        }
        // The reply comes after the events, so all of them have been queued by then.
        let call = connection.browser().start(&GetVersion {}).unwrap();
        peer.send(&format!(r#"{{"id":{id},"result":{{}}}}"#));
        call.wait(generous_deadline()).await.unwrap();
    };
    let mut received = Vec::new();
    let mut receive = async |count: usize| {
        for _ in 0..count {
            received.push(match events.next().await.unwrap() {
                Delivery::Lagged(lost) => format!("{lost} lost"),
                Delivery::Event(event) => {
                    event.decode::<page::LifecycleEvent>().unwrap().name.unwrap()
                }
            });
        }
    };
    publish(0..5, 1).await;
    receive(2).await;
    publish(5..8, 2).await;
    receive(3).await;
    assert_eq!(received, ["0", "1", "3 lost", "5", "2 lost"]);
}

#[tokio::test]
async fn catch_up_waits_until_events_are_processed() {
    let (connection, mut peer) = connect(Options::default());
    let mut events = connection.events(&["Page.lifecycleEvent"], 8);
    let progress = events.progress();
    progress.catch_up().await;
    for _ in 0..2 {
        peer.send(r#"{"method":"Page.lifecycleEvent","params":{}}"#);
    }
    let call = connection.browser().start(&GetVersion {}).unwrap();
    peer.send(r#"{"id":1,"result":{}}"#);
    call.wait(generous_deadline()).await.unwrap();
    let mut waiting = std::pin::pin!(progress.catch_up());
    for _ in 0..2 {
        events.next().await.unwrap();
        // The taken event may still be in processing.
        tokio::select! {
            biased;
            () = &mut waiting => panic!("the event is not processed yet"),
            () = std::future::ready(()) => {}
        }
    }
    tokio::select! {
        biased;
        _ = events.next() => panic!("unexpected event"),
        () = &mut waiting => {}
    }
    peer.send(r#"{"method":"Page.lifecycleEvent","params":{}}"#);
    let call = connection.browser().start(&GetVersion {}).unwrap();
    peer.send(r#"{"id":2,"result":{}}"#);
    call.wait(generous_deadline()).await.unwrap();
    // A dropped listener releases its waiters.
    let mut catch_up = std::pin::pin!(progress.catch_up());
    tokio::select! {
        biased;
        () = &mut catch_up => panic!("the event is not processed yet"),
        () = std::future::ready(()) => {}
    }
    drop(events);
    tokio::time::timeout(generous_deadline().left(), catch_up).await.unwrap();
}

#[tokio::test]
async fn session_listener_gets_events_of_its_session_only() {
    let (connection, mut peer) = connect(Options::default());
    let mut events = connection.session("mine".into()).events(&["Page.lifecycleEvent"], 8);
    peer.send(r#"{"method":"Page.lifecycleEvent","params":{"name":"a"},"sessionId":"theirs"}"#);
    peer.send(r#"{"method":"Page.lifecycleEvent","params":{"name":"b"},"sessionId":"mine"}"#);
    let Some(Delivery::Event(event)) = events.next().await else { panic!("no event") };
    assert_eq!(event.decode::<page::LifecycleEvent>().unwrap().name.unwrap(), "b");
}

#[tokio::test]
async fn tap_gets_messages_of_both_directions() {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let tap = {
        let messages = messages.clone();
        Box::new(move |direction, message: &[u8]| {
            messages
                .lock()
                .unwrap()
                .push((direction, String::from_utf8_lossy(message).into_owned()));
        })
    };
    let (connection, mut peer) = connect(Options { tap: Some(tap) });
    let call = connection.browser().start(&GetVersion {}).unwrap();
    peer.next_call().await;
    peer.send(r#"{"id":1,"result":{}}"#);
    call.wait(generous_deadline()).await.unwrap();
    let messages = messages.lock().unwrap();
    assert_eq!(messages[0].0, Direction::Sent);
    assert_eq!(messages[1], (Direction::Received, r#"{"id":1,"result":{}}"#.to_owned()));
}

#[tokio::test]
async fn full_send_queue_is_a_backlog_error() {
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
