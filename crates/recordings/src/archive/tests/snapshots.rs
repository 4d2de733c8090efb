//! Tests of snapshots beside recordings.

use super::*;
use crate::archive::snapshot::Beside;

#[test]
fn the_newest_keyframe_is_kept_every_so_often_and_goes_with_its_recording() {
    let mut archive = TestArchive::new();
    archive.shared.settings.rules[0].snapshot = Some(2 * TURN);
    archive.shared.settings.rules[0].keep.max_count = Some(1);
    let (mut left, mut publisher, mut recorder) = archive.begin_flv();
    for second in 1..=4 {
        write(&mut publisher, until(&mut left, 1_000 * second + 40));
        archive.visit(&mut recorder, TURN);
    }
    archive.end(publisher, &mut recorder);
    let recording = archive.only().path.clone();
    let beside = Beside::default().of(&recording);
    assert_eq!(beside.len(), 2, "{:?}", archive.files());
    let wanted = pictures(&Clip::Flv.seconds(4));
    let keyframes: Vec<_> = wanted.iter().step_by(25).collect();
    for path in &beside {
        let got = pictures(path);
        assert!(got.len() == 1 && keyframes.contains(&&got[0]));
    }
    // Another run does not take them for recordings.
    archive.restart();
    assert_eq!(archive.recordings().len(), 1);
    assert_eq!(archive.files().len(), 3);
    archive.shared.settings.rules[0].keep.max_count = Some(0);
    archive.tidy();
    assert!(archive.recordings().is_empty() && archive.files().is_empty());
}
