//! AV1: open bitstream units in the low-overhead format (AV1 specification §5.3), and the configuration record derived
//! from a sequence header (AV1 in ISOBMFF §2.3).

use super::bits::Bits;
use crate::Description;

/// Unit types (AV1 specification §6.2.2) that a relay distinguishes.
pub mod obu {
    /// Sequence header.
    pub const SEQUENCE_HEADER: u8 = 1;
    /// Temporal delimiter, which begins a temporal unit.
    pub const TEMPORAL_DELIMITER: u8 = 2;
    /// Frame header; its tiles follow in units of their own.
    pub const FRAME_HEADER: u8 = 3;
    /// Frame header and tiles.
    pub const FRAME: u8 = 6;
    /// Tile list, for large scale tile decoding alone.
    pub const TILE_LIST: u8 = 8;
    /// Padding.
    pub const PADDING: u8 = 15;
}

/// `obu_has_size_field` of the first byte.
const HAS_SIZE: u8 = 0x02;
const HAS_EXTENSION: u8 = 0x04;

/// Upper bound on the bytes of a leb128 number (§4.10.5).
const LEB128_BYTES_MAX: usize = 8;

/// Size of the fields of a configuration record before its units, in bytes.
const RECORD_HEAD_BYTES: usize = 4;

/// One open bitstream unit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Obu<'a> {
    /// First byte, without the flag that a size follows.
    pub first: u8,
    /// Byte with temporal and spatial layer, if present.
    pub extension: Option<u8>,
    /// Bytes after the header.
    pub payload: &'a [u8],
}

impl<'a> Obu<'a> {
    /// Returns the type, below 16.
    pub const fn kind(&self) -> u8 {
        self.first >> 3 & 15
    }

    /// Whether it begins a keyframe, in a stream that is more than one still picture (§5.9.2).
    pub fn is_key_frame(&self) -> bool {
        // show_existing_frame is 0, frame_type is KEY_FRAME.
        let is_key = self.payload.first().is_some_and(|byte| byte & 0xE0 == 0);
        is_key && matches!(self.kind(), obu::FRAME_HEADER | obu::FRAME)
    }

    /// Takes one unit off the front of `data`. A unit without a size extends to the end.
    pub fn take(data: &mut &'a [u8]) -> Option<Self> {
        let (first, mut rest) = data.split_first()?;
        let mut extension = None;
        if first & HAS_EXTENSION != 0 {
            let (byte, after) = rest.split_first()?;
            extension = Some(*byte);
            rest = after;
        }
        let mut size = rest.len();
        if first & HAS_SIZE != 0 {
            size = take_leb128(&mut rest)?;
        }
        let (payload, after) = rest.split_at_checked(size)?;
        *data = after;
        Some(Self {
            first: first & !HAS_SIZE,
            extension,
            payload,
        })
    }

    /// Appends the unit with its size, as the low-overhead format requires.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(self.first | HAS_SIZE);
        out.extend(self.extension);
        write_leb128(self.payload.len(), |byte| out.push(byte));
        out.extend_from_slice(self.payload);
    }
}

/// Iterates over the units of a temporal unit in order, as far as they are complete.
pub fn obus(mut data: &[u8]) -> impl Iterator<Item = Obu<'_>> + Clone {
    std::iter::from_fn(move || Obu::take(&mut data))
}

/// Takes a leb128 number off the front of `data`; `None` if it is truncated or above 32 bits.
pub fn take_leb128(data: &mut &[u8]) -> Option<usize> {
    let mut value = 0u64;
    for at in 0..LEB128_BYTES_MAX {
        let byte = *data.get(at)?;
        value |= u64::from(byte & 0x7F) << (7 * at);
        if byte & 0x80 == 0 {
            *data = &data[at + 1..];
            return u32::try_from(value).ok().map(|value| value as usize);
        }
    }
    None
}

/// Writes a leb128 number in the fewest bytes.
pub fn write_leb128(mut value: usize, mut emit: impl FnMut(u8)) {
    while value >= 0x80 {
        emit(value as u8 | 0x80);
        value >>= 7;
    }
    emit(value as u8);
}

/// Returns the number of bytes that [`write_leb128`] writes for `value`.
pub const fn leb128_bytes(value: usize) -> usize {
    (value | 1).ilog2() as usize / 7 + 1
}

/// Returns the units of a configuration record: a sequence header, and possibly metadata. Returns `None` if the bytes
/// are no record.
pub fn record_units(record: &[u8]) -> Option<&[u8]> {
    let (head, units) = record.split_first_chunk::<RECORD_HEAD_BYTES>()?;
    (head[0] == 0x81).then_some(units)
}

/// Returns profile, level and size of a configuration record (AV1 annex A).
pub fn description(record: &[u8]) -> Option<Description> {
    let units = record_units(record)?;
    let [_, profile_and_level, format, _] = *record.first_chunk()?;
    let profile = match profile_and_level >> 5 {
        0 => Some("Main"),
        1 => Some("High"),
        2 => Some("Professional"),
        _ => None,
    };
    // Index of the level; 31 sets no limit.
    let level = profile_and_level & 0x1F;
    let tier = if format & 0x80 == 0 { "" } else { " high tier" };
    Some(Description {
        profile: profile.map(str::to_owned),
        level: (level < 31).then(|| format!("{}.{}{tier}", 2 + level / 4, level % 4)),
        dimensions: dimensions(units),
    })
}

/// Returns the frame size by the sequence header, if there is one among `units`.
pub fn dimensions(units: &[u8]) -> Option<(u32, u32)> {
    let header = obus(units).find(|unit| unit.kind() == obu::SEQUENCE_HEADER)?;
    let parsed = SequenceHeader::parse(header.payload)?;
    Some((parsed.width, parsed.height))
}

/// Returns the RFC 6381 codec string of a configuration record, e.g. `av01.0.04M.08` (AV1 in ISOBMFF §5). Colour is
/// left out, which means the usual one.
pub fn codec_string(record: &[u8]) -> Option<String> {
    record_units(record)?;
    let [_, profile_and_level, format, _] = *record.first_chunk()?;
    let (profile, level) = (profile_and_level >> 5, profile_and_level & 0x1F);
    let tier = if format & 0x80 == 0 { 'M' } else { 'H' };
    let depth = match (format & 0x40 != 0, format & 0x20 != 0) {
        (false, _) => 8,
        (true, false) => 10,
        (true, true) => 12,
    };
    Some(format!("av01.{profile}.{level:02}{tier}.{depth:02}"))
}

/// Fields of a sequence header.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SequenceHeader {
    /// Largest frame width, in luma samples.
    pub width: u32,
    /// Largest frame height, in luma samples.
    pub height: u32,
    profile: u8,
    level: u8,
    tier: u8,
    /// Third byte of the record, without the tier.
    format: u8,
}

impl SequenceHeader {
    /// Parses the payload of a sequence header unit (§5.5).
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut bits = Bits::new(payload);
        let mut header = Self {
            profile: bits.take(3)? as u8,
            ..Self::default()
        };
        bits.skip(1)?; // still_picture
        let is_reduced = bits.flag()?;
        if is_reduced {
            header.level = bits.take(5)? as u8;
        } else {
            header.read_operating_points(&mut bits)?;
        }
        let width_bits = bits.take(4)? as usize + 1;
        let height_bits = bits.take(4)? as usize + 1;
        header.width = bits.take(width_bits)? + 1;
        header.height = bits.take(height_bits)? + 1;
        if !is_reduced && bits.flag()? {
            bits.skip(7)?; // lengths of frame numbers
        }
        bits.skip(3)?;
        if !is_reduced {
            skip_tools(&mut bits)?;
        }
        bits.skip(3)?;
        header.read_colour(&mut bits)?;
        Some(header)
    }

    /// Reads level and tier of the first operating point; skips the others.
    fn read_operating_points(&mut self, bits: &mut Bits<'_>) -> Option<()> {
        let mut delay_bits = None;
        if bits.flag()? {
            bits.skip(64)?;
            if bits.flag()? {
                skip_uvlc(bits)?;
            }
            if bits.flag()? {
                delay_bits = Some(bits.take(5)? as usize + 1);
                bits.skip(42)?;
            }
        }
        let has_display_delay = bits.flag()?;
        for point in 0..=bits.take(5)? {
            bits.skip(12)?;
            let level = bits.take(5)? as u8;
            let tier = if level > 7 { bits.take(1)? as u8 } else { 0 };
            if let Some(delay_bits) = delay_bits
                && bits.flag()?
            {
                bits.skip(2 * delay_bits + 1)?;
            }
            if has_display_delay && bits.flag()? {
                bits.skip(4)?;
            }
            if point == 0 {
                (self.level, self.tier) = (level, tier);
            }
        }
        Some(())
    }

    /// Reads `color_config` (§5.5.2) into the third byte of the record.
    fn read_colour(&mut self, bits: &mut Bits<'_>) -> Option<()> {
        let is_high = bits.flag()?;
        let is_twelve = self.profile == 2 && is_high && bits.flag()?;
        let is_mono = self.profile != 1 && bits.flag()?;
        let description = if bits.flag()? { bits.take(24)? } else { 0 };
        let (mut sub_x, mut sub_y, mut position) = (true, true, 0);
        if is_mono {
            bits.skip(1)?;
        } else if description == 0x01_0D_00 {
            (sub_x, sub_y) = (false, false);
        } else {
            bits.skip(1)?;
            (sub_x, sub_y) = match self.profile {
                0 => (true, true),
                1 => (false, false),
                _ if is_twelve => {
                    let sub_x = bits.flag()?;
                    (sub_x, sub_x && bits.flag()?)
                }
                _ => (true, false),
            };
            if sub_x && sub_y {
                position = bits.take(2)? as u8;
            }
        }
        self.format = u8::from(is_high) << 6
            | u8::from(is_twelve) << 5
            | u8::from(is_mono) << 4
            | u8::from(sub_x) << 3
            | u8::from(sub_y) << 2
            | position;
        Some(())
    }

    /// Returns the configuration record of a stream with this header, which `unit` contains.
    pub fn record(&self, unit: &Obu<'_>) -> Vec<u8> {
        let mut record = vec![
            0x81,
            self.profile << 5 | self.level,
            self.tier << 7 | self.format,
            0,
        ];
        unit.write(&mut record);
        record
    }
}

/// Skips the fields from `enable_interintra_compound` to `order_hint_bits_minus_1`.
fn skip_tools(bits: &mut Bits<'_>) -> Option<()> {
    bits.skip(4)?;
    let has_order_hint = bits.flag()?;
    if has_order_hint {
        bits.skip(2)?;
    }
    let may_have_screen_content = bits.flag()? || bits.flag()?;
    if may_have_screen_content && !bits.flag()? {
        bits.skip(1)?;
    }
    if has_order_hint {
        bits.skip(3)?;
    }
    Some(())
}

/// Skips a variable length code (§4.10.3).
fn skip_uvlc(bits: &mut Bits<'_>) -> Option<()> {
    let mut zeros = 0;
    while !bits.flag()? {
        zeros += 1;
        if zeros >= 32 {
            return Some(());
        }
    }
    bits.skip(zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leb128_there_and_back() {
        for value in [0, 1, 127, 128, 300, 16_383, 16_384, u32::MAX as usize] {
            let mut bytes = Vec::new();
            write_leb128(value, |byte| bytes.push(byte));
            assert_eq!(bytes.len(), leb128_bytes(value));
            let mut rest = &bytes[..];
            assert_eq!(take_leb128(&mut rest), Some(value));
            assert!(rest.is_empty());
            assert_eq!(take_leb128(&mut &bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(take_leb128(&mut &[0x80; 9][..]), None, "endless");
        assert_eq!(take_leb128(&mut &[0xFF, 0xFF, 0xFF, 0xFF, 0x7F][..]), None);
    }

    #[test]
    fn units_with_and_without_size() {
        let data = [0x12, 0x00, 0x36, 0x28, 0x02, 7, 8, 0x30, 9];
        let units: Vec<_> = obus(&data).collect();
        let kinds: Vec<_> = units.iter().map(Obu::kind).collect();
        assert_eq!(kinds, [obu::TEMPORAL_DELIMITER, 6, 6]);
        let found = units.iter().map(|unit| (unit.extension, unit.payload));
        let expected = [(None, &[][..]), (Some(0x28), &[7, 8]), (None, &[9])];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        let mut written = Vec::new();
        units.iter().for_each(|unit| unit.write(&mut written));
        assert_eq!(written, [0x12, 0x00, 0x36, 0x28, 0x02, 7, 8, 0x32, 1, 9]);
        assert_eq!(obus(&[0x32, 5, 1]).count(), 0, "a unit that is cut");
    }

    #[test]
    fn a_sequence_header() {
        // Main profile, 320×180, 8 bit 4:2:0, from SVT-AV1, with the record that ffmpeg makes.
        let record = [
            0x81, 0x00, 0x0C, 0x00, 0x0A, 0x0B, 0x02, 0x00, 0x00, 0x05, 0x21, 0xE7, 0xF6, 0x60,
            0x17, 0xC0, 0x02,
        ];
        let units = record_units(&record).expect("it is one");
        let unit = obus(units).next().expect("a sequence header");
        assert_eq!(unit.kind(), obu::SEQUENCE_HEADER);
        let header = SequenceHeader::parse(unit.payload).expect("a whole header");
        assert_eq!((header.width, header.height), (320, 180));
        assert_eq!(header.record(&unit), record);
        for length in 0..unit.payload.len() - 2 {
            assert_eq!(SequenceHeader::parse(&unit.payload[..length]), None);
        }
        assert_eq!(record_units(&record[..3]), None);
        assert_eq!(codec_string(&record).as_deref(), Some("av01.0.00M.08"));
        let high = [0x81, 0x2D, 0xEC, 0];
        assert_eq!(codec_string(&high).as_deref(), Some("av01.1.13H.12"));
        assert_eq!(codec_string(&record[..3]), None);
    }
}
