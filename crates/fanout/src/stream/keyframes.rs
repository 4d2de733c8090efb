//! Distance of a publisher's keyframes, which determines how soon a joiner sees video.

use media::{Sample, Span, Timestamp};

/// Number of intervals remembered: enough that one scene change does not hide a long interval.
const GROUPS: usize = 4;

/// Longest interval that is not reported: joiners wait no longer than this in a stream with the keyframe interval that
/// is generally recommended.
const INTERVAL_MAX: Span = Span::from_millis(3_000);

/// Keyframe interval of a stream, and the possibility of requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Keyframes {
    /// Longest of the last few times between two keyframes, including the current one; `None` before the first
    /// keyframe.
    pub interval: Option<Span>,
    /// Whether the publisher's encoder can be asked for a keyframe, so that joiners do not wait for the interval.
    pub on_request: bool,
}

impl Keyframes {
    /// Returns a note for people on the effect of a long keyframe interval on joiners; `None` if it is short.
    pub fn words(&self) -> Option<String> {
        let interval = self.interval?;
        let is_long = interval > INTERVAL_MAX && !self.on_request;
        is_long.then(|| {
            format!(
                "The publisher sends a keyframe every {:.1} s; joiners start up to that far behind, or \
                 wait that long, and players of HLS that have stalled. Set the encoder's keyframe interval to 2 s.",
                interval.seconds()
            )
        })
    }
}

/// Watches the video frames of one epoch.
#[derive(Debug, Default)]
pub(super) struct PictureGroups {
    newest: Option<Timestamp>,
    newest_keyframe: Option<Timestamp>,
    intervals: [Span; GROUPS],
    count: usize,
}

impl PictureGroups {
    /// Records a sample of the video track.
    pub(super) fn push(&mut self, sample: &Sample) {
        self.newest = Some(sample.dts);
        if sample.keyframe {
            if let Some(before) = self.newest_keyframe {
                self.intervals[self.count % GROUPS] = sample.dts - before;
                self.count += 1;
            }
            self.newest_keyframe = Some(sample.dts);
        }
    }

    /// Returns the distance of the newest frame from the newest keyframe; `None` before there was one.
    pub(super) fn age(&self) -> Option<Span> {
        Some(self.newest? - self.newest_keyframe?)
    }

    /// Whether there are frames, but no keyframe or one older than `limit`.
    pub(super) fn lack_keyframe_since(&self, limit: Span) -> bool {
        self.newest.is_some() && self.age().is_none_or(|age| age > limit)
    }

    pub(super) fn facts(&self, on_request: bool) -> Keyframes {
        let longest = self.intervals.iter().copied().max().unwrap_or_default();
        Keyframes {
            interval: self.age().map(|age| age.max(longest)),
            on_request,
        }
    }
}

#[cfg(test)]
mod tests {
    use media::TrackId;

    use super::*;

    fn watch(pictures: &[(i64, bool)]) -> Keyframes {
        let mut groups = PictureGroups::default();
        for &(at, keyframe) in pictures {
            groups.push(&Sample {
                keyframe,
                ..crate::testing::sample(TrackId::VIDEO, at, "")
            });
        }
        groups.facts(false)
    }

    #[test]
    fn the_longest_of_the_last_intervals_counts_and_the_present_one() {
        let every = |millis: i64| {
            let at = (0..10).map(|n| n * millis);
            let pictures: Vec<_> = at.map(|at| (at, true)).collect();
            watch(&pictures)
        };
        assert_eq!(watch(&[(0, false)]).interval, None);
        let usual = every(2_000);
        assert_eq!(usual.interval, Some(Span::from_millis(2_000)));
        assert_eq!(usual.words(), None);
        let words = every(8_300).words().expect("that is long");
        assert!(words.contains("every 8.3 s"), "{words}");
        let only_one = watch(&[(0, true), (60_000, false)]);
        let minute = Span::from_millis(60_000);
        assert_eq!(only_one.interval, Some(minute));
        let asked = Keyframes {
            on_request: true,
            ..only_one
        };
        assert_eq!(asked.words(), None, "no joiner waits");
    }
}
