//! Several windows of one browser, each with a player page that plays by another protocol.

use std::time::Duration;

use serde_json::Value;
use testkit::Server;

use crate::support::browser::Browser;
use crate::support::clock::STRAIGHT;
use crate::support::player_page::Played;
use crate::support::session::{begin, figures, prepare};
use crate::support::wait_until;

/// Frames of the control before its connection has settled, and frames that are counted after that.
const CONTROL_PICTURES: (usize, usize) = (60, 60);
/// Delay of the control on an idle machine, in milliseconds.
const CONTROL_USUAL_MS: f64 = 100.0;

/// A window, and the protocol by which it plays.
pub(crate) struct Window {
    pub(crate) way: &'static str,
    pub(crate) stream: &'static str,
    name: String,
}

impl Window {
    /// Opens a window on a stream's page; does not wait for it to play.
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

    /// Runs a script in the window.
    pub(crate) fn run(&self, browser: &Browser, script: &str) -> Value {
        browser.turn_to(&self.name);
        browser.run(script)
    }

    /// Leaves the page, so that the window plays nothing any more.
    pub(crate) fn leave(self, browser: &Browser) {
        browser.turn_to(&self.name);
        browser.go("about:blank");
    }

    /// Freezes the window's page, or resumes it.
    pub(crate) fn set_frozen(&self, browser: &Browser, is_frozen: bool) {
        browser.turn_to(&self.name);
        browser.set_frozen(is_frozen);
    }

    pub(crate) fn played(&self, browser: &Browser) -> Played {
        browser.turn_to(&self.name);
        Played::of(browser)
    }

    /// Waits until the page plays.
    pub(crate) fn wait(&self, browser: &Browser) {
        let what = format!("{} to play by {}", self.stream, self.way);
        wait_until(&what, || self.played(browser).is_by(self.way));
    }
}

/// Measures the delay in milliseconds that a busy machine adds to everything: the age of a frame that goes from one connection
/// of a page to another, without a server, above its age on an idle machine. Call it in a browser's first window.
pub(crate) fn busy_ms(browser: &Browser, server: &Server) -> f64 {
    prepare(browser, server);
    browser.run(crate::support::clock::CLOCK);
    begin(browser, STRAIGHT);
    let (first, count) = CONTROL_PICTURES;
    let mut delays = Vec::new();
    wait_until("the control's pictures", || {
        assert!(figures(browser).is_object());
        delays = numbers(&browser.run("return window.straight ?? [];"));
        delays.len() >= first + count
    });
    browser.go("about:blank");
    let (straight, _) = median_and_p90(&mut delays[first..]);
    println!("control: {straight} ms from canvas to screen without a server");
    (straight - CONTROL_USUAL_MS).max(0.0)
}

/// Returns the numbers in a page's array.
pub(crate) fn numbers(array: &Value) -> Vec<f64> {
    let numbers = array.as_array().into_iter().flatten();
    numbers.filter_map(Value::as_f64).collect()
}

/// Returns the median of some figures, and their 90th percentile.
pub(crate) fn median_and_p90(figures: &mut [f64]) -> (f64, f64) {
    assert!(!figures.is_empty());
    figures.sort_by(f64::total_cmp);
    (figures[figures.len() / 2], figures[figures.len() * 9 / 10])
}

/// Returns a duration in milliseconds.
pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
