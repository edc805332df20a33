//! Who is connected. When the house is full, whoever has been silent longest makes room: the daemon answers also when
//! somebody opens connections and says nothing on them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Clients served at the same time. More wait in the socket's queue.
const MOST: usize = 256;

/// A client that was let in has this long to say something before it may have to make room for another.
const GRACE: Duration = Duration::from_secs(1);

/// The connected clients.
#[derive(Default)]
pub(super) struct ConnectionLimit {
    house: Mutex<LimitState>,
    /// Somebody left, or fell silent. There is one who waits for it.
    news: Notify,
}

#[derive(Default)]
struct LimitState {
    guests: HashMap<u64, Slot>,
    next: u64,
}

struct Slot {
    /// Since when nothing was asked; `None` while a request is read or worked on, and for those who may be silent.
    silent_since: Option<Instant>,
    leave: Arc<Notify>,
}

/// One of the clients. Dropped, it has left.
pub(super) struct Connection {
    number: u64,
    leave: Arc<Notify>,
    all: Arc<ConnectionLimit>,
}

impl ConnectionLimit {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.house().guests.len()
    }

    /// Waits until there is a place, or somebody whose place can be had.
    pub(super) async fn room(&self) {
        loop {
            let next = match &*self.house() {
                house if house.guests.len() < MOST => return,
                house => house.silent().map(|(_, since)| since + GRACE),
            };
            match next {
                Some(at) if at <= Instant::now() => return,
                Some(at) => tokio::select! {
                    () = tokio::time::sleep_until(at) => {}
                    () = self.news.notified() => {}
                },
                None => self.news.notified().await,
            }
        }
    }

    /// Lets one more in. In a full house, who has been silent longest has to leave.
    pub(super) fn enter(self: &Arc<Self>) -> Connection {
        let mut house = self.house();
        if house.guests.len() >= MOST
            && let Some((number, _)) = house.silent()
            && let Some(seat) = house.guests.get_mut(&number)
        {
            seat.silent_since = None;
            seat.leave.notify_one();
        }
        house.next += 1;
        let (number, leave) = (house.next, Arc::new(Notify::new()));
        let seat = Slot { silent_since: Some(Instant::now()), leave: leave.clone() };
        house.guests.insert(number, seat);
        Connection { number, leave, all: self.clone() }
    }

    fn house(&self) -> MutexGuard<'_, LimitState> {
        self.house.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LimitState {
    /// Who has been silent longest, and since when.
    fn silent(&self) -> Option<(u64, Instant)> {
        let since = |(number, seat): (&u64, &Slot)| Some((*number, seat.silent_since?));
        self.guests.iter().filter_map(since).min_by_key(|(_, since)| *since)
    }
}

impl Connection {
    /// Nothing is asked from now on.
    pub(super) fn set_idle(&self) {
        self.since(Some(Instant::now()));
        self.all.news.notify_one();
    }

    /// Something is being asked, or it may be silent for as long as it likes.
    pub(super) fn set_busy(&self) {
        self.since(None);
    }

    /// Waits until it has to make room.
    pub(super) async fn evicted(&self) {
        self.leave.notified().await;
    }

    fn since(&self, since: Option<Instant>) {
        if let Some(seat) = self.all.house().guests.get_mut(&self.number) {
            seat.silent_since = since;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.all.house().guests.remove(&self.number);
        self.all.news.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether there is room at once.
    async fn has_room(guests: &ConnectionLimit) -> bool {
        tokio::time::timeout(Duration::ZERO, guests.room()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_silent_longest_makes_room() {
        let guests = Arc::new(ConnectionLimit::default());
        let mut all: Vec<Connection> = (0..MOST - 1).map(|_| guests.enter()).collect();
        for guest in &all {
            guest.set_busy();
        }
        let silent = guests.enter();
        assert!(!has_room(&guests).await, "it was let in just now");
        guests.room().await;
        let next = guests.enter();
        silent.evicted().await;
        drop(silent);
        next.set_busy();
        assert!(!has_room(&guests).await, "all are being served");
        all.pop();
        assert!(has_room(&guests).await, "one left");
    }
}
