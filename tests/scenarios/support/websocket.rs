//! Listeners by WebSocket: their addresses, their number, and a check that a page plays what it receives.

use testkit::Server;

use crate::support::session::Driven;
use crate::support::{metric, wait_until};

pub(crate) const SHOW: &str = "live/show";

/// Arguments of Node for its own client, which answers pings and checks the handshake. The address follows.
pub(crate) const NODE_CLIENT: [&str; 3] = [
    "--no-warnings",
    "--experimental-websocket",
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/scenarios/support/websocket_client.mjs"
    ),
];

pub(crate) fn url(server: &Server, extension: &str) -> String {
    format!("ws://{}/{SHOW}{extension}", server.addr("http"))
}

/// Returns the number of the server's listeners by WebSocket.
pub(crate) fn listeners(server: &Server) -> f64 {
    metric(server, "carillon_listeners", "protocol=ws")
}

pub(crate) fn wait_for_listeners(server: &Server, count: usize) {
    wait_until("the listeners", || listeners(server) == count as f64);
}

/// Waits until the video of the page has played a stretch without an error.
pub(crate) fn plays_on(browser: &impl Driven, what: &str) {
    const LOOK: &str = "const video = document.querySelector('video'); \
        return [video.currentTime, video.getVideoPlaybackQuality().totalVideoFrames, window.said ?? ''];";
    let mut before: Option<(f64, u64)> = None;
    wait_until(what, || {
        let now = browser.run(LOOK);
        let (seconds, frames) = (now[0].as_f64().unwrap(), now[1].as_u64().unwrap());
        assert_eq!(now[2], "", "{what}");
        if frames == 0 {
            return false;
        }
        let (first_seconds, first_frames) = *before.get_or_insert((seconds, frames));
        seconds >= first_seconds + 1.5 && frames >= first_frames + 25
    });
}
