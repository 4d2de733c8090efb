//! Viewers and publishers against the test server.

use std::time::Duration;

use super::testing::{Manners, Server};
use crate::args::Listening;
use crate::plan::{Plan, Source, Work};
use crate::publish::synthetic::{Audio, Program};
use crate::tally::Tally;

const VIEWERS: u64 = 12;
const CHECKED: u64 = 4;

fn carry_out(url: &str, members: u64, work: Work) -> Tally {
    let plan = Plan {
        window: Duration::from_millis(2_500),
        ..Plan::alone(url, members, work)
    };
    plan.carried_out()
}

/// Returns the tally of viewers at this path of the server.
fn watch(server: &Server, path: &str, listening: &Listening) -> Tally {
    let url = format!("whep+http://{}/{path}", server.http);
    carry_out(&url, VIEWERS, Work::Listen(listening.clone()))
}

fn listening() -> Listening {
    Listening {
        checked: CHECKED,
        ..Listening::default()
    }
}

#[test]
fn viewers_are_given_every_packet_and_check_every_frame() {
    let server = Server::start(Manners::default());
    let tally = watch(&server, "show/whep", &listening());
    let seen = server.stop();
    let reasons = (&tally.failed, &tally.lost);
    assert_eq!(
        (tally.members.joined, tally.members.alive, tally.checked),
        (VIEWERS, VIEWERS, CHECKED),
        "{reasons:?}"
    );
    assert_eq!(tally.join.count(), VIEWERS);
    assert_eq!(tally.rate.count(), VIEWERS);
    // 1.06 Mb/s, plus headers and tags.
    let rate = tally.rate.percentile(50.0) as f64 / 1.06e6;
    assert!((0.8..1.4).contains(&rate), "{rate}");
    let packets = &tally.packets;
    assert_eq!(
        (packets.lost, packets.gaps, packets.refused, packets.nacked),
        (0, 0, 0, 0),
        "{packets:?}"
    );
    let audio_frames = packets.window_audio.packets as f64 / (VIEWERS as f64 * 2.5 * 50.0);
    assert!((0.8..1.2).contains(&audio_frames), "{packets:?}");
    assert!(packets.window_video.bytes > 50 * packets.window_video.packets);
    let findings = &tally.findings;
    assert_eq!(findings.counts.flaws(), [0; 4], "{findings:?}");
    // At least both tracks of each viewer for the window.
    assert!(
        findings.counts.frames as f64 > 0.8 * (CHECKED as f64 * 2.5 * 75.0),
        "{findings:?}"
    );
    assert!(findings.delay.count() > 0 && findings.delay.percentile(50.0) < 500_000_000);
    // All viewers report; those that decrypt packets also name the time of the last sender report.
    assert!(seen.reports >= VIEWERS * 2, "{seen:?}");
    assert!(
        seen.timed >= CHECKED && seen.timed < seen.reports,
        "{seen:?}"
    );
    assert_eq!((seen.lost, seen.goodbyes), (0, VIEWERS), "{seen:?}");
}

#[test]
fn what_is_lost_is_counted_and_by_players_asked_for() {
    let server = Server::start(Manners {
        loses: Some(20),
        ..Manners::default()
    });
    let tally = watch(&server, "show/whep", &listening());
    let seen = server.stop();
    let reasons = (&tally.failed, &tally.lost);
    assert_eq!(tally.members.alive, VIEWERS, "{reasons:?}");
    let packets = &tally.packets;
    let share = packets.lost as f64 / (packets.lost + packets.received) as f64;
    // Checked viewers receive what they request, under its original number.
    let expected = 0.05 * (VIEWERS - CHECKED) as f64 / VIEWERS as f64;
    assert!((share / expected - 1.0).abs() < 0.4, "{share}: {packets:?}");
    assert!(packets.nacked > 0 && packets.late > 0, "{packets:?}");
    assert!(packets.nacked < packets.received / 10, "{packets:?}");
    assert!(seen.repeated > 0 && seen.lost > 0, "{seen:?}");
    let counts = &tally.findings.counts;
    assert_eq!((counts.missing, counts.damaged), (0, 0), "{counts:?}");
}

#[test]
fn a_server_that_says_no_or_goodbye_is_the_reason() {
    let manners = Manners {
        closes_after: Some(Duration::from_secs(2)),
        ..Manners::default()
    };
    let server = Server::start(manners);
    let tally = watch(&server, "nothing/whep", &Listening::default());
    let failed: Vec<_> = tally.failed.iter().collect();
    assert_eq!(failed, [("status 404", VIEWERS)]);
    let server_of_goodbyes = Server::start(manners);
    let tally = watch(&server_of_goodbyes, "show/whep", &Listening::default());
    let members = tally.members;
    assert_eq!((members.joined, members.alive), (VIEWERS, 0), "{tally:?}");
    let lost: Vec<_> = tally.lost.iter().collect();
    assert_eq!(lost, [("closed by the server", VIEWERS)]);
    server.stop();
    server_of_goodbyes.stop();
}

#[test]
fn viewers_come_and_go() {
    let server = Server::start(Manners::default());
    let churning = Listening {
        churn: Some(10.0),
        ..Listening::default()
    };
    let tally = watch(&server, "show/whep", &churning);
    let seen = server.stop();
    let (members, failed) = (tally.members, &tally.failed);
    assert!(members.churned >= 10, "{members:?}");
    assert_eq!(members.begun, VIEWERS + members.churned);
    assert_eq!(failed.total() + members.alive, VIEWERS, "{failed:?}");
    // Each viewer says goodbye when it leaves.
    assert_eq!(seen.goodbyes, members.joined, "{seen:?}");
}

#[test]
fn publishers_are_taken_whole_and_do_what_they_are_asked() {
    let server = Server::start(Manners {
        asks_every: Some(Duration::from_millis(500)),
        ..Manners::default()
    });
    let url = format!("whip+http://key@{}/show/whip", server.http);
    let program = Program::of(Audio::Opus, 64_000, Some(1_000_000));
    let tally = carry_out(&url, 2, Work::Publish(Source::Synthetic(program)));
    let seen = server.stop();
    let (members, reasons) = (tally.members, (&tally.failed, &tally.lost));
    assert_eq!((members.joined, members.alive), (2, 2), "{reasons:?}");
    let counts = &seen.findings.counts;
    let flaws = (counts.missing, counts.damaged, counts.unstamped);
    assert_eq!(flaws, (0, 0, 0), "{counts:?}");
    assert_eq!(counts.frames, tally.frames_sent, "{counts:?}");
    assert_eq!(seen.packets.frames_dropped, 0);
    assert!(seen.sender_reports >= 2 * 2 * 2, "{seen:?}");
    assert!(tally.packets.keyframes_asked >= 4, "{:?}", tally.packets);
    assert_eq!(tally.packets.nacked, tally.packets.repeated);
    assert!(tally.packets.repeated >= 4, "{:?}", tally.packets);
    assert_eq!(seen.goodbyes, 2);
}
