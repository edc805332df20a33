//! Check `shared-memory`: size of `/dev/shm`.

use super::{Finding, Severity};
use crate::config::Config;
use browser::launch::shared_memory_mb;

/// Below this size, pages crash when Chromium uses `/dev/shm`.
const MIN_MB: u64 = 256;

pub(super) async fn run(_config: &Config) -> Finding {
    finding(shared_memory_mb())
}

fn finding(size_mb: Option<u64>) -> Finding {
    match size_mb {
        None => Finding::new(Severity::Info, "no limit: this system does not use `/dev/shm`"),
        Some(mb) if mb < MIN_MB => {
            let detail = format!(
                "{mb} MB, less than {MIN_MB} MB; the browser is launched with \
                 `--disable-dev-shm-usage`, which is slower"
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
    fn small_shared_memory_is_a_warning() {
        for (mb, severity) in [
            (None, Severity::Info),
            (Some(0), Severity::Warn),
            (Some(64), Severity::Warn),
            (Some(MIN_MB - 1), Severity::Warn),
            (Some(MIN_MB), Severity::Info),
            (Some(1 << 20), Severity::Info),
        ] {
            let found = finding(mb);
            assert_eq!(found.severity, severity, "{mb:?}");
            assert_eq!(found.fix.is_some(), !found.ok, "{mb:?}");
        }
    }
}
