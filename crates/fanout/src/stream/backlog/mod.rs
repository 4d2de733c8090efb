//! The recent past of a stream: what a lane that opens now begins with.
//!
//! ```text
//! slot        1          2          3
//!        ├──────────┼──────────┼──────────┤  stream time
//! key    K    K       K     K       now
//!             └───────┴─ a whole segment: the backlog
//!                           └─ the newest picture group
//! ```
//!
//! A lane of segments begins with the whole of it, and so with a segment that is complete: players of HLS do not begin
//! before there is one. All other lanes begin with the newest picture group.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use media::{Sample, Span, TICKS_PER_SECOND, Timestamp, TrackId};

use super::Settings;
use crate::policy::{BURST_SPAN_MAX, JOIN_AGE_MAX};

/// Bytes kept at the most. A group of pictures of a 20 Mb/s stream with keyframes every five
/// seconds fits; beyond it a new lane begins with the next keyframe.
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// Below this much media no bit rate is reported.
const MEASURED_MIN: Span = Span::from_millis(1_000);

/// Upper bound on samples: for streams of tiny samples.
const SAMPLES_MAX: usize = 16 * 1024;

/// What all streams together may keep before their newest picture groups: the beginnings of HLS for some sixty streams
/// of 2 Mb/s. With more publishers, viewers of a stream that had none wait for a segment.
const OLDER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Recent samples, oldest first: with video since the last keyframe from which on there is a complete segment, or since
/// the oldest one there is; without video the last few seconds. A picture group too old or too large for a listener to
/// start at is dropped.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    samples: VecDeque<Sample>,
    bytes: usize,
    /// The keyframes among them, the first one included; none without video. As many as samples at the most.
    groups: VecDeque<Group>,
    /// The sample that the first one is, counted since the backlog was empty.
    first: usize,
    /// Bytes of the newest picture group.
    newest_bytes: usize,
    older: OlderBytes,
}

/// Bytes before the newest picture group.
#[derive(Debug, Default)]
struct OlderBytes {
    own: usize,
    /// Those of all streams.
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

/// A picture group.
#[derive(Clone, Copy, Debug)]
struct Group {
    begins: Timestamp,
    /// Its keyframe, counted as [`Backlog::first`].
    sample: usize,
}

/// How much a backlog keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Without video: this time,
    pub(super) burst: Span,
    /// and at least as many bytes, as far as they are no older than [`BURST_SPAN_MAX`].
    pub(super) burst_bytes: u32,
    /// The slot of segments; see [`Segmentation::segment`](crate::Segmentation::segment).
    pub(super) segment: Span,
}

impl Extent {
    /// As a stream's rules say.
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
    /// Of a stream that shares memory with those that have the same count of `older_bytes`.
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

    /// All of it.
    pub(super) fn samples(&self) -> impl DoubleEndedIterator<Item = &Sample> + Clone {
        self.samples.iter()
    }

    /// The newest picture group, or, without video, all of it.
    pub(super) fn newest_group(&self) -> impl Iterator<Item = &Sample> {
        self.recent(false)
    }

    /// What a lane begins with: all of it if it `is_whole`, or else the [newest group](Self::newest_group).
    pub(super) fn recent(&self, is_whole: bool) -> impl Iterator<Item = &Sample> {
        let begins = match self.groups.back() {
            Some(newest) if !is_whole => newest.sample - self.first,
            _ => 0,
        };
        self.samples.range(begins..)
    }

    /// Bits per second of what it holds, once that is [`MEASURED_MIN`].
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
                    // From before the video track was known.
                    self.clear();
                }
                self.groups.push_back(Group {
                    begins: sample.dts,
                    sample: self.first + self.samples.len(),
                });
                self.newest_bytes = 0;
                self.share();
            }
            // Before the first keyframe nothing is of use to a joiner.
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

    /// Whether a lane of segments that began with the second picture group would have a complete segment: one ends at
    /// the first keyframe of the next slot, and lasts for two slots at the most.
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

    /// From the oldest sample to the newest.
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

    /// Gives older picture groups up while all streams together have too many.
    fn share(&mut self) {
        self.older.set(self.bytes);
        while self.older.is_too_much() && self.groups.len() > 1 {
            self.pop_group();
        }
    }

    /// Drops the oldest picture group, or everything if there is no other.
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
mod tests {
    use bytes::Bytes;
    use media::Timestamp;

    use super::*;

    const VIDEO: Option<TrackId> = Some(TrackId::VIDEO);

    fn extent(burst: Span) -> Extent {
        let segment = Span::from_millis(3_000);
        Extent {
            burst,
            burst_bytes: 0,
            segment,
        }
    }

    fn sample(track: TrackId, millis: i64, keyframe: bool, len: usize) -> Sample {
        let at = Timestamp::from_millis(millis);
        let data = Bytes::from(vec![0; len]);
        Sample {
            track,
            dts: at,
            pts: at,
            duration: Span::ZERO,
            keyframe,
            data,
            flv: None,
        }
    }

    fn millis(backlog: &Backlog) -> Vec<i64> {
        backlog
            .samples()
            .map(|sample| sample.dts.millis())
            .collect()
    }

    #[test]
    fn joiners_begin_at_the_last_keyframe() {
        let mut backlog = Backlog::default();
        let burst = Span::from_millis(4_000);
        for (at, key) in [
            (0, false),
            (40, true),
            (80, false),
            (120, true),
            (160, false),
        ] {
            backlog.push(sample(TrackId::VIDEO, at, key, 10), VIDEO, extent(burst));
            backlog.push(
                sample(TrackId::AUDIO, at + 5, true, 1),
                VIDEO,
                extent(burst),
            );
        }
        let newest: Vec<_> = backlog
            .newest_group()
            .map(|sample| sample.dts.millis())
            .collect();
        assert_eq!(newest, [120, 125, 160, 165]);
        assert_eq!(millis(&backlog), [40, 45, 80, 85, 120, 125, 160, 165]);
        assert_eq!(backlog.bytes, 44);
    }

    /// Where the backlog begins at each picture, of four a second; with the time of the picture, in milliseconds.
    fn begins(group: i64, until: i64) -> Vec<(i64, i64)> {
        let mut backlog = Backlog::default();
        let pictures = (0..until).step_by(250);
        let begins = pictures.map(|at| {
            let picture = sample(TrackId::VIDEO, at, at % group == 0, 10);
            backlog.push(picture, VIDEO, extent(Span::ZERO));
            (at, millis(&backlog)[0])
        });
        begins.collect()
    }

    #[test]
    fn it_begins_with_the_newest_segment_that_is_complete() {
        // Segments begin at 0, 4, 6, 10, 12, ... s.
        for (at, begins) in begins(2_000, 20_000) {
            let expected = match at {
                ..6_000 => [0, 2_000][usize::from(at >= 4_000)],
                6_000..10_000 => 4_000,
                10_000..12_000 => 8_000,
                12_000..16_000 => 10_000,
                16_000..18_000 => 14_000,
                _ => 16_000,
            };
            assert_eq!(begins, expected, "{at}");
        }
    }

    #[test]
    fn a_long_picture_group_is_enough_once_a_segment_is_complete() {
        for (at, begins) in begins(10_000, 40_000) {
            let group = at / 10_000 * 10_000;
            let is_enough = at - group >= 6_000 || group == 0;
            assert_eq!(
                begins,
                if is_enough { group } else { group - 10_000 },
                "{at}"
            );
        }
    }

    #[test]
    fn streams_share_the_memory_of_older_picture_groups() {
        let all = Arc::new(AtomicUsize::new(0));
        let mut backlogs: Vec<_> = (0..20).map(|_| Backlog::new(Arc::clone(&all))).collect();
        for at in [0, 1_000, 2_000] {
            for backlog in &mut backlogs {
                let picture = sample(TrackId::VIDEO, at, true, 4 << 20);
                backlog.push(picture, VIDEO, extent(Span::ZERO));
                assert!(all.load(Ordering::Relaxed) <= OLDER_BYTES_MAX);
            }
        }
        let kept = |count| {
            let has = |backlog: &&Backlog| backlog.groups.len() == count;
            backlogs.iter().filter(has).count()
        };
        // Those that came first have taken it.
        assert_eq!((kept(1), kept(2)), (4, 16));
        drop(backlogs);
        assert_eq!(all.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn older_picture_groups_are_given_up_first() {
        let mut backlog = Backlog::default();
        for (at, key) in [(0, true), (1_000, true), (1_250, false), (1_500, false)] {
            let picture = sample(TrackId::VIDEO, at, key, 5 << 20);
            backlog.push(picture, VIDEO, extent(Span::ZERO));
        }
        assert_eq!(millis(&backlog), [1_000, 1_250, 1_500]);
        assert_eq!(backlog.newest_group().count(), 3);
    }

    #[test]
    fn audio_keeps_the_burst() {
        let mut backlog = Backlog::default();
        for step in 0..100 {
            backlog.push(
                sample(TrackId::AUDIO, step * 100, true, 1),
                None,
                extent(Span::from_millis(450)),
            );
        }
        assert_eq!(millis(&backlog), [9_400, 9_500, 9_600, 9_700, 9_800, 9_900]);
        assert_eq!(backlog.bitrate(), None);
    }

    #[test]
    fn audio_keeps_the_bytes_of_a_burst_while_they_are_young() {
        let kept = |sample_bytes, burst_bytes| {
            let mut backlog = Backlog::default();
            for step in 0..1_000 {
                let extent = Extent {
                    burst_bytes,
                    ..extent(Span::from_millis(450))
                };
                backlog.push(
                    sample(TrackId::AUDIO, step * 100, true, sample_bytes),
                    None,
                    extent,
                );
            }
            99_900 - millis(&backlog)[0]
        };
        assert_eq!(kept(100, 2_000), 1_900, "twenty samples");
        assert_eq!(kept(1_000, 2_000), 500, "the time is longer");
        assert_eq!(kept(1, 2_000), 80_000);
    }

    #[test]
    fn a_bit_rate_is_what_there_was_of_late() {
        let mut backlog = Backlog::default();
        for step in 0..100 {
            let mut sample = sample(TrackId::AUDIO, step * 100, true, 1_600);
            sample.duration = Span::from_millis(100);
            backlog.push(sample, None, extent(Span::from_millis(4_000)));
        }
        assert_eq!(backlog.bitrate(), Some(128_000));
    }

    #[test]
    fn sound_whose_clock_stands_still_is_bounded_too() {
        let mut backlog = Backlog::default();
        for _ in 0..SAMPLES_MAX {
            backlog.push(
                sample(TrackId::AUDIO, 0, true, 1),
                None,
                extent(Span::from_millis(4_000)),
            );
        }
        for _ in 0..20 {
            backlog.push(
                sample(TrackId::AUDIO, 0, true, 8 << 20),
                None,
                extent(Span::from_millis(4_000)),
            );
            assert!(backlog.bytes <= BYTES_MAX);
        }
    }

    #[test]
    fn a_picture_group_without_end_is_given_up() {
        let mut backlog = Backlog::default();
        backlog.push(
            sample(TrackId::VIDEO, 0, true, 1),
            VIDEO,
            extent(Span::ZERO),
        );
        for step in 0..20 {
            backlog.push(
                sample(TrackId::VIDEO, step, false, 1024 * 1024),
                VIDEO,
                extent(Span::ZERO),
            );
            assert!(backlog.bytes <= BYTES_MAX);
        }
        assert!(millis(&backlog).is_empty());
    }

    #[test]
    fn a_keyframe_too_old_to_start_at_is_given_up() {
        let mut backlog = Backlog::default();
        let mut kept = Vec::new();
        for step in 0..40 {
            let keyframe = step == 0;
            let picture = sample(TrackId::VIDEO, step * 1_000, keyframe, 10);
            backlog.push(picture, VIDEO, extent(Span::ZERO));
            kept.push(millis(&backlog).len());
        }
        assert_eq!((kept[30], kept[31], kept[39]), (31, 0, 0));
    }
}
