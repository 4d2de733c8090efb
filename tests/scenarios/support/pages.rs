//! The player page as a person sees and uses it, and as a page around it does.

use serde_json::Value;

use crate::support::browser::Browser;
use crate::support::session::Driven;
use crate::support::wait_until;

/// Waits until the page shows these words.
pub(crate) fn says(browser: &Browser, words: &str) {
    let mut last = Value::Null;
    wait_until(words, || {
        last = text(browser, "#status");
        last.as_str().is_some_and(|text| text.contains(words))
    });
}

/// Waits until the page plays by this protocol.
pub(crate) fn plays_by(browser: &impl Driven, way: &str) {
    wait_until(&format!("the page to play by {way}"), || {
        let said = browser.run("return {...document.getElementById('player').dataset};");
        said["way"] == way && said["state"] == "playing"
    });
}

/// Chooses a protocol as a person does.
pub(crate) fn choose(browser: &impl Driven, way: &str) {
    browser.run(&format!(
        "const choice = document.getElementById('protocol'); choice.value = '{way}'; \
         choice.dispatchEvent(new Event('change')); return null;"
    ));
}

/// Returns the text of an element as a person sees it; empty when the element is hidden.
pub(crate) fn text(browser: &Browser, selector: &str) -> Value {
    browser.run(&format!(
        "const e = document.querySelector('{selector}'); return e.hidden ? '' : e.innerText;"
    ))
}

/// Waits until video frames are shown.
pub(crate) fn shows_pictures(browser: &Browser) {
    wait_until("pictures", || {
        let shown = browser.run(
            "const v = document.querySelector('video'); \
             return v.hidden ? 0 : v.getVideoPlaybackQuality().totalVideoFrames;",
        );
        shown.as_u64() > Some(20)
    });
}

pub(crate) fn wait_for(browser: &Browser, what: &str, expression: &str) {
    wait_until(what, || {
        browser.run(&format!("return {expression};")) == true
    });
}

/// Puts the player into a frame of the open page, and keeps its messages.
pub(crate) fn embed(browser: &Browser, address: &str) {
    browser.run(&format!(
        "window.told = []; \
         addEventListener('message', event => told.push(event.data)); \
         const frame = document.createElement('iframe'); \
         frame.src = '{address}'; frame.id = 'frame'; frame.allow = 'autoplay'; \
         document.body.append(frame); return null;"
    ));
}

pub(crate) fn command(browser: &Browser, message: &Value) {
    browser.run(&format!(
        "document.getElementById('frame').contentWindow.postMessage({message}, '*'); return null;"
    ));
}

/// Waits until the last message with this key from the player has this value.
pub(crate) fn tells(browser: &Browser, key: &str, value: &Value) {
    let mut last = Value::Null;
    wait_until(&format!("{key} to be {value}"), || {
        last = browser.run("return told.length ? told[told.length - 1] : null;");
        last["carillon"] == 1 && last["event"] == "state" && last[key] == *value
    });
}

/// Script that keeps the page from polling every ten seconds, and counts the connections for events.
pub(crate) const REPORTED_ONLY: &str = "const every = window.setInterval; \
    window.setInterval = (run, pause, ...rest) => pause === 10000 ? 0 : every(run, pause, ...rest);";
