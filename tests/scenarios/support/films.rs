//! Films that are hard to send in segments: hours without a keyframe, and samples that are scattered over the file.

use std::fs;
use std::path::Path;

use testkit::Tool;

use crate::support::DEADLINE;

/// Seconds of the part that is repeated in a film of one keyframe.
const PART: u32 = 10;

/// Makes a film of this many seconds, small frames with audio, that has one keyframe according to its index.
pub(crate) fn of_one_keyframe(path: &Path, seconds: u32) {
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("part.mp4");
    let source = |kind: &str| format!("-f lavfi -i {kind}:duration={PART}");
    let _ = Tool::ffmpeg()
        .arg("-y")
        .args(source("testsrc2=size=64x36:rate=25").split(' '))
        .args(source("sine=frequency=440:sample_rate=48000").split(' '))
        .args("-c:v libx264 -preset ultrafast -g 250 -c:a aac -b:a 32k".split(' '))
        .arg(&part)
        .run(DEADLINE);
    let repeats = (seconds / PART - 1).to_string();
    let _ = Tool::ffmpeg()
        .args(["-y", "-stream_loop", &repeats, "-i"])
        .arg(&part)
        .args(["-c", "copy", "-movflags", "+faststart"])
        .arg(path)
        .run(DEADLINE);
    let mut film = fs::read(path).unwrap();
    let table = film
        .windows(4)
        .position(|kind| kind == b"stss")
        .expect("a table of keyframes");
    let end = table - 4 + u32::from_be_bytes(film[table - 4..table].try_into().unwrap()) as usize;
    // Behind the box's size and kind, version and flags: one row; the rest refers to no sample.
    film[table + 8..table + 12].copy_from_slice(&1_u32.to_be_bytes());
    film[table + 16..end].fill(0xff);
    fs::write(path, film).unwrap();
}

/// Writes a film of two million samples of a byte each, none of which follows another in the file: nearly twenty thousand in a
/// segment, each a separate piece, which is the most that is possible.
pub(crate) fn of_scattered_samples(path: &Path) {
    const SAMPLES: u32 = 2_000_000;
    const TIMESCALE: u32 = 90_000;
    // Six seconds contain 19,286 samples.
    const DURATION: u32 = 28;
    let numbers = |all: &[u32]| -> Vec<u8> { all.iter().flat_map(|it| it.to_be_bytes()).collect() };
    let boxed = |kind: &[u8; 4], content: &[&[u8]]| -> Vec<u8> {
        let content = content.concat();
        [&numbers(&[content.len() as u32 + 8]), &kind[..], &content].concat()
    };
    // The samples are every other byte behind the index, whose length does not depend on them.
    let write = |begin: u32| {
        let places: Vec<u32> = (0..SAMPLES).map(|number| begin + 2 * number).collect();
        let table = boxed(
            b"stbl",
            &[
                &boxed(b"stsd", &[&numbers(&[0, 1]), &boxed(b"avc1", &[&[0; 78]])]),
                &boxed(b"stts", &[&numbers(&[0, 1, SAMPLES, DURATION])]),
                &boxed(b"stsc", &[&numbers(&[0, 1, 1, 1, 1])]),
                &boxed(b"stsz", &[&numbers(&[0, 1, SAMPLES])]),
                &boxed(b"stco", &[&numbers(&[0, SAMPLES]), &numbers(&places)]),
            ],
        );
        let media = boxed(
            b"mdia",
            &[
                &boxed(b"mdhd", &[&numbers(&[0, 0, 0, TIMESCALE, 0, 0])]),
                &boxed(b"hdlr", &[&numbers(&[0, 0]), b"vide", &[0; 13]]),
                &boxed(b"minf", &[&boxed(b"vmhd", &[&[0; 12]]), &table]),
            ],
        );
        let header = boxed(b"tkhd", &[&numbers(&[0, 0, 0, 1]), &[0; 68]]);
        let movie = boxed(b"mvhd", &[&numbers(&[0, 0, 0, 1_000]), &[0; 84]]);
        let movie = boxed(b"moov", &[&movie, &boxed(b"trak", &[&header, &media])]);
        [boxed(b"ftyp", &[b"isom\0\0\0\0"]), movie].concat()
    };
    let index = write(0).len() as u32 + 8;
    let media = boxed(b"mdat", &[&vec![7; 2 * SAMPLES as usize]]);
    fs::write(path, [write(index), media].concat()).unwrap();
}
