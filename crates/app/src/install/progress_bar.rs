//! Download progress on stderr: an `indicatif` bar on a terminal, plain lines elsewhere.

use std::time::Duration;
use std::{fmt, io};

use anstream::{AutoStream, ColorChoice};
use indicatif::{
    HumanDuration, ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle,
};

use super::size_text;

/// Bytes per plain line of a download of unknown size.
const PLAIN_STEP: u64 = 25_000_000;

/// Progress of one download. Dropping it clears the bar.
pub(super) struct DownloadProgress {
    bar: ProgressBar,
    has_colors: bool,
    /// The last plain line's tenth, or its number of [`PLAIN_STEP`]s.
    printed: u64,
}

impl DownloadProgress {
    /// Starts at the offset of a resumed download. The bar is hidden when stderr is no terminal or a dumb one.
    pub(super) fn on_stderr(offset: u64, total: Option<u64>) -> Self {
        let has_colors = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
        Self::new(offset, total, ProgressDrawTarget::stderr(), has_colors)
    }

    fn new(offset: u64, total: Option<u64>, target: ProgressDrawTarget, has_colors: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, target)
            .with_position(offset)
            .with_finish(ProgressFinish::AndClear);
        let progress = Self { bar, has_colors, printed: 0 };
        progress.set_total(total);
        // The tick records the offset, the reset makes it the start of the speed estimate.
        progress.bar.tick();
        progress.bar.reset_eta();
        progress
    }

    /// Redraws the bar; without one, returns the plain line that is due.
    pub(super) fn update(&mut self, done: u64, total: Option<u64>) -> Option<String> {
        if self.bar.is_hidden() {
            let reached = plain_step(done, total);
            let is_due = reached > self.printed;
            self.printed = self.printed.max(reached);
            return is_due.then(|| match total {
                Some(total) => format!("{} % of {}", reached * 10, size_text(total)),
                None => size_text(done),
            });
        }
        if self.bar.length() != total {
            self.set_total(total);
        }
        self.bar.set_position(done);
        if total == Some(done) {
            self.bar.finish_and_clear();
        }
        None
    }

    /// A bar for a known size, a spinner for an unknown one.
    fn set_total(&self, total: Option<u64>) {
        // The style first: a change of the length redraws the bar.
        self.bar.set_style(style(total.is_some(), self.has_colors));
        match total {
            Some(total) => self.bar.set_length(total),
            None => self.bar.unset_length(),
        }
    }
}

fn style(has_total: bool, has_colors: bool) -> ProgressStyle {
    let template = match (has_total, has_colors) {
        (true, true) => {
            "{wide_bar:.cyan/dim} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}{left}"
        }
        (true, false) => {
            "{wide_bar} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}{left}"
        }
        (false, true) => "{spinner:.cyan} {decimal_bytes}, {decimal_bytes_per_sec}",
        (false, false) => "{spinner} {decimal_bytes}, {decimal_bytes_per_sec}",
    };
    ProgressStyle::with_template(template)
        .expect("a valid template")
        .progress_chars("█▉▊▋▌▍▎▏░")
        .with_key("left", write_remaining_time)
}

/// Writes the remaining time, unless the speed is unknown or it is less than a second.
fn write_remaining_time(state: &ProgressState, out: &mut dyn fmt::Write) {
    let eta = state.eta();
    if eta >= Duration::from_secs(1) {
        // Writing to a `String` cannot fail.
        _ = write!(out, ", {:#} left", HumanDuration(eta));
    }
}

/// Completed tenths, or completed [`PLAIN_STEP`]s of an unknown size.
fn plain_step(done: u64, total: Option<u64>) -> u64 {
    match total {
        Some(0) => 10,
        Some(total) => done.saturating_mul(10) / total,
        None => done / PLAIN_STEP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::InMemoryTerm;

    const MB: u64 = 1_000_000;

    fn on_terminal(offset: u64, total: Option<u64>) -> (DownloadProgress, InMemoryTerm) {
        let terminal = InMemoryTerm::new(5, 100);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        (DownloadProgress::new(offset, total, target, false), terminal)
    }

    #[test]
    fn bar_shows_share_size_and_speed() {
        let (mut progress, terminal) = on_terminal(0, Some(200 * MB));
        assert_eq!(progress.update(50 * MB, Some(200 * MB)), None);
        let line = terminal.contents();
        let (full, empty) = (line.matches('█').count(), line.matches('░').count());
        assert!(full * 3 <= empty + 3 && empty <= full * 3 + 3, "a quarter is full: {line}");
        assert!(line.contains(" 50.00 MB of 200.00 MB, ") && line.contains("/s"), "{line}");
        assert!(line.chars().count() <= 100 && !line.contains('\n'), "{line}");
    }

    #[test]
    fn remaining_time_is_shown_once_the_speed_is_known() {
        let (mut progress, terminal) = on_terminal(0, Some(200 * MB));
        assert!(terminal.contents().ends_with("0 B/s"), "{}", terminal.contents());
        progress.update(1, Some(200 * MB));
        assert!(terminal.contents().ends_with(" left"), "{}", terminal.contents());
    }

    #[test]
    fn resumed_bytes_do_not_count_as_speed() {
        let (progress, terminal) = on_terminal(150 * MB, Some(200 * MB));
        assert_eq!(progress.bar.per_sec(), 0.0);
        assert!(terminal.contents().contains("150.00 MB of 200.00 MB"), "{}", terminal.contents());
    }

    #[test]
    fn unknown_size_shows_a_spinner_with_bytes() {
        let (mut progress, terminal) = on_terminal(0, None);
        progress.update(50 * MB, None);
        let line = terminal.contents();
        assert!(line.contains(" 50.00 MB, ") && !line.contains(['█', '░']), "{line}");
        // A restarted download may have a size.
        progress.update(10 * MB, Some(20 * MB));
        let line = terminal.contents();
        assert!(line.contains("10.00 MB of 20.00 MB"), "{line}");
    }

    #[test]
    fn completed_and_dropped_bars_are_cleared() {
        let (mut progress, terminal) = on_terminal(0, Some(MB));
        progress.update(MB, Some(MB));
        assert_eq!(terminal.contents(), "");
        let (mut progress, terminal) = on_terminal(0, None);
        progress.update(MB, None);
        assert_ne!(terminal.contents(), "");
        drop(progress);
        assert_eq!(terminal.contents(), "");
    }

    #[test]
    fn without_a_terminal_there_is_a_line_per_tenth() {
        let lines = |total, done: &[u64]| -> Vec<String> {
            let mut progress = DownloadProgress::new(0, total, ProgressDrawTarget::hidden(), true);
            done.iter().filter_map(|&done| progress.update(done, total)).collect()
        };
        assert_eq!(
            lines(Some(20 * MB), &[0, MB, 2 * MB, 3 * MB, 20 * MB]),
            ["10 % of 20 MB", "100 % of 20 MB"]
        );
        assert_eq!(lines(None, &[0, 24 * MB, 26 * MB, 27 * MB, 60 * MB]), ["26 MB", "60 MB"]);
        assert_eq!(lines(Some(0), &[0]), ["100 % of 0 bytes"]);
    }
}
