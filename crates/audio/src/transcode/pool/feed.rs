//! Input end of a stream's queue.

use std::sync::Arc;

use media::{Item, Kind, TrackId};

use super::job::{Input, Job};
use super::{Monitor, Ready};

/// Input of a stream's transcoder; it never waits. Dropping it ends the stream's transcoding.
pub struct Feed {
    ready: Arc<Ready>,
    job: Arc<Job>,
    /// Track that is transcoded: the first one with audio.
    track: Option<TrackId>,
}

impl Feed {
    pub(super) const fn new(ready: Arc<Ready>, job: Arc<Job>) -> Self {
        Self {
            ready,
            job,
            track: None,
        }
    }

    /// Takes one item. Only the first of the stream's tracks with audio counts, until the next epoch; everything else is
    /// ignored.
    pub fn push(&mut self, item: &Item) {
        match item {
            Item::Epoch => self.track = None,
            Item::Track(track) if self.wants(track.id, track.kind) => {
                self.track = Some(track.id);
                self.enqueue(Input::Track(Arc::clone(track)));
            }
            Item::Sample(sample) if self.track == Some(sample.track) => {
                self.enqueue(Input::Sample(sample.clone()));
            }
            _ => {}
        }
    }

    /// Returns a view of the transcoder's state.
    pub fn monitor(&self) -> Monitor {
        self.job.monitor()
    }

    fn wants(&self, id: TrackId, kind: Kind) -> bool {
        kind == Kind::Audio && self.track.is_none_or(|track| track == id)
    }

    fn enqueue(&self, input: Input) {
        if self.job.enqueue(input) {
            self.ready.push(Arc::clone(&self.job));
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        if self.job.close() {
            self.ready.push(Arc::clone(&self.job));
        }
    }
}
