//! `moof`: the samples of a fragment, in the runs of its tracks (ISO/IEC 14496-12 §8.8).

use super::Row;
use super::numbers::Numbers;
use super::walk::{children, find};
use crate::fmp4::parts::{COMPOSITION, DATA_OFFSET, DURATION, FLAGS, SIZE};

/// Flags of `tfhd` that mark its fields, in field order.
const HAS_POSITION: u32 = 0x01;
const HAS_DESCRIPTION: u32 = 0x02;
const HAS_DURATION: u32 = 0x08;
const HAS_SIZE: u32 = 0x10;
const HAS_FLAGS: u32 = 0x20;

/// Flag of `trun`: the first sample has flags of its own.
const FIRST_FLAGS: u32 = 0x004;

/// Flag in `sample_flags`: the sample depends on others.
const NO_SYNC: u32 = 0x0001_0000;

/// Default properties of a track's samples.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Defaults {
    duration: u32,
    size: u32,
    flags: u32,
}

impl Defaults {
    /// Reads a track's defaults from its `trex`; zero if there is none.
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

/// Returns the parts of a fragment's tracks: the contents of its `traf` boxes.
pub(super) fn parts(moof: &[u8]) -> impl Iterator<Item = &[u8]> {
    let parts = children(moof).filter(|child| &child.kind == b"traf");
    parts.map(|child| child.content)
}

/// One track's part of a fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    /// Number of the track.
    pub(super) id: u32,
    /// Base of the data offsets, if it is not the `moof`.
    pub(super) position: Option<u64>,
    /// Decoding time of the first sample, if stated.
    pub(super) at: Option<u64>,
    defaults: Defaults,
    traf: &'a [u8],
}

impl<'a> Part<'a> {
    /// Reads a track's part. `defaults` returns the defaults of a track, or `None` for a track that is not wanted.
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

    /// Returns the runs; `None` for an invalid one.
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

/// Run of consecutive samples of one track.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a> {
    /// Number of samples; not yet compared with the bytes present.
    pub(super) count: u32,
    /// Offset of the first sample's bytes, if stated.
    pub(super) data_offset: Option<i32>,
    /// Flags of the first sample, until it is read.
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

    /// Reads the next sample.
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

    /// Returns the total duration of the samples, and whether the first depends on no other.
    pub(super) fn sum(mut self) -> Option<(u64, bool)> {
        if self.columns & (DURATION | SIZE | FLAGS | COMPOSITION) == 0 {
            // The bytes do not bound the number of samples, so the samples are not iterated over.
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
        // A run without samples states with its flags what it would begin with.
        let flags = self.first_flags.unwrap_or(self.defaults.flags);
        Some((total, is_sync.unwrap_or(flags & NO_SYNC == 0)))
    }
}
