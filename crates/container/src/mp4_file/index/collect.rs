//! Samples of a fragmented file, collected from its `moof` boxes.

use super::super::moof::{Defaults, Part, parts};
use super::moov::Track;
use super::tables::Sample;
use super::{Error, SAMPLES_MAX};

/// Collector of samples.
#[derive(Debug)]
pub(super) struct Collected {
    tracks: Vec<Track>,
    /// Defaults from each track's `trex`, and the decoding time of its next sample if its fragment does not state one.
    states: Vec<(Defaults, u64)>,
    left: usize,
    /// Bytes of the file.
    length: u64,
    /// There was a `moof`, and a whole `mdat` after one.
    has_moof: bool,
    has_fragment: bool,
}

impl Collected {
    /// Creates the collector for tracks that have no samples yet; each track's beginning is the delay from its edits.
    pub(super) fn new(tracks: Vec<Track>, moov: &[u8], length: u64) -> Self {
        let states = tracks.iter();
        let states = states.map(|track| (Defaults::of(moov, track.id), 0));
        Self {
            states: states.collect(),
            tracks,
            left: SAMPLES_MAX,
            length,
            has_moof: false,
            has_fragment: false,
        }
    }

    /// Takes a `moof` that begins at `begin`. A track's part is collected up to its first invalid sample.
    pub(super) fn push(&mut self, begin: u64, moof: &[u8]) {
        self.has_moof = true;
        let mut data_end = begin;
        for traf in parts(moof) {
            // The other track's part of the fragment may still be valid.
            let _whole = self.track_fragment(begin, &mut data_end, traf);
        }
    }

    /// Takes the end of an `mdat`.
    pub(super) fn end(&mut self) {
        self.has_fragment |= self.has_moof;
    }

    fn track_fragment(&mut self, begin: u64, data_end: &mut u64, traf: &[u8]) -> Option<()> {
        let place = |id| self.tracks.iter().position(|track| track.id == id);
        let part = Part::read(traf, |id| Some(self.states.get(place(id)?)?.0))?;
        let place = place(part.id)?;
        let (track, (_, next)) = (self.tracks.get_mut(place)?, self.states.get_mut(place)?);
        if let Some(at) = part.at {
            match track.samples.last_mut() {
                None => track.begin = track.begin.saturating_add(at),
                // A gap extends the sample before it.
                Some(last) => {
                    let gap = i128::from(at) - i128::from(*next);
                    let duration = i128::from(last.duration) + gap;
                    last.duration = duration.clamp(0, i128::from(u32::MAX)) as u32;
                }
            }
            *next = at;
        }
        let base = part.position.unwrap_or(begin);
        for run in part.runs() {
            let mut run = run?;
            let mut offset = match run.data_offset {
                None => *data_end,
                Some(offset) => base.checked_add_signed(offset.into())?,
            };
            for _ in 0..run.count {
                let row = run.row()?;
                let end = offset.checked_add(u64::from(row.size));
                let end = end.filter(|end| *end <= self.length)?;
                // Samples that take no bytes of the file must not take unlimited memory.
                self.left = self.left.checked_sub(1)?;
                track.samples.push(Sample {
                    offset,
                    size: row.size,
                    duration: row.duration,
                    composition: row.composition,
                    is_sync: row.is_sync,
                });
                *next = next.saturating_add(u64::from(row.duration));
                offset = end;
            }
            *data_end = offset;
        }
        Some(())
    }

    /// Returns the tracks; none if there were more samples than are read.
    pub(super) fn finish(self) -> Result<Vec<Track>, Error> {
        match self.left {
            _ if !self.has_fragment => Err(Error::NoTrack),
            0 => Ok(Vec::new()),
            _ => Ok(self.tracks),
        }
    }
}
