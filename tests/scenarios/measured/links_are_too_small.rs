//! Viewers whose links carry less than their stream: the audio is complete, the video comes back with the link, and a page
//! plays by another protocol meanwhile.

use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{Clip, Impaired, Impairment, Process, Server, Tool, pion_viewer};

use crate::support::browser::Browser;
use crate::support::player_page::{COUNT_SESSIONS, Played, plays_on};
use crate::support::{metric, publish_rtmp, wait_until};

/// Rates of the links in bit/s, for a stream of 1.3 Mb/s: a quarter of it, a little more than half, and nearly all.
const RATES: [u64; 4] = [300_000, 700_000, 800_000, 1_100_000];

/// Seconds that a viewer plays before its link gets small.
const PLAYED: usize = 5;

/// Seconds in which the server detects a small link, and seconds that are judged after that.
const FOUND_OUT: usize = 10;
const LISTENED: usize = 25;

/// Smallest share of audio frames that must arrive.
const AUDIO_FRAMES_MIN: f64 = 0.95;

/// Frames in a second that plays, of 30, on a busy machine too.
const PICTURES_MIN: u64 = 12;

/// Longest time in seconds until the video plays again: the longest pause, a probe and its report, and a keyframe.
const AGAIN_SECONDS_MAX: usize = 30;

fn small(rate: u64) -> Impairment {
    Impairment {
        delay: Duration::from_millis(10),
        rate: Some(rate),
        ..Impairment::NONE
    }
}

fn show() -> (Server, Process) {
    let server = Server::start();
    let film = Clip::FlvMegabit.seconds(180);
    let publisher = publish_rtmp(&server, &film, "live/show");
    (server, publisher)
}

/// Returns the seconds that the program has reported so far.
fn seconds(program: &Process) -> Vec<Value> {
    let reported = String::from_utf8(program.stdout()).unwrap();
    // The last line may not be whole.
    let whole = reported.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines = whole.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

fn sum(seconds: &[Value], key: &str) -> f64 {
    seconds
        .iter()
        .map(|second| second[key].as_f64().unwrap())
        .sum()
}

/// Options that control whether a viewer's reports reveal the round-trip time: programs on pion that read reports themselves
/// send such reports.
const TIMED: &str = "-timed";
const UNTIMED: &str = "-timed=false";

/// A viewer on a link of its own.
struct Viewer {
    rate: u64,
    proxy: Impaired,
    program: Process,
    /// The second from which on its audio is judged.
    from: usize,
}

impl Viewer {
    fn start(server: &Server, rate: u64, way: Impairment, from: usize, timed: &str) -> Self {
        let proxy = Impaired::udp(server.addr("webrtc"), Impairment::NONE, way);
        let program = Tool::built(&pion_viewer())
            .args(["watch", timed, "-via", &proxy.addr().to_string(), "150"])
            .arg(server.http_url("/live/show/whep"))
            .start();
        Self {
            rate,
            proxy,
            program,
            from,
        }
    }

    fn heard(&self) -> f64 {
        let heard = &seconds(&self.program)[self.from..self.from + LISTENED];
        sum(heard, "sounds") / sum(heard, "expected")
    }
}

#[test]
fn pion_hears_on_and_sees_again() {
    let (server, _publisher) = show();
    let from = PLAYED + FOUND_OUT;
    let mut squeezed: Vec<_> = RATES
        .iter()
        .map(|rate| Viewer::start(&server, *rate, Impairment::NONE, from, TIMED))
        .collect();
    squeezed.push(Viewer::start(
        &server,
        RATES[0],
        Impairment::NONE,
        from,
        UNTIMED,
    ));
    let joins = RATES.map(|rate| Viewer::start(&server, rate, small(rate), FOUND_OUT, TIMED));
    wait_until("five seconds", || {
        squeezed
            .iter()
            .all(|viewer| seconds(&viewer.program).len() >= PLAYED)
    });
    for viewer in &squeezed {
        viewer.proxy.impair(Impairment::NONE, small(viewer.rate));
    }
    let viewers: Vec<_> = joins.into_iter().chain(squeezed).collect();
    wait_until("forty seconds", || {
        viewers
            .iter()
            .all(|viewer| seconds(&viewer.program).len() >= viewer.from + LISTENED)
    });
    for viewer in &viewers {
        let share = viewer.heard();
        println!(
            "{} kb/s: {share:.3} of the sounds came",
            viewer.rate / 1_000
        );
    }
    for viewer in &viewers {
        assert!(
            viewer.heard() >= AUDIO_FRAMES_MIN,
            "{}: {:#?}",
            viewer.rate,
            seconds(&viewer.program)
        );
    }
    let held = metric(&server, "carillon_webrtc_held_pictures_total", "");
    assert!(held >= viewers.len() as f64, "{held}");
    let freed: Vec<_> = viewers
        .iter()
        .map(|viewer| {
            viewer.proxy.impair(Impairment::NONE, Impairment::NONE);
            seconds(&viewer.program).len()
        })
        .collect();
    let plays = |second: &Value| second["pictures"].as_u64() >= Some(PICTURES_MIN);
    let mut after = vec![0; viewers.len()];
    wait_until("the pictures", || {
        let again = viewers.iter().zip(&freed).map(|(viewer, freed)| {
            let reported = seconds(&viewer.program);
            let mut pairs = reported[*freed..].windows(2);
            pairs.position(|pair| pair.iter().all(plays))
        });
        let again: Option<Vec<_>> = again.collect();
        after = again.clone().unwrap_or_default();
        again.is_some()
    });
    println!("they play again {after:?} s after the links are free");
    // A link of nearly the stream's rate is used and given up again in turn, and may wait for two pauses: 36 s were measured,
    // which only the deadline above bounds.
    for (viewer, seconds) in viewers.iter().zip(&after) {
        let is_far_too_small = viewer.rate == RATES[0];
        assert!(
            !is_far_too_small || *seconds <= AGAIN_SECONDS_MAX,
            "{after:?}"
        );
    }
}

/// Script that leads the page's sessions through the proxy.
const VIA: &str = r"
    const original = RTCPeerConnection.prototype.setRemoteDescription;
    RTCPeerConnection.prototype.setRemoteDescription = function ({type, sdp}) {
        return original.call(this, {type, sdp: sdp
            .replace(/^a=candidate:.* tcp .*\r\n/gim, '')
            .replace(/^(a=candidate:\S+ \d+ udp \d+) \S+ \d+/gim, '$1 HOST PORT')});
    };
";

/// Longest time until a page plays by another protocol that is opened on a small link, or whose link gets small.
const ANOTHER_WAY_MAX: Duration = Duration::from_secs(10);

#[test]
fn a_page_plays_by_another_way_and_says_why() {
    let (server, _publisher) = show();
    let proxy = Impaired::udp(server.addr("webrtc"), Impairment::NONE, small(RATES[0]));
    let browser = Browser::open();
    let via = VIA
        .replace("HOST", &proxy.addr().ip().to_string())
        .replace("PORT", &proxy.addr().port().to_string());
    browser.before_each_page(COUNT_SESSIONS);
    browser.before_each_page(&via);
    for played in [false, true] {
        if played {
            proxy.impair(Impairment::NONE, Impairment::NONE);
        }
        let mut began = Instant::now();
        browser.go(&server.http_url("/live/show/"));
        if played {
            plays_on(&browser, "webrtc", true);
            proxy.impair(Impairment::NONE, small(RATES[0]));
            began = Instant::now();
        }
        let mut ways = Vec::new();
        wait_until("another way", || {
            let played = Played::of(&browser);
            ways.push(played.way.clone());
            played.state == "playing" && played.way != "webrtc" && played.frames > 0
        });
        let took = began.elapsed();
        println!("another way after {:.1} s", took.as_secs_f64());
        assert!(ways.iter().any(|way| way == "webrtc"), "{ways:?}");
        let played = Played::of(&browser);
        assert!(
            played.note.contains("WebRTC does not work now") && played.note.contains("no picture"),
            "{played:?}"
        );
        assert!(took <= ANOTHER_WAY_MAX, "{took:?}");
    }
}
