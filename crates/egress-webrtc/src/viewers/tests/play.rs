//! What viewers get, from when on, and in which sends.

use std::sync::Arc;

use bytes::Bytes;
use fanout::Reason;
use media::{Codec, Item, Span, Timestamp};
use proptest::prelude::*;
use webrtc::mux;

use super::*;
use crate::testing::{Picture, picture, picture_track, sound_track};

#[test]
fn a_viewer_starts_at_the_keyframe_with_parameter_sets_and_hears_the_present() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &BOTH);
    let _keeps_open = theatre.house.lane("show", theatre.now);
    // A second into the second group of pictures.
    theatre.film(&mut camera, 150);
    let mut guest = theatre.join("show", &BOTH);
    theatre.film(&mut camera, 40);
    let got = theatre.take(&mut guest);
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
    assert_eq!(theatre.books.skips.value(), 0);
    assert_eq!(theatre.books.listeners_now(), 1);
}

#[test]
fn viewers_that_come_about_the_wrap_decrypt_contiguous_packets() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &[Kind::Video]);
    camera.key_bytes = 5_000;
    camera.picture_bytes = 3_000;
    let mut guests = vec![theatre.join("show", &[Kind::Video])];
    let mut counts = vec![0; 8];
    let mut sequences = [1u16; 8];
    // Three packets a picture: the 65,536th comes with picture 21,600 or so.
    for round in 0..120 {
        if round == 107 {
            for _ in 0..3 {
                theatre.film(&mut camera, 37);
                guests.push(theatre.join("show", &[Kind::Video]));
            }
        }
        theatre.film(&mut camera, 400);
        for (index, guest) in guests.iter_mut().enumerate() {
            let got = of(&theatre.take(guest), PayloadFormat::H264);
            if let (Some(first), Some(last)) = (got.first(), got.last()) {
                assert_eq!(
                    first.sequence, sequences[index],
                    "guest {index}, round {round}"
                );
                sequences[index] = last.sequence.wrapping_add(1);
            }
            counts[index] += got.len();
        }
        camera.samples.clear();
        theatre.wire.datagrams.clear();
        theatre.wire.sendings.clear();
        theatre.wire.compounds.clear();
        guests.iter_mut().for_each(|guest| guest.taken = 0);
    }
    assert!(counts[0] > 70_000, "the first saw its own wrap: {counts:?}");
    assert!(counts[1] > 1_000 && counts[3] > 1_000);
    assert_eq!(theatre.books.skips.value(), 0);
}

#[test]
fn lanes_are_kept_apart() {
    let mut theatre = Theatre::new();
    let mut one = theatre.camera("one", &BOTH);
    let mut other = theatre.camera("other", &[Kind::Audio]);
    let mut first = theatre.join("one", &BOTH);
    let mut second = theatre.join("other", &BOTH);
    let mut third = theatre.join("one", &[Kind::Audio]);
    for _ in 0..100 {
        one.tick(theatre.now);
        other.tick(theatre.now);
        theatre.pass(TICK);
    }
    let got = theatre.take(&mut first);
    let picture = packets(PayloadFormat::H264, &picture_track(), &one.samples);
    assert_eq!(plain(&of(&got, PayloadFormat::H264)), picture);
    let sound = packets(PayloadFormat::Opus, &sound_track(), &one.samples);
    assert_eq!(plain(&of(&got, PayloadFormat::Opus)), sound);
    assert_eq!(
        plain(&theatre.take(&mut third)),
        sound,
        "only what was agreed"
    );
    let sound = packets(PayloadFormat::Opus, &sound_track(), &other.samples);
    assert_eq!(plain(&theatre.take(&mut second)), sound);

    let Theatre {
        viewers, now, wire, ..
    } = &mut theatre;
    viewers.closed(first.session, mux::Reason::PeerClosed, *now);
    viewers.closed(first.session, mux::Reason::PeerClosed, *now);
    assert_eq!(viewers.len(), 2);
    let elsewhere = Path::udp(([10, 0, 0, 1], 5).into());
    viewers.moved(third.session, elsewhere, *now);
    third.path = elsewhere;
    third.taken = 0;
    one.tick(*now);
    viewers.turn(*now, wire);
    theatre.pass(TICK);
    assert!(theatre.take(&mut first).is_empty());
    assert_eq!(theatre.take(&mut third).len(), 1);
    assert_eq!(theatre.house.departure().reason, Reason::Left);
}

#[test]
fn a_frame_is_one_send_of_equal_segments() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &[Kind::Video]);
    let guest = theatre.join("show", &[Kind::Video]);
    theatre.film(&mut camera, 100);
    let sendings = &theatre.wire.sendings;
    assert!(sendings.iter().all(|sending| sending.path == guest.path));
    for sending in sendings {
        let (last, others) = sending.lengths.split_last().expect("a packet");
        assert!(others.iter().all(|len| *len == sending.lengths[0]));
        assert!(*last <= sending.lengths[0] && sending.lengths.len() <= 16);
    }
    // A keyframe is its parameter sets and 26 fragments: three sends. Each other picture is one.
    assert_eq!(sendings.len(), 49 + 3);
    let lengths = sendings.iter().flat_map(|sending| &sending.lengths);
    assert_eq!(theatre.counters().packets as usize, lengths.count());
}

#[test]
fn numbers_go_on_over_epochs() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &BOTH);
    let mut guest = theatre.join("show", &BOTH);
    theatre.film(&mut camera, 60);
    drop(camera);
    theatre.pass(Duration::from_secs(3));
    let mut again = theatre.camera("show", &BOTH);
    theatre.film(&mut again, 60);
    let got = theatre.take(&mut guest);
    assert_eq!(of(&got, PayloadFormat::Opus).len(), 120);
    let picture = of(&got, PayloadFormat::H264);
    let frames = picture.iter().filter(|packet| packet.marker).count();
    assert_eq!(frames, 60);
    let times: Vec<_> = picture.iter().map(|packet| packet.timestamp).collect();
    assert!(times.is_sorted(), "the timeline goes on");
    assert_eq!(theatre.books.skips.value(), 0);
}

#[test]
fn b_frames_that_can_be_spared_are_left_out() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &[Kind::Video]);
    let mut guest = theatre.join("show", &[Kind::Video]);
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
        let now = theatre.now;
        camera.write(shown(picture(at(0), what, 500, 1), 120), now);
        camera.write(shown(picture(at(1), Picture::Spare, 500, 2), 0), now);
        camera.write(shown(picture(at(2), Picture::Predicted, 500, 3), 0), now);
        theatre.pass(Duration::from_millis(120));
    }
    let got = of(&theatre.take(&mut guest), PayloadFormat::H264);
    assert_eq!(got.iter().filter(|packet| packet.marker).count(), 20);
    assert_eq!(theatre.house.tally.left_out(), 10);
    assert_eq!(theatre.house.tally.reordered(), 10);
    assert_eq!(theatre.house.tally.unsendable(), 0);
}

#[test]
fn the_end_of_a_stream_and_another_codec_let_viewers_go() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &BOTH);
    let guest = theatre.join("show", &BOTH);
    let ears = theatre.join("show", &[Kind::Audio]);
    theatre.film(&mut camera, 20);
    // The publisher goes over to VP8.
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
        .write(&mut items, theatre.now)
        .expect("it is ours");
    theatre.pass(Duration::from_secs(1));
    assert_eq!(theatre.wire.closed, [guest.session]);
    assert_eq!(theatre.house.departure().reason, Reason::Ended);
    theatre.house.registry.end_all();
    theatre.pass(TICK);
    assert_eq!(theatre.wire.closed, [guest.session, ears.session]);
    assert!(theatre.viewers.is_empty());
    assert_eq!(theatre.house.departure().reason, Reason::Ended);
}

#[test]
fn a_removed_viewer_is_let_go_and_one_whose_path_is_gone_may_come_back() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &BOTH);
    let handle = theatre.house.handle("show", theatre.now);
    let id = handle.id();
    let removed = theatre.join_with(handle, &BOTH, Profile::Aes128Gcm, true);
    let mut gone = theatre.join("show", &BOTH);
    let mut stays = theatre.join("show", &BOTH);
    theatre.film(&mut camera, 10);
    theatre.house.registry.fanout().kick(id);
    theatre.film(&mut camera, 20);
    assert_eq!(theatre.wire.closed, [removed.session]);
    assert_eq!(theatre.house.departure().reason, Reason::Kicked);
    theatre.wire.dead.insert(gone.path);
    let before = theatre.take(&mut gone);
    theatre.film(&mut camera, 10);
    assert!(theatre.take(&mut gone).is_empty());
    gone.path = Path::udp(([10, 0, 0, 1], 9).into());
    gone.taken = 0;
    theatre.viewers.moved(gone.session, gone.path, theatre.now);
    theatre.film(&mut camera, 10);
    let after = of(&theatre.take(&mut gone), PayloadFormat::Opus);
    let last = of(&before, PayloadFormat::Opus).pop().expect("sound");
    // The send that found the path closed may have begun to leave: its one packet counts as lost.
    assert_eq!(after[0].sequence, last.sequence + 2);
    assert_eq!(after.len(), 19);
    assert_eq!(theatre.wire.closed, [removed.session]);
    assert_eq!(of(&theatre.take(&mut stays), PayloadFormat::Opus).len(), 50);
    theatre.viewers.end();
    assert_eq!(theatre.house.departure().reason, Reason::Shutdown);
    assert_eq!(theatre.books.listeners_now(), 0);
}

#[test]
fn a_large_audience_is_visited_in_turn_and_by_parts() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &BOTH);
    let mut guests: Vec<_> = (0..200).map(|_| theatre.join("show", &BOTH)).collect();
    camera.tick(theatre.now);
    let before = theatre.wire.sendings.len();
    let due = theatre.viewers.turn(theatre.now, &mut theatre.wire);
    assert_eq!(due, Some(theatre.now), "not all in one call");
    let visited = theatre.wire.sendings.len() - before;
    assert!((128..=4 * 128).contains(&visited), "{visited}");
    theatre.film(&mut camera, 60);
    for guest in &mut guests {
        let got = theatre.take(guest);
        // Sound starts at the present, which has moved on for those whose turn came later.
        let sounds = of(&got, PayloadFormat::Opus).len();
        assert!((60..=61).contains(&sounds), "{sounds}");
        let picture = of(&got, PayloadFormat::H264);
        assert_eq!(picture.iter().filter(|packet| packet.marker).count(), 31);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// What a viewer decrypts is what was packetized, wherever a send found no room.
    #[test]
    fn what_is_decrypted_is_what_was_packetized(
        is_gcm: bool,
        sizes in prop::collection::vec((1usize..9_000, 1usize..1_200), 1..40),
        full in prop::collection::vec(prop::bool::weighted(0.3), 40),
    ) {
        let mut theatre = Theatre::new();
        let mut camera = theatre.camera("show", &BOTH);
        let profile = if is_gcm { Profile::Aes128Gcm } else { Profile::Aes128CmSha1_80 };
        let handle = theatre.house.handle("show", theatre.now);
        let mut guest = theatre.join_with(handle, &BOTH, profile, false);
        let mut other = theatre.join("show", &BOTH);
        for (step, (picture_bytes, sound_bytes)) in sizes.iter().enumerate() {
            let at = Timestamp::from_millis(step as i64 * 40);
            let what = if step == 0 { Picture::Key } else { Picture::Predicted };
            camera.write(picture(at, what, *picture_bytes, step as u64), theatre.now);
            camera.write(crate::testing::sound(at, *sound_bytes, step as u64), theatre.now);
            if full[step] {
                theatre.wire.full.insert(guest.path);
            } else {
                theatre.wire.full.remove(&guest.path);
            }
            theatre.pass(Duration::from_millis(40));
        }
        theatre.wire.full.clear();
        theatre.pass(Duration::from_millis(200));
        let picture = packets(PayloadFormat::H264, &picture_track(), &camera.samples);
        let sound = packets(PayloadFormat::Opus, &sound_track(), &camera.samples);
        for guest in [&mut guest, &mut other] {
            let got = theatre.take(guest);
            prop_assert_eq!(plain(&of(&got, PayloadFormat::H264)), picture.clone());
            prop_assert_eq!(plain(&of(&got, PayloadFormat::Opus)), sound.clone());
        }
        prop_assert_eq!(theatre.books.skips.value(), 0);
    }
}
