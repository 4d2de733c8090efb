//! The codec's own bytes inside bodies that are relayed whole, for formats that carry nothing else.

use bytes::Bytes;
use media::{Framing, Kind, Sample, Track};

use super::body::{AUDIO_EX_HEADER, Body, CodecTag, FOURCC_AVC, Packet, WireTrack};
use super::{VIDEO_AVC, multitrack, whole};

/// Bytes that [`video_prelude`] puts before a frame.
pub(crate) const VIDEO_PRELUDE_BYTES: usize = 5;

pub(crate) const FOURCC_HEVC: [u8; 4] = *b"hvc1";
pub(crate) const FOURCC_AV1: [u8; 4] = *b"av01";
pub(crate) const FOURCC_VP8: [u8; 4] = *b"vp08";
pub(crate) const FOURCC_VP9: [u8; 4] = *b"vp09";
pub(crate) const FOURCC_VVC: [u8; 4] = *b"vvc1";
pub(crate) const FOURCC_OPUS: [u8; 4] = *b"Opus";
pub(crate) const FOURCC_FLAC: [u8; 4] = *b"fLaC";
pub(crate) const FOURCC_AC3: [u8; 4] = *b"ac-3";
pub(crate) const FOURCC_EAC3: [u8; 4] = *b"ec-3";

/// What a body carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elementary<'a> {
    /// The codec's four characters, also where the body has a number.
    pub(crate) codec: [u8; 4],
    /// The configuration record, or a frame.
    pub(crate) bytes: &'a [u8],
}

/// The configuration record of a track whose framing is [`Framing::FlvBody`].
pub(crate) fn record(track: &Track) -> Option<Elementary<'_>> {
    let (header, _) = whole::split(&track.config);
    read(track.kind, header, Packet::SequenceHeader)
}

/// The frame of a sample of such a track; of several tracks in one body the first one's.
pub(crate) fn frame<'a>(track: &Track, sample: &'a Sample) -> Option<Elementary<'a>> {
    read(track.kind, &sample.data, Packet::Coded)
}

fn read(kind: Kind, body: &[u8], wanted: Packet) -> Option<Elementary<'_>> {
    let parsed = match kind {
        Kind::Audio => Body::audio(body),
        Kind::Video => Body::video(body),
    };
    let parsed = parsed.filter(|parsed| parsed.packet == wanted)?;
    if parsed.track == WireTrack::Many {
        let part = multitrack::parts(&parsed, body).next()?;
        return Some(Elementary {
            codec: part.codec,
            bytes: part.data,
        });
    }
    let codec = match (kind, parsed.codec) {
        (_, CodecTag::FourCc(fourcc)) => fourcc,
        (Kind::Video, CodecTag::Number(VIDEO_AVC)) => FOURCC_AVC,
        (Kind::Video, CodecTag::Number(12)) => FOURCC_HEVC,
        (Kind::Audio, CodecTag::Number(13)) => FOURCC_OPUS,
        _ => return None,
    };
    Some(Elementary {
        codec,
        bytes: body.get(parsed.payload..)?,
    })
}

/// What stands before a frame that is presented when it is decoded.
pub(crate) fn video_prelude(codec: [u8; 4], keyframe: bool) -> [u8; VIDEO_PRELUDE_BYTES] {
    let frame = if keyframe { 0x90 } else { 0xA0 };
    // `CodedFramesX`: only these would have a composition time otherwise.
    let packet = if codec == FOURCC_HEVC { 3 } else { 1 };
    let [a, b, c, d] = codec;
    [frame | packet, a, b, c, d]
}

/// The configuration of a picture track that has this record.
pub(crate) fn video_config(codec: [u8; 4], record: &[u8]) -> Bytes {
    whole::join(&[&[0x90][..], &codec, record].concat(), &[])
}

/// What stands before an Opus packet or, as `is_header`, before its identification header.
pub(super) fn opus_prelude(is_header: bool) -> [u8; 5] {
    let packet = if is_header { 0 } else { 1 };
    let [a, b, c, d] = FOURCC_OPUS;
    [AUDIO_EX_HEADER << 4 | packet, a, b, c, d]
}

/// Whether a track's samples are bare Opus that FLV has a place for. A body that names no track is
/// the first track's; what was derived beside that has no body.
pub(super) fn is_first_opus(track: &Track) -> bool {
    track.codec == media::Codec::Opus
        && track.framing == Framing::Bare
        && track.id == media::TrackId::AUDIO
}

#[cfg(test)]
mod tests {
    use media::{Codec, TrackId};

    use super::*;

    fn track(config: Bytes) -> Track {
        Track {
            id: TrackId::VIDEO,
            kind: Kind::Video,
            codec: Codec::Opaque,
            framing: Framing::FlvBody,
            config,
            sample_rate: 0,
            channels: 0,
            flv: None,
        }
    }

    #[test]
    fn what_is_made_is_read() {
        let track = track(video_config(FOURCC_AV1, b"record"));
        let read = record(&track).expect("there is one");
        assert_eq!((read.codec, read.bytes), (FOURCC_AV1, &b"record"[..]));
        for (codec, keyframe) in [(FOURCC_HEVC, true), (FOURCC_VP9, false)] {
            let body = [&video_prelude(codec, keyframe)[..], b"frame"].concat();
            let parsed = Body::video(&body).expect("a whole body");
            assert_eq!((parsed.keyframe, parsed.packet), (keyframe, Packet::Coded));
            assert_eq!(&body[parsed.payload..], b"frame");
        }
    }

    #[test]
    fn of_several_tracks_the_first_is_read() {
        let body = b"\x96\x11hvc1\0\0\0\x03one\x01\0\0\x03two";
        let read = read(Kind::Video, body, Packet::Coded).expect("a whole body");
        assert_eq!((read.codec, read.bytes), (FOURCC_HEVC, &b"one"[..]));
    }
}
