//! The CPU clock of the calling thread.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time the calling thread has used so far, user and system together.
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
