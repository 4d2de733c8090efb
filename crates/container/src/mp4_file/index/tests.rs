use std::fs;
use std::path::Path;

use tempfile::TempPath;
use testkit::framemd5;

use super::*;
use crate::testing::{encoded, temporary};

/// An MP4 file of 15 s with a keyframe every 2 s, B-frames and audio.
fn made(codecs: &str, flags: &str) -> TempPath {
    let (picture, audio) = ("testsrc2=size=160x90:rate=25", "sine=frequency=440");
    encoded(&format!(
        "-f lavfi -i {picture}:duration=15 -f lavfi -i {audio}:sample_rate=44100:duration=15 \
         {codecs} -threads 1 -f mp4 -movflags {flags}"
    ))
}

const BOTH: &str = "-c:v libx264 -preset ultrafast -bf 2 -g 50 -c:a aac";
const PICTURES: &str = "-map 0:v -c:v libx264 -preset ultrafast -g 50";
const FRAGMENTED: &str = "+frag_keyframe+empty_moov+default_base_moof";

fn read(codecs: &str, flags: &str) -> Vec<u8> {
    fs::read(made(codecs, flags)).expect("made")
}

fn index(file: &[u8]) -> Result<Index, Error> {
    index_for(Purpose::Segments, file)
}

/// Reads an index as from a disk. Panics if it asks for more than the file has.
fn index_for(purpose: Purpose, file: &[u8]) -> Result<Index, Error> {
    let mut indexer = Indexer::new(file.len() as u64, purpose);
    loop {
        let wants = indexer.wants();
        let bytes = &file[wants.start as usize..wants.end as usize];
        if let Some(index) = indexer.take(bytes)? {
            return Ok(index);
        }
    }
}

/// The bytes of each segment.
fn segments(index: &Index, file: &[u8]) -> Vec<Vec<u8>> {
    let of = |range: &Range<u64>| &file[range.start as usize..range.end as usize];
    let segment = |(number, segment): (usize, &Segment)| match &segment.range {
        Some(range) => of(range).to_vec(),
        None => {
            let Packaged { mut head, ranges } = index.packaged(number).expect("it has samples");
            for range in &ranges {
                head.extend_from_slice(of(range));
            }
            head
        }
    };
    let all = index.segments().expect("segments");
    all.iter().enumerate().map(segment).collect()
}

/// The packets of a track: what each is, and when it is shown after the first, on its clock.
fn packets(path: &Path, is_video: bool) -> Vec<(String, i64)> {
    let all = framemd5::packets(path);
    let own: Vec<_> = all.iter().filter(|it| it.is_video == is_video).collect();
    let first = own.iter().map(|packet| packet.pts).min().unwrap_or(0);
    let packets = own.into_iter();
    packets.map(|it| (it.md5.clone(), it.pts - first)).collect()
}

fn assert_equal_packets(source: &Path, index: &Index, file: &[u8]) {
    let all = [index.init().to_vec(), segments(index, file).concat()].concat();
    let made = temporary(&all);
    for is_video in [true, false] {
        assert_eq!(packets(&made, is_video), packets(source, is_video));
    }
}

#[test]
fn segments_have_the_packets_of_the_file() {
    for (codecs, flags, is_plain) in [
        (BOTH, "+faststart", true),
        (BOTH, "-faststart", true),
        (PICTURES, "+faststart", true),
        (BOTH, FRAGMENTED, false),
        (BOTH, "+frag_keyframe+delay_moov+default_base_moof", false),
    ] {
        let source = made(codecs, flags);
        let file = fs::read(&source).expect("made");
        let index = index(&file).expect("an index");
        let segments = index.segments().expect("segments");
        assert_eq!(segments[0].range.is_none(), is_plain, "{flags}");
        // Two seconds between keyframes: cuts are six apart.
        assert_eq!(segments.len(), 3, "{flags} {segments:?}");
        let seconds = index.duration().as_secs_f64();
        assert!((14.9..15.2).contains(&seconds), "{seconds}");
        assert_equal_packets(&source, &index, &file);
    }
}

#[test]
fn the_duration_is_found_without_the_samples() {
    for flags in ["+faststart", "-faststart"] {
        let file = read(BOTH, flags);
        let mut probe = Probe::new(file.len() as u64);
        let duration = loop {
            let wants = probe.wants();
            assert!(wants.end - wants.start <= LOOK_BYTES);
            let bytes = &file[wants.start as usize..wants.end as usize];
            if let Some(duration) = probe.take(bytes).expect("an MP4 file") {
                break duration.as_secs_f64();
            }
        };
        assert!((14.9..15.2).contains(&duration), "{duration}");
    }
    assert!(Probe::new(0).take(b"").is_err());
    let found = Probe::new(8).take(b"\0\0\0\x08free");
    assert!(found.expect("a box").is_none());
}

#[test]
fn audio_alone_is_cut_by_time() {
    let source = made("-map 1:a -c:a aac", "+faststart");
    let file = fs::read(&source).expect("made");
    let index = index(&file).expect("an index");
    let segments = index.segments().expect("segments");
    assert_eq!(segments.len(), 3);
    for segment in &segments[..2] {
        let seconds = segment.duration.as_secs_f64();
        assert!((6.0..6.1).contains(&seconds), "{seconds}");
    }
    assert_equal_packets(&source, &index, &file);
}

#[test]
fn each_segment_begins_with_a_keyframe_and_plays_alone() {
    let source = made(BOTH, "+faststart");
    let file = fs::read(&source).expect("made");
    let index = index(&file).expect("an index");
    for segment in segments(&index, &file) {
        let alone = temporary(&[index.init(), &segment].concat());
        let frames = framemd5::video(&framemd5::decoded(&alone)).len();
        let sent = framemd5::video(&framemd5::packets(&alone)).len();
        assert_eq!(frames, sent, "a picture needs another segment");
    }
}

#[test]
fn a_file_that_is_cut_has_its_whole_fragments_or_no_index() {
    let plain = read(BOTH, "+faststart");
    let cut = &plain[..plain.len() - 1];
    assert_eq!(index(cut).map(drop), Err(Error::Contradictory));
    let late = read(BOTH, "-faststart");
    let cut = &late[..late.len() - 1];
    assert_eq!(index(cut).map(drop), Err(Error::Malformed));
    let fragmented = read(BOTH, FRAGMENTED);
    let whole = index(&fragmented).expect("an index").duration();
    let cut = &fragmented[..fragmented.len() * 2 / 3];
    let shorter = index(cut).expect("an index");
    assert!(shorter.duration() < whole && shorter.duration() > whole / 3);
    let last = shorter.segments().expect("segments").last();
    let range = last.and_then(|last| last.range.clone());
    assert!(range.expect("a range").end <= cut.len() as u64);
}

#[test]
fn what_is_no_file_has_no_index() {
    for bytes in [
        &b""[..],
        b"\0\0\0\x08ftyp",
        b"\0\0\0\x08moov",
        b"ID3\x04\0\0\0\0\0\0 something else",
        b"\0\0\0\x01moov\xff\xff\xff\xff\xff\xff\xff\xff",
    ] {
        assert!(index(bytes).is_err(), "{bytes:?}");
    }
    let mut large = Indexer::new(u64::MAX, Purpose::Segments);
    let front = b"\0\0\0\x01moov\0\0\0\x01\0\0\0\0";
    assert_eq!(large.take(front).map(drop), Err(Error::TooLarge));
}

#[test]
fn any_damage_to_a_moov_is_an_index_or_an_error() {
    let file = read(BOTH, "+faststart");
    let moov = file.windows(4).position(|kind| kind == b"moov");
    let moov = moov.expect("moov") - 4;
    let length = u32::from_be_bytes(file[moov..moov + 4].try_into().expect("four")) as usize;
    for at in (moov + 8..moov + length).step_by(3) {
        let mut damaged = file[..moov + length + 64].to_vec();
        damaged[at] ^= 0xff;
        if let Ok(index) = index(&damaged) {
            let segments = index.segments().map_or(0, |segments| segments.len());
            (0..=segments).for_each(|number| drop(index.packaged(number)));
        }
    }
}

/// The samples of each track, and which of them are keyframes.
fn samples(index: &Index, file: &[u8]) -> Vec<Vec<(bool, Vec<u8>)>> {
    let mut cursor = index.seek(Timestamp::ZERO);
    let all: Vec<_> = std::iter::from_fn(|| index.next(&mut cursor)).collect();
    let of = |track: &Arc<media::Track>| {
        let own = all.iter().filter(|placed| placed.track == track.id);
        let bytes = |range: &Range<u64>| file[range.start as usize..range.end as usize].to_vec();
        own.map(|it| (it.keyframe, bytes(&it.range))).collect()
    };
    index.tracks().map(of).collect()
}

#[test]
fn the_index_of_a_fragmented_file_has_what_it_was_read_for() {
    const BOTH_PURPOSES: [Purpose; 2] = [Purpose::Segments, Purpose::Samples];
    let plain = read(BOTH, "+faststart");
    let fragmented = read(BOTH, FRAGMENTED);
    let [one, other] = BOTH_PURPOSES.map(|it| index_for(it, &plain).expect("an index"));
    for purpose in BOTH_PURPOSES {
        assert!(one.is_for(purpose) && other.is_for(purpose));
    }
    assert_eq!(one.segments(), other.segments());
    let wanted = samples(&one, &plain);
    assert!(wanted.len() == 2 && wanted.iter().all(|track| track.len() > 300));
    assert_eq!(samples(&other, &plain), wanted);

    let [in_segments, one_by_one] =
        BOTH_PURPOSES.map(|it| index_for(it, &fragmented).expect("an index"));
    for purpose in BOTH_PURPOSES {
        assert_eq!(in_segments.is_for(purpose), purpose == Purpose::Segments);
        assert_eq!(one_by_one.is_for(purpose), purpose == Purpose::Samples);
    }
    assert_eq!(in_segments.segments().map(|all| all.len()), Ok(3));
    assert!(samples(&in_segments, &fragmented).is_empty());
    assert!(in_segments.memory() < one_by_one.memory());
    assert_eq!(samples(&one_by_one, &fragmented), wanted);
    assert!(one_by_one.segments().is_ok_and(|all| all.is_empty()));
    // Neither is there without a whole fragment.
    let mdat = fragmented.windows(4).position(|kind| kind == b"mdat");
    let cut = &fragmented[..mdat.expect("a fragment") + 100];
    for purpose in BOTH_PURPOSES {
        assert_eq!(index_for(purpose, cut).map(drop), Err(Error::NoTrack));
    }
}

#[test]
fn a_song_tells_its_title_and_its_silence() {
    let path = encoded(
        "-f lavfi -i sine=sample_rate=44100:duration=3 -c:a aac -metadata title=Jóga \
         -metadata artist=Björk -f ipod",
    );
    let file = fs::read(&path).expect("made");
    let index = index_for(Purpose::Samples, &file).expect("an index");
    assert_eq!(index.tags().title.as_deref(), Some("Jóga"));
    assert_eq!(index.tags().artist.as_deref(), Some("Björk"));
    // A frame before the audio, and a part of one after it.
    assert_eq!(index.unheard(), (1, 0));
}
