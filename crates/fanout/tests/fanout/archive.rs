//! A reader that must not lose anything, and a publisher that waits for no reader.

use std::task::{Context, Poll};
use std::time::Instant;

use crate::support::{Alarm, Encoder, FORMAT, Frames, TestFanout, frames};
use fanout::{ARCHIVE_BYTES_MAX, ArchiveReader, Archived, Follower, Lost, Settings};
use media::{Span, Timestamp};

/// Bytes of a frame, each of a second: six fill a page of 64 KiB, and the log keeps 32 of them, or six when it is only
/// recorded.
const FRAME: u64 = 10_000;

fn archive(setup: &TestFanout, bytes_max: usize) -> ArchiveReader {
    let (stream, permission) = (setup.stream("radio"), setup.may_play("radio"));
    let make = || Box::new(Frames) as _;
    let now = Instant::now();
    let archive = stream.archive(&permission, FORMAT, make, bytes_max, now);
    archive.unwrap()
}

fn encoder(setup: &TestFanout, credential: u64) -> Encoder {
    let mut encoder = Encoder::audio(setup.publish("radio", credential).unwrap());
    encoder.size = FRAME as usize;
    encoder.frame_millis = 1_000;
    encoder
}

fn scene() -> (TestFanout, Encoder) {
    let setup = TestFanout::new(Settings::default());
    let encoder = encoder(&setup, 1);
    (setup, encoder)
}

/// Items that a reader received, media as the numbers of its frames.
#[derive(Debug, Eq, PartialEq)]
enum Reported {
    Epoch(u32),
    Preamble(u32),
    Frames(Vec<u64>),
    Lost(Lost),
    End,
}

/// Reads everything that is available now.
fn read(reader: &mut ArchiveReader) -> Vec<Reported> {
    let mut reported = Vec::new();
    let mut numbers = Vec::new();
    while let Ok(next) = reader.at_hand() {
        let next = match next {
            Some(Archived::Media { units, bytes }) => {
                let bytes = bytes.concat();
                assert_eq!(frames(&bytes).len(), units.len());
                let range = units[0].range.start..units[units.len() - 1].range.end;
                assert_eq!(range.end - range.start, bytes.len() as u64);
                numbers.extend(frames(&bytes));
                continue;
            }
            Some(Archived::Epoch(epoch)) => Reported::Epoch(epoch),
            Some(Archived::Preamble { generation, .. }) => Reported::Preamble(generation),
            Some(Archived::Lost(lost)) => Reported::Lost(lost),
            None => Reported::End,
        };
        if !numbers.is_empty() {
            reported.push(Reported::Frames(std::mem::take(&mut numbers)));
        }
        let is_end = next == Reported::End;
        reported.push(next);
        if is_end {
            break;
        }
    }
    if !numbers.is_empty() {
        reported.push(Reported::Frames(numbers));
    }
    reported
}

/// Everything that a reader receives of the first epoch, with these frames.
fn first_epoch(numbers: impl IntoIterator<Item = u64>) -> [Reported; 3] {
    let frames = Reported::Frames(numbers.into_iter().collect());
    [Reported::Epoch(1), Reported::Preamble(0), frames]
}

/// Reads a loss, and the frames after it.
fn read_loss(reader: &mut ArchiveReader) -> (Lost, Vec<u64>) {
    let reported: Result<[Reported; 3], _> = read(reader).try_into();
    match reported {
        Ok(
            [
                Reported::Lost(lost),
                Reported::Preamble(0),
                Reported::Frames(got),
            ],
        ) => (lost, got),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_reader_that_sleeps_within_its_bound_loses_nothing() {
    let (setup, mut encoder) = scene();
    encoder.write(3).unwrap();
    let mut reader = archive(&setup, ARCHIVE_BYTES_MAX);
    assert_eq!(read(&mut reader), first_epoch([2]), "the newest join point");
    let before = setup.registry.fanout().log_bytes();
    encoder.write(997).unwrap();
    let held = setup.registry.fanout().log_bytes();
    assert!(held > before + 900 * FRAME as usize, "it is all there");
    assert_eq!(read(&mut reader), [Reported::Frames((3..1_000).collect())]);
    let left = setup.registry.fanout().log_bytes();
    assert!(left < 100 * FRAME as usize, "and not for longer: {left}");
    encoder.write(5).unwrap();
    let more = Reported::Frames((1_000..1_005).collect());
    assert_eq!(read(&mut reader), [more]);
}

#[test]
fn a_reader_that_sleeps_beyond_its_bound_is_reported_exactly_what_it_lost() {
    for bytes_max in [0, 500_000, 3_000_000] {
        let (setup, mut encoder) = scene();
        encoder.key_every = 7;
        encoder.write(1).unwrap();
        let mut reader = archive(&setup, bytes_max);
        encoder.write(4).unwrap();
        assert_eq!(read(&mut reader), first_epoch(0..5));
        let mut next = 5;
        for _ in 0..3 {
            encoder.write(700).unwrap();
            let (lost, got) = read_loss(&mut reader);
            let resumed = got[0];
            assert_eq!(resumed % 7, 0, "at a join point");
            let expected = Lost {
                from: Timestamp::from_millis(1_000 * next as i64),
                to: Timestamp::from_millis(1_000 * resumed as i64),
                range: FRAME * next..FRAME * resumed,
            };
            assert_eq!(lost, expected);
            assert!(got.iter().copied().eq(resumed..next + 700), "and then all");
            // Frames it could have: the log's six and those in its own pages, without those before a join point.
            let pages = bytes_max as u64 / (64 * 1024 + 512 * 72);
            let least = (6 + 6 * pages).saturating_sub(7 + 6);
            assert!(got.len() as u64 >= least, "{} {least}", got.len());
            next += 700;
        }
    }
}

#[test]
fn a_reader_hears_of_epochs_and_of_the_end() {
    let (setup, mut first) = scene();
    first.write(1).unwrap();
    let mut reader = archive(&setup, 0);
    first.write(2).unwrap();
    let mut second = encoder(&setup, 1);
    second.next = 10;
    second.write(2).unwrap();
    let reported = read(&mut reader);
    assert_eq!(reported[..3], first_epoch(0..3));
    let of_second = [Reported::Epoch(2), Reported::Frames(vec![10, 11])];
    assert_eq!(reported[3..], of_second);
    let (alarm, waker) = Alarm::with_waker();
    let cx = Context::from_waker(&waker);
    assert!(reader.poll_next(&cx).is_pending());
    second.write(1).unwrap();
    assert_eq!(alarm.count(), 1);
    let media = reader.poll_next(&cx);
    assert!(matches!(media, Poll::Ready(Some(Archived::Media { .. }))));
    assert!(reader.poll_next(&cx).is_pending());
    drop(second);
    let now = Instant::now();
    setup.registry.tick(now);
    setup.registry.tick(now + Settings::default().linger);
    assert_eq!(alarm.count(), 2);
    assert!(matches!(reader.poll_next(&cx), Poll::Ready(None)));
}

#[test]
fn what_is_lost_at_the_end_is_reported_too() {
    let (setup, mut encoder) = scene();
    encoder.key_every = u64::MAX;
    encoder.write(1).unwrap();
    let mut reader = archive(&setup, 0);
    assert_eq!(read(&mut reader), first_epoch([0]));
    encoder.write(200).unwrap();
    // No join point is left, and one may come.
    assert_eq!(read(&mut reader), []);
    setup.registry.end_all();
    let reported = read(&mut reader);
    let [Reported::Lost(lost), Reported::End] = &reported[..] else {
        panic!("{reported:?}");
    };
    assert_eq!(lost.from, Timestamp::from_millis(1_000));
    assert_eq!(lost.to, Timestamp::from_millis(200_000));
    assert_eq!(lost.range, FRAME..201 * FRAME);
}

#[test]
fn it_is_no_listener_and_keeps_its_lane_open() {
    let (setup, mut encoder) = scene();
    encoder.write(1).unwrap();
    let reader = archive(&setup, 0);
    let stream = setup.stream("radio");
    let info = stream.info();
    assert_eq!((info.listeners, info.listeners_peak), (0, 0));
    assert!(stream.is_read());
    assert_eq!(setup.registry.fanout().listeners(), 0);
    let mut now = Instant::now();
    assert!(setup.is_followed_after(&mut encoder, &mut now));
    drop(reader);
    assert!(!stream.is_read());
    assert!(!setup.is_followed_after(&mut encoder, &mut now));
}

#[test]
fn a_lane_that_is_only_recorded_keeps_a_burst_and_no_laggards_past() {
    let (setup, mut encoder) = scene();
    encoder.write(1).unwrap();
    let mut reader = archive(&setup, ARCHIVE_BYTES_MAX);
    let mut written = 0;
    let mut write = |reader: &mut ArchiveReader| {
        for _ in 0..100 {
            encoder.write(1).unwrap();
            let reported = read(reader);
            written += 1;
            assert_eq!(reported.last(), Some(&Reported::Frames(vec![written])));
        }
        setup.registry.fanout().log_bytes() as u64
    };
    // The first media includes the frame before it.
    assert_eq!(read(&mut reader).len(), 3);
    let alone = write(&mut reader);
    assert!((6 * FRAME..18 * FRAME).contains(&alone), "{alone}");
    let guard = setup.lane("radio");
    let follower = Follower::new(&guard);
    let burst = follower.policy().burst;
    assert!(burst >= Span::from_millis(4_000));
    let entry = follower.entry(burst);
    assert_eq!(entry, Some(FRAME * 96), "a joiner has its burst");
    let with_listener = write(&mut reader);
    assert!(with_listener > 32 * FRAME, "{with_listener}");
    drop((follower, guard));
    assert!(write(&mut reader) < 18 * FRAME, "the listener has left");
}

#[test]
fn units_larger_than_a_page_are_not_kept_for_longer() {
    let (setup, mut encoder) = scene();
    encoder.size = 10 * FRAME as usize;
    encoder.write(1).unwrap();
    let mut reader = archive(&setup, ARCHIVE_BYTES_MAX);
    assert_eq!(read(&mut reader).last(), Some(&Reported::Frames(vec![0])));
    for number in 1..100 {
        encoder.write(1).unwrap();
        let reported = read(&mut reader);
        assert_eq!(reported.last(), Some(&Reported::Frames(vec![number])));
    }
    let kept = setup.registry.fanout().log_bytes();
    assert!(kept < 20 * encoder.size, "{kept} bytes");
}

#[test]
fn nobody_waits_for_what_is_only_recorded() {
    let (setup, mut encoder) = scene();
    let mut is_awaited = || {
        encoder.write(1).unwrap();
        encoder.publisher.is_awaited()
    };
    assert!(!is_awaited(), "nobody is there");
    let reader = archive(&setup, 0);
    assert!(!is_awaited(), "a recorder comes by");
    let guard = setup.lane("radio");
    assert!(is_awaited(), "a listener waits");
    drop(guard);
    assert!(!is_awaited());
    drop(reader);
    assert!(is_awaited(), "a listener may return for a while");
}

#[test]
fn when_memory_is_short_what_is_held_goes_first() {
    let memory = 4 << 20;
    let setup = TestFanout::with_memory(memory);
    let mut encoder = encoder(&setup, 1);
    encoder.write(1).unwrap();
    let mut reader = archive(&setup, ARCHIVE_BYTES_MAX);
    read(&mut reader);
    encoder.write(1_000).unwrap();
    assert!(setup.registry.fanout().log_bytes() <= memory);
    let (lost, got) = read_loss(&mut reader);
    assert_eq!(lost.range.end, FRAME * got[0]);
    assert!(got.len() > 100, "the rest of the memory is its own");
    assert_eq!(got.last(), Some(&1_000));
}
