//! Time until a radio player plays audio, at bit rates at which a burst of seconds is few bytes, compared with icecast2.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use testkit::http::Listener;
use testkit::{Icecast, PUBLISH_KEY, Process, Server, Tool};

use crate::support::browser::Browser;
use crate::support::page_server::PageServer;
use crate::support::windows::{median_and_p90, ms};
use crate::support::{DEADLINE, wait_until};

/// Bit rates in kb/s, with the sample rates and channels that MP3 has there.
const RATES: [(u32, u32, u32); 3] = [(8, 8_000, 1), (32, 22_050, 1), (128, 44_100, 2)];

/// Bytes that a new listener receives at once.
const BURST_BYTES: usize = 64 << 10;

/// Seconds that the burst lasts at the lowest rate, and a little more: from then on both servers have a full burst.
const FULL_SECONDS: usize = 72;

/// Length of the clips in seconds: more than the scenario takes.
const SECONDS: u32 = 1_200;

const LOADS: usize = 5;

/// Milliseconds by which a player may begin later than with icecast2.
const LATER_MS_MAX: f64 = 300.0;

fn mount(rate: u32) -> String {
    format!("radio-{rate}.mp3")
}

fn publish(rate: (u32, u32, u32), url: &str) -> Process {
    let (bits, samples, channels) = rate;
    Tool::ffmpeg()
        .args(["-re", "-f", "lavfi", "-i"])
        .arg(format!("sine=f=440:d={SECONDS}:r=44100"))
        .args(["-c:a", "libmp3lame", "-b:a", &format!("{bits}k")])
        .args(["-ar", &samples.to_string(), "-ac", &channels.to_string()])
        .args(["-write_xing", "0", "-id3v2_version", "0"])
        .args(["-content_type", "audio/mpeg", "-f", "mp3", url])
        .start()
}

/// Measures the milliseconds until a page plays the mount. The page is on another server: a page without one may send no
/// requests to this machine.
fn in_chromium((browser, page): (&Browser, &str), addr: SocketAddr, mount: &str) -> f64 {
    browser.go(page);
    browser.run(&format!(
        "window.heard = null; const from = performance.now(); \
         window.radio = new Audio('http://{addr}/{mount}'); \
         radio.onerror = () => {{ window.failed = radio.error.message; }}; \
         radio.ontimeupdate = () => {{ if (radio.currentTime > 0) heard ??= performance.now() - from; }}; \
         radio.play();"
    ));
    let mut heard = None;
    wait_until(mount, || {
        let failed = browser.run("return window.failed ?? null;");
        assert!(failed.is_null(), "{addr}/{mount}: {failed}");
        heard = browser.run("return window.heard;").as_f64();
        heard.is_some()
    });
    browser.run("radio.src = ''; radio.load();");
    heard.expect("it was waited for")
}

/// Measures the milliseconds until mplayer plays the mount, from mplayer's start on.
fn in_mplayer(addr: SocketAddr, mount: &str) -> f64 {
    let start = Instant::now();
    let player = Tool::new("mplayer")
        .args(["-noconsolecontrols", "-nolirc", "-novideo", "-ao", "null"])
        .arg(format!("http://{addr}/{mount}"))
        .start();
    let mut took = Duration::ZERO;
    wait_until(mount, || {
        took = start.elapsed();
        player.stdout().windows(2).any(|part| part == b"A:")
    });
    ms(took)
}

#[test]
fn not_later_than_with_icecast_at_any_bit_rate() {
    let (icecast, server) = (Icecast::start(32), Server::start());
    let (theirs, ours) = (icecast.addr(), server.addr("http"));
    let mut sources = Vec::new();
    for rate in RATES {
        let mount = mount(rate.0);
        sources.push(publish(rate, &icecast.source_url(&mount)));
        sources.push(publish(rate, &server.icecast_url(&mount, PUBLISH_KEY)));
    }
    let lowest = format!("/{}", mount(RATES[0].0));
    for addr in [theirs, ours] {
        wait_until("the lowest rate", || {
            Listener::get(addr, &lowest).status() == 200
        });
    }
    let bytes = FULL_SECONDS * RATES[0].0 as usize * 1_000 / 8;
    for addr in [theirs, ours] {
        let mut listener = Listener::get(addr, &lowest);
        let patience = DEADLINE + Duration::from_secs(FULL_SECONDS as u64);
        assert!(listener.read_bytes(bytes, patience).len() >= bytes);
    }
    // The burst takes a minute to be made, and almost no time to be sent.
    let asked = Instant::now();
    let mut listener = Listener::get(ours, &lowest);
    assert!(listener.read_bytes(BURST_BYTES, DEADLINE).len() >= BURST_BYTES);
    assert!(asked.elapsed() < DEADLINE / 2, "{:?}", asked.elapsed());
    drop(listener);

    let browser = Browser::open();
    let page = b"<!DOCTYPE html><title>Radio</title>".to_vec();
    let pages = PageServer::start(vec![("radio.html", "text/html", page)]);
    let page = pages.url("radio.html");
    let mut late = Vec::new();
    for (rate, ..) in RATES {
        let mount = mount(rate);
        let chromium = |addr| in_chromium((&browser, &page), addr, &mount);
        let mplayer = |addr| in_mplayer(addr, &mount);
        let players: [(&str, &dyn Fn(SocketAddr) -> f64); 2] =
            [("Chromium", &chromium), ("mplayer", &mplayer)];
        for (player, begins) in players {
            // The two servers take turns, so that other work on the machine delays both.
            let loads: [[f64; 2]; LOADS] = std::array::from_fn(|_| [theirs, ours].map(begins));
            let [theirs, ours] = [0, 1].map(|server| {
                let mut loads = loads.map(|load| load[server]);
                median_and_p90(&mut loads).0
            });
            println!("{player}, {rate} kb/s: {ours:.0} ms, with icecast2 {theirs:.0} ms");
            if ours > theirs + LATER_MS_MAX {
                late.push(format!("{player}, {rate} kb/s: {ours} ms for {theirs} ms"));
            }
        }
    }
    assert!(late.is_empty(), "{late:?}");
}
