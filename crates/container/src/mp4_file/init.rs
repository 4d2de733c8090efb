//! `moov` at the start of a fragmented file: the description of its tracks.

use super::TRACKS_MAX;
use super::moof::Defaults;
use super::walk::{behind_times, children, find, stbl, timescale};

/// Tracks of a fragmented file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Init {
    tracks: Vec<InitTrack>,
    /// Offset of the placeholder, if there is one.
    pub(super) placeholder: Option<u64>,
}

/// Track of a fragmented file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InitTrack {
    /// Number of the track.
    pub id: u32,
    /// Units of the track's clock per second; never zero.
    pub timescale: u32,
    /// The track is video.
    pub is_video: bool,
    /// Defaults for samples where a fragment does not state them: duration, size and flags (`trex`).
    pub(super) defaults: Defaults,
    /// Content of the track's `trak`.
    pub(super) trak: Vec<u8>,
}

impl Init {
    /// Parses the content of a `moov`. `None` if it has no track, or an invalid one.
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

    /// Parses an initialization segment, `ftyp` and `moov`, as a packager writes it.
    pub fn of_segment(segment: &[u8]) -> Option<Self> {
        Self::parse(find(segment, b"moov")?, None)
    }

    /// Returns the tracks.
    pub fn tracks(&self) -> &[InitTrack] {
        &self.tracks
    }

    /// Returns whether there is a video track.
    pub fn has_video(&self) -> bool {
        self.tracks.iter().any(|track| track.is_video)
    }

    /// Returns the track with number `id`.
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
