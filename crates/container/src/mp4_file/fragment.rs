//! Fragment of an MP4 file: a `moof` and the `mdat` after it.

use std::ops::Range;

use super::moof::{Part, parts};
use super::walk::Head;
use super::{FRAGMENT_SAMPLES_MAX, Init};

/// Fragment: its place in the file and its samples.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fragment {
    /// Byte range of `moof` and `mdat` in the file.
    pub range: Range<u64>,
    /// Samples, in runs that follow one another.
    pub runs: Vec<Run>,
}

/// Run of consecutive samples of one track, stored contiguously.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Run {
    /// Number of the track.
    pub track: u32,
    /// Decoding time of the first sample, on the track's clock.
    pub at: u64,
    /// Offset of the first sample's bytes in the file.
    pub data: u64,
    /// Samples of the run; never empty.
    pub rows: Vec<Row>,
}

/// Sample of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Row {
    /// Duration, on the track's clock.
    pub duration: u32,
    /// Size in bytes.
    pub size: u32,
    /// Presentation time minus decoding time, on the track's clock.
    pub composition: i32,
    /// The sample depends on no other.
    pub is_sync: bool,
}

impl Run {
    /// Returns the end of the last sample, on the track's clock.
    pub fn end(&self) -> u64 {
        let durations = self.rows.iter().map(|row| u64::from(row.duration));
        self.at.saturating_add(durations.sum())
    }

    /// Returns the offset in the file at which the run's bytes end.
    fn data_end(&self) -> u64 {
        let sizes = self.rows.iter().map(|row| u64::from(row.size));
        self.data.saturating_add(sizes.sum())
    }
}

impl Fragment {
    /// Parses a fragment; `moof` is the content of the header box and `mdat` the range of its media. `None` if the
    /// fragment is invalid, or if samples lie elsewhere.
    pub(super) fn parse(init: &Init, moof: &[u8], moof_at: u64, mdat: &Range<u64>) -> Option<Self> {
        let mut runs = Vec::new();
        let mut left = FRAGMENT_SAMPLES_MAX;
        for traf in parts(moof) {
            read_track(init, traf, moof_at, &mut left, &mut runs)?;
        }
        let is_inside = |run: &Run| run.data >= mdat.start && run.data_end() <= mdat.end;
        (!runs.is_empty() && runs.iter().all(is_inside)).then_some(Self {
            range: moof_at..mdat.end,
            runs,
        })
    }

    /// Parses a fragment as a lane stores it: `unit` is its bytes, or at least those up to its media, and `bytes` its
    /// total length. The fragment is read as if it stood at `at` in a file.
    pub fn of_unit(init: &Init, unit: &[u8], at: u64, bytes: u64) -> Option<Self> {
        let moof = Head::read_sized(unit, bytes).filter(|head| head.kind == *b"moof")?;
        let (header, rest) = unit.split_at_checked(usize::try_from(moof.bytes).ok()?)?;
        let mdat = Head::read_sized(rest, bytes - moof.bytes);
        let mdat = mdat.filter(|mdat| mdat.kind == *b"mdat")?;
        let media = at
            .checked_add(moof.bytes)?
            .checked_add(mdat.header_bytes as u64)?;
        let content = header.get(moof.header_bytes..)?;
        Self::parse(init, content, at, &(media..at.checked_add(bytes)?))
    }

    /// Returns the runs of a track.
    pub fn runs_of(&self, track: u32) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.track == track)
    }
}

/// Reads one `traf`.
fn read_track(
    init: &Init,
    traf: &[u8],
    moof_at: u64,
    left: &mut usize,
    runs: &mut Vec<Run>,
) -> Option<()> {
    let part = Part::read(traf, |id| Some(init.track(id)?.defaults))?;
    if part.position.is_some() {
        return None;
    }
    let (mut begins, mut data) = (part.at?, None);
    for run in part.runs() {
        let mut run = run?;
        let begins_data = match run.data_offset {
            Some(offset) => moof_at.checked_add_signed(offset.into())?,
            None => data?,
        };
        *left = left.checked_sub(usize::try_from(run.count).ok()?)?;
        if run.count == 0 {
            continue;
        }
        let rows = (0..run.count).map(|_| run.row());
        let run = Run {
            track: part.id,
            at: begins,
            data: begins_data,
            rows: rows.collect::<Option<_>>()?,
        };
        (begins, data) = (run.end(), Some(run.data_end()));
        runs.push(run);
    }
    Some(())
}
