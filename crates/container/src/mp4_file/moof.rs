//! `moof`: the samples of a fragment, in the runs of its tracks (ISO/IEC 14496-12 §8.8).

use super::Row;
use super::numbers::Numbers;
use super::walk::{children, find};

/// `tfhd`: which fields it has, in their order.
const HAS_POSITION: u32 = 0x01;
const HAS_DESCRIPTION: u32 = 0x02;
const HAS_DURATION: u32 = 0x08;
const HAS_SIZE: u32 = 0x10;
const HAS_FLAGS: u32 = 0x20;

/// `trun`: likewise, of all samples and of each.
const DATA_OFFSET: u32 = 0x001;
const FIRST_FLAGS: u32 = 0x004;
const DURATION: u32 = 0x100;
const SIZE: u32 = 0x200;
const FLAGS: u32 = 0x400;
const COMPOSITION: u32 = 0x800;

/// `sample_flags`: it depends on others.
const NO_SYNC: u32 = 0x0001_0000;

/// What samples have that say nothing else.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Defaults {
    duration: u32,
    size: u32,
    flags: u32,
}

impl Defaults {
    /// What `trex` says of a track; nothing if there is none.
    pub(super) fn of(moov: &[u8], id: u32) -> Self {
        let mvex = find(moov, b"mvex").unwrap_or_default();
        let mut all = children(mvex).filter(|child| &child.kind == b"trex");
        let found = all.find_map(|trex| {
            let mut numbers = Numbers(trex.content);
            numbers.full()?;
            if numbers.u32()? != id {
                return None;
            }
            numbers.skip(4)?;
            Some(Self {
                duration: numbers.u32()?,
                size: numbers.u32()?,
                flags: numbers.u32()?,
            })
        });
        found.unwrap_or_default()
    }
}

/// The parts of a fragment's tracks: the contents of its `traf` boxes.
pub(super) fn parts(moof: &[u8]) -> impl Iterator<Item = &[u8]> {
    let parts = children(moof).filter(|child| &child.kind == b"traf");
    parts.map(|child| child.content)
}

/// A track's part of a fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    /// The track.
    pub(super) id: u32,
    /// Where its data offsets count from, if not from the `moof`.
    pub(super) position: Option<u64>,
    /// When its first sample is decoded, if that is said.
    pub(super) at: Option<u64>,
    defaults: Defaults,
    traf: &'a [u8],
}

impl<'a> Part<'a> {
    /// Reads one. `defaults` are those of a track; `None` for one that is not asked for.
    pub(super) fn read(
        traf: &'a [u8],
        defaults: impl FnOnce(u32) -> Option<Defaults>,
    ) -> Option<Self> {
        let mut header = Numbers(find(traf, b"tfhd")?);
        let (_, has) = header.full()?;
        let id = header.u32()?;
        let mut defaults = defaults(id)?;
        let position = match has & HAS_POSITION {
            0 => None,
            _ => Some(header.u64()?),
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
        Some(Self {
            id,
            position,
            at: find(traf, b"tfdt").and_then(decode_time),
            defaults,
            traf,
        })
    }

    /// Its runs; `None` for one that makes no sense.
    pub(super) fn runs(self) -> impl Iterator<Item = Option<Run<'a>>> {
        let runs = children(self.traf).filter(|child| &child.kind == b"trun");
        runs.map(move |trun| Run::read(trun.content, self.defaults))
    }
}

fn decode_time(tfdt: &[u8]) -> Option<u64> {
    let mut numbers = Numbers(tfdt);
    let (version, _) = numbers.full()?;
    numbers.by_version(version)
}

/// Samples of a track that lie side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a> {
    /// How many; not yet compared with the bytes that there are.
    pub(super) count: u32,
    /// Where their bytes begin, if that is said.
    pub(super) data_offset: Option<i32>,
    /// The flags of the first, until it is read.
    first_flags: Option<u32>,
    columns: u32,
    defaults: Defaults,
    rows: Numbers<'a>,
}

impl<'a> Run<'a> {
    fn read(trun: &'a [u8], defaults: Defaults) -> Option<Self> {
        let mut numbers = Numbers(trun);
        let (_, has) = numbers.full()?;
        let count = numbers.u32()?;
        let mut field = |flag: u32| match has & flag {
            0 => Some(None),
            _ => numbers.u32().map(Some),
        };
        let data_offset = field(DATA_OFFSET)?.map(|offset| offset as i32);
        let first_flags = field(FIRST_FLAGS)?;
        Some(Self {
            count,
            data_offset,
            first_flags,
            columns: has,
            defaults,
            rows: numbers,
        })
    }

    /// The next sample.
    pub(super) fn row(&mut self) -> Option<Row> {
        let mut column = |flag: u32, default: u32| match self.columns & flag {
            0 => Some(default),
            _ => self.rows.u32(),
        };
        let duration = column(DURATION, self.defaults.duration)?;
        let size = column(SIZE, self.defaults.size)?;
        let flags = self.first_flags.take().unwrap_or(self.defaults.flags);
        let flags = column(FLAGS, flags)?;
        let composition = column(COMPOSITION, 0)? as i32;
        Some(Row {
            duration,
            size,
            composition,
            is_sync: flags & NO_SYNC == 0,
        })
    }

    /// How long all of them last, and whether the first depends on no other.
    pub(super) fn sum(mut self) -> Option<(u64, bool)> {
        if self.columns & (DURATION | SIZE | FLAGS | COMPOSITION) == 0 {
            // The bytes say nothing of how many they are, so they are not gone through.
            let total = u64::from(self.count) * u64::from(self.defaults.duration);
            return Some((total, self.row()?.is_sync));
        }
        let mut total = 0;
        let mut is_sync = None;
        for _ in 0..self.count {
            let row = self.row()?;
            is_sync.get_or_insert(row.is_sync);
            total += u64::from(row.duration);
        }
        // One without samples says with its flags what it would begin with.
        let flags = self.first_flags.unwrap_or(self.defaults.flags);
        Some((total, is_sync.unwrap_or(flags & NO_SYNC == 0)))
    }
}
