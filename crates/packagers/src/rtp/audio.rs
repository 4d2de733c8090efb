//! Audio that waits to share a packet with the audio that follows.
//!
//! Packets of 20 ms are 50 sends a second to each viewer. While a lane's audience is large, audio that arrives within its
//! window ([`LaneSink::window`](fanout::LaneSink::window)) becomes one packet of the same frames. While the audience is small, nothing
//! waits and every packet is the one that its publisher made.

use std::sync::Arc;
use std::time::{Duration, Instant};

use container::rtp::PAYLOAD_BYTES;
use media::codec::opus::{Combiner, Frames, RATE};
use media::{Sample, Span, Track};

/// Longest audio in one packet beside video. With this value, each of at least 25 frames a second carries at most one audio
/// packet along, and half the audio frames arrive 20 ms later.
const BESIDE_PICTURES_MAX: Duration = Duration::from_millis(40);

/// Longest audio in one packet of a stream without video: every receiver plays 60 ms, and a lost packet can still be concealed.
const ALONE_MAX: Duration = Duration::from_millis(60);

/// Longest wait for audio that has not followed: two frames, plus their delay.
const WAIT_MAX: Duration = Duration::from_millis(80);

/// Largest deviation of consecutive frames' times from their lengths; containers have times in whole milliseconds.
const TIME_TOLERANCE: Span = Span::from_millis(2);

/// Audio of one lane that waits to be combined; call [`push`](Self::push) for every packet.
#[derive(Debug, Default)]
pub(super) struct HeldAudio {
    combiner: Combiner,
    /// First waiting sample.
    first: Option<Due>,
    /// Number of waiting samples.
    count: usize,
}

/// Sample to be sent.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) sample: Sample,
    pub(super) track: Arc<Track>,
    /// Arrival time of its first frame.
    pub(super) arrived: Instant,
}

/// Returns the longest audio in one packet for viewers that are visited once per `window`.
pub(super) fn most(window: Duration, has_picture: bool) -> Span {
    let most = if has_picture {
        BESIDE_PICTURES_MAX
    } else {
        ALONE_MAX
    };
    Span::from(window.min(most))
}

impl HeldAudio {
    /// Whether the waiting audio waits in vain.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        let is_old = |first: &Due| now.saturating_duration_since(first.arrived) >= WAIT_MAX;
        self.first.as_ref().is_some_and(is_old)
    }

    /// Takes the next packet, for packets of at most `most`. Returns the samples to send, in order.
    pub(super) fn push(&mut self, due: Due, most: Span) -> [Option<Due>; 2] {
        let Some(frames) = Frames::parse(&due.sample.data) else {
            return [self.release(), Some(due)];
        };
        let before = if self.continues_with(&due, &frames, most) {
            None
        } else {
            self.release()
        };
        if !self.combiner.takes(&frames, PAYLOAD_BYTES) {
            return [before, Some(due)];
        }
        self.combiner.push(&frames);
        self.count += 1;
        // Silence is followed by a pause, for which nothing waits.
        let is_full = frames.is_silence() || self.span() + span(frames.samples()) > most;
        self.first.get_or_insert(due);
        [before, is_full.then(|| self.release()).flatten()]
    }

    /// Returns the waiting audio as one sample.
    pub(super) fn release(&mut self) -> Option<Due> {
        let mut due = self.first.take()?;
        if std::mem::take(&mut self.count) > 1 {
            due.sample.duration = self.span();
            let mut packet = Vec::with_capacity(PAYLOAD_BYTES);
            self.combiner.finish(&mut packet);
            due.sample.data = packet.into();
        }
        self.combiner.clear();
        Some(due)
    }

    /// Whether `next` can share the packet of the waiting audio, if there is any.
    fn continues_with(&self, next: &Due, frames: &Frames<'_>, most: Span) -> bool {
        let Some(Due { sample, track, .. }) = &self.first else {
            return true;
        };
        let gap = next.sample.dts - (sample.dts + self.span());
        Arc::ptr_eq(track, &next.track)
            && gap.ticks().abs() <= TIME_TOLERANCE.ticks()
            && self.span() + span(frames.samples()) <= most
            && self.combiner.takes(frames, PAYLOAD_BYTES)
    }

    fn span(&self) -> Span {
        span(self.combiner.samples())
    }
}

fn span(samples: u64) -> Span {
    Span::from_samples(samples, RATE)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use media::{Codec, Framing, Kind, Timestamp, TrackId};
    use proptest::prelude::*;

    use super::*;

    /// CELT, stereo, 20 ms.
    const TOC: u8 = 0xFC;
    const NONE: Span = Span::ZERO;
    const MOST: Span = Span::from_millis(60);

    fn track() -> Arc<Track> {
        Arc::new(Track {
            sample_rate: RATE,
            channels: 2,
            ..Track::new(TrackId::AUDIO, Kind::Audio, Codec::Opus, Framing::Bare)
        })
    }

    /// The packets of one track, 20 ms each unless it is said otherwise.
    struct Source {
        track: Arc<Track>,
        began: Instant,
    }

    impl Source {
        fn new() -> Self {
            Self {
                track: track(),
                began: Instant::now(),
            }
        }

        fn at(&self, millis: i64, packet: &[u8]) -> Due {
            let at = Timestamp::from_millis(millis);
            let data = Bytes::copy_from_slice(packet);
            Due {
                sample: Sample::frame(self.track.id, at, Span::from_millis(20), data),
                track: Arc::clone(&self.track),
                arrived: self.began + Duration::from_millis(millis as u64),
            }
        }
    }

    /// The start times of the due samples, and their bytes.
    fn seen(due: [Option<Due>; 2]) -> Vec<(i64, Vec<u8>)> {
        let each = due.into_iter().flatten();
        each.map(|due| {
            let at = due.sample.dts - Timestamp::ZERO;
            (at.millis(), due.sample.data.to_vec())
        })
        .collect()
    }

    #[test]
    fn nothing_waits_for_a_small_audience() {
        let (source, mut held) = (Source::new(), HeldAudio::default());
        for step in 0..5 {
            let packet = [TOC, 7, step as u8];
            let due = held.push(source.at(step * 20, &packet), Span::from_millis(39));
            assert_eq!(seen(due), [(step * 20, packet.to_vec())]);
        }
        assert!(held.release().is_none());
    }

    #[test]
    fn as_many_frames_as_the_window_has_share_a_packet() {
        let (source, mut held) = (Source::new(), HeldAudio::default());
        let first = held.push(source.at(0, b"\xFCaa"), MOST);
        let second = held.push(source.at(20, b"\xFCbb"), MOST);
        assert_eq!((seen(first), seen(second)), (vec![], vec![]));
        let [None, Some(due)] = held.push(source.at(40, b"\xFCcc"), MOST) else {
            panic!("three frames are 60 ms");
        };
        assert_eq!(due.sample.data, &b"\xFF\x03aabbcc"[..]);
        assert_eq!(due.sample.dts, Timestamp::ZERO);
        assert_eq!(due.arrived, source.began);
        assert_eq!(due.sample.duration, Span::from_millis(60));
        let two = Span::from_millis(59);
        held.push(source.at(60, b"\xFCaa"), two);
        let due = held.push(source.at(81, b"\xFCb"), two);
        // In whole milliseconds.
        assert_eq!(seen(due), [(60, b"\xFF\x82\x02aab".to_vec())]);
    }

    #[test]
    fn what_does_not_follow_does_not_share() {
        let source = Source::new();
        let other = Source {
            track: track(),
            began: source.began,
        };
        let long = [&[TOC][..], &[7; 1_185]].concat();
        for (next, what) in [
            (source.at(43, b"\xFCbb"), "a gap"),
            (source.at(0, b"\xFCbb"), "the past"),
            (other.at(20, b"\xFCbb"), "another track"),
            (source.at(20, b"\xF8bb"), "mono"),
            (source.at(20, &long), "too long for a packet"),
        ] {
            let mut held = HeldAudio::default();
            assert!(seen(held.push(source.at(0, b"\xFCaa"), MOST)).is_empty());
            let due = seen(held.push(next, MOST));
            assert_eq!(due[0], (0, b"\xFCaa".to_vec()), "{what}");
        }
    }

    #[test]
    fn what_cannot_be_combined_goes_at_once() {
        let (source, mut held) = (Source::new(), HeldAudio::default());
        let extended = b"\xFF\x42\x01ab\x05";
        for packet in [&b"\xFF\x00"[..], extended, b"\xFC\x01", &[TOC; 1_200]] {
            held.push(source.at(0, b"\xFCaa"), MOST);
            let due = seen(held.push(source.at(20, packet), MOST));
            let last = due.last().expect("it does not wait");
            assert!(last.1.ends_with(&packet[1..]), "{packet:?}");
            assert!(held.release().is_none());
        }
    }

    #[test]
    fn what_waits_in_vain_is_known() {
        let (source, mut held) = (Source::new(), HeldAudio::default());
        let after = |millis| source.began + Duration::from_millis(millis);
        assert!(!held.is_overdue(after(1_000)), "nothing waits");
        held.push(source.at(0, b"\xFCaa"), MOST);
        assert!(!held.is_overdue(after(79)) && held.is_overdue(after(80)));
        let due = held.release().expect("one frame");
        assert_eq!(due.sample.data, &b"\xFCaa"[..]);
        assert!(!held.is_overdue(after(80)));
    }

    #[test]
    fn pictures_need_no_longer_packets_than_their_own_time() {
        let window = Duration::from_millis;
        assert_eq!(most(window(0), true), NONE);
        assert_eq!(most(window(30), true), Span::from_millis(30));
        assert_eq!(most(window(100), true), Span::from_millis(40));
        assert_eq!(most(window(400), false), MOST);
    }

    proptest! {
        /// Whatever the window is, all frames arrive in order, each packet as long as it may be.
        #[test]
        fn all_frames_come(
            packets in proptest::collection::vec((0..3u8, 0..400usize, 0..70u64, 0..9u8), 1..60),
        ) {
            let (source, mut held) = (Source::new(), HeldAudio::default());
            let (mut sent, mut came) = (Vec::new(), Vec::new());
            let mut at = 0;
            let mut take = |due: Option<Due>| {
                if let Some(due) = due {
                    let frames = Frames::parse(&due.sample.data).expect("Opus");
                    let start = (due.sample.dts - Timestamp::ZERO).millis();
                    let each = frames.iter().enumerate();
                    came.extend(each.map(|(index, frame)| (start + 20 * index as i64, frame.to_vec())));
                }
            };
            for (shape, bytes, window, gap) in packets {
                at += if gap == 0 { 35 } else { 0 };
                let packet = [&[[TOC, 0xF8, 0x78][usize::from(shape)]][..], &vec![shape; bytes]].concat();
                sent.push((at, packet[1..].to_vec()));
                let most = most(Duration::from_millis(window), false);
                held.push(source.at(at, &packet), most).into_iter().for_each(&mut take);
                at += 20;
            }
            take(held.release());
            prop_assert_eq!(came, sent);
        }
    }
}
