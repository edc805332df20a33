//! The machine and the date of a benchmark run.

use crate::process;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// Description of the machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Available cores.
    pub cores: usize,
    /// Processor model, where the system reports it.
    pub processor: Option<String>,
    /// Memory in kilobytes of 1,024 bytes.
    pub memory_kb: Option<u64>,
    /// Operating system and its version.
    pub kernel: String,
    /// Load average of the last minute.
    pub load: Option<f64>,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cores", self.cores)?;
        if let Some(processor) = &self.processor {
            write!(f, " ({processor})")?;
        }
        if let Some(memory) = self.memory_kb {
            write!(f, ", {:.0} GB of memory", process::megabytes(memory) / 1000.0)?;
        }
        write!(f, ", {}", self.kernel)?;
        self.load.map_or(Ok(()), |load| write!(f, ", load {load} before"))
    }
}

/// Reads the machine's description.
pub fn read() -> Machine {
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    // Version numbers only; a vendor's suffix identifies the machine more than the kernel.
    let release = file("/proc/sys/kernel/osrelease");
    let release = release.split('-').next().unwrap_or_default();
    Machine {
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        processor: field(&file("/proc/cpuinfo"), "model name"),
        memory_kb: field(&file("/proc/meminfo"), "MemTotal")
            .and_then(|text| text.strip_suffix("kB")?.trim().parse().ok()),
        kernel: format!("{} {}", std::env::consts::OS, release.trim()).trim_end().to_owned(),
        load: file("/proc/loadavg").split(' ').next().and_then(|text| text.parse().ok()),
    }
}

/// Today in UTC, as `2026-01-31`.
pub fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs() / 86_400)
}

/// The date a number of days after 1970-01-01.
fn date(mut days: u64) -> String {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_converted_to_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (789, "1972-02-29"),
            (11_016, "2000-02-29"),
            (20_453, "2025-12-31"),
            (20_454, "2026-01-01"),
        ] {
            assert_eq!(date(days), expected);
        }
    }
}
