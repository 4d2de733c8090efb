//! Containers of segments: one row for each that HLS knows.
//!
//! | packaging | address | for |
//! |---|---|---|
//! | fragmented MP4 | `hls/` | all codecs; the usual one |
//! | packed audio | `aac/`, `mp3/` | audio alone, in that codec |
//! | transport stream | `ts/` | players that do not support fragmented MP4; whole segments only |
//! | encrypted transport stream | `aes/` | streams that are to be [encrypted](crate::encryption); whole segments only |

use std::sync::Arc;

use fanout::{Choice, Format, Info, Packager, Segmentation};
use media::{Codec, Kind, StreamName};
use packagers::{Extension, Form, Mp4, PackedAudio, Ts};

use crate::keys::{Keys, SegmentEncryptor};

/// Container of a stream's segments.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Packaging {
    /// Fragmented MP4.
    Mp4,
    /// MPEG transport stream.
    Ts,
    /// Plain frames of AAC, with ADTS headers.
    Aac,
    /// Plain frames of MP3.
    Mp3,
    /// MPEG transport stream, encrypted by AES-128.
    Encrypted,
}

impl Packaging {
    /// All packagings.
    pub const ALL: [Self; 5] = [Self::Mp4, Self::Ts, Self::Aac, Self::Mp3, Self::Encrypted];

    /// Returns the packaging that a stream's multivariant playlist names. RFC 8216bis §3.1.4 packs audio alone as plain
    /// frames, which every player supports; few support MP3 in fragmented MP4.
    pub(crate) fn usual(info: &Info) -> Self {
        let has_pictures = info.tracks.iter().any(|track| track.kind == Kind::Video);
        match info.tracks.first().map(|track| track.codec) {
            Some(Codec::Aac) if !has_pictures => Self::Aac,
            Some(Codec::Mp3) if !has_pictures => Self::Mp3,
            _ => Self::Mp4,
        }
    }

    /// Returns the folder of its addresses, below the stream's.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Mp4 => "hls",
            Self::Ts => "ts",
            Self::Aac => "aac",
            Self::Mp3 => "mp3",
            Self::Encrypted => "aes",
        }
    }

    /// Returns the suffix of its segments' names.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Mp4 => ".m4s",
            Self::Ts | Self::Encrypted => ".ts",
            Self::Aac => ".aac",
            Self::Mp3 => ".mp3",
        }
    }

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Mp4 => "video/mp4",
            Self::Ts | Self::Encrypted => "video/mp2t",
            Self::Aac => "audio/aac",
            Self::Mp3 => "audio/mpeg",
        }
    }

    /// Returns whether playlists list parts. Parts of a transport stream are readable only after the first part of
    /// their segment, which has the tables; parts of an encrypted segment cannot be decrypted on their own.
    pub(crate) fn has_parts(self) -> bool {
        !matches!(self, Self::Ts | Self::Encrypted)
    }

    /// Returns the format of the lane that it is a view of.
    pub(crate) fn format(self, bounds: &Segmentation) -> Format {
        match self {
            Self::Mp4 => Mp4::segments(bounds),
            Self::Ts => Ts::segments(bounds),
            Self::Aac | Self::Mp3 => PackedAudio::segments(bounds),
            Self::Encrypted => Ts::encrypted_segments(bounds),
        }
    }

    /// Makes the packager of a stream's lane.
    pub(crate) fn packager(
        self,
        bounds: Segmentation,
        keys: &Arc<Keys>,
        stream: &StreamName,
    ) -> Box<dyn Packager> {
        match self {
            Self::Mp4 => Box::new(Mp4::segmented(bounds)),
            Self::Ts => Box::new(Ts::segmented(bounds)),
            Self::Aac | Self::Mp3 => Box::new(PackedAudio::segmented(bounds)),
            Self::Encrypted => {
                let cipher = SegmentEncryptor::new(Arc::clone(keys), stream.clone());
                Box::new(Ts::encrypted(bounds, Box::new(cipher)))
            }
        }
    }

    /// Chooses whether it can carry a stream's tracks, by the rule of the live body in the same container. The choice
    /// is unclear while announced video is awaited: players would stay with audio only.
    pub(crate) fn choose(self, info: &Info) -> Choice<Self> {
        if info.awaits_pictures {
            return Choice::Unclear;
        }
        let extension = match self {
            Self::Mp4 => Extension::Mp4,
            Self::Ts | Self::Encrypted => Extension::Ts,
            Self::Aac => Extension::Aac,
            Self::Mp3 => Extension::Mp3,
        };
        Form::choose(info, Some(extension), false).map(|_| self)
    }

    /// Returns whether it carries a stream, or some of its tracks.
    pub(crate) fn carries(self, info: &Info) -> bool {
        matches!(self.choose(info), Choice::Take(_) | Choice::Settle(..))
    }
}
