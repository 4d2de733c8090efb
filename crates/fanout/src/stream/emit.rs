//! The events of a stream. All are emitted under the stream's lock, so they are in order.

use std::sync::Arc;

use super::Phase;
use super::core::Core;
use crate::events::{EndReason, EventKind};

impl Core {
    /// An epoch has begun; `is_first` if the stream has had none before.
    pub(super) fn tell_epoch(&self, is_first: bool) {
        if is_first {
            self.events.emit(EventKind::Began);
        }
        self.events.emit(EventKind::EpochBegan {
            epoch: self.epoch,
            source: Arc::clone(&self.incumbent.source),
        });
    }

    /// The publisher is about to be replaced.
    pub(super) fn tell_takeover(&self) {
        self.events.emit(EventKind::TakenOver {
            epoch: self.epoch,
            source: Arc::clone(&self.incumbent.source),
        });
    }

    /// The publisher has announced tracks.
    pub(super) fn tell_tracks(&self) {
        self.events.emit(EventKind::TracksChanged {
            epoch: self.epoch,
            tracks: self.announced.tracks.as_slice().into(),
        });
    }

    /// The publisher has left, and there is no other.
    pub(super) fn tell_left(&self) {
        self.events.emit(EventKind::PublisherLeft {
            epoch: self.epoch,
            linger: self.incumbent.settings.linger,
        });
    }

    /// The stream is about to end, unless it has.
    pub(super) fn tell_end(&self, reason: EndReason) {
        if self.phase != Phase::Ended {
            self.events.emit(EventKind::Ended { reason });
        }
    }
}
