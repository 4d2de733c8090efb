//! State of a stream's transcoder, for pages and metrics.

use std::sync::Arc;
use std::time::Duration;

use base::Lock;

use crate::transcode::{Stats, Unsupported};

/// View of one stream's transcoder that outlives its feed.
#[derive(Clone)]
pub struct Monitor(pub(super) Arc<Lock<Report>>);

impl Monitor {
    /// Returns the state after the last step.
    pub fn report(&self) -> Report {
        self.0.lock().clone()
    }
}

/// State of a stream's transcoder.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Report {
    /// Current activity.
    pub state: State,
    /// Sums over all tracks of the feed.
    pub stats: Stats,
    /// Samples that were dropped because the threads fell behind.
    pub dropped_samples: u64,
    /// Time that the threads spent on it.
    pub busy: Duration,
}

/// Activity of a stream's transcoder.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum State {
    /// No audio has been announced yet.
    #[default]
    Waiting,
    /// The track is being transcoded.
    Running,
    /// The source's track cannot be transcoded.
    Unsupported(Unsupported),
    /// The transcoder panicked, which is our own fault, and was taken out of service.
    Broken,
}
