//! Encoding options of an operator.

/// Lowest rate for stereo music, in bits per second; below it libopus would switch to its speech coder.
const BITRATE_MIN: u32 = 32_000;
/// Highest rate, in bits per second: no audible difference above, and a packet of 20 ms still fits one datagram.
const BITRATE_MAX: u32 = 256_000;
/// Upper end of libopus's scale.
const COMPLEXITY_MAX: u8 = 10;

/// Options of the Opus encoder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Options {
    /// Bits per second for stereo, 32 000 to 256 000; mono takes half. Default 128 000. The rate varies with the audio and is
    /// met on average.
    pub bitrate: u32,
    /// libopus's complexity, 0 to 10: CPU time against quality. Default 9.
    pub complexity: u8,
}

impl Options {
    /// Whether every option is within its range.
    pub fn is_valid(self) -> bool {
        self == self.clamped()
    }

    /// Returns the nearest valid options.
    pub(crate) fn clamped(self) -> Self {
        Self {
            bitrate: self.bitrate.clamp(BITRATE_MIN, BITRATE_MAX),
            complexity: self.complexity.min(COMPLEXITY_MAX),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bitrate: 128_000,
            complexity: 9,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid_and_ranges_are_kept() {
        assert!(Options::default().is_valid());
        for (bitrate, complexity) in [(1, 9), (128_000, 11)] {
            let wild = Options {
                bitrate,
                complexity,
            };
            assert!(!wild.is_valid() && wild.clamped().is_valid(), "{wild:?}");
        }
    }
}
