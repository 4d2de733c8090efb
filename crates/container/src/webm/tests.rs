use bytes::Bytes;
use media::Codec;
use proptest::prelude::*;

use super::*;
use crate::search::tests::searched;
use crate::testing::{pieces, samples, stream_bytes, tracks};

/// An element with its size in eight bytes, as muxers reserve it; `None` for an unknown size.
fn element(id: u32, size: Option<usize>, body: &[u8]) -> Vec<u8> {
    let id = id.to_be_bytes();
    let id = &id[id.iter().position(|byte| *byte != 0).unwrap_or(3)..];
    let size = size.map_or(0x00FF_FFFF_FFFF_FFFF, |size| size as u64) | 1 << 56;
    [id, &size.to_be_bytes(), body].concat()
}

fn whole(id: u32, body: &[u8]) -> Vec<u8> {
    element(id, Some(body.len()), body)
}

fn track(number: u8, kind: u8, codec: &[u8]) -> Vec<u8> {
    let mut fields = [
        whole(id::TRACK_NUMBER, &[number]),
        whole(id::TRACK_TYPE, &[kind]),
        whole(id::CODEC_ID, codec),
    ]
    .concat();
    if kind == 2 {
        let audio = [
            whole(id::SAMPLING_FREQUENCY, &48_000_f32.to_be_bytes()),
            whole(id::CHANNELS, &[2]),
        ];
        fields.extend(whole(id::AUDIO, &audio.concat()));
    }
    whole(id::TRACK_ENTRY, &fields)
}

fn header(tracks: &[Vec<u8>]) -> Vec<u8> {
    [
        whole(id::EBML, b"\x42\x82\x84webm"),
        element(id::SEGMENT, None, &[]),
        whole(id::INFO, &whole(id::TIMESTAMP_SCALE, &[0x0F, 0x42, 0x40])),
        whole(id::TRACKS, &tracks.concat()),
    ]
    .concat()
}

fn audio_header() -> Vec<u8> {
    header(&[track(1, 2, b"A_OPUS")])
}

fn video_header() -> Vec<u8> {
    header(&[track(1, 1, b"V_VP8"), track(2, 2, b"A_VORBIS")])
}

fn cluster(timestamp: u16, blocks: &[Vec<u8>]) -> Vec<u8> {
    let timestamp = whole(id::TIMESTAMP, &timestamp.to_be_bytes());
    element(id::CLUSTER, None, &[timestamp, blocks.concat()].concat())
}

fn block(number: u8, relative: i16, flags: u8, length: usize) -> Vec<u8> {
    let mut body = vec![0x80 | number];
    body.extend(relative.to_be_bytes());
    body.push(flags);
    body.resize(body.len() + length, 0xA3);
    whole(id::SIMPLE_BLOCK, &body)
}

fn group(number: u8, relative: i16, is_delta: bool, length: usize) -> Vec<u8> {
    let mut body = vec![0x80 | number];
    body.extend(relative.to_be_bytes());
    body.resize(body.len() + 1 + length, 0);
    let mut body = whole(id::BLOCK, &body);
    if is_delta {
        body.extend(whole(id::REFERENCE_BLOCK, &[0xFF]));
    }
    whole(id::BLOCK_GROUP, &body)
}

fn demux(pieces: &[&[u8]]) -> (Vec<Item>, u64) {
    let mut demuxer = Demuxer::default();
    let mut out = Vec::new();
    for piece in pieces {
        demuxer.push(piece, &mut out);
        assert!(demuxer.buffer.len() <= BUFFERED_BYTES_MAX);
    }
    demuxer.finish(&mut out);
    (out, demuxer.skipped_bytes())
}

/// The items of a stream of which each byte is handed on.
fn clean(parts: &[Vec<u8>]) -> Vec<Item> {
    let input = parts.concat();
    let (items, skipped) = demux(&[&input]);
    assert_eq!((stream_bytes(&items), skipped), (input, 0));
    items
}

/// Track, milliseconds, join point.
fn places(items: &[Item]) -> Vec<(u8, i64, bool)> {
    let samples = samples(items).into_iter();
    let places = samples.map(|it| (it.track.0, it.dts.millis(), it.keyframe));
    places.collect()
}

#[test]
fn audio_may_be_joined_at_any_cluster() {
    let items = clean(&[
        audio_header(),
        cluster(1_000, &[block(1, 0, 0x80, 9), block(1, 20, 0x80, 9)]),
        cluster(1_040, &[block(1, 0, 0, 9)]),
    ]);
    assert!(matches!(&items[0], Item::Header(bytes) if *bytes == audio_header()));
    let track = tracks(&items)[0];
    assert_eq!(track.codec, Codec::Opus);
    assert_eq!((track.sample_rate, track.channels), (48_000, 2));
    let expected = [(0, 0, true), (0, 20, false), (0, 40, true)];
    assert_eq!(places(&items), expected);
}

#[test]
fn pictures_are_joined_where_the_first_of_a_cluster_is_a_keyframe() {
    // Audio first: the cluster starts with it and is classified by the video frame.
    let [audio, key] = [(2, 5), (1, 50)].map(|(track, bytes)| block(track, 0, 0x80, bytes));
    let items = clean(&[
        video_header(),
        cluster(0, &[audio, key, block(1, 40, 0, 50)]),
        cluster(80, &[block(1, 0, 0, 50), block(1, 40, 0x80, 50)]),
        cluster(160, &[group(1, 0, true, 50)]),
        cluster(200, &[group(1, 0, false, 50), group(2, 5, false, 50)]),
        cluster(240, &[block(2, 0, 0x80, 5)]),
    ]);
    let pictures = [0, 40, 80, 120, 160, 200].map(|at| (1, at, at % 200 == 0));
    let audio = [(0, 205, false), (0, 240, false)];
    assert_eq!(places(&items), [&pictures[..], &audio].concat());
}

#[test]
fn a_block_is_handed_on_with_its_last_byte() {
    let mut demuxer = Demuxer::default();
    let mut out = Vec::new();
    let input = [audio_header(), cluster(0, &[block(1, 0, 0x80, 100)])].concat();
    demuxer.push(&input[..input.len() - 1], &mut out);
    assert!(samples(&out).is_empty());
    demuxer.push(&input[input.len() - 1..], &mut out);
    assert_eq!(samples(&out).len(), 1);
    assert!(demuxer.buffer.is_empty());
}

#[test]
fn long_blocks_are_handed_on_in_parts() {
    let blocks = [block(1, 0, 0x80, 200_000), block(1, 40, 0, 9)];
    let items = clean(&[video_header(), cluster(0, &blocks)]);
    let samples = samples(&items);
    let keys: Vec<_> = samples.iter().map(|it| it.keyframe).collect();
    assert_eq!(keys, [true, false, false, false, false]);
    let mut lengths = samples.iter().map(|it| it.data.len());
    assert!(lengths.all(|bytes| bytes <= SAMPLE_BYTES_MAX));
}

#[test]
fn sizes_of_clusters_do_not_matter_and_other_elements_pass() {
    let sized = |timestamp: u8, blocks: &[Vec<u8>]| {
        let body = [whole(id::TIMESTAMP, &[timestamp]), blocks.concat()];
        whole(id::CLUSTER, &body.concat())
    };
    let void = whole(0xEC, &[0; 30]);
    let cues = whole(0x1C53_BB6B, &[0; 30]);
    let first = sized(0, &[block(1, 0, 0x80, 9), void.clone()]);
    let second = sized(20, &[void, block(1, 0, 0x80, 9)]);
    let items = clean(&[audio_header(), first, cues, second]);
    // Data after the first cluster's block is not part of the join point of the second.
    assert_eq!(places(&items), [(0, 0, true), (0, 0, false), (0, 20, true)]);
}

#[test]
fn another_stream_may_follow() {
    let one = cluster(500, &[block(1, 0, 0, 9), block(1, 20, 0, 9)]);
    let two = cluster(0, &[block(1, 0, 0x80, 9), block(1, 40, 0, 9)]);
    let input = [b"noise".to_vec(), audio_header(), one, video_header(), two].concat();
    let (items, skipped) = demux(&[&input]);
    let headers = items.iter().filter(|it| matches!(it, Item::Header(_)));
    assert_eq!((headers.count(), skipped), (2, 5));
    let times: Vec<_> = places(&items).iter().map(|place| place.1).collect();
    assert!(times.is_sorted());
    assert_eq!(stream_bytes(&items), input[5..]);
}

#[test]
fn after_damage_the_next_cluster_is_found() {
    let next = cluster(100, &[block(1, 0, 0x80, 9)]);
    let damaged = [cluster(0, &[block(1, 0, 0x80, 9)]), vec![0; 70]].concat();
    let input = [audio_header(), damaged, next].concat();
    let (items, skipped) = demux(&[&input]);
    assert_eq!(places(&items), [(0, 0, true), (0, 100, true)]);
    assert_eq!(skipped, 70);
}

#[test]
fn nothing_makes_the_buffer_grow() {
    let (begin, segment) = (whole(id::EBML, b""), element(id::SEGMENT, None, &[]));
    let endless_header = [begin, segment, whole(0xEC, &[0; 500_000]).repeat(5)];
    let empty_blocks = b"\xA3\x80".repeat(1_500_000);
    let empty_blocks = [video_header(), cluster(0, &[]), empty_blocks];
    let never_a_picture = cluster(0, &vec![block(2, 0, 0x80, 100_000); 25]);
    let claims = b"\x1A\x45\xDF\xA3\x10\x0F\xFF\xFF".repeat(200_000);
    for flood in [
        endless_header.concat(),
        empty_blocks.concat(),
        [video_header(), never_a_picture].concat(),
        claims,
        vec![0x1A; 300_000],
    ] {
        demux(&flood.chunks(100_000).collect::<Vec<_>>());
    }
}

fn part() -> impl Strategy<Value = Vec<u8>> {
    let one_block = (1u8..4, any::<i16>(), any::<u8>(), 0usize..300, 0u8..3).prop_map(
        |(number, relative, flags, length, form)| match form {
            0 => block(number, relative, flags, length),
            1 => group(number, relative, flags & 1 == 0, length),
            _ => block(number, relative, flags, 1_000 * length),
        },
    );
    prop_oneof![
        1 => Just(audio_header()),
        1 => Just(video_header()),
        4 => (any::<u16>(), prop::collection::vec(one_block, 0..5))
            .prop_map(|(timestamp, blocks)| cluster(timestamp, &blocks)),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => Just(vec![0xA3, 0x80, 0xA0, 0x80, 0xA0, 0x81, 0xA1, 0xE7, 0x80]),
        1 => Just(whole(0xEC, &[0; 100])),
    ]
}

proptest! {
    #[test]
    fn the_cut_of_the_input_makes_no_difference(
        parts in prop::collection::vec(part(), 1..8),
        cuts in prop::collection::vec(1usize..3_000, 1..20),
    ) {
        let input = [video_header(), parts.concat()].concat();
        let whole = demux(&[&input]);
        let cut = demux(&pieces(&input, &cuts));
        prop_assert_eq!(places(&whole.0), places(&cut.0));
        prop_assert_eq!(format!("{:?}", &whole), format!("{cut:?}"));
        // Every byte is passed on or counted.
        prop_assert_eq!(stream_bytes(&whole.0).len() as u64 + whole.1, input.len() as u64);
        let times: Vec<_> = samples(&whole.0).iter().map(|sample| sample.dts).collect();
        prop_assert!(times.is_sorted());
    }
}

/// Clusters of half a second, each second one of which begins with a keyframe, and where they begin.
fn film(count: u16) -> (Vec<u8>, Vec<usize>) {
    let mut file = video_header();
    let mut begins = Vec::new();
    for number in 0..count {
        begins.push(file.len());
        let flags = if number % 2 == 0 { 0x80 } else { 0 };
        let blocks = [
            block(2, 0, 0x80, 300),
            block(1, 2, flags, 9_000),
            block(1, 42, 0, 9_000),
        ];
        file.extend(cluster(7_000 + 500 * number, &blocks));
    }
    (file, begins)
}

fn find(file: &[u8], millis: i64) -> (Option<crate::Place>, usize) {
    let to = Span::from_millis(millis);
    searched(&mut file::ClusterSearch::new(to, file.len() as u64), file)
}

#[test]
fn the_cluster_of_a_time_is_found() {
    let (file, begins) = film(100);
    for (millis, number) in [
        (0, 0),
        (999, 0),
        (1_000, 2),
        (30_700, 60),
        (49_999, 98),
        (90_000, 98),
    ] {
        let (place, looks) = find(&file, millis);
        let place = place.expect("a place");
        assert_eq!(place.at, begins[number] as u64, "{millis}");
        assert_eq!(place.began.millis(), 500 * number as i64);
        assert_eq!(place.header, video_header());
        assert!(looks < 30, "{looks}");
    }
    let first = cluster(0, &[block(1, 0, 0x80, 9)]);
    let second = cluster(900, &[block(1, 0, 0, 9)]);
    let place = find(&[audio_header(), first, second].concat(), 950).0;
    let place = place.expect("a place");
    assert_eq!(place.began.millis(), 900);
}

#[test]
fn what_is_damaged_or_cut_is_passed_over() {
    let (whole, begins) = film(40);
    let mut file = whole.clone();
    // No cluster any more.
    file[begins[20]] ^= 1;
    let at = |file: &[u8], millis| find(file, millis).0.expect("a place").at as usize;
    assert_eq!(at(&file, 10_300), begins[18]);
    // Bytes in a block that look like a cluster, but have no timestamp.
    file[begins[10] + 800..begins[10] + 804].copy_from_slice(&id::CLUSTER.to_be_bytes());
    assert_eq!(at(&file, 5_300), begins[10]);
    assert_eq!(at(&whole[..begins[30] + 20], 20_000), begins[28]);
    assert_eq!(find(&[], 1).0, None);
    assert_eq!(find(&[0x1A; 300_000], 1).0, None);
    assert_eq!(find(&video_header()[..40], 1).0, None);
}

#[test]
fn clusters_continue_from_zero_and_over_the_next_file() {
    let (file, begins) = film(20);
    let mut splice = file::Splice::default();
    let mut out = splice.header(&video_header().into());
    let mut later = Span::ZERO;
    for range in [begins[4]..begins[10], begins[0]..begins[6]] {
        let (items, _) = demux(&[&video_header(), &file[range]]);
        let samples = samples(&items);
        for mut sample in samples.iter().map(|it| (*it).clone()) {
            sample.dts += later;
            out.extend(splice.sample(&sample));
        }
        later = later + Span::from_millis(3_000);
        assert!(splice.takes(&video_header()));
        assert!(splice.header(&video_header().into()).is_empty());
    }
    assert!(!splice.takes(&audio_header()));
    let (items, skipped) = demux(&[&out]);
    assert_eq!(skipped, 0);
    let times: Vec<_> = places(&items).iter().map(|it| it.1).collect();
    assert!(times.is_sorted() && times[0] == 0, "{times:?}");
    let joins = times.iter().filter(|it| **it == 3_000);
    assert_eq!(joins.count(), 1, "{times:?}");
    let mark = id::CLUSTER.to_be_bytes();
    assert!(out.windows(4).filter(|it| **it == mark).count() > 10);
}

proptest! {
    #[test]
    fn any_bytes_end_a_search(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        at in 0..60_000_usize,
        millis in 0..9_000_i64,
    ) {
        let (mut file, _) = film(6);
        let at = at.min(file.len());
        file.splice(at..at, bytes);
        if let Some(place) = find(&file, millis).0 {
            prop_assert!(place.at <= file.len() as u64);
        }
        let mut splice = file::Splice::default();
        splice.header(&Bytes::copy_from_slice(&file[at..]));
        splice.takes(&file);
    }
}
