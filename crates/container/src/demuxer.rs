//! Common interface of all demuxers.

use media::{Container, Item, Kind};

use crate::{frames, ogg, raw, ts, webm};

/// Demuxer for whatever an Icecast source sends, however the network cut it, or for files.
///
/// Nothing in the input is an error: bytes that belong to no frame, page or cluster are dropped and counted by
/// [`Self::skipped_bytes`]. The items do not depend on how the input was cut, except in [`Container::Other`], which has
/// no units of its own.
#[derive(Debug)]
pub enum Demuxer {
    /// Frames of MP3 or AAC.
    Frames(frames::Demuxer),
    /// Pages of Ogg.
    Ogg(Box<ogg::Demuxer>),
    /// Packets of MPEG-TS, which no content type chooses.
    Ts(Box<ts::Demuxer>),
    /// Clusters of WebM or Matroska.
    WebM(Box<webm::Demuxer>),
    /// Bytes of any other format.
    Raw(raw::Demuxer),
}

impl Demuxer {
    /// Creates the demuxer for a source's `Content-Type`. Parameters and case are ignored; an unknown type is passed
    /// through.
    pub fn for_content_type(content_type: &str) -> Self {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        let essence = essence.to_ascii_lowercase();
        match &essence[..] {
            "audio/mpeg" | "audio/mp3" | "audio/x-mp3" | "audio/x-mpeg" | "audio/mpeg3" => {
                Self::Frames(frames::Demuxer::new(frames::Syntax::MpegAudio))
            }
            "audio/aac" | "audio/aacp" | "audio/x-aac" | "audio/x-hx-aac-adts" => {
                Self::Frames(frames::Demuxer::new(frames::Syntax::Adts))
            }
            "application/ogg" | "application/x-ogg" | "audio/ogg" | "audio/x-ogg" | "video/ogg"
            | "audio/opus" | "audio/vorbis" => Self::Ogg(Box::default()),
            "audio/webm" | "video/webm" | "audio/x-matroska" | "video/x-matroska"
            | "audio/matroska" | "video/matroska" => Self::WebM(Box::default()),
            other if other.starts_with("video/") => Self::Raw(raw::Demuxer::new(Kind::Video)),
            _ => Self::Raw(raw::Demuxer::new(Kind::Audio)),
        }
    }

    /// Returns the kind of byte stream that the items form.
    pub const fn container(&self) -> Container {
        match self {
            Self::Frames(demuxer) => demuxer.container(),
            Self::Ogg(_) => Container::Ogg,
            Self::WebM(_) => Container::WebM,
            Self::Ts(_) | Self::Raw(_) => Container::Other,
        }
    }

    /// Takes `bytes` and appends the items that they complete to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Item>) {
        match self {
            Self::Frames(demuxer) => demuxer.push(bytes, out),
            Self::Ogg(demuxer) => demuxer.push(bytes, out),
            Self::Ts(demuxer) => demuxer.push(bytes, out),
            Self::WebM(demuxer) => demuxer.push(bytes, out),
            Self::Raw(demuxer) => demuxer.push(bytes, out),
        }
    }

    /// Ends the input: appends the usable part of the bytes held back.
    pub fn finish(&mut self, out: &mut Vec<Item>) {
        match self {
            Self::Frames(demuxer) => demuxer.finish(out),
            Self::Ogg(demuxer) => demuxer.finish(out),
            Self::Ts(demuxer) => demuxer.finish(out),
            Self::WebM(demuxer) => demuxer.finish(out),
            Self::Raw(_) => {}
        }
    }

    /// Returns the bytes dropped so far: tags, garbage, damaged and unusable parts. Those of MPEG-TS are not counted.
    pub const fn skipped_bytes(&self) -> u64 {
        match self {
            Self::Frames(demuxer) => demuxer.skipped_bytes(),
            Self::Ogg(demuxer) => demuxer.skipped_bytes(),
            Self::WebM(demuxer) => demuxer.skipped_bytes(),
            Self::Ts(_) | Self::Raw(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{samples, stream_bytes};

    #[test]
    fn content_types_choose() {
        for (content_type, container) in [
            ("audio/mpeg", Container::Mp3),
            ("Audio/MPEG; charset=utf-8", Container::Mp3),
            ("audio/aacp", Container::Adts),
            (" application/ogg;codecs=opus", Container::Ogg),
            ("audio/ogg", Container::Ogg),
            ("video/webm", Container::WebM),
            ("video/x-matroska", Container::WebM),
            ("video/nsv", Container::Other),
            ("", Container::Other),
        ] {
            let found = Demuxer::for_content_type(content_type).container();
            assert_eq!(found, container, "{content_type}");
        }
    }

    #[test]
    fn what_is_unknown_passes_byte_for_byte() {
        let mut demuxer = Demuxer::for_content_type("video/nsv");
        let mut items = Vec::new();
        let input: Vec<u8> = (0..50_000).map(|index| index as u8).collect();
        for piece in input.chunks(20_000) {
            demuxer.push(piece, &mut items);
        }
        demuxer.finish(&mut items);
        assert!(matches!(&items[0], Item::Track(track) if track.kind == Kind::Video));
        assert!(samples(&items).iter().all(|sample| sample.keyframe));
        assert_eq!(stream_bytes(&items), input);
    }
}
