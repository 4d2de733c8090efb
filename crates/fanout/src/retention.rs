//! Retention: the amount of the past that a lane's log keeps.

use log::Limits;
use media::Span;

use crate::policy::{Class, JOIN_AGE_MAX, Policy};

/// Amount of the past that the log of a format keeps. In any case, all logs together keep within `fanout.log_mib`, and
/// each keeps two pages.
///
/// While only recorders read a lane, nobody lags and no range is requested. The log then keeps only the start of a lane
/// that opens for a listener: the newest join point, and without video `burst` and two seconds.
///
/// The bytes that a new listener is given always stay, and a quarter more for one that is slow to take them.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Retention {
    /// Everything that a live listener may still want: the longer of `drop_after` and `burst`, and two seconds; and the
    /// newest join point for as long as listeners are started there.
    Live,
    /// Everything that readers of ranges may still request; never less than [`Live`](Self::Live).
    Window {
        /// Media time kept, rounded up to whole pages.
        time: Span,
        /// Upper bound on bytes. A live lane has [`LIVE_BYTES_MAX`] with video and a quarter of that without; less does
        /// not hold a large unit.
        bytes_max: usize,
    },
}

/// Upper bound on the bytes that the log of a live lane with video keeps: twice the largest unit that any publisher can
/// send, and a stream of 40 Mb/s for the default times.
pub const LIVE_BYTES_MAX: usize = LIVE_PAGES_MAX * VIDEO_PAGE_BYTES;

const LIVE_PAGES_MAX: usize = 256;

/// Size of a page, the granularity of eviction and of one slice of a send: a second or two of a usual stream of the
/// class.
const AUDIO_PAGE_BYTES: usize = 64 * 1024;
const VIDEO_PAGE_BYTES: usize = 256 * 1024;

/// Upper bound on units that begin in one page: four seconds of video and audio. A page of tinier ones ends early.
const PAGE_UNITS: usize = 512;

/// Span added to the time after which a laggard is dropped, so that the rule, and not the log's end, decides.
const MARGIN: Span = Span::from_millis(2_000);

impl Retention {
    /// Returns the limits of the log of a lane of `class` with the rules of `policy`.
    pub(crate) fn limits(self, class: Class, policy: &Policy) -> Limits {
        let page_bytes = match class {
            Class::Audio => AUDIO_PAGE_BYTES,
            Class::Video => VIDEO_PAGE_BYTES,
        };
        let lean = match class {
            Class::Audio => policy.burst + MARGIN,
            Class::Video => Span::ZERO,
        };
        let live = policy.drop_after.max(policy.burst) + MARGIN;
        let (time, bytes_max) = match self {
            Self::Live => (Span::ZERO, 0),
            Self::Window { time, bytes_max } => (time, bytes_max),
        };
        Limits {
            page_bytes,
            page_units: PAGE_UNITS,
            pages_max: LIVE_PAGES_MAX.max(bytes_max / page_bytes),
            time_max: live.max(time),
            bytes_min: policy.burst_bytes_reach(),
            bytes_time_max: policy.burst_span_max() + MARGIN,
            lean_max: lean,
            join_max: JOIN_AGE_MAX.max(policy.skip_after) + MARGIN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_keeps_what_a_live_lane_keeps_and_more() {
        for class in Class::ALL {
            let policy = Policy::default_for(class).in_order();
            let live = Retention::Live.limits(class, &policy);
            assert_eq!(live.time_max, policy.drop_after + MARGIN);
            assert!(live.lean_max <= policy.burst + MARGIN);
            let window = |seconds: i64, bytes_max| {
                let time = Span::from_millis(1_000 * seconds);
                Retention::Window { time, bytes_max }.limits(class, &policy)
            };
            let small = window(1, 1);
            assert_eq!(small.time_max, live.time_max);
            assert_eq!(small.pages_max, live.pages_max);
            let large = window(3_600, 4 * LIVE_BYTES_MAX);
            assert_eq!(large.time_max, Span::from_millis(3_600_000));
            assert_eq!(large.lean_max, live.lean_max);
            assert_eq!(large.pages_max * large.page_bytes, 4 * LIVE_BYTES_MAX);
            assert_eq!(large.floor(), live.floor(), "a lane needs no more to open");
        }
    }
}
