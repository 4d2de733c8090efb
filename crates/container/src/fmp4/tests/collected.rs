//! Data that sinks receive of a fragment before it is written, and data that they may write before it.

use bytes::Bytes;
use media::{Codec, EventContent, Kind, TimedEvent, TrackId};

use super::super::{Collected, MediaTime, Turn, event_message, tag_message};
use super::*;
use crate::id3::Tag;
use crate::scte35;
use crate::testing::id3_frames;

/// Writes an event before each fragment, and keeps its samples.
#[derive(Default)]
struct Teller {
    log: Log,
    fragments: Vec<(Unit, Vec<Sample>)>,
    /// The tracks of each.
    codecs: Vec<[Option<Codec>; 2]>,
    times: Vec<MediaTime>,
    is_collecting: bool,
}

impl FragmentSink for Teller {
    type Preamble = Arc<Init>;

    fn put(&mut self, bytes: &[u8]) {
        self.log.put(bytes);
    }

    fn fragment(&mut self, fragment: Collected<'_>) {
        assert!(!std::mem::replace(&mut self.is_collecting, true));
        let at = fragment.presented_at();
        let tag = Tag::default().title("A title").into_bytes();
        self.put(&tag_message(at, &tag));
        self.times.push(at);
        let samples = fragment.samples().collect();
        self.fragments.push((fragment.unit(), samples));
        let codec = |kind| fragment.track(kind).map(|track| track.codec);
        self.codecs.push([Kind::Video, Kind::Audio].map(codec));
        fragment.write(&mut |bytes| self.log.put(bytes));
    }

    fn preamble(&mut self, init: &Init) -> Arc<Init> {
        self.log.preamble(init)
    }

    fn end_unit(&mut self, unit: Unit, join: Option<Arc<Init>>) {
        if unit.content == Content::Fragment {
            assert!(std::mem::take(&mut self.is_collecting));
            assert_eq!(self.fragments.last().map(|last| last.0), Some(unit));
        }
        self.log.end_unit(unit, join);
    }
}

fn reported(items: &[Item]) -> Teller {
    let mut teller = Teller::default();
    let mut muxer = Muxer::new(FRAGMENT_SPAN);
    items.iter().for_each(|item| muxer.push(item, &mut teller));
    muxer.finish(&mut teller);
    teller
}

#[test]
fn samples_are_those_that_are_written() {
    let items = broadcast(2, (25, 1), 25);
    let teller = reported(&items);
    let both = [Some(Codec::H264), Some(Codec::Aac)];
    assert!(teller.codecs.iter().all(|codecs| *codecs == both));
    let file = teller.log.file();
    assert_eq!(file.fragments.len(), teller.fragments.len());
    for (fragment, (unit, samples)) in file.fragments.iter().zip(&teller.fragments) {
        for (id, track, scale) in [(1, TrackId::VIDEO, 90_000_u32), (2, TrackId::AUDIO, 48_000)] {
            let at = |units| Timestamp::ZERO + Span::from_samples(units, scale);
            let rows = fragment.rows(id).iter();
            let rows = rows.map(|row| (&row.data[..], at(row.at), row.is_sync));
            let of_track = samples.iter().filter(|sample| sample.track == track);
            let of_track = of_track.map(|it| (&it.data[..], it.dts, it.keyframe));
            assert!(rows.eq(of_track));
        }
        assert_eq!(samples[0].dts, unit.at, "the first picture leads");
        let behind = &samples[1..];
        assert!(behind.windows(2).all(|pair| pair[0].dts <= pair[1].dts));
    }
}

#[test]
fn audio_alone_is_timed_by_its_own_clock() {
    let audio_frames: Vec<_> = (0..50).map(|n| audio(n * 1_024 / 48 + 1_000)).collect();
    let teller = reported(&[vec![aac()], audio_frames].concat());
    let first = MediaTime {
        count: 48_000,
        timescale: 48_000,
    };
    assert_eq!(teller.times.first(), Some(&first));
    assert_eq!(teller.codecs[0], [None, Some(Codec::Aac)]);
    let samples = teller.fragments.iter().flat_map(|(_, samples)| samples);
    let frame = Span::from_samples(1_024, 48_000);
    let begins = Timestamp::from_millis(1_000);
    assert_eq!(samples.clone().count(), 50);
    for (n, sample) in samples.enumerate() {
        let at = begins + Span::from_samples(1_024 * n as u64, 48_000);
        assert_eq!((sample.dts, sample.duration), (at, frame));
    }
}

#[test]
fn what_an_epoch_leaves_over_is_late() {
    let mut items = broadcast(1, (25, 1), 25);
    items.push(Item::Epoch);
    items.push(h264());
    items.push(picture(1_040, true));
    items.push(picture(1_080, false));
    let teller = reported(&items);
    let units = teller.fragments.iter().map(|it| it.0);
    let turns: Vec<_> = units.map(|unit| (unit.turn, unit.begins_epoch)).collect();
    assert_eq!(turns[0], (Turn::InTime, true));
    let last = [(Turn::Late, false), (Turn::InTime, true)];
    assert_eq!(turns[turns.len() - 2..], last);
    let (_, late) = &teller.fragments[turns.len() - 2];
    assert!(late.iter().any(|it| it.track == TrackId::VIDEO));
}

#[test]
fn an_epoch_of_one_picture_has_its_own_tracks_although_it_is_late() {
    let items = [
        vec![h264(), picture(0, true), Item::Epoch],
        vec![aac(), audio(200)],
    ];
    let teller = reported(&items.concat());
    let shape = teller.fragments.iter().zip(&teller.codecs);
    let shape = shape.map(|((unit, _), codecs)| (unit.turn, unit.begins_epoch, *codecs));
    assert!(shape.eq([
        (Turn::Late, true, [Some(Codec::H264), None]),
        (Turn::InTime, true, [None, Some(Codec::Aac)]),
    ]));
}

#[test]
fn an_event_message_is_byte_for_byte_as_specified() {
    let tag = Tag::default().title("x").into_bytes();
    let at = MediaTime {
        count: 0x1_0000_0002,
        timescale: 90_000,
    };
    let bytes = tag_message(at, &tag);
    let expected = [
        &b"\x00\x00\x00\x54emsg\x01\x00\x00\x00"[..],
        &[0, 1, 0x5F, 0x90],
        &[0, 0, 0, 1, 0, 0, 0, 2],
        &[0xFF; 4],
        &[0, 0, 0, 2],
        b"https://aomedia.org/emsg/ID3\0\0",
        &tag,
    ];
    assert_eq!(bytes, expected.concat());
    assert_eq!(id3_frames(&bytes[62..]).len(), 1);
}

#[test]
fn an_event_message_of_a_break_has_its_section_and_its_length() {
    let insert = scte35::Insert {
        event: 7,
        is_out: true,
        duration: Some(30 * 90_000),
    };
    let section = Bytes::from(scte35::write(&insert));
    let cue = scte35::parse(&section).expect("just written");
    let event = TimedEvent {
        at: Timestamp::ZERO,
        content: EventContent::Cue(cue.into_cue(section.clone(), None)),
        is_scripted: false,
    };
    let at = MediaTime {
        count: 2,
        timescale: 48_000,
    };
    let bytes = event_message(at, &event);
    let expected = [
        &48_000_u32.to_be_bytes()[..],
        &[0, 0, 0, 0, 0, 0, 0, 2],
        &(30_u32 * 48_000).to_be_bytes(),
    ];
    assert_eq!(bytes[12..28], expected.concat());
    assert!(bytes.ends_with(&[b"urn:scte:scte35:2013:bin\0\0", &section[..]].concat()));
    let other = MediaTime { count: 3, ..at };
    let later = event_message(other, &event);
    assert_ne!(bytes[28..32], later[28..32], "the identifier");
}
