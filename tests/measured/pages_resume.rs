//! A publisher goes away: the player page says that it waits, by every protocol, and plays by itself soon after the
//! publisher is back.

use std::time::Instant;

use testkit::{Clip, Process, Server, wait_until};

use crate::browser::Browser;
use crate::support::{DEADLINE, publish_icecast, publish_rtmp, wait_for_stream};
use crate::windows::{Window, busy_ms, ms};

/// From the publisher's return to moving pictures, or sound.
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

/// What must have played since the return: seconds of sound, and pictures.
const RESUMED: (f64, u64) = (0.3, 8);

fn publish(server: &Server) -> [Process; 2] {
    [
        publish_rtmp(server, &Clip::Flv.seconds(240), SHOW),
        publish_icecast(server, Clip::Mp3, 240, RADIO),
    ]
}

/// How many streams are without their publisher.
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
    for stream in [SHOW, RADIO] {
        wait_for_stream(&server, stream);
    }
    let browser = Browser::open();
    let busy = busy_ms(&browser, &server);
    let pages = PAGES.map(|(stream, way)| Window::open(&browser, &server, stream, way));
    for page in &pages {
        page.wait(&browser);
    }
    publishers.iter_mut().for_each(Process::kill);
    wait_until("the publishers to be away", DEADLINE, || away(&server) == 2);
    let mut before = Vec::new();
    for page in &pages {
        let what = format!("{} by {} to say that it waits", page.stream, page.way);
        wait_until(&what, DEADLINE, || {
            let status = page.played(&browser).status;
            status == "Waiting for the broadcaster. Playback continues by itself."
        });
        before.push(page.played(&browser));
    }
    let _publishers = publish(&server);
    wait_until("the publishers to be back", DEADLINE, || away(&server) == 0);
    let back = Instant::now();
    let mut took = [None; PAGES.len()];
    wait_until("every page to play again", DEADLINE, || {
        for (number, page) in pages.iter().enumerate() {
            let now = page.played(&browser);
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
    for (page, took) in pages.iter().zip(took.into_iter().flatten()) {
        println!(
            "{} by {}: plays {took:.0} ms after its publisher is back",
            page.stream, page.way
        );
    }
    for (page, took) in pages.iter().zip(took.into_iter().flatten()) {
        assert!(
            took <= BACK_MS_MAX + busy,
            "{} by {}: {took} ms",
            page.stream,
            page.way
        );
    }
}
