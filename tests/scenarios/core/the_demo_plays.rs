//! `serve --demo`: one command gives a new user something to watch.

use testkit::{Server, framemd5};

use crate::support::flv;
use crate::support::{file, wait_until};

#[test]
fn it_loops_for_ever_on_one_timeline() {
    let server = Server::builder().arg("--demo").start();
    let mut listener = server.listen("/demo.flv");
    assert_eq!(listener.status(), 200);
    // The clip is 10.24 s long: twelve seconds include its seam.
    let mut body = Vec::new();
    wait_until("two turns of the clip", || {
        listener.read_for(std::time::Duration::from_millis(500));
        body = flv::whole_tags(listener.body());
        let times = flv::times(&body, 9);
        times
            .last()
            .zip(times.first())
            .is_some_and(|(last, first)| last - first > 12_000)
    });
    for kind in [8, 9] {
        let times = flv::times(&body, kind);
        assert!(times.is_sorted(), "{kind}");
        let steps = times.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(steps.max() <= Some(41), "the seam of {kind} is no gap");
    }
    let frames = framemd5::decoded(file(&body).path());
    assert!(framemd5::video(&frames).len() > 290);
    assert!(framemd5::is_monotonic(&frames));
}
