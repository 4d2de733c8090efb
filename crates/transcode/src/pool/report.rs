//! What pages and metrics may know of a stream's transcoder.

use std::sync::Arc;
use std::time::Duration;

use base::Lock;

use crate::{Caveat, Stats, Unsupported};

/// A view of one stream's transcoder that outlives its feed.
#[derive(Clone)]
pub struct Monitor(pub(super) Arc<Lock<Report>>);

impl Monitor {
    /// Its state after the last step.
    pub fn report(&self) -> Report {
        self.0.lock().clone()
    }
}

/// The state of a stream's transcoder.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Report {
    /// What it is doing.
    pub state: State,
    /// What is lost of the present track.
    pub caveat: Option<Caveat>,
    /// Sums over all tracks of the feed.
    pub stats: Stats,
    /// Samples that were thrown away because the threads fell behind.
    pub dropped_samples: u64,
    /// Time the threads spent on it.
    pub busy: Duration,
}

/// What a stream's transcoder is doing.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum State {
    /// No sound has been announced yet.
    #[default]
    Waiting,
    /// Transcoding.
    Running,
    /// The source's track cannot be transcoded.
    Unsupported(Unsupported),
    /// Our own fault: it panicked, and was taken out of service.
    Broken,
}
