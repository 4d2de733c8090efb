//! Figures that the operating system reports about this process.

use std::fmt;
use std::fs;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::page::Page;
use super::table::{CPU, MAX_FDS, OPEN_FDS, PROCESS_START, RESIDENT};

/// USER_HZ, the unit of the start time in `/proc`; 100 on every Linux architecture.
const TICKS_PER_SECOND: f64 = 100.0;

/// One reading of `/proc/self`. Values that cannot be read are left out of the page.
pub(super) struct Process {
    cpu_seconds: f64,
    resident_bytes: Option<f64>,
    open_fds: Option<f64>,
    max_fds: Option<f64>,
    start_seconds: Option<f64>,
}

impl Process {
    pub(super) fn now() -> Self {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let fds = fs::read_dir("/proc/self/fd").ok();
        Self {
            cpu_seconds: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            resident_bytes: resident_bytes(),
            // One of the descriptors belongs to the reading itself.
            open_fds: fds.map(|fds| fds.count().saturating_sub(1) as f64),
            max_fds: getrlimit(Resource::Nofile).current.map(|max| max as f64),
            start_seconds: start_seconds(),
        }
    }

    pub(super) fn encode(&self, page: &mut Page<'_>) -> fmt::Result {
        page.counter(CPU, self.cpu_seconds)?;
        for (metric, value) in [
            (RESIDENT, self.resident_bytes),
            (OPEN_FDS, self.open_fds),
            (MAX_FDS, self.max_fds),
            (PROCESS_START, self.start_seconds),
        ] {
            if let Some(value) = value {
                page.gauge(metric, value)?;
            }
        }
        Ok(())
    }
}

fn resident_bytes() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024.0)
}

fn start_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // Field 22 of proc(5); the name, field 2, may contain spaces and ends with the last bracket.
    let ticks: f64 = stat.rsplit(") ").next()?.split(' ').nth(19)?.parse().ok()?;
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot: f64 = boot
        .lines()
        .find_map(|line| line.strip_prefix("btime "))?
        .parse()
        .ok()?;
    Some(boot + ticks / TICKS_PER_SECOND)
}
