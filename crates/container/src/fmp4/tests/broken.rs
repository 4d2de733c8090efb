//! For any input: bounds hold, time does not go back, and the output can be read.

use std::collections::HashMap;

use bytes::Bytes;
use media::{Codec, Framing, Kind, Track, TrackId};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::can_mux;
use super::*;
use crate::testing::samples;

/// Plausible records and frames, and noise.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        avc_record(SPS_720P),
        avc_record(SPS_180P),
        hevc_record(),
        AV1_RECORD.to_vec(),
        VP9_KEY.to_vec(),
        AAC_44.to_vec(),
        AAC_48.to_vec(),
        media::codec::opus::head(2).to_vec(),
        vec![0xFC, 1, 2, 3],
        mp3_frame(),
        vec![0x0B, 0x77, 0x12, 0x34, 0x14, 0x40, 0x43, 0xFF],
        vec![0x0B, 0x77, 0x00, 0x03, 0x34, 0x80, 0, 0],
        vec![0xFF, 0xF1, 0x50, 0x80, 0x01, 0x1F, 0xFC, 1, 2],
    ]);
    prop_oneof![
        4 => known.clone(),
        1 => (known, any::<prop::sample::Index>()).prop_map(|(mut bytes, at)| {
            bytes.truncate(at.index(bytes.len() + 1));
            bytes
        }),
        1 => vec(any::<u8>(), 0..40),
    ]
}

fn track() -> impl Strategy<Value = Item> {
    let codec = prop::sample::select(vec![
        Codec::H264,
        Codec::Hevc,
        Codec::Av1,
        Codec::Vp9,
        Codec::Vp8,
        Codec::Aac,
        Codec::Mp3,
        Codec::Opus,
        Codec::Flac,
        Codec::Ac3,
        Codec::Eac3,
        Codec::Speex,
    ]);
    let framing = prop_oneof![4 => Just(Framing::Bare), 1 => Just(Framing::SelfFramed)];
    (0..4_u8, codec, framing, bytes(), any::<(u32, u8)>()).prop_map(
        |(id, codec, framing, config, (sample_rate, channels))| {
            let track = Track {
                id: TrackId(id),
                framing,
                sample_rate,
                channels,
                ..made_up::track(codec, &config)
            };
            Item::Track(track.into())
        },
    )
}

fn sample(times: impl Strategy<Value = i64>) -> impl Strategy<Value = Item> {
    (0..4_u8, times, -100..500_i64, any::<bool>(), bytes()).prop_map(
        |(id, at, composition, keyframe, data)| {
            let dts = Timestamp::from_millis(at);
            Item::Sample(Sample {
                pts: dts + Span::from_millis(composition),
                keyframe,
                ..Sample::frame(TrackId(id), dts, Span::ZERO, data.into())
            })
        },
    )
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let times = prop_oneof![
        8 => -50..5_000_i64,
        1 => any::<i64>(),
        1 => Just(i64::MAX / 2),
    ];
    let any_item = prop_oneof![
        2 => track(),
        12 => sample(times),
        1 => Just(Item::Epoch),
        1 => Just(metadata(b"onMetaData videocodecid")),
    ];
    vec(any_item, 0..150)
}

/// A stream as a publisher sends it: video and audio of random sizes at random steps of time.
fn stream() -> impl Strategy<Value = Vec<Item>> {
    let step = (0..90_i64, 0..8_u8, vec(any::<u8>(), 1..300), 0..200_i64);
    vec(step, 1..200).prop_map(|steps| {
        let mut items = vec![h264(), aac()];
        let (mut shown, mut heard) = (0, 0);
        for (step, kind, data, composition) in steps {
            if kind < 4 {
                shown += step;
                let Item::Sample(mut sample) = picture_of(&data, shown, kind == 0) else {
                    unreachable!();
                };
                sample.pts = sample.dts + Span::from_millis(composition);
                items.push(Item::Sample(sample));
            } else {
                items.push(audio_of(&data, heard * 64 / 3));
                heard += 1;
            }
        }
        items
    })
}

/// No track steps back and no fragment is larger than it may be.
pub(super) fn check(log: &Log) {
    if log.units.is_empty() {
        return;
    }
    let file = log.file();
    let mut ends: HashMap<(u32, [u8; 4]), Span> = HashMap::new();
    for (unit, fragment) in log.fragments().zip(&file.fragments) {
        let moov = &file.moovs[fragment.moov - 1];
        for traf in &fragment.trafs {
            let trak = moov.tracks.iter().find(|it| it.id == traf.track);
            let trak = trak.expect("every fragment is described");
            let at = Span::from_samples(traf.at, trak.timescale);
            let key = (traf.track, trak.handler);
            // Another clock's unit may be longer than the first one's rounding.
            let end = ends.insert(key, Span::from_samples(traf.end(), trak.timescale));
            assert!(end.is_none_or(|end| at >= end));
        }
        let keyframe = fragment.rows(1).first().is_some_and(|row| row.is_sync);
        let is_audio = fragment.rows(1).is_empty();
        assert!(unit.join.is_none() || keyframe || is_audio);
    }
}

proptest! {
    #[test]
    fn anything_may_come(items in items(), millis in 0..400_i64, room in 0..400_i64) {
        let mut log = Log {
            room: (room > 0).then_some(Span::from_millis(room)),
            ..Log::default()
        };
        log.fill(&items, span(millis));
        check(&log);
    }

    #[test]
    fn every_picture_from_the_first_keyframe_on_comes_out_once(
        items in stream(),
        millis in 0..400_i64,
    ) {
        let log = Log::cut(&items, span(millis));
        check(&log);
        let is_picture = |sample: &Sample| sample.track == TrackId::VIDEO;
        let is_key = |item: &Item| {
            matches!(item, Item::Sample(sample) if is_picture(sample) && sample.keyframe)
        };
        let Some(first) = items.iter().position(is_key) else {
            assert!(log.units.is_empty());
            return Ok(());
        };
        let sent = samples(&items[first..]);
        let expected: Vec<_> = sent.iter().filter(|sample| is_picture(sample)).collect();
        let file = log.file();
        let rows: Vec<_> = file.rows(1).collect();
        assert_eq!(rows.len(), expected.len());
        for (row, sample) in rows.iter().zip(&expected) {
            assert_eq!(row.data, &sample.data[..]);
            assert_eq!(row.is_sync, sample.keyframe);
            assert_eq!(row.at as i64 + row.composition, sample.pts.millis() * 90);
        }
        // Audio follows its clock as long as it arrives in time.
        let heard = sent.iter().filter(|sample| !is_picture(sample));
        let heard = heard.map(|sample| &sample.data[..]);
        assert!(file.rows(2).map(|row| &row.data[..]).eq(heard));
    }

    #[test]
    fn no_configuration_is_too_odd_to_be_asked_about(
        item in track(),
        config in vec(any::<u8>(), 0..200),
    ) {
        let Item::Track(track) = item else { unreachable!() };
        let noise = Track { config: Bytes::from(config), ..(*track).clone() };
        for track in [&track, &noise] {
            let kind = if track.kind == Kind::Video { "video" } else { "audio" };
            let name = super::super::media_type([track]);
            assert_eq!(name.is_some(), can_mux(track));
            assert!(name.is_none_or(|name| name.starts_with(kind)));
        }
    }
}
