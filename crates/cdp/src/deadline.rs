//! Deadlines: a point in time that limits an operation. Passed down, never extended.

use std::time::Duration;
use tokio::time::Instant;

/// Deadline of a command. Every call takes one, so nothing waits for ever.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
    total: Duration,
}

impl Deadline {
    /// A deadline `total` from now.
    pub fn after(total: Duration) -> Self {
        Self { at: Instant::now() + total, total }
    }

    /// The earlier of this deadline and `limit` from now.
    pub fn at_most(self, limit: Duration) -> Self {
        let other = Self::after(limit);
        if other.at < self.at { other } else { self }
    }

    /// The instant of the deadline.
    pub fn at(self) -> Instant {
        self.at
    }

    /// The whole time allowed, as given to [`Deadline::after`].
    pub fn total(self) -> Duration {
        self.total
    }

    /// The remaining time; zero when the deadline has passed.
    pub fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// True when the deadline has passed.
    pub fn is_over(self) -> bool {
        self.left().is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn at_most_returns_the_earlier_deadline() {
        let minute = Deadline::after(Duration::from_secs(60));
        assert_eq!(minute.at_most(Duration::from_secs(5)).left(), Duration::from_secs(5));
        assert_eq!(minute.at_most(Duration::from_secs(90)).left(), Duration::from_secs(60));
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(minute.is_over());
    }
}
