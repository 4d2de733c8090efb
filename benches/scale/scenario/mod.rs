//! What is promised, scenario by scenario.

mod radio;
mod video;

use crate::bench::Bench;

/// A list of figures and how to get them.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: fn(&mut Bench),
}

/// In the order in which they run.
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
];

/// Those whose figures another one has, too.
pub(crate) const IN_OTHERS: &[&str] = &["memory"];
