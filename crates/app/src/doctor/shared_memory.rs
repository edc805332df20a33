//! Is there enough shared memory for the browser's processes?

use super::{Finding, Severity};
use crate::config::Config;
use browser::launch::shared_memory_mb;

/// Below this, pages crash when Chromium shares its memory through `/dev/shm`.
const NEEDED_MB: u64 = 256;

pub(super) async fn look(_config: &Config) -> Finding {
    finding(shared_memory_mb())
}

fn finding(size_mb: Option<u64>) -> Finding {
    match size_mb {
        None => Finding::new(Severity::Info, "this system has no `/dev/shm` that could be small"),
        Some(mb) if mb < NEEDED_MB => {
            let detail = format!(
                "{mb} MB of {NEEDED_MB} MB; the browser is started with `--disable-dev-shm-usage` \
                 instead, which is slower"
            );
            Finding::new(Severity::Warn, detail).fix(
                "start the container with `--shm-size=1g`, \
                 or run `mount -o remount,size=1g /dev/shm`",
            )
        }
        Some(mb) => Finding::new(Severity::Info, format!("{mb} MB")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_is_warned_about() {
        for (mb, severity) in [
            (None, Severity::Info),
            (Some(0), Severity::Warn),
            (Some(64), Severity::Warn),
            (Some(NEEDED_MB - 1), Severity::Warn),
            (Some(NEEDED_MB), Severity::Info),
            (Some(1 << 20), Severity::Info),
        ] {
            let found = finding(mb);
            assert_eq!(found.severity, severity, "{mb:?}");
            assert_eq!(found.fix.is_some(), !found.ok, "{mb:?}");
        }
    }
}
