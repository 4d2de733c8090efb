//! Viewers whose links take less than their stream: the sound is whole, the picture comes back with the link, and a
//! page plays by another way meanwhile.

use std::time::Duration;

use serde_json::Value;
use testkit::{Clip, Impaired, Impairment, Process, Server, Tool, pion_viewer, wait_until};

use crate::support::browser::Browser;
use crate::support::player_page::Played;
use crate::support::{DEADLINE, publish_rtmp, wait_for_stream};

/// A quarter of what the stream has.
const SMALL: Impairment = Impairment {
    delay: Duration::from_millis(10),
    rate: Some(300_000),
    ..Impairment::NONE
};

/// The seconds that a viewer has to find out, and those that are looked at then.
const FOUND_OUT: usize = 10;
const LISTENED: usize = 20;

/// The share of sounds that must come.
const SOUNDS_MIN: f64 = 0.95;

/// Pictures in a second that plays, of 25, on a busy machine too.
const PICTURES_MIN: u64 = 12;

/// How long it may take until it plays again: the longest pause, a probe and its report, and a keyframe.
const AGAIN_SECONDS_MAX: usize = 30;

fn show() -> (Server, Process) {
    let server = Server::start();
    let film = Clip::FlvMegabit.seconds(180);
    let publisher = publish_rtmp(&server, &film, "live/show");
    wait_for_stream(&server, "live/show");
    (server, publisher)
}

/// The seconds that the program has told of so far.
fn seconds(program: &Process) -> Vec<Value> {
    let told = String::from_utf8(program.stdout()).unwrap();
    // The last line may not be whole.
    let whole = told.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines = whole.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

fn sum(seconds: &[Value], key: &str) -> f64 {
    seconds
        .iter()
        .map(|second| second[key].as_f64().unwrap())
        .sum()
}

#[test]
fn pion_hears_on_and_sees_again() {
    let (server, _publisher) = show();
    let proxy = Impaired::udp(server.addr("webrtc"), Impairment::NONE, SMALL);
    let program = Tool::built(&pion_viewer())
        .args(["watch", "-via", &proxy.addr().to_string(), "150"])
        .arg(server.http_url("/live/show/whep"))
        .start();
    wait_until("thirty seconds", DEADLINE, || {
        seconds(&program).len() >= FOUND_OUT + LISTENED
    });
    let heard = &seconds(&program)[FOUND_OUT..];
    let share = sum(heard, "sounds") / sum(heard, "expected");
    println!("{share:.3} of {} sounds came", sum(heard, "expected"));
    assert!(share >= SOUNDS_MIN, "{share}: {heard:?}");
    let held = server
        .metrics()
        .sum("carillon_webrtc_held_pictures_total", &[]);
    assert!(held >= 1.0, "{held}");
    proxy.impair(Impairment::NONE, Impairment::NONE);
    let freed = seconds(&program).len();
    let plays = |second: &Value| second["pictures"].as_u64() >= Some(PICTURES_MIN);
    let mut after = 0;
    wait_until("the picture", DEADLINE, || {
        let told = seconds(&program);
        let mut pairs = told[freed..].windows(2);
        let again = pairs.position(|pair| pair.iter().all(plays));
        after = again.unwrap_or_default();
        again.is_some()
    });
    println!("it plays again {after} s after the link is free");
    assert!(after <= AGAIN_SECONDS_MAX, "{after} s");
}

/// The page's sessions go through the proxy.
const VIA: &str = r"
    const original = RTCPeerConnection.prototype.setRemoteDescription;
    RTCPeerConnection.prototype.setRemoteDescription = function ({type, sdp}) {
        return original.call(this, {type, sdp: sdp
            .replace(/^a=candidate:.* tcp .*\r\n/gim, '')
            .replace(/^(a=candidate:\S+ \d+ udp \d+) \S+ \d+/gim, '$1 HOST PORT')});
    };
";

#[test]
fn a_page_plays_by_another_way_and_says_why() {
    let (server, _publisher) = show();
    let proxy = Impaired::udp(server.addr("webrtc"), Impairment::NONE, SMALL);
    let browser = Browser::open();
    let via = VIA
        .replace("HOST", &proxy.addr().ip().to_string())
        .replace("PORT", &proxy.addr().port().to_string());
    browser.before_each_page(&via);
    browser.go(&server.http_url("/live/show/"));
    let mut ways = Vec::new();
    wait_until("another way", DEADLINE, || {
        let played = Played::of(&browser);
        ways.push(played.way.clone());
        played.state == "playing" && played.way != "webrtc" && played.frames > 0
    });
    assert!(ways.iter().any(|way| way == "webrtc"), "{ways:?}");
    let played = Played::of(&browser);
    assert!(
        played.note.contains("WebRTC does not work now") && played.note.contains("no picture"),
        "{played:?}"
    );
}
