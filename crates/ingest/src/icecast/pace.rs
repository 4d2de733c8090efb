//! Reading pace of a source's body.
//!
//! Icecast reads a body as fast as it arrives, so a file sent with `PUT` is over long before it has played.
//! This server plays it in real time: bytes that arrive faster stay in the socket, and their sender waits. A
//! live encoder is never slowed down: its lead stays far below the limit, and its clock may run
//! [`RATE_PERCENT`] − 100 percent faster than this server's.

use std::time::{Duration, Instant};

use media::{Item, Span, TICKS_PER_SECOND, Timestamp};

/// Longest lead of a source over real time. Sources fill their listeners' buffers at the start; the lead is
/// half of the lag at which listeners of an audio stream are moved forward by default.
const LEAD_MAX: Span = Span::from_millis(5_000);

/// Longest excess over [`LEAD_MAX`] that is waited for. More than one read brings at all but the lowest bit
/// rates, so that files play at their own speed; about as long as silence is allowed, so that timestamps that
/// jump again and again cannot hold a stream longer than a dead source does.
const EXCESS_MAX: Span = Span::from_millis(10_000);

/// Most media that a source may catch up on at any rate after a stall: what may have queued on its side
/// before it is given up as silent.
const DEBT_MAX: Span = Span::from_millis(10_000);

/// Longest step that counts as playing time. Samples are shorter; a longer step is a clock that jumped, and
/// waiting for it would be silence.
const STEP_MAX: Span = Span::from_millis(5_000);

/// Media time, in percent, that each unit of real time allows. Crystals differ by 0.02 %; without the margin
/// a source whose clock is faster than this server's would be throttled once the difference has added up over
/// a day.
const RATE_PERCENT: i64 = 101;

/// Comparison of the media that arrived with the time that passed.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Ticks of media ahead of real time, as of `measured`; negative when behind.
    lead: i64,
    measured: Instant,
    newest: Option<Timestamp>,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            lead: 0,
            measured: now,
            newest: None,
        }
    }

    /// Counts the media of the items that arrived.
    pub(super) fn observe(&mut self, items: &[Item], now: Instant) {
        let passed = Span::from(now.saturating_duration_since(self.measured)).ticks();
        self.measured = now;
        let played = passed.saturating_mul(RATE_PERCENT) / 100;
        self.lead = self.lead.saturating_sub(played).max(-DEBT_MAX.ticks());
        for item in items {
            if let Item::Sample(sample) = item {
                let before = self.newest.unwrap_or(sample.dts);
                let step = (sample.dts - before).min(STEP_MAX).max(Span::ZERO);
                self.lead = self.lead.saturating_add(step.ticks());
                self.newest = Some(before.max(sample.dts));
            }
        }
        let lead_max = LEAD_MAX.ticks() + EXCESS_MAX.ticks();
        self.lead = self.lead.min(lead_max);
    }

    /// Returns the time at which the next bytes may be taken, if not at once: at most [`EXCESS_MAX`] after
    /// the last.
    pub(crate) fn resume_at(&self, now: Instant) -> Option<Instant> {
        let excess = u64::try_from(self.lead - LEAD_MAX.ticks()).ok()?;
        let seconds = excess as f64 / TICKS_PER_SECOND as f64 * 100.0 / RATE_PERCENT as f64;
        let resume_at = self.measured + Duration::try_from_secs_f64(seconds).unwrap_or_default();
        (resume_at > now).then_some(resume_at)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use media::{Sample, TrackId};

    use super::*;

    fn at(millis: i64) -> Item {
        let at = Timestamp::from_millis(millis);
        Item::Sample(Sample::frame(TrackId::AUDIO, at, Span::ZERO, Bytes::new()))
    }

    /// Feeds `millis` of media in steps of 100 ms as fast as permitted; returns how long that takes.
    fn time_for(pace: &mut Pace, began: Instant, first: i64, millis: i64) -> Duration {
        let mut now = began;
        for position in (first..first + millis).step_by(100) {
            now = pace.resume_at(now).unwrap_or(now);
            pace.observe(&[at(position)], now);
        }
        now - began
    }

    #[test]
    fn a_file_plays_at_its_own_speed_after_a_lead() {
        let began = Instant::now();
        let mut pace = Pace::new(began);
        let took = time_for(&mut pace, began, 0, 60_000).as_secs_f64();
        assert!((54.0..56.0).contains(&took), "{took}");
    }

    #[test]
    fn a_live_source_is_never_held_even_if_its_clock_is_fast() {
        let began = Instant::now();
        let mut pace = Pace::new(began);
        for step in 0..1_000_000_u64 {
            let now = began + Duration::from_micros(step * 99_900);
            assert_eq!(pace.resume_at(now), None);
            pace.observe(&[at(step as i64 * 100)], now);
        }
    }

    #[test]
    fn what_was_held_up_may_catch_up_at_once() {
        let began = Instant::now();
        let mut pace = Pace::new(began);
        pace.observe(&[at(0)], began);
        let resumed = began + Duration::from_secs(9);
        pace.observe(&[], resumed);
        assert_eq!(time_for(&mut pace, resumed, 0, 9_000), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_leaps_does_not_silence_the_stream() {
        let began = Instant::now();
        let mut pace = Pace::new(began);
        pace.observe(&[at(0), at(86_400_000), at(86_400_100), at(5)], began);
        let soon = began + Duration::from_secs(1);
        assert!(pace.resume_at(began).is_none_or(|until| until < soon));
    }

    #[test]
    fn a_clock_that_leaps_for_ever_is_not_waited_for() {
        let began = Instant::now();
        let mut pace = Pace::new(began);
        let leaps: Vec<_> = (0..1000).map(|step| at(step * 5_000)).collect();
        pace.observe(&leaps, began);
        let resume_at = pace.resume_at(began).expect("it is far ahead");
        let waits = (resume_at - began).as_secs_f64();
        assert!((9.0..=10.0).contains(&waits), "{waits}");
        assert_eq!(pace.resume_at(resume_at), None);
    }
}
