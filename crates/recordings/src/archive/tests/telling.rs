//! Tests of the events about recordings.

use super::*;
use crate::archive::{GapReason, Removal};

/// Events received since the last call, in words.
fn reported(archive: &TestArchive) -> Vec<String> {
    let id = |it: &Recording| it.path.extension().map(|it| it.display().to_string());
    let words = |event| match event {
        Event::Started(it) => format!("started {:?} {:?}", it.state, id(&it)),
        Event::Closed(it) => format!("closed {:?} {:?}", it.state, id(&it)),
        Event::Finalised(it) => format!("finalised {:?} {:?}", it.state, id(&it)),
        Event::Recovered(it) => format!("recovered {:?} {:?}", it.state, id(&it)),
        Event::Deleted { why, .. } => format!("deleted {}", why.label()),
        Event::Gap {
            reason, seconds, ..
        } => format!("gap {} {seconds:?}", reason.label()),
        Event::Failed { stream, .. } => format!("failed {stream}"),
    };
    archive.reported.try_iter().map(words).collect()
}

const STARTED: &str = "started Open Some(\"part\")";
const CLOSED: &str = "closed Closed Some(\"mp4\")";
const FINALISED: &str = "finalised Finalised Some(\"mp4\")";

#[test]
fn each_step_of_a_recording_is_reported_once() {
    let mut archive = TestArchive::new();
    let (mut left, mut publisher, mut recorder) = archive.begin_flv();
    archive.turn(&mut publisher, until(&mut left, 2_000), &mut recorder);
    assert_eq!(reported(&archive), [STARTED]);
    write(&mut publisher, left);
    drop(publisher);
    archive.visit(&mut recorder, TURN);
    assert!(reported(&archive).is_empty());
    archive.visit(&mut recorder, 11 * TURN);
    assert_eq!(reported(&archive), [CLOSED, FINALISED]);
    // A start changes nothing of it.
    archive.restart();
    assert!(reported(&archive).is_empty());
    let recording = archive.recordings().remove(0);
    removal::remove(&archive.shared, recording.id).expect("removed");
    let why = Removal::Operator;
    let last = Event::Deleted { recording, why };
    assert_eq!(archive.reported.try_iter().collect::<Vec<_>>(), [last]);
}

#[test]
fn a_full_disk_tells_of_no_recording_that_never_was() {
    let mut archive = TestArchive::new();
    let mut left = items(Clip::Flv);
    archive.switches.is_full.store(true, Ordering::Relaxed);
    let (mut publisher, mut recorder) = archive.begin(Container::Tracks, &mut left);
    for millis in [1_500, 2_500] {
        write(&mut publisher, until(&mut left, millis));
        archive.visit(&mut recorder, 10 * TURN);
    }
    let gap = format!("gap {} None", GapReason::Disk.label());
    assert_eq!(reported(&archive), [&*gap, "failed live/show"]);
    archive.switches.is_full.store(false, Ordering::Relaxed);
    write(&mut publisher, left);
    archive.visit(&mut recorder, 10 * TURN);
    assert_eq!(reported(&archive), [STARTED]);
}

#[test]
fn what_cannot_be_closed_is_closed_when_the_disk_lets_it() {
    for fault in 0..3 {
        let mut archive = TestArchive::new();
        let (left, mut publisher, mut recorder) = archive.begin_flv();
        archive.turn(&mut publisher, left, &mut recorder);
        let switches = &archive.switches;
        let faults = [&switches.unsynced, &switches.unnamed, &switches.unsure];
        faults[fault].store(2, Ordering::Relaxed);
        archive.end(publisher, &mut recorder);
        assert_eq!(archive.only().state, State::Open);
        assert_eq!(reported(&archive), [STARTED, "failed live/show"], "{fault}");
        let (time, now) = (SystemTime::now(), Instant::now());
        archive.look(time, now);
        archive.look(time, now);
        assert_eq!(archive.only().state, State::Finalised);
        assert_eq!(archive.files(), [archive.only().path.clone()]);
        assert_eq!(reported(&archive), [CLOSED, FINALISED], "{fault}");
    }
}

#[test]
fn a_file_that_was_moved_while_it_was_written_is_reported_as_missing() {
    let mut archive = TestArchive::new();
    let (left, mut publisher, mut recorder) = archive.begin_flv();
    archive.turn(&mut publisher, left, &mut recorder);
    std::fs::remove_file(&archive.only().path).expect("removed");
    archive.end(publisher, &mut recorder);
    assert!(archive.recordings().is_empty());
    assert_eq!(reported(&archive), [STARTED, "deleted missing"]);
}

#[test]
fn what_goes_wrong_is_reported_once() {
    let mut archive = TestArchive::new();
    let (mut left, mut publisher, mut recorder) = archive.begin_flv();
    archive.turn(&mut publisher, until(&mut left, 1_500), &mut recorder);
    archive.switches.is_full.store(true, Ordering::Relaxed);
    archive.turn(&mut publisher, left, &mut recorder);
    let gap = format!("gap {} None", GapReason::Disk.label());
    let expected = [STARTED, &gap, "failed live/show", CLOSED];
    assert_eq!(reported(&archive), expected);
    // What a killed process left.
    let closed = archive.recordings()[0].path.clone();
    let mut part = closed.clone().into_os_string();
    part.push(".part");
    std::fs::rename(&closed, part).expect("renamed");
    archive.restart();
    let recovered = "recovered Closed Some(\"mp4\")";
    assert_eq!(reported(&archive), [recovered, FINALISED]);
}
