//! The kernel's figures about the server's processes and the machine.

use std::fs;

use serde::Serialize;

/// Maximum number of processes of a server: nginx has a master and a worker, others may have helpers.
const PROCESSES_MAX: usize = 256;
/// USER_HZ, on every Linux architecture that this runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// A snapshot of a server's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Look {
    /// Processor time so far, in seconds.
    user: f64,
    system: f64,
    /// User and system time together, by the scheduler's clock, of threads that still run; finer than the ticks above.
    precise: f64,
    threads: u64,
    resident_bytes: u64,
    /// Number of times that a thread went to sleep by itself and had to be woken.
    wakeups: u64,
}

/// Resources that a server used over the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Usage {
    /// Processor time as a share of one core: user and system.
    pub(crate) cpu: f64,
    /// Share in user space, measured in ticks of 10 ms.
    pub(crate) cpu_user: f64,
    /// Share in the kernel, measured in ticks of 10 ms.
    pub(crate) cpu_system: f64,
    /// Number of threads at the end.
    pub(crate) threads: u64,
    /// Resident memory before the first connection of this load.
    pub(crate) resident_bytes_before: u64,
    /// Resident memory at the end.
    pub(crate) resident_bytes: u64,
    /// Number of times per second that a sleeping thread was woken.
    pub(crate) wakeups_per_second: f64,
}

impl Look {
    /// Reads the counters of `pids` and the processes they have started. Processes that are gone count as nothing.
    pub(crate) fn at(pids: &[u32]) -> Self {
        let mut look = Self::default();
        let mut all: Vec<u32> = pids.to_vec();
        let mut next = 0;
        while let Some(pid) = all.get(next).copied() {
            next += 1;
            look.add(pid);
            for child in children(pid) {
                if all.len() < PROCESSES_MAX && !all.contains(&child) {
                    all.push(child);
                }
            }
        }
        look
    }

    fn add(&mut self, pid: u32) {
        let stat = read(&format!("/proc/{pid}/stat"));
        // The name before the fields may contain spaces; utime and stime are the 12th and 13th field behind it.
        let fields = stat.rsplit(") ").next().unwrap_or_default();
        let mut ticks = fields
            .split(' ')
            .skip(11)
            .map(|field| field.parse().unwrap_or(0.0));
        self.user += ticks.next().unwrap_or(0.0) / TICKS_PER_SECOND;
        self.system += ticks.next().unwrap_or(0.0) / TICKS_PER_SECOND;
        let status = read(&format!("/proc/{pid}/status"));
        self.resident_bytes += field(&status, "VmRSS:") * 1_024;
        for task in tasks(pid) {
            self.threads += 1;
            let status = read(&format!("{task}/status"));
            self.wakeups += field(&status, "voluntary_ctxt_switches:");
            let schedstat = read(&format!("{task}/schedstat"));
            let nanoseconds = schedstat.split(' ').next().unwrap_or_default();
            self.precise += nanoseconds.parse().unwrap_or(0.0) / 1e9;
        }
    }

    /// Returns the usage between `self` and `later`, which is `seconds` after it.
    pub(crate) fn until(&self, later: &Self, seconds: f64, before: &Self) -> Usage {
        let ticks = later.user + later.system - self.user - self.system;
        let precise = later.precise - self.precise;
        // A thread that ended took its count with it.
        let is_whole = precise >= 0.0 && self.threads == later.threads;
        Usage {
            cpu: if is_whole { precise } else { ticks }.max(0.0) / seconds,
            cpu_user: (later.user - self.user) / seconds,
            cpu_system: (later.system - self.system) / seconds,
            threads: later.threads,
            resident_bytes_before: before.resident_bytes,
            resident_bytes: later.resident_bytes,
            wakeups_per_second: later.wakeups.saturating_sub(self.wakeups) as f64 / seconds,
        }
    }
}

/// Returns whether the process exists.
pub(crate) fn is_running(pid: u32) -> bool {
    !read(&format!("/proc/{pid}/stat")).is_empty()
}

/// Returns the seconds that all processors together were idle so far.
pub(crate) fn idle_seconds() -> f64 {
    let stat = read("/proc/stat");
    let total = stat.lines().next().unwrap_or_default();
    // "cpu", user, nice, system, idle, iowait.
    let fields = total.split_whitespace().skip(4).take(2);
    let ticks: f64 = fields.filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / TICKS_PER_SECOND
}

/// Returns the number of datagrams that the machine has dropped so far because a receive buffer was full.
pub(crate) fn overflows() -> u64 {
    let mut total = 0;
    for path in ["/proc/net/snmp", "/proc/net/snmp6"] {
        let text = read(path);
        // IPv4: a line of names and one of values; IPv6: a name and a value per line.
        let mut lines = text.lines().filter(|line| line.starts_with("Udp: "));
        if let (Some(names), Some(values)) = (lines.next(), lines.next()) {
            let mut pairs = names.split(' ').zip(values.split(' '));
            let value = pairs.find(|(name, _)| *name == "RcvbufErrors");
            total += value.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
        }
        total += field(&text, "Udp6RcvbufErrors");
    }
    total
}

/// Returns the conditions on which every figure depends: kernel release and congestion control.
pub(crate) fn machine() -> (String, String) {
    let line = |path| read(path).trim().to_owned();
    (
        line("/proc/sys/kernel/osrelease"),
        line("/proc/sys/net/ipv4/tcp_congestion_control"),
    )
}

fn children(pid: u32) -> Vec<u32> {
    let lists = tasks(pid).map(|task| read(&format!("{task}/children")));
    let children: String = lists.collect();
    let pids = children.split_whitespace();
    pids.filter_map(|pid| pid.parse().ok()).collect()
}

fn tasks(pid: u32) -> impl Iterator<Item = String> {
    let folder = format!("/proc/{pid}/task");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    entries.map(move |entry| format!("{folder}/{}", entry.file_name().to_string_lossy()))
}

fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

/// Returns the file's text; empty for a process that is gone.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen() {
        let pids = [std::process::id()];
        let before = Look::at(&pids);
        let mut sum = 0_u64;
        while Look::at(&pids).precise < before.precise + 0.02 {
            sum = std::hint::black_box(sum + 1);
        }
        let usage = before.until(&Look::at(&pids), 0.1, &before);
        assert!(usage.cpu > 0.1, "{usage:?}");
        assert!(usage.threads >= 1 && usage.resident_bytes > 100_000);
        assert!(is_running(pids[0]) && !is_running(u32::MAX));
    }
}
