//! Distance before a sample at which decoders must begin so that the audio is correct (ISO/IEC 14496-12 §10.1, `roll`).

use super::table::Table;
use super::walk::{children, find};
use crate::fmp4::boxes::Boxes;
use crate::fmp4::entry::OBJECT_AAC;

/// Bytes of an `AudioSampleEntry` before its boxes.
const AUDIO_ENTRY_BYTES: usize = 28;

/// Offset of the object type in an `esds` as written here.
const OBJECT_TYPE_AT: usize = 17;

/// Samples within which Opus converges: 80 ms at 48,000 samples per second (Opus in ISOBMFF §4.3.6.2).
const OPUS_ROLL: u32 = 3_840;

/// Writes the group that contains all samples of a track, if its audio needs one. `stsd` is the content of that box.
pub(super) fn put_roll(stbl: &mut Boxes, stsd: &[u8], table: &Table) {
    let Some(samples) = samples(stsd, table) else {
        return;
    };
    stbl.put_full_box(b"sgpd", 1, 0, |sgpd| {
        sgpd.put(b"roll");
        sgpd.put_u32(2); // bytes of each description
        sgpd.put_u32(1); // descriptions
        sgpd.put(&(-samples).to_be_bytes());
    });
    stbl.put_full_box(b"sbgp", 0, 0, |sbgp| {
        sbgp.put(b"roll");
        sbgp.put_u32(1);
        sbgp.put_u32(table.sizes.len() as u32);
        sbgp.put_u32(1); // the first description
    });
}

/// Returns the distance in samples. `None` for audio that is correct from its first sample, or of an unknown codec.
fn samples(stsd: &[u8], table: &Table) -> Option<i16> {
    let entry = children(stsd.get(8..)?).next()?;
    match &entry.kind {
        b"mp4a" => {
            let esds = find(entry.content.get(AUDIO_ENTRY_BYTES..)?, b"esds")?;
            (esds.get(OBJECT_TYPE_AT) == Some(&OBJECT_AAC)).then_some(1)
        }
        b"Opus" => {
            let usual = table.durations.0.iter().max_by_key(|(count, _)| *count);
            let (_, duration) = usual.filter(|(_, duration)| *duration > 0)?;
            i16::try_from(OPUS_ROLL.div_ceil(*duration)).ok()
        }
        _ => None,
    }
}
