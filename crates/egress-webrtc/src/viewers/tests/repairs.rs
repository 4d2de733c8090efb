//! Packets that are sent again.

use webrtc::rtcp::{write_nack, write_pli, write_receiver_report};

use media::Timestamp;

use super::*;
use crate::testing::{Picture, picture};

fn ask(worker: &mut TestWorker, viewer: &TestViewer, media: u32, lost: &[u16]) {
    let mut compound = Vec::new();
    write_receiver_report(&mut compound, 9, &[]);
    write_nack(&mut compound, 9, media, lost);
    let TestWorker {
        viewers, wire, now, ..
    } = worker;
    viewers.rtcp(viewer.session, &compound, *now, wire);
}

#[test]
fn lost_packets_come_again_from_a_source_of_their_own() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &BOTH);
    let mut viewer = worker.join("show", &BOTH);
    worker.film(&mut camera, 30);
    let before = of(&worker.take(&mut viewer), PayloadFormat::H264);
    let media = codes::ssrc(PayloadFormat::H264);
    let padded = before.iter().find(|packet| packet.padding > 0);
    let padded = padded
        .expect("one that makes its picture's pieces equal")
        .sequence;
    ask(&mut worker, &viewer, media, &[3, 4, 9]);
    worker.pass(Duration::from_millis(100));
    ask(&mut worker, &viewer, media, &[padded]);
    let again = worker.take(&mut viewer);
    assert_eq!(again.len(), 4);
    for (number, (packet, original)) in again.iter().zip([3u16, 4, 9, padded]).enumerate() {
        let first = &before[usize::from(original) - 1];
        assert_eq!(first.sequence, original);
        assert_eq!(packet.ssrc, codes::rtx_ssrc(PayloadFormat::H264));
        assert_eq!(
            (packet.payload_type, packet.sequence),
            (103, number as u16 + 1)
        );
        assert_eq!(
            (packet.timestamp, packet.marker),
            (first.timestamp, first.marker)
        );
        assert_eq!(packet.padding, 0, "it is taken off");
        let (osn, payload) = container::rtp::retransmitted(&packet.payload).expect("media");
        assert_eq!((osn, payload), (original, &first.payload[..]));
    }
    let counters = {
        worker.pass(TICK);
        worker.counters()
    };
    assert_eq!(
        (counters.nacks, counters.nacked, counters.retransmissions),
        (2, 4, 4)
    );
}

#[test]
fn without_an_agreed_repetition_the_packet_itself_comes_again() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &BOTH);
    let handle = worker.server.handle("show", worker.now);
    let mut viewer = worker.join_with(handle, &BOTH, Profile::Aes128Gcm, false);
    worker.film(&mut camera, 30);
    let sent = worker.wire.datagrams[&viewer.path].clone();
    let got = of(&worker.take(&mut viewer), PayloadFormat::H264);
    let padded = got.iter().find(|packet| packet.padding > 0);
    let lost = [
        5,
        padded
            .expect("one that makes its picture's pieces equal")
            .sequence,
    ];
    ask(
        &mut worker,
        &viewer,
        codes::ssrc(PayloadFormat::H264),
        &lost,
    );
    ask(&mut worker, &viewer, codes::ssrc(PayloadFormat::Opus), &[7]);
    let again = &worker.wire.datagrams[&viewer.path][sent.len()..];
    assert_eq!(again.len(), 3);
    assert!(
        again.iter().all(|datagram| sent.contains(datagram)),
        "the same bytes"
    );
}

#[test]
fn what_is_asked_for_again_comes_as_itself_and_as_a_repetition_in_turn() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &BOTH);
    let mut viewer = worker.join("show", &BOTH);
    worker.film(&mut camera, 30);
    worker.take(&mut viewer);
    let media = codes::ssrc(PayloadFormat::H264);
    let repetition = codes::rtx_ssrc(PayloadFormat::H264);
    for expected in [
        Some(repetition),
        Some(media),
        Some(repetition),
        Some(media),
        None,
    ] {
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
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &[Kind::Video]);
    let mut viewer = worker.join("show", &[Kind::Video]);
    worker.film(&mut camera, 40);
    let last = of(&worker.take(&mut viewer), PayloadFormat::H264)
        .pop()
        .expect("a packet");
    worker.wire.full.insert(viewer.path);
    worker.film(&mut camera, 180);
    worker.wire.full.clear();
    worker.film(&mut camera, 20);
    let after = of(&worker.take(&mut viewer), PayloadFormat::H264);
    let media = codes::ssrc(PayloadFormat::H264);
    ask(
        &mut worker,
        &viewer,
        media,
        &[last.sequence, after[2].sequence],
    );
    let again = worker.take(&mut viewer);
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].payload[2..], after[2].payload);
}

#[test]
fn a_storm_of_requests_is_capped() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &[Kind::Video]);
    let mut viewer = worker.join("show", &[Kind::Video]);
    worker.film(&mut camera, 50);
    let media = codes::ssrc(PayloadFormat::H264);
    let (mut sent, mut repeated) = (0, 0);
    for _ in 0..500 {
        worker.film(&mut camera, 1);
        let newest = of(&worker.take(&mut viewer), PayloadFormat::H264)
            .last()
            .map(|one| one.sequence);
        // Everything of the last second, over and over.
        let newest = newest.unwrap_or(200);
        let lost: Vec<u16> = (1..=150)
            .rev()
            .map(|back| newest.wrapping_sub(back))
            .collect();
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
    assert!(
        repeated <= media / 5 + 64 * 1024,
        "{repeated} of {media} bytes"
    );
    assert!(
        repeated >= media / 8,
        "{repeated} of {media} bytes: it does help"
    );
    assert!(worker.counters().nacks_refused > 10 * worker.counters().retransmissions);
}

#[test]
fn strange_requests_do_no_harm() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &BOTH);
    let mut viewer = worker.join("show", &BOTH);
    let all: Vec<u16> = (0..400).collect();
    for media in [
        codes::ssrc(PayloadFormat::H264),
        codes::rtx_ssrc(PayloadFormat::H264),
        0,
    ] {
        ask(&mut worker, &viewer, media, &all);
    }
    worker.film(&mut camera, 5);
    worker.take(&mut viewer);
    ask(
        &mut worker,
        &viewer,
        codes::ssrc(PayloadFormat::Opus),
        &[0, 6, 40_000, 65_535],
    );
    ask(&mut worker, &viewer, codes::ssrc(PayloadFormat::Vp8), &all);
    assert!(worker.take(&mut viewer).is_empty());
    let stranger = Handle {
        slot: 0,
        generation: 6,
    };
    let TestWorker {
        viewers, wire, now, ..
    } = &mut worker;
    viewers.rtcp(stranger, &[0x80; 40], *now, wire);
    viewers.rtcp(viewer.session, &[0xFF; 40], *now, wire);
    viewers.rtp(viewer.session, 0, &[], *now, wire);
}

#[test]
fn a_viewer_that_still_lacks_a_keyframe_asks_again() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &[Kind::Video]);
    let _viewer = worker.join("show", &[Kind::Video]);
    let mut asked = 0;
    for step in 0..100u32 {
        asked += usize::from(camera.publisher.takes_keyframe_request(worker.now));
        let at = Timestamp::from_millis(i64::from(step) * 40);
        camera.write(
            picture(at, Picture::Predicted, 500, step.into()),
            worker.now,
        );
        worker.pass(Duration::from_millis(40));
    }
    assert!((3..=5).contains(&asked), "{asked} times in four seconds");
}

#[test]
fn a_viewer_that_lacks_a_keyframe_has_the_publisher_asked() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &BOTH);
    let now = worker.now;
    assert!(!camera.publisher.takes_keyframe_request(now));
    let viewer = worker.join("show", &BOTH);
    assert!(
        camera.publisher.takes_keyframe_request(now),
        "there is none to start at"
    );
    worker.film(&mut camera, 30);
    assert!(!camera.publisher.takes_keyframe_request(worker.now));
    let _later = worker.join("show", &BOTH);
    assert!(
        !camera.publisher.takes_keyframe_request(worker.now),
        "it is 0.6 s old"
    );
    worker.film(&mut camera, 60);
    let _still_later = worker.join("show", &BOTH);
    assert!(
        camera.publisher.takes_keyframe_request(worker.now),
        "it is 1.8 s old"
    );
    worker.pass(Duration::from_secs(1));
    let mut compound = Vec::new();
    write_pli(&mut compound, 9, codes::ssrc(PayloadFormat::H264));
    let TestWorker {
        viewers, wire, now, ..
    } = &mut worker;
    for _ in 0..100 {
        viewers.rtcp(viewer.session, &compound, *now, wire);
    }
    assert!(camera.publisher.takes_keyframe_request(*now));
    assert!(!camera.publisher.takes_keyframe_request(*now));
    worker.pass(TICK);
    assert_eq!(worker.counters().keyframe_requests, 100);
}
