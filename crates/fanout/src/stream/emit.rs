//! The events of a stream. All are emitted under the stream's lock, so they are in order.

use std::sync::Arc;

use super::Phase;
use super::core::Core;
use crate::events::{EndReason, EventKind};

impl Core {
    /// Emits the beginning of an epoch; `is_first` if the stream has had none before.
    pub(super) fn tell_epoch(&self, is_first: bool) {
        if is_first {
            self.events.emit(EventKind::Began);
        }
        self.events.emit(EventKind::EpochBegan {
            epoch: self.epoch,
            source: Arc::clone(&self.incumbent.source),
        });
    }

    /// Emits the takeover; called before the publisher is replaced.
    pub(super) fn tell_takeover(&self) {
        self.events.emit(EventKind::TakenOver {
            epoch: self.epoch,
            source: Arc::clone(&self.incumbent.source),
        });
    }

    /// Emits the tracks that the publisher has announced.
    pub(super) fn tell_tracks(&self) {
        self.events.emit(EventKind::TracksChanged {
            epoch: self.epoch,
            tracks: self.announced.tracks.as_slice().into(),
        });
    }

    /// Emits that the publisher has left, and that there is no other.
    pub(super) fn tell_left(&self) {
        self.events.emit(EventKind::PublisherLeft {
            epoch: self.epoch,
            linger: self.incumbent.settings.linger,
        });
    }

    /// Emits the end of the stream, unless it has ended; called before it ends.
    pub(super) fn tell_end(&self, reason: EndReason) {
        if self.phase != Phase::Ended {
            self.events.emit(EventKind::Ended { reason });
        }
    }
}
