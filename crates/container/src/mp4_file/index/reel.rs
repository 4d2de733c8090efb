//! Samples of a file in decoding order, for sending them one by one from any keyframe.
//!
//! Times begin with zero at the sample that is decoded first. A sample is presented no earlier than it is decoded: if a
//! file states otherwise, its video is decoded correspondingly earlier.

use std::ops::Range;
use std::sync::Arc;

use media::{Span, Timestamp, TrackId};

use super::entry;
use super::moov::{Track, TrackHead};
use super::tables::Sample;

/// Tracks that can be sent. Their samples are the index's.
#[derive(Debug, Default)]
pub(super) struct Reel {
    sides: Vec<Side>,
    /// Width and height of the video.
    pub(super) dimensions: Option<(u16, u16)>,
}

/// Track of a reel.
#[derive(Debug)]
struct Side {
    /// Position among the index's tracks.
    place: usize,
    track: Arc<media::Track>,
    /// Decoding time of the first sample.
    begin: Timestamp,
    /// Smallest composition offset, if it is negative.
    earlier: i64,
}

/// Position among the samples.
#[derive(Clone, Debug)]
pub struct Cursor(Vec<Place>);

/// Position in one track: its next sample, and that sample's decoding time after the first, in units of the track's
/// clock.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    number: usize,
    units: u64,
}

/// Sample and its range in the file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Placed {
    /// Track, one of [`Index::tracks`](super::Index::tracks).
    pub track: TrackId,
    /// Decoding time.
    pub dts: Timestamp,
    /// Presentation time.
    pub pts: Timestamp,
    /// Duration.
    pub duration: Span,
    /// The sample depends on no other.
    pub keyframe: bool,
    /// Byte range in the file.
    pub range: Range<u64>,
}

impl Reel {
    /// Creates the reel of a file's tracks, each with its head.
    pub(super) fn new(heads: &[TrackHead], tracks: &[Track]) -> Self {
        let sides = heads.iter().zip(tracks).enumerate();
        let sides = sides.filter_map(|(place, (head, track))| {
            let compositions = track.samples.iter().map(|sample| sample.composition);
            let earlier = i64::from(compositions.min().unwrap_or(0).min(0));
            let (sooner, scale) = (earlier.unsigned_abs(), track.timescale);
            Some(Side {
                place,
                track: Arc::new(entry::track(head.stsd(), head.is_picture)?),
                begin: Timestamp::ZERO + Span::from_samples(track.begin, scale)
                    - Span::from_samples(sooner, scale),
                earlier,
            })
        });
        let mut sides: Vec<_> = sides.collect();
        let begins = sides.iter().map(|side| side.begin);
        let first = begins.min().unwrap_or(Timestamp::ZERO);
        for side in &mut sides {
            side.begin = Timestamp::ZERO + (side.begin - first);
        }
        let pictures = heads.iter().find(|head| head.is_picture);
        Self {
            sides,
            dimensions: pictures.and_then(|head| entry::dimensions(head.stsd())),
        }
    }

    pub(super) fn tracks(&self) -> impl Iterator<Item = &Arc<media::Track>> {
        self.sides.iter().map(|side| &side.track)
    }

    /// Returns the total duration.
    pub(super) fn length(&self, tracks: &[Track]) -> Span {
        let ends = self.sides(tracks).map(|(side, track)| {
            let samples = track.samples.iter();
            let units = samples.map(|sample| u64::from(sample.duration)).sum();
            side.begin + Span::from_samples(units, track.timescale)
        });
        ends.max().unwrap_or(Timestamp::ZERO) - Timestamp::ZERO
    }

    fn sides<'a>(&'a self, tracks: &'a [Track]) -> impl Iterator<Item = (&'a Side, &'a Track)> {
        let sides = self.sides.iter();
        sides.filter_map(|side| Some((side, tracks.get(side.place)?)))
    }

    /// Returns the position of the last keyframe that is decoded no later than `at`, and of what follows in the other
    /// track.
    pub(super) fn seek(&self, tracks: &[Track], at: Timestamp) -> Cursor {
        let mut from = at;
        let places = self.sides(tracks).map(|(side, track)| {
            let (mut place, mut found) = (Place::default(), Place::default());
            while let Some(sample) = track.samples.get(place.number) {
                let dts = side.time(place, track);
                // The first track is the video, if there is any: audio begins with its keyframe.
                let is_first = side.place == 0 || self.sides.len() == 1;
                if is_first && dts > at {
                    break;
                }
                if !is_first && dts >= from {
                    found = place;
                    break;
                }
                if is_first && sample.is_sync {
                    found = place;
                }
                place.advance(sample);
                if !is_first {
                    found = place;
                }
            }
            if side.place == 0 {
                from = match found.number {
                    // Audio before the first video frame belongs to it.
                    0 => Timestamp::ZERO,
                    _ => side.time(found, track),
                };
            }
            found
        });
        Cursor(places.collect())
    }

    /// Returns the sample that is decoded next.
    pub(super) fn next(&self, tracks: &[Track], cursor: &mut Cursor) -> Option<Placed> {
        let sides = self.sides(tracks).zip(&mut cursor.0);
        let sides = sides.filter_map(|((side, track), place)| {
            let sample = track.samples.get(place.number)?;
            Some((side.time(*place, track), side, track, sample, place))
        });
        let (dts, side, track, sample, place) = sides.min_by_key(|(dts, ..)| *dts)?;
        place.advance(sample);
        let later = (i64::from(sample.composition) - side.earlier).unsigned_abs();
        Some(Placed {
            track: side.track.id,
            dts,
            pts: dts + Span::from_samples(later, track.timescale),
            duration: Span::from_samples(sample.duration.into(), track.timescale),
            keyframe: sample.is_sync,
            range: sample.offset..sample.offset + u64::from(sample.size),
        })
    }
}

impl Side {
    fn time(&self, place: Place, track: &Track) -> Timestamp {
        self.begin + Span::from_samples(place.units, track.timescale)
    }
}

impl Place {
    fn advance(&mut self, sample: &Sample) {
        self.number += 1;
        self.units = self.units.saturating_add(u64::from(sample.duration));
    }
}
