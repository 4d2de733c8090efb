//! Many streams on few threads.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use bytes::Bytes;
use media::{Item, Kind, Sample, Track, TrackId};

use super::refusal::high_efficiency;
use super::source::{Source, aac, mp3, sweep, tone};
use super::{assert_forward, assert_seamless, transcoded};
use crate::transcode::{Caveat, Feed, Options, OpusSink, Pool, State, Unsupported};

const DEADLINE: Duration = Duration::from_secs(60);

#[derive(Debug)]
enum Event {
    Track(Arc<Track>),
    Sample(Sample),
    Unsupported(Unsupported),
    Caveat(Caveat),
}

/// Passes everything to a function.
struct Sink<F>(F);

impl<F: FnMut(Event) + Send> OpusSink for Sink<F> {
    fn track(&mut self, track: &Arc<Track>) {
        (self.0)(Event::Track(Arc::clone(track)));
    }

    fn sample(&mut self, sample: Sample) {
        (self.0)(Event::Sample(sample));
    }

    fn unsupported(&mut self, reason: &Unsupported) {
        (self.0)(Event::Unsupported(reason.clone()));
    }

    fn caveat(&mut self, caveat: &Caveat) {
        (self.0)(Event::Caveat(*caveat));
    }
}

fn pool(threads: usize) -> Pool {
    Pool::start(NonZeroUsize::new(threads).expect("some")).expect("threads")
}

/// A feed of the pool whose events are received; the channel ends when the sink is dropped.
fn open(pool: &Pool) -> (Feed, Receiver<Event>) {
    let (sender, receiver) = sync_channel(4_096);
    let sink = Sink(move |event: Event| sender.send(event).expect("the test listens"));
    (pool.open(Options::default(), Box::new(sink)), receiver)
}

fn items(source: &Source) -> Vec<Item> {
    let mut items = vec![Item::Track(Arc::clone(&source.track))];
    items.extend(source.samples.iter().cloned().map(Item::Sample));
    items
}

fn push(feed: &mut Feed, samples: &[Sample]) {
    for sample in samples {
        feed.push(&Item::Sample(sample.clone()));
    }
}

/// The source's track, changed, or another one of the stream.
fn changed(source: &Source, change: impl FnOnce(&mut Track)) -> Item {
    let mut track = Track::clone(&source.track);
    change(&mut track);
    Item::Track(Arc::new(track))
}

/// All events up to the end of the sink.
fn all(receiver: &Receiver<Event>) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        match receiver.recv_timeout(DEADLINE) {
            Ok(event) => events.push(event),
            Err(RecvTimeoutError::Disconnected) => return events,
            Err(RecvTimeoutError::Timeout) => panic!("the sink is still there"),
        }
    }
}

fn samples(events: &[Event]) -> Vec<Sample> {
    let samples = events.iter().filter_map(|event| match event {
        Event::Sample(sample) => Some(sample.clone()),
        _ => None,
    });
    samples.collect()
}

#[test]
fn streams_on_shared_threads_are_what_they_are_alone() {
    let sources = [
        aac(&sweep(44_100, 2.0)),
        mp3(&sweep(44_100, 2.0)),
        aac(&tone(48_000, 1, 440, 2.0)),
    ];
    for threads in [1, 2] {
        let pool = pool(threads);
        let receivers = sources.each_ref().map(|source| {
            let (mut feed, receiver) = open(&pool);
            items(source).iter().for_each(|item| feed.push(item));
            (feed.monitor(), receiver)
        });
        for (source, (monitor, receiver)) in sources.iter().zip(receivers) {
            let events = all(&receiver);
            let (alone, packets) = transcoded(source);
            assert!(matches!(&events[0], Event::Track(track) if track == alone.output()));
            assert_eq!(samples(&events), packets);
            let report = monitor.report();
            assert_eq!(report.stats, alone.stats());
            assert_eq!((report.state, report.dropped_samples), (State::Running, 0));
            assert!(report.busy > Duration::ZERO);
        }
    }
}

#[test]
fn pictures_and_second_audio_are_passed_over() {
    let source = aac(&sweep(44_100, 0.5));
    let pool = pool(1);
    let (mut feed, receiver) = open(&pool);
    let picture = changed(&source, |track| {
        (track.id, track.kind) = (TrackId::VIDEO, Kind::Video)
    });
    feed.push(&picture);
    feed.push(&Item::Track(Arc::clone(&source.track)));
    feed.push(&changed(&source, |track| track.id = TrackId(2)));
    for sample in &source.samples {
        for track in [TrackId::VIDEO, source.track.id, TrackId(2)] {
            feed.push(&Item::Sample(Sample {
                track,
                ..sample.clone()
            }));
        }
    }
    drop(feed);
    let (_, packets) = transcoded(&source);
    assert_eq!(samples(&all(&receiver)), packets);
}

#[test]
fn a_refused_track_is_said_and_the_next_one_taken() {
    let source = aac(&sweep(44_100, 0.5));
    let pool = pool(1);
    let (mut feed, receiver) = open(&pool);
    let monitor = feed.monitor();
    feed.push(&Item::Track(Arc::clone(&source.track)));
    push(&mut feed, &source.samples[..10]);
    let surround = Bytes::from_static(&[0x12, 0x30]);
    feed.push(&changed(&source, |track| track.config = surround));
    push(&mut feed, &source.samples[10..11]);
    feed.push(&Item::Track(Arc::clone(&source.track)));
    push(&mut feed, &source.samples[11..]);
    drop(feed);
    let events = all(&receiver);
    let said = events.iter().filter_map(|event| match event {
        Event::Unsupported(reason) => Some(reason),
        _ => None,
    });
    assert!(said.eq([&Unsupported::Channels(6)]));
    let tracks = events
        .iter()
        .filter(|event| matches!(event, Event::Track(_)));
    assert_eq!(tracks.count(), 2);
    assert_forward(&samples(&events));
    let report = monitor.report();
    assert_eq!(report.state, State::Running);
    assert_eq!(report.stats.frames, source.samples.len() as u64 - 1);
}

#[test]
fn a_caveat_is_said_once() {
    let source = aac(&tone(22_050, 2, 440, 1.0));
    let pool = pool(1);
    let (mut feed, receiver) = open(&pool);
    let high = Bytes::from_static(&[0x2B, 0x92, 0x08, 0x00]);
    feed.push(&changed(&source, |track| track.config = high));
    push(&mut feed, &source.samples);
    drop(feed);
    let events = all(&receiver);
    let caveats = events.iter().filter_map(|event| match event {
        Event::Caveat(caveat) => Some(*caveat),
        _ => None,
    });
    assert!(caveats.eq([high_efficiency(false)]));
}

#[test]
fn a_feed_that_falls_behind_loses_audio_and_not_memory() {
    let source = aac(&tone(48_000, 1, 440, 30.0));
    let pool = pool(1);
    let (sender, receiver) = sync_channel(4_096);
    let (held, is_held) = sync_channel(1);
    let (release, released) = sync_channel::<()>(1);
    // It waits at its first packet until the test lets it continue; both fail from then on.
    let sink = Sink(move |event: Event| {
        if matches!(event, Event::Sample(_)) && held.try_send(()).is_ok() {
            let _released = released.recv();
        }
        sender.send(event).expect("the test listens");
    });
    let mut feed = pool.open(Options::default(), Box::new(sink));
    let monitor = feed.monitor();
    let all_items = items(&source);
    let (first, rest) = all_items.split_at(8);
    first.iter().for_each(|item| feed.push(item));
    is_held.recv_timeout(DEADLINE).expect("a packet comes");
    drop(is_held);
    // The thread is blocked: more arrives than may wait.
    rest.iter().for_each(|item| feed.push(item));
    drop(release);
    drop(feed);
    let packets = samples(&all(&receiver));
    let report = monitor.report();
    assert!(report.dropped_samples >= 512, "{report:?}");
    let counted = report.stats.frames + report.dropped_samples;
    assert_eq!(counted, source.samples.len() as u64);
    // What was lost is one gap, and the end is the end.
    assert_eq!(report.stats.jumps + report.stats.gaps, 1);
    assert_forward(&packets);
    let last = packets.last().expect("packets");
    let end = source.samples.last().expect("samples");
    assert!(last.pts + last.duration >= end.pts + end.duration);
}

#[test]
fn a_panic_of_one_stream_leaves_the_others_alone() {
    let source = aac(&sweep(44_100, 0.5));
    let pool = pool(1);
    let sink = Sink(|event: Event| {
        let is_sample = matches!(event, Event::Sample(_));
        assert!(!is_sample, "this sink panics, which belongs to the test");
    });
    let mut faulty = pool.open(Options::default(), Box::new(sink));
    let monitor = faulty.monitor();
    items(&source).iter().for_each(|item| faulty.push(item));
    let (mut audio, receiver) = open(&pool);
    items(&source).iter().for_each(|item| audio.push(item));
    drop(audio);
    let (_, packets) = transcoded(&source);
    let events = all(&receiver);
    assert_eq!(samples(&events), packets);
    assert_seamless(&packets);
    assert_eq!(monitor.report().state, State::Broken);
}

#[test]
fn a_pool_may_end_before_its_feeds() {
    let source = aac(&sweep(44_100, 0.5));
    let pool = pool(2);
    let (mut feed, receiver) = open(&pool);
    let (before, after) = source.samples.split_at(5);
    feed.push(&Item::Track(Arc::clone(&source.track)));
    push(&mut feed, before);
    drop(pool);
    for _ in 0..200 {
        push(&mut feed, after);
    }
    drop(feed);
    all(&receiver);
}
