//! The promised figures, scenario by scenario.

mod capacity;
mod delay;
mod files;
mod gate;
mod hls;
mod idle;
mod polled;
mod publishers;
mod radio;
mod recording;
mod secure;
mod stalled;
mod stations;
mod storm;
mod tokens;
mod video;
mod webrtc;
mod whip;
mod workers;

use crate::bench::Bench;

/// A list of figures and the code that measures them.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: fn(&mut Bench),
}

/// All scenarios, in the order in which they run.
pub(crate) const ALL: &[Scenario] = &[
    Scenario {
        name: "ogg-14k",
        about: "14,000 listeners of 12 kb/s Ogg Vorbis, beside the floor and icecast2",
        run: radio::ogg,
    },
    Scenario {
        name: "mp3-5k",
        about: "5,000 listeners of 128 kb/s MP3, half of them with titles, beside the floor and icecast2",
        run: radio::mp3,
    },
    Scenario {
        name: "av-1500-rtmp",
        about: "1,500 players of 1.1 Mb/s over RTMP, beside the floor and nginx-rtmp",
        run: video::rtmp,
    },
    Scenario {
        name: "av-1500-flv",
        about: "1,500 listeners of 1.1 Mb/s over HTTP as FLV, beside the floor",
        run: video::flv,
    },
    Scenario {
        name: "av-1500-rtmp-350",
        about: "av-1500-rtmp with max_wait = \"350ms\", beside the floor",
        run: video::rtmp_350,
    },
    Scenario {
        name: "av-1500-flv-350",
        about: "av-1500-flv with max_wait = \"350ms\", beside the floor",
        run: video::flv_350,
    },
    Scenario {
        name: "ws-1500",
        about: "1,500 listeners of 1.1 Mb/s as FLV by WebSocket, beside as many over HTTP",
        run: video::websocket,
    },
    Scenario {
        name: "https-4k",
        about: "4,000 listeners of 128 kb/s MP3 behind TLS, beside as many in the clear, the floor, and icecast2 behind nginx",
        run: secure::https,
    },
    Scenario {
        name: "rtmps-1500",
        about: "1,500 players of 1.1 Mb/s over RTMPS, beside as many over RTMP and the floor",
        run: secure::rtmps,
    },
    Scenario {
        name: "h2-1k",
        about: "1,000 listeners of 128 kb/s MP3 over HTTP/2, beside as many over HTTP/1.1, both behind TLS",
        run: secure::http2,
    },
    Scenario {
        name: "whep-1k",
        about: "1,000 viewers of 720p, 30 fps, 1 Mb/s with sound over WebRTC, beside the floor",
        run: webrtc::thousand,
    },
    Scenario {
        name: "whep-most",
        about: "as many viewers over WebRTC as the machine carries, one round",
        run: webrtc::most,
    },
    Scenario {
        name: "whip-200",
        about: "200 publishers of 1 Mb/s over WebRTC, beside the floor",
        run: whip::publishers,
    },
    Scenario {
        name: "hls-1k",
        about: "1,000 viewers of 1.1 Mb/s over low-latency HLS, beside nginx with the same files and MediaMTX",
        run: hls::thousand,
    },
    Scenario {
        name: "hls-blocked",
        about: "2,000 blocking reloads that wait for a paused publisher, and their answers",
        run: hls::blocked,
    },
    Scenario {
        name: "listeners-56k",
        about: "56,000 listeners of 12 kb/s in one process, for a minute",
        run: radio::many_56k,
    },
    Scenario {
        name: "listeners-100k",
        about: "100,000 listeners of 12 kb/s in one process, for a minute",
        run: radio::many_100k,
    },
    Scenario {
        name: "memory",
        about: "user-space memory of each of 14,000 listeners; part of ogg-14k",
        run: radio::memory,
    },
    Scenario {
        name: "capacity",
        about: "CPU and memory for 22 to 1,000 kb/s and 500 to 4,000 players over RTMP, one round",
        run: capacity::capacity,
    },
    Scenario {
        name: "workers",
        about: "what a second worker adds, at a load that fills one",
        run: workers::workers,
    },
    Scenario {
        name: "join-storm",
        about: "5,000 joins in a second where 5,000 listen",
        run: storm::storm,
    },
    Scenario {
        name: "join-tokens",
        about: "10,000 joins in a second, each with a token of its own or all with one, beside as many without",
        run: tokens::joins,
    },
    Scenario {
        name: "stalled",
        about: "1,000 listeners, with and without 50 that stall and 50 that read a tenth",
        run: stalled::stalled,
    },
    Scenario {
        name: "publishers-1k",
        about: "1,000 publishers of 100 kb/s over RTMP, beside nginx-rtmp",
        run: publishers::publishers,
    },
    Scenario {
        name: "record-1k",
        about: "1,000 publishers of 1 Mb/s over RTMP that are recorded, beside nginx-rtmp",
        run: recording::thousand,
    },
    Scenario {
        name: "record-most",
        about: "as many recorded publishers of 1 Mb/s as the machine carries, one round",
        run: recording::most,
    },
    Scenario {
        name: "files-1k",
        about: "1,000 and 4,000 clients of a film of 1 Mb/s on demand, beside nginx with the same pacing",
        run: files::files,
    },
    Scenario {
        name: "station-5k",
        about: "5,000 listeners of a station of MP3s, beside as many of a live stream",
        run: stations::five_thousand,
    },
    Scenario {
        name: "polled-5k",
        about: "5,000 ICY listeners while their figures are polled, beside as many that are not",
        run: polled::five_thousand,
    },
    Scenario {
        name: "delay",
        about: "how old a frame is when it comes to one of ten listeners",
        run: delay::delay,
    },
    Scenario {
        name: "gate",
        about: "how old frames of 1,000 publishers are while others wait 5 s for permission",
        run: gate::gate,
    },
    Scenario {
        name: "idle",
        about: "10,000 listeners of a publisher that is connected and silent",
        run: idle::idle,
    },
];

/// Scenarios whose figures another scenario includes.
pub(crate) const IN_OTHERS: &[&str] = &["memory"];

/// Returns the options for a synthetic 128 kb/s MP3.
fn mp3_media() -> Vec<String> {
    ["--audio", "mp3", "--audio-rate", "128k"]
        .map(str::to_owned)
        .into()
}
