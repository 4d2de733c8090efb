//! Audio in packets of several frames: for a large audience, as far as every viewer accepts them.

use std::sync::Arc;

use media::codec::opus::Frames;
use media::{Codec, Item, StreamName, TrackId};

use super::*;
use crate::agree::testing::limited;
use crate::testing::{Picture, audio, audio_track, picture};

/// Viewers that a worker can visit once in 50 ms, and once in 75 ms.
const LARGE: usize = 100;
const LARGER: usize = 150;

/// Lengths of the audio packets, in ticks of the camera, and all their frames.
fn heard(got: &[Got]) -> (Vec<usize>, Vec<Vec<u8>>) {
    let mut lengths = Vec::new();
    let mut frames = Vec::new();
    let mut next = None;
    for packet in of(got, Opus) {
        let parsed = Frames::parse(&packet.payload).expect("Opus");
        let is_next = next.is_none_or(|next| next == packet.timestamp);
        assert!(is_next, "no gap in time");
        next = Some(packet.timestamp + parsed.samples() as u32);
        lengths.push(parsed.iter().len());
        frames.extend(parsed.iter().map(<[u8]>::to_vec));
    }
    (lengths, frames)
}

/// The frames of the camera's audio.
fn filmed(camera: &Camera) -> Vec<Vec<u8>> {
    let audio = camera.samples.iter();
    let audio = audio.filter(|sample| sample.track == TrackId::AUDIO);
    audio.map(|sample| sample.data[1..].to_vec()).collect()
}

/// Sends to one viewer so far.
fn sends(worker: &TestWorker, viewer: &TestViewer) -> usize {
    let all = worker.wire.sendings.iter();
    all.filter(|sending| sending.path == viewer.path).count()
}

#[test]
fn a_large_audience_hears_every_frame_in_its_pictures_sends() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    camera.key_every = 1_000;
    let mut audience: Vec<_> = (0..LARGE).map(|_| worker.join("show", &BOTH)).collect();
    worker.film(&mut camera, 50);
    let viewer = &mut audience[LARGE / 2];
    let (_, before) = heard(&worker.take(viewer));
    let sent = sends(&worker, viewer);
    worker.film(&mut camera, 100);
    assert_eq!(sends(&worker, viewer) - sent, 50, "one for each picture");
    let got = worker.take(viewer);
    let (lengths, audio_frames) = heard(&got);
    assert!(lengths.iter().all(|length| *length == 2), "{lengths:?}");
    let all = filmed(&camera);
    let from = all.len() - audio_frames.len() - before.len();
    let is_whole = from <= 2 && (49..=50).contains(&lengths.len());
    assert!(is_whole, "{from}, {lengths:?}");
    // The camera's last frames wait for the next video frame.
    let heard = [before, audio_frames].concat();
    let start = all.iter().position(|frame| *frame == heard[0]);
    let start = start.expect("it was filmed");
    let filmed = &all[start..start + heard.len()];
    assert!(heard == filmed, "every frame, in order");
    assert_eq!(frames(&got), 50);
    assert_eq!(worker.books.skips.value(), 0);
}

#[test]
fn a_picture_that_comes_late_takes_its_audio_along() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    let audience: Vec<_> = (0..LARGE).map(|_| worker.join("show", &BOTH)).collect();
    let viewer = &audience[0];
    let ms = Duration::from_millis;
    let mut sent = 0;
    for cycle in 0..60i64 {
        if cycle == 10 {
            sent = sends(&worker, viewer);
        }
        // Video frames are on time or 15 ms late; their audio is complete 10 ms before they are due.
        let late = if cycle % 3 == 0 { ms(15) } else { ms(0) };
        worker.pass(late);
        let at = |millis| media::Timestamp::from_millis(cycle * 40 + millis);
        let what = Picture::first(cycle == 0);
        camera.write(picture(at(0), what, 2_000, cycle as u64), worker.now);
        worker.pass(ms(20) - late);
        camera.write(audio(at(0), 80, cycle as u64), worker.now);
        worker.pass(ms(10));
        camera.write(audio(at(20), 80, cycle as u64), worker.now);
        worker.pass(ms(10));
    }
    assert_eq!(sends(&worker, viewer) - sent, 50, "one for each picture");
}

#[test]
fn audio_waits_no_longer_than_a_picture_lasts() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    let audience: Vec<_> = (0..LARGE).map(|_| worker.join("show", &BOTH)).collect();
    worker.film(&mut camera, 50);
    let before = sends(&worker, &audience[0]);
    // The camera's video stops.
    camera.has_picture = false;
    for ticks in 1..=50 {
        worker.film(&mut camera, 1);
        let sent = sends(&worker, &audience[0]) - before;
        assert!(4 * sent + 6 >= ticks, "{sent} sends in {ticks} ticks");
    }
}

#[test]
fn audio_alone_is_combined_into_longer_packets() {
    let (mut worker, mut camera) = filming("radio", &[Kind::Audio]);
    let mut audience: Vec<_> = (0..LARGER).map(|_| worker.join("radio", &BOTH)).collect();
    worker.film(&mut camera, 30);
    let viewer = &mut audience[LARGER - 1];
    worker.take(viewer);
    let sent = sends(&worker, viewer);
    worker.film(&mut camera, 90);
    assert_eq!(sends(&worker, viewer) - sent, 30);
    let (lengths, frames) = heard(&worker.take(viewer));
    assert_eq!((lengths, frames.len()), (vec![3; 30], 90));
}

#[test]
fn a_small_audience_gets_each_packet_as_it_was_published() {
    let (mut worker, mut camera) = filming("radio", &[Kind::Audio]);
    let mut audience: Vec<_> = (0..10).map(|_| worker.join("radio", &BOTH)).collect();
    for ticks in 1..=50 {
        camera.tick(worker.now);
        worker.pass(Duration::ZERO);
        for viewer in &audience {
            assert_eq!(sends(&worker, viewer), ticks, "at once");
        }
        worker.pass(TICK);
    }
    let all = packets(Opus, &audio_track(), &camera.samples);
    for viewer in &mut audience {
        assert_eq!(plain(&of(&worker.take(viewer), Opus)), all);
    }
}

#[test]
fn a_viewer_with_a_limit_keeps_its_lane_below_it() {
    let (mut worker, mut camera) = filming("radio", &[Kind::Audio]);
    let mut audience: Vec<_> = (0..LARGER).map(|_| worker.join("radio", &BOTH)).collect();
    let viewer = &mut audience[0];
    let mut lengths = |worker: &mut TestWorker, ticks| {
        // Audio combined before, and half a second until the change has been noticed.
        worker.film(&mut camera, 25);
        worker.take(viewer);
        worker.film(&mut camera, ticks);
        let (mut lengths, _) = heard(&worker.take(viewer));
        lengths.dedup();
        lengths
    };
    assert_eq!(lengths(&mut worker, 60), [3]);
    let join = |worker: &mut TestWorker, millis| {
        let handle = worker.server.handle("radio", worker.now);
        let agreed = limited(agreed(&BOTH, true), millis);
        worker.join_as(handle, agreed, Profile::Aes128Gcm)
    };
    let other = join(&mut worker, 59);
    assert_eq!(lengths(&mut worker, 60), [2]);
    let strict = join(&mut worker, 20);
    assert_eq!(lengths(&mut worker, 60), [1]);
    for gone in [strict, other] {
        worker.close(&gone);
    }
    assert_eq!(lengths(&mut worker, 60), [3]);
}

#[test]
fn what_waits_is_sent_when_the_publisher_leaves() {
    let (mut worker, mut camera) = filming("radio", &[Kind::Audio]);
    let mut audience: Vec<_> = (0..LARGER).map(|_| worker.join("radio", &BOTH)).collect();
    worker.film(&mut camera, 31);
    let all = filmed(&camera);
    drop(camera);
    worker.pass(TICK);
    let (lengths, frames) = heard(&worker.take(&mut audience[7]));
    assert_eq!(frames.last(), all.last());
    let is_shorter = lengths.contains(&3) && lengths.last() < Some(&3);
    assert!(is_shorter, "{lengths:?}");
}

/// Audio that a transcoder makes of the stream's memory is sent to listeners of other formats.
#[test]
fn the_first_viewer_of_derived_audio_hears_the_present() {
    let (mut worker, mut camera) = filming("show", &[]);
    let aac = Track {
        codec: Codec::Aac,
        ..audio_track()
    };
    let at = |tick: i64| media::Timestamp::from_millis(tick * 20);
    let mut items = vec![Item::Track(Arc::new(aac))];
    let written = camera.publisher.write(&mut items, worker.now);
    written.expect("it is ours");
    for tick in 0..200 {
        camera.write(audio(at(tick), 80, 0), worker.now);
        worker.pass(TICK);
    }
    let mut viewer = worker.join("show", &[Kind::Audio]);
    let name = StreamName::parse("show").expect("a name");
    let stream = worker.server.registry.stream(&name).expect("the stream");
    let derivation = stream.derive().expect("it has none");
    let writer = derivation.writer();
    let opus = Track {
        id: TrackId::DERIVED,
        ..audio_track()
    };
    writer.track(&opus, worker.now);
    for tick in 0..199 {
        writer.sample(audio(at(tick), 80, 0), worker.now);
        worker.pass(Duration::ZERO);
    }
    let heard = of(&worker.take(&mut viewer), Opus).len();
    assert_eq!(heard, 0, "nothing of the publisher's has come since");
    for tick in 200..250 {
        worker.pass(TICK);
        camera.write(audio(at(tick), 80, 0), worker.now);
        writer.sample(audio(at(tick - 1), 80, 0), worker.now);
    }
    worker.pass(TICK);
    assert_eq!(of(&worker.take(&mut viewer), Opus).len(), 50);
}
