//! Encoding options of an operator.

use media::Span;

use crate::transcode::OUTPUT_RATE;

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
    /// Time per packet. Default 20 ms. Longer packets mean fewer datagrams for each listener, and correspondingly more delay.
    pub packet: PacketTime,
    /// libopus's complexity, 0 to 10: CPU time against quality. Default 9.
    pub complexity: u8,
}

/// Length of the audio in one packet.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum PacketTime {
    /// 20 ms, 50 packets per second: what browsers send themselves.
    #[default]
    Ms20,
    /// 40 ms, 25 packets per second.
    Ms40,
    /// 60 ms, under 17 packets per second.
    Ms60,
}

/// Error of an option outside its range.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidOptions {
    /// The bitrate.
    #[error("the Opus bitrate is {0} b/s; it must be from {BITRATE_MIN} to {BITRATE_MAX}")]
    Bitrate(u32),
    /// The complexity.
    #[error("the Opus complexity is {0}; it must be from 0 to {COMPLEXITY_MAX}")]
    Complexity(u8),
}

impl Options {
    /// Checks that every option is within its range.
    pub fn check(&self) -> Result<(), InvalidOptions> {
        if !(BITRATE_MIN..=BITRATE_MAX).contains(&self.bitrate) {
            return Err(InvalidOptions::Bitrate(self.bitrate));
        }
        if self.complexity > COMPLEXITY_MAX {
            return Err(InvalidOptions::Complexity(self.complexity));
        }
        Ok(())
    }

    /// Returns the nearest options that [`Options::check`] accepts.
    pub(crate) fn clamped(self) -> Self {
        Self {
            bitrate: self.bitrate.clamp(BITRATE_MIN, BITRATE_MAX),
            complexity: self.complexity.min(COMPLEXITY_MAX),
            ..self
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bitrate: 128_000,
            packet: PacketTime::default(),
            complexity: 9,
        }
    }
}

impl PacketTime {
    /// Returns the samples per channel at 48 kHz.
    pub const fn samples(self) -> usize {
        match self {
            Self::Ms20 => 960,
            Self::Ms40 => 1_920,
            Self::Ms60 => 2_880,
        }
    }

    /// Returns the duration.
    pub const fn span(self) -> Span {
        Span::from_samples(self.samples() as u64, OUTPUT_RATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_valid_and_ranges_are_kept() {
        assert_eq!(Options::default().check(), Ok(()));
        assert_eq!(Options::default().clamped(), Options::default());
        let wild = Options {
            bitrate: 1,
            complexity: 11,
            ..Options::default()
        };
        assert_eq!(wild.check(), Err(InvalidOptions::Bitrate(1)));
        assert_eq!(wild.clamped().check(), Ok(()));
    }

    #[test]
    fn packets_last_what_they_are_called() {
        assert_eq!(PacketTime::Ms20.span(), Span::from_millis(20));
        assert_eq!(PacketTime::Ms40.span(), Span::from_millis(40));
        assert_eq!(PacketTime::Ms60.span(), Span::from_millis(60));
    }
}
