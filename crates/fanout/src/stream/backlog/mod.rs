//! The recent past of a stream, with which a new lane begins.
//!
//! ```text
//! slot        1          2          3
//!        ├──────────┼──────────┼──────────┤  stream time
//! key    K    K       K     K       now
//!             └───────┴─ a whole segment: the backlog
//!                           └─ the newest group of pictures
//! ```
//!
//! A lane of segments begins with the whole of it, and so with a complete segment: HLS players do not begin before
//! there is one. All other lanes begin with the newest group of pictures.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use media::{Sample, Span, TICKS_PER_SECOND, Timestamp, TrackId};

use super::Settings;
use crate::policy::{BURST_SPAN_MAX, JOIN_AGE_MAX};

/// Upper bound on bytes kept. A group of pictures of a 20 Mb/s stream with keyframes every five seconds fits; beyond it
/// a new lane begins with the next keyframe.
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// Least span of media for which a bit rate is reported.
const MEASURED_MIN: Span = Span::from_millis(1_000);

/// Upper bound on samples: for streams of tiny samples.
const SAMPLES_MAX: usize = 16 * 1024;

/// Upper bound on the bytes that all streams together keep before their newest groups of pictures: the beginnings of
/// HLS for some sixty streams of 2 Mb/s. With more publishers, viewers of a stream that had none wait for a segment.
const OLDER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Recent samples, oldest first. With video, they begin at the last keyframe that is followed by a complete segment, or
/// else at the oldest one there is; without video, they cover the last few seconds. A group of pictures too old or too
/// large for a listener to start at is dropped.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    samples: VecDeque<Sample>,
    bytes: usize,
    /// Keyframes among the samples, including the first one; none without video. At most as many as samples.
    groups: VecDeque<Group>,
    /// Number of the first sample, counted since the backlog was empty.
    first: usize,
    /// Bytes of the newest group of pictures.
    newest_bytes: usize,
    older: OlderBytes,
}

/// Bytes before the newest group of pictures.
#[derive(Debug, Default)]
struct OlderBytes {
    own: usize,
    /// Total of all streams.
    all: Arc<AtomicUsize>,
}

impl OlderBytes {
    fn set(&mut self, bytes: usize) {
        self.all.fetch_add(bytes, Ordering::Relaxed);
        self.all.fetch_sub(self.own, Ordering::Relaxed);
        self.own = bytes;
    }

    fn is_too_much(&self) -> bool {
        self.own > 0 && self.all.load(Ordering::Relaxed) > OLDER_BYTES_MAX
    }
}

impl Drop for OlderBytes {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// A group of pictures.
#[derive(Clone, Copy, Debug)]
struct Group {
    begins: Timestamp,
    /// Number of its keyframe, counted as in [`Backlog::first`].
    sample: usize,
}

/// Extent of a backlog.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Least time kept without video.
    pub(super) burst: Span,
    /// Least number of bytes kept without video, as far as they are no older than [`BURST_SPAN_MAX`].
    pub(super) burst_bytes: u32,
    /// Slot of segments; see [`Segmentation::segment`](crate::Segmentation::segment).
    pub(super) segment: Span,
}

impl Extent {
    /// Returns the extent by a stream's rules.
    pub(super) fn of(settings: &Settings) -> Self {
        let audio = settings.audio.in_order();
        Self {
            burst: audio.burst,
            burst_bytes: audio.burst_bytes,
            segment: settings.segment,
        }
    }
}

impl Backlog {
    /// Creates the backlog of a stream that shares memory with those that have the same count of `older_bytes`.
    pub(super) fn new(older_bytes: Arc<AtomicUsize>) -> Self {
        let older = OlderBytes {
            own: 0,
            all: older_bytes,
        };
        Self {
            older,
            ..Self::default()
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(Arc::clone(&self.older.all));
    }

    /// Returns all samples.
    pub(super) fn samples(&self) -> impl DoubleEndedIterator<Item = &Sample> + Clone {
        self.samples.iter()
    }

    /// Returns the newest group of pictures, or, without video, all samples.
    pub(super) fn newest_group(&self) -> impl Iterator<Item = &Sample> {
        self.recent(false)
    }

    /// Returns the samples with which a lane begins: all if it `is_whole`, or else the [newest
    /// group](Self::newest_group).
    pub(super) fn recent(&self, is_whole: bool) -> impl Iterator<Item = &Sample> {
        let begins = match self.groups.back() {
            Some(newest) if !is_whole => newest.sample - self.first,
            _ => 0,
        };
        self.samples.range(begins..)
    }

    /// Returns the bits per second of its samples, once they span [`MEASURED_MIN`].
    pub(super) fn bitrate(&self) -> Option<u32> {
        let (oldest, newest) = (self.samples.front()?, self.samples.back()?);
        let span = newest.dts + newest.duration - oldest.dts;
        if span < MEASURED_MIN {
            return None;
        }
        let bits = i128::try_from(self.bytes).ok()? * 8;
        u32::try_from(bits * i128::from(TICKS_PER_SECOND) / i128::from(span.ticks())).ok()
    }

    /// Adds a sample of a stream whose video track, if it has one, is `video`.
    pub(super) fn push(&mut self, sample: Sample, video: Option<TrackId>, extent: Extent) {
        match video {
            Some(video) if sample.track == video && sample.keyframe => {
                if self.groups.is_empty() {
                    // Samples from before the video track was known.
                    self.clear();
                }
                self.groups.push_back(Group {
                    begins: sample.dts,
                    sample: self.first + self.samples.len(),
                });
                self.newest_bytes = 0;
                self.share();
            }
            // Samples before the first keyframe are of no use to a joiner.
            Some(_) if self.samples.is_empty() => return,
            Some(_) => {}
            None => self.forget_before(&sample, extent),
        }
        self.bytes += sample.bytes();
        self.newest_bytes += sample.bytes();
        self.samples.push_back(sample);
        if video.is_some() {
            while self.has_segment_without_oldest(extent.segment) {
                self.pop_group();
            }
            while self.is_too_much() || self.span() > JOIN_AGE_MAX {
                self.pop_group();
            }
        } else {
            while self.is_too_much() {
                self.pop();
            }
        }
    }

    /// Whether a lane of segments that began with the second group of pictures would have a complete segment: one ends
    /// at the first keyframe of the next slot, and lasts for two slots at the most.
    fn has_segment_without_oldest(&self, segment: Span) -> bool {
        let (Some(second), Some(last)) = (self.groups.get(1), self.groups.back()) else {
            return false;
        };
        let slot = |at: Timestamp| (at - Timestamp::ZERO).ticks() / segment.ticks().max(1);
        let newest = self.samples.back().map_or(last.begins, |newest| newest.dts);
        slot(last.begins) > slot(second.begins) || newest - second.begins >= segment + segment
    }

    fn is_too_much(&self) -> bool {
        self.bytes > BYTES_MAX || self.samples.len() > SAMPLES_MAX
    }

    /// Returns the span from the oldest sample to the newest.
    fn span(&self) -> Span {
        match (self.samples.front(), self.samples.back()) {
            (Some(oldest), Some(newest)) => newest.dts - oldest.dts,
            _ => Span::ZERO,
        }
    }

    fn forget_before(&mut self, newest: &Sample, extent: Extent) {
        // The sample in which the burst begins stays, so that a joiner gets the whole of it.
        while let [Some(oldest), Some(second)] = [0, 1].map(|at| self.samples.get(at)) {
            let age = newest.dts - second.dts;
            let left = self.bytes - oldest.bytes() + newest.bytes();
            let has_bytes = left >= extent.burst_bytes as usize || age >= BURST_SPAN_MAX;
            if age < extent.burst || !has_bytes {
                break;
            }
            self.pop();
        }
    }

    /// Drops older groups of pictures while all streams together have too many.
    fn share(&mut self) {
        self.older.set(self.bytes);
        while self.older.is_too_much() && self.groups.len() > 1 {
            self.pop_group();
        }
    }

    /// Drops the oldest group of pictures, or everything if there is no other.
    fn pop_group(&mut self) {
        self.groups.pop_front();
        let Some(next) = self.groups.front().copied() else {
            return self.clear();
        };
        while self.first < next.sample && !self.samples.is_empty() {
            self.pop();
        }
        self.older.set(self.bytes - self.newest_bytes);
    }

    fn pop(&mut self) {
        if let Some(oldest) = self.samples.pop_front() {
            self.bytes -= oldest.bytes();
            // Without video there is one group, which is the newest.
            self.newest_bytes = self.newest_bytes.min(self.bytes);
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests;
