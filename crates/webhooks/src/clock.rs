//! The time that deliveries are due by.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::queue::{Millis, millis};

/// The time of day as it was at the start, and what has passed since: no change of the host's clock makes anything due
/// or late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Instant,
    at: Millis,
}

impl Clock {
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            began: Instant::now(),
            at: millis(since.unwrap_or_default()),
        }
    }

    pub(crate) fn millis(self) -> Millis {
        self.at + millis(self.began.elapsed())
    }
}
