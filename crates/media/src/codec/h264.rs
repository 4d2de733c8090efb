//! H.264: AVCDecoderConfigurationRecord (ISO/IEC 14496-15 §5.3.3) and what a relay wants to know of
//! the sequence parameter set (ISO/IEC 14496-10 §7.3.2.1.1).

use super::bits::Bits;

/// How many parameter sets of a kind the record can hold: five bits say so.
const PARAMETER_SETS_MAX: usize = 31;

/// Bytes of a sequence parameter set that are looked at. The picture size comes long before this,
/// even behind full scaling lists.
const SPS_BYTES_READ: usize = 1_024;

/// A decoder's configuration, borrowed from the record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AvcConfig<'a> {
    /// `profile_idc`: 66 baseline, 77 main, 100 high.
    pub profile: u8,
    /// The constraint flags byte that follows it.
    pub compatibility: u8,
    /// `level_idc`, ten times the level.
    pub level: u8,
    /// Bytes in the length before each NAL unit of a sample: 1, 2 or 4.
    pub length_bytes: usize,
    /// Sequence parameter sets, as NAL units.
    pub sps: Vec<&'a [u8]>,
    /// Picture parameter sets, as NAL units.
    pub pps: Vec<&'a [u8]>,
}

impl<'a> AvcConfig<'a> {
    /// Reads a record. What may follow the picture parameter sets is ignored.
    pub fn parse(record: &'a [u8]) -> Option<Self> {
        let head: &[u8; 6] = record.first_chunk()?;
        let length_bytes = usize::from(head[4] & 3) + 1;
        if head[0] != 1 || length_bytes == 3 {
            return None;
        }
        let mut rest = &record[head.len()..];
        let sps = read_units(&mut rest, usize::from(head[5]) & PARAMETER_SETS_MAX)?;
        let (count, mut rest) = rest.split_first()?;
        let pps = read_units(&mut rest, usize::from(*count) & PARAMETER_SETS_MAX)?;
        Some(Self {
            profile: head[1],
            compatibility: head[2],
            level: head[3],
            length_bytes,
            sps,
            pps,
        })
    }

    /// RFC 6381 codec string, e.g. `avc1.64001F`.
    pub fn codec_string(&self) -> String {
        format!(
            "avc1.{:02X}{:02X}{:02X}",
            self.profile, self.compatibility, self.level
        )
    }

    /// Width and height of the picture in luma samples, cropped, when the first sequence parameter
    /// set can be read.
    pub fn dimensions(&self) -> Option<(u32, u32)> {
        dimensions(self.sps.first()?)
    }
}

/// Takes `count` units, each behind a 16-bit length, off the front of `rest`.
fn read_units<'a>(rest: &mut &'a [u8], count: usize) -> Option<Vec<&'a [u8]>> {
    let mut units = Vec::with_capacity(count.min(PARAMETER_SETS_MAX));
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk()?;
        let (unit, after) = after.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        units.push(unit);
        *rest = after;
    }
    Some(units)
}

/// Width and height from a sequence parameter set NAL unit.
fn dimensions(nal: &[u8]) -> Option<(u32, u32)> {
    let (head, payload) = nal.split_first()?;
    if head & 0x1F != 7 {
        return None;
    }
    let payload = without_emulation_prevention(payload);
    let mut bits = Bits::new(&payload);
    let profile = bits.take(8)?;
    bits.skip(16)?;
    bits.golomb()?; // seq_parameter_set_id
    let mut chroma = 1;
    if matches!(
        profile,
        44 | 83 | 86 | 100 | 110 | 118 | 122 | 128 | 134 | 135 | 138 | 139 | 244
    ) {
        chroma = bits.golomb()?;
        if chroma == 3 {
            bits.skip(1)?;
        }
        bits.golomb()?; // bit_depth_luma_minus8
        bits.golomb()?; // bit_depth_chroma_minus8
        bits.skip(1)?;
        if bits.flag()? {
            skip_scaling_matrix(&mut bits, if chroma == 3 { 12 } else { 8 })?;
        }
    }
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
    let (unit_x, unit_y) = match chroma {
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

/// Undoes the `00 00 03` escapes of a NAL unit.
fn without_emulation_prevention(payload: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(payload.len().min(SPS_BYTES_READ));
    let mut zeros = 0;
    for byte in payload.iter().take(SPS_BYTES_READ) {
        if zeros >= 2 && *byte == 3 {
            zeros = 0;
            continue;
        }
        zeros = if *byte == 0 { zeros + 1 } else { 0 };
        plain.push(*byte);
    }
    plain
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
        let mut record = vec![1, 0x64, 0x00, 0x1F, 0xFF, 0xE1];
        for (index, unit) in [SPS_720P, PPS].into_iter().enumerate() {
            if index == 1 {
                record.push(1);
            }
            record.extend((unit.len() as u16).to_be_bytes());
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
        assert_eq!(config.length_bytes, 4);
        assert_eq!(
            (config.sps.as_slice(), config.pps.as_slice()),
            (&[SPS_720P][..], &[PPS][..])
        );
        assert_eq!(config.codec_string(), "avc1.64001F");
        assert_eq!(config.dimensions(), Some((1_280, 720)));
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
        let mut version = record();
        version[0] = 0;
        assert_eq!(AvcConfig::parse(&version), None);
        let mut length_of_three = record();
        length_of_three[4] = 0xFE;
        assert_eq!(AvcConfig::parse(&length_of_three), None);
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
