use media::codec::mpeg_audio::{FRAME_BYTES_MAX, FrameHeader};

use super::*;
use crate::{Closed, Walk, testing};

/// MPEG-1 layer III, 128 kb/s, 44.1 kHz, stereo: 417 bytes that refer back to `back` bytes.
fn frame(back: u16) -> Vec<u8> {
    let mut frame = vec![0xFF, 0xFB, 0x90, 0x04];
    frame.extend((back << 7 | 0x55).to_be_bytes());
    frame.resize(417, 0xA5);
    frame
}

fn closed(file: &[u8]) -> Closed {
    testing::closed(Walk::<Frames>::of(file.len() as u64), file)
}

fn patched(mut file: Vec<u8>) -> Vec<u8> {
    let closed = closed(&file);
    file.truncate(closed.bytes as usize);
    for (at, patch) in closed.patches {
        file[at as usize..][..patch.len()].copy_from_slice(&patch);
    }
    file
}

#[test]
fn a_table_is_empty_at_first_and_then_tells_all() {
    let empty = opening(&frame(0)).expect("a frame of layer III");
    let head = FrameHeader::parse(&empty).expect("a frame");
    assert!(head.is_info_frame(&empty) && head.frame_bytes() == empty.len());
    assert_eq!(empty[36..44], *b"Xing\0\0\0\0", "it says nothing");
    let mut file = empty;
    (0..1_000).for_each(|_| file.extend(frame(0)));
    let whole = file.len();
    // The last frame is cut, or behind it is something else.
    for rest in [&[][..], &frame(0)[..100], &[0; 500], b"\xFF\xFB"] {
        let mut file = file.clone();
        file.extend_from_slice(rest);
        let seconds = closed(&file).duration.expect("it tells").as_secs_f64();
        assert!((seconds - 1_000.0 * 1_152.0 / 44_100.0).abs() < 0.001);
        let file = patched(file);
        assert_eq!(file.len(), whole);
        assert_eq!(file[36..44], *b"Info\0\0\0\x07", "frames, bytes, points");
        assert_eq!(file[44..48], 1_000_u32.to_be_bytes());
        assert_eq!(file[48..52], (whole as u32).to_be_bytes());
        let points = &file[52..152];
        assert!(points.is_sorted());
        for (percent, point) in points.iter().enumerate() {
            assert!((i32::from(*point) - percent as i32 * 256 / 100).abs() <= 1);
        }
        assert_eq!(patched(file.clone()), file, "once more changes nothing");
    }
}

#[test]
fn a_long_file_of_frames_of_any_size_is_reported_as_variable() {
    let mut file = opening(&frame(0)).expect("a frame");
    let mut large = vec![0xFF, 0xFB, 0xE0, 0x04];
    large.resize(FrameHeader::parse(&large).expect("one").frame_bytes(), 0);
    for _ in 0..3_000 {
        file.extend(frame(0));
    }
    (0..3_000).for_each(|_| file.extend_from_slice(&large));
    let file = patched(file);
    assert_eq!(file[36..40], *b"Xing");
    let points = &file[52..152];
    let half = f64::from(points[50]) / 256.0 * file.len() as f64;
    assert!((half / (3_000.0 * 417.0) - 1.0).abs() < 0.02, "{half}");
}

#[test]
fn nothing_is_no_file_and_no_frame_has_no_table() {
    assert_eq!(closed(&[]).bytes, 0);
    assert_eq!(closed(&opening(&frame(0)).expect("a frame")).bytes, 0);
    assert_eq!(closed(&[7; 5_000]).bytes, 0);
    assert_eq!(opening(&[0xFF]), None);
    // Layer II.
    assert_eq!(opening(&[0xFF, 0xFD, 0x90, 0x04]), None);
    // Every rate and number of channels has room for it.
    let mut tried = 0;
    for version in [0xFB, 0xFA, 0xF3, 0xE3] {
        for rate in (0x10..0xF0).step_by(4) {
            for mode in [0x04, 0xC4] {
                let first = [0xFF, version, rate, mode];
                let Some(head) = FrameHeader::parse(&first) else {
                    continue;
                };
                let opening = opening(&first).expect("room");
                let own = FrameHeader::parse(&opening).expect("a frame");
                assert!(own.is_consistent_with(&head) && own.channels == head.channels);
                assert!(own.is_info_frame(&opening) && opening.len() <= FRAME_BYTES_MAX);
                tried += 1;
            }
        }
    }
    assert!(tried > 200);
}

#[test]
fn frames_that_refer_to_what_is_missing_are_silent_and_keep_their_bytes() {
    let mut reservoir = Reservoir::default();
    let mut first = frame(300);
    reservoir.mend(&mut first);
    assert_eq!(first[4..36], [0; 32]);
    assert_eq!(first[36..], frame(300)[36..]);
    // 381 bytes are there.
    let mut second = frame(382);
    reservoir.mend(&mut second);
    assert!(second[4..36] == [0; 32] && !reservoir.is_audio());
    let mut third = frame(511);
    reservoir.mend(&mut third);
    assert_eq!(third, frame(511), "the most there is");
    assert!(reservoir.is_audio());
    // A checksum is of what is there now: one that is known, of zeros.
    let mut summed = frame(300);
    summed[1] = 0xFA;
    Reservoir::default().mend(&mut summed);
    assert_eq!(summed[6..38], [0; 32]);
    assert_ne!(summed[4..6], frame(300)[4..6]);
}
