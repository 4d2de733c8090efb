//! `stsd`: a track's codec and the configuration of its decoder (ISO/IEC 14496-12 §8.5.2, 14496-14 §6.7.2).

use bytes::Bytes;
use media::codec::aac::AudioSpecificConfig;
use media::codec::h264::AvcConfig;
use media::{Codec, Framing, Kind, Track, TrackId};

use super::super::numbers::Numbers;
use super::super::walk::{children, find};
use crate::fmp4::entry::{
    DECODER_CONFIG_DESCRIPTOR, DECODER_SPECIFIC_INFO, ES_DESCRIPTOR, OBJECT_AAC,
    OBJECT_MPEG1_AUDIO, OBJECT_MPEG2_AUDIO,
};

/// Bytes of an entry before the codec's own boxes: of video, and of audio in the versions of QuickTime.
const VISUAL_BYTES: usize = 78;
const AUDIO_BYTES: [usize; 3] = [28, 44, 64];

/// `objectTypeIndication`: AAC of MPEG-2 in three profiles, and MPEG audio of either version.
const OBJECTS_AAC_2: std::ops::RangeInclusive<u8> = 0x66..=0x68;
const OBJECTS_MPEG_AUDIO: [u8; 2] = [OBJECT_MPEG2_AUDIO, OBJECT_MPEG1_AUDIO];

/// Returns the width and height of the video from a `stsd`.
pub(super) fn dimensions(stsd: &[u8]) -> Option<(u16, u16)> {
    let (_, body) = first(stsd)?;
    let mut numbers = Numbers(body);
    numbers.skip(24)?;
    let size = numbers.u32()?;
    Some(((size >> 16) as u16, size as u16))
}

/// Returns the track of the first entry of a whole `stsd`; `None` if FLV cannot carry its codec, or if it has no usable
/// configuration.
pub(super) fn track(stsd: &[u8], is_picture: bool) -> Option<Track> {
    let (kind, body) = first(stsd)?;
    match is_picture {
        true => picture(&kind, body.get(VISUAL_BYTES..)?),
        false => audio(&kind, body),
    }
}

fn first(stsd: &[u8]) -> Option<([u8; 4], &[u8])> {
    // Header, version and flags, and the number of entries.
    let entry = children(stsd.get(16..)?).next()?;
    Some((entry.kind, entry.content))
}

fn picture(kind: &[u8; 4], boxes: &[u8]) -> Option<Track> {
    let (codec, record) = match kind {
        b"avc1" | b"avc3" => (Codec::H264, find(boxes, b"avcC")?),
        b"hvc1" | b"hev1" => (Codec::Hevc, find(boxes, b"hvcC")?),
        b"av01" => (Codec::Av1, find(boxes, b"av1C")?),
        b"vp09" => (Codec::Vp9, find(boxes, b"vpcC")?),
        _ => return None,
    };
    if codec == Codec::H264 {
        AvcConfig::parse(record)?;
    }
    Some(of(TrackId::VIDEO, Kind::Video, codec, record))
}

fn audio(kind: &[u8; 4], body: &[u8]) -> Option<Track> {
    let mut numbers = Numbers(body);
    numbers.skip(8)?;
    let version = numbers.u32()? >> 16;
    numbers.skip(4)?;
    let channels = (numbers.u32()? >> 16) as u8;
    numbers.skip(4)?;
    let sample_rate = numbers.u32()? >> 16;
    let boxes = body.get(*AUDIO_BYTES.get(version as usize)?..)?;
    let mp3 = || Track {
        sample_rate,
        channels,
        ..of(TrackId::AUDIO, Kind::Audio, Codec::Mp3, &[])
    };
    match kind {
        b".mp3" => return Some(mp3()),
        b"mp4a" => {}
        _ => return None,
    }
    let esds = find(boxes, b"esds");
    let esds = esds.or_else(|| find(find(boxes, b"wave")?, b"esds"))?;
    let (object, config) = decoder(esds.get(4..)?)?;
    match object {
        OBJECT_AAC => {}
        object if OBJECTS_AAC_2.contains(&object) => {}
        object if OBJECTS_MPEG_AUDIO.contains(&object) => return Some(mp3()),
        _ => return None,
    }
    let parsed = AudioSpecificConfig::parse(config)?;
    Some(Track {
        sample_rate: parsed.sample_rate,
        channels: parsed.channels,
        ..of(TrackId::AUDIO, Kind::Audio, Codec::Aac, config)
    })
}

fn of(id: TrackId, kind: Kind, codec: Codec, record: &[u8]) -> Track {
    Track {
        config: Bytes::copy_from_slice(record),
        ..Track::new(id, kind, codec, Framing::Bare)
    }
}

/// Returns the object type, and the decoder's own record, which may be empty.
fn decoder(descriptors: &[u8]) -> Option<(u8, &[u8])> {
    let stream = descriptor(descriptors, ES_DESCRIPTOR)?;
    let flags = *stream.get(2)?;
    let mut at = 3;
    if flags & 0x80 != 0 {
        at += 2;
    }
    if flags & 0x40 != 0 {
        at += 1 + usize::from(*stream.get(at)?);
    }
    if flags & 0x20 != 0 {
        at += 2;
    }
    let config = descriptor(stream.get(at..)?, DECODER_CONFIG_DESCRIPTOR)?;
    let specific = config.get(13..)?;
    let specific = descriptor(specific, DECODER_SPECIFIC_INFO).unwrap_or_default();
    Some((*config.first()?, specific))
}

/// Returns the content of the descriptor at the front, if it has this tag.
fn descriptor(bytes: &[u8], tag: u8) -> Option<&[u8]> {
    let (found, mut rest) = bytes.split_first()?;
    let mut length = 0;
    // Seven bits per byte, four bytes at most.
    for _ in 0..4 {
        let (byte, behind) = rest.split_first()?;
        rest = behind;
        length = length << 7 | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    (*found == tag).then(|| rest.get(..length)).flatten()
}
