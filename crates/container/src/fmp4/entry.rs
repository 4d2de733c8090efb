//! Sample entries: the configuration of a decoder (ISO/IEC 14496-12 §8.5.2, §12).
//!
//! The codec's own record goes into its box unchanged.

use super::boxes::Boxes;

/// Resolution of 72 dots per inch, a conventional value without effect.
const RESOLUTION: u32 = 0x0048_0000;

/// Depth of 24 bits: colour without alpha.
const DEPTH: u16 = 0x18;

/// Bits per sample, a conventional value for codecs that have none.
const SAMPLE_BITS: u16 = 16;

/// Descriptor tags (ISO/IEC 14496-1 §7.2.2.1).
pub(crate) const ES_DESCRIPTOR: u8 = 3;
pub(crate) const DECODER_CONFIG_DESCRIPTOR: u8 = 4;
pub(crate) const DECODER_SPECIFIC_INFO: u8 = 5;
const SL_CONFIG_DESCRIPTOR: u8 = 6;

/// `objectTypeIndication` (ISO/IEC 14496-1 table 5).
pub(crate) const OBJECT_AAC: u8 = 0x40;
pub(crate) const OBJECT_MPEG2_AUDIO: u8 = 0x69;
pub(crate) const OBJECT_MPEG1_AUDIO: u8 = 0x6B;

/// `streamType` 5, audio, and a reserved bit that is set.
const STREAM_AUDIO: u8 = 5 << 2 | 1;

/// Creates a `VisualSampleEntry` with the codec's box in it.
pub(super) fn visual(
    kind: &[u8; 4],
    (width, height): (u16, u16),
    fill: impl FnOnce(&mut Boxes),
) -> Vec<u8> {
    let mut boxes = Boxes::default();
    boxes.put_box(kind, |entry| {
        put_reference(entry);
        entry.put_zeros(16);
        entry.put_u16(width);
        entry.put_u16(height);
        entry.put_u32(RESOLUTION);
        entry.put_u32(RESOLUTION);
        entry.put_zeros(4);
        entry.put_u16(1); // frames per sample
        entry.put_zeros(32); // compressor name
        entry.put_u16(DEPTH);
        entry.put_u16(u16::MAX);
        fill(entry);
    });
    boxes.into_bytes()
}

/// Creates an `AudioSampleEntry` with the codec's box in it. A rate of 64 kHz or more does not fit in the entry and is
/// only in the codec's box.
pub(super) fn audio(
    kind: &[u8; 4],
    channels: u8,
    rate: u32,
    fill: impl FnOnce(&mut Boxes),
) -> Vec<u8> {
    let mut boxes = Boxes::default();
    boxes.put_box(kind, |entry| {
        put_reference(entry);
        entry.put_zeros(8);
        entry.put_u16(channels.into());
        entry.put_u16(SAMPLE_BITS);
        entry.put_zeros(4);
        entry.put_u16(u16::try_from(rate).unwrap_or(0));
        entry.put_u16(0);
        fill(entry);
    });
    boxes.into_bytes()
}

/// Writes the `esds` box (ISO/IEC 14496-14 §6.7.2), with an AudioSpecificConfig unless that is empty.
pub(super) fn put_esds(boxes: &mut Boxes, object: u8, config: &[u8]) {
    let has_config = !config.is_empty();
    let specific = if has_config {
        DESCRIPTOR_HEADER_BYTES + config.len()
    } else {
        0
    };
    let decoder = 13 + specific;
    let stream = 3 + DESCRIPTOR_HEADER_BYTES + decoder + DESCRIPTOR_HEADER_BYTES + 1;
    boxes.put_full_box(b"esds", 0, 0, |esds| {
        put_descriptor(esds, ES_DESCRIPTOR, stream);
        esds.put_zeros(3); // number and flags
        put_descriptor(esds, DECODER_CONFIG_DESCRIPTOR, decoder);
        esds.put(&[object, STREAM_AUDIO]);
        esds.put_zeros(11); // buffer size and bitrates, which are unknown
        if has_config {
            put_descriptor(esds, DECODER_SPECIFIC_INFO, config.len());
            esds.put(config);
        }
        put_descriptor(esds, SL_CONFIG_DESCRIPTOR, 1);
        esds.put_u8(2); // as in MP4 files
    });
}

/// Converts an identification header (RFC 7845 §5.1) to the content of `dOps` (Opus in ISOBMFF §4.3.2): the same
/// fields, in the other byte order. `None` when the header is cut.
pub(super) fn opus_box(head: &[u8]) -> Option<Vec<u8>> {
    let fields: &[u8; 11] = head.strip_prefix(b"OpusHead")?.first_chunk()?;
    let [
        _,
        channels,
        skip0,
        skip1,
        r0,
        r1,
        r2,
        r3,
        gain0,
        gain1,
        family,
    ] = *fields;
    let mut content = vec![
        0, channels, skip1, skip0, r3, r2, r1, r0, gain1, gain0, family,
    ];
    if family != 0 {
        let mapping = head.get(19..)?.get(..2 + usize::from(channels))?;
        content.extend_from_slice(mapping);
    }
    (channels > 0).then_some(content)
}

/// Writes the start of every sample entry: its data is in this file.
fn put_reference(entry: &mut Boxes) {
    entry.put_zeros(6);
    entry.put_u16(1);
}

/// Bytes of a tag, and of a length in four bytes, as most writers write it.
const DESCRIPTOR_HEADER_BYTES: usize = 5;

/// Writes a descriptor's header. Configurations are far shorter than the 28 bits of a length allow.
fn put_descriptor(boxes: &mut Boxes, tag: u8, length: usize) {
    let septet = |shift: u32| (length >> shift & 0x7F) as u8;
    boxes.put(&[
        tag,
        0x80 | septet(21),
        0x80 | septet(14),
        0x80 | septet(7),
        septet(0),
    ]);
}
