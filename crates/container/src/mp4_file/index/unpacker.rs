//! Unpacker of fragments into single samples, for output that is not sent in fragments, also while a file grows.
//!
//! An [`Index`](super::Index) knows all of a file; an [`Unpacker`] knows only its tracks, and is given one fragment
//! after another.

use std::sync::Arc;

use bytes::Bytes;
use media::{Sample, Span, Timestamp, Track};

use super::super::walk::{children, stbl};
use super::super::{Fragment, Init, Run};
use super::entry;

/// Unpacker of a file's fragments; call [`samples`](Self::samples) for each.
#[derive(Debug)]
pub struct Unpacker {
    init: Init,
    sides: Vec<Side>,
    dimensions: Option<(u16, u16)>,
    leaves_out: bool,
}

/// Track whose samples can be sent.
#[derive(Debug)]
struct Side {
    id: u32,
    timescale: u32,
    track: Arc<Track>,
}

impl Unpacker {
    /// Creates an unpacker for a file with these tracks: the first of each kind is used, if FLV can carry it.
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

    /// Returns the tracks whose samples are unpacked.
    pub fn tracks(&self) -> impl Iterator<Item = &Arc<Track>> {
        self.sides.iter().map(|side| &side.track)
    }

    /// Returns whether there are other tracks.
    pub fn leaves_out(&self) -> bool {
        self.leaves_out
    }

    /// Returns the width and height of the video.
    pub fn dimensions(&self) -> Option<(u16, u16)> {
        self.dimensions
    }

    /// Returns the samples of a fragment in decoding order; their times count from the file's beginning. `unit` is the
    /// whole fragment. `None` if it is invalid.
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
            // Parsing found all samples to be within the unit.
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

/// Returns the whole `stsd` of a track.
fn description(trak: &[u8]) -> Option<&[u8]> {
    let found = children(stbl(trak)?).find(|child| child.kind == *b"stsd")?;
    Some(found.whole)
}
