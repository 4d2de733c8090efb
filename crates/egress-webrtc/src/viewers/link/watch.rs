//! Losses on one line of a viewer while everything is sent, judged interval by interval.

use std::time::{Duration, Instant};

use webrtc::rtcp::ReportBlock;

/// Shortest interval over which reports are judged; most receivers send one report a second.
const INTERVAL_MIN: Duration = Duration::from_millis(900);

/// Packets in an interval below which its losses are not judged.
const PACKETS_MIN: u32 = 16;

/// Loss, in percent of the packets, beyond which an interval is bad: first with a longer round trip, then without.
pub(super) const LOSS_MAX: i64 = 10;
const LOSS_BY_CHANCE_MAX: i64 = 25;

/// Loss, in percent of the packets, up to which an interval is clean.
const LOSS_CLEAN: i64 = 2;

/// Consecutive unclean intervals behind a queue after which video is suspended; such a queue does not empty by itself.
pub(super) const FULL_MAX: u8 = 8;

/// Bad intervals, with no good one between them, after which video is suspended; on trial one is enough.
const BAD_MAX: u8 = 2;

/// Judge of one line's losses; pass every report to [`heard`](Self::heard).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Watch {
    interval: Option<Interval>,
    /// Bad intervals since the last good one.
    bad: u8,
    /// Intervals since the last clean one, or the last without a queue.
    full: u8,
    /// Whether the last interval was bad, with a longer round trip.
    pub(super) is_crowded: bool,
}

/// Time since an earlier report.
#[derive(Clone, Copy, Debug)]
struct Interval {
    began: Instant,
    highest: u32,
    lost: i32,
    /// Whether a round trip in the interval was longer.
    is_queued: bool,
}

/// Judgement of an interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    pub(super) is_bad: bool,
    pub(super) is_clean: bool,
    /// Whether a round trip in the interval was longer.
    pub(super) is_queued: bool,
    /// Whether the line has lost too much for too long.
    pub(super) is_too_small: bool,
}

impl Watch {
    /// Starts an interval with this report.
    pub(super) const fn begin(&mut self, report: &ReportBlock, now: Instant) {
        self.interval = Some(Interval::begin(report, now));
    }

    /// Takes a report, which arrived behind a queue or not. Consecutive unclean intervals count only with `counts_full`.
    /// Returns the judgement of the interval that ends with the report, if one does.
    pub(super) fn heard(
        &mut self,
        report: &ReportBlock,
        is_queued: bool,
        counts_full: bool,
        now: Instant,
    ) -> Option<Verdict> {
        let next = Interval::begin(report, now);
        let interval = self.interval.get_or_insert(next);
        interval.is_queued |= is_queued;
        let before = *interval;
        let expected = next.highest.wrapping_sub(before.highest);
        // Nothing has arrived, or the numbers make no sense: the time until then does not count.
        if !(1..1 << 16).contains(&expected) {
            self.interval = Some(next);
            return None;
        }
        let is_long = now.saturating_duration_since(before.began) >= INTERVAL_MIN;
        if !is_long || expected < PACKETS_MIN {
            return None;
        }
        self.interval = Some(next);
        let percent = percent(before.lost, next.lost, expected);
        let (is_queued, is_clean) = (before.is_queued, percent <= LOSS_CLEAN);
        let is_bad = percent > LOSS_BY_CHANCE_MAX || (is_queued && percent > LOSS_MAX);
        self.is_crowded = is_bad && is_queued;
        self.bad = match (is_bad, is_queued) {
            (true, _) => self.bad + 1,
            // The link is as full as before: the next losses depend on the size of the next frames.
            (false, true) => self.bad,
            (false, false) => 0,
        };
        let is_full = is_queued && counts_full && !is_clean;
        self.full = if is_full { self.full + 1 } else { 0 };
        Some(Verdict {
            is_bad,
            is_clean,
            is_queued,
            is_too_small: self.bad >= BAD_MAX || self.full >= FULL_MAX,
        })
    }
}

impl Interval {
    const fn begin(report: &ReportBlock, now: Instant) -> Self {
        Self {
            began: now,
            highest: report.highest_sequence,
            lost: report.lost,
            is_queued: false,
        }
    }
}

/// Returns the share of the `expected` packets that were lost from one count to the next, in percent.
pub(super) fn percent(before: i32, after: i32, expected: u32) -> i64 {
    let lost = (i64::from(after) - i64::from(before)).max(0);
    lost * 100 / i64::from(expected.max(1))
}
