//! The `moov` that stands before the fragments: what the tracks are.

use super::TRACKS_MAX;
use super::moof::Defaults;
use super::walk::{behind_times, children, find, stbl, timescale};

/// The tracks of a file of fragments.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Init {
    tracks: Vec<InitTrack>,
    /// Where the placeholder is, if there is one.
    pub(super) placeholder: Option<u64>,
}

/// One of them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InitTrack {
    /// Its number.
    pub id: u32,
    /// Units of its clock in one second; never zero.
    pub timescale: u32,
    /// It has pictures.
    pub is_video: bool,
    /// What its samples are where a fragment does not say it: duration, size and flags (`trex`).
    pub(super) defaults: Defaults,
    /// The content of its `trak`.
    pub(super) trak: Vec<u8>,
}

impl Init {
    /// Reads the content of a `moov`. `None` if it has no track, or one that cannot be understood.
    pub(super) fn parse(moov: &[u8], placeholder: Option<u64>) -> Option<Self> {
        let mut tracks = Vec::new();
        for trak in children(moov).filter(|child| child.kind == *b"trak") {
            if tracks.len() >= TRACKS_MAX {
                return None;
            }
            tracks.push(InitTrack::parse(trak.content, moov)?);
        }
        (!tracks.is_empty()).then_some(Self {
            tracks,
            placeholder,
        })
    }

    /// Reads an initialization segment, `ftyp` and `moov`, as a packager makes it.
    pub fn of_segment(segment: &[u8]) -> Option<Self> {
        Self::parse(find(segment, b"moov")?, None)
    }

    /// Its tracks.
    pub fn tracks(&self) -> &[InitTrack] {
        &self.tracks
    }

    /// Whether there are pictures.
    pub fn has_video(&self) -> bool {
        self.tracks.iter().any(|track| track.is_video)
    }

    /// The track of a number.
    pub fn track(&self, id: u32) -> Option<&InitTrack> {
        self.tracks.iter().find(|track| track.id == id)
    }
}

impl InitTrack {
    fn parse(trak: &[u8], moov: &[u8]) -> Option<Self> {
        let id = behind_times(find(trak, b"tkhd")?)?;
        let mdia = find(trak, b"mdia")?;
        let handler = find(mdia, b"hdlr")?.get(8..12)?;
        find(stbl(trak)?, b"stsd")?;
        Some(Self {
            id,
            timescale: timescale(find(mdia, b"mdhd")?)?,
            is_video: handler == b"vide",
            defaults: Defaults::of(moov, id),
            trak: trak.to_vec(),
        })
    }
}
