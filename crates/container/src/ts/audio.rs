//! Audio in a transport stream: frames with their own boundaries, several of them in one PES packet.
//!
//! A frame that is sent alone costs whole packets of 188 bytes: an AAC frame at 64 kb/s has 177 bytes with its header,
//! and with the PES header just does not fit into one.

use media::codec::aac::AudioSpecificConfig;
use media::codec::dolby::SyncFrame;
use media::{Framing, Span, Timestamp, Track};

use super::opus;
use super::stream::Coding;
use crate::adts;
use crate::frames::{Syntax, head::Head};

/// Upper bound on the bytes of audio held for each track. A tenth of a second has 8 KiB at the highest rate of AC-3,
/// and a PES packet can state 64 KiB.
pub(super) const HELD_BYTES_MAX: usize = 32 * 1024;

/// Upper bound on the bytes of a frame, several times that of any codec here.
const FRAME_BYTES_MAX: usize = 16 * 1024;

/// Bytes of the longest header before a frame: Opus with the length of a frame of [`FRAME_BYTES_MAX`].
const FRAME_HEADER_BYTES_MAX: usize = 2 + FRAME_BYTES_MAX / 255 + 1;

/// Distance allowed between a frame of a packet and the end of those before it. Timestamps from FLV are whole
/// milliseconds; a larger distance is a gap, and gets a timestamp of its own.
const DRIFT_MAX: Span = Span::from_millis(5);

/// Conversion of a track's samples to frames.
#[derive(Debug)]
pub(super) enum Audio {
    /// Bare access units, each of which gets a header.
    Aac(adts::Writer, Span),
    /// Frames with their own headers.
    Framed(Syntax),
    Dolby,
    Opus,
}

impl Audio {
    /// Creates the conversion for a track of `coding`; `None` for video, and for AAC that ADTS cannot express.
    pub(super) fn new(coding: Coding, track: &Track) -> Option<Self> {
        match coding {
            Coding::H264 | Coding::Hevc => None,
            Coding::Aac if track.framing == Framing::SelfFramed => Some(Self::Framed(Syntax::Adts)),
            Coding::Aac => {
                let config = AudioSpecificConfig::parse(&track.config)?;
                let samples = config.samples_per_frame();
                let span = Span::from_samples(samples.into(), config.sample_rate);
                Some(Self::Aac(adts::Writer::new(&track.config)?, span))
            }
            Coding::Mp3 | Coding::Mp3LowRate => Some(Self::Framed(Syntax::MpegAudio)),
            Coding::Ac3 | Coding::Eac3 => Some(Self::Dolby),
            Coding::Opus => Some(Self::Opus),
        }
    }

    /// Returns the duration of the frame in `sample`; `None` when there is none, or one that is too long.
    pub(super) fn span(&self, sample: &[u8]) -> Option<Span> {
        if sample.is_empty() || sample.len() > FRAME_BYTES_MAX {
            return None;
        }
        match self {
            Self::Aac(writer, span) => writer.header(sample.len()).map(|_| *span),
            Self::Framed(syntax) => Head::parse(*syntax, sample).map(|head| head.span()),
            Self::Dolby => SyncFrame::parse(sample).map(|frame| frame.span()),
            Self::Opus => media::codec::opus::duration(sample),
        }
    }

    fn put(&self, sample: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Aac(writer, _) => {
                let header = writer.header(sample.len());
                out.extend_from_slice(header.as_ref().map_or(&[], |header| &header[..]));
            }
            Self::Opus => opus::put_control(sample.len(), out),
            Self::Framed(_) | Self::Dolby => {}
        }
        out.extend_from_slice(sample);
    }
}

/// Frames that wait for more.
#[derive(Debug, Default)]
pub(super) struct Held {
    bytes: Vec<u8>,
    began: Timestamp,
    ended: Timestamp,
}

impl Held {
    /// Returns the time of the first frame; `None` if there is none.
    pub(super) fn began(&self) -> Option<Timestamp> {
        (!self.bytes.is_empty()).then_some(self.began)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns whether a frame at `at` can be added to the held frames.
    pub(super) fn takes(&self, at: Timestamp, sample: &[u8]) -> bool {
        let bytes = self.bytes.len() + sample.len() + FRAME_HEADER_BYTES_MAX;
        let is_next = at - self.ended <= DRIFT_MAX && self.ended - at <= DRIFT_MAX;
        self.bytes.is_empty() || is_next && bytes <= HELD_BYTES_MAX
    }

    /// Adds a frame.
    pub(super) fn put(&mut self, audio: &Audio, at: Timestamp, span: Span, sample: &[u8]) {
        if self.bytes.is_empty() {
            self.began = at;
        }
        self.ended = at + span;
        audio.put(sample, &mut self.bytes);
    }

    /// Returns whether one more frame of `span` would exceed a total of `span_max`.
    pub(super) fn is_full(&self, span: Span, span_max: Span) -> bool {
        self.ended + span - self.began > span_max
    }

    /// Drops the frames, and keeps their memory for the next.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }
}
