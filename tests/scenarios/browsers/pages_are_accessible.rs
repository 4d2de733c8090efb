//! axe-core reports no violation on any page, in light and in dark, on a desktop and on a phone.

use serde_json::{Value, json};
use testkit::{Clip, Server};

use crate::support::browser::Browser;
use crate::support::pages::says;
use crate::support::{publish_icecast, wait_until};

/// Each page, and the words that show that it is ready.
const PAGES: [(&str, Option<&str>); 9] = [
    ("/", None),
    ("/demo/", Some("Playing")),
    ("/demo/?embed=1", Some("Playing")),
    ("/embed/demo", Some("Playing")),
    ("/demo/?autoplay=0", Some("Ready. Press Play.")),
    ("/radio.mp3/", Some("Playing")),
    ("/away.mp3/", Some("Playback continues by itself.")),
    ("/absent/", Some("Not live.")),
    ("/live/cam/publish", Some("Ready.")),
];

/// Width and height of the window, and the preferred colour scheme.
pub(crate) const MODES: [((u32, u32), &str); 4] = [
    ((1280, 800), "light"),
    ((1280, 800), "dark"),
    ((390, 844), "light"),
    ((390, 844), "dark"),
];

#[test]
fn axe_finds_nothing_to_complain_of() {
    let server = Server::builder()
        .arg("--demo")
        .set("ingest", "linger", "\"600s\"")
        .start();
    let _radio = publish_icecast(&server, Clip::Mp3, 240, "radio.mp3");
    let mut away = publish_icecast(&server, Clip::Mp3, 240, "away.mp3");
    away.kill();
    wait_until("the publisher to be away", || {
        server.api("streams").to_string().contains("\"lingering\"")
    });
    let browser = Browser::open();
    let axe = testkit::axe();
    for (path, words) in PAGES {
        browser.go(&server.http_url(path));
        if let Some(words) = words {
            says(&browser, words);
        }
        browser.run(&axe);
        for ((width, height), colours) in MODES {
            browser.resize(width, height);
            // Controls that are fading out have less contrast for a moment.
            browser.prefer(&[
                ("prefers-color-scheme", colours),
                ("prefers-reduced-motion", "reduce"),
            ]);
            let found = judged(&browser);
            assert_eq!(found, json!([]), "{path}, {width}x{height}, {colours}");
        }
    }
}

/// Violations that axe-core reports: the rule, and the elements.
pub(crate) fn judged(browser: &Browser) -> Value {
    browser.run(
        "window.judged = null; \
         axe.run().then(all => { window.judged = all.violations; }); return null;",
    );
    let mut judged = Value::Null;
    wait_until("axe", || {
        judged = browser.run(
            "return window.judged?.map(one => [one.id, one.nodes.map(node => node.html)]) ?? null;",
        );
        !judged.is_null()
    });
    judged
}
