//! State that is armed in the browser for one action, and released however that action ends.
//!
//! An action can be dropped at every await: its client disconnects, its deadline passes, a frame does not respond, `?`
//! returns early. Whatever it has armed (the event guard of a document, the interception of file choosers or drags, a
//! held mouse button) is owned by an [`ArmedState`]. Dropping it posts the calls that undo it; a session processes its
//! calls in order, so they come after the arming call, even if that is still in transit.

/// Releases armed state when dropped.
#[must_use = "what is armed is released when this is dropped"]
pub(crate) struct ArmedState(Option<Box<dyn FnOnce() + Send + Sync>>);

impl ArmedState {
    /// Owns state that `release` undoes. It runs in `drop`, so it posts calls and waits for none.
    pub(crate) fn new(release: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(release)))
    }

    /// Drops it without a release: the state was released by other means, or never took effect.
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
