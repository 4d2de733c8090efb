//! Players against the test server.

use super::flaw::Flaw;
use super::testing::{Manners, Server};
use crate::args::{Listening, Playing};
use crate::plan::{Plan, Work};
use crate::tally::Tally;

const PLAYERS: u64 = 6;
const CHECKED: u64 = 3;

/// Returns the tally of players of this path, with a server that behaves in this manner.
fn play(path: &str, manners: Manners, playing: Playing) -> Tally {
    let listening = Listening {
        checked: CHECKED,
        playing,
        ..Listening::default()
    };
    listen(path, manners, &listening)
}

fn listen(path: &str, manners: Manners, listening: &Listening) -> Tally {
    let server = Server::start(manners);
    let url = format!("hls+http://{}/{path}", server.addr);
    let tally = Plan::alone(&url, PLAYERS, Work::Listen(listening.clone())).carried_out();
    server.stop();
    tally
}

fn assert_all_stayed(tally: &Tally) {
    let reasons = (&tally.failed, &tally.lost, &tally.hls.refused);
    assert_eq!(
        (tally.members.joined, tally.members.alive, tally.checked),
        (PLAYERS, PLAYERS, CHECKED),
        "{reasons:?}"
    );
    assert_eq!(tally.join.count(), PLAYERS);
    assert_eq!(tally.rate.count(), PLAYERS);
}

fn assert_clean(tally: &Tally) {
    let findings = &tally.findings;
    assert_eq!(findings.counts.flaws(), [0; 4], "{findings:?}");
    let hls = &tally.hls;
    for reasons in [&hls.refused, &hls.violations] {
        assert_eq!(reasons.total(), 0, "{reasons:?}");
    }
    let passed = [hls.counts.skipped, hls.counts.jumps, hls.counts.gaps];
    assert_eq!(passed, [0; 3], "{hls:?}");
}

#[test]
fn low_latency_players_get_each_part_when_it_is_complete() {
    let tally = play("show/index.m3u8", Manners::default(), Playing::default());
    assert_all_stayed(&tally);
    assert_clean(&tally);
    let (hls, counts) = (&tally.hls, &tally.hls.counts);
    assert_eq!(counts.maps, PLAYERS);
    assert_eq!((counts.segments, counts.hinted), (0, 0));
    // Ten a second, for two seconds at least.
    assert!(counts.parts >= PLAYERS * 20, "{hls:?}");
    assert_eq!(counts.reconnects, 0, "{hls:?}");
    assert!(hls.counts.playlists >= PLAYERS * 20 && hls.counts.deltas > hls.counts.playlists / 2);
    // Four frames a part, half of the players.
    assert!(tally.findings.counts.frames >= CHECKED * 20 * 4);
    assert!(hls.fetch.count() >= PLAYERS * 15, "{hls:?}");
    assert!(hls.delay.count() >= CHECKED * 15, "{hls:?}");
    let delays = (hls.fetch.percentile(50.0), hls.delay.percentile(50.0));
    assert!(
        delays.0 < 500_000_000 && delays.1 < 500_000_000,
        "{delays:?}"
    );
}

#[test]
fn players_of_segments_leave_parts_alone() {
    let manners = Manners {
        closes: true,
        ..Manners::default()
    };
    let playing = Playing {
        whole_segments: true,
        ..Playing::default()
    };
    let tally = play("show/hls/live.m3u8", manners, playing);
    assert_all_stayed(&tally);
    assert_clean(&tally);
    let hls = &tally.hls;
    assert_eq!(hls.counts.maps, PLAYERS);
    assert_eq!((hls.counts.parts, hls.counts.deltas), (0, 0));
    // Three seconds of half-second segments to begin with, and those that follow.
    assert!(hls.counts.segments >= PLAYERS * 8, "{hls:?}");
    assert!(hls.counts.playlists >= PLAYERS * 2, "{hls:?}");
    assert!(hls.counts.reconnects >= hls.counts.segments, "{hls:?}");
    assert!(tally.findings.counts.frames >= CHECKED * 8 * 20);
}

#[test]
fn hinted_parts_are_fetched_before_they_are_listed() {
    let playing = Playing {
        hints: true,
        ..Playing::default()
    };
    let tally = play("show/index.m3u8", Manners::default(), playing);
    assert_all_stayed(&tally);
    assert_clean(&tally);
    let hls = &tally.hls;
    assert!(hls.counts.hinted > hls.counts.parts / 2, "{hls:?}");
    assert!(hls.delay.count() >= CHECKED * 15, "{hls:?}");
}

#[test]
fn a_connection_that_was_closed_is_made_again() {
    let manners = Manners {
        hangs_up: true,
        ..Manners::default()
    };
    let tally = play("show/index.m3u8", manners, Playing::default());
    assert_all_stayed(&tally);
    assert_clean(&tally);
    let hls = &tally.hls;
    assert!(hls.counts.reconnects >= PLAYERS * 20, "{hls:?}");
}

#[test]
fn players_come_and_go() {
    let listening = Listening {
        churn: Some(10.0),
        ..Listening::default()
    };
    let tally = listen("show/index.m3u8", Manners::default(), &listening);
    assert!(tally.members.churned >= 15, "{tally:?}");
    assert_eq!(tally.members.begun, PLAYERS + tally.members.churned);
    assert!(
        tally.members.joined > PLAYERS && tally.members.alive <= PLAYERS,
        "{tally:?}"
    );
    assert_eq!((tally.lost.total(), tally.hls.violations.total()), (0, 0));
}

#[test]
fn what_the_server_does_wrong_is_counted() {
    let manners = Manners {
        rushes: true,
        loses: Some(7),
        ..Manners::default()
    };
    let tally = play("show/index.m3u8", manners, Playing::default());
    assert_all_stayed(&tally);
    let hls = &tally.hls;
    for flaw in [Flaw::Unheld, Flaw::Refused] {
        let mut violations = hls.violations.iter();
        let text = flaw.to_string();
        assert!(
            violations.any(|(found, _)| found == text),
            "{text}: {hls:?}"
        );
    }
    let mut refused = hls.refused.iter();
    assert!(refused.any(|(reason, _)| reason == "part: status 404"));
    assert!(hls.counts.skipped > 0, "{hls:?}");
    let findings = &tally.findings;
    assert!(
        findings.counts.holes > 0 && findings.counts.damaged == 0,
        "{findings:?}"
    );
}

#[test]
fn a_stream_that_is_not_there_is_the_reason() {
    let tally = play("other/index.m3u8", Manners::default(), Playing::default());
    assert_eq!(tally.bytes, 0);
    let failed: Vec<_> = tally.failed.iter().collect();
    assert_eq!(failed, [("status 404", PLAYERS)]);
    assert_eq!((tally.members.joined, tally.members.alive), (0, 0));
}
