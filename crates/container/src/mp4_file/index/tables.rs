//! Tables of a track's samples, `stbl`, one row for each sample (ISO/IEC 14496-12 §8.6, §8.7).

use bytes::Buf;

use super::super::numbers::Numbers;
use super::super::walk::find;
use super::Error;

/// Sample in the tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// Offset in the file.
    pub(super) offset: u64,
    pub(super) size: u32,
    /// Time until the next sample is decoded, on the track's clock.
    pub(super) duration: u32,
    /// Presentation time minus decoding time, on the track's clock.
    pub(super) composition: i32,
    /// The sample depends on no other.
    pub(super) is_sync: bool,
}

/// Reads the body of `stbl`. At most `max` samples are allowed, all within a file of `length` bytes.
pub(super) fn read(stbl: &[u8], max: usize, length: u64) -> Result<Vec<Sample>, Error> {
    let Some(mut sizes) = Sizes::read(stbl) else {
        return Ok(Vec::new());
    };
    if sizes.count > max {
        return Err(Error::TooLarge);
    }
    let mut durations = Runs::read(stbl, b"stts");
    let mut compositions = Runs::read(stbl, b"ctts");
    let mut syncs = Syncs::read(stbl);
    let mut chunks = Chunks::read(stbl);
    // No more than the tables can describe, whatever they claim.
    let mut samples = Vec::with_capacity(sizes.count.min(stbl.len()));
    while samples.len() < sizes.count {
        let (mut offset, in_chunk) = chunks.next()?;
        let left = sizes.count - samples.len();
        for _ in 0..left.min(in_chunk as usize) {
            let size = sizes.next().ok_or(Error::Contradictory)?;
            let end = offset.checked_add(u64::from(size));
            let end = end.filter(|end| *end <= length);
            samples.push(Sample {
                offset,
                size,
                duration: durations.next().ok_or(Error::Contradictory)?,
                composition: compositions.next().unwrap_or(0) as i32,
                is_sync: syncs.next(samples.len() as u32 + 1),
            });
            offset = end.ok_or(Error::Contradictory)?;
        }
    }
    Ok(samples)
}

/// `stsz` or `stz2`.
struct Sizes<'a> {
    count: usize,
    /// Size of every sample, if all have the same.
    common: u32,
    /// Bits per row.
    bits: u8,
    rows: &'a [u8],
    at: usize,
}

impl<'a> Sizes<'a> {
    /// Reads the sizes; `None` if there are no samples.
    fn read(stbl: &'a [u8]) -> Option<Self> {
        let (table, is_compact) = match find(stbl, b"stsz") {
            Some(table) => (table, false),
            None => (find(stbl, b"stz2")?, true),
        };
        let mut numbers = Numbers(table);
        numbers.full()?;
        let first = numbers.u32()?;
        let count = numbers.u32()? as usize;
        let (common, bits) = match (is_compact, first) {
            (false, common) => (common, 32),
            (true, bits) => (0, bits as u8),
        };
        let rows = numbers.0;
        (count > 0).then_some(Self {
            // A table that is cut counts only the rows it has, so that memory is proportional to the bytes read.
            count: match (common, bits) {
                (0, 4 | 8 | 16 | 32) => count.min(rows.len() * 8 / usize::from(bits)),
                _ => count,
            },
            common,
            bits,
            rows,
            at: 0,
        })
    }

    fn next(&mut self) -> Option<u32> {
        let at = self.at;
        self.at += 1;
        if self.common > 0 {
            return Some(self.common);
        }
        let row = |bytes: usize| self.rows.get(at * bytes..(at + 1) * bytes);
        let size = match self.bits {
            32 => row(4)?.get_u32(),
            16 => row(2)?.get_u16().into(),
            8 => row(1)?.get_u8().into(),
            4 => {
                let pair = u32::from(*self.rows.get(at / 2)?);
                if at.is_multiple_of(2) {
                    pair >> 4
                } else {
                    pair & 15
                }
            }
            _ => return None,
        };
        Some(size)
    }
}

/// `stts` or `ctts`: run-length encoded values.
struct Runs<'a> {
    rows: Numbers<'a>,
    left: u32,
    value: u32,
}

impl<'a> Runs<'a> {
    fn read(stbl: &'a [u8], kind: &[u8; 4]) -> Self {
        Self {
            rows: Numbers(rows(stbl, kind)),
            left: 0,
            value: 0,
        }
    }

    fn next(&mut self) -> Option<u32> {
        while self.left == 0 {
            (self.left, self.value) = (self.rows.u32()?, self.rows.u32()?);
        }
        self.left -= 1;
        Some(self.value)
    }
}

/// `stss`: numbers of the samples that depend on no other; without the box, all samples.
struct Syncs<'a> {
    rows: Option<Numbers<'a>>,
    next: u32,
}

impl<'a> Syncs<'a> {
    fn read(stbl: &'a [u8]) -> Self {
        let is_there = find(stbl, b"stss").is_some();
        Self {
            rows: is_there.then(|| Numbers(rows(stbl, b"stss"))),
            next: 0,
        }
    }

    /// Returns whether sample `number` depends on no other; must be called for each sample in turn.
    fn next(&mut self, number: u32) -> bool {
        let Some(rows) = &mut self.rows else {
            return true;
        };
        while self.next < number {
            self.next = rows.u32().unwrap_or(u32::MAX);
        }
        self.next == number
    }
}

/// `stsc` with `stco` or `co64`: the offset of each chunk, and its number of samples.
struct Chunks<'a> {
    offsets: Numbers<'a>,
    is_long: bool,
    runs: Numbers<'a>,
    in_chunk: u32,
    number: u32,
    /// First chunk of the next run.
    next_run: Option<u32>,
}

impl<'a> Chunks<'a> {
    fn read(stbl: &'a [u8]) -> Self {
        let is_long = find(stbl, b"co64").is_some();
        let offsets = Numbers(rows(stbl, if is_long { b"co64" } else { b"stco" }));
        let mut runs = Numbers(rows(stbl, b"stsc"));
        Self {
            next_run: runs.u32(),
            offsets,
            is_long,
            runs,
            in_chunk: 0,
            number: 0,
        }
    }

    fn next(&mut self) -> Result<(u64, u32), Error> {
        self.number = self.number.checked_add(1).ok_or(Error::Contradictory)?;
        if self.next_run == Some(self.number) {
            let row = (self.runs.u32(), self.runs.u32());
            let (Some(in_chunk), Some(description)) = row else {
                return Err(Error::Contradictory);
            };
            if description != 1 {
                return Err(Error::Unsuitable);
            }
            self.in_chunk = in_chunk;
            self.next_run = self.runs.u32();
        }
        let offset = match self.is_long {
            true => self.offsets.u64(),
            false => self.offsets.u32().map(u64::from),
        };
        // Chunks are bounded by the bytes read, so that a table without samples in its chunks ends.
        let offset = offset.ok_or(Error::Contradictory)?;
        Ok((offset, self.in_chunk))
    }
}

/// Returns the rows of a table, after their count.
fn rows<'a>(stbl: &'a [u8], kind: &[u8; 4]) -> &'a [u8] {
    let table = find(stbl, kind).unwrap_or_default();
    table.get(8..).unwrap_or_default()
}
