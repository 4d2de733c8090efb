//! Segments of a plain file: which samples are in them, and fragments that are made of them.

use std::ops::Range;
use std::time::Duration;

use super::moov::Track;
use super::tables::Sample;
use super::{Error, Packaged, Segment, time};
use crate::fmp4::boxes::{Boxes, HEADER_BYTES};

/// Bytes of a segment, whose positions are counted in 31 bits.
const SEGMENT_BYTES_MAX: u64 = 1 << 30;

/// `tf_flags`: positions are counted from the start of the `moof`.
const DEFAULT_BASE_IS_MOOF: u32 = 0x02_0000;

/// `tr_flags`: where the data is; and of each sample its duration, size, flags and composition offset.
const COLUMNS: u32 = 0x001 | 0x100 | 0x200 | 0x400 | 0x800;

/// `sample_flags`: depends on no other, and depends on others.
const SYNC: u32 = 0x0200_0000;
const DEPENDENT: u32 = 0x0101_0000;

/// Tracks of a file, cut into segments.
#[derive(Debug)]
pub(super) struct Samples {
    tracks: Vec<Track>,
    cuts: Vec<Cut>,
    durations: Vec<Duration>,
}

/// Where a segment begins: for each track the number of its first sample, and when that is decoded.
#[derive(Clone, Copy, Debug)]
struct Cut([(usize, u64); 2]);

impl Samples {
    /// Cuts at the keyframes of the first track, which has the pictures if there are any.
    pub(super) fn new(tracks: Vec<Track>, segment: Duration) -> Result<Self, Error> {
        let Some(first) = tracks.first() else {
            return Err(Error::NoTrack);
        };
        let (starts, end) = keyframes(first, segment);
        let mut cuts = Vec::with_capacity(starts.len() + 1);
        let mut others = tracks.iter().skip(1).map(Walk::new).next();
        for (at, (number, start)) in starts.iter().enumerate() {
            let other = match (&mut others, at) {
                (None, _) => (0, 0),
                // What comes before the first picture is with it.
                (Some(walk), 0) => walk.position(),
                (Some(walk), _) => walk.until(*start, first.timescale),
            };
            cuts.push(Cut([(*number, *start), other]));
        }
        let other = others.map_or((0, 0), |mut walk| walk.finish());
        cuts.push(Cut([(first.samples.len(), end), other]));
        let durations = cuts.windows(2).map(|pair| match pair {
            [Cut([begin, _]), Cut([end, _])] => {
                let [begin, end] = [begin, end].map(|(_, at)| time(*at, first.timescale));
                end.saturating_sub(begin)
            }
            _ => Duration::ZERO,
        });
        let durations = durations.collect();
        let samples = Self {
            tracks,
            cuts,
            durations,
        };
        let is_fit = |number| samples.bytes(number) <= SEGMENT_BYTES_MAX;
        match (0..samples.durations.len()).all(is_fit) {
            true => Ok(samples),
            false => Err(Error::Unsuitable),
        }
    }

    pub(super) fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    pub(super) fn segments(&self) -> Vec<Segment> {
        let segment = |duration: &Duration| Segment {
            duration: *duration,
            range: None,
        };
        self.durations.iter().map(segment).collect()
    }

    /// Each track of a segment: its samples, and when the first is decoded.
    fn parts(&self, number: usize) -> impl Iterator<Item = (&Track, u64, &[Sample])> {
        let cuts = self.cuts.get(number).zip(self.cuts.get(number + 1));
        let parts = cuts.map(|(Cut(begin), Cut(end))| {
            let sides = self.tracks.iter().zip(begin.iter().zip(end));
            sides.map(|(track, ((from, at), (to, _)))| {
                let samples = track.samples.get(*from..*to).unwrap_or_default();
                (track, *at, samples)
            })
        });
        parts.into_iter().flatten()
    }

    fn bytes(&self, number: usize) -> u64 {
        let parts = self.parts(number);
        let samples = parts.flat_map(|(_, _, samples)| samples);
        samples.map(|sample| u64::from(sample.size)).sum()
    }

    pub(super) fn packaged(&self, number: usize) -> Option<Packaged> {
        if number >= self.durations.len() {
            return None;
        }
        let write = |head_bytes: usize| {
            let mut boxes = Boxes::default();
            let mut data_at = head_bytes as u32;
            boxes.put_box(b"moof", |moof| {
                moof.put_full_box(b"mfhd", 0, 0, |mfhd| mfhd.put_u32(number as u32 + 1));
                for (track, at, samples) in self.parts(number) {
                    if !samples.is_empty() {
                        put_track(moof, track, (at, data_at), samples);
                    }
                    // A segment's data is bounded.
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

    pub(super) fn memory(&self) -> usize {
        let samples: usize = self.tracks.iter().map(|track| track.samples.len()).sum();
        samples * size_of::<Sample>() + self.cuts.len() * size_of::<Cut>()
    }
}

/// The number and the time of the samples that segments begin with, and when the track ends. The first is the track's
/// first, whatever it is.
fn keyframes(track: &Track, segment: Duration) -> (Vec<(usize, u64)>, u64) {
    let least = segment.as_secs() * u64::from(track.timescale);
    let mut starts = Vec::new();
    let mut at = track.begin;
    let mut due = 0;
    for (number, sample) in track.samples.iter().enumerate() {
        if number == 0 || sample.is_sync && at >= due {
            starts.push((number, at));
            due = at.saturating_add(least);
        }
        at = at.saturating_add(u64::from(sample.duration));
    }
    if starts.is_empty() {
        starts.push((0, at));
    }
    (starts, at)
}

/// A way through a track.
struct Walk<'a> {
    track: &'a Track,
    number: usize,
    at: u64,
}

impl<'a> Walk<'a> {
    fn new(track: &'a Track) -> Self {
        Self {
            track,
            number: 0,
            at: track.begin,
        }
    }

    fn position(&self) -> (usize, u64) {
        (self.number, self.at)
    }

    /// To the first sample that is not decoded before a time on another clock.
    fn until(&mut self, time: u64, timescale: u32) -> (usize, u64) {
        let [own, other] = [self.track.timescale, timescale].map(u128::from);
        self.walk(|at| u128::from(at) * other < u128::from(time) * own);
        self.position()
    }

    fn finish(&mut self) -> (usize, u64) {
        self.walk(|_| true);
        self.position()
    }

    fn walk(&mut self, goes_on: impl Fn(u64) -> bool) {
        while let Some(sample) = self.track.samples.get(self.number)
            && goes_on(self.at)
        {
            self.number += 1;
            self.at = self.at.saturating_add(u64::from(sample.duration));
        }
    }
}

fn put_track(moof: &mut Boxes, track: &Track, (at, data_at): (u64, u32), samples: &[Sample]) {
    moof.put_box(b"traf", |traf| {
        traf.put_full_box(b"tfhd", 0, DEFAULT_BASE_IS_MOOF, |tfhd| {
            tfhd.put_u32(track.id);
        });
        traf.put_full_box(b"tfdt", 1, 0, |tfdt| tfdt.put_u64(at));
        // Version 1: composition offsets are signed.
        traf.put_full_box(b"trun", 1, COLUMNS, |trun| {
            trun.put_u32(samples.len() as u32);
            trun.put_u32(data_at);
            for sample in samples {
                trun.put_u32(sample.duration);
                trun.put_u32(sample.size);
                trun.put_u32(if sample.is_sync { SYNC } else { DEPENDENT });
                trun.put(&sample.composition.to_be_bytes());
            }
        });
    });
}
