//! One fragment: `moof` and the `mdat` behind it.

use std::ops::Range;

use super::moof::{Part, parts};
use super::walk::Head;
use super::{FRAGMENT_SAMPLES_MAX, Init};

/// What a fragment has.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fragment {
    /// Where it is in the file: `moof` and `mdat`.
    pub range: Range<u64>,
    /// Its samples, in runs that follow one another.
    pub runs: Vec<Run>,
}

/// Samples of one track that lie side by side.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Run {
    /// The track's number.
    pub track: u32,
    /// When the first is decoded, on the track's clock.
    pub at: u64,
    /// Where its bytes are in the file.
    pub data: u64,
    /// The samples; never none.
    pub rows: Vec<Row>,
}

/// One sample.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Row {
    /// How long it lasts, on the track's clock.
    pub duration: u32,
    /// Bytes.
    pub size: u32,
    /// When it is presented, after it is decoded.
    pub composition: i32,
    /// It depends on no other.
    pub is_sync: bool,
}

impl Run {
    /// Where its last sample ends, on the track's clock.
    pub fn end(&self) -> u64 {
        let durations = self.rows.iter().map(|row| u64::from(row.duration));
        self.at.saturating_add(durations.sum())
    }

    /// Where its bytes end in the file.
    fn data_end(&self) -> u64 {
        let sizes = self.rows.iter().map(|row| u64::from(row.size));
        self.data.saturating_add(sizes.sum())
    }
}

impl Fragment {
    /// Reads a fragment of which `moof` is the content of the header box and `mdat` where its media is. `None` if it
    /// makes no sense, or if samples are elsewhere.
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

    /// A fragment as a lane has it: `unit` is its bytes, or those up to its media, of which there are `bytes` in all. It
    /// is read as if it stood at `at` in a file.
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

    /// The runs of a track.
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
