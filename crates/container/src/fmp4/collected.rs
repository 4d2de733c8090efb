//! A fragment's samples, between the muxer that collects them and the sink that writes them.

use bytes::Bytes;
use media::{Kind, Sample, Span, Timestamp, Track, TrackId};

use super::PICTURE_TIMESCALE;
use super::carried::Carried;
use super::clock::{to_time, to_units};
use super::fragment::{Fragment, Piece};
use super::sink::Unit;

/// A fragment that is complete and still to be written: see [`Sink::fragment`](super::Sink::fragment).
#[derive(Debug)]
pub struct Collected<'a> {
    pub(super) unit: Unit,
    pub(super) number: u32,
    /// Units of the sound's clock in one second.
    pub(super) sound_rate: u32,
    pub(super) fragment: &'a mut Fragment,
    pub(super) tracks: &'a [Carried],
}

/// A time on the clock of a track.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MediaTime {
    /// Units since the stream's beginning.
    pub count: u64,
    /// Units in one second.
    pub timescale: u32,
}

impl Collected<'_> {
    /// What its end will be told as.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The track of a kind that it carries, as it was announced.
    pub fn track(&self, kind: Kind) -> Option<&Track> {
        let mut tracks = self.tracks.iter();
        let carried = tracks.find(|carried| carried.track.kind == kind)?;
        Some(&carried.track)
    }

    /// When the first of its pictures, or without any of its sound, is presented; of nothing, when it begins.
    pub fn presented_at(&self) -> MediaTime {
        let (pictures, sounds) = self.fragment.pieces();
        let nothing = self.fragment.pictures().filter(|_| sounds.is_empty());
        let (pieces, timescale) = match pictures.is_empty() && nothing.is_none() {
            true => (sounds, self.sound_rate),
            false => (pictures, PICTURE_TIMESCALE),
        };
        let first = pieces.iter().map(presented).min();
        let begin = nothing.map_or(0, |(at, _)| at);
        MediaTime {
            count: first.unwrap_or(begin),
            timescale,
        }
    }

    /// When what happens at `at` does, on the clock of the track that [`presented_at`](Self::presented_at) uses; never
    /// before that.
    pub fn time_of(&self, at: Timestamp) -> MediaTime {
        let MediaTime { count, timescale } = self.presented_at();
        MediaTime {
            count: count.max(to_units(at, timescale)),
            timescale,
        }
    }

    /// Its samples, their times as written, each with the payload that MP4 has for it. Pictures are
    /// [`TrackId::VIDEO`]'s and sound [`TrackId::AUDIO`]'s, whatever the tracks' numbers are.
    ///
    /// They are in the order in which they are decoded, except that the first picture comes before all sound.
    pub fn samples(&self) -> impl Iterator<Item = Sample> {
        let (pictures, sounds) = self.fragment.pieces();
        let rate = self.sound_rate;
        let mut pictures = pictures.iter().peekable();
        let mut sounds = sounds.iter().peekable();
        let mut first = pictures.next();
        std::iter::from_fn(move || {
            if let Some(first) = first.take() {
                return Some(sample(first, TrackId::VIDEO, PICTURE_TIMESCALE));
            }
            let is_picture = match (pictures.peek(), sounds.peek()) {
                (Some(picture), Some(sound)) => {
                    to_time(picture.at, PICTURE_TIMESCALE) <= to_time(sound.at, rate)
                }
                (next, _) => next.is_some(),
            };
            if is_picture {
                let picture = pictures.next()?;
                Some(sample(picture, TrackId::VIDEO, PICTURE_TIMESCALE))
            } else {
                Some(sample(sounds.next()?, TrackId::AUDIO, rate))
            }
        })
    }

    /// Writes it as `moof` and `mdat`.
    pub fn write(self, put: &mut impl FnMut(&[u8])) {
        self.fragment.write(self.number, put);
    }

    /// What [`write`](Self::write) writes, in pieces and without a copy: the headers, and then each sample.
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
