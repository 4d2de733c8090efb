//! Extension of RTMP's 32-bit millisecond clock.

/// Extender of timestamps that count modulo 2^32 milliseconds (49.7 days) to 64 bits.
///
/// Each timestamp is taken as the one nearest to the last, so that steps back (B-frame muxers, clock
/// corrections) stay steps back and the wrap has no effect. Use one per kind of media: audio and video
/// advance independently.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwrap {
    last: Option<i64>,
}

impl Unwrap {
    /// Returns the extended time of `timestamp`, in milliseconds. The first one keeps its value.
    pub fn extend(&mut self, timestamp: u32) -> i64 {
        let extended = match self.last {
            None => i64::from(timestamp),
            Some(last) => {
                // The truncation is the point: the low half is the wire's clock.
                let step = timestamp.wrapping_sub(last as u32).cast_signed();
                last + i64::from(step)
            }
        };
        self.last = Some(extended);
        extended
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn follows_any_clock_in_steps_below_half_the_range(
            start in 0..1_i64 << 32,
            steps in prop::collection::vec(i64::from(i32::MIN + 1)..i64::from(i32::MAX), 1..64),
        ) {
            let mut clock = Unwrap::default();
            let mut time = start;
            prop_assert_eq!(clock.extend(time as u32), time);
            for step in steps {
                time += step;
                prop_assert_eq!(clock.extend(time as u32), time);
            }
        }
    }
}
