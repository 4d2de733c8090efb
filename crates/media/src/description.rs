//! Description of a track from its configuration, for people and their tools.

use crate::codec::aac::AudioSpecificConfig;
use crate::codec::h264::AvcConfig;
use crate::codec::{av1, hevc, vp9};
use crate::{Codec, Track};

/// Details of a track's coding beside its codec; `None` for each that the configuration does not state.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Description {
    /// Profile, named as in the codec's standard: `High`, `Main 10`, `AAC-LC`.
    pub profile: Option<String>,
    /// Level: `3.1`, `5.1 high tier`.
    pub level: Option<String>,
    /// Width and height of the video, cropped, in luma samples.
    pub dimensions: Option<(u32, u32)>,
}

impl Description {
    /// Returns the description of a track as it was announced.
    pub fn of(track: &Track) -> Self {
        let config = &track.config[..];
        match track.codec {
            Codec::H264 => AvcConfig::parse(config).map(|config| Self {
                profile: config.profile_name().map(str::to_owned),
                level: Some(config.level_name()),
                dimensions: config.dimensions(),
            }),
            Codec::Hevc => hevc::description(config),
            Codec::Av1 => av1::description(config),
            Codec::Vp9 => vp9::description(config),
            Codec::Aac => AudioSpecificConfig::parse(config).map(|config| Self {
                profile: config.profile_name().map(str::to_owned),
                ..Self::default()
            }),
            _ => None,
        }
        .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{Framing, Kind, TrackId};

    fn described(codec: Codec, config: &[u8]) -> (Option<String>, Option<String>) {
        let mut track = Track::new(TrackId::VIDEO, Kind::Video, codec, Framing::Bare);
        track.config = Bytes::copy_from_slice(config);
        let Description { profile, level, .. } = Description::of(&track);
        (profile, level)
    }

    fn words(profile: &str, level: &str) -> (Option<String>, Option<String>) {
        let some = |word: &str| (!word.is_empty()).then(|| word.to_owned());
        (some(profile), some(level))
    }

    #[test]
    fn records_tell_profile_and_level() {
        let avc = |profile, flags, level| {
            described(Codec::H264, &[1, profile, flags, level, 0xFF, 0xE0, 0])
        };
        assert_eq!(avc(100, 0, 31), words("High", "3.1"));
        assert_eq!(avc(66, 0x40, 30), words("Constrained Baseline", "3.0"));
        assert_eq!(avc(66, 0, 11), words("Baseline", "1.1"));
        assert_eq!(avc(77, 0x10, 11), words("Main", "1b"));
        assert_eq!(avc(99, 0, 40), words("", "4.0"));
        let av1 = |level, high| described(Codec::Av1, &[0x81, level, high, 0]);
        assert_eq!(av1(0x08, 0), words("Main", "4.0"));
        assert_eq!(av1(0x2D, 0x80), words("High", "5.1 high tier"));
        let hevc = |first: u8, level: u8| {
            let mut record = [0; 23];
            (record[0], record[1], record[12], record[21]) = (1, first, level, 3);
            described(Codec::Hevc, &record)
        };
        assert_eq!(hevc(1, 93), words("Main", "3.1"));
        assert_eq!(hevc(0x22, 150), words("Main 10", "5.0 high tier"));
        assert_eq!(described(Codec::Hevc, &[1, 2]), words("", ""));

        let vp9 = [1, 0, 0, 0, 2, 31, 0xA0, 1, 1, 1, 0, 0];
        assert_eq!(described(Codec::Vp9, &vp9), words("Profile 2", "3.1"));
        assert_eq!(described(Codec::Aac, &[0x11, 0x90]), words("AAC-LC", ""));
        assert_eq!(described(Codec::Vp8, &[]), words("", ""));
    }
}
