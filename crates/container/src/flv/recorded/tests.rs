use super::metadata::{Facts, body, head, head_bytes, is_own};
use super::*;
use crate::testing::{closed, flv_tag as tag};
use crate::{Closed, Walk};

fn close(file: &[u8]) -> Closed {
    closed(Walk::<Tags>::of(file.len() as u64), file)
}

/// A file of this many video frames 40 ms apart, of which each tenth is a keyframe, and the keyframes' offsets.
fn file(pictures: u32) -> (Vec<u8>, Vec<u64>) {
    let own = b"\x02\0\x0AonMetaData\x08\0\0\0\x02\0\x05width\0\x40\x94\0\0\0\0\0\0\0\x08duration\0\0\0\0\0\0\0\0\0\0\0\x09";
    let header = crate::flv::file_header(false, true).to_vec();
    let (metadata, config) = (tag(18, 9_000, own), tag(9, 9_000, b"\x17\0\0\0\0config"));
    let preamble = [header, metadata, config].concat();
    let first = tag(9, 10_000, b"\x17\x01\0\0\0picture");
    let (rebase, mut file) = Rebase::begin(&preamble, &first).expect("FLV");
    let mut keyframes = Vec::new();
    for picture in 0..pictures {
        let is_key = picture % 10 == 0;
        if is_key {
            keyframes.push(file.len() as u64);
        }
        let mut body = *b"\x27\x01\0\0\0picture";
        body[0] -= 0x10 * u8::from(is_key);
        let mut tag = tag(9, 10_000 + 40 * picture, &body);
        rebase.tags(&mut tag);
        file.extend(tag);
    }
    (file, keyframes)
}

#[test]
fn the_metadata_is_filled_in_and_the_file_begins_at_zero() {
    let (file, keyframes) = file(100);
    let whole = file.len() as u64;
    for rest in [&[][..], &[0; 40], &tag(9, 1, &[7; 40])[..30]] {
        let closed = close(&[&file, rest].concat());
        assert_eq!(closed.bytes, whole);
        assert_eq!(closed.duration.expect("it tells").as_millis(), 4_000);
        let [(at, patch)] = &closed.patches[..] else {
            panic!("one patch");
        };
        assert_eq!(*at, 24);
        let times = (0..10).map(|key| f64::from(400 * key) / 1e3);
        let facts = Facts {
            seconds: 4.0,
            bytes: whole,
            keyframes: keyframes.iter().copied().zip(times).collect(),
        };
        assert_eq!(*patch, head(&facts));
        let mut file = file.clone();
        file[24..][..patch.len()].copy_from_slice(patch);
        assert_eq!(close(&file), close(&file[..]), "again");
        assert_eq!(close(&file).patches, closed.patches);
    }
}

#[test]
fn what_the_publisher_said_stays_but_for_the_length() {
    let (file, _) = file(1);
    let count = |name: &[u8]| file.windows(name.len()).filter(|at| *at == name).count();
    assert_eq!((count(b"width"), count(b"duration")), (1, 1));
    assert!(head_bytes() < 33 * 1_024);
    for own in [
        &b""[..],
        b"\x02\0\x0AonMetaData\x08\0\0\0\x02\0\x05width\x0A\xFF\xFF\xFF\xFF",
    ] {
        let body = body(&Facts::default(), Some(own));
        assert!(is_own(&body) && body.len() == head_bytes() + 3);
    }
    assert!(!is_own(b"\x02\0\x0AonMetaData"));
}

#[test]
fn of_many_keyframes_every_second_is_listed() {
    let (file, keyframes) = file(10 * KEYFRAMES_MAX as u32 + 100);
    let closed = close(&file);
    let listed = (KEYFRAMES_MAX + 10) / 2;
    let times = (0..listed).map(|key| f64::from(key as u32 * 800) / 1_000.0);
    let facts = Facts {
        seconds: closed.duration.expect("it tells").as_secs_f64(),
        bytes: closed.bytes,
        keyframes: keyframes.iter().copied().step_by(2).zip(times).collect(),
    };
    assert_eq!(closed.patches[0].1, head(&facts));
}

#[test]
fn what_is_no_file_of_tags_is_nothing() {
    let (file, _) = file(0);
    for broken in [&[][..], b"FLV", &[7; 100], &file] {
        assert_eq!(close(broken).bytes, 0);
        assert!(close(broken).patches.is_empty());
    }
    assert!(Rebase::begin(b"FLV", &[]).is_none());
}
