//! Pictures of the pages for the documentation. With `CARILLON_PICTURES=1` they are written to `docs/pictures`;
//! otherwise the test only makes them, so that the repository stays as it is.

use std::path::Path;

use testkit::{Clip, PUBLISH_KEY, Server, Tool, wait_until};

use crate::support::browser::Browser;
use crate::support::pages::{plays_by, says, shows_pictures};
use crate::support::{DEADLINE, publish_icecast, publish_rtmp, wait_for_stream};

/// Set to write the pictures.
const WRITE: &str = "CARILLON_PICTURES";

/// A picture's size in bytes at most, for the sake of those who clone the repository.
const BYTES_MAX: usize = 150 << 10;

const DESKTOP: (u32, u32) = (1000, 720);
const PHONE: (u32, u32) = (390, 844);

/// What the server is called in the pictures.
const HOST: &str = "radio.example.com";

/// The file's name, the page, the window, and the colours.
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
    for stream in ["radio.mp3", "live/show"] {
        wait_for_stream(&server, stream);
    }
    let title = "/admin/metadata?mode=updinfo&mount=/radio.mp3&song=Carillon+-+First+bells";
    let url = server.http_url(title);
    let url = url.replace("//", &format!("//source:{PUBLISH_KEY}@"));
    Tool::new("curl").args(["-sf", &url]).run(DEADLINE);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures");
    // Addresses are the same in every run: the server is known by a name, without its port.
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
                wait_until("the controls", DEADLINE, || browser.run(SHOWN) == true);
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

/// Width and height of a PNG, from its header (PNG specification, 11.2.2).
fn size(picture: &[u8]) -> (u32, u32) {
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n"), "no PNG");
    let number = |at: usize| {
        picture[at..at + 4]
            .iter()
            .fold(0, |sum, byte| sum << 8 | u32::from(*byte))
    };
    (number(16), number(20))
}
