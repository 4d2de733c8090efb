//! VP9: the uncompressed header of a frame (VP9 bitstream specification §6.2), and the configuration record derived
//! from it (VP codec ISO media file format binding §2.2).

use super::bits::Bits;
use crate::Description;

/// Levels, ten times, by the luma samples of their largest frame (annex A).
const LEVELS: [(u32, u8); 9] = [
    (36_864, 10),
    (73_728, 11),
    (122_880, 20),
    (245_760, 21),
    (552_960, 30),
    (983_040, 31),
    (2_228_224, 40),
    (8_912_896, 50),
    (35_651_584, 60),
];

/// Kind of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FrameHeader {
    /// A keyframe.
    Key(KeyHeader),
    /// A frame predicted from others, or one that is shown again.
    Inter,
}

/// Header fields of a keyframe.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct KeyHeader {
    /// Width in luma samples.
    pub width: u32,
    /// Height in luma samples.
    pub height: u32,
    profile: u8,
    depth: u8,
    /// `chromaSubsampling` of the record.
    subsampling: u8,
    is_full_range: bool,
}

impl FrameHeader {
    /// Parses the header; `None` when it is truncated or invalid.
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let mut bits = Bits::new(frame);
        if bits.take(2)? != 2 {
            return None;
        }
        let profile = bits.take(1)? | bits.take(1)? << 1;
        if profile == 3 {
            bits.skip(1)?;
        }
        // show_existing_frame, frame_type
        if bits.flag()? || bits.flag()? {
            return Some(Self::Inter);
        }
        bits.skip(2)?;
        if bits.take(24)? != 0x49_83_42 {
            return None;
        }
        let depth = match profile >= 2 {
            true if bits.flag()? => 12,
            true => 10,
            false => 8,
        };
        let (mut is_full_range, mut subsampling) = (true, 3);
        let has_subsampling = profile & 1 == 1;
        // Seven is RGB, which is always full range.
        if bits.take(3)? == 7 {
            if has_subsampling {
                bits.skip(1)?;
            }
        } else {
            is_full_range = bits.flag()?;
            subsampling = 1;
            if has_subsampling {
                subsampling = match (bits.flag()?, bits.flag()?) {
                    (true, true) => 1,
                    (true, false) => 2,
                    (false, _) => 3,
                };
                bits.skip(1)?;
            }
        }
        Some(Self::Key(KeyHeader {
            width: bits.take(16)? + 1,
            height: bits.take(16)? + 1,
            profile: profile as u8,
            depth,
            subsampling,
            is_full_range,
        }))
    }
}

impl KeyHeader {
    /// Returns the VPCodecConfigurationRecord of a stream with such keyframes. Colour is left unspecified.
    pub fn record(&self) -> [u8; RECORD_BYTES] {
        let samples = self.width.saturating_mul(self.height);
        let level = LEVELS.iter().find(|(largest, _)| samples <= *largest);
        let level = level.map_or(62, |(_, level)| *level);
        let format = self.depth << 4 | self.subsampling << 1 | u8::from(self.is_full_range);
        [self.profile, level, format, 2, 2, 2, 0, 0]
    }
}

/// Header of a FullBox of version 1 (ISO/IEC 14496-12 §4.2), which precedes the record in a `vpcC` box.
const FULL_BOX: [u8; 4] = [1, 0, 0, 0];

/// Size of a configuration record, in bytes; VP9 appends nothing to it.
pub const RECORD_BYTES: usize = 8;

/// Returns a configuration record without the header of its box; `None` when it is truncated.
pub fn bare_record(record: &[u8]) -> Option<&[u8; RECORD_BYTES]> {
    record
        .strip_prefix(&FULL_BOX)
        .unwrap_or(record)
        .first_chunk()
}

/// Returns profile and level of a configuration record; only keyframes have the size.
pub fn description(record: &[u8]) -> Option<Description> {
    let [profile, level, ..] = *bare_record(record)?;
    Some(Description {
        profile: Some(format!("Profile {profile}")),
        level: (level > 0).then(|| format!("{}.{}", level / 10, level % 10)),
        dimensions: None,
    })
}

/// Returns the RFC 6381 codec string of a configuration record, e.g. `vp09.00.31.08` (VP codec ISO media file format
/// binding §3).
pub fn codec_string(record: &[u8]) -> Option<String> {
    let [profile, level, format, ..] = *bare_record(record)?;
    Some(format!("vp09.{profile:02}.{level:02}.{:02}", format >> 4))
}

/// Returns the profile of a configuration record, with or without the header of its box. No record by itself begins
/// like that header: it would be of level 0 and of no bit depth.
pub fn record_profile(record: &[u8]) -> Option<u8> {
    let record = record.strip_prefix(&FULL_BOX).unwrap_or(record);
    record.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_stands_behind_the_header_of_the_box() {
        let record = [2, 31, 0xA0, 2, 2, 2, 0, 0];
        let boxed = [&FULL_BOX[..], &record].concat();
        assert_eq!(record_profile(&record), Some(2));
        assert_eq!(record_profile(&boxed), Some(2));
        assert_eq!(bare_record(&boxed), Some(&record));
        assert_eq!(codec_string(&boxed).as_deref(), Some("vp09.02.31.10"));
        assert_eq!((bare_record(&boxed[..11]), codec_string(&[])), (None, None));
        assert_eq!(record_profile(&[1, 31, 0x80, 2]), Some(1));
        assert_eq!(record_profile(&[]), None);
        assert_eq!(record_profile(&FULL_BOX), None);
    }

    #[test]
    fn frames_are_distinguished() {
        // 320×180, profile 0, from libvpx.
        let key = [0x82, 0x49, 0x83, 0x42, 0x00, 0x13, 0xF0, 0x0B, 0x36, 0x00];
        let Some(FrameHeader::Key(header)) = FrameHeader::parse(&key) else {
            panic!("it is a keyframe");
        };
        assert_eq!((header.width, header.height), (320, 180));
        assert_eq!(header.record(), [0, 11, 0x82, 2, 2, 2, 0, 0]);
        assert_eq!(FrameHeader::parse(&key[..8]), None);
        assert_eq!(FrameHeader::parse(&[0x86]), Some(FrameHeader::Inter));
        assert_eq!(FrameHeader::parse(&[0x88]), Some(FrameHeader::Inter));
        assert_eq!(FrameHeader::parse(&[0x42]), None);
    }
}
