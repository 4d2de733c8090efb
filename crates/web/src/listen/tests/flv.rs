//! FLV, read back.

use bytes::Bytes;
use container::flv::{self, Reader};
use fanout::Settings;
use media::codec::aac::AdtsHeader;
use media::{Codec, Container, Item, Script, Span, Timestamp, TrackId};
use packagers::Form;

use crate::listen::testing::{
    ASC, audio_track, avc_config, demux, mp3_frame, mp3_items, no_burst, published, sample,
    samples, video_track, write,
};

/// AMF0: the name, and an array that suffices for a reader that looks for a key.
fn metadata(keys: &str) -> Item {
    let body = [b"\x02\x00\x0AonMetaData", keys.as_bytes()].concat();
    Item::Metadata(Script {
        at: Timestamp::ZERO,
        body: body.into(),
    })
}

fn read(bytes: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut reader = Reader::default();
    reader.push(bytes, &mut items).unwrap();
    assert_eq!(reader.buffered_bytes(), 0, "whole tags");
    items
}

/// Returns the properties of samples that a player uses: track, milliseconds, keyframe, bytes.
fn seen(items: &[Item]) -> Vec<(TrackId, i64, bool, Bytes)> {
    samples(items)
        .map(|s| (s.track, s.dts.millis(), s.keyframe, s.data.clone()))
        .collect()
}

/// A second of video, a keyframe every 200 ms, interleaved with audio that begins earlier.
fn show(from_millis: i64) -> Vec<Item> {
    let mut items = vec![sample(TrackId::AUDIO, from_millis, true, vec![7; 40])];
    for number in 0..25 {
        let at = from_millis + number * 40;
        let picture = vec![number as u8; 200];
        items.push(sample(TrackId::VIDEO, at, number % 5 == 0, picture));
        for at in [at + 10, at + 30] {
            items.push(sample(TrackId::AUDIO, at, true, vec![number as u8; 40]));
        }
    }
    items
}

fn opening() -> Vec<Item> {
    vec![
        metadata("width videocodecid"),
        video_track(30),
        audio_track(Codec::Aac),
    ]
}

#[test]
fn every_joiner_gets_the_headers_and_the_suffix_from_a_keyframe() {
    let (server, mut publisher) = published(Settings::default(), "live/show", Container::Tracks);
    write(&mut publisher, &opening());
    let mut joiners = vec![(None, server.join("live/show", Form::Flv))];
    let items = show(0);
    let is_join =
        |item: &Item| matches!(item, Item::Sample(s) if s.keyframe && s.track == TrackId::VIDEO);
    for (index, item) in items.iter().enumerate() {
        write(&mut publisher, std::slice::from_ref(item));
        for (join, joiner) in &mut joiners {
            *join = join.or_else(|| is_join(item).then_some(index));
            joiner.drain();
        }
        let newest = items[..=index].iter().rposition(is_join);
        joiners.push((newest, server.join("live/show", Form::Flv)));
    }
    for (join, mut joiner) in joiners {
        let join = join.expect("there was a keyframe for each listener");
        let bytes = joiner.drain();
        assert_eq!(bytes[..5], *b"FLV\x01\x05", "sound and pictures");
        let heard = read(bytes);
        let Item::Metadata(script) = &heard[0] else {
            panic!("metadata comes first");
        };
        assert_eq!(script.at, Timestamp::ZERO, "no track of its own for ffmpeg");
        assert!(matches!(&heard[1], Item::Track(track) if track.config == avc_config(30)));
        assert!(matches!(&heard[2], Item::Track(track) if track.config == ASC[..]));
        assert_eq!(heard.len(), 3 + items.len() - join, "nothing twice");
        assert_eq!(seen(&heard), seen(&items[join..]));
    }
}

#[test]
fn a_new_configuration_reaches_listeners_that_follow_and_that_skip() {
    let (server, mut publisher) = published(Settings::default(), "live/show", Container::Tracks);
    write(&mut publisher, &opening());
    write(&mut publisher, &show(0));
    let mut present = server.join("live/show", Form::Flv);
    let mut laggard = server.join("live/show", Form::Flv);
    present.drain();
    laggard.drain();
    write(&mut publisher, &[video_track(31)]);
    for second in 1..5 {
        write(&mut publisher, &show(second * 1_000));
        present.drain();
    }
    let levels = |bytes: &[u8]| -> Vec<u8> {
        let items = read(bytes);
        let tracks = items.iter().filter_map(|item| match item {
            Item::Track(track) if track.id == TrackId::VIDEO => Some(track.config[3]),
            _ => None,
        });
        tracks.collect()
    };
    assert_eq!(levels(&present.bytes), [30, 31]);
    let before = laggard.bytes.len();
    laggard.drain();
    assert_eq!(levels(&laggard.bytes), [30, 31]);
    let last = seen(&read(&laggard.bytes)[..]);
    let received = laggard.bytes.len() - before;
    assert!(received < present.bytes.len() / 2, "it has skipped");
    assert!(last.windows(2).all(|pair| pair[0].1 <= pair[1].1 + 20));
}

#[test]
fn audio_alone_is_joined_at_every_frame() {
    let (server, mut publisher) = published(no_burst(), "live/talk", Container::Tracks);
    write(&mut publisher, &[audio_track(Codec::Aac)]);
    let items: Vec<_> = (0..150)
        .map(|number| sample(TrackId::AUDIO, number * 20, true, vec![number as u8; 30]))
        .collect();
    for (index, item) in items.iter().enumerate() {
        write(&mut publisher, std::slice::from_ref(item));
        let mut joiner = server.join("live/talk", Form::Flv);
        assert_eq!(joiner.drain()[4], 4, "sound only");
        let heard = read(joiner.drain());
        assert_eq!(seen(&heard), seen(&items[index..=index]));
    }
}

#[test]
fn audio_waits_for_announced_pictures_but_not_for_ever() {
    let (server, mut publisher) = published(no_burst(), "live/show", Container::Tracks);
    let announced = [metadata("videocodecid"), audio_track(Codec::Aac)];
    write(&mut publisher, &announced);
    let mut joiner = server.join("live/show", Form::Flv);
    let frame = |millis| sample(TrackId::AUDIO, millis, true, vec![1; 30]);
    let frames = |count| (0..count).map(|n| frame(n * 20)).collect::<Vec<_>>();
    write(&mut publisher, &frames(100));
    assert!(joiner.drain().is_empty());
    write(&mut publisher, &[frame(2_000)]);
    assert_eq!(seen(&read(joiner.drain())).len(), 1);

    let mut publisher = server.publish("live/cam", Container::Tracks);
    write(&mut publisher, &opening());
    let mut joiner = server.join("live/cam", Form::Flv);
    write(&mut publisher, &frames(500));
    assert!(joiner.drain().is_empty());
    write(&mut publisher, &[frame(10_000)]);
    assert_eq!(seen(&read(joiner.drain())).len(), 1, "the camera stays off");
}

#[test]
fn data_messages_pass_in_between() {
    let (server, mut publisher) = published(Settings::default(), "live/show", Container::Tracks);
    write(&mut publisher, &opening());
    let mut joiner = server.join("live/show", Form::Flv);
    let script = Item::Script(Script {
        at: Timestamp::ZERO,
        body: b"\x02\x00\x0AonTextData\x05".as_slice().into(),
    });
    write(&mut publisher, std::slice::from_ref(&script));
    write(&mut publisher, &show(0));
    write(&mut publisher, &[script]);
    let heard = read(joiner.drain());
    let scripts = heard.iter().filter(|item| matches!(item, Item::Script(_)));
    assert_eq!(scripts.count(), 1, "what came before the join is past");
}

#[test]
fn adts_and_mp3_sources_are_heard_as_flv_too() {
    let writer = container::adts::Writer::new(&ASC).unwrap();
    let units: Vec<Vec<u8>> = (0..50).map(|n| vec![n as u8; 60 + n]).collect();
    let stream: Vec<u8> = units
        .iter()
        .flat_map(|unit| [&writer.header(unit.len()).unwrap()[..], unit].concat())
        .collect();
    let items = demux("audio/aac", &stream);
    assert_eq!(samples(&items).count(), 50);
    let (server, mut publisher) = published(Settings::default(), "radio", Container::Adts);
    write(&mut publisher, &items);
    let heard = read(server.join("radio", Form::Flv).drain());
    assert!(matches!(&heard[0], Item::Track(track) if track.config == ASC[..]));
    let payloads: Vec<_> = samples(&heard).map(|s| s.data.to_vec()).collect();
    assert_eq!(payloads, units);
    assert!(samples(&items).all(|s| AdtsHeader::parse(&s.data).is_some()));

    let mut publisher = server.publish("rock", Container::Mp3);
    write(&mut publisher, &mp3_items(50));
    let heard = read(server.join("rock", Form::Flv).drain());
    let frames: Vec<_> = samples(&heard).map(|s| s.data.to_vec()).collect();
    assert_eq!(frames, (0..50).map(mp3_frame).collect::<Vec<_>>());
}

#[test]
fn a_publisher_that_returns_continues_in_the_same_file() {
    let (server, mut publisher) = published(Settings::default(), "live/show", Container::Tracks);
    write(&mut publisher, &opening());
    write(&mut publisher, &show(0));
    let mut joiner = server.join("live/show", Form::Flv);
    joiner.drain();
    drop(publisher);
    let mut publisher = server.publish("live/show", Container::Tracks);
    write(&mut publisher, &opening());
    write(&mut publisher, &show(0));
    let heard = read(joiner.drain());
    let video = samples(&heard).filter(|s| s.track == TrackId::VIDEO);
    let video: Vec<_> = video.map(|s| s.dts).collect();
    assert!(video.len() > 25);
    let goes_on = video.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(goes_on, "time goes on");
    let gap = video.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert!(gap < Some(Span::from_millis(100)));
    assert_eq!(flv::FILE_HEADER_BYTES, 13);
}
