//! Fuzzes a connection with arbitrary bytes from its peer: no panic, and a valid reply after them still
//! reaches its caller.

use agbrowse_cdp::protocol::browser::GetVersion;
use agbrowse_cdp::{Connection, Deadline, Delivery, Events, Options, Transport};
use std::hash::{BuildHasher, RandomState};
use std::os::fd::OwnedFd;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::runtime::{Builder, Runtime};

/// Event sent after the arbitrary bytes, to detect that all of them have been read.
const MARK: &str = "Fuzz.mark";

/// Queue capacity above the number of marks an input can hold: a lost mark would never be seen.
const QUEUE: usize = 1 << 20;

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime"));

/// Opens a connection whose peer sends these bytes.
pub fn check(bytes: &[u8]) {
    RUNTIME.block_on(run(bytes));
}

async fn run(bytes: &[u8]) {
    let (from_browser, to_us) = std::io::pipe().expect("a pipe");
    let (_from_us, to_browser) = std::io::pipe().expect("a pipe");
    let transport = Transport::pipe(OwnedFd::from(from_browser), OwnedFd::from(to_browser));
    let connection = Connection::open(transport.expect("two pipes"), Options::default());
    let mut peer = pipe::Sender::from_owned_fd(OwnedFd::from(to_us)).expect("a pipe");
    let mut marks = connection.events(&[MARK], QUEUE);

    // Called after the bytes: they might contain a reply to an earlier call.
    let token = RandomState::new().hash_one(bytes).to_string();
    send(&mut peer, bytes).await;
    send(&mut peer, format!(r#"{{"method":"{MARK}","params":"{token}"}}"#).as_bytes()).await;
    wait_for(&mut marks, &token).await;

    let call = connection.browser().start(&GetVersion {}).expect("the connection stands");
    send(&mut peer, br#"{"id":1,"result":{"product":"still here"}}"#).await;
    let answer = call.wait(Deadline::after(Duration::from_secs(10))).await.expect("an answer");
    assert_eq!(answer.product.as_deref(), Some("still here"));
    assert_eq!(connection.pending(), 0);
}

async fn send(peer: &mut pipe::Sender, message: &[u8]) {
    peer.write_all(message).await.expect("the connection reads");
    peer.write_all(b"\0").await.expect("the connection reads");
}

async fn wait_for(marks: &mut Events, token: &str) {
    loop {
        match marks.next().await.expect("the connection stands") {
            Delivery::Lagged(lost) => panic!("{lost} marks were lost"),
            Delivery::Event(mark)
                if mark.decode::<String>().is_ok_and(|payload| payload == token) =>
            {
                break;
            }
            Delivery::Event(_) => {}
        }
    }
}
