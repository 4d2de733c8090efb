mod links;

use bytes::Bytes;
use media::{Codec, TICKS_PER_SECOND, TrackId};
use proptest::prelude::*;

use super::comments::title;
use super::page::{Front, Page, build};
use super::*;
use crate::testing::{pieces, samples, stream_bytes};

const CONTINUED: u8 = 1;
const FIRST: u8 = 2;
const LAST: u8 = 4;

pub(super) fn comments(list: &[&str]) -> Vec<u8> {
    let mut bytes = b"\x04\0\0\0test".to_vec();
    bytes.extend((list.len() as u32).to_le_bytes());
    for comment in list {
        bytes.extend((comment.len() as u32).to_le_bytes());
        bytes.extend(comment.as_bytes());
    }
    bytes
}

fn vorbis_id() -> Vec<u8> {
    let mut packet = b"\x01vorbis\0\0\0\0\x02".to_vec();
    packet.extend(44_100_u32.to_le_bytes());
    packet.extend([0; 14]);
    packet
}

fn vorbis_headers(serial: u32, list: &[&str]) -> Vec<u8> {
    let comment = [b"\x03vorbis", &comments(list)[..]].concat();
    let setup = [b"\x05vorbis".as_slice(), &[0x5A; 300]].concat();
    headers(serial, &vorbis_id(), &[(&comment, true), (&setup, true)])
}

/// A page of the first packet, and one of others.
fn headers(serial: u32, first: &[u8], others: &[(&[u8], bool)]) -> Vec<u8> {
    let first = build(FIRST, 0, serial, &[(first, true)]);
    [first, build(0, 0, serial, others)].concat()
}

pub(super) fn opus_headers(serial: u32, list: &[&str]) -> Vec<u8> {
    let head = b"OpusHead\x01\x02\x38\x01\x80\xBB\0\0\0\0\0";
    let tags = [b"OpusTags", &comments(list)[..]].concat();
    headers(serial, head, &[(&tags, true)])
}

fn flac_headers(serial: u32, list: &[&str]) -> Vec<u8> {
    let mut head = b"\x7FFLAC\x01\0\0\x01fLaC\0\0\0\x22".to_vec();
    head.extend([0; 10]);
    // 48 kHz, two channels, 16 bits.
    head.extend([0x0B, 0xB8, 0x02, 0xF0]);
    head.resize(51, 0);
    let comments = comments(list);
    let block = [&[0x84, 0, 0, comments.len() as u8], &comments[..]].concat();
    headers(serial, &head, &[(&block, true)])
}

fn theora_headers(serial: u32) -> Vec<Vec<u8>> {
    let mut id = b"\x80theora\x03\x02\x01".to_vec();
    id.resize(42, 0);
    // 25 frames per second, six bits of frames since the keyframe.
    id[25] = 25;
    id[29] = 1;
    id[41] = 6 << 5;
    let rest = [
        (b"\x81theora".as_slice(), true),
        (b"\x82theora".as_slice(), true),
    ];
    vec![
        build(FIRST, 0, serial, &[(&id, true)]),
        build(0, 0, serial, &rest),
    ]
}

/// Data pages of one second each, the last one closing the stream.
fn data(serial: u32, rate: u64, seconds: u64) -> Vec<u8> {
    let packets = [(&b"\xFFpacket"[..], true), (b"\xFFanother", true)];
    let pages = (1..=seconds).flat_map(|second| {
        let flags = if second == seconds { LAST } else { 0 };
        build(flags, second * rate, serial, &packets)
    });
    pages.collect()
}

/// Serial number, number, position and flags of all pages.
pub(super) fn pages(bytes: &[u8]) -> Vec<(u32, u32, Option<u64>, u8)> {
    let mut rest = Bytes::copy_from_slice(bytes);
    let mut pages = Vec::new();
    while let Front::Page(length) = page::at_front(&rest) {
        let page = Page::new(rest.split_to(length));
        let number = page.place().sequence;
        pages.push((page.serial(), number, page.granule(), page.flags()));
    }
    assert!(rest.is_empty(), "{} bytes are no pages", rest.len());
    pages
}

fn demux(pieces: &[&[u8]]) -> (Vec<Item>, u64) {
    let mut demuxer = Demuxer::default();
    let mut out = Vec::new();
    for piece in pieces {
        demuxer.push(piece, &mut out);
        let headers = demuxer.chain.as_ref().map_or(0, Chain::unused_bytes);
        assert!(demuxer.buffer.len() + headers <= BUFFERED_BYTES_MAX);
    }
    demuxer.finish(&mut out);
    (out, demuxer.skipped_bytes())
}

/// The items of a stream of which each byte is handed on.
fn clean(parts: &[&[u8]]) -> Vec<Item> {
    let input = parts.concat();
    let (items, skipped) = demux(&[&input]);
    assert_eq!((stream_bytes(&items), skipped), (input, 0));
    items
}

fn words(items: &[Item]) -> Vec<String> {
    let words = items.iter().map(|item| match item {
        Item::Header(_) => "header".to_owned(),
        Item::Track(track) => {
            format!("{} {} {}", track.codec, track.sample_rate, track.channels)
        }
        Item::Title(title) => title.text.clone(),
        Item::Sample(sample) => {
            let form = if sample.keyframe { "key" } else { "-" };
            format!("{} {form}", sample.dts.millis())
        }
        other => format!("{other:?}"),
    });
    words.collect()
}

/// As MPD writes it.
#[test]
fn data_on_a_header_page_is_not_part_of_the_header() {
    let comment = [b"\x03vorbis", &comments(&["TITLE=Song"])[..]].concat();
    let setup = [b"\x05vorbis".as_slice(), &[0x5A; 510]].concat();
    let first = build(FIRST, 0, 1, &[(&vorbis_id(), true)]);
    let headers = [(&comment[..], true), (&setup[..], true)];
    let audio = [(b"\xFFpacket".as_slice(), true), (b"\xFFanother", true)];
    let mixed = build(0, 128, 1, &[&headers[..], &audio[..]].concat());
    let (items, skipped) = demux(&[&first, &mixed, &data(1, 44_100, 2)]);
    assert_eq!(skipped, 0);
    let Some(Item::Header(header)) = items.first() else {
        panic!("{items:?}");
    };
    let alone = build(0, 0, 1, &headers);
    assert_eq!(header[..], [first, alone].concat());
    let samples = samples(&items);
    assert_eq!(samples.len(), 3);
    assert_eq!(samples[0].data[..], build(0, 128, 1, &audio));
    assert!(words(&items).contains(&"Song".to_owned()));
}

#[test]
fn each_codec_has_its_header_pages() {
    let tags = ["title=Song", "ARTIST=Band", "TITLE=Other"];
    for (headers, rate, first) in [
        (vorbis_headers(1, &tags), 44_100, "vorbis 44100 2"),
        (opus_headers(1, &tags), 48_000, "opus 48000 2"),
        (flac_headers(1, &tags), 48_000, "flac 48000 2"),
    ] {
        let items = clean(&[&headers, &data(1, rate, 3)]);
        assert_eq!(words(&items)[..3], ["header", first, "Band - Song"]);
        assert_eq!(words(&items)[3..], ["0 key", "1000 key", "2000 key"]);
        assert!(matches!(&items[0], Item::Header(bytes) if *bytes == headers));
    }
}

#[test]
fn a_chain_brings_new_headers_and_time_continues() {
    let words = words(&clean(&[
        &vorbis_headers(1, &["TITLE=One"]),
        &data(1, 44_100, 2),
        // The same serial number again, as some encoders do.
        &opus_headers(1, &["ARTIST=Two"]),
        &data(1, 48_000, 2),
        &vorbis_headers(7, &[]),
        &data(7, 44_100, 1),
    ]));
    let one = ["header", "vorbis 44100 2", "One", "0 key", "1000 key"];
    assert_eq!(words[..5], one);
    let two = ["header", "opus 48000 2", "Two", "2000 key", "3000 key"];
    assert_eq!(words[5..10], two);
    assert_eq!(words[10..], ["header", "vorbis 44100 2", "4000 key"]);
}

#[test]
fn a_page_that_continues_a_packet_is_no_join_point() {
    let input = [
        vorbis_headers(1, &[]),
        build(0, u64::MAX, 1, &[(&[9; 510], false)]),
        build(CONTINUED, 44_100, 1, &[(&[9; 3], true), (b"next", true)]),
        build(0, 2 * 44_100, 1, &[(b"next", true)]),
    ]
    .concat();
    let (items, _) = demux(&[&input]);
    assert_eq!(words(&items)[2..], ["0 key", "0 -", "1000 key"]);
}

#[test]
fn a_stream_joined_midway_starts_at_zero() {
    let far = 3_600 * 44_100;
    let input = [
        vorbis_headers(1, &[]),
        build(0, far, 1, &[(b"a", true)]),
        build(0, far + 44_100, 1, &[(b"b", true)]),
        build(0, far - 44_100, 1, &[(b"out of order", true)]),
        build(0, u64::MAX - 1, 1, &[(b"a lie", true)]),
        build(0, far + 2 * 44_100, 1, &[(b"c", true)]),
        build(0, far + 3 * 44_100, 1, &[(b"d", true)]),
    ]
    .concat();
    let (items, _) = demux(&[&input]);
    let samples = samples(&items);
    let times: Vec<_> = samples.iter().map(|it| it.dts.millis()).collect();
    assert_eq!(times, [0, 0, 1_000, 1_000, 1_000, 1_000]);
    assert_eq!(samples[5].duration.ticks(), TICKS_PER_SECOND);
}

#[test]
fn pictures_and_audio_share_a_header_and_join_at_keyframes() {
    let theora = theora_headers(1);
    let vorbis = vorbis_headers(2, &[]);
    let first_bytes = vorbis_id().len() + 28;
    let (first, second) = vorbis.split_at(first_bytes);
    let headers = [&theora[0], first, &theora[1], second].concat();
    let items = clean(&[
        &headers,
        &build(0, 1 << 6, 1, &[(b"\x00key", true)]),
        &build(0, 4_410, 2, &[(b"sound", true)]),
        &build(0, 1 << 6 | 1, 1, &[(b"\x40delta", true)]),
        &build(0, 3 << 6, 1, &[(b"\x40delta", true), (b"\x00key", true)]),
        &build(0, 8_820, 2, &[(b"sound", true)]),
    ]);
    assert!(matches!(&items[0], Item::Header(bytes) if *bytes == headers));
    assert_eq!(words(&items)[1..3], ["theo 0 0", "vorbis 44100 2"]);
    let samples = samples(&items);
    let tracks: Vec<_> = samples.iter().map(|it| it.track).collect();
    let (audio, picture) = (TrackId::AUDIO, TrackId::VIDEO);
    assert_eq!(tracks, [picture, audio, picture, picture, audio]);
    let keys: Vec<_> = samples.iter().map(|it| it.keyframe).collect();
    assert_eq!(keys, [true, false, false, true, false]);
}

#[test]
fn unknown_codecs_are_relayed() {
    let items = clean(&[
        &build(FIRST, 0, 5, &[(b"mystery", true)]),
        &build(0, 0, 5, &[(b"more headers", true)]),
        &build(0, 10, 5, &[(b"data", true)]),
        &build(LAST, 20, 5, &[(b"data", true)]),
    ]);
    assert_eq!(words(&items), ["header", "unknown 0 0", "0 key", "0 key"]);
}

#[test]
fn flac_without_a_last_block_ends_with_its_first_frame() {
    let mut headers = flac_headers(1, &[]);
    // The comment block loses its flag.
    let second = headers.len() - 28 - 16;
    let block: Vec<u8> = headers[second + 28..].to_vec();
    let block = [&[block[0] & 0x7F], &block[1..]].concat();
    headers.truncate(second);
    headers.extend(build(0, 0, 1, &[(&block, true)]));
    let items = clean(&[&headers, &data(1, 48_000, 2)]);
    let expected = ["header", "flac 48000 2", "0 key", "1000 key"];
    assert_eq!(words(&items), expected);
}

#[test]
fn damaged_pages_are_dropped_and_the_rest_continues() {
    let headers = vorbis_headers(1, &[]);
    let mut pages = data(1, 44_100, 3);
    let page_bytes = pages.len() / 3;
    pages[page_bytes + 40] ^= 1;
    let input = [b"garbage OggS Ogg ".as_slice(), &headers, &pages, b"OggS\0"].concat();
    let (items, skipped) = demux(&[&input]);
    let expected = ["header", "vorbis 44100 2", "0 key", "1000 key"];
    assert_eq!(words(&items), expected);
    assert_eq!(skipped, 17 + page_bytes as u64 + 5);
}

#[test]
fn data_without_headers_waits_for_the_next_link() {
    let foreign = data(9, 44_100, 2);
    let (headers, own) = (vorbis_headers(1, &[]), data(1, 44_100, 1));
    let (items, skipped) = demux(&[&foreign, &headers, &own]);
    assert_eq!(words(&items), ["header", "vorbis 44100 2", "0 key"]);
    assert_eq!(skipped, foreign.len() as u64);
}

#[test]
fn headers_without_end_are_given_up() {
    let mut input = build(FIRST, 0, 1, &[(&vorbis_id(), true)]);
    for _ in 0..40 {
        input.extend(build(0, u64::MAX, 1, &[(&[3; 255 * 255], false)]));
    }
    let chain = [vorbis_headers(2, &[]), data(2, 44_100, 1)].concat();
    input.extend(&chain);
    let (items, skipped) = demux(&[&input]);
    assert_eq!(stream_bytes(&items), chain);
    assert_eq!(skipped, (input.len() - chain.len()) as u64);
    assert!(matches!(&items[1], Item::Track(track) if track.codec == Codec::Vorbis));
}

#[test]
fn comments_that_lie_are_harmless() {
    let short = title(b"\x04\0\0\0test\xFF\xFF\xFF\xFF\x07\0\0\0TITLE=x\xFF");
    assert_eq!(short.map(|title| title.text), Some("x".to_owned()));
    assert_eq!(title(b"\xFF\xFF\xFF\xFF"), None);
    let long = title(&comments(&[&format!("TITLE={}", "ü".repeat(9_000))]));
    assert!(long.is_some_and(|title| title.text.len() <= 2_048));
}

fn part() -> impl Strategy<Value = Vec<u8>> {
    let serial = || 1u32..4;
    prop_oneof![
        serial().prop_map(|serial| vorbis_headers(serial, &["TITLE=x"])),
        serial().prop_map(|serial| opus_headers(serial, &[])),
        serial().prop_map(|serial| flac_headers(serial, &[])),
        serial().prop_map(|serial| theora_headers(serial).concat()),
        (serial(), 1u64..4).prop_map(|(serial, seconds)| data(serial, 44_100, seconds)),
        (serial(), any::<u8>(), any::<u64>()).prop_map(|(serial, flags, granule)| {
            build(flags & 7, granule, serial, &[(b"any", true)])
        }),
        prop::collection::vec(any::<u8>(), 0..40),
        Just(b"OggS\0".to_vec()),
    ]
}

proptest! {
    #[test]
    fn the_cut_of_the_input_makes_no_difference(
        parts in prop::collection::vec(part(), 1..12),
        cuts in prop::collection::vec(1usize..300, 1..20),
    ) {
        let input = parts.concat();
        let whole = demux(&[&input]);
        let cut = demux(&pieces(&input, &cuts));
        prop_assert_eq!(format!("{:?}", &whole), format!("{cut:?}"));
        // Every byte is handed on or counted.
        prop_assert_eq!(stream_bytes(&whole.0).len() as u64 + whole.1, input.len() as u64);
        let times: Vec<_> = samples(&whole.0).iter().map(|sample| sample.dts).collect();
        prop_assert!(times.is_sorted());
    }
}

#[test]
fn beginnings_of_pages_that_are_none_cost_little() {
    // Each five bytes begin what could be the longest page, and its checksum is wrong.
    let body = b"OggS\0".repeat(600_000);
    let mut demuxer = Demuxer::default();
    let mut items = Vec::new();
    demuxer.push(&body, &mut items);
    let checked = demuxer.checked_in_vain;
    let most = CHECKS_MIN + CHECKS_PER_BYTE * body.len() as u64 + PAGE_BYTES_MAX as u64;
    assert!(checked > CHECKS_MIN, "they do look like pages: {checked}");
    assert!(checked <= most, "{checked} of {} bytes", body.len());
    // The following data is understood.
    let mut honest = vec![0; PAGE_BYTES_MAX];
    honest.extend(vorbis_headers(1, &[]));
    honest.extend(build(0, 100, 1, &[(b"packet", true)]));
    demuxer.push(&honest, &mut items);
    assert_eq!(samples(&items).len(), 1);
}
