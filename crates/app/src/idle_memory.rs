//! What a process that serves gives back while nobody asks it for anything.
//!
//! A daemon waits far longer than it works. What the allocator keeps for the next command is given back to the system after
//! a moment of quiet.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// How long nothing must be asked. Shorter than a model thinks, longer than a script pauses.
const QUIET: Duration = Duration::from_secs(1);

/// Counts what this process was asked for.
static USES: AtomicU64 = AtomicU64::new(0);
static USED: Notify = Notify::const_new();

/// Notes that something is being asked.
pub(crate) fn used() {
    USES.fetch_add(1, Ordering::Relaxed);
    USED.notify_one();
}

/// Something that is being done: used when it begins and when it ends.
pub(crate) struct ActivityGuard;

impl ActivityGuard {
    pub(crate) fn begin() -> Self {
        used();
        Self
    }
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        used();
    }
}

/// Gives back memory whenever it has been quiet, for as long as the process lives.
pub(crate) async fn keep() {
    loop {
        let used_protocol = USES.load(Ordering::Relaxed);
        tokio::time::sleep(QUIET).await;
        if USES.load(Ordering::Relaxed) == used_protocol {
            give_back();
            // Word of a use before that may still be there.
            while USES.load(Ordering::Relaxed) == used_protocol {
                USED.notified().await;
            }
        }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "the allocator is asked for what it does by itself at times")]
fn give_back() {
    unsafe extern "C" {
        fn malloc_trim(kept: usize) -> i32;
    }

    unsafe { malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}
