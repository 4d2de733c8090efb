//! Packets that are sent again.

use webrtc::rtcp::{write_nack, write_pli, write_receiver_report};

use media::Timestamp;

use super::*;
use crate::testing::{Picture, picture};

fn ask(worker: &mut TestWorker, viewer: &TestViewer, media: u32, lost: &[u16]) {
    let mut compound = Vec::new();
    write_receiver_report(&mut compound, 9, &[]);
    write_nack(&mut compound, 9, media, lost);
    worker.rtcp(viewer, &compound);
}

/// The number of a packet that is padded, so that its picture's pieces are equal.
fn padded(got: &[Got]) -> u16 {
    let padded = got.iter().find(|packet| packet.padding > 0);
    padded.expect("there is one").sequence
}

#[test]
fn lost_packets_come_again_from_a_source_of_their_own() {
    let (mut worker, mut camera, mut viewer) = show(&BOTH);
    worker.film(&mut camera, 30);
    let before = of(&worker.take(&mut viewer), H264);
    let media = codes::ssrc(H264);
    let padded = padded(&before);
    ask(&mut worker, &viewer, media, &[3, 4, 9]);
    worker.pass(Duration::from_millis(100));
    ask(&mut worker, &viewer, media, &[padded]);
    let again = worker.take(&mut viewer);
    assert_eq!(again.len(), 4);
    for (number, (packet, original)) in again.iter().zip([3u16, 4, 9, padded]).enumerate() {
        let first = &before[usize::from(original) - 1];
        assert_eq!(first.sequence, original);
        assert_eq!(packet.ssrc, codes::rtx_ssrc(H264));
        let numbers = (packet.payload_type, packet.sequence);
        assert_eq!(numbers, (103, number as u16 + 1));
        assert_eq!(packet.timestamp, first.timestamp);
        assert_eq!(packet.marker, first.marker);
        assert_eq!(packet.padding, 0, "it is taken off");
        let (osn, payload) = container::rtp::retransmitted(&packet.payload).expect("media");
        assert_eq!((osn, payload), (original, &first.payload[..]));
    }
    worker.pass(TICK);
    let counters = worker.counters();
    assert_eq!((counters.nacks, counters.nacked), (2, 4));
    assert_eq!(counters.retransmissions, 4);
}

#[test]
fn without_an_agreed_repetition_the_packet_itself_comes_again() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    let handle = worker.server.handle("show", worker.now);
    let mut viewer = worker.join_with(handle, &BOTH, Profile::Aes128Gcm, false);
    worker.film(&mut camera, 30);
    let sent = worker.wire.datagrams[&viewer.path].clone();
    let got = of(&worker.take(&mut viewer), H264);
    let lost = [5, padded(&got)];
    ask(&mut worker, &viewer, codes::ssrc(H264), &lost);
    ask(&mut worker, &viewer, codes::ssrc(Opus), &[7]);
    let again = &worker.wire.datagrams[&viewer.path][sent.len()..];
    assert_eq!(again.len(), 3);
    let are_same = again.iter().all(|datagram| sent.contains(datagram));
    assert!(are_same, "the same bytes");
}

#[test]
fn what_is_asked_for_again_comes_as_itself_and_as_a_repetition_in_turn() {
    let (mut worker, mut camera, mut viewer) = show(&BOTH);
    worker.film(&mut camera, 30);
    worker.take(&mut viewer);
    let media = codes::ssrc(H264);
    let repetition = codes::rtx_ssrc(H264);
    let (repetition, itself) = (Some(repetition), Some(media));
    for expected in [repetition, itself, repetition, itself, None] {
        worker.pass(Duration::from_millis(100));
        ask(&mut worker, &viewer, media, &[5]);
        let again = worker.take(&mut viewer);
        assert_eq!(again.first().map(|packet| packet.ssrc), expected);
        assert!(again.len() <= 1);
        let is_itself = again.iter().all(|packet| packet.sequence == 5);
        assert!(expected != Some(media) || is_itself, "{again:?}");
    }
}

#[test]
fn repetitions_are_found_after_a_skip_and_not_from_before_it() {
    let (mut worker, mut camera, mut viewer) = show(&[Kind::Video]);
    worker.film(&mut camera, 40);
    let last = of(&worker.take(&mut viewer), H264).pop();
    let last = last.expect("a packet").sequence;
    worker.wire.full.insert(viewer.path);
    worker.film(&mut camera, 180);
    worker.wire.full.clear();
    worker.film(&mut camera, 20);
    let after = of(&worker.take(&mut viewer), H264);
    let media = codes::ssrc(H264);
    ask(&mut worker, &viewer, media, &[last, after[2].sequence]);
    let again = worker.take(&mut viewer);
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].payload[2..], after[2].payload);
}

#[test]
fn a_storm_of_requests_is_capped() {
    let (mut worker, mut camera, mut viewer) = show(&[Kind::Video]);
    worker.film(&mut camera, 50);
    let media = codes::ssrc(H264);
    let (mut sent, mut repeated) = (0, 0);
    for _ in 0..500 {
        worker.film(&mut camera, 1);
        let newest = of(&worker.take(&mut viewer), H264).pop();
        // Everything of the last second, over and over.
        let newest = newest.map_or(200, |one| one.sequence);
        let lost = (1..=150).rev().map(|back| newest.wrapping_sub(back));
        let lost: Vec<u16> = lost.collect();
        let before = worker.wire.bytes();
        ask(&mut worker, &viewer, media, &lost);
        ask(&mut worker, &viewer, media, &lost);
        worker.pass(Duration::ZERO);
        sent = worker.wire.bytes();
        repeated += sent - before;
        let again = worker.take(&mut viewer);
        let is_asked_for = |sequence| lost.contains(&sequence);
        let mut again = again.iter();
        assert!(again.all(|packet| packet.ssrc != media || is_asked_for(packet.sequence)));
    }
    let media = sent - repeated;
    // It is capped, and does help.
    let bounds = media / 8..=media / 5 + 64 * 1024;
    assert!(bounds.contains(&repeated), "{repeated} of {media} bytes");
    assert!(worker.counters().nacks_refused > 10 * worker.counters().retransmissions);
}

#[test]
fn strange_requests_do_no_harm() {
    let (mut worker, mut camera, mut viewer) = show(&BOTH);
    let all: Vec<u16> = (0..400).collect();
    for media in [codes::ssrc(H264), codes::rtx_ssrc(H264), 0] {
        ask(&mut worker, &viewer, media, &all);
    }
    worker.film(&mut camera, 5);
    worker.take(&mut viewer);
    let strange = [0, 6, 40_000, 65_535];
    ask(&mut worker, &viewer, codes::ssrc(Opus), &strange);
    ask(&mut worker, &viewer, codes::ssrc(PayloadFormat::Vp8), &all);
    assert!(worker.take(&mut viewer).is_empty());
    let stranger = Handle {
        slot: 0,
        generation: 6,
    };
    worker.rtcp(&viewer, &[0xFF; 40]);
    let (viewers, wire) = (&mut worker.viewers, &mut worker.wire);
    viewers.rtcp(stranger, &[0x80; 40], worker.now, wire);
}

#[test]
fn a_viewer_that_still_lacks_a_keyframe_asks_again() {
    let (mut worker, mut camera) = filming("show", &[Kind::Video]);
    let _viewer = worker.join("show", &[Kind::Video]);
    let mut asked = 0;
    for step in 0..100u32 {
        asked += usize::from(camera.publisher.takes_keyframe_request(worker.now));
        let at = Timestamp::from_millis(i64::from(step) * 40);
        let frame = picture(at, Picture::Predicted, 500, step.into());
        camera.write(frame, worker.now);
        worker.pass(Duration::from_millis(40));
    }
    assert!((3..=5).contains(&asked), "{asked} times in four seconds");
}

#[test]
fn a_viewer_that_lacks_a_keyframe_has_the_publisher_asked() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    let is_asked = |worker: &TestWorker, camera: &mut Camera| {
        camera.publisher.takes_keyframe_request(worker.now)
    };
    assert!(!is_asked(&worker, &mut camera));
    let viewer = worker.join("show", &BOTH);
    assert!(is_asked(&worker, &mut camera), "there is none to start at");
    worker.film(&mut camera, 30);
    assert!(!is_asked(&worker, &mut camera));
    let _later = worker.join("show", &BOTH);
    assert!(!is_asked(&worker, &mut camera), "it is 0.6 s old");
    worker.film(&mut camera, 60);
    let _still_later = worker.join("show", &BOTH);
    assert!(is_asked(&worker, &mut camera), "it is 1.8 s old");
    worker.pass(Duration::from_secs(1));
    let mut compound = Vec::new();
    write_pli(&mut compound, 9, codes::ssrc(H264));
    for _ in 0..100 {
        worker.rtcp(&viewer, &compound);
    }
    assert!(is_asked(&worker, &mut camera) && !is_asked(&worker, &mut camera));
    worker.pass(TICK);
    assert_eq!(worker.counters().keyframe_requests, 100);
}
