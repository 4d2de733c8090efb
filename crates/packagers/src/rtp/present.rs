//! Filter of audio derived from the past, which is not for viewers.
//!
//! A transcoder starts with what the stream remembers, because listeners of other lanes need it. RTP receivers play everything
//! they are sent: seconds of past audio would become as much delay. The lane therefore drops derived audio until it has caught
//! up with the publisher's own. Only own audio that arrives after the announcement of the derived audio counts: a publisher
//! without listeners is read every quarter of a second, so what is known of it at that time may be that old.

use std::time::{Duration, Instant};

use media::{Sample, Span, Timestamp};

/// Largest lag behind the publisher's newest audio at which derived audio counts as present, in addition to one frame of the
/// publisher's that the decoder may hold back. It covers audio that does not fill a packet yet, and the encoder's look-ahead.
const BEHIND_MAX: Span = Span::from_millis(40);

/// Longest sample of a publisher that is one frame; a longer one is a page of several, which are derived one by one.
const FRAME_MAX: Span = Span::from_millis(50);

/// Time after which derived audio that has not reached the present never will, and is accepted as it arrives.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// State of the filter of one lane.
#[derive(Debug, Default)]
pub(super) struct Present {
    /// Time from which on derived audio ends in the present.
    begins: Option<Timestamp>,
    /// Whether derived audio has not reached the present yet.
    is_awaited: bool,
    /// Time of its announcement, until audio of the publisher's own has arrived since.
    announced: Option<Instant>,
    /// Whether the publisher's own audio arrives in pages, so that the next may be a second away.
    has_pages: bool,
    /// Arrival time of the first derived audio.
    since: Option<Instant>,
}

impl Present {
    /// Records a sample of the publisher's own audio.
    pub(super) fn saw(&mut self, own: &Sample, arrived: Instant) {
        self.has_pages = own.duration > FRAME_MAX;
        // Everything that a lane opens with arrives at one moment.
        self.announced = self.announced.filter(|announced| arrived <= *announced);
        let begins = own.dts + own.duration - own.duration.min(FRAME_MAX) - BEHIND_MAX;
        self.begins = Some(self.begins.map_or(begins, |before| before.max(begins)));
    }

    /// Records the announcement of derived audio, which may begin in the past.
    pub(super) const fn begin(&mut self, arrived: Instant) {
        self.is_awaited = true;
        self.announced = if self.has_pages { None } else { Some(arrived) };
        self.since = None;
    }

    /// Whether derived audio that arrived now is of the past.
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
        Sample::frame(track, at, Span::from_millis(20), Bytes::new())
    }

    /// Returns which derived samples of these times are of the past, if they all arrive at once.
    fn past(present: &mut Present, times: &[i64], now: Instant) -> Vec<bool> {
        let derived = times.iter().map(|millis| sample(*millis, TrackId::DERIVED));
        derived.map(|it| present.is_past(&it, now)).collect()
    }

    #[test]
    fn derived_audio_begins_near_the_publishers_newest() {
        let (mut present, now) = (Present::default(), Instant::now());
        present.begin(now - MOMENT);
        present.saw(&sample(4_000, TrackId::AUDIO), now);
        let times = [0, 2_000, 3_939, 3_940, 3_960];
        let expected = [true, true, true, false, false];
        assert_eq!(past(&mut present, &times, now), expected);
        // Audio of a transcoder that falls behind later is accepted.
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
        let found = past(&mut present, &[4_060, 4_239, 4_240], now + MOMENT);
        assert_eq!(found, [true, true, false]);
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
        // Without a publisher's own.
        assert_eq!(past(&mut alone, &[0], now), [false]);
    }
}
