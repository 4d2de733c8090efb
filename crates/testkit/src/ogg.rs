//! Pages of Ogg (RFC 3533 §6), made without the product's own code.

/// A page to be written; absent numbers are zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct OggPage<'a> {
    /// Flags: 1 continues a packet, 2 begins and 4 ends the stream.
    pub flags: u8,
    /// Granule position.
    pub granule: u64,
    /// Serial number of the stream.
    pub serial: u32,
    /// Number of the page in its stream.
    pub number: u32,
    /// Packets, of which the last may be [cut](Self::is_cut).
    pub packets: &'a [&'a [u8]],
    /// Whether the last packet continues on the next page.
    pub is_cut: bool,
}

impl OggPage<'_> {
    /// Returns the page with its checksum.
    pub fn bytes(self) -> Vec<u8> {
        let mut table = Vec::new();
        for packet in self.packets {
            table.resize(table.len() + packet.len() / 255, 255);
            table.push((packet.len() % 255) as u8);
        }
        if self.is_cut {
            table.pop();
        }
        let mut page = [&b"OggS\0"[..], &[self.flags]].concat();
        page.extend(self.granule.to_le_bytes());
        page.extend(self.serial.to_le_bytes());
        page.extend(self.number.to_le_bytes());
        page.extend([0; 4]);
        page.push(table.len() as u8);
        page.extend(table);
        page.extend(self.packets.concat());
        let bit = |sum: u32, _| sum << 1 ^ if sum >> 31 == 1 { 0x04C1_1DB7 } else { 0 };
        let sum = page.iter().fold(0, |sum: u32, byte| {
            (0..8).fold(sum ^ u32::from(*byte) << 24, bit)
        });
        page[22..26].copy_from_slice(&sum.to_le_bytes());
        page
    }
}
