//! Samples of a fragment, between the muxer that collects them and the sink that writes them.

use bytes::Bytes;
use media::{Kind, Sample, Span, Timestamp, Track, TrackId};

use super::PICTURE_TIMESCALE;
use super::carried::Carried;
use super::clock::{to_time, to_units};
use super::fragment::{Fragment, Piece};
use super::sink::Unit;

/// Complete fragment that is still to be written: see [`FragmentSink::fragment`](super::FragmentSink::fragment).
#[derive(Debug)]
pub struct Collected<'a> {
    pub(super) unit: Unit,
    pub(super) number: u32,
    /// Units of the audio clock per second.
    pub(super) audio_rate: u32,
    pub(super) fragment: &'a mut Fragment,
    pub(super) tracks: &'a [Carried],
}

/// Time on the clock of a track.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MediaTime {
    /// Units since the stream's beginning.
    pub count: u64,
    /// Units per second.
    pub timescale: u32,
}

impl Collected<'_> {
    /// Returns the unit that will be passed to [`FragmentSink::end_unit`](super::FragmentSink::end_unit).
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Returns the carried track of a kind, as it was announced.
    pub fn track(&self, kind: Kind) -> Option<&Track> {
        let mut tracks = self.tracks.iter();
        let carried = tracks.find(|carried| carried.track.kind == kind)?;
        Some(&carried.track)
    }

    /// Returns the presentation time of the first video frame, or of the first audio frame without video; for a
    /// fragment without samples, its beginning.
    pub fn presented_at(&self) -> MediaTime {
        let (pictures, audio_frames) = self.fragment.pieces();
        let nothing = self.fragment.pictures().filter(|_| audio_frames.is_empty());
        let (pieces, timescale) = match pictures.is_empty() && nothing.is_none() {
            true => (audio_frames, self.audio_rate),
            false => (pictures, PICTURE_TIMESCALE),
        };
        let first = pieces.iter().map(presented).min();
        let begin = nothing.map_or(0, |(at, _)| at);
        MediaTime {
            count: first.unwrap_or(begin),
            timescale,
        }
    }

    /// Converts `at` to the clock of the track that [`presented_at`](Self::presented_at) uses; the result is never
    /// earlier than that.
    pub fn time_of(&self, at: Timestamp) -> MediaTime {
        let MediaTime { count, timescale } = self.presented_at();
        MediaTime {
            count: count.max(to_units(at, timescale)),
            timescale,
        }
    }

    /// Returns the samples with their times as written, each with its payload in MP4. Video belongs to
    /// [`TrackId::VIDEO`] and audio to [`TrackId::AUDIO`], whatever the tracks' numbers are.
    ///
    /// The samples are in decoding order, except that the first video frame comes before all audio.
    pub fn samples(&self) -> impl Iterator<Item = Sample> {
        let (pictures, audio_frames) = self.fragment.pieces();
        let rate = self.audio_rate;
        let mut pictures = pictures.iter().peekable();
        let mut audio_frames = audio_frames.iter().peekable();
        let mut first = pictures.next();
        std::iter::from_fn(move || {
            if let Some(first) = first.take() {
                return Some(sample(first, TrackId::VIDEO, PICTURE_TIMESCALE));
            }
            let is_picture = match (pictures.peek(), audio_frames.peek()) {
                (Some(picture), Some(audio)) => {
                    to_time(picture.at, PICTURE_TIMESCALE) <= to_time(audio.at, rate)
                }
                (next, _) => next.is_some(),
            };
            if is_picture {
                let picture = pictures.next()?;
                Some(sample(picture, TrackId::VIDEO, PICTURE_TIMESCALE))
            } else {
                Some(sample(audio_frames.next()?, TrackId::AUDIO, rate))
            }
        })
    }

    /// Writes the fragment as `moof` and `mdat`.
    pub fn write(self, put: &mut impl FnMut(&[u8])) {
        self.fragment.write(self.number, put);
    }

    /// Returns the output of [`write`](Self::write) in pieces and without a copy: the headers, and then each sample.
    pub fn into_pieces(self) -> Vec<Bytes> {
        self.fragment.take_pieces(self.number)
    }
}

fn presented(piece: &Piece) -> u64 {
    piece.at.saturating_add_signed(piece.composition.into())
}

fn sample(piece: &Piece, track: TrackId, timescale: u32) -> Sample {
    let dts = to_time(piece.at, timescale);
    let duration = Span::from_samples(piece.duration.into(), timescale);
    Sample {
        pts: to_time(presented(piece), timescale),
        keyframe: piece.is_sync,
        ..Sample::frame(track, dts, duration, piece.data.clone())
    }
}
