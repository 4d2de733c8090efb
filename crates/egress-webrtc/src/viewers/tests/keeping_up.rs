//! Viewers that have a past to catch up with, or fall behind.

use fanout::Reason;

use super::*;
use crate::testing::picture_track;

/// Timestamps per second of the video clock.
const CLOCK: f64 = 90_000.0;

#[test]
fn the_past_is_given_at_three_times_its_pace() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    let _keeps_open = worker.server.lane("show", worker.now);
    camera.key_every = 250;
    // The keyframe is 1.5 s old, and the next one far away.
    worker.film(&mut camera, 76);
    let began = worker.now;
    let mut viewer = worker.join("show", &BOTH);
    let first = worker.take(&mut viewer);
    assert_eq!(of(&first, Opus).len(), 1, "sound at once");
    let pictures = of(&first, H264).len();
    assert!(pictures <= 16, "not even all of the keyframe at once");
    let mut start = None;
    let mut caught_up = None;
    for _ in 0..100 {
        worker.film(&mut camera, 1);
        let passed = worker.now.duration_since(began).as_secs_f64();
        for packet in of(&worker.take(&mut viewer), H264) {
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
    assert_eq!(worker.books.skips.value(), 0);
}

#[test]
fn a_newer_keyframe_ends_the_past() {
    let (mut worker, mut camera) = filming("show", &[Kind::Video]);
    camera.key_every = 250;
    let _keeps_open = worker.server.lane("show", worker.now);
    // The keyframe is 9.8 s old; at three times the pace it would take 4.9 s.
    worker.film(&mut camera, 490);
    let mut viewer = worker.join("show", &[Kind::Video]);
    worker.film(&mut camera, 30);
    let got = of(&worker.take(&mut viewer), H264);
    let live = packets(H264, &picture_track(), &camera.samples);
    // It is in the present, and saw no gap.
    assert_eq!(plain(&got).last(), live.last());
    assert_eq!(worker.books.skips.value(), 0);
}

#[test]
fn a_large_keyframe_is_given_in_parts() {
    let (mut worker, mut camera) = filming("show", &[Kind::Video]);
    camera.key_bytes = 150_000;
    let mut viewer = worker.join("show", &[Kind::Video]);
    camera.tick(worker.now);
    let mut parts = Vec::new();
    let began = worker.now;
    let mut took = Duration::ZERO;
    while parts.iter().sum::<usize>() < 128 {
        let due = worker.viewers.turn(worker.now, &mut worker.wire);
        parts.push(worker.take(&mut viewer).len());
        took = worker.now.duration_since(began);
        assert!(took < TICK, "{parts:?}");
        worker.now = due.expect("there is more");
    }
    assert!(parts.iter().all(|part| *part <= 16), "{parts:?}");
    assert_eq!(took, Duration::from_millis(14));
}

#[test]
fn a_viewer_without_room_keeps_its_place_and_delays_no_other() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    let mut audience: Vec<_> = (0..20).map(|_| worker.join("show", &BOTH)).collect();
    for viewer in &mut audience {
        let path = Path::tcp(viewer.path.remote);
        worker.moved(viewer, path);
    }
    worker.film(&mut camera, 20);
    for viewer in &audience[2..14] {
        worker.wire.full.insert(viewer.path);
    }
    worker.film(&mut camera, 40);
    assert!(worker.counters().blocked_sends > 0);
    for (of_full, of_others, ticks) in [(10, 30, 20), (30, 10, 0)] {
        for (index, viewer) in audience.iter_mut().enumerate() {
            let is_full = (2..14).contains(&index);
            let expected = if is_full { of_full } else { of_others };
            assert_eq!(frames(&worker.take(viewer)), expected, "viewer {index}");
        }
        worker.wire.full.clear();
        worker.film(&mut camera, ticks);
    }
    assert_eq!(worker.books.skips.value(), 0);
    // Retries do not grow with what is missing: each viewer is tried some hundred times a second.
    assert!(worker.wire.refused < 12 * 150, "{}", worker.wire.refused);
}

#[test]
fn a_full_socket_is_not_tried_for_every_viewer() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    let mut audience: Vec<_> = (0..50).map(|_| worker.join("show", &BOTH)).collect();
    worker.film(&mut camera, 20);
    let paths = audience.iter().map(|viewer| viewer.path);
    worker.wire.full = paths.collect();
    camera.tick(worker.now);
    let due = worker.viewers.turn(worker.now, &mut worker.wire);
    assert_eq!(worker.wire.refused, 4);
    assert!(due.is_some_and(|due| due > worker.now), "it does not spin");
    worker.wire.full.clear();
    worker.film(&mut camera, 10);
    for viewer in &mut audience {
        assert_eq!(of(&worker.take(viewer), Opus).len(), 31);
    }
}

#[test]
fn a_viewer_that_falls_behind_continues_at_the_next_keyframe_without_a_gap() {
    let (mut worker, mut camera, mut viewer) = show(&BOTH);
    worker.film(&mut camera, 40);
    let before = of(&worker.take(&mut viewer), H264);
    worker.wire.full.insert(viewer.path);
    worker.film(&mut camera, 180);
    worker.wire.full.clear();
    worker.film(&mut camera, 20);
    let after = of(&worker.take(&mut viewer), H264);
    let (last, first) = (&before[before.len() - 1], &after[0]);
    assert!(last.marker);
    assert_eq!(first.sequence, last.sequence.wrapping_add(1));
    let kind = first.payload[0] & 31;
    assert_eq!(kind, 24, "a keyframe with its parameter sets");
    let missing = f64::from(first.timestamp.wrapping_sub(last.timestamp)) / CLOCK;
    assert!(missing > 3.0, "{missing} s were skipped");
    assert!(worker.books.skips.value() > 0);
    assert_eq!(worker.books.degraded.value(), 1);
    worker.film(&mut camera, 530);
    assert_eq!(worker.books.degraded.value(), 0);
}

#[test]
fn a_viewer_that_falls_further_behind_is_let_go() {
    let (mut worker, mut camera, viewer) = show(&BOTH);
    worker.film(&mut camera, 40);
    worker.wire.full.insert(viewer.path);
    // It is moved each time it is tried; here its position is in the middle of a frame.
    worker.viewers.turn(worker.now, &mut worker.wire);
    for _ in 0..600 {
        camera.tick(worker.now);
        worker.now += TICK;
    }
    worker.pass(TICK);
    assert_eq!(worker.wire.closed, [viewer.session]);
    assert_eq!(worker.server.departure().reason, Reason::Lag);
}
