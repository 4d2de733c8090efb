//! A publisher goes away: the player page reports that it waits, by every protocol, and plays by itself soon after the
//! publisher is back.

use std::time::Instant;

use testkit::{Clip, Process, Server};

use crate::support::browser::Browser;
use crate::support::player_page::Played;
use crate::support::windows::{Window, busy_ms, ms};
use crate::support::{publish_icecast, publish_rtmp, wait_until};

/// Longest time in milliseconds from the publisher's return to moving video, or audio.
const BACK_MS_MAX: f64 = 3_000.0;

const SHOW: &str = "live/show";
const RADIO: &str = "radio.mp3";
const PAGES: [(&str, &str); 5] = [
    (SHOW, "webrtc"),
    (SHOW, "flv"),
    (SHOW, "hls"),
    (RADIO, "http"),
    (RADIO, "flv"),
];

/// Number of returns, of which the median counts: a player may just have requested the playlist, or be about to.
const RETURNS: usize = 3;

/// Media that must have played since the return: seconds of audio, and frames.
const RESUMED: (f64, u64) = (0.3, 8);

fn publish(server: &Server) -> [Process; 2] {
    [
        publish_rtmp(server, &Clip::Flv.seconds(240), SHOW),
        publish_icecast(server, Clip::Mp3, 240, RADIO),
    ]
}

/// Counts the streams that are without their publisher.
fn away(server: &Server) -> usize {
    let streams = &server.api("streams")["streams"];
    let streams = streams.as_array().into_iter().flatten();
    streams
        .filter(|stream| stream["state"] == "lingering")
        .count()
}

#[test]
fn soon_after_the_publisher_is_back() {
    let server = Server::builder().set("ingest", "linger", "\"60s\"").start();
    let mut publishers = publish(&server);
    let browser = Browser::open();
    let busy = busy_ms(&browser, &server);
    let pages = PAGES.map(|(stream, way)| Window::open(&browser, &server, stream, way));
    let mut took = PAGES.map(|_| Vec::new());
    for _ in 0..RETURNS {
        for page in &pages {
            page.wait(&browser);
        }
        publishers.iter_mut().for_each(Process::kill);
        wait_until("the publishers to be away", || away(&server) == 2);
        let before = pages.each_ref().map(|page| waiting(&browser, page));
        publishers = publish(&server);
        wait_until("the publishers to be back", || away(&server) == 0);
        let once = resumed(&browser, &pages, &before);
        took.iter_mut()
            .zip(once)
            .for_each(|(all, one)| all.push(one));
    }
    for (page, all) in pages.iter().zip(&mut took) {
        let (stream, way) = (page.stream, page.way);
        println!("{stream} by {way}: plays so many ms after its publisher is back: {all:.0?}");
        all.sort_by(f64::total_cmp);
        let median = all[all.len() / 2];
        assert!(
            median <= BACK_MS_MAX + busy,
            "{stream} by {way}: {all:?} ms"
        );
    }
}

/// Waits until a page reports that it waits, and returns what it has played by then.
fn waiting(browser: &Browser, page: &Window) -> Played {
    let what = format!("{} by {} to say that it waits", page.stream, page.way);
    wait_until(&what, || {
        let status = page.played(browser).status;
        status == "Waiting for the broadcaster. Playback continues by itself."
    });
    page.played(browser)
}

/// Measures the time from now until each page plays again, in milliseconds.
fn resumed<const N: usize>(
    browser: &Browser,
    pages: &[Window; N],
    before: &[Played; N],
) -> [f64; N] {
    let back = Instant::now();
    let mut took = [None; N];
    wait_until("every page to play again", || {
        for (number, page) in pages.iter().enumerate() {
            let now = page.played(browser);
            let before = &before[number];
            let has_moved = now.seconds >= before.seconds + RESUMED.0
                || now.seconds < before.seconds && now.seconds >= RESUMED.0;
            let is_shown = page.stream == RADIO || now.frames.abs_diff(before.frames) >= RESUMED.1;
            if took[number].is_none() && now.is_by(page.way) && has_moved && is_shown {
                took[number] = Some(ms(back.elapsed()));
            }
        }
        took.iter().all(Option::is_some)
    });
    took.map(|took| took.unwrap())
}
