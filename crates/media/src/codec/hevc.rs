//! HEVC: HEVCDecoderConfigurationRecord (ISO/IEC 14496-15 §8.3.3), and the fields of NAL units and of the sequence
//! parameter set (ITU-T H.265 §7.3.1.2, §7.3.2.2) that a relay needs.

use super::bits::Bits;
use super::nal::{take_prefixed, without_emulation_prevention};
use crate::Description;

/// Upper bound on the parameter sets of one kind that are read from a record: there are 16 numbers of video and
/// sequence parameter sets and 64 of picture parameter sets.
const PARAMETER_SETS_MAX: usize = 64;

/// Size of a record before its arrays, in bytes.
const RECORD_HEAD_BYTES: usize = 23;

/// Size of `general_profile_space` to `general_level_idc`, which set and record both have, in bytes.
const PROFILE_BYTES: usize = 12;

/// NAL unit types (ITU-T H.265 table 7-1) that a relay distinguishes.
pub mod unit {
    /// First of the types with a random access point.
    pub const IRAP_FIRST: u8 = 16;
    /// Last of the types with a random access point; two are reserved.
    pub const IRAP_LAST: u8 = 23;
    /// End of the types that hold slices.
    pub const SLICES_END: u8 = 32;
    /// Video parameter set.
    pub const VPS: u8 = 32;
    /// Sequence parameter set.
    pub const SPS: u8 = 33;
    /// Picture parameter set.
    pub const PPS: u8 = 34;
    /// Access unit delimiter.
    pub const DELIMITER: u8 = 35;
    /// Filler data.
    pub const FILLER: u8 = 38;
    /// Supplemental enhancement information before a frame's slices.
    pub const SEI: u8 = 39;
}

/// Parsed first two bytes of a NAL unit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct UnitHeader {
    /// `nal_unit_type`, below 64.
    pub kind: u8,
    /// `nuh_layer_id`, below 64.
    pub layer: u8,
    /// `nuh_temporal_id_plus1`; 0 is forbidden.
    pub temporal_plus_1: u8,
}

impl UnitHeader {
    /// Parses the header; `None` for a unit without a payload.
    pub fn parse(unit: &[u8]) -> Option<Self> {
        let [first, second, _] = *unit.first_chunk()?;
        Some(Self {
            kind: first >> 1 & 0x3F,
            layer: (first & 1) << 5 | second >> 3,
            temporal_plus_1: second & 7,
        })
    }

    /// Whether the unit is a slice.
    pub const fn is_slice(self) -> bool {
        self.kind < unit::SLICES_END
    }

    /// Whether the unit belongs to a random access point.
    pub const fn is_random_access(self) -> bool {
        self.kind >= unit::IRAP_FIRST && self.kind <= unit::IRAP_LAST
    }

    /// Whether no frame of the same temporal sub-layer is predicted from it: the even types below 16.
    pub const fn is_sub_layer_non_reference(self) -> bool {
        self.kind < unit::IRAP_FIRST && self.kind.is_multiple_of(2)
    }
}

/// A decoder's configuration, borrowed from the record.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HevcConfig<'a> {
    /// Size of the length before each NAL unit of a sample, in bytes: 1, 2 or 4.
    pub length_bytes: usize,
    /// Number of temporal sub-layers; 0 when unknown.
    pub temporal_layers: u8,
    /// Video parameter sets, as NAL units.
    pub vps: Vec<&'a [u8]>,
    /// Sequence parameter sets, as NAL units.
    pub sps: Vec<&'a [u8]>,
    /// Picture parameter sets, as NAL units.
    pub pps: Vec<&'a [u8]>,
}

impl<'a> HevcConfig<'a> {
    /// Parses a record. Arrays of other units are skipped.
    pub fn parse(record: &'a [u8]) -> Option<Self> {
        let head: &[u8; RECORD_HEAD_BYTES] = record.first_chunk()?;
        let length_bytes = usize::from(head[21] & 3) + 1;
        // Early writers left the version 0.
        if head[0] > 1 || length_bytes == 3 {
            return None;
        }
        let mut config = Self {
            length_bytes,
            temporal_layers: head[21] >> 3 & 7,
            ..Self::default()
        };
        let mut rest = &record[RECORD_HEAD_BYTES..];
        for _ in 0..head[22] {
            let ([kind, high, low], after) = rest.split_first_chunk()?;
            rest = after;
            for _ in 0..u16::from_be_bytes([*high, *low]) {
                config.keep(kind & 0x3F, take_prefixed(&mut rest, 2)?);
            }
        }
        Some(config)
    }

    fn keep(&mut self, kind: u8, unit: &'a [u8]) {
        let units = match kind {
            unit::VPS => &mut self.vps,
            unit::SPS => &mut self.sps,
            unit::PPS => &mut self.pps,
            _ => return,
        };
        if units.len() < PARAMETER_SETS_MAX && !unit.is_empty() {
            units.push(unit);
        }
    }

    /// Returns width and height of the frame in luma samples, cropped, if the first sequence parameter set can be read.
    pub fn dimensions(&self) -> Option<(u32, u32)> {
        let sps = Sps::parse(self.sps.first()?)?;
        Some((sps.width, sps.height))
    }

    /// Writes a record of the parameter sets, for samples with lengths of four bytes. Returns `None` without a sequence
    /// parameter set that can be read, or when one is longer than a record holds.
    pub fn write(vps: &[&[u8]], sps: &[&[u8]], pps: &[&[u8]]) -> Option<Vec<u8>> {
        let facts = Sps::parse(sps.first()?)?;
        let mut record = vec![1];
        record.extend_from_slice(&facts.profile);
        // No segmentation and no parallelism is promised; the frame rate is unknown.
        record.extend_from_slice(&[0xF0, 0, 0xFC]);
        record.push(0xFC | facts.chroma as u8);
        record.push(0xF8 | facts.luma_depth_less_8 as u8);
        record.push(0xF8 | facts.chroma_depth_less_8 as u8);
        let nested = u8::from(facts.is_nested);
        record.extend_from_slice(&[0, 0, facts.temporal_layers << 3 | nested << 2 | 3, 3]);
        for (kind, units) in [(unit::VPS, vps), (unit::SPS, sps), (unit::PPS, pps)] {
            record.push(0x80 | kind);
            record.extend_from_slice(&u16::try_from(units.len()).ok()?.to_be_bytes());
            for unit in units {
                record.extend_from_slice(&u16::try_from(unit.len()).ok()?.to_be_bytes());
                record.extend_from_slice(unit);
            }
        }
        Some(record)
    }
}

/// Returns profile, level and size of a record (H.265 annex A).
pub fn description(record: &[u8]) -> Option<Description> {
    let head: &[u8; RECORD_HEAD_BYTES] = record.first_chunk()?;
    let profile = match head[1] & 0x1F {
        1 => Some("Main"),
        2 => Some("Main 10"),
        3 => Some("Main Still Picture"),
        4 => Some("Range Extensions"),
        _ => None,
    };
    let tier = if head[1] & 0x20 == 0 {
        ""
    } else {
        " high tier"
    };
    // Thirty times the level.
    let level = head[12];
    Some(Description {
        profile: profile.map(str::to_owned),
        level: Some(format!("{}.{}{tier}", level / 30, level % 30 / 3)),
        dimensions: HevcConfig::parse(record).and_then(|config| config.dimensions()),
    })
}

/// Returns the RFC 6381 codec string of a record, e.g. `hvc1.1.6.L93.B0` (ISO/IEC 14496-15 §E.3).
pub fn codec_string(record: &[u8]) -> Option<String> {
    let head: &[u8; RECORD_HEAD_BYTES] = record.first_chunk()?;
    let space = ["", "A", "B", "C"][usize::from(head[1] >> 6)];
    let tier = if head[1] & 0x20 == 0 { 'L' } else { 'H' };
    let profile = head[1] & 0x1F;
    // The string has the flags in the opposite order.
    let flags = u32::from_be_bytes([head[2], head[3], head[4], head[5]]).reverse_bits();
    let level = head[12];
    let mut name = format!("hvc1.{space}{profile}.{flags:X}.{tier}{level}");
    let constraints = &head[6..12];
    let used = constraints.iter().rposition(|byte| *byte != 0);
    for byte in &constraints[..used.map_or(0, |last| last + 1)] {
        name.push_str(&format!(".{byte:X}"));
    }
    Some(name)
}

/// Returns the number of a parameter set among those of its kind; `None` for any other unit.
pub fn parameter_set_id(nal: &[u8]) -> Option<u32> {
    let payload = || without_emulation_prevention(&nal[2..]);
    match UnitHeader::parse(nal)?.kind {
        unit::VPS => Bits::new(&payload()).take(4),
        unit::SPS => Sps::parse(nal).map(|sps| sps.id),
        unit::PPS => Bits::new(&payload()).golomb(),
        _ => None,
    }
}

/// First fields of a sequence parameter set.
struct Sps {
    id: u32,
    temporal_layers: u8,
    is_nested: bool,
    profile: [u8; PROFILE_BYTES],
    chroma: u32,
    luma_depth_less_8: u32,
    chroma_depth_less_8: u32,
    width: u32,
    height: u32,
}

impl Sps {
    fn parse(nal: &[u8]) -> Option<Self> {
        if UnitHeader::parse(nal)?.kind != unit::SPS {
            return None;
        }
        let payload = without_emulation_prevention(&nal[2..]);
        let mut bits = Bits::new(&payload);
        bits.skip(4)?; // sps_video_parameter_set_id
        let sub_layers = bits.take(3).filter(|count| *count <= 6)?;
        let is_nested = bits.flag()?;
        let mut profile = [0; PROFILE_BYTES];
        for byte in &mut profile {
            *byte = bits.take(8)? as u8;
        }
        skip_sub_layers(&mut bits, sub_layers)?;
        let id = bits.golomb().filter(|id| *id < 16)?;
        let chroma = bits.golomb().filter(|chroma| *chroma <= 3)?;
        if chroma == 3 {
            bits.skip(1)?;
        }
        let (mut width, mut height) = (bits.golomb()?, bits.golomb()?);
        if bits.flag()? {
            // The conformance window counts in chroma samples (§7.4.3.2.1).
            let unit_x = if matches!(chroma, 1 | 2) { 2 } else { 1 };
            let unit_y = if chroma == 1 { 2 } else { 1 };
            let mut cut = |unit: u32| {
                let sides = bits.golomb()?.checked_add(bits.golomb()?)?;
                sides.checked_mul(unit)
            };
            width = width.checked_sub(cut(unit_x)?)?;
            height = height.checked_sub(cut(unit_y)?)?;
        }
        Some(Self {
            id,
            temporal_layers: sub_layers as u8 + 1,
            is_nested,
            profile,
            chroma,
            luma_depth_less_8: bits.golomb().filter(|depth| *depth <= 7)?,
            chroma_depth_less_8: bits.golomb().filter(|depth| *depth <= 7)?,
            width,
            height,
        })
    }
}

/// Skips the fields of `profile_tier_level` for the sub-layers below the highest (§7.3.3).
fn skip_sub_layers(bits: &mut Bits<'_>, sub_layers: u32) -> Option<()> {
    let mut present = 0;
    for _ in 0..sub_layers {
        let profile = if bits.flag()? { 88 } else { 0 };
        present += profile + if bits.flag()? { 8 } else { 0 };
    }
    if sub_layers > 0 {
        bits.skip(2 * (8 - sub_layers as usize))?;
    }
    bits.skip(present)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Main profile, 320×180, from x265.
    const VPS: &[u8] = &[
        0x40, 0x01, 0x0C, 0x01, 0xFF, 0xFF, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0x90, 0x00, 0x00,
        0x03, 0x00, 0x00, 0x03, 0x00, 0x3C, 0x95, 0x98, 0x09,
    ];
    const SPS: &[u8] = &[
        0x42, 0x01, 0x01, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0x90, 0x00, 0x00, 0x03, 0x00, 0x00,
        0x03, 0x00, 0x3C, 0xA0, 0x0A, 0x08, 0x0B, 0x9F, 0x79, 0x65, 0x66, 0x92, 0x4C, 0xAF, 0x01,
        0x68, 0x08, 0x00, 0x00, 0x03, 0x00, 0x08, 0x00, 0x00, 0x03, 0x00, 0xC8, 0x40,
    ];
    const PPS: &[u8] = &[0x44, 0x01, 0xC1, 0x72, 0xB4, 0x62, 0x40];

    #[test]
    fn what_is_written_is_read() {
        let record = HevcConfig::write(&[VPS], &[SPS], &[PPS, PPS]).expect("a readable set");
        let config = HevcConfig::parse(&record).expect("a whole record");
        assert_eq!((config.length_bytes, config.temporal_layers), (4, 1));
        assert_eq!(config.vps, [VPS]);
        assert_eq!(config.sps, [SPS]);
        assert_eq!(config.pps, [PPS, PPS]);
        assert_eq!(config.dimensions(), Some((320, 180)));
        assert_eq!(codec_string(&record).as_deref(), Some("hvc1.1.6.L60.90"));
        assert_eq!(codec_string(&record[..22]), None);
        // Profile 1, its compatibility flags, level 2.0: as in the set, without its escapes.
        assert_eq!(record[1..6], [0x01, 0x60, 0, 0, 0]);
        assert_eq!(record[12], 60);
        for length in 0..record.len() {
            assert_eq!(HevcConfig::parse(&record[..length]), None, "{length} bytes");
        }
        assert_eq!(HevcConfig::write(&[VPS], &[PPS], &[PPS]), None);
    }

    #[test]
    fn units_are_distinguished() {
        let header = |first, second| UnitHeader::parse(&[first, second, 0]).expect("long enough");
        let key = header(0x26, 0x01);
        let expected = UnitHeader {
            kind: 19,
            layer: 0,
            temporal_plus_1: 1,
        };
        assert_eq!(key, expected);
        assert!(key.is_random_access() && key.is_slice());
        assert!(header(0x00, 0x02).is_sub_layer_non_reference());
        assert!(!header(0x02, 0x01).is_sub_layer_non_reference());
        assert_eq!(header(0x03, 0xF9).layer, 63);
        assert_eq!(UnitHeader::parse(&[0x26, 0x01]), None);
        assert_eq!([VPS, SPS, PPS].map(parameter_set_id), [Some(0); 3]);
        assert_eq!(parameter_set_id(&[0x26, 0x01, 0xFF]), None);
    }

    #[test]
    fn hostile_parameter_sets_end() {
        for fill in [0x00, 0xFF, 0x55, 0xAA] {
            let mut sps = vec![fill; 4_096];
            sps[0] = 0x42;
            sps[1] = 0x01;
            assert!(Sps::parse(&sps).is_none_or(|sps| sps.temporal_layers <= 7));
        }
    }
}
