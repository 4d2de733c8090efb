//! Delay of the video on a player page behind the camera, encoder and decoder included, over half a minute. A page that has
//! played for `CARILLON_WATCH_SECONDS`, and did not run dry in the last minute, is no further behind than one that has just
//! begun. A page that was frozen is soon back at the live edge.

use std::thread;
use std::time::{Duration, Instant};

use testkit::{PUBLISH_KEY, Process, Server};

use crate::support::browser::Browser;
use crate::support::clock::{Audio, CLOCK, encode_clock};
use crate::support::windows::{Window, busy_ms, median_and_p90, ms, numbers};
use crate::support::{seconds_of, wait_for_stream, wait_until};

const STREAM: &str = "live/clock";

/// Protocols, and the largest median delay of the video behind the camera, in milliseconds.
const LIMITS: [(&str, f64); 3] = [("webrtc", 300.0), ("flv", 800.0), ("hls", 2_000.0)];

/// Seconds in which frames are read.
const READ_SECONDS: u64 = 10;
/// Fewest frames read in each second; 30 are sent.
const PICTURES_MIN: f64 = 15.0;

/// Environment variable that sets the seconds that pages play before they are read again.
const WATCH: &str = "CARILLON_WATCH_SECONDS";
const WATCH_DEFAULT: u64 = 30;
/// Milliseconds by which the median of such a page may be later: a player settles within two frames of another one's delay. The
/// buffer that a browser has for WebRTC is left out: it finds its length by itself, in steps and over minutes.
const DRIFT_MS_MAX: f64 = 70.0;

/// Time after which a page that ran dry is back at its delay: it stays further behind for a minute, then plays faster.
const CALM: Duration = Duration::from_secs(75);

/// Time for which pages are frozen, and longest time in milliseconds until they are back.
const FROZEN: Duration = Duration::from_secs(20);
const BACK_MS_MAX: f64 = 5_000.0;
/// Milliseconds beyond its limit by which a page counts as live again: it settles within the seconds that follow.
const AT_LIVE_MORE_MS: f64 = 500.0;
/// Time that the pages play before they are read first.
const SETTLE: Duration = Duration::from_secs(10);
/// Number of frames that a page shows before it is frozen.
const BEFORE: usize = 60;

const READ: &str = "window.arrivals = []; window.dried = []; \
    const video = document.querySelector('video'); \
    video.addEventListener('waiting', () => { window.dried.push(performance.now()); }); \
    window.delays = read_clock(video, window.arrivals); return null;";
const FORGET: &str = "window.delays.length = window.arrivals.length = 0; return null;";

/// Server that shows the clock, and a browser to watch it in.
struct Scene {
    browser: Browser,
    _encoder: Process,
    server: Server,
    /// Milliseconds by which the busy machine delays frames.
    busy: f64,
}

impl Scene {
    fn start() -> Self {
        let server = Server::start();
        let encoder = encode_clock(&server.rtmp_url(STREAM, PUBLISH_KEY), Audio::Tone);
        wait_for_stream(&server, STREAM);
        let browser = Browser::open();
        let busy = busy_ms(&browser, &server);
        Self {
            browser,
            _encoder: encoder,
            server,
            busy,
        }
    }
}

/// Opens a page that plays, and reads the clock.
fn page(browser: &Browser, server: &Server, way: &'static str) -> Window {
    let page = Window::open(browser, server, STREAM, way);
    page.wait(browser);
    page.run(browser, &format!("{CLOCK}{READ}"));
    page
}

fn delays(browser: &Browser, page: &Window) -> Vec<f64> {
    numbers(&page.run(browser, "return window.delays;"))
}

/// Lets a page play until it is not further behind because it ran dry; returns how often it did.
fn calm(browser: &Browser, page: &Window) -> usize {
    let dried = || numbers(&page.run(browser, "return window.dried;"));
    let is_calm = format!(
        "return window.dried.every((at) => performance.now() - at > {});",
        CALM.as_millis()
    );
    let began = Instant::now();
    while page.run(browser, &is_calm) != true {
        let (way, dried) = (page.way, dried());
        assert!(
            began.elapsed() < 2 * CALM,
            "{way} runs dry again: {dried:?}"
        );
        thread::sleep(Duration::from_secs(1));
    }
    dried().len()
}

/// Median delays of frames behind the camera, in milliseconds.
#[derive(Clone, Copy)]
struct Behind {
    /// Delay until frames are shown.
    shown: f64,
    /// Delay until the browser has received frames, as far as it reports that.
    arrived: f64,
}

/// Reads the frames that are shown from now on.
fn read(browser: &Browser, page: &Window) -> Behind {
    page.run(browser, FORGET);
    thread::sleep(Duration::from_secs(READ_SECONDS));
    assert!(page.played(browser).is_by(page.way), "{}", page.way);
    let mut delays = delays(browser, page);
    let (way, count) = (page.way, delays.len());
    let least = PICTURES_MIN * READ_SECONDS as f64;
    assert!(count as f64 >= least, "{way}: {count} pictures");
    let (shown, p90) = median_and_p90(&mut delays);
    let mut arrivals = numbers(&page.run(browser, "return window.arrivals;"));
    let (arrived, _) = median_and_p90(&mut arrivals);
    println!(
        "{way}: {shown} ms behind the camera in the middle, {arrived:.0} ms in the browser, p90 {p90} ms, {count} pictures"
    );
    Behind { shown, arrived }
}

#[test]
fn as_far_behind_as_each_protocol_may_be() {
    let scene = Scene::start();
    let Scene {
        browser,
        server,
        busy,
        ..
    } = &scene;
    // The pages play one after another: three decoders at once are more than a small machine has time for.
    let found = LIMITS.map(|(way, limit)| {
        let page = page(browser, server, way);
        let shown = read(browser, &page).shown;
        browser.go("about:blank");
        (way, limit, shown)
    });
    for (way, limit, shown) in found {
        assert!(shown <= limit + busy, "{way}: {shown} ms, limit {limit} ms");
    }
}

#[test]
fn no_further_behind_after_a_while_by_webrtc() {
    no_further_behind(LIMITS[0]);
}

#[test]
fn no_further_behind_after_a_while_by_flv() {
    no_further_behind(LIMITS[1]);
}

#[test]
fn no_further_behind_after_a_while_by_hls() {
    no_further_behind(LIMITS[2]);
}

/// Compares a page that has played for a while with one that has just begun. They play one after another: on a small machine
/// another page that opens or decodes delays this one's frames.
fn no_further_behind((way, limit): (&'static str, f64)) {
    let seconds = seconds_of(WATCH, WATCH_DEFAULT);
    let scene = Scene::start();
    let Scene {
        browser,
        server,
        busy,
        ..
    } = &scene;
    let [last, fresh] = [Duration::from_secs(seconds), Duration::ZERO].map(|watched| {
        let page = page(browser, server, way);
        thread::sleep(SETTLE + watched);
        let dried = calm(browser, &page);
        println!("{way} after {watched:?}: ran dry {dried} times");
        let behind = read(browser, &page);
        page.leave(browser);
        behind
    });
    let Behind { shown, arrived } = last;
    assert!(shown <= limit + busy, "{way}: {shown} ms, limit {limit} ms");
    let most = fresh.arrived + DRIFT_MS_MAX + busy;
    assert!(
        arrived <= most,
        "{way}: {arrived} ms, limit {most} ms by one that has just begun"
    );
}

#[test]
fn soon_after_a_page_was_frozen() {
    let scene = Scene::start();
    let Scene {
        browser,
        server,
        busy,
        ..
    } = &scene;
    let pages = LIMITS.map(|(way, limit)| (page(browser, server, way), limit));
    for (page, _) in &pages {
        wait_until("pictures", || delays(browser, page).len() > BEFORE);
        page.set_frozen(browser, true);
    }
    thread::sleep(FROZEN);
    for (page, limit) in &pages {
        page.set_frozen(browser, false);
        let back = Instant::now();
        page.run(browser, FORGET);
        let latest = || delays(browser, page).last().copied();
        wait_until(&format!("{} to be at live", page.way), || {
            latest().is_some_and(|delay| delay <= limit + AT_LIVE_MORE_MS + busy)
        });
        let took = ms(back.elapsed());
        println!("{}: back at live after {took:.0} ms", page.way);
        assert!(took <= BACK_MS_MAX + busy, "{}: {took} ms", page.way);
        wait_until("the page to say so", || {
            page.played(browser).is_by(page.way)
        });
    }
}
