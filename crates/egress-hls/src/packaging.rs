//! What segments are made of: one row for each container that HLS knows.
//!
//! | packaging | address | for |
//! |---|---|---|
//! | fragmented MP4 | `hls/` | all codecs; the usual one |
//! | packed audio | `aac/`, `mp3/` | sound alone, of that codec |
//! | transport stream | `ts/` | players that know no fragmented MP4; whole segments alone |
//! | encrypted transport stream | `aes/` | streams that are to be [encrypted](crate::encryption); whole segments alone |

use std::sync::Arc;

use fanout::{Choice, Format, Info, Packager, Segmentation};
use formats::{Extension, Form, Mp4, PackedAudio, Ts};
use media::{Codec, Kind, StreamName};

use crate::keys::{Keys, SegmentEncryptor};

/// How a stream's media is packed into segments.
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
    /// Every one of them.
    pub const ALL: [Self; 5] = [Self::Mp4, Self::Ts, Self::Aac, Self::Mp3, Self::Encrypted];

    /// The one that the multivariant playlist of a stream names. RFC 8216bis §3.1.4 has sound alone as plain
    /// frames, which every player knows; MP3 in fragmented MP4 few know.
    pub(crate) fn usual(info: &Info) -> Self {
        let has_pictures = info.tracks.iter().any(|track| track.kind == Kind::Video);
        match info.tracks.first().map(|track| track.codec) {
            Some(Codec::Aac) if !has_pictures => Self::Aac,
            Some(Codec::Mp3) if !has_pictures => Self::Mp3,
            _ => Self::Mp4,
        }
    }

    /// The folder of its addresses, below the stream's.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Mp4 => "hls",
            Self::Ts => "ts",
            Self::Aac => "aac",
            Self::Mp3 => "mp3",
            Self::Encrypted => "aes",
        }
    }

    /// What the names of its segments end with.
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

    /// Whether playlists list parts. Those of a transport stream can only be read behind the first part of their
    /// segment, which has the tables, and those of an encrypted segment are no ciphertexts of their own.
    pub(crate) fn has_parts(self) -> bool {
        !matches!(self, Self::Ts | Self::Encrypted)
    }

    /// The lane that it is a view of.
    pub(crate) fn format(self, bounds: &Segmentation) -> Format {
        match self {
            Self::Mp4 => Mp4::segments(bounds),
            Self::Ts => Ts::segments(bounds),
            Self::Aac | Self::Mp3 => PackedAudio::segments(bounds),
            Self::Encrypted => Ts::encrypted_segments(bounds),
        }
    }

    /// Of a stream's lane.
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

    /// Whether a stream's tracks can be carried, as its live body in the same container tells. While announced pictures
    /// are awaited that is unclear: players would keep to the sound.
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

    /// Whether it carries a stream, or some of its tracks.
    pub(crate) fn carries(self, info: &Info) -> bool {
        matches!(self.choose(info), Choice::Take(_) | Choice::Settle(..))
    }
}
