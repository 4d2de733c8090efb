//! Sample tables of fragmented MP4 (ISO/IEC 14496-12): enough to compare parts with their playlist.

/// Sample flag that marks a sample at which a decoder cannot begin.
const IS_NO_SYNC_SAMPLE: u32 = 0x0001_0000;

/// A track of an initialization section.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Track {
    pub(super) id: u32,
    /// Ticks per second.
    pub(super) timescale: u32,
    pub(super) is_picture: bool,
    default_duration: u32,
    default_flags: u32,
}

/// The samples of one track in a part, in ticks of the track.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Run {
    pub(super) track: Track,
    /// Decode time of the first sample.
    pub(super) begin: u64,
    pub(super) duration: u64,
    /// Duration of the last sample.
    pub(super) last: u64,
    /// Whether a decoder can begin with one of the samples.
    pub(super) has_sync: bool,
}

impl Run {
    pub(super) fn end(&self) -> u64 {
        self.begin + self.duration
    }
}

/// Returns the tracks of an initialization section.
pub(super) fn tracks(init: &[u8]) -> Vec<Track> {
    let moov = child(init, b"moov").unwrap_or_default();
    let defaults: Vec<Track> = child(moov, b"mvex")
        .map(|mvex| boxes(mvex).filter(|(name, _)| *name == b"trex"))
        .into_iter()
        .flatten()
        .filter_map(|(_, trex)| {
            Some(Track {
                id: word(trex, 4)?,
                default_duration: word(trex, 12)?,
                default_flags: word(trex, 20)?,
                ..Track::default()
            })
        })
        .collect();
    let traks = boxes(moov).filter(|(name, _)| *name == b"trak");
    let tracks = traks.filter_map(|(_, trak)| {
        let header = child(trak, b"tkhd")?;
        let media = child(trak, b"mdia")?;
        let times = child(media, b"mdhd")?;
        // Version 1 has times of eight bytes before them.
        let [id_at, scale_at] = match (*header.first()?, *times.first()?) {
            (0, 0) => [12, 12],
            (0, _) => [12, 20],
            (_, 0) => [20, 12],
            _ => [20, 20],
        };
        let id = word(header, id_at)?;
        let own = defaults.iter().find(|track| track.id == id).copied();
        Some(Track {
            id,
            timescale: word(times, scale_at)?,
            is_picture: child(media, b"hdlr")?.get(8..12)? == b"vide",
            ..own.unwrap_or_default()
        })
    });
    tracks.collect()
}

/// Returns the runs of a part, one for each track that has samples in it; `None` if it is not a fragmented MP4. There are no
/// runs if a video frame of the previous part still lasts.
pub(super) fn runs(part: &[u8], tracks: &[Track]) -> Option<Vec<Run>> {
    let mut all: Vec<Run> = Vec::new();
    let mut is_one = false;
    for (_, moof) in boxes(part).filter(|(name, _)| *name == b"moof") {
        for (_, traf) in boxes(moof).filter(|(name, _)| *name == b"traf") {
            let run = run(traf, tracks)?;
            is_one = true;
            let Some(run) = run else {
                continue;
            };
            match all.iter_mut().find(|own| own.track.id == run.track.id) {
                Some(own) => {
                    own.duration += run.duration;
                    own.last = run.last;
                    own.has_sync |= run.has_sync;
                }
                None => all.push(run),
            }
        }
    }
    is_one.then_some(all)
}

/// Returns the samples of a `traf`; the inner `None` if there are none.
fn run(traf: &[u8], tracks: &[Track]) -> Option<Option<Run>> {
    let header = child(traf, b"tfhd")?;
    let (flags, id) = (word(header, 0)?, word(header, 4)?);
    let mut track = *tracks.iter().find(|track| track.id == id)?;
    let mut at = 8 + 8 * usize::from(flags & 1 != 0) + 4 * usize::from(flags & 2 != 0);
    let mut take = |is_there: bool| -> Option<Option<u32>> {
        if !is_there {
            return Some(None);
        }
        at += 4;
        word(header, at - 4).map(Some)
    };
    if let Some(duration) = take(flags & 8 != 0)? {
        track.default_duration = duration;
    }
    take(flags & 0x10 != 0)?;
    if let Some(flags) = take(flags & 0x20 != 0)? {
        track.default_flags = flags;
    }
    let time = child(traf, b"tfdt")?;
    let begin = match *time.first()? {
        0 => u64::from(word(time, 4)?),
        _ => u64::from(word(time, 4)?) << 32 | u64::from(word(time, 8)?),
    };
    let mut all: Option<Run> = None;
    for (_, trun) in boxes(traf).filter(|(name, _)| *name == b"trun") {
        let (flags, count) = (word(trun, 0)?, word(trun, 4)?);
        let mut at = 8 + 4 * usize::from(flags & 1 != 0);
        let mut first_flags = None;
        if flags & 4 != 0 {
            first_flags = Some(word(trun, at)?);
            at += 4;
        }
        for index in 0..count {
            let mut field = |bit: u32| -> Option<Option<u32>> {
                if flags & bit == 0 {
                    return Some(None);
                }
                at += 4;
                word(trun, at - 4).map(Some)
            };
            let duration = field(0x100)?.unwrap_or(track.default_duration);
            field(0x200)?;
            let own_flags = field(0x400)?;
            field(0x800)?;
            let flags = own_flags
                .or_else(|| first_flags.filter(|_| index == 0))
                .unwrap_or(track.default_flags);
            let is_sync = flags & IS_NO_SYNC_SAMPLE == 0;
            let run = all.get_or_insert(Run {
                track,
                begin,
                duration: 0,
                last: 0,
                has_sync: false,
            });
            run.duration += u64::from(duration);
            run.last = u64::from(duration);
            run.has_sync |= is_sync;
        }
    }
    Some(all)
}

/// Returns the boxes in `bytes`, up to the first that does not fit.
fn boxes(bytes: &[u8]) -> impl Iterator<Item = (&[u8; 4], &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let size = usize::try_from(word(rest, 0)?).ok()?;
        let name = rest.get(4..8)?.first_chunk()?;
        let content = rest.get(8..size)?;
        rest = &rest[size..];
        Some((name, content))
    })
}

fn child<'a>(bytes: &'a [u8], wanted: &[u8; 4]) -> Option<&'a [u8]> {
    let mut found = boxes(bytes).filter(|(name, _)| *name == wanted);
    found.next().map(|(_, content)| content)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*four))
}

#[cfg(test)]
pub(super) mod testing {
    //! Fragmented MP4 in the fewest boxes.

    fn boxed(name: &[u8; 4], content: &[&[u8]]) -> Vec<u8> {
        let content = content.concat();
        let size = (content.len() as u32 + 8).to_be_bytes();
        [&size[..], name, &content].concat()
    }

    /// Returns an initialization section with video (track 1) and audio (track 2), a thousand ticks per second.
    pub(crate) fn init() -> Vec<u8> {
        let track = |id: u32, kind: &[u8]| {
            let header = boxed(b"tkhd", &[&[0; 12], &id.to_be_bytes()]);
            let times = boxed(b"mdhd", &[&[0; 12], &1_000_u32.to_be_bytes()]);
            let handler = boxed(b"hdlr", &[&[0; 8], kind]);
            boxed(b"trak", &[&header, &boxed(b"mdia", &[&times, &handler])])
        };
        let tracks = [track(1, b"vide"), track(2, b"soun")];
        boxed(b"moov", &[&tracks[0], &tracks[1]])
    }

    /// Returns a part with one sample in each track, from `begin` on for `duration`.
    pub(crate) fn part(begin: u32, duration: u32, is_sync: bool) -> Vec<u8> {
        part_of(&[1, 2], begin, duration, is_sync)
    }

    /// Returns a part with one sample in each of some tracks.
    pub(crate) fn part_of(ids: &[u32], begin: u32, duration: u32, is_sync: bool) -> Vec<u8> {
        let flags: u32 = if is_sync { 0 } else { super::IS_NO_SYNC_SAMPLE };
        let traf = |id: u32| {
            let header = boxed(b"tfhd", &[&[0; 4], &id.to_be_bytes()]);
            let time = boxed(b"tfdt", &[&[0; 4], &begin.to_be_bytes()]);
            let words = [0x500, 1, duration, flags].map(u32::to_be_bytes);
            let run = boxed(b"trun", &[words.as_flattened()]);
            boxed(b"traf", &[&header, &time, &run])
        };
        let trafs: Vec<u8> = ids.iter().flat_map(|id| traf(*id)).collect();
        boxed(b"moof", &[&trafs])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read() {
        let tracks = tracks(&testing::init());
        let of = tracks.iter().map(|track| (track.id, track.is_picture));
        assert_eq!(of.collect::<Vec<_>>(), [(1, true), (2, false)]);
        let both = [testing::part(40, 20, true), testing::part(60, 5, false)].concat();
        let runs = runs(&both, &tracks).expect("two fragments");
        assert_eq!(runs.len(), 2);
        assert_eq!((runs[0].begin, runs[0].end(), runs[0].last), (40, 65, 5));
        assert_eq!((runs[0].has_sync, runs[1].has_sync), (true, true));
    }

    #[test]
    fn what_is_no_fragment_has_no_runs() {
        let tracks = tracks(&testing::init());
        assert_eq!(runs(b"", &tracks), None);
        assert_eq!(runs(&testing::part(0, 1, true), &[]), None);
        assert_eq!(runs(&testing::part(0, 1, true)[..60], &tracks), None);
        assert_eq!(super::tracks(b"\0\0\0\x09moov"), []);
    }
}
