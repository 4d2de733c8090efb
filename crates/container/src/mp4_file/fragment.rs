//! One fragment: `moof` and the `mdat` behind it.

use std::ops::Range;

use super::walk::{Child, Head, children, find, u32_at, u64_at};
use super::{FRAGMENT_SAMPLES_MAX, Init};

/// `sample_flags`: decoders cannot start at it.
const NON_SYNC: u32 = 0x1_0000;

/// `tf_flags`: which fields follow, and that positions count from the `moof`.
const BASE_OFFSET: u32 = 0x01;
const DESCRIPTION: u32 = 0x02;
const DEFAULTS: [u32; 3] = [0x08, 0x10, 0x20];

/// `tr_flags`: which fields and columns there are.
const DATA_OFFSET: u32 = 0x001;
const FIRST_FLAGS: u32 = 0x004;
const COLUMNS: [u32; 4] = [0x100, 0x200, 0x400, 0x800];

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
        for traf in children(moof).filter(|child| child.kind == *b"traf") {
            read_track(init, traf.content, moof_at, &mut left, &mut runs)?;
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

    /// Whether a player can start at it: the first sample of its pictures, or without any of its sound, depends on no
    /// other.
    pub fn begins_with_sync(&self, init: &Init) -> bool {
        let is_video = |run: &&Run| init.track(run.track).is_some_and(|track| track.is_video);
        let first = self
            .runs
            .iter()
            .find(is_video)
            .or_else(|| self.runs.first());
        let row = first.and_then(|run| run.rows.first());
        row.is_some_and(|row| row.is_sync)
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
    let tfhd = find(traf, b"tfhd")?;
    let flags = u32_at(tfhd, 0)?;
    let track = init.track(u32_at(tfhd, 4)?)?;
    if flags & BASE_OFFSET != 0 {
        return None;
    }
    let mut at = if flags & DESCRIPTION != 0 { 12 } else { 8 };
    let mut defaults = track.defaults;
    for (flag, value) in DEFAULTS.into_iter().zip(&mut defaults) {
        if flags & flag != 0 {
            *value = u32_at(tfhd, at)?;
            at += 4;
        }
    }
    let mut begins = base_time(traf)?;
    let mut data = None;
    for trun in children(traf).filter(|child| child.kind == *b"trun") {
        let table = Table::parse(trun, defaults)?;
        let begins_data = match (table.data_offset, data) {
            (Some(offset), _) => moof_at.checked_add_signed(offset.into())?,
            (None, Some(data)) => data,
            (None, None) => return None,
        };
        *left = left.checked_sub(table.count)?;
        if table.count == 0 {
            continue;
        }
        let run = Run {
            track: track.id,
            at: begins,
            data: begins_data,
            rows: table.rows()?,
        };
        (begins, data) = (run.end(), Some(run.data_end()));
        runs.push(run);
    }
    Some(())
}

/// The time in `tfdt`.
fn base_time(traf: &[u8]) -> Option<u64> {
    let tfdt = find(traf, b"tfdt")?;
    match tfdt.first()? {
        1 => u64_at(tfdt, 4),
        _ => u32_at(tfdt, 4).map(u64::from),
    }
}

/// A `trun`.
struct Table<'a> {
    count: usize,
    data_offset: Option<i32>,
    first_flags: Option<u32>,
    columns: u32,
    /// Composition offsets are signed.
    is_signed: bool,
    defaults: [u32; 3],
    rows: &'a [u8],
}

impl<'a> Table<'a> {
    fn parse(trun: Child<'a>, defaults: [u32; 3]) -> Option<Self> {
        let data = trun.content;
        let flags = u32_at(data, 0)?;
        let count = u32_at(data, 4)?;
        let mut at = 8;
        let mut field = |flag: u32| {
            if flags & flag == 0 {
                return Some(None);
            }
            let value = u32_at(data, at)?;
            at += 4;
            Some(Some(value))
        };
        let data_offset = field(DATA_OFFSET)?;
        let first_flags = field(FIRST_FLAGS)?;
        Some(Self {
            count: usize::try_from(count).ok()?,
            data_offset: data_offset.map(|offset| offset as i32),
            first_flags,
            columns: flags,
            is_signed: flags >> 24 == 1,
            defaults,
            rows: data.get(at..)?,
        })
    }

    fn rows(&self) -> Option<Vec<Row>> {
        let columns = COLUMNS.map(|flag| self.columns & flag != 0);
        let row_bytes = 4 * columns.iter().filter(|is_there| **is_there).count();
        // Before anything is allocated for them.
        self.rows.get(..row_bytes.checked_mul(self.count)?)?;
        let mut at = 0;
        let mut rows = Vec::with_capacity(self.count);
        for index in 0..self.count {
            let mut column = |is_there: bool, default: u32| {
                if !is_there {
                    return Some(default);
                }
                let value = u32_at(self.rows, at)?;
                at += 4;
                Some(value)
            };
            let [duration, size, flags] = self.defaults;
            let flags = match self.first_flags {
                Some(first) if index == 0 => first,
                _ => flags,
            };
            let duration = column(columns[0], duration)?;
            let size = column(columns[1], size)?;
            let flags = column(columns[2], flags)?;
            let composition = column(columns[3], 0)?;
            rows.push(Row {
                duration,
                size,
                composition: match self.is_signed {
                    true => composition as i32,
                    false => i32::try_from(composition).unwrap_or(i32::MAX),
                },
                is_sync: flags & NON_SYNC == 0,
            });
        }
        Some(rows)
    }
}
