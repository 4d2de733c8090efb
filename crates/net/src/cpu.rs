//! CPU clock of the calling thread, and the time that threads wait for a core.

use std::time::Duration;

use rustix::thread::gettid;
use rustix::time::{ClockId, clock_gettime};

/// Returns the CPU time that the calling thread has used so far, user and system together.
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Returns the kernel's ID of the calling thread. Never 0.
pub fn thread_id() -> u32 {
    gettid().as_raw_nonzero().get().unsigned_abs()
}

/// Returns the time for which a thread of this process has been ready to run without a core, since it began;
/// `None` where the kernel does not count that, or the thread has ended.
///
/// Reads a file of procfs: for use once a second.
pub fn thread_waited(thread: u32) -> Option<Duration> {
    let path = format!("/proc/self/task/{thread}/schedstat");
    waited(&std::fs::read_to_string(path).ok()?)
}

/// Parses the second number of `schedstat` (Documentation/scheduler/sched-stats.rst): nanoseconds on a run
/// queue.
fn waited(schedstat: &str) -> Option<Duration> {
    let nanos = schedstat.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_on_the_run_queue_is_the_second_number() {
        let got = waited("810233 68397 12\n");
        assert_eq!(got, Some(Duration::from_nanos(68_397)));
        assert_eq!(waited(""), None);
        assert_eq!(waited("1 x 2"), None);
        assert_eq!(thread_waited(0), None, "there is no such thread");
    }

    #[test]
    fn work_makes_it_advance() {
        let start = thread_time();
        let mut sum = 0_u64;
        while thread_time() == start {
            sum = sum.wrapping_add(std::hint::black_box(1));
        }
        assert!(thread_time() > start, "{sum}");
    }
}
