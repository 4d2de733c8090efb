//! Age of a frame on arrival, for a few listeners.

use std::time::Duration;

use testkit::{PUBLISH_KEY, Server};

use crate::audience::ListenPlan;
use crate::bench::Bench;
use crate::contest::{BEFORE, Way, serve, serve_build};
use crate::figure::{Against, Target, Unit};
use crate::source;

const LISTENERS: u64 = 10;
/// Maximum delay in seconds.
const DELAY_MAX: f64 = 0.005;
/// Maximum delay relative to another build. Two runs of one build are a fifth apart.
const RATIO_MAX: f64 = 1.2;
/// Interval of keyframes. The first frames that a WebRTC viewer receives are as old as the newest keyframe. With this interval,
/// fewer than one in a hundred frames is from before the viewer came.
const KEYFRAME_INTERVAL: &str = "1s";
const VIEW_WINDOW: Duration = Duration::from_secs(40);
const VIEWED: &str = "live/viewed";
const SETTINGS: &[(&str, &str, &str)] = &[("webrtc", "listen", "\"127.0.0.1:0\"")];

/// Returns the addresses at which a stream is published and listened to on a server.
type Place = fn(&Server) -> (String, String);

pub(crate) fn delay(bench: &mut Bench) {
    let show = ["--audio-rate", "96k", "--video-rate", "1000k"].map(str::to_owned);
    let viewed = [
        &show[..],
        &[
            "--keyframe-interval".to_owned(),
            KEYFRAME_INTERVAL.to_owned(),
        ],
    ];
    let radio: Place = |server| way(Way::Mount("radio.mp3"), server);
    let player: Place = |server| way(Way::Rtmp, server);
    let window = bench.window();
    for (what, place, media, window) in [
        (
            "delay p99, MP3 over HTTP",
            radio,
            super::mp3_media(),
            window,
        ),
        ("delay p99, A/V over RTMP", player, show.to_vec(), window),
        (
            "delay p99, A/V over WebRTC",
            viewer,
            viewed.concat(),
            window.max(VIEW_WINDOW),
        ),
    ] {
        let plan = ListenPlan::new(LISTENERS, LISTENERS, window).option("--check=10");
        let turn = Turn { place, media, plan };
        let (mut delays, mut before) = (Vec::new(), Vec::new());
        for round in 0..bench.rounds() {
            let server = serve(bench, SETTINGS);
            delays.push(turn.measured(bench, round, what, &server));
            drop(server);
            if let Some(build) = bench.before() {
                let server = serve_build(&build, SETTINGS);
                before.push(turn.measured(bench, round, BEFORE, &server));
            }
        }
        let target = Some(Target::AtMost(DELAY_MAX));
        bench.figure(what, Unit::Seconds, delays.clone(), None, target);
        if !before.is_empty() {
            let before = Some(Against::Itself(BEFORE, before));
            let target = Some(Target::AtMost(RATIO_MAX));
            bench.figure(what, Unit::Seconds, delays, before, target);
        }
    }
}

fn way(way: Way, server: &Server) -> (String, String) {
    (way.source_url(server), way.url(server))
}

/// Returns the addresses of a WebRTC viewer, with audio as it is published: a transcoder's would arrive later.
fn viewer(server: &Server) -> (String, String) {
    let http = server.addr("http");
    (
        format!("whip+http://{PUBLISH_KEY}@{http}/{VIEWED}/whip"),
        format!("whep+http://{http}/{VIEWED}/whep"),
    )
}

/// Stream that each build serves.
struct Turn {
    place: Place,
    media: Vec<String>,
    plan: ListenPlan,
}

impl Turn {
    /// Returns the delay that 99 of 100 frames do not exceed, in seconds.
    fn measured(&self, bench: &mut Bench, round: usize, who: &str, server: &Server) -> f64 {
        let (source, url) = (self.place)(server);
        let _publisher = source::publish(&source, &self.media);
        source::wait_for_publisher(server);
        let report = self.plan.start(&url, &[server.pid()]).finish();
        bench.note(round, who, &[&report]);
        report.number("/delay/p99") / 1e3
    }
}
