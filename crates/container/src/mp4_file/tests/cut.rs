//! Files that were cut, or damaged at their end.

use testkit::framemd5;

use super::*;

#[test]
fn a_tail_that_is_cut_anywhere_is_found() {
    let file = recording_of(Clip::Flv);
    let all = scan(&file);
    let whole = file.len() as u64;
    assert_eq!(all.outcome, Outcome::Fragmented { whole });
    let count = all.fragments.len();
    assert!(count >= 4, "{count}");
    let last = all.fragments[count - 1].range.clone();
    for cut in last.clone() {
        let scanned = scan(&file[..cut as usize]);
        let whole = last.start;
        assert_eq!(scanned.outcome, Outcome::Fragmented { whole }, "{cut}");
        assert_eq!(scanned.fragments, all.fragments[..count - 1]);
    }
    // Within the first fragment there is nothing to keep, and before it nothing at all.
    let first = all.fragments[0].range.clone();
    for cut in 0..first.start {
        let scanned = scan(&file[..cut as usize]);
        assert_eq!(scanned.outcome, Outcome::Nothing, "{cut}");
    }
    let scanned = scan(&file[..first.start as usize]);
    let init = scanned.init.expect("tracks");
    let finished = Finaliser::new(init).finish(first.start);
    assert_eq!(finished, Err(NotFinalised::Empty));
    // The rest opens, and has everything before the cut.
    for cut in [last.start + 20, last.start + 400, last.end - 1] {
        let (plain, _) = finalised(&file[..cut as usize]);
        let pictures = framemd5::video(&framemd5::decoded(temporary(&plain)));
        let whole = framemd5::video(&framemd5::decoded(temporary(&file)));
        let left = &whole[..pictures.len()];
        let hashes = |frames: &[framemd5::Frame]| -> Vec<String> {
            frames.iter().map(|frame| frame.md5.clone()).collect()
        };
        assert_eq!(hashes(&pictures), hashes(left));
        assert!(whole.len() - pictures.len() <= 25);
    }
}

#[test]
fn zeros_and_noise_at_the_end_are_no_part_of_it() {
    let file = recording_of(Clip::Flv);
    let whole = file.len() as u64;
    for tail in [
        vec![0; 5_000],
        vec![0xA5; 5_000],
        b"\0\0\0\x08moof".to_vec(),
    ] {
        let scanned = scan(&[file.clone(), tail].concat());
        assert_eq!(scanned.outcome, Outcome::Fragmented { whole });
    }
}

#[test]
fn finalising_may_be_interrupted_anywhere_and_done_again() {
    let file = recording_of(Clip::FlvBframes);
    let whole = file.len();
    let (plain, finished) = finalised(&file);
    let moov = whole as u64;
    assert_eq!(scan(&plain).outcome, Outcome::Finalised { moov });
    assert_eq!(movie_duration(&plain[whole..]), Some(finished.duration));
    // The index was appended, or a part of it, and the header was not written.
    let appended = [file, finished.moov].concat();
    let end = appended.len();
    for cut in [whole, whole + 1, whole + 100, end - 1, end] {
        let (again, _) = finalised(&appended[..cut]);
        assert!(again == plain, "{cut}");
    }
}

#[test]
fn what_is_no_such_file_is_nothing() {
    for bytes in [
        &b""[..],
        b"ID3",
        b"\0\0\0\x01ftyp",
        b"\0\0\0\x10ftypisom\0\0\0\0\0\0\0\x08moov",
        b"\0\0\0\x10ftypisom\0\0\0\0\0\0\0\x01mdat\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
    ] {
        assert_eq!(scan(bytes).outcome, Outcome::Nothing);
        assert!(opening(bytes).is_none());
    }
}
