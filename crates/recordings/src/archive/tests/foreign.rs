//! Files of MP3 and Ogg: mp3val and oggz-validate find no fault with them, whole, joined midway, and cut.

use testkit::Tool;

use super::kept::{PATIENCE, decode, from_sample, probe, recorded, sent};
use super::*;

/// Message for a file without ID3 tags, which needs none.
const NO_TAGS: &str = ": No supported tags in the file";

fn assert_mp3val(path: &Path) {
    let reported = Tool::new("mp3val").arg(path).run(PATIENCE);
    let reported = String::from_utf8_lossy(&reported).into_owned();
    assert!(reported.contains("MPEG frames"), "{reported}");
    let mut lines = reported.lines().filter(|line| !line.ends_with(NO_TAGS));
    let is_fault = |line: &str| line.starts_with("WARNING") || line.starts_with("ERROR");
    assert!(!lines.any(is_fault), "{reported}");
}

fn assert_oggz(path: &Path) {
    Tool::new("oggz-validate").arg(path).run(PATIENCE);
}

/// Twenty seconds of MP3 whose bit rate varies.
fn variable() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("variable.mp3");
    let encoder = Tool::ffmpeg().arg("-i").arg(Clip::Mp3.seconds(20));
    let encoder = encoder.args(["-af", "volume='if(lt(t,10),0.01,1)':eval=frame"]);
    let encoder = encoder.args(["-c:a", "libmp3lame", "-q:a", "4"]);
    encoder.arg(&path).run(PATIENCE);
    (folder, path)
}

#[test]
fn mp3_tells_its_length_and_is_without_fault() {
    let (_folder, variable) = variable();
    for source in [Clip::Mp3.seconds(20), variable] {
        let file = std::fs::read(&source).expect("it was made");
        for first in [0, 101] {
            let mut items = sent(Container::Mp3, &file);
            from_sample(&mut items, first);
            let mut archive = TestArchive::new();
            let path = recorded(&mut archive, Container::Mp3, vec![items]);
            assert_mp3val(&path);
            decode(&path);
            let frames = framemd5::packets(&path);
            let audio = framemd5::audio(&frames).len() as f64 * 1_152.0 / 44_100.0;
            let (_, seconds) = probe(&path);
            assert!((seconds / audio - 1.0).abs() < 0.01, "{seconds} {audio}");
            assert!(seconds > 15.0);
        }
    }
}

#[test]
fn mp3_of_two_publishers_is_without_fault() {
    let file = std::fs::read(Clip::Mp3.seconds(4)).expect("it was made");
    let mut turns = vec![sent(Container::Mp3, &file), sent(Container::Mp3, &file)];
    turns.iter_mut().for_each(|items| from_sample(items, 31));
    let mut archive = TestArchive::new();
    let path = recorded(&mut archive, Container::Mp3, turns);
    assert_mp3val(&path);
    decode(&path);
    assert!(probe(&path).1 > 6.0);
}

#[test]
fn ogg_begins_at_zero_wherever_the_stream_was_joined() {
    for clip in [Clip::OggOpus, Clip::OggVorbis, Clip::OggFlac] {
        let source = clip.seconds(20);
        let file = std::fs::read(&source).expect("it was made");
        let (begins, _) = probe(&source);
        for first in [0, 7] {
            let mut items = sent(Container::Ogg, &file);
            let pages = items.len();
            from_sample(&mut items, first);
            assert!(items.len() == pages - first);
            let mut archive = TestArchive::new();
            let path = recorded(&mut archive, Container::Ogg, vec![items]);
            assert_oggz(&path);
            decode(&path);
            let (start, seconds) = probe(&path);
            assert!((start - begins).abs() < 0.001, "{clip:?} {start} {begins}");
            assert!((3.0..20.1).contains(&seconds), "{clip:?} {seconds}");
            let got = framemd5::packets(&path);
            let all = framemd5::packets(&source);
            assert_eq!(framemd5::join(&all, &got, 2).expect("the same").missing, 0);
        }
    }
}

#[test]
fn links_of_a_chain_stay_links() {
    let file = std::fs::read(Clip::OggVorbis.seconds(4)).expect("it was made");
    let mut archive = TestArchive::new();
    let mut chained = sent(Container::Ogg, &file.repeat(3));
    let (mut publisher, mut recorder) = archive.begin(Container::Ogg, &mut chained);
    write(&mut publisher, chained);
    archive.end(publisher, &mut recorder);
    let recorded = &archive.recordings()[0];
    let duration = recorded.duration.as_secs_f64();
    assert!((11.8..12.2).contains(&duration), "{duration}");
    assert_oggz(&recorded.path);
    decode(&recorded.path);
}

#[test]
fn what_a_killed_process_leaves_of_them_is_recovered() {
    for (container, clip) in [(Container::Mp3, Clip::Mp3), (Container::Ogg, Clip::OggOpus)] {
        let file = std::fs::read(clip.seconds(20)).expect("it was made");
        let mut archive = TestArchive::new();
        let (part, whole) = archive.killed(container, sent(container, &file));
        for cut in [whole.len(), whole.len() - 1, whole.len() / 2 + 77] {
            let mut left = whole[..cut].to_vec();
            // A loss of power leaves zeros where nothing was written down, which a checksum finds.
            if container == Container::Ogg {
                left.resize(cut + 1_000, 0);
            }
            archive.restart_with(&part, &left);
            let recovered = archive.only();
            assert_eq!(recovered.state, State::Finalised);
            let bytes = recovered.bytes as usize;
            assert!(bytes <= cut && bytes + 40_000 > cut, "{bytes} {cut}");
            decode(&recovered.path);
            match container {
                Container::Mp3 => assert_mp3val(&recovered.path),
                _ => assert_oggz(&recovered.path),
            }
            let reported = recovered.duration.as_secs_f64();
            assert!((reported / probe(&recovered.path).1 - 1.0).abs() < 0.01);
        }
        // Of what never had media nothing is left.
        archive.restart_with(&part, &whole[..50]);
        assert!(archive.recordings().is_empty() && archive.files().is_empty());
    }
}
