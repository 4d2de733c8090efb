//! Searches in files of Ogg, and streams that are made of several of them.

use bytes::Bytes;
use media::codec::opus;
use media::{Item, Span};
use proptest::prelude::*;

use super::super::page::{FLAG_FIRST, FLAG_LAST, build};
use super::super::tests::{opus_headers, pages};
use super::super::{Demuxer, PAGE_BYTES_MAX};
use super::*;
use crate::search::tests::searched;
use crate::search::{LOOK_BYTES, LOOKS_MAX, Place};

const RATE: u64 = 48_000;

fn headers(serial: u32, title: &str) -> Vec<u8> {
    opus_headers(serial, &[&format!("TITLE={title}")])
}

/// Packets of 20 ms.
fn page(flags: u8, granule: u64, serial: u32, packets: u64, packet_bytes: usize) -> Vec<u8> {
    let packet = vec![0xFC; packet_bytes];
    let pieces: Vec<_> = (0..packets).map(|_| (&packet[..], true)).collect();
    build(flags, granule, serial, &pieces)
}

/// A link of so many seconds, a page for each, and where its pages begin.
fn link(serial: u32, title: &str, seconds: u64, packet_bytes: usize) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = headers(serial, title);
    let mut places = Vec::new();
    for second in 1..=seconds {
        places.push(bytes.len());
        bytes.extend(page(0, second * RATE, serial, 50, packet_bytes));
    }
    (bytes, places)
}

fn find(file: &[u8], seconds: f64) -> (Option<Place>, usize) {
    let to = Span::from_millis((seconds * 1_000.0) as i64);
    searched(&mut PageSearch::new(to, file.len() as u64), file)
}

#[test]
fn the_page_of_a_time_is_found() {
    let (file, places) = link(7, "one", 600, 400);
    let header = Bytes::from(headers(7, "one"));
    for (seconds, page) in [
        (0.0, 0),
        (0.9, 0),
        (1.0, 1),
        (299.5, 299),
        (300.0, 300),
        (599.9, 599),
        (9_999.0, 599),
    ] {
        let (place, looks) = find(&file, seconds);
        let place = place.expect("a place");
        assert_eq!(place.at, places[page] as u64, "{seconds}");
        assert_eq!(place.began.millis(), page as i64 * 1_000, "{seconds}");
        assert_eq!(place.header, header);
        assert!(looks < 30, "{seconds}: {looks}");
    }
}

#[test]
fn the_link_of_a_time_is_found_in_a_chain() {
    let mut file = Vec::new();
    let mut begins = Vec::new();
    for number in 0..40 {
        let (bytes, places) = link(100 + number, &format!("song {number}"), 60, 300);
        begins.push((file.len(), places));
        file.extend(bytes);
    }
    for (seconds, number, page) in [(0.0, 0, 0), (59.5, 0, 59), (60.0, 1, 0), (1_234.5, 20, 34)] {
        let (place, looks) = find(&file, seconds);
        let place = place.expect("a place");
        let (begin, places) = &begins[number];
        assert_eq!(place.at, (begin + places[page]) as u64, "{seconds}");
        assert_eq!(place.began.millis(), (seconds as i64) * 1_000, "{seconds}");
        let header = headers(100 + number as u32, &format!("song {number}"));
        assert_eq!(place.header, header);
        assert!(looks < 40 + 12 * number, "{seconds}: {looks}");
    }
}

#[test]
fn pages_that_a_packet_continues_in_are_no_places() {
    // Each packet begins on one page and ends on the next, but for every fourth page.
    let mut file = headers(7, "one");
    let mut begins = Vec::new();
    for number in 0..400_u64 {
        let (whole, rest) = ([0xFC; 90], [0xFC; 255]);
        let is_begin = number % 4 == 0;
        let mut pieces: Vec<(&[u8], bool)> = Vec::new();
        if !is_begin {
            pieces.push((&whole, true));
        }
        pieces.push((&whole, true));
        if number % 4 < 3 {
            pieces.push((&rest, false));
        }
        if is_begin {
            begins.push(file.len() as u64);
        }
        file.extend(build(u8::from(!is_begin), (number + 1) * 4_800, 7, &pieces));
    }
    // The position of a page is where it ends: a tenth of a second each.
    for (seconds, begin) in [(0.0, 0), (20.1, 50), (20.39, 50), (20.4, 51), (99.0, 99)] {
        let place = find(&file, seconds).0.expect("a place");
        assert_eq!(place.at, begins[begin], "{seconds}");
    }
}

#[test]
fn damage_is_passed_over_and_what_is_no_ogg_has_no_place() {
    let (mut file, places) = link(7, "one", 300, 400);
    file[places[150] + 200] ^= 1;
    let place = find(&file, 150.5).0.expect("a place");
    assert_eq!(place.at, places[149] as u64, "the page is no page");
    let cut = &file[..places[200] + 99];
    assert_eq!(find(cut, 280.0).0.expect("a place").at, places[199] as u64);
    assert_eq!(find(&[], 1.0).0, None);
    assert_eq!(find(&[0x4F; 400_000], 1.0).0, None);
    let header = headers(7, "one");
    let alone = find(&header, 1.0).0.expect("a place");
    assert_eq!(alone.at, header.len() as u64);
    assert_eq!(find(&header[..60], 1.0).0, None);
}

#[test]
fn looks_are_bounded_in_a_file_of_titles_alone() {
    let mut file = Vec::new();
    for number in 0..3_000 {
        file.extend(link(number, "short", 1, 4).0);
    }
    let (place, looks) = find(&file, 2_999.5);
    assert!(looks <= LOOKS_MAX, "{looks}");
    let place = place.expect("a place");
    // As far as it came.
    assert!(place.at > 0 && place.began > Span::ZERO);
    assert!(LOOK_BYTES as usize > PAGE_BYTES_MAX);
}

#[test]
fn what_is_read_from_a_page_on_is_a_stream_of_its_own() {
    let (file, places) = link(7, "one", 100, 40);
    let header = Bytes::from(headers(7, "one"));
    let mut splice = Splice::default();
    let mut out = splice.header(&header);
    let rest = Bytes::copy_from_slice(&file[places[40]..places[43]]);
    out.extend(splice.pages(&rest));
    out.extend(splice.end());
    let expected = [
        (7, 0, Some(0), FLAG_FIRST),
        (7, 1, Some(0), 0),
        (7, 2, Some(RATE), 0),
        (7, 3, Some(2 * RATE), 0),
        (7, 4, Some(3 * RATE), FLAG_LAST),
    ];
    assert_eq!(pages(&out), expected);
    assert!(splice.end().is_empty(), "it has ended");
}

#[test]
fn the_same_header_continues_and_another_begins_a_link() {
    let [one, two] = ["one", "two"].map(|title| Bytes::from(headers(7, title)));
    let page = |flags, seconds| Bytes::from(page(flags, seconds * RATE, 7, 50, 40));
    let mut splice = Splice::default();
    let mut out = splice.header(&one);
    out.extend(splice.pages(&page(0, 9)));
    // The end of a file says that it is the last.
    out.extend(splice.pages(&page(FLAG_LAST, 10)));
    for header in [one, two] {
        out.extend(splice.header(&header));
        out.extend(splice.pages(&page(0, 1)));
    }
    out.extend(splice.end());
    let expected = [
        (7, 2, Some(RATE), 0),
        (7, 3, Some(2 * RATE), 0),
        (7, 4, Some(3 * RATE), FLAG_LAST),
        (8, 0, Some(0), FLAG_FIRST),
        (8, 1, Some(0), 0),
        (8, 2, Some(RATE), FLAG_LAST),
    ];
    assert_eq!(pages(&out)[2..], expected);
    let mut items = Vec::new();
    Demuxer::default().push(&out, &mut items);
    let links = items.iter().filter(|it| matches!(it, Item::Header(_)));
    assert_eq!(links.count(), 2);
}

#[test]
fn streams_that_play_together_are_a_link_each_time() {
    let first = [
        build(FLAG_FIRST, 0, 1, &[(&opus::head(2), true)]),
        build(FLAG_FIRST, 0, 2, &[(&opus::head(2), true)]),
        build(0, 0, 1, &[(b"OpusTags", true)]),
        build(0, 0, 2, &[(b"OpusTags", true)]),
    ];
    let header = Bytes::from(first.concat());
    let mut splice = Splice::default();
    let mut out = splice.header(&header);
    out.extend(splice.pages(&page(0, 5 * RATE, 1, 50, 40).into()));
    out.extend(splice.header(&header));
    out.extend(splice.end());
    let written = pages(&out);
    let ends = |serial| (serial, written.iter().rfind(|it| it.0 == serial));
    assert_eq!(ends(1).1, Some(&(1, 2, Some(5 * RATE), FLAG_LAST)));
    // No packet ends on it.
    assert_eq!(ends(2).1, Some(&(2, 2, None, FLAG_LAST)));
    let firsts = written.iter().filter(|it| it.3 == FLAG_FIRST);
    let serials: Vec<_> = firsts.map(|it| it.0).collect();
    assert_eq!(serials, [1, 2, 3, 4]);
}

proptest! {
    #[test]
    fn any_bytes_end_a_search(
        seconds in 0.0..100.0_f64,
        bytes in prop::collection::vec(any::<u8>(), 0..2_000),
        at in 0..60_000_usize,
    ) {
        let (mut file, _) = link(7, "one", 30, 40);
        let at = at.min(file.len());
        file.splice(at..at, bytes);
        let (place, _) = find(&file, seconds);
        if let Some(place) = place {
            prop_assert!(place.at <= file.len() as u64);
        }
        let mut splice = Splice::default();
        splice.header(&Bytes::copy_from_slice(&file[at..]));
        let pages = splice.pages(&file.into());
        prop_assert!(splice.end().len() + pages.len() < 1_000_000);
    }
}
