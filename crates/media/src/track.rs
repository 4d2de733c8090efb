//! Parts of a stream: its container and its tracks.

use std::fmt;

use bytes::Bytes;

/// Identifier of a track within one stream. RTMP uses [`TrackId::AUDIO`] and [`TrackId::VIDEO`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TrackId(pub u8);

impl TrackId {
    /// Id of the first audio track.
    pub const AUDIO: Self = Self(0);
    /// Id of the first video track.
    pub const VIDEO: Self = Self(1);
    /// Id of the track that the server writes beside the publisher's own; no publisher has it.
    pub const DERIVED: Self = Self(u8::MAX);

    /// Returns the id of the first track of a kind.
    pub const fn first(kind: Kind) -> Self {
        match kind {
            Kind::Audio => Self::AUDIO,
            Kind::Video => Self::VIDEO,
        }
    }
}

/// Kind of media in a track.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// Audio.
    Audio,
    /// Video.
    Video,
}

/// A codec's four characters, as ISO media files and Enhanced RTMP write them.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct FourCc(pub [u8; 4]);

impl FourCc {
    /// Code of a codec without a name.
    pub const UNKNOWN: Self = Self([0; 4]);
}

/// Writes the characters without trailing blanks; `unknown` if they are not text.
impl fmt::Display for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = str::from_utf8(&self.0).unwrap_or_default().trim_end();
        let is_text = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        f.pad(if is_text { text } else { "unknown" })
    }
}

/// Codec of a track.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Codec {
    /// Advanced Audio Coding, any object type.
    Aac,
    /// MPEG-1/2/2.5 audio layer III.
    Mp3,
    /// Xiph Vorbis.
    Vorbis,
    /// Opus (RFC 6716).
    Opus,
    /// Free Lossless Audio Codec.
    Flac,
    /// Dolby AC-3.
    Ac3,
    /// Dolby Enhanced AC-3.
    Eac3,
    /// G.711, A-law.
    Pcma,
    /// G.711, µ-law.
    Pcmu,
    /// Speex.
    Speex,
    /// H.264 / AVC.
    H264,
    /// H.265 / HEVC.
    Hevc,
    /// H.266 / VVC.
    Vvc,
    /// AOMedia AV1.
    Av1,
    /// VP8 (RFC 6386).
    Vp8,
    /// VP9.
    Vp9,
    /// Any other codec, of which only the name is known.
    Other(FourCc),
}

impl Codec {
    /// A codec without a name.
    pub const UNKNOWN: Self = Self::Other(FourCc::UNKNOWN);

    /// Returns its name for use in a sentence.
    pub const fn label(self) -> &'static str {
        self.names().1
    }

    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Aac => ("aac", "AAC"),
            Self::Mp3 => ("mp3", "MP3"),
            Self::Vorbis => ("vorbis", "Vorbis"),
            Self::Opus => ("opus", "Opus"),
            Self::Flac => ("flac", "FLAC"),
            Self::Ac3 => ("ac3", "AC-3"),
            Self::Eac3 => ("eac3", "E-AC-3"),
            Self::Pcma => ("pcma", "G.711 A-law"),
            Self::Pcmu => ("pcmu", "G.711 µ-law"),
            Self::Speex => ("speex", "Speex"),
            Self::H264 => ("h264", "H.264"),
            Self::Hevc => ("hevc", "HEVC"),
            Self::Vvc => ("vvc", "VVC"),
            Self::Av1 => ("av1", "AV1"),
            Self::Vp8 => ("vp8", "VP8"),
            Self::Vp9 => ("vp9", "VP9"),
            Self::Other(_) => ("other", "a codec that is only relayed"),
        }
    }
}

/// Writes a short name for logs and the API: lower case, or the four characters of [`Codec::Other`].
impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(fourcc) => fourcc.fmt(f),
            known => f.pad(known.names().0),
        }
    }
}

/// Framing of the bytes of a track's samples.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Framing {
    /// The codec's own bytes: length-prefixed NAL units for H.264 and HEVC (ISO/IEC 14496-15), OBUs with
    /// their sizes for AV1, one raw access unit for AAC, one packet for Opus.
    Bare,
    /// Frames that carry their own header: an MP3 frame, an ADTS frame, an Ogg page, a run of a
    /// WebM cluster. Concatenated they are the source's own byte stream.
    SelfFramed,
}

/// One elementary stream of a published stream.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Track {
    /// Its identifier within the stream.
    pub id: TrackId,
    /// Audio or video.
    pub kind: Kind,
    /// Its codec.
    pub codec: Codec,
    /// Framing of its samples.
    pub framing: Framing,
    /// Decoder configuration, the codec's own record: AudioSpecificConfig for AAC, OpusHead (RFC 7845 §5.1) for bare
    /// Opus, the content of the boxes `avcC`, `hvcC`, `av1C` and `vpcC` for H.264, HEVC, AV1, and VP8 and VP9 (there
    /// with version and flags, as in FLV); empty if the codec has none or it has not arrived.
    pub config: Bytes,
    /// Audio samples per second; 0 when unknown or not audio.
    pub sample_rate: u32,
    /// Audio channels; 0 when unknown or not audio.
    pub channels: u8,
    /// Tag bodies of the track's sequence header and of facts such as colour, each after its 24-bit length; set for a
    /// track that FLV and RTMP must relay unchanged, because its bytes alone do not carry everything. Its samples have
    /// such a body, too. Other formats ignore it.
    pub flv: Option<Bytes>,
}

impl Track {
    /// Creates a track of which nothing else is known, or needed.
    pub const fn new(id: TrackId, kind: Kind, codec: Codec, framing: Framing) -> Self {
        Self {
            id,
            kind,
            codec,
            framing,
            config: Bytes::new(),
            sample_rate: 0,
            channels: 0,
            flv: None,
        }
    }
}

/// Byte stream that a publisher delivered.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Container {
    /// Unknown, before its first bytes have arrived.
    Unknown,
    /// Separate tracks of bare samples, as RTMP and WebRTC deliver them.
    Tracks,
    /// A run of MPEG audio frames.
    Mp3,
    /// A run of ADTS frames.
    Adts,
    /// Ogg pages.
    Ogg,
    /// WebM or Matroska.
    WebM,
    /// Something else, relayed unchanged.
    Other,
}
