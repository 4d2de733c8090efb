//! Recordings that are cut, damaged or made up, of every container except MP4: a walk through any of them ends, the part that
//! it calls whole and its patches lie within the file, and a second walk finds nothing more to do. The data written to a file
//! for a stream's bytes is as long as they are. A search for any time ends within the file, and the data made of a file from
//! there on is not much longer than the rest of the file.

#![no_main]

use bytes::Bytes;
use container::{Closed, Search, Walk, Walker, flv, mp3_file, ogg, ts, webm};
use libfuzzer_sys::fuzz_target;
use media::{Item, Span};

/// Maximum number of steps per byte: a walk steps over a piece, or requests more of it once.
const STEPS_PER_BYTE: usize = 2;

fn walk(kind: u8, file: &[u8]) -> Closed {
    let bytes = file.len() as u64;
    let mut walk: Box<dyn Walker> = match kind % 5 {
        0 => Box::new(Walk::<mp3_file::Frames>::of(bytes)),
        1 => Box::new(Walk::<ogg::file::Pages>::of(bytes)),
        2 => Box::new(Walk::<flv::recorded::Tags>::of(bytes)),
        3 => Box::new(Walk::<ts::file::Packets>::of(bytes)),
        _ => Box::new(Walk::<webm::file::Elements>::of(bytes)),
    };
    for _ in 0..=STEPS_PER_BYTE * file.len() {
        let Some(wanted) = walk.wants() else {
            return walk.close();
        };
        assert!(wanted.start < wanted.end && wanted.end <= bytes);
        walk.take(&file[wanted.start as usize..wanted.end as usize]);
    }
    panic!("a walk ends");
}

fn settled(kind: u8, file: &[u8]) -> (Vec<u8>, Closed) {
    let closed = walk(kind, file);
    let mut file = file[..closed.bytes as usize].to_vec();
    for (at, patch) in &closed.patches {
        file[*at as usize..][..patch.len()].copy_from_slice(patch);
    }
    (file, closed)
}

/// Maximum number of looks of a search; a format may need a few more than it counts.
const LOOKS_MAX: usize = 1_100;

/// Returns the result of searching a file for a time.
fn find(mut search: impl Search, file: &[u8]) -> Option<container::Place> {
    for _ in 0..=LOOKS_MAX {
        let Some(wanted) = search.wants() else {
            let place = search.place();
            assert!(place.as_ref().is_none_or(|it| it.at <= file.len() as u64));
            return place;
        };
        assert!(wanted.start < wanted.end && wanted.end <= file.len() as u64);
        let bytes = &file[wanted.start as usize..wanted.end as usize];
        search.take(&Bytes::copy_from_slice(bytes));
    }
    panic!("a search ends");
}

/// Reads a file from a given time on. The time is one of the first ten minutes.
fn replay(kind: u8, file: &[u8]) {
    let to = Span::from_millis(i64::from(file.last().copied().unwrap_or(0)) * 2_400);
    let bytes = file.len() as u64;
    let mut items = Vec::new();
    match kind % 5 {
        1 => {
            let place = find(ogg::file::PageSearch::new(to, bytes), file).unwrap_or_default();
            let mut splice = ogg::file::Splice::default();
            let mut written = splice.header(&place.header);
            let rest = Bytes::copy_from_slice(&file[place.at as usize..]);
            written.extend(splice.pages(&rest));
            written.extend(splice.header(&place.header));
            written.extend(splice.end());
            // Each stream of each link ends with its own page.
            assert!(written.len() <= 3 * (2 * place.header.len() + rest.len()));
        }
        3 => {
            let place = find(ts::file::PacketSearch::new(to, bytes), file).unwrap_or_default();
            let mut demuxer = ts::Demuxer::default();
            demuxer.push(&file[place.at as usize..], &mut items);
            demuxer.finish(&mut items);
            let taken = items.iter().map(|item| match item {
                Item::Sample(sample) => sample.data.len(),
                _ => 0,
            });
            // A start code of three bytes becomes a length of four.
            assert!(taken.sum::<usize>() <= 2 * file.len());
        }
        4 => {
            let place = find(webm::file::ClusterSearch::new(to, bytes), file).unwrap_or_default();
            let mut splice = webm::file::Splice::default();
            splice.header(&place.header);
            assert!(splice.takes(&place.header));
            let mut demuxer = webm::Demuxer::default();
            demuxer.push(&place.header, &mut items);
            demuxer.push(&file[place.at as usize..], &mut items);
            for item in &items {
                if let Item::Sample(sample) = item {
                    assert!(splice.sample(sample).len() <= sample.data.len() + 14 + 8);
                }
            }
        }
        _ => {}
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((kind, file)) = input.split_first() else {
        return;
    };
    replay(*kind, file);
    let (once, closed) = settled(*kind, file);
    if closed.bytes > 0 {
        let (twice, again) = settled(*kind, &once);
        assert!(once == twice && closed.duration == again.duration);
    }
    match kind % 5 {
        0 => {
            let mut frame = file.to_vec();
            mp3_file::Reservoir::default().mend(&mut frame);
            assert_eq!(frame.get(..4), file.get(..4));
            mp3_file::opening(file);
        }
        1 => {
            let pages = ogg::file::Rebase::default().push(&Bytes::copy_from_slice(file));
            assert!(pages.len() <= file.len());
        }
        2 => {
            if let Some((rebase, _)) = flv::recorded::Rebase::begin(file, file) {
                rebase.tags(&mut file.to_vec());
            }
            flv::recorded::Rebase::codecs(file);
        }
        _ => {}
    }
});
