//! Delay that the server adds between a camera and a screen: a clock in the video ([`clock`](crate::support::clock)) is read
//! back where it is shown.

use testkit::{PUBLISH_KEY, Server};

use crate::support::browser::Browser;
use crate::support::clock::{Audio, CLOCK, STRAIGHT, encode_clock};
use crate::support::session::{begin, figures, prepare};
use crate::support::{wait_for_stream, wait_until};

/// Delay that the server may add. If the machine is so busy that the control, the same frames straight from one connection to
/// another, takes longer than this, the server may add as much again.
const ADDED_MS_MAX: f64 = 150.0;

/// Number of frames measured.
const SAMPLES: u64 = 120;

/// Script that publishes the clock to the server.
const THERE: &str = r"
    await publish('/live/clock/whip', 'KEY', clock_media, 'video/h264');
    window.is_published = true;
";

const WATCH: &str = "await watch('/live/clock/whep', null); window.relayed = read_clock(video);";

/// Returns the median of the last delays that a page read.
fn middle(browser: &Browser, name: &str) -> f64 {
    let mut read = Vec::new();
    wait_until("enough pictures", || {
        assert!(figures(browser).is_object());
        let delays = browser.run(&format!("return window.{name} ?? [];"));
        let delays = delays.as_array().unwrap();
        // The first frames are from before the connections had settled.
        read = delays
            .iter()
            .skip(60)
            .filter_map(|delay| delay.as_f64())
            .collect();
        read.len() as u64 >= SAMPLES
    });
    read.sort_by(f64::total_cmp);
    read[read.len() / 2]
}

#[test]
fn from_whip_to_whep() {
    let server = Server::start();
    let browser = Browser::open();
    prepare(&browser, &server);
    browser.run(CLOCK);
    begin(
        &browser,
        &format!("{STRAIGHT}{}", THERE.replace("KEY", PUBLISH_KEY)),
    );
    wait_for_stream(&server, "live/clock");
    begin(&browser, WATCH);
    let (relayed, straight) = (middle(&browser, "relayed"), middle(&browser, "straight"));
    println!("WHIP to WHEP: {relayed} ms; straight: {straight} ms");
    assert!(
        relayed - straight < ADDED_MS_MAX.max(straight),
        "{relayed} ms through the server, {straight} ms without it"
    );
}

/// The whole path counts here, encoder and decoder included, which run on the same machine.
#[test]
fn from_rtmp_to_whep() {
    let server = Server::start();
    let _encoder = encode_clock(&server.rtmp_url("live/clock", PUBLISH_KEY), Audio::None);
    wait_for_stream(&server, "live/clock");
    let browser = Browser::open();
    prepare(&browser, &server);
    browser.run(CLOCK);
    begin(&browser, &format!("{STRAIGHT}{WATCH}"));
    let (relayed, straight) = (middle(&browser, "relayed"), middle(&browser, "straight"));
    println!("RTMP to WHEP: {relayed} ms with encoder and decoder; straight: {straight} ms");
    assert!(
        relayed < ADDED_MS_MAX.max(2.0 * straight),
        "{relayed} ms through the server, {straight} ms from encoder to decoder without it"
    );
}
