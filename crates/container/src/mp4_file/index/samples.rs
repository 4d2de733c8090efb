//! Segments of a plain file: fragments that are made of its samples.

use std::ops::Range;
use std::time::Duration;

use super::moov::Track;
use super::segments::{Cut, between, cut};
use super::tables::Sample;
use super::{Error, Packaged, Segment};
use crate::fmp4::boxes::{Boxes, HEADER_BYTES};
use crate::fmp4::parts::{PICTURE_COLUMNS, put_picture, put_run, put_track};

/// Bytes of a sample in a head, and as a range of its own.
const ROW_BYTES: usize = 16;
const RANGE_BYTES: usize = size_of::<Range<u64>>();

/// Upper bound on the bytes of a head without its samples.
const HEAD_BYTES: usize = 256;

/// Tracks of a file, cut into segments.
#[derive(Debug, Default)]
pub(super) struct Samples {
    tracks: Vec<Track>,
    /// Beginning of each segment, then the end of the last one; empty if the tracks cannot be cut.
    cuts: Vec<Cut>,
}

impl Samples {
    /// Cuts tracks into segments, if they can be cut.
    pub(super) fn new(
        tracks: Vec<Track>,
        segment: Duration,
    ) -> (Self, Result<Vec<Segment>, Error>) {
        let (cuts, segments) = match cut(&tracks, segment) {
            Ok((cuts, segments)) => (cuts, Ok(segments)),
            Err(error) => (Vec::new(), Err(error)),
        };
        (Self { tracks, cuts }, segments)
    }

    /// Keeps tracks whole.
    pub(super) const fn uncut(tracks: Vec<Track>) -> Self {
        let cuts = Vec::new();
        Self { tracks, cuts }
    }

    pub(super) fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// Returns each track's part of a segment: its samples, and the decoding time of the first.
    fn parts(&self, number: usize) -> impl Iterator<Item = (&Track, u64, &[Sample])> {
        let cuts = self.cuts.get(number).zip(self.cuts.get(number + 1));
        let parts = cuts.map(|(begin, end)| between(&self.tracks, begin, end));
        parts.into_iter().flatten()
    }

    fn bytes(&self, number: usize) -> u64 {
        let parts = self.parts(number);
        let samples = parts.flat_map(|(_, _, samples)| samples);
        samples.map(|sample| u64::from(sample.size)).sum()
    }

    /// Returns an upper bound on the memory of a packaged segment; `None` if there is none.
    pub(super) fn packaged_memory(&self, number: usize) -> Option<usize> {
        self.cuts.get(number + 1)?;
        let parts = self.parts(number);
        let samples: usize = parts.map(|(_, _, samples)| samples.len()).sum();
        Some(HEAD_BYTES + samples * (ROW_BYTES + RANGE_BYTES))
    }

    pub(super) fn packaged(&self, number: usize) -> Option<Packaged> {
        self.cuts.get(number + 1)?;
        let write = |head_bytes: usize| {
            let mut boxes = Boxes::default();
            let mut data_at = head_bytes as u32;
            boxes.put_box(b"moof", |moof| {
                moof.put_full_box(b"mfhd", 0, 0, |mfhd| mfhd.put_u32(number as u32 + 1));
                for (track, at, samples) in self.parts(number) {
                    if !samples.is_empty() {
                        put_samples(moof, track, (at, data_at), samples);
                    }
                    // The bytes of a segment are bounded.
                    data_at += samples.iter().map(|sample| sample.size).sum::<u32>();
                }
            });
            boxes
        };
        let moof_bytes = write(0).as_slice().len();
        let mut head = write(moof_bytes + HEADER_BYTES);
        head.put_u32((HEADER_BYTES as u64 + self.bytes(number)) as u32);
        head.put(b"mdat");
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for sample in self.parts(number).flat_map(|(_, _, samples)| samples) {
            let end = sample.offset + u64::from(sample.size);
            match ranges.last_mut() {
                Some(last) if last.end == sample.offset => last.end = end,
                _ => ranges.push(sample.offset..end),
            }
        }
        Some(Packaged {
            head: head.into_bytes(),
            ranges,
        })
    }

    /// Returns the memory in bytes, without that of the tracks.
    pub(super) fn cuts_memory(&self) -> usize {
        self.cuts.len() * size_of::<Cut>()
    }
}

fn put_samples(moof: &mut Boxes, track: &Track, (at, data_at): (u64, u32), samples: &[Sample]) {
    put_track(moof, track.id, at, |traf| {
        put_run(traf, PICTURE_COLUMNS, (samples.len(), data_at), |trun| {
            for it in samples {
                put_picture(trun, (it.duration, it.size), it.composition, it.is_sync);
            }
        });
    });
}
