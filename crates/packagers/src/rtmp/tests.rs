//! The lane's bytes, read back by our own reader and by one that shares no code with it.

use bytes::{Bytes, BytesMut};
use container::flv::Depacketizer;
use media::{Codec, Framing, Sample, Script, Span, TrackId};
use proptest::prelude::*;
use rml_rtmp::chunk_io::ChunkDeserializer;
use rtmp::chunk::{Limits, Reader, write};

use super::*;

const EVERYTHING: Shape = Shape {
    message_stream: 1,
    audio: true,
    video: true,
    wraps_metadata: false,
};

/// A message as a player sees it: type, time, body.
type Seen = (u8, u32, Vec<u8>);

/// A unit as the lane's log keeps it.
struct Unit {
    bytes: Vec<u8>,
    join: Option<Arc<Preamble>>,
    /// Generation of the unit as the log counts it: that of the newest join point so far.
    generation: u32,
}

/// A log that forgets nothing.
#[derive(Default)]
struct Notebook {
    open: Vec<u8>,
    units: Vec<Unit>,
    at: Timestamp,
}

impl Log for Notebook {
    fn put(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
    }

    fn end_unit(&mut self, at: Timestamp, entry: Entry) {
        assert!(!self.open.is_empty(), "a unit has a byte");
        assert!(at >= self.at, "a lane's time never goes back");
        self.at = at;
        let last = self.units.last().map_or(0, |unit| unit.generation);
        let join = match entry {
            Entry::Join(preamble) => Some(preamble),
            Entry::None | Entry::Sealed => None,
        };
        self.units.push(Unit {
            bytes: std::mem::take(&mut self.open),
            generation: join.as_ref().map_or(last, |join| join.generation),
            join,
        });
    }
}

impl Notebook {
    fn of(shape: Shape, items: &[Item]) -> Self {
        let mut log = Self::default();
        let mut packager = Rtmp::new(shape);
        for item in items {
            packager.write(item, &mut log);
        }
        log
    }

    fn joins(&self) -> Vec<usize> {
        let units = self.units.iter().enumerate();
        let joins = units.filter(|(_, unit)| unit.join.is_some());
        joins.map(|(index, _)| index).collect()
    }

    fn preamble(&self, join: usize) -> &Preamble {
        self.units[join].join.as_ref().expect("a join point")
    }

    /// Returns the bytes sent to a player that joins at `join`, leaves before the unit `exit`, and continues at `resume`.
    fn sent(&self, join: usize, skip: Option<(usize, usize)>) -> Vec<u8> {
        let bytes = |units: &[Unit]| -> Vec<_> {
            let bytes = units.iter().map(|unit| &unit.bytes[..]);
            bytes.collect::<Vec<_>>().concat()
        };
        let opening = self.preamble(join).bytes.to_vec();
        let Some((exit, resume)) = skip else {
            return [opening, bytes(&self.units[join..])].concat();
        };
        let again = self.preamble(resume);
        let renewal = if self.units[exit].generation == again.generation {
            &[]
        } else {
            &again.bytes[again.resume_from..]
        };
        let before = bytes(&self.units[join..exit]);
        let after = bytes(&self.units[resume..]);
        [opening, before, renewal.to_vec(), after].concat()
    }
}

/// Reads chunks with our reader and with `rml_rtmp`'s, which must agree.
fn read(bytes: &[u8]) -> Vec<Seen> {
    let ours = read_ours(bytes);
    assert_eq!(ours, read_theirs(bytes));
    ours
}

fn read_ours(bytes: &[u8]) -> Vec<Seen> {
    let mut reader = Reader::new(Limits::PUBLISHER);
    let mut announced = BytesMut::new();
    let size = Header {
        csid: 2,
        timestamp: 0,
        kind: Kind::SetChunkSize,
        stream_id: 0,
    };
    write(&size, &CHUNK_SIZE_SHARED.to_be_bytes(), 128, &mut announced);
    announced.extend_from_slice(bytes);
    let mut input = &announced[..];
    let mut seen = Vec::new();
    while let Some(message) = reader.read(&mut input).unwrap() {
        assert_eq!(message.stream_id, 1);
        let kind = message.kind.to_wire();
        seen.push((kind, message.timestamp, message.payload.to_vec()));
    }
    // Whole messages.
    assert_eq!((input.len(), reader.partial_bytes()), (0, 0));
    seen
}

/// Reads with `rml_rtmp`. Its known faults do not matter here: times are only lost in compressed headers, of which the lane has
/// none, and messages are only mixed up when they interleave.
fn read_theirs(bytes: &[u8]) -> Vec<Seen> {
    let mut reader = ChunkDeserializer::new();
    let size = CHUNK_SIZE_SHARED as usize;
    reader.set_max_chunk_size(size).unwrap();
    let mut seen = Vec::new();
    let mut input = bytes;
    while let Some(message) = reader.get_next_message(input).unwrap() {
        assert_eq!(message.message_stream_id, 1);
        let time = message.timestamp.value;
        seen.push((message.type_id, time, message.data.to_vec()));
        input = &[];
    }
    seen
}

/// One step of a stream.
#[derive(Clone, Debug)]
enum Step {
    Picture {
        keyframe: bool,
        composition: u16,
    },
    Audio,
    Text,
    /// From here on video needs another sequence header.
    Header,
}

/// Steps, each with the milliseconds since the last and its bytes.
fn steps() -> impl Strategy<Value = Vec<(Step, i64, usize)>> {
    let picture = (prop::bool::weighted(0.3), 0..2_000u16);
    let picture = picture.prop_map(|(keyframe, composition)| Step::Picture {
        keyframe,
        composition,
    });
    let step = prop_oneof![
        6 => picture,
        4 => Just(Step::Audio),
        1 => Just(Step::Text),
        1 => Just(Step::Header),
    ];
    let chunk = CHUNK_SIZE_SHARED as usize;
    let size = prop_oneof![
        12 => 2..400usize,
        1 => chunk - 10..chunk + 10,
        1 => 2 * chunk - 10..2 * chunk + 10,
        1 => 3 * chunk..4 * chunk,
    ];
    // Below ten seconds in sum, so that audio does not take over for want of video.
    prop::collection::vec((step, 0..250i64, size), 1..36)
}

/// Interesting clock values: the beginning, the first extended times, the sign, the wrap.
fn start() -> impl Strategy<Value = i64> {
    let edge = prop::sample::select(vec![0, 0xFF_FFFF, 1 << 31, 1 << 32, 3 << 32]);
    (edge, 0..4_000i64).prop_map(|(edge, before): (i64, i64)| (edge - before).max(0))
}

/// A show made of steps: its items, and their messages.
struct Show {
    items: Vec<Item>,
    /// Each with whether a player may join there.
    messages: Vec<(Seen, bool)>,
}

fn metadata() -> Item {
    Item::Metadata(script(0, b"\x02\0\x0AonMetaData\x08\0\0\0\0\0\0\x09"))
}

fn script(millis: i64, body: &[u8]) -> Script {
    Script {
        at: Timestamp::from_millis(millis),
        body: Bytes::copy_from_slice(body),
    }
}

fn track(kind: media::Kind, codec: Codec, config: &[u8]) -> Item {
    Item::Track(Arc::new(Track {
        config: Bytes::copy_from_slice(config),
        ..Track::new(TrackId::first(kind), kind, codec, Framing::Bare)
    }))
}

/// The video track's configuration under its n-th sequence header.
fn pictures(number: u8) -> Item {
    track(media::Kind::Video, Codec::H264, &[number; 30])
}

fn audio_frames() -> Item {
    track(media::Kind::Audio, Codec::Aac, &[0x12, 0x10])
}

impl Show {
    fn new(start: i64, steps: &[(Step, i64, usize)]) -> Self {
        let mut items = vec![metadata(), pictures(0), audio_frames()];
        let mut messages = Vec::new();
        let mut header = 0;
        let mut millis = start;
        let mut latest = 0;
        let mut has_begun = false;
        for (step, advance, size) in steps {
            millis += advance;
            let at = Timestamp::from_millis(millis);
            let time = millis as u32;
            // Every body names the sequence header it needs.
            let mut data = vec![0x5A; *size];
            data[0] = header;
            let (item, message, is_join) = match step {
                Step::Picture {
                    keyframe,
                    composition,
                } => {
                    let frame = if *keyframe { 0x17 } else { 0x27 };
                    let [high, low] = composition.to_be_bytes();
                    let body = [&[frame, 1, 0, high, low], &data[..]].concat();
                    let item = sample(TrackId::VIDEO, at, (*composition).into(), *keyframe, data);
                    (item, (9, time, body), *keyframe)
                }
                Step::Audio => {
                    let body = [&[0xAF, 1], &data[..]].concat();
                    let item = sample(TrackId::AUDIO, at, 0, true, data);
                    (item, (8, time, body), false)
                }
                Step::Text => (Item::Script(script(millis, &data)), (18, time, data), false),
                Step::Header => {
                    header += 1;
                    let body = [&[0x17, 0, 0, 0, 0], &[header; 30][..]].concat();
                    (pictures(header), (9, latest as u32, body), false)
                }
            };
            has_begun |= is_join;
            if matches!(step, Step::Picture { .. } | Step::Audio) {
                latest = millis;
            }
            items.push(item);
            if has_begun {
                messages.push((message, is_join));
            }
        }
        Self { items, messages }
    }
}

fn sample(track: TrackId, at: Timestamp, composition: i64, keyframe: bool, data: Vec<u8>) -> Item {
    Item::Sample(Sample {
        pts: at + Span::from_millis(composition),
        keyframe,
        ..Sample::frame(track, at, Span::ZERO, data.into())
    })
}

/// Whether each frame comes after the sequence header that it needs, and a keyframe comes first.
fn can_be_decoded(seen: &[Seen]) -> bool {
    let mut header = None;
    let mut has_key = false;
    let mut pictures = seen.iter().filter(|(kind, ..)| *kind == 9);
    pictures.all(|(_, _, body)| {
        if body[1] == 0 {
            header = Some(body[5]);
            return true;
        }
        has_key |= body[0] == 0x17;
        has_key && header == Some(body[5])
    })
}

proptest! {
    #[test]
    fn the_shared_bytes_are_the_messages(start in start(), steps in steps()) {
        let show = Show::new(start, &steps);
        let log = Notebook::of(EVERYTHING, &show.items);
        let bytes: Vec<u8> = log.units.iter().flat_map(|unit| unit.bytes.clone()).collect();
        let messages: Vec<_> = show.messages.iter().map(|(seen, _)| seen.clone()).collect();
        prop_assert_eq!(read(&bytes), messages);
        let is_join = show.messages.iter().map(|(_, is_join)| *is_join);
        prop_assert!(is_join.eq(log.units.iter().map(|unit| unit.join.is_some())));
    }

    #[test]
    fn a_player_may_begin_and_skip_wherever_it_is_allowed(
        start in start(),
        steps in steps(),
        [join, exit, resume] in any::<[prop::sample::Index; 3]>(),
    ) {
        let keyframe = Step::Picture {
            keyframe: true,
            composition: 0,
        };
        let ends = [(keyframe, 40, 100)];
        let show = Show::new(start, &[&ends[..], &steps, &ends].concat());
        let log = Notebook::of(EVERYTHING, &show.items);
        let joins = log.joins();
        let join = *join.get(&joins[..joins.len() - 1]);
        let messages: Vec<_> = show.messages.iter().map(|(seen, _)| seen.clone()).collect();

        let seen = read(&log.sent(join, None));
        prop_assert!(can_be_decoded(&seen));
        let (opening, rest) = seen.split_at(3);
        prop_assert_eq!(rest, &messages[join..]);
        let (_, time, _) = messages[join];
        for (kind, at, _) in opening {
            // At any other time ffmpeg treats metadata as a separate track.
            let stamp = if *kind == 18 { 0 } else { time };
            prop_assert_eq!(*at, stamp, "stamped like the join");
        }
        let kinds: Vec<_> = opening.iter().map(|(kind, ..)| *kind).collect();
        prop_assert_eq!(kinds, [18, 9, 8]);

        let resumes: Vec<_> = joins.into_iter().filter(|resume| *resume > join).collect();
        let resume = *resume.get(&resumes);
        let exit = join + exit.index(resume - join);
        let seen = read(&log.sent(join, Some((exit, resume))));
        prop_assert!(can_be_decoded(&seen));
        prop_assert!(seen.ends_with(&messages[resume..]));
        prop_assert_eq!(&seen[3..3 + exit - join], &messages[join..exit]);
    }
}

/// Two groups of pictures, with audio between.
fn two_groups() -> Vec<Item> {
    let mut steps = Vec::new();
    for keyframe in [true, false, false, true, false] {
        let picture = Step::Picture {
            keyframe,
            composition: 0,
        };
        steps.extend([(Step::Audio, 20, 10), (picture, 20, 100)]);
    }
    Show::new(0, &steps).items
}

#[test]
fn lanes_of_one_kind_wait_for_nothing_else() {
    let kinds = |shape| {
        let log = Notebook::of(shape, &two_groups());
        let joins = log.joins();
        let seen = read(&log.sent(joins[0], None));
        let kinds: Vec<_> = seen.iter().map(|(kind, ..)| *kind).collect();
        (joins, kinds)
    };
    let audio = Shape {
        video: false,
        ..EVERYTHING
    };
    let expected = [&[18][..], &[8; 6]].concat();
    assert_eq!(kinds(audio), ((0..5).collect(), expected));
    let pictures = Shape {
        audio: false,
        ..EVERYTHING
    };
    assert_eq!(kinds(pictures), (vec![0, 3], [&[18][..], &[9; 6]].concat()));
    // Metadata that announces video delays no player if there is none.
    let mut items = two_groups();
    items[0] = Item::Metadata(script(0, b"\x02\0\x0AonMetaData\x08width videocodecid"));
    items.retain(|item| !matches!(item, Item::Track(track) if track.id == TrackId::VIDEO));
    assert_eq!(Notebook::of(audio, &items).joins(), [0, 1, 2, 3, 4]);
    assert_eq!(Notebook::of(EVERYTHING, &items).joins(), [0; 0]);
}

#[test]
fn metadata_is_wrapped_for_push_targets() {
    let shape = Shape {
        wraps_metadata: true,
        ..EVERYTHING
    };
    let mut items = two_groups();
    items.push(Item::Script(script(7, b"\x02\0\x0AonTextData")));
    items.push(Item::Metadata(script(8, b"\x02\0\x0AonMetaDatanew")));
    let log = Notebook::of(shape, &items);
    let seen = read(&log.sent(0, None));
    let wrapped = b"\x02\0\x0D@setDataFrame\x02\0\x0AonMetaData";
    assert!(seen[0].2.starts_with(wrapped));
    let [.., text, metadata] = &seen[..] else {
        panic!("two data messages")
    };
    assert_eq!((text.1, &text.2[..]), (7, &b"\x02\0\x0AonTextData"[..]));
    let wrapped = b"\x02\0\x0D@setDataFrame\x02\0\x0AonMetaDatanew";
    assert_eq!((metadata.1, &metadata.2[..]), (200, &wrapped[..]));
}

#[test]
fn the_message_stream_is_the_players_own() {
    let shape = Shape {
        message_stream: 2,
        ..EVERYTHING
    };
    let log = Notebook::of(shape, &two_groups());
    assert_eq!(log.units[0].bytes[8..12], [2, 0, 0, 0]);
    assert_eq!(log.preamble(0).bytes[8..12], [2, 0, 0, 0]);
}

/// Messages of a publisher: each a type and a body, 40 ms after the previous one.
fn published(bodies: &[(u8, &'static [u8])]) -> Vec<Item> {
    let mut depacketizer = Depacketizer::default();
    let mut items = Vec::new();
    for (number, (kind, body)) in (0..).zip(bodies) {
        let at = Timestamp::from_millis(number * 40);
        let body = Bytes::from_static(body);
        match kind {
            8 => depacketizer.audio(at, body, &mut items),
            9 => depacketizer.video(at, body, &mut items),
            _ => items.push(Item::Script(Script { at, body })),
        }
    }
    items
}

#[test]
fn enhanced_bodies_arrive_as_they_were_sent() {
    // Of each codec a header, its colour, a keyframe, two other pictures and another keyframe.
    let codecs: [&'static [u8]; 24] = [
        b"\x90hvc1header",
        b"\x94hvc1colour",
        b"\x91hvc1\0\0\x28key",
        b"\xA7\x02\0\x30\x39\x01hvc1\0\0\0nanoseconds",
        b"\xA3hvc1delta",
        b"\x93hvc1second key",
        b"\x95av01header",
        b"\x94av01colour",
        b"\x91av01key",
        b"\xA1av01delta",
        b"\xC1av01generated",
        b"\x91av01second key",
        b"\x90vp09header",
        b"\x94vp09colour",
        b"\x91vp09key",
        b"\xA1vp09delta",
        b"\xB1vp09disposable",
        b"\x91vp09second key",
        b"\x90wxyzheader",
        b"\x94wxyzcolour",
        b"\x91wxyzkey",
        b"\xA1wxyzdelta",
        b"\xA8wxyzof a type to come",
        b"\x91wxyzsecond key",
    ];
    let modified = b"\x97\x02\0\0\x09\x01ec-3frame";
    let audio_frames: [[&'static [u8]; 3]; 4] = [
        [b"\x90OpusOpusHead", b"\x94Opus\x01\x02", b"\x91Opusframe"],
        [b"\x90fLaCheader", b"\x94fLaC\x01\x06", b"\x91fLaCframe"],
        [b"\x90ac-3", b"\x94ac-3\x01\x06", b"\x91ac-3frame"],
        [b"\x90ec-3", b"\x94ec-3\x01\x06", modified],
    ];
    for (video, audio) in codecs.as_chunks::<6>().0.iter().zip(audio_frames) {
        let text: &[u8] = b"\x02\0\x0AonTextData\x05";
        let [header, colour, key, first, second, key_again] = *video;
        let [audio_header, channels, audio] = audio;
        let opening = [(9, header), (9, colour), (8, audio_header), (8, channels)];
        let group = [(9, key), (8, audio), (9, first), (18, text), (9, second)];
        let next = [(9, key_again), (8, audio)];
        let items = published(&[&opening[..], &group, &next].concat());
        let log = Notebook::of(EVERYTHING, &items);
        let heard = |join| -> Vec<_> {
            let seen = read(&log.sent(join, None)).into_iter();
            seen.map(|(kind, _, body)| (kind, body)).collect()
        };
        let owned = |parts: &[&[(u8, &[u8])]]| -> Vec<_> {
            let bodies = parts.concat().into_iter();
            bodies.map(|(kind, body)| (kind, body.to_vec())).collect()
        };
        assert_eq!(log.joins(), [0, 5]);
        assert_eq!(heard(0), owned(&[&opening, &group, &next]));
        assert_eq!(heard(5), owned(&[&opening, &next]));
    }
}

#[test]
fn each_track_of_many_is_configured_for_joiners() {
    let items = published(&[
        (9, b"\x96\x10hvc1\x00\0\0\x01A\x01\0\0\x01B"),
        (9, b"\x96\x00av01\x02C"),
        (8, b"\x95\x20mp4a\x00\0\0\x02\x12\x10Opus\x01\0\0\x01D"),
        (9, b"\x96\x13hvc1\x00\0\0\x01a\x01\0\0\x01b"),
        (9, b"\x96\x01av01\x02c"),
        (8, b"\x95\x21mp4a\x00\0\0\x01aOpus\x01\0\0\x01d"),
        (9, b"\xA6\x13hvc1\x00\0\0\x01a\x01\0\0\x01b"),
        (9, b"\x96\x13hvc1\x00\0\0\x01a\x01\0\0\x01b"),
    ]);
    let log = Notebook::of(EVERYTHING, &items);
    let joins = log.joins();
    assert_eq!(joins.len(), 2, "keyframes of the first picture track");
    let seen = read(&log.preamble(joins[1]).bytes);
    let bodies: Vec<_> = seen.iter().map(|(_, _, body)| &body[..]).collect();
    let expected = [
        &b"\x96\x00hvc1\x00A"[..],
        b"\x96\x00hvc1\x01B",
        b"\x96\x00av01\x02C",
        b"\x90mp4a\x12\x10",
        b"\x95\x00Opus\x01D",
    ];
    assert_eq!(bodies, expected);
}

#[test]
fn a_new_header_reaches_those_present_before_its_first_frame() {
    let items = published(&[
        (9, b"\x90hvc1one"),
        (9, b"\x94hvc1red"),
        (9, b"\x91hvc1\0\0\0key"),
        (9, b"\x90hvc1two"),
        (9, b"\x94hvc1blue"),
        (9, b"\x91hvc1\0\0\0key"),
        (9, b"\x94hvc1grey"),
        (9, b"\x94hvc1grey"),
        (9, b"\x91hvc1\0\0\0key"),
    ]);
    let log = Notebook::of(EVERYTHING, &items);
    let [first, second, third] = log.joins()[..] else {
        panic!("three keyframes")
    };
    let text = |body: &[u8]| String::from_utf8_lossy(&body[5..]).replace('\0', "");
    let bodies = |bytes: &[u8]| -> Vec<_> {
        let seen = read(bytes).into_iter();
        seen.map(|(_, _, body)| text(&body)).collect()
    };
    let everything = ["one", "red", "key", "two", "blue", "key", "grey", "key"];
    assert_eq!(bodies(&log.sent(first, None)), everything);
    assert_eq!(bodies(&log.preamble(second).bytes), ["two", "blue"]);
    assert_eq!(bodies(&log.preamble(third).bytes), ["two", "grey"]);
    let generations = [first, second, third].map(|join| log.preamble(join).generation);
    assert!(generations[0] < generations[1] && generations[1] < generations[2]);
}

#[test]
fn codecs_without_headers_are_joined_all_the_same() {
    // Sorenson H.263 and Speex; then linear PCM alone.
    let items = published(&[
        (9, b"\x12key"),
        (8, b"\xB2speex"),
        (9, b"\x22delta"),
        (9, b"\x12key"),
    ]);
    let log = Notebook::of(EVERYTHING, &items);
    assert_eq!(log.joins(), [0, 3]);
    assert!(log.preamble(0).bytes.is_empty());
    let items = published(&[(8, b"\x3Fone"), (8, b"\x3Ftwo")]);
    assert_eq!(Notebook::of(EVERYTHING, &items).joins(), [0, 1]);
}
