//! One line on a terminal that says how far a download is.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::{amount, span};

/// How often the line is drawn anew: more often nobody can read.
const EVERY: Duration = Duration::from_millis(100);
/// Columns of the bar itself.
const WIDTH: u64 = 40;

/// A progress line, redrawn in place.
pub(super) struct Bar {
    begun: Instant,
    /// What was there before the download began or resumed; it says nothing about the speed.
    first: u64,
    drawn: Option<Instant>,
}

impl Bar {
    pub(super) fn new(first: u64) -> Self {
        Self { begun: Instant::now(), first, drawn: None }
    }

    /// Draw the line if the last one is old enough.
    pub(super) fn show(&mut self, done: u64, total: Option<u64>) {
        if self.drawn.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        self.drawn = Some(Instant::now());
        let line = line(done, total, done.saturating_sub(self.first), self.begun.elapsed());
        let mut stderr = io::stderr();
        let _ = write!(stderr, "\r\x1b[K{line}").and_then(|()| stderr.flush());
    }

    /// Take the line away, so that something else can be said there.
    pub(super) fn clear(&mut self) {
        if self.drawn.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn line(done: u64, total: Option<u64>, fresh: u64, elapsed: Duration) -> String {
    let millis = (elapsed.as_millis() as u64).max(1);
    let speed = fresh.saturating_mul(1000) / millis;
    let Some(total) = total.filter(|total| *total > 0) else {
        return format!("{}, {}/s", amount(done), amount(speed));
    };
    let full = (done.min(total) as u128 * u128::from(WIDTH) / u128::from(total)) as usize;
    let left = match total.saturating_sub(done).saturating_mul(1000).checked_div(speed) {
        Some(millis) => format!(", {} left", span(millis)),
        None => String::new(),
    };
    format!(
        "{}{} {} of {}, {}/s{left}",
        "█".repeat(full),
        "░".repeat(WIDTH as usize - full),
        amount(done),
        amount(total),
        amount(speed),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_share_speed_and_what_is_left() {
        let text = line(50_000_000, Some(200_000_000), 10_000_000, Duration::from_secs(2));
        assert_eq!(text.matches('█').count(), 10);
        assert_eq!(text.matches('░').count(), 30);
        assert!(text.ends_with("50 MB of 200 MB, 5 MB/s, 30 s left"), "{text}");
    }

    #[test]
    fn odd_numbers_draw_a_line_all_the_same() {
        let still = line(0, Some(10), 0, Duration::ZERO);
        assert!(!still.contains("left"), "{still}");
        let more = line(20, Some(10), 20, Duration::from_secs(1));
        assert_eq!(more.matches('█').count(), 40);
        assert!(!line(5, None, 5, Duration::from_secs(1)).contains('█'));
        assert!(!line(5, Some(0), 5, Duration::from_secs(1)).contains('█'));
    }
}
