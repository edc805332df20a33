//! Processes: run one with a time limit, find related ones, read their memory, wait for their end.
//!
//! Finding and reading need `/proc`; elsewhere nothing is found.

use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Poll interval of conditions.
const POLL: Duration = Duration::from_millis(5);

/// A process that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Exit status.
    pub status: ExitStatus,
    /// Time from just before its start until its end was noticed.
    pub elapsed: Duration,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Finished {
    /// Elapsed time in milliseconds.
    pub fn elapsed_ms(&self) -> f64 {
        self.elapsed.as_secs_f64() * 1000.0
    }
}

/// Runs a command to its end; kills it when that takes longer than `limit`.
///
/// # Errors
/// When it cannot be started or takes too long.
pub fn run(command: &mut Command, limit: Duration) -> std::io::Result<Finished> {
    // Files, not pipes: they need no reader, and a daemon that holds them open blocks nobody.
    let mut stdout = tempfile::tempfile()?;
    let mut stderr = tempfile::tempfile()?;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::from(stdout.try_clone()?))
        .stderr(Stdio::from(stderr.try_clone()?));
    // The standard library cannot wait with a limit. The watchdog thread is ready before the clock starts:
    // starting it would cost more than the command.
    let (sender, receiver) = mpsc::channel();
    let watchdog = thread::spawn(move || {
        let Ok(pid) = receiver.recv() else { return false };
        let is_late = receiver.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
        is_late && signal("KILL", pid).is_ok()
    });
    let began = Instant::now();
    let mut child = command.spawn()?;
    // The thread receives until both messages arrived, so this cannot fail.
    _ = sender.send(child.id());
    let status = child.wait();
    let elapsed = began.elapsed();
    _ = sender.send(0);
    if watchdog.join().unwrap_or_default() {
        return Err(std::io::Error::new(
            std::io::ErrorKind::TimedOut,
            format!("`{}` took longer than {limit:?}", command.get_program().display()),
        ));
    }
    Ok(Finished {
        status: status?,
        elapsed,
        stdout: text(&mut stdout)?,
        stderr: text(&mut stderr)?,
    })
}

/// A process, distinguished from a later one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    parent: u32,
    began: u64,
}

/// Finds the processes that name a folder in their command line or are among `roots`, with all their
/// descendants.
pub fn family(folder: &Path, roots: &[u32]) -> Vec<Process> {
    let all = all();
    let folder = folder.as_os_str().as_encoded_bytes();
    let names_folder = |process: &Process| {
        std::fs::read(format!("/proc/{}/cmdline", process.pid))
            .is_ok_and(|line| line.windows(folder.len()).any(|part| part == folder))
    };
    let (mut family, mut others): (Vec<Process>, Vec<Process>) = all
        .into_iter()
        .filter(|process| process.pid != std::process::id())
        .partition(|process| roots.contains(&process.pid) || names_folder(process));
    loop {
        let is_child = |process: &Process| family.iter().any(|parent| parent.pid == process.parent);
        let (children, rest): (Vec<Process>, Vec<Process>) = others.into_iter().partition(is_child);
        if children.is_empty() {
            return family;
        }
        family.extend(children);
        others = rest;
    }
}

/// Waits until processes have ended; returns those that have not.
pub fn wait_ended(mut processes: Vec<Process>, limit: Duration) -> Vec<Process> {
    let began = Instant::now();
    loop {
        processes.retain(|process| read(process.pid).is_some_and(|now| now.began == process.began));
        if processes.is_empty() || began.elapsed() > limit {
            return processes;
        }
        thread::sleep(POLL);
    }
}

/// Terminates processes, by force if necessary.
pub fn terminate(processes: Vec<Process>) {
    let mut left = processes;
    for (name, patience) in [("TERM", 2), ("KILL", 2)] {
        for process in &left {
            // A process that has just ended needs no signal.
            _ = signal(name, process.pid);
        }
        left = wait_ended(left, Duration::from_secs(patience));
    }
}

/// True when a process runs this program.
pub fn runs(pid: u32, program: &Path) -> bool {
    std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|path| path == program)
}

/// Resident memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Current, in kilobytes of 1,024 bytes.
    pub now_kb: u64,
    /// Peak.
    pub highest_kb: u64,
}

impl Memory {
    /// Current memory in megabytes of 1,000,000 bytes.
    pub fn now_mb(self) -> f64 {
        megabytes(self.now_kb)
    }

    /// Peak memory in megabytes of 1,000,000 bytes.
    pub fn highest_mb(self) -> f64 {
        megabytes(self.highest_kb)
    }
}

/// Converts kilobytes of 1,024 bytes to megabytes of 1,000,000 bytes.
pub fn megabytes(kb: u64) -> f64 {
    kb as f64 * 1024.0 / 1_000_000.0
}

/// Reads the memory of a process.
pub fn memory(pid: u32) -> Option<Memory> {
    memory_in(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

/// Reads the memory of the process with a given name, if there is one.
pub fn memory_of_named(name: &str) -> Option<Memory> {
    let is_it = |process: &Process| {
        let line = std::fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
        line.split(|byte| *byte == 0).next() == Some(name.as_bytes())
    };
    settled_memory(all().into_iter().find(is_it)?.pid)
}

/// Reads the memory of a process once it has been constant for two seconds, or after ten.
pub fn settled_memory(pid: u32) -> Option<Memory> {
    let mut last = memory(pid)?;
    let mut still = 0;
    for _ in 0..50 {
        thread::sleep(Duration::from_millis(200));
        let now = memory(pid)?;
        still = if now == last { still + 1 } else { 0 };
        if still == 10 {
            break;
        }
        last = now;
    }
    Some(last)
}

fn memory_in(status: &str) -> Option<Memory> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    Some(Memory { now_kb: field("VmRSS:")?, highest_kb: field("VmHWM:")? })
}

fn signal(name: &str, pid: u32) -> std::io::Result<()> {
    // Every shell has a built-in `kill`; not every system has the program.
    let mut kill = Command::new("sh");
    kill.args(["-c", "kill -\"$1\" \"$2\"", "sh", name, &pid.to_string()]);
    kill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().map(drop)
}

fn all() -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| read(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

/// Reads a live process. A zombie is none.
fn read(pid: u32) -> Option<Process> {
    parse(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(pid: u32, stat: &str) -> Option<Process> {
    // The name is in parentheses and may contain anything, parentheses too.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let is_over = matches!(*fields.first()?, "Z" | "X" | "x");
    let process =
        Process { pid, parent: fields.get(1)?.parse().ok()?, began: fields.get(19)?.parse().ok()? };
    (!is_over).then_some(process)
}

fn text(file: &mut std::fs::File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_with_any_name_is_parsed() {
        let stat = |state: &str| {
            format!(
                "7 (a) b) {state} 3 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0 18446744073709551615"
            )
        };
        assert_eq!(parse(7, &stat("S")), Some(Process { pid: 7, parent: 3, began: 4711 }));
        assert_eq!(parse(7, &stat("Z")), None);
        assert_eq!(parse(7, ""), None);
    }

    #[test]
    fn memory_is_read_from_status() {
        let status = "Name:\tx\nVmHWM:\t    9000 kB\nVmRSS:\t    7196 kB\n";
        assert_eq!(memory_in(status), Some(Memory { now_kb: 7196, highest_kb: 9000 }));
        assert_eq!(memory_in("Name:\tx\n"), None);
    }

    #[test]
    fn output_and_status_are_returned() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let finished = run(&mut command, Duration::from_secs(20)).unwrap();
        assert_eq!((finished.stdout.trim(), finished.stderr.trim()), ("out", "err"));
        assert_eq!(finished.status.code(), Some(3));
    }

    #[test]
    fn command_over_its_time_limit_is_killed() {
        let mut command = Command::new("sleep");
        command.arg("20");
        let began = Instant::now();
        let error = run(&mut command, Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn process_family_is_found_and_terminated() {
        let folder = tempfile::tempdir().unwrap();
        // The shell names the folder; the sleep is only its child.
        let script = format!("sleep 30; : {}", folder.path().display());
        let mut shell = Command::new("sh").args(["-c", &script]).spawn().unwrap();
        let began = Instant::now();
        let found = loop {
            let found = family(folder.path(), &[]);
            if found.len() == 2 || began.elapsed() > Duration::from_secs(10) {
                break found;
            }
            thread::sleep(POLL);
        };
        assert_eq!(found.len(), 2, "{found:?}");
        let reaper = thread::spawn(move || shell.wait());
        terminate(found.clone());
        reaper.join().unwrap().unwrap();
        assert!(wait_ended(found, Duration::from_secs(5)).is_empty());
    }
}
