//! Time from the request to the first frame over WHEP, when there is a keyframe to begin with. The share of the browser and of
//! a busy machine is measured by a session between two connections on the same page.

use testkit::{Clip, Server};

use crate::support::browser::Browser;
use crate::support::session::{begin, figures, prepare};
use crate::support::{publish_rtmp, wait_until};

/// Delay that the server may add. If the control takes longer than this, the server may add as much again.
const ADDED_MS_MAX: f64 = 500.0;

/// Number of sessions of each kind, one after the other.
const ROUNDS: usize = 5;

/// Session from this page to itself; `straight` is the time to its first frame.
const STRAIGHT: &str = r"
    const canvas = document.createElement('canvas');
    canvas.width = 640;
    canvas.height = 360;
    const context = canvas.getContext('2d');
    const painter = setInterval(() => {
        context.fillStyle = `hsl(${Date.now() % 360} 50% 50%)`;
        context.fillRect(0, 0, 640, 360);
    }, 1000 / 30);
    const media = canvas.captureStream(30);
    const video = document.createElement('video');
    video.muted = video.autoplay = true;
    document.body.append(video);
    const one = new RTCPeerConnection(), other = new RTCPeerConnection();
    one.onicecandidate = event => other.addIceCandidate(event.candidate);
    other.onicecandidate = event => one.addIceCandidate(event.candidate);
    const asked = performance.now();
    window.straight = null;
    video.requestVideoFrameCallback(() => {
        window.straight = performance.now() - asked;
        clearInterval(painter);
        [one, other].forEach(connection => connection.close());
        video.remove();
    });
    other.ontrack = event => { video.srcObject = new MediaStream([event.track]); };
    media.getTracks().forEach(track => one.addTrack(track, media));
    await one.setLocalDescription(await one.createOffer());
    await other.setRemoteDescription(one.localDescription);
    await other.setLocalDescription(await other.createAnswer());
    await one.setRemoteDescription(other.localDescription);
";

const WATCH: &str = "figures.firstFrame = null; await watch('/live/show/whep', null);";
const END: &str = "pc.close(); video.remove(); return null;";

#[test]
fn come_over_whep() {
    let server = Server::start();
    let _publisher = publish_rtmp(&server, &Clip::Flv.seconds(120), "live/show");
    let browser = Browser::open();
    prepare(&browser, &server);
    let (mut relayed, mut straight) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        begin(&browser, STRAIGHT);
        straight.push(wait_for(&browser, "window.straight"));
        begin(&browser, WATCH);
        relayed.push(wait_for(&browser, "figures.firstFrame"));
        browser.run(END);
    }
    let [relayed, straight] = [relayed, straight].map(|mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    });
    println!("first picture over WHEP: {relayed:.0} ms; straight: {straight:.0} ms");
    assert!(
        relayed - straight < ADDED_MS_MAX.max(straight),
        "{relayed} ms through the server, {straight} ms without it"
    );
}

/// Waits until the page has the number, and returns it.
fn wait_for(browser: &Browser, what: &str) -> f64 {
    let mut found = None;
    wait_until("a first picture", || {
        assert!(figures(browser).is_object());
        found = browser.run(&format!("return {what} ?? null;")).as_f64();
        found.is_some()
    });
    found.unwrap_or_default()
}
