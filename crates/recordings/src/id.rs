//! Identifiers of recordings.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use media::StreamName;

/// Bits of the digest that distinguishes streams whose recordings begin in the same second. With a thousand streams, and a
/// recording of each every hour for a year, the probability of a collision is less than a hundredth; the second recording then
/// gets another number.
const DIGEST_BITS: u32 = 40;

/// Bits of the number. Recordings of one stream that begin in one second are few.
const NUMBER_BITS: u32 = 16;

/// Digits in an identifier's text.
const TEXT_CHARS: usize = 24;

/// Identifier of a recording: 24 hexadecimal digits, in URLs and in the API. It is derived from the stream, the second in which
/// the recording begins, and the recording's number within that second. Later recordings have larger identifiers.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RecordingId(u128);

/// Error for a text that is not the identifier of a recording.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not 24 hexadecimal digits in lower case")]
pub struct NotAnId;

impl RecordingId {
    /// Returns the identifier of the recording of `stream` that begins in the second of `started`, with this number among those
    /// that do.
    pub fn new(stream: &StreamName, started: SystemTime, number: u32) -> Self {
        let since = started.duration_since(UNIX_EPOCH).unwrap_or_default();
        // 40 bits of seconds cover 34,000 years.
        let seconds = u128::from(since.as_secs() & ((1 << 40) - 1));
        let name = stream.as_str().bytes();
        let digest = digest(name.chain([b'/']).chain(number.to_be_bytes()));
        let number = u128::from(number & ((1 << NUMBER_BITS) - 1));
        let digest = u128::from(digest >> (u64::BITS - DIGEST_BITS));
        Self((seconds << NUMBER_BITS | number) << DIGEST_BITS | digest)
    }

    /// Returns a bound between recordings: smaller than the identifiers of all that begin after the second of `time`, and
    /// larger than all others.
    pub fn after(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = u128::from((since.as_secs() + 1) & ((1 << 40) - 1));
        Self(seconds << (NUMBER_BITS + DIGEST_BITS))
    }
}

/// Returns the 64-bit FNV-1a hash with its bits mixed once more, because the upper ones are used.
fn digest(bytes: impl Iterator<Item = u8>) -> u64 {
    let fnv = bytes.fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    let mixed = (fnv ^ fnv >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    mixed ^ mixed >> 33
}

impl fmt::Display for RecordingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:024x}", self.0)
    }
}

impl fmt::Debug for RecordingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for RecordingId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != TEXT_CHARS || !text.bytes().all(is_digit) {
            return Err(NotAnId);
        }
        let id = u128::from_str_radix(text, 16).map_err(|_| NotAnId)?;
        Ok(Self(id))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use super::*;

    fn id(stream: &str, seconds: u64, number: u32) -> RecordingId {
        let stream = StreamName::parse(stream).expect("a name");
        RecordingId::new(&stream, UNIX_EPOCH + Duration::from_secs(seconds), number)
    }

    #[test]
    fn it_is_the_same_after_a_restart_and_has_one_text() {
        let now = 1_800_000_000;
        assert_eq!(id("live/show", now, 0), id("live/show", now, 0));
        let text = id("live/show", now, 0).to_string();
        assert_eq!(text.len(), TEXT_CHARS);
        assert_eq!(text.parse(), Ok(id("live/show", now, 0)));
        let (upper, plus) = (text.to_uppercase(), text.replacen('0', "+", 1));
        for wrong in ["", "..", &text[1..], &upper, &plus] {
            assert_eq!(wrong.parse::<RecordingId>(), Err(NotAnId), "{wrong}");
        }
    }

    #[test]
    fn later_recordings_have_larger_ones_and_all_differ() {
        assert!(id("z", 1_800_000_000, 9) < id("a", 1_800_000_001, 0));
        assert!(id("a", 1_800_000_000, 9) < id("a", 1_800_000_000, 10));
        let after = RecordingId::after(UNIX_EPOCH + Duration::from_millis(1_800_000_000_900));
        assert!(id("z", 1_800_000_000, 999) < after && after < id("a", 1_800_000_001, 0));
        let mut seen = HashSet::new();
        for stream in ["a", "b", "a/b", "live/show", "live/show~low"] {
            for number in 0..100 {
                assert!(seen.insert(id(stream, 1_800_000_000, number)));
            }
        }
    }
}
