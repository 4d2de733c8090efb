//! The samples of a fragmented file, collected from its `moof` boxes (ISO/IEC 14496-12 §8.8).

use super::super::walk::{children, find};
use super::SAMPLES_MAX;
use super::fragments::{
    COMPOSITION, DATA_OFFSET, DURATION, FIRST_FLAGS, FLAGS, HAS_DESCRIPTION, HAS_DURATION,
    HAS_FLAGS, HAS_POSITION, HAS_SIZE, NO_SYNC, SIZE, decode_time,
};
use super::moov::Track;
use super::numbers::Numbers;
use super::tables::Sample;

/// What samples have that say nothing else.
#[derive(Clone, Copy, Debug, Default)]
struct Defaults {
    duration: u32,
    size: u32,
    flags: u32,
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Collected {
    tracks: Vec<Track>,
    /// Of each, what `trex` says, and when its next sample is decoded if its fragment does not say it.
    states: Vec<(Defaults, u64)>,
    left: usize,
    /// Bytes of the file.
    length: u64,
}

impl Collected {
    /// For tracks that have no samples yet, and begin as late as their edits say.
    pub(super) fn new(tracks: Vec<Track>, moov: &[u8], length: u64) -> Self {
        let states = tracks.iter();
        let states = states.map(|track| (defaults(moov, track.id).unwrap_or_default(), 0));
        Self {
            states: states.collect(),
            tracks,
            left: SAMPLES_MAX,
            length,
        }
    }

    /// A `moof` that begins there. What makes no sense ends what is collected of its track.
    pub(super) fn push(&mut self, begin: u64, moof: &[u8]) {
        let mut data_end = begin;
        for traf in children(moof).filter(|child| &child.kind == b"traf") {
            // A fragment of the other track may still be whole.
            let _whole = self.track_fragment(begin, &mut data_end, traf.content);
        }
    }

    fn track_fragment(&mut self, begin: u64, data_end: &mut u64, traf: &[u8]) -> Option<()> {
        let mut header = Numbers(find(traf, b"tfhd")?);
        let (_, has) = header.full()?;
        let id = header.u32()?;
        let place = self.tracks.iter().position(|track| track.id == id)?;
        let (track, state) = (self.tracks.get_mut(place)?, self.states.get_mut(place)?);
        let mut defaults = state.0;
        let base = match has & HAS_POSITION {
            0 => begin,
            _ => header.u64()?,
        };
        if has & HAS_DESCRIPTION != 0 {
            header.skip(4)?;
        }
        for (flag, value) in [
            (HAS_DURATION, &mut defaults.duration),
            (HAS_SIZE, &mut defaults.size),
            (HAS_FLAGS, &mut defaults.flags),
        ] {
            if has & flag != 0 {
                *value = header.u32()?;
            }
        }
        if let Some(at) = find(traf, b"tfdt").and_then(decode_time) {
            match track.samples.last_mut() {
                None => track.begin = track.begin.saturating_add(at),
                // A gap belongs to the sample before it.
                Some(last) => {
                    let gap = i128::from(at) - i128::from(state.1);
                    let duration = i128::from(last.duration) + gap;
                    last.duration = duration.clamp(0, i128::from(u32::MAX)) as u32;
                }
            }
            state.1 = at;
        }
        for trun in children(traf).filter(|child| &child.kind == b"trun") {
            let mut run = Numbers(trun.content);
            let (_, has) = run.full()?;
            let count = run.u32()? as usize;
            let mut offset = match has & DATA_OFFSET {
                0 => *data_end,
                _ => base.checked_add_signed(i64::from(run.u32()? as i32))?,
            };
            let mut first = match has & FIRST_FLAGS {
                0 => None,
                _ => Some(run.u32()?),
            };
            for _ in 0..count {
                let mut column = |flag: u32, default: u32| match has & flag {
                    0 => Some(default),
                    _ => run.u32(),
                };
                let duration = column(DURATION, defaults.duration)?;
                let size = column(SIZE, defaults.size)?;
                let flags = column(FLAGS, first.take().unwrap_or(defaults.flags))?;
                let composition = column(COMPOSITION, 0)? as i32;
                let end = offset.checked_add(u64::from(size));
                let end = end.filter(|end| *end <= self.length)?;
                // What takes no bytes of the file must not take memory without end.
                self.left = self.left.checked_sub(1)?;
                track.samples.push(Sample {
                    offset,
                    size,
                    duration,
                    composition,
                    is_sync: flags & NO_SYNC == 0,
                });
                state.1 = state.1.saturating_add(u64::from(duration));
                offset = end;
            }
            *data_end = offset;
        }
        Some(())
    }

    /// The tracks; none if there were more samples than are read.
    pub(super) fn finish(self) -> Vec<Track> {
        match self.left {
            0 => Vec::new(),
            _ => self.tracks,
        }
    }
}

/// What `trex` says of a track.
fn defaults(moov: &[u8], id: u32) -> Option<Defaults> {
    let mvex = find(moov, b"mvex")?;
    let mut all = children(mvex).filter(|child| &child.kind == b"trex");
    all.find_map(|trex| {
        let mut numbers = Numbers(trex.content);
        numbers.full()?;
        if numbers.u32()? != id {
            return None;
        }
        numbers.skip(4)?;
        Some(Defaults {
            duration: numbers.u32()?,
            size: numbers.u32()?,
            flags: numbers.u32()?,
        })
    })
}
