//! The kernel's figures for a process: memory and processor time.

use std::time::Duration;

/// Returns the resident memory of a process in bytes.
///
/// # Panics
/// Panics if there is no such process.
pub(crate) fn resident_bytes(pid: u32) -> u64 {
    let status = file(pid, "status");
    let field = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = field.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or_else(|| panic!("no VmRSS in {status}")) * 1024
}

/// Returns the processor time that a process has used so far, in user space and the kernel.
///
/// # Panics
/// Panics if there is no such process.
pub(crate) fn cpu_time(pid: u32) -> Duration {
    let stat = file(pid, "stat");
    // utime and stime are fields 14 and 15; the name before them may contain spaces (proc(5)).
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let ticks: u64 = after_name
        .split(' ')
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    // USER_HZ is 100 on every Linux architecture that this runs on.
    Duration::from_millis(ticks * 10)
}

/// Returns how often each thread of a process has slept, or waited for something.
pub(crate) fn sleeps(pid: u32) -> Vec<u64> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    // Threads may end meanwhile.
    let of = |thread: std::fs::DirEntry| -> Option<u64> {
        let status = std::fs::read_to_string(thread.path().join("status")).ok()?;
        let mut lines = status.lines();
        let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        count.trim().parse().ok()
    };
    threads.flatten().filter_map(of).collect()
}

/// Returns the processes that the main thread of a process has started.
///
/// # Panics
/// Panics if there is no such process.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    file(pid, &format!("task/{pid}/children"))
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

fn file(pid: u32, name: &str) -> String {
    let path = format!("/proc/{pid}/{name}");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
