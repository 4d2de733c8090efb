//! Operators find, play, pin and delete recordings on a page of the admin port, and choose there what is recorded.

use serde_json::json;
use testkit::{Clip, Server};

use crate::browsers::pages_are_accessible::{MODES, judged};
use crate::support::browser::Browser;
use crate::support::recorded::{recording_into, recordings, wait_for_seconds};
use crate::support::{publish_rtmp, wait_until};

const STREAM: &str = "live/show";

fn server(root: &std::path::Path) -> Server {
    recording_into(root)
        .set("ingest", "linger", "\"1s\"")
        .toml("[[record]]\nmatch = \"live/*\"\n")
        .start()
}

fn open(server: &Server, browser: &Browser) {
    browser.go(&format!("http://{}/recordings", server.addr("admin")));
}

/// Waits until a script returns true.
fn until(browser: &Browser, what: &str, script: &str) {
    wait_until(what, || browser.run(script) == true);
}

/// Reads the text of the table's cells, row by row, without the buttons.
fn rows(browser: &Browser) -> Vec<Vec<String>> {
    let reported = browser.run(
        "return [...document.querySelectorAll('#rows tr')].map(row => \
             [...row.children].slice(0, 6).map(cell => cell.textContent));",
    );
    serde_json::from_value(reported).expect("texts")
}

/// Focuses a button by the beginning of its label, and presses Enter on it, as a keyboard does.
fn press(browser: &Browser, within: &str, label: &str) {
    let focus = format!(
        "const all = [...document.querySelectorAll('{within} button')]; \
         const found = all.find(one => (one.getAttribute('aria-label') ?? one.textContent).startsWith('{label}')); \
         found?.focus(); return Boolean(found) && document.activeElement === found;"
    );
    until(browser, label, &focus);
    key(browser, "Enter", "\r");
}

fn key(browser: &Browser, name: &str, text: &str) {
    let code = if name == "Enter" { 13 } else { 27 };
    for kind in ["keyDown", "keyUp"] {
        let event = json!({
            "type": kind, "key": name, "code": name, "windowsVirtualKeyCode": code, "text": text,
        });
        let _ = browser.devtools("Input.dispatchKeyEvent", &event);
    }
}

#[test]
fn an_operator_manages_recordings_with_the_keyboard() {
    let root = tempfile::tempdir().unwrap();
    let server = server(root.path());
    let mut publisher = publish_rtmp(&server, &Clip::Flv.seconds(120), STREAM);
    wait_for_seconds(&server, 4.0);
    let browser = Browser::open();
    open(&server, &browser);
    wait_until("the recording", || {
        rows(&browser)
            .first()
            .is_some_and(|row| row[0] == STREAM && row[4] == "being recorded")
    });
    press(&browser, "#on-air", "Split");
    wait_until("a second recording, above the first", || {
        let all = rows(&browser);
        all.len() == 2 && all[0][4] == "being recorded" && all[1][4] == "complete"
    });
    press(&browser, "#on-air", "Stop recording");
    wait_until("nothing to be recorded", || {
        rows(&browser).iter().all(|row| row[4] == "complete")
    });
    press(&browser, "#on-air", "Record");
    wait_until("a third recording", || rows(&browser).len() == 3);
    publisher.kill();
    wait_until("all to be complete", || {
        rows(&browser).iter().all(|row| row[4] == "complete")
    });
    until(
        &browser,
        "no stream",
        "return !document.getElementById('nothing-on-air').hidden;",
    );
    // Recordings are listed newest first, and filtered by state and by stream.
    let all = recordings(&server);
    let began: Vec<_> = all.iter().map(|one| one["started"].as_str()).collect();
    assert!(began.is_sorted() && rows(&browser).len() == 3);
    let filtered = |field: &str, value: &str, count: usize| {
        browser.run(&format!(
            "const field = document.getElementById('{field}'); field.value = '{value}'; \
             field.dispatchEvent(new Event('change')); return null;"
        ));
        wait_until(&format!("{count} by {field}"), || {
            rows(&browser).len() == count
        });
    };
    filtered("state", "open", 0);
    until(
        &browser,
        "that nothing matches",
        "return !document.getElementById('empty').hidden;",
    );
    filtered("state", "", 3);
    filtered("stream", "live/other", 0);
    filtered("stream", "", 3);
    filtered("from", "2100-01-01T00:00", 0);
    filtered("from", "2001-01-01T00:00", 3);
    // A recording plays.
    press(&browser, "#rows", "Play");
    until(
        &browser,
        "it to play",
        "return document.getElementById('past').currentTime > 0.5;",
    );
    // The recording is pinned; the focus stays on the button that was pressed.
    press(&browser, "#rows", "Pin");
    wait_until("a pin", || {
        rows(&browser)[0][4] == "complete, pinned" && recordings(&server)[2]["pinned"] == true
    });
    until(
        &browser,
        "the focus",
        "return document.activeElement.textContent === 'Unpin';",
    );
    press(&browser, "#rows", "Unpin");
    wait_until("no pin", || rows(&browser)[0][4] == "complete");
    // Nothing is deleted before the operator confirms it.
    let is_asked = "const dialog = document.getElementById('confirm'); \
                    return dialog.open && document.activeElement.id === 'keep';";
    press(&browser, "#rows", "Delete");
    until(&browser, "the question", is_asked);
    browser.run(&testkit::axe());
    assert_eq!(judged(&browser), json!([]), "the question");
    key(&browser, "Escape", "");
    until(
        &browser,
        "no question",
        "return !document.getElementById('confirm').open;",
    );
    press(&browser, "#rows", "Delete");
    until(&browser, "the question", is_asked);
    press(&browser, "#confirm", "Keep");
    until(
        &browser,
        "no question",
        "return !document.getElementById('confirm').open;",
    );
    assert_eq!(recordings(&server).len(), 3);
    press(&browser, "#rows", "Delete");
    until(&browser, "the question", is_asked);
    press(&browser, "#confirm", "Delete");
    wait_until("two recordings", || {
        rows(&browser).len() == 2 && recordings(&server).len() == 2
    });
    for ((width, height), colours) in MODES {
        browser.resize(width, height);
        browser.prefer(&[("prefers-color-scheme", colours)]);
        assert_eq!(judged(&browser), json!([]), "{width}x{height}, {colours}");
    }
}
