//! The source's own bytes, and elementary audio.

use container::frames::Syntax;
use container::{adts, frames};
use fanout::Settings;
use media::codec::aac::AdtsHeader;
use media::{Codec, Container, Item, TrackId};
use packagers::Form;
use testkit::OggPage;

use crate::listen::testing::{
    ASC, TestServer, assert_same, audio_track, audio_track_of, demux, impatient, mp3_frame,
    mp3_items, no_burst, published, sample, samples, video_track, write,
};

fn page(flags: u8, granule: u64, serial: u32, packets: &[&[u8]], is_cut: bool) -> Vec<u8> {
    let page = OggPage {
        flags,
        granule,
        serial,
        number: 0,
        packets,
        is_cut,
    };
    page.bytes()
}

/// A link of Opus: two header pages, then pages of which every third continues on the next.
fn opus_link(serial: u32, pages: u64) -> Vec<u8> {
    const FIRST: u8 = 2;
    const CONTINUED: u8 = 1;
    let head = b"OpusHead\x01\x02\x38\x01\x80\xBB\0\0\0\0\0";
    let tags = b"OpusTags\x04\0\0\0test\0\0\0\0";
    let mut link = page(FIRST, 0, serial, &[head], false);
    link.extend(page(0, 0, serial, &[tags], false));
    for number in 0..pages {
        let packet = [0xFC, number as u8, serial as u8];
        let flags = if number % 3 == 1 { CONTINUED } else { 0 };
        let granule = (number + 1) * 960;
        link.extend(if number % 3 == 0 {
            page(flags, granule, serial, &[&packet, &[0xFC; 255]], true)
        } else {
            page(flags, granule, serial, &[&packet, &packet], false)
        });
    }
    link
}

/// Header and sample bytes, in order.
fn stream_bytes(items: &[Item]) -> Vec<u8> {
    let parts = items.iter().map(|item| match item {
        Item::Header(bytes) => &bytes[..],
        Item::Sample(sample) => &sample.data[..],
        _ => &[],
    });
    parts.collect::<Vec<_>>().concat()
}

/// Returns the bytes for a listener that joined at `items[join]`.
fn expected(items: &[Item], join: usize) -> Vec<u8> {
    let header = items[..join].iter().rev().find_map(|item| match item {
        Item::Header(bytes) => Some(bytes.to_vec()),
        _ => None,
    });
    let mut bytes = header.unwrap_or_default();
    bytes.extend(stream_bytes(&items[join..]));
    bytes
}

fn is_join(item: &Item) -> bool {
    matches!(item, Item::Sample(sample) if sample.keyframe)
}

/// Joins after each item of a running lane and checks every listener's bytes.
fn join_everywhere(container: Container, items: &[Item]) -> Vec<Vec<u8>> {
    let server = TestServer::new(no_burst());
    let mut publisher = server.publish("it", container);
    let mut joiners = vec![(None, server.join("it", Form::Source))];
    for (index, item) in items.iter().enumerate() {
        write(&mut publisher, std::slice::from_ref(item));
        // A listener that waited starts as soon as it can.
        for (join, joiner) in &mut joiners {
            if join.is_none() && is_join(item) {
                *join = Some(index);
            }
            joiner.drain();
        }
        let newest = items[..=index].iter().rposition(is_join);
        joiners.push((newest, server.join("it", Form::Source)));
    }
    let mut received = Vec::new();
    for (join, mut joiner) in joiners {
        joiner.drain();
        let expected = join.map(|join| expected(items, join)).unwrap_or_default();
        assert_same(&joiner.bytes, &expected, &format!("joined at {join:?}"));
        received.push(joiner.bytes);
    }
    received
}

#[test]
fn frames_pass_byte_for_byte_from_any_frame() {
    let items = mp3_items(40);
    let received = join_everywhere(Container::Mp3, &items);
    let all: Vec<u8> = (0..40).flat_map(mp3_frame).collect();
    assert_same(&received[0], &all, "the first listener");
}

#[test]
fn ogg_joiners_get_the_headers_in_force_once_and_then_a_fresh_page() {
    let links = [(1, 9), (2, 7), (3, 1), (1, 6)];
    let chain = links
        .map(|(serial, pages)| opus_link(serial, pages))
        .concat();
    let items = demux("application/ogg", &chain);
    let received = join_everywhere(Container::Ogg, &items);
    assert_same(&received[0], &chain, "the first listener");
    for bytes in received.iter().filter(|bytes| !bytes.is_empty()) {
        let again = demux("audio/ogg", bytes);
        assert!(matches!(again[0], Item::Header(_)));
        assert!(samples(&again).next().is_some_and(|page| page.keyframe));
    }
}

#[test]
fn a_lane_that_opens_late_gives_the_header_once() {
    let chain = [opus_link(1, 5), opus_link(2, 5)].concat();
    let items = demux("application/ogg", &chain);
    for cut in 1..items.len() {
        let (server, mut publisher) = published(no_burst(), "it", Container::Ogg);
        write(&mut publisher, &items[..cut]);
        let mut joiner = server.join("it", Form::Source);
        for item in &items[cut..] {
            write(&mut publisher, std::slice::from_ref(item));
            joiner.drain();
        }
        let header = items[..cut]
            .iter()
            .rposition(|item| matches!(item, Item::Header(_)));
        let since_header = header.unwrap_or(0);
        let newest = items[since_header..cut].iter().rposition(is_join);
        let next = || cut + items[cut..].iter().position(is_join).unwrap();
        let join = newest.map_or_else(next, |index| since_header + index);
        let expected = expected(&items, join);
        assert_same(joiner.drain(), &expected, &format!("opened at {cut}"));
    }
}

/// A second of media, which names itself.
fn piece(number: i64, keyframe: bool) -> Item {
    let data = format!("[{number}]").into_bytes();
    sample(TrackId::AUDIO, number * 1_000, keyframe, data)
}

#[test]
fn a_laggard_leaves_webm_between_clusters() {
    let (server, mut publisher) = published(impatient(5), "it", Container::WebM);
    let piece = |number| piece(number, number % 4 == 0);
    let header = Item::Header(b"<header>".as_slice().into());
    write(&mut publisher, &[header]);
    write(&mut publisher, &(0..6).map(piece).collect::<Vec<_>>());
    let mut joiner = server.join("it", Form::Source);
    assert_eq!(joiner.drain(), b"<header>[4][5]");
    write(&mut publisher, &(6..30).map(piece).collect::<Vec<_>>());
    assert_eq!(joiner.drain(), b"<header>[4][5][6][7][28][29]");
}

#[test]
fn a_laggard_that_skips_to_another_link_gets_its_headers() {
    let (server, mut publisher) = published(impatient(5), "it", Container::Ogg);
    let piece = |number| piece(number, true);
    let header = |text: &'static str| Item::Header(text.as_bytes().into());
    write(&mut publisher, &[header("<one>"), piece(0)]);
    let mut joiner = server.join("it", Form::Source);
    assert_eq!(joiner.drain(), b"<one>[0]");
    write(&mut publisher, &(1..20).map(piece).collect::<Vec<_>>());
    assert_eq!(joiner.drain(), b"<one>[0][19]");
    write(&mut publisher, &[header("<two>")]);
    write(&mut publisher, &(20..40).map(piece).collect::<Vec<_>>());
    assert_eq!(joiner.drain(), b"<one>[0][19]<two>[39]");
}

/// Video and audio of an RTMP stream: a video frame and two audio frames each 40 ms.
fn rtmp_items(codec: Codec, frame: impl Fn(usize) -> Vec<u8>) -> Vec<Item> {
    let mut items = vec![video_track(30), audio_track(codec)];
    for number in 0..60_usize {
        let at = number as i64 * 20;
        if number % 2 == 0 {
            let picture = vec![0xEE; 100];
            items.push(sample(TrackId::VIDEO, at, number % 20 == 0, picture));
        }
        items.push(sample(TrackId::AUDIO, at, true, frame(number)));
    }
    items
}

#[test]
fn aac_of_an_rtmp_stream_becomes_adts() {
    let unit = |number: usize| vec![number as u8; 50 + number];
    let items = rtmp_items(Codec::Aac, unit);
    let (server, mut publisher) = published(Settings::default(), "live/show", Container::Tracks);
    write(&mut publisher, &items[..4]);
    let mut joiner = server.join("live/show", Form::Aac);
    write(&mut publisher, &items[4..]);
    let mut demuxer = frames::Demuxer::new(Syntax::Adts);
    let mut heard = Vec::new();
    demuxer.push(joiner.drain(), &mut heard);
    assert_eq!(demuxer.skipped_bytes(), 0);
    assert!(matches!(&heard[0], Item::Track(track) if track.config == ASC[..]));
    let payloads: Vec<_> = samples(&heard)
        .map(|sample| sample.data[AdtsHeader::BYTES..].to_vec())
        .collect();
    assert_eq!(payloads, (0..60).map(unit).collect::<Vec<_>>());
}

#[test]
fn mp3_of_an_rtmp_stream_is_only_its_frames() {
    let items = rtmp_items(Codec::Mp3, mp3_frame);
    let (server, mut publisher) = published(Settings::default(), "live/show", Container::Tracks);
    write(&mut publisher, &items);
    let mut joiner = server.join("live/show", Form::Mp3);
    let all: Vec<u8> = (0..60).flat_map(mp3_frame).collect();
    // Without a burst a listener of a stream with video starts at the newest frame.
    assert_same(joiner.drain(), &mp3_frame(59), "the newest frame");
    write(&mut publisher, &items[2..]);
    assert!([mp3_frame(59), all].concat().starts_with(joiner.drain()));
    assert!(joiner.bytes.len() > mp3_frame(59).len());
}

#[test]
fn a_track_that_turns_into_another_codec_falls_silent() {
    let (server, mut publisher) = published(Settings::default(), "live/show", Container::Tracks);
    let frame = sample(TrackId::AUDIO, 0, true, vec![1; 30]);
    write(&mut publisher, &[audio_track(Codec::Aac), frame.clone()]);
    let mut joiner = server.join("live/show", Form::Aac);
    let before = joiner.drain().len();
    assert_eq!(before, AdtsHeader::BYTES + 30);
    write(&mut publisher, &[audio_track(Codec::Mp3), frame.clone()]);
    assert_eq!(joiner.drain().len(), before);
    write(&mut publisher, &[audio_track(Codec::Aac), frame]);
    assert_eq!(joiner.drain().len(), 2 * before);
}

#[test]
fn only_the_first_track_of_its_codec_is_heard() {
    let other = audio_track_of(TrackId(2), Codec::Aac);
    let (server, mut publisher) = published(no_burst(), "live/show", Container::Tracks);
    write(&mut publisher, &[audio_track(Codec::Aac), other]);
    let mut joiner = server.join("live/show", Form::Aac);
    let frame = |track, byte| sample(track, 0, true, vec![byte; 9]);
    let frames = [frame(TrackId(2), 2), frame(TrackId::AUDIO, 1)];
    write(&mut publisher, &frames);
    let header = adts::Writer::new(&ASC).unwrap().header(9).unwrap();
    assert_eq!(joiner.drain(), [&header[..], &[1; 9]].concat());
}
