//! FLV and MP4 in the messages of a WebSocket: for mpegts.js, for pages with a decoder of their own, and for programs, by `ws`
//! and `wss`, with the same permissions, accounting and rules as listeners over HTTP.

use testkit::{Clip, PUBLISH_KEY, Server, Tool};

use crate::support::browser::Browser;
use crate::support::page_server::PageServer;
use crate::support::websocket::{SHOW, listeners, plays_on, url, wait_for_listeners};
use crate::support::{metric, repeat_rtmp, wait_for_stream, wait_until};

/// mpegts.js as players use it: the address alone makes mpegts.js load by WebSocket.
#[test]
fn mpegts_js_plays_flv() {
    let server = Server::start();
    let _show = repeat_rtmp(&server, Clip::Flv, SHOW);
    let library = server.get("/_/mpegts.js");
    assert_eq!(library.status, 200);
    let page = format!(
        "<!doctype html><video muted autoplay></video><script src=mpegts.js></script><script>
            const player = mpegts.createPlayer({{type: 'flv', isLive: true, url: '{}'}});
            player.on(mpegts.Events.ERROR, (...what) => {{ window.said = String(what); }});
            player.attachMediaElement(document.querySelector('video'));
            player.load();
        </script>",
        url(&server, ".flv")
    );
    let pages = PageServer::start(vec![
        ("page.html", "text/html", page.into_bytes()),
        ("mpegts.js", "text/javascript", library.body),
    ]);
    let browser = Browser::open();
    browser.go(&pages.url("page.html"));
    plays_on(&browser, "mpegts.js");
    assert_eq!(listeners(&server), 1.0);
    browser.go("about:blank");
    wait_for_listeners(&server, 0);
}

#[test]
fn slow_clients_are_moved_forward_and_stalled_ones_dropped() {
    let server = Server::builder()
        .set("fanout.video", "skip_after", "\"1s\"")
        .set("fanout.video", "drop_after", "\"4s\"")
        .start();
    let _publisher = Tool::carillon()
        .args(["load", "publish", &server.rtmp_url(SHOW, PUBLISH_KEY)])
        .args("--video-rate 4M --audio-rate 96k --duration 5m".split(' '))
        .start();
    wait_for_stream(&server, SHOW);
    let _load = Tool::carillon()
        .args(["load", "listen", &url(&server, ".flv"), "--json"])
        .args(["--listeners", "8", "--ramp", "100/s", "--duration", "2m"])
        .args(["--stalled", "25%", "--slow", "25%:3M", "--check", "4"])
        .start();
    wait_for_listeners(&server, 8);
    wait_until("stalled clients to be dropped", || {
        metric(&server, "carillon_drops_total", "reason=lag") >= 2.0
    });
    wait_until("slow clients to be moved forward", || {
        server.metrics().sum("carillon_skips_total", &[]) > 0.0
    });
    assert!(listeners(&server) >= 4.0, "those that read stay");
}
