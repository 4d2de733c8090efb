//! Packets that viewers receive, their start, and the sends that carry them.

use std::sync::Arc;

use bytes::Bytes;
use fanout::Reason;
use media::codec::opus::Frames;
use media::{Codec, Item, Span, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::testing::{Picture, audio_track, picture, picture_track};

/// An audio packet of the camera as it is sent: header, table of contents, filling, tag.
const AUDIO_BYTES: usize = 12 + 1 + 80 + 16;

#[test]
fn a_viewer_starts_at_the_keyframe_with_parameter_sets_and_hears_the_present() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    let _keeps_open = worker.server.lane("show", worker.now);
    // A second into the second group of pictures.
    worker.film(&mut camera, 150);
    let mut viewer = worker.join("show", &BOTH);
    worker.film(&mut camera, 40);
    let got = worker.take(&mut viewer);
    let picture = of(&got, H264);
    assert!(picture.iter().all(|packet| packet.payload_type == 102));
    let all = packets(H264, &picture_track(), &camera.samples);
    let start = codes::sequencer(H264).timestamp(Timestamp::from_millis(2_000));
    let from = all.iter().position(|(at, ..)| *at == start);
    let from = from.expect("a keyframe");
    assert_eq!(plain(&picture), all[from..], "all of it, in order");
    // Parameter sets come first, in one packet.
    assert_eq!((picture[0].payload[0] & 31, picture[0].sequence), (24, 1));

    let heard = of(&got, Opus);
    let all = packets(Opus, &audio_track(), &camera.samples);
    assert_eq!(plain(&heard), all[149..], "sound from the present on");
    assert!(heard.iter().all(|packet| packet.payload_type == 111));
    assert_eq!(worker.books.skips.value(), 0);
    assert_eq!(worker.books.listeners_now(), 1);
}

#[test]
fn viewers_that_come_about_the_wrap_decrypt_contiguous_packets() {
    let (mut worker, mut camera) = filming("show", &[Kind::Video]);
    camera.key_bytes = 5_000;
    camera.picture_bytes = 3_000;
    let mut audience = vec![worker.join("show", &[Kind::Video])];
    let mut counts = vec![0; 8];
    let mut sequences = [1u16; 8];
    // Three packets a frame: packet 65,536 is in about frame 21,600.
    for round in 0..120 {
        if round == 107 {
            for _ in 0..3 {
                worker.film(&mut camera, 37);
                audience.push(worker.join("show", &[Kind::Video]));
            }
        }
        worker.film(&mut camera, 400);
        for (index, viewer) in audience.iter_mut().enumerate() {
            let got = of(&worker.take(viewer), H264);
            if let (Some(first), Some(last)) = (got.first(), got.last()) {
                let sequence = &mut sequences[index];
                assert_eq!(first.sequence, *sequence, "viewer {index}, round {round}");
                *sequence = last.sequence.wrapping_add(1);
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
    let picture = packets(H264, &picture_track(), &one.samples);
    assert_eq!(plain(&of(&got, H264)), picture);
    let audio = packets(Opus, &audio_track(), &one.samples);
    assert_eq!(plain(&of(&got, Opus)), audio);
    let heard = plain(&worker.take(&mut third));
    assert_eq!(heard, audio, "only what was agreed");
    let audio = packets(Opus, &audio_track(), &other.samples);
    assert_eq!(plain(&worker.take(&mut second)), audio);

    worker.close(&first);
    worker.close(&first);
    assert_eq!(worker.viewers.context.viewers, 2);
    worker.moved(&mut third, Path::udp(([10, 0, 0, 1], 5).into()));
    one.tick(worker.now);
    worker.pass(TICK);
    assert!(worker.take(&mut first).is_empty());
    assert_eq!(worker.take(&mut third).len(), 1);
    assert_eq!(worker.server.departure().reason, Reason::Left);
}

#[test]
fn a_frame_is_one_send_of_equal_segments() {
    let (mut worker, mut camera, viewer) = show(&[Kind::Video]);
    worker.film(&mut camera, 100);
    let sendings = &worker.wire.sendings;
    assert!(sendings.iter().all(|sending| sending.path == viewer.path));
    for sending in sendings {
        let (lengths, first) = (&sending.lengths, sending.lengths[0]);
        assert!(lengths.iter().all(|len| *len == first), "{sending:?}");
        assert!(lengths.len() <= 16);
    }
    // A keyframe is its parameter sets and 26 fragments: three sends. Each other frame is one.
    assert_eq!(sendings.len(), 49 + 3);
    let lengths = sendings.iter().flat_map(|sending| &sending.lengths);
    assert_eq!(worker.counters().packets as usize, lengths.count());
}

#[test]
fn audio_that_is_due_goes_with_the_picture_in_one_send() {
    for (picture_bytes, is_large) in [(4_000, true), (700, true), (20, false)] {
        let mut worker = TestWorker::new();
        let mut camera = worker.camera("show", &BOTH);
        camera.picture_bytes = picture_bytes;
        let mut viewer = worker.join("show", &BOTH);
        worker.film(&mut camera, 50);
        worker.wire.sendings.clear();
        worker.take(&mut viewer);
        // Every second tick has a video frame.
        worker.film(&mut camera, 40);
        let lengths = worker.wire.sendings.iter().map(|sending| &sending.lengths);
        let lengths: Vec<_> = lengths.collect();
        let audio_frames =
            |lengths: &[usize]| lengths.iter().filter(|len| **len == AUDIO_BYTES).count();
        assert_eq!(lengths.len(), 40, "{lengths:?}");
        for pair in lengths.chunks(2) {
            let (both, alone) = (pair[0], pair[1]);
            assert!(both.len() > 1 && audio_frames(both) == 1, "{both:?}");
            let place = if is_large { both.len() - 1 } else { 0 };
            assert_eq!(both[place], AUDIO_BYTES, "the shorter one is the last");
            assert_eq!(alone[..], [AUDIO_BYTES], "a small audience does not wait");
        }
        let got = worker.take(&mut viewer);
        assert_eq!(of(&got, Opus).len(), 40);
        assert_eq!(frames(&got), 20);
    }
}

#[test]
fn padding_is_not_counted_in_reports() {
    let (mut worker, mut camera, mut viewer) = show(&[Kind::Video]);
    worker.film(&mut camera, 60);
    let got = of(&worker.take(&mut viewer), H264);
    let padded = got.iter().filter(|packet| packet.padding > 0).count();
    let most = got.iter().map(|packet| packet.padding).max();
    let are_few = padded > 10 && most <= Some(30);
    assert!(are_few, "{padded} packets, {most:?} bytes");
    worker.pass(Duration::from_secs(10));
    let sent: usize = got.iter().map(|packet| packet.payload.len()).sum();
    // The sender's octet count (RFC 3550 §6.4.1).
    let (_, compound) = worker.wire.compounds.last().expect("a report");
    let octets = compound[24..].first_chunk().expect("octets");
    assert_eq!(u32::from_be_bytes(*octets) as usize, sent);
}

#[test]
fn numbers_continue_over_epochs() {
    let (mut worker, mut camera, mut viewer) = show(&BOTH);
    worker.film(&mut camera, 60);
    drop(camera);
    worker.pass(Duration::from_secs(3));
    let mut again = worker.camera("show", &BOTH);
    worker.film(&mut again, 60);
    let got = worker.take(&mut viewer);
    assert_eq!(of(&got, Opus).len(), 120);
    assert_eq!(frames(&got), 60);
    let picture = of(&got, H264);
    let times: Vec<_> = picture.iter().map(|packet| packet.timestamp).collect();
    assert!(times.is_sorted(), "the timeline goes on");
    assert_eq!(worker.books.skips.value(), 0);
}

#[test]
fn b_frames_that_can_be_spared_are_left_out() {
    let (mut worker, mut camera, mut viewer) = show(&[Kind::Video]);
    let shown = |mut sample: Sample, after: i64| {
        sample.pts = sample.dts + Span::from_millis(after);
        sample
    };
    for group in 0..10 {
        let at = |step: i64| Timestamp::from_millis(group * 120 + step * 40);
        let what = Picture::first(group == 0);
        let now = worker.now;
        camera.write(shown(picture(at(0), what, 500, 1), 120), now);
        camera.write(shown(picture(at(1), Picture::Spare, 500, 2), 0), now);
        camera.write(shown(picture(at(2), Picture::Predicted, 500, 3), 0), now);
        worker.pass(Duration::from_millis(120));
    }
    assert_eq!(frames(&worker.take(&mut viewer)), 20);
    assert_eq!(worker.server.tally.left_out.value(), 10);
    assert_eq!(worker.server.tally.reordered.value(), 10);
    assert_eq!(worker.server.tally.unsendable.value(), 0);
}

#[test]
fn the_end_of_a_stream_and_another_codec_let_viewers_go() {
    let (mut worker, mut camera, viewer) = show(&BOTH);
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
    let written = camera.publisher.write(&mut items, worker.now);
    written.expect("it is ours");
    worker.pass(Duration::from_secs(1));
    assert_eq!(worker.wire.closed, [viewer.session]);
    assert_eq!(worker.server.departure().reason, Reason::Ended);
    worker.server.registry.end_all();
    worker.pass(TICK);
    assert_eq!(worker.wire.closed, [viewer.session, ears.session]);
    assert_eq!(worker.viewers.context.viewers, 0);
    assert_eq!(worker.server.departure().reason, Reason::Ended);
}

#[test]
fn a_removed_viewer_is_let_go_and_one_whose_path_is_gone_may_come_back() {
    let (mut worker, mut camera) = filming("show", &BOTH);
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
    worker.moved(&mut gone, Path::udp(([10, 0, 0, 1], 9).into()));
    worker.film(&mut camera, 10);
    let after = of(&worker.take(&mut gone), Opus);
    let last = of(&before, Opus).pop().expect("sound");
    // The send that found the path closed may have begun to leave: its one packet counts as lost.
    assert_eq!(after[0].sequence, last.sequence + 2);
    assert_eq!(after.len(), 19);
    assert_eq!(worker.wire.closed, [removed.session]);
    assert_eq!(of(&worker.take(&mut stays), Opus).len(), 50);
    worker.viewers.end();
    assert_eq!(worker.server.departure().reason, Reason::Shutdown);
    assert_eq!(worker.books.listeners_now(), 0);
}

#[test]
fn a_large_audience_is_visited_in_turn_and_by_parts() {
    let (mut worker, mut camera) = filming("show", &BOTH);
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
        // Audio starts at the present, which has moved on for viewers with a later turn. With this many viewers a packet holds
        // two frames, of which the last wait for the next video frame.
        let audio_frames = of(&got, Opus);
        let count = |packet: &Got| Frames::parse(&packet.payload).expect("Opus").iter().len();
        let audio_frames: usize = audio_frames.iter().map(count).sum();
        assert!((58..=61).contains(&audio_frames), "{audio_frames}");
        assert_eq!(frames(&got), 31);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// A viewer decrypts exactly the packetized media, wherever a send found the socket full.
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
        for (step, (picture_bytes, audio_bytes)) in sizes.iter().enumerate() {
            let at = Timestamp::from_millis(step as i64 * 40);
            let what = Picture::first(step == 0);
            camera.write(picture(at, what, *picture_bytes, step as u64), worker.now);
            camera.write(crate::testing::audio(at, *audio_bytes, step as u64), worker.now);
            worker.wire.full.clear();
            worker.wire.full.extend(full[step].then_some(viewer.path));
            worker.pass(Duration::from_millis(40));
        }
        worker.wire.full.clear();
        worker.pass(Duration::from_millis(200));
        let picture = packets(H264, &picture_track(), &camera.samples);
        let audio = packets(Opus, &audio_track(), &camera.samples);
        for viewer in [&mut viewer, &mut other] {
            let got = worker.take(viewer);
            prop_assert_eq!(plain(&of(&got, H264)), picture.clone());
            prop_assert_eq!(plain(&of(&got, Opus)), audio.clone());
        }
        prop_assert_eq!(worker.books.skips.value(), 0);
    }
}
