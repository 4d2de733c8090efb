//! Clock for due times of deliveries.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::webhooks::queue::{Millis, millis};

/// Time of day at the start, plus the time elapsed since: changes of the host's clock make nothing due or late.
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
