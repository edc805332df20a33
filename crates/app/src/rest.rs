//! What a process that serves gives back while nobody asks it for anything.
//!
//! A daemon waits far longer than it works. The code that its last command ran stays mapped until somebody needs the
//! memory, and so does what the allocator keeps for the next command. Both are let go after a moment of quiet: code comes
//! back from the system's cache of the program's file as it is run.

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
pub(crate) struct Use;

impl Use {
    pub(crate) fn begin() -> Self {
        used();
        Self
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        used();
    }
}

/// Gives back memory whenever it has been quiet, for as long as the process lives.
pub(crate) async fn keep() {
    loop {
        let uses = USES.load(Ordering::Relaxed);
        tokio::time::sleep(QUIET).await;
        if USES.load(Ordering::Relaxed) == uses {
            give_back();
            // Word of a use before that may still be there.
            while USES.load(Ordering::Relaxed) == uses {
                USED.notified().await;
            }
        }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(
    unsafe_code,
    reason = "only mappings of files that cannot be written to are let go, which read the same ever after; and the \
    allocator is asked for what it does by itself at times"
)]
fn give_back() {
    use rustix::mm::{Advice, madvise};

    unsafe extern "C" {
        fn malloc_trim(kept: usize) -> i32;
    }

    unsafe { malloc_trim(0) };
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    for (start, end) in maps.lines().filter_map(code) {
        _ = unsafe { madvise(start as *mut _, end - start, Advice::LinuxDontNeed) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}

/// Where the code of a file is mapped, if this line of `/proc/self/maps` says so. What may be written to, or was while
/// the program was loaded, is never marked as code.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn code(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (rights, path) = (words.next()?, words.nth(3)?);
    let address = |digits| usize::from_str_radix(digits, 16).ok();
    (rights == "r-xp" && path.starts_with('/')).then_some((address(start)?, address(end)?))
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn code_of_files_is_given_back_and_nothing_else() {
        let code = |rest: &str| code(&format!("00516000-011dd000 {rest}"));
        let file = "0031d000 fe:00 262 /usr/bin/agbrowse";
        assert_eq!(code(&format!("r-xp {file}")), Some((0x0051_6000, 0x011d_d000)));
        assert_eq!(code(&format!("r--p {file}")), None);
        assert_eq!(code(&format!("rwxp {file}")), None);
        assert_eq!(code("rw-p 00000000 00:00 0 [heap]"), None);
        assert_eq!(code("r-xp 00000000 00:00 0 [vdso]"), None);
        assert_eq!(code("r-xp 00000000 00:00 0"), None);
    }

    #[test]
    fn a_process_goes_on_after_it_gave_back() {
        let before: Vec<String> = (0..1000).map(|number| number.to_string()).collect();
        give_back();
        assert_eq!(before, (0..1000).map(|number| number.to_string()).collect::<Vec<_>>());
    }
}
