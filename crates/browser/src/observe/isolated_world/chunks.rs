//! A long frame report, transferred in chunks: they are read while the page still sends the next ones.

use super::CHUNK_BINDING;
use cdp::protocol::CdpEvent as _;
use cdp::protocol::runtime::BindingCalled;
use cdp::{Channel, Delivery, Events};
use std::hash::{BuildHasher as _, RandomState};

/// More pending chunks would be a report of 500 MB.
const CAPACITY: usize = 4096;

/// The report chunks of one observation.
pub(super) struct ReportChunks {
    events: Events,
    /// Prefix of our chunks: the same document may be observed concurrently.
    prefix: String,
    text: String,
    count: usize,
    /// Chunks received in this observation.
    pub(super) total: usize,
}

impl ReportChunks {
    pub(super) fn new(channel: &Channel) -> Self {
        let prefix = format!("{:016x}", RandomState::new().hash_one(0));
        let events = channel.events(&[BindingCalled::NAME], CAPACITY);
        Self { events, prefix, text: String::new(), count: 0, total: 0 }
    }

    /// The observer option that requests chunks.
    pub(super) fn option(&self) -> String {
        format!("chunkKey: \"{}\"", self.prefix)
    }

    /// Waits for the next chunk. Returns false when there are no more events.
    pub(super) async fn receive(&mut self) -> bool {
        let event = match self.events.next().await {
            Some(Delivery::Event(event)) => event,
            Some(Delivery::Lagged(_)) => return true,
            None => return false,
        };
        let called: BindingCalled = event.decode().unwrap_or_default();
        let payload = called.payload.filter(|_| called.name.as_deref() == Some(CHUNK_BINDING));
        let chunk = payload.as_deref().and_then(|it| it.strip_prefix(&*self.prefix));
        if let Some(chunk) = chunk.and_then(|it| it.strip_prefix('\n')) {
            self.text.push_str(chunk);
            self.count += 1;
            self.total += 1;
        }
        true
    }

    /// The whole report, from the final reply: number of chunks, first line, and rest. Chunks arrive before that
    /// reply, so one that is missing by now was lost.
    pub(super) async fn finish(&mut self, end: &str) -> Option<String> {
        let (count, end) = end.split_once('\n')?;
        let (head, rest) = end.split_once('\n')?;
        let count: usize = count.parse().ok()?;
        while self.count < count && !self.events.is_empty() && self.receive().await {}
        let body = std::mem::take(&mut self.text);
        let is_complete = std::mem::take(&mut self.count) == count;
        is_complete.then(|| [head, "\n", &body, rest].concat())
    }
}
