//! The writing ends of a stream: its lanes, taps and spools, and the format promised to their readers.
//!
//! All of them receive the written items in one order; only lanes receive the derived track. Each keeps its own past,
//! so none is held up by another. An end without a reader is closed at the next [look](Outputs::close_unread).

use std::sync::Arc;
use std::time::Instant;

use media::{Codec, Container, Item, TimedEvent, Track};

use super::Source;
use super::announced::Announced;
use super::spool::SpoolWriter;
use super::tap::TapWriter;
use crate::index::TitleChange;
use crate::lane::LaneWriter;

/// Lanes, taps and spools of one stream.
#[derive(Debug)]
pub(super) struct Outputs {
    pub(super) lanes: Vec<LaneWriter>,
    pub(super) taps: Vec<TapWriter>,
    pub(super) spools: Vec<SpoolWriter>,
    /// Container and media type promised to the current listeners.
    promised: (Container, String),
    /// Codec, sample rate and channels of the audio, including the last publisher's.
    audio: Option<(Codec, u32, u8)>,
    pub(super) listeners_peak: usize,
}

impl Outputs {
    /// Creates the empty set of a stream from `source`.
    pub(super) fn new(source: &Source) -> Self {
        Self {
            lanes: Vec::new(),
            taps: Vec::new(),
            spools: Vec::new(),
            promised: (source.container, source.content_type.clone()),
            audio: None,
            listeners_peak: 0,
        }
    }

    /// Returns the number of listeners, and records the maximum.
    pub(super) fn listeners(&mut self) -> usize {
        let now = self.lanes.iter().map(|lane| lane.lane.audience()).sum();
        self.listeners_peak = self.listeners_peak.max(now);
        now
    }

    /// Whether there are lanes (with current or recent listeners), taps or spools.
    pub(super) fn are_followed(&self) -> bool {
        !self.lanes.is_empty() || !self.taps.is_empty() || self.are_recorded()
    }

    /// Whether a recorder takes the items.
    pub(super) fn are_recorded(&self) -> bool {
        self.spools.iter().any(SpoolWriter::is_read)
    }

    /// Whether arrivals are wanted at once: there are taps, or lanes that are not for recorders alone.
    pub(super) fn are_awaited(&self) -> bool {
        let mut lanes = self.lanes.iter();
        !self.taps.is_empty() || lanes.any(|lane| !lane.lane.log.is_only_held())
    }

    /// Whether there are listeners that cannot request a keyframe, and no keyframe recent enough for the next joiner:
    /// the newest one `is_old`, or a lane has lost it.
    pub(super) fn want_keyframe(&self, is_old: bool) -> bool {
        let lacks_one = |lane: &LaneWriter| is_old || lane.has_lost_join();
        let mut lanes = self.lanes.iter();
        let is_lacking = lanes.any(|lane| lane.depends_on_joins() && lacks_one(lane));
        is_lacking || is_old && self.are_recorded()
    }

    /// Closes listeners that were promised another format; they may reconnect. For a source of unknown format its first
    /// bytes decide.
    pub(super) fn promise(&mut self, source: &Source) {
        if source.container == Container::Unknown {
            return;
        }
        let (container, content_type) = &self.promised;
        let is_same = *container == source.container && *content_type == source.content_type;
        if !is_same && *container != Container::Unknown {
            self.lanes.clear();
            self.spools.clear();
        }
        self.promised = (source.container, source.content_type.clone());
    }

    /// Begins another epoch.
    pub(super) fn begin_epoch(&mut self, epoch: u32, now: Instant) {
        for lane in &mut self.lanes {
            lane.begin_epoch(epoch, now);
        }
        for tap in &self.taps {
            tap.push(&Item::Epoch, None);
            tap.publish();
        }
        self.spools
            .iter()
            .for_each(|spool| spool.push(&Item::Epoch, now));
    }

    /// Passes an item on; readers see it after [`publish`](Self::publish).
    #[inline]
    pub(super) fn push(&mut self, item: &Item, announced: &Announced, now: Instant) {
        for lane in &mut self.lanes {
            lane.push(item, now);
        }
        if !self.taps.is_empty() {
            let kind = match item {
                Item::Sample(sample) => announced.kind(sample.track),
                _ => None,
            };
            self.taps.iter().for_each(|tap| tap.push(item, kind));
        }
        self.spools.iter().for_each(|spool| spool.push(item, now));
    }

    /// Passes an event on, and has lanes list it.
    pub(super) fn tell(&mut self, event: Arc<TimedEvent>, now: Instant) {
        for lane in &mut self.lanes {
            lane.tell(&event, now);
        }
        let item = Item::Event(event);
        self.taps.iter().for_each(|tap| tap.push(&item, None));
        self.spools.iter().for_each(|spool| spool.push(&item, now));
    }

    /// Has lanes list a title.
    pub(super) fn note_title(&self, change: &Arc<TitleChange>) {
        for lane in &self.lanes {
            lane.note_title(change);
        }
    }

    /// Records that the audio track has been passed on. Notifies the lanes if its encoding has changed.
    pub(super) fn note_audio(&mut self, track: &Track) {
        let form = (track.codec, track.sample_rate, track.channels);
        let former = self.audio.replace(form);
        if former.is_some_and(|former| former != form) {
            self.lanes.iter_mut().for_each(LaneWriter::change_audio);
        }
    }

    /// Makes pushed items readable, and closes lanes whose memory has run out.
    pub(super) fn publish(&mut self) {
        self.lanes.retain_mut(|lane| {
            lane.publish();
            if lane.has_failed() {
                tracing::warn!(
                    format = lane.lane.format.name,
                    "a format of a stream is closed: the memory for streams (fanout.log_mib) is used up"
                );
            }
            !lane.has_failed()
        });
        self.taps.iter().for_each(TapWriter::publish);
    }

    /// Returns the lanes that take the derived track.
    pub(super) fn takers(&mut self) -> impl Iterator<Item = &mut LaneWriter> {
        self.lanes.iter_mut().filter(|lane| lane.takes_derived)
    }

    /// Passes an item of the derived track on.
    pub(super) fn write_derived(&mut self, item: &Item, now: Instant) {
        for lane in self.takers() {
            lane.push(item, now);
            lane.publish();
        }
    }

    /// Returns the number of listeners of lanes that take the derived track.
    pub(super) fn derived_wanted(&self) -> usize {
        let takers = self.lanes.iter().filter(|lane| lane.takes_derived);
        takers.map(|lane| lane.lane.connected()).sum()
    }

    /// Ends the derived track. An idle lane holds only the past; the next listener begins with the present.
    pub(super) fn end_derived(&mut self) {
        self.lanes
            .retain(|lane| !lane.takes_derived || lane.lane.listeners() > 0);
    }

    /// Handles the departure of the publisher.
    pub(super) fn pause(&mut self) {
        self.lanes.iter_mut().for_each(LaneWriter::pause);
        self.spools.iter().for_each(SpoolWriter::pause);
    }

    /// Closes the ends that have no reader.
    pub(super) fn close_unread(&mut self, now: Instant) {
        self.lanes.retain_mut(|lane| !lane.is_idle(now));
        self.taps.retain(TapWriter::is_read);
        self.spools.retain(SpoolWriter::is_read);
    }

    /// Closes all ends: the stream has ended.
    pub(super) fn close(&mut self) {
        self.lanes.clear();
        self.taps.clear();
        self.spools.clear();
    }
}
