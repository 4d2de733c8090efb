//! Figures that the operating system reports about this process.

use std::fmt;
use std::fs;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::page::Page;
use super::table::{CPU, MAX_FDS, OPEN_FDS, PROCESS_START, RESIDENT};

/// USER_HZ, the unit of the start time in `/proc`; 100 on every Linux architecture.
const TICKS_PER_SECOND: f64 = 100.0;

/// Writes one reading of `/proc/self`. Values that cannot be read are left out of the page.
pub(super) fn encode(page: &mut Page<'_>) -> fmt::Result {
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let max_fds = getrlimit(Resource::Nofile).current;
    page.counter(CPU, cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9)?;
    for (metric, value) in [
        (RESIDENT, resident_bytes()),
        (OPEN_FDS, open_fds()),
        (MAX_FDS, max_fds.map(|max| max as f64)),
        (PROCESS_START, start_seconds()),
    ] {
        if let Some(value) = value {
            page.gauge(metric, value)?;
        }
    }
    Ok(())
}

fn open_fds() -> Option<f64> {
    let fds = fs::read_dir("/proc/self/fd").ok()?;
    // One of the descriptors belongs to the reading itself.
    Some(fds.count().saturating_sub(1) as f64)
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
