//! The player page's own controls, operated by buttons and keys, and by a page that embeds it.

use serde_json::json;
use testkit::Server;

use crate::support::browser::Browser;
use crate::support::pages::{
    command, embed, plays_by, says, shows_pictures, tells, text, wait_for,
};
use crate::support::wait_until;

/// Script that leaves requests for WebRTC sessions without a reply, as a proxy that swallows them does.
const SWALLOW_WHEP: &str = "const real = window.fetch; \
    window.fetch = (what, how) => how?.method === 'POST' ? new Promise(() => {}) : real(what, how);";

/// Presses a key with nothing focused.
fn press(browser: &Browser, key: &str) {
    browser.run(&format!(
        "document.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}})); return null;"
    ));
}

#[test]
fn a_way_that_brings_nothing_is_left_for_the_next() {
    let server = Server::builder().arg("--demo").start();
    let browser = Browser::open();
    browser.before_each_page(SWALLOW_WHEP);
    browser.go(&server.http_url("/demo/"));
    plays_by(&browser, "flv");
    shows_pictures(&browser);
    // The viewer did not choose WebRTC, so the page does not mention its absence.
    assert_eq!(text(&browser, "#note"), "");
    says(&browser, "s behind.");
}

#[test]
fn a_video_that_may_not_be_heard_unasked_plays_muted() {
    let server = Server::builder().arg("--demo").start();
    let browser = Browser::open_with(&["--autoplay-policy=document-user-activation-required"]);
    browser.go(&server.http_url("/demo/"));
    shows_pictures(&browser);
    wait_for(&browser, "silence", "document.querySelector('video').muted");
    wait_until("the way out of it", || {
        text(&browser, "#sound") == "Sound on"
    });
    browser.click("#sound");
    wait_for(&browser, "sound", "!document.querySelector('video').muted");
    wait_until("the button to go", || text(&browser, "#sound") == "");
    says(&browser, "Playing");
}

#[test]
fn keys_control_the_player() {
    let server = Server::builder().arg("--demo").start();
    let browser = Browser::open();
    browser.go(&server.http_url("/demo/?way=flv"));
    plays_by(&browser, "flv");
    let name = "document.getElementById('play').getAttribute('aria-label')";
    press(&browser, " ");
    says(&browser, "Paused.");
    wait_for(&browser, "the button's name", &format!("{name} === 'Play'"));
    press(&browser, " ");
    says(&browser, "Playing");
    wait_for(
        &browser,
        "the button's name",
        &format!("{name} === 'Pause'"),
    );
    press(&browser, "m");
    wait_for(&browser, "silence", "document.querySelector('video').muted");
    press(&browser, "m");
    wait_for(&browser, "sound", "!document.querySelector('video').muted");
    press(&browser, "ArrowDown");
    wait_for(
        &browser,
        "less volume",
        "Math.abs(document.querySelector('video').volume - 0.95) < 0.01",
    );
    // A key pressed in a list of choices belongs to the list.
    browser.run(
        "document.getElementById('protocol').dispatchEvent( \
         new KeyboardEvent('keydown', {key: 'm', bubbles: true})); return null;",
    );
    assert_eq!(
        browser.run("return document.querySelector('video').muted;"),
        false
    );
}

#[test]
fn an_embedding_page_controls_the_player() {
    let server = Server::builder().arg("--demo").start();
    let browser = Browser::open();
    // A page of another origin, because its host name differs, and without a policy of its own.
    let embedding = server.http_url("/_/style.css");
    browser.go(&embedding.replace("127.0.0.1", "localhost"));
    embed(&browser, &server.http_url("/demo/?embed=1&way=flv&muted=1"));
    tells(&browser, "state", &json!("playing"));
    tells(&browser, "muted", &json!(true));
    command(&browser, &json!({"carillon": 1, "command": "unmute"}));
    tells(&browser, "muted", &json!(false));
    let volume = json!({"carillon": 1, "command": "volume", "value": 0.5});
    command(&browser, &volume);
    tells(&browser, "volume", &json!(0.5));
    for nonsense in [
        json!({"carillon": 1, "command": "volume", "value": 7}),
        json!({"carillon": 2, "command": "pause"}),
        json!({"command": "pause"}),
        json!("pause"),
        json!(null),
    ] {
        command(&browser, &nonsense);
    }
    command(&browser, &json!({"carillon": 1, "command": "mute"}));
    tells(&browser, "muted", &json!(true));
    // Messages are handled in order, so the nonsense has been received and ignored.
    tells(&browser, "volume", &json!(0.5));
    tells(&browser, "state", &json!("playing"));
    command(&browser, &json!({"carillon": 1, "command": "pause"}));
    tells(&browser, "state", &json!("paused"));
    command(&browser, &json!({"carillon": 1, "command": "play"}));
    tells(&browser, "state", &json!("playing"));
}
