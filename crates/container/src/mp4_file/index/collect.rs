//! The samples of a fragmented file, collected from its `moof` boxes.

use super::super::moof::{Defaults, Part, parts};
use super::moov::Track;
use super::tables::Sample;
use super::{Error, SAMPLES_MAX};

/// See the module's description.
#[derive(Debug)]
pub(super) struct Collected {
    tracks: Vec<Track>,
    /// Of each, what `trex` says, and when its next sample is decoded if its fragment does not say it.
    states: Vec<(Defaults, u64)>,
    left: usize,
    /// Bytes of the file.
    length: u64,
    /// There was a `moof`, and a whole `mdat` behind one.
    has_moof: bool,
    has_fragment: bool,
}

impl Collected {
    /// For tracks that have no samples yet, and begin as late as their edits say.
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

    /// A `moof` that begins there. What makes no sense ends what is collected of its track.
    pub(super) fn push(&mut self, begin: u64, moof: &[u8]) {
        self.has_moof = true;
        let mut data_end = begin;
        for traf in parts(moof) {
            // A fragment of the other track may still be whole.
            let _whole = self.track_fragment(begin, &mut data_end, traf);
        }
    }

    /// An `mdat` ends.
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
                // A gap belongs to the sample before it.
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
                // What takes no bytes of the file must not take memory without end.
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

    /// The tracks; none if there were more samples than are read.
    pub(super) fn finish(self) -> Result<Vec<Track>, Error> {
        match self.left {
            _ if !self.has_fragment => Err(Error::NoTrack),
            0 => Ok(Vec::new()),
            _ => Ok(self.tracks),
        }
    }
}
