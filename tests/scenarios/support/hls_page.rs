//! Page in Chromium that plays HLS by a library.

use serde_json::Value;
use testkit::hls_clients;

use crate::support::browser::Browser;
use crate::support::page_server::PageServer;
use crate::support::shows::Show;
use crate::support::wait_until;

/// Fewest frames that a player has shown when it has played.
pub(crate) const FRAMES: u64 = 40;

/// A player in a page of Chromium.
pub(crate) struct ChromiumPlayer {
    player: &'static str,
    pages: PageServer,
    pub(crate) browser: Browser,
}

impl ChromiumPlayer {
    pub(crate) fn hls_js() -> Self {
        Self::open("hls.js", "hls.js", "hls.js/dist/hls.min.js")
    }

    pub(crate) fn open(player: &'static str, script: &'static str, library: &str) -> Self {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/hls/player.html");
        let library = hls_clients().join("node_modules").join(library);
        let pages = PageServer::start(vec![
            ("player.html", "text/html", std::fs::read(page).unwrap()),
            (script, "text/javascript", std::fs::read(library).unwrap()),
        ]);
        let browser = Browser::open();
        Self {
            player,
            pages,
            browser,
        }
    }

    pub(crate) fn go(&self, url: &str) {
        let Self { player, pages, .. } = self;
        self.browser
            .go(&pages.url(&format!("player.html?player={player}&url={url}")));
    }

    pub(crate) fn look(&self) -> Value {
        self.browser.run("return window.seen();")
    }

    /// Waits until the player has played for this many seconds, and asserts that nothing fails meanwhile.
    pub(crate) fn wait_until_played(&self, show: &Show, seconds: f64) {
        let (player, stream) = (self.player, show.stream);
        let mut seen = Value::Null;
        wait_until(&format!("{player} to play {stream}"), || {
            seen = self.look();
            assert!(seen["failure"].is_null(), "{player}, {stream}: {seen}");
            let has_pictures = seen["frames"].as_u64() > Some(FRAMES);
            seen["played"].as_f64() > Some(seconds)
                && seen["sound"].as_u64() > Some(0)
                && (has_pictures || show.picture.is_none())
        });
        let has_width = seen["width"].as_u64() > Some(0);
        assert_eq!(has_width, show.picture.is_some(), "{stream}: {seen}");
    }
}
