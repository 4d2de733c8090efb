//! What a lane's bytes become in a file: the beginning with its placeholder, and fragments whose times begin at zero.

use super::walk::{children, find, u32_at, u64_at};
use super::{Fragment, Init, PLACEHOLDER_BYTES};
use crate::fmp4::boxes::Boxes;

/// Fragments with 64-bit times and signed composition offsets, and what becomes of them.
const BRANDS: [&[u8; 4]; 4] = [b"isom", b"iso5", b"iso6", b"mp41"];

/// For files with sound alone.
const SOUND_BRAND: &[u8; 4] = b"M4A ";

/// The time of the stream that is zero in the file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Base {
    at: u64,
    timescale: u32,
}

impl Base {
    /// The earliest time in the first fragment of a file.
    pub fn of(first: &Fragment, init: &Init) -> Option<Self> {
        let times = first.runs.iter().filter_map(|run| {
            let timescale = init.track(run.track)?.timescale;
            Some(Self {
                at: run.at,
                timescale,
            })
        });
        let earlier = |a: &Self, b: &Self| {
            let cross = |x: &Self, y: &Self| u128::from(x.at) * u128::from(y.timescale);
            cross(a, b).cmp(&cross(b, a))
        };
        times.min_by(earlier)
    }

    /// The same on another clock, rounded down.
    pub fn units(self, timescale: u32) -> u64 {
        let units = u128::from(self.at) * u128::from(timescale) / u128::from(self.timescale.max(1));
        u64::try_from(units).unwrap_or(u64::MAX)
    }
}

/// The beginning of a file: an initialization segment with the placeholder in it. `None` if it is none.
pub fn opening(segment: &[u8]) -> Option<Vec<u8>> {
    let init = Init::of_segment(segment)?;
    let moov = find(segment, b"moov")?;
    let mut boxes = Boxes::default();
    boxes.put_box(b"ftyp", |ftyp| {
        ftyp.put(b"iso6");
        ftyp.put_u32(0);
        BRANDS.iter().for_each(|brand| ftyp.put(*brand));
        if !init.has_video() {
            ftyp.put(SOUND_BRAND);
        }
    });
    boxes.put_box(b"free", |free| free.put_zeros(PLACEHOLDER_BYTES - 8));
    boxes.put_box(b"moov", |content| content.put(moov));
    Some(boxes.into_bytes())
}

/// Gives a fragment the number that it has in its file, and times that count from `base`. `moof` is its header box.
/// False if that is none; nothing can be said of its bytes then.
pub fn rebase(moof: &mut [u8], number: u32, base: Base, init: &Init) -> bool {
    let changes = changes(moof, number, base, init);
    let Some(changes) = changes else {
        return false;
    };
    for Change { at, bytes, value } in changes {
        let value = value.to_be_bytes();
        if let Some(field) = moof.get_mut(at..at + bytes) {
            field.copy_from_slice(&value[value.len() - bytes..]);
        }
    }
    true
}

/// A field of so many bytes at most eight.
struct Change {
    at: usize,
    bytes: usize,
    value: u64,
}

fn changes(moof: &[u8], number: u32, base: Base, init: &Init) -> Option<Vec<Change>> {
    let outer = children(moof).next().filter(|it| it.kind == *b"moof")?;
    let mut changes = Vec::new();
    for child in children(outer.content) {
        let at = outer.at + child.at;
        match &child.kind {
            b"mfhd" => {
                u32_at(child.content, 4)?;
                changes.push(Change {
                    at: at + 4,
                    bytes: 4,
                    value: number.into(),
                });
            }
            b"traf" => {
                let track = init.track(u32_at(find(child.content, b"tfhd")?, 4)?)?;
                let mut inner = children(child.content);
                let tfdt = inner.find(|inner| inner.kind == *b"tfdt")?;
                let (bytes, value) = match tfdt.content.first()? {
                    1 => (8, u64_at(tfdt.content, 4)?),
                    _ => (4, u64::from(u32_at(tfdt.content, 4)?)),
                };
                changes.push(Change {
                    at: at + tfdt.at + 4,
                    bytes,
                    value: value.saturating_sub(base.units(track.timescale)),
                });
            }
            _ => {}
        }
    }
    Some(changes)
}
