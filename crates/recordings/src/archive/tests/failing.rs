//! Disks that are full, and processes that are killed.

use std::os::unix::fs::FileExt;

use super::*;
use crate::archive::lock::claim;
use crate::archive::offline;
use crate::archive::service::sync_since;

#[test]
fn a_full_disk_leaves_whole_fragments_and_is_tried_again() {
    for torn in [0, 10, 5_000] {
        let mut archive = TestArchive::new();
        let (mut left, mut publisher, mut recorder) = archive.begin_flv();
        archive.turn(&mut publisher, until(&mut left, 1_500), &mut recorder);
        let whole = archive.recordings()[0].bytes;
        archive.switches.torn.store(torn, Ordering::Relaxed);
        archive.switches.is_full.store(true, Ordering::Relaxed);
        archive.turn(&mut publisher, until(&mut left, 2_500), &mut recorder);
        assert_eq!(archive.shared.counts.gaps.all(), [0, 1, 0]);
        let first = archive.only();
        // It has no index, for which there was no room, and plays.
        assert_eq!((first.state, first.bytes), (State::Closed, whole));
        assert_eq!(std::fs::metadata(&first.path).expect("a file").len(), whole);
        let first_pictures = pictures(&first.path);
        assert!((25..=38).contains(&first_pictures.len()));
        // Before its time nothing is tried.
        archive.visit(&mut recorder, TURN);
        assert_eq!(archive.recordings().len(), 1);
        archive.switches.is_full.store(false, Ordering::Relaxed);
        write(&mut publisher, left);
        drop(publisher);
        archive.visit(&mut recorder, 10 * TURN);
        archive.visit(&mut recorder, 11 * TURN);
        let recorded = archive.recordings();
        assert_eq!(recorded.len(), 2, "{recorded:?}");
        assert_eq!(recorded[1].state, State::Finalised);
        let wanted = pictures(&Clip::Flv.seconds(4));
        let got = pictures(&recorded[1].path);
        let is_whole = got.len() >= 25 && got.len().is_multiple_of(25);
        assert!(is_whole, "from a keyframe on");
        assert_eq!(got, wanted[wanted.len() - got.len()..]);
        assert_eq!(archive.shared.counts.gaps.all(), [0, 1, 0], "one gap");
    }
}

#[test]
fn what_was_recorded_since_the_last_time_is_written_down() {
    let mut archive = TestArchive::new();
    let switches = Arc::clone(&archive.switches);
    let syncs = || switches.syncs.load(Ordering::Relaxed);
    let idle = sync_since(&archive.shared, 0);
    assert_eq!((idle, syncs()), (0, 0), "nothing was recorded");
    let (mut left, mut publisher, mut recorder) = archive.begin_flv();
    let mut synced = 0;
    for (turn, millis) in [1_500, 2_500].into_iter().enumerate() {
        archive.turn(&mut publisher, until(&mut left, millis), &mut recorder);
        let before = synced;
        synced = sync_since(&archive.shared, before);
        assert!(synced > before);
        assert_eq!(syncs(), turn as u64 + 1);
        assert_eq!(sync_since(&archive.shared, synced), synced);
        assert_eq!(syncs(), turn as u64 + 1, "nothing more was recorded");
    }
}

#[test]
fn what_a_killed_process_leaves_is_recovered_wherever_it_was_cut() {
    let mut archive = TestArchive::new();
    let (part, whole) = archive.killed(Container::Tracks, items(Clip::Flv));
    let wanted = pictures(&Clip::Flv.seconds(4));
    let length = whole.len();
    for cut in [length, length - 1, length - 2_000, length / 2] {
        archive.restart_with(&part, &whole[..cut]);
        let recovered = archive.only();
        assert_eq!(recovered.state, State::Finalised);
        assert_eq!(archive.files(), std::slice::from_ref(&recovered.path));
        let got = pictures(&recovered.path);
        assert_eq!(got, wanted[..got.len()]);
        // Three groups were whole; one may be cut.
        assert!(got.len() + 26 >= 75 * cut / whole.len(), "{}", got.len());
        // A second start finds it as it is.
        let before = std::fs::read(&recovered.path).expect("read");
        archive.restart();
        assert_eq!(archive.recordings(), [Arc::clone(&recovered)]);
        assert!(std::fs::read(&recovered.path).expect("read") == before);
        // The header was not written any more.
        let mut file = std::fs::OpenOptions::new();
        let file = file.write(true).open(&recovered.path).expect("opened");
        let mut kinds = before.windows(4);
        let at = kinds.position(|kind| kind == b"mdat").expect("a header") as u64 - 4;
        let free = [&[0, 0, 0, 16][..], b"free", &[0; 8]].concat();
        file.write_all_at(&free, at).expect("written");
        archive.restart();
        assert!(std::fs::read(&recovered.path).expect("read") == before);
    }
    // Nothing came.
    archive.restart_with(&part, &whole[..600]);
    assert!(archive.recordings().is_empty() && archive.files().is_empty());
}

#[test]
fn a_directory_is_listed_and_mended_without_a_server() {
    let mut archive = TestArchive::new();
    let (part, bytes) = archive.killed(Container::Tracks, items(Clip::Flv));
    let root = archive.root.path();
    // Its last fragment is cut.
    std::fs::write(&part, &bytes[..bytes.len() - 9]).expect("written");
    std::fs::write(root.join("notes.txt"), "mine").expect("written");
    let bad = root.join("live/show/2026-11-23/15-04-05Z-0.mp4");
    std::fs::create_dir_all(bad.parent().expect("a folder")).expect("made");
    std::fs::write(&bad, "no film").expect("written");
    let before = archive.files();
    let listing = offline::list(root).expect("listed");
    let [open] = &listing.recordings[..] else {
        panic!("{listing:?}");
    };
    assert_eq!((open.state, &open.path), (State::Open, &part));
    assert!(open.bytes < bytes.len() as u64 - 9);
    assert_eq!(listing.unreadable.len(), 1);
    assert_eq!(listing.others, [root.join("notes.txt")]);
    let length = std::fs::metadata(&part).expect("a file").len();
    assert_eq!((archive.files(), length), (before, bytes.len() as u64 - 9));
    let claimed = claim(root).expect("asked");
    let refused = offline::fix(root);
    assert!(matches!(refused, Err(offline::FixError::Taken(_))));
    drop(claimed);
    let done = offline::fix(root).expect("mended");
    let [first, second] = &done[..] else {
        panic!("{done:?}");
    };
    assert!(matches!(first, Event::Recovered(_)) && matches!(second, Event::Finalised(_)));
    let listing = offline::list(root).expect("listed");
    let [whole] = &listing.recordings[..] else {
        panic!("{listing:?}");
    };
    assert_eq!((whole.state, whole.id), (State::Finalised, open.id));
    assert_eq!(whole.duration, open.duration);
    assert!(!pictures(&whole.path).is_empty());
    assert!(offline::fix(root).expect("nothing to do").is_empty());
    assert!(offline::list(&root.join("none")).is_err());
}
