//! H.264: AVCDecoderConfigurationRecord (ISO/IEC 14496-15 §5.3.3), and the fields of the sequence parameter set
//! (ISO/IEC 14496-10 §7.3.2.1.1) that a relay needs.

use super::bits::Bits;
use super::nal::{take_prefixed, without_emulation_prevention};

/// NAL unit types (ISO/IEC 14496-10 table 7-1) that a relay distinguishes.
pub mod unit {
    /// A slice of a frame that is no random access point.
    pub const SLICE: u8 = 1;
    /// A slice of an instantaneous decoding refresh (IDR) frame: a keyframe.
    pub const IDR: u8 = 5;
    /// Supplemental enhancement information.
    pub const SEI: u8 = 6;
    /// Sequence parameter set.
    pub const SPS: u8 = 7;
    /// Picture parameter set.
    pub const PPS: u8 = 8;
    /// Access unit delimiter.
    pub const DELIMITER: u8 = 9;
    /// Filler data.
    pub const FILLER: u8 = 12;
}

/// Returns the type of a NAL unit, from its first byte.
pub const fn unit_type(first: u8) -> u8 {
    first & 0x1F
}

/// Returns `nal_ref_idc`: 0 when nothing is predicted from the unit.
pub const fn reference_idc(first: u8) -> u8 {
    first >> 5 & 3
}

/// Upper bound on the parameter sets of a kind in a record, by its five-bit count.
const PARAMETER_SETS_MAX: usize = 31;

/// A decoder's configuration, borrowed from the record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AvcConfig<'a> {
    /// `profile_idc`: 66 baseline, 77 main, 100 high.
    pub profile: u8,
    /// Constraint flags byte after the profile.
    pub compatibility: u8,
    /// `level_idc`, ten times the level.
    pub level: u8,
    /// Size of the length before each NAL unit of a sample, in bytes: 1, 2 or 4.
    pub length_bytes: usize,
    /// Sequence parameter sets, as NAL units.
    pub sps: Vec<&'a [u8]>,
    /// Picture parameter sets, as NAL units.
    pub pps: Vec<&'a [u8]>,
}

impl<'a> AvcConfig<'a> {
    /// Parses a record. Fields after the picture parameter sets are ignored.
    pub fn parse(record: &'a [u8]) -> Option<Self> {
        let head: &[u8; 6] = record.first_chunk()?;
        let length_bytes = usize::from(head[4] & 3) + 1;
        if head[0] != 1 || length_bytes == 3 {
            return None;
        }
        let mut rest = &record[head.len()..];
        let sps = read_units(&mut rest, head[5])?;
        let (count, mut rest) = rest.split_first()?;
        let pps = read_units(&mut rest, *count)?;
        Some(Self {
            profile: head[1],
            compatibility: head[2],
            level: head[3],
            length_bytes,
            sps,
            pps,
        })
    }

    /// Returns the RFC 6381 codec string, e.g. `avc1.64001F`.
    pub fn codec_string(&self) -> String {
        format!(
            "avc1.{:02X}{:02X}{:02X}",
            self.profile, self.compatibility, self.level
        )
    }

    /// Returns the profile's name (H.264 §A.2); `None` for one that is not in use.
    pub const fn profile_name(&self) -> Option<&'static str> {
        // constraint_set1_flag of Baseline: Main decoders can play it as well.
        let is_constrained = self.compatibility & 0x40 != 0;
        Some(match self.profile {
            66 if is_constrained => "Constrained Baseline",
            66 => "Baseline",
            77 => "Main",
            88 => "Extended",
            100 => "High",
            110 => "High 10",
            122 => "High 4:2:2",
            244 => "High 4:4:4 Predictive",
            _ => return None,
        })
    }

    /// Returns the level as people write it: `3.1`, `1b` (H.264 §A.3.4.1).
    pub fn level_name(&self) -> String {
        // constraint_set3_flag, which means level 1b in the profiles that are older than that level.
        let is_1b = self.level == 11 && self.compatibility & 0x10 != 0 && self.profile < 100;
        match self.level {
            9 => "1b".to_owned(),
            11 if is_1b => "1b".to_owned(),
            level => format!("{}.{}", level / 10, level % 10),
        }
    }

    /// Returns width and height of the frame in luma samples, cropped, if the first sequence parameter set can be read.
    pub fn dimensions(&self) -> Option<(u32, u32)> {
        dimensions(self.sps.first()?)
    }

    /// Writes a record of the parameter sets, for samples with lengths of four bytes. Returns `None` without a sequence
    /// parameter set that can be read, or when there are more or longer ones than a record holds.
    pub fn write(sps: &[&[u8]], pps: &[&[u8]]) -> Option<Vec<u8>> {
        let facts = Sps::parse(sps.first()?)?;
        let fits = |units: &[&[u8]]| {
            let mut lengths = units.iter().map(|unit| unit.len());
            units.len() <= PARAMETER_SETS_MAX && lengths.all(|it| it <= usize::from(u16::MAX))
        };
        if !fits(sps) || !fits(pps) {
            return None;
        }
        let [profile, compatibility, level] = *sps.first()?.get(1..)?.first_chunk()?;
        let mut record = vec![1, profile, compatibility, level, 0xFF];
        for (units, reserved) in [(sps, 0xE0), (pps, 0)] {
            record.push(reserved | units.len() as u8);
            for unit in units {
                record.extend_from_slice(&(unit.len() as u16).to_be_bytes());
                record.extend_from_slice(unit);
            }
        }
        if !matches!(profile, 66 | 77 | 88) {
            record.extend_from_slice(&[
                0xFC | facts.chroma as u8,
                0xF8 | facts.luma_depth_less_8 as u8,
                0xF8 | facts.chroma_depth_less_8 as u8,
                0,
            ]);
        }
        Some(record)
    }
}

/// Returns the number of a sequence parameter set; `None` for any other unit.
pub fn sps_id(nal: &[u8]) -> Option<u32> {
    Sps::parse(nal).map(|sps| sps.id)
}

/// Returns the number of a picture parameter set; `None` for any other unit.
pub fn pps_id(nal: &[u8]) -> Option<u32> {
    let (head, payload) = nal.split_first()?;
    if unit_type(*head) != unit::PPS {
        return None;
    }
    let payload = without_emulation_prevention(payload);
    Bits::new(&payload).golomb()
}

/// Takes units off the front of `rest`, each after a 16-bit length; the lower bits of `count` are their number.
fn read_units<'a>(rest: &mut &'a [u8], count: u8) -> Option<Vec<&'a [u8]>> {
    let count = usize::from(count) & PARAMETER_SETS_MAX;
    (0..count).map(|_| take_prefixed(rest, 2)).collect()
}

/// Returns width and height from a sequence parameter set NAL unit.
fn dimensions(nal: &[u8]) -> Option<(u32, u32)> {
    let payload = without_emulation_prevention(nal.get(1..)?);
    let mut bits = Bits::new(&payload);
    let sps = Sps::read(*nal.first()?, &mut bits)?;
    picture_size(&sps, &mut bits)
}

/// First fields of a sequence parameter set.
struct Sps {
    id: u32,
    chroma: u32,
    luma_depth_less_8: u32,
    chroma_depth_less_8: u32,
}

impl Sps {
    fn parse(nal: &[u8]) -> Option<Self> {
        let payload = without_emulation_prevention(nal.get(1..)?);
        Self::read(*nal.first()?, &mut Bits::new(&payload))
    }

    /// Reads the fields up to the scaling matrix.
    fn read(head: u8, bits: &mut Bits<'_>) -> Option<Self> {
        if unit_type(head) != unit::SPS {
            return None;
        }
        let profile = bits.take(8)?;
        bits.skip(16)?;
        let mut sps = Self {
            id: bits.golomb()?,
            chroma: 1,
            luma_depth_less_8: 0,
            chroma_depth_less_8: 0,
        };
        if matches!(
            profile,
            44 | 83 | 86 | 100 | 110 | 118 | 122 | 128 | 134 | 135 | 138 | 139 | 244
        ) {
            sps.chroma = bits.golomb().filter(|chroma| *chroma <= 3)?;
            if sps.chroma == 3 {
                bits.skip(1)?;
            }
            // Bit depths are at most six more than eight (§7.4.2.1.1).
            sps.luma_depth_less_8 = bits.golomb().filter(|depth| *depth <= 6)?;
            sps.chroma_depth_less_8 = bits.golomb().filter(|depth| *depth <= 6)?;
            bits.skip(1)?;
            if bits.flag()? {
                skip_scaling_matrix(bits, if sps.chroma == 3 { 12 } else { 8 })?;
            }
        }
        Some(sps)
    }
}

fn picture_size(sps: &Sps, bits: &mut Bits<'_>) -> Option<(u32, u32)> {
    bits.golomb()?; // log2_max_frame_num_minus4
    match bits.golomb()? {
        0 => bits.golomb().map(drop)?,
        1 => {
            bits.skip(1)?;
            bits.signed_golomb()?;
            bits.signed_golomb()?;
            let frames_in_cycle = bits.golomb()?;
            for _ in 0..frames_in_cycle.min(255) {
                bits.signed_golomb()?;
            }
        }
        _ => {}
    }
    bits.golomb()?; // max_num_ref_frames
    bits.skip(1)?;
    let width_units = bits.golomb()?.checked_add(1)?;
    let height_units = bits.golomb()?.checked_add(1)?;
    let frames_only = bits.flag()?;
    if !frames_only {
        bits.skip(1)?;
    }
    bits.skip(1)?; // direct_8x8_inference_flag
    let fields = if frames_only { 1 } else { 2 };
    let width = width_units.checked_mul(16)?;
    let height = height_units.checked_mul(16 * fields)?;
    if !bits.flag()? {
        return Some((width, height));
    }
    // Cropping counts in chroma samples (equation 7-19 to 7-22).
    let (unit_x, unit_y) = match sps.chroma {
        1 => (2, 2 * fields),
        2 => (2, fields),
        _ => (1, fields),
    };
    let horizontal = bits
        .golomb()?
        .checked_add(bits.golomb()?)?
        .checked_mul(unit_x)?;
    let vertical = bits
        .golomb()?
        .checked_add(bits.golomb()?)?
        .checked_mul(unit_y)?;
    Some((
        width.checked_sub(horizontal)?,
        height.checked_sub(vertical)?,
    ))
}

fn skip_scaling_matrix(bits: &mut Bits<'_>, lists: usize) -> Option<()> {
    for list in 0..lists {
        if !bits.flag()? {
            continue;
        }
        let mut last = 8;
        let mut next = 8;
        for _ in 0..if list < 6 { 16 } else { 64 } {
            if next != 0 {
                next = (last + bits.signed_golomb()?).rem_euclid(256);
            }
            last = if next == 0 { last } else { next };
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// High profile, 1280×720, from x264.
    const SPS_720P: &[u8] = &[
        0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03,
        0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83, 0x19, 0x60,
    ];
    const PPS: &[u8] = &[0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0];

    fn record() -> Vec<u8> {
        let mut record = vec![1, 0x64, 0x00, 0x1F, 0xFF];
        for (count, unit) in [(0xE1, SPS_720P), (1, PPS)] {
            record.extend([count, 0, unit.len() as u8]);
            record.extend(unit);
        }
        record
    }

    #[test]
    fn a_usual_record() {
        let mut record = record();
        // The high profiles append chroma format and bit depths.
        record.extend([0xFD, 0xF8, 0xF8, 0x00]);
        let config = AvcConfig::parse(&record).expect("a whole record");
        assert_eq!(config.codec_string(), "avc1.64001F");
        assert_eq!(config.dimensions(), Some((1_280, 720)));
        assert_eq!(config.length_bytes, 4);
        assert_eq!((config.sps, config.pps), (vec![SPS_720P], vec![PPS]));
    }

    #[test]
    fn what_is_written_is_read() {
        let written = AvcConfig::write(&[SPS_720P], &[PPS]).expect("readable parameter sets");
        assert_eq!(written, [&record()[..], &[0xFD, 0xF8, 0xF8, 0]].concat());
        assert_eq!((sps_id(SPS_720P), pps_id(PPS)), (Some(0), Some(0)));
        assert_eq!((sps_id(PPS), pps_id(SPS_720P)), (None, None));
        assert_eq!(AvcConfig::write(&[], &[PPS]), None);
        assert_eq!(AvcConfig::write(&[SPS_720P; 32], &[PPS]), None);
        assert_eq!(AvcConfig::write(&[SPS_720P], &[&[0x68; 65_536]]), None);
    }

    #[test]
    fn truncation_is_noticed_everywhere() {
        let record = record();
        for length in 0..record.len() {
            assert_eq!(AvcConfig::parse(&record[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn other_records_are_refused() {
        // Of another version, and with lengths of three bytes.
        for (at, byte) in [(0, 0), (4, 0xFE)] {
            let mut other = record();
            other[at] = byte;
            assert_eq!(AvcConfig::parse(&other), None, "byte {at}");
        }
    }

    #[test]
    fn cropping_and_baseline() {
        // Baseline, 320×180, from x264: twelve macroblock rows, cropped by six chroma rows.
        let sps = [
            0x67, 0x42, 0xC0, 0x0C, 0xD9, 0x01, 0x41, 0x9F, 0x9F, 0x01, 0x10, 0x00, 0x00, 0x03,
            0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0x20, 0xF1, 0x42, 0xA4, 0x80,
        ];
        assert_eq!(dimensions(&sps), Some((320, 180)));
        assert_eq!(dimensions(&sps[..6]), None);
    }

    #[test]
    fn hostile_parameter_sets_end() {
        for fill in [0x00, 0xFF, 0x55, 0xAA] {
            let mut sps = vec![fill; 4_096];
            sps[0] = 0x67;
            sps[1] = 100;
            let plausible = |(width, height): (u32, u32)| width.checked_mul(height).is_some();
            assert!(dimensions(&sps).is_none_or(plausible), "{fill:#x}");
        }
    }
}
