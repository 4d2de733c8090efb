//! FLV: the reader does not depend on the cut of its input, and what it read is written and read
//! again the same.

#![no_main]

use container::flv::{self, ReadError, Reader, Tag, TagKind};
use libfuzzer_sys::fuzz_target;
use media::{Item, Sample, Timestamp, Track};
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

/// The items as a file again.
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

// The first byte chooses how the rest is cut. What follows is a file without its header, so that
// the fuzzer need not find the signature.
fuzz_target!(|data: &[u8]| {
    let Some((cut, tags)) = data.split_first() else {
        return;
    };
    let file = [&flv::file_header(true, true)[..], tags].concat();
    let (items, result) = read(std::iter::once(&file[..]));
    let (again, same) = read(file.chunks(usize::from(*cut) + 1));
    assert_eq!(format!("{items:?}{result:?}"), format!("{again:?}{same:?}"));
    let (copied, result) = read(std::iter::once(&write(&items)[..]));
    assert_eq!(result, Ok(()), "what was written cannot be read");
    for (sample, copy) in samples(&items).into_iter().zip(samples(&copied)) {
        assert_eq!(sample.data, copy.data);
        assert_eq!(sample.keyframe, copy.keyframe);
        assert_eq!(sample.dts.millis() & 0x7FFF_FFFF, copy.dts.millis());
    }
    assert_eq!(samples(&items).len(), samples(&copied).len());
});
