//! Screenshots of the pages for the documentation. With `CARILLON_PICTURES=1` the test writes them to `docs/pictures`;
//! otherwise it only takes them, so that the repository stays unchanged.

use std::path::Path;

use testkit::{Clip, Server};

use crate::support::browser::Browser;
use crate::support::pages::{plays_by, says, shows_pictures};
use crate::support::titles::set_title;
use crate::support::{publish_icecast, publish_rtmp, wait_until};

/// Environment variable that makes the test write the screenshots.
const WRITE: &str = "CARILLON_PICTURES";

/// Largest size of a screenshot in bytes, for the sake of those who clone the repository.
const BYTES_MAX: usize = 150 << 10;

const DESKTOP: (u32, u32) = (1000, 720);
const PHONE: (u32, u32) = (390, 844);

/// Host name of the server in the screenshots.
const HOST: &str = "radio.example.com";

/// Screenshots: file name, page, window, and colour scheme.
const PICTURES: [(&str, &str, (u32, u32), &str); 9] = [
    ("front-page", "/", DESKTOP, "light"),
    ("front-page-dark", "/", DESKTOP, "dark"),
    ("front-page-phone", "/", PHONE, "light"),
    ("player", "/demo/", DESKTOP, "light"),
    ("player-dark", "/demo/", DESKTOP, "dark"),
    ("player-phone", "/demo/", PHONE, "dark"),
    ("radio", "/radio.mp3/", DESKTOP, "light"),
    ("radio-dark", "/radio.mp3/", DESKTOP, "dark"),
    ("radio-phone", "/radio.mp3/", PHONE, "light"),
];

#[test]
fn for_the_documentation() {
    let server = Server::builder().arg("--demo").start();
    let _radio = publish_icecast(&server, Clip::Mp3, 240, "radio.mp3");
    let _show = publish_rtmp(&server, &Clip::Flv.seconds(240), "live/show");
    assert_eq!(set_title(&server, "song=Carillon+-+First+bells"), 200);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures");
    // Addresses are the same in every run: the server has a name, shown without its port.
    let name = format!(
        "--host-resolver-rules=MAP {HOST}:80 {}",
        server.addr("http")
    );
    let browser = Browser::open_with(&[&name, "--hide-scrollbars"]);
    for (name, path, (width, height), colours) in PICTURES {
        browser.resize(width, height);
        browser.prefer(&[("prefers-color-scheme", colours)]);
        browser.go(&format!("http://{HOST}{path}"));
        match path {
            "/demo/" => {
                plays_by(&browser, "webrtc");
                shows_pictures(&browser);
                // Controls fade when nothing moves, unless one of them has the focus.
                const SHOWN: &str = "document.getElementById('play').focus({focusVisible: false}); \
                    return getComputedStyle(document.getElementById('controls')).opacity === '1';";
                wait_until("the controls", || browser.run(SHOWN) == true);
            }
            "/radio.mp3/" => says(&browser, "Playing"),
            _ => {}
        }
        let picture = browser.picture();
        assert_eq!(size(&picture), (width, height), "{name}");
        assert!(
            picture.len() <= BYTES_MAX,
            "{name}: {} bytes",
            picture.len()
        );
        if std::env::var_os(WRITE).is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(format!("{name}.png")), &picture).unwrap();
        }
    }
}

/// Returns the width and height of a PNG, from its header (PNG specification, 11.2.2).
fn size(picture: &[u8]) -> (u32, u32) {
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n"), "no PNG");
    let number = |at: usize| {
        picture[at..at + 4]
            .iter()
            .fold(0, |sum, byte| sum << 8 | u32::from(*byte))
    };
    (number(16), number(20))
}
