//! Returns free heap memory to the system while a server process is idle.
//!
//! A daemon is idle most of the time. Memory that the allocator keeps for the next command is trimmed after a short idle
//! time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Idle time before the heap is trimmed: shorter than a model's thinking time, longer than a pause of a script.
const IDLE_TIME: Duration = Duration::from_secs(1);

/// Number of starts and ends of activities.
static ACTIVITY_COUNT: AtomicU64 = AtomicU64::new(0);
static ACTIVITY: Notify = Notify::const_new();

/// Records activity.
pub(crate) fn used() {
    ACTIVITY_COUNT.fetch_add(1, Ordering::Relaxed);
    ACTIVITY.notify_one();
}

/// Records activity when it is created and dropped.
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

/// Trims the heap after each idle time, for the lifetime of the process.
pub(crate) async fn keep() {
    loop {
        let count = ACTIVITY_COUNT.load(Ordering::Relaxed);
        tokio::time::sleep(IDLE_TIME).await;
        if ACTIVITY_COUNT.load(Ordering::Relaxed) == count {
            trim_heap();
            // A notification from before may still be pending.
            while ACTIVITY_COUNT.load(Ordering::Relaxed) == count {
                ACTIVITY.notified().await;
            }
        }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "`malloc_trim` has no safe wrapper")]
fn trim_heap() {
    unsafe extern "C" {
        fn malloc_trim(pad: usize) -> i32;
    }

    unsafe { malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim_heap() {}
