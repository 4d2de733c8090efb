//! Requests for a playlist or a part that is still to come block, by the table of RFC 8216bis §6.2.5.2.
//!
//! The publisher pauses where a reply must come at once: a request that blocked would have nothing to wait for.

use std::time::{Duration, Instant};

use testkit::hls::{Watch, resolve};
use testkit::{Clip, Server};

use crate::support::reloads::Show;
use crate::support::{DEADLINE, publish_rtmp, wait_until};

/// Shortest time that a blocked request lasts: three target durations of six seconds, less the difference of clocks.
const HELD_AT_LEAST: Duration = Duration::from_millis(17_900);

#[test]
fn what_has_been_is_answered_at_once() {
    let show = Show::start();
    let first = show.playlist("").sequence;
    wait_until("a segment to be removed", || {
        show.playlist("").sequence > first
    });
    let now = show.pause();
    let text = show.ask("").text();
    let last_whole = now
        .segments
        .iter()
        .rev()
        .find(|segment| segment.file.is_some());
    let last_whole = last_whole.unwrap().number;
    for query in [
        "?_HLS_msn=0".to_owned(),
        "?_HLS_msn=0&_HLS_part=0".to_owned(),
        format!("?_HLS_msn={first}&_HLS_part=1"),
        format!("?_HLS_msn={last_whole}&_HLS_part=0"),
        format!("?_HLS_msn={last_whole}"),
        "?_HLS_skip=YES".to_owned(),
    ] {
        let answer = show.ask(&query);
        assert_eq!(
            (answer.status, answer.text()),
            (200, text.clone()),
            "{query}"
        );
    }
}

#[test]
fn clients_that_hang_up_leave_nothing_behind() {
    const CLIENTS: usize = 50;
    let show = Show::start();
    let (number, part) = show.pause().next_part();
    let hint = show.hint();
    let reload = format!("{}?_HLS_msn={number}&_HLS_part={part}", show.path);
    wait_until("the earlier requests to be over", || {
        show.connections() == 0.0
    });
    let waiting: Vec<_> = (0..CLIENTS)
        .map(|index| show.begin(if index % 2 == 0 { &reload } else { &hint }))
        .collect();
    wait_until("all to be connected", || {
        show.connections() == CLIENTS as f64
    });
    drop(waiting);
    // The server forgets each request before it has waited for three target durations.
    testkit::wait_until("all to be forgotten", HELD_AT_LEAST, || {
        show.connections() == 0.0
    });
}

/// The publisher leaves for good, and another comes: the part announced before is either in the playlist or nowhere.
#[test]
fn what_does_not_come_is_answered_in_the_end() {
    let mut show = Show::start();
    show.publisher.kill();
    let hint = show.hint();
    // The bytes that the publisher had sent may still make a part.
    let mut began = Instant::now();
    let mut status = 200;
    testkit::wait_until("an answer without a new part", 3 * DEADLINE, || {
        began = Instant::now();
        let (number, part) = show.playlist("").next_part();
        status = show
            .ask(&format!("?_HLS_msn={number}&_HLS_part={part}"))
            .status;
        status != 200
    });
    assert_eq!(status, 503);
    assert!(began.elapsed() >= HELD_AT_LEAST, "{:?}", began.elapsed());
    let last = show.playlist("");
    let _second = publish_rtmp(&show.server, &Clip::Flv.seconds(60), "live/show");
    let mut now = last.clone();
    wait_until("parts of the second publisher", || {
        now = show.playlist("");
        let is_new = |number| now.segment(number).is_some_and(|new| !new.parts.is_empty());
        is_new(last.next_part().0 + 1)
    });
    assert!(
        now.segments.iter().any(|segment| segment.is_discontinuous),
        "{now:?}"
    );
    let mut parts = now.segments.iter().flat_map(|segment| &segment.parts);
    let is_listed = parts.any(|part| resolve(&show.path, &part.uri) == hint);
    let status = show.server.get(&hint).status;
    assert_eq!(
        status,
        if is_listed { 200 } else { 404 },
        "{hint} in {now:?}"
    );
}

#[test]
fn players_learn_of_the_end() {
    let server = Server::builder().set("ingest", "linger", "\"1s\"").start();
    let mut publisher = publish_rtmp(&server, &Clip::Flv.seconds(12), "live/show");
    let mut watch = Watch::start(server.addr("http"), "/live/show/index.m3u8");
    watch.follow(|_| false);
    assert!(publisher.wait(DEADLINE).success(), "{}", publisher.stderr());
    let history = watch.finish();
    let last = &history.versions.last().unwrap().playlist;
    assert!(last.is_ended && last.hints.is_empty(), "{last:?}");
    // Nothing follows, so there is nothing to wait for.
    let plain = server.get(&history.playlist).status;
    let ahead = server
        .get(&format!("{}?_HLS_msn=9999&_HLS_part=5", history.playlist))
        .status;
    assert_eq!(plain, ahead);
    assert!([200, 404].contains(&plain), "{plain}");
}
