//! State that is armed in the browser for one action, and released however that action ends.
//!
//! An action can be cut off at every await: its client is killed, its time is over, a frame does not answer, `?` returns
//! early. Whatever it armed by then (the event guard in a document, a file chooser or drag that is intercepted, a mouse
//! button that is down) is owned by an [`ArmedState`]. Dropping that posts the calls that undo it; a session takes its calls
//! in order, so they come after whatever armed it, also where that is still on its way.

/// Releases what was armed for an action when it is dropped.
#[must_use = "what is armed is released when this is dropped"]
pub(crate) struct ArmedState(Option<Box<dyn FnOnce() + Send + Sync>>);

impl ArmedState {
    /// Owns something that `release` undoes. It is called in `drop`, so it posts calls and waits for none.
    pub(crate) fn new(release: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(release)))
    }

    /// Ends it without a release: it was released by other means, or never took effect.
    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for ArmedState {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ArmedState;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn it_is_released_once_unless_it_is_disarmed() {
        let count = Arc::new(AtomicU32::new(0));
        let armed = || {
            let count = count.clone();
            ArmedState::new(move || _ = count.fetch_add(1, Ordering::Relaxed))
        };
        armed().disarm();
        assert_eq!(count.load(Ordering::Relaxed), 0);
        drop(armed());
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
