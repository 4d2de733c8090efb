//! Recordings that are cut, damaged or made up, of every container but MP4: a walk through any of them ends, what it
//! calls whole and what it patches lie within the file, and a second walk finds nothing more to do. What is made of a
//! stream's bytes for a file is as long as they are.

#![no_main]

use bytes::Bytes;
use container::{Closed, Walker, flv, mp3_file, ogg, ts, webm};
use libfuzzer_sys::fuzz_target;

/// A walk steps over a piece, or asks for more of it once.
const STEPS_PER_BYTE: usize = 2;

fn walk(kind: u8, file: &[u8]) -> Closed {
    let bytes = file.len() as u64;
    let mut walk: Box<dyn Walker> = match kind % 5 {
        0 => Box::new(mp3_file::walk(bytes)),
        1 => Box::new(ogg::file::walk(bytes)),
        2 => Box::new(flv::recorded::walk(bytes)),
        3 => Box::new(ts::file::walk(bytes)),
        _ => Box::new(webm::file::walk(bytes)),
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

fuzz_target!(|input: &[u8]| {
    let Some((kind, file)) = input.split_first() else {
        return;
    };
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
