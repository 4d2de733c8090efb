//! The checksum of the sections of a transport stream (ISO/IEC 13818-1 annex A).

/// Most significant bit first, begun with ones and not inverted. Over a section with its checksum it is zero.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x04C1_1DB7;
    bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte) << 24, |crc, _| {
            let carry = if crc >> 31 == 1 { POLYNOMIAL } else { 0 };
            crc << 1 ^ carry
        })
    })
}
