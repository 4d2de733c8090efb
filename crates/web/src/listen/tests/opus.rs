//! Opus in Ogg: what a listener gets, published or derived.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use fanout::{Derivation, DerivedWriter};
use media::{Codec, Container, Framing, Item, Kind, Track, TrackId};
use packagers::Form;

use crate::listen::testing::{
    Joiner, TestServer, audio_track, demux, name, no_burst, published, sample, title, write,
};

fn opus(pre_skip: u8) -> Track {
    let mut head = *b"OpusHead\x01\x02\x00\x00\x80\xBB\0\0\0\0\0";
    head[10] = pre_skip;
    Track {
        id: TrackId::AUDIO,
        kind: Kind::Audio,
        codec: Codec::Opus,
        framing: Framing::Bare,
        config: Bytes::copy_from_slice(&head),
        sample_rate: 48_000,
        channels: 2,
        flv: None,
    }
}

/// A packet of 20 ms that names itself.
fn packet(number: i64) -> Vec<u8> {
    vec![0xFC, number as u8, (number >> 8) as u8]
}

fn own(number: i64) -> Item {
    sample(TrackId::AUDIO, number * 20, true, packet(number))
}

/// Writes fifty packets, which are ten pages.
fn write_derived(writer: &DerivedWriter, numbers: std::ops::Range<i64>) {
    for number in numbers {
        if let Item::Sample(sample) = own(number) {
            writer.sample(sample, Instant::now());
        }
    }
}

fn derivation(server: &TestServer, stream: &str) -> Derivation {
    let stream = server.context.registry.stream(&name(stream)).unwrap();
    stream.derive().unwrap()
}

/// Returns the number of links that began in a listener's bytes, and the packets of each page.
fn heard(joiner: &mut Joiner) -> (usize, Vec<u16>) {
    let items = demux("application/ogg", joiner.drain());
    let mut links = 0;
    let mut numbers = Vec::new();
    for item in items {
        match item {
            Item::Header(_) => links += 1,
            Item::Sample(page) => {
                // Every packet is three bytes, so the table says how many there are.
                let count = usize::from(page.data[26]);
                let body = &page.data[27 + count..];
                for packet in body.as_chunks::<3>().0 {
                    assert_eq!(packet[0], 0xFC);
                    numbers.push(u16::from_le_bytes([packet[1], packet[2]]));
                }
            }
            _ => {}
        }
    }
    (links, numbers)
}

/// Starts a listener where the stream begins: with nothing before it, that is the first page.
fn begin(joiner: &mut Joiner) {
    assert_eq!(heard(joiner), (1, run(0..5)));
}

fn run(range: std::ops::Range<u16>) -> Vec<u16> {
    range.collect()
}

#[test]
fn the_publishers_own_is_passed_on_page_by_page() {
    let (server, mut publisher) = published(no_burst(), "live/show", Container::Tracks);
    write(&mut publisher, &[Item::Track(Arc::new(opus(56)))]);
    let mut first = server.join("live/show", Form::Opus);
    (0..5).for_each(|number| write(&mut publisher, &[own(number)]));
    begin(&mut first);
    (5..52).for_each(|number| write(&mut publisher, &[own(number)]));
    let mut later = server.join("live/show", Form::Opus);
    (52..100).for_each(|number| write(&mut publisher, &[own(number)]));
    assert_eq!(heard(&mut first), (1, run(0..100)));
    assert_eq!(heard(&mut later), (1, run(45..100)));
}

#[test]
fn what_is_derived_is_heard_across_publishers_as_one_link() {
    let (server, mut publisher) = published(no_burst(), "live/show", Container::Tracks);
    write(&mut publisher, &[audio_track(Codec::Aac)]);
    let mut listener = server.join("live/show", Form::Opus);
    let derivation = derivation(&server, "live/show");
    let writer = derivation.writer();
    writer.track(&opus(56), Instant::now());
    for number in 0..50 {
        write(&mut publisher, &[own(number)]);
    }
    // AAC that looks like Opus is not sent either.
    assert_eq!(heard(&mut listener), (0, vec![]));
    write_derived(&writer, 0..5);
    begin(&mut listener);
    write_derived(&writer, 5..48);
    drop(publisher);
    let mut publisher = server.publish("live/show", Container::Tracks);
    write(&mut publisher, &[audio_track(Codec::Aac), own(0)]);
    write_derived(&writer, 48..100);
    assert_eq!(heard(&mut listener), (1, run(0..100)));
    let mut later = server.join("live/show", Form::Opus);
    write_derived(&writer, 100..105);
    assert_eq!(heard(&mut later), (1, run(95..105)));
    assert!(!derivation.retire(), "it has a listener");
}

#[test]
fn other_opus_begins_another_link_for_all_listeners() {
    let (server, mut publisher) = published(no_burst(), "live/show", Container::Tracks);
    let derivation = derivation(&server, "live/show");
    let writer = derivation.writer();
    write(&mut publisher, &[audio_track(Codec::Aac)]);
    writer.track(&opus(56), Instant::now());
    let mut listener = server.join("live/show", Form::Opus);
    write_derived(&writer, 0..5);
    begin(&mut listener);
    write_derived(&writer, 5..12);
    // The publisher's own Opus is preferred from its announcement on.
    write(&mut publisher, &[Item::Track(Arc::new(opus(99)))]);
    write_derived(&writer, 12..20);
    (20..30).for_each(|number| write(&mut publisher, &[own(number)]));
    let mut expected = run(0..12);
    expected.extend(20..30);
    assert_eq!(heard(&mut listener), (2, expected));
    let mut later = server.join("live/show", Form::Opus);
    assert_eq!(heard(&mut later), (1, run(25..30)));

    // The publisher turns back: silence, then the derived track again.
    write(&mut publisher, &[audio_track(Codec::Aac), own(30)]);
    writer.track(&opus(99), Instant::now());
    write_derived(&writer, 31..36);
    let mut expected = run(25..30);
    expected.extend(31..36);
    assert_eq!(heard(&mut later), (1, expected));
}

#[test]
fn new_listeners_receive_the_title() {
    let (server, mut publisher) = published(no_burst(), "live/show", Container::Tracks);
    write(&mut publisher, &[Item::Track(Arc::new(opus(56)))]);
    let mut first = server.join("live/show", Form::Opus);
    (0..5).for_each(|number| write(&mut publisher, &[own(number)]));
    begin(&mut first);
    write(&mut publisher, &[title("Bach - Toccata")]);
    (5..15).for_each(|number| write(&mut publisher, &[own(number)]));
    let mut later = server.join("live/show", Form::Opus);
    let titles = |joiner: &mut Joiner| -> Vec<String> {
        let items = demux("application/ogg", joiner.drain());
        let titles = items.into_iter().filter_map(|item| match item {
            Item::Title(title) => Some(title.text.clone()),
            _ => None,
        });
        titles.collect()
    };
    assert_eq!(titles(&mut first), Vec::<String>::new());
    assert_eq!(titles(&mut later), ["Bach - Toccata"]);
    assert_eq!(heard(&mut first), (1, run(0..15)), "it breaks no link");
}
