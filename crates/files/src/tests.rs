//! Files that ffmpeg made, read in pieces of several lengths.

use std::fs;
use std::path::Path;

use container::mp4_file::index::{Indexer, Purpose};
use media::Item;
use testkit::{Clip, Tool};

use super::*;

const DEADLINE: Duration = Duration::from_secs(120);

/// Makes a reader of a file.
type Open = Box<dyn Fn(&[u8]) -> Reader>;

fn stream(format: Format) -> Open {
    Box::new(move |file: &[u8]| Reader::stream(format, file.len() as u64))
}

/// The next items from a piece of the file; none at its end.
fn next(reader: &mut Reader, file: &[u8], piece_bytes: u64) -> Vec<Item> {
    let mut items = reader.ready();
    while items.is_empty() && take(reader, file, piece_bytes, &mut items) {}
    items
}

fn take(reader: &mut Reader, file: &[u8], piece_bytes: u64, items: &mut Vec<Item>) -> bool {
    let wanted = reader.wants().take(piece_bytes);
    let pieces = wanted.iter();
    let pieces = pieces.map(|range| &file[range.start as usize..range.end as usize]);
    let bytes: Vec<u8> = pieces.flatten().copied().collect();
    if bytes.is_empty() {
        return false;
    }
    reader.take(bytes.into(), items).expect("it is whole");
    true
}

/// All items of a file, from its beginning.
fn all(mut reader: Reader, file: &[u8], piece_bytes: u64) -> Vec<Item> {
    while !reader.is_open() {
        assert!(take(&mut reader, file, piece_bytes, &mut Vec::new()));
    }
    let mut all = reader.opening().to_vec();
    loop {
        let items = next(&mut reader, file, piece_bytes);
        if items.is_empty() {
            all.extend(reader.finish());
            return all;
        }
        all.extend(items);
    }
}

fn flv(file: &[u8]) -> Reader {
    Reader::flv(file.len() as u64)
}

fn mp4(file: &[u8]) -> Reader {
    let mut indexer = Indexer::new(file.len() as u64, Purpose::Samples);
    loop {
        let wanted = indexer.wants();
        let bytes = &file[wanted.start as usize..wanted.end as usize];
        if let Some(index) = indexer.take(bytes).expect("it is whole") {
            return Reader::mp4(index.into()).expect("its samples can be carried");
        }
    }
}

fn copied(directory: &Path, name: &str) -> Vec<u8> {
    let path = directory.join(name);
    let copy = Tool::ffmpeg().args(["-y", "-i"]).arg(Clip::Flv.seconds(4));
    copy.args(["-c", "copy"]).arg(&path).run(DEADLINE);
    fs::read(path).expect("made")
}

#[test]
fn items_do_not_depend_on_the_pieces() {
    let directory = tempfile::tempdir().expect("a directory");
    let clip = |clip: Clip| fs::read(clip.seconds(4)).expect("made");
    const PLAYS: Duration = Duration::from_secs(4);
    const MP3: Format = Format::Frames(Syntax::MpegAudio, 0, PLAYS);
    const ADTS: Format = Format::Frames(Syntax::Adts, 0, PLAYS);
    let cases: [(Vec<u8>, Open); 7] = [
        (clip(Clip::Flv), Box::new(flv)),
        (copied(directory.path(), "a.mp4"), Box::new(mp4)),
        (copied(directory.path(), "a.ts"), stream(Format::Ts)),
        (clip(Clip::Mp3), stream(MP3)),
        (clip(Clip::Adts), stream(ADTS)),
        (clip(Clip::OggOpus), stream(Format::Ogg)),
        (clip(Clip::WebM), stream(Format::WebM)),
    ];
    for (number, (file, reader)) in cases.iter().enumerate() {
        let whole = all(reader(file), file, u64::MAX);
        let samples = whole.iter().filter(|item| matches!(item, Item::Sample(_)));
        assert!(samples.count() >= 4, "{number}");
        for piece_bytes in [997, 65_536] {
            let cut = all(reader(file), file, piece_bytes);
            let shown = |items: &[Item]| items.iter().map(|item| format!("{item:?}")).collect();
            let [cut, whole]: [Vec<String>; 2] = [shown(&cut), shown(&whole)];
            assert!(cut == whole, "{number}, {piece_bytes}");
        }
    }
}
