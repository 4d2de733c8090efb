//! CRC-32 with the polynomial 0x04C11DB7, most significant bit first and not inverted, as used by the sections of a
//! transport stream (ISO/IEC 13818-1 annex A) and by Ogg pages (RFC 3533 §6.1).

/// Computes the checksum of a section, starting from all ones; zero over a section that includes its checksum.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    update(u32::MAX, bytes)
}

/// Appends the checksum to a section that lacks it.
pub(crate) fn seal(section: &mut Vec<u8>) {
    section.extend(crc32(section).to_be_bytes());
}

/// Continues a checksum: `sum` covers the bytes so far, the result covers them and `bytes`.
pub(crate) fn update(sum: u32, bytes: &[u8]) -> u32 {
    /// `TABLES[k][b]` is the remainder of byte `b` followed by `k` zero bytes, so that four bytes take one step.
    const TABLES: [[u32; 256]; 4] = tables();
    let mut words = bytes.chunks_exact(4);
    let sum = words.by_ref().fold(sum, |sum, word| {
        let mixed = sum.to_be_bytes();
        TABLES[3][usize::from(mixed[0] ^ word[0])]
            ^ TABLES[2][usize::from(mixed[1] ^ word[1])]
            ^ TABLES[1][usize::from(mixed[2] ^ word[2])]
            ^ TABLES[0][usize::from(mixed[3] ^ word[3])]
    });
    let rest = words.remainder().iter();
    rest.fold(sum, |sum, byte| {
        sum << 8 ^ TABLES[0][usize::from(sum.to_be_bytes()[0] ^ byte)]
    })
}

const fn tables() -> [[u32; 256]; 4] {
    let mut tables = [[0; 256]; 4];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = (byte as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum >> 31 == 1 {
                sum << 1 ^ 0x04C1_1DB7
            } else {
                sum << 1
            };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut zeros = 1;
    while zeros < 4 {
        let mut byte = 0;
        while byte < 256 {
            let shorter = tables[zeros - 1][byte];
            tables[zeros][byte] = shorter << 8 ^ tables[0][(shorter >> 24) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    tables
}
