//! Tags, bodies and files, each against what the formats say.

mod enhanced;

use std::sync::Arc;

use bytes::Bytes;
use media::codec::opus;
use media::{Codec, Framing, Item, Kind, Sample, Script, Span, Timestamp, Track};
use proptest::prelude::*;

use super::*;
use crate::testing::{pieces, read_flv, samples, track, tracks};

const AVCC: &[u8] = &[
    1, 0x42, 0xC0, 0x0C, 0xFF, 0xE1, 0, 4, 0x67, 0x42, 0xC0, 0x0C, 1, 0, 4, 0x68, 0xCB, 0x83, 0xCB,
];

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn h264_track() -> Track {
    track(Codec::H264, AVCC)
}

fn aac_track() -> Track {
    Track {
        sample_rate: 44_100,
        channels: 2,
        ..track(Codec::Aac, &[0x12, 0x10])
    }
}

fn mp3_track() -> Track {
    Track {
        codec: Codec::Mp3,
        config: Bytes::new(),
        ..aac_track()
    }
}

/// `config` is the body of its sequence header.
fn hevc_track(config: &'static [u8]) -> Track {
    Track {
        codec: Codec::Hevc,
        config: Bytes::from_static(&config[5..]),
        flv: Some(whole::join(config, b"")),
        ..h264_track()
    }
}

fn sample(track: &Track, dts: i64, pts: i64, keyframe: bool, data: impl Into<Vec<u8>>) -> Sample {
    let duration = match track.codec {
        Codec::Aac => Span::from_samples(1_024, 44_100),
        Codec::Mp3 => Span::from_samples(1_152, 44_100),
        _ => Span::ZERO,
    };
    Sample {
        pts: at(pts),
        keyframe,
        ..Sample::frame(track.id, at(dts), duration, data.into().into())
    }
}

/// The tag of a sample, whole.
fn tag_of(track: &Track, sample: &Sample) -> Vec<u8> {
    let mut tag = Vec::new();
    let put = &mut |bytes: &[u8]| tag.extend_from_slice(bytes);
    Tag::sample(track, sample).unwrap().write(put);
    tag
}

/// Feeds video bodies, one per millisecond.
fn video(bodies: &[&'static [u8]]) -> Vec<Item> {
    let bodies = bodies.iter().map(|body| Bytes::from_static(body));
    depacketized((0..).zip(bodies).map(|(at, body)| (true, at, body)))
}

fn audio(bodies: &[&'static [u8]]) -> Vec<Item> {
    let bodies = bodies.iter().map(|body| Bytes::from_static(body));
    depacketized((0..).zip(bodies).map(|(at, body)| (false, at, body)))
}

/// The items of bodies of video or audio at these times.
fn depacketized(bodies: impl IntoIterator<Item = (bool, i64, Bytes)>) -> Vec<Item> {
    let mut depacketizer = Depacketizer::default();
    let mut out = Vec::new();
    for (is_video, millis, body) in bodies {
        match is_video {
            true => depacketizer.video(at(millis), body, &mut out),
            false => depacketizer.audio(at(millis), body, &mut out),
        }
    }
    out
}

/// A short word for each item, so that a test reads as a list.
fn words(items: &[Item]) -> Vec<String> {
    let words = items.iter().map(|item| match item {
        Item::Track(track) => {
            let is_kept = track.flv.is_some();
            let form = if is_kept { "kept" } else { "plain" };
            format!("track {} {} {form}", track.id.0, track.codec)
        }
        Item::Sample(sample) => {
            let form = if sample.keyframe { "key" } else { "delta" };
            format!("{} {form} {}", sample.track.0, sample.bytes())
        }
        other => format!("{other:?}"),
    });
    words.collect()
}

fn leaked(parts: &[&[u8]]) -> &'static [u8] {
    Vec::leak(parts.concat())
}

fn avc_header() -> &'static [u8] {
    leaked(&[&[0x17, 0, 0, 0, 0], AVCC])
}

/// Returns what a track keeps of its publisher's: its sequence header, and its facts.
fn kept(track: &Track) -> (&[u8], &[u8]) {
    whole::split(track.flv.as_deref().unwrap_or_default())
}

#[test]
fn a_tag_is_written_to_the_byte() {
    let mut written = file_header(true, true).to_vec();
    let mut emit = |bytes: &[u8]| written.extend_from_slice(bytes);
    let track = h264_track();
    let picture = sample(&track, 0x0123_4567, 0x0123_45B7, true, *b"nal");
    Tag::sample(&track, &picture).unwrap().write(&mut emit);
    let audio = aac_track();
    Tag::headers(&audio, at(5)).for_each(|tag| tag.write(&mut emit));
    let expected = [
        b"FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00".as_slice(),
        b"\x09\x00\x00\x08\x23\x45\x67\x01\x00\x00\x00\x17\x01\x00\x00\x50nal\x00\x00\x00\x13",
        b"\x08\x00\x00\x04\x00\x00\x05\x00\x00\x00\x00\xAF\x00\x12\x10\x00\x00\x00\x0F",
    ];
    assert_eq!(written, expected.concat());
}

#[test]
fn timestamps_wrap_and_never_point_backwards() {
    let track = aac_track();
    for (millis, stamp) in [
        (0xFF_FFFF, 0xFF_FFFF),
        (0x100_0000, 0x100_0000),
        (0x8000_0001, 1),
        (-40, 0),
    ] {
        let tag = tag_of(&track, &sample(&track, millis, millis, true, *b"x"));
        let written = u32::from_be_bytes([tag[7], tag[4], tag[5], tag[6]]);
        assert_eq!(written, stamp, "{millis}");
    }
}

#[test]
fn what_flv_cannot_carry_is_not_written() {
    let ogg = Track {
        codec: Codec::Vorbis,
        framing: Framing::SelfFramed,
        ..aac_track()
    };
    let adts = Track {
        framing: Framing::SelfFramed,
        ..aac_track()
    };
    for track in [ogg, adts] {
        assert!(!carries(&track));
        assert_eq!(Tag::headers(&track, at(0)).count(), 0);
        assert!(Tag::sample(&track, &sample(&track, 0, 0, true, *b"x")).is_none());
    }
    assert!(carries(&mp3_track()));
    assert_eq!(Tag::headers(&mp3_track(), at(0)).count(), 0);
}

#[test]
fn a_sequence_header_repeated_is_no_news_and_a_changed_one_is() {
    let mut changed = avc_header().to_vec();
    changed[8] = 0x0D;
    let key = b"\x17\x01\0\0\0key";
    let items = video(&[avc_header(), key, avc_header(), changed.leak()]);
    let track = "track 1 h264 plain";
    assert_eq!(words(&items), [track, "1 key 3", track]);
}

#[test]
fn what_carries_no_media_is_passed_over() {
    let items = video(&[
        b"",
        b"\x17",
        b"\x17\x01\0",
        b"\x27\x01\0\0\0before the header",
        avc_header(),
        b"\x57\0\0\0\0",   // information for the player
        b"\x17\x01\0\0\0", // an empty frame
        b"\x17\x02\0\0\0", // end of sequence
        b"\x17\x00\0\0\0", // an empty header
        b"\x27\x01\0\0\x28delta",
    ]);
    assert_eq!(words(&items), ["track 1 h264 plain", "1 delta 5"]);
    let last = samples(&items)[0];
    assert_eq!((last.dts, last.pts), (at(9), at(49)));
    let items = audio(&[
        b"",
        b"\xAF",
        b"\xAF\x00",
        b"\xAF\x01early",
        b"\xAF\x00\x12\x10",
        b"\xAF\x01",
    ]);
    assert_eq!(words(&items), ["track 0 aac plain"]);
}

#[test]
fn enhanced_names_of_known_audio_are_bare_too() {
    let mp3 = b"\x91.mp3\xFF\xFB\x90\x64rest";
    let items = audio(&[b"\x90mp4a\x12\x10", b"\x91mp4aframe", mp3]);
    assert_eq!(words(&items)[..2], ["track 0 aac plain", "0 key 5"]);
    assert_eq!(words(&items)[2..], ["track 0 mp3 plain", "0 key 8"]);
    let mp3 = tracks(&items)[1];
    assert_eq!((mp3.sample_rate, mp3.channels), (44_100, 2));
}

#[test]
fn unknown_codecs_are_relayed_whole() {
    // Sorenson H.263; Speex, G.711, and an unknown codec.
    let items = video(&[b"\x22frame"]);
    assert_eq!(words(&items), ["track 1 FLV1 kept", "1 delta 6"]);
    for (body, codec) in [
        (b"\xB6frame", "speex"),
        (b"\x72frame", "pcma"),
        (b"\x82frame", "pcmu"),
        (b"\x91????x", "????"),
    ] {
        let track = format!("track 0 {codec} kept");
        assert_eq!(words(&audio(&[body])), [&track[..], "0 key 6"]);
    }
}

#[test]
fn a_configuration_that_cannot_be_read_is_relayed_whole() {
    let items = video(&[b"\x17\0\0\0\0odd", b"\x17\x01\0\0\0nal"]);
    assert_eq!(words(&items), ["track 1 h264 kept", "1 key 8"]);
}

#[test]
fn a_codec_change_without_a_header_drops_the_old_configuration() {
    let items = video(&[b"\x90hvc1config", b"\x91av01frame"]);
    assert!(tracks(&items)[1].config.is_empty());
}

#[test]
fn samples_share_the_memory_of_their_message() {
    let body = b"\x17\x01\0\0\0payload";
    let items = video(&[avc_header(), body]);
    assert_eq!(samples(&items)[0].data.as_ptr(), body[5..].as_ptr());
}

#[test]
fn a_picture_may_be_presented_before_it_is_decoded() {
    let bodies: [&'static [u8]; 4] = [
        avc_header(),
        b"\x17\x01\0\0\0key",
        b"\x27\x01\0\0\x78p",
        // -80, as it is on the wire.
        b"\x27\x01\xFF\xFF\xB0b",
    ];
    let items = video(&bodies);
    let samples = samples(&items);
    let distances = samples.iter().map(|it| (it.pts - it.dts).millis());
    assert_eq!(distances.collect::<Vec<_>>(), [0, 120, -80]);
    for (sample, body) in samples.iter().zip(&bodies[1..]) {
        let tag = tag_of(&h264_track(), sample);
        assert_eq!(&tag[11..tag.len() - 4], *body);
    }
}

/// Audio and video flags in the heads of listeners' files.
#[derive(Default)]
struct Heads(Vec<(bool, bool)>);

impl TagSink for Heads {
    type Preamble = ();

    fn tag(&mut self, _: &Tag<'_>) {}

    fn preamble(&mut self, opening: &Opening<'_>) {
        let has = [Kind::Audio, Kind::Video].map(|kind| opening.has(kind));
        self.0.push(has.into());
    }

    fn end_unit(&mut self, _: Timestamp, _: Option<()>) {}
}

#[test]
fn a_file_has_the_tracks_that_its_metadata_announces() {
    let heads = |metadata: &'static [u8]| {
        let mut heads = Heads::default();
        let mut muxer = Muxer::new(Selection::ALL);
        let script = Script {
            at: at(0),
            body: Bytes::from_static(metadata),
        };
        let track = h264_track();
        let picture = sample(&track, 0, 0, true, *b"nal");
        for item in [
            Item::Metadata(script),
            Item::Track(Arc::new(track)),
            Item::Sample(picture),
        ] {
            muxer.push(&item, &mut heads);
        }
        heads.0
    };
    assert_eq!(heads(b"onMetaData audiocodecid"), [(true, true)]);
    assert_eq!(heads(b"onMetaData width"), [(false, true)]);
}

#[test]
fn the_reader_says_what_is_wrong() {
    let read = |bytes: &[u8]| Reader::default().push(bytes, &mut Vec::new());
    assert_eq!(read(b"FLW"), Err(ReadError::NotFlv));
    let far = read(b"FLV\x01\x05\xFF\x00\x00\x00");
    assert_eq!(far, Err(ReadError::HeaderLength(0xFF00_0000)));
    let tag = [9, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0];
    let long = [&file_header(true, true)[..], &tag].concat();
    assert_eq!(read(&long), Err(ReadError::TagTooLong(0xFF_FFFF)));
}

/// Script tags are held for joiners. Too long ones are skipped without being held, and what follows is read,
/// however it is cut.
#[test]
fn a_script_that_is_too_long_is_passed_over() {
    for (length, is_kept) in [
        (SCRIPT_BODY_BYTES_MAX, true),
        (SCRIPT_BODY_BYTES_MAX + 1, false),
        (TAG_BODY_BYTES_MAX, false),
    ] {
        let [_, high, middle, low] = (length as u32).to_be_bytes();
        let mut bytes = file_header(true, true).to_vec();
        bytes.extend_from_slice(&[18, high, middle, low, 0, 0, 0, 0, 0, 0, 0]);
        bytes.resize(bytes.len() + length + 4, 0);
        bytes.extend_from_slice(&[18, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 12]);
        for piece in [4_096, 65_535, bytes.len()] {
            let mut reader = Reader::default();
            let mut items = Vec::new();
            for piece in bytes.chunks(piece) {
                reader.push(piece, &mut items).unwrap();
                assert!(reader.buffered_bytes() <= SCRIPT_BODY_BYTES_MAX + 15);
            }
            let lengths = items.iter().map(|item| match item {
                Item::Script(script) => script.body.len(),
                other => panic!("{other:?}"),
            });
            let lengths: Vec<_> = lengths.collect();
            match is_kept {
                true => assert_eq!(lengths, [length, 1]),
                false => assert_eq!(lengths, [1], "{length} {piece}"),
            }
            assert_eq!(reader.buffered_bytes(), 0);
        }
    }
}

/// A file with everything in it, and the items it was written from.
fn file(frames: &[(bool, Vec<u8>, u8)]) -> (Vec<u8>, Vec<Item>) {
    let mut bytes = file_header(true, true).to_vec();
    let mut items = Vec::new();
    let mut emit = |piece: &[u8]| bytes.extend_from_slice(piece);
    let metadata = Bytes::from_static(b"\x02\0\x0AonMetaData\x08\0\0\0\0\0\0\x09");
    let script = Tag::script(TagKind::Metadata, at(0), &metadata);
    script.unwrap().write(&mut emit);
    items.push(Item::Metadata(Script {
        at: at(0),
        body: metadata,
    }));
    let tracks = [
        h264_track(),
        aac_track(),
        mp3_track(),
        hevc_track(b"\x90hvc1config"),
    ];
    let mut in_force: [Option<usize>; 2] = [None, None];
    for (index, (keyframe, payload, choice)) in frames.iter().enumerate() {
        let chosen = usize::from(*choice) % tracks.len();
        let track = &tracks[chosen];
        let now = 40 * index as i64;
        if in_force[usize::from(track.id.0)] != Some(chosen) {
            in_force[usize::from(track.id.0)] = Some(chosen);
            Tag::headers(track, at(now)).for_each(|tag| tag.write(&mut emit));
            items.push(Item::Track(Arc::new(track.clone())));
        }
        let is_mp3 = track.codec == Codec::Mp3;
        let head: &[u8] = if is_mp3 {
            &[0xFF, 0xFB, 0x90, 0x64]
        } else {
            &[]
        };
        let data = [head, payload].concat();
        let keyframe = *keyframe || track.kind == Kind::Audio;
        let is_h264 = track.codec == Codec::H264;
        let pts = now + if is_h264 { i64::from(*choice) } else { 0 };
        let mut sample = sample(track, now, pts, keyframe, data);
        if track.codec == Codec::Hevc {
            let first = if keyframe { 0x93 } else { 0xA3 };
            let body = [&[first], b"hvc1".as_slice(), payload].concat();
            sample.flv = Some(Box::new(body.into()));
        }
        Tag::sample(track, &sample).unwrap().write(&mut emit);
        items.push(Item::Sample(sample));
    }
    (bytes, items)
}

proptest! {
    #[test]
    fn what_is_written_is_read_again_however_it_is_cut(
        frames in prop::collection::vec(
            (any::<bool>(), prop::collection::vec(any::<u8>(), 1..40), any::<u8>()), 0..12),
        cuts in prop::collection::vec(1usize..50, 1..20),
    ) {
        let (bytes, expected) = file(&frames);
        let mut reader = Reader::default();
        let mut items = Vec::new();
        for piece in pieces(&bytes, &cuts) {
            reader.push(piece, &mut items).expect("a clean file");
        }
        prop_assert_eq!(format!("{items:?}"), format!("{expected:?}"));
        prop_assert_eq!(reader.buffered_bytes(), 0);
    }

    #[test]
    fn no_body_upsets_the_depacketizer(
        bodies in prop::collection::vec(
            (any::<bool>(), prop::collection::vec(any::<u8>(), 0..24)), 0..64),
    ) {
        let mut depacketizer = Depacketizer::default();
        let mut out = Vec::new();
        let mut tracks = std::collections::HashSet::new();
        for (is_video, body) in bodies {
            let length = body.len();
            out.clear();
            if is_video {
                depacketizer.video(at(0), body.into(), &mut out);
            } else {
                depacketizer.audio(at(0), body.into(), &mut out);
            }
            prop_assert!(out.len() <= 3 * usize::from(WIRE_TRACKS_MAX));
            for item in &out {
                match item {
                    Item::Track(track) => drop(tracks.insert(track.id)),
                    Item::Sample(sample) => {
                        prop_assert!(tracks.contains(&sample.track), "a sample before its track");
                        prop_assert!(sample.data.len() <= length);
                        let early_millis = (sample.dts - sample.pts).millis();
                        let early_max = if is_video { 10_000 } else { 0 };
                        prop_assert!(early_millis <= early_max, "{early_millis} ms early");
                    }
                    other => prop_assert!(false, "unexpected {other:?}"),
                }
            }
        }
    }
}
