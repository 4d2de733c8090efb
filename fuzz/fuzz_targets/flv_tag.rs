//! FLV: the reader does not depend on how its input is cut, the items that it read are equal after writing and reading them
//! again, and from every join point the lane is well formed. Bodies of several tracks are split into bodies that cannot be
//! split further. A search in a file ends.

#![no_main]

use bytes::Bytes;
use container::flv::{
    self, Depacketizer, FileHead, Muxer, Opening, ReadError, Reader, Selection, Tag, TagKind,
};
use libfuzzer_sys::fuzz_target;
use media::{Item, Kind, Sample, Timestamp, Track};
use std::sync::Arc;

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Item>, Result<(), ReadError>) {
    let mut reader = Reader::default();
    let mut items = Vec::new();
    for piece in pieces {
        if let Err(error) = reader.push(piece, &mut items) {
            return (items, Err(error));
        }
        assert!(reader.buffered_bytes() <= flv::TAG_BODY_BYTES_MAX + 1024);
    }
    (items, Ok(()))
}

/// Writes the items as a file again.
fn write(items: &[Item]) -> Vec<u8> {
    let mut bytes = flv::file_header(true, true).to_vec();
    let mut emit = |piece: &[u8]| bytes.extend_from_slice(piece);
    let mut tracks: Vec<Arc<Track>> = Vec::new();
    for item in items {
        match item {
            Item::Track(track) => {
                tracks.retain(|known| known.id != track.id);
                tracks.push(Arc::clone(track));
                Tag::headers(track, Timestamp::ZERO).for_each(|tag| tag.write(&mut emit));
            }
            Item::Metadata(script) | Item::Script(script) => {
                let tag = Tag::script(TagKind::Script, script.at, &script.body);
                tag.expect("it was read").write(&mut emit);
            }
            Item::Sample(sample) => {
                let track = tracks.iter().find(|track| track.id == sample.track);
                let tag = Tag::sample(track.expect("its track came first"), sample);
                tag.expect("it was read").write(&mut emit);
            }
            other => panic!("FLV has no {other:?}"),
        }
    }
    bytes
}

fn samples(items: &[Item]) -> Vec<&Sample> {
    let samples = items.iter().filter_map(|item| match item {
        Item::Sample(sample) => Some(sample),
        _ => None,
    });
    samples.collect()
}

/// A lane: its bytes, and the positions at which a listener may join, each with its opening.
#[derive(Default)]
struct Lane {
    log: Vec<u8>,
    unit: usize,
    joins: Vec<(usize, Arc<[u8]>)>,
}

impl flv::TagSink for Lane {
    type Preamble = Arc<[u8]>;

    fn tag(&mut self, tag: &Tag<'_>) {
        tag.write(&mut |bytes| self.log.extend_from_slice(bytes));
    }

    fn preamble(&mut self, opening: &Opening<'_>) -> Arc<[u8]> {
        let mut bytes = flv::file_header(true, true).to_vec();
        opening.tags(&mut |tag| tag.write(&mut |part| bytes.extend_from_slice(part)));
        bytes.into()
    }

    fn end_unit(&mut self, _: Timestamp, join: Option<Arc<[u8]>>) {
        assert!(self.unit < self.log.len(), "a unit has a byte");
        self.joins.extend(join.map(|opening| (self.unit, opening)));
        self.unit = self.log.len();
    }
}

/// Checks that listeners that join, early and late, receive what was sent, in order.
fn join(items: &[Item]) {
    let mut lane = Lane::default();
    let mut muxer = Muxer::new(Selection::ALL);
    for item in items {
        muxer.push(item, &mut lane);
    }
    let everything = samples(items);
    let [first, .., last] = &lane.joins[..] else {
        return;
    };
    for (offset, opening) in [first, last] {
        let heard = [opening, &lane.log[*offset..]].concat();
        let (heard, result) = read(std::iter::once(&heard[..]));
        assert_eq!(result, Ok(()), "a lane cannot be read");
        // A body that was kept whole because of what came before may be read as bare without that.
        let mut sent = everything.iter();
        for sample in samples(&heard) {
            let is_next = sent.any(|sent| sent.data.ends_with(&sample.data));
            assert!(is_next, "what is heard was not sent, or not in this order");
        }
    }
}

/// Splits each body of a file without its header into tracks, as publishers' sessions do.
fn take_apart(tags: &[u8]) {
    let mut rest = tags;
    while let Some((head, after)) = rest.split_first_chunk::<11>() {
        let [kind, high, middle, low, ..] = *head;
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        let Some((body, after)) = after.split_at_checked(length) else {
            return;
        };
        rest = after.get(4..).unwrap_or_default();
        match kind & 31 {
            8 => tracks(Kind::Audio, body),
            9 => tracks(Kind::Video, body),
            _ => {}
        }
    }
}

fn split(kind: Kind, body: Bytes) -> Option<Vec<(u8, Bytes)>> {
    let mut tracks = Vec::new();
    let result = flv::split(kind, body, |number, body| tracks.push((number, body)));
    assert!(result.is_ok() || tracks.is_empty());
    result.ok().map(|()| tracks)
}

fn tracks(kind: Kind, body: &[u8]) {
    let Some(tracks) = split(kind, Bytes::copy_from_slice(body)) else {
        return;
    };
    assert!((1..=usize::from(flv::WIRE_TRACKS_MAX)).contains(&tracks.len()));
    let mut depacketizer = Depacketizer::default();
    let mut items = Vec::new();
    for (number, track) in tracks {
        assert!(track.len() <= body.len());
        let keeps_number = kind == Kind::Audio && number > 0;
        let again = (if keeps_number { number } else { 0 }, track.clone());
        assert_eq!(split(kind, track.clone()), Some(vec![again]));
        match kind {
            Kind::Audio => depacketizer.audio(Timestamp::ZERO, track, &mut items),
            Kind::Video => depacketizer.video(Timestamp::ZERO, track, &mut items),
        }
    }
}

/// Checks that a file's head is made of its tags, and that a search in it ends within it.
fn look(file: &[u8]) {
    let head = FileHead::read(file).expect("it begins like a file");
    assert!(head.end <= file.len() as u64 && head.bytes.len() <= file.len());
    for millis in [0, 1_000, u32::MAX] {
        let mut search = head.search(millis, file.len() as u64);
        // Each look except the first passes over a tag, or follows a listed place.
        let mut looks = (0..file.len() + 4).map(|_| {
            let wants = search.wants();
            search.take(&file[wants.start as usize..wants.end as usize])
        });
        let found = looks.find_map(|found| found).expect("it ends");
        assert!(found >= head.end && found <= file.len() as u64);
    }
}

// The first byte chooses how the rest is cut. The rest is a file without its header, so that the fuzzer need not find the
// signature.
fuzz_target!(|data: &[u8]| {
    let Some((cut, tags)) = data.split_first() else {
        return;
    };
    let file = [&flv::file_header(true, true)[..], tags].concat();
    let (items, result) = read(std::iter::once(&file[..]));
    let (again, same) = read(file.chunks(usize::from(*cut) + 1));
    assert_eq!(format!("{items:?}{result:?}"), format!("{again:?}{same:?}"));
    join(&items);
    look(&file);
    take_apart(tags);
    let (copied, result) = read(std::iter::once(&write(&items)[..]));
    assert_eq!(result, Ok(()), "what was written cannot be read");
    for (sample, copy) in samples(&items).into_iter().zip(samples(&copied)) {
        assert_eq!(sample.data, copy.data);
        assert_eq!(sample.keyframe, copy.keyframe);
        assert_eq!(sample.dts.millis() & 0x7FFF_FFFF, copy.dts.millis());
    }
    assert_eq!(samples(&items).len(), samples(&copied).len());
});
