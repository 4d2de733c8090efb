//! The samples of fragments, one by one: for what is sent otherwise than in fragments, also while a file grows.
//!
//! An [`Index`](super::Index) knows all of a file; an [`Unpacker`] knows its tracks alone, and is given one fragment after
//! another.

use std::sync::Arc;

use bytes::Bytes;
use media::{Sample, Span, Timestamp, Track};

use super::super::walk::{children, stbl};
use super::super::{Fragment, Init, Run};
use super::entry;

/// See the module's description.
#[derive(Debug)]
pub struct Unpacker {
    init: Init,
    sides: Vec<Side>,
    dimensions: Option<(u16, u16)>,
    leaves_out: bool,
}

/// A track whose samples can be sent.
#[derive(Debug)]
struct Side {
    id: u32,
    timescale: u32,
    track: Arc<Track>,
}

impl Unpacker {
    /// Of a file with these tracks: of each kind the first, if it is one that FLV can carry.
    pub fn new(init: &Init) -> Self {
        let mut sides: Vec<Side> = Vec::new();
        let mut dimensions = None;
        for track in init.tracks() {
            let Some(stsd) = description(&track.trak) else {
                continue;
            };
            if track.is_video && dimensions.is_none() {
                dimensions = entry::dimensions(stsd);
            }
            let Some(found) = entry::track(stsd, track.is_video) else {
                continue;
            };
            if sides.iter().all(|side| side.track.kind != found.kind) {
                sides.push(Side {
                    id: track.id,
                    timescale: track.timescale,
                    track: Arc::new(found),
                });
            }
        }
        Self {
            leaves_out: sides.len() < init.tracks().len(),
            init: init.clone(),
            sides,
            dimensions,
        }
    }

    /// The tracks whose samples it unpacks.
    pub fn tracks(&self) -> impl Iterator<Item = &Arc<Track>> {
        self.sides.iter().map(|side| &side.track)
    }

    /// Whether there are other tracks.
    pub fn leaves_out(&self) -> bool {
        self.leaves_out
    }

    /// Width and height of the pictures.
    pub fn dimensions(&self) -> Option<(u16, u16)> {
        self.dimensions
    }

    /// The samples of a fragment, in the order in which they are decoded; their times count from the file's beginning.
    /// `unit` is all of it. `None` if that makes no sense.
    pub fn samples(&self, unit: &Bytes) -> Option<Vec<Sample>> {
        let fragment = Fragment::of_unit(&self.init, unit, 0, unit.len() as u64)?;
        let mut samples = Vec::new();
        for side in &self.sides {
            for run in fragment.runs_of(side.id) {
                side.unpack(run, unit, &mut samples)?;
            }
        }
        samples.sort_by_key(|sample| sample.dts);
        Some(samples)
    }
}

impl Side {
    fn unpack(&self, run: &Run, unit: &Bytes, out: &mut Vec<Sample>) -> Option<()> {
        let (mut units, mut at) = (run.at, usize::try_from(run.data).ok()?);
        for row in &run.rows {
            let end = at.checked_add(usize::try_from(row.size).ok()?)?;
            // All of them were found to be within the unit.
            let data = (end <= unit.len()).then(|| unit.slice(at..end))?;
            let time = |units| Timestamp::ZERO + Span::from_samples(units, self.timescale);
            let duration = Span::from_samples(row.duration.into(), self.timescale);
            out.push(Sample {
                pts: time(units.saturating_add_signed(row.composition.into())),
                keyframe: row.is_sync,
                ..Sample::frame(self.track.id, time(units), duration, data)
            });
            (units, at) = (units.saturating_add(row.duration.into()), end);
        }
        Some(())
    }
}

/// The whole `stsd` of a track.
fn description(trak: &[u8]) -> Option<&[u8]> {
    let found = children(stbl(trak)?).find(|child| child.kind == *b"stsd")?;
    Some(found.whole)
}
