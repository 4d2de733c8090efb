//! The samples of a fragmented MP4 (ISO/IEC 14496-12 §8), as far as a check needs them. Whatever does not add up is
//! no sample.

use crate::ledger::Kind;

/// `tf_flags` and `tr_flags`: which fields are there.
const BASE_OFFSET: u32 = 0x01;
const DESCRIPTION: u32 = 0x02;
const DEFAULT_DURATION: u32 = 0x08;
const DEFAULT_SIZE: u32 = 0x10;
const DATA_OFFSET: u32 = 0x001;
const FIRST_FLAGS: u32 = 0x004;
const SIZE: u32 = 0x200;
/// Duration, flags and composition time of a sample, four bytes each.
const OTHER_COLUMNS: [u32; 3] = [0x100, 0x400, 0x800];
const SIZE_COLUMN_AFTER: u32 = 0x100;

/// A fragment is not what its boxes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// The tracks of an initialization segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tracks(Vec<Track>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Track {
    id: u32,
    kind: Kind,
    /// Of samples whose size is not given.
    size: u32,
}

impl Tracks {
    /// Reads `ftyp` and `moov`.
    pub(super) fn read(init: &[u8]) -> Self {
        let Some(moov) = find(init, b"moov") else {
            return Self::default();
        };
        let defaults = find(moov, b"mvex").unwrap_or_default();
        let size = |id| {
            let own = boxes(defaults).filter(|one| one.name == b"trex");
            let mut own = own.filter(|one| word(one.content, 4) == Some(id));
            own.next()
                .and_then(|one| word(one.content, 16))
                .unwrap_or(0)
        };
        let tracks = boxes(moov).filter(|one| one.name == b"trak");
        let tracks = tracks.filter_map(|one| {
            let header = find(one.content, b"tkhd")?;
            // Version 1 has times of eight bytes.
            let id = word(header, if header.first() == Some(&1) { 20 } else { 12 })?;
            let handler = find(find(one.content, b"mdia")?, b"hdlr")?;
            let kind = match handler.get(8..12)? {
                b"vide" => Kind::Video,
                b"soun" => Kind::Audio,
                _ => return None,
            };
            let size = size(id);
            Some(Track { id, kind, size })
        });
        Self(tracks.collect())
    }

    /// Passes the samples of `media` to `each`, track by track.
    pub(super) fn samples<'a>(
        &self,
        media: &'a [u8],
        mut each: impl FnMut(Kind, &'a [u8]),
    ) -> Result<(), Broken> {
        for fragment in boxes(media).filter(|one| one.name == b"moof") {
            for traf in boxes(fragment.content).filter(|one| one.name == b"traf") {
                self.track_samples(media, fragment.at, traf.content, &mut each)
                    .ok_or(Broken)?;
            }
        }
        Ok(())
    }

    /// Those of one `traf` of a `moof` at `at`.
    fn track_samples<'a>(
        &self,
        media: &'a [u8],
        at: usize,
        traf: &[u8],
        each: &mut impl FnMut(Kind, &'a [u8]),
    ) -> Option<()> {
        let header = find(traf, b"tfhd")?;
        let flags = flags(header)?;
        let id = word(header, 4)?;
        let Some(track) = self.0.iter().find(|track| track.id == id) else {
            return Some(());
        };
        if flags & BASE_OFFSET != 0 {
            // Counted from the beginning of a file, which a live segment has not.
            return None;
        }
        let before = [DESCRIPTION, DEFAULT_DURATION];
        let before = before.iter().filter(|field| flags & **field != 0).count();
        let size = match flags & DEFAULT_SIZE {
            0 => track.size,
            _ => word(header, 8 + 4 * before)?,
        };
        for run in boxes(traf).filter(|one| one.name == b"trun") {
            run_samples(media, at, run.content, size, |sample| {
                each(track.kind, sample)
            })?;
        }
        Some(())
    }
}

/// The samples of one `trun`.
fn run_samples<'a>(
    media: &'a [u8],
    at: usize,
    run: &[u8],
    default_size: u32,
    mut each: impl FnMut(&'a [u8]),
) -> Option<()> {
    let flags = flags(run)?;
    let count = word(run, 4)? as usize;
    if flags & DATA_OFFSET == 0 {
        return None;
    }
    let mut begin = at.checked_add(word(run, 8)? as usize)?;
    let rows = 12 + if flags & FIRST_FLAGS != 0 { 4 } else { 0 };
    let columns = OTHER_COLUMNS.iter().filter(|column| flags & **column != 0);
    let has_size = flags & SIZE != 0;
    let row_bytes = 4 * (columns.count() + usize::from(has_size));
    let size_at = if flags & SIZE_COLUMN_AFTER != 0 { 4 } else { 0 };
    if count > media.len() {
        return None;
    }
    for row in 0..count {
        let size = match has_size {
            true => word(run, rows + row * row_bytes + size_at)?,
            false => default_size,
        };
        let end = begin.checked_add(size as usize)?;
        each(media.get(begin..end)?);
        begin = end;
    }
    Some(())
}

/// A box: its place, its name and what is in it.
#[derive(Clone, Copy, Debug)]
struct Boxed<'a> {
    at: usize,
    name: &'a [u8],
    content: &'a [u8],
}

/// The boxes in a row, as far as they are whole.
fn boxes(bytes: &[u8]) -> impl Iterator<Item = Boxed<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let name = bytes.get(at + 4..at + 8)?;
        let (head, size) = match word(bytes, at)? {
            0 => (8, bytes.len() - at),
            1 => {
                let size = u64::from(word(bytes, at + 8)?) << 32 | u64::from(word(bytes, at + 12)?);
                (16, usize::try_from(size).ok()?)
            }
            size => (8, size as usize),
        };
        let content = bytes.get(at + head..at.checked_add(size)?)?;
        let found = Boxed { at, name, content };
        at += size;
        Some(found)
    })
}

fn find<'a>(bytes: &'a [u8], name: &[u8; 4]) -> Option<&'a [u8]> {
    let mut boxes = boxes(bytes);
    let found = boxes.find(|one| one.name == name)?;
    Some(found.content)
}

/// The flags of a full box.
fn flags(content: &[u8]) -> Option<u32> {
    word(content, 0).map(|word| word & 0xFF_FFFF)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    bytes.try_into().ok().map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use container::fmp4::{Fragmentation, Init, Muxer, Sink, Unit};
    use media::{Codec, Framing, Item, Sample, Span, Timestamp, TrackId};
    use proptest::prelude::*;

    use super::*;
    use crate::publish::synthetic::AVC_CONFIG;

    /// What a muxer of the server writes.
    #[derive(Default)]
    struct Written {
        init: Vec<u8>,
        media: Vec<u8>,
    }

    impl Sink for Written {
        type Preamble = ();

        fn put(&mut self, bytes: &[u8]) {
            self.media.extend_from_slice(bytes);
        }

        fn preamble(&mut self, init: &Init) {
            self.init = init.bytes.to_vec();
        }

        fn end_unit(&mut self, _: Unit, _: Option<()>) {}
    }

    fn track(kind: media::Kind, codec: Codec, config: &'static [u8]) -> Item {
        let is_sound = kind == media::Kind::Audio;
        Item::Track(Arc::new(media::Track {
            id: if is_sound {
                TrackId::AUDIO
            } else {
                TrackId::VIDEO
            },
            kind,
            codec,
            framing: Framing::Bare,
            config: Bytes::from_static(config),
            sample_rate: if is_sound { 48_000 } else { 0 },
            channels: if is_sound { 2 } else { 0 },
            flv: None,
        }))
    }

    fn sample(track: TrackId, millis: i64, data: String) -> Item {
        Item::Sample(Sample {
            track,
            dts: Timestamp::from_millis(millis),
            pts: Timestamp::from_millis(millis),
            duration: Span::ZERO,
            keyframe: true,
            data: data.into(),
            flv: None,
        })
    }

    fn written() -> Written {
        let mut muxer = Muxer::new(Fragmentation::default());
        let mut written = Written::default();
        let tracks = [
            track(media::Kind::Video, Codec::H264, &AVC_CONFIG),
            track(media::Kind::Audio, Codec::Aac, &[0x11, 0x90]),
        ];
        for item in &tracks {
            muxer.push(item, &mut written);
        }
        for number in 0..10 {
            let video = sample(TrackId::VIDEO, number * 40, format!("picture {number}"));
            let audio = sample(TrackId::AUDIO, number * 40, format!("sound no. {number}"));
            muxer.push(&video, &mut written);
            muxer.push(&audio, &mut written);
        }
        muxer.finish(&mut written);
        written
    }

    #[test]
    fn the_samples_of_the_servers_fragments_are_found() {
        let Written { init, media } = written();
        let tracks = Tracks::read(&init);
        assert_eq!(tracks.0.len(), 2);
        let (mut pictures, mut sounds) = (Vec::new(), Vec::new());
        let read = tracks.samples(&media, |kind, sample| match kind {
            Kind::Video => pictures.push(sample),
            Kind::Audio => sounds.push(sample),
        });
        assert_eq!(read, Ok(()));
        let expected = |text: &str| (0..10).map(|number| format!("{text} {number}")).collect();
        let expected: [Vec<String>; 2] = [expected("picture"), expected("sound no.")];
        for (found, expected) in [pictures, sounds].iter().zip(expected) {
            let found: Vec<_> = found
                .iter()
                .map(|one| String::from_utf8_lossy(one))
                .collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_fragment_that_is_cut_off_is_broken() {
        let Written { init, media } = written();
        let tracks = Tracks::read(&init);
        let cut = &media[..media.len() - 5];
        assert_eq!(tracks.samples(cut, |_, _| {}), Err(Broken));
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(place: prop::sample::Index, bytes: [u8; 4], cut: prop::sample::Index) {
            let Written { mut init, mut media } = written();
            for text in [&mut init, &mut media] {
                let at = place.index(text.len() - 4);
                text[at..at + 4].copy_from_slice(&bytes);
                text.truncate(cut.index(text.len()));
            }
            let mut sum = 0;
            let read = Tracks::read(&init).samples(&media, |_, sample| sum += sample.len());
            prop_assert!(read.is_err() || sum <= media.len() * media.len());
        }
    }
}
