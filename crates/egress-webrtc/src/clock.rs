//! Wall clock of one worker.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use webrtc::rtcp;

/// Wall clock of one worker. It reads the system clock once and counts on from there, so it never steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wall {
    began: Instant,
    ntp: u64,
}

impl Wall {
    pub(crate) fn now() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH);
        let unix = unix.unwrap_or_default();
        Self {
            began: Instant::now(),
            ntp: rtcp::ntp(unix),
        }
    }

    /// Returns the seconds since 1900 as 32.32 fixed point.
    pub(crate) fn ntp(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.began);
        self.ntp.wrapping_add(rtcp::ntp_span(since))
    }

    /// Returns the middle 32 bits of [`ntp`](Self::ntp), by which reports are identified.
    pub(crate) fn ntp_middle(&self, now: Instant) -> u32 {
        (self.ntp(now) >> 16) as u32
    }

    /// Returns the milliseconds since the clock was read, for short-lived records.
    pub(crate) fn millis(&self, now: Instant) -> u32 {
        now.saturating_duration_since(self.began).as_millis() as u32
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_wall_counts_on() {
        let wall = Wall::now();
        let later = wall.began + Duration::from_millis(1_500);
        assert_eq!(wall.ntp(later) - wall.ntp(wall.began), 3 << 31);
        assert_eq!(wall.millis(later), 1_500);
        let middle = wall.ntp_middle(later);
        assert_eq!(middle.wrapping_sub(wall.ntp_middle(wall.began)), 3 << 15);
    }
}
