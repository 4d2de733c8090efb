//! Headers with which a source client describes its stream.

use crate::text::{percent_decode, utf8_or_latin1};

/// Returns the name of a stream header without its prefix: Icecast's own, SHOUTcast's, and the one from before both.
pub(crate) fn ice_suffix(name: &str) -> Option<&str> {
    let prefixes = ["ice-", "icy-", "x-audiocast-"];
    let suffix = prefixes
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))?;
    (!suffix.is_empty()).then_some(suffix)
}

/// Numeric parts of `ice-audio-info: ice-bitrate=128;ice-channels=2;ice-samplerate=44100`. A claim, not a measurement.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct AudioInfo {
    /// Bit rate in kbit/s.
    pub bitrate: Option<u32>,
    /// Number of channels.
    pub channels: Option<u32>,
    /// Sample rate in Hz.
    pub sample_rate: Option<u32>,
}

impl AudioInfo {
    /// Parses the header's value. Keys come with and without the `ice-` prefix, values may be percent-encoded, and unknown keys
    /// are skipped.
    pub(crate) fn parse(value: &str) -> Self {
        let mut info = Self::default();
        for pair in value.split(';') {
            let Some((key, value)) = pair.split_once('=') else {
                continue;
            };
            let key = key.trim();
            let value = percent_decode(value.trim().as_bytes());
            let number = utf8_or_latin1(&value).parse().ok();
            match key.strip_prefix("ice-").unwrap_or(key) {
                "bitrate" => info.bitrate = number,
                "channels" => info.channels = number,
                "samplerate" => info.sample_rate = number,
                _ => {}
            }
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read() {
        let expected = AudioInfo {
            bitrate: Some(128),
            channels: Some(2),
            sample_rate: Some(44_100),
        };
        for value in [
            "ice-samplerate=44100;ice-bitrate=128;ice-channels=2",
            "samplerate=44100; bitrate=%3128 ;channels=2;quality=5",
            "bitrate=128;junk;channels=2;samplerate=44100;",
        ] {
            assert_eq!(AudioInfo::parse(value), expected, "{value}");
        }
        let vbr = AudioInfo::parse("bitrate=Quality%204;channels=2;samplerate=44100");
        assert_eq!(
            vbr,
            AudioInfo {
                bitrate: None,
                ..expected
            }
        );
    }
}
