//! H.264 in SDP: profiles, and which decoder decodes which (RFC 6184 §8.1, ITU-T H.264 annex A).

/// The three bytes `profile_idc`, constraint flags and `level_idc`, as in a sequence parameter set and in
/// the `profile-level-id` parameter.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ProfileLevelId(pub [u8; 3]);

impl ProfileLevelId {
    /// Value assumed for a format without the parameter: Baseline, level 1 (RFC 6184 §8.1).
    pub const DEFAULT: Self = Self([0x42, 0x00, 0x0a]);

    /// Parses six hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 6 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let value = u32::from_str_radix(text, 16).ok()?;
        let [_, profile, flags, level] = value.to_be_bytes();
        Some(Self([profile, flags, level]))
    }

    /// Reads the value from an AVCDecoderConfigurationRecord (ISO/IEC 14496-15 §5.3.3.1).
    pub fn of_avc_config(config: &[u8]) -> Option<Self> {
        match config {
            [1, profile, flags, level, ..] => Some(Self([*profile, *flags, *level])),
            _ => None,
        }
    }

    /// Returns the profile; `Other` if browsers do not name it.
    pub const fn profile(self) -> H264Profile {
        let [profile, flags, _] = self.0;
        let (set0, set1) = (flags & 0x80 != 0, flags & 0x40 != 0);
        let (set3, set4, set5) = (flags & 0x10 != 0, flags & 0x08 != 0, flags & 0x04 != 0);
        match profile {
            0x42 if set1 => H264Profile::ConstrainedBaseline,
            0x42 => H264Profile::Baseline,
            0x4d if set0 => H264Profile::ConstrainedBaseline,
            0x4d => H264Profile::Main,
            0x58 if set0 && set1 => H264Profile::ConstrainedBaseline,
            0x64 if set4 && set5 && !set3 => H264Profile::ConstrainedHigh,
            0x64 => H264Profile::High,
            0xf4 => H264Profile::High444,
            _ => H264Profile::Other,
        }
    }
}

/// Named subset of H.264's tools. Those with more tools come later.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum H264Profile {
    /// Anything that browsers do not name.
    Other,
    /// Subset that every decoder decodes.
    ConstrainedBaseline,
    /// Subset with error resilience tools that are hardly ever used.
    Baseline,
    /// Subset with B-frames and CABAC.
    Main,
    /// High without interlacing and B-frames.
    ConstrainedHigh,
    /// Subset with the 8×8 transform.
    High,
    /// High 4:4:4 Predictive.
    High444,
}

impl H264Profile {
    /// Whether a decoder of this profile decodes streams of `stream`.
    pub const fn decodes(self, stream: Self) -> bool {
        use H264Profile::*;
        match stream {
            ConstrainedBaseline => !matches!(self, Other),
            Baseline => matches!(self, Baseline),
            Main => matches!(self, Main | High | High444),
            ConstrainedHigh => matches!(self, ConstrainedHigh | High | High444),
            High => matches!(self, High | High444),
            High444 => matches!(self, High444),
            Other => false,
        }
    }
}

/// An offered H.264 format.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct H264Format {
    /// Profile and highest level.
    pub profile_level_id: ProfileLevelId,
    /// Whether a NAL unit may be spread over packets (packetization mode 1); otherwise a frame would have to fit one packet.
    pub fragments: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(text: &str) -> H264Profile {
        ProfileLevelId::parse(text).expect("six digits").profile()
    }

    #[test]
    fn profiles_are_recognised_by_their_flags() {
        assert_eq!(profile("42e01f"), H264Profile::ConstrainedBaseline);
        assert_eq!(profile("42001f"), H264Profile::Baseline);
        assert_eq!(profile("4d001f"), H264Profile::Main);
        assert_eq!(profile("4d801f"), H264Profile::ConstrainedBaseline);
        assert_eq!(profile("640c1f"), H264Profile::ConstrainedHigh);
        assert_eq!(profile("64001f"), H264Profile::High);
        assert_eq!(profile("f4001f"), H264Profile::High444);
        assert_eq!(profile("6e001f"), H264Profile::Other);
        let config = [1, 0x4d, 0x40, 0x28, 0xff, 0xe1];
        let expected = ProfileLevelId::parse("4d4028");
        assert_eq!(ProfileLevelId::of_avc_config(&config), expected);
        assert_eq!(ProfileLevelId::of_avc_config(&[0, 0, 0, 1]), None);
        assert_eq!(ProfileLevelId::parse("42e01"), None);
        assert_eq!(ProfileLevelId::parse("+2e01f"), None);
    }

    #[test]
    fn decoders_contain_smaller_profiles() {
        use H264Profile::*;
        assert!(High.decodes(ConstrainedHigh) && High.decodes(Main));
        assert!(Baseline.decodes(ConstrainedBaseline) && !ConstrainedBaseline.decodes(Baseline));
        assert!(!ConstrainedHigh.decodes(High) && !Main.decodes(High));
        assert!(!Other.decodes(Other));
    }
}
