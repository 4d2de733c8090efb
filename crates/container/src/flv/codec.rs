//! FLV's codec identifiers, and the tracks that sequence headers announce.

use bytes::Bytes;
use media::codec::aac::AudioSpecificConfig;
use media::codec::h264::AvcConfig;
use media::codec::mpeg_audio::FrameHeader;
use media::codec::opus;
use media::{Codec, FourCc, Framing, Kind, Track, TrackId};

use super::body::{Body, Packet};
use super::{AUDIO_AAC, AUDIO_MP3, AUDIO_MP3_8K, VIDEO_AVC, whole};

pub(super) const FOURCC_AVC: [u8; 4] = *b"avc1";
pub(super) const FOURCC_HEVC: [u8; 4] = *b"hvc1";
pub(super) const FOURCC_VVC: [u8; 4] = *b"vvc1";
pub(super) const FOURCC_AV1: [u8; 4] = *b"av01";
pub(super) const FOURCC_VP8: [u8; 4] = *b"vp08";
pub(super) const FOURCC_VP9: [u8; 4] = *b"vp09";
pub(super) const FOURCC_OPUS: [u8; 4] = *b"Opus";

/// Numbers that encoders agreed on before Enhanced RTMP: bodies laid out like those of AVC and AAC.
pub(super) const VIDEO_HEVC: u8 = 12;
pub(super) const AUDIO_OPUS: u8 = 13;

/// Codec identifier in FLV.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CodecTag {
    /// Four-bit number of a legacy body.
    Number(u8),
    /// Four characters of an enhanced body.
    FourCc([u8; 4]),
    /// Several codecs: a multitrack body whose tracks each state their own.
    Mixed,
}

impl CodecTag {
    /// Returns the codec that the identifier stands for.
    pub(super) const fn codec(self, kind: Kind) -> Codec {
        match (kind, self) {
            (_, Self::Mixed) => Codec::UNKNOWN,
            (Kind::Video, Self::Number(number)) => match number {
                VIDEO_AVC => Codec::H264,
                VIDEO_HEVC => Codec::Hevc,
                // Sorenson's H.263, screen video, VP6, VP6 with alpha, screen video 2.
                2 => Codec::Other(FourCc(*b"FLV1")),
                3 => Codec::Other(FourCc(*b"FSV1")),
                4 => Codec::Other(FourCc(*b"VP6F")),
                5 => Codec::Other(FourCc(*b"VP6A")),
                6 => Codec::Other(FourCc(*b"FSV2")),
                _ => Codec::UNKNOWN,
            },
            (Kind::Audio, Self::Number(number)) => match number {
                AUDIO_AAC => Codec::Aac,
                AUDIO_MP3 | AUDIO_MP3_8K => Codec::Mp3,
                AUDIO_OPUS => Codec::Opus,
                7 => Codec::Pcma,
                8 => Codec::Pcmu,
                11 => Codec::Speex,
                // PCM, ADPCM, Nellymoser.
                0 | 3 => Codec::Other(FourCc(*b"lpcm")),
                1 => Codec::Other(FourCc(*b"swfa")),
                4..=6 => Codec::Other(FourCc(*b"NELL")),
                _ => Codec::UNKNOWN,
            },
            (Kind::Video, Self::FourCc(fourcc)) => match fourcc {
                FOURCC_AVC => Codec::H264,
                FOURCC_HEVC => Codec::Hevc,
                FOURCC_VVC => Codec::Vvc,
                FOURCC_AV1 => Codec::Av1,
                FOURCC_VP8 => Codec::Vp8,
                FOURCC_VP9 => Codec::Vp9,
                other => Codec::Other(FourCc(other)),
            },
            (Kind::Audio, Self::FourCc(fourcc)) => match &fourcc {
                b"mp4a" => Codec::Aac,
                b".mp3" => Codec::Mp3,
                &FOURCC_OPUS => Codec::Opus,
                b"fLaC" => Codec::Flac,
                b"ac-3" => Codec::Ac3,
                b"ec-3" => Codec::Eac3,
                _ => Codec::Other(FourCc(fourcc)),
            },
        }
    }

    /// Returns the codec of a track whose samples hold all that its bodies do. Further tracks of a multitrack publisher
    /// keep their bodies, because their number is part of them. So do other codecs, because there are several ways to
    /// write them.
    pub(super) fn plain(self, id: TrackId) -> Option<Codec> {
        let codec = match id {
            TrackId::VIDEO => self.codec(Kind::Video),
            TrackId::AUDIO => self.codec(Kind::Audio),
            _ => return None,
        };
        let is_plain = match codec {
            Codec::H264 | Codec::Aac | Codec::Mp3 => true,
            Codec::Opus => self == Self::FourCc(FOURCC_OPUS),
            _ => false,
        };
        is_plain.then_some(codec)
    }
}

/// Creates a track whose samples hold everything; `None` when its configuration cannot be read.
///
/// The configuration is copied, because it outlives the message buffer in which it arrived.
pub(super) fn plain_track(id: TrackId, codec: Codec, config: &[u8]) -> Option<Track> {
    let (kind, is_readable) = match codec {
        Codec::H264 => (Kind::Video, AvcConfig::parse(config).is_some()),
        Codec::Aac => (Kind::Audio, AudioSpecificConfig::parse(config).is_some()),
        Codec::Opus => (Kind::Audio, opus::plain_head_channels(config).is_some()),
        _ => return None,
    };
    is_readable.then(|| track(id, kind, codec, config))
}

/// Creates a track that is relayed unchanged: `header` and `facts` are the bodies of its sequence header and its facts,
/// either of which may be empty.
pub(super) fn kept_track(
    id: TrackId,
    kind: Kind,
    codec: CodecTag,
    header: &[u8],
    facts: &[u8],
) -> Track {
    Track {
        flv: Some(whole::join(header, facts)),
        ..track(id, kind, codec.codec(kind), record(kind, header))
    }
}

/// Returns the codec's own record from the body of a sequence header. The other kind of header, of MPEG-2 TS, has none.
fn record(kind: Kind, header: &[u8]) -> &[u8] {
    let parsed = Body::of(kind, header);
    let parsed =
        parsed.filter(|body| body.packet == Packet::SequenceHeader && body.packet_type == 0);
    let record = parsed.and_then(|body| header.get(body.payload..));
    record.unwrap_or_default()
}

fn track(id: TrackId, kind: Kind, codec: Codec, config: &[u8]) -> Track {
    let (sample_rate, channels) = match codec {
        Codec::Aac => AudioSpecificConfig::parse(config)
            .map(|config| (config.sample_rate, config.channels))
            .unwrap_or_default(),
        Codec::Opus => (opus::RATE, opus::head_channels(config).unwrap_or_default()),
        // The only rate that FLV has for these codecs.
        Codec::Pcma | Codec::Pcmu => (8_000, 0),
        _ => (0, 0),
    };
    Track {
        config: Bytes::copy_from_slice(config),
        sample_rate,
        channels,
        ..Track::new(id, kind, codec, Framing::Bare)
    }
}

/// Returns the track that an MP3 body implies: by its frame header, else by the tag's own flags.
pub(super) fn mp3_track(body: &[u8], payload: usize) -> Track {
    const FLAG_RATES: [u32; 4] = [5_512, 11_025, 22_050, 44_100];
    let flags = body.first().copied().unwrap_or_default();
    let (sample_rate, channels) = match FrameHeader::parse(body.get(payload..).unwrap_or_default())
    {
        Some(header) => (header.sample_rate, header.channels),
        None if flags >> 4 == AUDIO_MP3_8K => (8_000, (flags & 1) + 1),
        None => (FLAG_RATES[usize::from(flags >> 2 & 3)], (flags & 1) + 1),
    };
    Track {
        sample_rate,
        channels,
        ..track(TrackId::AUDIO, Kind::Audio, Codec::Mp3, &[])
    }
}
