//! Sound that is derived from the past, which is not for viewers.
//!
//! A transcoder begins with what the stream remembers, which other lanes' listeners are to have. Receivers of RTP play
//! all that they are sent, seconds of it with as much delay. So the lane leaves derived sound out until it has
//! reached the publisher's own: that which comes after the derived sound was announced, since a publisher without
//! listeners is read every quarter of a second, and what is known of it then is as old.

use std::time::{Duration, Instant};

use media::{Sample, Span, Timestamp};

/// Derived sound that ends so long before the publisher's newest is of the present, besides a frame of the publisher's that
/// the decoder may hold back: what does not fill a packet yet, and what the encoder looks ahead.
const BEHIND_MAX: Span = Span::from_millis(40);

/// A longer sample of the publisher's is no frame but a page of several, which are derived one by one.
const FRAME_MAX: Span = Span::from_millis(50);

/// Derived sound that has not reached the present by then never will, and is taken as it comes.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Present {
    /// The time from which on derived sound ends in the present.
    begins: Option<Timestamp>,
    /// The derived sound has not reached the present.
    is_awaited: bool,
    /// When it was announced, until something of the publisher's own has come since.
    announced: Option<Instant>,
    /// The publisher's own comes in pages: the next may be a second away.
    has_pages: bool,
    /// When the first of it came.
    since: Option<Instant>,
}

impl Present {
    /// The publisher's own sound goes on.
    pub(super) fn saw(&mut self, own: &Sample, arrived: Instant) {
        self.has_pages = own.duration > FRAME_MAX;
        // What a lane opens with all comes at one moment.
        self.announced = self.announced.filter(|announced| arrived <= *announced);
        let begins = own.dts + own.duration - own.duration.min(FRAME_MAX) - BEHIND_MAX;
        self.begins = Some(self.begins.map_or(begins, |before| before.max(begins)));
    }

    /// Derived sound is announced: it may begin in the past.
    pub(super) const fn begin(&mut self, arrived: Instant) {
        self.is_awaited = true;
        self.announced = if self.has_pages { None } else { Some(arrived) };
        self.since = None;
    }

    /// Whether derived sound that arrived now is of the past.
    pub(super) fn is_past(&mut self, derived: &Sample, arrived: Instant) -> bool {
        if !self.is_awaited {
            return false;
        }
        let since = *self.since.get_or_insert(arrived);
        let waited = arrived.saturating_duration_since(since);
        let end = derived.dts + derived.duration;
        let is_unknown = self.announced.is_some();
        let is_behind = self.begins.is_some_and(|begins| is_unknown || end < begins);
        self.is_awaited = is_behind && waited < WAIT_MAX;
        self.is_awaited
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use media::TrackId;

    use super::*;

    const MOMENT: Duration = Duration::from_millis(30);

    fn sample(millis: i64, track: TrackId) -> Sample {
        let at = Timestamp::from_millis(millis);
        Sample {
            track,
            dts: at,
            pts: at,
            duration: Span::from_millis(20),
            keyframe: true,
            data: Bytes::new(),
            flv: None,
        }
    }

    /// Which derived samples of these times are of the past, if they all come at once.
    fn past(present: &mut Present, times: &[i64], now: Instant) -> Vec<bool> {
        let derived = times.iter().map(|millis| sample(*millis, TrackId::DERIVED));
        derived
            .map(|sample| present.is_past(&sample, now))
            .collect()
    }

    #[test]
    fn derived_sound_begins_near_the_publishers_newest() {
        let (mut present, now) = (Present::default(), Instant::now());
        present.begin(now - MOMENT);
        present.saw(&sample(4_000, TrackId::AUDIO), now);
        let times = [0, 2_000, 3_939, 3_940, 3_960];
        let expected = [true, true, true, false, false];
        assert_eq!(past(&mut present, &times, now), expected);
        // A transcoder that falls behind later is heard.
        present.saw(&sample(8_000, TrackId::AUDIO), now);
        assert_eq!(past(&mut present, &[4_000], now), [false]);
        // The next one begins with the past again.
        present.begin(now);
        present.saw(&sample(9_000, TrackId::AUDIO), now + MOMENT);
        assert_eq!(past(&mut present, &[5_000, 8_960], now), [true, false]);
    }

    #[test]
    fn what_is_known_when_it_is_announced_is_not_the_present() {
        let (mut present, now) = (Present::default(), Instant::now());
        present.saw(&sample(4_000, TrackId::AUDIO), now);
        present.begin(now);
        present.saw(&sample(4_020, TrackId::AUDIO), now);
        assert_eq!(past(&mut present, &[4_020, 4_040], now), [true, true]);
        present.saw(&sample(4_300, TrackId::AUDIO), now + MOMENT);
        let times = [4_060, 4_239, 4_240];
        assert_eq!(
            past(&mut present, &times, now + MOMENT),
            [true, true, false]
        );
    }

    #[test]
    fn another_page_is_not_waited_for() {
        let (mut present, now) = (Present::default(), Instant::now());
        let page = Sample {
            duration: Span::from_millis(1_000),
            ..sample(4_000, TrackId::AUDIO)
        };
        present.saw(&page, now);
        present.begin(now);
        assert_eq!(past(&mut present, &[4_880, 4_900], now), [true, false]);
    }

    #[test]
    fn what_never_reaches_the_present_is_heard_all_the_same() {
        let (mut present, now) = (Present::default(), Instant::now());
        present.begin(now - MOMENT);
        present.saw(&sample(4_000, TrackId::AUDIO), now);
        assert_eq!(past(&mut present, &[1_000], now), [true]);
        assert_eq!(past(&mut present, &[2_900], now + WAIT_MAX), [false]);
        let mut alone = Present::default();
        alone.begin(now);
        assert_eq!(
            past(&mut alone, &[0], now),
            [false],
            "without a publisher's own"
        );
    }
}
