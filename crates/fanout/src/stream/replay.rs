//! Replay for new readers: the announcements in force, and the recent past.

use std::sync::Arc;
use std::time::Instant;

use media::{Container, Item, Kind, Sample, Timestamp, Track};

use super::core::Core;
use crate::lane::LaneWriter;
use crate::policy::Class;

impl Core {
    /// Returns the class of a lane that opens now.
    pub(super) fn class(&self, now: Instant) -> Class {
        let has_video = self.announced.video().is_some();
        let is_open = self.announced.tracks.is_empty() || self.clocks.may_announce_video(now);
        let may_get_video = self.incumbent.source.container == Container::Tracks && is_open;
        if has_video || may_get_video {
            Class::Video
        } else {
            Class::Audio
        }
    }

    /// Returns the newest keyframe, and its track.
    pub(super) fn keyframe(&self) -> Option<(Arc<Track>, Sample)> {
        let track = self.announced.first(Kind::Video)?;
        let picture = self.recent.keyframe(track.id)?;
        Some((Arc::clone(track), picture.clone()))
    }

    /// Returns the beginning of the recent past of an audio-only stream, for readers whose burst is a time; `None` with
    /// video, and if there is no sample as old.
    pub(super) fn burst_begins(&self) -> Option<Timestamp> {
        if self.announced.video().is_some() {
            return None;
        }
        self.recent
            .burst_begins(self.incumbent.settings.audio.burst)
    }

    /// Writes the announcements and the recent past to a lane that has just opened.
    pub(super) fn replay(&self, lane: &mut LaneWriter, now: Instant) {
        let is_segmented = lane.lane.index.is_some();
        let takes_bytes = lane.lane.policy.burst_bytes > 0;
        let since = self.burst_begins().filter(|_| !takes_bytes);
        let oldest = self.recent.samples(is_segmented, since).next();
        let begins = oldest.map(|oldest| oldest.dts);
        if let Some(begins) = begins {
            for event in self.recent.events.since(begins) {
                lane.tell(event, now);
            }
        }
        let has_title = self.announced.title.is_some();
        if let Some(change) = self.titles.change.as_ref().filter(|_| has_title) {
            lane.note_title(change);
        }
        let derived = self.derived.present.as_ref();
        let derived = derived.filter(|_| lane.takes_derived);
        let mut track = derived.and_then(|derived| derived.track.clone());
        let mut samples = derived
            .into_iter()
            .flat_map(|derived| &derived.recent)
            .skip_while(|sample| {
                begins.is_some_and(|begins| sample.dts + sample.duration <= begins)
            })
            .peekable();
        self.recall(is_segmented, since, |item, _| {
            // Placed after the publisher's own tracks, with each sample before later ones of other tracks.
            let is_track = matches!(item, Item::Track(_));
            if let Some(track) = track.take_if(|_| !is_track) {
                lane.push(&Item::Track(track), now);
            }
            if let Item::Sample(own) = item {
                while let Some(earlier) = samples.next_if(|sample| sample.dts < own.dts) {
                    lane.push(&Item::Sample(earlier.clone()), now);
                }
            }
            lane.push(item, now);
        });
        if let Some(track) = track {
            lane.push(&Item::Track(track), now);
        }
        for later in samples {
            lane.push(&Item::Sample(later.clone()), now);
        }
        lane.publish();
    }

    /// Replays recent announcements and samples of the publisher, from `since` on, for a reader of segments or of
    /// anything else; each sample with the kind of its track.
    pub(super) fn recall(
        &self,
        is_segmented: bool,
        since: Option<Timestamp>,
        mut tell: impl FnMut(&Item, Option<Kind>),
    ) {
        for item in self.announced.clone().into_items() {
            tell(&item, None);
        }
        for sample in self.recent.samples(is_segmented, since) {
            let kind = self.announced.kind(sample.track);
            tell(&Item::Sample(sample.clone()), kind);
        }
    }
}
