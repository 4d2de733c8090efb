//! Viewers that miss the first packets they are sent.

use webrtc::rtcp::{write_pli, write_receiver_report};

use super::*;
use crate::testing::picture_track;

fn ask(worker: &mut TestWorker, viewer: &TestViewer) {
    let mut compound = Vec::new();
    write_receiver_report(&mut compound, 9, &[]);
    write_pli(&mut compound, 9, codes::ssrc(H264));
    worker.rtcp(viewer, &compound);
}

#[test]
fn a_viewer_that_missed_its_keyframe_gets_it_again_from_the_log() {
    let (mut worker, mut camera) = filming("show", &BOTH);
    camera.key_every = 200;
    let _keeps_open = worker.server.lane("show", worker.now);
    worker.film(&mut camera, 50);
    let mut viewer = worker.join("show", &BOTH);
    // Nothing sent in the first 420 ms arrives.
    worker.film(&mut camera, 21);
    let missed = of(&worker.take(&mut viewer), H264);
    ask(&mut worker, &viewer);
    worker.film(&mut camera, 10);
    let before = of(&worker.take(&mut viewer), H264);
    ask(&mut worker, &viewer);
    worker.film(&mut camera, 60);
    let got = of(&worker.take(&mut viewer), H264);
    let all = packets(H264, &picture_track(), &camera.samples);
    assert_eq!(plain(&got), all, "from the keyframe to the present");
    let last = [missed, before].concat().last().expect("packets").sequence;
    assert_eq!(got[0].sequence, last.wrapping_add(1), "as something new");
    assert_eq!(worker.books.skips.value(), 0);
}
