//! Links that are made of titles, and links that become one stream.

use bytes::Bytes;
use media::codec::opus;
use media::{Item, SongTitle};

use super::super::page::{FLAG_LAST, Page, build};
use super::super::{Demuxer, Retitler, Unchainer};
use super::{comments, headers, opus_headers, pages, samples, stream_bytes, vorbis_id};

const SERIAL: u32 = 7;
const PRE_SKIP: u64 = 0x138;

/// Samples on a page of five packets of 20 ms.
const PAGE: u64 = 5 * 960;

fn opus_page(flags: u8, number: u64) -> Vec<u8> {
    let packets = [0, 1, 2, 3, 4].map(|index| [0xFC, number as u8, index]);
    let pieces = packets.each_ref().map(|packet| (&packet[..], true));
    build(flags, (number + 1) * PAGE, SERIAL, &pieces)
}

/// A source of so many pages.
fn opus(pages: u64) -> Vec<Item> {
    let mut bytes = opus_headers(SERIAL, &["TITLE=Own"]);
    (0..pages).for_each(|number| bytes.extend(opus_page(0, number)));
    items(&bytes)
}

fn items(bytes: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut demuxer = Demuxer::default();
    demuxer.push(bytes, &mut items);
    assert_eq!(demuxer.skipped_bytes(), 0);
    items
}

fn song(artist: &str, title: &str) -> SongTitle {
    SongTitle {
        artist: artist.to_owned(),
        title: title.to_owned(),
        url: String::new(),
    }
}

/// Passes items on, with a title that comes before the page of that number.
fn retitled(items: Vec<Item>, at: usize, song: &SongTitle) -> Vec<Item> {
    let (mut retitler, mut out, mut pages) = (Retitler::default(), Vec::new(), 0);
    for item in items {
        if let Item::Sample(_) = item {
            if pages == at {
                assert!(retitler.takes_titles());
                retitler.wish(song.clone());
            }
            pages += 1;
        }
        retitler.push(item, &mut out);
    }
    out
}

fn titles(items: &[Item]) -> Vec<String> {
    let of = |item: &Item| match item {
        Item::Title(title) => Some(title.text.clone()),
        _ => None,
    };
    items.iter().filter_map(of).collect()
}

fn length(items: &[Item]) -> i64 {
    let durations = samples(items).into_iter().map(|it| it.duration.ticks());
    durations.sum()
}

#[test]
fn a_title_begins_a_link_that_a_decoder_of_opus_is_ready_for() {
    let all = retitled(opus(6), 2, &song("Some Band", "Some Song"));
    let bytes = stream_bytes(&all);
    let link = SERIAL + 1;
    let pre_roll = 4 * 960;
    let expected = [
        (SERIAL, 0, Some(0), 2),
        (SERIAL, 0, Some(0), 0),
        (SERIAL, 0, Some(PAGE), 0),
        (SERIAL, 0, Some(2 * PAGE), 0),
        (SERIAL, 0, Some(3 * PAGE), FLAG_LAST),
        (link, 0, Some(0), 2),
        (link, 1, Some(0), 0),
        (link, 2, Some(pre_roll), 0),
        (link, 3, Some(pre_roll + PAGE), 0),
        (link, 4, Some(pre_roll + 2 * PAGE), 0),
        (link, 5, Some(pre_roll + 3 * PAGE), 0),
    ];
    assert_eq!(pages(&bytes), expected);
    let again = items(&bytes);
    assert_eq!(titles(&all), ["Own", "Some Band - Some Song"]);
    assert_eq!(titles(&again), ["Own", "Some Band - Some Song"]);
    assert_eq!(length(&all), length(&opus(6)));
    // The repeated packets are the last four before.
    let repeated = samples(&all)[3];
    let page = Page::new(repeated.data.clone());
    let packets: Vec<_> = page.pieces().map(|(piece, _)| piece.to_vec()).collect();
    assert_eq!(packets, [1, 2, 3, 4].map(|index| [0xFC, 2, index]));
    assert!(!repeated.keyframe);
    let mut found = again.iter().filter_map(|item| match item {
        Item::Header(header) => Some(header),
        _ => None,
    });
    let header = found.next_back().expect("a header");
    let head = super::super::OpusPackets::head(header).expect("a head");
    let pre_skip = u16::from_le_bytes([head[10], head[11]]);
    assert_eq!(u64::from(pre_skip), pre_roll);
    assert_eq!(opus::head_channels(&head), Some(2));
}

#[test]
fn without_a_title_nothing_changes() {
    let out = retitled(opus(3), usize::MAX, &song("", ""));
    assert_eq!(stream_bytes(&out), stream_bytes(&opus(3)));
}

/// The last page of the source, and one whose last packet is continued, cannot end a link here.
#[test]
fn a_title_waits_for_a_page_that_ends_with_a_packet() {
    let long = [0xFC; 510];
    let mut bytes = opus_headers(SERIAL, &[]);
    bytes.extend(build(0, PAGE, SERIAL, &[(&long, true), (&long, false)]));
    bytes.extend(build(1, 2 * PAGE, SERIAL, &[(b"rest", true)]));
    bytes.extend(opus_page(0, 2));
    bytes.extend(opus_page(0, 3));
    let all = retitled(items(&bytes), 0, &song("", "Late"));
    let pages = pages(&stream_bytes(&all)).into_iter();
    let flags: Vec<_> = pages.map(|page| page.3).collect();
    assert_eq!(flags, [2, 0, 0, 1, FLAG_LAST, 2, 0, 0, 0]);
    assert_eq!(titles(&all), ["Late"]);
}

#[test]
fn a_link_of_the_source_has_a_number_of_its_own_behind_one_of_ours() {
    let mut both = opus(4);
    let mut next = opus_headers(SERIAL + 1, &["TITLE=Next"]);
    next.extend(build(0, PAGE, SERIAL + 1, &[(&[0xFC, 1], true)]));
    both.extend(items(&next));
    let all = retitled(both, 1, &song("", "Ours"));
    let pages = pages(&stream_bytes(&all)).into_iter();
    let mut serials: Vec<_> = pages.map(|page| page.0).collect();
    serials.dedup();
    assert_eq!(serials, [SERIAL, SERIAL + 1, SERIAL + 2]);
    assert_eq!(titles(&all), ["Own", "Ours", "Next"]);
}

/// A setup header whose modes can be read: two, of short and of long blocks.
fn vorbis_headers(serial: u32, list: &[&str]) -> Vec<u8> {
    let mut id = vorbis_id();
    id[28] = 0xB8;
    let comment = [b"\x03vorbis", &comments(list)[..], &[1]].concat();
    let mut bits = Vec::new();
    let mut put = |value: u64, count: usize| {
        (0..count).for_each(|bit| bits.push(value >> bit & 1 == 1));
    };
    put(1, 6);
    for is_long in [0, 1] {
        put(is_long, 1);
        put(0, 32);
        put(0, 8);
    }
    put(1, 1);
    let byte = |bits: &[bool]| {
        bits.iter()
            .rfold(0_u8, |sum, bit| sum << 1 | u8::from(*bit))
    };
    let packed = bits.chunks(8).map(byte);
    let setup: Vec<_> = b"\x05vorbis".iter().copied().chain(packed).collect();
    headers(serial, &id, &[(&comment, true), (&setup, true)])
}

/// Two long blocks, of 1,024 samples each behind another; the first of a stream has none.
fn vorbis_page(serial: u32, granule: u64, number: u8) -> Vec<u8> {
    let packets = [0, 1].map(|index| [2, number, index]);
    let pieces = packets.each_ref().map(|packet| (&packet[..], true));
    build(0, granule, serial, &pieces)
}

#[test]
fn a_link_of_vorbis_begins_with_the_last_packet_before() {
    let mut bytes = vorbis_headers(SERIAL, &["artist=A", "title=B"]);
    for number in 0..4 {
        bytes.extend(vorbis_page(SERIAL, 1_024 + number * 2_048, number as u8));
    }
    let all = retitled(items(&bytes), 1, &song("C", "D"));
    let pages = pages(&stream_bytes(&all)).into_iter();
    let positions: Vec<_> = pages.map(|page| page.2).collect();
    let expected = [0, 0, 1_024, 3_072, 0, 0, 0, 2_048, 4_096];
    assert_eq!(positions, expected.map(Some));
    assert_eq!(titles(&items(&stream_bytes(&all))), ["A - B", "C - D"]);
    let repeated = samples(&all)[2];
    let page = Page::new(repeated.data.clone());
    assert_eq!(page.pieces().collect::<Vec<_>>(), [(&[2, 1, 1][..], true)]);
    // A listener that had the link before continues as if there were none.
    let whole = unchained(&all);
    let positions: Vec<_> = whole.iter().map(|page| page.2).collect();
    let expected = [0, 0, 1_024, 3_072, 5_120, 7_168];
    assert_eq!(positions, expected.map(Some));
}

/// Returns the pages that are sent to a listener from the beginning.
fn unchained(items: &[Item]) -> Vec<(u32, u32, Option<u64>, u8)> {
    let (mut unchainer, mut bytes) = (Unchainer::default(), Vec::new());
    for item in items {
        match item {
            Item::Header(header) => bytes.extend(unchainer.header(header).0.unwrap_or_default()),
            Item::Sample(sample) => bytes.extend(unchainer.page(&sample.data).unwrap_or_default()),
            _ => {}
        }
    }
    pages(&bytes)
}

#[test]
fn links_that_decode_alike_are_one_stream() {
    let mut all = retitled(opus(3), 1, &song("Some Band", "Some Song"));
    // And a link of the source's own, which ended the one before.
    let mut next = opus_headers(99, &["TITLE=Next"]);
    let packets: [(&[u8], _); 2] = [(&[0xFC, 1], true), (&[0xFC, 2], true)];
    next.extend(build(0, PRE_SKIP + 960, 99, &packets));
    all.extend(items(&next));
    let whole = unchained(&all);
    let expected = [0, 0, PAGE, 2 * PAGE, 3 * PAGE, 3 * PAGE + 1_920];
    let numbers = 0..expected.len() as u32;
    let expected = numbers.zip(expected).map(|(number, granule)| {
        let flags = if number == 0 { 2 } else { 0 };
        (SERIAL, number, Some(granule), flags)
    });
    assert_eq!(whole, expected.collect::<Vec<_>>());
}

#[test]
fn another_coding_is_another_link() {
    let mut all = opus(1);
    let mut next = vorbis_headers(SERIAL, &[]);
    next.extend(vorbis_page(SERIAL, 1_024, 0));
    all.extend(items(&next));
    let expected = [
        (SERIAL, 0, Some(0), 2),
        (SERIAL, 1, Some(0), 0),
        (SERIAL, 2, Some(PAGE), 0),
        (SERIAL, 3, Some(PAGE), FLAG_LAST),
        (SERIAL + 1, 0, Some(0), 2),
        (SERIAL + 1, 1, Some(0), 0),
        (SERIAL + 1, 2, Some(1_024), 0),
    ];
    assert_eq!(unchained(&all), expected);
    // Several simultaneous streams are not changed.
    let pair = [
        build(2, 0, 1, &[(b"one", true)]),
        build(2, 0, 2, &[(b"two", true)]),
    ]
    .concat();
    let mut unchainer = Unchainer::default();
    let pair = Bytes::from(pair);
    assert_eq!(unchainer.header(&pair), (Some(pair.clone()), pair.clone()));
    let page = Bytes::from(build(0, 5, 1, &[(b"data", true)]));
    assert_eq!(unchainer.page(&page), Some(page));
}
