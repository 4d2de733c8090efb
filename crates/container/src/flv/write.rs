//! Items to tags.
//!
//! Every function hands a whole tag to `emit` in pieces, in order, so that a packager copies each
//! byte once, from the sample into its log.

use media::{Codec, Framing, Kind, Sample, Timestamp, Track};

use super::{
    AUDIO_AAC, AUDIO_MP3, AUDIO_MP3_8K, PACKET_CODED, PACKET_SEQUENCE_HEADER, TAG_AUDIO,
    TAG_HEADER_BYTES, TAG_SCRIPT, TAG_VIDEO, VIDEO_AVC,
};

/// Bytes that [`file_header`] returns: what a listener receives once and never again.
pub const FILE_HEADER_BYTES: usize = 13;

/// The longest body that the 24-bit size field can announce.
const BODY_BYTES_MAX: usize = 0xFF_FFFF;

/// Timestamps are signed on disk and wrap after 24.8 days.
const TIMESTAMP_MASK: i64 = 0x7FFF_FFFF;

/// The longest prelude before a sample's own bytes: frame and codec, packet type, composition time.
const PRELUDE_BYTES_MAX: usize = 5;

/// Sixteen bits per sample and two channels, which is what AAC always claims (annex E.4.2.1).
const SOUND_AAC: u8 = AUDIO_AAC << 4 | 0x0F;

/// Signature, version 1, which kinds of tag follow, and the size 0 of the tag before the first.
pub const fn file_header(audio: bool, video: bool) -> [u8; FILE_HEADER_BYTES] {
    let kinds = if audio { 4 } else { 0 } | if video { 1 } else { 0 };
    [b'F', b'L', b'V', 1, kinds, 0, 0, 0, 9, 0, 0, 0, 0]
}

/// Whether FLV has a way to carry the samples of `track`.
pub fn carries(track: &Track) -> bool {
    match track.framing {
        Framing::FlvBody => true,
        Framing::Bare => matches!(track.codec, Codec::H264 | Codec::Aac | Codec::Mp3),
        Framing::SelfFramed => track.codec == Codec::Mp3,
    }
}

/// Whether [`write_sequence_header`] writes anything for `track`.
pub fn has_sequence_header(track: &Track) -> bool {
    carries(track) && !track.config.is_empty() && track.codec != Codec::Mp3
}

/// Writes the tag that configures a decoder for `track`, stamped `at`; nothing for a track that
/// needs none.
pub fn write_sequence_header(track: &Track, at: Timestamp, emit: &mut impl FnMut(&[u8])) {
    if !has_sequence_header(track) {
        return;
    }
    let prelude: &[u8] = match (track.framing, track.codec) {
        (Framing::FlvBody, _) => &[],
        (_, Codec::H264) => &[0x10 | VIDEO_AVC, PACKET_SEQUENCE_HEADER, 0, 0, 0],
        _ => &[SOUND_AAC, PACKET_SEQUENCE_HEADER],
    };
    write_tag(tag_type(track.kind), at, prelude, &track.config, emit);
}

/// Writes one audio or video tag. Nothing is written for a track that [`carries`] denies, nor for
/// a sample of 16 MiB or more.
pub fn write_sample(track: &Track, sample: &Sample, emit: &mut impl FnMut(&[u8])) {
    if !carries(track) {
        return;
    }
    let mut prelude = [0; PRELUDE_BYTES_MAX];
    let prelude = match (track.framing, track.codec) {
        (Framing::FlvBody, _) => &prelude[..0],
        (_, Codec::H264) => {
            let composition =
                (sample.pts.millis() - sample.dts.millis()).clamp(0, 0x7F_FFFF) as u32;
            let frame = if sample.keyframe { 0x10 } else { 0x20 };
            let [_, high, middle, low] = composition.to_be_bytes();
            prelude = [frame | VIDEO_AVC, PACKET_CODED, high, middle, low];
            &prelude[..]
        }
        (_, Codec::Aac) => {
            prelude[..2].copy_from_slice(&[SOUND_AAC, PACKET_CODED]);
            &prelude[..2]
        }
        _ => {
            prelude[0] = mp3_sound(track);
            &prelude[..1]
        }
    };
    write_tag(
        tag_type(track.kind),
        sample.dts,
        prelude,
        &sample.data,
        emit,
    );
}

/// Writes a script tag around an AMF0 `body`: a name and its values, as [`media::Script`] keeps it.
pub fn write_script(at: Timestamp, body: &[u8], emit: &mut impl FnMut(&[u8])) {
    write_tag(TAG_SCRIPT, at, &[], body, emit);
}

fn write_tag(
    tag_type: u8,
    at: Timestamp,
    prelude: &[u8],
    payload: &[u8],
    emit: &mut impl FnMut(&[u8]),
) {
    let body_bytes = prelude.len() + payload.len();
    if body_bytes > BODY_BYTES_MAX {
        return;
    }
    let millis = (at.millis().max(0) & TIMESTAMP_MASK) as u32;
    let [extended, time @ ..] = millis.to_be_bytes();
    let [_, size @ ..] = (body_bytes as u32).to_be_bytes();
    let mut head = [0; TAG_HEADER_BYTES + PRELUDE_BYTES_MAX];
    head[0] = tag_type;
    head[1..4].copy_from_slice(&size);
    head[4..7].copy_from_slice(&time);
    head[7] = extended;
    head[TAG_HEADER_BYTES..TAG_HEADER_BYTES + prelude.len()].copy_from_slice(prelude);
    emit(&head[..TAG_HEADER_BYTES + prelude.len()]);
    emit(payload);
    emit(&((TAG_HEADER_BYTES + body_bytes) as u32).to_be_bytes());
}

const fn tag_type(kind: Kind) -> u8 {
    match kind {
        Kind::Audio => TAG_AUDIO,
        Kind::Video => TAG_VIDEO,
    }
}

/// The sound byte of an MP3 tag. Rates that it cannot name are rounded; players read the frame.
fn mp3_sound(track: &Track) -> u8 {
    let (format, rate) = match track.sample_rate {
        8_000 => (AUDIO_MP3_8K, 0),
        1..=8_268 => (AUDIO_MP3, 0),
        8_269..=16_537 => (AUDIO_MP3, 1),
        16_538..=33_074 => (AUDIO_MP3, 2),
        _ => (AUDIO_MP3, 3),
    };
    format << 4 | rate << 2 | 2 | u8::from(track.channels != 1)
}
