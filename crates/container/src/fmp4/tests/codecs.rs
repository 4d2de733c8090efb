//! Each codec: its sample entry, its samples, and its name.

use media::codec::opus;
use media::{Codec, Framing, TrackId};

use super::super::{can_file, can_mux, codec_string, media_type};
use super::reader::{Moov, Trak, descriptor};
use super::*;
use crate::testing::VP8_KEY;

/// The one track of a file of a few samples.
fn trak_of(announced: media::Track, samples: &[&[u8]]) -> (Trak, Log) {
    let id = announced.id;
    assert!(can_mux(&announced));
    let mut items = vec![Item::Track(announced.into())];
    for (n, data) in samples.iter().enumerate() {
        let at = Timestamp::from_millis(20 * n as i64);
        items.push(sample(id, at, n == 0 || id == TrackId::AUDIO, data));
    }
    let log = Log::of(&items);
    let file = log.file();
    assert_eq!(file.moovs.len(), 1);
    let [trak] = &file.moovs[0].tracks[..] else {
        panic!("one track");
    };
    (trak.clone(), log)
}

fn name(codec: Codec, config: &[u8]) -> Option<String> {
    codec_string(&track(codec, config))
}

#[test]
fn pictures_have_their_record_and_size() {
    let avc = avc_record(SPS_720P);
    let hevc = hevc_record();
    for (codec, entry, kind, record, size) in [
        (Codec::H264, b"avc1", b"avcC", &avc[..], (1_280, 720)),
        (Codec::Hevc, b"hvc1", b"hvcC", &hevc, (320, 180)),
        (Codec::Av1, b"av01", b"av1C", AV1_RECORD, (320, 180)),
    ] {
        let (trak, _) = trak_of(track(codec, record), &[b"one", b"two"]);
        assert_eq!((&trak.entry, &trak.record.0), (entry, kind));
        assert_eq!(trak.record.1, record);
        assert_eq!(trak.sizes, [size; 2]);
        assert_eq!((&trak.handler, trak.timescale), (b"vide", 90_000));
    }
    assert_eq!(name(Codec::H264, &avc).as_deref(), Some("avc1.64001F"));
    assert_eq!(name(Codec::Hevc, &hevc).as_deref(), Some("hvc1.1.6.L60.90"));
    let av1 = name(Codec::Av1, AV1_RECORD);
    assert_eq!(av1.as_deref(), Some("av01.0.00M.08"));
}

#[test]
fn a_picture_of_which_nothing_says_how_large_it_is_is_refused() {
    let no_sets = [1, 0x64, 0, 0x1F, 0xFF, 0xE0, 0];
    let mut odd = avc_record(SPS_720P);
    odd.truncate(20);
    for record in [&no_sets[..], &odd, b""] {
        assert!(!can_mux(&track(Codec::H264, record)));
        assert_eq!(name(Codec::H264, record), None);
    }
    assert!(!can_mux(&track(Codec::Hevc, &hevc_record()[..23])));
    assert!(!can_mux(&track(Codec::Av1, b"")));
}

#[test]
fn vp9_says_in_its_keyframes_how_large_it_is() {
    let record = [0, 11, 0x82, 2, 2, 2, 0, 0];
    let boxed = [&[1, 0, 0, 0][..], &record].concat();
    for config in [&b""[..], &record, &boxed] {
        let (trak, _) = trak_of(track(Codec::Vp9, config), &[VP9_KEY, b"\x86"]);
        assert_eq!((&trak.entry, &trak.record.0), (b"vp09", b"vpcC"));
        assert_eq!(trak.record.1, boxed, "in a box of version 1");
        assert_eq!(trak.sizes, [(320, 180); 2]);
        let expected = (!config.is_empty()).then_some("vp09.00.11.08");
        assert_eq!(name(Codec::Vp9, config).as_deref(), expected);
    }
    // One that changes its size is described again; one that cannot be read is passed over.
    let mut larger = VP9_KEY.to_vec();
    larger[5] = 0x27;
    let items = [
        Item::Track(track(Codec::Vp9, b"").into()),
        picture_of(b"\x82 no keyframe", 0, true),
        picture_of(VP9_KEY, 40, true),
        picture_of(b"\x86", 80, false),
        picture_of(VP9_KEY, 120, true),
        picture_of(&larger, 160, true),
    ];
    let file = Log::of(&items).file();
    let widths = file.moovs.iter().map(|it| it.tracks[0].sizes[0].0);
    assert_eq!(widths.collect::<Vec<_>>(), [320, 640]);
    assert_eq!(file.rows(1).count(), 4);
}

#[test]
fn av1_has_no_temporal_delimiters() {
    const DELIMITER: &[u8] = &[0x12, 0];
    const SHOWN_AGAIN: &[u8] = &[0x1A, 1, 0xA8];
    let with = |unit: &[u8]| [DELIMITER, unit].concat();
    let items = [
        Item::Track(track(Codec::Av1, AV1_RECORD).into()),
        picture_of(&with(&AV1_RECORD[4..]), 0, true),
        picture_of(&with(SHOWN_AGAIN), 40, false),
        picture_of(DELIMITER, 80, false),
        picture_of(SHOWN_AGAIN, 120, false),
    ];
    let file = Log::of(&items).file();
    let rows: Vec<_> = file.rows(1).map(|row| &row.data[..]).collect();
    assert_eq!(rows, [&AV1_RECORD[4..], SHOWN_AGAIN, SHOWN_AGAIN]);
}

#[test]
fn av1_may_have_its_sequence_header_in_band() {
    let units = &AV1_RECORD[4..];
    let samples = [units, b"\x32\x01\x20"];
    let (trak, _) = trak_of(track(Codec::Av1, &AV1_RECORD[..4]), &samples);
    assert_eq!(trak.sizes, [(320, 180); 2]);
    assert_eq!(trak.record.1, AV1_RECORD[..4]);
}

#[test]
fn aac_with_and_without_adts_is_the_same() {
    let (bare, log) = trak_of(track(Codec::Aac, AAC_44), &[b"first", b"second"]);
    let mut framed = track(Codec::Aac, AAC_44);
    framed.framing = Framing::SelfFramed;
    let writer = crate::adts::Writer::new(AAC_44).expect("AAC-LC");
    let frame = |unit: &[u8]| [&writer.header(unit.len()).expect("short")[..], unit].concat();
    let mut of_two = frame(b"of two");
    of_two[6] |= 1;
    let (first, empty, second) = (frame(b"first"), frame(b""), frame(b"second"));
    let frames = [&first[..], &of_two, &empty, b"no header", &second];
    let (trak, other) = trak_of(framed, &frames);
    assert_eq!(trak.record, bare.record);
    assert_eq!((&bare.entry, &bare.record.0), (b"mp4a", b"esds"));
    assert_eq!((bare.timescale, bare.rate), (44_100, 44_100));
    assert_eq!(bare.channels, 2);
    assert_eq!(descriptor(&bare.record.1[4..], 5).as_deref(), Some(AAC_44));
    let data = |log: &Log| -> Vec<_> { log.file().rows(2).map(|row| row.data.clone()).collect() };
    assert_eq!(data(&log), [&b"first"[..], b"second"]);
    assert_eq!(data(&other), data(&log));
    assert_eq!(name(Codec::Aac, AAC_44).as_deref(), Some("mp4a.40.2"));
    // High efficiency, explicitly: it counts at the rate of its core.
    let high = [0x2B, 0x11, 0x88, 0x00];
    let (trak, _) = trak_of(track(Codec::Aac, &high), &[b"one"]);
    assert_eq!(trak.timescale, 24_000);
    assert_eq!(name(Codec::Aac, &high).as_deref(), Some("mp4a.40.5"));
    // 96 kHz does not fit in the sample entry.
    let (trak, _) = trak_of(track(Codec::Aac, &[0x10, 0x10]), &[b"one"]);
    assert_eq!((trak.timescale, trak.rate), (96_000, 0));
    assert!(!can_mux(&track(Codec::Aac, b"")));
}

#[test]
fn mp3_is_known_by_its_frames() {
    for (header, bytes, rate, channels, samples, object) in [
        (0xFFFB_9064_u32, 417, 44_100, 2, 1_152, 0x6B),
        (0xFFF3_80C4, 208, 22_050, 1, 576, 0x69),
    ] {
        let mut frame = header.to_be_bytes().to_vec();
        frame.resize(bytes, 0);
        for framing in [Framing::Bare, Framing::SelfFramed] {
            let mut announced = track(Codec::Mp3, b"");
            announced.framing = framing;
            announced.sample_rate = rate;
            let name = codec_string(&announced);
            assert_eq!(name, Some(format!("mp4a.{object:X}")));
            let (trak, log) = trak_of(announced, &[&frame, b"noise", &frame]);
            assert_eq!((trak.timescale, trak.channels), (rate, channels));
            let found = descriptor(&trak.record.1[4..], 4).expect("a descriptor");
            assert_eq!(found[0], object);
            assert_eq!(descriptor(&trak.record.1[4..], 5), None);
            let file = log.file();
            assert_eq!(file.rows(2).count(), 2);
            assert!(file.rows(2).all(|row| row.duration == samples));
        }
    }
    assert_eq!(name(Codec::Mp3, b"").as_deref(), Some("mp4a.6B"));
}

#[test]
fn opus_has_its_header_in_the_other_byte_order() {
    let mut head = opus::head(2);
    head[16] = 0x01;
    let (trak, _) = trak_of(track(Codec::Opus, &head), &[b"\xFC1", b"\xFC2"]);
    assert_eq!((&trak.entry, &trak.record.0), (b"Opus", b"dOps"));
    assert_eq!(trak.record.1, [0, 2, 0x01, 0x38, 0, 0, 0xBB, 0x80, 0, 1, 0]);
    assert_eq!((trak.timescale, trak.rate), (48_000, 48_000));
    assert_eq!(trak.channels, 2);
    // 5.1 in three streams, two of them coupled.
    let mut surround = opus::head(2).to_vec();
    surround[9] = 6;
    surround[18] = 1;
    surround.extend([4, 2, 0, 4, 1, 2, 3, 5]);
    let (trak, _) = trak_of(track(Codec::Opus, &surround), &[b"\xFC1"]);
    assert_eq!((trak.channels, trak.record.1.len()), (6, 19));
    surround.pop();
    assert!(!can_mux(&track(Codec::Opus, &surround)));
    // Without a header it is the usual one.
    let (trak, _) = trak_of(track(Codec::Opus, b""), &[b"\xFC1", b"", b"\xFF"]);
    assert_eq!(trak.channels, 2);
    assert_eq!(name(Codec::Opus, b"").as_deref(), Some("opus"));
    let mut pages = track(Codec::Opus, b"");
    pages.framing = Framing::SelfFramed;
    assert!(!can_mux(&pages), "Ogg pages");
}

#[test]
fn flac_has_its_first_block() {
    let mut block = vec![0x12, 0, 0x12, 0, 0, 0, 0, 0, 0, 0, 0x0A, 0xC4, 0x42, 0xF0];
    block.resize(34, 7);
    let config = [b"fLaC\0\0\0\x22", &block[..]].concat();
    let samples: [&[u8]; 2] = [b"\xFF\xF8\xC9\x18\0", b"noise"];
    let (trak, log) = trak_of(track(Codec::Flac, &config), &samples);
    assert_eq!((&trak.entry, &trak.record.0), (b"fLaC", b"dfLa"));
    let boxed = [&[0, 0, 0, 0, 0x80, 0, 0, 34][..], &block].concat();
    assert_eq!(trak.record.1, boxed);
    assert_eq!((trak.timescale, trak.channels), (44_100, 2));
    let durations: Vec<_> = log.file().rows(2).map(|row| row.duration).collect();
    assert_eq!(durations, [4_096]);
    assert_eq!(name(Codec::Flac, &config).as_deref(), Some("fLaC"));
    assert!(!can_mux(&track(Codec::Flac, b"fLaC")));
}

#[test]
fn dolby_is_known_by_its_frames() {
    let plain: &[u8] = &[0x0B, 0x77, 0x12, 0x34, 0x14, 0x40, 0x43, 0xFF];
    let (trak, log) = trak_of(track(Codec::Ac3, b""), &[b"noise", plain]);
    assert_eq!((&trak.entry, &trak.record.0), (b"ac-3", b"dac3"));
    assert_eq!(trak.record.1, [0x10, 0x11, 0x40]);
    assert_eq!((trak.timescale, trak.channels), (48_000, 2));
    assert!(log.file().rows(2).all(|row| row.duration == 1_536));

    let enhanced: &[u8] = &[0x0B, 0x77, 0x00, 0x03, 0x34, 0x80, 0, 0];
    let longer = [enhanced, &[0; 8]].concat();
    let (trak, log) = trak_of(track(Codec::Eac3, b""), &[enhanced, &longer, enhanced]);
    assert_eq!((&trak.entry, &trak.record.0), (b"ec-3", b"dec3"));
    assert_eq!(trak.record.1, [0, 0x10, 0x20, 0x04, 0]);
    assert_eq!(log.file().rows(2).count(), 3);
    let (trak, _) = trak_of(track(Codec::Eac3, b"own record"), &[enhanced]);
    assert_eq!(trak.record.1, b"own record");
    let names = [Codec::Ac3, Codec::Eac3].map(|codec| name(codec, b""));
    assert_eq!(names, [Some("ac-3".to_owned()), Some("ec-3".to_owned())]);
    // Another layout makes another segment.
    let mono = [0x0B, 0x77, 0x12, 0x34, 0x14, 0x40, 0x23, 0xFF];
    let announced = Item::Track(track(Codec::Ac3, b"").into());
    let [first, second] = [32, 64].map(|at| audio_of(&mono, at));
    let items = [announced, audio_of(plain, 0), first, second];
    let channels = |moov: &Moov| moov.tracks[0].channels;
    let file = Log::of(&items).file();
    assert_eq!(file.moovs.iter().map(channels).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn what_mp4_does_not_carry_is_refused() {
    let record = avc_record(SPS_720P);
    use Codec::{Pcma, Pcmu, Speex, Vorbis, Vp8, Vvc};
    for codec in [Vorbis, Pcma, Pcmu, Speex, Vp8, Vvc] {
        assert!(!can_mux(&track(codec, &record)), "{codec:?}");
        assert_eq!(name(codec, &record), None);
    }
    let mut odd = track(Codec::H264, &record);
    odd.framing = Framing::SelfFramed;
    assert!(!can_mux(&odd));
    odd.framing = Framing::Bare;
    odd.kind = media::Kind::Audio;
    assert!(!can_mux(&odd));
}

#[test]
fn vp8_is_in_files_alone() {
    let vp8 = track(Codec::Vp8, b"");
    assert!(!can_mux(&vp8) && can_file(&vp8));
    let mut log = Log::default();
    let items = [Item::Track(vp8.into()), picture_of(VP8_KEY, 0, true)];
    log.fill_by(Muxer::for_files(FRAGMENT_SPAN), &items);
    let file = log.joined(0);
    let has = |wanted: &[u8]| file.windows(wanted.len()).any(|at| at == wanted);
    assert!(has(b"vp08") && has(b"vpcC") && has(&[1, 0x40, 0, 0xB4]));
}

#[test]
fn the_segment_names_its_brands_and_both_tracks() {
    let file = Log::of(&broadcast(1, (25, 1), 25)).file();
    let moov = &file.moovs[0];
    assert_eq!(moov.brands, [*b"iso5", *b"iso6", *b"cmfc", *b"mp41"]);
    let ids = moov.tracks.iter().map(|trak| (trak.id, trak.handler));
    assert_eq!(ids.collect::<Vec<_>>(), [(1, *b"vide"), (2, *b"soun")]);
}

#[test]
fn the_media_type_names_what_is_carried() {
    let h264 = track(Codec::H264, &avc_record(SPS_720P));
    let aac = track(Codec::Aac, AAC_44);
    let opus = track(Codec::Opus, b"");
    let vp9 = track(Codec::Vp9, b"");
    let speex = track(Codec::Speex, b"");
    let of = |tracks: &[&media::Track]| media_type(tracks.iter().copied());
    let both = r#"video/mp4; codecs="avc1.64001F,mp4a.40.2""#;
    assert_eq!(of(&[&aac, &h264]).as_deref(), Some(both));
    let some = of(&[&speex, &h264, &vp9, &aac, &opus]);
    assert_eq!(some.as_deref(), Some(both));
    assert_eq!(of(&[&opus]).as_deref(), Some(r#"audio/mp4; codecs="opus""#));
    assert_eq!(of(&[&vp9, &aac]).as_deref(), Some("video/mp4"));
    assert_eq!(of(&[&speex]), None);
    assert_eq!(of(&[]), None);
}
