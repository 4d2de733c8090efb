//! `moov`: the tracks of a file, with their samples in tables or in fragments.

use super::super::numbers::Numbers;
use super::super::walk::{behind_times, children, find, stbl, timescale};
use super::tables::{self, Sample};
use super::{Error, SAMPLES_MAX};

/// Parsed `moov`.
#[derive(Debug)]
pub(super) struct Movie {
    /// Heads of the tracks that are sent, video first.
    pub(super) heads: Vec<TrackHead>,
    pub(super) tracks: Vec<Track>,
    /// The samples are in `moov`. Otherwise they are in the fragments that follow.
    pub(super) has_samples: bool,
}

/// Description of a track, in the file's own boxes.
#[derive(Clone, Debug, Default)]
pub(super) struct TrackHead {
    pub(super) id: u32,
    pub(super) is_picture: bool,
    pub(super) timescale: u32,
    /// `tkhd`, `mdhd`, `hdlr`, the media header (`vmhd` or `smhd`) and `stsd`, whole.
    pub(super) boxes: [Vec<u8>; 5],
}

impl TrackHead {
    /// Returns the `stsd`, which describes the track's codec.
    pub(super) fn stsd(&self) -> &[u8] {
        let [.., stsd] = &self.boxes;
        stsd
    }
}

/// Samples of a track.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) id: u32,
    pub(super) timescale: u32,
    /// Decoding time of the first sample, on the track's clock.
    pub(super) begin: u64,
    /// Part of an audio track that is played.
    pub(super) heard: Option<Heard>,
    pub(super) samples: Vec<Sample>,
}

/// Part of a track that its edit shows, on the track's clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Heard {
    pub(super) from: u64,
    /// Duration; zero means everything that follows.
    pub(super) duration: u64,
    /// Precision of the duration: a unit of the movie's clock.
    pub(super) within: u64,
}

/// First edit of a track that shows something.
#[derive(Clone, Copy, Debug, Default)]
struct Edit {
    /// Duration of the empty edit before it, and its own duration, on the movie's clock.
    empty: u64,
    duration: u64,
    /// Start of the edit in the track, on the track's own clock.
    from: u64,
}

impl Movie {
    /// Parses the body of a `moov` in a file of `length` bytes.
    pub(super) fn read(body: &[u8], length: u64) -> Result<Self, Error> {
        let scale = find(body, b"mvhd").and_then(timescale);
        let scale = scale.ok_or(Error::Malformed)?;
        let is_fragmented = find(body, b"mvex").is_some();
        let mut kinds = [None, None];
        let mut left = SAMPLES_MAX;
        for trak in children(body).filter(|child| &child.kind == b"trak") {
            let Some(head) = head(trak.content) else {
                continue;
            };
            let slot = &mut kinds[usize::from(!head.is_picture)];
            if slot.is_some() {
                continue;
            }
            let samples = tables::read(stbl(trak.content).unwrap_or_default(), left, length)?;
            left -= samples.len();
            let edit = edit(trak.content);
            let on_track = |units| scaled(units, scale, head.timescale);
            let heard = Heard {
                from: edit.from,
                duration: on_track(edit.duration),
                within: on_track(1) + 1,
            };
            let track = Track {
                id: head.id,
                timescale: head.timescale,
                begin: on_track(edit.empty),
                heard: (!head.is_picture).then_some(heard),
                samples,
            };
            *slot = Some((head, track, edit.from));
        }
        align(&mut kinds);
        let kinds = kinds.into_iter().flatten();
        let (heads, tracks): (Vec<_>, Vec<_>) = kinds.map(|(head, track, _)| (head, track)).unzip();
        let has_samples = tracks.iter().any(|track| !track.samples.is_empty());
        if heads.is_empty() || !has_samples && !is_fragmented {
            return Err(Error::NoTrack);
        }
        Ok(Self {
            heads,
            tracks,
            has_samples,
        })
    }
}

/// Delays tracks so that their edits are shown at the same time. No track begins earlier than it would without edits,
/// so that no time is negative.
fn align(tracks: &mut [Option<(TrackHead, Track, u64)>; 2]) {
    let leads = tracks.iter().flatten();
    let leads: Vec<_> = leads
        .map(|(_, track, lead)| (*lead, track.timescale))
        .collect();
    for (_, track, lead) in tracks.iter_mut().flatten() {
        let others = leads.iter();
        let longest = others.map(|(lead, scale)| scaled(*lead, *scale, track.timescale));
        let wait = longest.max().unwrap_or(0).saturating_sub(*lead);
        track.begin = track.begin.saturating_add(wait);
    }
}

/// Converts a time from one clock to another.
pub(super) fn scaled(units: u64, from: u32, to: u32) -> u64 {
    let scaled = u128::from(units) * u128::from(to) / u128::from(from.max(1));
    u64::try_from(scaled).unwrap_or(0)
}

/// Reads the head of a track; `None` if it is neither video nor audio.
fn head(trak: &[u8]) -> Option<TrackHead> {
    let whole = |bytes, kind: &[u8; 4]| {
        let found = children(bytes).find(|child| &child.kind == kind)?;
        Some(found.whole.to_vec())
    };
    let mdia = find(trak, b"mdia")?;
    let minf = find(mdia, b"minf")?;
    let mut handler = Numbers(find(mdia, b"hdlr")?);
    handler.skip(8)?;
    let (is_picture, media_header) = match &handler.array()? {
        b"vide" => (true, b"vmhd"),
        b"soun" => (false, b"smhd"),
        _ => return None,
    };
    Some(TrackHead {
        id: behind_times(find(trak, b"tkhd")?)?,
        is_picture,
        timescale: timescale(find(mdia, b"mdhd")?)?,
        boxes: [
            whole(trak, b"tkhd")?,
            whole(mdia, b"mdhd")?,
            whole(mdia, b"hdlr")?,
            whole(minf, media_header)?,
            whole(stbl(trak)?, b"stsd")?,
        ],
    })
}

/// Returns the first edit that shows something; all of the track, if it has no edits.
fn edit(trak: &[u8]) -> Edit {
    let mut empty = 0_u64;
    let list = find(trak, b"edts").and_then(|edts| find(edts, b"elst"));
    let mut numbers = Numbers(list.unwrap_or_default());
    let Some((version, _)) = numbers.full() else {
        return Edit::default();
    };
    for _ in 0..numbers.u32().unwrap_or(0) {
        let duration = numbers.by_version(version);
        let from = match version {
            0 => numbers.u32().map(|from| i64::from(from as i32)),
            _ => numbers.u64().map(|from| from as i64),
        };
        let (Some(duration), Some(from), Some(())) = (duration, from, numbers.skip(4)) else {
            break;
        };
        if let Ok(from) = u64::try_from(from) {
            return Edit {
                empty,
                duration,
                from,
            };
        }
        empty = empty.saturating_add(duration);
    }
    Edit {
        empty,
        ..Edit::default()
    }
}
