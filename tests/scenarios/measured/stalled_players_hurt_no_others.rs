//! Fifty of a thousand RTMP players stop reading. The others notice nothing, and the server holds nothing on behalf of the
//! fifty.
//!
//! The test compares the resident memory of one server with the same thousand players, before and while fifty of them read
//! nothing. Before the first measurement the log has been filled once from end to end, so its pages are there already, and no
//! player joins or leaves in between: memory only grows by the bytes that the server keeps because players stall. The kernel's
//! own socket buffers are not the server's memory; `TCP_NOTSENT_LOWAT` keeps them small.

use std::time::Duration;

use testkit::{Audience, Clip, Server};

use crate::support::{metric, publish_rtmp, wait_until};

const PLAYERS: usize = 1_000;
const STALLED: usize = 50;
/// Longest window of a video lane: `fanout.video.max_wait`.
const WINDOW: Duration = Duration::from_millis(100);
/// Time between two frames of the clip.
const PACE: Duration = Duration::from_millis(40);
/// Delay that scheduling may add to the window, with the players on the same cores.
const SLACK: Duration = Duration::from_millis(100);
/// Lag at which a player is dropped: stalled ones stay during the measurement.
const DROP_AFTER: Duration = Duration::from_secs(20);
/// Bytes of memory that fifty players may cost by reading nothing.
const GROWTH_MAX: u64 = 1 << 20;

#[test]
fn fifty_of_a_thousand_stop_reading() {
    let server = Server::builder()
        .set(
            "fanout.video",
            "drop_after",
            &format!("\"{}s\"", DROP_AFTER.as_secs()),
        )
        .start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(120), "live/show");
    let audience = Audience::play(server.addr("rtmp"), "live/show", PLAYERS);
    wait_until("all players to have joined", || {
        metric(&server, "carillon_listeners", "protocol=rtmp") == PLAYERS as f64
    });
    // The log holds a little more than `drop_after`; it fills with time.
    std::thread::sleep(DROP_AFTER + DROP_AFTER / 4);
    assert_eq!(audience.alive(), PLAYERS);

    let before = server.resident_bytes();
    audience.stall(STALLED);
    audience.control(PACE);
    audience.watch();
    // Each second the server measures how far behind every listener is.
    let lagging = || {
        let metrics = server.metrics();
        let of = |series: &str| metrics.get(series).unwrap_or_default();
        of("carillon_listener_lag_seconds_count")
            - of("carillon_listener_lag_seconds_bucket{le=\"1.0\"}")
    };
    let lagged = lagging();
    wait_until("the stalled ones to be seen", || {
        lagging() >= lagged + STALLED as f64
    });
    // Half the time until they are dropped.
    std::thread::sleep(DROP_AFTER / 2);
    let grown = server.resident_bytes().saturating_sub(before);
    assert_eq!(server.metrics().sum("carillon_drops_total", &[]), 0.0);
    assert_eq!(audience.alive(), PLAYERS);
    let gaps = audience.longest_gaps();
    assert_eq!(gaps.listeners.len(), PLAYERS - STALLED);
    let longest = gaps.listeners.iter().max().unwrap();
    // A frame passes through three programs; the control's pieces pass through one.
    let busy = gaps.control.saturating_sub(PACE);
    assert!(
        *longest <= WINDOW + SLACK + 3 * busy,
        "a gap of {longest:?}; without a server one of {:?}",
        gaps.control
    );
    assert!(
        grown < GROWTH_MAX,
        "{grown} bytes for {STALLED} stalled players"
    );
}
