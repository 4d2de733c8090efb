//! Names of codecs and media types, as players request them (RFC 6381).

use media::codec::aac::AudioSpecificConfig;
use media::codec::h264::AvcConfig;
use media::codec::{av1, hevc, vp9};
use media::{Codec, Kind, Track};

use super::carried::{Carried, MPEG1_RATE_MIN, mpeg_object};

/// Returns whether a [`Muxer`](super::Muxer) can carry `track`: bare H.264, HEVC, AV1, VP9, AAC, MP3, Opus, FLAC,
/// AC-3 and Enhanced AC-3 with the configuration that their decoders need, AAC in ADTS frames, and self-framed MP3.
///
/// Video is refused if its configuration should hold its dimensions and does not, because players need them in advance.
pub fn can_mux(track: &Track) -> bool {
    Carried::new(track).is_some_and(|carried| carried.is_live())
}

/// Returns whether a [`Muxer`](super::Muxer) for [files](super::Muxer::for_files) can carry `track`: VP8 as well.
pub fn can_file(track: &Track) -> bool {
    Carried::new(track).is_some()
}

/// Returns the codec of a track as written in `codecs` of a media type and `CODECS` of a playlist: `avc1.64001F`,
/// `mp4a.40.2`. `None` for a track that is refused by [`can_mux`], and for VP9 without a configuration record, whose
/// profile and level are not known before its first keyframe.
pub fn codec_string(track: &Track) -> Option<String> {
    if !can_mux(track) {
        return None;
    }
    match track.codec {
        Codec::H264 => Some(AvcConfig::parse(&track.config)?.codec_string()),
        Codec::Hevc => hevc::codec_string(&track.config),
        Codec::Av1 => av1::codec_string(&track.config),
        Codec::Vp9 => vp9::codec_string(&track.config),
        Codec::Aac => Some(AudioSpecificConfig::parse(&track.config)?.codec_string()),
        Codec::Mp3 => {
            // An unknown rate is assumed to be the usual one.
            let rate = if track.sample_rate == 0 {
                MPEG1_RATE_MIN
            } else {
                track.sample_rate
            };
            Some(format!("mp4a.{:02X}", mpeg_object(rate)))
        }
        Codec::Opus => Some("opus".to_owned()),
        Codec::Flac => Some("fLaC".to_owned()),
        Codec::Ac3 => Some("ac-3".to_owned()),
        Codec::Eac3 => Some("ec-3".to_owned()),
        _ => None,
    }
}

/// Returns the media type of a [`Muxer`](super::Muxer)'s output for `tracks`, in the order of announcement: `video/mp4;
/// codecs="avc1.64001F,mp4a.40.2"`. The `codecs` parameter is missing if one of them has no name yet, and the result is
/// `None` if none of them can be carried.
pub fn media_type<'a>(tracks: impl IntoIterator<Item = &'a Track>) -> Option<String> {
    let (mut picture, mut audio) = (None, None);
    for track in tracks.into_iter().filter(|track| can_mux(track)) {
        match track.kind {
            Kind::Video => picture = picture.or(Some(track)),
            Kind::Audio => audio = audio.or(Some(track)),
        }
    }
    let kind = match (picture, audio) {
        (Some(_), _) => "video/mp4",
        (None, Some(_)) => "audio/mp4",
        (None, None) => return None,
    };
    let names = [picture, audio].into_iter().flatten().map(codec_string);
    let names: Option<Vec<String>> = names.collect();
    Some(match names {
        Some(names) => format!("{kind}; codecs=\"{}\"", names.join(",")),
        None => kind.to_owned(),
    })
}
