//! Viewers that have a past to catch up with, or fall behind.

use fanout::Reason;

use super::*;
use crate::testing::picture_track;

/// Timestamps per second of the picture's clock.
const CLOCK: f64 = 90_000.0;

#[test]
fn the_past_is_given_at_three_times_its_pace() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &BOTH);
    let _keeps_open = theatre.house.lane("show", theatre.now);
    camera.key_every = 250;
    // The keyframe is 1.5 s old, and the next one far away.
    theatre.film(&mut camera, 76);
    let began = theatre.now;
    let mut guest = theatre.join("show", &BOTH);
    let first = theatre.take(&mut guest);
    assert_eq!(of(&first, PayloadFormat::Opus).len(), 1, "sound at once");
    assert!(
        of(&first, PayloadFormat::H264).len() <= 16,
        "not even all of the keyframe at once"
    );
    let mut start = None;
    let mut caught_up = None;
    for _ in 0..100 {
        theatre.film(&mut camera, 1);
        let passed = theatre.now.duration_since(began).as_secs_f64();
        for packet in of(&theatre.take(&mut guest), PayloadFormat::H264) {
            let start = *start.get_or_insert(packet.timestamp);
            let at = f64::from(packet.timestamp.wrapping_sub(start)) / CLOCK;
            assert!(at <= 3.0 * passed + 0.041, "{at} s of it after {passed} s");
            let live = 1.52 + passed;
            if live - at < 0.09 && caught_up.is_none() {
                caught_up = Some(passed);
            }
        }
    }
    let caught_up = caught_up.expect("it reaches the present");
    assert!((0.6..1.0).contains(&caught_up), "after {caught_up} s");
    assert_eq!(theatre.books.skips.value(), 0);
}

#[test]
fn a_newer_keyframe_ends_the_past() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &[Kind::Video]);
    camera.key_every = 250;
    let _keeps_open = theatre.house.lane("show", theatre.now);
    // The keyframe is 9.8 s old; at three times the pace it would take 4.9 s.
    theatre.film(&mut camera, 490);
    let mut guest = theatre.join("show", &[Kind::Video]);
    theatre.film(&mut camera, 30);
    let got = of(&theatre.take(&mut guest), PayloadFormat::H264);
    let live = packets(PayloadFormat::H264, &picture_track(), &camera.samples);
    assert_eq!(
        plain(&got).last(),
        live.last(),
        "it is in the present, and saw no gap"
    );
    assert_eq!(theatre.books.skips.value(), 0);
}

#[test]
fn a_large_keyframe_is_given_in_parts() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &[Kind::Video]);
    camera.key_bytes = 150_000;
    let mut guest = theatre.join("show", &[Kind::Video]);
    camera.tick(theatre.now);
    let mut parts = Vec::new();
    let began = theatre.now;
    let mut took = Duration::ZERO;
    while parts.iter().sum::<usize>() < 128 {
        let due = theatre.viewers.turn(theatre.now, &mut theatre.wire);
        parts.push(theatre.take(&mut guest).len());
        took = theatre.now.duration_since(began);
        assert!(took < TICK, "{parts:?}");
        theatre.now = due.expect("there is more");
    }
    assert!(parts.iter().all(|part| *part <= 16), "{parts:?}");
    assert_eq!(took, Duration::from_millis(14));
}

#[test]
fn who_finds_no_room_keeps_its_place_and_holds_up_nobody() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &BOTH);
    let mut guests: Vec<_> = (0..20).map(|_| theatre.join("show", &BOTH)).collect();
    for guest in &mut guests {
        guest.path = Path::tcp(guest.path.remote);
        theatre
            .viewers
            .moved(guest.session, guest.path, theatre.now);
    }
    theatre.film(&mut camera, 20);
    for guest in &guests[2..14] {
        theatre.wire.full.insert(guest.path);
    }
    theatre.film(&mut camera, 40);
    assert!(theatre.counters().blocked_sends > 0);
    let frames = |got: &[Got]| {
        of(got, PayloadFormat::H264)
            .iter()
            .filter(|one| one.marker)
            .count()
    };
    for (index, guest) in guests.iter_mut().enumerate() {
        let got = theatre.take(guest);
        let expected = if (2..14).contains(&index) { 10 } else { 30 };
        assert_eq!(frames(&got), expected, "guest {index}");
    }
    theatre.wire.full.clear();
    theatre.film(&mut camera, 20);
    for (index, guest) in guests.iter_mut().enumerate() {
        let got = theatre.take(guest);
        let expected = if (2..14).contains(&index) { 30 } else { 10 };
        assert_eq!(frames(&got), expected, "guest {index}");
    }
    assert_eq!(theatre.books.skips.value(), 0);
    // Retries do not grow with what is missing: each viewer is tried some hundred times a second.
    assert!(theatre.wire.refused < 12 * 150, "{}", theatre.wire.refused);
}

#[test]
fn a_full_socket_is_not_tried_for_everybody() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &BOTH);
    let mut guests: Vec<_> = (0..50).map(|_| theatre.join("show", &BOTH)).collect();
    theatre.film(&mut camera, 20);
    let paths = guests.iter().map(|guest| guest.path);
    theatre.wire.full = paths.collect();
    camera.tick(theatre.now);
    let due = theatre.viewers.turn(theatre.now, &mut theatre.wire);
    assert_eq!(theatre.wire.refused, 4);
    assert!(due.is_some_and(|due| due > theatre.now), "it does not spin");
    theatre.wire.full.clear();
    theatre.film(&mut camera, 10);
    for guest in &mut guests {
        assert_eq!(of(&theatre.take(guest), PayloadFormat::Opus).len(), 31);
    }
}

#[test]
fn who_falls_behind_goes_on_at_the_next_keyframe_without_a_gap() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &BOTH);
    let mut guest = theatre.join("show", &BOTH);
    theatre.film(&mut camera, 40);
    let before = of(&theatre.take(&mut guest), PayloadFormat::H264);
    theatre.wire.full.insert(guest.path);
    theatre.film(&mut camera, 180);
    theatre.wire.full.clear();
    theatre.film(&mut camera, 20);
    let after = of(&theatre.take(&mut guest), PayloadFormat::H264);
    let (last, first) = (&before[before.len() - 1], &after[0]);
    assert!(last.marker);
    assert_eq!(first.sequence, last.sequence.wrapping_add(1));
    assert_eq!(
        first.payload[0] & 31,
        24,
        "a keyframe with its parameter sets"
    );
    let missing = f64::from(first.timestamp.wrapping_sub(last.timestamp)) / CLOCK;
    assert!(missing > 3.0, "{missing} s were skipped");
    assert!(theatre.books.skips.value() > 0);
    assert_eq!(theatre.books.degraded.value(), 1);
    theatre.film(&mut camera, 530);
    assert_eq!(theatre.books.degraded.value(), 0);
}

#[test]
fn who_falls_further_behind_is_let_go() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &BOTH);
    let guest = theatre.join("show", &BOTH);
    theatre.film(&mut camera, 40);
    theatre.wire.full.insert(guest.path);
    // As long as it is tried, it is moved; here it stands in the middle of a picture.
    theatre.viewers.turn(theatre.now, &mut theatre.wire);
    for _ in 0..600 {
        camera.tick(theatre.now);
        theatre.now += TICK;
    }
    theatre.pass(TICK);
    assert_eq!(theatre.wire.closed, [guest.session]);
    assert_eq!(theatre.house.departure().reason, Reason::Lag);
}

#[test]
fn sound_rides_with_pictures_when_the_audience_is_large() {
    let mut theatre = Theatre::new();
    let mut camera = theatre.camera("show", &BOTH);
    for _ in 0..250 {
        theatre.join("show", &BOTH);
    }
    theatre.film(&mut camera, 2);
    let rounds = |theatre: &mut Theatre, camera: &mut Camera| {
        let before = theatre.wire.sendings.len();
        theatre.film(camera, 50);
        (theatre.wire.sendings.len() - before) / 250
    };
    // A send for each picture and one for the two packets of sound that go with it.
    let sends = rounds(&mut theatre, &mut camera);
    assert!((50..=54).contains(&sends), "{sends}");
}
