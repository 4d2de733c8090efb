//! When the pictures of a track are decoded, where their publisher has some presented before that.
//!
//! FLV permits it, a transport stream does not (ISO/IEC 13818-1 §2.7.5). When they are presented is never changed;
//! all are decoded earlier instead, by as much as any was late so far. Decoding times do not step back, so where that
//! grows some pictures, within the first group of them, still have one that is too late, as their publisher had.

use media::{Span, Timestamp};

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct DecodingTimes {
    /// By how much pictures are decoded earlier than their publisher says.
    earlier: Span,
    last: Option<Timestamp>,
}

impl DecodingTimes {
    /// When the next picture is decoded.
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

    /// The decoding times of pictures 40 ms apart, for their distances from decoding to presentation.
    fn placed(compositions: &[i64]) -> Vec<i64> {
        let mut times = DecodingTimes::default();
        let all = (0..).zip(compositions).map(|(number, composition)| {
            let dts = Timestamp::from_millis(40 * number);
            times
                .place(dts, dts + Span::from_millis(*composition))
                .millis()
        });
        all.collect()
    }

    #[test]
    fn pictures_that_are_decoded_in_time_stay_where_they_are() {
        assert_eq!(placed(&[80, 200, 80, 0, 40]), [0, 40, 80, 120, 160]);
    }

    #[test]
    fn none_is_decoded_after_it_is_presented_once_that_is_known() {
        // Of x264's pyramid, 80 ms too early.
        let group = [0, 120, 0, -80, -40];
        let decoded = placed(&group.repeat(3));
        assert!(decoded.is_sorted(), "{decoded:?}");
        let presented = |number: usize| 40 * number as i64 + group[number % 5];
        let late = (0..decoded.len()).filter(|number| decoded[*number] > presented(*number));
        assert_eq!(late.collect::<Vec<_>>(), [3], "{decoded:?}");
    }
}
