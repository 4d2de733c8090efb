//! Changes from a lane's bytes to a file's: the beginning gets its placeholder, and the times of fragments begin at
//! zero.

use std::time::Duration;

use super::walk::{Head, children, find, u32_at, u64_at};
use super::{Fragment, Init, PLACEHOLDER_BYTES};
use crate::fmp4::boxes::Boxes;
use crate::fmp4::parts;

/// Brands of fragmented files and of finalised ones; the last is for files with audio alone.
const BRANDS: [&[u8; 4]; 5] = [b"isom", b"iso5", b"iso6", b"mp41", b"M4A "];

/// Upper bound on the offset at which the placeholder of a file written here ends.
pub const PLACEHOLDER_END_MAX: usize = 64;

/// Clock rate of durations, in Hz.
const NANOSECONDS: u32 = 1_000_000_000;

/// Time of the stream that is mapped to the beginning of the file, or to a later time in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Base {
    at: u64,
    timescale: u32,
    /// Time in the file to which `at` is mapped.
    begins: Duration,
}

impl Base {
    /// Returns the earliest time in the first fragment of a file.
    pub fn of(first: &Fragment, init: &Init) -> Option<Self> {
        let times = first.runs.iter().filter_map(|run| {
            let timescale = init.track(run.track)?.timescale;
            Some(Self {
                at: run.at,
                timescale,
                begins: Duration::ZERO,
            })
        });
        let earlier = |a: &Self, b: &Self| {
            let cross = |x: &Self, y: &Self| u128::from(x.at) * u128::from(y.timescale);
            cross(a, b).cmp(&cross(b, a))
        };
        times.min_by(earlier)
    }

    /// Creates a base at a time of the stream, which becomes `begins` in the file instead of zero.
    pub fn at(time: Duration, begins: Duration) -> Self {
        Self {
            at: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            timescale: NANOSECONDS,
            begins,
        }
    }

    /// Maps a time of the stream to a time in the file, both on a clock of rate `timescale`.
    fn apply(self, time: u64, timescale: u32) -> u64 {
        let begins = self.begins.as_nanos() * u128::from(timescale) / u128::from(NANOSECONDS);
        let begins = u64::try_from(begins).unwrap_or(u64::MAX);
        time.saturating_add(begins)
            .saturating_sub(self.units(timescale))
    }

    /// Returns the base on another clock, rounded down.
    pub fn units(self, timescale: u32) -> u64 {
        let units = u128::from(self.at) * u128::from(timescale) / u128::from(self.timescale.max(1));
        u64::try_from(units).unwrap_or(u64::MAX)
    }
}

/// Returns the beginning of a file: an initialization segment with the placeholder in it. `None` if `segment` is invalid.
pub fn opening(segment: &[u8]) -> Option<Vec<u8>> {
    let init = Init::of_segment(segment)?;
    let moov = find(segment, b"moov")?;
    let mut boxes = Boxes::default();
    put_brands(&mut boxes, &init);
    boxes.put_box(b"free", |free| free.put_zeros(PLACEHOLDER_BYTES - 8));
    boxes.put_box(b"moov", |content| content.put(moov));
    Some(boxes.into_bytes())
}

/// Writes an initialization segment with this `moov`, which `init` describes.
pub(super) fn segment(init: &Init, moov: &[u8]) -> Vec<u8> {
    let mut boxes = Boxes::default();
    put_brands(&mut boxes, init);
    boxes.put(moov);
    boxes.into_bytes()
}

fn put_brands(boxes: &mut Boxes, init: &Init) {
    match init.has_video() {
        true => parts::put_brands(boxes, &BRANDS[..4]),
        false => parts::put_brands(boxes, &BRANDS),
    }
}

/// Returns whether `beginning`, the first [`PLACEHOLDER_END_MAX`] bytes of a file written here, is that of a plain
/// file. All bytes that finalisation changes are among them.
pub fn is_finalised(beginning: &[u8]) -> bool {
    let placeholder = Head::read_sized(beginning, u64::MAX).and_then(|ftyp| {
        let rest = beginning.get(usize::try_from(ftyp.bytes).ok()?..)?;
        Head::read_sized(rest, u64::MAX)
    });
    placeholder.is_some_and(|head| head.kind == *b"mdat")
}

/// Gives a fragment its number in the file, and times that count from `base`. `moof` is its header box. Returns false
/// and leaves the bytes unchanged if `moof` is not such a box.
pub fn rebase(moof: &mut [u8], number: u32, base: Base, init: &Init) -> bool {
    let Some(changes) = changes(moof, number, base, init) else {
        return false;
    };
    for change in changes {
        let value = change.value();
        if let Some(field) = moof.get_mut(change.at..change.at + value.len()) {
            field.copy_from_slice(value);
        }
    }
    true
}

/// Change of a field in a fragment's header, of four or eight bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Change {
    /// Offset of the field in the header.
    pub at: usize,
    bytes: usize,
    value: [u8; 8],
}

impl Change {
    fn to(at: usize, bytes: usize, value: u64) -> Self {
        Self {
            at,
            bytes,
            value: value.to_be_bytes(),
        }
    }

    /// Returns the new bytes of the field.
    pub fn value(&self) -> &[u8] {
        &self.value[self.value.len() - self.bytes..]
    }
}

/// Returns the changes that [`rebase`] makes to a header. `None` if `moof` is not a `moof` box.
pub fn changes(moof: &[u8], number: u32, base: Base, init: &Init) -> Option<Vec<Change>> {
    let outer = children(moof).next().filter(|it| it.kind == *b"moof")?;
    let mut changes = Vec::new();
    for child in children(outer.content) {
        let at = outer.at + child.at;
        match &child.kind {
            b"mfhd" => {
                u32_at(child.content, 4)?;
                changes.push(Change::to(at + 4, 4, number.into()));
            }
            b"traf" => {
                let track = init.track(u32_at(find(child.content, b"tfhd")?, 4)?)?;
                let mut inner = children(child.content);
                let tfdt = inner.find(|inner| inner.kind == *b"tfdt")?;
                let (bytes, value) = match tfdt.content.first()? {
                    1 => (8, u64_at(tfdt.content, 4)?),
                    _ => (4, u64::from(u32_at(tfdt.content, 4)?)),
                };
                let value = base.apply(value, track.timescale);
                changes.push(Change::to(at + tfdt.at + 4, bytes, value));
            }
            _ => {}
        }
    }
    Some(changes)
}
