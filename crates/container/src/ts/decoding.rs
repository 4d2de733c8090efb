//! Decoding times of a video track whose publisher has some frames presented before they are decoded.
//!
//! FLV permits this, a transport stream does not (ISO/IEC 13818-1 §2.7.5). Presentation times are never changed.
//! Instead, all frames are decoded earlier, by the largest lateness so far. Decoding times do not step back, so where
//! the lateness grows, some frames within the first group still have a decoding time that is too late, as their
//! publisher had it.

use media::{Span, Timestamp};

/// Decoding times of one track; call [`place`](Self::place) for each frame.
#[derive(Debug, Default)]
pub(super) struct DecodingTimes {
    /// Amount by which frames are decoded earlier than their publisher says.
    earlier: Span,
    last: Option<Timestamp>,
}

impl DecodingTimes {
    /// Returns the decoding time of the next frame.
    pub(super) fn place(&mut self, dts: Timestamp, pts: Timestamp) -> Timestamp {
        self.earlier = self.earlier.max(dts - pts);
        let at = dts - self.earlier;
        let at = self.last.map_or(at, |last| last.max(at));
        self.last = Some(at);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the decoding times of frames 40 ms apart, for their distances from decoding to presentation.
    fn placed(compositions: &[i64]) -> Vec<i64> {
        let mut times = DecodingTimes::default();
        let all = (0..).zip(compositions).map(|(number, composition)| {
            let dts = Timestamp::from_millis(40 * number);
            times.place(dts, dts + Span::from_millis(*composition))
        });
        all.map(|at| at.millis()).collect()
    }

    #[test]
    fn none_is_decoded_after_it_is_presented_once_that_is_known() {
        // Times of x264's pyramid, 80 ms too early.
        let group = [0, 120, 0, -80, -40];
        let decoded = placed(&group.repeat(3));
        assert!(decoded.is_sorted(), "{decoded:?}");
        let presented = |number: usize| 40 * number as i64 + group[number % 5];
        let late = (0..decoded.len()).filter(|number| decoded[*number] > presented(*number));
        assert_eq!(late.collect::<Vec<_>>(), [3], "{decoded:?}");
    }
}
