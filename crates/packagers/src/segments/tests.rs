//! Segments are the same in all containers, whatever is published.

use bytes::Bytes;
use media::codec::h264::AvcConfig;
use media::{Framing, Kind, Sample, TrackId};
use proptest::prelude::*;

use super::*;
use crate::testing::{Written, facts};

/// High profile, 320×180, and 1280×720, from x264.
const SPS: [&[u8]; 2] = [
    &[
        0x67, 0x64, 0x00, 0x0D, 0xAC, 0xD9, 0x41, 0x41, 0x9F, 0x9F, 0x01, 0x10, 0x00, 0x00, 0x03,
        0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0x20, 0xF1, 0x42, 0x99, 0x60,
    ],
    &[
        0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03,
        0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83, 0x19, 0x60,
    ],
];
const PPS: &[u8] = &[0x68, 0xEF, 0xBC, 0xB0];

/// AAC-LC, stereo, at 48 kHz and 44.1 kHz.
const AAC: [(&[u8], u32); 2] = [(&[0x11, 0x90], 48_000), (&[0x12, 0x10], 44_100)];

/// A publisher's turn.
#[derive(Clone, Debug)]
struct Turns {
    pictures: usize,
    /// Frames from one keyframe to the next.
    group: usize,
    /// Milliseconds from one frame to the next.
    step: i64,
    /// Lead of the audio over the video, in milliseconds.
    ahead: i64,
    /// Milliseconds without media before it.
    pause: i64,
    /// Headers it begins with, and the video frame and audio frame at which it changes to the others.
    headers: usize,
    changes: (usize, usize),
    has_pictures: bool,
    has_audio: bool,
    is_framed: bool,
}

fn turns() -> impl Strategy<Value = Turns> {
    (
        (1_usize..400, 1_usize..300, 20_i64..100),
        (-300_i64..300, 0_i64..20_000),
        (0_usize..2, (0_usize..800, 0_usize..2_000)),
        (any::<bool>(), any::<bool>(), any::<bool>()),
    )
        .prop_map(|(pictures, times, headers, has)| Turns {
            pictures: pictures.0,
            group: pictures.1,
            step: pictures.2,
            ahead: times.0,
            // Half of all publishers follow at once.
            pause: (times.1 - 10_000).max(0),
            headers: headers.0,
            changes: headers.1,
            has_pictures: has.0 || !has.1,
            has_audio: has.1,
            is_framed: has.2,
        })
}

fn track(id: TrackId, codec: Codec, config: impl Into<Bytes>) -> Track {
    let kind = match id {
        TrackId::VIDEO => Kind::Video,
        _ => Kind::Audio,
    };
    Track {
        config: config.into(),
        ..Track::new(id, kind, codec, Framing::Bare)
    }
}

fn h264(headers: usize) -> Item {
    let record = AvcConfig::write(&[SPS[headers % 2]], &[PPS]).expect("readable sets");
    Item::Track(track(TrackId::VIDEO, Codec::H264, record).into())
}

fn aac(headers: usize, is_framed: bool) -> Item {
    let bare = track(TrackId::AUDIO, Codec::Aac, AAC[headers % 2].0);
    let forms = [Framing::Bare, Framing::SelfFramed];
    let framing = forms[usize::from(is_framed)];
    Item::Track(Track { framing, ..bare }.into())
}

fn sample(track: TrackId, millis: i64, keyframe: bool, data: Vec<u8>) -> Item {
    let at = Timestamp::from_millis(millis.max(0));
    Item::Sample(Sample {
        keyframe,
        ..Sample::frame(track, at, Span::ZERO, data.into())
    })
}

/// A slice after its length.
fn picture(millis: i64, keyframe: bool) -> Item {
    let first = if keyframe { 0x65 } else { 0x41 };
    let data = vec![0, 0, 0, 5, first, 0x88, 0x84, 0x21, 0xA0];
    sample(TrackId::VIDEO, millis, keyframe, data)
}

fn frame(millis: i64, headers: usize, is_framed: bool) -> Item {
    let mut data = b"an access unit".to_vec();
    if is_framed {
        let writer = container::adts::Writer::new(AAC[headers % 2].0).expect("AAC-LC");
        let header = writer.header(data.len()).expect("short enough");
        data.splice(..0, header);
    }
    sample(TrackId::AUDIO, millis, true, data)
}

/// One publisher's items from `begin` on, in the order of arrival, and where they end.
fn items_of(turn: &Turns, begin: i64) -> (Vec<Item>, i64) {
    let end = begin + turn.pictures as i64 * turn.step;
    let mut timed: Vec<(i64, Item)> = Vec::new();
    let mut announced = Vec::new();
    if turn.has_pictures {
        announced.push(h264(turn.headers));
        for n in 0..turn.pictures {
            let at = begin + n as i64 * turn.step;
            let is_change = n == turn.changes.0;
            if is_change {
                timed.push((at, h264(turn.headers + 1)));
            }
            timed.push((at, picture(at, n % turn.group == 0)));
        }
    }
    if turn.has_audio {
        announced.push(aac(turn.headers, turn.is_framed));
        let mut headers = turn.headers;
        let mut at = begin as f64;
        for n in 0.. {
            if at >= end as f64 {
                break;
            }
            let millis = at as i64;
            if n == turn.changes.1 {
                headers += 1;
                timed.push((millis - turn.ahead, aac(headers, turn.is_framed)));
            }
            timed.push((millis - turn.ahead, frame(millis, headers, turn.is_framed)));
            at += 1_024_000.0 / f64::from(AAC[headers % 2].1);
        }
    }
    timed.sort_by_key(|(arrival, _)| *arrival);
    announced.extend(timed.into_iter().map(|(_, item)| item));
    (announced, end)
}

fn stream(turns: &[Turns]) -> Vec<Item> {
    let mut all = Vec::new();
    let mut end = 0;
    for (number, turn) in turns.iter().enumerate() {
        if number > 0 {
            all.push(Item::Epoch);
        }
        let (items, until) = items_of(turn, end + turn.pause);
        all.extend(items);
        end = until;
    }
    all
}

/// Both lanes have the same segments, and the other one needs nothing before them.
fn check_same(fragments: &Written, others: &Written) -> Result<(), TestCaseError> {
    let (fragments, others) = (fragments.index().segments, others.index().segments);
    prop_assert!(!fragments.is_empty() && !others.is_empty());
    // Logs drop whole pages, of which one container fills more than the other.
    for (fragments, others) in fragments.iter().rev().zip(others.iter().rev()) {
        prop_assert_eq!(facts(fragments), facts(others));
        prop_assert!(others.preamble.bytes.is_empty());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_transport_stream_has_the_segments_of_fragmented_mp4(
        turns in proptest::collection::vec(turns(), 1..5),
    ) {
        let items = stream(&turns);
        let packets = Written::ts(&items);
        check_same(&Written::mp4(&items), &packets)?;
        for segment in packets.segments() {
            // PAT and PMT.
            prop_assert_eq!(&segment[..3], [0x47, 0x40, 0]);
            prop_assert_eq!(&segment[188..191], [0x47, 0x40, 0x20]);
        }
    }

    #[test]
    fn packed_audio_has_the_segments_of_fragmented_mp4(
        turns in proptest::collection::vec(turns(), 1..5),
    ) {
        let only_audio = |turn: &Turns| Turns {
            has_pictures: false,
            has_audio: true,
            ..turn.clone()
        };
        let turns: Vec<_> = turns.iter().map(only_audio).collect();
        let items = stream(&turns);
        let packed = Written::packed_audio(&items);
        check_same(&Written::mp4(&items), &packed)?;
        prop_assert!(packed.segments().iter().all(|segment| segment.starts_with(b"ID3\x04")));
    }
}
