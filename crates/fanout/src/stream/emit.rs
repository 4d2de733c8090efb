//! The events of a stream. All are emitted under the stream's lock, so they are in order.

use std::sync::Arc;
use std::time::SystemTime;

use media::Title;

use super::core::Core;
use super::spool::SpoolWriter;
use super::{PLAYED_MAX, Phase, Played};
use crate::events::{EndReason, EventKind};
use crate::index::TitleChange;
use crate::lane::LaneWriter;

impl Core {
    /// An epoch has begun; `is_first` if the stream has had none before.
    pub(super) fn tell_epoch(&self, is_first: bool) {
        if is_first {
            self.events.emit(EventKind::Began);
        }
        self.events.emit(EventKind::EpochBegan {
            epoch: self.epoch,
            source: Arc::clone(&self.source),
        });
    }

    /// The publisher is about to be replaced.
    pub(super) fn tell_takeover(&self) {
        self.events.emit(EventKind::TakenOver {
            epoch: self.epoch,
            source: Arc::clone(&self.source),
        });
    }

    /// The publisher has announced tracks.
    pub(super) fn tell_tracks(&self) {
        self.events.emit(EventKind::TracksChanged {
            epoch: self.epoch,
            tracks: self.tracks.as_slice().into(),
        });
    }

    /// The title has changed, or not.
    pub(super) fn remember_title(&mut self, title: &Arc<Title>) {
        let title = (!title.is_empty()).then(|| Arc::clone(title));
        if title != self.title {
            self.title.clone_from(&title);
            if let Some(title) = &title {
                self.note_played(title);
            }
            self.change_title(self.epoch);
            self.news.ring();
            self.events.emit(EventKind::TitleChanged { title });
        }
    }

    fn note_played(&mut self, title: &Arc<Title>) {
        self.played.truncate(PLAYED_MAX - 1);
        self.played.push_front(Played {
            title: Arc::clone(title),
            since: SystemTime::now(),
        });
    }

    /// Lists the present title, which is new, as one of that epoch.
    pub(super) fn change_title(&mut self, epoch: u32) {
        let change = Arc::new(TitleChange {
            title: self.title.clone().unwrap_or_default(),
            at: self.timeline.written(),
            epoch,
        });
        for lane in &self.lanes {
            lane.note_title(&change);
        }
        self.title_change = Some(change);
    }

    /// The publisher has left, and there is no other.
    pub(super) fn publisher_left(&mut self) {
        self.phase = Phase::Lingering;
        self.linger_until = None;
        self.superseded = None;
        self.lanes.iter_mut().for_each(LaneWriter::pause);
        self.spools.iter().for_each(SpoolWriter::pause);
        self.events.emit(EventKind::PublisherLeft {
            epoch: self.epoch,
            linger: self.settings.linger,
        });
        self.news.ring();
    }

    /// The stream is about to end, unless it has.
    pub(super) fn tell_end(&self, reason: EndReason) {
        if self.phase != Phase::Ended {
            self.events.emit(EventKind::Ended { reason });
        }
    }
}
