//! A long report, as it comes in pieces: they are read while the page still hands over the next ones.

use super::HAND;
use cdp::protocol::CdpEvent as _;
use cdp::protocol::runtime::BindingCalled;
use cdp::{Channel, Delivery, Events};
use std::hash::{BuildHasher as _, RandomState};

/// More than this many pieces waiting would be a report of 500 MB.
const CAPACITY: usize = 4096;

/// The pieces of the reports of one look.
pub(super) struct ReportChunks {
    events: Events,
    /// Others may look at the same document at the same time: what is handed to us begins with this.
    sign: String,
    text: String,
    count: usize,
    /// How many have come in this look.
    pub(super) total: usize,
}

impl ReportChunks {
    pub(super) fn over(channel: &Channel) -> Self {
        let sign = format!("{:016x}", RandomState::new().hash_one(0));
        let events = channel.events(&[BindingCalled::NAME], CAPACITY);
        Self { events, sign, text: String::new(), count: 0, total: 0 }
    }

    /// How our scripts are told to hand over pieces.
    pub(super) fn option(&self) -> String {
        format!("chunkKey: \"{}\"", self.sign)
    }

    /// Waits for the next piece and takes it in. Says whether there may be more.
    pub(super) async fn take_one(&mut self) -> bool {
        let event = match self.events.next().await {
            Some(Delivery::Event(event)) => event,
            Some(Delivery::Lagged(_)) => return true,
            None => return false,
        };
        let called: BindingCalled = event.decode().unwrap_or_default();
        let payload = called.payload.filter(|_| called.name.as_deref() == Some(HAND));
        let piece = payload.as_deref().and_then(|it| it.strip_prefix(&*self.sign));
        if let Some(piece) = piece.and_then(|it| it.strip_prefix('\n')) {
            self.text.push_str(piece);
            self.count += 1;
            self.total += 1;
        }
        true
    }

    /// The whole report, by what is said when all pieces of it were handed over: how many, the first line, and what is left.
    /// They come before that is said, so one that is not there by now was lost.
    pub(super) async fn whole(&mut self, end: &str) -> Option<String> {
        let (count, end) = end.split_once('\n')?;
        let (head, rest) = end.split_once('\n')?;
        let count: usize = count.parse().ok()?;
        while self.count < count && !self.events.is_empty() && self.take_one().await {}
        let body = std::mem::take(&mut self.text);
        let is_all = std::mem::take(&mut self.count) == count;
        is_all.then(|| [head, "\n", &body, rest].concat())
    }
}
