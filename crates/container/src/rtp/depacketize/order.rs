//! Decoding times, where packets hold only presentation times.
//!
//! Frames arrive in decoding order. In a stream without B-frames the two times are equal. With B-frames, a frame is
//! decoded when the frames it overtook are presented:
//!
//! ```text
//! presented  0 3 1 2 6 4 5 9      overtakes one frame at most: a depth of 1
//! decoded    0 0 1 2 3 4 5 6      the smallest of the times at hand, when there are two
//! ```
//!
//! The depth is learned as frames prove it too small, so the first few frames of a stream with B-frames are presented
//! late.

use media::{Span, Timestamp};

/// Upper bound on the frames that may overtake one frame, as allowed by H.264 (annex E.2.1).
const DEPTH_MAX: usize = 16;

/// Longest step back that B-frames explain; a longer one is a clock that was set back.
const STEP_BACK_MAX: Span = Span::from_millis(1_000);

/// Frame order of one track.
#[derive(Debug)]
pub(super) struct Order {
    may_overtake: bool,
    depth: usize,
    /// Presentation times, ascending, that have not been decoding times yet; none is before `last` and there are never
    /// more than `depth`.
    waiting: Vec<Timestamp>,
    /// Latest decoding time.
    last: Option<Timestamp>,
    /// Presentation time at which the depth was learned; frames presented earlier were overtaken before that.
    learned_at: Timestamp,
}

impl Order {
    /// Creates the order for a codec whose frames may or may not overtake each other.
    pub(super) const fn new(may_overtake: bool) -> Self {
        Self {
            may_overtake,
            depth: 0,
            waiting: Vec::new(),
            last: None,
            learned_at: Timestamp::from_ticks(i64::MIN),
        }
    }

    /// Returns the decoding and the presentation time of the next frame, whose presentation time is `at`. Decoding
    /// times never decrease, and none is after its presentation time.
    pub(super) fn place(&mut self, at: Timestamp) -> (Timestamp, Timestamp) {
        let last = self.last.unwrap_or(at);
        if at < last {
            self.learn(at, last);
        }
        let pts = at.max(last);
        let place = self.waiting.partition_point(|other| *other <= pts);
        self.waiting.insert(place, pts);
        let dts = match self.waiting.len() > self.depth {
            true => self.waiting.remove(0),
            false => last,
        };
        self.last = Some(dts);
        (dts, pts)
    }

    /// Learns from a frame whose presentation time is before the latest decoding time.
    fn learn(&mut self, at: Timestamp, last: Timestamp) {
        let is_new = at >= self.learned_at && last - at <= STEP_BACK_MAX;
        if self.may_overtake && is_new && self.depth < DEPTH_MAX {
            self.depth += 1;
            self.learned_at = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(order: &mut Order, millis: i64) -> (i64, i64) {
        let (dts, pts) = order.place(Timestamp::from_millis(millis));
        (dts.millis(), pts.millis())
    }

    /// Groups of frames whose presentation times within a group are `group`, times 40 ms.
    fn pictures(group: &[i64], groups: i64) -> Vec<i64> {
        let length = group.len() as i64;
        let all = (0..groups).flat_map(|at| group.iter().map(move |one| at * length + one));
        std::iter::once(0).chain(all).map(|one| 40 * one).collect()
    }

    #[test]
    fn pictures_in_order_are_decoded_when_they_are_presented() {
        let mut order = Order::new(true);
        for at in [0, 40, 40, 80, 5_000] {
            assert_eq!(place(&mut order, at), (at, at));
        }
    }

    #[test]
    fn b_frames_keep_their_times_once_the_depth_is_known() {
        // One B-frame, three with a pyramid, two without.
        for group in [&[2, 1][..], &[4, 2, 1, 3], &[3, 1, 2]] {
            let mut order = Order::new(true);
            let mut last = i64::MIN;
            let all = pictures(group, 20);
            for (index, at) in all.iter().enumerate() {
                let (dts, pts) = place(&mut order, *at);
                assert!(dts >= last && dts <= pts, "{group:?}: {dts} {pts}");
                last = dts;
                if index > 3 * group.len() {
                    assert_eq!(pts, *at, "{group:?}");
                    // Decoding times are as far apart as frames.
                    assert_eq!(dts % 40, 0);
                    assert!(pts - dts <= 40 * (group.len() as i64 + 1));
                }
            }
        }
    }

    #[test]
    fn codecs_without_b_frames_do_not_go_back() {
        let mut order = Order::new(false);
        let times = [0, 40, 20, 80].map(|at| place(&mut order, at));
        assert_eq!(times, [(0, 0), (40, 40), (40, 40), (80, 80)]);
    }

    #[test]
    fn a_clock_that_was_set_back_is_held() {
        let mut order = Order::new(true);
        assert_eq!(place(&mut order, 10_000), (10_000, 10_000));
        assert_eq!(place(&mut order, 0), (10_000, 10_000));
        assert_eq!(order.depth, 0);
    }

    proptest! {
        #[test]
        fn decoding_never_goes_back_and_never_lags_presentation(
            times in proptest::collection::vec(-3_000..3_000i64, 0..300),
            may_overtake: bool,
        ) {
            let mut order = Order::new(may_overtake);
            let mut last = i64::MIN;
            for at in times {
                let (dts, pts) = place(&mut order, at);
                prop_assert!(dts >= last && dts <= pts && pts >= at);
                prop_assert!(order.waiting.len() <= order.depth && order.depth <= DEPTH_MAX);
                prop_assert!(may_overtake || dts == pts);
                last = dts;
            }
        }
    }
}
