//! The server's own pages, and pages of others, show which streams are live: stills, search, frames, the custom element.

use serde_json::{Value, json};
use testkit::{Certificate, Clip, Server};

use crate::support::browser::Browser;
use crate::support::page_server::PageServer;
use crate::support::pages::{
    REPORTED_ONLY, command, embed, plays_by, says, shows_pictures, tells, wait_for,
};
use crate::support::publish_icecast;
use crate::support::titles::set_title;

/// Waits until the video of an element has more than one colour.
fn is_painted(browser: &Browser, selector: &str) {
    let painted = format!(
        "(() => {{ const video = document.querySelector('{selector}'); \
         if (!video || video.hidden || !video.videoWidth || video.readyState < 2) return false; \
         const paper = new OffscreenCanvas(64, 36).getContext('2d'); \
         paper.drawImage(video, 0, 0, 64, 36); \
         return new Set(new Uint32Array(paper.getImageData(0, 0, 64, 36).data.buffer)).size > 8; }})()"
    );
    wait_for(browser, &format!("a picture in {selector}"), &painted);
}

/// Types into the search as a person does.
fn search(browser: &Browser, words: &str) {
    browser.run(&format!(
        "const q = document.getElementById('q'); q.value = '{words}'; \
         q.dispatchEvent(new Event('input', {{bubbles: true}})); return null;"
    ));
}

/// Waits until the list has cards of these streams and no others.
fn lists(browser: &Browser, names: &[&str]) {
    let names = json!(names).to_string();
    let shown = format!(
        "JSON.stringify([...document.querySelectorAll('.card')].map(card => card.dataset.name)) \
         === JSON.stringify({names})"
    );
    wait_for(browser, &names, &shown);
}

#[test]
fn the_list_has_a_picture_of_each_stream_and_follows_what_happens() {
    let server = Server::builder().arg("--demo").start();
    let _radio = publish_icecast(&server, Clip::Mp3, 90, "radio.mp3");
    let browser = Browser::open();
    browser.go(&server.http_url("/"));
    lists(&browser, &["demo", "radio.mp3"]);
    is_painted(&browser, "[data-name=demo] video");
    wait_for(
        &browser,
        "a sign in place of a picture",
        "document.querySelector('[data-name=\"radio.mp3\"] video').hidden && \
         document.querySelector('[data-name=\"radio.mp3\"] svg').checkVisibility()",
    );
    browser.screenshot("list-light");

    search(&browser, "RADIO");
    lists(&browser, &["radio.mp3"]);
    wait_for(
        &browser,
        "the count",
        "document.getElementById('count').innerText === '1 of 2 streams'",
    );
    wait_for(&browser, "the address", "location.search === '?q=RADIO'");
    search(&browser, "nothing of this name");
    lists(&browser, &[]);
    wait_for(
        &browser,
        "words",
        "!document.getElementById('no-match').hidden",
    );
    search(&browser, "");
    lists(&browser, &["demo", "radio.mp3"]);

    // The page was not reloaded in between.
    browser.run("window.wasHere = true; document.querySelector('.card a').focus(); return null;");
    let mut other = publish_icecast(&server, Clip::Mp3, 90, "other.mp3");
    lists(&browser, &["demo", "other.mp3", "radio.mp3"]);
    other.kill();
    lists(&browser, &["demo", "radio.mp3"]);
    is_painted(&browser, "[data-name=demo] video");
    wait_for(
        &browser,
        "the focus where it was",
        "window.wasHere && document.activeElement === document.querySelector('[data-name=demo] a')",
    );

    for (name, scheme, (width, height)) in [
        ("list-dark", "dark", (1280, 800)),
        ("list-phone", "light", (390, 844)),
    ] {
        browser.prefer(&[("prefers-color-scheme", scheme)]);
        browser.resize(width, height);
        let is_wide = browser.run("return document.documentElement.scrollWidth > innerWidth;");
        assert_eq!(is_wide, false, "{name}");
        browser.screenshot(name);
    }
}

#[test]
fn a_player_that_was_not_asked_to_play_shows_the_newest_picture() {
    let server = Server::builder().arg("--demo").start();
    let browser = Browser::open();
    browser.go(&server.http_url("/demo/?autoplay=0&way=flv"));
    says(&browser, "Ready. Press Play.");
    is_painted(&browser, "#still");
    browser.screenshot("poster");
    browser.click("#start");
    plays_by(&browser, "flv");
    shows_pictures(&browser);
    wait_for(
        &browser,
        "the player's own picture",
        "document.getElementById('still').hidden && document.getElementById('start').hidden",
    );
}

#[test]
fn a_frame_plays_and_obeys_the_page_around_it() {
    let server = Server::builder().arg("--demo").start();
    let browser = Browser::open();
    // A page of another origin, because its host name differs, and without a policy of its own.
    let embedding = server.http_url("/_/style.css");
    browser.go(&embedding.replace("127.0.0.1", "localhost"));
    embed(&browser, &server.http_url("/embed/demo?muted=1"));
    tells(&browser, "state", &json!("playing"));
    tells(&browser, "way", &json!("webrtc"));
    command(&browser, &json!({"carillon": 1, "command": "pause"}));
    tells(&browser, "state", &json!("paused"));
    command(&browser, &json!({"carillon": 1, "command": "play"}));
    tells(&browser, "state", &json!("playing"));
    command(&browser, &json!({"carillon": 1, "command": "unmute"}));
    tells(&browser, "muted", &json!(false));
    browser.screenshot("frame");
}

/// Waits until the element's `state` property has this value.
fn element_says(browser: &Browser, state: &str) {
    wait_for(
        browser,
        state,
        &format!("player.state === '{state}' && told.at(-1).state === '{state}'"),
    );
}

#[test]
fn the_element_plays_on_a_page_of_another_origin() {
    let server = Server::builder().arg("--demo").start();
    let page = format!(
        "<!doctype html><title>Elsewhere</title><script src=\"{}\"></script>\n\
         <carillon-player id=\"player\" src=\"{}\" muted autoplay controls></carillon-player>\n\
         <script>const player = document.getElementById('player'), told = [];\n\
         player.addEventListener('state', event => told.push(event.detail));</script>",
        server.http_url("/carillon.js"),
        server.http_url("/demo?way=flv"),
    );
    let elsewhere = PageServer::start(vec![("page.html", "text/html", page.into_bytes())]);
    let browser = Browser::open();
    browser.go(&elsewhere.url("page.html"));
    element_says(&browser, "playing");
    wait_for(
        &browser,
        "silence",
        "player.muted && told.at(-1).way === 'flv'",
    );
    browser.screenshot("element");
    browser.run("player.pause(); return null;");
    element_says(&browser, "paused");
    // The frame ignores messages of another window.
    browser.run("postMessage({carillon: 1, event: 'state', state: 'forged'}, '*'); return null;");
    browser.run("player.play(); return null;");
    element_says(&browser, "playing");
    let forged = browser.run("return told.some(one => one.state === 'forged');");
    assert_eq!(forged, false);
    browser.run("player.removeAttribute('muted'); player.volume = 0.5; return null;");
    wait_for(&browser, "sound", "!player.muted && player.volume === 0.5");
    // Without permission to start, the frame waits for its page.
    browser
        .run("player.removeAttribute('autoplay'); player.setAttribute('muted', ''); return null;");
    element_says(&browser, "blocked");
    browser.run("player.play(); return null;");
    element_says(&browser, "playing");
}

#[test]
fn a_radio_shows_its_level_unless_movement_is_unwelcome_and_its_titles_picture() {
    let server = Server::start();
    let _radio = publish_icecast(&server, Clip::Mp3, 90, "radio.mp3");
    let cover = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40'>\
        <rect width='40' height='40' fill='teal'/></svg>";
    let files = PageServer::start(vec![("cover.png", "image/svg+xml", cover.into())]);
    let url = files.url("cover.png");
    assert_eq!(set_title(&server, &format!("song=Tower&url={url}")), 200);
    let browser = Browser::open();
    let page = server.http_url("/radio.mp3/");
    browser.go(&page);
    plays_by(&browser, "http");
    wait_for(
        &browser,
        "a level",
        "document.getElementById('meter').checkVisibility()",
    );
    wait_for(
        &browser,
        "the picture of the title",
        "document.getElementById('cover').naturalWidth === 40 && \
         document.getElementById('cover').checkVisibility()",
    );
    let reported = browser.run(
        "const {title, artwork} = navigator.mediaSession.metadata; return [title, artwork[0].src];",
    );
    assert_eq!(reported, Value::from(vec!["Tower".to_owned(), url]));
    browser.screenshot("radio-cover");
    browser.prefer(&[("prefers-reduced-motion", "reduce")]);
    browser.go(&page);
    plays_by(&browser, "http");
    let level = browser.run("return document.getElementById('meter').checkVisibility();");
    assert_eq!(level, false);
}

const COUNTS_EVENTS: &str = "const Native = window.EventSource; window.opened = 0; \
    window.EventSource = class extends Native { constructor(...rest) { super(...rest); window.opened += 1; } };";

#[test]
fn titles_come_to_the_page_as_they_change_and_otherwise_with_the_rest() {
    let certificate = Certificate::make();
    let server = certificate.serve_at(&["http"], Server::builder()).start();
    let _radio = publish_icecast(&server, Clip::Mp3, 300, "radio.mp3");
    let secure = format!("https://{}/radio.mp3/", server.addr("https"));
    let plain = server.http_url("/radio.mp3/");
    for (address, script, events) in [
        (&secure, REPORTED_ONLY, 1),
        (&secure, "delete window.EventSource;", 0),
        // Over HTTP/1.1 the connection would be taken from the streams of other tabs.
        (&plain, "", 0),
    ] {
        let browser = Browser::open_with(&["--ignore-certificate-errors"]);
        browser.before_each_page(&format!("{COUNTS_EVENTS} {script}"));
        browser.go(address);
        plays_by(&browser, "http");
        for title in ["One", "Two"] {
            let song = format!("song={title}&url=http://radio.example/{title}.png");
            assert_eq!(set_title(&server, &song), 200);
            let shown = format!(
                "document.getElementById('title').textContent === '{title}' && \
                 document.getElementById('cover').src.endsWith('/{title}.png')"
            );
            wait_for(&browser, &format!("{address}, {script}: {title}"), &shown);
        }
        assert_eq!(browser.run("return window.opened;"), events, "{script}");
    }
}
