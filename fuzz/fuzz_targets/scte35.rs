//! Splice information: whatever the bytes behind a valid head and checksum are, they are refused or read, a cue made of them
//! keeps them byte for byte, and moving its time changes nothing else.

#![no_main]

use bytes::Bytes;
use container::scte35;
use libfuzzer_sys::fuzz_target;

/// Length of a section before its command, in bytes.
const HEAD_BYTES: usize = 14;

fuzz_target!(|data: &[u8]| {
    let _ = scte35::parse(data);
    let _ = std::str::from_utf8(data).map(scte35::section_of_text);
    if data.len() < HEAD_BYTES || data.len() + 4 > scte35::SECTION_BYTES_MAX {
        return;
    }
    let section = Bytes::from(sealed(data));
    let Ok(parsed) = scte35::parse(&section) else {
        return;
    };
    let moved = scte35::moved(&section, 1);
    let again = scte35::parse(&moved).expect("a moved section is one");
    assert_eq!(again, parsed);
    let cue = parsed.into_cue(section.clone(), None);
    assert_eq!(cue.section, section);
});

/// Returns a section with this content, its length and its checksum.
fn sealed(data: &[u8]) -> Vec<u8> {
    let mut section = data.to_vec();
    let length = (data.len() + 1) as u16;
    section[0] = 0xFC;
    section[1..3].copy_from_slice(&(0x3000 | length).to_be_bytes());
    section[3] = 0;
    let crc = section.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte) << 24, |crc, _| {
            crc << 1 ^ if crc >> 31 == 1 { 0x04C1_1DB7 } else { 0 }
        })
    });
    section.extend_from_slice(&crc.to_be_bytes());
    section
}
