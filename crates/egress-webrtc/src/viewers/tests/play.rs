//! What viewers get, from when on, and in which sends.

use std::sync::Arc;

use bytes::Bytes;
use fanout::Reason;
use media::codec::opus::Frames;
use media::{Codec, Item, Span, Timestamp};
use proptest::prelude::*;
use webrtc::mux;

use super::*;
use crate::testing::{Picture, picture, picture_track, sound_track};

/// A packet of the camera's sound as it is sent: header, table of contents, filling, tag.
const SOUND_BYTES: usize = 12 + 1 + 80 + 16;

#[test]
fn a_viewer_starts_at_the_keyframe_with_parameter_sets_and_hears_the_present() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &BOTH);
    let _keeps_open = worker.server.lane("show", worker.now);
    // A second into the second group of pictures.
    worker.film(&mut camera, 150);
    let mut viewer = worker.join("show", &BOTH);
    worker.film(&mut camera, 40);
    let got = worker.take(&mut viewer);
    let picture = of(&got, PayloadFormat::H264);
    assert!(picture.iter().all(|packet| packet.payload_type == 102));
    let all = packets(PayloadFormat::H264, &picture_track(), &camera.samples);
    let start = codes::sequencer(PayloadFormat::H264).timestamp(Timestamp::from_millis(2_000));
    let from = all
        .iter()
        .position(|(at, ..)| *at == start)
        .expect("a keyframe");
    assert_eq!(plain(&picture), all[from..], "all of it, in order");
    assert_eq!(
        picture[0].payload[0] & 31,
        24,
        "parameter sets come first, in one packet"
    );
    assert_eq!(picture[0].sequence, 1);

    let heard = of(&got, PayloadFormat::Opus);
    let all = packets(PayloadFormat::Opus, &sound_track(), &camera.samples);
    assert_eq!(plain(&heard), all[149..], "sound from the present on");
    assert!(heard.iter().all(|packet| packet.payload_type == 111));
    assert_eq!(worker.books.skips.value(), 0);
    assert_eq!(worker.books.listeners_now(), 1);
}

#[test]
fn viewers_that_come_about_the_wrap_decrypt_contiguous_packets() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &[Kind::Video]);
    camera.key_bytes = 5_000;
    camera.picture_bytes = 3_000;
    let mut audience = vec![worker.join("show", &[Kind::Video])];
    let mut counts = vec![0; 8];
    let mut sequences = [1u16; 8];
    // Three packets a picture: packet 65,536 is in about picture 21,600.
    for round in 0..120 {
        if round == 107 {
            for _ in 0..3 {
                worker.film(&mut camera, 37);
                audience.push(worker.join("show", &[Kind::Video]));
            }
        }
        worker.film(&mut camera, 400);
        for (index, viewer) in audience.iter_mut().enumerate() {
            let got = of(&worker.take(viewer), PayloadFormat::H264);
            if let (Some(first), Some(last)) = (got.first(), got.last()) {
                assert_eq!(
                    first.sequence, sequences[index],
                    "viewer {index}, round {round}"
                );
                sequences[index] = last.sequence.wrapping_add(1);
            }
            counts[index] += got.len();
        }
        camera.samples.clear();
        worker.wire.datagrams.clear();
        worker.wire.sendings.clear();
        worker.wire.compounds.clear();
        audience.iter_mut().for_each(|viewer| viewer.taken = 0);
    }
    assert!(counts[0] > 70_000, "the first saw its own wrap: {counts:?}");
    assert!(counts[1] > 1_000 && counts[3] > 1_000);
    assert_eq!(worker.books.skips.value(), 0);
}

#[test]
fn lanes_are_kept_apart() {
    let mut worker = TestWorker::new();
    let mut one = worker.camera("one", &BOTH);
    let mut other = worker.camera("other", &[Kind::Audio]);
    let mut first = worker.join("one", &BOTH);
    let mut second = worker.join("other", &BOTH);
    let mut third = worker.join("one", &[Kind::Audio]);
    for _ in 0..100 {
        one.tick(worker.now);
        other.tick(worker.now);
        worker.pass(TICK);
    }
    let got = worker.take(&mut first);
    let picture = packets(PayloadFormat::H264, &picture_track(), &one.samples);
    assert_eq!(plain(&of(&got, PayloadFormat::H264)), picture);
    let sound = packets(PayloadFormat::Opus, &sound_track(), &one.samples);
    assert_eq!(plain(&of(&got, PayloadFormat::Opus)), sound);
    assert_eq!(
        plain(&worker.take(&mut third)),
        sound,
        "only what was agreed"
    );
    let sound = packets(PayloadFormat::Opus, &sound_track(), &other.samples);
    assert_eq!(plain(&worker.take(&mut second)), sound);

    let TestWorker {
        viewers, now, wire, ..
    } = &mut worker;
    viewers.closed(first.session, mux::CloseReason::PeerClosed, *now);
    viewers.closed(first.session, mux::CloseReason::PeerClosed, *now);
    assert_eq!(viewers.len(), 2);
    let elsewhere = Path::udp(([10, 0, 0, 1], 5).into());
    viewers.moved(third.session, elsewhere, *now);
    third.path = elsewhere;
    third.taken = 0;
    one.tick(*now);
    viewers.turn(*now, wire);
    worker.pass(TICK);
    assert!(worker.take(&mut first).is_empty());
    assert_eq!(worker.take(&mut third).len(), 1);
    assert_eq!(worker.server.departure().reason, Reason::Left);
}

#[test]
fn a_frame_is_one_send_of_equal_segments() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &[Kind::Video]);
    let viewer = worker.join("show", &[Kind::Video]);
    worker.film(&mut camera, 100);
    let sendings = &worker.wire.sendings;
    assert!(sendings.iter().all(|sending| sending.path == viewer.path));
    for sending in sendings {
        let first = sending.lengths[0];
        assert!(
            sending.lengths.iter().all(|len| *len == first),
            "{sending:?}"
        );
        assert!(sending.lengths.len() <= 16);
    }
    // A keyframe is its parameter sets and 26 fragments: three sends. Each other picture is one.
    assert_eq!(sendings.len(), 49 + 3);
    let lengths = sendings.iter().flat_map(|sending| &sending.lengths);
    assert_eq!(worker.counters().packets as usize, lengths.count());
}

#[test]
fn sound_that_is_due_goes_with_the_picture_in_one_send() {
    for (picture_bytes, is_large) in [(4_000, true), (700, true), (20, false)] {
        let mut worker = TestWorker::new();
        let mut camera = worker.camera("show", &BOTH);
        camera.picture_bytes = picture_bytes;
        let mut viewer = worker.join("show", &BOTH);
        worker.film(&mut camera, 50);
        worker.wire.sendings.clear();
        worker.take(&mut viewer);
        // Every second tick has a picture.
        worker.film(&mut camera, 40);
        let lengths = worker.wire.sendings.iter().map(|sending| &sending.lengths);
        let lengths: Vec<_> = lengths.collect();
        let sounds = |lengths: &[usize]| lengths.iter().filter(|len| **len == SOUND_BYTES).count();
        assert_eq!(lengths.len(), 40, "{lengths:?}");
        for pair in lengths.chunks(2) {
            let [both, alone] = pair else {
                panic!("{lengths:?}")
            };
            assert!(both.len() > 1 && sounds(both) == 1, "{both:?}");
            let place = if is_large { both.len() - 1 } else { 0 };
            assert_eq!(both[place], SOUND_BYTES, "the shorter one is the last");
            assert_eq!(alone[..], [SOUND_BYTES], "a small audience does not wait");
        }
        let got = worker.take(&mut viewer);
        assert_eq!(of(&got, PayloadFormat::Opus).len(), 40);
        let marked = of(&got, PayloadFormat::H264);
        assert_eq!(marked.iter().filter(|packet| packet.marker).count(), 20);
    }
}

#[test]
fn padding_is_not_counted_in_reports() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &[Kind::Video]);
    let mut viewer = worker.join("show", &[Kind::Video]);
    worker.film(&mut camera, 60);
    let got = of(&worker.take(&mut viewer), PayloadFormat::H264);
    let padded = got.iter().filter(|packet| packet.padding > 0).count();
    let most = got.iter().map(|packet| packet.padding).max();
    assert!(
        padded > 10 && most <= Some(30),
        "{padded} packets, {most:?} bytes"
    );
    worker.pass(Duration::from_secs(10));
    let sent: usize = got.iter().map(|packet| packet.payload.len()).sum();
    // The sender's octet count (RFC 3550 §6.4.1).
    let (_, compound) = worker.wire.compounds.last().expect("a report");
    let octets = compound[24..28]
        .iter()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    assert_eq!(octets, sent);
}

#[test]
fn numbers_go_on_over_epochs() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &BOTH);
    let mut viewer = worker.join("show", &BOTH);
    worker.film(&mut camera, 60);
    drop(camera);
    worker.pass(Duration::from_secs(3));
    let mut again = worker.camera("show", &BOTH);
    worker.film(&mut again, 60);
    let got = worker.take(&mut viewer);
    assert_eq!(of(&got, PayloadFormat::Opus).len(), 120);
    let picture = of(&got, PayloadFormat::H264);
    let frames = picture.iter().filter(|packet| packet.marker).count();
    assert_eq!(frames, 60);
    let times: Vec<_> = picture.iter().map(|packet| packet.timestamp).collect();
    assert!(times.is_sorted(), "the timeline goes on");
    assert_eq!(worker.books.skips.value(), 0);
}

#[test]
fn b_frames_that_can_be_spared_are_left_out() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &[Kind::Video]);
    let mut viewer = worker.join("show", &[Kind::Video]);
    let shown = |mut sample: Sample, after: i64| {
        sample.pts = sample.dts + Span::from_millis(after);
        sample
    };
    for group in 0..10 {
        let at = |step: i64| Timestamp::from_millis(group * 120 + step * 40);
        let what = if group == 0 {
            Picture::Key
        } else {
            Picture::Predicted
        };
        let now = worker.now;
        camera.write(shown(picture(at(0), what, 500, 1), 120), now);
        camera.write(shown(picture(at(1), Picture::Spare, 500, 2), 0), now);
        camera.write(shown(picture(at(2), Picture::Predicted, 500, 3), 0), now);
        worker.pass(Duration::from_millis(120));
    }
    let got = of(&worker.take(&mut viewer), PayloadFormat::H264);
    assert_eq!(got.iter().filter(|packet| packet.marker).count(), 20);
    assert_eq!(worker.server.tally.left_out.value(), 10);
    assert_eq!(worker.server.tally.reordered.value(), 10);
    assert_eq!(worker.server.tally.unsendable.value(), 0);
}

#[test]
fn the_end_of_a_stream_and_another_codec_let_viewers_go() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &BOTH);
    let viewer = worker.join("show", &BOTH);
    let ears = worker.join("show", &[Kind::Audio]);
    worker.film(&mut camera, 20);
    // The publisher changes to VP8.
    let vp8 = Track {
        codec: Codec::Vp8,
        config: Bytes::new(),
        ..picture_track()
    };
    let mut items = vec![Item::Track(Arc::new(vp8))];
    let mut frame = picture(Timestamp::from_millis(400), Picture::Key, 10, 1);
    frame.data = Bytes::from_static(&[0x10, 2, 0, 0x9D, 1, 0x2A, 16, 0, 16, 0]);
    items.push(Item::Sample(frame));
    camera
        .publisher
        .write(&mut items, worker.now)
        .expect("it is ours");
    worker.pass(Duration::from_secs(1));
    assert_eq!(worker.wire.closed, [viewer.session]);
    assert_eq!(worker.server.departure().reason, Reason::Ended);
    worker.server.registry.end_all();
    worker.pass(TICK);
    assert_eq!(worker.wire.closed, [viewer.session, ears.session]);
    assert!(worker.viewers.is_empty());
    assert_eq!(worker.server.departure().reason, Reason::Ended);
}

#[test]
fn a_removed_viewer_is_let_go_and_one_whose_path_is_gone_may_come_back() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &BOTH);
    let handle = worker.server.handle("show", worker.now);
    let id = handle.id();
    let removed = worker.join_with(handle, &BOTH, Profile::Aes128Gcm, true);
    let mut gone = worker.join("show", &BOTH);
    let mut stays = worker.join("show", &BOTH);
    worker.film(&mut camera, 10);
    worker.server.registry.fanout().kick(id);
    worker.film(&mut camera, 20);
    assert_eq!(worker.wire.closed, [removed.session]);
    assert_eq!(worker.server.departure().reason, Reason::Kicked);
    worker.wire.dead.insert(gone.path);
    let before = worker.take(&mut gone);
    worker.film(&mut camera, 10);
    assert!(worker.take(&mut gone).is_empty());
    gone.path = Path::udp(([10, 0, 0, 1], 9).into());
    gone.taken = 0;
    worker.viewers.moved(gone.session, gone.path, worker.now);
    worker.film(&mut camera, 10);
    let after = of(&worker.take(&mut gone), PayloadFormat::Opus);
    let last = of(&before, PayloadFormat::Opus).pop().expect("sound");
    // The send that found the path closed may have begun to leave: its one packet counts as lost.
    assert_eq!(after[0].sequence, last.sequence + 2);
    assert_eq!(after.len(), 19);
    assert_eq!(worker.wire.closed, [removed.session]);
    assert_eq!(of(&worker.take(&mut stays), PayloadFormat::Opus).len(), 50);
    worker.viewers.end();
    assert_eq!(worker.server.departure().reason, Reason::Shutdown);
    assert_eq!(worker.books.listeners_now(), 0);
}

#[test]
fn a_large_audience_is_visited_in_turn_and_by_parts() {
    let mut worker = TestWorker::new();
    let mut camera = worker.camera("show", &BOTH);
    let mut audience: Vec<_> = (0..200).map(|_| worker.join("show", &BOTH)).collect();
    camera.tick(worker.now);
    let before = worker.wire.sendings.len();
    let due = worker.viewers.turn(worker.now, &mut worker.wire);
    assert_eq!(due, Some(worker.now), "not all in one call");
    let visited = worker.wire.sendings.len() - before;
    assert!((128..=4 * 128).contains(&visited), "{visited}");
    worker.film(&mut camera, 60);
    for viewer in &mut audience {
        let got = worker.take(viewer);
        // Sound starts at the present, which has moved on for viewers with a later turn. So many viewers get two
        // frames in a packet, of which the last wait for the next picture.
        let sounds = of(&got, PayloadFormat::Opus);
        let frames = |packet: &Got| Frames::parse(&packet.payload).expect("Opus").iter().len();
        let sounds: usize = sounds.iter().map(frames).sum();
        assert!((58..=61).contains(&sounds), "{sounds}");
        let picture = of(&got, PayloadFormat::H264);
        assert_eq!(picture.iter().filter(|packet| packet.marker).count(), 31);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// What a viewer decrypts is what was packetized, wherever a send found the socket full.
    #[test]
    fn what_is_decrypted_is_what_was_packetized(
        is_gcm: bool,
        sizes in prop::collection::vec((1usize..9_000, 1usize..1_200), 1..40),
        full in prop::collection::vec(prop::bool::weighted(0.3), 40),
    ) {
        let mut worker = TestWorker::new();
        let mut camera = worker.camera("show", &BOTH);
        let profile = if is_gcm { Profile::Aes128Gcm } else { Profile::Aes128CmSha1_80 };
        let handle = worker.server.handle("show", worker.now);
        let mut viewer = worker.join_with(handle, &BOTH, profile, false);
        let mut other = worker.join("show", &BOTH);
        for (step, (picture_bytes, sound_bytes)) in sizes.iter().enumerate() {
            let at = Timestamp::from_millis(step as i64 * 40);
            let what = if step == 0 { Picture::Key } else { Picture::Predicted };
            camera.write(picture(at, what, *picture_bytes, step as u64), worker.now);
            camera.write(crate::testing::sound(at, *sound_bytes, step as u64), worker.now);
            if full[step] {
                worker.wire.full.insert(viewer.path);
            } else {
                worker.wire.full.remove(&viewer.path);
            }
            worker.pass(Duration::from_millis(40));
        }
        worker.wire.full.clear();
        worker.pass(Duration::from_millis(200));
        let picture = packets(PayloadFormat::H264, &picture_track(), &camera.samples);
        let sound = packets(PayloadFormat::Opus, &sound_track(), &camera.samples);
        for viewer in [&mut viewer, &mut other] {
            let got = worker.take(viewer);
            prop_assert_eq!(plain(&of(&got, PayloadFormat::H264)), picture.clone());
            prop_assert_eq!(plain(&of(&got, PayloadFormat::Opus)), sound.clone());
        }
        prop_assert_eq!(worker.books.skips.value(), 0);
    }
}
