//! The usual WHEP players for one's own pages, in Chromium: each plays audio and video, and none of its requests is refused.

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::{Clip, Server};

use crate::support::browser::Browser;
use crate::support::page_server::PageServer;
use crate::support::player_page::COUNT_SESSIONS;
use crate::support::{metric, publish_rtmp, wait_until};
use crate::webrtc::players_of_other_makes_watch::tools;

/// Name in the page, script there, and path of the script in its package.
const PLAYERS: [(&str, &str, &str); 3] = [
    ("whip-whep", "whip-whep.js", "whip-whep/whep.js"),
    ("binbat", "binbat.js", "@binbat/whip-whep/whep.js"),
    (
        "eyevinn",
        "eyevinn.js",
        "@eyevinn/webrtc-player/dist/main.js",
    ),
];

const FRAMES: u64 = 40;

#[test]
fn each_plays_as_it_is() {
    let server = Server::start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(120), "live/show");
    let packages = tools().join("whep/node_modules");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/whep/player.html");
    let script = |path: &str| {
        let path = packages.join(path);
        fs::read(&path)
            .unwrap_or_else(|error| panic!("{}: {error}; cargo xtask tools-all", path.display()))
    };
    let mut files = vec![
        ("player.html", "text/html", fs::read(page).unwrap()),
        ("events.js", "text/javascript", script("events/events.js")),
    ];
    files.extend(PLAYERS.map(|(_, name, path)| (name, "text/javascript", script(path))));
    let pages = PageServer::start(files);
    let browser = Browser::open();
    browser.before_each_page(COUNT_SESSIONS);
    for (player, ..) in PLAYERS {
        let url = server.http_url("/live/show/whep");
        browser.go(&pages.url(&format!("player.html?player={player}&url={url}")));
        let mut seen = Value::Null;
        wait_until(&format!("{player} to play"), || {
            seen = browser.run("return {...window.sessions, failure: window.failure};");
            assert!(seen["failure"].is_null(), "{player}: {seen}");
            seen["frames"].as_u64() >= Some(FRAMES) && seen["sound"].as_u64() > Some(0)
        });
    }
    let refused = metric(&server, "carillon_webrtc_requests_refused_total", "");
    assert_eq!(refused, 0.0, "{}", server.log());
}
