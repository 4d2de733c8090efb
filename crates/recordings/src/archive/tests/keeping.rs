//! Tests of which files are kept.

use super::*;
use crate::archive::Refused;

/// Records so many files of a second.
fn record(archive: &mut TestArchive, files: usize) {
    let (mut left, mut publisher, mut recorder) = archive.begin_flv();
    write(&mut publisher, until(&mut left, 1_000 * files as i64));
    archive.end(publisher, &mut recorder);
    assert_eq!(archive.recordings().len(), files);
}

/// An archive that keeps so many recordings, and has more of them; with those.
fn keeping(max_count: u64, files: usize) -> (TestArchive, Vec<Arc<Recording>>) {
    let keep = Keep {
        max_count: Some(max_count),
        ..Keep::default()
    };
    let mut archive = TestArchive::with(TURN, keep, 0);
    record(&mut archive, files);
    let recordings = archive.recordings();
    (archive, recordings)
}

#[test]
fn what_a_rule_does_not_keep_is_removed_with_its_directory() {
    let (archive, before) = keeping(2, 4);
    archive.tidy();
    assert_eq!(archive.recordings(), before[2..]);
    let left: Vec<_> = before[2..].iter().map(|it| it.path.clone()).collect();
    assert_eq!(archive.files(), left);
    for recording in archive.recordings() {
        removal::remove(&archive.shared, recording.id).expect("removed");
    }
    assert!(archive.files().is_empty());
    assert!(archive.root.path().exists() && !archive.root.path().join("live").exists());
}

#[test]
fn a_step_of_the_clock_makes_no_recording_old() {
    let days = |days: u64| Duration::from_secs(days * 24 * 3_600);
    let keep = Keep {
        max_age: Some(days(30)),
        ..Keep::default()
    };
    let mut archive = TestArchive::with(TURN, keep, 0);
    record(&mut archive, 2);
    let (time, now) = (SystemTime::now(), Instant::now());
    archive.look(time, now);
    archive.look(time + days(500), now + 10 * TURN);
    archive.look(time + days(501), now + days(1));
    assert_eq!(archive.recordings().len(), 2);
    // They are as old as the time that passes.
    archive.look(time + days(531), now + days(31));
    assert!(archive.recordings().is_empty());
}

#[test]
fn what_the_disk_does_not_let_go_is_listed_still() {
    let (archive, before) = keeping(0, 1);
    // A directory in its place cannot be removed as a file.
    let path = &before[0].path;
    std::fs::remove_file(path).expect("removed");
    std::fs::create_dir(path).expect("made");
    archive.tidy();
    let refused = removal::remove(&archive.shared, before[0].id);
    assert_eq!(refused, Err(Refused::Disk));
    assert_eq!(archive.recordings(), before);
    std::fs::remove_dir(path).expect("removed");
    archive.tidy();
    assert!(archive.recordings().is_empty());
}

#[test]
fn one_of_which_no_copy_can_be_made_stays_and_counts_for_nothing() {
    let (archive, before) = keeping(1, 3);
    let shelf = &archive.shared.shelf;
    assert!(shelf.update(before[0].id, |it| it.upload = Upload::Taken));
    archive.tidy();
    let left: Vec<_> = archive.recordings().iter().map(|it| it.id).collect();
    assert_eq!(left, [before[0].id, before[2].id]);
}

#[test]
fn what_is_pinned_stays_and_counts_for_nothing() {
    let (mut archive, before) = keeping(1, 4);
    crate::archive::pin::pin(&before[1].path, true).expect("marked");
    let shelf = &archive.shared.shelf;
    assert!(shelf.update(before[1].id, |it| it.is_pinned = true));
    archive.tidy();
    let left = |archive: &TestArchive| -> Vec<_> {
        let all = archive.recordings().into_iter();
        all.map(|it| (it.id, it.is_pinned)).collect()
    };
    let expected = [(before[1].id, true), (before[3].id, false)];
    assert_eq!(left(&archive), expected);
    archive.restart();
    assert_eq!(left(&archive), expected);
}

#[test]
fn the_oldest_make_room_on_a_disk_that_fills() {
    let mut archive = TestArchive::with(TURN, Keep::default(), 3);
    record(&mut archive, 4);
    let before = archive.recordings();
    // Each one removed frees a byte.
    archive.switches.free.store(1, Ordering::Relaxed);
    archive.tidy();
    assert_eq!(archive.recordings(), before[2..]);
    archive.tidy();
    assert_eq!(archive.recordings(), before[2..]);
}

#[test]
fn what_is_to_be_uploaded_stays_and_what_was_loses_its_file_alone() {
    let keep = Keep {
        max_count: Some(3),
        ..Keep::default()
    };
    let mut archive = TestArchive::with(TURN, keep, 3);
    archive.shared.settings.is_uploaded = true;
    record(&mut archive, 4);
    let before = archive.recordings();
    assert!(before.iter().all(|it| it.upload == Upload::Pending));
    // Neither the rule nor a full disk costs one that is nowhere else.
    archive.tidy();
    assert_eq!(archive.recordings(), before);
    let shelf = Arc::clone(&archive.shared.shelf);
    let store = |number: usize, is_spare| {
        let key = Arc::from("key");
        let upload = Upload::Stored { key, is_spare };
        shelf.update(before[number].id, |it| it.upload = upload);
    };
    let local = || -> Vec<bool> {
        let listed = shelf.list(None, None, 9);
        listed.iter().map(|it| it.is_local).collect()
    };
    // Those that are go, by the rule or because they are spare, and stay on the shelf.
    archive.switches.free.store(3, Ordering::Relaxed);
    store(1, false);
    archive.tidy();
    assert_eq!(local(), [true, false, true, true]);
    store(2, true);
    archive.tidy();
    assert_eq!(local(), [true, false, false, true]);
    let left = [&before[0].path, &before[3].path].map(Clone::clone);
    assert_eq!(archive.files(), left);
}

#[test]
fn no_file_is_ever_overwritten() {
    let mut archive = TestArchive::new();
    record(&mut archive, 1);
    let first = archive.recordings()[0].clone();
    let named = |one: &Recording| one.path.file_name().expect("a name").display().to_string();
    let name = named(&first);
    // Another that begins in any of the next seconds finds its name taken.
    let bytes = std::fs::read(&first.path).expect("read");
    let folder = first.path.parent().expect("a folder");
    let since = first.started.duration_since(std::time::UNIX_EPOCH);
    let since = since.expect("after it");
    for later in 0..120 {
        let second = (since.as_secs() + later) % 86_400;
        let [hours, minutes, seconds] = [second / 3_600, second / 60 % 60, second % 60];
        let taken = folder.join(format!("{hours:02}-{minutes:02}-{seconds:02}Z-0.mp4"));
        std::fs::write(taken, b"mine").expect("written");
    }
    std::fs::write(&first.path, &bytes).expect("written");
    let mut publisher = archive.publish(Container::Tracks);
    write(&mut publisher, items(Clip::Flv));
    let mut recorder = archive.record(publisher.stream());
    archive.end(publisher, &mut recorder);
    let recorded = archive.recordings();
    let second = recorded.iter().find(|it| it.id != first.id).expect("two");
    let second = named(second);
    assert!(second.ends_with("Z-1.mp4") && second != name, "{second}");
    let mut files = archive.files();
    files.retain(|path| std::fs::read(path).expect("read") == b"mine");
    assert_eq!(files.len(), 119);
}

/// Number of recordings in a test with many.
const MANY: u64 = 100_000;

/// CPU that a look at all of them may cost: some twenty times what it does.
const LOOK_CPU_MAX: Duration = Duration::from_secs(1);

/// Looks once, and demands that it is cheap. The time is the thread's own, which no other work on the machine adds to.
fn look(archive: &TestArchive) {
    let used = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let begin = used();
    archive.tidy();
    let cost = Duration::try_from(used() - begin).expect("it goes forward");
    assert!(cost < LOOK_CPU_MAX, "{cost:?}");
}

/// An archive with that many recordings of a thousand streams on its shelf, an hour each, and no files: the oldest
/// first, by the hour that they end in.
fn filled(keep: Keep, min_free: u64) -> TestArchive {
    let archive = TestArchive::with(TURN, keep, min_free);
    let hour = Duration::from_secs(3_600);
    for number in 0..MANY {
        let stream = StreamName::parse(&format!("live/{}", number % 1_000)).expect("a name");
        let ended = MANY / 1_000 - number / 1_000;
        let started = SystemTime::now() - hour * (1 + ended as u32);
        let name =
            crate::archive::name::FileName::new(stream.clone(), started, crate::Container::Mp4);
        let recording = Recording {
            id: name.id(),
            path: name.path(archive.root.path()),
            started,
            duration: hour,
            bytes: 1_000,
            state: State::Finalised,
            ..crate::shelf::tests::recording(stream.as_str(), 0)
        };
        archive.shared.shelf.insert(recording).expect("room");
    }
    archive
}

#[test]
fn of_a_hundred_thousand_the_right_ones_are_removed() {
    let hours = |hours: u64| Duration::from_secs(3_600 * hours);
    let none = Keep::default();
    let age = Keep {
        // The limit is between two hours.
        max_age: Some(hours(90) + Duration::from_secs(1_800)),
        ..none
    };
    let bytes = Keep {
        max_bytes: Some(90_000 * 1_000 + 999),
        ..none
    };
    let count = Keep {
        max_count: Some(90_000),
        ..none
    };
    let fewer = [(age, 90_000), (bytes, 90_000), (count, 90_000)];
    for (keep, left) in [(none, MANY)].into_iter().chain(fewer) {
        let archive = filled(keep, 0);
        let before = removal::counted(&archive.shared);
        look(&archive);
        let after = removal::counted(&archive.shared);
        assert_eq!(after.len() as u64, left, "{keep:?}");
        assert_eq!(after, before[before.len() - after.len()..], "{keep:?}");
    }
    // Each one removed frees a byte, and those of one turn are not all that there are.
    let archive = filled(none, 250);
    let before = removal::counted(&archive.shared);
    for removed in [100, 200, 250, 250] {
        look(&archive);
        let after = removal::counted(&archive.shared);
        assert_eq!(after, before[removed..], "{removed}");
    }
}
