//! Several windows of one browser, each with a player page that plays by another protocol.

use std::time::Duration;

use serde_json::Value;
use testkit::{Server, wait_until};

use crate::support::DEADLINE;
use crate::support::browser::Browser;
use crate::support::clock::STRAIGHT;
use crate::support::player_page::Played;
use crate::support::session::{begin, figures, prepare};

/// Pictures of the control that are counted, and those before them, while its connection settles.
const CONTROL_PICTURES: (usize, usize) = (60, 60);
/// What the control takes on an idle machine, in milliseconds.
const CONTROL_USUAL_MS: f64 = 100.0;

/// A window, and the protocol by which it plays.
pub(crate) struct Window {
    pub(crate) way: &'static str,
    pub(crate) stream: &'static str,
    name: String,
}

impl Window {
    /// Opens a window on a stream's page. Does not wait for it to play.
    pub(crate) fn open(
        browser: &Browser,
        server: &Server,
        stream: &'static str,
        way: &'static str,
    ) -> Self {
        let name = browser.open_window();
        browser.go(&server.http_url(&format!("/{stream}/?way={way}")));
        Self { way, stream, name }
    }

    /// Runs a script in it.
    pub(crate) fn run(&self, browser: &Browser, script: &str) -> Value {
        browser.turn_to(&self.name);
        browser.run(script)
    }

    /// Has it play nothing any more.
    pub(crate) fn leave(self, browser: &Browser) {
        browser.turn_to(&self.name);
        browser.go("about:blank");
    }

    /// Freezes its page, or lets it go on.
    pub(crate) fn set_frozen(&self, browser: &Browser, is_frozen: bool) {
        browser.turn_to(&self.name);
        browser.set_frozen(is_frozen);
    }

    pub(crate) fn played(&self, browser: &Browser) -> Played {
        browser.turn_to(&self.name);
        Played::of(browser)
    }

    /// Waits until it plays.
    pub(crate) fn wait(&self, browser: &Browser) {
        let what = format!("{} to play by {}", self.stream, self.way);
        wait_until(&what, DEADLINE, || self.played(browser).is_by(self.way));
    }
}

/// By how much a busy machine makes everything later, in milliseconds: the age of a picture that goes from one
/// connection of a page to another, without a server, above what it is on an idle machine. It is to be called in a
/// browser's first window.
pub(crate) fn busy_ms(browser: &Browser, server: &Server) -> f64 {
    prepare(browser, server);
    browser.run(crate::support::clock::CLOCK);
    begin(browser, STRAIGHT);
    let (first, count) = CONTROL_PICTURES;
    let mut delays = Vec::new();
    wait_until("the control's pictures", DEADLINE, || {
        assert!(figures(browser).is_object());
        delays = numbers(&browser.run("return window.straight ?? [];"));
        delays.len() >= first + count
    });
    browser.go("about:blank");
    let (straight, _) = median_and_p90(&mut delays[first..]);
    println!("control: {straight} ms from canvas to screen without a server");
    (straight - CONTROL_USUAL_MS).max(0.0)
}

/// The numbers in a page's array.
pub(crate) fn numbers(array: &Value) -> Vec<f64> {
    let numbers = array.as_array().into_iter().flatten();
    numbers.filter_map(Value::as_f64).collect()
}

/// The middle of some figures, and what nine in ten of them stay below.
pub(crate) fn median_and_p90(figures: &mut [f64]) -> (f64, f64) {
    assert!(!figures.is_empty());
    figures.sort_by(f64::total_cmp);
    (figures[figures.len() / 2], figures[figures.len() * 9 / 10])
}

/// A duration in milliseconds.
pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
