//! Events of a browser: commands, navigations and page events, on a bounded stream that reports lag.

use crate::chromium::activity::PageEvent;
use crate::command::VerbKind;
use crate::error::Code;
use crate::receipt_facts::ReceiptFacts;
use crate::secret::SecretScrubber;
use crate::tab::TabId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};

/// Capacity of the queue of a subscriber; beyond it, events are missed.
const QUEUE: usize = 1024;

/// An event of a browser.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum BrowserEvent {
    /// A command begins, with the turn on its tab.
    CommandStarted {
        /// Its number: the event of its end has the same one.
        id: u64,
        /// Its verb.
        verb: String,
        /// The kind of the verb.
        kind: VerbKind,
        /// Its tab.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        tab: Option<TabId>,
        /// Its target, as written by the caller.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        target: Option<String>,
    },
    /// A command ended.
    CommandFinished {
        /// Its number.
        id: u64,
        /// Its verb.
        verb: String,
        /// Its tab.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        tab: Option<TabId>,
        /// The code of its error, if it failed.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        error: Option<Code>,
        /// The facts of its receipt, if it acted.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        receipt: Option<Box<ReceiptFacts>>,
        /// Its duration.
        ms: u64,
    },
    /// A command was dropped: its caller disconnected or gave up.
    CommandDropped {
        /// Its number.
        id: u64,
        /// Its verb.
        verb: String,
        /// Its tab.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        tab: Option<TabId>,
    },
    /// The main frame of a tab committed another document, or navigated within the document.
    Navigated {
        /// The tab.
        tab: TabId,
        /// The URL, secrets masked.
        url: String,
        /// A same-document navigation.
        same_document: bool,
    },
    /// A page event: a script error, a pop-up, a download, a file chooser.
    Page {
        /// The tab.
        tab: TabId,
        /// The page event.
        page_event: PageEvent,
    },
    /// The subscriber was too slow, or some events could not be delivered.
    Lagged {
        /// The number of missed events.
        missed: u64,
    },
}

/// The sending side, shared by all parts of a browser.
#[derive(Clone, Debug)]
pub(crate) struct EventBus(broadcast::Sender<BrowserEvent>);

impl Default for EventBus {
    fn default() -> Self {
        Self(broadcast::Sender::new(QUEUE))
    }
}

impl EventBus {
    /// Sends an event, which is built only if there is a subscriber.
    pub(crate) fn send(&self, event: impl FnOnce() -> BrowserEvent) {
        if self.0.receiver_count() > 0 {
            _ = self.0.send(event());
        }
    }

    pub(crate) fn subscribe(&self, secrets: Arc<SecretScrubber>) -> EventStream {
        EventStream(Source::Bus(self.0.subscribe(), secrets))
    }
}

/// A stream of events. Bounded: a slow subscriber gets [`BrowserEvent::Lagged`] and continues with newer events.
#[derive(Debug)]
pub struct EventStream(Source);

#[derive(Debug)]
enum Source {
    Bus(broadcast::Receiver<BrowserEvent>, Arc<SecretScrubber>),
    Channel(mpsc::Receiver<BrowserEvent>),
}

impl EventStream {
    /// A stream of events from a channel, such as those of a daemon's socket.
    pub fn from_channel(events: mpsc::Receiver<BrowserEvent>) -> Self {
        Self(Source::Channel(events))
    }

    /// The next event; `None` at the end of the stream.
    pub async fn next(&mut self) -> Option<BrowserEvent> {
        match &mut self.0 {
            Source::Channel(events) => events.recv().await,
            Source::Bus(events, secrets) => Some(match events.recv().await {
                Ok(event) => secrets.scrub(event).unwrap_or(BrowserEvent::Lagged { missed: 1 }),
                Err(RecvError::Lagged(missed)) => BrowserEvent::Lagged { missed },
                Err(RecvError::Closed) => return None,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn navigated(number: u32) -> BrowserEvent {
        BrowserEvent::Navigated {
            tab: TabId(number),
            url: "about:blank".into(),
            same_document: false,
        }
    }

    #[tokio::test]
    async fn slow_subscriber_learns_how_much_it_missed() {
        let bus = EventBus::default();
        bus.send(|| panic!("nobody listens"));
        let mut stream = bus.subscribe(Arc::default());
        let extra = 7;
        for number in 0..QUEUE as u32 + extra {
            bus.send(|| navigated(number + 1));
        }
        assert_eq!(stream.next().await, Some(BrowserEvent::Lagged { missed: u64::from(extra) }));
        assert_eq!(stream.next().await, Some(navigated(extra + 1)));
        for _ in 1..QUEUE {
            stream.next().await.unwrap();
        }
        drop(bus);
        assert_eq!(stream.next().await, None);
    }

    #[tokio::test]
    async fn secret_in_an_event_is_masked() {
        let (bus, secrets) = (EventBus::default(), Arc::<SecretScrubber>::default());
        secrets.add(&"hunter2-hunter2".into());
        let mut stream = bus.subscribe(secrets);
        bus.send(|| BrowserEvent::Navigated {
            tab: TabId(1),
            url: "http://localhost/?q=hunter2-hunter2".into(),
            same_document: true,
        });
        let text = serde_json::to_string(&stream.next().await.unwrap()).unwrap();
        assert!(!text.contains("hunter2") && text.contains("sameDocument"), "{text}");
    }
}
