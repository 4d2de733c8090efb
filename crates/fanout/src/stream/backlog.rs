//! The recent past of a stream: what a lane that opens now begins with.

use std::collections::VecDeque;

use media::{Sample, Span, TICKS_PER_SECOND, TrackId};

use crate::policy::JOIN_AGE_MAX;

/// Bytes kept at the most. A group of pictures of a 20 Mb/s stream with keyframes every five
/// seconds fits; beyond it a new lane begins with the next keyframe.
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// Below this much media no bit rate is reported.
const MEASURED_MIN: Span = Span::from_millis(1_000);

/// Upper bound on samples: for streams of tiny samples.
const SAMPLES_MAX: usize = 16 * 1024;

/// Recent samples, oldest first: since the last video keyframe, or, without video, the last few seconds. A
/// picture group too old or too large for a listener to start at is dropped.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    samples: VecDeque<Sample>,
    bytes: usize,
}

impl Backlog {
    pub(super) fn clear(&mut self) {
        self.samples.clear();
        self.bytes = 0;
    }

    pub(super) fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter()
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
    pub(super) fn push(&mut self, sample: Sample, video: Option<TrackId>, burst: Span) {
        match video {
            Some(video) if sample.track == video && sample.keyframe => self.clear(),
            // Before the first keyframe nothing is of use to a joiner.
            Some(_) if self.samples.is_empty() => return,
            Some(_) => {}
            None => self.forget_before(&sample, burst),
        }
        self.bytes += sample.bytes();
        self.samples.push_back(sample);
        if video.is_some() {
            if self.is_too_much() || self.span() > JOIN_AGE_MAX {
                self.clear();
            }
        } else {
            while self.is_too_much() {
                self.pop();
            }
        }
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

    fn forget_before(&mut self, newest: &Sample, burst: Span) {
        // The sample in which the burst begins stays, so that a joiner gets the whole of it.
        while self
            .samples
            .get(1)
            .is_some_and(|second| newest.dts - second.dts >= burst)
        {
            self.pop();
        }
    }

    fn pop(&mut self) {
        if let Some(oldest) = self.samples.pop_front() {
            self.bytes -= oldest.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use media::Timestamp;

    use super::*;

    const VIDEO: Option<TrackId> = Some(TrackId::VIDEO);

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
    fn video_begins_at_the_last_keyframe() {
        let mut backlog = Backlog::default();
        let burst = Span::from_millis(4_000);
        for (at, key) in [
            (0, false),
            (40, true),
            (80, false),
            (120, true),
            (160, false),
        ] {
            backlog.push(sample(TrackId::VIDEO, at, key, 10), VIDEO, burst);
            backlog.push(sample(TrackId::AUDIO, at + 5, true, 1), VIDEO, burst);
        }
        assert_eq!(millis(&backlog), [120, 125, 160, 165]);
        assert_eq!(backlog.bytes, 22);
    }

    #[test]
    fn audio_keeps_the_burst() {
        let mut backlog = Backlog::default();
        for step in 0..100 {
            backlog.push(
                sample(TrackId::AUDIO, step * 100, true, 1),
                None,
                Span::from_millis(450),
            );
        }
        assert_eq!(millis(&backlog), [9_400, 9_500, 9_600, 9_700, 9_800, 9_900]);
        assert_eq!(backlog.bitrate(), None);
    }

    #[test]
    fn a_bit_rate_is_what_there_was_of_late() {
        let mut backlog = Backlog::default();
        for step in 0..100 {
            let mut sample = sample(TrackId::AUDIO, step * 100, true, 1_600);
            sample.duration = Span::from_millis(100);
            backlog.push(sample, None, Span::from_millis(4_000));
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
                Span::from_millis(4_000),
            );
        }
        for _ in 0..20 {
            backlog.push(
                sample(TrackId::AUDIO, 0, true, 8 << 20),
                None,
                Span::from_millis(4_000),
            );
            assert!(backlog.bytes <= BYTES_MAX);
        }
    }

    #[test]
    fn a_picture_group_without_end_is_given_up() {
        let mut backlog = Backlog::default();
        backlog.push(sample(TrackId::VIDEO, 0, true, 1), VIDEO, Span::ZERO);
        for step in 0..20 {
            backlog.push(
                sample(TrackId::VIDEO, step, false, 1024 * 1024),
                VIDEO,
                Span::ZERO,
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
            backlog.push(picture, VIDEO, Span::ZERO);
            kept.push(millis(&backlog).len());
        }
        assert_eq!((kept[30], kept[31], kept[39]), (31, 0, 0));
    }
}
