//! Limit of concurrent client connections. At the limit, a new client evicts the connection that has been idle longest, so
//! that idle connections cannot block the daemon.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Maximum of concurrent connections. Further ones wait in the socket's backlog.
const MAX_CONNECTIONS: usize = 256;

/// Idle time before a connection may be evicted.
const MIN_IDLE_TIME: Duration = Duration::from_secs(1);

/// The open connections.
#[derive(Default)]
pub(super) struct ConnectionLimit {
    state: Mutex<LimitState>,
    /// Notified when a connection closes or becomes idle. There is one waiter.
    changed: Notify,
}

#[derive(Default)]
struct LimitState {
    slots: HashMap<u64, Slot>,
    next: u64,
}

struct Slot {
    /// Start of the idle time; `None` during a request and for connections that may stay idle.
    idle_since: Option<Instant>,
    evict: Arc<Notify>,
}

/// The slot of a client connection. Dropping it frees the slot.
pub(super) struct ClientSlot {
    number: u64,
    evict: Arc<Notify>,
    limit: Arc<ConnectionLimit>,
}

impl ConnectionLimit {
    /// Number of open connections.
    pub(super) fn count(&self) -> usize {
        self.state().slots.len()
    }

    /// Waits for a free slot or a connection that can be evicted.
    pub(super) async fn wait_for_slot(&self) {
        loop {
            let next = match &*self.state() {
                state if state.slots.len() < MAX_CONNECTIONS => return,
                state => state.longest_idle().map(|(_, since)| since + MIN_IDLE_TIME),
            };
            match next {
                Some(at) if at <= Instant::now() => return,
                Some(at) => tokio::select! {
                    () = tokio::time::sleep_until(at) => {}
                    () = self.changed.notified() => {}
                },
                None => self.changed.notified().await,
            }
        }
    }

    /// Adds a connection. At the limit, evicts the one that has been idle longest.
    pub(super) fn register(self: &Arc<Self>) -> ClientSlot {
        let mut state = self.state();
        if state.slots.len() >= MAX_CONNECTIONS
            && let Some((number, _)) = state.longest_idle()
            && let Some(slot) = state.slots.get_mut(&number)
        {
            slot.idle_since = None;
            slot.evict.notify_one();
        }
        state.next += 1;
        let (number, evict) = (state.next, Arc::new(Notify::new()));
        let slot = Slot { idle_since: Some(Instant::now()), evict: evict.clone() };
        state.slots.insert(number, slot);
        ClientSlot { number, evict, limit: self.clone() }
    }

    fn state(&self) -> MutexGuard<'_, LimitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LimitState {
    /// Returns the connection that has been idle longest and the start of its idle time.
    fn longest_idle(&self) -> Option<(u64, Instant)> {
        let since = |(number, slot): (&u64, &Slot)| Some((*number, slot.idle_since?));
        self.slots.iter().filter_map(since).min_by_key(|(_, since)| *since)
    }
}

impl ClientSlot {
    /// Starts the idle time.
    pub(super) fn set_idle(&self) {
        self.set_idle_since(Some(Instant::now()));
        self.limit.changed.notify_one();
    }

    /// Ends the idle time: a request is running, or the connection may stay idle.
    pub(super) fn set_busy(&self) {
        self.set_idle_since(None);
    }

    /// Waits for the eviction.
    pub(super) async fn evicted(&self) {
        self.evict.notified().await;
    }

    fn set_idle_since(&self, since: Option<Instant>) {
        if let Some(slot) = self.limit.state().slots.get_mut(&self.number) {
            slot.idle_since = since;
        }
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        self.limit.state().slots.remove(&self.number);
        self.limit.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if a slot is available at once.
    async fn has_room(limit: &ConnectionLimit) -> bool {
        tokio::time::timeout(Duration::ZERO, limit.wait_for_slot()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn connection_idle_longest_is_evicted() {
        let limit = Arc::new(ConnectionLimit::default());
        let mut connections: Vec<ClientSlot> =
            (0..MAX_CONNECTIONS - 1).map(|_| limit.register()).collect();
        for connection in &connections {
            connection.set_busy();
        }
        let idle = limit.register();
        assert!(!has_room(&limit).await, "its idle time is too short");
        limit.wait_for_slot().await;
        let next = limit.register();
        idle.evicted().await;
        drop(idle);
        next.set_busy();
        assert!(!has_room(&limit).await, "all are busy");
        connections.pop();
        assert!(has_room(&limit).await, "one was closed");
    }
}
