//! Source of the current time for code that is not passed it: futures that a task polls.

use std::time::Instant;

#[cfg(feature = "testing")]
use std::sync::Arc;

/// The system's clock, or a test's.
#[derive(Clone, Default)]
pub(crate) enum Clock {
    #[default]
    System,
    #[cfg(feature = "testing")]
    Test(Arc<dyn Fn() -> Instant + Send + Sync>),
}

impl Clock {
    pub(crate) fn now(&self) -> Instant {
        match self {
            Self::System => Instant::now(),
            #[cfg(feature = "testing")]
            Self::Test(now) => now(),
        }
    }
}

base::debug!(Clock {});
